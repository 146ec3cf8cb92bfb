/*
 * out - where text goes: results to standard output, the rest to standard error.
 *
 * Everything is written through write(2) on a buffer of our own, so that a full disk or a
 * closed pipe is noticed where it happens. Source: interaction 2.
 */
#include "repl/out/out.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "moonloop/core/json/data.h"
#include "repl/out/fold_code.h"
#include "repl/screen/write_all.h"

/* ---- the terminal */

static bool env_set(const char *name)
{
    const char *v = getenv(name);

    return v && *v;
}

static bool wants_color(int color, int fd)
{
    const char *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

    if (color >= 0)
        return color == 1;
    if (env_set("NO_COLOR"))
        return false;
    if (force && *force && !ml_streq(force, "0"))
        return true;
    return isatty(fd) && term && *term && !ml_streq(term, "dumb");
}

static int env_int(const char *name)
{
    const char *v = getenv(name);
    long n = v ? strtol(v, NULL, 10) : 0;

    return n > 0 && n < 10000 ? (int)n : 0;
}

void ml_out_measure(ml_Out *o, int width)
{
    struct winsize ws;

    width = width ? width : o->asked;
    bool tty = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0;

    o->width = width ? width : env_int("COLUMNS");
    o->height = env_int("LINES");
    if (!o->width)
        o->width = tty && ws.ws_col > 0 ? ws.ws_col : 100;
    if (!o->height)
        o->height = tty && ws.ws_row > 0 ? ws.ws_row : 0;
    if (!tty)
        o->height = 0;
    /* What a transcript replays is compared with what was kept of it, which is whole. */
    o->folds = o->height > 0 || (width > 0 && !env_set("ML_REPLAYED"));
}

static bool utf8_locale(void)
{
    const char *l = getenv("LC_ALL");

    if (!l || !*l)
        l = getenv("LC_CTYPE");
    if (!l || !*l)
        l = getenv("LANG");
    return l && (strstr(l, "UTF-8") || strstr(l, "utf8") || strstr(l, "UTF8") ||
                 strstr(l, "utf-8"));
}

void ml_out_init(ml_Out *o, int color, int width, bool ascii)
{
    *o = (ml_Out){.asked = width};
    o->color = wants_color(color, STDOUT_FILENO);
    o->err_color = wants_color(color, STDERR_FILENO);
    /* A pipe gets UTF-8 whatever the locale: its reader is not this terminal. */
    o->ascii = ascii || (isatty(STDOUT_FILENO) && !utf8_locale());
    ml_out_measure(o, width);
    o->pager = o->height > 0;
}

/* ---- writing */

static void write_all(ml_Out *o, int fd, const char *p, size_t n)
{
    if (!ml_write_all(fd, p, n) && fd == STDOUT_FILENO && !o->broken) {
        o->broken = true;
        o->fault = errno;
    }
}

void ml_out_plain(ml_Text *out, const char *text)
{
    for (size_t n; *text; text += n) {
        ml_char_columns(text, strnlen(text, 4), &n);
        const char *a = ml_ascii(text, n);

        ml_text_addn(out, a ? a : text, a ? strlen(a) : 1);
    }
}

void ml_out_tell(ml_Out *o, const char *shown, const char *raw)
{
    if (o->tee)
        o->tee(o->tee_user, shown, raw);
}

static void write_text(ml_Out *o, int fd, const char *text)
{
    bool color = fd == STDOUT_FILENO ? o->color : o->err_color;
    ml_Text shown = {0}, plain = {0};

    fflush(stdout); /* what io.write has begun stands before what is said now */
    if (ml_out_acts(text, color) && isatty(fd)) {
        ml_out_shown(&shown, text, color);
        text = ml_text_z(&shown);
    }
    if (o->ascii) {
        ml_out_plain(&plain, text);
        text = ml_text_z(&plain);
    }
    write_all(o, fd, text, strlen(text));
    ml_text_free(&plain);
    ml_text_free(&shown);
}

/* raw: what the tee is told; NULL: nothing. */
static void put_as(ml_Out *o, int fd, ml_Text *capture, const char *text, const char *raw)
{
    if (capture) {
        ml_text_add(capture, text);
        return;
    }
    ml_out_clear_status(o);
    if (raw)
        ml_out_tell(o, text, raw);
    write_text(o, fd, text);
}

static void put(ml_Out *o, int fd, ml_Text *capture, const char *text)
{
    if (capture) {
        ml_text_add(capture, text);
        return;
    }
    ml_out_clear_status(o);
    ml_out_tell(o, text, text);
    write_text(o, fd, text);
}

void ml_out_as(ml_Out *o, const char *shown, const char *raw)
{
    put_as(o, STDOUT_FILENO, o->sink.out, shown, raw);
}

void ml_err_as(ml_Out *o, const char *shown, const char *raw)
{
    put_as(o, STDERR_FILENO, o->sink.err, shown, raw);
}

void ml_out(ml_Out *o, const char *text)
{
    put(o, STDOUT_FILENO, o->sink.out, text);
}

void ml_err(ml_Out *o, const char *text)
{
    put(o, STDERR_FILENO, o->sink.err, text);
}

