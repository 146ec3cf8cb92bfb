/* test_board - what a search shows of itself, from data: numbers, words, pictures, keys. */
#include "repl/tuning/live.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A search of 24 of 64 trials: the best is found in steps, two fail, a model foretells. */
static void make(ml_Board *b)
{
    static const double MS[] = {10, 12, 8, 0, 9,   6,   7, 11, 4,   5, 6, 4.5,
                                4,  0,  3, 5, 3.5, 2.5, 4, 3,  2.5, 6, 2, 2.2};
    static const char *const DESIGNS[] = {"j=4×4×16, i=8×8, parallel(i_0)",
                                          "j=4×4×16, i=4×16, parallel(i_0)",
                                          "j=4×4×16, i=8×8"};
    ml_Text t = {0};

    ml_board_init(b, "matmul", "x86-64-v4", 1, 2);
    b->amount = (ml_Amount){1e9, false};
    b->roof = 600e9;
    b->start = 0.2;
    b->with = "evolve";
    b->model = "xgb";
    b->samples = 24;
    b->points = 512;
    ml_TuneStatus s = {.total = 64, .generation = 1};

    ml_board_status(b, &s);
    for (size_t k = 0; k < ML_COUNT(MS); k++) {
        if (k % 8 == 0 && k > 0) {
            s.generation++;
            ml_board_status(b, &s);
        }
        ml_board_trial(
            b, &(ml_BoardTrial){
                   .expected = k < 8 || MS[k] == 0 ? 0 : MS[k] * (k % 2 ? 1.1e-3 : 0.9e-3),
                   .seconds = MS[k] * 1e-3,
                   .record = (int64_t)k + 1});
    }
    s.done = 24;
    s.best = 2e-3;
    s.best_record = 23;
    s.failed[ML_PHASE_BUILD] = s.failed[ML_PHASE_VERIFY] = 1;
    s.elapsed = 12;
    s.eta = 20;
    s.search_seconds = 1;
    s.build_seconds = 3;
    s.run_seconds = 6;
    ml_board_status(b, &s);
    for (size_t k = 0; k < ML_COUNT(DESIGNS); k++) {
        ml_text_clear(&t);
        ml_board_against(DESIGNS[k], DESIGNS[0], &t);
        b->rank[b->n_ranks++] =
            (ml_BoardRank){23 - (int64_t)k, 2e-3 + 1e-4 * (double)k, DESIGNS[k],
                           ml_strdup(b->cx, ml_str(ml_text_z(&t)))};
    }
    ml_push(b->cx, &b->gains, ((ml_BoardGain){"vector width", 0.4}));
    ml_push(b->cx, &b->gains, ((ml_BoardGain){"bytes from memory", 0.25}));
    ml_push(b->cx, &b->sketches,
            ((ml_BoardSketch){.name = "tiled",
                              .measured = 20,
                              .failed = 2,
                              .best = 2e-3,
                              .points = 400,
                              .share = 0.8}));
    ml_push(b->cx, &b->sketches,
            ((ml_BoardSketch){.name = "copied", .measured = 4, .best = 4e-3}));
    ml_text_free(&t);
}

static void expect_picture(const ml_Grid *g, const char *text)
{
    ml_Text t = {0};

    ml_grid_text(g, &t);
    if (getenv("SHOW"))
        puts(ml_text_z(&t));
    else
        assert_string_equal(ml_text_z(&t), text);
    ml_text_free(&t);
}

static void numbers_follow_from_the_trials(void **state)
{
    ml_Board b;

    (void)state;
    make(&b);
    assert_true(fabs(ml_board_best(&b, 8) - 6e-3) < 1e-9 &&
                fabs(ml_board_best(&b, 24) - 2e-3) < 1e-9);
    assert_true(fabs(ml_board_last_gain(&b) - 0.5) < 1e-9); /* from 3 ms to 2 ms */
    assert_int_equal(ml_board_failures(&b), 2);
    assert_true(ml_board_correlation(&b) > 0.9);
    assert_true(ml_board_regret(&b) >= 0 && ml_board_regret(&b) < 0.11);
    ml_board_free(&b);
}

