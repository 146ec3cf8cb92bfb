/* interrupt - Ctrl-C: the one flag that SIGINT sets, and what comes of it when nobody looks.
 * Source: interaction 9. */
#ifndef ML_REPL_OUT_INTERRUPT_H
#define ML_REPL_OUT_INTERRUPT_H

#include <signal.h>

#include "moonloop/core/ctx.h"

/* What the flag holds: to be raised once, or again and again, past every pcall. */
enum { ML_INTERRUPT = 1, ML_INTERRUPT_HARD = 2 };

/* SIGINT is ours from here on. In batch mode it ends the program; else it sets the flag. A
 * second one that comes while the flag is still set says what a third within three seconds
 * does: it ends the program with status 130. `saved`, called in the handler: the path of the
 * autosave, or NULL. */
void ml_interrupt_watch(bool batch, const char *(*saved)(void));
bool ml_interrupted(void);
/* What was asked has been done, or there is nothing left to do: the flag goes back. */
void ml_interrupt_answer(void);
void ml_interrupt_again(void); /* what was answered inside is for those outside, too */
volatile sig_atomic_t *ml_interrupt_flag(void); /* for what polls it by itself */
void ml_interrupt_guard(ml_Ctx *cx);            /* work in cx stops when the flag is set */

/* Whether SIGINT ends the program at once; the work that saves what it has found puts it off
 * for a while. Returns what held before. */
bool ml_interrupt_fatal(bool on);
/* A program of the user's is being waited for: Ctrl-C is for it, however often. */
void ml_interrupt_child(bool runs);

/* ---- of the line at work: whether SIGINT came in it and was heeded */
void ml_interrupt_begin_line(void);
bool ml_interrupt_came(void);
void ml_interrupt_note(
    bool came); /* came: a child had it; else: it came when all was done */

#endif
