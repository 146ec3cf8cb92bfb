/*
 * reindex_cache_read, reindex_cache_write - a cache for one block alone, laid out by an
 * index map of its iters.
 *
 * The copy runs over those loops of the block that its indices use, under what is left of
 * its predicate: what is read must be there; what is written back was written, each
 * element by one instance. Source: primitives 8.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/copy_nest.h"
#include "moonloop/primitives/rewrite/move.h"
#include "moonloop/primitives/rewrite/same_index.h"

enum { BLOCK, BUFFER, SCOPE, MAP };

typedef struct Recache {
    ml_Call *c;
    bool write;
    const ml_Block *block;
    ml_Uid scope;
    const ml_Region *region;
    const ml_Buffer *old, *own;
    const ml_Expr **at_old, **at_new; /* in iters, simplified */
    size_t n_new;
    ml_CopyNest copy; /* over the iters that the indices use */
    ml_CachePlace place;
    size_t pos;           /* in the body of place.node */
    const ml_Expr *guard; /* under which what is copied is in the old buffer */
    ml_Uid nest;
} Recache;

/* ---- the two kinds of indices */

static bool check_point(Recache *r)
{
    ml_Ctx *cx = r->c->cx;

    for (size_t d = 0; d < r->old->rank; d++) {
        const ml_Range *at = &r->region->ranges[d];

        if (!ml_is_int(at->extent, 1))
            return ml_fail(cx, ML_E_NOT_SINGLE_POINT, ML_BLOCK(r->block),
                           ML_TEXT(r->write ? "writes" : "reads"), ML_BUFFER(r->old),
                           ML_NUMBER("dimension", d), ML_EXPRESSION(at->extent));
    }
    return true;
}

static bool check_match(Recache *r)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Block *b = r->block;

    for (size_t k = 0; k < b->n_iters; k++) {
        bool in_old = false, in_new = false;

        for (size_t d = 0; d < r->old->rank; d++)
            in_old |= ml_expr_uses_var(r->at_old[d], b->iters[k].var);
        for (size_t d = 0; d < r->n_new; d++)
            in_new |= ml_expr_uses_var(r->at_new[d], b->iters[k].var);
        if (in_old != in_new)
            return ml_fail(cx, ML_E_REINDEX_MISMATCH, ML_ITER(b, k), ML_BLOCK(b),
                           ML_TEXT(in_old ? "the access" : "the index map"),
                           ML_TEXT(in_old ? "the index map" : "the access"));
        if (in_old)
            ml_push(cx, &r->copy.iters, (uint32_t)k);
    }
    return true;
}

/* The accesses are what the region says, made of iters alone. */
static bool check_access(Recache *r, ml_Arith *ar)
{
    ml_Ctx *cx = r->c->cx;
    const ml_Block *b = r->block;
    ml_AccessIndex s = ml_access_index(cx, b, r->old);
    const ml_Var *other = NULL;
    const char *why = s.why;

    if (!why && !s.index)
        why = "it is not accessed there by a load or store";
    if (!why && !r->write && s.stores)
        why = "it is written too";
    for (size_t d = 0; !why && d < r->old->rank; d++) {
        if (ml_simplify(ar, s.index[d]) != r->at_old[d])
            why = "it is accessed elsewhere than its region says";
        else if ((r->at_old[d]->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) != 0)
            why = "its indices depend on what is in memory";
    }
    if (!why && ml_uses_other_var(r->c, b, r->at_old, r->old->rank, &other))
        why = ml_format(cx, "its indices use %s, which is no iter of the block",
                        ml_shown(cx, other));
    for (size_t k = 0; !why && k < r->copy.iters.n; k++) {
        const ml_Iter *it = &b->iters[r->copy.iters.v[k]];
        const ml_Expr *dom[2] = {it->min, it->extent};

        if (ml_uses_other_var(r->c, b, dom, 2, &other))
            why = ml_format(cx, "the domain of iter %s depends on loop %s",
                            ml_shown(cx, it->var), ml_shown(cx, other));
    }
    return !why ||
           ml_fail(cx, ML_E_REINDEX_ACCESS, ML_BUFFER(r->old), ML_BLOCK(b), ML_TEXT(why));
}

