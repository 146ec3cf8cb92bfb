/*
 * test_vectorize - vectorized loops as vector operations: masks, obstacles, buffers of the
 * body, tails of every length.
 */
#include "lowering.h"

static void a_guard_becomes_a_prefix_mask_of_loads_and_stores(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), D: T.Buffer((64,), \"float32\"), "
                     "n: T.int32):\n"
                     "    for i in range(4):\n"
                     "        for v in T.vectorized(8):\n"
                     "            if i * 8 + v < n:\n"
                     "                D[i * 8 + v] = A[(i * 8 + v) * 2] + T.float32(1)\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), data=D.data)\n"
                "    for i in range(4):\n"
                "        if i * 8 < n:\n"
                "            D_1.vstore([T.Ramp(i * 8, 1, 8)], "
                "A_1.vload([T.Ramp(i * 16, 2, 8)], predicate=T.Ramp(i * 8, 1, 8) "
                "< T.Broadcast(n, 8)) + T.Broadcast(T.float32(1.0), 8), "
                "predicate=T.Ramp(i * 8, 1, 8) < T.Broadcast(n, 8))");
}

static void
an_else_gets_the_complement_and_divisors_are_1_in_lanes_switched_off(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        if v % 2 == 0:\n"
                     "            D[v] = A[v]\n"
                     "        else:\n"
                     "            D[v] = 64 // A[v]\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    D_1.vstore([T.Ramp(0, 1, 8)], A_1.vload([T.Ramp(0, 1, 8)], "
                "predicate=T.Ramp(0, 1, 8) % T.Broadcast(2, 8) == T.Broadcast(0, "
                "8)), predicate=T.Ramp(0, 1, 8) % T.Broadcast(2, 8) == "
                "T.Broadcast(0, 8))\n"
                "    D_1.vstore([T.Ramp(0, 1, 8)], T.Broadcast(64, 8) // "
                "T.Select(T.Not(T.Ramp(0, 1, 8) % T.Broadcast(2, 8) == "
                "T.Broadcast(0, 8)), A_1.vload([T.Ramp(0, 1, 8)], "
                "predicate=T.Not(T.Ramp(0, 1, 8) % T.Broadcast(2, 8) == "
                "T.Broadcast(0, 8))), T.Broadcast(1, 8)), "
                "predicate=T.Not(T.Ramp(0, 1, 8) % T.Broadcast(2, 8) == "
                "T.Broadcast(0, 8)))");
}

static void a_condition_that_reads_memory_is_asked_once(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        if D[v] == 0:\n"
                     "            D[v] = 1\n"
                     "            D[v + 8] = 3\n"
                     "        else:\n"
                     "            D[v] = 2\n",
                "vectorize",
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    v_on: T.boolx8 = D_1[0:8] == T.Broadcast(0, 8)\n"
                "    D_1.vstore([T.Ramp(0, 1, 8)], T.Broadcast(1, 8), "
                "predicate=v_on)\n"
                "    D_1.vstore([T.Ramp(8, 1, 8)], T.Broadcast(3, 8), "
                "predicate=v_on)\n"
                "    D_1.vstore([T.Ramp(0, 1, 8)], T.Broadcast(2, 8), "
                "predicate=T.Not(v_on))");
}

