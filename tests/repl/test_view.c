/*
 * The visualiser's frame, driven without a terminal: requests, keys, clicks and sizes, and
 * what the grid shows then. Source: interaction 10.
 */
#include "repl/view_fixture.h"

#include <stdio.h>
#include <unistd.h>

static int start_empty(void **state)
{
    return start_with(state, NULL, 80, 24);
}

/* Row y of the screen. */
static const char *row(Fixture *f, int y)
{
    char *p = (char *)(uintptr_t)screen(f);

    while (y-- > 0)
        p = strchr(p, '\n') + 1;
    *strchr(p, '\n') = '\0';
    return p;
}

static void shows(Fixture *f, const char *text)
{
    if (!strstr(screen(f), text))
        fail_msg("the screen does not show %s:\n%s", text, ml_text_z(&f->screen));
}

static void hides(Fixture *f, const char *text)
{
    if (strstr(screen(f), text))
        fail_msg("the screen shows %s:\n%s", text, ml_text_z(&f->screen));
}

static const char *selected(Fixture *f)
{
    return ml_name_of(f->ss.focus, f->v.node);
}

/* Where a text stands. */
static void find(Fixture *f, const char *text, int *x, int *y)
{
    const char *p = screen(f), *at = strstr(p, text), *line = p;

    if (!at)
        fail_msg("the screen does not show %s:\n%s", text, p);
    *y = 0;
    for (const char *q = p; q < at; q++)
        if (*q == '\n') {
            ++*y;
            line = q + 1;
        }
    *x = ml_text_columns(line, (size_t)(at - line));
}

/* ---- what is shown */

static void four_panes_show_at_80_by_24_as_large_as_what_they_show(void **state)
{
    Fixture *f = *state;

    assert_string_equal(
        row(f, 1),
        "┌─ 1 Loops ──────────────────┬─ 2 Program ─────────────────────────────────────┐");
    assert_string_equal(
        row(f, 12),
        "├─ 3 Block i ────────────────┤                                                 │");
    assert_string_equal(
        row(f, 15),
        "│                            ├─ 5 Steps ───────────────────────────────────────┤");
    assert_string_equal(
        row(f, 20),
        "└────────────────────────────┴─────────────────────────────────────────────────┘");
    assert_true(strncmp(row(f, 0), " matmul v0 ", 11) == 0);
    assert_non_null(strstr(row(f, 23), "s·split"));
    assert_non_null(strstr(row(f, 23), "?·help"));
}

static void six_panes_show_from_120_by_36_on(void **state)
{
    Fixture *f = *state;

    ml_view_resize(&f->v, 120, 36);
    shows(f, "1 Loops");
    shows(f, "2 Program");
    shows(f, "3 Block");
    shows(f, "4 Dataflow");
    shows(f, "5 Steps");
    shows(f, "6 Performance");
    ml_view_resize(&f->v, 119, 36);
    hides(f, "4 Dataflow");
}

static void one_pane_at_a_time_shows_under_80_by_24(void **state)
{
    Fixture *f = *state;

    ml_view_resize(&f->v, 79, 24);
    shows(f, "1 Loops");
    hides(f, "2 Program");
    press(f, "2");
    shows(f, "2 Program");
    hides(f, "1 Loops");
    ml_view_resize(&f->v, 40, 10);
    shows(f, "2 Program");
    ml_view_resize(&f->v, 39, 10);
    shows(f, "39x10 is too small: the panes need");
    hides(f, "2 Program");
    ml_view_resize(&f->v, 1, 1);
    assert_string_equal(screen(f), "…\n");
    ml_view_resize(&f->v, 80, 24);
    shows(f, "1 Loops");
}

static void without_a_program_the_screen_says_what_to_do(void **state)
{
    Fixture *f = *state;

    shows(f, "no program is open");
    shows(f, ":·open a program");
    press(f, "s f j k enter left right tab 3 4 5 6 7 8 1 / x enter n u C-r");
    screen(f);
    press(f, "s");
    shows(f, "no program is open");
}

