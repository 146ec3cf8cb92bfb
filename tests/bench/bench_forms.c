/*
 * bench_forms - candidates of a matmul sketch in a second of one core: features, limits and
 * the analytic score from closed forms, beside replays by the primitives with features.
 *
 * One line per figure: what, value, target, met or not; with --json one JSON object per
 * line. Times are of the processor. Source: auto-scheduler 13.
 */
#include "harness.h"
#include "tune/ssrsrs.h"

#include "moonloop/core/script/script.h"
#include "moonloop/primitives/rewrite/sample.h"
#include "moonloop/tune/model/model.h"
#include "moonloop/tune/symbolic/symbolic.h"

#include <stdio.h>
#include <stdlib.h>

enum { CANDIDATES = 8192, NUMBERS = 11, SIZE = 1024 };

static const char matmul[] =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((1024, 1024), \"float32\"), B: T.Buffer((1024, 1024), "
    "\"float32\"), C: T.Buffer((1024, 1024), \"float32\")):\n"
    "    for i, j, k in T.grid(1024, 1024, 1024):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

static const char sketch[] =
    SSRSRS_STEPS "[[3, [8, 4, 4, 8]], [5, [4, 2, 8, 16]], [7, [128, 8]], [14, 1]]]";

static const ml_FeatureTarget target = {.vector_bytes = 64,
                                        .registers = 32,
                                        .threads = 2,
                                        .l1 = 49152,
                                        .l2 = 2097152,
                                        .l3 = 33554432};
static const ml_FormLimits limits = {.body = 4096, .pressure = 4, .bytes = 1 << 22};

static void draw(int64_t *d)
{
    static const size_t parts[] = {4, 4, 2};
    uint32_t r = 1;
    ml_Primes p;
    int64_t scratch[80];

    ml_factorise(NULL, SIZE, &p);
    for (size_t k = 0; k < CANDIDATES; k++) {
        for (size_t m = 0; m < ML_COUNT(parts); d += parts[m++])
            ml_random_tile(&r, SIZE, &p, parts[m], scratch, d);
        *d++ = ml_random_int(&r, 0, 4);
    }
}

/* The model that is shipped; each: seconds of the rows of all candidates. */
static void by_xgb(const ml_FormBatch *b, ml_Ctx *cx, double *score, double each)
{
    ml_Model *m = ml_model_open(cx, "xgb", &(ml_ModelOpts){.threads = 2});
    const ml_Samples s = {b->n, ML_FEATURES, b->rows, b->begin};
    double begin, spent = 0;
    int n = 0;

    if (m == NULL || !ml_streq(m->kind->name, "xgb")) {
        ml_model_close(m);
        return; /* there is no libxgboost: `analytic` takes its place */
    }
    do {
        begin = now();
        if (!ml_model_score(m, cx, &s, score))
            die("score", ml_error(cx));
        spent += now() - begin;
        n++;
    } while (spent < 1.0);
    figure("the same with xgb", CANDIDATES / (each + spent / n), 50000, "1/s", true);
    ml_model_close(m);
}

static void by_forms(ml_SketchForms *f, ml_Ctx *cx, const int64_t *d)
{
    ml_Model *m = ml_model_analytic(2);
    double *score = malloc(CANDIDATES * sizeof *score), begin, spent[2] = {0};
    ml_FormBatch b;
    int n = 0;

    if (score == NULL)
        exit(1);
    ml_sketch_forms_rows(f, d, CANDIDATES, &b); /* variants are found */
    do {
        begin = now();
        ml_sketch_forms_rows(f, d, CANDIDATES, &b);
        spent[0] += now() - begin;
        begin = now();
        const ml_Samples s = {b.n, ML_FEATURES, b.rows, b.begin};

        if (!ml_model_score(m, cx, &s, score))
            die("score", ml_error(cx));
        spent[1] += now() - begin;
        n++;
    } while (spent[0] + spent[1] < 1.0);
    figure("features and limits from forms, matmul sketch", CANDIDATES * n / spent[0],
           100000, "1/s", true);
    figure("the same with the analytic score", CANDIDATES * n / (spent[0] + spent[1]),
           100000, "1/s", true);
    ml_model_close(m);
    by_xgb(&b, cx, score, spent[0] / n);
    free(score);
}

static void by_replay(ml_SketchForms *f, const int64_t *d)
{
    double *rows = malloc((size_t)ML_MAX_ROWS * ML_FEATURES * sizeof *rows);
    double begin = now(), spent;
    int n = 0;

    do {
        if (ml_sketch_real_rows(f, d + n * NUMBERS, rows) < 0)
            die("a candidate is not legal", NULL);
        spent = now() - begin;
    } while (++n < CANDIDATES && spent < 1.0);
    figure("replay with all checks and features, matmul sketch", n / spent, 2000, "1/s",
           true);
    free(rows);
}

int main(int argc, char **argv)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_ParseOpts po = {.spelling = -1};
    ml_Trace trace;
    int64_t *d = calloc(CANDIDATES * NUMBERS, sizeof *d);

    report.json = argc > 1 && strcmp(argv[1], "--json") == 0;
    ml_Parsed p = ml_parse(cx, ml_str(matmul), &po);

    if (d == NULL || p.mod == NULL || !ml_trace_from_json(cx, ml_str(sketch), &trace))
        die("the sketch", ml_error(cx));
    ml_Schedule *s = ml_schedule_new(
        cx, p.mod, &(ml_ScheduleOpts){.func = "mm", .render = ML_RENDER_NONE}, NULL);
    ml_Ctx *own = ml_ctx_new(0);
    ml_SketchForms *f = ml_sketch_forms_new(s, &trace, &target, &limits);

    draw(d);
    by_forms(f, own, d);
    by_replay(f, d);
    if (ml_sketch_forms_stats(f)->replayed > 0)
        die(ml_sketch_forms_stats(f)->why, NULL);
    ml_sketch_forms_free(f);
    ml_schedule_unref(s);
    ml_ctx_unref(own);
    ml_ctx_unref(cx);
    free(d);
    return report.missed > 0;
}
