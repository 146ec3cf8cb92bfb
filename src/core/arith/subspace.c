/*
 * subspace - division of a detected map into a part over the outer loops and a part over
 * the inner ones: binding = outer * extent(inner) + inner. Source: ir-and-analysis 4.8.
 *
 * The predicate is divided conjunct by conjunct, as it was written: one that cuts something
 * must belong to one side alone.
 */
#include "moonloop/core/arith/iter_impl.h"

typedef struct Half {
    ml_ItSum sum;
    ml_ItVal extent;
} Half;

typedef struct Pair {
    Half outer, inner;
} Pair;

typedef struct Divide {
    ml_ItState st;
    const ml_Dom *iters;
    size_t n_iters;
    bool *is_inner; /* per iterator */
    bool *is_unit;  /* extent 1 before the predicate was looked at */
} Divide;

enum { OUTER = 1, INNER = 2 };

/* Which sides the inputs below a mark belong to. */
static int sides(const Divide *dv, const ml_ItMark *m)
{
    int r = 0;

    if (m->kind == ML_IT_INPUT)
        return dv->is_inner[m->id] ? INNER : OUTER;
    for (size_t k = 0; k < m->sum.n; k++)
        r |= sides(dv, m->sum.v[k].mark);
    return r;
}

static bool divide_digit(Divide *dv, const ml_ItDigit *d, Pair *out);

static Half unit_half(void)
{
    return (Half){.extent = ml_it_lit(1)};
}

static void add(Divide *dv, Half *h, ml_ItDigit d, ml_ItVal scale)
{
    d.scale = scale;
    ml_push(dv->st.cx, &h->sum, d);
    h->extent = ml_it_mul(&dv->st, h->extent, d.ext);
}

/* The sum of a mark that belongs to both sides. */
static bool divide_mark(Divide *dv, ml_ItMark *m, Pair *out)
{
    ml_ItState *st = &dv->st;
    bool in_outer = false;

    *out = (Pair){unit_half(), unit_half()};
    if (!ml_it_is(m->sum.base, 0))
        return false;
    if (m->sum.n == 1) {
        if (!divide_digit(dv, &m->sum.v[0], out))
            return false;
    } else {
        for (size_t k = m->sum.n; k-- > 0;) {
            const ml_ItDigit *d = &m->sum.v[k];
            int side = sides(dv, d->mark);
            if (side == (OUTER | INNER))
                return false;
            if (!ml_it_is_unit(d) && side == INNER && in_outer)
                return false;
            in_outer |= !ml_it_is_unit(d) && side == OUTER;
        }
        for (size_t k = 0; k < m->sum.n; k++) {
            const ml_ItDigit *d = &m->sum.v[k];
            if (sides(dv, d->mark) == INNER)
                add(dv, &out->inner, *d, d->scale);
        }
        for (size_t k = 0; k < m->sum.n; k++) {
            const ml_ItDigit *d = &m->sum.v[k];
            if (sides(dv, d->mark) != OUTER)
                continue;
            bool whole = ml_it_divides(st, out->inner.extent, d->scale);
            if (!whole && !ml_it_is_unit(d))
                return false;
            add(dv, &out->outer, *d,
                whole ? ml_it_div(st, d->scale, out->inner.extent) : ml_it_lit(1));
        }
    }
    ml_ItVal product = ml_it_mul(st, out->outer.extent, out->inner.extent);
    return ml_it_eq(st, product, m->extent) && !st->failed;
}

/* d over a mark of one half's own; `low` is where the half begins in the old mark. */
static Half part_of(Divide *dv, const Half *half, const ml_ItDigit *d, ml_ItVal low)
{
    ml_ItState *st = &dv->st;
    ml_ItMark *m = ml_it_mark(st, ML_IT_FUSED);
    Half r = unit_half();
    ml_ItDigit part = *d;

    m->sum = half->sum;
    m->extent = half->extent;
    part.mark = m;
    part.low = ml_it_div(st, d->low, low);
    part.open = d->open || ml_it_le(st, m->extent, ml_it_mul(st, part.low, d->ext));
    add(dv, &r, part, ml_it_lit(1));
    return r;
}

/* A digit of a mark that belongs to both sides, beside others of that mark. */
static bool divide_part(Divide *dv, const ml_ItDigit *d, Pair *out)
{
    ml_ItState *st = &dv->st;
    ml_ItMark *m = d->mark;
    size_t n = m->taken.n, at = n;
    ml_ItDigit *v = ML_ARRAY(st->cx, ml_ItDigit, n + 1);
    ml_ItVal width = ml_it_lit(1);
    Pair whole;

    if (!divide_mark(dv, m, &whole))
        return false;
    for (size_t k = 0; k < n; k++)
        v[k] = m->taken.v[k].d;
    if (n == 1 && ml_it_is_whole(d)) {
        *out = whole;
        return true;
    }
    ml_it_sort(st, v, n);
    for (size_t k = 0; k <= n; k++) {
        if (at == n && ml_it_eq(st, width, whole.inner.extent))
            at = k;
        if (k == n)
            break;
        if (!ml_it_is(v[k].off, 0) || !ml_it_eq(st, v[k].low, width))
            return false;
        width = ml_it_mul(st, width, v[k].ext);
    }
    if (!ml_it_eq(st, width, m->extent) ||
        (at == n && !ml_it_eq(st, whole.inner.extent, width)))
        return false;
    *out = (Pair){unit_half(), unit_half()};
    for (size_t k = 0; k < n; k++) {
        if (!ml_it_same_digit(st, &v[k], d))
            continue;
        if (k < at)
            out->inner = part_of(dv, &whole.inner, d, ml_it_lit(1));
        else
            out->outer = part_of(dv, &whole.outer, d, v[at].low);
        return !st->failed;
    }
    return false;
}

