/*
 * pipeline_versions - a dimension of versions in front of buffers that several iterations
 * use at a time. Source: lowering-and-codegen 2.14.
 */
#include "moonloop/codegen/lower/pipeline.h"

static const ml_PipeBuffer *many(const ml_Pipe *p, const ml_Buffer *b)
{
    for (size_t k = 0; k < p->own.n; k++)
        if (p->own.v[k].buffer->uid == b->uid)
            return p->own.v[k].to != b ? &p->own.v[k] : NULL;
    return NULL;
}

static const ml_PipeBuffer *many_at(const ml_Pipe *p, const ml_Var *data)
{
    for (size_t k = 0; k < p->own.n; k++)
        if (p->own.v[k].buffer->data == data)
            return many(p, p->own.v[k].buffer);
    return NULL;
}

/* Elements of one version. */
static const ml_Expr *size_of(ml_Ctx *cx, const ml_Buffer *b)
{
    const ml_Expr *n = b->n_strides ? ml_mul(cx, b->strides[0], b->shape[0]) : NULL;

    for (size_t d = 0; !b->n_strides && d < b->rank; d++) {
        const ml_Expr *e = b->shape[d];

        if (n)
            (void)ml_promote(cx, &n, &e);
        n = n ? ml_mul(cx, n, e) : e;
    }
    return n ? n : ml_i32(cx, 1);
}

static const ml_Buffer *with_versions(ml_Ctx *cx, const ml_Buffer *b, int64_t n)
{
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, b->rank + 1u);
    const ml_Expr **strides = ML_ARRAY(cx, const ml_Expr *, b->rank + 1u);
    ml_Buffer to = *b;

    for (size_t d = 0; d < b->rank; d++)
        shape[d + 1] = b->shape[d];
    for (size_t d = 0; d < b->n_strides; d++)
        strides[d + 1] = b->strides[d];
    shape[0] = ml_int(cx, b->rank ? b->shape[0]->type : ml_i32(cx, 0)->type, n);
    strides[0] = b->n_strides ? size_of(cx, b) : NULL;
    to.rank++;
    to.n_strides = b->n_strides ? to.rank : 0;
    to.shape = shape;
    to.strides = strides;
    to.is_scalar = false;
    return ml_buffer_from(cx, &to, false);
}

/* Which version an iteration has. */
static const ml_Expr *version_of(const ml_Pipe *p, const ml_PipeBuffer *b)
{
    const ml_For *f = p->loop;
    ml_Ctx *cx = p->lo->cx;

    return ml_floormod(cx, ml_sub(cx, ml_var(cx, f->var), f->min),
                       ml_int(cx, f->var->type, b->versions));
}

static const ml_Expr **with_index(ml_Ctx *cx, const ml_Expr *first,
                                  const ml_Expr *const *idx, size_t n)
{
    const ml_Expr **to = ML_ARRAY(cx, const ml_Expr *, n + 1);

    to[0] = first;
    for (size_t d = 0; d < n; d++)
        to[d + 1] = idx[d];
    return to;
}

static const ml_Expr *move_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    ml_Pipe *p = user;
    const ml_PipeBuffer *b;

    if (ml_is_op(e, ML_OP_ACCESS_PTR) && e->n_args == 5 &&
        e->args[1]->kind == ML_EXPR_VAR && (b = many_at(p, e->args[1]->as.var))) {
        const ml_Expr *to[5] = {e->args[0], e->args[1], NULL, e->args[3], e->args[4]};
        const ml_Expr *at = e->args[2], *size = size_of(cx, b->buffer);
        const ml_Expr *version = version_of(p, b);

        at = move_expr(cx, at, p);
        (void)ml_promote(cx, &version, &size);
        size = ml_mul(cx, version, size);
        (void)ml_promote(cx, &at, &size);
        to[2] = ml_add(cx, at, size);
        return ml_expr_with_args(cx, e, to);
    }
    if (e->kind == ML_EXPR_VAR && e->type.code == ML_HANDLE &&
        (b = many_at(p, e->as.var)) && !p->failed)
        ml_pipe_refuse(
            p, ml_format(cx,
                         "the pointer of %s is handed on as it is, and %s needs %lld "
                         "versions; use access_ptr or address_of",
                         b->buffer->name, b->buffer->name, (long long)b->versions));
    e = ml_expr_map_args(cx, e, move_expr, user);
    if (e->kind != ML_EXPR_LOAD || !(b = many(p, e->as.buffer)))
        return e;
    size_t n = ml_load_rank(e);
    const ml_Expr **idx = with_index(cx, version_of(p, b), e->args, n);

    return (e->flags & ML_X_MASKED) ? ml_load_masked(cx, b->to, idx, n + 1, e->args[n])
                                    : ml_load(cx, b->to, idx, n + 1);
}

static const ml_Region *move_regions(ml_Pipe *p, const ml_Region *r, uint32_t n)
{
    ml_Ctx *cx = p->lo->cx;
    ml_Region *to = ML_ARRAY(cx, ml_Region, n + 1u);

    for (uint32_t k = 0; k < n; k++) {
        const ml_PipeBuffer *b = many(p, r[k].buffer);

        to[k] = r[k];
        if (b == NULL)
            continue;
        ml_Range *range = ML_ARRAY(cx, ml_Range, b->to->rank);

        range[0] = (ml_Range){version_of(p, b), NULL};
        range[0].extent = ml_int(cx, range[0].min->type, 1);
        for (size_t d = 0; d < b->buffer->rank; d++)
            range[d + 1] = r[k].ranges[d];
        to[k] = (ml_Region){b->to, range};
    }
    return to;
}

static const ml_Stmt *move_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = move_stmt, .expr = move_expr, .user = user};
    ml_Pipe *p = user;
    const ml_PipeBuffer *b;

    if (s->kind == ML_STMT_STORE && (b = many(p, ml_as_store(s)->buffer))) {
        ml_Store st = *ml_as_store(s);

        st.indices = with_index(cx, version_of(p, b), st.indices, st.n);
        st.n++;
        st.buffer = b->to;
        s = ml_stmt_from(cx, &st.base);
    } else if (s->kind == ML_STMT_BLOCK) {
        ml_Block to = *ml_as_block(s);

        to.reads = move_regions(p, to.reads, to.n_reads);
        to.writes = move_regions(p, to.writes, to.n_writes);
        s = ml_block_from(cx, &to);
    } else if (s->kind == ML_STMT_DECL && (b = many_at(p, ml_as_alloc(s)->buffer->data)) &&
               !p->failed) {
        ml_pipe_refuse(p,
                       ml_format(cx, "%s is another name for %s, which needs %lld versions",
                                 ml_as_alloc(s)->buffer->name, b->buffer->name,
                                 (long long)b->versions));
    }
    return ml_stmt_map(cx, s, &m);
}

const ml_Stmt *ml_pipe_move(ml_Pipe *p, const ml_Stmt *s)
{
    return move_stmt(p->lo->cx, s, p);
}

void ml_pipe_set_versions(ml_Pipe *p, ml_PipeBuffer *b, int64_t at_least)
{
    b->versions = ml_pipe_versions(p, b->buffer, at_least);
    if (b->versions > 1)
        b->to = with_versions(p->lo->cx, b->buffer, b->versions);
}
