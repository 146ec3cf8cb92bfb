/*
 * Requests of the visualiser that schedule: what line each comes to, what is shown while it
 * is asked for, that leaving leaves nothing behind. Source: interaction 10.
 */
#include "repl/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moonloop/core/index/index.h"
#include "moonloop/primitives/trace.h"
#include "moonloop/tune/db/db.h"
#include "repl/run/run.h"
#include "repl/show/diff.h"
#include "repl/view/pane/panes.h"
#include "repl/view/view.h"

/* ---- the fixture */

typedef struct Fixture {
    ml_Session ss;
    ml_View v;
    ml_Rows rows;
    ml_Text text;
} Fixture;

static int start(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    setenv("XDG_DATA_HOME", "/nonexistent", 1); /* no tilings that were tuned here */
    open_session(&f->ss, 100, ML_MODE_TYPED);
    ml_view_init(&f->v, &f->ss, 100, 30, false);
    f->ss.patient = true;
    ml_view_run(&f->v, MATMUL_LINE, NULL);
    assert_non_null(f->ss.focus);
    *state = f;
    return 0;
}

static int end(void **state)
{
    Fixture *f = *state;

    ml_view_free(&f->v);
    ml_rows_free(&f->rows);
    ml_text_free(&f->text);
    ml_session_free(&f->ss);
    free(f);
    return 0;
}

static void run(Fixture *f, const char *line)
{
    if (!ml_view_run(&f->v, line, NULL))
        fail_msg("%s: %s", line, ml_text_z(&f->v.message));
}

static void at_node(Fixture *f, const char *name, ml_HandleKind kind)
{
    ml_Handle h = {0};

    if (!ml_resolve(f->ss.focus, name, kind, &h))
        fail_msg("there is no %s", name);
    ml_view_select(&f->v, h.uid);
}

static void at(Fixture *f, const char *loop)
{
    at_node(f, loop, ML_H_LOOP);
}

static void at_block(Fixture *f, const char *block)
{
    at_node(f, block, ML_H_BLOCK);
}

static const char *here(Fixture *f)
{
    return f->v.node ? ml_name_of(f->ss.focus, f->v.node) : "nothing";
}

static void ask(Fixture *f, ml_Request r)
{
    assert_true(ml_act_begin(&f->v, r, 1));
}

static void key(Fixture *f, const char *name)
{
    ml_Key k = {.name = name};

    ml_act_key(&f->v, &k);
}

static void type(Fixture *f, const char *text)
{
    for (const char *p = text; *p;) {
        ml_Key k = {0};
        size_t n = 1;

        while (((unsigned char)p[n] & 0xc0) == 0x80)
            n++;
        memcpy(k.ch, p, n);
        ml_act_key(&f->v, &k);
        p += n;
    }
}

static void expect_line(Fixture *f, const char *lua)
{
    assert_string_equal(ml_text_z(&f->v.lua), lua);
}

static void expect_message(Fixture *f, const char *part)
{
    if (!strstr(ml_text_z(&f->v.message), part))
        fail_msg("no \"%s\" in: %s", part, ml_text_z(&f->v.message));
}

static int version(Fixture *f)
{
    return ml_schedule_version(f->ss.focus);
}

/* The row of the prompt; `|` is not put at the cursor. */
static const char *prompt(Fixture *f, int *cursor)
{
    int none;

    ml_rows_reset(&f->rows);
    ml_act_line(&f->v, &f->rows, cursor ? cursor : &none);
    return f->rows.v.n ? f->rows.v.v[0].text : "";
}

static void expect_prompt(Fixture *f, const char *part)
{
    const char *z = prompt(f, NULL);

    if (!strstr(z, part))
        fail_msg("no \"%s\" in: %s", part, z);
    if (ml_text_columns(z, strlen(z)) > f->v.grid.w)
        fail_msg("too wide: %s", z);
}

static const char *menu(Fixture *f, int *chosen)
{
    int none;

    ml_rows_reset(&f->rows);
    ml_act_menu(&f->v, &f->rows, chosen ? chosen : &none);
    ml_text_clear(&f->text);
    for (size_t k = 0; k < f->rows.v.n; k++)
        ml_text_fmt(&f->text, "%s%s\n", f->rows.v.v[k].dim ? "~" : "", f->rows.v.v[k].text);
    return ml_text_z(&f->text);
}

static void expect_menu(Fixture *f, const char *part)
{
    const char *z = menu(f, NULL);

    if (!strstr(z, part))
        fail_msg("no \"%s\" in:\n%s", part, z);
}

static const char *on_screen(Fixture *f)
{
    ml_view_draw(&f->v);
    ml_text_clear(&f->text);
    ml_grid_text(&f->v.grid, &f->text);
    return ml_text_z(&f->text);
}

static void expect_screen(Fixture *f, const char *part)
{
    if (!strstr(on_screen(f), part))
        fail_msg("no \"%s\" in:\n%s", part, ml_text_z(&f->text));
}

static void expect_no_screen(Fixture *f, const char *part)
{
    if (strstr(on_screen(f), part))
        fail_msg("\"%s\" in:\n%s", part, ml_text_z(&f->text));
}

static bool applies(Fixture *f, ml_Request r);

/* ---- at once */

static void kinds_of_loops_are_one_line_each(void **state)
{
    Fixture *f = *state;

    at(f, "i");
    ask(f, ML_REQ_PARALLEL);
    expect_line(f, "parallel(\"i\")");
    assert_int_equal(version(f), 1);
    assert_string_equal(here(f), "i");
    at(f, "j");
    ask(f, ML_REQ_VECTORIZE);
    expect_line(f, "vectorize(\"j\")");
    at(f, "k");
    ask(f, ML_REQ_UNROLL);
    expect_line(f, "unroll(\"k\")");
    assert_int_equal(version(f), 3);
    ask(f, ML_REQ_UNDO);
    expect_line(f, ":undo");
    assert_int_equal(version(f), 2);
    ask(f, ML_REQ_REDO);
    assert_int_equal(version(f), 3);
    assert_true(ml_act_begin(&f->v, ML_REQ_UNDO, 3));
    assert_int_equal(version(f), 0);
}

