/*
 * test_render - errors as a person reads them: the texts of the manual's second session,
 * letter by letter.
 */
#include "fixture.h"

#include "moonloop/primitives/call/render.h"

static const char *shown(Fixture *fx, const ml_RenderOpts *o)
{
    ml_Failure *f = ml_failure_take(fx->s);
    ml_Text t = {0};
    const char *z;

    assert_non_null(f);
    ml_failure_render(f, &t, o);
    ml_ctx_reset(fx->tmp);
    z = ml_strdup(fx->tmp, (ml_Str){ml_text_z(&t), t.n});
    ml_text_free(&t);
    ml_failure_free(f);
    return z;
}

static const char *refused(Fixture *fx, const char *call)
{
    assert_false(fx_try(fx, call));
    return shown(fx, NULL);
}

static void factors_that_are_too_small(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 1024, 1024, 1024);
    assert_string_equal(
        refused(&fx, "split(\"i\", {10, 100})"),
        "error: split: factors 10 × 100 = 1000 do not cover loop i, extent 1024           "
        "[factors-too-small]\n"
        "   3 |     for i, j, k in T.grid(1024, 1024, 1024):\n"
        "     |         ^ loop i\n"
        "  rule   the product of the factors must be at least the extent of the loop\n"
        "  try    split(\"i\", {auto, 100})       11 × 100, guarded by i_0 * 100 + i_1 < "
        "1024\n"
        "         split(\"i\", {16, 64})          exact");
    fx_close(&fx);
}

static void a_list_that_lua_cut_short(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 1024, 1024, 1024);
    assert_string_equal(
        refused(&fx, "split(\"i\", {64, nil})"),
        "error: split: factor 64 does not cover loop i, extent 1024                       "
        "[factors-too-small]\n"
        "  note   in Lua {64, nil} is {64}\n"
        "  rule   the product of the factors must be at least the extent of the loop\n"
        "  try    split(\"i\", {64, auto})        64 × 16, exact");
    fx_close(&fx);
}

static void a_reduction_loop_made_parallel(void **state)
{
    static const char head[] =
        "error: parallel: loop k drives the reduction iter vk of block C                  "
        "[iter-not-parallel]\n"
        "   3 |     for i, j, k in T.grid(1024, 1024, 1024):\n"
        "     |               ^ loop k\n"
        "   5 |             vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
        "     |                     ^^ reduction iter, bound to k\n"
        "  rule   every block iter whose binding uses the loop must be spatial\n"
        "  try    parallel(\"i\")";
    Fixture fx;

    fx_matmul(&fx, 1024, 1024, 1024);
    const char *z = refused(&fx, "parallel(\"k\")");

    if (strncmp(z, head, sizeof(head) - 1) != 0)
        assert_string_equal(z, head);
    assert_false(fx_try(&fx, "bind(\"k\", \"blockIdx.z\")"));
    z = shown(&fx, NULL);
    assert_non_null(strstr(z,
                           "\n  rule   a reduction loop may be bound to \"threadIdx.x\", "
                           "\"threadIdx.y\" or \"threadIdx.z\" "
                           "only (threads that cooperate)\n"));
    fx_close(&fx);
}

static void an_ended_handle(void **state)
{
    Fixture fx;
    ml_Handle j;

    fx_matmul(&fx, 1024, 1024, 1024);
    j = fx_handle(&fx, "j");
    fx_apply(&fx, "split(\"j\", {auto, 16})");
    ml_Arg list[] = {ML_ARG_AUTO, ML_ARG_INT(4)};
    ml_Arg args[] = {ML_ARG_HANDLE(j), ML_ARG_LIST(list, 2)};

    assert_false(ml_apply(fx.s, "split", args, 2, NULL));
    assert_string_equal(
        shown(&fx, NULL),
        "error: split: loop j ended at step 1, split(\"j\", {auto, 16})      "
        "                  "
        "[expired-handle]\n"
        "  now    j_0 (64), j_1 (16)\n"
        "  try    split(\"j_0\", {auto, 4})   split(\"j_1\", {auto, 4})");
    fx_close(&fx);
}

