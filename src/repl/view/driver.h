/*
 * driver - the visualiser with a screen: at a terminal, or from a script of keys without
 * one. Source: interaction 10.
 */
#ifndef ML_REPL_VIEW_DRIVER_H
#define ML_REPL_VIEW_DRIVER_H

#include "repl/screen/decode.h"
#include "repl/view/view.h"

/* At the terminal, until it is left; ss->quit is set when the program is to end. false: an
 * error was printed, nothing was shown. */
bool ml_view_terminal(ml_Session *ss);
/* The same loop, keys from a file and no terminal. Screens that are asked for are compared
 * with files beside it, or (update) written; what differs is told on standard error. false:
 * something was not as expected, or the script is wrong. */
bool ml_view_script(ml_Session *ss, const char *path, int w, int h, bool update);

/* 80x24; false: it is no size. */
bool ml_view_size_of(const char *text, int *w, int *h);

/* ---- what both do */
void ml_view_event(ml_View *v, const ml_Event *e);
/* All work that waits, then the screen as it is. */
void ml_view_settle(ml_View *v);

#endif
