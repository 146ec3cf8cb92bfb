/*
 * affine - whether the bindings of a block are quasi-affine in its loops, and what follows
 * from the kinds of its iters. Source: ir-and-analysis 2.3, 2.4.
 */
#include "moonloop/verify/facts.h"

static bool affine_over(ml_Ctx *cx, ml_Program p, const ml_Block *b, const ml_DomVec *dom,
                        const char **why)
{
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters);
    ml_Arith *ar = ml_arith_at(cx, p, b->tag);

    for (size_t k = 0; k < b->n_iters; k++)
        values[k] = b->iters[k].value;
    if (ml_iter_holds(ar, values, b->n_iters, dom->v, dom->n, b->predicate, ML_SURJECTIVE,
                      true))
        return true;
    if (!why)
        return false;
    ml_IterMap m = ml_iter_detect(ar, values, b->n_iters, dom->v, dom->n, b->predicate,
                                  ML_SURJECTIVE, true);

    if (!m.ok) {
        if (why)
            *why = m.at ? ml_format(cx, "%s: %s", ml_expr_text(cx, m.at),
                                    ml_iter_fail_text(m.fail))
                        : ml_iter_fail_text(m.fail);
        return false;
    }
    for (size_t k = 0; k < b->n_iters; k++)
        if (m.sums[k].n > 0 && !ml_is_int(m.sums[k].digits[0].scale, 1) &&
            !ml_is_int(m.sums[k].digits[0].extent, 1)) {
            if (why)
                *why = ml_format(cx, "%s has scale %s, not 1", ml_expr_text(cx, values[k]),
                                 ml_expr_text(cx, m.sums[k].digits[0].scale));
            return false;
        }
    return true;
}

bool ml_is_affine(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, const char **why)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Mark mark = ml_mark(cx);
    ml_DomVec dom = {0};
    ml_FactKey key = {0};
    bool answer;

    if (ml_index_parent(p.index, block) == 0) {
        if (b->n_iters > 0 && why)
            *why = "the root block has iters";
        return b->n_iters == 0;
    }
    ml_relax_domain(cx, p, block, 0, NULL, &dom);
    if (dom.n == 0) {
        ml_release(cx, mark);
        return true;
    }
    ml_key_ask(cx, &key, ML_ASK_AFFINE);
    ml_key_nest(cx, &key, p, b, 0);
    if (!ml_fact_get(f, &key, &answer) || (!answer && why)) {
        answer = affine_over(cx, p, b, &dom, why);
        ml_fact_put(f, &key, answer);
    }
    if (answer || !why)
        ml_release(cx, mark);
    return answer;
}

bool ml_is_affine_apart(ml_Ctx *cx, ml_Program p, ml_Uid block)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_Mark mark = ml_mark(cx);
    ml_Block whole = *b;
    ml_DomVec dom = {0};
    bool yes;

    if (ml_index_parent(p.index, block) == 0 || ml_is_true(b->predicate))
        return false;
    whole.predicate = ml_bool(cx, true);
    ml_relax_domain(cx, p, block, 0, NULL, &dom);
    yes = dom.n > 0 && affine_over(cx, p, &whole, &dom, NULL);
    ml_release(cx, mark);
    return yes;
}

bool ml_is_affine_under(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block, ml_Uid from,
                        const char **why)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_DomVec dom = {0};
    const ml_For *top = ml_as_for(ml_index_node(p.index, from));

    (void)f;
    ml_relax_domain(cx, p, block, from, NULL, &dom);
    /* `from` itself belongs to the loops. */
    ml_DomVec all = {0};

    ml_push(cx, &all, ((ml_Dom){top->var, top->min, top->extent}));
    for (size_t k = 0; k < dom.n; k++)
        ml_push(cx, &all, dom.v[k]);
    return affine_over(cx, p, b, &all, why);
}

bool ml_is_spatial_block(const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind != ML_ITER_SPATIAL)
            return false;
    return true;
}

static bool is_none(const ml_Expr *extent)
{
    return ml_is_const_int(extent) && extent->as.i <= 0;
}

bool ml_is_empty_block(const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (is_none(b->iters[k].extent))
            return true;
    return false;
}

bool ml_never_runs(ml_Program p, ml_Uid uid)
{
    for (ml_Up u = ml_index_up(p.index, uid); u.node; ml_index_next(&u))
        if (u.node->kind == ML_STMT_FOR && is_none(ml_as_for(u.node)->extent))
            return true;
    return false;
}

bool ml_is_trivial_binding(ml_Ctx *cx, ml_Program p, ml_Uid block)
{
    const ml_Block *b = ml_as_block(ml_index_node(p.index, block));
    ml_StmtVec loops = {0};

    ml_index_loops(cx, p.index, block, &loops);
    if (loops.n != b->n_iters)
        return false;
    for (size_t k = 0; k < loops.n; k++) {
        const ml_Expr *v = b->iters[k].value;

        if (v->kind != ML_EXPR_VAR || v->as.var->uid != ml_as_for(loops.v[k])->var->uid)
            return false;
    }
    return true;
}

typedef struct LoopType {
    const ml_Var *var;
    size_t spatial, reduce, other;
} LoopType;

/* Outermost realizes only: what is inside a block sees its iters, not the loop. */
static bool count_uses(const ml_Stmt *s, void *user)
{
    LoopType *lt = user;

    if (!s->has_block)
        return false;
    if (s->kind != ML_STMT_BLOCK)
        return true;
    const ml_Block *b = ml_as_block(s);

    for (size_t k = 0; k < b->n_iters; k++) {
        if (!ml_expr_uses_var(b->iters[k].value, lt->var))
            continue;
        switch ((ml_IterKind)b->iters[k].kind) {
        case ML_ITER_SPATIAL: lt->spatial++; break;
        case ML_ITER_REDUCE: lt->reduce++; break;
        case ML_ITER_ORDERED:
        case ML_ITER_OPAQUE:
        case ML_ITER_KINDS: lt->other++; break;
        }
    }
    return false;
}

ml_IterKind ml_loop_type(ml_Program p, ml_Uid loop)
{
    const ml_For *f = ml_as_for(ml_index_node(p.index, loop));
    LoopType lt = {.var = f->var};

    ml_stmt_visit(f->body, count_uses, &lt);
    if (lt.other || (lt.spatial && lt.reduce))
        return ML_ITER_OPAQUE;
    return lt.reduce ? ML_ITER_REDUCE : ML_ITER_SPATIAL;
}
