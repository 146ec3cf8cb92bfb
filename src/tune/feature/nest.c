/*
 * nest - the tree, and the arithmetic of sums of digits.
 *
 * A question about numbers (does a factor divide a coefficient) is answered at the vector at
 * hand and kept on the path of the forms. Source: auto-scheduler 13.
 */
#include "moonloop/tune/feature/nest.h"

ml_NestNode *ml_nest_node(ml_Nest *n, ml_NestNode *parent)
{
    ml_NestNode *node = ML_NEW(n->cx, ml_NestNode);

    node->parent = parent;
    if (parent)
        ml_push(n->cx, &parent->kids, node);
    return node;
}

size_t ml_nest_loops(const ml_NestNode *node, uint32_t *axes, size_t cap)
{
    size_t n = 0, k;

    for (const ml_NestNode *p = node->parent; p; p = p->parent)
        n += p->kind == ML_NEST_LOOP;
    k = n;
    for (const ml_NestNode *p = node->parent; p; p = p->parent)
        if (p->kind == ML_NEST_LOOP && --k < cap)
            axes[k] = p->axis;
    return n < cap ? n : cap;
}

/* ---------------------------------------------------------------- sums */

typedef ML_VEC(ml_Term) Terms;

static ml_Sum sum_of(ml_Num base, const Terms *t)
{
    return (ml_Sum){.ok = true, .base = base, .n = (uint32_t)t->n, .v = t->v};
}

bool ml_sum_uses(const ml_Sum *a, uint32_t axis)
{
    for (uint32_t k = 0; k < a->n; k++)
        if (a->v[k].axis == axis)
            return true;
    return false;
}

/* What both depend on. */
static ml_Sum not_affine(ml_Nest *n, const ml_Sum *a, const ml_Sum *b)
{
    Terms t = {0};

    for (uint32_t k = 0; k < a->n; k++)
        ml_push(n->cx, &t, a->v[k]);
    for (uint32_t k = 0; b && k < b->n; k++)
        if (!ml_sum_uses(a, b->v[k].axis))
            ml_push(n->cx, &t, b->v[k]);
    return (ml_Sum){.base = ml_form_const(n->f, 0), .n = (uint32_t)t.n, .v = t.v};
}

ml_Sum ml_sum_const(ml_Nest *n, double v)
{
    return (ml_Sum){.ok = true, .base = ml_form_const(n->f, v)};
}

ml_Sum ml_sum_axis(ml_Nest *n, uint32_t axis)
{
    ml_Term *t = ML_NEW(n->cx, ml_Term);
    ml_Num one = ml_form_const(n->f, 1);

    *t = (ml_Term){axis, one, n->axes.v[axis].extent, one};
    return (ml_Sum){.ok = true, .base = ml_form_const(n->f, 0), .n = 1, .v = t};
}

static void put_term(ml_Nest *n, Terms *t, const ml_Term *a)
{
    for (size_t k = 0; k < t->n; k++)
        if (t->v[k].axis == a->axis && t->v[k].lo == a->lo && t->v[k].ext == a->ext) {
            t->v[k].coef = ml_form_add(n->f, t->v[k].coef, a->coef);
            return;
        }
    ml_push(n->cx, t, *a);
}

ml_Sum ml_sum_add(ml_Nest *n, const ml_Sum *a, const ml_Sum *b, ml_Num times)
{
    Terms t = {0};

    if (!a->ok || !b->ok)
        return not_affine(n, a, b);
    for (uint32_t k = 0; k < a->n; k++)
        ml_push(n->cx, &t, a->v[k]);
    for (uint32_t k = 0; k < b->n; k++) {
        ml_Term x = b->v[k];

        x.coef = ml_form_mul(n->f, x.coef, times);
        put_term(n, &t, &x);
    }
    return sum_of(ml_form_add(n->f, a->base, ml_form_mul(n->f, b->base, times)), &t);
}

/* ---- digits */