static void without_unicode_the_screen_is_ascii(void **state)
{
    Fixture *f = *state;

    f->v.grid.ascii = true;
    press(f, "s");
    type(f, "4,auto");
    for (const char *p = screen(f); *p; p++)
        if ((unsigned char)*p >= 0x80)
            fail_msg("not ASCII:\n%s", p);
    shows(f, "+- 1 Loops");
    shows(f, "v i");
}

/* ---- moving, selecting */

static void the_selection_is_shared_by_all_panes(void **state)
{
    Fixture *f = *state;

    assert_string_equal(selected(f), "i");
    press(f, "j j");
    assert_string_equal(selected(f), "k");
    shows(f, "3 Block k");
    press(f, "down");
    assert_string_equal(selected(f), "C");
    press(f, "down down down"); /* there is none below */
    assert_string_equal(selected(f), "C");
    press(f, "home");
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].cursor, 0);
    press(f, "end 2");
    assert_int_equal(f->v.in, ML_PANE_PROGRAM);
    assert_int_equal(ml_view_row(&f->v, ML_PANE_PROGRAM)->node, f->v.node);
    press(f, "home");
    press(f, "down down 1");
    assert_int_equal(ml_view_row(&f->v, ML_PANE_LOOPS)->node, f->v.node);
}

static void folding_hides_rows_and_going_left_again_finds_the_parent(void **state)
{
    Fixture *f = *state;

    press(f, "j");
    assert_string_equal(selected(f), "j");
    press(f, "left");
    shows(f, "▸ j");
    hides(f, "▾ k");
    press(f, "right");
    shows(f, "▾ j");
    press(f, "right");
    assert_string_equal(selected(f), "k");
    press(f, "down left");
    assert_string_equal(selected(f), "k");
    press(f, "enter");
    shows(f, "▸ k");
    press(f, "enter");
    shows(f, "▾ k");
}

static void a_step_leaves_the_selection_on_what_the_node_became(void **state)
{
    Fixture *f = *state;

    press(f, "j s");
    type(f, "4, 8, auto");
    shows(f, "✓ makes j_0[4] j_1[8] j_2[4]");
    assert_int_equal(ml_schedule_version(f->ss.focus), 0); /* tried, not done */
    press(f, "enter");
    assert_int_equal(ml_schedule_version(f->ss.focus), 1);
    assert_string_equal(selected(f), "j_0");
    shows(f, "lua  split(\"j\", {4, 8, auto})");
    press(f, "j");
    assert_string_equal(selected(f), "j_1");
    press(f, "u");
    assert_string_equal(selected(f), "j");
    press(f, "C-r");
    assert_string_equal(selected(f), "j_0");
}

static void three_f_fuses_three_loops_and_three_alone_is_a_pane(void **state)
{
    Fixture *f = *state;

    press(f, "3");
    assert_int_equal(f->v.in, ML_PANE_BLOCK);
    press(f, "1 3 f");
    assert_int_equal(f->v.in, ML_PANE_LOOPS);
    assert_int_equal(ml_schedule_version(f->ss.focus), 1);
    shows(f, "fuse(\"i\", \"j\", \"k\")");
}

static void a_request_that_does_not_apply_says_why_and_changes_nothing(void **state)
{
    Fixture *f = *state;

    press(f, "end s"); /* a block */
    shows(f, "works on a loop");
    assert_int_equal(ml_schedule_n_versions(f->ss.focus), 1);
    press(f, "Z");
    shows(f, "Z asks for nothing; ? shows the keys");
    press(f, "2 |");
    shows(f, "| works in pane 1 Loops");
}

static void escape_leaves_no_trace(void **state)
{
    Fixture *f = *state;

    press(f, "s");
    type(f, "4,32");
    press(f, "esc");
    assert_int_equal(ml_schedule_n_versions(f->ss.focus), 1);
    hides(f, "split i");
    assert_false(ml_act_open(&f->v));
}

/* ---- panes */

