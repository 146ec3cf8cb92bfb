/*
 * grid - putting text and lines into cells. Invariants: every cell holds one character with
 * its marks, or "" behind a character of two columns; no character stands half in the grid.
 * Lines of boxes are bits (left, right, up, down) that add up: a box drawn over another's
 * border joins it. Source: interaction 4, 10.
 */
#include "repl/screen/grid.h"

#include <stdlib.h>

/* ---- life */

ml_Cell *ml_grid_at(const ml_Grid *g, int x, int y)
{
    return &g->cells[(size_t)y * (size_t)g->w + (size_t)x];
}

static void blank(ml_Cell *c, int role)
{
    memset(c, 0, sizeof *c);
    c->z[0] = ' ';
    c->role = (uint8_t)role;
}

void ml_grid_clear(ml_Grid *g)
{
    for (size_t k = 0; k < (size_t)g->w * (size_t)g->h; k++)
        blank(&g->cells[k], ML_ROLE_TEXT);
    g->cursor_x = g->cursor_y = -1;
}

void ml_grid_resize(ml_Grid *g, int w, int h)
{
    enum { MOST = 4096 }; /* a terminal that lies about its size costs no more than this */

    w = w < 1 ? 1 : w > MOST ? MOST : w;
    h = h < 1 ? 1 : h > MOST ? MOST : h;
    if (!g->cells || w != g->w || h != g->h) {
        free(g->cells);
        g->cells = malloc((size_t)w * (size_t)h * sizeof *g->cells);
        if (!g->cells)
            ml_out_of_memory();
        g->w = w;
        g->h = h;
    }
    ml_grid_clear(g);
}

void ml_grid_init(ml_Grid *g, int w, int h, bool ascii)
{
    *g = (ml_Grid){.ascii = ascii};
    ml_grid_resize(g, w, h);
}

void ml_grid_copy(ml_Grid *to, const ml_Grid *from)
{
    ml_Cell *cells;

    ml_grid_resize(to, from->w, from->h);
    cells = to->cells;
    memcpy(cells, from->cells, (size_t)from->w * (size_t)from->h * sizeof *cells);
    *to = *from;
    to->cells = cells;
}

void ml_grid_free(ml_Grid *g)
{
    free(g->cells);
    *g = (ml_Grid){0};
}

/* ---- rectangles */

static ml_Rect meet(const ml_Grid *g, ml_Rect r)
{
    int64_t x1 = (int64_t)r.x + r.w, y1 = (int64_t)r.y + r.h;
    int x = r.x < 0 ? 0 : r.x, y = r.y < 0 ? 0 : r.y;

    if (x1 > g->w)
        x1 = g->w;
    if (y1 > g->h)
        y1 = g->h;
    return (ml_Rect){x, y, x1 > x ? (int)(x1 - x) : 0, y1 > y ? (int)(y1 - y) : 0};
}

/* What writing over cell (x, y) leaves of a character of two columns beside it. */
static void mend(ml_Grid *g, int x, int y)
{
    ml_Cell *c = ml_grid_at(g, x, y);

    if (!c->z[0] && x > 0)
        blank(c - 1, c[-1].role);
    if (c->z[0] && x + 1 < g->w && !c[1].z[0])
        blank(c + 1, c[1].role);
}

void ml_grid_fill(ml_Grid *g, ml_Rect r, ml_CellRole role)
{
    r = meet(g, r);
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++) {
            mend(g, x, y);
            blank(ml_grid_at(g, x, y), (int)role);
        }
}

void ml_grid_attr(ml_Grid *g, ml_Rect r, int attr)
{
    r = meet(g, r);
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++)
            ml_grid_at(g, x, y)->attr |= (uint8_t)attr;
}

void ml_grid_role(ml_Grid *g, ml_Rect r, ml_CellRole role)
{
    r = meet(g, r);
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++)
            ml_grid_at(g, x, y)->role = (uint8_t)role;
}

