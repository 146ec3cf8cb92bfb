/*
 * parallel - what generated code calls for a parallel loop: iterations are handed out to
 * the threads of the OpenMP runtime.
 *
 * Contiguous chunks, or every n-th iteration, or one at a time through a counter when there
 * are fewer than four for each thread that do not come out even (else a thread finds in its
 * caches what it had the last time), or they are uneven. A chunk that fails ends there; the
 * others finish; the least status counts. Kernels that are saved bring the same as code of
 * their own (llvm/parallel.c). Source: lowering-and-codegen 7.5.
 */
#include "moonloop/codegen/runtime/runtime.h"
#include "moonloop/core/base/fault.h"

#include <stdalign.h>
#include <stdatomic.h>

typedef struct Loop {
    ml_ParallelRun *run;
    void *env;
    int64_t extent;
    int32_t how;
    unsigned control;                 /* the caller's rounding and denormal modes */
    alignas(64) atomic_llong counter; /* in a cache line of its own */
    atomic_int status;
} Loop;

static unsigned float_modes(void)
{
#if defined __x86_64__
    return __builtin_ia32_stmxcsr();
#else
    return 0;
#endif
}

static void set_float_modes(unsigned control)
{
#if defined __x86_64__
    __builtin_ia32_ldmxcsr(control);
#else
    (void)control;
#endif
}

static void report(Loop *l, int32_t status)
{
    int seen = atomic_load_explicit(&l->status, memory_order_relaxed);

    while (status && (seen == 0 || status < seen) &&
           !atomic_compare_exchange_weak_explicit(
               &l->status, &seen, status, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void run(Loop *l, int64_t lo, int64_t hi, int64_t step)
{
    if (ML_FAULT(PARALLEL_CHUNKS) && step == 1) /* a chunk ends where the next has begun */
        hi++;
    hi = hi < l->extent ? hi : l->extent;
    if (lo < hi)
        report(l, l->run(l->env, lo, hi, step));
}

/* What every thread enters. */
static void enter(void *user)
{
    Loop *l = user;
    const ml_OpenMp *omp = ml_openmp();
    int64_t n = omp->num_threads(), t = omp->thread_num(), chunk, k;

    set_float_modes(l->control);
    if (l->how == ML_PARALLEL_STRIDED) {
        run(l, t, l->extent, n);
    } else if (l->how == ML_PARALLEL_UNEVEN || (4 * n > l->extent && l->extent % n)) {
        while ((k = atomic_fetch_add_explicit(&l->counter, 1, memory_order_relaxed)) <
               l->extent)
            run(l, k, k + 1, 1);
    } else {
        chunk = (l->extent + n - 1) / n;
        run(l, t * chunk, (t + 1) * chunk, 1);
    }
}

int32_t ml_parallel(ml_ParallelRun *fn, void *env, int64_t extent, int32_t threads,
                    int32_t how)
{
    Loop l = {.run = fn, .env = env, .extent = extent, .how = how};

    if (extent <= 1)
        return extent == 1 ? fn(env, 0, 1, 1) : 0;
    if (threads > extent) /* never more than there are iterations */
        threads = (int32_t)extent;
    l.control = float_modes();
    atomic_init(&l.counter, 0);
    atomic_init(&l.status, 0);
    ml_openmp()->parallel(enter, &l, (unsigned)threads, 0);
    return atomic_load_explicit(&l.status, memory_order_relaxed);
}
