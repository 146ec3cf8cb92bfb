/*
 * Where panes stand: room goes where content is, borders stay while the cursor moves, what a
 * person has moved stays; what a narrow pane of loops, the bottom line and the roofline show
 * of what they have. Without a terminal. Source: interaction 10.
 */
#include "repl/view_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/base/arena.h"
#include "repl/view/pane/panes.h"

static const int SIZES[][2] = {{80, 24}, {100, 30}, {120, 36}, {200, 50}};

enum { CHAIN = 40 };

/* Forty blocks, each of its own nest. */
static int start_wide(void **state)
{
    ml_Text t = {0};
    int bad;

    ml_text_add(&t, "from tvm.script import tir as T\n@T.prim_func\ndef wide(B0: "
                    "T.Buffer((256, 128), \"float32\"), B40: T.Buffer((256, 128), "
                    "\"float32\")):\n");
    for (int k = 1; k < CHAIN; k++)
        ml_text_fmt(&t, "    B%d = T.alloc_buffer((256, 128), \"float32\")\n", k);
    for (int k = 1; k <= CHAIN; k++)
        ml_text_fmt(&t,
                    "    for i, j in T.grid(256, 128):\n"
                    "        with T.block(\"B%d\"):\n"
                    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                    "            B%d[vi, vj] = B%d[vi, vj] + T.float32(1)\n",
                    k, k, k - 1);
    bad = start_with(state, ml_text_z(&t), 80, 24);
    ml_text_free(&t);
    return bad;
}

static void run(Fixture *f, const char *line)
{
    if (!ml_view_run(&f->v, line, NULL))
        fail_msg("%s: %s", line, ml_text_z(&f->v.message));
}

/* Fourteen loops in each other, of all kinds. */
static void tile_deeply(Fixture *f)
{
    run(f, "split('i', {auto, 2, 2, 2})");
    run(f, "split('j', {auto, 2, 2, 2, 2})");
    run(f, "split('k', {auto, 2, 2, 2, 2})");
    run(f, "parallel('i_0')");
    run(f, "vectorize('j_4')");
    run(f, "unroll('k_4')");
}

static int start_deep(void **state)
{
    int bad = start(state);

    if (!bad)
        tile_deeply(*state);
    return bad;
}

/* ---- room */

/* The rows that a pane has for any node that a row of pane 1 stands for. */
static int most_rows(Fixture *f, ml_PaneId id)
{
    int n = (int)ml_view_rows(&f->v, ML_PANE_LOOPS)->v.n, most = 0;

    for (int k = 0; k < n; k++) {
        int rows;

        ml_view_go(&f->v, ML_PANE_LOOPS, k);
        rows = (int)ml_view_rows(&f->v, id)->v.n;
        most = rows > most ? rows : most;
    }
    ml_view_go(&f->v, ML_PANE_LOOPS, 0);
    return most;
}

static void no_pane_is_empty_while_another_of_its_column_is_clipped(void **state)
{
    enum { SPARE = 4 }; /* rows: of a list that grows, and the least that a pane has */
    Fixture *f = *state;

    for (size_t s = 0; s < ML_COUNT(SIZES); s++) {
        ml_view_resize(&f->v, SIZES[s][0], SIZES[s][1]);
        screen(f);
        for (int c = 0; c < f->v.places.n_columns; c++) {
            int n = f->v.places.column[c].n;
            ml_PaneId empty = ML_PANE_NONE, clipped = ML_PANE_NONE;

            for (int k = 0; k < n; k++) {
                ml_PaneId id = f->v.places.column[c].pane[k];
                int rows = most_rows(f, id), room = f->v.pane[id].at.h;

                if (rows + SPARE <= room)
                    empty = id;
                if (rows > room && id != ML_PANE_PERF) /* facts of the machine come last */
                    clipped = id;
            }
            if (empty != ML_PANE_NONE && clipped != ML_PANE_NONE)
                fail_msg("%dx%d: pane %d is half empty and pane %d clipped\n%s",
                         SIZES[s][0], SIZES[s][1], (int)empty, (int)clipped, screen(f));
        }
    }
}

