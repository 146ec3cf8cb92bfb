/*
 * The rows of the visualiser's panes as text, with their roles and what they stand for.
 * Source: interaction 10.
 */
#include "repl/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/host/host.h"
#include "repl/house.h"
#include "repl/session/profiles.h"
#include "repl/view/pane/panes.h"

typedef struct Fixture {
    ml_Session ss;
    ml_View v;
    ml_Text text;
} Fixture;

static int start(void **state)
{
    Fixture *f = calloc(1, sizeof *f);

    open_session(&f->ss, 100, ML_MODE_QUIET);
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
    run_line(&f->ss, line);
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

static void select_node(Fixture *f, const char *name)
{
    f->v.node = named(f, name);
}

static const char *title(Fixture *f, ml_PaneId id)
{
    ml_text_clear(&f->text);
    ml_panes[id].title(&f->v, &f->text);
    return ml_text_z(&f->text);
}

static void open_text(Fixture *f, const char *text)
{
    ml_Text line = {0};

    ml_text_fmt(&line, "s = schedule(moon.parse([==[%s]==]))", text);
    run(f, ml_text_z(&line));
    ml_text_free(&line);
}

static const char TWO[] = "@I.ir_module\n"
                          "class M:\n"
                          "    @T.prim_func\n"
                          "    def f(A: T.Buffer((16,), \"float32\")):\n"
                          "        for i in range(16):\n"
                          "            with T.block(\"X\"):\n"
                          "                vi = T.axis.spatial(16, i)\n"
                          "                A[vi] = T.float32(1)\n"
                          "    @T.prim_func\n"
                          "    def g(a: T.handle, n: T.int32):\n"
                          "        C = T.match_buffer(a, (n,))\n"
                          "        for i in range(n):\n"
                          "            with T.block(\"Y\"):\n"
                          "                vi = T.axis.spatial(n, i)\n"
                          "                C[vi] = T.float32(2)\n";

/* A letter per byte, as roles.def has them; bars and boxes have three. */
static void has_roles(const ml_Row *row, const char *want)
{
    static const char LETTERS[] = {
#define ML_ROLE(id, name, letter) letter,
#include "repl/screen/roles.def"
#undef ML_ROLE
    };
    char got[256];
    size_t n = strlen(row->text);

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
}

static void roles_are(const char *line, const char *want)
{
    ml_Rows r = {0};

    ml_rows_reset(&r);
    ml_Row *row = ml_rows_code(&r, line);

    assert_string_equal(row->text, line);
    has_roles(row, want);
    ml_rows_free(&r);
}

/* ---- code */

static void words_of_code_have_roles(void **state)
{
    (void)state;
    roles_are("for i in T.serial(16):  # all", /**/
              "www...ww.rrrrrrrr.00....#####");
    roles_are("  with T.block(\"C\"):", /**/
              "..wwww.bbbbbbb.bbb..");
    roles_are("split(\"i\", {auto, 4})", /**/
              "PPPPP.\"\"\"...wwww..0..");
    roles_are(":undo 2", /**/
              "KKKKK.0");
    roles_are("", "");
}

static void marked_variables_have_colours_of_their_own(void **state)
{
    char vi[] = "vi", t[] = "T", c[] = "C", *const marked[] = {vi, NULL, t, c};
    const char *line = "  C[vi, vj] = T.max(C[vi, vj], via, v.vi)";
    ml_Rows r = {0};

    (void)state;
    ml_rows_reset(&r);
    ml_rows_put_n(&r, ML_ROLE_DIM, "12 ", 3);
    ml_rows_put_script(&r, line, strlen(line), marked, ML_COUNT(marked));
    has_roles(ml_rows_end(&r), "ddd..4.11........iiiii.4.11.................");
    ml_rows_free(&r);
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
    has_roles(row_with(f, ML_PANE_LOOPS, "parallel"), "..dddd"
                                                      "p.........00.pppppppp");
}

static void a_closed_node_hides_what_is_below_and_bears_its_bar(void **state)
{
    Fixture *f = *state;
    ml_Ctx *cx = ml_ctx_new(0);

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('k', {auto, 16}); unroll('k_1')");
    ml_push(cx, &f->v.folded, named(f, "j"));
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ matmul\n"
                                                   "  ▾ i     64\n"
                                                   "|    ▸ j 1024\n");
    assert_int_equal(row_with(f, ML_PANE_LOOPS, "j")->fold, ML_FOLD_CLOSED);
    f->v.folded.n = 0;
    ml_ctx_unref(cx);
}