/* Rows X1 to X4 of ir-and-analysis 7. */
static void the_table_of_places_holds(void **state)
{
    Fixture fx;
    const char *z;

    (void)state;
    fx_matmul(&fx, 64, 64, 64);
    assert_false(fx_try(&fx, "vectorize(\"k\")")); /* X1 */
    z = shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_FAST, .width = 200});
    assert_non_null(strstr(z, "vectorize"));
    assert_null(strchr(z, '\n'));
    assert_false(fx_try(&fx, "vectorize(\"k\")"));
    z = shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_DETAIL});
    assert_non_null(strstr(z, "An error occurred in the schedule primitive 'vectorize'"));
    assert_non_null(strstr(z, "block#1"));
    assert_non_null(strstr(z, "vk"));
    ml_Handle j = fx_handle(&fx, "j"); /* X3 */

    fx_apply(&fx, "split(\"j\", {auto, 16})");
    ml_Arg list[] = {ML_ARG_AUTO, ML_ARG_INT(4)};
    ml_Arg args[] = {ML_ARG_HANDLE(j), ML_ARG_LIST(list, 2)};

    assert_false(ml_apply(fx.s, "split", args, 2, NULL));
    assert_non_null(strstr(shown(&fx, NULL), "loop j ended at step 1, split("));
    z = refused(&fx, "set_scope(\"C\", 0, \"sharde\")"); /* X4 */
    assert_non_null(strstr(z, "unknown storage scope \"sharde\""));
    fx_close(&fx);
    fx_text(&fx, "@T.prim_func\n" /* X2 */
                 "def main(A: T.Buffer((64,)), C: T.Buffer((64,)), D: T.Buffer((64,))):\n"
                 "    B = T.alloc_buffer((64,))\n"
                 "    for i in range(64):\n"
                 "        with T.block(\"Q\"):\n"
                 "            v = T.axis.spatial(64, i)\n"
                 "            C[v] = B[v]\n"
                 "    for i in range(64):\n"
                 "        with T.block(\"P\"):\n"
                 "            v = T.axis.spatial(64, i)\n"
                 "            B[v] = A[v]\n"
                 "    for i in range(64):\n"
                 "        with T.block(\"R\"):\n"
                 "            v = T.axis.spatial(64, i)\n"
                 "            D[v] = B[v]\n");
    z = refused(&fx, "compute_at(\"P\", \"R/i\")");
    assert_non_null(strstr(z, "the scope of block root is not a stage pipeline"));
    assert_non_null(strstr(z, "block P overwrites B, which block Q reads before it"));
    fx_close(&fx);
}

static void a_name_nobody_has(void **state)
{
    Fixture fx;
    const char *z;

    fx_matmul(&fx, 64, 64, 64);
    z = refused(&fx, "unroll(\"ij\")");
    assert_non_null(strstr(z, "error: unroll: no loop is named ij"));
    assert_non_null(strstr(z, "[no-such-loop]\n"));
    assert_non_null(strstr(z, "\n  note   nearest: \"i\", \"j\", \"k\"\n"));
    assert_non_null(strstr(z, "\n  try    unroll(\"i\")   unroll(\"j\")   unroll(\"k\")"));
    fx_apply(&fx, "split(\"j\", {8, 8})");
    z = refused(&fx, "unroll(\"j\")");
    assert_non_null(strstr(z, "\n  note   loop j ended at step 1, split(\"j\", {8, 8})\n"));
    fx_close(&fx);
}

