/*
 * timing - how often and how long a kernel is run.
 *
 * A sample is a batch of calls back to back, long enough for the clock. Samples in which
 * the process was put aside by the system are taken again, within reason. What counts is
 * the caller's: the minimum in a search, median and spread in a report.
 */
#include "moonloop/codegen/worker/timing.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define LONG_SAMPLE 0.02  /* seconds */
#define LONG_CALL   0.005 /* seconds of a call from which on every call counts */
#define HOPELESS    3.0   /* times the best, of a single call */
#define TOO_SLOW    2.0   /* the same of a long one, the first */
#define VERY_LONG   0.02  /* seconds of a call of which less is hopeless already: */
#define SLOWER      1.3   /* times the best, the first */
#define LONGEST     0.05  /* seconds of a call that is a sample though it is the first: */
#define WORSE       1.15  /* times the best, the first */
#define CONTENDER   1.1   /* times the best, of who is sampled to the end */

typedef struct Plan {
    double warm, sample, total, limit; /* seconds */
    size_t least, most;                /* most: samples; 0: any number */
    bool settle;                       /* until the median is good to 1 % */
} Plan;

static Plan plan_of(ml_TimingMode m)
{
    switch (m) {
    case ML_TIMING_TUNE: return (Plan){0.002, 0.001, 0.0, 1.0, 5, 0, false};
    case ML_TIMING_TIME: return (Plan){0.0, 0.001, 0.2, 3.0, 5, 0, false};
    case ML_TIMING_TURN: return (Plan){0.002, 0.001, 0.0, 0.05, 5, 0, false};
    case ML_TIMING_REPORT: return (Plan){0.2, 0.010, 0.2, 5.0, 20, 0, true};
    }
    return (Plan){0};
}

static double clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t switches(void)
{
    struct rusage r;

    return getrusage(RUSAGE_SELF, &r) == 0 ? (uint64_t)r.ru_nivcsw : 0;
}

