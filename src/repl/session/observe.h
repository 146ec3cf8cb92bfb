/*
 * observe - who is told what the session does, without the session knowing them.
 *
 * The transcript, the autosave, the crash report, the dashboard and the like register
 * themselves here, each with the moments that it wants to hear of. They are told in the
 * order they came in, at the end (on_end) in the opposite one. An observer may print, run
 * lines (their depth is above 0) and take itself or others away. Source: interaction 1, 6.
 */
#ifndef ML_REPL_SESSION_OBSERVE_H
#define ML_REPL_SESSION_OBSERVE_H

#include "moonloop/primitives/schedule.h"

struct ml_Session;

typedef struct ml_LineEvent {
    const char *text;    /* the line, without blanks before it and newlines behind */
    const char *as_read; /* the same with them: where a pasted program ends in one */
    int number;          /* of the outermost line, from 1; lines that it runs have its */
    int depth;           /* 0: of the user; above: run by another line */
    bool ok;             /* after the line: it went well */
    ml_Schedule *focus;  /* before the line, or NULL */
    int from, to;        /* its version before the line, and (after it) then; 0 */
} ml_LineEvent;

typedef struct ml_OutputEvent {
    const char *shown; /* as the screen has it, folded */
    const char *raw;   /* what there would be without a screen */
} ml_OutputEvent;

/* Each function may be NULL. The observer is its owner's, and stays where it is until it is
 * taken away or the session has ended. */
typedef struct ml_Observer {
    const char *name;
    void *user;
    void (*before_line)(void *user, struct ml_Session *ss, const ml_LineEvent *e);
    void (*after_line)(void *user, struct ml_Session *ss, const ml_LineEvent *e);
    /* Of all that is written; not of what is captured, nor of progress. */
    void (*on_output)(void *user, struct ml_Session *ss, const ml_OutputEvent *e);
    /* After the line that has changed the focus or its version. */
    void (*on_version)(void *user, struct ml_Session *ss, ml_Schedule *s, int version);
    /* Settings have changed. */
    void (*on_settings)(void *user, struct ml_Session *ss);
    /* Before each prompt, and every now and then while long work runs: no lines are run
     * then. */
    void (*on_tick)(void *user, struct ml_Session *ss);
    /* The session ends; what it holds is still there. The observer is not told again. */
    void (*on_end)(void *user, struct ml_Session *ss);
} ml_Observer;

typedef struct ml_Observers {
    const ml_Observer **v; /* NULL: taken away */
    size_t n;
    double ticked; /* ml_clock of the last tick */
} ml_Observers;

/* A second time: nothing. */
void ml_session_observe(struct ml_Session *ss, const ml_Observer *o);
void ml_session_unobserve(struct ml_Session *ss, const ml_Observer *o);

/* ---- for who runs lines */
void ml_tell_before(struct ml_Session *ss, const ml_LineEvent *e);
void ml_tell_after(struct ml_Session *ss, const ml_LineEvent *e);
void ml_tell_version(struct ml_Session *ss, ml_Schedule *s, int version);
void ml_tell_settings(struct ml_Session *ss);
void ml_tell_tick(struct ml_Session *ss); /* at most ten times a second */
void ml_tell_end(struct ml_Session *ss);  /* and takes all away */

#endif
