/*
 * llvm - machine code from functions at stage body, through LLVM 19's C interface.
 *
 * libLLVM is opened at first use through a table of function pointers (llvm.def). No other
 * file of moonloop sees LLVM's types. One ml_Llvm is used by one thread at a time.
 * Source: DESIGN 4; lowering-and-codegen 7.
 */
#ifndef ML_CODEGEN_LLVM_H
#define ML_CODEGEN_LLVM_H

#include "codegen/lower/lower.h"
#include "core/base/text.h"

/* Whether the library is there, without loading it: the name that opens it, or NULL. */
const char *ml_llvm_find(void);

typedef struct ml_Llvm ml_Llvm;
/* Loads the library once per process, makes a target machine. NULL: error no-target (where
 * the library was looked for, or what the target lacks). */
ML_GIVES ml_Llvm *ml_llvm_open(ml_Ctx *cx, const ml_Target *t);
void ml_llvm_close(ml_Llvm *ll);
const char *ml_llvm_version(const ml_Llvm *ll); /* "19.1.7" */

typedef enum ml_OptLevel {
    ML_OPT_LIGHT, /* the pipeline of 7.2 */
    ML_OPT_NONE,
    ML_OPT_O1,
    ML_OPT_O2,
    ML_OPT_O3,
} ml_OptLevel;
typedef struct ml_CodeOpts {
    ml_OptLevel opt;
    bool no_contract; /* separate multiply and add, bit-equal to the interpreter */
    bool fast_math;   /* reassociation allowed */
    bool exact_math;  /* libm instead of the polynomials of 7.8 */
    bool unaligned;   /* arguments are aligned to their elements only */
    bool lines;       /* line tables: spans of statements as debug locations */
    bool standalone;  /* workspace from aligned_alloc: nothing of moonloop is imported */
    uint32_t threads; /* of parallel loops; 0: what the runtime says when called */
} ml_CodeOpts;

typedef struct ml_Bytes {
    uint8_t *v; /* malloc */
    size_t n;
} ml_Bytes;

/* The functions (stage body) as one module; symbols NAME_body and NAME_call each. */
bool ml_llvm_object(ml_Llvm *ll, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, ml_Bytes *out);
typedef enum ml_CodeText {
    ML_CODE_LLVM,     /* as emitted */
    ML_CODE_LLVM_OPT, /* after the pipeline */
    ML_CODE_ASM,      /* with .loc lines when o->lines */
} ml_CodeText;
bool ml_llvm_text(ml_Llvm *ll, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                  const ml_CodeOpts *o, ml_CodeText what, ml_Text *out);

/* Program line of the instruction `offset` bytes after `symbol` (a crash address), 0: not
 * known. Compiles once more, with lines: instructions are the same. */
uint32_t ml_llvm_line_at(ml_Llvm *ll, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                         const ml_CodeOpts *o, const char *symbol, int64_t offset);

/* Objects linked into this process. */
typedef struct ml_Linked ml_Linked;
ML_GIVES ml_Linked *ml_llvm_link(ml_Llvm *ll, ml_Ctx *cx, const void *object, size_t n);
void *ml_linked_find(ml_Linked *l, const char *symbol); /* NULL: none; cx's error is set */
void ml_linked_free(ml_Linked *l);                      /* the code is gone */

#endif
