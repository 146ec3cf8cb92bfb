/*
 * test_buffers - plan_allocations, compact_buffers and lower_match_buffer: what each gives,
 * and what each refuses.
 */
#include "lowering.h"

#define AB HEAD "A: T.Buffer((64, 64), \"int32\"), B: T.Buffer((64, 64), \"int32\")):\n"

static size_t same_everywhere(Fix *x, const char *program)
{
    const ml_Module *m = parse_module(x, program);

    make_args(x, m->funcs[0]);
    return expect_same_at_every_stage(x, m, m->funcs[0], NULL);
}

/* ---------------------------------------------------------------- plan_allocations */

static const char row_by_row[] = AB "    with T.block(\"root\"):\n"
                                    "        t = T.alloc_buffer((64, 64), \"int32\")\n"
                                    "        for i in range(64):\n"
                                    "            for j in range(64):\n"
                                    "                t[i, j] = A[i, j] + 1\n"
                                    "            for j in range(64):\n"
                                    "                B[i, j] = t[i, 63 - j]\n";

static void a_buffer_used_in_one_loop_is_allocated_there(void **state)
{
    Fix *x = *state;

    expect_body(x, row_by_row, "plan_allocations",
                "    # with T.block(\"root\"):\n"
                "    for i in range(64):\n"
                "        with T.block(\"\"):\n"
                "            T.reads(A[i, 0:64])\n"
                "            T.writes(B[i, 0:64])\n"
                "            t = T.alloc_buffer((64, 64), \"int32\")\n"
                "            for j in range(64):\n"
                "                t[i, j] = A[i, j] + 1\n"
                "            for j in range(64):\n"
                "                B[i, j] = t[i, 63 - j]");
    assert_true(same_everywhere(x, row_by_row) > 3);
}

/* The region of D names more than D accesses. */
static void a_region_of_what_is_not_accessed_is_dropped(void **state)
{
    Fix *x = *state;
    const char *text = AB "    with T.block(\"root\"):\n"
                          "        t = T.alloc_buffer((64,), \"int32\")\n"
                          "        for i in range(64):\n"
                          "            with T.block(\"C\"):\n"
                          "                v = T.axis.spatial(64, i)\n"
                          "                for j in range(64):\n"
                          "                    t[j] = A[v, j]\n"
                          "                B[v, 0] = t[v]\n"
                          "            with T.block(\"D\"):\n"
                          "                v = T.axis.spatial(64, i)\n"
                          "                T.reads(A[v, 1], t[v])\n"
                          "                T.writes(B[v, 1])\n"
                          "                B[v, 1] = A[v, 1]\n";

    assert_true(same_everywhere(x, text) > 3);
}

static const char indexed_by_what_moves[] =
    HEAD "A: T.Buffer((4, 8), \"int32\"), X: T.Buffer((4,), \"int32\"), "
         "B: T.Buffer((4, 8), \"int32\")):\n"
         "    t = T.alloc_buffer((4,), \"int32\")\n"
         "    for i in range(4):\n"
         "        with T.block(\"both\"):\n"
         "            v = T.axis.spatial(4, i)\n"
         "            T.reads(X[v], A[(t[v] % 4 + 4) % 4, 0:8], t[v])\n"
         "            T.writes(t[v], B[v, 0:8])\n"
         "            t[v] = X[v]\n"
         "            for j in range(8):\n"
         "                with T.block(\"B\"):\n"
         "                    w = T.axis.spatial(8, j)\n"
         "                    B[v, w] = A[(t[v] % 4 + 4) % 4, w]\n";

/* The signature of `both` cannot name t any more, not as an index either. */
static void a_region_indexed_by_a_buffer_that_moves_inside_takes_the_whole(void **state)
{
    Fix *x = *state;

    expect_body(x, indexed_by_what_moves, "plan_allocations",
                "    # with T.block(\"root\"):\n"
                "    for i in range(4):\n"
                "        with T.block(\"both\"):\n"
                "            v = T.axis.spatial(4, i)\n"
                "            T.reads(X[v], A[0:4, 0:8])\n"
                "            T.writes(B[v, 0:8])\n"
                "            t = T.alloc_buffer((4,), \"int32\")\n"
                "            t[v] = X[v]\n"
                "            for j in range(8):\n"
                "                with T.block(\"B\"):\n"
                "                    w = T.axis.spatial(8, j)\n"
                "                    T.reads(A[(t[v] % 4 + 4) % 4, w], t[v])\n"
                "                    T.writes(B[v, w])\n"
                "                    B[v, w] = A[(t[v] % 4 + 4) % 4, w]");
    assert_true(same_everywhere(x, indexed_by_what_moves) > 3);
}

static void the_block_that_is_made_stands_where_the_buffer_was_allocated(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, row_by_row), "plan_allocations");
    const ml_Block *root = ml_as_block(f->body);
    const ml_Stmt *made = ml_as_for(root->body)->body;

    assert_int_equal(made->kind, ML_STMT_BLOCK);
    assert_non_null(made->span);
    assert_int_equal(ml_as_block(made)->n_allocs, 1);
}

