/* none - the backend of a build without LLVM's headers: it answers no-target.
 * Compiled in place of the other files of this folder. */
#include "codegen/llvm/llvm.h"
#include "core/error.h"

static bool no_llvm(ml_Ctx *cx)
{
    return ml_fail(cx, ML_E_NO_TARGET,
                   ML_TEXT("moonloop was built without LLVM (Debian: llvm-19-dev)"));
}

const char *ml_llvm_find(void)
{
    return NULL;
}

ml_Llvm *ml_llvm_open(ml_Ctx *cx, const ml_Target *t)
{
    (void)t;
    (void)no_llvm(cx);
    return NULL;
}

void ml_llvm_close(ml_Llvm *ll)
{
    (void)ll;
}

const char *ml_llvm_version(const ml_Llvm *ll)
{
    (void)ll;
    return "none";
}

bool ml_llvm_object(ml_Llvm *ll, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, ml_Bytes *out)
{
    (void)ll, (void)fs, (void)n, (void)o;
    *out = (ml_Bytes){NULL, 0};
    return no_llvm(cx);
}

bool ml_llvm_text(ml_Llvm *ll, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                  const ml_CodeOpts *o, ml_CodeText what, ml_Text *out)
{
    (void)ll, (void)fs, (void)n, (void)o, (void)what, (void)out;
    return no_llvm(cx);
}

ml_Linked *ml_llvm_link(ml_Llvm *ll, ml_Ctx *cx, const void *object, size_t n)
{
    (void)ll, (void)object, (void)n;
    (void)no_llvm(cx);
    return NULL;
}

void *ml_linked_find(ml_Linked *l, const char *symbol)
{
    (void)l, (void)symbol;
    return NULL;
}

void ml_linked_free(ml_Linked *l)
{
    (void)l;
}