static void nothing_foretold_has_no_correlation(void **state)
{
    ml_Board b;

    (void)state;
    ml_board_init(&b, "f", "cpu", 1, 1);
    for (int k = 0; k < 9; k++)
        ml_board_trial(&b, &(ml_BoardTrial){.seconds = 1e-3});
    assert_true(isnan(ml_board_correlation(&b)) && isnan(ml_board_regret(&b)));
    assert_true(isnan(ml_board_last_gain(&b)));
    ml_board_free(&b);
}

static void ties_have_a_correlation_of_their_mean_ranks(void **state)
{
    ml_Board b;

    (void)state;
    ml_board_init(&b, "f", "cpu", 1, 1);
    for (int k = 0; k < 8; k++)
        ml_board_trial(&b, &(ml_BoardTrial){.expected = 1e-3, .seconds = 1e-3 * (k + 1)});
    assert_true(ml_board_correlation(&b) == 0);
    ml_board_free(&b);
}

static void a_design_is_told_against_the_best(void **state)
{
    static const struct {
        const char *design, *best, *words;
    } CASES[] = {
        {"j=4×4×16, i=4×16", "j=4×4×16, i=8×8", "i 4×16 instead of 8×8"},
        {"j=4×4×16", "j=4×4×16, parallel(i_0)", "without parallel(i_0)"},
        {"cache_read(C, 1, global), j=2", "j=4",
         "with cache_read(C, 1, global), j 2 instead of 4"},
        {"j=4, k=2×3", "j=4", "with k=2×3"},
        {"j=4", "j=4", ""},
        {"", "", ""},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(CASES); k++) {
        ml_Text t = {0};

        ml_board_against(CASES[k].design, CASES[k].best, &t);
        assert_string_equal(ml_text_z(&t), CASES[k].words);
        ml_text_free(&t);
    }
}

static const ml_BoardLook LOOK = {.cursor = 1, .keys = "p pause  ? help"};

static void the_board_at(int w, int h, bool ascii, const char *text)
{
    ml_Board b;
    ml_Grid g;

    make(&b);
    ml_grid_init(&g, w, h, ascii);
    ml_board_draw(&b, &g, (ml_Rect){0, 0, w, h}, &LOOK);
    expect_picture(&g, text);
    ml_grid_free(&g);
    ml_board_free(&b);
}

static void the_board_at_80x23(void **state)
{
    (void)state;
    the_board_at(
        80, 23, false,
        "tune matmul  x86-64-v4   seed 1   evolve  24/64 trials  12s  eta 20s\n"
        "best 500.0 GFLOP/s  83.3 % of peak  record 23  ×100 of start  last gen +50.0 %\n"
        "600 ┤· · · · · · · · · · · · · · · ·  peak  gen 3, population 512\n"
        "    │                                       failed 2: build 1, verify 1\n"
        "    │                      ┌─               model xgb of 24 samples: rank\n"
        "450 ┤                      │.               correlation 0.96, regret 0 %\n"
        "    │                 ┌────┘                search 10 %  build 30 %  run 60 %\n"
        "    │              ┌──┘ .                   decides: vector width 40 %, bytes\n"
        "300 ┤              │ .                      from memory 25 %\n"
        "    │        ┌─────┘   .                    tiled 20 tried, 2 failed, 100 % of\n"
        "    │        │. .   .                       best, 400 thought of, 80 % of the\n"
        "150 ┤     ┌──┘ .          .                 next\n"
        "    │─────┘ .                               copied 4 tried, 50 % of best\n"
        "    │\n"
        "  0 ┤\n"
        "    └───x────┴────x──┴── a column a trial\n"
        "rank GFLOP/s  record  against the best\n"
        "   1   500.0      23  j=4×4×16, i=8×8, parallel(i_0)\n"
        "   2   476.2      22  i 4×16 instead of 8×8\n"
        "   3   454.5      21  without parallel(i_0)\n"
        "p pause  ? help\n"
        "\n"
        "\n");
}

