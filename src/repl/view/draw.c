/*
 * draw - the view as cells: panes with their rows, what is open over them; the title is
 * draw_title's, the last rows are draw_last's. Only what is in sight is looked at.
 * Source: interaction 10.
 */
#include "repl/view/view.h"

ml_Rect ml_view_row_rect(const ml_View *v, int y)
{
    return (ml_Rect){0, y, v->grid.w, 1};
}

/* ---- rows */

/* A piece of a row's text in one role, with what the search found in it. */
static int put_piece(ml_View *v, ml_Rect in, int x, int y, const char *row, size_t from,
                     size_t to, ml_CellRole role, bool found)
{
    size_t at, n;
    int begin = x;

    while (found && from < to && ml_view_match(v, row, from, &at, &n) && at < to) {
        size_t end = at + n < to ? at + n : to;

        x += ml_grid_put_n(&v->grid, in, x, y, row + from, at - from, role);
        x += ml_grid_put_n(&v->grid, in, x, y, row + at, end - at, ML_ROLE_MATCH);
        from = end;
    }
    return x + ml_grid_put_n(&v->grid, in, x, y, row + from, to - from, role) - begin;
}

/* Bytes [from, to) of the row, by its spans. Returns the columns. */
static int put_spans(ml_View *v, ml_Rect in, int x, int y, const ml_Row *row, size_t from,
                     size_t to, bool found)
{
    ml_CellRole usual = row->dim ? ML_ROLE_DIM : (ml_CellRole)row->role;
    int begin = x;

    for (uint32_t k = 0; k < row->n_spans && from < to; k++) {
        const ml_RoleSpan *s = &row->spans[k];
        size_t a = s->from > from ? s->from : from, b = s->to < to ? s->to : to;

        if (s->to <= from)
            continue;
        if (a >= to)
            break;
        x += put_piece(v, in, x, y, row->text, from, a, usual, found);
        x += put_piece(v, in, x, y, row->text, a, b,
                       row->dim ? ML_ROLE_DIM : (ml_CellRole)s->role, found);
        from = b;
    }
    return x + put_piece(v, in, x, y, row->text, from, to, usual, found) - begin;
}

/* A row from column x on, scrolled by `left`; … where it is cut. */
void ml_view_put_row(ml_View *v, ml_Rect in, int x, int y, const ml_Row *row, int left,
                     bool found)
{
    size_t n = strlen(row->text), fixed = row->gutter < n ? row->gutter : n;
    int wide = put_spans(v, in, x, y, row, 0, fixed, false);
    ml_Rect rest = {x + wide, in.y, in.x + in.w - x - wide, in.h};
    int used = put_spans(v, rest, x + wide - left, y, row, fixed, n, found);

    if (x + wide - left + used > in.x + in.w && rest.w > 0)
        ml_grid_put_cut(&v->grid, (ml_Rect){in.x + in.w - 1, y, 1, 1}, in.x + in.w - 1, y,
                        "  ", ML_ROLE_DIM);
}

static void draw_choice(ml_View *v, const ml_Row *row, ml_Rect line)
{
    int place = 0;
    ml_Choice c = row->node ? ml_act_choice(v, row->node, &place) : ML_CHOICE_NONE;
    char z[16] = "";

    switch (c) {
    case ML_CHOICE_NONE: return;
    case ML_CHOICE_LEGAL: memcpy(z, "●", sizeof "●"); break;
    case ML_CHOICE_ILLEGAL: ml_grid_role(&v->grid, line, ML_ROLE_DIM); return;
    case ML_CHOICE_TAKEN: {
        char digit = (char)('0' + place % 10);

        z[0] = place > 9 ? '+' : digit;
        break;
    }
    }
    ml_grid_role(&v->grid, line, ML_ROLE_OK);
    ml_grid_put(&v->grid, line, line.x, line.y, z, ML_ROLE_OK);
}

static void draw_rows(ml_View *v, ml_PaneId id)
{
    ml_PaneState *p = &v->pane[id];
    const ml_Rows *r = ml_view_rows(v, id);
    bool in = id == v->in;
    uint32_t tied =
        id == ML_PANE_CODE || (id == ML_PANE_PROGRAM && !in) ? ml_view_tied(v) : 0;

    for (int y = 0; y < p->at.h && ml_view_row_at(v, id, y) < (int)r->v.n; y++) {
        const ml_Row *row = &r->v.v[ml_view_row_at(v, id, y)];
        ml_Rect line = {p->at.x, p->at.y + y, p->at.w, 1};
        bool cursor = ml_view_row_at(v, id, y) == p->cursor;
        bool linked = tied ? row->line == tied : ml_view_linked(v, row);

        ml_view_put_row(v, line, line.x + 1, line.y, row, p->left, in && v->search);
        if (row->changed)
            ml_grid_put(&v->grid, line, line.x, line.y, "▌", ML_ROLE_CHANGED);
        if (id == ML_PANE_LOOPS && !v->busy)
            draw_choice(v, row, line);
        if (ml_view_other(id) != ML_PANE_NONE && linked) {
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_LINKED);
            if (!row->changed)
                ml_grid_put(&v->grid, line, line.x, line.y, "▏", ML_ROLE_DIM);
        }
        if (cursor && in) {
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_CURSOR);
            ml_grid_put(&v->grid, line, line.x + line.w - 1, line.y, "◀", ML_ROLE_STRONG);
            ml_grid_attr(&v->grid, (ml_Rect){line.x + line.w - 1, line.y, 1, 1},
                         ML_ATTR_ON_CURSOR);
        } else if (linked && id == ML_PANE_LOOPS && row->node == v->node) {
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_LINKED | ML_ATTR_BOLD);
            ml_grid_put(&v->grid, line, line.x + line.w - 1, line.y, "◀", ML_ROLE_STRONG);
        }
    }
}

