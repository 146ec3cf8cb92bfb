/*
 * boxes - unions of intervals and of boxes that stay exact: only what provably touches or
 * overlaps is merged, to a fixpoint, so that a gap is never claimed to be filled and the
 * order of the parts does not matter. Source: ir-and-analysis 2.4 (union), 3.7.
 */
#include "moonloop/core/arith/region.h"

struct ml_Boxes {
    ml_Arith *ar;
    size_t rank;
    ML_VEC(ml_Interval *) boxes;
    bool merged;
};

static bool le(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    if (ml_is_const_int(a) && ml_is_const_int(b))
        return a->as.i <= b->as.i;
    if (!ml_dtype_eq(a->type, b->type))
        ml_promote(ml_arith_ctx(ar), &a, &b);
    return ml_prove_le_expr(ar, a, b);
}

/* Whether provably min <= max + 1; infinite ends always do. */
static bool reaches(ml_Arith *ar, const ml_Expr *min, const ml_Expr *max)
{
    ml_Ctx *cx = ml_arith_ctx(ar);

    if (!min || !max)
        return true;
    if (ml_is_const_int(min) && ml_is_const_int(max))
        return min->as.i <= max->as.i || min->as.i - 1 == max->as.i;
    return le(ar, min, max) || le(ar, min, ml_add(cx, max, ml_int(cx, max->type, 1)));
}

static bool touch(ml_Arith *ar, ml_Interval a, ml_Interval b)
{
    return reaches(ar, a.min, b.max) && reaches(ar, b.min, a.max);
}

static bool same_end(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    return a && b && ml_dtype_eq(a->type, b->type) && ml_prove_equal(ar, a, b);
}

static bool same(ml_Arith *ar, ml_Interval a, ml_Interval b)
{
    return same_end(ar, a.min, b.min) && same_end(ar, a.max, b.max);
}

/* Whether the set has no element for sure. */
static bool is_empty(ml_Arith *ar, ml_Interval a)
{
    if (a.nothing)
        return true;
    if (!a.min || !a.max || a.min == a.max)
        return false;
    if (ml_is_const_int(a.min) && ml_is_const_int(a.max))
        return a.max->as.i < a.min->as.i;
    return ml_dtype_eq(a.min->type, a.max->type) && ml_prove_lt_expr(ar, a.max, a.min);
}

ml_Interval ml_interval_lower_union(ml_Arith *ar, const ml_Interval *v, size_t n)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_Interval *run = n ? ML_ARRAY(cx, ml_Interval, n) : NULL;
    size_t n_runs = 0;

    for (size_t k = 0; k < n; k++)
        if (!is_empty(ar, v[k]))
            run[n_runs++] = v[k];
    if (n_runs == 0)
        return ML_NOTHING;
    /* The first run absorbs whatever it touches; only it is returned. Two others that
     * touch each other are merged too: together they may reach it. */
    for (bool changed = true; changed && ml_tick(cx);) {
        changed = false;
        for (size_t a = 0; a < n_runs; a++)
            for (size_t b = a + 1; b < n_runs;)
                if (touch(ar, run[a], run[b])) {
                    run[a] = ml_interval_union(ar, run[a], run[b]);
                    run[b] = run[--n_runs];
                    changed = true;
                } else {
                    b++;
                }
    }
    return run[0];
}

ml_Boxes *ml_boxes_new(ml_Arith *ar, size_t rank)
{
    ml_Boxes *b = ML_NEW(ml_arith_ctx(ar), ml_Boxes);

    b->ar = ar;
    b->rank = rank;
    b->merged = true;
    return b;
}

static bool box_is_empty(const ml_Boxes *b, const ml_Interval *box)
{
    for (size_t d = 0; d < b->rank; d++)
        if (is_empty(b->ar, box[d]))
            return true;
    return false;
}

void ml_boxes_add(ml_Boxes *b, const ml_Interval *box)
{
    ml_Ctx *cx = ml_arith_ctx(b->ar);

    if (box_is_empty(b, box))
        return;
    ml_Interval *copy = ML_ARRAY(cx, ml_Interval, b->rank + 1);
    if (b->rank)
        memcpy(copy, box, b->rank * sizeof *box);
    ml_push(cx, &b->boxes, copy);
    b->merged = false;
}

/* Merges y into x when they are one box together. */
static bool join(ml_Boxes *b, ml_Interval *x, const ml_Interval *y)
{
    size_t differ = b->rank;
    bool inside = true, around = true;

    for (size_t d = 0; d < b->rank; d++) {
        if (inside)
            inside = ml_interval_includes(b->ar, x[d], y[d]);
        if (around)
            around = ml_interval_includes(b->ar, y[d], x[d]);
    }
    if (inside)
        return true;
    if (around) {
        memcpy(x, y, b->rank * sizeof *x);
        return true;
    }
    for (size_t d = 0; d < b->rank; d++) {
        if (same(b->ar, x[d], y[d]))
            continue;
        if (differ != b->rank)
            return false;
        differ = d;
    }
    if (differ == b->rank)
        return true;
    if (!touch(b->ar, x[differ], y[differ]))
        return false;
    x[differ] = ml_interval_union(b->ar, x[differ], y[differ]);
    return true;
}

static void merge(ml_Boxes *b)
{
    while (!b->merged && ml_tick(ml_arith_ctx(b->ar))) {
        b->merged = true;
        for (size_t k = 0; k < b->boxes.n; k++)
            for (size_t j = k + 1; j < b->boxes.n;)
                if (join(b, b->boxes.v[k], b->boxes.v[j])) {
                    for (size_t i = j + 1; i < b->boxes.n; i++)
                        b->boxes.v[i - 1] = b->boxes.v[i];
                    b->boxes.n--;
                    b->merged = false;
                } else {
                    j++;
                }
    }
}

bool ml_boxes_cover(ml_Boxes *b, const ml_Interval *box, size_t *dim)
{
    size_t best = 0, at = 0;

    merge(b);
    if (box_is_empty(b, box))
        return true;
    for (size_t k = 0; k < b->boxes.n; k++) {
        size_t good = 0, bad = b->rank;
        for (size_t d = 0; d < b->rank; d++) {
            if (ml_interval_includes(b->ar, b->boxes.v[k][d], box[d]))
                good++;
            else if (bad == b->rank)
                bad = d;
        }
        if (bad == b->rank)
            return true;
        if (k == 0 || good > best) {
            best = good;
            at = bad;
        }
    }
    if (dim)
        *dim = at;
    return false;
}

size_t ml_boxes_count(ml_Boxes *b)
{
    merge(b);
    return b->boxes.n;
}

const ml_Interval *ml_boxes_at(ml_Boxes *b, size_t k)
{
    merge(b);
    ML_ASSERT(k < b->boxes.n);
    return b->boxes.v[k];
}
