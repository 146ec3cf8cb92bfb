/*
 * progress - one line about long work on standard error: at a terminal a line that is
 * written over, at most ten times a second; in a pipe a plain line every tenth or every 30
 * seconds. The first one comes after 150 ms, so that short work says nothing.
 * Source: interaction 9.
 */
#ifndef ML_REPL_PROGRESS_H
#define ML_REPL_PROGRESS_H

#include "repl/session.h"

typedef struct ml_Progress {
    ml_Session *ss;
    const char *what; /* `memory Xp` */
    const char *unit; /* `accesses` */
    double begun, told;
    int tenths; /* told in a pipe so far */
    bool live;  /* standard error is a screen */
    bool shown; /* a line stands there */
} ml_Progress;

void ml_progress_begin(ml_Progress *p, ml_Session *ss, const char *what, const char *unit);
/* As often as one likes. of: 0 when it is not known. */
void ml_progress(ml_Progress *p, double done, double of);
void ml_progress_end(ml_Progress *p); /* the line goes */

#endif
