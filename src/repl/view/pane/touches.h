/*
 * touches - what walking through the program tells of its buffers (codegen/trace): how
 * often elements are loaded and stored, which stores nobody reads, how far apart touches of
 * a line are, lines per iteration, which thread touches what.
 *
 * A walk takes tenths of a second, so that one begins only when the keys rest, and a key
 * ends it. What was found out is kept for some versions. Source: interaction 4, 10 (pane
 * 8).
 */
#ifndef ML_REPL_VIEW_PANE_TOUCHES_H
#define ML_REPL_VIEW_PANE_TOUCHES_H

#include "repl/view/pane/panes.h"

typedef enum ml_TouchState {
    ML_TOUCH_WAITING,
    ML_TOUCH_READY,
    ML_TOUCH_FAILED, /* why says so */
} ml_TouchState;

typedef struct ml_LoopLines {
    ml_Uid loop;
    double lines, all; /* per iteration: of the buffer, of all */
} ml_LoopLines;

typedef struct ml_BufferTouches { /* texts are of the cache; NULL: there is none */
    ml_Uid buffer;
    ml_TouchState state;
    const char *why;
    const char *walked;      /* the part of the program that was, when not all of it */
    const char *per_element; /* loads 256, stores 1 an element */
    const char *redundant, *reuse;
    uint32_t n_loops;
    const ml_LoopLines *loops;
    uint32_t n_threads;
    const char *const *threads; /* a line each, and one about what they share */
} ml_BufferTouches;

/* What is known; asked for when nothing is. */
const ml_BufferTouches *ml_pane_touches(ml_View *v, const ml_Shown *sh, ml_Uid buffer);
/* Walks for one buffer that was asked for, if pane 8 is in sight. true: there are more. */
bool ml_pane_touches_rest(ml_View *v);
/* Whether a walk waits for the keys to rest. */
bool ml_pane_touches_wait(ml_View *v);
/* No more walks of this version, until pane 8 is chosen again; false: none waits. */
bool ml_pane_touches_stop(ml_View *v);

#endif
