/*
 * interval - interval sets: the hull of an expression over variables that roam their
 * ranges.
 *
 * Every answer contains all values of the expression on the domain; a point stays exact. An
 * end that is NULL is infinite. A variable of the domain is relaxed once, its range's ends
 * being relaxed themselves (the extent of an inner loop may use an outer variable).
 * Source: ir-and-analysis 3.7.
 */
#include "moonloop/core/arith/region.h"

#include "moonloop/core/arith/arith_impl.h"

typedef struct Memo {
    ml_Interval set;
    uint8_t state; /* 0: new, 1: at work, 2: known */
} Memo;

typedef struct Relax {
    ml_Arith *ar;
    ml_Ctx *cx;
    const ml_Dom *dom;
    size_t n;
    Memo *vars;     /* one per dom entry */
    ml_Map *seen;   /* id of a large expression -> ml_Interval * */
    uint64_t bloom; /* of all variables of dom */
    bool loose;     /* what is loaded may be anything */
} Relax;

static ml_Interval relax(Relax *rx, const ml_Expr *e);

/* ---- ends */

static const ml_Expr *tidy(ml_Arith *ar, const ml_Expr *e)
{
    return !e || ml_is_const_int(e) ? e : ml_simplify(ar, e);
}

/* The smaller or greater of two finite ends. */
static const ml_Expr *pick(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b, bool greater)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (a == b)
        return a;
    if (ml_is_const_int(a) && ml_is_const_int(b))
        return (a->as.i < b->as.i) != greater ? a : b;
    if (!ml_dtype_eq(a->type, b->type))
        ml_promote(cx, &a, &b);
    if (ml_prove_le_expr(ar, a, b))
        return greater ? b : a;
    if (ml_prove_le_expr(ar, b, a))
        return greater ? a : b;
    return tidy(ar, greater ? ml_max(cx, a, b) : ml_min(cx, a, b));
}

static bool below(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    if (ml_is_const_int(a) && ml_is_const_int(b))
        return a->as.i <= b->as.i;
    if (!ml_dtype_eq(a->type, b->type))
        ml_promote(ml_arith_ctx(ar), &a, &b);
    return ml_prove_le_cases(ar, a, b);
}

ml_Interval ml_interval_point(const ml_Expr *e)
{
    return (ml_Interval){e, e, false};
}

static ml_Interval between(const ml_Expr *lo, const ml_Expr *hi)
{
    return (ml_Interval){lo, hi, false};
}

ml_Interval ml_interval_range(ml_Arith *ar, const ml_Expr *min, const ml_Expr *extent)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (ml_is_const_int(extent) && extent->as.i <= 0)
        return ML_NOTHING;
    if (ml_is_int(extent, 1))
        return ml_interval_point(min);
    if (!ml_dtype_eq(min->type, extent->type))
        ml_promote(cx, &min, &extent);
    const ml_Expr *one = ml_int(cx, extent->type, 1);
    if (ml_is_int(min, 0))
        return between(min, tidy(ar, ml_sub(cx, extent, one)));
    return between(min, tidy(ar, ml_sub(cx, ml_add(cx, min, extent), one)));
}

bool ml_interval_is_point(ml_Arith *ar, ml_Interval i)
{
    return !i.nothing && i.min && i.max &&
           (i.min == i.max || ml_prove_equal(ar, i.min, i.max));
}

ml_Interval ml_interval_union(ml_Arith *ar, ml_Interval a, ml_Interval b)
{
    if (a.nothing)
        return b;
    if (b.nothing)
        return a;
    return between(a.min && b.min ? pick(ar, a.min, b.min, false) : NULL,
                   a.max && b.max ? pick(ar, a.max, b.max, true) : NULL);
}

ml_Interval ml_interval_intersect(ml_Arith *ar, ml_Interval a, ml_Interval b)
{
    if (a.nothing || b.nothing)
        return ML_NOTHING;
    ml_Interval r = between(!a.min   ? b.min
                            : !b.min ? a.min
                                     : pick(ar, a.min, b.min, true),
                            !a.max   ? b.max
                            : !b.max ? a.max
                                     : pick(ar, a.max, b.max, false));
    if (r.min && r.max && r.min != r.max) {
        const ml_Expr *lo = r.min, *hi = r.max;
        if (!ml_dtype_eq(lo->type, hi->type))
            ml_promote(ml_arith_ctx(ar), &lo, &hi);
        if (ml_is_const_int(lo) && ml_is_const_int(hi) ? hi->as.i < lo->as.i
                                                       : ml_prove_lt_expr(ar, hi, lo))
            return ML_NOTHING;
    }
    return r;
}