static void a_bar_stands_where_the_last_step_changed_something(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    assert_null(strchr(text_of(f, ML_PANE_LOOPS), '|'));
    run(f, "reorder('j', 'i')");
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ matmul\n"
                                                   "|  ▾ j   1024\n"
                                                   "|    ▾ i   64\n"
                                                   "      ▾ k 32\n"
                                                   "        ■ C\n");
    run(f, "cache_read('C', 0, 'local')");
    assert_true(row_with(f, ML_PANE_LOOPS, "■ A_local")->changed);
    assert_true(row_with(f, ML_PANE_LOOPS, "■ C")->changed);
    assert_false(row_with(f, ML_PANE_LOOPS, "▾ k")->changed);
}

static void each_function_of_a_module_has_its_tree(void **state)
{
    Fixture *f = *state;

    open_text(f, TWO);
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ f\n"
                                                   "  ▾ i 16\n"
                                                   "    ■ X\n"
                                                   "▾ g\n"
                                                   "  ▾ i  n\n"
                                                   "    ■ Y\n");
    run(f, "work_on('g')");
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ g\n"
                                                   "  ▾ i n\n"
                                                   "    ■ Y\n");
}

static void functions_without_blocks_have_loops(void **state)
{
    Fixture *f = *state;

    open_text(f, "@T.prim_func\n"
                 "def main(A: T.Buffer((64,), \"float32\")):\n"
                 "    for i in T.parallel(4):\n"
                 "        for j in range(16):\n"
                 "            A[i * 16 + j] = T.float32(0)\n");
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ main\n"
                                                   "  ▾ i    4 parallel\n"
                                                   "      j 16\n");
    f->v.node = row_with(f, ML_PANE_LOOPS, "j")->node;
    assert_true(f->v.node != 0);
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "A[i * 16")->node, f->v.node);
    assert_string_equal(text_of(f, ML_PANE_BLOCK), "j  16  serial\n"
                                                   "no block is below\n");
    open_text(f, "@T.prim_func\n"
                 "def none(A: T.Buffer((), \"float32\")):\n"
                 "    A[()] = T.float32(0)\n");
    f->v.node = 0;
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "  none\n");
}

static void without_a_program_panes_say_so(void **state)
{
    Fixture *f = *state;

    for (int k = ML_PANE_LOOPS; k < ML_N_PANES; k++)
        if (k != ML_PANE_JOBS && ml_panes[k].rows)
            assert_string_equal(rows(f, (ml_PaneId)k)->v.v[0].text,
                                "no program is open yet");
    f->v.node = 77; /* of a program that was closed */
    run(f, "s = schedule(workload.matmul(4, 4, 4))");
    for (int k = ML_PANE_LOOPS; k < ML_N_PANES; k++)
        if (ml_panes[k].rows)
            assert_true(rows(f, (ml_PaneId)k)->v.n > 0);
}

/* ---- pane 2 */

static void program_tells_whose_lines_are_whose(void **state)
{
    Fixture *f = *state;
    const ml_Row *row;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('k', {auto, 16})");
    row = row_with(f, ML_PANE_PROGRAM, "T.grid");
    assert_int_equal(row->node, named(f, "k_1"));
    assert_string_equal(row->text, "3   for i, j, k_0, k_1 in T.grid(64, 1024, 2, 16):");
    assert_int_equal(row->gutter, 2);
    assert_int_equal(row->line, 3);
    assert_true(row->changed);
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "T.init")->node, named(f, "C"));
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "def ")->node, 0);
    assert_false(row_with(f, ML_PANE_PROGRAM, "def ")->changed);
}

