/*
 * The cell grid: what stands where, with characters of no, one and two columns, boxes that
 * join, ASCII, and the looks of roles. Source: interaction 4, 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "repl/screen/grid.h"
#include "repl/screen/terminal.h"

static const ml_Rect ALL = {0, 0, 4096, 4096};

static void shows(const ml_Grid *g, const char *expected)
{
    ml_Text t = {0};

    ml_grid_text(g, &t);
    assert_string_equal(ml_text_z(&t), expected);
    ml_text_free(&t);
}

static void roles(const ml_Grid *g, const char *expected)
{
    ml_Text t = {0};

    ml_grid_roles(g, &t);
    assert_string_equal(ml_text_z(&t), expected);
    ml_text_free(&t);
}

/* The invariant: a tail stands behind a character of two columns and nowhere else. */
static void sound(const ml_Grid *g)
{
    for (int y = 0; y < g->h; y++)
        for (int x = 0; x < g->w; x++) {
            const ml_Cell *c = &g->cells[y * g->w + x];
            size_t bytes;
            int columns = ml_char_columns(c->z, strlen(c->z), &bytes);

            if (!c->z[0]) {
                assert_true(x > 0);
                assert_int_equal(ml_char_columns(c[-1].z, strlen(c[-1].z), &bytes), 2);
                continue;
            }
            assert_in_range(columns, 1, 2);
            assert_false((unsigned char)c->z[0] < 0x20 || c->z[0] == 0x7f);
            if (columns == 2) {
                assert_true(x + 1 < g->w);
                assert_int_equal(c[1].z[0], '\0');
            }
        }
}

static void text_is_put_cut_and_measured(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 8, 3, false);
    assert_int_equal(ml_grid_put(&g, ALL, 2, 0, "split", ML_ROLE_KEY), 5);
    assert_int_equal(ml_grid_put(&g, ALL, 5, 1, "reorder", ML_ROLE_OK), 7);
    assert_int_equal(ml_grid_put(&g, ALL, -2, 2, "abcd", ML_ROLE_TEXT), 4);
    ml_grid_put(&g, ALL, 0, 3, "below", ML_ROLE_TEXT);
    ml_grid_put(&g, ALL, 0, -1, "above", ML_ROLE_TEXT);
    shows(&g, "  split\n     reo\ncd\n");
    roles(&g, "  KKKKK\n     ooo\n..\n");
    sound(&g);
    ml_grid_free(&g);
}

static void a_cut_shows_three_dots(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 10, 4, false);
    ml_grid_put_cut(&g, (ml_Rect){1, 0, 5, 4}, 1, 0, "abcdefgh", ML_ROLE_TEXT);
    ml_grid_put_cut(&g, (ml_Rect){1, 0, 5, 4}, 1, 1, "abcde", ML_ROLE_TEXT);
    ml_grid_put_cut(&g, (ml_Rect){1, 0, 5, 4}, 1, 2, "a漢字漢", ML_ROLE_TEXT);
    ml_grid_put_cut(&g, (ml_Rect){1, 0, 5, 4}, 1, 3, "漢字漢", ML_ROLE_TEXT);
    shows(&g, " abcd…\n abcde\n a漢 …\n 漢字…\n");
    sound(&g);
    ml_grid_free(&g);
}

static void a_wide_character_has_a_tail(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 6, 1, false);
    assert_int_equal(ml_grid_put(&g, ALL, 0, 0, "a漢b", ML_ROLE_TEXT), 4);
    shows(&g, "a漢b\n");
    assert_string_equal(g.cells[1].z, "漢");
    assert_string_equal(g.cells[2].z, "");
    sound(&g);
    ml_grid_put(&g, ALL, 2, 0, "x", ML_ROLE_TEXT); /* over the tail */
    shows(&g, "a xb\n");
    ml_grid_put(&g, ALL, 1, 0, "漢", ML_ROLE_TEXT);
    ml_grid_put(&g, ALL, 1, 0, "y", ML_ROLE_TEXT); /* over the character */
    shows(&g, "ay b\n");
    ml_grid_put(&g, ALL, 2, 0, "漢", ML_ROLE_TEXT);
    ml_grid_put(&g, ALL, 1, 0, "字", ML_ROLE_TEXT); /* over its first half */
    shows(&g, "a字\n");
    sound(&g);
    ml_grid_free(&g);
}