static void the_board_at_120x35(void **state)
{
    (void)state;
    the_board_at(
        120, 35, false,
        "tune matmul  x86-64-v4   seed 1   evolve                                          "
        "  24/64 trials  12s  eta 20s\n"
        "best 500.0 GFLOP/s  83.3 % of peak  record 23  ×100 of start  last gen +50.0 %\n"
        "600 ┤· · · · · · · · · · · · · · · · · · · · · · · · · · · · · ·  peak  gen 3, "
        "population 512\n"
        "    │                                                                   failed 2: "
        "build 1, verify 1\n"
        "    │                      ┌─                                           model xgb "
        "of 24 samples: rank correlation 0.96,\n"
        "450 ┤                      │.                                           regret 0 "
        "%\n"
        "    │                 ┌────┘                                            search 10 "
        "%  build 30 %  run 60 %\n"
        "    │              ┌──┘ .                                               decides: "
        "vector width 40 %, bytes from memory 25\n"
        "300 ┤              │ .                                                  %\n"
        "    │        ┌─────┘   .                                                tiled 20 "
        "tried, 2 failed, 100 % of best, 400\n"
        "    │        │. .   .                                                   thought "
        "of, 80 % of the next\n"
        "150 ┤     ┌──┘ .          .                                             copied 4 "
        "tried, 50 % of best\n"
        "    │─────┘ .\n"
        "    │\n"
        "  0 ┤\n"
        "    └───x────┴────x──┴────────────────────────────── a column a trial\n"
        "rank GFLOP/s  record  against the best                                      "
        "design\n"
        "   1   500.0      23  the best                                              "
        "j=4×4×16, i=8×8, parallel(i_0)\n"
        "   2   476.2      22  i 4×16 instead of 8×8                                 "
        "j=4×4×16, i=4×16, parallel(i_0)\n"
        "   3   454.5      21  without parallel(i_0)                                 "
        "j=4×4×16, i=8×8\n"
        "p pause  ? help\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n");
}

static void the_board_at_40x14_in_ascii(void **state)
{
    (void)state;
    the_board_at(40, 14, true,
                 "tune matmul  24/64 trials  12s  eta 20s\n"
                 "best 500.0 GFLOP/s  83.3 % of peak\n"
                 "record 23  x100 of start\n"
                 "600 +- - - - - - - - - - - - - - -  peak\n"
                 "    |                 +------\n"
                 "300 +        +--------+..\n"
                 "    |--------+...   .     .\n"
                 "  0 +\n"
                 "    +---x----+----x--+ a column a trial\n"
                 "rank GFLOP/s  against best\n"
                 "   1   500.0  j=4x4x16, i=8x8, parallel~\n"
                 "   2   476.2  i 4x16 instead of 8x8\n"
                 "   3   454.5  without parallel(i_0)\n"
                 "p pause  ? help\n");
}

static void the_board_at_20x9(void **state)
{
    (void)state;
    the_board_at(20, 9, false,
                 "tune matmul\n"
                 "best 500.0 GFLOP/s\n"
                 "600 ┤· · · · ·  peak\n"
                 "    │        ┌───\n"
                 "300 ┤    ┌───┘.\n"
                 "    │────┘. .  .\n"
                 "  0 ┤\n"
                 "    └─x──┴─x─┴──────\n"
                 "p pause  ? help\n");
}

static void the_scatter_shows_predicted_against_measured(void **state)
{
    ml_Board b;
    ml_Grid g;

    (void)state;
    make(&b);
    ml_grid_init(&g, 50, 12, false);
    ml_board_scatter(&b, &g, (ml_Rect){0, 0, 50, 12});
    expect_picture(&g, "600 ┤                                            ·\n"
                       "    │                                       · .\n"
                       "450 ┤                              .   ·\n"
                       "    │                           . ·   .\n"
                       "    │                      . ·  .\n"
                       "300 ┤                    o  .\n"
                       "    │             o .\n"
                       "150 ┤          ·.  .\n"
                       "    │     ·\n"
                       "  0 ┤·\n"
                       "    └─────────────────────────────────────────────\n"
                       "up: measured GFLOP/s   right: predicted, to 600  …\n");
    ml_grid_free(&g);
    ml_board_free(&b);
}