static bool find_indices(Recache *r)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = r->block;
    const ml_IndexMap *m = c->args[MAP].map;
    const ml_Expr **iters = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1u);
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    if (m->n_vars != b->n_iters)
        return ml_fail_as(
            cx, ML_E_BAD_ARGUMENT, "index_map takes {0} indices; block {1} has {2} iters",
            ML_NUMBER("indices", m->n_vars), ML_BLOCK(b), ML_NUMBER("iters", b->n_iters));
    ml_arith_bind_iters(ar, b);
    r->n_new = m->n_exprs;
    r->at_old = ML_ARRAY(cx, const ml_Expr *, r->old->rank + 1u);
    r->at_new = ML_ARRAY(cx, const ml_Expr *, r->n_new + 1u);
    for (size_t k = 0; k < b->n_iters; k++)
        iters[k] = ml_var(cx, b->iters[k].var);
    ml_index_map_apply(ar, m, iters, r->at_new);
    for (size_t d = 0; d < r->old->rank; d++)
        r->at_old[d] = ml_simplify(ar, r->region->ranges[d].min);
    if (r->write ? !check_match(r) || !check_point(r) : !check_point(r) || !check_match(r))
        return false;
    return check_access(r, ar);
}

/* The new buffer holds every index that the map gives over the domains. */
static bool make_buffer(Recache *r)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, r->n_new + 1u);
    ml_Arith *ar = ml_arith_at(cx, c->p, r->scope);
    ml_DomVec dom = {0};

    ml_arith_bind_iters(ar, ml_call_block(c, r->scope));
    for (size_t k = 0; k < r->copy.iters.n; k++) {
        const ml_Iter *it = &r->block->iters[r->copy.iters.v[k]];

        ml_push(cx, &dom, ((ml_Dom){it->var, it->min, it->extent}));
        ml_arith_bind_range(ar, it->var, it->min, it->extent);
    }
    for (size_t d = 0; d < r->n_new; d++) {
        const ml_Expr *e = r->at_new[d];
        ml_Interval all = ml_relax(ar, e, dom.v, dom.n);

        if (!all.max || !ml_prove_symbolic(ar, ml_ge(cx, e, ml_int(cx, e->type, 0))))
            return ml_fail(cx, ML_E_BAD_ARGUMENT,
                           ML_TEMPLATED(ml_format(
                               cx,
                               "index_map: index %zu is {1}; cannot "
                               "show that it %s",
                               d, all.max ? "is never below 0" : "has an upper bound")),
                           ML_SHOWN_IN(e), ML_BLOCK(r->block));
        shape[d] = ml_simplify(ar, ml_add(cx, all.max, ml_int(cx, all.max->type, 1)));
    }
    r->own = ml_buffer_new(cx, ml_format(cx, "%s_%s", r->old->name, c->args[SCOPE].s),
                           r->old->type, shape, r->n_new, c->args[SCOPE].s);
    if (!ml_is_injective(c, r->block, &r->copy.iters, r->at_new, r->n_new))
        return ml_unproved(r->c->cx, ML_E_WRITES_OVERLAP,
                           "the index map gives different elements for different values of "
                           "the iters of block {0}",
                           ML_BLOCK(r->block), ML_BUFFER(r->old));
    return true;
}

/* ---- the place, and the loops that are copied */

static bool find_place(Recache *r)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    ml_Uid uid = r->block->tag;
    const ml_Stmt *body = ml_call_block(c, r->scope)->body;
    ml_UidVec writers = {0}, readers = {0};

    ml_writers(cx, c->facts, c->p, r->scope, r->old, &writers);
    if (writers.n > 1 || (r->write && writers.n != 1)) {
        const char *names = "";

        for (size_t k = 0; k < writers.n; k++)
            names = ml_format(cx, "%s%s%s", names, k ? ", " : "",
                              ml_call_block(c, writers.v[k])->name);
        return ml_fail(cx, ML_E_MULTI_WRITER, ML_BUFFER(r->old),
                       ML_NUMBER("writers", writers.n), ML_TEXT(names));
    }
    r->place = (ml_CachePlace){r->scope, NULL, true};
    r->pos = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->n : 1;
    if (r->write)
        ml_raw_consumers(cx, c->facts, c->p, uid, &readers);
    else
        ml_push(cx, &readers, uid);
    if (writers.n == 0) {
        r->pos = 0;
    } else if (ml_cache_place(c, writers.v[0], &readers, &r->place)) {
        r->pos = ml_position_in(ml_node_body(ml_index_node(c->p.index, r->place.node)),
                                r->place.before);
    } else if (!r->write) {
        return ml_fail_as(cx, ML_E_COVER_LOST,
                          "no statement after the one that writes {0} holds block {1}; a "
                          "copy would come too late",
                          ML_BUFFER(r->old), ML_BLOCK(r->block));
    }
    return ml_check_schedulable(c, r->place.node, uid);
}

