/*
 * test_bound - what is tolerated of an output: what rounding may do to it in its own type,
 * and no more. Source: interaction 8.
 */
#include "moonloop/codegen/measure/bound.h"
#include "moonloop/codegen/measure/reference.h"
#include "moonloop/core/script/script.h"

#include "build.h"

#include <math.h>

#define HEAD(t)                                                                            \
    "@T.prim_func\n"                                                                       \
    "def main(A: T.Buffer((64,), \"%s\"), B: T.Buffer((64,), \"%s\"), "                    \
    "C: T.Buffer((64,), \"%s\")):\n" t
#define POINTS                                                                             \
    "    for i in range(64):\n"                                                            \
    "        with T.block(\"C\"):\n"                                                       \
    "            v = T.axis.spatial(64, i)\n"                                              \
    "            C[v] = %s\n"
#define SUM                                                                                \
    "    S = T.alloc_buffer((64,), \"%s\")\n"                                              \
    "    for i, k in T.grid(64, 64):\n"                                                    \
    "        with T.block(\"S\"):\n"                                                       \
    "            v, r = T.axis.remap(\"SR\", [i, k])\n"                                    \
    "            with T.init():\n"                                                         \
    "                S[v] = T.%s(0)\n"                                                     \
    "            S[v] = S[v] + %s\n"

static const ml_Func *parsed(Fix *x, const char *text)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(text), NULL);

    if (p.mod == NULL)
        fail_msg("%s in\n%s", p.diags[0].message, text);
    return p.mod->funcs[0];
}

/* C[v] = value, of A, B and v. */
static const ml_Func *pointwise(Fix *x, const char *type, const char *value)
{
    return parsed(x, ml_format(x->cx, HEAD(POINTS), type, type, type, value));
}

/* S[v] is a sum of 64 terms, C[v] is made of it. */
static const ml_Func *reduced(Fix *x, const char *type, const char *term, const char *value)
{
    return parsed(
        x, ml_format(x->cx, HEAD(SUM POINTS), type, type, type, type, type, term, value));
}

typedef struct Seen {
    ml_Allowed c; /* of C */
    bool widened;
} Seen;

static Seen look(Fix *x, const ml_Func *f)
{
    const ml_CheckOpts o = {.inputs = ML_FILL_RANDOM};
    ml_ParamRole roles[3];
    ml_RunArg initial[3] = {0};
    ml_Reference *e;
    Seen s;

    ml_param_roles(x->cx, f, NULL, 0, roles);
    assert_true(ml_inputs_make(x->cx, f, &o, roles, initial));
    e = ml_reference_make(x->cx, &(ml_Work){.func = f}, &o, roles, initial, NULL);
    assert_non_null(e);
    s.c = e->bounds[2];
    s.widened = ml_widen(x->cx, f, &(ml_Rounding){ml_map_new(x->cx), ml_map_new(x->cx)},
                         NULL, 0, NULL) != NULL;
    ml_reference_free(e);
    ml_inputs_free(initial, 3);
    return s;
}

static void copies_and_choices_are_exact(void **state)
{
    static const char *const exact[] = {"A[v]",
                                        "T.max(A[v], T.float32(0))",
                                        "T.Select(v < 9, A[v], B[v])",
                                        "T.Select(A[v] < B[v], A[v], B[v])",
                                        "T.if_then_else(v < 9, A[63 - v], T.float32(0.1))",
                                        "T.fabs(A[v])"};
    static const char *const rounded[] = {"A[v] + B[v]", "A[v] * T.float32(3)",
                                          "T.exp(A[v])", "A[v] / B[v]"};

    for (size_t k = 0; k < ML_COUNT(exact); k++)
        if (!look(*state, pointwise(*state, "float32", exact[k])).c.exact)
            fail_msg("%s is not exact", exact[k]);
    for (size_t k = 0; k < ML_COUNT(rounded); k++)
        if (look(*state, pointwise(*state, "float32", rounded[k])).c.exact)
            fail_msg("%s is exact", rounded[k]);
}

