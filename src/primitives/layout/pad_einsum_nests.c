/*
 * pad_einsum_nests - the padded buffers, the copies into and out of them, and the block
 * that works on them. Source: primitives 11, pad_einsum.
 */
#include "moonloop/primitives/layout/einsum.h"

/* ---- copies */

static void make_padded(const ml_Einsum *e, ml_EinsumSide *s)
{
    ml_Ctx *cx = e->c->cx;
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, s->old->rank + 1u);

    for (size_t d = 0; d < s->old->rank; d++) {
        int k = ml_einsum_iter(e->block, s->idx[d]);
        ml_Dtype t = s->old->shape[d]->type;

        shape[d] = k < 0 ? ml_int(cx, t, 1) : ml_cast(cx, t, e->extents[k]);
    }
    s->padded = ml_buffer_new(cx, ml_format(cx, "%s_pad", s->old->name), s->old->type,
                              shape, s->old->rank, s->old->scope.name);
}

static const ml_Expr *both(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return ml_is_true(a) ? b : ml_and(cx, a, b);
}

/* Elements that an iter counts and the buffer lacks are never used: conditions of the block
 * keep it from them. Into the padded buffer, zeros beside the old elements; or back, the
 * old elements. */
static const ml_Stmt *copy_nest(const ml_Einsum *e, const ml_EinsumSide *s)
{
    ml_Ctx *cx = e->c->cx;
    size_t rank = s->old->rank;
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, rank + 1);
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, rank + 1);
    const ml_Expr **in = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    const ml_Expr *inside = ml_bool(cx, true), *value;
    ml_Block b = {.tag = ml_fresh_uid(cx),
                  .name = s->padded->name,
                  .predicate = ml_bool(cx, true),
                  .n_iters = (uint32_t)rank,
                  .iters = iters};

    for (size_t d = 0; d < rank; d++) {
        int k = ml_einsum_iter(e->block, s->idx[d]);
        ml_Dtype t = s->padded->shape[d]->type;
        const ml_Expr *n = s->padded->shape[d], *old = n;

        if (k >= 0 && e->changed[k])
            old = ml_cast(cx, t, e->block->iters[k].extent);
        loops[d] = ml_var_new(cx, ml_numbered(cx, "i", "", d), t);
        iters[d] = (ml_Iter){.var = ml_var_new(cx, ml_numbered(cx, "v", "", d), t),
                             .min = ml_int(cx, t, 0),
                             .extent = s->write ? old : n,
                             .value = ml_var(cx, loops[d]),
                             .kind = ML_ITER_SPATIAL};
        in[d] = out[d] = ml_var(cx, iters[d].var);
        if (k < 0)
            in[d] = ml_cast(cx, t, s->idx[d]);
        else if (!s->write) {
            const ml_Expr *have = s->old->shape[d];

            if (!ml_prove_le_expr(e->ar, old, have))
                inside = both(cx, inside, ml_lt(cx, out[d], ml_cast(cx, t, have)));
            if (old != n && !ml_prove_lt_expr(e->ar, have, old))
                inside = both(cx, inside, ml_lt(cx, out[d], old));
        }
    }
    if (s->write)
        b.body = ml_store(cx, s->old, ml_load(cx, s->padded, out, rank), in, rank, NULL);
    else {
        const ml_Expr *zero = ml_dtype_is_float(s->old->type)
                                  ? ml_float(cx, s->old->type, 0.0)
                                  : ml_int(cx, s->old->type, 0);

        value = ml_if_then_else(cx, inside, ml_load(cx, s->old, in, rank), zero);
        b.body = ml_store(cx, s->padded, value, out, rank, NULL);
    }
    const ml_Block *done =
        ml_block_reinfer(cx, ml_call_func(e->c), ml_as_block(ml_block_from(cx, &b)));
    const ml_Stmt *st = done ? &done->base : ml_block_from(cx, &b);

    for (size_t d = rank; d-- > 0;)
        st = ml_serial(cx, loops[d], ml_int(cx, loops[d]->type, 0), iters[d].extent, st);
    return st;
}

/* ---- the block and its loops */

static const ml_Expr *pad_expr(ml_Ctx *cx, const ml_Expr *x, void *user)
{
    const ml_Einsum *e = user;

    if (!(x->flags & ML_X_HAS_LOAD))
        return x;
    const ml_Expr *r = ml_expr_map_args(cx, x, pad_expr, user);
    const ml_EinsumSide *s =
        r->kind == ML_EXPR_LOAD ? ml_einsum_side(e, r->as.buffer) : NULL;

    return s && s->padded ? ml_load(cx, s->padded, s->idx, s->old->rank) : r;
}

