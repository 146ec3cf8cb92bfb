/*
 * cache_read - copy a buffer that a block reads into a new buffer and let readers use the
 * copy.
 *
 * A buffer written in the scope is copied after its only writer, an input of the scope at
 * the beginning. Only readers that come after the copy are rewired: a reader before the
 * writer keeps the original. Source: primitives 8, cache_read.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/rewrite/move.h"

enum { BLOCK, BUFFER, SCOPE, CONSUMERS };

typedef struct Readers {
    ml_Call *c;
    const ml_Buffer *buffer;
    ml_UidVec chosen; /* child blocks of the scope that are rewired */
    bool whole;       /* everything inside a chosen block, not only its child blocks */
    ml_UidVec given;  /* consumer_blocks */
    ml_Uid nest;      /* the copy block itself */
} Readers;

static int pick(const ml_Block *b, void *user)
{
    Readers *r = user;

    if (b->tag == r->nest || ml_write_of(b, r->buffer))
        return 0;
    /* With everything inside: a block that declares the copy for blocks that keep the
     * original would be wrong. */
    for (ml_Uid u = b->tag; u; u = ml_index_scope(r->c->p.index, u))
        if (ml_uids_have(r->given.n ? &r->given : &r->chosen, u))
            return 1;
    return r->given.n ? 2 : 0;
}

/* The buffer is written in the scope by `writer`: readers are those that come after it. */
static bool place_after_writer(ml_Call *c, ml_Uid writer, Readers *r, ml_CachePlace *place)
{
    ml_Ctx *cx = c->cx;
    ml_UidVec after = {0}, raw = {0};

    ml_raw_consumers(cx, c->facts, c->p, writer, &raw);
    for (size_t k = 0; k < raw.n; k++)
        if (ml_read_of(ml_call_block(c, raw.v[k]), r->buffer))
            ml_push(cx, &after, raw.v[k]);
    for (size_t k = 0; k < r->given.n; k++)
        if (!ml_uids_have(&after, r->given.v[k]))
            return ml_fail_as(
                cx, ML_E_BAD_ARGUMENT,
                "consumer_blocks: block {0} does not read {1} after it is written",
                ML_BLOCK(ml_call_block(c, r->given.v[k])), ML_BUFFER(r->buffer));
    r->chosen = r->given.n ? r->given : after;
    if (!ml_cache_place(c, writer, &r->chosen, place))
        return ml_fail_as(cx, ML_E_COVER_LOST,
                          "no statement after the one that writes {0} reads it; a copy "
                          "would come too late",
                          ML_BUFFER(r->buffer), ML_BLOCK_UID(writer));
    return true;
}

/* Of a view that `root` makes: what root's signature says is read of the buffer behind it,
 * in the view's own coordinates. The hull of the readers may be wider, where predicates
 * keep them from going as far. */
static void declared_of_view(ml_Arith *ar, const ml_Block *root, const ml_Buffer *view,
                             ml_Range *region)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    const ml_Region *source = NULL, *declared = NULL;

    for (size_t k = 0; k < root->n_matches; k++)
        if (root->matches[k].target->uid == view->uid)
            source = &root->matches[k].source;
    size_t regions = 0;

    for (size_t k = 0; source && k < root->n_reads; k++)
        if (root->reads[k].buffer->uid == source->buffer->uid) {
            declared = &root->reads[k];
            regions++;
        }
    if (regions != 1)
        return; /* a view of a view, or several regions: the hull stands */
    size_t skip = source->buffer->rank - view->rank; /* leading dimensions of extent 1 */

    for (size_t d = 0; d < view->rank; d++) {
        const ml_Range *is = &declared->ranges[d + skip], *at = &source->ranges[d + skip];
        const ml_Expr *min = ml_simplify(ar, ml_sub(cx, is->min, at->min));
        ml_Interval box = ml_interval_intersect(
            ar, ml_interval_range(ar, region[d].min, region[d].extent),
            ml_interval_range(ar, min, is->extent));

        region[d] = ml_interval_cover(ar, box, region[d]);
    }
}

/* Of a view (match_buffer) only what is read may be copied: the block that makes the view
 * declares no more of the buffer behind it. */