static void lowered_lines_belong_to_loops_of_the_program(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('j', {auto, 16}); vectorize('j_1'); reorder('k', 'j_1')");
    f->v.level = ML_LEVEL_LOWERED;
    assert_string_equal(text_of(f, ML_PANE_PROGRAM), "lowering v3 …\n");
    while (ml_panes_idle(&f->v, 20)) {
    }
    assert_string_equal(title(f, ML_PANE_PROGRAM), "lowered");
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "if k == 0")->line, 10);
    assert_int_equal(row_with(f, ML_PANE_PROGRAM, "T.Broadcast")->node, named(f, "C"));
    run(f, "bind('i', 'blockIdx.x')");
    while (ml_panes_idle(&f->v, 20)) {
    }
    assert_non_null(strstr(text_of(f, ML_PANE_PROGRAM), "is bound to blockIdx.x"));
}

/* ---- pane 3 */

static void block_shows_iters_regions_and_what_holds(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "split('j', {auto, 100})");
    select_node(f, "C");
    assert_string_equal(title(f, ML_PANE_BLOCK), "C");
    assert_string_equal(text_of(f, ML_PANE_BLOCK),
                        "vi  S   64  i\n"
                        "vj  S 1024  j_0 * 100 + j_1\n"
                        "vk  R   32  k\n"
                        "where  j_0 * 100 + j_1 < 1024\n"
                        "reads  A[vi, vk]\n"
                        "       B[vk, vj]\n"
                        "writes C[vi, vj]\n"
                        "✓ reduction  ✓ affine  ✓ covered  ✓ pipeline  \n");
    run(f, "decompose_reduction('C', 'k')");
    select_node(f, "C_update");
    assert_string_equal(row_with(f, ML_PANE_BLOCK, "✗")->text,
                        "✗ complete  ✗ reduction  ✓ affine  ✓ covered  ✓ pipeline  ");
    row_with(f, ML_PANE_BLOCK, "not complete: iter vk is reduce");
    row_with(f, ML_PANE_BLOCK, "no reduction: it has no init");
}

static void block_says_why_it_is_not_affine(void **state)
{
    Fixture *f = *state;

    open_text(f, "@T.prim_func\n"
                 "def main(A: T.Buffer((16,), \"float32\")):\n"
                 "    for i, j in T.grid(4, 4):\n"
                 "        with T.block(\"X\"):\n"
                 "            vi = T.axis.spatial(16, i * j)\n"
                 "            A[vi] = T.float32(1)\n");
    select_node(f, "X");
    row_with(f, ML_PANE_BLOCK, "✗ affine");
    row_with(f, ML_PANE_BLOCK, "not affine: ");
}

static void a_loop_shows_the_blocks_below(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "decompose_reduction('C', 'k')");
    select_node(f, "j");
    assert_string_equal(text_of(f, ML_PANE_BLOCK), "j  1024  serial, spatial\n"
                                                   "■ C_init    writes C\n"
                                                   "■ C_update  reads C, A, B  writes C\n");
    assert_int_equal(row_with(f, ML_PANE_BLOCK, "C_init")->node, named(f, "C_init"));
    f->v.node = 0;
    row_with(f, ML_PANE_BLOCK, "B[32, 1024] float32");
}

/* ---- pane 4 */

static void dataflow_tells_who_writes_and_reads_how_far_apart(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "cache_write('C', 0, 'local'); reverse_compute_at('C_local', 'i')");
    select_node(f, "C");
    assert_string_equal(text_of(f, ML_PANE_DATAFLOW),
                        "A        input → C   64×32 float32  8 KiB  param\n"
                        "B        input → C   32×1024 float32  128 KiB  param\n"
                        "C_local  C → C_local   32,768 iterations apart   64×1024 float32  "
                        "256 KiB  local\n");
    assert_int_equal(row_with(f, ML_PANE_DATAFLOW, "C_local")->node, named(f, "C_local"));
    assert_int_equal(row_with(f, ML_PANE_DATAFLOW, "A ")->node, 0);
}

static void an_update_is_as_far_apart_as_its_inner_loops_go(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "reorder('k', 'j'); decompose_reduction('C', 'k')");
    select_node(f, "C_update");
    assert_string_equal(row_with(f, ML_PANE_DATAFLOW, "C ")->text,
                        "C  C_init, C_update → C_update   1,024 iterations apart   "
                        "64×1024 float32  256 KiB  param");
}

/* ---- pane 6, 7 */

