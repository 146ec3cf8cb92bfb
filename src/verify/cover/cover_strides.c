/*
 * cover_strides - region cover where what is written has gaps: B[v*2], or blocks that write
 * the even and the odd elements.
 *
 * A dimension with gaps is looked at modulo the step s of its writers: an element is
 * anchor + s*q + r, and for each residue r that the reader can touch, what is written is an
 * interval of q again (each writer counts from where it starts itself). So each combination
 * of residues is a question about plain boxes. A write that is not shown to be such a set
 * counts for nothing; a read is taken as its hull, less the residues that it provably never
 * has. Source: ir-and-analysis 2.4, 3.3, 3.8.
 */
#include "moonloop/verify/cover/cover_strides.h"

enum { MAX_STEP = 1 << 16, MAX_CLASSES = 512, MAX_RANK = 8 };

/* What one write makes of a dimension: anchor + from + step*q + r, q in an interval, r0 <=
 * r <= r1, from = rest modulo step. */
typedef struct Comb {
    int64_t step, r0, r1, rest;
    const ml_Expr *from; /* NULL: 0 */
    ml_Interval q;
} Comb;

typedef struct Dim {
    int64_t step;          /* 1: no writer has gaps here */
    const ml_Expr *anchor; /* of all combs when step > 1 */
    bool *residues;        /* that the reader may have */
} Dim;

typedef struct Strides {
    ml_Ctx *cx;
    ml_Arith *ar;
    size_t rank;
    Dim dims[MAX_RANK];
    ML_VEC(Comb *) combs; /* rank of them per usable write */
} Strides;

static const ml_Expr *minus(Strides *s, const ml_Expr *a, const ml_Expr *b)
{
    if (!ml_promote(s->cx, &a, &b))
        return NULL;
    return ml_simplify(s->ar, ml_sub(s->cx, a, b));
}

static const ml_Expr *plus(Strides *s, const ml_Expr *a, const ml_Expr *b)
{
    if (!a || !b || !ml_promote(s->cx, &a, &b))
        return NULL;
    return ml_simplify(s->ar, ml_add(s->cx, a, b));
}

/* floor((e + add) / by) */
static const ml_Expr *quotient(Strides *s, const ml_Expr *e, int64_t add, int64_t by)
{
    if (!e || !ml_dtype_fits(e->type, add) || !ml_dtype_fits(e->type, by))
        return NULL;
    return ml_simplify(s->ar,
                       ml_floordiv(s->cx, ml_add(s->cx, e, ml_int(s->cx, e->type, add)),
                                   ml_int(s->cx, e->type, by)));
}

/* Simplified with the loops in their ranges: (v*4 + t) // 4 is v for t < 3. */
static const ml_Expr *within(Strides *s, const ml_Expr *e, const ml_Dom *dom, size_t n)
{
    ml_ArithMark mark = ml_arith_save(s->ar);

    for (size_t k = 0; k < n; k++)
        ml_arith_bind_range(s->ar, dom[k].var, dom[k].min, dom[k].extent);
    e = ml_simplify(s->ar, e);
    ml_arith_restore(s->ar, mark);
    return e;
}

static ml_Range point(Strides *s, const ml_Expr *e)
{
    return (ml_Range){e, ml_int(s->cx, e->type, 1)};
}

/* ---- what is written */

/* The step above which the elements of one write leave gaps, 1 when they leave none or it
 * is not known; *base: where they start. */
static int64_t step_of(Strides *s, const ml_Access1 *a, size_t d, const ml_Expr **base)
{
    const ml_Range *r = &a->ranges[d];
    ml_Interval hull;
    ml_IterSum sum;
    int64_t width;

    if (ml_region_strict(s->ar, r, 1, a->dom, a->n_dom, a->pred, &hull) ||
        !ml_is_const_int(r->extent) || r->extent->as.i < 1 ||
        !ml_iter_normalize(s->ar, r->min, a->dom, a->n_dom, &sum))
        return 1;
    *base = sum.base;
    width = r->extent->as.i;
    for (size_t k = sum.n; k-- > 0;) { /* smallest scale first */
        const ml_Expr *scale = sum.digits[k].scale, *n = sum.digits[k].extent;
        int64_t by, run;

        if (ml_is_int(n, 1))
            continue;
        if (!ml_is_const_int(scale) || scale->as.i == INT64_MIN)
            return 1;
        by = scale->as.i < 0 ? -scale->as.i : scale->as.i;
        if (by > width)
            return by <= MAX_STEP ? by : 1;
        if (!ml_is_const_int(n) || __builtin_mul_overflow(by, n->as.i - 1, &run) ||
            __builtin_add_overflow(width, run, &width))
            return 1;
    }
    return 1;
}

