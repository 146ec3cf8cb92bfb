/*
 * cache - what cache_read and cache_write share: where the copy goes, how large it is, the
 * copy nest, and rewiring accesses. Source: primitives 8.
 */
#include "primitives/rewrite/cache.h"

#include "core/base/fault.h"

bool ml_uids_have(const ml_UidVec *v, ml_Uid uid)
{
    for (size_t k = 0; k < v->n; k++)
        if (v->v[k] == uid)
            return true;
    return false;
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
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_SEQ: {
        const ml_Seq *seq = ml_as_seq(s);

        for (size_t k = 0; k < seq->n; k++)
            if (holds(seq->stmts[k], uid))
                return true;
        return false;
    }
    case ML_STMT_FOR: return holds(ml_as_for(s)->body, uid);
    case ML_STMT_BLOCK: return false; /* child blocks of one scope only */
    case ML_STMT_WHILE: return holds(ml_as_while(s)->body, uid);
    case ML_STMT_IF:
        return holds(ml_as_if(s)->then, uid) ||
               (ml_as_if(s)->other && holds(ml_as_if(s)->other, uid));
    case ML_STMT_ATTR: return holds(ml_as_attr(s)->body, uid);
    case ML_STMT_STORE:
    case ML_STMT_BIND:
    case ML_STMT_EVALUATE:
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
    case ML_STMT_ASSERT:
    case ML_STMT_RETURN:
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE:
    case ML_STMT_KINDS: break;
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
        ml_arith_restore(ar, mark);
    }
    clip_region(ar, r->buffer, box, out);
}

/* ---- the same where inner blocks have predicates */

static const ml_Region *write_of(const ml_Block *b, const ml_Buffer *buf)
{
    for (size_t k = 0; k < b->n_writes; k++)
        if (b->writes[k].buffer->uid == buf->uid)
            return &b->writes[k];
    return NULL;
}

bool ml_cache_guarded(ml_Call *c, ml_Uid block, const ml_Buffer *buf)
{
    ml_StmtVec inner = {0};
    bool viewed = ml_call_block(c, block)->n_matches > 0;

    ml_all_blocks(c->cx, ml_call_block(c, block)->body, &inner);
    for (size_t k = 0; k < inner.n; k++)
        viewed |= ml_as_block(inner.v[k])->n_matches > 0;
    for (size_t k = 0; k < inner.n; k++)
        if (!ml_is_true(ml_as_block(inner.v[k])->predicate) &&
            (viewed || write_of(ml_as_block(inner.v[k]), buf)))
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
        if (one.n == all.n && all.n > 0 && write_of(ml_as_block(inner.v[k]), buf))
            return ml_as_block(inner.v[k]);
    }
    return NULL;
}

bool ml_cache_guarded_region(ml_Call *c, ml_Uid block, const ml_Buffer *buf,
                             const ml_CachePlace *place, ml_Range *out)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = only_inner_writer(c, ml_call_block(c, block), buf);
    ml_Interval *box = ML_ARRAY(cx, ml_Interval, buf->rank + 1u);
    const ml_Expr *pred = ml_bool(cx, true);
    ml_DomVec dom = {0};
    ml_Arith *ar = arith_inside(c, place);

    if (!b || !ml_stores_region(c, b, write_of(b, buf)))
        return false;
    ml_Region r = *write_of(b, buf);

    /* From the writer outwards: iters become their values, loops join the domain. */
    for (;; b = ml_call_block(c, ml_index_scope(c->p.index, b->tag))) {
        bool last = b->tag == block;
        ml_Subst sub = {0};
        ml_DomVec here = {0};

        for (size_t k = 0; k < b->n_iters; k++)
            ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
        r = ml_region_subst(cx, r, &sub);
        pred = ml_and(cx, ml_expr_subst(cx, pred, &sub), b->predicate);
        ml_relax_domain(cx, c->p, b->tag, last && !place->at_root ? place->node : 0, NULL,
                        &here);
        for (size_t k = 0; k < dom.n; k++)
            ml_push(cx, &here,
                    ((ml_Dom){dom.v[k].var, ml_expr_subst(cx, dom.v[k].min, &sub),
                              ml_expr_subst(cx, dom.v[k].extent, &sub)}));
        dom = here;
        if (last)
            break;
    }
    if (!ml_region_lower(ar, r.ranges, buf->rank, dom.v, dom.n, pred, box))
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

