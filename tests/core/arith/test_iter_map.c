/* test_iter_map - rows I1..I36 and D1..D9 of ir-and-analysis 4.10, and what came up since.
 */
#include "arith_text.h"
#include "core/core_test.h"

#define GAP (-1) /* "any" in an expected triple */

static ml_IterMap detect(Scope *sc, const char *indices, const char *pred,
                         ml_IterLevel level)
{
    const ml_Expr **idx = ML_ARRAY(sc->cx, const ml_Expr *, 8);
    size_t n = sc_list(sc, indices, idx);

    return ml_iter_detect(sc->ar, idx, n, sc->dom, sc->n_dom,
                          pred ? sc_expr(sc, pred) : NULL, level, true);
}

static int64_t digit_extent(const ml_IterSum *s)
{
    return s->n ? s->digits[0].extent->as.i : 1;
}

/* One row: accepted with these extents (base 0 and scale 1), or refused for this reason. */
typedef struct Row {
    const char *name, *indices, *iters, *pred;
    ml_IterLevel level;
    ml_IterFail fail;
    size_t n;
    struct {
        int64_t base, extent, scale;
    } want[3];
} Row;

#define NO(reason)                                                                         \
    ML_ITER_FAIL_##reason, 0,                                                              \
    {                                                                                      \
        {                                                                                  \
            0, 0, 0                                                                        \
        }                                                                                  \
    }
#define OK(n) ML_ITER_FAIL_NONE, n

