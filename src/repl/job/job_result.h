/*
 * job_result - what the process of a job said, understood: lines of progress, and the
 * object at its end, of which times and verdicts go to the version they are of.
 */
#ifndef ML_REPL_JOB_JOB_RESULT_H
#define ML_REPL_JOB_JOB_RESULT_H

#include "repl/job/jobs.h"

typedef struct ml_Heard {        /* texts live in the context, or are the line itself */
    const char *progress;        /* or NULL */
    const char *log;             /* or NULL */
    double share;                /* NAN: nothing was said */
    const struct ml_Json *board; /* of a search (tuning/board.h), or NULL */
} ml_Heard;
ml_Heard ml_job_hear(ml_Ctx *cx, const char *line);

typedef struct ml_JobEnd {
    int job;
    const char *what;
    ml_Schedule *s;
    int version;
    const char *answer; /* its standard output */
    const char *last;   /* of its log: the error, when there is no answer */
    int signal;         /* that ended it, or 0 */
    /* by ml_job_result */
    const char *text;          /* what the command printed; NULL: there is no answer */
    const struct ml_Json *row; /* the first of what it told, or NULL */
} ml_JobEnd;
/* Reads the answer; whether the command went well. */
bool ml_job_result(ml_Ctx *cx, ml_JobEnd *e);
/* Gives the version its time, its verdict. */
void ml_job_apply(ml_Session *ss, const ml_JobEnd *e);
/* One line: `time of matmul v7: 1.23 ms, 58.4 GFLOP/s`. */
const char *ml_job_sentence(ml_Ctx *cx, const ml_JobEnd *e, ml_JobState state);

/* What is told until somebody has seen it, in less than a row: how a tune ended, and that a job
 * failed. NULL: nothing. */
const char *ml_job_mark(ml_Ctx *cx, const ml_JobEnd *e, ml_JobState state);

#endif
