/*
 * layout - what panes want, what a person moved, and what that comes to on a screen.
 * Contents are shared out, each border belongs to both of its neighbours. Pure: knows no
 * view. Source: interaction 10.
 */
#include "repl/view/state/layout.h"

enum {
    LEAST_ROWS = 1,
    LEAST_COLUMNS = 10,
    FEW_ROWS = 3,      /* that each pane has where there are so many */
    ANY = 1 << 16,     /* that what is not known wants: its weight in full */
    COLUMN_STEP = 4,   /* so that a name more does not move a border */
    NICE_COLUMNS = 28, /* that each column wants: sentences are folded there, too */
};

ml_SizeClass ml_size_class(int w, int h)
{
    if (w < 40 || h < 10)
        return ML_SIZE_NONE;
    if (w < 80 || h < 24)
        return ML_SIZE_ONE;
    if (w < 120 || h < 36)
        return ML_SIZE_FOUR;
    return w < 160 ? ML_SIZE_SIX : ML_SIZE_WIDE;
}

/* The column in which a pane appears, of the widest screens another one; from which size on
 * it is usually shown (ML_N_SIZES: from none); what it weighs among those of its column. */
static const struct {
    uint8_t column, wide, from, weight;
} USUAL[ML_N_PANES] = {
    [ML_PANE_LOOPS] = {1, 1, ML_SIZE_FOUR, 18},
    [ML_PANE_BLOCK] = {1, 1, ML_SIZE_FOUR, 5},
    [ML_PANE_DATAFLOW] = {1, 1, ML_SIZE_SIX, 5},
    [ML_PANE_PROGRAM] = {2, 2, ML_SIZE_FOUR, 18},
    [ML_PANE_STEPS] = {2, 4, ML_SIZE_FOUR, 5},
    [ML_PANE_PERF] = {2, 4, ML_SIZE_SIX, 5},
    [ML_PANE_JOBS] = {2, 4, ML_N_SIZES, 12},
    [ML_PANE_MEMORY] = {2, 4, ML_N_SIZES, 12},
    [ML_PANE_CODE] = {3, 3, ML_N_SIZES, 18},
};
/* What the columns weigh. */
static const int WIDTHS[ML_MAX_COLUMNS] = {30, 47, 40, 36};

static int column_of(const ml_Layout *l, ml_PaneId id)
{
    return l->wide ? USUAL[id].wide : USUAL[id].column;
}

void ml_layout_usual(ml_Layout *l, ml_SizeClass size)
{
    *l = (ml_Layout){.wide = size == ML_SIZE_WIDE};
    for (int id = 1; id < ML_N_PANES; id++)
        if (USUAL[id].weight && size >= USUAL[id].from)
            l->pane[id].column = column_of(l, (ml_PaneId)id);
}

/* Takes from those that have most left over what others have less than their least (the sum
 * of `least` is at most that of `out`). */
static void lift(int *out, const int *least, int n)
{
    for (int k = 0; k < n; k++)
        while (out[k] < least[k]) {
            int from = 0;

            for (int m = 1; m < n; m++)
                if (out[m] - least[m] > out[from] - least[from])
                    from = m;
            out[from]--;
            out[k]++;
        }
}

/* Shares `total` out. */
static void share_out(int total, const int *share, int n, int *out)
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
}

/* Divides `total` by what is wanted: nobody gets more than that while another one wants
 * more, who wants more than there is gets by weight; what nobody wants goes to the first of
 * the heaviest. */
static void divide(int total, const int *want, const int *weight, int n, int *out)
{
    int open[ML_N_PANES], shares[ML_N_PANES], given[ML_N_PANES], left = total, heaviest = 0;
    int many = n;

    for (int k = 0; k < n; k++) {
        open[k] = k;
        out[k] = 0;
        heaviest = weight[k] > weight[heaviest] ? k : heaviest;
    }
    while (many > 0) {
        int still = 0;

        for (int k = 0; k < many; k++)
            shares[k] = weight[open[k]];
        share_out(left, shares, many, given);
        for (int k = 0; k < many; k++) {
            int id = open[k];

            if (want[id] <= given[k]) {
                out[id] = want[id];
                left -= want[id];
            } else {
                open[still++] = id;
            }
        }
        if (still == many) {
            for (int k = 0; k < many; k++)
                out[open[k]] = given[k];
            return;
        }
        many = still;
    }
    out[heaviest] += left;
}

/* The columns of the contents of all that `p` has from left to right. */
static void divide_columns(const ml_Layout *l, const ml_Want *want, const ml_Places *p,
                           int total, int *out)
{
    int wants[ML_MAX_COLUMNS], least[ML_MAX_COLUMNS], share[ML_MAX_COLUMNS];
    int n = p->n_columns, moved = 0, usual = 0; /* the shares of those that were moved */

    for (int c = 0; c < n; c++) {
        int at = l->pane[p->column[c].pane[0]].column - 1;

        share[c] = WIDTHS[at];
        moved += l->width[at];
        usual += l->width[at] > 0 ? WIDTHS[at] : 0;
        wants[c] = least[c] = 0;
        for (int k = 0; k < p->column[c].n; k++) {
            const ml_Want *w = &want[p->column[c].pane[k]];

            wants[c] = w->columns > wants[c] ? w->columns : wants[c];
            least[c] = w->narrow > least[c] ? w->narrow : least[c];
        }
        if (wants[c] > 0 && wants[c] < NICE_COLUMNS)
            wants[c] = NICE_COLUMNS;
        wants[c] += wants[c] ? COLUMN_STEP - 1 - (wants[c] - 1) % COLUMN_STEP : ANY;
        if (least[c] > total * 2 / 5) /* the others have something to show, too */
            least[c] = total * 2 / 5;
        if (least[c] < LEAST_COLUMNS)
            least[c] = LEAST_COLUMNS;
    }
    for (int c = 0; c < n && moved > 0; c++) {
        int at = l->pane[p->column[c].pane[0]].column - 1;

        share[c] = l->width[at] > 0 ? l->width[at] : WIDTHS[at] * moved / usual;
        least[c] = LEAST_COLUMNS;
    }
    if (moved > 0)
        share_out(total, share, n, out);
    else
        divide(total, wants, share, n, out);
    lift(out, least, n);
}

