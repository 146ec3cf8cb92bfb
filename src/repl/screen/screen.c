/*
 * screen - the terminal of the panes: its modes, its signals, what its keys send. What it is
 * to show goes through the writer; bytes that come in are decoded by decode.c, so that keys
 * and mouse are the same everywhere.
 *
 * Invariant: whatever ends the program or stops it (exit, a signal, Ctrl-Z), the terminal
 * is as it was found: what that takes is worked out when it is opened, and is safe in a
 * signal handler. Source: interaction 9, 10.
 */
#define _DEFAULT_SOURCE /* NOLINT: SIGWINCH, TIOCGWINSZ */

#include "repl/screen/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "repl/screen/restore.h"
#include "repl/screen/write_all.h"
#include "repl/screen/writer.h"

enum { ESCAPE_MS = 25, SIGNALS = 3 };

typedef struct Bytes { /* for a handler */
    char z[256];
    size_t n;
} Bytes;

/* The terminal belongs to the process, and so does this: handlers have no other way. */
static struct {
    volatile sig_atomic_t open;
    int fd;
    bool mouse, registered;
    bool below;    /* among other text, from the row of the cursor on */
    bool returned; /* from a stop: where the cursor is now, a row begins */
    struct termios found, ours;
    Bytes enter, leave;   /* what takes the screen, also after a stop, and gives it back */
    Bytes last_row, back; /* what goes to its last row, empty, and back */
    int signals[2];       /* a pipe: one byte for each signal */
    struct sigaction was[SIGNALS];
    ml_Theme theme;
    ml_Depth depth;
    ml_Decoder keys;
    ml_Writer writer;
    volatile sig_atomic_t scribbled; /* a handler has written over what is shown */
} tty = {.fd = -1, .signals = {-1, -1}};

static const int CAUGHT[SIGNALS] = {SIGWINCH, SIGTSTP, SIGCONT};

/* ---- restoring */

static void put_bytes(const char *p, size_t n)
{
    (void)ml_write_all(tty.fd, p, n); /* a terminal that is gone: reading tells */
}

void ml_screen_restore(void)
{
    int error = errno;

    if (!tty.open)
        return;
    put_bytes(tty.leave.z, tty.leave.n);
    if (tty.below && tty.writer.valid) /* the cursor rests in the last row */
        put_bytes("\r\n", 2);
    tcsetattr(tty.fd, TCSANOW, &tty.found);
    errno = error;
}

void ml_screen_scribble(const char *z)
{
    if (!tty.open)
        return;
    put_bytes(tty.last_row.z, tty.last_row.n);
    put_bytes(z, strlen(z));
    put_bytes(tty.back.z, tty.back.n);
    tty.scribbled = 1;
}

static void wake(char c)
{
    int error = errno;
    ssize_t ignored = write(tty.signals[1], &c, 1);

    (void)ignored;
    errno = error;
}

static void on_signal(int sig)
{
    struct sigaction again, usual = {.sa_handler = SIG_DFL};

    if (sig == SIGWINCH) {
        wake('w');
        return;
    }
    if (sig == SIGCONT) { /* also after SIGSTOP, which nobody sees */
        tcsetattr(tty.fd, TCSANOW, &tty.ours);
        put_bytes(tty.enter.z, tty.enter.n);
        wake('c');
        return;
    }
    ml_screen_restore();
    sigemptyset(&usual.sa_mask);
    sigaction(SIGTSTP, &usual, &again);
    raise(SIGTSTP); /* stops here: SA_NODEFER */
    sigaction(SIGTSTP, &again, NULL);
}

static void catch_signals(void)
{
    for (int k = 0; k < SIGNALS; k++) {
        struct sigaction sa = {.sa_handler = on_signal};

        sigemptyset(&sa.sa_mask);
        sa.sa_flags = CAUGHT[k] == SIGTSTP ? SA_NODEFER : SA_RESTART;
        sigaction(CAUGHT[k], &sa, &tty.was[k]);
    }
}

