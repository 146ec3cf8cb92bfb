/*
 * cache_write - let a block write a new buffer, and copy that to the original afterwards.
 *
 * The copy covers exactly what the block writes; where that cannot be shown and the
 * original is seen outside the scope, elements that nobody wrote would be overwritten:
 * refused. Source: primitives 8, cache_write.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/verify/cover/written.h"

enum { BLOCK, BUFFER, SCOPE, CONSUMERS };

typedef struct Writer {
    ml_Call *c;
    ml_Uid block, nest;
    const ml_Buffer *buffer;
    ml_UidVec given;
} Writer;

/* The writer and the listed consumers, each with everything inside: a block that declares
 * the new buffer for blocks that keep the old one would be wrong. */
static int pick(const ml_Block *b, void *user)
{
    Writer *w = user;
    const ml_Index *ix = w->c->p.index;

    if (b->tag == w->nest)
        return 0;
    for (ml_Uid u = b->tag; u; u = ml_index_scope(ix, u))
        if (u == w->block || ml_uids_have(&w->given, u))
            return 1;
    return 2;
}

bool ml_always_stores(const ml_Stmt *s, const ml_Buffer *buf)
{
    switch (s->kind) {
    case ML_STMT_STORE:
        return ml_as_store(s)->buffer->uid == buf->uid && !ml_as_store(s)->mask;
    case ML_STMT_SEQ:
        for (uint32_t k = 0; k < ml_as_seq(s)->n; k++)
            if (ml_always_stores(ml_as_seq(s)->stmts[k], buf))
                return true;
        return false;
    case ML_STMT_FOR: return ml_always_stores(ml_as_for(s)->body, buf);
    case ML_STMT_ATTR: return ml_always_stores(ml_as_attr(s)->body, buf);
    case ML_STMT_BLOCK:
        for (uint32_t k = 0; k < ml_as_block(s)->n_matches; k++)
            if (ml_as_block(s)->matches[k].source.buffer->uid == buf->uid &&
                ml_always_stores(ml_as_block(s)->body, ml_as_block(s)->matches[k].target))
                return true;
        return ml_always_stores(ml_as_block(s)->body, buf);
    case ML_STMT_IF:
        return ml_as_if(s)->other && ml_always_stores(ml_as_if(s)->then, buf) &&
               ml_always_stores(ml_as_if(s)->other, buf);
    case ML_STMT_EVALUATE: /* an intrinsic: its regions tell what it writes */
        return (ml_as_evaluate(s)->value->flags & ML_X_EFFECT) != 0;
    }
    return false;
}

/* A loop that may have no iteration, or as many as a loop outside tells. */
static bool see_loop(const ml_Stmt *s, void *user)
{
    bool *open = user;

    if (s->kind == ML_STMT_FOR)
        *open |= !ml_is_const_int(ml_as_for(s)->extent) || ml_as_for(s)->extent->as.i < 1;
    return !*open;
}

/* Whether the region is no wider than what the body writes, as far as that can be seen. */
static bool is_tight(ml_Call *c, const ml_Block *b, const ml_Region *r)
{
    ml_Ctx *cx = c->cx;
    ml_Access a = {0};
    bool inside = false, open = false, signed_only;

    ml_stmt_visit(b->body, see_loop, &open);
    if (b->body->has_block || open) /* guards and extents decide */
        return ml_is_filled(cx, c->p, b, r, &signed_only) &&
               !(signed_only && ml_cache_guarded(c, b->tag, r->buffer));
    if (ml_region_is_point(r))
        return true;
    ml_block_access(cx, ml_call_func(c), b, &a);
    if (ml_error(cx))
        return false;
    for (size_t k = 0; k < a.opaque.n; k++)
        if (a.opaque.v[k]->uid == r->buffer->uid)
            return true;
    ml_Arith *ar = ml_arith_at(cx, c->p, b->tag);

    ml_arith_bind_iters(ar, b);
    for (size_t k = 0; k < a.writes.n && !inside; k++) {
        const ml_Region *w = &a.writes.v[k];

        inside = w->buffer->uid == r->buffer->uid;
        for (size_t d = 0; d < r->buffer->rank && inside; d++)
            inside = ml_interval_includes(
                ar, ml_interval_range(ar, w->ranges[d].min, w->ranges[d].extent),
                ml_interval_range(ar, r->ranges[d].min, r->ranges[d].extent));
    }
    return inside && !ml_may_have_holes(cx, c->p, b, r);
}

bool ml_stores_region(ml_Call *c, const ml_Block *b, const ml_Region *r)
{
    return ml_always_stores(&b->base, r->buffer) && is_tight(c, b, r);
}