const ml_Stmt *ml_cache_nest(ml_Call *c, const ml_Cache *cache, bool in, ml_Uid *tag)
{
    ml_Ctx *cx = c->cx;
    size_t rank = cache->old->rank;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, rank);
    const ml_Var **loops = ML_ARRAY(cx, const ml_Var *, rank);
    const ml_Expr **at_old = ML_ARRAY(cx, const ml_Expr *, rank);
    const ml_Expr **at_new = ML_ARRAY(cx, const ml_Expr *, rank);
    ml_Arith *ar = ml_arith_new(cx);

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
        else
            iters[d].value = ml_simplify(ar, ml_add(cx, r->min, iters[d].value));
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

/* ---- rewiring */

typedef struct Rewire {
    ml_Call *c;
    const ml_Cache *cache;
    ml_CachePick *pick;
    void *user;
    bool on;                /* inside a block that is rewired */
    bool in_init;           /* inside of an init, whose blocks are in no scope */
    bool shifted;           /* indices move */
    bool matched;           /* a match_buffer target is a view of the new buffer */
    const ml_Block *opaque; /* the block that uses the pointer of a shifted buffer */
    const ml_Block *at;
    ml_Arith *ar;
    const ml_Stmt *before, *nest; /* ml_cache_install: the place */
} Rewire;

static const ml_Expr *shift(Rewire *rw, const ml_Expr *index, size_t d)
{
    ml_Ctx *cx = rw->c->cx;
    const ml_Expr *a = index, *min;

    if (!rw->cache->compact || ml_is_int(min = rw->cache->region[d].min, 0))
        return index;
    if (!ml_promote(cx, &a, &min))
        return index;
    return ml_simplify(rw->ar, ml_sub(cx, a, min));
}

static const ml_Expr *rewire_expr(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Rewire *rw = user;

    if (e->kind == ML_EXPR_VAR && e->as.var->uid == rw->cache->old->data->uid) {
        if (rw->shifted)
            rw->opaque = rw->at;
        return ml_var(cx, rw->cache->cached->data);
    }
    const ml_Expr *m = ml_expr_map_args(cx, e, rewire_expr, user);

    if (m->kind != ML_EXPR_LOAD || m->as.buffer->uid != rw->cache->old->uid)
        return m;
    size_t n = ml_load_rank(m);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, n);

    for (size_t d = 0; d < n; d++)
        idx[d] = shift(rw, m->args[d], d);
    return n < m->n_args ? ml_load_masked(cx, rw->cache->cached, idx, n, m->args[n])
                         : ml_load(cx, rw->cache->cached, idx, n);
}

static ml_Region rewire_region(Rewire *rw, ml_Region r)
{
    ml_Ctx *cx = rw->c->cx;

    r = ml_region_map_loads(cx, r, rewire_expr, rw);
    if (r.buffer->uid != rw->cache->old->uid)
        return r;
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, r.buffer->rank);

    for (size_t d = 0; d < r.buffer->rank; d++) {
        ranges[d].min = shift(rw, r.ranges[d].min, d);
        ranges[d].extent = ml_cast(cx, ranges[d].min->type, r.ranges[d].extent);
    }
    return (ml_Region){rw->cache->cached, ranges};
}

static const ml_Region *rewire_regions(Rewire *rw, const ml_Region *v, size_t n)
{
    ml_Region *out = NULL;

    for (size_t k = 0; k < n; k++) {
        ml_Region r = rewire_region(rw, v[k]);

        if (r.buffer == v[k].buffer && r.ranges == v[k].ranges)
            continue;
        if (!out) {
            out = ML_ARRAY(rw->c->cx, ml_Region, n);
            memcpy(out, v, n * sizeof *v);
        }
        out[k] = r;
    }
    return out ? out : v;
}

/* The regions with those of the new buffer beside those of the old one. */
static const ml_Region *add_regions(Rewire *rw, const ml_Region *v, uint32_t *n)
{
    ml_Region *out = ML_ARRAY(rw->c->cx, ml_Region, 2 * (size_t)*n + 1);
    uint32_t at = *n;

    memcpy(out, v, *n * sizeof *v);
    for (uint32_t k = 0; k < *n; k++)
        if (v[k].buffer->uid == rw->cache->old->uid)
            out[at++] = rewire_region(rw, v[k]);
    *n = at;
    return out;
}