static ml_Want want_of(Fixture *f, ml_PaneId id)
{
    ml_Want w = {0};
    ml_Rows r = {0};

    ml_rows_reset(&r);
    f->v.kinds[id].wants(&f->v, &r, &w);
    ml_rows_free(&r);
    return w;
}

/* What is kept of nests that a step left alone is what would be worked out again. */
static void what_panes_want_after_a_step_is_what_they_would_want_afresh(void **state)
{
    static const char *const LINES[] = {"split(%s, {auto, 4})",
                                        "split(%s, {8, auto})",
                                        "parallel(%s)",
                                        "vectorize(%s)",
                                        "fuse(%s, s:get_child_blocks(%s)[1])",
                                        "cache_write(%s, 0, 'global')",
                                        "cache_read(%s, 0, 'shared')",
                                        "compute_inline(%s)",
                                        "annotate(%s, 'a_key_that_is_wide', 'and a value')",
                                        ":undo",
                                        ":redo",
                                        ":undo 2"};
    static const ml_PaneId PANES[] = {ML_PANE_BLOCK, ML_PANE_DATAFLOW};
    Fixture *f = *state;
    int n = getenv("ML_QUICK") ? 60 : 300, steps = 0;
    unsigned seed = 7;
    ml_Text line = {0};

    for (int k = 0; k < n; k++) {
        int rows = (int)ml_view_rows(&f->v, ML_PANE_LOOPS)->v.n;

        seed = seed * 1103515245u + 12345u;
        const ml_Row *row =
            &ml_view_rows(&f->v, ML_PANE_LOOPS)->v.v[(seed >> 8) % (unsigned)rows];
        const char *way = LINES[(seed >> 20) % ML_COUNT(LINES)], *name;
        int version = f->v.version;

        if (!row->node)
            continue;
        name = ml_view_name(&f->v, row->node);
        ml_text_clear(&line);
        for (const char *p = way; *p; p++)
            if (p[0] == '%' && p[1] == 's') {
                ml_text_fmt(&line, "'%s'", name);
                p++;
            } else
                ml_text_char(&line, *p);
        ml_view_run(&f->v, ml_text_z(&line), NULL); /* many do not apply */
        steps += f->v.version != version;
        for (size_t p = 0; p < ML_COUNT(PANES); p++) {
            ml_Want kept = want_of(f, PANES[p]);

            struct ml_NestWant *was = f->v.kept->nests;

            f->v.kept->nests = NULL;
            ml_Want fresh = want_of(f, PANES[p]);

            ml_heap_free(f->v.kept->nests);
            f->v.kept->nests = was; /* and is used after the next step */

            if (memcmp(&kept, &fresh, sizeof kept) != 0)
                fail_msg("%s: pane %d: %d x %d kept, %d x %d afresh", ml_text_z(&line),
                         (int)PANES[p], kept.rows, kept.columns, fresh.rows, fresh.columns);
        }
    }
    assert_true(steps > n / 10);
    ml_text_free(&line);
}

static void borders_stay_while_the_cursor_moves(void **state)
{
    Fixture *f = *state;

    for (size_t s = 0; s < ML_COUNT(SIZES); s++) {
        ml_view_resize(&f->v, SIZES[s][0], SIZES[s][1]);
        press(f, "1 home");
        screen(f);
        ml_Places was = f->v.places;

        for (int k = 0; k < 30; k++) {
            press(f, k == 20 ? "left" : "j");
            screen(f);
            assert_memory_equal(&was, &f->v.places, sizeof was);
        }
        press(f, "2 j j j tab S-tab 5 3");
        f->v.level = ML_LEVEL_PROGRAM;
        ml_view_stale(&f->v);
        screen(f);
        assert_memory_equal(&was, &f->v.places, sizeof was);
    }
}

static void a_step_moves_no_border_where_there_is_room(void **state)
{
    Fixture *f = *state;

    ml_view_resize(&f->v, 200, 50);
    screen(f);
    ml_Places was = f->v.places;

    run(f, "split('i', {auto, 4})");
    screen(f);
    assert_memory_equal(&was, &f->v.places, sizeof was);
}

