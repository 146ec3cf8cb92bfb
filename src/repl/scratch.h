/* scratch - lines run as if they were typed, in a session of their own: the examples of
 * help and explanation. Source: interaction 4 (Help), 7. */
#ifndef ML_REPL_SCRATCH_H
#define ML_REPL_SCRATCH_H

#include "repl/session.h"

/* Prompts, lines and all that they print are appended to out. They run in an empty folder
 * that is removed afterwards, go on after an error, and touch neither the session `of` nor
 * its history; Ctrl-C stops them. Returns the code of the first error, ML_E_OK without one.
 */
ml_ErrorCode ml_scratch_run(ml_Session *of, const char *lines, ml_Text *out);

#endif
