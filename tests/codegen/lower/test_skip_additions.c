/*
 * test_skip_additions - which choices between an addend and 0 become conditions, and where they go.
 */
#include "lowering.h"

static void a_choice_leaves_the_loops_that_do_not_change_it(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD
                "A: T.Buffer((8,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
                "    for i in range(8):\n"
                "        for j in range(4):\n"
                "            A[i] = A[i] + T.if_then_else(2 < i, B[i * 8 + j - 20], 0)\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(8):\n"
                "        if 2 < i:\n"
                "            for j in range(4):\n"
                "                A_1[i] = A_1[i] + B_1[i * 8 + j - 20]");
}

static void of_two_tests_each_goes_as_far_as_it_can(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
                     "    for i in range(8):\n"
                     "        for j in range(4):\n"
                     "            for k in range(2):\n"
                     "                A[i] = A[i] + T.if_then_else(i < j and 2 < i, B[i * "
                     "8 + j + k], 0)\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(8):\n"
                "        if 2 < i:\n"
                "            for j in range(4):\n"
                "                if i < j:\n"
                "                    for k in range(2):\n"
                "                        A_1[i] = A_1[i] + B_1[i * 8 + j + k]");
}

static void a_choice_by_the_next_loop_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
                     "    for i in range(8):\n"
                     "        for j in range(4):\n"
                     "            A[i] = A[i] + T.if_then_else(1 < j, B[i * 8 + j], 0)\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i, j in T.grid(8, 4):\n"
                "        A_1[i] = A_1[i] + T.if_then_else(1 < j, B_1[i * 8 + j], 0)");
}

static void a_division_behind_another_test_stays_behind_it(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\"), n: T.int32):\n"
                     "    for i in range(8):\n"
                     "        if i < n and 64 // n > 2:\n"
                     "            A[i] = 2\n",
                "hoist_conditions",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    for i in range(8):\n"
                "        if i < n and 2 < 64 // n:\n"
                "            A_1[i] = 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_choice_leaves_the_loops_that_do_not_change_it,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(of_two_tests_each_goes_as_far_as_it_can, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_choice_by_the_next_loop_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_division_behind_another_test_stays_behind_it,
                                        fix_setup, fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
