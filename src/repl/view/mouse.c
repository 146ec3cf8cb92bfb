/*
 * mouse - what a click, a drag, the wheel ask for where they happen: rows, borders, keys of
 * the bottom line. Source: interaction 10.
 */
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
    int row = v->pane[id].top + y - v->pane[id].at.y;

    return row >= 0 && row < (int)ml_view_rows(v, id)->v.n ? row : -1;
}

/* ---- borders */

static bool begin_border(ml_View *v, int x, int y)
{
    ml_Frame *f = v->frame;
    const ml_Places *p = &f->places;

    f->drag_above = ML_PANE_NONE;
    f->drag_column = -1;
    for (int c = 0; c < p->n_columns; c++) {
        ml_Rect top = p->box[p->column[c].pane[0]];
        ml_PaneId low = p->column[c].pane[p->column[c].n - 1];
        int bottom = p->box[low].y + p->box[low].h;

        if (c + 1 < p->n_columns && x == top.x + top.w - 1 && y >= top.y && y < bottom)
            f->drag_column = c;
        for (int k = 0; k + 1 < p->column[c].n; k++) {
            ml_Rect b = p->box[p->column[c].pane[k]];

            if (y == b.y + b.h - 1 && x >= b.x && x < b.x + b.w)
                f->drag_above = p->column[c].pane[k];
        }
    }
    if (f->drag_above == ML_PANE_NONE && f->drag_column < 0)
        return false;
    f->drag = ML_DRAG_BORDER;
    f->drag_x = x;
    f->drag_y = y;
    return true;
}

static void drag_border(ml_View *v, int x, int y)
{
    ml_Frame *f = v->frame;
    ml_Layout *l = &f->layout[f->size];

    if (f->drag_column >= 0 && x != f->drag_x) {
        ml_layout_move_column(l, &f->places, f->drag_column, x - f->drag_x);
        ml_view_place(v);
        f->drag_x = x;
    }
    if (f->drag_above != ML_PANE_NONE && y != f->drag_y) {
        ml_layout_move_row(l, &f->places, f->drag_above, y - f->drag_y);
        ml_view_place(v);
        f->drag_y = y;
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
    ml_Frame *f = v->frame;

    for (size_t k = 0; k < f->n_hot; k++) {
        ml_Key key;

        if (x < f->hot[k].x || x >= f->hot[k].x + f->hot[k].w)
            continue;
        if (f->hot[k].r != ML_REQ_NONE)
            ml_view_request(v, f->hot[k].r, 1);
        else if (ml_key_read(f->hot[k].key, &key))
            ml_view_key(v, &key);
        return;
    }
}

static void press(ml_View *v, int x, int y)
{
    ml_Frame *f = v->frame;
    ml_PaneId id = pane_at(v, x, y);
    ml_Text word = {0};

    if (y == f->hot_y) {
        press_hot(v, x);
        return;
    }
    if (ml_act_open(v) || f->asking || f->paging)
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
        f->drag = ML_DRAG_NODE;
        f->drag_node = r->node;
        f->drag_y = y;
    }
}

/* The node of pane 1 that the pointer is over; 0: none, or the dragged one. */
static ml_Uid dropped_on(ml_View *v, int x, int y)
{
    int row = pane_at(v, x, y) == ML_PANE_LOOPS ? row_at(v, ML_PANE_LOOPS, y) : -1;
    ml_Uid node = row >= 0 ? v->pane[ML_PANE_LOOPS].rows.v.v[row].node : 0;

    return node == v->frame->drag_node ? 0 : node;
}

void ml_view_mouse(ml_View *v, ml_EventKind kind, int x, int y)
{
    ml_Frame *f = v->frame;
    ml_PaneId id = pane_at(v, x, y);
    int by = kind == ML_EVENT_WHEEL_UP ? -3 : 3;

    if (f->size == ML_SIZE_NONE)
        return;
    switch (kind) {
    case ML_EVENT_PRESS:
        f->drag = ML_DRAG_NONE;
        f->leaving = false;
        f->count = 0;
        if (y != f->hot_y && !ml_act_open(v))
            ml_text_clear(&v->message);
        press(v, x, y);
        break;
    case ML_EVENT_DRAG:
        if (f->drag == ML_DRAG_BORDER)
            drag_border(v, x, y);
        else if (f->drag == ML_DRAG_NODE && y != f->drag_y && dropped_on(v, x, y))
            ml_act_drag(v, f->drag_node, dropped_on(v, x, y), false);
        break;
    case ML_EVENT_RELEASE:
        if (f->drag == ML_DRAG_BORDER)
            drag_border(v, x, y);
        else if (f->drag == ML_DRAG_NODE && dropped_on(v, x, y))
            ml_act_drag(v, f->drag_node, dropped_on(v, x, y), true);
        else if (f->drag == ML_DRAG_NODE && ml_act_open(v))
            ml_act_cancel(v);
        f->drag = ML_DRAG_NONE;
        break;
    case ML_EVENT_WHEEL_UP:
    case ML_EVENT_WHEEL_DOWN:
        if (f->paging) {
            ml_view_page_scroll(v, f->page_top + by);
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

    if (v->frame->size != ML_SIZE_NONE && id != ML_PANE_NONE && !ml_act_open(v) &&
        !v->frame->asking && !v->frame->paging && row_at(v, id, y) == v->pane[id].cursor)
        ml_view_request(v, ML_REQ_OPEN, 1);
}
