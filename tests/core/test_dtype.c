/*
 * test_dtype - element types: names, ranges, rounding, promotion.
 *
 * Rounding is compared with an enumeration of every code of the small formats; the tables
 * of ir-and-analysis 1.1 are checked row by row.
 */
#include "core_test.h"
#include "moonloop/core/dtype.h"

#include <math.h>

static ml_Dtype dt(const char *name)
{
    ml_Dtype t;
    assert_true(ml_dtype_parse(ml_str(name), &t));
    return t;
}

static const char *const names[] = {
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int4",
    "uint4",
    "int1",
    "uint1",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "handle",
    "void",
    "int8x4",
    "float8_e4m3fnx16",
    "float16x65535",
    "boolx8",
};

static void names_read_back(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    for (size_t k = 0; k < ML_COUNT(names); k++)
        assert_string_equal(ml_dtype_name(cx, dt(names[k])), names[k]);
    assert_true(ml_dtype_eq(dt(""), ML_DT_VOID));
    assert_true(ml_dtype_eq(dt("float32x4"), ml_dtype_lanes(ML_DT_F32, 4)));
    ml_ctx_unref(cx);
}

static void other_names_are_refused(void **state)
{
    static const char *const bad[] = {"int",    "int0",     "int65",      "int032",
                                      "float",  "float31",  "int8x0",     "int8x1",
                                      "int8x",  "x4",       "int8x70000", "int32xvscalex4",
                                      "voidx2", "int8x4x2", "Int8",       "float8",
                                      "int-8",  "int8 ",    "x",          "int99999999999"};
    ml_Dtype t;
    for (size_t k = 0; k < ML_COUNT(bad); k++)
        assert_false(ml_dtype_parse(ml_str(bad[k]), &t));
}

static void a_misspelt_name_finds_its_neighbour(void **state)
{
    assert_string_equal(ml_dtype_nearest(ml_str("flaot32")), "float32");
    assert_string_equal(ml_dtype_nearest(ml_str("uimt8")), "uint8");
    assert_string_equal(ml_dtype_nearest(ml_str("int33")), "int32");
    assert_null(ml_dtype_nearest(ml_str("complex64")));
    assert_null(
        ml_dtype_nearest(ml_str("a very long name that is nothing like any dtype")));
}

static void sizes_are_rounded_up_to_bytes(void **state)
{
    assert_int_equal(ml_dtype_bytes(dt("bool")), 1);
    assert_int_equal(ml_dtype_bytes(dt("boolx8")), 8);
    assert_int_equal(ml_dtype_bytes(dt("int4")), 1);
    assert_int_equal(ml_dtype_bytes(dt("int4x3")), 2);
    assert_int_equal(ml_dtype_bytes(dt("float64x2")), 16);
    assert_int_equal(ml_dtype_bytes(dt("handle")), 8);
}

static void integers_have_their_limits_and_wrap(void **state)
{
    assert_int_equal(ml_dtype_min(dt("int8")), -128);
    assert_int_equal(ml_dtype_max(dt("int8")), 127);
    assert_int_equal(ml_dtype_max(dt("uint8")), 255);
    assert_int_equal(ml_dtype_min(dt("uint64")), 0);
    assert_int_equal(ml_dtype_max(dt("uint64")), INT64_MAX);
    assert_int_equal(ml_dtype_max(dt("uint32")), UINT32_MAX);
    assert_true(ml_dtype_min(dt("int64")) == INT64_MIN);
    assert_int_equal(ml_dtype_max(dt("int1")), 0);
    assert_int_equal(ml_dtype_min(dt("int1")), -1);
    Rng r = {2};
    for (int k = 0; k < 10000; k++) {
        int64_t v = (int64_t)rng_next(&r) >> rng_below(&r, 60);
        assert_int_equal(ml_dtype_wrap(dt("int8"), v), (int8_t)v);
        assert_int_equal(ml_dtype_wrap(dt("int32"), v), (int32_t)v);
        assert_int_equal(ml_dtype_wrap(dt("uint16"), v), (uint16_t)v);
        assert_int_equal(ml_dtype_wrap(dt("int64"), v), v);
        assert_int_equal(ml_dtype_fits(dt("int16"), v), v == (int16_t)v);
    }
}

