/*
 * line - reading what is typed at a terminal.
 *
 * The only user of Readline, through its callback interface: one poll loop serves the keys
 * and a pipe into which the signal handlers write; what else is to be waited for (workers,
 * timers) gets its place in that loop. Signals are ours while a line is read and the
 * caller's otherwise, and so is the terminal. Readline keeps its state in globals; what
 * belongs to it stands beside them in one struct. Source: interaction 4, 9.
 */
#include "repl/line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "config.h"
#include "core/arena.h"
#include "repl/complete.h"
#include "repl/history.h"
#include "repl/input.h"

#if HAVE_READLINE
#include <readline/history.h>
#include <readline/readline.h>
#endif

static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};

static struct {
    ml_Session *ss;
    bool editor; /* Readline is in use */
    bool saved;  /* `found` holds the terminal's state */
    struct termios found;
    int signals[2]; /* the pipe; -1 before the first line */
    struct sigaction was[ML_COUNT(SIGNALS)];
    char *line;   /* what the editor handed over */
    bool done;    /* the editor handed over: a line or, when it is NULL, the end */
    ml_Text rest; /* plain reading: what was read past the line */
    bool ended;
    bool resumed; /* shown again after Ctrl-Z, and no key since */
    size_t pad; /* columns of the prompt: further lines of an entry stand under the first */
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
    return true;
}

static bool is_taken(int sig)
{
    return io.editor || (sig != SIGTSTP && sig != SIGCONT); /* plain: as the kernel does */
}

static void take_signals(void)
{
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++) {
        struct sigaction sa = {.sa_handler = on_signal};

        sigemptyset(&sa.sa_mask);
        sigaction(SIGNALS[k], NULL, &io.was[k]);
        if (is_taken(SIGNALS[k]) && io.was[k].sa_handler != SIG_IGN)
            sigaction(SIGNALS[k], &sa, NULL);
    }
}

static void give_signals(void)
{
    for (size_t k = 0; k < ML_COUNT(SIGNALS); k++)
        sigaction(SIGNALS[k], &io.was[k], NULL);
}

static void restore_output(void)
{
    static const char PASTE_OFF[] = "\x1b[?2004l";

    if (io.editor && write(STDOUT_FILENO, PASTE_OFF, sizeof PASTE_OFF - 1) < 0)
        return; /* the terminal is gone */
}

void ml_line_restore(void)
{
    if (!io.saved)
        return;
    tcsetattr(STDIN_FILENO, TCSANOW, &io.found);
    restore_output();
}

/* ---- the editor */

#if HAVE_READLINE

/* Shows the line that is edited; those behind its newlines are moved under the first, on
 * the screen only. */
static void show_line(void)
{
    char *line = rl_line_buffer;
    int point = rl_point, end = rl_end, mark = rl_mark;
    ml_Text t = {0};

    if (!memchr(line, '\n', (size_t)end) || io.pad * 2 > (size_t)io.ss->out.width) {
        rl_redisplay();
        return;
    }
    for (int k = 0; k <= end; k++) {
        if (k == point)
            rl_point = (int)t.n;
        if (k == mark)
            rl_mark = (int)t.n;
        if (k == end)
            break;
        ml_text_char(&t, line[k]);
        if (line[k] == '\n')
            ml_text_repeat(&t, ' ', io.pad);
    }
    ml_text_z(&t);
    if (!t.bad) {
        rl_line_buffer = t.p;
        rl_end = (int)t.n;
    } else {
        rl_point = point;
        rl_mark = mark;
    }
    rl_redisplay();
    rl_line_buffer = line;
    rl_point = point;
    rl_end = end;
    rl_mark = mark;
    ml_text_free(&t);
}

static void on_line(char *line)
{
    io.line = line;
    io.done = true;
    rl_callback_handler_remove(); /* the terminal is back before the line runs */
}

static void hide_editor(void)
{
    rl_deprep_terminal();
}

static void show_editor(void)
{
    rl_prep_terminal(1);
    rl_reset_screen_size();
    rl_forced_update_display();
}

/* Stops the program as its parent expects it, with the terminal as it was found. */
static void suspend(void)
{
    sigset_t only, before;

    hide_editor();
    give_signals();
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &only, &before);
    raise(SIGTSTP); /* returns when continued */
    sigprocmask(SIG_SETMASK, &before, NULL);
    take_signals();
    show_editor();
    io.resumed = true;
}

/* Ctrl-C: what was typed stays on the screen, a new line begins. */
static void clear_line(void)
{
    rl_free_line_state();
    rl_callback_sigcleanup();
    rl_point = rl_end;
    show_line(); /* the cursor at the end of the line */
    fputs("^C", rl_outstream);
    rl_callback_handler_remove(); /* may return the cursor to column 0 */
    fputs("\n", rl_outstream);
    fflush(rl_outstream);
}