/* ---- what the copy may touch */

/* Index d of the old buffer is inside for all instances of the copy. */
static bool inside(Recache *r, size_t d)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = r->block;
    ml_Subst sub = {0};

    for (int under = 0; under < 2; under++) { /* over the domains; else under the loops */
        ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);
        const ml_Expr *at = r->at_old[d], *dim = r->old->shape[d];

        ml_arith_bind_iters(ar, ml_call_block(c, r->scope));
        if (under) {
            for (size_t k = 0; k < b->n_iters; k++)
                ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
            at = sub.vars ? ml_expr_subst(cx, at, &sub) : at;
            ml_arith_assume(ar, r->copy.predicate);
        } else {
            ml_arith_bind_iters(ar, b);
        }
        if (ml_promote(cx, &at, &dim) &&
            ml_prove_symbolic(ar, ml_ge(cx, at, ml_int(cx, at->type, 0))) &&
            ml_prove_symbolic(ar, ml_lt(cx, at, dim)) &&
            ml_in_declared_reads(c, ar, r->scope, r->old, d, at))
            return true;
    }
    return false;
}

/* The same where the copy asks first. */
static bool ask_inside(Recache *r, size_t d)
{
    ml_Call *c = r->c;
    ml_Arith *ar = ml_arith_at(c->cx, c->p, r->block->tag);

    ml_arith_bind_iters(ar, ml_call_block(c, r->scope));
    ml_arith_bind_iters(ar, r->block);
    const ml_Expr *ask = ml_bounds_to_ask(ar, r->at_old[d], r->old->shape[d]);

    r->guard = ml_and(c->cx, r->guard, ask);
    ml_arith_assume(ar, ask);
    return ml_in_declared_reads(c, ar, r->scope, r->old, d, r->at_old[d]);
}

static bool check_read(Recache *r)
{
    ml_Call *c = r->c;
    const ml_Block *b = r->block;

    for (size_t d = 0; d < r->old->rank; d++)
        if (!inside(r, d) && !ask_inside(r, d))
            return ml_unproved(r->c->cx, ML_E_REGION_UNDECLARED,
                               "index {0} of {1} stays for all values of the iters of "
                               "block {2} in what the block around declares to read",
                               ML_NUMBER("index", d), ML_BUFFER(r->old), ML_BLOCK(b),
                               ML_BLOCK(r->block));
    const ml_Iter *it = ml_copy_nest_outside(c, &r->copy);

    if (it)
        return ml_unproved(r->c->cx, ML_E_READS_BEYOND,
                           "iter {0} of block {1} stays in its domain without the "
                           "predicate on loops that are not copied",
                           ML_VARIABLE(it->var), ML_BLOCK(b), ML_BLOCK(r->block),
                           ML_BUFFER(r->old));
    return true;
}

static bool check_write(Recache *r)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    const ml_Block *b = r->block;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);
    bool all = ml_stores_region(c, b, r->region) && !r->copy.lost;

    if (!ml_check_starts_fresh(c, b, r->old))
        return false;
    for (size_t k = 0; k < r->copy.dropped.n; k++)
        all = all && ml_prove_ge(ar, r->copy.dropped.v[k]->extent, 1);
    if (!all)
        return ml_unproved(r->c->cx, ML_E_PART_WRITTEN,
                           "block {0} writes an element for all values of its iters; what "
                           "it leaves out would be overwritten",
                           ML_BLOCK(b), ML_BLOCK(r->block), ML_BUFFER(r->old));
    if (!ml_is_injective(c, b, &r->copy.iters, r->at_old, r->old->rank))
        return ml_unproved(
            r->c->cx, ML_E_WRITES_OVERLAP,
            "block {0} writes different elements of {1} for different values of its iters",
            ML_BLOCK(b), ML_BUFFER(r->old), ML_BLOCK(r->block));
    return true;
}

