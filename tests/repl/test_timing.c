/*
 * test_timing - what a version is compared with is timed in the same moment; what several
 * timings of a session say together. Source: interaction 8.
 */
#include "repl/fixture.h"

#include <math.h>
#include <stdlib.h>

#include "moonloop/work/timing.h"

static bool can_time(void)
{
    if (ml_backend_find("llvm") && getenv("MOONLOOP_WORKER"))
        return true;
    print_message("skip: there is no LLVM 19, or MOONLOOP_WORKER does not name the "
                  "program\n");
    return false;
}

static void time_it(ml_Session *ss, ml_Ctx *cx, ml_Timing *t)
{
    const ml_TimingOpts o = {.seed = 1};

    if (!ml_timing_run(cx, ml_host_engine(ss->host), ss->focus,
                       ml_schedule_version(ss->focus), 0, &o, t))
        fail_msg("%s", ml_error_code(ml_error(cx)->code));
}

static void a_start_that_was_timed_in_a_busy_moment_is_timed_again(void **state)
{
    ml_Session *ss = *state;
    ml_Engine *e = ml_host_engine(ss->host);
    ml_Ctx *cx;
    ml_Timing t;

    if (!can_time())
        return;
    ml_timing_remember(e, ss->focus, 0, 0.045, 0); /* it takes well below a millisecond */
    run_line(ss, "split(\"i\", {auto, 4})");
    cx = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    ml_ctx_set_limit(cx, 0);
    time_it(ss, cx, &t);
    if (!(t.start.seconds < 0.02 && t.start.ratio < 50))
        fail_msg("the start: %g s, x%g", t.start.seconds, t.start.ratio);
    /* the range of the start's timings shows */
    assert_true(t.start.spread > 0.5);
    ml_ctx_unref(cx);
}

static void a_dear_start_is_timed_once_a_session(void **state)
{
    ml_Session *ss = *state;
    ml_Ctx *cx;
    ml_Timing t;

    if (!can_time())
        return;
    ml_timing_remember(ml_host_engine(ss->host), ss->focus, 0, 7.5, 0);
    run_line(ss, "split(\"i\", {auto, 4})");
    cx = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    ml_ctx_set_limit(cx, 0);
    time_it(ss, cx, &t);
    assert_true(t.start.seconds == 7.5);
    assert_true(fabs(t.start.ratio - 7.5 / t.t.median) < 1e-6 * t.start.ratio);
    ml_ctx_unref(cx);
}

/* Its ratio was not a number where the start is the best of three versions. */
static void a_start_that_is_the_best_has_its_ratio(void **state)
{
    ml_Session *ss = *state;
    ml_Ctx *cx;
    ml_Timing t;

    if (!can_time())
        return;
    ml_timing_remember(ml_host_engine(ss->host), ss->focus, 0, 1e-9, 0);
    run_line(ss, "split(\"i\", {auto, 4})");
    run_line(ss, "annotate(\"i_0\", \"x\", 1)");
    cx = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    ml_ctx_set_limit(cx, 0);
    time_it(ss, cx, &t);
    assert_int_equal(t.best.version, 0);
    assert_true(t.best.ratio > 0 && t.best.ratio == t.start.ratio);
    assert_true(t.best.seconds == t.start.seconds && t.best.seconds > 1e-9);
    ml_ctx_unref(cx);
}

static void timings_that_differ_show_as_spread(void **state)
{
    ml_Session *ss = *state;
    ml_Engine *e = ml_host_engine(ss->host);
    double least, most;
    ml_Ctx *cx;
    ml_Timing t;

    ml_engine_remember(e, 77, 168e-6, 0.01);
    assert_int_equal(ml_engine_range(e, 77, &least, &most), 1);
    ml_engine_remember(e, 77, 303e-6, 0.01);
    ml_engine_remember(e, 77, 200e-6, 0.01);
    assert_int_equal(ml_engine_range(e, 77, &least, &most), 3);
    assert_true(least == 168e-6 && most == 303e-6);
    assert_int_equal(ml_engine_range(e, 78, &least, &most), 0);
    if (!can_time())
        return;
    run_line(ss, "split(\"i\", {auto, 4})");
    ml_timing_remember(e, ss->focus, ml_schedule_version(ss->focus), 0.03, 0.01);
    cx = ml_ctx_fork(ml_schedule_ctx(ss->focus));
    ml_ctx_set_limit(cx, 0);
    time_it(ss, cx, &t);
    assert_int_equal(t.times, 2);
    assert_true(t.most == 0.03 && t.least < 0.02 && t.noisy && t.t.spread > 0.2);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(a_start_that_was_timed_in_a_busy_moment_is_timed_again),
        FIXTURE(a_dear_start_is_timed_once_a_session),
        FIXTURE(a_start_that_is_the_best_has_its_ratio),
        FIXTURE(timings_that_differ_show_as_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