static void fuse_takes_the_only_child_or_as_many_as_the_count_says(void **state)
{
    Fixture *f = *state;

    at(f, "i");
    ask(f, ML_REQ_FUSE);
    expect_line(f, "fuse(\"i\", \"j\")");
    assert_string_equal(here(f), "i_j_fused");
    ask(f, ML_REQ_UNDO);
    at(f, "i");
    assert_true(ml_act_begin(&f->v, ML_REQ_FUSE, 3));
    expect_line(f, "fuse(\"i\", \"j\", \"k\")");
    ask(f, ML_REQ_UNDO);
    at(f, "k");
    ask(f, ML_REQ_FUSE);
    expect_message(f, "the body of loop k is block C, not a loop");
    assert_int_equal(version(f), 0);
}

static void a_loop_moves_by_places_and_says_what_is_in_the_way(void **state)
{
    Fixture *f = *state;

    at(f, "i");
    ask(f, ML_REQ_MOVE_DOWN);
    expect_line(f, "reorder(\"j\", \"i\")");
    assert_string_equal(here(f), "i");
    ask(f, ML_REQ_MOVE_UP);
    expect_line(f, "reorder(\"i\", \"j\")");
    assert_true(ml_act_begin(&f->v, ML_REQ_MOVE_DOWN, 2));
    expect_line(f, "reorder(\"j\", \"k\", \"i\")");
    assert_true(ml_act_begin(&f->v, ML_REQ_MOVE_UP, 2));
    expect_line(f, "reorder(\"i\", \"j\", \"k\")");
    ask(f, ML_REQ_MOVE_UP);
    expect_message(f, "loop i is the outermost loop of its nest");
    run(f, "decompose_reduction(\"C\", \"k\")");
    at(f, "j");
    ask(f, ML_REQ_MOVE_DOWN);
    expect_message(f, "the body of loop j holds 2 things, not one loop");
}

static void an_action_is_the_primitive_whatever_its_name_means_in_lua(void **state)
{
    Fixture *f = *state;

    run(f, "parallel, split, reorder, cache_read = 5, print, {}, error");
    at(f, "i");
    ask(f, ML_REQ_PARALLEL);
    expect_line(f, "parallel(\"i\")");
    assert_int_equal(version(f), 1);
    at(f, "j");
    ask(f, ML_REQ_SPLIT);
    type(f, "auto, 8");
    key(f, "enter");
    assert_int_equal(version(f), 2);
    ask(f, ML_REQ_MOVE_DOWN);
    expect_line(f, "reorder(\"j_1\", \"j_0\")");
    assert_int_equal(version(f), 3);
    at(f, "k");
    ask(f, ML_REQ_UNROLL);
    at(f, "j_0");
    ask(f, ML_REQ_REPEAT);
    assert_int_equal(version(f), 5);
    run(f, "four = 4"); /* arguments are Lua's yet, and values of its names */
    ask(f, ML_REQ_UNDO);
    at(f, "k");
    run(f, "split, parallel = nil");
    ask(f, ML_REQ_SPLIT);
    type(f, "auto, four * 2");
    key(f, "enter");
    assert_string_equal(here(f), "k_0");
}

static void the_message_is_the_step_or_the_error_itself(void **state)
{
    Fixture *f = *state;

    run(f, ":set echo off");
    at(f, "i");
    ask(f, ML_REQ_PARALLEL);
    assert_string_equal(ml_text_z(&f->v.message), "[1] parallel  i");
    run(f, "print('something') unroll('k') vectorize('j')");
    assert_string_equal(ml_text_z(&f->v.message),
                        "[3] vectorize  j   and 1 step before it");
    run(f, "print('something')");
    assert_string_equal(ml_text_z(&f->v.message), "something");
    run(f, ":set errors none"); /* what is printed says less */
    at(f, "k");
    ask(f, ML_REQ_PARALLEL);
    assert_true(f->v.message_is_error);
    expect_message(f, "error: parallel: loop k drives the reduction");
}

static void what_a_request_does_not_suit_is_said(void **state)
{
    Fixture *f = *state;

    at_block(f, "C");
    ask(f, ML_REQ_SPLIT);
    expect_message(f, "split works on a loop; C is a block");
    f->v.node = 0;
    ask(f, ML_REQ_PARALLEL);
    expect_message(f, "parallel works on a loop: select one");
    assert_false(ml_act_open(&f->v));
    assert_false(ml_act_begin(&f->v, ML_REQ_ZOOM, 1));
}

typedef struct Elsewhere { /* a loop of a function that is not worked on */
    ml_Schedule *s;
    ml_Uid loop;
} Elsewhere;

static void elsewhere(ml_Uid uid, const ml_Stmt *node, void *user)
{
    Elsewhere *e = user;

    if (node->kind == ML_STMT_FOR &&
        ml_index_func(ml_schedule_program(e->s).index, uid) != ml_schedule_func_pos(e->s))
        e->loop = uid;
}

static void nodes_of_a_function_that_names_do_not_mean_are_refused(void **state)
{
    Fixture *f = *state;
    Elsewhere e = {0};

    run(f, "two = schedule(s:mod():with(\"second\", s:func()))");
    e.s = f->ss.focus;
    ml_index_each(ml_schedule_program(e.s).index, elsewhere, &e);
    assert_true(e.loop > 0);
    f->v.node = e.loop;
    for (int r = ML_REQ_SPLIT; r <= ML_REQ_REPEAT; r++) {
        ask(f, (ml_Request)r);
        assert_false(ml_act_open(&f->v));
        expect_message(f, "which names do not mean now: s:work_on(\"");
    }
    assert_false(applies(f, ML_REQ_SPLIT));
}

/* ---- prompts */

static void split_asks_for_factors_and_tries_each_key(void **state)
{
    Fixture *f = *state;
    int cursor;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    assert_true(ml_act_open(&f->v));
    expect_prompt(f, "split k[32] into: ");
    type(f, "auto, 4");
    assert_string_equal(prompt(f, &cursor),
                        "split k[32] into: auto, 4            ✓ makes k_0[8] k_1[4]"
                        "                        ⏎ apply  Esc leave");
    assert_int_equal(cursor, 25);
    assert_int_equal(version(f), 0);
    ml_rows_reset(&f->rows);
    assert_true(ml_act_preview(&f->v, &f->rows));
    key(f, "enter");
    expect_line(f, "split(\"k\", {auto, 4})");
    assert_false(ml_act_open(&f->v));
    assert_int_equal(version(f), 1);
    assert_string_equal(here(f), "k_0");
}

static void one_factor_alone_is_the_inner_one(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    type(f, "4");
    expect_prompt(f, "✓ makes k_0[8] k_1[4]");
    key(f, "enter");
    expect_line(f, "split(\"k\", {auto, 4})");
}

