/*
 * capture - standard output and standard error while a screen belongs to the visualiser:
 * they lead into a file, so that nothing that a program or a library prints reaches the
 * screen. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_STATE_CAPTURE_H
#define ML_REPL_VIEW_STATE_CAPTURE_H

#include "repl/view/state/view.h"

/* Turns them aside; false: not possible (errno), nothing has changed. */
bool ml_capture_begin(void);
/* Turns them back. */
void ml_capture_end(void);
bool ml_capture_on(void);
/* What was printed since goes to the log. */
void ml_capture_drain(ml_View *v);
/* The same, into a text. */
void ml_capture_read(ml_Text *out);

#endif
