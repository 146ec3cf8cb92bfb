/*
 * trial - one random program under one sequence of steps, with everything that must hold.
 *
 * After an accepted step: the interpreter's output is the start version's bit for bit (all
 * its checks on), print-parse-print is the same, no error in well-formedness and loop
 * nests, the index equals a fresh one. After a refused one: version, program, hash, trace
 * and random state are as before. At the end the trace replays, directly and through JSON,
 * to the same hash. Source: style 10.
 */
#ifndef ML_TESTS_FUZZ_TRIAL_H
#define ML_TESTS_FUZZ_TRIAL_H

#include "moonloop/codegen/interp/interp.h"
#include "step.h"

#include <stdlib.h>

typedef struct FzCount { /* of one primitive */
    int64_t tried, accepted;
    int64_t refused[ML_E_COUNT];
    /* of those tried again without the conditions: applied, and right (reexamine.h) */
    int64_t applied[ML_E_COUNT], right[ML_E_COUNT];
} FzCount;

typedef struct FzStats {
    int64_t programs, steps, runs;
    int64_t
        not_judged; /* runs that the interpreter refuses: threads-cooperate, too-large */
    int64_t start_refused;
    /* versions lowered; refused as for a GPU; passes that changed something */
    int64_t lowered, for_gpu, passes;
    /* versions compiled and run; asked for, refused for a dtype */
    int64_t to_compile, compiled, ran, not_supported;
    bool reexamine; /* what is refused is tried again */
    FzCount *prims; /* ml_n_primitives of them */
} FzStats;

enum { FZ_MAX_STEPS = 24 };

typedef struct FzTrial {
    FzPlan plan;
    uint64_t rnd; /* of the steps, when they are to be made */
    int n_steps;
    char *steps[FZ_MAX_STEPS];
    uint64_t hash; /* of the last version */
    /* of a failure */
    bool failed;
    int at;        /* steps done, the failing one included */
    char kind[32]; /* "output", "parse", "replay", ... */
    ml_Text detail;
    ml_Text program; /* the version on which it showed */
} FzTrial;

/* How many trials a test makes: n, an eighth with ML_QUICK. A number and not a time, so that a
 * test finds the same on every machine. */
static inline int64_t fz_quick(int64_t n)
{
    const char *quick = getenv("ML_QUICK");

    return quick && *quick && *quick != '0' ? n / 8 : n;
}
/* The k-th trial of a seed, its steps to be made. */
FzTrial fz_trial(uint64_t seed, int64_t k);
/* Lowers f of the module, pass by pass, and runs what each pass gives with args (reset is
 * called before), which same compares. NULL: all is well; else kind and detail. */
typedef struct FzLower {
    ml_Ctx *cx;                    /* scratch, dropped afterwards */
    const char *text, *stop_after; /* NULL: all passes */
    const ml_RunArg *args;
    uint32_t n_args;
    const FzProgram *sizes; /* their values */
    void (*reset)(void *user);
    bool (*same)(void *user);
    void *user;
    FzStats *stats;
    ml_Text detail, program;
} FzLower;
const char *fz_lower(FzLower *l);
/* Whether the pipeline of CPUs may refuse f so: as a program for a GPU. Counted; everything
 * else that a schedule accepts is compiled. */
bool fz_may_refuse(const ml_Error *e, const ml_Func *f, FzStats *stats);
/* Runs the steps; make: makes n_steps of them on the way. stats may be NULL. */
void fz_run(FzTrial *t, bool make, FzStats *stats);
void fz_trial_clear(FzTrial *t);
/* Looks for a smaller trial that fails in the same way; *t becomes it. */
void fz_shrink(FzTrial *t);
/* The trial as a Lua script with the program. */
void fz_report(FzTrial *t, ml_Text *out);

#endif
