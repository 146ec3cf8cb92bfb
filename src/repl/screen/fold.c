/*
 * fold - text that is put into a rectangle of a grid over several rows, between words where
 * that is possible; of what does not fit the end is marked as cut.
 */
#include "repl/screen/grid.h"

/* The bytes of the first row of `w` columns: up to a blank, or as many as fit. */
static size_t row_of(const ml_Grid *g, const char *p, int w)
{
    size_t n = 0, word = 0, bytes;
    int used = 0;

    while (p[n]) {
        (void)ml_char_columns(p + n, strlen(p + n), &bytes);
        bytes = bytes ? bytes : 1;
        int c = ml_grid_columns(g, p + n, bytes);

        if (p[n] == ' ')
            word = n;
        if (used + c > w)
            return word ? word : n ? n : bytes;
        used += c;
        n += bytes;
    }
    return n;
}

int ml_grid_folded(const ml_Grid *g, const char *text, int w)
{
    int rows = 0;

    for (w = w < 1 ? 1 : w; *text; rows++) {
        text += row_of(g, text, w);
        text += strspn(text, " ");
    }
    return rows;
}

int ml_grid_put_folded(ml_Grid *g, ml_Rect in, const char *text, ml_CellRole role)
{
    int w = in.w < 1 ? 1 : in.w, y = 0;

    for (; *text && y < in.h; y++) {
        ml_Rect row = {in.x, in.y + y, in.w, 1};
        size_t n = row_of(g, text, w);

        if (y + 1 == in.h) /* the last one, whatever is left */
            ml_grid_put_cut(g, row, in.x, row.y, text, role);
        else
            ml_grid_put_n(g, row, in.x, row.y, text, n, role);
        text += n;
        text += strspn(text, " ");
    }
    return y;
}