static void any_size_and_any_state_is_drawn(void **state)
{
    ml_Board full, empty;

    (void)state;
    make(&full);
    full.st.best = full.start = 0;
    snprintf(full.note, sizeof full.note, "a note");
    for (int k = 0; k < 40; k++)
        ml_push(full.cx, &full.tasks,
                ((ml_BoardTask){.name = "conv2d_of_a_long_name",
                                .weight = k,
                                .flop = 1e9,
                                .best = k % 2 ? 1e-3 : 0,
                                .gain = (double)NAN,
                                .hope = 1e-4,
                                .next = k == 30}));
    ml_board_init(&empty, "f", "cpu", 1, 1);
    for (int w = 1; w < 130; w += w < 30 ? 1 : 13)
        for (int h = 1; h < 45; h += h < 20 ? 1 : 6)
            for (int k = 0; k < 2; k++) {
                ml_Grid g;

                ml_grid_init(&g, w, h, k == 1);
                assert_in_range(
                    ml_board_draw(k ? &full : &empty, &g, (ml_Rect){0, 0, w, h}, &LOOK), 0,
                    h);
                ml_board_scatter(k ? &full : &empty, &g, (ml_Rect){0, 0, w, h});
                ml_grid_free(&g);
            }
    ml_board_free(&full);
    ml_board_free(&empty);
}

static void a_table_of_tasks_marks_the_next(void **state)
{
    ml_Board b;
    ml_Grid g;
    ml_Text t = {0};

    (void)state;
    make(&b);
    ml_push(b.cx, &b.tasks,
            ((ml_BoardTask){.name = "conv1",
                            .weight = 2,
                            .flop = 1e9,
                            .best = 2e-3,
                            .bound = 1e-3,
                            .done = 16,
                            .gain = 1e-3,
                            .hope = 5e-4}));
    ml_push(b.cx, &b.tasks,
            ((ml_BoardTask){.name = "conv2",
                            .weight = 3,
                            .done = 0,
                            .gain = (double)NAN,
                            .hope = (double)NAN,
                            .next = true}));
    ml_grid_init(&g, 80, 23, false);
    ml_board_draw(&b, &g, (ml_Rect){0, 0, 80, 23}, &LOOK);
    ml_grid_text(&g, &t);
    assert_non_null(strstr(
        ml_text_z(&t),
        "  task                     weight  trials  GFLOP/s  of roof  gain ms  hope ms\n"
        "  conv1                         2      16    500.0   50.0 %    1.000    0.500\n"
        "▶ conv2                         3       0        -        -        -        -\n"));
    ml_text_free(&t);
    ml_grid_free(&g);
    ml_board_free(&b);
}

/* ---- of another process */

static void tell(const ml_Board *b, ml_BoardTold *told, ml_Board *to, bool heard)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Data d = {.schema = true};
    ml_JsonError e = {0};

    ml_data_row(&d);
    ml_board_tell(b, told, &d);
    const char *line = ml_data_lines(&d);
    const ml_Json *j = ml_json_read(cx, (ml_Str){line, strcspn(line, "\n")}, &e);

    assert_non_null(j);
    assert_true(ml_board_hear(to, ml_json_get(j, "board")) == heard);
    ml_data_free(&d);
    ml_ctx_unref(cx);
}

static void picture_of(const ml_Board *b, ml_Text *t)
{
    ml_Grid g;

    ml_grid_init(&g, 120, 30, false);
    ml_board_draw(b, &g, (ml_Rect){0, 0, 120, 30}, &LOOK);
    ml_board_scatter(b, &g, (ml_Rect){60, 20, 60, 10});
    ml_grid_text(&g, t);
    ml_grid_free(&g);
}

static void a_board_that_is_told_looks_the_same(void **state)
{
    ml_Board b, to = {0};
    ml_BoardTold told = {0};
    ml_Text one = {0}, other = {0};

    (void)state;
    make(&b);
    tell(&b, &told, &to, true);
    ml_board_trial(&b, &(ml_BoardTrial){.expected = 3e-3, .seconds = 1e-3, .record = 99});
    ml_board_trial(&b, &(ml_BoardTrial){.record = 100});
    b.st.done = 26;
    b.st.generation = 4;
    b.st.best = 1e-3;
    b.st.best_record = 99;
    b.rank[0] = (ml_BoardRank){99, 1e-3, "j=2×2, i=8×8", ""};
    for (size_t k = 1; k < b.n_ranks; k++)
        b.rank[k].against = NULL;
    ml_board_compare(&b);
    ml_push(b.cx, &b.faults, ((ml_BoardFault){"build", "codegen-failed", 1, 100}));
    b.paused = true;
    for (int k = 0; k < 3; k++) /* what was told is not told again */
        tell(&b, &told, &to, true);
    assert_int_equal(to.trials.n, b.trials.n);
    assert_true(to.paused && to.faults.n == 1 && to.faults.v[0].record == 100);
    picture_of(&b, &one);
    picture_of(&to, &other);
    assert_string_equal(ml_text_z(&one), ml_text_z(&other));
    ml_text_free(&one);
    ml_text_free(&other);
    ml_board_free(&b);
    ml_board_free(&to);
}

