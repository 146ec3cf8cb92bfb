/* The bound that every screen tells, by figures that are made up. Source: workloads 10. */
#include "../core/core_test.h"
#include "verify/verify_test.h"

#include <math.h>

#include "moonloop/work/roofs.h"
#include "moonloop/work/timing_impl.h"

#define GIGA 1e9
#define I4   "    "
#define I8   I4 I4
#define I12  I8 I4

/* 2 threads; 100 and 200 GFLOP/s; all caches read 100 and 200 GB/s, write half of it; exp 4,
 * sqrt and division 2, division by what lanes share 20 results a second and thread. */
static ml_Machine made_up(void)
{
    ml_Machine m;

    ml_machine_host(2, &m);
    for (int k = 0; k < 3; k++)
        m.cache[k] = (uint64_t[]){32 << 10, 1 << 20, 16 << 20}[k];
    m.peak[ML_MACHINE_F32][0] = 100 * GIGA;
    m.peak[ML_MACHINE_F32][1] = 200 * GIGA;
    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        for (int n = 0; n < 2; n++) {
            m.bandwidth[l][ML_TRAFFIC_READ][n] = (n + 1) * 100 * GIGA;
            m.bandwidth[l][ML_TRAFFIC_WRITE][n] = (n + 1) * 50 * GIGA;
        }
    m.math[ML_MATH_EXP][0] = 4 * GIGA;
    m.math[ML_MATH_SQRT][0] = m.math[ML_MATH_DIVIDE][0] = 2 * GIGA;
    m.math[ML_MATH_QUOTIENT][0] = 20 * GIGA;
    m.fork_join = 1e-6;
    m.call = 1e-9;
    m.full = true;
    return m;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

#define ROWS                                                                               \
    "X: T.Buffer((64, 512), \"float32\"), S: T.Buffer((64,), \"float32\"), "               \
    "Y: T.Buffer((64, 512), \"float32\")"
#define POINT(value)                                                                       \
    I4 "for i, j in T.grid(64, 512):\n" I8 "with T.block(\"Y\"):\n" I12                    \
       "vi, vj = T.axis.remap(\"SS\", [i, j])\n" I12 "Y[vi, vj] = " value "\n"

static void bytes_are_read_and_written_once(void **state)
{
    Prog g = prog_any(ROWS, POINT("X[vi, vj] * S[vi]"));
    ml_Demand d = ml_demand_of(g.cx, g.p.mod->funcs[0], NULL, 0);

    (void)state;
    assert_true(near(d.read, 4.0 * (64 * 512 + 64)) && near(d.written, 4.0 * 64 * 512));
    assert_true(near(d.flop, 64 * 512));
    assert_true(ml_demand_has_peak(&d));
    for (int k = 0; k < ML_MATHS; k++)
        assert_true(d.math[k][0] <= 0 && d.math[k][1] <= 0);
    prog_free(&g);
}

/* What does not move with a loop is computed before it, and a quotient by it is a product. */
static void functions_are_counted_where_they_must_be_computed(void **state)
{
    static const struct {
        const char *body;
        double exp, sqrt, divide, quotient;
    } cases[] = {
        {POINT("T.exp(X[vi, vj])"), 64 * 512, 0, 0, 0},
        {POINT("T.exp(X[vi, vj]) + T.exp(S[vi])"), 64 * 513, 0, 0, 0},
        {POINT("X[vi, vj] * T.sqrt(S[vi])"), 0, 64, 0, 0},
        {POINT("X[vi, vj] / X[vi, 511 - vj]"), 0, 0, 64 * 512, 0},
        {POINT("X[vi, vj] / T.sqrt(S[vi])"), 0, 64, 0, 64 * 512},
        {POINT("X[vi, vj] / T.float32(3)"), 0, 0, 0, 64 * 512},
        {POINT("X[vi, vj] / T.float32(4)"), 0, 0, 0, 0}, /* a product */
        {POINT("T.fabs(X[vi, vj])"), 0, 0, 0, 0},
        {POINT("T.if_then_else(vj < 128, T.exp(X[vi, vj]), X[vi, vj])"), 64 * 128, 0, 0, 0},
        {I4 "for i, j in T.grid(64, 512):\n" I8 "Y[i, j] = T.exp(X[i, j]) / T.sqrt(S[i])\n",
         64 * 512, 64, 0, 64 * 512},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        Prog g = prog_any(ROWS, cases[k].body);
        ml_Demand d = ml_demand_of(g.cx, g.p.mod->funcs[0], NULL, 0);

        if (!near(d.math[ML_MATH_EXP][0], cases[k].exp) ||
            !near(d.math[ML_MATH_SQRT][0], cases[k].sqrt) ||
            !near(d.math[ML_MATH_DIVIDE][0], cases[k].divide) ||
            !near(d.math[ML_MATH_QUOTIENT][0], cases[k].quotient))
            fail_msg("%s: exp %g, sqrt %g, division %g, quotient %g", cases[k].body,
                     d.math[ML_MATH_EXP][0], d.math[ML_MATH_SQRT][0],
                     d.math[ML_MATH_DIVIDE][0], d.math[ML_MATH_QUOTIENT][0]);
        prog_free(&g);
    }
}

static void one_thread_may_be_the_quicker(void **state)
{
    ml_Machine m = made_up();
    ml_Demand d = {.type = ML_DT_F32, .flop = 100e6};
    ml_TimeBound b = ml_time_bound(&m, 2, &d, false);

    (void)state;
    assert_true(near(b.seconds, 0.5e-3 + 1e-6) && b.threads == 2 && b.region > 0);
    b = ml_time_bound(&m, 1, &d, false);
    assert_true(near(b.seconds, 1e-3) && b.threads == 1 && b.region <= 0);
    d.flop = 100e3; /* 1 us, or 0.5 and a region */
    b = ml_time_bound(&m, 2, &d, false);
    assert_true(near(b.seconds, 1e-6) && b.threads == 1);
    m.bandwidth[ML_MACHINE_MEMORY][ML_TRAFFIC_READ][0] = GIGA;
    d.read = 1e4;
    b = ml_time_bound(&m, 1, &d, false);
    assert_true(near(b.seconds, 1e-6));
    b = ml_time_bound(&m, 1, &d, true); /* nothing is in the caches */
    assert_true(near(b.seconds, 1e-5) && b.roof.level == ML_MACHINE_MEMORY);
    m = made_up();
    m.peak[ML_MACHINE_F32][0] = m.peak[ML_MACHINE_F32][1] = (double)NAN;
    assert_true(isnan(ml_time_bound(&m, 2, &d, false).seconds));
}

/* ---------------------------------------------------------------- timings */

#define TAPS                                                                               \
    "X: T.Buffer((512,), \"float32\"), W: T.Buffer((512,), \"float32\"), "                 \
    "Y: T.Buffer((1024,), \"float32\")"
#define TAP(loops, at, value)                                                              \
    I4 loops I8 "with T.block(\"Y\"):\n" I12 "vi = T.axis.spatial(1024, " at ")\n" I12     \
                "vk = T.axis.reduce(512, k)\n" I12 "with T.init():\n" I12 I4               \
                "Y[vi] = T.float32(0)\n" I12 "Y[vi] = Y[vi] + " value "\n"

/* Every second result is zero. */
static const char *const START =
    TAP("for i, k in T.grid(1024, 512):\n", "i",
        "T.Select(vi % 2 == 0, X[vi // 2] * W[vk], T.float32(0))");
static const char *const WITHOUT =
    I4 "for i, k in T.grid(512, 512):\n" I8 "with T.block(\"Y\"):\n" I12
       "vi = T.axis.spatial(512, i)\n" I12 "vk = T.axis.reduce(512, k)\n" I12
       "with T.init():\n" I12 I4 "Y[vi * 2] = T.float32(0)\n" I12
       "Y[vi * 2] = Y[vi * 2] + X[vi] * W[vk]\n" I4 "for i in range(512):\n" I8
       "Y[i * 2 + 1] = T.float32(0)\n";
static const char *const HIDDEN =
    I4 "for i in range(1024):\n" I8
       "Y[i] = T.call_pure_extern(\"float32\", \"taps\", X[i // 2], W[0])\n";

/* A timing of that many times the start's bound, with all figures known. */
static ml_Timing timed(const char *version, double times)
{
    const ml_TimingOpts o = {0};
    Prog start = prog_any(TAPS, START), own = prog_any(TAPS, version);
    ml_Engine *e = ml_engine_new();
    ml_Timing t = {.threads = 1, .flop = 2.0 * 1024 * 512};

    ml_engine_set_threads(e, 2);
    *ml_engine_machine(e) = made_up();
    ml_engine_machine(e)->probes = 3; /* nothing is measured anew */
    ml_engine_machine(e)->probed = ml_clock();
    t.t.median = times * (t.flop / (200 * GIGA) + 1e-6);
    assert_true(
        ml_timing_roof(start.cx, e, start.p.mod->funcs[0], own.p.mod->funcs[0], &o, &t));
    ml_engine_free(e);
    prog_free(&start);
    prog_free(&own);
    return t;
}

static void a_version_is_bounded_by_what_it_computes(void **state)
{
    ml_Timing t = timed(START, 2);

    (void)state;
    assert_true(near(t.of_bound, 0.5) && !t.bounded.less);
    t = timed(WITHOUT, 1);
    assert_true(t.bounded.less);
    assert_true(near(t.bound, 1024 * 512 / (200 * GIGA) + 1e-6));
    assert_true(near(t.of_bound, t.bound / t.t.median) && t.of_bound < 0.7);
    assert_true(near(t.share, t.flop / t.t.median / (100 * GIGA))); /* of the start's */
    t = timed(WITHOUT, 0.65); /* the start's operations would take longer */
    assert_true(t.of_bound > 0.85 && t.of_bound <= 1);
}

static void what_takes_less_than_its_bound_has_no_share(void **state)
{
    ml_Timing t = timed(START, 0.5);

    (void)state;
    assert_true(t.bound > t.t.median && isnan(t.of_bound));
    t = timed(START, 0.99); /* within the error of the figures */
    assert_true(t.of_bound >= 1 && t.of_bound <= 1);
    t = timed(HIDDEN, 2); /* what cannot be counted is taken for the start's */
    assert_true(near(t.of_bound, 0.5) && !t.bounded.less);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_read_and_written_once),
        cmocka_unit_test(functions_are_counted_where_they_must_be_computed),
        cmocka_unit_test(one_thread_may_be_the_quicker),
        cmocka_unit_test(a_version_is_bounded_by_what_it_computes),
        cmocka_unit_test(what_takes_less_than_its_bound_has_no_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
