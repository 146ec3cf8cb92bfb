/*
 * nests - the top-level nests of a function as functions of their own, to be timed each.
 *
 * A buffer that several nests use becomes a parameter of theirs; one that a single nest
 * uses stays its own. Source: interaction 8 (:profile).
 */
#ifndef ML_CODEGEN_NESTS_H
#define ML_CODEGEN_NESTS_H

#include "moonloop/core/stmt.h"
#include "moonloop/core/vec.h"

typedef struct ml_Nest {
    const ml_Func *func;
    const ml_Stmt *stmt; /* of the whole function: what the nest consists of */
} ml_Nest;
typedef ML_VEC(ml_Nest) ml_NestVec;

/*
 * In order of execution. One nest, the function itself, where it has no more or where they
 * cannot be taken apart: *why then says so, else it is NULL. Nests that share a buffer
 * which cannot be a parameter (of another scope than global) stay together.
 */
void ml_nests_split(ml_Ctx *cx, const ml_Func *f, ml_NestVec *out, const char **why);

#endif