static void padding_becomes_a_select_of_a_masked_load(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        D[v] = T.if_then_else(1 <= v and v < 6, A[v - 1], 0)\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    D_1[0:8] = T.Select(T.And(T.Broadcast(1, 8) <= T.Ramp(0, 1, "
                "8), T.Ramp(0, 1, 8) < T.Broadcast(6, 8)), A_1.vload([T.Ramp(-1, "
                "1, 8)], predicate=T.And(T.Broadcast(1, 8) <= T.Ramp(0, 1, 8), "
                "T.Ramp(0, 1, 8) < T.Broadcast(6, 8))), T.Broadcast(0, 8))");
}

static void both_arms_of_padding_are_masked(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        D[v] = T.if_then_else(v < 3, A[v], A[v + 56])\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    D_1[0:8] = T.Select(T.Ramp(0, 1, 8) < T.Broadcast(3, 8), "
                "A_1.vload([T.Ramp(0, 1, 8)], predicate=T.Ramp(0, 1, 8) < "
                "T.Broadcast(3, 8)), A_1.vload([T.Ramp(56, 1, 8)], "
                "predicate=T.Not(T.Ramp(0, 1, 8) < T.Broadcast(3, 8))))");
}

static void a_select_reads_both_arms(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        D[v] = T.Select(v < 4, A[v], A[v + 4])\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    D_1[0:8] = T.Select(T.Ramp(0, 1, 8) < T.Broadcast(4, 8), "
                "A_1[0:8], A_1[4:12])");
}

static void nested_conditions_conjoin(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), D: T.Buffer((64,), \"float32\"), "
                     "n: T.int32):\n"
                     "    for v in T.vectorized(8):\n"
                     "        if v < 5:\n"
                     "            if v * 2 < n:\n"
                     "                D[v] = T.sqrt(A[v])\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), data=D.data)\n"
                "    if T.bool(True):\n"
                "        if 0 < n:\n"
                "            D_1.vstore([T.Ramp(0, 1, 8)], "
                "T.sqrt(A_1.vload([T.Ramp(0, 1, 8)], predicate=T.And(T.Ramp(0, "
                "1, 8) < T.Broadcast(5, 8), T.Ramp(0, 2, 8) < T.Broadcast(n, "
                "8)))), predicate=T.And(T.Ramp(0, 1, 8) < T.Broadcast(5, 8), "
                "T.Ramp(0, 2, 8) < T.Broadcast(n, 8)))");
}

static void a_condition_that_does_not_depend_on_the_lane_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for v in T.vectorized(8):\n"
                     "        if n > 3:\n"
                     "            D[v] = A[0]\n"
                     "        else:\n"
                     "            D[v] = A[v]\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    if 3 < n:\n"
                "        D_1[0:8] = T.Broadcast(A_1[0], 8)\n"
                "    else:\n"
                "        D_1[0:8] = A_1[0:8]");
}

static void under_an_else_even_a_fixed_element_is_read_by_its_lanes_only(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for v in T.vectorized(8):\n"
                     "        if v < n:\n"
                     "            D[v] = A[0]\n"
                     "        else:\n"
                     "            D[v] = A[n]\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    if 0 < n:\n"
                "        D_1.vstore([T.Ramp(0, 1, 8)], T.Broadcast(A_1[0], 8), "
                "predicate=T.Ramp(0, 1, 8) < T.Broadcast(n, 8))\n"
                "    D_1.vstore([T.Ramp(0, 1, 8)], A_1.vload([T.Broadcast(n, "
                "8)], predicate=T.Not(T.Ramp(0, 1, 8) < T.Broadcast(n, 8))), "
                "predicate=T.Not(T.Ramp(0, 1, 8) < T.Broadcast(n, 8)))");
}

static void a_nested_vectorized_loop_becomes_serial(void **state)
{
    Fix *x = *state;

    expect_body_and_note(
        x,
        HEAD "A: T.Buffer((8, 8), \"int32\"), D: T.Buffer((8, 8), \"int32\")):\n"
             "    for v in T.vectorized(8):\n"
             "        for u in T.vectorized(8):\n"
             "            D[v, u] = A[u, v]\n",
        "vectorize",
        "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
        "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
        "    for u in range(8):\n"
        "        D_1[u:u + 64:8] = A_1[u * 8:u * 8 + 8]",
        "loop u is vectorized inside vectorized loop v: it becomes serial");
}

static void a_loop_whose_extent_depends_on_the_lane_is_scalarised(void **state)
{
    Fix *x = *state;

    expect_body_and_note(x,
                         HEAD
                         "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                         "    for v in T.vectorized(8):\n"
                         "        for k in range(v):\n"
                         "            D[v] = A[k]\n",
                         "vectorize",
                         "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                         "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                         "    for v_s in range(8):\n"
                         "        for k in range(v_s):\n"
                         "            D_1[v_s] = A_1[k]",
                         "the bounds of a loop inside depend on the lane");
}

