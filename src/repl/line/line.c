/*
 * line - reading what is typed at a terminal: signals, plain reading, and the way to the
 * editor.
 *
 * One poll loop (loop) serves the keys, a pipe into which the signal handlers write, and
 * what others wait for. Signals are ours while a line is read and the caller's otherwise,
 * and so is the terminal. Source: interaction 4, 9.
 */
#include "repl/line/line.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "config.h"
#include "moonloop/core/base/arena.h"
#include "repl/job/jobs.h"
#include "repl/keep/history.h"
#include "repl/line/line_impl.h"
#include "repl/out/loop.h"
#include "repl/run/input.h"
#include "repl/screen/echo.h"
#include "repl/screen/terminal.h"

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};

ml_LineState ml_line_io;

static struct {
    bool saved; /* `found` holds the terminal's state */
    struct termios found;
    int signals[2]; /* the pipe; -1 before the first line */
    struct sigaction was[ML_COUNT(SIGNALS)];
    ml_Text rest; /* plain reading: what was read past the line */
    const char *prompt;
    bool ended;
} io = {.signals = {-1, -1}};

/* ---- signals */

static void on_signal(int sig)
{
    int keep = errno;
    unsigned char c = (unsigned char)sig;

    if (write(io.signals[1], &c, 1) < 0) {
        /* The pipe is full of signals that have not been looked at: one more says nothing.
         */
    }
    errno = keep;
}

static bool open_pipe(void)
{
    if (io.signals[0] >= 0)
        return true;
    if (pipe(io.signals) != 0)
        return false;
    for (int k = 0; k < 2; k++) {
        fcntl(io.signals[k], F_SETFD, FD_CLOEXEC);
        fcntl(io.signals[k], F_SETFL, O_NONBLOCK);
    }
    ml_line_io.signal_fd = io.signals[0];
    return true;
}

static bool is_taken(int sig)
{
    /* plain: as the kernel does */
    return ml_line_io.editor || (sig != SIGTSTP && sig != SIGCONT);
}

void ml_line_take_signals(void)
{
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++) {
        struct sigaction sa = {.sa_handler = on_signal};

        sigemptyset(&sa.sa_mask);
        sigaction(SIGNALS[k], NULL, &io.was[k]);
        if (is_taken(SIGNALS[k]) && io.was[k].sa_handler != SIG_IGN)
            sigaction(SIGNALS[k], &sa, NULL);
    }
}

void ml_line_give_signals(void)
{
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++)
        sigaction(SIGNALS[k], &io.was[k], NULL);
}

/* Whether the kernel will not stop us: nobody in this session could continue us. */
static bool has_no_shell(void)
{
    return getsid(getppid()) != getsid(0);
}

#define NO_SHELL "Ctrl-Z: no shell stands behind this program; it goes on"

/* While a line runs. */
static void on_no_shell(int sig)
{
    static const char TEXT[] = "\n" NO_SHELL "\n";

    int keep = errno;
    bool held = ml_echo_hold(); /* ^Z may be shown yet */
    ssize_t ignored = write(STDERR_FILENO, TEXT, sizeof TEXT - 1);

    (void)sig;
    (void)ignored; /* the terminal may be gone */
    ml_echo_release(held);
    errno = keep;
}

bool ml_line_may_stop(void)
{
    if (has_no_shell())
        ml_loop_announce(NO_SHELL);
    return !has_no_shell();
}

void ml_line_stop(void)
{
    sigset_t only, before;

    ml_line_give_signals();
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &only, &before);
    raise(SIGTSTP); /* returns when continued */
    sigprocmask(SIG_SETMASK, &before, NULL);
    ml_line_take_signals();
}

void ml_line_restore(void)
{
    const char *off = ml_escape(ML_CAP_PASTE_OFF);

    if (!io.saved)
        return;
    tcsetattr(STDIN_FILENO, TCSANOW, &io.found);
    if (ml_line_io.editor && write(STDOUT_FILENO, off, strlen(off)) < 0)
        return; /* the terminal is gone */
}

static void handle_signal(int sig, bool *interrupted)
{
    if (sig == SIGINT)
        *interrupted = true;
    if (sig == SIGWINCH)
        ml_out_measure(&ml_line_io.ss->out,
                       (int)ml_setting_int(&ml_line_io.ss->set, ML_SET_width));
#if HAVE_READLINE
    if (ml_line_io.editor)
        ml_editor_signal(sig);
#endif
    if (sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT) {
        ml_line_restore();
        ml_line_give_signals();
        raise(sig);
    }
}

bool ml_line_wait(bool *interrupted)
{
    unsigned char sig;
    bool key = ml_loop_wait(STDIN_FILENO, io.signals[0], -1, NULL);

    while (!*interrupted && read(io.signals[0], &sig, 1) == 1)
        handle_signal(sig, interrupted);
    return !*interrupted && key;
}

/* ---- plain reading */

