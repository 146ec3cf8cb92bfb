/*
 * test_tensor - tensors: storage of every dtype, generators, comparison, .npy files.
 */
#include "moonloop/codegen/tensor/tensor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static int setup(void **state)
{
    *state = ml_ctx_new(0);
    return 0;
}

static int teardown(void **state)
{
    ml_ctx_unref(*state);
    return 0;
}

static const ml_Dtype narrow_floats[] = {
    {ML_FLOAT, 16, 1},         {ML_BFLOAT, 16, 1},     {ML_F8_E4M3FN, 8, 1},
    {ML_F8_E5M2, 8, 1},        {ML_F8_E4M3, 8, 1},     {ML_F8_E3M4, 8, 1},
    {ML_F8_E4M3B11FNUZ, 8, 1}, {ML_F8_E4M3FNUZ, 8, 1}, {ML_F8_E5M2FNUZ, 8, 1},
    {ML_F8_E8M0FNU, 8, 1},     {ML_F6_E2M3FN, 6, 1},   {ML_F6_E3M2FN, 6, 1},
    {ML_F4_E2M1FN, 4, 1},
};

static void every_pattern_of_a_narrow_float_survives_a_round_trip(void **state)
{
    (void)state;
    for (size_t k = 0; k < ML_COUNT(narrow_floats); k++) {
        ml_Dtype t = narrow_floats[k];
        for (uint64_t bits = 0; bits < UINT64_C(1) << t.bits; bits++) {
            double v = ml_float_value(t, bits);
            uint64_t back = ml_float_bits(t, v);
            if (isnan(v))
                assert_true(isnan(ml_float_value(t, back)));
            else
                assert_int_equal(back, bits);
            if (!isnan(v) && !isinf(v))
                assert_true(ml_dtype_round(t, v) == v);
        }
    }
}

static void known_patterns_have_their_values(void **state)
{
    ml_Dtype h = ML_DT(ML_FLOAT, 16), b = ML_DT(ML_BFLOAT, 16);
    ml_Dtype e4 = ML_DT(ML_F8_E4M3FN, 8), e5 = ML_DT(ML_F8_E5M2, 8);

    (void)state;
    assert_true(ml_float_value(h, 0x3c00) == 1.0);
    assert_true(ml_float_value(h, 0x7bff) == 65504.0);
    assert_true(ml_float_value(h, 0x0001) == 0x1p-24);
    assert_true(isinf(ml_float_value(h, 0x7c00)));
    assert_true(ml_float_value(b, 0x3f80) == 1.0);
    assert_true(ml_float_value(b, 0xc000) == -2.0);
    assert_true(ml_float_value(e4, 0x7e) == 448.0);
    assert_true(isnan(ml_float_value(e4, 0x7f)));
    assert_true(ml_float_value(e4, 0x01) == 0x1p-9);
    assert_true(ml_float_value(e5, 0x7b) == 57344.0);
    assert_true(ml_float_value(e5, 0x01) == 0x1p-16);
    assert_int_equal(ml_float_bits(h, 1.0 / 3.0), 0x3555);
    assert_int_equal(ml_float_bits(b, 1.0 / 3.0), 0x3eab);
    assert_int_equal(ml_float_bits(h, -0.0), 0x8000);
}

static void elements_wrap_and_round_on_the_way_in(void **state)
{
    static const int64_t shape[] = {4};
    ml_Tensor *t = ml_tensor_new(*state, ML_DT(ML_INT, 4), shape, 1);

    ml_tensor_set_int(t, 0, 7);
    ml_tensor_set_int(t, 1, 8);
    ml_tensor_set_int(t, 2, -9);
    assert_int_equal(ml_tensor_get_int(t, 0), 7);
    assert_int_equal(ml_tensor_get_int(t, 1), -8);
    assert_int_equal(ml_tensor_get_int(t, 2), 7);
    assert_int_equal(t->bytes, 4);
    ml_tensor_free(t);
    t = ml_tensor_new(*state, ML_DT(ML_UINT, 64), shape, 1);
    ml_tensor_set_int(t, 0, -1);
    assert_true(ml_tensor_get(t, 0) == 0x1p64);
    ml_tensor_set(t, 1, 0x1p63);
    assert_true((uint64_t)ml_tensor_get_int(t, 1) == UINT64_C(1) << 63);
    ml_tensor_free(t);
    t = ml_tensor_new(*state, ML_DT_BOOL, shape, 1);
    ml_tensor_set_int(t, 0, 2);
    ml_tensor_set(t, 1, 0.5);
    assert_int_equal(ml_tensor_get_int(t, 0), 1);
    assert_int_equal(ml_tensor_get_int(t, 1), 1);
    ml_tensor_free(t);
}

