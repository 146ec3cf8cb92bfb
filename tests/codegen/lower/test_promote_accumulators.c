/*
 * test_promote_accumulators - what a reduction adds to in registers.
 */
#include "lowering.h"

static void a_sum_in_memory_is_kept_in_a_register(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((16,), \"float32\"), C: T.Buffer((4,), \"float32\")):\n"
                     "    for i in range(4):\n"
                     "        for k in range(4):\n"
                     "            C[i] = C[i] + A[i * 4 + k]\n",
                "promote_accumulators",
                "    A_1 = T.decl_buffer((16,), data=A.data)\n"
                "    C_1 = T.decl_buffer((4,), data=C.data)\n"
                "    for i in range(4):\n"
                "        C_acc = T.decl_buffer((1,), scope=\"local\")\n"
                "        C_acc[0] = C_1[i]\n"
                "        for k in range(4):\n"
                "            C_acc[0] = C_acc[0] + A_1[i * 4 + k]\n"
                "        C_1[i] = C_acc[0]");
}

static void a_vector_of_sums_too(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
                     "T.int32):\n"
                     "    for k in range(8):\n"
                     "        for v in T.vectorized(8):\n"
                     "            C[v] = C[v] + A[k * 8 + v]\n",
                "promote_accumulators",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    C_1 = T.decl_buffer((8,), data=C.data)\n"
                "    C_acc = T.decl_buffer((8,), scope=\"local\")\n"
                "    C_acc[0:8] = C_1[0:8]\n"
                "    for k in range(8):\n"
                "        C_acc[0:8] = C_acc[0:8] + A_1[k * 8:k * 8 + 8]\n"
                "    C_1[0:8] = C_acc[0:8]");
}

static void a_masked_vector_is_loaded_and_stored_under_its_mask(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
                     "T.int32):\n"
                     "    for k in range(8):\n"
                     "        for v in T.vectorized(8):\n"
                     "            if v < n:\n"
                     "                C[v] = C[v] + A[k * 8 + v]\n",
                "promote_accumulators",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    C_1 = T.decl_buffer((8,), data=C.data)\n"
                "    if 0 < n:\n"
                "        C_acc = T.decl_buffer((8,), scope=\"local\")\n"
                "        C_acc[0:8] = C_1.vload([T.Ramp(0, 1, 8)], "
                "predicate=T.Ramp(0, 1, 8) < T.Broadcast(n, 8))\n"
                "        for k in range(8):\n"
                "            C_acc[0:8] = C_acc[0:8] + A_1.vload([T.Ramp(k * 8, "
                "1, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast(n, 8))\n"
                "        C_1.vstore([T.Ramp(0, 1, 8)], C_acc[0:8], "
                "predicate=T.Ramp(0, 1, 8) < T.Broadcast(n, 8))");
}

static void a_loop_that_may_not_run_is_left(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
                     "T.int32):\n"
                     "    for k in range(n):\n"
                     "        C[0] = C[0] + A[k]\n",
                "promote_accumulators",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    C_1 = T.decl_buffer((8,), data=C.data)\n"
                "    for k in range(n):\n"
                "        C_1[0] = C_1[0] + A_1[k]");
}

static void what_reads_another_element_or_moves_is_left(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
                     "T.int32):\n"
                     "    for k in range(8):\n"
                     "        C[0] = C[1] + A[k]\n"
                     "    for k in range(8):\n"
                     "        C[1] = C[1] + C[k]\n"
                     "    for k in range(8):\n"
                     "        C[k] = C[k] + A[k]\n",
                "promote_accumulators",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    C_1 = T.decl_buffer((8,), data=C.data)\n"
                "    for k in range(8):\n"
                "        C_1[0] = C_1[1] + A_1[k]\n"
                "    for k in range(8):\n"
                "        C_1[1] = C_1[1] + C_1[k]\n"
                "    for k in range(8):\n"
                "        C_1[k] = C_1[k] + A_1[k]");
}

