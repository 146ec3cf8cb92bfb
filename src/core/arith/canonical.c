/*
 * canonical - the normal form of 3.4: every index expression becomes a sum and is written
 * back in a fixed order; comparisons are reduced over their difference.
 *
 * Where a constant would leave the dtype the expression stays as it is, over canonical
 * children.
 */
#include "moonloop/core/arith/arith_impl.h"

/* ---- building without loss */

const ml_Expr *ml_try_binary(ml_Arith *ar, ml_ExprKind k, const ml_Expr *a,
                             const ml_Expr *b)
{
    bool divides = k == ML_EXPR_DIV || k == ML_EXPR_MOD || k == ML_EXPR_FLOORDIV ||
                   k == ML_EXPR_FLOORMOD;

    if (!a || !b)
        return NULL;
    if (divides && ml_dtype_is_int(b->type) && ml_is_int(b, 0))
        return NULL;
    if (divides && b->kind == ML_EXPR_BROADCAST && ml_dtype_is_int(b->type) &&
        ml_is_int(b->args[0], 0))
        return NULL;
    if (a->kind == ML_EXPR_INT && b->kind == ML_EXPR_INT && k <= ML_EXPR_MAX) {
        bool lost = false;
        (void)ml_fold_int(k, a->type, a->as.i, b->as.i, &lost);
        if (lost || a->type.code == ML_UINT)
            return a->type.code == ML_UINT ? ml_raw_binary(ar->cx, k, a, b) : NULL;
    }
    return ml_binary(ar->cx, k, a, b);
}

const ml_Expr *ml_try_rebuild(ml_Arith *ar, const ml_Expr *e, const ml_Expr *const *kids)
{
    bool same = true;

    for (uint16_t k = 0; k < e->n_args; k++)
        same = same && kids[k] == e->args[k];
    if (same)
        return e;
    if (ml_kind_is_binary(e->kind)) {
        ML_ASSERT(e->n_args == 2);
        const ml_Expr *r = ml_try_binary(ar, (ml_ExprKind)e->kind, kids[0], kids[1]);
        return r ? r : e;
    }
    if (e->kind == ML_EXPR_CAST && kids[0]->kind == ML_EXPR_INT &&
        (ml_dtype_is_int(e->type) || ml_dtype_is_bool(e->type)) &&
        !ml_dtype_fits(e->type, kids[0]->as.i))
        return e;
    return ml_expr_with_args(ar->cx, e, kids);
}

const ml_Expr *ml_negate(ml_Arith *ar, const ml_Expr *p)
{
    ml_Ctx *cx = ar->cx;

    if (p->kind == ML_EXPR_NOT)
        return p->args[0];
    if (p->kind == ML_EXPR_INT)
        return ml_bool(cx, p->as.i == 0);
    if (ml_is_compare(p) && ml_dtype_is_int(p->args[0]->type)) {
        const ml_Expr *a = p->args[0], *b = p->args[1];
        if (p->kind == ML_EXPR_LT)
            return ml_le(cx, b, a);
        if (p->kind == ML_EXPR_LE)
            return ml_lt(cx, b, a);
        if (p->kind == ML_EXPR_GT)
            return ml_le(cx, a, b);
        if (p->kind == ML_EXPR_GE)
            return ml_lt(cx, a, b);
        return p->kind == ML_EXPR_EQ ? ml_ne(cx, a, b) : ml_eq(cx, a, b);
    }
    return ml_not(cx, p);
}

/* ---- comparisons */

/* floor(a / b) for b > 0 over a sum of int64s that may overflow; false: give up. */
static bool floor_of(int64_t a, int64_t minus, int64_t b, int64_t *q)
{
    int64_t d;

    if (__builtin_sub_overflow(a, minus, &d))
        return false;
    *q = ml_floordiv_i64(d, b);
    return true;
}

/* s < 0, s <= 0, s == 0 or s != 0 (kind) as positive terms against negative ones. */
static const ml_Expr *emit_compare(ml_Arith *ar, ml_ExprKind kind, ml_Sum *s)
{
    ml_Sum left, right;

    if (!ml_sum_recombine(ar, s))
        return NULL;
    if (s->n > 0 && kind == ML_EXPR_LE && s->base == 1) {
        kind = ML_EXPR_LT; /* x + 1 <= y */
        s->base = 0;
    } else if (s->n > 1 && kind == ML_EXPR_LT && s->base == -1) {
        kind = ML_EXPR_LE; /* x < y + 1 */
        s->base = 0;
    }
    ml_sum_init(&left, s->type);
    ml_sum_init(&right, s->type);
    bool up = false, down = false;
    for (uint32_t k = 0; k < s->n; k++) {
        ml_Term t = s->t[k];
        if (t.scale == INT64_MIN)
            return NULL;
        up = up || t.scale > 0;
        down = down || t.scale < 0;
        bool pos = t.scale > 0;
        t.scale = pos ? t.scale : -t.scale;
        if (!ml_sum_add_term(ar, pos ? &left : &right, &t))
            return NULL;
    }
    if (s->base == INT64_MIN)
        return NULL;
    if (!up || (s->base > 0 && down))
        left.base = s->base;
    else
        right.base = -s->base;
    const ml_Expr *a = ml_sum_emit(ar, &left), *b = ml_sum_emit(ar, &right);
    if (!a || !b)
        return NULL;
    if ((kind == ML_EXPR_EQ || kind == ML_EXPR_NE) && a->kind == ML_EXPR_INT)
        return ml_try_binary(ar, kind, b, a);
    return ml_try_binary(ar, kind, a, b);
}

