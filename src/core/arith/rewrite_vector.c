/*
 * rewrite_vector - ramps and broadcasts under arithmetic (ir-and-analysis 3.5: vectors).
 *
 * ramp(b, s, n) is b, b+s, ..., b+(n-1)s. Only lanes of int32 and int64 are treated; other
 * broadcasts are only pulled out of an operator.
 */
#include "moonloop/core/arith/rewrite.h"

static bool is_ramp(const ml_Expr *e)
{
    return e->kind == ML_EXPR_RAMP;
}

static bool is_bcast(const ml_Expr *e)
{
    return e->kind == ML_EXPR_BROADCAST;
}

static const ml_Expr *bin(ml_Arith *ar, ml_ExprKind k, const ml_Expr *a, const ml_Expr *b)
{
    return ml_try_binary(ar, k, a, b);
}

static const ml_Expr *ramp(ml_Arith *ar, const ml_Expr *base, const ml_Expr *stride,
                           unsigned lanes)
{
    if (!base || !stride)
        return NULL;
    if (ml_is_int(stride, 0))
        return ml_broadcast(ar->cx, base, lanes);
    return ml_ramp(ar->cx, base, stride, lanes);
}

/* ramp(b, s) / c and ramp(b, s) % c for a literal c > 0. */
static const ml_Expr *ramp_divided(ml_Arith *ar, const ml_Expr *e, const ml_Expr *c)
{
    const ml_Expr *base = e->args[0]->args[0], *stride = e->args[0]->args[1];
    bool is_div = e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_DIV;
    bool trunc = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_MOD;
    unsigned lanes = e->type.lanes;
    int64_t last, lo, hi;

    if (c->kind != ML_EXPR_INT || c->as.i <= 0 || stride->kind != ML_EXPR_INT)
        return NULL;
    int64_t d = c->as.i, s = stride->as.i;
    if (__builtin_mul_overflow(s, (int64_t)lanes - 1, &last))
        return NULL;
    if (trunc) {
        /* as flooring when every lane is >= 0 */
        ml_Bound b = ml_arith_bound(ar, base);
        if (b.lo < 0 || ml_sat_add(b.lo, last) < 0)
            return NULL;
    }
    if (s % d == 0) {
        if (!is_div)
            return ml_broadcast(ar->cx, bin(ar, (ml_ExprKind)e->kind, base, c), lanes);
        return ramp(ar, bin(ar, (ml_ExprKind)e->kind, base, c),
                    ml_int(ar->cx, stride->type, s / d), lanes);
    }
    /* base is r modulo d: do all lanes stay in its block? */
    ml_Modular m = ml_arith_modular(ar, base);
    if (m.coeff % d != 0)
        return NULL;
    int64_t r = ml_floormod_i64(m.base, d);
    if (__builtin_add_overflow(r, last, &hi))
        return NULL;
    lo = hi < r ? hi : r;
    hi = hi < r ? r : hi;
    if (lo < 0 || hi >= d)
        return NULL;
    if (is_div)
        return ml_broadcast(ar->cx, bin(ar, (ml_ExprKind)e->kind, base, c), lanes);
    return ramp(ar, bin(ar, (ml_ExprKind)e->kind, base, c), stride, lanes);
}

const ml_Expr *ml_rewrite_vector(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    ml_ExprKind k = (ml_ExprKind)e->kind;
    unsigned lanes = e->type.lanes;

    if (is_bcast(a) && is_bcast(b)) {
        const ml_Expr *r = bin(ar, k, a->args[0], b->args[0]);
        return r ? ml_broadcast(ar->cx, r, lanes) : NULL;
    }
    if (!ml_dtype_is_index(ml_dtype_lanes(a->type, 1)))
        return NULL;
    const ml_Expr *zero = ml_int(ar->cx, ml_dtype_lanes(a->type, 1), 0);
    if (k == ML_EXPR_ADD || k == ML_EXPR_SUB) {
        if (is_ramp(a) && is_ramp(b))
            return ramp(ar, bin(ar, k, a->args[0], b->args[0]),
                        bin(ar, k, a->args[1], b->args[1]), lanes);
        if (is_ramp(a) && is_bcast(b))
            return ramp(ar, bin(ar, k, a->args[0], b->args[0]), a->args[1], lanes);
        if (is_bcast(a) && is_ramp(b))
            return ramp(ar, bin(ar, k, a->args[0], b->args[0]),
                        bin(ar, k, zero, b->args[1]), lanes);
        return NULL;
    }
    if (k == ML_EXPR_MUL && (is_ramp(a) || is_ramp(b)) && (is_bcast(a) || is_bcast(b))) {
        const ml_Expr *r = is_ramp(a) ? a : b, *c = (is_ramp(a) ? b : a)->args[0];
        return ramp(ar, bin(ar, k, r->args[0], c), bin(ar, k, r->args[1], c), lanes);
    }
    if ((k == ML_EXPR_FLOORDIV || k == ML_EXPR_FLOORMOD || k == ML_EXPR_DIV ||
         k == ML_EXPR_MOD) &&
        is_ramp(a) && is_bcast(b))
        return ramp_divided(ar, e, b->args[0]);
    return NULL;
}
