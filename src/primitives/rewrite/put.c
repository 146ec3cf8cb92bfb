/*
 * put - new nests and buffers put into a scope: beside one of its statements, or at a
 * position in the body of one of its loops. Source: primitives 8.
 */
#include "moonloop/primitives/rewrite/cache.h"

static void add_alloc(ml_Call *c, ml_Uid scope, const ml_Buffer *alloc)
{
    if (alloc)
        ml_call_replace(c, scope,
                        &ml_block_add_alloc(c->cx, ml_call_block(c, scope), alloc)->base);
}

void ml_put_beside(ml_Call *c, ml_Uid scope, const ml_Stmt *top, const ml_Stmt *before,
                   const ml_Stmt *with, const ml_Stmt *after, const ml_Buffer *alloc)
{
    ml_Ctx *cx = c->cx;
    ml_Block root = *ml_call_block(c, scope);
    const ml_Stmt *all[3];
    size_t n = 0;

    if (before)
        all[n++] = before;
    if (with)
        all[n++] = with;
    if (after)
        all[n++] = after;
    const ml_Stmt *now = ml_seq(cx, all, n);

    if (root.body == top) {
        root.body = now;
    } else {
        const ml_Seq *seq = ml_as_seq(root.body);
        size_t at = 0;

        while (seq->stmts[at] != top)
            at++;
        root.body = ml_seq_with(cx, seq, at, now);
    }
    const ml_Block *b = ml_as_block(ml_block_from(cx, &root));

    if (alloc)
        b = ml_block_add_alloc(cx, b, alloc);
    ml_call_replace(c, scope, &b->base);
}

size_t ml_position_in(const ml_Stmt *body, const ml_Stmt *child)
{
    if (body->kind != ML_STMT_SEQ)
        return child == body ? 0 : 1;
    const ml_Seq *seq = ml_as_seq(body);
    size_t at = 0;

    while (at < seq->n && seq->stmts[at] != child)
        at++;
    return at;
}

void ml_put_at(ml_Call *c, ml_Uid node, size_t pos, const ml_Stmt *nest, ml_Uid scope,
               const ml_Buffer *alloc)
{
    ml_Ctx *cx = c->cx;
    const ml_Stmt *st = ml_index_node(c->p.index, node), *body = ml_node_body(st);
    size_t n = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->n : 1;
    const ml_Stmt **all = ML_ARRAY(cx, const ml_Stmt *, n + 1);

    for (size_t k = 0, at = 0; k <= n; k++) {
        if (k == pos)
            all[at++] = nest;
        if (k < n)
            all[at++] = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->stmts[k] : body;
    }
    body = ml_seq(cx, all, n + 1);
    if (st->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(st);

        f.body = body;
        ml_call_replace(c, node, ml_for_from(cx, &f));
    } else {
        ml_Block b = *ml_as_block(st);

        b.body = body;
        ml_call_replace(c, node, ml_block_from(cx, &b));
    }
    add_alloc(c, scope, alloc);
}
