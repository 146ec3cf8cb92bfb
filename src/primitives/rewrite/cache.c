/*
 * cache - what cache_read and cache_write share: where the copy goes, how large it is, and
 * the copy nest. Source: primitives 8.
 */
#include "moonloop/primitives/rewrite/cache.h"

#include "moonloop/core/base/fault.h"

bool ml_uids_have(const ml_UidVec *v, ml_Uid uid)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->v[k] == uid)
            return true;
    return false;
}

/* ---- arguments */

bool ml_fail_writers(ml_Call *c, const ml_Buffer *buf, const ml_UidVec *writers)
{
    const char *names = "";

    for (size_t k = 0; k < writers->n; k++)
        names = ml_format(c->cx, "%s%s%s", names, k ? ", " : "",
                          ml_call_block(c, writers->v[k])->name);
    return ml_fail(c->cx, ML_E_MULTI_WRITER, ML_BUFFER(buf),
                   ML_NUMBER("writers", writers->n), ML_TEXT(names));
}

const ml_Block *ml_failed_block(const ml_Schedule *s, ml_Uid block, const ml_Error *e)
{
    const ml_Stmt *node = ml_index_node(ml_schedule_program(s).index, block);

    return node && node->kind == ML_STMT_BLOCK && e->code != ML_E_ROOT_BLOCK
               ? ml_as_block(node)
               : NULL;
}

/* ---- place */

/* Whether the node is the statement itself or below it, as far as the schedule tree tells.
 */
static bool holds(const ml_Stmt *s, ml_Uid uid)
{
    if (ml_stmt_uid(s) == uid)
        return true;
    if (!s->has_block)
        return false;
    switch (ml_stmt_shape(s)) {
    case ML_SHAPE_LIST:
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            if (holds(ml_as_seq(s)->stmts[k], uid))
                return true;
        return false;
    case ML_SHAPE_BODY: return holds(ml_stmt_body(s), uid);
    case ML_SHAPE_BRANCH:
        return holds(ml_as_if(s)->then, uid) ||
               (ml_as_if(s)->other && holds(ml_as_if(s)->other, uid));
    case ML_SHAPE_BLOCK: /* child blocks of one scope only */
    case ML_SHAPE_LEAF: break;
    }
    return false;
}

bool ml_cache_place(ml_Call *c, ml_Uid writer, const ml_UidVec *readers, ml_CachePlace *out)
{
    const ml_Index *ix = c->p.index;

    for (ml_Uid up = ml_index_parent(ix, writer); up; up = ml_index_parent(ix, up)) {
        const ml_Stmt *node = ml_index_node(ix, up);
        const ml_Stmt *body = ml_node_body(node);
        bool at_root = node->kind == ML_STMT_BLOCK;

        if (body->kind == ML_STMT_SEQ) {
            const ml_Seq *seq = ml_as_seq(body);
            bool passed = false;

            for (size_t k = 0; k < seq->n; k++) {
                for (size_t r = 0; passed && r < readers->n; r++)
                    if (holds(seq->stmts[k], readers->v[r])) {
                        *out = (ml_CachePlace){up, seq->stmts[k], at_root};
                        return true;
                    }
                passed |= holds(seq->stmts[k], writer);
            }
        }
        if (at_root)
            break;
    }
    return false;
}

bool ml_under_threads(const ml_Call *c, ml_Uid node)
{
    for (ml_Uid u = node; u; u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *s = ml_index_node(c->p.index, u);

        if (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_THREAD)
            return true;
    }
    return false;
}

/* ---- region */

/* An analyzer that knows the loops and iters around the place. */
static ml_Arith *arith_inside(ml_Call *c, const ml_CachePlace *place)
{
    ml_Arith *ar = ml_arith_at(c->cx, c->p, place->node);

    if (place->at_root)
        ml_arith_bind_iters(ar, ml_call_block(c, place->node));
    else
        ml_arith_bind_loop(ar, ml_as_for(ml_index_node(c->p.index, place->node)));
    return ar;
}

/* The box inside the shape, as ranges. */
static void clip_region(ml_Arith *ar, const ml_Buffer *buf, const ml_Interval *box,
                        ml_Range *out)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    for (size_t d = 0; d < buf->rank; d++) {
        const ml_Expr *n = buf->shape[d], *zero = ml_int(cx, n->type, 0);
        ml_Interval whole = ml_interval_range(ar, zero, n);
        ml_Interval clipped = ml_interval_intersect(ar, box[d], whole);

        out[d] = ml_interval_cover(ar, clipped, (ml_Range){zero, n});
        out[d].min = ml_cast(cx, n->type, out[d].min);
        out[d].extent = ml_cast(cx, n->type, out[d].extent);
    }
}

