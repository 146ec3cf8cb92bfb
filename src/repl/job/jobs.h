/*
 * jobs - work in the background: commands that run in processes of their own.
 *
 * A job is the program started anew: it is handed the version as a saved schedule, the
 * settings and a command line, runs the command as --batch does and tells progress and
 * result on pipes that the loop watches. Results come back into the session's version (its
 * time, its check) and are announced between lines. The session is never forked without
 * exec. Source: interaction 9, 10; DESIGN 4.
 */
#ifndef ML_REPL_JOB_JOBS_H
#define ML_REPL_JOB_JOBS_H

#include "repl/session/session.h"

typedef enum ml_JobState {
    ML_JOB_RUNNING,
    ML_JOB_STOPPING, /* asked to end; what it has is kept */
    ML_JOB_DONE,
    ML_JOB_FAILED,  /* with an error, or a check that failed */
    ML_JOB_STOPPED, /* as it was asked to */
    ML_JOB_KILLED,  /* by a signal that nobody here sent */
} ml_JobState;

typedef struct ml_JobInfo { /* texts are the job's, good until the next call here */
    int number;             /* from 1 on, never used again */
    const char *what;       /* the command line: `tune --trials 512` */
    const char *schedule;   /* its name */
    int version;
    ml_JobState state;
    double seconds; /* that it has run */
    double share;   /* done, 0 to 1; NAN: not known */
    const char
        *progress;  /* the last line it said of itself, or how it ended; "" at first */
    size_t n_log;   /* lines kept: the last ML_JOB_LOG */
    ml_Schedule *s; /* what it works on, as it is now */
    const struct ml_Board *board; /* of its search (tuning/board.h); NULL: it is none */
} ml_JobInfo;
enum { ML_JOB_LOG = 200 };

/* The k-th, in the order they were started; false: there are not so many. */
bool ml_job_info(ml_Session *ss, size_t k, ml_JobInfo *out);
const char *ml_job_log(ml_Session *ss, int number,
                       size_t k);             /* 0: the oldest; NULL: none */
const char *ml_job_state_name(ml_JobState s); /* running, done, ... */
size_t ml_jobs_running(ml_Session *ss);
/* Grows with everything that changes in what the above tell. */
unsigned ml_jobs_changes(ml_Session *ss);

/* What ended since somebody looked last, the newest: `tune of matmul ended, best 51.2 GFLOP/s;
 * :adopt takes it`, or (brief) `job 1 ended: :adopt`. false: nothing that is to be
 * told. Whoever shows jobs or adopts a record says that they have been seen. */
bool ml_jobs_unseen(ml_Session *ss, bool brief, ml_Text *out);
void ml_jobs_seen(ml_Session *ss);

/* Starts a command (no colon) on a version of the focus: `time --runs 50`. Its number; 0:
 * an error was printed. */
int ml_job_start(ml_Session *ss, const char *command, int version);
/* Asks it to end, keeping what it has; a second time ends it at once. false: it does not
 * run (no error is printed). */
bool ml_job_stop(ml_Session *ss, int number);
/* Has a search begin nothing new, or go on. false: it does not run. */
bool ml_job_pause(ml_Session *ss, int number, bool on);
/* Which jobs run still, and would end with the session; nothing when none does. */
void ml_jobs_add_running(ml_Session *ss, ml_Text *out);

#endif
