/*
 * test_schedule - schedules: versions, undo, copies, handles, arguments, failed calls,
 * random state.
 */
#include "fixture.h"

#include "moonloop/core/compare/equal.h"

static ml_Handle loop_handle(ml_Uid uid)
{
    return (ml_Handle){ML_H_LOOP, uid};
}

/* ---- steps */

static void a_step_makes_a_version_with_line_and_headline(void **state)
{
    Fixture fx;
    ml_Step st;

    fx_matmul(&fx, 1024, 1024, 1024);
    fx_apply(&fx, "split(\"j\", {auto, 16})");
    assert_int_equal(1, ml_schedule_version(fx.s));
    assert_true(ml_version_step(fx.s, 1, &st));
    assert_string_equal("split(\"j\", {auto, 16})", st.line);
    assert_string_equal("split  j → j_0[64] j_1[16]", st.headline);
    assert_int_equal(0, st.parent);
    fx_apply(&fx, "reorder(\"i\", \"j_0\", \"k\", \"j_1\")");
    assert_true(ml_version_step(fx.s, 2, &st));
    assert_string_equal("reorder  i, j_0, k, j_1", st.headline);
    assert_string_equal("reorder(\"i\", \"j_0\", \"k\", \"j_1\")", st.line);
    fx_apply(&fx, "unroll(\"j_1\")");
    assert_true(ml_version_step(fx.s, 3, &st));
    assert_string_equal("unroll  j_1", st.headline);
    assert_false(ml_version_step(fx.s, 4, &st));
    fx_close(&fx);
}

static void queries_make_no_version(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "get_block(\"C\") get_loops(\"C\")");
    assert_int_equal(3, fx.r.n);
    assert_true(fx.r.is_list);
    assert_int_equal(1, ml_schedule_n_versions(fx.s));
    fx_close(&fx);
}

static void undo_and_redo_walk_the_tree(void **state)
{
    Fixture fx;
    ml_Module const *start, *one;

    fx_matmul(&fx, 8, 8, 8);
    start = ml_schedule_program(fx.s).mod;
    fx_apply(&fx, "split(\"i\", {2, 4})");
    one = ml_schedule_program(fx.s).mod;
    fx_apply(&fx, "split(\"j\", {2, 4})");
    assert_true(ml_schedule_undo(fx.s, 2));
    assert_ptr_equal(start, ml_schedule_program(fx.s).mod);
    assert_true(ml_schedule_redo(fx.s, 1));
    assert_ptr_equal(one, ml_schedule_program(fx.s).mod);
    assert_true(ml_schedule_redo(fx.s, 1));
    assert_int_equal(2, ml_schedule_version(fx.s));
    assert_false(ml_schedule_redo(fx.s, 1));
    assert_int_equal(ML_E_BAD_ARGUMENT, ml_schedule_error(fx.s)->code);
    assert_false(ml_schedule_undo(fx.s, 3));
    assert_int_equal(2, ml_schedule_version(fx.s));
    assert_true(ml_schedule_undo(fx.s, 1));
    fx_apply(&fx, "unroll(\"k\")"); /* a sibling of v2 */
    assert_int_equal(3, ml_schedule_version(fx.s));
    assert_true(ml_schedule_undo(fx.s, 2));
    assert_true(ml_schedule_redo(fx.s, 2)); /* along the child visited last */
    assert_int_equal(3, ml_schedule_version(fx.s));
    assert_true(ml_schedule_goto(fx.s, 2));
    assert_int_equal(2, ml_schedule_version(fx.s));
    assert_false(ml_schedule_goto(fx.s, 9));
    fx_close(&fx);
}

static void undo_restores_the_trace_before_the_step(void **state)
{
    Fixture fx;
    ml_State before;

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "sample_categorical({1, 2, 4}, {1, 1, 1})");
    before = ml_schedule_state(fx.s);
    fx_apply(&fx, "split(\"i\", {2, 4})");
    assert_true(ml_schedule_undo(fx.s, 1));
    ml_State after = ml_schedule_state(fx.s);

    assert_ptr_equal(before.trace, after.trace);
    assert_int_equal(before.random, after.random);
    fx_close(&fx);
}

