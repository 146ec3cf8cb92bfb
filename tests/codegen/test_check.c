/*
 * test_check - comparing programs on random inputs: roles of parameters, tolerances, what
 * is reported; counting iterations.
 */
#include "moonloop/codegen/measure/check.h"

#include "build.h"

#include <math.h>

/* C[i, j] = sum over k of A[i, k] * B[k, j]; `flip` runs k backwards over the updates,
 * `wrong` spoils the element [1, 2]. */
static const ml_Func *matmul(Fix *x, const ml_Expr *n, ml_Dtype t, bool wrong, bool extra)
{
    const ml_Buffer *a = BUF("A", t, n, n), *b = BUF("B", t, n, n), *c = BUF("C", t, n, n);
    const ml_Var *i = IVAR("i"), *j = IVAR("j"), *k = IVAR("k");
    Blk blk = {.b.n_iters = 0};
    const ml_Var *vi = iter(x, &blk, "vi", ML_ITER_SPATIAL, 4, X(i));
    const ml_Var *vj = iter(x, &blk, "vj", ML_ITER_SPATIAL, 4, X(j));
    const ml_Var *vk = iter(x, &blk, "vk", ML_ITER_REDUCE, 4, X(k));
    const ml_Expr *product;
    const ml_Stmt *s;

    for (int d = 0; d < 3; d++)
        blk.iters[d].extent = n;
    READS(&blk, a, X(vi), I(1), X(vk), I(1));
    READS(&blk, b, X(vk), I(1), X(vj), I(1));
    WRITES(&blk, c, X(vi), I(1), X(vj), I(1));
    blk.b.init = ST(c, ml_const(x->cx, t, 0), X(vi), X(vj));
    product = extra ? MUL(LD(b, X(vk), X(vj)), LD(a, X(vi), X(vk)))
                    : MUL(LD(a, X(vi), X(vk)), LD(b, X(vk), X(vj)));
    s = block(x, &blk, "C", ST(c, ADD(LD(c, X(vi), X(vj)), product), X(vi), X(vj)));
    s = loop(x, ML_FOR_SERIAL, k, n, s);
    s = loop(x, ML_FOR_SERIAL, j, n, s);
    s = loop(x, ML_FOR_SERIAL, i, n, s);
    if (wrong) {
        Blk bad = {.b.n_iters = 0};
        WRITES(&bad, c, I(1), I(1), I(2), I(1));
        (void)iter(x, &bad, "z", ML_ITER_SPATIAL, 1, I(0));
        s = SEQ(s, block(x, &bad, "spoil", ST(c, ml_const(x->cx, t, 1000), I(1), I(2))));
    }
    return FUNC(s, a, b, c);
}

static void equal_programs_pass_and_a_wrong_one_is_located(void **state)
{
    Fix *x = *state;
    const ml_Func *f = matmul(x, I(4), ML_DT_F32, false, false);
    const ml_Func *g = matmul(x, I(4), ML_DT_F32, false, true);
    const ml_Func *h = matmul(x, I(4), ML_DT_F32, true, false);
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, f, NULL, g, NULL, &r));
    assert_true(r.ok);
    assert_int_equal(r.outside, 0);
    assert_int_equal(r.n_outputs, 1);
    assert_int_equal(r.seed, 1);
    assert_int_equal(r.iterations, 64);
    /* a few roundings of sums of four terms below 1 */
    assert_true(r.rtol == 0 && r.atol > 0 && r.atol <= 32 * ldexp(1, -24));
    assert_true(ml_check(x->cx, NULL, f, NULL, h, NULL, &r));
    assert_false(r.ok);
    assert_int_equal(r.outside, 1);
    assert_string_equal(r.first_at, "C[1, 2]");
    assert_string_equal(r.largest_at, "C[1, 2]");
    assert_true(r.first_got == 1000.0);
    assert_true(r.largest > 900.0);
}

static void every_input_mode_and_dtype_runs(void **state)
{
    static const ml_Dtype types[] = {{ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1},
                                     {ML_INT, 8, 1},    {ML_INT, 32, 1},
                                     {ML_FLOAT, 64, 1}, {ML_UINT, 8, 1}};
    static const ml_Fill fills[] = {ML_FILL_RANDOM, ML_FILL_ZEROS, ML_FILL_ONES,
                                    ML_FILL_IOTA, ML_FILL_ADVERSARIAL};
    Fix *x = *state;

    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (size_t k = 0; k < ML_COUNT(fills); k++) {
            const ml_Func *f = matmul(x, I(4), types[t], false, false);
            ml_CheckOpts o = {.inputs = fills[k], .exact = true};
            ml_CheckResult r;
            assert_true(ml_check(x->cx, NULL, f, NULL,
                                 matmul(x, I(4), types[t], false, true), &o, &r));
            assert_true(r.ok);
            assert_true(r.rtol == 0 && r.atol == 0);
            assert_true(ml_check(x->cx, NULL, f, NULL,
                                 matmul(x, I(4), types[t], true, true), &o, &r));
            assert_false(r.ok);
        }
}