/* What is read in one iteration was written in the one before. */
static void a_buffer_that_carries_a_value_stays_outside_of_the_loop(void **state)
{
    Fix *x = *state;
    const char *text = AB "    with T.block(\"root\"):\n"
                          "        t = T.alloc_buffer((64,), \"int32\")\n"
                          "        for i in range(64):\n"
                          "            if i > 0:\n"
                          "                for j in range(64):\n"
                          "                    B[i, j] = t[j]\n"
                          "            for j in range(64):\n"
                          "                t[j] = A[i, j]\n";

    expect_body(x, text, "plan_allocations",
                "    # with T.block(\"root\"):\n"
                "    t = T.alloc_buffer((64,), \"int32\")\n"
                "    for i in range(64):\n"
                "        if i > 0:\n"
                "            for j in range(64):\n"
                "                B[i, j] = t[j]\n"
                "        for j in range(64):\n"
                "            t[j] = A[i, j]");
    same_everywhere(x, text);
}

static void blocks_that_carry_a_value_keep_the_buffer_outside(void **state)
{
    Fix *x = *state;
    const char *text =
        HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
             "    t = T.alloc_buffer((64,), \"int32\")\n"
             "    for i in range(64):\n"
             "        with T.block(\"p\"):\n"
             "            vi = T.axis.spatial(64, i)\n"
             "            t[vi] = A[vi]\n"
             "        with T.block(\"c\"):\n"
             "            vi = T.axis.spatial(64, i)\n"
             "            T.where(1 <= i)\n"
             "            B[vi] = t[vi - 1]\n";
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, text), "plan_allocations");

    assert_int_equal(ml_as_block(f->body)->n_allocs, 1);
    same_everywhere(x, text);
}

static void a_parallel_loop_has_a_buffer_per_iteration(void **state)
{
    Fix *x = *state;
    const char *text = AB "    with T.block(\"root\"):\n"
                          "        t = T.alloc_buffer((2,), \"int32\")\n"
                          "        for i in T.parallel(64):\n"
                          "            for j in range(64):\n"
                          "                t[j % 2] = A[i, j]\n"
                          "                B[i, j] = t[j % 2]\n";
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, text), "plan_allocations");

    assert_int_equal(ml_as_block(f->body)->n_allocs, 0);
    same_everywhere(x, text);
}

/* Iterations of j have own buffers, and what they hold goes around i: refused. */
/* The loop that was parallel is serial, and a remark says why. */
static void expect_serial(Fix *x, const char *program)
{
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, program), "plan_allocations");

    assert_null(strstr(body_text(x, f), "T.parallel"));
    assert_true(has_note(&lo, "loop j runs serially: cannot show that t carries no value"));
}

static void a_parallel_loop_around_which_a_value_is_carried_runs_serially(void **state)
{
    expect_serial(*state, AB "    with T.block(\"root\"):\n"
                             "        t = T.alloc_buffer((1,), \"int32\")\n"
                             "        for i in range(64):\n"
                             "            for j in T.parallel(64):\n"
                             "                if i > 0:\n"
                             "                    B[i, j] = t[0]\n"
                             "                t[0] = A[i, j]\n");
}

static void what_is_written_and_read_under_one_condition_may_move(void **state)
{
    Fix *x = *state;
    const char *text = AB "    with T.block(\"root\"):\n"
                          "        t = T.alloc_buffer((64,), \"int32\")\n"
                          "        for i in range(64):\n"
                          "            if i * i + i < 99:\n"
                          "                for j in range(64):\n"
                          "                    t[j] = A[i, j]\n"
                          "            if i * i + i < 99:\n"
                          "                for j in range(64):\n"
                          "                    B[i, j] = t[63 - j]\n";
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, text), "plan_allocations");

    assert_int_equal(ml_as_block(f->body)->n_allocs, 0);
    same_everywhere(x, text);
}

static const char row_sums[] = AB "    c = T.alloc_buffer((64,), \"int32\")\n"
                                  "    for i, k in T.grid(64, 64):\n"
                                  "        with T.block(\"s\"):\n"
                                  "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
                                  "            with T.init():\n"
                                  "                c[vi] = 0\n"
                                  "            c[vi] = c[vi] + A[vi, vk]\n"
                                  "        with T.block(\"w\"):\n"
                                  "            vi, vk = T.axis.remap(\"SS\", [i, k])\n"
                                  "            B[vi, vk] = c[vi]\n";

/* for i: for k: {c += A; B = c}: the value of c goes around loop k. */
static void the_output_of_a_reduction_is_allocated_above_its_loops(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, row_sums), "compact_buffers");
    const ml_Stmt *s = ml_as_for(ml_as_block(f->body)->body)->body;

    assert_int_equal(s->kind, ML_STMT_BLOCK); /* in loop i, above loop k */
    assert_int_equal(ml_as_block(s)->n_allocs, 1);
    assert_true(ml_is_int(ml_as_block(s)->allocs[0]->shape[0], 1));
    same_everywhere(x, row_sums);
}

static void an_opaque_iterator_keeps_what_it_writes_above_its_loops(void **state)
{
    Fix *x = *state;
    const char *text = AB "    t = T.alloc_buffer((64,), \"int32\")\n"
                          "    for i in range(64):\n"
                          "        with T.block(\"p\"):\n"
                          "            vi = T.axis.opaque(64, i)\n"
                          "            T.reads(A[vi, 0])\n"
                          "            T.writes(t[vi], B[vi, 0])\n"
                          "            t[vi] = A[vi, 0]\n"
                          "            B[vi, 0] = t[vi]\n";
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, text), "plan_allocations");

    assert_int_equal(ml_as_block(f->body)->n_allocs, 1);
}

