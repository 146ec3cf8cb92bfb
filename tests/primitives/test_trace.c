/*
 * test_trace - traces: what is recorded, the three texts, reading JSON, dead code,
 * decisions, replay.
 */
#include "fixture.h"

#include "moonloop/core/compare/equal.h"

#include <stdio.h>
#include <time.h>

static const char *lua_of(Fixture *fx)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(fx->s, cx);
    ml_Text out = {0};
    const char *z;

    ml_trace_lua(cx, &out, &t);
    ml_ctx_reset(fx->tmp);
    z = ml_strdup(fx->tmp, (ml_Str){ml_text_z(&out), out.n});
    ml_text_free(&out);
    ml_ctx_unref(cx);
    return z;
}

static const char *python_of(Fixture *fx, bool newest)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(fx->s, cx);
    ml_Text out = {0};
    const char *z;

    ml_trace_python(cx, &out, &t, newest);
    ml_ctx_reset(fx->tmp);
    z = ml_strdup(fx->tmp, (ml_Str){ml_text_z(&out), out.n});
    ml_text_free(&out);
    ml_ctx_unref(cx);
    return z;
}

/* ---- what is recorded */

static void names_are_recorded_as_lookups(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 1024, 1024, 1024);
    fx_apply(&fx, "split(\"j\", {auto, 16}) reorder(\"i\", \"j_0\", \"k\", \"j_1\")");
    fx_apply(&fx, "vectorize(\"j_1\") parallel(\"i\")");
    assert_string_equal(
        lua_of(&fx),
        "local b0 = sch:get_block{name = \"C\", func_name = \"matmul\"}\n"
        "local l1, l2, l3 = table.unpack(sch:get_loops{block = b0})\n"
        "local l4, l5 = table.unpack(sch:split{loop = l2, factors = {moon.auto, "
        "16}})\n"
        "sch:reorder(l1, l4, l3, l5)\n"
        "sch:vectorize{loop = l5}\n"
        "sch:parallel{loop = l1}\n");
    assert_string_equal(python_of(&fx, false),
                        "# from tvm import tir\n"
                        "def apply_trace(sch: tir.Schedule) -> None:\n"
                        "  b0 = sch.get_block(name=\"C\", func_name=\"matmul\")\n"
                        "  l1, l2, l3 = sch.get_loops(block=b0)\n"
                        "  l4, l5 = sch.split(loop=l2, factors=[None, 16], "
                        "preserve_unit_iters=True, disable_predication=False)\n"
                        "  sch.reorder(l1, l4, l3, l5)\n"
                        "  sch.vectorize(loop=l5)\n"
                        "  sch.parallel(loop=l1)\n");
    assert_non_null(strstr(python_of(&fx, true),
                           "# from tvm import s_tir\n"
                           "def apply_trace(sch: s_tir.Schedule) -> None:\n"
                           "  b0 = sch.get_sblock(name=\"C\""));
    fx_close(&fx);
}

static void an_empty_trace_prints_pass(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    assert_string_equal(lua_of(&fx), "");
    assert_string_equal(python_of(&fx, false),
                        "# from tvm import tir\n"
                        "def apply_trace(sch: tir.Schedule) -> None:\n"
                        "  pass\n");
    fx_close(&fx);
}

static void a_failed_call_leaves_no_lookup(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    fx_refuses(&fx, ML_E_ITER_NOT_PARALLEL, "parallel(\"k\")");
    assert_string_equal(lua_of(&fx), "");
    fx_close(&fx);
}

/* Two blocks of one stored name are told apart as children of the root. */
static void blocks_of_one_name_are_recorded_as_children(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Module *m = fx_stages_module(cx, 8, "j");
    ml_Block root = *ml_as_block(m->funcs[0]->body);
    const ml_Seq *seq = ml_as_seq(root.body);
    ml_For loop = *ml_as_for(seq->stmts[1]);
    ml_Block c = *ml_as_block(loop.body);
    Fixture fx;

    c.name = "B";
    loop.body = ml_block_from(cx, &c);
    root.body = ml_seq_with(cx, seq, 1, ml_for_from(cx, &loop));
    const ml_Func *f = ml_func_with_body(cx, m->funcs[0], ml_block_from(cx, &root));

    fx_open(&fx, cx, ml_module_new(cx, &f, 1, NULL), NULL);
    fx_refuses(&fx, ML_E_AMBIGUOUS_BLOCK, "get_block(\"B\", \"main\")");
    fx_apply(&fx, "unroll(\"j\") get_block(\"B_1\")");
    assert_string_equal(
        lua_of(&fx),
        "local b0 = sch:get_block{name = \"root\", func_name = \"main\"}\n"
        "local b1, b2 = table.unpack(sch:get_child_blocks{block_or_loop = b0})\n"
        "local l3 = table.unpack(sch:get_loops{block = b2})\n"
        "sch:unroll{loop = l3}\n");
    fx_close(&fx);
}

