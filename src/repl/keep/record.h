/* record - what was typed in this session and what came of it, a line after the other: kept
 * in memory, with --private too, so that :record can write the whole session as a transcript
 * that replays, or go on as an asciinema recording. Source: interaction 13, 15. */
#ifndef ML_REPL_KEEP_RECORD_H
#define ML_REPL_KEEP_RECORD_H

#include "repl/session/session.h"

/* A typed session begins that was started with these arguments. */
void ml_record_begin(ml_Session *ss, int argc, char **argv);
/* The line at work has opened the panes: what is done there are lines of their own. */
void ml_record_panes(ml_Session *ss);
/* What was brought back or is shown elsewhere cannot be replayed: what comes of the line
 * stands as `…`; for good, nothing of the session can be written as a transcript. */
void ml_record_unseen(ml_Session *ss);
void ml_record_spoil(ml_Session *ss, const char *why);

/* Writes to a file from now on, a transcript from the first line on, FILE.cast as a recording
 * of the terminal; false: an error was printed. */
bool ml_record_to(ml_Session *ss, const char *path);
bool ml_record_stop(ml_Session *ss);
const char *ml_record_path(const ml_Session *ss); /* NULL: nothing is being written */

/* The last lines of the transcript. */
void ml_record_tail(const ml_Session *ss, size_t lines, ml_Text *out);
/* Bytes of the prompt that a line of a transcript begins with, `> ` or `name v7> ` or
 * `name:branch v7> `; 0: none. */
size_t ml_record_prompt(const char *p);

#endif
