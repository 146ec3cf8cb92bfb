/*
 * view - the visualiser: panes over a session, driven by requests.
 *
 * One selected node (a loop or a block of the focus's current version) is shared by all
 * panes. Every request that changes the schedule becomes one line of Lua, run by
 * ml_run as if it had been typed. The view knows of no terminal: it is told keys,
 * clicks and sizes, and draws into a grid. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_VIEW_H
#define ML_REPL_VIEW_VIEW_H

#include "repl/session/session.h"
#include "repl/view/rows.h"

typedef enum ml_PaneId { /* the numbers that are typed */
                         ML_PANE_NONE,
                         ML_PANE_LOOPS,
                         ML_PANE_PROGRAM,
                         ML_PANE_BLOCK,
                         ML_PANE_DATAFLOW,
                         ML_PANE_STEPS,
                         ML_PANE_PERF,
                         ML_PANE_JOBS,
                         ML_PANE_MEMORY,
                         ML_PANE_LOOPTREE, /* 9: comes with LoopTune */
                         ML_PANE_CODE,     /* no number: code beside the program */
                         ML_N_PANES
} ml_PaneId;

/* What a key asks for: keys.def. */
typedef enum ml_Request {
#define ML_KEY(id, ...) ML_REQ_##id,
#include "repl/view/keys.def"
#undef ML_KEY
    ML_N_REQUESTS,
    ML_REQ_NONE = ML_N_REQUESTS
} ml_Request;

/* A key as the terminal gives it: a character (UTF-8), or a name in `name` ("up", "S-up",
 * "enter", "esc", "tab", "S-tab", "C-r", "M-3", "pgup", "f1", "backspace", "del"). */
typedef struct ml_Key {
    char ch[8];       /* "" for a named key */
    const char *name; /* NULL for a character */
} ml_Key;

typedef enum ml_Level { /* what pane 2 shows */
                        ML_LEVEL_PROGRAM,
                        ML_LEVEL_LOWERED,
                        ML_LEVEL_LLVM,
                        ML_LEVEL_ASM,
                        ML_N_LEVELS
} ml_Level;

typedef struct ml_PaneState {
    ml_Rows rows;
    bool fresh;      /* rows show what there is */
    int cursor, top; /* rows */
    int left;        /* columns */
    ml_Rect at;      /* on the screen, without the border; w 0: not shown */
} ml_PaneState;

enum { ML_MAX_MARKED = 7 };

typedef struct ml_View {
    ml_Session *ss;
    ml_PaneState pane[ML_N_PANES];
    ml_PaneId in; /* the pane that keys go to */
    ml_Uid node;  /* selected loop or block; 0: the function */
    int version;  /* that the selection is of; see ml_view_follow */
    ml_Level level;
    ml_Level beside; /* code that stands beside the program; PROGRAM: none */
    int columns;     /* pane 1: footprint, flops, measured share */
    ML_VEC(ml_Uid) folded;
    const char *marked[ML_MAX_MARKED]; /* variables whose occurrences are marked; owned */
    char *search;                      /* owned; NULL: none */
    struct ml_Act *act;                /* what is being asked: act.h */
    struct ml_PaneKept *kept; /* what panes work out once: panes.h; NULL: nothing */
    struct ml_Frame *frame;   /* layout, what is open: frame.h; NULL: rows alone */
    ml_Text log;              /* what lines and programs printed, the newest of it */
    ml_Text lua;              /* the line just executed */
    ml_Text message;          /* one line for the message row */
    bool quit, end;           /* back to the prompt; end of the program */
    ml_Grid grid;
} ml_View;

/* ---- panes: each file pane_NAME.c has one of these. It adds all its rows; r is empty and
 * v->pane[id].at tells the size. Nothing is computed that takes more than some
 * milliseconds: what takes longer is a job whose result the pane shows when it is in. */
typedef void ml_PaneRows(ml_View *v, ml_Rows *r);
typedef struct ml_PaneKind {
    ml_PaneId id;
    const char *name; /* "Loops" */
    ml_PaneRows *rows;
    bool by_node; /* its rows depend on the selected node */
    /* The title behind the name, "C_update"; may be NULL. */
    void (*title)(ml_View *v, ml_Text *out);
} ml_PaneKind;
extern const ml_PaneKind ml_panes[ML_N_PANES]; /* panes.c, from panes.def */
/* Some of the work that panes wait for; true: there is more. A pane whose rows it changes
 * is not fresh afterwards. */
bool ml_panes_idle(ml_View *v, int ms);
void ml_panes_free(ml_View *v); /* what they keep */

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

/* ---- the view itself (view.c) */
void ml_view_init(ml_View *v, ml_Session *ss, int w, int h, bool ascii);
void ml_view_free(ml_View *v);
void ml_view_resize(ml_View *v, int w, int h);
/* A key, through whatever is open (a prompt line, a menu) to keys.def. */
void ml_view_key(ml_View *v, const ml_Key *k);
typedef enum ml_MouseKind {
    ML_MOUSE_PRESS,
    ML_MOUSE_RELEASE,
    ML_MOUSE_DRAG,
    ML_MOUSE_DOUBLE,
    ML_MOUSE_WHEEL_UP,
    ML_MOUSE_WHEEL_DOWN
} ml_MouseKind;
void ml_view_mouse(ml_View *v, ml_MouseKind kind, int x, int y);
/* Does some waiting work (applicability, previews, rows that are not fresh) for at most
 * `ms`; true: there is more. */
bool ml_view_idle(ml_View *v, int ms);
/* What takes tenths of a second is done when the keys have rested: whether there is some,
 * and a piece of it (true: there is more). A key ends it: frame.h, pressed. */
bool ml_view_rests(ml_View *v);
bool ml_view_rest(ml_View *v);
/* Draws everything into v->grid. */
void ml_view_draw(ml_View *v);
/* Does what a request asks, `count` times where that means something. */
void ml_view_request(ml_View *v, ml_Request r, int count);
/* The function that is looked at: the one that names mean, else that of the selection. */
uint32_t ml_view_func(const ml_View *v);
/* The name of a loop or block of the current version; where names do not reach (functions
 * without blocks), the one that is printed. */
const char *ml_view_name(const ml_View *v, ml_Uid node);
/* Selects a node and lets all panes show it; unknown ones are left alone. */
void ml_view_select(ml_View *v, ml_Uid node);
/* After steps, undo, goto: the selection moves on to what became of it, rows are stale. */
void ml_view_follow(ml_View *v);
/* Runs a line of Lua or a command as if typed; what it prints becomes the message (first
 * line) and goes to the log of pane 7. false: it failed. */
bool ml_view_run(ml_View *v, const char *line);
/* The message row says this until the next key; as an error: in its role. */
void ml_view_say(ml_View *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ml_view_say_error(ml_View *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* More lines for the log of pane 7: what programs and libraries printed. */
void ml_view_log(ml_View *v, const char *text, size_t n);
/* Text to be read, over the panes, until Esc. */
void ml_view_page(ml_View *v, const char *title, const char *text);
/* All rows are stale: something that they show has changed. */
void ml_view_stale(ml_View *v);

#endif
