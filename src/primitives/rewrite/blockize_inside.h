/* blockize_inside - a block divided at a place of its nest, seen from inside: what blockize
 * of a loop and blockize of some blocks share. Source: primitives 10, blockize. */
#ifndef ML_PRIMITIVES_BLOCKIZE_INSIDE_H
#define ML_PRIMITIVES_BLOCKIZE_INSIDE_H

#include "moonloop/primitives/layout/layout.h"
#include "moonloop/primitives/rewrite/blockize.h"

typedef struct ml_Inside {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Tile *t;
    const ml_Var **outer; /* per iter, NULL: none */
    const ml_Var **inner; /* per iter, NULL: none */
    ml_Subst sub;         /* old iters in the new ones */
    ml_Subst over;        /* the same over the variables of dom */
    ml_DomVec dom;        /* inner iters; or loops inside, where values leave some out */
    const ml_Expr *pred;  /* under which the variables of dom vary */
    ml_Arith *ar;         /* knows the new iters */
} ml_Inside;

/* Knows the scope, and nothing of the iters yet. */
ml_Inside ml_inside_begin(ml_Call *c, const ml_Tile *t);
/* Makes the inner iter k where there is more than one value (or `always`), and what the old
 * iter is. outer[k] is set. */
void ml_inside_iter(ml_Inside *in, size_t k, bool always);
ml_Iter ml_inside_as_iter(const ml_Inside *in, size_t k);
/* The block over the inner iters; without its init when that moves outside. */
const ml_Block *ml_inside_block(const ml_Inside *in, bool init_moves);
/* Loops whose variable is an outer value have it as the outer iter inside. */
void ml_inside_names(ml_Inside *in, ml_Subst *loops);
/* Sets what regions are taken over, once all iters are made. */
void ml_inside_domain(ml_Inside *in);

/* The regions of the old block over the inner iters: one for each buffer. */
typedef struct ml_Hulls {
    size_t n;
    ml_Region *v;
    bool *exact;
    ml_Boxes **boxes;
} ml_Hulls;

ml_Hulls ml_hulls_begin(ml_Ctx *cx, size_t room); /* for so many buffers */
void ml_hulls_add(ml_Inside *in, ml_Hulls *h, const ml_Region *r);
/* What is written is all of its hull (part-written). */
bool ml_hulls_exact(ml_Call *c, const ml_Hulls *h, const ml_Block *b);

/* ---- an init that moves to the new block (blockize_init.c) */
/* The init may run for the whole tile first (init-misplaced, writes-overlap,
 * reduction-changed, would-race, not-reduction). */
bool ml_tile_init_moves(ml_Call *c, const ml_Tile *t);
/* The nest that initialises the tile. NULL: an error is set. */
const ml_Stmt *ml_tile_init_nest(ml_Inside *in);

/* The guard and the bindings of the block, which become part of the new one, read nothing:
 * its signature is made of the block's (region-undeclared). */
bool ml_tile_reads_inside(ml_Call *c, const ml_Tile *t);
/* Nothing but loops and lists down to the blocks (not-schedulable). */
bool ml_tile_only_loops(ml_Call *c, const ml_Stmt *s, const ml_Stmt *place);

#endif
