/* stuck - Ctrl-C while something runs that does not look for it: the user is told, and may
 * end it without losing the session. Source: interaction 6, 9. */
#ifndef ML_REPL_RUN_STUCK_H
#define ML_REPL_RUN_STUCK_H

#include "repl/session/session.h"

/* A session that prompts may end itself and begin anew from here on, with the same
 * arguments. */
void ml_stuck_watch(ml_Session *ss);
bool ml_stuck_watched(void);
/* In the handler of SIGINT; may not return. */
void ml_stuck_interrupt(void);
/* The autosave that this program was begun anew with; NULL: an ordinary start. */
const char *ml_stuck_autosave(void);

#endif