static bool divides(ml_Nest *n, ml_Num q, ml_Num a)
{
    ml_Forms *f = n->f;

    return ml_form_holds(f, ml_form_eq(f, ml_form_mod(f, a, q), ml_form_const(f, 0)));
}

/* The part of a that is a multiple of q goes to high, divided by it; what is below to low. */
static bool cut(ml_Nest *n, const ml_Term *a, ml_Num q, Terms *high, Terms *low)
{
    ml_Forms *f = n->f;
    ml_Term h = *a, l = *a;

    if (divides(n, q, a->coef)) {
        h.coef = ml_form_floordiv(f, a->coef, q);
        put_term(n, high, &h);
        return true;
    }
    if (!ml_form_holds(f, ml_form_lt(f, ml_form_const(f, 0), a->coef)))
        return false;
    if (ml_form_holds(f, ml_form_le(f, ml_form_mul(f, a->coef, a->ext), q))) {
        put_term(n, low, a);
        return true;
    }
    if (ml_form_holds(f, ml_form_eq(f, a->ext, ml_form_const(f, 1))))
        return true; /* it is 0 */
    if (!divides(n, a->coef, q))
        return false;
    ml_Num k = ml_form_floordiv(f, q, a->coef);

    l.ext = k;
    h.lo = ml_form_mul(f, a->lo, k);
    h.ext = ml_form_ceildiv(f, a->ext, k);
    h.coef = ml_form_const(f, 1);
    /* a digit that is not the highest of its axis can be cut where its range is divided */
    if (!divides(n, k, a->ext) &&
        !ml_form_holds(
            f, ml_form_le(f, n->axes.v[a->axis].extent, ml_form_mul(f, a->lo, a->ext))))
        return false;
    put_term(n, low, &l);
    put_term(n, high, &h);
    return true;
}

/* The greatest value, where no coefficient is negative. */
static ml_Num greatest(ml_Nest *n, const Terms *t, ml_Num base)
{
    ml_Forms *f = n->f;
    ml_Num one = ml_form_const(f, 1);

    for (size_t k = 0; k < t->n; k++)
        base = ml_form_add(f, base,
                           ml_form_mul(f, t->v[k].coef, ml_form_sub(f, t->v[k].ext, one)));
    return base;
}

/* a as high * q + low with 0 <= low < q. */
static bool divide(ml_Nest *n, const ml_Sum *a, ml_Num q, ml_Sum *high, ml_Sum *low)
{
    ml_Forms *f = n->f;
    Terms h = {0}, l = {0};
    ml_Num base = ml_form_mod(f, a->base, q);

    for (uint32_t k = 0; k < a->n; k++)
        if (!cut(n, &a->v[k], q, &h, &l))
            return false;
    *high = sum_of(ml_form_floordiv(f, a->base, q), &h);
    *low = sum_of(base, &l);
    return l.n == 0 || ml_form_holds(f, ml_form_lt(f, greatest(n, &l, base), q));
}

/* (a // lo) % ext; ext 0: no remainder is taken. Not affine where digits would have to be
 * cut in ways that are no digits. */
static ml_Sum digit_of(ml_Nest *n, const ml_Sum *a, ml_Num lo, ml_Num ext)
{
    ml_Forms *f = n->f;
    ml_Sum high, low, x = *a;
    ml_Num zero = ml_form_const(f, 0);
    bool positive = a->ok;

    for (uint32_t k = 0; k < a->n && positive; k++)
        positive = ml_form_holds(f, ml_form_le(f, zero, a->v[k].coef));
    if (!positive)
        return not_affine(n, a, NULL);
    if (!ml_form_is(f, lo, 1)) {
        if (!divide(n, &x, lo, &high, &low))
            return not_affine(n, a, NULL);
        x = high;
    }
    if (ml_form_is(f, ext, 0))
        return x;
    Terms all = {0};

    for (uint32_t k = 0; k < x.n; k++)
        ml_push(n->cx, &all, x.v[k]);
    if (ml_form_holds(f, ml_form_lt(f, greatest(n, &all, x.base), ext)))
        return x;
    return divide(n, &x, ext, &high, &low) ? low : not_affine(n, a, NULL);
}