static void a_name_of_several_is_tried_as_each_of_them(void **state)
{
    Fixture fx;
    const char *z;

    /* a loop that is called nearer than the candidates is none of them */
    fx_text(&fx,
            "@T.prim_func\n"
            "def main(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
            "    for i, j in T.grid(8, 8):\n"
            "        with T.block(\"X\"):\n"
            "            a, b = T.axis.remap(\"SS\", [i, j])\n"
            "            A[a, b] = T.float32(1)\n"
            "    for i, k in T.grid(8, 8):\n"
            "        with T.block(\"Y\"):\n"
            "            a, b = T.axis.remap(\"SR\", [i, k])\n"
            "            with T.init():\n"
            "                B[a] = T.float32(0)\n"
            "            B[a] = B[a] + A[a, b]\n"
            "    for k, i in T.grid(8, 8):\n"
            "        with T.block(\"X\"):\n"
            "            b, a = T.axis.remap(\"RS\", [k, i])\n"
            "            with T.init():\n"
            "                B[a] = T.float32(0)\n"
            "            B[a] = B[a] + A[a, b]\n");
    fx_apply(&fx, "fuse(\"i\", \"j\")");
    z = refused(&fx, "parallel(\"i\")");
    assert_non_null(strstr(z, "\n  note   candidates: \"i_1\", \"i_2\"\n"));
    assert_non_null(
        strstr(z, "\n  try    parallel(\"i_1\")\n         parallel(\"i_2\")\n"));
    assert_null(strstr(z, "parallel(\"i_j_fused\")"));
    z = refused(&fx, "vectorize(\"k*\")"); /* both drive a reduction */
    assert_non_null(strstr(z, "[ambiguous-loop]"));
    assert_null(strstr(z, "  try "));
    z = refused(&fx,
                "reorder(\"*/k\", \"Y/i\")"); /* the part that is ambiguous is replaced */
    assert_non_null(strstr(z, "[ambiguous-block]"));
    assert_non_null(strstr(z, "\n  try    reorder(\"Y/k\", \"Y/i\")"));
    fx_close(&fx);
}

static void levels_and_widths(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 64, 64, 64);
    assert_false(fx_try(&fx, "parallel(\"k\")"));
    assert_string_equal(shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_NONE}),
                        "error: parallel failed");
    assert_false(fx_try(&fx, "parallel(\"k\")"));
    assert_string_equal(shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_FAST, .width = 84}),
                        "error: parallel: loop k drives the reduction iter vk of block C  "
                        "[iter-not-parallel]");
    assert_false(fx_try(&fx, "parallel(\"k\")"));
    assert_string_equal(shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_FAST, .width = 20}),
                        "error: parallel: loop k drives the reduction iter vk of block C\n"
                        " [iter-not-parallel]");
    assert_false(fx_try(&fx, "parallel(\"k\")")); /* the code is not broken in the middle */
    assert_string_equal(shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_FAST, .width = 72}),
                        "error: parallel: loop k drives the reduction iter vk of block C\n"
                        "                                                     "
                        "[iter-not-parallel]");
    assert_false(fx_try(&fx, "parallel(\"k\")"));
    const char *z = shown(&fx, &(ml_RenderOpts){.level = ML_RENDER_DETAIL});

    assert_non_null(strstr(z, "ScheduleError: An error occurred in the schedule primitive "
                              "'parallel'."));
    assert_non_null(strstr(z, "for#0"));
    assert_non_null(strstr(z, "block#1"));
    assert_non_null(
        strstr(z, "Error message: loop for#0 drives the reduction iter vk of block "
                  "block#1"));
    assert_false(fx_try(&fx, "parallel(\"k\")"));
    z = shown(&fx, &(ml_RenderOpts){.color = true, .no_suggestions = true});
    assert_non_null(strstr(z, "\033["));
    assert_null(strstr(z, "  try "));
    fx_close(&fx);
}

