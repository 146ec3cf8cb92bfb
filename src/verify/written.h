/* written - what a block surely writes of a region of its signature. */
#ifndef ML_VERIFY_WRITTEN_H
#define ML_VERIFY_WRITTEN_H

#include "verify/cover_strides.h"
#include "verify/facts.h"

/* Whether the block surely stores fewer elements than region r of its writes has: the
 * signature is a box with holes. false: it has none, or they cannot be counted. */
bool ml_has_holes(const ml_Block *b, const ml_Region *r);

/* The same of a region whose extents may be symbolic: then also when it cannot be shown
 * that the stores fill it. */
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
