/*
 * set_scope - move a buffer that a block writes to another storage scope.
 *
 * The buffer becomes <name>_<scope> everywhere below the block that allocates it; views of
 * it change scope and name with it. Source: primitives 11, set_scope.
 */
#include "moonloop/primitives/rewrite/cache.h"
#include "moonloop/primitives/rewrite/move.h"

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
        return ml_fail_not_allocated(c, buf, b);

    const ml_Buffer *moved = ml_buffer_in_scope(cx, buf, scope);
    ml_Subst sub = {0};
    ml_UidVec readers = {0}, writers = {0};

    if (ml_call_asks(c, ML_STRICT))
        ml_readers(cx, c->facts, c->p, site, buf, &readers);
    ml_keep_unbroken(c, &readers);

    ml_subst_buffer(cx, &sub, buf, moved);
    const ml_Stmt *st = ml_views_follow(
        cx, ml_stmt_subst(cx, ml_index_node(c->p.index, site), &sub), moved, true);

    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, site, st);
    ml_call_subjects(c, ML_READER_OF, &readers, NULL);
    if (ml_call_asks(c, ML_STRICT))
        ml_writers(cx, c->facts, c->p, ml_index_scope(c->p.index, b->tag), moved, &writers);
    ml_call_subjects(c, ML_BLOCK_OF, &writers, NULL);
    return true;
}

static const ml_Post posts[] = {
    /* What threads shared they may have each for themselves now, or the other way round. */
    {ML_STRICT, ML_READER_OF, ml_check_thread_reader, NULL},
    {ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that writes the buffer"),
    ML_PARAM_ATTR("buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "global, shared, local, ..."),
};

const ml_Primitive ml_prim_set_scope = {
    ML_PRIM(set_scope, "SetScope"),
    .group = "storage",
    .summary = "move a buffer to another storage scope",
    .help = "The buffer, allocated by a block of the program, becomes <name>_<scope> "
            "everywhere.",
    ML_PARAMS(params),
    .result = ML_R_NONE,
    .posts = posts,
    .errors = (const ml_ErrorCode[]){ML_E_BUFFER_INDEX, ML_E_BAD_STORAGE_SCOPE,
                                     ML_E_BUFFER_NOT_ALLOCATED, ML_E_NOT_REGION_COVERED,
                                     ML_E_ITER_NOT_PARALLEL, ML_E_NOT_SHARED, ML_E_OK},
};
