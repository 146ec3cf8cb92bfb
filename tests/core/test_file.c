/* test_file - files written whole: what was there stays when the disk is full, and so do
 * links, permissions, other names of the file. */
#define _XOPEN_SOURCE 700 /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
#include "moonloop/core/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT = 1000 };
static char folder[] = "/tmp/moonloop-file-XXXXXX";
static char big[4 * LIMIT];

static int begin(void **state)
{
    (void)state;
    memset(big, 'b', sizeof big);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : 1;
}

static int end(void **state)
{
    static const char *const FILES[] = {"a", "b", "link", "nowhere", "target", "pipe"};

    (void)state;
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++)
        unlink(FILES[k]);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : 1; /* nothing else was left */
}

static void put(const char *path, const char *text)
{
    if (!ml_file_write(path, text, strlen(text)))
        fail_msg("%s: %s", path, strerror(errno));
}

static void holds(const char *path, const char *text)
{
    ml_Text t = {0};

    if (!ml_file_read(path, &t))
        fail_msg("%s: %s", path, strerror(errno));
    assert_string_equal(text, ml_text_z(&t));
    ml_text_free(&t);
}

/* No file grows beyond LIMIT bytes, as on a disk that is full. */
static bool write_big(const char *path)
{
    struct rlimit was, small;
    void (*on)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &was));
    small = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = was.rlim_max};
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    bool ok = ml_file_write(path, big, sizeof big);
    int error = errno;

    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &was));
    signal(SIGXFSZ, on);
    errno = error;
    return ok;
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    put("a", "old");
    assert_false(write_big("a"));
    assert_true(ml_file_no_room(errno));
    holds("a", "old");
    assert_false(write_big("b")); /* and no half of a new one */
    assert_int_not_equal(0, access("b", F_OK));
}

static void a_full_disk_leaves_a_file_of_several_names(void **state)
{
    (void)state;
    put("a", "old");
    assert_int_equal(0, link("a", "b"));
    assert_false(write_big("a"));
    assert_true(ml_file_no_room(errno));
    holds("a", "old");
    put("a", "a longer text");
    holds("b", "a longer text");
    put("b", "short");
    holds("a", "short");
}

static void a_link_is_followed(void **state)
{
    struct stat st;

    (void)state;
    put("target", "old");
    assert_int_equal(0, symlink("target", "link"));
    put("link", "new");
    assert_true(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    holds("target", "new");
    assert_int_equal(0, symlink("b", "nowhere")); /* whose file is to be made */
    unlink("b");
    put("nowhere", "made");
    holds("b", "made");
}

static void permissions_stay(void **state)
{
    struct stat st;
    mode_t mask = umask(022);

    (void)state;
    unlink("a");
    unlink("b");
    put("a", "old");
    assert_true(stat("a", &st) == 0 && (st.st_mode & 0777) == 0644);
    assert_int_equal(0, chmod("a", 0751));
    put("a", "new");
    assert_true(stat("a", &st) == 0 && (st.st_mode & 0777) == 0751);
    assert_true(ml_file_write_own("b", "x", 1));
    assert_true(stat("b", &st) == 0 && (st.st_mode & 0777) == 0600);
    umask(mask);
}

static void what_is_no_file_is_written_as_it_comes(void **state)
{
    struct stat st;

    (void)state;
    put("/dev/null", "gone");
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    assert_false(ml_file_write("/dev/full", big, sizeof big));
    assert_int_equal(ENOSPC, errno);
    assert_false(ml_file_write(folder, "x", 1));
    assert_int_equal(EISDIR, errno);
    assert_false(ml_file_write("no/such/folder", "x", 1));
    assert_int_equal(ENOENT, errno);
}

static void a_file_that_may_not_be_written_stays(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        print_message("skip: run as root, who may write any file\n");
        skip();
    }
    put("a", "old");
    assert_int_equal(0, chmod("a", 0444));
    assert_false(ml_file_write("a", "x", 1));
    assert_int_equal(EACCES, errno);
    holds("a", "old");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_leaves_a_file_of_several_names),
        cmocka_unit_test(a_link_is_followed),
        cmocka_unit_test(permissions_stay),
        cmocka_unit_test(what_is_no_file_is_written_as_it_comes),
        cmocka_unit_test(a_file_that_may_not_be_written_stays),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
