/*
 * request - what requests do that only look: moving, folding, panes, versions to go to.
 * Those that schedule are act.c's. One table says which function does which.
 * Source: interaction 10.
 */
#include "repl/view/frame.h"
#include "repl/view/keymap.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "repl/job/jobs.h"
#include "repl/view/pane/touches.h"

static void move(ml_View *v, int by)
{
    ml_view_rows(v, v->in); /* the cursor may be on its way to another row */
    ml_view_go(v, v->in, v->pane[v->in].cursor + by);
}

static void up(ml_View *v, int count)
{
    move(v, -count);
}

static void down(ml_View *v, int count)
{
    move(v, count);
}

static void page_up(ml_View *v, int count)
{
    (void)count;
    ml_view_rows(v, v->in);
    v->pane[v->in].top -= ml_view_room(v, v->in);
    move(v, -ml_view_room(v, v->in));
}

static void page_down(ml_View *v, int count)
{
    (void)count;
    ml_view_rows(v, v->in);
    v->pane[v->in].top += ml_view_room(v, v->in);
    move(v, ml_view_room(v, v->in));
}

static void home(ml_View *v, int count)
{
    (void)count;
    ml_view_go(v, v->in, 0);
}

static void end(ml_View *v, int count)
{
    (void)count;
    ml_view_go(v, v->in, (int)ml_view_rows(v, v->in)->v.n - 1);
}

static void run_number(ml_View *v, const char *command, int number)
{
    ml_Text t = {0};

    ml_text_fmt(&t, "%s%d", command, number);
    ml_view_run(v, ml_text_z(&t));
    ml_text_free(&t);
}

static int job_of(const ml_Row *row)
{
    return (int)strtol(row->key, NULL, 10);
}

