/*
 * iter_check - whether the digits taken of every mark are independent, and cover it.
 *
 * A mark whose digits form a chain of radices takes all combinations of them; a mark made
 * of digits that are all covered takes all its values. Constraints that no index goes
 * through must leave the indices' image whole. Source: ir-and-analysis 4.6.
 */
#include "moonloop/core/arith/arith_impl.h"
#include "moonloop/core/arith/iter_impl.h"

static void visit_node(ml_ItState *st, ml_ItMark *m, bool by_constraint);

static void take(ml_ItState *st, const ml_ItDigit *d, bool by_constraint)
{
    if (!ml_it_is_unit(d)) {
        ml_ItTaken t = {*d, by_constraint};
        ml_push(st->cx, &d->mark->taken, t);
    }
    visit_node(st, d->mark, by_constraint);
}

/* A mark contributes its constituents once. */
static void visit_node(ml_ItState *st, ml_ItMark *m, bool by_constraint)
{
    if (m->visited)
        return;
    m->visited = true;
    for (size_t k = 0; k < m->sum.n; k++)
        take(st, &m->sum.v[k], by_constraint);
}

static bool below(ml_ItState *st, const ml_ItDigit *a, const ml_ItDigit *b)
{
    if (!a->low.e && !b->low.e)
        return a->low.i < b->low.i;
    if (ml_it_is(a->low, 1) || ml_it_is(b->low, 1))
        return ml_it_is(a->low, 1) && !ml_it_is(b->low, 1);
    return ml_it_divides(st, ml_it_mul(st, a->low, a->ext), b->low);
}

void ml_it_sort(ml_ItState *st, ml_ItDigit *v, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        ml_ItDigit d = v[k];
        size_t at = k;
        while (at > 0 && below(st, &d, &v[at - 1])) {
            v[at] = v[at - 1];
            at--;
        }
        v[at] = d;
    }
}

/* All digits at or above the top's offset agree with it below their own period. */
static bool is_chain(ml_ItState *st, const ml_ItDigit *v, size_t n)
{
    const ml_ItDigit *top = &v[n - 1];

    for (size_t k = 0; k + 1 < n; k++) {
        if (v[k].open)
            return false;
        ml_ItVal period = ml_it_mul(st, v[k].low, v[k].ext);
        if (!ml_it_divides(st, period, v[k + 1].low) ||
            !ml_it_eq(st, ml_it_mod(st, v[k].off, period), ml_it_mod(st, top->off, period)))
            return false;
    }
    return true;
}

static bool is_exact(ml_ItState *st, const ml_ItMark *m, const ml_ItDigit *v, size_t n)
{
    const ml_ItDigit *top = &v[n - 1];

    if (!top->open || !ml_it_is(top->off, 0) || !ml_it_divides(st, top->low, m->extent) ||
        !ml_it_is(v[0].low, 1))
        return false;
    for (size_t k = 0; k + 1 < n; k++)
        if (!ml_it_eq(st, v[k + 1].low, ml_it_mul(st, v[k].low, v[k].ext)))
            return false;
    return true;
}

/* Every combination of the digits occurs. */
static bool is_covered(ml_ItState *st, const ml_ItMark *m, const ml_ItDigit *v, size_t n)
{
    const ml_ItDigit *top = &v[n - 1];
    ml_ItVal one = ml_it_lit(1);

    if (top->open)
        return n == 1 || (ml_it_is(top->off, 0) && ml_it_divides(st, top->low, m->extent));
    ml_ItVal period = ml_it_mul(st, top->low, top->ext), low = v[0].low;
    if ((m->extent.e || period.e) && ml_it_divides(st, period, m->extent))
        return true;
    ml_ItVal last = ml_it_sub(st, ml_it_add(st, top->off, m->extent), one);
    ml_ItVal count = ml_it_sub(st, ml_it_div(st, last, low), ml_it_div(st, top->off, low));
    return ml_it_le(st, ml_it_div(st, period, low), ml_it_add(st, count, one));
}

/* The digits taken of m, sorted; *n of them. */
static ml_ItDigit *digits_of(ml_ItState *st, const ml_ItMark *m)
{
    ml_ItDigit *v = ML_ARRAY(st->cx, ml_ItDigit, m->taken.n);

    for (size_t k = 0; k < m->taken.n; k++)
        v[k] = m->taken.v[k].d;
    ml_it_sort(st, v, m->taken.n);
    return v;
}

