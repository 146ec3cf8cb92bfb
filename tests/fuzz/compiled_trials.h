/* compiled_trials - random programs under random schedules, of which every last version is compiled
 * and run: the loop of the tests of machine code and of printed C. */
#ifndef TESTS_FUZZ_COMPILED_TRIALS_H
#define TESTS_FUZZ_COMPILED_TRIALS_H

#include "compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

/* Skips the test where nothing can be compiled. */
static inline void need_compiler(void)
{
    const char *why;

    if (fz_compiler(&why))
        return;
    print_message("skip: nothing can be compiled: %s\n", why);
    skip();
}

/* n trials of the seed. */
static inline void compiled_trials(const char *name, uint64_t seed, int64_t n)
{
    FzStats stats = {.prims = calloc(ml_n_primitives, sizeof(FzCount))};

    for (int64_t k = 0; k < fz_quick(n); k++) {
        FzTrial t = fz_trial(seed, k);
        ml_Text out = {0};

        t.plan.compile = 2;
        fz_run(&t, true, &stats);
        if (t.failed) {
            fz_shrink(&t);
            fz_report(&t, &out);
            fail_msg("%s", ml_text_z(&out));
        }
        fz_trial_clear(&t);
    }
    print_message(
        "%s: %lld programs: %lld versions compiled, %lld run; refused: %lld for a "
        "GPU, %lld for a dtype\n",
        name, (long long)stats.programs, (long long)stats.compiled, (long long)stats.ran,
        (long long)stats.for_gpu, (long long)stats.not_supported);
    assert_true(stats.ran > 20);
    assert_true(stats.ran + stats.for_gpu + stats.not_supported == stats.to_compile);
    free(stats.prims);
}

#endif
