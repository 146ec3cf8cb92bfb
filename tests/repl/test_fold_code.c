/*
 * test_fold_code - lines of programs on a screen: what is folded parses to the same
 * program, every row keeps the gutter of its diff, nothing is wider than the screen that
 * need not be.
 */
#include "../core/core_test.h"

#include "../core/script/corpus.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"
#include "repl/out/out.h"
#include "repl/show/diff.h"

static const char *folded(ml_Text *t, const char *text, int width, const char *mark)
{
    ml_text_clear(t);
    ml_out_fold_code(&(ml_Out){.width = width, .folds = true}, text, mark, t);
    return ml_text_z(t);
}

static size_t widest(const char *text)
{
    size_t most = 0;

    for (const char *p = text, *end; *p; p = *end ? end + 1 : end) {
        end = strchr(p, '\n');
        end = end ? end : p + strlen(p);
        most = ml_columns_to(p, end) > most ? ml_columns_to(p, end) : most;
    }
    return most;
}

static const char LONG[] =
    "        Y[vn, vh] = Y[vn, vh] + T.if_then_else(vh + vr >= 1 and vh < 15, X[vh - 1], "
    "T.float32(0))\n";

static void breaks_stand_between_tokens_and_outside_of_brackets(void **state)
{
    ml_Text t = {0};

    (void)state;
    assert_string_equal(
        folded(&t, LONG, 80, ML_GOES_ON),
        "        Y[vn, vh] = Y[vn, vh] + T.if_then_else(vh + vr >= 1 and vh "
        "< 15, \\\n            X[vh - 1], T.float32(0))\n");
    assert_string_equal(folded(&t, LONG, 40, ML_GOES_ON),
                        "        Y[vn, vh] = Y[vn, vh] \\\n"
                        "          + T.if_then_else(vh \\\n"
                        "          + vr >= 1 and vh < 15, \\\n"
                        "          X[vh - 1], T.float32(0))\n");
    assert_string_equal(folded(&t, LONG, 200, ML_GOES_ON), LONG);
    ml_out_fold_code(&(ml_Out){.width = 40}, LONG, ML_GOES_ON, &t); /* no screen */
    assert_non_null(strstr(ml_text_z(&t), LONG));
    assert_string_equal(
        folded(&t, "    # a comment of words that is too long for a line goes on", 40,
               ML_GOES_ON),
        "    # a comment of words that is too\n    # long for a line goes on");
    assert_string_equal(
        folded(&t, "x = \"a string that has blanks, ( and more, inside\" + 1", 30,
               ML_GOES_ON),
        "x = \\\n  \"a string that has blanks, ( and more, inside\" \\\n  + 1");
    ml_text_free(&t);
}

static void every_row_of_a_diff_keeps_its_gutter(void **state)
{
    ml_Text d = {0}, t = {0};
    ml_Text now = {0};

    (void)state;
    ml_text_fmt(&now, "        for i in range(4):\n%s", LONG);
    ml_diff_text(&d, LONG, ml_text_z(&now), &(ml_DiffOpts){.context = 2});
    assert_string_equal(folded(&t, ml_text_z(&d), 60, ML_GOES_ON),
                        "      1 +         for i in range(4):\n"
                        "   1  2           Y[vn, vh] = Y[vn, vh] \\\n"
                        "                      + T.if_then_else(vh + vr >= 1 \\\n"
                        "                      and vh < 15, X[vh - 1], T.float32(0))\n");
    for (int color = 0; color < 2; color++)
        for (int width = 34; width < 110; width++) {
            ml_text_clear(&d);
            ml_diff_text(&d, LONG, "pass\n", &(ml_DiffOpts){.context = 2, .color = color});
            folded(&t, ml_text_z(&d), width, ML_GOES_ON);
            assert_true(widest(ml_text_z(&t)) <= (size_t)width);
            for (const char *p = ml_text_z(&t), *end; *p; p = end + 1) {
                const char *text = p;
                size_t n = 0;

                end = strchr(p, '\n');
                if (color) { /* the colour is that of the row */
                    assert_true(*p == '\033');
                    text = ml_next_char(p, &n);
                }
                assert_true(text[8] == (strstr(p, "pass") == text + 10 ? '+' : '-'));
                assert_true(text[9] == ' ');
            }
        }
    ml_text_free(&now);
    ml_text_free(&d);
    ml_text_free(&t);
}

