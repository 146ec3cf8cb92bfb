/*
 * A session that is killed at any moment comes back: of a chain of sessions each takes up with
 * :recover what the one before had when it was killed, at work on a line or while it was
 * bringing back, and adds to it. A line is acknowledged when the next one is answered. Damage
 * besides: a log cut at any byte, or with any byte changed, gives what stands before.
 * Source: interaction 6, 16.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LINES = 80, WIDE = 9000 /* more than a page: it is written in pieces */ };

static char state[64], kept[128];
static char hash[LINES + 1][17]; /* after each line, in a session that nobody kills */

typedef struct Child {
    pid_t pid;
    int in, out;
    char text[1 << 16]; /* what it printed */
    size_t n;
} Child;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(Child *c)
{
    static char typed[] = "-i", plain[] = "--no-init", alone[] = "--no-history";
    char *argv[] = {getenv("MOONLOOP"), typed, plain, alone, NULL};
    posix_spawn_file_actions_t act;
    int in[2], out[2];

    assert_non_null(argv[0]);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    fcntl(in[1], F_SETFD, FD_CLOEXEC); /* else it never reads an end */
    fcntl(out[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_adddup2(&act, in[0], 0);
    posix_spawn_file_actions_adddup2(&act, out[1], 1);
    posix_spawn_file_actions_addclose(&act, in[0]);
    posix_spawn_file_actions_addclose(&act, out[1]);
    posix_spawn_file_actions_addopen(&act, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawn(&c->pid, argv[0], &act, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&act);
    close(in[0]);
    close(out[1]);
    c->in = in[1];
    c->out = out[0];
    c->n = 0;
    c->text[0] = '\0';
}

/* Waits for what it prints, at most until then; false: it printed nothing, or has ended. */
static bool hear(Child *c, double until)
{
    struct pollfd p = {.fd = c->out, .events = POLLIN};
    double left = until - now();
    ssize_t n = 0;

    if (c->n + 1 < sizeof c->text && poll(&p, 1, left > 0 ? (int)(left * 1e3) : 0) == 1)
        n = read(c->out, c->text + c->n, sizeof c->text - 1 - c->n);
    c->n += n > 0 ? (size_t)n : 0;
    c->text[c->n] = '\0';
    return n > 0;
}

/* Its last words are in c->text. */
static void end(Child *c, int sig)
{
    kill(c->pid, sig);
    close(c->in);
    while (hear(c, now() + 60))
        continue;
    close(c->out);
    waitpid(c->pid, NULL, 0);
}

static void say(Child *c, const char *z)
{
    for (size_t n = strlen(z); n > 0;) {
        ssize_t k = write(c->in, z, n);

        assert_true(k > 0);
        z += k;
        n -= (size_t)k;
    }
}

/* Where the focus is, as `at VERSION HASH`. */
static const char TELL[] = "f = focus() print('\\nat ' .. (f and f:version() or 0), "
                           "f and f:hash() or 0)\n";

/* Line k makes version k, and is answered. */
static size_t add_line(char *z, size_t room, int k)
{
    static const char FIRST[] = "focus(schedule(workload.matmul(16, 16, 16)))\n";
    const char *value = k % 7 == 3 ? "('x '):rep(" : "(";
    int n = snprintf(z, room, "%sannotate('C', 'n%d', %s%d));\n%s", k == 1 ? FIRST : "", k,
                     value, k % 7 == 3 ? WIDE : k, TELL);

    assert_true(n > 0 && (size_t)n < room);
    return (size_t)n;
}

/* The last answer that was printed whole; -1: none. */
static int answer(const Child *c, char h[17])
{
    const char *p = c->text, *q;
    int at = -1;

    for (; (q = strstr(p, "\nat ")) != NULL; p = q + 1) {
        int v, n = 0;
        char z[17];

        if (sscanf(q, "\nat %d %16[0-9a-f]%n", &v, z, &n) == 2 && q[n] == '\n') {
            at = v;
            memcpy(h, z, sizeof z);
        }
    }
    return at;
}

static void forget(void)
{
    DIR *d = opendir(kept);
    char path[512];

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", kept, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
}

static int start(void **unused)
{
    static Child c;

    snprintf(state, sizeof state, "/tmp/ml-killed-XXXXXX");
    if (!mkdtemp(state))
        return 1;
    snprintf(kept, sizeof kept, "%s/moonloop/sessions", state);
    setenv("XDG_STATE_HOME", state, 1);
    signal(SIGPIPE, SIG_IGN);
    for (int k = 1; k <= LINES; k++) {
        char h[17] = "", z[512];

        if (k == 1)
            begin(&c);
        c.n = 0;
        add_line(z, sizeof z, k);
        say(&c, z);
        for (double until = now() + 60; answer(&c, h) != k && now() < until;)
            hear(&c, until);
        assert_int_equal(answer(&c, hash[k]), k);
    }
    end(&c, SIGKILL);
    return 0;
}

static int clean(void **unused)
{
    char path[160];

    forget();
    rmdir(kept);
    snprintf(path, sizeof path, "%s/moonloop", state);
    rmdir(path);
    return rmdir(state);
}

static uint64_t seed;

static double some(double most)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return most * (double)(seed >> 40) / (1 << 24);
}

/* What a new session finds, which must be what was acknowledged, or the line after it. */
static int back(Child *c, int least, int most, double until)
{
    char h[17];

    say(c, ":recover 1\n");
    say(c, TELL);
    while (answer(c, h) < 0 && now() < until && hear(c, until))
        continue;
    int at = answer(c, h);

    if (at < 0)
        return -1;
    if (at < least || at > most)
        fail_msg("%d came back of %d\n%s", at, least, c->text);
    if (at > 0)
        assert_string_equal(h, hash[at]);
    return at;
}

static void a_session_that_is_killed_comes_back(void **unused)
{
    static Child c;
    int n = getenv("ML_QUICK") ? 30 : 200, done = 0, most = 0, killed_at_work = 0;
    double usual = 0.1, patience = 0.01; /* seconds that bringing back takes, and lines */

    forget();
    for (int k = 0; k < n; k++) {
        bool early = done > 0 && some(3) < 1;
        double began = now();
        char h[17], z[8192];

        if (most >= LINES) {
            forget();
            done = most = 0;
        }
        begin(&c);
        if (early) { /* while it brings back */
            back(&c, done, most, began + some(1.5 * usual));
            end(&c, SIGKILL);
            continue;
        }
        int at = back(&c, done, most, began + 60);

        assert_true(at >= 0);
        usual = now() - began;
        size_t m = 0;

        for (most = at; most < LINES && most < at + 25;)
            m += add_line(z + m, sizeof z - m, ++most);
        say(&c, z); /* at once: it is not waited for */
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * some(patience))}, NULL);
        end(&c, SIGKILL);
        done = answer(&c, h);
        killed_at_work += done < most;
        patience *= done < most ? 1.1 : 0.9;
        /* Its answer says that the line was there, not the line that follows it. */
        most = done < most ? done + 1 : done;
    }
    print_message("%d of %d were killed at work\n", killed_at_work, n);
    assert_true(killed_at_work > n / 20); /* how many depends on what else runs */
}

