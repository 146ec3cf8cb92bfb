/* widen_impl - what the files of widen share. */
#ifndef ML_CODEGEN_WIDEN_IMPL_H
#define ML_CODEGEN_WIDEN_IMPL_H

#include "moonloop/codegen/measure/widen.h"
#include "moonloop/codegen/params/nesting.h"

typedef struct ml_Widen {
    ml_Ctx *cx;
    const ml_Rounding *r;
    ml_Map *wide, *estimate;   /* by uid of the buffer; estimate: of rounded ones */
    ml_Map *vars, *var_errors; /* uid -> const ml_Var * */
    ml_Map *values, *errors;   /* memo by number of the expression */
    ml_Nesting at;
    const ml_Func *func;
    const ml_WideSample *sample; /* or NULL */
    uint32_t shared;             /* outermost loops of all nests that become one */
    bool cannot;
} ml_Widen;

/* ---- widen_value.c */
const ml_Buffer *ml_wide_buffer(ml_Widen *w, const ml_Buffer *b);
/* NULL: its elements are exact. */
const ml_Buffer *ml_wide_estimate(ml_Widen *w, const ml_Buffer *b);
const ml_Var *ml_wide_var(ml_Widen *w, const ml_Var *v);
/* A new variable for the estimate of v. */
const ml_Var *ml_wide_error_var(ml_Widen *w, const ml_Var *v);
/* e in the wider type; user: the ml_Widen. */
const ml_Expr *ml_wide_value(ml_Ctx *cx, const ml_Expr *e, void *user);
/* A load of b with the indices, and the mask where `like` has one, of args. */
const ml_Expr *ml_wide_load(ml_Widen *w, const ml_Buffer *b, const ml_Expr *const *args,
                            const ml_Expr *like);

/* ---- widen_sample.c */
/* How many outermost loops of all nests become one, so that an iteration of them reads, of
 * what the function writes, only what it made; 0: that is not so, or they have too few. */
uint32_t ml_wide_shared_loops(const ml_Widen *w);
/* The nests, widened, as one of which some iterations are kept. */
const ml_Stmt *ml_wide_merged(const ml_Widen *w, const ml_Stmt *nests);
/* The outermost loops of a nest that makes outputs that nothing reads, down to where they
 * have iterations enough, some of which are kept; else `now`, which is `old` widened. */
const ml_Stmt *ml_wide_sampled(ml_Widen *w, const ml_For *old, const ml_Stmt *now);

/* ---- widen_error.c */
/* The estimate of a float expression, a float64; NULL: it is exact. */
const ml_Expr *ml_wide_error(ml_Widen *w, const ml_Expr *e);
/* That of what the store leaves in its element, sums over loops included; never NULL. */
const ml_Expr *ml_wide_stored_error(ml_Widen *w, const ml_Store *s);

#endif
