/*
 * rfactor - compute partial results for each iteration of a reduce loop in a buffer of
 * their own, then combine them.
 *
 * The partial results are made by a copy of the whole nest that stands before it; what is
 * left in place combines them. This is right when each element is accumulated once, is
 * started before it is added to, and each partial result has a first element. Source:
 * primitives 9, rfactor; Suriana et al., CGO 2017.
 */
#include "moonloop/primitives/rewrite/rfactor.h"

#include "moonloop/core/base/fault.h"
#include "moonloop/core/shown.h"

/* e in the dtype that indices of the buffer have, when that is the wider one. */
static const ml_Expr *index_like(ml_Rfactor *r, const ml_Buffer *b, const ml_Expr *e)
{
    ML_ASSERT(b);
    ml_Dtype t = b->rank ? b->shape[0]->type : e->type;

    return t.bits > e->type.bits ? ml_cast(r->cx, t, e) : e;
}

static void make_buffers(ml_Rfactor *r)
{
    for (size_t k = 0; k < r->shape.n; k++) {
        const ml_Buffer *b = r->shape.buf[k];
        const ml_Expr **shape = ML_ARRAY(r->cx, const ml_Expr *, b->rank + 1u);

        for (size_t d = 0; d <= b->rank; d++)
            shape[d] = d == r->axis ? index_like(r, b, ml_rfactor_target(r)->extent)
                                    : b->shape[d - (d > r->axis)];
        r->partial[k] = ml_buffer_new(r->cx, ml_format(r->cx, "%s.rf", b->name), b->type,
                                      shape, b->rank + 1u, b->scope.name);
    }
}

/* The element's indices with v put in at the axis. */
static const ml_Expr *const *with_axis(ml_Rfactor *r, const ml_Expr *v)
{
    const ml_Expr **idx = ML_ARRAY(r->cx, const ml_Expr *, r->shape.rank + 1);

    for (size_t d = 0; d <= r->shape.rank; d++)
        idx[d] = d == r->axis ? index_like(r, r->shape.buf[0], v)
                              : r->shape.idx[d - (d > r->axis)];
    return idx;
}

/* An iter over the given loop, from 0. */
static ml_Iter target_iter(ml_Rfactor *r, ml_IterKind kind)
{
    const ml_For *f = ml_rfactor_target(r);
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
static const ml_Stmt *make_stores(ml_Rfactor *r, const ml_Buffer *const *buf,
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
static void open_iters(const ml_Rfactor *r, bool *iter_open, bool *loop_open)
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
static size_t partial_iters(ml_Rfactor *r, ml_Iter *out, ml_Subst *sub, bool *reduces)
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
    ml_subst_var(cx, &values, ml_rfactor_target(r)->var,
                 ml_is_int(ml_rfactor_target(r)->min, 0)
                     ? ml_var(cx, out[0].var)
                     : ml_add(cx, ml_var(cx, out[0].var), ml_rfactor_target(r)->min));
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

/* The block's own lets, which the new values use, before the stores. */
static const ml_Stmt *with_lets(ml_Rfactor *r, const ml_Subst *sub, const ml_Stmt *stores)
{
    const ml_ReductionShape *sh = &r->shape;
    const ml_Stmt **all = ML_ARRAY(r->cx, const ml_Stmt *, sh->n_lets + 1);

    for (size_t k = 0; k < sh->n_lets; k++)
        all[k] = sub->vars ? ml_stmt_subst(r->cx, sh->lets[k], sub) : sh->lets[k];
    all[sh->n_lets] = stores;
    return ml_seq(r->cx, all, sh->n_lets + 1);
}

static const ml_Block *partial_block(ml_Rfactor *r)
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
    ml_combiner_apply(cx, r->shape.combiner.reducer, acc, given, all);
    rb.init = reduces ? make_stores(r, r->partial, idx, r->shape.rank + 1,
                                    r->shape.combiner.start, false)
                      : NULL;
    rb.body = with_lets(r, &sub,
                        make_stores(r, r->partial, idx, r->shape.rank + 1,
                                    reduces ? all : given, reduces && r->shape.n > 1));
    rb.n_reads = rb.n_writes = 0;
    return ml_block_reinfer(cx, ml_call_func(r->c), ml_as_block(ml_block_from(cx, &rb)));
}

static const ml_Block *final_block(ml_Rfactor *r)
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
    ml_combiner_apply(cx, r->shape.combiner.last, acc, parts, all);
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
    ml_Rfactor r = {.c = c, .cx = cx};

    if (!ml_rfactor_check(&r))
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
    while (before->kind == ML_STMT_FOR)
        before = ml_as_for(before)->body;
    ml_call_subject(c, ML_BLOCK_OF, ml_as_block(before)->tag, NULL);
    ml_call_subject(c, ML_BLOCK_OF, wb->tag, NULL);
    if (r.shape.combiner.own)
        ml_call_note(c,
                     "block %s combines as was registered: the result is right only if the "
                     "combination is associative and commutative and the identity changes "
                     "nothing",
                     ml_shown(c->cx, r.block));
    ml_call_return_block(c, ml_as_block(before)->tag);
    return true;
}

