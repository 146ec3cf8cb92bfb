/*
 * iter_pred - predicates of iterator maps: a conjunction of integer comparisons becomes
 * narrowed iterators and constraint marks.
 *
 * Three passes, so that the order of the conjuncts does not matter: what narrows an
 * iterator comes first, then conjuncts over the same digits are gathered, then the groups
 * are recorded from the smallest to the largest. Source: ir-and-analysis 4.3.
 */
#include "moonloop/core/arith/iter_impl.h"

#include "moonloop/core/arith/arith_impl.h"

static bool is_comparison(const ml_Expr *e)
{
    return e->kind == ML_EXPR_LT || e->kind == ML_EXPR_LE || e->kind == ML_EXPR_GT ||
           e->kind == ML_EXPR_GE;
}

static bool flatten(ml_ItState *st, const ml_Expr *e)
{
    while (ml_is_op(e, ML_OP_LIKELY) && e->n_args == 1)
        e = e->args[0];
    if (e->kind == ML_EXPR_AND)
        return flatten(st, e->args[0]) && flatten(st, e->args[1]);
    if (ml_is_const_int(e))
        return e->as.i ? true : ml_it_fail(st, ML_ITER_FAIL_EMPTY, e);
    ml_ItConj c = {.e = e};
    c.foreign = !ml_it_has_iter(st, e);
    if (!c.foreign && (!is_comparison(e) || !ml_dtype_is_index(e->args[0]->type)))
        return ml_it_fail(st, ML_ITER_FAIL_PREDICATE, e);
    ml_push(st->cx, &st->conjs, c);
    return true;
}

/* ---- linear conjuncts over iterators of literal ranges */

enum { MAX_LINEAR = 12, MAX_ROUNDS = 4 };

typedef struct Linear { /* sum of coef * iterator + base <= 0 */
    ml_ItMark *mark[MAX_LINEAR];
    int64_t coef[MAX_LINEAR];
    size_t n;
    int64_t base;
} Linear;

static bool add_mark(Linear *l, ml_ItMark *m, int64_t times)
{
    size_t k = 0;

    while (k < l->n && l->mark[k] != m)
        k++;
    if (k == MAX_LINEAR)
        return false;
    if (k == l->n) {
        l->mark[l->n] = m;
        l->coef[l->n++] = 0;
    }
    return !__builtin_add_overflow(l->coef[k], times, &l->coef[k]);
}

/* Adds times * e; false when it is not of that form. */
static bool linear(ml_ItState *st, const ml_Expr *e, int64_t times, Linear *l)
{
    int64_t v;

    switch ((int)e->kind) {
    case ML_EXPR_INT:
        return !__builtin_mul_overflow(times, e->as.i, &v) &&
               !__builtin_add_overflow(l->base, v, &l->base);
    case ML_EXPR_VAR: {
        ml_ItMark *m = ml_it_input(st, e->as.var);

        return m && add_mark(l, m, times);
    }
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        if (e->kind == ML_EXPR_SUB && times == INT64_MIN)
            return false;
        return linear(st, e->args[0], times, l) &&
               linear(st, e->args[1], e->kind == ML_EXPR_SUB ? -times : times, l);
    case ML_EXPR_MUL: {
        bool left = e->args[0]->kind == ML_EXPR_INT;
        const ml_Expr *f = e->args[left ? 0 : 1];

        return f->kind == ML_EXPR_INT && !__builtin_mul_overflow(times, f->as.i, &v) &&
               linear(st, e->args[left ? 1 : 0], v, l);
    }
    }
    return false;
}

/* The conjunct as sum <= 0, iterators of one value taken into the base. */
static bool as_linear(ml_ItState *st, const ml_Expr *e, Linear *l)
{
    bool below = e->kind == ML_EXPR_LT || e->kind == ML_EXPR_LE;
    bool strict = e->kind == ML_EXPR_LT || e->kind == ML_EXPR_GT;
    size_t n = 0;

    *l = (Linear){.base = strict};
    if (!linear(st, e->args[below ? 0 : 1], 1, l) ||
        !linear(st, e->args[below ? 1 : 0], -1, l))
        return false;
    for (size_t k = 0; k < l->n; k++) {
        const ml_ItMark *m = l->mark[k];
        int64_t v;

        if (m->min.e)
            return false;
        if (ml_it_is(m->extent, 1) || l->coef[k] == 0) {
            if (__builtin_mul_overflow(l->coef[k], m->min.i, &v) ||
                __builtin_add_overflow(l->base, v, &l->base))
                return false;
            continue;
        }
        l->mark[n] = l->mark[k];
        l->coef[n++] = l->coef[k];
    }
    l->n = n;
    return true;
}

