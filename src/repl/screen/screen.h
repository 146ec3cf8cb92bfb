/*
 * screen - where a grid is shown and events come from: a terminal (screen.c), or a script
 * without one (view/script.c). Source: interaction 10.
 */
#ifndef ML_REPL_SCREEN_SCREEN_H
#define ML_REPL_SCREEN_SCREEN_H

#include "repl/screen/decode.h"
#include "repl/screen/grid.h"
#include "repl/screen/theme.h"

/* Opens the terminal: standard input when that is one, else /dev/tty. false: *why says in a
 * sentence why there is none, and nothing has changed. There is one at a time. */
bool ml_screen_open(const ml_ThemeDef *theme, bool mouse, bool no_color, ml_Text *why);
/* The same for a grid that stands below the text there is, from the cursor's row on, and
 * stays there in the end: no mouse, and Ctrl-C is a signal. Its cursor is to be put into its
 * last row. */
bool ml_screen_open_below(const ml_ThemeDef *theme, bool no_color, ml_Text *why);
/* Another theme from the next picture on. */
void ml_screen_theme(const ml_ThemeDef *theme);
/* Leaves the terminal as it was found. */
void ml_screen_close(void);
bool ml_screen_is_open(void);
/* The same from a signal handler, any number of times; the screen is not usable then. */
void ml_screen_restore(void);

void ml_screen_size(int *w, int *h);
/* Makes the terminal show the grid; all of it anew when `whole`. false: it did already. */
bool ml_screen_show(const ml_Grid *g, bool whole);
/* From a signal handler: a line over the last one; the next picture is drawn whole. */
void ml_screen_scribble(const char *z);
int ml_screen_fd(void); /* becomes readable when keys are there */
/* A descriptor that becomes readable after a resize, Ctrl-C, a return from Ctrl-Z; reading
 * events empties it. */
int ml_screen_signal_fd(void);
/* Whether there was a resize or a return from Ctrl-Z since the last event; it is none then.
 * For who runs something, and looks at no keys meanwhile. */
bool ml_screen_changed(void);
/* What there is by now, at most n; waits a moment for the rest of a sequence that has
 * begun. *ended: the terminal is gone. */
size_t ml_screen_events(ml_Event *out, size_t n, bool *ended);
/* While something runs, Ctrl-C is a signal; else it is a key. */
void ml_screen_busy(bool on);
/* Puts text into the terminal's clipboard (OSC 52), where it does that. */
void ml_screen_clipboard(const char *text);

#endif
