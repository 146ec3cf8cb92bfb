/*
 * test_loops_and_blocks - canonicalize_loops, lower_init, make_opaque,
 * mark_irregular_loops and lower_opaque: what each gives, and what each refuses.
 */
#include "lowering.h"

/* ---------------------------------------------------------------- canonicalize_loops */

static void a_loop_with_a_minimum_and_a_step_runs_from_zero_by_one(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((32,), \"int32\")):\n"
                     "    for v in range(2, 20, 3):\n"
                     "        A[v] = v\n",
                "canonicalize_loops",
                "    for v in range(6):\n"
                "        A[v * 3 + 2] = v * 3 + 2");
}

static void kind_and_annotations_of_a_loop_stay(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((32,), \"int32\")):\n"
                     "    for v in T.vectorized(4, 12, annotations={\"hint\": 1}):\n"
                     "        A[v] = v\n",
                "canonicalize_loops",
                "    for v in T.vectorized(8, annotations={\"hint\": 1}):\n"
                "        A[v + 4] = v + 4");
}

static void a_symbolic_range_keeps_its_number_of_iterations(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "a: T.handle):\n"
                     "    n = T.int32()\n"
                     "    A = T.match_buffer(a, (n,), \"int32\")\n"
                     "    for v in range(1, n, n + 1):\n"
                     "        A[v] = v\n",
                "canonicalize_loops",
                "    n = T.int32()\n"
                "    A = T.match_buffer(a, (n,), \"int32\")\n"
                "    for v in range((n - 1 - 1) // (n + 1) + 1):\n"
                "        A[v * (n + 1) + 1] = v * (n + 1) + 1");
}

static void a_step_that_may_not_be_positive_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD "A: T.Buffer((32,), \"int32\"), s: T.int32):\n"
                                "    for v in range(0, 20, s):\n"
                                "        A[v] = v\n",
                           "canonicalize_loops", "loop step may not be positive");
}

static void an_inner_loop_may_use_the_outer_variable(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\")):\n"
                     "    for u in range(2, 6):\n"
                     "        for v in range(u, 8, 2):\n"
                     "            A[u * 8 + v] = v\n",
                "canonicalize_loops",
                "    for u in range(4):\n"
                "        for v in range((8 - (u + 2) - 1) // 2 + 1):\n"
                "            A[(u + 2) * 8 + (v * 2 + (u + 2))] = v * 2 + (u + 2)");
}

static void a_block_under_a_shifted_loop_keeps_its_meaning(void **state)
{
    Fix *x = *state;
    const ml_Module *m = parse_module(
        x, HEAD "A: T.Buffer((40,), \"int32\"), B: T.Buffer((40,), \"int32\")):\n"
                "    for v in range(3, 33, 4):\n"
                "        with T.block(\"b\"):\n"
                "            vi = T.axis.spatial(40, v)\n"
                "            T.where(v < 30)\n"
                "            B[vi] = A[vi] + vi\n");

    make_args(x, m->funcs[0]);
    assert_true(expect_same_at_every_stage(x, m, m->funcs[0], NULL) > 4);
}

/* ---------------------------------------------------------------- lower_init */

static const char row_sum[] =
    HEAD "X: T.Buffer((8, 4), \"int32\"), D: T.Buffer((8,), \"int32\")):\n"
         "    for i, r in T.grid(8, 4):\n"
         "        with T.block(\"s\"):\n"
         "            vi, vr = T.axis.remap(\"SR\", [i, r])\n"
         "            with T.init():\n"
         "                D[vi] = 0\n"
         "            D[vi] = D[vi] + X[vi, vr]\n";

static void an_init_becomes_a_guarded_statement(void **state)
{
    Fix *x = *state;

    expect_body(x, row_sum, "lower_init",
                "    # with T.block(\"root\"):\n"
                "    for i, r in T.grid(8, 4):\n"
                "        with T.block(\"s\"):\n"
                "            vi, vr = T.axis.remap(\"SR\", [i, r])\n"
                "            T.reads(X[vi, vr], D[vi])\n"
                "            T.writes(D[vi])\n"
                "            if vr == 0:\n"
                "                D[vi] = 0\n"
                "            D[vi] = D[vi] + X[vi, vr]");
}

