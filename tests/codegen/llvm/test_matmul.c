/*
 * test_matmul - the first programs: a product of matrices by scalars and by vectors with
 * accumulators in registers.
 */
#include "run_llvm.h"

static const char naive[] =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((768,), \"float32\"), B: T.Buffer((1536,), \"float32\"), "
    "C: T.Buffer((512,), \"float32\")):\n"
    "    for i in range(16):\n"
    "        for j in range(32):\n"
    "            C[i * 32 + j] = T.float32(0)\n"
    "            for k in range(48):\n"
    "                C[i * 32 + j] = C[i * 32 + j] + A[i * 48 + k] * B[k * 32 + j]\n";

static const char vectors[] =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((768,), \"float32\"), B: T.Buffer((1536,), \"float32\"), "
    "C: T.Buffer((512,), \"float32\")):\n"
    "    for i in range(8):\n"
    "        acc = T.decl_buffer((64,), \"float32\", scope=\"local\")\n"
    "        acc[T.Ramp(0, 1, 32)] = T.Broadcast(T.float32(0), 32)\n"
    "        acc[T.Ramp(32, 1, 32)] = T.Broadcast(T.float32(0), 32)\n"
    "        for k in range(48):\n"
    "            acc[T.Ramp(0, 1, 32)] = acc[T.Ramp(0, 1, 32)] + "
    "T.Broadcast(A[i * 96 + k], 32) * B[T.Ramp(k * 32, 1, 32)]\n"
    "            acc[T.Ramp(32, 1, 32)] = acc[T.Ramp(32, 1, 32)] + "
    "T.Broadcast(A[i * 96 + k + 48], 32) * B[T.Ramp(k * 32, 1, 32)]\n"
    "        C[T.Ramp(i * 64, 1, 32)] = acc[T.Ramp(0, 1, 32)]\n"
    "        C[T.Ramp(i * 64 + 32, 1, 32)] = acc[T.Ramp(32, 1, 32)]\n";

static void naive_product_equals_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state, naive, EXACT);
    same_text(*state, naive, CLOSE);
}

static void product_by_vectors_equals_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state, vectors, EXACT);
    same_text(*state, vectors, CLOSE);
}

static void accumulators_stay_in_registers(void **state)
{
    Fix *x = *state;
    const ml_Func *f;
    ml_CodeOpts o = {0};
    ml_Text t = {0};

    NEED_LLVM();
    f = parse_func(x, vectors);
    assert_true(ml_code_text(rig.ll, x->cx, &f, 1, &o, "llvm-opt", &t));
    assert_non_null(strstr(ml_text_z(&t), "fmuladd.v32f32"));
    assert_null(strstr(ml_text_z(&t), "alloca"));
    ml_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(naive_product_equals_the_interpreter),
        TEST(product_by_vectors_equals_the_interpreter),
        TEST(accumulators_stay_in_registers),
    };

    return MAIN_TWICE(tests);
}
