/*
 * footprint - how many bytes of each buffer a loop touches.
 *
 * The regions of the blocks right below the loop (a block's regions cover those of the
 * blocks inside it) are spread over the loops between, the loop itself included. A region
 * whose estimate is exact, and boxes that unite to one, give an exact number; otherwise the
 * box around everything is an upper bound and said to be one.
 * Source: interaction 5, ir-and-analysis 3.8.
 */
#include "repl/footprint.h"

#include "core/arith/region.h"

typedef struct Touched {
    const ml_Buffer *buffer;
    ml_Boxes *boxes;
    ml_Boxes *open; /* without the guards: the width is plainer there */
    bool exact;
} Touched;

typedef struct Loop {
    ml_Ctx *cx;
    ml_Program p;
    const ml_For *loop;
    ml_Arith *ar;
    ML_VEC(Touched) touched;
} Loop;

static Touched *entry(Loop *l, const ml_Buffer *b)
{
    for (size_t k = 0; k < l->touched.n; k++)
        if (l->touched.v[k].buffer->uid == b->uid)
            return &l->touched.v[k];
    ml_push(
        l->cx, &l->touched,
        ((Touched){b, ml_boxes_new(l->ar, b->rank), ml_boxes_new(l->ar, b->rank), true}));
    return &l->touched.v[l->touched.n - 1];
}

static void add_regions(Loop *l, const ml_Block *b, const ml_DomVec *dom,
                        const ml_Subst *bindings, const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        size_t rank = v[k].buffer->rank;
        Touched *t = entry(l, v[k].buffer);
        ml_Region r = ml_region_subst(l->cx, v[k], bindings);
        ml_Interval *box = ML_ARRAY(l->cx, ml_Interval, rank + 1);

        if (!ml_region_strict(l->ar, r.ranges, rank, dom->v, dom->n, b->predicate, box)) {
            t->exact = false;
            ml_region_upper(l->ar, r.ranges, rank, dom->v, dom->n, b->predicate, box);
        }
        ml_boxes_add(t->boxes, box);
        if (!ml_is_true(b->predicate))
            ml_region_upper(l->ar, r.ranges, rank, dom->v, dom->n, NULL, box);
        ml_boxes_add(t->open, box);
    }
}

static void add_block(Loop *l, const ml_Block *b)
{
    ml_DomVec dom = {0}, inner = {0};
    ml_Subst bindings = {0};

    ml_push(l->cx, &dom, ((ml_Dom){l->loop->var, l->loop->min, l->loop->extent}));
    ml_relax_domain(l->cx, l->p, b->tag, l->loop->var->uid, NULL, &inner);
    for (size_t k = 0; k < inner.n; k++)
        ml_push(l->cx, &dom, inner.v[k]);
    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(l->cx, &bindings, b->iters[k].var, b->iters[k].value);
    add_regions(l, b, &dom, &bindings, b->reads, b->n_reads);
    add_regions(l, b, &dom, &bindings, b->writes, b->n_writes);
}

/* Elements of dimension d of the box around all boxes; -1: no number. */
static int64_t span(Loop *l, ml_Boxes *boxes, size_t d)
{
    ml_Interval all = ML_NOTHING;

    for (size_t k = 0; k < ml_boxes_count(boxes); k++)
        all = ml_interval_union(l->ar, all, ml_boxes_at(boxes, k)[d]);
    if (all.nothing)
        return 0;
    if (!all.min || !all.max)
        return -1;
    const ml_Expr *e = ml_simplify(l->ar, ml_sub(l->cx, all.max, all.min));

    return ml_is_const_int(e) && e->as.i >= 0 && e->as.i < INT64_MAX ? e->as.i + 1 : -1;
}

/* The same of what is touched, at most the elements that there are. */
static int64_t width(Loop *l, Touched *t, size_t d)
{
    const ml_Expr *shape = t->buffer->shape[d];
    int64_t whole = ml_is_const_int(shape) ? shape->as.i : -1;
    int64_t n = span(l, t->boxes, d);

    if (n < 0) { /* wherever it lies, it lies in the buffer */
        t->exact = false;
        n = span(l, t->open, d);
    }
    return n < 0 || (whole >= 0 && n > whole) ? whole : n;
}

static int64_t bytes_of(Loop *l, Touched *t)
{
    int64_t n = (int64_t)ml_dtype_bytes(t->buffer->type), w;

    if (ml_boxes_count(t->boxes) == 0)
        return 0;
    if (ml_boxes_count(t->boxes) > 1)
        t->exact = false;
    for (size_t d = 0; d < t->buffer->rank; d++) {
        w = width(l, t, d);
        if (w < 0 || __builtin_mul_overflow(n, w, &n))
            return -1;
    }
    return n;
}

void ml_footprints(ml_Ctx *cx, ml_Program p, ml_Uid loop, ml_Footprints *out)
{
    Loop l = {.cx = cx, .p = p, .loop = ml_as_for(ml_index_node(p.index, loop))};
    ml_StmtVec blocks = {0};

    l.ar = ml_arith_at(cx, p, loop);
    ml_child_blocks(cx, &l.loop->base, &blocks);
    for (size_t k = 0; k < blocks.n; k++)
        add_block(&l, ml_as_block(blocks.v[k]));
    for (size_t k = 0; k < l.touched.n; k++) {
        Touched *t = &l.touched.v[k];
        int64_t bytes = bytes_of(&l, t);

        ml_push(cx, out, ((ml_Footprint){t->buffer, bytes, t->exact}));
    }
}

void ml_text_bytes(ml_Text *out, int64_t bytes)
{
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t k = 0;

    while (v >= 1023.5 && k + 1 < ML_COUNT(UNITS)) {
        v /= 1024;
        k++;
    }
    if (k == 0)
        ml_text_fmt(out, "%lld B", (long long)bytes);
    else /* three digits, but no exponent from 1000 on */
        ml_text_fmt(out, "%.*f %s",
                    v >= 99.95 || v == (double)(int64_t)v ? 0
                    : v < 9.995                           ? 2
                                                          : 1,
                    v, UNITS[k]);
}
