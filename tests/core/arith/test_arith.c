/*
 * test_arith - the acceptance rows R1 to R20 of ir-and-analysis 3.9, one test each, and the
 * small cases that errors left behind.
 */
#include <stdio.h>

#include "core/core_test.h"

#include "moonloop/core/arith/arith.h"

typedef struct Fix {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Expr *i, *j, *k, *n;
} Fix;

static int setup(void **state)
{
    static Fix f;

    f.cx = ml_ctx_new(0);
    f.ar = ml_arith_new(f.cx);
    f.i = ml_var(f.cx, ml_var_new(f.cx, "i", ML_DT_I32));
    f.j = ml_var(f.cx, ml_var_new(f.cx, "j", ML_DT_I32));
    f.k = ml_var(f.cx, ml_var_new(f.cx, "k", ML_DT_I32));
    f.n = ml_var(f.cx, ml_var_new(f.cx, "n", ML_DT_I32));
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    Fix *f = *state;

    ml_ctx_unref(f->cx);
    return 0;
}

static void range(Fix *f, const ml_Expr *v, int64_t min, int64_t extent)
{
    ml_arith_bind_range(f->ar, v->as.var, ml_i32(f->cx, min), ml_i32(f->cx, extent));
}

/* ---- notation: infix would be nicer */
#define ADD(a, b)     ml_add(f->cx, a, b)
#define SUB(a, b)     ml_sub(f->cx, a, b)
#define MUL(a, b)     ml_mul(f->cx, a, b)
#define FDIV(a, b)    ml_floordiv(f->cx, a, b)
#define FMOD(a, b)    ml_floormod(f->cx, a, b)
#define LIT(x)        ml_i32(f->cx, x)
#define RAW(op, a, b) ml_raw_binary(f->cx, ML_EXPR_##op, a, b)

static int prec(const ml_Expr *e)
{
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD:
    case ML_EXPR_SUB: return 5;
    case ML_EXPR_MUL:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: return 6;
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_EQ:
    case ML_EXPR_NE: return 4;
    case ML_EXPR_AND: return 2;
    case ML_EXPR_OR: return 1;
    default: return 9;
    }
}

static void put(char *out, const char *s)
{
    size_t n = strlen(out);

    assert_true(n + strlen(s) < 500);
    memcpy(out + n, s, strlen(s) + 1);
}

static void print(const ml_Expr *e, char *out, int above)
{
    static const char *const op[ML_EXPR_KINDS] = {
        [ML_EXPR_ADD] = "+",       [ML_EXPR_SUB] = "-",      [ML_EXPR_MUL] = "*",
        [ML_EXPR_FLOORDIV] = "//", [ML_EXPR_FLOORMOD] = "%", [ML_EXPR_LT] = "<",
        [ML_EXPR_LE] = "<=",       [ML_EXPR_EQ] = "==",      [ML_EXPR_NE] = "!=",
        [ML_EXPR_AND] = " and ",   [ML_EXPR_OR] = " or "};
    char num[32];

    if (e->kind == ML_EXPR_INT) {
        (void)snprintf(num, sizeof(num), "%lld", (long long)e->as.i);
        put(out, ml_dtype_is_bool(e->type) ? (e->as.i ? "true" : "false") : num);
    } else if (e->kind == ML_EXPR_VAR) {
        put(out, e->as.var->hint);
    } else if (op[e->kind]) {
        bool paren = prec(e) < above;
        if (paren)
            put(out, "(");
        print(e->args[0], out, prec(e));
        put(out, op[e->kind]);
        print(e->args[1], out, prec(e) + 1);
        if (paren)
            put(out, ")");
    } else {
        put(out, e->kind == ML_EXPR_CALL ? e->as.op->name : ml_expr_kind_name(e->kind));
        put(out, "(");
        for (uint16_t k = 0; k < e->n_args; k++) {
            if (k)
                put(out, ", ");
            print(e->args[k], out, 0);
        }
        put(out, ")");
    }
}

