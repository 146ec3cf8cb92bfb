/* tune_words - what the commands about tuning share. */
#ifndef ML_REPL_CMD_TUNE_WORDS_H
#define ML_REPL_CMD_TUNE_WORDS_H

#include "repl/command/command.h"

/* A note where the focus is bound to threads: a search begins with the start, on the CPU.
 */
void ml_tune_say_start(ml_Session *ss);
/* Why records are kept in memory. */
void ml_tune_warn(ml_Session *ss, const char *why);

#endif
