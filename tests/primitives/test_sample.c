/*
 * test_sample - sampling: the draws bit by bit, distributions, decisions repaired and
 * stored.
 */
#include "fixture.h"

#include "moonloop/primitives/rewrite/sample.h"

/* ---- draws */

static void the_generator_steps_as_specified(void **state)
{
    uint32_t s = 1;

    assert_int_equal(48271, ml_random_step(&s));
    assert_int_equal((int)(INT64_C(48271) * 48271 % 2147483647), (int)ml_random_step(&s));
    s = 1; /* the 10,000th value of this generator is well known */
    for (int k = 0; k < 10000; k++)
        ml_random_step(&s);
    assert_int_equal(399268537, (int)s);
}

static void an_integer_draw_maps_as_specified(void **state)
{
    uint32_t s = 1;

    assert_int_equal(5, ml_random_int(&s, 5, 6)); /* no draw */
    assert_int_equal(1, (int)s);
    for (int k = 0; k < 1000; k++) {
        uint32_t t = s;
        int64_t q = 2147483646 / 7, x;

        do
            x = ml_random_step(&t);
        while (x >= q * 7);
        assert_int_equal(3 + x / q, ml_random_int(&s, 3, 10));
        assert_int_equal(t, s);
    }
}

static void a_categorical_draw_takes_two_steps_and_follows_its_weights(void **state)
{
    static const double w[] = {1, 2, 1};
    uint32_t s = 42;
    int count[3] = {0};

    assert_int_equal(0, ml_random_categorical(&s, w, 1));
    assert_int_equal(42, (int)s);
    for (int k = 0; k < 8000; k++) {
        uint32_t t = s;

        ml_random_step(&t);
        ml_random_step(&t);
        count[ml_random_categorical(&s, w, 3)]++;
        assert_int_equal(t, s);
    }
    assert_true(count[0] > 1800 && count[0] < 2200);
    assert_true(count[1] > 3800 && count[1] < 4200);
    assert_true(count[2] > 1800 && count[2] < 2200);
}

static void numbers_are_factorised(void **state)
{
    ml_Primes p;

    assert_true(ml_factorise(NULL, 1, &p));
    assert_int_equal(0, p.n);
    assert_true(ml_factorise(NULL, 360, &p));
    assert_int_equal(3, p.n);
    assert_int_equal(2, p.p[0]);
    assert_int_equal(3, p.e[0]);
    assert_int_equal(5, p.p[2]);
    assert_true(ml_factorise(NULL, INT64_C(46349) * 46349, &p)); /* above 46341 squared */
    assert_int_equal(1, p.n);
    assert_int_equal(46349, p.p[0]);
    assert_int_equal(2, p.e[0]);
    assert_true(ml_factorise(NULL, INT64_C(1) << 62, &p));
    assert_int_equal(62, p.e[0]);
}

/* Every ordered triple with product 24 (there are 30) comes equally often. */
static void tiles_are_uniform_over_all_ordered_tuples(void **state)
{
    int count[25][25] = {{0}}, seen = 0, total = 60000;
    int64_t scratch[2 * 3 + 64], t[3];
    ml_Primes p;
    uint32_t s = 7;

    assert_true(ml_factorise(NULL, 24, &p));
    for (int k = 0; k < total; k++) {
        ml_random_tile(&s, 24, &p, 3, scratch, t);
        assert_int_equal(24, t[0] * t[1] * t[2]);
        count[t[0]][t[1]]++;
    }
    for (int a = 1; a <= 24; a++)
        for (int b = 1; b <= 24; b++)
            if (24 % a == 0 && 24 / a % b == 0) {
                assert_true(count[a][b] > total / 30 * 8 / 10);
                assert_true(count[a][b] < total / 30 * 12 / 10);
                seen++;
            } else
                assert_int_equal(0, count[a][b]);
    assert_int_equal(30, seen);
}

static void a_large_lone_prime_goes_second_when_the_draw_is_one(void **state)
{
    ml_Primes p;

    assert_true(ml_factorise(NULL, 65537, &p));
    for (uint32_t seed = 1; seed < 50; seed++) {
        int64_t scratch[2 * 2 + 64], t[2];
        uint32_t a = seed, b = seed;

        ml_random_tile(&a, 65537, &p, 2, scratch, t);
        assert_int_equal(ml_random_int(&b, 0, 2) ? 65537 : 1, t[1]);
        assert_int_equal(b, a);
    }
}

/* ---- the primitives */

static const ml_Inst *last_inst(Fixture *fx, ml_Ctx *cx)
{
    ml_Trace t = ml_schedule_trace(fx->s, cx);

    return t.insts[t.n - 1];
}

static void equal_seeds_give_equal_decisions(void **state)
{
    Fixture a, b;
    ml_Ctx *cx = ml_ctx_new(0);

    fx_matmul(&a, 512, 512, 512);
    fx_matmul(&b, 512, 512, 512);
    assert_true(ml_schedule_seed(a.s, 99) && ml_schedule_seed(b.s, 99));
    for (int k = 0; k < 20; k++) {
        fx_apply(&a, "sample_perfect_tile(\"i\", 4, 64)");
        fx_apply(&b, "sample_perfect_tile(\"i\", 4, 64)");
        assert_true(ml_value_eq(last_inst(&a, cx)->decision, last_inst(&b, cx)->decision));
    }
    ml_ctx_unref(cx);
    fx_close(&a);
    fx_close(&b);
}

