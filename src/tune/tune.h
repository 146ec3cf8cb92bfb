/*
 * tune - the search for a fast schedule of one function, as a state machine.
 *
 * It knows no Lua and no terminal: sketches (traces whose sampling decisions are left open)
 * are made by the caller, candidates are replayed on forks of a base context of its own
 * with every check, compiled and measured in worker processes, and recorded before they are
 * reported. The caller turns the crank (ml_tuner_step) and may stop at any time: what was
 * measured is kept. Source: auto-scheduler 2, 12, 16, 17.
 */
#ifndef ML_TUNE_TUNE_H
#define ML_TUNE_TUNE_H

#include "moonloop/codegen/target/target.h"
#include "moonloop/codegen/worker/worker.h"
#include "moonloop/primitives/trace.h"
#include "moonloop/tune/db/db.h"

/* A trace on the start version. Its own decisions are tried first: a rule puts sensible
 * ones there. */
typedef struct ml_Sketch {
    const char *name;
    ml_Trace trace;
    /* What the space does behind the decisions, by the names of its postprocessors: what they
     * make of candidates is known by forms. NULL: nobody knows what it does. */
    const char *const *posts;
    size_t n_posts;
} ml_Sketch;

enum {
    ML_TUNE_TRIALS = 64, /* when nothing was asked for */
    ML_TUNE_MAX_TRIALS = 1000000,
};

/* A way to choose what is measured next. */
typedef struct ml_Strategy {
    const char *name, *alias; /* alias: NULL, or another name */
    const char *what;         /* in a few words */
} ml_Strategy;
/* The k-th; the first is the usual one. NULL: there are no more. */
const ml_Strategy *ml_strategy_at(size_t k);

/* What a space does to each candidate of sketch k behind its decisions: the steps follow the
 * mark enter_postproc. false: there is no such program. Called by whoever turns the crank. */
typedef struct ml_TunePost {
    bool (*fn)(ml_Schedule *s, size_t k, void *user);
    void *user;
} ml_TunePost;

/* What a space's mutators make of a candidate of sketch k: its trace as JSON, without what
 * postprocessors did; another one, malloc, or NULL: nothing. seed: of what they draw. */
typedef struct ml_TuneMutate {
    char *(*fn)(const char *json, size_t k, uint32_t seed, void *user);
    void *user;
} ml_TuneMutate;

typedef struct ml_TuneOpts {
    const ml_Module *mod; /* the start version; any context */
    const char *func;     /* NULL: the only one */
    const char *name;     /* of the workload, for people */
    const ml_Sketch *sketches;
    size_t n_sketches;
    const char *with;     /* name of a strategy; NULL: the usual one */
    const char *model;    /* that learns (model/model.h); NULL: "xgb" */
    ml_TunePost post;     /* fn NULL: none */
    ml_TuneMutate mutate; /* the same */
    const char *space;    /* name of the design space, part of a record's key */
    ml_Target target;
    uint32_t threads; /* of parallel loops; 0: ml_threads */
    uint64_t seed;
    int64_t trials; /* records in all, those of before counted; 0: as asked last, else 64 */
    bool fresh;     /* records of before are not looked at */
    double seconds; /* of searching; 0: no limit */
    ml_Db *db;      /* shared. NULL, or one that cannot be written: records in memory */
    const char *worker; /* program; NULL: found */
    uint32_t n_workers; /* 0: by the cores */
    /* One of several searches that take turns: it begins with no trials of its own
     * (ml_tuner_more gives them; `trials` is not looked at), and its workers, n_workers of
     * them, are the caller's. Of those that share some one at a time is between two steps
     * with work left. NULL: a search alone. */
    ml_Worker *const *shared;
} ml_TuneOpts;

typedef enum ml_TuneState {
    ML_TUNE_MORE,
    ML_TUNE_DONE,      /* the number, the time, or the space is used up */
    ML_TUNE_CANCELLED, /* the cancel flag of the caller's context */
    ML_TUNE_FAILED,    /* no worker, no reference: cx's error */
} ml_TuneState;

/* Phases in which a candidate fails. */
typedef enum ml_TunePhase {
    ML_PHASE_REPLAY, /* no record: there was no program */
    ML_PHASE_BUILD,
    ML_PHASE_RUN,
    ML_PHASE_VERIFY,
    ML_PHASE_TIMEOUT,
    ML_PHASES
} ml_TunePhase;

