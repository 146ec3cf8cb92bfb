/*
 * runner - runs linked objects, in a child of the worker.
 *
 * It keeps the thread pool and the warm copies of a set's arguments from one candidate to
 * the next. A correctness run maps every argument afresh between guard pages; a kernel that
 * touches one ends the process, after a report that says where. Source:
 * lowering-and-codegen 12; DESIGN 4.
 */
#define _GNU_SOURCE /* NOLINT: REG_RIP */
#include "moonloop/codegen/worker/cage.h"
#include "moonloop/codegen/worker/compare.h"
#include "moonloop/codegen/worker/counters.h"
#include "moonloop/codegen/worker/job.h"
#include "moonloop/codegen/worker/library.h"
#include "moonloop/codegen/worker/message.h"
#include "moonloop/codegen/worker/timing.h"
#include "moonloop/core/base/sanitized.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_LINKED = 32, MAX_ARGS = 256, STACK = 64 << 10, NEAR_STACK = 128 << 10 };

/* What the signal handler reads: set before a kernel runs. */
static struct Watch {
    int fd;
    uint32_t n;
    struct {
        uintptr_t from, to, data;
    } arg[MAX_ARGS];
    uintptr_t body;
    atomic_flag told; /* several threads may fault: the first is reported */
} watch = {.told = ATOMIC_FLAG_INIT};

typedef struct Warm { /* arguments of timed runs */
    uint64_t id;
    uint32_t n;
    ml_Mapped *v;
} Warm;

typedef struct Linked { /* an object that stays */
    uint64_t key;       /* 0: none */
    ml_Linked *l;
    ml_KernelFn *fn;
    uintptr_t body;
    uint64_t used;
} Linked;

typedef struct Runner {
    int fd;
    ml_Codegen *code;
    ml_Ctx *cx; /* of the request at work */
    ml_Sets sets;
    Warm warm;
    Linked linked[MAX_LINKED];
    uint64_t clock;
    uint64_t memory; /* limit of the kernel's buffers */
    int statm;       /* /proc/self/statm, -1: there is none */
    ml_Cage cage;
    double told; /* when the worker last heard that a call had ended */
} Runner;

/* ---------------------------------------------------------------- crashes */

typedef struct Machine { /* registers at a fault */
    uintptr_t counter, stack;
} Machine;

static Machine machine_of(const void *context)
{
    const ucontext_t *u = context;
#if defined __x86_64__
    return (Machine){(uintptr_t)u->uc_mcontext.gregs[REG_RIP],
                     (uintptr_t)u->uc_mcontext.gregs[REG_RSP]};
#elif defined __aarch64__
    return (Machine){(uintptr_t)u->uc_mcontext.pc, (uintptr_t)u->uc_mcontext.sp};
#else
    (void)u;
    return (Machine){0, 0};
#endif
}

/* Only calls that are allowed in a handler. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
    ml_FaultReport r = {
        .signal = sig, .detail = info->si_code, .argument = -1, .workspace = -1};
    uintptr_t at = (uintptr_t)info->si_addr;
    Machine m = machine_of(context);
    uint8_t room[sizeof r];
    ml_Pack p = {.v = room, .n = sizeof r, .cap = sizeof r};

    while (atomic_flag_test_and_set(&watch.told))
        pause();
    r.address = at;
    r.offset = (int64_t)(m.counter - watch.body);
    r.stack = (sig == SIGSEGV || sig == SIGBUS) && at + NEAR_STACK > m.stack &&
              at < m.stack + NEAR_STACK;
    for (uint32_t k = 0; k < watch.n; k++)
        if (at >= watch.arg[k].from && at < watch.arg[k].to) {
            r.argument = (int32_t)k;
            r.byte = (int64_t)(at - watch.arg[k].data);
        }
    if (r.argument < 0 && !ml_workspace_at(at, &r.byte, &r.workspace))
        r.workspace = -1;
    memcpy(room, &r, sizeof r);
    ml_frame_send(watch.fd, 0, ML_FRAME_FAULT, &p, NULL, 0);
    _exit(111);
}

/* A fault inside the handler ends the process: the signals are blocked there. */
static void watch_faults(int fd)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t st = {.ss_size = STACK};

    st.ss_sp = malloc(STACK);
    watch.fd = fd;
    if (st.ss_sp)
        sigaltstack(&st, NULL);
    sigemptyset(&sa.sa_mask);
    for (size_t k = 0; k < ML_COUNT(signals); k++)
        sigaddset(&sa.sa_mask, signals[k]);
    sa.sa_sigaction = on_fault;
    for (size_t k = 0; k < ML_COUNT(signals); k++)
        sigaction(signals[k], &sa, NULL);
}