static void symbolic_sizes_are_given_by_name(void **state)
{
    Fix *x = *state;
    const ml_Var *n = ml_var_new_size(x->cx, "n", ML_DT_I32);
    const ml_Func *f = matmul(x, X(n), ML_DT_F32, false, false);
    static const ml_Size sizes[] = {{"m", 3}, {"n", 7}};
    ml_CheckOpts o = {.sizes = sizes, .n_sizes = 2};
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, f, NULL, f, &o, &r));
    assert_true(r.ok);
    assert_int_equal(r.iterations, 343);
    o.n_sizes = 1;
    assert_false(ml_check(x->cx, NULL, f, NULL, f, &o, &r));
    assert_true(ml_error(x->cx)->code == ML_E_BAD_RUN_ARGUMENT ||
                ml_error(x->cx)->code == ML_E_TOO_LARGE);
    ml_error_clear(x->cx);
}

static void large_programs_are_refused_with_their_count(void **state)
{
    Fix *x = *state;
    const ml_Func *f = matmul(x, I(216), ML_DT_F32, false, false);
    ml_CheckResult r;
    ml_CheckOpts o = {.limit = 10};

    assert_false(ml_check(x->cx, NULL, f, NULL, f, NULL, &r));
    assert_int_equal(ml_error(x->cx)->code, ML_E_TOO_LARGE);
    assert_int_equal(ml_error(x->cx)->facts[1].as.i, 216 * 216 * 216);
    assert_string_equal(ml_error(x->cx)->facts[1].name, "iterations");
    ml_error_clear(x->cx);
    f = matmul(x, I(2), ML_DT_F32, false, false);
    assert_true(ml_check(x->cx, NULL, f, NULL, f, &o, &r));
    f = matmul(x, I(3), ML_DT_F32, false, false);
    assert_false(ml_check(x->cx, NULL, f, NULL, f, &o, &r));
    ml_error_clear(x->cx);
}

static void roles_of_parameters_follow_reads_and_writes(void **state)
{
    Fix *x = *state;
    const ml_Func *f = matmul(x, I(4), ML_DT_F32, false, false);
    ml_ParamRole roles[3];
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(8)),
                    *b = BUF("B", ML_DT(ML_FLOAT, 16), I(8));
    const ml_Buffer *p = BUF("P", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");

    ml_param_roles(x->cx, f, NULL, 0, roles);
    assert_false(roles[0].written || roles[1].written);
    assert_true(roles[2].output);
    assert_true(roles[2].reduction == 4.0);
    /* a loop inside the block that the place does not name counts too */
    {
        Blk blk = {.b.n_iters = 0};
        const ml_Buffer *c = BUF("C", ML_DT_F32, I(4)),
                        *d = BUF("D", ML_DT_F32, I(8), I(9));
        const ml_Var *v = iter(x, &blk, "v", ML_ITER_SPATIAL, 4, X(i)), *k = IVAR("k");
        const ml_Var *r = iter(x, &blk, "r", ML_ITER_REDUCE, 8, I(0));
        WRITES(&blk, c, X(v), I(1));
        blk.b.init = ST(c, FL(0), X(v));
        f = FUNC(loop(x, ML_FOR_SERIAL, i, I(4),
                      block(x, &blk, "C",
                            loop(x, ML_FOR_SERIAL, k, I(9),
                                 ST(c, ADD(LD(c, X(v)), LD(d, X(r), X(k))), X(v))))),
                 d, c);
        ml_param_roles(x->cx, f, NULL, 0, roles);
        assert_true(roles[1].output && roles[1].reduction == 72.0);
    }
    /* in place: read outside any init */
    f = FUNC(loop(x, ML_FOR_SERIAL, i, I(8), ST(a, ADD(LD(a, X(i)), FL(1)), X(i))), a);
    ml_param_roles(x->cx, f, NULL, 0, roles);
    assert_true(roles[0].written && !roles[0].output);
    /* a float16 on the way, an index */
    f = FUNC(loop(x, ML_FOR_SERIAL, i, I(8),
                  ST(a, ml_cast(x->cx, ML_DT_F32, LD(b, LD(p, X(i)))), X(i))),
             a, b, p);
    ml_param_roles(x->cx, f, NULL, 0, roles);
    assert_true(roles[0].output && roles[0].unit == ldexp(1, -11));
}

