/* tuner_impl - the search's state, shared by the files of tune/search. */
#ifndef ML_TUNE_TUNER_IMPL_H
#define ML_TUNE_TUNER_IMPL_H

#include "moonloop/codegen/measure/contest.h"
#include "moonloop/core/vec.h"
#include "moonloop/tune/tune.h"

/* Seconds that a call of a candidate has beside what it may take: a busy machine may not let it
 * run for as long, and a candidate that is fast would be none. */
#define ML_RUN_SPARE 2.0

enum {
    ML_MAX_WORKERS = 2,
    ML_BLOCK = 16,  /* candidates built between two rounds of timing */
    ML_AHEAD = 2,   /* built and waiting, per worker, where both go on at once */
    MOST_ENDED = 3, /* times in a row that a worker may end before it counts as none */
    ML_BATCH = 64,  /* the most that a strategy is asked for at once */
    ML_MUTANTS = 8, /* sketches that mutators may add */
    ML_FINAL = 5,   /* the fastest, which are measured again by turns */
};

/* A sampling instruction of a sketch and where its numbers are in a vector of decisions. */
typedef struct Sampling {
    size_t inst;
    bool tile, place;
    int64_t from; /* what is 0 in the vector: a place begins at -2, inlined */
    uint32_t n;   /* candidates of a choice; factors of a tile; 1 of a place: not told, what
                     is not offered is the next one further out */
    uint32_t at;  /* numbers from there on: one for a choice, n for a tile */
} Sampling;

typedef struct Sketch {
    const char *name;
    ml_Trace trace;        /* in base */
    const char *signature; /* its JSON without decisions */
    size_t space;          /* its number in the space: of the one that it was made from */
    const char *const *posts; /* as of ml_Sketch */
    size_t n_posts;
    uint32_t n_samplings, n_numbers;
    Sampling *s;
    int64_t *first; /* the decisions it came with; NULL: none */
} Sketch;

/* A point of the space: what a search thinks in. */
typedef struct Candidate {
    uint32_t sketch;
    const int64_t
        *d;        /* decisions; a sampling whose first is < 0 is sampled afresh; NULL: all
                         are */
    uint32_t seed; /* of what is sampled */
} Candidate;

/* The program that a candidate is. */
typedef struct Made {
    Candidate c; /* decisions as they were made, in keep */
    uint64_t hash;
    ml_Schedule *s;    /* until it is printed */
    ml_Binary program; /* malloc, like the trace, from then until it is recorded */
    char *trace;
    bool again;      /* its worker was killed once: this is the second time */
    double expected; /* seconds; 0: nothing was expected of it */
} Made;

typedef struct Measured {
    Candidate c;
    double seconds; /* the least of its samples */
    double median;  /* of its turns with others; 0: there were none */
    int64_t record; /* 0: of another database */
} Measured;

typedef struct Finalist {
    Made m;
    int64_t record;
    ML_VEC(double) least; /* of every turn; in keep */
    int64_t samples;
    bool failed;
} Finalist;

typedef struct Slot {
    ml_Worker *w;
    enum { SLOT_IDLE, SLOT_BUILD, SLOT_RUN, SLOT_TURN, SLOT_GUARD, SLOT_AGAIN } doing;
    Made at; /* in work */
    double since;
    Made built[ML_BLOCK];
    size_t n_built;
    int ended; /* times in a row that the worker ended without a result */
} Slot;

/* A result that is no record yet, or the program that later timings are judged by. */
typedef struct Held {
    Made m;
    Slot *slot; /* whose worker has built it */
    double seconds;
} Held;

/* A set of numbers. */
typedef struct Seen {
    uint64_t *v; /* malloc */
    size_t n, cap;
} Seen;

typedef struct Strategy Strategy;
typedef struct StrategyKind StrategyKind; /* strategy.h */

struct ml_Tuner {
    ml_Ctx *base; /* module and sketches; sealed */
    ml_Ctx *keep; /* what lasts as long as the tuner */
    ml_Ctx *tmp;  /* one call */
    const ml_Module *mod;
    const ml_Func *func;
    const char *name, *target_json, *space, *args_json, *machine;
    const char *program; /* text of the start version */
    ml_Schedule *start;  /* candidates are forks of it */
    ml_Target target;
    uint32_t threads;
    uint64_t seed;
    double seconds;
    Sketch *sketches;
    size_t n_sketches, most_sketches; /* mutators may add some */
    ml_Ctx *more;                     /* steps of those; NULL: there are none */
    ml_TunePost post;
    ml_TuneMutate mutate;

    ml_Db *db, *given, *own; /* given: shared, as the caller may close it; own: in memory */
    int64_t workload, after, last_seen;
    int64_t asked; /* what the log says was asked for; 0: nothing */
    char *log;     /* path; NULL: none */

    ML_VEC(Measured) valid; /* ascending seconds */
    Measured other;         /* the fastest that is of no sketch here; seconds 0: none */
    Finalist final[ML_FINAL];
    size_t n_final, turns; /* turns: so many were begun */
    size_t final_among;    /* records when they were chosen */
    double turns_begin;
    bool decided, no_turns;
    ML_VEC(const ml_Record *) records;
    ML_VEC(ml_TuneTrial) trials;
    ml_TuneSketch *shown;  /* by sketch */
    Seen programs, points; /* that were proposed: hashes, keys of candidates */
    int64_t proposed;      /* accepted proposals, those of earlier runs counted */
    size_t first_left;     /* sketches whose own decisions are still to be tried */
    int64_t round_left;
    bool used_up;
    Strategy *strategy;
    ml_Model *model;      /* NULL: the strategy asks for none */
    Made queue[ML_BATCH]; /* chosen, and not given out yet */
    size_t n_queue;

