/*
 * greedy - steps from the best: vectors that differ in a decision from the few that were
 * measured fastest, or of which most is expected; of them the best, and further from there.
 * When nothing near is new, it goes on from vectors by chance. Source: auto-scheduler 8, 12.
 */
#include "moonloop/tune/search/strategy/kinds.h"
#include "moonloop/tune/search/strategy/pool.h"
#include "moonloop/tune/search/strategy/vary.h"

enum { FROM = 4, STEPS = 48, MUTANTS = 4, DRAWS = 32, SLOW_DRAWS = 4 };

static void draw(Pool *p, ml_Random *r)
{
    for (uint32_t k = 0; k < p->t->n_sketches; k++)
        ml_pool_draw(p, r, k, ml_pool_is_slow(p, k) ? SLOW_DRAWS : DRAWS);
}

/* Vectors one step from the point. */
static void step(Pool *p, ml_Random *r, const Point *from)
{
    const Sketch *sk = &p->t->sketches[from->p.sketch];
    size_t n = ml_pool_is_slow(p, from->p.sketch) ? SLOW_DRAWS : STEPS;
    int64_t *d = ML_ARRAY(p->batch, int64_t, n * sk->n_numbers + 1);

    ml_pool_mutate(p, r, from, MUTANTS);
    if (sk->n_samplings == 0)
        return;
    for (size_t k = 0; k < n; k++) {
        memcpy(d + k * sk->n_numbers, from->p.d, sk->n_numbers * sizeof *d);
        ml_vary(r, sk, d + k * sk->n_numbers);
    }
    ml_pool_complete(p, r, from->p.sketch, d, n);
    ml_pool_add(p, from->p.sketch, d, n);
}

/* Measured ones where there are some. */
static size_t starts(const Pool *p, const Point **v)
{
    size_t n = 0;

    for (size_t k = 0; k < p->points.n; k++) {
        const Point *q = p->points.v[k];
        size_t at = n;

        if (p->measured.n > 0 && q->seconds <= 0)
            continue;
        while (at > 0 && ml_point_by_mean(&q, &v[at - 1]) < 0)
            at--;
        if (at == FROM)
            continue;
        n += n < FROM;
        memmove(&v[at + 1], &v[at], (n - at - 1) * sizeof *v);
        v[at] = q;
    }
    return n;
}

static int next(Strategy *s, size_t n, Made *out)
{
    Thinker *h = (Thinker *)s;
    Pool *p = &h->pool;
    ml_Random r = ml_random("moonloop.greedy", (uint32_t)p->t->proposed, p->t->seed);
    const Point *from[FROM];
    size_t m;

    ml_pool_learn(p);
    if (p->points.n == 0 || h->empty > 0)
        draw(p, &r);
    m = starts(p, from);
    for (size_t k = 0; k < m; k++)
        step(p, &r, from[k]);
    return ml_thinker_best(h, &r, n, out);
}

const StrategyKind ml_strategy_greedy = {
    .about = {"greedy", NULL, "steps of one decision from the best"},
    .batch = 8,
    .kin = &ml_thinkers,
    .next = next,
};