static void check(const ml_Expr *e, const char *want)
{
    char buf[512] = "";

    print(e, buf, 0);
    assert_string_equal(buf, want);
}

static void simplified(Fix *f, const ml_Expr *e, const char *want)
{
    check(ml_simplify(f->ar, e), want);
}

static void r1_division_of_a_mixed_radix_number(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = ADD(MUL(f->i, LIT(4)), f->j);

    range(f, f->j, 0, 4);
    simplified(f, FDIV(e, LIT(4)), "i");
    simplified(f, FMOD(e, LIT(4)), "j");
}

static void r2_small_remainder_drops_out(void **state)
{
    Fix *f = *state;

    range(f, f->k, 0, 4);
    simplified(f, FDIV(ADD(ADD(MUL(f->i, LIT(12)), MUL(f->j, LIT(4))), f->k), LIT(4)),
               "i*3+j");
}

static void r3_common_digit_of_sum_and_divisor(void **state)
{
    Fix *f = *state;

    range(f, f->j, 0, 8);
    simplified(f, FDIV(ADD(MUL(f->i, LIT(8)), f->j), LIT(16)), "i//2");
}

static void r4_digits_recombine(void **state)
{
    Fix *f = *state;

    simplified(f, ADD(MUL(FDIV(f->i, LIT(4)), LIT(4)), FMOD(f->i, LIT(4))), "i");
    simplified(f, ADD(MUL(FDIV(FMOD(f->i, LIT(12)), LIT(4)), LIT(4)), FMOD(f->i, LIT(4))),
               "i%12");
    simplified(
        f,
        ADD(MUL(FDIV(f->i, LIT(6)), LIT(6)), MUL(FDIV(FMOD(f->i, LIT(6)), LIT(3)), LIT(3))),
        "i//3*3");
    /* the lower digit's index may have been shortened */
    const ml_Expr *x = ADD(MUL(f->i, LIT(256)), f->j), *y = ADD(MUL(f->i, LIT(32)), f->j);

    simplified(f, ADD(MUL(FDIV(x, LIT(56)), LIT(56)), FMOD(y, LIT(56))), "i*256+j");
    x = ADD(MUL(FMOD(f->i, LIT(14)), LIT(8)), f->j);
    y = ADD(MUL(f->i, LIT(8)), f->j);
    simplified(f,
               ADD(MUL(FDIV(f->i, LIT(14)), LIT(112)),
                   ADD(MUL(FDIV(x, LIT(56)), LIT(56)), FMOD(y, LIT(56)))),
               "i*8+j");
}

static void r5_literal_parts_fold(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = ADD(MUL(f->i, LIT(6)), LIT(4));

    simplified(f, FMOD(e, LIT(3)), "1");
    simplified(f, FDIV(e, LIT(3)), "i*2+1");
}

static void r6_the_four_divisions_of_negative_literals(void **state)
{
    Fix *f = *state;

    simplified(f, RAW(FLOORDIV, LIT(-1), LIT(4)), "-1");
    simplified(f, RAW(FLOORMOD, LIT(-1), LIT(4)), "3");
    simplified(f, RAW(DIV, LIT(-1), LIT(4)), "0");
    simplified(f, RAW(MOD, LIT(-5), LIT(3)), "-2");
}

static void r7_min_and_max_by_bounds_and_differences(void **state)
{
    Fix *f = *state;

    simplified(f, ml_max(f->cx, MUL(f->i, LIT(4)), ADD(MUL(f->i, LIT(4)), LIT(3))),
               "i*4+3");
    range(f, f->i, 0, 8);
    simplified(f, ml_min(f->cx, f->i, LIT(15)), "i");
}

static void r8_a_comparison_loses_its_low_digit(void **state)
{
    Fix *f = *state;

    range(f, f->j, 0, 8);
    simplified(f, ml_lt(f->cx, ADD(MUL(f->i, LIT(8)), f->j), LIT(64)), "i<8");
}

