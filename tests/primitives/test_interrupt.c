/*
 * test_interrupt - work that is long stops soon after it was asked to, says `interrupted`,
 * leaves everything as it was, and can be done again. Source: interaction 9.
 */
#include "fixture.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

/* Generous: the machine may be slow. Without the flag the work below takes far longer or is
 * shown to end otherwise. */
static const double soon = 5;

static volatile int stop;

static void ring(int sig)
{
    (void)sig;
    stop = 1;
}

/* The flag is raised after so many milliseconds; 0: at once. */
static void interrupt_in(int ms)
{
    struct sigaction sa = {.sa_handler = ring};
    struct itimerval t = {.it_value = {ms / 1000, ms % 1000 * 1000}};

    stop = ms == 0;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &t, NULL);
}

static void calm(void)
{
    struct itimerval none = {0};

    setitimer(ITIMER_REAL, &none, NULL);
    stop = 0;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may have the machine */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- expressions */

static const ml_Expr *huge(ml_Ctx *cx, ml_Arith *ar, int n)
{
    enum { VARS = 16 };
    const ml_Expr *v[VARS], *e = ml_i32(cx, 0);

    for (int k = 0; k < VARS; k++) {
        const ml_Var *x = ml_var_new(cx, "x", ML_DT_I32);

        v[k] = ml_var(cx, x);
        ml_arith_bind_range(ar, x, ml_i32(cx, 0), ml_i32(cx, 3 + k));
    }
    for (int k = 0; k < n; k++) {
        const ml_Expr *a = ml_mul(cx, v[k % VARS], ml_i32(cx, 1 + k % 7));

        a = ml_binary(cx, ML_EXPR_FLOORDIV, ml_add(cx, a, ml_i32(cx, k)),
                      ml_i32(cx, 2 + k % 5));
        e = k % 3 ? ml_add(cx, e, a) : ml_binary(cx, ML_EXPR_MAX, e, a);
    }
    return e;
}

static void simplifying_a_huge_expression_stops(void **state)
{
    for (int ms = 0; ms < 3; ms++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Arith *ar = ml_arith_new(cx);
        const ml_Expr *e = huge(cx, ar, 900);

        ml_ctx_set_cancel(cx, &stop);
        interrupt_in(ms);
        double from = now();

        for (int k = 0; ml_ok(cx) && now() - from < 10; k++) /* again and again */
            ml_simplify(ar, ml_add(cx, e, ml_i32(cx, k)));
        calm();
        assert_true(now() - from < soon);
        assert_int_equal(ML_E_INTERRUPTED, ml_error(cx)->code);
        ml_error_clear(cx);
        assert_true(
            ml_is_int(ml_simplify(ar, ml_sub(cx, ml_i32(cx, 5), ml_i32(cx, 3))), 2));
        ml_ctx_unref(cx);
    }
}

/* ---- the oracle */

static void the_oracle_stops(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 200, 200, 200);
    fx_apply(&fx, "split(\"i\", {auto, 7})");
    const ml_Module *ref = ml_version_program(fx.s, 0).mod, *got;

    got = ml_schedule_program(fx.s).mod;
    for (int ms = 0; ms <= 20; ms += 10) {
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fx.s));
        ml_CheckOpts o = {.inputs = ML_FILL_RANDOM};
        ml_CheckResult r = {0};

        ml_ctx_set_cancel(cx, &stop);
        interrupt_in(ms);
        double from = now();
        bool ok = ml_check(cx, ref, ref->funcs[0], got, got->funcs[0], &o, &r);

        calm();
        assert_false(ok);
        assert_true(now() - from < soon);
        assert_int_equal(ML_E_INTERRUPTED, ml_error(cx)->code);
        ml_ctx_unref(cx);
    }
    fx_apply(&fx, "unroll(\"i_1\")");
    fx_close(&fx);
}

/* ---- a thousand blocks */

/* B0 = A + 1, B1 = B0 + 1, ..., each in a nest of its own. */
static void many_blocks(Fixture *fx, int n)
{
    ml_Text t = {0};

    ml_text_fmt(
        &t,
        "@T.prim_func\n"
        "def main(A: T.Buffer((64,), \"float32\"), Z: T.Buffer((64,), \"float32\")):\n");
    for (int k = 0; k < n; k++)
        ml_text_fmt(&t, "    B%d = T.alloc_buffer((64,), \"float32\")\n", k);
    for (int k = 0; k <= n; k++) {
        char from[16], to[16];

        snprintf(from, sizeof from, k ? "B%d" : "A", k - 1);
        snprintf(to, sizeof to, k < n ? "B%d" : "Z", k);
        ml_text_fmt(&t,
                    "    for i%d in range(64):\n"
                    "        with T.block(\"%s\"):\n"
                    "            v = T.axis.spatial(64, i%d)\n"
                    "            %s[v] = %s[v] + T.float32(1)\n",
                    k, to, k, to, from);
    }
    fx_text(fx, ml_text_z(&t));
    ml_text_free(&t);
}