static bool check(ml_Call *c, const ml_Block *b, const ml_Region *r, ml_Uid scope)
{
    ml_Ctx *cx = c->cx;
    ml_UidVec writers = {0};
    size_t same = 0;

    ml_writers(cx, c->facts, c->p, scope, r->buffer, &writers);
    if (writers.n != 1)
        return ml_fail_writers(c, r->buffer, &writers);
    if (ml_read_of(b, r->buffer))
        return ml_fail_as(
            cx, ML_E_COVER_LOST,
            "block {0} also reads {1}; its cache would start without those values",
            ML_BLOCK(b), ML_BUFFER(r->buffer));
    for (size_t k = 0; k < b->n_writes; k++)
        same += b->writes[k].buffer->uid == r->buffer->uid;
    if (same > 1)
        return ml_fail_as(cx, ML_E_PART_WRITTEN, "block {0} writes {1} regions of {2}",
                          ML_BLOCK(b), ML_NUMBER("regions", same), ML_BUFFER(r->buffer));
    return true;
}

/* Whether iterations of a loop above `node` run at the same time. */
static bool under_concurrent(const ml_Call *c, ml_Uid node)
{
    for (ml_Uid u = node; u; u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *s = ml_index_node(c->p.index, u);

        if (s->kind == ML_STMT_FOR && (ml_as_for(s)->kind == ML_FOR_PARALLEL ||
                                       ml_as_for(s)->kind == ML_FOR_VECTORIZED ||
                                       ml_as_for(s)->kind == ML_FOR_THREAD))
            return true;
    }
    return false;
}

/* Blocks before the writer in a loop that the copy comes behind read what earlier
 * iterations wrote: the copy would come too late for them. */
static bool check_not_carried(ml_Call *c, ml_Uid block, const ml_Buffer *buf,
                              const ml_CachePlace *place)
{
    const ml_Index *ix = c->p.index;
    ml_UidVec readers = {0};

    ml_readers(c->cx, c->facts, c->p, ml_index_scope(ix, block), buf, &readers);
    for (ml_Uid u = ml_index_parent(ix, block); u && u != place->node;
         u = ml_index_parent(ix, u))
        for (size_t k = 0; k < readers.n; k++) {
            if (readers.v[k] == block || !ml_index_is_above(ix, u, readers.v[k]) ||
                !ml_index_before(ix, readers.v[k], block) ||
                ml_accesses_disjoint(c->cx, c->facts, c->p, u, buf))
                continue;
            return ml_unproved(c->cx, ML_E_COVER_LOST,
                               "block {0} reads none of {1} that an earlier iteration of "
                               "loop {2} wrote; the copy would come behind that loop",
                               ML_BLOCK(ml_call_block(c, readers.v[k])), ML_BUFFER(buf),
                               ML_LOOP(ml_as_for(ml_index_node(ix, u))),
                               ML_BLOCK(ml_call_block(c, block)));
        }
    return true;
}

/* Its guard lets no instance through: the copy would read what nobody writes. */
static bool writes_nothing(ml_Call *c, const ml_Block *b)
{
    return !ml_is_true(b->predicate) &&
           ml_prove(ml_arith_at(c->cx, c->p, b->tag), ml_not(c->cx, b->predicate));
}

static bool leaves_out(ml_Call *c, const ml_Block *b, const ml_Buffer *buf)
{
    return ml_unproved(c->cx, ML_E_PART_WRITTEN,
                       "block {0} writes all of the region of {1} that would be copied "
                       "back; what it leaves out would be overwritten",
                       ML_BLOCK(b), ML_BUFFER(buf));
}

