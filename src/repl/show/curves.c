/* curves - see curves.h. */
#include "repl/show/curves.h"

#include <math.h>
#include <string.h>

enum { MARGIN = 7, MIN_WIDTH = 24, MIN_HEIGHT = 6, MAX_WIDTH = 110, MAX_HEIGHT = 64 };

typedef struct Plot {
    int w, h; /* of the field */
    size_t most;
    double low; /* at its lower edge; 1 is the upper */
    char cell[MAX_WIDTH * MAX_HEIGHT];
} Plot;

/* The value of a curve at a column: the last that falls there. */
static double value_at(const Plot *p, const ml_Curve *c, int x)
{
    size_t k = (size_t)((double)(x + 1) * (double)p->most / p->w);

    if (c->n == 0 || (double)x * (double)p->most / p->w >= (double)c->n)
        return (double)NAN;
    k = k < 1 ? 1 : k > c->n ? c->n : k;
    return c->y[k - 1];
}

static int row_of(const Plot *p, double y)
{
    int row = (int)floor((1 - y) / (1 - p->low) * p->h);

    return row < 0 ? 0 : row >= p->h ? p->h - 1 : row;
}

/* Tenths below the least of the second half, so that the beginning does not flatten the rest. */
static void find_edges(Plot *p, const ml_Curve *v, size_t n)
{
    double least = 1;

    for (size_t k = 0; k < n; k++) {
        p->most = v[k].n > p->most ? v[k].n : p->most;
        for (size_t m = v[k].n / 8; m < v[k].n; m++)
            if (!isnan(v[k].y[m]))
                least = fmin(least, v[k].y[m]);
    }
    p->low = fmax(0, floor(10 * least - 1e-9) / 10);
    p->low = fmin(p->low, 0.9);
}

static void draw_curve(Plot *p, const ml_Curve *c, char mark)
{
    int before = -1;

    for (int x = 0; x < p->w; x++) {
        double y = value_at(p, c, x);

        if (isnan(y))
            continue;
        int row = row_of(p, y), from = before < 0 ? row : row < before ? row : before;
        int to = before > row ? before : row;

        for (int r = from; r <= to; r++)
            p->cell[r * p->w + x] = mark;
        before = row;
    }
}

static void put_rows(const Plot *p, ml_Text *out)
{
    int told = -1;

    for (int y = 0; y < p->h; y++) {
        double top = 1 - (1 - p->low) * y / p->h,
               bottom = 1 - (1 - p->low) * (y + 1) / p->h;
        int tenth = (int)floor(10 * top + 1e-9);
        bool tick = 10 * bottom < tenth - 1e-9 && tenth != told;
        int end = p->w;

        while (end > 0 && p->cell[y * p->w + end - 1] == ' ')
            end--;
        if (tick)
            ml_text_fmt(out, "%*d %% ┤", MARGIN - 4, 10 * tenth);
        else
            ml_text_fmt(out, "%*s│", MARGIN - 1, "");
        told = tick ? tenth : told;
        ml_text_addn(out, &p->cell[y * p->w], (size_t)end);
        ml_text_char(out, '\n');
    }
}

static void put_axis(const Plot *p, ml_Text *out)
{
    ml_Text last = {0};

    ml_text_repeat(out, ' ', MARGIN - 1);
    ml_text_add(out, "└");
    for (int x = 0; x < p->w; x++)
        ml_text_add(out, "─");
    ml_text_fmt(&last, "%zu trials", p->most);
    ml_text_fmt(out, "\n%*s1", MARGIN, "");
    if (p->w > (int)last.n + 1)
        ml_text_repeat(out, ' ', (size_t)p->w - last.n - 1);
    ml_text_fmt(out, "%s\n", ml_text_z(&last));
    ml_text_free(&last);
}

void ml_curves_draw(const ml_Curve *v, size_t n, int width, int height, ml_Text *out)
{
    Plot p = {.most = 1};

    p.w = (width < MIN_WIDTH ? MIN_WIDTH : width) - MARGIN - 1;
    p.w = p.w > MAX_WIDTH ? MAX_WIDTH : p.w;
    p.h = (height < MIN_HEIGHT ? MIN_HEIGHT : height) - 3;
    p.h = p.h > MAX_HEIGHT ? MAX_HEIGHT : p.h;
    memset(p.cell, ' ', sizeof p.cell);
    find_edges(&p, v, n);
    for (size_t k = n; k-- > 0;)
        draw_curve(&p, &v[k], (char)('a' + k % 26));
    put_rows(&p, out);
    put_axis(&p, out);
    for (size_t k = 0; k < n; k++)
        ml_text_fmt(out, "%s%c %s", k ? "   " : "", (char)('a' + k % 26), v[k].name);
    ml_text_char(out, '\n');
}
