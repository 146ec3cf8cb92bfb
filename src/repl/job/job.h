/*
 * job - what a session and the process of one of its jobs say to each other.
 *
 * The job is started as `moonloop --job`. Its standard input is a file: a line of JSON
 * {"command", "version", "settings", …}, and below it the version as a saved schedule. On
 * standard error it writes progress, notes and errors, an object a line (as with --json),
 * and on standard output, at its end, one object {"ok", "text", "rows"}: what the command
 * printed, and what it told as data. A search tells its board on the way (tuning/told.c).
 */
#ifndef ML_REPL_JOB_JOB_H
#define ML_REPL_JOB_JOB_H

#include "repl/session/session.h"

/* Besides its standard streams a job has one on which the session says something to it, a word a
 * line: `pause`, `go-on`. */
enum { ML_JOB_WORDS = 3, ML_JOB_STREAMS };
typedef struct ml_JobWords {
    char line[32];
    size_t n;
} ml_JobWords;
/* The next word; waits at most so many seconds for one. NULL: there is none. w: zero at first. */
const char *ml_job_word(ml_JobWords *w, double seconds);

/* The text for the job: a command on the version the schedule is at. */
void ml_job_request(ml_Session *ss, const char *command, ml_Text *out);
/* Serves it: the exit status. The session is fresh, but for its host. */
int ml_job_serve(ml_Session *ss);

#endif
