/*
 * rows - what a pane shows: lines of text with roles, and what each of them stands for.
 *
 * A pane's content is a list of rows and nothing else: scrolling, folding, searching,
 * selecting and drawing are the same for all panes and done in one place (scroll.c). Rows
 * live in a context of their own, made anew when what they show has changed.
 * Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_STATE_ROWS_H
#define ML_REPL_VIEW_STATE_ROWS_H

#include "moonloop/core/ctx.h"
#include "moonloop/core/stmt.h"
#include "repl/screen/grid.h"
#include "repl/view/state/words.h"

typedef enum ml_Fold { ML_FOLD_LEAF, ML_FOLD_OPEN, ML_FOLD_CLOSED } ml_Fold;

typedef struct ml_Row {
    const char *text; /* one line, UTF-8; columns further right are reached by scrolling */
    uint16_t gutter;  /* bytes at its beginning that stay when the rest scrolls sideways */
    const ml_RoleSpan *spans;
    uint32_t n_spans;
    uint8_t role;    /* of what no span covers */
    uint8_t fold;    /* ml_Fold; a closed row's descendants are not in the list */
    uint16_t depth;  /* nesting, for ← to find the parent row */
    ml_Uid node;     /* the loop or block that the row stands for (of text: the innermost
                      * one that the line is of); 0: none */
    int version;     /* the version that Enter goes to; -1: none */
    uint32_t line;   /* of the printed program; 0: none */
    const char *key; /* a buffer's name, a job's number: what Enter acts on; or NULL */
    bool changed;    /* the last step changed it: drawn with a bar */
    char sign;       /* of a preview: + it is new, - something above it is gone; or 0 */
    bool dim;        /* what a preview leaves as it is, or an illegal choice */
} ml_Row;

typedef struct ml_Rows {
    ml_Ctx *cx;
    ML_VEC(ml_Row) v;
    ml_RoleSpans open; /* of the row that is being written */
    ml_Text text;      /* the same */
    uint16_t gutter;   /* the same */
    int head;          /* rows at the beginning that stay when the others scroll */
} ml_Rows;

/* Empties r (a zeroed one will do) and gives it a context when it has none. */
void ml_rows_reset(ml_Rows *r);
void ml_rows_free(ml_Rows *r);

/* Writes one row: put pieces, end. end returns it, to be given node, line and the rest;
 * valid until the next row. */
void ml_rows_put(ml_Rows *r, ml_CellRole role, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ml_rows_put_n(ml_Rows *r, ml_CellRole role, const char *text, size_t n);
/* Blanks up to a column, at least `least` of them. */
void ml_rows_pad(ml_Rows *r, int column, int least);
ml_Row *ml_rows_end(ml_Rows *r);
/* All at once. */
ml_Row *ml_rows_add(ml_Rows *r, ml_CellRole role, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Each line of a text as a row. */
void ml_rows_add_lines(ml_Rows *r, ml_CellRole role, const char *text);
/* A line of a program (TVMScript or Lua) with the roles of its words. */
ml_Row *ml_rows_code(ml_Rows *r, const char *line);
/* A line of TVMScript as a piece of a row. Identifiers that equal marked[k] (NULL: none)
 * get role MARK1 + k. */
void ml_rows_put_script(ml_Rows *r, const char *line, size_t n, char *const *marked,
                        size_t n_marked);

/* The number of a line (0: blanks) in so many columns, which stays when the rest of the row
 * scrolls sideways; the columns that a number takes. */
void ml_rows_put_line_number(ml_Rows *r, size_t line, int width, ml_CellRole role);
int ml_digits(size_t n);
/* The columns of a text when they are more than `width` and not more than `most`. */
int ml_wider(int width, const char *text, int most);
int ml_rows_columns(const ml_Grid *g, const ml_Rows *r); /* of the longest row */

#endif
