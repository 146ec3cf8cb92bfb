/*
 * request - what is asked for, done: the table of keys.def, and of its functions those that
 * only look: moving, folding, panes, versions to go to. Those that schedule are in act/.
 * Source: interaction 10.
 */
#include "repl/view/view.h"

#include <stdlib.h>

#include "moonloop/core/base/arena.h"
#include "repl/view/pane/jobs.h"
#include "repl/view/pane/touches.h"

static void move(ml_View *v, int by)
{
    ml_view_rows(v, v->in); /* the cursor may be on its way to another row */
    ml_view_go(v, v->in, v->pane[v->in].cursor + by);
}

void ml_do_move(ml_View *v)
{
    move(v, v->row->way * v->count);
}

void ml_do_page(ml_View *v)
{
    int by = v->row->way * ml_view_room(v, v->in);

    ml_view_rows(v, v->in);
    v->pane[v->in].top += by;
    move(v, by);
}

void ml_do_edge(ml_View *v)
{
    ml_view_go(v, v->in, v->row->way ? (int)ml_view_rows(v, v->in)->v.n - 1 : 0);
}

static void run_number(ml_View *v, const char *command, int number)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "%s%d", command, number);
    ml_view_run(v, ml_text_z(&t), NULL);
    ml_text_free(&t);
}

static int job_of(const ml_Row *row)
{
    return (int)strtol(row->key, NULL, 10);
}

void ml_do_open(ml_View *v)
{
    const ml_Row *row = ml_view_row(v, v->in);

    if (!row)
        return;
    if (v->in == ML_PANE_JOBS && ml_pane_record(row)) {
        ml_view_inspect(v, ml_pane_record(row));
    } else if (row->version >= 0) {
        if (v->ss->focus && row->version == ml_schedule_version(v->ss->focus))
            ml_view_say(v, "v%d is the current version", row->version);
        else
            run_number(v, ":goto v", row->version);
    } else if (v->in == ML_PANE_JOBS && row->key) {
        run_number(v, ":jobs ", job_of(row));
    } else if (row->fold != ML_FOLD_LEAF) {
        ml_view_fold(v, row->node, row->fold == ML_FOLD_OPEN);
    } else if (row->node && v->in != ML_PANE_LOOPS) {
        ml_view_select(v, row->node);
        ml_view_show_pane(v, ML_PANE_LOOPS);
    } else if (row->node) {
        ml_view_show_pane(v, ML_PANE_PROGRAM);
    }
}

enum { SIDEWAYS = 8 };

void ml_do_unfold(ml_View *v)
{
    const ml_Row *row = ml_view_row(v, v->in);

    if (!row)
        return;
    if (row->fold == ML_FOLD_CLOSED)
        ml_view_fold(v, row->node, false);
    else if (row->fold == ML_FOLD_OPEN)
        ml_view_go(v, v->in, v->pane[v->in].cursor + 1);
    else {
        ml_PaneState *p = &v->pane[v->in];

        if (p->left + p->at.w - 1 < ml_rows_columns(&v->grid, ml_view_rows(v, v->in)))
            p->left += SIDEWAYS;
    }
}

void ml_do_fold(ml_View *v)
{
    ml_PaneState *p = &v->pane[v->in];
    const ml_Row *row = ml_view_row(v, v->in);

    if (!row)
        return;
    if (p->left > 0) {
        p->left = p->left > SIDEWAYS ? p->left - SIDEWAYS : 0;
    } else if (row->fold == ML_FOLD_OPEN) {
        ml_view_fold(v, row->node, true);
    } else {
        for (int k = p->cursor - 1; k >= 0; k--)
            if (p->rows.v.v[k].depth < row->depth) {
                ml_view_go(v, v->in, k);
                return;
            }
    }
}

/* ---- panes */

static void next_level(ml_View *v)
{
    v->level = (ml_Level)((ml_view_level(v) + 1) % ML_N_LEVELS);
    v->beside = ML_LEVEL_PROGRAM;
    ml_view_pane_stale(v, ML_PANE_PROGRAM);
    v->pane[ML_PANE_PROGRAM].left = 0;
    v->pane[ML_PANE_PROGRAM].sync = true;
}