static void a_parallel_loop_is_left(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
                     "T.int32):\n"
                     "    for k in T.parallel(8):\n"
                     "        C[0] = T.max(C[0], A[k])\n",
                "promote_accumulators",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    C_1 = T.decl_buffer((8,), data=C.data)\n"
                "    for k in T.parallel(8):\n"
                "        C_1[0] = T.max(C_1[0], A_1[k])");
}

static void loops_over_a_small_local_buffer_are_unrolled(void **state)
{
    Fix *x = *state;

    expect_body_and_note(
        x,
        HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
             "T.int32):\n"
             "    acc = T.alloc_buffer((3,), scope=\"local\")\n"
             "    for i in range(3):\n"
             "        acc[i] = T.float32(0)\n"
             "    for k in range(8):\n"
             "        for i in range(3):\n"
             "            acc[i] = acc[i] + A[k * 8 + i]\n"
             "    for i in range(3):\n"
             "        C[i] = acc[i]\n",
        "promote_accumulators",
        "    acc = T.decl_buffer((3,), scope=\"local\")\n"
        "    A_1 = T.decl_buffer((64,), data=A.data)\n"
        "    C_1 = T.decl_buffer((8,), data=C.data)\n"
        "    acc[0] = T.float32(0.0)\n"
        "    acc[1] = T.float32(0.0)\n"
        "    acc[2] = T.float32(0.0)\n"
        "    for k in range(8):\n"
        "        acc[0] = acc[0] + A_1[k * 8]\n"
        "        acc[1] = acc[1] + A_1[k * 8 + 1]\n"
        "        acc[2] = acc[2] + A_1[k * 8 + 2]\n"
        "    C_1[0] = acc[0]\n"
        "    C_1[1] = acc[1]\n"
        "    C_1[2] = acc[2]",
        "loop i indexes a buffer in registers: it is unrolled (3 times)");
}

static void not_more_than_64_copies(void **state)
{
    Fix *x = *state;

    expect_body_and_note(
        x,
        HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
             "T.int32):\n"
             "    acc = T.alloc_buffer((32,), scope=\"local\")\n"
             "    for i, j, k in T.grid(10, 11, 6):\n"
             "        acc[i + j + k] = A[k]\n"
             "    C[0] = acc[20]\n",
        "promote_accumulators",
        "    acc = T.decl_buffer((25,), scope=\"local\")\n"
        "    A_1 = T.decl_buffer((64,), data=A.data)\n"
        "    C_1 = T.decl_buffer((8,), data=C.data)\n"
        "    for i, j in T.grid(10, 11):\n"
        "        acc[i + j] = A_1[0]\n"
        "        acc[i + j + 1] = A_1[1]\n"
        "        acc[i + j + 2] = A_1[2]\n"
        "        acc[i + j + 3] = A_1[3]\n"
        "        acc[i + j + 4] = A_1[4]\n"
        "        acc[i + j + 5] = A_1[5]\n"
        "    C_1[0] = acc[20]",
        "loop k indexes a buffer in registers: it is unrolled (6 times)");
}

static void a_large_local_buffer_is_left(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), C: T.Buffer((8,), \"float32\"), n: "
                     "T.int32):\n"
                     "    acc = T.alloc_buffer((128,), scope=\"local\")\n"
                     "    for i in range(128):\n"
                     "        acc[i] = A[i % 64]\n"
                     "    C[0] = acc[100]\n",
                "promote_accumulators",
                "    acc = T.decl_buffer((128,), scope=\"local\")\n"
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    C_1 = T.decl_buffer((8,), data=C.data)\n"
                "    for i in range(128):\n"
                "        acc[i] = A_1[i % 64]\n"
                "    C_1[0] = acc[100]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sum_in_memory_is_kept_in_a_register, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_vector_of_sums_too, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_masked_vector_is_loaded_and_stored_under_its_mask,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_loop_that_may_not_run_is_left, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(what_reads_another_element_or_moves_is_left,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_parallel_loop_is_left, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(loops_over_a_small_local_buffer_are_unrolled,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(not_more_than_64_copies, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_large_local_buffer_is_left, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
