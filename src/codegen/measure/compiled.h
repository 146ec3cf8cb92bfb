/*
 * compiled - checking programs as machine code, in a worker.
 * Source: interaction 8; lowering-and-codegen 12.
 */
#ifndef ML_CODEGEN_COMPILED_H
#define ML_CODEGEN_COMPILED_H

#include "moonloop/codegen/measure/run.h"

#define ML_COMPILED_MOST INT64_C(1000000000000) /* iterations that anybody can wait for */
enum {
    ML_INTERP_TOO = 1000000, /* below which the current program is, besides compiled */
};

/* How the two programs of a check were run, for the message. */
typedef struct ml_CheckRuns {
    bool ref_compiled, got_compiled, got_interpreted;
    bool refused;             /* by lowering: it will be on every machine */
    const char *not_compiled; /* why not, one line; NULL: it was */
    const char *loop_by_loop; /* why threads did not run side by side; NULL: no threads, or
                                 they did */
    uint32_t line;            /* of the current program's text, of a crash; 0 */
} ml_CheckRuns;

/*
 * ml_check_compiled - ml_check with compiled code, as interaction 8 says: the reference in
 * the interpreter when it is small, else compiled without contraction; the current program
 * compiled, and in the interpreter too when it is small. A program that cannot be compiled
 * (for a GPU, no LLVM) is interpreted when it is small enough, else refused as too-large.
 *
 * w NULL: nothing is compiled, for the reason `why`. kept (may be NULL): where the
 * reference is found and left.
 */
bool ml_check_compiled(ml_Ctx *cx, ml_Worker *w, const char *why, const ml_Target *target,
                       const ml_Work *ref, const ml_Work *got, const ml_CheckOpts *opts,
                       ml_Reference **kept, ml_CheckResult *r, ml_CheckRuns *runs);

#endif
