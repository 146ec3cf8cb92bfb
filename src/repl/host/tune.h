/* host_tune - searches and databases for the commands: the rules run in the session's Lua
 * state. Source: interaction 11; lua-api 6. */
#ifndef ML_REPL_HOST_TUNE_H
#define ML_REPL_HOST_TUNE_H

#include "moonloop/tune/task/task.h"
#include "repl/host/host.h"

typedef struct ml_TuneAsk {
    int64_t trials, seed; /* trials 0: as asked last */
    double seconds;
    bool fresh;
    uint32_t threads;
    const char *db;           /* NULL: the usual one */
    const char *space;        /* NULL: the usual one */
    const char *with, *model; /* NULL: the usual ones */
    bool compare;             /* with is a list: "evolve,random" */
} ml_TuneAsk;
/* A search over the focus' start version, kept by the Lua state until it is ended. NULL:
 * the error was printed. *warning: why records are kept in memory only, or NULL; lives as
 * long as the search. */
ml_Tuner *ml_host_tuner_begin(ml_Host *h, ml_Schedule *s, const ml_TuneAsk *ask,
                              const char **warning);
/* Of the search at work: what rules of a person's own have been left out, one line each; NULL:
 * none has. */
const char *ml_host_tuner_note(ml_Host *h);
/* Of the searches at work: what their postprocessors left out, and rules of a space that was made
 * meanwhile, one line each; NULL: nothing. */
const char *ml_host_left_out(ml_Host *h);
void ml_host_tuner_end(ml_Host *h, const char *db);
/* One of several searches that know nothing of each other: its records are in memory. Kept
 * until all are ended. */
ml_Tuner *ml_host_tuner_apart(ml_Host *h, ml_Schedule *s, const ml_TuneAsk *ask);
void ml_host_tuners_end(ml_Host *h);
typedef struct ml_TasksAsk {
    int64_t trials, each, seed; /* trials 0: the usual number */
    double seconds;
    bool fresh;
    uint32_t threads;
    const char *rule, *db;            /* NULL: the usual one */
    const char *with, *model, *space; /* the same */
} ml_TasksAsk;
/* The tasks that a piece of Lua gives (NULL: the functions of the focus), kept like a
 * search. NULL: the error was printed. */
ml_Tasks *ml_host_tasks_begin(ml_Host *h, const char *code, const ml_TasksAsk *ask,
                              const char **warning);
/* A task for each of the sizes that a text lists ("n=1,16,m=64;n=7,m=7"), in its order, of the
 * schedule's start, kept like those. */
ml_Tasks *ml_host_shapes_begin(ml_Host *h, ml_Schedule *s, const char *shape,
                               const ml_TasksAsk *ask, const char **warning);
typedef struct ml_ShapeRow {
    const char *text;     /* "n=1,m=64" */
    const char *refused;  /* why it was not tuned; NULL */
    double best, seconds; /* of the search, and of the kernel; 0: not measured */
} ml_ShapeRow;
typedef struct ml_Shapes {
    size_t n; /* one for each task */
    ml_ShapeRow *v;
    const char *other;   /* how sizes that are not listed are computed */
    int64_t record;      /* of the kernel; 0: there is none */
    const char *warning; /* why the kernel is in memory only; NULL: it is not */
} ml_Shapes;
/* Puts what they found together, in cx; quick: nothing is measured. false: the error was
 * printed. */
bool ml_host_shapes_join(ml_Host *h, ml_Ctx *cx, bool quick, ml_Shapes *out);
/* A search for the task that needs one. false: the error was printed. */
bool ml_host_tasks_open(ml_Host *h, ml_Tasks *ts);
void ml_host_tasks_end(ml_Host *h);
/* The database of that path (NULL: the usual one), or the one in memory that stands for it:
 * *warning then tells why (to be freed). NULL: the error was printed. */
ml_Db *ml_host_db(ml_Host *h, const char *path, char **warning);
/* The same, made when it is not there, and no other in its place. */
ml_Db *ml_host_db_to_write(ml_Host *h, const char *path);
/* Nothing could be written into it: a file that was made for it goes. */
void ml_host_db_unmake(ml_Host *h, const char *path);

#endif