typedef struct ml_TuneStatus {
    int64_t done, total; /* records of this key */
    int64_t before;      /* of those, there when the search began */
    int64_t failed[ML_PHASES];
    int64_t generation; /* rounds of proposals so far */
    double best;        /* seconds; 0: none yet */
    double searched;    /* the best of single measurements, before the turns; 0: none */
    int64_t best_record;
    int64_t final_of, final_turns; /* the best was chosen among so many, in so many turns
                                      of each; 0: not yet */
    double flop;
    double elapsed, rate, eta; /* seconds; candidates per second; eta NAN: not known yet */
    double search_seconds, build_seconds, run_seconds;
    int64_t disturbed;   /* times that results were timed again for a neighbour's sake */
    bool exhausted;      /* no further program was found in the space */
    const char *warning; /* records are kept in memory only, and why; NULL */
    const char *with;    /* the strategy */
    const char *model;   /* that scores now; NULL: nothing is scored */
    const char *note;    /* of the model, to be told once; NULL: nothing */
    int64_t points;      /* candidates that are thought of */
    int64_t by_forms, by_replay; /* scored so far by closed forms, by replays */
} ml_TuneStatus;

/* One trial of this tuner, for who shows it. */
typedef struct ml_TuneTrial {
    double expected; /* seconds, before it was measured; 0: nothing was expected */
    double seconds;  /* 0: it failed */
    double best;     /* of the fastest until then; 0: none */
    uint32_t sketch;
    ml_TunePhase failed; /* where it did */
} ml_TuneTrial;

/* What the search knows of a sketch. */
typedef struct ml_TuneSketch {
    const char *name;
    int64_t measured, failed; /* records of this key */
    double best;              /* seconds; 0: none */
    int64_t points;           /* candidates that are thought of */
    double expected;          /* seconds, the least of theirs; 0: not known */
    double share;             /* of the next candidates; 0: not known */
} ml_TuneSketch;

typedef struct ml_Tuner ml_Tuner;
/* NULL: cx's error. The cancel flag of cx is watched; workload and earlier records are
 * looked up. */
ML_GIVES ml_Tuner *ml_tuner_new(ml_Ctx *cx, const ml_TuneOpts *opts);
/* Waits at most `seconds` for something to happen. cx: where an error is set. */
ml_TuneState ml_tuner_step(ml_Tuner *t, ml_Ctx *cx, double seconds);
/* Raises the number of trials by n, at any time between two steps: one that was done goes on. */
void ml_tuner_more(ml_Tuner *t, int64_t n);
/* Paused, a step begins nothing and takes what is at work still; limits and rates do not count
 * the time. Who waits then waits for something else: such a step may come back at once. */
void ml_tuner_pause(ml_Tuner *t, bool on);
/* Whether the fastest are measured again by turns once the trials are done; else the step that
 * would begin them is done. On by default. */
void ml_tuner_turns(ml_Tuner *t, bool wanted);
/* Proposes nothing new once so many seconds have passed, from the next step on that can
 * propose; one candidate is measured whatever they are. 0: no limit. */
void ml_tuner_within(ml_Tuner *t, double seconds);
const ml_TuneStatus *ml_tuner_status(ml_Tuner *t);
/* Records measured so far by this tuner, in order; those after `seen` are new. They live as
 * long as the tuner. */
size_t ml_tuner_records(const ml_Tuner *t, const ml_Record *const **out);
/* The same as trials. */
size_t ml_tuner_trials(const ml_Tuner *t, const ml_TuneTrial **out);
/* All of them, in their order; good until the next call. */
size_t ml_tuner_sketches(ml_Tuner *t, const ml_TuneSketch **out);
/* The model that learns (model/model.h); NULL: the strategy has none. */
typedef struct ml_Model ml_Model;
ml_Model *ml_tuner_model(ml_Tuner *t);
/* Where the records went: opts.db, or one in memory that the caller may take over with
 * ml_tuner_take_db. */
ml_Db *ml_tuner_db(ml_Tuner *t);
ML_GIVES ml_Db *ml_tuner_take_db(ml_Tuner *t); /* NULL: it is opts.db */
void ml_tuner_free(ml_Tuner *t);               /* jobs in progress are lost; NULL is fine */

/* 16 hex digits by which the database knows a function, in cx; func NULL: the only one. */
const char *ml_tune_hash(ml_Ctx *cx, const ml_Module *m, const char *func);
/* Applies a record's trace to a schedule at its start version. false: cx's or the
 * schedule's error. */
bool ml_tune_apply(ml_Ctx *cx, ml_Schedule *s, const ml_Record *r);

/* How candidates are proposed, alone, for tests: the n-th random one of a seed. */
typedef struct ml_Proposal {
    uint32_t sketch;
    char *program, *trace; /* malloc */
    uint64_t hash;
} ml_Proposal;
bool ml_tuner_propose(ml_Tuner *t, ml_Proposal *out); /* false: none was found */
void ml_proposal_free(ml_Proposal *p);

#endif
