/*
 * test_remove_noop - what does nothing goes, what has effects stays.
 */
#include "lowering.h"

static void loops_that_never_run_and_empty_bodies_go(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(0):\n"
                     "        A[i] = 1\n"
                     "    for i in range(4):\n"
                     "        for j in range(n):\n"
                     "            A[i] = A[i]\n",
                "remove_noop", "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)");
}

static void a_store_of_another_element_stays(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(4):\n"
                     "        A[i] = A[i + 1]\n",
                "remove_noop",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(4):\n"
                "        A_1[i] = A_1[i + 1]");
}

static void an_if_without_effect_goes_and_an_empty_else_too(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    if n > 3:\n"
                     "        A[2] = A[2]\n"
                     "    else:\n"
                     "        A[3] = A[3]\n"
                     "    if n > 4:\n"
                     "        A[2] = 1\n"
                     "    else:\n"
                     "        A[3] = A[3]\n",
                "remove_noop",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    if 4 < n:\n"
                "        A_1[2] = 1");
}

static void calls_in_conditions_stay(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    T.evaluate(n + 3)\n"
                     "    T.evaluate(T.call_extern(\"int32\", \"foo\", n))\n"
                     "    if T.call_extern(\"int32\", \"foo\", n) > 3:\n"
                     "        A[2] = A[2]\n",
                "remove_noop",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    T.call_extern(\"int32\", \"foo\", n)\n"
                "    T.evaluate(3 < T.call_extern(\"int32\", \"foo\", n))");
}

static void vectors_and_masked_stores_of_what_is_there_go(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for v in T.vectorized(4):\n"
                     "        A[v] = A[v]\n"
                     "    for v in T.vectorized(8):\n"
                     "        if v < n:\n"
                     "            A[v] = A[v]\n"
                     "    A[0] = 5\n",
                "remove_noop",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    A_1[0] = 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loops_that_never_run_and_empty_bodies_go, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_store_of_another_element_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(an_if_without_effect_goes_and_an_empty_else_too,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(calls_in_conditions_stay, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(vectors_and_masked_stores_of_what_is_there_go,
                                        fix_setup, fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
