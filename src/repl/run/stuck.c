/*
 * stuck - Ctrl-C while something runs that does not look for it (stuck.h).
 *
 * Lua code, analyses and workers end within moments of Ctrl-C. What is still running a
 * second later is in a function of C that knows nothing of it, a finalizer of Lua, a
 * library: it cannot be left half done. So the user is told, and one more Ctrl-C puts the
 * program itself in its own place, which brings back the autosave. All that the handlers
 * need is made beforehand; they call nothing that is not safe there. Source: interaction
 * 6, 9.
 */
#include "repl/run/stuck.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "repl/bind/bind.h"
#include "repl/host/host.h"
#include "repl/job/jobs.h"
#include "repl/keep/crash.h"
#include "repl/screen/restore.h"
#include "repl/screen/screen.h"

#define VARIABLE "MOONLOOP_CONTINUES"

enum { PATIENCE = 1, PATH = 1024, ENTRY = PATH + sizeof VARIABLE + 1 };

extern char **environ;

static struct {     /* a signal handler has no other way to it */
    ml_Session *ss; /* NULL: nothing is watched */
    char **argv, **env;
    char entry[ENTRY]; /* VARIABLE=…, the first of env */
    char continues[PATH];
    volatile sig_atomic_t told;
} stuck;

static void put(const char *z)
{
    size_t n = strlen(z);

    if (write(STDERR_FILENO, z, n) < 0)
        return; /* there is nobody to tell */
}

/* A line of the prompt, or what comes before it: the init file, -e, a script. */
static bool at_work(void)
{
    return stuck.ss->interrupt && (stuck.ss->depth > 0 || !stuck.ss->prompting);
}

static void tell(void)
{
    if (ml_screen_is_open()) { /* one line over the panes, 40 columns at most */
        ml_screen_scribble(ml_crash_saved() ? "Ctrl-C again goes on from the autosave"
                                            : "Ctrl-C again ends moonloop");
        return;
    }
    put("\nCtrl-C: what runs now looks for it nowhere; it is being waited for.\n");
    put(ml_crash_saved()
            ? "Ctrl-C again ends it; the session goes on from its autosave: programs and\n"
              "steps are kept; variables of Lua, jobs and a :record are not.\n"
            : "Ctrl-C again ends moonloop; nothing of this session is autosaved.\n");
}

static void on_patience(int sig)
{
    int keep = errno;

    (void)sig;
    if (at_work()) {
        stuck.ss->interrupt = ML_INTERRUPT_HARD;
        ml_host_hard_stop(); /* as soon as Lua goes on */
        tell();
        stuck.told = 1;
    }
    errno = keep;
}

static void begin_anew(const char *path)
{
    size_t n = strlen(path);
    sigset_t none;

    if (n >= PATH)
        return;
    memcpy(stuck.entry + sizeof VARIABLE, path, n + 1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve("/proc/self/exe", stuck.argv, stuck.env);
}

bool ml_stuck_watched(void)
{
    return stuck.ss != NULL;
}

void ml_stuck_interrupt(void)
{
    const struct itimerval soon = {.it_value = {.tv_sec = PATIENCE}}, never = {0};
    const char *path = ml_crash_saved();

    if (!stuck.ss)
        return;
    if (!stuck.told || !at_work()) {
        stuck.told = 0;
        setitimer(ITIMER_REAL, &soon, NULL);
        return;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    ml_restore_all();
    ml_jobs_kill(stuck.ss);
    put("\n");
    if (path)
        begin_anew(path);
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT); /* comes when this handler returns */
}

/* ---- beforehand */

static char **arguments(void)
{
    char buf[4096], **v = NULL;
    ml_Text all = {0};
    FILE *f = fopen("/proc/self/cmdline", "r");
    size_t k, n = 0;

    while (f && (k = fread(buf, 1, sizeof buf, f)) > 0)
        ml_text_addn(&all, buf, k);
    if (f)
        fclose(f);
    for (size_t at = 0; at < all.n; at += strlen(all.p + at) + 1) {
        v = ml_heap_grow(v, (n + 2) * sizeof *v);
        v[n++] = all.p + at; /* the text is kept as long as the program runs */
        v[n] = NULL;
    }
    return v;
}

void ml_stuck_watch(ml_Session *ss)
{
    struct sigaction sa = {.sa_handler = on_patience};
    const char *path = getenv(VARIABLE);
    size_t n = 0, k = 1;

    if (path && strlen(path) < PATH)
        memcpy(stuck.continues, path, strlen(path) + 1);
    unsetenv(VARIABLE);
    while (environ[n])
        n++;
    stuck.env = ml_heap_zalloc((n + 2) * sizeof *stuck.env);
    stuck.env[0] = stuck.entry;
    memcpy(stuck.entry, VARIABLE "=", sizeof VARIABLE);
    for (char **e = environ; *e && k <= n; e++)
        stuck.env[k++] = *e;
    stuck.argv = arguments();
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, NULL);
    if (stuck.argv)
        stuck.ss = ss;
}

const char *ml_stuck_autosave(void)
{
    return stuck.continues[0] ? stuck.continues : NULL;
}