/*
 * Divides s by the gcd of its large scales; the terms it does not divide must not change
 * the answer. kind is LT, LE, EQ or NE (against 0). 1: divided, 0: not, -1: decided.
 */
static int divide_compare(ml_Arith *ar, ml_ExprKind kind, ml_Sum *s, bool *truth)
{
    int64_t d = 0;
    ml_Sum big, small;

    for (uint32_t k = 0; k < s->n; k++)
        if (s->t[k].scale > 1 || s->t[k].scale < -1)
            d = ml_gcd(d, s->t[k].scale);
    if (d <= 1)
        return 0;
    ml_sum_init(&big, s->type);
    ml_sum_init(&small, s->type);
    for (uint32_t k = 0; k < s->n; k++) {
        ml_Term t = s->t[k];
        bool is_big = t.scale % d == 0;
        if (is_big)
            t.scale /= d;
        if (!ml_sum_add_term(ar, is_big ? &big : &small, &t))
            return 0;
    }
    if (kind == ML_EXPR_EQ || kind == ML_EXPR_NE) {
        if (small.n > 0)
            return 0;
        if (s->base % d != 0) {
            *truth = kind == ML_EXPR_NE;
            return -1;
        }
        big.base = s->base / d;
    } else {
        /* d*A + r + base <= limit, r in [lo, hi]: A <= (limit - base - r) // d */
        ml_Bound r = ml_sum_bound(ar, &small);
        int64_t limit = kind == ML_EXPR_LT ? -1 : 0, q1, q2;
        if (r.lo <= -ML_INF || r.hi >= ML_INF ||
            __builtin_sub_overflow(limit, s->base, &limit) ||
            !floor_of(limit, r.lo, d, &q1) || !floor_of(limit, r.hi, d, &q2) || q1 != q2 ||
            __builtin_sub_overflow((int64_t)(kind == ML_EXPR_LT ? -1 : 0), q1, &big.base))
            return 0;
        /* A <= q1 is A - q1 <= 0, or A - q1 - 1 < 0 */
    }
    s->n = 0;
    s->base = 0;
    if (!ml_sum_add_sum(ar, s, &big, 1))
        return 0;
    return 1;
}

static const ml_Expr *decided(ml_Arith *ar, ml_ExprKind kind, ml_Cmp c)
{
    int r = -1;

    switch (c) {
    case ML_CMP_EQ: r = kind == ML_EXPR_EQ || kind == ML_EXPR_LE; break;
    case ML_CMP_LT:
        r = kind == ML_EXPR_NE || kind == ML_EXPR_LE || kind == ML_EXPR_LT;
        break;
    case ML_CMP_GT: r = kind == ML_EXPR_NE; break;
    case ML_CMP_LE:
        if (kind == ML_EXPR_LE)
            r = 1;
        break;
    case ML_CMP_GE:
        if (kind == ML_EXPR_LT)
            r = 0;
        break;
    case ML_CMP_NE:
        if (kind == ML_EXPR_EQ || kind == ML_EXPR_NE)
            r = kind == ML_EXPR_NE;
        break;
    case ML_CMP_UNKNOWN: break;
    }
    return r < 0 ? NULL : ml_bool(ar->cx, r);
}

static const ml_Expr *canon_compare(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    ml_ExprKind kind = (ml_ExprKind)e->kind;
    ml_Sum s, sb;
    bool truth = false;

    if (kind == ML_EXPR_GT || kind == ML_EXPR_GE) {
        const ml_Expr *t = a;
        a = b;
        b = t;
        kind = ml_kind_swapped(kind);
    }
    ml_sum_init(&s, a->type);
    ml_sum_init(&sb, a->type);
    const ml_Expr *kids[2];
    if (ml_sum_add_expr(ar, &s, a, 1) && ml_sum_add_expr(ar, &sb, b, 1)) {
        uint32_t terms = s.n + sb.n;
        bool both = s.base != 0 && sb.base != 0;
        if (ml_sum_add_sum(ar, &s, &sb, -1) && ml_sum_recombine(ar, &s)) {
            const ml_Expr *known = decided(ar, kind, ml_sum_compare(ar, &s));
            if (known)
                return known;
            int how = divide_compare(ar, kind, &s, &truth);
            if (how < 0)
                return ml_bool(ar->cx, truth);
            if (how > 0 || s.n < terms || both) {
                const ml_Expr *r = emit_compare(ar, kind, &s);
                if (r)
                    return r;
            }
        }
    }
    kids[0] = ml_canon(ar, a);
    kids[1] = ml_canon(ar, b);
    const ml_Expr *r = ml_try_binary(ar, kind, kids[0], kids[1]);
    return r ? r : e;
}