/* The rows of the contents of a column's panes. */
static void divide_rows(const ml_Layout *l, const ml_Want *want, const ml_PaneId *pane,
                        int n, int total, int *out)
{
    int wants[ML_N_PANES], least[ML_N_PANES], share[ML_N_PANES], weight[ML_N_PANES];
    int few = total >= n * FEW_ROWS ? FEW_ROWS : LEAST_ROWS;
    bool moved = false;
    int nice[ML_N_PANES], left = total;

    for (int k = 0; k < n; k++) {
        wants[k] = want[pane[k]].rows;
        wants[k] = wants[k] <= 0 ? ANY : wants[k] < FEW_ROWS ? FEW_ROWS : wants[k];
        share[k] = l->pane[pane[k]].height;
        weight[k] = USUAL[pane[k]].weight;
        moved = moved || share[k] > 0;
        least[k] = few;
        nice[k] = want[pane[k]].rows + want[pane[k]].more;
        nice[k] = nice[k] < wants[k] ? wants[k] : nice[k];
        left -= nice[k];
    }
    if (moved) {
        for (int k = 0; k < n; k++)
            least[k] = LEAST_ROWS;
        share_out(total, share, n, out);
    } else {
        divide(total, left < 0 ? wants : nice, weight, n, out);
    }
    lift(out, least, n);
}

/* Leaves out the lowest panes for which there is no row, but never `in`. */
static int drop_lowest(ml_PaneId *pane, int n, int rows, ml_PaneId in)
{
    while (n > 1 && rows - n - 1 < n * LEAST_ROWS) {
        int drop = n - 1;

        if (pane[drop] == in)
            drop--;
        for (int k = drop; k + 1 < n; k++)
            pane[k] = pane[k + 1];
        n--;
    }
    return n;
}

void ml_layout_place(const ml_Layout *l, const ml_Want want[ML_N_PANES], ml_Rect area,
                     ml_PaneId in, bool only, ml_Places *out)
{
    int width[ML_MAX_COLUMNS], x = area.x;

    *out = (ml_Places){0};
    for (int c = 0; c < ML_MAX_COLUMNS && !only; c++) {
        int n = 0;

        for (int id = 1; id < ML_N_PANES; id++)
            if (l->pane[id].column == c + 1)
                out->column[out->n_columns].pane[n++] = (ml_PaneId)id;
        if (n == 0)
            continue;
        out->column[out->n_columns++].n = n;
    }
    if (only || out->n_columns == 0 || l->pane[in].column == ML_NO_COLUMN ||
        area.w - out->n_columns - 1 < out->n_columns * LEAST_COLUMNS) {
        *out = (ml_Places){0};
        out->n_columns = out->column[0].n = 1;
        out->column[0].pane[0] = in;
        out->box[in] = area;
        return;
    }
    divide_columns(l, want, out, area.w - out->n_columns - 1, width);
    for (int c = 0; c < out->n_columns; c++) {
        ml_PaneId *pane = out->column[c].pane;
        int rows[ML_N_PANES], n = drop_lowest(pane, out->column[c].n, area.h, in);
        int y = area.y;

        out->column[c].n = n;
        if (area.h - n - 1 < LEAST_ROWS)
            rows[0] = area.h - 2;
        else
            divide_rows(l, want, pane, n, area.h - n - 1, rows);
        for (int k = 0; k < n; k++) {
            out->box[pane[k]] = (ml_Rect){x, y, width[c] + 2, rows[k] + 2};
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
    int sum, last, n = panes_in(l, hide ? ML_NO_COLUMN : column_of(l, id), &sum, &last);

    if (hide && n == 1)
        return false;
    l->pane[id].column = hide ? ML_NO_COLUMN : column_of(l, id);
    l->pane[id].height = hide || n == 0 ? 0 : (sum + n - 1) / n;
    l->changed = true;
    return true;
}

void ml_layout_swap_in(ml_Layout *l, ml_PaneId id)
{
    int sum, last;

    if (l->pane[id].column != ML_NO_COLUMN)
        return;
    if (panes_in(l, column_of(l, id), &sum, &last) < 2) {
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
    l->pane[ML_PANE_CODE].column = shown ? column_of(l, ML_PANE_CODE) : ML_NO_COLUMN;
}

/* ---- as text: `six 42:75:0:0 1=1:14 3=1:7 …`, a line per size class; 0: as panes want */

static const char *const SIZES[ML_N_SIZES] = {NULL, NULL, "four", "six", "wide"};

void ml_layout_write(const ml_Layout l[ML_N_SIZES], ml_Text *out)
{
    for (int s = 0; s < ML_N_SIZES; s++) {
        if (!SIZES[s])
            continue;
        ml_text_fmt(out, "%s", SIZES[s]);
        for (int c = 0; c < ML_MAX_COLUMNS; c++)
            ml_text_fmt(out, "%c%d", c ? ':' : ' ', l[s].width[c]);
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
    ml_Layout l = {.wide = out->wide};
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
            (height = number(&p)) < 0)
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