/* The pane that follows among those that can be seen, or among all when one is alone. */
static void step_pane(ml_View *v, int by)
{
    static const ml_PaneId ORDER[] = {ML_PANE_LOOPS, ML_PANE_PROGRAM,  ML_PANE_CODE,
                                      ML_PANE_BLOCK, ML_PANE_DATAFLOW, ML_PANE_STEPS,
                                      ML_PANE_PERF,  ML_PANE_JOBS,     ML_PANE_MEMORY};
    bool alone = v->zoomed || v->size <= ML_SIZE_ONE;
    size_t n = ML_COUNT(ORDER), at = 0;

    while (at < n - 1 && ORDER[at] != v->in)
        at++;
    for (size_t k = 1; k < n; k++) {
        at = (at + (by > 0 ? 1 : n - 1)) % n;
        if (v->places.box[ORDER[at]].w > 0 || (alone && ORDER[at] != ML_PANE_CODE))
            break;
    }
    v->in = ORDER[at];
    ml_view_place(v);
}

void ml_do_step_pane(ml_View *v)
{
    if (v->row->way > 0 && v->in == ML_PANE_PROGRAM && v->places.box[ML_PANE_CODE].w == 0)
        next_level(v);
    else
        step_pane(v, v->row->way);
}

void ml_do_pane(ml_View *v)
{
    ml_view_show_pane(v, (ml_PaneId)v->count);
}

void ml_do_toggle_pane(ml_View *v)
{
    int count = v->count;

    if (count < 1 || count >= ML_N_PANES || !v->kinds[count].rows)
        ml_view_say(v, "pane %d comes with a later version", count);
    else if (v->size <= ML_SIZE_ONE)
        ml_view_show_pane(v, (ml_PaneId)v->count);
    else if (!ml_layout_toggle(&v->layout[v->size], (ml_PaneId)v->count))
        ml_view_say(v, "this is the only pane that is shown");
    else {
        v->zoomed = false;
        for (int id = 1; v->layout[v->size].pane[v->in].column == ML_NO_COLUMN; id++)
            v->in = (ml_PaneId)id;
        ml_view_place(v);
    }
}

void ml_do_zoom(ml_View *v)
{
    if (v->size <= ML_SIZE_ONE)
        ml_view_say(v, "under 80x24 there is one pane at a time; its number shows it");
    else
        v->zoomed = !v->zoomed;
    ml_view_place(v);
}

/* One row and two columns more (less), where there is a neighbour to take them from. */
void ml_do_resize(ml_View *v)
{
    ml_Layout *l = &v->layout[v->size];
    int by = v->row->way * v->count;

    if (v->size <= ML_SIZE_ONE || v->zoomed) {
        ml_view_say(v, "one pane alone cannot be made larger or smaller");
        return;
    }
    for (int c = 0; c < v->places.n_columns; c++)
        for (int k = 0; k < v->places.column[c].n; k++) {
            if (v->places.column[c].pane[k] != v->in)
                continue;
            if (k + 1 < v->places.column[c].n)
                ml_layout_move_row(l, &v->places, v->in, by);
            else if (k > 0)
                ml_layout_move_row(l, &v->places, v->places.column[c].pane[k - 1], -by);
            if (c + 1 < v->places.n_columns)
                ml_layout_move_column(l, &v->places, c, 2 * by);
            else
                ml_layout_move_column(l, &v->places, c - 1, -2 * by);
        }
    ml_view_place(v);
}

void ml_do_reset(ml_View *v)
{
    ml_layout_usual(&v->layout[v->size], v->size);
    v->layout[v->size].changed = true;
    v->zoomed = false;
    if (v->layout[v->size].pane[v->in].column == ML_NO_COLUMN)
        v->in = ML_PANE_LOOPS;
    ml_view_place(v);
}

void ml_do_columns(ml_View *v)
{
    v->columns = ml_pane_loops_columns(v);
    v->pane[ML_PANE_LOOPS].fresh = false;
}