static void vectors_count_lanes_and_rank_0_has_one_element(void **state)
{
    static const int64_t shape[] = {3};
    ml_Tensor *t = ml_tensor_new(*state, ml_dtype_lanes(ML_DT_F32, 4), shape, 1);

    assert_int_equal(t->n, 3);
    assert_int_equal(t->n_lanes, 12);
    assert_int_equal((uintptr_t)t->data % 64, 0);
    ml_tensor_free(t);
    t = ml_tensor_new(*state, ML_DT_F64, NULL, 0);
    assert_int_equal(t->n, 1);
    ml_tensor_free(t);
}

static void impossible_tensors_are_refused(void **state)
{
    static const int64_t huge[] = {INT64_MAX, 4}, negative[] = {-1};

    assert_null(ml_tensor_new(*state, ML_DT_F32, huge, 2));
    assert_int_equal(ml_error(*state)->code, ML_E_TOO_LARGE);
    ml_error_clear(*state);
    assert_null(ml_tensor_new(*state, ML_DT_F32, negative, 1));
    assert_int_equal(ml_error(*state)->code, ML_E_BAD_RUN_ARGUMENT);
    ml_error_clear(*state);
    assert_null(ml_tensor_new(*state, ML_DT_HANDLE, NULL, 0));
    assert_int_equal(ml_error(*state)->code, ML_E_NOT_SUPPORTED);
    ml_error_clear(*state);
}

static void a_write_beside_the_data_is_seen(void **state)
{
    static const int64_t shape[] = {5};
    ml_Tensor *t = ml_tensor_new(*state, ML_DT(ML_INT, 8), shape, 1);

    assert_true(ml_tensor_guards_intact(t));
    ((uint8_t *)t->data)[5] ^= 1;
    assert_false(ml_tensor_guards_intact(t));
    ((uint8_t *)t->data)[5] ^= 1;
    ((uint8_t *)t->data)[-1] ^= 1;
    assert_false(ml_tensor_guards_intact(t));
    ml_tensor_free(t);
}

static void the_generator_is_that_of_its_authors(void **state)
{
    ml_Random r = {{1, 2, 3, 4}};
    static const uint64_t first[] = {11520, 0, 1509978240, UINT64_C(1215971899390074240)};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(first); k++)
        assert_true(ml_random_next(&r) == first[k]);
}

static void streams_depend_on_id_position_and_seed_only(void **state)
{
    ml_Random a = ml_random("GMM-0", 1, 1), b = ml_random("GMM-0", 1, 1);
    uint64_t x = ml_random_next(&a);

    (void)state;
    assert_true(x == ml_random_next(&b));
    b = ml_random("GMM-1", 1, 1);
    assert_true(x != ml_random_next(&b));
    b = ml_random("GMM-0", 2, 1);
    assert_true(x != ml_random_next(&b));
    b = ml_random("GMM-0", 1, 2);
    assert_true(x != ml_random_next(&b));
}

static void a_second_block_starts_from_a_jumped_state(void **state)
{
    static const int64_t shape[] = {65536 + 3};
    ml_Tensor *t = ml_tensor_new(*state, ML_DT_F32, shape, 1);
    ml_Random r = ml_random("x", 0, 1);

    ml_tensor_fill(t, ML_FILL_RANDOM, "x", 0, 1, 0, 0);
    ml_random_jump(&r);
    assert_true(ml_tensor_get(t, 65536) ==
                ldexp((double)(ml_random_next(&r) >> 39), -24) - 1.0);
    ml_tensor_free(t);
}

static void random_floats_lie_on_their_grid_in_their_range(void **state)
{
    static const int64_t shape[] = {4000};
    static const struct {
        ml_Dtype t;
        int bits;
    } rows[] = {{{ML_FLOAT, 32, 1}, 24}, {{ML_FLOAT, 16, 1}, 11}, {{ML_BFLOAT, 16, 1}, 8}};

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Tensor *t = ml_tensor_new(*state, rows[k].t, shape, 1);
        double lo = 1, hi = -1;
        ml_tensor_fill(t, ML_FILL_RANDOM, "x", 0, 7, 0, 0);
        for (int64_t l = 0; l < t->n; l++) {
            double v = ml_tensor_get(t, l), g = ldexp(v, rows[k].bits);
            assert_true(g == floor(g));
            lo = v < lo ? v : lo;
            hi = v > hi ? v : hi;
        }
        assert_true(lo >= -1.0 && lo < -0.9 && hi <= 1.0 && hi > 0.9);
        ml_tensor_free(t);
    }
}

