/*
 * rfactor_check - whether a reduction may be taken apart along a loop.
 *
 * It may when each element is accumulated once, is started before it is added to, and each
 * partial result has a first element. Source: primitives 9, rfactor.
 */
#include "moonloop/primitives/rewrite/rfactor.h"

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"
#include "moonloop/verify/facts.h"

static bool find_block(ml_Rfactor *r, const ml_For *loop)
{
    ml_StmtVec kids = {0}, loops = {0};

    ml_child_blocks(r->cx, &loop->base, &kids);
    if (kids.n != 1) {
        ml_Text names = {0};

        for (size_t k = 0; k < kids.n; k++)
            ml_text_fmt(&names, "%s%s", k ? ", " : "", ml_as_block(kids.v[k])->name);
        ml_fail(r->cx, ML_E_NOT_SINGLE_CHILD, ML_LOOP(loop), ML_NUMBER("blocks", kids.n),
                ML_TEXT(kids.n ? ml_text_z(&names) : "none"));
        ml_text_free(&names);
        return false;
    }
    r->block = ml_as_block(kids.v[0]);
    r->scope = ml_index_scope(r->c->p.index, r->block->tag);
    ml_index_loops(r->cx, r->c->p.index, r->block->tag, &loops);
    r->n_loops = loops.n;
    r->loops = ML_ARRAY(r->cx, const ml_For *, loops.n);
    r->reduces = ML_ARRAY(r->cx, bool, loops.n);
    for (size_t k = 0; k < loops.n; k++) {
        r->loops[k] = ml_as_for(loops.v[k]);
        r->reduces[k] = false;
        if (r->loops[k] == loop)
            r->target = k;
    }
    return true;
}

static bool wrong_loop(ml_Rfactor *r, const ml_For *at, const char *what)
{
    return ml_fail(r->cx, ML_E_RFACTOR_LOOPS, ML_TEXT(what), ML_LOOP(at),
                   ML_BLOCK(r->block));
}

static bool classify_loops(ml_Rfactor *r)
{
    const ml_Block *b = r->block;
    ml_StmtVec kids = {0};

    ml_child_blocks(r->cx, &r->loops[0]->base, &kids);
    if (kids.v[0] != &b->base)
        return wrong_loop(r, r->loops[0],
                          ml_format(r->cx, "block %s comes before block %s under loop %s",
                                    ml_shown(r->cx, ml_as_block(kids.v[0])),
                                    ml_shown(r->cx, b), ml_shown(r->cx, r->loops[0]->var)));
    r->first = r->target;
    for (size_t k = 0; k < r->n_loops; k++) {
        const ml_For *f = r->loops[k];
        bool spatial = false;

        r->reduces[k] = k == r->target;
        for (size_t m = 0; m < b->n_iters; m++)
            if (ml_expr_uses_var(b->iters[m].value, f->var)) {
                spatial |= b->iters[m].kind == ML_ITER_SPATIAL;
                r->reduces[k] |= b->iters[m].kind != ML_ITER_SPATIAL;
            }
        if (spatial && k == r->target)
            return wrong_loop(r, f,
                              ml_format(r->cx, "loop %s drives a spatial iter of block %s",
                                        ml_shown(r->cx, f->var), ml_shown(r->cx, b)));
        if (spatial && r->reduces[k])
            return wrong_loop(
                r, f,
                ml_format(r->cx, "loop %s drives both spatial and reduce iters of block %s",
                          ml_shown(r->cx, f->var), ml_shown(r->cx, b)));
        if (r->reduces[k] && k < r->first)
            r->first = k;
    }
    kids.n = 0;
    ml_child_blocks(r->cx, &r->loops[r->first]->base, &kids);
    if (kids.n != 1)
        return wrong_loop(r, r->loops[r->first],
                          ml_format(r->cx, "the outermost reduce loop %s holds %zu blocks",
                                    ml_shown(r->cx, r->loops[r->first]->var), kids.n));
    return true;
}

/* Loops below the outermost reduce loop that no iter uses repeat the accumulation. Bounds
 * must stay meaningful when loops go. */
