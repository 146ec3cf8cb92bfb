/*
 * reindex - give an operand of a block a buffer of its own, indexed by the block's iters.
 *
 * A read operand is copied before the block's statement, what it writes is copied back
 * after it. The copy runs over the whole domains of the iters that the indices use: what
 * it reads must be there, what it writes back must have been written, and be one element
 * each. Source: primitives 8, reindex.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/same_index.h"

enum { BLOCK, BUFFER };

typedef struct Reindex {
    ml_Call *c;
    const ml_Block *block;
    const ml_Buffer *old, *own;
    bool write;
    const ml_Expr **index; /* simplified, unless to a number */
    const ml_Expr *guard;  /* under which they lie in the buffer; read */
    ml_IterList iters;     /* U: those that the indices use */
    ml_Uid nest;
} Reindex;

static bool no_access(Reindex *r, const char *why)
{
    return ml_fail(r->c->cx, ML_E_REINDEX_ACCESS, ML_BUFFER(r->old), ML_BLOCK(r->block),
                   ML_TEXT(why));
}

static bool find_index(Reindex *r)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Block *b = r->block;
    ml_AccessIndex s = ml_access_index(cx, b, r->old);
    ml_Arith *ar = ml_arith_at(cx, r->c->p, b->tag);
    const ml_Var *other = NULL;
    size_t rank = r->old->rank;

    if (s.why)
        return no_access(r, s.why);
    if (!s.loads && !s.stores)
        return no_access(r, "it is not accessed there by a load or store");
    if (!r->write && s.stores)
        return no_access(r, "it is written too; its write side can be reindexed");
    ml_arith_bind_iters(ar, b);
    r->index = ML_ARRAY(cx, const ml_Expr *, rank + 1);
    for (size_t d = 0; d < rank; d++) {
        r->index[d] = ml_simplify(ar, s.index[d]);
        /* An iter of extent 1 keeps its dimension: index maps name them all. */
        if (ml_is_const_int(r->index[d]))
            r->index[d] = s.index[d];
        if ((r->index[d]->flags & ML_X_EFFECT) != 0 ||
            ((r->index[d]->flags & ML_X_HAS_LOAD) != 0 && r->write))
            return no_access(r, "its indices depend on what is in memory");
    }
    ml_iters_used(cx, b, r->index, rank, &r->iters);
    if (ml_uses_other_var(r->c, b, r->index, rank, &other))
        return no_access(r,
                         ml_format(cx, "its indices use %s, which is no iter of the block",
                                   ml_shown(cx, other)));
    for (size_t k = 0; k < r->iters.n; k++) {
        const ml_Iter *it = &b->iters[r->iters.v[k]];
        const ml_Expr *dom[2] = {it->min, it->extent};

        if (ml_uses_other_var(r->c, b, dom, 2, &other))
            return no_access(r, ml_format(cx, "the domain of iter %s depends on loop %s",
                                          ml_shown(cx, it->var), ml_shown(cx, other)));
    }
    return true;
}

typedef struct Inside {
    ml_Arith *ar;
    bool bad; /* a load may lie outside, a division be by 0 */
} Inside;

static bool look_inside(const ml_Expr *e, void *user)
{
    Inside *w = user;
    bool ok = true;

    if (e->kind == ML_EXPR_LOAD)
        for (size_t d = 0; d < ml_load_rank(e) && ok; d++)
            ok = ml_is_true(ml_bounds_to_ask(w->ar, e->args[d], e->as.buffer->shape[d]));
    else if (ml_kind_divides(e->kind))
        ok = e->args[1]->kind == ML_EXPR_INT || ml_prove_ge(w->ar, e->args[1], 1);
    w->bad |= !ok;
    return ok;
}

/* The copy reads what the block might not, under a condition perhaps: it asks whether that
 * is in the buffer, and must be able to compute where it is. */
static bool check_read(Reindex *r)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Block *b = r->block;
    ml_Arith *ar = ml_arith_at(cx, r->c->p, b->tag);

    ml_arith_bind_iters(ar, b);
    for (size_t d = 0; d < r->old->rank; d++) {
        Inside w = {.ar = ar};

        r->guard =
            ml_and(cx, r->guard, ml_bounds_to_ask(ar, r->index[d], r->old->shape[d]));
        if (r->index[d]->flags & ML_X_HAS_LOAD)
            ml_expr_visit(r->index[d], look_inside, &w);
        if (w.bad)
            return ml_unproved(r->c->cx, ML_E_READS_BEYOND,
                               "index {0} of {1} can be computed for all iters of block "
                               "{2}: it reads memory, perhaps outside",
                               ML_NUMBER("index", d), ML_BUFFER(r->old), ML_BLOCK(b),
                               ML_BLOCK(r->block));
    }
    for (size_t d = 0; d < r->old->rank; d++) /* a gather: from what it does not write */
        for (size_t k = 0; k < b->n_writes; k++)
            if (ml_expr_uses_buffer(r->index[d], b->writes[k].buffer))
                return no_access(r, "its indices depend on what the block writes");
    return true;
}

