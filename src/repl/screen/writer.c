/*
 * writer - the difference between two grids as bytes. A row is gone through from the left;
 * where cells differ the cursor goes there by the shortest way and they are sent, what is
 * blank to the right is cleared. Attributes are off whenever a picture is complete, and
 * before anything is cleared or scrolls.
 *
 * After a character in the last column, and on a screen of ours after one of which terminals
 * may think otherwise, the cursor's column counts as unknown. Source: interaction 4, 10.
 */
#include "repl/screen/writer.h"

typedef struct Brush { /* what the next character looks like */
    ml_Look look;
    const char *own; /* in its place; "" */
} Brush;

typedef struct Pen {
    ml_Writer *w;
    const ml_Theme *t; /* NULL: no cells are drawn */
    ml_Depth depth;
    ml_Text *out;
    Brush now;
    bool same_own; /* cells of one number look alike in both grids */
    bool sent;
} Pen;

static const Brush NORMAL = {{ML_COLOR_DEFAULT, ML_COLOR_DEFAULT, 0}, ""};

static void add(Pen *p, ml_Cap cap, int a, int b)
{
    ml_terminal_add(p->w->to, cap, a, b, p->out);
}

/* ---- looks */

static bool same_brush(const Brush *a, const Brush *b)
{
    return a->look.fg == b->look.fg && a->look.bg == b->look.bg &&
           a->look.attr == b->look.attr && ml_streq(a->own, b->own);
}

static void take(Pen *p, const Brush *b)
{
    if (same_brush(&p->now, b))
        return;
    if (!*b->own || !same_brush(&p->now, &NORMAL))
        ml_look_add(p->w->to, p->depth, *p->now.own ? NULL : &p->now.look, b->look, p->out);
    ml_text_add(p->out, b->own);
    p->now = *b;
}

/* Whether it shows without a character. */
static bool has_ground(const ml_Look *l)
{
    return l->bg != ML_COLOR_DEFAULT || (l->attr & (ML_ATTR_UNDERLINE | ML_ATTR_REVERSE));
}

/* A blank has no colour but its ground's. */
static Brush brush_of(const Pen *p, const ml_Grid *g, const ml_Cell *c)
{
    Brush b = {ml_theme_look(p->t, (ml_CellRole)c->role, c->attr), ""};

    if (c->own) {
        b = NORMAL;
        b.own = g->own[c->own];
        return b;
    }
    b.look.attr &= p->w->to->attrs;
    if (b.look.fg != ML_COLOR_DEFAULT || b.look.bg != ML_COLOR_DEFAULT)
        b.look.attr &= ~p->w->to->uncolored;
    if (!has_ground(&b.look) && ml_streq(c->z, " "))
        b.look = NORMAL.look;
    return b;
}

static bool is_blank(const Pen *p, const ml_Grid *g, int x, int y)
{
    const ml_Cell *c = ml_grid_at(g, x, y);

    if (!ml_streq(c->z, " "))
        return false;
    Brush b = brush_of(p, g, c);

    return same_brush(&b, &NORMAL);
}

/* Columns of a row up to the last that shows anything. */
static int row_end(const Pen *p, const ml_Grid *g, int y)
{
    int x = g->w;

    while (x > 0 && is_blank(p, g, x - 1, y))
        x--;
    return x;
}

/* ---- the cursor */

/* The rows among other text: one that is not there yet is made, and may scroll. */
static void go_row(Pen *p, int y)
{
    ml_Writer *w = p->w;
    int there = y < w->rows ? y : w->rows - 1;

    if (there < w->y)
        add(p, ML_CAP_UP, w->y - there, 0);
    else if (there > w->y)
        add(p, ML_CAP_DOWN, there - w->y, 0);
    for (w->y = there; w->y < y; w->y++) {
        take(p, &NORMAL);
        ml_text_add(p->out, "\r\n");
        w->x = 0;
        w->rows = w->y + 2;
    }
}

