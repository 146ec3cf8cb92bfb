/* test_timing - medians, and the plan of sampling: long enough, not too long, and the right
 * number of calls whatever a kernel takes. */
#define _DEFAULT_SOURCE
#include "moonloop/codegen/worker/pack.h"
#include "moonloop/codegen/worker/timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static ml_Samples samples;
static struct Kernel {
    uint64_t calls, ticks;
    double seconds; /* of a call */
    double first;   /* of the first one */
    int64_t fail_at;
    uint32_t runs; /* samples asked for */
} kernel;

static void spin(double seconds)
{
    double t = ml_clock();

    while (ml_clock() - t < seconds)
        ;
}

static int32_t sleeps(const ml_Word *w)
{
    struct timespec t = {.tv_nsec = (long)(kernel.seconds * 1e9)};

    (void)w;
    kernel.calls++;
    nanosleep(&t, NULL);
    return 0;
}

static int32_t spins(const ml_Word *w)
{
    (void)w;
    spin(kernel.calls++ == 0 && kernel.first > 0 ? kernel.first : kernel.seconds);
    return kernel.fail_at && (int64_t)kernel.calls >= kernel.fail_at ? 5 : 0;
}

static int32_t empty(const ml_Word *w)
{
    (void)w;
    kernel.calls++;
    return 0;
}

static void tick(void *user)
{
    (void)user;
    kernel.ticks++;
}

static double run(ml_KernelFn *fn, ml_TimingMode mode, double best)
{
    static const ml_Word word;
    const ml_Kernel k = {.fn = fn, .words = &word, .tick = tick};
    double t = ml_clock();

    kernel.calls = kernel.ticks = 0;
    ml_time_kernel(&k, &(ml_Sampling){.mode = mode, .best = best, .runs = kernel.runs},
                   &samples);
    return ml_clock() - t;
}

/* A busy machine makes any call long, but not each time: what is to hold does so in one of
 * many tries. Only what fails takes them all. */
#define HOLDS_ONCE(runs, holds)                                                            \
    do {                                                                                   \
        int tries = 100;                                                                   \
        do                                                                                 \
            runs;                                                                          \
        while (!(holds) && --tries > 0);                                                   \
        assert_true(holds);                                                                \
    } while (0)

static double least(void)
{
    double m = (double)INFINITY;

    for (size_t k = 0; k < samples.n; k++)
        m = fmin(m, samples.v[k]);
    return m;
}

/* ---------------------------------------------------------------- statistics */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void the_median_is_the_middle_or_the_mean_of_two(void **state)
{
    double one[] = {7}, even[] = {4, 1, 3, 2}, odd[] = {5, 1, 3};

    (void)state;
    assert_true(ml_median(one, 1) == 7);
    assert_true(ml_median(even, 4) == 2.5);
    assert_true(ml_median(odd, 3) == 3);
    assert_true(isnan(ml_median(one, 0)));
}

static void deviations_are_taken_from_the_median(void **state)
{
    double v[] = {1, 1, 2, 2, 4, 6, 9};

    (void)state;
    assert_true(ml_mad(v, 7, 2) == 1);
    assert_true(v[6] == 9); /* its argument stays in order */
    for (uint32_t seed = 1; seed < 200; seed++) {
        double w[50], d[50];
        size_t n = seed % 49 + 1;
        double m, want;
        for (size_t k = 0; k < n; k++)
            w[k] = (double)((seed * 2654435761u + (uint32_t)k * 40503u) % 1000);
        m = ml_median(w, n);
        for (size_t k = 0; k < n; k++)
            d[k] = fabs(w[k] - m);
        qsort(d, n, sizeof *d, by_value);
        want = n % 2 ? d[n / 2] : (d[n / 2 - 1] + d[n / 2]) / 2;
        assert_true(ml_mad(w, n, m) == want);
    }
}

/* ---------------------------------------------------------------- plans */

static void a_kernel_that_sleeps_is_timed_right(void **state)
{
    (void)state;
    kernel.seconds = 0.003;
    kernel.first = 0;
    HOLDS_ONCE(run(sleeps, ML_TIMING_TUNE, 0), least() < 0.01);
    assert_true(least() > 0.0029);
    assert_true(samples.n >= 2);
    assert_true(kernel.ticks >= 3);
}

static void a_long_call_is_repeated_less(void **state)
{
    (void)state;
    kernel.seconds = 0.03;
    kernel.first = 0;
    HOLDS_ONCE(run(sleeps, ML_TIMING_TUNE, 0), least() < 0.1);
    assert_int_equal(samples.n, 2);
    assert_int_equal(kernel.calls, 3);
    assert_true(least() > 0.029);
    run(sleeps, ML_TIMING_TUNE, 0.012); /* the first call says enough */
    assert_true(samples.given_up);
    assert_int_equal(kernel.calls, 1);
    run(sleeps, ML_TIMING_TUNE, 0.026); /* no contender: the second does at the latest */
    assert_true(samples.given_up);
    assert_true(kernel.calls <= 2);
    kernel.seconds = 0.06; /* so long that the first counts, where it was not disturbed */
    run(sleeps, ML_TIMING_TUNE, 0.052);
    assert_true(samples.given_up);
    assert_in_range(kernel.calls, 1, 2);
    run(sleeps, ML_TIMING_TUNE,
        0.0599); /* a contender, or not, where the machine is busy */
    assert_in_range(kernel.calls, 1, 2);
    assert_int_equal(samples.n, 1);
    run(sleeps, ML_TIMING_TURN, 0);
    assert_in_range(kernel.calls, 1, 2);
    run(sleeps, ML_TIMING_TIME, 0);
    assert_true(samples.n >= 5);
    kernel.seconds = 0.03;
    run(sleeps, ML_TIMING_TIME, 0); /* people are told of five */
    assert_true(samples.n >= 5);
    run(sleeps, ML_TIMING_TURN, 0);
    assert_int_equal(kernel.calls, 2);
}

