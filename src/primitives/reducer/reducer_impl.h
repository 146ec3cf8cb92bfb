/* reducer_impl - what reducer.c and arg_reducer.c share. */
#ifndef ML_PRIMITIVES_REDUCER_IMPL_H
#define ML_PRIMITIVES_REDUCER_IMPL_H

#include "moonloop/primitives/reducer/reducer.h"

/* An index with the greatest or smallest value: two accumulators, in either order. *why
 * stays when it is no such thing. */
bool ml_arg_reducer_find(ml_Ctx *cx, const ml_Expr *const *acc,
                         const ml_Expr *const *combined, const ml_Expr *const *from,
                         ml_Combiner *out, const char **why);

#endif
