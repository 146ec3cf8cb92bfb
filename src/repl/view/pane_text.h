/*
 * pane_text - texts of versions by lines: the program, what became of it, its code.
 *
 * A text is made once per version and level and kept; each line knows the innermost loop or
 * block that it is of. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_PANE_TEXT_H
#define ML_REPL_VIEW_PANE_TEXT_H

#include "repl/view/panes.h"

typedef struct ml_TextLine {
    ml_Str text;
    ml_Uid node;   /* 0: none */
    uint32_t line; /* of the program */
} ml_TextLine;

typedef struct ml_PaneText ml_PaneText;
struct ml_PaneText {
    ml_PaneText *next;
    ml_Ctx *cx; /* holds all of it */
    ml_Schedule *s;
    int version;
    ml_Level level;
    bool regions;
    size_t n;
    ml_TextLine *lines;
};

/* The text of the version that is shown; never NULL. */
const ml_PaneText *ml_pane_text(ml_View *v, const ml_Shown *sh, ml_Level level);

#endif
