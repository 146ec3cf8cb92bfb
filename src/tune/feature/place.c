/*
 * place - features 157 to 160, and where buffers live: an allocated buffer is placed within
 * the loops that are around all its uses, and is as large as what they touch there.
 * Source: auto-scheduler 14.
 */
#include "moonloop/tune/feature/feature_impl.h"

enum { FIRST = 157 };

/* ---------------------------------------------------------------- homes */

typedef struct Place {
    ml_Nest *n;
    uint32_t buffer;
    const StoreAt *at; /* of the first use */
    size_t depth;
    const ml_Sum *dims; /* of the first use */
    bool same;          /* all uses stand at the same place in the loops outside */
    ml_Num *lo, *hi;
} Place;

typedef void UseFn(Place *p, const StoreAt *at, const ml_Sum *dims);

static void each_use(Place *p, const Stores *stores, UseFn *fn)
{
    for (size_t k = 0; k < stores->n; k++) {
        const StoreAt *at = &stores->v[k];

        if (at->s->to.buffer == p->buffer)
            fn(p, at, at->dims[0]);
        for (uint32_t m = 0; m < at->s->n_loads; m++)
            if (at->s->loads[m].buffer == p->buffer)
                fn(p, at, at->dims[m + 1]);
    }
}

static bool moves_with(const ml_Sum *dims, uint32_t rank, uint32_t axis)
{
    for (uint32_t d = 0; d < rank; d++)
        if (ml_sum_uses(&dims[d], axis))
            return true;
    return false;
}

/* The loops in common; what is summed up over a loop lives outside of it. */
static void find_depth(Place *p, const StoreAt *at, const ml_Sum *dims)
{
    ml_Forms *f = p->n->f;
    bool carries = false;
    size_t k = 0;

    if (p->at == NULL) {
        p->at = at;
        p->dims = dims;
        p->depth = at->n_loops;
    }
    while (k < p->depth && k < at->n_loops && at->loops[k] == p->at->loops[k])
        k++;
    p->depth = k;
    for (uint32_t m = 0; m < at->s->n_loads; m++)
        carries |= at->s->loads[m].buffer == p->buffer;
    carries &= at->s->to.buffer == p->buffer;
    for (k = 0; carries && k < p->depth; k++)
        if (!moves_with(dims, p->n->buffers.v[p->buffer].rank, at->loops[k]) &&
            ml_form_holds(
                f, ml_form_lt(f, ml_form_const(f, 1), p->n->axes.v[at->loops[k]].extent)))
            p->depth = k;
}

static bool is_outside(const Place *p, uint32_t axis)
{
    for (size_t k = 0; k < p->depth; k++)
        if (p->at->loops[k] == axis)
            return true;
    return false;
}

/* Whether it is there by its forms, without a question. */
static bool is_term_of(const ml_Term *x, const ml_Sum *b)
{
    for (uint32_t m = 0; m < b->n; m++)
        if (memcmp(x, &b->v[m], sizeof *x) == 0)
            return true;
    return false;
}

/* Each part of a that the loops outside move is one of b, too. */
static bool same_outside(const Place *p, const ml_Sum *a, const ml_Sum *b)
{
    ml_Forms *f = p->n->f;

    for (uint32_t k = 0; k < a->n; k++) {
        const ml_Term *x = &a->v[k];
        bool found = false;

        if (!is_outside(p, x->axis) || is_term_of(x, b))
            continue;
        for (uint32_t m = 0; m < b->n && !found; m++) {
            const ml_Term *y = &b->v[m];

            found = y->axis == x->axis && ml_form_holds(f, ml_form_eq(f, x->lo, y->lo)) &&
                    ml_form_holds(f, ml_form_eq(f, x->ext, y->ext)) &&
                    ml_form_holds(f, ml_form_eq(f, x->coef, y->coef));
        }
        if (!found && !ml_form_holds(f, ml_form_eq(f, x->ext, ml_form_const(f, 1))))
            return false;
    }
    return true;
}

static void widen(Place *p, const StoreAt *at, const ml_Sum *dims)
{
    ml_Forms *f = p->n->f;
    ml_Num zero = ml_form_const(f, 0), one = ml_form_const(f, 1);

    (void)at;
    for (uint32_t d = 0; d < p->n->buffers.v[p->buffer].rank && p->same; d++) {
        const ml_Sum *s = &dims[d], *t = &p->dims[d];
        ml_Num lo = s->base, hi = s->base;

        p->same = s->ok && t->ok && same_outside(p, s, t) && same_outside(p, t, s);
        for (uint32_t k = 0; k < s->n && p->same; k++) {
            if (is_outside(p, s->v[k].axis))
                continue;
            ml_Num by = ml_form_mul(f, s->v[k].coef, ml_form_sub(f, s->v[k].ext, one));

            lo = ml_form_add(f, lo, ml_form_min(f, by, zero));
            hi = ml_form_add(f, hi, ml_form_max(f, by, zero));
        }
        p->lo[d] = s == t ? lo : ml_form_min(f, p->lo[d], lo);
        p->hi[d] = s == t ? hi : ml_form_max(f, p->hi[d], hi);
    }
}

Home *ml_feature_homes(ml_Nest *n, const Stores *stores)
{
    ml_Forms *f = n->f;
    Home *homes = ML_ARRAY(n->cx, Home, n->buffers.n + 1);

    for (uint32_t b = 0; b < n->buffers.n; b++) {
        const ml_NestBuffer *nb = &n->buffers.v[b];
        Place p = {.n = n, .buffer = b, .same = true};

        homes[b].around = ml_form_const(f, 1);
        homes[b].shape = nb->shape;
        homes[b].known = true;
        if (nb->param)
            continue;
        each_use(&p, stores, find_depth);
        p.lo = ML_ARRAY(n->cx, ml_Num, nb->rank + 1u);
        p.hi = ML_ARRAY(n->cx, ml_Num, nb->rank + 1u);
        each_use(&p, stores, widen);
        homes[b].depth = p.depth;
        for (size_t k = 0; k < p.depth; k++)
            homes[b].around =
                ml_form_mul(f, homes[b].around, n->axes.v[p.at->loops[k]].extent);
        if (!p.same || p.at == NULL)
            continue;
        homes[b].shape = ML_ARRAY(n->cx, ml_Num, nb->rank + 1u);
        for (uint32_t d = 0; d < nb->rank; d++)
            homes[b].shape[d] = ml_form_min(
                f, nb->shape[d],
                ml_form_add(f, ml_form_sub(f, p.hi[d], p.lo[d]), ml_form_const(f, 1)));
    }
    return homes;
}

/* ---------------------------------------------------------------- features */

void ml_feature_place(Row *r, const Home *h)
{
    ml_Forms *f = r->f;
    const ml_NestBuffer *b = &r->n->buffers.v[r->s->to.buffer];
    ml_Num elements = feature_const(r, 1);

    for (uint32_t d = 0; d < b->rank; d++)
        elements = ml_form_mul(f, elements, h->shape[d]);
    r->out[FIRST] = ml_form_slog(
        f, ml_form_mul(f, elements, feature_const(r, (double)ml_dtype_bytes(b->type))));
    r->out[FIRST + 1] = ml_form_slog(f, ml_form_mul(f, elements, h->around));
    r->out[FIRST + 2] = ml_form_slog(f, h->around);
    r->out[FIRST + 3] = ml_form_slog(f, ml_form_div(f, r->points, h->around));
}
