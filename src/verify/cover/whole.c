/*
 * whole - what blocks that share one task do of it together.
 *
 * A cut loop (loop_partition, tiles without their rest) leaves pieces: blocks of which each
 * executes a part of the domain that their iters still have. What matters is that nothing
 * of the domain is left out: as points of the iters for a reduction, as elements for an
 * output. Shown as boxes, as boxes with gaps, and by counting where there are few points.
 * Source: ir-and-analysis 5.1 rule 4.
 */
#include "moonloop/verify/cover/whole.h"

#include "moonloop/core/arith/points.h"
#include "moonloop/verify/cover/cover_strides.h"

enum { MAX_CELLS = 1 << 16, MAX_POINTS = 1 << 18, MAX_RANK = 8 };

typedef ML_VEC(ml_Access1) Parts;

void ml_wide_domain(ml_Ctx *cx, ml_Program p, ml_Uid block, ml_DomVec *out)
{
    ml_DomVec up = {0};

    for (ml_Up u = ml_index_up(p.index, block); u.node; ml_index_next(&u)) {
        if (u.node->kind == ML_STMT_FOR) {
            const ml_For *f = ml_as_for(u.node);

            ml_push(cx, &up, ((ml_Dom){f->var, f->min, f->extent}));
            continue;
        }
        const ml_Block *b = ml_as_block(u.node);

        for (size_t k = b->n_iters; k-- > 0;)
            ml_push(cx, &up,
                    ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
        if (b->n_iters > 0)
            break;
    }
    while (up.n > 0)
        ml_push(cx, out, up.v[--up.n]);
}

/* The first block outwards that has iters; 0: none. */
static ml_Uid driver(ml_Program p, const ml_Block *b)
{
    for (ml_Uid u = ml_index_scope(p.index, b->tag); u; u = ml_index_scope(p.index, u))
        if (ml_as_block(ml_index_node(p.index, u))->n_iters > 0)
            return u;
    return 0;
}

bool ml_works_beside(ml_Program p, const ml_Block *a, const ml_Block *b)
{
    return a != b && !ml_index_is_above(p.index, a->tag, b->tag) &&
           !ml_index_is_above(p.index, b->tag, a->tag);
}

/* Whether what a does counts as it is: b itself, or another block under the same iters. One
 * under the iters of another block is counted with that. */
static bool counts(ml_Program p, const ml_Block *a, const ml_Block *b)
{
    return a == b || (ml_works_beside(p, a, b) && driver(p, a) == driver(p, b));
}

/* ---- one question: whether the cells that are asked for are among those done */

typedef struct Ask {
    ml_Ctx *cx;
    ml_Arith *ar;
    size_t rank;
    ml_Access1 want;
    Parts parts;
} Ask;

typedef struct Cells {
    const ml_Access1 *a;
    size_t rank;
    int64_t lo[MAX_RANK], n[MAX_RANK];
    uint8_t *done;
    bool asking; /* instead of marking */
    bool missing;
} Cells;

static void cell(Cells *c, ml_Point *at, size_t d, size_t index)
{
    if (d == c->rank) {
        if (!c->asking)
            c->done[index] = 1;
        else if (!c->done[index])
            c->missing = true;
        return;
    }
    int64_t lo = ml_value_at(at, c->a->ranges[d].min);
    int64_t n = ml_value_at(at, c->a->ranges[d].extent), hi;

    if (at->unknown || __builtin_add_overflow(lo, n, &hi)) {
        at->unknown = true;
        return;
    }
    if (lo < c->lo[d])
        lo = c->lo[d];
    if (hi > c->lo[d] + c->n[d])
        hi = c->lo[d] + c->n[d];
    for (int64_t v = lo; v < hi && !at->unknown; v++)
        cell(c, at, d + 1, index * (size_t)c->n[d] + (size_t)(v - c->lo[d]));
}

static void cells_of_point(ml_Point *at, void *user)
{
    cell(user, at, 0, 0);
}

/* By counting; box: what is asked for lies in it. */
static ml_Whole count(Ask *q, const ml_Interval *box)
{
    int64_t total = 1, budget = MAX_POINTS;
    Cells c = {.rank = q->rank};

    for (size_t d = 0; d < q->rank; d++) {
        if (!box[d].min || !box[d].max || !ml_is_const_int(box[d].min) ||
            !ml_is_const_int(box[d].max) || box[d].max->as.i >= INT32_MAX ||
            box[d].min->as.i <= INT32_MIN)
            return ML_WHOLE_UNKNOWN;
        c.lo[d] = box[d].min->as.i;
        c.n[d] = box[d].max->as.i - c.lo[d] + 1;
        if (c.n[d] <= 0)
            return ML_WHOLE_UNKNOWN;
        if (__builtin_mul_overflow(total, c.n[d], &total) || total > MAX_CELLS)
            return ML_WHOLE_UNKNOWN;
    }
    c.done = ML_ARRAY(q->cx, uint8_t, (size_t)total);
    for (size_t k = 0; k < q->parts.n; k++) {
        c.a = &q->parts.v[k];
        if (!ml_each_point(c.a->dom, c.a->n_dom, c.a->pred, &budget, cells_of_point, &c))
            return ML_WHOLE_UNKNOWN;
    }
    c.a = &q->want;
    c.asking = true;
    if (!ml_each_point(c.a->dom, c.a->n_dom, c.a->pred, &budget, cells_of_point, &c))
        return ML_WHOLE_UNKNOWN;
    return c.missing ? ML_WHOLE_PART : ML_WHOLE_DONE;
}

/* box: the hull of what is asked for. */
static ml_Whole answer(Ask *q, const ml_Interval *box)
{
    ml_Boxes *boxes = ml_boxes_new(q->ar, q->rank);
    ml_Interval *part = ML_ARRAY(q->cx, ml_Interval, q->rank + 1u);

    for (size_t d = 0; d < q->rank; d++)
        if (box[d].nothing)
            return ML_WHOLE_UNKNOWN;
    for (size_t k = 0; k < q->parts.n; k++) {
        const ml_Access1 *a = &q->parts.v[k];

        if (ml_region_lower(q->ar, a->ranges, q->rank, a->dom, a->n_dom, a->pred, part))
            ml_boxes_add(boxes, part);
    }
    if (ml_boxes_cover(boxes, box, NULL) ||
        ml_strides_cover(q->ar, q->rank, q->parts.v, q->parts.n, &q->want, box))
        return ML_WHOLE_DONE;
    return count(q, box);
}

/* ---- points of the iters */

static ml_Subst iters_as_bound(ml_Ctx *cx, const ml_Block *b)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    return sub;
}