static void a_failure_outlives_later_calls(void **state)
{
    Fixture fx;
    ml_Failure *f;
    const ml_Suggestion *s;
    const char *name;
    int64_t value;

    fx_matmul(&fx, 1024, 1024, 1024);
    assert_false(fx_try(&fx, "split(\"i\", {10, 100})"));
    f = ml_failure_take(fx.s);
    fx_apply(&fx, "split(\"i\", {64, 16}) unroll(\"i_1\")");
    assert_false(fx_try(&fx, "unroll(\"nobody\")"));
    assert_int_equal(ML_E_FACTORS_TOO_SMALL, ml_failure_code(f));
    assert_string_equal("split", ml_failure_primitive(f));
    assert_string_equal("i", ml_failure_loop(f, 0));
    assert_null(ml_failure_loop(f, 1));
    assert_null(ml_failure_block(f, 0));
    assert_true(ml_failure_number(f, 0, &name, &value));
    assert_string_equal("product", name);
    assert_int_equal(1000, value);
    assert_true(ml_failure_number(f, 1, &name, &value));
    assert_string_equal("extent", name);
    assert_int_equal(1024, value);
    assert_false(ml_failure_number(f, 2, &name, &value));
    assert_int_equal(2, ml_failure_suggestions(f, &s)); /* on the version where it arose */
    assert_string_equal("split(\"i\", {auto, 100})", s[0].call);
    assert_string_equal("exact", s[1].remark);
    ml_failure_add_note(f, "in sched.tile2d, line 14");
    assert_string_equal("in sched.tile2d, line 14", ml_failure_note(f, 0));
    ml_failure_free(f);
    fx_close(&fx);
}

static void a_failure_keeps_its_schedule(void **state)
{
    Fixture fx;
    ml_Failure *f;
    ml_Text t = {0};

    fx_matmul(&fx, 64, 64, 64);
    assert_false(fx_try(&fx, "parallel(\"k\")"));
    f = ml_failure_take(fx.s);
    fx_close(&fx);
    ml_failure_render(f, &t, NULL);
    assert_non_null(strstr(ml_text_z(&t), "^^ reduction iter, bound to k"));
    ml_text_free(&t);
    ml_failure_free(f);
}

/* Below as many columns as a screen takes for it, whatever bytes it has. */
static void a_caret_is_as_wide_as_what_it_marks(void **state)
{
    Fixture fx;
    const char *z;

    fx_text(&fx, "@T.prim_func\n"
                 "def main(X: T.Buffer((8, 8)), Y: T.Buffer((8,))):\n"
                 "    for é, 宽宽 in T.grid(8, 8):\n"
                 "        with T.block(\"S\"):\n"
                 "            v, w = T.axis.remap(\"SR\", [é, 宽宽])\n"
                 "            with T.init():\n"
                 "                Y[v] = 0.0\n"
                 "            Y[v] = Y[v] + X[v, w]\n");
    z = refused(&fx, "parallel(\"宽宽\")");
    assert_non_null(strstr(z, "\n     |            ^^^^ loop 宽宽\n"));
    z = refused(&fx, "split(\"é\", {2, 2})");
    assert_non_null(strstr(z, "\n     |         ^ loop é\n"));
    fx_close(&fx);
}

/* Of two loops or blocks each has its part told, and which of several causes it is. */
static void two_blocks_have_their_parts_told(void **state)
{
    static const char PROGRAM[] = "@T.prim_func\n"
                                  "def main(X: T.Buffer((8,)), Y: T.Buffer((8,))):\n"
                                  "    B = T.alloc_buffer((8,))\n"
                                  "    for i in range(8):\n"
                                  "        with T.block(\"B\"):\n"
                                  "            v = T.axis.spatial(8, i)\n"
                                  "            B[v] = X[v]\n"
                                  "    for o in range(2):\n"
                                  "        with T.block(\"O\"):\n"
                                  "            vo = T.axis.spatial(2, o)\n"
                                  "            for j in range(4):\n"
                                  "                with T.block(\"Y\"):\n"
                                  "                    v = T.axis.spatial(4, j)\n"
                                  "                    Y[vo * 4 + v] = B[vo * 4 + v]\n";
    static const char *const rows[][2] = {
        {"compute_at(\"B\", \"i\")", "loop i is above block B already"},
        {"compute_at(\"B\", \"j\")",
         "block B is in the scope of block root, loop j in that of block O"},
        {"merge(\"i\", \"j\")",
         "loop j is in the scope of block O, loop i in that of block root"},
        {"set_scope(\"Y\", 0, \"shared\")",
         "buffer Y is a parameter of the function, allocated by no block"},
    };
    Fixture fx;

    fx_text(&fx, PROGRAM);
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        const char *z = refused(&fx, rows[k][0]);

        if (!strstr(z, rows[k][1]))
            fail_msg("%s: %s", rows[k][0], z);
    }
    fx_close(&fx);
}

