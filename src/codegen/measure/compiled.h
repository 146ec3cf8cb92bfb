/*
 * compiled - checking and timing programs as machine code, in a worker.
 * Source: interaction 8; lowering-and-codegen 12.
 */
#ifndef ML_CODEGEN_COMPILED_H
#define ML_CODEGEN_COMPILED_H

#include "codegen/measure/check.h"
#include "codegen/worker/worker.h"

/* A function with the text that a worker reads; lines of reports are lines of it. */
typedef struct ml_Work {
    const ml_Module *mod;
    const ml_Func *func;
    const char *text; /* NULL: printed by default rules */
} ml_Work;

#define ML_COMPILED_MOST INT64_C(1000000000000) /* iterations that anybody can wait for */
enum {
    ML_INTERP_REFERENCE = 10000000, /* innermost iterations below which the reference is
                                       interpreted */
    ML_WIDE_ONE_IN = 16,     /* of the iterations of a start that is not interpreted, in the
                                next wider type */
    ML_INTERP_TOO = 1000000, /* below which the current program is, besides compiled */
};

/* How the two programs of a check were run, for the message. */
typedef struct ml_CheckRuns {
    bool ref_compiled, got_compiled, got_interpreted;
    const char *not_compiled; /* why not, one line; NULL: it was */
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

/* Runs f's widened program (ml_WideFn) compiled, without contraction. */
typedef struct ml_WideWorker {
    ml_Worker *worker;
    const ml_Target *target;
    double limit; /* seconds; 0: 10 */
} ml_WideWorker;
bool ml_wide_compiled(ml_Ctx *cx, const struct ml_Wide *w, const ml_ParamRole *roles,
                      ml_RunArg *args, void *user); /* user: an ml_WideWorker */

/* Arguments of a function in shared memory, for timing. NULL: cx's error. */
ML_GIVES ml_WorkSet *ml_inputs_share(ml_Ctx *cx, const ml_Func *f,
                                     const ml_CheckOpts *opts);

typedef struct ml_TimeOpts {
    ml_Target target;
    ml_CodeOpts code;
    ml_TimingMode mode;
    bool cold;
    uint32_t runs;  /* samples; 0: as mode says */
    double limit;   /* seconds that a job may run; 0: 10 */
    bool counters;  /* what the processor counts, too: job.counters */
    bool unguarded; /* without the run between guard pages that comes first */
} ml_TimeOpts;
typedef struct ml_TimeReport {
    double median, min, p90, spread; /* seconds; spread: MAD / median */
    size_t n;                        /* samples */
    uint64_t switches;
    ml_JobResult job; /* of the last job */
} ml_TimeReport;
/* Times one function on given arguments. false: cx's error (a failed job's too). */
bool ml_time_work(ml_Ctx *cx, ml_Worker *w, const ml_Work *work, const ml_WorkSet *set,
                  const ml_TimeOpts *o, ml_TimeReport *out);
/* Times contenders by turns, `rounds` samples-batches each: work (NULL: the library) k in
 * worker w[k], so that thread pools are apart. reports[n]. */
typedef struct ml_Contender {
    ml_Worker *worker;
    const ml_Work *work;
    const char *library; /* "openblas:sgemm" */
} ml_Contender;
bool ml_time_contest(ml_Ctx *cx, const ml_Contender *c, size_t n, const ml_WorkSet *set,
                     const ml_TimeOpts *o, int rounds, ml_TimeReport *reports);
/* Median, minimum and the rest of samples in any order. */
void ml_time_summary(ml_Ctx *cx, const double *samples, size_t n, ml_TimeReport *out);
/* Turns a failed job into cx's error; false. */
bool ml_job_fail(ml_Ctx *cx, const ml_JobResult *r, const char *name);

#endif
