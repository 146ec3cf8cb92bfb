/*
 * fuzz_lower - random programs under random schedules, lowered pass by pass, every stage
 * run by the interpreter.
 *
 *   fuzz_lower N SEED [PASS]       N programs; exit 1 and a shrunk script at each failure;
 *                                  PASS: the last one to run, instead of all
 *
 * The output for a seed is always the same. Source: style 10.
 */
#include "progress.h"
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_FAILURES = 10 };

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *pass = argc > 3 && strcmp(argv[3], "faults") != 0 ? argv[3] : "";
    FzStats stats = {.prims = calloc(ml_n_primitives, sizeof(FzCount))};
    FzProgress progress = fz_progress("lowered programs", n, seed);
    int failures = 0;

    for (int64_t k = 0; k < n && failures < MAX_FAILURES; k++) {
        FzTrial t = fz_trial(seed, k);
        ml_Text out = {0};

        fz_progress_step(&progress, k, failures);
        t.plan.lower = pass;
        fz_run(&t, true, &stats);
        if (t.failed) {
            failures++;
            fz_shrink(&t);
            fz_report(&t, &out);
            fputs(ml_text_z(&out), stdout);
            fflush(stdout);
            ml_text_free(&out);
        }
        fz_trial_clear(&t);
    }
    printf("%lld programs, %lld steps, %lld versions lowered (%lld for a GPU), %lld passes "
           "that changed something\n",
           (long long)stats.programs, (long long)stats.steps, (long long)stats.lowered,
           (long long)stats.for_gpu, (long long)stats.passes);
    printf("seed %llu: %d failures\n", (unsigned long long)seed, failures);
    free(stats.prims);
    return failures ? 1 : 0;
}