/* ---- a menu, and the program as it would be */

/* A box of rows at the bottom of the panes, `at` of them marked. */
typedef struct Menu {
    ml_Rows rows;
    int at;
    ml_Rect box; /* h 0: there is none */
} Menu;

static Menu make_menu(ml_View *v)
{
    /* the preview stays in sight */
    int room = v->grid.h > 20 ? v->grid.h / 2 : v->grid.h - 6;
    Menu m = {.at = -1};

    ml_rows_reset(&m.rows);
    if (ml_act_open(v) && !v->busy)
        ml_act_menu(v, &m.rows, &m.at);
    int n = (int)m.rows.v.n, w = ml_rows_columns(&v->grid, &m.rows) + 4;
    int h = n < room ? n : room;

    w = w < 22 ? 22 : w;
    if (n == 0 || room <= 0)
        return m;
    m.box = (ml_Rect){.y = v->grid.h - 3 - h - 2 - ml_view_last_over(v),
                      .w = w > v->grid.w ? v->grid.w : w,
                      .h = h + 2};
    if (m.box.y < 1)
        m.box.y = 1;
    return m;
}

static void draw_menu(ml_View *v, const Menu *m)
{
    int h = m->box.h - 2, top = m->at >= h ? m->at - h + 1 : 0;

    ml_grid_fill(&v->grid, m->box, ML_ROLE_TEXT);
    ml_grid_box(&v->grid, m->box, NULL, ML_ROLE_BORDER_IN);
    for (int k = 0; k < h; k++) {
        ml_Rect line = {m->box.x + 1, m->box.y + 1 + k, m->box.w - 2, 1};

        ml_view_put_row(v, line, line.x + 1, line.y, &m->rows.v.v[top + k], 0, false);
        if (top + k == m->at)
            ml_grid_attr(&v->grid, line, ML_ATTR_ON_CURSOR);
    }
}

/* In pane 2, from where something changes, above what a menu covers. Returns the row behind
 * the last one that is seen. */
static int draw_preview(ml_View *v, const ml_Rows *r, const Menu *m)
{
    const ml_PaneState *p = &v->pane[ML_PANE_PROGRAM];
    bool covered = m->box.h > 0 && m->box.x + m->box.w > p->at.x;
    int room = p->at.h, n = (int)r->v.n, top = p->top, first = 0;

    if (covered && m->box.y - p->at.y < room)
        room = m->box.y > p->at.y ? m->box.y - p->at.y : 1;
    while (first < n && !r->v.v[first].sign)
        first++;
    if (first < n && (first < top || first >= top + room))
        top = first - room / 3;
    top = top > n - room ? n - room : top;
    top = top < 0 ? 0 : top;
    for (int y = 0; y < room && top + y < n; y++) {
        const ml_Row *row = &r->v.v[top + y];
        ml_Rect line = {p->at.x, p->at.y + y, p->at.w, 1};
        const char sign[] = {row->sign, '\0'};

        ml_view_put_row(v, line, line.x + 1, line.y, row, p->left, false);
        if (row->sign) {
            ml_grid_put(&v->grid, line, line.x, line.y, sign,
                        row->sign == '+' ? ML_ROLE_DIFF_ADD : ML_ROLE_DIFF_DEL);
            ml_grid_attr(&v->grid, (ml_Rect){line.x, line.y, 1, 1}, ML_ATTR_BOLD);
        }
    }
    return top + room < n ? top + room : n;
}

/* ---- panes */

static ml_CellRole border_of(const ml_View *v, ml_PaneId id)
{
    return id == v->in ? ML_ROLE_BORDER_IN : ML_ROLE_BORDER;
}

/* The title in the border, and how far the rows are scrolled. */
static void put_title(ml_View *v, ml_Rect b, const char *title, ml_CellRole role, int last,
                      int n)
{
    ml_CellRole as = role == ML_ROLE_BORDER_IN ? ML_ROLE_TITLE : ML_ROLE_STRONG;
    ml_Rect in = {b.x + 2, b.y, b.w - 4, 1};
    ml_Text t = {0};
    int wide;

    if (b.w < 8)
        return;
    ml_text_fmt(&t, " %s ", title);
    wide = ml_grid_put_cut(&v->grid, in, in.x, in.y, ml_text_z(&t), as);
    ml_text_clear(&t);
    ml_text_fmt(&t, " %d/%d ", last, n);
    if (last < n && wide + (int)t.n + 2 < in.w)
        ml_grid_put(&v->grid, in, in.x + in.w - (int)t.n, in.y, ml_text_z(&t), ML_ROLE_DIM);
    ml_text_free(&t);
}