static void indices_from_memory_stay_inside(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(50)), *b = BUF("B", ML_DT_F32, I(50));
    const ml_Buffer *p = BUF("P", ML_DT_I32, I(50));
    const ml_Var *i = IVAR("i");
    const ml_Func *f =
        FUNC(loop(x, ML_FOR_SERIAL, i, I(50), ST(b, LD(a, LD(p, X(i))), X(i))), a, p, b);
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, f, NULL, f, NULL, &r));
    assert_true(r.ok);
}

static const ml_Func *partial(Fix *x, int64_t first, int64_t n, bool spoil_input)
{
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8)), *b = BUF("B", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");
    const ml_Stmt *s = loop(x, ML_FOR_SERIAL, i, I(n),
                            ST(b, LD(a, ADD(X(i), I(first))), ADD(X(i), I(first))));

    if (spoil_input)
        s = SEQ(s, ST(a, I(1), I(0)));
    return FUNC(s, a, b);
}

static void what_the_start_leaves_unwritten_must_stay_so(void **state)
{
    Fix *x = *state;
    const ml_Func *f = partial(x, 2, 4, false);
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, f, NULL, partial(x, 2, 4, false), NULL, &r));
    assert_true(r.ok);
    assert_true(ml_check(x->cx, NULL, f, NULL, partial(x, 2, 6, false), NULL, &r));
    assert_false(r.ok);
    assert_int_equal(r.outside, 2);
    assert_string_equal(r.first_at, "B[6]");
    assert_true(r.first_unwritten && r.unwritten == 4);
    assert_true(r.first_got != 0x5a5a5a5a);
    assert_true(ml_check(x->cx, NULL, f, NULL, partial(x, 3, 3, false), NULL, &r));
    assert_false(r.ok);
    assert_string_equal(r.first_at, "B[2]");
}

/* C[i] = the sum of A[i, k] over 4 x n. zeros: they are written first, by a block. */
static const ml_Func *sum(Fix *x, bool zeros)
{
    const ml_Var *n = IVAR("n"), *i = IVAR("i"), *k = IVAR("k"), *z = IVAR("z");
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(4), X(n)), *c = BUF("C", ML_DT_F32, I(4));
    Blk blk = {.b.n_iters = 0}, zero = {.b.n_iters = 0};
    const ml_Var *vi = iter(x, &blk, "vi", ML_ITER_SPATIAL, 4, X(i));
    const ml_Var *vk = iter(x, &blk, "vk", ML_ITER_REDUCE, 4, X(k));
    const ml_Var *vz = iter(x, &zero, "vz", ML_ITER_SPATIAL, 4, X(z));
    const ml_Stmt *s;

    blk.iters[1].extent = X(n);
    READS(&blk, a, X(vi), I(1), X(vk), I(1));
    WRITES(&blk, c, X(vi), I(1));
    WRITES(&zero, c, X(vz), I(1));
    if (zeros)
        READS(&blk, c, X(vi), I(1));
    else
        blk.b.init = ST(c, FL(0), X(vi));
    s = block(x, &blk, "C", ST(c, ADD(LD(c, X(vi)), LD(a, X(vi), X(vk))), X(vi)));
    s = loop(x, ML_FOR_SERIAL, i, I(4), loop(x, ML_FOR_SERIAL, k, X(n), s));
    if (zeros)
        s = SEQ(loop(x, ML_FOR_SERIAL, z, I(4), block(x, &zero, "Z", ST(c, FL(0), X(vz)))),
                s);
    return FUNC(s, a, c);
}

static void a_sum_of_no_terms_may_be_written_or_left(void **state)
{
    Fix *x = *state;
    const ml_Size none = {"n", 0}, two = {"n", 2};
    ml_CheckOpts o = {.seed = 1, .sizes = &none, .n_sizes = 1};
    const ml_Func *start = sum(x, false), *early = sum(x, true);
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, start, NULL, early, &o, &r));
    assert_true(r.ok && r.unwritten == 4 && r.outside == 0);
    assert_true(ml_check(x->cx, NULL, early, NULL, start, &o, &r));
    assert_false(r.ok);
    assert_int_equal(r.outside, 4);
    o.sizes = &two;
    assert_true(ml_check(x->cx, NULL, start, NULL, early, &o, &r));
    assert_true(r.ok && r.unwritten == 0);
}