static void shrink_view(const Readers *r, const ml_CachePlace *place, ml_Range *region)
{
    ml_Call *c = r->c;
    ml_Arith *ar = ml_arith_at(c->cx, c->p, place->node);
    size_t rank = r->buffer->rank, n = 0;
    ml_Interval *hull = ML_ARRAY(c->cx, ml_Interval, rank);
    ml_Range *one = ML_ARRAY(c->cx, ml_Range, rank);
    bool is_match = false;

    ml_buffer_site(c->p, c->func, r->buffer, &is_match);
    for (size_t k = 0; is_match && k < r->chosen.n; k++) {
        const ml_Block *b = ml_call_block(c, r->chosen.v[k]);

        for (size_t m = 0; m < b->n_reads; m++) {
            if (b->reads[m].buffer->uid != r->buffer->uid)
                continue;
            ml_cache_region(c, b->tag, &b->reads[m], place, one, NULL);
            for (size_t d = 0; d < rank; d++) {
                ml_Interval i = ml_interval_range(ar, one[d].min, one[d].extent);

                hull[d] = n ? ml_interval_union(ar, hull[d], i) : i;
            }
            n++;
        }
    }
    for (size_t d = 0; n && d < rank; d++)
        region[d] = ml_interval_cover(ar, hull[d], region[d]);
    if (n)
        declared_of_view(ar, ml_call_block(c, place->node), r->buffer, region);
    for (size_t d = 0; n && d < rank; d++) {
        region[d].min = ml_cast(c->cx, r->buffer->shape[d]->type, region[d].min);
        region[d].extent = ml_cast(c->cx, r->buffer->shape[d]->type, region[d].extent);
    }
}

/* consumer_blocks */
static bool take_consumers(Readers *r, ml_Uid scope, const ml_Block *b)
{
    ml_Call *c = r->c;
    const ml_Given *given = &c->args[CONSUMERS];

    for (size_t k = 0; k < given->n; k++) {
        if (!ml_index_is_above(c->p.index, scope, given->uids[k]))
            return ml_fail_as(c->cx, ML_E_BAD_ARGUMENT,
                              "consumer_blocks: block {0} is not in the scope of block {1}",
                              ML_BLOCK(ml_call_block(c, given->uids[k])), ML_BLOCK(b));
        ml_push(c->cx, &r->given, given->uids[k]);
    }
    return true;
}

/* What `root` declares to read of the buffer, or all of it. */
static bool declared_of_input(const Readers *r, const ml_Block *root,
                              const ml_Region *declared, ml_Range *region)
{
    ml_Call *c = r->c;
    ml_Ctx *cx = c->cx;
    ml_Arith *ar = ml_arith_at(cx, c->p, root->tag);

    ml_arith_bind_iters(ar, root);
    /* A declared region may reach beyond the shape where nothing is accessed. */
    for (size_t d = 0; d < r->buffer->rank; d++) {
        const ml_Expr *n = r->buffer->shape[d];
        ml_Range whole = {ml_int(cx, n->type, 0), n};

        region[d] = whole;
        if (!declared)
            continue;
        ml_Interval box =
            ml_interval_range(ar, declared->ranges[d].min, declared->ranges[d].extent);

        box = ml_interval_intersect(ar, box, ml_interval_range(ar, whole.min, n));
        if (!ML_PROVE(c, ML_SOUND, !box.nothing))
            return ml_fail_as(cx, ML_E_INSTANCES_LOST,
                              "what block {0} declares to read of {1} lies outside of its "
                              "shape: there is nothing to copy",
                              ML_BLOCK(root), ML_BUFFER(r->buffer));
        region[d] = ml_interval_cover(ar, box, whole);
        region[d].min = ml_cast(cx, n->type, region[d].min);
        region[d].extent = ml_cast(cx, n->type, region[d].extent);
    }
    return true;
}

/* The buffer is an input of the scope: the copy stands at its beginning. */
static bool place_first(Readers *r, const ml_Block *root, ml_CachePlace *place,
                        ml_Range *region)
{
    ml_Call *c = r->c;
    const ml_Region *declared = ml_read_of(root, r->buffer);

    *place = (ml_CachePlace){root->tag, root->body, true};
    if (root->body->kind == ML_STMT_SEQ)
        place->before = ml_as_seq(root->body)->stmts[0];
    if (!declared_of_input(r, root, declared, region))
        return false;
    ml_readers(c->cx, c->facts, c->p, root->tag, r->buffer, &r->chosen);
    if (r->given.n)
        r->chosen = r->given;
    if (!declared)
        shrink_view(r, place, region);
    if (ml_cache_read_guarded(c, c->args[BLOCK].uid, r->buffer))
        ml_cache_narrow(c, root->tag, &r->chosen, r->buffer, region);
    return true;
}

static void note_size(ml_Call *c, const ml_Buffer *buf)
{
    int64_t bytes = (int64_t)ml_dtype_bytes(buf->type), n = ml_buffer_const_size(buf);

    if (n > 0 && n >= (int64_t)(64u << 20) / bytes)
        ml_call_note(c, "%s takes %lld MiB", ml_shown(c->cx, buf),
                     (long long)(n * bytes >> 20));
}

