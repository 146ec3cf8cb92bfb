/*
 * frame - what the files of the view share and panes need not know: layout, the page, the
 * mouse. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_STATE_FRAME_H
#define ML_REPL_VIEW_STATE_FRAME_H

#include "repl/view/state/layout.h"

typedef enum ml_Drag { ML_DRAG_NONE, ML_DRAG_BORDER, ML_DRAG_NODE } ml_Drag;

enum { ML_MAX_HOT = 64 };
typedef struct ml_Hot { /* a key on the bottom line, to be clicked at */
    int x, w;
    ml_Request r;
    const char *key; /* pressed when r is none: enter, esc */
} ml_Hot;

typedef struct ml_Frame {
    ml_Ctx *cx; /* of v->folded */
    ml_Layout layout[ML_N_SIZES];
    bool remembers; /* layouts are kept in a file */
    ml_SizeClass size;
    ml_Places places;
    bool zoomed;
    bool sync[ML_N_PANES];  /* the cursor goes to the selected node when rows are there */
    bool loose[ML_N_PANES]; /* scrolled by the wheel: the cursor need not be in sight */
    const ml_Schedule *shown;
    bool message_is_error;
    bool leaving; /* Q was pressed with work that is not saved */
    bool typing;  /* a line of the prompt: what it prints is shown whole */

    /* Whether a key waits, while something that is called `what` is `share` done; it may be
     * shown then. NULL: nobody presses keys. */
    bool (*pressed)(void *user, const char *what, double share);
    void *pressed_user;

    int count;            /* a digit that may be one; 0: none */
    ml_PaneId count_from; /* the pane that it was typed in */

    bool asking; /* what to search for */
    ml_Text ask;

    bool paging;
    ml_Rows page;
    ml_Text page_title;
    int page_top, page_left;

    ml_Drag drag;
    ml_PaneId drag_above; /* the border below it; NONE */
    int drag_column;      /* the border right of it; -1: none */
    int drag_x, drag_y;
    ml_Uid drag_node;

    ml_Hot hot[ML_MAX_HOT];
    size_t n_hot;
    int hot_y;
    ml_Rows line;     /* of the prompt row, while it is drawn */
    ml_Text share_of; /* the speed that share belongs to */
    double share;     /* of the measured peak; 0: not known */
} ml_Frame;

/* ---- scroll.c */
/* The rows of a pane, made anew when they are stale; the cursor finds its place again. */
const ml_Rows *ml_view_rows(ml_View *v, ml_PaneId id);
const ml_Row *ml_view_row(ml_View *v, ml_PaneId id); /* under the cursor; NULL: none */
/* Puts the cursor on a row of the pane (clipped) and selects what it stands for. */
void ml_view_go(ml_View *v, ml_PaneId id, int row);
/* Rows that fit; at least 1. */
int ml_view_room(const ml_View *v, ml_PaneId id);
/* Scrolls so that the cursor is in sight. */
void ml_view_in_sight(ml_View *v, ml_PaneId id);
void ml_view_scroll(ml_View *v, ml_PaneId id, int by);
void ml_view_fold(ml_View *v, ml_Uid node, bool fold);
bool ml_view_folded(const ml_View *v, ml_Uid node);
/* Whether the row is of the selected node: its own, or of something below it. */
bool ml_view_linked(const ml_View *v, const ml_Row *row);

/* ---- layout_file.c */
void ml_view_layout_load(ml_View *v);
void ml_view_layout_save(ml_View *v);

#endif
