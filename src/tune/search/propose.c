/*
 * propose - which program is measured next.
 *
 * First each sketch with the decisions it came with, then random ones, then by turns random
 * ones and children of the fastest: one decision changed (a prime factor moved between two
 * positions of a tile, another index of a choice), or the decisions of two parents of one
 * sketch mixed. The n-th proposal draws from a generator of its own, seeded by (seed, n):
 * random ones are the same in every run, children depend on what was measured. A program
 * that was seen before is no proposal. Source: auto-scheduler 8, 12.
 */
#include "tune/search/tuner_impl.h"

#include "codegen/tensor/tensor.h"
#include "primitives/rewrite/sample.h"

#include <stdlib.h>

enum {
    PARENTS = 24,     /* at most so many of the fastest have children */
    RANDOM_FIRST = 8, /* random ones before evolution, at least */
    RANDOM_EVERY = 5, /* later every so many-th is random */
    CROSS_PERCENT = 15,
};

/* ---------------------------------------------------------------- programs seen */

static bool put(uint64_t *v, size_t cap, uint64_t hash)
{
    size_t k = (size_t)hash & (cap - 1);

    while (v[k] && v[k] != hash)
        k = (k + 1) & (cap - 1);
    if (v[k])
        return false;
    v[k] = hash;
    return true;
}

bool ml_seen_add(ml_Tuner *t, uint64_t hash)
{
    hash = hash ? hash : 1;
    if (2 * (t->n_seen + 1) > t->cap_seen) {
        size_t cap = t->cap_seen ? 2 * t->cap_seen : 256;
        uint64_t *v = calloc(cap, sizeof *v);

        if (v == NULL)
            ml_out_of_memory();
        for (size_t k = 0; k < t->cap_seen; k++)
            if (t->seen[k])
                put(v, cap, t->seen[k]);
        free(t->seen);
        t->seen = v;
        t->cap_seen = cap;
    }
    if (!put(t->seen, t->cap_seen, hash))
        return false;
    t->n_seen++;
    return true;
}

void ml_valid_add(ml_Tuner *t, const Measured *m)
{
    size_t k = t->valid.n;

    ml_push(t->keep, &t->valid, ((Measured){0}));
    for (; k > 0 && t->valid.v[k - 1].seconds > m->seconds; k--)
        t->valid.v[k] = t->valid.v[k - 1];
    t->valid.v[k] = *m;
}

/* ---------------------------------------------------------------- children */

/* A prime factor of v > 1, drawn by its multiplicity. */
static int64_t draw_prime(ml_Random *r, int64_t v)
{
    ml_Primes p;
    uint64_t all = 0, pick;

    if (!ml_factorise(NULL, v, &p))
        return 1;
    for (int k = 0; k < p.n; k++)
        all += (uint64_t)p.e[k];
    pick = all ? ml_random_below(r, all) : 0;
    for (int k = 0; k < p.n; k++) {
        if (pick < (uint64_t)p.e[k])
            return p.p[k];
        pick -= (uint64_t)p.e[k];
    }
    return 1;
}

/* Moves a prime from one factor to another; when there is none to move, or now and then,
 * the tile is sampled afresh. */
static void mutate_tile(ml_Random *r, const Sampling *s, int64_t *d)
{
    int64_t *v = d + s->at;
    uint32_t big = 0;

    for (uint32_t k = 0; k < s->n; k++)
        big += v[k] > 1;
    if (big == 0 || s->n < 2 || ml_random_below(r, 8) == 0) {
        v[0] = -1;
        return;
    }
    uint64_t pick = ml_random_below(r, big);
    uint32_t from = 0, to;

    for (uint32_t k = 0; k < s->n; k++)
        if (v[k] > 1 && pick-- == 0) {
            from = k;
            break;
        }
    to = (uint32_t)ml_random_below(r, s->n - 1);
    to += to >= from;
    int64_t p = draw_prime(r, v[from]);

    v[from] /= p;
    v[to] *= p;
}

static void mutate(ml_Random *r, const Sketch *sk, int64_t *d)
{
    const Sampling *s = &sk->s[ml_random_below(r, sk->n_samplings)];

    if (s->tile) {
        mutate_tile(r, s, d);
    } else if (s->n > 1) {
        int64_t to = (int64_t)ml_random_below(r, s->n - 1);

        d[s->at] = to + (to >= d[s->at]);
    }
}

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

        if (m->sketch == with->sketch && m->d != with->d)
            return m;
    }
    return NULL;
}

static bool make_child(ml_Tuner *t, ml_Random *r, Candidate *out)
{
    const Measured *a = draw_parent(t, r), *b;
    const Sketch *sk = &t->sketches[a->sketch];
    ml_Mark mark = ml_mark(t->tmp);
    int64_t *d = ML_ARRAY(t->tmp, int64_t, sk->n_numbers + 1);
    bool ok;

    if (sk->n_samplings == 0)
        return false;
    memcpy(d, a->d, sk->n_numbers * sizeof *d);
    b = ml_random_below(r, 100) < CROSS_PERCENT ? draw_mate(t, r, a) : NULL;
    if (b) {
        for (uint32_t k = 0; k < sk->n_samplings; k++)
            if (ml_random_below(r, 2))
                memcpy(d + sk->s[k].at, b->d + sk->s[k].at,
                       (sk->s[k].tile ? sk->s[k].n : 1) * sizeof *d);
    } else {
        mutate(r, sk, d);
        while (ml_random_below(r, 3) == 0)
            mutate(r, sk, d);
    }
    ok = ml_candidate_make(t, a->sketch, d, (uint32_t)ml_random_below(r, 2147483646) + 1,
                           out);
    ml_release(t->tmp, mark);
    return ok;
}

static bool make_random(ml_Tuner *t, ml_Random *r, Candidate *out)
{
    uint32_t k = (uint32_t)ml_random_below(r, t->n_sketches);

    return ml_candidate_make(t, k, NULL, (uint32_t)ml_random_below(r, 2147483646) + 1, out);
}

/* ---------------------------------------------------------------- the next one */

bool ml_propose(ml_Tuner *t, Candidate *out)
{
    size_t need = t->n_sketches + RANDOM_FIRST;

    if (t->used_up)
        return false;
    while (t->first_left > 0) {
        uint32_t k = (uint32_t)(t->n_sketches - t->first_left--);

        if (t->sketches[k].first == NULL ||
            !ml_candidate_make(t, k, t->sketches[k].first, 1, out))
            continue;
        if (ml_seen_add(t, out->hash)) {
            t->proposed++;
            return true;
        }
        ml_candidate_free(out);
    }
    ml_Random r = ml_random("moonloop.tune", (uint32_t)t->proposed, t->seed);
    bool evolve = t->proposed >= (int64_t)need && t->proposed % RANDOM_EVERY != 0;

    for (int k = 0; k < ML_ATTEMPTS; k++) {
        bool child = evolve && t->valid.n > 0 && k < ML_ATTEMPTS / 2;

        if (!(child ? make_child(t, &r, out) : make_random(t, &r, out)))
            continue;
        if (ml_seen_add(t, out->hash)) {
            t->proposed++;
            return true;
        }
        ml_candidate_free(out);
    }
    t->used_up = true;
    return false;
}
