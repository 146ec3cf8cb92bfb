/*
 * layout - shares of room, and what they come to on a screen. Contents are shared out, each
 * border belongs to both of its neighbours. Pure: knows no view. Source: interaction 10.
 */
#include "repl/view/state/layout.h"

enum { LEAST_ROWS = 1, LEAST_COLUMNS = 10 };

ml_SizeClass ml_size_class(int w, int h)
{
    if (w < 40 || h < 10)
        return ML_SIZE_NONE;
    if (w < 80 || h < 24)
        return ML_SIZE_ONE;
    return w >= 120 && h >= 36 ? ML_SIZE_SIX : ML_SIZE_FOUR;
}

/* The column in which a pane appears, and the shares of those that are usually shown. */
static const struct {
    uint8_t column, four, six; /* share of the height; 0: hidden */
} USUAL[ML_N_PANES] = {
    [ML_PANE_LOOPS] = {1, 14, 14},   [ML_PANE_BLOCK] = {1, 3, 7},
    [ML_PANE_DATAFLOW] = {1, 0, 7},  [ML_PANE_MEMORY] = {1, 0, 0},
    [ML_PANE_PROGRAM] = {2, 14, 18}, [ML_PANE_STEPS] = {2, 3, 5},
    [ML_PANE_PERF] = {2, 0, 5},      [ML_PANE_JOBS] = {2, 0, 0},
    [ML_PANE_CODE] = {3, 0, 0},
};

void ml_layout_usual(ml_Layout *l, ml_SizeClass size)
{
    bool six = size == ML_SIZE_SIX;

    *l = six ? (ml_Layout){.width = {42, 75, 62}} : (ml_Layout){.width = {30, 47, 40}};
    for (int id = 1; id < ML_N_PANES; id++) {
        l->pane[id].height = six ? USUAL[id].six : USUAL[id].four;
        l->pane[id].column = l->pane[id].height ? USUAL[id].column : ML_NO_COLUMN;
    }
}

/* Shares `total` out, none less than `least` (total >= n * least). */
static void share_out(int total, const int *share, int n, int least, int *out)
{
    int64_t sum = 0, seen = 0;
    int given = 0;

    for (int k = 0; k < n; k++)
        sum += share[k] > 0 ? share[k] : 1;
    for (int k = 0; k < n; k++) {
        seen += share[k] > 0 ? share[k] : 1;
        int upto = (int)((total * seen * 2 + sum) / (2 * sum));

        out[k] = upto - given;
        given = upto;
    }
    for (int k = 0; k < n; k++)
        while (out[k] < least) {
            int from = 0;

            for (int m = 1; m < n; m++)
                if (out[m] > out[from])
                    from = m;
            out[from]--;
            out[k]++;
        }
}

void ml_layout_place(const ml_Layout *l, ml_Rect area, ml_PaneId in, bool only,
                     ml_Places *out)
{
    int width[ML_MAX_COLUMNS], shares[ML_MAX_COLUMNS], x = area.x;

    *out = (ml_Places){0};
    for (int c = 0; c < ML_MAX_COLUMNS && !only; c++) {
        int n = 0;

        for (int id = 1; id < ML_N_PANES; id++)
            if (l->pane[id].column == c + 1)
                out->column[out->n_columns].pane[n++] = (ml_PaneId)id;
        if (n == 0)
            continue;
        out->column[out->n_columns].n = n;
        shares[out->n_columns++] = l->width[c];
    }
    if (only || out->n_columns == 0 || l->pane[in].column == ML_NO_COLUMN ||
        area.w - out->n_columns - 1 < out->n_columns * LEAST_COLUMNS) {
        *out = (ml_Places){0};
        out->n_columns = out->column[0].n = 1;
        out->column[0].pane[0] = in;
        out->box[in] = area;
        return;
    }
    share_out(area.w - out->n_columns - 1, shares, out->n_columns, LEAST_COLUMNS, width);
    for (int c = 0; c < out->n_columns; c++) {
        int heights[ML_N_PANES], rows[ML_N_PANES], n = out->column[c].n, y = area.y;

        while (n > 1 && area.h - n - 1 < n * LEAST_ROWS) {
            int drop = n - 1;

            if (out->column[c].pane[drop] == in)
                drop--;
            for (int k = drop; k + 1 < n; k++)
                out->column[c].pane[k] = out->column[c].pane[k + 1];
            n--;
        }
        out->column[c].n = n;
        for (int k = 0; k < n; k++)
            heights[k] = l->pane[out->column[c].pane[k]].height;
        if (area.h - n - 1 < LEAST_ROWS) {
            rows[0] = area.h - 2;
        } else {
            share_out(area.h - n - 1, heights, n, LEAST_ROWS, rows);
        }
        for (int k = 0; k < n; k++) {
            out->box[out->column[c].pane[k]] = (ml_Rect){x, y, width[c] + 2, rows[k] + 2};
            y += rows[k] + 1;
        }
        x += width[c] + 1;
    }
}

/* ---- changing */

/* The panes of a column, or of all (NO_COLUMN): how many, their heights, the lowest. */
static int panes_in(const ml_Layout *l, int column, int *sum, int *last)
{
    int n = 0;

    *sum = *last = 0;
    for (int k = 1; k < ML_N_PANES; k++)
        if (l->pane[k].column != ML_NO_COLUMN &&
            (column == ML_NO_COLUMN || l->pane[k].column == column)) {
            n++;
            *sum += l->pane[k].height;
            *last = k;
        }
    return n;
}

