/*
 * rounding - what the rounding of floats does to the buffers of a function.
 *
 * A program that is scheduled adds in another order, contracts a product and a sum, or
 * takes another exponential: its floats may differ in their last bits from those of the
 * start. What may differ, and what such a difference decides, is found here.
 * Source: interaction 8 (:check).
 */
#ifndef ML_CODEGEN_ROUNDING_H
#define ML_CODEGEN_ROUNDING_H

#include "moonloop/core/stmt.h"
#include "moonloop/core/vec.h"

enum {
    ML_ROUNDED =
        1, /* some element is the result of rounded arithmetic, or an integer made of
              one by casts and arithmetic */
    ML_DECIDED = 2, /* some element depends on a branch that a rounding may turn: a
              comparison of rounded floats, the floor of one, an index made of one */
};

typedef struct ml_Rounding {
    ml_Map *buffers; /* uid -> ML_ROUNDED | ML_DECIDED, as a pointer-sized number */
    ml_Map *sources; /* uid of a match's target -> its source */
} ml_Rounding;

/* Of every buffer of f; parameters that are passed in are exact. */
ml_Rounding ml_rounding_of(ml_Ctx *cx, const ml_Func *f);
unsigned ml_rounding(const ml_Rounding *r, const ml_Buffer *b);

/* The unit roundoff of a float type, half the distance of 1 from the next number: 2^-24 of
 * float32. 0 for other types. */
double ml_unit_roundoff(ml_Dtype t);
/* The distance of the numbers of a float type at v, as if it had no smallest; of 0, 0. */
double ml_ulp_at(ml_Dtype t, double v);
/* The next wider float type: float32 of float16, bfloat16 and the 8-bit ones and smaller,
 * float64 of float32; float64 and other types are themselves. Lanes are kept. */
ml_Dtype ml_dtype_wider(ml_Dtype t);

#endif
