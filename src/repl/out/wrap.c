/*
 * wrap - paragraphs and tables of help folded to the width of the screen. Texts are written
 * with lines of any length; what a reader sees depends on the screen alone. Source:
 * interaction 4.
 */
#include "repl/out/wrap.h"

#include "repl/screen/grid.h"

typedef struct Wrap {
    ml_Text *out;
    size_t indent, width;
    size_t hang; /* of an item's further lines, beyond the indentation */
    size_t at;   /* columns of the line that is being written; 0: none is */
    bool word;   /* a word stands on it: the next one is set apart */
} Wrap;

static void end_line(Wrap *w)
{
    if (w->at > 0)
        ml_text_char(w->out, '\n');
    w->at = 0;
    w->word = false;
}

static void end_paragraph(Wrap *w)
{
    end_line(w);
    w->hang = 0;
}

static void add_word(Wrap *w, const char *p, size_t n)
{
    size_t columns = ml_columns_to(p, p + n);

    if (w->word && w->width > 0 && w->at + 1 + columns > w->width)
        end_line(w);
    if (w->at == 0) {
        ml_text_repeat(w->out, ' ', w->indent + w->hang);
        w->at = w->indent + w->hang;
    }
    if (w->word) {
        ml_text_char(w->out, ' ');
        w->at++;
    }
    ml_text_addn(w->out, p, n);
    w->at += columns;
    w->word = true;
}

static void add_line(Wrap *w, const char *p, size_t n)
{
    if (n > 2 && p[0] == '-' && p[1] == ' ') {
        end_paragraph(w);
        add_word(w, "-", 1);
        w->hang = 2;
        p++;
        n--;
    }
    while (n > 0) {
        size_t k = 0;

        while (n > 0 && *p == ' ') {
            p++;
            n--;
        }
        while (k < n && p[k] != ' ')
            k++;
        if (k > 0)
            add_word(w, p, k);
        p += k;
        n -= k;
    }
}

static void add_text(Wrap *w, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        if (n == 0) {
            end_paragraph(w);
            ml_text_char(w->out, '\n');
        } else if (text[0] == ' ' && text[1] == ' ' && w->hang == 0) {
            end_paragraph(w);
            ml_text_repeat(w->out, ' ', w->indent);
            ml_text_addn(w->out, text, n);
            ml_text_char(w->out, '\n');
        } else
            add_line(w, text, n);
        text += n + (text[n] == '\n');
    }
    end_line(w);
}

void ml_wrap(ml_Text *out, const char *text, size_t indent, size_t width)
{
    add_text(&(Wrap){.out = out, .indent = indent, .width = width}, text);
}

/* Further lines stand four columns further right. */
static void add_words(ml_Text *out, const char *text, size_t indent, size_t width)
{
    Wrap w = {.out = out, .indent = indent, .width = width};
    size_t n = strcspn(text, " ");

    add_word(&w, text, n);
    w.hang = 4;
    add_line(&w, text + n, strlen(text + n));
    end_line(&w);
}

void ml_wrap_hanging(ml_Text *out, const char *text, size_t width)
{
    add_words(out, text, 0, width);
}

void ml_wrap_row(ml_Text *out, const char *name, const char *text, size_t indent,
                 size_t column, size_t width)
{
    enum { LEAST = 24 }; /* columns of text beside a name; with less it stands below */
    Wrap w = {.out = out, .indent = column, .width = width};
    size_t end = indent + ml_columns(name);

    if (width > 0 && end > width && strchr(name, ' ')) { /* a signature: as it goes on */
        add_words(out, name, indent, width);
        if (*text)
            add_text(&(Wrap){.out = out, .indent = indent + 6, .width = width}, text);
        return;
    }
    ml_text_repeat(out, ' ', indent);
    ml_text_add(out, name);
    if (!*text || (width > 0 && column + LEAST > width) || end + 1 > column) {
        ml_text_char(out, '\n');
        if (width > 0 && column + LEAST > width)
            w.indent = indent + 2;
        if (!*text)
            return;
    } else {
        ml_text_repeat(out, ' ', column - end);
        w.at = column;
    }
    add_text(&w, text);
}