/* ---- everything else */

bool ml_harmless(const ml_Expr *e)
{
    if ((e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) != 0 || e->size > 256)
        return false; /* the limit keeps a shared graph from being walked as a tree */
    if (ml_kind_divides(e->kind) && ml_dtype_is_int(e->type) &&
        e->args[1]->kind != ML_EXPR_INT)
        return false;
    for (uint16_t k = 0; k < e->n_args; k++)
        if (!ml_harmless(e->args[k]))
            return false;
    return true;
}

/* select and if_then_else: the arms are seen under the condition. */
static const ml_Expr *canon_choice(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *kids[3] = {ml_canon(ar, e->args[0]), NULL, NULL};

    if (kids[0]->kind == ML_EXPR_INT)
        return ml_canon(ar, e->args[ml_is_true(kids[0]) ? 1 : 2]);
    for (int arm = 1; arm <= 2; arm++) {
        ml_ArithMark m = ml_arith_save(ar);
        /* an arm of select is evaluated also when it is not chosen */
        if (e->args[0]->type.lanes == 1 &&
            (e->kind == ML_EXPR_CALL || ml_harmless(e->args[arm])))
            ml_arith_assume(ar, arm == 1 ? kids[0] : ml_negate(ar, kids[0]));
        kids[arm] = ml_canon(ar, e->args[arm]);
        ml_arith_restore(ar, m);
    }
    return kids[1] == kids[2] ? kids[1] : ml_try_rebuild(ar, e, kids);
}

static const ml_Expr *canon_kids(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *few[8], **kids = few;

    if (e->n_args == 0)
        return e;
    if (e->n_args > ML_COUNT(few))
        kids = ML_ARRAY(ar->cx, const ml_Expr *, e->n_args);
    for (uint16_t k = 0; k < e->n_args; k++) {
        /* places that must stay literal or as written */
        bool fixed = e->kind == ML_EXPR_SHUFFLE ||
                     (e->kind == ML_EXPR_CALL && ml_expr_effect(e) > ML_EFFECT_READ);
        kids[k] = fixed ? e->args[k] : ml_canon(ar, e->args[k]);
    }
    return ml_try_rebuild(ar, e, kids);
}

static const ml_Expr *canon_of(ml_Arith *ar, const ml_Expr *e)
{
    if (ml_is_index(e) && (ml_is_sum_or_quotient(e) || e->kind == ML_EXPR_CAST)) {
        ml_Sum s;
        ml_sum_init(&s, e->type);
        if (ml_sum_add_expr(ar, &s, e, 1)) {
            const ml_Expr *r = ml_sum_emit(ar, &s);
            if (r)
                return r;
        }
        return canon_kids(ar, e);
    }
    if (ml_is_index_compare(e))
        return canon_compare(ar, e);
    if (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return canon_choice(ar, e);
    if (ml_is_op(e, ML_OP_LIKELY)) {
        const ml_Expr *p = ml_canon(ar, e->args[0]);
        return p->kind == ML_EXPR_INT ? p : ml_try_rebuild(ar, e, &p);
    }
    return canon_kids(ar, e);
}

const ml_Expr *ml_canon(ml_Arith *ar, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_INT || e->kind == ML_EXPR_FLOAT || e->kind == ML_EXPR_STRING)
        return e;
    if (e->kind == ML_EXPR_VAR) {
        ml_VarInfo *i = ml_arith_var(ar, e->as.var);
        if (!i || !i->known)
            return e;
        if (i->value)
            return i->value;
        if (i->bound.lo == i->bound.hi && ml_dtype_is_int(e->type) &&
            e->type.code == ML_INT && ml_dtype_fits(e->type, i->bound.lo))
            return ml_int(ar->cx, e->type, i->bound.lo);
        return e;
    }
    ml_ArithMemo *m = ml_arith_memo(ar, e);
    if (m->c_at == ar->epoch)
        return m->canon;
    if (!ml_arith_work(ar))
        return e;
    int known = ml_dtype_is_bool(e->type) ? ml_arith_truth(ar, e) : -1;
    const ml_Expr *r = known >= 0 ? ml_bool(ar->cx, known) : canon_of(ar, e);
    if (!ar->cut) {
        m = ml_arith_memo(ar, e);
        m->canon = r;
        m->c_at = ar->epoch;
        if (r != e && r->n_args > 0) {
            m = ml_arith_memo(ar, r);
            if (m->c_at != ar->epoch) {
                m->canon = r;
                m->c_at = ar->epoch;
            }
        }
    }
    return r;
}

const ml_Expr *ml_canonical(ml_Arith *ar, const ml_Expr *e)
{
    ml_arith_enter(ar);
    e = ml_canon(ar, e);
    ml_arith_leave(ar);
    return e;
}
