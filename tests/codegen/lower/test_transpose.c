/*
 * test_transpose - which gathered vectors are turned in registers, and that they hold what
 * they held before.
 */
#include "lowering.h"

static const char *turned(Fix *x, const char *program)
{
    ml_Lower lo = lowering(x);

    return body_text(x, lowered(x, &lo, parse(x, program), "transpose"));
}

static void expect_turned(Fix *x, const char *program, bool want)
{
    const char *text = turned(x, program);

    if ((strstr(text, "T.Shuffle") != NULL) != want)
        fail_msg("%s\n%s", want ? "no rows are turned in" : "rows are turned in", text);
}

/* B[k, l] = A[l, k] and `more` for n iterations of k, vectors of `lanes`. */
static const char *copy(Fix *x, const char *type, int lanes, int n, const char *more)
{
    return ml_format(x->cx,
                     HEAD "A: T.Buffer((%d,), \"%s\"), B: T.Buffer((%d,), \"%s\")):\n"
                          "    for k in range(%d):\n"
                          "        B[T.Ramp(k * %d, 1, %d)] = A[T.Ramp(k, %d, %d)]%s\n",
                     lanes * (n + 9), type, lanes * n, type, n, lanes, lanes, n + 9, lanes,
                     more);
}

/* Copies, whose vectors are stored whole, and what is computed of a row, which is not. */
static void right_for_vectors_of(void **state, unsigned bits)
{
    static const char *const types[] = {"float32", "int8", "float64", "bfloat16",
                                        "float16"};
    static const int most[] = {8, 32, 4, 16, 16};

    lowering_bits = bits;
    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (int lanes = 2; lanes <= most[t]; lanes *= 2)
            for (int n = 4; n <= 37; n += n < 9 ? 1 : 7)
                for (int copies = lanes < 4; copies < 2; copies++) {
                    Fix *x;
                    const char *text;

                    fix_setup(state);
                    x = *state;
                    text = copy(
                        x, types[t], lanes, n,
                        copies ? ""
                               : ml_format(x->cx, " + A[T.Ramp(k, %d, %d)]", n + 9, lanes));
                    expect_turned(x, text, true);
                    expect_same_for(x, text, 0);
                    fix_teardown(state);
                }
    lowering_bits = 256;
}

static void every_width_and_number_of_iterations_is_right(void **state)
{
    right_for_vectors_of(state, 256);
    right_for_vectors_of(state, 512);
}

static void pairs_of_rows_become_whole_vectors(void **state)
{
    Fix *x = *state;

    expect_text(
        turned(x, HEAD "A: T.Buffer((32,), \"int16\"), B: T.Buffer((24,), "
                       "\"int16\")):\n"
                       "    for k in range(10):\n"
                       "        B[T.Ramp(k * 2 + 4, 1, 2)] = A[T.Ramp(k, 16, 2)]\n"),
        "    A_1 = T.decl_buffer((32,), \"int16\", data=A.data)\n"
        "    B_1 = T.decl_buffer((24,), \"int16\", data=B.data)\n"
        "    row: T.int16x8 = A_1[0:8]\n"
        "    row_1: T.int16x8 = A_1[16:24]\n"
        "    row_2: T.int16x8 = T.Shuffle([row, row_1], [0, 8, 1, 9, 2, 10, 3, 11])\n"
        "    row_3: T.int16x8 = T.Shuffle([row, row_1], [4, 12, 5, 13, 6, 14, 7, 15])\n"
        "    B_1[4:12] = row_2\n"
        "    B_1[12:20] = row_3\n"
        "    for k in range(2):\n"
        "        B_1[(k + 8) * 2 + 4:(k + 8) * 2 + 4 + 2] = A_1[k + 8:k + 8 + 32:16]");
}

static void rows_that_fill_a_wide_vector_are_permuted_at_once(void **state)
{
    Fix *x = *state;
    const char *text;

    lowering_bits = 512;
    text = turned(x, HEAD "A: T.Buffer((80,), \"int8\"), B: T.Buffer((64,), \"int8\")):\n"
                          "    for k in range(16):\n"
                          "        B[T.Ramp(k * 4, 1, 4)] = A[T.Ramp(k, 20, 4)]\n");
    lowering_bits = 256;
    assert_non_null(strstr(text, "    row_3: T.int8x16 = A_1[60:76]\n"));
    assert_non_null(strstr(text,
                           "    row_5: T.int8x64 = T.Shuffle([row_4], [0, 1, 2, 3, 16, "
                           "17, 18, 19, 32, "));
    assert_non_null(
        strstr(text, "    B_1[0:64] = T.Shuffle([row_5], [0, 4, 8, 12, 1, 5, "));
}

