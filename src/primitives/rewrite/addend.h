/* addend - what a block adds to its elements, and the factors of it that may be zero. */
#ifndef ML_PRIMITIVES_ADDEND_H
#define ML_PRIMITIVES_ADDEND_H

#include "moonloop/primitives/prim.h"

/* What the block adds; NULL: its body is not one store that adds to an element. */
const ml_Expr *ml_addend(const ml_Block *b);
/* A choice between a value and 0: its arguments are the test, the value and 0. */
bool ml_is_zero_choice(const ml_Expr *e);
/* Whether 0 times it is 0 whatever is in memory. */
bool ml_is_finite(const ml_Expr *e);
/* The first factor of the product that is such a choice, or NULL. *other: a factor beside it
 * that may not be finite; else it stays as it is. */
const ml_Expr *ml_zero_choice(const ml_Expr *e, const ml_Expr **other);
/* e with `to` for the part `from`, which is found by its address. */
const ml_Expr *ml_expr_swap(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *from,
                            const ml_Expr *to);

#endif