static void numbers_show_hidden_panes_and_tab_walks_through_those_in_sight(void **state)
{
    Fixture *f = *state;

    press(f, "4");
    shows(f, "4 Dataflow");
    hides(f, "3 Block");
    press(f, "3");
    shows(f, "3 Block");
    hides(f, "4 Dataflow");
    press(f, "1 tab");
    assert_int_equal(f->v.in, ML_PANE_PROGRAM);
    press(f, "tab"); /* in pane 2: the next level */
    assert_int_equal(f->v.in, ML_PANE_PROGRAM);
    assert_int_equal(f->v.level, ML_LEVEL_LOWERED);
    press(f, "S-tab");
    assert_int_equal(f->v.in, ML_PANE_LOOPS);
    press(f, "S-tab");
    assert_int_equal(f->v.in, ML_PANE_STEPS);
    press(f, "9");
    shows(f, "pane 9 comes with a later version");
}

static void alt_and_a_number_shows_or_hides_a_pane(void **state)
{
    Fixture *f = *state;

    press(f, "M-5 M-3");
    hides(f, "5 Steps");
    hides(f, "3 Block");
    press(f, "M-4");
    shows(f, "4 Dataflow");
    press(f, "M-4 M-1");
    hides(f, "1 Loops");
    assert_int_equal(f->v.in, ML_PANE_PROGRAM);
    press(f, "M-2");
    shows(f, "this is the only pane that is shown");
    press(f, "0");
    shows(f, "1 Loops");
    shows(f, "5 Steps");
}

static void z_shows_one_pane_alone_and_goes_back(void **state)
{
    Fixture *f = *state;

    press(f, "5 z");
    hides(f, "1 Loops");
    shows(f, "5 Steps (z)");
    press(f, "z");
    shows(f, "1 Loops");
}

static void panes_grow_shrink_and_return(void **state)
{
    Fixture *f = *state;
    int w = f->v.pane[ML_PANE_LOOPS].at.w, h = f->v.pane[ML_PANE_LOOPS].at.h;

    press(f, "+ + +");
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.w, w + 6);
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.h, h + 3);
    press(f, "-");
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.w, w + 4);
    press(f, "0");
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.w, w);
    for (int k = 0; k < 100; k++)
        press(f, "-");
    assert_true(f->v.pane[ML_PANE_LOOPS].at.w >= 10);
    assert_true(f->v.pane[ML_PANE_LOOPS].at.h >= 1);
    screen(f);
}

static void layouts_are_kept_as_text_and_nonsense_is_passed_over(void **state)
{
    ml_Layout a[ML_N_SIZES], b[ML_N_SIZES];
    ml_Text t = {0}, u = {0};

    for (int s = 0; s < ML_N_SIZES; s++) {
        ml_layout_usual(&a[s], (ml_SizeClass)s);
        ml_layout_usual(&b[s], (ml_SizeClass)s);
    }
    ml_layout_toggle(&a[ML_SIZE_FOUR], ML_PANE_JOBS);
    ml_layout_toggle(&a[ML_SIZE_SIX], ML_PANE_STEPS);
    ml_layout_write(a, &t);
    ml_layout_read(b, ml_text_z(&t));
    ml_layout_write(b, &u);
    assert_string_equal(ml_text_z(&t), ml_text_z(&u));
    ml_layout_read(b, "four 1:2\nfour 9:9:9\nfour 1:1:0 77=1:1\nfour x\nsix 1:1:0 1=9:1\n"
                      "four 99999:1:1 1=1:1\nfive 1:1:1 1=1:1\n\xff\xfe\nfour 1:1:0 1=1:0");
    ml_text_clear(&u);
    ml_layout_write(b, &u);
    assert_string_equal(ml_text_z(&t), ml_text_z(&u));
    ml_text_free(&t);
    ml_text_free(&u);
}

/* ---- search */

