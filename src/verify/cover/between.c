/*
 * between - what is read outside of the blocks of a scope, on the way to them: in bounds of
 * loops, in conditions, and in the guards and bindings of the blocks themselves.
 *
 * No signature says so; what must keep its order with the writers of such a buffer can only
 * leave everything where it is. Source: ir-and-analysis 2.1, primitives 2.2.
 */
#include "moonloop/verify/facts.h"

typedef struct Between {
    ml_Ctx *cx;
    const ml_Stmt *top;
    ML_VEC(const ml_Buffer *) loaded;
} Between;

static bool add_load(const ml_Expr *e, void *user)
{
    Between *b = user;

    if (e->kind == ML_EXPR_LOAD)
        ml_push(b->cx, &b->loaded, e->as.buffer);
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static void look_expr(const ml_Expr *e, ml_Role role, void *user)
{
    if (role != ML_ROLE_REGION && (e->flags & ML_X_HAS_LOAD))
        ml_expr_visit(e, add_load, user);
}

static bool look(const ml_Stmt *s, void *user)
{
    Between *b = user;

    if (s == b->top) /* its own bounds or bindings are read before all that is in it */
        return true;
    ml_stmt_exprs(s, look_expr, b);
    return s->kind != ML_STMT_BLOCK;
}

const ml_Buffer *ml_read_between(ml_Ctx *cx, ml_Program p, const ml_Stmt *st,
                                 const ml_Buffer *only, const ml_Block **writer)
{
    Between b = {.cx = cx, .top = st};
    ml_StmtVec blocks = {0};
    ml_Uid scope = st->kind == ML_STMT_BLOCK ? ml_as_block(st)->tag
                                             : ml_index_scope(p.index, ml_stmt_uid(st));

    ml_stmt_visit(st, look, &b);
    if (b.loaded.n == 0)
        return NULL;
    ml_child_blocks(cx, st, &blocks);
    for (size_t k = 0; k < b.loaded.n; k++) {
        const ml_Buffer *buf = ml_canonical_buffer(p, scope, b.loaded.v[k]);

        if (only && buf->uid != ml_canonical_buffer(p, scope, only)->uid)
            continue;
        for (size_t m = 0; m < blocks.n; m++)
            if (ml_block_writes(p, scope, ml_as_block(blocks.v[m]), buf)) {
                *writer = ml_as_block(blocks.v[m]);
                return buf;
            }
    }
    return NULL;
}
