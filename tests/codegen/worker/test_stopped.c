/*
 * test_stopped - processes that stand still, and sets that are freed before they have come
 * to the end of their way: the session keeps every limit itself, and the next job works.
 */
#define _DEFAULT_SOURCE
#include "work.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { CHECK = ML_WANT_CHECK };

static const char endless[] = PROGRAM("    while T.bool(True):\n"
                                      "        C[0] = C[0] + A[0]\n");
static const char no_code[] =
    PROGRAM("    for i in T.thread_binding(256, thread=\"threadIdx.x\"):\n"
            "        C[i] = A[i]\n");

/* The runner of the worker. */
static int runner_of(Fix *x)
{
    int child = child_of(ml_worker_pid(x->w));

    assert_true(child > 0);
    return child;
}

/* The job fails for want of an answer, after so many seconds, and the next one works. */
static void ends_after(Fix *x, const ml_Job *j, double least, const char *phase)
{
    double t = ml_clock();

    fails(x, j, ML_E_WORKER_TIMEOUT, phase, "within");
    t = ml_clock() - t;
    if (t < least || t > HANGS)
        fail_msg("it took %.1f s", t);
    succeeds(x, copy, CHECK);
}

static void a_stopped_worker_is_replaced_some_time_after_its_limit(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK); /* it has answered before */
    j = job_of(x, copy, CHECK);
    j.compile_limit = 1;
    kill(ml_worker_pid(x->w), SIGSTOP);
    ends_after(x, &j, 1.9, "compile");
}

static void a_worker_that_never_answered_is_replaced_as_well(void **state)
{
    Fix *x = *state;
    ml_Job j;
    double t;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, copy, CHECK);
    j.compile_limit = 1;
    assert_true(ml_worker_send(worker(x), x->cx, &j));
    kill(ml_worker_pid(x->w), SIGSTOP);
    t = ml_clock();
    assert_true(ml_worker_take(x->w, x->cx, &x->r));
    if (ml_clock() - t > HANGS)
        fail_msg("it took %.1f s", ml_clock() - t);
    /* It may have been quicker than the signal. */
    assert_true(x->r.ok || x->r.code == ML_E_WORKER_TIMEOUT);
    ml_worker_kill(x->w);
    succeeds(x, copy, CHECK);
}

static void a_worker_stopped_at_a_run_is_replaced_by_the_limit_of_the_run(void **state)
{
    Fix *x = *state;
    ml_Job j;
    double t = ml_clock();

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    j = job_of(x, endless, CHECK);
    j.run_limit = 1;
    j.runs = 50; /* limits of calls are not added up */
    assert_true(ml_worker_send(x->w, x->cx, &j));
    while (!ml_worker_done(x->w) && ml_worker_time_left(x->w) > 10 &&
           ml_clock() < t + HANGS)
        usleep(10000); /* until it is compiled */
    kill(ml_worker_pid(x->w), SIGSTOP);
    t = ml_clock();
    assert_true(ml_worker_take(x->w, x->cx, &x->r));
    t = ml_clock() - t;
    assert_int_equal(x->r.code, ML_E_WORKER_TIMEOUT);
    assert_string_equal(x->r.phase, "run");
    if (t > HANGS)
        fail_msg("it took %.1f s", t);
    succeeds(x, copy, CHECK);
}

static void a_stopped_runner_is_replaced_at_its_limit(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    j = job_of(x, copy, CHECK);
    j.run_limit = 1;
    kill(runner_of(x), SIGSTOP);
    ends_after(x, &j, 0.9, "run");
}

static void a_set_may_be_freed_before_the_runner_has_received_it(void **state)
{
    Fix *x = *state;
    ml_Job j;
    int runner;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    runner = runner_of(x);
    kill(runner, SIGSTOP); /* what is sent to it waits */
    make_set(x, 256, NULL);
    j = job_of(x, no_code, CHECK);
    assert_false(run_job(x, &j));
    make_set(x, 256, NULL); /* the other one is freed */
    kill(runner, SIGCONT);
    succeeds(x, copy, CHECK);
    assert_int_equal(runner_of(x), runner);
}

static void right_checks_behind_failing_ones_are_right(void **state)
{
    Fix *x = *state;
    int n = getenv("ML_QUICK") ? 100 : 1000;

    NEED_WORKER();
    for (int k = 0; k < n; k++) {
        ml_Job j;

        make_set(x, 256, NULL);
        j = job_of(x, no_code, CHECK);
        assert_false(run_job(x, &j));
        make_set(x, 256, NULL);
        succeeds(x, copy, CHECK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stopped_worker_is_replaced_some_time_after_its_limit),
        TEST(a_worker_that_never_answered_is_replaced_as_well),
        TEST(a_worker_stopped_at_a_run_is_replaced_by_the_limit_of_the_run),
        TEST(a_stopped_runner_is_replaced_at_its_limit),
        TEST(a_set_may_be_freed_before_the_runner_has_received_it),
        TEST(right_checks_behind_failing_ones_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