static void where_a_rounding_decides_the_start_is_the_reference(void **state)
{
    static const char *const decided[] = {
        "T.floor(A[v] * T.float32(7))",
        "T.Select(A[v] * B[v] > T.float32(0.25), A[v] * B[v], B[v])",
        "T.Cast(\"float32\", T.Cast(\"int32\", A[v] * B[v] * T.float32(9))) * A[v]",
        "A[T.Cast(\"int32\", T.fabs(A[v] * B[v]) * T.float32(60))] * B[v]",
        "T.fmod(A[v] * B[v], T.float32(0.25))"};
    static const char *const free[] = {
        "T.Select(A[v] > T.float32(0.25), A[v] * B[v], B[v])", "T.floor(A[v]) * B[v]",
        "T.max(A[v] * B[v], T.float32(0))"};

    for (size_t k = 0; k < ML_COUNT(decided); k++)
        if (!look(*state, pointwise(*state, "float32", decided[k])).c.by_start)
            fail_msg("%s is not decided", decided[k]);
    for (size_t k = 0; k < ML_COUNT(free); k++)
        if (look(*state, pointwise(*state, "float32", free[k])).c.by_start)
            fail_msg("%s is decided", free[k]);
}

/* By type: sqrt(K) u sum|terms| of 64 terms is within these multiples of u. */
static void a_sum_is_bounded_by_its_terms_in_each_type(void **state)
{
    static const struct {
        const char *name;
        double u, share; /* of K = 64 */
    } types[] = {
        {"float64", 0x1p-53, 2 * 64}, /* any order of the start's, and the other's */
        {"float32", 0x1p-24, 8},
        {"float16", 0x1p-11, 8},
        {"bfloat16", 0x1p-8, 8}};

    for (size_t k = 0; k < ML_COUNT(types); k++) {
        Seen s = look(*state, reduced(*state, types[k].name, "A[r]", "S[v]"));

        double share = types[k].share * types[k].u;

        if (!(s.c.bound > 16 * share && s.c.bound < 64 * share * 1.1))
            fail_msg("%s: %g", types[k].name, s.c.bound);
        assert_true(s.c.magnitude > 0 && s.c.magnitude < 64);
    }
}

static void what_is_computed_from_a_sum_carries_its_bound(void **state)
{
    Fix *x = *state;
    double sum = look(x, reduced(x, "float64", "A[r]", "S[v]")).c.bound;
    static const struct {
        const char *value;
        double low, high; /* of sum */
    } row[] = {{"S[v] * T.float64(1000)", 999, 1050},
               {"S[v] / T.float64(64)", 1 / 64.1, 1 / 60.0},
               {"T.max(S[v], A[v])", 0.999, 1.001},
               {"T.exp(S[v] * T.float64(0.5))", 0.5, 200},
               {"T.tanh(S[v] * T.float64(1000))", 0, 0.05},
               {"T.Select(v < 9, S[v], A[v])", 0.999, 1.001},
               {"S[v] - S[v] * T.float64(0.5)", 1.49, 1.56}};

    for (size_t k = 0; k < ML_COUNT(row); k++) {
        double b = look(x, reduced(x, "float64", "A[r]", row[k].value)).c.bound;

        if (!(b >= row[k].low * sum && b <= row[k].high * sum))
            fail_msg("%s: %g of %g", row[k].value, b / sum, sum);
    }
}

/* C, of integers, is made of S[v], a sum of 64 halves. */
static const ml_Func *counted(Fix *x, const char *term, const char *value)
{
    return parsed(x, ml_format(x->cx, HEAD(SUM POINTS), "float16", "float16", "int32",
                               "float16", "float16", term, value));
}

/* An integer is as far off as the float that it is made of. */
static void an_integer_made_of_a_rounded_float_moves_with_it(void **state)
{
    static const struct {
        const char *value;
        double low, high;
    } row[] = {{"T.Cast(\"int32\", S[v])", 0, 1},
               {"T.Cast(\"int32\", S[v] * T.float16(128))", 16, 400},
               {"T.Cast(\"int32\", S[v] * T.float16(128)) // 4", 4, 100},
               {"T.Cast(\"int32\", S[v] * T.float16(128)) * 3 - v", 48, 1200},
               {"T.Cast(\"int32\", S[v] * T.float16(128)) % 5", 5, 5},
               {"T.max(T.Cast(\"int32\", S[v] * T.float16(128)), 1 << 20)", 16, 400},
               {"T.Cast(\"int32\", T.floor(S[v] * T.float16(128)))", 16, 400}};
    static const char *const exact[] = {"T.Cast(\"int32\", A[v])", "v * 3",
                                        "T.Select(S[v] > T.float16(9), 1, 0)",
                                        "T.Cast(\"int32\", S[v] > T.float16(9))"};

    for (size_t k = 0; k < ML_COUNT(row); k++) {
        Seen s = look(*state, counted(*state, "A[r]", row[k].value));

        if (!(s.c.steps >= row[k].low && s.c.steps <= row[k].high))
            fail_msg("%s: %g", row[k].value, s.c.steps);
        assert_true(s.c.by_start && !s.c.exact && s.c.bound == 0);
        assert_true(s.c.steps == floor(s.c.steps));
    }
    for (size_t k = 0; k < ML_COUNT(exact); k++)
        if (look(*state, counted(*state, "A[r]", exact[k])).c.steps > 0)
            fail_msg("%s is not exact", exact[k]);
}

