/*
 * grid - a screen as cells: what stands where, and in which role. Prompt line, panes and
 * pictures in characters draw into a grid; a writer (writer.h) makes a terminal show it, or
 * it is printed as text. Nothing else writes to a screen that a grid owns.
 *
 * One place owns widths: a character of two columns takes two cells, the second is its
 * tail; combining characters join the cell before. What lies outside is cut, never an
 * error: any grid from 1x1 up can be drawn into. Source: interaction 4, 10.
 */
#ifndef ML_REPL_SCREEN_GRID_H
#define ML_REPL_SCREEN_GRID_H

#include "moonloop/core/base/columns.h"
#include "moonloop/core/base/text.h"
#include "moonloop/core/vec.h"

/* What a cell is, not how it looks: roles.def has their names and the look in each theme.
 */
typedef enum ml_CellRole {
#define ML_ROLE(id, name, ...) ML_ROLE_##id,
#include "repl/screen/roles.def"
#undef ML_ROLE
    ML_N_ROLES
} ml_CellRole;

typedef struct ml_RoleSpan { /* bytes [from, to) of a text, in order, not overlapping */
    uint32_t from, to;
    uint8_t role; /* ml_CellRole */
} ml_RoleSpan;
typedef ML_VEC(ml_RoleSpan) ml_RoleSpans;

enum { ML_CELL_BYTES = 16 }; /* a base character and the marks above it, UTF-8 */
enum { ML_OWN_BYTES = 128 };

typedef struct ml_Cell {
    char z[ML_CELL_BYTES]; /* "" for the tail of a wide character; " " when empty */
    uint8_t role;
    uint8_t attr; /* ML_ATTR_..., on top of the role */
    uint8_t line; /* a piece of a box's border: which sides it reaches; 0: none */
    uint8_t own;  /* in place of the role: a sequence of the grid's `own`; 0: none */
} ml_Cell;

enum {
    ML_ATTR_BOLD = 1,
    ML_ATTR_UNDERLINE = 2,
    ML_ATTR_REVERSE = 4,
    ML_ATTR_DIM = 8,
    ML_ATTR_ON_CURSOR = 16, /* on the background of bar.cursor */
    ML_ATTR_ON_LINKED = 32  /* on that of bar.linked */
};

typedef struct ml_Grid {
    int w, h;
    ml_Cell *cells;         /* h rows of w */
    int cursor_x, cursor_y; /* -1: no cursor */
    bool ascii;             /* box and marker characters are replaced when they are put */
    char own[8][ML_OWN_BYTES]; /* looks from outside, as sequences: a prompt's; "": free */
} ml_Grid;

typedef struct ml_Rect {
    int x, y, w, h;
} ml_Rect;

void ml_grid_init(ml_Grid *g, int w, int h, bool ascii); /* at least 1x1 */
void ml_grid_free(ml_Grid *g);
void ml_grid_resize(ml_Grid *g, int w, int h); /* and clears */
void ml_grid_clear(ml_Grid *g);
void ml_grid_copy(ml_Grid *to, const ml_Grid *from);
ml_Cell *ml_grid_at(const ml_Grid *g, int x, int y);
void ml_grid_fill(ml_Grid *g, ml_Rect r, ml_CellRole role); /* blanks */

/* Puts text at (x, y), cut to `in` and the grid; control characters show as ^X. Returns the
 * columns that the text takes, cut or not. */
int ml_grid_put(ml_Grid *g, ml_Rect in, int x, int y, const char *text, ml_CellRole role);
int ml_grid_put_n(ml_Grid *g, ml_Rect in, int x, int y, const char *text, size_t n,
                  ml_CellRole role);
/* The same, with … where it is cut. */
int ml_grid_put_cut(ml_Grid *g, ml_Rect in, int x, int y, const char *text,
                    ml_CellRole role);
/* Over as many rows of `in` as it takes (fold.c), … where they do not do; the rows. And how
 * many it would take at a width. */
int ml_grid_put_folded(ml_Grid *g, ml_Rect in, const char *text, ml_CellRole role);
int ml_grid_folded(const ml_Grid *g, const char *text, int w);
void ml_grid_attr(ml_Grid *g, ml_Rect r, int attr); /* adds it to the cells */
void ml_grid_role(ml_Grid *g, ml_Rect r,
                  ml_CellRole role); /* of cells that hold text already */
void ml_grid_box(ml_Grid *g, ml_Rect r, const char *title, ml_CellRole role);
void ml_grid_hline(ml_Grid *g, int x, int y, int w,
                   ml_CellRole role); /* joins boxes: ├ ┤ ┬ ┴ ┼ */
void ml_grid_vline(ml_Grid *g, int x, int y, int h, ml_CellRole role);

/* ---- columns (widths.c; of plain text: core/base/columns.h)
 * Text that is printed: escape sequences take none, other controls one. */
size_t ml_columns(const char *text);
size_t ml_columns_to(const char *p, const char *end);
/* The bytes of the longest begin that fits into so many columns. */
size_t ml_columns_fit(const char *text, size_t columns);
/* The next character with what shows nothing before it; *columns grows by what is seen. */
const char *ml_next_char(const char *p, size_t *columns);
/* What stands for a character of n bytes where there is only ASCII; NULL: it is in it. */
const char *ml_ascii(const char *p, size_t n);
/* The same as ml_text_columns for this grid, where ascii may write two for one: <= for ≤.
 */
int ml_grid_columns(const ml_Grid *g, const char *text, size_t n);

/* The grid as lines without trailing blanks; a second text with a letter per column, that
 * of the role (roles.def) or of the bar that it stands on, for tests. */
void ml_grid_text(const ml_Grid *g, ml_Text *out);
void ml_grid_roles(const ml_Grid *g, ml_Text *out);

#endif
