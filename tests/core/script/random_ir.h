/* random_ir - well-formed random functions of all kinds of nodes, repeatable by their seed.
 */
#ifndef ML_TESTS_RANDOM_IR_H
#define ML_TESTS_RANDOM_IR_H

#include "moonloop/core/stmt.h"

typedef struct RandomIr {
    uint64_t seed;
    unsigned size;   /* statements, roughly; 0: 20 */
    bool no_blocks;  /* a lowered function: statements only */
    bool index_only; /* no vectors, opaque calls, handles or narrow dtypes */
    int spelling;    /* an ml_Spelling; the newest adds scalar cells */
} RandomIr;

const ml_Func *random_func(ml_Ctx *cx, const RandomIr *how);
/* An expression of a dtype over n given variables, literals and operators. */
const ml_Expr *random_expr(ml_Ctx *cx, uint64_t seed, ml_Dtype type,
                           const ml_Var *const *vars, size_t n, unsigned depth);

#endif
