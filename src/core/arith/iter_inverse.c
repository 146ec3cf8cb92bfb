/*
 * iter_inverse - from the values of the indices back to the input iterators.
 *
 * Values are pushed down the graph of sums and digits, marks in descending order of their
 * numbers (constituents have smaller ones). Every digit of a mark must be known, from the
 * lowest up, else there is no inverse. Source: ir-and-analysis 4.7, 4.11.
 */
#include "moonloop/core/arith/iter_impl.h"

typedef struct Known {
    const ml_IterDigit *digit;
    const ml_Expr *value;
} Known;

typedef struct Node {
    const ml_IterMark *mark;
    ML_VEC(Known) known;
} Node;

typedef struct Inverse {
    ml_Arith *ar;
    ml_Ctx *cx;
    ML_VEC(Node *) nodes;
    ml_Map *by_id;
    const ml_Expr *padding;
    bool wants_padding;
} Inverse;

static Node *node_of(Inverse *iv, const ml_IterMark *m)
{
    return (Node *)(uintptr_t)ml_map_get(iv->by_id, m->id);
}

static void reach(Inverse *iv, const ml_IterMark *m)
{
    if (ml_map_has(iv->by_id, m->id))
        return;
    Node *n = ML_NEW(iv->cx, Node);
    n->mark = m;
    ml_map_set(iv->cx, iv->by_id, m->id, n);
    size_t at = iv->nodes.n;
    ml_push(iv->cx, &iv->nodes, n);
    while (at > 0 && iv->nodes.v[at - 1]->mark->id < m->id) {
        iv->nodes.v[at] = iv->nodes.v[at - 1];
        at--;
    }
    iv->nodes.v[at] = n;
    for (size_t k = 0; m->sum && k < m->sum->n; k++)
        reach(iv, m->sum->digits[k].mark);
}

static bool is_unit(const ml_IterDigit *d)
{
    return ml_is_int(d->extent, 1);
}

static bool equal(Inverse *iv, const ml_Expr *a, const ml_Expr *b)
{
    return a == b || ml_prove_equal(iv->ar, a, b);
}

static const ml_Expr *tidy(Inverse *iv, const ml_Expr *e)
{
    return ml_is_const_int(e) ? e : ml_simplify(iv->ar, e);
}

static void give(Inverse *iv, const ml_IterDigit *d, const ml_Expr *value)
{
    Known k = {d, value};

    ml_push(iv->cx, &node_of(iv, d->mark)->known, k);
}

static void pad(Inverse *iv, const ml_Expr *cond)
{
    if (iv->wants_padding && !ml_is_false(cond))
        iv->padding = ml_is_false(iv->padding) ? cond : ml_or(iv->cx, iv->padding, cond);
}

/* The only digit of a sum gets (v - base) / scale. */
static bool push_single(Inverse *iv, const ml_IterDigit *d, const ml_Expr *v)
{
    ml_Ctx *cx = iv->cx;
    const ml_Expr *s = d->scale;

    if (!ml_is_const_int(s)) {
        if (!ml_prove_ge(iv->ar, s, 1))
            return false;
        pad(iv, ml_ne(cx, ml_floormod(cx, v, s), ml_int(cx, s->type, 0)));
        give(iv, d, ml_floordiv(cx, v, s));
        return true;
    }
    if (s->as.i < 0) {
        v = ml_neg(cx, v);
        s = ml_neg(cx, s);
    }
    if (s->as.i <= 0)
        return false;
    if (s->as.i > 1)
        pad(iv, ml_ne(cx, ml_floormod(cx, v, s), ml_int(cx, s->type, 0)));
    give(iv, d, ml_floordiv(cx, v, s));
    return true;
}

/* Gives a sum's value to its digits, which must be an exact mixed radix. */
static bool push_sum(Inverse *iv, const ml_IterSum *s, const ml_Expr *v)
{
    ml_Ctx *cx = iv->cx;
    size_t outermost = s->n;

    if (!ml_is_int(s->base, 0))
        v = ml_sub(cx, v, s->base);
    if (s->n == 0)
        return true;
    if (s->n == 1)
        return push_single(iv, &s->digits[0], v);
    for (size_t k = s->n; k-- > 0;)
        if (!is_unit(&s->digits[k]))
            outermost = k;
    const ml_Expr *expected = ml_int(cx, s->base->type, 1);
    for (size_t k = s->n; k-- > 0;) {
        const ml_IterDigit *d = &s->digits[k];
        if (is_unit(d))
            continue;
        if (!equal(iv, d->scale, expected))
            return false;
        const ml_Expr *part = ml_floordiv(cx, v, d->scale);
        give(iv, d, k == outermost ? part : ml_floormod(cx, part, d->extent));
        expected = tidy(iv, ml_mul(cx, expected, d->extent));
    }
    return true;
}

/* Output points whose digits add up to a value outside of the mark. low: the sum of the
 * digits below the top one; all: of all of them. Split by tiles where that is simpler. */
