/* operations - features 0 to 15: what is computed. Source: auto-scheduler 14. */
#include "moonloop/tune/feature/feature_impl.h"

enum { FLOATS = 7, INT_ADD = 8, INT_MUL = 9, INT_DIV = 10 };

/* Digits of one loop that are not joined in the sum: whether one lies on top of what starts at
 * t and has `ext` values so far. */
static ml_Num lies_on(const Row *r, const ml_Term *hi, const ml_Term *t, ml_Num ext)
{
    ml_Forms *f = r->f;

    if (hi == t || hi->axis != t->axis || !r->n->axes.v[t->axis].parts)
        return feature_const(r, 0);
    return ml_form_mul(f, ml_form_eq(f, hi->lo, ml_form_mul(f, t->lo, ext)),
                       ml_form_eq(f, hi->coef, ml_form_mul(f, t->coef, ext)));
}

/* How many values t and the digits on it have; *on: whether it lies on another itself. */
static ml_Num joined_extent(const Row *r, const ml_Sum *s, uint32_t k, ml_Num *on)
{
    ml_Forms *f = r->f;
    ml_Num one = feature_const(r, 1), ext = s->v[k].ext;

    *on = feature_const(r, 0);
    if (!r->n->axes.v[s->v[k].axis].parts)
        return ext;
    for (uint32_t m = 0; m < s->n; m++) {
        ml_Num there = ml_form_lt(f, one, s->v[m].ext);

        *on = ml_form_max(
            f, *on, ml_form_mul(f, there, lies_on(r, &s->v[k], &s->v[m], s->v[m].ext)));
    }
    for (uint32_t pass = 1; pass < s->n; pass++)
        for (uint32_t m = 0; m < s->n; m++)
            ext = ml_form_select(f, lies_on(r, &s->v[m], &s->v[k], ext),
                                 ml_form_mul(f, ext, s->v[m].ext), ext);
    return ext;
}

/* The arithmetic of an index: sums of the loops that move it, each times a factor. */
static void index_work(const Row *r, const ml_Sum *s, ml_Num count[3])
{
    ml_Forms *f = r->f;
    ml_Num one = feature_const(r, 1), terms = feature_const(r, 0);

    if (!s->ok)
        return;
    for (uint32_t k = 0; k < s->n; k++) {
        const ml_Term *t = &s->v[k];
        ml_Num there = ml_form_lt(f, one, t->ext), on;
        ml_Num factor = ml_form_not(f, ml_form_eq(f, t->coef, one));
        ml_Num ext = joined_extent(r, s, k, &on);
        ml_Num digit = ml_form_lt(f, ext, r->n->axes.v[t->axis].extent);

        there = ml_form_mul(f, there, ml_form_not(f, on));

        terms = ml_form_add(f, terms, there);
        count[1] = ml_form_add(f, count[1], ml_form_mul(f, there, factor));
        count[2] = ml_form_add(f, count[2], ml_form_mul(f, there, digit));
    }
    ml_Num offset = ml_form_not(f, ml_form_eq(f, s->base, feature_const(r, 0)));
    ml_Num adds = ml_form_sub(f, ml_form_add(f, terms, offset), one);

    count[0] = ml_form_add(f, count[0], ml_form_max(f, adds, feature_const(r, 0)));
}

void ml_feature_operations(Row *r)
{
    ml_Forms *f = r->f;
    ml_Num count[3] = {feature_const(r, 0), feature_const(r, 0), feature_const(r, 0)};
    ml_Num each[ML_OPERATIONS];
    double floats = 0;

    for (size_t u = 0; u < r->n_uses; u++)
        for (size_t k = 0; r->uses[u].read && k < r->uses[u].sites.n; k++)
            for (uint32_t d = 0; d < r->uses[u].sites.v[k].a->n; d++)
                index_work(r, &r->uses[u].sites.v[k].dims[d], count);
    for (size_t k = 0; k < ML_OPERATIONS; k++) {
        each[k] = feature_const(r, (double)r->s->operations[k]);
        floats += k < FLOATS ? (double)r->s->operations[k] : 0;
    }
    for (size_t k = 0; k < 3; k++)
        each[INT_ADD + k] = ml_form_add(f, each[INT_ADD + k], count[k]);
    for (size_t k = 0; k < ML_OPERATIONS; k++)
        r->out[k] = ml_form_slog(f, ml_form_mul(f, each[k], r->points));
    r->operations = feature_const(r, floats);
}
