/*
 * compiled - versions of the random test as machine code: lowered, compiled in process, and
 * run by a forked child that serves one program after the other.
 *
 * Every buffer lies between guard pages in memory shared with the child; a fault, an
 * endless loop or a wild write in generated code costs the child, never the seed.
 * Contraction is off, so that results equal the interpreter's. Source: style 10;
 * lowering-and-codegen 13.
 */
#ifndef ML_TESTS_FUZZ_COMPILED_H
#define ML_TESTS_FUZZ_COMPILED_H

#include "trial.h"

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/lower/lower.h"

/* How a version is compiled and where its arguments lie: all of it from one number. */
typedef enum FzPlace {
    FZ_AT_END,   /* data ends with the page, aligned to its elements only */
    FZ_NEAR_END, /* as near to the end as a start aligned to 64 bytes allows */
    FZ_AT_BEGIN, /* data begins with the page */
    FZ_PLACES
} FzPlace;
typedef struct FzCode {
    ml_OptLevel opt;
    uint32_t threads, bits;
    FzPlace place;
    bool contract; /* products and sums as one operation */
} FzCode;
FzCode fz_code(uint32_t pick);             /* contract is never chosen */
void fz_code_text(FzCode c, ml_Text *out); /* "light, 2 threads, 256 bits, data at ..." */

typedef struct FzCompile {
    ml_Ctx *cx;       /* scratch, dropped afterwards */
    const char *text; /* of the module; main is compiled */
    uint32_t pick;
    const FzCode *code; /* NULL: what pick says */
    ml_RunArg *args;    /* their data before the run, and after it */
    uint32_t n_args;
    const FzProgram *sizes; /* their values; NULL: none */
    FzStats *stats;
    ml_Text detail;
    const ml_Func *lowered; /* how far it came, in cx */
    /* of fz_object */
    const ml_Func *start; /* as it was read, in cx */
    ml_Signature signature;
    ml_Bytes object;
} FzCompile;
/* NULL: it ran, or was refused as programs for a GPU are; else the kind of failure, with
 * detail. *ran: the arguments hold what it computed. */
const char *fz_compile(FzCompile *c, bool *ran);
/* The same in two halves: the object, free(c->object.v), none where it is refused as programs
 * for a GPU are; and a run of it, of which there may be several, in other places. */
const char *fz_object(FzCompile *c);
const char *fz_call(FzCompile *c, FzPlace place);
/* The target of that many bits, or of as many as there are; after fz_compiler. */
const ml_Target *fz_target(uint32_t bits);

/* Whether there is a compiler; opened at the first call. What is missing goes to why. */
bool fz_compiler(const char **why);
void fz_compiler_close(void);
/* From now on what is compiled is printed as C and goes through this command; NULL: LLVM. */
void fz_print_for(const char *cc);

/* A crash of this process prints the trial at work, or the text, and what it was about. */
void fz_watch(const FzTrial *t);
void fz_watch_text(const char *what);
void fz_phase(const char *what);

#endif