ml_Interval ml_interval_inside(ml_Arith *ar, ml_Interval i, const ml_Buffer *b, size_t d)
{
    const ml_Expr *zero = ml_int(ml_arith_ctx(ar), b->shape[d]->type, 0);

    return ml_interval_intersect(ar, i, ml_interval_range(ar, zero, b->shape[d]));
}

void ml_assume_meets(ml_Arith *ar, const ml_Interval *box, const ml_Buffer *b)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    for (size_t d = 0; d < b->rank; d++) {
        const ml_Expr *lo = box[d].min, *hi = box[d].max, *n = b->shape[d];

        if (box[d].nothing)
            continue;
        if (hi)
            ml_arith_assume(ar, ml_ge(cx, hi, ml_int(cx, hi->type, 0)));
        if (lo && ml_promote(cx, &lo, &n))
            ml_arith_assume(ar, ml_lt(cx, lo, n));
    }
}

bool ml_interval_includes(ml_Arith *ar, ml_Interval outer, ml_Interval inner)
{
    if (inner.nothing)
        return true;
    if (outer.nothing)
        return false;
    return (!outer.min || (inner.min && below(ar, outer.min, inner.min))) &&
           (!outer.max || (inner.max && below(ar, inner.max, outer.max)));
}

ml_Range ml_interval_cover(ml_Arith *ar, ml_Interval i, ml_Range whole)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (i.nothing || !i.min || !i.max)
        return whole;
    const ml_Expr *lo = i.min, *hi = i.max;
    if (!ml_dtype_eq(lo->type, hi->type))
        ml_promote(cx, &lo, &hi);
    const ml_Expr *one = ml_int(cx, lo->type, 1);
    if (lo == hi)
        return (ml_Range){lo, one};
    return (ml_Range){lo, tidy(ar, ml_add(cx, ml_sub(cx, hi, lo), one))};
}

/* ---- relaxation */

typedef struct Uses {
    const Relax *rx;
    bool found;
} Uses;

static int find(const Relax *rx, const ml_Var *v)
{
    for (size_t k = rx->n; k-- > 0;)
        if (rx->dom[k].var->uid == v->uid)
            return (int)k;
    return -1;
}

static bool look(const ml_Expr *e, void *user)
{
    Uses *u = user;

    if (u->found || !(e->bloom & u->rx->bloom))
        return false;
    if (e->kind == ML_EXPR_VAR && find(u->rx, e->as.var) >= 0)
        u->found = true;
    return !u->found;
}

static bool is_free(const Relax *rx, const ml_Expr *e)
{
    Uses u = {rx, false};

    if (rx->loose && (e->flags & ML_X_HAS_LOAD))
        return false;
    if (!(e->bloom & rx->bloom))
        return true;
    ml_expr_visit(e, look, &u);
    return !u.found;
}

static int sign_of(ml_Arith *ar, const ml_Expr *e) /* 1: >= 0, -1: <= 0, 0: not known */
{
    if (ml_is_const_int(e))
        return e->as.i >= 0 ? 1 : -1;
    if (ml_prove_ge(ar, e, 0))
        return 1;
    return ml_prove_lt(ar, e, 1) ? -1 : 0;
}

/* a op p for a monotone binary operator by the sign of p (the result rises with a exactly
 * when p >= 0). */
static ml_Interval by_sign(Relax *rx, ml_ExprKind op, ml_Interval a, const ml_Expr *p)
{
    ml_Ctx *cx = rx->cx;
    const ml_Expr *lo = ml_try_binary(rx->ar, op, a.min, p);
    const ml_Expr *hi = ml_try_binary(rx->ar, op, a.max, p);
    int sign = sign_of(rx->ar, p);

    if (sign > 0)
        return between(lo, hi);
    if (sign < 0)
        return between(hi, lo);
    if (!lo || !hi)
        return ML_EVERYTHING;
    const ml_Expr *pos = ml_ge(cx, p, ml_int(cx, p->type, 0));
    return between(ml_select(cx, pos, lo, hi), ml_select(cx, pos, hi, lo));
}

/* Residue of e modulo *coeff (0: the constant *base), whatever the variables are. */
static void residue(const ml_Expr *e, int64_t *coeff, int64_t *base);

