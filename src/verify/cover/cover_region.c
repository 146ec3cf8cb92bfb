/*
 * cover_region - one region that is read, against its producers: boxes of what they surely
 * write, else strides or the consumer's own formula; and what is missing, in words.
 * Source: ir-and-analysis 2.4, 5.4.
 */
#include "moonloop/verify/cover/cover_impl.h"

#include "moonloop/core/base/fault.h"

static bool find_choice(const ml_Stmt *s, void *user)
{
    bool *found = user; /* an if without else */

    *found |= s->kind == ML_STMT_IF && !ml_as_if(s)->other;
    return !*found;
}

bool ml_cover_by_choice(const ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                        const ml_UidVec *producers)
{
    bool found = false;
    size_t n = 0;

    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *b = ml_as_block(ml_index_node(c->p.index, producers->v[k]));
        bool one = false;

        for (size_t m = 0; m < b->n_writes; m++)
            one |= b->writes[m].buffer->uid == declared->buffer->uid;
        n += one;
    }
    if (n > 1)
        ml_stmt_visit(w->body, find_choice, &found);
    return found;
}

static bool writes_whole(ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                         const ml_UidVec *producers)
{
    if (ml_region_is_point(declared) && !w->body->has_block)
        return !ml_cover_by_choice(c, w, declared, producers);
    return !ml_may_have_holes(c->cx, c->p, w, declared);
}

/* What a producer surely writes, in terms of what is around it: its region, or the stores
 * inside when that has holes. */
static void written_parts(ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                          const ml_CoverAround *around, bool whole, ml_AccessVec *out)
{
    const ml_Expr *pred;
    ml_AccessVec inside = {0};

    if (whole) {
        ml_Region r = ml_cover_outward(c, w, declared, around, &pred);

        ml_push(c->cx, out, ((ml_Access1){r.ranges, around->dom.v, around->dom.n, pred}));
        return;
    }
    ml_stores_inside(c->cx, w, declared, &inside);
    for (size_t k = 0; k < inside.n; k++) {
        const ml_Region here = {declared->buffer, inside.v[k].ranges};
        ml_Region r = ml_cover_outward(c, w, &here, around, &pred);
        ml_DomVec dom = {0};
        ml_Subst sub = {0};

        for (size_t m = 0; m < w->n_iters; m++)
            ml_subst_var(c->cx, &sub, w->iters[m].var, w->iters[m].value);
        for (size_t m = 0; m < around->dom.n; m++)
            ml_push(c->cx, &dom, around->dom.v[m]);
        for (size_t m = 0; m < inside.v[k].n_dom; m++) {
            ml_Dom d = inside.v[k].dom[m];

            d.min = ml_expr_subst(c->cx, d.min, &sub);
            d.extent = ml_expr_subst(c->cx, d.extent, &sub);
            ml_push(c->cx, &dom, d);
        }
        pred = ml_and(c->cx, pred, ml_expr_subst(c->cx, inside.v[k].pred, &sub));
        ml_push(c->cx, out, ((ml_Access1){r.ranges, dom.v, dom.n, pred}));
    }
}

static void clip(ml_Cover *c, const ml_Buffer *buf, ml_Interval *box)
{
    for (size_t d = 0; d < buf->rank; d++)
        box[d] = ml_interval_inside(c->ar, box[d], buf, d);
}

static const ml_Expr *at_unit_loops(ml_Cover *c, const ml_Expr *e, const ml_Dom *dom,
                                    size_t n)
{
    ml_Subst sub = {0};
    const ml_Expr *to;

    for (size_t k = 0; k < n; k++)
        if (ml_is_int(dom[k].extent, 1))
            ml_subst_var(c->cx, &sub, dom[k].var, dom[k].min);
    to = sub.vars ? ml_expr_subst(c->cx, e, &sub) : e;
    return to == e ? e : ml_simplify(c->ar, to); /* else as the reader's guard says it */
}

/* A producer's predicate without the conjuncts that only outer loops decide and that hold
 * wherever an instance of the consumer runs: where none does, nothing is read. */
static const ml_Expr *where_read(ml_Cover *c, const ml_Expr *pred, const ml_Dom *own,
                                 size_t n_own, const ml_Expr *given, const ml_DomVec *inner)
{
    pred = at_unit_loops(c, pred, own, n_own);
    if (ml_is_true(pred))
        return pred;
    if (pred->kind == ML_EXPR_AND)
        return ml_and(c->cx, where_read(c, pred->args[0], own, n_own, given, inner),
                      where_read(c, pred->args[1], own, n_own, given, inner));
    for (size_t k = 0; k < n_own; k++)
        if (ml_expr_uses_var(pred, own[k].var))
            return pred;
    ml_ArithMark mark = ml_arith_save(c->ar);

    for (size_t k = 0; k < inner->n; k++)
        ml_arith_bind_range(c->ar, inner->v[k].var, inner->v[k].min, inner->v[k].extent);
    ml_arith_assume(c->ar, at_unit_loops(c, given, inner->v, inner->n));
    bool holds = ml_prove_cases(c->ar, pred);

    ml_arith_restore(c->ar, mark);
    return holds ? ml_bool(c->cx, true) : pred;
}