static void what_is_no_board_is_none(void **state)
{
    static const char *const LINES[] = {
        "{}",
        "{\"name\": 7, \"target\": \"x\"}",
        "[1]",
        "{\"name\": \"f\"}",
    };
    static const char odd[] =
        "{\"name\": \"f\", \"target\": \"x\", \"trials\": [[], 7, [1, "
        "-3, \"x\"]], \"ranks\": [[1]], \"sketches\": [{}], \"gains\": "
        "[null], \"faults\": [[]], \"failed\": 3, \"amount\": -1}";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_JsonError e = {0};
    ml_Board b = {0};
    ml_Text t = {0};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(LINES); k++)
        assert_false(ml_board_hear(&b, ml_json_read(cx, ml_str(LINES[k]), &e)));
    assert_false(ml_board_hear(&b, NULL));
    assert_true(ml_board_hear(&b, ml_json_read(cx, ml_str(odd), &e)));
    picture_of(&b, &t);
    assert_true(b.trials.n == 3 && b.n_ranks == 1);
    ml_text_free(&t);
    ml_board_free(&b);
    ml_ctx_unref(cx);
}

/* ---- several programs */

static void make_tasks(ml_Board *b, int n)
{
    static const char *const NAMES[] = {"R50.1 3x3", "R50.2 1x1", "dense", "max pool"};

    ml_board_init(b, "4 tasks", "x86-64-v4", 1, 2);
    for (int k = 0; k < n; k++)
        ml_push(b->cx, &b->tasks,
                ((ml_BoardTask){.name = NAMES[k % 4],
                                .weight = k % 4 + 1,
                                .flop = 1e9,
                                .best = (k % 4 + 1) * 1e-3,
                                .bound = 1e-3,
                                .done = 16,
                                .gain = k ? 1e-4 * k : (double)NAN,
                                .hope = 5e-4 * k,
                                .favour = 1,
                                .next = k == 2,
                                .over = k == 0}));
    for (int k = 0; k < 12; k++)
        ml_board_trial(b, &(ml_BoardTrial){.seconds = 0.06 - 0.002 * k});
    b->st =
        (ml_TuneStatus){.done = 64, .total = 200, .elapsed = 12, .eta = 20, .best = 0.038};
    b->without = 0;
    b->with = "mutate";
    snprintf(b->why, sizeof b->why,
             "dense: its next batch is expected to save 1.00 ms of "
             "the sum, the most of all");
}

static void the_board_of_tasks(int w, int h, const char *text)
{
    ml_Board b;
    ml_Grid g;

    make_tasks(&b, 4);
    ml_grid_init(&g, w, h, false);
    ml_board_draw(&b, &g, (ml_Rect){0, 0, w, h}, &LOOK);
    expect_picture(&g, text);
    ml_grid_free(&g);
    ml_board_free(&b);
}

static void the_board_of_tasks_at_80x20(void **state)
{
    (void)state;
    the_board_of_tasks(
        80, 20,
        "tune 4 tasks  x86-64-v4   seed 1            64/200 trials  12s  eta 20s\n"
        "sum of weighted times 38.0 ms  1 done\n"
        "  task                     weight  trials  GFLOP/s  of roof  gain ms  hope ms\n"
        "  R50.1 3x3                     1      16   1000.0  100.0 %        -    0.000\n"
        "  R50.2 1x1                     2      16    500.0   50.0 %    0.100    0.500\n"
        "▶ dense                         3      16    333.3   33.3 %    0.200    1.000\n"
        "  max pool                      4      16    250.0   25.0 %    0.300    1.500\n"
        "  30 ┤                                      dense: its next batch is expected to\n"
        "     │           ┌                          save 1.00 ms of the sum, the most of\n"
        "     │        ┌──┘                          all\n"
        "22.5 ┤     ┌──┘                             mutate, gen 0\n"
        "     │─────┘                                failed none\n"
        "  15 ┤                                      curve: how often a second all of\n"
        "     │                                      them could run\n"
        "     │\n"
        " 7.5 ┤\n"
        "     │\n"
        "   0 ┤\n"
        "     └────────────────── a column a trial\n"
        "p pause  ? help\n");
}

