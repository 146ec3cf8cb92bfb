/*
 * curses - the terminal: the one place that includes ncurses. It puts cells where they
 * differ, and knows the terminal's entry; bytes that come in are decoded by decode.c, so
 * that keys and mouse are the same everywhere.
 *
 * Invariant: whatever ends the program or stops it (exit, a signal, Ctrl-Z), the terminal
 * is as it was found: what that takes is worked out when it is opened, and is safe in a
 * signal handler. Source: interaction 9, 10.
 */
#define _XOPEN_SOURCE_EXTENDED 1   /* NOLINT: wide characters */
#define _XOPEN_SOURCE          700 /* NOLINT: wcwidth, SIGWINCH */
#define _DEFAULT_SOURCE            /* NOLINT: SIGWINCH, TIOCGWINSZ */
#define NCURSES_WIDECHAR       1

#include "repl/screen/screen.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "repl/screen/restore.h"

#if HAVE_CURSES
#include <curses.h>
#include <term.h>

enum { ESCAPE_MS = 25, PAIRS = 255, SIGNALS = 3 };

/* The terminal belongs to the process, and so does this: handlers have no other way. */
static struct {
    volatile sig_atomic_t open;
    int fd;
    bool owns_fd, mouse, registered;
    FILE *file;
    struct termios found, ours;
    char leave[256]; /* what puts the screen back */
    volatile sig_atomic_t n_leave;
    char enter[256]; /* what takes it again after a stop */
    size_t n_enter;
    int signals[2]; /* a pipe: one byte for each signal */
    struct sigaction was[SIGNALS];
    ml_Theme theme;
    ml_Depth depth;
    ml_Decoder keys;
    ml_Grid shown;
    bool anything;                   /* shown is on the screen */
    volatile sig_atomic_t scribbled; /* but for what a handler wrote over it */
    SCREEN *screen;
    TERMINAL *before; /* what terminfo was asked about before, by Readline */
    struct {
        int fg, bg;
    } pairs[PAIRS];
    int n_pairs;
} tty = {.fd = -1, .signals = {-1, -1}};

static const int CAUGHT[SIGNALS] = {SIGWINCH, SIGTSTP, SIGCONT};

/* ---- restoring */

static void put_bytes(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = write(tty.fd, p, n);

        if (k < 0 && errno != EINTR)
            return;
        if (k > 0) {
            p += k;
            n -= (size_t)k;
        }
    }
}

void ml_screen_restore(void)
{
    int error = errno;

    if (!tty.open)
        return;
    put_bytes(tty.leave, (size_t)tty.n_leave);
    tcsetattr(tty.fd, TCSANOW, &tty.found);
    errno = error;
}

void ml_screen_scribble(const char *z)
{
    static const char there[] = "\0337\033[999;1H\033[K", back[] = "\0338";

    if (!tty.open)
        return;
    put_bytes(there, sizeof there - 1);
    put_bytes(z, strlen(z));
    put_bytes(back, sizeof back - 1);
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
        put_bytes(tty.enter, tty.n_enter);
        wake('c');
        return;
    }
    ml_screen_restore();
    sigemptyset(&usual.sa_mask);
    sigaction(SIGTSTP, &usual, &again);
    raise(SIGTSTP); /* stops here: SA_NODEFER */
    sigaction(SIGTSTP, &again, NULL);
}

static void catch_signal(int sig, struct sigaction *was)
{
    struct sigaction sa = {.sa_handler = on_signal};

    sigemptyset(&sa.sa_mask);
    sa.sa_flags = sig == SIGTSTP ? SA_NODEFER : SA_RESTART;
    sigaction(sig, &sa, was);
}

static void catch_signals(void)
{
    for (int k = 0; k < SIGNALS; k++)
        catch_signal(CAUGHT[k], &tty.was[k]);
}

static void let_signals(void)
{
    for (int k = 0; k < SIGNALS; k++)
        sigaction(CAUGHT[k], &tty.was[k], NULL);
}

/* ---- opening */

static void add_string(char *to, size_t room, size_t *n, const char *s)
{
    size_t k = s && s != (const char *)-1 ? strlen(s) : 0;

    /* delays ($<5>) are for printers on paper */
    for (size_t m = 0; m < k && *n < room; m++) {
        const char *end = s[m] == '$' && s[m + 1] == '<' ? strchr(s + m, '>') : NULL;

        if (end)
            m = (size_t)(end - s);
        else
            to[(*n)++] = s[m];
    }
}

static const char *cap(const char *name)
{
    char z[16];

    snprintf(z, sizeof z, "%s", name);
    return tigetstr(z);
}