/* The least value of coef * iterator; false: not known. */
static bool least(const ml_ItMark *m, int64_t coef, int64_t *out)
{
    int64_t v = m->min.i;

    if (coef < 0 && (m->extent.e || __builtin_add_overflow(v, m->extent.i - 1, &v)))
        return false;
    return !__builtin_mul_overflow(coef, v, out);
}

/* Cuts the k-th iterator to what the others leave it. A range that stays several values is
 * cut only when no other iterator is there: what follows of a constraint is its own. */
static bool cut(ml_ItState *st, ml_ItConj *c, const Linear *l, size_t k)
{
    ml_ItMark *m = l->mark[k];
    int64_t rest = l->base, v, lo, hi;

    if (m->extent.e)
        return true;
    for (size_t j = 0; j < l->n; j++)
        if (j != k &&
            (!least(l->mark[j], l->coef[j], &v) || __builtin_add_overflow(rest, v, &rest)))
            return true;
    if (l->coef[k] == INT64_MIN || rest == INT64_MIN)
        return true;
    /* coef * v <= -rest */
    lo = m->min.i;
    if (__builtin_add_overflow(lo, m->extent.i - 1, &hi))
        return true;
    if (l->coef[k] > 0) {
        v = ml_floordiv_i64(-rest, l->coef[k]);
        hi = v < hi ? v : hi;
    } else {
        v = -ml_floordiv_i64(-rest, -l->coef[k]);
        lo = v > lo ? v : lo;
    }
    if (lo > hi)
        return ml_it_fail(st, ML_ITER_FAIL_EMPTY, c->e);
    if (hi - lo + 1 == m->extent.i || (l->n > 1 && hi != lo))
        return true;
    c->narrows = true;
    m->min = ml_it_lit(lo);
    m->extent = ml_it_lit(hi - lo + 1);
    return true;
}

/* Narrows ranges by one conjunct; *done: it needs nothing more. */
static bool narrow(ml_ItState *st, ml_ItConj *c, bool *done)
{
    size_t before = MAX_LINEAR + 1;
    Linear l;

    /* again while iterators get down to one value */
    while (as_linear(st, c->e, &l) && l.n < before) {
        if (l.n == 0) {
            if (l.base > 0)
                return ml_it_fail(st, ML_ITER_FAIL_EMPTY, c->e);
            *done = true;
            break;
        }
        for (size_t k = 0; k < l.n; k++)
            if (!cut(st, c, &l, k))
                return false;
        if (l.n == 1 && !l.mark[0]->extent.e) {
            *done = true;
            break;
        }
        before = l.n;
    }
    c->redundant = *done && !c->narrows;
    return true;
}

/* One iterator's new range may leave other conjuncts with one iterator less. */
static bool narrow_all(ml_ItState *st, bool *done)
{
    size_t left = st->conjs.n, before = left + 1;

    for (int round = 0; left > 0 && round < MAX_ROUNDS && (round < 2 || left < before);
         round++) {
        before = left;
        left = 0;
        for (size_t k = 0; k < st->conjs.n; k++) {
            ml_ItConj *c = &st->conjs.v[k];

            if (c->foreign || done[k])
                continue;
            if (!narrow(st, c, &done[k]))
                return false;
            left += !done[k];
        }
    }
    return true;
}

/* ---- groups: lo <= digits < hi */

static ml_ItVal extreme(ml_ItState *st, ml_ItVal a, ml_ItVal b, bool greater)
{
    if (ml_it_le(st, a, b))
        return greater ? b : a;
    if (ml_it_le(st, b, a))
        return greater ? a : b;
    const ml_Expr *x = ml_it_expr(st, a), *y = ml_it_expr(st, b);
    return ml_it_val(
        st, ml_simplify(st->ar, greater ? ml_max(st->cx, x, y) : ml_min(st->cx, x, y)));
}

