/*
 * test_db - the database of records: what is put is found again; files that are corrupt,
 * foreign, too new, read only, locked, or on a full disk are named and left as they are.
 */
#define _DEFAULT_SOURCE
#include "moonloop/tune/db/db.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tune/kept.h"

typedef struct Fix {
    ml_Ctx *cx;
    ml_Db *db;
    Kept kept;
} Fix;

static int set_up(void **state)
{
    static Fix fix;

    fix = (Fix){.cx = ml_ctx_new(0)};
    if (!kept_make(&fix.kept))
        return -1;
    *state = &fix;
    return 0;
}

static int tear_down(void **state)
{
    Fix *x = *state;

    ml_db_close(x->db);
    ml_ctx_unref(x->cx);
    chmod(x->kept.dir, 0700);
    return kept_remove(&x->kept);
}

/* What fails in a child ends the child: it must not go on with the next test. */
static pid_t fork_child(void)
{
    pid_t pid = fork();

    if (pid == 0)
        setenv("CMOCKA_TEST_ABORT", "1", 1);
    return pid;
}

static void opened(Fix *x)
{
    x->db = ml_db_open(x->cx, x->kept.path);
    if (x->db == NULL)
        fail_msg("%s", text_of_error(x->cx));
}

/* It is refused with the code; the message names the file; the file is as before. */
static void refused(Fix *x, ml_ErrorCode code, const char *words)
{
    struct stat before, after;

    assert_int_equal(stat(x->kept.path, &before), 0);
    x->db = ml_db_open(x->cx, x->kept.path);
    assert_null(x->db);
    assert_int_equal(ml_error(x->cx)->code, code);
    if (strstr(text_of_error(x->cx), x->kept.path) == NULL ||
        strstr(text_of_error(x->cx), words) == NULL)
        fail_msg("%s", text_of_error(x->cx));
    ml_error_clear(x->cx);
    assert_int_equal(stat(x->kept.path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static const char program[] =
    "@T.prim_func\n"
    "def add(A: T.Buffer((8,), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
    "    for i in range(8):\n"
    "        with T.block(\"B\"):\n"
    "            v = T.axis.spatial(8, i)\n"
    "            B[v] = A[v] + T.float32(1)\n";

static int64_t workload(Fix *x, const char *hash)
{
    ml_DbWorkload w = {.hash = hash, .name = "add", .program = program, .flop = 8};

    assert_true(ml_db_put_workload(x->db, x->cx, &w));
    assert_true(w.id > 0);
    return w.id;
}

static const char trace[] = "[[[\"GetBlock\", [], [\"B\", \"add\"], [\"b0\"]]], []]";

static int64_t put(Fix *x, int64_t w, double seconds, uint64_t seed)
{
    ml_Record r = {.workload = w,
                   .target = "{\"kind\":\"llvm\"}",
                   .space = "s",
                   .seed = seed,
                   .threads = 2,
                   .trace = trace,
                   .args = "[[\"TENSOR\", \"float32\", [8]]]",
                   .machine = "m",
                   .version = "v"};

    if (seconds > 0) {
        r.n_run = 1;
        r.run_secs = &seconds;
    } else {
        r.error = "worker-timeout";
        r.phase = "run";
    }
    if (!ml_db_put(x->db, x->cx, &r))
        fail_msg("%s", text_of_error(x->cx));
    return r.id;
}

static int64_t count(Fix *x, ml_DbQuery q)
{
    int64_t n;

    assert_true(ml_db_count(x->db, x->cx, &q, &n));
    return n;
}

/* ---------------------------------------------------------------- records */

static void what_is_put_is_found_again(void **state)
{
    Fix *x = *state;
    ml_Record *v;
    size_t n;

    opened(x);
    int64_t w = workload(x, "0123456789abcdef"), id = put(x, w, 0.1 + 0.2, 7);
    const ml_DbQuery q = {.workload = w, .any_seed = true};

    ml_db_close(x->db);
    opened(x);
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(n, 1);
    assert_int_equal(v[0].id, id);
    assert_int_equal(v[0].workload, w);
    assert_int_equal(v[0].seed, 7);
    assert_int_equal(v[0].threads, 2);
    assert_string_equal(v[0].trace, trace);
    assert_string_equal(v[0].target, "{\"kind\":\"llvm\"}");
    assert_true(v[0].n_run == 1 && v[0].run_secs[0] == 0.1 + 0.2);
    assert_true(ml_record_best(&v[0]) == 0.1 + 0.2);
    assert_null(v[0].error);
    assert_true(v[0].time > 1600000000);
}

static void a_workload_is_kept_once_by_its_hash(void **state)
{
    Fix *x = *state;
    ml_DbWorkload w;

    opened(x);
    int64_t a = workload(x, "00000000000000aa"), b = workload(x, "00000000000000bb");

    assert_int_not_equal(a, b);
    assert_int_equal(workload(x, "00000000000000aa"), a);
    assert_true(ml_db_find_workload(x->db, x->cx, "00000000000000bb", &w));
    assert_int_equal(w.id, b);
    assert_string_equal(w.program, program);
    assert_false(ml_db_find_workload(x->db, x->cx, "00000000000000cc", &w));
    assert_null(ml_error(x->cx));
}

/* Two of four were measured by turns. */
static void those_measured_by_turns_stand_together(void **state)
{
    static const double seconds[] = {3e-3, 1e-3, 4e-3, 2e-3};
    Fix *x = *state;
    int64_t id[4];
    ml_Record *v;
    size_t n;

    opened(x);
    int64_t w = workload(x, "0123456789abcdef");

    for (size_t k = 0; k < 4; k++)
        id[k] = put(x, w, seconds[k], 7);
    const ml_DbQuery q = {.workload = w, .any_seed = true, .by_time = true};
    const ml_DbTurn first[] = {{id[1], 1.5e-3, 10}, {id[3], 1.4e-3, 10}};
    const ml_DbTurn then[] = {{id[0], 3.1e-3, 10}, {id[3], 3.2e-3, 10}};

    assert_true(ml_db_put_turns(x->db, x->cx, &q, first, 2));
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(n, 4);
    assert_int_equal(v[0].id, id[3]);
    assert_true(v[0].median == 1.4e-3 && ml_record_seconds(&v[0]) == 1.4e-3);
    assert_int_equal(v[1].id, id[1]);
    assert_int_equal(v[2].id, id[0]);
    assert_int_equal(v[3].id, id[2]);
    assert_true(v[3].median == 0 && ml_record_seconds(&v[3]) == 4e-3);

    /* the next contest replaces the medians of the one before */
    assert_true(ml_db_put_turns(x->db, x->cx, &q, then, 2));
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(v[0].id, id[1]);
    assert_true(v[0].median == 0);
    assert_int_equal(v[1].id, id[0]);
    assert_int_equal(v[2].id, id[3]);
    assert_int_equal(v[3].id, id[2]);

    /* another key's stay */
    const ml_DbQuery other = {.workload = w, .seed = 77};

    assert_true(ml_db_put_turns(x->db, x->cx, &other, NULL, 0));
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_true(v[1].median == 3.1e-3);
}

static void records_come_by_time_failures_last(void **state)
{
    Fix *x = *state;
    ml_Record *v;
    size_t n;

    opened(x);
    int64_t w = workload(x, "1"),
            ids[5] = {put(x, w, 3, 1), put(x, w, 0, 1), put(x, w, 1, 1), put(x, w, 2, 2),
                      put(x, w, 1, 1)};
    static const int order[] = {2, 4, 3, 0, 1}; /* ties in order of commit */
    ml_DbQuery q = {.workload = w, .any_seed = true, .by_time = true};

    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(n, 5);
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(v[k].id, ids[order[k]]);
    assert_true(isinf(ml_record_best(&v[4])));
    assert_string_equal(v[4].error, "worker-timeout");
    assert_string_equal(v[4].phase, "run");
    q.valid_only = true;
    assert_int_equal(count(x, q), 4);
    q.limit = 2;
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(n, 2);
    q.limit = -1;
    assert_false(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_ARGUMENT);
}

static void queries_look_at_every_part_of_the_key(void **state)
{
    Fix *x = *state;

    opened(x);
    int64_t w = workload(x, "1"), first = put(x, w, 1, 1);

    put(x, w, 1, 2);
    put(x, w, 1, 2);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 3);
    assert_int_equal(count(x, (ml_DbQuery){.seed = 2}), 2);
    assert_int_equal(count(x, (ml_DbQuery){.seed = 3}), 0);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .after = first}), 2);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .threads = 1}), 0);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .space = "other"}), 0);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .target = "{}"}), 0);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .workload = w + 1}), 0);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .record = first}), 1);
}

