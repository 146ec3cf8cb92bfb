/*
 * cache_rewire - accesses of a buffer, in the blocks that are picked, go to its copy; the
 * copy nest and the new buffer are put in their place. Source: primitives 8.
 */
#include "moonloop/primitives/rewrite/cache.h"

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
    return ml_fail_opaque(c, rw->cache->old, rw->opaque);
}

bool ml_cache_rewire(ml_Call *c, const ml_Cache *cache, const ml_Stmt *st,
                     ml_CachePick *pick, void *user, const ml_Stmt **out)
{
    Rewire rw = rewire_state(c, cache, pick, user);

    *out = rewire_stmt(c->cx, st, &rw);
    return rw.opaque ? opaque_error(c, &rw) : true;
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
    root.body = ml_views_follow(cx, root.body, cache->cached, false);
    const ml_Stmt *st = ml_block_from(cx, &root);

    st = &ml_block_add_alloc(cx, ml_as_block(st), cache->cached)->base;
    if (rw.matched)
        st = ml_views_follow(cx, st, cache->cached, true);
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, scope, st);
    return true;
}