static void global_memory_stays_above_the_grid(void **state)
{
    Fix *x = *state;
    const char *text = AB "    t = T.alloc_buffer((64, 64), \"int32\")\n"
                          "    u = T.alloc_buffer((64, 64), \"int32\", scope=\"shared\")\n"
                          "    for i in T.thread_binding(64, thread=\"blockIdx.x\"):\n"
                          "        for j in range(64):\n"
                          "            with T.block(\"p\"):\n"
                          "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                          "                t[vi, vj] = A[vi, vj]\n"
                          "                u[vi, vj] = t[vi, vj]\n"
                          "                B[vi, vj] = u[vi, vj]\n";
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, text), "plan_allocations");

    assert_int_equal(ml_as_block(f->body)->n_allocs, 1);
    assert_string_equal(ml_as_block(f->body)->allocs[0]->name, "t");
}

static void regions_lose_what_is_allocated_inside(void **state)
{
    Fix *x = *state;

    expect_body(x,
                AB "    t = T.alloc_buffer((64, 64), \"int32\")\n"
                   "    for i in range(64):\n"
                   "        with T.block(\"o\"):\n"
                   "            vi = T.axis.spatial(64, i)\n"
                   "            T.reads(A[vi, 0:64], t[vi, 0:64])\n"
                   "            T.writes(B[vi, 0:64], t[vi, 0:64])\n"
                   "            T.block_attr({\"explicit_read_region\": [0, 1], "
                   "\"buffer_dim_align\": [[1, 0, 8, 0]]})\n"
                   "            for j in range(64):\n"
                   "                t[vi, j] = A[vi, j]\n"
                   "            for j in range(64):\n"
                   "                B[vi, j] = t[vi, 63 - j]\n",
                "plan_allocations",
                "    # with T.block(\"root\"):\n"
                "    for i in range(64):\n"
                "        with T.block(\"o\"):\n"
                "            vi = T.axis.spatial(64, i)\n"
                "            T.reads(A[vi, 0:64])\n"
                "            T.writes(B[vi, 0:64])\n"
                "            T.block_attr({\"alloc_dim_align\": [[0, 0, 8, 0]], "
                "\"buffer_dim_align\": [], \"explicit_read_region\": [0]})\n"
                "            t = T.alloc_buffer((64, 64), \"int32\")\n"
                "            for j in range(64):\n"
                "                t[vi, j] = A[vi, j]\n"
                "            for j in range(64):\n"
                "                B[vi, j] = t[vi, 63 - j]");
}

/* The parts of a predicate are known together: that o is 0 makes the indices equal. */
static void
what_is_written_under_a_predicate_covers_a_read_under_a_stronger_one(void **state)
{
    static const char program[] =
        HEAD "A: T.Buffer((2,), \"int32\"), B: T.Buffer((2,), \"int32\")):\n"
             "    t = T.alloc_buffer((2,), \"int32\")\n"
             "    for p, o in T.grid(1, 4):\n"
             "        for i in T.vectorized(5):\n"
             "            with T.block(\"t\"):\n"
             "                v = T.axis.spatial(2, i)\n"
             "                T.where(i < 2 and p * 4 + o < 1)\n"
             "                t[v] = A[v]\n"
             "            with T.block(\"B\"):\n"
             "                v = T.axis.spatial(2, p * 20 + o * 5 + i)\n"
             "                T.where((p * 4 + o) * 5 + i < 2 and p * 4 + o < 1)\n"
             "                B[v] = t[v] * 2\n";

    assert_true(same_everywhere(*state, program) > 3);
}

/* ---------------------------------------------------------------- compact_buffers */

/* The shape of the first allocated buffer after compaction, as "(1, 16)". */
static const char *compact_shape(Fix *x, const char *program)
{
    ml_Lower lo = lowering(x);
    const char *text = body_text(x, lowered(x, &lo, parse(x, program), "simplify"));
    const char *at = strstr(text, "T.alloc_buffer("), *end;

    assert_non_null(at);
    end = strchr(at, ')');
    at += strlen("T.alloc_buffer(");
    return ml_strdup(x->cx, (ml_Str){at, (size_t)(end - at) + 1});
}

static void a_buffer_shrinks_to_the_box_that_is_accessed(void **state)
{
    Fix *x = *state;

    expect_body(x,
                AB "    with T.block(\"root\"):\n"
                   "        t = T.alloc_buffer((64, 64), \"int32\")\n"
                   "        for i in range(64):\n"
                   "            for j in range(8, 24):\n"
                   "                t[i, j] = A[i, j]\n"
                   "            for j in range(8, 24):\n"
                   "                B[i, j] = t[i, j]\n",
                "simplify",
                "    # with T.block(\"root\"):\n"
                "    for i in range(64):\n"
                "        with T.block(\"\"):\n"
                "            T.reads(A[i, 8:24])\n"
                "            T.writes(B[i, 8:24])\n"
                "            t = T.alloc_buffer((1, 16), \"int32\")\n"
                "            for j in range(16):\n"
                "                t[0, j] = A[i, j + 8]\n"
                "            for j in range(16):\n"
                "                B[i, j + 8] = t[0, j]");
}