static void a_state_can_be_restored(void **state)
{
    Fixture fx;
    ml_State st;

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "get_block(\"C\")");
    st = ml_schedule_state(fx.s);
    fx_apply(&fx, "split(\"i\", {2, 4}) unroll(\"i_1\")");
    ml_schedule_restore(fx.s, st);
    assert_int_equal(0, ml_schedule_version(fx.s));
    assert_ptr_equal(st.trace, ml_schedule_state(fx.s).trace);
    fx_close(&fx);
}

static void marks_and_branches_name_versions(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "unroll(\"k\")");
    assert_true(ml_schedule_mark(fx.s, "a"));
    assert_true(ml_schedule_mark(fx.s, "b"));
    fx_apply(&fx, "unroll(\"j\")");
    assert_true(ml_schedule_mark(fx.s, "a"));
    assert_int_equal(2, ml_schedule_find_mark(fx.s, "a"));
    assert_int_equal(-1, ml_schedule_find_mark(fx.s, "c"));
    assert_string_equal("b", ml_schedule_marks_of(fx.s, 1));
    assert_null(ml_schedule_marks_of(fx.s, 0));
    assert_true(ml_schedule_mark(fx.s, "c"));
    assert_string_equal("a, c", ml_schedule_marks_of(fx.s, 2));
    assert_null(ml_schedule_branch_name(fx.s));
    assert_true(ml_schedule_branch(fx.s, "tuned"));
    fx_apply(&fx, "unroll(\"i\")");
    assert_string_equal("tuned", ml_schedule_branch_name(fx.s));
    assert_int_equal(3, ml_schedule_find_branch(fx.s, "tuned"));
    assert_true(ml_schedule_goto(fx.s, 2));
    assert_null(ml_schedule_branch_name(fx.s));
    fx_apply(&fx, "unroll(\"i\")");
    assert_int_equal(3, ml_schedule_find_branch(fx.s, "tuned"));
    assert_true(ml_schedule_goto(fx.s, 3));
    assert_string_equal("tuned", ml_schedule_branch_name(fx.s));
    assert_true(ml_schedule_branch(fx.s, "best"));
    assert_string_equal("tuned, best", ml_version_branch(fx.s, 3));
    assert_null(ml_version_branch(fx.s, 4));
    fx_close(&fx);
}

static void a_state_has_the_labels(void **state)
{
    Fixture fx;
    ml_State st, later;

    fx_matmul(&fx, 8, 8, 8);
    assert_true(ml_schedule_branch(fx.s, "a"));
    st = ml_schedule_state(fx.s);
    fx_apply(&fx, "unroll(\"k\")");
    later = ml_schedule_state(fx.s);
    assert_true(ml_schedule_branch(fx.s, "b"));
    ml_schedule_restore(fx.s, st); /* as if nothing had been */
    assert_int_equal(0, ml_schedule_find_branch(fx.s, "a"));
    assert_int_equal(-1, ml_schedule_find_branch(fx.s, "b"));
    assert_string_equal("a", ml_schedule_branch_name(fx.s));
    ml_schedule_restore(fx.s, later);
    assert_int_equal(1, ml_schedule_find_branch(fx.s, "a"));
    assert_true(ml_schedule_branch(fx.s, "b"));
    assert_true(ml_schedule_goto(fx.s, 1));
    ml_schedule_return(fx.s, st); /* b, which came since, stays */
    assert_int_equal(1, ml_schedule_find_branch(fx.s, "b"));
    fx_close(&fx);
}

