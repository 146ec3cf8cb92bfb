/* Sums of digits: every way and every value of small ones, one by one. */
#include "moonloop/verify/count/lattice.h"

#include "../core/core_test.h"

#include <stdlib.h>

enum { CASES = 20000, MOST = 4000 };

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t all_values(const ml_Sum1 *s, int64_t *v)
{
    size_t n = 1;

    v[0] = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        size_t have = n;

        for (int64_t x = 1; x < s->e[k]; x++)
            for (size_t j = 0; j < have; j++)
                v[n++] = v[j] + x * s->c[k];
    }
    qsort(v, n, sizeof *v, by_value);
    return n;
}

static void one(Rng *rng, int64_t *v, size_t *exact)
{
    static const int64_t FACTORS[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 12, 16, 64, -1, -3, -8};
    ml_Sum1 s = {.n = rng_below(rng, 6)};
    int64_t ways = 1, least, most, said;
    size_t n, distinct = 0, between = 0;
    ml_Values got;

    for (uint32_t k = 0; k < s.n; k++) {
        s.c[k] = FACTORS[rng_below(rng, 15)];
        s.e[k] = 1 + rng_below(rng, 6);
        ways *= s.e[k];
    }
    assert_true(ml_sum1_ways(&s, &said) && said == ways);
    if (ways > MOST)
        return;
    n = all_values(&s, v);
    for (size_t k = 0; k < n; k++)
        distinct += k == 0 || v[k] != v[k - 1];
    assert_true(ml_sum1_range(&s, &least, &most));
    assert_true(least == v[0] && most == v[n - 1]);
    assert_true(ml_sum1_values(&s, &got));
    assert_true(got.exact ? got.n == (int64_t)distinct : got.n >= (int64_t)distinct);
    assert_true(got.contiguous == (most - least + 1 == (int64_t)distinct) ||
                !got.contiguous);
    *exact += got.exact;
    int64_t lo = least - 2 + rng_below(rng, (uint32_t)(most - least + 4));
    int64_t hi = lo + rng_below(rng, 12), budget = 100000;

    lo = rng_below(rng, 4) ? lo : INT64_MIN;
    hi = rng_below(rng, 4) ? hi : INT64_MAX;
    for (size_t k = 0; k < n; k++)
        between += v[k] >= lo && v[k] <= hi;
    assert_true(ml_sum1_between(&s, lo, hi, &budget, &said));
    assert_int_equal(said, between);
}

static void ways_and_values_are_those_of_all_choices(void **state)
{
    int64_t *v = malloc(MOST * sizeof *v);
    size_t exact = 0;
    Rng rng = {42};

    (void)state;
    assert_non_null(v);
    for (int k = 0; k < CASES; k++)
        one(&rng, v, &exact);
    free(v);
    assert_true(exact > CASES / 2);
}

static void large_sums_are_counted_without_looking_at_them(void **state)
{
    ml_Sum1 s = {.n = 3, .c = {1 << 20, 1 << 10, 1}, .e = {1 << 20, 1 << 10, 1 << 10}};
    int64_t budget = 100, n;
    ml_Values v;

    (void)state;
    assert_true(ml_sum1_values(&s, &v));
    assert_true(v.exact && v.contiguous && v.n == INT64_C(1) << 40);
    assert_true(ml_sum1_between(&s, 5, (INT64_C(1) << 39) + 4, &budget, &n));
    assert_true(n == INT64_C(1) << 39 && budget > 0);
}

static void what_goes_beyond_int64_is_no_number(void **state)
{
    ml_Sum1 s = {.n = 2, .c = {INT64_MAX / 2, 5}, .e = {4, INT64_MAX / 2}};
    int64_t budget = 100, a, b;
    ml_Values v;

    (void)state;
    assert_false(ml_sum1_range(&s, &a, &b));
    assert_false(ml_sum1_ways(&s, &a));
    assert_false(ml_sum1_values(&s, &v));
    assert_false(ml_sum1_between(&s, 0, 100, &budget, &a));
}

static void a_budget_ends_the_count(void **state)
{
    ml_Sum1 s = {.n = 20};
    int64_t budget = 1000, n;

    (void)state;
    for (uint32_t k = 0; k < 20; k++) { /* everything overlaps */
        s.c[k] = 1000 + k;
        s.e[k] = 3;
    }
    assert_false(ml_sum1_between(&s, 0, 21000, &budget, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_and_values_are_those_of_all_choices),
        cmocka_unit_test(large_sums_are_counted_without_looking_at_them),
        cmocka_unit_test(what_goes_beyond_int64_is_no_number),
        cmocka_unit_test(a_budget_ends_the_count),
    };

    return cmocka_run_group_tests_name("verify lattice", tests, NULL, NULL);
}
