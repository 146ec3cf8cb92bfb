/* manual_man - the manual as a man page: roff with the macros of man(7). */
#include "repl/manual/manual.h"

#include "config.h"
#include "moonloop/core/base/utf8.h"

/* One character as roff wants it; returns its bytes. Outside of ASCII by its number: not
 * every roff reads UTF-8. */
static size_t add_one(ml_Text *t, const char *z)
{
    size_t n = ml_utf8_length(z, z + strlen(z));
    uint32_t c = (unsigned char)*z;

    if (*z == '\\')
        ml_text_add(t, "\\e");
    else if (*z == '-')
        ml_text_add(t, "\\-");
    else if (n == 0)
        ml_text_add(t, "\\[uFFFD]");
    else if (n == 1)
        ml_text_char(t, *z);
    else {
        c &= 0x7fU >> n;
        for (size_t k = 1; k < n; k++)
            c = c << 6 | ((unsigned char)z[k] & 0x3fU);
        ml_text_fmt(t, "\\[u%04X]", (unsigned)c);
    }
    return n ? n : 1;
}

/* A line that begins with a dot or quote would be a request. */
static void add_escaped(ml_Text *t, const char *z)
{
    if (*z == '.' || *z == '\'')
        ml_text_add(t, "\\&");
    while (*z) {
        bool ends = *z == '\n';

        z += add_one(t, z);
        if (ends && (*z == '.' || *z == '\''))
            ml_text_add(t, "\\&");
    }
}

/* In a request: quotes and newlines would end its argument. */
static void add_argument(ml_Text *t, const char *z)
{
    while (*z) {
        if (*z == '"' || *z == '\n') {
            ml_text_add(t, *z == '"' ? "\\(dq" : " ");
            z++;
        } else
            z += add_one(t, z);
    }
}

static void chapter(ml_ManualPage *p, const char *id, const char *title)
{
    (void)id;
    ml_text_add(p->out, ".SH \"");
    for (; *title; title++) /* capitals by custom; titles are ASCII */
        ml_text_char(p->out, *title >= 'a' && *title <= 'z' ? (char)(*title - 32) : *title);
    ml_text_add(p->out, "\"\n");
}

static void group(ml_ManualPage *p, const char *title)
{
    ml_text_add(p->out, ".SS \"");
    add_argument(p->out, title);
    ml_text_add(p->out, "\"\n");
}

static void paragraph(ml_ManualPage *p, const char *text)
{
    ml_text_add(p->out, ".PP\n");
    add_escaped(p->out, text);
    ml_text_char(p->out, '\n');
}

static void verbatim(ml_ManualPage *p, const char *text)
{
    ml_text_add(p->out, ".PP\n.nf\n");
    add_escaped(p->out, text);
    ml_text_add(p->out, "\n.fi\n");
}

static void row(ml_ManualPage *p, const char *id, const char *name, const char *text)
{
    (void)id;
    ml_text_add(p->out, ".TP\n.B \"");
    add_argument(p->out, name);
    ml_text_add(p->out, "\"\n");
    add_escaped(p->out, *text ? text : "(no more is known of it)");
    ml_text_char(p->out, '\n');
}

const ml_ManualForm ml_manual_man = {.chapter = chapter,
                                     .group = group,
                                     .paragraph = paragraph,
                                     .verbatim = verbatim,
                                     .row = row,
                                     .brief = true};

void ml_manual_begin_man(ml_ManualPage *p)
{
    ml_text_fmt(
        p->out,
        ".\\\" Written by moonloop --manual=man\n"
        ".TH MOONLOOP 1 \"\" \"moonloop %s\" \"User Commands\"\n"
        ".SH NAME\nmoonloop \\- interactive schedule REPL for tensor programs\n"
        ".SH SYNOPSIS\n.B moonloop\n.RI [ options ]\n.RI [ FILE\n.RI [ ARGS ...]]\n",
        ML_VERSION);
}
