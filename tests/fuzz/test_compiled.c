/* test_compiled - random programs under random schedules as machine code: what they compute
 * is what the start version computes (fuzz_schedule runs more of it). Source: style 10. */
#include "compiled_trials.h"

static void compiled_versions_compute_what_programs_compute(void **state)
{
    need_compiler();
    compiled_trials("LLVM", 11, 1000);
}

static const char *compile(const char *text, ml_RunArg *args, uint32_t n, FzCompile *c,
                           bool *ran)
{
    *c = (FzCompile){
        .cx = ml_ctx_new(0), .text = text, .pick = 1, .args = args, .n_args = n};
    return fz_compile(c, ran);
}

/* Programs that do what compiled code must never do; the next one runs as if nothing had
 * happened. */
static void a_program_that_crashes_is_told_and_the_next_one_runs(void **state)
{
    static const char good[] = "@T.prim_func\n"
                               "def main(A: T.Buffer((8,), \"int32\")):\n"
                               "    for i in range(8):\n"
                               "        A[i] = i\n";
    static const char outside[] = "@T.prim_func\n"
                                  "def main(A: T.Buffer((8,), \"int32\")):\n"
                                  "    for i in range(20000):\n"
                                  "        A[i] = i\n";
    static const char beside[] = "@T.prim_func\n"
                                 "def main(A: T.Buffer((8,), \"int32\")):\n"
                                 "    A[-1] = 3\n"
                                 "    A[8] = 3\n";
    ml_Ctx *cx = ml_ctx_new(0);
    int64_t shape[1] = {8};
    ml_RunArg arg = {.tensor = ml_tensor_new(cx, ML_DT_I32, shape, 1)};
    FzCompile c;
    bool ran;

    need_compiler();
    for (int round = 0; round < 2; round++) {
        assert_null(compile(good, &arg, 1, &c, &ran));
        assert_true(ran);
        assert_int_equal(ml_tensor_get_int(arg.tensor, 7), 7);
        ml_ctx_unref(c.cx);
        assert_string_equal(compile(outside, &arg, 1, &c, &ran), "compiled-crash");
        assert_non_null(strstr(ml_text_z(&c.detail), "of A"));
        assert_false(ran);
        ml_text_free(&c.detail);
        ml_ctx_unref(c.cx);
        /* Where data lies in the middle of a page nothing faults, but it is seen. */
        do {
            c.pick = c.pick % 100 + 1;
        } while (fz_code(c.pick).place != FZ_NEAR_END);
        c = (FzCompile){
            .cx = ml_ctx_new(0), .text = beside, .pick = c.pick, .args = &arg, .n_args = 1};
        assert_string_equal(fz_compile(&c, &ran), "compiled-beside");
        ml_text_free(&c.detail);
        ml_ctx_unref(c.cx);
    }
    ml_tensor_free(arg.tensor);
    ml_ctx_unref(cx);
}

static int close_compiler(void **state)
{
    fz_compiler_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_crashes_is_told_and_the_next_one_runs),
        cmocka_unit_test(compiled_versions_compute_what_programs_compute),
    };

    return cmocka_run_group_tests(tests, NULL, close_compiler);
}
