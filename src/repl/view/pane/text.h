/*
 * text - texts of versions by lines: the program, what it is lowered to, its code.
 *
 * A text is made once per version and level and kept; each line knows the innermost loop or
 * block that it is of. What takes longer than a moment is waiting until ml_pane_texts_idle
 * has made it. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_PANE_TEXT_H
#define ML_REPL_VIEW_PANE_TEXT_H

#include "repl/view/pane/panes.h"

typedef struct ml_TextLine {
    ml_Str text;
    ml_Uid node;   /* 0: none */
    uint32_t line; /* of the program; 0: not known */
} ml_TextLine;

typedef enum ml_TextState {
    ML_TEXT_READY,
    ML_TEXT_WAITING,   /* nobody has begun */
    ML_TEXT_COMPILING, /* a worker is at it */
    ML_TEXT_FAILED,    /* the lines say why */
} ml_TextState;

typedef struct ml_PaneText {
    ml_PaneMemo m;
    uint32_t func; /* of levels other than the program */
    ml_Level level;
    bool regions;
    ml_TextState state;
    size_t n;
    ml_TextLine *lines;
    char *signs;        /* PROGRAM: what of it is new (program.c); NULL: not known */
    ml_TextMarks heads; /* PROGRAM: where its loops and blocks begin */
} ml_PaneText;

/* The text of a version; never NULL. */
ml_PaneText *ml_pane_text(ml_View *v, ml_Schedule *s, int version, ml_Level level);
/* The program as code is made of it: lines that are told of code are its. */
ml_PaneText *ml_pane_text_compiled(ml_View *v, ml_Schedule *s, int version);
/* Goes on with the text that pane 2 waits for; true: there is more to do. */
bool ml_pane_texts_idle(ml_View *v, int ms);

/* ---- code.c */
/* Splits a text into lines, which are given no nodes. */
void ml_text_lines(ml_PaneText *t, const char *text);
/* Begins or finishes a level above the program; false: the worker is still at it. */
bool ml_pane_code_work(ml_View *v, ml_PaneText *t, int ms);
/* Nobody wants what the worker is at. */
void ml_pane_code_stop(ml_View *v);

#endif
