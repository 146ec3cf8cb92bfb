/*
 * bound - constant bounds of integer expressions: saturating intervals of int64.
 *
 * An interval holds every value that the expression can take where no divisor in it is 0.
 * Index arithmetic does not overflow by assumption; other integer dtypes wrap, so a result
 * that leaves the dtype gives the dtype's whole range. Source: ir-and-analysis 3.2.
 */
#include "moonloop/core/arith/arith_impl.h"

int64_t ml_sat_add(int64_t a, int64_t b)
{
    int64_t r;

    if (a == ML_INF || b == ML_INF)
        return ML_INF;
    if (a <= -ML_INF || b <= -ML_INF)
        return -ML_INF;
    if (__builtin_add_overflow(a, b, &r))
        return a > 0 ? ML_INF : -ML_INF;
    return r < -ML_INF ? -ML_INF : r;
}

int64_t ml_sat_mul(int64_t a, int64_t b)
{
    int64_t r;

    if (a == 0 || b == 0)
        return 0;
    if (a == ML_INF || b == ML_INF || a <= -ML_INF || b <= -ML_INF ||
        __builtin_mul_overflow(a, b, &r) || r < -ML_INF)
        return (a < 0) == (b < 0) ? ML_INF : -ML_INF;
    return r;
}

static int64_t sat_neg(int64_t a)
{
    return a <= -ML_INF ? ML_INF : -a;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

ml_Bound ml_bound_dtype(ml_Dtype t)
{
    if (ml_dtype_is_bool(t))
        return (ml_Bound){0, 1};
    if (!ml_dtype_is_int(t))
        return ml_bound_all();
    ml_Bound b = {ml_dtype_min(t), ml_dtype_max(t)};
    if (b.lo < -ML_INF)
        b.lo = -ML_INF;
    return b;
}

ml_Bound ml_bound_meet(ml_Bound a, ml_Bound b)
{
    ml_Bound r = {max64(a.lo, b.lo), min64(a.hi, b.hi)};

    return r.lo > r.hi ? b : r;
}

static ml_Bound join_bounds(ml_Bound a, ml_Bound b)
{
    return (ml_Bound){min64(a.lo, b.lo), max64(a.hi, b.hi)};
}

static ml_Bound corners(ml_Bound a, ml_Bound b, int64_t (*op)(int64_t, int64_t))
{
    int64_t p = op(a.lo, b.lo), q = op(a.lo, b.hi), r = op(a.hi, b.lo), s = op(a.hi, b.hi);

    return (ml_Bound){min64(min64(p, q), min64(r, s)), max64(max64(p, q), max64(r, s))};
}

/* Quotients of saturated ends; y is not 0. An infinite divisor drives the quotient to 0
 * from the dividend's side, an infinite dividend to infinity. */
static int64_t sat_floordiv(int64_t x, int64_t y)
{
    bool xi = x == ML_INF || x <= -ML_INF, yi = y == ML_INF || y <= -ML_INF;

    if (xi)
        return (x < 0) == (y < 0) ? ML_INF : -ML_INF;
    if (yi)
        return x == 0 || (x < 0) == (y < 0) ? 0 : -1;
    return ml_floordiv_i64(x, y);
}

static int64_t sat_tdiv(int64_t x, int64_t y)
{
    bool xi = x == ML_INF || x <= -ML_INF, yi = y == ML_INF || y <= -ML_INF;

    if (xi)
        return (x < 0) == (y < 0) ? ML_INF : -ML_INF;
    if (yi)
        return 0;
    return x / y;
}

static ml_Bound bound_div(ml_Bound a, ml_Bound b, int64_t (*op)(int64_t, int64_t))
{
    if (b.lo == 0 && b.hi == 0)
        return ml_bound_all();
    if (b.lo == 0)
        b.lo = 1;
    if (b.hi == 0)
        b.hi = -1;
    if (b.lo < 0 && b.hi > 0)
        return join_bounds(corners(a, (ml_Bound){b.lo, -1}, op),
                           corners(a, (ml_Bound){1, b.hi}, op));
    return corners(a, b, op);
}

static ml_Bound bound_floormod(ml_Bound a, ml_Bound b)
{
    if (b.lo == 0)
        b.lo = b.hi > 0 ? 1 : 0;
    if (b.lo > 0) {
        if (a.lo >= 0 && a.hi < b.lo)
            return a;
        if (b.lo == b.hi && a.lo > -ML_INF && a.hi < ML_INF && b.hi < ML_INF &&
            ml_floordiv_i64(a.lo, b.lo) == ml_floordiv_i64(a.hi, b.lo))
            return (ml_Bound){ml_floormod_i64(a.lo, b.lo), ml_floormod_i64(a.hi, b.lo)};
        int64_t top = b.hi == ML_INF ? ML_INF : b.hi - 1;
        return (ml_Bound){0, a.lo >= 0 ? min64(a.hi, top) : top};
    }
    if (b.lo == 0 && b.hi == 0)
        return ml_bound_all();
    return (ml_Bound){b.lo <= -ML_INF ? -ML_INF : min64(0, b.lo + 1),
                      b.hi == ML_INF ? ML_INF : max64(0, b.hi - 1)};
}

static ml_Bound bound_tmod(ml_Bound a, ml_Bound b)
{
    /* the sign of the divisor does not matter */
    int64_t big = max64(sat_neg(b.lo), b.hi);

    if (b.lo == 0 && b.hi == 0)
        return ml_bound_all();
    if (b.lo > 0 && a.hi < b.lo && a.lo > -b.lo)
        return a;
    int64_t top = big == ML_INF ? ML_INF : big - 1;
    return (ml_Bound){a.lo >= 0 ? 0 : max64(a.lo, sat_neg(top)),
                      a.hi <= 0 ? 0 : min64(a.hi, top)};
}

ml_Bound ml_bound_binary(ml_ExprKind k, ml_Bound a, ml_Bound b)
{
    if (k == ML_EXPR_ADD)
        return (ml_Bound){a.lo == -ML_INF || b.lo == -ML_INF ? -ML_INF
                                                             : ml_sat_add(a.lo, b.lo),
                          ml_sat_add(a.hi, b.hi)};
    if (k == ML_EXPR_SUB)
        return ml_bound_binary(ML_EXPR_ADD, a, (ml_Bound){sat_neg(b.hi), sat_neg(b.lo)});
    if (k == ML_EXPR_MUL)
        return corners(a, b, ml_sat_mul);
    if (k == ML_EXPR_FLOORDIV)
        return bound_div(a, b, sat_floordiv);
    if (k == ML_EXPR_DIV)
        return bound_div(a, b, sat_tdiv);
    if (k == ML_EXPR_FLOORMOD)
        return bound_floormod(a, b);
    if (k == ML_EXPR_MOD)
        return bound_tmod(a, b);
    if (k == ML_EXPR_MIN)
        return (ml_Bound){min64(a.lo, b.lo), min64(a.hi, b.hi)};
    if (k == ML_EXPR_MAX)
        return (ml_Bound){max64(a.lo, b.lo), max64(a.hi, b.hi)};
    return ml_bound_all();
}

ml_Bound ml_bound_floormod(ml_Bound x, ml_Modular mo, int64_t m)
{
    ml_Bound r = bound_floormod(x, (ml_Bound){m, m});
    int64_t g = ml_gcd(mo.coeff, m);

    if (mo.coeff == 0)
        return (ml_Bound){ml_floormod_i64(mo.base, m), ml_floormod_i64(mo.base, m)};
    if (g > 1) {
        int64_t b = ml_floormod_i64(mo.base, g);
        r = ml_bound_meet((ml_Bound){b, m - g + b}, r);
    }
    return r;
}

/* x tmod m, x in x and in mo: residues of both signs. */
static ml_Bound tmod_refined(ml_Bound x, ml_Modular mo, int64_t m)
{
    ml_Bound r = bound_tmod(x, (ml_Bound){m, m});
    int64_t g = ml_gcd(mo.coeff, m);

    if (g > 1) {
        int64_t b = ml_floormod_i64(mo.base, g); /* positive residues: b, b+g, ... */
        int64_t nb = b == 0 ? 0 : g - b;         /* sizes of the negative ones */
        ml_Bound s = {x.lo >= 0        ? b
                      : nb - m + g > 0 ? 0
                                       : -(m - g + nb),
                      x.hi < 0 ? -nb : m - g + b};
        if (x.lo < 0)
            s.lo = -(m - g + nb);
        r = ml_bound_meet(s, r);
    }
    return r;
}

static ml_Bound shift_bound(ml_Arith *ar, const ml_Expr *e, ml_Bound whole)
{
    ml_Bound a = ml_arith_bound(ar, e->args[0]), b = ml_arith_bound(ar, e->args[1]);

    if (b.lo < 0 || b.hi > 62)
        return whole;
    if (ml_is_op(e, ML_OP_SHIFT_LEFT)) {
        if (a.lo < 0)
            return whole;
        return (ml_Bound){ml_sat_mul(a.lo, (int64_t)1 << b.lo),
                          ml_sat_mul(a.hi, (int64_t)1 << b.hi)};
    }
    return bound_div(a, (ml_Bound){(int64_t)1 << b.lo, (int64_t)1 << b.hi}, sat_floordiv);
}

static int64_t ceil_log2(int64_t v) /* v >= 1 */
{
    int64_t k = 0;

    while (k < 62 && ((int64_t)1 << k) < v)
        k++;
    return ((int64_t)1 << k) < v ? 63 : k;
}

/* int(ceil(log2(float(x)))) with x >= 1 */
static bool log2_bound(ml_Arith *ar, const ml_Expr *e, ml_Bound *out)
{
    const ml_Expr *c = e->args[0];

    if (!ml_is_op(c, ML_OP_CEIL) || !ml_is_op(c->args[0], ML_OP_LOG2) ||
        c->args[0]->args[0]->kind != ML_EXPR_CAST)
        return false;
    const ml_Expr *x = c->args[0]->args[0]->args[0];
    ml_Bound b = ml_dtype_is_int(x->type) ? ml_arith_bound(ar, x) : ml_bound_all();
    /* beyond 2^20 the rounding of the logarithm might show */
    if (b.lo < 1 || b.hi > ((int64_t)1 << 20))
        return false;
    *out = (ml_Bound){ceil_log2(b.lo), ceil_log2(b.hi)};
    return true;
}

static ml_Bound call_bound(ml_Arith *ar, const ml_Expr *e, ml_Bound whole)
{
    if (ml_is_op(e, ML_OP_SHIFT_LEFT) || ml_is_op(e, ML_OP_SHIFT_RIGHT))
        return shift_bound(ar, e, whole);
    if (ml_is_op(e, ML_OP_BITWISE_AND)) {
        ml_Bound a = ml_arith_bound(ar, e->args[0]), b = ml_arith_bound(ar, e->args[1]);
        if (a.lo >= 0 && b.lo >= 0)
            return (ml_Bound){0, min64(a.hi, b.hi)};
        if (a.lo >= 0 || b.lo >= 0)
            return (ml_Bound){0, a.lo >= 0 ? a.hi : b.hi};
        return whole;
    }
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return join_bounds(ml_arith_bound(ar, e->args[1]), ml_arith_bound(ar, e->args[2]));
    if (ml_is_op(e, ML_OP_LIKELY))
        return ml_arith_bound(ar, e->args[0]);
    return whole;
}

static ml_Bound binary_bound(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    ml_ExprKind k = (ml_ExprKind)e->kind;
    ml_Bound x = ml_arith_bound(ar, a);
    ml_Bound y =
        b->kind == ML_EXPR_INT ? (ml_Bound){b->as.i, b->as.i} : ml_arith_bound(ar, b);

    if ((k == ML_EXPR_FLOORMOD || k == ML_EXPR_MOD) && y.lo == y.hi && y.lo > 0 &&
        y.hi < ML_INF) {
        ml_Modular m = ml_arith_modular(ar, a);
        return k == ML_EXPR_MOD ? tmod_refined(x, m, y.lo) : ml_bound_floormod(x, m, y.lo);
    }
    return ml_bound_binary(k, x, y);
}

static ml_Bound bound_of(ml_Arith *ar, const ml_Expr *e, ml_Bound whole)
{
    ml_Bound r = whole;

    switch (e->kind) {
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX: r = binary_bound(ar, e); break;
    case ML_EXPR_SELECT:
        r = join_bounds(ml_arith_bound(ar, e->args[1]), ml_arith_bound(ar, e->args[2]));
        break;
    case ML_EXPR_CAST:
        if (ml_dtype_is_int(e->args[0]->type) || ml_dtype_is_bool(e->args[0]->type))
            r = ml_arith_bound(ar, e->args[0]);
        else if (!log2_bound(ar, e, &r))
            r = whole;
        if (r.lo < whole.lo || r.hi > whole.hi)
            r = whole;
        break;
    case ML_EXPR_RAMP: {
        ml_Bound base = ml_arith_bound(ar, e->args[0]),
                 stride = ml_arith_bound(ar, e->args[1]);
        ml_Bound last = corners(stride, (ml_Bound){0, e->type.lanes - 1}, ml_sat_mul);
        r = ml_bound_binary(ML_EXPR_ADD, base, last);
        break;
    }
    case ML_EXPR_BROADCAST: r = ml_arith_bound(ar, e->args[0]); break;
    case ML_EXPR_CALL: r = call_bound(ar, e, whole); break;
    }
    if (!ml_is_index(e) && (r.lo < whole.lo || r.hi > whole.hi))
        return whole; /* may have wrapped */
    /* Index arithmetic is that of the integers: to cut it to the dtype would be to conclude
     * from an overflow that a rewrite has brought in. */
    return r;
}

ml_Bound ml_arith_bound(ml_Arith *ar, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_INT && e->as.i < 0 && e->type.code == ML_UINT)
        return ml_bound_dtype(e->type); /* a uint64 beyond int64 */
    if (e->kind == ML_EXPR_INT)
        return (ml_Bound){max64(e->as.i, -ML_INF), max64(e->as.i, -ML_INF)};
    if (e->kind == ML_EXPR_VAR) {
        ml_VarInfo *i = ml_arith_var(ar, e->as.var);
        ml_Bound b;
        if (i && i->known)
            return i->bound;
        b = ml_bound_dtype(e->type);
        if (e->as.var->is_size && b.lo < 0)
            b.lo = 0;
        return b;
    }
    ml_ArithMemo *m = ml_arith_memo(ar, e);
    if (m->b_at == ar->epoch)
        return m->bound;
    ml_Bound b = bound_of(ar, e, ml_bound_dtype(e->type));
    for (size_t k = 0; ar->n_bound_facts && k < ar->facts.n; k++) {
        const ml_ArithFact *f = &ar->facts.v[k];
        if (f->kind == ML_AF_BOUND && f->live && f->expr == e)
            b = ml_bound_meet(f->bound, b);
    }
    m = ml_arith_memo(ar, e); /* the table may have moved */
    m->bound = b;
    m->b_at = ar->epoch;
    return b;
}