static void what_is_folded_parses_to_the_same_program(void **state)
{
    char name[512];
    size_t compared = 0;

    (void)state;
    for (size_t k = 0;; k++) {
        char *text = corpus_file(k, name);

        if (!text)
            break;
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text printed = {0}, t = {0};
        ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

        if (p.mod) {
            ml_print_module(cx, &printed, p.mod, NULL);
            for (int width = 30; width <= 100; width += 7) {
                const char *z = folded(&t, ml_text_z(&printed), width, ML_GOES_ON);
                ml_Parsed again = ml_parse(cx, ml_str(z), NULL);

                if (!again.mod || !ml_equal_module(cx, p.mod, again.mod, NULL, NULL))
                    fail_msg("%s at %d columns:\n%s", name, width, z);
                compared++;
            }
        }
        free(text);
        ml_text_free(&printed);
        ml_text_free(&t);
        ml_ctx_unref(cx);
    }
    assert_true(compared > 300);
}

/* ---- the line of an error and the marks below it */

static const char MARKED[] =
    "error: parallel: loop 宽 drives the reduction iter vé of block S\n"
    "   3 |     for outermost_loop, second_loop, 宽宽宽 in T.grid(8, 8, 4):\n"
    "     |                                      ^^^^^^ loop 宽宽宽\n"
    "   5 |             vé, vs = T.axis.remap(\"SR\", [outermost_loop, 宽宽宽])\n"
    "     |             ^^ spatial iter, bound to outermost_loop\n"
    "     |                 ^^ reduction iter, bound to 宽宽宽\n"
    "  rule   every block iter whose binding uses the loop must be spatial";

static const char *shown(ml_Text *t, const char *text, int width)
{
    ml_text_clear(t);
    ml_out_fold(&(ml_Out){.width = width, .folds = true}, text, t);
    return ml_text_z(t);
}

static void a_mark_stands_below_the_row_that_holds_what_it_marks(void **state)
{
    ml_Text t = {0};

    (void)state;
    assert_string_equal(shown(&t, MARKED, 90), MARKED);
    assert_string_equal(shown(&t, MARKED, 44),
                        "error: parallel: loop 宽 drives the\n"
                        "  reduction iter vé of block S\n"
                        "   3 |     for outermost_loop, second_loop,\n"
                        "     |       宽宽宽 in T.grid(8, 8, 4):\n"
                        "     |       ^^^^^^ loop 宽宽宽\n"
                        "   5 |             vé,\n"
                        "     |             ^^\n"
                        "     | spatial iter, bound to outermost_loop\n"
                        "     |               vs = T.axis.remap(\"SR\",\n"
                        "     |               ^^\n"
                        "     |       reduction iter, bound to 宽宽宽\n"
                        "     |               [outermost_loop,\n"
                        "     |               宽宽宽])\n"
                        "  rule   every block iter whose binding uses\n"
                        "         the loop must be spatial");
    assert_null(strstr(shown(&t, MARKED, 20), "  rule   every block i"));
    assert_true(widest(shown(&t, strchr(MARKED, '\n') + 1, 20)) <= 20);
    ml_text_free(&t);
}

/* What is no program is folded between words, whatever it begins with. */
static void a_row_that_begins_with_a_number_folds_between_words(void **state)
{
    ml_Text t = {0};

    (void)state;
    assert_string_equal(
        shown(&t, "  737 MFLOP/s, 0.3 % of the measured peak, 247 GFLOP/s", 40),
        "  737 MFLOP/s, 0.3 % of the measured\n"
        "    peak, 247 GFLOP/s");
    assert_string_equal(
        shown(&t, "                         0.3 % of the measured peak, 247 GFLOP/s", 40),
        "  0.3 % of the measured peak, 247\n"
        "  GFLOP/s");
    assert_string_equal(shown(&t, "error: /nowhere/of/such/a/rather/long/path.py:", 40),
                        "error:\n"
                        " /nowhere/of/such/a/rather/long/path.py:");
    ml_text_free(&t);
}

/* The text that the marks of the rows stand under, row after row, without blanks. */
static void marked_text(const char *z, ml_Text *code, ml_Text *marked)
{
    const char *row = NULL;
    size_t blanks = 0;

    ml_text_clear(code);
    ml_text_clear(marked);
    for (const char *end; *z; z = *end ? end + 1 : end) {
        end = z + strcspn(z, "\n");
        const char *p = z + 7;

        p += strspn(p, " ");
        blanks = (size_t)(p - z);
        p += ml_escape_length(p);
        if (*p != '^' || !row) {
            row = *p == '#' ? row : z; /* # begins what the label says */
            for (p = z + 7; *z && p < end && row == z; p++)
                if (*p != ' ')
                    ml_text_char(code, *p);
            continue;
        }
        size_t n = strspn(p, "^");
        const char *from = row + ml_columns_fit(row, blanks),
                   *to = row + ml_columns_fit(row, blanks + n);

        for (; from < to; from++)
            if (*from != ' ' && *from != '\n')
                ml_text_char(marked, *from);
    }
}