#define MOUSE_ON  "\x1b[?1000h\x1b[?1002h\x1b[?1006h"
#define MOUSE_OFF "\x1b[?1006l\x1b[?1002l\x1b[?1000l"
#define PASTE_ON  "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l"

/* Whether the terminal is one of those that know xterm's switches, or pass them over. */
static bool knows_switches(void)
{
    const char *term = getenv("TERM");
    const char *clear = cap("clear");

    return term && strncmp(term, "vt1", 3) != 0 && strncmp(term, "vt2", 3) != 0 &&
           strncmp(term, "vt5", 3) != 0 && strncmp(term, "linux", 5) != 0 && clear &&
           clear != (const char *)-1 && clear[0] == '\x1b';
}

static void note_sequences(void)
{
    bool switches = knows_switches();
    size_t n = 0;

    tty.mouse = tty.mouse && switches;
    if (tty.mouse)
        add_string(tty.leave, sizeof tty.leave, &n, MOUSE_OFF);
    if (switches)
        add_string(tty.leave, sizeof tty.leave, &n, PASTE_OFF);
    add_string(tty.leave, sizeof tty.leave, &n, cap("sgr0"));
    add_string(tty.leave, sizeof tty.leave, &n, cap("op"));
    add_string(tty.leave, sizeof tty.leave, &n, cap("cnorm"));
    add_string(tty.leave, sizeof tty.leave, &n, cap("rmkx"));
    const char *rmcup = cap("rmcup");

    if (rmcup && rmcup != (const char *)-1) {
        add_string(tty.leave, sizeof tty.leave, &n, rmcup);
    } else { /* one screen only: the cursor goes below what is there */
        add_string(tty.leave, sizeof tty.leave, &n, "\r\n");
    }
    tty.n_leave = (sig_atomic_t)n;
    n = 0;
    add_string(tty.enter, sizeof tty.enter, &n, cap("smcup"));
    add_string(tty.enter, sizeof tty.enter, &n, cap("smkx"));
    if (switches)
        add_string(tty.enter, sizeof tty.enter, &n, PASTE_ON);
    if (tty.mouse)
        add_string(tty.enter, sizeof tty.enter, &n, MOUSE_ON);
    tty.n_enter = n;
}

