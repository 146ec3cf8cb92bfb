/* progress - how far a long random test is, on standard error. */
#ifndef TESTS_FUZZ_PROGRESS_H
#define TESTS_FUZZ_PROGRESS_H

#include <stdint.h>

typedef struct FzProgress {
    const char *what; /* "schedules" */
    uint64_t seed;
    int64_t total;
    double begin, told;
} FzProgress;

/* Begins to count. Nothing is ever told unless FZ_PROGRESS gives the seconds between two
 * lines (scripts/fuzz.sh sets it). */
FzProgress fz_progress(const char *what, int64_t total, uint64_t seed);
/* One more is done: `done` of them now, of which `failures` failed. */
void fz_progress_step(FzProgress *p, int64_t done, int failures);

#endif