/* Rows of a buffer of n rows, in pairs: with and without a bound that is known. */
static void sizes_that_follow_a_loop_are_bounded_by_what_is_known(void **state)
{
    static const char text[] =
        HEAD "A_p: T.handle, B_p: T.handle):\n"
             "    n = T.int32()\n"
             "    A = T.match_buffer(A_p, (n,), \"int32\")\n"
             "    B = T.match_buffer(B_p, (n + 2,), \"int32\")\n"
             "    for i in range(n + 2):\n"
             "        with T.block(\"B\"):\n"
             "            v = T.axis.spatial(n + 2, i)\n"
             "            T.reads(A[T.max(v - 1, 0)])\n"
             "            T.writes(B[v])\n"
             "            t = T.alloc_buffer((%s, 2), \"int32\")\n"
             "            for a, b in T.grid(%s, 2):\n"
             "                t[a, b] = v\n"
             "            B[v] = T.if_then_else(v < %s, t[0, 0], 0)\n";
    static const char near[] = "(T.min(v, n) - T.max(v - 1, 0) - 1) // 2 + 1";
    static const char far[] = "(n + 2 - v) // 2";
    Fix *x = *state;

    assert_string_equal(compact_shape(x, ml_format(x->cx, text, near, near, "0")),
                        "(1, 2)");
    assert_string_equal(compact_shape(x, ml_format(x->cx, text, far, far, "0")),
                        "((n + 2 - i)"); /* as it was, cut at the first bracket */
}

static void several_accesses_give_their_hull(void **state)
{
    Fix *x = *state;

    assert_string_equal(compact_shape(x,
                                      AB "    with T.block(\"root\"):\n"
                                         "        t = T.alloc_buffer((64, 64), \"int32\")\n"
                                         "        for i in range(64):\n"
                                         "            t[i, 3] = A[i, 0]\n"
                                         "            for j in range(4):\n"
                                         "                t[i, j + 20] = A[i, j]\n"
                                         "            B[i, 0] = t[i, 3] + t[i, 23]\n"),
                        "(1, 21)");
}

static void conditions_narrow_what_is_accessed(void **state)
{
    Fix *x = *state;
    const char *text = AB "    with T.block(\"root\"):\n"
                          "        t = T.alloc_buffer((128,), \"int32\")\n"
                          "        for i in range(64):\n"
                          "            for j in range(64):\n"
                          "                if j + 8 < 24:\n"
                          "                    t[j + 8] = A[i, j]\n"
                          "            for j in range(64):\n"
                          "                B[i, j] = T.if_then_else(j < 12, t[j + 8], 0)\n";

    assert_string_equal(compact_shape(x, text), "(16,)");
    same_everywhere(x, text);
}

static void a_tail_needs_no_more_than_a_tile(void **state)
{
    Fix *x = *state;
    const char *text =
        HEAD "A: T.Buffer((30,), \"int32\"), B: T.Buffer((30,), \"int32\")):\n"
             "    t = T.alloc_buffer((30,), \"int32\")\n"
             "    for i in range(5):\n"
             "        for j in range(7):\n"
             "            with T.block(\"p\"):\n"
             "                vi = T.axis.spatial(30, i * 7 + j)\n"
             "                T.where(i * 7 + j < 30)\n"
             "                t[vi] = A[vi]\n"
             "        for j in range(7):\n"
             "            with T.block(\"c\"):\n"
             "                vi = T.axis.spatial(30, i * 7 + j)\n"
             "                T.where(i * 7 + j < 30)\n"
             "                B[vi] = t[vi]\n";

    assert_string_equal(compact_shape(x, text), "(7,)");
    same_everywhere(x, text);
}

static void a_loop_that_may_not_run_says_nothing_of_other_accesses(void **state)
{
    Fix *x = *state;
    const char *text = HEAD
        "A: T.Buffer((2, 2), \"int32\"), B: T.Buffer((2, 2), \"int32\")):\n"
        "    t = T.alloc_buffer((2, 2), \"int32\")\n"
        "    for f in range(4):\n"
        "        for i, j in T.grid(2, T.max(f // 2, f % 2) + 1 - T.min(f // 2, f % 2)):\n"
        "            with T.block(\"p\"):\n"
        "                vi = T.axis.spatial(2, i)\n"
        "                vj = T.axis.spatial(2, T.min(f // 2, f % 2) + j)\n"
        "                t[vi, vj] = A[vi, vj]\n"
        "        for i, j in T.grid(2, T.min(f // 2, f % 2) + 1 - T.max(f // 2, f % 2)):\n"
        "            with T.block(\"c\"):\n"
        "                vi = T.axis.spatial(2, i)\n"
        "                vj = T.axis.spatial(2, T.max(f // 2, f % 2) + j)\n"
        "                B[vi, vj] = t[vi, vj]\n";

    assert_string_equal(compact_shape(x, text), "(2, 2)");
    same_everywhere(x, text);
}

static void an_indirect_index_keeps_the_dimension(void **state)
{
    Fix *x = *state;

    assert_string_equal(compact_shape(x,
                                      AB "    with T.block(\"root\"):\n"
                                         "        t = T.alloc_buffer((64, 64), \"int32\")\n"
                                         "        for i in range(64):\n"
                                         "            for j in range(64):\n"
                                         "                t[i, j] = A[i, j]\n"
                                         "            B[i, 0] = t[i, A[i, 0]]\n"),
                        "(1, 64)");
}

static void an_extent_that_follows_a_loop_becomes_its_largest(void **state)
{
    Fix *x = *state;
    const char *text = AB "    with T.block(\"root\"):\n"
                          "        t = T.alloc_buffer((64,), \"int32\")\n"
                          "        for i in range(20):\n"
                          "            for j in range(i + 1):\n"
                          "                t[j] = A[i, j]\n"
                          "            for j in range(i + 1):\n"
                          "                B[i, j] = t[i - j]\n";

    assert_string_equal(compact_shape(x, text), "(20,)");
    same_everywhere(x, text);
}

