/*
 * kinds - complete blocks, reduction blocks, and what a subtree needs to run concurrently.
 *
 * Conditions are tested in order; the first violated number is reported, with its reason.
 * Source: ir-and-analysis 2.3, primitives 2.2 and 6.
 */
#include "moonloop/verify/facts.h"

#include "moonloop/core/shown.h"

/* ---- dominance */

static const ml_Buffer *shared_write(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid scope,
                                     const ml_Block *b, const char **why)
{
    for (size_t k = 0; k < b->n_writes; k++) {
        const ml_Buffer *buf = ml_canonical_buffer(p, scope, b->writes[k].buffer);
        ml_BlockVec users = {0};

        ml_scope_users(cx, f, p, scope, &buf, 1, &users);
        for (size_t m = 0; m < users.n; m++)
            if (users.v[m] != b && ml_block_writes(p, scope, users.v[m], buf)) {
                if (why)
                    *why = ml_format(cx, "block %s writes %s too", ml_shown(cx, users.v[m]),
                                     ml_shown(cx, buf));
                return buf;
            }
    }
    return NULL;
}

/* Within a subtree: other writers under its root, of which some element is written in
 * different iterations for sure (that they are apart is asked for separately). */
static bool meets_other_writer(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_Block *b,
                               ml_Uid root, const char **why)
{
    ml_Uid scope = ml_index_scope(p.index, b->tag);
    const ml_Stmt *node = ml_index_node(p.index, root);

    if (node->kind == ML_STMT_FOR && node->n_blocks == 1)
        return false; /* b is alone there */
    for (size_t k = 0; k < b->n_writes; k++) {
        const ml_Buffer *buf = ml_canonical_buffer(p, scope, b->writes[k].buffer);
        ml_BlockVec users = {0};

        ml_scope_users(cx, f, p, scope, &buf, 1, &users);
        for (size_t m = 0; m < users.n; m++) {
            if (users.v[m] == b || !ml_index_is_above(p.index, root, users.v[m]->tag) ||
                !ml_block_writes(p, scope, users.v[m], buf))
                continue;
            if (node->kind == ML_STMT_FOR &&
                (ml_buffer_is_private(cx, f, p, root, b->writes[k].buffer) ||
                 !ml_writes_meet(cx, p, root, b, users.v[m], b->writes[k].buffer)))
                continue;
            if (why)
                *why = ml_format(cx,
                                 "block %s writes elements of %s that it writes in "
                                 "another iteration",
                                 ml_shown(cx, users.v[m]), ml_shown(cx, buf));
            return true;
        }
    }
    return false;
}

/* ---- complete */

/* root: the loop whose iterations alone count; 0: all instances. */
static int complete_rest(ml_Ctx *cx, ml_Program p, const ml_Block *b, ml_Uid root,
                         const char **why)
{
    ml_GoesOn g;

    for (size_t k = 0; k < b->n_reads; k++)
        for (size_t m = 0; m < b->n_writes; m++)
            if (b->reads[k].buffer->uid == b->writes[m].buffer->uid) {
                if (why)
                    *why = ml_format(cx, "it both reads and writes %s",
                                     ml_shown(cx, b->reads[k].buffer));
                return 3;
            }
    if (root ? !ml_goes_on_over(cx, p, b, root, &g)
             : !ml_goes_on(cx, p, b, false, b->tag, &g))
        return 0;
    if (why)
        *why = ml_format(cx,
                         g.by ? "block %s inside goes on accumulating from one instance "
                                "of it to the next"
                              : "block %s inside goes on accumulating what is there",
                         ml_shown(cx, g.block));
    return 3;
}

static int not_spatial(ml_Ctx *cx, const ml_Block *b, const char **why)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind != ML_ITER_SPATIAL) {
            if (why)
                *why = ml_format(cx, "iter %s is %s", b->iters[k].var->hint,
                                 ml_iter_kind_name((ml_IterKind)b->iters[k].kind));
            return 1;
        }
    return 0;
}

static const ml_Block *block_at(ml_Program p, ml_Uid block)
{
    return ml_as_block(ml_index_node(p.index, block));
}

int ml_complete_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                          const char **why)
{
    const ml_Block *b = block_at(p, block);

    if (not_spatial(cx, b, why))
        return 1;
    if (shared_write(cx, f, p, ml_index_scope(p.index, block), b, why))
        return 2;
    return complete_rest(cx, p, b, 0, why);
}