/* lhs - rhs as a sum of non-unit digits. */
static bool difference(ml_ItState *st, const ml_Expr *lhs, const ml_Expr *rhs, ml_ItSum *s)
{
    size_t n = 0;

    if (!ml_it_convert(st, lhs, ml_it_lit(1), s) ||
        !ml_it_convert(st, rhs, ml_it_lit(-1), s)) {
        st->fail = ML_ITER_FAIL_CONSTRAINTS;
        return false;
    }
    for (size_t k = 0; k < s->n; k++)
        if (!ml_it_is_unit(&s->v[k]))
            s->v[n++] = s->v[k];
    s->n = n;
    return true;
}

static bool all_negative(const ml_ItSum *s)
{
    for (size_t k = 0; k < s->n; k++)
        if (s->v[k].scale.e || s->v[k].scale.i > 0)
            return false;
    return s->n > 0;
}

static void negate(ml_ItState *st, ml_ItSum *s)
{
    ml_ItVal minus = ml_it_lit(-1);

    for (size_t k = 0; k < s->n; k++)
        s->v[k].scale = ml_it_mul(st, s->v[k].scale, minus);
    s->base = ml_it_mul(st, s->base, minus);
}

/* Whether both have the same digits with the same scales, in any order. */
static bool same_digits(ml_ItState *st, const ml_ItSum *a, const ml_ItSum *b)
{
    if (a->n != b->n)
        return false;
    for (size_t k = 0; k < a->n; k++) {
        size_t j = 0;
        while (j < b->n && !(ml_it_same_digit(st, &a->v[k], &b->v[j]) &&
                             ml_it_eq(st, a->v[k].scale, b->v[j].scale)))
            j++;
        if (j == b->n)
            return false;
    }
    return true;
}

/* A conjunct whose iterators cancel: a fact about the rest. */
static bool constant_conj(ml_ItState *st, ml_ItConj *c, ml_ItVal base)
{
    ml_ItVal zero = ml_it_lit(0);
    bool holds, fails;

    switch ((int)c->e->kind) {
    case ML_EXPR_LT:
        holds = ml_it_lt(st, base, zero), fails = ml_it_le(st, zero, base);
        break;
    case ML_EXPR_LE:
        holds = ml_it_le(st, base, zero), fails = ml_it_lt(st, zero, base);
        break;
    case ML_EXPR_GT:
        holds = ml_it_lt(st, zero, base), fails = ml_it_le(st, base, zero);
        break;
    default: holds = ml_it_le(st, zero, base), fails = ml_it_lt(st, base, zero); break;
    }
    if (fails)
        return ml_it_fail(st, ML_ITER_FAIL_EMPTY, c->e);
    if (!holds) /* undecided: its iterators must not get lost */
        return ml_it_fail(st, ML_ITER_FAIL_CONSTRAINTS, c->e);
    c->redundant = true;
    return true;
}

static bool gather(ml_ItState *st, ml_ItConj *c)
{
    ml_ItGroup g = {.lhs = c->e->args[0], .rhs = c->e->args[1], .size = c->e->size};
    ml_ExprKind op = (ml_ExprKind)c->e->kind;
    bool below = op == ML_EXPR_LT || op == ML_EXPR_LE;
    bool strict = op == ML_EXPR_LT || op == ML_EXPR_GT;

    if (!difference(st, g.lhs, g.rhs, &g.sum))
        return false;
    if (g.sum.n == 0)
        return constant_conj(st, c, g.sum.base);
    if (all_negative(&g.sum)) {
        negate(st, &g.sum);
        g.negate = true;
        below = !below;
    }
    /* digits + base op 0 */
    ml_ItVal bound = ml_it_mul(st, g.sum.base, ml_it_lit(-1));
    if (below != strict)
        bound = ml_it_add(st, bound, ml_it_lit(1));
    c->upper = below;
    g.has_hi = below;
    g.has_lo = !below;
    g.lo = g.hi = bound;
    for (size_t k = 0; k < st->groups.n; k++) {
        ml_ItGroup *old = &st->groups.v[k];
        if (!same_digits(st, &old->sum, &g.sum))
            continue;
        c->group = (uint32_t)k;
        if (below)
            old->hi = old->has_hi ? extreme(st, old->hi, bound, false) : bound;
        else
            old->lo = old->has_lo ? extreme(st, old->lo, bound, true) : bound;
        old->has_hi |= below;
        old->has_lo |= !below;
        if (g.size < old->size)
            old->size = g.size;
        return !st->failed;
    }
    c->group = (uint32_t)st->groups.n;
    ml_push(st->cx, &st->groups, g);
    return !st->failed;
}