/* Whether digits may be one. */
static bool is_joined(const ml_Nest *n, const ml_Term *a, const ml_Term *b)
{
    return a->axis == b->axis && !n->axes.v[a->axis].parts;
}

/* Digits of one loop that lie side by side are one. */
static ml_Sum joined(ml_Nest *n, const ml_Sum *a)
{
    ml_Forms *f = n->f;
    Terms t = {0};
    bool several = false;

    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t m = 0; m < k; m++)
            several |= is_joined(n, &a->v[k], &a->v[m]);
    if (!several)
        return *a;
    for (uint32_t k = 0; k < a->n; k++)
        ml_push(n->cx, &t, a->v[k]);
    for (size_t k = 0; k < t.n; k++) {
        bool alone = true;

        for (size_t m = 0; m < t.n; m++)
            alone &= m == k || !is_joined(n, &t.v[m], &t.v[k]);
        if (!alone && ml_form_holds(f, ml_form_eq(f, t.v[k].ext, ml_form_const(f, 1))))
            t.v[k--] = t.v[--t.n];
    }
    for (size_t k = 0; k < t.n; k++)
        for (size_t m = 0; m < t.n; m++) {
            ml_Term *hi = &t.v[k], *lo = &t.v[m];

            if (k == m || !is_joined(n, hi, lo) ||
                !ml_form_holds(f, ml_form_eq(f, hi->lo, ml_form_mul(f, lo->lo, lo->ext))) ||
                !ml_form_holds(f,
                               ml_form_eq(f, hi->coef, ml_form_mul(f, lo->coef, lo->ext))))
                continue;
            lo->ext = ml_form_mul(f, lo->ext, hi->ext);
            *hi = t.v[--t.n];
            k = m = (size_t)-1;
            break;
        }
    return sum_of(a->base, &t);
}

static ml_Sum put_digits(ml_Nest *n, const ml_Term *x, const ml_Sum *value)
{
    ml_Forms *f = n->f;
    const ml_NestAxis *axis = &n->axes.v[x->axis];
    bool top = ml_form_is(f, x->lo, 1) && x->ext == axis->extent;

    return top ? *value : digit_of(n, value, x->lo, x->ext);
}

/* The terms of other axes. */
static bool without(ml_Nest *n, const ml_Sum *a, uint32_t axis, Terms *out)
{
    for (uint32_t k = 0; k < a->n; k++)
        if (a->v[k].axis != axis)
            ml_push(n->cx, out, a->v[k]);
    return out->n < a->n;
}

ml_Sum ml_sum_put(ml_Nest *n, const ml_Sum *a, uint32_t axis, const ml_Sum *value)
{
    Terms t = {0};

    if (!without(n, a, axis, &t))
        return *a;
    ml_Sum out = sum_of(a->base, &t);

    if (!a->ok)
        return not_affine(n, &out, value);
    for (uint32_t k = 0; k < a->n; k++)
        if (a->v[k].axis == axis) {
            ml_Sum d = put_digits(n, &a->v[k], value);

            out = ml_sum_add(n, &out, &d, a->v[k].coef);
        }
    return out;
}

ml_Sum ml_sum_loops(ml_Nest *n, const ml_Sum *a)
{
    ml_Sum out = {.ok = a->ok, .base = a->base};

    for (uint32_t k = 0; k < a->n; k++) {
        const ml_NestAxis *x = &n->axes.v[a->v[k].axis];
        ml_Sum part = {.ok = true, .base = ml_form_const(n->f, 0), .n = 1, .v = &a->v[k]};
        ml_Num times = ml_form_const(n->f, 1);

        if (x->iter) {
            part = ml_sum_loops(n, &x->value);
            times = a->v[k].coef;
            if (a->ok)
                part = put_digits(n, &a->v[k], &part);
        }
        out = out.ok ? ml_sum_add(n, &out, &part, times) : not_affine(n, &out, &part);
    }
    return out.ok ? joined(n, &out) : out;
}
