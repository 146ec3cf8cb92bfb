/* einsum - a block of plain indices whose domains are padded: what pad_einsum found out,
 * and the nests made of it. Source: primitives 11, pad_einsum. */
#ifndef ML_PRIMITIVES_EINSUM_H
#define ML_PRIMITIVES_EINSUM_H

#include "moonloop/primitives/prim.h"

typedef struct ml_EinsumSide {     /* a buffer that the block uses */
    const ml_Buffer *old, *padded; /* padded NULL: it stays */
    const ml_Expr **idx;           /* iters of the block and constants */
    bool write;
    bool stays; /* read by any index: it has elements for all that is added */
} ml_EinsumSide;

typedef struct ml_Einsum {
    ml_Call *c;
    const ml_Block *block;
    ml_Arith *ar;
    ml_Uid scope;
    ml_StmtVec loops;
    const ml_Expr **extents; /* new ones, per iter */
    bool *changed;           /* per iter */
    const ml_For **loop_of;  /* per changed iter */
    ML_VEC(ml_EinsumSide) sides;
    const ml_Stmt *top; /* of the scope's body, with the block */
} ml_Einsum;

/* The iter that the index is; -1: none, a constant. */
int ml_einsum_iter(const ml_Block *b, const ml_Expr *e);
/* The buffer's entry; NULL: the block does not use it. */
const ml_EinsumSide *ml_einsum_side(const ml_Einsum *e, const ml_Buffer *buf);
/* An iter with a new extent indexes it. */
bool ml_einsum_is_padded(const ml_Einsum *e, const ml_EinsumSide *s);
/* The scope with the block on padded buffers, and the copies around it. */
bool ml_einsum_install(ml_Einsum *e);

#endif