/* Records the group as a constraint mark, unless it changes nothing. */
static bool record(ml_ItState *st, ml_ItGroup *g, bool first)
{
    ml_ItVal zero = ml_it_lit(0), lo = g->lo, hi = g->hi;
    ml_ItSum s = {0};

    /* Converted again, since smaller constraints may sit inside; the bounds are on the raw
     * digits and follow the base. */
    if (first) {
        s = g->sum;
        s.base = zero;
    } else {
        if (!difference(st, g->lhs, g->rhs, &s))
            return false;
        if (g->negate)
            negate(st, &s);
        s.base = ml_it_sub(st, s.base, g->sum.base);
    }
    if (!ml_it_fuse(st, &s, true, g->lhs) || st->failed) {
        st->fail = ML_ITER_FAIL_CONSTRAINTS;
        return false;
    }
    lo = ml_it_sub(st, lo, s.base);
    hi = ml_it_sub(st, hi, s.base);
    if (s.n == 0 || !ml_it_is(s.v[0].scale, 1))
        return ml_it_fail(st, ML_ITER_FAIL_CONSTRAINTS, g->lhs);
    ml_ItDigit d = s.v[0];
    g->cut_lo = g->has_lo && !ml_it_le(st, lo, zero);
    g->cut_hi = g->has_hi && !ml_it_le(st, d.ext, hi);
    if (!g->cut_lo && !g->cut_hi)
        return !st->failed;
    lo = g->cut_lo ? extreme(st, lo, zero, true) : zero;
    hi = g->cut_hi ? extreme(st, hi, d.ext, false) : d.ext;
    if (ml_it_le(st, hi, lo))
        return ml_it_fail(st, ML_ITER_FAIL_EMPTY, g->lhs);
    ml_ItMark *c = ml_it_mark(st, ML_IT_CONSTRAINT);
    if (d.mark->kind == ML_IT_FUSED && ml_it_is_whole(&d))
        for (size_t k = 0; k < d.mark->sum.n; k++)
            ml_push(st->cx, &c->sum, d.mark->sum.v[k]);
    else
        ml_push(st->cx, &c->sum, d);
    c->lo = lo;
    c->sum.base = ml_it_sub(st, zero, lo);
    c->extent = ml_it_sub(st, hi, lo);
    c->cut_lo = g->cut_lo;
    c->cut_hi = g->cut_hi;
    ml_push(st->cx, &st->constraints, c);
    st->memo = NULL;
    return !st->failed;
}

/* A constraint on some of the digits of another goes into it. */
static bool comes_first(const ml_ItGroup *a, const ml_ItGroup *b)
{
    return a->sum.n != b->sum.n ? a->sum.n < b->sum.n : a->size < b->size;
}

