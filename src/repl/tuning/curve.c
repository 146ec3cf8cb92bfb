/*
 * curve - speed over trials, and measured over predicted speed, in characters.
 *
 * A column stands for one trial, or for as many as it takes to show all of them. What each
 * trial reached is a point, the best so far a line, the roof of the machine a row of dots
 * where it is near. Source: interaction 11.
 */
#include "repl/tuning/board.h"

#include <math.h>
#include <stdio.h>

#include "moonloop/core/base/arena.h"

typedef struct Scale {
    double top; /* speed of the uppermost row */
    int rows;
} Scale;

/* Larger for the faster: giga-operations or gigabytes a second, or runs a second. */
static double speed_of(const ml_Board *b, double seconds)
{
    return (b->amount.n > 0 ? b->amount.n * 1e-9 : 1) / seconds;
}

static double roof_of(const ml_Board *b)
{
    return b->amount.n > 0 && b->roof > 0 ? b->roof * 1e-9 : 0;
}

/* The least of 1, 2, 2.5, 5 times a power of ten that is not below v. */
static double round_up(double v)
{
    static const double STEPS[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    double by = pow(10, floor(log10(v)));

    for (size_t k = 0; k < ML_COUNT(STEPS); k++)
        if (v <= STEPS[k] * by)
            return STEPS[k] * by;
    return v;
}

static int row_of(const Scale *s, double v)
{
    int row = (int)lround((1 - v / s->top) * (s->rows - 1));

    return row < 0 ? 0 : row >= s->rows ? s->rows - 1 : row;
}

static int label_width(double top)
{
    char z[32];
    int wide = 1;

    for (int k = 1; k <= 4; k++) {
        int n = snprintf(z, sizeof z, "%.4g", top * k / 4);

        wide = n > wide ? n : wide;
    }
    return wide;
}

/* The axis of speed, numbers at a quarter each where rows do; columns that it takes. */
static int put_scale(ml_Grid *g, ml_Rect in, const Scale *s)
{
    int wide = label_width(s->top), steps = s->rows >= 8 ? 4 : s->rows >= 4 ? 2 : 1;
    char z[32];

    ml_grid_vline(g, in.x + wide + 1, in.y, s->rows, ML_ROLE_BORDER);
    for (int k = 0; k <= steps; k++) {
        double v = s->top * k / steps;
        int y = in.y + row_of(s, v);

        snprintf(z, sizeof z, "%*.4g ", wide, v);
        ml_grid_put(g, in, in.x, y, z, ML_ROLE_DIM);
        ml_grid_put(g, in, in.x + wide + 1, y, "┤", ML_ROLE_BORDER);
    }
    return wide + 2;
}

/* ---- best so far */

static void put_points(const ml_Board *b, ml_Grid *g, ml_Rect at, const Scale *s,
                       size_t per)
{
    for (size_t k = 0; k < b->trials.n; k++)
        if (b->trials.v[k].seconds > 0)
            ml_grid_put(g, at, at.x + (int)(k / per),
                        at.y + row_of(s, speed_of(b, b->trials.v[k].seconds)), ".",
                        ML_ROLE_DIM);
}

static void put_line(const ml_Board *b, ml_Grid *g, ml_Rect at, const Scale *s, size_t per)
{
    double best = 0;
    int was = -1;

    for (size_t from = 0; from < b->trials.n; from += per) {
        int x = at.x + (int)(from / per), row;

        for (size_t k = from; k < from + per && k < b->trials.n; k++) {
            double t = b->trials.v[k].seconds;

            if (t > 0 && (best == 0 || t < best))
                best = t;
        }
        if (best == 0)
            continue;
        row = row_of(s, speed_of(b, best));
        if (was < 0 || was == row)
            ml_grid_put(g, at, x, at.y + row, "─", ML_ROLE_OK);
        else {
            ml_grid_put(g, at, x, at.y + was, "┘", ML_ROLE_OK);
            for (int y = row + 1; y < was; y++)
                ml_grid_put(g, at, x, at.y + y, "│", ML_ROLE_OK);
            ml_grid_put(g, at, x, at.y + row, "┌", ML_ROLE_OK);
        }
        was = row;
    }
}

/* Below the points: where rounds began, x where candidates failed, and what a column is. */
static void put_axis(const ml_Board *b, ml_Grid *g, ml_Rect in, int left, size_t per)
{
    ml_Rect at = {in.x + left, in.y, in.w - left, in.h};
    int y = at.y + at.h - 1, last = -1;
    ml_Text t = {0};

    ml_grid_put(g, in, at.x - 1, y, "└", ML_ROLE_BORDER);
    for (int x = 0; x < at.w; x++)
        ml_grid_put(g, at, at.x + x, y, "─", ML_ROLE_BORDER);
    for (size_t k = 1; k < b->rounds.n && b->rounds.n <= (size_t)at.w / 2; k++)
        ml_grid_put(g, at, at.x + (int)(b->rounds.v[k] / per), y, "┴", ML_ROLE_BORDER);
    for (size_t k = 0; k < b->trials.n; k++)
        if (!(b->trials.v[k].seconds > 0)) {
            ml_grid_put(g, at, at.x + (int)(k / per), y, "x", ML_ROLE_ERROR);
            last = (int)(k / per);
        }
    if (per == 1)
        ml_text_add(&t, " a column a trial ");
    else
        ml_text_fmt(&t, " a column %zu trials ", per);
    int wide = (int)ml_columns(ml_text_z(&t)), x = at.w - wide;

    if (x > at.w / 3 && last < x)
        ml_grid_put(g, at, at.x + x, y, ml_text_z(&t), ML_ROLE_DIM);
    ml_text_free(&t);
}

void ml_board_curve(const ml_Board *b, ml_Grid *g, ml_Rect in)
{
    double best = ml_board_best(b, b->trials.n), roof = roof_of(b), most;
    Scale s = {.rows = in.h - 1};

    if (in.w < 12 || in.h < 3)
        return;
    if (best == 0) {
        ml_grid_put_cut(g, in, in.x, in.y,
                        b->trials.n  ? "no candidate could be measured yet"
                        : b->tasks.n ? "the curve begins when each task has a time"
                                     : "nothing is measured yet",
                        ML_ROLE_DIM);
        return;
    }
    most = speed_of(b, best);
    if (roof > most && most > roof * 0.4)
        most = roof;
    s.top = round_up(most);
    int left = put_scale(g, in, &s);
    ml_Rect at = {in.x + left, in.y, in.w - left, in.h};
    size_t per = at.w > 0 ? (b->trials.n + (size_t)at.w - 1) / (size_t)at.w : 1;

    per = per ? per : 1;
    put_points(b, g, at, &s, per);
    if (roof > 0 && roof <= s.top)
        for (int x = 0; x < at.w; x += 2)
            ml_grid_put(g, at, at.x + x, at.y + row_of(&s, roof), "·", ML_ROLE_NOTE);
    put_line(b, g, at, &s, per);
    put_axis(b, g, in, left, per);
    if (roof > 0 && roof <= s.top && row_of(&s, roof) != row_of(&s, speed_of(b, best)))
        ml_grid_put(g, at, at.x + at.w - 5, at.y + row_of(&s, roof), " peak", ML_ROLE_NOTE);
}

/* ---- predicted against measured */

void ml_board_scatter(const ml_Board *b, ml_Grid *g, ml_Rect in)
{
    static const char *const DENSE[] = {"", ".", "o", "●"};
    Scale s = {.rows = in.h - 2};
    double top = 0;
    ml_Text t = {0};

    if (in.w < 12 || in.h < 5)
        return;
    for (size_t k = 0; k < b->trials.n; k++) {
        const ml_BoardTrial *p = &b->trials.v[k];

        if (p->expected > 0 && p->seconds > 0)
            top = fmax(top, fmax(speed_of(b, p->expected), speed_of(b, p->seconds)));
    }
    if (top == 0) {
        ml_grid_put_folded(g, in,
                           "no measured candidate was expected to take a certain time: "
                           "this search has no model that foretells it",
                           ML_ROLE_DIM);
        return;
    }
    s.top = round_up(top);
    int left = put_scale(g, in, &s), wide = in.w - left;
    unsigned char *count = ml_zalloc(b->cx, (size_t)wide * (size_t)s.rows);

    for (int y = 0; y < s.rows; y++) { /* where both are equal */
        int x = (int)lround((1 - (double)y / (s.rows - 1)) * (wide - 1));

        ml_grid_put(g, in, in.x + left + x, in.y + y, "·", ML_ROLE_BORDER);
    }
    for (size_t k = 0; k < b->trials.n; k++) {
        const ml_BoardTrial *p = &b->trials.v[k];

        if (!(p->expected > 0 && p->seconds > 0))
            continue;
        int x = (int)lround(speed_of(b, p->expected) / s.top * (wide - 1));
        int y = row_of(&s, speed_of(b, p->seconds));
        unsigned char *n = &count[y * wide + x];

        *n = (unsigned char)(*n < 5 ? *n + 1 : 5);
        ml_grid_put(g, in, in.x + left + x, in.y + y,
                    DENSE[*n < 2   ? 1
                          : *n < 5 ? 2
                                   : 3],
                    ML_ROLE_OK);
    }
    ml_grid_put(g, in, in.x + left - 1, in.y + s.rows, "└", ML_ROLE_BORDER);
    for (int x = 0; x < wide; x++)
        ml_grid_put(g, in, in.x + left + x, in.y + s.rows, "─", ML_ROLE_BORDER);
    ml_text_fmt(&t, "up: measured %s   right: predicted, to %.4g   . one, o some, ● many",
                b->amount.n > 0 ? ml_rate_unit(b->amount) : "runs/s", s.top);
    ml_grid_put_cut(g, in, in.x, in.y + in.h - 1, ml_text_z(&t), ML_ROLE_DIM);
    ml_text_free(&t);
}