static const Row rows[] = {
    {"I1", "i*20+j", "i<6 j<20", NULL, ML_BIJECTIVE, OK(1), {{0, 120, 1}}},
    {"I2", "i*24+j", "i<6 j<20", NULL, ML_SURJECTIVE, NO(NORMALISE)},
    {"I3",
     "i//12, i//3%4, i%3",
     "i<60",
     NULL,
     ML_BIJECTIVE,
     OK(3),
     {{0, 5, 1}, {0, 4, 1}, {0, 3, 1}}},
    {"I4", "i//12, i%3", "i<60", NULL, ML_SURJECTIVE, OK(2), {{0, 5, 1}, {0, 3, 1}}},
    {"I4", "i//12, i%3", "i<60", NULL, ML_BIJECTIVE, NO(BIJECTIVE)},
    {"I5",
     "(i*5+j)//3*6 + (i*5+j)%3*2",
     "i<9 j<5",
     NULL,
     ML_SURJECTIVE,
     OK(1),
     {{0, 45, 2}}},
    {"I6", "i, i*2", "i<4", NULL, ML_SURJECTIVE, NO(DEPENDENT)},
    {"I7", "i//4, i%4", "i<32", NULL, ML_BIJECTIVE, OK(2), {{0, 8, 1}, {0, 4, 1}}},
    {"I7", "i//4, i*4", "i<32", NULL, ML_BIJECTIVE, NO(DEPENDENT)},
    {"I8", "i*6+j*2", "i<5 j<3", NULL, ML_SURJECTIVE, OK(1), {{0, 15, 2}}},
    {"I9", "i*8+j", "i<7 j<10", NULL, ML_SURJECTIVE, OK(1), {{0, 58, 1}}},
    {"I9", "i*8+j", "i<7 j<10", NULL, ML_BIJECTIVE, NO(NORMALISE)},
    {"I10", "i*8+j, j", "i<7 j<10", NULL, ML_SURJECTIVE, NO(DEPENDENT)},
    {"I11", "11-i", "i<12", NULL, ML_SURJECTIVE, OK(1), {{11, 12, -1}}},
    {"I12", "i*5-j", "i<3 j<5", NULL, ML_SURJECTIVE, NO(NORMALISE)},
    {"I13", "i*30+j", "i<4 j<30", "i*30+j<100", ML_SURJECTIVE, OK(1), {{0, 100, 1}}},
    {"I14", "i*30+j", "i<4 j<30", "7<=i*30+j<100", ML_SURJECTIVE, OK(1), {{7, 93, 1}}},
    {"I15", "i*14+j*3+k", "i<5 j<6 k<3", "2<=j*3+k<16", ML_SURJECTIVE, OK(1), {{2, 70, 1}}},
    {"I16", "i, j", "i<4 j<30", "i*30+j<100", ML_SURJECTIVE, NO(PARTIAL)},
    {"I17", "i", "i<4 j<30", "i*30+j<100", ML_SURJECTIVE, OK(1), {{0, 4, 1}}},
    {"I18", "i//7", "i<50", NULL, ML_SURJECTIVE, OK(1), {{0, 8, 1}}},
    {"I19", "i//7, i%7", "i<50", NULL, ML_SURJECTIVE, NO(DEPENDENT)},
    {"I19", "i//7, i%7", "i<50", NULL, ML_NO_CHECK, OK(2), {{0, 8, 1}, {0, 7, 1}}},
    {"I20", "(i+3)//8", "i<40", NULL, ML_SURJECTIVE, OK(1), {{0, 6, 1}}},
    {"I21",
     "(i+5)//2%4, (i+5)%2",
     "i<30",
     NULL,
     ML_SURJECTIVE,
     OK(2),
     {{0, 4, 1}, {0, 2, 1}}},
    {"I22", "(i//4)%6", "i<3", NULL, ML_SURJECTIVE, OK(1), {{0, 1, GAP}}},
    {"I23", "(i%2)%4", "i<8", NULL, ML_SURJECTIVE, OK(1), {{0, 2, 1}}},
    {"I24", "(i+1)//4+(i+2)//4", "i<6", NULL, ML_SURJECTIVE, NO(DEPENDENT)},
    {"I25", "(i+3)%6", "i<6", NULL, ML_SURJECTIVE, OK(1), {{0, 6, 1}}},
    {"I25", "(i+3)%6", "i<6", NULL, ML_BIJECTIVE, NO(BIJECTIVE)},
    {"I26", "(i+1)%3, (i+2)//3%4", "i<24", NULL, ML_SURJECTIVE, NO(DEPENDENT)},
    {"I27", "i//2", "i<12", "i%6<1", ML_SURJECTIVE, NO(PARTIAL)},
    {"I28",
     "i%12, i//12",
     "i<120",
     "2<=i%12<9 and i//12<7",
     ML_BIJECTIVE,
     OK(2),
     {{2, 7, 1}, {0, 7, 1}}},
    {"I29",
     "i*8+j*4+k//8, k%8*16+l",
     "i<16 j<2 k<32 l<16",
     NULL,
     ML_BIJECTIVE,
     OK(2),
     {{0, 128, 1}, {0, 128, 1}}},
    {"I30", "(i*6)//4", "i<8", NULL, ML_SURJECTIVE, NO(SCALE)},
    {"I33", "i*j", "i<4 j<4", NULL, ML_SURJECTIVE, NO(PRODUCT)},
    {"I34", "A[i]+j", "i<4 j<4", NULL, ML_SURJECTIVE, NO(NORMALISE)},
    {"I35", "i", "i<4 k<i+1", NULL, ML_SURJECTIVE, NO(ITERATORS)},
    {"I35", "i", "i<4 k<i+1", NULL, ML_BIJECTIVE, NO(ITERATORS)},
    {"I35", "i", "i<4 k<i+1", NULL, ML_NO_CHECK, NO(ITERATORS)},
    {"I37",
     "i*8+j*4+k",
     "i<1 j<2 k<4",
     "(i*2+j)*4+k<3 and i*2+j<1",
     ML_SURJECTIVE,
     OK(1),
     {{0, 3, GAP}}},
    {"I38", "i*2", "i<1 j<3", "i*2+j<1", ML_SURJECTIVE, OK(1), {{0, 1, GAP}}},
    {"I39",
     "i*2+j//3, j%3*3+k",
     "i<5 j<6 k<3",
     "(i*6+j)*3+k<81",
     ML_BIJECTIVE,
     OK(2),
     {{0, 9, 1}, {0, 9, 1}}},
    {"I40", "i, k", "i<4 j<3 k<8", "(j*2+k)%2<1", ML_SURJECTIVE, NO(PARTIAL)},
    {"I41", "i", "i<8", "2*i<7 and 3*i>4", ML_SURJECTIVE, OK(1), {{2, 2, 1}}},
    {"I36", "i*30+j", "i<4 j<30", "i*30 < 100-j", ML_SURJECTIVE, OK(1), {{0, 100, 1}}},
};

