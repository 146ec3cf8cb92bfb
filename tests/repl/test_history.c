/*
 * The history of typed entries and its file, shared by sessions at the same time.
 * Source: interaction 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/keep/history.h"

static char folder[64], path[100];

static int start(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/ml-history-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/a/history", folder);
    return 0;
}

static int end(void **state)
{
    char sub[100];

    unlink(path);
    snprintf(sub, sizeof sub, "%s/a", folder);
    rmdir(sub);
    return rmdir(folder);
}

static ml_History *attached(void)
{
    ml_History *h = ml_history_new();
    ml_Text why = {0};

    assert_true(ml_history_attach(h, path, &why));
    assert_int_equal(why.n, 0);
    return h;
}

static void add(ml_History *h, const char *entry)
{
    ml_Text why = {0};

    assert_true(ml_history_add(h, entry, &why));
}

static void holds(const ml_History *h, size_t k, const char *entry)
{
    assert_true(k < ml_history_count(h));
    assert_string_equal(ml_history_at(h, k), entry);
}

static void put_file(const char *text)
{
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void judged(ml_History *h, const char *entry, bool ok)
{
    ml_Text why = {0};

    assert_true(ml_history_judge(h, entry, ok, &why));
}

/* What failed is known to be so in the next session, and after it worked no more. */
static void what_failed_is_remembered(void **state)
{
    (void)state;
    ml_History *h = attached(), *other = attached();

    add(h, "good");
    add(h, "bad\nof \\two lines");
    judged(h, "good", true);
    judged(h, "bad\nof \\two lines\n", false);
    judged(h, "never typed", false);
    assert_true(!ml_history_failed(h, 0) && ml_history_failed(h, 1));
    ml_history_free(h);
    add(other, "later");
    assert_int_equal(ml_history_count(other), 3);
    assert_true(ml_history_failed(other, 1) && !ml_history_failed(other, 2));
    judged(other, "bad\nof \\two lines", true);
    assert_true(!ml_history_failed(other, 1));
    ml_history_free(other);
    h = attached();
    assert_int_equal(ml_history_count(h), 3);
    assert_true(!ml_history_failed(h, 1));
    ml_history_free(h);
    unlink(path);
}

static void blank_spaced_and_repeated_entries_are_not_kept(void **state)
{
    ml_History *h = ml_history_new();

    add(h, "one");
    add(h, "one");
    add(h, " secret");
    add(h, "");
    add(h, "\n\n");
    add(h, "two\n");
    add(h, "one");
    assert_int_equal(ml_history_count(h), 3);
    holds(h, 1, "two");
    holds(h, 2, "one");
    ml_history_free(h);
}

static void entries_of_several_lines_come_back_as_one(void **state)
{
    ml_History *h = attached();

    add(h, "for k = 1, 2 do\n  print(\"a\\n\\\\b\")\nend");
    add(h, "x = '\\'");
    ml_history_free(h);
    h = attached();
    assert_int_equal(ml_history_count(h), 2);
    holds(h, 0, "for k = 1, 2 do\n  print(\"a\\n\\\\b\")\nend");
    holds(h, 1, "x = '\\'");
    ml_history_free(h);
}

