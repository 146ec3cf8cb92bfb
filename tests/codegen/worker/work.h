/*
 * work - sets, jobs and programs for the tests of src/codegen/worker. The worker is the
 * program that MOONLOOP_WORKER names; a test that needs it begins with NEED_WORKER.
 */
#ifndef ML_TESTS_CODEGEN_WORK_H
#define ML_TESTS_CODEGEN_WORK_H

#include "moonloop/codegen/worker/set.h"
#include "moonloop/codegen/worker/worker.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Seconds that only what would never end takes: a busy machine fails no test. */
#define HANGS 60

typedef struct Fix {
    ml_Ctx *cx;
    ml_Worker *w;
    ml_WorkSet *set;
    ml_JobResult r;
} Fix;

static inline int fix_up(void **state)
{
    static Fix fix;

    fix = (Fix){.cx = ml_ctx_new(0)};
    *state = &fix;
    return 0;
}

static inline int fix_down(void **state)
{
    Fix *x = *state;

    free(x->r.object.v);
    ml_workset_free(x->set);
    ml_worker_free(x->w);
    ml_ctx_unref(x->cx);
    return 0;
}

static inline const char *error_text(Fix *x)
{
    const ml_Error *e = ml_error(x->cx);

    if (e == NULL)
        return "no error";
    return e->n_facts && e->facts[0].kind == ML_FACT_TEXT ? e->facts[0].as.text
                                                          : ml_error_code(e->code);
}

static inline ml_Worker *worker(Fix *x)
{
    if (x->w == NULL) {
        x->w = ml_worker_new(x->cx, NULL);
        if (x->w == NULL)
            fail_msg("%s", error_text(x));
    }
    return x->w;
}

#define NEED_WORKER()                                                                      \
    do {                                                                                   \
        if (!ml_backend_find("llvm")) {                                                    \
            print_message("skip: libLLVM 19 is not there\n");                              \
            skip();                                                                        \
        }                                                                                  \
        if (!getenv("MOONLOOP_WORKER")) {                                                  \
            print_message("skip: MOONLOOP_WORKER does not name the program\n");            \
            skip();                                                                        \
        }                                                                                  \
    } while (0)

static inline ml_Tensor *tensor(Fix *x, const char *type, int64_t n, ml_Fill how)
{
    ml_Dtype t;
    ml_Tensor *made;

    assert_true(ml_dtype_parse(ml_str(type), &t));
    made = ml_tensor_new(x->cx, t, &n, 1);
    assert_non_null(made);
    ml_tensor_fill(made, how, "worker", 0, 3, 0, 0);
    return made;
}

/* One float32 input A and one output C, of n elements each. */
static inline void make_set(Fix *x, int64_t n, const ml_Tensor *expected)
{
    ml_Tensor *a = tensor(x, "float32", n, ML_FILL_RANDOM);
    ml_WorkArg args[2] = {
        {.is_tensor = true, .type = ML_DT_F32, .rank = 1, .shape = &n, .initial = a},
        {.is_tensor = true,
         .type = ML_DT_F32,
         .rank = 1,
         .shape = &n,
         .expected = expected,
         .tolerance = {.rtol = 1e-5, .atol = 1e-5},
         .written = true}};

    ml_workset_free(x->set);
    x->set = ml_workset_new(x->cx, args, 2);
    ml_tensor_free(a);
    if (x->set == NULL)
        fail_msg("%s", error_text(x));
}

/* A function over A and C of 256 elements; body's lines are indented by 4. */
#define PROGRAM(body)                                                                      \
    "@T.prim_func\n"                                                                       \
    "def f(A: T.Buffer((256,), \"float32\"), C: T.Buffer((256,), \"float32\")):\n" body

static const char copy[] = PROGRAM("    for i in range(256):\n"
                                   "        C[i] = A[i]\n");

static inline ml_Job job_of(Fix *x, const char *program, uint32_t want)
{
    return (ml_Job){.program = program,
                    .target = ml_target_host(),
                    .set = x->set,
                    .want = want,
                    .timing = ML_TIMING_TUNE,
                    .compile_limit = 10 * HANGS,
                    .run_limit = 10 * HANGS};
}

/* Runs the job; false where its result is a failure. */
static inline bool run_job(Fix *x, const ml_Job *j)
{
    free(x->r.object.v);
    x->r = (ml_JobResult){0};
    ml_error_clear(x->cx);
    if (!ml_worker_run(worker(x), x->cx, j, &x->r))
        fail_msg("%s", error_text(x));
    return x->r.ok;
}

static inline void succeeds(Fix *x, const char *program, uint32_t want)
{
    ml_Job j = job_of(x, program, want);

    if (!run_job(x, &j))
        fail_msg("%s: %s", x->r.phase, x->r.message);
}

static inline void fails(Fix *x, const ml_Job *j, ml_ErrorCode code, const char *phase,
                         const char *part)
{
    if (run_job(x, j))
        fail_msg("it did not fail");
    if (x->r.code != code || !ml_streq(x->r.phase, phase) ||
        strstr(x->r.message, part) == NULL || strchr(x->r.message, '\n'))
        fail_msg("%s, %s: %s", ml_error_code(x->r.code), x->r.phase, x->r.message);
}

/* The child of a process, 0: none. */
static inline int child_of(int pid)
{
    char path[64];
    FILE *f;
    int child = 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    f = fopen(path, "r");
    if (f && fscanf(f, "%d", &child) != 1)
        child = 0;
    if (f)
        fclose(f);
    return child;
}

/* The processor time of a process and its threads in seconds; 0: it is not there. */
static inline double used_by(int pid)
{
    char path[64], line[1024];
    unsigned long long user = 0, kernel = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
        sscanf(strrchr(line, ')') + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel);
    if (f)
        fclose(f);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

/* A process that is not there, or has ended with all its threads and was not waited for. */
static inline bool is_gone(int pid)
{
    char path[64], line[1024];
    FILE *f;
    int threads = 0;
    bool gone = true;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "r");
    if (f && fgets(line, sizeof line, f) && strrchr(line, ')'))
        gone = strchr("ZX", strrchr(line, ')')[2]) != NULL &&
               sscanf(strrchr(line, ')') + 1,
                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                      "%*d %d",
                      &threads) == 1 &&
               threads <= 1;
    if (f)
        fclose(f);
    return gone;
}

static inline void wait_until_gone(int pid)
{
    for (double t = ml_clock(); !is_gone(pid); poll(NULL, 0, 2))
        if (ml_clock() > t + HANGS)
            fail_msg("process %d does not end", pid);
}

/* Until a process is at work on what never ends: it has used a fifth of a second more. */
static inline void wait_until_busy(int pid)
{
    double before = used_by(pid);

    for (double t = ml_clock(); used_by(pid) < before + 0.2; poll(NULL, 0, 2))
        if (ml_clock() > t + HANGS)
            fail_msg("process %d does nothing", pid);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fix_up, fix_down)

#endif