static void searching_finds_names_and_extents_also_below_folds(void **state)
{
    Fixture *f = *state;

    press(f, "/");
    type(f, "c");
    press(f, "enter");
    assert_string_equal(selected(f), "C");
    press(f, "home j left"); /* folds i */
    shows(f, "▸ i");
    press(f, "/");
    type(f, "k");
    press(f, "enter");
    assert_string_equal(selected(f), "k");
    shows(f, "▾ i");
    press(f, "/");
    type(f, "nowhere");
    press(f, "enter");
    shows(f, "nowhere is not in pane 1 Loops");
    press(f, "home j s");
    type(f, "2,auto");
    press(f, "enter home /");
    type(f, "<100");
    press(f, "enter");
    assert_string_equal(selected(f), "i_0");
    press(f, "n");
    assert_string_equal(selected(f), "i_1");
    press(f, "n");
    assert_string_equal(selected(f), "i_0");
    shows(f, "search went around the end");
    press(f, "N");
    assert_string_equal(selected(f), "i_1");
}

/* ---- mouse */

static void clicks_select_fold_and_press_keys_of_the_bottom_line(void **state)
{
    Fixture *f = *state;
    int x, y;

    find(f, "▾ k", &x, &y);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y);
    ml_view_mouse(&f->v, ML_EVENT_RELEASE, x, y);
    assert_string_equal(selected(f), "k");
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y);
    ml_view_mouse(&f->v, ML_EVENT_RELEASE, x, y);
    ml_view_double(&f->v, x, y);
    shows(f, "▸ k");
    find(f, "s·split", &x, &y);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x + 3, y);
    shows(f, "split k[128] into:");
    find(f, "esc·leave", &x, &y);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y);
    hides(f, "split k[128] into:");
}

static void dragging_a_border_resizes_and_dragging_a_loop_moves_it(void **state)
{
    Fixture *f = *state;
    int w = f->v.pane[ML_PANE_LOOPS].at.w, h = f->v.pane[ML_PANE_LOOPS].at.h, x, y, x2, y2;

    ml_view_mouse(&f->v, ML_EVENT_PRESS, w + 1, 5);
    ml_view_mouse(&f->v, ML_EVENT_DRAG, w + 7, 9);
    ml_view_mouse(&f->v, ML_EVENT_RELEASE, w + 9, 9);
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.w, w + 8);
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.h, h);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, 5, h + 2);
    ml_view_mouse(&f->v, ML_EVENT_RELEASE, 5, h - 2);
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].at.h, h - 4);

    find(f, "▾ i", &x, &y);
    find(f, "▾ j", &x2, &y2);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y);
    ml_view_mouse(&f->v, ML_EVENT_DRAG, x2, y2);
    screen(f);
    ml_view_mouse(&f->v, ML_EVENT_RELEASE, x2, y2);
    assert_int_equal(ml_schedule_version(f->ss.focus), 1);
    shows(f, "reorder(");
}

static void the_wheel_scrolls_the_pane_under_the_pointer_and_not_the_cursor(void **state)
{
    Fixture *f = *state;

    press(f, "? esc 2 z 0");
    ml_view_resize(&f->v, 80, 24);
    for (int k = 0; k < 6; k++) {
        press(f, "1 s");
        type(f, "2,auto");
        press(f, "enter j");
    }
    screen(f);
    ml_Rect at = f->v.pane[ML_PANE_PROGRAM].at;
    int cursor = f->v.pane[ML_PANE_LOOPS].cursor;

    ml_view_mouse(&f->v, ML_EVENT_WHEEL_DOWN, at.x + 2, at.y + 2);
    screen(f);
    assert_int_equal(f->v.pane[ML_PANE_PROGRAM].top,
                     (int)f->v.pane[ML_PANE_PROGRAM].rows.v.n > at.h + 3 ? 3
                     : (int)f->v.pane[ML_PANE_PROGRAM].rows.v.n > at.h
                         ? (int)f->v.pane[ML_PANE_PROGRAM].rows.v.n - at.h
                         : 0);
    assert_int_equal(f->v.pane[ML_PANE_LOOPS].cursor, cursor);
    assert_int_equal(f->v.in, ML_PANE_LOOPS);
}

