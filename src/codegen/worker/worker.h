/*
 * worker - compiling, running and timing programs in processes of their own.
 *
 * A worker is the program started anew (`moonloop --worker`). It takes jobs over a socket,
 * one after the other: reads the program, lowers, compiles, and hands the object to
 * its runner, a child forked before any parallel region that it replaces after a crash, a
 * time-out or a wrong result. Arguments lie in memfds that are passed once (a work set);
 * correctness runs map them privately, so that every run starts from the same contents,
 * with a guard page behind (and one before) each. A crash costs one job, never the session.
 * Source: DESIGN 4; interaction 9; lowering-and-codegen 12.
 */
#ifndef ML_CODEGEN_WORKER_H
#define ML_CODEGEN_WORKER_H

#include "moonloop/codegen/code/code.h"
#include "moonloop/codegen/interp/interp.h"
#include "moonloop/core/binary/binary.h"

/* ---- arguments, shared with workers */
typedef struct ml_WorkArg {
    bool is_tensor;
    ml_RunArg scalar; /* i and f, when it is none */
    ml_Dtype type;
    uint32_t rank;
    const int64_t *shape;
    const ml_Tensor *initial;  /* what it holds before a run; NULL: poison (an output) */
    const ml_Tensor *expected; /* what it must hold afterwards; NULL: not compared */
    ml_Tolerance tolerance;
    bool written; /* false: a run that changes it fails */
} ml_WorkArg;
typedef struct ml_WorkSet ml_WorkSet;
/* Copies what it is given. NULL: cx's error. */
ML_GIVES ml_WorkSet *ml_workset_new(ml_Ctx *cx, const ml_WorkArg *args, uint32_t n);
/* Its memory is given back at once; workers close their descriptors with their next job. No
 * worker may be at work on it. */
void ml_workset_free(ml_WorkSet *s);
/* What the last job that asked for outputs left in argument k; false: k is no tensor. */
bool ml_workset_output(const ml_WorkSet *s, uint32_t k, ml_Tensor *into);
/* Gives argument k another initial content, or another number, seen by later jobs. The
 * tensor is of the argument's size; false: it could not be written. */
bool ml_workset_fill(const ml_WorkSet *s, uint32_t k, const ml_Tensor *content);
void ml_workset_number(ml_WorkSet *s, uint32_t k, ml_RunArg value);
/* Gives argument k another expected content, seen by later jobs. */
bool ml_workset_expect(ml_Ctx *cx, ml_WorkSet *s, uint32_t k, const ml_Tensor *expected,
                       ml_Tolerance tolerance);

/* ---- jobs */
enum {                      /* what a job is to give */
       ML_WANT_CHECK = 1,   /* a run on private copies: guards, inputs, expected contents */
       ML_WANT_OUTPUTS = 2, /* and what it wrote (ml_workset_output) */
       ML_WANT_TIMES = 4,
       ML_WANT_OBJECT = 8,
       ML_WANT_TEXT = 16,      /* the text `text` of the backend */
       ML_WANT_IR = 128,       /* the program after pass `stop_after` */
       ML_WANT_COUNTERS = 512, /* with TIMES: what the processor counts meanwhile */
       ML_WANT_KEEP = 256,     /* more runs of it will come: what was made for this one is
                                  kept as it is, ready to run (`func` is given) */
};
enum { ML_MAX_SAMPLES = 4096 }; /* of one job */
typedef enum ml_TimingMode {
    ML_TIMING_TUNE,   /* at least 5 samples of 1 ms, given up early when hopeless */
    ML_TIMING_TIME,   /* until 0.2 s and 5 samples have passed, at most 3 s */
    ML_TIMING_REPORT, /* at least 20 samples of 10 ms, until the median is good to 1 % */
    ML_TIMING_TURN,   /* 5 samples of 1 ms, as one turn of several programs */
    ML_TIMING_LAST = ML_TIMING_TURN,
} ml_TimingMode;

typedef struct ml_Job {
    ml_Binary binary; /* the module; written without lines, those of reports are of the
                            text that is printed by default rules */
    const char
        *program;     /* or its text, whose lines they are: what people save and repeat */
    const char *func; /* NULL: the only or entry function */
    ml_Target target;
    ml_CodeOpts code;
    const ml_WorkSet *set;  /* NULL: nothing is run */
    uint32_t want;          /* ML_WANT_... */
    const char *stop_after; /* pass, for ML_WANT_IR; NULL: the last */
    const char *text;       /* for ML_WANT_TEXT: "asm", "llvm", ... */
    ml_TimingMode timing;
    bool cold;      /* caches evicted before every call */
    uint32_t runs;  /* samples, no more and no less; 0: as timing says */
    double best;    /* TUNE: minimum known so far in seconds; 0: none */
    double checked; /* TUNE: what the run that checked that one took; 0: not known. What
                       takes far longer is given up by that, and not timed */
    double compile_limit, run_limit; /* seconds; 0: 30 and 10. Of a call: a timed job may
                                        take several of them */
    uint64_t memory_limit;           /* of the kernel's own allocations; 0: 4 GiB */
    const char *library; /* instead of a program: "openblas:sgemm" (times only) */
} ml_Job;

