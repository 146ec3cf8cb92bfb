/* trial_impl - what the files of a trial share: trial.c makes the steps, trial_version.c
 * says what must hold of each version. */
#ifndef ML_TESTS_FUZZ_TRIAL_IMPL_H
#define ML_TESTS_FUZZ_TRIAL_IMPL_H

#include "trial.h"

#include "moonloop/codegen/measure/check.h"

typedef struct FzArgs { /* of one function */
    uint32_t n;
    ml_RunArg *start, *ref, *got; /* before, and after the start version and another */
    bool judged; /* the start version ran, so that ref holds what must come */
} FzArgs;

enum { MAIN, OTHER, FUNCS };
extern const char *const fz_func_names[FUNCS];

typedef struct FzRun {
    FzTrial *t;
    FzProgram prog;
    ml_Ctx *module_cx, *tmp;
    ml_Schedule *s;
    FzArgs args[FUNCS];
    int at; /* the function whose arguments are looked at */
    ml_Size sizes[2];
    FzStats *stats;
    bool declared;   /* by a step: regions that are more than what is touched */
    bool misplaced;  /* a region that was only trusted does not hold what is touched */
    bool partial;    /* blocks of the start version leave out some of their domains */
    uint64_t chosen; /* which versions are compiled, and how */
    FzFocus focus;
    ml_Handle samples[ML_MAX_RESULTS];
} FzRun;

/* The trial has failed so; false. */
bool fz_fail(FzRun *r, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool fz_fail_error(FzRun *r, const char *kind, const ml_Error *e);

/* program_scalar.c: the ends of a dtype's range, infinities, NaN, zeros; whether two lanes
 * hold the same number (zeros: of the same sign, too), or NaN. */
void fz_extreme_fill(ml_Tensor *t, uint64_t *rnd);
bool fz_same_lane(const ml_Tensor *a, const ml_Tensor *b, int64_t l, bool zeros);

bool fz_make_arguments(FzRun *r);
void fz_free_arguments(FzRun *r);
/* The current version is well formed, is read back from its text, and computes what the
 * start computed: interpreted, lowered and compiled as the plan says. */
bool fz_version_holds(FzRun *r, bool start);
/* Whether this version is compiled (last: of its trial), and how; and whether, compiled, it
 * computes the same. */
bool fz_chosen(FzRun *r, bool last, uint32_t *pick);
bool fz_compiles_the_same(FzRun *r, ml_Ctx *cx, ml_Program p, uint32_t pick);

#endif
