/* Structural equality and hash: script 13, ir-and-analysis 6.7 rows Q1 to Q3. */
#include "core_test.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/index/index.h"
#include "program.h"

#include <math.h>

static int setup(void **state)
{
    *state = ml_ctx_new(0);
    return 0;
}

static int teardown(void **state)
{
    ml_ctx_unref(*state);
    return 0;
}

static void expect_equal(ml_Ctx *cx, const ml_Func *a, const ml_Func *b)
{
    ml_Difference d = {0};

    if (!ml_equal_func(cx, a, b, NULL, &d))
        fail_msg("%s: %s", d.path_a, d.reason);
    assert_true(ml_hash_func(cx, a, NULL) == ml_hash_func(cx, b, NULL));
}

static ml_Difference expect_different(ml_Ctx *cx, const ml_Func *a, const ml_Func *b)
{
    ml_Difference d = {0};

    assert_false(ml_equal_func(cx, a, b, NULL, &d));
    assert_false(ml_equal_func(cx, b, a, NULL, NULL));
    assert_non_null(d.reason);
    assert_true(ml_hash_func(cx, a, NULL) != ml_hash_func(cx, b, NULL));
    return d;
}

/* def f(x, y): evaluate(e) */
static const ml_Func *func_xy(ml_Ctx *cx, const ml_Var *x, const ml_Var *y,
                              const ml_Expr *e)
{
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, 2);

    params[0].var = x;
    params[1].var = y;
    return ml_func_from(cx, &(ml_Func){.name = "f",
                                       .n_params = 2,
                                       .params = params,
                                       .body = ml_evaluate(cx, e),
                                       .ret = ML_DT_VOID});
}

static void names_do_not_matter(void **state) /* Q1 */
{
    ml_Ctx *cx = *state, *other = ml_ctx_new(0);
    const ml_Func *a = two_stages(cx, 16);

    ml_ctx_reserve_uid(other, 1000);
    expect_equal(cx, a, two_stages(cx, 16));
    expect_equal(cx, a, two_stages(other, 16));
    ml_ctx_unref(other);
}

static void the_hash_is_the_same_on_every_machine(void **state)
{
    ml_Ctx *cx = *state;

    assert_true(ml_hash_expr(cx, ml_i32(cx, 3), NULL) == UINT64_C(0xD1BDCE98516B06E2));
}

static void an_extent_that_differs_is_reported_with_its_path(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Func *a = two_stages(cx, 64), *b;
    const ml_Stmt *root = a->body;
    const ml_Stmt *loop = ml_as_seq(ml_as_block(root)->body)->stmts[1];
    ml_For f = *ml_as_for(loop);
    ml_Difference d;

    f.extent = ml_i32(cx, 128);
    b = ml_func_with_body(cx, a, ml_stmt_replace(cx, root, loop, ml_for_from(cx, &f)));
    d = expect_different(cx, a, b);
    assert_string_equal(d.reason, "extent 64 vs 128");
    assert_string_equal(d.path_a, "main.block root.body[1].for j.extent");
    assert_string_equal(d.path_b, d.path_a);
    assert_ptr_equal(d.stmt_a, loop);
}

static void kinds_annotations_and_order_count(void **state) /* Q2 */
{
    ml_Ctx *cx = *state;
    const ml_Func *a = two_stages(cx, 8);
    const ml_Stmt *loop = ml_as_seq(ml_as_block(a->body)->body)->stmts[0];
    const ml_Var *x = new_i32(cx, "x"), *y = new_i32(cx, "y");
    ml_For f = *ml_as_for(loop);
    ml_Difference d;

    f.kind = ML_FOR_UNROLLED;
    d = expect_different(
        cx, a,
        ml_func_with_body(cx, a, ml_stmt_replace(cx, a->body, loop, ml_for_from(cx, &f))));
    assert_string_equal(d.reason, "loop kind serial vs unrolled");
    f.kind = ML_FOR_SERIAL;
    f.annotations = ml_dict_with(cx, NULL, "key", ml_val_int(cx, 1));
    expect_different(
        cx, a,
        ml_func_with_body(cx, a, ml_stmt_replace(cx, a->body, loop, ml_for_from(cx, &f))));
    expect_different(cx, func_xy(cx, x, y, ml_add(cx, ml_var(cx, x), ml_var(cx, y))),
                     func_xy(cx, x, y, ml_add(cx, ml_var(cx, y), ml_var(cx, x))));
}