static void old_versions_go_with_the_undo_limit(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "unroll(\"k\") unroll(\"j\")");
    assert_true(ml_schedule_mark(fx.s, "kept"));
    fx_apply(&fx, "unroll(\"i\") split(\"i\", {2, 4}) split(\"j\", {2, 4})");
    ml_schedule_set_undo_limit(fx.s, 2);
    assert_true(ml_version_known(fx.s, 0));
    assert_false(ml_version_known(fx.s, 1));
    assert_true(ml_version_known(fx.s, 2));
    assert_false(ml_version_known(fx.s, 3));
    assert_true(ml_version_known(fx.s, 4));
    assert_false(ml_schedule_goto(fx.s, 3));
    assert_true(ml_schedule_undo(fx.s, 1));
    assert_int_equal(4, ml_schedule_version(fx.s));
    fx_close(&fx);
}

/* ---- copies */

static void a_copy_goes_its_own_way(void **state)
{
    Fixture fx;
    ml_Schedule *c;

    fx_matmul(&fx, 8, 8, 8);
    fx_apply(&fx, "split(\"i\", {2, 4})");
    ml_Handle i_1 = fx_handle(&fx, "i_1");

    c = ml_schedule_copy(fx.s);
    assert_ptr_equal(ml_schedule_program(fx.s).mod, ml_schedule_program(c).mod);
    assert_true(ml_apply(c, "unroll", (ml_Arg[]){ML_ARG_HANDLE(i_1)}, 1, NULL));
    assert_int_equal(2, ml_schedule_version(c));
    assert_int_equal(1, ml_schedule_version(fx.s));
    assert_true(ml_schedule_undo(c, 2));
    fx_apply(&fx, "parallel(\"i_0\")");
    assert_int_equal(2, ml_schedule_version(fx.s));
    ml_schedule_unref(c);
    fx_apply(&fx, "unroll(\"k\")");
    fx_close(&fx);
}

static void a_copy_has_a_forked_random_state(void **state)
{
    Fixture fx;
    ml_Schedule *c;

    fx_matmul(&fx, 8, 8, 8);
    assert_true(ml_schedule_seed(fx.s, 1));
    c = ml_schedule_copy(fx.s);
    /* one step: 48271; times 32767 modulo 1999999973 */
    assert_int_equal((int)((INT64_C(48271) * 32767) % 1999999973),
                     (int)ml_schedule_state(c).random);
    assert_int_equal(48271, (int)ml_schedule_state(fx.s).random);
    ml_schedule_unref(c);
    fx_close(&fx);
}

static void a_fork_leaves_no_trace(void **state)
{
    Fixture fx;
    size_t bytes;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "split(\"i\", {16, 4})");
    bytes = ml_ctx_bytes(ml_schedule_ctx(fx.s));
    for (int k = 0; k < 10; k++) {
        ml_Schedule *t = ml_schedule_fork_at(fx.s, k % 2);
        ml_Handle h;

        assert_true(ml_resolve(t, k % 2 ? "i_1" : "i", ML_H_LOOP, &h));
        assert_true(ml_apply(t, "unroll", (ml_Arg[]){ML_ARG_HANDLE(h)}, 1, NULL));
        ml_schedule_unref(t);
    }
    assert_int_equal(bytes, ml_ctx_bytes(ml_schedule_ctx(fx.s)));
    fx_apply(&fx, "unroll(\"i_1\")");
    fx_close(&fx);
}