bool ml_it_predicate(ml_ItState *st, const ml_Expr *pred)
{
    if (pred->size > ML_IT_SIZE_LIMIT)
        return ml_it_fail(st, ML_ITER_FAIL_PREDICATE, pred);
    if (!flatten(st, pred))
        return false;
    bool *done = ML_ARRAY(st->cx, bool, st->conjs.n + 1);
    if (!narrow_all(st, done))
        return false;
    for (size_t k = 0; k < st->conjs.n; k++)
        if (!st->conjs.v[k].foreign && !done[k] && !gather(st, &st->conjs.v[k]))
            return false;

    size_t n = st->groups.n;
    size_t *order = ML_ARRAY(st->cx, size_t, n + 1);
    for (size_t k = 0; k < n; k++) {
        size_t at = k;
        while (at > 0 && comes_first(&st->groups.v[k], &st->groups.v[order[at - 1]])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = k;
    }
    for (size_t k = 0; k < n; k++)
        if (!record(st, &st->groups.v[order[k]], st->constraints.n == 0))
            return false;
    for (size_t k = 0; k < st->conjs.n; k++) {
        ml_ItConj *c = &st->conjs.v[k];
        if (!c->foreign && !done[k] && !c->redundant && !c->narrows) {
            const ml_ItGroup *g = &st->groups.v[c->group];
            c->redundant = c->upper ? !g->cut_hi : !g->cut_lo;
        }
    }
    return true;
}

/* ---- other forms of a predicate */

/* x < 0 or x >= 0 (strict) as x // d < 0 or x // d >= 0, with the largest d that divides
 * x's constant and something else in x. */
static const ml_Expr *divided(ml_ItState *st, const ml_Expr *x, bool below,
                              const ml_Expr *otherwise)
{
    ml_Ctx *cx = st->cx;
    int64_t best = 1;
    ml_Sum s;

    ml_sum_init(&s, x->type);
    if (!ml_sum_add_expr(st->ar, &s, x, 1) || s.base == 0)
        return otherwise;
    for (uint32_t k = 0; k < s.n; k++) {
        int64_t d = ml_gcd(s.t[k].scale, s.base);

        best = d > best ? d : best;
    }
    if (best <= 1 || !ml_dtype_fits(x->type, best))
        return otherwise;
    const ml_Expr *q = ml_simplify(st->ar, ml_floordiv(cx, x, ml_int(cx, x->type, best)));
    const ml_Expr *zero = ml_int(cx, x->type, 0);

    return below ? ml_lt(cx, q, zero) : ml_ge(cx, q, zero);
}

static const ml_Expr *other_form(ml_ItState *st, const ml_Expr *e, int form);

/* A conjunct that mentions iterators goes on doing so: others are somebody else's. */
static const ml_Expr *other_conjunct(ml_ItState *st, const ml_Expr *e, int form)
{
    while (ml_is_op(e, ML_OP_LIKELY) && e->n_args == 1)
        e = e->args[0];
    /* What narrowed a range stays: the ranges are taken as it left them. */
    for (size_t k = 0; k < st->conjs.n; k++)
        if (st->conjs.v[k].e == e && st->conjs.v[k].narrows)
            return e;
    const ml_Expr *r = other_form(st, e, form);

    return ml_is_const_int(r) || ml_it_has_iter(st, r) ? r : e;
}

static const ml_Expr *other_form(ml_ItState *st, const ml_Expr *e, int form)
{
    ml_Ctx *cx = st->cx;

    if (e->kind == ML_EXPR_AND) {
        const ml_Expr *a = other_conjunct(st, e->args[0], form);
        const ml_Expr *b = other_conjunct(st, e->args[1], form);

        return a == e->args[0] && b == e->args[1] ? e : ml_and(cx, a, b);
    }
    if (!is_comparison(e) || !ml_dtype_is_index(e->args[0]->type) || !ml_it_has_iter(st, e))
        return e;
    /* Sides are simplified, not the comparison: it stays one. */
    const ml_Expr *a = ml_simplify(st->ar, e->args[0]),
                  *b = ml_simplify(st->ar, e->args[1]);

    if (form == 0)
        return ml_binary(cx, (ml_ExprKind)e->kind, a, b);
    bool below = e->kind == ML_EXPR_LT || e->kind == ML_EXPR_LE;
    const ml_Expr *x = ml_sub(cx, a, b);

    if (e->kind == ML_EXPR_LE || e->kind == ML_EXPR_GT) /* a <= b, a > b: a - b - 1 */
        x = ml_sub(cx, x, ml_int(cx, x->type, 1));
    return divided(st, ml_simplify(st->ar, x), below, e);
}

const ml_Expr *ml_it_predicate_form(ml_ItState *st, const ml_Expr *pred,
                                    const ml_Dom *iters, size_t n_iters, int form)
{
    ml_ArithMark mark = ml_arith_save(st->ar);

    for (size_t k = 0; k < n_iters; k++) {
        bool known = k < st->n_inputs; /* and may be narrowed */
        const ml_Expr *min = iters[k].min, *extent = iters[k].extent;

        if (known && !st->marks.v[k]->min.e &&
            ml_dtype_fits(min->type, st->marks.v[k]->min.i))
            min = ml_int(st->cx, min->type, st->marks.v[k]->min.i);
        if (known && !st->marks.v[k]->extent.e &&
            ml_dtype_fits(extent->type, st->marks.v[k]->extent.i))
            extent = ml_int(st->cx, extent->type, st->marks.v[k]->extent.i);
        ml_arith_bind_range(st->ar, iters[k].var, min, extent);
    }
    pred = other_conjunct(st, pred, form);
    ml_arith_restore(st->ar, mark);
    return pred;
}