static char *cut_line(size_t n, size_t skip)
{
    char *line = ml_heap_zalloc(n + 1);

    if (n)
        memcpy(line, io.rest.p, n);
    io.rest.n -= n + skip;
    if (io.rest.n)
        memmove(io.rest.p, io.rest.p + n + skip, io.rest.n);
    return line;
}

/* At a terminal: below the prompt, which stands there once more then. */
static void announce_below(const char *text, void *user)
{
    ml_Out *out = &ml_line_io.ss->out;

    (void)user;
    bool seen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);

    if (seen)
        ml_err(out, "\n");
    ml_err_line(out, text);
    if (seen)
        ml_out(out, io.prompt);
}

static char *plain_line(const char *prompt, bool *interrupted)
{
    char buf[4096];
    char *line = NULL, *end;

    ml_out(&ml_line_io.ss->out, prompt);
    ml_line_take_signals();
    ml_loop_set_announcer(announce_below, NULL);
    io.prompt = prompt;
    for (;;) {
        if (io.rest.n && (end = memchr(io.rest.p, '\n', io.rest.n)) != NULL) {
            line = cut_line((size_t)(end - io.rest.p), 1);
            break;
        }
        if (io.ended) {
            line = io.rest.n ? cut_line(io.rest.n, 0) : NULL;
            break;
        }
        if (!ml_line_wait(interrupted)) {
            if (!*interrupted)
                continue;
            ml_text_clear(&io.rest); /* the kernel has dropped its part of the line */
            ml_out(&ml_line_io.ss->out, "\n");
            break;
        }
        ssize_t k = read(STDIN_FILENO, buf, sizeof buf);

        if (k > 0)
            ml_text_addn(&io.rest, buf, (size_t)k);
        else if (k == 0 || (errno != EINTR && errno != EAGAIN))
            io.ended = true;
    }
    ml_loop_set_announcer(NULL, NULL);
    ml_line_give_signals();
    return line;
}

/* ---- what others call */

static bool can_edit(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           !ml_streq(term, "dumb");
}

static void note(ml_Session *ss, ml_Text *why)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "note: %s", ml_text_z(why));
    ml_err_line(&ss->out, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_line_init(ml_Session *ss)
{
    ml_Text why = {0};

    ml_line_io.ss = ss;
    if (!ss->history)
        ss->history = ml_history_new();
    if (!ss->no_history && !ss->private_ && !ml_history_attach(ss->history, NULL, &why))
        note(ss, &why);
    ml_text_free(&why);
    io.saved = tcgetattr(STDIN_FILENO, &io.found) == 0;
    if (io.saved && has_no_shell()) {
        struct sigaction sa = {.sa_handler = on_no_shell, .sa_flags = SA_RESTART};

        sigemptyset(&sa.sa_mask);
        sigaction(SIGTSTP, &sa, NULL);
    }
#if HAVE_READLINE
    ml_line_io.editor = can_edit() && ml_editor_start();
#else
    (void)can_edit;
#endif
}

char *ml_line_read(ml_Session *ss, const char *prompt, bool more, bool *interrupted)
{
    char *line;
    ml_Text shown = {0};

    *interrupted = false;
    ml_line_io.ss = ss;
    ml_line_io.more = more;
    if (!open_pipe()) {
        ml_session_error(ss, ML_E_OUT_OF_MEMORY, "pipe: %s", strerror(errno));
        return NULL;
    }
    if (!ml_line_io.editor && !more && ml_jobs_unseen(ss, false, &shown)) {
        ml_text_add(&shown, ", :jobs shows it"); /* there is no row below the line */
        ml_err_line(&ss->out, ml_text_z(&shown));
        ml_text_clear(&shown);
    }
    ml_input_mark_invisible(prompt, ml_line_io.editor, &shown);
#if HAVE_READLINE
    line = ml_line_io.editor ? ml_editor_read(ml_text_z(&shown), interrupted)
                             : plain_line(ml_text_z(&shown), interrupted);
#else
    line = plain_line(ml_text_z(&shown), interrupted);
#endif
    ml_text_free(&shown);
    if (*interrupted) {
        ml_line_free(line);
        return NULL;
    }
    return line;
}

void ml_line_free(char *line)
{
    ml_heap_free(line);
}

void ml_line_history_add(ml_Session *ss, const char *entry)
{
    ml_Text why = {0};

    if (!ml_history_add(ss->history, entry, &why))
        note(ss, &why);
    ml_text_free(&why);
}

void ml_line_history_judge(ml_Session *ss, const char *entry, bool ok)
{
    ml_Text why = {0};

    if (!ml_history_judge(ss->history, entry, ok, &why))
        note(ss, &why);
    ml_text_free(&why);
}

void ml_line_end(ml_Session *ss)
{
    (void)ss;
#if HAVE_READLINE
    if (ml_line_io.editor)
        ml_editor_end();
#endif
    ml_text_free(&io.rest);
    for (int k = 0; k < 2 && io.signals[0] >= 0; k++)
        close(io.signals[k]);
    io.signals[0] = io.signals[1] = -1;
    io.saved = false;
    ml_line_io = (ml_LineState){0};
}
