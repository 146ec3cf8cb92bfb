/*
 * execution_scope - blocks that a whole warp executes, and blocks that ask for a number of
 * threads. Source: ir-and-analysis 5.3, rule 16.
 */
#include "moonloop/verify/program/threads.h"

#include "moonloop/core/shown.h"

#include <inttypes.h>

static bool warp_op(const ml_Expr *e, void *user)
{
    static const char *const NAMES[] = {
        "tvm_load_matrix_sync",
        "tvm_store_matrix_sync",
        "tvm_mma_sync",
        "tvm_bmma_sync",
        "tvm_fill_fragment",
        "mma_store",
        "mma_fill",
        "tvm_warp_shuffle",
        "tvm_warp_activemask",
        "ptx_mma",
        "ptx_ldmatrix",
        "ptx_wmma",
    };
    bool *found = user;

    if (e->kind == ML_EXPR_CALL)
        for (size_t k = 0; k < ML_COUNT(NAMES); k++)
            *found |= strncmp(e->as.op->name, NAMES[k], strlen(NAMES[k])) == 0;
    return !*found && (e->flags & ML_X_HAS_CALL);
}

/* Its own statements, not those of blocks inside. */
static void warp_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    if (s->kind == ML_STMT_BLOCK)
        return;
    ml_stmt_visit_exprs(s, 1u << ML_ROLE_VALUE, warp_op, user);
    ml_stmt_children(s, warp_stmt, user);
}

static bool is_warp_block(const ml_Block *b)
{
    const ml_Value *v = ml_dict_get(b->annotations, "warp_execution");
    bool found = false;

    if (v && !((v->kind == ML_VAL_BOOL || v->kind == ML_VAL_INT) && v->as.i == 0))
        return true;
    ml_stmt_children(&b->base, warp_stmt, &found);
    return found;
}

static void bad_scope(ml_ThreadCheck *t, const ml_Block *b, const ml_For *f,
                      const char *text)
{
    if (f)
        ml_find(&t->find, ML_SEV_ERROR, ML_E_EXECUTION_SCOPE, ML_TEXT(text), ML_BLOCK(b),
                ML_LOOP(f));
    else
        ml_find(&t->find, ML_SEV_ERROR, ML_E_EXECUTION_SCOPE, ML_TEXT(text), ML_BLOCK(b));
}

typedef struct Lanes {
    ml_ThreadCheck *t;
    const ml_Block *b;
    int64_t warp;
} Lanes;

static void check_lanes(const Lanes *l, const ml_For *f)
{
    if (ml_is_thread(f->thread, ML_AXIS_THREAD, ML_DIM_X) && !ml_is_int(f->extent, l->warp))
        bad_scope(
            l->t, l->b, f,
            ml_format(
                l->t->cx,
                "block %s is executed by one warp, but loop %s binds threadIdx.x with "
                "extent %s, not %" PRId64,
                ml_shown(l->t->cx, l->b), ml_shown(l->t->cx, f->var),
                ml_expr_text(l->t->cx, f->extent), l->warp));
}

static bool lanes_inside(const ml_Stmt *s, void *user)
{
    if (s->kind == ML_STMT_FOR)
        check_lanes(user, ml_as_for(s));
    return s->has_loop;
}

static void check_warp(ml_ThreadCheck *t, const ml_Block *b)
{
    Lanes l = {t, b, ml_target_limit(t->target, ML_LIMIT_thread_warp_size)};

    ml_stmt_visit(b->body, lanes_inside, &l);
    for (ml_Uid u = ml_index_parent(t->p.index, b->tag); u;
         u = ml_index_parent(t->p.index, u)) {
        const ml_Stmt *s = ml_index_node(t->p.index, u);
        const ml_For *f = s->kind == ML_STMT_FOR ? ml_as_for(s) : NULL;
        bool used;

        if (!f || !ml_is_thread(f->thread, ML_AXIS_THREAD, ML_DIM_X))
            continue;
        check_lanes(&l, f);
        used = ml_expr_uses_var(b->predicate, f->var);
        for (size_t k = 0; k < b->n_iters; k++)
            used |= ml_expr_uses_var(b->iters[k].value, f->var);
        if (used)
            bad_scope(t, b, f,
                      ml_format(t->cx,
                                "block %s is executed by one warp, but its binding uses "
                                "threadIdx.x (loop %s)",
                                ml_shown(t->cx, b), ml_shown(t->cx, f->var)));
    }
}

