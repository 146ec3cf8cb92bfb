/* roofline - see roofline.h. */
#include "repl/show/roofline.h"

#include <math.h>

enum {
    UNIT = 11, /* columns of a label, a blank and FLOP/B */
    MARGIN = 9,
    MIN_WIDTH = 24,
    MIN_HEIGHT = 6,
    MAX_WIDTH = 110
};

/* ---------------------------------------------------------------- the plot */

typedef struct Plot {
    const ml_Roofline *r;
    int w, h;                  /* of the field */
    double x0, x1, y0, y1;     /* decimal logarithms at its edges */
    char cell[MAX_WIDTH * 64]; /* '-' a roof's line, '*' and 'o' points, else itself */
} Plot;

static char *at(Plot *p, int x, int y)
{
    return &p->cell[y * p->w + x];
}

static double x_of(const Plot *p, int x)
{
    return p->x0 + (p->x1 - p->x0) * (x + 0.5) / p->w;
}

/* Row 0 is at the top; rows outside of the field are possible. */
static int row_of(const Plot *p, double log_y)
{
    return (int)floor((p->y1 - log_y) / (p->y1 - p->y0) * p->h);
}

static bool usable(double v)
{
    return isfinite(v) && v > 0;
}

static double intensity(const ml_Roofline *r)
{
    return r->flop > 0 && r->bytes > 0 ? r->flop / r->bytes : (double)NAN;
}

/* All roofs' ends and all points are inside. */
static void find_edges(Plot *p)
{
    const ml_Roofline *r = p->r;
    double low = (double)INFINITY, ridge = 0, i = intensity(r);

    for (int l = 0; l < ML_MACHINE_LEVELS; l++)
        if (usable(r->bandwidth[l]) && usable(r->peak)) {
            low = fmin(low, r->bandwidth[l]);
            ridge = fmax(ridge, r->peak / r->bandwidth[l]);
        }
    p->x0 = log10(usable(i) ? fmin(0.1, i / 4) : 0.1);
    p->x1 = log10(fmax(usable(ridge) ? 10 * ridge : 100, usable(i) ? 6 * i : 0));
    p->y1 = log10(usable(r->peak) ? 2 * r->peak : 1e12);
    p->y0 = isfinite(low) ? p->x0 + log10(low) : p->y1 - 4;
    for (size_t k = 0; k < r->points.n && r->flop > 0; k++)
        p->y0 = fmin(p->y0, log10(r->flop / r->points.v[k].seconds / 2));
    if (p->y1 - p->y0 > 9)
        p->y0 = p->y1 - 9; /* slower ones lie on the lower edge */
}

static void draw_roofs(Plot *p)
{
    static const char MARK[ML_MACHINE_LEVELS] = {'1', '2', '3', 'm'};
    double peak = log10(p->r->peak);

    for (int l = 0; l < ML_MACHINE_LEVELS; l++) {
        double b = log10(p->r->bandwidth[l]);

        if (!usable(p->r->bandwidth[l]))
            continue;
        for (int x = 0; x < p->w; x++) {
            int y = row_of(p, x_of(p, x) + b);
            if (y >= 0 && y < p->h && (!usable(p->r->peak) || x_of(p, x) + b < peak))
                *at(p, x, y) = MARK[l];
        }
    }
    if (!usable(p->r->peak))
        return;
    for (int x = 0, y = row_of(p, peak); x < p->w && y >= 0; x++)
        for (int l = 0; l < ML_MACHINE_LEVELS; l++)
            if (usable(p->r->bandwidth[l]) &&
                x_of(p, x) + log10(p->r->bandwidth[l]) >= peak)
                *at(p, x, y) = '-';
}

