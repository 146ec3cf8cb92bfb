/* keep_order - instances of a block that depend on each other keep their order. */
#ifndef ML_PRIMITIVES_KEEP_ORDER_H
#define ML_PRIMITIVES_KEEP_ORDER_H

#include "moonloop/primitives/prim.h"
#include "moonloop/verify/order/self_deps.h"

/* Blocks whose instances depend on each other, as findings in cx; s: whose registered
 * reducers count, or NULL. */
void ml_find_order(ml_Ctx *cx, ml_Program p, const ml_Schedule *s, ml_Findings *out);
/* Whether the instances of the block may run in any order: ml_any_order. */
bool ml_runs_in_any_order(ml_Call *c, const ml_Block *b, ml_Runs runs);
/* The instances of the block, where they depend on each other, would keep their order if
 * they ran by the key over the loops around it, the same for the same values of its iters,
 * or by its iters; under: in each iteration of this loop (0: all) (order-reversed). */
bool ml_check_key_order(ml_Call *c, const ml_Block *b, ml_Uid under,
                        const ml_Expr *const *key, const ml_Expr *const *extents, size_t n);
bool ml_check_iter_order(ml_Call *c, ml_Uid block, ml_Uid under);
bool ml_check_order(ml_Call *c, ml_Uid block); /* under: 0 */
/* The same if they ran in the order of the elements of a buffer: at, its indices in the
 * iters of the block. */
bool ml_check_place_order(ml_Call *c, const ml_Block *b, const ml_Buffer *buf,
                          const ml_Expr *const *at);
/* All inits under the loop may come before all updates: no element is begun anew by an
 * instance with other spatial iters (init-misplaced). */
bool ml_check_inits_first(ml_Call *c, const ml_Block *b, ml_Uid loop);

#endif