/* ---- building */

static const ml_Stmt *make_nest(Recache *r)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    const ml_Expr **at_old = ML_ARRAY(cx, const ml_Expr *, r->old->rank + 1u);
    const ml_Expr **at_new = ML_ARRAY(cx, const ml_Expr *, r->n_new + 1u);

    ml_copy_nest_open(c, &r->copy, false);
    for (size_t d = 0; d < r->old->rank; d++)
        at_old[d] = ml_copy_nest_expr(c, &r->copy, r->at_old[d]);
    for (size_t d = 0; d < r->n_new; d++)
        at_new[d] = ml_copy_nest_expr(c, &r->copy, r->at_new[d]);
    const ml_Expr *guard = ml_copy_nest_expr(c, &r->copy, r->guard);
    const ml_Stmt *st =
        r->write ? ml_copy_block(c, r->own->name, r->copy.own, r->copy.iters.n, r->own,
                                 at_new, NULL, r->old, at_old, &r->nest)
                 : ml_copy_block(c, r->own->name, r->copy.own, r->copy.iters.n, r->old,
                                 at_old, guard, r->own, at_new, &r->nest);

    return ml_copy_nest_close(c, &r->copy, st);
}

static bool finds_values(ml_Call *c, ml_Uid nest, const ml_Buffer *old)
{
    Recache r = {.c = c, .block = ml_as_block(c->args[BLOCK].node), .old = old};

    return ml_still_covered(c, nest, r.block->tag, false) ||
           ml_unproved(r.c->cx, ML_E_COVER_LOST,
                       "all values of {0} are there where it would be copied",
                       ML_BUFFER(old), ML_BLOCK(r.block), ML_BUFFER(r.old));
}

static bool recache(ml_Call *c, bool write)
{
    ml_Ctx *cx = c->cx;
    ml_Uid uid = c->args[BLOCK].uid;
    const char *scope_name = c->args[SCOPE].s;

    if (!ml_check_scope(c, scope_name) || !ml_check_not_root(c, uid))
        return false;
    Recache r = {
        .c = c, .write = write, .block = ml_call_block(c, uid), .guard = ml_bool(cx, true)};

    r.copy.block = r.block;
    r.scope = ml_index_scope(c->p.index, uid);
    r.region = &(write ? r.block->writes : r.block->reads)[c->args[BUFFER].i];
    r.old = r.region->buffer;
    if (!ml_check_pipeline(c, r.scope))
        return false;
    if (!find_place(&r) || !find_indices(&r) || !make_buffer(&r))
        return false;
    ml_copy_nest_find(c, &r.copy, r.place.node);
    if (!ML_PROVE(c, ML_SOUND, !ml_is_empty_block(r.block)))
        return ml_fail_as(r.c->cx, ML_E_INSTANCES_LOST,
                          "the domain of block {0} is empty: nothing is copied",
                          ML_BLOCK(r.block), ML_BUFFER(r.old));
    if (write ? !ML_PROVE(c, ML_SOUND, check_write(&r)) : !check_read(&r))
        return false;
    ml_call_replace(c, uid, &ml_with_access(cx, r.block, r.old, r.own, r.at_new)->base);
    ml_put_at(c, r.place.node, r.pos, make_nest(&r), r.scope, r.own);
    ml_name_copy(c, r.nest, uid, r.old, write);
    ml_call_return_block(c, r.nest);
    return true;
}

static bool reindex_cache_read(ml_Call *c)
{
    return recache(c, false);
}

static bool reindex_cache_write(ml_Call *c)
{
    return recache(c, true);
}