static bool stores_all(Reindex *r)
{
    const ml_Region *w = ml_write_of(r->block, r->old);

    return w && ml_stores_region(r->c, r->block, w);
}

/* What is copied back was written, once for each element. */
static bool check_write(Reindex *r)
{
    ml_Call *c = r->c;
    const ml_Block *b = r->block;

    if (!ml_check_starts_fresh(c, b, r->old))
        return false;
    if (!stores_all(r) || !ml_covers_domains(c, b, &r->iters))
        return ml_unproved(r->c->cx, ML_E_PART_WRITTEN,
                           "block {0} writes an element for all values of its iters; what "
                           "it leaves out would be overwritten",
                           ML_BLOCK(b), ML_BLOCK(r->block), ML_BUFFER(r->old));
    if (!ml_is_injective(c, b, &r->iters, r->index, r->old->rank))
        return ml_unproved(
            r->c->cx, ML_E_WRITES_OVERLAP,
            "block {0} writes different elements of {1} for different values of its iters",
            ML_BLOCK(b), ML_BUFFER(r->old), ML_BLOCK(r->block));
    return true;
}

static const ml_Stmt *make_nest(Reindex *r)
{
    ml_Ctx *cx = r->c->cx;
    size_t n = r->iters.n;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, n + 1);
    const ml_Expr **mine = ML_ARRAY(cx, const ml_Expr *, n + 1);
    const ml_Expr **theirs = ML_ARRAY(cx, const ml_Expr *, r->old->rank + 1u);
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, n + 1);
    const ml_Buffer *own = r->own, *old = r->old;
    ml_Subst sub = {0};

    for (size_t k = 0; k < n; k++) {
        const ml_Iter *it = &r->block->iters[r->iters.v[k]];
        ml_Dtype t = it->var->type;

        loops[k] = ml_var_new(cx, ml_numbered(cx, "ax", "", k), t);
        iters[k] = (ml_Iter){.var = ml_var_new(cx, ml_numbered(cx, "v", "", k), t),
                             .min = it->min,
                             .extent = it->extent,
                             .value = ml_var(cx, loops[k]),
                             .kind = ML_ITER_SPATIAL};
        mine[k] = ml_var(cx, iters[k].var);
        ml_subst_var(cx, &sub, it->var, mine[k]);
    }
    for (size_t d = 0; d < old->rank; d++)
        theirs[d] = sub.vars ? ml_expr_subst(cx, r->index[d], &sub) : r->index[d];
    const char *name = ml_format(cx, r->write ? "%s" : "%s_reindex", own->name);
    const ml_Stmt *st =
        r->write
            ? ml_copy_block(r->c, name, iters, n, own, mine, NULL, old, theirs, &r->nest)
            : ml_copy_block(r->c, name, iters, n, old, theirs,
                            ml_expr_subst(cx, r->guard, &sub), own, mine, &r->nest);

    for (size_t k = n; st && k-- > 0;)
        st = ml_serial(cx, loops[k], iters[k].min, iters[k].extent, st);
    return st;
}

static void make_buffer(Reindex *r)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, r->iters.n + 1);
    ml_Arith *ar = ml_arith_new(cx);

    for (size_t k = 0; k < r->iters.n; k++) {
        const ml_Iter *it = &r->block->iters[r->iters.v[k]];

        shape[k] = ml_simplify(ar, ml_add(cx, it->min, it->extent));
    }
    r->own = ml_buffer_new(cx, ml_format(cx, "%s_reindex", r->old->name), r->old->type,
                           shape, r->iters.n, r->old->scope.name);
}

static bool finds_values(ml_Call *c, ml_Uid nest, const ml_Buffer *old)
{
    Reindex r = {.c = c, .block = ml_as_block(c->args[BLOCK].node), .old = old};

    return ml_still_covered(c, nest, r.block->tag, false) ||
           ml_unproved(r.c->cx, ML_E_NOT_SHARED,
                       "all values of {0} are visible where it would be copied, outside "
                       "the loops of block {1}",
                       ML_BUFFER(old), ML_BLOCK(r.block), ML_BUFFER(r.old));
}

