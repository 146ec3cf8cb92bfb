/*
 * strategy - how a search chooses what it measures next: a table of functions behind the first
 * member of a strategy's own struct. One file of strategy/ each; all are in one list.
 *
 * Each sketch's own decisions are tried before any strategy is asked. Source: auto-scheduler
 * 12.
 */
#ifndef ML_TUNE_SEARCH_STRATEGY_H
#define ML_TUNE_SEARCH_STRATEGY_H

#include "moonloop/tune/search/tuner_impl.h"

enum {
    ML_STRATEGY_END = -1,
    ML_EMPTY_BATCHES = 5, /* of these the last is the end */
};

/* What strategies of one kin do alike. */
typedef struct StrategyKin {
    bool scores; /* t->model is there */
    /* Its sketches are there; records of before are told by notify. Never NULL. */
    Strategy *(*start)(ml_Tuner *t);
    /* What came of a candidate, decisions in keep; seconds 0: it failed. NULL: it does not
     * care. */
    void (*notify)(Strategy *s, const Candidate *c, double seconds);
    /* What there is to tell: of st the model and the points, of the sketches what only it knows.
     * NULL: nothing. */
    void (*show)(Strategy *s, ml_TuneStatus *st, ml_TuneSketch *v);
    void (*end)(Strategy *s); /* NULL: there is nothing to give back */
} StrategyKin;

struct StrategyKind {
    ml_Strategy about;
    size_t batch; /* programs that are best chosen together */
    const StrategyKin *kin;
    /* At most n programs, printed, that were never proposed: how many, or ML_STRATEGY_END. None
     * is an empty batch: it may be asked again. */
    int (*next)(Strategy *s, size_t n, Made *out);
};

struct Strategy {
    const StrategyKind *kind;
    ml_Tuner *t;
};

/* The list; NULL at its end, the one that is used unless another is asked for first. */
extern const StrategyKind *const ml_strategy_kinds[];

/* Makes the program of a candidate, when neither its decisions nor its program were there
 * before. */
bool ml_candidate_take(ml_Tuner *t, const Candidate *c, Made *out);
/* A sketch by chance, all its decisions sampled when it is made. */
Candidate ml_candidate_any(const ml_Tuner *t, ml_Random *r);

#endif
