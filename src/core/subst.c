/*
 * subst - simultaneous substitution of variables by expressions and buffers by buffers.
 *
 * A subtree whose Bloom filter meets none of the substituted variables (and, when buffers
 * are substituted, that holds no load) is returned as it is. Results for large nodes are
 * remembered by expression id, so that the cost is linear in the size of the DAG, not of
 * the tree. Values are never substituted again. Source: ir-and-analysis 8.2.
 */
#include "moonloop/core/rename.h"

enum { ML_MEMO_FROM = 64 }; /* size from which a node is worth remembering */

void ml_subst_var(ml_Ctx *cx, ml_Subst *s, const ml_Var *v, const ml_Expr *to)
{
    ML_ASSERT(ml_dtype_eq(v->type, to->type));
    if (!s->vars)
        s->vars = ml_map_new(cx);
    ml_map_set(cx, s->vars, v->uid, to);
}

void ml_subst_buffer(ml_Ctx *cx, ml_Subst *s, const ml_Buffer *b, const ml_Buffer *to)
{
    ML_ASSERT(b->rank == to->rank);
    if (!s->buffers)
        s->buffers = ml_map_new(cx);
    ml_map_set(cx, s->buffers, b->uid, to);
    if (b->data->uid != to->data->uid)
        ml_subst_var(cx, s, b->data, ml_var(cx, to->data));
}

ml_Rename ml_rename_begin(const ml_Subst *s, bool defs)
{
    ml_Rename r = {.s = s, .defs = defs};

    r.buffers = s->buffers && ml_map_count(s->buffers) > 0;
    for (size_t k = 0; s->vars && k < ml_map_count(s->vars); k++)
        r.bloom |= ml_uid_bloom(ml_map_key_at(s->vars, k));
    return r;
}

/* A LOAD whose children are known already. */
static const ml_Expr *load_of(ml_Ctx *cx, const ml_Expr *e, const ml_Buffer *b)
{
    size_t n = ml_load_rank(e);

    return (e->flags & ML_X_MASKED) ? ml_load_masked(cx, b, e->args, n, e->args[n])
                                    : ml_load(cx, b, e->args, n);
}

static const ml_Expr *rename_node(ml_Ctx *cx, const ml_Expr *e, ml_Rename *r)
{
    const ml_Expr *out = ml_expr_map_args(cx, e, ml_rename_expr, r);

    if (e->kind == ML_EXPR_LOAD && r->buffers) {
        const ml_Buffer *to = ml_map_get(r->s->buffers, e->as.buffer->uid);

        return to && to != e->as.buffer ? load_of(cx, out, to) : out;
    }
    if (e->kind == ML_EXPR_LET && r->defs) {
        const ml_Expr *to = ml_map_get(r->s->vars, e->as.var->uid);

        return to && to->kind == ML_EXPR_VAR
                   ? ml_let(cx, to->as.var, out->args[0], out->args[1])
                   : out;
    }
    return out;
}

const ml_Expr *ml_rename_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    ml_Rename *r = user;
    const ml_Expr *out;

    if (!(e->bloom & r->bloom) && !(r->buffers && (e->flags & ML_X_HAS_LOAD)))
        return e;
    if (e->kind == ML_EXPR_VAR) {
        out = ml_map_get(r->s->vars, e->as.var->uid);
        return out ? out : e;
    }
    if (e->size < ML_MEMO_FROM)
        return rename_node(cx, e, r);
    out = ml_map_get(r->memo, e->id);
    if (out)
        return out;
    out = rename_node(cx, e, r);
    if (!r->memo)
        r->memo = ml_map_new(cx);
    ml_map_set(cx, r->memo, e->id, out);
    return out;
}

const ml_Buffer *ml_rename_buffer(ml_Ctx *cx, const ml_Buffer *b, bool is_definition,
                                  void *user)
{
    const ml_Rename *r = user;
    const ml_Buffer *to = r->buffers ? ml_map_get(r->s->buffers, b->uid) : NULL;

    (void)cx;
    (void)is_definition;
    return to ? to : b;
}

const ml_Expr *ml_expr_subst(ml_Ctx *cx, const ml_Expr *e, const ml_Subst *s)
{
    ml_Rename r = ml_rename_begin(s, false);

    return ml_rename_expr(cx, e, &r);
}

const ml_Expr *ml_expr_subst1(ml_Ctx *cx, const ml_Expr *e, const ml_Var *v,
                              const ml_Expr *to)
{
    ml_Subst s = {0};

    if (!(e->bloom & ml_uid_bloom(v->uid)))
        return e;
    ml_subst_var(cx, &s, v, to);
    return ml_expr_subst(cx, e, &s);
}

