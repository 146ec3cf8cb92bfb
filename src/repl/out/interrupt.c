/*
 * interrupt - Ctrl-C (interrupt.h).
 *
 * Lua code, analyses and workers look at the flag and end within moments. A pattern of Lua
 * that takes hours, a finalizer, a library look nowhere and cannot be left half done: they
 * end with the program, whose autosave is on disk. An idle prompt has handlers of its own, and
 * the panes answer when they rest, so that only what hangs is ever ended. The handler calls
 * nothing that is not safe there. Source: interaction 9.
 */
#include "repl/out/interrupt.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "repl/screen/echo.h"
#include "repl/screen/restore.h"
#include "repl/screen/screen.h"

enum { AGAIN = 1000, PATIENCE = 3000, STATUS = 130 }; /* milliseconds, but for the last */

static volatile sig_atomic_t flag;
static struct { /* a signal handler has no other way to it */
    volatile sig_atomic_t fatal, child, came;
    int unanswered; /* SIGINTs since the flag was 0 */
    int64_t last;   /* when the last one came */
    const char *(*saved)(void);
} at;

/* ---- in the handler */

static void put(const char *z)
{
    size_t n = strlen(z);

    if (write(STDERR_FILENO, z, n) < 0)
        return; /* there is nobody to tell */
}

static void say_what_is_next(void)
{
    bool saved = at.saved() != NULL;

    if (ml_screen_is_open()) { /* one line over the panes, 40 columns at most */
        ml_screen_scribble(saved ? "Ctrl-C again ends; :recover brings back"
                                 : "Ctrl-C again ends moonloop");
        return;
    }
    bool held = ml_echo_hold(); /* ^C may be shown yet */

    put("\nCtrl-C: what runs now has not looked for it yet. Once more within three "
        "seconds\n");
    put(saved ? "ends moonloop; the session is autosaved, and :recover brings it back.\n"
              : "ends moonloop; nothing of this session is autosaved.\n");
    ml_echo_release(held);
}

static _Noreturn void end_program(void)
{
    const char *path = at.saved();

    ml_restore_all();
    bool held = ml_echo_hold();

    put("\nmoonloop: ended by Ctrl-C.\n");
    if (path) {
        put("The session is saved in ");
        put(path);
        put("; :recover brings it back.\n");
    }
    ml_echo_release(held);
    _exit(STATUS);
}

static void on_interrupt(int sig)
{
    int keep = errno;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000, since = now - at.last;

    at.last = now;
    at.came = 1;
    if (at.fatal) {
        signal(sig, SIG_DFL);
        raise(sig); /* comes when this handler returns */
    } else if (at.child) {
        at.unanswered = 0;
        flag = ML_INTERRUPT;
    } else {
        at.unanswered = flag ? at.unanswered + 1 : 1;
        if (at.unanswered > 2 && since <= PATIENCE)
            end_program();
        flag = at.unanswered > 1 || since <= AGAIN ? ML_INTERRUPT_HARD : ML_INTERRUPT;
        if (at.unanswered > 1)
            say_what_is_next();
    }
    errno = keep;
}

/* ---- everywhere else */

void ml_interrupt_watch(bool batch, const char *(*saved)(void))
{
    struct sigaction sa = {.sa_handler = on_interrupt};

    at.fatal = batch;
    at.saved = saved;
    at.last = -PATIENCE;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
}

bool ml_interrupted(void)
{
    return flag != 0;
}

void ml_interrupt_answer(void)
{
    flag = 0;
}

void ml_interrupt_again(void)
{
    flag = ML_INTERRUPT;
}

volatile sig_atomic_t *ml_interrupt_flag(void)
{
    return &flag;
}

void ml_interrupt_guard(ml_Ctx *cx)
{
    ml_ctx_set_cancel(cx, &flag);
}

bool ml_interrupt_fatal(bool on)
{
    bool was = at.fatal;

    at.fatal = on;
    return was;
}

void ml_interrupt_child(bool runs)
{
    at.child = runs;
}

void ml_interrupt_begin_line(void)
{
    at.came = 0;
}

bool ml_interrupt_came(void)
{
    return at.came;
}

void ml_interrupt_note(bool came)
{
    at.came = came;
}