bool ml_layout_toggle(ml_Layout *l, ml_PaneId id)
{
    bool hide = l->pane[id].column != ML_NO_COLUMN;
    int sum, last, n = panes_in(l, hide ? ML_NO_COLUMN : USUAL[id].column, &sum, &last);

    if (hide && n == 1)
        return false;
    l->pane[id].column = hide ? ML_NO_COLUMN : USUAL[id].column;
    if (!hide)
        l->pane[id].height = n ? (sum + n - 1) / n : 1;
    l->changed = true;
    return true;
}

void ml_layout_swap_in(ml_Layout *l, ml_PaneId id)
{
    int sum, last;

    if (l->pane[id].column != ML_NO_COLUMN)
        return;
    if (panes_in(l, USUAL[id].column, &sum, &last) < 2) {
        ml_layout_toggle(l, id);
        return;
    }
    l->pane[id] = l->pane[last];
    l->pane[last].column = ML_NO_COLUMN;
    l->changed = true;
}

/* `by` as far as both keep the least. */
static int within(int by, int a, int b, int least)
{
    by = a + by < least ? least - a : by;
    return b - by < least ? b - least : by;
}

void ml_layout_move_row(ml_Layout *l, const ml_Places *p, ml_PaneId above, int by)
{
    for (int c = 0; c < p->n_columns; c++)
        for (int k = 0; k + 1 < p->column[c].n; k++) {
            ml_PaneId below = p->column[c].pane[k + 1];

            if (p->column[c].pane[k] != above)
                continue;
            by = within(by, p->box[above].h - 2, p->box[below].h - 2, LEAST_ROWS);
            /* what is seen becomes the shares */
            for (int m = 0; m < p->column[c].n; m++)
                l->pane[p->column[c].pane[m]].height = p->box[p->column[c].pane[m]].h - 2;
            l->pane[above].height += by;
            l->pane[below].height -= by;
            l->changed = true;
            return;
        }
}

void ml_layout_move_column(ml_Layout *l, const ml_Places *p, int left, int by)
{
    int at[ML_MAX_COLUMNS] = {0};

    if (left < 0 || left + 1 >= p->n_columns || p->n_columns > ML_MAX_COLUMNS)
        return;
    for (int c = 0; c < p->n_columns; c++) {
        at[c] = l->pane[p->column[c].pane[0]].column - 1;
        if (at[c] < 0)
            return;
    }
    for (int c = 0; c < p->n_columns; c++)
        l->width[at[c]] = p->box[p->column[c].pane[0]].w - 2;
    by = within(by, l->width[at[left]], l->width[at[left + 1]], LEAST_COLUMNS);
    l->width[at[left]] += by;
    l->width[at[left + 1]] -= by;
    l->changed = true;
}

void ml_layout_code(ml_Layout *l, bool shown)
{
    if (l->width[2] < 1) /* of a file that knows of no third column */
        l->width[2] = l->width[1] * 4 / 5;
    l->pane[ML_PANE_CODE].column = shown ? USUAL[ML_PANE_CODE].column : ML_NO_COLUMN;
    l->pane[ML_PANE_CODE].height = 1;
}

/* ---- as text: `six 42:75 1=1:14 3=1:7 …`, a line per size class */

static const char *const SIZES[ML_N_SIZES] = {NULL, NULL, "four", "six"};

void ml_layout_write(const ml_Layout l[ML_N_SIZES], ml_Text *out)
{
    for (int s = 0; s < ML_N_SIZES; s++) {
        if (!SIZES[s])
            continue;
        ml_text_fmt(out, "%s %d:%d:%d", SIZES[s], l[s].width[0], l[s].width[1],
                    l[s].width[2]);
        for (int id = 1; id < ML_PANE_CODE; id++)
            if (l[s].pane[id].column != ML_NO_COLUMN)
                ml_text_fmt(out, " %d=%d:%d", id, l[s].pane[id].column,
                            l[s].pane[id].height);
        ml_text_char(out, '\n');
    }
}

/* A number from 0 to 9999, and what follows it; -1: none. */
static int number(const char **p)
{
    int n = 0, digits = 0;

    while (**p >= '0' && **p <= '9' && digits++ < 4)
        n = 10 * n + (*(*p)++ - '0');
    return digits > 0 && digits <= 4 ? n : -1;
}

static bool read_line(const char *p, const char *end, ml_Layout *out)
{
    ml_Layout l = {0};
    bool any = false;

    for (int c = 0; c < ML_MAX_COLUMNS; c++) {
        l.width[c] = number(&p);
        if (l.width[c] < 0 || (c + 1 < ML_MAX_COLUMNS && *p++ != ':'))
            return false;
    }
    while (p < end && *p == ' ') {
        int id, column, height;

        p++;
        if ((id = number(&p)) < 1 || id >= ML_PANE_LOOPTREE || *p++ != '=' ||
            (column = number(&p)) < 1 || column > ML_MAX_COLUMNS || *p++ != ':' ||
            (height = number(&p)) < 1)
            return false;
        l.pane[id].column = column;
        l.pane[id].height = height;
        any = true;
    }
    if (p != end || !any)
        return false;
    *out = l;
    return true;
}

void ml_layout_read(ml_Layout l[ML_N_SIZES], const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        for (int s = 0; s < ML_N_SIZES; s++) {
            size_t k = SIZES[s] ? strlen(SIZES[s]) : 0;

            if (k && n > k && strncmp(text, SIZES[s], k) == 0 && text[k] == ' ')
                read_line(text + k + 1, text + n, &l[s]);
        }
        text += n + (text[n] == '\n');
    }
}