/* ---- ASCII */

static const struct {
    const char *from, *to;
} ASCII[] = {
    {"─", "-"},   {"│", "|"},     {"┌", "+"},  {"┐", "+"},  {"└", "+"},    {"┘", "+"},
    {"├", "+"},   {"┤", "+"},     {"┬", "+"},  {"┴", "+"},  {"┼", "+"},    {"▾", "v"},
    {"▸", ">"},   {"■", "*"},     {"●", "o"},  {"○", "o"},  {"◀", "<"},    {"▶", ">"},
    {"▌", "#"},   {"▐", "#"},     {"█", "#"},  {"▓", "#"},  {"▒", "+"},    {"░", "."},
    {"▁", "_"},   {"▂", "."},     {"▃", "-"},  {"▄", "="},  {"▅", "+"},    {"▆", "*"},
    {"▇", "%"},   {"▏", "|"},     {"▎", "|"},  {"▍", "|"},  {"▋", "#"},    {"▊", "#"},
    {"▉", "#"},   {"×", "x"},     {"→", "->"}, {"←", "<-"}, {"↑", "^"},    {"↓", "v"},
    {"…", "..."}, {"·", "-"},     {"✓", "ok"}, {"✗", "no"}, {"«", "<"},    {"»", ">"},
    {"≤", "<="},  {"≥", ">="},    {"≠", "!="}, {"±", "+-"}, {"√", "sqrt"}, {"⟨", "<"},
    {"⟩", ">"},   {"⏎", "Enter"}, {"µ", "u"},  {"–", "-"},  {"—", "-"},    {"∞", "inf"},
    {"²", "^2"},  {"⁷", "^7"},    {"∈", "in"}, {"‘", "'"},  {"’", "'"},
};

const char *ml_ascii(const char *p, size_t n)
{
    if ((unsigned char)*p < 0x80)
        return NULL;
    for (size_t k = 0; k < ML_COUNT(ASCII); k++)
        if (strlen(ASCII[k].from) == n && memcmp(ASCII[k].from, p, n) == 0)
            return ASCII[k].to;
    return "?";
}

int ml_grid_columns(const ml_Grid *g, const char *text, size_t n)
{
    int columns = 0;

    for (size_t k; n > 0; text += k, n -= k) {
        int c = ml_char_columns(text, n, &k);
        const char *a = g->ascii && c > 0 ? ml_ascii(text, k) : NULL;

        columns += a ? (int)strlen(a) : c;
    }
    return columns;
}

/* ---- text */

typedef struct Pen {
    ml_Grid *g;
    ml_Rect in; /* meets the grid */
    int64_t x;  /* may lie outside */
    int y;
    ml_CellRole role;
    int64_t last; /* column of the last character, for what joins it; -1: none in sight */
} Pen;

static void put_cell(Pen *p, int x, const char *z, size_t n)
{
    ml_Cell *c = ml_grid_at(p->g, x, p->y);

    mend(p->g, x, p->y);
    blank(c, (int)p->role);
    memcpy(c->z, z, n);
    c->z[n] = '\0';
}

static bool visible(const Pen *p, int64_t x)
{
    return p->y >= p->in.y && p->y < p->in.y + p->in.h && x >= p->in.x &&
           x < (int64_t)p->in.x + p->in.w;
}

/* One character of `columns`; of two that do not both fit, the one in sight is blank. */
static void pen_char(Pen *p, const char *z, size_t n, int columns)
{
    bool first = visible(p, p->x), second = columns == 2 && visible(p, p->x + 1);

    p->last = -1;
    if (columns == 2 && first && second) {
        put_cell(p, (int)p->x, z, n);
        put_cell(p, (int)p->x + 1, "", 0);
        p->last = p->x;
    } else if (columns == 2 && (first || second)) {
        put_cell(p, (int)p->x + (first ? 0 : 1), " ", 1);
    } else if (columns == 1 && first) {
        put_cell(p, (int)p->x, z, n);
        p->last = p->x;
    }
    p->x += columns;
}