static void r9_bounds_prove_what_holds_and_no_more(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = ADD(MUL(f->i, LIT(4)), f->j);

    range(f, f->i, 0, 8);
    range(f, f->j, 0, 4);
    assert_true(ml_prove(f->ar, ml_lt(f->cx, e, LIT(32))));
    assert_false(ml_prove(f->ar, ml_le(f->cx, e, LIT(30))));
}

static void r10_rounding_up_is_not_smaller(void **state)
{
    Fix *f = *state;
    const ml_Expr *up = MUL(FDIV(ADD(f->n, LIT(15)), LIT(16)), LIT(16));

    assert_true(ml_prove(f->ar, ml_ge(f->cx, up, f->n)));
    assert_false(ml_prove(f->ar, ml_gt(f->cx, up, f->n)));
}

/* (n + p)//q <= (n + r)//s*t + u is shown for tiles of tiles, and only where it holds. */
static void quotients_of_both_sides_are_compared(void **state)
{
    static const int must[][5] = {
        {1, 2, 3, 4, 2}, {15, 16, 63, 64, 4}, {9, 8, 25, 24, 3}, {3, 2, 25, 24, 12}};
    Fix *f = *state;
    uint32_t x = 7, shown = 0;

    ml_arith_bind_lower(f->ar, f->n->as.var, 0);
    for (int k = 0; k < 4000; k++) {
        int64_t v[6] = {0};

        for (int j = 0; j < 6; j++) {
            x = x * 1664525U + 1013904223U;
            v[j] = (int64_t)(x >> 16) % (j == 5 ? 3 : 9) + (j == 1 || j == 3 || j == 4);
        }
        for (int j = 0; j < 5 && k < 4; j++)
            v[j] = must[k][j];
        v[5] = k < 4 ? 0 : v[5] - 1;
        const ml_Expr *a = FDIV(ADD(f->n, LIT(v[0])), LIT(v[1]));
        const ml_Expr *b =
            ADD(MUL(FDIV(ADD(f->n, LIT(v[2])), LIT(v[3])), LIT(v[4])), LIT(v[5]));
        bool holds = true, le = ml_prove_le_expr(f->ar, a, b);

        for (int64_t n = 0; n < 200; n++)
            holds &= (n + v[0]) / v[1] <= (n + v[2]) / v[3] * v[4] + v[5];
        assert_true(holds || !le);
        assert_true(le || k >= 4);
        shown += le;
    }
    assert_true(shown > 500);
}

static void r11_an_assumption_is_used_in_other_words(void **state)
{
    Fix *f = *state;
    const ml_Expr *q = ml_le(f->cx, f->i, SUB(f->n, LIT(1)));

    assert_false(ml_prove(f->ar, q));
    ml_ArithMark m = ml_arith_save(f->ar);
    ml_arith_assume(f->ar, ml_lt(f->cx, f->i, f->n));
    assert_true(ml_prove(f->ar, q));
    ml_arith_restore(f->ar, m);
    assert_false(ml_prove(f->ar, q));
}

static void r12_the_remainder_of_multiples_is_a_multiple(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = FMOD(ADD(MUL(f->i, LIT(96)), MUL(f->j, LIT(12))), LIT(132));
    ml_Bound b = ml_arith_bound(f->ar, e);

    assert_int_equal(b.lo, 0);
    assert_int_equal(b.hi, 120);
}

static void r13_a_symbolic_factor_cancels(void **state)
{
    Fix *f = *state;

    ml_arith_bind_lower(f->ar, f->n->as.var, 0);
    simplified(f, FDIV(MUL(f->i, f->n), f->n), "i");
    simplified(f, FMOD(MUL(f->i, f->n), f->n), "0");
}

