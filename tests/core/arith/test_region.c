/* test_region - interval sets, regions and unions: rows E1..E12 of ir-and-analysis 3.9, and
 * relaxation of random expressions against enumeration. */
#include "arith_text.h"
#include "core/core_test.h"

static void check_ends(ml_Interval set, int64_t min, int64_t max, const char *what)
{
    if (set.nothing || !set.min || !set.max || !ml_is_int(set.min, min) ||
        !ml_is_int(set.max, max))
        fail_msg("%s: not [%lld,%lld]", what, (long long)min, (long long)max);
}

static void check_relaxed(const char *iters, const char *text, int64_t min, int64_t max)
{
    Scope sc = sc_new(iters);
    check_ends(ml_relax(sc.ar, sc_expr(&sc, text), sc.dom, sc.n_dom), min, max, text);
    sc_free(&sc);
}

static void expressions_are_relaxed(void **state) /* E1, E2 */
{
    check_relaxed("i<10", "4*i+3", 3, 39);
    check_relaxed("i<10", "12-i", 3, 12);
    check_relaxed("i<10", "i//4", 0, 2);
    check_relaxed("i<10", "i%4", 0, 3);
    check_relaxed("9<=i<11", "i%4", 1, 2);
    check_relaxed("i<10", "i*-3+1", -26, 1);
    check_relaxed("i<10", "(i*6+2)%4", 0, 2);
    check_relaxed("i<10", "min(i,4)+max(i,7)", 7, 13);
    check_relaxed("i<10", "(i-5)//-2", -2, 2);
    check_relaxed("i<10", "(i-5)%-4", -3, 0);
}

static void loads_are_points_only_of_free_indices(void **state) /* E3 */
{
    Scope sc = sc_new("i<10");
    ml_Interval set = ml_relax(sc.ar, sc_expr(&sc, "A[i]"), sc.dom, 1);
    assert_false(set.nothing);
    assert_null(set.min);
    assert_null(set.max);
    const ml_Expr *e = sc_expr(&sc, "A[j]");
    set = ml_relax(sc.ar, e, sc.dom, 1);
    assert_ptr_equal(set.min, e);
    assert_ptr_equal(set.max, e);
    assert_null(ml_relax(sc.ar, sc_expr(&sc, "i*i"), sc.dom, 1).max);
    sc_free(&sc);
}

static void dependent_ranges_are_relaxed_again(void **state)
{
    check_relaxed("i<4 j<i+1", "j", 0, 3);
    check_relaxed("i<4 i*2<=j<i*3+5", "j+i", 0, 16);
    Scope sc = sc_new("");
    sc_iters(&sc, "j<i+1 i<j+1"); /* cyclic: stops at a symbol */
    ml_Interval set = ml_relax(sc.ar, sc_expr(&sc, "i"), sc.dom, 2);
    assert_false(set.nothing);
    sc_free(&sc);
}

static void symbols_stay_symbols(void **state)
{
    Scope sc = sc_new("i<n j<8");
    ml_Interval set = ml_relax(sc.ar, sc_expr(&sc, "i+m"), sc.dom, 2);
    assert_ptr_equal(set.min, sc_expr(&sc, "m"));
    assert_true(ml_prove_equal(sc.ar, set.max, sc_expr(&sc, "n+m-1")));
    set = ml_relax(sc.ar, sc_expr(&sc, "j*m"), sc.dom, 2); /* sign of m unknown */
    sc.at[0] = 0;
    for (size_t k = 0; k < sc.n; k++)
        if (!strcmp(sc.vars[k]->hint, "m"))
            sc.at[k] = -2;
    assert_int_equal(sc_eval(&sc, set.min), -14);
    assert_int_equal(sc_eval(&sc, set.max), 0);
    sc_free(&sc);
}

static void sets_unite_and_intersect(void **state)
{
    Scope sc = sc_new("");
    ml_Ctx *cx = sc.cx;
    ml_Interval a = {ml_i32(cx, 0), ml_i32(cx, 5), false}, b = {ml_i32(cx, 8), NULL, false};
    ml_Interval u = ml_interval_union(sc.ar, a, b);
    assert_true(ml_is_int(u.min, 0));
    assert_null(u.max);
    assert_true(ml_interval_intersect(sc.ar, a, b).nothing);
    check_ends(ml_interval_intersect(sc.ar, a, ML_EVERYTHING), 0, 5, "whole");
    check_ends(ml_interval_union(sc.ar, a, ML_NOTHING), 0, 5, "neutral");
    assert_true(ml_interval_includes(sc.ar, ML_EVERYTHING, a));
    assert_false(ml_interval_includes(sc.ar, a, ML_EVERYTHING));
    assert_true(ml_interval_includes(sc.ar, a, ML_NOTHING));
    assert_false(ml_interval_includes(sc.ar, ML_NOTHING, a));
    ml_Range whole = {ml_i32(cx, 0), ml_i32(cx, 99)};
    assert_true(ml_is_int(ml_interval_cover(sc.ar, a, whole).extent, 6));
    assert_true(ml_is_int(ml_interval_cover(sc.ar, b, whole).extent, 99));
    sc_free(&sc);
}