/* Sums of the same halves from the other end are right, what is clearly off is not. */
static void another_order_of_halves_gives_other_integers(void **state)
{
    Fix *x = *state;
    const char *cast = "T.Cast(\"int32\", S[v] * T.float16(128)) // 4";
    const ml_Func *f = counted(x, "A[r] * A[r]", cast);
    const ml_Func *g = counted(x, "A[63 - r] * A[63 - r]", cast);
    const ml_Func *h = counted(x, "A[r] * A[63 - r]", cast);
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, f, NULL, g, NULL, &r));
    assert_true(r.ok && r.largest > 0 && r.rtol == 0 && r.atol >= r.largest);
    assert_true(
        ml_check(x->cx, NULL, f, NULL, g, NULL, &r) && r.ok &&
        ml_check(x->cx, NULL, f, NULL, g, &(ml_CheckOpts){.own_tolerance = true}, &r));
    assert_false(r.ok); /* equal ones were asked for */
    assert_true(ml_check(x->cx, NULL, f, NULL, h, NULL, &r));
    assert_false(r.ok);
}

static void
programs_that_mean_nothing_in_another_type_are_bounded_by_their_size(void **state)
{
    Fix *x = *state;
    Seen s = look(
        x, pointwise(x, "float32",
                     "T.reinterpret(\"float32\", T.reinterpret(\"int32\", A[v])) + B[v]"));

    assert_false(s.widened);
    assert_true(s.c.by_start && !s.c.exact);
    assert_true(s.c.bound > 0 && s.c.bound < 1e-6);
}

/* 64 terms of 30000 and -30000 by turns: their sum is small, but not in any order. */
static void a_sum_that_another_order_overflows_is_not_compared(void **state)
{
    Fix *x = *state;
    const char *term = "T.Select(r % 2 == 0, T.float16(30000), T.float16(-30000))";

    /* the same where rounding decides which one it is */
    const char *decided =
        "T.Select(A[r] * A[r] < A[r] + T.float16(1), T.float16(30000), T.float16(-30000))";
    Seen s = look(x, reduced(x, "float16", decided, "S[v]"));

    assert_true(s.c.by_start);
    assert_int_equal(64, s.c.overflowed);
    assert_int_equal(64, look(x, reduced(x, "float16", term, "S[v]")).c.overflowed);
    assert_int_equal(
        0, look(x, reduced(x, "float32", "T.float32(30000)", "S[v]")).c.overflowed);
    assert_int_equal(0,
                     look(x, reduced(x, "float16", "T.float16(800)", "S[v]")).c.overflowed);
}

/* Loops of one iteration are gone through, and the sample is in step with no loop. */
static void a_sample_is_spread_over_the_outer_loops(void **state)
{
    static const char *const text =
        "@T.prim_func\n"
        "def main(A: T.Buffer((192,), \"float32\"), C: T.Buffer((1, 4, 6, 8), "
        "\"float32\")):\n"
        "    for n, h, w, o in T.grid(1, 4, 6, 8):\n"
        "        with T.block(\"C\"):\n"
        "            vn, vh, vw, vo = T.axis.remap(\"SSSS\", [n, h, w, o])\n"
        "            C[vn, vh, vw, vo] = A[vh * 48 + vw * 8 + vo] * T.float32(3)\n";
    Fix *x = *state;
    const ml_Func *f = parsed(x, text);
    const ml_CheckOpts o = {.inputs = ML_FILL_RANDOM, .wide_one_in = 16};
    ml_ParamRole roles[2];
    ml_RunArg initial[2] = {0};
    ml_WideRun w;
    int n = 0, columns = 0;

    ml_param_roles(x->cx, f, NULL, 0, roles);
    assert_true(ml_inputs_make(x->cx, f, &o, roles, initial));
    for (int64_t k = 0; k < 192; k++)
        ml_tensor_set(initial[1].tensor, k, (double)NAN);
    assert_true(ml_wide_run(x->cx, f, &o, roles, initial, ml_wide_interpret, NULL, &w));
    assert_non_null(w.args);
    for (int64_t k = 0; k < 192; k++)
        if (isfinite(ml_tensor_get(w.args[1].tensor, k))) {
            n++;
            columns |= 1 << (k % 8);
        }
    assert_in_range(n, 192 / 20, 192 / 10);
    assert_int_equal(columns, 255);
    assert_true(isfinite(ml_tensor_get(w.args[1].tensor, 0)) &&
                isfinite(ml_tensor_get(w.args[1].tensor, 191)));
    ml_wide_free(&w);
    ml_inputs_free(initial, 2);
}