static void bars_stand_for_speeds(void **state)
{
    Fixture *f = *state;
    const ml_Row *slow, *fast;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    assert_string_equal(rows(f, ML_PANE_PERF)->v.v[0].text,
                        "no version was timed yet: t, or :time");
    run(f, "parallel('i'); unroll('k')");
    ml_schedule_set_speed(f->ss.focus, 0, "500 MFLOP/s");
    ml_schedule_set_speed(f->ss.focus, 1, "1.00 GFLOP/s");
    ml_schedule_set_speed(f->ss.focus, 2, "2.00 GFLOP/s ±9 %");
    f->v.pane[ML_PANE_PERF].at.w = 41; /* 16 columns of bar */
    slow = row_with(f, ML_PANE_PERF, "v0");
    assert_string_equal(slow->text, "v0 ████                   500 MFLOP/s");
    assert_int_equal(slow->version, 0);
    fast = row_with(f, ML_PANE_PERF, "v2");
    assert_string_equal(fast->text, "v2 ████████████████ 2.00 GFLOP/s ±9 % ◀");
    ml_schedule_set_speed(f->ss.focus, 1, "2.00 ms"); /* of what has no operations */
    ml_schedule_set_speed(f->ss.focus, 0, NULL);
    ml_schedule_set_speed(f->ss.focus, 2, "1.00 ms");
    f->v.pane[ML_PANE_PERF].at.w = 27; /* 12 */
    assert_string_equal(row_with(f, ML_PANE_PERF, "v1")->text, "v1 ██████       2.00 ms");
}

static void what_was_printed_is_below_the_jobs(void **state)
{
    Fixture *f = *state;

    ml_text_add(&f->v.log, "one\nerror: two\n");
    assert_string_equal(text_of(f, ML_PANE_JOBS), "nothing runs in the background\n"
                                                  "one\n"
                                                  "error: two\n");
    assert_int_equal(row_with(f, ML_PANE_JOBS, "two")->role, ML_ROLE_ERROR);
    ml_text_free(&f->v.log);
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

static void speeds_and_checks_stand_behind_the_steps(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    run(f, "parallel('i'); unroll('k')");
    ml_schedule_set_speed(f->ss.focus, 0, "500 MFLOP/s");
    ml_schedule_set_speed(f->ss.focus, 1, "1.00 GFLOP/s");
    ml_schedule_set_check(f->ss.focus, 1, "ok");
    ml_schedule_set_check(f->ss.focus, 2, "FAIL");
    f->v.pane[ML_PANE_STEPS].at.w = 46;
    assert_string_equal(text_of(f, ML_PANE_STEPS), "[0] the start       500 MFLOP/s\n"
                                                   "[1] parallel i     1.00 GFLOP/s  ✓\n"
                                                   "[2] unroll k  FAIL ◀\n");
}

/* ---- pane 8 */

static void memory_tells_strides_and_reuse_of_a_loop(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    assert_string_equal(text_of(f, ML_PANE_MEMORY),
                        "select a loop to see what it touches\n");
    select_node(f, "k");
    assert_string_equal(text_of(f, ML_PANE_MEMORY),
                        "k  32 iterations, 2,097,152 in all, 64 FLOP\n"
                        "init  C[vi, vj]  the same element\n"
                        "load  C[vi, vj]  the same element\n"
                        "load  A[vi, vk]  4 B apart, 1/16 line per iteration\n"
                        "load  B[vk, vj]  4 KiB apart, a line per iteration\n"
                        "store C[vi, vj]  the same element\n"
                        "A  128 B, each element 1×, 32 loads\n"
                        "B  128 B, each element 1×, 32 loads\n"
                        "C  4 B, each element 65×, 32 loads, 33 stores\n"
                        "counted\n"
                        "A  …\n"
                        "B  …\n"
                        "C  …\n");
    select_node(f, "C"); /* of a block, the loop around it */
    assert_string_equal(rows(f, ML_PANE_MEMORY)->v.v[0].text,
                        "k  32 iterations, 2,097,152 in all, 64 FLOP");
}

static void memory_of_loops_of_unknown_length(void **state)
{
    Fixture *f = *state;

    open_text(f, TWO);
    run(f, "work_on('g')");
    select_node(f, "Y");
    assert_string_equal(text_of(f, ML_PANE_MEMORY),
                        "i  n iterations\n"
                        "store C[vi]  4 B apart, 1/16 line per iteration\n"
                        "C  n * 4 B, n stores\n"
                        "counted\n"
                        "C  …\n");
}

static void columns_fill_while_nothing_is_pressed(void **state)
{
    Fixture *f = *state;

    run(f, "s = schedule(workload.matmul(64, 1024, 32))");
    f->v.columns = 1;
    f->v.pane[ML_PANE_LOOPS].at.w = 60;
    assert_string_equal(text_of(f, ML_PANE_LOOPS),
                        "▾ matmul                          touches   flops :profile\n"
                        "  ▾ i     64                            …       …\n"
                        "    ▾ j 1024                            …       …\n"
                        "      ▾ k 32                            …       …\n"
                        "        ■ C\n");
    while (ml_panes_idle(&f->v, 20)) {
    }
    assert_string_equal(text_of(f, ML_PANE_LOOPS),
                        "▾ matmul                          touches   flops :profile\n"
                        "  ▾ i     64                      392 KiB  4.19 M\n"
                        "    ▾ j 1024                      132 KiB  65.5 k\n"
                        "      ▾ k 32                        260 B      64\n"
                        "        ■ C\n");
    f->v.pane[ML_PANE_LOOPS].at.w = 26; /* one at a time, the tree in little room */
    run(f, "vectorize('j')");
    f->v.columns = 2;
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ matmul           flops\n"
                                                   " ▾ i    64             …\n"
                                                   "|  ▾ j 1024 v           …\n"
                                                   "   ▾ k  32             …\n"
                                                   "    ■ C\n");
    assert_int_equal(ml_pane_loops_columns(&f->v), 3);
    f->v.columns = 3;
    assert_int_equal(ml_pane_loops_columns(&f->v), 0);
}

