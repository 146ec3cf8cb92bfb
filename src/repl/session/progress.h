/*
 * progress - one line on standard error that tells how far long work is.
 *
 * At a terminal it is written over, at most ten times a second; in a pipe a plain line
 * comes every tenth of the work or half a minute; with --json objects, at most twice a
 * second, and none when nobody reads them. Work that takes under a second says nothing
 * there; at a terminal, under 150 ms. Source: interaction 9.
 */
#ifndef ML_REPL_SESSION_PROGRESS_H
#define ML_REPL_SESSION_PROGRESS_H

#include "repl/session/session.h"

struct ml_Progress {
    ml_Session *ss;
    const char *what;
    double began, line_at, row_at; /* seconds of a clock of its own */
    double done, total;            /* of the ticks that are expected; total 0: not known */
    int rows;                      /* tenths that were told */
    bool live;
};

void ml_progress_begin(ml_Progress *p, ml_Session *ss, const char *what); /* kept */
/* share: of the work done, 0 to 1; NAN: not known. text: what else there is to tell, or
 * NULL. Cheap: to be called as often as it suits. */
void ml_progress(ml_Progress *p, double share, const char *text);
void ml_progress_end(ml_Progress *p); /* takes the line from the screen */

/* The work of a command: what its contexts and their forks do calls ml_progress from now
 * on, until it ends; a command inside of another has none of its own. */
void ml_progress_watch(ml_Progress *p, ml_Session *ss, const char *what);
void ml_progress_unwatch(ml_Progress *p);
/* Lets Ctrl-C end the work of a context, and the progress of the command show it. */
void ml_session_guard(ml_Session *ss, ml_Ctx *cx);
/* The interpreter will run so many more iterations. */
void ml_progress_expect(ml_Session *ss, double iterations);

/* Whether a line about progress should be told now under --json: somebody reads, and the
 * last is half a second ago. *at: when it was; 0 at first. */
bool ml_progress_due(ml_Session *ss, double *at);
void ml_text_duration(ml_Text *t, double seconds); /* 4.2s, 1m19s, 2h05m */

#endif