static void extremes_are_those_of_the_table(void **state)
{
    static const struct {
        const char *name;
        double max;
    } rows[] = {
        {"float16", 65504},
        {"bfloat16", 3.3895313892515355e38},
        {"float8_e4m3fn", 448},
        {"float8_e4m3", 240},
        {"float8_e4m3fnuz", 240},
        {"float8_e5m2", 57344},
        {"float8_e5m2fnuz", 57344},
        {"float8_e4m3b11fnuz", 30},
        {"float8_e3m4", 15.5},
        {"float6_e2m3fn", 7.5},
        {"float6_e3m2fn", 28},
        {"float4_e2m1fn", 6},
        {"float32", 3.4028234663852886e38},
    };
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Dtype t = dt(rows[k].name);
        assert_true(ml_dtype_fmax(t) == rows[k].max);
        assert_true(ml_dtype_flowest(t) == -rows[k].max);
        assert_true(ml_dtype_round(t, rows[k].max) == rows[k].max);
    }
    assert_true(ml_dtype_fmax(dt("float8_e8m0fnu")) == 0x1p127);
    assert_true(ml_dtype_flowest(dt("float8_e8m0fnu")) == 0x1p-127);
}

/* Layout of the small formats, for enumeration: exponent bits, mantissa bits, bias. */
static const struct Layout {
    const char *name;
    int e, m, bias;
} layouts[] = {
    {"float8_e4m3fn", 4, 3, 7},       {"float8_e5m2", 5, 2, 15},
    {"float8_e4m3", 4, 3, 7},         {"float8_e3m4", 3, 4, 3},
    {"float8_e4m3b11fnuz", 4, 3, 11}, {"float8_e4m3fnuz", 4, 3, 8},
    {"float8_e5m2fnuz", 5, 2, 16},    {"float6_e2m3fn", 2, 3, 1},
    {"float6_e3m2fn", 3, 2, 3},       {"float4_e2m1fn", 2, 1, 1},
    {"float16", 5, 10, 15},           {"bfloat16", 8, 7, 127},
};

/* The value of a non-negative code, without regard to special codes. */
static double decode(const struct Layout *f, unsigned code)
{
    int e = (int)(code >> f->m);
    double m = (double)(code & ((1u << f->m) - 1)) / (double)(1u << f->m);
    return e == 0 ? ldexp(m, 1 - f->bias) : ldexp(1 + m, e - f->bias);
}

static void rounding_is_to_the_nearest_code_ties_to_even(void **state)
{
    for (size_t k = 0; k < ML_COUNT(layouts); k++) {
        const struct Layout *f = &layouts[k];
        ml_Dtype t = dt(f->name);
        for (unsigned c = 0; decode(f, c) < ml_dtype_fmax(t); c++) {
            double a = decode(f, c);
            double b = decode(f, c + 1);
            double mid = (a + b) / 2;
            double even = c % 2 == 0 ? a : b;
            assert_true(ml_dtype_round(t, a) == a && ml_dtype_round(t, -a) == -a);
            assert_true(ml_dtype_round(t, mid) == even && ml_dtype_round(t, -mid) == -even);
            assert_true(ml_dtype_round(t, nextafter(mid, a)) == a);
            assert_true(ml_dtype_round(t, nextafter(mid, b)) == b);
        }
    }
}

