/*
 * search - the best so far over trials, a line for each search, as a graph whose nodes have
 * their places, and in characters.
 *
 * A line goes through the trials that were better than all before, in steps; it is told apart
 * by a letter at its end and by its strokes, by colour besides. Source: interaction 11, 12.
 */
#include "repl/graph/graph.h"

#include <math.h>
#include <stdio.h>

#include "repl/screen/grid.h"

#define WIDE 8.0 /* inches of the plot */
#define HIGH 4.0
enum { TICKS = 4, LEAST_WIDTH = 30, HEIGHT = 18 };

typedef struct Plot {
    ml_Graph *g;
    const ml_GraphCurve *v;
    size_t n, most;   /* curves; trials of the longest */
    double low, top;  /* speed at the lower and upper edge */
    unsigned n_nodes; /* so far */
} Plot;

/* The least of 1, 1.5, 2, ... times a power of ten that is not below v. */
static double round_up(double v)
{
    static const double STEPS[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    double by = pow(10, floor(log10(v)));

    for (size_t k = 0; k < ML_COUNT(STEPS); k++)
        if (v <= STEPS[k] * by * (1 + 1e-9))
            return STEPS[k] * by;
    return v;
}

static void measure(Plot *p)
{
    double most = 0, least = (double)INFINITY;

    for (size_t c = 0; c < p->n; c++) {
        p->most = p->v[c].n > p->most ? p->v[c].n : p->most;
        if (p->v[c].n)
            most = fmax(most, p->v[c].speed[p->v[c].n - 1]);
        for (size_t k = 0; k < p->v[c].n; k++)
            if (p->v[c].speed[k] > 0)
                least = fmin(least, p->v[c].speed[k]);
    }
    p->top = most > 0 ? round_up(most) : 0;
    for (int k = 0; k < 4 && least >= (p->low + p->top) / 2 && p->top > 0; k++)
        p->low = (p->low + p->top) / 2; /* lines that lie close are told apart */
}

static double tick(const Plot *p, int k)
{
    return p->low + (p->top - p->low) * k / TICKS;
}

/* ---- nodes at places */

static double x_of(const Plot *p, size_t trial)
{
    return p->most > 1 ? WIDE * (double)trial / (double)(p->most - 1) : 0;
}

static double y_of(const Plot *p, double speed)
{
    return HIGH * (speed - p->low) / (p->top - p->low);
}

static unsigned put_point(Plot *p, double x, double y)
{
    ml_text_fmt(&p->g->dot,
                "  p%u [pos=\"%.4f,%.4f!\", shape=point, width=0.01, height=0.01, "
                "style=invis, label=\"\"];\n",
                p->n_nodes, x, y);
    return p->n_nodes++;
}

static void put_words(Plot *p, double x, double y, const char *words, const char *more)
{
    ml_text_fmt(&p->g->dot, "  p%u [pos=\"%.4f,%.4f!\", shape=plaintext, label=\"",
                p->n_nodes++, x, y);
    ml_graph_escape(&p->g->dot, words);
    ml_text_fmt(&p->g->dot, "\"%s];\n", more);
}

static void put_stroke(Plot *p, unsigned from, unsigned to, const char *look)
{
    ml_text_fmt(&p->g->dot, "  p%u -> p%u [arrowhead=none%s];\n", from, to, look);
}

static void put_axes(Plot *p, const char *unit)
{
    ml_Text t = {0};

    for (int k = 0; k <= TICKS; k++) {
        double v = tick(p, k), y = y_of(p, v);
        unsigned a = put_point(p, 0, y), b = put_point(p, WIDE, y);

        put_stroke(p, a, b, k ? ", style=dotted" : "");
        ml_text_clear(&t);
        ml_text_fmt(&t, "%.4g", v);
        put_words(p, -0.4, y, ml_text_z(&t), "");
    }
    size_t ticks = p->most > TICKS ? TICKS : p->most - 1;

    for (size_t k = 0; k <= ticks; k++) {
        size_t trial = ticks ? (p->most - 1) * k / ticks : 0;

        ml_text_clear(&t);
        ml_text_fmt(&t, "%zu", trial + 1);
        put_words(p, x_of(p, trial), -0.22, ml_text_z(&t), "");
    }
    put_words(p, WIDE / 2, -0.5, "trials", "");
    put_words(p, 0, HIGH + 0.3, unit, "");
    ml_text_free(&t);
}

static void put_curve(Plot *p, size_t c)
{
    static const char *const COLORS[2][6] = {
        {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#8c6d00"},
        {"#56b4e9", "#e69f00", "#00d39b", "#e9a3c9", "#ffffff", "#f0e442"}};
    static const char *const STYLES[] = {"solid", "dashed", "dotted", "bold"};
    const ml_GraphCurve *v = &p->v[c];
    const char *color = COLORS[p->g->dark][c % 6];
    char look[96], letter[2] = {(char)('a' + c % 26), 0}, more[96];
    bool begun = false;
    unsigned last = 0;
    double y = 0;

    snprintf(look, sizeof look, ", penwidth=2, style=%s, color=\"%s\"", STYLES[c % 4],
             color);
    for (size_t k = 0; k < v->n; k++) {
        bool better = v->speed[k] > 0 && (k == 0 || v->speed[k] > v->speed[k - 1]);

        if (!better && !(begun && k + 1 == v->n))
            continue;
        if (begun) { /* as it was until here */
            unsigned to = put_point(p, x_of(p, k), y);

            put_stroke(p, last, to, look);
            last = to;
        }
        if (better) {
            unsigned to = put_point(p, x_of(p, k), y_of(p, v->speed[k]));

            if (begun)
                put_stroke(p, last, to, look);
            last = to;
            y = y_of(p, v->speed[k]);
            begun = true;
        }
    }
    snprintf(more, sizeof more, ", fontcolor=\"%s\"", color);
    if (begun)
        put_words(p, x_of(p, v->n - 1) + 0.15, y, letter, more);
    ml_Text t = {0};

    ml_text_fmt(&t, "%s  %s", letter, v->name);
    if (v->n)
        ml_text_fmt(&t, "  %.4g", v->speed[v->n - 1]);
    put_words(p, WIDE * 0.8, 0.2 + 0.25 * (double)(p->n - 1 - c), ml_text_z(&t), more);
    ml_text_free(&t);
}

/* ---- characters */

static int row_of(const Plot *p, double speed)
{
    int rows = HEIGHT - 2,
        row = (int)lround((p->top - speed) / (p->top - p->low) * (rows - 1));

    return row < 0 ? 0 : row >= rows ? rows - 1 : row;
}

static void put_letters(const Plot *p, ml_Grid *grid, int left)
{
    int room = grid->w - left;

    for (size_t c = p->n; c-- > 0;)
        for (int x = 0; x < room; x++) {
            char z[2] = {(char)('a' + c % 26), 0};
            size_t k = (size_t)x * p->most / (size_t)room;

            if (k < p->v[c].n && p->v[c].speed[k] > 0)
                ml_grid_put(grid, (ml_Rect){0, 0, grid->w, grid->h}, left + x,
                            row_of(p, p->v[c].speed[k]), z, ML_ROLE_TEXT);
        }
}

static void put_chars(const Plot *p, const char *unit, int width, bool ascii)
{
    enum { LEFT = 8 };
    ml_Rect all;
    ml_Grid grid;
    char z[64];

    width = width < LEAST_WIDTH ? LEAST_WIDTH : width > 100 ? 100 : width;
    all = (ml_Rect){0, 0, width, HEIGHT};
    ml_grid_init(&grid, width, HEIGHT, ascii);
    for (int k = 0; k <= TICKS; k++) {
        int y = row_of(p, tick(p, k));

        snprintf(z, sizeof z, "%*.4g ┤", LEFT - 2, tick(p, k));
        ml_grid_put(&grid, all, 0, y, z, ML_ROLE_DIM);
    }
    put_letters(p, &grid, LEFT);
    ml_grid_hline(&grid, LEFT - 1, HEIGHT - 2, width - LEFT + 1, ML_ROLE_BORDER);
    snprintf(z, sizeof z, "%*s1 to %zu trials, %s", LEFT, "", p->most, unit);
    ml_grid_put(&grid, all, 0, HEIGHT - 1, z, ML_ROLE_DIM);
    ml_grid_text(&grid, &p->g->chars);
    ml_grid_free(&grid);
    for (size_t c = 0; c < p->n; c++) {
        ml_text_fmt(&p->g->chars, "%c  %s", (char)('a' + c % 26), p->v[c].name);
        if (p->v[c].n)
            ml_text_fmt(&p->g->chars, ": %.4g after %zu", p->v[c].speed[p->v[c].n - 1],
                        p->v[c].n);
        ml_text_char(&p->g->chars, '\n');
    }
}

void ml_graph_search(const char *title, const char *unit, const ml_GraphCurve *v, size_t n,
                     int width, bool ascii, ml_Graph *g)
{
    Plot p = {.g = g, .v = v, .n = n};

    measure(&p);
    g->layout = "neato";
    ml_graph_begin(g, title);
    ml_text_add(&g->dot,
                "  graph [splines=line, outputorder=edgesfirst, labelloc=t, label=\"");
    ml_graph_escape(&g->dot, title);
    ml_text_add(&g->dot, "\"];\n  node [fontname=\"Helvetica\", width=0, height=0, "
                         "margin=0.02];\n");
    if (p.top > 0) {
        put_axes(&p, unit);
        for (size_t c = 0; c < n; c++)
            put_curve(&p, c);
        put_chars(&p, unit, width, ascii);
    }
    ml_text_add(&g->dot, "}\n");
    g->nodes = p.n_nodes;
}