static void a_caret_stands_under_the_same_text_at_any_width(void **state)
{
    static const char CODE[] = "    for outermost, 宽宽宽 in T.grid(8, f(\"a string, with "
                               "blanks\", é), 宽[4], -5):";
    static const char *const WORDS[] = {
        "for",    "outermost", "宽宽宽", "T.grid(8", "f(\"a string, with blanks\", é)",
        "blanks", "é), 宽[4]", "-5):"};
    ml_Text in = {0}, t = {0}, code = {0}, marked = {0}, all = {0}, want = {0};

    (void)state;
    for (const char *p = CODE; *p; p++)
        if (*p != ' ')
            ml_text_char(&all, *p);
    for (size_t k = 0; k < 2 * ML_COUNT(WORDS); k++) {
        const char *word = WORDS[k / 2], *at = strstr(CODE, word);

        ml_text_clear(&in);
        ml_text_clear(&want);
        for (const char *p = word; *p; p++)
            if (*p != ' ')
                ml_text_char(&want, *p);
        ml_text_fmt(&in, "  12 | %s\n     | ", CODE);
        ml_text_repeat(&in, ' ', ml_columns_to(CODE, at));
        ml_text_add(&in, k % 2 ? "\033[1;31m" : "");
        ml_text_repeat(&in, '^', ml_columns(word));
        ml_text_add(&in, k % 2 ? " #loop\033[0m" : "");
        for (int width = 16; width < 110; width++) {
            marked_text(shown(&t, ml_text_z(&in), width), &code, &marked);
            assert_true(widest(ml_text_z(&t)) <= (size_t)width);
            assert_string_equal(ml_text_z(&marked), ml_text_z(&want));
            assert_string_equal(ml_text_z(&code), ml_text_z(&all));
        }
    }
    ml_text_free(&in);
    ml_text_free(&t);
    ml_text_free(&code);
    ml_text_free(&marked);
    ml_text_free(&all);
    ml_text_free(&want);
}

/* Bytes of any kind, screens of any width: nothing is lost but blanks. */
static void any_line_behind_a_bar_is_kept(void **state)
{
    static const char *const SOME[] = {
        "   3 | ", "     | ", "     |", "^",  "^^ x", "- 5",     "--",   " ",    "宽",
        "\n",      "\xff",    "(",      "\"", ", ",   "\033[0m", "aaaa", "  | ^"};
    ml_Text in = {0}, t = {0};
    unsigned seed = 1;

    (void)state;
    for (int k = 0; k < 20000; k++) {
        ml_text_clear(&in);
        for (int n = (int)(seed >> 8) % 30; n-- > 0;) {
            seed = seed * 1103515245u + 12345u;
            ml_text_add(&in, SOME[(seed >> 16) % ML_COUNT(SOME)]);
        }
        seed = seed * 1103515245u + 12345u;
        shown(&t, ml_text_z(&in), 1 + (int)(seed >> 16) % 60);
        int count[256] = {0};

        for (const char *p = ml_text_z(&in); *p; p++)
            count[(unsigned char)*p]++;
        for (const char *p = ml_text_z(&t); *p; p++)
            count[(unsigned char)*p]--;
        for (int c = 1; c < 256; c++) /* gutters, marks and colours may come more often */
            if (!strchr(" \n|^-\033[0m3", c))
                if (count[c])
                    fail_msg("%d of %c at %d: {%s} {%s}", count[c], c, k, ml_text_z(&in),
                             ml_text_z(&t));
    }
    ml_text_free(&in);
    ml_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_stand_between_tokens_and_outside_of_brackets),
        cmocka_unit_test(a_mark_stands_below_the_row_that_holds_what_it_marks),
        cmocka_unit_test(a_row_that_begins_with_a_number_folds_between_words),
        cmocka_unit_test(a_caret_stands_under_the_same_text_at_any_width),
        cmocka_unit_test(any_line_behind_a_bar_is_kept),
        cmocka_unit_test(every_row_of_a_diff_keeps_its_gutter),
        cmocka_unit_test(what_is_folded_parses_to_the_same_program),
    };

    return cmocka_run_group_tests_name("repl fold_code", tests, NULL, NULL);
}
