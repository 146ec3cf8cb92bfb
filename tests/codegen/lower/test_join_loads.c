/*
 * test_join_loads - lanes loaded one after the other are one load, and what is not stays.
 */
#include "lowering.h"

#define WORD(at) "T.reinterpret(\"int32\", A[" at "])"

static const char *joined(Fix *x, const char *statement)
{
    ml_Lower lo = lowering(x);
    const char *text =
        ml_format(x->cx,
                  HEAD "A: T.Buffer((64,), \"int8\"), B: T.Buffer((16,), \"int32\"), "
                       "D: T.Buffer((16,), \"int8\")):\n"
                       "    for k in range(2):\n"
                       "        %s\n",
                  statement);

    expect_same_for(x, text, 0);
    return body_text(x, lowered(x, &lo, parse(x, text), "join_loads"));
}

static void words_of_bytes_become_one_load(void **state)
{
    Fix *x = *state;
    const char *text =
        joined(x, "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("k * 8:k * 8 + 4") ", " WORD(
                      "k * 8 + 4:k * 8 + 8") "], [0, 1])");

    assert_non_null(strstr(text, "T.reinterpret(\"int32x2\", A_1[k * 8:k * 8 + 8])"));
    text = joined(x, "D[k * 4:k * 4 + 4] = T.Shuffle([A[k], A[k + 1], A[k + 2], A[k + 3]], "
                     "[0, 1, 2, 3])");
    assert_non_null(strstr(text, "= A_1[k:k + 4]"));
}

static void other_orders_places_and_numbers_stay(void **state)
{
    static const char *const stay[] = {
        "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("0:4") ", " WORD("4:8") "], [1, 0])",
        "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("0:4") ", " WORD("5:9") "], [0, 1])",
        "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("4:8") ", " WORD("0:4") "], [0, 1])",
        "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("0:7:2") ", " WORD("8:15:2") "], [0, 1])",
        "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("0:4") ", " WORD("4:8") ", " WORD(
            "8:12") "], [0, 1])",
        "B[k * 2:k * 2 + 2] = T.Shuffle([" WORD("0:4") ", T.int32(3)], [0, 1])",
        "D[k * 2:k * 2 + 2] = T.Shuffle([A[0], D[1]], [0, 1])",
    };
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(stay); k++)
        if (!strstr(joined(x, stay[k]), "T.Shuffle"))
            fail_msg("joined: %s", stay[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_of_bytes_become_one_load, fix_setup,
                                        fix_teardown),
        cmocka_unit_test_setup_teardown(other_orders_places_and_numbers_stay, fix_setup,
                                        fix_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
