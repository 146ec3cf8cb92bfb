/*
 * cache_inplace - let a block update a copy of a buffer that it reads and writes.
 *
 * A nest directly before the block copies in what one instance reads, one directly after
 * it copies back what it writes, with the block's bindings put into its regions and under
 * its predicate. What is copied back was copied in or written. Source: primitives 8.
 */
#include "primitives/rewrite/cache.h"

#include "core/shown.h"
#include "primitives/rewrite/move.h"

enum { BLOCK, BUFFER, SCOPE };

typedef struct Inplace {
    ml_Call *c;
    const ml_Block *block;
    const ml_Buffer *old;
    ml_Arith *ar;
} Inplace;

static bool unsound(const Inplace *p, bool proof, const char *why)
{
    ml_fail(p->c->cx, ML_E_UNSOUND, ML_TEXT(why), ML_BLOCK(p->block), ML_BUFFER(p->old));
    if (proof)
        ml_error_set_unproved(p->c->cx);
    return false;
}

/* The hull of what one instance touches, in terms of the loops, inside the shape; how many
 * regions there are. */
static size_t hull_of(Inplace *p, const ml_Region *v, size_t n, ml_Interval *out)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    ml_Subst sub = {0};
    size_t found = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    for (size_t k = 0; k < n; k++) {
        if (v[k].buffer->uid != p->old->uid)
            continue;
        ml_Region r = sub.vars ? ml_region_subst(cx, v[k], &sub) : v[k];

        for (size_t d = 0; d < p->old->rank; d++) {
            const ml_Expr *dim = p->old->shape[d];
            const ml_Expr *min = ml_cast(cx, dim->type, r.ranges[d].min);
            const ml_Expr *ext = ml_cast(cx, dim->type, r.ranges[d].extent);
            ml_Interval i = ml_interval_range(p->ar, min, ext);
            ml_Interval whole = ml_interval_range(p->ar, ml_int(cx, dim->type, 0), dim);

            if (!ml_interval_includes(p->ar, whole, i))
                i = ml_interval_intersect(p->ar, i, whole);
            out[d] = found ? ml_interval_union(p->ar, out[d], i) : i;
        }
        found++;
    }
    return found;
}

/* Whether every element of the box is written by the block: it is one element, and nothing
 * can keep the block from storing it. */
static bool writes_all(const Inplace *p, const ml_Interval *box, size_t n_regions)
{
    const ml_Block *b = p->block;

    for (size_t d = 0; d < p->old->rank; d++)
        if (!ml_interval_is_point(p->ar, box[d]))
            return false;
    for (size_t k = 0; k < b->n_writes && n_regions == 1; k++)
        if (b->writes[k].buffer->uid == p->old->uid)
            return ml_stores_region(p->c, b, &b->writes[k]);
    return false;
}

/* What all instances of the scope take of the region: the domains of a copy's iters. */
static ml_Range *domain_of(Inplace *p, const ml_Range *region)
{
    ml_Ctx *cx = p->c->cx;
    size_t rank = p->old->rank;
    ml_Range *out = ML_ARRAY(cx, ml_Range, rank + 1);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank + 1);
    ml_StmtVec loops = {0};
    ml_DomVec dom = {0};

    for (ml_Uid u = ml_index_parent(p->c->p.index, p->block->tag); u;
         u = ml_index_parent(p->c->p.index, u)) {
        const ml_Stmt *st = ml_index_node(p->c->p.index, u);

        if (st->kind != ML_STMT_FOR)
            break;
        ml_push(cx, &loops, st);
    }
    for (size_t k = loops.n; k-- > 0;) {
        const ml_For *f = ml_as_for(loops.v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    ml_region_upper(p->ar, region, rank, dom.v, dom.n, p->block->predicate, box);
    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *dim = p->old->shape[d], *zero = ml_int(cx, dim->type, 0);
        ml_Interval whole = ml_interval_range(p->ar, zero, dim);
        ml_Range all = {zero, dim};

        if (!ml_interval_includes(p->ar, whole, box[d]))
            box[d] = ml_interval_intersect(p->ar, box[d], whole);
        out[d] = ml_interval_cover(p->ar, box[d], all);
        if (ml_prove_equal(p->ar, out[d].min, zero) &&
            ml_prove_equal(p->ar, out[d].extent, dim))
            out[d] = all;
        out[d].min = ml_cast(cx, dim->type, out[d].min);
        out[d].extent = ml_cast(cx, dim->type, out[d].extent);
    }
    return out;
}