static void a_preview_marks_the_lines_that_would_change(void **state)
{
    Fixture *f = *state;
    size_t changed = 0;

    run(f, "reorder(\"k\", \"j\")");
    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    type(f, "auto, 4");
    ml_rows_reset(&f->rows);
    assert_true(ml_act_preview(&f->v, &f->rows));
    for (size_t k = 0; k < f->rows.v.n; k++) {
        const ml_Row *r = &f->rows.v.v[k];

        assert_true(r->dim == (r->sign != '+')); /* what is new is not dimmed */
        if (strstr(r->text, "for ") || strstr(r->text, "T.axis"))
            changed += r->sign == '+';
        else
            assert_int_equal(r->sign, 0);
    }
    assert_true(changed >= 2);
    expect_screen(f, "2 Program preview +");
    expect_screen(f, "│+");
    key(f, "esc");
    expect_no_screen(f, "preview");
    ml_rows_reset(&f->rows);
    assert_false(ml_act_preview(&f->v, &f->rows));
}

static void add_new_rows(const ml_Rows *r, ml_Text *out)
{
    for (size_t k = 0; k < r->v.n; k++)
        if (r->v.v[k].changed || r->v.v[k].sign == '+')
            ml_text_fmt(out, "%s\n", r->v.v[k].text);
}

static void a_step_marks_the_lines_that_its_preview_marked(void **state)
{
    static const char *const LINES[] = {"split(\"j\", {auto, 4})", "reorder(\"k\", \"i\")",
                                        "decompose_reduction(\"C\", \"k\")",
                                        "cache_read(\"C_update\", \"A\", \"local\")",
                                        "compute_at(\"A_local\", \"j_0\")"};
    Fixture *f = *state;
    ml_Text would = {0}, is = {0};

    for (size_t k = 0; k < ML_COUNT(LINES); k++) {
        ml_text_clear(&would);
        ml_text_clear(&is);
        ask(f, ML_REQ_COMMAND);
        key(f, "backspace");
        type(f, LINES[k]);
        ml_rows_reset(&f->rows);
        assert_true(ml_act_preview(&f->v, &f->rows));
        add_new_rows(&f->rows, &would);
        key(f, "enter");
        assert_int_equal(version(f), k + 1);
        add_new_rows(ml_view_rows(&f->v, ML_PANE_PROGRAM), &is);
        assert_true(is.n > 0);
        assert_string_equal(ml_text_z(&is), ml_text_z(&would));
    }
    ml_text_free(&would);
    ml_text_free(&is);
}

/* Lines that only go away leave a mark where they stood, and the title counts them. */
static void a_preview_marks_where_lines_are_gone(void **state)
{
    static const char FROM[] = "a\nb\nc\nd\ne\n";
    char sign[8] = {0};
    Fixture *f = *state;

    ml_DiffStats st = ml_diff_signs(FROM, "a\nd\nx\n", sign);

    assert_string_equal(sign, " -+");
    assert_int_equal(st.removed, 3);
    assert_int_equal(st.added, 1);
    memset(sign, 0, sizeof sign);
    ml_diff_signs(FROM, "a\nb\n", sign);
    assert_string_equal(sign, " -");
    memset(sign, 0, sizeof sign);
    ml_diff_signs(FROM, FROM, sign);
    assert_string_equal(sign, "     ");

    run(f, "s = schedule(workload('C2D-1'))");
    at_block(f, "Xp");
    ask(f, ML_REQ_ALL);
    type(f, "compute_inline");
    expect_screen(f, "2 Program preview +");
    expect_screen(f, "│-");
    key(f, "esc");
}

/* A menu covers half of the panes: what changes is seen above it. */
static void a_preview_begins_above_the_menu(void **state)
{
    Fixture *f = *state;

    ml_view_resize(&f->v, 80, 24);
    run(f, "s = schedule(workload('C2D-1'))");
    at_node(f, "c_1", ML_H_LOOP);
    ask(f, ML_REQ_ALL);
    for (int k = 0; k < 60 && !strstr(prompt(f, NULL), "c_1[64]: unroll"); k++)
        key(f, "down");
    expect_prompt(f, "unroll");
    expect_screen(f, "T.unroll(");
    key(f, "esc");
}

static void leaving_a_prompt_leaves_no_trace(void **state)
{
    Fixture *f = *state;
    uint64_t hash = ml_schedule_hash(f->ss.focus);
    ml_State st = ml_schedule_state(f->ss.focus), now;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    type(f, "auto, 4");
    key(f, "esc");
    assert_false(ml_act_open(&f->v));
    now = ml_schedule_state(f->ss.focus);
    assert_int_equal(ml_schedule_n_versions(f->ss.focus), 1);
    assert_ptr_equal(st.trace, now.trace);
    assert_int_equal(st.random, now.random);
    assert_true(hash == ml_schedule_hash(f->ss.focus));
    assert_int_equal(f->ss.n_done, 0);
}

static void a_refusal_shows_before_enter_and_keeps_the_prompt(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    type(f, "4, 4");
    expect_prompt(f, "✗ ");
    ml_rows_reset(&f->rows);
    assert_false(ml_act_preview(&f->v, &f->rows));
    key(f, "enter");
    assert_true(ml_act_open(&f->v));
    assert_int_equal(version(f), 0);
    expect_message(f, "factors-too-small");
    key(f, "backspace");
    type(f, "8");
    expect_prompt(f, "✓ ");
    key(f, "enter");
    expect_line(f, "split(\"k\", {4, 8})");
    assert_int_equal(version(f), 1);
}

static void keys_edit_the_text(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    type(f, "16, é2");
    key(f, "left");
    key(f, "backspace");
    expect_prompt(f, "into: 16, 2 ");
    key(f, "home");
    key(f, "del");
    key(f, "del");
    type(f, "auto");
    expect_prompt(f, "into: auto, 2 ");
    key(f, "end");
    key(f, "C-w");
    expect_prompt(f, "into: auto,  ");
    key(f, "C-u");
    expect_prompt(f, "into:    ");
    expect_prompt(f, "Tab proposes");
    key(f, "backspace"); /* of nothing: leaves */
    assert_false(ml_act_open(&f->v));
}

static void a_prompt_remembers_what_was_entered_there(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    type(f, "auto, 4");
    key(f, "enter");
    at(f, "i");
    ask(f, ML_REQ_SPLIT);
    type(f, "au");
    key(f, "up");
    expect_prompt(f, "split i[96] into: auto, 4 ");
    key(f, "down");
    expect_prompt(f, "split i[96] into: au ");
    key(f, "up");
    key(f, "enter");
    expect_line(f, "split(\"i\", {auto, 4})");
}