static void the_guard_uses_the_minimum_of_every_reduction_domain(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "X: T.Buffer((9, 9), \"int32\"), D: T.Buffer((1,), \"int32\")):\n"
                     "    for r, q in T.grid(4, 4):\n"
                     "        with T.block(\"s\"):\n"
                     "            vr = T.axis.reduce((2, 6), r + 2)\n"
                     "            vq = T.axis.reduce(4, q)\n"
                     "            with T.init():\n"
                     "                D[0] = 0\n"
                     "            D[0] = D[0] + X[vr, vq]\n",
                "lower_init",
                "    # with T.block(\"root\"):\n"
                "    for r, q in T.grid(4, 4):\n"
                "        with T.block(\"s\"):\n"
                "            vr = T.axis.reduce((2, 6), r + 2)\n"
                "            vq = T.axis.reduce(4, q)\n"
                "            T.reads(X[vr, vq], D[0])\n"
                "            T.writes(D[0])\n"
                "            if vr == 2 and vq == 0:\n"
                "                D[0] = 0\n"
                "            D[0] = D[0] + X[vr, vq]");
}

static void an_init_without_reduction_iterators_is_unconditional(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "X: T.Buffer((8,), \"int32\"), D: T.Buffer((8,), \"int32\")):\n"
                     "    for i in range(8):\n"
                     "        with T.block(\"s\"):\n"
                     "            vi = T.axis.spatial(8, i)\n"
                     "            with T.init():\n"
                     "                D[vi] = 0\n"
                     "            D[vi] = D[vi] + X[vi]\n",
                "lower_init",
                "    # with T.block(\"root\"):\n"
                "    for i in range(8):\n"
                "        with T.block(\"s\"):\n"
                "            vi = T.axis.spatial(8, i)\n"
                "            T.reads(X[vi], D[vi])\n"
                "            T.writes(D[vi])\n"
                "            D[vi] = 0\n"
                "            D[vi] = D[vi] + X[vi]");
}

static const ml_Stmt *first_of(const ml_Stmt *st, ml_StmtKind kind)
{
    if (st->kind == kind)
        return st;
    switch ((ml_StmtKind)st->kind) {
    case ML_STMT_FOR: return first_of(ml_as_for(st)->body, kind);
    case ML_STMT_BLOCK: return first_of(ml_as_block(st)->body, kind);
    case ML_STMT_SEQ:
        for (uint32_t k = 0; k < ml_as_seq(st)->n; k++) {
            const ml_Stmt *s = first_of(ml_as_seq(st)->stmts[k], kind);
            if (s)
                return s;
        }
        return NULL;
    default: return NULL;
    }
}

static void the_guard_stands_in_the_place_of_the_init(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, row_sum), "lower_init");
    const ml_Stmt *guard = first_of(f->body, ML_STMT_IF);

    assert_non_null(guard);
    assert_non_null(guard->span);
    assert_int_equal(guard->span->line, 7); /* D[vi] = 0 */
}

/* ---------------------------------------------------------------- make_opaque */

static void iterators_are_replaced_by_their_bindings(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "B: T.Buffer((33,), \"int32\"), A: T.Buffer((32,), \"int32\")):\n"
                     "    for i, k in T.grid(4, 8):\n"
                     "        with T.block(\"b\"):\n"
                     "            vi = T.axis.spatial(32, i * 8 + k)\n"
                     "            T.where(i * 8 + k < 30)\n"
                     "            A[vi] = B[vi + 1]\n",
                "make_opaque",
                "    # with T.block(\"root\"):\n"
                "    for i, k in T.grid(4, 8):\n"
                "        with T.block(\"b\"):\n"
                "            T.where(i * 8 + k < 30)\n"
                "            T.reads(B[i * 8 + k + 1])\n"
                "            T.writes(A[i * 8 + k])\n"
                "            A[i * 8 + k] = B[i * 8 + k + 1]");
}

static void nested_bindings_are_expanded_outside_in(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4, 8), \"int32\")):\n"
                     "    for i in range(4):\n"
                     "        with T.block(\"o\"):\n"
                     "            vo = T.axis.spatial(4, i)\n"
                     "            T.reads()\n"
                     "            T.writes(A[vo, 0:8])\n"
                     "            for j in range(8):\n"
                     "                with T.block(\"n\"):\n"
                     "                    u = T.axis.spatial((vo, vo + 1), vo)\n"
                     "                    w = T.axis.spatial(8, j)\n"
                     "                    T.reads()\n"
                     "                    T.writes(A[u, w])\n"
                     "                    A[u, w] = u + w\n",
                "make_opaque",
                "    # with T.block(\"root\"):\n"
                "    for i in range(4):\n"
                "        with T.block(\"o\"):\n"
                "            T.reads()\n"
                "            T.writes(A[i, 0:8])\n"
                "            for j in range(8):\n"
                "                with T.block(\"n\"):\n"
                "                    T.reads()\n"
                "                    T.writes(A[i, j])\n"
                "                    A[i, j] = i + j");
}

