/* rfactor - what the checks of rfactor find, and the rewrite needs. Source: primitives 9.
 */
#ifndef ML_PRIMITIVES_RFACTOR_H
#define ML_PRIMITIVES_RFACTOR_H

#include "moonloop/primitives/reducer/reduction_shape.h"
#include "moonloop/primitives/rewrite/move.h"

enum { ML_RFACTOR_LOOP, ML_RFACTOR_AXIS }; /* parameters */

typedef struct ml_Rfactor {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Block *block;
    ml_Uid scope;
    const ml_For **loops; /* of the block, outermost first */
    size_t n_loops;
    bool *reduces;        /* of these: drives a reduce iter, or is the given one */
    size_t target, first; /* positions: the given loop, the outermost reduce loop */
    size_t axis;
    ml_ReductionShape shape;
    const ml_Buffer *partial[ML_MAX_REDUCER];
    const ml_Expr *kept; /* conjuncts of the predicate that mention no reduce loop */
} ml_Rfactor;

static inline const ml_For *ml_rfactor_target(const ml_Rfactor *r)
{
    return r->loops[r->target];
}

/* Fills in everything but `partial`; c and cx are set. false: the error is set. */
bool ml_rfactor_check(ml_Rfactor *r);

#endif
