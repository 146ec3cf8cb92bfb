/*
 * test_lower_intrinsics - floor divisions in the forms that machines have.
 */
#include "lowering.h"

static void powers_of_two_become_shifts_and_masks(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for i in range(64):\n"
                     "        B[i] = A[i] // 8 + A[i] % 8\n",
                "lower_intrinsics",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(64):\n"
                "        B_1[i] = T.shift_right(A_1[i], 3) + "
                "T.bitwise_and(A_1[i], 7)");
}

static void numbers_that_are_not_negative_are_divided_plainly(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for i in range(64):\n"
                     "        B[i] = i // 3 + i % 3 + 64 // (i + 2)\n",
                "lower_intrinsics",
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(64):\n"
                "        B_1[i] = T.Div(i, 3) + T.Div(64, i + 2) + T.truncmod(i, "
                "3)");
}

static void the_rest_keeps_its_floor_division(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for i in range(64):\n"
                     "        B[i] = A[i] // 3 + A[i] % 3 + i // n + A[i] % A[63 - i] "
                     "+ A[i] // -4 + A[i] // 1\n",
                "lower_intrinsics",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    for i in range(64):\n"
                "        B_1[i] = A_1[i] // 3 + A_1[i] % 3 + i // n + A_1[i] % "
                "A_1[63 - i] + A_1[i] // -4 + A_1[i]");
}

static void ramps_are_looked_into(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                     "T.int32):\n"
                     "    for v in T.vectorized(8):\n"
                     "        B[v] = A[v] // 4 + v // 3 + A[v // 3] + (v - 4) // 3\n",
                "lower_intrinsics",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
                "    B_1[0:8] = T.call_intrin(\"int32x8\", \"tir.shift_right\", "
                "A_1[0:8], T.Broadcast(2, 8)) + T.Div(T.Ramp(0, 1, 8), "
                "T.Broadcast(3, 8)) + A_1[T.Div(T.Ramp(0, 1, 8), T.Broadcast(3, 8))] + "
                "T.Ramp(-4, 1, 8) // T.Broadcast(3, 8)");
}

static void unsigned_numbers_are_never_negative(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"uint8\"), B: T.Buffer((64,), \"uint8\")):\n"
                     "    for i in range(64):\n"
                     "        B[i] = A[i] // T.uint8(8) + A[i] % T.uint8(3)\n",
                "lower_intrinsics",
                "    A_1 = T.decl_buffer((64,), \"uint8\", data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), \"uint8\", data=B.data)\n"
                "    for i in range(64):\n"
                "        B_1[i] = T.shift_right(A_1[i], T.uint8(3)) + "
                "T.truncmod(A_1[i], T.uint8(3))");
}

static void so_in_int64(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "D: T.Buffer((64,), \"int64\"), n: T.int64):\n"
                     "    for i in range(64):\n"
                     "        D[i] = D[i] // T.int64(8) + D[i] % n\n",
                "lower_intrinsics",
                "    D_1 = T.decl_buffer((64,), \"int64\", data=D.data)\n"
                "    for i in range(64):\n"
                "        D_1[i] = T.shift_right(D_1[i], T.int64(3)) + D_1[i] % n");
}

static void divisions_of_both_signs_give_the_same_numbers(void **state)
{
    static const char program[] = HEAD
        "A: T.Buffer((64,), \"int32\"), x: T.int32):\n"
        "    for i in range(64):\n"
        "        A[i] = (i - 32) // 8 * 1000 + (i - 32) % 8 + (i - 32) // x * 50 +\\\n"
        "            (i - 32) % x + (A[i] - 20) // 5 + (A[i] - 20) % 5 + i // 7 + i % 7\n"
        "    for v in T.vectorized(16):\n"
        "        A[v] = (v - 8) // 3 + (v - 8) % 3 + (v - 8) // 4 + (v - 8) % 4\n";
    Fix *x = *state;

    for (int n = -5; n <= 5; n++)
        if (n)
            assert_true(expect_same_for(x, program, n) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(powers_of_two_become_shifts_and_masks, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(numbers_that_are_not_negative_are_divided_plainly,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(the_rest_keeps_its_floor_division, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(ramps_are_looked_into, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(unsigned_numbers_are_never_negative, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(so_in_int64, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(divisions_of_both_signs_give_the_same_numbers,
                                        fix_setup, fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
