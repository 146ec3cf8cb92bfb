/*
 * test_hoist_conditions - which conditions leave loops, and which stay.
 */
#include "lowering.h"

static void a_condition_leaves_all_loops_it_does_not_depend_on(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(4):\n"
                     "        for j in range(4):\n"
                     "            if n > 3:\n"
                     "                A[i * 4 + j] = 1\n"
                     "            else:\n"
                     "                A[i * 4 + j] = 2\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    if 3 < n:\n"
                "        for i, j in T.grid(4, 4):\n"
                "            A_1[i * 4 + j] = 1\n"
                "    else:\n"
                "        for i, j in T.grid(4, 4):\n"
                "            A_1[i * 4 + j] = 2");
}

static void it_stops_at_the_loop_it_depends_on(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(4):\n"
                     "        for j in range(4):\n"
                     "            if n > i:\n"
                     "                A[i * 4 + j] = 1\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(4):\n"
                "        if i < n:\n"
                "            for j in range(4):\n"
                "                A_1[i * 4 + j] = 1");
}

static void a_condition_that_reads_memory_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(4):\n"
                     "        if A[60] > 3:\n"
                     "            A[i] = 1\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(4):\n"
                "        if 3 < A_1[60]:\n"
                "            A_1[i] = 1");
}

static void a_condition_with_a_sibling_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(4):\n"
                     "        A[i] = 3\n"
                     "        if n > 3:\n"
                     "            A[i + 8] = 2\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(4):\n"
                "        A_1[i] = 3\n"
                "        if 3 < n:\n"
                "            A_1[i + 8] = 2");
}

static void a_parallel_loop_keeps_its_condition(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in T.parallel(4):\n"
                     "        if n > 2:\n"
                     "            A[i] = 2\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in T.parallel(4):\n"
                "        if 2 < n:\n"
                "            A_1[i] = 2");
}

static void a_division_that_a_loop_of_no_iterations_avoids_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(n):\n"
                     "        if 64 // n > 2:\n"
                     "            A[i] = 2\n"
                     "    for i in range(3):\n"
                     "        if 64 // n > 2:\n"
                     "            A[i] = 2\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(n):\n"
                "        if 2 < 64 // n:\n"
                "            A_1[i] = 2\n"
                "    if 2 < 64 // n:\n"
                "        for i in range(3):\n"
                "            A_1[i] = 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_condition_leaves_all_loops_it_does_not_depend_on,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(it_stops_at_the_loop_it_depends_on, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_condition_that_reads_memory_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_condition_with_a_sibling_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_parallel_loop_keeps_its_condition, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_division_that_a_loop_of_no_iterations_avoids_stays, fix_setup, fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
