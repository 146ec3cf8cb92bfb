/*
 * infer - which regions of which buffers one block touches.
 *
 * Child blocks are not entered: their declared regions count. Buffers that the block itself
 * owns, or that are declared inside it, are left out. Source: script 8.3,
 * ir-and-analysis 6.1.
 */
#ifndef ML_CORE_SCRIPT_INFER_H
#define ML_CORE_SCRIPT_INFER_H

#include "moonloop/core/arith/region.h"

typedef struct ml_Inferred {
    ML_VEC(ml_Region) reads; /* in order of first appearance */
    ML_VEC(ml_Region) writes;
    ML_VEC(const ml_Buffer *) opaque; /* used directly through their data pointer */
} ml_Inferred;

/* The buffers of a function by the uid of their data pointer (the first of several), for
 * the accesses that name the pointer: a map to const ml_Buffer *. */
ml_Map *ml_infer_pointers(ml_Ctx *cx, const ml_Func *f);
/* Everything is allocated in cx. ar: what is known of symbolic sizes. With an init, buffers
 * written are dropped from the reads. A dimension whose bounds pass the limits of their
 * dtype or of nesting is taken whole, so that the answer depends on the block alone and not
 * on marks of cx, which stay as they were. False when cx is out of memory or stopped. */
bool ml_infer_regions(ml_Ctx *cx, ml_Arith *ar, const ml_Map *pointers, const ml_Block *b,
                      ml_Inferred *out);

#endif