/* The log that the first session left: a line for its head and one for each version. */
static size_t read_log(char *buf, size_t room, char *path, size_t path_room)
{
    DIR *d = opendir(kept);
    size_t n = 0;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (!strstr(e->d_name, ".autosave"))
            continue;
        snprintf(path, path_room, "%s/%s", kept, e->d_name);
        FILE *f = fopen(path, "r");

        n = f ? fread(buf, 1, room, f) : 0;
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    assert_true(n > 0 && n < room);
    return n;
}

static void a_log_that_was_damaged_gives_what_stands_before(void **unused)
{
    static Child c;
    static char log[1 << 20];
    char path[512];
    size_t all = read_log(log, sizeof log, path, sizeof path);
    int n = getenv("ML_QUICK") ? 20 : 100;

    for (int k = 0; k < n; k++) {
        size_t at = (size_t)some((double)all);
        bool cut = k % 2;
        char was = log[at];
        int before = -1; /* versions whose lines end before the place */
        FILE *f;

        for (size_t m = 0; m < at; m++)
            before += log[m] == '\n';
        forget();
        log[at] ^= (char)(1 << (int)some(8));
        f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(log, 1, cut ? at : all, f), cut ? at : all);
        fclose(f);
        log[at] = was;
        begin(&c);
        back(&c, before > 0 ? before : 0, before > 0 ? before : 0, now() + 60);
        say(&c, "print('\\nwell')\n");
        while (!strstr(c.text, "\nwell") && hear(&c, now() + 60))
            continue;
        assert_non_null(strstr(c.text, "\nwell"));
        end(&c, SIGKILL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_was_damaged_gives_what_stands_before),
        cmocka_unit_test(a_session_that_is_killed_comes_back),
    };
    const char *given = getenv("ML_SEED");

    seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid();
    print_message("ML_SEED=%llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, start, clean);
}
