/* progress - see progress.h. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

FzProgress fz_progress(const char *what, int64_t total, uint64_t seed)
{
    double t = now();

    return (FzProgress){what, seed, total, t, t};
}

void fz_progress_step(FzProgress *p, int64_t done, int failures)
{
    const char *every = getenv("FZ_PROGRESS");
    double seconds = every ? strtod(every, NULL) : 0, t, rate;

    if (seconds <= 0 || done < 1)
        return;
    t = now();
    if (t - p->told < seconds)
        return;
    p->told = t;
    rate = (double)done / (t - p->begin);
    fprintf(stderr, "fuzz: seed %llu: %lld of %lld %s, %.0f/s, %d failed, %.0f min left\n",
            (unsigned long long)p->seed, (long long)done, (long long)p->total, p->what,
            rate, failures, (double)(p->total - done) / rate / 60);
}