static void a_second_click_on_a_name_marks_all_its_occurrences(void **state)
{
    Fixture *f = *state;
    int x, y;

    find(f, "vi, vj, vk", &x, &y);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y); /* in vi */
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y);
    assert_non_null(f->v.marked[0]);
    ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y);
    assert_null(f->v.marked[0]);
    press(f, "*");
    assert_non_null(f->v.marked[0]);
    press(f, "esc");
    assert_null(f->v.marked[0]);
}

/* ---- help, keys */

/* The cells of row y, from column x on, that look so without colours. */
static int without_colours(Fixture *f, int attr, int x, int y)
{
    ml_Theme t;
    int n = 0;

    ml_theme_init(&t, "mono", ML_DEPTH_256);
    for (; x < f->v.grid.w; x++) {
        const ml_Cell *c = ml_grid_at(&f->v.grid, x, y);

        n += (ml_theme_look(&t, c->role, c->attr).attr & attr) == attr;
    }
    return n;
}

static void
without_colours_cursor_and_selection_show_and_no_region_is_underlined(void **state)
{
    Fixture *f = *state;
    int x, y, px, py;

    screen(f);
    find(f, "▾ i ", &x, &y);
    find(f, "for i, j, k", &px, &py);
    for (int row = 0; row < f->v.grid.h; row++)
        assert_int_equal(without_colours(f, ML_ATTR_UNDERLINE, 0, row), 0);
    assert_true(without_colours(f, ML_ATTR_REVERSE, 0, y) > 20);
    assert_int_equal(without_colours(f, ML_ATTR_REVERSE, px, py), 0);
    shows(f, "▏8       C[vi, vj]"); /* the rows of the selection have a mark */
    press(f, "2");
    screen(f);
    assert_int_equal(without_colours(f, ML_ATTR_REVERSE, 0, y), 0);
    assert_true(without_colours(f, ML_ATTR_BOLD, 0, y) > 20);
}

static void help_lists_every_request_with_its_keys(void **state)
{
    Fixture *f = *state;
    ml_Text all = {0};

    press(f, "?");
    shows(f, "─ Help ");
    for (size_t k = 0; k < f->v.page.v.n; k++)
        ml_text_fmt(&all, "%s\n", f->v.page.v.v[k].text);
    for (int r = 0; r < ML_N_REQUESTS; r++)
        if (!strstr(ml_text_z(&all), ml_key_info[r].help))
            fail_msg("help does not tell of %s", ml_key_info[r].name);
    ml_text_free(&all);
    press(f, "pgdn end");
    shows(f, "bind_key");
    press(f, "esc");
    hides(f, "─ Help ");
}

static void with_a_page(Fixture *f)
{
    press(f, "esc :");
    type(f, "buffers");
    press(f, "enter");
    assert_true(f->v.paging);
    shows(f, "esc·close");
}

static void a_page_takes_no_key_that_means_something_in_the_panes(void **state)
{
    static const struct {
        const char *key, *line;
    } RUN[] = {{"t", ":time --background"}, {"=", ":check --background"}, {"u", ":undo"}};
    Fixture *f = *state;

    for (size_t k = 0; k < ML_COUNT(RUN); k++) {
        with_a_page(f);
        press(f, RUN[k].key);
        assert_false(f->v.paging);
        assert_string_equal(ml_text_z(&f->v.lua), RUN[k].line);
    }
    with_a_page(f);
    press(f, ":"); /* and what is typed from there on arrives */
    type(f, "mark here");
    press(f, "enter");
    assert_int_equal(ml_schedule_find_mark(f->ss.focus, "here"), 0);
    with_a_page(f);
    press(f, "/");
    assert_true(f->v.asking);
    press(f, "esc");
    with_a_page(f);
    press(f, "2 *"); /* of one pane only */
    assert_non_null(f->v.marked[0]);
    with_a_page(f);
    press(f, "?"); /* help in its place, which the same key closes */
    shows(f, "─ Help ");
    press(f, "h");
    assert_false(f->v.paging);
    with_a_page(f);
    press(f, "q");
    assert_false(f->v.paging);
    assert_false(f->v.quit);
    press(f, "? q"); /* who ends reading stays in the panes */
    assert_false(f->v.paging);
    assert_false(f->v.quit);
    press(f, "q");
    assert_true(f->v.quit);
}