static void pen_join(Pen *p, const char *z, size_t n)
{
    if (p->last < 0)
        return;
    ml_Cell *c = ml_grid_at(p->g, (int)p->last, p->y);
    size_t have = strlen(c->z);

    if (have + n < sizeof c->z) {
        memcpy(c->z + have, z, n);
        c->z[have + n] = '\0';
    }
}

static void pen_text(Pen *p, const char *text, size_t n)
{
    for (size_t k; n > 0; text += k, n -= k) {
        int columns = ml_char_columns(text, n, &k);
        const char *a = NULL;

        if (columns == 0) {
            if (!p->g->ascii)
                pen_join(p, text, k);
            continue;
        }
        if (k == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f)) {
            char shown = (char)(*text == 0x7f ? '?' : *text + '@');

            pen_char(p, "^", 1, 1);
            pen_char(p, &shown, 1, 1);
            continue;
        }
        if (p->g->ascii)
            a = ml_char_odd(text, n) ? "?" : ml_ascii(text, k);
        else if (ml_char_odd(text, n))
            a = "\xef\xbf\xbd";
        if (!a)
            pen_char(p, text, k, columns);
        else if ((unsigned char)*a >= 0x80)
            pen_char(p, a, strlen(a), 1);
        else
            for (; *a; a++)
                pen_char(p, a, 1, 1);
    }
}

static Pen pen_at(ml_Grid *g, ml_Rect in, int x, int y, ml_CellRole role)
{
    return (Pen){.g = g, .in = meet(g, in), .x = x, .y = y, .role = role, .last = -1};
}

int ml_grid_put_n(ml_Grid *g, ml_Rect in, int x, int y, const char *text, size_t n,
                  ml_CellRole role)
{
    Pen p = pen_at(g, in, x, y, role);

    pen_text(&p, text, n);
    return (int)(p.x - x);
}

int ml_grid_put(ml_Grid *g, ml_Rect in, int x, int y, const char *text, ml_CellRole role)
{
    return ml_grid_put_n(g, in, x, y, text, strlen(text), role);
}

int ml_grid_put_cut(ml_Grid *g, ml_Rect in, int x, int y, const char *text,
                    ml_CellRole role)
{
    int columns = ml_grid_put_n(g, in, x, y, text, strlen(text), role);
    ml_Rect r = meet(g, in);

    if ((int64_t)x + columns > (int64_t)r.x + r.w && r.w > 0 && x < r.x + r.w) {
        Pen p = pen_at(g, in, r.x + r.w - 1, y, role);

        if (g->ascii)
            pen_char(&p, "~", 1, 1);
        else
            pen_char(&p, "…", strlen("…"), 1);
    }
    return columns;
}

/* ---- lines */

enum { LEFT = 1, RIGHT = 2, UP = 4, DOWN = 8 };

static const char *const LINES[16] = {
    [0] = " ",
    [LEFT] = "─",
    [RIGHT] = "─",
    [LEFT | RIGHT] = "─",
    [UP] = "│",
    [DOWN] = "│",
    [UP | DOWN] = "│",
    [RIGHT | DOWN] = "┌",
    [LEFT | DOWN] = "┐",
    [RIGHT | UP] = "└",
    [LEFT | UP] = "┘",
    [UP | DOWN | RIGHT] = "├",
    [UP | DOWN | LEFT] = "┤",
    [LEFT | RIGHT | DOWN] = "┬",
    [LEFT | RIGHT | UP] = "┴",
    [LEFT | RIGHT | UP | DOWN] = "┼",
};

static const char *ascii_line(int bits)
{
    if ((bits & (UP | DOWN)) == 0)
        return "-";
    return (bits & (LEFT | RIGHT)) == 0 ? "|" : "+";
}

