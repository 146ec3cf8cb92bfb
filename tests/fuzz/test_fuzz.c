/* test_fuzz - some trials of the random differential test (fuzz_schedule runs more of
 * it). Source: style 10. */
#include "trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static void fail_with(FzTrial *t)
{
    ml_Text out = {0};

    fz_shrink(t);
    fz_report(t, &out);
    fail_msg("%s", ml_text_z(&out));
}

static void random_schedules_keep_what_programs_compute(void **state)
{
    for (int64_t k = 0; k < fz_quick(3500); k++) {
        FzTrial t = fz_trial(1, k);

        fz_run(&t, true, NULL);
        if (t.failed)
            fail_with(&t);
        fz_trial_clear(&t);
    }
}

static void a_failure_is_found_again_from_its_steps(void **state)
{
    FzTrial t = fz_trial(7, 3), again = {0};

    fz_run(&t, true, NULL);
    assert_false(t.failed);
    assert_true(t.n_steps > 0);
    again.plan = t.plan;
    again.n_steps = t.n_steps;
    for (int k = 0; k < t.n_steps; k++)
        again.steps[k] = strdup(t.steps[k]);
    fz_run(&again, false, NULL);
    assert_false(again.failed);
    assert_int_equal(again.at, t.at);
    assert_true(again.hash == t.hash);
    fz_trial_clear(&t);
    fz_trial_clear(&again);
}

static void all_generated_programs_are_accepted_by_the_oracle(void **state)
{
    for (int64_t k = 0; k < 400; k++) {
        FzTrial t = fz_trial(99, k);

        t.n_steps = 0;
        fz_run(&t, true, NULL);
        if (t.failed)
            fail_with(&t);
        fz_trial_clear(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_generated_programs_are_accepted_by_the_oracle),
        cmocka_unit_test(a_failure_is_found_again_from_its_steps),
        cmocka_unit_test(random_schedules_keep_what_programs_compute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
