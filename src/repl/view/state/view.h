/*
 * view - the visualiser: panes over a session, driven by requests.
 *
 * One selected node (a loop or a block of the focus's current version) is shared by all
 * panes. Every request that changes the schedule becomes one line of Lua, run by
 * ml_run as if it had been typed. The view knows of no terminal: it is told keys,
 * clicks and sizes, and draws into a grid. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_STATE_VIEW_H
#define ML_REPL_VIEW_STATE_VIEW_H

#include "repl/session/frame.h"
#include "repl/view/state/layout.h"
#include "repl/view/state/rows.h"

typedef struct ml_View ml_View;

/* ---- what is asked for: the rows of keys.def */
enum { ML_ON_LOOP = 1, ML_ON_BLOCK = 2, ML_ON_BOTH = 3, ML_ON_ANYWHERE = 4 };
typedef struct ml_RequestRow ml_RequestRow;
/* Does v->row, v->count times where that means something. */
typedef void ml_RequestDo(ml_View *v);
struct ml_RequestRow {
    ml_Request req;
    ml_RequestDo *fn;
    int way;           /* of requests that share a function: -1, 1, a level */
    uint8_t on;        /* ML_ON_...: it schedules, and what it works on; 0: it only looks */
    const char *prim;  /* what it comes to, or NULL */
    const char *line;  /* of the prompt, or NULL */
    bool again;        /* `.` begins it anew; else it asks for something */
    const char *brief; /* the label where there is little room; NULL: the same */
    bool kept;         /* on the bottom line as long as there is room for any */
    uint8_t rank[3]; /* among what applies, 1 first: of loops, of blocks, without either */
};
#define ML_KEY(id, pane, keys, label, help, fn, ...) ml_RequestDo fn;
#include "repl/view/keys/keys.def"
#undef ML_KEY

typedef enum ml_Level { /* what pane 2 shows */
                        ML_LEVEL_PROGRAM,
                        ML_LEVEL_LOWERED,
                        ML_LEVEL_LLVM,
                        ML_LEVEL_ASM,
                        ML_N_LEVELS
} ml_Level;

typedef enum ml_Drag { ML_DRAG_NONE, ML_DRAG_BORDER, ML_DRAG_NODE } ml_Drag;

enum { ML_MAX_HOT = 64 };
typedef struct ml_Hot { /* a key on the bottom line, to be clicked at */
    int x, w;
    ml_Request r;
    const char *key; /* pressed when r is none: enter, esc */
} ml_Hot;

typedef struct ml_PaneState {
    ml_Rows rows;
    bool fresh;      /* rows show what there is */
    int cursor, top; /* rows */
    int left;        /* columns */
    bool sync;       /* the cursor goes to the selected node when rows are there */
    bool loose;      /* scrolled by the wheel: the cursor need not be in sight */
    ml_Rect at;      /* on the screen, without the border; w 0: not shown */
} ml_PaneState;

enum { ML_MAX_MARKED = 7 };

struct ml_View {
    ml_Session *ss;
    ml_PaneState pane[ML_N_PANES];
    ml_PaneId in; /* the pane that keys go to */
    ml_Uid node;  /* selected loop or block; 0: the function */
    int version;  /* that the selection is of; see ml_view_follow */
    ml_Level level;
    ml_Level beside; /* code that stands beside the program; PROGRAM: none */
    int columns;     /* pane 1: footprint, flops, measured share */
    ML_VEC(ml_Uid) folded;
    char *marked[ML_MAX_MARKED];     /* variables whose occurrences are marked; owned */
    char *search;                    /* owned; NULL: none */
    bool uncounted;                  /* pane 8 counts nothing until it is chosen again */
    struct ml_Act *act;              /* what is being asked: act.h */
    struct ml_PaneKept *kept;        /* what panes work out once: panes.h; NULL: nothing */
    ml_Text log;                     /* what lines and programs printed, the newest of it */
    ml_Text lua;                     /* the line just executed */
    ml_Text message;                 /* one line for the message row */
    bool quit, end;                  /* back to the prompt; end of the program */
    const ml_RequestRow *requests;   /* by request */
    const ml_RequestRow *row;        /* that is asked for */
    int count;                       /* so many times */
    const struct ml_PaneKind *kinds; /* by pane */
    ml_Grid grid;
    ml_Ctx *cx; /* of folded */

    ml_Layout layout[ML_N_SIZES];
    ml_SizeClass size;
    ml_Want want[ML_N_PANES];
    bool wanted[ML_N_PANES]; /* want is what the pane wants now */
    bool placed;             /* by what panes want now */
    ml_Places places;
    bool zoomed;
    const ml_Schedule *shown;
    bool message_is_error;
    bool leaving; /* Q was pressed with work that is not saved */
    bool typing;  /* a line of the prompt: what it prints is shown whole */

    /* Whether a key waits, while something that is called `what` is `share` done; it may be
     * shown then. NULL: nobody presses keys. */
    bool (*pressed)(void *user, const char *what, double share);
    void *pressed_user;

    bool busy; /* a line is at work: rows stay as they were before it */

