/*
 * test_text - growing strings, and doubles that read back.
 *
 * Every double reads back to its bits, in the fewest digits that do.
 */
#include "core_test.h"
#include "moonloop/core/base/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void what_is_appended_is_there(void **state)
{
    ml_Text t = {0};
    assert_string_equal(ml_text_z(&t), "");
    ml_text_add(&t, "ab");
    ml_text_addn(&t, "cdef", 2);
    ml_text_char(&t, '!');
    ml_text_repeat(&t, '-', 3);
    ml_text_repeat(&t, '-', 0);
    ml_text_fmt(&t, "%s=%d", "x", 12);
    ml_text_int(&t, INT64_MIN);
    ml_text_int(&t, 0);
    assert_string_equal(ml_text_z(&t), "abcd!---x=12-92233720368547758080");
    ml_text_clear(&t);
    assert_string_equal(ml_text_z(&t), "");
    for (int k = 0; k < 10000; k++)
        ml_text_fmt(&t, "%05d", k);
    assert_int_equal(t.n, 50000);
    assert_memory_equal(t.p + 5 * 4321, "04321", 5);
    assert_false(t.bad);
    ml_text_free(&t);
}

static void bytes_that_are_no_text_are_shown_as_such(void **state)
{
    static const char *const CASES[][2] = {
        {"", ""},
        {"a\xc3\xbc\xe2\x86\x92\xf0\x9f\x8c\x99\n",
         "a\xc3\xbc\xe2\x86\x92\xf0\x9f\x8c\x99\n"},
        {"\xff", "\xef\xbf\xbd"},
        {"a\xffz", "a\xef\xbf\xbdz"},
        {"\xc3", "\xef\xbf\xbd"}, /* cut off */
        {"\xc3(", "\xef\xbf\xbd("},
        {"\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(CASES); k++) {
        ml_Text t = {0};
        ml_text_utf8(&t, CASES[k][0], strlen(CASES[k][0]));
        assert_string_equal(ml_text_z(&t), CASES[k][1]);
        ml_text_free(&t);
    }
}

static void words_are_quoted_for_a_shell(void **state)
{
    static const char *const WORDS[][2] = {{"a/b.c=%1", "a/b.c=%1"},
                                           {"", "''"},
                                           {"two words", "'two words'"},
                                           {"it's", "'it'\\''s'"},
                                           {"$HOME", "'$HOME'"}};

    for (size_t k = 0; k < ML_COUNT(WORDS); k++) {
        ml_Text t = {0};

        ml_text_shell(&t, WORDS[k][0]);
        assert_string_equal(ml_text_z(&t), WORDS[k][1]);
        ml_text_free(&t);
    }
}

static void expect_double(double v, const char *text)
{
    ml_Text t = {0};
    ml_text_double(&t, v);
    assert_string_equal(ml_text_z(&t), text);
    ml_text_free(&t);
}

static void doubles_are_short_and_marked_as_such(void **state)
{
    expect_double(2, "2.0");
    expect_double(0.1, "0.1");
    expect_double(1e-5, "1e-05");
    expect_double(0.0, "0.0");
    expect_double(-0.0, "-0.0");
    expect_double(1e300, "1e+300");
    expect_double(5e-324, "5e-324");
    expect_double(3.4028234663852886e38, "3.4028234663852886e+38");
    expect_double(0.1 + 0.2, "0.30000000000000004");
    expect_double((double)INFINITY, "inf");
    expect_double(-(double)INFINITY, "-inf");
    expect_double((double)NAN, "nan");
    expect_double(-(double)NAN, "nan");
}

static void expect_back(double v)
{
    ml_Text t = {0};
    ml_text_double(&t, v);
    double back = strtod(ml_text_z(&t), NULL);
    assert_memory_equal(&back, &v, sizeof(v));
    char other[64];
    bool plain = t.n > 2 && t.p[t.n - 2] == '.' && t.p[t.n - 1] == '0';
    for (int digits = 1; digits < 17; digits++) {
        snprintf(other, sizeof(other), "%.*g", digits, v);
        if (strtod(other, NULL) == v) {
            assert_true(t.n <= strlen(other) + (plain ? 2 : 0));
            break;
        }
    }
    ml_text_free(&t);
}

static void any_double_reads_back_to_the_same_bits(void **state)
{
    Rng r = {7};
    for (int k = 0; k < 100000; k++) {
        uint64_t bits = rng_next(&r);
        double v;
        memcpy(&v, &bits, sizeof(v));
        if (isfinite(v))
            expect_back(v);
    }
    for (int k = 0; k < 20000; k++) {
        expect_back((double)(float)((double)rng_next(&r) * 0x1p-40));
        expect_back((double)rng_below(&r, 100000) / 1000);
        uint64_t bits = rng_next(&r) >> (12 + rng_below(&r, 50)); /* denormals */
        double v;
        memcpy(&v, &bits, sizeof(v));
        expect_back(v);
    }
}

/* Whatever locale is installed that writes a comma. */
static void the_locale_does_not_matter(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                        "ru_RU.UTF-8", "de_DE",      "fr_FR",
                                        "pt_BR.UTF-8"};
    bool found = false;
    for (size_t k = 0; k < ML_COUNT(names) && !found; k++)
        found = setlocale(LC_ALL, names[k]) != NULL;
    expect_double(0.1, "0.1");
    expect_double(-1234.5, "-1234.5");
    expect_double(1.5e-7, "1.5e-07");
    setlocale(LC_ALL, "C");
    if (!found) {
        print_message("skip: no locale with a decimal comma is installed\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_is_there),
        cmocka_unit_test(bytes_that_are_no_text_are_shown_as_such),
        cmocka_unit_test(words_are_quoted_for_a_shell),
        cmocka_unit_test(doubles_are_short_and_marked_as_such),
        cmocka_unit_test(any_double_reads_back_to_the_same_bits),
        cmocka_unit_test(the_locale_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
