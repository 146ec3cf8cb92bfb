/* line_impl - what the files of the line share. Readline and signals keep their state in
 * globals; what belongs to them stands beside them in one struct. */
#ifndef ML_REPL_LINE_LINE_IMPL_H
#define ML_REPL_LINE_LINE_IMPL_H

#include "repl/line/line.h"

typedef struct ml_LineState {
    ml_Session *ss;
    bool editor;      /* Readline is in use; line_draw shows the line */
    bool reading;     /* a line is being edited: its row is on the screen */
    bool more;        /* it continues an entry: alone it means nothing */
    bool resumed;     /* shown again after Ctrl-Z, and no key since */
    int inputrc_mode; /* rl_editing_mode as ~/.inputrc wants it */
    int signal_fd;    /* can be read when a signal has come */
} ml_LineState;
extern ml_LineState ml_line_io;

/* ---- line.c */
void ml_line_take_signals(void);
void ml_line_give_signals(void);
/* Waits until there is something to read; false: a signal came, or something else was
 * served. */
bool ml_line_wait(bool *interrupted);
/* Whether Ctrl-Z can stop the program; if not, the reason was announced. */
bool ml_line_may_stop(void);
/* Stops the program as its parent expects it. */
void ml_line_stop(void);

/* ---- line_editor.c: Readline */
/* false: it cannot be used on this terminal. */
bool ml_editor_start(void);
/* The next line; NULL: the end, or *interrupted. */
char *ml_editor_read(const char *prompt, bool *interrupted);
void ml_editor_signal(int sig);
void ml_editor_end(void);

/* ---- line_draw.c: showing it */
bool ml_draw_can(void);   /* on this terminal */
void ml_draw_begin(void); /* a new line, wherever the cursor is */
void ml_draw(void);       /* Readline's redisplay function */
/* The line is over: text as it was accepted, without hints, then tail. */
void ml_draw_end(const char *text, const char *tail);
void ml_draw_erase(void); /* what is written next stands in its place */
void ml_draw_below(void); /* what is written next stands below it */
void ml_draw_clear(bool scrollback);
void ml_draw_resized(void);
void ml_draw_announce(const char *text, void *user);
/* What the suggestion adds to the text, or NULL. */
const char *ml_draw_suggestion(void);
void ml_draw_free(void);
void ml_terminal_write(const char *p, size_t n);

/* ---- line_complete.c */
void ml_line_complete_start(void);
void ml_line_complete_end(void);
int ml_line_complete(int count, int key); /* in the place of rl_complete */
/* A list of factors that was put there stands at the end of the line. */
bool ml_line_cycling(void);

#endif