static void the_board_of_tasks_at_20x12(void **state)
{
    (void)state;
    the_board_of_tasks(20, 12,
                       "tune 4 tasks\n"
                       "sum of weighted tim…\n"
                       "1 done\n"
                       "  task     trials  …\n"
                       "  R50.1 3…     16  …\n"
                       "  R50.2 1…     16  …\n"
                       "▶ dense        16  …\n"
                       "  30 ┤        ┌───\n"
                       "     │────────┘\n"
                       "   0 ┤\n"
                       "     └──────────────\n"
                       "p pause  ? help\n");
}

static void many_tasks_scroll_to_the_chosen_one(void **state)
{
    ml_Board b;
    ml_Grid g;
    ml_Text t = {0};

    (void)state;
    make_tasks(&b, 40);
    b.tasks.v[37].name = "the chosen one";
    ml_grid_init(&g, 80, 23, false);
    ml_board_draw(&b, &g, (ml_Rect){0, 0, 80, 23}, &(ml_BoardLook){.cursor = 37});
    ml_grid_text(&g, &t);
    assert_non_null(strstr(ml_text_z(&t), "the chosen one"));
    ml_text_free(&t);
    ml_grid_free(&g);
    ml_board_free(&b);
}

/* ---- keys */

typedef struct Asked {
    int64_t adopted, inspected, against;
    int pauses;
} Asked;

static void adopt(void *user, int64_t record, ml_Text *said)
{
    ((Asked *)user)->adopted = record;
    ml_text_add(said, "branch tuned-1: 3 steps\n");
}

static void inspect(void *user, int64_t record, int64_t best, ml_Text *out)
{
    ((Asked *)user)->inspected = record;
    ((Asked *)user)->against = best;
    for (int k = 0; k < 100; k++)
        ml_text_fmt(out, "line %d\n", k);
}

static void failures(void *user, ml_Text *out)
{
    (void)user;
    ml_text_add(out, "1  build\n");
}

static void pause_search(void *user, bool on)
{
    ((Asked *)user)->pauses += on ? 1 : 10;
}

static bool pictured(ml_Live *l, const char *what)
{
    ml_Text t = {0};
    ml_Grid g;

    ml_grid_init(&g, 80, 23, false);
    ml_live_draw(l, &g);
    ml_grid_text(&g, &t);
    bool there = strstr(ml_text_z(&t), what) != NULL;

    ml_text_free(&t);
    ml_grid_free(&g);
    return there;
}

static void keys_choose_records_and_open_pages(void **state)
{
    Asked asked = {0};
    const ml_LiveCalls calls = {.user = &asked,
                                .adopt = adopt,
                                .inspect = inspect,
                                .diff = inspect,
                                .failures = failures,
                                .pause = pause_search};
    ml_Board b;
    ml_Live *l;

    (void)state;
    make(&b);
    l = ml_live_new(NULL, &b, &calls);
    ml_live_key(l, "down", "");
    ml_live_key(l, NULL, "a");
    assert_int_equal(asked.adopted, 22);
    assert_true(pictured(l, "branch tuned-1: 3 steps") && pictured(l, "c scatter  ? help"));
    ml_live_key(l, "enter", "");
    assert_true(asked.inspected == 22 && asked.against == 23);
    assert_true(pictured(l, "line 0\n") && !pictured(l, "line 30"));
    ml_live_key(l, "end", "");
    assert_true(pictured(l, "line 99\n") && !pictured(l, "line 0\n"));
    ml_live_key(l, "esc", "");
    assert_true(pictured(l, "against the best"));
    ml_live_key(l, NULL, "f");
    assert_true(pictured(l, "1  build"));
    ml_live_key(l, NULL, "c");
    assert_true(pictured(l, "right: predicted"));
    ml_live_key(l, NULL, "?");
    assert_true(pictured(l, "adopt it"));
    ml_live_key(l, NULL, "q");
    ml_live_key(l, NULL, "p");
    assert_true(asked.pauses == 1 && b.paused && pictured(l, "p go on"));
    ml_live_key(l, NULL, "p");
    assert_true(asked.pauses == 11 && !b.paused && pictured(l, "p pause"));
    ml_live_key(l, NULL, "x"); /* none of ours */
    ml_live_free(l);
    ml_board_free(&b);
}

