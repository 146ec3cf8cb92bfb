/* test_trace - random programs under random schedules: the trace of addresses, made without
 * values, is that of a whole run of the interpreter. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static void a_walk_without_values_touches_what_a_whole_run_touches(void **state)
{
    FzStats stats = {.prims = calloc(ml_n_primitives, sizeof(FzCount))};

    (void)state;
    for (int64_t k = 0; k < fz_quick(800); k++) {
        FzTrial t = fz_trial(77, k);
        ml_Text out = {0};

        t.plan.trace = true;
        fz_run(&t, true, &stats);
        if (t.failed) {
            fz_shrink(&t);
            fz_report(&t, &out);
            fail_msg("%s", ml_text_z(&out));
        }
        fz_trial_clear(&t);
    }
    assert_true(stats.runs > 2 * stats.programs);
    free(stats.prims);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_without_values_touches_what_a_whole_run_touches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