static void a_pointer_keeps_the_layout(void **state)
{
    Fix *x = *state;

    assert_string_equal(
        compact_shape(x, AB "    with T.block(\"root\"):\n"
                            "        t = T.alloc_buffer((64, 64), \"int32\")\n"
                            "        for i in range(8):\n"
                            "            with T.block(\"f\"):\n"
                            "                vi = T.axis.spatial(8, i)\n"
                            "                T.reads()\n"
                            "                T.writes(t[vi, 0:8])\n"
                            "                T.call_extern(\"int32\", \"f\", t.data)\n"
                            "        for i in range(8):\n"
                            "            B[i, 0] = t[i, 4]\n"),
        "(8, 64)");
}

static void the_region_of_an_annotation_counts_instead_of_the_accesses(void **state)
{
    Fix *x = *state;

    assert_string_equal(
        compact_shape(x, AB "    t = T.alloc_buffer((64, 64), \"int32\")\n"
                            "    for i in range(8):\n"
                            "        with T.block(\"w\"):\n"
                            "            vi = T.axis.spatial(8, i)\n"
                            "            t[vi, 0] = A[vi, 0]\n"
                            "    for i in range(8):\n"
                            "        with T.block(\"r\"):\n"
                            "            vi = T.axis.spatial(8, i)\n"
                            "            T.reads(t[0:16, 0:2])\n"
                            "            T.writes(B[vi, 0])\n"
                            "            T.block_attr({\"explicit_read_region\": 0})\n"
                            "            B[vi, 0] = t[vi, 0]\n"),
        "(16, 2)");
}

static const char aligned[] =
    HEAD "A: T.Buffer((32, 24), \"int32\"), B: T.Buffer((32, 24), \"int32\")):\n"
         "    t = T.alloc_buffer((32, 24), \"int32\")\n"
         "    for i, j in T.grid(32, 24):\n"
         "        with T.block(\"w\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            T.block_attr({\"buffer_dim_align\": [[0, 0, 32, 8]]})\n"
         "            t[vi, vj] = A[vi, vj]\n"
         "    for i, j in T.grid(32, 24):\n"
         "        with T.block(\"r\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            B[vi, vj] = t[31 - vi, vj]\n";

static void storage_align_gives_strides(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = lowered(x, &lo, parse(x, aligned), "compact_buffers");
    const ml_Buffer *t = ml_as_block(f->body)->allocs[0];

    assert_int_equal(t->n_strides, 2);
    assert_true(ml_is_int(t->strides[0], 40)); /* 24 + ((32 + 8 - 24) mod 32) */
    assert_true(ml_is_int(t->strides[1], 1));
    same_everywhere(x, aligned);
}

static void a_buffer_without_a_use_is_dropped(void **state)
{
    Fix *x = *state;

    expect_body(x,
                AB "    with T.block(\"root\"):\n"
                   "        t = T.alloc_buffer((64,), \"int32\")\n"
                   "        B[0, 0] = 1\n",
                "compact_buffers",
                "    with T.block(\"root\"):\n"
                "        T.reads()\n"
                "        T.writes()\n"
                "        B[0, 0] = 1");
}

/* The sum of each j goes on from one k to the next: j has no buffer of its own there. */
static void a_buffer_above_a_reduction_is_not_shared_by_parallel_iterations(void **state)
{
#define SUM(at)                                                                            \
    AB "    t = T.alloc_buffer((64,), \"int32\")\n"                                        \
       "    for k in range(64):\n"                                                         \
       "        for j in T.parallel(64):\n"                                                \
       "            with T.block(\"s\"):\n"                                                \
       "                vk = T.axis.reduce(64, k)\n"                                       \
       "                vj = T.axis.spatial(64, j)\n"                                      \
       "                with T.init():\n"                                                  \
       "                    t[" at "] = 0\n"                                               \
       "                t[" at "] = t[" at "] + A[vk, vj]\n"                               \
       "            with T.block(\"c\"):\n"                                                \
       "                vk, vj = T.axis.remap(\"SS\", [k, j])\n"                           \
       "                B[vk, vj] = t[" at "]\n"
    Fix *x = *state;

    assert_true(same_everywhere(x, SUM("vj")) > 3);
    expect_serial(x, SUM("0"));
#undef SUM
}

static void a_buffer_that_is_only_mentioned_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           AB "    t = T.alloc_buffer((64,), \"int32\")\n"
                              "    for i in range(8):\n"
                              "        with T.block(\"b\"):\n"
                              "            vi = T.axis.spatial(8, i)\n"
                              "            T.reads(t[vi])\n"
                              "            T.writes(B[vi, 0])\n"
                              "            B[vi, 0] = 1\n",
                           "compact_buffers", "allocated but not accessed");
    expect_lowering_failed(x,
                           AB "    t = T.alloc_buffer((64,), \"int32\")\n"
                              "    for i in range(8):\n"
                              "        with T.block(\"b\"):\n"
                              "            vi = T.axis.spatial(8, i)\n"
                              "            T.reads(A[t[vi], 0])\n"
                              "            T.writes(B[vi, 0])\n"
                              "            B[vi, 0] = 1\n",
                           "compact_buffers", "allocated but not accessed");
}

/* ---------------------------------------------------------------- lower_match_buffer */

