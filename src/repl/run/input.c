/*
 * input - where lines come from: a prompt, session text, a file.
 *
 * Lines are gathered until they can be run: Lua that is not finished, a pasted program up
 * to an empty line. Source: interaction 2, 4.
 */
#include "repl/run/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "moonloop/core/base/file.h"
#include "moonloop/core/json/data.h"
#include "moonloop/primitives/trace.h"
#include "repl/host/host.h"
#include "repl/keep/history.h"
#include "repl/out/interrupt.h"
#include "repl/run/run.h"
#include "repl/session/frame.h"
#include "repl/show/show.h"

/* ---- a stream of lines */

typedef struct Lines {
    int fd;
    char buf[8192];
    size_t at, n;
    bool ended;
    int error; /* errno of a failed read */
} Lines;

/* The next line without its newline; false: the end. */
static bool next_line(Lines *l, ml_Text *out)
{
    ml_text_clear(out);
    for (;;) {
        if (l->at == l->n && !l->ended) {
            ssize_t k;

            do
                k = read(l->fd, l->buf, sizeof l->buf);
            while (k < 0 && errno == EINTR && !ml_interrupted());
            l->ended = k <= 0;
            l->error = k < 0 ? errno : 0;
            l->at = 0;
            l->n = k > 0 ? (size_t)k : 0;
        }
        if (l->at == l->n)
            return out->n > 0;
        const char *p = l->buf + l->at, *end = memchr(p, '\n', l->n - l->at);
        size_t m = end ? (size_t)(end - p) : l->n - l->at;

        ml_text_addn(out, p, m);
        l->at += m + (end ? 1 : 0);
        if (end) {
            ml_text_z(out);
            return true;
        }
    }
}

/* The end of an escape sequence for the terminal, or of what stands between \001 and \002
 * for Readline; p itself when none begins there. */
static const char *behind_invisible(const char *p)
{
    if (*p != '\001')
        return p + ml_escape_length(p);
    p += strcspn(p, "\002");
    return *p ? p + 1 : p;
}

/* Screen columns of its last line: escape sequences take none. */
static size_t prompt_columns(const char *p)
{
    size_t n = 0;

    while (*p) {
        const char *end = behind_invisible(p);

        if (end != p) {
            p = end;
            continue;
        }
        bool line = *p == '\n';

        p = ml_next_char(p, &n);
        n = line ? 0 : n;
    }
    return n;
}

void ml_input_mark_invisible(const char *prompt, bool readline, ml_Text *out)
{
    while (*prompt) {
        const char *end = behind_invisible(prompt);

        if (end == prompt) {
            ml_text_char(out, *prompt++);
            continue;
        }
        bool marked = *prompt == '\001';
        const char *from = prompt + marked, *to = end - (marked && end[-1] == '\002');

        if (readline)
            ml_text_char(out, '\001');
        ml_text_addn(out, from, (size_t)(to - from));
        if (readline)
            ml_text_char(out, '\002');
        prompt = end;
    }
}

void ml_input_prompt_text(ml_Session *ss, bool more, ml_Text *out)
{
    ml_Text usual = {0};
    size_t from = out->n;

    if (more)
        ml_text_repeat(&usual, ' ', ss->prompt_columns);
    else
        ml_session_prompt(ss, &usual);
    if (!ml_host_prompt(ss->host, more ? "_PROMPT2" : "_PROMPT", ml_text_z(&usual), out))
        ml_text_add(out, ml_text_z(&usual));
    if (!more)
        ss->prompt_columns = prompt_columns(ml_text_z(out) + from);
    ml_text_free(&usual);
}

static void echo_line(ml_Session *ss, const char *line, bool more)
{
    ml_Text prompt = {0}, t = {0};

    ml_out_flush(&ss->out);
    ml_input_prompt_text(ss, more, &prompt);
    ml_input_mark_invisible(ml_text_z(&prompt), false, &t);
    ml_text_fmt(&t, "%s\n", line);
    ml_out_as(&ss->out, ml_text_z(&t), NULL); /* observers are told of lines themselves */
    ml_text_free(&prompt);
    ml_text_free(&t);
}