static void a_multiple_of_a_symbolic_sum_is_divided(void **state)
{
    Fix *f = *state;
    const ml_Expr *d = ADD(f->n, LIT(2)), *x = ADD(MUL(f->n, LIT(3)), LIT(6));

    ml_arith_bind_lower(f->ar, f->n->as.var, 0);
    simplified(f, FDIV(x, d), "3");
    simplified(f, FMOD(x, d), "0");
    simplified(f, FMOD(ADD(x, LIT(1)), d), "1");
    simplified(f, FDIV(ADD(x, LIT(1)), d), "3");
    simplified(f, FDIV(ADD(MUL(f->i, f->n), MUL(f->i, LIT(2))), d), "i");
    simplified(f, FDIV(SUB(f->n, LIT(1)), f->n), "0");
    simplified(f, FDIV(SUB(ADD(MUL(f->i, f->n), f->n), LIT(1)), f->n), "i");
    simplified(f, FDIV(ADD(MUL(f->n, LIT(12)), LIT(24)), MUL(d, LIT(4))), "3");
    simplified(f, FDIV(ADD(MUL(f->n, LIT(3)), LIT(5)), d), "2");
}

static void r14_equal_terms_cancel(void **state)
{
    Fix *f = *state;

    simplified(f, SUB(SUB(MUL(f->i, LIT(3)), MUL(f->i, LIT(2))), f->i), "0");
    simplified(f, SUB(ADD(f->i, LIT(5)), ADD(f->i, LIT(2))), "3");
}

static void r15_a_narrowing_cast_may_wrap(void **state)
{
    Fix *f = *state;

    range(f, f->i, 0, 301);
    ml_Bound b = ml_arith_bound(f->ar, ml_cast(f->cx, ML_DT(ML_INT, 8), f->i));
    assert_int_equal(b.lo, -128);
    assert_int_equal(b.hi, 127);
}

static void r16_multiples_are_recognised(void **state)
{
    Fix *f = *state;

    assert_true(ml_prove(f->ar, ml_eq(f->cx, FMOD(MUL(f->n, LIT(4)), LIT(4)), LIT(0))));
    assert_false(ml_prove(f->ar, ml_eq(f->cx, FMOD(f->n, LIT(4)), LIT(0))));
}

static void r17_an_assumed_residue_gives_smaller_ones(void **state)
{
    Fix *f = *state;

    ml_arith_assume(f->ar, ml_eq(f->cx, FMOD(f->n, LIT(8)), LIT(4)));
    simplified(f, FMOD(f->n, LIT(4)), "0");
}

static void r18_a_divisor_that_simplifies_to_zero_is_left_alone(void **state)
{
    Fix *f = *state;

    /* dividing by a literal 0 is refused at construction; one that only turns out to be 0
     * must not be built */
    const ml_Expr *e = FDIV(f->i, SUB(f->n, f->n));
    assert_int_equal(ml_simplify(f->ar, e)->kind, ML_EXPR_FLOORDIV);
    e = RAW(FLOORMOD, f->i, RAW(SUB, f->j, f->j));
    assert_int_equal(ml_rewrite(f->ar, e)->kind, ML_EXPR_FLOORMOD);
}

static void r19_terms_are_emitted_in_a_fixed_order(void **state)
{
    Fix *f = *state;

    simplified(f, ADD(SUB(ADD(LIT(3), f->j), MUL(f->k, LIT(2))), MUL(f->i, LIT(16))),
               "i*16+j+3-k*2");
}

static void r20_likely_of_a_known_fact_is_true(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = ml_likely(f->cx, ml_lt(f->cx, f->i, LIT(8)));

    simplified(f, e, "likely(i<8)");
    ml_arith_assume(f->ar, e);
    simplified(f, e, "true");
    simplified(f, ml_lt(f->cx, f->i, LIT(8)), "true");
    simplified(f, ml_ge(f->cx, f->i, LIT(8)), "false");
}

static void an_arm_is_simplified_under_its_condition(void **state)
{
    Fix *f = *state;
    const ml_Expr *c = ml_lt(f->cx, f->i, LIT(4));

    range(f, f->i, 0, 8);
    simplified(f, ml_if_then_else(f->cx, c, ml_min(f->cx, f->i, LIT(4)), f->j),
               "if_then_else(i<4, i, j)");
    simplified(f, ml_select(f->cx, c, f->j, ml_max(f->cx, f->i, LIT(4))),
               "Select(i<4, j, i)");
}

