/*
 * test_loop_partition - loops cut where their guards begin and cease to hold.
 */
#include "lowering.h"

static void a_guarded_nest_runs_without_the_guard_and_then_its_tail(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    for a in range(5):\n"
                     "        for b in range(8):\n"
                     "            if T.likely(a * 8 + b < 37):\n"
                     "                P[a * 8 + b] = a\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a, b in T.grid(4, 8):\n"
                "        P_1[a * 8 + b] = a\n"
                "    for b in range(5):\n"
                "        P_1[32 + b] = 4");
}

static void a_vectorized_loop_is_left_whole(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    for a in range(5):\n"
                     "        for b in T.vectorized(8):\n"
                     "            if T.likely(a * 8 + b < 37):\n"
                     "                P[a * 8 + b] = a\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a in range(4):\n"
                "        for b in T.vectorized(8):\n"
                "            P_1[a * 8 + b] = a\n"
                "    for b in T.vectorized(8):\n"
                "        if 32 + b < 37:\n"
                "            P_1[32 + b] = 4");
}

static void a_parallel_loop_gets_both_forms_under_a_condition(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    for a in T.parallel(5):\n"
                     "        for b in range(8):\n"
                     "            if T.likely(a * 8 + b < 37):\n"
                     "                P[a * 8 + b] = a\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a in T.parallel(5):\n"
                "        if a < 4:\n"
                "            for b in range(8):\n"
                "                P_1[a * 8 + b] = a\n"
                "        else:\n"
                "            for b in range(5):\n"
                "                P_1[32 + b] = 4");
    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    for a in T.parallel(6):\n"
                     "        for b in range(8):\n"
                     "            if T.likely(a * 8 + b < 37):\n"
                     "                P[a * 8 + b] = a\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a in T.parallel(6):\n"
                "        if a < 4:\n"
                "            for b in range(8):\n"
                "                P_1[a * 8 + b] = a\n"
                "        else:\n"
                "            for b in range(T.min(T.max(37 - a * 8, 0), 8)):\n"
                "                P_1[a * 8 + b] = a");
}

static void a_symbolic_bound_gives_two_loops(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for a in range((n + 7) // 8):\n"
                     "        for b in range(8):\n"
                     "            if T.likely(a * 8 + b < n):\n"
                     "                P[a * 8 + b] = a\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((64,), \"int32\", data=P.data)\n"
                "    for a, b in T.grid(T.min(T.max(n // 8, 0), (n + 7) // 8), "
                "8):\n"
                "        P_1[a * 8 + b] = a\n"
                "    for a, b in T.grid(T.max((n + 7) // 8 - T.max(n // 8, 0), "
                "0), 8):\n"
                "        if (T.min(T.max(n // 8, 0), (n + 7) // 8) + a) * 8 + b "
                "< n:\n"
                "            P_1[(T.min(T.max(n // 8, 0), (n + 7) // 8) + a) * 8 "
                "+ b] = T.min(T.max(n // 8, 0), (n + 7) // 8) + a");
}

static void padding_has_a_begin_a_middle_and_an_end(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((32,), \"int32\"), X: T.Buffer((16,), \"int32\")):\n"
                     "    for a in range(24):\n"
                     "        P[a] = T.if_then_else(T.likely(1 <= a) and T.likely(a < "
                     "17), X[a - 1], 7)\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((32,), \"int32\", data=P.data)\n"
                "    X_1 = T.decl_buffer((16,), \"int32\", data=X.data)\n"
                "    P_1[0] = 7\n"
                "    for a in range(16):\n"
                "        P_1[1 + a] = X_1[1 + a - 1]\n"
                "    for a in range(7):\n"
                "        P_1[17 + a] = 7");
}

static void
a_bound_that_depends_on_the_loop_through_a_loop_inside_cuts_nothing(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((32,), \"int32\")):\n"
                     "    for a in range(4):\n"
                     "        for b in range(a // 2 + 1):\n"
                     "            if T.likely(b * 2 <= a):\n"
                     "                P[a * 4 + b] = 1\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((32,), \"int32\", data=P.data)\n"
                "    for a in range(4):\n"
                "        for b in range(a // 2 + 1):\n"
                "            P_1[a * 4 + b] = 1");
}

static void a_bound_that_is_bound_inside_cuts_nothing(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((32,), \"int32\"), X: T.Buffer((16,), \"int32\")):\n"
                     "    for a in range(4):\n"
                     "        for b in range(4):\n"
                     "            y: T.int32 = X[b]\n"
                     "            if T.likely(a + y < 3):\n"
                     "                P[a * 4 + b] = 1\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((32,), \"int32\", data=P.data)\n"
                "    X_1 = T.decl_buffer((16,), \"int32\", data=X.data)\n"
                "    for a, b in T.grid(4, 4):\n"
                "        y: T.int32 = X_1[b]\n"
                "        if a + y < 3:\n"
                "            P_1[a * 4 + b] = 1");
}