static bool reindex(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid uid = c->args[BLOCK].uid;
    ml_StmtVec inner = {0};

    if (!ml_check_not_root(c, uid))
        return false;
    Reindex r = {.c = c,
                 .block = ml_call_block(c, uid),
                 .write = c->args[BUFFER].b,
                 .guard = ml_bool(cx, true)};
    const ml_Block *b = r.block;
    ml_Uid scope = ml_index_scope(c->p.index, uid);

    r.old = (r.write ? b->writes : b->reads)[c->args[BUFFER].i].buffer;
    if (!ml_check_pipeline(c, scope))
        return false;
    ml_child_blocks(cx, &b->base, &inner);
    if (inner.n > 0)
        return ml_fail(cx, ML_E_NOT_LEAF, ML_BLOCK(b));
    if (!find_index(&r))
        return false;
    const ml_Stmt *top = ml_only_children(c, uid);

    if (!top)
        return false;
    if (!ML_PROVE(c, ML_SOUND, !ml_is_empty_block(r.block)))
        return ml_fail_as(r.c->cx, ML_E_INSTANCES_LOST,
                          "the domain of block {0} is empty: nothing is copied",
                          ML_BLOCK(r.block), ML_BUFFER(r.old));
    if (r.write ? !ML_PROVE(c, ML_SOUND, check_write(&r)) : !check_read(&r))
        return false;
    make_buffer(&r);
    const ml_Expr **mine = ML_ARRAY(cx, const ml_Expr *, r.iters.n + 1);

    for (size_t k = 0; k < r.iters.n; k++)
        mine[k] = ml_var(cx, b->iters[r.iters.v[k]].var);
    const ml_Stmt *nest = make_nest(&r);

    if (!nest)
        return false;
    const ml_Stmt *with =
        ml_with_leaf(c, uid, &ml_with_access(cx, b, r.old, r.own, mine)->base);

    ml_put_beside(c, scope, top, r.write ? NULL : nest, with, r.write ? nest : NULL, r.own);
    ml_name_copy(c, r.nest, uid, r.old, r.write);
    ml_call_return_block(c, r.nest);
    return true;
}

static void suggest_reindex(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                            ml_Tries *t)
{
    const ml_Block *b = ml_failed_block(s, args[BLOCK].uid, e);

    if (!b)
        return;

    for (size_t k = 0; k < b->n_reads; k++)
        ml_try(t, NULL, "reindex(\"%s\", {\"read\", %zu})", ml_name_of(s, b->tag), k);
    for (size_t k = 0; k < b->n_writes; k++)
        ml_try(t, NULL, "reindex(\"%s\", {\"write\", %zu})", ml_name_of(s, b->tag), k);
}

static const ml_Post posts[] = {
    {ML_SOUND, ML_COPY_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_COPY_OF, ml_check_stays_declared, NULL},
    {ML_SOUND, ML_COPY_OF, NULL, finds_values},
    /* Whoever reads what is copied still finds it. */
    {ML_SOUND, ML_READER_OF, ml_check_covered, NULL},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that uses the buffer"),
    ML_PARAM_ATTR("buffer", ML_P_BUFFER, "which of its buffers: {\"read\", 0}, a name"),
};

const ml_Primitive ml_prim_reindex = {
    ML_PRIM(reindex, "ReIndex"),
    .group = "caching",
    .summary = "give an operand a buffer indexed by the block's iters",
    .help =
        "Makes a buffer <buf>_reindex with one dimension for each iter that the indices\n"
        "use, and a nest that copies into it before the block's statement, or back "
        "after it.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_reindex,
    .errors =
        (const ml_ErrorCode[]){
            ML_E_ROOT_BLOCK, ML_E_BUFFER_INDEX, ML_E_BUFFER_NOT_FOUND,
            ML_E_NOT_STAGE_PIPELINE, ML_E_NOT_LEAF, ML_E_REINDEX_ACCESS,
            ML_E_NOT_SCHEDULABLE, ML_E_NOT_ONLY_CHILD, ML_E_NOT_REDUCTION,
            ML_E_ITER_NOT_PARALLEL, ML_E_COVER_LOST, ML_E_REDUCTION_CHANGED,
            ML_E_WRITES_OVERLAP, ML_E_INSTANCES_LOST, ML_E_PART_WRITTEN,
            ML_E_REGION_UNDECLARED, ML_E_READS_BEYOND, ML_E_NOT_SHARED, ML_E_OK},
};
