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
    ml_out_fold_code(&(ml_Out){.width = width, .height = 24}, text, mark, t);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_stand_between_tokens_and_outside_of_brackets),
        cmocka_unit_test(every_row_of_a_diff_keeps_its_gutter),
        cmocka_unit_test(what_is_folded_parses_to_the_same_program),
    };

    return cmocka_run_group_tests_name("repl fold_code", tests, NULL, NULL);
}