static void die_of(int sig)
{
    rl_callback_handler_remove();
    ml_line_restore();
    give_signals();
    raise(sig);
}

/* ---- completion through the editor's own commands, so that ~/.inputrc decides the keys */

typedef struct Found {
    char **text, **note;
    size_t n, cap;
} Found;

static struct {
    Found all;      /* of the last completion, for the list */
    char breaks[2]; /* the character before the word */
} comp;

static void drop_found(Found *f)
{
    for (size_t k = 0; k < f->n; k++) {
        ml_heap_free(f->text[k]);
        ml_heap_free(f->note[k]);
    }
    ml_heap_free(f->text);
    ml_heap_free(f->note);
    *f = (Found){0};
}

static char *copy(const char *z)
{
    size_t n = strlen(z) + 1;
    char *p = ml_heap_zalloc(n);

    memcpy(p, z, n);
    return p;
}

static void add_found(const char *text, const char *note, void *user)
{
    Found *f = user;

    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 32;
        f->text = ml_heap_grow(f->text, f->cap * sizeof *f->text);
        f->note = ml_heap_grow(f->note, f->cap * sizeof *f->note);
    }
    f->text[f->n] = copy(text);
    f->note[f->n++] = copy(note);
}

static void find_all(ml_CompletionPlace *place)
{
    drop_found(&comp.all);
    *place = ml_completions(io.ss, rl_line_buffer, (size_t)rl_point, add_found, &comp.all);
}

/* Readline looks back from the cursor for one of the characters we return. */
static char *word_breaks(void)
{
    ml_CompletionPlace place;

    find_all(&place);
    comp.breaks[0] = place.start > 0 ? rl_line_buffer[place.start - 1] : '\0';
    comp.breaks[1] = '\0';
    return comp.breaks;
}