static const ml_Stmt *pad_store(const ml_Einsum *e, const ml_Stmt *s)
{
    ml_Ctx *cx = e->c->cx;

    if (s->kind == ML_STMT_SEQ) {
        const ml_Seq *seq = ml_as_seq(s);
        const ml_Stmt **v = ML_ARRAY(cx, const ml_Stmt *, seq->n);

        for (uint32_t k = 0; k < seq->n; k++)
            v[k] = pad_store(e, seq->stmts[k]);
        return ml_seq_at(cx, v, seq->n, s->span);
    }
    const ml_Store *st = ml_as_store(s);
    const ml_EinsumSide *to = ml_einsum_side(e, st->buffer);
    const ml_Expr *value = pad_expr(cx, st->value, (void *)(uintptr_t)e);

    return ml_stmt_at(cx,
                      to->padded
                          ? ml_store(cx, to->padded, value, to->idx, to->old->rank, NULL)
                          : ml_store(cx, st->buffer, value, st->indices, st->n, NULL),
                      s->span);
}

static const ml_Region *pad_regions(const ml_Einsum *e, const ml_Region *v, uint32_t n)
{
    ml_Ctx *cx = e->c->cx;
    ml_Region *out = ML_ARRAY(cx, ml_Region, n + 1u);

    for (uint32_t k = 0; k < n; k++) {
        const ml_EinsumSide *s = ml_einsum_side(e, v[k].buffer);

        out[k] = v[k];
        if (!s->padded)
            continue;
        ml_Range *point = ML_ARRAY(cx, ml_Range, s->old->rank + 1u);

        for (size_t d = 0; d < s->old->rank; d++)
            point[d] = (ml_Range){s->idx[d], ml_int(cx, s->idx[d]->type, 1)};
        out[k] = (ml_Region){s->padded, point};
    }
    return out;
}

static const ml_Stmt *pad_block(const ml_Einsum *e)
{
    ml_Ctx *cx = e->c->cx;
    ml_Block nb = *e->block;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, nb.n_iters + 1u);

    for (uint32_t k = 0; k < nb.n_iters; k++) {
        iters[k] = e->block->iters[k];
        iters[k].extent = e->extents[k];
    }
    nb.iters = iters;
    nb.reads = pad_regions(e, nb.reads, nb.n_reads);
    nb.writes = pad_regions(e, nb.writes, nb.n_writes);
    nb.body = pad_store(e, nb.body);
    if (nb.init)
        nb.init = pad_store(e, nb.init);
    return ml_block_from(cx, &nb);
}

static const ml_Stmt *pad_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Einsum *e = user;
    const ml_Stmt *body;

    if (s == &e->block->base)
        return pad_block(e);
    if (!s->has_block || s->kind == ML_STMT_BLOCK)
        return s;
    if (s->kind != ML_STMT_FOR)
        return ml_stmt_map(cx, s, &(ml_Mapper){.stmt = pad_stmt, .user = user});
    ml_For f = *ml_as_for(s);

    body = pad_stmt(cx, f.body, user);
    if (body == f.body)
        return s;
    f.body = body;
    for (uint32_t k = 0; k < e->block->n_iters; k++)
        if (e->loop_of[k] && e->loop_of[k]->var->uid == f.var->uid)
            f.extent = ml_cast(cx, f.var->type, e->extents[k]);
    return ml_for_from(cx, &f);
}

bool ml_einsum_install(ml_Einsum *e)
{
    ml_Call *c = e->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *root = ml_call_block(c, e->scope);
    const ml_Seq *seq = root->body->kind == ML_STMT_SEQ ? ml_as_seq(root->body) : NULL;
    ML_VEC(const ml_Stmt *) all = {0};
    ml_Block nb = *root;

    for (size_t k = 0; k < e->sides.n; k++)
        if (ml_einsum_is_padded(e, &e->sides.v[k]))
            make_padded(e, &e->sides.v[k]);
    for (uint32_t k = 0; k < (seq ? seq->n : 1); k++) {
        const ml_Stmt *s = seq ? seq->stmts[k] : root->body;

        if (s != e->top) {
            ml_push(cx, &all, s);
            continue;
        }
        for (size_t m = 0; m < e->sides.n; m++)
            if (e->sides.v[m].padded && !e->sides.v[m].write)
                ml_push(cx, &all, copy_nest(e, &e->sides.v[m]));
        size_t at = all.n;

        ml_push(cx, &all, s);
        for (size_t m = 0; m < e->sides.n; m++)
            if (e->sides.v[m].padded && e->sides.v[m].write)
                ml_push(cx, &all, copy_nest(e, &e->sides.v[m]));
        /* From here on constants are indices of the padded buffers. */
        for (size_t m = 0; m < e->sides.n; m++)
            for (size_t d = 0; e->sides.v[m].padded && d < e->sides.v[m].old->rank; d++)
                if (e->sides.v[m].idx[d]->kind == ML_EXPR_INT)
                    e->sides.v[m].idx[d] = ml_int(cx, e->sides.v[m].idx[d]->type, 0);
        all.v[at] = pad_stmt(cx, s, e);
    }
    nb.body = ml_seq_at(cx, all.v, all.n, root->body->span);
    const ml_Block *with = ml_as_block(ml_block_from(cx, &nb));

    for (size_t k = 0; k < e->sides.n; k++)
        if (e->sides.v[k].padded)
            with = ml_block_add_alloc(cx, with, e->sides.v[k].padded);
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, e->scope, &with->base);
    return true;
}
