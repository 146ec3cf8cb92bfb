/*
 * count - how long a program runs, without running it. Source: interaction 8.
 */
#ifndef ML_CODEGEN_COUNT_H
#define ML_CODEGEN_COUNT_H

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/stmt.h"

/* The value of a symbolic size, by the variable's name. */
typedef struct ml_Size {
    const char *name;
    int64_t value;
} ml_Size;

/* Times that the bodies of innermost loops are executed (init and body of a block both
 * count): extents multiplied, sequences added, branches by their dearer arm, a while loop
 * once. An extent that is not constant counts as its upper bound under the sizes given;
 * ML_INF when there is none, or beyond int64. At least 1. */
int64_t ml_count_iterations(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes,
                            size_t n_sizes);

/* The value of an integer expression of literals and sizes; false: something else is in it,
 * or it overflows. */
bool ml_eval_size(const ml_Expr *e, const ml_Size *sizes, size_t n_sizes, int64_t *out);
/* Whether every symbol in a parameter's shape has its size, and (bounds) every integer
 * parameter that a loop runs to; else bad-run-argument, with what is to be typed. */
bool ml_sizes_given(ml_Ctx *cx, const ml_Func *f, const ml_Size *sizes, size_t n_sizes,
                    bool bounds);

#endif