static void four_rows_are_turned_in_two_rounds(void **state)
{
    Fix *x = *state;

    expect_text(turned(x, HEAD "A: T.Buffer((40,), \"float32\"), B: T.Buffer((20,), "
                               "\"float32\")):\n"
                               "    for k in range(5):\n"
                               "        B[T.Ramp(k * 4, 1, 4)] = A[T.Ramp(k, 10, 4)]\n"),
                "    A_1 = T.decl_buffer((40,), data=A.data)\n"
                "    B_1 = T.decl_buffer((20,), data=B.data)\n"
                "    row: T.float32x4 = A_1[0:4]\n"
                "    row_1: T.float32x4 = A_1[10:14]\n"
                "    row_2: T.float32x4 = A_1[20:24]\n"
                "    row_3: T.float32x4 = A_1[30:34]\n"
                "    row_4: T.float32x4 = T.Shuffle([row, row_2], [0, 4, 1, 5])\n"
                "    row_5: T.float32x4 = T.Shuffle([row, row_2], [2, 6, 3, 7])\n"
                "    row_6: T.float32x4 = T.Shuffle([row_1, row_3], [0, 4, 1, 5])\n"
                "    row_7: T.float32x4 = T.Shuffle([row_1, row_3], [2, 6, 3, 7])\n"
                "    row_8: T.float32x4 = T.Shuffle([row_4, row_6], [0, 4, 1, 5])\n"
                "    row_9: T.float32x4 = T.Shuffle([row_4, row_6], [2, 6, 3, 7])\n"
                "    row_10: T.float32x4 = T.Shuffle([row_5, row_7], [0, 4, 1, 5])\n"
                "    row_11: T.float32x4 = T.Shuffle([row_5, row_7], [2, 6, 3, 7])\n"
                "    B_1[0:4] = row_8\n"
                "    B_1[4:8] = row_9\n"
                "    B_1[8:12] = row_10\n"
                "    B_1[12:16] = row_11\n"
                "    for k in range(1):\n"
                "        B_1[(k + 4) * 4:(k + 4) * 4 + 4] = A_1[k + 4:k + 4 + 40:10]");
}

static void what_is_computed_with_a_row_stays(void **state)
{
    Fix *x = *state;
    const char *text = copy(x, "float32", 8, 21,
                            " * T.Broadcast(A[k + 3], 8) + "
                            "T.Broadcast(T.Cast(\"float32\", k), 8)");

    expect_turned(x, text, true);
    expect_same_for(x, text, 0);
}

static void lanes_that_are_off_are_not_read(void **state)
{
    Fix *x = *state;
    const char *text =
        HEAD "A: T.Buffer((60,), \"float32\"), B: T.Buffer((96,), \"float32\")):\n"
             "    for k in range(12):\n"
             "        B.vstore([T.Ramp(k * 8, 1, 8)], A.vload([T.Ramp(k, 12, 8)], "
             "predicate=T.Ramp(0, 1, 8) < T.Broadcast(5, 8)), predicate=T.Ramp(0, 1, 8) < "
             "T.Broadcast(5, 8))\n";

    expect_turned(x, text, true);
    expect_same_for(x, text, 0);
}

static void what_is_read_under_a_condition_stays(void **state)
{
    Fix *x = *state;
    const char *text =
        HEAD "A: T.Buffer((40,), \"int32\"), B: T.Buffer((32,), \"int32\")):\n"
             "    for k in range(8):\n"
             "        B[T.Ramp(k * 4, 1, 4)] = T.if_then_else(1 <= k, "
             "A[T.Ramp(k - 1, 10, 4)], T.Broadcast(0, 4))\n";

    expect_turned(x, text, false);
    expect_same_for(x, text, 0);
}

static void what_is_no_walk_along_rows_stays(void **state)
{
    Fix *x = *state;
    static const char *const stay[] = {
        "B[T.Ramp(k * 8, 1, 8)] = A[T.Ramp(k * 8, 1, 8)]", /* contiguous */
        "B[T.Ramp(k * 8, 1, 8)] = A[T.Ramp(k, 3, 8)]",     /* a few wide loads do */
        "B[T.Ramp(k * 8, 1, 8)] = A[T.Ramp(k * 2, 32, 8)]",
        "B[T.Ramp(k * 8, 1, 8)] = A[T.Ramp(k // 2, 32, 8)]",
        "B[T.Ramp(k * 8, 1, 8)] = B[T.Ramp(k, 20, 8)]", /* written by others */
        "B[T.Ramp(k * 16, 1, 16)] = A[T.Ramp(k, 20, 16)]",
    };

    for (size_t k = 0; k < ML_COUNT(stay); k++)
        expect_turned(x,
                      ml_format(x->cx,
                                HEAD "A: T.Buffer((512,), \"float32\"), B: "
                                     "T.Buffer((512,), \"float32\")):\n"
                                     "    for k in range(16):\n"
                                     "        %s\n",
                                stay[k]),
                      false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_and_number_of_iterations_is_right),
        cmocka_unit_test_setup_teardown(rows_that_fill_a_wide_vector_are_permuted_at_once,
                                        fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(four_rows_are_turned_in_two_rounds, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(pairs_of_rows_become_whole_vectors, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(what_is_computed_with_a_row_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(lanes_that_are_off_are_not_read, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(what_is_read_under_a_condition_stays, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_walk_along_rows_stays, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