/* What holds where an instance of the consumer reads an element that there is: its
 * predicate, and that the region meets the buffer. */
static const ml_Expr *touched(ml_Cover *c, const ml_Buffer *buf, const ml_Region *r,
                              const ml_DomVec *dom, const ml_Expr *given)
{
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, buf->rank + 1u);

    ml_region_upper(c->ar, r->ranges, buf->rank, dom->v, dom->n, given, box);
    for (size_t d = 0; d < buf->rank; d++) {
        const ml_Expr *lo = box[d].min, *hi = box[d].max, *n = buf->shape[d];

        if (box[d].nothing)
            continue;
        if (hi)
            given = ml_and(c->cx, given, ml_ge(c->cx, hi, ml_int(c->cx, hi->type, 0)));
        if (lo && ml_promote(c->cx, &lo, &n))
            given = ml_and(c->cx, given, ml_lt(c->cx, lo, n));
    }
    return given;
}

/* Whether some iteration of the access runs wherever an instance of the consumer does. */
static bool runs_where_read(ml_Cover *c, const ml_Access1 *a, const ml_Expr *given,
                            const ml_DomVec *inner)
{
    const ml_Expr *cond = ml_region_runs(c->ar, a->dom, a->n_dom, a->pred);

    return cond && ml_is_true(where_read(c, cond, a->dom, a->n_dom, given, inner));
}

typedef struct Writer {
    const ml_Block *block;
    const ml_Region *region;
    size_t part;
} Writer;

/* One region that is read, and what is written of it. */
typedef struct Coverage {
    ml_Cover *c;
    const ml_Region *read;
    ml_CoverAround mine; /* the consumer's */
    ml_Region mine_read; /* read, in terms of what is around the consumer, */
    const ml_Expr *given,
        *inside;     /* ... and where; inside: made when a producer may not run */
    ml_Boxes *boxes; /* written */
    ml_AccessVec parts;
    ML_VEC(Writer) writers; /* that write all that they declare */
    bool aliased;
} Coverage;

/* What the scope block says that it reads was there before. */
static void add_outside(ml_Cover *c, const ml_Buffer *buf, ml_Boxes *boxes)
{
    const ml_Block *root = ml_as_block(ml_index_node(c->p.index, c->scope));
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, buf->rank + 1u);

    for (size_t k = 0; k < root->n_reads; k++) {
        if (root->reads[k].buffer->uid != buf->uid)
            continue;
        for (size_t d = 0; d < buf->rank; d++)
            box[d] = ml_interval_range(c->ar, root->reads[k].ranges[d].min,
                                       root->reads[k].ranges[d].extent);
        ml_boxes_add(boxes, box);
    }
}

/* What one producer surely writes. */
static void add_written(Coverage *q, const ml_Block *w, const ml_Region *declared,
                        const ml_CoverAround *around, const ml_UidVec *producers)
{
    ml_Cover *c = q->c;
    bool whole = writes_whole(c, w, declared, producers);
    size_t rank = q->read->buffer->rank, first = q->parts.n;
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank);

    written_parts(c, w, declared, around, whole, &q->parts);
    for (size_t t = first; t < q->parts.n; t++) {
        ml_Access1 *part = &q->parts.v[t];
        bool guarded = !ml_is_true(part->pred), plain = !guarded;

        for (size_t d = 0; d < part->n_dom; d++)
            plain &= ml_is_const_int(part->dom[d].extent);
        if (!plain && !q->inside)
            q->inside = touched(c, q->read->buffer, &q->mine_read, &q->mine.dom, q->given);
        if (guarded)
            part->pred =
                where_read(c, part->pred, part->dom, part->n_dom, q->inside, &q->mine.dom);
        if (!ml_region_lower_where(
                c->ar, part->ranges, rank, part->dom, part->n_dom, part->pred,
                plain || runs_where_read(c, part, q->inside, &q->mine.dom), box))
            continue;
        clip(c, q->read->buffer, box);
        ml_boxes_add(q->boxes, box);
    }
    if (!around->threads.vars && whole)
        ml_push(c->cx, &q->writers, ((Writer){w, declared, first}));
}