static void a_changed_input_is_reported(void **state)
{
    Fix *x = *state;
    ml_CheckResult r;

    assert_true(ml_check(x->cx, NULL, partial(x, 0, 8, false), NULL, partial(x, 0, 8, true),
                         NULL, &r));
    assert_false(r.ok);
    assert_string_equal(r.problem, "input A was changed");
}

static void a_refused_run_says_which_version(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8)), *b = BUF("B", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");
    const ml_Func *race =
        FUNC(loop(x, ML_FOR_PARALLEL, i, I(8), ST(b, LD(a, X(i)), I(0))), a, b);
    const ml_Error *e;
    ml_CheckResult r;

    assert_false(ml_check(x->cx, NULL, partial(x, 0, 8, false), NULL, race, NULL, &r));
    e = ml_error(x->cx);
    assert_int_equal(e->code, ML_E_RACE);
    assert_string_equal(e->notes[e->n_notes - 1], "in the current version");
    ml_error_clear(x->cx);
    assert_false(ml_check(x->cx, NULL, matmul(x, I(4), ML_DT_I32, false, false), NULL, race,
                          NULL, &r));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_RUN_ARGUMENT);
    ml_error_clear(x->cx);
}

static void own_tolerances_override(void **state)
{
    Fix *x = *state;
    const ml_Func *f = matmul(x, I(4), ML_DT_F32, false, false);
    ml_CheckOpts o = {.own_tolerance = true, .atol = 1e6};
    ml_CheckResult r;

    assert_true(
        ml_check(x->cx, NULL, f, NULL, matmul(x, I(4), ML_DT_F32, true, false), &o, &r));
    assert_true(r.ok);
    assert_true(r.largest > 900.0);
}

/* ---------------------------------------------------------------- counting */

static void iterations_are_counted_in_closed_form(void **state)
{
    Fix *x = *state;
    const ml_Buffer *b = BUF("B", ML_DT_F32, I(1000));
    const ml_Var *i = IVAR("i"), *j = IVAR("j"), *k = IVAR("k");
    const ml_Stmt *s = ST(b, FL(1), I(0));
    const ml_Stmt *jl = loop(x, ML_FOR_SERIAL, j, I(5), s);
    const ml_Stmt *kl = loop(x, ML_FOR_PARALLEL, k, I(7), s);
    ml_For huge = {
        .kind = ML_FOR_SERIAL, .var = ml_var_new(x->cx, "h", ML_DT_I64), .body = s};

#define COUNT(body) ml_count_iterations(x->cx, FUNC(body, b), NULL, 0)
    assert_int_equal(COUNT(s), 1);
    assert_int_equal(COUNT(loop(x, ML_FOR_SERIAL, i, I(3), s)), 3);
    assert_int_equal(COUNT(loop(x, ML_FOR_SERIAL, i, I(3), SEQ(s, jl, kl))), 36);
    assert_int_equal(COUNT(ml_if(x->cx, ml_bool(x->cx, true), jl, kl)), 7);
    assert_int_equal(
        COUNT(loop(x, ML_FOR_SERIAL, i, I(3), loop(x, ML_FOR_SERIAL, j, I(0), s))), 3);
    /* a triangle by its upper bound */
    assert_int_equal(COUNT(loop(x, ML_FOR_SERIAL, i, I(10),
                                loop(x, ML_FOR_SERIAL, j, ADD(X(i), I(1)), s))),
                     100);
    huge.min = ml_int(x->cx, ML_DT_I64, 0);
    huge.extent = ml_int(x->cx, ML_DT_I64, INT64_C(1) << 62);
    assert_true(COUNT(loop(x, ML_FOR_SERIAL, i, I(10), ml_for_from(x->cx, &huge))) ==
                ML_INF);
    assert_true(COUNT(loop(x, ML_FOR_SERIAL, i, ml_cast(x->cx, ML_DT_I32, LD(b, I(0))),
                           s)) >= INT32_MAX);
#undef COUNT
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_programs_pass_and_a_wrong_one_is_located),
        TEST(every_input_mode_and_dtype_runs),
        TEST(symbolic_sizes_are_given_by_name),
        TEST(large_programs_are_refused_with_their_count),
        TEST(roles_of_parameters_follow_reads_and_writes),
        TEST(indices_from_memory_stay_inside),
        TEST(what_the_start_leaves_unwritten_must_stay_so),
        TEST(a_sum_of_no_terms_may_be_written_or_left),
        TEST(a_changed_input_is_reported),
        TEST(a_refused_run_says_which_version),
        TEST(own_tolerances_override),
        TEST(iterations_are_counted_in_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