static void tab_proposes_whole_tilings_then_single_factors(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    key(f, "tab");
    expect_prompt(f, "into: auto, 16 ");
    expect_menu(f, "auto, 8\n");
    expect_menu(
        f, "auto, 4     accel_matmul_4x4x4, accel_matmul_4x4x4_trans_b, bfmmla_2x2x4\n");
    key(f, "tab");
    expect_prompt(f, "into: auto, 8 ");
    key(f, "S-tab");
    expect_prompt(f, "into: auto, 16 ");
    key(f, "C-u");
    type(f, "a");
    key(f, "tab");
    expect_prompt(f, "into: auto ");
    key(f, "C-u");
    type(f, "4, 3");
    key(f, "tab");
    expect_prompt(f, "into: 4, 32 ");
}

/* A database with one record whose trace tiles a loop of 32 by 4 and 8. */
static void tilings_that_were_tuned_come_first(void **state)
{
    static const char TRACE[] =
        "[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]], "
        "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]], "
        "[\"SamplePerfectTile\", [\"l3\"], [2, 16], [\"v4\", \"v5\"]]], [[2, [4, 8]]]]";
    Fixture *f = *state;
    char dir[] = "/tmp/ml-act-XXXXXX";
    ml_Ctx *cx = ml_ctx_new(0);
    double secs = 0.001;
    ml_DbWorkload w = {.hash = "0123456789abcdef", .name = "w", .program = "p", .flop = 1};
    ml_Record r = {.target = "{}",
                   .space = "s",
                   .trace = TRACE,
                   .n_run = 1,
                   .run_secs = &secs,
                   .args = "[]",
                   .machine = "m",
                   .version = "v"};

    assert_non_null(mkdtemp(dir));
    setenv("XDG_DATA_HOME", dir, 1);
    ml_Db *db = ml_db_open(cx, ml_db_default_path(cx));

    assert_non_null(db);
    assert_true(ml_db_put_workload(db, cx, &w));
    r.workload = w.id;
    assert_true(ml_db_put(db, cx, &r));
    ml_db_close(db);
    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    key(f, "tab");
    expect_prompt(f, "into: 4, 8 ");
    expect_menu(f, "4, 8        tuned\nauto, 16");
    key(f, "esc");
    at(f, "i"); /* of another extent */
    ask(f, ML_REQ_SPLIT);
    key(f, "tab");
    expect_prompt(f, "into: auto, 16 ");
    key(f, "esc");
    remove(ml_format(cx, "%s", ml_db_default_path(cx)));
    remove(ml_format(cx, "%s/moonloop/db", dir));
    remove(ml_format(cx, "%s/moonloop", dir));
    remove(dir);
    ml_ctx_unref(cx);
}

static void tilings_are_gone_through_one_by_one(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_SPLIT_NEXT);
    expect_line(f, "split(\"k\", {auto, 16})");
    ask(f, ML_REQ_SPLIT_NEXT);
    expect_line(f, "split(\"k\", {auto, 8})");
    assert_int_equal(version(f), 2); /* a sibling */
    ask(f, ML_REQ_UNDO);
    assert_int_equal(version(f), 0);
    ask(f, ML_REQ_REDO);
    at(f, "i"); /* another loop: what was split stays */
    ask(f, ML_REQ_SPLIT_NEXT);
    expect_line(f, "split(\"i\", {auto, 16})");
    ask(f, ML_REQ_UNDO);
    assert_int_equal(version(f), 2);
}

static void a_narrow_prompt_keeps_the_cursor_in_sight(void **state)
{
    Fixture *f = *state;
    int cursor;

    ml_view_resize(&f->v, 40, 10);
    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    for (int k = 0; k < 30; k++) {
        type(f, "1, ");
        expect_prompt(f, "split k[32] into: ");
        prompt(f, &cursor);
        assert_in_range(cursor, 0, 39);
    }
}

/* ---- menus */

static void bind_offers_the_thread_axes(void **state)
{
    Fixture *f = *state;
    int chosen = 0;

    at(f, "i");
    ask(f, ML_REQ_BIND);
    expect_prompt(f, "bind i[96] to: blockIdx.x");
    expect_menu(f, "threadIdx.x");
    type(f, "tHrEadI"); /* narrows */
    menu(f, &chosen);
    assert_int_equal(chosen, 0);
    assert_int_equal(f->rows.v.n, 3);
    key(f, "down");
    key(f, "enter");
    expect_line(f, "bind(\"i\", \"threadIdx.y\")");
    assert_false(ml_act_open(&f->v));
    at(f, "k");
    ask(f, ML_REQ_BIND);
    expect_menu(f, "~blockIdx.x"); /* k is reduced over */
    key(f, "esc");
    assert_int_equal(version(f), 1);
}

static void cache_read_asks_for_buffer_and_scope(void **state)
{
    Fixture *f = *state;

    at_block(f, "C");
    ask(f, ML_REQ_CACHE_READ);
    expect_menu(f, "A  global float32, 2 dimensions\nB  global");
    key(f, "down");
    key(f, "enter");
    expect_prompt(f, "cache_read B in scope: global   ✓ makes B_global (8 KiB)");
    type(f, "local");
    ml_rows_reset(&f->rows);
    assert_true(ml_act_preview(&f->v, &f->rows));
    key(f, "enter");
    expect_line(f, "cache_read(\"C\", \"B\", \"local\")");
    assert_string_equal(here(f), "C");
    ask(f, ML_REQ_CACHE_WRITE); /* one buffer: the scope at once */
    expect_prompt(f, "cache_write C in scope: global");
    key(f, "esc");
    at(f, "k"); /* the only block below a loop will do */
    ask(f, ML_REQ_CACHE_WRITE);
    expect_prompt(f, "cache_write C in scope: ");
    key(f, "esc");
}

static void annotations_are_set_and_taken_away(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_ANNOTATE);
    expect_menu(f, "pragma_unroll_explicit");
    assert_null(strstr(menu(f, NULL), "vector_bytes")); /* of blocks */
    type(f, "explicit");
    key(f, "enter");
    expect_prompt(f, "annotate k[32] pragma_unroll_explicit = ");
    type(f, "1");
    key(f, "enter");
    expect_line(f, "annotate(\"k\", \"pragma_unroll_explicit\", 1)");
    ask(f, ML_REQ_ANNOTATE);
    expect_menu(f, "unannotate pragma_unroll_explicit");
    key(f, "enter");
    expect_line(f, "unannotate(\"k\", \"pragma_unroll_explicit\")");
    ask(f, ML_REQ_ANNOTATE);
    key(f, "end");
    key(f, "enter");
    expect_prompt(f, "annotate(\"k\", \"");
    type(f, "mine\", {1, 2}");
    key(f, "enter");
    expect_line(f, "annotate(\"k\", \"mine\", {1, 2})");
}

