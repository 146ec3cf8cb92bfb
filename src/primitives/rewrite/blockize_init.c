/*
 * blockize_init - the init of a block that moves to the block around its tile.
 *
 * It then initialises the whole tile first, which is right when the tile's instances are
 * different and each has elements of its own. Source: primitives 10, blockize.
 */
#include "moonloop/primitives/rewrite/blockize_inside.h"

/* Different spatial iters have different elements: then nobody else touches an element
 * between its init, which now comes earlier, and its first update. */
static bool check_own_elements(ml_Call *c, const ml_Block *b)
{
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    for (size_t w = 0; w < b->n_writes; w++) {
        const ml_Buffer *buf = b->writes[w].buffer;
        ml_DomVec dom = {0};
        const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, buf->rank + 1u);

        for (size_t k = 0; k < b->n_reads; k++)
            if (b->reads[k].buffer->uid == buf->uid)
                return ml_fail_as(c->cx, ML_E_INIT_MISPLACED,
                                  "block {0} reads other elements of {1} than its own; "
                                  "they would be initialised first",
                                  ML_BLOCK(b), ML_BUFFER(buf));
        for (size_t m = 0; m < b->n_iters; m++)
            if (b->iters[m].kind == ML_ITER_SPATIAL)
                ml_push(cx, &dom,
                        ((ml_Dom){b->iters[m].var, b->iters[m].min, b->iters[m].extent}));
        for (size_t d = 0; d < buf->rank; d++) {
            ml_Range r = b->writes[w].ranges[d];

            idx[d] = r.min;
            if (ml_is_int(r.extent, 1))
                continue;
            const ml_Var *v = ml_var_new(cx, "e", r.min->type);

            ml_push(cx, &dom, ((ml_Dom){v, ml_int(cx, v->type, 0), r.extent}));
            idx[d] = ml_add(cx, r.min, ml_var(cx, v));
        }
        if (!ml_iter_holds(ar, idx, buf->rank, dom.v, dom.n, ml_bool(cx, true),
                           ML_BIJECTIVE, false))
            return ml_unproved(
                c->cx, ML_E_WRITES_OVERLAP,
                "different spatial iters of block {0} write different elements of {1}",
                ML_BLOCK(b), ML_BUFFER(buf));
    }
    return true;
}

bool ml_tile_init_moves(ml_Call *c, const ml_Tile *t)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = t->block;
    ml_DomVec dom = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1);

    if (!b->init)
        return true;
    if (!ml_need_reduction(cx, c->facts, c->p, b->tag))
        return false;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    for (size_t m = 0; m < b->n_iters; m++) {
        const ml_Iter *it = &b->iters[m];

        values[m] = it->value;
        if (it->kind == ML_ITER_SPATIAL)
            continue;
        for (size_t k = 0; k < t->above.n + t->below.n; k++) {
            const ml_For *f =
                ml_as_for(k < t->above.n ? t->above.v[k] : t->below.v[k - t->above.n]);

            if (f->kind != ML_FOR_SERIAL && f->kind != ML_FOR_UNROLLED &&
                ml_expr_uses_var(it->value, f->var))
                return ml_fail_as(c->cx, ML_E_WOULD_RACE,
                                  "the iterations of the {0} loop {1} reduce together; "
                                  "without an init in block {2} they would race",
                                  ML_TEXT(ml_for_kind_name((ml_ForKind)f->kind)),
                                  ML_LOOP(f), ML_BLOCK(b));
        }
        if (!ML_PROVE(c, ML_SOUND,
                      ml_prove_equal(ar, ml_tile_value(cx, t, m, NULL, NULL), it->min)))
            return ml_unproved(c->cx, ML_E_INIT_MISPLACED,
                               "iter {0} starts at its minimum, where the init runs",
                               ML_VARIABLE(it->var), ML_BLOCK(b), ML_ITER(b, m));
    }
    if (!ml_call_asks(c, ML_SOUND))
        return true;
    for (size_t k = 0; k < t->below.n; k++) {
        const ml_For *f = ml_as_for(t->below.v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    if (t->below.n)
        ar = ml_arith_at(cx, c->p, ml_stmt_uid(t->below.v[0]));
    if (!ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, ml_bool(cx, true),
                       ML_BIJECTIVE, false) &&
        !ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate, ML_BIJECTIVE,
                       false))
        return ml_unproved(c->cx, ML_E_REDUCTION_CHANGED,
                           "the iterations of the tile compute different elements of block "
                           "{0}; what is computed twice would add up after one init",
                           ML_BLOCK(b));
    return check_own_elements(c, b);
}

