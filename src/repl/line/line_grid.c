/*
 * line_grid - the line that is being typed as cells.
 *
 * Text is laid out twice: to find its height and the cursor's place, then into the part of
 * it that the screen has room for. Source: interaction 4.
 */
#include "repl/line/line_grid.h"

#include "repl/screen/terminal.h"

enum { TAB = 8 };

typedef struct Pen {
    const ml_LineView *v;
    ml_Grid *to; /* NULL: only measured */
    int w, x, y;
    int top;     /* the first row that is drawn */
    int pad;     /* columns before the further lines of the entry */
    uint8_t own; /* the prompt's look of what is drawn now */
    int cursor_x, cursor_y;
} Pen;

/* A character with the marks that join it. */
static size_t whole_character(const char *z, size_t n)
{
    size_t bytes, more, at;

    ml_char_columns(z, n, &bytes);
    for (at = bytes ? bytes : 1; at < n && z[at] != '\n'; at += more)
        if (ml_char_columns(z + at, n - at, &more) > 0 || more == 0)
            break;
    return at < n ? at : n;
}

static int columns_at(const Pen *p, const char *z, size_t n, size_t *bytes)
{
    int c = ml_char_columns(z, n, bytes);

    return *z == '\t' ? TAB - p->x % TAB : c;
}

/* One character of n bytes. */
static void put(Pen *p, const char *z, size_t n, ml_CellRole role, int attr)
{
    size_t bytes;
    int c = columns_at(p, z, n, &bytes);

    if (p->x + c > p->w) {
        p->x = 0;
        p->y++;
        c = columns_at(p, z, n, &bytes);
    }
    if (p->to && p->y >= p->top && p->y - p->top < p->to->h) {
        ml_Grid *g = p->to;
        int y = p->y - p->top;
        ml_Rect all = {0, 0, g->w, g->h}, cell = {p->x, y, c, 1};

        if (*z == '\t')
            ml_grid_fill(g, cell, role);
        else
            ml_grid_put_n(g, all, p->x, y, z, n, role);
        if (attr)
            ml_grid_attr(g, cell, attr);
        for (int k = 0; k < c && p->x + k < g->w; k++)
            ml_grid_at(g, p->x + k, y)->own = p->own;
    }
    p->x += c;
}

static void end_line(Pen *p, int pad)
{
    p->y++;
    p->x = pad;
}

/* Adds to the look that was; one that has no room is passed over. */
static void change_look(Pen *p, const char *z, size_t n)
{
    bool reset = n == 3 || (n == 4 && z[2] == '0');

    if (reset || !p->to) {
        p->own = 0;
        return;
    }
    for (unsigned k = 1; k < ML_COUNT(p->to->own); k++) {
        char *own = p->to->own[k];
        size_t was = strlen(p->to->own[p->own]);

        if (*own)
            continue;
        if (was + n < ML_OWN_BYTES) {
            memcpy(own, p->to->own[p->own], was);
            memcpy(own + was, z, n);
            own[was + n] = '\0';
            p->own = (uint8_t)k;
        }
        return;
    }
}

/* Colours are kept; other sequences and Readline's marks are nothing to be seen. */
static void put_prompt(Pen *p)
{
    const char *z = p->v->prompt;

    while (*z) {
        size_t n = ml_escape_length(z);

        if (n > 0) {
            if (ml_escape_look(z))
                change_look(p, z, n);
            z += n;
        } else if (*z == '\001' || *z == '\002') {
            z++;
        } else if (*z == '\n') {
            end_line(p, 0);
            z++;
        } else {
            n = whole_character(z, strlen(z));
            put(p, z, n, ML_ROLE_TEXT, 0);
            z += n;
        }
    }
    p->own = 0;
}

static void note_cursor(Pen *p)
{
    if (p->x >= p->w) { /* it stands where the next character goes */
        p->x = 0;
        p->y++;
    }
    p->cursor_x = p->x;
    p->cursor_y = p->y;
}