/* The first factor is factor 1, as in Lua. */
static void positions_of_factors_count_from_1(void **state)
{
    static const char *const rows[][2] = {
        {"split(\"i\", {auto, 2, auto})", "factors 1 and 3 are both auto"},
        {"split(\"i\", {-2, 2})", "factor 1 is -2"},
        {"split(\"i\", 0)", "factor 2 is 0"}, /* 0 alone is {auto, 0} */
        {"split(\"i\", \"x\")", "factor 1 is a string"},
        {"split(\"i\", {2, \"x\"})", "factor 2 is a string"},
        {"loop_partition(\"i\", {auto, auto})", "factors 1 and 2 are both auto"},
        {"loop_partition(\"i\", {2, -1})", "factor 2 is -1"},
        {"sample_categorical({1, 2}, {0.5, -1})", "probs: number 2 is -1"},
    };
    Fixture fx;

    fx_matmul(&fx, 64, 64, 64);
    for (size_t k = 0; k < ML_COUNT(rows); k++)
        assert_non_null(strstr(refused(&fx, rows[k][0]), rows[k][1]));
    fx_close(&fx);
}

/* What is offered for a loop of one iteration would be a guard around nothing. */
static void no_guard_is_offered_for_a_loop_of_extent_1(void **state)
{
    static const char *const calls[] = {
        "split(\"i\", {auto, -1})",
        "split(\"i\", {auto, 2, auto})",
        "annotate(\"i\", \"a\", 1) split(\"i\", {2, 2})",
        "loop_partition(\"i\", {-1})",
    };
    Fixture fx;

    for (size_t k = 0; k < ML_COUNT(calls); k++) {
        fx_matmul(&fx, 1, 64, 64);
        assert_null(strstr(refused(&fx, calls[k]), "guard"));
        fx_close(&fx);
    }
    fx_matmul(&fx, 3, 64, 64); /* what is offered divides a short loop */
    assert_non_null(strstr(refused(&fx, calls[0]), "split(\"i\", {auto, 3})"));
    assert_non_null(strstr(refused(&fx, calls[1]), "split(\"i\", {2, auto})"));
    fx_close(&fx);
}

/* A rule that only says the sentence again is not shown; one that says more is. */
static void a_rule_that_says_nothing_more_is_not_shown(void **state)
{
    static const struct {
        const char *call;
        bool rule;
    } rows[] = {
        {"split(\"i\", {4.5})", false},  {"compute_inline(\"root\")", false},
        {"fuse(\"i\", \"i\")", false},   {"unroll(\"*\")", false},
        {"blockize({\"root\"})", false}, {"split(\"i\", {3, 2})", true},
        {"parallel(\"k\")", true},
    };
    Fixture fx;

    fx_matmul(&fx, 64, 64, 64);
    for (size_t k = 0; k < ML_COUNT(rows); k++)
        assert_int_equal(strstr(refused(&fx, rows[k].call), "\n  rule ") != NULL,
                         rows[k].rule);
    fx_close(&fx);
}

static void an_error_without_a_schedule(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text t = {0};

    ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("the number of runs is -1"));
    ml_Failure *f = ml_failure_from(ml_error(cx));

    ml_failure_render(f, &t, &(ml_RenderOpts){.width = 60});
    assert_string_equal(ml_text_z(&t),
                        "error: the number of runs is -1               [bad-argument]");
    ml_text_free(&t);
    ml_failure_free(f);
    ml_ctx_unref(cx);
}

static void every_sentence_uses_the_facts_it_has_places_for(void **state)
{
    for (int c = ML_E_OK + 1; c < ML_E_COUNT; c++) {
        const char *z = ml_error_sentence((ml_ErrorCode)c);

        for (; *z; z++)
            if (*z == '{')
                assert_true(z[1] >= '0' && z[1] <= '9' && z[2] == '}');
    }
}

