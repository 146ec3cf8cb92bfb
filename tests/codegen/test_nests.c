/* test_nests - a function taken apart into its nests computes, nest after nest, what it
 * computes whole. */
#include "build.h"

#include "moonloop/codegen/measure/nests.h"

static const ml_Func *staged(Fix *x, const char *scope)
{
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(16)), *c = BUF("C", ML_DT_F32, I(16));
    const ml_Buffer *t = scoped(x, "T", ML_DT_F32, 16, scope),
                    *u = scoped(x, "U", ML_DT_F32, 16, "global");
    const ml_Var *i = IVAR("i"), *j = IVAR("j"), *k = IVAR("k");
    Blk b[3] = {{.b.n_iters = 0}, {.b.n_iters = 0}, {.b.n_iters = 0}};
    Blk root = {.b.n_iters = 0};
    const ml_Var *v[3] = {iter(x, &b[0], "vi", ML_ITER_SPATIAL, 16, X(i)),
                          iter(x, &b[1], "vj", ML_ITER_SPATIAL, 16, X(j)),
                          iter(x, &b[2], "vk", ML_ITER_SPATIAL, 16, X(k))};

    root.allocs[root.b.n_allocs++] = t;
    root.allocs[root.b.n_allocs++] = u;
    return FUNC(
        block(x, &root, "root",
              SEQ(loop(x, ML_FOR_SERIAL, i, I(16),
                       block(x, &b[0], "T", ST(t, ADD(LD(a, X(v[0])), FL(1)), X(v[0])))),
                  loop(x, ML_FOR_SERIAL, j, I(16),
                       block(x, &b[1], "C",
                             SEQ(ST(u, LD(t, X(v[1])), X(v[1])),
                                 ST(c, MUL(LD(u, X(v[1])), FL(2)), X(v[1]))))),
                  loop(x, ML_FOR_SERIAL, k, I(16),
                       block(x, &b[2], "C2",
                             ST(c, ADD(LD(c, X(v[2])), LD(a, X(v[2]))), X(v[2])))))),
        a, c);
}

static void nests_in_turn_compute_what_the_function_computes(void **state)
{
    Fix *x = *state;
    const ml_Func *f = staged(x, "global");
    ml_NestVec n = {0};
    const char *why;
    double want[16];
    ml_Tensor *t;
    int64_t shape[] = {16};

    x->opts.skip = ML_SKIP_REGIONS; /* none are declared */
    expect_code(x, f, ML_E_OK);
    for (int k = 0; k < 16; k++)
        want[k] = at(x, 1, k);
    ml_nests_split(x->cx, f, &n, &why);
    assert_null(why);
    assert_int_equal(n.n, 3);
    assert_int_equal(n.v[0].func->n_params, 3);
    assert_int_equal(n.v[1].func->n_params, 3);
    assert_int_equal(n.v[2].func->n_params, 2);
    assert_string_equal(n.v[0].func->params[2].buffer->name, "T");
    assert_int_equal(ml_func_root(n.v[0].func)->n_allocs, 0);
    assert_int_equal(ml_func_root(n.v[1].func)->n_allocs, 1); /* U is its own */
    make_args(x, f);
    t = ml_tensor_new(x->cx, ML_DT_F32, shape, 1);
    x->args[2] = (ml_RunArg){.tensor = t};
    for (int k = 0; k < 3; k++) {
        x->n_args = n.v[k].func->n_params;
        assert_int_equal(rerun(x, n.v[k].func), ML_E_OK);
    }
    for (int k = 0; k < 16; k++)
        assert_true(at(x, 1, k) == want[k]);
    x->n_args = 3;
}

static void nests_that_share_a_local_buffer_stay_together(void **state)
{
    Fix *x = *state;
    ml_NestVec n = {0};
    const char *why;

    ml_nests_split(x->cx, staged(x, "local"), &n, &why);
    assert_null(why);
    assert_int_equal(n.n, 2);
    assert_int_equal(n.v[0].stmt->kind, ML_STMT_SEQ);
    assert_int_equal(n.v[0].func->n_params, 2);
    assert_int_equal(ml_func_root(n.v[0].func)->n_allocs, 2);
    assert_int_equal(ml_func_root(n.v[1].func)->n_allocs, 0);
}

static void what_cannot_be_taken_apart_is_one_nest_and_says_why(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(4));
    const ml_Var *v = IVAR("v"), *i = IVAR("i");
    const ml_Func *f = FUNC(
        SEQ(ml_bind(x->cx, v, I(1)), loop(x, ML_FOR_SERIAL, i, I(4), ST(a, FL(1), X(i)))),
        a);
    ml_NestVec n = {0};
    const char *why;

    ml_nests_split(x->cx, f, &n, &why);
    assert_int_equal(n.n, 1);
    assert_ptr_equal(n.v[0].func, f);
    assert_non_null(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nests_in_turn_compute_what_the_function_computes),
        TEST(nests_that_share_a_local_buffer_stay_together),
        TEST(what_cannot_be_taken_apart_is_one_nest_and_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
