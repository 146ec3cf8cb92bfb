/*
 * test_carry_values - what the next iteration loads stays in a register, where it is the
 * element just stored and nothing else.
 */
#include "lowering.h"

#define TWO(n)                                                                             \
    HEAD "X: T.Buffer((" #n ",), \"float32\"), Y: T.Buffer((" #n ",), \"float32\")):\n"

static void a_running_sum_is_one_addition_an_iteration(void **state)
{
    expect_body(
        *state,
        TWO(8) "    for j in range(8):\n"
               "        Y[j] = T.if_then_else(j > 0, Y[j - 1], T.float32(0)) + X[j]\n",
        "carry_values",
        "    X_1 = T.decl_buffer((8,), data=X.data)\n"
        "    Y_1 = T.decl_buffer((8,), data=Y.data)\n"
        "    Y_last = T.decl_buffer((1,), scope=\"local\")\n"
        "    Y_last[0] = T.float32(0.0)\n"
        "    for j in range(8):\n"
        "        Y_last[0] = Y_last[0] + X_1[j]\n"
        "        Y_1[j] = Y_last[0]");
}

static size_t carried(Fix *x, const char *program)
{
    ml_Lower lo = lowering(x);

    return strstr(body_text(x, lowered(x, &lo, parse(x, program), "carry_values")),
                  "_last") != NULL;
}

static void recurrences_compute_the_same(void **state)
{
    static const char *const programs[] = {
        /* from before the loop, without a condition */
        TWO(16) "    Y[0] = X[0]\n"
                "    for j in range(15):\n"
                "        Y[j + 1] = Y[j] * T.float32(0.5) + X[j + 1]\n",
        /* upwards by two, and from what the condition says */
        TWO(16) "    for j in range(8):\n"
                "        Y[j * 2] = T.if_then_else(0 < j, Y[j * 2 - 2], X[3]) - X[j]\n",
        /* a condition that also fails later stays */
        TWO(16) "    for j in range(16):\n"
                "        Y[j] = T.if_then_else(j % 4 > 0, Y[j - 1], T.float32(1)) + X[j]\n",
        /* the load twice, once with more around it */
        TWO(16) "    for j in range(16):\n"
                "        Y[j] = T.if_then_else(j > 0, Y[j - 1] * X[j] + Y[j - 1], X[0])\n",
        TWO(16) "    for j in range(16):\n"
                "        Y[j] = T.if_then_else(j > 0, Y[j - 1], T.float32(2)) + "
                "T.if_then_else(j > 0, Y[j - 1], T.float32(3))\n",
        /* downwards */
        TWO(16) "    Y[15] = X[1]\n"
                "    for j in range(15):\n"
                "        Y[14 - j] = Y[15 - j] + X[j]\n",
        /* what comes after it is loaded */
        TWO(16) "    for j in range(14):\n"
                "        Y[j + 1] = Y[j] + Y[j + 2]\n",
        /* rows by turns, and steps of each one after the other */
        TWO(64) "    for j in range(16):\n"
                "        Y[j] = T.if_then_else(j > 0, Y[j - 1], X[0]) + X[j]\n"
                "        Y[j + 16] = T.if_then_else(j > 0, Y[j + 15], X[1]) + X[j + 16]\n"
                "        Y[j + 32] = T.if_then_else(j > 0, Y[j + 31] + Y[j - 1], X[2])\n",
        TWO(64) "    for j in range(8):\n"
                "        Y[j * 2] = T.if_then_else(j > 0, Y[j * 2 - 1], X[0]) + X[j]\n"
                "        Y[j * 2 + 32] = T.if_then_else(j > 0, Y[j * 2 + 31], X[0]) * "
                "X[j]\n"
                "        Y[j * 2 + 1] = Y[j * 2] + X[j + 1]\n"
                "        Y[j * 2 + 33] = Y[j * 2 + 32] + Y[j * 2 + 1]\n",
        /* one element for two, and one that is begun from what was there */
        TWO(64) "    Y[0] = X[5]\n"
                "    for j in range(16):\n"
                "        Y[j + 32] = Y[j] + T.if_then_else(j > 0, Y[j + 31], Y[0])\n"
                "        Y[j + 1] = Y[j] + X[j]\n",
        /* rows */
        TWO(64) "    for i, j in T.grid(4, 16):\n"
                "        Y[i * 16 + j] = T.if_then_else(j > 0, Y[i * 16 + j - 1], "
                "T.float32(0)) + X[i * 16 + j]\n",
    };

    for (size_t k = 0; k < ML_COUNT(programs); k++) {
        assert_true(carried(*state, programs[k]));
        assert_true(expect_same_for(*state, programs[k], 0) > 2);
    }
}

static void what_is_not_the_element_just_stored_is_loaded(void **state)
{
    static const char *const programs[] = {
        TWO(16) "    for j in range(14):\n"
                "        Y[j + 2] = Y[j] + X[j]\n",
        TWO(16) "    for j in range(15):\n"
                "        Y[j] = Y[j + 1] + X[j]\n",
        /* overwritten, perhaps, before it is loaded */
        TWO(64) "    for j in range(16):\n"
                "        Y[j + 1] = Y[j] + X[j]\n"
                "        Y[j * 3 % 32] = X[j]\n",
        TWO(16) "    for j in range(8):\n"
                "        Y[j] = Y[j] + X[j]\n",
        TWO(16) "    for j in range(15):\n" /* a load without a condition, too */
                "        Y[j + 1] = T.if_then_else(j > 0, Y[j], X[0]) + Y[j]\n",
    };

    for (size_t k = 0; k + 1 < ML_COUNT(programs); k++)
        assert_false(carried(*state, programs[k]));
    for (size_t k = 0; k < ML_COUNT(programs); k++)
        assert_true(expect_same_for(*state, programs[k], 0) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_running_sum_is_one_addition_an_iteration),
        TEST(recurrences_compute_the_same),
        TEST(what_is_not_the_element_just_stored_is_loaded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