static void constants_that_do_not_fit_are_not_made(void **state)
{
    Fix *f = *state;
    const ml_Expr *big = LIT(2147483647);

    (void)ml_simplify(f->ar, MUL(ADD(f->i, big), LIT(2)));
    (void)ml_simplify(f->ar, FDIV(FDIV(f->i, LIT(65536)), LIT(65536)));
    (void)ml_simplify(f->ar, ml_lt(f->cx, FDIV(f->i, big), big));
    (void)ml_simplify(f->ar, SUB(SUB(f->i, LIT(-2147483647)), LIT(-2147483647)));
    assert_false(ml_ctx_overflowed(f->cx));
}

static void casts_to_wider_indices_go_into_the_terms(void **state)
{
    Fix *f = *state;
    const ml_Expr *wide = ml_cast(f->cx, ML_DT_I64, ADD(MUL(f->i, LIT(4)), f->j));
    const ml_Expr *four = ml_int(f->cx, ML_DT_I64, 4);

    range(f, f->j, 0, 4);
    simplified(f, FDIV(wide, four), "Cast(i)");
    simplified(f, FMOD(wide, four), "Cast(j)");
}

static void symbolic_split_of_an_index(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = ADD(MUL(f->i, f->n), f->j);

    ml_arith_bind_range(f->ar, f->j->as.var, LIT(0), f->n);
    simplified(f, FDIV(e, f->n), "i");
    simplified(f, FMOD(e, f->n), "j");
}

static void min_and_max_in_comparisons_become_and_and_or(void **state)
{
    Fix *f = *state;

    simplified(f, ml_lt(f->cx, f->k, ml_min(f->cx, f->i, f->j)), "k<i and k<j");
    simplified(f, ml_le(f->cx, ml_min(f->cx, f->i, f->j), f->k), "i<=k or j<=k");
}

static void quotient_and_remainder_pin_the_dividend(void **state)
{
    Fix *f = *state;
    const ml_Expr *q = ml_eq(f->cx, FDIV(f->i, LIT(4)), LIT(2));

    simplified(f, ml_and(f->cx, q, ml_eq(f->cx, FMOD(f->i, LIT(4)), LIT(3))), "i==11");
}

static void a_binding_made_inside_a_scope_ends_with_it(void **state)
{
    Fix *f = *state;
    const ml_Expr *e = ml_min(f->cx, f->i, LIT(15));
    ml_ArithMark m = ml_arith_save(f->ar);

    range(f, f->i, 0, 8);
    simplified(f, e, "i");
    ml_arith_restore(f->ar, m);
    check(ml_simplify(f->ar, e), "Min(i, 15)");
    range(f, f->i, 20, 8);
    simplified(f, e, "15");
}

static void rebinding_forgets_the_symbolic_range(void **state)
{
    Fix *f = *state;
    const ml_Expr *p = ml_lt(f->cx, f->i, f->n);

    ml_arith_bind_range(f->ar, f->i->as.var, LIT(0), f->n);
    assert_true(ml_prove(f->ar, p));
    range(f, f->i, 0, 8);
    assert_false(ml_prove(f->ar, p));
}

static void a_variable_bound_to_itself_is_unknown(void **state)
{
    Fix *f = *state;

    ml_arith_bind_value(f->ar, f->i->as.var, ADD(f->i, LIT(1)));
    simplified(f, ADD(f->i, LIT(1)), "i+1");
    ml_arith_bind_value(f->ar, f->j->as.var, f->k);
    ml_arith_bind_value(f->ar, f->k->as.var, f->j);
    simplified(f, ADD(f->j, f->k), "k*2");
}

static void an_interval_proves_over_symbolic_ranges(void **state)
{
    Fix *f = *state;
    const ml_Expr *x = ADD(MUL(f->i, LIT(4)), f->j);

    ml_arith_bind_lower(f->ar, f->n->as.var, 1);
    ml_arith_bind_range(f->ar, f->i->as.var, LIT(0), f->n);
    range(f, f->j, 0, 4);
    assert_true(ml_prove_symbolic(f->ar, ml_lt(f->cx, x, MUL(f->n, LIT(4)))));
    assert_true(ml_prove_symbolic(f->ar, ml_ge(f->cx, x, LIT(0))));
    assert_false(ml_prove_symbolic(f->ar, ml_lt(f->cx, x, SUB(MUL(f->n, LIT(4)), LIT(1)))));
}

