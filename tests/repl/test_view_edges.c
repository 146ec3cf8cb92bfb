/*
 * The visualiser where it is unusual: programs without blocks, refusals while something is
 * typed, screens that are too small, code beside the program. Without a terminal.
 * Source: interaction 10.
 */
#include "repl/view_fixture.h"

#include <stdio.h>

#include "repl/session/themes.h"

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

static const char LOWERED[] =
    "from tvm.script import tir as T\n"
    "@T.prim_func\n"
    "def low(A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\")):\n"
    "    for i in range(64):\n"
    "        for j in range(64):\n"
    "            B[i, j] = A[i, j] + T.float32(1)\n\n";

static int start_lowered(void **state)
{
    return start_with(state, LOWERED, 120, 36);
}

static void programs_without_blocks_say_so_and_can_be_looked_at(void **state)
{
    Fixture *f = *state;

    shows(f, "Block i"); /* the first loop is selected, by the name that is printed */
    press(f, "s");
    shows(f, "low holds no blocks: there is nothing to schedule");
    hides(f, "work_on");
    press(f, "x");
    shows(f, "low holds no blocks");
    press(f, "down");
    shows(f, "Block j");
    hides(f, "x·all");
    shows(f, "t·time");
    press(f, "8");
    shows(f, "store B[i, j]  4 B apart");
    press(f, "1 up left");
    shows(f, "▸ i");
}

static const char TWO[] = "from tvm.script import ir as I, tir as T\n"
                          "@I.ir_module\n"
                          "class M:\n"
                          "    @T.prim_func\n"
                          "    def one(A: T.Buffer((8,), \"float32\")):\n"
                          "        for i in range(8):\n"
                          "            A[i] = T.float32(1)\n"
                          "    @T.prim_func\n"
                          "    def two(B: T.Buffer((8,), \"float32\")):\n"
                          "        for k in range(8):\n"
                          "            B[k] = T.float32(2)\n\n";

static int start_two(void **state)
{
    return start_with(state, TWO, 120, 36);
}

/* No function can be chosen: what is looked at is that of the selection. */
static void of_several_functions_the_one_of_the_selection_is_looked_at(void **state)
{
    Fixture *f = *state;

    press(f, "2 tab"); /* lowered */
    shows(f, "A_1[i] = T.float32(1");
    press(f, "1 end");
    shows(f, "Block k");
    shows(f, "B_1[k] = T.float32(2");
    press(f, "s");
    shows(f, "two holds no blocks");
    press(f, "8");
    shows(f, "counted");
    while (ml_view_rest(&f->v)) {
    }
    shows(f, "B  stores 1 an element");
}

static void a_refused_argument_stands_above_what_is_being_typed(void **state)
{
    Fixture *f = *state;
    const int size[2][2] = {{80, 24}, {40, 10}};

    for (int k = 0; k < 2; k++) {
        ml_view_resize(&f->v, size[k][0], size[k][1]);
        press(f, "1 home down s");
        type(f, "4, 5");
        press(f, "enter");
        shows(f, "error: split: factors 4 × 5 = 20 do not");
        shows(f, "cover loop i, extent 128");
        shows(f, "split i[128] into: 4, 5");
        press(f, "backspace 3");
        shows(f, "split i[128] into: 4, 3");
        hides(f, "error:");
        press(f, "C-u 4 enter");
        hides(f, "into:");
        shows(f, "lua  split(\"i\", {auto, 4})");
        press(f, "u");
        shows(f, "matmul v0");
    }
}

static void a_screen_that_is_too_small_tells_the_size_needed_and_how_to_leave(void **state)
{
    Fixture *f = *state;

    ml_view_resize(&f->v, 20, 24);
    shows(f, "20x24 is too small:");
    shows(f, "40x10");
    shows(f, "or q goes");
    ml_view_resize(&f->v, 12, 3);
    shows(f, "40x10");
    shows(f, "q");
    press(f, "s"); /* nothing can be seen: nothing is done */
    assert_false(ml_act_open(&f->v));
    press(f, "q");
    assert_true(f->v.quit);
}

static bool always(void *user, const char *what, double share)
{
    (void)what;
    assert_true(share >= 0);
    ++*(int *)user;
    return true;
}

static void what_walking_counts_comes_when_the_keys_rest_and_a_key_ends_it(void **state)
{
    Fixture *f = *state;
    int asked = 0;

    assert_true(ml_view_run(&f->v, "s = schedule(workload.matmul(96, 32, 64))", NULL));
    ml_view_resize(&f->v, 100, 50);
    press(f, "z 8");
    shows(f, "counted");
    hides(f, "an element");
    f->v.pressed = always;
    f->v.pressed_user = &asked;
    assert_true(ml_view_rests(&f->v));
    assert_true(ml_view_rest(&f->v));
    assert_true(asked > 0);
    hides(f, "an element"); /* a key came: nothing was found out */
    press(f, "esc");
    shows(f, "counting is stopped; 8 goes on with it");
    assert_false(ml_view_rests(&f->v));
    shows(f, "not counted; 8 counts it");
    f->v.pressed = NULL;
    press(f, "8");
    while (ml_view_rest(&f->v)) {
    }
    shows(f, "A  loads 32 an element");
    shows(f, "C  loads 64, stores 65 an element");
    shows(f, "4 lines an iteration of i");
    press(f, "1 p 8");
    shows(f, "counted");
    assert_true(ml_view_rests(&f->v)); /* another version */
    while (ml_view_rest(&f->v)) {
    }
    shows(f, "thread 0 of i: ");
    shows(f, "no stored line is shared");
    press(f, "u");
    assert_false(ml_view_rests(&f->v)); /* that is known */
    hides(f, "thread 0");
    shows(f, "A  loads 32 an element");
}

