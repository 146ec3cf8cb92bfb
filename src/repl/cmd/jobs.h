/* cmd_jobs - commands with --background, and leaving while jobs run. Source: interaction 9.
 */
#ifndef ML_REPL_CMD_JOBS_H
#define ML_REPL_CMD_JOBS_H

#include "repl/run/command.h"

/* Whether the words ask for it, and the command can be run apart from the session. */
bool ml_wants_background(const ml_Command *c, const ml_Words *w);
/* Starts it as a job on the version the focus is at; false: an error was printed. */
bool ml_run_in_background(ml_Session *ss, const ml_Command *c, const ml_Words *w);
/* :set time-after-step: times the version the focus is at, at a prompt as a job that takes
 * the place of the one for the step before. false: an error was printed. */
bool ml_time_after_step(ml_Session *ss);
/* Which jobs run still, and would end with the session; nothing when none does. */
void ml_jobs_add_running(ml_Session *ss, ml_Text *out);

#endif