static void a_wide_character_is_not_shown_in_part(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 4, 2, false);
    ml_grid_put(&g, ALL, 3, 0, "漢", ML_ROLE_MATCH);
    ml_grid_put(&g, ALL, -1, 1, "漢b", ML_ROLE_MATCH);
    shows(&g, "\n b\n");
    roles(&g, "   m\nmm\n");
    sound(&g);
    ml_grid_free(&g);
}

static void marks_join_the_character_before(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 4, 2, false);
    assert_int_equal(ml_grid_put(&g, ALL, 0, 0, "e\u0301x", ML_ROLE_TEXT), 2);
    shows(&g, "e\u0301x\n\n");
    assert_string_equal(g.cells[1].z, "x");
    /* with nothing before it, before the border, and more of them than a cell holds */
    ml_grid_put(&g, ALL, 0, 1, "\u0301a", ML_ROLE_TEXT);
    ml_grid_put(&g, ALL, 1, 1,
                "b\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
                ML_ROLE_TEXT);
    assert_string_equal(g.cells[4].z, "a");
    assert_int_equal(strlen(g.cells[5].z), 15);
    sound(&g);
    ml_grid_free(&g);
}

static void controls_and_bytes_that_are_no_text_are_visible(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 20, 2, false);
    assert_int_equal(ml_grid_put(&g, ALL, 0, 0, "a\x1b[2Jb\x7f\tc", ML_ROLE_TEXT), 12);
    assert_int_equal(
        ml_grid_put(&g, ALL, 0, 1, "\xff\xc0\xafz\xe6\xbc \xc2\x9b \u202e.", ML_ROLE_TEXT),
        11);
    shows(&g, "a^[[2Jb^?^Ic\n\ufffd\ufffd\ufffdz\ufffd\ufffd \ufffd \ufffd.\n");
    sound(&g);
    ml_grid_free(&g);
}

static void text_with_zero_bytes_is_shown_too(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 6, 1, false);
    assert_int_equal(ml_grid_put_n(&g, ALL, 0, 0, "a\0b", 3, ML_ROLE_TEXT), 4);
    shows(&g, "a^@b\n");
    ml_grid_free(&g);
}

static void boxes_join_where_they_meet(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 11, 5, false);
    ml_grid_box(&g, (ml_Rect){0, 0, 6, 3}, NULL, ML_ROLE_BORDER);
    ml_grid_box(&g, (ml_Rect){5, 0, 6, 3}, NULL, ML_ROLE_BORDER);
    ml_grid_box(&g, (ml_Rect){0, 2, 6, 3}, NULL, ML_ROLE_BORDER);
    ml_grid_box(&g, (ml_Rect){5, 2, 6, 3}, NULL, ML_ROLE_BORDER_IN);
    shows(&g, "┌────┬────┐\n"
              "│    │    │\n"
              "├────┼────┤\n"
              "│    │    │\n"
              "└────┴────┘\n");
    roles(&g, "-----------\n-    -    -\n-----======\n-    =    =\n-----======\n");
    ml_grid_hline(&g, 0, 1, 6, ML_ROLE_BORDER);
    ml_grid_vline(&g, 8, 2, 3, ML_ROLE_BORDER);
    shows(&g, "┌────┬────┐\n"
              "├────┤    │\n"
              "├────┼──┬─┤\n"
              "│    │  │ │\n"
              "└────┴──┴─┘\n");
    ml_grid_free(&g);
}

