/*
 * kernel - a function compiled to be called on tensors, looked at and saved.
 *
 * A call goes through the checks of packed arguments on the caller's tensors; then it runs
 * in the engine's worker, on copies, or in this process. A call that fails in a worker, or
 * that ends with a failed assertion anywhere, leaves the tensors as they were.
 * Source: lua-api 5, 8; lowering-and-codegen 5.2, 5.3, 7.7.
 */
#ifndef ML_CODEGEN_KERNEL_H
#define ML_CODEGEN_KERNEL_H

#include "moonloop/codegen/machine/engine.h"

typedef struct ml_BuildOpts {
    ml_Target target;
    ml_CodeOpts code; /* threads 0: the engine's here, the runtime's in saved objects */
    bool inprocess;   /* linked into this process: no copies, and no protection */
    double limit;     /* seconds that a call in a worker may take; 0: 10 */
} ml_BuildOpts;

typedef enum ml_GivenKind {
    ML_GIVEN_NULL,
    ML_GIVEN_INT,
    ML_GIVEN_FLOAT,
    ML_GIVEN_BOOL,
    ML_GIVEN_TENSOR,
} ml_GivenKind;
typedef struct ml_CallArg { /* what a caller has for a parameter */
    ml_GivenKind kind;
    int64_t i; /* of an int or bool */
    double f;
    ml_Tensor *tensor;
} ml_CallArg;

typedef struct ml_Built ml_Built;
/* Compiles work->func (its name) of the text work->text. The kernel has a context of its
 * own; e outlives it. Here and below a failure is cx's error; cx's limits and its flag hold
 * for the call. */
ML_GIVES ml_Built *ml_build(ml_Ctx *cx, ml_Engine *e, const ml_Work *work,
                            const ml_BuildOpts *o);
void ml_built_free(ml_Built *b); /* NULL is fine */

bool ml_built_call(ml_Built *b, ml_Ctx *cx, const ml_CallArg *args, int32_t n);
/* "asm", "llvm", ...: a text of the target's backend. */
bool ml_built_text(ml_Built *b, ml_Ctx *cx, const char *name, ml_Text *out);
/* As the suffix says: .o .so .h or one of a text: .s .ll .c. Nothing of moonloop is imported
 * by what is saved. name: what its functions are called by, in place of the function's (NULL);
 * it must be a name in C. A failure leaves the file that was there. */
bool ml_built_save(ml_Built *b, ml_Ctx *cx, const char *path, const char *name);

const char *ml_built_name(const ml_Built *b);
const ml_Func *ml_built_func(const ml_Built *b); /* as it was read, before lowering */
bool ml_built_writes(const ml_Built *b, uint32_t param); /* or may */
const ml_BuildOpts *ml_built_opts(const ml_Built *b);
ml_Work ml_built_work(const ml_Built *b);
/* "f(A: Tensor([n, 64], float32), n: int32)"; cx is for scratch. */
void ml_built_signature(const ml_Built *b, ml_Ctx *cx, ml_Text *out);

#endif
