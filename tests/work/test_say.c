/* Speeds in words: of operations or of bytes, and read again. Source: interaction 8. */
#include "../core/core_test.h"

#include <math.h>

#include "moonloop/work/roofs.h"
#include "moonloop/work/say.h"

static const char *speed(ml_Text *t, ml_Amount a, double seconds, double spread)
{
    ml_text_clear(t);
    ml_text_speed(t, a, seconds, spread);
    return ml_text_z(t);
}

static void a_speed_is_told_of_what_limits(void **state)
{
    const ml_Roof bound = {.memory = true}, computing = {.memory = false};
    ml_Text t = {0};

    (void)state;
    assert_string_equal(speed(&t, ml_timing_amount(1e9, 4e9, &bound), 0.5, 0), "8.00 GB/s");
    assert_string_equal(speed(&t, ml_timing_amount(1e9, 4e9, &computing), 0.5, 0),
                        "2.00 GFLOP/s");
    assert_string_equal(speed(&t, ml_timing_amount(1e9, 4e9, NULL), 0.5, 0.34),
                        "2.00 GFLOP/s ±34 %");
    assert_string_equal(speed(&t, ml_timing_amount(0, 4e6, &bound), 2, 0), "2.00 MB/s");
    assert_string_equal(speed(&t, ml_timing_amount(0, 0, NULL), 0.0368, 0), "36.8 ms");
    ml_text_free(&t);
}

static void a_speed_is_read_again(void **state)
{
    static const struct {
        ml_Amount a;
        ml_SpeedKind kind;
    } cases[] = {{{3e12, false}, ML_SPEED_FLOP}, {{3e6, false}, ML_SPEED_FLOP},
                 {{700, false}, ML_SPEED_FLOP},  {{5e11, true}, ML_SPEED_BYTES},
                 {{1200, true}, ML_SPEED_BYTES}, {{4000, true}, ML_SPEED_BYTES},
                 {{0, false}, ML_SPEED_TIME}};
    static const double times[] = {2, 0.25, 0.003, 4e-6, 5e-8};
    ml_Text t = {0};
    ml_SpeedKind kind;

    (void)state;
    for (size_t k = 0; k < ML_COUNT(cases); k++)
        for (size_t j = 0; j < ML_COUNT(times); j++) {
            const char *z = speed(&t, cases[k].a, times[j], j % 2 ? 0.2 : 0);
            double n = cases[k].a.n, v = ml_speed_read(z, &kind);
            double want = n > 0 ? n / times[j] : 1 / times[j];

            if (kind != cases[k].kind || fabs(v - want) > 0.01 * want)
                fail_msg("%s is read as %g, not %g", z, v, want);
            assert_true(fabs(ml_speed_seconds(z, n, n) - times[j]) < 0.01 * times[j]);
        }
    assert_true(ml_speed_read(NULL, &kind) <= 0 && ml_speed_read("fast", &kind) <= 0);
    assert_true(ml_speed_read("3 apples", NULL) <= 0 &&
                ml_speed_read("3 kFLOP", NULL) <= 0);
    assert_true(isnan(ml_speed_seconds("3 GB/s", 10, 0)));
    ml_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_speed_is_told_of_what_limits),
                                       cmocka_unit_test(a_speed_is_read_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
