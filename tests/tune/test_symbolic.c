/*
 * test_symbolic - closed forms of a sketch with five parts of rows and columns: equal to
 * what is read from the replayed program on 10,000 random vectors; what has no forms, or
 * forms that are wrong, is replayed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/ssrsrs.h"

#include "moonloop/core/script/script.h"
#include "moonloop/primitives/rewrite/sample.h"
#include "moonloop/tune/symbolic/symbolic.h"

#define MATMUL(n, k, m)                                                                    \
    "@T.prim_func\n"                                                                       \
    "def mm(A: T.Buffer((" #n ", " #k "), \"float32\"), B: T.Buffer((" #k ", " #m          \
    "), \"float32\"), C: T.Buffer((" #n ", " #m "), \"float32\")):\n"                      \
    "    for i, j, k in T.grid(" #n ", " #m ", " #k "):\n"                                 \
    "        with T.block(\"C\"):\n"                                                       \
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"                          \
    "            with T.init():\n"                                                         \
    "                C[vi, vj] = T.float32(0)\n"                                           \
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"

static const char tiled[] =
    SSRSRS_STEPS "[[3, [8, 4, 4, 4]], [5, [4, 2, 4, 16]], [7, [64, 8]], [14, 1]]]";

/* Factors that need not divide, packed panels: what varies its structure. */
static const char guarded[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"CacheWrite\", [\"b0\"], [0, \"local\"], [\"b50\"]],"
    "[\"CacheRead\", [\"b0\", []], [1, \"global\"], [\"b51\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SampleCategorical\", [], [[1, 2, 3, 4, 5, 6, 8, 12], [0.125, 0.125, 0.125, 0.125, "
    "0.125, 0.125, 0.125, 0.125]], [\"v4\"]],"
    "[\"Split\", [\"l1\", \"None\", \"v4\"], [true, false], [\"l5\", \"l6\"]],"
    "[\"SampleCategorical\", [], [[1, 2, 3, 4, 7], [0.2, 0.2, 0.2, 0.2, 0.2]], [\"v7\"]],"
    "[\"Split\", [\"l2\", \"None\", \"v7\", 16], [true, false], [\"l8\", \"l9\", "
    "\"l10\"]],"
    "[\"SamplePerfectTile\", [\"l8\"], [2, 64], [\"v11\", \"v12\"]],"
    "[\"Split\", [\"l8\", \"v11\", \"v12\"], [true, false], [\"l13\", \"l14\"]],"
    "[\"Reorder\", [\"l13\", \"l5\", \"l14\", \"l3\", \"l6\", \"l9\", \"l10\"], [], []],"
    "[\"ComputeAt\", [\"b51\", \"l13\"], [true, -1], []],"
    "[\"ReverseComputeAt\", [\"b50\", \"l14\"], [true, -1], []],"
    "[\"DecomposeReduction\", [\"b0\", \"l3\"], [], [\"b24\"]],"
    "[\"Vectorize\", [\"l10\"], [], []],"
    "[\"Unroll\", [\"l9\"], [], []],"
    "[\"Parallel\", [\"l13\"], [], []]],"
    "[[4, 0], [6, 0], [8, [8, 1]]]]";

/* The result staged after the tiling, an operand too, both moved into the tiles. */
static const char staged[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SamplePerfectTile\", [\"l1\"], [2, 64], [\"v4\", \"v5\"]],"
    "[\"Split\", [\"l1\", \"v4\", \"v5\"], [true, false], [\"l6\", \"l7\"]],"
    "[\"SamplePerfectTile\", [\"l2\"], [3, 64], [\"v8\", \"v9\", \"v10\"]],"
    "[\"Split\", [\"l2\", \"v8\", \"v9\", \"v10\"], [true, false], [\"l11\", \"l12\", "
    "\"l13\"]],"
    "[\"SamplePerfectTile\", [\"l3\"], [2, 64], [\"v14\", \"v15\"]],"
    "[\"Split\", [\"l3\", \"v14\", \"v15\"], [true, false], [\"l16\", \"l17\"]],"
    "[\"Reorder\", [\"l6\", \"l11\", \"l16\", \"l12\", \"l17\", \"l7\", \"l13\"], [], []],"
    "[\"CacheWrite\", [\"b0\"], [0, \"global\"], [\"b20\"]],"
    "[\"ReverseComputeAt\", [\"b20\", \"l11\"], [true, -1], []],"
    "[\"CacheRead\", [\"b0\", []], [1, \"global\"], [\"b21\"]],"
    "[\"ComputeAt\", [\"b21\", \"l16\"], [true, -1], []],"
    "[\"DecomposeReduction\", [\"b0\", \"l16\"], [], [\"b24\"]],"
    "[\"Vectorize\", [\"l13\"], [], []],"
    "[\"Parallel\", [\"l6\"], [], []]],"
    "[[2, [8, 4]], [4, [2, 4, 16]], [6, [64, 8]]]]";

/* Partial sums of a reduction. */
static const char parts[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SamplePerfectTile\", [\"l3\"], [2, 64], [\"v4\", \"v5\"]],"
    "[\"Split\", [\"l3\", \"v4\", \"v5\"], [true, false], [\"l6\", \"l7\"]],"
    "[\"RFactor\", [\"l7\"], [2], [\"b8\"]],"
    "[\"GetLoops\", [\"b8\"], [], [\"l9\", \"l10\", \"l11\", \"l12\"]],"
    "[\"ComputeAt\", [\"b8\", \"l2\"], [true, -1], []],"
    "[\"GetLoops\", [\"b8\"], [], [\"l13\", \"l14\", \"l15\", \"l16\", \"l17\", \"l18\"]],"
    "[\"DecomposeReduction\", [\"b0\", \"l7\"], [], [\"b20\"]],"
    "[\"Parallel\", [\"l1\"], [], []]], [[2, [16, 8]]]]";

static const ml_FeatureTarget target = {.vector_bytes = 64,
                                        .registers = 32,
                                        .threads = 2,
                                        .l1 = 32768,
                                        .l2 = 1048576,
                                        .l3 = 33554432};

typedef struct Fix {
    ml_Ctx *cx;
    ml_Schedule *start;
    ml_Trace trace;
    ml_SketchForms *f;
} Fix;

static Fix open_fix(const char *text, const char *trace, const ml_FormLimits *limits)
{
    const ml_ParseOpts po = {.spelling = -1};
    Fix x = {.cx = ml_ctx_new(0)};
    ml_Parsed p = ml_parse(x.cx, ml_str(text), &po);

    assert_non_null(p.mod);
    assert_true(ml_trace_from_json(x.cx, ml_str(trace), &x.trace));
    x.start = ml_schedule_new(
        x.cx, p.mod, &(ml_ScheduleOpts){.func = "mm", .render = ML_RENDER_NONE}, NULL);
    assert_non_null(x.start);
    x.f = ml_sketch_forms_new(x.start, &x.trace, &target, limits);
    return x;
}

static void close_fix(Fix *x)
{
    ml_sketch_forms_free(x->f);
    ml_schedule_unref(x->start);
    ml_ctx_unref(x->cx);
}

static void draw_tile(uint32_t *r, int64_t extent, size_t n, int64_t *out)
{
    int64_t scratch[80];
    ml_Primes p;

    assert_true(ml_factorise(NULL, extent, &p));
    ml_random_tile(r, extent, &p, n, scratch, out);
}

static void draw_tiled(uint32_t *r, int64_t *d, int64_t n, int64_t k, int64_t m)
{
    draw_tile(r, n, 4, d);
    draw_tile(r, m, 4, d + 4);
    draw_tile(r, k, 2, d + 8);
    d[10] = ml_random_int(r, 0, 4);
}

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void draw_guarded(uint32_t *r, int64_t *d, int64_t columns)
{
    static const int64_t width[] = {1, 2, 3, 4, 7};

    d[0] = ml_random_int(r, 0, 8);
    d[1] = ml_random_int(r, 0, 5);
    draw_tile(r, up(columns, 16 * width[d[1]]), 2, d + 2);
}

static void check_rows(Fix *x, const ml_FormBatch *b, const int64_t *d, size_t n)
{
    uint32_t numbers = ml_sketch_forms_numbers(x->f);
    double *real = malloc((size_t)ML_MAX_ROWS * ML_FEATURES * sizeof *real);

    for (size_t k = 0; k < n; k++) {
        int rows = ml_sketch_real_rows(x->f, d + k * numbers, real);

        assert_int_equal(rows < 0 ? 0 : rows, b->begin[k + 1] - b->begin[k]);
        assert_int_equal(b->valid[k], rows >= 0);
        for (size_t m = 0; rows > 0 && m < (size_t)rows * ML_FEATURES; m++) {
            float have = b->rows[b->begin[k] * (size_t)ML_FEATURES + m];

            if (have != (float)real[m] &&
                fabs((double)have - real[m]) > 1e-7 * (1 + fabs(real[m])))
                fail_msg("vector %zu: feature %zu of row %zu is %.9g, really %.9g", k,
                         m % ML_FEATURES, m / ML_FEATURES, (double)have, real[m]);
        }
    }
    free(real);
}

static void ten_thousand_vectors_of_a_matmul(void **state)
{
    size_t n = getenv("ML_QUICK") ? 1500 : 10000;
    Fix x = open_fix(MATMUL(512, 384, 768), tiled, &(ml_FormLimits){.body = 0});
    uint32_t numbers = ml_sketch_forms_numbers(x.f), r = 17;
    int64_t *d = calloc(n * numbers, sizeof *d);
    const ml_FormStats *st = ml_sketch_forms_stats(x.f);
    ml_FormBatch b;

    assert_int_equal(numbers, 11);
    for (size_t k = 0; k < n; k++)
        draw_tiled(&r, d + k * numbers, 512, 384, 768);
    ml_sketch_forms_rows(x.f, d, n, &b);
    assert_null(st->why);
    assert_int_equal(st->replayed, 0);
    assert_int_equal(st->by_forms + st->by_replay, n);
    assert_true(st->by_replay <= 2 * (int64_t)st->variants);
    assert_true(st->by_replay < (int64_t)n / 10);
    check_rows(&x, &b, d, n);
    free(d);
    close_fix(&x);
}

/* Rows and columns that no factor divides: guards come and go with the decisions. */
static void guards_are_variants(void **state)
{
    size_t n = getenv("ML_QUICK") ? 300 : 2000;
    Fix x = open_fix(MATMUL(100, 60, 500), guarded, &(ml_FormLimits){.body = 0});
    uint32_t numbers = ml_sketch_forms_numbers(x.f), r = 5;
    int64_t *d = calloc(n * numbers, sizeof *d);
    const ml_FormStats *st = ml_sketch_forms_stats(x.f);
    ml_FormBatch b;

    for (size_t k = 0; k < n; k++)
        draw_guarded(&r, d + k * numbers, 500);
    ml_sketch_forms_rows(x.f, d, n, &b);
    assert_true(st->variants > 1);
    check_rows(&x, &b, d, n);
    assert_true(st->by_forms > (int64_t)n / 2);
    free(d);
    close_fix(&x);
}

static void what_passes_a_limit_is_not_valid(void **state)
{
    const ml_FormLimits limits = {.body = 512, .pressure = 1};
    const int64_t d[] = {
        512, 1, 1, 1,  48, 1, 1, 16, 384, 1, 0, /* small */
        1,   1, 8, 64, 12, 1, 1, 64, 384, 1, 0, /* 64 rows of 4 vectors unrolled */
    };
    Fix x = open_fix(MATMUL(512, 384, 768), tiled, &limits);
    ml_FormBatch b;

    for (int k = 0; k < 3; k++)
        ml_sketch_forms_rows(x.f, d, 2, &b);
    assert_true(b.valid[0]);
    assert_false(b.valid[1]);
    assert_int_equal(ml_sketch_forms_stats(x.f)->illegal, 0);
    assert_true(ml_sketch_forms_stats(x.f)->by_forms > 0);
    int64_t before = ml_sketch_forms_stats(x.f)->by_replay;

    ml_sketch_forms_check(x.f, SIZE_MAX); /* from now on each is compared */
    ml_sketch_forms_rows(x.f, d, 2, &b);
    assert_int_equal(ml_sketch_forms_stats(x.f)->by_replay, before + 2);
    assert_int_equal(ml_sketch_forms_stats(x.f)->mismatches, 0);
    close_fix(&x);
}

static void later_copies_and_partial_sums(void **state)
{
    size_t n = getenv("ML_QUICK") ? 150 : 1000;
    Fix x = open_fix(MATMUL(96, 128, 240), staged, &(ml_FormLimits){.body = 0});
    Fix y = open_fix(MATMUL(96, 120, 64), parts, &(ml_FormLimits){.body = 0});
    int64_t *d = calloc(n * 8, sizeof *d);
    uint32_t r = 3;
    ml_FormBatch b;

    for (size_t k = 0; k < n; k++) {
        draw_tile(&r, 96, 2, d + 7 * k);
        draw_tile(&r, 240, 3, d + 7 * k + 2);
        draw_tile(&r, 128, 2, d + 7 * k + 5);
    }
    ml_sketch_forms_rows(x.f, d, n, &b);
    assert_null(ml_sketch_forms_stats(x.f)->why);
    check_rows(&x, &b, d, n);
    for (size_t k = 0; k < 16; k++)
        draw_tile(&r, 120, 2, d + 2 * k);
    ml_sketch_forms_rows(y.f, d, 16, &b);
    assert_null(ml_sketch_forms_stats(y.f)->why);
    assert_true(ml_sketch_forms_stats(y.f)->by_forms > 0);
    check_rows(&y, &b, d, 16);
    free(d);
    close_fix(&x);
    close_fix(&y);
}

/* Draws have the product that their tile cuts, also where that is a form of a choice. */
static void draws_are_tiles_of_what_they_cut(void **state)
{
    static const int64_t width[] = {1, 2, 3, 4, 7};
    Fix x = open_fix(MATMUL(100, 60, 500), guarded, &(ml_FormLimits){.body = 0});
    int64_t d[300 * 4];
    uint32_t r = 9;
    bool seen[5] = {false};

    assert_int_equal(ml_sketch_forms_draw(x.f, &r, 300, d), 300);
    for (size_t k = 0; k < 300; k++) {
        const int64_t *v = d + 4 * k;

        assert_true(v[0] >= 0 && v[0] < 8 && v[1] >= 0 && v[1] < 5);
        assert_int_equal(v[2] * v[3], up(500, 16 * width[v[1]]));
        assert_true(v[3] <= 64);
        seen[v[1]] = true;
    }
    for (size_t k = 0; k < 5; k++)
        assert_true(seen[k]);
    close_fix(&x);
}

/* Where a producer is computed changes the structure: each location is a variant. */
static void locations_are_variants(void **state)
{
    static const char program[] =
        "@T.prim_func\n"
        "def mm(A: T.Buffer((64, 96), \"float32\"), C: T.Buffer((64, 96), \"float32\")):\n"
        "    B = T.alloc_buffer((64, 96))\n"
        "    for i, j in T.grid(64, 96):\n"
        "        with T.block(\"B\"):\n"
        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "            B[vi, vj] = T.exp(A[vi, vj])\n"
        "    for i, j in T.grid(64, 96):\n"
        "        with T.block(\"C\"):\n"
        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "            C[vi, vj] = B[vi, vj] + B[vi, 95 - vj]\n";
    static const char trace[] =
        "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
        "[\"GetProducers\", [\"b0\"], [], [\"b1\"]],"
        "[\"GetLoops\", [\"b0\"], [], [\"l2\", \"l3\"]],"
        "[\"SamplePerfectTile\", [\"l2\"], [2, 64], [\"v4\", \"v5\"]],"
        "[\"Split\", [\"l2\", \"v4\", \"v5\"], [true, false], [\"l6\", \"l7\"]],"
        "[\"GetConsumers\", [\"b1\"], [], [\"b8\"]],"
        "[\"SampleComputeLocation\", [\"b1\"], [], [\"l9\"]],"
        "[\"ComputeAt\", [\"b1\", \"l9\"], [true, -1], []]],"
        "[[3, [8, 8]], [6, 1]]]";
    Fix x = open_fix(program, trace, &(ml_FormLimits){.body = 0});
    const ml_FormStats *st = ml_sketch_forms_stats(x.f);
    int64_t d[7 * 3 * 3];
    uint32_t r = 1;
    ml_FormBatch b;

    for (size_t k = 0; k < 21; k++) {
        draw_tile(&r, 64, 2, d + 3 * k);
        d[3 * k + 2] = (int64_t)(k % 3) + 1;
    }
    ml_sketch_forms_rows(x.f, d, 21, &b);
    check_rows(&x, &b, d, 21);
    assert_true(st->variants >= 3);
    assert_null(st->why);
    assert_true(st->by_forms >= 9);
    close_fix(&x);
}

/* n random candidates, all by forms but those that are checked. */
static void expect_forms(const char *program, const char *trace, size_t n)
{
    Fix x = open_fix(program, trace, &(ml_FormLimits){.body = 0});
    const ml_FormStats *st = ml_sketch_forms_stats(x.f);
    int64_t *d = calloc(n * ml_sketch_forms_numbers(x.f) + 1, sizeof *d);
    uint32_t r = 1;
    ml_FormBatch b;

    assert_non_null(d);
    assert_int_equal(ml_sketch_forms_draw(x.f, &r, n, d), n);
    ml_sketch_forms_rows(x.f, d, n, &b);
    check_rows(&x, &b, d, n);
    assert_null(st->why);
    assert_int_equal(st->replayed, 0);
    free(d);
    close_fix(&x);
}

/* Lines that a predicate leaves out need nothing of the image: its part ends with what the
 * last line reads, not with the image. */
static void guarded_lines_need_no_more_of_the_image(void **state)
{
    static const char program[] =
        "@T.prim_func\n"
        "def mm(X: T.Buffer((4, 60), \"float32\"), W: T.Buffer((3,), \"float32\"), Y: "
        "T.Buffer((4, 28), \"float32\")):\n"
        "    Xp = T.alloc_buffer((4, 60))\n"
        "    for n, h in T.grid(4, 60):\n"
        "        with T.block(\"Xp\"):\n"
        "            vn, vh = T.axis.remap(\"SS\", [n, h])\n"
        "            Xp[vn, vh] = X[vn, vh] + T.float32(1)\n"
        "    for n, h, t in T.grid(4, 28, 3):\n"
        "        with T.block(\"Y\"):\n"
        "            vn, vh, vt = T.axis.remap(\"SSR\", [n, h, t])\n"
        "            with T.init():\n"
        "                Y[vn, vh] = T.float32(0)\n"
        "            Y[vn, vh] = Y[vn, vh] + Xp[vn, vh * 2 + vt] * W[vt]\n";
    static const char trace[] =
        "[[[\"GetBlock\", [], [\"Y\", \"mm\"], [\"b0\"]],"
        "[\"GetBlock\", [], [\"Xp\", \"mm\"], [\"b1\"]],"
        "[\"GetLoops\", [\"b0\"], [], [\"l2\", \"l3\", \"l4\"]],"
        "[\"SampleCategorical\", [], [[4, 5, 16, 28], [0.25, 0.25, 0.25, 0.25]], [\"v5\"]],"
        "[\"Split\", [\"l3\", \"None\", \"v5\"], [true, false], [\"l6\", \"l7\"]],"
        "[\"ComputeAt\", [\"b1\", \"l2\"], [true, -1], []]], [[3, 0]]]";

    (void)state;
    expect_forms(program, trace, 40);
}

/* Digits of a sum that lie across its parts: the loops that move them are known, and what a
 * copy outside of those needs is the whole. */
static void digits_across_parts_move_with_their_loops(void **state)
{
    static const char program[] =
        "@T.prim_func\n"
        "def mm(X: T.Buffer((8, 7, 3), \"float32\"), W: T.Buffer((7, 3, 16), \"float32\"), "
        "Y: "
        "T.Buffer((8, 16), \"float32\")):\n"
        "    for i, o, t, c in T.grid(8, 16, 7, 3):\n"
        "        with T.block(\"Y\"):\n"
        "            vi, vo, vt, vc = T.axis.remap(\"SSRR\", [i, o, t, c])\n"
        "            with T.init():\n"
        "                Y[vi, vo] = T.float32(0)\n"
        "            Y[vi, vo] = Y[vi, vo] + X[vi, vt, vc] * W[vt, vc, vo]\n";
    static const char trace[] =
        "[[[\"GetBlock\", [], [\"Y\", \"mm\"], [\"b0\"]],"
        "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\", \"l4\"]],"
        "[\"CacheRead\", [\"b0\", []], [1, \"global\"], [\"b5\"]],"
        "[\"Fuse\", [\"l3\", \"l4\"], [true], [\"l6\"]],"
        "[\"SampleCategorical\", [], [[7, 3, 1], [0.4, 0.3, 0.3]], [\"v7\"]],"
        "[\"Split\", [\"l6\", \"None\", \"v7\"], [true, false], [\"l8\", \"l9\"]],"
        "[\"ComputeAt\", [\"b5\", \"l2\"], [true, -1], []],"
        "[\"Unroll\", [\"l9\"], [], []]], [[4, 0]]]";

    (void)state;
    expect_forms(program, trace, 20);
}

/* A step that has no forms: each candidate is replayed, counted, and told. */
static void without_forms_all_is_replayed(void **state)
{
    static const char trace[] =
        "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
        "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
        "[\"SampleCategorical\", [], [[2, 4], [0.5, 0.5]], [\"v4\"]],"
        "[\"Split\", [\"l3\", \"None\", \"v4\"], [true, false], [\"l5\", \"l6\"]],"
        "[\"Blockize\", [\"l6\"], [true], [\"b7\"]]], [[2, 0]]]";
    const int64_t d[] = {0, 1, 1, 7}; /* the last is no candidate */
    Fix x = open_fix(MATMUL(32, 32, 32), trace, &(ml_FormLimits){.body = 0});
    const ml_FormStats *st = ml_sketch_forms_stats(x.f);
    ml_FormBatch b;

    ml_sketch_forms_rows(x.f, d, 4, &b);
    assert_non_null(strstr(st->why, "blockize"));
    assert_int_equal(st->by_replay, 4);
    assert_int_equal(st->by_forms, 0);
    assert_int_equal(st->illegal, 1);
    assert_false(b.valid[3]);
    check_rows(&x, &b, d, 4);
    close_fix(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_vectors_of_a_matmul),
        cmocka_unit_test(guards_are_variants),
        cmocka_unit_test(what_passes_a_limit_is_not_valid),
        cmocka_unit_test(locations_are_variants),
        cmocka_unit_test(draws_are_tiles_of_what_they_cut),
        cmocka_unit_test(later_copies_and_partial_sums),
        cmocka_unit_test(guarded_lines_need_no_more_of_the_image),
        cmocka_unit_test(digits_across_parts_move_with_their_loops),
        cmocka_unit_test(without_forms_all_is_replayed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