static void random_integers_take_their_whole_range(void **state)
{
    static const int64_t shape[] = {20000};
    ml_Tensor *t = ml_tensor_new(*state, ML_DT(ML_INT, 8), shape, 1);
    int64_t lo = 0, hi = 0;

    ml_tensor_fill(t, ML_FILL_RANDOM, "x", 0, 1, 0, 0);
    for (int64_t l = 0; l < t->n; l++) {
        int64_t v = ml_tensor_get_int(t, l);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    assert_int_equal(lo, -128);
    assert_int_equal(hi, 127);
    ml_tensor_free(t);
    t = ml_tensor_new(*state, ML_DT_I32, shape, 1);
    ml_tensor_fill(t, ML_FILL_RANDOM, "x", 0, 1, 0, 0);
    for (int64_t l = 0; l < t->n; l++)
        assert_true(llabs(ml_tensor_get_int(t, l)) <= 32768);
    ml_tensor_free(t);
}

static void the_fixed_fills_are_what_they_say(void **state)
{
    static const int64_t shape[] = {100};
    ml_Tensor *t = ml_tensor_new(*state, ML_DT_F32, shape, 1);
    ml_Fill how;

    ml_tensor_fill(t, ML_FILL_POISON, "x", 0, 1, 0, 0);
    assert_true(isnan(ml_tensor_get(t, 99)));
    ml_tensor_fill(t, ML_FILL_IOTA, "x", 0, 1, 0, 0);
    assert_true(ml_tensor_get(t, 99) == 99.0);
    ml_tensor_fill(t, ML_FILL_ONES, "x", 0, 1, 0, 0);
    assert_true(ml_tensor_get(t, 50) == 1.0);
    ml_tensor_fill(t, ML_FILL_TERNARY, "x", 0, 1, 0, 0);
    for (int64_t k = 0; k < 100; k++)
        assert_true(fabs(ml_tensor_get(t, k)) == 1.0 || ml_tensor_get(t, k) == 0.0);
    ml_tensor_free(t);
    t = ml_tensor_new(*state, ML_DT_I32, shape, 1);
    ml_tensor_fill(t, ML_FILL_POISON, "x", 0, 1, 0, 0);
    assert_int_equal(ml_tensor_get_int(t, 3), 0x5a5a5a5a);
    ml_tensor_free(t);
    assert_true(ml_fill_parse(ml_str("adversarial"), &how) && how == ML_FILL_ADVERSARIAL);
    assert_false(ml_fill_parse(ml_str("nothing"), &how));
}

static void comparison_follows_the_rules_of_nan_and_tolerance(void **state)
{
    static const int64_t shape[] = {2, 3};
    ml_Tensor *a = ml_tensor_new(*state, ML_DT_F32, shape, 2);
    ml_Tensor *b = ml_tensor_copy(*state, a);
    ml_Tolerance tol = {.rtol = 0.1, .atol = 0.01};
    ml_Comparison c;
    ml_Text place = {0};

    ml_tensor_set(a, 0, (double)NAN);
    ml_tensor_set(b, 0, (double)NAN);
    ml_tensor_set(a, 1, 1.0);
    ml_tensor_set(b, 1, 1.05);
    c = ml_tensor_compare(a, b, tol);
    assert_int_equal(c.outside, 0);
    assert_int_equal(c.largest_at, 1);
    ml_tensor_set(b, 5, 0.5);
    ml_tensor_set(b, 3, (double)NAN);
    c = ml_tensor_compare(a, b, tol);
    assert_int_equal(c.outside, 2);
    assert_int_equal(c.first, 3);
    assert_true(isinf(c.largest));
    ml_tensor_place(&place, a, 5);
    assert_string_equal(ml_text_z(&place), "[1, 2]");
    ml_text_free(&place);
    ml_tensor_set(b, 3, 0.0);
    ml_tensor_set(b, 5, -0.0);
    tol.exact = true;
    ml_tensor_set(b, 1, 1.0);
    c = ml_tensor_compare(a, b, tol);
    assert_int_equal(c.outside, 1); /* the sign of zero */
    assert_int_equal(c.first, 5);
    ml_tensor_free(a);
    ml_tensor_free(b);
}

static const char *scratch(void)
{
    static char path[64];

    snprintf(path, sizeof path, "/tmp/test_tensor_%ld.npy", (long)getpid());
    return path;
}

static void npy_files_round_trip(void **state)
{
    static const ml_Dtype types[] = {
        {ML_FLOAT, 32, 1}, {ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1}, {ML_INT, 64, 1},
        {ML_UINT, 8, 1},   {ML_BOOL, 1, 1},   {ML_FLOAT, 32, 4},  {ML_INT, 4, 1}};
    static const int64_t shape[] = {2, 3, 5};

    for (size_t k = 0; k < ML_COUNT(types); k++)
        for (size_t rank = 0; rank <= 3; rank++) {
            ml_Tensor *a = ml_tensor_new(*state, types[k], shape, rank), *b;
            ml_Comparison c;
            ml_tensor_fill(a, ML_FILL_RANDOM, "npy", 0, k, 0, 0);
            assert_true(ml_tensor_save(*state, a, scratch()));
            b = ml_tensor_load(*state, scratch(), &types[k]);
            assert_non_null(b);
            assert_int_equal(b->rank, rank);
            c = ml_tensor_compare(a, b, (ml_Tolerance){.exact = true});
            assert_int_equal(c.outside, 0);
            ml_tensor_free(a);
            ml_tensor_free(b);
        }
    unlink(scratch());
}

static void write_file(const char *bytes, size_t n)
{
    FILE *f = fopen(scratch(), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void a_file_of_numpy_loads_and_broken_ones_do_not(void **state)
{
    static const char good[] =
        "\x93NUMPY\x01\x00\x76\x00"
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }"
        "                                                            \n"
        "\x01\x00\xff\xff";
    static const char big_endian[] =
        "\x93NUMPY\x01\x00\x39\x00"
        "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }\x01\x00\x02\x00";
    static const char *const bad[] = {"", "\x93NUMPZ", "\x93NUMPY\x01\x01\x10\x01{}"};
    ml_Tensor *t;

    write_file(good, sizeof good - 1);
    t = ml_tensor_load(*state, scratch(), NULL);
    assert_non_null(t);
    assert_int_equal(t->type.bits, 16);
    assert_int_equal(ml_tensor_get_int(t, 1), -1);
    ml_tensor_free(t);
    write_file(good, sizeof good - 2);
    assert_null(ml_tensor_load(*state, scratch(), NULL));
    assert_int_equal(ml_error(*state)->code, ML_E_BAD_FILE);
    ml_error_clear(*state);
    write_file(big_endian, sizeof big_endian - 1);
    assert_null(ml_tensor_load(*state, scratch(), NULL));
    assert_non_null(
        strstr(ml_error(*state)->facts[0].as.text, ": the header is not understood"));
    ml_error_clear(*state);
    for (size_t k = 0; k < ML_COUNT(bad); k++) {
        write_file(bad[k], strlen(bad[k]));
        assert_null(ml_tensor_load(*state, scratch(), NULL));
        assert_int_equal(ml_error(*state)->code, ML_E_BAD_FILE);
        ml_error_clear(*state);
    }
    unlink(scratch());
    assert_null(ml_tensor_load(*state, scratch(), NULL));
    assert_int_equal(ml_error(*state)->code, ML_E_NO_FILE);
    ml_error_clear(*state);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(every_pattern_of_a_narrow_float_survives_a_round_trip),
        T(known_patterns_have_their_values),
        T(elements_wrap_and_round_on_the_way_in),
        T(vectors_count_lanes_and_rank_0_has_one_element),
        T(impossible_tensors_are_refused),
        T(a_write_beside_the_data_is_seen),
        T(the_generator_is_that_of_its_authors),
        T(streams_depend_on_id_position_and_seed_only),
        T(a_second_block_starts_from_a_jumped_state),
        T(random_floats_lie_on_their_grid_in_their_range),
        T(random_integers_take_their_whole_range),
        T(the_fixed_fills_are_what_they_say),
        T(comparison_follows_the_rules_of_nan_and_tolerance),
        T(npy_files_round_trip),
        T(a_file_of_numpy_loads_and_broken_ones_do_not),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
