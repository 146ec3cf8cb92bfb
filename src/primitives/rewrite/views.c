/*
 * views - the match_buffer targets of a buffer have its storage scope: when a buffer moves,
 * they move too, and views of them.
 */
#include "moonloop/primitives/prim.h"

typedef struct Views {
    ml_Ctx *cx;
    ml_Scope scope;
    ml_Subst sub;
    ml_Map *moved; /* uids of the buffer and its views */
    bool renamed, grew;
} Views;

static const ml_Buffer *in_scope(ml_Ctx *cx, const ml_Buffer *b, ml_Scope scope,
                                 bool renamed)
{
    ml_Buffer nb = *b;

    nb.scope = scope;
    if (renamed)
        nb.name = ml_format(cx, "%s_%s", b->name, scope.name);
    return ml_buffer_from(cx, &nb, true);
}

const ml_Buffer *ml_buffer_in_scope(ml_Ctx *cx, const ml_Buffer *b, ml_Scope scope)
{
    return in_scope(cx, b, scope, true);
}

/* Views of moved buffers move too; repeated until nothing is added, as views of views. */
static bool collect_views(const ml_Stmt *s, void *user)
{
    Views *v = user;

    if (s->kind != ML_STMT_BLOCK)
        return s->has_block;
    const ml_Block *b = ml_as_block(s);

    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Match *m = &b->matches[k];

        if (ml_map_has(v->moved, m->source.buffer->uid) &&
            !ml_map_has(v->moved, m->target->uid)) {
            ml_map_set(v->cx, v->moved, m->target->uid, m->target);
            if (!ml_scope_eq(m->target->scope, v->scope))
                ml_subst_buffer(v->cx, &v->sub, m->target,
                                in_scope(v->cx, m->target, v->scope, v->renamed));
            v->grew = true;
        }
    }
    return b->base.n_blocks > 1 || (b->init && b->init->has_block);
}

const ml_Stmt *ml_views_follow(ml_Ctx *cx, const ml_Stmt *root, const ml_Buffer *buf,
                               bool renamed)
{
    Views v = {.cx = cx,
               .scope = buf->scope,
               .moved = ml_map_new(cx),
               .renamed = renamed,
               .grew = true};

    ml_map_set(cx, v.moved, buf->uid, buf);
    while (v.grew) {
        v.grew = false;
        ml_stmt_visit(root, collect_views, &v);
    }
    return ml_stmt_subst(cx, root, &v.sub);
}