static void short_kernels_are_called_until_a_sample_is_long_enough(void **state)
{
    (void)state;
    kernel.seconds = 2e-6;
    kernel.first = 0.004; /* cold pages, sleeping threads */
    HOLDS_ONCE(run(spins, ML_TIMING_TIME, 0),
               least() < 1e-5 && kernel.calls / samples.n > 50 /* samples of about 1 ms */);
    assert_true(samples.n >= 5);
    assert_true(least() > 1.5e-6);
}

static void an_empty_kernel_takes_next_to_nothing(void **state)
{
    (void)state;
    HOLDS_ONCE(run(empty, ML_TIMING_TUNE, 0), least() < 1e-8);
    assert_true(samples.n >= 5);
    assert_true(least() >= 0);
}

static void timing_lasts_as_long_as_planned(void **state)
{
    double t;

    (void)state;
    kernel.seconds = 1e-5;
    kernel.first = 0;
    HOLDS_ONCE(t = run(spins, ML_TIMING_TUNE, 0), t < 0.5);
    HOLDS_ONCE(t = run(spins, ML_TIMING_TIME, 0), t < 3.5);
    assert_true(t >= 0.2);
    kernel.seconds = 1.2; /* slower than the plan: at least one sample, no second */
    HOLDS_ONCE(t = run(spins, ML_TIMING_TUNE, 0), t < 6);
    assert_true(samples.n >= 1);
}

static void reports_take_twenty_samples_of_ten_milliseconds(void **state)
{
    double t;

    (void)state;
    kernel.seconds = 1e-4;
    kernel.first = 0;
    HOLDS_ONCE(t = run(spins, ML_TIMING_REPORT, 0), t < 8 && kernel.calls > 20 * 90);
    assert_true(samples.n >= 20);
    assert_true(t > 0.2);
}

static void a_hopeless_candidate_is_given_up(void **state)
{
    (void)state;
    kernel.seconds = 0.002;
    kernel.first = 0;
    run(spins, ML_TIMING_TUNE, 0.001);
    assert_true(samples.given_up);
    assert_in_range(samples.n, 1, 2); /* 1: a busy machine */
    /* so slow that its warm calls say enough */
    HOLDS_ONCE(run(spins, ML_TIMING_TUNE, 0.0005), samples.v[0] < 0.1);
    assert_true(samples.given_up);
    assert_int_equal(samples.n, 1);
    assert_true(samples.v[0] >= 0.002);
    HOLDS_ONCE(run(spins, ML_TIMING_TUNE, 0.0019), !samples.given_up);
    assert_true(samples.n >= 5);
}

static void a_kernel_that_fails_ends_sampling(void **state)
{
    (void)state;
    kernel.seconds = 1e-6;
    kernel.first = 0;
    kernel.fail_at = 1;
    run(spins, ML_TIMING_TIME, 0);
    assert_int_equal(samples.status, 5);
    assert_int_equal(kernel.calls, 1);
    kernel.fail_at = 5000;
    run(spins, ML_TIMING_TIME, 0);
    assert_int_equal(samples.status, 5);
    assert_int_equal(kernel.calls, 5000);
    kernel.fail_at = 0;
}

static void cold_samples_are_single_calls_after_an_eviction(void **state)
{
    static const ml_Word word;
    const ml_Kernel k = {.fn = spins, .words = &word};
    static char data[100000];
    const ml_Evict cold = {data, sizeof data};

    (void)state;
    kernel = (struct Kernel){.seconds = 1e-5};
    const ml_Sampling how = {.mode = ML_TIMING_TUNE, .cold = &cold, .n_cold = 1};

    HOLDS_ONCE((kernel.calls = 0, ml_time_kernel(&k, &how, &samples)), samples.n >= 20);
    assert_true(kernel.calls < 2000);
    assert_true(least() > 5e-6);
}

static void as_many_samples_as_asked_for_are_taken(void **state)
{
    (void)state;
    kernel = (struct Kernel){.seconds = 1e-6, .runs = 1};
    run(spins, ML_TIMING_TIME, 0);
    assert_true(kernel.calls < 50000); /* 0.2 s would be 200,000 */
    assert_int_equal(samples.n, 1);
    kernel.runs = 37;
    run(spins, ML_TIMING_REPORT, 0);
    assert_int_equal(samples.n, 37);
    kernel.runs = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_is_the_middle_or_the_mean_of_two),
        cmocka_unit_test(deviations_are_taken_from_the_median),
        cmocka_unit_test(a_kernel_that_sleeps_is_timed_right),
        cmocka_unit_test(a_long_call_is_repeated_less),
        cmocka_unit_test(short_kernels_are_called_until_a_sample_is_long_enough),
        cmocka_unit_test(an_empty_kernel_takes_next_to_nothing),
        cmocka_unit_test(timing_lasts_as_long_as_planned),
        cmocka_unit_test(reports_take_twenty_samples_of_ten_milliseconds),
        cmocka_unit_test(a_hopeless_candidate_is_given_up),
        cmocka_unit_test(a_kernel_that_fails_ends_sampling),
        cmocka_unit_test(as_many_samples_as_asked_for_are_taken),
        cmocka_unit_test(cold_samples_are_single_calls_after_an_eviction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