static void conditions_that_are_not_likely_stay(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    for a in range(4):\n"
                     "        for b in range(8):\n"
                     "            if T.likely(a * 8 + b < 37):\n"
                     "                P[a * 8 + b] = a\n"
                     "            if a * 8 + b < 30:\n"
                     "                P[a * 8 + b] = 5\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a, b in T.grid(4, 8):\n"
                "        P_1[a * 8 + b] = a\n"
                "        if a * 8 + b < 30:\n"
                "            P_1[a * 8 + b] = 5");
}

static void a_guard_that_never_holds_in_the_middle_is_only_unmarked(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    for a in range(8):\n"
                     "        if T.likely(a < 3) and T.likely(5 <= a):\n"
                     "            P[a] = 1\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a in range(8):\n"
                "        if a < 3 and 5 <= a:\n"
                "            P_1[a] = 1");
}

static void a_hint_goes_and_an_else_stays_at_the_end(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "P: T.Buffer((37,), \"int32\")):\n"
                     "    with T.attr(0, \"pragma_loop_partition_hint\", 1):\n"
                     "        for a in range(10):\n"
                     "            if T.likely(a < 7):\n"
                     "                P[a] = 1\n"
                     "            else:\n"
                     "                P[a] = 2\n",
                "loop_partition",
                "    P_1 = T.decl_buffer((37,), \"int32\", data=P.data)\n"
                "    for a in range(7):\n"
                "        P_1[a] = 1\n"
                "    for a in range(3):\n"
                "        P_1[7 + a] = 2");
}

static void below_a_hint_what_is_chosen_by_a_condition_is_cut_too(void **state)
{
    Fix *x = *state;
    const char *text = HEAD
        "P: T.Buffer((40,), \"int32\"), A: T.Buffer((30,), \"int32\")):\n"
        "    with T.attr(0, \"pragma_loop_partition_hint\", 1):\n"
        "        for a in T.parallel(3):\n"
        "            for b in T.unroll(16):\n"
        "                if T.likely(a * 16 + b < 40):\n"
        "                    P[a * 16 + b] = T.if_then_else(a * 16 + b < 30, A[a * 16 + "
        "b], 0)\n";

    expect_body(x, text, "loop_partition",
                "    P_1 = T.decl_buffer((40,), \"int32\", data=P.data)\n"
                "    A_1 = T.decl_buffer((30,), \"int32\", data=A.data)\n"
                "    for a in T.parallel(3):\n"
                "        if a < 1:\n"
                "            for b in T.unroll(16):\n"
                "                P_1[a * 16 + b] = A_1[a * 16 + b]\n"
                "        else:\n"
                "            for b in T.unroll(16):\n"
                "                if a * 16 + b < 40:\n"
                "                    P_1[a * 16 + b] = T.if_then_else(a * 16 + b < 30, "
                "A_1[a * 16 + b], 0)");
    expect_same_for(x, text, 0);
}

static void guards_of_every_length_compute_the_same(void **state)
{
    static const char program[] =
        HEAD "P: T.Buffer((64,), \"int32\"), A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
             "    for a in range(5):\n"
             "        for b in range(7):\n"
             "            if T.likely(a * 7 + b < n) and T.likely(3 <= a + b):\n"
             "                P[a * 7 + b] = A[a * 7 + b]\n"
             "    for c in T.parallel((n + 3) // 4):\n"
             "        for d in range(4):\n"
             "            if T.likely(c * 4 + d < n):\n"
             "                P[c * 4 + d] = P[c * 4 + d] + 1\n";
    Fix *x = *state;

    for (int n = 0; n <= 36; n++)
        assert_true(expect_same_for(x, program, n) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_guarded_nest_runs_without_the_guard_and_then_its_tail, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(a_vectorized_loop_is_left_whole, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(a_parallel_loop_gets_both_forms_under_a_condition,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_symbolic_bound_gives_two_loops, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(padding_has_a_begin_a_middle_and_an_end, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_bound_that_depends_on_the_loop_through_a_loop_inside_cuts_nothing, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(a_bound_that_is_bound_inside_cuts_nothing,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(conditions_that_are_not_likely_stay, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_guard_that_never_holds_in_the_middle_is_only_unmarked, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(a_hint_goes_and_an_else_stays_at_the_end, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(
            below_a_hint_what_is_chosen_by_a_condition_is_cut_too, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(guards_of_every_length_compute_the_same, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
