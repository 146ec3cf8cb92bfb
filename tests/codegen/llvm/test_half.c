/* test_half - float16 on machines without instructions for it: the conversions are calls
 * that the linker finds. Source: lowering-and-codegen 6, 7.7. */
#include "run_llvm.h"

/* A machine of the first level, whatever this one is. */
static ml_Codegen *plain_machine(Fix *x)
{
    static const char json[] =
        "{\"cpu\":\"x86-64\",\"features\":\"+sse3,+ssse3,+sse4.1\",\"vector-bits\":128}";
    ml_Target t;

    assert_true(ml_target_parse(x->cx, ml_str(json), &t));
    return ml_code_open(x->cx, &t);
}

static void float16_is_converted_without_f16c(void **state)
{
    static const char program[] =
        "@T.prim_func\n"
        "def main(A: T.Buffer((16,), \"float16\"), B: T.Buffer((16,), \"float16\"), C: "
        "T.Buffer((16,), \"float64\")):\n"
        "    for i in range(16):\n"
        "        B[i] = A[i] * A[i] + T.float16(0.5)\n"
        "    for i in range(16):\n"
        "        A[i] = T.Cast(\"float16\", C[i])\n";
    Fix *x = *state;
    ml_Codegen *host = rig.ll;
    const ml_Func *f;
    ml_CodeOpts o = {.no_contract = true};

    NEED_LLVM();
    if (ml_target_host().registers == 32 && ml_target_host().vector_bits == 128) {
        print_message("skip: the machine is no x86\n");
        skip();
    }
    rig.ll = plain_machine(x);
    if (rig.ll == NULL)
        fail_msg("%s", error_text(x));
    f = parse_func(x, program);
    make_args(x, f);
    fill_random(x, 3);
    same_as_interpreter(x, f, &o, EXACT);
    ml_code_close(rig.ll);
    rig.ll = host;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(float16_is_converted_without_f16c),
    };

    return MAIN_TWICE(tests);
}
