/*
 * test_plan_storage - where allocations go, and which of them share memory.
 */
#include "lowering.h"

static void a_third_buffer_takes_the_memory_of_the_first(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
                     "    t = T.alloc_buffer((64,))\n"
                     "    u = T.alloc_buffer((64,))\n"
                     "    w = T.alloc_buffer((64,))\n"
                     "    for i in range(64):\n"
                     "        t[i] = A[i]\n"
                     "    for i in range(64):\n"
                     "        u[i] = t[63 - i]\n"
                     "    for i in range(64):\n"
                     "        w[i] = u[63 - i]\n"
                     "    for i in range(64):\n"
                     "        B[i] = w[i]\n",
                "plan_storage",
                "    t = T.decl_buffer((64,))\n"
                "    u = T.decl_buffer((64,))\n"
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), data=B.data)\n"
                "    for i in range(64):\n"
                "        t[i] = A_1[i]\n"
                "    for i in range(64):\n"
                "        u[i] = t[63 - i]\n"
                "    for i in range(64):\n"
                "        t[i] = u[63 - i]\n"
                "    for i in range(64):\n"
                "        B_1[i] = t[i]");
}

static void an_allocation_leaves_serial_loops(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
                     "    for o in range(4):\n"
                     "        with T.block(\"x\"):\n"
                     "            vo = T.axis.spatial(4, o)\n"
                     "            t = T.alloc_buffer((16,))\n"
                     "            for i in range(16):\n"
                     "                t[i] = A[vo * 16 + i]\n"
                     "            for i in range(16):\n"
                     "                B[vo * 16 + i] = t[15 - i]\n",
                "plan_storage",
                "    t = T.decl_buffer((16,))\n"
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), data=B.data)\n"
                "    for o in range(4):\n"
                "        for i in range(16):\n"
                "            t[i] = A_1[o * 16 + i]\n"
                "        for i in range(16):\n"
                "            B_1[o * 16 + i] = t[15 - i]");
}

static void the_body_of_a_parallel_loop_keeps_its_own(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
                     "    for o in T.parallel(4):\n"
                     "        with T.block(\"x\"):\n"
                     "            vo = T.axis.spatial(4, o)\n"
                     "            t = T.alloc_buffer((16,))\n"
                     "            for i in range(16):\n"
                     "                t[i] = A[vo * 16 + i]\n"
                     "            for i in range(16):\n"
                     "                B[vo * 16 + i] = t[15 - i]\n",
                "plan_storage",
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), data=B.data)\n"
                "    for o in T.parallel(4):\n"
                "        t = T.decl_buffer((16,))\n"
                "        for i in range(16):\n"
                "            t[i] = A_1[o * 16 + i]\n"
                "        for i in range(16):\n"
                "            B_1[o * 16 + i] = t[15 - i]");
}

static void a_size_that_is_not_constant_stays_in_the_loop(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"int32\"), n: T.int32):\n"
                     "    for i in range(2):\n"
                     "        with T.block(\"x\"):\n"
                     "            vi = T.axis.spatial(2, i)\n"
                     "            t = T.alloc_buffer((n,), \"int32\")\n"
                     "            for j in range(n):\n"
                     "                t[j] = vi\n"
                     "            A[vi] = t[n - 1]\n",
                "plan_storage",
                "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
                "    for i in range(2):\n"
                "        t = T.decl_buffer((n,), \"int32\")\n"
                "        for j in range(n):\n"
                "            t[j] = i\n"
                "        A_1[i] = t[n - 1]");
}

static void a_smaller_block_grows_for_a_larger_buffer_up_to_16_times(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
                     "    t = T.alloc_buffer((4,))\n"
                     "    u = T.alloc_buffer((16,))\n"
                     "    w = T.alloc_buffer((300,))\n"
                     "    for i in range(4):\n"
                     "        t[i] = A[i]\n"
                     "    for i in range(4):\n"
                     "        B[i] = t[i]\n"
                     "    for i in range(16):\n"
                     "        u[i] = A[i]\n"
                     "    for i in range(16):\n"
                     "        B[i] = u[i]\n"
                     "    for i in range(300):\n"
                     "        w[i] = A[i % 64]\n"
                     "    for i in range(64):\n"
                     "        B[i] = w[i * 4 + 47]\n",
                "plan_storage",
                "    t = T.decl_buffer((16,))\n"
                "    w = T.decl_buffer((300,))\n"
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), data=B.data)\n"
                "    for i in range(4):\n"
                "        t[i] = A_1[i]\n"
                "    for i in range(4):\n"
                "        B_1[i] = t[i]\n"
                "    for i in range(16):\n"
                "        t[i] = A_1[i]\n"
                "    for i in range(16):\n"
                "        B_1[i] = t[i]\n"
                "    for i in range(300):\n"
                "        w[i] = A_1[i % 64]\n"
                "    for i in range(64):\n"
                "        B_1[i] = w[i * 4 + 47]");
}

