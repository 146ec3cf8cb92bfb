/*
 * fake_crash - a passing test, one that leaves as its argument says, and one never reached.
 *
 * For test_runner.sh: FAKE=abort dies, FAKE=exit leaves with status 0 in the middle of a
 * test, FAKE=sleep waits for the time limit, FAKE=none runs no test at all. All must be
 * red.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *mode(void)
{
    const char *fake = getenv("FAKE");

    return fake ? fake : "abort";
}

static void passes(void **state)
{
    assert_int_equal(1, 1);
}

static void leaves(void **state)
{
    if (strcmp(mode(), "exit") == 0)
        exit(0);
    while (strcmp(mode(), "sleep") == 0)
        pause();
    raise(SIGKILL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes),
        cmocka_unit_test(leaves),
        cmocka_unit_test(passes),
    };

    if (strcmp(mode(), "none") == 0)
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