static void the_table_of_detection_holds(void **state)
{
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        const Row *r = &rows[k];
        Scope sc = sc_new(r->iters);
        ml_IterMap m = detect(&sc, r->indices, r->pred, r->level);
        if (m.fail != r->fail || m.ok != (r->fail == ML_ITER_FAIL_NONE))
            fail_msg("%s: %s instead of %s", r->name, ml_iter_fail_text(m.fail),
                     ml_iter_fail_text(r->fail));
        for (size_t j = 0; j < r->n; j++) {
            const ml_IterSum *s = &m.sums[j];
            if (!ml_is_int(s->base, r->want[j].base) ||
                digit_extent(s) != r->want[j].extent ||
                (r->want[j].scale == GAP ? 0 : s->n != 1))
                fail_msg("%s: index %zu has another base or extent", r->name, j);
            if (s->n && r->want[j].scale != GAP)
                if (s->digits[0].scale->as.i != r->want[j].scale)
                    fail_msg("%s: index %zu has another scale", r->name, j);
        }
        sc_free(&sc);
    }
}

static void a_symbolic_divisor_splits_a_multiple_of_it(void **state) /* I31 */
{
    Scope sc = sc_new("");
    ml_arith_bind_lower(sc.ar, sc_var(&sc, "n", 1), 1);
    sc_iters(&sc, "x<n*32");
    ml_IterMap m = detect(&sc, "x//n, x%n", NULL, ML_BIJECTIVE);
    assert_true(m.ok);
    assert_int_equal(digit_extent(&m.sums[0]), 32);
    assert_ptr_equal(m.sums[1].digits[0].extent, sc_expr(&sc, "n"));
    sc_free(&sc);
}

static void a_free_symbol_goes_to_the_base(void **state) /* I32 */
{
    Scope sc = sc_new("i<4 j<3");
    ml_IterMap m = detect(&sc, "n*7+i*3+j", NULL, ML_BIJECTIVE);
    assert_true(m.ok);
    assert_ptr_equal(m.sums[0].base, sc_expr(&sc, "n*7"));
    assert_int_equal(digit_extent(&m.sums[0]), 12);
    sc_free(&sc);
}

static void predicates_may_nest_and_be_likely(void **state)
{
    Scope sc = sc_new("i<4 j<30 k<5");
    ml_IterMap m = detect(&sc, "i*30+j, k",
                          "(k<3 and likely(i*30+j<100)) and (k>=1 and n<5)", ML_BIJECTIVE);
    assert_true(m.ok);
    assert_int_equal(digit_extent(&m.sums[0]), 100);
    assert_int_equal(digit_extent(&m.sums[1]), 2);
    assert_int_equal(m.sums[1].base->as.i, 1);
    m = detect(&sc, "i", "i==2", ML_SURJECTIVE);
    assert_int_equal(m.fail, ML_ITER_FAIL_PREDICATE);
    m = detect(&sc, "i", "i<2 and i>2", ML_SURJECTIVE);
    assert_int_equal(m.fail, ML_ITER_FAIL_EMPTY);
    m = detect(&sc, "i", "i<2 or j<2", ML_SURJECTIVE);
    assert_int_equal(m.fail, ML_ITER_FAIL_PREDICATE);
    sc_free(&sc);
}

