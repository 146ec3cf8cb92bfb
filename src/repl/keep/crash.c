/*
 * crash - the program itself went wrong (crash.h).
 *
 * All that the handler needs is made beforehand: the path of the report, the stack it runs
 * on, the library that walks the stack. It calls nothing that is not safe in a handler.
 * Source: interaction 2, 9.
 */
#define _XOPEN_SOURCE 700 /* NOLINT: sigaltstack */
#include "repl/keep/crash.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sanitized.h"
#include "repl/keep/sessions.h"
#include "repl/screen/restore.h"

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
    size_t n = 0;

    while (z[n])
        n++;
    while (n > 0) {
        ssize_t k = write(fd, z, n);

        if (k < 0 && errno != EINTR)
            return;
        if (k > 0) {
            z += k;
            n -= (size_t)k;
        }
    }
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

static const char *name_of(int sig)
{
    switch (sig) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
    }
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
        fd = open(crash.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0) {
            make_folders();
            fd = open(crash.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        }
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

static void copy(char *to, size_t room, const char *from)
{
    size_t n = from ? strlen(from) : 0;

    if (n >= room)
        n = room - 1;
    if (n)
        memcpy(to, from, n);
    to[n] = '\0';
}

static void begin_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    (void)user;
    (void)ss;
    copy(crash.line, sizeof crash.line, e->text);
}

static void end_line(void *user, ml_Session *ss, const ml_LineEvent *e)
{
    (void)user;
    (void)ss;
    (void)e;
    copy(crash.line, sizeof crash.line, NULL);
}

void ml_crash_observe(ml_Session *ss)
{
    static const ml_Observer OBSERVER = {
        .name = "crash", .before_line = begin_line, .after_line = end_line};

    ml_session_observe(ss, &OBSERVER);
}

void ml_crash_autosave(const char *path)
{
    copy(crash.autosave, sizeof crash.autosave, path);
}

const char *ml_crash_saved(void)
{
    return crash.autosave[0] ? crash.autosave : NULL;
}

void ml_crash_watch(const char *version, const char *folder)
{
    static const int SIGNALS[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction sa = {.sa_sigaction = on_crash,
                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    stack_t stack = {.ss_sp = crash.stack, .ss_size = sizeof crash.stack};
    ml_Text t = {0};
    void *frame[1];

    if (ML_SANITIZED)
        return;
    copy(crash.version, sizeof crash.version, version);
    if (folder) {
        ml_sessions_name(folder, &t);
        ml_text_add(&t, ML_CRASH_SUFFIX);
        if (!t.bad && t.n < PATH)
            copy(crash.path, sizeof crash.path, ml_text_z(&t));
        ml_text_free(&t);
    }
    backtrace(frame, 1); /* opens the library that it needs, now */
    sigaltstack(&stack, NULL);
    sigemptyset(&sa.sa_mask);
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++)
        sigaction(SIGNALS[k], &sa, NULL);
}