static void swapped_parameters_make_an_expression_differ_from_itself(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Var *x = new_i32(cx, "x"), *y = new_i32(cx, "y");
    const ml_Expr *e = ml_sub(cx, ml_var(cx, x), ml_var(cx, y));

    expect_different(cx, func_xy(cx, x, y, e), func_xy(cx, y, x, e));
    expect_equal(cx, func_xy(cx, x, y, e),
                 func_xy(cx, y, x, ml_sub(cx, ml_var(cx, y), ml_var(cx, x))));
}

static void variables_map_one_to_one(void **state)
{
    ml_Ctx *cx = *state;
    const ml_EqualOpts free_too = {.map_free = true};
    const ml_Var *x = new_i32(cx, "x"), *y = new_i32(cx, "y"), *z = new_i32(cx, "z");
    const ml_Expr *xy = ml_add(cx, ml_var(cx, x), ml_var(cx, y));
    const ml_Expr *xx = ml_add(cx, ml_var(cx, x), ml_var(cx, x));
    const ml_Expr *yz = ml_add(cx, ml_var(cx, y), ml_var(cx, z));

    assert_false(ml_equal_expr(cx, xy, xx, &free_too, NULL));
    assert_false(ml_equal_expr(cx, xx, xy, &free_too, NULL));
    assert_true(ml_equal_expr(cx, xy, yz, &free_too, NULL));
    assert_true(ml_hash_expr(cx, xy, &free_too) == ml_hash_expr(cx, yz, &free_too));
    assert_false(ml_equal_expr(cx, xy, yz, NULL, NULL));
    assert_true(ml_equal_expr(cx, xy, xy, NULL, NULL));
}

static void free_variables_differ_unless_mapped(void **state) /* Q3 */
{
    ml_Ctx *cx = *state;
    const ml_EqualOpts free_too = {.map_free = true};
    const ml_Expr *n = ml_var(cx, new_i32(cx, "n")), *m = ml_var(cx, new_i32(cx, "n"));
    const ml_Expr *wide = ml_var(cx, ml_var_new(cx, "n", ML_DT_I64));
    const ml_Stmt *a = ml_serial(cx, new_i32(cx, "i"), ml_i32(cx, 0), n, ml_break(cx));
    const ml_Stmt *b = ml_serial(cx, new_i32(cx, "i"), ml_i32(cx, 0), m, ml_break(cx));

    assert_false(ml_equal_stmt(cx, a, b, NULL, NULL));
    assert_true(ml_equal_stmt(cx, a, b, &free_too, NULL));
    assert_true(ml_hash_stmt(cx, a, &free_too) == ml_hash_stmt(cx, b, &free_too));
    assert_false(ml_equal_expr(cx, n, wide, &free_too, NULL));
}

static void floats_are_compared_by_bits_and_nans_are_one(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Expr *zero = ml_float(cx, ML_DT_F64, 0.0),
                  *minus = ml_float(cx, ML_DT_F64, -0.0);
    const ml_Expr *nan1 = ml_float(cx, ML_DT_F64, (double)NAN);
    const ml_Expr *nan2 = ml_float(cx, ML_DT_F64, -(double)NAN);

    assert_false(ml_equal_expr(cx, zero, minus, NULL, NULL));
    assert_true(ml_equal_expr(cx, nan1, nan2, NULL, NULL));
    assert_true(ml_hash_expr(cx, nan1, NULL) == ml_hash_expr(cx, nan2, NULL));
    assert_false(ml_equal_expr(cx, zero, ml_float(cx, ML_DT_F32, 0.0), NULL, NULL));
}

static void no_step_is_step_one_and_points_have_no_extent_type(void **state)
{
    ml_Ctx *cx = *state;
    const ml_Var *i = new_i32(cx, "i");
    const ml_Stmt *a = ml_serial(cx, i, ml_i32(cx, 0), ml_i32(cx, 4), ml_break(cx));
    ml_For f = *ml_as_for(a);
    const ml_Buffer *to = vector_of(cx, "T", 4), *from = vector_of(cx, "S", 4);
    const ml_Stmt *b = add_one(cx, "B", to, from, 4, ml_i32(cx, 0));
    ml_Block block = *ml_as_block(b);
    ml_Range *range = ML_NEW(cx, ml_Range);
    ml_Region *region = ML_NEW(cx, ml_Region);

    f.step = ml_i32(cx, 1);
    assert_true(ml_equal_stmt(cx, a, ml_for_from(cx, &f), NULL, NULL));
    f.step = ml_i32(cx, 2);
    assert_false(ml_equal_stmt(cx, a, ml_for_from(cx, &f), NULL, NULL));
    *range = (ml_Range){block.reads[0].ranges[0].min, ml_int(cx, ML_DT_I64, 1)};
    *region = (ml_Region){from, range};
    block.reads = region;
    assert_true(ml_equal_stmt(cx, b, ml_block_from(cx, &block), NULL, NULL));
    range->extent = ml_i32(cx, 2);
    assert_false(ml_equal_stmt(cx, b, ml_block_from(cx, &block), NULL, NULL));
}