static void let_signals(void)
{
    for (int k = 0; k < SIGNALS; k++)
        sigaction(CAUGHT[k], &tty.was[k], NULL);
}

/* ---- opening */

static void note_bytes(Bytes *to, ml_Text *t)
{
    to->n = t->n < sizeof to->z ? t->n : sizeof to->z;
    if (to->n)
        memcpy(to->z, t->p, to->n);
    ml_text_clear(t);
}

static void note_sequences_below(const ml_Terminal *to)
{
    static const ml_Cap LEAVE[] = {ML_CAP_NORMAL, ML_CAP_COLORS_OFF, ML_CAP_CURSOR_ON,
                                   ML_CAP_KEYPAD_OFF};
    ml_Text t = {0};

    ml_terminal_add(to, ML_CAP_KEYPAD_ON, 0, 0, &t);
    ml_terminal_add(to, ML_CAP_CURSOR_OFF, 0, 0, &t);
    note_bytes(&tty.enter, &t);
    for (size_t k = 0; k < ML_COUNT(LEAVE); k++)
        ml_terminal_add(to, LEAVE[k], 0, 0, &t);
    note_bytes(&tty.leave, &t);
    tty.last_row.n = tty.back.n = 0;
    ml_text_free(&t);
}

static void note_sequences_whole(const ml_Terminal *to)
{
    static const ml_Cap ENTER[] = {ML_CAP_SCREEN_ON, ML_CAP_KEYPAD_ON, ML_CAP_PASTE_ON},
                        LEAVE[] = {ML_CAP_PASTE_OFF, ML_CAP_NORMAL, ML_CAP_COLORS_OFF,
                                   ML_CAP_CURSOR_ON, ML_CAP_KEYPAD_OFF};
    ml_Text t = {0};

    for (size_t k = 0; k < ML_COUNT(ENTER); k++)
        ml_terminal_add(to, ENTER[k], 0, 0, &t);
    if (tty.mouse)
        ml_terminal_add(to, ML_CAP_MOUSE_ON, 0, 0, &t);
    note_bytes(&tty.enter, &t);
    if (tty.mouse)
        ml_terminal_add(to, ML_CAP_MOUSE_OFF, 0, 0, &t);
    for (size_t k = 0; k < ML_COUNT(LEAVE); k++)
        ml_terminal_add(to, LEAVE[k], 0, 0, &t);
    ml_terminal_add(to, ML_CAP_SCREEN_OFF, 0, 0, &t);
    if (!to->cap[ML_CAP_SCREEN_OFF]) /* one screen only: what was shown is over */
        ml_terminal_add(to, ML_CAP_CLEAR, 0, 0, &t);
    note_bytes(&tty.leave, &t);
    ml_terminal_add(to, ML_CAP_SAVE, 0, 0, &t);
    ml_terminal_add(to, ML_CAP_GO, 998, 0, &t);
    ml_terminal_add(to, ML_CAP_CLEAR_ROW, 0, 0, &t);
    note_bytes(&tty.last_row, &t);
    ml_terminal_add(to, ML_CAP_RESTORE, 0, 0, &t);
    note_bytes(&tty.back, &t);
    ml_text_free(&t);
}

static void note_sequences(const ml_Terminal *to)
{
    if (tty.below)
        note_sequences_below(to);
    else
        note_sequences_whole(to);
    tty.keys = (ml_Decoder){.n = 0};
    for (size_t k = 0; k < ML_KEYS_OF_ENTRY; k++)
        ml_decode_extra(&tty.keys, to->key[k], ml_terminal_key_name(k));
}

static bool open_pipe(void)
{
    if (tty.signals[0] >= 0)
        return true;
    if (pipe(tty.signals) != 0)
        return false;
    for (int k = 0; k < 2; k++) {
        fcntl(tty.signals[k], F_SETFL, O_NONBLOCK);
        fcntl(tty.signals[k], F_SETFD, FD_CLOEXEC);
    }
    return true;
}

