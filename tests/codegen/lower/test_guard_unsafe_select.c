/*
 * test_guard_unsafe_select - selects that would read too much become conditional.
 */
#include "lowering.h"

static void a_select_that_loads_becomes_conditional(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for i in range(64):\n"
                     "        B[i] = T.Select(i < n, A[i], 0)\n",
                "guard_unsafe_select",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(64):\n"
                "        B_1[i] = T.if_then_else(i < n, A_1[i], 0)");
}

static void a_select_of_numbers_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for i in range(64):\n"
                     "        B[i] = T.Select(i < n, i, 0)\n"
                     "    B[0] = T.Select(A[0] < 3, 1, 2)\n",
                "guard_unsafe_select",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(64):\n"
                "        B_1[i] = T.Select(i < n, i, 0)\n"
                "    B_1[0] = T.Select(A_1[0] < 3, 1, 2)");
}

static void nested_ones_are_seen(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    B[0] = T.Select(n < 3, T.Select(n < 2, A[1], 3), 4) + "
                     "T.Select(n < 5, 1, T.call_extern(\"int32\", \"foo\", n))\n",
                "guard_unsafe_select",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    B_1[0] = T.if_then_else(n < 3, T.if_then_else(n < 2, "
                "A_1[1], 3), 4) + T.if_then_else(n < 5, 1, "
                "T.call_extern(\"int32\", \"foo\", n))");
}

static void vectors_stay(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for v in T.vectorized(8):\n"
                     "        B[v] = T.Select(v < n, A[v], 0)\n",
                "guard_unsafe_select",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    B_1[0:8] = T.Select(T.Ramp(0, 1, 8) < T.Broadcast(n, 8), "
                "A_1[0:8], T.Broadcast(0, 8))");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_select_that_loads_becomes_conditional, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_select_of_numbers_stays, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(nested_ones_are_seen, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(vectors_stay, fix_setup, fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