static void interrupted_call(Fixture *fx, const char *call, int ms)
{
    ml_State st = ml_schedule_state(fx->s);
    ml_Program p = ml_schedule_program(fx->s);

    ml_ctx_set_cancel(ml_schedule_ctx(fx->s), &stop);
    interrupt_in(ms);
    double from = now();
    bool ok = fx_try(fx, call);
    double took = now() - from;

    calm();
    assert_true(took < soon);
    if (ok) { /* it was done before the flag was looked at */
        ml_schedule_restore(fx->s, st);
        return;
    }
    if (ml_schedule_error(fx->s)->code != ML_E_INTERRUPTED)
        fail_msg("%s: %s", call, fx_message(fx));
    ml_State after = ml_schedule_state(fx->s);

    assert_int_equal(st.version, after.version);
    assert_ptr_equal(st.trace, after.trace);
    assert_int_equal(st.random, after.random);
    assert_ptr_equal(p.mod, ml_schedule_program(fx->s).mod);
}

static void a_step_among_a_thousand_blocks_stops_and_works_again(void **state)
{
    Fixture fx;

    many_blocks(&fx, 1000);
    for (int ms = 0; ms < 4; ms++)
        interrupted_call(&fx, "compute_at(\"B500\", \"i501\")", ms);
    for (int ms = 0; ms < 4; ms++)
        interrupted_call(&fx, "split(\"i7\", {3, auto})", ms);
    fx_apply(&fx, "compute_at(\"B500\", \"i501\") split(\"i7\", {3, auto})");
    fx_close(&fx);
}

static void cover_of_a_thousand_blocks_stops(void **state)
{
    Fixture fx;

    many_blocks(&fx, 1000);
    for (int ms = 0; ms < 20; ms += 6) {
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fx.s));
        ml_Findings found = {0};

        ml_ctx_set_cancel(cx, &stop);
        interrupt_in(ms);
        double from = now();

        while (ml_ok(cx) && now() - from < 10)
            ml_verify_nests(cx, ml_schedule_program(fx.s), &found);
        calm();
        assert_true(now() - from < soon);
        assert_int_equal(ML_E_INTERRUPTED, ml_error(cx)->code);
        ml_ctx_unref(cx);
    }
    fx_close(&fx);
}

/* ---- ways out */

static void suggestions_stop(void **state)
{
    Fixture fx;

    many_blocks(&fx, 1000);
    ml_ctx_set_cancel(ml_schedule_ctx(fx.s), &stop);
    assert_false(fx_try(&fx, "split(\"i7\", {3, 5})"));
    ml_Failure *f = ml_failure_take(fx.s);
    ml_Text t = {0};

    interrupt_in(0);
    double from = now();

    ml_failure_render(f, &t, NULL);
    calm();
    assert_true(now() - from < soon);
    assert_non_null(strstr(ml_text_z(&t), "factors-too-small"));
    ml_text_free(&t);
    ml_failure_free(f);
    fx_apply(&fx, "split(\"i7\", {3, auto})");
    fx_close(&fx);
}

static void a_replay_stops_at_a_step(void **state)
{
    Fixture fx, to;
    ml_Ctx *tmp = ml_ctx_new(0);
    size_t done = 0;

    many_blocks(&fx, 200);
    for (int k = 0; k < 60; k++) {
        char call[64];

        snprintf(call, sizeof call, "split(\"i%d\", {5, auto})", k);
        fx_apply(&fx, call);
    }
    ml_Trace t = ml_schedule_trace(fx.s, tmp);

    many_blocks(&to, 200);
    ml_ctx_set_cancel(ml_schedule_ctx(to.s), &stop);
    interrupt_in(0);
    assert_false(ml_trace_apply(to.s, &t, false, NULL, NULL, &done));
    calm();
    assert_int_equal(ML_E_INTERRUPTED, ml_schedule_error(to.s)->code);
    assert_true(done < t.n);
    assert_true(ml_schedule_goto(to.s, 0));
    assert_true(ml_trace_apply(to.s, &t, false, NULL, NULL, &done));
    assert_true(ml_schedule_hash(fx.s) == ml_schedule_hash(to.s));
    ml_ctx_unref(tmp);
    fx_close(&to);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplifying_a_huge_expression_stops),
        cmocka_unit_test(the_oracle_stops),
        cmocka_unit_test(a_step_among_a_thousand_blocks_stops_and_works_again),
        cmocka_unit_test(cover_of_a_thousand_blocks_stops),
        cmocka_unit_test(suggestions_stop),
        cmocka_unit_test(a_replay_stops_at_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
