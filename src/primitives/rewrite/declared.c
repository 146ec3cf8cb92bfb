/*
 * declared - whether what a block touches lies in what the blocks around it declare. Their
 * bindings and views are followed outwards, to where a buffer is allocated or to the root,
 * which declares everything. Source: ir-and-analysis 1.6.
 */
#include "moonloop/primitives/rewrite/move.h"

/* One of the declared regions of the buffer holds the box, or there is none to hold it. */
static bool holds(ml_Arith *ar, const ml_Region *said, size_t n, const ml_Buffer *buf,
                  const ml_Interval *box)
{
    bool any = false;

    for (size_t k = 0; k < n; k++) {
        bool in = said[k].buffer->uid == buf->uid;

        any |= in;
        for (size_t d = 0; d < buf->rank && in; d++) {
            ml_Interval all =
                ml_interval_range(ar, said[k].ranges[d].min, said[k].ranges[d].extent);

            in = ml_interval_includes(ar, all, box[d]) ||
                 ml_interval_includes(ar, all, ml_interval_inside(ar, box[d], buf, d));
        }
        if (in)
            return true;
    }
    return !any;
}

/* The box of a view that `around` matches, as a box of what it is matched from; dimensions
 * line up from the last. Repeated for views of views. */
static const ml_Buffer *through_views(ml_Ctx *cx, ml_Arith *ar, const ml_Block *around,
                                      const ml_Buffer *buf, ml_Interval **box)
{
    for (size_t k = around->n_matches; k-- > 0;) {
        const ml_Match *m = &around->matches[k];
        const ml_Buffer *src = m->source.buffer;
        ml_Interval *out = ML_ARRAY(cx, ml_Interval, src->rank + 1u);
        size_t extra = src->rank - buf->rank;

        if (m->target->uid != buf->uid)
            continue;
        for (size_t d = 0; d < src->rank; d++) {
            ml_Range r = m->source.ranges[d];
            ml_Interval i =
                d < extra ? ml_interval_range(ar, r.min, r.extent) : (*box)[d - extra];
            const ml_Expr *lo = i.min, *hi = i.max, *by = r.min;

            if (d >= extra && !i.nothing) {
                i.min = lo && ml_promote(cx, &lo, &by) ? ml_add(cx, lo, by) : NULL;
                by = r.min;
                i.max = hi && ml_promote(cx, &hi, &by) ? ml_add(cx, hi, by) : NULL;
            }
            out[d] = i;
        }
        *box = out;
        buf = src;
    }
    return buf;
}

static bool names(const ml_Region *v, size_t n, const ml_Buffer *buf)
{
    for (size_t k = 0; k < n; k++)
        if (v[k].buffer->uid == buf->uid)
            return true;
    return false;
}

/* Nothing of the buffer is declared there nor further out: what holds() asks is so. */
static bool ends_at(ml_Call *c, const ml_Block *around, const ml_Buffer *buf)
{
    if (around->n_matches > 0 || names(around->reads, around->n_reads, buf) ||
        names(around->writes, around->n_writes, buf))
        return false;
    for (size_t k = 0; k < around->n_allocs; k++)
        if (around->allocs[k]->uid == buf->uid)
            return true;
    return !ml_index_scope(c->p.index, around->tag);
}

/* Whether what is touched of buf in `block` is declared by every block around it; ranges
 * are in the block's iters. *who: the first that does not. */
static bool declared_around(ml_Call *c, ml_Uid block, const ml_Buffer *buf,
                            const ml_Range *ranges, bool write, ml_Uid *who)
{
    ml_Ctx *cx = c->cx;

    for (ml_Uid scope; (scope = ml_index_scope(c->p.index, block)) != 0; block = scope) {
        const ml_Block *b = ml_call_block(c, block), *around = ml_call_block(c, scope);

        if (ends_at(c, around, buf))
            return true;
        ml_Arith *ar = ml_arith_at(cx, c->p, scope);
        ml_Region there = {buf, ranges};
        ml_Interval *box = ML_ARRAY(cx, ml_Interval, buf->rank + 1u);
        ml_Subst sub = {0};
        ml_DomVec dom = {0};

        ml_arith_bind_iters(ar, around);
        ml_relax_domain(cx, c->p, block, 0, NULL, &dom);
        for (size_t k = 0; k < b->n_iters; k++)
            ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
        there = ml_region_subst(cx, there, &sub);
        ml_region_upper(ar, there.ranges, buf->rank, dom.v, dom.n, b->predicate, box);
        buf = through_views(cx, ar, around, buf, &box);
        if (!holds(ar, write ? around->writes : around->reads,
                   write ? around->n_writes : around->n_reads, buf, box) ||
            /* What it begins itself it does not say that it reads. */
            (around->init && !holds(ar, around->writes, around->n_writes, buf, box))) {
            *who = scope;
            return false;
        }
        for (size_t k = 0; k < around->n_allocs; k++)
            if (around->allocs[k]->uid == buf->uid)
                return true; /* nobody further out knows it */
        ml_Range *next = ML_ARRAY(cx, ml_Range, buf->rank + 1u);

        for (size_t d = 0; d < buf->rank; d++) {
            const ml_Expr *n = buf->shape[d];

            next[d] = ml_interval_cover(ar, ml_interval_inside(ar, box[d], buf, d),
                                        (ml_Range){ml_int(cx, n->type, 0), n});
        }
        ranges = next;
    }
    return true;
}

bool ml_check_stays_declared(ml_Call *c, ml_Uid block)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *b = ml_call_block(c, block);

    for (size_t k = 0; k < (size_t)b->n_reads + b->n_writes; k++) {
        bool write = k >= b->n_reads;
        const ml_Region *r = write ? &b->writes[k - b->n_reads] : &b->reads[k];
        ml_Uid who = 0;

        if (declared_around(c, block, r->buffer, r->ranges, write, &who))
            continue;
        const ml_Block *around = ml_call_block(c, who);

        return ml_unproved(
            cx, ML_E_REGION_UNDECLARED,
            "block {0} declares to {1} all of {2} that block {3} inside of it {4}",
            ML_BLOCK(around), ML_TEXT(write ? "write" : "read"), ML_BUFFER(r->buffer),
            ML_BLOCK(b), ML_TEXT(write ? "writes" : "reads"));
    }
    return true;
}