static void the_order_of_conjuncts_does_not_matter(void **state)
{
    static const char *const preds[] = {"2<=j*3+k and i*16+j*3+k<60 and j*3+k<18",
                                        "i*16+j*3+k<60 and j*3+k<18 and 2<=j*3+k",
                                        "j*3+k<18 and 2<=j*3+k and i*16+j*3+k<60"};
    for (size_t k = 0; k < ML_COUNT(preds); k++) {
        Scope sc = sc_new("i<5 j<6 k<3");
        ml_IterMap m = detect(&sc, "i*16+j*3+k", preds[k], ML_SURJECTIVE);
        assert_true(m.ok);
        assert_int_equal(m.sums[0].base->as.i, 2);
        assert_int_equal(digit_extent(&m.sums[0]), 58);
        sc_free(&sc);
    }
}

static void constraints_nest_through_divisions(void **state)
{
    /* (j*3+k)//4 takes 1, 2, 3 only; i*3 + that takes 1..15, of which 1..9 are left */
    Scope sc = sc_new("i<5 j<6 k<3");
    ml_IterMap m =
        detect(&sc, "i*3+(j*3+k)//4", "i*3+(j*3+k)//4<10 and 5<=j*3+k<16", ML_SURJECTIVE);
    assert_true(m.ok);
    assert_int_equal(m.sums[0].base->as.i, 1);
    assert_int_equal(digit_extent(&m.sums[0]), 9);
    sc_free(&sc);
}

static void two_constraints_on_one_unused_iterator_are_refused(void **state)
{
    /* j = 19 needs i <= 1, k = 0 needs i >= 2: (19, 0) is not reached. */
    Scope sc = sc_new("i<4 j<20 k<8");
    ml_IterMap m = detect(&sc, "j, k", "i*8+j<30 and i*8+k>=16", ML_SURJECTIVE);
    assert_int_equal(m.fail, ML_ITER_FAIL_PARTIAL);
    sc_free(&sc);
}

static void an_unreached_constraint_must_be_satisfiable(void **state)
{
    /* (i+3)%4 takes 3 and 0 only, never 1 or 2 */
    Scope sc = sc_new("i<2 k<3");
    ml_IterMap m = detect(&sc, "k", "1<=(i+3)%4<3", ML_SURJECTIVE);
    assert_false(m.ok);
    m = detect(&sc, "(i+3)%4", "1<=(i+3)%4<2", ML_SURJECTIVE);
    assert_false(m.ok);
    sc_free(&sc);
}

static void an_overflow_is_a_refusal(void **state)
{
    Scope sc = sc_new("i<2000000000 j<2000000000 k<2000000000");
    assert_false(detect(&sc, "(i+j+k+i*7)//3", NULL, ML_SURJECTIVE).ok);
    ml_ctx_clear_marks(sc.cx);
    sc_free(&sc);
}

static void an_expression_of_endless_sharing_is_refused(void **state)
{
    Scope sc = sc_new("i<4 j<4");
    const ml_Expr *e = sc_expr(&sc, "i*4+j");
    ml_IterSum s;
    for (int k = 0; k < 60; k++)
        e = ml_add(sc.cx, e, e);
    assert_int_equal(
        ml_iter_detect(sc.ar, &e, 1, sc.dom, 2, NULL, ML_SURJECTIVE, true).fail,
        ML_ITER_FAIL_NORMALISE);
    assert_false(ml_iter_normalize(sc.ar, e, sc.dom, 2, &s));
    ml_Interval set = ml_relax(sc.ar, e, sc.dom, 2);
    assert_true(!set.nothing && !set.min && !set.max);
    sc_free(&sc);
}

static void empty_and_unit_iterators(void **state)
{
    Scope sc = sc_new("i<1 3<=j<4 k<5");
    const ml_Expr *idx[1] = {sc_expr(&sc, "i*7+j*2+k")};
    ml_IterMap m = ml_iter_detect(sc.ar, idx, 1, sc.dom, 3, NULL, ML_BIJECTIVE, false);
    assert_true(m.ok);
    assert_int_equal(m.sums[0].base->as.i, 6);
    assert_ptr_equal(m.sums[0].digits[0].mark->var, sc.dom[2].var);
    m = ml_iter_detect(sc.ar, idx, 1, sc.dom, 3, NULL, ML_BIJECTIVE, true);
    assert_true(m.ok);
    assert_int_equal(digit_extent(&m.sums[0]), 5);
    assert_true(ml_expr_uses_var(ml_iter_sum_expr(sc.ar, &m.sums[0]), sc.dom[0].var));
    m = ml_iter_detect(sc.ar, NULL, 0, sc.dom, 3, NULL, ML_SURJECTIVE, true);
    assert_true(m.ok);
    sc_free(&sc);
    sc = sc_new("i<0");
    assert_int_equal(detect(&sc, "i", NULL, ML_SURJECTIVE).fail, ML_ITER_FAIL_EMPTY);
    sc_free(&sc);
}

