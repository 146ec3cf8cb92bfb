/*
 * vectorize - the state of one vectorized loop, shared by its expressions and statements.
 * Internal to codegen/lower. Source: lowering-and-codegen 3.3.
 */
#ifndef ML_CODEGEN_VECTORIZE_H
#define ML_CODEGEN_VECTORIZE_H

#include "moonloop/codegen/lower/lower_impl.h"

typedef struct ml_Vectorize {
    ml_Lower *lo;
    ml_Ctx *cx;
    const ml_Var *var; /* of the loop */
    unsigned lanes;
    const ml_Expr *mask;  /* lanes at work: a vector, or NULL: all of them */
    bool some;            /* at least one lane is at work whenever the mask is used */
    ml_Map *bound;        /* uid of a let variable -> its vector variable */
    ml_Map *expanded;     /* uid of a buffer -> the one with an element per lane */
    unsigned n_own;       /* bindings and buffers with an element per lane so far: what uses
                             them cannot become serial alone */
    const char *obstacle; /* why the statement at work cannot be vectorized; NULL */
} ml_Vectorize;

/* e for all lanes: a vector where it depends on the lane, else as it is. Under a mask its
 * loads are masked. Sets v->obstacle where there is no such form. */
const ml_Expr *ml_vectorize_expr(ml_Vectorize *v, const ml_Expr *e);
/* e as a vector of the loop's lanes. */
const ml_Expr *ml_vectorize_wide(ml_Vectorize *v, const ml_Expr *e);
/* The conjunction of the mask at work and a vector or scalar condition. */
const ml_Expr *ml_vectorize_and(ml_Vectorize *v, const ml_Expr *mask, const ml_Expr *cond);
/* Where in an expanded buffer the lanes of flat index `index` (scalar or vector) are. */
const ml_Expr *ml_vectorize_spread(ml_Vectorize *v, const ml_Expr *index);

#endif