static void note_keys(void)
{
    static const struct {
        const char *cap, *name;
    } KEYS[] = {
        {"kcuu1", "up"},    {"kcud1", "down"}, {"kcub1", "left"}, {"kcuf1", "right"},
        {"khome", "home"},  {"kend", "end"},   {"kpp", "pgup"},   {"knp", "pgdn"},
        {"kcbt", "S-tab"},  {"kdch1", "del"},  {"kich1", "ins"},  {"kri", "S-up"},
        {"kind", "S-down"},
    };

    tty.keys = (ml_Decoder){.n = 0};
    for (size_t k = 0; k < ML_COUNT(KEYS); k++) {
        const char *s = cap(KEYS[k].cap);

        if (s && s != (const char *)-1)
            ml_decode_extra(&tty.keys, s, KEYS[k].name);
    }
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

static bool fail(ml_Text *why, const char *fmt, const char *what)
{
    ml_text_fmt(why, "%s%s%s", fmt, what ? what : "", what ? ")" : "");
    if (tty.file)
        fclose(tty.file);
    else if (tty.owns_fd && tty.fd >= 0)
        close(tty.fd);
    tty.file = NULL;
    tty.fd = -1;
    return false;
}

static bool find_terminal(ml_Text *why)
{
    const char *term = getenv("TERM");

    if (!term || !*term)
        return fail(why, "wants a terminal: TERM is not set", NULL);
    if (ml_streq(term, "dumb"))
        return fail(why, "wants a terminal that can place its cursor; TERM is dumb", NULL);
    tty.owns_fd = !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
    tty.fd =
        tty.owns_fd ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : dup(STDIN_FILENO);
    if (tty.fd < 0)
        return fail(why, "wants a terminal, and there is none (", strerror(errno));
    tty.owns_fd = true;
    tty.file = fdopen(tty.fd, "r+");
    if (!tty.file)
        return fail(why, "cannot use the terminal (", strerror(errno));
    if (tcgetattr(tty.fd, &tty.found) != 0)
        return fail(why, "cannot use the terminal (", strerror(errno));
    return true;
}

static void ioctl_size(int *w, int *h)
{
    struct winsize size;

    *w = *h = 0;
    if (ioctl(tty.fd, TIOCGWINSZ, &size) == 0) {
        *w = size.ws_col;
        *h = size.ws_row;
    }
}

void ml_screen_size(int *w, int *h)
{
    ioctl_size(w, h);
    if (*w <= 0)
        *w = COLS > 0 ? COLS : 80;
    if (*h <= 0)
        *h = LINES > 0 ? LINES : 24;
    if (*w > 1000)
        *w = 1000;
    if (*h > 500)
        *h = 500;
}

static void forget_terminal(TERMINAL *t)
{
    set_curterm(tty.before);
    del_curterm(t);
}

void ml_screen_theme(const ml_ThemeDef *theme)
{
    ml_theme_make(&tty.theme, theme, tty.depth);
    tty.n_pairs = 0;
    tty.anything = false;
}

bool ml_screen_open(const ml_ThemeDef *theme, bool mouse, bool no_color, ml_Text *why)
{
    int error = 0, colors;

    if (tty.open)
        return true;
    if (!find_terminal(why))
        return false;
    if (!open_pipe())
        return fail(why, "cannot make a pipe (", strerror(errno));
    /* newterm would end the program where the terminal is not known */
    tty.before = cur_term;
    if (setupterm(NULL, tty.fd, &error) != OK)
        return fail(why, "does not know this terminal (TERM=", getenv("TERM"));
    TERMINAL *asked = cur_term;
    const char *cup = cap("cup");

    if (!cup || cup == (const char *)-1) {
        forget_terminal(asked);
        return fail(why,
                    "wants a terminal that can place its cursor (TERM=", getenv("TERM"));
    }
    tty.mouse = mouse;
    struct sigaction winch, tstp, intr, term;

    sigaction(SIGWINCH, NULL, &winch);
    sigaction(SIGTSTP, NULL, &tstp);
    sigaction(SIGINT, NULL, &intr);
    sigaction(SIGTERM, NULL, &term);
    /* Where SIGTSTP has no handler ncurses gives it one, and from then on ignores the
     * signal while it writes: a Ctrl-Z of that moment would be lost. */
    if (tstp.sa_handler == SIG_DFL)
        catch_signal(SIGTSTP, NULL);
    set_escdelay(ESCAPE_MS);
    tty.screen = newterm(NULL, tty.file, tty.file);
    /* ncurses takes signals that are ours */
    sigaction(SIGWINCH, &winch, NULL);
    sigaction(SIGTSTP, &tstp, NULL);
    sigaction(SIGINT, &intr, NULL);
    sigaction(SIGTERM, &term, NULL);
    if (!tty.screen) {
        forget_terminal(asked);
        return fail(why, "does not know this terminal (TERM=", getenv("TERM"));
    }
    set_term(tty.screen);
    del_curterm(asked); /* the screen has one of its own */
    cbreak();
    noecho();
    nonl();
    typeahead(-1);
    intrflush(stdscr, FALSE);
    leaveok(stdscr, FALSE);
    scrollok(stdscr, FALSE);
    idlok(stdscr, FALSE);
    colors = tigetnum((char[]){"colors"});
    tty.n_pairs = 0;
    if (has_colors() && start_color() == OK)
        use_default_colors();
    else
        colors = 0;
    ml_Depth depth = no_color ? ML_DEPTH_NONE : ml_theme_depth(colors);

    if (depth == ML_DEPTH_TRUE && COLORS < (1 << 24)) /* as many as curses can say */
        depth = ML_DEPTH_256;
    if (depth == ML_DEPTH_256 && COLORS < 256)
        depth = COLORS >= 16 ? ML_DEPTH_16 : ML_DEPTH_8;
    if (depth >= ML_DEPTH_8 && COLORS < 8)
        depth = ML_DEPTH_NONE;
    tty.depth = depth;
    ml_theme_make(&tty.theme, theme, depth);
    note_sequences();
    note_keys();
    refresh(); /* takes the other screen */
    put_bytes(tty.enter, tty.n_enter);
    tcgetattr(tty.fd, &tty.ours);
    tty.ours.c_cc[VINTR] = _POSIX_VDISABLE;
    tty.ours.c_cc[VQUIT] = _POSIX_VDISABLE;
    tty.ours.c_lflag |= ISIG;
    tty.ours.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR);
    tcsetattr(tty.fd, TCSANOW, &tty.ours);
    tty.anything = false;
    tty.open = 1;
    catch_signals();
    if (!tty.registered) {
        ml_restore_by(ml_screen_restore);
        atexit(ml_screen_restore);
        tty.registered = true;
    }
    return true;
}

void ml_screen_close(void)
{
    if (!tty.open)
        return;
    let_signals();
    curs_set(1);
    endwin();
    ml_screen_restore();
    tty.open = 0;
    delscreen(tty.screen);
    set_curterm(tty.before);
    fclose(tty.file);
    ml_grid_free(&tty.shown);
    tty.file = NULL;
    tty.screen = NULL;
    tty.fd = -1;
}

/* ---- showing */

