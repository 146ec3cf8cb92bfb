/* data - samples are added and labelled. */
#include "moonloop/tune/model/xgb/data.h"

#include "moonloop/core/error.h"

#include <math.h>
#include <stdlib.h>

bool ml_xgb_row_is_sound(const float *row, uint32_t columns)
{
    float sum = 0; /* a NaN or an infinity stays one */

    for (uint32_t c = 0; c < columns; c++)
        sum += row[c] * 0;
    return sum == 0;
}

static bool sound(const ml_Samples *x, size_t k)
{
    for (uint32_t r = x->begin[k]; r < x->begin[k + 1]; r++)
        if (!ml_xgb_row_is_sound(x->rows + (size_t)r * x->columns, x->columns))
            return false;
    return x->begin[k] < x->begin[k + 1];
}

/* Room for n of them; *v stays as it is where there is none. */
static bool grow(void *v, size_t n, size_t size)
{
    void *old, *at;

    memcpy(&old, v, sizeof old);
    at = n > SIZE_MAX / size ? NULL : realloc(old, n * size);
    if (at)
        memcpy(v, &at, sizeof at);
    return at != NULL;
}

static bool make_room(ml_XgbData *d, size_t n, size_t n_rows)
{
    if (n > d->cap) {
        size_t to = n + n / 2 + 64;

        if (!grow(&d->begin, to + 1, sizeof *d->begin) ||
            !grow(&d->group, to, sizeof *d->group) ||
            !grow(&d->seconds, to, sizeof *d->seconds))
            return false;
        if (d->cap == 0)
            d->begin[0] = 0;
        d->cap = to;
    }
    if (n_rows > d->cap_rows) {
        size_t to = n_rows + n_rows / 2 + 64;

        if (!grow(&d->rows, to, d->columns * sizeof *d->rows))
            return false;
        d->cap_rows = to;
    }
    return true;
}

static void drop_oldest(ml_XgbData *d, size_t n)
{
    uint32_t rows = d->begin[n];

    memmove(d->rows, d->rows + (size_t)rows * d->columns,
            (size_t)(d->begin[d->n] - rows) * d->columns * sizeof *d->rows);
    d->n -= n;
    for (size_t k = 0; k <= d->n; k++)
        d->begin[k] = d->begin[k + n] - rows;
    memmove(d->group, d->group + n, d->n * sizeof *d->group);
    memmove(d->seconds, d->seconds + n, d->n * sizeof *d->seconds);
}

static void count_failed(ml_XgbData *d)
{
    d->failed = 0;
    for (size_t k = 0; k < d->n; k++)
        d->failed += d->seconds[k] <= 0;
}

bool ml_xgb_data_add(ml_XgbData *d, ml_Ctx *cx, const ml_Learned *l)
{
    const ml_Samples *x = &l->x;
    size_t n = 0, n_rows = 0;

    for (size_t k = 0; k < x->n; k++)
        if (sound(x, k)) {
            n++;
            n_rows += x->begin[k + 1] - x->begin[k];
        }
    if (n == 0)
        return true;
    uint32_t columns = d->columns;

    d->columns = x->columns;
    if (!make_room(d, d->n + n, (d->n ? d->begin[d->n] : 0) + n_rows)) {
        d->columns = columns;
        return ml_fail(cx, ML_E_TOO_LARGE,
                       ML_TEXT(ml_format(cx, "no memory for %zu samples", d->n + n)));
    }
    for (size_t k = 0; k < x->n; k++) {
        if (!sound(x, k))
            continue;
        uint32_t from = x->begin[k], rows = x->begin[k + 1] - from, at = d->begin[d->n];
        double s = l->seconds[k];

        memcpy(d->rows + (size_t)at * d->columns, x->rows + (size_t)from * x->columns,
               (size_t)rows * d->columns * sizeof *d->rows);
        d->group[d->n] = l->group[k];
        d->seconds[d->n] = s > 0 && isfinite(s) ? s : 0;
        d->begin[++d->n] = at + rows;
    }
    if (d->n > ML_XGB_MOST)
        drop_oldest(d, d->n - ML_XGB_MOST);
    count_failed(d);
    return true;
}

void ml_xgb_data_cut(ml_XgbData *d, size_t n)
{
    d->n = n < d->n ? n : d->n;
    count_failed(d);
}

void ml_xgb_data_free(ml_XgbData *d)
{
    free(d->rows);
    free(d->begin);
    free(d->group);
    free(d->seconds);
}

/* ---------------------------------------------------------------- labels */

static uint32_t number_group(const uint64_t *known, uint32_t n, uint64_t group)
{
    uint32_t k = n;

    while (k > 0 && known[k - 1] != group) /* the last come together */
        k--;
    return k ? k - 1 : n;
}

void ml_xgb_labels(const ml_XgbData *d, ml_Ctx *cx, ml_XgbLabels *out)
{
    uint64_t *known = ML_ARRAY(cx, uint64_t, d->n + 1);
    double *least = ML_ARRAY(cx, double, d->n + 1);

    *out = (ml_XgbLabels){ML_ARRAY(cx, float, d->n + 1),    ML_ARRAY(cx, float, d->n + 1),
                          ML_ARRAY(cx, uint32_t, d->n + 1), 0,
                          ML_ARRAY(cx, uint32_t, d->n + 1), NULL};
    for (size_t k = 0; k < d->n; k++) {
        uint32_t g = number_group(known, out->n_groups, d->group[k]);

        if (g == out->n_groups)
            known[out->n_groups++] = d->group[k];
        out->group[k] = g;
        if (d->seconds[k] > 0 && (least[g] == 0 || d->seconds[k] < least[g]))
            least[g] = d->seconds[k];
    }
    out->first = ML_ARRAY(cx, uint32_t, out->n_groups + 2);
    for (size_t k = 0; k < d->n; k++) {
        bool ran = d->seconds[k] > 0;

        out->y[k] = ran ? (float)(least[out->group[k]] / d->seconds[k]) : 0;
        out->log2_y[k] = ran ? fmaxf(log2f(out->y[k]), ML_XGB_WORST) : ML_XGB_WORST;
        out->first[out->group[k] + 2]++;
    }
    for (uint32_t g = 2; g <= out->n_groups; g++)
        out->first[g] += out->first[g - 1];
    for (size_t k = 0; k < d->n; k++) /* moves the beginning of a group to its end */
        out->member[out->first[out->group[k] + 1]++] = (uint32_t)k;
}

/* ---------------------------------------------------------------- a-peak */

double ml_a_peak(const float *score, const float *truth, size_t n)
{
    enum { TOP = 32 };
    size_t top[TOP], found = 0;
    float best = 0, so_far = 0;
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        size_t at = found < TOP ? found++ : TOP;

        best = truth[k] > best ? truth[k] : best;
        if (at == TOP) {
            if (!(score[k] > score[top[TOP - 1]]))
                continue;
            at = TOP - 1;
        }
        for (; at > 0 && score[k] > score[top[at - 1]]; at--)
            top[at] = top[at - 1];
        top[at] = k;
    }
    if (best == 0)
        return 1;
    for (size_t k = 0; k < TOP; k++) {
        if (k < found && truth[top[k]] > so_far)
            so_far = truth[top[k]];
        sum += (double)so_far / (double)best;
    }
    return sum / TOP;
}