static bool check_loops(ml_Rfactor *r)
{
    const ml_Block *b = r->block;

    for (size_t k = 0; k < r->n_loops; k++) {
        const ml_For *f = r->loops[k];
        bool used = false;

        for (size_t m = 0; m < b->n_iters; m++)
            used |= ml_expr_uses_var(b->iters[m].value, f->var);
        if (k >= r->first && !used && !ml_is_int(f->extent, 1))
            return wrong_loop(
                r, f,
                ml_format(r->cx,
                          "no iter of block %s uses loop %s, which lies below "
                          "the reduce loop %s",
                          ml_shown(r->cx, b), ml_shown(r->cx, f->var),
                          ml_shown(r->cx, r->loops[r->first]->var)));
        if (r->reduces[k] && f->step && !ml_is_int(f->step, 1))
            return ml_fail(r->cx, ML_E_LOOP_STEP, ML_LOOP(f), ML_EXPRESSION(f->step));
        for (size_t m = 0; m < k; m++)
            if ((r->reduces[k] || r->reduces[m]) &&
                (ml_expr_uses_var(f->min, r->loops[m]->var) ||
                 ml_expr_uses_var(f->extent, r->loops[m]->var)))
                return ml_fail(r->cx, ML_E_LOOP_DEPENDENT, ML_LOOP(f),
                               ML_LOOP(r->loops[m]));
    }
    return true;
}

typedef struct Stray {
    const ml_Stmt *found;
} Stray;

/* Statements between blocks that do something: not to be passed by the partial results. */
static bool find_stray(const ml_Stmt *s, void *user)
{
    Stray *st = user;

    if (s->kind == ML_STMT_BLOCK || st->found)
        return false;
    if (s->kind != ML_STMT_SEQ && s->kind != ML_STMT_FOR && s->kind != ML_STMT_IF &&
        !ml_is_noop(s))
        st->found = s;
    return !st->found;
}

static bool check_nest(ml_Rfactor *r)
{
    Stray st = {0};

    if (!ml_check_schedulable(r->c, r->scope, r->block->tag))
        return false;
    ml_stmt_visit(&r->loops[0]->base, find_stray, &st);
    if (st.found)
        return ml_fail_crossing(r->c, st.found, &r->block->base, &r->loops[0]->base);
    return true;
}

/* The extent becomes part of a shape at the scope: its variables must be known there. */
static bool check_extent(ml_Rfactor *r)
{
    const ml_For *f = ml_rfactor_target(r);
    const ml_Func *fn = ml_call_func(r->c);

    if (ml_is_const_int(f->extent))
        return true;
    /* Symbols of the function and iters around the scope; a let in between is neither. */
    ml_Subst sub = {0};
    const ml_Expr *zero = ml_int(r->cx, ML_DT_I32, 0);

    for (uint32_t k = 0; k < fn->n_params; k++) {
        const ml_Buffer *b = fn->params[k].buffer;

        if (ml_dtype_is_index(fn->params[k].var->type))
            ml_subst_var(r->cx, &sub, fn->params[k].var,
                         ml_cast(r->cx, fn->params[k].var->type, zero));
        for (size_t d = 0; b && d < b->rank; d++)
            if (b->shape[d]->kind == ML_EXPR_VAR)
                ml_subst_var(r->cx, &sub, b->shape[d]->as.var,
                             ml_cast(r->cx, b->shape[d]->type, zero));
    }
    for (ml_Uid u = r->scope; u; u = ml_index_scope(r->c->p.index, u)) {
        const ml_Block *b = ml_call_block(r->c, u);

        for (size_t k = 0; k < b->n_iters; k++)
            ml_subst_var(r->cx, &sub, b->iters[k].var,
                         ml_cast(r->cx, b->iters[k].var->type, zero));
    }
    if (!(f->extent->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) &&
        (!sub.vars || ml_expr_subst(r->cx, f->extent, &sub)->flags & ML_X_VAR_FREE))
        return true;
    return ml_fail(r->cx, ML_E_LOOP_DYNAMIC, ML_LOOP(f));
}

