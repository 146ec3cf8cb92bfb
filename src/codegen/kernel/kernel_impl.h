/* kernel_impl - a compiled function (kernel*.c only). */
#ifndef ML_CODEGEN_KERNEL_IMPL_H
#define ML_CODEGEN_KERNEL_IMPL_H

#include "moonloop/codegen/kernel/kernel.h"
#include "moonloop/codegen/runtime/runtime.h"

enum { ML_BUILT_SETS = 4 };

struct ml_Built {
    ml_Ctx *cx;
    ml_Engine *engine;
    ml_BuildOpts o;
    ml_Work work;     /* read from its own text */
    ml_Binary binary; /* the same for workers, with its lines */
    ml_Signature sig;
    const bool *written;
    bool overlap;      /* tir.noalias is false: arguments may share memory */
    uint32_t threads;  /* as asked for, for saved objects; 0: the runtime's */
    bool foreign;      /* for another machine: not called here */
    const char *lacks; /* extensions that it may use and this machine has not, or NULL */
    ml_Mark start;     /* of what one use leaves in cx */
    struct {           /* arguments of earlier calls, to be filled again */
        ml_WorkSet *set;
        int64_t **shapes; /* per parameter: rank, extents; NULL: a number */
        ml_Dtype *types;
        uint64_t used;
    } sets[ML_BUILT_SETS];
    uint64_t clock;
    /* in this process */
    ml_Codegen *code;
    ml_Linked *linked;
    ml_KernelFn *fn;
    const ml_Func *lowered;
    bool may_fail; /* it has assertions, or takes memory */
};

/* Around each use: what the last one left in b->cx is given back, cx's limits hold; at the
 * end its error goes to cx. Gives ok. */
void ml_built_begin(ml_Built *b, const ml_Ctx *cx);
bool ml_built_end(ml_Built *b, ml_Ctx *cx, bool ok);
/* One job of the worker; false: the error of a failed one too. */
bool ml_built_job(ml_Built *b, const ml_CodeOpts *code, uint32_t want, const char *text,
                  const ml_WorkSet *set, ml_JobResult *r);
/* Lowered in cx, as the worker does it. */
const ml_Func *ml_built_lower(const ml_Built *b, ml_Ctx *cx);

/* The prototypes, with a comment on the words of a call. defines: NAME_packed is a function
 * that others find, for a library. */
bool ml_built_header(ml_Built *b, ml_Text *out, bool defines);
/* NAME_packed; types: of the parameters of NAME_body. And what it is made of. */
bool ml_built_packed(ml_Built *b, const char *const *types, ml_Text *out);
extern const char ml_built_packed_text[];

#endif