typedef struct TaskAsked {
    size_t task;
    char key;
    int shown;
} TaskAsked;

static void on_task(void *user, size_t task, char key, ml_Text *said)
{
    *(TaskAsked *)user = (TaskAsked){task, key, ((TaskAsked *)user)->shown};
    ml_text_add(said, "it is so");
}

static void show_task(void *user, size_t task, ml_Text *out)
{
    ((TaskAsked *)user)->shown = (int)task;
    ml_text_add(out, "== all of it");
}

static void keys_choose_tasks(void **state)
{
    TaskAsked asked = {.shown = -1};
    const ml_LiveCalls calls = {.user = &asked, .task = on_task, .show_task = show_task};
    ml_Board b;
    ml_Live *l;

    (void)state;
    make_tasks(&b, 4);
    l = ml_live_new(NULL, &b, &calls);
    assert_true(pictured(l, "k skip  + - budget"));
    for (int k = 0; k < 9; k++)
        ml_live_key(l, "down", "");
    ml_live_key(l, NULL, "k");
    assert_true(asked.task == 3 && asked.key == 'k' && pictured(l, "it is so"));
    ml_live_key(l, "up", "");
    ml_live_key(l, NULL, "+");
    assert_true(asked.task == 2 && asked.key == '+');
    for (const char *p = "adfcx"; *p; p++) /* of one program */
        ml_live_key(l, NULL, (const char[]){*p, 0});
    assert_true(pictured(l, "task  ") && pictured(l, "weight"));
    ml_live_key(l, "enter", "");
    assert_true(asked.shown == 2 && pictured(l, "== all of it"));
    ml_live_key(l, "esc", "");
    ml_live_key(l, NULL, "?");
    assert_true(pictured(l, "it gets no further batch"));
    ml_live_key(l, "esc", "");
    ml_live_key(l, NULL, "p");
    assert_true(b.paused && pictured(l, "p go on"));
    ml_live_free(l);
    ml_board_free(&b);
}

static void without_records_keys_say_so(void **state)
{
    const ml_LiveCalls calls = {0};
    ml_Board b;
    ml_Live *l;

    (void)state;
    ml_board_init(&b, "f", "cpu", 1, 1);
    l = ml_live_new(NULL, &b, &calls);
    ml_live_key(l, "down", "");
    ml_live_key(l, NULL, "a");
    assert_true(pictured(l, "nothing is measured yet"));
    ml_live_free(l);
    ml_board_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_from_the_trials),
        cmocka_unit_test(nothing_foretold_has_no_correlation),
        cmocka_unit_test(ties_have_a_correlation_of_their_mean_ranks),
        cmocka_unit_test(a_design_is_told_against_the_best),
        cmocka_unit_test(the_board_at_80x23),
        cmocka_unit_test(the_board_at_120x35),
        cmocka_unit_test(the_board_at_40x14_in_ascii),
        cmocka_unit_test(the_board_at_20x9),
        cmocka_unit_test(the_scatter_shows_predicted_against_measured),
        cmocka_unit_test(any_size_and_any_state_is_drawn),
        cmocka_unit_test(a_table_of_tasks_marks_the_next),
        cmocka_unit_test(a_board_that_is_told_looks_the_same),
        cmocka_unit_test(what_is_no_board_is_none),
        cmocka_unit_test(the_board_of_tasks_at_80x20),
        cmocka_unit_test(the_board_of_tasks_at_20x12),
        cmocka_unit_test(many_tasks_scroll_to_the_chosen_one),
        cmocka_unit_test(keys_choose_tasks),
        cmocka_unit_test(keys_choose_records_and_open_pages),
        cmocka_unit_test(without_records_keys_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