static bool check_storage(ml_Rfactor *r)
{
    const ml_Block *b = r->block;
    bool in_kernel = false;

    for (size_t k = 0; k < r->shape.n; k++)
        for (size_t m = 0; m < b->n_matches; m++)
            if (b->matches[m].target->uid == r->shape.buf[k]->uid)
                return ml_fail(r->cx, ML_E_BUFFER_IS_VIEW, ML_BUFFER(r->shape.buf[k]),
                               ML_BLOCK(b));
    for (ml_Uid u = r->scope; u; u = ml_index_parent(r->c->p.index, u)) {
        const ml_Stmt *s = ml_index_node(r->c->p.index, u);

        in_kernel |= s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_THREAD;
    }
    for (size_t k = 0; k < r->n_loops && !in_kernel; k++)
        for (size_t m = 0; m < r->shape.n; m++)
            if (r->loops[k]->kind == ML_FOR_THREAD && ml_is_private(r->shape.buf[m]))
                return ml_fail_as(r->cx, ML_E_NOT_SHARED,
                                  "the partial results would be computed by a kernel of "
                                  "their own, and {0} memory does not outlive it",
                                  ML_TEXT(r->shape.buf[m]->scope.name),
                                  ML_LOOP(r->loops[k]), ML_BUFFER(r->shape.buf[m]));
    return true;
}

/* Two instances with different spatial iters must not share an element: the partial results
 * of all of them exist at once. */
static bool check_elements(ml_Rfactor *r)
{
    ml_Ctx *cx = r->cx;
    const ml_Block *b = r->block;
    ml_DomVec dom = {0};
    bool bare = true;

    for (size_t m = 0; m < b->n_iters; m++) {
        const ml_Iter *it = &b->iters[m];
        bool found = ml_is_int(it->extent, 1);

        for (size_t d = 0; d < r->shape.rank; d++) {
            const ml_Expr *e = r->shape.idx[d];

            if (it->kind == ML_ITER_REDUCE && ml_expr_uses_var(e, it->var))
                return ml_need_reduction(cx, r->c->facts, r->c->p, b->tag) &&
                       ml_fail_as(cx, ML_E_REDUCTION_CHANGED,
                                  "a store index of block {1} uses the reduce iter {0}",
                                  ML_ITER(b, m), ML_BLOCK(b));
            found |= e->kind == ML_EXPR_VAR && e->as.var->uid == it->var->uid;
        }
        if (it->kind == ML_ITER_SPATIAL) {
            bare &= found;
            ml_push(cx, &dom, ((ml_Dom){it->var, it->min, it->extent}));
        }
    }
    if (bare || ML_PROVE(r->c, ML_SOUND,
                         ml_iter_holds(ml_arith_at(cx, r->c->p, b->tag), r->shape.idx,
                                       r->shape.rank, dom.v, dom.n, ml_bool(cx, true),
                                       ML_BIJECTIVE, false)))
        return true;
    return ml_unproved(cx, ML_E_WRITES_OVERLAP,
                       "different spatial iters of block {0} store to different elements "
                       "of {1}; their partial results would mix",
                       ML_BLOCK(b), ML_BUFFER(r->shape.buf[0]));
}

/* The predicate, conjunct by conjunct: what mentions no reduce loop stays with both blocks;
 * the rest must leave each partial result its first element. */
static bool check_predicate(ml_Rfactor *r, ml_Arith *ar, const ml_Expr *p)
{
    ml_Ctx *cx = r->cx;
    bool reduces = false;
    ml_Subst start = {0};

    if (p->kind == ML_EXPR_AND)
        return check_predicate(r, ar, p->args[0]) && check_predicate(r, ar, p->args[1]);
    for (size_t k = 0; k < r->n_loops; k++) {
        const ml_For *f = r->loops[k];

        if (!r->reduces[k] || !ml_expr_uses_var(p, f->var))
            continue;
        reduces = true;
        if (k != r->target)
            ml_subst_var(cx, &start, f->var, f->min);
    }
    if (!reduces) {
        r->kept = ml_and(cx, r->kept, p);
        return true;
    }
    if (!ml_call_asks(r->c, ML_SOUND) || ML_FAULT(RFACTOR_FIRST))
        return true;
    const ml_Expr *at_start = start.vars ? ml_expr_subst(cx, p, &start) : p;

    if (ml_prove(ar, at_start))
        return true;
    for (size_t k = 0; k < r->n_loops; k++)
        if (!r->reduces[k] && ml_expr_uses_var(p, r->loops[k]->var))
            return ml_fail_as(
                cx, ML_E_INIT_MISPLACED,
                "a condition of block {0} ties the reduce loops to the spatial loop {1}: "
                "some partial results would have no elements",
                ML_BLOCK(r->block), ML_LOOP(r->loops[k]), ML_EXPRESSION(p));
    return ml_fail_as(cx, ML_E_INIT_MISPLACED,
                      "under a condition of block {0} some iterations of loop {1} have no "
                      "first element: their partial results would never be initialised",
                      ML_BLOCK(r->block), ML_LOOP(ml_rfactor_target(r)), ML_EXPRESSION(p));
}

