/*
 * line_grid - the line that is being typed as cells, and what a terminal must be sent to
 * show it.
 *
 * Text is laid out twice: to find its height and the cursor's place, then into the part of
 * it that the screen has room for. Movements are relative to the first row and assume ANSI
 * sequences; after a character in the last column the column counts as unknown.
 * Source: interaction 4.
 */
#include "repl/line/line_grid.h"

#include "core/base/arena.h"

/* ---- laying out */

enum { TAB = 8, N_SGR = 8 };

typedef struct Pen {
    const ml_LineView *v;
    ml_LinePicture *to; /* NULL: only measured */
    int w, x, y;
    int top;     /* the first row that is drawn */
    int pad;     /* columns before the further lines of the entry */
    uint8_t sgr; /* of what is drawn now */
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
    if (p->to && p->y >= p->top && p->y - p->top < p->to->g.h) {
        ml_Grid *g = &p->to->g;
        int y = p->y - p->top;
        ml_Rect all = {0, 0, g->w, g->h}, cell = {p->x, y, c, 1};

        if (*z == '\t')
            ml_grid_fill(g, cell, role);
        else
            ml_grid_put_n(g, all, p->x, y, z, n, role);
        if (attr)
            ml_grid_attr(g, cell, attr);
        for (int k = 0; p->sgr && k < c && p->x + k < g->w; k++)
            p->to->sgr[y * g->w + p->x + k] = p->sgr;
    }
    p->x += c;
}

static void end_line(Pen *p, int pad)
{
    p->y++;
    p->x = pad;
}

/* ESC [ … m from z on: its length; 0: another thing. */
static size_t sgr_length(const char *z)
{
    size_t n = 2;

    if (z[0] != '\x1b' || z[1] != '[')
        return 0;
    n += strspn(z + 2, "0123456789;:");
    return z[n] == 'm' ? n + 1 : 0;
}

static void change_sgr(Pen *p, const char *z, size_t n)
{
    bool reset = n == 3 || (n == 4 && z[2] == '0');
    uint8_t was = p->sgr;

    if (reset || !p->to) {
        p->sgr = 0;
        return;
    }
    for (unsigned k = 1; k < N_SGR; k++) {
        ml_Text *t = &p->to->sgrs[k];

        if (t->n)
            continue;
        if (was)
            ml_text_add(t, ml_text_z(&p->to->sgrs[was]));
        ml_text_addn(t, z, n);
        p->sgr = (uint8_t)k;
        return;
    }
}

/* Colours are kept; other sequences and Readline's marks are nothing to be seen. */
static void put_prompt(Pen *p)
{
    const char *z = p->v->prompt;

    while (*z) {
        size_t n = sgr_length(z);

        if (n > 0) {
            change_sgr(p, z, n);
            z += n;
        } else if (*z == '\001' || *z == '\002') {
            z++;
        } else if (z[0] == '\x1b' && z[1] == '[') {
            for (z += 2; *z && (*z < '@' || *z > '~'); z++)
                ;
            z += *z != '\0';
        } else if (z[0] == '\x1b' && z[1] == ']') { /* a title: up to BEL or ESC \ */
            while (*z && *z != '\a' && *z != '\002')
                z++;
            z += *z == '\a';
        } else if (*z == '\n') {
            end_line(p, 0);
            z++;
        } else {
            n = whole_character(z, strlen(z));
            put(p, z, n, ML_ROLE_TEXT, 0);
            z += n;
        }
    }
    p->sgr = 0;
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

    if (!z || !p->to || y < 0 || y >= p->to->g.h)
        return;
    size_t n = strcspn(z, "\n");
    ml_Grid *g = &p->to->g;
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
    p->sgr = 0;
    put_prompt(p);
    p->pad = p->x * 2 > p->w ? 0 : p->x;
    put_text(p);
}

void ml_line_draw(const ml_LineView *v, int w, int h, ml_LinePicture *out)
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
    ml_grid_init(&out->g, p.w, shown + hints, v->ascii);
    out->sgr = ml_heap_zalloc((size_t)p.w * (size_t)(shown + hints));
    out->n_hints = hints;
    p.to = out;
    lay_out(&p);
    if (v->cursor >= v->n)
        put_suggestion(&p);
    for (int k = 0, y = shown; k < ML_LINE_HINTS && y < shown + hints; k++)
        if (v->hints[k].text)
            put_hint(&out->g, y++, &v->hints[k]);
    out->g.cursor_x = p.cursor_x < p.w ? p.cursor_x : p.w - 1;
    out->g.cursor_y = p.cursor_y - p.top;
}

void ml_line_picture_free(ml_LinePicture *p)
{
    ml_grid_free(&p->g);
    ml_heap_free(p->sgr);
    for (size_t k = 0; k < ML_COUNT(p->sgrs); k++)
        ml_text_free(&p->sgrs[k]);
    *p = (ml_LinePicture){0};
}

/* ---- sending */

typedef struct Sender {
    ml_LineScreen *s;
    const ml_Theme *t;
    ml_Text *out;
} Sender;

static void go(Sender *o, int x, int y)
{
    ml_LineScreen *s = o->s;

    if (y < s->y)
        ml_text_fmt(o->out, "\x1b[%dA", s->y - y);
    else if (y > s->y) {
        int within = (y < s->rows ? y : s->rows - 1) - s->y;

        if (within > 0)
            ml_text_fmt(o->out, "\x1b[%dB", within);
        s->y += within > 0 ? within : 0;
        for (; s->y < y; s->y++) { /* a row that is not there yet: the screen may scroll */
            ml_text_add(o->out, "\r\n");
            s->x = 0;
        }
        if (s->rows <= y)
            s->rows = y + 1;
    }
    s->y = y;
    if (x == s->x)
        return;
    if (s->x < 0 || x < s->x) {
        ml_text_char(o->out, '\r');
        s->x = 0;
    }
    if (x > s->x)
        ml_text_fmt(o->out, "\x1b[%dC", x - s->x);
    s->x = x;
}