int ml_local_complete_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                                ml_Uid root, const char **why)
{
    const ml_Block *b = block_at(p, block);

    if (not_spatial(cx, b, why))
        return 1;
    if (meets_other_writer(cx, f, p, b, root, why))
        return 2;
    return complete_rest(cx, p, b, root, why);
}

/* ---- reduction: condition 5 */

typedef struct Stores {
    ml_Ctx *cx;
    const ml_Block *block;
    ml_Map *tainted; /* variables that a reduce iter reaches */
    ml_Map *views;   /* buffers that stand for a written one; value: has a tainted source */
    ml_Map *inner;   /* buffers allocated inside */
    const ml_Buffer *at_reduce, *undeclared;
} Stores;

static bool mentions(const ml_Expr *e, void *user)
{
    Stores *s = user;

    if (e->kind == ML_EXPR_VAR && ml_map_has(s->tainted, e->as.var->uid))
        s->at_reduce =
            s->at_reduce ? s->at_reduce : (const ml_Buffer *)(const void *)s->block;
    return !s->at_reduce;
}

/* Whether e mentions a tainted variable. */
static bool is_tainted(Stores *s, const ml_Expr *e)
{
    const ml_Buffer *was = s->at_reduce;
    bool yes;

    s->at_reduce = NULL;
    ml_expr_visit(e, mentions, s);
    yes = s->at_reduce != NULL;
    s->at_reduce = was;
    return yes;
}

static const char CLEAN, DIRTY;

static void see_views(Stores *s, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_allocs; k++)
        ml_map_set(s->cx, s->inner, b->allocs[k]->uid, b);
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Region *src = &b->matches[k].source;
        ml_Uid to = b->matches[k].target->uid;
        bool dirty = ml_map_get(s->views, src->buffer->uid) == &DIRTY;

        for (size_t d = 0; d < src->buffer->rank; d++)
            dirty |= is_tainted(s, src->ranges[d].min);
        if (ml_map_has(s->views, src->buffer->uid))
            ml_map_set(s->cx, s->views, to, dirty ? &DIRTY : &CLEAN);
        else if (ml_map_has(s->inner, src->buffer->uid))
            ml_map_set(s->cx, s->inner, to, b);
    }
}

static bool see_stmt(const ml_Stmt *st, void *user)
{
    Stores *s = user;

    if (st->kind == ML_STMT_BLOCK && st != &s->block->base) {
        const ml_Block *b = ml_as_block(st);

        for (size_t k = 0; k < b->n_iters; k++)
            if (is_tainted(s, b->iters[k].value))
                ml_map_set(s->cx, s->tainted, b->iters[k].var->uid, b);
        see_views(s, b);
    }
    if (st->kind == ML_STMT_BIND && is_tainted(s, ml_as_bind(st)->value))
        ml_map_set(s->cx, s->tainted, ml_as_bind(st)->var->uid, st);
    if (st->kind == ML_STMT_ALLOC || st->kind == ML_STMT_DECL)
        ml_map_set(s->cx, s->inner, ml_as_alloc(st)->buffer->uid, st);
    if (st->kind != ML_STMT_STORE)
        return true;
    const ml_Store *w = ml_as_store(st);
    const void *view = ml_map_get(s->views, w->buffer->uid);

    if (!view) {
        if (!ml_map_has(s->inner, w->buffer->uid) && !s->undeclared)
            s->undeclared = w->buffer;
        return true;
    }
    bool bad = view == &DIRTY;

    for (size_t k = 0; k < w->n; k++)
        bad |= is_tainted(s, w->indices[k]);
    if (bad && !s->at_reduce)
        s->at_reduce = w->buffer;
    return true;
}

/* 0 or 5. undeclared (may be NULL): the buffer stored to that is not among the writes. */
static int stores_violation(ml_Ctx *cx, const ml_Block *b, const char **why,
                            const ml_Buffer **undeclared)
{
    Stores s = {.cx = cx, .block = b};

    s.tainted = ml_map_new(cx);
    s.views = ml_map_new(cx);
    s.inner = ml_map_new(cx);
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == ML_ITER_REDUCE)
            ml_map_set(cx, s.tainted, b->iters[k].var->uid, b);
    for (size_t k = 0; k < b->n_writes; k++)
        ml_map_set(cx, s.views, b->writes[k].buffer->uid, &CLEAN);
    see_views(&s, b);
    ml_stmt_visit(b->body, see_stmt, &s);
    if (undeclared)
        *undeclared = s.undeclared;
    if (s.undeclared) {
        if (why)
            *why = ml_format(cx, "it stores to %s, which is not among its writes",
                             ml_shown(cx, s.undeclared));
        return 5;
    }
    if (s.at_reduce) {
        if (why)
            *why = ml_format(cx, "an index of a store to %s uses a reduce iter",
                             ml_shown(cx, s.at_reduce));
        return 5;
    }
    return 0;
}