static void samples_print_their_decisions(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "sample_perfect_tile(\"i\", 3)");
    ml_Handle v[3] = {fx.r.v[0], fx.r.v[1], fx.r.v[2]};
    ml_Arg list[] = {ML_ARG_HANDLE(v[0]), ML_ARG_HANDLE(v[1]), ML_ARG_HANDLE(v[2])};
    ml_Arg args[] = {ML_ARG_STR("i"), ML_ARG_LIST(list, 3)};

    assert_true(ml_apply(fx.s, "split", args, 2, NULL));
    const char *z = lua_of(&fx);

    assert_non_null(
        strstr(z, "local v4, v5, v6 = table.unpack(sch:sample_perfect_tile{loop = l1, "
                  "n = 3, decision = {"));
    assert_non_null(strstr(z, "local l7, l8, l9 = table.unpack(sch:split{loop = l1, "
                              "factors = {v4, v5, v6}})\n"));
    fx_close(&fx);
}

/* ---- JSON */

static void json_of(Fixture *fx, ml_Text *out)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t = ml_schedule_trace(fx->s, cx);

    ml_trace_json(cx, out, &t);
    ml_ctx_unref(cx);
}

/* Applies the text to a fresh matmul and compares programs and texts. */
static void check_replays(Fixture *fx, ml_Ctx *module_cx, const ml_Module *m)
{
    ml_Text json = {0}, again = {0};
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t;
    Fixture other;
    size_t done;

    json_of(fx, &json);
    if (!ml_trace_from_json(cx, (ml_Str){json.p, json.n}, &t))
        fail_msg("%s in %s", ml_error(cx)->facts[0].as.text, json.p);
    fx_open(&other, module_cx, m, NULL);
    if (!ml_trace_apply(other.s, &t, false, NULL, NULL, &done))
        fail_msg("instruction %zu: %s", done, fx_message(&other));
    assert_int_equal(t.n, done);
    assert_true(ml_equal_module(cx, ml_schedule_program(fx->s).mod,
                                ml_schedule_program(other.s).mod, NULL, NULL));
    assert_true(ml_schedule_hash(fx->s) == ml_schedule_hash(other.s));
    json_of(&other, &again);
    assert_string_equal(json.p, again.p);
    ml_text_free(&json);
    ml_text_free(&again);
    ml_ctx_unref(cx);
    fx_close(&other);
}

static void json_replays_to_the_same_program_and_trace(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Ctx *ex = ml_ctx_new(0);

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "sample_categorical({2, 4}, {0.5, 0.5}) sample_perfect_tile(\"j\", 2)");
    ml_Handle v = fx.r.v[1];
    const ml_Expr *sym = ml_import_expr(ml_import_begin(ex), ml_handle_symbol(fx.s, v));
    ml_Arg list[] = {ML_ARG_AUTO,
                     {.kind = ML_A_EXPR, .as.e = ml_add(ex, sym, ml_i32(ex, 1))}};
    ml_Arg args[] = {ML_ARG_STR("i"), ML_ARG_LIST(list, 2)};

    assert_true(ml_apply(fx.s, "split", args, 2, NULL));
    fx_apply(&fx,
             "split(\"j\", {4, auto, 2}) fuse(\"j_0\", \"j_1\") reorder(\"k\", \"j_2\")");
    fx_apply(&fx, "annotate(\"C\", \"text\", \"a \\\"quoted\\\" word\")");
    fx_apply(&fx, "annotate(\"C\", \"list\", {1, 2.5, true, \"None\", {3}})");
    fx_apply(&fx, "annotate(\"C\", \"map\", {a = 1, b = \"b0\", c = {\"x\"}})");
    fx_apply(&fx, "annotate(\"k\", \"empty\", \"\") unannotate(\"k\", \"empty\")");
    fx_apply(&fx, "add_unit_loop(\"C\") unroll(\"u\") bind(\"i_0\", \"blockIdx.x\")");
    ml_Arg ann[] = {ML_ARG_STR("C"), ML_ARG_STR("sampled"), ML_ARG_HANDLE(v)};

    assert_true(ml_apply(fx.s, "annotate", ann, 3, NULL));
    check_replays(&fx, cx, fx_matmul_module(cx, 64, 64, 64));
    ml_ctx_unref(ex);
    fx_close(&fx);
}

