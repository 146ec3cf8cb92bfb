/*
 * test_forms - rows of features from closed forms are those of the programs that are really
 * replayed: for the sketches that the families of lua/moonloop/space give, on random
 * decisions; of sketches that rules make, those of the programs after the postprocessors. ML_FORMS_TELL=1 prints what each sketch came to; ML_FORMS_SETS are other sets, with
 * ML_FORMS_N candidates of each sketch.
 */
#include "sketches.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "moonloop/tune/symbolic/symbolic.h"

static const ml_FeatureTarget target = {.vector_bytes = 64,
                                        .registers = 32,
                                        .threads = 2,
                                        .l1 = 32768,
                                        .l2 = 1048576,
                                        .l3 = 33554432};

typedef struct Sum {
    int64_t sketches, without_forms, mismatched, by_forms, by_replay;
} Sum;

/* Numbers of a candidate, for a message. */
static const char *numbers_text(const int64_t *d, uint32_t n)
{
    static char text[512];
    size_t at = 0;

    for (uint32_t k = 0; k < n && at + 24 < sizeof text; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %lld", (long long)d[k]);
    return text;
}

static void compare_rows(const OneSketch *s, const ml_FormBatch *b, size_t k,
                         const double *real, int n, const char *d)
{
    size_t rows = b->begin[k + 1] - b->begin[k];

    if (rows != (n > 0 ? (size_t)n : 0))
        fail_msg("%s: %zu rows, really %d", s->name, rows, n);
    for (size_t m = 0; m < rows * ML_FEATURES; m++) {
        double have = (double)b->rows[b->begin[k] * (size_t)ML_FEATURES + m];

        if (fabs(have - real[m]) > 1e-6 * (1 + fabs(real[m])))
            fail_msg("%s: feature %zu of row %zu is %g, really %g, at%s", s->name,
                     m % ML_FEATURES, m / ML_FEATURES, have, real[m], d);
    }
}

/* n random candidates of a sketch, forms against replay. */
static void check_sketch(OneSketch *s, size_t n, Sum *sum)
{
    ml_SketchForms *f =
        ml_sketch_forms_new(s->start, &s->trace, &target, &(ml_FormLimits){.body = 0});
    const ml_FormPost post = {s->posts, s->n_posts, sketch_post, s};
    uint32_t numbers = ml_sketch_forms_numbers(f);
    int64_t *d = calloc((n + 1) * (numbers + 1u), sizeof *d);
    double *real = malloc((size_t)ML_MAX_ROWS * ML_FEATURES * sizeof *real);
    const ml_FormStats *st = ml_sketch_forms_stats(f);
    ml_FormBatch b;
    size_t drawn = 0;

    uint32_t state = 1;

    if (s->n_posts > 0 && !ml_sketch_forms_post(f, &post))
        fail_msg("%s: a postprocessor without forms", s->name);
    drawn = ml_sketch_forms_draw(f, &state, n, d);
    ml_sketch_forms_rows(f, d, drawn, &b);
    for (size_t k = 0; k < drawn; k++)
        compare_rows(s, &b, k, real, ml_sketch_real_rows(f, d + k * numbers, real),
                     numbers_text(d + k * numbers, numbers));
    sum->sketches++;
    sum->without_forms += st->why != NULL && st->mismatches == 0;
    sum->mismatched += st->mismatches > 0;
    sum->by_forms += st->by_forms;
    sum->by_replay += st->by_replay;
    if (getenv("ML_FORMS_TELL"))
        printf("%-48s %3zu drawn %4lld forms %4lld replays %3zu variants %zu without%s%s\n",
               s->name, drawn, (long long)st->by_forms, (long long)st->by_replay,
               st->variants, st->replayed, st->why ? ": " : "", st->why ? st->why : "");
    ml_sketch_forms_free(f);
    free(d);
    free(real);
}

static void check_sets(const char *sets, size_t n, Sum *sum)
{
    Sketches *v = sketches_of(sets);

    for (size_t k = 0; k < sketches_count(v); k++) {
        OneSketch s = sketch_open(v, k);

        check_sketch(&s, n, sum);
        sketch_close(&s);
    }
    sketches_free(v);
    if (getenv("ML_FORMS_TELL"))
        printf("%lld sketches: %lld without forms, %lld that disagree; %lld candidates by "
               "forms, %lld replayed\n",
               (long long)sum->sketches, (long long)sum->without_forms,
               (long long)sum->mismatched, (long long)sum->by_forms,
               (long long)sum->by_replay);
}

static void forms_are_what_replays_give(void **state)
{
    const char *sets = getenv("ML_FORMS_SETS"), *n = getenv("ML_FORMS_N");
    Sum sum = {0};

    (void)state;
    check_sets(sets ? sets : "suite",
               n                    ? (size_t)strtoul(n, NULL, 10)
               : getenv("ML_QUICK") ? 8
                                    : 40,
               &sum);
    /* Most have forms (sums cut into blocks have none: rfactor of a fused loop), and all that
     * have some hold. */
    if (sets == NULL) {
        assert_int_equal(sum.mismatched, 0);
        assert_true(3 * sum.without_forms <= sum.sketches);
    }
}

/* Programs after the postprocessors, for sketches that rules make: what a postprocessor chooses
 * by numbers makes no variant for each. */
static void forms_go_on_through_postprocessors(void **state)
{
    Sum sum = {0};

    (void)state;
    check_sets("rules:GMM-2", getenv("ML_QUICK") ? 60 : 300, &sum);
    assert_int_equal(sum.mismatched + sum.without_forms, 0);
    assert_true(sum.by_forms > 3 * sum.by_replay);
    check_sets("rules:C2D-2 rules:DEP-0 rules:NRM-2 rules:SFM-2",
               getenv("ML_QUICK") ? 20 : 100, &sum);
    assert_int_equal(sum.mismatched, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_what_replays_give),
        cmocka_unit_test(forms_go_on_through_postprocessors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