#define HEAD                                                                               \
    "from tvm.script import tir as T\n\n@T.prim_func\ndef main("                           \
    "A: T.Buffer((128, 4096), \"float32\"), C: T.Buffer((128, 4096), \"float32\")):\n"

static const char WIDE[] =
    HEAD "    B = T.alloc_buffer((128, 4096), scope=\"shared\")\n"
         "    for i0 in T.thread_binding(16, thread=\"blockIdx.y\"):\n"
         "        for i1 in T.thread_binding(8, thread=\"blockIdx.x\"):\n"
         "            for j0 in range(4):\n"
         "                for j1 in range(64):\n"
         "                    for j2 in range(16):\n"
         "                        with T.block(\"B\"):\n"
         "                            vi = T.axis.spatial(128, i0 * 8 + i1)\n"
         "                            vj = T.axis.spatial(4096, j0 * 1024 + j1 * 16 + j2)\n"
         "                            B[vi, vj] = A[vi, vj]\n"
         "                    for j2 in range(17):\n"
         "                        with T.block(\"C\"):\n"
         "                            vi = T.axis.spatial(128, i0 * 8 + i1)\n"
         "                            vj = T.axis.spatial(4096, j0 * 1024 + j1 * 16 + j2)\n"
         "                            T.where(j0 * 1024 + j1 * 16 + j2 < 4096)\n"
         "                            C[vi, vj] = B[vi, vj]\n";

static void a_wide_region_is_told_in_part(void **state)
{
    Fixture fx;
    const char *z;

    fx_text(&fx, WIDE);
    z = refused(&fx, "cache_read(\"C\", 0, \"local\")");
    assert_non_null(strstr(z, "dimension 1 of 2 is read up to j0 * 1024 + j1 …"));
    assert_non_null(strstr(z, "written up to j0 * 1024 + j1 * 16 + 15"));
    assert_true(strcspn(z, "\n") < 200);
    fx_close(&fx);
}

/* Threads of one tag count as one symbol in the proof; on screen they are the loop. */
static void a_region_speaks_of_loops(void **state)
{
    Fixture fx;
    const char *z;

    fx_text(&fx, HEAD "    B = T.alloc_buffer((128, 4096), scope=\"local\")\n"
                      "    for t in T.thread_binding(128, thread=\"threadIdx.x\"):\n"
                      "        for j in range(4096):\n"
                      "            with T.block(\"B\"):\n"
                      "                vi, vj = T.axis.remap(\"SS\", [t, j])\n"
                      "                B[vi, vj] = A[vi, vj]\n"
                      "    for t in T.thread_binding(128, thread=\"threadIdx.x\"):\n"
                      "        for j in range(4096):\n"
                      "            with T.block(\"C\"):\n"
                      "                vi, vj = T.axis.remap(\"SS\", [t, j])\n"
                      "                C[vi, vj] = B[127 - vi, vj]\n");
    z = refused(&fx, "cache_read(\"C\", 0, \"local\")");
    assert_non_null(strstr(z, "dimension 0 of 2 reads ["));
    assert_null(strstr(z, "threadIdx_x"));
    fx_close(&fx);
}

static void the_distance_is_a_number(void **state)
{
    Fixture fx;
    const char *z;

    fx_text(&fx, HEAD "    B = T.alloc_buffer((128,))\n"
                      "    for i in range(100):\n"
                      "        with T.block(\"B\"):\n"
                      "            v = T.axis.spatial(100, i)\n"
                      "            B[v] = A[v, 0]\n"
                      "    for i in range(120):\n"
                      "        with T.block(\"C\"):\n"
                      "            v = T.axis.spatial(120, i)\n"
                      "            C[v, 0] = B[v]\n");
    z = refused(&fx, "compute_inline(\"B\")");
    assert_non_null(strstr(z, "dimension 0 reads [0, 119], written is [0, 99], 20 elements "
                              "past it"));
    fx_close(&fx);
}

