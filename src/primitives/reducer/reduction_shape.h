/* reduction_shape - what a reduction block reduces: its accumulators and their combiner,
 * read off its init and its body. Source: primitives 9, rfactor (block shape). */
#ifndef ML_PRIMITIVES_REDUCTION_SHAPE_H
#define ML_PRIMITIVES_REDUCTION_SHAPE_H

#include "moonloop/primitives/prim.h"
#include "moonloop/primitives/reducer/reducer.h"

typedef struct ml_ReductionShape {
    size_t n; /* accumulators, in the order of the body's stores */
    const ml_Buffer *buf[ML_MAX_REDUCER]; /* equal shapes */
    const ml_Expr *from[ML_MAX_REDUCER];  /* what the init stores */
    const ml_Expr *const *idx;            /* the element, one for all */
    size_t rank;
    const ml_Stmt **lets; /* of the body; new values may use them */
    size_t n_lets;
    ml_Combiner combiner;
} ml_ReductionShape;

/* The block has an init. false: rfactor-shape with the number of the condition, or
 * no-reducer. */
bool ml_reduction_shape(ml_Call *c, const ml_Block *b, ml_ReductionShape *out);

#endif
