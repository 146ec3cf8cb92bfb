/*
 * mouse - what a click, a drag, the wheel ask for where they happen: rows, borders, keys of
 * the bottom line. Source: interaction 10.
 */
#include "repl/job/jobs.h"
#include "repl/view/view.h"

static bool inside(ml_Rect r, int x, int y)
{
    return x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
}

static ml_PaneId pane_at(const ml_View *v, int x, int y)
{
    for (int id = 1; id < ML_N_PANES; id++)
        if (v->pane[id].at.w > 0 && inside(v->pane[id].at, x, y))
            return (ml_PaneId)id;
    return ML_PANE_NONE;
}

/* The row at the place; -1: none is there. */
static int row_at(ml_View *v, ml_PaneId id, int y)
{
    int row = ml_view_row_at(v, id, y - v->pane[id].at.y);

    return row >= v->pane[id].rows.head && row < (int)ml_view_rows(v, id)->v.n ? row : -1;
}

/* ---- borders */

static bool begin_border(ml_View *v, int x, int y)
{
    const ml_Places *p = &v->places;

    v->drag_above = ML_PANE_NONE;
    v->drag_column = -1;
    for (int c = 0; c < p->n_columns; c++) {
        ml_Rect top = p->box[p->column[c].pane[0]];
        ml_PaneId low = p->column[c].pane[p->column[c].n - 1];
        int bottom = p->box[low].y + p->box[low].h;

        if (c + 1 < p->n_columns && x == top.x + top.w - 1 && y >= top.y && y < bottom)
            v->drag_column = c;
        for (int k = 0; k + 1 < p->column[c].n; k++) {
            ml_Rect b = p->box[p->column[c].pane[k]];

            if (y == b.y + b.h - 1 && x >= b.x && x < b.x + b.w)
                v->drag_above = p->column[c].pane[k];
        }
    }
    if (v->drag_above == ML_PANE_NONE && v->drag_column < 0)
        return false;
    v->drag = ML_DRAG_BORDER;
    v->drag_x = x;
    v->drag_y = y;
    return true;
}

static void drag_border(ml_View *v, int x, int y)
{
    ml_Layout *l = &v->layout[v->size];

    if (v->drag_column >= 0 && x != v->drag_x) {
        ml_layout_move_column(l, &v->places, v->drag_column, x - v->drag_x);
        ml_view_place(v);
        v->drag_x = x;
    }
    if (v->drag_above != ML_PANE_NONE && y != v->drag_y) {
        ml_layout_move_row(l, &v->places, v->drag_above, y - v->drag_y);
        ml_view_place(v);
        v->drag_y = y;
    }
}

/* ---- words */

/* The name at a column of a row's text; false: there is none. */
static bool word_at(ml_View *v, ml_PaneId id, const ml_Row *row, int x, ml_Text *out)
{
    int column = x - v->pane[id].at.x - 1;
    int fixed = ml_grid_columns(&v->grid, row->text, row->gutter);
    size_t k = 0, from, to, bytes;

    if (column < fixed)
        return false;
    column += v->pane[id].left;
    for (int at = 0; row->text[k] && at < column; k += bytes)
        at += ml_char_columns(row->text + k, strlen(row->text + k), &bytes);
    for (from = k; from > 0 && ml_in_word(row->text[from - 1]); from--) {
    }
    for (to = k; row->text[to] && ml_in_word(row->text[to]); to++) {
    }
    if (from >= to || !ml_in_word(row->text[k]) ||
        (row->text[from] >= '0' && row->text[from] <= '9'))
        return false;
    ml_text_addn(out, row->text + from, to - from);
    return true;
}

/* ---- clicks */

static void press_hot(ml_View *v, int x)
{
    for (size_t k = 0; k < v->n_hot; k++) {
        ml_Key key;

        if (x < v->hot[k].x || x >= v->hot[k].x + v->hot[k].w)
            continue;
        if (v->hot[k].r != ML_REQ_NONE)
            ml_view_request(v, v->hot[k].r, 1);
        else if (ml_key_read(v->hot[k].key, &key))
            ml_view_key(v, &key);
        return;
    }
}

