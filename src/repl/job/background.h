/* background - commands that go on as jobs: --background, and timing after each step.
 * Source: interaction 9. */
#ifndef ML_REPL_JOB_BACKGROUND_H
#define ML_REPL_JOB_BACKGROUND_H

#include "repl/command/command.h"

/* Starts the command with these words as a job on the version the focus is at; false: an
 * error was printed. */
bool ml_run_apart(ml_Session *ss, const char *command, const ml_Words *w);
/* :set time-after-step: times the version the focus is at, at a prompt as a job that takes
 * the place of the one for the step before. false: an error was printed. */
bool ml_time_after_step(ml_Session *ss);

#endif
