/*
 * rows - rows of panes: pieces of text with roles, and lines of code with the roles of
 * their words.
 *
 * A row is written into r->text and r->open and copied into the context of the rows when it
 * ends. Source: interaction 10.
 */
#include "repl/view/state/rows.h"

#include "repl/line/colour.h"

void ml_rows_reset(ml_Rows *r)
{
    if (r->cx)
        ml_ctx_reset(r->cx);
    else
        r->cx = ml_ctx_new(0);
    memset(&r->v, 0, sizeof r->v);
    memset(&r->open, 0, sizeof r->open);
    r->gutter = 0;
    r->head = 0;
    ml_text_clear(&r->text);
}

void ml_rows_free(ml_Rows *r)
{
    ml_text_free(&r->text);
    ml_ctx_unref(r->cx);
    *r = (ml_Rows){0};
}

/* ---- one row */

static void cover(ml_Rows *r, size_t from, ml_CellRole role)
{
    uint32_t to = (uint32_t)r->text.n;

    if (from >= r->text.n || role == ML_ROLE_TEXT)
        return;
    if (r->open.n > 0) {
        ml_RoleSpan *last = &r->open.v[r->open.n - 1];

        if (last->to == from && last->role == role) {
            last->to = to;
            return;
        }
    }
    ml_push(r->cx, &r->open, ((ml_RoleSpan){(uint32_t)from, to, (uint8_t)role}));
}

void ml_rows_put_n(ml_Rows *r, ml_CellRole role, const char *text, size_t n)
{
    size_t from = r->text.n;

    ml_text_addn(&r->text, text, n);
    cover(r, from, role);
}

void ml_rows_put(ml_Rows *r, ml_CellRole role, const char *fmt, ...)
{
    size_t from = r->text.n;
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&r->text, fmt, ap);
    va_end(ap);
    cover(r, from, role);
}

void ml_rows_put_line_number(ml_Rows *r, size_t line, int width, ml_CellRole role)
{
    ml_rows_put(r, role, "%*.0zu ", width, line);
    r->gutter = (uint16_t)r->text.n;
}

int ml_digits(size_t n)
{
    int d = 1;

    for (; n >= 10; n /= 10)
        d++;
    return d;
}

/* Columns of what was put so far, each character as one: names are no wider. */
static int columns(const ml_Rows *r)
{
    int n = 0;

    for (size_t k = 0; k < r->text.n; k++)
        n += ((unsigned char)r->text.p[k] & 0xc0) != 0x80;
    return n;
}

void ml_rows_pad(ml_Rows *r, int column, int least)
{
    int n = column - columns(r);

    ml_text_repeat(&r->text, ' ', (size_t)(n > least ? n : least));
}

ml_Row *ml_rows_end(ml_Rows *r)
{
    ml_RoleSpan *spans = ML_ARRAY(r->cx, ml_RoleSpan, r->open.n + 1);

    if (r->open.n > 0)
        memcpy(spans, r->open.v, r->open.n * sizeof *spans);
    ml_push(r->cx, &r->v,
            ((ml_Row){.text = ml_strdup(r->cx, (ml_Str){ml_text_z(&r->text), r->text.n}),
                      .spans = spans,
                      .n_spans = (uint32_t)r->open.n,
                      .gutter = r->gutter,
                      .version = -1}));
    r->open.n = 0;
    r->gutter = 0;
    ml_text_clear(&r->text);
    return &r->v.v[r->v.n - 1];
}

ml_Row *ml_rows_add(ml_Rows *r, ml_CellRole role, const char *fmt, ...)
{
    ml_Row *row;
    va_list ap;

    va_start(ap, fmt);
    ml_text_vfmt(&r->text, fmt, ap);
    va_end(ap);
    row = ml_rows_end(r);
    row->role = (uint8_t)role;
    return row;
}

void ml_rows_add_lines(ml_Rows *r, ml_CellRole role, const char *text)
{
    ml_Str line;

    while (ml_next_line(&text, &line))
        ml_rows_add(r, role, "%.*s", (int)line.n, line.p);
}

/* ---- code */

/* Appends the text and gives its words the roles that they have in the language. */
static void put_words(ml_Rows *r, ml_Language lang, const char *text, size_t n)
{
    size_t base = r->text.n, from = r->open.n;

    ml_text_addn(&r->text, text, n);
    if (r->text.n != base + n)
        return;
    ml_colour(r->cx, lang, text, n, &r->open);
    for (size_t k = from; k < r->open.n; k++) {
        r->open.v[k].from += (uint32_t)base;
        r->open.v[k].to += (uint32_t)base;
    }
}

static int mark_of(const char *p, size_t n, char *const *marked, size_t n_marked)
{
    for (size_t k = 0; k < n_marked; k++)
        if (marked[k] && strlen(marked[k]) == n && memcmp(marked[k], p, n) == 0)
            return (int)k;
    return -1;
}

/* Spans of the marked words in [from, to) of the row, which no other span covers. */
static void mark_words(ml_Rows *r, size_t from, size_t to, char *const *marked,
                       size_t n_marked)
{
    const char *p = r->text.p;

    for (size_t k = from, end; k < to; k = end) {
        int mark;

        end = k + 1;
        if (!ml_in_word(p[k]))
            continue;
        while (end < to && ml_in_word(p[end]))
            end++;
        mark = k > 0 && p[k - 1] == '.' ? -1 : mark_of(p + k, end - k, marked, n_marked);
        if (mark >= 0)
            ml_push(r->cx, &r->open,
                    ((ml_RoleSpan){(uint32_t)k, (uint32_t)end,
                                   (uint8_t)(ML_ROLE_MARK1 + mark)}));
    }
}

void ml_rows_put_script(ml_Rows *r, const char *line, size_t n, char *const *marked,
                        size_t n_marked)
{
    size_t base = r->text.n, first = r->open.n;
    bool any = false;

    put_words(r, ML_LANGUAGE_SCRIPT, line, n);
    for (size_t k = 0; k < n_marked; k++)
        any |= marked[k] != NULL;
    if (!any || r->text.n != base + n)
        return;
    size_t n_words = r->open.n - first;
    ml_RoleSpan *words = ML_ARRAY(r->cx, ml_RoleSpan, n_words + 1);

    if (n_words > 0)
        memcpy(words, r->open.v + first, n_words * sizeof *words);
    r->open.n = first;
    for (size_t k = 0; k <= n_words; k++) {
        size_t end = k < n_words ? words[k].from : r->text.n;

        mark_words(r, base, end, marked, n_marked);
        if (k < n_words)
            ml_push(r->cx, &r->open, words[k]);
        base = k < n_words ? words[k].to : end;
    }
}

ml_Row *ml_rows_code(ml_Rows *r, const char *line)
{
    put_words(r, *line == ':' ? ML_LANGUAGE_COMMAND : ml_language_of_line(line), line,
              strlen(line));
    return ml_rows_end(r);
}

int ml_wider(int width, const char *text, int most)
{
    int n = ml_text_columns(text, strlen(text));

    return n > width && n <= most ? n : width;
}

int ml_rows_columns(const ml_Grid *g, const ml_Rows *r)
{
    int longest = 0;

    for (size_t k = 0; k < r->v.n; k++) {
        int n = ml_grid_columns(g, r->v.v[k].text, strlen(r->v.v[k].text));

        longest = n > longest ? n : longest;
    }
    return longest;
}