static const ml_Stmt *copy(Inplace *p, const ml_Buffer *cached, const ml_Interval *box,
                           bool in, ml_Uid *tag)
{
    ml_Ctx *cx = p->c->cx;
    size_t rank = p->old->rank;
    ml_Range *region = ML_ARRAY(cx, ml_Range, rank + 1);
    ml_Cache cache = {.old = p->old, .cached = cached, .region = region};

    for (size_t d = 0; d < rank; d++) {
        const ml_Expr *dim = p->old->shape[d];

        region[d] =
            ml_interval_cover(p->ar, box[d], (ml_Range){ml_int(cx, dim->type, 0), dim});
        region[d].min = ml_cast(cx, dim->type, region[d].min);
        region[d].extent = ml_cast(cx, dim->type, region[d].extent);
    }
    if (!in) /* a copy of a part is legal, but an output is written by whole domains */
        cache.domain = domain_of(p, region);
    return ml_append_predicate(cx, ml_cache_nest(p->c, &cache, in, tag),
                               p->block->predicate);
}

static int pick(const ml_Block *b, void *user)
{
    (void)b;
    (void)user;
    return 1;
}

/* Something has written the buffer when the block begins: a block that reads only what it
 * wrote itself has nothing to copy in. */
static bool check_begun(Inplace *p, ml_Uid scope)
{
    ml_Call *c = p->c;
    ml_UidVec writers = {0};
    bool is_match = false;
    ml_Uid site = ml_buffer_site(c->p, ml_index_func(c->p.index, scope), p->old, &is_match);

    if (site != scope || is_match)
        return true;
    ml_writers(c->cx, c->facts, c->p, scope, p->old, &writers);
    if (writers.n == 0 || writers.v[0] != p->block->tag)
        return true;
    return ml_fail(c->cx, ML_E_UNSOUND,
                   ML_TEXT(ml_format(c->cx,
                                     "nothing writes %s before block %s; the copy would "
                                     "read what nobody has written",
                                     ml_shown(c->cx, p->old), ml_shown(c->cx, p->block))),
                   ML_BLOCK(p->block), ML_BUFFER(p->old));
}

static bool check(Inplace *p, const ml_Interval *reads, const ml_Interval *writes,
                  size_t n_writes)
{
    ml_Ctx *cx = p->c->cx;
    const ml_Block *b = p->block;
    bool known = true;

    if ((b->predicate->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) != 0)
        return unsound(p, false,
                       ml_format(cx,
                                 "the predicate of block %s reads memory; it may have "
                                 "another value after the block",
                                 ml_shown(cx, b)));
    for (size_t d = 0; d < p->old->rank; d++)
        known &= ml_interval_includes(p->ar, reads[d], writes[d]);
    if (!known && !writes_all(p, writes, n_writes))
        return unsound(p, true,
                       ml_format(cx,
                                 "cannot show that block %s reads or writes all of the "
                                 "region of %s that would be copied back",
                                 ml_shown(cx, b), ml_shown(cx, p->old)));
    return true;
}

