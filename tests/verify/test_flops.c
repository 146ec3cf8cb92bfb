/* The estimate of operations: rows T10 and T11 of ir-and-analysis 6.7. */
#include "verify/verify_test.h"

#define I4  "    "
#define I8  I4 I4
#define I12 I8 I4
#define I16 I8 I8
#define V64 "A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\")"

static void expect(const char *params, const char *body, double flops)
{
    Prog g = prog_any(params, body);
    double have = ml_flops(g.cx, g.p.mod->funcs[0]);

    if (have < flops || have > flops)
        print_message("have %g, expected %g\n", have, flops);
    assert_true(have >= flops && have <= flops);
    prog_free(&g);
}

static void t10_a_matmul_counts_two_per_point_and_no_init(void **state)
{
    expect("A: T.Buffer((16, 4), \"float32\"), B: T.Buffer((4, 8), \"float32\"), C: "
           "T.Buffer((16, 8), \"float32\")",
           I4 "for i, j, k in T.grid(16, 8, 4):\n" I8 "with T.block(\"b\"):\n" I12
              "vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n" I12 "with T.init():\n" I16
              "C[vi, vj] = T.float32(0) + A[vi, vk]\n" I12
              "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n",
           1024);
}

static void t11_an_unknown_extent_counts_once(void **state)
{
    const char *head = "a: T.handle, n: T.int32";

    expect(head,
           I4 "A = T.match_buffer(a, (n,))\n" I4 "for i in range(n):\n" I8
              "A[i] = A[i] + A[i]\n",
           1);
    expect(head,
           I4 "A = T.match_buffer(a, (n,))\n" I4 "for i in range(n):\n" I8
              "A[i] = T.exp(A[i] + A[i])\n",
           1);
    expect(head,
           I4 "A = T.match_buffer(a, (n,))\n" I4 "for i in range(T.min(n, 8)):\n" I8
              "A[i] = A[i] + A[i]\n",
           8);
}

static void only_values_count(void **state)
{
    expect(V64, I4 "for i in range(32):\n" I8 "B[i + 32] = A[i + 1]\n", 0);
    expect(V64, I4 "for i in range(10):\n" I8 "B[i] = T.cast(i + 1, \"float32\")\n", 10);
    expect(V64, I4 "for i in range(10):\n" I8 "T.evaluate(i + 1)\n", 0);
    expect(V64, I4 "for i in range(0):\n" I8 "B[i] = A[i] * A[i]\n", 0);
}

static void the_dearer_arm_counts_per_dtype(void **state)
{
    expect(V64,
           I4 "for i in range(10):\n" I8 "if i < 3:\n" I12 "B[i] = A[i] * A[i] + A[i]\n" I8
              "else:\n" I12 "B[i] = A[i] + A[i]\n",
           20);
    expect(V64,
           I4 "for i in range(10):\n" I8 "if i < 3:\n" I12 "B[i] = A[i] * A[i] + A[i]\n" I8
              "else:\n" I12 "B[i] = T.cast(i * 3 + i, \"float32\")\n",
           40);
    expect(V64,
           I4 "for i in range(10):\n" I8 "B[i] = T.Select(i + 1 < 3, A[i] * A[i], A[i])\n",
           20);
}

static void an_attribute_overrides_the_count(void **state)
{
    expect(V64,
           I4 "T.func_attr({\"estimated_flops\": 77})\n" I4 "for i in range(64):\n" I8
              "B[i] = A[i] + A[i]\n",
           77);
}

static void extents_that_are_not_known_give_an_expression(void **state)
{
    static const struct {
        const char *body, *count; /* NULL: known; "": no expression */
    } cases[] = {
        {"    for i in range(n):\n        C[0] = C[0] + A[i]\n", "n"},
        {"    for i, j in T.grid(n, 4):\n        C[0] = C[0] + A[i] * A[j]\n", "n * 8"},
        {"    for i in range(8):\n        C[0] = C[0] + A[i]\n", NULL},
        {"    for i in range(n):\n        for j in range(i):\n"
         "            C[0] = C[0] + A[j]\n",
         ""},
        {"    for i in range(8):\n        if i < 4:\n            for j in range(n):\n"
         "                C[0] = C[0] + A[j]\n",
         ""},
    };

    (void)state;
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        Prog g =
            prog_any("A: T.Buffer((64,), \"float32\"), C: T.Buffer((64,), \"float32\"), "
                     "n: T.int32",
                     cases[k].body);
        const ml_Expr *e;
        ml_Text t = {0};
        bool open = ml_flops_symbolic(g.cx, g.p.mod->funcs[0], &e);

        assert_true(open == (cases[k].count != NULL));
        if (e)
            ml_print_expr(g.cx, &t, e, &(ml_PrintOpts){.spelling = -1, .plain = true});
        if (open)
            assert_string_equal(ml_text_z(&t), cases[k].count);
        ml_text_free(&t);
        prog_free(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_that_are_not_known_give_an_expression),
        cmocka_unit_test(t10_a_matmul_counts_two_per_point_and_no_init),
        cmocka_unit_test(t11_an_unknown_extent_counts_once),
        cmocka_unit_test(only_values_count),
        cmocka_unit_test(the_dearer_arm_counts_per_dtype),
        cmocka_unit_test(an_attribute_overrides_the_count),
    };

    return cmocka_run_group_tests_name("verify flops", tests, NULL, NULL);
}
