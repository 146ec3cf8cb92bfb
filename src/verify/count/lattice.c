/*
 * lattice - see lattice.h. Ways under a bound go digit by digit from the largest factor:
 * all choices below are taken at once where none or each of them stays within. Values grow
 * from the smallest factor: a run of integers stays one while the next factor is not above
 * its length, and repeats disjointly from where it is beyond the whole; what is between is
 * marked in a bit set when it is small.
 */
#include "moonloop/verify/count/lattice.h"

#include <string.h>

enum { SET_WORDS = 1024, SET_BITS = 64 * SET_WORDS };

bool ml_sum1_range(const ml_Sum1 *s, int64_t *min, int64_t *max)
{
    int64_t step;

    *min = *max = 0;
    for (uint32_t k = 0; k < s->n; k++)
        if (__builtin_mul_overflow(s->c[k], s->e[k] - 1, &step) ||
            (step < 0 ? __builtin_add_overflow(*min, step, min)
                      : __builtin_add_overflow(*max, step, max)))
            return false;
    return true;
}

bool ml_sum1_ways(const ml_Sum1 *s, int64_t *ways)
{
    *ways = 1;
    for (uint32_t k = 0; k < s->n; k++)
        if (__builtin_mul_overflow(*ways, s->e[k], ways))
            return false;
    return true;
}

/* The same sum with positive factors, sorted; digits that make no difference are left out.
 * Values become values - *shift; *same: ways for each way that is left. */
static bool normal(const ml_Sum1 *s, bool descending, ml_Sum1 *out, int64_t *shift,
                   int64_t *same)
{
    out->n = 0;
    *shift = 0;
    *same = 1;
    for (uint32_t k = 0; k < s->n; k++) {
        int64_t c = s->c[k], e = s->e[k], step;
        uint32_t at;

        if (c == 0 || e == 1) {
            if (__builtin_mul_overflow(*same, e, same))
                return false;
            continue;
        }
        if (c < 0) { /* counted from the other end */
            if (c == INT64_MIN || __builtin_mul_overflow(c, e - 1, &step) ||
                __builtin_add_overflow(*shift, step, shift))
                return false;
            c = -c;
        }
        for (at = out->n++;
             at > 0 && (descending ? out->c[at - 1] < c : out->c[at - 1] > c); at--) {
            out->c[at] = out->c[at - 1];
            out->e[at] = out->e[at - 1];
        }
        out->c[at] = c;
        out->e[at] = e;
    }
    return true;
}

typedef struct Below {
    const ml_Sum1 *s;               /* normal, descending */
    int64_t max[ML_MAX_DIGITS + 1]; /* of the digits from k on */
    int64_t all[ML_MAX_DIGITS + 1]; /* ways of the digits from k on */
    int64_t *budget;
} Below;

static int64_t below(Below *b, uint32_t k, int64_t bound)
{
    if (bound < 0)
        return 0;
    if (bound >= b->max[k])
        return b->all[k];
    int64_t c = b->s->c[k], rest = b->max[k + 1], full = 0, last = bound / c, n;

    if (--*b->budget < 0)
        return 0;
    if (bound >= rest)
        full = (bound - rest) / c + 1;
    full = full > b->s->e[k] ? b->s->e[k] : full;
    last = last > b->s->e[k] - 1 ? b->s->e[k] - 1 : last;
    n = full * b->all[k + 1];
    for (int64_t x = full; x <= last && *b->budget >= 0; x++)
        n += below(b, k + 1, bound - c * x);
    return n;
}

bool ml_sum1_between(const ml_Sum1 *s, int64_t lo, int64_t hi, int64_t *budget,
                     int64_t *ways)
{
    ml_Sum1 v;
    Below b = {.s = &v, .budget = budget};
    int64_t shift, same, n, less = 0;

    if (!normal(s, true, &v, &shift, &same))
        return false;
    b.all[v.n] = 1;
    for (uint32_t k = v.n; k-- > 0;) {
        int64_t step;

        if (__builtin_mul_overflow(v.c[k], v.e[k] - 1, &step) ||
            __builtin_add_overflow(step, b.max[k + 1], &b.max[k]) ||
            __builtin_mul_overflow(v.e[k], b.all[k + 1], &b.all[k]))
            return false;
    }
    if (hi == INT64_MAX)
        n = b.all[0];
    else if (__builtin_sub_overflow(hi, shift, &hi))
        return false;
    else
        n = below(&b, 0, hi);
    if (lo != INT64_MIN) {
        if (__builtin_sub_overflow(lo, shift, &lo) || lo == INT64_MIN)
            return false;
        less = below(&b, 0, lo - 1);
    }
    n = n > less ? n - less : 0;
    return *budget >= 0 && !__builtin_mul_overflow(n, same, ways);
}

/* ---- values */

/* The set and the set moved up by `by`. */
static void join_moved(uint64_t *set, int64_t by)
{
    int64_t words = by / 64, bits = by % 64;

    for (int64_t k = SET_WORDS; k-- > words;) {
        uint64_t w = set[k - words] << bits;

        if (bits && k - words > 0)
            w |= set[k - words - 1] >> (64 - bits);
        set[k] |= w;
    }
}

static int64_t count_by_set(const ml_Sum1 *s)
{
    uint64_t set[SET_WORDS] = {1};
    int64_t n = 0;

    for (uint32_t k = 0; k < s->n; k++) {
        int64_t have = 1;

        for (; 2 * have <= s->e[k]; have *= 2)
            join_moved(set, s->c[k] * have);
        if (s->e[k] > have)
            join_moved(set, s->c[k] * (s->e[k] - have));
    }
    for (size_t k = 0; k < SET_WORDS; k++)
        n += __builtin_popcountll(set[k]);
    return n;
}

bool ml_sum1_values(const ml_Sum1 *s, ml_Values *out)
{
    ml_Sum1 v;
    int64_t shift, same, g = 0, ways, span = 1; /* one beyond the greatest value so far */

    *out = (ml_Values){1, true, true};
    if (!normal(s, false, &v, &shift, &same))
        return false;
    for (uint32_t k = 0; k < v.n; k++)
        g = ml_gcd(v.c[k], g);
    for (uint32_t k = 0; k < v.n; k++) {
        int64_t c = v.c[k] / g, step;

        v.c[k] = c;
        if (__builtin_mul_overflow(c, v.e[k] - 1, &step) ||
            __builtin_add_overflow(span, step, &step))
            return false;
        if (c < span && out->exact && !out->contiguous)
            out->exact = false; /* between: neither a run nor apart */
        if (c > out->n && out->contiguous)
            out->contiguous = false;
        if (out->contiguous)
            out->n = step;
        else if (out->exact && __builtin_mul_overflow(out->n, v.e[k], &out->n))
            return false;
        span = step;
    }
    if (!out->exact && span <= SET_BITS) {
        out->n = count_by_set(&v);
        out->exact = true;
    } else if (!out->exact) {
        out->n = span;
        if (ml_sum1_ways(&v, &ways) && ways < span)
            out->n = ways;
    }
    out->contiguous &= g <= 1;
    return true;
}