static void press(ml_View *v, int x, int y)
{
    ml_PaneId id = pane_at(v, x, y);
    ml_Text word = {0};

    if (y == v->hot_y) {
        press_hot(v, x);
        return;
    }
    if (ml_act_open(v) || v->asking || v->paging)
        return;
    if (id == ML_PANE_NONE) {
        begin_border(v, x, y);
        return;
    }
    int row = row_at(v, id, y);
    bool again = id == v->in && row == v->pane[id].cursor;

    v->in = id;
    if (row < 0)
        return;
    ml_view_go(v, id, row);
    const ml_Row *r = ml_view_row(v, id);

    if (id == ML_PANE_PROGRAM && again && word_at(v, id, r, x, &word))
        ml_view_follow_marks(v, ml_text_z(&word));
    ml_text_free(&word);
    if (id == ML_PANE_LOOPS && r && r->node) {
        v->drag = ML_DRAG_NODE;
        v->drag_node = r->node;
        v->drag_y = y;
    }
}

/* The node of pane 1 that the pointer is over; 0: none, or the dragged one. */
static ml_Uid dropped_on(ml_View *v, int x, int y)
{
    int row = pane_at(v, x, y) == ML_PANE_LOOPS ? row_at(v, ML_PANE_LOOPS, y) : -1;
    ml_Uid node = row >= 0 ? v->pane[ML_PANE_LOOPS].rows.v.v[row].node : 0;

    return node == v->drag_node ? 0 : node;
}

void ml_view_mouse(ml_View *v, ml_EventKind kind, int x, int y)
{
    ml_PaneId id = pane_at(v, x, y);
    int by = kind == ML_EVENT_WHEEL_UP ? -3 : 3;

    if (v->size == ML_SIZE_NONE)
        return;
    switch (kind) {
    case ML_EVENT_PRESS:
        v->drag = ML_DRAG_NONE;
        v->leaving = false;
        v->digit = 0;
        if (y != v->hot_y && !ml_act_open(v))
            ml_text_clear(&v->message);
        press(v, x, y);
        if (v->in == ML_PANE_JOBS)
            ml_jobs_seen(v->ss);
        break;
    case ML_EVENT_DRAG:
        if (v->drag == ML_DRAG_BORDER)
            drag_border(v, x, y);
        else if (v->drag == ML_DRAG_NODE && y != v->drag_y && dropped_on(v, x, y))
            ml_act_drag(v, v->drag_node, dropped_on(v, x, y), false);
        break;
    case ML_EVENT_RELEASE:
        if (v->drag == ML_DRAG_BORDER)
            drag_border(v, x, y);
        else if (v->drag == ML_DRAG_NODE && dropped_on(v, x, y))
            ml_act_drag(v, v->drag_node, dropped_on(v, x, y), true);
        else if (v->drag == ML_DRAG_NODE && ml_act_open(v))
            ml_act_cancel(v);
        v->drag = ML_DRAG_NONE;
        break;
    case ML_EVENT_WHEEL_UP:
    case ML_EVENT_WHEEL_DOWN:
        if (v->paging) {
            ml_view_page_scroll(v, v->page_top + by);
        } else if (id != ML_PANE_NONE) {
            ml_view_scroll(v, id, by);
        }
        break;
    case ML_EVENT_KEY:
    case ML_EVENT_RESIZE:
    case ML_EVENT_RETURN:
    case ML_EVENT_NONE: break;
    }
}

void ml_view_double(ml_View *v, int x, int y)
{
    ml_PaneId id = pane_at(v, x, y);

    if (v->size != ML_SIZE_NONE && id != ML_PANE_NONE && !ml_act_open(v) && !v->asking &&
        !v->paging && row_at(v, id, y) == v->pane[id].cursor)
        ml_view_request(v, ML_REQ_OPEN, 1);
}
