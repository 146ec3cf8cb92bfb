/*
 * mutate - children of what was measured: random ones first, then by turns random ones and
 * children of the fastest: one decision changed (a prime factor moved between two positions
 * of a tile, another index of a choice, another place), the decisions of two parents of one sketch mixed, or
 * what the mutators of the space make of one.
 *
 * The n-th proposal draws from a generator of its own, seeded by (seed, n): random ones are
 * the same in every run, children depend on what was measured. Nothing is scored before it
 * is built. Source: auto-scheduler 8, 12.
 */
#include "moonloop/tune/search/strategy/kinds.h"

#include "moonloop/tune/search/strategy/vary.h"

enum {
    PARENTS = 24,     /* at most so many of the fastest have children */
    RANDOM_FIRST = 8, /* random ones before evolution, at least */
    RANDOM_EVERY = 5, /* later every so many-th is random */
    CROSS_PERCENT = 15,
    MUTANT_PERCENT = 50, /* of the children, where the space has mutators: by those */
    ATTEMPTS = 200, /* proposals without a new program before the space counts as used up */
};

/* ---------------------------------------------------------------- children */

/* A parent: the k-th fastest by weight 1 / (k + 2). */
static const Measured *draw_parent(ml_Tuner *t, ml_Random *r)
{
    size_t n = t->valid.n < PARENTS ? t->valid.n : PARENTS;
    double all = 0, x;

    for (size_t k = 0; k < n; k++)
        all += 1.0 / (double)(k + 2);
    x = all * (double)ml_random_below(r, UINT64_C(1) << 32) * 0x1p-32;
    for (size_t k = 0; k + 1 < n; k++) {
        x -= 1.0 / (double)(k + 2);
        if (x < 0)
            return &t->valid.v[k];
    }
    return &t->valid.v[n - 1];
}

static const Measured *draw_mate(ml_Tuner *t, ml_Random *r, const Measured *with)
{
    for (int k = 0; k < 8; k++) {
        const Measured *m = draw_parent(t, r);

        if (m->c.sketch == with->c.sketch && m->c.d != with->c.d)
            return m;
    }
    return NULL;
}

/* Its decisions are in tmp. */
static bool choose_child(ml_Tuner *t, ml_Random *r, Candidate *out)
{
    const Measured *a = draw_parent(t, r), *b;
    const Sketch *sk = &t->sketches[a->c.sketch];
    int64_t *d = ML_ARRAY(t->tmp, int64_t, sk->n_numbers + 1);

    if (t->mutate.fn && ml_random_below(r, 100) < MUTANT_PERCENT &&
        ml_candidate_mutate(t, r, &a->c, out))
        return true;
    if (sk->n_samplings == 0)
        return false;
    memcpy(d, a->c.d, sk->n_numbers * sizeof *d);
    b = ml_random_below(r, 100) < CROSS_PERCENT ? draw_mate(t, r, a) : NULL;
    if (b) {
        ml_vary_cross(r, sk, d, b->c.d);
    } else {
        ml_vary(r, sk, d);
    }
    *out = (Candidate){a->c.sketch, d, (uint32_t)ml_random_below(r, 2147483646) + 1};
    return true;
}

/* ---------------------------------------------------------------- the strategy */

static bool next_one(ml_Tuner *t, Made *out)
{
    ml_Random r = ml_random("moonloop.tune", (uint32_t)t->proposed, t->seed);
    bool evolve = t->proposed >= (int64_t)(t->n_sketches + RANDOM_FIRST) &&
                  t->proposed % RANDOM_EVERY != 0;

    for (int k = 0; k < ATTEMPTS; k++) {
        ml_Mark mark = ml_mark(t->tmp);
        Candidate c;
        bool ok = true;

        if (evolve && t->valid.n > 0 && k < ATTEMPTS / 2)
            ok = choose_child(t, &r, &c);
        else
            c = ml_candidate_any(t, &r);
        ok = ok && ml_candidate_take(t, &c, out);
        ml_release(t->tmp, mark);
        if (ok)
            return true;
    }
    return false;
}

static int next(Strategy *s, size_t n, Made *out)
{
    return n > 0 && next_one(s->t, out) ? 1 : ML_STRATEGY_END;
}

static Strategy *start(ml_Tuner *t)
{
    Strategy *s = ML_NEW(t->keep, Strategy);

    s->t = t;
    return s;
}

static const StrategyKin kin = {.start = start};

const StrategyKind ml_strategy_mutate = {
    .about = {"mutate", NULL,
              "children of the fastest; nothing is scored before it is built"},
    .batch = 1,
    .kin = &kin,
    .next = next,
};