static void one_lane_is_a_scalar_and_no_lane_nothing(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(1):\n"
                     "        D[v] = A[v]\n"
                     "    for v in T.vectorized(0):\n"
                     "        D[v] = A[v + 1]\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    D_1[0] = A_1[0]");
}

static void wide_loops_are_cut_into_four_machine_vectors_and_a_rest(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD
                "A: T.Buffer((100,), \"float32\"), D: T.Buffer((100,), \"float32\")):\n"
                "    for v in T.vectorized(100):\n"
                "        D[v] = A[v]\n",
                "vectorize",
                "    A_1 = T.decl_buffer((100,), data=A.data)\n"
                "    D_1 = T.decl_buffer((100,), data=D.data)\n"
                "    for v_o in range(3):\n"
                "        D_1[v_o * 32:v_o * 32 + 32] = A_1[v_o * 32:v_o * 32 + "
                "32]\n"
                "    D_1[96:100] = A_1[96:100]");
}

static void only_the_statement_with_the_obstacle_is_scalarised(void **state)
{
    Fix *x = *state;

    expect_body_and_note(x,
                         HEAD
                         "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), S: "
                         "T.Buffer((1,), \"int32\")):\n"
                         "    for v in T.vectorized(8):\n"
                         "        D[v] = A[v]\n"
                         "        S[0] = S[0] + A[v]\n"
                         "        D[v + 8] = A[v] * 2\n",
                         "vectorize",
                         "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                         "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                         "    S_1 = T.decl_buffer((1,), \"int32\", data=S.data)\n"
                         "    D_1[0:8] = A_1[0:8]\n"
                         "    for v_s in range(8):\n"
                         "        S_1[0] = S_1[0] + A_1[v_s]\n"
                         "    D_1[8:16] = A_1[0:8] * T.Broadcast(2, 8)",
                         "all iterations store to one element");
}

static void a_value_of_each_lane_keeps_its_users_together(void **state)
{
    Fix *x = *state;

    expect_body_and_note(x,
                         HEAD
                         "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), S: "
                         "T.Buffer((4,), \"int32\")):\n"
                         "    for v in T.vectorized(8):\n"
                         "        x: T.int32 = A[v] * 2\n"
                         "        for k in range(4):\n"
                         "            D[v * 4 + k] = x + k\n"
                         "            S[k] = S[k] + x\n",
                         "vectorize",
                         "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                         "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                         "    S_1 = T.decl_buffer((4,), \"int32\", data=S.data)\n"
                         "    for v_s in range(8):\n"
                         "        x: T.int32 = A_1[v_s] * 2\n"
                         "        for k in range(4):\n"
                         "            D_1[v_s * 4 + k] = x + k\n"
                         "            S_1[k] = S_1[k] + x",
                         "all iterations store to one element");
}

static void a_let_takes_the_type_of_a_vector(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        x: T.int32 = A[v] * 2\n"
                     "        for k in range(4):\n"
                     "            D[v * 4 + k] = x + k\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    x: T.int32x8 = A_1[0:8] * T.Broadcast(2, 8)\n"
                "    for k in range(4):\n"
                "        D_1[k:k + 32:4] = x + T.Broadcast(k, 8)");
}

static void a_buffer_of_the_body_gets_an_element_per_lane(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8, 8), \"int32\"), D: T.Buffer((8, 8), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        with T.block(\"r\"):\n"
                     "            vv = T.axis.spatial(8, v)\n"
                     "            t = T.alloc_buffer((8,), \"int32\", scope=\"local\")\n"
                     "            for j in range(8):\n"
                     "                with T.block(\"w\"):\n"
                     "                    vj = T.axis.spatial(8, j)\n"
                     "                    t[vj] = A[vv, vj]\n"
                     "            for j in range(8):\n"
                     "                with T.block(\"d\"):\n"
                     "                    vj = T.axis.spatial(8, j)\n"
                     "                    D[vv, vj] = t[7 - vj]\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    t = T.decl_buffer((64,), \"int32\", scope=\"local\")\n"
                "    for j in range(8):\n"
                "        t[j * 8:j * 8 + 8] = A_1[j:j + 64:8]\n"
                "    for j in range(8):\n"
                "        D_1[j:j + 64:8] = t[(7 - j) * 8:(7 - j) * 8 + 8]");
}