static void what_a_binding_loads_is_read_by_the_body(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "N: T.Buffer((4,), \"int32\"), A: T.Buffer((8,), \"int32\")):\n"
                     "    for i in range(4):\n"
                     "        with T.block(\"b\"):\n"
                     "            v = T.axis.spatial(8, N[i] % 8)\n"
                     "            T.reads()\n"
                     "            T.writes(A[v])\n"
                     "            A[v] = v\n",
                "make_opaque",
                "    # with T.block(\"root\"):\n"
                "    for i in range(4):\n"
                "        with T.block(\"b\"):\n"
                "            T.reads(N[i])\n"
                "            T.writes(A[N[i] % 8])\n"
                "            A[N[i] % 8] = N[i] % 8");
}

/* for i: block(vi = i) with what the caller adds; the pass is run alone */
static ml_ErrorCode opaque_alone(Fix *x, Blk *b, const ml_Var *v, const ml_Stmt *body,
                                 const ml_Buffer *buf, const char *words)
{
    ml_Lower lo = lowering(x);
    const ml_Stmt *s = block(x, b, "b", body);
    const ml_Func *f = FUNC(loop(x, ML_FOR_SERIAL, v, I(8), s), buf);

    assert_null(ml_pass_make_opaque(&lo, f));
    expect_error(x, "make_opaque", words);
    return ml_error(x->cx)->code;
}

static void an_iterator_in_its_own_predicate_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");
    Blk b = {.b.n_iters = 0};
    const ml_Var *vi = iter(x, &b, "vi", ML_ITER_SPATIAL, 8, X(i));

    b.b.predicate = ml_lt(x->cx, X(vi), I(4));
    opaque_alone(x, &b, i, ST(a, X(vi), X(vi)), a, "is used in its predicate");
}

static void an_iterator_in_a_binding_of_its_block_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");
    Blk b = {.b.n_iters = 0};
    const ml_Var *vi = iter(x, &b, "vi", ML_ITER_SPATIAL, 8, X(i));

    iter(x, &b, "vj", ML_ITER_SPATIAL, 8, ADD(X(vi), I(1)));
    opaque_alone(x, &b, i, ST(a, X(vi), X(vi)), a, "is used in a binding of its own block");
}

static void an_init_that_is_left_is_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8));
    const ml_Var *i = IVAR("i");
    Blk b = {.b.n_iters = 0};
    const ml_Var *vi = iter(x, &b, "vi", ML_ITER_REDUCE, 8, X(i));

    b.b.init = ST(a, I(0), I(0));
    opaque_alone(x, &b, i, ST(a, X(vi), I(0)), a, "still has an init");
}

static void a_binding_that_the_block_changes_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                "    for i in range(8):\n"
                                "        with T.block(\"b\"):\n"
                                "            vi = T.axis.opaque(8, A[i])\n"
                                "            T.reads(A[0:8])\n"
                                "            T.writes(A[0:8])\n"
                                "            A[vi] = 3\n"
                                "            A[vi] = 4\n",
                           "make_opaque", "may change while the block runs");
}

/* ---------------------------------------------------------------- mark_irregular_loops */

static void a_loop_with_a_break_is_marked(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\")):\n"
                     "    for i in range(8):\n"
                     "        for j in range(8):\n"
                     "            if A[j] == 3:\n"
                     "                break\n"
                     "            A[j] = i\n",
                "mark_irregular_loops",
                "    for i in range(8):\n"
                "        for j in T.serial(8, annotations={\"irregular_loop_mark\": 1}):\n"
                "            if A[j] == 3:\n"
                "                break\n"
                "            A[j] = i");
}

static void a_break_of_a_while_marks_no_loop(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\")):\n"
                     "    for i in range(8):\n"
                     "        while A[i] < 9:\n"
                     "            if A[i] == 3:\n"
                     "                break\n"
                     "            A[i] = A[i] + 1\n",
                "mark_irregular_loops",
                "    for i in range(8):\n"
                "        while A[i] < 9:\n"
                "            if A[i] == 3:\n"
                "                break\n"
                "            A[i] = A[i] + 1");
}

static void a_break_in_another_kind_of_loop_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                "    for i in T.unroll(8):\n"
                                "        if A[i] == 3:\n"
                                "            continue\n"
                                "        A[i] = i\n",
                           "mark_irregular_loops", "it must be serial");
    expect_lowering_failed(
        x,
        HEAD "A: T.Buffer((8,), \"int32\")):\n"
             "    for i in T.serial(8, annotations={\"pragma_loop_partition_hint\": 1}):\n"
             "        if A[i] == 3:\n"
             "            break\n"
             "        A[i] = i\n",
        "mark_irregular_loops", "pragma_loop_partition_hint");
}

/* ---------------------------------------------------------------- lower_opaque */

