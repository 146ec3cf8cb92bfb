/*
 * scroll - rows of panes, whatever they show: made when stale, scrolled, folded, walked
 * through. The cursor of a pane stays on what it was on when its rows are made anew: the
 * node, the version or the key that its row stood for. Source: interaction 10.
 */
#include "repl/view/state/view.h"

static int n_rows(const ml_View *v, ml_PaneId id)
{
    return (int)v->pane[id].rows.v.n;
}

int ml_view_head(const ml_View *v, ml_PaneId id)
{
    enum { BELOW = 2 }; /* rows, for what scrolls */
    int most = v->pane[id].at.h - BELOW, head = v->pane[id].rows.head;

    return head <= most ? head : most > 0 ? most : 0;
}

int ml_view_room(const ml_View *v, ml_PaneId id)
{
    int room = v->pane[id].at.h - ml_view_head(v, id);

    return room > 0 ? room : 1;
}

int ml_view_row_at(const ml_View *v, ml_PaneId id, int y)
{
    int head = ml_view_head(v, id);

    return y < head ? y : v->pane[id].top + y - head;
}

bool ml_view_linked(const ml_View *v, const ml_Row *row)
{
    ml_Schedule *s = v->ss->focus;

    if (!s || !v->node || !row->node)
        return false;
    return row->node == v->node ||
           ml_index_is_above(ml_schedule_program(s).index, v->node, row->node);
}

static int clip(const ml_View *v, ml_PaneId id, int row)
{
    int n = n_rows(v, id), head = v->pane[id].rows.head;

    row = row < head ? head : row;
    return row < n ? row : n ? n - 1 : 0;
}

/* Whether a pane shows machine code, which begins with its hottest loop. */
static bool shows_asm(const ml_View *v, ml_PaneId id)
{
    return id == ML_PANE_CODE      ? v->beside == ML_LEVEL_ASM
           : id == ML_PANE_PROGRAM ? ml_view_level(v) == ML_LEVEL_ASM
                                   : false;
}

/* The row of the node that is nearest to `near`, else the first that is of it; of code
 * beside the program the nearest of the line, of machine code the first of the node or of
 * what is below it. -1: none. */
static int row_of_node(ml_View *v, ml_PaneId id, int near)
{
    const ml_Rows *r = &v->pane[id].rows;
    ml_PaneId other = ml_view_other(id);
    uint32_t line = other != ML_PANE_NONE && v->in == other ? ml_view_tied(v) : 0;
    int best = -1, fits = 0, far = 0;

    for (int k = 0; k < (int)r->v.n; k++) {
        const ml_Row *row = &r->v.v[k];
        int d = k > near ? k - near : near - k, as;

        if (id == ML_PANE_STEPS) { /* its rows are versions: the current one */
            if (row->version >= 0 && row->version == v->version)
                return k;
            continue;
        }
        as = line && row->line == line                              ? 2
             : v->node && row->node == v->node && !shows_asm(v, id) ? 1
                                                                    : 0;
        if (as > fits || (as && as == fits && d < far)) {
            best = k;
            fits = as;
            far = d;
        }
    }
    if (best < 0)
        for (int k = 0; k < (int)r->v.n && best < 0; k++)
            if (ml_view_linked(v, &r->v.v[k]))
                best = k;
    return best;
}

/* The row that stands for the same thing. */
static int row_like(const ml_View *v, ml_PaneId id, const ml_Row *old, const char *key,
                    int near)
{
    const ml_Rows *r = &v->pane[id].rows;

    for (size_t k = 0; k < r->v.n; k++) {
        const ml_Row *row = &r->v.v[k];

        if ((old->version >= 0 && row->version == old->version) ||
            (key && row->key && ml_streq(row->key, key)) ||
            (id != ML_PANE_PROGRAM && id != ML_PANE_CODE && old->node &&
             row->node == old->node))
            return (int)k;
    }
    return clip(v, id, near);
}

static void keep_in_sight(ml_View *v, ml_PaneId id)
{
    ml_PaneState *p = &v->pane[id];
    int room = ml_view_room(v, id), n = n_rows(v, id), head = p->rows.head;
    int last = n - room > head ? n - room : head;

    p->cursor = clip(v, id, p->cursor);
    if (!v->pane[id].loose) {
        if (p->cursor < p->top || p->cursor >= p->top + room) {
            bool near = p->cursor >= p->top - 1 && p->cursor <= p->top + room;

            if (near) /* by one row: scroll by one */
                p->top = p->cursor < p->top ? p->cursor : p->cursor - room + 1;
            else
                p->top = p->cursor - room / 3;
        }
    }
    if (p->top > last)
        p->top = last;
    if (p->top < head)
        p->top = head;
}

const ml_Rows *ml_view_rows(ml_View *v, ml_PaneId id)
{
    ml_PaneState *p = &v->pane[id];
    ml_Rows *r = &p->rows;

    if (!p->fresh && !v->busy) {
        ml_Row old = {.version = -1};
        ml_Text key = {0};
        int near = p->cursor;

        if (r->v.n > 0) {
            old = r->v.v[clip(v, id, p->cursor)];
            if (old.key)
                ml_text_add(&key, old.key);
        }
        ml_rows_reset(r);
        if (v->kinds[id].rows)
            v->kinds[id].rows(v, r);
        p->fresh = true;
        p->cursor = row_like(v, id, &old, key.n ? ml_text_z(&key) : NULL, near);
        ml_text_free(&key);
    }
    if (v->pane[id].sync && !v->busy) {
        int at = row_of_node(v, id, p->cursor);

        v->pane[id].sync = false;
        if (at >= 0)
            p->cursor = at;
    }
    keep_in_sight(v, id);
    return r;
}

const ml_Row *ml_view_row(ml_View *v, ml_PaneId id)
{
    const ml_Rows *r = ml_view_rows(v, id);

    return r->v.n ? &r->v.v[v->pane[id].cursor] : NULL;
}

void ml_view_go(ml_View *v, ml_PaneId id, int row)
{
    const ml_Rows *r = ml_view_rows(v, id);

    v->pane[id].cursor = clip(v, id, row);
    v->pane[id].loose = false;
    if (r->v.n > 0) {
        ml_Uid node = r->v.v[v->pane[id].cursor].node;

        if (node && node != v->node) {
            ml_view_select(v, node);
            v->pane[id].sync = false; /* it is where it should be */
        }
    }
    if (ml_view_other(id) != ML_PANE_NONE) /* it scrolls along */
        v->pane[ml_view_other(id)].sync = true;
    keep_in_sight(v, id);
}

void ml_view_scroll(ml_View *v, ml_PaneId id, int by)
{
    ml_PaneState *p = &v->pane[id];

    ml_view_rows(v, id);
    p->top += by;
    v->pane[id].loose = true;
    keep_in_sight(v, id);
}

/* ---- folds */

static bool folded(const ml_View *v, ml_Uid node)
{
    for (size_t k = 0; k < v->folded.n; k++)
        if (v->folded.v[k] == node)
            return true;
    return false;
}

void ml_view_fold(ml_View *v, ml_Uid node, bool fold)
{
    if (!node || fold == folded(v, node))
        return;
    if (fold) {
        ml_push(v->cx, &v->folded, node);
    } else {
        size_t n = 0;

        for (size_t k = 0; k < v->folded.n; k++)
            if (v->folded.v[k] != node)
                v->folded.v[n++] = v->folded.v[k];
        v->folded.n = n;
    }
    for (int id = 1; id < ML_N_PANES; id++)
        v->pane[id].fresh = false;
}
