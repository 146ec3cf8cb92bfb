/* test_printed - random programs under random schedules, printed as C and compiled with all
 * warnings as errors by every C compiler at hand: what they compute is what the start
 * version computes (FZ_CC=gcc fuzz_schedule runs more of it). Source: style 10;
 * lowering-and-codegen 10. */
#include "compiled_trials.h"

#include "codegen/printed.h"

static void check(const char *cc)
{
    if (!printed_has(cc)) {
        print_message("skip: there is no %s\n", cc);
        skip();
    }
    need_compiler();
    fz_print_for(cc);
    compiled_trials(cc, 23, 320);
    fz_print_for(NULL);
}

static void what_gcc_compiles_computes_the_same(void **state)
{
    (void)state;
    check("gcc");
}

static void what_clang_compiles_computes_the_same(void **state)
{
    (void)state;
    check("clang");
}

static int close_compiler(void **state)
{
    (void)state;
    fz_compiler_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_gcc_compiles_computes_the_same),
        cmocka_unit_test(what_clang_compiles_computes_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, close_compiler);
}
