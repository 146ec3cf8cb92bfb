/*
 * stride - how far an access moves in memory from one iteration of a loop to the next.
 *
 * The digits of the loop's counter move it by their factors times the strides of the
 * dimensions. Where each digit moves it as much further as it counts higher the whole
 * counter has one stride; otherwise the lowest digit has the usual one.
 * Source: interaction 8, 10.
 */
#include "moonloop/verify/count/counts_impl.h"

/* Elements between neighbours in dimension d. */
static ml_Number dim_stride(ml_Sites *s, const ml_Buffer *b, uint32_t d)
{
    ml_Number n = ml_number(1);

    if (b->n_strides)
        return ml_number_of(s->cx, b->strides[d]);
    for (uint32_t k = d + 1; k < b->rank; k++)
        n = ml_number_mul(s->cx, n, ml_number_of(s->cx, b->shape[k]));
    return n;
}

/* How far the digit moves it. */
static ml_Number digit_step(ml_Sites *s, const ml_SiteAt *at, uint32_t k)
{
    const ml_Layout *l = at->layout;
    ml_Number n = ml_number(0);

    for (uint32_t d = 0; d < l->n_rows; d++)
        if (l->rows[d].ok && l->rows[d].coef[k] != 0)
            n = ml_number_add(s->cx, n,
                              ml_number_mul(s->cx, ml_number(l->rows[d].coef[k]),
                                            dim_stride(s, at->site.buffer, d)));
    return n;
}

static bool same_ratio(ml_Sites *s, ml_Number a, int64_t times, ml_Number b)
{
    ml_Number up = ml_number_mul(s->cx, a, ml_number(times));

    if (up.how != ML_EXACT || b.how != ML_EXACT || (up.expr == NULL) != (b.expr == NULL))
        return false;
    return up.expr ? ml_prove_equal(ml_arith_new(s->cx), up.expr, b.expr) : up.n == b.n;
}

void ml_stride_of(ml_Sites *s, const ml_SiteAt *at, const ml_LoopAt *loop, ml_Stride *out)
{
    const ml_Layout *l = at->layout;
    bool first = true;
    ml_Number low = ml_number(0);
    int64_t lo = 1;

    *out = (ml_Stride){.site = &at->site, .kind = ML_STRIDE_EVEN};
    for (uint32_t d = 0; d < at->site.buffer->rank; d++)
        if ((!l->ok || !l->rows[d].ok) &&
            (!l->ok || at->dims[d].deps & ml_depth_bit(loop->depth))) {
            out->kind = ML_STRIDE_OPEN;
            return;
        }
    for (uint32_t k = 0; k < l->n; k++) {
        if (l->digit[k].axis != loop->axis)
            continue;
        ml_Number step = digit_step(s, at, k);

        if (step.how != ML_EXACT) {
            out->kind = ML_STRIDE_OPEN;
            return;
        }
        if (first) {
            low = step;
            lo = l->digit[k].lo;
        } else if (!same_ratio(s, low, l->digit[k].lo / lo, step))
            out->kind = ML_STRIDE_UNEVEN;
        first = false;
    }
    out->n = low.n;
    out->expr = low.expr && !ml_is_const_int(low.expr)
                    ? ml_simplify(ml_arith_new(s->cx), low.expr)
                    : NULL;
}
