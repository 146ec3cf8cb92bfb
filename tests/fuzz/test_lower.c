/* test_lower - random programs under random schedules, lowered: every stage computes what
 * the version computes (fuzz_lower runs more of it). Source: style 10. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void campaign(const char *pass, uint64_t seed, double seconds)
{
    FzStats stats = {.prims = calloc(ml_n_primitives, sizeof(FzCount))};
    double start = now();

    for (int64_t k = 0; k < 10000 && (k < 50 || now() - start < seconds); k++) {
        FzTrial t = fz_trial(seed, k);
        ml_Text out = {0};

        t.plan.lower = pass;
        fz_run(&t, true, &stats);
        if (t.failed) {
            fz_shrink(&t);
            fz_report(&t, &out);
            fail_msg("%s", ml_text_z(&out));
        }
        fz_trial_clear(&t);
    }
    assert_true(stats.lowered > stats.for_gpu);
    assert_true(stats.passes > 2 * stats.lowered);
    free(stats.prims);
}

static double limit(void)
{
    const char *quick = getenv("ML_QUICK");

    return quick && *quick && *quick != '0' ? 3 : 10;
}

static void flat_programs_compute_what_the_schedule_computes(void **state)
{
    campaign("flatten_buffers", 5, limit());
}

static void every_stage_computes_what_the_schedule_computes(void **state)
{
    campaign("", 6, limit());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_programs_compute_what_the_schedule_computes),
        cmocka_unit_test(every_stage_computes_what_the_schedule_computes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