static void lines_do_not_join_text_that_looks_like_one(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 3, 1, false);
    ml_grid_put(&g, ALL, 0, 0, "│││", ML_ROLE_TEXT);
    ml_grid_hline(&g, 0, 0, 3, ML_ROLE_BORDER);
    shows(&g, "───\n");
    ml_grid_free(&g);
}

static void a_title_stands_in_the_border_and_is_cut_to_it(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 12, 6, false);
    ml_grid_box(&g, (ml_Rect){0, 0, 12, 2}, "1 Loops", ML_ROLE_BORDER);
    ml_grid_box(&g, (ml_Rect){0, 2, 12, 2}, "2 Program of all", ML_ROLE_BORDER_IN);
    ml_grid_box(&g, (ml_Rect){0, 4, 6, 2}, "2 Program", ML_ROLE_BORDER);
    shows(&g, "┌─ 1 Loops ┐\n└──────────┘\n┌─ 2 Prog… ┐\n└──────────┘\n┌────┐\n└────┘\n");
    ml_grid_free(&g);
}

static void without_unicode_all_is_ascii(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 24, 5, true);
    ml_grid_box(&g, (ml_Rect){0, 0, 6, 3}, NULL, ML_ROLE_BORDER);
    ml_grid_box(&g, (ml_Rect){5, 0, 6, 3}, NULL, ML_ROLE_BORDER);
    ml_grid_put(&g, ALL, 0, 3, "▾ i ▸ j ■ C ● 4 × 4 ✓", ML_ROLE_TEXT);
    ml_grid_put_cut(&g, (ml_Rect){0, 4, 8, 1}, 0, 4, "漢 ≤ é e\u0301x", ML_ROLE_TEXT);
    shows(&g, "+----+----+\n"
              "|    |    |\n"
              "+----+----+\n"
              "v i > j * C o 4 x 4 ok\n"
              "? <= ? ~\n");
    assert_int_equal(ml_grid_columns(&g, "x ≤ 漢", strlen("x ≤ 漢")), 6);
    assert_int_equal(ml_text_columns("x ≤ 漢", strlen("x ≤ 漢")), 6);
    assert_int_equal(ml_grid_columns(&g, "✓", strlen("✓")), 2);
    ml_grid_free(&g);
}

static void a_grid_of_one_cell_takes_everything(void **state)
{
    ml_Grid g;

    ml_grid_init(&g, 0, -3, false);
    assert_int_equal(g.w, 1);
    assert_int_equal(g.h, 1);
    ml_grid_box(&g, (ml_Rect){0, 0, 1, 1}, "title", ML_ROLE_BORDER);
    ml_grid_box(&g, (ml_Rect){-5, -5, 100, 100}, "title", ML_ROLE_BORDER);
    ml_grid_put(&g, ALL, 0, 0, "漢", ML_ROLE_TEXT);
    shows(&g, "\n");
    ml_grid_put_cut(&g, ALL, 0, 0, "long", ML_ROLE_TEXT);
    shows(&g, "…\n");
    ml_grid_fill(&g, (ml_Rect){0, 0, 0, 0}, ML_ROLE_ERROR);
    ml_grid_fill(&g, (ml_Rect){INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}, ML_ROLE_ERROR);
    ml_grid_hline(&g, INT32_MIN + 1, 0, INT32_MAX, ML_ROLE_BORDER);
    shows(&g, "…\n");
    sound(&g);
    ml_grid_free(&g);
}

