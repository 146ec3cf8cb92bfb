/*
 * blockize_inside - see blockize_inside.h.
 *
 * The block inside keeps its tag and its body, over the inner iters; what the new block
 * reads and writes are the hulls of the old regions over them, exact for what is written.
 * Source: primitives 10, blockize.
 */
#include "moonloop/primitives/rewrite/blockize_inside.h"

ml_Inside ml_inside_begin(ml_Call *c, const ml_Tile *t)
{
    ml_Inside in = {.c = c, .cx = c->cx, .t = t};

    in.outer = ML_ARRAY(c->cx, const ml_Var *, t->block->n_iters + 1);
    in.inner = ML_ARRAY(c->cx, const ml_Var *, t->block->n_iters + 1);
    in.ar = ml_arith_at(c->cx, c->p, ml_index_scope(c->p.index, t->block->tag));
    ml_arith_bind_iters(in.ar, ml_call_block(c, ml_index_scope(c->p.index, t->block->tag)));
    return in;
}

/* Makes the inner iter k where there is more than one value (or `always`), and what the old
 * iter is. outer[k] is set. */
void ml_inside_iter(ml_Inside *in, size_t k, bool always)
{
    const ml_Iter *it = &in->t->block->iters[k];
    ml_Range r = ml_tile_inner(in->t, k);

    in->inner[k] = NULL;
    if (always || !ml_is_int(r.extent, 1)) {
        in->inner[k] =
            ml_var_new(in->cx, ml_format(in->cx, "%s_i", it->var->hint), it->var->type);
        ml_push(in->cx, &in->dom, ((ml_Dom){in->inner[k], r.min, r.extent}));
        ml_arith_bind_range(in->ar, in->inner[k], r.min, r.extent);
    }
    const ml_Expr *v = ml_tile_value(in->cx, in->t, k, in->outer[k], in->inner[k]);

    ml_subst_var(in->cx, &in->sub, it->var, v);
}

ml_Iter ml_inside_as_iter(const ml_Inside *in, size_t k)
{
    const ml_Iter *it = &in->t->block->iters[k];
    ml_Range r = ml_tile_inner(in->t, k);

    return (ml_Iter){.var = in->inner[k],
                     .min = r.min,
                     .extent = r.extent,
                     .value = in->t->d.inner[k].value,
                     .kind = it->kind,
                     .span = it->span};
}

/* The block over the inner iters; without its init when that moves outside. */
const ml_Block *ml_inside_block(const ml_Inside *in, bool init_moves)
{
    ml_Ctx *cx = in->cx;
    const ml_Block *b = in->t->block;
    ml_Block nb = *b;
    ml_Iter *iters = ML_ARRAY(cx, ml_Iter, b->n_iters + 1);

    nb.n_iters = 0;
    for (size_t k = 0; k < b->n_iters; k++)
        if (in->inner[k])
            iters[nb.n_iters++] = ml_inside_as_iter(in, k);
    nb.iters = iters;
    nb.predicate = in->t->d.inner_pred;
    if (init_moves) {
        ml_Region *reads = ML_ARRAY(cx, ml_Region, b->n_reads + b->n_writes);

        memcpy(reads, b->writes, b->n_writes * sizeof *reads);
        if (b->n_reads)
            memcpy(reads + b->n_writes, b->reads, b->n_reads * sizeof *reads);
        nb.reads = reads;
        nb.n_reads = b->n_reads + b->n_writes;
        ml_block_keep_said(cx, b, &nb);
        nb.init = NULL;
    }
    const ml_Stmt *st = ml_block_from(cx, &nb);

    return ml_as_block(ml_stmt_subst(cx, st, &in->sub));
}

/* Loops whose variable is an outer value have it as the outer iter inside. */
void ml_inside_names(ml_Inside *in, ml_Subst *loops)
{
    for (size_t k = 0; k < in->t->block->n_iters; k++) {
        const ml_Expr *v = in->t->d.outer[k].value;

        if (in->outer[k] && v->kind == ML_EXPR_VAR &&
            ml_dtype_eq(v->type, in->outer[k]->type))
            ml_subst_var(in->cx, loops, v->as.var, ml_var(in->cx, in->outer[k]));
    }
}

/* What regions are taken over: the inner iters; where these need not take all of their
 * domains, or there are none, the loops inside. */
