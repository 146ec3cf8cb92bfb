/*
 * set_scope - move a buffer that a block writes to another storage scope.
 *
 * The buffer becomes <name>_<scope> everywhere below the block that allocates it; views of
 * it change scope and name with it. Source: primitives 11, set_scope.
 */
#include "primitives/rewrite/cache.h"
#include "primitives/rewrite/move.h"

enum { BLOCK, BUFFER, SCOPE };

static bool set_scope(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, c->args[BLOCK].uid);
    const ml_Buffer *buf = b->writes[c->args[BUFFER].i].buffer;
    ml_Scope scope = ml_scope(c->args[SCOPE].s);
    bool is_match = false;

    if (!ml_check_scope(c, scope.name))
        return false;
    if (ml_scope_eq(scope, buf->scope))
        return true;
    ml_Uid site = ml_buffer_site(c->p, c->func, buf, &is_match);

    if (!site || is_match)
        return ml_fail(cx, ML_E_BUFFER_NOT_ALLOCATED, ML_BUFFER(buf), ML_BLOCK(b));

    const ml_Buffer *moved = ml_buffer_in_scope(cx, buf, scope);
    ml_Subst sub = {0};
    ml_UidVec readers = {0};
    bool ask = c->checks && !c->unchecked;

    if (ask)
        ml_readers(cx, c->facts, c->p, site, buf, &readers);
    ml_keep_unbroken(c, &readers);

    ml_subst_buffer(cx, &sub, buf, moved);
    const ml_Stmt *st = ml_views_follow(
        cx, ml_stmt_subst(cx, ml_index_node(c->p.index, site), &sub), moved);

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, site, st);

    /* What threads shared they may have each for themselves now, or the other way round. */
    ml_UidVec writers = {0};

    if (!ml_check_still_covered(c, &readers))
        return false;
    ml_writers(cx, c->facts, c->p, ml_index_scope(c->p.index, b->tag), moved, &writers);
    for (size_t k = 0; k < writers.n && ask; k++)
        if (!ml_check_concurrency(c, writers.v[k]))
            return false;
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
    .help = "The buffer, allocated by a block of the program, becomes <name>_<scope> "
            "everywhere.",
    .params = params,
    .n_params = ML_COUNT(params),
    .result = ML_R_NONE,
    .apply = set_scope,
    .errors = (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BAD_STORAGE_SCOPE,
                                     ML_E_BUFFER_NOT_ALLOCATED, ML_E_NOT_REGION_COVERED,
                                     ML_E_ITER_NOT_PARALLEL, ML_E_UNSOUND, ML_E_OK},
    .cases = "set_scope",
};
