/* near - a Gaussian process over measured candidates. */
#include "moonloop/tune/search/strategy/near.h"

#include <math.h>

enum { ROW = 2 * ML_NEAR_MOST };

/* Shares of the variance: of features, of the sketch, of each of its decisions, of all of them
 * together. */
#define BY_FEATURES  0.4
#define BY_SKETCH    0.15
#define BY_DECISION  0.25
#define BY_DECISIONS 0.2
#define OTHER_CHOICE 0.3 /* likeness of two choices that are not the same */
#define PRIOR_SLOPE  0.6
#define PRIOR_VALUES 3.0 /* measurements that the prior of the slope is worth */

/* ---------------------------------------------------------------- likeness */

static double tile_likeness(const int64_t *a, const int64_t *b, uint32_t n)
{
    double far = 0;

    for (uint32_t k = 0; k < n; k++)
        if (a[k] != b[k])
            far += fabs(log2((double)a[k] / (double)b[k]));
    return exp(-far / 4);
}

/* 1 for the same candidate. */
static double likeness(const Near *m, const NearPoint *a, const NearPoint *b)
{
    const Sketch *sk = &m->sketches[a->sketch];
    double far = 0, sum = 0, all = 1;

    for (size_t k = 0; k < ML_NEAR_FEATURES; k++) {
        double d = (double)(a->x[k] - b->x[k]);

        far += d * d;
    }
    far = BY_FEATURES * exp(-far / (2 * m->length * m->length));
    if (a->sketch != b->sketch)
        return far;
    for (uint32_t k = 0; k < sk->n_samplings; k++) {
        const Sampling *s = &sk->s[k];
        const int64_t *x = a->d + s->at, *y = b->d + s->at;
        double like = s->tile ? tile_likeness(x, y, s->n) : *x == *y ? 1 : OTHER_CHOICE;

        sum += like;
        all *= like;
    }
    if (sk->n_samplings > 0)
        sum /= sk->n_samplings;
    else
        sum = 1;
    return far + BY_SKETCH + BY_DECISION * sum + BY_DECISIONS * all;
}

static double mean_of(const Near *m, const NearPoint *p)
{
    return m->level + m->slope * p->base;
}

/* ---------------------------------------------------------------- learning */

/* The line of the mean: least squares, and a prior for its slope. */
static void fit_line(Near *m, const NearPoint *const *at, const double *y, size_t n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;

    for (size_t k = 0; k < n; k++) {
        sx += at[k]->base;
        sy += y[k];
    }
    for (size_t k = 0; k < n; k++) {
        double x = at[k]->base - sx / (double)n;

        sxx += x * x;
        sxy += x * (y[k] - sy / (double)n);
    }
    m->slope = fmax(0, (sxy + PRIOR_VALUES * PRIOR_SLOPE) / (sxx + PRIOR_VALUES));
    m->level = n > 0 ? (sy - m->slope * sx) / (double)n : 0;
}

/* Row k of the triangle, from likenesses to those before it. */
static void put_row(Near *m, size_t k, const double *like, double own)
{
    double *row = m->l + k * ROW;
    double left = own;

    for (size_t c = 0; c < k; c++) {
        const double *other = m->l + c * ROW;
        double sum = like[c];

        for (size_t i = 0; i < c; i++)
            sum -= row[i] * other[i];
        row[c] = sum / other[c];
        left -= row[c] * row[c];
    }
    row[k] = sqrt(fmax(left, 1e-9));
}

/* Fits with the length and noise that m has; the logarithm of how likely the measurements are
 * then, but for a constant. */
static double fit_once(Near *m, ml_Ctx *cx, const double *y, size_t n)
{
    double *like = ML_ARRAY(cx, double, ROW);
    double square = 0, logs = 0;

    for (size_t k = 0; k < n; k++) {
        double sum = y[k] - mean_of(m, m->at[k]);

        for (size_t c = 0; c < k; c++)
            like[c] = likeness(m, m->at[k], m->at[c]);
        put_row(m, k, like, 1 + m->noise);
        for (size_t c = 0; c < k; c++)
            sum -= m->l[k * ROW + c] * m->w[c];
        m->w[k] = sum / m->l[k * ROW + k];
        square += m->w[k] * m->w[k];
        logs += log(m->l[k * ROW + k]);
    }
    /* a few results that happen to agree do not make what is unknown certain */
    m->amplitude = (square + 4 * 0.25) / ((double)n + 4);
    m->n = m->first = n;
    return -0.5 * ((double)n + 4) * log(m->amplitude) - logs;
}

void ml_near_fit(Near *m, ml_Ctx *cx, const Sketch *sketches, const NearPoint *const *at,
                 const double *y, size_t n)
{
    static const double lengths[] = {1, 2.5, 6}, noises[] = {0.003, 0.03, 0.2};
    double best = 0, length = 2.5, noise = 0.03;

    *m = (Near){.sketches = sketches,
                .l = ML_ARRAY(cx, double, ROW *ROW),
                .w = ML_ARRAY(cx, double, ROW)};
    memcpy(m->at, at, n * sizeof *at);
    fit_line(m, at, y, n);
    for (size_t k = 0; n > 4 && k < ML_COUNT(lengths) * ML_COUNT(noises); k++) {
        m->length = lengths[k / ML_COUNT(noises)];
        m->noise = noises[k % ML_COUNT(noises)];
        double now = fit_once(m, cx, y, n);

        if (k > 0 && now <= best)
            continue;
        best = now;
        length = m->length;
        noise = m->noise;
    }
    m->length = length;
    m->noise = noise;
    (void)fit_once(m, cx, y, n);
}

/* ---------------------------------------------------------------- telling */

/* v[from..n): l^-1 times the likenesses of p. */
static void solve(const Near *m, const NearPoint *p, double *v, size_t from)
{
    for (size_t k = from; k < m->n; k++) {
        const double *row = m->l + k * ROW;
        double sum = likeness(m, p, m->at[k]);

        for (size_t i = 0; i < k; i++)
            sum -= row[i] * v[i];
        v[k] = sum / row[k];
    }
}

static double deviation(const Near *m, const double *v)
{
    double left = 1;

    for (size_t k = 0; k < m->n; k++)
        left -= v[k] * v[k];
    return sqrt(m->amplitude * fmax(left, 1e-6));
}

void ml_near_tell(const Near *m, const NearPoint *p, double *v, double *mean, double *sd)
{
    solve(m, p, v, 0);
    *mean = mean_of(m, p);
    for (size_t k = 0; k < m->first; k++)
        *mean += v[k] * m->w[k];
    *sd = deviation(m, v);
}

bool ml_near_believe(Near *m, const NearPoint *p, const double *v)
{
    double left = 1 + m->noise;
    double *row = m->l + m->n * ROW;

    if (m->n >= ROW)
        return false;
    for (size_t k = 0; k < m->n; k++) {
        row[k] = v[k];
        left -= v[k] * v[k];
    }
    row[m->n] = sqrt(fmax(left, 1e-9));
    m->at[m->n++] = p;
    return true;
}

void ml_near_again(const Near *m, const NearPoint *p, double *v, double *sd)
{
    solve(m, p, v, m->n - 1);
    *sd = deviation(m, v);
}
