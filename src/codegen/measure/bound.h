/*
 * bound - how far a version's outputs may be from the start's: found by computing the start
 * in the next wider type too. Source: interaction 8 (:check).
 */
#ifndef ML_CODEGEN_BOUND_H
#define ML_CODEGEN_BOUND_H

#include "moonloop/codegen/measure/check.h"
#include "moonloop/codegen/measure/widen.h"

/* What the widened start left; args are NULL where it could not be computed. */
typedef struct ml_WideRun {
    ml_Rounding rounding;
    const ml_Wide *wide;
    ml_RunArg *args;
    bool sampled; /* what was left out holds what it was given */
} ml_WideRun;

/* A run of a widened program: args, of func's parameters, are replaced by what it leaves.
 * false: it could not be run, with cx's error. */
typedef bool ml_WideFn(ml_Ctx *cx, const ml_Wide *w, const ml_ParamRole *roles,
                       ml_RunArg *args, void *user);
/* Runs the widened f on `initial`, the arguments that f is given; nothing is run when every
 * output is exact. false: interrupted, or out of memory. Free with ml_wide_free. */
bool ml_wide_run(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                 const ml_ParamRole *roles, const ml_RunArg *initial, ml_WideFn *run,
                 void *user, ml_WideRun *out);
void ml_wide_free(ml_WideRun *w);

/* The bound of each output: max(8 max|start - wide|, sqrt(K) u sum|terms| for sums of K
 * terms and what is computed from them, 4 ulp of max|wide|); in float64 2 K for sqrt(K). `start` is what f left; floats
 * that are not decided by a rounding become those of the wide run, rounded. */
void ml_bounds_find(ml_Ctx *cx, const ml_Func *f, const ml_ParamRole *roles,
                    const ml_WideRun *w, ml_RunArg *start, ml_Allowed *out);

/* ml_WideFn: in the interpreter. */
bool ml_wide_interpret(ml_Ctx *cx, const ml_Wide *w, const ml_ParamRole *roles,
                       ml_RunArg *args, void *user);

#endif
