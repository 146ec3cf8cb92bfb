/* written - what a block surely writes of a region of its signature. */
#ifndef ML_VERIFY_WRITTEN_H
#define ML_VERIFY_WRITTEN_H

#include "moonloop/verify/cover/cover_strides.h"
#include "moonloop/verify/facts.h"

/* Whether region r of the block's writes is one element, what a copy fills, or such that
 * its stores cannot be looked into (opaque calls): then it is taken as it is signed.
 */
bool ml_plainly_filled(const ml_Block *b, const ml_Region *r);

/* Whether it is a box with holes, or may be: the stores are fewer than its elements, or not
 * shown to fill it as far as the buffer goes. */
bool ml_may_have_holes(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_Region *r);

/* Whether the stores inside the block, also in blocks inside of it, are shown to fill the
 * region under their conditions, for all values of its iters. *signed_only: they cannot be
 * looked at; then it is taken as it is signed (true). */
bool ml_is_filled(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_Region *r,
                  bool *signed_only);

/* The stores of r's buffer inside the block: ranges in terms of the block's iterators, the
 * loops between block and store, and what holds there. Masked stores and those under loops
 * that may end early are left out: they are not sure. Behind what is in *out. */
typedef ML_VEC(ml_Access1) ml_AccessVec;
void ml_stores_inside(ml_Ctx *cx, const ml_Block *b, const ml_Region *r, ml_AccessVec *out);

#endif
