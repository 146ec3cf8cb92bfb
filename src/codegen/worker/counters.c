/*
 * counters - perf_event_open on every thread of the process, one event at a time.
 *
 * Threads of a pool are there by now: the kernel was timed before. Events are counted in
 * user mode only, which more systems permit; where the processor has fewer counters than
 * are asked for, the system takes turns and the counts are scaled by the share of the time
 * that each was on.
 */
#define _GNU_SOURCE /* NOLINT: syscall */

#include "moonloop/codegen/worker/counters.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };
#define LONG 0.05 /* seconds of counting, unless one call takes longer */

#define MISSES(cache)                                                                      \
    ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
    uint32_t type;
    uint64_t config;
} EVENTS[ML_COUNTERS] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},         /* cycles */
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},       /* instructions */
    {PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_L1D)},  /* L1 misses */
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},       /* last-level misses */
    {PERF_TYPE_HW_CACHE, MISSES(PERF_COUNT_HW_CACHE_DTLB)}, /* TLB misses */
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},      /* branch misses */
};

typedef struct Watch {
    int n_threads;
    pid_t thread[MAX_THREADS];
    int fd[ML_COUNTERS][MAX_THREADS]; /* -1: not open */
} Watch;

static void find_threads(Watch *w)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL && w->n_threads < MAX_THREADS) {
        long id = strtol(e->d_name, NULL, 10);
        if (id > 0)
            w->thread[w->n_threads++] = (pid_t)id;
    }
    if (d)
        closedir(d);
    if (w->n_threads == 0)
        w->n_threads = 1; /* thread 0: the calling one */
}

/* false: errno says why. */
static bool watch_event(Watch *w, int event)
{
    struct perf_event_attr a;

    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = EVENTS[event].type;
    a.config = EVENTS[event].config;
    a.disabled = 1;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    for (int t = 0; t < w->n_threads; t++) {
        w->fd[event][t] = (int)syscall(SYS_perf_event_open, &a, w->thread[t], -1, -1,
                                       (unsigned long)PERF_FLAG_FD_CLOEXEC);
        if (w->fd[event][t] < 0 && errno != ESRCH) /* a thread may have ended */
            return false;
    }
    return true;
}

static void switch_all(const Watch *w, unsigned long how)
{
    for (int e = 0; e < ML_COUNTERS; e++)
        for (int t = 0; t < w->n_threads; t++)
            if (w->fd[e][t] >= 0)
                (void)ioctl(w->fd[e][t], how, 0);
}

/* The sum over all threads; false: it was never on. */
static bool read_event(const Watch *w, int event, double *sum)
{
    bool any = false;

    *sum = 0;
    for (int t = 0; t < w->n_threads; t++) {
        uint64_t v[3]; /* count, time enabled, time running */

        if (w->fd[event][t] < 0 || read(w->fd[event][t], v, sizeof v) != sizeof v ||
            v[2] == 0)
            continue;
        any = true;
        *sum += (double)v[0] * ((double)v[1] / (double)v[2]);
    }
    return any;
}

void ml_count_events(const ml_Kernel *k, double seconds, ml_Counters *out, int32_t *status)
{
    Watch w = {0};
    double calls = seconds > 0 && seconds < LONG ? LONG / seconds : 1;
    uint64_t n = calls > 1e6 ? 1000000 : (uint64_t)calls;
    bool open[ML_COUNTERS] = {false};

    *out = (ml_Counters){0};
    memset(w.fd, 0xff, sizeof w.fd);
    find_threads(&w);
    for (int e = 0; e < ML_COUNTERS; e++) {
        open[e] = watch_event(&w, e);
        if (!open[e] && e == ML_COUNT_CYCLES)
            out->error = errno;
    }
    if (out->error == 0) {
        switch_all(&w, PERF_EVENT_IOC_ENABLE);
        for (uint64_t c = 0; c < n && *status == 0; c++)
            *status = k->fn(k->words);
        switch_all(&w, PERF_EVENT_IOC_DISABLE);
        if (k->tick)
            k->tick(k->user);
        for (int e = 0; e < ML_COUNTERS; e++)
            if (open[e] && read_event(&w, e, &out->v[e])) {
                out->v[e] /= (double)n;
                out->known |= 1u << e;
            }
    }
    for (int e = 0; e < ML_COUNTERS; e++)
        for (int t = 0; t < w.n_threads; t++)
            if (w.fd[e][t] >= 0)
                close(w.fd[e][t]);
}

static long paranoid(void)
{
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    char line[32] = "";
    long v = -100;

    if (f && fgets(line, sizeof line, f))
        v = strtol(line, NULL, 10);
    if (f)
        fclose(f);
    return v;
}

void ml_counters_why(ml_Text *t, int32_t error)
{
    long level = paranoid();

    switch (error) {
    case EPERM:
    case EACCES:
        ml_text_add(t, "the system does not permit them");
        if (level > 2)
            ml_text_fmt(t, ": kernel.perf_event_paranoid is %ld, 2 or less is needed",
                        level);
        else
            ml_text_add(t, " (a container forbids perf_event_open)");
        return;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        ml_text_add(t, "the processor shows none here, as in many virtual machines");
        return;
    case ENOSYS: ml_text_add(t, "this kernel has no perf_event_open"); return;
    default: ml_text_fmt(t, "perf_event_open: %s", strerror(error)); return;
    }
}
