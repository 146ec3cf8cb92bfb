/*
 * test_renormalize - divisions in the forms that share work.
 */
#include "lowering.h"

static void a_quotient_of_a_remainder_becomes_a_remainder_of_a_quotient(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\"), x: T.int32):\n"
                     "    A[0] = x % 64 // 8\n"
                     "    A[1] = x % 64 // 8 % 64 // 4\n",
                "renormalize",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    A_1[0] = x // 8 % 8\n"
                "    A_1[1] = x // 32 % 2");
}

static void what_does_not_divide_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\"), x: T.int32):\n"
                     "    A[0] = x % 60 // 8\n"
                     "    A[1] = x % 64\n"
                     "    A[2] = x // 8\n",
                "renormalize",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    A_1[0] = x % 60 // 8\n"
                "    A_1[1] = x % 64\n"
                "    A_1[2] = x // 8");
}

static void wide_indices_too(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int64\"), x: T.int64):\n"
                     "    A[0] = x % T.int64(64) // T.int64(8)\n",
                "renormalize",
                "    A_1 = T.decl_buffer((8,), \"int64\", data=A.data)\n"
                "    A_1[0] = x // T.int64(8) % T.int64(8)");
}

static void both_forms_give_the_same_numbers(void **state)
{
    static const char program[] =
        HEAD "A: T.Buffer((64,), \"int32\"), x: T.int32):\n"
             "    for i in range(64):\n"
             "        A[i] = (i - 32 + x) % 24 // 4 + (x - i) % 6 // 3\n";
    Fix *x = *state;

    for (int n = -3; n <= 3; n++)
        assert_true(expect_same_for(x, program, n) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_quotient_of_a_remainder_becomes_a_remainder_of_a_quotient, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_divide_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(wide_indices_too, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(both_forms_give_the_same_numbers, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
