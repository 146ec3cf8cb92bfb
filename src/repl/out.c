/*
 * out - where text goes: results to standard output, the rest to standard error.
 *
 * Everything is written through write(2) on a buffer of our own, so that a full disk or a
 * closed pipe is noticed where it happens. Source: interaction 2.
 */
#include "repl/out.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- the terminal */

static bool env_set(const char *name)
{
    const char *v = getenv(name);

    return v && *v;
}

static bool wants_color(int color, int fd)
{
    const char *term = getenv("TERM");

    if (color >= 0)
        return color == 1;
    if (env_set("NO_COLOR"))
        return false;
    if (env_set("CLICOLOR_FORCE") && !ml_streq(getenv("CLICOLOR_FORCE"), "0"))
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
    bool tty = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0;

    o->width = width ? width : env_int("COLUMNS");
    o->height = env_int("LINES");
    if (!o->width)
        o->width = tty && ws.ws_col > 0 ? ws.ws_col : 100;
    if (!o->height)
        o->height = tty && ws.ws_row > 0 ? ws.ws_row : 0;
    if (!tty)
        o->height = 0;
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
    *o = (ml_Out){0};
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
    while (n > 0) {
        ssize_t k = write(fd, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            if (fd == STDOUT_FILENO && !o->broken) {
                o->broken = true;
                o->fault = errno;
            }
            return;
        }
        p += k;
        n -= (size_t)k;
    }
}

static const struct {
    const char *from, *to;
} PLAIN[] = {
    {"×", "x"},    {"→", "->"}, {"…", "..."}, {"·", "-"},  {"✓", "ok"}, {"✗", "no"},
    {"«", "<"},    {"»", ">"},  {"─", "-"},   {"│", "|"},  {"┐", "+"},  {"└", "+"},
    {"├", "+"},    {"┘", "+"},  {"◀", "<"},   {"≤", "<="}, {"≥", ">="}, {"±", "+-"},
    {"√", "sqrt"}, {"⟨", "<"},  {"⟩", ">"},
};

void ml_out_plain(ml_Text *out, const char *text)
{
    while (*text) {
        size_t k = 0;

        if ((unsigned char)*text < 0x80) {
            ml_text_char(out, *text++);
            continue;
        }
        while (k < ML_COUNT(PLAIN) &&
               strncmp(text, PLAIN[k].from, strlen(PLAIN[k].from)) != 0)
            k++;
        if (k < ML_COUNT(PLAIN)) {
            ml_text_add(out, PLAIN[k].to);
            text += strlen(PLAIN[k].from);
            continue;
        }
        ml_text_char(out, '?');
        text++;
        while (((unsigned char)*text & 0xc0) == 0x80)
            text++;
    }
}

static void put(ml_Out *o, int fd, ml_Text *capture, const char *text)
{
    if (capture) {
        ml_text_add(capture, text);
        return;
    }
    if (!o->ascii) {
        write_all(o, fd, text, strlen(text));
        return;
    }
    ml_Text t = {0};

    ml_out_plain(&t, text);
    write_all(o, fd, ml_text_z(&t), t.n);
    ml_text_free(&t);
}

void ml_out(ml_Out *o, const char *text)
{
    put(o, STDOUT_FILENO, o->capture, text);
}

void ml_err(ml_Out *o, const char *text)
{
    put(o, STDERR_FILENO, o->err_capture, text);
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
    put_line(o, STDOUT_FILENO, o->capture, text);
}

void ml_err_line(ml_Out *o, const char *text)
{
    put_line(o, STDERR_FILENO, o->err_capture, text);
}

void ml_out_flush(ml_Out *o)
{
    (void)o;
    fflush(stdout); /* what Lua's print has written */
    fflush(stderr);
}

const char *ml_style(bool color, ml_Style s)
{
    if (!color)
        return "";
    switch (s) {
    case ML_STYLE_PLAIN: return "\x1b[0m";
    case ML_STYLE_ADD: return "\x1b[32m";
    case ML_STYLE_DEL: return "\x1b[31m";
    case ML_STYLE_DIM: return "\x1b[2m";
    case ML_STYLE_ERROR: return "\x1b[1;31m";
    case ML_STYLE_NOTE: return "\x1b[33m";
    case ML_STYLE_STRONG: return "\x1b[1m";
    }
    return "";
}

size_t ml_columns(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
