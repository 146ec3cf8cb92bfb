/* access_sample - instances of a block by numbers: a region that some of them do not keep
 * to is wrong, whatever can be proved. */
#ifndef ML_PRIMITIVES_ACCESS_SAMPLE_H
#define ML_PRIMITIVES_ACCESS_SAMPLE_H

#include "moonloop/primitives/prim.h"

/* An instance that accesses an element of the buffer outside of the region (in the block's
 * iters), among those that are tried: a phrase in c->cx, "at i = 3, j = 0 it reads A[7]".
 * NULL: none was found; *tried: all that the tried ones access came out as numbers. */
const char *ml_access_outside(ml_Call *c, const ml_Block *b, const ml_Buffer *buf,
                              bool write, const ml_Range *region, bool *tried);

#endif
