/* tune_words - what the commands about tuning share. */
#ifndef ML_REPL_CMD_TUNE_WORDS_H
#define ML_REPL_CMD_TUNE_WORDS_H

#include "repl/command/command.h"

/* The value of `--name value` or `--name=value` at word *k, which it passes over; NULL:
 * another word. */
const char *ml_tune_value(const ml_Words *w, size_t *k, const char *name);
/* A whole number of that range. */
bool ml_tune_whole(const char *text, int64_t from, int64_t to, int64_t *out);
/* A note where the focus is bound to threads: a search begins with the start, on the CPU.
 */
void ml_tune_say_start(ml_Session *ss);
/* Why records are kept in memory. */
void ml_tune_warn(ml_Session *ss, const char *why);

#endif