static void a_view_becomes_what_it_views(void **state)
{
    Fix *x = *state;
    const char *text = AB
        "    for i, j in T.grid(16, 16):\n"
        "        with T.block(\"b\"):\n"
        "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "            T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])\n"
        "            T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])\n"
        "            s = T.int32()\n"
        "            M = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "
        "\"int32\", strides=[s, 1], offset_factor=1)\n"
        "            for y, z in T.grid(4, 4):\n"
        "                B[vi * 4 + y, vj * 4 + z] = M[y, z] + s\n";

    expect_body(x, text, "lower_match_buffer",
                "    # with T.block(\"root\"):\n"
                "    for i, j in T.grid(16, 16):\n"
                "        with T.block(\"b\"):\n"
                "            T.reads(A[i * 4:i * 4 + 4, j * 4:j * 4 + 4])\n"
                "            T.writes(B[i * 4:i * 4 + 4, j * 4:j * 4 + 4])\n"
                "            for y, z in T.grid(4, 4):\n"
                "                B[i * 4 + y, j * 4 + z] = A[y + i * 4, z + j * 4] + 64");
    same_everywhere(x, text);
}

static void a_view_may_lack_leading_dimensions(void **state)
{
    Fix *x = *state;
    const char *text = AB "    for i in range(64):\n"
                          "        with T.block(\"b\"):\n"
                          "            vi = T.axis.spatial(64, i)\n"
                          "            T.reads(A[vi, 0:64])\n"
                          "            T.writes(B[vi, 0:64])\n"
                          "            M = T.match_buffer(A[vi, 0:64], (64,), \"int32\", "
                          "offset_factor=64)\n"
                          "            for y in range(64):\n"
                          "                B[vi, y] = M[63 - y]\n";

    expect_body(x, text, "simplify",
                "    # with T.block(\"root\"):\n"
                "    for i in range(64):\n"
                "        with T.block(\"b\"):\n"
                "            T.reads(A[i, 0:64])\n"
                "            T.writes(B[i, 0:64])\n"
                "            for y in range(64):\n"
                "                B[i, y] = A[i, 63 - y]");
    same_everywhere(x, text);
}

static void a_view_of_a_compacted_buffer_follows_it(void **state)
{
    Fix *x = *state;

    same_everywhere(
        x, AB "    for i in range(16):\n"
              "        with T.block(\"o\"):\n"
              "            vi = T.axis.spatial(16, i)\n"
              "            T.reads(A[vi, 0:64])\n"
              "            T.writes(B[vi, 0:64])\n"
              "            t = T.alloc_buffer((16, 64), \"int32\")\n"
              "            for j in range(64):\n"
              "                with T.block(\"w\"):\n"
              "                    u = T.axis.spatial((vi, vi + 1), vi)\n"
              "                    vj = T.axis.spatial(64, j)\n"
              "                    t[u, vj] = A[u, vj]\n"
              "            for j in range(16):\n"
              "                with T.block(\"r\"):\n"
              "                    u = T.axis.spatial((vi, vi + 1), vi)\n"
              "                    vj = T.axis.spatial(16, j)\n"
              "                    T.reads(t[u, vj * 4:vj * 4 + 4])\n"
              "                    T.writes(B[u, vj * 4:vj * 4 + 4])\n"
              "                    M = T.match_buffer(t[u, vj * 4:vj * 4 + 4], (1, 4), "
              "\"int32\", strides=[\"s\", 1], offset_factor=1)\n"
              "                    for y in range(4):\n"
              "                        B[u, vj * 4 + y] = M[0, 3 - y]\n");
}

/* Tiles of 8 lanes with 4 registers each: an intrinsic finds a lane's by their form. */
static void what_a_view_has_whole_keeps_its_form(void **state)
{
    Fix *x = *state;
    const char *text =
        AB "    for i in range(16):\n"
           "        with T.block(\"o\"):\n"
           "            vi = T.axis.spatial(16, i)\n"
           "            T.reads(A[vi, 0:64])\n"
           "            T.writes(B[vi, 0:64])\n"
           "            t = T.alloc_buffer((16, 2, 8, 4), \"int32\")\n"
           "            for j, l, e in T.grid(2, 8, 4):\n"
           "                with T.block(\"w\"):\n"
           "                    vj, vl, ve = T.axis.remap(\"SSS\", [j, l, e])\n"
           "                    t[vi, vj, vl, ve] = A[vi, vj * 32 + vl * 4 + ve]\n"
           "            for j in range(2):\n"
           "                with T.block(\"r\"):\n"
           "                    vj = T.axis.spatial(2, j)\n"
           "                    T.reads(t[vi, vj, 0:8, 0:4])\n"
           "                    T.writes(B[vi, vj * 32:vj * 32 + 32])\n"
           "                    M = T.match_buffer(t[vi, vj, 0:8, 0:4], (8, 4), \"int32\", "
           "offset_factor=32)\n"
           "                    for l, e in T.grid(8, 4):\n"
           "                        B[vi, vj * 32 + l * 4 + e] = M[l, e]\n";
    ml_Lower lo = lowering(x);
    const char *have = body_text(x, lowered(x, &lo, parse(x, text), "compact_buffers"));

    if (!strstr(have, "t = T.alloc_buffer((1, 2, 8, 4), \"int32\")"))
        fail_msg("%s", have);
    same_everywhere(x, text);
}

static void a_view_inside_a_view_reaches_the_buffer(void **state)
{
    Fix *x = *state;

    same_everywhere(
        x,
        AB "    for i in range(16):\n"
           "        with T.block(\"o\"):\n"
           "            vi = T.axis.spatial(16, i)\n"
           "            T.reads(A[vi * 4:vi * 4 + 4, 0:64])\n"
           "            T.writes(B[vi * 4:vi * 4 + 4, 0:64])\n"
           "            M = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:64], (4, 64), \"int32\", "
           "offset_factor=1)\n"
           "            for j in range(4):\n"
           "                with T.block(\"n\"):\n"
           "                    vj = T.axis.spatial(4, j)\n"
           "                    T.reads(M[vj, 0:64])\n"
           "                    T.writes(B[vi * 4 + vj, 0:64])\n"
           "                    N = T.match_buffer(M[vj, 0:64], (64,), \"int32\", "
           "offset_factor=1)\n"
           "                    for y in range(64):\n"
           "                        B[vi * 4 + vj, y] = N[63 - y]\n");
}

