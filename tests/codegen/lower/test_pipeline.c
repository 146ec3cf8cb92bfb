/*
 * test_pipeline - the driver, the stage verifier, and whole programs: every program of the
 * corpus that is for a CPU computes the same at every stage.
 */
#include "lowering.h"

#include "moonloop/codegen/params/count.h"

#include "../../core/script/corpus.h"

/* ---------------------------------------------------------------- driver */

static const char simple[] = HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                  "    for i in range(8):\n"
                                  "        with T.block(\"b\"):\n"
                                  "            vi = T.axis.spatial(8, i)\n"
                                  "            A[vi] = vi\n";

static void passes_are_found_by_name_and_lead_from_stage_to_stage(void **state)
{
    ml_Stage at = ML_STAGE_SCHEDULABLE;

    for (size_t k = 0; k < ml_n_passes; k++) {
        assert_ptr_equal(ml_pass_find(ml_passes[k].name), &ml_passes[k]);
        assert_int_equal(ml_passes[k].in, at);
        assert_non_null(ml_passes[k].run);
        assert_true(strlen(ml_passes[k].help) > 0);
        at = ml_passes[k].out;
    }
    assert_int_equal(at, ML_STAGE_BODY);
    assert_null(ml_pass_find("no_such_pass"));
    assert_null(ml_pass_find(NULL));
    assert_string_equal(ml_stage_name(ML_STAGE_FLAT), "flat");
}

/* Also without the passes that are not of it a pipeline leads to the body. */
static void each_kind_of_target_has_passes_that_lead_to_the_body(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < ml_n_target_kinds; kind++) {
        ml_Target t = {.kind = kind};
        ml_Stage at = ML_STAGE_SCHEDULABLE;
        size_t n = 0;

        for (size_t k = 0; k < ml_n_passes; k++) {
            if (!ml_pass_runs(&ml_passes[k], &t))
                continue;
            assert_int_equal(ml_passes[k].in, at);
            at = ml_passes[k].out;
            n++;
        }
        assert_int_equal(at, ML_STAGE_BODY);
        assert_ptr_equal(ml_target_kind(ml_target_kinds[kind].name),
                         &ml_target_kinds[kind]);
        assert_true(n < ml_n_passes); /* each pipeline has passes of its own */
    }
}

static void a_pass_of_another_pipeline_is_no_pass(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, simple);

    lo.opts.target.kind = (uint32_t)(ml_target_kind("cuda") - ml_target_kinds);
    assert_null(ml_lower(&lo, f, "promote_accumulators", NULL, NULL));
    assert_int_equal(ml_error(x->cx)->code, ML_E_LOWERING_FAILED);
    ml_error_clear(x->cx);
    lo.opts.target.kind = 0;
    assert_non_null(ml_lower(&lo, f, "promote_accumulators", NULL, NULL));
}

static bool count_passes(const ml_Pass *p, const ml_Func *f, void *user)
{
    size_t *n = user;

    assert_non_null(f);
    return ++*n < 3 || !p;
}

static void the_lowering_stops_where_it_is_told(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, simple), *g;
    size_t n = 0;

    g = ml_lower(&lo, f, "make_opaque", NULL, NULL);
    assert_non_null(g);
    assert_true(ml_lower_verify(x->cx, g, ML_STAGE_OPAQUE));
    assert_non_null(ml_lower(&lo, f, NULL, count_passes, &n));
    assert_int_equal(n, 3);
    assert_null(ml_lower(&lo, f, "make_opak", NULL, NULL));
    expect_error(x, NULL, "there is no pass named make_opak");
}

static void a_pass_leaves_its_input_as_it_was(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, simple);
    const char *before = body_text(x, f);

    lowered(x, &lo, f, NULL);
    assert_string_equal(body_text(x, f), before);
}

static void what_a_pass_does_not_change_is_shared(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                     "    for i in range(8):\n"
                                     "        A[i] = i\n"
                                     "    for j in range(1, 8):\n"
                                     "        A[j] = j\n");
    const ml_Func *g = lowered(x, &lo, f, "canonicalize_loops");

    assert_ptr_equal(ml_as_seq(g->body)->stmts[0], ml_as_seq(f->body)->stmts[0]);
    assert_ptr_not_equal(ml_as_seq(g->body)->stmts[1], ml_as_seq(f->body)->stmts[1]);
}

/* ---------------------------------------------------------------- verifier */

static const ml_Stmt *spanned(Fix *x, const ml_Stmt *s)
{
    static const ml_Span here = {
        .file = "test", .line = 1, .col = 1, .end_line = 1, .end_col = 2};

    return ml_at(x->cx, s, &here);
}

