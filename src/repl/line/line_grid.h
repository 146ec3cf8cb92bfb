/*
 * line_grid - the line that is being typed as cells: prompt, text, suggestion, hints; and
 * the difference between two such pictures as what a terminal must be sent.
 *
 * Knows nothing of Readline. A picture is never higher than the screen, so that its first
 * row is reached by moving up. Source: interaction 4.
 */
#ifndef ML_REPL_LINE_LINE_GRID_H
#define ML_REPL_LINE_LINE_GRID_H

#include "core/vec.h"
#include "repl/screen/spans.h"
#include "repl/screen/theme.h"

typedef struct ml_LineHint { /* a row below the line; n_spans parts in other roles */
    const char *text;        /* NULL: none */
    const ml_RoleSpan *spans;
    size_t n_spans;
} ml_LineHint;

enum { ML_LINE_HINTS = 2 };
typedef struct ml_LineView {
    const char *prompt; /* colours in it are kept; what stands behind \001 \002 is known */
    const char *text;
    size_t n, cursor;
    size_t mark_from, mark_to; /* a part that is marked; equal: none */
    const ml_RoleSpan *spans;  /* roles of the text */
    size_t n_spans;
    const char *suggestion; /* behind the text, or NULL */
    ml_LineHint hints[ML_LINE_HINTS];
    bool ascii;
} ml_LineView;

typedef struct ml_LinePicture {
    ml_Grid g; /* with the cursor; h rows, of which the hints are the last */
    /* The prompt's own escape sequences: per cell a number, 0: none. */
    uint8_t *sgr;
    ml_Text sgrs[8];
    int n_hints; /* rows of hints that had room */
} ml_LinePicture;

/* Draws into a screen of w x h; *out is empty before (ml_line_picture_free). */
void ml_line_draw(const ml_LineView *v, int w, int h, ml_LinePicture *out);
void ml_line_picture_free(ml_LinePicture *p);

/* What stands on the screen, and where the terminal's cursor is within it. */
typedef struct ml_LineScreen {
    ml_LinePicture shown;
    bool valid; /* false: nothing is shown, the cursor is where a line begins */
    int x, y;   /* x -1: somewhere in its row */
    int rows;   /* rows that can be reached without scrolling */
} ml_LineScreen;

/* Appends to out what turns the screen into `next`, which is taken over. */
void ml_line_update(ml_LineScreen *s, ml_LinePicture *next, const ml_Theme *t,
                    ml_Text *out);
/* Appends what removes it: the cursor is then where it began. */
void ml_line_erase(ml_LineScreen *s, ml_Text *out);
/* Appends what goes to the row below it. */
void ml_line_leave(ml_LineScreen *s, ml_Text *out);
/* The terminal shows something else now: nothing is known of it. */
void ml_line_forget(ml_LineScreen *s);
/* A terminal of another width has folded the rows: what goes back to the first of them. */
void ml_line_resized(ml_LineScreen *s, int w, ml_Text *out);

#endif