static bool fail(ml_Text *why, const char *what)
{
    ml_text_fmt(why, "%s (%s)", what, strerror(errno));
    if (tty.fd >= 0)
        close(tty.fd);
    tty.fd = -1;
    return false;
}

static bool find_terminal(ml_Text *why)
{
    bool here = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    tty.fd = here ? dup(STDIN_FILENO) : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (tty.fd < 0)
        return fail(why, "wants a terminal, and there is none");
    if (tcgetattr(tty.fd, &tty.found) != 0)
        return fail(why, "cannot use the terminal");
    return true;
}

void ml_screen_size(int *w, int *h)
{
    struct winsize size = {0};

    if (ioctl(tty.fd, TIOCGWINSZ, &size) != 0)
        size.ws_col = size.ws_row = 0;
    *w = size.ws_col == 0 ? 80 : size.ws_col > 1000 ? 1000 : size.ws_col;
    *h = size.ws_row == 0 ? 24 : size.ws_row > 500 ? 500 : size.ws_row;
}

void ml_screen_theme(const ml_ThemeDef *theme)
{
    ml_theme_make(&tty.theme, theme, tty.depth);
    ml_writer_forget(&tty.writer);
}

static bool open_as(const ml_ThemeDef *theme, bool below, bool mouse, bool no_color,
                    ml_Text *why)
{
    const ml_Terminal *to = ml_terminal();

    if (tty.open)
        return true;
    if (to->lacks) {
        ml_text_add(why, to->lacks);
        return false;
    }
    if (!find_terminal(why))
        return false;
    if (!open_pipe())
        return fail(why, "cannot make a pipe");
    tty.mouse = mouse;
    tty.below = tty.writer.among = below;
    tty.depth = no_color ? ML_DEPTH_NONE : ml_theme_depth(to->colors);
    /* as many as its entry says, whatever COLORTERM and TERM promise */
    if (tty.depth == ML_DEPTH_TRUE && to->colors < 1 << 24)
        tty.depth = ML_DEPTH_256;
    if (tty.depth == ML_DEPTH_256 && to->colors < 256)
        tty.depth = to->colors >= 16 ? ML_DEPTH_16 : ML_DEPTH_8;
    ml_screen_theme(theme);
    tty.writer.to = to;
    note_sequences(to);
    tty.ours = tty.found;
    tty.ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL);
    tty.ours.c_lflag |= ISIG;
    tty.ours.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR);
    tty.ours.c_cc[VMIN] = 1;
    tty.ours.c_cc[VTIME] = 0;
    tty.ours.c_cc[VQUIT] = _POSIX_VDISABLE;
    if (!below) /* there something runs from the beginning to the end */
        tty.ours.c_cc[VINTR] = _POSIX_VDISABLE;
    tcsetattr(tty.fd, TCSADRAIN, &tty.ours);
    put_bytes(tty.enter.z, tty.enter.n);
    tty.open = 1;
    catch_signals();
    ml_restore_by(ml_screen_restore);
    if (!tty.registered)
        atexit(ml_screen_restore);
    tty.registered = true;
    return true;
}

bool ml_screen_open(const ml_ThemeDef *theme, bool mouse, bool no_color, ml_Text *why)
{
    return open_as(theme, false, mouse, no_color, why);
}

bool ml_screen_open_below(const ml_ThemeDef *theme, bool no_color, ml_Text *why)
{
    return open_as(theme, true, false, no_color, why);
}

void ml_screen_close(void)
{
    if (!tty.open)
        return;
    let_signals();
    ml_screen_restore();
    tty.open = 0;
    close(tty.fd);
    ml_writer_forget(&tty.writer);
    tty.fd = -1;
}

/* ---- showing */