/* Points, and beside them the names of the versions in that row as far as there is room. */
static void draw_points(Plot *p)
{
    const ml_Roofline *r = p->r;
    double i = intensity(r);
    int x;

    if (!usable(i))
        return;
    x = (int)((log10(i) - p->x0) / (p->x1 - p->x0) * p->w);
    for (int y = 0; y < p->h; y++) {
        ml_Text names = {0};
        bool any = false, current = false;

        for (size_t k = 0; k < r->points.n; k++) {
            int row = row_of(p, log10(r->flop / r->points.v[k].seconds));
            row = row < 0 ? 0 : row >= p->h ? p->h - 1 : row;
            if (row != y)
                continue;
            any = true;
            current |= r->points.v[k].current;
            ml_text_fmt(&names, " v%d", r->points.v[k].version);
        }
        if (any)
            *at(p, x, y) = current ? '*' : 'o';
        for (size_t k = 0; any && k < names.n && x + 1 + (int)k < p->w; k++)
            *at(p, x + 1 + (int)k, y) = names.p[k];
        ml_text_free(&names);
    }
}

static void put_cells(const Plot *p, int y, ml_Text *out)
{
    int end = p->w;

    while (end > 0 && p->cell[y * p->w + end - 1] == ' ')
        end--;
    for (int x = 0; x < end; x++) {
        char c = p->cell[y * p->w + x];
        if (c == '-')
            ml_text_add(out, "─");
        else if (c == '*')
            ml_text_add(out, "●");
        else
            ml_text_char(out, c);
    }
    ml_text_char(out, '\n');
}

/* A power of ten between the edges of the row, as GFLOP/s; INT32_MIN: none. */
static int tick_in(double low, double high)
{
    int k = (int)ceil(low - 1e-9);

    return k < high - 1e-9 ? k : INT32_MIN;
}

static void power(ml_Text *t, int k)
{
    if (k >= 0 && k < 6)
        ml_text_fmt(t, "%.0f", pow(10, k));
    else if (k < 0 && k > -4)
        ml_text_fmt(t, "%.*f", -k, pow(10, k));
    else
        ml_text_fmt(t, "1e%d", k);
}

static void put_rows(const Plot *p, ml_Text *out)
{
    double step = (p->y1 - p->y0) / p->h;

    for (int y = 0; y < p->h; y++) {
        double top = p->y1 - y * step;
        int k = tick_in(top - step - 9, top - 9);
        ml_Text label = {0};

        if (k != INT32_MIN)
            power(&label, k);
        ml_text_fmt(out, "%*s %s", MARGIN - 2, ml_text_z(&label),
                    k != INT32_MIN ? "┤" : "│");
        ml_text_free(&label);
        put_cells(p, y, out);
    }
}

static void put_axis(const Plot *p, ml_Text *out)
{
    double step = (p->x1 - p->x0) / p->w;
    ml_Text labels = {0};
    int end = MARGIN + p->w;

    ml_text_repeat(out, ' ', MARGIN - 1);
    ml_text_add(out, "└");
    ml_text_repeat(&labels, ' ', MARGIN);
    for (int x = 0; x < p->w; x++) {
        int k = tick_in(p->x0 + x * step, p->x0 + (x + 1) * step);

        ml_text_add(out, k == INT32_MIN ? "─" : "┴");
        if (k == INT32_MIN || labels.n > (size_t)(MARGIN + x) || MARGIN + x + UNIT > end)
            continue;
        ml_text_repeat(&labels, ' ', (size_t)(MARGIN + x) - labels.n);
        power(&labels, k);
        ml_text_char(&labels, ' ');
    }
    if (labels.n + UNIT - 5 < (size_t)end)
        ml_text_repeat(&labels, ' ', (size_t)end - labels.n - (UNIT - 5));
    ml_text_fmt(out, "\n%sFLOP/B\n", ml_text_z(&labels));
    ml_text_free(&labels);
}

void ml_roofline_draw(const ml_Roofline *r, int width, int height, ml_Text *out)
{
    Plot p = {.r = r};

    p.w = (width < MIN_WIDTH ? MIN_WIDTH : width) - MARGIN - 1;
    p.w = p.w > MAX_WIDTH ? MAX_WIDTH : p.w;
    p.h = (height < MIN_HEIGHT ? MIN_HEIGHT : height) - 3;
    p.h = p.h > 64 ? 64 : p.h;
    memset(p.cell, ' ', sizeof p.cell);
    find_edges(&p);
    draw_roofs(&p);
    draw_points(&p);
    ml_text_fmt(out, "%*s\n", MARGIN - 2, "GFLOP/s");
    put_rows(&p, out);
    put_axis(&p, out);
}
