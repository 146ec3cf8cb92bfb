/* safe - the session's side of --safe: what may be read, how much memory there is. Which
 * functions reach a file, a process or native code, and what each does: reach.def. */
#ifndef ML_REPL_SESSION_SAFE_H
#define ML_REPL_SESSION_SAFE_H

#include "repl/session/options.h"
#include "repl/session/session.h"

/* Before anything is run: the session and its workers are told, and the files named on the
 * command line are noted. */
void ml_safe_begin(ml_Session *ss, const ml_Options *o);
/* Once the init file is done: from now on the memory limit is only lowered, and the
 * process keeps it. */
void ml_safe_seal(ml_Session *ss);
/* A session inside `of` has no more memory than it. */
void ml_safe_inherit(ml_Session *ss, const ml_Session *of);
/* The memory limit in MiB from the command line; false: it is no number, which was said. */
bool ml_safe_set_limit(ml_Session *ss, const char *value);
/* Whether the memory limit may be set to that; false: an error was printed. */
bool ml_safe_allows_limit(ml_Session *ss, const char *value);

#endif
