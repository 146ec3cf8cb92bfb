/*
 * test_letters - what may stand in a name: letters of any script; no sign, no control, nothing
 * that Python would read as another name.
 */
#include "core_test.h"
#include "moonloop/core/base/letters.h"
#include "moonloop/core/base/utf8.h"
#include "moonloop/core/script/script.h"

static size_t letter(const char *z, bool first)
{
    return ml_letter(z, z + strlen(z), first);
}

static void letters_of_any_script_begin_a_name(void **state)
{
    static const char *const z[] = {"a", "Z", "_", "é",  "ß",  "ш",  "Ω",
                                    "א", "ع", "ก", "宽", "ひ", "한", "𐍈"};

    for (size_t k = 0; k < ML_COUNT(z); k++) {
        assert_int_equal(letter(z[k], true), strlen(z[k]));
        assert_int_equal(letter(z[k], false), strlen(z[k]));
    }
}

static void digits_and_marks_come_later(void **state)
{
    static const char *const z[] = {"0", "9", "٣", "\u0301", "·"};

    for (size_t k = 0; k < ML_COUNT(z); k++) {
        assert_int_equal(letter(z[k], true), 0);
        assert_int_equal(letter(z[k], false), strlen(z[k]));
    }
}

static void signs_and_what_python_folds_are_no_letters(void **state)
{
    static const char *const z[] = {
        " ",      "-",      "\"",     "\x7f",   "\x01", "\xc2\x85", "×",
        "→",      "∑",      "😀",      "ﬁ",      "Ａ",   "ª",        "²",
        "\u00a0", "\u200e", "\u202e", "\u2028", "\xff", "\xc3",     "\xed\xa0\x80",
    };

    for (size_t k = 0; k < ML_COUNT(z); k++) {
        assert_int_equal(letter(z[k], true), 0);
        assert_int_equal(letter(z[k], false), 0);
    }
}

static void a_hint_keeps_its_letters(void **state)
{
    static const char *const rows[][2] = {
        {"é", "é"},      {"ширина", "ширина"}, {"宽2", "宽2"},
        {"9é", "_9é"},   {"a b×c", "a_b_c"},   {"→", "_"},
        {"é\xff", "é_"}, {"\xc3", "_"},        {"\u0301x", "_\u0301x"},
        {"", "v"},
    };
    ml_Ctx *cx = ml_ctx_new(0);

    for (size_t k = 0; k < ML_COUNT(rows); k++)
        assert_string_equal(ml_name_sanitize(cx, rows[k][0], false), rows[k][1]);
    ml_ctx_unref(cx);
}

/* Whatever a hint holds, the text that is printed for it is read again. */
static void a_program_with_any_letter_is_read_again(void **state)
{
    for (uint32_t c = 0x80; c < 0x30000; c += c < 0x3000 ? 1 : 61) {
        if (c >= 0xd800 && c < 0xe000)
            continue;
        char hint[8] = {0};
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text t = {0};

        assert_int_equal(ml_utf8_get(hint, ml_utf8_put(hint, c)), c);
        const char *name = ml_name_sanitize(cx, hint, false);

        ml_text_fmt(&t,
                    "@T.prim_func\ndef main(A: T.Buffer((4,), \"int32\")):\n"
                    "    for %s in range(4):\n        A[%s] = %s\n",
                    name, name, name);
        ml_Parsed p = ml_parse(cx, (ml_Str){ml_text_z(&t), t.n}, NULL);

        if (!p.mod)
            fail_msg("U+%04X: %s", (unsigned)c, p.diags[0].message);
        assert_string_equal(ml_as_for(p.mod->funcs[0]->body)->var->hint, name);
        ml_text_free(&t);
        ml_ctx_unref(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_any_script_begin_a_name),
        cmocka_unit_test(digits_and_marks_come_later),
        cmocka_unit_test(signs_and_what_python_folds_are_no_letters),
        cmocka_unit_test(a_hint_keeps_its_letters),
        cmocka_unit_test(a_program_with_any_letter_is_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
