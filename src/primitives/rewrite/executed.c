/*
 * executed - which instances of a block run today, by the values that its iters take; and
 * whether some more may run where that is not known exactly. Source: primitives 7, step 4.
 */
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/same_index.h"
#include "moonloop/verify/cover/attained.h"

size_t ml_iter_of(const ml_Block *b, const ml_Var *v)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].var->uid == v->uid)
            return k;
    return b->n_iters;
}

bool ml_uses_iters(const ml_Block *b, const ml_Expr *e)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (ml_expr_uses_var(e, b->iters[k].var))
            return true;
    return false;
}

/* The hull of what the iters are, where it is narrower than the domains: an instance that
 * never ran may touch what buffers made for the others do not have. */
static void hull_of_values(ml_Arith *ar, const ml_Block *b, const ml_Range *box,
                           const ml_DomVec *dom, ml_Interval *out)
{
    ml_Interval *hull = ML_ARRAY(ml_arith_ctx(ar), ml_Interval, b->n_iters + 1u);

    ml_region_upper(ar, box, b->n_iters, dom->v, dom->n, b->predicate, hull);
    for (size_t k = 0; k < b->n_iters; k++) {
        out[k] = ml_interval_range(ar, b->iters[k].min, b->iters[k].extent);
        if (!hull[k].nothing && hull[k].min && hull[k].max &&
            ml_interval_includes(ar, out[k], hull[k]))
            out[k] = hull[k];
    }
}

/* Whether the iters of the kind take all of their values in out, whatever the other ones
 * are. */
static bool whole_of_kind(ml_Arith *ar, const ml_Block *b, const ml_Range *box,
                          const ml_DomVec *dom, bool spatial, ml_Interval *out)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_Range *some = ML_ARRAY(cx, ml_Range, b->n_iters + 1u);
    ml_Interval *values = ML_ARRAY(cx, ml_Interval, b->n_iters + 1u);
    size_t n = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        if ((b->iters[k].kind == ML_ITER_SPATIAL) == spatial)
            some[n++] = box[k];
    if (n == 0)
        return true;
    if (!ml_region_strict(ar, some, n, dom->v, dom->n, b->predicate, values))
        return false;
    n = 0;
    for (size_t k = 0; k < b->n_iters; k++)
        if ((b->iters[k].kind == ML_ITER_SPATIAL) == spatial)
            out[k] = values[n++];
    return true;
}

/* Whether different instances of the block write different elements of the region. */
static bool writes_apart(ml_Call *c, ml_Arith *ar, const ml_Block *b, const ml_Region *r)
{
    ml_Ctx *cx = c->cx;
    const ml_Expr **at = ML_ARRAY(cx, const ml_Expr *, r->buffer->rank + 1u);
    ml_IterList iters = {0};
    size_t n = 0;

    for (uint32_t k = 0; k < b->n_iters; k++)
        if (!ml_is_int(b->iters[k].extent, 1))
            ml_push(cx, &iters, k);
    for (size_t d = 0; d < r->buffer->rank; d++) {
        const ml_Expr *e = r->ranges[d].min, *x = r->ranges[d].extent;

        if (ml_is_int(x, 1)) {
            at[n++] = e;
        } else if (x->kind == ML_EXPR_INT && ml_promote(cx, &e, &x) &&
                   ml_is_const_int(ml_simplify(ar, ml_floormod(cx, e, x)))) {
            at[n++] = ml_simplify(ar, ml_floordiv(cx, e, x)); /* tiles of x */
        }
    }
    size_t bare = 0;

    for (size_t k = 0; k < iters.n; k++)
        for (size_t d = 0, had = bare; d < n && bare == had; d++)
            bare += at[d]->kind == ML_EXPR_VAR &&
                    at[d]->as.var->uid == b->iters[iters.v[k]].var->uid;
    return bare == iters.n || ml_is_injective(c, b, &iters, at, n);
}

static bool may_wrap(const ml_Expr *e, void *user)
{
    bool *found = user;

    *found |= e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD ||
              (e->kind > ML_EXPR_MAX && e->kind != ML_EXPR_CAST);
    return !*found;
}

/* Whether an index is, for all values in between, between what it is for values that some
 * instance takes: it follows one iter that takes its ends, and does not wrap around. */
