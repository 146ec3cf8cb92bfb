/* test_printed - random programs under random schedules, printed as C and compiled with all
 * warnings as errors by every C compiler at hand: what they compute is what the start
 * version computes (FZ_CC=gcc fuzz_schedule runs more of it). Source: style 10;
 * lowering-and-codegen 10. */
#include "compiled.h"

#include "codegen/printed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static void check(const char *cc)
{
    const char *quick = getenv("ML_QUICK"), *why;
    double limit = quick && *quick && *quick != '0' ? 4 : 12, start = ml_clock();
    FzStats stats = {.prims = calloc(ml_n_primitives, sizeof(FzCount))};

    if (!printed_has(cc)) {
        print_message("skip: there is no %s\n", cc);
        free(stats.prims);
        skip();
    }
    if (!fz_compiler(&why)) {
        print_message("skip: nothing can be linked: %s\n", why);
        free(stats.prims);
        skip();
    }
    fz_print_for(cc);
    for (int64_t k = 0; k < 10000 && (stats.ran <= 20 || ml_clock() - start < limit); k++) {
        FzTrial t = fz_trial(23, k);
        ml_Text out = {0};

        t.plan.compile = 2;
        fz_run(&t, true, &stats);
        if (t.failed) {
            fz_shrink(&t);
            fz_report(&t, &out);
            fail_msg("%s", ml_text_z(&out));
        }
        fz_trial_clear(&t);
    }
    fz_print_for(NULL);
    print_message(
        "%s: %lld programs: %lld versions printed, %lld run; refused: %lld for a GPU, "
        "%lld for a dtype\n",
        cc, (long long)stats.programs, (long long)stats.compiled, (long long)stats.ran,
        (long long)stats.for_gpu, (long long)stats.not_supported);
    assert_true(stats.ran > 20);
    assert_true(stats.ran + stats.for_gpu + stats.not_supported == stats.to_compile);
    free(stats.prims);
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