static void check_simplified(const char *iters, const char *from, const char *to)
{
    Scope sc = sc_new(iters);
    const ml_Expr *idx[4], *want[4], *out[4];
    size_t n = sc_list(&sc, from, idx);
    assert_int_equal(sc_list(&sc, to, want), n);
    ml_iter_simplify(sc.ar, idx, n, sc.dom, sc.n_dom, NULL, ML_SURJECTIVE, false, false,
                     out);
    for (size_t k = 0; k < n; k++)
        if (out[k] != want[k])
            fail_msg("%s: index %zu is not as in %s", from, k, to);
    sc_free(&sc);
}

static void indices_are_rewritten_through_their_map(void **state)
{
    check_simplified("i<9 j<5", "(i*5+j)//3*6 + (i*5+j)%3*2", "(i*5+j)*2");
    check_simplified("i<64", "i//32*32 + i%32//8*8 + i%8", "i");
    check_simplified("i<8", "(i%2)%4", "i%2");
    check_simplified("i<3", "(i//4)%6", "0");
    check_simplified("i<3 j<4", "i*4+j+7", "i*4+j+7");
    check_simplified("i<4 j<4", "i*j", "i*j"); /* not detected: as it was */
    check_simplified("i<40", "(i+3)//8, (i+3)%8", "(i+3)//8, (i+3)%8");
}

static void a_sum_is_normalised_by_scale(void **state)
{
    Scope sc = sc_new("i<4 j<8 k<3");
    ml_IterSum s;
    assert_true(ml_iter_normalize(
        sc.ar, sc_expr(&sc, "k + i*j + j*12 + i//2*4 + i%2*2 + m"), sc.dom, 3, &s));
    assert_int_equal(s.n, 3);
    assert_ptr_equal(s.digits[0].mark->var, sc.dom[1].var);
    assert_ptr_equal(s.digits[1].mark->var, sc.dom[0].var);
    assert_true(ml_is_int(s.digits[1].scale, 2));
    assert_true(ml_is_int(s.digits[2].scale, 1));
    assert_true(ml_expr_uses_var(s.base, sc_var(&sc, "m", 1)));
    sc_free(&sc);
}

static void the_inverse_of_the_worked_example(void **state)
{
    Scope sc = sc_new("i<8 j<6");
    ml_IterMap m = detect(&sc, "(i*6+j)//4, (i*6+j)%4", NULL, ML_BIJECTIVE);
    const ml_Expr *z[2] = {sc_expr(&sc, "z0"), sc_expr(&sc, "z1")};
    ml_Map *inv = ml_map_new(sc.cx);
    assert_true(ml_iter_inverse(sc.ar, &m, z, inv));
    assert_ptr_equal(ml_map_get(inv, sc.dom[0].var->uid), sc_expr(&sc, "(z0*4+z1)//6"));
    const ml_Expr *j = ml_map_get(inv, sc.dom[1].var->uid);
    sc.at[2] = 7, sc.at[3] = 3;
    assert_int_equal(sc_eval(&sc, j), 31 % 6);
    m = detect(&sc, "i*5+j", NULL, ML_SURJECTIVE); /* overlapping: no mixed radix */
    assert_true(m.ok);
    assert_false(ml_iter_inverse(sc.ar, &m, z, ml_map_new(sc.cx)));
    sc_free(&sc);
}