static void ends_of_clipped_windows_compare_by_cases(void **state)
{
    Fix *f = *state;
    const ml_Expr *twice = MUL(f->i, LIT(2));
    const ml_Expr *read = ADD(ml_min(f->cx, SUB(twice, LIT(7)), LIT(0)), LIT(10));
    const ml_Expr *written =
        SUB(ADD(twice, LIT(10)), MUL(ml_max(f->cx, f->i, LIT(3)), LIT(2)));

    range(f, f->i, 0, 5);
    assert_true(ml_prove_le_cases(f->ar, read, written));
    assert_false(ml_prove_le_cases(f->ar, ADD(read, LIT(2)), written));
    assert_false(ml_prove_le_cases(f->ar, written, read));
}

static void parameter_dimensions_are_not_negative(void **state)
{
    Fix *f = *state;
    const ml_Expr *shape[2] = {f->n, SUB(MUL(f->k, LIT(2)), LIT(3))};
    ml_FuncParam param = {.buffer =
                              ml_buffer_new(f->cx, "A", ML_DT_F32, shape, 2, "global")};
    param.var = param.buffer->data;
    ml_Func fn = {.name = "main", .n_params = 1, .params = &param};

    ml_arith_bind_params(f->ar, &fn);
    assert_int_equal(ml_arith_bound(f->ar, f->n).lo, 0);
    /* 2k - 3 >= 0 for integers is k >= 2 */
    assert_int_equal(ml_arith_bound(f->ar, f->k).lo, 2);
    assert_int_equal(ml_arith_bound(f->ar, f->j).lo, INT32_MIN);
}

static void ramps_and_broadcasts_are_added_lane_by_lane(void **state)
{
    Fix *f = *state;
    ml_Ctx *cx = f->cx;
    const ml_Expr *r = ml_ramp(cx, MUL(f->i, LIT(8)), LIT(1), 4);
    const ml_Expr *four = ml_broadcast(cx, LIT(4), 4), *eight = ml_broadcast(cx, LIT(8), 4);

    assert_ptr_equal(ml_simplify(f->ar, ml_add(cx, r, four)),
                     ml_ramp(cx, ADD(MUL(f->i, LIT(8)), LIT(4)), LIT(1), 4));
    assert_ptr_equal(ml_simplify(f->ar, ml_mul(cx, r, four)),
                     ml_ramp(cx, MUL(f->i, LIT(32)), LIT(4), 4));
    /* all lanes are in one block of 8 */
    assert_ptr_equal(ml_simplify(f->ar, ml_floordiv(cx, r, eight)),
                     ml_broadcast(cx, f->i, 4));
    assert_ptr_equal(ml_simplify(f->ar, ml_floormod(cx, r, eight)),
                     ml_ramp(cx, LIT(0), LIT(1), 4));
    /* lanes that cross a block stay */
    const ml_Expr *odd = ml_ramp(cx, ADD(MUL(f->i, LIT(8)), LIT(6)), LIT(1), 4);
    assert_int_equal(ml_simplify(f->ar, ml_floordiv(cx, odd, eight))->kind,
                     ML_EXPR_FLOORDIV);
}

