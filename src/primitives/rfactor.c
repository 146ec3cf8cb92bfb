/*
 * rfactor - compute partial results for each iteration of a reduce loop in a buffer of
 * their own, then combine them.
 *
 * The partial results are made by a copy of the whole nest that stands before it; what is
 * left in place combines them. This is right when each element is accumulated once, is
 * started before it is added to, and each partial result has a first element. Source:
 * primitives 9, rfactor; Suriana et al., CGO 2017.
 */
#include "primitives/move.h"
#include "primitives/reduction_shape.h"

#include "core/fault.h"

enum { LOOP, FACTOR_AXIS };

typedef struct Rf {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Block *block;
    ml_Uid scope;
    const ml_For **loops; /* of the block, outermost first */
    size_t n_loops;
    bool *reduces;        /* of these: drives a reduce iter, or is the given one */
    size_t target, first; /* positions: the given loop, the outermost reduce loop */
    size_t axis;
    ml_ReductionShape shape;
    const ml_Buffer *partial[ML_MAX_REDUCER];
    const ml_Expr *kept; /* conjuncts of the predicate that mention no reduce loop */
} Rf;

static const ml_For *target_of(const Rf *r)
{
    return r->loops[r->target];
}

/* ---- checks */

static bool find_block(Rf *r, const ml_For *loop)
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

static bool wrong_loop(Rf *r, const ml_For *at, const char *what)
{
    return ml_fail(r->cx, ML_E_RFACTOR_LOOPS, ML_TEXT(what), ML_LOOP(at),
                   ML_BLOCK(r->block));
}

static bool classify_loops(Rf *r)
{
    const ml_Block *b = r->block;
    ml_StmtVec kids = {0};

    ml_child_blocks(r->cx, &r->loops[0]->base, &kids);
    if (kids.v[0] != &b->base)
        return wrong_loop(r, r->loops[0],
                          ml_format(r->cx, "block %s comes before block %s under loop %s",
                                    ml_as_block(kids.v[0])->name, b->name,
                                    r->loops[0]->var->hint));
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
                                        f->var->hint, b->name));
        if (spatial && r->reduces[k])
            return wrong_loop(
                r, f,
                ml_format(r->cx, "loop %s drives both spatial and reduce iters of block %s",
                          f->var->hint, b->name));
        if (r->reduces[k] && k < r->first)
            r->first = k;
    }
    kids.n = 0;
    ml_child_blocks(r->cx, &r->loops[r->first]->base, &kids);
    if (kids.n != 1)
        return wrong_loop(r, r->loops[r->first],
                          ml_format(r->cx, "the outermost reduce loop %s holds %zu blocks",
                                    r->loops[r->first]->var->hint, kids.n));
    return true;
}

/* Loops below the outermost reduce loop that no iter uses repeat the accumulation. Bounds
 * must stay meaningful when loops go. */
static bool check_loops(Rf *r)
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
                          b->name, f->var->hint, r->loops[r->first]->var->hint));
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

static bool check_nest(Rf *r)
{
    Stray st = {0};

    if (!ml_check_schedulable(r->c, r->scope, r->block->tag))
        return false;
    ml_stmt_visit(&r->loops[0]->base, find_stray, &st);
    if (st.found)
        return ml_fail(r->cx, ML_E_NOT_SCHEDULABLE, ML_TEXT("statement"),
                       ML_BLOCK(r->block), ML_LOOP(r->loops[0]), ML_STATEMENT(st.found));
    return true;
}

/* The extent becomes part of a shape at the scope: its variables must be known there. */
static bool check_extent(Rf *r)
{
    const ml_For *f = target_of(r);
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

static bool check_storage(Rf *r)
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
        for (size_t m = 0; m < r->shape.n; m++) {
            ml_Scope sc;

            if (r->loops[k]->kind == ML_FOR_THREAD &&
                ml_scope_parse(r->shape.buf[m]->scope, &sc) && sc.rank > 0)
                return ml_fail(r->cx, ML_E_UNSOUND,
                               ML_TEXT(ml_format(
                                   r->cx,
                                   "the partial results would be computed by a kernel of "
                                   "their own, and %s memory does not outlive it",
                                   r->shape.buf[m]->scope)),
                               ML_LOOP(r->loops[k]), ML_BUFFER(r->shape.buf[m]));
        }
    return true;
}