/* The panes of the left column, and so the border to the right of it, stand as they did. */
static bool stands_as(const ml_Places *was, const ml_Places *now)
{
    return memcmp(&was->box[ML_PANE_LOOPS], &now->box[ML_PANE_LOOPS], sizeof was->box[0]) ==
               0 &&
           memcmp(&was->box[ML_PANE_BLOCK], &now->box[ML_PANE_BLOCK], sizeof was->box[0]) ==
               0;
}

static void what_a_person_has_moved_stays_through_steps_and_sessions(void **state)
{
    Fixture *f = *state;
    ml_Layout read[ML_N_SIZES];
    ml_Text t = {0};

    press(f, "+ + + +");
    screen(f);
    ml_Places was = f->v.places;

    tile_deeply(f);
    screen(f);
    assert_true(stands_as(&was, &f->v.places));
    ml_layout_write(f->v.layout, &t);
    for (int s = 0; s < ML_N_SIZES; s++)
        ml_layout_usual(&read[s], (ml_SizeClass)s);
    ml_layout_read(read, ml_text_z(&t));
    memcpy(f->v.layout, read, sizeof read);
    ml_view_place(&f->v);
    assert_true(stands_as(&was, &f->v.places));
    press(f, "0");
    screen(f);
    assert_false(stands_as(&was, &f->v.places));
    ml_text_free(&t);
}

static void a_pane_of_a_small_window_stands_among_others_in_a_larger_one(void **state)
{
    static const char *const KEYS[] = {"4", "6", "7", "8"};
    Fixture *f = *state;

    for (size_t k = 0; k < ML_COUNT(KEYS); k++)
        for (size_t s = 0; s < ML_COUNT(SIZES); s++) {
            ml_view_resize(&f->v, 60, 20);
            press(f, KEYS[k]);
            ml_view_resize(&f->v, SIZES[s][0], SIZES[s][1]);
            screen(f);
            assert_true(f->v.places.n_columns > 1);
            assert_true(f->v.places.box[f->v.in].w > 0);
            press(f, "0");
        }
}

static void pane_8_stands_where_lines_are_long(void **state)
{
    Fixture *f = *state;

    ml_view_resize(&f->v, 120, 36);
    press(f, "8");
    screen(f);
    assert_true(f->v.pane[ML_PANE_MEMORY].at.w > 60);
    assert_true(f->v.pane[ML_PANE_MEMORY].at.h >= 8);
}

/* ---- what narrow panes show */

static void extents_and_kinds_of_inner_loops_are_seen_in_narrow_panes(void **state)
{
    static const char *const ENDS[] = {" 2 v", " 2 U", " p"};
    Fixture *f = *state;
    size_t found = 0;

    for (int w = 16; w <= 40; w++) {
        f->v.pane[ML_PANE_LOOPS].at.w = w;
        f->v.pane[ML_PANE_LOOPS].fresh = false;
        const ml_Rows *r = ml_view_rows(&f->v, ML_PANE_LOOPS);

        for (size_t k = 0; k < r->v.n; k++) {
            const char *text = r->v.v[k].text;
            size_t n = strlen(text);

            if (ml_columns(text) > (size_t)w - 2)
                fail_msg("%d columns cut \"%s\"", w, text);
            for (size_t e = 0; e < ML_COUNT(ENDS); e++)
                found +=
                    n > strlen(ENDS[e]) && strcmp(text + n - strlen(ENDS[e]), ENDS[e]) == 0;
        }
    }
    assert_true(found > ML_COUNT(ENDS));
    ml_view_place(&f->v);
}

static void at_80_by_24_no_row_of_the_loops_is_cut(void **state)
{
    Fixture *f = *state;
    ml_Rect at;

    screen(f);
    at = f->v.pane[ML_PANE_LOOPS].at;
    press(f, "1 home");
    for (int k = 0; k < 20; k++) {
        screen(f);
        for (int y = at.y; y < at.y + at.h; y++)
            assert_string_not_equal(f->v.grid.cells[y * f->v.grid.w + at.x + at.w - 1].z,
                                    "…");
        press(f, "j");
    }
}

