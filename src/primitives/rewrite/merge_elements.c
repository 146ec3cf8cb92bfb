/*
 * merge_elements - whether an init block stores to the elements that its update block
 * accumulates in. Source: primitives 9, merge_reduction.
 */
#include "moonloop/primitives/rewrite/merge_reduction.h"

typedef ml_MergeReduction Merge;

static bool mismatch(Merge *m, const ml_Buffer *buf, const char *why)
{
    ml_fail(m->cx, ML_E_REGION_MISMATCH, ML_BLOCK(m->init), ML_BLOCK(m->update),
            ML_BUFFER(buf), ML_TEXT(why));
    ml_error_set_unproved(m->cx);
    return false;
}

/* The init's iters in those of the update, by the indices at which both store. */
bool ml_merge_solve(Merge *m)
{
    ml_Ctx *cx = m->cx;
    const ml_Block *b = m->init;
    const ml_Store *is = m->i_store[0], *us = m->u_store[0];
    ml_Arith *ar = ml_arith_at(cx, m->c->p, b->tag);
    ml_Map *inverse = ml_map_new(cx);
    bool bare = true;

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Expr *to = NULL;

        for (size_t d = 0; d < is->n && !to; d++)
            if (is->indices[d]->kind == ML_EXPR_VAR &&
                is->indices[d]->as.var->uid == b->iters[k].var->uid)
                to = us->indices[d];
        if (!to && ml_is_int(b->iters[k].extent, 1))
            to = b->iters[k].min;
        bare &= to != NULL;
        if (to)
            ml_subst_var(cx, &m->solved, b->iters[k].var,
                         ml_cast(cx, b->iters[k].var->type, to));
    }
    if (!bare) {
        ml_DomVec dom = {0};

        for (size_t k = 0; k < b->n_iters; k++)
            ml_push(cx, &dom,
                    ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
        ml_IterMap map = ml_iter_detect(ar, is->indices, is->n, dom.v, dom.n,
                                        ml_bool(cx, true), ML_BIJECTIVE, true);

        if (!map.ok || !ml_iter_inverse(ar, &map, us->indices, inverse))
            return mismatch(m, is->buffer,
                            "the indices at which the init stores cannot be "
                            "solved for its iters");
        m->solved = (ml_Subst){0};
        for (size_t k = 0; k < b->n_iters; k++) {
            const ml_Expr *to = ml_map_get(inverse, b->iters[k].var->uid);

            ml_subst_var(cx, &m->solved, b->iters[k].var,
                         ml_cast(cx, b->iters[k].var->type, to ? to : b->iters[k].min));
        }
    }
    ar = ml_arith_at(cx, m->c->p, m->update->tag);
    ml_arith_bind_iters(ar, m->update);
    for (size_t k = 0; k < m->n; k++)
        for (size_t d = 0; d < m->i_store[k]->n; d++) {
            const ml_Expr *at = m->i_store[k]->indices[d],
                          *want = m->u_store[k]->indices[d];

            if (m->solved.vars)
                at = ml_expr_subst(cx, at, &m->solved);
            if (at != want &&
                (!ml_promote(cx, &at, &want) || !ml_prove_equal(ar, at, want)))
                return mismatch(m, m->i_store[k]->buffer,
                                "they store to different elements of it");
        }
    return true;
}

static bool same_end(Merge *m, ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (!a || !b || !ml_promote(m->cx, &a, &b))
        return false;
    return a == b || ml_prove_equal(ar, a, b);
}

/* What a block stores to in every iteration of the common ancestor, exactly: also a guard
 * on the loops above must not keep it from that. */
