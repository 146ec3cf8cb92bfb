/* test_lower - random programs under random schedules, lowered: every stage computes what
 * the version computes (fuzz_lower runs more of it). Source: style 10. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static void campaign(const char *pass, uint64_t seed, int64_t n)
{
    FzStats stats = {.prims = calloc(ml_n_primitives, sizeof(FzCount))};

    for (int64_t k = 0; k < fz_quick(n); k++) {
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

static void flat_programs_compute_what_the_schedule_computes(void **state)
{
    campaign("flatten_buffers", 5, 500);
}

static void every_stage_computes_what_the_schedule_computes(void **state)
{
    campaign("", 6, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_programs_compute_what_the_schedule_computes),
        cmocka_unit_test(every_stage_computes_what_the_schedule_computes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
