/* self_deps - dependences between the instances of one block, or of several under the same
 * loops, and orders of these that keep them. */
#ifndef ML_VERIFY_SELF_DEPS_H
#define ML_VERIFY_SELF_DEPS_H

#include "moonloop/verify/verify.h"

/* One access: the elements of a region, in the iters of the block (or in its loops). */
typedef struct ml_Touch {
    const ml_Buffer *buf;
    const ml_Range *at; /* buf->rank of them */
    bool write;
} ml_Touch;
typedef ML_VEC(ml_Touch) ml_TouchVec;

/* What the block touches, init included: each element by itself where the body consists of
 * stores and conditions, else as its signature says. */
void ml_block_touches(ml_Ctx *cx, const ml_Block *b, ml_TouchVec *out);
/* Sets told[k] for each variable of the domain that is the same in any two instances of
 * which one touches an element as `a` says and the other the same one as `b` says. */
void ml_told_by(ml_Arith *ar, const ml_Touch *a, const ml_Touch *b, const ml_Dom *dom,
                size_t n, bool *told);

/* Another order for the iterations of a chain of loops around some blocks: theirs run as
 * the key grows, its first value first; what is inside of them keeps its order. */
typedef struct ml_NewOrder {
    const ml_Dom *loops; /* outermost first; no statement but these between the first and
                            the last */
    size_t n;
    const ml_Expr *const *key, *const *extents; /* over the loops' variables, from 0 or from
                                                   the minimum of a loop */
    size_t n_key;
    const ml_Block *const *blocks; /* in textual order; only blocks without iters between
                                      them and the loops */
    size_t n_blocks;
    /* Accesses of one buffer that are looked after elsewhere; NULL: none. */
    bool (*ignore)(const ml_Block *a, const ml_Touch *x, const ml_Block *b,
                   const ml_Touch *y, void *user);
    void *user;
} ml_NewOrder;
/* Two instances that touch one element, one of them writing it, come as they did: else
 * fails with order-reversed: the blocks {0} and {1}, how the first touches {2} the element
 * {4} of the buffer {3} in its instance {5}, how the other {6} in {7}. Or unproved: the
 * blocks, the buffer {2}. */
bool ml_keeps_order(ml_Ctx *cx, ml_Program p, const ml_NewOrder *o);
/* Whether the key never falls as the loops run: the order is the one of today then, whatever
 * depends on what. The cheapest of these questions; false: it was not seen at once. loops: n
 * of them, outermost first. */
bool ml_key_grows(const ml_Dom *loops, size_t n, const ml_Expr *const *key, size_t n_key);
/* Marks loops that are the same for any two instances of the block that touch one element
 * of what it writes, as far as that is seen at once. all: no loop is missing between the
 * first of them and the block, nor a block between. told: n of them. */
void ml_loops_told(const ml_Block *b, const ml_Dom *loops, size_t n, bool all, bool *told);
/* ml_key_grows for such instances; all loops from the first one on to the block. */
bool ml_order_stays(const ml_Block *b, const ml_Dom *loops, size_t n,
                    const ml_Expr *const *key, size_t n_key);
/* Whether it is seen at once that instances which touch one element of what the block writes
 * have the same iters; spatial: these alone. */
bool ml_elements_tell(const ml_Block *b, bool spatial);
/* Marks the iters of which the block's init, where it has one, begins each element once:
 * two instances that touch an element of what it writes have the same of them. told:
 * b->n_iters of them. */
void ml_iters_told(ml_Ctx *cx, ml_Program p, const ml_Block *b, bool *told);

#endif
