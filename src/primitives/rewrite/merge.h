/* merge - what the primitive merge knows of the nests, and whether their order is kept. */
#ifndef ML_PRIMITIVES_MERGE_H
#define ML_PRIMITIVES_MERGE_H

#include "moonloop/primitives/prim.h"

enum { ML_MERGE_DEPTH = 32 };

typedef struct ml_MergeNest {
    const ml_For
        *loop[ML_MERGE_DEPTH]; /* from below the common ancestor to the given one */
    size_t depth;
    size_t at;         /* position among the statements of the ancestor */
    ml_StmtVec blocks; /* below the given loop */
} ml_MergeNest;

typedef struct ml_Merge {
    ml_Call *c;
    ml_Uid above; /* the common ancestor */
    const ml_Stmt *const *body;
    size_t n_body, n, depth;
    ml_MergeNest *nest; /* in argument order */
    ml_Arith *ar;
    const ml_Var *var[ML_MERGE_DEPTH]; /* of the merged nest */
    const ml_Expr *extent[ML_MERGE_DEPTH];
    const ml_Expr *first[ML_MERGE_DEPTH]; /* iterations of two bodies that are compared */
    const ml_Expr *second[ML_MERGE_DEPTH];
} ml_Merge;

/* Whether the statement at that position of the common body is one of the nests. */
bool ml_is_merged(const ml_Merge *m, size_t at);
/* Iterations that touch one element, with a write among them, come in the order of the
 * text (order-reversed). */
bool ml_merge_keeps_order(ml_Merge *m);

#endif