bool ml_screen_show(const ml_Grid *g, bool whole)
{
    ml_Text t = {0};

    if (!tty.open)
        return false;
    if (tty.below && whole && !tty.returned)
        ml_writer_resized(&tty.writer, g->w, &t);
    else if (whole || tty.scribbled)
        ml_writer_forget(&tty.writer);
    tty.returned = false;
    tty.scribbled = 0;
    bool changed = ml_writer_show(&tty.writer, g, &tty.theme, &t);

    put_bytes(ml_text_z(&t), t.n);
    ml_text_free(&t);
    return changed;
}
/* ---- events */

int ml_screen_fd(void)
{
    return tty.fd;
}

int ml_screen_signal_fd(void)
{
    return tty.signals[0];
}

bool ml_screen_is_open(void)
{
    return tty.open;
}

void ml_screen_busy(bool on)
{
    struct termios t = tty.ours;

    if (!tty.open)
        return;
    if (on)
        t.c_cc[VINTR] = tty.found.c_cc[VINTR];
    tcsetattr(tty.fd, TCSANOW, &t);
}

/* 1: there are bytes, 0: none yet, -1: the terminal is gone. */
static int wait_bytes(int ms)
{
    struct pollfd p = {.fd = tty.fd, .events = POLLIN};
    int k = poll(&p, 1, ms);

    if (k <= 0)
        return 0;
    return p.revents & POLLIN ? 1 : -1;
}

static bool read_bytes(void)
{
    char buf[256];
    size_t room = ml_decode_room(&tty.keys);
    ssize_t k = room ? read(tty.fd, buf, room < sizeof buf ? room : sizeof buf) : 0;

    if (k > 0)
        ml_decode_add(&tty.keys, buf, (size_t)k);
    return k > 0 || room == 0 || (k < 0 && (errno == EINTR || errno == EAGAIN));
}

bool ml_screen_changed(void)
{
    bool changed = false;
    char c;

    while (read(tty.signals[0], &c, 1) == 1) {
        tty.returned = tty.returned || c == 'c';
        changed = true;
    }
    return changed;
}

size_t ml_screen_events(ml_Event *out, size_t n, bool *ended)
{
    size_t have = 0;

    *ended = false;
    if (ml_screen_changed()) /* the size may have changed while it was stopped, too */
        out[have++] = (ml_Event){.kind = ML_EVENT_RESIZE};
    while (have < n) {
        ml_Event e = ml_decode_next(&tty.keys, false);
        int more;

        if (e.kind == ML_EVENT_NONE) {
            more = wait_bytes(tty.keys.n ? ESCAPE_MS : 0);
            if (more > 0 && read_bytes())
                continue;
            if (more != 0) {
                *ended = true;
                return have;
            }
            e = ml_decode_next(&tty.keys, true);
            if (e.kind == ML_EVENT_NONE)
                return have;
        }
        out[have++] = e;
    }
    return have;
}

void ml_screen_clipboard(const char *text)
{
    static const char DIGITS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)text;
    size_t n = strlen(text);
    ml_Text t = {0};

    if (!tty.open || !tty.writer.to->cap[ML_CAP_CLIPBOARD])
        return;
    ml_terminal_add(tty.writer.to, ML_CAP_CLIPBOARD, 0, 0, &t);
    for (size_t k = 0; k < n; k += 3) {
        uint32_t v = (uint32_t)p[k] << 16 | (k + 1 < n ? (uint32_t)p[k + 1] << 8 : 0) |
                     (k + 2 < n ? p[k + 2] : 0);

        ml_text_char(&t, DIGITS[v >> 18 & 63]);
        ml_text_char(&t, DIGITS[v >> 12 & 63]);
        ml_text_char(&t, k + 1 < n ? DIGITS[v >> 6 & 63] : '=');
        ml_text_char(&t, k + 2 < n ? DIGITS[v & 63] : '=');
    }
    ml_text_char(&t, '\a');
    put_bytes(ml_text_z(&t), t.n);
    ml_text_free(&t);
}