static void the_lower_union_merges_to_a_fixpoint(void **state) /* E10 */
{
    Scope sc = sc_new("");
    ml_Ctx *cx = sc.cx;
    ml_Interval v[] = {{ml_i32(cx, 0), ml_i32(cx, 3), false},
                       {ml_i32(cx, 8), ml_i32(cx, 11), false},
                       {ml_i32(cx, 4), ml_i32(cx, 7), false}};
    check_ends(ml_interval_lower_union(sc.ar, v, 3), 0, 11, "three");
    check_ends(ml_interval_lower_union(sc.ar, v, 2), 0, 3, "gap");
    ml_Interval w[] = {ML_NOTHING, v[1], v[0]};
    check_ends(ml_interval_lower_union(sc.ar, w, 3), 8, 11, "first nonempty");
    assert_true(ml_interval_lower_union(sc.ar, NULL, 0).nothing);
    sc_free(&sc);
}

/* ---- regions: dims "min:extent" separated by commas */

typedef struct Row {
    const char *name, *iters, *box, *pred;
    bool strict;
    int64_t want[2][2]; /* of strict, else of upper; ends included */
} Row;

static const Row rows[] = {
    {"E4", "i<8", "i*4:4", NULL, true, {{0, 31}}},
    {"E5", "i<8", "i*4:2", NULL, false, {{0, 29}}},
    {"E6", "i<8", "i:3, i+1:1", NULL, false, {{0, 9}, {1, 8}}},
    {"E7", "i<4", "30-3*i:2", NULL, false, {{21, 31}}},
    {"E8", "i<4", "30-3*i:3", NULL, true, {{21, 32}}},
    {"E9", "a<4 b<16", "a*16+b:1", "a*16+b<50", true, {{0, 49}}},
    {"E11", "i<4 1<=n<5", "i:n", NULL, false, {{0, 6}}},
    {"E12", "i<12", "i//3:1, i%3:1", NULL, true, {{0, 3}, {0, 2}}},
};

static size_t read_box(Scope *sc, const char *text, ml_Range *box)
{
    size_t n = 0;

    sc->p = text;
    do {
        box[n].min = sc_level(sc, 0);
        ML_ASSERT(sc_eat(sc, ":"));
        box[n++].extent = sc_level(sc, 0);
    } while (sc_eat(sc, ","));
    return n;
}

static void the_table_of_regions_holds(void **state) /* E4..E9, E11, E12 */
{
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        Scope sc = sc_new(rows[k].iters);
        ml_Range box[2];
        ml_Interval out[2];
        size_t n = read_box(&sc, rows[k].box, box);
        const ml_Expr *pred = rows[k].pred ? sc_expr(&sc, rows[k].pred) : NULL;
        bool ok = ml_region_strict(sc.ar, box, n, sc.dom, sc.n_dom, pred, out);
        if (ok != rows[k].strict)
            fail_msg("%s: strict %s", rows[k].name, ok ? "holds" : "fails");
        for (size_t d = 0; d < n && ok; d++)
            check_ends(out[d], rows[k].want[d][0], rows[k].want[d][1], rows[k].name);
        assert_int_equal(ml_region_lower(sc.ar, box, n, sc.dom, sc.n_dom, pred, out), ok);
        ml_region_upper(sc.ar, box, n, sc.dom, sc.n_dom, pred, out);
        for (size_t d = 0; d < n; d++)
            check_ends(out[d], rows[k].want[d][0], rows[k].want[d][1], rows[k].name);
        sc_free(&sc);
    }
}

static void empty_boxes_and_rank_zero(void **state)
{
    Scope sc = sc_new("i<4");
    ml_Range box[1];
    ml_Interval out[1];
    read_box(&sc, "i:0", box);
    assert_true(ml_region_strict(sc.ar, box, 1, sc.dom, 1, NULL, out));
    assert_true(out[0].nothing);
    assert_true(ml_region_strict(sc.ar, box, 0, sc.dom, 1, NULL, out));
    read_box(&sc, "A[i]:2", box);
    assert_false(ml_region_strict(sc.ar, box, 1, sc.dom, 1, NULL, out));
    ml_region_upper(sc.ar, box, 1, sc.dom, 1, NULL, out);
    assert_true(!out[0].nothing && !out[0].min && !out[0].max);
    sc_free(&sc);
}