static const ml_Stmt *rewire_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *rewire_block(Rewire *rw, const ml_Block *b)
{
    ml_Ctx *cx = rw->c->cx;
    int pick = rw->in_init ? (rw->on ? 1 : 0) : rw->pick(b, rw->user);
    bool was = rw->on, init = rw->in_init;
    const ml_Block *at = rw->at;

    if (was && !init)
        b = ml_block_map_head(cx, b, rewire_expr, rw);
    if (pick == 0)
        return &b->base;
    rw->on = pick == 1;
    rw->at = b;
    ml_Block nb = *b;

    nb.body = rewire_stmt(cx, b->body, rw);
    rw->in_init = true; /* its blocks go with the one that they initialise */
    if (b->init)
        nb.init = rewire_stmt(cx, b->init, rw);
    rw->in_init = init;
    if (rw->on) {
        nb.reads = rewire_regions(rw, b->reads, b->n_reads);
        nb.writes = rewire_regions(rw, b->writes, b->n_writes);
        for (size_t k = 0; k < b->n_matches; k++) {
            if (b->matches[k].source.buffer->uid != rw->cache->old->uid)
                continue;
            ml_Match *m = ML_ARRAY(cx, ml_Match, b->n_matches);

            memcpy(m, nb.matches, b->n_matches * sizeof *m);
            m[k].source = rewire_region(rw, b->matches[k].source);
            nb.matches = m;
            rw->matched = true;
        }
    }
    /* Of the blocks inside some use the one buffer, some the other. */
    if (pick == 2 && (nb.body != b->body || nb.init != b->init)) {
        if (b->n_reads)
            nb.reads = add_regions(rw, b->reads, &nb.n_reads);
        if (b->n_writes)
            nb.writes = add_regions(rw, b->writes, &nb.n_writes);
    }
    rw->on = was;
    rw->at = at;
    if (nb.body == b->body && nb.init == b->init && nb.reads == b->reads &&
        nb.writes == b->writes && nb.matches == b->matches)
        return &b->base;
    return ml_block_from(cx, &nb);
}

static const ml_Stmt *rewire_store(Rewire *rw, const ml_Stmt *s)
{
    ml_Ctx *cx = rw->c->cx;
    const ml_Store *st = ml_as_store(s);
    bool moved = st->buffer->uid == rw->cache->old->uid;
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, st->n);
    const ml_Expr *value = rewire_expr(cx, st->value, rw);
    const ml_Expr *mask = st->mask ? rewire_expr(cx, st->mask, rw) : NULL;
    bool changed = moved || value != st->value || mask != st->mask;

    for (size_t d = 0; d < st->n; d++) {
        idx[d] = rewire_expr(cx, st->indices[d], rw);
        if (moved)
            idx[d] = shift(rw, idx[d], d);
        changed |= idx[d] != st->indices[d];
    }
    if (!changed)
        return s;
    return ml_stmt_at(
        cx, ml_store(cx, moved ? rw->cache->cached : st->buffer, value, idx, st->n, mask),
        s->span);
}

static bool region_of(const ml_Region *v, size_t n, const ml_Buffer *buf)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == buf->uid)
            return true;
    return false;
}

static bool is_touched(const ml_Stmt *s, const ml_Buffer *buf);

typedef struct Touch {
    const ml_Buffer *buf;
    bool yes;
} Touch;

static void touch_child(const ml_Stmt *s, bool in_init, void *user)
{
    Touch *t = user;

    (void)in_init;
    t->yes = t->yes || is_touched(s, t->buf);
}

/* Whether a block at or below uses the buffer, by the signatures: large functions have many
 * nests that do not. */
static bool is_touched(const ml_Stmt *s, const ml_Buffer *buf)
{
    Touch t = {buf, false};

    if (!s->has_block)
        return false;
    if (s->kind == ML_STMT_FOR)
        return is_touched(ml_as_for(s)->body, buf);
    if (s->kind == ML_STMT_BLOCK) {
        const ml_Block *b = ml_as_block(s);

        if (region_of(b->reads, b->n_reads, buf) || region_of(b->writes, b->n_writes, buf))
            return true;
        for (size_t k = 0; k < b->n_matches; k++)
            if (b->matches[k].source.buffer->uid == buf->uid)
                return true;
    }
    ml_stmt_children(s, touch_child, &t);
    return t.yes;
}