static void bad_traces_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *json;
        ml_ErrorCode code;
        const char *part;
    } rows[] = {
        {"", ML_E_BAD_TRACE, "line 1, column 1: a value is expected"},
        {"[[], []", ML_E_BAD_TRACE, "a comma or ] is expected"},
        {"[[], []] x", ML_E_BAD_TRACE, "text after the value"},
        {"{}", ML_E_BAD_TRACE, "the field moonloop is missing"},
        {"{\"moonloop\": 2, \"trace\": [[], []]}", ML_E_BAD_TRACE, "a later version"},
        {"{\"moonloop\": 1}", ML_E_BAD_TRACE, "the field trace is missing"},
        {"[]", ML_E_BAD_TRACE, "a trace is [instructions, decisions]"},
        {"[[], 3]", ML_E_BAD_TRACE, "a trace is [instructions, decisions]"},
        {"[[[\"GetBlock\", [], [\"C\"]]], []]", ML_E_BAD_TRACE, "an instruction is"},
        {"[[\n [\"Nothing\", [], [], []]], []]", ML_E_NO_SUCH_INSTRUCTION, "Nothing"},
        {"[[[\"GetLoops\", [\"b0\"], [], [\"l1\"]]], []]", ML_E_BAD_TRACE,
         "column 17: no earlier instruction defines this name"},
        {"[[[\"GetLoops\", [\"b0 + 1\"], [], [\"l1\"]]], []]", ML_E_BAD_TRACE,
         "neither a name defined before nor an expression"},
        {"[[[\"GetBlock\", [1, 2], [\"C\", \"main\"], [\"b0\"]]], []]", ML_E_BAD_TRACE,
         "the number of inputs or attributes"},
        {"[[[\"GetBlock\", [], [\"C\", \"main\", 3], [\"b0\"]]], []]", ML_E_BAD_TRACE,
         "the number of inputs or attributes"},
        {"[[[\"GetLoops\", [], [], [\"l0\"]]], []]", ML_E_BAD_TRACE,
         "the number of inputs"},
        {"[[[\"GetBlock\", [], [\"C\", \"main\"], []]], []]", ML_E_BAD_TRACE,
         "this kind has one output"},
        {"[[[\"GetBlock\", [], [\"C\", \"main\"], [3]]], []]", ML_E_BAD_TRACE,
         "the name of an output is expected"},
        {"[[[\"EnterUnknown\", [], [], []]], []]", ML_E_NO_SUCH_INSTRUCTION,
         "EnterUnknown"},
        {"[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]]], [[1, 2]]]", ML_E_BAD_TRACE,
         "there is no instruction of this index"},
        {"[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]]], [[-1, 2]]]", ML_E_BAD_TRACE,
         "there is no instruction of this index"},
        {"[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]]], [[0, 2]]]", ML_E_BAD_TRACE,
         "this instruction has no decision"},
        {"[[[\"SampleCategorical\", [], [[1], [1.0]], [\"v0\"]]], [[0, 0], [0, 0]]]",
         ML_E_BAD_TRACE, "a second decision for one instruction"},
        {"[[[\"SampleCategorical\", [], [[1], [1.0]], [\"v0\"]]], [[0, \"x\"]]]",
         ML_E_BAD_TRACE, "a decision is an integer"},
        {"[[[\"Annotate\", [\"\\\"abc\"], [\"k\"], []]], []]", ML_E_BAD_TRACE,
         "the quoted text inside the string is wrong"},
    };

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Trace t;

        if (ml_trace_from_json(cx, ml_str(rows[k].json), &t))
            fail_msg("%s was accepted", rows[k].json);
        if (ml_error(cx)->code != rows[k].code ||
            !strstr(ml_error(cx)->facts[0].as.text, rows[k].part))
            fail_msg("%s: %s", rows[k].json, ml_error(cx)->facts[0].as.text);
        ml_ctx_unref(cx);
    }
}