/* The value of d without its scale as outer * extent(inner) + inner. */
static bool divide_digit(Divide *dv, const ml_ItDigit *d, Pair *out)
{
    int side = sides(dv, d->mark);

    *out = (Pair){unit_half(), unit_half()};
    if (side == (OUTER | INNER))
        return divide_part(dv, d, out);
    add(dv, side == INNER ? &out->inner : &out->outer, *d, ml_it_lit(1));
    return true;
}

/* One binding; min[0], min[1]: of the outer and the inner part. */
static bool divide_sum(Divide *dv, const ml_ItSum *s, Pair *out, ml_ItVal min[2])
{
    ml_ItState *st = &dv->st;

    min[0] = min[1] = ml_it_lit(0);
    *out = (Pair){unit_half(), unit_half()};
    if (s->n > 1)
        return false;
    if (s->n == 0) {
        out->inner.sum.base = min[1] = s->base;
        return true;
    }
    if (!ml_it_is(s->v[0].scale, 1) && !ml_it_is_unit(&s->v[0]))
        return false;
    if (!divide_digit(dv, &s->v[0], out))
        return false;
    if (ml_it_divides(st, out->inner.extent, s->base)) {
        min[0] = ml_it_div(st, s->base, out->inner.extent);
        out->outer.sum.base = ml_it_add(st, out->outer.sum.base, min[0]);
    } else {
        min[1] = s->base;
        out->inner.sum.base = ml_it_add(st, out->inner.sum.base, min[1]);
    }
    return !st->failed;
}

/* ---- what an expression uses */

/* Non-unit iterators of e by side. */
static int uses(const Divide *dv, const ml_Expr *e)
{
    int r = 0;

    for (size_t k = 0; k < dv->n_iters; k++)
        if (!dv->is_unit[k] && ml_expr_uses_var(e, dv->iters[k].var))
            r |= dv->is_inner[k] ? INNER : OUTER;
    return r;
}

/* e with the unit iterators of the other side (side 0: of both) replaced by their only
 * value. */
static const ml_Expr *keep_side(Divide *dv, const ml_Expr *e, int side)
{
    for (size_t k = 0; k < dv->n_iters; k++) {
        const ml_Var *v = dv->iters[k].var;
        if (dv->is_unit[k] && (!side || dv->is_inner[k] != (side == INNER)) &&
            ml_expr_uses_var(e, v))
            e = ml_expr_subst1(dv->st.cx, e, v,
                               ml_cast(dv->st.cx, v->type, dv->iters[k].min));
    }
    return e;
}

static const ml_Expr *join(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return ml_is_true(a) ? b : ml_and(cx, a, b);
}

static bool divide_predicate(Divide *dv, ml_Division *out)
{
    ml_Ctx *cx = dv->st.cx;

    for (size_t k = 0; k < dv->st.conjs.n; k++) {
        const ml_ItConj *c = &dv->st.conjs.v[k];
        if (c->redundant)
            continue;
        int side = c->foreign ? OUTER : uses(dv, c->e);
        if (side == (OUTER | INNER))
            return false;
        const ml_Expr *e = keep_side(dv, c->e, side ? side : OUTER);
        if (side == INNER)
            out->inner_pred = join(cx, out->inner_pred, e);
        else
            out->outer_pred = join(cx, out->outer_pred, e);
    }
    return true;
}

/* ---- the whole */

static ml_IterPart part(Divide *dv, const Half *h, ml_ItVal min, ml_Dtype t)
{
    ml_ItState *st = &dv->st;
    bool shifted = st->constraints.n > 0;

    for (size_t k = 0; k < st->n_inputs; k++)
        shifted |= !ml_it_is(st->marks.v[k]->min, 0);
    ml_IterPart p = {ml_it_sum_expr(st, &h->sum), ml_it_expr(st, min),
                     ml_it_expr(st, h->extent)};
    if (shifted)
        p.value = ml_simplify(st->ar, p.value);
    if (!ml_dtype_eq(p.value->type, t)) {
        p.value = ml_cast(st->cx, t, p.value);
        p.min = ml_cast(st->cx, t, p.min);
        p.extent = ml_cast(st->cx, t, p.extent);
    }
    return p;
}

