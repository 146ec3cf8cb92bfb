/*
 * line - reading what is typed at a terminal: Readline where it can be used, plain reading
 * where not (TERM=dumb, output elsewhere, a build without it).
 *
 * One poll loop serves keys and signals. The terminal is as it was found whenever
 * ml_line_read is not running. Source: interaction 4, 9.
 */
#ifndef ML_REPL_LINE_LINE_H
#define ML_REPL_LINE_LINE_H

#include "repl/session/session.h"

/* Sets the editor up and attaches ss->history (made when it is NULL) to its file, unless
 * the session is private or keeps no history. A home that cannot be written is one warning.
 */
void ml_line_init(ml_Session *ss);
/* The next line without its newline; it may hold newlines (a paste, a recalled entry).
 * more: it continues an entry. NULL: the end of input, or with *interrupted set, Ctrl-C:
 * what was collected is to be dropped. */
ML_GIVES char *ml_line_read(ml_Session *ss, const char *prompt, bool more,
                            bool *interrupted);
void ml_line_free(char *line);
/* One entry, all its lines, for recall and for the history file. */
void ml_line_history_add(ml_Session *ss, const char *entry);
/* Once it has run: what failed is not suggested. */
void ml_line_history_judge(ml_Session *ss, const char *entry, bool ok);
/* Puts the terminal back as it was found; callable from a signal handler and twice. */
void ml_line_restore(void);
void ml_line_end(ml_Session *ss);

#endif
