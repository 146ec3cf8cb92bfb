/*
 * panes - what the files of the panes share: the program that is shown, what was worked out
 * about it, rows that say that there is nothing.
 *
 * What takes longer than a moment is worked out once for a version and kept here, in memory
 * of its own: nodes of a program are good until the next step only (schedule.h), numbers
 * and names for ever. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_PANE_PANES_H
#define ML_REPL_VIEW_PANE_PANES_H

#include "repl/view/state/view.h"

/* What is shown: the focus at its current version. */
typedef struct ml_Shown {
    ml_Schedule *s;
    int version;
    ml_Program p;
    const ml_Names *names;
} ml_Shown;
/* false: there is no focus, and a row says what to do about it. */
bool ml_pane_shows(ml_View *v, ml_Rows *r, ml_Shown *sh);
/* The program that the last step was made from; false: it is not there. */
bool ml_pane_before(const ml_Shown *sh, ml_Program *out);
/* The selected node, when it is in the program that is shown; else NULL. */
const ml_Stmt *ml_pane_selected(const ml_View *v, const ml_Shown *sh);
/* The name of a loop, block or buffer as it is typed; "?" without one. */
const char *ml_pane_name(const ml_Shown *sh, ml_Uid uid);
/* Loops of functions without blocks have no such names: then the one that is printed. */
const char *ml_pane_loop_name(const ml_Shown *sh, const ml_For *f);
/* An expression as people read it, in r's context. */
const char *ml_pane_expr(ml_Rows *r, const ml_Shown *sh, const ml_Expr *e);
/* The nests that are shown, one statement each, in the order of the text; at most 64. */
void ml_pane_nests(ml_Ctx *cx, const ml_Shown *sh, ml_StmtVec *out);
/* Rows and columns at least those of r, but no more than `most` columns. */
void ml_want_rows(ml_Want *w, const ml_Rows *r, int most);
ml_CellRole ml_loop_role(ml_ForKind kind);
/* A sentence instead of rows, folded to the pane. */
void ml_pane_say(ml_View *v, ml_Rows *r, ml_PaneId id, ml_CellRole role, const char *text);
/* Columns of the pane for the text of rows; 38 when it is not on the screen. */
int ml_pane_width(const ml_View *v, ml_PaneId id);

/* ---- what is kept */
/* Something that is known of one version: the first member of what is kept. */
typedef struct ml_PaneMemo ml_PaneMemo;
struct ml_PaneMemo {
    ml_PaneMemo *next; /* those that were asked for last in front */
    ml_Ctx *cx;        /* holds all of it */
    ml_Schedule *s;
    int version;
    uint32_t key; /* which of several */
};
struct ml_PaneKept {
    unsigned jobs_changes;     /* that the panes have seen */
    ml_PaneMemo *counts;       /* counts.c */
    ml_PaneMemo *touches;      /* touches.c */
    ml_PaneMemo *texts;        /* text.c */
    struct ml_NestWant *nests; /* wants.c; NULL: none */
    void *compiling;           /* one of these, which a worker is at; or NULL */
};
struct ml_PaneKept *ml_pane_kept(ml_View *v);
/* What is kept of the version, in front; *made: it is new, `size` zero bytes, and one too
 * many for `most` is gone. */
void *ml_pane_memo(ml_View *v, ml_PaneMemo **list, ml_Schedule *s, int version,
                   uint32_t key, size_t size, size_t most, bool *made);

extern const ml_PaneKind ml_panes[ML_N_PANES]; /* panes.def */
/* Some of the work that panes wait for; true: there is more. A pane whose rows it changes
 * is not fresh afterwards. */
bool ml_panes_idle(ml_View *v, int ms);
void ml_panes_free(ml_View *v); /* what they keep */
#define ML_PANE(id, title, rows, by_node, wants, ...)                                      \
    ml_PaneRows rows;                                                                      \
    ml_PaneWants wants;
#include "repl/view/keys/panes.def"
#undef ML_PANE
/* The columns that pane 1 shows after | was pressed: all, or one after the other. */
int ml_pane_loops_columns(const ml_View *v);
void ml_pane_program_title(ml_View *v, ml_Text *out);
void ml_pane_node_title(ml_View *v, ml_Text *out); /* the selected node's name */

#endif
