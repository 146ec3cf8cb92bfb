/* echo - what a terminal shows by itself of the keys, held back while a line is written
 * that has to begin in the first column. Source: interaction 9. */
#ifndef ML_REPL_SCREEN_ECHO_H
#define ML_REPL_SCREEN_ECHO_H

#include <stdbool.h>

/* From here on the terminal of standard input shows no key that is pressed: what it shows of
 * those before is out. The kernel sends the signal of ^C first and shows ^C then, so that
 * whoever answers the signal may be sooner. False: there is nothing to hold, or it is held.
 * To be called by a signal handler, too. */
bool ml_echo_hold(void);
/* What was held is as before; held: what the holder got. */
void ml_echo_release(bool held);

#endif