static void residue(const ml_Expr *e, int64_t *coeff, int64_t *base)
{
    int64_t c1, b1, c2, b2, t, u, v;

    *coeff = 1;
    *base = 0;
    if (e->kind == ML_EXPR_INT && e->as.i > -(1 << 30) && e->as.i < 1 << 30) {
        *coeff = 0;
        *base = e->as.i;
        return;
    }
    if (e->kind != ML_EXPR_ADD && e->kind != ML_EXPR_SUB && e->kind != ML_EXPR_MUL)
        return;
    residue(e->args[0], &c1, &b1);
    residue(e->args[1], &c2, &b2);
    if (e->kind == ML_EXPR_MUL) {
        if (__builtin_mul_overflow(c1, c2, &t) || __builtin_mul_overflow(c1, b2, &u) ||
            __builtin_mul_overflow(b1, c2, &v) || __builtin_mul_overflow(b1, b2, &b1))
            return;
        c1 = ml_gcd(ml_gcd(t, u), v);
    } else {
        if (e->kind == ML_EXPR_ADD ? __builtin_add_overflow(b1, b2, &b1)
                                   : __builtin_sub_overflow(b1, b2, &b1))
            return;
        c1 = ml_gcd(c1, c2);
    }
    *coeff = c1;
    *base = c1 ? ml_floormod_i64(b1, c1) : b1;
}

/* e's remainder by d; a: the set of the dividend, known not to be a point with d free. */
static ml_Interval remainder_set(Relax *rx, const ml_Expr *dividend, ml_Interval a,
                                 const ml_Expr *d, bool flooring)
{
    ml_Ctx *cx = rx->cx;
    const ml_Expr *zero = ml_int(cx, d->type, 0), *one = ml_int(cx, d->type, 1);
    int sign = sign_of(rx->ar, d);
    const ml_Expr *top = tidy(rx->ar, ml_sub(cx, sign < 0 ? ml_neg(cx, d) : d, one));

    if (!flooring) {
        /* The sign follows the dividend, the magnitude stays below |d|. */
        if (sign == 0)
            top = tidy(rx->ar, ml_sub(cx, ml_max(cx, d, ml_neg(cx, d)), one));
        bool pos = a.min && sign_of(rx->ar, a.min) > 0;
        bool neg = a.max && sign_of(rx->ar, a.max) < 0;
        if (!(pos && sign > 0))
            return between(pos ? zero : ml_neg(cx, top), neg ? zero : top);
    }
    if (sign < 0)
        return between(ml_neg(cx, top), zero);
    if (sign == 0) {
        top = tidy(rx->ar, ml_sub(cx, ml_max(cx, d, ml_neg(cx, d)), one));
        return between(ml_neg(cx, top), top);
    }
    if (!ml_is_const_int(d))
        return between(zero, top);
    if (a.min && a.max) {
        const ml_Expr *q = tidy(rx->ar, ml_floordiv(cx, a.min, d));
        if (ml_prove_equal(rx->ar, q, tidy(rx->ar, ml_floordiv(cx, a.max, d)))) {
            const ml_Expr *off = ml_mul(cx, q, d);
            return between(ml_sub(cx, a.min, off), ml_sub(cx, a.max, off));
        }
    }
    int64_t coeff, base;
    residue(dividend, &coeff, &base);
    int64_t g = ml_gcd(coeff, d->as.i);
    base = ml_floormod_i64(base, g);
    return between(ml_int(cx, d->type, base), ml_int(cx, d->type, d->as.i - g + base));
}

static ml_Interval relax_var(Relax *rx, const ml_Expr *e, size_t k)
{
    Memo *m = &rx->vars[k];

    if (m->state == 2)
        return m->set;
    if (m->state == 1) /* a cyclic dependence stops at the symbol */
        return ml_interval_point(e);
    m->state = 1;
    const ml_Expr *min = rx->dom[k].min, *extent = rx->dom[k].extent;
    ml_Interval set = ml_interval_range(rx->ar, min, extent);
    if (!set.nothing) {
        bool was_point = set.min == set.max;
        set.min = relax(rx, set.min).min;
        set.max = was_point ? relax(rx, min).max : relax(rx, set.max).max;
        set.min = tidy(rx->ar, set.min);
        set.max = tidy(rx->ar, set.max);
        /* What is known of the variable besides: constant bounds of assumptions. */
        ml_Bound b = ml_arith_bound(rx->ar, e);
        if (b.lo != -ML_INF && b.lo > ml_dtype_min(e->type) && set.min &&
            ml_is_const_int(set.min) && set.min->as.i < b.lo)
            set.min = ml_int(rx->cx, e->type, b.lo);
        if (b.hi != ML_INF && b.hi < ml_dtype_max(e->type) && set.max &&
            ml_is_const_int(set.max) && set.max->as.i > b.hi)
            set.max = ml_int(rx->cx, e->type, b.hi);
        if (set.min && set.max && ml_is_const_int(set.min) && ml_is_const_int(set.max) &&
            set.min->as.i > set.max->as.i)
            set = ML_NOTHING;
    }
    m->set = set;
    m->state = 2;
    return set;
}