/* The conjuncts of the inner condition for the init: those that mention none of the loops
 * that it leaves out. */
static bool init_predicate(ml_Call *c, const ml_Tile *t, const bool *kept, const ml_Expr *p,
                           const ml_Expr **out)
{
    bool keeps = false, drops = false;

    if (p->kind == ML_EXPR_AND)
        return init_predicate(c, t, kept, p->args[0], out) &&
               init_predicate(c, t, kept, p->args[1], out);
    for (size_t k = 0; k < t->below.n; k++)
        if (ml_expr_uses_var(p, ml_as_for(t->below.v[k])->var)) {
            keeps |= kept[k];
            drops |= !kept[k];
        }
    if (keeps && drops)
        return ml_fail_as(c->cx, ML_E_INIT_MISPLACED,
                          "a condition of block {0} mixes spatial and reduce loops; the "
                          "init would write more elements than are updated",
                          ML_BLOCK(t->block), ML_EXPRESSION(p));
    if (!drops)
        *out = ml_and(c->cx, *out, p);
    return true;
}

/* The nest that initialises the tile. NULL: an error is set. */
const ml_Stmt *ml_tile_init_nest(ml_Inside *in)
{
    ml_Ctx *cx = in->cx;
    const ml_Tile *t = in->t;
    const ml_Block *b = t->block;
    ml_Block ib = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);
    bool *kept = ML_ARRAY(cx, bool, t->below.n + 1);
    ml_Subst to_init = {0};
    const ml_Expr *pred = ml_bool(cx, true);

    memset(kept, 0, (t->below.n + 1) * sizeof *kept);
    ib.n_iters = 0;
    ib.body = in->sub.vars ? ml_stmt_subst(cx, b->init, &in->sub) : b->init;
    for (size_t k = 0; k < b->n_iters; k++) {
        if (!in->inner[k] || b->iters[k].kind != ML_ITER_SPATIAL ||
            !ml_stmt_uses_var(ib.body, in->inner[k]))
            continue;
        ml_Iter it = ml_inside_as_iter(in, k);

        it.var = ml_var_new(cx, ml_format(cx, "%s_init", it.var->hint), it.var->type);
        ml_subst_var(cx, &to_init, in->inner[k], ml_var(cx, it.var));
        iters[ib.n_iters++] = it;
        for (size_t m = 0; m < t->below.n; m++)
            kept[m] |= ml_expr_uses_var(it.value, ml_as_for(t->below.v[m])->var);
    }
    if (!init_predicate(in->c, t, kept, t->d.inner_pred, &pred))
        return NULL;
    ib.iters = iters;
    ib.name = ml_format(cx, "%s_init", b->name);
    ib.predicate = pred;
    ib.init = NULL;
    ib.annotations = NULL;
    ib.n_reads = ib.n_writes = 0;
    if (to_init.vars)
        ib.body = ml_stmt_subst(cx, ib.body, &to_init);
    ib.tag = ml_fresh_uid(cx);
    const ml_Buffer **allocs = ML_ARRAY(cx, const ml_Buffer *, b->n_allocs + 1);
    ml_Match *matches = ML_ARRAY(cx, ml_Match, b->n_matches + 1);

    ib.n_allocs = ib.n_matches = 0;
    for (size_t k = 0; k < b->n_allocs; k++)
        if (ml_stmt_uses_buffer(b->init, b->allocs[k]))
            allocs[ib.n_allocs++] = b->allocs[k];
    for (size_t k = 0; k < b->n_matches; k++)
        if (ml_stmt_uses_buffer(b->init, b->matches[k].target)) {
            ml_Match m = b->matches[k];

            if (in->sub.vars)
                m.source = ml_region_subst(cx, m.source, &in->sub);
            if (to_init.vars)
                m.source = ml_region_subst(cx, m.source, &to_init);
            matches[ib.n_matches++] = m;
        }
    ib.allocs = allocs;
    ib.matches = matches;
    const ml_Block *inferred =
        ml_block_reinfer(cx, ml_call_func(in->c), ml_as_block(ml_block_from(cx, &ib)));

    if (!inferred)
        return NULL;
    const ml_Stmt *st = &inferred->base;

    for (size_t k = t->below.n; k-- > 0;)
        if (kept[k]) {
            ml_For f = *ml_as_for(t->below.v[k]);

            f.body = st;
            st = ml_for_from(cx, &f);
        }
    return ml_stmt_copy_fresh(cx, st, NULL);
}
