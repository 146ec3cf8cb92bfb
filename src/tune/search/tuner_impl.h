/* tuner_impl - the search's state, shared by the files of tune/search. */
#ifndef ML_TUNE_TUNER_IMPL_H
#define ML_TUNE_TUNER_IMPL_H

#include "codegen/measure/check.h"
#include "codegen/worker/worker.h"
#include "core/vec.h"
#include "tune/tune.h"

enum {
    ML_MAX_WORKERS = 2,
    ML_BLOCK = 16,  /* candidates built between two rounds of timing */
    ML_AHEAD = 2,   /* built and waiting, per worker, where both go on at once */
    MOST_ENDED = 3, /* times in a row that a worker may end before it counts as none */
    ML_ATTEMPTS =
        200,      /* proposals without a new program before the space counts as used up */
    ML_FINAL = 5, /* the fastest, which are measured again by turns */
};

/* A sampling instruction of a sketch and where its numbers are in a vector of decisions. */
typedef struct Sampling {
    size_t inst;
    bool tile;
    uint32_t n;  /* candidates of a choice; factors of a tile */
    uint32_t at; /* numbers from there on: one for a choice, n for a tile */
} Sampling;

typedef struct Sketch {
    const char *name;
    ml_Trace trace;        /* in base */
    const char *signature; /* its JSON without decisions */
    uint32_t n_samplings, n_numbers;
    Sampling *s;
    int64_t *first; /* the decisions it came with; NULL: none */
} Sketch;

/* A program of the space. */
typedef struct Candidate {
    uint32_t sketch;
    int64_t *d; /* decisions after repair, in keep */
    uint64_t hash;
    ml_Binary program; /* malloc, like the trace, until it is recorded */
    char *trace;
    bool again; /* its worker was killed once: this is the second time */
} Candidate;

typedef struct Measured {
    uint32_t sketch;
    const int64_t *d;
    double seconds; /* the least of its samples */
    double median;  /* of its turns with others; 0: there were none */
    int64_t record; /* 0: of another database */
} Measured;

typedef struct Finalist {
    Candidate c;
    int64_t record;
    ML_VEC(double) least; /* of every turn; in keep */
    int64_t samples;
    bool failed;
} Finalist;

typedef struct Slot {
    ml_Worker *w;
    enum { SLOT_IDLE, SLOT_BUILD, SLOT_RUN, SLOT_TURN } doing;
    Candidate at; /* in work */
    double since;
    Candidate built[ML_BLOCK];
    size_t n_built;
    int ended; /* times in a row that the worker ended without a result */
} Slot;

struct ml_Tuner {
    ml_Ctx *base; /* module and sketches; sealed */
    ml_Ctx *keep; /* what lasts as long as the tuner */
    ml_Ctx *tmp;  /* one call */
    const ml_Module *mod;
    const ml_Func *func;
    const char *name, *target_json, *space, *args_json, *machine;
    const char *program; /* text of the start version */
    ml_Target target;
    uint32_t threads;
    uint64_t seed;
    double seconds;
    Sketch *sketches;
    size_t n_sketches;

    ml_Db *db, *own; /* own: in memory, ours */
    int64_t workload, after, last_seen;
    char *log; /* path; NULL: none */

    ML_VEC(Measured) valid; /* ascending seconds */
    Measured other;         /* the fastest that is of no sketch here; seconds 0: none */
    Finalist final[ML_FINAL];
    size_t n_final, turns; /* turns: so many were begun */
    double turns_begin;
    bool decided;
    ML_VEC(const ml_Record *) records;
    uint64_t *seen;
    size_t n_seen, cap_seen;
    int64_t proposed;  /* accepted proposals, those of earlier runs counted */
    size_t first_left; /* sketches whose own decisions are still to be tried */
    int64_t round_left;
    bool used_up;

    Slot slot[ML_MAX_WORKERS];
    size_t n_slots;
    bool exclusive, timing; /* exclusive: nothing else runs while a candidate is timed */
    ml_WorkSet *set;
    bool ready;               /* reference and arguments are there */
    double start_seconds;     /* of the start version, about */
    double begin, start_done; /* start_done: when the reference was there */
    ml_TuneStatus st;
};

/* sketch.c */
bool ml_sketches_take(ml_Tuner *t, ml_Ctx *cx, const ml_Sketch *v, size_t n);
/* Replays sketch k. d NULL or d[at] < 0 in its first number: a fresh sample by `seed`.
 * false: counted as a failed replay. */
bool ml_candidate_make(ml_Tuner *t, uint32_t k, const int64_t *d, uint32_t seed,
                       Candidate *out);
char *ml_candidate_text(const Candidate *c); /* of its program; malloc */
void ml_candidate_free(Candidate *c);
/* The sketch and decisions of a record; false: it is of no sketch here. *hash of the
 * program that it gives, 0 when it cannot be replayed. */
bool ml_candidate_of_record(ml_Tuner *t, const ml_Record *r, uint32_t *sketch, int64_t **d,
                            uint64_t *hash);

/* propose.c */
bool ml_seen_add(ml_Tuner *t, uint64_t hash); /* false: it was there */
bool ml_propose(ml_Tuner *t, Candidate *out);
void ml_valid_add(ml_Tuner *t, const Measured *m);

/* reference.c: arguments and expected results, in shared memory. */
bool ml_reference_make(ml_Tuner *t, ml_Ctx *cx, ml_Worker *w);

/* records.c */
bool ml_records_open(ml_Tuner *t, ml_Ctx *cx, const ml_TuneOpts *o);
/* What other processes have put there since. */
void ml_records_refresh(ml_Tuner *t);
/* Commits a result; when the database takes it no longer, goes on in memory. */
void ml_records_put(ml_Tuner *t, const Candidate *c, const ml_JobResult *r, double best);
/* Sets the best that there is: by minimum, of those measured by turns by their medians. */
void ml_best_update(ml_Tuner *t);
ml_DbQuery ml_records_key(const ml_Tuner *t);
void ml_log_start(ml_Tuner *t);
void ml_log_stop(ml_Tuner *t);

/* turns.c: the contest at the end. */
bool ml_turns_wanted(const ml_Tuner *t);
/* Begins the next turn on the first worker; when there is none left, decides. */
bool ml_turns_next(ml_Tuner *t, ml_Ctx *cx);
void ml_turns_take(ml_Tuner *t, const ml_JobResult *r, bool again);
void ml_turns_free(ml_Tuner *t);

#endif