/* Whether bytes of the line are no text: a binary file was given. */
static bool is_binary(const ml_Text *t)
{
    return t->n && memchr(t->p, '\0', t->n);
}

/* Runs what is complete; false: it failed. Of a file the line is told: nobody has typed it
 * just now. */
static bool run_read(ml_Session *ss, ml_Text *whole, int fd, const char *name,
                     size_t number)
{
    size_t first = number;
    bool ok = ml_run(ss, NULL, ml_text_z(whole));

    for (size_t k = 0; k < whole->n; k++)
        first -= whole->p[k] == '\n';
    if (!ok && fd != STDIN_FILENO && !ss->json)
        ml_err_say(&ss->out, "  at     %s:%zu", name, first);
    return ok;
}

bool ml_input_stream(ml_Session *ss, int fd, const char *name, bool echo)
{
    Lines l = {.fd = fd};
    ml_Text line = {0}, whole = {0};
    bool ok = true;
    size_t number = 0;

    while (!ss->quit && !ss->out.broken && (ok || ss->keep_going || echo) &&
           next_line(&l, &line)) {
        number++;
        if (is_binary(&line)) {
            ok =
                ml_session_error(ss, ML_E_BAD_FILE,
                                 "%s is no text: line %zu holds a zero byte", name, number);
            break;
        }
        if (echo)
            echo_line(ss, ml_text_z(&line), whole.n > 0);
        if (whole.n)
            ml_text_char(&whole, '\n');
        ml_text_addn(&whole, line.n ? line.p : "", line.n);
        if (ml_wants_more(ss, ml_text_z(&whole)))
            continue;
        ok = run_read(ss, &whole, fd, name, number) && ok;
        ml_text_clear(&whole);
    }
    if (l.error && l.error != EINTR)
        ok = ml_session_error(ss, ML_E_NO_FILE, "cannot read %s: %s", name,
                              strerror(l.error));
    /* What never became complete is run as it is, so that its error is told. */
    if (whole.n && (ok || ss->keep_going || echo) && !ss->quit)
        ok = run_read(ss, &whole, fd, name, number);
    ml_text_free(&line);
    ml_text_free(&whole);
    return ok;
}

/* ---- files */

static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

    return dot && (!slash || dot > slash) ? dot : "";
}

