/* test_index_map - rows M1..M8 of ir-and-analysis 4.11. */
#include "arith_text.h"
#include "core/core_test.h"

typedef struct Map {
    Scope sc;
    ml_IndexMap map;
    ml_Range ranges[4];
    const ml_Expr *shape[4];
} Map;

/* iters: the initial variables with their ranges; "n" is known to be positive. */
static Map make(const char *iters, const char *exprs)
{
    Map m = {.sc = sc_new("")};
    ml_Ctx *cx = m.sc.cx;

    ml_arith_bind_lower(m.sc.ar, sc_var(&m.sc, "n", 1), 1);
    sc_iters(&m.sc, iters);
    const ml_Expr **e = ML_ARRAY(cx, const ml_Expr *, 8);
    const ml_Var **v = ML_ARRAY(cx, const ml_Var *, 8);
    m.map.n_exprs = (uint32_t)sc_list(&m.sc, exprs, e);
    m.map.exprs = e;
    m.map.vars = v;
    m.map.n_vars = (uint32_t)m.sc.n_dom;
    for (size_t k = 0; k < m.sc.n_dom; k++) {
        v[k] = m.sc.dom[k].var;
        m.ranges[k] = (ml_Range){m.sc.dom[k].min, m.sc.dom[k].extent};
        m.shape[k] = m.sc.dom[k].extent;
    }
    return m;
}

/* The inverse's expression k, over variables named as in `names`. */
static const ml_Expr *over(Map *m, const ml_IndexMap *inv, size_t k,
                           const char *const *names)
{
    ml_Subst s = {0};

    for (size_t j = 0; j < inv->n_vars; j++)
        ml_subst_var(m->sc.cx, &s, inv->vars[j],
                     ml_var(m->sc.cx, sc_var(&m->sc, names[j], strlen(names[j]))));
    return ml_expr_subst(m->sc.cx, inv->exprs[k], &s);
}

static const ml_Expr *pad_over(Map *m, const ml_IndexMap *inv, const ml_Expr *e,
                               const char *const *names)
{
    ml_Subst s = {0};

    for (size_t j = 0; j < inv->n_vars; j++)
        ml_subst_var(m->sc.cx, &s, inv->vars[j],
                     ml_var(m->sc.cx, sc_var(&m->sc, names[j], strlen(names[j]))));
    return ml_expr_subst(m->sc.cx, e, &s);
}

static void check_shape(Map *m, const char *want)
{
    const ml_Expr *out[4], *expect[4];

    assert_true(ml_index_map_shape(m->sc.ar, &m->map, m->shape, out));
    assert_int_equal(sc_list(&m->sc, want, expect), m->map.n_exprs);
    for (size_t k = 0; k < m->map.n_exprs; k++)
        if (out[k] != expect[k])
            fail_msg("dimension %zu is not as in %s", k, want);
}

static const char *const ac[] = {"a", "c"};

static void a_split_dimension_maps_back(void **state) /* M1 */
{
    static const char *const abc[] = {"a", "b", "c"};
    Map m = make("i<16 j<10", "i//4, j, i%4");
    ml_IterFail why;
    check_shape(&m, "4, 10, 4");
    const ml_IndexMap *inv = ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why);
    assert_non_null(inv);
    assert_ptr_equal(over(&m, inv, 0, abc), sc_expr(&m.sc, "a*4+c"));
    assert_ptr_equal(over(&m, inv, 1, abc), sc_expr(&m.sc, "b"));
    assert_string_equal(inv->vars[0]->hint, "axis0");
    assert_string_equal(inv->vars[1]->hint, "j");
    sc_free(&m.sc);
}

static void padding_at_the_end(void **state) /* M2 */
{
    Map m = make("i<30", "i//8, i%8");
    const ml_Expr *pad;
    ml_IterFail why;
    check_shape(&m, "4, 8");
    assert_null(ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why));
    assert_int_not_equal(why, ML_ITER_FAIL_NONE);
    const ml_IndexMap *inv =
        ml_index_map_inverse_padded(m.sc.ar, &m.map, m.ranges, &pad, &why);
    assert_non_null(inv);
    assert_ptr_equal(over(&m, inv, 0, ac), sc_expr(&m.sc, "a*8+c"));
    assert_ptr_equal(pad_over(&m, inv, pad, ac), sc_expr(&m.sc, "a==3 and c>=6"));
    sc_free(&m.sc);
}

static void padding_at_both_ends(void **state) /* M3 */
{
    Map m = make("i<16", "(i+2)//4, (i+2)%4");
    const ml_Expr *pad;
    ml_IterFail why;
    check_shape(&m, "5, 4");
    const ml_IndexMap *inv =
        ml_index_map_inverse_padded(m.sc.ar, &m.map, m.ranges, &pad, &why);
    assert_non_null(inv);
    assert_true(ml_prove_equal(m.sc.ar, over(&m, inv, 0, ac), sc_expr(&m.sc, "a*4+c-2")));
    assert_ptr_equal(pad_over(&m, inv, pad, ac),
                     sc_expr(&m.sc, "a==0 and c<2 or a==4 and c>=2"));
    sc_free(&m.sc);
}