/* Two instances with different spatial iters must not share an element: the partial results
 * of all of them exist at once. */
static bool check_elements(Rf *r)
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
                       ml_fail(cx, ML_E_UNSOUND,
                               ML_TEXT("a store index uses a reduce iter"), ML_ITER(b, m),
                               ML_BLOCK(b));
            found |= e->kind == ML_EXPR_VAR && e->as.var->uid == it->var->uid;
        }
        if (it->kind == ML_ITER_SPATIAL) {
            bare &= found;
            ml_push(cx, &dom, ((ml_Dom){it->var, it->min, it->extent}));
        }
    }
    if (bare || r->c->unchecked ||
        ml_iter_holds(ml_arith_at(cx, r->c->p, b->tag), r->shape.idx, r->shape.rank, dom.v,
                      dom.n, ml_bool(cx, true), ML_BIJECTIVE, false))
        return true;
    ml_fail(
        cx, ML_E_UNSOUND,
        ML_TEXT(ml_format(cx,
                          "cannot show that different spatial iters of block %s store to "
                          "different elements of %s; their partial results would mix",
                          b->name, r->shape.buf[0]->name)),
        ML_BLOCK(b), ML_BUFFER(r->shape.buf[0]));
    ml_error_set_unproved(cx);
    return false;
}

/* The predicate, conjunct by conjunct: what mentions no reduce loop stays with both blocks;
 * the rest must leave each partial result its first element. */
static bool check_predicate(Rf *r, ml_Arith *ar, const ml_Expr *p)
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
    if (r->c->unchecked || ML_FAULT(RFACTOR_FIRST))
        return true;
    const ml_Expr *at_start = start.vars ? ml_expr_subst(cx, p, &start) : p;

    if (ml_prove(ar, at_start))
        return true;
    for (size_t k = 0; k < r->n_loops; k++)
        if (!r->reduces[k] && ml_expr_uses_var(p, r->loops[k]->var))
            return ml_fail(
                cx, ML_E_UNSOUND,
                ML_TEXT(ml_format(cx,
                                  "a condition of block %s ties the reduce loops to the "
                                  "spatial loop %s: some partial results would have no "
                                  "elements",
                                  r->block->name, r->loops[k]->var->hint)),
                ML_BLOCK(r->block), ML_EXPRESSION(p));
    return ml_fail(cx, ML_E_UNSOUND,
                   ML_TEXT(ml_format(
                       cx,
                       "under a condition of block %s some iterations of loop %s have no "
                       "first element: their partial results would never be initialised",
                       r->block->name, target_of(r)->var->hint)),
                   ML_LOOP(target_of(r)), ML_BLOCK(r->block), ML_EXPRESSION(p));
}

/* Where the first of equal values is kept, the partial results must be runs of the order.
 */
static bool check_order(Rf *r)
{
    if (!r->shape.combiner.first_wins)
        return true;
    for (size_t k = 0; k < r->target; k++)
        if (r->reduces[k] && !ml_is_int(r->loops[k]->extent, 1))
            return ml_fail(
                r->cx, ML_E_UNSOUND,
                ML_TEXT(ml_format(
                    r->cx,
                    "the %s of block %s keeps the first of equal values; with partial "
                    "results "
                    "per iteration of loop %s, inside loop %s, another one comes first",
                    r->shape.combiner.name, r->block->name, target_of(r)->var->hint,
                    r->loops[k]->var->hint)),
                ML_LOOP(target_of(r)), ML_LOOP(r->loops[k]), ML_BLOCK(r->block));
    return true;
}

static bool check_axis(Rf *r)
{
    int64_t ndim = (int64_t)r->shape.rank, axis = r->c->args[FACTOR_AXIS].i;

    if (axis < -(ndim + 1) || axis > ndim)
        return ml_fail(r->cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT(ml_format(
                           r->cx,
                           "factor_axis is %lld; %s has %lld dimension%s, so it "
                           "lies in [%lld, %lld]",
                           (long long)axis, r->shape.buf[0]->name, (long long)ndim,
                           ndim == 1 ? "" : "s", (long long)-(ndim + 1), (long long)ndim)));
    r->axis = (size_t)(axis < 0 ? axis + ndim + 1 : axis);
    return true;
}