static void a_compaction_keeps_versions_handles_traces_and_copies(void **state)
{
    Fixture fx;
    ml_Schedule *c;
    ml_State st;
    ml_Handle i_1;
    ml_Step step;
    uint64_t hash;
    size_t bytes;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "sample_categorical({4}, {1})");
    ml_Handle v = fx.r.v[0];
    int64_t value;

    fx_apply(&fx, "split(\"i\", {16, 4}) annotate(\"C\", \"a\", \"text\")");
    i_1 = fx_handle(&fx, "i_1");
    c = ml_schedule_copy(fx.s);
    st = ml_schedule_state(fx.s);
    hash = ml_schedule_hash(fx.s);
    for (int k = 0; k < 400; k++) {
        fx_apply(
            &fx,
            "split(\"j\", {auto, 4}) split(\"k\", {auto, 8}) reorder(\"k_1\", \"j_1\")");
        ml_schedule_restore(fx.s, st);
    }
    ml_schedule_set_undo_limit(fx.s, 1);
    bytes = ml_ctx_bytes(ml_schedule_ctx(fx.s));
    ml_schedule_compact(fx.s);
    assert_true(ml_ctx_bytes(ml_schedule_ctx(fx.s)) < bytes);
    assert_true(hash == ml_schedule_hash(fx.s));
    assert_true(hash == ml_schedule_hash(c));
    assert_true(ml_handle_alive(fx.s, i_1));
    assert_string_equal("i_1", ml_name_of(fx.s, i_1.uid));
    assert_true(ml_version_step(fx.s, 1, &step));
    assert_string_equal("split  i → i_0[16] i_1[4]", step.headline);
    assert_true(ml_handle_value(fx.s, v, &value));
    assert_int_equal(4, value);
    ml_schedule_restore(fx.s, st);
    ml_Arg args[] = {ML_ARG_STR("j"), ML_ARG_HANDLE(v)};

    assert_true(ml_apply(fx.s, "split", args, 2, NULL));
    assert_true(ml_apply(c, "unroll", (ml_Arg[]){ML_ARG_HANDLE(i_1)}, 1, NULL));
    const char *what = "";
    ml_Ctx *tmp = ml_ctx_new(0);

    if (!ml_index_verify(tmp, ml_schedule_program(fx.s), &what))
        fail_msg("%s", what);
    ml_ctx_unref(tmp);
    ml_schedule_unref(c);
    fx_close(&fx);
}

/* ---- failed calls */

static void a_failed_call_changes_nothing_and_takes_no_memory(void **state)
{
    Fixture fx;
    size_t bytes;

    fx_matmul(&fx, 1024, 1024, 1024);
    fx_refuses(&fx, ML_E_FACTORS_TOO_SMALL, "split(\"i\", {10, 100})");
    bytes = ml_ctx_bytes(ml_schedule_ctx(fx.s));
    for (int k = 0; k < 200; k++) {
        fx_refuses(&fx, ML_E_FACTORS_TOO_SMALL, "split(\"i\", {10, 100})");
        fx_refuses(&fx, ML_E_NO_SUCH_LOOP, "split(\"q\", {10, 100})");
        fx_refuses(&fx, ML_E_TWO_AUTOS, "split(\"i\", {auto, auto})");
        fx_refuses(&fx, ML_E_BAD_ARGUMENT, "split(\"i\", \"x\")");
    }
    assert_int_equal(bytes, ml_ctx_bytes(ml_schedule_ctx(fx.s)));
    fx_close(&fx);
}

static void the_error_stays_readable_until_the_next_call(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 1024, 1024, 1024);
    fx_refuses(&fx, ML_E_FACTORS_TOO_SMALL, "split(\"i\", {10, 100})");
    assert_string_equal("split", ml_schedule_error(fx.s)->primitive);
    assert_string_equal("factors 10 × 100 = 1000 do not cover loop i, extent 1024",
                        fx_message(&fx));
    fx_apply(&fx, "unroll(\"i\")");
    assert_null(ml_schedule_error(fx.s));
    fx_close(&fx);
}

/* ---- arguments */