static void watch_args(const ml_Mapped *v, uint32_t n, uintptr_t body)
{
    watch.n = n < MAX_ARGS ? n : MAX_ARGS;
    watch.body = body;
    for (uint32_t k = 0; k < watch.n; k++) {
        watch.arg[k].from = (uintptr_t)v[k].base;
        watch.arg[k].to = (uintptr_t)v[k].base + v[k].n;
        watch.arg[k].data = (uintptr_t)v[k].data;
    }
}

/* ---------------------------------------------------------------- one request */

static bool fail(ml_JobResult *r, ml_ErrorCode code, const char *phase, const char *text)
{
    r->ok = false;
    r->code = code;
    r->phase = phase;
    r->message = text;
    return false;
}

/* The worker measures the time between two of these; at most ten a second. */
static void tell_alive(void *user)
{
    Runner *ru = user;
    double now = ml_clock();

    if (now - ru->told < 0.1)
        return;
    ru->told = now;
    ml_frame_send(ru->fd, 0, ML_FRAME_ALIVE, NULL, NULL, 0);
}

static void point_words(ml_Word *words, const ml_RunJob *q, const ml_Mapped *v)
{
    for (uint32_t k = 0; k < q->n_words; k++)
        if (q->tensor[k] >= 0)
            words[k].p = v[q->tensor[k]].data;
}

/* The worker, which has the program, finds the text of an assertion. */
static bool status_ok(Runner *ru, ml_JobResult *r, int32_t status, const char *phase)
{
    r->status = status;
    if (status == 0)
        return true;
    if (status == ML_CALL_NO_WORKSPACE)
        return fail(
            r, ML_E_TOO_LARGE, phase,
            ml_format(ru->cx,
                      "out of workspace memory: %llu bytes more were asked for, the "
                      "limit is %llu",
                      (unsigned long long)ml_workspace_refused(),
                      (unsigned long long)ru->memory));
    return fail(r, ML_E_ASSERT_FAILED, phase, "an assertion failed");
}

static bool unchanged(const ml_SetArg *a, const ml_Mapped *m)
{
    const uint8_t *v = ml_set_view(a, a->initial);
    bool same = v && memcmp(v, m->data, a->bytes) == 0;

    if (v)
        ml_set_close_view(a, v);
    return same;
}

static bool as_expected(Runner *ru, const ml_SetArg *a, uint32_t k, const ml_Mapped *m,
                        ml_JobResult *r)
{
    const uint8_t *v = ml_set_view(a, a->expected);
    ml_Tensor got = ml_set_tensor(a, m->data), ref;
    ml_Comparison c;
    union {
        const uint8_t *c;
        void *p;
    } data = {.c = v};

    if (v == NULL)
        return fail(r, ML_E_WORKER_CRASHED, "verify", "no memory for what is expected");
    ref = ml_set_tensor(a, data.p);
    c = ml_compare_fast(&ref, &got, a->tolerance);
    ml_set_close_view(a, v);
    if (c.outside == 0)
        return true;
    r->bad_arg = (int32_t)k;
    r->outside = c.outside;
    r->first_lane = c.first;
    r->largest = c.largest;
    return fail(r, ML_E_MISMATCH, "verify",
                ml_format(ru->cx, "%lld of %lld elements differ", (long long)c.outside,
                          (long long)got.n_lanes));
}

/* A write into the bytes between a buffer and its guard pages. */
static bool written_outside(Runner *ru, const ml_SetArg *a, int64_t byte, ml_JobResult *r)
{
    int64_t size = (int64_t)ml_dtype_bytes(a->type);

    size = size ? size : 1;
    return fail(r, ML_E_WORKER_CRASHED, "verify",
                ml_format(ru->cx, "element %lld was written, it has %lld",
                          (long long)ml_floordiv_i64(byte, size),
                          (long long)((int64_t)a->bytes / size)));
}

static bool verify_arg(Runner *ru, const ml_SetArg *a, uint32_t k, const ml_Mapped *m,
                       uint32_t want, ml_JobResult *r)
{
    int64_t byte;

    r->bad_arg = (int32_t)k;
    if (!ml_set_guards_intact(a, m, &byte))
        return written_outside(ru, a, byte, r);
    if (!a->written && !unchanged(a, m))
        return fail(r, ML_E_MISMATCH, "verify", "an input was changed");
    if ((want & ML_WANT_OUTPUTS) && a->output >= 0 && !ml_set_write(a, a->output, m->data))
        return fail(r, ML_E_WORKER_CRASHED, "verify", "results could not be passed on");
    if ((want & ML_WANT_CHECK) && a->compared && !as_expected(ru, a, k, m, r))
        return false;
    r->bad_arg = -1;
    return true;
}