static bool begins_with(const char *path, const char *mark)
{
    char head[64];
    size_t n = strlen(mark);
    struct stat st;

    /* Whoever writes to a pipe is read once. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool yes = fd >= 0 && n <= sizeof head && pread(fd, head, n, 0) == (ssize_t)n &&
               memcmp(head, mark, n) == 0;

    if (fd >= 0)
        close(fd);
    return yes;
}

ml_FileKind ml_input_kind_of(const char *path)
{
    static const char *const OPENED[] = {".py", ".tir", ".tvm", ".json"};
    const char *suffix = suffix_of(path);

    for (size_t k = 0; k < ML_COUNT(OPENED); k++)
        if (ml_streq(suffix, OPENED[k]))
            return ML_FILE_OPENED;
    if (ml_streq(suffix, ".lua"))
        return begins_with(path, ML_SAVED_LUA) ? ML_FILE_SAVED : ML_FILE_SCRIPT;
    return begins_with(path, "#!") ? ML_FILE_SCRIPT : ML_FILE_LINES;
}

/* By its suffix; other files are merely read as such. */
static bool is_session_text(const char *path)
{
    return ml_streq(suffix_of(path), ".txt") || ml_streq(suffix_of(path), ".mls");
}

static bool run_lines(ml_Session *ss, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ml_RunFrame f;

    if (fd < 0) {
        int error = errno;
        ml_Text other = {0};
        bool found = error == ENOENT && ml_file_with_suffix(path, &other);

        ml_session_error(ss, ML_E_NO_FILE, "cannot open %s: %s%s%s%s", path,
                         strerror(error), found ? "; did you mean " : "", ml_text_z(&other),
                         found ? "?" : "");
        ml_text_free(&other);
        return false;
    }
    ml_frame_push(ss, &f, &(ml_RunOpts){.mode = ML_MODE_TYPED});
    bool ok = ml_input_stream(ss, fd, path, false);

    ml_frame_pop(ss, &f);
    close(fd);
    if (!ok && !is_session_text(path) && !ss->json && ss->last &&
        ml_failure_code(ss->last) != ML_E_BAD_FILE &&
        ml_failure_code(ss->last) != ML_E_NO_FILE)
        ml_err_say(&ss->out,
                   "note: %s was read as lines of a session; :open reads it as a program, "
                   "whatever its suffix",
                   path);
    return ok;
}

/* Whether the file holds steps of a Python schedule and no program; *text is what it says. */
static bool is_steps(const char *path, ml_Text *text)
{
    return ml_file_read(path, text) && text->n && !is_binary(text) &&
           ml_host_is_python(ml_text_z(text));
}

bool ml_input_open(ml_Session *ss, const char *path)
{
    bool python = ml_streq(suffix_of(path), ".py"), ok;
    ml_Text steps = {0};

    if (python && !ml_session_may_read(ss, path))
        return false;
    if (!python || !is_steps(path, &steps))
        ok = ml_host_open(ss->host, path);
    else if (ss->focus)
        ok = ml_run(ss, &(ml_RunOpts){.mode = ML_MODE_TYPED}, ml_text_z(&steps));
    else
        ok = ml_session_error(ss, ML_E_BAD_FILE,
                              "%s holds steps of a schedule and no program: :open its "
                              "program, then :open %s",
                              path, path);
    ml_text_free(&steps);
    return ok;
}

static bool run_file(ml_Session *ss, const char *path, int argc, char **argv)
{
    switch (ml_input_kind_of(path)) {
    case ML_FILE_OPENED: return ml_input_open(ss, path);
    case ML_FILE_SAVED:
    case ML_FILE_SCRIPT: return ml_host_file(ss->host, path, argc, argv);
    case ML_FILE_LINES: break;
    }
    return run_lines(ss, path);
}

/* A file that is read while it is being read would never end. */
typedef struct ml_Reading {
    dev_t dev;
    ino_t ino;
    const struct ml_Reading *outer;
} Reading;

bool ml_input_run_file(ml_Session *ss, const char *path, int argc, char **argv)
{
    struct stat st;

    if (!ml_session_may_read(ss, path))
        return false;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return run_file(ss, path, argc, argv);
    for (const Reading *r = ss->reading; r; r = r->outer)
        if (r->dev == st.st_dev && r->ino == st.st_ino)
            return ml_session_error(ss, ML_E_BAD_FILE,
                                    "%s is being read already: a file cannot run itself",
                                    path);
    const Reading here = {st.st_dev, st.st_ino, ss->reading};

    ss->reading = &here;
    bool ok = run_file(ss, path, argc, argv);

    ss->reading = here.outer;
    return ok;
}

/* ---- history */

bool ml_input_show_history(ml_Session *ss, int n)
{
    size_t all = ss->history ? ml_history_count(ss->history) : 0;

    for (size_t k = all > (size_t)n ? all - (size_t)n : 0; k < all; k++) {
        ml_Data *d = ml_session_data(ss);
        ml_Text t = {0};

        ml_data_row(d);
        ml_data_int(d, "number", (int64_t)k + 1);
        ml_data_str(d, "entry", ml_history_at(ss->history, k));

        ml_text_fmt(&t, "%5zu  ", k + 1);
        for (const char *p = ml_history_at(ss->history, k); *p; p++) {
            ml_text_char(&t, *p);
            if (*p == '\n') /* under the first line of the entry */
                ml_text_repeat(&t, ' ', 7);
        }
        ml_out_line(&ss->out, ml_text_z(&t));
        ml_text_free(&t);
    }
    return true;
}