static void tensorize_lists_the_intrinsics_that_match_first(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(16, 16, 16))");
    run(f, "split(\"i\", {auto, 4}) split(\"j\", {auto, 4}) split(\"k\", {auto, 4}) "
           "reorder(\"i_0\", \"j_0\", \"k_0\", \"i_1\", \"j_1\", \"k_1\") "
           "decompose_reduction(\"C\", \"k_0\")");
    at(f, "i_1");
    ask(f, ML_REQ_TENSORIZE);
    while (ml_act_idle(&f->v, 5))
        continue;
    assert_true(strncmp(menu(f, NULL), "accel_matmul_4x4x4\n", 19) == 0);
    expect_menu(f, "\n~dp4a");
    key(f, "enter");
    expect_line(f, "tensorize(\"i_1\", \"accel_matmul_4x4x4\")");
}

static void all_primitives_are_in_the_menu_of_all(void **state)
{
    Fixture *f = *state;
    size_t n;

    at(f, "k");
    ask(f, ML_REQ_ALL);
    while (ml_act_idle(&f->v, 5))
        continue;
    menu(f, NULL);
    n = f->rows.v.n;
    assert_int_equal(n, ml_n_primitives);
    expect_menu(f, "split(\"k\", {auto, 2})  makes k_0[16] k_1[2]");
    expect_menu(f, "~merge");
    type(f, "add_unit"); /* no request of its own: a prompt for its arguments */
    key(f, "enter");
    expect_prompt(f, "add_unit_loop(\"k\"");
    key(f, "enter");
    expect_line(f, "add_unit_loop(\"k\")");
    assert_int_equal(version(f), 1);
    at(f, "k");
    ask(f, ML_REQ_ALL);
    type(f, "reorder"); /* it, and not what has it in its name */
    key(f, "enter");
    expect_prompt(f, "reorder: ");
    key(f, "esc");
    at(f, "k");
    ask(f, ML_REQ_ALL);
    type(f, "unroll");
    key(f, "enter"); /* runs at once */
    expect_line(f, "unroll(\"k\")");
    at(f, "k");
    ask(f, ML_REQ_ALL);
    type(f, "split");
    key(f, "enter"); /* the request's own prompt */
    expect_prompt(f, "split k[32] into: ");
    key(f, "esc");
}

static void a_prompt_for_arguments_tells_the_parameter_at_the_cursor(void **state)
{
    Fixture *f = *state;

    run(f, "cache_write(\"C\", \"C\", \"local\")");
    at_block(f, "C");
    ask(f, ML_REQ_ALL);
    type(f, "storage_al");
    key(f, "enter");
    expect_prompt(f, "storage_align(\"C\", \"C_local\", 0, 16, 0");
    key(f, "C-w");
    key(f, "C-w");
    expect_prompt(f, "factor is missing: the stride is a multiple of this");
    type(f, "8, 1");
    key(f, "enter");
    expect_line(f, "storage_align(\"C\", \"C_local\", 0, 8, 1)");
}

static void marks_are_made_and_gone_to(void **state)
{
    Fixture *f = *state;

    at(f, "i");
    ask(f, ML_REQ_PARALLEL);
    ask(f, ML_REQ_MARK);
    expect_prompt(f, "mark v1 as: ");
    type(f, "wide");
    key(f, "enter");
    expect_line(f, ":mark wide");
    assert_int_equal(ml_schedule_find_mark(f->ss.focus, "wide"), 1);
    ask(f, ML_REQ_UNDO);
    ask(f, ML_REQ_GOTO_MARK);
    expect_menu(f, "wide  v1  parallel");
    key(f, "enter");
    expect_line(f, ":goto wide");
    assert_int_equal(version(f), 1);
}

static void the_sessions_lua_is_copied(void **state)
{
    Fixture *f = *state;

    at(f, "i");
    ask(f, ML_REQ_PARALLEL);
    ask(f, ML_REQ_COPY);
    assert_null(ml_act_clipboard(&f->v));
    key(f, "enter");
    assert_non_null(strstr(ml_act_clipboard(&f->v), "parallel"));
    ml_act_clipboard_taken(&f->v);
    assert_null(ml_act_clipboard(&f->v));
    ask(f, ML_REQ_COPY);
    key(f, "down");
    key(f, "enter");
    expect_prompt(f, "write Lua to: matmul.lua");
    key(f, "esc");
}

static void the_last_error_is_a_page(void **state)
{
    Fixture *f = *state;

    ask(f, ML_REQ_EXPLAIN);
    expect_message(f, "there was no error yet");
    at(f, "k");
    ask(f, ML_REQ_PARALLEL);
    assert_int_equal(version(f), 0);
    ask(f, ML_REQ_EXPLAIN);
    ml_view_draw(&f->v);
    ml_text_clear(&f->text);
    ml_grid_text(&f->v.grid, &f->text);
    assert_non_null(strstr(ml_text_z(&f->text), "the last error"));
    assert_non_null(strstr(ml_text_z(&f->text), "drives the reduction iter vk"));
}

static void a_line_of_the_prompt_is_a_command_or_lua(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    ask(f, ML_REQ_COMMAND);
    expect_prompt(f, "matmul v0> :");
    type(f, "mar");
    key(f, "tab");
    type(f, "a");
    key(f, "enter");
    expect_line(f, ":mark a");
    ask(f, ML_REQ_COMMAND);
    key(f, "backspace");
    type(f, "split(\"k\", {auto, 4})");
    expect_prompt(f, "✓ makes k_0[8] k_1[4]");
    key(f, "enter");
    assert_int_equal(version(f), 1);
    assert_string_equal(here(f), "k_0");
}

/* ---- choices */

static ml_Choice choice(Fixture *f, const char *loop, int *place)
{
    ml_Handle h = {0};

    assert_true(ml_resolve(f->ss.focus, loop, ML_H_LOOP, &h));
    return ml_act_choice(&f->v, h.uid, place);
}