void ml_view_follow_marks(ml_View *v, const char *name)
{
    int free_at = -1;

    for (int k = 0; k < ML_MAX_MARKED; k++) {
        if (!v->marked[k]) {
            free_at = free_at < 0 ? k : free_at;
            continue;
        }
        if (ml_streq(v->marked[k], name)) {
            ml_heap_free(v->marked[k]);
            v->marked[k] = NULL;
            v->pane[ML_PANE_PROGRAM].fresh = false;
            ml_view_say(v, "%s is not marked any more", name);
            return;
        }
    }
    if (free_at < 0) {
        ml_view_say(v,
                    "%d variables are marked already; * on one of them takes its mark "
                    "away, Esc all",
                    ML_MAX_MARKED);
        return;
    }
    v->marked[free_at] = ml_heap_text(name);
    v->pane[ML_PANE_PROGRAM].fresh = false;
    ml_view_say(v, "all occurrences of %s are marked", name);
}

void ml_do_occurrences(ml_View *v)
{
    if (!v->ss->focus || !v->node)
        ml_view_say(v, "no loop is selected");
    else
        ml_view_follow_marks(v, ml_view_name(v, v->node));
}

void ml_do_code(ml_View *v)
{
    ml_view_beside(v, (ml_Level)v->row->way);
}

void ml_do_redraw(ml_View *v)
{
    ml_view_stale(v);
}

/* ---- the end */

void ml_do_cancel(ml_View *v)
{
    bool any = v->search != NULL;
    const ml_Row *row = v->in == ML_PANE_JOBS && !any ? ml_view_row(v, v->in) : NULL;

    if (row && row->key && ml_job_stop(v->ss, job_of(row))) {
        ml_view_say(v, "job %s is asked to stop", row->key);
        return;
    }
    if (!any && ml_pane_touches_stop(v)) {
        ml_view_say(v, "counting is stopped; 8 goes on with it");
        return;
    }
    ml_heap_free(v->search);
    v->search = NULL;
    for (int k = 0; k < ML_MAX_MARKED; k++) {
        any = any || v->marked[k];
        ml_heap_free(v->marked[k]);
        v->marked[k] = NULL;
    }
    if (any)
        v->pane[ML_PANE_PROGRAM].fresh = false;
    else
        ml_view_say(v, "q leads back to the prompt, Q ends the program");
}

void ml_do_leave(ml_View *v)
{
    v->quit = true;
}

void ml_do_quit(ml_View *v)
{
    if (v->ss->n_done > 0 && ml_session_unsaved(v->ss) > 0 && !v->leaving) {
        ml_view_say(
            v, "%zu line%s of work %s not saved (:save FILE); Q again ends the program",
            v->ss->n_done, v->ss->n_done == 1 ? "" : "s",
            v->ss->n_done == 1 ? "is" : "are");
        v->leaving = true;
        return;
    }
    v->quit = v->end = true;
}

/* ---- pane 5 */

/* The version under the cursor against the current one. */
static void diff(ml_View *v)
{
    const ml_Row *row = ml_view_row(v, v->in);

    if (!row || row->version < 0) {
        ml_view_say(v, "no version is under the cursor");
        return;
    }
    if (row->version == ml_schedule_version(v->ss->focus)) {
        ml_view_say(v, "v%d is the current version", row->version);
        return;
    }
    bool typing = v->typing;

    v->typing = true;
    run_number(v, ":diff v", row->version);
    v->typing = typing;
}

/* ---- the table */

static const ml_RequestRow ROWS[ML_N_REQUESTS] = {
#define ML_KEY(id, pane, keys, label, help, ...)                                           \
    [ML_REQ_##id] = {.req = ML_REQ_##id, .fn = __VA_ARGS__},
#include "repl/view/keys/keys.def"
#undef ML_KEY
};

const ml_RequestRow *ml_view_requests(void)
{
    return ROWS;
}

void ml_view_request(ml_View *v, ml_Request r, int count)
{
    if (v->size == ML_SIZE_NONE && r != ML_REQ_LEAVE && r != ML_REQ_QUIT)
        return; /* nothing can be seen */
    if (v->in == ML_PANE_STEPS && r == ML_REQ_DECOMPOSE && v->ss->focus) {
        diff(v);
    } else if (ROWS[r].on) {
        v->typing = r == ML_REQ_COMMAND;
        ml_act_begin(v, r, count);
        v->typing = v->typing && ml_act_open(v);
    } else {
        v->row = &ROWS[r];
        v->count = count;
        v->row->fn(v);
    }
}