static void
a_buffer_of_the_body_stays_whole_where_a_statement_has_no_vector_form(void **state)
{
    Fix *x = *state;

    expect_body_and_note(
        x,
        HEAD "A: T.Buffer((8, 8), \"int32\"), S: T.Buffer((8,), \"int32\")):\n"
             "    for v in T.vectorized(8):\n"
             "        with T.block(\"r\"):\n"
             "            vv = T.axis.spatial(8, v)\n"
             "            t = T.alloc_buffer((8,), \"int32\", scope=\"local\")\n"
             "            for j in range(8):\n"
             "                with T.block(\"w\"):\n"
             "                    vj = T.axis.spatial(8, j)\n"
             "                    t[vj] = A[vv, vj]\n"
             "            for j in range(8):\n"
             "                with T.block(\"d\"):\n"
             "                    vj = T.axis.spatial(8, j)\n"
             "                    T.evaluate(T.call_extern(\"int32\", \"foo\", "
             "t[vj]))\n"
             "                    S[vv] = t[vj]\n",
        "vectorize",
        "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
        "    S_1 = T.decl_buffer((8,), \"int32\", data=S.data)\n"
        "    for v_s in range(8):\n"
        "        t = T.decl_buffer((8,), \"int32\", scope=\"local\")\n"
        "        for j in range(8):\n"
        "            t[j] = A_1[v_s * 8 + j]\n"
        "        for j in range(8):\n"
        "            T.call_extern(\"int32\", \"foo\", t[j])\n"
        "            S_1[v_s] = t[j]",
        "it calls what is not pure");
}

static void strides_and_general_indices_keep_their_form(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\")):\n"
                     "    for v in T.vectorized(8):\n"
                     "        D[7 - v] = A[v * 3] + A[v // 2] + A[v * v] + v\n",
                "vectorize",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                "    D_1[T.Ramp(7, -1, 8)] = A_1[0:24:3] + A_1[T.Ramp(0, 1, 8) "
                "// T.Broadcast(2, 8)] + A_1[T.Ramp(0, 1, 8) * T.Ramp(0, 1, 8)] "
                "+ T.Ramp(0, 1, 8)");
}

static void a_while_loop_is_scalarised(void **state)
{
    Fix *x = *state;

    expect_body_and_note(x,
                         HEAD
                         "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: "
                         "T.int32):\n"
                         "    for v in T.vectorized(8):\n"
                         "        D[v] = A[v]\n"
                         "        while D[v] > n:\n"
                         "            D[v] = D[v] - 1\n",
                         "vectorize",
                         "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                         "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
                         "    D_1[0:8] = A_1[0:8]\n"
                         "    for v_s in range(8):\n"
                         "        while n < D_1[v_s]:\n"
                         "            D_1[v_s] = D_1[v_s] - 1",
                         "it is a while loop");
}

static void calls_with_effects_are_scalarised(void **state)
{
    Fix *x = *state;

    expect_body_and_note(
        x,
        HEAD "A: T.Buffer((64,), \"float32\"), D: T.Buffer((64,), \"float32\"), "
             "n: T.int32):\n"
             "    for v in T.vectorized(8):\n"
             "        T.evaluate(T.call_extern(\"int32\", \"foo\", v))\n"
             "        D[v] = T.exp(A[v])\n",
        "vectorize",
        "    A_1 = T.decl_buffer((64,), data=A.data)\n"
        "    D_1 = T.decl_buffer((64,), data=D.data)\n"
        "    for v_s in range(8):\n"
        "        T.call_extern(\"int32\", \"foo\", v_s)\n"
        "    D_1[0:8] = T.exp(A_1[0:8])",
        "it calls what is not pure");
}