static void compute_at_lights_up_legal_loops_and_the_cursor_picks(void **state)
{
    Fixture *f = *state;

    run(f, "cache_read(\"C\", \"A\", \"local\")");
    at_block(f, "A_local");
    ask(f, ML_REQ_COMPUTE_AT);
    assert_int_equal(choice(f, "i", NULL), ML_CHOICE_LEGAL);
    assert_int_equal(choice(f, "k", NULL), ML_CHOICE_LEGAL);
    assert_int_equal(choice(f, "ax0", NULL), ML_CHOICE_NONE);
    expect_prompt(f, "compute_at A_local under: i   ✓ ");
    assert_string_equal(here(f), "i");
    key(f, "down");
    expect_prompt(f, "✓ block A_local now runs 196608 times instead of 3072");
    key(f, "up");
    key(f, "enter");
    expect_line(f, "compute_at(\"A_local\", \"i\")");
    assert_string_equal(here(f), "A_local");
    ask(f, ML_REQ_UNDO);
    at_block(f, "A_local");
    ask(f, ML_REQ_COMPUTE_AT);
    key(f, "esc");
    assert_string_equal(here(f), "A_local");
    at_block(f, "C");
    ask(f, ML_REQ_COMPUTE_AT);
    expect_message(f, "no loop will do for compute_at of C: ");
    assert_false(ml_act_open(&f->v));
}

static void decompose_and_rfactor_pick_a_loop(void **state)
{
    Fixture *f = *state;

    run(f, "reorder(\"i\", \"k\", \"j\")");
    at_block(f, "C");
    ask(f, ML_REQ_DECOMPOSE);
    assert_int_equal(choice(f, "k", NULL), ML_CHOICE_LEGAL);
    assert_int_equal(choice(f, "j", NULL),
                     ML_CHOICE_ILLEGAL); /* the init would come too late */
    key(f, "down");
    assert_string_equal(here(f), "k");
    key(f, "down"); /* illegal ones are passed over */
    assert_string_equal(here(f), "i");
    key(f, "left"); /* but can be asked about */
    assert_string_equal(here(f), "j");
    expect_prompt(f, "✗ ");
    key(f, "right");
    key(f, "down");
    key(f, "enter");
    expect_line(f, "decompose_reduction(\"C\", \"k\")");
    ask(f, ML_REQ_UNDO);
    at_block(f, "C");
    ask(f, ML_REQ_RFACTOR);
    assert_int_equal(choice(f, "i", NULL), ML_CHOICE_ILLEGAL);
    assert_string_equal(here(f), "k");
    key(f, "enter");
    expect_prompt(f, "rfactor k[32] as dimension: 0");
    key(f, "enter");
    expect_line(f, "rfactor(\"k\", 0)");
}

static void reorder_marks_loops_in_their_new_order(void **state)
{
    Fixture *f = *state;
    int place = 0;

    at(f, "j");
    ask(f, ML_REQ_REORDER);
    key(f, "enter");
    expect_message(f, "mark two loops or more");
    key(f, "down");
    type(f, " ");
    key(f, "up");
    type(f, " ");
    assert_int_equal(choice(f, "k", &place), ML_CHOICE_TAKEN);
    assert_int_equal(place, 1);
    assert_int_equal(choice(f, "j", &place), ML_CHOICE_TAKEN);
    assert_int_equal(place, 2);
    expect_prompt(f, "reorder: k, j   ✓ ");
    key(f, "down");
    type(f, " "); /* taken back: j is first now */
    assert_int_equal(choice(f, "j", &place), ML_CHOICE_TAKEN);
    assert_int_equal(place, 1);
    key(f, "up");
    key(f, "up");
    type(f, " ");
    key(f, "enter");
    expect_line(f, "reorder(\"j\", \"i\")");
    assert_string_equal(here(f), "j");
}

static ml_Uid uid_of(Fixture *f, const char *name, ml_HandleKind kind)
{
    ml_Handle h = {0};

    assert_true(ml_resolve(f->ss.focus, name, kind, &h));
    return h.uid;
}

static void a_loop_is_dragged_to_the_place_of_another(void **state)
{
    Fixture *f = *state;
    ml_Uid i = uid_of(f, "i", ML_H_LOOP), k = uid_of(f, "k", ML_H_LOOP);

    ml_act_drag(&f->v, i, k, false);
    assert_int_equal(choice(f, "k", NULL), ML_CHOICE_LEGAL);
    expect_prompt(f, "move i[96] to: k   ✓ ");
    assert_int_equal(version(f), 0);
    ml_act_drag(&f->v, i, k, true);
    expect_line(f, "reorder(\"j\", \"k\", \"i\")");
    assert_false(ml_act_open(&f->v));
    ml_act_drag(&f->v, i, uid_of(f, "j", ML_H_LOOP), true);
    expect_line(f, "reorder(\"i\", \"j\", \"k\")");
    ml_act_drag(&f->v, i, i, true);
    assert_int_equal(version(f), 2);
    run(f, "cache_read(\"C\", \"A\", \"local\")");
    ml_act_drag(&f->v, uid_of(f, "ax0", ML_H_LOOP), i, true);
    expect_message(f, "ax0 cannot be moved there: that is no loop of its own nest");
    ml_act_drag(&f->v, uid_of(f, "A_local", ML_H_BLOCK), i, true);
    expect_line(f, "compute_at(\"A_local\", \"i\")");
}

/* ---- what applies */

static bool applies(Fixture *f, ml_Request r)
{
    ml_Request out[ML_N_REQUESTS];
    size_t n;

    while (ml_act_idle(&f->v, 5))
        continue;
    n = ml_act_applicable(&f->v, out, ML_N_REQUESTS);
    for (size_t k = 0; k < n; k++)
        if (out[k] == r)
            return true;
    return false;
}

static void expect_why_not(Fixture *f, ml_Request r, const char *part)
{
    ml_Text why = {0};

    ml_act_why_not(&f->v, r, &why);
    if (!strstr(ml_text_z(&why), part) || strchr(ml_text_z(&why), '\n'))
        fail_msg("no \"%s\" in: %s", part, ml_text_z(&why));
    ml_text_free(&why);
}