/* False: no producer writes the buffer by any name. */
static bool add_producers(Coverage *q, const ml_Block *consumer, const ml_UidVec *producers)
{
    ml_Cover *c = q->c;
    const ml_Buffer *buf = ml_cover_canonical(c, q->read->buffer);
    bool written = false;

    q->aliased = buf != q->read->buffer;
    for (size_t k = 0; k < producers->n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(c->p.index, producers->v[k]));
        ml_Uid own = ml_index_lca(c->p.index, w->tag, consumer->tag);

        for (size_t m = 0; m < w->n_writes; m++) {
            ml_CoverAround around;

            if (ml_cover_canonical(c, w->writes[m].buffer)->uid != buf->uid)
                continue;
            written = true;
            /* Through a view the elements are others: only a view of itself compares. */
            if (w->writes[m].buffer->uid != q->read->buffer->uid) {
                q->aliased = true;
                continue;
            }
            ml_cover_around(c, w->tag, own == c->scope ? 0 : own, q->read->buffer, &around);
            add_written(q, w, &w->writes[m], &around, producers);
        }
    }
    return written;
}

/* By strides, or because one producer writes by the consumer's own formula. */
static bool covers_by_form(Coverage *q, const ml_Interval *box)
{
    ml_Cover *c = q->c;
    ml_Access1 me = {q->mine_read.ranges, q->mine.dom.v, q->mine.dom.n, q->given};

    if (ml_strides_cover(c->ar, q->read->buffer->rank, q->parts.v, q->parts.n, &me, box))
        return true;
    for (size_t k = 0; k < q->writers.n && !q->mine.threads.vars; k++)
        if (ml_same_cover(c->cx, c->ar, q->writers.v[k].block, q->writers.v[k].region,
                          &q->parts.v[q->writers.v[k].part], &me))
            return true;
    return false;
}

/* Says what is not written of box, which is read; dim: where that shows. */
static void explain(const Coverage *q, const ml_Block *consumer, ml_Interval *box,
                    size_t dim, ml_Uid producer)
{
    ml_Cover *c = q->c;
    size_t rank = q->read->buffer->rank;
    const char *text;
    ml_CoverEnds ends = ml_cover_no_ends(c->cx);
    bool known = false; /* by numbers: no proof is missing */

    if (q->aliased)
        text = "it is written through a view";
    else if (ml_boxes_count(q->boxes) == 0)
        text = "it is not known which elements are written";
    else {
        /* As it is read, not cut to the buffer: shorter, where both say the same. */
        ml_Interval *whole = ML_ARRAY(c->cx, ml_Interval, rank + 1u);
        ml_Interval wrote = ml_boxes_at(q->boxes, 0)[dim];

        ml_region_upper(c->ar, q->mine_read.ranges, rank, q->mine.dom.v, q->mine.dom.n,
                        q->given, whole);
        if (!box[dim].min || !ml_is_const_int(box[dim].min))
            box[dim].min = whole[dim].min;
        if (!box[dim].max || !ml_is_const_int(box[dim].max))
            box[dim].max = whole[dim].max;
        text = ml_cover_dimension_text(c, dim, rank, box[dim], wrote, &ends);
        known = ml_cover_numbers(box[dim], wrote);
    }
    ml_fail(c->cx, ML_E_NOT_REGION_COVERED, ML_BLOCK(consumer), ML_BUFFER(q->read->buffer),
            ML_TEMPLATED(text), ML_BLOCK_UID(producer), ML_SHOWN_IN(ends.v[0]),
            ML_SHOWN_IN(ends.v[1]), ML_SHOWN_IN(ends.v[2]), ML_SHOWN_IN(ends.v[3]));
    if (!known)
        ml_error_set_unproved(c->cx);
}

bool ml_cover_region(ml_Cover *c, const ml_Block *consumer, const ml_Region *read, ml_Uid a,
                     const ml_UidVec *producers)
{
    size_t rank = read->buffer->rank, dim = 0;
    Coverage q = {.c = c, .read = read, .boxes = ml_boxes_new(c->ar, rank)};
    ml_Interval *box = ML_ARRAY(c->cx, ml_Interval, rank);

    ml_cover_around(c, consumer->tag, a == c->scope ? 0 : a, read->buffer, &q.mine);
    q.mine_read = ml_cover_outward(c, consumer, read, &q.mine, &q.given);
    if (c->outside)
        add_outside(c, read->buffer, q.boxes);
    if (!add_producers(&q, consumer, producers))
        return true;
    ml_region_upper(c->ar, q.mine_read.ranges, rank, q.mine.dom.v, q.mine.dom.n, q.given,
                    box);
    clip(c, read->buffer, box);
    if (ML_FAULT(COVER_DIMENSION) && rank > 0 && ml_boxes_count(q.boxes) > 0)
        box[rank - 1] = ml_boxes_at(q.boxes, 0)[rank - 1];
    if (ml_boxes_cover(q.boxes, box, &dim) || covers_by_form(&q, box))
        return true;
    if (c->explain)
        explain(&q, consumer, box, dim, producers->v[0]);
    return false;
}
