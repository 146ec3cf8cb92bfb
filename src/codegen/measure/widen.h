/*
 * widen - a program computed in the next wider type, and beside every float an estimate of
 * what rounding may have done to it in its own type.
 *
 * The estimate is the first-order one: a sum of K terms over a loop adds sqrt(K) u |term|
 * for each (u: the unit roundoff of the type that the start has there; 2 K u where there is
 * no wider type) and what the terms
 * carry; other operations carry what their operands have by their derivatives and add their
 * own u |value|. (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 3.3 and
 * 4.2.) Source: interaction 8 (:check).
 */
#ifndef ML_CODEGEN_WIDEN_H
#define ML_CODEGEN_WIDEN_H

#include "moonloop/codegen/params/count.h"
#include "moonloop/codegen/params/rounding.h"

typedef struct ml_Wide {
    const ml_Module *mod;
    const ml_Func *func; /* f's parameters in their order, the estimates (float64) behind */
    uint32_t *estimate;  /* per parameter of f: which parameter has its estimate; 0: none */
} ml_Wide;

/* Which part of the elements is computed where that saves time. */
typedef struct ml_WideSample {
    uint32_t one_in;  /* iterations of the outermost loops; 0 or 1: all of them */
    const bool *last; /* per parameter: written, and read by nothing */
} ml_WideSample;

/* sample  may be NULL; what it leaves out keeps its contents
 * return  NULL without an error: f calls what is not known, or handles addresses or bits of
 *         floats, so that it means nothing in another type */
const ml_Wide *ml_widen(ml_Ctx *cx, const ml_Func *f, const ml_Rounding *r,
                        const ml_Size *sizes, size_t n_sizes, const ml_WideSample *sample);

#endif