static void the_hull_of_an_overlapping_sum(void **state) /* 2.4: the worked coverage */
{
    Scope sc = sc_new("i1<8 k<3");
    ml_Range box[1];
    ml_Interval out[1];
    read_box(&sc, "i0*8+i1+k:1", box);
    ml_region_upper(sc.ar, box, 1, sc.dom, 2, NULL, out);
    assert_true(ml_prove_equal(sc.ar, out[0].min, sc_expr(&sc, "i0*8")));
    assert_true(ml_prove_equal(sc.ar, out[0].max, sc_expr(&sc, "i0*8+9")));
    sc_free(&sc);
}

/* ---- unions of boxes */

static void add(ml_Boxes *b, ml_Ctx *cx, int64_t x0, int64_t x1, int64_t y0, int64_t y1)
{
    ml_Interval box[2] = {{ml_i32(cx, x0), ml_i32(cx, x1), false},
                          {ml_i32(cx, y0), ml_i32(cx, y1), false}};
    ml_boxes_add(b, box);
}

static bool covers(ml_Boxes *b, ml_Ctx *cx, int64_t x0, int64_t x1, int64_t y0, int64_t y1,
                   size_t *dim)
{
    ml_Interval box[2] = {{ml_i32(cx, x0), ml_i32(cx, x1), false},
                          {ml_i32(cx, y0), ml_i32(cx, y1), false}};
    return ml_boxes_cover(b, box, dim);
}

static void diagonal_tiles_do_not_cover_a_square(void **state)
{
    Scope sc = sc_new("");
    size_t dim = 9;
    ml_Boxes *b = ml_boxes_new(sc.ar, 2);
    add(b, sc.cx, 0, 3, 0, 3);
    add(b, sc.cx, 4, 7, 4, 7);
    assert_int_equal(ml_boxes_count(b), 2);
    assert_false(covers(b, sc.cx, 0, 7, 0, 7, &dim));
    assert_false(covers(b, sc.cx, 0, 3, 0, 4, &dim));
    assert_int_equal(dim, 1);
    add(b, sc.cx, 0, 3, 4, 7);
    add(b, sc.cx, 4, 7, 0, 3);
    assert_true(covers(b, sc.cx, 0, 7, 0, 7, NULL));
    assert_int_equal(ml_boxes_count(b), 1);
    assert_true(ml_is_int(ml_boxes_at(b, 0)[1].max, 7));
    assert_true(covers(b, sc.cx, 5, 4, 0, 99, NULL)); /* empty */
    sc_free(&sc);
}

static void boxes_of_rank_zero_and_one(void **state)
{
    Scope sc = sc_new("");
    ml_Boxes *b = ml_boxes_new(sc.ar, 0);
    assert_false(ml_boxes_cover(b, NULL, NULL));
    ml_boxes_add(b, NULL);
    assert_true(ml_boxes_cover(b, NULL, NULL));
    b = ml_boxes_new(sc.ar, 1);
    ml_Interval v[] = {{ml_i32(sc.cx, 0), ml_i32(sc.cx, 3), false},
                       {ml_i32(sc.cx, 8), ml_i32(sc.cx, 11), false},
                       {ml_i32(sc.cx, 4), ml_i32(sc.cx, 7), false},
                       ML_NOTHING};
    for (int k = 0; k < 4; k++)
        ml_boxes_add(b, &v[k]);
    assert_int_equal(ml_boxes_count(b), 1);
    check_ends(ml_boxes_at(b, 0)[0], 0, 11, "union");
    sc_free(&sc);
}

static void random_unions_claim_only_what_is_there(void **state)
{
    Rng r = {7};
    for (int n = 0; n < 2000; n++) {
        Scope sc = sc_new("");
        bool cell[8][8] = {{false}};
        ml_Boxes *b = ml_boxes_new(sc.ar, 2);
        for (uint32_t k = 2 + rng_below(&r, 6); k > 0; k--) {
            int64_t x = rng_below(&r, 8), y = rng_below(&r, 8);
            int64_t w = rng_below(&r, (uint32_t)(8 - x)),
                    h = rng_below(&r, (uint32_t)(8 - y));
            add(b, sc.cx, x, x + w, y, y + h);
            for (int64_t i = x; i <= x + w; i++)
                for (int64_t j = y; j <= y + h; j++)
                    cell[i][j] = true;
        }
        for (int k = 0; k < 10; k++) {
            int64_t x = rng_below(&r, 8), y = rng_below(&r, 8);
            int64_t w = rng_below(&r, (uint32_t)(8 - x)),
                    h = rng_below(&r, (uint32_t)(8 - y));
            bool all = true;
            for (int64_t i = x; i <= x + w; i++)
                for (int64_t j = y; j <= y + h; j++)
                    all &= cell[i][j];
            if (covers(b, sc.cx, x, x + w, y, y + h, NULL))
                assert_true(all);
            else if (w == 0 && h == 0)
                assert_false(all);
        }
        sc_free(&sc);
    }
}