static void expect_not_of_stage(Fix *x, const ml_Func *f, ml_Stage stage, const char *words)
{
    assert_false(ml_lower_verify(x->cx, f, stage));
    expect_error(x, ml_stage_name(stage), words);
    ml_error_clear(x->cx);
}

static void a_statement_without_a_place_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");
    const ml_Stmt *store = ST(a, X(i), X(i));

    expect_not_of_stage(x, FUNC(spanned(x, loop(x, ML_FOR_SERIAL, i, I(8), store)), a),
                        ML_STAGE_SCHEDULABLE, "the store to A has no place");
    assert_true(ml_lower_verify(
        x->cx, FUNC(spanned(x, loop(x, ML_FOR_SERIAL, i, I(8), spanned(x, store))), a),
        ML_STAGE_FLAT));
    assert_true(ml_lower_verify(x->cx, FUNC(ml_evaluate(x->cx, I(0)), a), ML_STAGE_FLAT));
}

static void blocks_with_iterators_are_not_opaque(void **state)
{
    Fix *x = *state;

    expect_not_of_stage(x, parse(x, simple), ML_STAGE_OPAQUE, "block b has iterators");
    expect_not_of_stage(x,
                        parse(x, HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                      "    with T.block(\"root\"):\n"
                                      "        with T.init():\n"
                                      "            A[0] = 0\n"
                                      "        A[0] = 1\n"),
                        ML_STAGE_OPAQUE, "has an init");
}

static void flat_programs_have_no_blocks_and_one_index(void **state)
{
    Fix *x = *state;

    expect_not_of_stage(x, parse(x, simple), ML_STAGE_FLAT, "block root is a block");
    expect_not_of_stage(x,
                        parse(x, HEAD "A: T.Buffer((8, 8), \"int32\")):\n"
                                      "    A[0, 1] = 0\n"),
                        ML_STAGE_FLAT, "accesses A with 2 indices");
    expect_not_of_stage(x,
                        parse(x, HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                      "    t = T.decl_buffer((2, 4), \"int32\")\n"
                                      "    A[0] = 1\n"),
                        ML_STAGE_FLAT, "is not of a 1-D buffer");
    expect_not_of_stage(x,
                        parse(x, HEAD "a: T.handle):\n"
                                      "    A = T.match_buffer(a, (8,), \"int32\", "
                                      "strides=[2])\n"
                                      "    A[1] = 1\n"),
                        ML_STAGE_FLAT, "which has strides or an element offset");
    expect_not_of_stage(x,
                        parse(x, HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                      "    for i in range(1, 8):\n"
                                      "        A[i] = 1\n"),
                        ML_STAGE_FLAT, "does not run from 0 in steps of 1");
    expect_not_of_stage(x,
                        parse(x, HEAD
                              "A: T.Buffer((8,), \"int32\")):\n"
                              "    for i in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
                              "        A[i] = 1\n"),
                        ML_STAGE_FLAT, "is bound to threadIdx.x");
}

static void a_buffer_is_used_after_its_allocation_only(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8)), *t = BUF("t", ML_DT_I32, I(8));
    const ml_Stmt *use = spanned(x, ST(t, I(1), I(0)));
    const ml_Stmt *alloc = spanned(x, ml_alloc_stmt(x->cx, t, NULL));

    assert_true(ml_lower_verify(x->cx, FUNC(SEQ(alloc, use), a), ML_STAGE_FLAT));
    assert_false(ml_lower_verify(x->cx, FUNC(SEQ(use, alloc), a), ML_STAGE_FLAT));
    assert_int_equal(ml_error(x->cx)->code, ML_E_WF_BUFFER);
}

static void vector_programs_have_no_vectorized_loops(void **state)
{
    Fix *x = *state;
    const ml_Func *f = parse(x, HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                     "    for i in T.vectorized(8):\n"
                                     "        A[i] = 1\n");

    assert_true(ml_lower_verify(x->cx, f, ML_STAGE_FLAT));
    expect_not_of_stage(x, f, ML_STAGE_VECTOR, "loop i is still vectorized");
    expect_not_of_stage(x, f, ML_STAGE_BODY, "parameter A is a buffer");
}

/* ---------------------------------------------------------------- the corpus */

static bool see_thread(const ml_Stmt *s, void *user)
{
    bool *found = user;

    *found |= (s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis) ||
              (s->kind == ML_STMT_ATTR && ml_as_attr(s)->thread.axis);
    return !*found;
}

