/*
 * set_scope - move a buffer that a block writes to another storage scope.
 *
 * The buffer becomes <name>_<scope> everywhere below the block that allocates it; views of
 * it change scope and name with it. Source: primitives 11, set_scope.
 */
#include "primitives/prim.h"

enum { BLOCK, BUFFER, SCOPE };

typedef struct Views {
    ml_Ctx *cx;
    const char *scope;
    ml_Subst sub;
    ml_Map *moved; /* uids of the buffer and its views */
    bool grew;
} Views;

static const ml_Buffer *in_scope(ml_Ctx *cx, const ml_Buffer *b, const char *scope)
{
    ml_Buffer nb = *b;

    nb.scope = scope;
    nb.name = ml_format(cx, "%s_%s", b->name, scope);
    return ml_buffer_from(cx, &nb, true);
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
            ml_subst_buffer(v->cx, &v->sub, m->target, in_scope(v->cx, m->target, v->scope));
            v->grew = true;
        }
    }
    return true;
}

static bool set_scope(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[BLOCK].uid);
    const ml_Buffer *buf = b->writes[c->args[BUFFER].i].buffer;
    const char *scope = c->args[SCOPE].s;
    ml_Scope parsed;
    bool is_match = false;

    if (!ml_scope_parse(scope, &parsed))
        return ml_fail(cx, ML_E_BAD_STORAGE_SCOPE, ML_TEXT(scope));
    if (ml_streq(scope, buf->scope))
        return true;
    ml_Uid site = ml_buffer_site(c->p, c->func, buf, &is_match);

    if (!site || is_match)
        return ml_fail(cx, ML_E_BUFFER_NOT_ALLOCATED, ML_BUFFER(buf), ML_BLOCK(b));

    Views v = {.cx = cx, .scope = scope, .moved = ml_map_new(cx), .grew = true};
    const ml_Stmt *root = ml_index_node(c->p.index, site);

    ml_map_set(cx, v.moved, buf->uid, buf);
    ml_subst_buffer(cx, &v.sub, buf, in_scope(cx, buf, scope));
    while (v.grew) {
        v.grew = false;
        ml_stmt_visit(root, collect_views, &v);
    }
    const ml_Stmt *st = ml_stmt_subst(cx, root, &v.sub);

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, site, st);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that writes the buffer"),
    ML_PARAM_ATTR("buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "global, shared, local, ..."),
};

const ml_Primitive ml_prim_set_scope = {
    .name = "set_scope",
    .kind = "SetScope",
    .group = "storage",
    .summary = "move a buffer to another storage scope",
    .help = "The buffer, allocated by a block of the program, becomes <name>_<scope> everywhere.",
    .params = params,
    .n_params = ML_COUNT(params),
    .result = ML_R_NONE,
    .apply = set_scope,
    .errors = (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BAD_STORAGE_SCOPE,
                                     ML_E_BUFFER_NOT_ALLOCATED, ML_E_OK},
    .cases = "set_scope",
};