/* Whether a does what b does for other values of its iters, as far as its signature says.
 */
static bool is_piece(ml_Ctx *cx, const ml_Block *a, const ml_Block *b)
{
    ml_Subst sub = {0};

    if (a->n_iters != b->n_iters || a->n_writes != b->n_writes)
        return false;
    for (size_t k = 0; k < a->n_iters; k++) {
        if (a->iters[k].kind != b->iters[k].kind ||
            !ml_dtype_eq(a->iters[k].var->type, b->iters[k].var->type))
            return false;
        ml_subst_var(cx, &sub, a->iters[k].var, ml_var(cx, b->iters[k].var));
    }
    for (size_t k = 0; k < a->n_writes; k++) {
        const ml_Region *x = &a->writes[k], *y = &b->writes[k];

        if (x->buffer->uid != y->buffer->uid)
            return false;
        for (size_t d = 0; d < x->buffer->rank; d++)
            if (ml_expr_subst(cx, x->ranges[d].min, &sub) != y->ranges[d].min ||
                ml_expr_subst(cx, x->ranges[d].extent, &sub) != y->ranges[d].extent)
                return false;
    }
    return true;
}

ml_Whole ml_iter_whole(ml_Ctx *cx, ml_Program p, const ml_StmtVec *blocks,
                       const ml_Block *b, size_t k)
{
    Ask q = {.cx = cx, .ar = ml_arith_at(cx, p, b->tag), .rank = b->n_iters};
    ml_Interval box[MAX_RANK + 1];
    ml_DomVec dom = {0};
    ml_Range *r = ML_ARRAY(cx, ml_Range, b->n_iters + 1u);
    const ml_Iter *it = &b->iters[k];
    const ml_Var *any = ml_var_new(cx, it->var->hint, it->var->type);

    if (b->n_iters > MAX_RANK)
        return ML_WHOLE_UNKNOWN;
    for (size_t m = 0; m < blocks->n; m++) {
        const ml_Block *a = ml_as_block(blocks->v[m]);
        ml_DomVec own = {0};

        if (!counts(p, a, b) || !is_piece(cx, a, b))
            continue;
        ml_Range *bound = ML_ARRAY(cx, ml_Range, a->n_iters + 1u);

        ml_wide_domain(cx, p, a->tag, &own);
        for (size_t d = 0; d < a->n_iters; d++)
            bound[d] =
                (ml_Range){a->iters[d].value, ml_int(cx, a->iters[d].value->type, 1)};
        ml_push(cx, &q.parts, ((ml_Access1){bound, own.v, own.n, a->predicate}));
    }
    ml_wide_domain(cx, p, b->tag, &dom);
    for (size_t d = 0; d < b->n_iters; d++)
        r[d] = (ml_Range){b->iters[d].value, ml_int(cx, b->iters[d].value->type, 1)};
    r[k].min = ml_var(cx, any);
    ml_push(cx, &dom, ((ml_Dom){any, it->min, it->extent}));
    q.want = (ml_Access1){r, dom.v, dom.n, b->predicate};
    ml_region_upper(q.ar, r, q.rank, dom.v, dom.n, b->predicate, box);
    return answer(&q, box);
}

