/*
 * pick - which of the candidates that are thought of become programs. Source: auto-scheduler 12.
 */
#include "moonloop/tune/search/strategy/pool.h"

#include <math.h>
#include <stdlib.h>

enum {
    ATTEMPTS = 24, /* random replays without a new program */
    LIST = 512,    /* of so many, those of which most is expected, a batch is picked */
};

int ml_point_by_mean(const void *a, const void *b)
{
    const Point *x = *(Point *const *)a, *y = *(Point *const *)b;

    return x->mean != y->mean ? (x->mean < y->mean ? -1 : 1)
                              : (x->key > y->key) - (x->key < y->key);
}

static bool take(Pool *p, Point *q, Made *out)
{
    const Candidate c = {.sketch = q->p.sketch, .d = q->p.d, .seed = 1};

    if (q->taken)
        return false;
    q->taken = true;
    if (!ml_candidate_take(p->t, &c, out))
        return false;
    /* a place that is not offered became another: the result is of that one */
    q->under_way = ml_candidate_key(p->t, &out->c) == q->key;
    out->expected = isfinite(p->best) ? exp2(q->mean) : 0;
    return true;
}

size_t ml_pool_any(Pool *p, ml_Random *r, size_t n, Made *out)
{
    size_t got = 0;

    for (int k = 0; k < ATTEMPTS && got < n; k++) {
        const Candidate c = ml_candidate_any(p->t, r);

        if (ml_candidate_take(p->t, &c, &out[got])) {
            got++;
            k = 0;
        }
    }
    return got;
}

/* What is to be gained on the average, in log2 of seconds, where it counts nothing to lose. */
static double gain(const Point *q, double best)
{
    double z = (best - q->mean) / q->sd;
    double density = exp(-0.5 * z * z) * 0.3989422804014327;

    return q->sd * (z * 0.5 * erfc(-z * 0.7071067811865476) + density);
}

/* What is measured right now counts as known. */
static void believe_those_under_way(Pool *p)
{
    for (size_t k = 0; k < p->points.n; k++) {
        Point *q = p->points.v[k];
        double *v;

        if (!q->under_way || p->near.n - p->near.first >= ML_NEAR_MOST / 2)
            continue;
        v = ML_ARRAY(p->batch, double, 2 * ML_NEAR_MOST);
        ml_near_tell(&p->near, &q->p, v, &q->mean, &q->sd);
        ml_near_believe(&p->near, &q->p, v);
    }
}

static Point *most_gain(Point *const *v, size_t n, double best)
{
    Point *most = NULL;
    double top = -1;

    for (size_t k = 0; k < n; k++) {
        double now = v[k]->taken ? -1 : gain(v[k], best);

        if (now > top) {
            top = now;
            most = v[k];
        }
    }
    return most;
}

static Point *any_of(ml_Random *r, Point *const *v, size_t n)
{
    size_t left = 0, at;

    for (size_t k = 0; k < n; k++)
        left += !v[k]->taken;
    at = left ? (size_t)ml_random_below(r, left) : 0;
    for (size_t k = 0; k < n; k++)
        if (!v[k]->taken && at-- == 0)
            return v[k];
    return NULL;
}

/* The candidates that may be picked: the best that are expected. */
static size_t shortlist(Pool *p, size_t most, Point **v)
{
    size_t n = 0;

    for (size_t k = 0; k < p->points.n; k++)
        if (!p->points.v[k]->taken)
            v[n++] = p->points.v[k];
    qsort(v, n, sizeof *v, ml_point_by_mean);
    return n < most ? n : most;
}

size_t ml_pool_pick(Pool *p, ml_Random *r, size_t n, size_t random, Made *out)
{
    Point **v = ML_ARRAY(p->batch, Point *, p->points.n + 1);
    size_t got = 0, list = shortlist(p, LIST, v);
    double best = p->best;

    believe_those_under_way(p);
    for (size_t k = 0; k < list; k++) {
        v[k]->v = ML_ARRAY(p->batch, double, 2 * ML_NEAR_MOST);
        ml_near_tell(&p->near, &v[k]->p, v[k]->v, &v[k]->mean, &v[k]->sd);
        if (isinf(p->best)) /* nothing is measured: better than what looks best */
            best = fmin(best, v[k]->mean);
    }
    while (got < n) {
        bool chance = got + random >= n;
        Point *q = chance ? any_of(r, p->points.v, p->points.n) : most_gain(v, list, best);

        if (q == NULL)
            break;
        if (!take(p, q, &out[got]))
            continue;
        got++;
        if (chance || !ml_near_believe(&p->near, &q->p, q->v))
            continue;
        for (size_t k = 0; k < list; k++)
            if (!v[k]->taken)
                ml_near_again(&p->near, &v[k]->p, v[k]->v, &v[k]->sd);
    }
    return got;
}

size_t ml_pool_best(Pool *p, size_t n, Made *out)
{
    Point **v = ML_ARRAY(p->batch, Point *, p->points.n + 1);
    size_t got = 0, list = shortlist(p, p->points.n, v);

    for (size_t k = 0; k < list && got < n; k++)
        got += take(p, v[k], &out[got]);
    return got;
}