static void random_drawing_keeps_cells_whole(void **state)
{
    static const char *const WORDS[] = {
        "漢字かな", "e\u0301\u0301", "plain",   "\x1b\xff\t",
        "🙂🙂", "\u0301",        "a漢b字c", "─│┼"};
    uint64_t r = 12345;

    for (int k = 0; k < 300; k++) {
        ml_Grid g;

        r = r * 6364136223846793005u + 1442695040888963407u;
        ml_grid_init(&g, 1 + (int)(r >> 40 & 31), 1 + (int)(r >> 50 & 7), r >> 60 & 1);
        for (int n = 0; n < 200; n++) {
            r = r * 6364136223846793005u + 1442695040888963407u;
            int x = (int)(r >> 33 & 63) - 16, y = (int)(r >> 40 & 15) - 4;
            int w = (int)(r >> 45 & 31), h = (int)(r >> 50 & 7);
            ml_Rect in = {x, y, w, h};
            const char *word = WORDS[r >> 61];

            switch (r >> 56 & 3) {
            case 0: ml_grid_put(&g, in, x - 2, y + 1, word, ML_ROLE_KEY); break;
            case 1: ml_grid_put_cut(&g, in, x, y, word, ML_ROLE_OK); break;
            case 2: ml_grid_box(&g, in, word, ML_ROLE_BORDER); break;
            case 3: ml_grid_fill(&g, in, ML_ROLE_TEXT); break;
            }
        }
        sound(&g);
        ml_grid_free(&g);
    }
}

/* ---- looks */

static void each_theme_tells_roles_apart_without_colours(void **state)
{
    static const ml_CellRole APART[] = {ML_ROLE_TEXT, ML_ROLE_CURSOR, ML_ROLE_STRONG,
                                        ML_ROLE_ERROR};

    for (size_t k = 0; ml_theme_name(k); k++) {
        ml_Theme t;

        assert_true(ml_theme_init(&t, ml_theme_name(k), ML_DEPTH_NONE));
        for (int role = 0; role < ML_N_ROLES; role++) {
            assert_int_equal(t.look[role].fg, ML_COLOR_DEFAULT);
            assert_int_equal(t.look[role].bg, ML_COLOR_DEFAULT);
        }
        for (size_t a = 0; a < ML_COUNT(APART); a++)
            for (size_t b = a + 1; b < ML_COUNT(APART); b++)
                assert_int_not_equal(t.look[APART[a]].attr, t.look[APART[b]].attr);
    }
}

/* Words may be: a vectorized loop, a name that was marked. */
static void what_covers_rows_is_never_underlined(void **state)
{
    static const ml_CellRole WORDS[] = {ML_ROLE_LOOP_VECTOR, ML_ROLE_LOOP_UNROLL,
                                        ML_ROLE_MARK2,       ML_ROLE_MARK3,
                                        ML_ROLE_MARK5,       ML_ROLE_MARK7};

    (void)state;
    for (size_t k = 0; ml_theme_name(k); k++)
        for (ml_Depth depth = ML_DEPTH_NONE; depth <= ML_DEPTH_TRUE; depth++) {
            ml_Theme t;

            ml_theme_init(&t, ml_theme_name(k), depth);
            for (ml_CellRole role = 0; role < ML_N_ROLES; role++) {
                bool word = false;

                for (size_t n = 0; n < ML_COUNT(WORDS); n++)
                    word = word || WORDS[n] == role;
                if (!word && t.look[role].attr & ML_ATTR_UNDERLINE)
                    fail_msg("%s, %d colours: role %d", ml_theme_name(k), (int)depth,
                             (int)role);
            }
            assert_false(ml_theme_look(&t, ML_ROLE_TEXT, ML_ATTR_ON_LINKED).attr &
                         (ML_ATTR_UNDERLINE | ML_ATTR_REVERSE));
        }
}

static int lightness(int32_t rgb)
{
    return (299 * (rgb >> 16 & 255) + 587 * (rgb >> 8 & 255) + 114 * (rgb & 255)) / 1000;
}

static void added_and_taken_lines_differ_without_red_and_green(void **state)
{
    ml_Theme t;

    ml_theme_init(&t, "default", ML_DEPTH_TRUE);
    /* what an eye without one of the two has left: blue, and lightness */
    int32_t add = t.look[ML_ROLE_DIFF_ADD].fg, del = t.look[ML_ROLE_DIFF_DEL].fg;

    assert_true(abs((add & 255) - (del & 255)) > 100);
    assert_true(lightness(t.look[ML_ROLE_LOOP_PARALLEL].fg) >
                lightness(t.look[ML_ROLE_LOOP_VECTOR].fg) + 40);
    assert_true(lightness(t.look[ML_ROLE_LOOP_VECTOR].fg) >
                lightness(t.look[ML_ROLE_DIM].fg) + 15);
}