/* Ways out: the same with the iters themselves as indices. */
static void suggest_reindex_cache(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                  ml_Tries *t)
{
    ml_Ctx *cx = ml_schedule_ctx(s);
    const ml_Block *b = ml_failed_block(s, args[BLOCK].uid, e);
    const char *vars = "", *used = "";

    if (!b || !e->primitive)
        return;
    bool write = ml_streq(e->primitive, "reindex_cache_write");
    size_t n = write ? b->n_writes : b->n_reads;

    if (args[BUFFER].i < 0 || (size_t)args[BUFFER].i >= n || !args[SCOPE].s)
        return;
    const ml_Region *r = &(write ? b->writes : b->reads)[args[BUFFER].i];

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Var *v = b->iters[k].var;

        vars = ml_format(cx, "%s%s%s", vars, k ? ", " : "", v->hint);
        if (ml_region_uses_var(r, v))
            used = ml_format(cx, "%s%s, ", used, ml_shown(cx, v));
    }
    ml_try(t, NULL, "%s(\"%s\", %lld, \"%s\", \"lambda %s: (%s)\")", e->primitive,
           ml_name_of(s, b->tag), (long long)args[BUFFER].i,
           e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s, vars, used);
    ml_try(t, NULL, "%s(\"%s\", %lld, \"%s\")", write ? "cache_write" : "cache_read",
           ml_name_of(s, b->tag), (long long)args[BUFFER].i,
           e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s);
}

static const ml_Post posts[] = {
    /* Nobody collides, and whoever reads what is copied still finds it. */
    {ML_SOUND, ML_COPY_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_BLOCK_OF, ml_check_concurrency, NULL},
    {ML_SOUND, ML_COPY_OF, NULL, finds_values},
    {ML_SOUND, ML_READER_OF, ml_check_covered, NULL},
    {0},
};

static const ml_Param read_params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that reads the buffer"),
    ML_PARAM_ATTR("read_buffer_index", ML_P_READ_BUFFER, "which of its read buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the copy: shared, local, ..."),
    ML_PARAM("index_map", ML_P_MAP, "from the block's iters to indices of the copy"),
};

static const ml_Param write_params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that writes the buffer"),
    ML_PARAM_ATTR("write_buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the new buffer: local, ..."),
    ML_PARAM("index_map", ML_P_MAP, "from the block's iters to indices of the new buffer"),
};

#define ERRORS(...)                                                                        \
    (const ml_ErrorCode[])                                                                 \
    {                                                                                      \
        ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX, ML_E_ROOT_BLOCK,                        \
            ML_E_NOT_STAGE_PIPELINE, ML_E_MULTI_WRITER, ML_E_NOT_SCHEDULABLE,              \
            ML_E_BAD_ARGUMENT, ML_E_NOT_SINGLE_POINT, ML_E_REINDEX_MISMATCH,               \
            ML_E_REINDEX_ACCESS, __VA_ARGS__, ML_E_WRITES_OVERLAP, ML_E_INSTANCES_LOST,    \
            ML_E_OK                                                                        \
    }

const ml_Primitive ml_prim_reindex_cache_read = {
    ML_PRIM(reindex_cache_read, "ReindexCacheRead"),
    .group = "caching",
    .summary = "copy what a block reads into a layout of its own",
    .help =
        "Makes a buffer <buf>_<scope> indexed by a map of the block's iters, and a nest\n"
        "over the block's own loops that copies into it.",
    ML_PARAMS(read_params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_reindex_cache,
    .errors = ERRORS(ML_E_NOT_REGION_COVERED, ML_E_REGION_UNDECLARED, ML_E_READS_BEYOND),
};

const ml_Primitive ml_prim_reindex_cache_write = {
    ML_PRIM(reindex_cache_write, "ReindexCacheWrite"),
    .group = "caching",
    .summary = "let a block write a layout of its own that is stored afterwards",
    .help = "Makes a buffer <buf>_<scope> indexed by a map of the block's iters that the\n"
            "block writes instead, and a nest over its loops that copies it back.",
    ML_PARAMS(write_params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_reindex_cache,
    .errors = ERRORS(ML_E_NOT_REDUCTION, ML_E_ITER_NOT_PARALLEL, ML_E_COVER_LOST,
                     ML_E_PART_WRITTEN),
};