/* Where the comb starts, counted from the anchor of its dimension. */
static bool starts_at(Strides *s, Comb *c, const ml_Expr *base, const ml_Expr *anchor)
{
    c->from = minus(s, base, anchor);
    if (!c->from)
        return false;
    ml_Modular m = ml_arith_modular(s->ar, c->from);

    c->rest = ml_floormod_i64(m.base, c->step);
    return m.coeff % c->step == 0;
}

/* One write as combs; false: it is not shown to be such a set. */
static bool comb_of(Strides *s, const ml_Access1 *a, Comb *out)
{
    ml_Range ranges[2 * MAX_RANK];
    ml_Interval box[2 * MAX_RANK];
    ml_DomVec dom = {0};
    size_t n = 0;

    for (size_t k = 0; k < a->n_dom; k++)
        ml_push(s->cx, &dom, a->dom[k]);
    for (size_t d = 0; d < s->rank; d++) {
        const ml_Range *r = &a->ranges[d];
        const ml_Expr *base;

        out[d] = (Comb){.step = s->dims[d].step == 1 ? 1 : step_of(s, a, d, &base)};
        if (out[d].step == 1) {
            ranges[n++] = *r;
            continue;
        }
        const ml_Expr *e = minus(s, r->min, base), *step;

        if (!e || !starts_at(s, &out[d], base, s->dims[d].anchor))
            return false;
        if (!ml_is_int(r->extent, 1)) { /* one more loop: over the range */
            const ml_Var *t = ml_var_new(s->cx, "t", e->type);

            ml_push(s->cx, &dom,
                    ((ml_Dom){t, ml_int(s->cx, t->type, 0),
                              ml_int(s->cx, t->type, r->extent->as.i)}));
            e = ml_add(s->cx, e, ml_var(s->cx, t));
        }
        step = ml_int(s->cx, e->type, out[d].step);
        ranges[n++] = point(s, within(s, ml_floordiv(s->cx, e, step), dom.v, dom.n));
        ranges[n++] = point(s, within(s, ml_floormod(s->cx, e, step), dom.v, dom.n));
    }
    if (!ml_region_lower(s->ar, ranges, n, dom.v, dom.n, a->pred, box))
        return false;
    n = 0;
    for (size_t d = 0; d < s->rank; d++) {
        out[d].q = box[n++];
        if (out[d].q.nothing || !out[d].q.min || !out[d].q.max)
            return false;
        if (out[d].step > 1) {
            ml_Interval r = box[n++];

            if (r.nothing || !r.min || !r.max || !ml_is_const_int(r.min) ||
                !ml_is_const_int(r.max))
                return false;
            out[d].r0 = r.min->as.i;
            out[d].r1 = r.max->as.i;
        } else if (s->dims[d].step > 1) {
            out[d].q.min = minus(s, out[d].q.min, s->dims[d].anchor);
            out[d].q.max = minus(s, out[d].q.max, s->dims[d].anchor);
            if (!out[d].q.min || !out[d].q.max)
                return false;
        }
    }
    return true;
}

/* The elements of a comb with residue r modulo `step`, as quotients by it. */
static bool comb_class(Strides *s, const Comb *c, int64_t step, int64_t r, ml_Interval *out)
{
    int64_t times = step / c->step, own = ml_floormod_i64(r - c->rest, c->step);
    ml_Interval q = c->q;

    if (own < c->r0 || own > c->r1)
        return false;
    /* from + own - r is a multiple of the comb's step; quotients move by it. */
    if (c->from) {
        const ml_Expr *by = quotient(s, c->from, own - r, c->step);

        q.min = plus(s, q.min, by);
        q.max = plus(s, q.max, by);
        own = r;
    }
    *out = (ml_Interval){quotient(s, q.min, times - 1 - (r - own) / c->step, times),
                         quotient(s, q.max, -((r - own) / c->step), times), false};
    return out->min && out->max;
}

/* ---- what is read */

static bool find_residues(Strides *s, const ml_Access1 *read, size_t d)
{
    Dim *dim = &s->dims[d];
    const ml_Range *r = &read->ranges[d];
    const ml_Expr *e = minus(s, r->min, dim->anchor);
    ml_ArithMark mark = ml_arith_save(s->ar);
    int64_t width, fine;
    ml_Interval hull;

    if (!e)
        return false;
    e = within(s, e, read->dom, read->n_dom);
    width = ml_is_const_int(r->extent) && r->extent->as.i < dim->step ? r->extent->as.i
                                                                      : dim->step;
    for (size_t k = 0; k < read->n_dom; k++)
        ml_arith_bind_range(s->ar, read->dom[k].var, read->dom[k].min, read->dom[k].extent);
    ml_Modular mod = ml_arith_modular(s->ar, e);

    ml_arith_restore(s->ar, mark);
    fine = ml_gcd(dim->step, mod.coeff);
    ml_Range rest =
        point(s, within(s, ml_floormod(s->cx, e, ml_int(s->cx, e->type, dim->step)),
                        read->dom, read->n_dom));

    ml_region_upper(s->ar, &rest, 1, read->dom, read->n_dom, read->pred, &hull);
    dim->residues = ML_ARRAY(s->cx, bool, (size_t)dim->step);
    for (int64_t x = 0; x < dim->step; x++) {
        if (hull.nothing || (hull.min && ml_is_const_int(hull.min) && x < hull.min->as.i) ||
            (hull.max && ml_is_const_int(hull.max) && x > hull.max->as.i) ||
            (x - mod.base % fine) % fine != 0)
            continue;
        for (int64_t t = 0; t < width; t++)
            dim->residues[(x + t) % dim->step] = true;
    }
    return true;
}

