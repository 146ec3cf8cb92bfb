/* dashboard - program, tree and last timing in a second terminal. Source: interaction 5. */
#ifndef ML_REPL_CMD_DASHBOARD_H
#define ML_REPL_CMD_DASHBOARD_H

#include "repl/session/session.h"

/* After a line: shows what has changed. A terminal that is gone is one note, and off. */
void ml_dashboard_line(ml_Session *ss);
void ml_dashboard_end(ml_Session *ss); /* clears it */

#endif
