/* expr_impl - what expr.c and fold.c share: interning, and arithmetic on literals. */
#ifndef ML_CORE_EXPR_IMPL_H
#define ML_CORE_EXPR_IMPL_H

#include "moonloop/core/expr.h"

/* The node with the kind, type, payload and mask flag of `head` and these children. */
const ml_Expr *ml_expr_intern(ml_Ctx *cx, const ml_Expr *head, const ml_Expr *const *args,
                              size_t n);

/* A call of a bit operator or shift on int32/int64 literals, folded; else NULL. */
const ml_Expr *ml_fold_call(ml_Ctx *cx, ml_Dtype t, const ml_Op *op,
                            const ml_Expr *const *args, size_t n);

#endif
