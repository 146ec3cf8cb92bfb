/*
 * The rows of the visualiser's panes as text, with their roles and what they stand for.
 * Source: interaction 10.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/bind/host.h"
#include "repl/view/panes.h"

typedef struct Fixture {
    ml_Session ss;
    ml_View v;
    ml_Text text;
} Fixture;

static int start(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    ml_session_init(&f->ss);
    ml_out_init(&f->ss.out, 0, 100, false);
    f->ss.host = ml_host_new(&f->ss);
    f->ss.mode = ML_MODE_QUIET;
    f->v.ss = &f->ss;
    *state = f;
    return 0;
}

static int end(void **state)
{
    Fixture *f = *state;

    for (int k = 0; k < ML_N_PANES; k++)
        ml_rows_free(&f->v.pane[k].rows);
    ml_panes_free(&f->v);
    ml_text_free(&f->text);
    ml_session_free(&f->ss);
    free(f);
    return 0;
}

static void run(Fixture *f, const char *line)
{
    if (!ml_session_line(&f->ss, line, NULL))
        fail_msg("%s", line);
}

static const ml_Rows *rows(Fixture *f, ml_PaneId id)
{
    ml_Rows *r = &f->v.pane[id].rows;

    ml_rows_reset(r);
    ml_panes[id].rows(&f->v, r);
    return r;
}

static const ml_Row *row_with(Fixture *f, ml_PaneId id, const char *text)
{
    const ml_Rows *r = rows(f, id);

    for (size_t k = 0; k < r->v.n; k++)
        if (strstr(r->v.v[k].text, text))
            return &r->v.v[k];
    fail_msg("no row has %s", text);
    return NULL;
}

/* The rows of a pane, one line each; a bar before those that changed. */
static const char *text_of(Fixture *f, ml_PaneId id)
{
    const ml_Rows *r = rows(f, id);

    ml_text_clear(&f->text);
    for (size_t k = 0; k < r->v.n; k++)
        ml_text_fmt(&f->text, "%s%s\n", r->v.v[k].changed ? "|" : "", r->v.v[k].text);
    return ml_text_z(&f->text);
}

static ml_Uid named(Fixture *f, const char *name)
{
    ml_Handle h;

    assert_true(ml_resolve(f->ss.focus, name, ML_H_NONE, &h));
    return h.uid;
}

/* A letter per byte, as roles.def has them. */
static void roles_are(const char *line, const char *want)
{
    static const char LETTERS[] = {
#define ML_ROLE(id, name, letter) letter,
#include "repl/screen/roles.def"
#undef ML_ROLE
    };
    ml_Rows r = {0};
    char got[256];
    size_t n = strlen(line);

    ml_rows_reset(&r);
    ml_Row *row = ml_rows_code(&r, line);

    assert_string_equal(row->text, line);
    assert_true(n < sizeof got);
    memset(got, LETTERS[row->role], n);
    got[n] = '\0';
    for (size_t k = 0; k < row->n_spans; k++) {
        assert_true(row->spans[k].to <= n && row->spans[k].from < row->spans[k].to);
        assert_true(k == 0 || row->spans[k].from >= row->spans[k - 1].to);
        memset(got + row->spans[k].from, LETTERS[row->spans[k].role],
               row->spans[k].to - row->spans[k].from);
    }
    assert_string_equal(got, want);
    ml_rows_free(&r);
}

/* ---- code */

static void words_of_code_have_roles(void **state)
{
    (void)state;
    roles_are("for i in T.serial(16):  # all", /**/
              "www...ww.rrrrrrrr.00....#####");
}

/* ---- pane 1 */

static void tree_shows_loops_and_blocks(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('k', {auto, 16}); decompose_reduction('C', 'k_0'); parallel('i')");
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ matmul\n"
                                                   "|  ▾ i         64 parallel\n"
                                                   "    ▾ j     1024\n"
                                                   "      ■ C_init\n"
                                                   "      ▾ k_0    2\n"
                                                   "        ▾ k_1 16\n"
                                                   "          ■ C_update\n");
    assert_int_equal(row_with(f, ML_PANE_LOOPS, "k_0")->node, named(f, "k_0"));
    assert_int_equal(row_with(f, ML_PANE_LOOPS, "k_0")->depth, 3);
}

/* ---- pane 2 */

static void program_tells_whose_lines_are_whose(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('k', {auto, 16})");
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "T.grid")->node, named(f, "k_1"));
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "T.init")->node, named(f, "C"));
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "def ")->node, 0);
    assert_true(row_with(f, ML_PANE_PROGRAM, "T.grid")->changed);
}

/* ---- pane 5 */

static void steps_are_a_tree(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('k', {auto, 16})");
    run(f, ":mark tiled");
    run(f, "reorder('j', 'k_0')");
    run(f, ":undo");
    run(f, "parallel('i')");
    assert_string_equal(text_of(f, ML_PANE_STEPS), "[0] the start\n"
                                                   "[1] split k {auto, 16}  «tiled»\n"
                                                   "├[2] reorder j k_0\n"
                                                   "[3] parallel i ◀\n");
    assert_int_equal(row_with(f, ML_PANE_STEPS, "[2]")->version, 2);
}

#define EACH(t) cmocka_unit_test_setup_teardown(t, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_code_have_roles),
        EACH(tree_shows_loops_and_blocks),
        EACH(program_tells_whose_lines_are_whose),
        EACH(steps_are_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
