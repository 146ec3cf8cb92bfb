/*
 * goes_on - whether what a block updates goes on from one instance of it to the next.
 *
 * A reduction inside of a block may be driven by loops around that block: its init comes
 * with the first instance alone, and the others update what that one left, though the
 * signature, which leaves out what an init begins, says nothing of reading it. Such a block
 * is not to be executed twice. Source: ir-and-analysis 1, 2.3 (complete, condition 3).
 */
#include "moonloop/verify/facts.h"

/* The loops around `in`, of its scope, that drive e, at their first iteration. */
static ml_Subst first_iteration(ml_Ctx *cx, ml_Program p, const ml_Block *in,
                                const ml_Expr *e)
{
    ml_StmtVec loops = {0};
    ml_Subst to = {0};

    ml_index_loops(cx, p.index, in->tag, &loops);
    for (size_t k = 0; k < loops.n; k++)
        if (ml_expr_uses_var(e, ml_as_for(loops.v[k])->var))
            ml_subst_var(cx, &to, ml_as_for(loops.v[k])->var, ml_as_for(loops.v[k])->min);
    return to;
}

/* Where the guard of `in` lets an instance through it does so, too, for the first iteration
 * of the loops that drive e. */
static bool lets_first(ml_Ctx *cx, ml_Program p, const ml_Block *in, const ml_Expr *e)
{
    if (ml_is_true(in->predicate))
        return true;
    ml_Subst to = first_iteration(cx, p, in, e);
    const ml_Expr *first = to.vars ? ml_expr_subst(cx, in->predicate, &to) : in->predicate;

    if (first == in->predicate)
        return true;
    ml_Arith *ar = ml_arith_at(cx, p, in->tag);

    ml_arith_assume(ar, in->predicate);
    return ml_prove(ar, first);
}

static ml_Subst bindings_of(ml_Ctx *cx, const ml_Block *b)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    return sub;
}

/* The iter of the block that is used in e and (but for `any`) takes several values; or NULL.
 */
static const ml_Var *used_iter(const ml_Block *b, const ml_Expr *e, bool any)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if ((any || !ml_is_int(b->iters[k].extent, 1)) &&
            ml_expr_uses_var(e, b->iters[k].var))
            return b->iters[k].var;
    return NULL;
}

/* The innermost variable at `from` or further out that the binding of an iter of `in`
 * follows; NULL: none does. any: also one that takes a single value. *begins: the first
 * iteration of what is inside of `from` takes the iter's least value. */
static const ml_Var *driver_of(ml_Ctx *cx, ml_Program p, const ml_Block *in,
                               const ml_Iter *it, ml_Uid from, bool any, bool *begins)
{
    const ml_Expr *e = it->value, *first = e, *min = it->min;
    bool outside = false;

    *begins = lets_first(cx, p, in, e);
    for (ml_Uid u = ml_index_parent(p.index, in->tag); u; u = ml_index_parent(p.index, u)) {
        const ml_Stmt *node = ml_index_node(p.index, u);

        outside |= u == from;
        if (node->kind == ML_STMT_FOR) {
            const ml_For *f = ml_as_for(node);

            if (!ml_expr_uses_var(e, f->var))
                continue;
            if (ml_is_int(f->extent, 1) && !any)
                e = ml_expr_subst1(cx, e, f->var, f->min);
            else if (outside)
                return f->var;
            first = ml_expr_subst1(cx, first, f->var, f->min);
            continue;
        }
        const ml_Block *b = ml_as_block(node);
        ml_Subst sub = bindings_of(cx, b);

        if (outside && used_iter(b, e, any))
            return used_iter(b, e, any);
        if (!sub.vars)
            continue;
        e = ml_expr_subst(cx, e, &sub);
        first = ml_expr_subst(cx, first, &sub);
        *begins = *begins && (outside || lets_first(cx, p, b, e));
    }
    *begins = *begins && ml_promote(cx, &first, &min) &&
              (first == min || ml_prove_equal(ml_arith_at(cx, p, from), first, min));
    return NULL;
}

/* only: nothing further out than `from` counts, nor whether a reduction begins. */
static bool goes_on(ml_Ctx *cx, ml_Program p, const ml_Block *b, bool self, ml_Uid from,
                    bool only, ml_GoesOn *out)
{
    ml_StmtVec blocks = {0}; /* with those further in */

    if (!self && !b->body->has_block)
        return false;
    if (self)
        ml_push(cx, &blocks, &b->base);
    ml_all_blocks(cx, &b->base, &blocks);
    for (size_t m = 0; m < blocks.n; m++) {
        const ml_Block *in = ml_as_block(blocks.v[m]);

        for (uint32_t k = 0; in->init && k < in->n_iters; k++) {
            const ml_Iter *it = &in->iters[k];
            bool begins;

            if (it->kind != ML_ITER_REDUCE || (!self && ml_is_int(it->extent, 1)))
                continue;
            *out = (ml_GoesOn){in, driver_of(cx, p, in, it, from, self, &begins), k};
            if (only ? out->by && out->by->uid == from : out->by || (!self && !begins))
                return true;
        }
    }
    return false;
}

bool ml_goes_on(ml_Ctx *cx, ml_Program p, const ml_Block *b, bool self, ml_Uid from,
                ml_GoesOn *out)
{
    return goes_on(cx, p, b, self, from, false, out);
}

bool ml_goes_on_over(ml_Ctx *cx, ml_Program p, const ml_Block *b, ml_Uid loop,
                     ml_GoesOn *out)
{
    return goes_on(cx, p, b, false, loop, true, out);
}
