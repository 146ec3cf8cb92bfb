/*
 * intrin_apart - whether the operands of an intrinsic lie apart in memory.
 *
 * The description writes an element after it has read what that one needs, the
 * implementation in whatever order it likes: where a written operand overlaps another one,
 * the two compute different things. One operand that is read and written is the same in
 * both. Views are followed to what they view. Source: primitives 10, tensorize.
 */
#include "moonloop/primitives/intrin/intrin_match.h"

#include "moonloop/core/shown.h"
#include "moonloop/verify/facts.h"

static const ml_Match *match_of(const ml_Block *b, const ml_Buffer *target)
{
    for (size_t k = 0; k < b->n_matches; k++)
        if (b->matches[k].target->uid == target->uid)
            return &b->matches[k];
    return NULL;
}

/* The region in the buffer that is no view. */
static ml_Region at_source(ml_Call *c, ml_Region r)
{
    ml_Ctx *cx = c->cx;
    bool is_match = false;

    for (;;) {
        ml_Uid site = ml_buffer_site(c->p, c->func, r.buffer, &is_match);
        const ml_Match *m =
            site && is_match ? match_of(ml_call_block(c, site), r.buffer) : NULL;

        if (!m)
            return r;
        const ml_Buffer *src = m->source.buffer;
        size_t lead = (size_t)src->rank - r.buffer->rank;
        ml_Range *out = ML_ARRAY(cx, ml_Range, src->rank + 1u);

        for (size_t d = 0; d < src->rank; d++) {
            const ml_Expr *min = m->source.ranges[d].min;

            out[d] = m->source.ranges[d];
            if (d < lead)
                continue;
            out[d] = r.ranges[d - lead];
            if (ml_promote(cx, &min, &out[d].min))
                out[d].min = ml_add(cx, min, out[d].min);
        }
        r = (ml_Region){src, out};
    }
}

/* a ends at or before the begin of b, in one dimension. */
static bool ends_before(ml_Ctx *cx, ml_Arith *ar, ml_Range a, ml_Range b)
{
    const ml_Expr *end = a.min, *n = a.extent, *begin = b.min;

    if (!ml_promote(cx, &end, &n))
        return false;
    end = ml_add(cx, end, n);
    return ml_promote(cx, &end, &begin) && ml_prove_le_expr(ar, end, begin);
}

static bool apart(ml_Ctx *cx, ml_Arith *ar, const ml_Region *a, const ml_Region *b)
{
    if (a->buffer->data->uid != b->buffer->data->uid)
        return true;
    if (a->buffer->uid != b->buffer->uid) /* another shape over one pointer */
        return false;
    for (size_t d = 0; d < a->buffer->rank; d++)
        if (ends_before(cx, ar, a->ranges[d], b->ranges[d]) ||
            ends_before(cx, ar, b->ranges[d], a->ranges[d]))
            return true;
    return false;
}

bool ml_intrin_check_apart(ml_Call *c, ml_Arith *ar, const char *name, const ml_Func *desc,
                           ml_Uid shown, const ml_Match *views)
{
    ml_Ctx *cx = c->cx;
    const ml_Block *root = ml_func_root(desc);
    ml_Region *at = ML_ARRAY(cx, ml_Region, desc->n_params + 1u);

    for (uint32_t k = 0; k < desc->n_params; k++) {
        at[k] = at_source(c, views[k].source);
        for (uint32_t j = 0; j < k; j++) {
            const ml_Buffer *a = desc->params[j].buffer, *b = desc->params[k].buffer;
            const ml_Buffer *written = ml_write_of(root, a)   ? a
                                       : ml_write_of(root, b) ? b
                                                              : NULL;

            if (!written || apart(cx, ar, &at[j], &at[k]))
                continue;
            return ml_fail(
                cx, ML_E_INTRIN_MISMATCH, ML_BLOCK_UID(shown), ML_TEXT(name),
                ML_TEXT(ml_format(cx,
                                  "its operands %s and %s may overlap: both lie in %s, and "
                                  "it writes %s",
                                  a->name, b->name, ml_shown(cx, at[k].buffer),
                                  written->name)),
                ML_BUFFER(at[k].buffer));
        }
    }
    return true;
}