static void pad_mark(Inverse *iv, const ml_IterMark *m, const Known *top,
                     const ml_Expr *low, const ml_Expr *all)
{
    ml_Ctx *cx = iv->cx;
    const ml_Expr *off = top->digit->offset, *l = top->digit->lower;
    const ml_Expr *end = tidy(iv, ml_add(cx, m->extent, off));
    const ml_Expr *zero = ml_int(cx, l->type, 0);

    if (!iv->wants_padding)
        return;
    if (ml_is_const_int(off) && ml_is_const_int(l) && ml_is_const_int(end)) {
        int64_t rest = ml_floormod_i64(end->as.i, l->as.i);
        if (off->as.i > 0)
            pad(iv, ml_and(cx, ml_eq(cx, top->value, zero), ml_lt(cx, low, off)));
        if (rest > 0) {
            const ml_Expr *last = ml_int(cx, l->type, ml_floordiv_i64(end->as.i, l->as.i));
            pad(iv, ml_and(cx, ml_eq(cx, top->value, last),
                           ml_ge(cx, low, ml_int(cx, l->type, rest))));
        }
        return;
    }
    if (!ml_is_int(off, 0))
        pad(iv, ml_lt(cx, all, off));
    if (!equal(iv, tidy(iv, ml_floormod(cx, end, l)), zero))
        pad(iv, ml_ge(cx, all, end));
}

/* The value of a mark from its digits; NULL: some part of it is not known. */
static const ml_Expr *total(Inverse *iv, Node *n)
{
    ml_Ctx *cx = iv->cx;
    const ml_Expr *expected = ml_int(cx, n->mark->extent->type, 1), *low = NULL,
                  *all = NULL;
    const Known *last = NULL;
    size_t left = 0;

    if (ml_is_int(n->mark->extent, 1)) /* one value, named by the first that uses it */
        return tidy(iv, n->known.v[0].value);
    for (size_t k = 0; k < n->known.n; k++)
        left += !is_unit(n->known.v[k].digit);
    while (left > 0) {
        const Known *next = NULL;
        for (size_t k = 0; k < n->known.n && !next; k++)
            if (!is_unit(n->known.v[k].digit) &&
                equal(iv, n->known.v[k].digit->lower, expected))
                next = &n->known.v[k];
        if (!next || (last && last->digit->open))
            return NULL;
        low = all ? all : ml_int(cx, expected->type, 0);
        const ml_Expr *part = ml_mul(cx, next->value, next->digit->lower);
        all = all ? ml_add(cx, part, all) : part;
        expected = tidy(iv, ml_mul(cx, next->digit->lower, next->digit->extent));
        last = next;
        left--;
    }
    if (!last || !last->digit->open)
        return NULL;
    Known top = {last->digit, tidy(iv, last->value)};
    pad_mark(iv, n->mark, &top, tidy(iv, low), tidy(iv, all));
    return tidy(iv, ml_sub(cx, all, last->digit->offset));
}

bool ml_it_invert(ml_Arith *ar, const ml_IterMap *m, const ml_Expr *const *outputs,
                  ml_Map *inverse, const ml_Expr **padding)
{
    Inverse iv = {.ar = ar, .cx = ml_arith_ctx(ar), .wants_padding = padding != NULL};

    if (!m->ok)
        return false;
    iv.by_id = ml_map_new(iv.cx);
    iv.padding = ml_bool(iv.cx, false);
    for (size_t k = 0; k < m->n; k++)
        for (size_t j = 0; j < m->sums[k].n; j++)
            reach(&iv, m->sums[k].digits[j].mark);
    for (size_t k = 0; k < m->n_fixed; k++)
        reach(&iv, m->fixed[k]);
    for (size_t k = 0; k < m->n; k++) {
        const ml_Expr *v = outputs[k];
        if (!ml_dtype_eq(v->type, m->sums[k].base->type))
            v = ml_cast(iv.cx, m->sums[k].base->type, v);
        if (!push_sum(&iv, &m->sums[k], v))
            return false;
    }
    for (size_t k = 0; k < iv.nodes.n; k++) {
        Node *n = iv.nodes.v[k];
        const ml_Expr *v;
        if (n->known.n > 0)
            v = total(&iv, n);
        else if (ml_is_int(n->mark->extent, 1))
            v = ml_int(iv.cx, n->mark->extent->type, 0);
        else
            continue;
        if (!v)
            return false;
        if (n->mark->sum) {
            if (!push_sum(&iv, n->mark->sum, v))
                return false;
            continue;
        }
        v = tidy(&iv, ml_add(iv.cx, v, n->mark->min));
        if (!ml_dtype_eq(v->type, n->mark->var->type))
            v = ml_cast(iv.cx, n->mark->var->type, v);
        ml_map_set(iv.cx, inverse, n->mark->var->uid, v);
    }
    if (padding)
        *padding = iv.padding;
    return true;
}

bool ml_iter_inverse(ml_Arith *ar, const ml_IterMap *m, const ml_Expr *const *outputs,
                     ml_Map *inverse)
{
    return ml_it_invert(ar, m, outputs, inverse, NULL);
}