static bool check(Rf *r)
{
    ml_Call *c = r->c;
    const ml_For *loop = ml_call_loop(c, c->args[LOOP].uid);
    bool whole = c->checks && !c->unchecked;

    if (!find_block(r, loop))
        return false;
    if (whole && !ml_need_stage_pipeline(r->cx, c->facts, c->p, r->scope))
        return false;
    if (!r->block->init || whole)
        if (!ml_need_reduction(r->cx, c->facts, c->p, r->block->tag))
            return false;
    if (loop->kind != ML_FOR_SERIAL)
        return ml_fail(r->cx, ML_E_LOOP_NOT_SERIAL, ML_LOOP(loop),
                       ML_TEXT(ml_for_kind_name((ml_ForKind)loop->kind)));
    if (whole && !ml_check_reduces_inside(c, r->block->tag))
        return false;
    if (!classify_loops(r) || !check_loops(r) || !check_nest(r) ||
        !ml_reduction_shape(c, r->block, &r->shape) || !check_axis(r) || !check_extent(r) ||
        !check_storage(r) || !check_elements(r) || !check_order(r))
        return false;
    r->kept = ml_bool(r->cx, true);
    ml_Arith *ar = ml_arith_at(r->cx, c->p, r->block->tag);

    /* The loops' ranges are known; the spatial conjuncts may be assumed. */
    if (!check_predicate(r, ar, r->block->predicate))
        return false;
    return c->unchecked || ml_check_accumulation(c, r->block->tag);
}

/* ---- building */

/* e in the dtype that indices of the buffer have, when that is the wider one. */
static const ml_Expr *index_like(Rf *r, const ml_Buffer *b, const ml_Expr *e)
{
    ml_Dtype t = b->rank ? b->shape[0]->type : e->type;

    return t.bits > e->type.bits ? ml_cast(r->cx, t, e) : e;
}

static void make_buffers(Rf *r)
{
    for (size_t k = 0; k < r->shape.n; k++) {
        const ml_Buffer *b = r->shape.buf[k];
        const ml_Expr **shape = ML_ARRAY(r->cx, const ml_Expr *, b->rank + 1u);

        for (size_t d = 0; d <= b->rank; d++)
            shape[d] = d == r->axis ? index_like(r, b, target_of(r)->extent)
                                    : b->shape[d - (d > r->axis)];
        r->partial[k] = ml_buffer_new(r->cx, ml_format(r->cx, "%s.rf", b->name), b->type,
                                      shape, b->rank + 1u, b->scope);
    }
}

/* The element's indices with v put in at the axis. */
static const ml_Expr *const *with_axis(Rf *r, const ml_Expr *v)
{
    const ml_Expr **idx = ML_ARRAY(r->cx, const ml_Expr *, r->shape.rank + 1);

    for (size_t d = 0; d <= r->shape.rank; d++)
        idx[d] = d == r->axis ? index_like(r, r->shape.buf[0], v)
                              : r->shape.idx[d - (d > r->axis)];
    return idx;
}

/* An iter over the given loop, from 0. */
static ml_Iter target_iter(Rf *r, ml_IterKind kind)
{
    const ml_For *f = target_of(r);
    ml_Dtype t = f->var->type;

    return (ml_Iter){.var = ml_var_new(r->cx, ml_format(r->cx, "v%s", f->var->hint), t),
                     .min = ml_int(r->cx, t, 0),
                     .extent = f->extent,
                     .value = ml_is_int(f->min, 0)
                                  ? ml_var(r->cx, f->var)
                                  : ml_sub(r->cx, ml_var(r->cx, f->var), f->min),
                     .kind = (uint8_t)kind};
}