static void unsigned_arithmetic_keeps_what_wrapping_would_change(void **state)
{
    Fix *f = *state;
    ml_Ctx *cx = f->cx;
    ml_Dtype u8 = ML_DT(ML_UINT, 8);
    const ml_Expr *u = ml_var(cx, ml_var_new(cx, "u", u8));
    const ml_Expr *e = ml_sub(cx, ml_add(cx, u, ml_int(cx, u8, 200)), ml_int(cx, u8, 200));

    assert_ptr_equal(ml_simplify(f->ar, e), e);
    assert_int_equal(ml_arith_bound(f->ar, ml_add(cx, u, ml_int(cx, u8, 200))).lo, 0);
    assert_int_equal(ml_arith_bound(f->ar, ml_mul(cx, u, u)).hi, 255);
    assert_true(ml_is_int(ml_simplify(f->ar, ml_floordiv(cx, u, u)), 1));
    assert_true(ml_is_int(ml_simplify(f->ar, ml_floormod(cx, u, u)), 0));
    const ml_Expr *six = ml_int(cx, u8, 6), *four = ml_int(cx, u8, 4),
                  *two = ml_int(cx, u8, 2);
    /* 6u wraps modulo 256: even, but nothing modulo 3 */
    e = ml_floormod(cx, ml_mul(cx, u, six), two);
    assert_true(ml_is_int(ml_simplify(f->ar, e), 0));
    e = ml_floormod(cx, ml_mul(cx, u, six), ml_int(cx, u8, 3));
    assert_ptr_equal(ml_simplify(f->ar, e), e);
    /* 4u < 4v does not say u < v */
    const ml_Expr *v = ml_var(cx, ml_var_new(cx, "v", u8));
    e = ml_lt(cx, ml_mul(cx, u, four), ml_mul(cx, v, four));
    assert_ptr_equal(ml_simplify(f->ar, e), e);
}

static void floats_pass_through_and_indices_inside_are_simplified(void **state)
{
    Fix *f = *state;
    ml_Ctx *cx = f->cx;
    const ml_Expr *shape[1] = {LIT(64)};
    const ml_Buffer *b = ml_buffer_new(cx, "A", ML_DT_F32, shape, 1, "global");
    const ml_Expr *raw = ADD(SUB(f->i, f->j), f->j), *idx[1] = {raw}, *want[1] = {f->i};
    const ml_Expr *x = ml_load(cx, b, idx, 1), *y = ml_load(cx, b, want, 1);

    assert_ptr_equal(ml_simplify(f->ar, ml_sub(cx, ml_add(cx, x, x), x)),
                     ml_sub(cx, ml_add(cx, y, y), y));
    /* a NaN is not less, nor not less: no negation is moved into the comparison */
    const ml_Expr *e = ml_not(cx, ml_lt(cx, y, ml_float(cx, ML_DT_F32, 1.0)));
    assert_ptr_equal(ml_simplify(f->ar, e), e);
}

/* An arm of select is evaluated whether chosen or not: what its condition says may not make
 * a division by zero or an access out of bounds of it. */
static void the_arms_of_select_stay_safe(void **state)
{
    Fix *f = *state;
    ml_Ctx *cx = f->cx;
    const ml_Expr *shape[1] = {LIT(4)};
    const ml_Buffer *b = ml_buffer_new(cx, "A", ML_DT_F32, shape, 1, "global");
    const ml_Expr *idx[1] = {ml_min(cx, f->i, LIT(3))};
    const ml_Expr *e = ml_select(cx, ml_lt(cx, f->i, LIT(4)), ml_load(cx, b, idx, 1),
                                 ml_float(cx, ML_DT_F32, 0));

    range(f, f->i, 0, 8);
    assert_ptr_equal(ml_simplify(f->ar, e), e);
    const ml_Expr *d =
        ml_select(cx, ml_lt(cx, LIT(0), f->j), f->j, FDIV(f->i, ml_max(cx, f->j, LIT(1))));
    check(ml_simplify(f->ar, d), "Select(0<j, j, i//Max(j, 1))");
}

static void products_of_sums_are_compared_multiplied_out(void **state)
{
    Fix *f = *state;
    const ml_Expr *x = ADD(MUL(ADD(MUL(f->i, f->n), f->j), f->k), f->k);
    const ml_Expr *y = MUL(ADD(ADD(MUL(f->n, f->i), f->j), LIT(1)), f->k);

    assert_true(ml_prove_equal(f->ar, x, y));
    assert_false(ml_prove_equal(f->ar, x, ADD(y, f->k)));
    assert_true(ml_prove_lt_expr(f->ar, x, ADD(y, LIT(1))));
}

