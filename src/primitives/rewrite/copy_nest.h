/* copy_nest - the loops of a block that some of its iters need, made a second time around
 * another block over those iters. Source: primitives 8, reindex_cache_read, cache_index. */
#ifndef ML_PRIMITIVES_COPY_NEST_H
#define ML_PRIMITIVES_COPY_NEST_H

#include "moonloop/primitives/rewrite/same_index.h"

typedef struct ml_CopyNest {
    const ml_Block *block;
    ml_IterList iters; /* of the block: set by the caller, as block is */
    /* ml_copy_nest_find */
    ML_VEC(const ml_For *) loops;   /* that are copied, outermost first */
    ML_VEC(const ml_For *) dropped; /* the other ones */
    const ml_Expr *predicate;       /* what is left of the block's */
    const ml_Expr *lost;            /* a conjunct that the copy cannot have, or NULL */
    /* ml_copy_nest_open */
    ml_Iter *own; /* iters.n of them, spatial, with fresh variables */
    ml_For *fresh;
    ml_Subst outer, inner; /* loops, iters */
} ml_CopyNest;

/* The loops between `stop` (a loop or the scope) and the block that the values of the iters
 * use. */
void ml_copy_nest_find(ml_Call *c, ml_CopyNest *n, ml_Uid stop);
/* An iter that may leave its domain since a conjunct is lost; NULL: none. */
const ml_Iter *ml_copy_nest_outside(ml_Call *c, const ml_CopyNest *n);
/* Makes loops and iters: of the same names, or numbered ax and v. */
void ml_copy_nest_open(ml_Call *c, ml_CopyNest *n, bool numbered);
/* An expression of the block's iters in terms of the new ones. */
const ml_Expr *ml_copy_nest_expr(ml_Call *c, const ml_CopyNest *n, const ml_Expr *e);
/* The loops around the block `st`, which gets the predicate. */
const ml_Stmt *ml_copy_nest_close(ml_Call *c, ml_CopyNest *n, const ml_Stmt *st);

#endif