static bool cache_inplace(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid uid = c->args[BLOCK].uid, scope, in, out;
    const char *scope_name = c->args[SCOPE].s;
    ml_Scope parsed;

    if (!ml_scope_parse(scope_name, &parsed))
        return ml_fail(cx, ML_E_BAD_STORAGE_SCOPE, ML_TEXT(scope_name));
    if (!ml_check_not_root(c, uid))
        return false;
    Inplace p = {.c = c, .block = ml_call_block(c, uid)};
    const ml_Block *b = p.block;

    p.old = b->reads[c->args[BUFFER].i].buffer;
    p.ar = ml_arith_at(cx, c->p, uid);
    ml_arith_assume(p.ar, b->predicate);
    scope = ml_index_scope(c->p.index, uid);
    ml_Interval *reads = ML_ARRAY(cx, ml_Interval, p.old->rank + 1u);
    ml_Interval *writes = ML_ARRAY(cx, ml_Interval, p.old->rank + 1u);
    ml_UidVec readers = {0};
    size_t n_writes;

    if (!ML_PROVE(c, ML_SOUND, ml_check_readers(c, scope, p.old)))
        return false;
    hull_of(&p, b->reads, b->n_reads, reads);
    n_writes = hull_of(&p, b->writes, b->n_writes, writes);
    if (!n_writes)
        return ml_fail(cx, ML_E_NOT_READ_WRITE, ML_BLOCK(b), ML_BUFFER(p.old));
    if (!ML_PROVE(c, ML_SOUND,
                  check_begun(&p, scope) && check(&p, reads, writes, n_writes)))
        return false;
    ml_Cache cache = {
        .old = p.old,
        .cached = ml_buffer_new(cx, ml_format(cx, "%s_%s", p.old->name, scope_name),
                                p.old->type, p.old->shape, p.old->rank, scope_name)};
    const ml_Stmt *parts[3];

    parts[0] = copy(&p, cache.cached, reads, true, &in);
    parts[2] = copy(&p, cache.cached, writes, false, &out);
    if (!ml_cache_rewire(c, &cache, &b->base, pick, NULL, &parts[1]))
        return false;
    parts[1] = ml_views_follow(cx, parts[1], cache.cached);
    ml_call_replace(c, uid, ml_seq(cx, parts, 3));
    ml_call_replace(c, scope,
                    &ml_block_add_alloc(cx, ml_call_block(c, scope), cache.cached)->base);
    ml_call_subject(c, ML_BLOCK_OF, in, NULL);
    ml_call_subject(c, ML_BLOCK_OF, uid, NULL);
    ml_call_subject(c, ML_BLOCK_OF, out, NULL);
    ml_call_subject(c, ML_COPY_OF, in, p.old);
    ml_readers(cx, c->facts, c->p, scope, p.old, &readers);
    for (size_t k = 0; k < readers.n; k++)
        if (readers.v[k] != in)
            ml_call_subject(c, ML_READER_OF, readers.v[k], NULL);
    ml_call_return_handles(c, (ml_Handle[]){{ML_H_BLOCK, in}, {ML_H_BLOCK, out}}, 2, true);
    return true;
}

static void suggest(ml_Schedule *s, const ml_Given *args, const ml_Error *e, ml_Tries *t)
{
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, args[BLOCK].uid);

    if (!node || node->kind != ML_STMT_BLOCK || e->code == ML_E_ROOT_BLOCK)
        return;
    const ml_Block *b = ml_as_block(node);
    const char *scope = e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s;

    for (size_t k = 0; k < b->n_reads && scope; k++)
        ml_try(t, NULL, "cache_inplace(\"%s\", %zu, \"%s\")", ml_name_of(s, b->tag), k,
               scope);
    for (size_t k = 0; k < b->n_reads && scope; k++)
        ml_try(t, NULL, "cache_read(\"%s\", %zu, \"%s\")", ml_name_of(s, b->tag), k, scope);
}

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that reads and writes the buffer"),
    ML_PARAM_ATTR("read_buffer_index", ML_P_READ_BUFFER, "which of its read buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE, "scope of the copy: local, shared, ..."),
};

const ml_Primitive ml_prim_cache_inplace = {
    .name = "cache_inplace",
    .kind = "CacheInplace",
    .group = "caching",
    .summary = "let a block update a copy of a buffer",
    .help = "Makes a buffer <buf>_<scope>, copies into it what the block reads directly "
            "before\n"
            "the block, and back what it writes directly after it.",
    .params = params,
    .n_params = ML_COUNT(params),
    .result = ML_R_BLOCKS,
    .apply = cache_inplace,
    .posts = (const ml_Post[]){{ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
                               {ML_STRICT, ML_COPY_OF, NULL, ml_check_reads_apart},
                               {ML_SOUND, ML_READER_OF, ml_check_produced, NULL},
                               {0}},
    .suggest = suggest,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX,
                                     ML_E_ROOT_BLOCK, ML_E_NOT_REGION_COVERED,
                                     ML_E_NOT_READ_WRITE, ML_E_UNSOUND, ML_E_OK},
    .cases = "cache_inplace",
};
