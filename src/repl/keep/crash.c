/*
 * crash - the program itself went wrong (crash.h).
 *
 * All that the handler needs is made beforehand: the path of the report, the stack it runs
 * on, the library that walks the stack. It calls nothing that is not safe in a handler.
 * Source: interaction 2, 9.
 */
#define _XOPEN_SOURCE 700 /* NOLINT: sigaltstack */
#include "repl/keep/crash.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moonloop/core/base/sanitized.h"
#include "repl/keep/sessions.h"
#include "repl/screen/restore.h"
#include "repl/screen/write_all.h"

enum {
    FRAMES = 64,
    VERSION = 128,
    LINE = 2048,
    PATH = 1024,
    STACK = 64 * 1024,
    STATUS = 4
};

static struct { /* a signal handler has no other way to it */
    char version[VERSION], path[PATH], autosave[PATH], line[LINE];
    volatile sig_atomic_t entered;
    char stack[STACK];
} crash;

/* ---- in the handler */

static void put(int fd, const char *z)
{
    ml_write_all(fd, z, strlen(z));
}

static void put_hex(int fd, uintptr_t v)
{
    char z[2 + 2 * sizeof v + 1];
    size_t n = 2 * sizeof v;

    z[0] = '0';
    z[1] = 'x';
    for (size_t k = 0; k < n; k++)
        z[2 + k] = "0123456789abcdef"[(v >> (4 * (n - 1 - k))) & 15];
    z[2 + n] = '\0';
    put(fd, z);
}

static const struct Signal {
    int number;
    const char *name;
} SIGNALS[] = {{SIGSEGV, "SIGSEGV"},
               {SIGBUS, "SIGBUS"},
               {SIGFPE, "SIGFPE"},
               {SIGILL, "SIGILL"},
               {SIGABRT, "SIGABRT"}};

static const char *name_of(int sig)
{
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++)
        if (SIGNALS[k].number == sig)
            return SIGNALS[k].name;
    return "a signal";
}

/* Makes the folders of the report, each from the one above. */
static void make_folders(void)
{
    for (char *p = crash.path + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(crash.path, 0700); /* most are there */
            *p = '/';
        }
}

static void describe(int fd, int sig, const siginfo_t *info)
{
    void *frame[FRAMES];
    int n = backtrace(frame, FRAMES);

    put(fd, crash.version);
    put(fd, "\nended by ");
    put(fd, name_of(sig));
    if (sig == SIGSEGV || sig == SIGBUS) {
        put(fd, " at ");
        put_hex(fd, (uintptr_t)info->si_addr);
    }
    put(fd, "\nline: ");
    put(fd, crash.line[0] ? crash.line : "(none was being run)");
    put(fd, "\nautosave: ");
    put(fd, crash.autosave[0] ? crash.autosave : "(none)");
    put(fd, "\nstack:\n");
    backtrace_symbols_fd(frame, n, fd);
}

static void on_crash(int sig, siginfo_t *info, void *context)
{
    int fd = -1;

    (void)context;
    if (crash.entered++) /* in here: what is written by now has to do */
        _exit(STATUS);
    ml_restore_all();
    if (crash.path[0]) {
        make_folders();
        fd = open(crash.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    put(STDERR_FILENO, "\nmoonloop: internal error: ");
    put(STDERR_FILENO, name_of(sig));
    if (fd >= 0) {
        put(STDERR_FILENO, "; the report is ");
        put(STDERR_FILENO, crash.path);
    }
    put(STDERR_FILENO, "\n");
    if (crash.autosave[0]) {
        put(STDERR_FILENO, "The session is saved in ");
        put(STDERR_FILENO, crash.autosave);
        put(STDERR_FILENO, "; :recover brings it back.\n");
    }
    describe(fd >= 0 ? fd : STDERR_FILENO, sig, info);
    _exit(STATUS);
}

/* ---- beforehand */

static void begin_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    (void)user;
    (void)ss;
    snprintf(crash.line, sizeof crash.line, "%s", e->text);
}

static void end_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    (void)user;
    (void)ss;
    (void)e;
    crash.line[0] = '\0';
}

void ml_crash_observe(ml_Session *ss)
{
    static const ml_Observer OBSERVER = {
        .name = "crash", .before_line = begin_line, .after_line = end_line};

    ml_session_observe(ss, &OBSERVER);
}

void ml_crash_autosave(const char *path)
{
    snprintf(crash.autosave, sizeof crash.autosave, "%s", path ? path : "");
}

const char *ml_crash_saved(void)
{
    return crash.autosave[0] ? crash.autosave : NULL;
}

void ml_crash_watch(const char *version, bool reports)
{
    struct sigaction sa = {.sa_sigaction = on_crash,
                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    stack_t stack = {.ss_sp = crash.stack, .ss_size = sizeof crash.stack};
    ml_Text t = {0};
    void *frame[1];

    if (ML_SANITIZED)
        return;
    snprintf(crash.version, sizeof crash.version, "%s", version);
    if (reports && ml_sessions_name(&t)) {
        ml_text_add(&t, ML_CRASH_SUFFIX);
        snprintf(crash.path, sizeof crash.path, "%s", t.n < PATH ? t.p : "");
    }
    ml_text_free(&t);
    backtrace(frame, 1); /* opens the library that it needs, now */
    sigaltstack(&stack, NULL);
    sigemptyset(&sa.sa_mask);
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++)
        sigaction(SIGNALS[k].number, &sa, NULL);
}
