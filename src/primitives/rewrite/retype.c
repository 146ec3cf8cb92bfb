/*
 * retype - see retype.h.
 */
#include "moonloop/primitives/rewrite/retype.h"

static const ml_Buffer *add(ml_Retype *r, const ml_Buffer *b)
{
    ml_Buffer nb = *b;
    const ml_Buffer *to;

    nb.type = r->type;
    to = ml_buffer_from(r->cx, &nb, true);
    ml_map_set(r->cx, r->fresh, b->uid, to);
    ml_map_set(r->cx, r->data, b->data->uid, b);
    return to;
}

/* Outer views come before views of them. */
static bool add_views(const ml_Stmt *s, void *user)
{
    ml_Retype *r = user;

    if (s->kind != ML_STMT_BLOCK)
        return s->has_block;
    const ml_Block *b = ml_as_block(s);

    for (size_t k = 0; k < b->n_matches; k++)
        if (ml_map_has(r->fresh, b->matches[k].source.buffer->uid) &&
            !ml_map_has(r->fresh, b->matches[k].target->uid))
            (void)add(r, b->matches[k].target);
    return true;
}

static const ml_Buffer *retype_buffer(ml_Ctx *cx, const ml_Buffer *b, bool is_definition,
                                      void *user)
{
    ml_Retype *r = user;
    const ml_Buffer *to = ml_map_get(r->fresh, b->uid);

    (void)cx;
    (void)is_definition;
    return to ? to : b;
}

static void found_opaque(ml_Retype *r)
{
    r->is_opaque = true;
    r->opaque = r->opaque ? r->opaque : r->at;
}

static const ml_Expr *recode(const ml_Retype *r, ml_Recode *fn, const ml_Expr *e,
                             ml_Dtype t)
{
    t.lanes = e->type.lanes;
    return fn ? fn(r->cx, e, t) : ml_cast(r->cx, t, e);
}

static const ml_Expr *retype_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    ml_Retype *r = user;

    if (e->kind == ML_EXPR_VAR && ml_map_has(r->data, e->as.var->uid))
        found_opaque(r);
    if (ml_is_op(e, ML_OP_ADDRESS_OF) && e->n_args == 1 &&
        e->args[0]->kind == ML_EXPR_LOAD &&
        ml_map_has(r->fresh, e->args[0]->as.buffer->uid)) {
        found_opaque(r);
        return e;
    }
    const ml_Expr *m = ml_expr_map_args(cx, e, retype_expr, user);
    const ml_Buffer *to =
        m->kind == ML_EXPR_LOAD ? ml_map_get(r->fresh, m->as.buffer->uid) : NULL;

    if (!to)
        return m;
    size_t n = ml_load_rank(m);

    return recode(r, r->decode,
                  n < m->n_args ? ml_load_masked(cx, to, m->args, n, m->args[n])
                                : ml_load(cx, to, m->args, n),
                  m->type);
}

static const ml_Stmt *retype_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    ml_Retype *r = user;
    const ml_Block *at = r->at;

    if (s->kind == ML_STMT_STORE) {
        const ml_Store *st = ml_as_store(s);
        const ml_Buffer *to = ml_map_get(r->fresh, st->buffer->uid);
        const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, st->n + 1u);
        const ml_Expr *value = retype_expr(cx, st->value, r);
        const ml_Expr *mask = st->mask ? retype_expr(cx, st->mask, r) : NULL;
        bool changed = to || value != st->value || mask != st->mask;

        for (size_t d = 0; d < st->n; d++) {
            idx[d] = retype_expr(cx, st->indices[d], r);
            changed |= idx[d] != st->indices[d];
        }
        if (!changed)
            return s;
        if (to)
            value = recode(r, r->encode, value, r->type);
        return ml_stmt_at(cx, ml_store(cx, to ? to : st->buffer, value, idx, st->n, mask),
                          s->span);
    }
    if (s->kind == ML_STMT_BLOCK)
        r->at = ml_as_block(s);
    s = ml_stmt_map(cx, s,
                    &(ml_Mapper){.stmt = retype_stmt,
                                 .expr = retype_expr,
                                 .buffer = retype_buffer,
                                 .user = user});
    r->at = at;
    return s;
}

const ml_Buffer *ml_retype_begin(ml_Retype *r, ml_Ctx *cx, const ml_Buffer *buf,
                                 ml_Dtype type, ml_Recode *encode, ml_Recode *decode)
{
    *r = (ml_Retype){.cx = cx,
                     .fresh = ml_map_new(cx),
                     .data = ml_map_new(cx),
                     .type = type,
                     .encode = encode,
                     .decode = decode};
    return add(r, buf);
}

bool ml_retype_install(ml_Call *c, ml_Retype *r, ml_Uid site, const ml_Buffer *buf,
                       const ml_Block *user)
{
    const ml_Stmt *root = ml_index_node(c->p.index, site), *st;

    ml_stmt_visit(root, add_views, r);
    st = retype_stmt(c->cx, root, r);
    if (r->is_opaque)
        return ml_fail_opaque(c, buf, r->opaque ? r->opaque : user);
    if (!ml_ok_or_fail(c->cx))
        return false;
    ml_call_replace(c, site, st);
    return true;
}

ml_Uid ml_retype_site(ml_Call *c, const ml_Buffer *buf, const ml_Block *b)
{
    bool is_match = false;
    ml_Uid site = ml_buffer_site(c->p, c->func, buf, &is_match);

    if (!site || is_match) {
        ml_fail_not_allocated(c, buf, b);
        return 0;
    }
    if (buf->type.lanes != 1) {
        ml_fail_as(c->cx, ML_E_NOT_SUPPORTED, "{0} holds vectors", ML_BUFFER(buf));
        return 0;
    }
    return site;
}
