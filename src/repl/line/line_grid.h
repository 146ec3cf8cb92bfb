/*
 * line_grid - the line that is being typed as cells: prompt, text, suggestion, hints. Knows
 * nothing of Readline. Source: interaction 4.
 */
#ifndef ML_REPL_LINE_LINE_GRID_H
#define ML_REPL_LINE_LINE_GRID_H

#include "repl/screen/grid.h"

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

/* Draws into a grid for a screen of w x h, with the cursor; the hints are its last rows.
 * It is not higher than the screen; the caller frees it. */
void ml_line_draw(const ml_LineView *v, int w, int h, ml_Grid *out);

#endif