/* Where the first of equal values is kept, the partial results must be runs of the order.
 */
static bool check_order(ml_Rfactor *r)
{
    ml_Ctx *cx = r->cx;
    const ml_Combiner *m = &r->shape.combiner;

    if (!m->first_wins)
        return true;
    for (size_t k = 0; k < r->target; k++)
        if (r->reduces[k] && !ml_is_int(r->loops[k]->extent, 1))
            return ml_fail_as(
                cx, ML_E_VALUE_CHANGED,
                "the {0} of block {1} keeps the first of equal values; with partial "
                "results per iteration of loop {2}, inside loop {3}, another one comes "
                "first. One that compares the indices of equal values may take any order: "
                "{4} = {5} and {6} = {7}",
                ML_TEXT(m->name), ML_BLOCK(r->block), ML_LOOP(ml_rfactor_target(r)),
                ML_LOOP(r->loops[k]), ML_BUFFER(r->shape.buf[0]),
                ML_SHOWN_IN(m->by_index[0]), ML_BUFFER(r->shape.buf[1]),
                ML_SHOWN_IN(m->by_index[1]));
    return true;
}

static bool check_axis(ml_Rfactor *r)
{
    int64_t ndim = (int64_t)r->shape.rank, axis = r->c->args[ML_RFACTOR_AXIS].i;

    if (axis < -(ndim + 1) || axis > ndim)
        return ml_fail_as(
            r->cx, ML_E_BAD_ARGUMENT,
            "factor_axis is {0}; {1} has {2} dimension{3}, so it lies in [{4}, {2}]",
            ML_NUMBER("axis", (long long)axis), ML_BUFFER(r->shape.buf[0]),
            ML_NUMBER("rank", (long long)ndim), ML_TEXT(ndim == 1 ? "" : "s"),
            ML_NUMBER("lowest", (long long)-(ndim + 1)));
    r->axis = (size_t)(axis < 0 ? axis + ndim + 1 : axis);
    return true;
}

bool ml_rfactor_check(ml_Rfactor *r)
{
    ml_Call *c = r->c;
    const ml_For *loop = ml_call_loop(c, c->args[ML_RFACTOR_LOOP].uid);

    if (!find_block(r, loop))
        return false;
    if (!ml_check_pipeline(c, r->scope))
        return false;
    if ((!r->block->init || ml_call_asks(c, ML_STRICT)) &&
        !ml_check_reduction(c, r->block->tag))
        return false;
    if (loop->kind != ML_FOR_SERIAL)
        return ml_fail(r->cx, ML_E_LOOP_NOT_SERIAL, ML_LOOP(loop),
                       ML_TEXT(ml_for_kind_name((ml_ForKind)loop->kind)));
    if (!ML_PROVE(c, ML_STRICT, ml_check_reduces_inside(c, r->block->tag)))
        return false;
    if (!classify_loops(r) || !check_loops(r) || !check_nest(r) ||
        !ml_reduction_shape(c, r->block, &r->shape) || !check_axis(r) || !check_extent(r) ||
        !check_storage(r) || !check_elements(r) || !check_order(r))
        return false;
    r->kept = ml_bool(r->cx, true);
    ml_Arith *ar = ml_arith_at(r->cx, c->p, r->block->tag);

    /* The loops' ranges are known; the spatial conjuncts may be assumed. */
    return check_predicate(r, ar, r->block->predicate) &&
           ML_PROVE(c, ML_SOUND, ml_check_accumulation(c, r->block->tag));
}