static bool cache_read(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    ml_Uid block = c->args[BLOCK].uid;
    const char *scope_name = c->args[SCOPE].s;
    ml_UidVec writers = {0};
    ml_CachePlace place = {0};

    if (!ml_check_scope(c, scope_name) || !ml_check_not_root(c, block))
        return false;
    const ml_Block *b = ml_call_block(c, block);
    Readers r = {.c = c, .buffer = b->reads[c->args[BUFFER].i].buffer};
    ml_Uid scope = ml_index_scope(c->p.index, block);
    ml_Range *region = ML_ARRAY(cx, ml_Range, r.buffer->rank);

    if (!take_consumers(&r, scope, b) ||
        !ML_PROVE(c, ML_SOUND, ml_check_readers(c, scope, r.buffer)))
        return false;
    ml_writers(cx, c->facts, c->p, scope, r.buffer, &writers);
    if (writers.n > 1)
        return ml_fail_writers(c, r.buffer, &writers);
    if (writers.n == 1) {
        const ml_Block *w = ml_call_block(c, writers.v[0]);

        if (!place_after_writer(c, w->tag, &r, &place))
            return false;
        ml_cache_region(c, w->tag, ml_write_of(w, r.buffer), &place, region, NULL);
    } else if (!place_first(&r, ml_call_block(c, scope), &place, region)) {
        return false;
    }
    ml_Cache cache = ml_cache_make(c, r.buffer, scope_name, region, &place);
    const ml_Stmt *nest = ml_cache_nest(c, &cache, true, &r.nest);

    if (!ml_cache_install(c, scope, &cache, &place, nest, pick, &r))
        return false;
    note_size(c, cache.cached);
    ml_call_subject(c, ML_COPY_OF, r.nest, r.buffer);
    if (!ml_is_private(cache.cached))
        ml_call_subjects(c, ML_SHARER_OF, &r.chosen, cache.cached);
    else if (ml_under_threads(c, place.node))
        ml_call_subjects(c, ML_READER_OF, &r.chosen, NULL);
    ml_call_return_block(c, r.nest);
    return true;
}

static void suggest_cache_read(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                               ml_Tries *t)
{
    const ml_Block *b = ml_failed_block(s, args[BLOCK].uid, e);

    if (!b)
        return;

    for (size_t k = 0; k < b->n_reads; k++)
        ml_try(t, NULL, "cache_read(\"%s\", \"%s\", \"%s\")", ml_name_of(s, b->tag),
               ml_name_of(s, b->reads[k].buffer->uid),
               e->code == ML_E_BAD_STORAGE_SCOPE ? "local" : args[SCOPE].s);
}

static const ml_Post posts[] = {
    {ML_SOUND, ML_COPY_OF, ml_check_stays_declared, NULL},
    {ML_STRICT, ML_COPY_OF, ml_check_concurrency, NULL},
    {ML_STRICT, ML_COPY_OF, NULL, ml_check_reads_apart},
    /* What threads shared before is not there for one that has a copy of its own. */
    {ML_STRICT, ML_READER_OF, ml_check_covered, NULL},
    /* Threads meet at what they share with each other, not at global memory. */
    {ML_STRICT, ML_SHARER_OF, NULL, ml_check_reads_apart},
    {0},
};

static const ml_Param params[] = {
    ML_PARAM("block", ML_P_BLOCK, "a block that reads the buffer"),
    ML_PARAM_ATTR("read_buffer_index", ML_P_READ_BUFFER, "which of its read buffers"),
    ML_PARAM_ATTR("storage_scope", ML_P_SCOPE,
                  "scope of the copy: global, shared, local, ..."),
    {.name = "consumer_blocks",
     .kind = ML_P_BLOCKS,
     .optional = true,
     .input_if_given = true,
     .doc = "the blocks that use the copy; default: all readers"},
};

const ml_Primitive ml_prim_cache_read = {
    ML_PRIM(cache_read, "CacheRead"),
    .group = "caching",
    .summary = "copy a buffer before it is read",
    .help = "Makes a buffer <buf>_<scope>, a nest that copies into it, and lets the "
            "readers use\n"
            "the copy. Usually followed by compute_at of the copy.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .posts = posts,
    .suggest = suggest_cache_read,
    .errors = (const ml_ErrorCode[]){ML_E_BAD_STORAGE_SCOPE, ML_E_BUFFER_INDEX,
                                     ML_E_ROOT_BLOCK, ML_E_NOT_REGION_COVERED,
                                     ML_E_MULTI_WRITER, ML_E_OPAQUE_ACCESS,
                                     ML_E_BAD_ARGUMENT, ML_E_COVER_LOST, ML_E_WOULD_RACE,
                                     ML_E_INSTANCES_LOST, ML_E_NAMES_OVERLAP, ML_E_OK},
};
