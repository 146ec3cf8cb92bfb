/*
 * print_diag - one diagnostic as text: the sentence, the place, the source lines with
 * marks.
 *
 * Columns of spans count code points, a tab as one; lines are shown with tabs as single
 * blanks, and a caret stands below each column that what it marks takes on a screen.
 * Source: script 14.
 */
#include "moonloop/core/script/script.h"

#include "moonloop/core/base/columns.h"
#include "moonloop/core/base/utf8.h"

typedef struct Place { /* one mark on one line */
    uint32_t line, col, end_col;
    const char *text; /* behind it, or NULL */
    bool main;        /* ^ rather than - */
} Place;

/* Line `line` (1-based) of the source without its end; false: there is none. */
static bool line_at(ml_Str source, uint32_t line, ml_Str *out)
{
    const char *p = source.p, *end = source.p + source.n;
    if (source.n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        p += 3;
    for (uint32_t k = 1;; k++) {
        const char *q = p;
        while (q < end && *q != '\n' && *q != '\r')
            q++;
        if (k == line) {
            *out = (ml_Str){p, (size_t)(q - p)};
            return true;
        }
        if (q == end)
            return false;
        p = q + (*q == '\r' && q + 1 < end && q[1] == '\n' ? 2 : 1);
    }
}

static uint32_t code_points(ml_Str s)
{
    uint32_t n = 0;
    for (size_t k = 0; k < s.n; k++)
        n += ((unsigned char)s.p[k] & 0xC0) != 0x80;
    return n;
}

/* Columns of a screen that the code points [from, to) of the line take, both from 1; one
 * each behind its end. */
static size_t columns_of(ml_Str s, uint32_t from, uint32_t to)
{
    uint32_t at = 1;
    size_t n = 0;

    for (size_t k = 0, bytes; at < to; at++, k += bytes) {
        int c = k < s.n ? ml_char_columns(s.p + k, s.n - k, &bytes) : 1;

        if (k >= s.n)
            bytes = 0;
        else if ((unsigned char)s.p[k] < 0x20 || s.p[k] == 0x7f)
            c = 1; /* shown as a blank */
        n += at >= from ? (size_t)c : 0;
    }
    return n;
}

/* Code points in front that are blank. */
static uint32_t blanks(ml_Str s)
{
    uint32_t n = 0;
    while (n < s.n && (s.p[n] == ' ' || s.p[n] == '\t' || s.p[n] == '\f'))
        n++;
    return n;
}

enum { MAX_LINES_OF_SPAN = 20, MAX_PLACES = 64 };

/* The marks of a span, one for each of its lines; the text stands behind the last. */
static size_t add_span(Place *places, size_t n, ml_Str source, const ml_Span *s,
                       const char *text, bool main)
{
    uint32_t end_line = s->end_line < s->line ? s->line : s->end_line;
    if (end_line > s->line && s->end_col <= 1)
        end_line--; /* ends before the first character of that line */
    for (uint32_t l = s->line; l <= end_line && l - s->line < MAX_LINES_OF_SPAN; l++) {
        ml_Str line;
        if (n == MAX_PLACES || !line_at(source, l, &line))
            break;
        uint32_t first = blanks(line) + 1, len = code_points(line);
        Place p = {
            .line = l, .col = l == s->line ? s->col : 1, .end_col = len + 1, .main = main};
        if (l == s->end_line && s->end_line >= s->line)
            p.end_col = s->end_col;
        if (l != s->line && first > len)
            continue; /* an empty line inside */
        if (p.col < first && p.end_col > first)
            p.col = first;
        if (p.end_col <= p.col)
            p.end_col = p.col + 1;
        if (l == end_line || l - s->line + 1 == MAX_LINES_OF_SPAN)
            p.text = text;
        places[n++] = p;
    }
    return n;
}

static bool before(const Place *a, const Place *b)
{
    if (a->line != b->line)
        return a->line < b->line;
    return a->col < b->col;
}

static bool same_span(const ml_Span *a, const ml_Span *b)
{
    return a->line == b->line && a->col == b->col && a->end_line == b->end_line &&
           a->end_col == b->end_col;
}

static bool same_file(const ml_Span *a, const ml_Span *b)
{
    return a->file == b->file || (a->file && b->file && ml_streq(a->file, b->file));
}

/* Bytes that are no text, which E110 is about, are a column each, too. */
static void show_line(ml_Text *out, ml_Str line)
{
    while (line.n > 0 && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t'))
        line.n--;
    for (const char *p = line.p, *end = line.p + line.n; p < end;) {
        unsigned char c = (unsigned char)*p;
        size_t n = ml_utf8_length(p, end);
        ml_text_utf8(out, c < 0x20 || c == 0x7F ? " " : p, n ? n : 1);
        p += n ? n : 1;
    }
}

static int digits(uint32_t n)
{
    int d = 1;
    for (; n >= 10; n /= 10)
        d++;
    return d;
}

static void show_places(ml_Text *out, ml_Str source, const Place *places, size_t n,
                        int width)
{
    uint32_t shown = 0;
    ml_text_fmt(out, "%*s |\n", width + 1, "");
    for (size_t k = 0; k < n; k++) {
        const Place *p = &places[k];
        ml_Str line = {0};
        if (line_at(source, p->line, &line) && p->line != shown) {
            ml_text_fmt(out, " %*u | ", width, (unsigned)p->line);
            show_line(out, line);
            ml_text_char(out, '\n');
            shown = p->line;
        }
        ml_text_fmt(out, "%*s | ", width + 1, "");
        size_t under = columns_of(line, p->col, p->end_col);

        ml_text_repeat(out, ' ', columns_of(line, 1, p->col));
        ml_text_repeat(out, p->main ? '^' : '-', under ? under : 1);
        if (p->text) {
            ml_text_char(out, ' ');
            ml_text_add(out, p->text);
        }
        ml_text_char(out, '\n');
    }
}

void ml_diag_print(ml_Text *out, const ml_Diag *d, ml_Str source)
{
    Place places[MAX_PLACES];
    size_t n = 0;
    const char *label = NULL;
    uint32_t highest = d->span.line;

    /* A note at the very place is what its carets say. */
    for (uint32_t k = 0; k < d->n_notes; k++)
        if (same_span(&d->notes[k].span, &d->span))
            label = d->notes[k].text;
    n = add_span(places, n, source, &d->span, label, true);
    for (uint32_t k = 0; k < d->n_notes; k++)
        if (!same_span(&d->notes[k].span, &d->span) &&
            same_file(&d->notes[k].span, &d->span))
            n = add_span(places, n, source, &d->notes[k].span, d->notes[k].text, false);
    for (size_t k = 1; k < n; k++)
        for (size_t at = k; at > 0 && before(&places[at], &places[at - 1]); at--) {
            Place t = places[at];
            places[at] = places[at - 1];
            places[at - 1] = t;
        }
    for (size_t k = 0; k < n; k++)
        if (places[k].line > highest)
            highest = places[k].line;

    int width = digits(highest);
    ml_text_fmt(out, "%s[%s]: %s\n", d->warning ? "warning" : "error", d->code, d->message);
    ml_text_fmt(out, " --> %s:%u:%u\n", d->span.file ? d->span.file : "<text>",
                (unsigned)d->span.line, (unsigned)d->span.col);
    if (n > 0)
        show_places(out, source, places, n, width);
    for (uint32_t k = 0; k < d->n_notes; k++)
        if (!same_file(&d->notes[k].span, &d->span) && d->notes[k].text)
            ml_text_fmt(out, "%*s = note: %s (%s:%u:%u)\n", width + 1, "", d->notes[k].text,
                        d->notes[k].span.file ? d->notes[k].span.file : "<text>",
                        (unsigned)d->notes[k].span.line, (unsigned)d->notes[k].span.col);
    if (d->help)
        ml_text_fmt(out, "%*s = help: %s\n", width + 1, "", d->help);
}