static int reduction_first(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_Block *b,
                           const char **why)
{
    const char *affine = NULL;

    if (!b->init) {
        if (why)
            *why = "it has no init";
        return 1;
    }
    if (!ml_is_affine(cx, f, p, b->tag, why ? &affine : NULL) &&
        !ml_is_affine_apart(cx, p, b->tag)) {
        if (why)
            *why = ml_format(cx, "its binding is not affine: %s", affine ? affine : "?");
        return 2;
    }
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind != ML_ITER_SPATIAL && b->iters[k].kind != ML_ITER_REDUCE) {
            if (why)
                *why = ml_format(cx, "iter %s is %s", b->iters[k].var->hint,
                                 ml_iter_kind_name((ml_IterKind)b->iters[k].kind));
            return 3;
        }
    return 0;
}

int ml_reduction_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                           const char **why)
{
    const ml_Block *b = block_at(p, block);
    int v = reduction_first(cx, f, p, b, why);

    if (v)
        return v;
    if (shared_write(cx, f, p, ml_index_scope(p.index, block), b, why)) {
        if (why)
            *why = ml_format(cx, "4%s", *why + 1);
        return 4;
    }
    return stores_violation(cx, b, why, NULL);
}

static int local_reduction_violation(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                                     ml_Uid root, const char **why)
{
    const ml_Block *b = block_at(p, block);
    int v = reduction_first(cx, f, p, b, why);

    if (v)
        return v;
    if (meets_other_writer(cx, f, p, b, root, why)) {
        if (why)
            *why = ml_format(cx, "4%s", *why + 1);
        return 4;
    }
    return stores_violation(cx, b, why, NULL);
}

/* ---- as requirements */

bool ml_need_complete(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block)
{
    const char *why = NULL;

    if (ml_complete_violation(cx, f, p, block, NULL) == 0)
        return true;
    ml_complete_violation(cx, f, p, block, &why);
    return ml_fail(cx, ML_E_NOT_COMPLETE, ML_BLOCK_UID(block), ML_TEXT(why));
}

bool ml_need_reduction(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block)
{
    const char *why = NULL;

    const ml_Buffer *undeclared = NULL;
    int violation = ml_reduction_violation(cx, f, p, block, NULL);

    if (violation == 0)
        return true;
    if (violation == 5 && stores_violation(cx, block_at(p, block), NULL, &undeclared) &&
        undeclared)
        return ml_fail(cx, ML_E_UNDECLARED_WRITE, ML_BLOCK_UID(block),
                       ML_BUFFER(undeclared));
    ml_reduction_violation(cx, f, p, block, &why);
    return ml_fail(cx, ML_E_NOT_REDUCTION, ML_BLOCK_UID(block), ML_TEXT(why));
}

bool ml_need_complete_or_reduction(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block)
{
    const char *a = NULL, *b = NULL;

    if (ml_complete_violation(cx, f, p, block, NULL) == 0 ||
        ml_reduction_violation(cx, f, p, block, NULL) == 0)
        return true;
    ml_complete_violation(cx, f, p, block, &a);
    ml_reduction_violation(cx, f, p, block, &b);
    return ml_fail(cx, ML_E_NOT_COMPLETE_OR_REDUCTION, ML_BLOCK_UID(block), ML_TEXT(a),
                   ML_TEXT(b));
}

/* ---- concurrency */

bool ml_loop_drives(const ml_Block *b, const ml_For *loop, ml_IterKind kind)
{
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind == kind && ml_expr_uses_var(b->iters[k].value, loop->var))
            return true;
    return false;
}

/* The loop drives spatial iters only, of a decomposed update, which touches what it
 * accumulates into at one and the same element, or of a scan: an opaque iter keeps its order
 * inside of each iteration. That iterations touch different elements is asked apart. */
