/*
 * evolve - a population of vectors of decisions, scored before anything of it is built.
 *
 * Each batch draws new vectors, more of sketches of which more is expected, and has children of
 * the best through some generations; what is expected comes from a model and from what was
 * measured near by (pool.h). Of all that was thought of and never proposed, those are picked
 * from which most is to be gained, and a few by chance. Source: auto-scheduler 12.
 */
#include "moonloop/tune/search/strategy/kinds.h"
#include "moonloop/tune/search/strategy/pool.h"
#include "moonloop/tune/search/strategy/vary.h"

#include <math.h>
#include <stdlib.h>

enum {
    POPULATION = 512,
    FIRST_DRAWS = 512, /* of all sketches; later fewer */
    DRAWS = 128,
    SLOW_DRAWS = 8, /* of a sketch whose candidates have to be replayed */
    GENERATIONS = 4,
    CHILDREN = 128, /* of one generation */
    CROSS_PERCENT = 25,
    MUTANTS = 4,       /* beside these by the mutators of the space, which take long */
    RANDOM_EVERY = 20, /* one of so many is picked by chance */
};

static void draw(Pool *p, ml_Random *r)
{
    double all = p->points.n == 0 ? FIRST_DRAWS : DRAWS;

    for (uint32_t k = 0; k < p->t->n_sketches; k++) {
        size_t n = (size_t)ceil(all * p->share[k]);

        if (ml_pool_is_slow(p, k) && n > SLOW_DRAWS)
            n = SLOW_DRAWS;
        ml_pool_draw(p, r, k, n);
    }
}

/* A parent by weight: half for each step of the deviation of all means. */
static const Point *parent(const Point *const *v, const double *up_to, size_t n,
                           ml_Random *r)
{
    double x = up_to[n - 1] * (double)ml_random_below(r, UINT64_C(1) << 32) * 0x1p-32;
    size_t lo = 0, hi = n - 1;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (up_to[mid] > x)
            hi = mid;
        else
            lo = mid + 1;
    }
    return v[lo];
}

/* Children of the population, sketch by sketch; how many are new. */
static size_t generation(Pool *p, ml_Random *r, bool first)
{
    size_t n = p->points.n < POPULATION ? p->points.n : POPULATION, fresh = 0;
    const Point **v = ML_ARRAY(p->batch, const Point *, p->points.n + 1);
    double *up_to = ML_ARRAY(p->batch, double, n + 1);
    int64_t **d = ML_ARRAY(p->batch, int64_t *, p->t->most_sketches + 1);
    size_t *many = ML_ARRAY(p->batch, size_t, p->t->most_sketches + 1);

    if (n == 0)
        return 0;
    memcpy(v, p->points.v, p->points.n * sizeof *v);
    qsort(v, p->points.n, sizeof *v, ml_point_by_mean);
    for (size_t k = 0; k < n; k++)
        up_to[k] = (k ? up_to[k - 1] : 0) + exp2(-2 * (v[k]->mean - v[0]->mean));
    for (size_t k = 0; first && k < MUTANTS; k++)
        fresh += ml_pool_mutate(p, r, parent(v, up_to, n, r), 1);
    for (size_t k = 0; k < CHILDREN; k++) {
        const Point *a = parent(v, up_to, n, r), *b = parent(v, up_to, n, r);
        uint32_t s = a->p.sketch;
        const Sketch *sk = &p->t->sketches[s];
        bool cross = b->p.sketch == s && b != a && ml_random_below(r, 100) < CROSS_PERCENT;

        if (sk->n_samplings == 0 || (ml_pool_is_slow(p, s) && many[s] >= SLOW_DRAWS))
            continue;
        if (d[s] == NULL)
            d[s] = ML_ARRAY(p->batch, int64_t, CHILDREN * (size_t)sk->n_numbers + 1);
        int64_t *to = d[s] + many[s]++ * sk->n_numbers;

        memcpy(to, a->p.d, sk->n_numbers * sizeof *to);
        if (cross)
            ml_vary_cross(r, sk, to, b->p.d);
        else
            ml_vary(r, sk, to);
    }
    for (uint32_t s = 0; s < p->t->n_sketches; s++) {
        if (many[s] == 0)
            continue;
        ml_pool_complete(p, r, s, d[s], many[s]);
        fresh += ml_pool_add(p, s, d[s], many[s]);
    }
    return fresh;
}

static int next(Strategy *s, size_t n, Made *out)
{
    Thinker *h = (Thinker *)s;
    Pool *p = &h->pool;
    ml_Random r = ml_random("moonloop.evolve", (uint32_t)p->t->proposed, p->t->seed);
    size_t random = ((size_t)p->t->proposed % RANDOM_EVERY + n) / RANDOM_EVERY, got;

    ml_pool_learn(p);
    draw(p, &r);
    for (int k = 0; k < GENERATIONS; k++)
        if (generation(p, &r, k == 0) == 0)
            break;
    got = ml_pool_pick(p, &r, n, random, out);
    if (got < n)
        got += ml_pool_any(p, &r, n - got, out + got);
    return ml_thinker_batch(h, got);
}

const StrategyKind ml_strategy_evolve = {
    .about = {"evolve", NULL,
              "a population scored by a model, of which the most promising are built"},
    .batch = 8,
    .kin = &ml_thinkers,
    .next = next,
};