static void put_text(Pen *p)
{
    const ml_LineView *v = p->v;
    size_t span = 0;

    for (size_t k = 0; k < v->n;) {
        size_t bytes = v->text[k] == '\n' ? 1 : whole_character(v->text + k, v->n - k);

        while (span < v->n_spans && v->spans[span].to <= k)
            span++;
        bool in = span < v->n_spans && v->spans[span].from <= k;
        bool marked = k >= v->mark_from && k < v->mark_to;

        if (v->cursor >= k && v->cursor < k + bytes)
            note_cursor(p);
        if (v->text[k] == '\n')
            end_line(p, p->pad);
        else
            put(p, v->text + k, bytes, in ? v->spans[span].role : ML_ROLE_TEXT,
                marked ? ML_ATTR_REVERSE : 0);
        k += bytes;
    }
    if (v->cursor >= v->n)
        note_cursor(p);
}

/* In what is left of the row; one line of it. */
static void put_suggestion(Pen *p)
{
    const char *z = p->v->suggestion;
    int y = p->y - p->top;

    if (!z || !p->to || y < 0 || y >= p->to->h)
        return;
    size_t n = strcspn(z, "\n");
    ml_Grid *g = p->to;
    ml_Text t = {0};
    ml_Rect all = {0, 0, g->w, g->h};

    ml_text_addn(&t, z, n);
    if (z[n])
        ml_text_add(&t, " …");
    ml_grid_put_cut(g, all, p->x, y, ml_text_z(&t), ML_ROLE_SUGGESTION);
    ml_text_free(&t);
}

static void put_hint(ml_Grid *g, int y, const ml_LineHint *hint)
{
    ml_Rect all = {0, 0, g->w, g->h};
    int x = 0;

    ml_grid_put_cut(g, all, 0, y, hint->text, ML_ROLE_HINT);
    /* What is cut ends in …, which keeps the role of the rest. */
    int whole = ml_text_columns(hint->text, strlen(hint->text));
    int visible = whole > g->w ? g->w - 1 : g->w;

    for (size_t k = 0, at = 0; k < hint->n_spans; k++) {
        const ml_RoleSpan *s = &hint->spans[k];

        x += ml_text_columns(hint->text + at, s->from - at);
        int c = ml_text_columns(hint->text + s->from, s->to - s->from);
        int w = x + c > visible ? visible - x : c;

        if (w > 0)
            ml_grid_role(g, (ml_Rect){x, y, w, 1}, s->role);
        x += c;
        at = s->to;
    }
}

static void lay_out(Pen *p)
{
    p->x = p->y = 0;
    p->own = 0;
    put_prompt(p);
    p->pad = p->x * 2 > p->w ? 0 : p->x;
    put_text(p);
}

void ml_line_draw(const ml_LineView *v, int w, int h, ml_Grid *out)
{
    Pen p = {.v = v, .w = w > 0 ? w : 1};
    int rows, hints = 0;

    if (h < 1)
        h = 1;
    lay_out(&p);
    rows = p.y + 1;
    for (int k = 0; k < ML_LINE_HINTS; k++)
        if (v->hints[k].text && rows + hints < h)
            hints++;
    int shown = rows < h ? rows : h;

    if (rows > h) { /* the part around the cursor */
        p.top = p.cursor_y - h / 2;
        if (p.top > rows - h)
            p.top = rows - h;
        if (p.top < 0)
            p.top = 0;
    }
    ml_grid_init(out, p.w, shown + hints, v->ascii);
    p.to = out;
    lay_out(&p);
    if (v->cursor >= v->n)
        put_suggestion(&p);
    for (int k = 0, y = shown; k < ML_LINE_HINTS && y < shown + hints; k++)
        if (v->hints[k].text)
            put_hint(out, y++, &v->hints[k]);
    out->cursor_x = p.cursor_x < p.w ? p.cursor_x : p.w - 1;
    out->cursor_y = p.cursor_y - p.top;
}