static void themes_of_the_users_own_are_checked_where_they_are_defined(void **state)
{
    static const struct {
        const char *line, *why;
    } WRONG[] = {
        {"moon.theme{name = 'mine', ['loop.paralel'] = 'bold'}",
         "no role is called loop.paralel; did you mean loop.parallel?"},
        {"moon.theme{name = 'mine', error = 'bold light-blu'}",
         "error: light-blu is no colour and no attribute; did you mean light-blue?"},
        {"moon.theme{name = 'mine', error = '#12345'}", "a colour is #rrggbb or a name"},
        {"moon.theme{name = 'mine', base = 'lihgt'}",
         "no theme is called lihgt; did you mean light?"},
        {"moon.theme{name = 'light'}", "light is built in"},
        {"moon.theme{name = 'a b'}", "a name of letters, digits, _ and - is wanted"},
        {"moon.theme{error = 'bold'}", "theme wants a name"},
        {"moon.theme{name = 'mine', 'bold'}", "a key is an integer"},
        {"moon.theme{name = 'mine', error = 3}", "error is a string, not "},
        {":set theme lite", "no theme is called lite; there are default, light, mono"},
    };
    Fixture *f = *state;
    ml_ThemeDef d;
    ml_Theme t;

    for (size_t k = 0; k < ML_COUNT(WRONG); k++) {
        assert_false(ml_view_run(&f->v, WRONG[k].line, NULL));
        if (!strstr(ml_text_z(&f->v.log), WRONG[k].why))
            fail_msg("%s: %s", WRONG[k].line, ml_text_z(&f->v.log));
        ml_text_clear(&f->v.log);
    }
    assert_true(ml_view_run(&f->v,
                            "moon.theme{name = 'mine', base = 'light', error = "
                            "'underline #102030 on white', ['loop.parallel'] = 'none'}",
                            NULL));
    d = ml_themes_now(&f->ss);
    ml_theme_make(&t, &d, ML_DEPTH_TRUE);
    assert_int_not_equal(t.look[ML_ROLE_ERROR].fg, 0x102030); /* it is not chosen yet */
    assert_true(ml_view_run(&f->v, ":set theme mine", NULL));
    d = ml_themes_now(&f->ss);
    ml_theme_make(&t, &d, ML_DEPTH_TRUE);
    assert_int_equal(t.look[ML_ROLE_ERROR].fg, 0x102030);
    assert_int_equal(t.look[ML_ROLE_ERROR].bg, 0xe5e5e5);
    assert_int_equal(t.look[ML_ROLE_ERROR].attr, ML_ATTR_UNDERLINE);
    assert_int_equal(t.look[ML_ROLE_LOOP_PARALLEL].fg, ML_COLOR_DEFAULT);
    assert_int_equal(t.look[ML_ROLE_TITLE].fg, 0x00507d); /* the base's */
    ml_theme_make(&t, &d, ML_DEPTH_NONE);
    assert_int_equal(t.look[ML_ROLE_ERROR].attr, ML_ATTR_UNDERLINE);
    /* on top of one's own; defined again */
    assert_true(ml_view_run(
        &f->v, "moon.theme{name = 'more', base = 'mine', title = 'red'}", NULL));
    assert_true(ml_view_run(&f->v, ":set theme more", NULL));
    d = ml_themes_now(&f->ss);
    ml_theme_make(&t, &d, ML_DEPTH_TRUE);
    assert_int_equal(t.look[ML_ROLE_ERROR].fg, 0x102030);
    assert_int_equal(t.look[ML_ROLE_TITLE].fg, 0xcd0000);
    assert_true(ml_view_run(&f->v, "moon.theme{name = 'more', title = 'blue'}", NULL));
    d = ml_themes_now(&f->ss);
    ml_theme_make(&t, &d, ML_DEPTH_16);
    assert_int_equal(t.look[ML_ROLE_TITLE].fg, 4);
    assert_int_equal(t.look[ML_ROLE_ERROR].fg, 9);
    press(f, ":");
    type(f, "set theme m");
    press(f, "tab");
    shows(f, "mine");
    shows(f, "more");
    shows(f, "mono");
    press(f, "esc");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_without_blocks_say_so_and_can_be_looked_at,
                                        start_lowered, end),
        cmocka_unit_test_setup_teardown(
            of_several_functions_the_one_of_the_selection_is_looked_at, start_two, end),
        TEST(a_refused_argument_stands_above_what_is_being_typed),
        TEST(what_walking_counts_comes_when_the_keys_rest_and_a_key_ends_it),
        TEST(themes_of_the_users_own_are_checked_where_they_are_defined),
        TEST(a_screen_that_is_too_small_tells_the_size_needed_and_how_to_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
