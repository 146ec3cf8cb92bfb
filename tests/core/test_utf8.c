/*
 * test_utf8 - every code point there and back, and every sequence of bytes that is none.
 */
#include "core_test.h"
#include "moonloop/core/base/utf8.h"

static bool surrogate(uint32_t c)
{
    return c >= 0xd800 && c < 0xe000;
}

static void every_code_point_is_written_as_a_valid_sequence(void **state)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char z[4];
        size_t n = ml_utf8_put(z, c);

        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        assert_int_equal(ml_utf8_length(z, z + n), surrogate(c) ? 0 : n);
        assert_int_equal(ml_utf8_length(z, z + n - (n > 1)), n > 1 ? 0 : 1);
    }
}

/* Each code point has one sequence: as many are valid as there are code points. */
static void no_other_sequence_is_valid(void **state)
{
    size_t valid[5] = {0};
    char z[4];

    for (int lead = 0; lead < 256; lead++)
        for (int b = 0x7e; b < 0xc2; b++)
            for (int c = 0x7e; c < 0xc2; c++)
                for (int d = 0x7e; d < 0xc2; d++) {
                    size_t n;

                    z[0] = (char)lead;
                    z[1] = (char)b;
                    z[2] = (char)c;
                    z[3] = (char)d;
                    n = ml_utf8_length(z, z + 4);
                    /* what follows the sequence takes no part: counted once */
                    valid[n] += (n > 3 || d == 0x7e) && (n > 2 || c == 0x7e) &&
                                (n > 1 || b == 0x7e);
                }
    assert_int_equal(valid[1], 0x80);
    assert_int_equal(valid[2], 0x800 - 0x80);
    assert_int_equal(valid[3], 0x10000 - 0x800 - 0x800);
    assert_int_equal(valid[4], 0x110000 - 0x10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_is_written_as_a_valid_sequence),
        cmocka_unit_test(no_other_sequence_is_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