static int by_value(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

double ml_median(double *v, size_t n)
{
    if (n == 0)
        return (double)NAN;
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

double ml_mad(const double *v, size_t n, double median)
{
    double *d = malloc((n ? n : 1) * sizeof *d), m;

    if (d == NULL)
        ml_out_of_memory();
    for (size_t k = 0; k < n; k++)
        d[k] = fabs(v[k] - median);
    m = ml_median(d, n);
    free(d);
    return m;
}

static void evict(const ml_Evict *e, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const char *p = e[k].v, *end = p + e[k].n;

        for (; p < end; p += 64) {
#if defined __x86_64__
            __builtin_ia32_clflush(p);
#elif defined __aarch64__
            __asm__ volatile("dc civac, %0" ::"r"(p) : "memory");
#endif
        }
    }
#if defined __x86_64__
    __builtin_ia32_mfence();
#endif
}

/* Seconds of n calls. */
static double batch(const ml_Kernel *k, uint64_t n, int32_t *status)
{
    double t = clock_now();

    for (uint64_t c = 0; c < n && *status == 0; c++)
        *status = k->fn(k->words);
    t = clock_now() - t;
    if (k->tick)
        k->tick(k->user);
    return t;
}

static int32_t nothing(const ml_Word *words)
{
    return words != NULL && words[0].i == INT64_MIN;
}

/* Seconds that calling takes. */
static double overhead(void)
{
    static ml_KernelFn *volatile fn = nothing; /* so that it is called */
    const ml_Word word = {.i = 0};
    const ml_Kernel k = {.fn = fn, .words = &word};
    double least = (double)INFINITY;
    int32_t status = 0;

    for (int round = 0; round < 5; round++)
        least = fmin(least, batch(&k, 1000, &status));
    return least / 1000;
}

/* Calls that take `seconds` together, found by doubling. *sample: seconds per call of the
 * last batch, as good a sample as any; NAN when none was run undisturbed. */
static uint64_t calls_for(const ml_Kernel *k, double seconds, double first, int32_t *status,
                          double *sample)
{
    uint64_t n = 1, before = switches();
    double t = first;

    *sample = (double)NAN;

    while (t < seconds && *status == 0 && n < UINT64_C(1) << 40) {
        double more = 1.1 * seconds / fmax(t, 1e-9) * (double)n;

        n = (uint64_t)fmin(fmax(more, 2.0 * (double)n), 10.0 * (double)n + 10.0);
        before = switches();
        t = batch(k, n, status);
    }
    if (n > 1 && *status == 0 && switches() == before)
        *sample = t / (double)n;
    return n;
}

static bool settled(const ml_Samples *s)
{
    double v[ML_MAX_SAMPLES], m;

    memcpy(v, s->v, s->n * sizeof *v);
    m = ml_median(v, s->n);
    return ml_mad(v, s->n, m) < 0.01 * m;
}

/* Times the best, from which on a call says that there is no hope. */
static double hopeless(double call)
{
    return call > LONGEST     ? WORSE
           : call > VERY_LONG ? SLOWER
           : call > LONG_CALL ? TOO_SLOW
                              : HOPELESS;
}

bool ml_time_hopeless(double call, double best)
{
    return best > 0 && call > LONG_CALL && call > hopeless(call) * best;
}

/* Runs it once, and then until it is warm; how many calls a sample has. *once: what a call
 * takes at most; *sample: a first sample, or NAN. A first call that is long and says that
 * best (0: none) is out of reach is the only one, and a very long one whatever it says,
 * unless it was put aside meanwhile. */
static uint64_t warm_up(const ml_Kernel *k, const Plan *p, bool cold, bool search,
                        double best, int32_t *status, double *once, double *sample)
{
    const uint64_t before = switches();
    double begin = clock_now(), t = batch(k, 1, status);

    *once = t;
    *sample = (double)NAN;
    if (((search && t > LONGEST) || ml_time_hopeless(t, best)) && switches() == before)
        return 1;
    while (clock_now() - begin < p->warm && *status == 0)
        t = fmin(t, batch(k, 1, status));
    if (t < 0.3 && *status == 0) /* the first call found cold pages and sleeping threads */
        t = fmin(t, batch(k, 1, status));
    *once = t;
    return cold ? 1 : calls_for(k, p->sample, t, status, sample);
}

/* A search: a long call is a good sample by itself, and fewer are needed. */
static bool searches(ml_TimingMode mode)
{
    return mode == ML_TIMING_TUNE || mode == ML_TIMING_TURN;
}

/* The quicker of the calls that warmed it up is the first sample. */
static void shorten(Plan *p, ml_TimingMode mode, double once)
{
    p->least = once > VERY_LONG ? 1 : once > 0.01 ? 2 : 3;
    p->least += mode == ML_TIMING_TUNE && once <= LONGEST;
}

static bool done(const Plan *p, const ml_Samples *s, double spent)
{
    if (p->most && s->n >= p->most)
        return true;
    if (s->n == ML_MAX_SAMPLES || s->status != 0 || (spent >= p->limit && s->n >= 1))
        return true;
    return s->n >= p->least && spent >= p->total && (!p->settle || settled(s));
}

void ml_time_kernel(const ml_Kernel *k, const ml_Sampling *how, ml_Samples *out)
{
    const ml_TimingMode mode = how->mode;
    const double best = how->best;
    const size_t n_cold = how->n_cold;
    Plan p = plan_of(mode);
    double begin, least = (double)INFINITY, empty = overhead(), once, first;
    const bool races = mode == ML_TIMING_TUNE && best > 0;
    uint64_t calls, retakes = 0;

    memset(out, 0, sizeof *out);
    calls = warm_up(k, &p, n_cold > 0, searches(mode) && !n_cold,
                    races && !n_cold ? best : 0, &out->status, &once, &first);
    if (out->status)
        return;
    if (races && !n_cold && once > hopeless(once) * best) {
        out->v[out->n++] = once;
        out->given_up = true;
        return;
    }
    if (n_cold) {
        p.least *= 4; /* a sample is a single call */
    } else if (once > LONG_CALL && searches(mode)) {
        shorten(&p, mode, once);
        first = once;
    }
    if (how->runs > 0) { /* the caller's number, however long that takes */
        p.least = p.most = how->runs;
        p.limit = (double)INFINITY;
    }
    begin = clock_now();
    if (!isnan(first))
        out->v[out->n++] = least = fmax(first - empty, 0.01 * first);
    out->given_up = races && !n_cold && once > LONG_CALL && least > CONTENDER * best;
    while (!out->given_up && !done(&p, out, clock_now() - begin)) {
        uint64_t before;
        double t;

        if (n_cold)
            evict(how->cold, n_cold);
        before = switches();
        t = batch(k, calls, &out->status) / (double)calls;
        if (switches() != before) {
            out->switches += switches() - before;
            /* a long sample is put aside for a moment as a matter of course */
            if (t * (double)calls < LONG_SAMPLE && retakes++ < 8 + out->n &&
                clock_now() - begin < p.limit)
                continue;
        }
        t = fmax(t - empty, 0.01 * t);
        out->v[out->n++] = t;
        least = fmin(least, t);
        out->given_up = races && out->n >= 2 && least > 1.5 * best;
    }
}
