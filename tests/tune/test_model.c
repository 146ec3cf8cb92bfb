/* test_model - scores of the analytic model: what is plainly better scores higher. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "moonloop/core/error.h"
#include "moonloop/core/script/script.h"
#include "moonloop/tune/feature/feature.h"
#include "moonloop/tune/model/model.h"

static const ml_FeatureTarget target = {.vector_bytes = 64,
                                        .registers = 32,
                                        .threads = 2,
                                        .l1 = 32768,
                                        .l2 = 1048576,
                                        .l3 = 33554432};

/* A product of 256 with the given loops around the block. */
static void row_of(ml_Ctx *cx, const char *loops, float *out)
{
    const ml_ParseOpts po = {.spelling = -1};
    const char *text = ml_format(
        cx,
        "@T.prim_func\n"
        "def f(A: T.Buffer((256, 256), \"float32\"), B: T.Buffer((256, 256), \"float32\"), "
        "C: T.Buffer((256, 256), \"float32\")):\n"
        "    for %s:\n"
        "                    with T.block(\"C\"):\n"
        "                        vi = T.axis.spatial(256, i)\n"
        "                        vj = T.axis.spatial(256, jo * 16 + ji)\n"
        "                        vk = T.axis.reduce(256, k)\n"
        "                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n",
        loops);
    ml_Parsed p = ml_parse(cx, ml_str(text), &po);
    ml_Forms f;
    ml_Nest n;
    ml_FeatureRows rows;

    assert_non_null(p.mod);
    ml_forms_init(&f, cx);
    ml_forms_at(&f, NULL);
    ml_nest_read(&n, cx, &f, p.mod->funcs[0], false);
    assert_true(ml_features(&n, &target, &rows));
    assert_int_equal(rows.n, 1);
    for (size_t k = 0; k < ML_FEATURES; k++)
        out[k] = (float)ml_form_value(&f, rows.row[0][k]);
}

static void better_loops_score_higher(void **state)
{
    static const char *const loops[] = {
        /* vectors, threads; vectors; columns outermost, so that lines are not used up */
        "i in T.parallel(256):\n        for k in range(256):\n            for jo in "
        "range(16):\n                for ji in T.vectorized(16)",
        "i in range(256):\n        for k in range(256):\n            for jo in range(16):\n"
        "                for ji in T.vectorized(16)",
        "k in range(256):\n        for jo in range(16):\n            for ji in range(16):\n"
        "                for i in range(256)",
    };
    ml_Ctx *cx = ml_ctx_new(0);
    static float rows[3 * ML_FEATURES];
    const uint32_t begin[] = {0, 1, 2, 3, 3};
    const ml_Samples s = {4, ML_FEATURES, rows, begin}, old = {1, 164, rows, begin};
    ml_Model *m = ml_model_analytic(2);
    double score[4];

    for (size_t k = 0; k < 3; k++)
        row_of(cx, loops[k], rows + k * ML_FEATURES);
    assert_true(ml_model_score(m, cx, &s, score));
    assert_true(score[0] > score[1] && score[1] > score[2] && score[2] > score[3]);
    assert_true(ml_model_train(m, cx, NULL)); /* nothing is learned */
    assert_true(ml_model_save(m, cx, "/nowhere") && ml_model_load(m, cx, "/nowhere"));
    assert_false(ml_model_score(m, cx, &old, score)); /* without the extended set */
    assert_non_null(ml_error(cx));
    ml_model_close(m);
    ml_model_close(NULL);
    ml_ctx_unref(cx);
}

static void kinds_open_by_name(void **state)
{
    static const float rows[2 * ML_FEATURES];
    static const uint32_t begin[] = {0, 1, 2, 2};
    const ml_Samples s = {3, ML_FEATURES, rows, begin};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Model *a = ml_model_open(cx, "random", &(ml_ModelOpts){.seed = 7});
    ml_Model *b = ml_model_open(cx, "random", &(ml_ModelOpts){.seed = 7});
    ml_Model *c = ml_model_open(cx, "analytic", NULL);
    const ml_Gain *gain;
    double x[3], y[3];
    size_t n = 1;

    (void)state;
    assert_true(ml_model_importance(a, cx, &gain, &n) && n == 0);
    assert_true(ml_model_score(a, cx, &s, x) && ml_model_score(b, cx, &s, y));
    assert_memory_equal(x, y, sizeof x);
    assert_true(x[2] < x[0] && x[2] < x[1] && x[0] != x[1]);
    assert_true(ml_model_score(a, cx, &s, y)); /* others the next time */
    assert_true(x[0] != y[0]);
    assert_string_equal(c->kind->name, "analytic");
    assert_null(c->note);
    assert_null(ml_model_open(cx, "xgboost", NULL));
    assert_int_equal(ml_error(cx)->code, ML_E_UNKNOWN_NAME);
    ml_model_close(a);
    ml_model_close(b);
    ml_model_close(c);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(better_loops_score_higher),
                                       cmocka_unit_test(kinds_open_by_name)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