/* ---- all combinations of residues */

static bool class_covered(Strides *s, const ml_Interval *read, const int64_t *r)
{
    ml_Interval box[MAX_RANK];
    ml_Boxes *boxes = ml_boxes_new(s->ar, s->rank);

    for (size_t k = 0; k < s->combs.n; k++) {
        const Comb *c = s->combs.v[k];
        bool some = true;

        for (size_t d = 0; some && d < s->rank; d++) {
            if (s->dims[d].step > 1)
                some = comb_class(s, &c[d], s->dims[d].step, r[d], &box[d]);
            else
                box[d] = c[d].q;
        }
        if (some)
            ml_boxes_add(boxes, box);
    }
    for (size_t d = 0; d < s->rank; d++) {
        int64_t step = s->dims[d].step;

        box[d] = read[d];
        if (step == 1 || box[d].nothing)
            continue;
        if (!box[d].min || !box[d].max)
            return false;
        box[d].min =
            quotient(s, minus(s, box[d].min, s->dims[d].anchor), step - 1 - r[d], step);
        box[d].max = quotient(s, minus(s, box[d].max, s->dims[d].anchor), -r[d], step);
        if (!box[d].min || !box[d].max)
            return false;
    }
    return ml_boxes_cover(boxes, box, NULL);
}

static bool classes_covered(Strides *s, const ml_Interval *read)
{
    int64_t r[MAX_RANK] = {0};

    for (int64_t tried = 0; ml_tick(s->cx);) {
        bool met = true;
        size_t d = 0;

        for (size_t k = 0; k < s->rank; k++)
            met &= s->dims[k].step == 1 || s->dims[k].residues[r[k]];
        if (met && (++tried > MAX_CLASSES || !class_covered(s, read, r)))
            return false;
        while (d < s->rank && ++r[d] >= s->dims[d].step)
            r[d++] = 0;
        if (d == s->rank)
            return true;
    }
    return false;
}

/* The common step of the accesses per dimension where some writer has gaps; false: none
 * has, or there are too many residues to look at. */
static bool find_steps(Strides *s, const ml_Access1 *writes, size_t n,
                       const ml_Access1 *read)
{
    int64_t all = 1;

    for (size_t d = 0; d < s->rank; d++) {
        Dim *dim = &s->dims[d];

        dim->step = 1;
        for (size_t k = 0; k < n || (k == n && dim->step > 1); k++) {
            const ml_Expr *base;
            int64_t step = step_of(s, k < n ? &writes[k] : read, d, &base);

            if (step == 1)
                continue;
            if (dim->step == 1)
                dim->anchor = base;
            dim->step *= step / ml_gcd(dim->step, step);
            if (dim->step > MAX_STEP)
                return false;
        }
        if (__builtin_mul_overflow(all, dim->step, &all) || all > MAX_STEP)
            return false;
    }
    return all > 1;
}

bool ml_strides_cover(ml_Arith *ar, size_t rank, const ml_Access1 *writes, size_t n_writes,
                      const ml_Access1 *read, const ml_Interval *clipped)
{
    Strides s = {.cx = ml_arith_ctx(ar), .ar = ar, .rank = rank};

    if (rank == 0 || rank > MAX_RANK || !find_steps(&s, writes, n_writes, read))
        return false;
    for (size_t k = 0; k < n_writes; k++) {
        Comb *c = ML_ARRAY(s.cx, Comb, rank);

        if (comb_of(&s, &writes[k], c))
            ml_push(s.cx, &s.combs, c);
    }
    for (size_t d = 0; d < rank; d++)
        if (s.dims[d].step > 1 && !find_residues(&s, read, d))
            return false;
    if (s.combs.n == 0)
        return false;
    ml_Interval hull[MAX_RANK];

    /* Ends that are no minimum or maximum are easier to compare. */
    ml_region_upper(ar, read->ranges, rank, read->dom, read->n_dom, read->pred, hull);
    return classes_covered(&s, hull) || classes_covered(&s, clipped);
}