static void only_what_applies_is_offered_and_the_rest_says_why(void **state)
{
    Fixture *f = *state;

    at(f, "k");
    assert_true(applies(f, ML_REQ_SPLIT));
    assert_true(applies(f, ML_REQ_MOVE_UP));
    assert_true(applies(f, ML_REQ_UNROLL));
    assert_true(applies(f, ML_REQ_RFACTOR));
    assert_false(applies(f, ML_REQ_MOVE_DOWN));
    assert_false(applies(f, ML_REQ_PARALLEL));
    assert_false(applies(f, ML_REQ_UNDO));
    assert_false(applies(f, ML_REQ_REPEAT));
    expect_why_not(f, ML_REQ_MOVE_DOWN, "the body of loop k is block C");
    expect_why_not(f, ML_REQ_PARALLEL, "drives the reduction iter");
    expect_why_not(f, ML_REQ_UNDO, "nothing to take back");
    expect_why_not(f, ML_REQ_INLINE, "has an init");
    ask(f, ML_REQ_UNROLL);
    assert_true(applies(f, ML_REQ_UNDO));
    at_block(f, "C");
    assert_true(applies(f, ML_REQ_CACHE_READ));
    assert_false(applies(f, ML_REQ_SPLIT));
    assert_false(applies(f, ML_REQ_COMPUTE_AT));
    expect_why_not(f, ML_REQ_SPLIT, "split works on a loop; C is a block");
    f->v.node = 0;
    assert_false(applies(f, ML_REQ_SPLIT));
    assert_true(applies(f, ML_REQ_UNDO));
}

static void the_last_step_is_repeated_at_another_node(void **state)
{
    Fixture *f = *state;

    ask(f, ML_REQ_REPEAT);
    at(f, "i");
    ask(f, ML_REQ_SPLIT);
    type(f, "auto, 4");
    key(f, "enter");
    at(f, "j");
    assert_true(applies(f, ML_REQ_REPEAT));
    ask(f, ML_REQ_REPEAT);
    expect_line(f, "split(\"j\", {auto, 4})");
    at(f, "i_0");
    ask(f, ML_REQ_PARALLEL);
    at(f, "j_0");
    ask(f, ML_REQ_REPEAT);
    expect_line(f, "parallel(\"j_0\")");
    at_block(f, "C");
    ask(f, ML_REQ_REPEAT);
    expect_message(f, "parallel works on a loop; C is a block");
    ask(f, ML_REQ_DECOMPOSE);
    key(f, "enter");
    expect_line(f, "decompose_reduction(\"C\", \"i_0\")");
    assert_true(version(f) > 0);
}

/* ---- a random walk */

typedef struct Random {
    uint32_t x;
} Random;

static size_t pick(Random *r, size_t n)
{
    r->x = r->x * 1664525u + 1013904223u;
    return (size_t)(r->x >> 8) % n;
}

static void random_node(Fixture *f, Random *r)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    const ml_Func *func = ml_schedule_func(f->ss.focus);
    ml_StmtVec all = {0}, loops = {0};

    ml_all_blocks(tmp, ml_func_root(func)->body, &all);
    if (all.n > 0) {
        ml_Uid block = ml_stmt_uid(all.v[pick(r, all.n)]);

        ml_index_loops(tmp, ml_schedule_program(f->ss.focus).index, block, &loops);
        ml_view_select(&f->v, loops.n > 0 && pick(r, 4) > 0
                                  ? ml_stmt_uid(loops.v[pick(r, loops.n)])
                                  : block);
    }
    ml_ctx_unref(tmp);
}

/* The line that was run since the last time, if any. */
static void note_line(Fixture *f, ml_Text *lines)
{
    if (f->v.lua.n > 0) {
        ml_text_add(lines, ml_text_z(&f->v.lua));
        ml_text_char(lines, '\n');
    }
    ml_text_clear(&f->v.lua);
}

/* Keys while something is open: mostly sensible ones. */
static void random_keys(Fixture *f, Random *r, ml_Text *lines)
{
    static const char *const NAMES[] = {"enter", "enter",     "enter", "tab",   "S-tab",
                                        "up",    "down",      "left",  "right", "home",
                                        "end",   "backspace", "del",   "C-u",   "C-w",
                                        "C-k",   "pgup",      "pgdn",  "esc",   "f9"};
    static const char *const TEXTS[] = {"auto, 4",
                                        "4, auto",
                                        "8",
                                        " ",
                                        "j",
                                        "k",
                                        "1",
                                        "\"local\"",
                                        ", ",
                                        "{",
                                        "}",
                                        "é",
                                        "0",
                                        "x\\",
                                        "\"",
                                        "lambda i, j: (j, i)",
                                        "99999999999999999999",
                                        "auto, -1",
                                        "--",
                                        "q"};
    int cursor, chosen;

    for (int k = 0; ml_act_open(&f->v) && k < 12; k++) {
        if (pick(r, 2))
            key(f, NAMES[pick(r, ML_COUNT(NAMES))]);
        else
            type(f, TEXTS[pick(r, ML_COUNT(TEXTS))]);
        note_line(f, lines);
        ml_view_draw(&f->v);
        const char *z = prompt(f, &cursor);

        if (ml_text_columns(z, strlen(z)) > f->v.grid.w || cursor >= f->v.grid.w)
            fail_msg("%d columns: %s", f->v.grid.w, z);
        menu(f, &chosen);
        assert_true(chosen < (int)f->rows.v.n);
        ml_rows_reset(&f->rows);
        ml_act_preview(&f->v, &f->rows);
        ml_act_idle(&f->v, 2);
    }
    if (ml_act_open(&f->v))
        ml_act_cancel(&f->v);
    assert_false(ml_act_open(&f->v));
}

static char *trace_of(ml_Session *ss)
{
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(ss->focus, tmp);
    ml_Text out = {0};
    char *z;

    ml_trace_lua(tmp, &out, &t);
    z = strdup(ml_text_z(&out));
    ml_text_free(&out);
    ml_ctx_unref(tmp);
    return z;
}

/* The lines that requests ran, typed in a session of its own, end where the walk ended. */
static void expect_as_typed(Fixture *f, const char *lines)
{
    ml_Session ss;
    ml_Text out = {0};
    char *a, *b;

    open_session(&ss, 100, ML_MODE_TYPED);
    ss.out.sink.out = ss.out.sink.err = &out;
    run_line(&ss, MATMUL_LINE);
    for (const char *p = lines; *p;) {
        char *line = strndup(p, strcspn(p, "\n"));

        ml_run(&ss, NULL, line);
        p += strlen(line) + 1;
        free(line);
    }
    assert_int_equal(ml_schedule_version(ss.focus), version(f));
    assert_int_equal(ml_schedule_n_versions(ss.focus), ml_schedule_n_versions(f->ss.focus));
    assert_true(ml_schedule_hash(ss.focus) == ml_schedule_hash(f->ss.focus));
    assert_int_equal(ss.n_done, f->ss.n_done);
    assert_int_equal(ss.n_undone, f->ss.n_undone);
    a = trace_of(&ss);
    b = trace_of(&f->ss);
    assert_string_equal(a, b);
    free(a);
    free(b);
    ml_session_free(&ss);
    ml_text_free(&out);
}

