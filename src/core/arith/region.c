/*
 * region - the elements that a box of ranges touches while its loops run: exactly (strict,
 * lower) or at most (upper). Source: ir-and-analysis 3.8.
 */
#include "moonloop/core/arith/region.h"

#include "moonloop/core/arith/arith_impl.h"
#include "moonloop/core/arith/iter_impl.h"

static bool mentions(const ml_Expr *e, const ml_Dom *dom, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_var(e, dom[k].var))
            return true;
    return false;
}

/* The hull of the ranges [min, min + extent) where min is the detected sum. strict: fails
 * where that would leave a gap. */
static bool dimension(ml_ItState *st, const ml_ItSum *s, const ml_Expr *extent, bool strict,
                      ml_Interval *out)
{
    ml_ItVal one = ml_it_lit(1), zero = ml_it_lit(0);
    ml_ItVal ext =
        ml_it_val(st, ml_is_const_int(extent) ? extent : ml_simplify(st->ar, extent));
    ml_ItVal lo = s->base, past = ml_it_sub(st, ext, one); /* of the last element */

    if (!ext.e && ext.i <= 0) {
        *out = ML_NOTHING;
        return !st->failed;
    }
    if (s->n > 1)
        return false;
    if (s->n == 1 && !ml_it_is_unit(&s->v[0])) {
        const ml_ItDigit *d = &s->v[0];
        bool up = ml_it_le(st, zero, d->scale), down = !up && ml_it_le(st, d->scale, zero);
        if (!up && !down)
            return false;
        ml_ItVal width = up ? d->scale : ml_it_sub(st, zero, d->scale);
        if (strict && !ml_it_le(st, width, ext))
            return false;
        ml_ItVal run = ml_it_mul(st, ml_it_sub(st, d->ext, one), d->scale);
        if (up)
            past = ml_it_add(st, past, run);
        else
            lo = ml_it_add(st, lo, run);
    }
    *out = (ml_Interval){ml_it_expr(st, lo), ml_it_expr(st, ml_it_add(st, s->base, past)),
                         false};
    return !st->failed;
}

static bool has_loads(ml_Interval i)
{
    return (i.min && (i.min->flags & ML_X_HAS_LOAD)) ||
           (i.max && (i.max->flags & ML_X_HAS_LOAD));
}

bool ml_region_strict(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                      size_t n_dom, const ml_Expr *pred, ml_Interval *out)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_ItState st = {.ar = ar, .level = ML_SURJECTIVE};
    const ml_Expr **mins = ML_ARRAY(cx, const ml_Expr *, n + 1);

    /* An extent may be a symbol of the outside: the claim is then per value of it. */
    for (size_t k = 0; k < n; k++) {
        mins[k] = box[k].min;
        if (!ml_is_const_int(box[k].extent) && (mentions(box[k].extent, dom, n_dom) ||
                                                !ml_dtype_is_index(box[k].extent->type)))
            return false;
    }
    if (!ml_it_detect(&st, mins, n, dom, n_dom, pred))
        return false;
    for (size_t k = 0; k < n; k++) {
        if (!dimension(&st, &st.sums[k], box[k].extent, true, &out[k]) || has_loads(out[k]))
            return false;
    }
    return true;
}

static bool outside_holds(ml_Arith *ar, const ml_Expr *pred, const ml_Dom *dom, size_t n)
{
    if (!pred)
        return true;
    if (ml_is_op(pred, ML_OP_LIKELY))
        return outside_holds(ar, pred->args[0], dom, n);
    if (pred->kind == ML_EXPR_AND)
        return outside_holds(ar, pred->args[0], dom, n) &&
               outside_holds(ar, pred->args[1], dom, n);
    return mentions(pred, dom, n) || ml_is_true(pred) || ml_prove(ar, pred);
}

/* cond and extent >= 1, where a loop outside has a say in it: a size is what it is. */
static const ml_Expr *also(ml_ItState *st, const ml_Expr *cond, ml_ItVal extent)
{
    if (!extent.e && extent.i < 1)
        return ml_bool(st->cx, false);
    if (!extent.e || ml_it_is_size(st, extent) || ml_it_le(st, ml_it_lit(1), extent))
        return cond;
    const ml_Expr *e = extent.e, *more = ml_ge(st->cx, e, ml_int(st->cx, e->type, 1));

    return ml_is_true(cond) ? more : ml_and(st->cx, cond, more);
}

/* Adds the iterators that a mark is made of; true: one of them was there. */
static bool add_leaves(ml_Ctx *cx, const ml_ItMark *m, size_t before, ml_UidVec *used)
{
    bool there = false;

    if (m->kind == ML_IT_INPUT) {
        for (size_t k = 0; k < before; k++)
            there |= used->v[k] == m->var->uid;
        ml_push(cx, used, m->var->uid);
    }
    for (size_t k = 0; k < m->sum.n; k++)
        there |= add_leaves(cx, m->sum.v[k].mark, before, used);
    return there;
}

const ml_Expr *ml_region_runs(ml_Arith *ar, const ml_Dom *dom, size_t n,
                              const ml_Expr *pred)
{
    const ml_Expr *cond = ml_bool(ml_arith_ctx(ar), true);
    ml_ItState st = {.ar = ar, .level = ML_NO_CHECK};
    bool open = false, shared = false;
    ml_UidVec used = {0};

    if (!ml_it_detect(&st, NULL, 0, dom, n, pred))
        return NULL;
    for (size_t k = 0; k < st.n_inputs; k++)
        cond = also(&st, cond, st.marks.v[k]->extent);
    for (size_t k = 0; k < st.constraints.n; k++) {
        open |= st.constraints.v[k]->extent.e != NULL;
        shared |= add_leaves(st.cx, st.constraints.v[k], used.n, &used);
        cond = also(&st, cond, st.constraints.v[k]->extent);
    }
    /* Two on one iterator may leave nothing between them. */
    return st.failed || (open && shared) ? NULL : cond;
}

bool ml_region_lower_where(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                           size_t n_dom, const ml_Expr *pred, bool runs, ml_Interval *out)
{
    /* What the predicate asks of outer symbols alone must hold, or nothing is touched. */
    if (!outside_holds(ar, pred, dom, n_dom) ||
        !ml_region_strict(ar, box, n, dom, n_dom, pred, out))
        return false;
    if (runs)
        return true;
    const ml_Expr *cond = ml_region_runs(ar, dom, n_dom, pred);

    return cond && (ml_is_true(cond) || ml_prove_cases(ar, cond));
}

bool ml_region_lower(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                     size_t n_dom, const ml_Expr *pred, ml_Interval *out)
{
    return ml_region_lower_where(ar, box, n, dom, n_dom, pred, false, out);
}

void ml_region_upper(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                     size_t n_dom, const ml_Expr *pred, ml_Interval *out)
{
    if (ml_region_strict(ar, box, n, dom, n_dom, pred, out))
        return;
    for (size_t k = 0; k < n; k++) {
        const ml_Expr *extent = box[k].extent;
        if (!ml_is_const_int(extent) && mentions(extent, dom, n_dom))
            extent = ml_relax(ar, extent, dom, n_dom).max;
        ml_ItState st = {.ar = ar, .level = ML_SURJECTIVE};
        if (extent && ml_dtype_is_index(extent->type) &&
            ml_it_detect(&st, &box[k].min, 1, dom, n_dom, pred) &&
            dimension(&st, &st.sums[0], extent, false, &out[k]) && !has_loads(out[k]))
            continue;
        out[k] = ml_relax_loads(ar, box[k], dom, n_dom);
    }
}
