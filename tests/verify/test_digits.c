/* Whether iterations write apart, where the indices are digits of one number of the loops,
 * in shortened forms too and sometimes wrong ones: against all iterations, one by one. */
#include "verify_test.h"

#include "../core/core_test.h"

enum { PROGRAMS = 1500, MOST = 4096 };

/* An element's index: (number % high) // low + outer * shift; high 0: not cut. */
typedef struct Digit {
    int64_t factor[3], high, low, shift;
} Digit;

typedef struct Nest {
    int64_t extent[4]; /* o, f0, f1, f2 */
    int64_t factor[3], limit;
    Digit d[3];
    int64_t shape[3];
    bool right; /* the digits are those of one number */
} Nest;

static int64_t number(const int64_t *factor, const int64_t *at)
{
    return at[1] * factor[0] + at[2] * factor[1] + at[3] * factor[2];
}

static int64_t index_at(const Digit *d, const int64_t *at)
{
    int64_t n = number(d->factor, at);

    return (d->high ? n % d->high : n) / d->low + at[0] * d->shift;
}

static bool next_point(const Nest *n, int64_t *at)
{
    for (int k = 3; k >= 0; k--) {
        if (++at[k] < n->extent[k])
            return true;
        at[k] = 0;
    }
    return false;
}

static Nest draw(Rng *rng)
{
    Nest n = {.right = true};
    int64_t radix[2] = {2 + rng_below(rng, 7), 2 + rng_below(rng, 7)};
    int64_t high[3] = {0, radix[0] * radix[1], radix[1]}, low[3] = {high[1], high[2], 1};

    for (int k = 0; k < 4; k++)
        n.extent[k] = 1 + rng_below(rng, k == 0 ? 3 : 8);
    n.factor[2] = 1;
    n.factor[1] = n.extent[3];
    n.factor[0] = n.extent[2] * n.extent[3];
    if (rng_below(rng, 6) == 0) {
        n.factor[rng_below(rng, 2)] = 1 + rng_below(rng, 40);
        n.right = false;
    }
    n.limit = n.extent[1] * n.factor[0] - rng_below(rng, 5);
    for (int k = 0; k < 3; k++) {
        Digit *d = &n.d[k];

        d->high = high[k];
        d->low = low[k];
        d->shift = rng_below(rng, 2) ? rng_below(rng, 6) : 0;
        for (int m = 0; m < 3; m++) { /* what the cut takes off anyway is left out */
            d->factor[m] = n.factor[m];
            if (d->high && rng_below(rng, 2))
                d->factor[m] %= d->high;
        }
        if (rng_below(rng, 24) == 0) {
            (d->high && rng_below(rng, 2) ? &d->high : &d->low)[0] += 1;
            n.right = false;
        }
    }
    int64_t at[4] = {0};

    do
        for (int k = 0; k < 3; k++) {
            int64_t i = index_at(&n.d[k], at) + 1;

            n.shape[k] = i > n.shape[k] ? i : n.shape[k];
        }
    while (next_point(&n, at));
    if (rng_below(rng, 2))
        n.shape[1] += rng_below(rng, 5); /* the tile is part of a larger buffer */
    if (rng_below(rng, 2))
        n.shape[2] += rng_below(rng, 5);
    return n;
}

static void number_text(char *out, size_t size, const int64_t *f)
{
    snprintf(out, size, "f0 * %d + f1 * %d + f2 * %d", (int)f[0], (int)f[1], (int)f[2]);
}

static Prog program(const Nest *n)
{
    char body[2048], params[128], text[128];
    size_t at = 0;

    snprintf(params, sizeof params, "B: T.Buffer((%d, %d, %d), \"float32\")",
             (int)n->shape[0], (int)n->shape[1], (int)n->shape[2]);
    at += (size_t)snprintf(
        body, sizeof body,
        "    for o, f0, f1, f2 in T.grid(%d, %d, %d, %d):\n        with T.block(\"P\"):\n",
        (int)n->extent[0], (int)n->extent[1], (int)n->extent[2], (int)n->extent[3]);
    for (int k = 0; k < 3; k++) {
        const Digit *d = &n->d[k];

        number_text(text, sizeof text, d->factor);
        at += (size_t)snprintf(body + at, sizeof body - at,
                               "            v%d = T.axis.spatial(%d, o * %d + (", k,
                               (int)n->shape[k], (int)d->shift);
        at += d->high ? (size_t)snprintf(body + at, sizeof body - at, "(%s) %% %d", text,
                                         (int)d->high)
                      : (size_t)snprintf(body + at, sizeof body - at, "%s", text);
        at += (size_t)snprintf(body + at, sizeof body - at, ") // %d)\n", (int)d->low);
    }
    number_text(text, sizeof text, n->factor);
    snprintf(body + at, sizeof body - at,
             "            T.where(%s < %d)\n"
             "            B[v0, v1, v2] = T.float32(1)\n",
             text, (int)n->limit);
    return prog_any(params, body);
}

/* Two iterations of loop k, within one of those outside, write one element. */
static bool meet(const Nest *n, int k)
{
    static int64_t by[MOST], from[MOST]; /* per element: an iteration, of which outer one */
    int64_t at[4] = {0}, outer = 0;

    memset(from, -1, sizeof from);
    do {
        int64_t e = 0;

        outer = 0;
        for (int m = 0; m < k; m++)
            outer = outer * n->extent[m] + at[m];
        if (number(n->factor, at) >= n->limit)
            continue;
        for (int m = 0; m < 3; m++)
            e = e * n->shape[m] + index_at(&n->d[m], at);
        assert_true(e < MOST);
        if (from[e] == outer && by[e] != at[k])
            return true;
        from[e] = outer;
        by[e] = at[k];
    } while (next_point(n, at));
    return false;
}

static void digits_of_one_number_tell_its_loops(void **state)
{
    static const char *const LOOPS[] = {"o", "f0", "f1", "f2"};
    Rng rng = {20261124};
    size_t shown = 0, apart = 0, missed = 0, wrong_ones = 0;

    (void)state;
    for (size_t k = 0; k < PROGRAMS; k++) {
        Nest n = draw(&rng);

        if (n.shape[0] * n.shape[1] * n.shape[2] > MOST || n.limit < 1)
            continue;
        Prog g = program(&n);

        for (int m = 0; m < 4; m++) {
            bool yes = ml_writes_disjoint(g.cx, g.facts, g.p, loop_uid(&g, LOOPS[m]),
                                          buffer_of(&g, "B"));
            bool truth = !meet(&n, m);

            if (yes && !truth)
                fail_msg("program %zu: iterations of %s are said to write apart", k,
                         LOOPS[m]);
            shown += yes;
            apart += truth;
            missed += n.right && m > 0 && !yes;
            wrong_ones += !n.right && !truth;
        }
        prog_free(&g);
    }
    print_message("%zu apart, %zu shown, %zu of digits missed, %zu meet by wrong digits\n",
                  apart, shown, missed, wrong_ones);
    assert_true(wrong_ones > 200);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_of_one_number_tell_its_loops)};

    return cmocka_run_group_tests_name("verify digits", tests, NULL, NULL);
}
