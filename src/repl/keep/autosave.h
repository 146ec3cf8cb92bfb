/* autosave - after each line of a session that prompts, what came of it is appended to a
 * file, from which :recover brings everything back. Source: interaction 6. */
#ifndef ML_REPL_KEEP_AUTOSAVE_H
#define ML_REPL_KEEP_AUTOSAVE_H

#include "repl/session/session.h"

/* A session that prompts begins: tells of those that were not ended well, and writes from
 * now on. Nothing with --private or --batch, or when it has begun already. */
void ml_autosave_begin(ml_Session *ss);
/* One more line in the file, when there is something new: after each line by itself. A
 * failure is told once and ends the autosave, not the session. */
void ml_autosave_line(ml_Session *ss);
/* Whether all that there is now stands in the file. */
bool ml_autosave_holds_all(const ml_Session *ss);

#endif
