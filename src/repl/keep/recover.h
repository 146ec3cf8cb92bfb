/* recover - what a session that did not end well had done, brought back from its autosave.
 * Source: interaction 6. */
#ifndef ML_REPL_KEEP_RECOVER_H
#define ML_REPL_KEEP_RECOVER_H

#include "repl/session/session.h"

/* Brings back what the file holds and says so; of a damaged one what stands before the
 * damage. ours: it lies in the folder of autosaves, and goes when all is safe in that of this
 * session. false: an error was printed. */
bool ml_recover(ml_Session *ss, const char *path, bool ours);

#endif
