/*
 * state - which panes there are and where, which node is selected, and what becomes of the
 * selection when the program changes. Source: interaction 10.
 */
#include "repl/view/state/view.h"

#include "moonloop/core/walk.h"

/* ---- places */

/* What the panes that the layout shows want. */
static void measure(ml_View *v)
{
    const ml_Layout *l = &v->layout[v->size];
    ml_Rows r = {0};

    for (int id = 1; id < ML_N_PANES; id++) {
        if (v->wanted[id] || l->pane[id].column == ML_NO_COLUMN || !v->kinds[id].wants)
            continue;
        ml_rows_reset(&r);
        v->want[id] = (ml_Want){0};
        v->kinds[id].wants(v, &r, &v->want[id]);
        v->wanted[id] = true;
    }
    ml_rows_free(&r);
}

void ml_view_place(ml_View *v)
{
    ml_Rect area = {0, 1, v->grid.w, v->grid.h - 4};

    bool code = v->beside != ML_LEVEL_PROGRAM && ml_view_beside_fits(v);

    v->places = (ml_Places){0};
    ml_layout_code(&v->layout[v->size], code);
    if (!code && v->in == ML_PANE_CODE)
        v->in = ML_PANE_PROGRAM;
    v->placed = true;
    if (v->size != ML_SIZE_NONE) {
        bool alone = v->zoomed || v->size == ML_SIZE_ONE;

        if (!alone && !v->busy)
            measure(v);
        ml_layout_place(&v->layout[v->size], v->want, area, v->in, alone, &v->places);
    }
    for (int id = 1; id < ML_N_PANES; id++) {
        ml_Rect b = v->places.box[id], at = {0};

        if (b.w > 0)
            at = (ml_Rect){b.x + 1, b.y + 1, b.w - 2, b.h - 2};
        /* what fits into rows depends on the size */
        if (b.w > 0 && (at.w != v->pane[id].at.w || at.h != v->pane[id].at.h))
            v->pane[id].fresh = false;
        v->pane[id].at = at;
    }
}

/* Where there is more than one pane, it is among them. */
static void bring_in(ml_View *v, ml_PaneId id)
{
    ml_Layout *l = &v->layout[v->size];

    if (v->size <= ML_SIZE_ONE || v->zoomed || id == ML_PANE_CODE ||
        l->pane[id].column != ML_NO_COLUMN)
        return;
    if (v->size >= ML_SIZE_SIX)
        ml_layout_toggle(l, id);
    else
        ml_layout_swap_in(l, id);
}

void ml_view_resize(ml_View *v, int w, int h)
{
    ml_grid_resize(&v->grid, w, h);
    v->size = ml_size_class(w, h);
    v->drag = ML_DRAG_NONE;
    bring_in(v, v->in);
    ml_view_place(v);
    for (int id = 1; id < ML_N_PANES; id++)
        v->pane[id].loose = false;
    if (v->beside != ML_LEVEL_PROGRAM) /* what pane 2 shows may be another thing now */
        v->pane[ML_PANE_PROGRAM].fresh = !(v->pane[ML_PANE_PROGRAM].sync = true);
}

void ml_view_show_pane(ml_View *v, ml_PaneId id)
{
    if (id <= ML_PANE_NONE || id >= ML_N_PANES || !v->kinds[id].rows) {
        ml_view_say(v, "pane %d comes with a later version", (int)id);
        return;
    }
    bring_in(v, id);
    v->in = id;
    if (id == ML_PANE_MEMORY && v->uncounted)
        v->uncounted = v->pane[id].fresh = false;
    ml_view_place(v);
}

/* ---- what is selected */

void ml_view_stale(ml_View *v)
{
    for (int id = 0; id < ML_N_PANES; id++)
        ml_view_pane_stale(v, (ml_PaneId)id);
}

void ml_view_pane_stale(ml_View *v, ml_PaneId id)
{
    v->pane[id].fresh = v->wanted[id] = v->placed = false;
}