static void measured_shares_are_told_of_the_version_that_was_measured_only(void **state)
{
    Fixture *f = *state;
    ml_NestTime nests[2] = {{.seconds = 3}, {.seconds = 1}};
    ml_Profile p = {.sum = 4, .n = 2, .nests = nests};
    ml_Handle h = {0};

    run(f, "s = schedule(workload.matmul(4, 8, 16))");
    run(f, "decompose_reduction('C', 'i')");
    for (int k = 0; k < 2; k++) {
        assert_true(ml_resolve(f->ss.focus, k ? "i" : "i_init", ML_H_LOOP, &h));
        nests[k].nest.stmt = ml_index_node(ml_schedule_program(f->ss.focus).index, h.uid);
    }
    ml_profiles_keep(&f->ss, f->ss.focus, 1, &p);
    f->v.columns = 3;
    f->v.pane[ML_PANE_LOOPS].at.w = 26;
    assert_string_equal(text_of(f, ML_PANE_LOOPS), "▾ matmul        measured\n"
                                                   "|  ▾ i_init   4      75 %\n"
                                                   "|    ▾ j_init 8\n"
                                                   "|      ■ C_init\n"
                                                   "  ▾ i        4      25 %\n"
                                                   "    ▾ j      8\n"
                                                   "      ▾ k   16\n"
                                                   "|        ■ C_update\n");
    run(f, "parallel('i')");
    assert_null(strstr(text_of(f, ML_PANE_LOOPS), " %"));
    assert_non_null(strstr(text_of(f, ML_PANE_LOOPS), ":profile"));
    run(f, ":undo");
    assert_non_null(strstr(text_of(f, ML_PANE_LOOPS), "75 %"));
    run(f, "t = schedule(workload.matmul(4, 8, 16))"); /* another of the same number */
    run(f, "decompose_reduction('C', 'i')");
    assert_null(strstr(text_of(f, ML_PANE_LOOPS), " %"));
}

/* ---- all of them */

static void select_each(Fixture *f)
{
    const ml_Rows *tree = rows(f, ML_PANE_LOOPS);
    size_t n = tree->v.n;
    ml_Uid *all = calloc(n, sizeof *all);

    for (size_t k = 0; k < n; k++)
        all[k] = tree->v.v[k].node;
    for (size_t k = 0; k < n; k++) {
        f->v.node = all[k];
        for (int id = ML_PANE_LOOPS; id < ML_N_PANES; id++) {
            if (!ml_panes[id].rows)
                continue;
            const ml_Rows *r = rows(f, (ml_PaneId)id);

            assert_true(r->v.n > 0);
            for (size_t m = 0; m < r->v.n; m++) {
                assert_null(strchr(r->v.v[m].text, '\n'));
                assert_true(r->v.v[m].gutter <= strlen(r->v.v[m].text));
            }
        }
    }
    free(all);
}