static void an_extent_that_is_not_known_gives_vectors_and_a_rest(void **state)
{
    Fix *x = *state;

    expect_body_and_note(
        x,
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), "
             "\"int32\"), n: T.int32):\n"
             "    for v in T.vectorized(n):\n"
             "        D[v] = A[v]\n",
        "vectorize",
        "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
        "    D_1 = T.decl_buffer((64,), \"int32\", data=D.data)\n"
        "    for v_o in range(T.max(n, 0) // 8):\n"
        "        D_1[v_o * 8:v_o * 8 + 8] = A_1[v_o * 8:v_o * 8 + 8]\n"
        "    for v in range(T.max(n, 0) % 8):\n"
        "        D_1[T.max(n, 0) // 8 * 8 + v] = A_1[T.max(n, 0) // 8 * 8 + v]",
        "vectorized loop v has the extent n, which is not constant");
}

/* ---- the same numbers at every stage */

static void tails_of_every_length_compute_the_same(void **state)
{
    Fix *x = *state;

    for (int n = 33; n <= 48; n++) { /* n mod 8 and n mod 16 = 0 .. */
        for (int lanes = 8; lanes <= 16; lanes += 8) {
            ml_Text t = {0};

            ml_text_fmt(&t,
                        HEAD "A: T.Buffer((%d,), \"int32\"), D: T.Buffer((%d,), "
                             "\"int32\")):\n"
                             "    for i in range(%d):\n"
                             "        for v in T.vectorized(%d):\n"
                             "            if T.likely(i * %d + v < %d):\n"
                             "                D[i * %d + v] = A[%d - (i * %d + v)] * 3\n",
                        n, n, (n + lanes - 1) / lanes, lanes, lanes, n, lanes, n - 1,
                        lanes);
            assert_true(expect_same_for(x, ml_text_z(&t), 0) > 2);
            ml_text_free(&t);
        }
    }
}

/* n below 0 and 0 too; the extent read from what the body changes; lanes with buffers of
 * their own; a vectorized loop inside. */
static void loops_of_open_extents_compute_the_same(void **state)
{
    static const char *const programs[] = {
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    for v in T.vectorized(n):\n"
             "        D[v] = A[v] * 2 + v\n",
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    for v in T.vectorized(n - 3):\n"
             "        D[v] = A[v]\n",
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    A[40] = n\n"
             "    for v in T.vectorized(A[40]):\n"
             "        if v == 0:\n"
             "            A[40] = 0\n"
             "        D[v] = A[v]\n",
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    for i in range(3):\n"
             "        for v in T.vectorized(2, n - i):\n"
             "            for w in T.vectorized(2):\n"
             "                D[v * 2 + w] = A[v] + i\n",
        "@T.prim_func\n"
        "def main(A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: "
        "T.int32):\n"
        "    for i in T.vectorized(n):\n"
        "        with T.block(\"O\"):\n"
        "            w = T.axis.spatial(n, i)\n"
        "            T.reads(A[w])\n"
        "            T.writes(D[w])\n"
        "            P = T.alloc_buffer((2,), \"int32\")\n"
        "            P[0] = A[w]\n"
        "            P[1] = P[0] + 1\n"
        "            D[w] = P[1]\n",
        "@T.prim_func\n"
        "def main(A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: "
        "T.int32):\n"
        "    for i in T.unroll(n):\n"
        "        for j in T.unroll(2):\n"
        "            D[i * 2 + j] = A[i]\n",
    };
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(programs); k++)
        for (int n = 0; n <= 20; n++)
            assert_true(expect_same_for(x, programs[k], n) > 2);
}