void ml_cache_region(ml_Call *c, ml_Uid block, const ml_Region *r,
                     const ml_CachePlace *place, ml_Range *out, bool *exact)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);
    size_t rank = r->buffer->rank;
    ml_Subst sub = {0};
    ml_DomVec dom = {0};
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, rank),
                *strict = ML_ARRAY(cx, ml_Interval, rank);
    ml_Arith *ar = arith_inside(c, place);

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    ml_Region outer = ml_region_subst(cx, *r, &sub);

    ml_relax_domain(cx, c->p, block, place->at_root ? 0 : place->node, NULL, &dom);
    ml_region_upper(ar, outer.ranges, rank, dom.v, dom.n, b->predicate, box);
    if (exact) { /* what lies outside of the buffer is not copied either */
        ml_ArithMark mark = ml_arith_save(ar);

        ml_assume_meets(ar, box, r->buffer);
        *exact =
            ml_region_lower(ar, outer.ranges, rank, dom.v, dom.n, b->predicate, strict);
        for (size_t d = 0; d < rank && *exact; d++) /* with less known the box is larger */
            *exact = ml_interval_includes(ar, strict[d],
                                          ml_interval_inside(ar, box[d], r->buffer, d));
        ml_arith_restore(ar, mark);
    }
    clip_region(ar, r->buffer, box, out);
}

/* ---- the same where inner blocks have predicates */

bool ml_cache_guarded(ml_Call *c, ml_Uid block, const ml_Buffer *buf)
{
    ml_StmtVec inner = {0};
    bool viewed = ml_call_block(c, block)->n_matches > 0;

    ml_all_blocks(c->cx, ml_call_block(c, block)->body, &inner);
    for (size_t k = 0; k < inner.n; k++)
        viewed |= ml_as_block(inner.v[k])->n_matches > 0;
    for (size_t k = 0; k < inner.n; k++)
        if (!ml_is_true(ml_as_block(inner.v[k])->predicate) &&
            (viewed || ml_write_of(ml_as_block(inner.v[k]), buf)))
            return true;
    return false;
}

typedef struct Stores {
    const ml_Buffer *buf;
    size_t n;
} Stores;

static bool count_stores(const ml_Stmt *s, void *user)
{
    Stores *st = user;

    st->n += s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == st->buf->uid;
    return true;
}

/* The one inner block whose body holds all stores to the buffer; NULL: there is none. */
static const ml_Block *only_inner_writer(ml_Call *c, const ml_Block *b,
                                         const ml_Buffer *buf)
{
    ml_StmtVec inner = {0};
    Stores all = {buf, 0}, one;

    ml_stmt_visit(b->body, count_stores, &all);
    ml_all_blocks(c->cx, b->body, &inner);
    for (size_t k = inner.n; k-- > 0;) {
        one = (Stores){buf, 0};
        ml_stmt_visit(ml_as_block(inner.v[k])->body, count_stores, &one);
        if (one.n == all.n && all.n > 0 && ml_write_of(ml_as_block(inner.v[k]), buf))
            return ml_as_block(inner.v[k]);
    }
    return NULL;
}

ml_Outside ml_region_outside(ml_Call *c, const ml_Block *b, const ml_Region *r, ml_Uid top,
                             ml_Uid stop)
{
    ml_Ctx *cx = c->cx;
    ml_Outside o = {.region = *r, .pred = ml_bool(cx, true)};

    for (;; b = ml_call_block(c, ml_index_scope(c->p.index, b->tag))) {
        ml_Subst sub = {0};
        ml_DomVec here = {0};

        for (size_t k = 0; k < b->n_iters; k++)
            ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
        o.region = ml_region_subst(cx, o.region, &sub);
        o.pred = ml_and(cx, ml_expr_subst(cx, o.pred, &sub), b->predicate);
        ml_relax_domain(cx, c->p, b->tag, b->tag == top ? stop : 0, NULL, &here);
        for (size_t k = 0; k < o.dom.n; k++)
            ml_push(cx, &here,
                    ((ml_Dom){o.dom.v[k].var, ml_expr_subst(cx, o.dom.v[k].min, &sub),
                              ml_expr_subst(cx, o.dom.v[k].extent, &sub)}));
        o.dom = here;
        if (b->tag == top)
            return o;
    }
}

bool ml_cache_guarded_region(ml_Call *c, ml_Uid block, const ml_Buffer *buf,
                             const ml_CachePlace *place, ml_Range *out)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = only_inner_writer(c, ml_call_block(c, block), buf);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, buf->rank + 1u);
    ml_Arith *ar = arith_inside(c, place);

    if (!b || !ml_stores_region(c, b, ml_write_of(b, buf)))
        return false;
    ml_Outside o = ml_region_outside(c, b, ml_write_of(b, buf), block,
                                     place->at_root ? 0 : place->node);

    if (!ml_region_lower(ar, o.region.ranges, buf->rank, o.dom.v, o.dom.n, o.pred, box))
        return false;
    clip_region(ar, buf, box, out);
    return true;
}

/* ---- buffer and nest */

/* Whether the region moves with a loop above the scope (a block without iters has such):
 * the blocks inside, which know their own iters alone, cannot shift their indices by it. */
