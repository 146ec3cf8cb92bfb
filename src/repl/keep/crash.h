/* crash - when the program itself goes wrong: the terminal as it was, a report, status 4.
 * Source: interaction 2, 9. */
#ifndef ML_REPL_KEEP_CRASH_H
#define ML_REPL_KEEP_CRASH_H

#include "repl/session/session.h"

/* From here on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT end the program with status 4
 * and a report: in the folder of sessions, or only on standard error. Not in builds with the
 * address sanitizer, whose report says more. */
void ml_crash_watch(const char *version, bool reports);
/* The report says what line of the session was being run. */
void ml_crash_observe(ml_Session *ss);
/* The autosave that stays; NULL: none. */
void ml_crash_autosave(const char *path);
const char *ml_crash_saved(void); /* that; may be asked in a signal handler */

#endif