/* It must be refused in lower_opaque, as a program for a GPU. */
static bool is_for_gpu(const ml_Func *f)
{
    bool found = false;

    ml_stmt_visit(f->body, see_thread, &found);
    return found;
}

static void every_program_of_the_corpus_is_lowered_or_refused_as_for_a_gpu(void **state)
{
    Fix *x = *state;
    char name[512];
    char *text;
    size_t gpu = 0;

    for (size_t k = 0; (text = corpus_file(k, name)); k++) {
        const ml_Module *m = parse_module(x, text);

        for (uint32_t j = 0; j < m->n; j++) {
            ml_Lower lo = lowering(x);

            lo.module = m;
            if (ml_lower(&lo, m->funcs[j], NULL, NULL, NULL)) {
                assert_false(is_for_gpu(m->funcs[j]));
            } else if (strncmp(m->funcs[j]->name, "wmma_", 5) == 0) {
                /* implementations of an intrinsic: parts of programs */
                expect_error(x, "flatten_buffers", "is used by its data pointer");
                ml_error_clear(x->cx);
            } else {
                if (!is_for_gpu(m->funcs[j])) {
                    show_error(x);
                    fail_msg("%s: function %s is not lowered", name, m->funcs[j]->name);
                }
                expect_error(x, "lower_opaque", "this program is for a GPU");
                ml_error_clear(x->cx);
                gpu++;
            }
        }
        free(text);
    }
    assert_true(gpu >= 4);
}

enum { LONG = 2000000 }; /* iterations: at more it would take seconds at each stage */

/* Tensors of the shapes of f, sizes 6. */
static bool runnable(Fix *x, const ml_Module *m, const ml_Func *f)
{
    bool ok;

    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer == NULL && f->params[k].var->type.code == ML_HANDLE)
            return false;
    if (f->n_params > 8 || ml_count_iterations(x->cx, f, NULL, 0) > LONG)
        return false;
    make_args(x, f);
    for (uint32_t k = 0; k < f->n_params; k++)
        x->args[k].i = 6;
    fill_args(x);
    ok = ml_interpret(x->cx, m, f, x->args, f->n_params, &x->opts, &x->report);
    ml_error_clear(x->cx);
    return ok;
}

static bool has_strided_parameter(const ml_Func *f)
{
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && f->params[k].buffer->n_strides)
            return true;
    return false;
}

static void programs_of_the_corpus_compute_the_same_at_every_stage(void **state)
{
    static const int64_t sizes[] = {6, 6, 6, 6};
    Fix *x = *state;
    char name[512];
    char *text;
    size_t n = 0, passes = 0;

    for (size_t k = 0; (text = corpus_file(k, name)); k++) {
        const ml_Module *m = parse_module(x, text);

        for (uint32_t j = 0; j < m->n; j++) {
            const ml_Func *f = m->funcs[j];

            if (is_for_gpu(f))
                continue;

            /* tensors are compact: constant strides of a parameter are not theirs */
            if (has_strided_parameter(f) || !runnable(x, m, f))
                continue;
            passes += expect_same_at_every_stage(x, m, f, sizes);
            n++;
        }
        free(text);
    }
    print_message("%zu functions of the corpus ran at %zu stages\n", n, passes);
    assert_true(n >= 20);
}

/* The passes from plan_storage on. */
static const ml_Func *another_round(Fix *x, ml_Lower *lo, const ml_Func *f)
{
    for (size_t k = 0; k < ml_n_passes; k++)
        if (ml_passes[k].in == ML_STAGE_VECTOR && ml_passes[k].out == ML_STAGE_VECTOR &&
            ml_pass_runs(&ml_passes[k], &lo->opts.target)) {
            f = ml_passes[k].run(lo, f);
            if (f == NULL)
                show_error(x);
            assert_non_null(f);
        }
    return f;
}

/* What is lowered settles: the order of allocations and what only later passes made clear
 * may change once, and then nothing does. */
static void expect_settled(Fix *x, const ml_Module *m, const ml_Func *f, const char *where)
{
    ml_Lower lo = lowering(x);
    const ml_Func *g, *again;

    lo.module = m;
    g = ml_lower(&lo, f, "lower_intrinsics", NULL, NULL);
    if (g == NULL) {
        ml_error_clear(x->cx);
        return;
    }
    g = another_round(x, &lo, g);
    again = another_round(x, &lo, g);
    if (!ml_streq(body_text(x, again), body_text(x, g)))
        fail_msg("%s, %s:\n%s\n%s", where, f->name, body_text(x, g), body_text(x, again));
}