    int digit;            /* that may be a count; 0: none */
    ml_PaneId digit_from; /* the pane that it was typed in */

    bool asking; /* what to search for */
    ml_Text ask;

    bool paging;
    bool page_is_help; /* the key that opened it closes it */
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
};

/* ---- panes: each file of pane/ has one of these. It adds all its rows; r is empty and
 * v->pane[id].at tells the size. Nothing is computed that takes more than some
 * milliseconds: what takes longer is a job whose result the pane shows when it is in. */
typedef void ml_PaneRows(ml_View *v, ml_Rows *r);
/* The room that the rows of any node take, of any size of the pane. r is empty, to be
 * measured by; *out is zero, and stays so without a program. */
typedef void ml_PaneWants(ml_View *v, ml_Rows *r, ml_Want *out);
typedef struct ml_PaneKind {
    ml_PaneRows *rows;
    bool by_node; /* its rows depend on the selected node */
    ml_PaneWants *wants;
    /* The title behind the name, "C_update"; may be NULL. */
    void (*title)(ml_View *v, ml_Text *out);
} ml_PaneKind;

/* ---- code beside the program (beside.c) */
/* Whether the screen is wide enough; where it is not, it takes the program's place. */
bool ml_view_beside_fits(const ml_View *v);
ml_Level ml_view_level(const ml_View *v);  /* what pane 2 shows */
ml_Level ml_view_coding(const ml_View *v); /* the level that code is made for */
/* Shows it, or when it is shown takes it away. */
void ml_view_beside(ml_View *v, ml_Level level);
/* The line that rows of the program and of the code are marked by: the cursor's, of the
 * pane of the two that has it; 0: they are marked by the selected node. */
uint32_t ml_view_tied(ml_View *v);
ml_PaneId ml_view_other(ml_PaneId id); /* of the two; NONE: it is none of them */

/* ---- what is selected, which panes there are (state.c) */
void ml_view_resize(ml_View *v, int w, int h);
void ml_view_place(ml_View *v); /* boxes of panes, from layout, size and what they want */
void ml_view_show_pane(ml_View *v, ml_PaneId id); /* and goes there */
/* The selected loop or block, or another one; NULL: the current version has none such. */
const ml_Stmt *ml_view_stmt(const ml_View *v, ml_Uid node);
/* The function that is looked at: the one that names mean, else that of the selection. */
uint32_t ml_view_func(const ml_View *v);
/* The name of a loop or block of the current version; where names do not reach (functions
 * without blocks), the one that is printed. */
const char *ml_view_name(const ml_View *v, ml_Uid node);
/* Selects a node and lets all panes show it; unknown ones are left alone. */
void ml_view_select(ml_View *v, ml_Uid node);
/* After steps, undo, goto: the selection moves on to what became of it, rows are stale. */
void ml_view_follow(ml_View *v);
/* All rows are stale: something that they show has changed. */
void ml_view_stale(ml_View *v);
/* The rows of a pane are stale, and it may want more room or less. */
void ml_view_pane_stale(ml_View *v, ml_PaneId id);

/* ---- lines, and what is said (run.c) */
/* Runs a line of Lua or a command as if typed; call: applied in its place, or NULL. The
 * message is the step that it made or the error, else what it printed first; all it printed
 * goes to the log of pane 7. false: it failed. */
bool ml_view_run(ml_View *v, const char *line, const ml_RunCall *call);
/* The message row says this until the next key. */
void ml_view_say(ml_View *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* More lines for the log of pane 7: what programs and libraries printed. */
void ml_view_log(ml_View *v, const char *text, size_t n);
/* What a command (without its colon) prints, as a page. */
void ml_view_page_of(ml_View *v, const char *command, const char *title);
/* A page without rows yet, over the panes until Esc. */
void ml_view_page_text(ml_View *v, const char *title, const char *text); /* its lines */
ml_Rows *ml_view_page_open(ml_View *v, const char *title);

/* ---- scroll.c */
/* The rows of a pane, made anew when they are stale; the cursor finds its place again. */
const ml_Rows *ml_view_rows(ml_View *v, ml_PaneId id);
const ml_Row *ml_view_row(ml_View *v, ml_PaneId id); /* under the cursor; NULL: none */
/* Puts the cursor on a row of the pane (clipped) and selects what it stands for. */
void ml_view_go(ml_View *v, ml_PaneId id, int row);
/* Rows that stay at the top of the pane; rows that fit below them, at least 1; the row that
 * stands y rows below the top. */
int ml_view_head(const ml_View *v, ml_PaneId id);
int ml_view_room(const ml_View *v, ml_PaneId id);
int ml_view_row_at(const ml_View *v, ml_PaneId id, int y);
void ml_view_scroll(ml_View *v, ml_PaneId id, int by);
void ml_view_fold(ml_View *v, ml_Uid node, bool fold);
/* Whether the row is of the selected node: its own, or of something below it. */
bool ml_view_linked(const ml_View *v, const ml_Row *row);

/* ---- layout_file.c */
void ml_view_layout_load(ml_View *v);
void ml_view_layout_save(ml_View *v);

#endif