static void old_forms_of_instructions_are_read(void **state)
{
    static const char json[] =
        "[[[\"GetSBlock\", [], [\"C\", \"matmul\"], [\"b0\"]],\n"
        "  [\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],\n"
        "  [\"Split\", [\"l1\", \"None\", 4], [], [\"l4\", \"l5\"]],\n"
        "  [\"Split\", [\"l2\", 16, 4], [1], [\"l6\", \"l7\"]],\n"
        "  [\"Fuse\", [\"l4\", \"l5\"], [], [\"l8\"]]], []]";
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t;

    fx_matmul(&fx, 64, 64, 64);
    assert_true(ml_trace_from_json(cx, ml_str(json), &t));
    if (!ml_trace_apply(fx.s, &t, false, NULL, NULL, NULL))
        fail_msg("%s", fx_message(&fx));
    assert_int_equal(3, ml_schedule_version(fx.s));
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static void a_replay_stops_at_the_first_instruction_that_fails(void **state)
{
    Fixture fx, small;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t;
    size_t done;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "split(\"i\", {16, 4}) split(\"j\", {8, 8})");
    t = ml_schedule_trace(fx.s, cx);
    fx_matmul(&small, 64, 128, 64);
    assert_false(ml_trace_apply(small.s, &t, false, NULL, NULL, &done));
    assert_int_equal(3, done);
    assert_int_equal(1, ml_schedule_version(small.s));
    assert_int_equal(ML_E_FACTORS_TOO_SMALL, ml_schedule_error(small.s)->code);
    assert_string_equal("while replaying instruction 3, Split",
                        ml_schedule_error(small.s)->notes[0]);
    fx_close(&small);

    /* the number of outputs must agree */
    fx_stages(&small, 64, "j");
    ml_Ctx *jx = ml_ctx_new(0);

    assert_true(
        ml_trace_from_json(jx,
                           ml_str("[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]],"
                                  "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\"]]], []]"),
                           &t));
    assert_false(ml_trace_apply(small.s, &t, false, NULL, NULL, &done));
    assert_int_equal(1, done);
    assert_int_equal(ML_E_BAD_TRACE, ml_schedule_error(small.s)->code);
    ml_ctx_unref(jx);
    fx_close(&small);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

/* ---- dead code, decisions */

static void unused_queries_are_dropped_and_variables_renumbered(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text out = {0};
    ml_Trace t;

    fx_stages(&fx, 64, "j");
    fx_apply(&fx, "get_block(\"C\") get_loops(\"C\") sample_perfect_tile(\"i\", 2)");
    fx_apply(&fx, "unroll(\"i\") get_consumers(\"B\")");
    t = ml_schedule_trace(fx.s, cx);
    t = ml_trace_simplified(cx, &t, false);
    ml_trace_lua(cx, &out, &t);
    assert_string_equal(ml_text_z(&out),
                        "local b0 = sch:get_block{name = \"B\", func_name = \"main\"}\n"
                        "local l1 = table.unpack(sch:get_loops{block = b0})\n"
                        "sch:unroll{loop = l1}\n");
    ml_text_free(&out);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static const ml_Value *always_first(const ml_Inst *inst, const ml_Value *decision,
                                    void *user)
{
    return user;
}

static void decisions_can_be_replaced(void **state)
{
    Fixture fx, other;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Trace t;
    int64_t v;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "sample_categorical({7, 8, 9}, {1, 1, 1})");
    t = ml_schedule_trace(fx.s, cx);
    t = ml_trace_with_decision(cx, &t, 0, ml_val_int(cx, 2));
    fx_matmul(&other, 64, 64, 64);
    assert_true(ml_trace_apply(other.s, &t, false, NULL, NULL, NULL));
    ml_Trace o = ml_schedule_trace(other.s, cx);

    assert_true(
        ml_handle_value(other.s, (ml_Handle){ML_H_EXPR, o.insts[0]->outputs[0].uid}, &v));
    assert_int_equal(9, v);
    fx_close(&other);

    const ml_Value *zero = ml_val_int(cx, 0);
    union {
        const ml_Value *in;
        void *out;
    } u = {.in = zero};

    fx_matmul(&other, 64, 64, 64);
    assert_true(ml_trace_apply(other.s, &t, false, always_first, u.out, NULL));
    o = ml_schedule_trace(other.s, cx);
    assert_int_equal(0, o.insts[0]->decision->as.i);
    fx_close(&other);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

/* ---- saved schedules */

static void a_saved_schedule_holds_program_trace_and_hash(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text out = {0};
    ml_Saved saved;
    char hash[17];

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "split(\"i\", {16, 4})");
    ml_saved_write(fx.s, &out);
    assert_true(ml_saved_read(cx, (ml_Str){out.p, out.n}, &saved));
    snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)ml_schedule_hash(fx.s));
    assert_string_equal(hash, saved.hash);
    assert_string_equal("matmul", saved.func);
    assert_null(saved.target);
    assert_int_equal(3, saved.trace.n);

    ml_Ctx *mx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(mx, ml_str(saved.program), NULL);

    assert_non_null(p.mod);
    check_replays(&fx, mx, p.mod);
    ml_text_free(&out);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static void a_saved_script_ends_with_its_hash(void **state)
{
    Fixture fx;
    ml_Text out = {0};
    char want[80];

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "split(\"i\", {16, 4})");
    ml_saved_lua(fx.s, &out);
    snprintf(want, sizeof(want), "assert(sch:hash(8) == \"%08x\")\nreturn sch\n",
             (unsigned)(ml_schedule_hash(fx.s) >> 32));
    assert_ptr_equal(out.p, strstr(out.p, "-- moonloop schedule: "));
    assert_non_null(strstr(out.p, "moon.parse([=[\n"));
    assert_non_null(strstr(out.p,
                           "\n]=])\nlocal sch = moon.schedule(program, {func = \"matmul\", "
                           "name = \"matmul\"})\nlocal b0 = "));
    assert_string_equal(want, out.p + out.n - strlen(want));
    ml_text_free(&out);
    fx_close(&fx);
}