void ml_inside_domain(ml_Inside *in)
{
    ml_Ctx *cx = in->cx;
    ml_Subst loops = {0};

    in->over = in->sub;
    in->pred = ml_bool(cx, true);
    if (!in->t->d.trivial && in->t->block->n_iters > 0)
        return;
    in->over = (ml_Subst){0};
    in->pred = in->t->d.inner_pred;
    ml_inside_names(in, &loops);
    in->dom.n = 0;
    for (size_t k = 0; k < in->t->below.n; k++) {
        const ml_For *f = ml_as_for(in->t->below.v[k]);
        ml_Dom d = {f->var, f->min, f->extent};

        if (loops.vars) {
            d.min = ml_expr_subst(cx, d.min, &loops);
            d.extent = ml_expr_subst(cx, d.extent, &loops);
        }
        ml_arith_bind_range(in->ar, d.var, d.min, d.extent);
        ml_push(cx, &in->dom, d);
    }
    for (size_t k = 0; k < in->t->block->n_iters; k++) {
        const ml_Iter *it = &in->t->block->iters[k];
        const ml_Expr *v = ml_tile_value(cx, in->t, k, in->outer[k], in->inner[k]);

        if (in->inner[k])
            v = ml_expr_subst1(cx, v, in->inner[k],
                               ml_cast(cx, in->inner[k]->type, in->t->d.inner[k].value));
        ml_subst_var(cx, &in->over, it->var, v);
    }
}

static void add_box(ml_Inside *in, ml_Hulls *h, size_t at, const ml_Region *r)
{
    ml_Interval *box = ML_ARRAY(in->cx, ml_Interval, r->buffer->rank + 1u);

    for (size_t d = 0; d < r->buffer->rank; d++)
        box[d] = ml_interval_range(in->ar, r->ranges[d].min, r->ranges[d].extent);
    ml_boxes_add(h->boxes[at], box);
}

void ml_hulls_add(ml_Inside *in, ml_Hulls *h, const ml_Region *r)
{
    ml_Ctx *cx = in->cx;
    bool exact;
    size_t at = 0, rank = r->buffer->rank;
    ml_Region moved = in->over.vars ? ml_region_subst(cx, *r, &in->over) : *r;
    ml_Region hull = ml_tile_hull(in->ar, moved, &in->dom, in->pred, &exact);

    while (at < h->n && h->v[at].buffer->uid != r->buffer->uid)
        at++;
    if (at == h->n) {
        h->n++;
        h->v[at] = hull;
        h->exact[at] = exact;
        h->boxes[at] = ml_boxes_new(in->ar, rank);
        add_box(in, h, at, &hull);
        return;
    }
    ml_Range *ranges = ML_ARRAY(cx, ml_Range, rank + 1);

    add_box(in, h, at, &hull);
    for (size_t d = 0; d < rank; d++) {
        ml_Range a = h->v[at].ranges[d], b = hull.ranges[d];
        ml_Interval both =
            ml_interval_union(in->ar, ml_interval_range(in->ar, a.min, a.extent),
                              ml_interval_range(in->ar, b.min, b.extent));

        ranges[d] =
            ml_interval_cover(in->ar, both,
                              (ml_Range){ml_int(cx, a.min->type, 0),
                                         ml_cast(cx, a.min->type, r->buffer->shape[d])});
    }
    h->v[at].ranges = ranges;
    h->exact[at] &= exact;
}

ml_Hulls ml_hulls_begin(ml_Ctx *cx, size_t room)
{
    return (ml_Hulls){.v = ML_ARRAY(cx, ml_Region, room + 1),
                      .exact = ML_ARRAY(cx, bool, room + 1),
                      .boxes = ML_ARRAY(cx, ml_Boxes *, room + 1)};
}

bool ml_hulls_exact(ml_Call *c, const ml_Hulls *h, const ml_Block *b)
{
    if (ml_never_runs(c->p, b->tag)) /* nothing is written */
        return true;
    for (size_t k = 0; k < h->n && ml_call_asks(c, ML_SOUND); k++)
        if (!h->exact[k] || ml_boxes_count(h->boxes[k]) > 1) {
            return ml_unproved(c->cx, ML_E_PART_WRITTEN,
                               "what is written of {0} is one box; the new block would be "
                               "said to write more than it writes",
                               ML_BUFFER(h->v[k].buffer), ML_BLOCK(b));
        }
    return true;
}

bool ml_tile_reads_inside(ml_Call *c, const ml_Tile *t)
{
    const ml_Block *b = t->block;
    bool loads = b->predicate->flags & ML_X_HAS_LOAD;
    const ml_For *loop = NULL;

    for (size_t k = 0; k < b->n_iters; k++)
        loads |= (b->iters[k].value->flags & ML_X_HAS_LOAD) != 0;
    for (size_t k = 0; k < t->below.n; k++) {
        const ml_For *f = ml_as_for(t->below.v[k]);

        if ((f->min->flags | f->extent->flags) & ML_X_HAS_LOAD)
            loop = f;
    }
    if (loop)
        return ml_fail_as(
            c->cx, ML_E_REGION_UNDECLARED,
            "the bounds of loop {0} read memory; the new block would not declare that",
            ML_LOOP(loop), ML_BLOCK(b));
    return !loads || ml_fail_as(c->cx, ML_E_REGION_UNDECLARED,
                                "the condition or a binding of block {0} reads memory; the "
                                "new block would not declare that",
                                ML_BLOCK(b));
}
