/*
 * touched - what of a buffer is touched while the loops from a depth on run, and how far an
 * access moves with each loop.
 *
 * A region is a box: by dimension from the least to the greatest index over all sites, with
 * the loops outside at their beginning, cut at the buffer's shape. Source: auto-scheduler
 * 14.
 */
#include "moonloop/tune/feature/feature_impl.h"

#define NO_STRIDE 1e30

static ml_Num magnitude(ml_Forms *f, ml_Num a)
{
    ml_Num zero = ml_form_const(f, 0);

    return ml_form_max(f, a, ml_form_sub(f, zero, a));
}

/* How a site moves along dimension d with the loop: whether, and by how many. */
static void move_of(const Row *r, const ml_Sum *s, uint32_t axis, size_t depth,
                    ml_Num *uses, ml_Num *by)
{
    ml_Forms *f = r->f;
    ml_Num one = feature_const(r, 1), none = feature_const(r, NO_STRIDE);

    *uses = feature_const(r, 0);
    *by = none;
    if (!s->ok) { /* not affine: it moves, nobody knows how */
        *uses = ml_sum_uses(s, axis) ? r->more[depth] : *uses;
        return;
    }
    for (uint32_t k = 0; k < s->n; k++) {
        if (s->v[k].axis != axis)
            continue;
        ml_Num there = ml_form_lt(f, one, s->v[k].ext);

        *uses = ml_form_max(f, *uses, there);
        *by =
            ml_form_min(f, *by, ml_form_select(f, there, magnitude(f, s->v[k].coef), none));
    }
}

static void strides_of(Row *r, Use *u)
{
    ml_Forms *f = r->f;
    ml_Num none = feature_const(r, NO_STRIDE), zero = feature_const(r, 0);

    for (size_t k = 0; k < r->n_loops; k++) {
        ml_Num least = none;

        u->uses[k] = zero;
        for (size_t m = 0; m < u->sites.n; m++) {
            ml_Num last = none;

            for (uint32_t d = 0; d < u->sites.v[m].a->n; d++) {
                ml_Num uses, by;

                move_of(r, &u->sites.v[m].dims[d], r->loops[k], k, &uses, &by);
                if (ml_form_is(f, uses, 0))
                    continue;
                u->uses[k] = ml_form_max(f, u->uses[k], uses);
                last = ml_form_select(f, ml_form_mul(f, uses, ml_form_lt(f, by, none)),
                                      ml_form_mul(f, by, u->step[d]), last);
            }
            least = ml_form_min(f, least, last);
        }
        u->stride[k] = ml_form_select(f, ml_form_lt(f, least, none), least, zero);
    }
}

typedef struct Span {
    ml_Num lo, hi;
} Span;

static void widen(const Row *r, const ml_Sum *s, size_t depth, Span *span)
{
    ml_Forms *f = r->f;
    ml_Num zero = feature_const(r, 0), one = feature_const(r, 1);

    for (uint32_t k = 0; s->ok && k < s->n; k++) {
        if (s->v[k].axis != r->loops[depth])
            continue;
        ml_Num by = ml_form_mul(f, s->v[k].coef, ml_form_sub(f, s->v[k].ext, one));

        span->lo = ml_form_add(f, span->lo, ml_form_min(f, by, zero));
        span->hi = ml_form_add(f, span->hi, ml_form_max(f, by, zero));
    }
}

/* The dimension's extent over all sites; spans[site]. */
static ml_Num extent_of(const Row *r, const Use *u, uint32_t d, const Span *spans,
                        size_t depth)
{
    ml_Forms *f = r->f;
    ml_Num whole = feature_const(r, 0), size = feature_const(r, 1);
    Span all = {0};
    bool any = false;

    for (size_t m = 0; m < u->sites.n; m++) {
        const ml_Sum *s = &u->sites.v[m].dims[d];

        if (!s->ok) {
            for (size_t k = depth; k < r->n_loops; k++)
                if (ml_sum_uses(s, r->loops[k]))
                    whole = ml_form_max(f, whole, r->more[k]);
            continue;
        }
        all.lo = any ? ml_form_min(f, all.lo, spans[m].lo) : spans[m].lo;
        all.hi = any ? ml_form_max(f, all.hi, spans[m].hi) : spans[m].hi;
        any = true;
    }
    if (any)
        size = ml_form_min(f, ml_form_add(f, ml_form_sub(f, all.hi, all.lo), size),
                           u->shape[d]);
    return ml_form_select(f, whole, u->shape[d], size);
}

static void sizes_of(Row *r, Use *u)
{
    ml_Forms *f = r->f;
    uint32_t rank = r->n->buffers.v[u->buffer].rank;
    Span *spans = ML_ARRAY(r->n->cx, Span, (size_t)rank * u->sites.n + 1);

    for (uint32_t d = 0; d < rank; d++)
        for (size_t m = 0; m < u->sites.n; m++) {
            const ml_Sum *s = &u->sites.v[m].dims[d];

            spans[d * u->sites.n + m].lo = spans[d * u->sites.n + m].hi =
                s->ok ? s->base : feature_const(r, 0);
        }
    u->whole = feature_const(r, 1);
    for (size_t k = r->n_loops + 1; k-- > 0;) {
        u->size[k] = u->run[k] = feature_const(r, 1);
        for (uint32_t d = 0; d < rank; d++) {
            for (size_t m = 0; m < u->sites.n && k < r->n_loops; m++)
                widen(r, &u->sites.v[m].dims[d], k, &spans[d * u->sites.n + m]);
            ml_Num e = extent_of(r, u, d, &spans[d * u->sites.n], k);

            u->size[k] = ml_form_mul(f, u->size[k], e);
            u->run[k] = e;
            if (k == 0)
                u->whole =
                    ml_form_select(f, ml_form_eq(f, e, u->shape[d]),
                                   ml_form_mul(f, e, feature_const(r, u->bytes)), u->whole);
        }
    }
}

void ml_feature_touched(Row *r)
{
    ml_Forms *f = r->f;

    for (size_t k = 0; k <= r->n_loops; k++)
        r->memory[k] = feature_const(r, 0);
    for (size_t i = 0; i < r->n_uses; i++) {
        Use *u = &r->uses[i];
        uint32_t rank = r->n->buffers.v[u->buffer].rank;
        ml_Num step = feature_const(r, 1);

        u->step = ML_ARRAY(r->n->cx, ml_Num, rank + 1u);
        u->size = ML_ARRAY(r->n->cx, ml_Num, r->n_loops + 1);
        u->run = ML_ARRAY(r->n->cx, ml_Num, r->n_loops + 1);
        u->uses = ML_ARRAY(r->n->cx, ml_Num, r->n_loops + 1);
        u->stride = ML_ARRAY(r->n->cx, ml_Num, r->n_loops + 1);
        for (uint32_t d = rank; d-- > 0;) {
            u->step[d] = step;
            step = ml_form_mul(f, step, u->shape[d]);
        }
        strides_of(r, u);
        sizes_of(r, u);
        for (size_t k = 0; k <= r->n_loops; k++)
            r->memory[k] = ml_form_add(
                f, r->memory[k], ml_form_mul(f, u->size[k], feature_const(r, u->bytes)));
    }
}