/* values[k] into stores[k] of buf at idx; several through lets, as all are read first. */
static const ml_Stmt *make_stores(Rf *r, const ml_Buffer *const *buf,
                                  const ml_Expr *const *idx, size_t rank,
                                  const ml_Expr *const *values, bool lets)
{
    const ml_Stmt *s[2 * ML_MAX_REDUCER];
    size_t n = 0;

    for (size_t k = 0; lets && k < r->shape.n; k++) {
        const ml_Var *v =
            ml_var_new(r->cx, ml_format(r->cx, "v_%s", buf[k]->name), values[k]->type);

        s[n] = ml_bind(r->cx, v, values[k]);
        s[r->shape.n + n++] = ml_store(r->cx, buf[k], ml_var(r->cx, v), idx, rank, NULL);
    }
    if (lets)
        return ml_seq(r->cx, s, 2 * n);
    for (size_t k = 0; k < r->shape.n; k++)
        s[n++] = ml_store(r->cx, buf[k], values[k], idx, rank, NULL);
    return ml_seq(r->cx, s, n);
}

/* The reduce iters that use the given loop, or a loop that such an iter uses, are replaced
 * by iters over their loops. */
static void open_iters(const Rf *r, bool *iter_open, bool *loop_open)
{
    const ml_Block *b = r->block;
    bool more = true;

    memset(iter_open, 0, b->n_iters * sizeof *iter_open);
    memset(loop_open, 0, r->n_loops * sizeof *loop_open);
    loop_open[r->target] = true;
    while (more) {
        more = false;
        for (size_t m = 0; m < b->n_iters; m++) {
            bool open = iter_open[m];

            for (size_t k = 0; k < r->n_loops; k++)
                open |=
                    loop_open[k] && ml_expr_uses_var(b->iters[m].value, r->loops[k]->var);
            if (b->iters[m].kind == ML_ITER_SPATIAL || !open || iter_open[m])
                continue;
            more = iter_open[m] = true;
            for (size_t k = 0; k < r->n_loops; k++)
                loop_open[k] |= ml_expr_uses_var(b->iters[m].value, r->loops[k]->var);
        }
    }
}

/* The iters of the block of partial results; *sub gives the replaced ones in the new. */
static size_t partial_iters(Rf *r, ml_Iter *out, ml_Subst *sub, bool *reduces)
{
    ml_Ctx *cx = r->cx;
    const ml_Block *b = r->block;
    bool *iter_open = ML_ARRAY(cx, bool, b->n_iters),
         *made = ML_ARRAY(cx, bool, r->n_loops);
    bool *loop_open = ML_ARRAY(cx, bool, r->n_loops);
    ml_Subst values = {0};
    size_t n = 0;
    ml_Arith *ar = ml_arith_new(cx);

    open_iters(r, iter_open, loop_open);
    memset(made, 0, r->n_loops * sizeof *made);
    out[n++] = target_iter(r, ML_ITER_SPATIAL);
    made[r->target] = true;
    ml_subst_var(cx, &values, target_of(r)->var,
                 ml_is_int(target_of(r)->min, 0)
                     ? ml_var(cx, out[0].var)
                     : ml_add(cx, ml_var(cx, out[0].var), target_of(r)->min));
    ml_arith_bind_range(ar, out[0].var, out[0].min, out[0].extent);
    *reduces = false;
    for (size_t m = 0; m < b->n_iters; m++) {
        if (!iter_open[m]) {
            out[n++] = b->iters[m];
            *reduces |= b->iters[m].kind != ML_ITER_SPATIAL;
            ml_arith_bind_range(ar, b->iters[m].var, b->iters[m].min, b->iters[m].extent);
            continue;
        }
        for (size_t k = 0; k < r->n_loops; k++) {
            const ml_For *f = r->loops[k];

            if (made[k] || !ml_expr_uses_var(b->iters[m].value, f->var))
                continue;
            out[n] = (ml_Iter){
                .var = ml_var_new(cx, ml_format(cx, "v%s", f->var->hint), f->var->type),
                .min = f->min,
                .extent = f->extent,
                .value = ml_var(cx, f->var),
                .kind = ML_ITER_REDUCE};
            ml_arith_bind_range(ar, out[n].var, f->min, f->extent);
            ml_subst_var(cx, &values, f->var, ml_var(cx, out[n++].var));
            made[k] = *reduces = true;
        }
    }
    for (size_t m = 0; m < b->n_iters; m++)
        if (iter_open[m])
            ml_subst_var(
                cx, sub, b->iters[m].var,
                ml_cast(cx, b->iters[m].var->type,
                        ml_simplify(ar, ml_expr_subst(cx, b->iters[m].value, &values))));
    return n;
}