static void what_loses_information_has_no_inverse(void **state) /* M4, M5, M6 */
{
    const ml_Expr *pad;
    ml_IterFail why;
    Map m = make("i<4 j<4", "i*j");
    assert_null(ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why));
    assert_int_equal(why, ML_ITER_FAIL_PRODUCT);
    sc_free(&m.sc);
    m = make("i<16", "i//4");
    check_shape(&m, "4");
    assert_null(ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why));
    assert_null(ml_index_map_inverse_padded(m.sc.ar, &m.map, m.ranges, &pad, &why));
    assert_int_not_equal(why, ML_ITER_FAIL_NONE);
    sc_free(&m.sc);
    m = make("i<6", "(i+3)%6");
    assert_null(ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why));
    sc_free(&m.sc);
}

static void unit_and_symbolic_dimensions(void **state) /* M7, M8 */
{
    static const char *const ab[] = {"a", "b"};
    ml_IterFail why;
    Map m = make("i<n j<1", "j, i");
    check_shape(&m, "1, n");
    const ml_IndexMap *inv = ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why);
    assert_non_null(inv);
    assert_ptr_equal(over(&m, inv, 0, ab), sc_expr(&m.sc, "b"));
    assert_ptr_equal(over(&m, inv, 1, ab), sc_expr(&m.sc, "a"));
    sc_free(&m.sc);
    m = make("i<n*32", "i//n, i%n");
    check_shape(&m, "32, n");
    inv = ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why);
    assert_non_null(inv);
    assert_true(ml_prove_equal(m.sc.ar, over(&m, inv, 0, ac), sc_expr(&m.sc, "a*n+c")));
    sc_free(&m.sc);
}

static void scales_leave_holes_that_are_padding(void **state)
{
    Map m = make("i<3", "i*2");
    const ml_Expr *pad;
    ml_IterFail why;
    const ml_IndexMap *inv =
        ml_index_map_inverse_padded(m.sc.ar, &m.map, m.ranges, &pad, &why);
    assert_non_null(inv);
    check_shape(&m, "6");
    assert_ptr_equal(pad_over(&m, inv, pad, ac), sc_expr(&m.sc, "a%2!=0"));
    sc_free(&m.sc);
}

static void a_nonzero_minimum_has_no_shape(void **state)
{
    Map m = make("i<3", "i+2");
    const ml_Expr *out[1];
    assert_false(ml_index_map_shape(m.sc.ar, &m.map, m.shape, out));
    sc_free(&m.sc);
}

static void maps_apply_in_the_widest_dtype(void **state)
{
    Map m = make("i<16 j<10", "i//4, j, i%4+j");
    ml_Ctx *cx = m.sc.cx;
    const ml_Var *x = ml_var_new(cx, "x", ML_DT_I64);
    const ml_Expr *idx[2] = {ml_var(cx, x), ml_i32(cx, 7)}, *out[3];
    ml_index_map_apply(m.sc.ar, &m.map, idx, out);
    for (int k = 0; k < 3; k++)
        assert_true(ml_dtype_eq(out[k]->type, ML_DT_I64));
    assert_true(ml_is_int(out[1], 7));
    idx[0] = ml_i32(cx, 9);
    ml_index_map_apply(m.sc.ar, &m.map, idx, out);
    assert_true(ml_is_int(out[0], 2) && ml_is_int(out[2], 8));
    assert_true(ml_dtype_eq(out[0]->type, ML_DT_I32));
    sc_free(&m.sc);
}

static void a_given_inverse_is_trusted(void **state)
{
    Map m = make("i<6", "(i+3)%6");
    ml_IndexMap back = m.map;
    const ml_Expr *pad;
    ml_IterFail why;
    m.map.inverse = &back;
    assert_ptr_equal(ml_index_map_inverse(m.sc.ar, &m.map, m.ranges, &why), &back);
    assert_ptr_equal(ml_index_map_inverse_padded(m.sc.ar, &m.map, m.ranges, &pad, &why),
                     &back);
    assert_true(ml_is_false(pad));
    sc_free(&m.sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_dimension_maps_back),
        cmocka_unit_test(padding_at_the_end),
        cmocka_unit_test(padding_at_both_ends),
        cmocka_unit_test(what_loses_information_has_no_inverse),
        cmocka_unit_test(unit_and_symbolic_dimensions),
        cmocka_unit_test(scales_leave_holes_that_are_padding),
        cmocka_unit_test(a_nonzero_minimum_has_no_shape),
        cmocka_unit_test(maps_apply_in_the_widest_dtype),
        cmocka_unit_test(a_given_inverse_is_trusted),
    };
    return cmocka_run_group_tests_name("core/arith/index_map", tests, NULL, NULL);
}
