/*
 * copy_nest - see copy_nest.h. Loops keep their ranges and steps and become serial; of the
 * block's predicate stays what speaks of them and of what is outside.
 */
#include "moonloop/primitives/rewrite/copy_nest.h"

static bool loop_needed(const ml_CopyNest *n, const ml_For *f)
{
    for (size_t k = 0; k < n->iters.n; k++)
        if (ml_expr_uses_var(n->block->iters[n->iters.v[k]].value, f->var))
            return true;
    for (size_t k = 0; k < n->loops.n; k++)
        if (ml_expr_uses_var(n->loops.v[k]->min, f->var) ||
            ml_expr_uses_var(n->loops.v[k]->extent, f->var))
            return true;
    return false;
}

static void keep_conjuncts(ml_Ctx *cx, ml_CopyNest *n, const ml_Expr *p)
{
    bool lost = (p->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) != 0;

    if (p->kind == ML_EXPR_AND) {
        keep_conjuncts(cx, n, p->args[0]);
        keep_conjuncts(cx, n, p->args[1]);
        return;
    }
    for (size_t k = 0; k < n->dropped.n; k++)
        lost |= ml_expr_uses_var(p, n->dropped.v[k]->var);
    if (lost)
        n->lost = p;
    else
        n->predicate = ml_and(cx, n->predicate, p);
}

void ml_copy_nest_find(ml_Call *c, ml_CopyNest *n, ml_Uid stop)
{
    ml_Ctx *cx = c->cx;
    const ml_Index *ix = c->p.index;
    size_t m;

    for (ml_Uid u = ml_index_parent(ix, n->block->tag); u != stop;
         u = ml_index_parent(ix, u)) {
        const ml_For *f = ml_call_loop(c, u);

        if (loop_needed(n, f))
            ml_push(cx, &n->loops, f);
        else
            ml_push(cx, &n->dropped, f);
    }
    m = n->loops.n;
    for (size_t k = 0; k < m / 2; k++) { /* outermost first */
        const ml_For *f = n->loops.v[k];

        n->loops.v[k] = n->loops.v[m - 1 - k];
        n->loops.v[m - 1 - k] = f;
    }
    n->predicate = ml_bool(cx, true);
    keep_conjuncts(cx, n, n->block->predicate);
    /* Where a loop that is not copied has no iteration the block does not run. */
    for (size_t k = 0; k < n->dropped.n; k++) {
        const ml_For *f = n->dropped.v[k];
        const ml_Expr *runs = ml_lt(cx, ml_int(cx, f->extent->type, 0), f->extent);

        ml_Arith *ar = ml_arith_at(cx, c->p, f->var->uid);

        if (!ml_prove_symbolic(ar, runs))
            keep_conjuncts(cx, n, ml_simplify(ar, runs));
    }
}

const ml_Iter *ml_copy_nest_outside(ml_Call *c, const ml_CopyNest *n)
{
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, n->block->tag);

    ml_arith_assume(ar, n->predicate);
    for (size_t k = 0; n->lost && k < n->iters.n; k++) {
        const ml_Iter *it = &n->block->iters[n->iters.v[k]];

        if (!ml_prove_symbolic(ar, ml_ge(cx, it->value, it->min)) ||
            !ml_prove_symbolic(ar, ml_lt(cx, it->value, ml_add(cx, it->min, it->extent))))
            return it;
    }
    return NULL;
}

static const ml_Expr *put(ml_Ctx *cx, const ml_Expr *e, const ml_Subst *s)
{
    return s->vars ? ml_expr_subst(cx, e, s) : e;
}

void ml_copy_nest_open(ml_Call *c, ml_CopyNest *n, bool numbered)
{
    ml_Ctx *cx = c->cx;

    n->own = ML_ARRAY(cx, ml_Iter, n->iters.n + 1);
    n->fresh = ML_ARRAY(cx, ml_For, n->loops.n + 1);
    for (size_t k = 0; k < n->loops.n; k++) {
        const ml_For *f = n->loops.v[k];

        n->fresh[k] = (ml_For){
            .kind = ML_FOR_SERIAL,
            .var = numbered ? ml_var_new(cx, ml_numbered(cx, "ax", "", k), f->var->type)
                            : ml_var_fresh(cx, f->var),
            .min = put(cx, f->min, &n->outer),
            .extent = put(cx, f->extent, &n->outer),
            .step = f->step};
        ml_subst_var(cx, &n->outer, f->var, ml_var(cx, n->fresh[k].var));
    }
    for (size_t k = 0; k < n->iters.n; k++) {
        const ml_Iter *it = &n->block->iters[n->iters.v[k]];

        n->own[k] = (ml_Iter){
            .var = numbered ? ml_var_new(cx, ml_numbered(cx, "v", "", k), it->var->type)
                            : ml_var_fresh(cx, it->var),
            .min = it->min,
            .extent = it->extent,
            .value = put(cx, it->value, &n->outer),
            .kind = ML_ITER_SPATIAL};
        ml_subst_var(cx, &n->inner, it->var, ml_var(cx, n->own[k].var));
    }
}

const ml_Expr *ml_copy_nest_expr(ml_Call *c, const ml_CopyNest *n, const ml_Expr *e)
{
    return put(c->cx, e, &n->inner);
}

const ml_Stmt *ml_copy_nest_close(ml_Call *c, ml_CopyNest *n, const ml_Stmt *st)
{
    ml_Ctx *cx = c->cx;
    ml_Block b = *ml_as_block(st);

    b.predicate = put(cx, n->predicate, &n->outer);
    st = ml_block_from(cx, &b);
    for (size_t k = n->loops.n; k-- > 0;) {
        n->fresh[k].body = st;
        st = ml_for_from(cx, &n->fresh[k]);
    }
    return st;
}