static bool moves_with_loop(ml_Call *c, ml_Uid scope, const ml_Range *region, size_t rank)
{
    for (ml_Uid u = scope; u; u = ml_index_parent(c->p.index, u)) {
        const ml_Stmt *s = ml_index_node(c->p.index, u);

        for (size_t d = 0; s->kind == ML_STMT_FOR && d < rank; d++)
            if (ml_expr_uses_var(region[d].min, ml_as_for(s)->var) ||
                ml_expr_uses_var(region[d].extent, ml_as_for(s)->var))
                return true;
    }
    return false;
}

ml_Cache ml_cache_make(ml_Call *c, const ml_Buffer *old, const char *scope,
                       ml_Range *region, const ml_CachePlace *place)
{
    ml_Ctx *cx = c->cx;
    ml_Cache cache = {.old = old, .region = region};

    cache.compact = place->at_root && !moves_with_loop(c, place->node, region, old->rank);
    const ml_Expr **shape = ML_ARRAY(cx, const ml_Expr *, old->rank);

    for (size_t d = 0; d < old->rank; d++)
        shape[d] = cache.compact ? region[d].extent : old->shape[d];
    cache.cached = ml_buffer_new(cx, ml_format(cx, "%s_%s", old->name, scope), old->type,
                                 shape, old->rank, scope);
    return cache;
}

static ml_Region point_region(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx)
{
    ml_Range *r = ML_ARRAY(cx, ml_Range, b->rank);

    for (size_t d = 0; d < b->rank; d++)
        r[d] = (ml_Range){idx[d], ml_int(cx, idx[d]->type, 1)};
    return (ml_Region){b, r};
}

static const ml_Block *block_of(const ml_Stmt *nest)
{
    while (nest->kind == ML_STMT_FOR)
        nest = ml_as_for(nest)->body;
    return ml_as_block(nest);
}

const ml_Stmt *ml_cache_nest(ml_Call *c, const ml_Cache *cache, bool in, ml_Uid *tag)
{
    ml_Ctx *cx = c->cx;
    size_t rank = cache->old->rank;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, rank);
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, rank);
    const ml_Expr **at_old = ML_ARRAY(cx, const ml_Expr *, rank);
    const ml_Expr **at_new = ML_ARRAY(cx, const ml_Expr *, rank);
    ml_Arith *ar = ml_arith_new(cx);
    const ml_Stmt *like = cache->like;
    const ml_Block *done = like ? block_of(like) : NULL;

    for (size_t d = 0; d < rank; d++) {
        const ml_Range *r = &cache->region[d];
        ml_Dtype t = r->extent->type;

        loops[d] = ml_var_new(cx, ml_numbered(cx, "ax", "", d), t);
        iters[d].var = ml_var_new(cx, ml_numbered(cx, "v", "", d), t);
        iters[d].kind = ML_ITER_SPATIAL;
        iters[d].min = cache->domain ? cache->domain[d].min : ml_int(cx, t, 0);
        iters[d].extent = cache->domain    ? cache->domain[d].extent
                          : cache->compact ? r->extent
                                           : cache->old->shape[d];
        iters[d].value = ml_var(cx, loops[d]);
        at_new[d] = at_old[d] = ml_var(cx, iters[d].var);
        if (cache->compact)
            at_old[d] = ml_simplify(ar, ml_add(cx, r->min, at_old[d]));
        else if (!like)
            iters[d].value = ml_simplify(ar, ml_add(cx, r->min, iters[d].value));
        else {
            iters[d].value = ml_expr_subst1(cx, done->iters[d].value, ml_as_for(like)->var,
                                            iters[d].value);
            like = ml_as_for(like)->body;
        }
    }
    const ml_Buffer *from = in ? cache->old : cache->cached;
    const ml_Buffer *to = in ? cache->cached : cache->old;
    const ml_Expr **at_from = in ? at_old : at_new, **at_to = in ? at_new : at_old;
    ml_Region *reads = ML_NEW(cx, ml_Region), *writes = ML_NEW(cx, ml_Region);

    *reads = point_region(cx, from, at_from);
    *writes = point_region(cx, to, at_to);
    ml_Block b = {.tag = *tag = ml_fresh_uid(cx),
                  .name = cache->cached->name,
                  .predicate = ml_bool(cx, true),
                  .n_iters = (uint32_t)rank,
                  .n_reads = 1,
                  .n_writes = 1,
                  .iters = iters,
                  .reads = reads,
                  .writes = writes};

    b.body = ml_store(cx, to, ml_load(cx, from, at_from, rank), at_to, rank, NULL);
    const ml_Stmt *st = ml_block_from(cx, &b);

    for (size_t d = rank; d-- > 0;) {
        const ml_Expr *n = cache->region[d].extent;

        if (ML_FAULT(CACHE_REGION) && !ml_is_int(n, 1))
            n = ml_sub(cx, n, ml_int(cx, n->type, 1));
        st = ml_serial(cx, loops[d], ml_int(cx, loops[d]->type, 0), n, st);
    }
    return st;
}
