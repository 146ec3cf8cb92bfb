/*
 * predict - scores of packed rows by the ensemble, in place: no matrix is made of them.
 *
 * A score is the analytic one and the mean of the members, early on with some of their spread, so that what is
 * not known is tried; what the classifier takes for a failure falls towards the lowest.
 * Source: auto-scheduler 15.
 */
#include "moonloop/tune/model/xgb/xgb.h"

#include "moonloop/core/error.h"
#include "moonloop/tune/feature/feature.h"
#include "moonloop/tune/model/xgb/objective.h"

#include <math.h>
#include <stdlib.h>

/* Of the spread in the score: the first at no samples, nothing from the second number on. */
#define CURIOUS      0.3
#define CURIOUS_ENDS 512.0

/* On one thread: predicting in place asks OpenMP how many there are, not the booster, and its
 * threads spin between calls. */
static int predict(const ml_XgbLibrary *x, void *booster, const char *array,
                   const uint64_t **shape, const float **margin)
{
    int threads = x->most_threads && x->set_threads ? x->most_threads() : 0, status;
    uint64_t dims;

    if (threads > 1)
        x->set_threads(1);
    status = x->predict_dense(booster, array,
                              "{\"type\":1,\"training\":false,\"iteration_begin\":0,"
                              "\"iteration_end\":0,\"missing\":NaN,"
                              "\"strict_shape\":false,\"cache_id\":0}",
                              NULL, shape, &dims, margin);
    if (threads > 1)
        x->set_threads(threads);
    return status;
}

/* Sums of rows for every sample by one booster. */
static bool sums(const ml_XgbLibrary *x, ml_Ctx *cx, void *booster, const ml_Samples *s,
                 float *out)
{
    uint32_t from = s->begin[0], n = s->begin[s->n] - from;
    const uint64_t *shape;
    const float *margin;

    memset(out, 0, s->n * sizeof *out);
    if (n == 0)
        return true;
    const float *rows = s->rows + (size_t)from * s->columns;

    if (!ml_xgb_ok(
            x, cx,
            predict(x, booster, ml_xgb_array(cx, rows, n, s->columns), &shape, &margin)))
        return false;
    ml_packed_sums(s->begin, s->n, margin - from, out);
    return true;
}

bool ml_xgb_predict(const ml_XgbLibrary *x, ml_Ctx *cx, const ml_XgbTrees *t,
                    const ml_Samples *s, float *mean, float *spread, float *chance)
{
    ml_Mark mark = ml_mark(cx);
    float *one = ML_ARRAY(cx, float, s->n + 1), *squares = ML_ARRAY(cx, float, s->n + 1);
    bool ok = true;

    memset(mean, 0, s->n * sizeof *mean);
    for (size_t m = 0; m < ML_XGB_MEMBERS && ok; m++) {
        ok = sums(x, cx, t->of[m], s, one);
        for (size_t k = 0; k < s->n && ok; k++) {
            mean[k] += one[k] / ML_XGB_MEMBERS;
            squares[k] += one[k] * one[k] / ML_XGB_MEMBERS;
        }
    }
    for (size_t k = 0; k < s->n && ok && spread; k++) {
        float v = squares[k] - mean[k] * mean[k];

        spread[k] = v > 0 ? sqrtf(v) : 0;
    }
    if (ok && chance) {
        if (t->of[ML_XGB_MEMBERS])
            ok = sums(x, cx, t->of[ML_XGB_MEMBERS], s, one);
        for (size_t k = 0; k < s->n && ok; k++)
            chance[k] = t->of[ML_XGB_MEMBERS] ? 1 / (1 + expf(-one[k])) : 1;
    }
    ml_release(cx, mark);
    return ok;
}

bool ml_xgb_base(const ml_Xgb *m, ml_Ctx *cx, const ml_Samples *s, const float **out)
{
    float *base = ML_ARRAY(cx, float, s->n + 1);
    double *score = ML_ARRAY(cx, double, s->n + 1);

    *out = base;
    if (s->columns < ML_FEATURES)
        return true;
    if (!ml_model_score(m->warm, cx, s, score))
        return false;
    for (size_t k = 0; k < s->n; k++)
        base[k] = (float)score[k];
    return true;
}

/* The same samples with 0 in place of what is no number: NULL where all of them are. */
static float *cleaned(ml_Ctx *cx, const ml_Samples *s, bool *bad)
{
    float *rows = NULL;

    for (size_t k = 0; k < s->n; k++)
        for (uint32_t r = s->begin[k]; r < s->begin[k + 1]; r++) {
            size_t at = (size_t)r * s->columns;

            if (ml_xgb_row_is_sound(s->rows + at, s->columns))
                continue;
            if (rows == NULL) {
                rows = ml_alloc(cx, (size_t)s->begin[s->n] * s->columns * sizeof *rows);
                memcpy(rows, s->rows, (size_t)s->begin[s->n] * s->columns * sizeof *rows);
            }
            memset(rows + at, 0, s->columns * sizeof *rows);
            bad[k] = true;
        }
    return rows;
}

static bool score(const ml_Xgb *m, ml_Ctx *cx, const ml_Samples *given, double *out)
{
    bool *bad = ML_ARRAY(cx, bool, given->n + 1);
    float *mean = ML_ARRAY(cx, float, given->n + 1);
    float *spread = ML_ARRAY(cx, float, given->n + 1);
    float *chance = ML_ARRAY(cx, float, given->n + 1);
    ml_Samples s = *given;
    const float *rows = cleaned(cx, &s, bad), *base;
    double seen = (double)m->data.n / CURIOUS_ENDS, low = 0;
    float curious = seen < 1 ? (float)(CURIOUS * (1 - seen)) : 0;

    s.rows = rows ? rows : s.rows;
    if (!ml_xgb_predict(m->x, cx, ml_xgb_trees(m), &s, mean, spread, chance) ||
        !ml_xgb_base(m, cx, &s, &base))
        return false;
    for (size_t k = 0; k < s.n; k++) {
        out[k] = (double)(base[k] + mean[k] + curious * spread[k]);
        low = k == 0 || out[k] < low ? out[k] : low;
    }
    for (size_t k = 0; k < s.n; k++) {
        out[k] = low + (double)chance[k] * (out[k] - low);
        if (bad[k] || s.begin[k] == s.begin[k + 1])
            out[k] = low - 1;
    }
    return true;
}

bool ml_xgb_score(ml_Model *model, ml_Ctx *cx, const ml_Samples *s, double *out)
{
    ml_Xgb *m = (ml_Xgb *)model;

    if (s->n == 0)
        return true;
    if (ml_xgb_trees(m) == NULL)
        return ml_model_score(m->warm, cx, s, out);
    if (s->columns != m->columns)
        return ml_fail(
            cx, ML_E_BAD_ARGUMENT,
            ML_TEXT(ml_format(cx,
                              "candidates have %u features; the model has learned "
                              "from %u",
                              (unsigned)s->columns, (unsigned)m->columns)));
    ml_Mark mark = ml_mark(cx);
    bool ok = score(m, cx, s, out);

    ml_release(cx, mark);
    return ok;
}