static void a_page_is_scrolled_and_says_what_closes_it(void **state)
{
    Fixture *f = *state;

    press(f, "?");
    shows(f, "pgup·back pgdn·on esc·close  other keys do what they do in the panes");
    press(f, "down down up pgdn");
    assert_true(f->v.paging && f->v.page_top > 10);
    press(f, "~"); /* nothing anywhere */
    assert_true(f->v.paging);
    shows(f, "Esc closes this page");
    press(f, "home");
    hides(f, "Esc closes this page");
    press(f, "enter");
    assert_false(f->v.paging);
    ml_view_resize(&f->v, 40, 10);
    press(f, "?");
    shows(f, "esc·close others work");
}

static void keys_can_be_bound_anew(void **state)
{
    Fixture *f = *state;
    ml_Text why = {0};

    assert_true(ml_keymap_bind(&f->ss.keymap, "loops", "Z", "split", &why));
    assert_true(ml_keymap_bind(&f->ss.keymap, "all", "s", "none", &why));
    press(f, "s");
    shows(f, "s works in pane 7 Jobs: stop it");
    press(f, "Z");
    shows(f, "split i[128] into:");
    press(f, "esc");
    shows(f, "Z·split");
    assert_false(ml_keymap_bind(&f->ss.keymap, "loop", "s", "split", &why));
    assert_non_null(strstr(ml_text_z(&why), "there is no pane loop"));
    ml_text_clear(&why);
    assert_false(ml_keymap_bind(&f->ss.keymap, "loops", "ctrl-s", "split", &why));
    assert_non_null(strstr(ml_text_z(&why), "there is no key ctrl-s"));
    ml_text_clear(&why);
    assert_false(ml_keymap_bind(&f->ss.keymap, "loops", "s", "splits", &why));
    assert_non_null(strstr(ml_text_z(&why), "there is no request splits"));
    ml_text_free(&why);
}

static void pane_7_without_a_search_has_the_keys_of_all_panes(void **state)
{
    Fixture *f = *state;

    press(f, "7");
    press(f, "s");
    shows(f, "split i[128] into:");
    press(f, "esc");
    press(f, "p");
    shows(f, "lua  parallel(\"i\")");
}

static void no_two_requests_share_a_key_in_a_pane(void **state)
{
    Fixture *f = *state;

    for (int r = 0; r < ML_N_REQUESTS; r++)
        for (const char *p = ml_key_info[r].keys; *p;) {
            size_t n = strcspn(p, " ");
            char key[16];
            ml_Key k;
            ml_PaneId in = ml_key_info[r].pane ? ml_key_info[r].pane : ML_PANE_PERF;

            memcpy(key, p, n);
            key[n] = '\0';
            assert_true(ml_key_read(key, &k));
            assert_int_equal(ml_keymap_find(f->ss.keymap, in, &k), r);
            p += n;
            p += strspn(p, " ");
        }
}

static void what_a_command_prints_can_be_read_and_goes_to_the_log(void **state)
{
    Fixture *f = *state;

    press(f, ":");
    type(f, "show");
    press(f, "enter");
    assert_true(f->v.paging);
    shows(f, "T.Buffer((128, 128)");
    press(f, "esc");
    assert_false(f->v.paging);
    assert_non_null(strstr(ml_text_z(&f->v.log), "T.Buffer((128, 128)"));
    assert_false(f->v.quit);
}

