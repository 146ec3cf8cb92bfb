/*
 * test_unroll - loops as statements: on demand, by pragmas, and where the limits are.
 */
#include "lowering.h"

static void
a_loop_of_kind_unrolled_becomes_statements_with_variables_of_their_own(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\"), n: T.int32):\n"
                     "    for i in T.unroll(2):\n"
                     "        x: T.int32 = i * n\n"
                     "        for j in range(n):\n"
                     "            A[j] = x\n",
                "unroll",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    x: T.int32 = 0\n"
                "    for j in range(n):\n"
                "        A_1[j] = x\n"
                "    x_1: T.int32 = n\n"
                "    for j in range(n):\n"
                "        A_1[j] = x_1");
}

static void extents_0_and_1(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\"), B: T.Buffer((4,), \"int32\")):\n"
                     "    for i in T.unroll(0):\n"
                     "        A[i] = 3\n"
                     "    for i in T.unroll(1):\n"
                     "        A[i] = 4\n",
                "unroll",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    A_1[0] = 4");
}

static void a_pragma_unrolls_up_to_so_many_steps(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\"), B: T.Buffer((4,), \"int32\")):\n"
                     "    with T.attr(0, \"pragma_auto_unroll_max_step\", 8):\n"
                     "        for i in range(4):\n"
                     "            A[i] = i\n"
                     "            B[i] = i\n",
                "unroll",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((4,), \"int32\", data=B.data)\n"
                "    A_1[0] = 0\n"
                "    B_1[0] = 0\n"
                "    A_1[1] = 1\n"
                "    B_1[1] = 1\n"
                "    A_1[2] = 2\n"
                "    B_1[2] = 2\n"
                "    A_1[3] = 3\n"
                "    B_1[3] = 3");
}

static void a_pragma_leaves_what_has_more_steps(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\"), B: T.Buffer((4,), \"int32\")):\n"
                     "    with T.attr(0, \"pragma_auto_unroll_max_step\", 7):\n"
                     "        for i in range(4):\n"
                     "            A[i] = i\n"
                     "            B[i] = i\n",
                "unroll",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((4,), \"int32\", data=B.data)\n"
                "    for i in range(4):\n"
                "        A_1[i] = i\n"
                "        B_1[i] = i");
}

static void a_pragma_may_leave_the_copies_to_the_compiler(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\"), B: T.Buffer((4,), \"int32\")):\n"
                     "    with T.attr(0, \"pragma_auto_unroll_max_step\", 16):\n"
                     "        with T.attr(0, \"pragma_unroll_explicit\", 0):\n"
                     "            for i in range(4):\n"
                     "                A[i] = i\n"
                     "                B[i] = i\n",
                "unroll",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    B_1 = T.decl_buffer((4,), \"int32\", data=B.data)\n"
                "    for i in T.unroll(4):\n"
                "        A_1[i] = i\n"
                "        B_1[i] = i");
}

static void a_loop_around_a_loop_that_stays_is_not_unrolled_by_itself(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    with T.attr(0, \"pragma_auto_unroll_max_step\", 64):\n"
                     "        for i in range(4):\n"
                     "            for j in range(n):\n"
                     "                A[i * 16 + j] = i\n",
                "unroll",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i, j in T.grid(4, n):\n"
                "        A_1[i * 16 + j] = i");
}

static void a_nest_is_unrolled_from_the_inside_as_far_as_the_steps_go(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    with T.attr(0, \"pragma_auto_unroll_max_step\", 8):\n"
                     "        for i in range(4):\n"
                     "            for j in range(4):\n"
                     "                A[i * 16 + j] = i\n",
                "unroll",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(4):\n"
                "        A_1[i * 16] = i\n"
                "        A_1[i * 16 + 1] = i\n"
                "        A_1[i * 16 + 2] = i\n"
                "        A_1[i * 16 + 3] = i");
}

static void parallel_loops_are_not_unrolled_by_a_pragma(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((4,), \"int32\"), B: T.Buffer((4,), \"int32\")):\n"
                     "    with T.attr(0, \"pragma_auto_unroll_max_step\", 64):\n"
                     "        for i in T.parallel(4):\n"
                     "            A[i] = i\n",
                "unroll",
                "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                "    for i in T.parallel(4):\n"
                "        A_1[i] = i");
}

static void allocations_are_copied_with_the_body(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((8,), \"int32\"), n: T.int32):\n"
                     "    for i in T.unroll(2):\n"
                     "        with T.block(\"x\"):\n"
                     "            vi = T.axis.spatial(2, i)\n"
                     "            t = T.alloc_buffer((n,), \"int32\")\n"
                     "            for j in range(n):\n"
                     "                t[j] = vi\n"
                     "            A[vi] = t[n - 1]\n",
                "unroll",
                "    A_1 = T.decl_buffer((8,), \"int32\", data=A.data)\n"
                "    t = T.decl_buffer((n,), \"int32\")\n"
                "    for j in range(n):\n"
                "        t[j] = 0\n"
                "    A_1[0] = t[n - 1]\n"
                "    t_1 = T.decl_buffer((n,), \"int32\")\n"
                "    for j in range(n):\n"
                "        t_1[j] = 1\n"
                "    A_1[1] = t_1[n - 1]");
}

static void a_loop_of_an_extent_that_is_not_known_stays(void **state)
{
    Fix *x = *state;

    expect_body_and_note(x,
                         HEAD "A: T.Buffer((4,), \"int32\"), n: T.int32):\n"
                              "    for i in T.unroll(n):\n"
                              "        A[i] = i\n",
                         "unroll",
                         "    A_1 = T.decl_buffer((4,), \"int32\", data=A.data)\n"
                         "    for i in range(n):\n"
                         "        A_1[i] = i",
                         "not unrolled: loop i has the extent n, which is not constant");
}

static void a_loop_stays_where_copies_would_be_more_than_65536_statements(void **state)
{
    Fix *x = *state;
    ml_Lower lo = lowering(x);
    const ml_Func *f = parse(x, HEAD "A: T.Buffer((4,), \"int32\"), n: T.int32):\n"
                                     "    for i in T.unroll(300):\n"
                                     "        for j in T.unroll(300):\n"
                                     "            A[i % 4] = i + j\n");
    const char *text = body_text(x, lowered(x, &lo, f, "unroll"));

    assert_non_null(strstr(text, "for i in range(300):"));
    assert_null(strstr(text, "for j"));
    assert_true(has_note(&lo, "loop i would give 300 copies of 300 statements, more than "
                              "65536"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_loop_of_kind_unrolled_becomes_statements_with_variables_of_their_own,
            fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(extents_0_and_1, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_pragma_unrolls_up_to_so_many_steps, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_pragma_leaves_what_has_more_steps, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_pragma_may_leave_the_copies_to_the_compiler,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_loop_around_a_loop_that_stays_is_not_unrolled_by_itself, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_nest_is_unrolled_from_the_inside_as_far_as_the_steps_go, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(parallel_loops_are_not_unrolled_by_a_pragma,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(allocations_are_copied_with_the_body, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_loop_of_an_extent_that_is_not_known_stays,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_loop_stays_where_copies_would_be_more_than_65536_statements, fix_setup,
            fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
