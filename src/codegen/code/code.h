/*
 * code - what asking for machine code means, and the backends that answer.
 *
 * A backend is a folder beside this one and a row of backends.def: it turns functions at
 * stage body into objects and texts, and links its objects into this process. Nobody but
 * the table names one: callers open the one of a target. What is opened is used by one
 * thread at a time. Source: DESIGN 1, 4; lowering-and-codegen 7.
 */
#ifndef ML_CODEGEN_CODE_H
#define ML_CODEGEN_CODE_H

#include "moonloop/codegen/target/target.h"
#include "moonloop/core/stmt.h"

/* ---- what is asked */
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

/* ---- what a backend is */
typedef struct ml_Backend ml_Backend;
typedef struct
    ml_Codegen { /* one that is open for a target; it begins what the backend has */
    const ml_Backend *by;
    const ml_TargetKind *kind;
} ml_Codegen;
typedef struct ml_Linked { /* an object in this process; likewise */
    const ml_Backend *by;
} ml_Linked;
typedef struct ml_CodeText { /* a text that can be asked for */
    const char *name;        /* "llvm-opt" */
    const char *suffix;      /* of files that hold it: ".ll"; NULL: it is not saved */
} ml_CodeText;

struct ml_Backend {
    /* Whether it can be opened, without loading anything: what would be; NULL: it cannot. */
    const char *(*find)(void);
    ml_Codegen *(*open)(ml_Ctx *cx, const ml_Target *t); /* NULL: error no-target */
    void (*close)(ml_Codegen *c);
    const char *(*version)(const ml_Codegen *c); /* "19.1.7" */
    /* The functions as one module; symbols NAME_body and NAME_call each. NULL: it prints. */
    bool (*object)(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                   const ml_CodeOpts *o, ml_Bytes *out);
    const ml_CodeText *texts;
    size_t n_texts;
    bool (*text)(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                 const ml_CodeOpts *o, const ml_CodeText *what, ml_Text *out);
    /* The three below may be NULL: its objects do not run here. */
    uint32_t (*line_at)(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                        const ml_CodeOpts *o, const char *symbol, int64_t offset);
    ml_Linked *(*link)(ml_Codegen *c, ml_Ctx *cx, const void *object, size_t n);
    void *(*symbol)(ml_Linked *l, const char *symbol);
    void (*unlink)(ml_Linked *l);
};

/* ---- the table */
typedef struct ml_BackendRow {
    const char *name, *title, *release; /* "llvm", "LLVM", "19" */
    const ml_Backend *backend;          /* NULL: this build has none */
    const char *without;                /* what such a build says */
} ml_BackendRow;
extern const ml_BackendRow ml_backends[];
extern const size_t ml_n_backends;
/* What would open the backend of that name; NULL: it is not there. */
const char *ml_backend_find(const char *name);

/* ---- asking: the backend of the target's kind */
/* From now on this process compiles for nobody else: options that a library keeps for all
 * of a process may be set. Before the first ml_code_open. */
void ml_code_alone(void);
bool ml_code_is_alone(void);
const char *ml_code_find(const ml_Target *t); /* as ml_backend_find */
/* NULL: error no-target (what this build lacks, where a library was looked for, or what the
 * target lacks). */
ML_GIVES ml_Codegen *ml_code_open(ml_Ctx *cx, const ml_Target *t);
void ml_code_close(ml_Codegen *c); /* NULL is fine */
const char *ml_code_version(const ml_Codegen *c);
bool ml_code_object(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                    const ml_CodeOpts *o, ml_Bytes *out);
/* The text of that name, of the target's backend or of one that prints for its pipeline;
 * false: the error says which there are. */
bool ml_code_text(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                  const ml_CodeOpts *o, const char *name, ml_Text *out);
/* The text that files of that suffix hold: its name; NULL: there is none. */
const char *ml_code_saved(const ml_Target *t, const char *suffix);
/* Program line of the instruction `offset` bytes after `symbol` (a crash address), 0: not
 * known. Compiles once more, with lines: instructions are the same. */
uint32_t ml_code_line_at(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                         const ml_CodeOpts *o, const char *symbol, int64_t offset);
/* Whether the loop has that annotation, neither 0 nor false. */
bool ml_code_annotated(const ml_For *f, const char *key);
/* Bits of the widest lanes among the vectors that e is made of, at least 8; half: what a float of
 * 16 has in registers. 64: e is too large to be looked through. */
unsigned ml_code_widest(const ml_Expr *e, unsigned half);
/* C and C++ take the text as the name of a function: no keyword, letters and digits. */
bool ml_code_is_c_name(const char *z);

/* Objects linked into this process. */
ML_GIVES ml_Linked *ml_code_link(ml_Codegen *c, ml_Ctx *cx, const void *object, size_t n);
void *ml_linked_find(ml_Linked *l, const char *symbol); /* NULL: none; cx's error is set */
void ml_linked_free(ml_Linked *l);                      /* the code is gone; NULL is fine */

#endif