static void draw_pane(ml_View *v, ml_PaneId id, const Menu *menu)
{
    const ml_PaneKind *kind = &v->kinds[id];
    ml_Rect b = v->places.box[id];
    ml_Text title = {0}, more = {0};
    ml_Rows preview = {0};
    int n = (int)ml_view_rows(v, id)->v.n, last = v->pane[id].top + ml_view_room(v, id);

    if (id == ML_PANE_CODE)
        ml_text_add(&title, v->beside == ML_LEVEL_ASM ? "A Assembly" : "L LLVM");
    else
        ml_text_fmt(&title, "%d %s", (int)id, ml_pane_names[id]);
    ml_rows_reset(&preview);
    if (id == ML_PANE_PROGRAM && !v->busy && ml_act_preview(v, &preview)) {
        n = (int)preview.v.n;
        last = draw_preview(v, &preview, menu);
        ml_act_preview_title(v, &more);
    } else {
        draw_rows(v, id);
        if (kind->title)
            kind->title(v, &more);
    }
    if (more.n)
        ml_text_fmt(&title, " %s", ml_text_z(&more));
    if (id == v->in && v->zoomed)
        ml_text_add(&title, " (z)");
    put_title(v, b, ml_text_z(&title), border_of(v, id), last > n ? n : last, n);
    ml_text_free(&title);
    ml_text_free(&more);
    ml_rows_free(&preview);
}

static void draw_panes(ml_View *v)
{
    const ml_Rect *box = v->places.box;
    Menu menu = make_menu(v);

    for (int id = 1; id < ML_N_PANES; id++)
        if (box[id].w > 0 && id != (int)v->in)
            ml_grid_box(&v->grid, box[id], NULL, ML_ROLE_BORDER);
    if (box[v->in].w > 0) /* last: it is its border that shows */
        ml_grid_box(&v->grid, box[v->in], NULL, ML_ROLE_BORDER_IN);
    for (int id = 1; id < ML_N_PANES; id++)
        if (box[id].w > 0)
            draw_pane(v, (ml_PaneId)id, &menu);
    if (menu.box.h > 0)
        draw_menu(v, &menu);
    ml_rows_free(&menu.rows);
}

/* ---- what lies over the panes */

static void draw_page(ml_View *v)
{
    ml_Rect box = {0, 1, v->grid.w, v->grid.h - 4};
    int room = ml_view_page_room(v), n = (int)v->page.v.n;

    if (v->page_top > n - room)
        v->page_top = n > room ? n - room : 0;
    ml_grid_fill(&v->grid, box, ML_ROLE_TEXT);
    ml_grid_box(&v->grid, box, NULL, ML_ROLE_BORDER_IN);
    put_title(v, box, ml_text_z(&v->page_title), ML_ROLE_BORDER_IN,
              v->page_top + room > n ? n : v->page_top + room, n);
    for (int k = 0; k < room && v->page_top + k < n; k++) {
        ml_Rect line = {1, box.y + 1 + k, box.w - 2, 1};

        ml_view_put_row(v, line, 2, line.y, &v->page.v.v[v->page_top + k], v->page_left,
                        false);
    }
}

/* ---- all of it */

/* How it is left comes first where not even that fits. */
static void draw_too_small(ml_View *v)
{
    ml_Grid *g = &v->grid;
    ml_Rect all = {0, 0, g->w, g->h};
    ml_Text t = {0}, key = {0};

    ml_keymap_first(v->ss->keymap, ML_REQ_LEAVE, &key);
    ml_text_fmt(&t,
                "%dx%d is too small: the panes need 40x10. Enlarge the window, or %s "
                "goes back to the prompt",
                g->w, g->h, key.n ? ml_text_z(&key) : "moonloop without :view");
    if (ml_grid_folded(g, ml_text_z(&t), g->w) > g->h) {
        ml_text_clear(&t);
        ml_text_fmt(&t, "needs 40x10; %s leaves", key.n ? ml_text_z(&key) : "nothing");
    }
    ml_grid_put_folded(g, all, ml_text_z(&t), ML_ROLE_ERROR);
    ml_text_free(&t);
    ml_text_free(&key);
}

void ml_view_draw(ml_View *v)
{
    ml_Grid *g = &v->grid;

    if (!v->placed)
        ml_view_place(v);
    ml_grid_clear(g);
    v->n_hot = 0;
    if (v->size == ML_SIZE_NONE) {
        draw_too_small(v);
        return;
    }
    ml_view_draw_title(v);
    if (v->paging) {
        draw_page(v);
    } else {
        draw_panes(v);
    }
    ml_view_draw_last(v);
}