static bool is_between(const ml_Block *b, const ml_Expr *e, const bool *attained)
{
    bool wraps = false, taken = true;
    size_t used = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        if (!ml_is_int(b->iters[k].extent, 1) && ml_expr_uses_var(e, b->iters[k].var)) {
            used++;
            taken &= attained[k];
        }
    ml_expr_visit(e, may_wrap, &wraps);
    return used == 0 || (used == 1 && taken && !wraps);
}

static bool stays_inside(ml_Arith *ar, const ml_Block *b, const ml_Region *r,
                         const bool *attained)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    for (size_t d = 0; d < r->buffer->rank; d++) {
        const ml_Expr *e = r->ranges[d].min, *x = r->ranges[d].extent, *end = NULL;
        const ml_Expr *dim = r->buffer->shape[d];

        if (is_between(b, e, attained) && !ml_uses_iters(b, x))
            continue;
        if (e->kind == ML_EXPR_VAR && ml_iter_of(b, e->as.var) < b->n_iters) {
            const ml_Iter *it = &b->iters[ml_iter_of(b, e->as.var)];
            const ml_Expr *less = ml_sub(cx, it->extent, ml_int(cx, it->extent->type, 1));

            e = it->min; /* its domain, which may be empty */
            if (ml_promote(cx, &less, &x))
                x = ml_simplify(ar, ml_add(cx, less, x));
        }
        if (ml_promote(cx, &e, &x))
            end = ml_add(cx, e, x);
        if (!end || !ml_promote(cx, &end, &dim) ||
            !ml_prove_symbolic(ar, ml_ge(cx, e, ml_int(cx, e->type, 0))) ||
            !ml_prove_symbolic(ar, ml_le(cx, end, dim)))
            return false;
    }
    return true;
}

/* Instances between those that run overwrite nothing that these write, and touch no more of
 * buffers that may have been made for them. */
static bool may_run_between(ml_Call *c, const ml_Block *b, const ml_DomVec *dom,
                            const ml_Interval *values)
{
    ml_Arith *ar = ml_arith_at(c->cx, c->p, b->tag);
    bool *attained = ML_ARRAY(c->cx, bool, b->n_iters + 1u);
    ml_Interval ends;

    for (size_t k = 0; k < b->n_iters; k++)
        attained[k] =
            ml_attained(ar, b->iters[k].value, dom->v, dom->n, b->predicate, &ends) &&
            ml_interval_includes(ar, ends, values[k]);
    ml_arith_bind_iters(ar, b);
    for (size_t k = 0; k < b->n_writes; k++)
        if (!writes_apart(c, ar, b, &b->writes[k]) ||
            !stays_inside(ar, b, &b->writes[k], attained))
            return false;
    for (size_t k = 0; k < b->n_reads; k++)
        if (!stays_inside(ar, b, &b->reads[k], attained))
            return false;
    return true;
}

/* An instance more of a reduction would be a term more, one of an output an element more.
 */
bool ml_executed_values(ml_Call *c, const ml_Block *block, ml_Interval *out, bool *harmless)
{
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, block->tag);
    ml_DomVec dom = {0};
    ml_Range *box = ML_ARRAY(cx, ml_Range, block->n_iters);

    ml_relax_domain(cx, c->p, block->tag, 0, NULL, &dom);
    for (size_t k = 0; k < block->n_iters; k++) {
        const ml_Expr *v = block->iters[k].value;

        box[k] = (ml_Range){v, ml_int(cx, v->type, 1)};
        out[k] = ml_interval_range(ar, block->iters[k].min, block->iters[k].extent);
    }
    *harmless = true;
    if (ml_region_strict(ar, box, block->n_iters, dom.v, dom.n, block->predicate, out))
        return true;
    hull_of_values(ar, block, box, &dom, out);
    *harmless = ml_is_true(block->predicate) &&
                whole_of_kind(ar, block, box, &dom, false, out) &&
                (whole_of_kind(ar, block, box, &dom, true, out) ||
                 (!ml_is_output_block(c->p, block->tag, NULL) &&
                  may_run_between(c, block, &dom, out)));
    return false;
}

bool ml_executed_domains(ml_Call *c, const ml_Block *block, ml_Interval *out)
{
    bool harmless;

    return ml_executed_values(c, block, out, &harmless);
}