static bool box_of(Merge *m, const ml_Block *b, const ml_Store *st, const ml_StmtVec *loops,
                   ml_Arith *ar, ml_Interval *out)
{
    ml_Ctx *cx = m->cx;
    ml_DomVec dom = {0};
    ml_Subst sub = {0};
    ml_Range *at = ML_ARRAY(cx, ml_Range, st->n + 1);

    for (size_t k = m->above; k < loops->n; k++) {
        const ml_For *f = ml_as_for(loops->v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    for (size_t d = 0; d < st->n; d++)
        at[d] =
            (ml_Range){sub.vars ? ml_expr_subst(cx, st->indices[d], &sub) : st->indices[d],
                       ml_int(cx, st->indices[d]->type, 1)};
    ml_Interval *most = ML_ARRAY(cx, ml_Interval, st->n + 1);

    if (!ml_region_lower(ar, at, st->n, dom.v, dom.n, b->predicate, out))
        return false;
    ml_region_upper(ar, at, st->n, dom.v, dom.n, b->predicate, most);
    for (size_t d = 0; d < st->n; d++)
        if (!same_end(m, ar, out[d].min, most[d].min) ||
            !same_end(m, ar, out[d].max, most[d].max))
            return false;
    return true;
}

static bool same_boxes(Merge *m, const ml_Store *is, const ml_Store *us)
{
    ml_Ctx *cx = m->cx;
    ml_Interval *a = ML_ARRAY(cx, ml_Interval, is->n + 1),
                *b = ML_ARRAY(cx, ml_Interval, is->n + 1);
    const ml_Stmt *common = ml_index_node(m->c->p.index, m->common);
    ml_Arith *ar = ml_arith_at(cx, m->c->p, m->common);

    if (common->kind == ML_STMT_FOR)
        ml_arith_bind_loop(ar, ml_as_for(common));
    else
        ml_arith_bind_iters(ar, ml_as_block(common));
    if (!box_of(m, m->init, is, &m->i_loops, ar, a) ||
        !box_of(m, m->update, us, &m->u_loops, ar, b))
        return false;
    for (size_t d = 0; d < is->n; d++)
        if (!same_end(m, ar, a[d].min, b[d].min) || !same_end(m, ar, a[d].max, b[d].max))
            return false;
    return true;
}

static void collect(ml_Ctx *cx, const ml_Expr *p, ml_StmtVec *loops, bool keep_reduce,
                    const Merge *m, const ml_Expr **out)
{
    if (p->kind == ML_EXPR_AND) {
        collect(cx, p->args[0], loops, keep_reduce, m, out);
        collect(cx, p->args[1], loops, keep_reduce, m, out);
        return;
    }
    for (size_t k = m->above; k < loops->n && !keep_reduce; k++)
        for (size_t j = 0; j < m->update->n_iters; j++)
            if (m->update->iters[j].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(p, ml_as_for(loops->v[k])->var) &&
                ml_expr_uses_var(m->update->iters[j].value, ml_as_for(loops->v[k])->var))
                return;
    for (size_t k = m->above; k < loops->n; k++) {
        const ml_For *f = ml_as_for(loops->v[k]);

        if (ml_is_int(f->extent, 1))
            p = ml_expr_subst1(cx, p, f->var, f->min);
    }
    *out = ml_and(cx, *out, p);
}

/* The init's nest is the update's without the reduce loops, under other names, as
 * decompose_reduction makes it: the same values under the same conditions. */
static bool same_nests(Merge *m)
{
    ml_Ctx *cx = m->cx;
    ml_Subst loops = {0}, values = {0};
    size_t at = m->above;
    const ml_Expr *pi = ml_bool(cx, true), *pu = ml_bool(cx, true);
    ml_Arith *ar = ml_arith_at(cx, m->c->p, m->update->tag);

    for (size_t k = m->above; k < m->u_loops.n; k++) {
        const ml_For *u = ml_as_for(m->u_loops.v[k]);
        bool spatial = false;

        for (size_t j = 0; j < m->update->n_iters; j++)
            spatial |= m->update->iters[j].kind == ML_ITER_SPATIAL &&
                       ml_expr_uses_var(m->update->iters[j].value, u->var);
        if (!spatial)
            continue;
        if (at == m->i_loops.n)
            return false;
        const ml_For *i = ml_as_for(m->i_loops.v[at++]);
        const ml_Expr *min = i->min, *extent = i->extent;

        if (loops.vars) {
            min = ml_expr_subst(cx, min, &loops);
            extent = ml_expr_subst(cx, extent, &loops);
        }
        if (min != u->min || extent != u->extent)
            return false;
        ml_subst_var(cx, &loops, i->var, ml_var(cx, u->var));
    }
    if (at != m->i_loops.n)
        return false;
    for (size_t k = 0; k < m->update->n_iters; k++)
        ml_subst_var(cx, &values, m->update->iters[k].var, m->update->iters[k].value);
    for (size_t k = 0; k < m->init->n_iters; k++) {
        const ml_Iter *it = &m->init->iters[k];
        const ml_Expr *a = it->value,
                      *b = ml_expr_subst(cx, ml_var(cx, it->var), &m->solved);

        a = loops.vars ? ml_expr_subst(cx, a, &loops) : a;
        b = values.vars ? ml_expr_subst(cx, b, &values) : b;
        if (a != b && (!ml_promote(cx, &a, &b) || !ml_prove_equal(ar, a, b)))
            return false;
    }
    collect(cx, m->init->predicate, &m->i_loops, true, m, &pi);
    collect(cx, m->update->predicate, &m->u_loops, false, m, &pu);
    return (loops.vars ? ml_expr_subst(cx, pi, &loops) : pi) == pu;
}

/* Instances of the update in one iteration of the common ancestor are different, and
 * different ones have different elements: otherwise one would start another's anew. */
static bool check_instances(Merge *m)
{
    ml_Ctx *cx = m->cx;
    const ml_Block *b = m->update;
    ml_DomVec dom = {0}, iters = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1);

    for (size_t k = m->above; k < m->u_loops.n; k++) {
        const ml_For *f = ml_as_for(m->u_loops.v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        values[k] = b->iters[k].value;
        if (b->iters[k].kind == ML_ITER_SPATIAL)
            ml_push(cx, &iters,
                    ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
    }
    ml_Arith *ar = ml_arith_at(cx, m->c->p, m->common);
    const ml_Expr *yes = ml_bool(cx, true);

    if (!ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, yes, ML_BIJECTIVE, false) &&
        !ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate, ML_BIJECTIVE,
                       false))
        return ml_unproved(cx, ML_E_REDUCTION_CHANGED,
                           "the iterations of block {0} compute different instances; one "
                           "would start another's sum anew",
                           ML_BLOCK(b));
    ar = ml_arith_at(cx, m->c->p, b->tag);
    for (size_t k = 0; k < m->n; k++)
        if (!ml_iter_holds(ar, m->u_store[k]->indices, m->u_store[k]->n, iters.v, iters.n,
                           yes, ML_BIJECTIVE, false))
            return ml_unproved(cx, ML_E_WRITES_OVERLAP,
                               "different spatial iters of block {0} store to different "
                               "elements of {1}; one would start another's sum anew",
                               ML_BLOCK(b), ML_BUFFER(m->u_store[k]->buffer));
    return true;
}

bool ml_merge_same_elements(Merge *m)
{
    bool nests = same_nests(m);

    for (size_t k = 0; k < m->n && !nests; k++)
        if (!same_boxes(m, m->i_store[k], m->u_store[k]))
            return mismatch(m, m->i_store[k]->buffer,
                            "cannot show that what is initialised is what is updated");
    return check_instances(m);
}