static void go(Pen *p, int x, int y)
{
    ml_Writer *w = p->w;

    if (w->among)
        go_row(p, y);
    else if (y != w->y || (x > 0 && (w->x < 0 || !w->to->cap[ML_CAP_RIGHT]))) {
        if (y == w->y + 1 && x == 0)
            ml_text_add(p->out, "\r\n");
        else
            add(p, ML_CAP_GO, y, x);
        w->x = x;
        w->y = y;
    }
    if (x == w->x)
        return;
    /* Among other text the left edge is sure, also where the terminal has counted the columns
     * of what stands there otherwise. */
    if (w->x > x && x > 0 && w->to->cap[ML_CAP_LEFT] && !w->among)
        add(p, ML_CAP_LEFT, w->x - x, 0);
    else {
        if (w->x < 0 || w->x > x) {
            ml_text_char(p->out, '\r');
            w->x = 0;
        }
        if (w->x < x)
            add(p, ML_CAP_RIGHT, x - w->x, 0);
    }
    w->x = x;
}

/* ---- rows */

static bool same_cell(const Pen *p, const ml_Grid *next, int x, int y)
{
    const ml_Cell *a = ml_grid_at(&p->w->shown, x, y), *b = ml_grid_at(next, x, y);

    if (!ml_streq(a->z, b->z))
        return false;
    if (a->role == b->role && a->attr == b->attr && !a->own && !b->own)
        return true;
    Brush old = brush_of(p, &p->w->shown, a), new = brush_of(p, next, b);

    return same_brush(&old, &new);
}

/* Blanks from x on that are no more than that. */
static int blanks(const Pen *p, const ml_Grid *g, int x, int y)
{
    int n = 0;

    while (x + n < g->w && is_blank(p, g, x + n, y))
        n++;
    return n;
}

/* Whether terminals may think otherwise of the columns that it takes. */
static bool is_uncertain(const ml_Cell *c, bool wide)
{
    size_t bytes = 1;

    if ((unsigned char)c->z[0] >= 0x80)
        ml_char_columns(c->z, strlen(c->z), &bytes);
    return wide || c->z[bytes];
}

/* Whether a cell looks right as the next character is: a blank does in any colour. */
static bool suits(const Pen *p, const ml_Cell *c, const Brush *b)
{
    return same_brush(b, &p->now) || (ml_streq(c->z, " ") && same_brush(b, &NORMAL) &&
                                      !*p->now.own && !has_ground(&p->now.look));
}

/* The column behind it. */
static int send_cell(Pen *p, const ml_Grid *g, int x, int y)
{
    const ml_Cell *c = ml_grid_at(g, x, y);
    Brush b = brush_of(p, g, c);
    bool wide = x + 1 < g->w && !c[1].z[0];
    int next = x + (wide ? 2 : 1);

    if (!suits(p, c, &b))
        take(p, &b);
    ml_text_add(p->out, c->z);
    p->w->x = next >= g->w || (!p->w->among && is_uncertain(c, wide)) ? -1 : next;
    p->sent = true;
    return next;
}

enum {
    STEP = 4,        /* cells that are sent again rather than passed over */
    MANY_BLANKS = 12 /* that are cleared rather than sent */
};

/* What the cursor passes by on the way to x may be shorter than the way. */
static int begin_at(const Pen *p, const ml_Grid *next, int x, int y)
{
    int from = p->w->y == y ? p->w->x : -1;

    if (from < 0 || from > x || x - from > STEP)
        return x;
    for (int k = from; k < x; k++) {
        const ml_Cell *c = ml_grid_at(next, k, y);
        Brush b = brush_of(p, next, c);

        if (!suits(p, c, &b) || !c->z[0] || c->z[1])
            return x;
    }
    return from;
}

static void show_row(Pen *p, const ml_Grid *next, int y)
{
    ml_Writer *w = p->w;
    bool there = y < w->shown.h;

    if (there && p->same_own && !(w->among && y >= w->rows) &&
        memcmp(ml_grid_at(&w->shown, 0, y), ml_grid_at(next, 0, y),
               (size_t)next->w * sizeof(ml_Cell)) == 0)
        return;
    int end = row_end(p, next, y), old = there ? row_end(p, &w->shown, y) : 0;
    int last = !w->among && !w->to->corner && y + 1 == next->h ? next->w - 1 : next->w;

    for (int x = 0; x < end && x < last;) {
        if (x < old ? same_cell(p, next, x, y) : is_blank(p, next, x, y)) {
            x++;
            continue;
        }
        while (x > 0 && !ml_grid_at(next, x, y)->z[0])
            x--; /* whole characters */
        int n = x < old ? blanks(p, next, x, y) : 0;

        if (n > MANY_BLANKS && w->to->cap[ML_CAP_BLANKS]) {
            go(p, x, y);
            take(p, &NORMAL);
            add(p, ML_CAP_BLANKS, n, 0);
            p->sent = true;
            x += n;
            continue;
        }
        int to = x;

        x = begin_at(p, next, x, y);
        go(p, x, y);
        while (x <= to)
            x = send_cell(p, next, x, y);
    }
    if (w->among && y >= w->rows)
        go(p, 0, y);
    if (old > end) {
        go(p, end, y);
        take(p, &NORMAL);
        add(p, ML_CAP_CLEAR_ROW, 0, 0);
        p->sent = true;
    }
}

