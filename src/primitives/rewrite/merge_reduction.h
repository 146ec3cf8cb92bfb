/* merge_reduction - an init block and its update, and whether they touch the same. */
#ifndef ML_PRIMITIVES_MERGE_REDUCTION_H
#define ML_PRIMITIVES_MERGE_REDUCTION_H

#include "moonloop/primitives/prim.h"

typedef struct ml_MergeReduction {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Block *init, *update;
    ml_Uid scope, common;        /* the lowest common ancestor, a loop or the scope block */
    ml_StmtVec i_loops, u_loops; /* of each block, outermost first */
    size_t above;                /* how many of them are at or above `common`: shared */
    ml_Subst solved;             /* init iters in update iters */
    const ml_Store **i_store,
        **u_store; /* one for each written buffer, in the init's order */
    size_t n;
} ml_MergeReduction;

/* m->solved: the init's iters in those of the update, by the indices at which both store
 * (region-mismatch). */
bool ml_merge_solve(ml_MergeReduction *m);
/* In one iteration of what holds both, the init stores to what the update does, and each
 * instance of that has an element of its own (region-mismatch, reduction-changed,
 * writes-overlap). */
bool ml_merge_same_elements(ml_MergeReduction *m);

#endif