    Slot slot[ML_MAX_WORKERS];
    size_t n_slots;
    Held held[ML_BLOCK], guard; /* guard.seconds 0: there is none yet */
    size_t n_held, again;       /* again: the next that is timed once more */
    int looks;                  /* that found the machine disturbed, since held_since */
    double held_since;
    bool shared;             /* the workers are the caller's */
    double slice, slice_end; /* of ml_tuner_within: asked for; when it ends, once known */
    int64_t slice_from;      /* records at its begin */
    bool exclusive, timing;  /* exclusive: nothing else runs while a candidate is timed */
    ml_WorkSet *set;
    bool ready;           /* reference and arguments are there */
    double start_seconds; /* of the start version, about */
    double fastest,
        checked; /* seconds of the fastest timed here, and of its checking run */
    double begin, start_done; /* start_done: when the reference was there */
    double paused;            /* since when; 0: it is not */
    ml_TuneStatus st;
};

/* sketch.c */
bool ml_sketches_take(ml_Tuner *t, ml_Ctx *cx, const ml_Sketch *v, size_t n);
/* One of them; its steps in `in`. */
bool ml_sketch_take(ml_Tuner *t, ml_Ctx *in, const ml_Sketch *from, Sketch *to);
/* The decisions of a trace of the sketch; false: it has others. */
bool ml_decisions_of(const Sketch *sk, const ml_Trace *t, int64_t *out);
/* The candidate that a trace is, in keep; false: it is of no sketch here. */
bool ml_candidate_of_trace(ml_Tuner *t, const ml_Trace *trace, Candidate *out);
/* Hash of sketch and decisions; 0: some of them are sampled afresh. */
uint64_t ml_candidate_key(const ml_Tuner *t, const Candidate *c);

/* mutant.c: another candidate by the mutators of the space. from: decided as a whole. false: they
 * make nothing of it. */
bool ml_candidate_mutate(ml_Tuner *t, ml_Random *r, const Candidate *from, Candidate *out);

/* materialise.c */
bool ml_start_make(ml_Tuner *t, ml_Ctx *cx); /* after sketches: base is sealed */
/* The decision of a sampling, in cx. */
const ml_Value *ml_decision_value(ml_Ctx *cx, const Sampling *s, const int64_t *d);
/* Replays and hashes. false: counted as a failed replay. */
bool ml_materialise(ml_Tuner *t, const Candidate *c, Made *out);
void ml_made_print(ml_Tuner *t, Made *m); /* its program and trace, for a worker */
char *ml_made_text(const Made *m);        /* of a program for a worker; malloc */
void ml_made_free(Made *m);
/* As ml_candidate_of_trace; *hash of the program that the record gives, 0 when it cannot be
 * replayed. */
bool ml_candidate_of_record(ml_Tuner *t, const ml_Record *r, Candidate *out,
                            uint64_t *hash);

/* propose.c */
bool ml_seen_add(Seen *s, uint64_t hash); /* false: it was there */
bool ml_seen_has(const Seen *s, uint64_t hash);
/* NULL: cx's error, with the names that there are. name NULL: the usual one. */
const StrategyKind *ml_strategy_find(ml_Ctx *cx, const char *name);
/* The next candidate, printed. false: none was found. */
bool ml_propose(ml_Tuner *t, Made *out);
void ml_valid_add(ml_Tuner *t, const Measured *m);

/* reference.c: arguments and expected results, in shared memory. */
bool ml_tune_reference(ml_Tuner *t, ml_Ctx *cx, ml_Worker *w);

/* records.c */
bool ml_records_open(ml_Tuner *t, ml_Ctx *cx, const ml_TuneOpts *o);
/* What other processes have put there since. */
void ml_records_refresh(ml_Tuner *t);
/* Commits a result; when the database takes it no longer, goes on in memory. */
void ml_records_put(ml_Tuner *t, const Made *m, const ml_JobResult *r, double best);
/* Sets the best that there is: by minimum, of those measured by turns by their medians. */
void ml_best_update(ml_Tuner *t);
ml_DbQuery ml_records_key(const ml_Tuner *t);
void ml_log_start(ml_Tuner *t);
void ml_log_stop(ml_Tuner *t);

/* held.c: results before they are records. */
double ml_held_best(const ml_Tuner *t); /* seconds, records counted; 0: there is none */
/* Takes over what the slot was at; at most ML_BLOCK of them. */
void ml_held_add(ml_Tuner *t, Slot *s, double seconds);
bool ml_held_due(const ml_Tuner *t);
/* Begins the next timing that tells whether they can be believed. */
bool ml_held_next(ml_Tuner *t, ml_Ctx *cx);
void ml_held_take(ml_Tuner *t, Slot *s, const ml_JobResult *r);
void ml_held_flush(ml_Tuner *t); /* makes them records as they are */
void ml_held_free(ml_Tuner *t);

/* turns.c: the contest at the end. */
bool ml_turns_wanted(const ml_Tuner *t);
/* Begins the next turn on the first worker; when there is none left, decides. */
bool ml_turns_next(ml_Tuner *t, ml_Ctx *cx);
void ml_turns_take(ml_Tuner *t, const ml_JobResult *r, bool again);
void ml_turns_free(ml_Tuner *t); /* another contest may begin; no turn is at work */

#endif