static void wrong_arguments_are_named(void **state)
{
    static const struct {
        const char *call, *message;
    } rows[] = {
        {"split()", "loop is missing: the loop to cut"},
        {"split(\"i\")",
         "factors is missing: extents of the new loops, outermost first; auto: the rest"},
        {"split(\"i\", {2, 4}, 3)",
         "preserve_unit_iters: true or false is needed, got an integer"},
        {"split(\"i\", {2, 4.5})", "factors: 4.5 is no integer"},
        {"split(\"i\", {2, \"a\"})", "factor 2 is a string; a positive integer, a sampled "
                                     "number or auto is needed"},
        {"split(3, {2, 4})", "loop: a loop (handle or name) is needed, got an integer"},
        {"bind(\"i\", 3)", "thread_axis: a string is needed, got an integer"},
        {"annotate(\"i\", \"k\")",
         "ann_val is missing: string, number, boolean, or a list or map "
         "of such"},
        {"annotate(\"i\", \"k\", auto)",
         "ann_val: a string, number, boolean, or a list or map of "
         "such is needed, got auto"},
    };
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        fx_refuses(&fx, ML_E_BAD_ARGUMENT, rows[k].call);
        assert_string_equal(rows[k].message, fx_message(&fx));
    }
    fx_close(&fx);
}

static void surplus_and_unknown_arguments_are_refused(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_CallTexts c = {0};

    assert_false(ml_parse_calls(cx, ml_str("unroll(\"i\", 1)"), &c));
    assert_string_equal("unroll takes at most 1 argument, got 2",
                        ml_error(cx)->facts[0].as.text);
    ml_error_clear(cx);
    assert_false(ml_parse_calls(cx, ml_str("split{loop = \"i\", factor_s = {1}}"), &c));
    assert_string_equal("split has no parameter factor_s; did you mean factors?",
                        ml_error(cx)->facts[0].as.text);
    ml_error_clear(cx);
    assert_false(ml_parse_calls(cx, ml_str("spilt(\"i\", {1})"), &c));
    assert_string_equal("no primitive 'spilt'; did you mean split?",
                        ml_error(cx)->facts[0].as.text);
    ml_ctx_unref(cx);
}

static void other_spellings_are_understood(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(
        &fx,
        "split{loop = \"i\", factor = 4} split{loop = \"j\", nparts = 4} split(\"k\", 8)");
    fx_apply(&fx, "get_sblock(\"C\") get_axes(\"C\")");
    assert_int_equal(6, fx.r.n);
    fx_apply(&fx, "bind{loop = \"i_0\", thread = \"blockIdx.x\"}");
    fx_apply(&fx, "fuse{\"j_0\", \"j_1\", preserve_unit_iters = false}");
    fx_apply(&fx, "reorder({\"k_1\", \"k_0\"})");
    fx_close(&fx);
}

static void factors_may_be_sampled_numbers_and_expressions(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Handle loop, v;
    int64_t value;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "sample_categorical({4}, {1})");
    v = fx.r.v[0];
    loop = fx_handle(&fx, "i");
    assert_true(ml_handle_value(fx.s, v, &value));
    assert_int_equal(4, value);

    const ml_Expr *sym = ml_import_expr(ml_import_begin(cx), ml_handle_symbol(fx.s, v));
    ml_Arg list[] = {ML_ARG_AUTO,
                     ML_ARG_HANDLE(v),
                     {.kind = ML_A_EXPR, .as.e = ml_mul(cx, sym, ml_i32(cx, 2))}};
    ml_Arg args[] = {ML_ARG_HANDLE(loop), ML_ARG_LIST(list, 3)};

    assert_true(ml_apply(fx.s, "split", args, 2, &fx.r));
    const ml_For *f =
        ml_as_for(ml_index_node(ml_schedule_program(fx.s).index, fx.r.v[2].uid));

    assert_true(ml_is_int(f->extent, 8));
    f = ml_as_for(ml_index_node(ml_schedule_program(fx.s).index, fx.r.v[0].uid));
    assert_true(ml_is_int(f->extent, 2));
    ml_ctx_unref(cx);
    fx_close(&fx);
}