static void digits_that_the_predicate_leaves_one_value_are_inverted(void **state)
{
    Scope sc = sc_new("i<46 j<8");
    ml_IterMap m = detect(&sc, "(i//2)%2116, (i+6)%2, j//4",
                          "(i%46)//2<=4 and i-3>=5 and j>=6 and j<7", ML_BIJECTIVE);
    const ml_Expr *z[3] = {sc_expr(&sc, "z0"), sc_expr(&sc, "z1"), sc_expr(&sc, "z2")};
    ml_Map *inv = ml_map_new(sc.cx);

    assert_true(m.ok);
    assert_true(ml_iter_inverse(sc.ar, &m, z, inv));
    const ml_Expr *i = ml_map_get(inv, sc.dom[0].var->uid);
    assert_non_null(i);
    sc.at[2] = 4, sc.at[3] = 1, sc.at[4] = 1; /* i = 9: its upper digit is 4 */
    assert_int_equal(sc_eval(&sc, i), 9);
    assert_true(ml_is_int(ml_map_get(inv, sc.dom[1].var->uid), 6));
    sc_free(&sc);
}

/* ---- division */

static ml_Division divide(Scope *sc, const char *bindings, const char *pred,
                          const char *inner)
{
    const ml_Expr **idx = ML_ARRAY(sc->cx, const ml_Expr *, 8);
    const ml_Var *in[2] = {sc_var(sc, inner, strlen(inner))};
    size_t n = sc_list(sc, bindings, idx);

    return ml_subspace_divide(sc->ar, idx, n, sc->dom, sc->n_dom, in, 1,
                              pred ? sc_expr(sc, pred) : NULL, ML_SURJECTIVE);
}

static void check_part(Scope *sc, ml_IterPart p, const char *value, int64_t min,
                       int64_t extent)
{
    const ml_Expr *want = sc_expr(sc, value);
    if (p.value != want && !ml_prove_equal(sc->ar, p.value, want))
        fail_msg("a part is not %s", value);
    assert_true(ml_is_int(p.min, min));
    assert_true(ml_is_int(p.extent, extent));
}

