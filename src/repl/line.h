/*
 * line - reading what is typed: Readline on a terminal, plain reading everywhere else.
 *
 * One poll loop serves keys and signals. The terminal is as it was found whenever
 * ml_line_read is not running. Source: interaction 4, 9.
 */
#ifndef ML_REPL_LINE_H
#define ML_REPL_LINE_H

#include "repl/session.h"

/* Sets the editor up when standard input and output are a terminal that can do it, and reads
 * the history file into ss->history (which it makes when it is NULL) unless ss->private_ or
 * `no_history`. A home that cannot be written is a warning, once. */
void ml_line_init(ml_Session *ss, bool no_history);
/*
 * The next line without its newline, on the heap (ml_heap_free); NULL at the end of input.
 * prompt NULL: session text, nothing is printed. With a prompt and no terminal, prompt and
 * line are echoed to standard output, so that the output reads like a terminal's.
 *
 * Ctrl-C with a prompt: an empty line, and ss->interrupt is set: the caller drops what it
 * has collected and clears the flag. Ctrl-C without: NULL, and ss->interrupt is set.
 */
ML_GIVES char *ml_line_read(ml_Session *ss, const char *prompt);
/* One entry, all its lines, for recall and the history file. */
void ml_line_history_add(ml_Session *ss, const char *entry);
/* Puts the terminal back as it was found; callable from a signal handler. */
void ml_line_restore(void);
void ml_line_end(ml_Session *ss);

#endif
