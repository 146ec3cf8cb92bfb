/* keep - leaving a session. Source: interaction 6, 9. */
#ifndef ML_REPL_CMD_KEEP_H
#define ML_REPL_CMD_KEEP_H

#include "repl/session/session.h"

/* Whether the session may end: where jobs run, or steps would be lost, the user of a prompt
 * is told once. */
bool ml_may_leave(ml_Session *ss);

#endif