static bool cache_write(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *given = &c->args[CONSUMERS];
    const char *scope_name = c->args[SCOPE].s;
    ml_Uid uid = c->args[BLOCK].uid;
    ml_CachePlace place = {0};
    ml_UidVec raw = {0}, after = {0};
    bool exact = false;

    if (!ml_check_scope(c, scope_name) || !ml_check_not_root(c, uid))
        return false;
    const ml_Block *b = ml_call_block(c, uid);
    const ml_Region *r = &b->writes[c->args[BUFFER].i];
    ml_Uid scope = ml_index_scope(c->p.index, uid);
    const ml_Block *root = ml_call_block(c, scope);
    Writer w = {.c = c, .block = uid, .buffer = r->buffer};
    ml_Range *region = ML_ARRAY(cx, ml_Range, r->buffer->rank);

    for (size_t k = 0; k < given->n; k++)
        ml_push(cx, &w.given, given->uids[k]);
    if (!check(c, b, r, scope) ||
        !ML_PROVE(
            c, ML_SOUND,
            ml_check_reduces_inside(c, uid) &&
                ml_check_reads_in_blocks(c, ml_index_node(c->p.index, scope), r->buffer)))
        return false;
    ml_raw_consumers(cx, c->facts, c->p, uid, &raw);
    for (size_t k = 0; k < w.given.n; k++)
        if (!ml_uids_have(&raw, w.given.v[k]))
            return ml_fail_as(
                cx, ML_E_BAD_ARGUMENT,
                "consumer_blocks: block {0} does not read what block {1} writes",
                ML_BLOCK(ml_call_block(c, w.given.v[k])), ML_BLOCK(b));
    for (size_t k = 0; k < raw.n; k++)
        if (!ml_uids_have(&w.given, raw.v[k]))
            ml_push(cx, &after, raw.v[k]);
    if (!ml_cache_place(c, uid, &after, &place))
        place = (ml_CachePlace){scope, NULL, true};
    if (!ML_PROVE(c, ML_SOUND, check_not_carried(c, uid, r->buffer, &place)))
        return false;
    ml_cache_region(c, uid, r, &place, region, &exact);
    if (ml_cache_guarded(c, uid, r->buffer) &&
        ml_cache_guarded_region(c, uid, r->buffer, &place, region))
        exact = ml_always_stores(&b->base, r->buffer);
    else
        exact = exact && ml_stores_region(c, b, r);
    bool local = false;

    for (size_t k = 0; k < root->n_allocs; k++)
        local |= root->allocs[k]->uid == r->buffer->uid;
    /* What is left out of a temporary is not read, unless another iteration wrote it. A
     * copy outside of an `if` around the writer would overwrite what was left alone. */
    if (!ML_PROVE(c, ML_SOUND,
                  (exact ||
                   (local && !under_concurrent(c, place.node) && !writes_nothing(c, b)) ||
                   leaves_out(c, b, r->buffer)) &&
                      (local || ml_check_schedulable(c, place.node, uid))))
        return false;
    ml_Cache cache = ml_cache_make(c, r->buffer, scope_name, region, &place);
    const ml_Stmt *nest = ml_cache_nest(c, &cache, false, &w.nest);

    if (!ml_cache_install(c, scope, &cache, &place, nest, pick, &w))
        return false;
    ml_call_subject(c, ML_COPY_OF, w.nest, NULL);
    ml_call_subject(c, ML_BLOCK_OF, uid, NULL);
    for (size_t k = 0; k < w.given.n; k++)
        if (!ml_is_private(cache.cached))
            ml_call_subject(c, ML_SHARER_OF, w.given.v[k], cache.cached);
        else if (ml_under_threads(c, uid) && ml_under_threads(c, w.given.v[k]))
            ml_call_subject(c, ML_READER_OF, w.given.v[k], NULL);
    ml_call_return_block(c, w.nest);
    return true;
}

static void suggest_cache_write(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                                ml_Tries *t)
{
    const ml_Block *b = ml_failed_block(s, args[BLOCK].uid, e);

    if (!b)
        return;

    for (size_t k = 0; k < b->n_writes; k++)
        ml_try(t, NULL, "cache_write(\"%s\", %zu, \"%s\")", ml_name_of(s, b->tag), k,
               e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s);
}

static const ml_Post posts[] = {
    {ML_SOUND, ML_COPY_OF, ml_check_stays_declared, NULL},
    {ML_STRICT, ML_COPY_OF, ml_check_concurrency, NULL},
    {ML_STRICT, ML_BLOCK_OF, ml_check_concurrency, NULL},
    /* What threads shared before is not there for one that has a copy of its own. */
    {ML_STRICT, ML_READER_OF, ml_check_covered, NULL},
    /* Threads meet at what they share with each other, not at global memory. */
    {ML_STRICT, ML_SHARER_OF, NULL, ml_check_reads_apart},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "the block that writes the buffer"),
    ML_PARAM_ATTR("write_buffer_index", ML_P_WRITE_BUFFER, "which of its written buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE,
                  "scope of the new buffer: local, shared, ..."),
    {.name = "consumer_blocks",
     .kind = ML_P_BLOCKS,
     .optional = true,
     .input_if_given = true,
     .doc = "readers that use the new buffer; default: none"},
};

const ml_Primitive ml_prim_cache_write = {
    ML_PRIM(cache_write, "CacheWrite"),
    .group = "caching",
    .summary = "let a block write a copy that is stored afterwards",
    .help = "Makes a buffer <buf>_<scope> that the block writes instead, and a nest that "
            "copies\n"
            "it to the original. Usually followed by reverse_compute_at of the copy.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_cache_write,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX, ML_E_ROOT_BLOCK,
                               ML_E_MULTI_WRITER, ML_E_OPAQUE_ACCESS, ML_E_BAD_ARGUMENT,
                               ML_E_NOT_SCHEDULABLE, ML_E_NOT_REGION_COVERED,
                               ML_E_ITER_NOT_PARALLEL, ML_E_COVER_LOST,
                               ML_E_REDUCTION_CHANGED, ML_E_WOULD_RACE, ML_E_PART_WRITTEN,
                               ML_E_OUTSIDE_BLOCKS, ML_E_OK},
};