static void the_symbol_is_compared_unless_ignored(void **state)
{
    ml_Ctx *cx = *state;
    const ml_EqualOpts ignore = {.ignore_symbol = true};
    ml_Func a = *two_stages(cx, 4), b = *two_stages(cx, 4);

    a.attrs = ml_dict_with(cx, NULL, "global_symbol", ml_val_string(cx, ml_str("one")));
    b.attrs = ml_dict_with(cx, NULL, "global_symbol", ml_val_string(cx, ml_str("two")));
    expect_different(cx, &a, &b);
    assert_true(ml_equal_func(cx, &a, &b, &ignore, NULL));
    assert_true(ml_hash_func(cx, &a, &ignore) == ml_hash_func(cx, &b, &ignore));
    b.attrs = NULL;
    assert_true(ml_equal_func(cx, &a, &b, &ignore, NULL));
    b.attrs = ml_dict_with(cx, a.attrs, "noalias", ml_val_bool(cx, true));
    assert_false(ml_equal_func(cx, &a, &b, &ignore, NULL));
}

static void buffers_are_compared_by_description(void **state)
{
    ml_Ctx *cx = *state;
    ml_Func a = *two_stages(cx, 4), b = *two_stages(cx, 4);
    ml_FuncParam params[3];
    ml_Buffer fields;
    ml_Subst s = {0};

    memcpy(params, b.params, sizeof(params));
    fields = *params[0].buffer;
    fields.align = 128;
    params[0].buffer = ml_buffer_from(cx, &fields, true);
    ml_subst_buffer(cx, &s, b.params[0].buffer, params[0].buffer);
    b.body = ml_stmt_subst(cx, b.body, &s);
    b.params = params;
    assert_string_equal(expect_different(cx, &a, &b).reason, "align 64 vs 128");
}

static void modules_are_compared_by_name_not_by_order(void **state)
{
    ml_Ctx *cx = *state;
    ml_Func f = *two_stages(cx, 4), g = *two_stages(cx, 8);
    const ml_Func *fg[] = {&f, &g}, *gf[] = {&g, &f};
    const ml_Module *a, *b;

    g.name = "other";
    a = ml_module_new(cx, fg, 2, NULL);
    b = ml_module_new(cx, gf, 2, NULL);
    assert_true(ml_equal_module(cx, a, b, NULL, NULL));
    assert_true(ml_hash_module(cx, a, NULL) == ml_hash_module(cx, b, NULL));
    assert_false(ml_equal_module(cx, a, ml_module_new(cx, fg, 1, NULL), NULL, NULL));
}

static void shared_expressions_are_compared_in_linear_time(void **state)
{
    ml_Ctx *cx = *state, *other = ml_ctx_new(0);
    const ml_EqualOpts free_too = {.map_free = true};
    const ml_Expr *a = ml_var(cx, new_i32(cx, "x"));
    const ml_Expr *b = ml_var(other, (new_i32(other, "p"), new_i32(other, "y")));

    for (int k = 0; k < 300; k++) {
        a = ml_min(cx, a, ml_add(cx, a, ml_i32(cx, k)));
        b = ml_min(other, b, ml_add(other, b, ml_i32(other, k)));
    }
    assert_true(ml_equal_expr(cx, a, b, &free_too, NULL));
    assert_true(ml_hash_expr(cx, a, &free_too) == ml_hash_expr(cx, b, &free_too));
    assert_false(ml_equal_expr(cx, a, ml_min(cx, a, ml_i32(cx, 7)), &free_too, NULL));
    ml_ctx_unref(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(names_do_not_matter),
        T(the_hash_is_the_same_on_every_machine),
        T(an_extent_that_differs_is_reported_with_its_path),
        T(kinds_annotations_and_order_count),
        T(swapped_parameters_make_an_expression_differ_from_itself),
        T(variables_map_one_to_one),
        T(free_variables_differ_unless_mapped),
        T(floats_are_compared_by_bits_and_nans_are_one),
        T(no_step_is_step_one_and_points_have_no_extent_type),
        T(the_symbol_is_compared_unless_ignored),
        T(buffers_are_compared_by_description),
        T(modules_are_compared_by_name_not_by_order),
        T(shared_expressions_are_compared_in_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