static int pair_of(ml_Look l)
{
    if (l.fg == ML_COLOR_DEFAULT && l.bg == ML_COLOR_DEFAULT)
        return 0;
    for (int k = 0; k < tty.n_pairs; k++)
        if (tty.pairs[k].fg == l.fg && tty.pairs[k].bg == l.bg)
            return k + 1;
    if (tty.n_pairs + 1 >= PAIRS || tty.n_pairs + 1 >= COLOR_PAIRS)
        return 0;
    tty.pairs[tty.n_pairs].fg = l.fg;
    tty.pairs[tty.n_pairs].bg = l.bg;
    tty.n_pairs++;
    init_extended_pair(tty.n_pairs, l.fg, l.bg);
    return tty.n_pairs;
}

static attr_t attr_of(int attr)
{
    attr_t a = A_NORMAL;

    if (attr & ML_ATTR_BOLD)
        a |= A_BOLD;
    if (attr & ML_ATTR_UNDERLINE)
        a |= A_UNDERLINE;
    if (attr & ML_ATTR_REVERSE)
        a |= A_REVERSE;
    if (attr & ML_ATTR_DIM)
        a |= A_DIM;
    return a;
}

static void put_cell(const ml_Cell *c, int x, int y, int wide)
{
    ml_Look l = ml_theme_look(&tty.theme, (ml_CellRole)c->role, c->attr);
    wchar_t w[CCHARW_MAX + 1];
    const char *p = c->z;
    mbstate_t state;
    cchar_t out;
    size_t n = 0;
    int pair = pair_of(l);

    memset(&state, 0, sizeof state);
    while (*p && n < CCHARW_MAX) {
        size_t k = mbrtowc(&w[n], p, strlen(p), &state);

        if (k == 0 || k > strlen(p))
            break;
        p += k;
        n++;
    }
    if (n == 0 || wcwidth(w[0]) != wide) { /* the terminal would count otherwise */
        w[0] = L'?';
        n = 1;
    }
    for (size_t k = 1; k < n; k++)
        if (wcwidth(w[k]) != 0)
            n = k;
    w[n] = L'\0';
    setcchar(&out, w, attr_of(l.attr), (short)pair, &pair);
    mvadd_wch(y, x, &out);
    if (wide == 2 && n == 1 && w[0] == L'?')
        mvadd_wch(y, x + 1, &out);
}

static bool same(const ml_Cell *a, const ml_Cell *b)
{
    return a->role == b->role && a->attr == b->attr && ml_streq(a->z, b->z);
}

bool ml_screen_show(const ml_Grid *g, bool whole)
{
    bool changed = false;
    int w, h;

    if (!tty.open)
        return false;
    getmaxyx(stdscr, h, w);
    if (g->w != w || g->h != h) {
        resizeterm(g->h, g->w);
        whole = true;
    }
    whole |= tty.scribbled != 0;
    tty.scribbled = 0;
    if (whole || !tty.anything || tty.shown.w != g->w || tty.shown.h != g->h) {
        ml_grid_free(&tty.shown);
        ml_grid_init(&tty.shown, g->w, g->h, g->ascii);
        erase();
        if (whole)
            clearok(stdscr, TRUE);
        for (size_t k = 0; k < (size_t)g->w * (size_t)g->h; k++)
            tty.shown.cells[k].z[0] = '\0'; /* none is there yet */
        tty.anything = true;
    }
    for (int y = 0; y < g->h; y++)
        for (int x = 0; x < g->w; x++) {
            size_t at = (size_t)y * (size_t)g->w + (size_t)x;
            const ml_Cell *c = &g->cells[at];
            bool wide = x + 1 < g->w && g->cells[at + 1].z[0] == '\0';

            if (same(c, &tty.shown.cells[at]) &&
                !(wide && !same(c + 1, &tty.shown.cells[at + 1])))
                continue;
            if (c->z[0])
                put_cell(c, x, y, wide ? 2 : 1);
            tty.shown.cells[at] = *c;
            changed = true;
        }
    if (g->cursor_x >= 0 && g->cursor_y >= 0 && g->cursor_x < g->w && g->cursor_y < g->h) {
        curs_set(1);
        move(g->cursor_y, g->cursor_x);
    } else {
        curs_set(0);
        move(g->h - 1, 0);
    }
    refresh();
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

size_t ml_screen_events(ml_Event *out, size_t n, bool *ended)
{
    size_t have = 0;
    bool resized = false, returned = false;
    char c;

    *ended = false;
    while (read(tty.signals[0], &c, 1) == 1) {
        resized = resized || c == 'w';
        returned = returned || c == 'c';
    }
    if (returned || resized) /* the size may have changed while it was stopped */
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

    if (!tty.open || !knows_switches())
        return;
    ml_text_add(&t, "\x1b]52;c;");
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

#endif