/* What all candidates begin with, in whole characters. */
static size_t common(const Found *f)
{
    size_t n = strlen(f->text[0]);

    for (size_t k = 1; k < f->n; k++) {
        size_t m = 0;

        while (m < n && f->text[k][m] == f->text[0][m])
            m++;
        n = m;
    }
    while (n > 0 && ((unsigned char)f->text[0][n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* The array that Readline wants: the common part, the candidates, NULL; it frees them. */
static char **matches(const char *text, int start, int end)
{
    Found *f = &comp.all;
    ml_CompletionPlace place;

    (void)text;
    (void)end;
    rl_attempted_completion_over = 1; /* no file names unless we say so */
    find_all(&place);
    if (f->n == 0 || (size_t)start != place.start)
        return NULL;
    char **v = malloc((f->n + 2) * sizeof *v); /* NOLINT: freed by Readline */

    if (!v)
        return NULL;
    v[0] = strndup(f->text[0], common(f));
    size_t n = f->n > 1 ? f->n : 0; /* of a single one the common part is all of it */

    for (size_t k = 0; k < n; k++)
        v[k + 1] = strdup(f->text[k]);
    v[n + 1] = NULL;
    rl_completion_suppress_append = place.after == '\0';
    rl_completion_append_character = (unsigned char)place.after;
    return v;
}

/* The list with a word of explanation each; Readline pages it. */
static void show_matches(char **v, int n, int longest)
{
    const Found *f = &comp.all;
    char **lines;
    size_t wide = 0, max = 0, width = (size_t)io.ss->out.width;

    (void)v;
    (void)longest;
    if ((size_t)n > f->n || n < 1)
        return;
    for (size_t k = 0; k < f->n; k++)
        if (ml_columns(f->text[k]) > wide)
            wide = ml_columns(f->text[k]);
    lines = ml_heap_zalloc((f->n + 2) * sizeof *lines);
    for (size_t k = 0; k < f->n; k++) {
        ml_Text t = {0}, shown = {0};
        size_t end;

        ml_text_add(&t, f->text[k]);
        if (f->note[k][0]) {
            ml_text_repeat(&t, ' ', wide - ml_columns(f->text[k]) + 2);
            ml_text_add(&t, f->note[k]);
        }
        ml_text_z(&t);
        /* A line each, cut at the width, in whole characters. */
        end = t.n;
        while (end > 0 && ml_columns(t.p) + 1 > width) {
            end--;
            while (end > 0 && ((unsigned char)t.p[end] & 0xc0) == 0x80)
                end--;
            t.p[end] = '\0';
        }
        if (io.ss->out.ascii)
            ml_out_plain(&shown, t.p);
        else
            ml_text_add(&shown, t.p);
        lines[k + 1] = copy(ml_text_z(&shown));
        if (shown.n > max)
            max = shown.n;
        ml_text_free(&t);
        ml_text_free(&shown);
    }
    lines[0] = copy("");
    rl_display_match_list(lines, (int)f->n, (int)max);
    rl_forced_update_display();
    for (size_t k = 0; k <= f->n; k++)
        ml_heap_free(lines[k]);
    ml_heap_free(lines);
}

/* ---- Ctrl-X Ctrl-E: the line in $EDITOR */

static bool write_text(int fd, const char *p)
{
    size_t n = strlen(p);

    while (n > 0) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

static void read_text(const char *path, ml_Text *out)
{
    char buf[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t k;

    while (fd >= 0 && (k = read(fd, buf, sizeof buf)) != 0) {
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            break;
        ml_text_addn(out, buf, (size_t)k);
    }
    if (fd >= 0)
        close(fd);
    while (out->n && out->p[out->n - 1] == '\n')
        out->p[--out->n] = '\0';
}

static int edit_outside(int count, int key)
{
    const char *editor = getenv("VISUAL"), *tmp = getenv("TMPDIR");
    ml_Text path = {0}, cmd = {0}, text = {0};

    (void)count;
    (void)key;
    if (io.ss->safe)
        return rl_ding();
    if (!editor || !*editor)
        editor = getenv("EDITOR");
    if (!editor || !*editor)
        editor = "vi";
    ml_text_fmt(&path, "%s/moonloop.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = path.bad ? -1 : mkstemp(path.p);
    bool ok = fd >= 0 && write_text(fd, rl_line_buffer);

    if (fd >= 0)
        close(fd);
    if (ok) {
        ml_text_fmt(&cmd, "%s '%s'", editor, path.p);
        hide_editor();
        give_signals();
        ok = system(ml_text_z(&cmd)) == 0; /* NOLINT(cert-env33-c): the user's own editor */
        take_signals();
        rl_prep_terminal(1);
        if (ok) {
            read_text(path.p, &text);
            rl_replace_line(ml_text_z(&text), 1);
            rl_point = rl_end;
        }
        rl_reset_screen_size();
        rl_on_new_line();
        show_line();
    }
    if (fd >= 0)
        unlink(path.p);
    ml_text_free(&path);
    ml_text_free(&cmd);
    ml_text_free(&text);
    return ok ? 0 : rl_ding();
}

/* ---- setting up */

enum { KEY_WAIT = 150, KEY_WAIT_MAX = 199 }; /* ms; a half-typed key never holds the loop */

static void start_editor(void)
{
    rl_readline_name = "moonloop"; /* $if moonloop */
    rl_instream = stdin;
    rl_outstream = stdout;
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_change_environment = 0;
    rl_variable_bind("enable-bracketed-paste", "on");
    rl_add_defun("edit-and-execute-command", edit_outside, -1);
    rl_bind_keyseq_if_unbound("\\C-x\\C-e", edit_outside);
    rl_attempted_completion_function = matches;
    rl_completion_word_break_hook = word_breaks;
    rl_completion_display_matches_hook = show_matches;
    rl_sort_completion_matches = 0;
    rl_initialize();
    rl_redisplay_function = show_line; /* from here on: with another, none reads terminfo */
    const char *wait = rl_variable_value("keyseq-timeout");
    long ms = wait ? strtol(wait, NULL, 10) : -1;

    if (ms < 0 || ms > KEY_WAIT_MAX) {
        char text[16];

        snprintf(text, sizeof text, "%d", KEY_WAIT);
        rl_variable_bind("keyseq-timeout", text);
    }
    using_history();
    stifle_history(ML_HISTORY_MAX);
    for (size_t k = 0; k < ml_history_count(io.ss->history); k++)
        add_history(ml_history_at(io.ss->history, k));
}

static bool wait_for_key(bool *interrupted);

static char *edit_line(const char *prompt, bool *interrupted)
{
    io.line = NULL;
    io.done = false;
    take_signals();
    rl_callback_handler_install(prompt, on_line);
    while (!io.done && !*interrupted)
        if (wait_for_key(interrupted)) {
            rl_callback_read_char();
            io.resumed = false;
        }
    give_signals();
    return io.line;
}

static void handle_signal(int sig, bool *interrupted)
{
    switch (sig) {
    case SIGINT:
        *interrupted = true;
        if (io.editor)
            clear_line();
        break;
    case SIGWINCH:
        ml_out_measure(&io.ss->out, (int)ml_setting_int(&io.ss->set, ML_SET_width));
        if (io.editor) {
            /* With a redisplay of one's own Readline does not clear what it drew. */
            rl_redisplay_function = rl_redisplay;
            rl_resize_terminal();
            rl_redisplay_function = show_line;
            show_line();
        }
        break;
    case SIGTSTP: suspend(); break;
    case SIGCONT:
        /* Stopped from outside: the shell has changed the terminal. A shell may also
         * continue us once more after Ctrl-Z, when everything is shown already. */
        if (io.editor && !io.resumed)
            show_editor();
        break;
    default: die_of(sig); break;
    }
}

#else

static void handle_signal(int sig, bool *interrupted)
{
    if (sig == SIGINT)
        *interrupted = true;
    else if (sig == SIGWINCH)
        ml_out_measure(&io.ss->out, (int)ml_setting_int(&io.ss->set, ML_SET_width));
    else {
        give_signals();
        raise(sig);
    }
}

#endif

/* Waits until there is something to read; false: a signal came instead. */
static bool wait_for_key(bool *interrupted)
{
    struct pollfd p[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                         {.fd = io.signals[0], .events = POLLIN}};
    unsigned char sig;

    if (poll(p, ML_COUNT(p), -1) < 0 && errno != EINTR)
        return true; /* reading will tell */
    while (!*interrupted && read(io.signals[0], &sig, 1) == 1)
        handle_signal(sig, interrupted);
    return !*interrupted && (p[0].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0;
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

static char *plain_line(const char *prompt, bool *interrupted)
{
    char buf[4096];
    char *line = NULL, *end;

    ml_out(&io.ss->out, prompt);
    take_signals();
    for (;;) {
        if (io.rest.n && (end = memchr(io.rest.p, '\n', io.rest.n)) != NULL) {
            line = cut_line((size_t)(end - io.rest.p), 1);
            break;
        }
        if (io.ended) {
            line = io.rest.n ? cut_line(io.rest.n, 0) : NULL;
            break;
        }
        if (!wait_for_key(interrupted)) {
            if (!*interrupted)
                continue;
            ml_text_clear(&io.rest); /* the kernel has dropped its part of the line */
            ml_out(&io.ss->out, "\n");
            break;
        }
        ssize_t k = read(STDIN_FILENO, buf, sizeof buf);

        if (k > 0)
            ml_text_addn(&io.rest, buf, (size_t)k);
        else if (k == 0 || (errno != EINTR && errno != EAGAIN))
            io.ended = true;
    }
    give_signals();
    return line;
}

/* ---- what others call */

static bool can_edit(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
           !ml_streq(term, "dumb");
}

void ml_line_init(ml_Session *ss)
{
    ml_Text why = {0};

    io.ss = ss;
    if (!ss->history)
        ss->history = ml_history_new();
    if (!ss->no_history && !ss->private_ && !ml_history_attach(ss->history, NULL, &why)) {
        ml_Text t = {0};

        ml_text_fmt(&t, "note: %s", ml_text_z(&why));
        ml_err_line(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_text_free(&why);
    io.saved = tcgetattr(STDIN_FILENO, &io.found) == 0;
#if HAVE_READLINE
    if (can_edit()) {
        start_editor();
        io.editor = true;
    }
#else
    (void)can_edit;
#endif
}

char *ml_line_read(ml_Session *ss, const char *prompt, bool *interrupted)
{
    char *line;
    ml_Text shown = {0};

    *interrupted = false;
    io.ss = ss;
    if (!open_pipe()) {
        ml_session_error(ss, ML_E_OUT_OF_MEMORY, "pipe: %s", strerror(errno));
        return NULL;
    }
    ml_input_mark_invisible(prompt, io.editor, &shown);
    io.pad = ml_input_prompt_columns(prompt);
#if HAVE_READLINE
    line = io.editor ? edit_line(ml_text_z(&shown), interrupted)
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
    size_t before = ml_history_count(ss->history);

    if (!ml_history_add(ss->history, entry, &why)) {
        ml_Text t = {0};

        ml_text_fmt(&t, "note: %s", ml_text_z(&why));
        ml_err_line(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
    }
    ml_text_free(&why);
#if HAVE_READLINE
    size_t n = ml_history_count(ss->history);

    if (io.editor && n < before) { /* the oldest were dropped */
        clear_history();
        before = 0;
    }
    for (size_t k = before; io.editor && k < n; k++)
        add_history(ml_history_at(ss->history, k));
#else
    (void)before;
#endif
}

void ml_line_end(ml_Session *ss)
{
    (void)ss;
#if HAVE_READLINE
    if (io.editor) {
        clear_history();
        drop_found(&comp.all);
    }
#endif
    ml_text_free(&io.rest);
    for (int k = 0; k < 2 && io.signals[0] >= 0; k++)
        close(io.signals[k]);
    io.signals[0] = io.signals[1] = -1;
    io.editor = io.saved = false;
}
