/*
 * index_values - which values integer arguments may have, so that every index, binding and
 * loop that is made of them stays inside. Source: interaction 8 (:check).
 */
#ifndef ML_CODEGEN_INDEX_VALUES_H
#define ML_CODEGEN_INDEX_VALUES_H

#include "moonloop/codegen/params/count.h"

enum { ML_INDEX_LOOP = 16 }; /* iterations of a loop that is as long as elements say */

/* Of one parameter; of numbers and of elements alike. */
typedef struct ml_IndexValues {
    bool index;     /* some index, binding, divisor, shift or loop is made of it */
    bool ascending; /* a loop is as long as the difference of two elements (rows of a sparse
                       matrix): values that grow give it iterations */
    bool fits;      /* with the values from lo to hi everything stays inside */
    int64_t lo, hi;
} ml_IndexValues;

/* v[f->n_params]. Ranges are as wide as can be shown; a program for which nothing fits has
 * lo = hi = 0 and fits = false. */
void ml_index_values(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                     ml_IndexValues *v);

#endif
