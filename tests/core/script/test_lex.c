/* test_lex - tokens, places, indentation, strings, recovery. Source: script 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "moonloop/core/script/syntax/lex.h"

typedef struct Lexing {
    ml_Ctx *cx;
    ml_Report rep;
    ml_Symbols syms;
    ml_Lexed out;
} Lexing;

static void lex(Lexing *x, const char *text, size_t n)
{
    memset(x, 0, sizeof *x);
    x->cx = ml_ctx_new(0);
    x->rep.cx = x->cx;
    x->rep.file = "<text>";
    x->syms.sc = x->cx;
    ml_lex(x->cx, &x->syms, &x->rep, (ml_Str){text, n}, &x->out);
}

/* The kinds of the tokens, one letter each. */
static void shape(const char *text, const char *want)
{
    static const char LETTERS[] = "$;><nkifso!";
    char have[256];
    Lexing x;

    lex(&x, text, strlen(text));
    assert_true(x.out.n < sizeof have);
    for (size_t k = 0; k < x.out.n; k++)
        have[k] = LETTERS[x.out.toks[k].kind];
    have[x.out.n] = 0;
    assert_string_equal(have, want);
    ml_ctx_unref(x.cx);
}

static void lines_and_blocks_become_tokens(void **state)
{
    shape("", "$");
    shape("x = 1\n", "noi;$");
    shape("x = 1", "noi;$");
    shape("\n# comment\n\nx\n", "n;$");
    shape("for i in x:\n  a\n  b\nc\n", "knkno;>n;n;<n;$");
    shape("  x\n  y\n", "n;n;$");
    shape("f(a,\n   b)\ng\n", "nonono;n;$");
    shape("a \\\n b\n", "nn;$");
    shape("a; b\r\nc\rd\n", "non;n;n;$");
    shape("\xef\xbb\xbfx\n", "n;$");
    shape("if a:\n\tb\n\tif c:\n\t\td\n", "kno;>n;kno;>n;<<$");
}

static void numbers_are_decoded(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } ROWS[] = {{"0", 0},     {"1_000", 1000}, {"0xFF", 255},
                {"0o17", 15}, {"0b1_01", 5},   {"18446744073709551615", UINT64_MAX},
                {"00", 0}};
    Lexing x;

    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        lex(&x, ROWS[k].text, strlen(ROWS[k].text));
        assert_int_equal(x.out.toks[0].kind, ML_TOK_INT);
        assert_true(x.out.toks[0].as.i == ROWS[k].value);
        ml_ctx_unref(x.cx);
    }
    lex(&x, "1.5e3 .5 2. 1e-2", 16);
    assert_true(x.out.toks[0].as.f == 1500.0 && x.out.toks[1].as.f == 0.5 &&
                x.out.toks[2].as.f == 2.0 && x.out.toks[3].as.f == 0.01);
    ml_ctx_unref(x.cx);
    lex(&x, "18446744073709551616", 20);
    assert_true(x.out.toks[0].big);
    ml_ctx_unref(x.cx);
}

static void strings_are_decoded(void **state)
{
    static const struct {
        const char *text, *value;
    } ROWS[] = {
        {"'a\\n\\t\\\\\\''", "a\n\t\\'"},
        {"\"\\x41\\u00e4\\101\"", "A\xc3\xa4"
                                  "A"},
        {"r\"a\\n\"", "a\\n"},
        {"\"\"\"two\nlines\"\"\"", "two\nlines"},
        {"'a\\\nb'", "ab"},
        {"'\\q'", "\\q"},
    };

    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        Lexing x;

        lex(&x, ROWS[k].text, strlen(ROWS[k].text));
        assert_int_equal(x.out.toks[0].kind, ML_TOK_STRING);
        assert_string_equal(x.out.toks[0].as.s.p, ROWS[k].value);
        assert_int_equal(x.rep.n_errors, 0);
        ml_ctx_unref(x.cx);
    }
}

static void columns_count_code_points(void **state)
{
    Lexing x;
    static const char TEXT[] = "\"\xc3\xa4\xe2\x82\xac\" b\n";

    lex(&x, TEXT, sizeof TEXT - 1);
    assert_int_equal(x.out.toks[0].at.end_col, 5);
    assert_int_equal(x.out.toks[1].at.col, 6);
    ml_ctx_unref(x.cx);
}

static void bad_texts_have_their_codes(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *code;
    } ROWS[] = {
        {"f(a\nb = 1\n", 10, "E101"}, {"f(a]\n", 5, "E101"},   {")\n", 2, "E101"},
        {"'abc\n", 5, "E104"},        {"x = 09\n", 7, "E105"}, {"b'x'\n", 5, "E108"},
        {"f'{'\n", 5, "E111"},        {"a\0b\n", 4, "E110"},   {"a\xff\n", 3, "E110"},
        {"'\xff'\n", 4, "E110"},      {"1j\n", 3, "E111"},     {"1__0\n", 5, "E111"},
        {"0x\n", 3, "E111"},          {"'\\x1'\n", 6, "E111"}, {"a ? b\n", 6, "E100"},
    };

    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        Lexing x;

        lex(&x, ROWS[k].text, ROWS[k].n);
        if (x.rep.diags.n == 0 || strcmp(x.rep.diags.v[0].code, ROWS[k].code) != 0)
            fail_msg("row %zu: %s", k, x.rep.diags.n ? x.rep.diags.v[0].code : "no error");
        assert_int_equal(x.out.toks[x.out.n - 1].kind, ML_TOK_EOF);
        ml_ctx_unref(x.cx);
    }
}

static void after_an_unclosed_bracket_the_next_statement_is_read(void **state)
{
    shape("x = f(1, [2\ny = 3\n", "!;noi;$");
    shape("f(\n  a\n)\ny\n", "nono;n;$");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_blocks_become_tokens),
        cmocka_unit_test(numbers_are_decoded),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(columns_count_code_points),
        cmocka_unit_test(bad_texts_have_their_codes),
        cmocka_unit_test(after_an_unclosed_bracket_the_next_statement_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
