/*
 * modular - what an integer expression is congruent to: a set coeff*Z + base.
 *
 * coeff 0 is the constant base; else 0 <= base < coeff. In dtypes that wrap only the part
 * of a modulus that is a power of two survives. Source: ir-and-analysis 3.3.
 */
#include "moonloop/core/arith/arith_impl.h"

#define ANYTHING ((ml_Modular){1, 0})

ml_Modular ml_modular_make(int64_t coeff, int64_t base)
{
    if (coeff == INT64_MIN)
        return ANYTHING;
    if (coeff < 0)
        coeff = -coeff;
    return (ml_Modular){coeff, coeff ? ml_floormod_i64(base, coeff) : base};
}

bool ml_modular_has(ml_Modular m, int64_t v)
{
    return m.coeff == 0 ? v == m.base : ml_floormod_i64(v, m.coeff) == m.base;
}

static ml_Modular add(ml_Modular a, ml_Modular b)
{
    int64_t g = ml_gcd(a.coeff, b.coeff), r;

    if (g > 0) {
        a.base = ml_floormod_i64(a.base, g);
        b.base = ml_floormod_i64(b.base, g);
    }
    if (__builtin_add_overflow(a.base, b.base, &r))
        return ANYTHING;
    return ml_modular_make(g, r);
}

static ml_Modular negate(ml_Modular a)
{
    if (a.base == INT64_MIN)
        return ANYTHING;
    return ml_modular_make(a.coeff, -a.base);
}

static ml_Modular mul(ml_Modular a, ml_Modular b)
{
    int64_t pq, pb, qb, bb;

    /* (p s + b1)(q t + b2): what overflows is a multiple of what the other parts give */
    if (__builtin_mul_overflow(a.coeff, b.coeff, &pq) ||
        __builtin_mul_overflow(a.coeff, b.base, &pb) ||
        __builtin_mul_overflow(a.base, b.coeff, &qb) ||
        __builtin_mul_overflow(a.base, b.base, &bb))
        return ANYTHING;
    return ml_modular_make(ml_gcd(ml_gcd(pq, pb), qb), bb);
}

static ml_Modular join(ml_Modular a, ml_Modular b)
{
    int64_t d;

    if (__builtin_sub_overflow(a.base, b.base, &d))
        return ANYTHING;
    return ml_modular_make(ml_gcd(ml_gcd(a.coeff, b.coeff), d), a.base);
}

static ml_Modular divide(ml_Modular a, int64_t c, bool floors, bool nonneg)
{
    if (c == 0 || c == INT64_MIN || c == -1 || a.coeff % c != 0)
        return c == -1 ? negate(a) : ANYTHING;
    if (a.coeff == 0) {
        if (!floors)
            return ml_modular_make(0, a.base / c);
        return ml_modular_make(0, ml_floordiv_i64(a.base, c));
    }
    if (a.base == 0 || (c > 0 && (floors || nonneg)))
        return ml_modular_make(a.coeff / c, ml_floordiv_i64(a.base, c));
    return ANYTHING;
}

static ml_Modular remainder_of(ml_Modular a, int64_t c, bool floors, bool nonneg)
{
    if (c == 0 || c == INT64_MIN)
        return ANYTHING;
    if (a.coeff == 0 && c != -1)
        return ml_modular_make(0, floors ? ml_floormod_i64(a.base, c) : a.base % c);
    (void)nonneg; /* x % c differs from x by a multiple of c in either mode */
    int64_t g = ml_gcd(a.coeff, c);
    if (a.base == 0 && a.coeff % (c < 0 ? -c : c) == 0)
        return (ml_Modular){0, 0};
    if (c > 0 && floors && g == c)
        return ml_modular_make(0, ml_floormod_i64(a.base, c));
    return ml_modular_make(g, a.base);
}

ml_Modular ml_modular_binary(ml_ExprKind k, ml_Modular a, ml_Modular b, bool a_nonneg)
{
    if (k == ML_EXPR_ADD)
        return add(a, b);
    if (k == ML_EXPR_SUB)
        return add(a, negate(b));
    if (k == ML_EXPR_MUL)
        return mul(a, b);
    if (k == ML_EXPR_MIN || k == ML_EXPR_MAX)
        return join(a, b);
    if (b.coeff != 0)
        return ANYTHING;
    if (k == ML_EXPR_FLOORDIV || k == ML_EXPR_DIV)
        return divide(a, b.base, k == ML_EXPR_FLOORDIV, a_nonneg);
    if (k == ML_EXPR_FLOORMOD || k == ML_EXPR_MOD)
        return remainder_of(a, b.base, k == ML_EXPR_FLOORMOD, a_nonneg);
    return ANYTHING;
}