/* Of one call, all threads together. */
typedef enum ml_Counter {
    ML_COUNT_CYCLES,
    ML_COUNT_INSTRUCTIONS,
    ML_COUNT_L1_MISSES,   /* loads that the first cache of data does not hold */
    ML_COUNT_LAST_MISSES, /* what the last cache does not hold */
    ML_COUNT_TLB_MISSES,  /* loads whose page is not in the first table */
    ML_COUNT_BRANCH_MISSES,
    ML_COUNTERS
} ml_Counter;
typedef struct ml_Counters {
    int32_t error;  /* errno of the cycles; 0: they are counted */
    uint32_t known; /* bit k: v[k] was counted */
    double v[ML_COUNTERS];
} ml_Counters;
/* Why there are none, one line. */
void ml_counters_why(ml_Text *t, int32_t error);

typedef struct ml_JobResult {
    bool ok;
    ml_ErrorCode code;   /* of a failure */
    const char *phase;   /* "parse", "lower", "compile", "link", "run", "verify", "time" */
    const char *message; /* one line, for people */
    int signal;          /* that ended the kernel, or 0 */
    int32_t status;      /* that the kernel returned: ml_packed_call's */
    uint32_t line;       /* of the program, where that is known; 0 */
    double lower_seconds, compile_seconds, link_seconds, run_seconds; /* run: wall */
    size_t object_bytes;
    bool cached; /* the object was made before */
    /* verify */
    int32_t bad_arg; /* first argument with a difference, -1: none */
    int64_t outside, first_lane;
    double largest;
    /* times: seconds per call, in order of sampling */
    size_t n_samples;
    const double *samples;
    bool given_up;     /* TUNE: hopeless against `best` */
    double spread;     /* MAD / median */
    uint64_t switches; /* involuntary context switches while timing */
    ml_Counters counters;
    const char *text; /* of the backend, or IR */
    ml_Bytes object;  /* free(object.v) */
    size_t n_notes;   /* remarks of passes */
    const char *const *notes;
} ml_JobResult;

typedef struct ml_WorkerOpts {
    const char *program; /* NULL: MOONLOOP_WORKER, the running moonloop, beside the library,
                            PATH */
    uint32_t threads;    /* of parallel loops; 0: ml_threads */
} ml_WorkerOpts;
typedef struct ml_Worker ml_Worker;
/* NULL: cx's error no-worker. It is started with the first job and again after a failure. A
 * worker ends with the thread that started it. */
ML_GIVES ml_Worker *ml_worker_new(ml_Ctx *cx, const ml_WorkerOpts *opts);
void ml_worker_free(ml_Worker *w);
/* Runs a job to its end. Texts of *out are in cx. false: the error of a worker that could
 * not be started or talked to, or `interrupted` (the worker is killed; the next job starts
 * another). A job that failed is no error: out->ok is false then. Cancelled by cx's flag,
 * polled ten times a second. */
bool ml_worker_run(ml_Worker *w, ml_Ctx *cx, const ml_Job *job, ml_JobResult *out);
/* The same in two halves, for several workers at once. Between them ml_worker_fd becomes
 * readable when the worker says something; done tells whether that is the result, or its
 * limit has passed, so that take does not wait. Otherwise take does, and watches limits. */
bool ml_worker_send(ml_Worker *w, ml_Ctx *cx, const ml_Job *job);
int ml_worker_fd(const ml_Worker *w);
bool ml_worker_done(ml_Worker *w);
bool ml_worker_busy(const ml_Worker *w);
bool ml_worker_take(ml_Worker *w, ml_Ctx *cx, ml_JobResult *out);
/* Seconds until the job in progress passes the limit of what it is at (to compile, or a
 * call) by a second: then take ends the worker, which did not see to it itself. */
double ml_worker_time_left(const ml_Worker *w);
void ml_worker_kill(ml_Worker *w);     /* the process group; the job is lost */
int ml_worker_pid(const ml_Worker *w); /* 0: not running */

/* `moonloop --worker`: serves jobs from file descriptor fd until it is closed; the exit
 * status. */
int ml_worker_main(int fd);

#endif
