/*
 * layout - where panes stand: columns of panes that share their borders. Room goes where
 * content is: each pane tells what it wants, and what a person has moved stays in the shares
 * that it was moved to. One layout per size class, kept over sessions.
 * Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_STATE_LAYOUT_H
#define ML_REPL_VIEW_STATE_LAYOUT_H

#include "repl/screen/grid.h"
#include "repl/view/keys/keymap.h"

typedef enum ml_SizeClass {
    ML_SIZE_NONE, /* under 40x10: a line that says so */
    ML_SIZE_ONE,  /* under 80x24: one pane at a time */
    ML_SIZE_FOUR,
    ML_SIZE_SIX,  /* from 120x36 on */
    ML_SIZE_WIDE, /* from 160x36 on: what is measured in a column of its own */
    ML_N_SIZES
} ml_SizeClass;

enum { ML_MAX_COLUMNS = 4, ML_NO_COLUMN = 0 };
typedef struct ml_Layout {
    int width[ML_MAX_COLUMNS]; /* shares of the contents, moved there; 0: as panes want */
    struct {
        int column; /* 1, 2, …; ML_NO_COLUMN: hidden */
        int height; /* share of the contents, moved there; 0: as panes want */
    } pane[ML_N_PANES];
    bool wide;    /* of ML_SIZE_WIDE: panes have other columns */
    bool changed; /* since it was read */
} ml_Layout;

/* The room that the content of a pane takes. It is the same whatever node is selected, so
 * that borders stay where they are while the cursor moves. */
typedef struct ml_Want {
    int rows, columns; /* 0: any number will do */
    int more;          /* rows that it takes where nobody lacks one; 0: none */
    int narrow;        /* columns below which the pane must leave something out */
} ml_Want;

typedef struct ml_Places {   /* a layout on a screen */
    ml_Rect box[ML_N_PANES]; /* with its border; w 0: not shown */
    int n_columns;
    struct {
        int n;
        ml_PaneId pane[ML_N_PANES]; /* from the top */
    } column[ML_MAX_COLUMNS];
} ml_Places;

ml_SizeClass ml_size_class(int w, int h);
void ml_layout_usual(ml_Layout *l, ml_SizeClass size);
/* `only`: that pane alone. Panes for which there is no room are left out, from the bottom,
 * but never `in`. */
void ml_layout_place(const ml_Layout *l, const ml_Want want[ML_N_PANES], ml_Rect area,
                     ml_PaneId in, bool only, ml_Places *out);
/* Shows a hidden pane in its column, or hides a shown one; the last one stays (false). */
bool ml_layout_toggle(ml_Layout *l, ml_PaneId id);
/* Shows a hidden pane in place of the lowest of its column, where that is not the first. */
void ml_layout_swap_in(ml_Layout *l, ml_PaneId id);
/* The column of code right of the program. */
void ml_layout_code(ml_Layout *l, bool shown);
/* Moves the border below `above` (of places p, of this layout) by so many rows, the one
 * right of column `left` by so many columns; no pane gets less than one row, no column less
 * than ten. */
void ml_layout_move_row(ml_Layout *l, const ml_Places *p, ml_PaneId above, int by);
void ml_layout_move_column(ml_Layout *l, const ml_Places *p, int left, int by);

/* Layouts of all size classes as text, and back; what cannot be read stays as it is. */
void ml_layout_write(const ml_Layout l[ML_N_SIZES], ml_Text *out);
void ml_layout_read(ml_Layout l[ML_N_SIZES], const char *text);

#endif