static void a_summary_counts_records_and_failures(void **state)
{
    Fix *x = *state;
    ml_DbSummary *v;
    size_t n;

    opened(x);
    int64_t w = workload(x, "1");

    workload(x, "2");
    put(x, w, 2, 1);
    put(x, w, 0, 1);
    put(x, w, 1, 1);
    assert_true(ml_db_summary(x->db, x->cx, &v, &n));
    assert_int_equal(n, 2);
    assert_int_equal(v[0].records, 3);
    assert_int_equal(v[0].failed, 1);
    assert_true(v[0].best == 1);
    assert_int_equal(v[1].records, 0);
    assert_int_equal(v[1].failed, 0);
}

static void a_database_in_memory_leaves_no_file(void **state)
{
    Fix *x = *state;

    x->db = ml_db_open(x->cx, NULL);
    assert_non_null(x->db);
    put(x, workload(x, "1"), 1, 1);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 1);
    assert_string_equal(ml_db_path(x->db), ":memory:");
}

static void the_file_is_its_owners_alone(void **state)
{
    Fix *x = *state;
    struct stat st;

    opened(x);
    assert_int_equal(stat(x->kept.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* ---------------------------------------------------------------- files that are refused
 */

static void write_file(const char *path, const char *text, size_t n)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void a_file_that_is_no_database_is_named_and_left(void **state)
{
    Fix *x = *state;
    char noise[8192];

    for (size_t k = 0; k < sizeof noise; k++)
        noise[k] = (char)(k * 2654435761u >> 7);
    write_file(x->kept.path, noise, sizeof noise);
    refused(x, ML_E_BAD_DATABASE, "not a database");
}

static void a_truncated_database_is_named_and_left(void **state)
{
    Fix *x = *state;
    struct stat st;

    opened(x);
    int64_t w = workload(x, "1");

    for (int k = 0; k < 100; k++)
        put(x, w, 1, 1);
    ml_db_close(x->db); /* the log goes into the file */
    x->db = NULL;
    assert_int_equal(stat(x->kept.path, &st), 0);
    assert_true(st.st_size > 8192);
    assert_int_equal(truncate(x->kept.path, st.st_size / 2), 0);
    refused(x, ML_E_BAD_DATABASE, "malformed");
}

/* Another connection to the file. */
static sqlite3 *other(Fix *x)
{
    sqlite3 *sq = NULL;

    assert_int_equal(sqlite3_open(x->kept.path, &sq), SQLITE_OK);
    return sq;
}

static void another_programs_database_is_named_and_left(void **state)
{
    Fix *x = *state;
    sqlite3 *sq = other(x);

    assert_int_equal(sqlite3_exec(sq, "create table mine(a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(sq);
    refused(x, ML_E_BAD_DATABASE, "another program");
}

static void a_newer_version_is_named_and_left(void **state)
{
    Fix *x = *state;

    opened(x);
    ml_db_close(x->db);
    sqlite3 *sq = other(x);

    assert_int_equal(sqlite3_exec(sq, "pragma user_version = 2", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(sq);
    refused(x, ML_E_BAD_DATABASE, "version 2");
}

static void a_folder_is_no_database(void **state)
{
    Fix *x = *state;

    snprintf(x->kept.path, sizeof x->kept.path, "%s", x->kept.dir);
    x->db = ml_db_open(x->cx, x->kept.path);
    assert_null(x->db);
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_DATABASE);
}

static void a_path_through_a_file_is_refused(void **state)
{
    Fix *x = *state;
    char path[300];

    write_file(x->kept.path, "x", 1);
    snprintf(path, sizeof path, "%s/below/t.db", x->kept.path);
    x->db = ml_db_open(x->cx, path);
    assert_null(x->db);
    assert_int_equal(ml_error(x->cx)->code, ML_E_NO_FILE);
}

/* ---------------------------------------------------------------- in the middle of things
 */

/* In a child without the rights of the owner: 0 when all went as it should. */
static int read_only_child(Fix *x)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_DbQuery q = {.any_seed = true};
    ml_Record r = {.workload = 1, .trace = trace};
    int64_t n = 0;

    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 2;
    ml_Db *db = ml_db_open(cx, x->kept.path);

    if (db == NULL) {
        print_error("%s\n", ml_error(cx)->facts[0].as.text);
        return 3;
    }
    if (!ml_db_read_only(db))
        return 4;
    if (!ml_db_count(db, cx, &q, &n) || n != 1)
        return 5;
    if (ml_db_put(db, cx, &r) || ml_error(cx)->code != ML_E_BAD_DATABASE)
        return 6;
    ml_db_close(db);
    ml_ctx_unref(cx);
    return 0;
}

static void a_file_that_may_not_be_written_answers_queries(void **state)
{
    Fix *x = *state;
    int status;

    opened(x);
    put(x, workload(x, "1"), 1, 1);
    ml_db_close(x->db);
    x->db = NULL;
    assert_int_equal(chmod(x->kept.path, 0444), 0);
    assert_int_equal(chmod(x->kept.dir, 0555), 0);
    if (geteuid() == 0 && getenv("TMPDIR")) /* the child may pass through, as nobody */
        assert_int_equal(chmod(getenv("TMPDIR"), 0711), 0);
    pid_t pid = fork_child();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(read_only_child(x));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_locked_database_is_named_and_later_usable(void **state)
{
    Fix *x = *state;
    ml_Record r = {.workload = 1, .trace = trace};

    opened(x);
    r.workload = workload(x, "1");
    sqlite3 *sq = other(x);

    assert_int_equal(sqlite3_exec(sq, "begin exclusive", NULL, NULL, NULL), SQLITE_OK);
    assert_false(ml_db_put(x->db, x->cx, &r)); /* after the five seconds of waiting */
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_DATABASE);
    assert_non_null(strstr(text_of_error(x->cx), "locked"));
    assert_non_null(strstr(text_of_error(x->cx), x->kept.path));
    ml_error_clear(x->cx);
    assert_int_equal(sqlite3_exec(sq, "commit", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(sq);
    assert_true(ml_db_put(x->db, x->cx, &r));
}

/* The system refuses to let files grow: 0 when it was told and nothing was lost. */
static int full_disk_child(Fix *x)
{
    struct rlimit limit = {256 * 1024, 256 * 1024};
    const ml_DbQuery q = {.any_seed = true};
    int64_t stored = 0, n;
    char *big = malloc(4096);

    memset(big, ' ', 4095);
    big[4095] = '\0';
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    opened(x);
    int64_t w = workload(x, "1");

    for (;;) {
        ml_Record r = {.workload = w, .trace = big};

        if (!ml_db_put(x->db, x->cx, &r))
            break;
        if (++stored > 1000)
            return 3;
    }
    if (ml_error(x->cx)->code != ML_E_NO_SPACE ||
        !strstr(text_of_error(x->cx), x->kept.path))
        return 4;
    ml_error_clear(x->cx);
    if (!ml_db_count(x->db, x->cx, &q, &n) || n != stored || stored < 5)
        return 5;
    ml_db_close(x->db);
    opened(x);
    if (!ml_db_count(x->db, x->cx, &q, &n) || n != stored)
        return 6;
    ml_db_close(x->db);
    free(big);
    return 0;
}

static void a_full_disk_is_named_and_loses_nothing(void **state)
{
    Fix *x = *state;
    int status;
    pid_t pid = fork_child();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(full_disk_child(x));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_was_committed_survives_a_kill(void **state)
{
    Fix *x = *state;
    int status, pipes[2];
    char c;

    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork_child();

    assert_true(pid >= 0);
    if (pid == 0) {
        opened(x);
        int64_t w = workload(x, "1");

        for (int k = 0; k < 20; k++)
            put(x, w, 1 + k, 1);
        if (write(pipes[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(pipes[0], &c, 1), 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(pipes[0]);
    close(pipes[1]);
    opened(x);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 20);
}

static void two_connections_write_one_file(void **state)
{
    Fix *x = *state;

    opened(x);
    int64_t w = workload(x, "1");
    ml_Db *mine = x->db;

    opened(x);
    ml_Db *theirs = x->db;

    for (int k = 0; k < 50; k++) {
        x->db = k % 2 ? mine : theirs;
        put(x, w, 1, (uint64_t)k + 1);
    }
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 50);
    ml_db_close(x->db == mine ? theirs : mine);
}

/* Each process puts its records and says so, byte by byte; one is killed in the middle. */
static void remove_beside(Fix *x, const char *what)
{
    unlink(ml_format(x->cx, "%s%s", x->kept.path, what));
}

/* Two that want to make one new file a WAL file hold each other up. */
static void many_processes_make_one_file(void **state)
{
    enum { ROUNDS = 40, PROCESSES = 8 };
    Fix *x = *state;
    int go[2], status;

    for (int r = 0; r < ROUNDS; r++) {
        assert_int_equal(pipe(go), 0);
        for (int p = 0; p < PROCESSES; p++) {
            pid_t pid = fork_child();
            char c;

            assert_true(pid >= 0);
            if (pid == 0) {
                close(go[1]);
                if (read(go[0], &c, 1) != 0) /* all at once */
                    _exit(1);
                opened(x);
                workload(x, "1");
                _exit(0);
            }
        }
        close(go[0]);
        close(go[1]);
        for (int p = 0; p < PROCESSES; p++) {
            assert_true(wait(&status) > 0);
            assert_int_equal(status, 0);
        }
        assert_int_equal(unlink(x->kept.path), 0);
        remove_beside(x, "-wal");
        remove_beside(x, "-shm");
    }
}

static void four_processes_write_one_file(void **state)
{
    enum { PROCESSES = 4, EACH = 60 };
    Fix *x = *state;
    pid_t pid[PROCESSES];
    int pipes[PROCESSES][2], status;
    int64_t told[PROCESSES] = {0};
    char c;

    for (int p = 0; p < PROCESSES; p++) {
        assert_int_equal(pipe(pipes[p]), 0);
        pid[p] = fork_child();
        assert_true(pid[p] >= 0);
        if (pid[p] == 0) {
            opened(x); /* all make the file at once */
            int64_t w = workload(x, "1");

            for (int k = 0; k < EACH || p == 0; k++) {
                put(x, w, 1 + k, (uint64_t)p + 1);
                if (write(pipes[p][1], "x", 1) != 1)
                    _exit(1);
            }
            _exit(0);
        }
        close(pipes[p][1]);
    }
    for (int p = 0; p < PROCESSES; p++) {
        while (read(pipes[p][0], &c, 1) == 1)
            if (++told[p] == 25 && p == 0)
                kill(pid[p], SIGKILL);
        close(pipes[p][0]);
        assert_int_equal(waitpid(pid[p], &status, 0), pid[p]);
        assert_int_equal(WIFSIGNALED(status) ? WTERMSIG(status) : 0, p == 0 ? SIGKILL : 0);
        assert_true(p == 0 || (WEXITSTATUS(status) == 0 && told[p] == EACH));
    }
    opened(x);
    for (int p = 0; p < PROCESSES; p++) {
        int64_t n = count(x, (ml_DbQuery){.seed = (uint64_t)p + 1});

        assert_true(p == 0 ? n >= told[0] && n <= told[0] + 1 : n == EACH);
    }
    ml_DbSummary *v;
    size_t n;

    assert_true(ml_db_summary(x->db, x->cx, &v, &n));
    assert_int_equal(n, 1); /* one workload */
}

/* ---------------------------------------------------------------- merging */

static ml_Db *other_of(Fix *x, bool with_more)
{
    ml_Db *mine = x->db, *theirs;

    x->db = ml_db_open(x->cx, NULL);
    int64_t a = workload(x, "2"), b = workload(x, "1");

    put(x, a, 3, 1);
    put(x, b, 4, 1);
    if (with_more)
        put(x, b, 0, 2); /* a failure */
    theirs = x->db;
    x->db = mine;
    return theirs;
}

static void merging_takes_what_is_not_there(void **state)
{
    Fix *x = *state;
    const ml_DbQuery all = {.any_seed = true};
    size_t n = 9;

    opened(x);
    put(x, workload(x, "1"), 5, 1);
    ml_Db *theirs = other_of(x, true);

    assert_true(ml_db_merge(x->db, x->cx, theirs, &n));
    assert_int_equal(n, 3);
    assert_true(ml_db_merge(x->db, x->cx, theirs, &n)); /* once more */
    assert_int_equal(n, 0);
    assert_int_equal(count(x, all), 4);
    assert_int_equal(count(x, (ml_DbQuery){.workload = workload(x, "1"), .any_seed = true}),
                     3);
    assert_true(ml_db_merge(theirs, x->cx, x->db, &n)); /* and the other way round */
    assert_int_equal(n, 1);
    assert_true(ml_db_merge(x->db, x->cx, x->db, &n)); /* with itself */
    assert_int_equal(n, 0);
    assert_int_equal(count(x, all), 4);
    ml_db_close(theirs);
}

/* Medians of two contests are none of one. */
static void merged_medians_stand_where_there_are_none(void **state)
{
    Fix *x = *state;
    const ml_DbQuery all = {.any_seed = true};
    ml_Record *v;
    size_t n;

    opened(x);
    put(x, workload(x, "1"), 5, 1);
    ml_Db *theirs = other_of(x, false);

    for (int round = 0; round < 2; round++) {
        assert_true(ml_db_records(round ? theirs : x->db, x->cx, &all, &v, &n));
        for (size_t k = 0; k < n && round == 1; k++)
            assert_true(ml_db_put_turns(
                theirs, x->cx, &(ml_DbQuery){.workload = v[k].workload, .seed = 1},
                &(ml_DbTurn){.record = v[k].id, .median = 7, .samples = 3}, 1));
        if (round == 0)
            assert_true(ml_db_put_turns(
                x->db, x->cx, &(ml_DbQuery){.workload = v[0].workload, .seed = 1},
                &(ml_DbTurn){.record = v[0].id, .median = 6, .samples = 3}, 1));
    }
    assert_true(ml_db_merge(x->db, x->cx, theirs, &n));
    assert_int_equal(n, 2);
    assert_true(ml_db_records(x->db, x->cx, &all, &v, &n));
    assert_int_equal(n, 3);
    assert_true(v[0].median == 6);
    for (size_t k = 1; k < 3; k++)
        assert_true(v[k].median == (v[k].workload == v[0].workload ? 0 : 7));
    ml_db_close(theirs);
}

static void what_cannot_be_written_is_not_merged_into(void **state)
{
    Fix *x = *state;
    size_t n = 0;

    opened(x);
    put(x, workload(x, "1"), 5, 1);
    ml_Db *theirs = other_of(x, true);
    sqlite3 *sq = other(x);

    assert_int_equal(sqlite3_exec(sq, "begin exclusive", NULL, NULL, NULL), SQLITE_OK);
    assert_false(ml_db_merge(x->db, x->cx, theirs, &n));
    assert_non_null(strstr(text_of_error(x->cx), "locked"));
    assert_int_equal(n, 0);
    ml_error_clear(x->cx);
    sqlite3_close(sq);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 1);
    ml_db_close(theirs);
}

/* ---------------------------------------------------------------- exchange */

static void what_is_exported_is_imported_again(void **state)
{
    Fix *x = *state;
    char folder[300];
    size_t n = 0, skipped = 0;
    ml_Record *v;
    size_t nv;
    int64_t left = 0;
    const ml_DbQuery q = {.any_seed = true};

    snprintf(folder, sizeof folder, "%s/out", x->kept.dir);
    opened(x);
    int64_t w = workload(x, "0000000000000001");

    put(x, w, 0.1 + 0.2, 1);
    put(x, w, 0, 1);
    assert_true(ml_db_export(x->db, x->cx, folder, &n));
    assert_int_equal(n, 2);
    ml_db_close(x->db);
    x->db = ml_db_open(x->cx, NULL);
    n = 0;
    if (!ml_db_import(x->db, x->cx, folder, NULL, &n, &skipped))
        fail_msg("%s", text_of_error(x->cx));
    assert_int_equal(n, 2);
    assert_int_equal(skipped, 0);
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &nv));
    assert_int_equal(nv, 2);
    n = 0;
    assert_true(ml_db_import(x->db, x->cx, folder, NULL, &n, &skipped)); /* once more */
    assert_int_equal(n, 0);
    assert_int_equal(skipped, 0);
    assert_true(ml_db_count(x->db, x->cx, &q, &left));
    assert_int_equal(left, 2);
    assert_true(ml_record_best(&v[0]) == 0.1 + 0.2);
    assert_string_equal(v[0].trace, trace);
    assert_string_equal(v[0].target, "{\"kind\":\"llvm\"}");
    assert_true(isinf(ml_record_best(&v[1])));
    ml_DbWorkload back;

    assert_true(ml_db_workload_at(x->db, x->cx, v[0].workload, &back));
    assert_string_equal(back.program, program);
    assert_int_equal(strlen(back.hash), 16);
    assert_string_not_equal(back.hash, "0000000000000001"); /* worked out again */
    assert_true(back.flop == 8);
}

static void malformed_lines_are_passed_over_and_counted(void **state)
{
    Fix *x = *state;
    char folder[220], path[300], text[4096];
    size_t n = 0, skipped = 0;

    snprintf(folder, sizeof folder, "%s/out", x->kept.dir);
    opened(x);
    put(x, workload(x, "1"), 1, 1);
    assert_true(ml_db_export(x->db, x->cx, folder, &n));
    snprintf(path, sizeof path, "%s/database_tuning_record.json", folder);
    snprintf(text, sizeof text,
             "[0, [%s, [0.5], {\"kind\": \"llvm\"}, []]]\n"
             "[0, [%s, [1e10], {\"kind\": \"llvm\"}, []]]\n"
             "[0, [%s, null, {\"kind\": \"llvm\"}, []]]\n"
             "\n"
             "nonsense\n"
             "{}\n"
             "[7, [%s, [1], {\"kind\": \"llvm\"}, []]]\n"
             "[-1, [%s, [1], {\"kind\": \"llvm\"}, []]]\n"
             "[0, [[], [1], {\"kind\": \"llvm\"}, []]]\n"
             "[0, [%s, [\"x\"], {\"kind\": \"llvm\"}, []]]\n"
             "[0, [%s, [-1], {\"kind\": \"llvm\"}, []]]\n"
             "[0, [%s, [1], \"llvm\", []]]\n"
             "[0, [%s, [1], {\"kind\"",
             trace, trace, trace, trace, trace, trace, trace, trace, trace);
    write_file(path, text, strlen(text));
    ml_db_close(x->db);
    x->db = ml_db_open(x->cx, NULL);
    n = 0;
    assert_true(ml_db_import(x->db, x->cx, folder, NULL, &n, &skipped));
    assert_int_equal(n, 3);
    assert_int_equal(skipped, 10);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true, .valid_only = true}), 1);
}

/* Their program is a graph of theirs; ours is told for it. */
static void records_of_another_system_need_a_program(void **state)
{
    static const char workloads[] = "[\"123\", \"eyJyb290IjogMX0=\"]\n"; /* {"root": 1} */
    static const char args[] = "[[\"TENSOR\", \"float32\", [8]], [\"TENSOR\", "
                               "\"float32\", [8]]]";
    Fix *x = *state;
    const ml_ParseOpts po = {.spelling = -1};
    const ml_Func *f = ml_parse(x->cx, ml_str(program), &po).mod->funcs[0];
    const ml_DbPrograms told = {.v = &f, .n = 1};
    char folder[220], path[300], text[4096];
    size_t n = 0, skipped = 0;

    snprintf(folder, sizeof folder, "%s/out", x->kept.dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    opened(x);
    snprintf(path, sizeof path, "%s/database_workload.json", folder);
    write_file(path, workloads, sizeof workloads - 1);
    snprintf(path, sizeof path, "%s/database_tuning_record.json", folder);
    snprintf(text, sizeof text, "[0, [%s, [0.5], {\"kind\": \"llvm\"}, %s]]\n", trace,
             args);
    write_file(path, text, strlen(text));
    assert_false(ml_db_import(x->db, x->cx, folder, NULL, &n, &skipped));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_DATABASE);
    assert_non_null(strstr(text_of_error(x->cx), "database_workload.json, line 1"));
    assert_non_null(strstr(text_of_error(x->cx), "another system"));
    ml_error_clear(x->cx);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 0);
    if (!ml_db_import(x->db, x->cx, folder, &told, &n, &skipped))
        fail_msg("%s", text_of_error(x->cx));
    assert_int_equal(n, 1);
    assert_int_equal(skipped, 0);
    ml_DbWorkload w;

    assert_true(ml_db_workload_at(x->db, x->cx, 1, &w));
    assert_string_equal(w.name, "add");
    assert_string_equal(
        w.hash,
        ml_format(x->cx, "%016llx", (unsigned long long)ml_hash_func(x->cx, f, NULL)));
    /* one of other arguments: nothing comes, not even what stands before it */
    snprintf(text, sizeof text,
             "[0, [%s, [0.25], {\"kind\": \"llvm\"}, %s]]\n"
             "[0, [%s, [0.5], {\"kind\": \"llvm\"}, [[\"TENSOR\", \"float32\", [9]]]]]\n",
             trace, args, trace);
    write_file(path, text, strlen(text));
    assert_false(ml_db_import(x->db, x->cx, folder, &told, &n, &skipped));
    assert_non_null(strstr(text_of_error(x->cx), "[9]"));
    ml_error_clear(x->cx);
    assert_int_equal(count(x, (ml_DbQuery){.any_seed = true}), 1);
}

static void an_import_without_files_names_them(void **state)
{
    Fix *x = *state;
    size_t n = 0, skipped = 0;

    opened(x);
    assert_false(ml_db_import(x->db, x->cx, x->kept.dir, NULL, &n, &skipped));
    assert_int_equal(ml_error(x->cx)->code, ML_E_NO_FILE);
    assert_non_null(strstr(text_of_error(x->cx), "database_workload.json"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_put_is_found_again),
        T(a_workload_is_kept_once_by_its_hash),
        T(records_come_by_time_failures_last),
        T(those_measured_by_turns_stand_together),
        T(queries_look_at_every_part_of_the_key),
        T(a_summary_counts_records_and_failures),
        T(a_database_in_memory_leaves_no_file),
        T(the_file_is_its_owners_alone),
        T(a_file_that_is_no_database_is_named_and_left),
        T(a_truncated_database_is_named_and_left),
        T(another_programs_database_is_named_and_left),
        T(a_newer_version_is_named_and_left),
        T(a_folder_is_no_database),
        T(a_path_through_a_file_is_refused),
        T(a_file_that_may_not_be_written_answers_queries),
        T(a_locked_database_is_named_and_later_usable),
        T(a_full_disk_is_named_and_loses_nothing),
        T(what_was_committed_survives_a_kill),
        T(many_processes_make_one_file),
        T(four_processes_write_one_file),
        T(merging_takes_what_is_not_there),
        T(merged_medians_stand_where_there_are_none),
        T(what_cannot_be_written_is_not_merged_into),
        T(records_of_another_system_need_a_program),
        T(two_connections_write_one_file),
        T(what_is_exported_is_imported_again),
        T(malformed_lines_are_passed_over_and_counted),
        T(an_import_without_files_names_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