static bool verify(Runner *ru, const ml_WorkSet *s, const ml_Mapped *v, uint32_t want,
                   ml_JobResult *r)
{
    for (uint32_t k = 0; k < s->n; k++)
        if (s->args[k].is_tensor && !verify_arg(ru, &s->args[k], k, &v[k], want, r))
            return false;
    return true;
}

/* No buffer of the workspace was written between its end and the guard page. */
static bool no_spill(Runner *ru, ml_JobResult *r)
{
    int64_t byte, bytes;

    return !ml_workspace_spilled(&byte, &bytes) ||
           fail(r, ML_E_WORKER_CRASHED, "verify",
                ml_format(ru->cx,
                          "byte %lld of a buffer of the workspace was written, it "
                          "has %lld",
                          (long long)byte, (long long)bytes));
}

static bool run_checked(Runner *ru, const ml_WorkSet *s, const ml_RunJob *q,
                        const ml_Kernel *kernel, ml_Word *words, uintptr_t body,
                        ml_JobResult *r)
{
    ml_Mapped *v = ML_ARRAY(ru->cx, ml_Mapped, s->n + 1u);
    bool ok = true;

    for (uint32_t k = 0; k < s->n && ok; k++)
        if (s->args[k].is_tensor && !ml_set_map(&s->args[k], &v[k]))
            ok = fail(r, ML_E_WORKER_CRASHED, "run", "no memory for the arguments");
    if (ok) {
        double t = ml_clock();
        int32_t status;

        watch_args(v, s->n, body);
        point_words(words, q, v);
        ml_workspace_release();
        ml_workspace_guard(true);
        status = kernel->fn(kernel->words);
        ml_workspace_guard(false);
        r->run_seconds = ml_clock() - t;
        tell_alive(ru);
        ok = status_ok(ru, r, status, "run") && no_spill(ru, r) &&
             verify(ru, s, v, q->want, r);
    }
    for (uint32_t k = 0; k < s->n; k++)
        ml_set_unmap(&v[k]);
    return ok;
}

static void drop_warm(Runner *ru)
{
    for (uint32_t k = 0; k < ru->warm.n; k++)
        ml_set_unmap(&ru->warm.v[k]);
    free(ru->warm.v);
    ru->warm = (Warm){0};
}

/* Copies of the arguments for timed runs; those that programs write are filled again. */
static bool warm_up(Runner *ru, const ml_WorkSet *s)
{
    if (ru->warm.id == s->id) {
        for (uint32_t k = 0; k < s->n; k++)
            if (s->args[k].is_tensor && s->args[k].written && !s->args[k].poison &&
                !ml_set_refill(&s->args[k], &ru->warm.v[k]))
                return false;
        return true;
    }
    drop_warm(ru);
    ru->warm.v = calloc(s->n + 1u, sizeof *ru->warm.v);
    if (ru->warm.v == NULL)
        return false;
    ru->warm.n = s->n;
    for (uint32_t k = 0; k < s->n; k++)
        if (s->args[k].is_tensor && !ml_set_map_timed(&s->args[k], &ru->warm.v[k])) {
            drop_warm(ru);
            return false;
        }
    ru->warm.id = s->id;
    return true;
}

static bool run_timed(Runner *ru, const ml_WorkSet *s, const ml_RunJob *q,
                      const ml_Kernel *kernel, ml_Word *words, uintptr_t body,
                      ml_JobResult *r)
{
    ml_Samples *out = ML_NEW(ru->cx, ml_Samples);
    ml_Evict *cold = ML_ARRAY(ru->cx, ml_Evict, s->n + 1u);
    size_t n_cold = 0;

    if (!warm_up(ru, s))
        return fail(r, ML_E_WORKER_CRASHED, "time", "no memory for the arguments");
    for (uint32_t k = 0; k < s->n && q->cold; k++)
        if (s->args[k].is_tensor && s->args[k].bytes > 0)
            cold[n_cold++] = (ml_Evict){ru->warm.v[k].data, s->args[k].bytes};
    watch_args(ru->warm.v, s->n, body);
    point_words(words, q, ru->warm.v);
    ml_time_kernel(kernel,
                   &(ml_Sampling){(ml_TimingMode)q->timing, q->best, q->runs, cold, n_cold},
                   out);
    if (!status_ok(ru, r, out->status, "time"))
        return false;
    r->samples = out->v;
    r->n_samples = out->n;
    r->given_up = out->given_up;
    r->switches = out->switches;
    if (out->n > 0) {
        double *copy = ML_ARRAY(ru->cx, double, out->n), m;

        memcpy(copy, out->v, out->n * sizeof *copy);
        m = ml_median(copy, out->n);
        r->spread = m > 0 ? ml_mad(out->v, out->n, m) / m : 0;
        if (q->want & ML_WANT_COUNTERS) {
            int32_t status = 0;

            ml_count_events(kernel, m, &r->counters, &status);
            return status_ok(ru, r, status, "time");
        }
    }
    return true;
}