/* One write a line, so that lines of two streams do not mix within. */
static void put_line(ml_Out *o, int fd, ml_Text *capture, const char *text)
{
    ml_Text t = {0};

    ml_text_add(&t, text);
    ml_text_char(&t, '\n');
    put(o, fd, capture, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_out_line(ml_Out *o, const char *text)
{
    put_line(o, STDOUT_FILENO, o->sink.out, text);
}

/* What is told in passing, as an object; the word before the colon is its kind. */
static void put_note(ml_Out *o, const char *text)
{
    static const char *const KINDS[] = {"note", "warning", "focus"};
    const char *kind = KINDS[0];
    ml_Data d = {.schema = true};

    for (size_t k = 0; k < ML_COUNT(KINDS); k++) {
        size_t n = strlen(KINDS[k]);

        if (strncmp(text, KINDS[k], n) == 0 && text[n] == ':' && text[n + 1] == ' ') {
            kind = KINDS[k];
            text += n + 2;
        }
    }
    ml_data_row(&d);
    ml_data_str(&d, kind, text);
    put(o, STDERR_FILENO, o->sink.err, ml_data_lines(&d));
    ml_data_free(&d);
}

void ml_err_line(ml_Out *o, const char *text)
{
    if (o->json)
        put_note(o, text);
    else
        put_line(o, STDERR_FILENO, o->sink.err, text);
}

/* ---- folding */

/* Where the text of a line begins: behind a label that two blanks set apart. */
static size_t hang_of(const char *line, const char *end, size_t width)
{
    const char *p = line, *word;

    while (p < end && *p == ' ')
        p++;
    size_t indent = (size_t)(p - line), hang = indent + 2;

    word = p;
    while (p < end && *p != ' ')
        p++;
    if (p > word && p + 1 < end && p[1] == ' ') {
        while (p < end && *p == ' ')
            p++;
        hang = ml_columns_to(line, p);
    }
    return hang * 2 > width ? (indent * 2 > width ? 0 : indent) : hang;
}

static void fold_line(const char *line, const char *end, size_t width, ml_Text *out)
{
    size_t hang = hang_of(line, end, width), at = 0;
    const char *p = line;

    if (ml_columns_to(line, end) <= width) {
        ml_text_addn(out, line, (size_t)(end - line));
        return;
    }
    while (p < end && *p == ' ')
        p++;
    at = ml_columns_to(line, p);
    if (at * 2 > width) /* so deep that it would be a column of single words */
        at = hang = 2;
    ml_text_repeat(out, ' ', at);
    for (bool first = true; p < end; first = false) {
        const char *gap = p, *word;

        while (p < end && *p == ' ')
            p++;
        word = p;
        while (p < end && *p != ' ')
            p++;
        size_t columns = ml_columns_to(word, p);

        if (!first && at + ml_columns_to(gap, p) > width && columns <= width) {
            at = hang + columns > width ? width - columns : hang;
            ml_text_char(out, '\n');
            ml_text_repeat(out, ' ', at);
            gap = word;
        }
        ml_text_addn(out, gap, (size_t)(p - gap));
        at += ml_columns_to(gap, p);
    }
}

void ml_out_fold(const ml_Out *o, const char *text, ml_Text *out)
{
    size_t width = (size_t)o->width;

    if (!o->folds) {
        ml_text_add(out, text);
        return;
    }
    for (;;) {
        const char *end = ml_fold_marked(text, width, out);

        if (!end) {
            end = text + strcspn(text, "\n");
            fold_line(text, end, width, out);
        }
        if (!*end)
            return;
        ml_text_char(out, '\n');
        text = end + 1;
    }
}

static void put_prose(ml_Out *o, int fd, ml_Text *capture, const char *text)
{
    ml_Text t = {0}, raw = {0};

    if (capture)
        ml_text_add(&t, text);
    else
        ml_out_fold(o, text, &t);
    ml_text_char(&t, '\n');
    if (o->tee)
        ml_text_fmt(&raw, "%s\n", text);
    put_as(o, fd, capture, ml_text_z(&t), ml_text_z(&raw));
    ml_text_free(&t);
    ml_text_free(&raw);
}

void ml_out_prose(ml_Out *o, const char *text)
{
    put_prose(o, STDOUT_FILENO, o->sink.out, text);
}

void ml_err_prose(ml_Out *o, const char *text)
{
    if (o->json)
        put_note(o, text);
    else
        put_prose(o, STDERR_FILENO, o->sink.err, text);
}

void ml_out_say(ml_Out *o, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_out_prose(o, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_err_say(ml_Out *o, const char *fmt, ...)
{
    ml_Text t = {0};
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&t, fmt, ap);
    va_end(ap);
    ml_err_prose(o, ml_text_z(&t));
    ml_text_free(&t);
}

void ml_out_clear_status(ml_Out *o)
{
    ml_Text t = {0};

    if (o->status) {
        ml_text_fmt(&t, "\r%s", ml_escape(ML_CAP_CLEAR_ROW));
        write_all(o, STDERR_FILENO, t.p, t.n);
    }
    ml_text_free(&t);
    o->status = false;
}

void ml_out_status(ml_Out *o, const char *text)
{
    ml_Text t = {0}, shown = {0};

    ml_out_shown(&shown, text, o->err_color);
    text = ml_text_z(&shown);
    ml_text_fmt(&t, "\r%.*s%s", (int)ml_columns_fit(text, (size_t)o->width - 1), text,
                ml_escape(ML_CAP_CLEAR_ROW));
    write_all(o, STDERR_FILENO, t.p, t.n);
    ml_text_free(&shown);
    ml_text_free(&t);
    o->status = true;
}

void ml_out_flush(ml_Out *o)
{
    (void)o;
    fflush(stdout); /* what Lua's print has written */
    fflush(stderr);
}