static void what_is_lowered_is_not_changed_by_another_round(void **state)
{
    Fix *x = *state;
    char name[512];
    char *text;

    for (size_t k = 0; (text = corpus_file(k, name)); k++) {
        const ml_Module *m = parse_module(x, text);

        for (uint32_t j = 0; j < m->n; j++)
            if (!is_for_gpu(m->funcs[j]))
                expect_settled(x, m, m->funcs[j], name);
        free(text);
    }
}

/* A loop nest with everything: tiles with tails, a local accumulator, a copy of an operand,
 * a vectorized and a parallel loop. */
static void a_scheduled_matmul_computes_the_same_at_every_stage(void **state)
{
    Fix *x = *state;
    const ml_Module *m = parse_module(
        x, HEAD "A: T.Buffer((20, 12), \"float32\"), B: T.Buffer((12, 24), \"float32\"), "
                "C: T.Buffer((20, 24), \"float32\")):\n"
                "    C_local = T.alloc_buffer((20, 24), scope=\"local\")\n"
                "    B_copy = T.alloc_buffer((12, 24))\n"
                "    for i_0 in T.parallel(4):\n"
                "        for j_0 in range(3):\n"
                "            for ax0, ax1 in T.grid(12, 8):\n"
                "                with T.block(\"B_copy\"):\n"
                "                    v0 = T.axis.spatial(12, ax0)\n"
                "                    v1 = T.axis.spatial(24, j_0 * 8 + ax1)\n"
                "                    B_copy[v0, v1] = B[v0, v1]\n"
                "            for i_1, j_1 in T.grid(6, 8):\n"
                "                with T.block(\"C_init\"):\n"
                "                    vi = T.axis.spatial(20, i_0 * 6 + i_1)\n"
                "                    vj = T.axis.spatial(24, j_0 * 8 + j_1)\n"
                "                    T.where(i_0 * 6 + i_1 < 20)\n"
                "                    C_local[vi, vj] = T.float32(0.0)\n"
                "            for k_0, k_1, i_1 in T.grid(3, 4, 6):\n"
                "                for j_1 in T.vectorized(8):\n"
                "                    with T.block(\"C_update\"):\n"
                "                        vi = T.axis.spatial(20, i_0 * 6 + i_1)\n"
                "                        vj = T.axis.spatial(24, j_0 * 8 + j_1)\n"
                "                        vk = T.axis.reduce(12, k_0 * 4 + k_1)\n"
                "                        T.where(i_0 * 6 + i_1 < 20)\n"
                "                        C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * "
                "B_copy[vk, vj]\n"
                "            for ax0, ax1 in T.grid(6, 8):\n"
                "                with T.block(\"C\"):\n"
                "                    v0 = T.axis.spatial(20, i_0 * 6 + ax0)\n"
                "                    v1 = T.axis.spatial(24, j_0 * 8 + ax1)\n"
                "                    T.where(i_0 * 6 + ax0 < 20)\n"
                "                    C[v0, v1] = C_local[v0, v1]\n");
    ml_Lower lo = lowering(x);
    const char *text = body_text(x, lowered(x, &lo, m->funcs[0], "lower_opaque"));

    assert_non_null(strstr(text, "C_local = T.decl_buffer((6, 8), scope=\"local\")"));
    assert_non_null(strstr(text, "B_copy = T.decl_buffer((12, 8))"));
    make_args(x, m->funcs[0]);
    assert_true(expect_same_at_every_stage(x, m, m->funcs[0], NULL) > 8);
    expect_settled(x, m, m->funcs[0], "a scheduled product");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_are_found_by_name_and_lead_from_stage_to_stage),
        cmocka_unit_test(each_kind_of_target_has_passes_that_lead_to_the_body),
        TEST(a_pass_of_another_pipeline_is_no_pass),
        TEST(the_lowering_stops_where_it_is_told),
        TEST(a_pass_leaves_its_input_as_it_was),
        TEST(what_a_pass_does_not_change_is_shared),
        TEST(a_statement_without_a_place_is_refused),
        TEST(blocks_with_iterators_are_not_opaque),
        TEST(flat_programs_have_no_blocks_and_one_index),
        TEST(a_buffer_is_used_after_its_allocation_only),
        TEST(vector_programs_have_no_vectorized_loops),
        TEST(every_program_of_the_corpus_is_lowered_or_refused_as_for_a_gpu),
        TEST(programs_of_the_corpus_compute_the_same_at_every_stage),
        TEST(a_scheduled_matmul_computes_the_same_at_every_stage),
        TEST(what_is_lowered_is_not_changed_by_another_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