static void a_plain_split_divides(void **state) /* D1 */
{
    Scope sc = sc_new("i<4 j<8");
    ml_Division d = divide(&sc, "i*8+j", NULL, "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "i", 0, 4);
    check_part(&sc, d.inner[0], "j", 0, 8);
    assert_true(ml_is_true(d.outer_pred) && ml_is_true(d.inner_pred));
    sc_free(&sc);
}

static void what_cannot_be_divided_is_refused(void **state) /* D2, D3, D5, D8 */
{
    Scope sc = sc_new("j<8 i<4");
    assert_false(divide(&sc, "j*4+i", NULL, "j").ok);
    sc_free(&sc);
    sc = sc_new("i<8 j<6");
    assert_false(divide(&sc, "(i*6+j)//4, (i*6+j)%4", NULL, "j").ok);
    assert_false(divide(&sc, "(i*6+j)//4", NULL, "j").ok);
    sc_free(&sc);
    sc = sc_new("i<4 j<8");
    assert_false(divide(&sc, "i*8+j", "i*8+j<30", "j").ok);
    sc_free(&sc);
}

static void a_fused_dividend_divides_by_its_prefix(void **state) /* D4 */
{
    Scope sc = sc_new("i<6 j<8");
    ml_Division d = divide(&sc, "(i*8+j)//4, (i*8+j)%4", NULL, "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "i", 0, 6);
    check_part(&sc, d.inner[0], "j//4", 0, 2);
    check_part(&sc, d.outer[1], "0", 0, 1);
    check_part(&sc, d.inner[1], "j%4", 0, 4);
    sc_free(&sc);
}

static void a_predicate_of_one_side_stays_with_it(void **state) /* D6, D7 */
{
    Scope sc = sc_new("a<3 b<4 j<8");
    ml_Division d = divide(&sc, "(a*4+b)*8+j", "a*4+b<10", "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "a*4+b", 0, 10);
    check_part(&sc, d.inner[0], "j", 0, 8);
    assert_ptr_equal(d.outer_pred, sc_expr(&sc, "a*4+b<10"));
    assert_true(ml_is_true(d.inner_pred));
    d = divide(&sc, "(a*4+b)*8+j", "2<=a*4+b", "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "a*4+b", 2, 10);
    check_part(&sc, d.inner[0], "j", 0, 8);
    assert_ptr_equal(d.outer_pred, sc_expr(&sc, "2<=a*4+b"));
    sc_free(&sc);
}

static void a_base_goes_to_the_outer_part_when_it_divides(void **state) /* D7a */
{
    Scope sc = sc_new("i<4 j<8");
    ml_Division d = divide(&sc, "i+5, j", NULL, "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "i+5", 5, 4);
    check_part(&sc, d.inner[0], "0", 0, 1);
    check_part(&sc, d.outer[1], "0", 0, 1);
    check_part(&sc, d.inner[1], "j", 0, 8);
    d = divide(&sc, "i*8+j+3", NULL, "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "i", 0, 4);
    check_part(&sc, d.inner[0], "j+3", 3, 8);
    sc_free(&sc);
}

static void bindings_of_one_side_need_no_affinity(void **state) /* D9 */
{
    Scope sc = sc_new("i<4 j<8");
    ml_Division d = divide(&sc, "i*i, j", NULL, "j");
    assert_true(d.ok);
    assert_ptr_equal(d.outer[0].value, sc_expr(&sc, "i*i"));
    check_part(&sc, d.inner[0], "0", 0, 1);
    check_part(&sc, d.inner[1], "j", 0, 8);
    assert_false(divide(&sc, "i*i, j", "j<5", "j").ok);
    assert_false(divide(&sc, "i*j, j", NULL, "j").ok);
    sc_free(&sc);
}

static void a_narrowed_iterator_keeps_its_predicate(void **state)
{
    Scope sc = sc_new("i<4 j<8");
    ml_Division d = divide(&sc, "i, j", "j<5 and i>=1", "j");
    assert_true(d.ok);
    check_part(&sc, d.outer[0], "i", 1, 3);
    check_part(&sc, d.inner[1], "j", 0, 5);
    assert_ptr_equal(d.outer_pred, sc_expr(&sc, "i>=1"));
    assert_ptr_equal(d.inner_pred, sc_expr(&sc, "j<5"));
    sc_free(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_detection_holds),
        cmocka_unit_test(a_symbolic_divisor_splits_a_multiple_of_it),
        cmocka_unit_test(a_free_symbol_goes_to_the_base),
        cmocka_unit_test(predicates_may_nest_and_be_likely),
        cmocka_unit_test(the_order_of_conjuncts_does_not_matter),
        cmocka_unit_test(constraints_nest_through_divisions),
        cmocka_unit_test(two_constraints_on_one_unused_iterator_are_refused),
        cmocka_unit_test(an_unreached_constraint_must_be_satisfiable),
        cmocka_unit_test(an_overflow_is_a_refusal),
        cmocka_unit_test(an_expression_of_endless_sharing_is_refused),
        cmocka_unit_test(empty_and_unit_iterators),
        cmocka_unit_test(indices_are_rewritten_through_their_map),
        cmocka_unit_test(a_sum_is_normalised_by_scale),
        cmocka_unit_test(the_inverse_of_the_worked_example),
        cmocka_unit_test(digits_that_the_predicate_leaves_one_value_are_inverted),
        cmocka_unit_test(a_plain_split_divides),
        cmocka_unit_test(what_cannot_be_divided_is_refused),
        cmocka_unit_test(a_fused_dividend_divides_by_its_prefix),
        cmocka_unit_test(a_predicate_of_one_side_stays_with_it),
        cmocka_unit_test(a_base_goes_to_the_outer_part_when_it_divides),
        cmocka_unit_test(bindings_of_one_side_need_no_affinity),
        cmocka_unit_test(a_narrowed_iterator_keeps_its_predicate),
    };
    return cmocka_run_group_tests_name("core/arith/iter_map", tests, NULL, NULL);
}