static bool in_warp_block(ml_ThreadCheck *t, const ml_Block *b)
{
    for (ml_Uid u = b->tag; u; u = ml_index_parent(t->p.index, u)) {
        const ml_Stmt *s = ml_index_node(t->p.index, u);

        if (s->kind == ML_STMT_BLOCK && is_warp_block(ml_as_block(s)))
            return true;
    }
    return false;
}

static const ml_Buffer *fragment(const ml_Buffer *b)
{
    return ml_scope_is_fragment(b->scope) ? b : NULL;
}

/* Fragments belong to warp-level blocks; a block of blocks only names them. */
static void check_fragments(ml_ThreadCheck *t, const ml_Block *b)
{
    const ml_Buffer *used = NULL;

    for (size_t k = 0; k < b->n_reads && !used; k++)
        used = fragment(b->reads[k].buffer);
    for (size_t k = 0; k < b->n_writes && !used; k++)
        used = fragment(b->writes[k].buffer);
    if (used && !b->body->has_block && !in_warp_block(t, b))
        bad_scope(t, b, NULL,
                  ml_format(t->cx,
                            "block %s accesses %s (%s), but is not executed by a warp",
                            ml_shown(t->cx, b), ml_shown(t->cx, used), used->scope.name));
}

/* -1: it does not say. */
static int64_t annotated(const ml_Block *b, const char *key)
{
    const ml_Value *v = ml_dict_get(b->annotations, key);

    return v && v->kind == ML_VAL_INT ? v->as.i : -1;
}

static void check_thread_count(ml_ThreadCheck *t, const ml_Block *b, bool warp)
{
    int64_t lo = annotated(b, "meta_schedule.thread_extent_low_inclusive");
    int64_t hi = annotated(b, "meta_schedule.thread_extent_high_inclusive");
    int64_t around = 1, axis[3] = {1, 1, 1};

    if (lo < 0 && hi < 0)
        return;
    for (ml_Uid u = ml_index_parent(t->p.index, b->tag); u;
         u = ml_index_parent(t->p.index, u)) {
        const ml_Stmt *s = ml_index_node(t->p.index, u);

        const ml_For *f = s->kind == ML_STMT_FOR ? ml_as_for(s) : NULL;

        if (f && f->thread.axis == ML_AXIS_THREAD && f->thread.dim <= ML_DIM_Z &&
            ml_literal_extent(f->extent) > 0)
            axis[f->thread.dim] = ml_literal_extent(f->extent);
    }
    if (warp)
        axis[0] = ml_target_limit(t->target, ML_LIMIT_thread_warp_size);
    for (size_t k = 0; k < 3; k++)
        if (__builtin_mul_overflow(around, axis[k], &around))
            around = INT64_MAX;
    if ((lo >= 0 && around < lo) || (hi >= 0 && around > hi))
        bad_scope(t, b, NULL,
                  ml_format(t->cx,
                            "block %s is executed by %" PRId64
                            " threads; it asks for %" PRId64 " to %" PRId64,
                            ml_shown(t->cx, b), around, lo, hi));
}

void ml_check_execution_scope(ml_ThreadCheck *t, const ml_Block *b)
{
    bool warp = is_warp_block(b);

    if (warp)
        check_warp(t, b);
    check_fragments(t, b);
    check_thread_count(t, b, warp);
}