const ml_Stmt *ml_view_stmt(const ml_View *v, ml_Uid node)
{
    return v->ss->focus && node
               ? ml_index_node(ml_schedule_program(v->ss->focus).index, node)
               : NULL;
}

uint32_t ml_view_func(const ml_View *v)
{
    ml_Schedule *s = v->ss->focus;

    if (!s || ml_schedule_func(s))
        return s ? ml_schedule_func_pos(s) : 0;
    return ml_view_stmt(v, v->node) ? ml_index_func(ml_schedule_program(s).index, v->node)
                                    : 0;
}

const char *ml_view_name(const ml_View *v, ml_Uid node)
{
    const ml_Stmt *st = ml_view_stmt(v, node);
    const char *name = st ? ml_name_of(v->ss->focus, node) : "?";

    return st && st->kind == ML_STMT_FOR && ml_streq(name, "?") ? ml_as_for(st)->var->hint
                                                                : name;
}

void ml_view_select(ml_View *v, ml_Uid node)
{
    if (!ml_view_stmt(v, node))
        return;
    for (int id = 1; id < ML_N_PANES; id++) {
        if (node != v->node && v->kinds[id].by_node)
            v->pane[id].fresh = false;
        v->pane[id].sync = true;
        v->pane[id].loose = false;
    }
    uint32_t was = ml_view_func(v);

    v->node = node;
    if (ml_view_func(v) != was && ml_view_coding(v) != ML_LEVEL_PROGRAM) /* other code */
        v->pane[ML_PANE_PROGRAM].fresh = v->pane[ML_PANE_CODE].fresh = false;
}

typedef struct Search { /* of the first node that another program (or NULL) does not have */
    const ml_Index *in, *not_in;
    ml_Uid found;
} Search;

static bool visit_new(const ml_Stmt *st, void *user)
{
    Search *s = user;

    if (s->found)
        return false;
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_BLOCK) {
        ml_Uid uid = ml_stmt_uid(st);

        if (ml_index_node(s->in, uid) && !(s->not_in && ml_index_node(s->not_in, uid)))
            s->found = uid;
    }
    return !s->found;
}

/* What a node of program `was` has become in `now`: the first new node below its nearest
 * ancestor that is still there, or that ancestor; 0: nothing of the sort. */
static ml_Uid become(ml_Program was, ml_Program now, ml_Uid node)
{
    Search s = {.in = now.index, .not_in = was.index};

    for (ml_Up u = ml_index_up(was.index, node); u.node; ml_index_next(&u)) {
        const ml_Stmt *same = ml_index_node(now.index, u.uid);

        if (!same)
            continue;
        ml_stmt_visit(ml_node_body(same), visit_new, &s);
        return s.found ? s.found : u.uid;
    }
    return 0;
}

/* The first loop of the function that names mean, of the first one where they mean none;
 * else its root. */
static ml_Uid first_node(ml_Schedule *s)
{
    const ml_Func *f = ml_schedule_func(s);
    ml_Program p = ml_schedule_program(s);
    Search first = {.in = p.index};

    if (!f && p.mod->n > 0)
        f = p.mod->funcs[0];
    const ml_Block *root = f ? ml_func_root(f) : NULL;

    if (!f)
        return 0;
    ml_stmt_visit(root ? root->body : f->body, visit_new, &first);
    return first.found || !root ? first.found : root->tag;
}

void ml_view_follow(ml_View *v)
{
    ml_Schedule *s = v->ss->focus;
    ml_Uid node = v->node;

    ml_view_stale(v);
    if (!s) {
        v->node = 0;
        v->version = -1;
        v->shown = NULL;
        return;
    }
    int version = ml_schedule_version(s);

    if (s != v->shown) {
        v->folded.n = 0;
        node = 0;
    } else if (!ml_view_stmt(v, node) && node && v->version >= 0 &&
               ml_version_known(s, v->version)) {
        node = become(ml_version_program(s, v->version), ml_schedule_program(s), node);
    }
    if (!ml_view_stmt(v, node))
        node = first_node(s);
    v->version = version;
    v->shown = s;
    v->node = 0;
    ml_view_select(v, node);
}
