/* autosave - after each line of a session that prompts, what came of it is appended to a
 * file, from which :recover brings everything back. Source: interaction 6. */
#ifndef ML_REPL_KEEP_AUTOSAVE_H
#define ML_REPL_KEEP_AUTOSAVE_H

#include "repl/session/session.h"

/* A session that prompts begins: tells of sessions that were not ended well, and writes
 * from now on. Nothing with --private or --batch, or when it has begun already. */
void ml_autosave_begin(ml_Session *ss);
/* After a line: one more line in the file, when there is something new. A failure is told
 * once and ends the autosave, not the session. */
void ml_autosave_line(ml_Session *ss);
/* clean: as its user meant; the file goes, unless steps are in no other one: :recover has
 * it then, and a line says so. */
void ml_autosave_end(ml_Session *ss, bool clean);
/* Whether all that there is now stands in the file. */
bool ml_autosave_holds_all(const ml_Session *ss);

/* Brings back an autosave, as `:recover PATH` does, and takes it away when all is there. */
bool ml_recover(ml_Session *ss, const char *path);

#endif
