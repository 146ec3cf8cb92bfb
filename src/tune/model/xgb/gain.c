/* gain - which features the trees split by, and how much each split gained, in words.
 * Features of the same words are one. */
#include "moonloop/tune/model/xgb/xgb.h"

#include "moonloop/core/error.h"
#include "moonloop/tune/feature/words.h"

#include <stdlib.h>

/* Adds to the sums of m's features: the library calls the k-th "fk". */
static bool add_booster(const ml_Xgb *m, ml_Ctx *cx, void *booster, double *by_column)
{
    uint64_t n, dims;
    const uint64_t *shape;
    const char **names;
    const float *gain;

    if (!ml_xgb_ok(m->x, cx,
                   m->x->gain(booster, "{\"importance_type\":\"total_gain\"}", &n, &names,
                              &dims, &shape, &gain)))
        return false;
    for (uint64_t k = 0; k < n; k++) {
        unsigned long column = names[k][0] == 'f' ? strtoul(names[k] + 1, NULL, 10) : 0;

        if (column < m->columns)
            by_column[column] += (double)gain[k];
    }
    return true;
}

static int by_share(const void *a, const void *b)
{
    double x = ((const ml_Gain *)a)->share, y = ((const ml_Gain *)b)->share;

    return x < y ? 1 : x > y ? -1 : 0;
}

bool ml_xgb_gain(ml_Model *model, ml_Ctx *cx, const ml_Gain **out, size_t *n)
{
    const ml_Xgb *m = (const ml_Xgb *)model;
    const ml_XgbTrees *trees = ml_xgb_trees(m);
    double *by_column = ML_ARRAY(cx, double, m->columns + 1), all = 0;
    ml_Gain *v = ML_ARRAY(cx, ml_Gain, m->columns + 1);

    *n = 0;
    *out = v;
    for (size_t k = 0; trees && k < ML_XGB_MEMBERS; k++)
        if (!add_booster(m, cx, trees->of[k], by_column))
            return false;
    for (uint32_t c = 0; c < m->columns; c++) {
        const char *words = ml_feature_words(c);
        size_t k = 0;

        if (by_column[c] <= 0)
            continue;
        while (k < *n && !ml_streq(v[k].what, words))
            k++;
        *n += k == *n;
        v[k].what = words;
        v[k].share += by_column[c];
        all += by_column[c];
    }
    for (size_t k = 0; k < *n; k++)
        v[k].share /= all;
    qsort(v, *n, sizeof *v, by_share);
    return true;
}