/* ---- pictures */

/* An empty screen, or the rest of one from here on. */
static void begin(Pen *p, const ml_Grid *next)
{
    ml_Writer *w = p->w;

    if (w->among) {
        if (w->valid)
            go(p, 0, 0);
        ml_text_char(p->out, '\r');
        add(p, ML_CAP_CLEAR_BELOW, 0, 0);
    } else {
        add(p, ML_CAP_CURSOR_OFF, 0, 0);
        add(p, ML_CAP_NORMAL, 0, 0);
        add(p, ML_CAP_CLEAR, 0, 0);
    }
    w->x = w->y = w->cursor = 0;
    w->rows = 1;
    ml_grid_resize(&w->shown, next->w, next->h);
    w->valid = p->sent = true;
}

bool ml_writer_show(ml_Writer *w, const ml_Grid *next, const ml_Theme *t, ml_Text *out)
{
    Pen p = {.w = w, .t = t, .depth = t->depth, .out = out, .now = NORMAL};
    bool cursor = next->cursor_x >= 0 && next->cursor_x < next->w && next->cursor_y >= 0 &&
                  next->cursor_y < next->h;

    if (!w->valid || w->shown.w != next->w || (!w->among && w->shown.h != next->h))
        begin(&p, next);
    p.same_own = memcmp(w->shown.own, next->own, sizeof next->own) == 0;
    for (int y = 0; y < next->h; y++)
        show_row(&p, next, y);
    take(&p, &NORMAL);
    if (w->shown.h > next->h) { /* among text */
        go(&p, 0, next->h);
        add(&p, ML_CAP_CLEAR_BELOW, 0, 0);
    }
    if (cursor)
        go(&p, next->cursor_x, next->cursor_y);
    else if (!w->to->cap[ML_CAP_CURSOR_OFF]) /* where it is not in the way */
        go(&p, 0, next->h - 1);
    if (!w->among && w->cursor != cursor)
        add(&p, cursor ? ML_CAP_CURSOR_ON : ML_CAP_CURSOR_OFF, 0, 0);
    w->cursor = cursor;
    ml_grid_copy(&w->shown, next);
    return p.sent;
}

void ml_writer_forget(ml_Writer *w)
{
    ml_grid_free(&w->shown);
    *w = (ml_Writer){.to = w->to, .among = w->among};
}

void ml_writer_erase(ml_Writer *w, ml_Text *out)
{
    Pen p = {.w = w, .out = out, .now = NORMAL};

    if (w->valid) {
        go(&p, 0, 0);
        ml_text_char(out, '\r');
        add(&p, ML_CAP_CLEAR_BELOW, 0, 0);
    }
    ml_writer_forget(w);
}

void ml_writer_leave(ml_Writer *w, ml_Text *out)
{
    Pen p = {.w = w, .out = out, .now = NORMAL};

    if (w->valid)
        go(&p, 0, w->shown.h - 1);
    ml_text_add(out, "\r\n");
    ml_writer_forget(w);
}

void ml_writer_resized(ml_Writer *w, int width, ml_Text *out)
{
    int up = 0;

    if (!w->valid || width < 1) {
        ml_writer_forget(w);
        return;
    }
    for (int y = 0; y < w->y && y < w->shown.h; y++) {
        int c = w->shown.w;

        while (c > 0 && ml_streq(ml_grid_at(&w->shown, c - 1, y)->z, " "))
            c--;
        up += c > width ? (c + width - 1) / width : 1;
    }
    if (w->x > 0 && w->x < w->shown.w)
        up += w->x / width;
    if (up > 0)
        ml_terminal_add(w->to, ML_CAP_UP, up, 0, out);
    ml_text_char(out, '\r');
    ml_terminal_add(w->to, ML_CAP_CLEAR_BELOW, 0, 0, out);
    ml_writer_forget(w);
}