static void buffers_are_named_by_number_name_or_object(void **state)
{
    Fixture fx;

    fx_stages(&fx, 16, "j");
    const ml_Buffer *b = ml_resolve_buffer(fx.s, "B");

    assert_non_null(b);
    fx_apply(&fx, "storage_align(\"B\", 0, 0, 8, 4)");
    fx_apply(&fx, "storage_align(\"B\", \"B\", 0, 8, 4)");
    ml_Arg args[] = {ML_ARG_STR("B"),
                     {.kind = ML_A_BUFFER, .as.buffer = b->uid},
                     ML_ARG_INT(0),
                     ML_ARG_INT(8),
                     ML_ARG_INT(4)};

    assert_true(ml_apply(fx.s, "storage_align", args, 5, NULL));
    fx_refuses(&fx, ML_E_BUFFER_INDEX, "storage_align(\"B\", 1, 0, 8, 4)");
    assert_string_equal("block B has 1 write regions; index 1 is out of range",
                        fx_message(&fx));
    fx_refuses(&fx, ML_E_BUFFER_INDEX, "storage_align(\"B\", -1, 0, 8, 4)");
    fx_refuses(&fx, ML_E_BUFFER_NOT_FOUND, "storage_align(\"B\", \"A\", 0, 8, 4)");
    fx_close(&fx);
}

/* ---- handles */

static void a_handle_survives_what_keeps_its_loop(void **state)
{
    Fixture fx;
    ml_Handle i, j, c;

    fx_matmul(&fx, 64, 64, 64);
    i = fx_handle(&fx, "i");
    j = fx_handle(&fx, "j");
    c = fx_handle(&fx, "C");
    fx_apply(&fx, "split(\"i\", {16, 4}) unroll(\"j\") reorder(\"k\", \"j\")");
    assert_false(ml_handle_alive(fx.s, i));
    assert_int_equal(1, ml_handle_ended_by(fx.s, i));
    assert_true(ml_handle_alive(fx.s, j));
    assert_int_equal(-1, ml_handle_ended_by(fx.s, j));
    assert_true(ml_handle_alive(fx.s, c));
    assert_true(ml_schedule_undo(fx.s, 3));
    assert_true(ml_handle_alive(fx.s, i));
    fx_close(&fx);
}

static void an_ended_handle_says_which_step_ended_it(void **state)
{
    Fixture fx;
    ml_Handle j;

    fx_matmul(&fx, 1024, 1024, 1024);
    j = fx_handle(&fx, "j");
    fx_apply(&fx, "split(\"j\", {auto, 16})");
    ml_Arg args[] = {ML_ARG_HANDLE(j), ML_ARG_INT(4)};

    assert_false(ml_apply(fx.s, "split", args, 2, NULL));
    assert_int_equal(ML_E_EXPIRED_HANDLE, ml_schedule_error(fx.s)->code);
    assert_string_equal("loop j ended at step 1, split(\"j\", {auto, 16})",
                        fx_message(&fx));
    fx_close(&fx);
}

static void a_handle_of_an_undone_step_is_expired(void **state)
{
    Fixture fx;
    ml_Handle j_0;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "split(\"j\", {auto, 16})");
    j_0 = fx_handle(&fx, "j_0");
    assert_true(ml_schedule_undo(fx.s, 1));
    assert_false(ml_apply(fx.s, "unroll", (ml_Arg[]){ML_ARG_HANDLE(j_0)}, 1, NULL));
    assert_int_equal(ML_E_EXPIRED_HANDLE, ml_schedule_error(fx.s)->code);
    assert_string_equal(
        "loop j_0 belongs to step 1, split(\"j\", {auto, 16}), which was undone",
        fx_message(&fx));
    fx_close(&fx);
}