static const ml_Block *partial_block(Rf *r)
{
    ml_Ctx *cx = r->cx;
    const ml_Block *b = r->block;
    ml_Block rb = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + r->n_loops + 1);
    ml_Subst sub = {0};
    bool reduces;
    const ml_Expr *given[ML_MAX_REDUCER], *acc[ML_MAX_REDUCER], *all[ML_MAX_REDUCER];

    rb.name = ml_format(cx, "%s_rf", b->name);
    rb.n_iters = (uint32_t)partial_iters(r, iters, &sub, &reduces);
    rb.iters = iters;
    const ml_Expr *const *idx = with_axis(r, ml_var(cx, iters[0].var));

    for (size_t k = 0; k < r->shape.n; k++) {
        given[k] = r->shape.combiner.given[k];
        if (sub.vars)
            given[k] = ml_expr_subst(cx, given[k], &sub);
        acc[k] = ml_load(cx, r->partial[k], idx, r->shape.rank + 1);
    }
    ml_combiner_apply(cx, &r->shape.combiner, acc, given, all);
    rb.init = reduces
                  ? make_stores(r, r->partial, idx, r->shape.rank + 1, r->shape.from, false)
                  : NULL;
    rb.body = make_stores(r, r->partial, idx, r->shape.rank + 1, reduces ? all : given,
                          reduces && r->shape.n > 1);
    rb.n_reads = rb.n_writes = 0;
    return ml_block_reinfer(cx, ml_call_func(r->c), ml_as_block(ml_block_from(cx, &rb)));
}

static const ml_Block *final_block(Rf *r)
{
    ml_Ctx *cx = r->cx;
    const ml_Block *b = r->block;
    ml_Block wb = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);
    const ml_Expr *parts[ML_MAX_REDUCER], *acc[ML_MAX_REDUCER], *all[ML_MAX_REDUCER];

    wb.n_iters = 0;
    iters[wb.n_iters++] = target_iter(r, ML_ITER_REDUCE);
    for (size_t m = 0; m < b->n_iters; m++)
        if (b->iters[m].kind == ML_ITER_SPATIAL)
            iters[wb.n_iters++] = b->iters[m];
    wb.iters = iters;
    wb.predicate = ML_FAULT(RFACTOR_PREDICATE) ? ml_bool(cx, true) : r->kept;
    const ml_Expr *const *idx = with_axis(r, ml_var(cx, iters[0].var));

    for (size_t k = 0; k < r->shape.n; k++) {
        parts[k] = ml_load(cx, r->partial[k], idx, r->shape.rank + 1);
        acc[k] = ml_load(cx, r->shape.buf[k], r->shape.idx, r->shape.rank);
    }
    ml_combiner_apply(cx, &r->shape.combiner, acc, parts, all);
    wb.init =
        make_stores(r, r->shape.buf, r->shape.idx, r->shape.rank, r->shape.from, false);
    wb.body =
        make_stores(r, r->shape.buf, r->shape.idx, r->shape.rank, all, r->shape.n > 1);
    wb.n_reads = wb.n_writes = wb.n_matches = wb.n_allocs = 0;
    return ml_block_reinfer(cx, ml_call_func(r->c), ml_as_block(ml_block_from(cx, &wb)));
}

