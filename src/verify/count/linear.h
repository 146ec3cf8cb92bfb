/*
 * linear - index expressions as sums of digits of the loops' counters.
 *
 * A loop counts its iterations from 0; a digit of it is (counter // lo) % ext, so that
 * i // 8 and i % 8 of a fused loop are sums of digits as i is. Iters, names and views are
 * seen through. What does not fit says which loops it depends on, no more.
 */
#ifndef ML_VERIFY_LINEAR_H
#define ML_VERIFY_LINEAR_H

#include "moonloop/core/walk.h"

enum { ML_OPEN = -1 }; /* an extent that is no number */

typedef struct ml_Axis { /* a loop; or what one access counts by itself: lanes, a region */
    uint32_t depth;      /* loops around it; ML_INNER */
    uint32_t role;       /* of an inner one: 0 lanes, else 1 + dimension of a region */
    int64_t trips;       /* at most; >= 1, or ML_OPEN */
    const ml_Expr *expr; /* of the function's sizes, when ML_OPEN; or NULL */
} ml_Axis;
#define ML_INNER (UINT32_MAX - 1) /* below every loop */

typedef struct ml_Atom {
    uint32_t axis; /* a position; of a size ML_NO_AXIS */
    int64_t lo, ext, coef;
    const ml_Var *size;
} ml_Atom;
#define ML_NO_AXIS UINT32_MAX

typedef struct ml_Linear {
    bool ok;
    uint64_t deps; /* bit min(depth, 63) of each loop that it depends on */
    int64_t base;
    uint32_t n;
    const ml_Atom *v; /* by axis, then lo; sizes last */
} ml_Linear;

typedef struct ml_LinearEnv { /* what names mean on the way down */
    ml_Ctx *cx;
    ml_Map *vars;    /* uid -> const ml_Linear *; others are sizes */
    ml_Map *written; /* uids of buffers that the function changes; NULL: any may be */
    ML_VEC(ml_Axis) axes;
    ML_VEC(uint32_t) inner; /* those of them that are ML_INNER */
} ml_LinearEnv;

uint64_t ml_depth_bit(uint32_t depth);
ml_Linear ml_linear(ml_LinearEnv *s, const ml_Expr *e);
ml_Linear ml_linear_axis(ml_LinearEnv *s, uint32_t axis); /* its counter */
ml_Linear ml_linear_add(ml_LinearEnv *s, const ml_Linear *a, const ml_Linear *b,
                        int64_t times);
/* The axis of that role, trips and ML_INNER; made when there is none yet. */
uint32_t ml_inner_axis(ml_LinearEnv *s, uint32_t role, int64_t trips);
/* Least and greatest value; false: sizes decide, or beyond int64. */
bool ml_linear_range(const ml_Linear *a, int64_t *min, int64_t *max);

#endif