static ml_IterFail check_mark(ml_ItState *st, const ml_ItMark *m, ml_IterLevel level)
{
    size_t n = m->taken.n;
    ml_ItDigit one;

    if (n == 0)
        return ML_ITER_FAIL_NONE;
    if (n == 1)
        one = m->taken.v[0].d;
    const ml_ItDigit *v = n == 1 ? &one : digits_of(st, m);
    if (!is_chain(st, v, n))
        return ML_ITER_FAIL_DEPENDENT;
    if (level == ML_BIJECTIVE && !is_exact(st, m, v, n))
        return ML_ITER_FAIL_BIJECTIVE;
    if (level == ML_SURJECTIVE && !is_covered(st, m, v, n))
        return ML_ITER_FAIL_DEPENDENT;
    return ML_ITER_FAIL_NONE;
}

static bool check_marks(ml_ItState *st, ml_IterLevel level)
{
    for (size_t k = 0; k < st->marks.n; k++) {
        ml_IterFail f = check_mark(st, st->marks.v[k], level);
        if (f != ML_ITER_FAIL_NONE)
            return ml_it_fail(st, f, NULL);
    }
    return true;
}

/* ---- constraint closure */

typedef struct Outer {
    ml_Arith *ar;
    bool found;
} Outer;

/* A variable that runs through a range, as loops do; sizes do not. */
static bool seek_loop(const ml_Expr *e, void *user)
{
    Outer *o = user;
    const ml_VarInfo *v = e->kind == ML_EXPR_VAR ? ml_arith_var(o->ar, e->as.var) : NULL;

    o->found |= v && v->extent;
    return !o->found;
}

bool ml_it_is_size(ml_ItState *st, ml_ItVal v)
{
    Outer o = {st->ar, false};

    if (v.e)
        ml_expr_visit(v.e, seek_loop, &o);
    return v.e && !o.found;
}

/* A constraint c that no index goes through: the indices may use some of its digits as
 * whole digits, and for each of their values the others must be able to satisfy it. All of
 * its digits are taken from now on; that they are independent is checked afterwards. */
static bool close_over(ml_ItState *st, ml_ItMark *c)
{
    ml_ItVal used = ml_it_lit(0), unused = used, one = ml_it_lit(1);
    bool any = false, some = ml_it_le(st, one, c->extent);

    if (!some && !ml_it_is_size(st, c->extent))
        return ml_it_fail(st, ML_ITER_FAIL_PARTIAL, NULL);
    c->visited = true;
    for (size_t k = 0; k < c->sum.n; k++) {
        const ml_ItDigit *d = &c->sum.v[k];
        ml_ItVal run = ml_it_mul(st, ml_it_sub(st, d->ext, one), d->scale);
        bool found = false;
        for (size_t j = 0; j < d->mark->taken.n && !found; j++) {
            const ml_ItTaken *t = &d->mark->taken.v[j];
            if (!ml_it_same_digit(st, &t->d, d))
                continue;
            if (t->by_constraint)
                return ml_it_fail(st, ML_ITER_FAIL_PARTIAL, NULL);
            found = true;
        }
        if (found) {
            any = true;
            used = ml_it_add(st, used, run);
        } else {
            unused = ml_it_add(st, unused, run);
            take(st, d, true);
        }
    }
    if (!any) /* of a size it asks no more than a loop of that size does */
        return true;
    if (!some)
        return ml_it_fail(st, ML_ITER_FAIL_PARTIAL, NULL);
    /* hi is lo + extent; with only one side cut the other is the natural one */
    if ((c->cut_lo && c->cut_hi) ||
        (c->cut_hi && !ml_it_lt(st, used, ml_it_add(st, c->lo, c->extent))) ||
        (c->cut_lo && !ml_it_le(st, c->lo, unused)))
        return ml_it_fail(st, ML_ITER_FAIL_PARTIAL, NULL);
    return true;
}

bool ml_it_check(ml_ItState *st)
{
    bool open_end = false;

    for (size_t k = 0; k < st->n_sums; k++)
        for (size_t j = 0; j < st->sums[k].n; j++)
            take(st, &st->sums[k].v[j], false);
    for (size_t k = 0; k < st->constraints.n; k++)
        if (st->constraints.v[k]->at_unit)
            visit_node(st, st->constraints.v[k], false);
    if (!check_marks(st, st->level))
        return false;
    if (st->level == ML_BIJECTIVE)
        for (size_t k = 0; k < st->n_inputs; k++)
            if (st->marks.v[k]->taken.n == 0 && !ml_it_is(st->marks.v[k]->extent, 1))
                return ml_it_fail(st, ML_ITER_FAIL_BIJECTIVE, NULL);
    if (st->level == ML_NO_CHECK)
        return true;
    /* From the outermost constraint inwards: a nested one is then reached through it. */
    for (size_t k = st->constraints.n; k-- > 0;) {
        if (st->constraints.v[k]->visited)
            continue;
        open_end = true;
        if (!close_over(st, st->constraints.v[k]))
            return false;
    }
    if (open_end && !check_marks(st, ML_SURJECTIVE)) {
        st->fail = ML_ITER_FAIL_PARTIAL;
        return false;
    }
    return true;
}