static void every_node_of_every_workload_has_rows(void **state)
{
    static const char *const NAMES[] = {"C1D-1", "C2D-1", "C3D-1", "CAP-1",
                                        "DEP-1", "DIL-1", "GMM-1", "GRP-1",
                                        "NRM-1", "SFM-1", "T2D-1", "TBG-1"};
    Fixture *f = *state;

    for (size_t k = 0; k < ML_COUNT(NAMES); k++) {
        ml_Text line = {0};

        ml_text_fmt(&line, "s = schedule(workload('%s'))", NAMES[k]);
        run(f, ml_text_z(&line));
        ml_text_free(&line);
        select_each(f);
    }
}

static void a_thousand_blocks_have_all_their_rows(void **state)
{
    enum { MANY = 1000 };
    Fixture *f = *state;
    ml_Text t = {0};

    ml_text_add(&t, "@T.prim_func\ndef main(A0: T.Buffer((64, 64), \"float32\")):\n");
    for (int k = 1; k <= MANY; k++)
        ml_text_fmt(&t, "    A%d = T.alloc_buffer((64, 64))\n", k);
    for (int k = 0; k < MANY; k++)
        ml_text_fmt(&t,
                    "    for i, j in T.grid(64, 64):\n"
                    "        with T.block(\"B%d\"):\n"
                    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                    "            A%d[vi, vj] = A%d[vi, vj] + T.float32(1)\n",
                    k, k + 1, k);
    open_text(f, ml_text_z(&t));
    ml_text_free(&t);
    run(f, "parallel('B500@1')");
    assert_int_equal(rows(f, ML_PANE_LOOPS)->v.n, 1 + 3 * MANY);
    assert_int_equal(rows(f, ML_PANE_PROGRAM)->v.n, 2 + MANY + 4 * MANY + 1);
    assert_int_equal(rows(f, ML_PANE_DATAFLOW)->v.n, MANY + 1);
    select_node(f, "B500");
    assert_string_equal(rows(f, ML_PANE_DATAFLOW)->v.v[0].text,
                        "A500  B499 → B500   4,096 iterations apart   64×64 float32  "
                        "16 KiB  global");
    const ml_Rows *r = rows(f, ML_PANE_LOOPS);
    size_t changed = 0;

    for (size_t k = 0; k < r->v.n; k++)
        changed += r->v.v[k].changed;
    assert_int_equal(changed, 1);
}

#define EACH(t) cmocka_unit_test_setup_teardown(t, start, end)

int main(void)
{
    ml_house_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_code_have_roles),
        cmocka_unit_test(marked_variables_have_colours_of_their_own),
        EACH(tree_shows_loops_and_blocks),
        EACH(a_closed_node_hides_what_is_below_and_bears_its_bar),
        EACH(a_bar_stands_where_the_last_step_changed_something),
        EACH(each_function_of_a_module_has_its_tree),
        EACH(functions_without_blocks_have_loops),
        EACH(without_a_program_panes_say_so),
        EACH(program_tells_whose_lines_are_whose),
        EACH(lowered_lines_belong_to_loops_of_the_program),
        EACH(block_shows_iters_regions_and_what_holds),
        EACH(block_says_why_it_is_not_affine),
        EACH(a_loop_shows_the_blocks_below),
        EACH(dataflow_tells_who_writes_and_reads_how_far_apart),
        EACH(an_update_is_as_far_apart_as_its_inner_loops_go),
        EACH(bars_stand_for_speeds),
        EACH(what_was_printed_is_below_the_jobs),
        EACH(steps_are_a_tree),
        EACH(speeds_and_checks_stand_behind_the_steps),
        EACH(memory_tells_strides_and_reuse_of_a_loop),
        EACH(memory_of_loops_of_unknown_length),
        EACH(columns_fill_while_nothing_is_pressed),
        EACH(measured_shares_are_told_of_the_version_that_was_measured_only),
        EACH(every_node_of_every_workload_has_rows),
        EACH(a_thousand_blocks_have_all_their_rows),
    };
    ml_house_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
