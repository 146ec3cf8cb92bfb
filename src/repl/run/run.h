/*
 * run - one line of a session: a command, Lua or a pasted program, from the text to the
 * prompt after it. Source: interaction 3, 4.
 */
#ifndef ML_REPL_RUN_RUN_H
#define ML_REPL_RUN_RUN_H

#include "repl/session/frame.h"

/* Runs one complete line, command or chunk of a typed session or of -e; returns true when
 * it went well. Errors are printed and set the status. how: what is different for this line
 * (frame.h); NULL: nothing. */
bool ml_run(ml_Session *ss, const ml_RunOpts *how, const char *text);
/* Whether the text wants more lines before it can be run. */
bool ml_wants_more(ml_Session *ss, const char *text);

/* Checks the program of each step of the focus since version `from` (setting verify-each);
 * false: an error was printed. */
bool ml_verify_steps(ml_Session *ss, int from);
/* Whether the session may end: where jobs run, or steps would be lost, the user of a prompt
 * is told once. */
bool ml_session_let_quit(ml_Session *ss);

#endif
