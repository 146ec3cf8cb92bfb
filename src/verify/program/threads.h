/* threads - what the threading validation shares: kernels and the target's limits. */
#ifndef ML_VERIFY_THREADS_H
#define ML_VERIFY_THREADS_H

#include "moonloop/core/targets.h"
#include "moonloop/verify/findings.h"

/* A kernel: a subtree whose root is a thread-bound loop under no other one. */
typedef struct ml_Kernel {
    const ml_For *root;
    ML_VEC(const ml_For *) loops; /* all thread-bound loops in it, outside in */
} ml_Kernel;

typedef struct ml_ThreadCheck {
    ml_Ctx *cx;
    ml_Finder find;
    ml_Program p;
    const ml_Func *func;
    const ml_Value *target;
    bool gpu;
    const ml_For *only; /* what this loop breaks alone counts; NULL: everything */
    ml_Arith *ar;
    ML_VEC(ml_Kernel) kernels;
} ml_ThreadCheck;

/* An extent that is a number; -1: another. */
int64_t ml_literal_extent(const ml_Expr *e);

/* 5.6: memory of each kernel, vector widths, number of kernels (memory.c). */
void ml_check_resources(ml_ThreadCheck *t);
/* Rule 16 of one block (execution_scope.c). */
void ml_check_execution_scope(ml_ThreadCheck *t, const ml_Block *b);

#endif