static const ml_Stmt *subst_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const ml_Mapper m = {subst_stmt, ml_rename_expr, ml_rename_buffer, user};

    return ml_stmt_map(cx, st, &m);
}

/* ---- buffers that are defined inside */

typedef struct Defined {
    ml_Ctx *cx;
    ml_Rename vars;
    ml_Subst s; /* with the buffers that follow the variables */
    bool any;
    ml_ExprFn *tidy; /* of what has changed; NULL: leave it so */
    void *user;
} Defined;

static const ml_Expr *follow_expr(Defined *d, const ml_Expr *e)
{
    const ml_Expr *to = ml_rename_expr(d->cx, e, &d->vars);

    return to != e && d->tidy ? d->tidy(d->cx, to, d->user) : to;
}

static const ml_Expr *const *follow_list(Defined *d, const ml_Expr *const *v, size_t n)
{
    const ml_Expr **out = NULL;

    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = follow_expr(d, v[k]);

        if (e == v[k])
            continue;
        if (!out) {
            out = ml_alloc(d->cx, n * sizeof(*out));
            memcpy(out, v, n * sizeof(*out));
        }
        out[k] = e;
    }
    return out ? out : v;
}

/* A buffer that is to be another one anyway is left to whoever said so. */
static void follow(Defined *d, const ml_Buffer *b)
{
    ml_Buffer nb = *b;

    if (d->s.buffers && ml_map_has(d->s.buffers, b->uid))
        return;
    nb.shape = follow_list(d, b->shape, b->rank);
    nb.strides = follow_list(d, b->strides, b->n_strides);
    nb.elem_offset = follow_expr(d, b->elem_offset);
    if (nb.shape == b->shape && nb.strides == b->strides &&
        nb.elem_offset == b->elem_offset)
        return;
    if (!d->any) { /* the caller's own is not changed */
        ml_Map *own = ml_map_new(d->cx);

        for (size_t k = 0; d->s.buffers && k < ml_map_count(d->s.buffers); k++)
            ml_map_set(d->cx, own, ml_map_key_at(d->s.buffers, k),
                       ml_map_value_at(d->s.buffers, k));
        d->s.buffers = own;
        d->any = true;
    }
    ml_map_set(d->cx, d->s.buffers, b->uid, ml_buffer_from(d->cx, &nb, false));
}

static bool follow_defined(const ml_Stmt *s, void *user)
{
    if (s->kind == ML_STMT_ALLOC || s->kind == ML_STMT_DECL)
        follow(user, ml_as_alloc(s)->buffer);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        for (size_t k = 0; k < b->n_allocs; k++)
            follow(user, b->allocs[k]);
        for (size_t k = 0; k < b->n_matches; k++)
            follow(user, b->matches[k].target);
    }
    return true;
}

const ml_Stmt *ml_stmt_subst(ml_Ctx *cx, const ml_Stmt *st, const ml_Subst *s)
{
    return ml_stmt_subst_tidy(cx, st, s, NULL, NULL);
}

const ml_Stmt *ml_stmt_subst_tidy(ml_Ctx *cx, const ml_Stmt *st, const ml_Subst *s,
                                  ml_ExprFn *tidy, void *user)
{
    ml_Rename r = ml_rename_begin(s, false);

    if (r.bloom == 0 && !r.buffers)
        return st;
    const ml_Subst vars = {.vars = s->vars};
    Defined d = {.cx = cx,
                 .vars = ml_rename_begin(&vars, false),
                 .s = *s,
                 .tidy = tidy,
                 .user = user};

    if (r.bloom)
        ml_stmt_visit(st, follow_defined, &d);
    if (d.any)
        r = ml_rename_begin(&d.s, false);
    return subst_stmt(cx, st, &r);
}

ml_Region ml_region_subst(ml_Ctx *cx, ml_Region r, const ml_Subst *s)
{
    ml_Rename run = ml_rename_begin(s, false);
    ml_Range *copy = NULL;

    for (size_t k = 0; k < r.buffer->rank; k++) {
        ml_Range to = {ml_rename_expr(cx, r.ranges[k].min, &run),
                       ml_rename_expr(cx, r.ranges[k].extent, &run)};

        if (!copy && (to.min != r.ranges[k].min || to.extent != r.ranges[k].extent)) {
            copy = ml_alloc(cx, r.buffer->rank * sizeof(*copy));
            memcpy(copy, r.ranges, r.buffer->rank * sizeof(*copy));
        }
        if (copy)
            copy[k] = to;
    }
    if (copy)
        r.ranges = copy;
    r.buffer = ml_rename_buffer(cx, r.buffer, false, &run);
    return r;
}
