/*
 * iter_radix - the simplification of plain mixed-radix indices without detection.
 *
 * Loops of literal extents, no predicate, and each index a sum of loops times literals in
 * which a loop's factor is the product of the extents of the loops that count faster: what
 * splits leave behind. Detection would find whole iterators, independent of each other, and
 * write the same sum from the slowest loop to the fastest; so that is written at once.
 * Anything else is left to detection. Source: ir-and-analysis 8.3.
 */
#include "moonloop/core/arith/iter_impl.h"

enum { MAX_ITERS = 32, MAX_SIZE = 100 };

typedef struct Radix {
    const ml_Dom *iters;
    size_t n;
    uint32_t used; /* by an index; bit k: iterator k */
    int64_t coef[MAX_ITERS];
} Radix;

/* Adds e * by; false: not a sum of iterators times positive literals. */
static bool collect(Radix *r, const ml_Expr *e, int64_t by)
{
    size_t k = 0;

    switch ((int)e->kind) {
    case ML_EXPR_VAR:
        while (k < r->n && r->iters[k].var->uid != e->as.var->uid)
            k++;
        if (k == r->n || r->used >> k & 1)
            return false;
        r->used |= (uint32_t)1 << k;
        r->coef[k] = by;
        return r->iters[k].extent->as.i > 1;
    case ML_EXPR_ADD: return collect(r, e->args[0], by) && collect(r, e->args[1], by);
    case ML_EXPR_MUL:
        return e->args[1]->kind == ML_EXPR_INT && e->args[1]->as.i > 0 &&
               !__builtin_mul_overflow(by, e->args[1]->as.i, &by) &&
               collect(r, e->args[0], by);
    }
    return false;
}

/* The sum over the iterators of `mine` in the order of their factors, what all factors
 * share taken out; NULL where a factor is not the product of the next one and its extent.
 */
static const ml_Expr *written(ml_Ctx *cx, const Radix *r, uint32_t mine, ml_Dtype t)
{
    const ml_Expr *sum = NULL;
    int64_t expected = 0, unit = INT64_MAX;

    for (size_t k = 0; k < r->n; k++)
        if (mine >> k & 1 && r->coef[k] < unit)
            unit = r->coef[k];
    while (mine) {
        size_t top = MAX_ITERS;

        for (size_t k = 0; k < r->n; k++)
            if (mine >> k & 1 && (top == MAX_ITERS || r->coef[k] > r->coef[top]))
                top = k;
        ML_ASSERT(top < MAX_ITERS); /* mine has bits below r->n alone */
        mine &= ~((uint32_t)1 << top);

        int64_t coef = r->coef[top], span;

        if (__builtin_mul_overflow(coef, r->iters[top].extent->as.i, &span) ||
            !ml_dtype_fits(t, span) || (sum && span != expected))
            return NULL;
        expected = coef;
        /* Where the chain holds to its end, each factor is a multiple of the last. */
        const ml_Expr *term =
            ml_mul(cx, ml_var(cx, r->iters[top].var), ml_int(cx, t, coef / unit));

        sum = sum ? ml_add(cx, sum, term) : term;
    }
    return ml_mul(cx, sum, ml_int(cx, t, unit));
}

bool ml_it_radix(ml_Arith *ar, const ml_Expr *const *indices, size_t n, const ml_Dom *iters,
                 size_t n_iters, const ml_Expr **out)
{
    Radix r = {.iters = iters, .n = n_iters};

    if (n == 0 || n_iters > MAX_ITERS)
        return false;
    ml_Dtype t = indices[0]->type;

    for (size_t k = 0; k < n; k++)
        if (!ml_dtype_is_index(t) || !ml_dtype_eq(indices[k]->type, t) ||
            indices[k]->size > MAX_SIZE)
            return false;
    for (size_t k = 0; k < n_iters; k++)
        if (!ml_dtype_eq(iters[k].var->type, t) || !ml_is_int(iters[k].min, 0) ||
            !ml_dtype_is_index(iters[k].min->type) ||
            !ml_dtype_is_index(iters[k].extent->type) ||
            iters[k].extent->kind != ML_EXPR_INT || iters[k].extent->as.i < 1)
            return false;
    for (size_t k = 0; k < n; k++) {
        uint32_t before = r.used;

        out[k] = indices[k];
        if (indices[k]->kind == ML_EXPR_INT)
            continue;
        if (!collect(&r, indices[k], 1) ||
            !(out[k] = written(ml_arith_ctx(ar), &r, r.used & ~before, t)))
            return false;
    }
    return true;
}