/* The elements of C, 4 x 16 x 8, that one in 16 iterations make; each is what all of them
 * make. nests: whether there are several. old: what C is added to; from: which sum is read. */
static int sampled_right(Fix *x, const char *old, const char *from, int *nests)
{
    static const char *const text =
        "@T.prim_func\n"
        "def main(A: T.Buffer((4, 16, 8), \"float32\"), C: T.Buffer((4, 16, 8), "
        "\"float32\")):\n"
        "    E = T.alloc_buffer((4, 16, 8))\n"
        "    S = T.alloc_buffer((4, 16))\n"
        "    for h, i, j in T.grid(4, 16, 8):\n"
        "        with T.block(\"E\"):\n"
        "            vh, vi, vj = T.axis.remap(\"SSS\", [h, i, j])\n"
        "            E[vh, vi, vj] = A[vh, vi, vj] * A[vh, vi, vj] + T.float32(1)\n"
        "    for h, i, j in T.grid(4, 16, 8):\n"
        "        with T.block(\"S\"):\n"
        "            vh, vi, vj = T.axis.remap(\"SSR\", [h, i, j])\n"
        "            with T.init():\n"
        "                S[vh, vi] = T.float32(0)\n"
        "            S[vh, vi] = S[vh, vi] + E[vh, vi, vj]\n"
        "    for h, i, j in T.grid(4, 16, 8):\n"
        "        with T.block(\"C\"):\n"
        "            vh, vi, vj = T.axis.remap(\"SSS\", [h, i, j])\n"
        "            C[vh, vi, vj] = %sE[vh, vi, vj] / S[vh, %s]\n";
    const ml_Func *f = parsed(x, ml_format(x->cx, text, old, from));
    ml_ParamRole roles[2];
    ml_RunArg initial[2] = {0};
    ml_WideRun all, some;
    int n = 0;

    ml_param_roles(x->cx, f, NULL, 0, roles);
    for (uint32_t one_in = 0; one_in <= 16; one_in += 16) {
        const ml_CheckOpts o = {.inputs = ML_FILL_RANDOM, .wide_one_in = one_in};

        if (one_in == 0)
            assert_true(ml_inputs_make(x->cx, f, &o, roles, initial));
        for (int64_t k = 0; k < 512; k++)
            ml_tensor_set(initial[1].tensor, k, (double)NAN);
        assert_true(ml_wide_run(x->cx, f, &o, roles, initial, ml_wide_interpret, NULL,
                                one_in ? &some : &all));
    }
    assert_non_null(all.args);
    assert_non_null(some.args);
    for (int64_t k = 0; k < 512; k++) {
        double v = ml_tensor_get(some.args[1].tensor, k);

        n += isfinite(v);
        if (isfinite(v))
            assert_true(v == ml_tensor_get(all.args[1].tensor, k));
    }
    *nests = ml_func_root(some.wide->func)->body->kind == ML_STMT_SEQ;
    ml_wide_free(&all);
    ml_wide_free(&some);
    ml_inputs_free(initial, 2);
    return n;
}

static void nests_that_share_rows_are_sampled_together(void **state)
{
    int nests;

    assert_in_range(sampled_right(*state, "", "vi", &nests), 512 / 20, 512 / 8);
    assert_int_equal(nests, 0); /* one nest of some rows */
    assert_in_range(sampled_right(*state, "", "(vi + 1) % 16", &nests), 512 / 20, 512 / 8);
    assert_int_equal(nests, 1); /* other rows are read: all of them */
    (void)sampled_right(*state, "C[vh, vi, vj] + ", "vi", &nests);
    assert_int_equal(nests, 1); /* what C was is not what is expected */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(copies_and_choices_are_exact),
        TEST(where_a_rounding_decides_the_start_is_the_reference),
        TEST(a_sum_is_bounded_by_its_terms_in_each_type),
        TEST(what_is_computed_from_a_sum_carries_its_bound),
        TEST(an_integer_made_of_a_rounded_float_moves_with_it),
        TEST(another_order_of_halves_gives_other_integers),
        TEST(programs_that_mean_nothing_in_another_type_are_bounded_by_their_size),
        TEST(a_sum_that_another_order_overflows_is_not_compared),
        TEST(a_sample_is_spread_over_the_outer_loops),
        TEST(nests_that_share_rows_are_sampled_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