static void the_file_is_the_users_alone(void **state)
{
    struct stat st;
    char sub[100];
    ml_History *h = attached();

    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(sub, sizeof sub, "%s/a", folder);
    assert_int_equal(stat(sub, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    ml_history_free(h);
}

static void sessions_share_what_they_type(void **state)
{
    ml_History *a = attached(), *b = attached();

    add(a, "first");
    add(b, "second");
    add(a, "third");
    assert_int_equal(ml_history_count(a), 3);
    holds(a, 1, "second");
    assert_int_equal(ml_history_count(b), 2);
    holds(b, 0, "first");
    ml_history_free(a);
    ml_history_free(b);
    a = attached();
    assert_int_equal(ml_history_count(a), 3);
    ml_history_free(a);
}

static void a_line_that_was_never_finished_harms_no_other(void **state)
{
    ml_History *h = attached();

    add(h, "whole");
    put_file("half");
    add(h, "next");
    ml_history_free(h);
    h = attached();
    holds(h, 0, "whole");
    holds(h, 1, "half");
    holds(h, 2, "next");
    ml_history_free(h);
}

static void a_long_file_is_cut_to_the_newest_entries(void **state)
{
    ml_History *h = attached(), *other;
    char text[40];
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (int k = 0; k < 25000; k++)
        fprintf(f, "print(%d)\n", k);
    fclose(f);
    other = attached();
    assert_true(ml_history_count(other) <= 12000);
    holds(other, ml_history_count(other) - 1, "print(24999)");
    add(h, "after the cut"); /* its idea of the file is older */
    ml_history_free(h);
    ml_history_free(other);
    h = attached();
    assert_int_equal(ml_history_count(h), ML_HISTORY_MAX + 1);
    holds(h, ML_HISTORY_MAX, "after the cut");
    snprintf(text, sizeof text, "print(%d)", 25000 - ML_HISTORY_MAX);
    holds(h, 0, text);
    ml_history_free(h);
}

static void a_cut_on_a_full_disk_loses_nothing(void **state)
{
    struct rlimit was, small;
    ml_History *h = attached();
    ml_Text why = {0};
    FILE *f = fopen(path, "w");

    ml_history_free(h);
    h = ml_history_new();

    assert_non_null(f);
    for (int k = 0; k < 13000; k++)
        fprintf(f, "print(%d)\n", k);
    fclose(f);
    void (*on)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &was));
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = was.rlim_max};
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &small));
    assert_false(ml_history_attach(h, path, &why));
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &was));
    signal(SIGXFSZ, on);
    ml_history_free(h);
    ml_text_free(&why);
    h = attached();
    holds(h, ml_history_count(h) - 1, "print(12999)");
    assert_true(ml_history_count(h) >= ML_HISTORY_MAX);
    ml_history_free(h);
}

static void zero_bytes_and_odd_escapes_are_read_as_text(void **state)
{
    ml_History *h = attached();
    static const char ODD[] = "a\0b\\x\\\nlast\\";
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fwrite(ODD, 1, sizeof ODD - 1, f);
    fputc('\n', f);
    fclose(f);
    ml_history_free(h);
    h = attached();
    holds(h, 0, "abx\\");
    holds(h, 1, "last\\");
    ml_history_free(h);
}

static void a_place_that_cannot_be_written_is_told_once(void **state)
{
    static const char *const BAD[] = {"/proc/none/history", "/dev/null/x/history",
                                      "/dev/zero", "/tmp"};

    for (size_t k = 0; k < ML_COUNT(BAD); k++) {
        ml_History *h = ml_history_new();
        ml_Text why = {0};

        assert_false(ml_history_attach(h, BAD[k], &why));
        assert_non_null(strstr(ml_text_z(&why), BAD[k]));
        add(h, "kept for this session");
        assert_int_equal(ml_history_count(h), 1);
        ml_text_free(&why);
        ml_history_free(h);
    }
}

static void a_lock_that_is_never_released_is_no_wait_without_end(void **state)
{
    int ready[2], stop[2];
    char c;
    ml_History *h = attached();

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(stop), 0);
    pid_t pid = fork();

    if (pid == 0) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR);

        close(stop[1]);
        if (fd < 0 || fcntl(fd, F_SETLK, &l) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        if (read(stop[0], &c, 1) < 0)
            _exit(1);
        _exit(0);
    }
    assert_true(pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    ml_Text why = {0};

    assert_false(ml_history_add(h, "typed", &why));
    assert_int_equal(ml_history_count(h), 1);
    close(stop[1]);
    ml_text_free(&why);
    ml_history_free(h);
    close(stop[0]);
    close(ready[0]);
}

int main(void)
{
#define EACH(t) cmocka_unit_test_setup_teardown(t, start, end)
    const struct CMUnitTest tests[] = {
        EACH(what_failed_is_remembered),
        cmocka_unit_test(blank_spaced_and_repeated_entries_are_not_kept),
        EACH(entries_of_several_lines_come_back_as_one),
        EACH(the_file_is_the_users_alone),
        EACH(sessions_share_what_they_type),
        EACH(a_line_that_was_never_finished_harms_no_other),
        EACH(a_long_file_is_cut_to_the_newest_entries),
        EACH(a_cut_on_a_full_disk_loses_nothing),
        EACH(zero_bytes_and_odd_escapes_are_read_as_text),
        cmocka_unit_test(a_place_that_cannot_be_written_is_told_once),
        EACH(a_lock_that_is_never_released_is_no_wait_without_end),
    };
#undef EACH

    return cmocka_run_group_tests(tests, NULL, NULL);
}