static ml_Interval relax_cast(Relax *rx, const ml_Expr *e)
{
    ml_Dtype to = e->type, from = e->args[0]->type;

    if (!ml_dtype_is_int(from) && !ml_dtype_is_bool(from))
        return ML_EVERYTHING;
    ml_Interval a = relax(rx, e->args[0]);
    if (a.nothing)
        return a;
    bool widens =
        ml_dtype_min(to) <= ml_dtype_min(from) && ml_dtype_max(to) >= ml_dtype_max(from);
    if (!widens) {
        ml_Bound lo = {-ML_INF, ML_INF}, hi = lo;
        if (a.min)
            lo = ml_arith_bound(rx->ar, a.min);
        if (a.max)
            hi = ml_arith_bound(rx->ar, a.max);
        if (lo.lo < ml_dtype_min(to) || hi.hi > ml_dtype_max(to))
            return between(ml_int(rx->cx, to, ml_dtype_min(to)),
                           ml_int(rx->cx, to, ml_dtype_max(to)));
    }
    return between(a.min ? ml_cast(rx->cx, to, a.min) : NULL,
                   a.max ? ml_cast(rx->cx, to, a.max) : NULL);
}

/* The set of a binary integer operator that holds a variable of the domain. */
static ml_Interval relax_binary(Relax *rx, const ml_Expr *e)
{
    ml_Ctx *cx = rx->cx;
    ml_Interval a = relax(rx, e->args[0]), b = relax(rx, e->args[1]);
    bool b_point = b.min && b.min == b.max, a_point = a.min && a.min == a.max;

    if (a.nothing || b.nothing)
        return ML_NOTHING;
    switch ((int)e->kind) {
    case ML_EXPR_ADD:
        return between(ml_try_binary(rx->ar, ML_EXPR_ADD, a.min, b.min),
                       ml_try_binary(rx->ar, ML_EXPR_ADD, a.max, b.max));
    case ML_EXPR_SUB:
        return between(ml_try_binary(rx->ar, ML_EXPR_SUB, a.min, b.max),
                       ml_try_binary(rx->ar, ML_EXPR_SUB, a.max, b.min));
    case ML_EXPR_MUL:
        if (b_point)
            return by_sign(rx, ML_EXPR_MUL, a, b.min);
        return a_point ? by_sign(rx, ML_EXPR_MUL, b, a.min) : ML_EVERYTHING;
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_DIV:
        if (!b_point || ml_is_int(b.min, 0))
            return ML_EVERYTHING;
        return by_sign(rx, (ml_ExprKind)e->kind, a, b.min);
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MOD:
        if (b_point && !ml_is_int(b.min, 0))
            return remainder_set(rx, e->args[0], a, b.min, e->kind == ML_EXPR_FLOORMOD);
        if (e->kind == ML_EXPR_FLOORMOD && b.min && b.max && sign_of(rx->ar, b.min) > 0)
            return between(ml_int(cx, e->type, 0),
                           ml_sub(cx, b.max, ml_int(cx, e->type, 1)));
        return ML_EVERYTHING;
    case ML_EXPR_MIN:
        return between(a.min && b.min ? pick(rx->ar, a.min, b.min, false) : NULL,
                       !a.max   ? b.max
                       : !b.max ? a.max
                                : pick(rx->ar, a.max, b.max, false));
    case ML_EXPR_MAX:
        return between(!a.min   ? b.min
                       : !b.min ? a.min
                                : pick(rx->ar, a.min, b.min, true),
                       a.max && b.max ? pick(rx->ar, a.max, b.max, true) : NULL);
    }
    return ML_EVERYTHING;
}

static ml_Interval relax_ramp(Relax *rx, const ml_Expr *e)
{
    ml_Ctx *cx = rx->cx;
    const ml_Expr *stride = e->args[1];
    ml_Interval base = relax(rx, e->args[0]);

    if (base.nothing || !is_free(rx, stride))
        return base.nothing ? base : ML_EVERYTHING;
    const ml_Expr *run = ml_mul(cx, stride, ml_int(cx, stride->type, e->type.lanes - 1));
    int sign = sign_of(rx->ar, stride);
    if (sign == 0)
        return ML_EVERYTHING;
    if (sign > 0)
        return between(base.min, base.max ? ml_add(cx, base.max, run) : NULL);
    return between(base.min ? ml_add(cx, base.min, run) : NULL, base.max);
}