static void sgr(const ml_Theme *t, ml_CellRole role, int attr, ml_Text *out)
{
    ml_look_add(ml_ansi(), t->depth, NULL, ml_theme_look(t, role, attr), out);
}

static void colours_are_rounded_to_what_there_is(void **state)
{
    ml_Theme t;
    ml_Text s = {0};

    ml_theme_init(&t, "default", ML_DEPTH_TRUE);
    sgr(&t, ML_ROLE_DIFF_ADD, 0, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[0;38;2;86;180;233m");
    ml_theme_init(&t, "default", ML_DEPTH_256);
    ml_text_clear(&s);
    sgr(&t, ML_ROLE_DIFF_ADD, ML_ATTR_BOLD, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[0;1;38;5;74m");
    ml_theme_init(&t, "default", ML_DEPTH_16);
    ml_text_clear(&s);
    sgr(&t, ML_ROLE_DIFF_ADD, 0, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[0;96m");
    ml_theme_init(&t, "default", ML_DEPTH_8);
    ml_text_clear(&s);
    sgr(&t, ML_ROLE_DIFF_ADD, 0, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[0;36m");
    ml_text_clear(&s);
    sgr(&t, ML_ROLE_DIM, 0, &s); /* grey is not among the eight */
    assert_string_equal(ml_text_z(&s), "\x1b[0;2m");
    ml_theme_init(&t, "default", ML_DEPTH_NONE);
    ml_text_clear(&s);
    sgr(&t, ML_ROLE_DIFF_ADD, ML_ATTR_ON_CURSOR, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[0;1;7m");
    ml_text_free(&s);
}

static void an_unknown_theme_is_the_usual_one(void **state)
{
    ml_Theme t;

    assert_false(ml_theme_init(&t, "sunset", ML_DEPTH_16));
    assert_string_equal(t.name, "default");
    assert_true(ml_theme_init(&t, "", ML_DEPTH_16));
    assert_true(ml_theme_init(&t, "mono", ML_DEPTH_TRUE));
    assert_int_equal(t.depth, ML_DEPTH_NONE);
}

static void one_role_can_look_otherwise(void **state)
{
    ml_Theme t;
    ml_Text why = {0}, s = {0};

    ml_theme_init(&t, "light", ML_DEPTH_16);
    assert_true(ml_theme_set(&t, "loop.parallel", "bold #ff0000 on blue", &why));
    sgr(&t, ML_ROLE_LOOP_PARALLEL, 0, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[0;1;91;44m");
    assert_true(ml_theme_set(&t, "loop.parallel", "", &why));
    assert_int_equal(why.n, 0);
    assert_false(ml_theme_set(&t, "loops", "bold", &why));
    assert_non_null(
        strstr(ml_text_z(&why), "no role is called loops; there are text, dim"));
    ml_text_clear(&why);
    assert_false(ml_theme_set(&t, "loop.parallel", "bald", &why));
    assert_non_null(strstr(ml_text_z(&why), "bald is no colour"));
    assert_false(ml_theme_set(&t, "loop.parallel", "#12345g", &why));
    ml_text_free(&why);
    ml_text_free(&s);
}

static void a_terminal_says_what_colours_it_has(void **state)
{
    static const struct {
        const char *term, *more, *none;
        int colors;
        ml_Depth depth;
    } CASES[] = {
        {"xterm-256color", "", "", 256, ML_DEPTH_256},
        {"xterm-256color", "truecolor", "", 256, ML_DEPTH_TRUE},
        {"tmux-256color", "", "1", 256, ML_DEPTH_NONE},
        {"vt100", "truecolor", "", -1, ML_DEPTH_NONE},
        {"screen", "", "", 8, ML_DEPTH_8},
        {"xterm-16color", "", "", 16, ML_DEPTH_16},
        {"dumb", "", "", -1, ML_DEPTH_NONE},
        {"linux", "", "", 8, ML_DEPTH_8},
    };

    for (size_t k = 0; k < ML_COUNT(CASES); k++) {
        setenv("TERM", CASES[k].term, 1);
        setenv("COLORTERM", CASES[k].more, 1);
        setenv("NO_COLOR", CASES[k].none, 1);
        assert_int_equal(ml_theme_depth(CASES[k].colors), CASES[k].depth);
    }
}

static void sequences_are_filled_in_and_known_again(void **state)
{
    ml_Terminal old = *ml_ansi();
    ml_Text s = {0};
    size_t columns = 0;

    ml_terminal_add(ml_ansi(), ML_CAP_GO, 4, 11, &s);
    assert_string_equal(ml_text_z(&s), "\x1b[5;12H");
    assert_int_equal(ml_escape_length(ml_text_z(&s)), s.n);
    assert_int_equal(ml_escape_look(ml_text_z(&s)), 0);
    ml_text_clear(&s);
    old.cap[ML_CAP_GO] = "\x1bY%p1%' '%+%c%p2%' '%+%c"; /* as a VT52 has it */
    ml_terminal_add(&old, ML_CAP_GO, 4, 11, &s);
    assert_string_equal(ml_text_z(&s), "\x1bY$+");
    ml_text_free(&s);
    assert_int_equal(ml_escape_look("\x1b[1;32mx"), 7);
    assert_int_equal(ml_escape_length("\x1b]0;title\x1b\\x"), 11);
    assert_int_equal(ml_escape_length("\x1b[1"), 3); /* to the end of the text */
    assert_int_equal(ml_escape_length("x"), 0);
    assert_string_equal(ml_next_char("\x1b[1mx", &columns), "x");
    assert_int_equal(columns, 0);
    assert_int_equal(ml_columns("\x1b[1m漢 e\xcc\x81\x1b[0m"), 4);
    assert_int_equal(ml_columns_fit("a漢b", 2), 1);
    assert_string_equal(ml_style(true, ML_STYLE_ERROR), "\x1b[1;31m");
    assert_string_equal(ml_style(false, ML_STYLE_ERROR), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_put_cut_and_measured),
        cmocka_unit_test(a_cut_shows_three_dots),
        cmocka_unit_test(a_wide_character_has_a_tail),
        cmocka_unit_test(a_wide_character_is_not_shown_in_part),
        cmocka_unit_test(marks_join_the_character_before),
        cmocka_unit_test(controls_and_bytes_that_are_no_text_are_visible),
        cmocka_unit_test(text_with_zero_bytes_is_shown_too),
        cmocka_unit_test(boxes_join_where_they_meet),
        cmocka_unit_test(lines_do_not_join_text_that_looks_like_one),
        cmocka_unit_test(a_title_stands_in_the_border_and_is_cut_to_it),
        cmocka_unit_test(without_unicode_all_is_ascii),
        cmocka_unit_test(a_grid_of_one_cell_takes_everything),
        cmocka_unit_test(random_drawing_keeps_cells_whole),
        cmocka_unit_test(each_theme_tells_roles_apart_without_colours),
        cmocka_unit_test(what_covers_rows_is_never_underlined),
        cmocka_unit_test(added_and_taken_lines_differ_without_red_and_green),
        cmocka_unit_test(colours_are_rounded_to_what_there_is),
        cmocka_unit_test(an_unknown_theme_is_the_usual_one),
        cmocka_unit_test(one_role_can_look_otherwise),
        cmocka_unit_test(a_terminal_says_what_colours_it_has),
        cmocka_unit_test(sequences_are_filled_in_and_known_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
