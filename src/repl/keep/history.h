/*
 * history - the entries that were typed, and the file that keeps them over sessions.
 *
 * One entry per input, however many lines it has. The file is shared: entries are appended
 * under a lock, and what other sessions appended since is read at the same time. Knows
 * nothing of terminals. Source: interaction 4.
 */
#ifndef ML_REPL_KEEP_HISTORY_H
#define ML_REPL_KEEP_HISTORY_H

#include "moonloop/core/base/text.h"

enum { ML_HISTORY_MAX = 10000 };
typedef struct ml_History ml_History;

ML_GIVES ml_History *ml_history_new(void);
void ml_history_free(ml_History *h);
/* Reads $XDG_STATE_HOME/moonloop/history (default ~/.local/state) and appends to it from
 * now on; path: another file, or NULL. false: *why says what is wrong, and nothing is
 * written. */
bool ml_history_attach(ml_History *h, const char *path, ml_Text *why);
/* Keeps an entry, unless it is blank, begins with a space or repeats the last one. false:
 * the file could not be written; it is detached and *why says why. */
bool ml_history_add(ml_History *h, const char *entry, ml_Text *why);
/* What became of the newest entry of that text, once it has run; kept in the file, too. false: as
 * above. */
bool ml_history_judge(ml_History *h, const char *entry, bool ok, ml_Text *why);
bool ml_history_failed(const ml_History *h, size_t k);
size_t ml_history_count(const ml_History *h);
const char *ml_history_at(const ml_History *h, size_t k); /* oldest first */

#endif
