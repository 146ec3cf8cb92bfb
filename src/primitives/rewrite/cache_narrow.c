/*
 * cache_narrow - how much of an input readers use when blocks inside them have predicates.
 *
 * A block's declared region is what its inner blocks read without their predicates; a copy
 * of the input needs only what is read under them. Taken for every reader of the copy, not
 * for the named one alone: nobody may look beside the copy. Source: primitives 8,
 * cache_read, Region.
 */
#include "moonloop/primitives/rewrite/cache.h"

bool ml_cache_read_guarded(ml_Call *c, ml_Uid block, const ml_Buffer *buf)
{
    ml_StmtVec inner = {0};

    ml_all_blocks(c->cx, ml_call_block(c, block)->body, &inner);
    for (size_t k = 0; k < inner.n; k++)
        if (!ml_is_true(ml_as_block(inner.v[k])->predicate) &&
            ml_read_of(ml_as_block(inner.v[k]), buf))
            return true;
    return false;
}

typedef struct Loads {
    const ml_Buffer *buf;
    size_t n;
    bool views;
} Loads;

static bool count_load(const ml_Expr *e, void *user)
{
    Loads *l = user;

    l->n += e->kind == ML_EXPR_LOAD && e->as.buffer->uid == l->buf->uid;
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static bool count_stmt(const ml_Stmt *s, void *user)
{
    Loads *l = user;

    ml_stmt_visit_exprs(s, ML_ROLES_BUT_REGION, count_load, l);
    l->views |= s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_matches > 0;
    return true;
}

static size_t loads(const ml_Stmt *s, const ml_Buffer *buf, bool *views)
{
    Loads l = {buf, 0, false};

    ml_stmt_visit(s, count_stmt, &l);
    *views |= l.views;
    return l.n;
}

/* One region of a block inside `reader`, relaxed to the scope under all predicates. */
static void relax_out(ml_Call *c, ml_Arith *ar, const ml_Block *b, const ml_Region *region,
                      ml_Uid reader, ml_Interval *box)
{
    ml_Outside o = ml_region_outside(c, b, region, reader, 0);

    ml_region_upper(ar, o.region.ranges, region->buffer->rank, o.dom.v, o.dom.n, o.pred,
                    box);
}

typedef struct Hull {
    ml_Arith *ar;
    ml_Interval *box;
    bool any;
} Hull;

static void join(Hull *h, const ml_Interval *box, size_t rank)
{
    for (size_t d = 0; d < rank; d++)
        h->box[d] = h->any ? ml_interval_union(h->ar, h->box[d], box[d]) : box[d];
    h->any = true;
}

static void add_reader(ml_Call *c, const ml_Block *reader, const ml_Buffer *buf, Hull *h)
{
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, buf->rank + 1u);
    ml_StmtVec inner = {0}, leaves = {0};
    bool views = false;
    size_t all = loads(&reader->base, buf, &views);

    ml_all_blocks(c->cx, reader->body, &inner);
    for (size_t k = 0; k < inner.n; k++) {
        const ml_Block *b = ml_as_block(inner.v[k]);
        ml_StmtVec below = {0};

        ml_child_blocks(c->cx, &b->base, &below);
        if (below.n > 0 || !ml_read_of(b, buf))
            continue;
        ml_push(c->cx, &leaves, inner.v[k]);
        all -= loads(inner.v[k], buf, &views);
    }
    /* Loads that no leaf has, or through views: what the reader itself declares. */
    if (all > 0 || views || leaves.n == 0) {
        leaves.n = 0;
        ml_push(c->cx, &leaves, &reader->base);
    }
    for (size_t k = 0; k < leaves.n; k++) {
        const ml_Block *b = ml_as_block(leaves.v[k]);

        for (size_t m = 0; m < b->n_reads; m++)
            if (b->reads[m].buffer->uid == buf->uid) {
                relax_out(c, h->ar, b, &b->reads[m], reader->tag, box);
                join(h, box, buf->rank);
            }
    }
}

void ml_cache_narrow(ml_Call *c, ml_Uid scope, const ml_UidVec *readers,
                     const ml_Buffer *buf, ml_Range *region)
{
    ml_Ctx *cx = c->cx;
    Hull h = {.box = ML_ARRAY(cx, ml_Interval, buf->rank + 1u)};

    h.ar = ml_arith_at(cx, c->p, scope);
    ml_arith_bind_iters(h.ar, ml_call_block(c, scope));
    for (size_t k = 0; k < readers->n; k++) /* of this scope only */
        if (ml_index_scope(c->p.index, readers->v[k]) != scope)
            return;
    for (size_t k = 0; k < readers->n; k++)
        add_reader(c, ml_call_block(c, readers->v[k]), buf, &h);
    for (size_t d = 0; h.any && d < buf->rank; d++) {
        const ml_Expr *n = buf->shape[d];
        ml_Interval whole = ml_interval_range(h.ar, region[d].min, region[d].extent);

        region[d] = ml_interval_cover(h.ar, ml_interval_intersect(h.ar, h.box[d], whole),
                                      region[d]);
        region[d].min = ml_cast(cx, n->type, region[d].min);
        region[d].extent = ml_cast(cx, n->type, region[d].extent);
    }
}