/* Whether the checking run has told already that it is no find. */
static bool is_hopeless(Runner *ru, const ml_RunJob *q, ml_JobResult *r)
{
    double *sample;

    if (q->timing != ML_TIMING_TUNE || !ml_time_hopeless(r->run_seconds, q->checked))
        return false;
    sample = ML_NEW(ru->cx, double);
    *sample = r->run_seconds;
    r->samples = sample;
    r->n_samples = 1;
    r->given_up = true;
    return true;
}

/* Bytes of address space in use; 0: not known. */
static uint64_t space_used(const Runner *ru)
{
    char text[32] = "";
    ssize_t n = pread(ru->statm, text, sizeof text - 1, 0);

    return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Buffers of the kernel are counted exactly; the address space bounds what functions that
 * it calls take. The sum leaves room for the arguments twice and for the stacks of threads.
 */
static void limit_memory(Runner *ru, const ml_RunJob *q, const ml_WorkSet *s)
{
    uint64_t own = q->memory_limit ? q->memory_limit : UINT64_C(4) << 30;
    uint64_t used = ML_SANITIZED ? 0 : space_used(ru), sum = used + (UINT64_C(2) << 30);
    struct rlimit r;

    ml_workspace_release();
    ml_workspace_set_limit(own);
    ru->memory = own;
    for (uint32_t k = 0; k < s->n; k++)
        sum += 2 * (s->args[k].mapped + ML_SET_GUARD);
    if (used == 0 || getrlimit(RLIMIT_AS, &r) != 0 ||
        __builtin_add_overflow(sum, own, &sum) || sum > INT64_MAX)
        return;
    r.rlim_cur = r.rlim_max == RLIM_INFINITY || sum < r.rlim_max ? (rlim_t)sum : r.rlim_max;
    setrlimit(RLIMIT_AS, &r);
}

static ml_KernelFn *find_kernel(const ml_RunJob *q, ml_Linked *linked, uintptr_t *body)
{
    union {
        void *p;
        ml_KernelFn *fn;
    } find = {0};

    find.p = linked ? ml_linked_find(linked, q->symbol) : NULL;
    if (find.p && q->body)
        *body = (uintptr_t)ml_linked_find(linked, q->body);
    return find.fn;
}

static Linked *find_linked(Runner *ru, uint64_t key)
{
    for (size_t k = 0; k < MAX_LINKED; k++)
        if (key && ru->linked[k].key == key) {
            ru->linked[k].used = ++ru->clock;
            return &ru->linked[k];
        }
    return NULL;
}

static void keep_linked(Runner *ru, uint64_t key, ml_Linked *l, ml_KernelFn *fn,
                        uintptr_t body)
{
    Linked *oldest = &ru->linked[0];

    for (size_t k = 1; k < MAX_LINKED; k++)
        if (ru->linked[k].used < oldest->used)
            oldest = &ru->linked[k];
    ml_linked_free(oldest->l);
    *oldest = (Linked){key, l, fn, body, ++ru->clock};
}

/* The kernel that is asked for, linked now or before. Free *linked afterwards. */
static ml_KernelFn *kernel_of(Runner *ru, const ml_RunJob *q, const ml_WorkSet *s,
                              ml_Linked **linked, uintptr_t *body)
{
    Linked *kept = find_linked(ru, q->keep);
    ml_KernelFn *fn;

    if (q->library)
        return ml_library_kernel(ru->cx, q->library, s);
    if (kept) {
        *body = kept->body;
        return kept->fn;
    }
    *linked = ml_code_link(ru->code, ru->cx, q->object, q->object_bytes);
    fn = find_kernel(q, *linked, body);
    if (fn && q->keep) {
        keep_linked(ru, q->keep, *linked, fn, *body);
        *linked = NULL;
    }
    return fn;
}

static bool words_fit(const ml_RunJob *q, const ml_WorkSet *s)
{
    for (uint32_t k = 0; k < q->n_words; k++)
        if (q->tensor[k] >= 0 &&
            ((uint32_t)q->tensor[k] >= s->n || !s->args[q->tensor[k]].is_tensor))
            return false;
    return true;
}

static void run_request(Runner *ru, ml_RunJob *q, ml_JobResult *r)
{
    const ml_WorkSet *s = ml_sets_find(&ru->sets, q->set);
    ml_Word *words = ML_ARRAY(ru->cx, ml_Word, q->n_words + 1u);
    int32_t *tensor = ML_ARRAY(ru->cx, int32_t, q->n_words + 1u);
    ml_Kernel kernel = {.words = words, .tick = tell_alive, .user = ru};
    ml_Linked *linked = NULL;
    uintptr_t body = 0;
    double t = ml_clock();
    bool ok = true;

    *r = (ml_JobResult){.ok = true, .bad_arg = -1};
    if (q->n_words > 0) { /* copies: in the frame they are not aligned */
        memcpy(words, q->words, q->n_words * sizeof *words);
        memcpy(tensor, q->tensor, q->n_words * sizeof *tensor);
    }
    q->tensor = tensor;
    if (s == NULL || !words_fit(q, s)) {
        fail(r, ML_E_WORKER_CRASHED, "run", "the arguments were not passed on");
        return;
    }
    if (ru->cage == ML_CAGE_BROKEN || (ru->cage == ML_CAGE_SHUT && q->library)) {
        fail(r, ML_E_NOT_SUPPORTED, "run",
             q->library ? "no library is loaded to run it under --safe"
                        : "compiled code is shut in by seccomp under --safe, and this "
                          "system has none");
        return;
    }
    limit_memory(ru, q, s);
    kernel.fn = kernel_of(ru, q, s, &linked, &body);
    r->link_seconds = ml_clock() - t;
    if (kernel.fn == NULL) {
        const ml_Error *e = ml_error(ru->cx);

        ok = fail(r, e ? e->code : ML_E_CODEGEN_FAILED, "link",
                  e ? ml_error_line(ru->cx, e) : "the kernel is not in the object");
    }
    if (ok && (q->want & (ML_WANT_CHECK | ML_WANT_OUTPUTS)) && !q->library)
        ok = run_checked(ru, s, q, &kernel, words, body, r) && !is_hopeless(ru, q, r);
    if (ok && (q->want & ML_WANT_TIMES))
        (void)run_timed(ru, s, q, &kernel, words, body, r);
    watch.n = 0;
    ml_linked_free(linked);
}

/* ---------------------------------------------------------------- the loop */

static bool take_run(Runner *ru, const ml_Frame *f)
{
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    ml_RunJob q;
    ml_JobResult r;
    ml_Pack p = {0};
    bool ok = ml_run_unpack(&u, &q);

    if (!ok)
        return false;
    if (q.keep && q.object_bytes == 0 && !find_linked(ru, q.keep))
        return ml_frame_send(ru->fd, 0, ML_FRAME_MISSING, NULL, NULL, 0);
    ru->cx = ml_ctx_new(0);
    run_request(ru, &q, &r);
    ml_result_pack(&p, &r);
    ok = ml_frame_send(ru->fd, 0, ML_FRAME_RAN, &p, NULL, 0);
    ml_pack_free(&p);
    ml_ctx_unref(ru->cx);
    return ok;
}

static bool take_forget(Runner *ru, const ml_Frame *f)
{
    ml_Unpack u = {.v = f->body.v, .n = f->body.n};
    uint64_t id = ml_unpack_u64(&u);

    if (ru->warm.id == id)
        drop_warm(ru);
    ml_sets_forget(&ru->sets, id);
    return !u.bad;
}

static bool serve(Runner *ru)
{
    ml_Frame f;
    ml_WorkSet *s;
    bool ok = false;

    if (!ml_frame_receive(ru->fd, 0, &f))
        return false;
    if (f.kind == ML_FRAME_SET)
        ok = (s = ml_set_receive(ru->fd, &f)) != NULL && ml_sets_put(&ru->sets, s);
    else if (f.kind == ML_FRAME_FORGET)
        ok = take_forget(ru, &f);
    else if (f.kind == ML_FRAME_RUN)
        ok = take_run(ru, &f);
    ml_frame_free(&f);
    return ok;
}

_Noreturn void ml_runner_main(int fd, ml_Codegen *code, ml_Sets sets)
{
    Runner ru = {.fd = fd, .code = code, .sets = sets, .statm = -1};
    ml_Ctx *cx = ml_ctx_new(0);
    struct rlimit none = {0, 0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    watch_faults(fd);
    ml_openmp_open(cx); /* absent: parallel loops fail to link, with their own message */
    ml_ctx_unref(cx);
    ru.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ru.cage = ml_cage_enter();
    while (serve(&ru))
        ;
    _exit(0);
}