/* ---- elements of outputs */

static bool has_view(const ml_StmtVec *blocks, const ml_Buffer *buf)
{
    for (size_t k = 0; k < blocks->n; k++) {
        const ml_Block *b = ml_as_block(blocks->v[k]);

        for (size_t m = 0; m < b->n_matches; m++)
            if (b->matches[m].source.buffer->uid == buf->uid)
                return true;
    }
    return false;
}

/* Whether a block that does not count beside b writes the buffer: it may do the rest. */
static bool written_elsewhere(ml_Program p, const ml_StmtVec *blocks, const ml_Block *b,
                              const ml_Buffer *buf)
{
    for (size_t k = 0; k < blocks->n; k++) {
        const ml_Block *a = ml_as_block(blocks->v[k]);

        if (!ml_works_beside(p, a, b) || counts(p, a, b))
            continue;
        for (size_t w = 0; w < a->n_writes; w++)
            if (a->writes[w].buffer->uid == buf->uid)
                return true;
    }
    return false;
}

ml_Whole ml_output_whole(ml_Ctx *cx, ml_Program p, const ml_StmtVec *blocks,
                         const ml_Block *b, size_t k)
{
    ml_Whole all = ML_WHOLE_DONE;
    uint32_t func = ml_index_func(p.index, b->tag);
    const ml_Iter *it = &b->iters[k];
    const ml_Var *any = ml_var_new(cx, it->var->hint, it->var->type);
    ml_Subst mine = {0};
    ml_DomVec dom = {0};

    for (size_t d = 0; d < b->n_iters; d++)
        ml_subst_var(cx, &mine, b->iters[d].var,
                     d == k ? ml_var(cx, any) : b->iters[d].value);
    ml_wide_domain(cx, p, b->tag, &dom);
    ml_push(cx, &dom, ((ml_Dom){any, it->min, it->extent}));
    for (size_t m = 0; m < b->n_writes && all == ML_WHOLE_DONE; m++) {
        const ml_Buffer *buf = b->writes[m].buffer;
        Ask q = {.cx = cx, .ar = ml_arith_at(cx, p, b->tag), .rank = buf->rank};
        ml_Interval box[MAX_RANK + 1];

        bool view = false;

        if (ml_buffer_site(p, func, buf, &view) && !view)
            continue;
        if (view || buf->rank > MAX_RANK || has_view(blocks, buf))
            return ML_WHOLE_UNKNOWN;
        for (size_t n = 0; n < blocks->n; n++) {
            const ml_Block *a = ml_as_block(blocks->v[n]);
            ml_Subst sub = iters_as_bound(cx, a);
            ml_DomVec own = {0};

            if (!counts(p, a, b))
                continue;
            ml_wide_domain(cx, p, a->tag, &own);
            for (size_t w = 0; w < a->n_writes; w++)
                if (a->writes[w].buffer->uid == buf->uid)
                    ml_push(cx, &q.parts,
                            ((ml_Access1){ml_region_subst(cx, a->writes[w], &sub).ranges,
                                          own.v, own.n, a->predicate}));
        }
        const ml_Region r = ml_region_subst(cx, b->writes[m], &mine);

        q.want = (ml_Access1){r.ranges, dom.v, dom.n, b->predicate};
        ml_region_upper(q.ar, r.ranges, q.rank, dom.v, dom.n, b->predicate, box);
        for (size_t d = 0; d < buf->rank; d++)
            box[d] = ml_interval_inside(q.ar, box[d], buf, d);
        all = answer(&q, box);
        if (all == ML_WHOLE_PART && written_elsewhere(p, blocks, b, buf))
            all = ML_WHOLE_UNKNOWN;
    }
    return all;
}
