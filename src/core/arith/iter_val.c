/*
 * iter_val - arithmetic on the values of iterator maps: plain int64 with overflow checks
 * while both sides are literals, simplified expressions and proofs otherwise. An overflow
 * marks the detection as failed; the value returned then means nothing.
 */
#include "moonloop/core/arith/iter_impl.h"

static ml_ItVal lost(ml_ItState *st)
{
    ml_it_fail(st, ML_ITER_FAIL_NORMALISE, NULL);
    return ml_it_lit(0);
}

ml_ItVal ml_it_val(ml_ItState *st, const ml_Expr *e)
{
    if (ml_is_const_int(e))
        return ml_it_lit(e->as.i);
    if (!ml_dtype_eq(e->type, st->t))
        e = ml_cast(st->cx, st->t, e);
    return (ml_ItVal){e, 0};
}

const ml_Expr *ml_it_expr(ml_ItState *st, ml_ItVal v)
{
    if (v.e)
        return v.e;
    if (!ml_dtype_fits(st->t, v.i)) {
        lost(st);
        return ml_int(st->cx, st->t, 0);
    }
    return ml_int(st->cx, st->t, v.i);
}

static ml_ItVal slow(ml_ItState *st, ml_ExprKind op, ml_ItVal a, ml_ItVal b)
{
    const ml_Expr *e =
        ml_simplify(st->ar, ml_binary(st->cx, op, ml_it_expr(st, a), ml_it_expr(st, b)));
    return ml_it_val(st, e);
}

ml_ItVal ml_it_add(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    int64_t r;

    if (!a.e && !b.e)
        return __builtin_add_overflow(a.i, b.i, &r) ? lost(st) : ml_it_lit(r);
    if (ml_it_is(a, 0))
        return b;
    return ml_it_is(b, 0) ? a : slow(st, ML_EXPR_ADD, a, b);
}

ml_ItVal ml_it_sub(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    int64_t r;

    if (!a.e && !b.e)
        return __builtin_sub_overflow(a.i, b.i, &r) ? lost(st) : ml_it_lit(r);
    if (a.e == b.e && a.e)
        return ml_it_lit(0);
    return ml_it_is(b, 0) ? a : slow(st, ML_EXPR_SUB, a, b);
}

ml_ItVal ml_it_mul(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    int64_t r;

    if (!a.e && !b.e)
        return __builtin_mul_overflow(a.i, b.i, &r) ? lost(st) : ml_it_lit(r);
    if (ml_it_is(a, 1))
        return b;
    if (ml_it_is(b, 1))
        return a;
    if (ml_it_is(a, 0) || ml_it_is(b, 0))
        return ml_it_lit(0);
    return slow(st, ML_EXPR_MUL, a, b);
}

ml_ItVal ml_it_div(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    if (ml_it_is(b, 0))
        return lost(st);
    if (!a.e && !b.e)
        return ml_it_lit(ml_floordiv_i64(a.i, b.i));
    if (a.e == b.e && a.e)
        return ml_it_lit(1);
    if (ml_it_is(b, 1) || ml_it_is(a, 0))
        return a;
    return slow(st, ML_EXPR_FLOORDIV, a, b);
}

ml_ItVal ml_it_mod(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    if (ml_it_is(b, 0))
        return lost(st);
    if (!a.e && !b.e)
        return ml_it_lit(ml_floormod_i64(a.i, b.i));
    if (ml_it_is(b, 1) || (a.e == b.e && a.e) || ml_it_is(a, 0))
        return ml_it_lit(0);
    return slow(st, ML_EXPR_FLOORMOD, a, b);
}

bool ml_it_eq(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    if (!a.e && !b.e)
        return a.i == b.i;
    if (a.e == b.e)
        return true;
    return ml_prove_equal(st->ar, ml_it_expr(st, a), ml_it_expr(st, b));
}

bool ml_it_le(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    if (!a.e && !b.e)
        return a.i <= b.i;
    if (a.e == b.e)
        return true;
    return ml_prove_le_expr(st->ar, ml_it_expr(st, a), ml_it_expr(st, b));
}

bool ml_it_lt(ml_ItState *st, ml_ItVal a, ml_ItVal b)
{
    if (!a.e && !b.e)
        return a.i < b.i;
    if (a.e == b.e)
        return false;
    return ml_prove_lt_expr(st->ar, ml_it_expr(st, a), ml_it_expr(st, b));
}

bool ml_it_divides(ml_ItState *st, ml_ItVal d, ml_ItVal c)
{
    if (ml_it_is(d, 0))
        return false;
    if (!d.e && !c.e)
        return ml_floormod_i64(c.i, d.i) == 0;
    if (ml_it_is(d, 1) || ml_it_is(c, 0) || (d.e == c.e && d.e))
        return true;
    const ml_Expr *r = ml_floormod(st->cx, ml_it_expr(st, c), ml_it_expr(st, d));
    return ml_prove_equal(st->ar, r, ml_int(st->cx, r->type, 0));
}

bool ml_it_positive_divisor(ml_ItState *st, ml_ItVal d)
{
    if (!d.e)
        return d.i >= 1;
    return ml_prove_ge(st->ar, d.e, 0);
}