/* The next tiling may have taken the last one back first: that is a line, too. */
static void note_undo(Fixture *f, int was, ml_Text *lines)
{
    ml_Step step;

    assert_true(ml_version_step(f->ss.focus, version(f), &step));
    if (version(f) != was && step.parent != was && !ml_streq(ml_text_z(&f->v.lua), ":undo"))
        ml_text_add(lines, ":undo\n");
}

static void random_request(Fixture *f, Random *r, ml_Request req, ml_Text *lines)
{
    int was = version(f);

    ml_text_clear(&f->v.lua);
    ml_act_begin(&f->v, req, 1 + (int)pick(r, 3));
    if (req == ML_REQ_SPLIT_NEXT || req == ML_REQ_REPEAT)
        note_undo(f, was, lines);
    note_line(f, lines);
    random_keys(f, r, lines);
}

static void a_random_walk_is_what_its_lines_are_when_typed(void **state)
{
    static const ml_Request REQUESTS[] = {ML_REQ_SPLIT,      ML_REQ_SPLIT,
                                          ML_REQ_SPLIT_NEXT, ML_REQ_FUSE,
                                          ML_REQ_MOVE_DOWN,  ML_REQ_MOVE_UP,
                                          ML_REQ_REORDER,    ML_REQ_PARALLEL,
                                          ML_REQ_VECTORIZE,  ML_REQ_UNROLL,
                                          ML_REQ_BIND,       ML_REQ_ANNOTATE,
                                          ML_REQ_COMPUTE_AT, ML_REQ_REVERSE_COMPUTE_AT,
                                          ML_REQ_INLINE,     ML_REQ_REVERSE_INLINE,
                                          ML_REQ_CACHE_READ, ML_REQ_CACHE_WRITE,
                                          ML_REQ_LAYOUT,     ML_REQ_DECOMPOSE,
                                          ML_REQ_RFACTOR,    ML_REQ_BLOCKIZE,
                                          ML_REQ_TENSORIZE,  ML_REQ_ALL,
                                          ML_REQ_ALL,        ML_REQ_REPEAT,
                                          ML_REQ_UNDO,       ML_REQ_UNDO,
                                          ML_REQ_REDO,       ML_REQ_MARK,
                                          ML_REQ_GOTO_MARK,  ML_REQ_EXPLAIN};
    Fixture *f = *state;
    ml_Text lines = {0};
    Random r = {getenv("ML_SEED") ? (uint32_t)strtoul(getenv("ML_SEED"), NULL, 10) : 7};
    int n = getenv("ML_QUICK") ? 40 : 120;

    for (int k = 0; k < n; k++) {
        if (pick(&r, 8) == 0)
            ml_view_resize(&f->v, 1 + (int)pick(&r, 120), 1 + (int)pick(&r, 40));
        random_node(f, &r);
        random_request(f, &r, REQUESTS[pick(&r, ML_COUNT(REQUESTS))], &lines);
        applies(f, ML_REQ_SPLIT);
        ml_view_draw(&f->v);
        if (pick(&r, 10) == 0) {
            ml_Uid a = f->v.node;

            random_node(f, &r);
            ml_act_drag(&f->v, a, f->v.node, false);
            ml_view_draw(&f->v);
            ml_act_drag(&f->v, a, f->v.node, pick(&r, 2) == 0);
            note_line(f, &lines);
            ml_act_cancel(&f->v);
        }
    }
    assert_true(ml_schedule_n_versions(f->ss.focus) > n / 20);
    expect_as_typed(f, ml_text_z(&lines));
    ml_text_free(&lines);
}

#define EACH(t) cmocka_unit_test_setup_teardown(t, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(kinds_of_loops_are_one_line_each),
        EACH(fuse_takes_the_only_child_or_as_many_as_the_count_says),
        EACH(a_loop_moves_by_places_and_says_what_is_in_the_way),
        EACH(an_action_is_the_primitive_whatever_its_name_means_in_lua),
        EACH(the_message_is_the_step_or_the_error_itself),
        EACH(what_a_request_does_not_suit_is_said),
        EACH(nodes_of_a_function_that_names_do_not_mean_are_refused),
        EACH(split_asks_for_factors_and_tries_each_key),
        EACH(one_factor_alone_is_the_inner_one),
        EACH(a_preview_marks_the_lines_that_would_change),
        EACH(a_step_marks_the_lines_that_its_preview_marked),
        EACH(a_preview_marks_where_lines_are_gone),
        EACH(a_preview_begins_above_the_menu),
        EACH(leaving_a_prompt_leaves_no_trace),
        EACH(a_refusal_shows_before_enter_and_keeps_the_prompt),
        EACH(keys_edit_the_text),
        EACH(a_prompt_remembers_what_was_entered_there),
        EACH(tab_proposes_whole_tilings_then_single_factors),
        EACH(tilings_that_were_tuned_come_first),
        EACH(tilings_are_gone_through_one_by_one),
        EACH(a_narrow_prompt_keeps_the_cursor_in_sight),
        EACH(bind_offers_the_thread_axes),
        EACH(cache_read_asks_for_buffer_and_scope),
        EACH(annotations_are_set_and_taken_away),
        EACH(tensorize_lists_the_intrinsics_that_match_first),
        EACH(all_primitives_are_in_the_menu_of_all),
        EACH(a_prompt_for_arguments_tells_the_parameter_at_the_cursor),
        EACH(marks_are_made_and_gone_to),
        EACH(the_sessions_lua_is_copied),
        EACH(the_last_error_is_a_page),
        EACH(a_line_of_the_prompt_is_a_command_or_lua),
        EACH(compute_at_lights_up_legal_loops_and_the_cursor_picks),
        EACH(decompose_and_rfactor_pick_a_loop),
        EACH(reorder_marks_loops_in_their_new_order),
        EACH(a_loop_is_dragged_to_the_place_of_another),
        EACH(only_what_applies_is_offered_and_the_rest_says_why),
        EACH(the_last_step_is_repeated_at_another_node),
        EACH(a_random_walk_is_what_its_lines_are_when_typed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