static void an_error_says_its_first_line_and_the_program_goes_on(void **state)
{
    Fixture *f = *state;

    press(f, "s");
    type(f, "3,3");
    press(f, "enter");
    if (ml_act_open(&f->v))
        press(f, "esc");
    assert_int_equal(ml_schedule_version(f->ss.focus), 0);
    press(f, ":");
    press(f, "backspace");
    type(f, "error('no way')");
    press(f, "enter");
    assert_non_null(strstr(ml_text_z(&f->v.log), "no way"));
}

static void capital_q_asks_before_work_is_lost(void **state)
{
    Fixture *f = *state;

    press(f, "v"); /* vectorize i, or its refusal: either way go on */
    press(f, "s");
    type(f, "4,auto");
    press(f, "enter Q");
    assert_false(f->v.quit);
    shows(f, "Q again ends the program");
    press(f, "j Q");
    assert_false(f->v.quit); /* something else was pressed in between */
    press(f, "Q");
    assert_true(f->v.quit);
    assert_true(f->v.end);
}

/* ---- anything */

static uint64_t next(uint64_t *r)
{
    *r = *r * 6364136223846793005u + 1442695040888963407u;
    return *r >> 33;
}

/* Any key but those that run programs or write files (t = y g A), which take their time. */
static void random_key(Fixture *f, uint64_t *r)
{
    static const char *const MORE[] = {"enter", "esc",  "tab",  "S-tab", "backspace",
                                       "up",    "down", "left", "right", "C-u",
                                       "4",     "a",    "u",    "s"};
    ml_Key k;

    if (next(r) % 3 == 0) {
        assert_true(ml_key_read(MORE[next(r) % ML_COUNT(MORE)], &k));
    } else if (next(r) % 3 == 0) {
        k = (ml_Key){.ch = {(char)(' ' + next(r) % 95)}};
        if (!ml_act_open(&f->v) && strchr("t=ygA", k.ch[0]))
            return;
    } else {
        ml_Request q = (ml_Request)(next(r) % ML_N_REQUESTS);
        ml_Text key = {0};

        if (q == ML_REQ_TIME || q == ML_REQ_CHECK || q == ML_REQ_TUNE ||
            q == ML_REQ_PICTURE || q == ML_REQ_ASM ||
            !ml_keymap_first(f->ss.keymap, q, &key))
            return;
        bool ok = ml_key_read(ml_text_z(&key), &k);

        ml_text_free(&key);
        assert_true(ok);
    }
    /* pane 2 goes through levels that are compiled: that is a test of its own */
    if (k.name && ml_streq(k.name, "tab") && f->v.in == ML_PANE_PROGRAM &&
        !ml_act_open(&f->v))
        return;
    ml_view_key(&f->v, &k);
}

/* Cells are whole, and none holds what a terminal would act on. */
static void is_sound(const ml_Grid *g)
{
    for (size_t k = 0; k < (size_t)g->w * (size_t)g->h; k++) {
        const ml_Cell *c = &g->cells[k];

        assert_false((unsigned char)c->z[0] > 0 && (unsigned char)c->z[0] < 0x20);
        assert_true(c->role < ML_N_ROLES);
        if (!c->z[0])
            assert_true(k % (size_t)g->w > 0);
    }
    assert_in_range(g->cursor_x + 1, 0, g->w);
    assert_in_range(g->cursor_y + 1, 0, g->h);
}

