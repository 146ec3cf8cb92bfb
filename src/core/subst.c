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

const ml_Stmt *ml_stmt_subst(ml_Ctx *cx, const ml_Stmt *st, const ml_Subst *s)
{
    ml_Rename r = ml_rename_begin(s, false);

    if (r.bloom == 0 && !r.buffers)
        return st;
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
