/* tile_intrin - which loops of a block are tiled, and how, so that the inner ones are the
 * nest of a tensor intrinsic. Source: primitives 10, tiling for an intrinsic. */
#ifndef ML_PRIMITIVES_TILE_INTRIN_H
#define ML_PRIMITIVES_TILE_INTRIN_H

#include "moonloop/primitives/schedule.h"

typedef struct ml_TiledLoop {
    ml_Uid loop;
    int64_t tile; /* extent of the inner loop */
    size_t place; /* of the description's loop in its nest */
} ml_TiledLoop;
typedef struct ml_IntrinTiling {
    size_t n; /* 0: the loops of the block are not those of the intrinsic */
    const ml_TiledLoop *loops; /* outermost first */
    size_t n_iters;
    const int64_t *padding; /* for pad_einsum; NULL: every extent is divided by its tile */
} ml_IntrinTiling;

/* In cx, which lives at least as long as the schedule does not change. false: an error in
 * the schedule: no block, or no such intrinsic. */
bool ml_intrin_tiling(ml_Schedule *s, ml_Handle block, const char *name, bool allow_padding,
                      ml_Ctx *cx, ml_IntrinTiling *out);

#endif