static void ten_thousand_random_keys_clicks_and_sizes_break_nothing(void **state)
{
    Fixture *f = *state;
    uint64_t r = 20261124;
    int n = getenv("ML_QUICK") ? 2000 : 10000;
    char folder[] = "/tmp/ml-view-XXXXXX", was[4096];

    assert_non_null(getcwd(was, sizeof was));
    assert_non_null(mkdtemp(folder)); /* ! may write a file */
    assert_int_equal(chdir(folder), 0);
    for (int k = 0; k < n; k++) {
        int x = (int)(next(&r) % (uint64_t)(f->v.grid.w + 4)) - 2;
        int y = (int)(next(&r) % (uint64_t)(f->v.grid.h + 4)) - 2;

        switch (next(&r) % 16) {
        case 0: ml_view_mouse(&f->v, (ml_EventKind)(next(&r) % 6), x, y); break;
        case 1: ml_view_mouse(&f->v, ML_EVENT_PRESS, x, y); break;
        case 2: ml_view_mouse(&f->v, ML_EVENT_DRAG, x, y); break;
        case 3:
            if (next(&r) % 4 == 0)
                ml_view_resize(&f->v, 1 + (int)(next(&r) % 300), 1 + (int)(next(&r) % 100));
            else if (next(&r) % 2)
                ml_view_resize(&f->v, 80, 24);
            break;
        case 4: ml_view_idle(&f->v, 1); break;
        default: random_key(f, &r); break;
        }
        if (f->v.level != ML_LEVEL_PROGRAM && f->v.level != ML_LEVEL_LOWERED)
            f->v.level = ML_LEVEL_PROGRAM;
        if (f->v.beside != ML_LEVEL_PROGRAM && next(&r) % 4 == 0) /* it comes and goes */
            ml_view_beside(&f->v, f->v.beside);
        f->v.quit = f->v.end = f->ss.quit = false;
        ml_view_draw(&f->v);
        is_sound(&f->v.grid);
    }
    assert_in_range(ml_schedule_n_versions(f->ss.focus), n < 10000 ? 2 : 5,
                    n); /* it did schedule */
    assert_int_equal(chdir(was), 0);
    ml_Text rm = {0};

    ml_text_fmt(&rm, "rm -rf %s", folder);
    assert_int_equal(system(ml_text_z(&rm)), 0);
    ml_text_free(&rm);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(four_panes_show_at_80_by_24_as_large_as_what_they_show),
        TEST(six_panes_show_from_120_by_36_on),
        TEST(one_pane_at_a_time_shows_under_80_by_24),
        cmocka_unit_test_setup_teardown(without_a_program_the_screen_says_what_to_do,
                                        start_empty, end),
        TEST(without_unicode_the_screen_is_ascii),
        TEST(the_selection_is_shared_by_all_panes),
        TEST(folding_hides_rows_and_going_left_again_finds_the_parent),
        TEST(a_step_leaves_the_selection_on_what_the_node_became),
        TEST(three_f_fuses_three_loops_and_three_alone_is_a_pane),
        TEST(a_request_that_does_not_apply_says_why_and_changes_nothing),
        TEST(escape_leaves_no_trace),
        TEST(numbers_show_hidden_panes_and_tab_walks_through_those_in_sight),
        TEST(alt_and_a_number_shows_or_hides_a_pane),
        TEST(z_shows_one_pane_alone_and_goes_back),
        TEST(panes_grow_shrink_and_return),
        cmocka_unit_test(layouts_are_kept_as_text_and_nonsense_is_passed_over),
        TEST(searching_finds_names_and_extents_also_below_folds),
        TEST(clicks_select_fold_and_press_keys_of_the_bottom_line),
        TEST(dragging_a_border_resizes_and_dragging_a_loop_moves_it),
        TEST(the_wheel_scrolls_the_pane_under_the_pointer_and_not_the_cursor),
        TEST(a_second_click_on_a_name_marks_all_its_occurrences),
        TEST(without_colours_cursor_and_selection_show_and_no_region_is_underlined),
        TEST(help_lists_every_request_with_its_keys),
        TEST(a_page_takes_no_key_that_means_something_in_the_panes),
        TEST(a_page_is_scrolled_and_says_what_closes_it),
        TEST(keys_can_be_bound_anew),
        TEST(pane_7_without_a_search_has_the_keys_of_all_panes),
        TEST(no_two_requests_share_a_key_in_a_pane),
        TEST(what_a_command_prints_can_be_read_and_goes_to_the_log),
        TEST(an_error_says_its_first_line_and_the_program_goes_on),
        TEST(capital_q_asks_before_work_is_lost),
        TEST(ten_thousand_random_keys_clicks_and_sizes_break_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
