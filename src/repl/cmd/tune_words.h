/* tune_words - what the commands about tuning share. */
#ifndef ML_REPL_CMD_TUNE_WORDS_H
#define ML_REPL_CMD_TUNE_WORDS_H

#include "repl/command/command.h"

/* Why records are kept in memory. */
void ml_tune_warn(ml_Session *ss, const char *why);

/* :tune --all */
bool ml_tune_all(ml_Session *ss, const ml_Words *w);

#endif