/* A view of A[vi * 4: + 4, 0:4] declared with `how`, used as `body`. */
static const char *with_view(Fix *x, const char *how, const char *body)
{
    return ml_format(x->cx,
                     "%s    for i in range(8):\n"
                     "        with T.block(\"b\"):\n"
                     "            vi = T.axis.spatial(8, i)\n"
                     "            T.reads(A[vi * 4:vi * 4 + 4, 0:4])\n"
                     "            T.writes(B[vi, 0:4])\n"
                     "            s = T.int32()\n"
                     "            M = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:4], (4, 4), "
                     "\"int32\", %s)\n"
                     "            %s\n",
                     AB, how, body);
}

static void a_view_that_contradicts_its_source_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x, with_view(x, "offset_factor=512", "B[vi, 0] = M[0, 0]"),
                           "lower_match_buffer", "multiple of offset_factor 512");
    expect_lowering_failed(
        x, with_view(x, "strides=[4, 1], offset_factor=1", "B[vi, 0] = M[0, 0]"),
        "lower_match_buffer", "stride 0 is 4, the source gives 64");
    expect_lowering_failed(
        x, with_view(x, "strides=[s, s], offset_factor=1", "B[vi, 0] = M[0, 0]"),
        "lower_match_buffer", "stride 1 is 64, the source gives 1");
    expect_lowering_failed(x, with_view(x, "elem_offset=3", "B[vi, 0] = M[0, 0]"),
                           "lower_match_buffer", "the element offset is 3");
}

/* Only 10 columns of t are used; views say a stride, an offset factor, or both inside each
 * other. */
static void a_buffer_shrinks_to_what_its_views_ask_for(void **state)
{
    static const struct {
        const char *view, *inner, *stride;
    } cases[] = {
        {"strides=[s, 1], offset_factor=1", "offset_factor=1", NULL},
        {"strides=[s, 1], offset_factor=16", "offset_factor=1", "strides=(16, 1)"},
        {"strides=[64, 1], offset_factor=1", "offset_factor=1", "(8, 64)"},
        {"strides=[s, 1], offset_factor=1", "offset_factor=8", "strides=(16, 1)"},
    };
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        ml_Text text = {0};
        ml_Lower lo = lowering(x);
        const ml_Func *f;

        ml_text_fmt(&text,
                    "%s"
                    "    t = T.alloc_buffer((64, 64), \"int32\")\n"
                    "    for i, j in T.grid(8, 10):\n"
                    "        with T.block(\"t\"):\n"
                    "            u, w = T.axis.remap(\"SS\", [i, j])\n"
                    "            t[u, w] = A[u, w] * 2\n"
                    "    for i in range(4):\n"
                    "        with T.block(\"b\"):\n"
                    "            u = T.axis.spatial(4, i)\n"
                    "            T.reads(t[u * 2:u * 2 + 2, 0:10])\n"
                    "            T.writes(B[u * 2:u * 2 + 2, 0:10])\n"
                    "            s = T.int32()\n"
                    "            M = T.match_buffer(t[u * 2:u * 2 + 2, 0:10], (2, 10), "
                    "\"int32\", %s)\n"
                    "            with T.block(\"c\"):\n"
                    "                T.reads(M[0:2, 0:10])\n"
                    "                T.writes(B[u * 2:u * 2 + 2, 0:10])\n"
                    "                N = T.match_buffer(M[1, 0:10], (10,), \"int32\", %s)\n"
                    "                for j in range(10):\n"
                    "                    B[u * 2, j] = M[0, j]\n"
                    "                    B[u * 2 + 1, j] = N[j]\n",
                    AB, cases[k].view, cases[k].inner);
        f = lowered(x, &lo, parse(x, ml_text_z(&text)), "compact_buffers");
        if (cases[k].stride && !strstr(body_text(x, f), cases[k].stride))
            fail_msg("%s", body_text(x, f));
        assert_true(same_everywhere(x, ml_text_z(&text)) > 2);
        ml_text_free(&text);
    }
}

