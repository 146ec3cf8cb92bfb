/* run_on - see run_on.h. */
#include "moonloop/core/run_on.h"

/* Elements of all dimensions after d. */
static int64_t row(const ml_Buffer *b, size_t d)
{
    int64_t p = 1;

    for (size_t k = d + 1; k < b->rank; k++)
        p *= b->shape[k]->as.i;
    return p;
}

static const ml_Expr *base_of(const ml_Expr *e)
{
    return e->kind == ML_EXPR_RAMP ? e->args[0] : e;
}

/* The place of the first lane among the elements after dimension d, `by` further on. */
static const ml_Expr *place(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *index,
                            size_t n, size_t d, int64_t by)
{
    ml_Dtype t = base_of(index[n - 1])->type;
    const ml_Expr *at = ml_int(cx, t, by);

    for (size_t k = n; k-- > d + 1;) {
        const ml_Expr *i = base_of(index[k]), *r;

        (void)ml_promote(cx, &at, &i);
        r = ml_int(cx, i->type, row(b, k));
        at = ml_add(cx, ml_mul(cx, i, r), at);
    }
    return at;
}

/* Whether all lanes fit below dimension d's end, as far as numbers tell. */
static bool fits(const ml_Buffer *b, const ml_Expr *const *index, size_t n, size_t d)
{
    int64_t at = 0, lanes = index[n - 1]->type.lanes;

    for (size_t k = d; k < n; k++) {
        const ml_Expr *i = base_of(index[k]);

        if (!ml_is_const_int(i))
            return (lanes - 1) / row(b, d) < b->shape[d]->as.i;
        at += i->as.i * row(b, k);
    }
    return at + lanes <= b->shape[d]->as.i * row(b, d);
}

size_t ml_run_dim(const ml_Buffer *b, const ml_Expr *const *index, size_t n)
{
    size_t d = n - 1;

    if (n < 2 || n != b->rank || b->n_strides || index[d]->kind != ML_EXPR_RAMP ||
        !ml_is_int(index[d]->args[1], 1) || !ml_dtype_is_index(index[d]->args[0]->type))
        return n;
    for (size_t k = 0; k < d; k++)
        if (index[k]->type.lanes != 1 || !ml_dtype_is_index(index[k]->type))
            return n;
    while (ml_is_const_int(b->shape[d]) && b->shape[d]->as.i > 0 &&
           b->shape[d]->as.i < INT32_MAX && row(b, d) < INT32_MAX &&
           !fits(b, index, n, d)) {
        if (d == 0)
            return 0;
        d--;
    }
    return d == n - 1 ? n : d;
}

void ml_run_lane(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *index, size_t n,
                 size_t dim, unsigned lane, const ml_Expr **out)
{
    for (size_t k = 0; k < n; k++)
        out[k] = base_of(index[k]);
    if (lane == 0)
        return;
    for (size_t k = dim; k < n; k++) {
        const ml_Expr *at = place(cx, b, index, n, k, lane), *i = out[k];
        const ml_Expr *r = ml_int(cx, at->type, row(b, k));

        at = ml_floordiv(cx, at, r);
        (void)ml_promote(cx, &i, &at);
        i = ml_add(cx, i, at);
        if (k > dim)
            i = ml_floormod(cx, i, ml_int(cx, i->type, b->shape[k]->as.i));
        out[k] = i;
    }
}

void ml_run_box(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *index, size_t n,
                size_t dim, ml_Range *out)
{
    const ml_Expr *i = index[dim];
    const ml_Expr *first = place(cx, b, index, n, dim, 0);
    const ml_Expr *last = place(cx, b, index, n, dim, index[n - 1]->type.lanes - 1);
    const ml_Expr *r = ml_int(cx, first->type, row(b, dim));

    first = ml_floordiv(cx, first, r);
    last = ml_floordiv(cx, last, r);
    for (size_t k = 0; k < n; k++)
        out[k] = k < dim ? (ml_Range){index[k], ml_int(cx, index[k]->type, 1)}
                         : (ml_Range){ml_int(cx, b->shape[k]->type, 0), b->shape[k]};
    out[dim].extent = ml_add(cx, ml_sub(cx, last, first), ml_int(cx, first->type, 1));
    (void)ml_promote(cx, &i, &first);
    out[dim].min = ml_add(cx, i, first);
    (void)ml_promote(cx, &out[dim].min, &out[dim].extent);
}