static bool rfactor(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    Rf r = {.c = c, .cx = cx};

    if (!check(&r))
        return false;
    make_buffers(&r);
    const ml_Block *rb = partial_block(&r), *wb = rb ? final_block(&r) : NULL;

    if (!wb)
        return false;
    const ml_Stmt *before = &rb->base, *after = &wb->base;

    for (size_t k = r.n_loops; k-- > 0;) {
        ml_For f = *r.loops[k];

        f.body = before;
        before = ml_for_from(cx, &f);
    }
    ml_Map *renamed = ml_map_new(cx);

    before = ml_stmt_copy_fresh(cx, before, renamed);
    ml_Uid outermost = r.loops[0]->var->uid;

    for (size_t k = r.n_loops; k-- > r.first;) {
        ml_For f = *r.loops[k];

        if (r.reduces[k] && k != r.target)
            continue;
        f.body = after;
        after = ml_for_from(cx, &f);
    }
    if (r.first > 0) {
        ml_call_replace(c, r.loops[r.first]->var->uid, after);
        after = ml_index_node(c->p.index, outermost);
    }
    const ml_Stmt *both[2] = {before, after};

    ml_call_replace(c, outermost, ml_seq(cx, both, 2));
    const ml_Block *root = ml_call_block(c, r.scope);

    for (size_t k = 0; k < r.shape.n; k++)
        root = ml_block_add_alloc(cx, root, r.partial[k]);
    ml_call_replace(c, r.scope, &root->base);
    if (!ml_ok_or_fail(cx))
        return false;
    while (before->kind == ML_STMT_FOR)
        before = ml_as_for(before)->body;
    /* What each iteration of a concurrent loop had for itself leaves that loop. */
    if (!c->unchecked && (!ml_check_concurrency(c, ml_as_block(before)->tag) ||
                          !ml_check_concurrency(c, wb->tag)))
        return false;
    if (r.shape.combiner.own)
        ml_call_note(c,
                     "block %s combines as was registered: the result is right only if the "
                     "combination is associative and commutative and the identity changes "
                     "nothing",
                     r.block->name);
    ml_call_return_block(c, ml_as_block(before)->tag);
    return true;
}

static void suggest(ml_Schedule *s, const ml_Given *args, const ml_Error *e, ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_Program p = ml_schedule_program(s);
    ml_StmtVec kids = {0}, loops = {0};
    const ml_Stmt *node = ml_index_node(p.index, args[LOOP].uid);

    if (!node || node->kind != ML_STMT_FOR)
        return;
    ml_child_blocks(cx, node, &kids);
    if (kids.n != 1)
        return;
    if (e->code == ML_E_BAD_ARGUMENT)
        ml_try(t, NULL, "rfactor(\"%s\", 0)", ml_name_of(s, args[LOOP].uid));
    ml_index_loops(cx, p.index, ml_stmt_uid(kids.v[0]), &loops);
    for (size_t k = 0; k < loops.n; k++)
        if (loops.v[k] != node)
            ml_try(t, NULL, "rfactor(\"%s\", %lld)", ml_name_of(s, ml_stmt_uid(loops.v[k])),
                   (long long)args[FACTOR_AXIS].i);
}

static const ml_Param params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the reduce loop whose iterations get partial results"),
    ML_PARAM_ATTR(
        "factor_axis", ML_P_INT,
        "where the loop's dimension goes in the new buffer; from the end: negative"),
};

const ml_Primitive ml_prim_rfactor = {
    .name = "rfactor",
    .kind = "RFactor",
    .group = "reductions",
    .summary = "reduce in parts, one for each iteration of a loop",
    .help =
        "A copy of the nest computes a partial result for each iteration of the loop in a "
        "new\n"
        "buffer, in which the loop is spatial; the block combines them. Sums, products,\n"
        "minima, maxima, two sums, argmax and argmin are known.",
    .params = params,
    .n_params = ML_COUNT(params),
    .result = ML_R_BLOCK,
    .apply = rfactor,
    .suggest = suggest,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_NOT_SINGLE_CHILD,
                                     ML_E_NOT_STAGE_PIPELINE, ML_E_NOT_REDUCTION,
                                     ML_E_UNDECLARED_WRITE, ML_E_LOOP_NOT_SERIAL,
                                     ML_E_RFACTOR_LOOPS, ML_E_RFACTOR_SHAPE,
                                     ML_E_NO_REDUCER, ML_E_LOOP_STEP, ML_E_LOOP_DEPENDENT,
                                     ML_E_LOOP_DYNAMIC, ML_E_NOT_SCHEDULABLE,
                                     ML_E_BUFFER_IS_VIEW, ML_E_UNSOUND, ML_E_OK},
    .cases = "rfactor",
};