static void strange_handles_are_refused(void **state)
{
    Fixture fx;
    ml_Handle c;

    fx_matmul(&fx, 64, 64, 64);
    c = fx_handle(&fx, "C");
    assert_false(ml_apply(fx.s, "unroll", (ml_Arg[]){ML_ARG_HANDLE(c)}, 1, NULL));
    assert_int_equal(ML_E_WRONG_HANDLE_KIND, ml_schedule_error(fx.s)->code);
    assert_string_equal("C is a block; a loop is needed", fx_message(&fx));
    assert_false(
        ml_apply(fx.s, "unroll", (ml_Arg[]){ML_ARG_HANDLE(loop_handle(123456))}, 1, NULL));
    assert_int_equal(ML_E_BAD_HANDLE, ml_schedule_error(fx.s)->code);
    assert_false(ml_apply(
        fx.s, "unroll", (ml_Arg[]){ML_ARG_HANDLE(((ml_Handle){ML_H_EXPR, 99}))}, 1, NULL));
    assert_int_equal(ML_E_WRONG_HANDLE_KIND, ml_schedule_error(fx.s)->code);
    fx_close(&fx);
}

/* ---- which function, which seed */

static void the_function_worked_on_is_chosen_by_rule(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Func *f[2];
    const ml_Error *e = NULL;
    ml_Func named;

    f[0] = fx_matmul_module(cx, 4, 4, 4)->funcs[0];
    f[1] = fx_stages_module(cx, 4, "j")->funcs[0];
    const ml_Module *both = ml_module_new(cx, f, 2, NULL);
    ml_Schedule *s = ml_schedule_new(cx, both, NULL, &e);

    assert_non_null(s);
    assert_string_equal("main", ml_schedule_func(s)->name);
    ml_schedule_unref(s);
    s = ml_schedule_new(cx, both, &(ml_ScheduleOpts){.func = "matmul"}, &e);
    assert_non_null(s);
    assert_string_equal("matmul", ml_schedule_func(s)->name);
    ml_schedule_unref(s);
    s = ml_schedule_new(cx, both, &(ml_ScheduleOpts){.func = "nobody"}, &e);
    assert_null(s);
    assert_int_equal(ML_E_UNKNOWN_FUNCTION, e->code);
    ml_ctx_unref(cx);

    cx = ml_ctx_new(0);
    f[0] = fx_matmul_module(cx, 4, 4, 4)->funcs[0];
    named = *fx_stages_module(cx, 4, "j")->funcs[0];
    named.name = "other";
    f[1] = ml_func_from(cx, &named);
    s = ml_schedule_new(cx, ml_module_new(cx, f, 2, NULL), NULL, &e);
    assert_non_null(s);
    assert_null(ml_schedule_func(s));
    assert_false(ml_apply(s, "get_block", (ml_Arg[]){ML_ARG_STR("C")}, 1, NULL));
    assert_int_equal(ML_E_NO_FUNCTION, ml_schedule_error(s)->code);
    ml_Arg args[] = {ML_ARG_STR("C"), ML_ARG_STR("other")};

    assert_true(ml_apply(s, "get_block", args, 2, NULL));
    args[1] = ML_ARG_STR("nobody");
    assert_false(ml_apply(s, "get_block", args, 2, NULL));
    assert_int_equal(ML_E_UNKNOWN_FUNCTION, ml_schedule_error(s)->code);
    ml_schedule_unref(s);
    ml_ctx_unref(cx);
}

static void a_seed_is_normalised(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 8, 8, 8);
    assert_int_equal(1, (int)ml_schedule_state(fx.s).random);
    assert_true(ml_schedule_seed(fx.s, INT64_C(2147483647) + 5));
    assert_int_equal(5, (int)ml_schedule_state(fx.s).random);
    assert_true(ml_schedule_seed(fx.s, 2147483647));
    assert_int_equal(1, (int)ml_schedule_state(fx.s).random);
    assert_false(ml_schedule_seed(fx.s, -2));
    assert_true(ml_schedule_seed(fx.s, -1));
    fx_close(&fx);
}

/* ---- get_block, get_child_blocks, get_producers */