static void suggest_rfactor(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                            ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    ml_Program p = ml_schedule_program(s);
    ml_StmtVec kids = {0}, loops = {0};
    const ml_Stmt *node = ml_index_node(p.index, args[ML_RFACTOR_LOOP].uid);

    if (!node || node->kind != ML_STMT_FOR)
        return;
    ml_child_blocks(cx, node, &kids);
    if (kids.n != 1)
        return;
    if (e->code == ML_E_BAD_ARGUMENT)
        ml_try(t, NULL, "rfactor(\"%s\", 0)", ml_name_of(s, args[ML_RFACTOR_LOOP].uid));
    ml_index_loops(cx, p.index, ml_stmt_uid(kids.v[0]), &loops);
    for (size_t k = 0; k < loops.n; k++)
        if (loops.v[k] != node)
            ml_try(t, NULL, "rfactor(\"%s\", %lld)", ml_name_of(s, ml_stmt_uid(loops.v[k])),
                   (long long)args[ML_RFACTOR_AXIS].i);
}

static const ml_Post posts[] = {
    /* What each iteration of a concurrent loop had for itself leaves that loop. */
    {ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("loop", ML_P_LOOP, "the reduce loop whose iterations get partial results"),
    ML_PARAM_ATTR(
        "factor_axis", ML_P_INT,
        "where the loop's dimension goes in the new buffer; from the end: negative"),
};

const ml_Primitive ml_prim_rfactor = {
    ML_PRIM(rfactor, "RFactor"),
    .group = "reductions",
    .summary = "reduce in parts, one for each iteration of a loop",
    .help =
        "A copy of the nest computes a partial result for each iteration of the loop in a "
        "new\n"
        "buffer, in which the loop is spatial; the block combines them. Sums, products,\n"
        "minima, maxima, two sums, argmax and argmin are known; moon.register_reducer "
        "adds\n"
        "others.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_rfactor,
    .errors =
        (const ml_ErrorCode[]){
            ML_E_BAD_ARGUMENT,      ML_E_NOT_SINGLE_CHILD, ML_E_NOT_STAGE_PIPELINE,
            ML_E_NOT_REDUCTION,     ML_E_UNDECLARED_WRITE, ML_E_LOOP_NOT_SERIAL,
            ML_E_RFACTOR_LOOPS,     ML_E_RFACTOR_SHAPE,    ML_E_NO_REDUCER,
            ML_E_LOOP_STEP,         ML_E_LOOP_DEPENDENT,   ML_E_LOOP_DYNAMIC,
            ML_E_NOT_SCHEDULABLE,   ML_E_BUFFER_IS_VIEW,   ML_E_INIT_MISPLACED,
            ML_E_REDUCTION_CHANGED, ML_E_WRITES_OVERLAP,   ML_E_WOULD_RACE,
            ML_E_NOT_SHARED,        ML_E_VALUE_CHANGED,    ML_E_OK},
};