static void open_row(ml_View *v, int count)
{
    const ml_Row *row = ml_view_row(v, v->in);

    (void)count;
    if (!row)
        return;
    if (row->version >= 0) {
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

static void unfold(ml_View *v, int count)
{
    (void)count;
    ml_view_unfold_row(v);
}

static void fold(ml_View *v, int count)
{
    (void)count;
    ml_view_fold_row(v);
}

/* ---- panes */

static void next_level(ml_View *v)
{
    v->level = (ml_Level)((ml_view_level(v) + 1) % ML_N_LEVELS);
    v->beside = ML_LEVEL_PROGRAM;
    v->pane[ML_PANE_PROGRAM].fresh = false;
    v->pane[ML_PANE_PROGRAM].left = 0;
    v->frame->sync[ML_PANE_PROGRAM] = true;
}

/* The pane that follows among those that can be seen, or among all when one is alone. */
static void step_pane(ml_View *v, int by)
{
    static const ml_PaneId ORDER[] = {ML_PANE_LOOPS, ML_PANE_PROGRAM,  ML_PANE_CODE,
                                      ML_PANE_BLOCK, ML_PANE_DATAFLOW, ML_PANE_STEPS,
                                      ML_PANE_PERF,  ML_PANE_JOBS,     ML_PANE_MEMORY};
    bool alone = v->frame->zoomed || v->frame->size <= ML_SIZE_ONE;
    size_t n = ML_COUNT(ORDER), at = 0;

    while (at < n - 1 && ORDER[at] != v->in)
        at++;
    for (size_t k = 1; k < n; k++) {
        at = (at + (by > 0 ? 1 : n - 1)) % n;
        if (v->frame->places.box[ORDER[at]].w > 0 || (alone && ORDER[at] != ML_PANE_CODE))
            break;
    }
    v->in = ORDER[at];
    ml_view_place(v);
}

static void next_pane(ml_View *v, int count)
{
    (void)count;
    if (v->in == ML_PANE_PROGRAM && v->frame->places.box[ML_PANE_CODE].w == 0)
        next_level(v);
    else
        step_pane(v, 1);
}

static void prev_pane(ml_View *v, int count)
{
    (void)count;
    step_pane(v, -1);
}

static void pane(ml_View *v, int count)
{
    ml_view_show_pane(v, (ml_PaneId)count);
}

static void toggle_pane(ml_View *v, int count)
{
    ml_Frame *f = v->frame;

    if (count < 1 || count >= ML_N_PANES || !ml_panes[count].rows)
        ml_view_say(v, "pane %d comes with a later version", count);
    else if (f->size <= ML_SIZE_ONE)
        ml_view_show_pane(v, (ml_PaneId)count);
    else if (!ml_layout_toggle(&f->layout[f->size], (ml_PaneId)count))
        ml_view_say(v, "this is the only pane that is shown");
    else {
        f->zoomed = false;
        for (int id = 1; f->layout[f->size].pane[v->in].column == ML_NO_COLUMN; id++)
            v->in = (ml_PaneId)id;
        ml_view_place(v);
    }
}

static void zoom(ml_View *v, int count)
{
    (void)count;
    if (v->frame->size <= ML_SIZE_ONE)
        ml_view_say(v, "under 80x24 there is one pane at a time; its number shows it");
    else
        v->frame->zoomed = !v->frame->zoomed;
    ml_view_place(v);
}

/* One row and two columns more (less), where there is a neighbour to take them from. */
static void resize(ml_View *v, int by)
{
    ml_Frame *f = v->frame;
    ml_Layout *l = &f->layout[f->size];

    if (f->size <= ML_SIZE_ONE || f->zoomed) {
        ml_view_say(v, "one pane alone cannot be made larger or smaller");
        return;
    }
    for (int c = 0; c < f->places.n_columns; c++)
        for (int k = 0; k < f->places.column[c].n; k++) {
            if (f->places.column[c].pane[k] != v->in)
                continue;
            if (k + 1 < f->places.column[c].n)
                ml_layout_move_row(l, &f->places, v->in, by);
            else if (k > 0)
                ml_layout_move_row(l, &f->places, f->places.column[c].pane[k - 1], -by);
            if (c + 1 < f->places.n_columns)
                ml_layout_move_column(l, &f->places, c, 2 * by);
            else
                ml_layout_move_column(l, &f->places, c - 1, -2 * by);
        }
    ml_view_place(v);
}

static void grow(ml_View *v, int count)
{
    resize(v, count);
}

static void shrink(ml_View *v, int count)
{
    resize(v, -count);
}

static void reset(ml_View *v, int count)
{
    (void)count;
    ml_layout_usual(&v->frame->layout[v->frame->size], v->frame->size);
    v->frame->layout[v->frame->size].changed = true;
    v->frame->zoomed = false;
    if (v->frame->layout[v->frame->size].pane[v->in].column == ML_NO_COLUMN)
        v->in = ML_PANE_LOOPS;
    ml_view_place(v);
}

static void columns(ml_View *v, int count)
{
    (void)count;
    v->columns = ml_pane_loops_columns(v);
    v->pane[ML_PANE_LOOPS].fresh = false;
}

static void occurrences(ml_View *v, int count)
{
    (void)count;
    if (!v->ss->focus || !v->node)
        ml_view_say(v, "no loop is selected");
    else
        ml_view_follow_marks(v, ml_view_name(v, v->node));
}

static void assembly(ml_View *v, int count)
{
    (void)count;
    ml_view_beside(v, ML_LEVEL_ASM);
}

static void llvm(ml_View *v, int count)
{
    (void)count;
    ml_view_beside(v, ML_LEVEL_LLVM);
}

static void redraw(ml_View *v, int count)
{
    (void)count;
    ml_view_stale(v);
}

/* ---- searching, help, the end */

static void search_begin(ml_View *v, int count)
{
    (void)count;
    ml_view_search_begin(v);
}

static void search_next(ml_View *v, int count)
{
    (void)count;
    ml_view_search_next(v, 1);
}

static void search_prev(ml_View *v, int count)
{
    (void)count;
    ml_view_search_next(v, -1);
}

static void help(ml_View *v, int count)
{
    (void)count;
    ml_view_help(v);
}

static void cancel(ml_View *v, int count)
{
    bool any = v->search != NULL;
    const ml_Row *row = v->in == ML_PANE_JOBS && !any ? ml_view_row(v, v->in) : NULL;

    (void)count;
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
        ml_heap_free(v->frame->marked[k]);
        v->marked[k] = v->frame->marked[k] = NULL;
    }
    if (any)
        v->pane[ML_PANE_PROGRAM].fresh = false;
    else
        ml_view_say(v, "q leads back to the prompt, Q ends the program");
}

static void leave(ml_View *v, int count)
{
    (void)count;
    v->quit = true;
}

static void quit(ml_View *v, int count)
{
    (void)count;
    if (v->ss->n_done > 0 && ml_session_unsaved(v->ss) > 0 && !v->frame->leaving) {
        ml_view_say(
            v, "%zu line%s of work %s not saved (:save FILE); Q again ends the program",
            v->ss->n_done, v->ss->n_done == 1 ? "" : "s",
            v->ss->n_done == 1 ? "is" : "are");
        v->frame->leaving = true;
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
    bool typing = v->frame->typing;

    v->frame->typing = true;
    run_number(v, ":diff v", row->version);
    v->frame->typing = typing;
}

/* ---- the table */

static const struct {
    ml_Request r;
    void (*fn)(ml_View *v, int count);
} TABLE[] = {
    {ML_REQ_UP, up},
    {ML_REQ_DOWN, down},
    {ML_REQ_PAGE_UP, page_up},
    {ML_REQ_PAGE_DOWN, page_down},
    {ML_REQ_HOME, home},
    {ML_REQ_END, end},
    {ML_REQ_OPEN, open_row},
    {ML_REQ_UNFOLD, unfold},
    {ML_REQ_FOLD, fold},
    {ML_REQ_NEXT_PANE, next_pane},
    {ML_REQ_PREV_PANE, prev_pane},
    {ML_REQ_PANE, pane},
    {ML_REQ_TOGGLE_PANE, toggle_pane},
    {ML_REQ_SEARCH, search_begin},
    {ML_REQ_SEARCH_NEXT, search_next},
    {ML_REQ_SEARCH_PREV, search_prev},
    {ML_REQ_ZOOM, zoom},
    {ML_REQ_GROW, grow},
    {ML_REQ_SHRINK, shrink},
    {ML_REQ_RESET, reset},
    {ML_REQ_COLUMNS, columns},
    {ML_REQ_OCCURRENCES, occurrences},
    {ML_REQ_REDRAW, redraw},
    {ML_REQ_ASM, assembly},
    {ML_REQ_LLVM, llvm},
    {ML_REQ_HELP, help},
    {ML_REQ_CANCEL, cancel},
    {ML_REQ_LEAVE, leave},
    {ML_REQ_QUIT, quit},
};

void ml_view_request(ml_View *v, ml_Request r, int count)
{
    if (v->frame->size == ML_SIZE_NONE && r != ML_REQ_LEAVE && r != ML_REQ_QUIT)
        return; /* nothing can be seen */
    if (v->in == ML_PANE_STEPS && r == ML_REQ_DECOMPOSE && v->ss->focus) {
        diff(v);
        return;
    }
    for (size_t k = 0; k < ML_COUNT(TABLE); k++)
        if (TABLE[k].r == r) {
            TABLE[k].fn(v, count);
            return;
        }
    v->frame->typing = r == ML_REQ_COMMAND;
    if (!ml_act_begin(v, r, count))
        ml_view_say(v, "%s comes with a later version", ml_key_info[r].help);
    if (!ml_act_open(v))
        v->frame->typing = false;
}