static void join(ml_Grid *g, int64_t x, int64_t y, int bits, ml_CellRole role)
{
    if (x < 0 || y < 0 || x >= g->w || y >= g->h)
        return;
    ml_Cell *c = ml_grid_at(g, (int)x, (int)y);
    int all = c->line | bits;
    const char *z = g->ascii ? ascii_line(all) : LINES[all];

    mend(g, (int)x, (int)y);
    blank(c, (int)role);
    memcpy(c->z, z, strlen(z) + 1);
    c->line = (uint8_t)all;
}

void ml_grid_hline(ml_Grid *g, int x, int y, int w, ml_CellRole role)
{
    for (int64_t k = x < 0 ? -(int64_t)x : 0; k < w && x + k < g->w; k++)
        join(g, x + k, y, (k > 0 || w == 1 ? LEFT : 0) | (k + 1 < w || w == 1 ? RIGHT : 0),
             role);
}

void ml_grid_vline(ml_Grid *g, int x, int y, int h, ml_CellRole role)
{
    for (int64_t k = y < 0 ? -(int64_t)y : 0; k < h && y + k < g->h; k++)
        join(g, x, y + k, (k > 0 || h == 1 ? UP : 0) | (k + 1 < h || h == 1 ? DOWN : 0),
             role);
}

void ml_grid_box(ml_Grid *g, ml_Rect r, const char *title, ml_CellRole role)
{
    if (r.w < 1 || r.h < 1)
        return;
    ml_grid_hline(g, r.x, r.y, r.w, role);
    if (r.h > 1)
        ml_grid_hline(g, r.x, r.y + r.h - 1, r.w, role);
    if (r.h > 1) {
        ml_grid_vline(g, r.x, r.y, r.h, role);
        if (r.w > 1)
            ml_grid_vline(g, r.x + r.w - 1, r.y, r.h, role);
    }
    if (title && *title && r.w > 6) {
        ml_Rect in = {r.x + 3, r.y, r.w - 5, 1};
        int n = ml_grid_columns(g, title, strlen(title));
        ml_CellRole as = role == ML_ROLE_BORDER_IN ? ML_ROLE_TITLE : ML_ROLE_STRONG;

        if (n > in.w)
            n = in.w;
        ml_grid_fill(g, (ml_Rect){r.x + 2, r.y, n + 2, 1}, as);
        ml_grid_put_cut(g, in, in.x, in.y, title, as);
    }
}

/* ---- out */

static int used(const ml_Grid *g, int y)
{
    int w = g->w;

    while (w > 0 && ml_streq(ml_grid_at(g, w - 1, y)->z, " "))
        w--;
    return w;
}

void ml_grid_text(const ml_Grid *g, ml_Text *out)
{
    for (int y = 0; y < g->h; y++) {
        for (int x = 0, w = used(g, y); x < w; x++)
            ml_text_add(out, ml_grid_at(g, x, y)->z);
        ml_text_char(out, '\n');
    }
}

static char letter(const ml_Cell *c)
{
    static const char LETTERS[] = {
#define ML_ROLE(id, name, l) l,
#include "repl/screen/roles.def"
#undef ML_ROLE
    };

    if (c->attr & ML_ATTR_ON_CURSOR)
        return LETTERS[ML_ROLE_CURSOR];
    if (c->attr & ML_ATTR_ON_LINKED)
        return LETTERS[ML_ROLE_LINKED];
    return c->role == ML_ROLE_TEXT && ml_streq(c->z, " ") ? ' ' : LETTERS[c->role];
}

void ml_grid_roles(const ml_Grid *g, ml_Text *out)
{
    for (int y = 0; y < g->h; y++) {
        size_t from = out->n;

        for (int x = 0; x < g->w; x++)
            ml_text_char(out, letter(ml_grid_at(g, x, y)));
        while (out->n > from && out->p[out->n - 1] == ' ')
            out->p[--out->n] = '\0';
        ml_text_char(out, '\n');
    }
}