static void time_check_and_reorder_stay_on_the_bottom_line(void **state)
{
    Fixture *f = *state;
    const char *last;

    run(f, "split('i', {auto, 4})"); /* there is something to take back, too */
    for (int w = 80; w <= 140; w += 20) {
        ml_view_resize(&f->v, w, 24);
        screen(f);
        last = strstr(ml_text_z(&f->screen), "s·split");
        assert_non_null(last);
        assert_non_null(strstr(last, "t·time"));
        assert_non_null(strstr(last, "=·check"));
        assert_true(strstr(last, "o·order") || strstr(last, "o·reorder"));
        assert_non_null(strstr(last, "u·undo ?·help"));
        assert_true(strstr(last, "v·vec ") || strstr(last, "v·vectorize"));
    }
    ml_view_resize(&f->v, 40, 10); /* the most useful ones before them */
    screen(f);
    assert_non_null(strstr(ml_text_z(&f->screen), "s·split f·fuse"));
}

static void the_roofline_is_whole_or_a_word_says_why_not(void **state)
{
    Fixture *f = *state;
    ml_Engine *e = ml_host_engine(f->ss.host);
    ml_Machine *m = ml_engine_machine(e);
    int whole = 0, told = 0;

    ml_machine_host(ml_engine_threads(e), m);
    m->full = true;
    for (int n = 0; n < 2; n++) {
        for (int k = 0; k < ML_MACHINE_KINDS; k++)
            m->peak[k][n] = 1e11;
        for (int l = 0; l < ML_MACHINE_LEVELS; l++)
            for (int t = 0; t < ML_TRAFFICS; t++)
                m->bandwidth[l][t][n] = 4e11 / (l + 1);
    }
    press(f, "6 z");
    for (int h = 14; h < 40; h++) {
        ml_view_resize(&f->v, 120, h);
        const char *z = screen(f);
        bool head = strstr(z, "│ GFLOP/s") != NULL;

        if (head != (strstr(z, "FLOP/B") != NULL))
            fail_msg("the roofline is cut at 120x%d\n%s", h, z);
        whole += head;
        told += !head && strstr(z, "the roofline finds no room here: :roofline");
    }
    assert_true(whole > 10);
    assert_int_equal(whole + told, 26);
    press(f, "z");
    ml_view_resize(&f->v, 80, 24);
    assert_non_null(strstr(screen(f), "the roofline wants more room"));
}

#define TEST(name, how) cmocka_unit_test_setup_teardown(name, how, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_pane_is_empty_while_another_of_its_column_is_clipped, start),
        TEST(no_pane_is_empty_while_another_of_its_column_is_clipped, start_wide),
        TEST(no_pane_is_empty_while_another_of_its_column_is_clipped, start_deep),
        TEST(what_panes_want_after_a_step_is_what_they_would_want_afresh, start),
        TEST(what_panes_want_after_a_step_is_what_they_would_want_afresh, start_wide),
        TEST(borders_stay_while_the_cursor_moves, start),
        TEST(borders_stay_while_the_cursor_moves, start_wide),
        TEST(borders_stay_while_the_cursor_moves, start_deep),
        TEST(a_step_moves_no_border_where_there_is_room, start),
        TEST(what_a_person_has_moved_stays_through_steps_and_sessions, start),
        TEST(a_pane_of_a_small_window_stands_among_others_in_a_larger_one, start),
        TEST(pane_8_stands_where_lines_are_long, start),
        TEST(extents_and_kinds_of_inner_loops_are_seen_in_narrow_panes, start_deep),
        TEST(at_80_by_24_no_row_of_the_loops_is_cut, start_deep),
        TEST(time_check_and_reorder_stay_on_the_bottom_line, start),
        TEST(the_roofline_is_whole_or_a_word_says_why_not, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
