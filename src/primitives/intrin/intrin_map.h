/* intrin_map - the ways in which the iters of a block can stand for those of a tensor
 * intrinsic, each perhaps several of them fused. Source: auto-scheduler 9. */
#ifndef ML_PRIMITIVES_INTRIN_MAP_H
#define ML_PRIMITIVES_INTRIN_MAP_H

#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/schedule.h"

enum { ML_INTRIN_MAPS_MOST = 4096 }; /* that are listed of one block */

typedef struct ml_IntrinOperand { /* a buffer of the description and what stands for it */
    const ml_Buffer *desc, *own;
    const ml_Expr *const *index; /* the description's, of its iters */
    uint64_t iters;              /* a bit for each of the block's that it is indexed by */
    bool write;
} ml_IntrinOperand;
typedef struct ml_IntrinMap {
    size_t n_operands;
    const ml_IntrinOperand *operands; /* the written one first, then as they are read */
    const size_t *n_of;               /* for each iter of the intrinsic */
    const uint32_t *const *of; /* the block's iters that are fused to it, the outermost
                                         first; those in none stay outside */
    const int64_t *extents;    /* of the fused iters */
} ml_IntrinMap;
typedef struct ml_IntrinMaps {
    const ml_Block *block; /* of the schedule */
    const ml_Block *desc;  /* of the description */
    size_t n;
    const ml_IntrinMap *v;
    bool cut;        /* there are more than ML_INTRIN_MAPS_MOST */
    const char *why; /* n is 0: what is in the way, as a sentence */
} ml_IntrinMaps;

/* Every mapping: the body is the description's up to the order of operands that commute; an
 * iter stands for one of the intrinsic's that is of its kind and in the same operands, or
 * stays outside; iters of extent 1 stand for one where no other does. All that can be fused
 * in the block's order comes first. What is found lives as long as cx and the schedule's
 * version. false: an error in the schedule: no block, or no such intrinsic. */
bool ml_intrin_maps(ml_Schedule *s, ml_Handle block, const char *name, ml_Ctx *cx,
                    ml_IntrinMaps *out);

/* What each iter of the intrinsic stands for, in cx: "i = j, k = fuse(h, c) (9 padded to
 * 12)". */
const char *ml_intrin_map_text(ml_Ctx *cx, const ml_IntrinMaps *all, const ml_IntrinMap *m);

#endif