static void other_types_registers_and_scalars_do_not_share(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), "
                     "C: T.Buffer((64,), \"int32\")):\n"
                     "    t = T.alloc_buffer((16,))\n"
                     "    u = T.alloc_buffer((16,), \"int32\")\n"
                     "    s = T.alloc_buffer((1,))\n"
                     "    l = T.alloc_buffer((16,), scope=\"local\")\n"
                     "    for i in range(16):\n"
                     "        t[i] = A[i]\n"
                     "    for i in range(16):\n"
                     "        B[i] = t[i]\n"
                     "    for i in range(16):\n"
                     "        u[i] = i\n"
                     "    for i in range(16):\n"
                     "        C[i] = u[i]\n"
                     "    s[0] = A[0]\n"
                     "    B[0] = s[0]\n"
                     "    for i in range(16):\n"
                     "        l[i] = A[i]\n"
                     "    for i in range(16):\n"
                     "        B[i] = l[i]\n",
                "plan_storage",
                "    t = T.decl_buffer((16,))\n"
                "    u = T.decl_buffer((16,), \"int32\")\n"
                "    s = T.decl_buffer((1,))\n"
                "    l = T.decl_buffer((16,), scope=\"local\")\n"
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), data=B.data)\n"
                "    C_1 = T.decl_buffer((64,), \"int32\", data=C.data)\n"
                "    for i in range(16):\n"
                "        t[i] = A_1[i]\n"
                "    for i in range(16):\n"
                "        B_1[i] = t[i]\n"
                "    for i in range(16):\n"
                "        u[i] = i\n"
                "    for i in range(16):\n"
                "        C_1[i] = u[i]\n"
                "    s[0] = A_1[0]\n"
                "    B_1[0] = s[0]\n"
                "    for i in range(16):\n"
                "        l[i] = A_1[i]\n"
                "    for i in range(16):\n"
                "        B_1[i] = l[i]");
}

static void an_address_that_is_passed_on_keeps_its_buffer_apart(void **state)
{
    Fix *x = *state;

    expect_body(x,
                HEAD "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
                     "    t = T.alloc_buffer((64,))\n"
                     "    u = T.alloc_buffer((64,))\n"
                     "    for i in range(64):\n"
                     "        t[i] = A[i]\n"
                     "    T.evaluate(T.call_extern(\"int32\", \"foo\", "
                     "T.address_of(t[0])))\n"
                     "    for i in range(64):\n"
                     "        u[i] = A[i]\n"
                     "    for i in range(64):\n"
                     "        B[i] = u[i]\n",
                "plan_storage",
                "    t = T.decl_buffer((64,))\n"
                "    A_1 = T.decl_buffer((64,), data=A.data)\n"
                "    B_1 = T.decl_buffer((64,), data=B.data)\n"
                "    for i in range(64):\n"
                "        t[i] = A_1[i]\n"
                "    T.call_extern(\"int32\", \"foo\", T.address_of(t[0]))\n"
                "    for i in range(64):\n"
                "        t[i] = A_1[i]\n"
                "    for i in range(64):\n"
                "        B_1[i] = t[i]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_third_buffer_takes_the_memory_of_the_first,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(an_allocation_leaves_serial_loops, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(the_body_of_a_parallel_loop_keeps_its_own,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(a_size_that_is_not_constant_stays_in_the_loop,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(
            a_smaller_block_grows_for_a_larger_buffer_up_to_16_times, fix_setup,
            fix_teardown),
        cmocka_unit_test_setup_teardown(other_types_registers_and_scalars_do_not_share,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(an_address_that_is_passed_on_keeps_its_buffer_apart,
                                        fix_setup, fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
