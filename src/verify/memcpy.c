/*
 * memcpy - nests of loops that copy a run of elements to another run, in one order.
 *
 * Both flattened offsets are one-to-one maps of the loops, made of the same digits, and a
 * step of the map is a step in memory: then the offsets differ by a constant and leave no
 * gap, and the elements are as many as the iterations. Source: ir-and-analysis 6.5.
 */
#include "moonloop/verify/verify.h"

typedef struct Nest {
    ml_Ctx *cx;
    ml_Arith *ar;
    ml_DomVec dom;
    const ml_Store *store;
} Nest;

static bool because(const char **why, const char *reason)
{
    if (why)
        *why = reason;
    return false;
}

static bool collect(Nest *n, const ml_Stmt *s, const char **why)
{
    for (; s->kind == ML_STMT_FOR; s = ml_as_for(s)->body) {
        const ml_For *f = ml_as_for(s);

        if (f->step)
            return because(why, "a loop has a step");
        ml_push(n->cx, &n->dom, ((ml_Dom){f->var, f->min, f->extent}));
        ml_arith_bind_loop(n->ar, f);
    }
    if (s->kind != ML_STMT_STORE)
        return because(why, "there is more than loops around one store");
    n->store = ml_as_store(s);
    if (n->store->mask || n->store->value->kind != ML_EXPR_LOAD ||
        n->store->value->flags & ML_X_MASKED)
        return because(why, "what is stored is no single load");
    return true;
}

/* The place of an element, counted from the first one of the buffer; NULL: not known. */
static const ml_Expr *offset(Nest *n, const ml_Buffer *b, const ml_Expr *const *idx,
                             size_t rank)
{
    const ml_Expr *sum = NULL, *factor = NULL;

    if (rank != b->rank)
        return NULL;
    for (size_t k = rank; k-- > 0;) {
        const ml_Expr *e = idx[k], *by = b->n_strides ? b->strides[k] : factor;

        if (!ml_dtype_is_index(e->type)) /* vectors, too */
            return NULL;
        if (by && !ml_promote(n->cx, &e, &by))
            return NULL;
        e = by ? ml_mul(n->cx, e, by) : e;
        if (sum && !ml_promote(n->cx, &e, &sum))
            return NULL;
        sum = sum ? ml_add(n->cx, e, sum) : e;
        const ml_Expr *size = b->shape[k];
        if (factor && !ml_promote(n->cx, &factor, &size))
            return NULL;
        factor = factor ? ml_mul(n->cx, size, factor) : size;
    }
    return sum ? sum : ml_i32(n->cx, 0);
}

static bool same_mark(Nest *n, const ml_IterMark *a, const ml_IterMark *b);

static bool same_digits(Nest *n, const ml_IterSum *a, const ml_IterSum *b)
{
    if (a->n != b->n)
        return false;
    for (size_t k = 0; k < a->n; k++) {
        const ml_IterDigit *x = &a->digits[k], *y = &b->digits[k];

        if (x->open != y->open || !ml_prove_equal(n->ar, x->offset, y->offset) ||
            !ml_prove_equal(n->ar, x->lower, y->lower) ||
            !ml_prove_equal(n->ar, x->extent, y->extent) ||
            !ml_prove_equal(n->ar, x->scale, y->scale) || !same_mark(n, x->mark, y->mark))
            return false;
    }
    return true;
}

static bool same_mark(Nest *n, const ml_IterMark *a, const ml_IterMark *b)
{
    if (a->var || b->var)
        return a->var == b->var;
    return a->sum && b->sum && same_digits(n, a->sum, b->sum);
}

/* As it stands, else simplified: either may hide digits that the other shows. */
static bool one_to_one(Nest *n, const ml_Expr *e, ml_IterMap *out)
{
    const ml_Expr *ways[] = {e, ml_simplify(n->ar, e)};

    for (size_t k = 0; k < ML_COUNT(ways); k++) {
        *out = ml_iter_detect(n->ar, &ways[k], 1, n->dom.v, n->dom.n, NULL, ML_BIJECTIVE,
                              false);
        if (out->ok)
            return true;
    }
    return false;
}

/* What the offset takes, when that leaves no gap: all of a digit of scale 1 or -1. */
static bool run(Nest *n, const ml_IterSum *s, ml_Range *out)
{
    ml_Ctx *cx = n->cx;
    const ml_Expr *one = ml_int(cx, s->base->type, 1);

    *out = (ml_Range){s->base, one};
    if (s->n == 0)
        return true;
    const ml_IterDigit *d = &s->digits[0];

    out->extent = d->extent;
    if (ml_is_int(d->scale, -1))
        out->min = ml_simplify(n->ar, ml_sub(cx, ml_add(cx, s->base, one), d->extent));
    return ml_is_int(d->scale, 1) || ml_is_int(d->scale, -1);
}

bool ml_is_memcpy(ml_Ctx *cx, const ml_Func *f, const ml_Stmt *nest, ml_Memcpy *out,
                  const char **why)
{
    Nest n = {.cx = cx, .ar = ml_arith_new(cx)};
    const ml_Expr *from, *to;
    ml_IterMap source, target;

    if (f)
        ml_arith_bind_params(n.ar, f);
    if (!collect(&n, nest, why))
        return false;
    const ml_Expr *load = n.store->value;

    if (load->as.buffer->data == n.store->buffer->data)
        return because(why, "source and target are of one buffer");
    from = offset(&n, load->as.buffer, load->args, ml_load_rank(load));
    to = offset(&n, n.store->buffer, n.store->indices, n.store->n);
    if (!from || !to)
        return because(why, "the place of an element is not known");
    if (!one_to_one(&n, from, &source) || !one_to_one(&n, to, &target))
        return because(why, "an offset is no one-to-one map of the loops");
    *out = (ml_Memcpy){.source = load->as.buffer, .target = n.store->buffer};
    if (!run(&n, &source.sums[0], &out->from) || !run(&n, &target.sums[0], &out->to))
        return because(why, "the elements are not as many as the iterations");
    return same_digits(&n, &source.sums[0], &target.sums[0]) ||
           because(why, "source and target go through the loops in different orders");
}