static void a_step_that_would_have_worked_earlier(void **state)
{
    Fixture fx;
    const char *z;

    fx_text(&fx, HEAD "    B = T.alloc_buffer((128, 4096))\n"
                      "    for i, j in T.grid(128, 4096):\n"
                      "        with T.block(\"B\"):\n"
                      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                      "            B[vi, vj] = A[vi, vj]\n"
                      "    for i, j in T.grid(128, 4096):\n"
                      "        with T.block(\"C\"):\n"
                      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                      "            C[vi, vj] = B[vi, vj]\n");
    fx_apply(&fx, "annotate(\"B/i\", \"x\", 1) compute_at(\"B\", \"C/i\")");
    /* The second step gave loop C/i another statement. */
    z = refused(&fx, "reorder(\"C/j\", \"C/i\")");
    assert_non_null(strstr(z, "[not-chain]"));
    assert_non_null(strstr(z, "  try    :before 2 reorder(\"C/j\", \"C/i\")"));
    /* Before the first step it would work, too, but not what came later. */
    fx_apply(&fx, "annotate(\"C/j\", \"y\", 1)");
    z = refused(&fx, "fuse(\"C/i\", \"C/j\")");
    assert_null(strstr(z, ":before"));
    fx_close(&fx);
}

static void a_global_copy_moves_to_shared_memory(void **state)
{
    Fixture fx;
    const char *z;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "cache_read(\"C\", \"B\", \"global\") compute_at(\"B_global\", \"j\")");
    z = refused(&fx, "bind(\"i\", \"blockIdx.x\")");
    assert_non_null(strstr(z, "[would-race]"));
    assert_non_null(strstr(z, "set_scope(\"B_global\", 0, \"shared\") bind(\"i\", "
                              "\"blockIdx.x\")"));
    fx_apply(&fx, "set_scope(\"B_global\", 0, \"shared\") bind(\"i\", \"blockIdx.x\")");
    fx_close(&fx);
}

static void remarks_have_plain_numbers(void **state)
{
    Fixture fx;
    const char *z;

    fx_text(&fx, "from tvm.script import tir as T\n\n@T.prim_func\ndef main(a: T.handle):\n"
                 "    n = T.int64()\n"
                 "    A = T.match_buffer(a, (n,))\n"
                 "    for i in range(n):\n"
                 "        with T.block(\"B\"):\n"
                 "            v = T.axis.spatial(n, i)\n"
                 "            A[v] = T.float32(0)\n");
    z = refused(&fx, "split(\"i\", {auto, 8, auto})");
    assert_null(strstr(z, "T.int64("));
    fx_apply(&fx, "split(\"i\", {auto, 8})");
    assert_non_null(strstr(ml_step_headline(fx.s, 1), "[(n + 7) // 8]"));
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_that_are_too_small),
        cmocka_unit_test(a_list_that_lua_cut_short),
        cmocka_unit_test(a_reduction_loop_made_parallel),
        cmocka_unit_test(an_ended_handle),
        cmocka_unit_test(the_table_of_places_holds),
        cmocka_unit_test(a_name_nobody_has),
        cmocka_unit_test(a_name_of_several_is_tried_as_each_of_them),
        cmocka_unit_test(levels_and_widths),
        cmocka_unit_test(a_failure_outlives_later_calls),
        cmocka_unit_test(a_failure_keeps_its_schedule),
        cmocka_unit_test(a_caret_is_as_wide_as_what_it_marks),
        cmocka_unit_test(two_blocks_have_their_parts_told),
        cmocka_unit_test(positions_of_factors_count_from_1),
        cmocka_unit_test(no_guard_is_offered_for_a_loop_of_extent_1),
        cmocka_unit_test(a_rule_that_says_nothing_more_is_not_shown),
        cmocka_unit_test(an_error_without_a_schedule),
        cmocka_unit_test(a_wide_region_is_told_in_part),
        cmocka_unit_test(a_region_speaks_of_loops),
        cmocka_unit_test(the_distance_is_a_number),
        cmocka_unit_test(a_step_that_would_have_worked_earlier),
        cmocka_unit_test(a_global_copy_moves_to_shared_memory),
        cmocka_unit_test(remarks_have_plain_numbers),
        cmocka_unit_test(every_sentence_uses_the_facts_it_has_places_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