/* ---- relaxation against enumeration */

static const ml_Expr *random_expr(Scope *sc, Rng *r, int depth)
{
    static const ml_ExprKind kinds[] = {
        ML_EXPR_ADD,      ML_EXPR_SUB,      ML_EXPR_MUL,      ML_EXPR_MIN,
        ML_EXPR_MAX,      ML_EXPR_FLOORDIV, ML_EXPR_FLOORMOD, ML_EXPR_FLOORDIV,
        ML_EXPR_FLOORMOD, ML_EXPR_ADD};
    if (depth == 0 || rng_below(r, 6) == 0)
        return rng_below(r, 3) ? ml_var(sc->cx, sc->dom[rng_below(r, 2)].var)
                               : ml_i32(sc->cx, (int64_t)rng_below(r, 13) - 6);
    ml_ExprKind k = kinds[rng_below(r, ML_COUNT(kinds))];
    const ml_Expr *a = random_expr(sc, r, depth - 1), *b = random_expr(sc, r, depth - 1);
    if (k == ML_EXPR_FLOORDIV || k == ML_EXPR_FLOORMOD) {
        int64_t d = (int64_t)rng_below(r, 11) - 3;
        b = ml_i32(sc->cx, d ? d : 4);
    }
    return ml_binary(sc->cx, k, a, b);
}

static void relaxed_sets_hold_every_value(void **state)
{
    Rng r = {11};
    size_t finite = 0;
    for (int n = 0; n < 20000; n++) {
        Scope sc = sc_new("-3<=j<4 i<5");
        const ml_Expr *e = random_expr(&sc, &r, 4);
        ml_Interval set = ml_relax(sc.ar, e, sc.dom, 2);
        finite += set.min && set.max;
        assert_false(set.nothing);
        for (bool go = sc_step(&sc, true); go; go = sc_step(&sc, false)) {
            int64_t v = sc_eval(&sc, e);
            assert_true(!set.min || set.min->as.i <= v);
            assert_true(!set.max || set.max->as.i >= v);
        }
        sc_free(&sc);
    }
    assert_true(finite > 10000);
}

/* What is known of two guards on two sizes does not depend on which numbers the variables
 * got. */
static void the_numbers_of_variables_say_nothing(void **state)
{
    (void)state;
    for (int gap = 0; gap < 200; gap++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Arith *ar = ml_arith_new(cx);
        const ml_Expr *size[2], *v[4];
        ml_Dom dom[4];
        const ml_Expr *pred = ml_bool(cx, true);

        for (int k = 0; k < 2; k++)
            size[k] = ml_var(cx, ml_var_new(cx, k ? "m" : "n", ML_DT_I32));
        for (int k = 0; k < 4; k++) {
            const ml_Expr *four = ml_i32(cx, 4), *n = size[k / 2];

            if (k == 2)
                for (int d = 0; d < gap; d++)
                    ml_var_new(cx, "d", ML_DT_I32);
            dom[k] = (ml_Dom){ml_var_new(cx, "i", ML_DT_I32), ml_i32(cx, 0), four};
            if (k % 2 == 0)
                dom[k].extent = ml_floordiv(cx, ml_add(cx, n, ml_i32(cx, 3)), four);
            v[k] = ml_var(cx, dom[k].var);
        }
        for (int k = 0; k < 2; k++) {
            const ml_Expr *at =
                ml_add(cx, ml_mul(cx, v[2 * k], ml_i32(cx, 4)), v[2 * k + 1]);

            pred = ml_and(cx, pred, ml_lt(cx, at, size[k]));
        }
        if (!ml_region_runs(ar, dom, 4, pred))
            fail_msg("not found with %d variables between", gap);
        ml_ctx_unref(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_relaxed),
        cmocka_unit_test(loads_are_points_only_of_free_indices),
        cmocka_unit_test(dependent_ranges_are_relaxed_again),
        cmocka_unit_test(symbols_stay_symbols),
        cmocka_unit_test(sets_unite_and_intersect),
        cmocka_unit_test(the_lower_union_merges_to_a_fixpoint),
        cmocka_unit_test(the_table_of_regions_holds),
        cmocka_unit_test(empty_boxes_and_rank_zero),
        cmocka_unit_test(the_hull_of_an_overlapping_sum),
        cmocka_unit_test(diagonal_tiles_do_not_cover_a_square),
        cmocka_unit_test(boxes_of_rank_zero_and_one),
        cmocka_unit_test(random_unions_claim_only_what_is_there),
        cmocka_unit_test(the_numbers_of_variables_say_nothing),
        cmocka_unit_test(relaxed_sets_hold_every_value),
    };
    return cmocka_run_group_tests_name("core/arith/region", tests, NULL, NULL);
}
