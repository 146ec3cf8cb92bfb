/*
 * writer - what a terminal must be sent so that it shows a grid: the difference to what it
 * shows, as bytes. The panes and the dashboard have the whole screen; the prompt's line
 * stands among other text, of which nothing is known but where it begins. Source:
 * interaction 4, 10.
 */
#ifndef ML_REPL_SCREEN_WRITER_H
#define ML_REPL_SCREEN_WRITER_H

#include "repl/screen/terminal.h"

typedef struct ml_Writer {
    const ml_Terminal *to;
    bool
        among; /* other text: the first row is where the cursor was, and never scrolls off */
    bool valid; /* false: nothing is known; among text, the cursor is where a line begins */
    ml_Grid shown;
    int x, y;    /* the cursor; x -1: somewhere in its row */
    int rows;    /* among text: those that are there, and reached without scrolling */
    bool cursor; /* it shows */
} ml_Writer;

/* Appends what turns the screen into `next`; all of it when nothing is known of it. Among
 * text a grid must not be higher than the screen. false: it showed that already, but for
 * the cursor. */
bool ml_writer_show(ml_Writer *w, const ml_Grid *next, const ml_Theme *t, ml_Text *out);
/* Something else is on the screen now: nothing is known of it. */
void ml_writer_forget(ml_Writer *w);

/* Among text. Appends what removes the grid: the cursor is then where it began. */
void ml_writer_erase(ml_Writer *w, ml_Text *out);
/* Appends what goes to the row below it. */
void ml_writer_leave(ml_Writer *w, ml_Text *out);
/* A terminal of another width has folded the rows: what goes back to the first of them, and
 * removes them. */
void ml_writer_resized(ml_Writer *w, int width, ml_Text *out);

#endif