static bool is_update(const ml_Block *b, const ml_For *loop)
{
    bool accumulates = false, scans = false;

    if (b->init || ml_loop_drives(b, loop, ML_ITER_REDUCE) ||
        ml_loop_drives(b, loop, ML_ITER_ORDERED) || ml_loop_drives(b, loop, ML_ITER_OPAQUE))
        return false;
    for (size_t k = 0; k < b->n_iters; k++)
        scans |= b->iters[k].kind == ML_ITER_OPAQUE;
    for (size_t k = 0; k < b->n_reads; k++)
        for (size_t m = 0; m < b->n_writes; m++)
            if (b->reads[k].buffer->uid == b->writes[m].buffer->uid) {
                if (!scans && !ml_same_ranges(b->reads[k].ranges, b->writes[m].ranges,
                                              b->reads[k].buffer->rank))
                    return false;
                accumulates = true;
            }
    return accumulates;
}

static bool need_disjoint(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_For *loop,
                          const ml_Block *b, const ml_Buffer *buf)
{
    if (ml_accesses_disjoint(cx, f, p, loop->var->uid, buf))
        return true;
    return ml_unproved(cx, ML_E_WOULD_RACE,
                       "different iterations of loop {0} touch different elements of {1}, "
                       "which block {2} writes",
                       ML_LOOP(loop), ML_BUFFER(buf), ML_BLOCK(b));
}

/* What only later blocks write it reads of another iteration, though each has its own. */
static bool need_written_before(ml_Ctx *cx, ml_Facts *f, ml_Program p, const ml_For *loop,
                                const ml_Block *b)
{
    for (size_t k = 0; k < b->n_reads; k++) {
        const ml_Buffer *buf = b->reads[k].buffer;
        ml_Uid later = ml_writes_for_later(cx, f, p, loop->var->uid, b->tag, buf);

        if (later && !need_disjoint(cx, f, p, loop, block_at(p, later), buf))
            return false;
    }
    return true;
}

enum { FEW_BLOCKS = 16 };

/* A later one of the blocks writes what block k reads; with many, or with views: perhaps. */
static bool may_be_early(ml_Program p, const ml_StmtVec *blocks, size_t k)
{
    const ml_Block *b = ml_as_block(blocks->v[k]);

    if (k + 1 < blocks->n &&
        (blocks->n - k > FEW_BLOCKS || ml_has_views(p, ml_index_scope(p.index, b->tag))))
        return true;
    while (++k < blocks->n) {
        const ml_Block *later = ml_as_block(blocks->v[k]);

        for (size_t w = 0; w < later->n_writes; w++)
            if (ml_read_of(b, later->writes[w].buffer))
                return true;
    }
    return false;
}

bool ml_need_compact_dataflow(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid root)
{
    const ml_For *loop = ml_as_for(ml_index_node(p.index, root));
    ml_StmtVec blocks = {0};
    ml_UidVec from = {0};

    ml_child_blocks(cx, &loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++) {
        const ml_Block *b = ml_as_block(blocks.v[k]);
        const char *complete = NULL, *reduction = NULL;

        if (!is_update(b, loop) &&
            ml_local_complete_violation(cx, f, p, b->tag, root, &complete) != 0 &&
            local_reduction_violation(cx, f, p, b->tag, root, &reduction) != 0)
            return ml_fail(cx, ML_E_NOT_COMPACT_DATAFLOW, ML_BLOCK(b), ML_LOOP(loop),
                           ML_TEXT(complete), ML_TEXT(reduction));
        if (ml_is_int(loop->extent, 1))
            continue;
        if (may_be_early(p, &blocks, k) && !need_written_before(cx, f, p, loop, b))
            return false;
        /* Threads that reduce together meet by design. */
        if (ml_loop_drives(b, loop, ML_ITER_REDUCE))
            continue;
        for (size_t m = 0; m < b->n_writes; m++)
            if (!ml_buffer_is_private(cx, f, p, root, b->writes[m].buffer) &&
                !need_disjoint(cx, f, p, loop, b, b->writes[m].buffer))
                return false;
        /* What it reads of its own iteration's work must be all there. */
        from.n = 0;
        ml_producers(cx, f, p, b->tag, &from);
        for (size_t m = 0; m < from.n; m++)
            if (ml_index_is_above(p.index, root, from.v[m])) {
                if (!ml_is_covered(cx, f, p, b->tag, true))
                    return false;
                break;
            }
    }
    return true;
}