static void a_block_becomes_its_allocations_its_predicate_and_its_body(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((30,), \"int32\"), B: T.Buffer((30,), \"int32\")):\n"
                     "    for i, j in T.grid(4, 8):\n"
                     "        with T.block(\"b\"):\n"
                     "            vi = T.axis.spatial(30, i * 8 + j)\n"
                     "            T.where(i * 8 + j < 30 and j < 7)\n"
                     "            t = T.alloc_buffer((1,), \"int32\")\n"
                     "            t[0] = A[vi]\n"
                     "            B[vi] = t[0]\n",
                "lower_opaque",
                "    for i, j in T.grid(4, 8):\n"
                "        t = T.decl_buffer((1,), \"int32\")\n"
                "        if T.likely(i * 8 + j < 30) and T.likely(j < 7):\n"
                "            t[0] = A[i * 8 + j]\n"
                "            B[i * 8 + j] = t[0]");
}

static void a_loop_of_one_iteration_disappears_unless_it_is_annotated(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\")):\n"
                     "    for i in range(1):\n"
                     "        for j in T.serial(1, annotations={\"keep\": 2}):\n"
                     "            for k in T.vectorized(1):\n"
                     "                A[i + j + k] = 1\n",
                "lower_opaque",
                "    for j in T.serial(1, annotations={\"keep\": 2}):\n"
                "        A[0] = 1");
}

static void pragmas_become_attributes_sorted_by_name(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\")):\n"
                     "    for i in T.serial(8, annotations={\"pragma_unroll_explicit\": 1, "
                     "\"prefetch\": 3, \"pragma_auto_unroll_max_step\": 16}):\n"
                     "        with T.block(\"b\"):\n"
                     "            vi = T.axis.spatial(8, i)\n"
                     "            T.block_attr({\"pragma_tag\": \"x\", \"other\": 1})\n"
                     "            A[vi] = 1\n",
                "lower_opaque",
                "    T.attr(0, \"pragma_auto_unroll_max_step\", 16)\n"
                "    T.attr(0, \"pragma_unroll_explicit\", 1)\n"
                "    for i in T.serial(8, annotations={\"prefetch\": 3}):\n"
                "        T.attr(0, \"pragma_tag\", \"x\")\n"
                "        A[i] = 1");
}

static void a_pragma_that_is_no_number_or_string_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD
                           "A: T.Buffer((8,), \"int32\")):\n"
                           "    for i in T.serial(8, annotations={\"pragma_x\": [1, 2]}):\n"
                           "        A[i] = 1\n",
                           "lower_opaque", "neither number nor string");
}

static void thread_bound_loops_are_for_a_gpu(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD
                           "A: T.Buffer((8,), \"int32\")):\n"
                           "    for i in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
                           "        A[i] = 1\n",
                           "lower_opaque", "thread-bound loop i");
    expect_lowering_failed(x,
                           HEAD "A: T.Buffer((8,), \"int32\")):\n"
                                "    tx = T.launch_thread(\"threadIdx.x\", 8)\n"
                                "    A[tx] = 1\n",
                           "lower_opaque", "this program is for a GPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_loop_with_a_minimum_and_a_step_runs_from_zero_by_one),
        TEST(kind_and_annotations_of_a_loop_stay),
        TEST(a_symbolic_range_keeps_its_number_of_iterations),
        TEST(a_step_that_may_not_be_positive_is_refused),
        TEST(an_inner_loop_may_use_the_outer_variable),
        TEST(a_block_under_a_shifted_loop_keeps_its_meaning),
        TEST(an_init_becomes_a_guarded_statement),
        TEST(the_guard_uses_the_minimum_of_every_reduction_domain),
        TEST(an_init_without_reduction_iterators_is_unconditional),
        TEST(the_guard_stands_in_the_place_of_the_init),
        TEST(iterators_are_replaced_by_their_bindings),
        TEST(nested_bindings_are_expanded_outside_in),
        TEST(what_a_binding_loads_is_read_by_the_body),
        TEST(an_iterator_in_its_own_predicate_is_refused),
        TEST(an_iterator_in_a_binding_of_its_block_is_refused),
        TEST(an_init_that_is_left_is_refused),
        TEST(a_binding_that_the_block_changes_is_refused),
        TEST(a_loop_with_a_break_is_marked),
        TEST(a_break_of_a_while_marks_no_loop),
        TEST(a_break_in_another_kind_of_loop_is_refused),
        TEST(a_block_becomes_its_allocations_its_predicate_and_its_body),
        TEST(a_loop_of_one_iteration_disappears_unless_it_is_annotated),
        TEST(pragmas_become_attributes_sorted_by_name),
        TEST(a_pragma_that_is_no_number_or_string_is_refused),
        TEST(thread_bound_loops_are_for_a_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