static ml_Interval relax_node(Relax *rx, const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_VAR: {
        int k = find(rx, e->as.var);
        return k < 0 ? ml_interval_point(e) : relax_var(rx, e, (size_t)k);
    }
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
        if (ml_dtype_is_int(e->type) && e->type.lanes == 1 && e->type.code == ML_INT)
            return relax_binary(rx, e);
        return ML_EVERYTHING;
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
    case ML_EXPR_AND:
    case ML_EXPR_OR:
    case ML_EXPR_NOT:
        if (e->type.lanes != 1)
            return ML_EVERYTHING;
        return between(ml_bool(rx->cx, false), ml_bool(rx->cx, true));
    case ML_EXPR_SELECT:
        if (!ml_dtype_is_index(e->type))
            return ML_EVERYTHING;
        return ml_interval_union(rx->ar, relax(rx, e->args[1]), relax(rx, e->args[2]));
    case ML_EXPR_CAST:
        if (!ml_dtype_is_int(e->type) || e->type.lanes != 1)
            return ML_EVERYTHING;
        return relax_cast(rx, e);
    case ML_EXPR_RAMP: return relax_ramp(rx, e);
    case ML_EXPR_BROADCAST: return relax(rx, e->args[0]);
    case ML_EXPR_LET:
        return relax(rx, ml_expr_subst1(rx->cx, e->args[1], e->as.var, e->args[0]));
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING: return ml_interval_point(e);
    }
    return ML_EVERYTHING;
}

static ml_Interval relax(Relax *rx, const ml_Expr *e)
{
    if (e->size > 1 << 20) /* as a tree: its sharing is not worth following */
        return ML_EVERYTHING;
    if (e->kind == ML_EXPR_RAMP || e->kind == ML_EXPR_BROADCAST)
        return relax_node(rx, e);
    if (e->kind == ML_EXPR_LOAD && !ml_dtype_is_index(e->type))
        return ML_EVERYTHING;
    if (e->kind == ML_EXPR_LET || (e->flags & ML_X_EFFECT))
        return e->flags & ML_X_EFFECT ? ML_EVERYTHING : relax_node(rx, e);
    if (is_free(rx, e))
        return ml_interval_point(e);
    if (e->size < 8 || !ml_tick(rx->cx))
        return relax_node(rx, e);
    const ml_Interval *old = rx->seen ? ml_map_get(rx->seen, e->id) : NULL;
    if (old)
        return *old;
    ml_Interval *set = ML_NEW(rx->cx, ml_Interval);
    *set = relax_node(rx, e);
    if (!rx->seen)
        rx->seen = ml_map_new(rx->cx);
    ml_map_set(rx->cx, rx->seen, e->id, set);
    return *set;
}

static Relax begin(ml_Arith *ar, const ml_Dom *dom, size_t n)
{
    Relax rx = {.ar = ar, .cx = ml_arith_ctx(ar), .dom = dom, .n = n};

    rx.vars = n ? ML_ARRAY(rx.cx, Memo, n) : NULL;
    for (size_t k = 0; k < n; k++)
        rx.bloom |= ml_uid_bloom(dom[k].var->uid);
    return rx;
}

ml_Interval ml_relax(ml_Arith *ar, const ml_Expr *e, const ml_Dom *dom, size_t n)
{
    Relax rx = begin(ar, dom, n);
    ml_Interval r = relax(&rx, e);

    if (r.nothing || r.min == r.max)
        return r;
    return between(tidy(ar, r.min), tidy(ar, r.max));
}

static ml_Interval relax_range(ml_Arith *ar, ml_Range range, const ml_Dom *dom, size_t n,
                               bool loose)
{
    Relax rx = begin(ar, dom, n);
    ml_Interval ends = ml_interval_range(ar, range.min, range.extent);

    if (ends.nothing)
        return ends;
    rx.loose = loose;
    ml_Interval lo = relax(&rx, ends.min);
    ml_Interval hi = ends.max == ends.min ? lo : relax(&rx, ends.max);
    if (lo.nothing || hi.nothing)
        return ML_NOTHING;
    return between(tidy(ar, lo.min), tidy(ar, hi.max));
}

ml_Interval ml_relax_range(ml_Arith *ar, ml_Range range, const ml_Dom *dom, size_t n)
{
    return relax_range(ar, range, dom, n, false);
}

ml_Interval ml_relax_loads(ml_Arith *ar, ml_Range range, const ml_Dom *dom, size_t n)
{
    return relax_range(ar, range, dom, n, true);
}
