/*
 * iter_pred - predicates of iterator maps: a conjunction of integer comparisons becomes
 * narrowed iterators and constraint marks.
 *
 * Three passes, so that the order of the conjuncts does not matter: lone iterators narrow
 * their ranges first, then conjuncts over the same digits are gathered, then the groups are
 * recorded from the smallest to the largest. Source: ir-and-analysis 4.3.
 */
#include "core/arith/iter_impl.h"

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

/* ---- lone iterators */

typedef struct Lone {
    ml_ItMark *mark;
    int64_t coef, base;
} Lone;

/* Whether e has one value only, as a literal: iterators of extent 1 have. */
static bool single(ml_ItState *st, const ml_Expr *e, int64_t *v)
{
    int64_t a, b;

    switch ((int)e->kind) {
    case ML_EXPR_INT: *v = e->as.i; return true;
    case ML_EXPR_VAR: {
        const ml_ItMark *m = ml_it_input(st, e->as.var);
        if (!m || m->min.e || !ml_it_is(m->extent, 1))
            return false;
        *v = m->min.i;
        return true;
    }
    case ML_EXPR_ADD:
        return single(st, e->args[0], &a) && single(st, e->args[1], &b) &&
               !__builtin_add_overflow(a, b, v);
    case ML_EXPR_MUL:
        return single(st, e->args[0], &a) && single(st, e->args[1], &b) &&
               !__builtin_mul_overflow(a, b, v);
    }
    return false;
}

/* e as coef * iterator + literal; false when it is anything else. */
static bool lone(ml_ItState *st, const ml_Expr *e, int sign, Lone *l)
{
    int64_t v;

    if (single(st, e, &v))
        return !(sign > 0 ? __builtin_add_overflow(l->base, v, &l->base)
                          : __builtin_sub_overflow(l->base, v, &l->base));
    switch ((int)e->kind) {
    case ML_EXPR_VAR: {
        ml_ItMark *m = ml_it_input(st, e->as.var);
        if (!m || (l->mark && l->mark != m))
            return false;
        l->mark = m;
        l->coef += sign;
        return true;
    }
    case ML_EXPR_ADD: return lone(st, e->args[0], sign, l) && lone(st, e->args[1], sign, l);
    case ML_EXPR_SUB:
        return lone(st, e->args[0], sign, l) && lone(st, e->args[1], -sign, l);
    }
    return false;
}

/* Narrows the range of a lone iterator; *done: the conjunct needs nothing more. */
static bool narrow(ml_ItState *st, ml_ItConj *c, bool *done)
{
    Lone l = {0};
    int64_t end, lo, hi, b;
    ml_ExprKind op = (ml_ExprKind)c->e->kind;

    if (!lone(st, c->e->args[0], 1, &l) || !lone(st, c->e->args[1], -1, &l) || !l.mark ||
        (l.coef != 1 && l.coef != -1) || l.mark->min.e || l.mark->extent.e)
        return true;
    lo = l.mark->min.i;
    if (__builtin_add_overflow(lo, l.mark->extent.i, &end))
        return true;
    hi = end;
    /* coef * v + base op 0, that is v < b + 1, v <= b ... with b = -base or base */
    bool below = (op == ML_EXPR_LT || op == ML_EXPR_LE) == (l.coef > 0);
    bool strict = op == ML_EXPR_LT || op == ML_EXPR_GT;
    b = l.base;
    if (l.coef > 0 && __builtin_sub_overflow((int64_t)0, l.base, &b))
        return true;
    if (below) {
        if (!strict && __builtin_add_overflow(b, 1, &b))
            return true;
        hi = b < hi ? b : hi;
    } else {
        if (strict && __builtin_add_overflow(b, 1, &b))
            return true;
        lo = b > lo ? b : lo;
    }
    *done = true;
    if (lo >= hi)
        return ml_it_fail(st, ML_ITER_FAIL_EMPTY, c->e);
    c->narrows = lo != l.mark->min.i || hi != end;
    c->redundant = !c->narrows;
    l.mark->min = ml_it_lit(lo);
    l.mark->extent = ml_it_lit(hi - lo);
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

bool ml_it_predicate(ml_ItState *st, const ml_Expr *pred)
{
    if (pred->size > ML_IT_SIZE_LIMIT)
        return ml_it_fail(st, ML_ITER_FAIL_PREDICATE, pred);
    if (!flatten(st, pred))
        return false;
    bool *done = ML_ARRAY(st->cx, bool, st->conjs.n + 1);
    /* One that is narrowed to a single value may leave another one alone. */
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < st->conjs.n; k++) {
            if (st->conjs.v[k].foreign || done[k])
                continue;
            if (!narrow(st, &st->conjs.v[k], &done[k]))
                return false;
            more |= done[k];
        }
    }
    for (size_t k = 0; k < st->conjs.n; k++)
        if (!st->conjs.v[k].foreign && !done[k] && !gather(st, &st->conjs.v[k]))
            return false;

    size_t n = st->groups.n;
    size_t *order = ML_ARRAY(st->cx, size_t, n + 1);
    for (size_t k = 0; k < n; k++) {
        size_t at = k;
        while (at > 0 && st->groups.v[order[at - 1]].size > st->groups.v[k].size) {
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
        if (!c->foreign && !done[k] && !c->redundant) {
            const ml_ItGroup *g = &st->groups.v[c->group];
            c->redundant = c->upper ? !g->cut_hi : !g->cut_lo;
        }
    }
    return true;
}
