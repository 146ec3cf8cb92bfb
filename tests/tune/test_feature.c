/*
 * test_feature - rows of features: the golden vector of auto-scheduler 14, what happens to
 * literals, loops of one iteration, buffers that are compacted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "moonloop/core/script/script.h"
#include "moonloop/tune/feature/feature.h"

static const ml_FeatureTarget target = {.vector_bytes = 64,
                                        .registers = 32,
                                        .threads = 2,
                                        .l1 = 32768,
                                        .l2 = 1048576,
                                        .l3 = 33554432};

typedef struct Read {
    ml_Ctx *cx;
    ml_Forms f;
    ml_Nest n;
    ml_FeatureRows rows;
} Read;

static Read read_text(const char *text)
{
    const ml_ParseOpts po = {.spelling = -1};
    Read r = {.cx = ml_ctx_new(0)};
    ml_Parsed p = ml_parse(r.cx, ml_str(text), &po);

    assert_non_null(p.mod);
    ml_forms_init(&r.f, r.cx);
    ml_forms_at(&r.f, NULL);
    ml_nest_read(&r.n, r.cx, &r.f, p.mod->funcs[0], false);
    assert_true(ml_features(&r.n, &target, &r.rows));
    return r;
}

static double at(const Read *r, size_t row, size_t k)
{
    assert_true(ml_form_is_const(&r->f, r->rows.row[row][k]));
    return ml_form_value(&r->f, r->rows.row[row][k]);
}

#define HEAD            "@T.prim_func\ndef f("
#define MATRIX(n, a, b) n ": T.Buffer((" #a ", " #b "), \"float32\")"

static const char matmul[] = HEAD MATRIX("A", 96, 48) ", " MATRIX("B", 48, 96) ", " MATRIX(
    "C", 96,
    96) "):\n"
        "    for io in T.parallel(12):\n"
        "        for jo in range(6):\n"
        "            for k in range(48):\n"
        "                for ii in range(8):\n"
        "                    for ji in T.vectorized(16):\n"
        "                        with T.block(\"C\"):\n"
        "                            vi = T.axis.spatial(96, io * 8 + ii)\n"
        "                            vj = T.axis.spatial(96, jo * 16 + ji)\n"
        "                            vk = T.axis.reduce(48, k)\n"
        "                            with T.init():\n"
        "                                C[vi, vj] = T.float32(0)\n"
        "                            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

static void golden_vector_of_a_matmul(void **state)
{
    static const struct {
        size_t at;
        double v;
    } some[] = {
        {1, 18.7549},   {2, 18.7549},   {8, 20.7549},  {9, 20.7549},   {16, 1},
        {17, 4.0875},   {18, 4.0875},   {26, 1},       {30, 1},        {38, 1},
        {39, 3.7004},   {40, 3.7004},   {48, 1},       {50, 1},        {51, 1},
        {52, 1},        {53, 1},        {54, 1},       {55, 1},        {56, 1},
        {147, 2.1243},  {148, 2.4114},  {149, 2.6508}, {150, 2.8560},  {151, 3.0356},
        {152, 3.1953},  {153, 3.3391},  {154, 3.4699}, {155, 3.5898},  {156, 3.7004},
        {157, 15.1700}, {158, 13.1701}, {159, 1},      {160, 18.7549}, {161, 18.7549},
        {162, 2.5850},  {163, 0},
    };
    static const double blocks[3][18] = {
        {1, 0, 0, 20.7549, 14.1700, 14.7549, 8.1749, 1, 0, 0, 1.0, 3.7004, 4.0875, 16.7549,
         10.1712, 10.7557, 4.2479, 0},
        {1, 0, 0, 20.7549, 14.1700, 14.7549, 8.1749, 1, 0, 0, 4.0875, 7.0553, 3.1699,
         17.7549, 11.1706, 11.7553, 5.2095, 1},
        {0, 0, 1, 20.7549, 15.1700, 14.7549, 9.1724, 1, 0, 0, 7.0112, 9.2503, 5.6147,
         15.1700, 9.5868, 9.1724, 3.7004, 1},
    };
    double want[ML_FEATURES_BASE] = {0};
    Read r = read_text(matmul);

    for (size_t k = 0; k < ML_COUNT(some); k++)
        want[some[k].at] = some[k].v;
    for (size_t k = 0; k < 54; k++)
        want[57 + k] = blocks[k / 18][k % 18];
    assert_int_equal(r.rows.n, 1);
    for (size_t k = 0; k < ML_FEATURES_BASE; k++)
        if (fabs(at(&r, 0, k) - want[k]) > 1e-4)
            fail_msg("feature %zu is %.5f, not %.4f", k, at(&r, 0, k), want[k]);
    ml_ctx_unref(r.cx);
}

static void slog_is_exact_enough(void **state)
{
    assert_true(ml_slog(0) == 0);
    assert_true(ml_slog(1) == 1);
    assert_true(ml_slog(-1023) == 10);
    for (double x = 1e-9; x < 1e18; x *= 1.37) {
        double y = log2(x + 1);

        assert_true(fabs(ml_slog(x) - y) <= 1e-14 + 4e-15 * y);
    }
}

static void a_target_has_usual_caches_where_none_are_known(void **state)
{
    const ml_Target t = {.vector_bits = 256, .registers = 16};
    const uint64_t cache[3] = {49152, 0, 0};
    ml_FeatureTarget f = ml_feature_target(&t, 3, cache);

    assert_true(f.vector_bytes == 32 && f.registers == 16 && f.threads == 3);
    assert_true(f.l1 == 49152 && f.l2 == 1048576 && f.l3 == 33554432 && !f.gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_vector_of_a_matmul),
        cmocka_unit_test(a_target_has_usual_caches_where_none_are_known),
        cmocka_unit_test(slog_is_exact_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
