/*
 * beam - one decision after the other: of each sketch the beginnings of which most can be
 * expected are kept, each is gone on with in all ways (of a tile in some), and judged by the
 * best of a few complete vectors that begin so. Source: auto-scheduler 12.
 */
#include "moonloop/tune/search/strategy/kinds.h"
#include "moonloop/tune/search/strategy/pool.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 6,     /* beginnings that are kept */
    WAYS = 12,     /* that one is gone on with, at most */
    COMPLETED = 3, /* vectors that judge a beginning */
    SLOW_WIDTH = 1,
};

/* A beginning: the numbers from some place on are to be drawn. */
typedef struct Start {
    const int64_t *d; /* the best that begins so, whole */
    double mean;
} Start;

static int by_mean(const void *a, const void *b)
{
    const Start *x = a, *y = b;

    return (x->mean > y->mean) - (x->mean < y->mean);
}

/* v[0..n) begin alike up to `decided` numbers; the best of them. */
static Start judge(Pool *p, uint32_t sketch, const int64_t *d, size_t n)
{
    size_t numbers = p->t->sketches[sketch].n_numbers;
    Start best = {.mean = (double)INFINITY};

    for (size_t k = 0; k < n; k++) {
        const Point *q =
            ml_pool_find(p, &(Candidate){.sketch = sketch, .d = d + k * numbers});

        if (q && q->mean < best.mean)
            best = (Start){q->p.d, q->mean};
    }
    return best;
}

/* All ways to decide sampling s after `from`, each completed some times. */
static size_t widen(Pool *p, ml_Random *r, uint32_t sketch, const Sampling *s,
                    const int64_t *from, Start *out)
{
    size_t numbers = p->t->sketches[sketch].n_numbers;
    bool drawn = s->tile || s->place || s->n > WAYS;
    size_t ways = drawn ? WAYS : s->n, n = ways * COMPLETED, got = 0;
    int64_t *d = ML_ARRAY(p->batch, int64_t, n * numbers + 1);
    uint32_t width = s->tile ? s->n : 1;

    for (size_t k = 0; k < n; k++) {
        int64_t *v = d + k * numbers;

        for (size_t m = 0; m < numbers; m++)
            v[m] = from && m < s->at ? from[m] : -1;
        if (!drawn)
            v[s->at] = (int64_t)(k / COMPLETED);
    }
    /* a tile: one draw of each way, and the others begin with it */
    ml_pool_complete(p, r, sketch, d, n);
    for (size_t k = 0; k < n; k++)
        if (k % COMPLETED > 0) {
            int64_t *v = d + k * numbers;

            memcpy(v, d + (k - k % COMPLETED) * numbers, (s->at + width) * sizeof *v);
            for (size_t m = s->at + width; m < numbers; m++)
                v[m] = -1;
        }
    ml_pool_complete(p, r, sketch, d, n);
    ml_pool_add(p, sketch, d, n);
    for (size_t k = 0; k < n; k += COMPLETED) {
        out[got] = judge(p, sketch, d + k * numbers, COMPLETED);
        got += isfinite(out[got].mean);
    }
    return got;
}

static void search(Pool *p, ml_Random *r, uint32_t sketch)
{
    const Sketch *sk = &p->t->sketches[sketch];
    size_t width = ml_pool_is_slow(p, sketch) ? SLOW_WIDTH : WIDTH, n = 1;
    Start *now = ML_ARRAY(p->batch, Start, WIDTH * WAYS + 1);

    if (sk->n_samplings == 0)
        ml_pool_draw(p, r, sketch, 1);
    for (uint32_t k = 0; k < sk->n_samplings && n > 0; k++) {
        Start *wider = ML_ARRAY(p->batch, Start, WIDTH * WAYS + 1);
        size_t many = 0;

        for (size_t m = 0; m < n; m++)
            many += widen(p, r, sketch, &sk->s[k], now[m].d, wider + many);
        qsort(wider, many, sizeof *wider, by_mean);
        n = many < width ? many : width;
        memcpy(now, wider, n * sizeof *now);
    }
}

static int next(Strategy *s, size_t n, Made *out)
{
    Thinker *h = (Thinker *)s;
    Pool *p = &h->pool;
    ml_Random r = ml_random("moonloop.beam", (uint32_t)p->t->proposed, p->t->seed);

    ml_pool_learn(p);
    for (uint32_t k = 0; k < p->t->n_sketches; k++)
        search(p, &r, k);
    return ml_thinker_best(h, &r, n, out);
}

const StrategyKind ml_strategy_beam = {
    .about = {"beam", NULL, "decision by decision, the most promising beginnings kept"},
    .batch = 16,
    .kin = &ml_thinkers,
    .next = next,
};
