/*
 * fake_fail - one passing, one failing and one skipped test, for test_runner.sh.
 *
 * Not a test of moonloop: the runner must report exactly one of each and end red.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void passes(void **state)
{
    assert_int_equal(1, 1);
}

static void fails(void **state)
{
    assert_string_equal("found", "wanted");
}

static void is_skipped(void **state)
{
    print_message("skip: the moon is down\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes),
        cmocka_unit_test(fails),
        cmocka_unit_test(is_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