static void overflow_goes_where_the_format_says(void **state)
{
    assert_true(isinf(ml_dtype_round(dt("float16"), 65520)));
    assert_true(ml_dtype_round(dt("float16"), 65519.9) == 65504);
    assert_true(ml_dtype_round(dt("float16"), -1e9) == -(double)INFINITY);
    assert_true(isinf(ml_dtype_round(dt("bfloat16"), 3.4028234663852886e38)));
    assert_true(ml_dtype_round(dt("float8_e4m3fn"), 464) == 448);
    assert_true(isnan(ml_dtype_round(dt("float8_e4m3fn"), 464.001)));
    assert_true(isnan(ml_dtype_round(dt("float8_e4m3fnuz"), (double)INFINITY)));
    assert_true(isinf(ml_dtype_round(dt("float8_e5m2"), 61440)));
    assert_true(ml_dtype_round(dt("float4_e2m1fn"), -100) == -6);
    assert_true(ml_dtype_round(dt("float6_e3m2fn"), (double)INFINITY) == 28);
    assert_true(isnan(ml_dtype_round(dt("float16"), (double)NAN)));
    assert_false(signbit(ml_dtype_round(dt("float8_e4m3fnuz"), -0.0)));
    assert_true(signbit(ml_dtype_round(dt("float8_e4m3fn"), -0.0)));
    assert_true(ml_dtype_round(dt("float16"), 0x1p-25) == 0);
    assert_true(ml_dtype_round(dt("float16"), 0x1.1p-25) == 0x1p-24);
    assert_true(ml_dtype_round(dt("float32"), 0.1) == (double)0.1f);
    assert_true(ml_dtype_round(dt("float64"), 0.1) == 0.1);
}

static void scale_factors_are_powers_of_two(void **state)
{
    ml_Dtype t = dt("float8_e8m0fnu");
    assert_true(ml_dtype_round(t, 1) == 1);
    assert_true(ml_dtype_round(t, 2.9) == 2);
    assert_true(ml_dtype_round(t, 3.1) == 4);
    assert_true(ml_dtype_round(t, 0) == 0x1p-127);
    assert_true(ml_dtype_round(t, 0x1p127) == 0x1p127);
    assert_true(isnan(ml_dtype_round(t, 0x1p128)));
    assert_true(isnan(ml_dtype_round(t, -1)));
}

static void promotion_follows_the_table(void **state)
{
    static const char *const rows[][3] = {
        {"int32", "int32", "int32"},
        {"int32", "int64", "int64"},
        {"int32", "uint32", "uint32"},
        {"int64", "uint32", "int64"},
        {"int8", "uint64", "uint64"},
        {"bool", "int8", "int8"},
        {"bool", "uint1", "uint1"},
        {"bool", "float16", "float16"},
        {"float16", "float32", "float32"},
        {"float16", "int64", "float16"},
        {"float16", "bfloat16", "float16"},
        {"float64", "float8_e4m3fn", "float64"},
        {"bfloat16", "int64", "bfloat16"},
        {"bfloat16", "float8_e5m2", "bfloat16"},
        {"float8_e5m2", "int32", "float8_e5m2"},
        {"float8_e5m2", "float6_e2m3fn", "float8_e5m2"},
        {"float6_e3m2fn", "float4_e2m1fn", "float6_e3m2fn"},
        {"float4_e2m1fn", "int8", "float4_e2m1fn"},
        {"int32x4", "int32", "int32x4"},
        {"int32x4", "float32", "float32x4"},
        {"float16x2", "int8", "float16x2"},
        {"handle", "handle", "handle"},
        {"int32x4", "int32x8", NULL},
        {"float8_e5m2", "float8_e4m3", NULL},
        {"float6_e2m3fn", "float6_e3m2fn", NULL},
        {"handle", "int64", NULL},
        {"void", "int32", NULL},
    };
    ml_Dtype out;
    for (size_t k = 0; k < ML_COUNT(rows); k++)
        for (int swap = 0; swap < 2; swap++) {
            bool ok = ml_dtype_promote(dt(rows[k][swap]), dt(rows[k][1 - swap]), &out);
            assert_int_equal(ok, rows[k][2] != NULL);
            if (ok)
                assert_true(ml_dtype_eq(out, dt(rows[k][2])));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_read_back),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(a_misspelt_name_finds_its_neighbour),
        cmocka_unit_test(sizes_are_rounded_up_to_bytes),
        cmocka_unit_test(integers_have_their_limits_and_wrap),
        cmocka_unit_test(extremes_are_those_of_the_table),
        cmocka_unit_test(rounding_is_to_the_nearest_code_ties_to_even),
        cmocka_unit_test(overflow_goes_where_the_format_says),
        cmocka_unit_test(scale_factors_are_powers_of_two),
        cmocka_unit_test(promotion_follows_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