static void facts_on_a_quotient_are_facts_on_the_dividend(void **state)
{
    Fix *f = *state;

    ml_arith_assume(f->ar, ml_eq(f->cx, FDIV(f->i, LIT(4)), LIT(3)));
    ml_Bound b = ml_arith_bound(f->ar, f->i);
    assert_int_equal(b.lo, 12);
    assert_int_equal(b.hi, 15);
    simplified(f, FMOD(f->i, LIT(16)), "i");
}

static void shared_graphs_do_not_take_exponential_time(void **state)
{
    Fix *f = *state;
    ml_Ctx *cx = f->cx;
    const ml_Expr *a = f->i, *b = f->i, *c = f->i, *d = f->i;

    range(f, f->i, 0, 8);
    range(f, f->j, 0, 8);
    for (int k = 1; k < 250; k++) {
        const ml_Expr *t = ml_lt(cx, k % 2 ? f->j : f->k, LIT(k % 8));
        a = ml_min(cx, ADD(a, f->j), ml_max(cx, a, f->k));
        b = ml_select(cx, t, ADD(b, f->j), SUB(b, f->k));
        c = ml_if_then_else(cx, t, ADD(c, f->j), SUB(c, f->k));
        d = FDIV(MUL(ADD(d, f->j), SUB(d, f->k)), LIT(2 + k % 3));
    }
    assert_non_null(ml_simplify(f->ar, a));
    assert_non_null(ml_simplify(f->ar, b));
    assert_non_null(ml_simplify(f->ar, c));
    assert_non_null(ml_simplify(f->ar, d));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(r1_division_of_a_mixed_radix_number),
        T(r2_small_remainder_drops_out),
        T(r3_common_digit_of_sum_and_divisor),
        T(r4_digits_recombine),
        T(r5_literal_parts_fold),
        T(r6_the_four_divisions_of_negative_literals),
        T(r7_min_and_max_by_bounds_and_differences),
        T(r8_a_comparison_loses_its_low_digit),
        T(r9_bounds_prove_what_holds_and_no_more),
        T(r10_rounding_up_is_not_smaller),
        T(r11_an_assumption_is_used_in_other_words),
        T(r12_the_remainder_of_multiples_is_a_multiple),
        T(quotients_of_both_sides_are_compared),
        T(r13_a_symbolic_factor_cancels),
        T(a_multiple_of_a_symbolic_sum_is_divided),
        T(r14_equal_terms_cancel),
        T(r15_a_narrowing_cast_may_wrap),
        T(r16_multiples_are_recognised),
        T(r17_an_assumed_residue_gives_smaller_ones),
        T(r18_a_divisor_that_simplifies_to_zero_is_left_alone),
        T(r19_terms_are_emitted_in_a_fixed_order),
        T(r20_likely_of_a_known_fact_is_true),
        T(an_arm_is_simplified_under_its_condition),
        T(constants_that_do_not_fit_are_not_made),
        T(casts_to_wider_indices_go_into_the_terms),
        T(symbolic_split_of_an_index),
        T(min_and_max_in_comparisons_become_and_and_or),
        T(quotient_and_remainder_pin_the_dividend),
        T(a_binding_made_inside_a_scope_ends_with_it),
        T(rebinding_forgets_the_symbolic_range),
        T(a_variable_bound_to_itself_is_unknown),
        T(ends_of_clipped_windows_compare_by_cases),
        T(an_interval_proves_over_symbolic_ranges),
        T(parameter_dimensions_are_not_negative),
        T(ramps_and_broadcasts_are_added_lane_by_lane),
        T(unsigned_arithmetic_keeps_what_wrapping_would_change),
        T(floats_pass_through_and_indices_inside_are_simplified),
        T(the_arms_of_select_stay_safe),
        T(products_of_sums_are_compared_multiplied_out),
        T(facts_on_a_quotient_are_facts_on_the_dividend),
        T(shared_graphs_do_not_take_exponential_time),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