static void queries_find_what_they_say(void **state)
{
    Fixture fx;
    ml_Handle b, c;

    fx_stages(&fx, 16, "j");
    b = fx_handle(&fx, "B");
    c = fx_handle(&fx, "C");
    fx_apply(&fx, "get_child_blocks(\"root\")");
    assert_int_equal(2, fx.r.n);
    assert_int_equal(b.uid, fx.r.v[0].uid);
    fx_apply(&fx, "get_child_blocks(\"j\")");
    assert_int_equal(1, fx.r.n);
    fx_apply(&fx, "get_producers(\"C\")");
    assert_int_equal(1, fx.r.n);
    assert_int_equal(b.uid, fx.r.v[0].uid);
    fx_apply(&fx, "get_consumers(\"B\")");
    assert_int_equal(c.uid, fx.r.v[0].uid);
    fx_apply(&fx, "get_loops(\"root\")");
    assert_int_equal(0, fx.r.n);
    fx_refuses(&fx, ML_E_ROOT_BLOCK, "get_producers(\"root\")");
    fx_refuses(&fx, ML_E_ROOT_BLOCK, "get_consumers(\"root\")");
    fx_refuses(&fx, ML_E_NO_SUCH_BLOCK, "get_block(\"D\")");
    fx_refuses(&fx, ML_E_UNKNOWN_FUNCTION, "get_block(\"B\", \"other\")");
    fx_close(&fx);
}

/* ---- the table */

static void every_primitive_is_fully_declared(void **state)
{
    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        assert_non_null(p->name);
        assert_non_null(p->kind);
        assert_non_null(p->group);
        assert_non_null(p->summary);
        assert_non_null(p->help);
        assert_non_null(p->errors);
        assert_non_null(p->apply);
        assert_true(p->n_params <= 16);
        for (size_t m = 0; m < p->n_params; m++) {
            assert_non_null(p->params[m].name);
            assert_non_null(p->params[m].doc);
        }
        assert_ptr_equal(p, ml_primitive_find(p->name));
        assert_ptr_equal(p, ml_primitive_of_kind(p->kind));
        for (size_t m = 0; m < k; m++)
            assert_string_not_equal(p->name, ml_primitives[m]->name);
    }
    assert_null(ml_primitive_find("nothing"));
    assert_null(ml_primitive_of_kind("Nothing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_makes_a_version_with_line_and_headline),
        cmocka_unit_test(queries_make_no_version),
        cmocka_unit_test(undo_and_redo_walk_the_tree),
        cmocka_unit_test(undo_restores_the_trace_before_the_step),
        cmocka_unit_test(a_state_can_be_restored),
        cmocka_unit_test(marks_and_branches_name_versions),
        cmocka_unit_test(a_state_has_the_labels),
        cmocka_unit_test(old_versions_go_with_the_undo_limit),
        cmocka_unit_test(a_copy_goes_its_own_way),
        cmocka_unit_test(a_copy_has_a_forked_random_state),
        cmocka_unit_test(a_fork_leaves_no_trace),
        cmocka_unit_test(a_compaction_keeps_versions_handles_traces_and_copies),
        cmocka_unit_test(a_failed_call_changes_nothing_and_takes_no_memory),
        cmocka_unit_test(the_error_stays_readable_until_the_next_call),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(surplus_and_unknown_arguments_are_refused),
        cmocka_unit_test(other_spellings_are_understood),
        cmocka_unit_test(factors_may_be_sampled_numbers_and_expressions),
        cmocka_unit_test(buffers_are_named_by_number_name_or_object),
        cmocka_unit_test(a_handle_survives_what_keeps_its_loop),
        cmocka_unit_test(an_ended_handle_says_which_step_ended_it),
        cmocka_unit_test(a_handle_of_an_undone_step_is_expired),
        cmocka_unit_test(strange_handles_are_refused),
        cmocka_unit_test(the_function_worked_on_is_chosen_by_rule),
        cmocka_unit_test(a_seed_is_normalised),
        cmocka_unit_test(queries_find_what_they_say),
        cmocka_unit_test(every_primitive_is_fully_declared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