static void symbolic_bounds_of_every_value_compute_the_same(void **state)
{
    static const char program[] =
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    for i in range((n + 7) // 8):\n"
             "        for v in T.vectorized(8):\n"
             "            if T.likely(i * 8 + v < n):\n"
             "                D[i * 8 + v] = A[i * 8 + v] + 1\n"
             "            else:\n"
             "                D[i * 8 + v] = A[0]\n";
    Fix *x = *state;

    for (int n = 0; n <= 24; n++)
        assert_true(expect_same_for(x, program, n) > 2);
}

/* A copy of two lanes, from a buffer of the iteration to another: each exists per lane of
 * the loop, so that its lanes are not those of the loop. */
static void vectors_in_buffers_of_the_body_compute_the_same(void **state)
{
    static const char program[] =
        "@T.prim_func\n"
        "def main(A: T.Buffer((2, 4), \"int32\"), C: T.Buffer((2, 4), \"int32\")):\n"
        "    for i in T.vectorized(2):\n"
        "        with T.block(\"O\"):\n"
        "            w = T.axis.spatial(2, i)\n"
        "            T.reads(A[w, 0:4])\n"
        "            T.writes(C[w, 0:4])\n"
        "            P = T.alloc_buffer((4,), \"int32\")\n"
        "            Q = T.alloc_buffer((4,), \"int32\")\n"
        "            for j in range(4):\n"
        "                with T.block(\"P\"):\n"
        "                    v = T.axis.spatial(4, j)\n"
        "                    P[v] = A[w, v]\n"
        "            for j in range(2):\n"
        "                with T.block(\"Q\"):\n"
        "                    v = T.axis.spatial(2, j)\n"
        "                    T.reads(P[v * 2:v * 2 + 2])\n"
        "                    T.writes(Q[v * 2:v * 2 + 2])\n"
        "                    Q[v * 2:v * 2 + 2] = P[v * 2:v * 2 + 2]\n"
        "            for j in range(4):\n"
        "                with T.block(\"C\"):\n"
        "                    v = T.axis.spatial(4, j)\n"
        "                    C[w, v] = Q[v]\n";
    Fix *x = *state;

    assert_true(expect_same_for(x, program, 0) > 2);
}

static void conditions_on_memory_compute_the_same(void **state)
{
    static const char program[] =
        HEAD "A: T.Buffer((64,), \"int32\"), D: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    for v in T.vectorized(32):\n"
             "        if D[v] < n:\n"
             "            D[v] = D[v] + 100\n"
             "            D[v + 32] = 64 // (A[v] + 1)\n"
             "        else:\n"
             "            D[v] = 2\n"
             "            if A[v] % 2 == 0:\n"
             "                D[v] = A[v] // n\n";
    Fix *x = *state;

    for (int n = 1; n <= 33; n += 4)
        assert_true(expect_same_for(x, program, n) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_guard_becomes_a_prefix_mask_of_loads_and_stores,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(
            an_else_gets_the_complement_and_divisors_are_1_in_lanes_switched_off, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(a_condition_that_reads_memory_is_asked_once,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(padding_becomes_a_select_of_a_masked_load,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(vectors_in_buffers_of_the_body_compute_the_same,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(both_arms_of_padding_are_masked, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_select_reads_both_arms, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(nested_conditions_conjoin, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_condition_that_does_not_depend_on_the_lane_stays,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(
            under_an_else_even_a_fixed_element_is_read_by_its_lanes_only, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(a_nested_vectorized_loop_becomes_serial, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_loop_whose_extent_depends_on_the_lane_is_scalarised, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(one_lane_is_a_scalar_and_no_lane_nothing, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            wide_loops_are_cut_into_four_machine_vectors_and_a_rest, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(only_the_statement_with_the_obstacle_is_scalarised,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_value_of_each_lane_keeps_its_users_together,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_let_takes_the_type_of_a_vector, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_buffer_of_the_body_gets_an_element_per_lane,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_buffer_of_the_body_stays_whole_where_a_statement_has_no_vector_form,
            fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(strides_and_general_indices_keep_their_form,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_while_loop_is_scalarised, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(calls_with_effects_are_scalarised, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            an_extent_that_is_not_known_gives_vectors_and_a_rest, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(tails_of_every_length_compute_the_same, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(loops_of_open_extents_compute_the_same, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(symbolic_bounds_of_every_value_compute_the_same,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(conditions_on_memory_compute_the_same, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