static const ml_Cell *cell_of(const ml_LinePicture *p, int x, int y)
{
    return &p->g.cells[(size_t)y * (size_t)p->g.w + (size_t)x];
}

static const char *sgr_of(const ml_LinePicture *p, int x, int y)
{
    uint8_t k = p->sgr[y * p->g.w + x];

    return k && p->sgrs[k].n ? p->sgrs[k].p : "";
}

static bool same_cell(const ml_LinePicture *a, const ml_LinePicture *b, int x, int y)
{
    const ml_Cell *c = cell_of(a, x, y), *d = cell_of(b, x, y);

    return ml_streq(c->z, d->z) && c->role == d->role && c->attr == d->attr &&
           ml_streq(sgr_of(a, x, y), sgr_of(b, x, y));
}

/* Columns of a row up to the last that shows anything. */
static int row_end(const ml_LinePicture *p, int y)
{
    int w = p->g.w;

    while (w > 0) {
        const ml_Cell *c = cell_of(p, w - 1, y);

        if (!ml_streq(c->z, " ") || c->attr || *sgr_of(p, w - 1, y))
            break;
        w--;
    }
    return w;
}

static void send_cells(Sender *o, const ml_LinePicture *p, int from, int to, int y)
{
    ml_Text look = {0}, last = {0};
    bool changed = false;

    go(o, from, y);
    for (int x = from; x < to; x++) {
        const ml_Cell *c = cell_of(p, x, y);

        ml_text_clear(&look);
        if (*sgr_of(p, x, y))
            ml_text_add(&look, sgr_of(p, x, y));
        else if (c->role != ML_ROLE_TEXT || c->attr)
            ml_theme_sgr(o->t, (ml_CellRole)c->role, c->attr, &look);
        if (!ml_streq(ml_text_z(&look), ml_text_z(&last))) {
            if (changed)
                ml_text_add(o->out, "\x1b[0m");
            ml_text_add(o->out, ml_text_z(&look));
            changed = look.n > 0;
            ml_text_clear(&last);
            ml_text_add(&last, ml_text_z(&look));
        }
        ml_text_add(o->out, c->z);
    }
    if (changed)
        ml_text_add(o->out, "\x1b[0m");
    o->s->x = to < p->g.w ? to : -1;
    ml_text_free(&look);
    ml_text_free(&last);
}

static void send_row(Sender *o, const ml_LinePicture *was, const ml_LinePicture *now, int y)
{
    int end = row_end(now, y), old = was && y < was->g.h ? row_end(was, y) : 0;
    int from = 0, to = end;

    if (was && y < was->g.h) {
        while (from < end && from < old && same_cell(was, now, from, y))
            from++;
        while (end == old && to > from && same_cell(was, now, to - 1, y))
            to--;
    }
    /* Whole characters: a wide one is its cell and the next, which is empty. */
    while (from > 0 && from < now->g.w && !*cell_of(now, from, y)->z)
        from--;
    while (to < end && !*cell_of(now, to, y)->z)
        to++;
    if (from < to)
        send_cells(o, now, from, to, y);
    else if (y >= o->s->rows)
        go(o, 0, y);
    if (old > end) {
        go(o, end, y);
        ml_text_add(o->out, "\x1b[K");
    }
}

void ml_line_update(ml_LineScreen *s, ml_LinePicture *next, const ml_Theme *t, ml_Text *out)
{
    Sender o = {s, t, out};
    bool anew = !s->valid || s->shown.g.w != next->g.w;

    if (anew) {
        if (s->valid)
            go(&o, 0, 0);
        s->x = s->y = 0;
        s->rows = 1;
        ml_text_add(out, "\r\x1b[J");
    }
    for (int y = 0; y < next->g.h; y++)
        send_row(&o, anew ? NULL : &s->shown, next, y);
    if (!anew && s->shown.g.h > next->g.h) {
        go(&o, 0, next->g.h);
        ml_text_add(out, "\x1b[J");
    }
    go(&o, next->g.cursor_x, next->g.cursor_y);
    ml_line_picture_free(&s->shown);
    s->shown = *next;
    *next = (ml_LinePicture){0};
    s->valid = true;
}

void ml_line_erase(ml_LineScreen *s, ml_Text *out)
{
    Sender o = {s, NULL, out};

    if (s->valid) {
        go(&o, 0, 0);
        ml_text_add(out, "\r\x1b[J");
    }
    ml_line_forget(s);
}

void ml_line_leave(ml_LineScreen *s, ml_Text *out)
{
    Sender o = {s, NULL, out};

    if (s->valid)
        go(&o, 0, s->shown.g.h - 1);
    ml_text_add(out, "\r\n");
    ml_line_forget(s);
}

void ml_line_forget(ml_LineScreen *s)
{
    ml_line_picture_free(&s->shown);
    *s = (ml_LineScreen){0};
}

void ml_line_resized(ml_LineScreen *s, int w, ml_Text *out)
{
    int up = 0;

    if (!s->valid || w < 1) {
        ml_line_forget(s);
        return;
    }
    for (int y = 0; y < s->y && y < s->shown.g.h; y++) {
        int c = row_end(&s->shown, y);

        up += c > w ? (c + w - 1) / w : 1;
    }
    if (s->x > 0 && s->x < s->shown.g.w)
        up += s->x / w;
    if (up > 0)
        ml_text_fmt(out, "\x1b[%dA", up);
    ml_text_add(out, "\r\x1b[J");
    ml_line_forget(s);
}
