/*
 * Requests of the visualiser that schedule: what line each comes to, what is shown while it
 * is asked for, that leaving leaves nothing behind. Source: interaction 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "primitives/trace.h"
#include "repl/bind/host.h"
#include "repl/view/act.h"
#include "repl/view/panes.h"

/* ---- a view without panes: what requests ask of it */

void ml_view_say(ml_View *v, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ml_text_clear(&v->message);
    ml_text_vfmt(&v->message, fmt, ap);
    va_end(ap);
}

void ml_view_select(ml_View *v, ml_Uid node)
{
    v->node = node;
}

void ml_view_follow(ml_View *v)
{
    ml_Program p = v->ss->focus ? ml_schedule_program(v->ss->focus) : (ml_Program){0};
    ml_Ctx *tmp = ml_ctx_new(0);
    size_t n = 0;

    if (p.index && v->node && !ml_index_node(p.index, v->node)) {
        const ml_Handle *h = ml_version_results(v->ss->focus, tmp, &n);

        v->node = n > 0 ? h[0].uid : 0;
    }
    ml_ctx_unref(tmp);
}

bool ml_view_run(ml_View *v, const char *line)
{
    ml_Text out = {0};
    bool ok;

    v->ss->out.capture = v->ss->out.err_capture = &out;
    ok = ml_session_line(v->ss, line, NULL);
    v->ss->out.capture = v->ss->out.err_capture = NULL;
    ml_text_clear(&v->lua);
    ml_text_add(&v->lua, line);
    ml_text_clear(&v->message);
    ml_text_addn(&v->message, ml_text_z(&out), strcspn(ml_text_z(&out), "\n"));
    ml_text_free(&out);
    return ok;
}

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

    ml_session_init(&f->ss);
    ml_out_init(&f->ss.out, 0, 100, false);
    f->ss.host = ml_host_new(&f->ss);
    f->ss.mode = ML_MODE_TYPED;
    f->v.ss = &f->ss;
    ml_grid_init(&f->v.grid, 100, 30, false);
    f->v.act = ml_act_new(&f->v);
    ml_view_run(&f->v, "s = schedule(workload.matmul(96, 64, 32))");
    assert_non_null(f->ss.focus);
    *state = f;
    return 0;
}

static int end(void **state)
{
    Fixture *f = *state;

    ml_act_free(f->v.act);
    ml_rows_free(&f->rows);
    ml_text_free(&f->text);
    ml_text_free(&f->v.lua);
    ml_text_free(&f->v.message);
    ml_grid_free(&f->v.grid);
    ml_session_free(&f->ss);
    free(f);
    return 0;
}

static void run(Fixture *f, const char *line)
{
    if (!ml_view_run(&f->v, line))
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

static void what_a_request_does_not_suit_is_said(void **state)
{
    Fixture *f = *state;

    at_block(f, "C");
    ask(f, ML_REQ_SPLIT);
    expect_message(f, "split works on a loop; C is a block");
    ml_view_select(&f->v, 0);
    ask(f, ML_REQ_PARALLEL);
    expect_message(f, "parallel works on a loop: select one");
    assert_false(ml_act_open(&f->v));
    assert_false(ml_act_begin(&f->v, ML_REQ_ZOOM, 1));
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

        assert_true(r->dim);
        if (strstr(r->text, "for ") || strstr(r->text, "T.axis"))
            changed += r->changed;
        else
            assert_false(r->changed);
    }
    assert_true(changed >= 2);
    key(f, "esc");
    ml_rows_reset(&f->rows);
    assert_false(ml_act_preview(&f->v, &f->rows));
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
}

static void a_narrow_prompt_keeps_the_cursor_in_sight(void **state)
{
    Fixture *f = *state;
    int cursor;

    ml_grid_resize(&f->v.grid, 40, 10);
    at(f, "k");
    ask(f, ML_REQ_SPLIT);
    for (int k = 0; k < 30; k++) {
        type(f, "1, ");
        expect_prompt(f, "split k[32] into: ");
        prompt(f, &cursor);
        assert_in_range(cursor, 0, 39);
    }
}

#define EACH(t) cmocka_unit_test_setup_teardown(t, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(kinds_of_loops_are_one_line_each),
        EACH(fuse_takes_the_only_child_or_as_many_as_the_count_says),
        EACH(a_loop_moves_by_places_and_says_what_is_in_the_way),
        EACH(what_a_request_does_not_suit_is_said),
        EACH(split_asks_for_factors_and_tries_each_key),
        EACH(a_preview_marks_the_lines_that_would_change),
        EACH(leaving_a_prompt_leaves_no_trace),
        EACH(a_refusal_shows_before_enter_and_keeps_the_prompt),
        EACH(keys_edit_the_text),
        EACH(a_prompt_remembers_what_was_entered_there),
        EACH(tab_proposes_whole_tilings_then_single_factors),
        EACH(tilings_are_gone_through_one_by_one),
        EACH(a_narrow_prompt_keeps_the_cursor_in_sight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