/* Of a parameter, of a buffer that would shrink and be padded, and of a view. */
static void lanes_that_run_on_from_row_to_row_go_by_the_memory(void **state)
{
    static const char *const programs[] = {
        AB "    for i in range(16):\n"
           "        B[i * 4, 0:256] = A[i * 4, 0:256] + T.Broadcast(i, 256)\n",
        AB "    for i in range(4):\n"
           "        with T.block(\"o\"):\n"
           "            v = T.axis.spatial(4, i)\n"
           "            T.reads(A[v, 0:64])\n"
           "            T.writes(B[v * 2:v * 2 + 2, 0:64])\n"
           "            t = T.alloc_buffer((8, 16), \"int32\")\n"
           "            with T.block(\"t\"):\n"
           "                T.reads(A[v, 0:64])\n"
           "                T.writes(t[0:8, 0:16])\n"
           "                T.block_attr({\"buffer_dim_align\": [[0, 0, 32, 5]]})\n"
           "                for j in range(8):\n"
           "                    for k in range(16):\n"
           "                        t[j, k] = A[v, j * 8 + k // 2]\n"
           "            B[v * 2, 0:64] = t[0, 0:64]\n"
           "            B[v * 2 + 1, 0:64] = t[4, 0:64]\n",
        AB "    for i in range(8):\n"
           "        with T.block(\"o\"):\n"
           "            v = T.axis.spatial(8, i)\n"
           "            T.reads(A[v * 8:v * 8 + 8, 0:64])\n"
           "            T.writes(B[v * 8:v * 8 + 8, 0:64])\n"
           "            M = T.match_buffer(A[v * 8:v * 8 + 8, 0:64], (8, 64), \"int32\", "
           "offset_factor=1)\n"
           "            N = T.match_buffer(B[v * 8:v * 8 + 8, 0:64], (8, 64), \"int32\", "
           "offset_factor=1)\n"
           "            N[0, 0:512] = M[0, 0:512] * T.Broadcast(2, 512)\n",
    };
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(programs); k++)
        assert_true(same_everywhere(x, programs[k]) > 2);
    expect_lowering_failed(
        x,
        AB "    with T.block(\"o\"):\n"
           "        T.reads(A[0:8, 0:32])\n"
           "        T.writes(B[0:4, 0:64])\n"
           "        M = T.match_buffer(A[0:8, 0:32], (8, 32), \"int32\", offset_factor=1)\n"
           "        B[0, 0:256] = M[0, 0:256]\n",
        "lower_match_buffer", "lanes of an access run on from row to row");
}

static void a_predicated_access_of_a_view_is_refused(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(
        x,
        with_view(x, "offset_factor=1",
                  "B.vstore([vi, T.Ramp(0, 1, 4)], M.vload([0, T.Ramp(0, 1, 4)], "
                  "predicate=T.Broadcast(T.bool(True), 4)))"),
        "lower_match_buffer", "a predicated load");
}

static void a_view_of_a_source_with_an_offset_needs_one(void **state)
{
    Fix *x = *state;

    expect_lowering_failed(x,
                           HEAD
                           "a: T.handle, B: T.Buffer((8,), \"int32\")):\n"
                           "    A = T.match_buffer(a, (8, 4), \"int32\", elem_offset=16)\n"
                           "    for i in range(8):\n"
                           "        with T.block(\"b\"):\n"
                           "            vi = T.axis.spatial(8, i)\n"
                           "            T.reads(A[vi, 0:4])\n"
                           "            T.writes(B[vi])\n"
                           "            M = T.match_buffer(A[vi, 0:4], (4,), \"int32\")\n"
                           "            B[vi] = M[0]\n",
                           "lower_match_buffer", "element offset 0, its source has 16");
}

static void the_pointer_of_a_view_without_offset_is_its_first_element(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const char *text =
        body_text(x, lowered(x, &lo,
                             parse(x, with_view(x, "strides=[s, 1]",
                                                "T.call_extern(\"int32\", \"f\", M.data)")),
                             "simplify"));

    assert_non_null(strstr(text, "T.address_of(A[i * 4, 0])"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_under_a_predicate_covers_a_read_under_a_stronger_one),
        TEST(a_buffer_used_in_one_loop_is_allocated_there),
        TEST(a_region_of_what_is_not_accessed_is_dropped),
        TEST(a_region_indexed_by_a_buffer_that_moves_inside_takes_the_whole),
        TEST(the_block_that_is_made_stands_where_the_buffer_was_allocated),
        TEST(a_buffer_that_carries_a_value_stays_outside_of_the_loop),
        TEST(blocks_that_carry_a_value_keep_the_buffer_outside),
        TEST(a_parallel_loop_has_a_buffer_per_iteration),
        TEST(a_parallel_loop_around_which_a_value_is_carried_runs_serially),
        TEST(what_is_written_and_read_under_one_condition_may_move),
        TEST(the_output_of_a_reduction_is_allocated_above_its_loops),
        TEST(an_opaque_iterator_keeps_what_it_writes_above_its_loops),
        TEST(global_memory_stays_above_the_grid),
        TEST(regions_lose_what_is_allocated_inside),
        TEST(a_buffer_shrinks_to_the_box_that_is_accessed),
        TEST(sizes_that_follow_a_loop_are_bounded_by_what_is_known),
        TEST(several_accesses_give_their_hull),
        TEST(conditions_narrow_what_is_accessed),
        TEST(a_loop_that_may_not_run_says_nothing_of_other_accesses),
        TEST(a_tail_needs_no_more_than_a_tile),
        TEST(an_indirect_index_keeps_the_dimension),
        TEST(an_extent_that_follows_a_loop_becomes_its_largest),
        TEST(a_pointer_keeps_the_layout),
        TEST(the_region_of_an_annotation_counts_instead_of_the_accesses),
        TEST(storage_align_gives_strides),
        TEST(a_buffer_without_a_use_is_dropped),
        TEST(a_buffer_above_a_reduction_is_not_shared_by_parallel_iterations),
        TEST(a_buffer_that_is_only_mentioned_is_refused),
        TEST(a_view_becomes_what_it_views),
        TEST(a_view_may_lack_leading_dimensions),
        TEST(a_view_of_a_compacted_buffer_follows_it),
        TEST(what_a_view_has_whole_keeps_its_form),
        TEST(a_view_inside_a_view_reaches_the_buffer),
        TEST(a_view_that_contradicts_its_source_is_refused),
        TEST(a_buffer_shrinks_to_what_its_views_ask_for),
        TEST(lanes_that_run_on_from_row_to_row_go_by_the_memory),
        TEST(a_predicated_access_of_a_view_is_refused),
        TEST(a_view_of_a_source_with_an_offset_needs_one),
        TEST(the_pointer_of_a_view_without_offset_is_its_first_element),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