static bool divide(Divide *dv, const ml_Expr *const *bindings, size_t n,
                   const ml_Expr *pred, ml_Division *out)
{
    ml_Ctx *cx = ml_arith_ctx(dv->st.ar);

    out->outer_pred = out->inner_pred = ml_bool(cx, true);
    if (!ml_it_detect(&dv->st, bindings, n, dv->iters, dv->n_iters, pred))
        return false;
    for (size_t k = 0; k < n; k++) {
        Pair p;
        ml_ItVal min[2];
        if (!divide_sum(dv, &dv->st.sums[k], &p, min))
            return false;
        out->outer[k] = part(dv, &p.outer, min[0], bindings[k]->type);
        out->inner[k] = part(dv, &p.inner, min[1], bindings[k]->type);
    }
    return divide_predicate(dv, out) && !dv->st.failed;
}

/* The range that the value of a whole binding stays in; NULL ends when not known. */
static ml_IterPart whole_part(Divide *dv, const ml_Expr *e)
{
    ml_Arith *ar = dv->st.ar;
    ml_Ctx *cx = dv->st.cx;
    ml_Interval set = ml_relax(ar, e, dv->iters, dv->n_iters);
    ml_IterPart p = {e, NULL, NULL};

    if (set.nothing || !set.min || !set.max) {
        ml_Bound b = ml_arith_bound(ar, e);
        if (b.lo <= ml_dtype_min(e->type) || b.hi >= ml_dtype_max(e->type))
            return p;
        set = (ml_Interval){ml_int(cx, e->type, b.lo), ml_int(cx, e->type, b.hi), false};
    }
    ml_Range r = ml_interval_cover(ar, set, (ml_Range){NULL, NULL});
    p.min = r.min;
    p.extent = r.extent;
    return p;
}

/* No affinity needed: every binding belongs to one side as a whole. */
static bool divide_trivially(Divide *dv, const ml_Expr *const *bindings, size_t n,
                             ml_Division *out)
{
    ml_Ctx *cx = dv->st.cx;

    out->outer_pred = out->inner_pred = ml_bool(cx, true);
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = bindings[k], *zero, *one;
        if (!ml_dtype_is_index(e->type))
            return false;
        zero = ml_int(cx, e->type, 0);
        one = ml_int(cx, e->type, 1);
        int side = uses(dv, e);
        if (side == (OUTER | INNER))
            return false;
        e = keep_side(dv, e, side ? side : INNER);
        ml_IterPart whole = {e, ml_simplify(dv->st.ar, keep_side(dv, e, 0)), one};
        if (side)
            whole = whole_part(dv, e);
        out->outer[k] = side == OUTER ? whole : (ml_IterPart){zero, zero, one};
        out->inner[k] = side == OUTER ? (ml_IterPart){zero, zero, one} : whole;
    }
    return true;
}

ml_Division ml_subspace_divide(ml_Arith *ar, const ml_Expr *const *bindings, size_t n,
                               const ml_Dom *iters, size_t n_iters,
                               const ml_Var *const *inner, size_t n_inner,
                               const ml_Expr *pred, ml_IterLevel level)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_Division out = {.outer = ML_ARRAY(cx, ml_IterPart, n + 1),
                       .inner = ML_ARRAY(cx, ml_IterPart, n + 1)};
    const ml_Expr **simple = ML_ARRAY(cx, const ml_Expr *, n + 1);
    Divide dv = {.iters = iters, .n_iters = n_iters};
    ml_ArithMark mark = ml_arith_save(ar);
    bool changed = false;

    dv.is_inner = ML_ARRAY(cx, bool, n_iters + 1);
    dv.is_unit = ML_ARRAY(cx, bool, n_iters + 1);
    for (size_t k = 0; k < n_iters; k++) {
        for (size_t j = 0; j < n_inner; j++)
            dv.is_inner[k] |= inner[j]->uid == iters[k].var->uid;
        dv.is_unit[k] = ml_is_int(ml_simplify(ar, iters[k].extent), 1);
        /* A unit iterator stays visible: it is not bound to its value. */
        if (!dv.is_unit[k] && ml_dtype_is_index(iters[k].var->type))
            ml_arith_bind_range(ar, iters[k].var, iters[k].min, iters[k].extent);
    }
    for (size_t k = 0; k < n; k++) {
        simple[k] = ml_simplify(ar, bindings[k]);
        changed |= simple[k] != bindings[k];
    }
    dv.st = (ml_ItState){.ar = ar, .level = level, .keep_unit = true};
    out.ok = divide(&dv, simple, n, pred, &out);
    if (!out.ok && changed) {
        dv.st = (ml_ItState){.ar = ar, .level = level, .keep_unit = true};
        out.ok = divide(&dv, bindings, n, pred, &out);
    }
    if (!out.ok && (!pred || ml_is_true(pred)))
        out.ok = out.trivial = divide_trivially(&dv, simple, n, &out);
    ml_arith_restore(ar, mark);
    return out;
}
