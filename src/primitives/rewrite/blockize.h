/* blockize - what blockize and tensorize share. */
#ifndef ML_PRIMITIVES_BLOCKIZE_H
#define ML_PRIMITIVES_BLOCKIZE_H

#include "moonloop/primitives/prim.h"

/* The nest from the loop inwards becomes a block; *outer is its tag. */
bool ml_blockize_loop(ml_Call *c, ml_Uid loop, bool preserve_unit_iters, ml_Uid *outer);

/* ---- one block divided at a place of its nest (tile.c) */
typedef struct ml_Tile {
    const ml_Block *block;
    ml_StmtVec above, below; /* loops outside and inside of the place, outermost first */
    ml_Division d;
} ml_Tile;
/* The first n_above of the block's loops lie outside. false: not-divisible, at `place`. */
bool ml_tile_divide(ml_Call *c, ml_Uid block, size_t n_above, ml_Uid place, ml_Tile *out);
/* Domain of the outer, the inner part of iter k. */
ml_Range ml_tile_outer(const ml_Tile *t, size_t k);
ml_Range ml_tile_inner(const ml_Tile *t, size_t k);
/* Iter k in an outer and an inner variable; NULL: that part has one value. */
const ml_Expr *ml_tile_value(ml_Ctx *cx, const ml_Tile *t, size_t k, const ml_Var *outer,
                             const ml_Var *inner);
/* The region over the domain under the condition; *exact: it is provably all that the
 * region takes. */
ml_Region ml_tile_hull(ml_Arith *ar, ml_Region r, const ml_DomVec *dom, const ml_Expr *pred,
                       bool *exact);
/* Whether the body uses no loop outside (loop-dependent, not-divisible). */
bool ml_tile_closed(ml_Call *c, const ml_Tile *t, const ml_Stmt *body);

#endif