static const ml_Stmt *rewire_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    Rewire *rw = user;
    const ml_Stmt *r;

    if (s->kind == ML_STMT_FOR && !rw->on && s != rw->before &&
        !is_touched(s, rw->cache->old))
        return s;
    if (s->kind == ML_STMT_BLOCK)
        r = rewire_block(rw, ml_as_block(s));
    else if (s->kind == ML_STMT_STORE)
        r = rw->on ? rewire_store(rw, s) : s;
    else
        r = ml_stmt_map(cx, s,
                        &(ml_Mapper){.stmt = rewire_stmt,
                                     .expr = rw->on ? rewire_expr : NULL,
                                     .user = user});
    if (rw->nest && s == rw->before) {
        const ml_Stmt *both[2] = {rw->nest, r};

        rw->nest = NULL;
        return ml_seq(cx, both, 2);
    }
    return r;
}

static Rewire rewire_state(ml_Call *c, const ml_Cache *cache, ml_CachePick *pick,
                           void *user)
{
    Rewire rw = {.c = c, .cache = cache, .pick = pick, .user = user};

    rw.ar = ml_arith_new(c->cx);
    for (size_t d = 0; d < cache->old->rank; d++)
        rw.shifted |= cache->compact && (!ml_is_int(cache->region[d].min, 0) ||
                                         cache->region[d].extent != cache->old->shape[d]);
    rw.shifted |= cache->old->n_strides > 0 || !ml_is_int(cache->old->elem_offset, 0);
    return rw;
}

static bool opaque_error(ml_Call *c, const Rewire *rw)
{
    return ml_fail(c->cx, ML_E_OPAQUE_ACCESS, ML_BUFFER(rw->cache->old),
                   ML_BLOCK(rw->opaque));
}

bool ml_cache_rewire(ml_Call *c, const ml_Cache *cache, const ml_Stmt *st,
                     ml_CachePick *pick, void *user, const ml_Stmt **out)
{
    Rewire rw = rewire_state(c, cache, pick, user);

    *out = rewire_stmt(c->cx, st, &rw);
    return rw.opaque ? opaque_error(c, &rw) : true;
}

/* ---- views: a view has the storage scope of what it shows */

typedef struct Views {
    ml_Ctx *cx;
    ml_Scope scope;
    ml_Subst sub;
    ml_Map *moved; /* uids of the buffer and its views */
    size_t n;
} Views;

static bool collect_views(const ml_Stmt *s, void *user)
{
    Views *v = user;

    if (s->kind != ML_STMT_BLOCK)
        return s->has_block;
    const ml_Block *b = ml_as_block(s);

    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Match *m = &b->matches[k];

        if (!ml_map_has(v->moved, m->source.buffer->uid) ||
            ml_map_has(v->moved, m->target->uid) || ml_scope_eq(m->target->scope, v->scope))
            continue;
        ml_Buffer nb = *m->target;

        nb.scope = v->scope;
        ml_map_set(v->cx, v->moved, m->target->uid, m->target);
        ml_subst_buffer(v->cx, &v->sub, m->target, ml_buffer_from(v->cx, &nb, true));
        v->n++;
    }
    return true;
}

/* st with all views of the buffer, and views of those, in its storage scope. */
static const ml_Stmt *views_follow(ml_Ctx *cx, const ml_Stmt *st, const ml_Buffer *buf)
{
    Views v = {.cx = cx, .scope = buf->scope, .moved = ml_map_new(cx)};

    ml_map_set(cx, v.moved, buf->uid, buf);
    ml_stmt_visit(st, collect_views, &v); /* outer views come before inner ones */
    return v.n > 0 ? ml_stmt_subst(cx, st, &v.sub) : st;
}

bool ml_cache_install(ml_Call *c, ml_Uid scope, const ml_Cache *cache,
                      const ml_CachePlace *place, const ml_Stmt *nest, ml_CachePick *pick,
                      void *user)
{
    ml_Ctx *cx = c->cx;
    ml_Block root = *ml_call_block(c, scope);
    Rewire rw = rewire_state(c, cache, pick, user);

    rw.before = place->before;
    rw.nest = place->before ? nest : NULL;
    root.body = rewire_stmt(cx, root.body, &rw);
    if (rw.opaque)
        return opaque_error(c, &rw);
    ML_ASSERT(!rw.nest); /* the place was found in this very scope */
    if (!place->before) {
        const ml_Stmt *both[2] = {root.body, nest};

        root.body = ml_seq(cx, both, 2);
    }
    root.body = views_follow(cx, root.body, cache->cached);
    const ml_Stmt *st = ml_block_from(cx, &root);

    st = &ml_block_add_alloc(cx, ml_as_block(st), cache->cached)->base;
    if (rw.matched)
        st = ml_views_follow(cx, st, cache->cached);
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, scope, st);
    return true;
}