static void long_traces_keep_their_variables_in_a_table(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    for (int k = 0; k < 70; k++)
        fx_apply(&fx, "get_loops(\"C\")");
    const char *z = lua_of(&fx);

    assert_ptr_equal(z, strstr(z, "local v = {}\nv.b0 = sch:get_block{"));
    assert_non_null(
        strstr(z, "\nv.l1, v.l2, v.l3 = table.unpack(sch:get_loops{block = v.b0})\n"));
    fx_close(&fx);
}

/* ---- speed */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void a_replay_is_fast(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    const ml_Module *m = fx_matmul_module(mx, 1024, 1024, 1024);
    int n = 200;

    fx_matmul(&fx, 1024, 1024, 1024);
    fx_apply(
        &fx,
        "split(\"i\", {4, 4, 4, 16}) split(\"j\", {4, 4, 4, 16}) split(\"k\", {64, 16})");
    fx_apply(
        &fx,
        "reorder(\"i_0\", \"j_0\", \"i_1\", \"j_1\", \"k_0\", \"i_2\", \"j_2\", \"k_1\", "
        "\"i_3\", \"j_3\")");
    fx_apply(&fx, "fuse(\"i_0\", \"j_0\") parallel(\"i_0_j_0_fused\") vectorize(\"j_3\")");
    fx_apply(&fx, "unroll(\"i_3\") annotate(\"C\", \"a\", 1)");
    ml_Trace t = ml_schedule_trace(fx.s, cx);
    double start = seconds();

    for (int k = 0; k < n; k++) {
        ml_Schedule *s = ml_schedule_new(mx, m, NULL, NULL);

        assert_true(ml_trace_apply(s, &t, false, NULL, NULL, NULL));
        ml_schedule_unref(s);
    }
    double each = (seconds() - start) / n;

    print_message("a replay of %zu instructions takes %.0f us\n", t.n, each * 1e6);
    assert_true(each <
                0.02); /* far above what is wanted: machines differ, sanitizers too */
    ml_ctx_unref(mx);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_recorded_as_lookups),
        cmocka_unit_test(an_empty_trace_prints_pass),
        cmocka_unit_test(a_failed_call_leaves_no_lookup),
        cmocka_unit_test(blocks_of_one_name_are_recorded_as_children),
        cmocka_unit_test(samples_print_their_decisions),
        cmocka_unit_test(json_replays_to_the_same_program_and_trace),
        cmocka_unit_test(bad_traces_are_refused_with_their_place),
        cmocka_unit_test(old_forms_of_instructions_are_read),
        cmocka_unit_test(a_replay_stops_at_the_first_instruction_that_fails),
        cmocka_unit_test(unused_queries_are_dropped_and_variables_renumbered),
        cmocka_unit_test(decisions_can_be_replaced),
        cmocka_unit_test(a_saved_schedule_holds_program_trace_and_hash),
        cmocka_unit_test(a_saved_script_ends_with_its_hash),
        cmocka_unit_test(long_traces_keep_their_variables_in_a_table),
        cmocka_unit_test(a_replay_is_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