bool ml_modular_meet(ml_Modular a, ml_Modular b, ml_Modular *out)
{
    if (a.coeff == 0 || b.coeff == 0) {
        if (a.coeff == 0 ? !ml_modular_has(b, a.base) : !ml_modular_has(a, b.base))
            return false;
        *out = a.coeff == 0 ? a : b;
        return true;
    }
    int64_t g = ml_gcd(a.coeff, b.coeff), step = b.coeff / g, l;
    if (ml_floormod_i64(a.base, g) != ml_floormod_i64(b.base, g))
        return false;
    if (step > 4096 || __builtin_mul_overflow(a.coeff, step, &l)) {
        *out = a.coeff > b.coeff ? a : b;
        return true;
    }
    /* Chinese remainder: walk a's residues; one of `step` of them fits b */
    for (int64_t s = 0; s < step; s++) {
        int64_t v = a.base + a.coeff * s; /* below l */
        if (ml_modular_has(b, v)) {
            *out = ml_modular_make(l, v);
            return true;
        }
    }
    return false;
}

/* Arithmetic in e's dtype may have wrapped around. */
static ml_Modular wrapped(ml_Modular m, ml_Dtype t)
{
    if (m.coeff == 0)
        return ml_dtype_fits(t, m.base) ? m : ml_modular_make(0, ml_dtype_wrap(t, m.base));
    int64_t low = m.coeff & -m.coeff;
    int64_t most = t.bits >= 63 ? ((int64_t)1 << 62) : ((int64_t)1 << t.bits);
    return ml_modular_make(low < most ? low : most, m.base);
}

static ml_Modular call_modular(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->n_args > 1 ? e->args[1] : NULL;

    if (ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return join(ml_arith_modular(ar, e->args[1]), ml_arith_modular(ar, e->args[2]));
    if (!b || b->kind != ML_EXPR_INT)
        return ANYTHING;
    int64_t c = b->as.i;
    if (ml_is_op(e, ML_OP_SHIFT_LEFT) && c >= 0 && c < 62)
        return mul(ml_arith_modular(ar, a), (ml_Modular){0, (int64_t)1 << c});
    if (ml_is_op(e, ML_OP_SHIFT_RIGHT) && c >= 0 && c < 62)
        return divide(ml_arith_modular(ar, a), (int64_t)1 << c, true, false);
    if (ml_is_op(e, ML_OP_BITWISE_AND) && c > 0 && c < ML_INF && (c & (c + 1)) == 0)
        return remainder_of(ml_arith_modular(ar, a), c + 1, true, false);
    return ANYTHING;
}

static ml_Modular modular_of(ml_Arith *ar, const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD: {
        ml_ExprKind k = (ml_ExprKind)e->kind;
        bool nonneg = k == ML_EXPR_DIV && ml_arith_bound(ar, e->args[0]).lo >= 0;
        return ml_modular_binary(k, ml_arith_modular(ar, e->args[0]),
                                 ml_arith_modular(ar, e->args[1]), nonneg);
    }
    case ML_EXPR_SELECT:
        return join(ml_arith_modular(ar, e->args[1]), ml_arith_modular(ar, e->args[2]));
    case ML_EXPR_CAST: {
        if (!ml_dtype_is_int(e->args[0]->type))
            return ANYTHING;
        ml_Modular m = ml_arith_modular(ar, e->args[0]);
        ml_Bound b = ml_arith_bound(ar, e->args[0]), in = ml_bound_dtype(e->type);
        return b.lo < in.lo || b.hi > in.hi ? wrapped(m, e->type) : m;
    }
    case ML_EXPR_CALL: return call_modular(ar, e);
    }
    return ANYTHING;
}

ml_Modular ml_arith_modular(ml_Arith *ar, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_INT && e->type.code == ML_UINT && e->as.i < 0)
        return ANYTHING; /* a uint64 beyond int64 */
    if (e->kind == ML_EXPR_INT)
        return (ml_Modular){0, e->as.i};
    if (e->kind == ML_EXPR_VAR) {
        ml_VarInfo *i = ml_arith_var(ar, e->as.var);
        return i && i->known ? i->mod : ANYTHING;
    }
    if (e->type.lanes != 1 || !ml_dtype_is_int(e->type))
        return ANYTHING;
    ml_ArithMemo *memo = ml_arith_memo(ar, e);
    if (memo->m_at == ar->epoch)
        return memo->mod;
    ml_Modular m = modular_of(ar, e);
    if (!ml_is_index(e))
        m = wrapped(m, e->type);
    for (size_t k = 0; ar->n_bound_facts && k < ar->facts.n; k++) {
        const ml_ArithFact *f = &ar->facts.v[k];
        if (f->kind == ML_AF_BOUND && f->live && f->expr == e)
            (void)ml_modular_meet(m, f->mod, &m);
    }
    memo = ml_arith_memo(ar, e);
    memo->mod = m;
    memo->m_at = ar->epoch;
    return m;
}