static void the_last_factor_respects_its_limit(void **state)
{
    Fixture fx;
    int64_t v;

    fx_matmul(&fx, 512, 512, 512);
    for (int k = 0; k < 50; k++) {
        int64_t product = 1;

        fx_apply(&fx, "sample_perfect_tile(\"i\", 3, 8)");
        for (size_t m = 0; m < 3; m++) {
            assert_true(ml_handle_value(fx.s, fx.r.v[m], &v));
            product *= v;
        }
        assert_true(v <= 8);
        assert_int_equal(512, product);
    }
    fx_close(&fx);
}

static void decisions_are_repaired_and_stored(void **state)
{
    static const struct {
        const char *call;
        int64_t stored[3];
    } rows[] = {
        {"sample_perfect_tile{loop = \"i\", n = 3, decision = {2, 4, 8}}", {2, 4, 8}},
        {"sample_perfect_tile{loop = \"i\", n = 3, decision = {9, 4, 8}}", {2, 4, 8}},
        {"sample_perfect_tile{loop = \"i\", n = 3, decision = {2, 3, 8}}", {1, 8, 8}},
        {"sample_perfect_tile{loop = \"i\", n = 3, decision = {2, 4, 5}}", {1, 1, 64}},
        {"sample_perfect_tile{loop = \"i\", n = 3, decision = {2, 0, 2}}", {1, 32, 2}},
    };
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);

    fx_matmul(&fx, 64, 64, 64);
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        uint32_t random = ml_schedule_state(fx.s).random;

        fx_apply(&fx, rows[k].call);
        assert_int_equal(random, ml_schedule_state(fx.s).random); /* nothing was drawn */
        for (size_t m = 0; m < 3; m++)
            assert_int_equal(rows[k].stored[m],
                             last_inst(&fx, cx)->decision->as.list[m]->as.i);
    }
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static void a_loop_of_unknown_extent_gives_auto_and_ones(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);

    fx_text(&fx, "@T.prim_func\n"
                 "def main(x: T.handle, n: T.int32):\n"
                 "    X = T.match_buffer(x, (n,))\n"
                 "    for i in range(n):\n"
                 "        with T.block(\"S\"):\n"
                 "            v = T.axis.spatial(n, i)\n"
                 "            X[v] = T.float32(1)\n");
    fx_apply(&fx, "sample_perfect_tile(\"i\", 3)");
    assert_int_equal(ML_H_NONE, fx.r.v[0].kind);
    ml_Arg list[] = {ML_ARG_HANDLE(fx.r.v[0]), ML_ARG_HANDLE(fx.r.v[1]),
                     ML_ARG_HANDLE(fx.r.v[2])};
    ml_Arg args[] = {ML_ARG_STR("i"), ML_ARG_LIST(list, 3)};

    assert_int_equal(-1, last_inst(&fx, cx)->decision->as.list[0]->as.i);
    assert_true(ml_apply(fx.s, "split", args, 2, NULL));

    ml_Text out = {0};
    ml_Trace t = ml_schedule_trace(fx.s, cx);

    ml_trace_python(cx, &out, &t, false);
    assert_non_null(strstr(out.p, "  _, v2, v3 = sch.sample_perfect_tile(loop=l1, n=3, "
                                  "max_innermost_factor=16, decision=[-1, 1, 1])\n"));
    assert_non_null(strstr(out.p, "factors=[None, v2, v3]"));
    ml_text_free(&out);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static void wrong_arguments_of_samples_are_refused(void **state)
{
    static const char *const calls[] = {
        "sample_categorical({}, {})",
        "sample_categorical({1, 2}, {1})",
        "sample_categorical({1, 2}, {1, -1})",
        "sample_categorical({1, 2}, {0, 0})",
        "sample_categorical({1, 2}, {1, 1}, 2)",
        "sample_categorical({1, 2}, {1, 1}, -1)",
        "sample_categorical({1, 2}, {1, 1}, {1})",
        "sample_perfect_tile(\"i\", 0)",
        "sample_perfect_tile(\"i\", 1)",
        "sample_perfect_tile(\"i\", 2, 0)",
        "sample_perfect_tile(\"i\", 2, 16, {1, 2, 3})",
        "sample_perfect_tile(\"i\", 2, 16, 3)",
    };
    Fixture fx;

    fx_matmul(&fx, 64, 64, 64);
    for (size_t k = 0; k < ML_COUNT(calls); k++)
        fx_refuses(&fx, ML_E_BAD_ARGUMENT, calls[k]);
    fx_apply(&fx, "sample_perfect_tile(\"i\", 1, -1)");
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_steps_as_specified),
        cmocka_unit_test(an_integer_draw_maps_as_specified),
        cmocka_unit_test(a_categorical_draw_takes_two_steps_and_follows_its_weights),
        cmocka_unit_test(numbers_are_factorised),
        cmocka_unit_test(tiles_are_uniform_over_all_ordered_tuples),
        cmocka_unit_test(a_large_lone_prime_goes_second_when_the_draw_is_one),
        cmocka_unit_test(equal_seeds_give_equal_decisions),
        cmocka_unit_test(the_last_factor_respects_its_limit),
        cmocka_unit_test(decisions_are_repaired_and_stored),
        cmocka_unit_test(a_loop_of_unknown_extent_gives_auto_and_ones),
        cmocka_unit_test(wrong_arguments_of_samples_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
