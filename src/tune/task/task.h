/*
 * task - several searches under one budget.
 *
 * A *task* is a program and what it counts (its weight: how often a network calls it).
 * Tasks take turns: a rule chooses one, it gets a batch of trials or a slice of time, and so
 * on until the budget is used. Like a search (tune.h) it is a state machine that the caller
 * cranks, and knows no Lua: where a task needs a search of its own, the caller opens one.
 * All searches share the workers. What was measured is in the database, so that a run that
 * was killed goes on where it was. Source: auto-scheduler 18.
 */
#ifndef ML_TUNE_TASK_TASK_H
#define ML_TUNE_TASK_TASK_H

#include "moonloop/codegen/tensor/tensor.h"
#include "moonloop/tune/tune.h"

typedef enum ml_TaskRule {
    ML_TASKS_GRADIENT,    /* where another batch is expected to save most, by weight */
    ML_TASKS_ROUND_ROBIN, /* one after the other */
} ml_TaskRule;

enum { ML_TASKS_MOST = 10000 };

typedef struct ml_TasksOpts {
    ml_TaskRule rule;
    int64_t trials; /* records of all tasks, those of before counted; 0: ML_TUNE_TRIALS for
                       each, or no limit where seconds is one */
    int64_t each;   /* of one task at most; 0: no limit */
    double seconds; /* of searching, all together; 0: no limit */
    uint64_t seed;  /* of choices between equals */
    uint32_t threads;   /* of parallel loops; 0: ml_threads */
    const char *worker; /* program; NULL: found */
} ml_TasksOpts;

typedef struct ml_TaskStatus {
    const char *name, *hash; /* the hash by which the database knows it */
    double weight, flop;
    double bound;         /* seconds that it takes at least; 0: not known */
    int64_t done, before; /* records; those of earlier runs */
    int64_t failed;       /* of the records */
    int64_t batches;      /* that it was given in this run */
    double best;          /* seconds; 0: none yet */
    double gain;          /* weighted seconds that the last batch saved */
    double hope;          /* and that the rule expects of the next; NAN: not known */
    int64_t best_record;
    bool over;           /* it gets no further batch: */
    bool exhausted;      /* because its space holds no further program, */
    const char *refused; /* or for this reason */
    double favour;       /* that its hope is multiplied by; 1 unless somebody shifts it */
    bool skipped;        /* it is over because somebody wants that */
} ml_TaskStatus;

typedef struct ml_TasksStatus {
    int64_t done, total, before; /* records; total 0: no limit */
    int64_t failed;
    double elapsed, seconds; /* of the budget; seconds 0: no limit */
    double eta;              /* seconds; NAN: not known */
    double weighted;         /* sum of weighted times of the tasks that have one */
    size_t without;          /* tasks that have none */
    size_t now;              /* the task whose turn it is; SIZE_MAX: none */
    bool turns;              /* the budget is used: the fastest are measured by turns */
    const char *warning;     /* records are kept in memory only, and why; NULL */
} ml_TasksStatus;

typedef enum ml_TasksState {
    ML_TASKS_MORE,
    ML_TASKS_OPEN, /* a task needs a search: ml_tasks_wanted, ml_tasks_open */
    ML_TASKS_DONE, /* the budget is used, or no task gets a further batch */
    ML_TASKS_CANCELLED,
    ML_TASKS_FAILED, /* no worker; cx's error */
} ml_TasksState;

typedef struct ml_Tasks ml_Tasks;
/* NULL: cx's error. The cancel flag of cx is watched. */
ML_GIVES ml_Tasks *ml_tasks_new(ml_Ctx *cx, const ml_TasksOpts *o);
void ml_tasks_free(ml_Tasks *ts); /* its searches with it; NULL is fine */
/* Before the first step: a function (NULL: the only one) of any context, by which it is a
 * task. A function that is equal to one of before adds its weight to that one's. *at: its
 * number. bound: seconds that it takes at least, 0: not known. false: cx's error. */
bool ml_tasks_add(ml_Tasks *ts, ml_Ctx *cx, const ml_Module *m, const char *func,
                  const char *name, double weight, double bound, size_t *at);
/* Whether a function is to be a task: it is not marked as scheduled (tir.is_scheduled). */
bool ml_task_is_open(const ml_Func *f);
size_t ml_tasks_count(const ml_Tasks *ts);
const ml_TaskStatus *ml_tasks_task(const ml_Tasks *ts, size_t k);
/* Where its records are, while it has a search: they may have had to go to memory. NULL: it has none. */
ml_Db *ml_tasks_db(const ml_Tasks *ts, size_t k);
const ml_TasksStatus *ml_tasks_status(ml_Tasks *ts);

/* Waits at most `seconds` for something to happen. */
ml_TasksState ml_tasks_step(ml_Tasks *ts, ml_Ctx *cx, double seconds);
/* The task that ML_TASKS_OPEN is about. */
size_t ml_tasks_wanted(const ml_Tasks *ts);
/* What its search is opened with: program, name, threads, workers. Sketches, space, target,
 * seed and database are the caller's to add. */
void ml_tasks_opts(const ml_Tasks *ts, ml_TuneOpts *o);
void ml_tasks_open(ml_Tasks *ts, ML_TAKES ml_Tuner *t);
/* It cannot be tuned, for that reason: the others go on. */
void ml_tasks_refuse(ml_Tasks *ts, const char *why);
/* The search at work, to look at; NULL: none is. */
ml_Tuner *ml_tasks_tuner(const ml_Tasks *ts);

/* While it runs: nothing new is begun, and the time does not count; or it goes on. */
void ml_tasks_pause(ml_Tasks *ts, bool on);
/* Gives a task no further batch; what is at work is finished. */
void ml_tasks_skip(ml_Tasks *ts, size_t k);
/* Multiplies what the gradient rule expects of a task: above 1 it gets more of the budget. */
void ml_tasks_favour(ml_Tasks *ts, size_t k, double by);

/* ---- which task is next; alone, for tests */
typedef struct ml_TaskTurn {
    const double *best; /* seconds after each batch: descending; 0: none yet */
    size_t n;           /* batches */
    double weight, bound;
    bool over;
} ml_TaskTurn;
/* Weighted seconds that another batch is expected to save. */
double ml_task_gradient(const ml_TaskTurn *t);
/* SIZE_MAX: no task is left. last: the one before, SIZE_MAX at the begin. */
size_t ml_task_next(ml_TaskRule rule, const ml_TaskTurn *v, size_t n, size_t last,
                    ml_Random *random);

#endif
