/*
 * vary - vectors of decisions like others: one decision changed (a prime factor moved between
 * two positions of a tile, another index of a choice, another place), or those of two parents mixed. Source:
 * auto-scheduler 8.
 */
#include "moonloop/tune/search/strategy/vary.h"

#include "moonloop/primitives/rewrite/sample.h"

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

/* Up to two steps further in or out. */
static void move_place(ml_Random *r, int64_t *at)
{
    int64_t by = (int64_t)ml_random_below(r, 2) + 1;

    *at += *at >= by && ml_random_below(r, 2) ? -by : by;
}

static void change_one(ml_Random *r, const Sketch *sk, int64_t *d)
{
    const Sampling *s = &sk->s[ml_random_below(r, sk->n_samplings)];

    if (s->tile) {
        mutate_tile(r, s, d);
    } else if (s->place) {
        move_place(r, &d[s->at]);
    } else if (s->n > 1) {
        int64_t to = (int64_t)ml_random_below(r, s->n - 1);

        d[s->at] = to + (to >= d[s->at]);
    }
}

void ml_vary(ml_Random *r, const Sketch *sk, int64_t *d)
{
    do
        change_one(r, sk, d);
    while (ml_random_below(r, 3) == 0);
}

void ml_vary_cross(ml_Random *r, const Sketch *sk, int64_t *d, const int64_t *with)
{
    for (uint32_t k = 0; k < sk->n_samplings; k++)
        if (ml_random_below(r, 2))
            memcpy(d + sk->s[k].at, with + sk->s[k].at,
                   (sk->s[k].tile ? sk->s[k].n : 1) * sizeof *d);
}
