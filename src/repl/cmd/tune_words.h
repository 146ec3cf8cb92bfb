/* tune_words - what the commands about tuning share. */
#ifndef ML_REPL_CMD_TUNE_WORDS_H
#define ML_REPL_CMD_TUNE_WORDS_H

#include "moonloop/tune/db/db.h"
#include "moonloop/tune/tune.h"
#include "repl/command/command.h"
#include "repl/host/tune.h"
#include "repl/tuning/board.h"

/* Why records are kept in memory. */
void ml_tune_warn(ml_Session *ss, const char *why);

/* What postprocessors and rules have kept out of the searches at work. */
void ml_tune_left_out(ml_Session *ss);

/* :tune --compare */
bool ml_tune_compare(ml_Session *ss, const ml_TuneAsk *ask);

/* :best --by, of a workload; false: an error was printed. */
typedef enum ml_BestBy { ML_BY_MACHINE, ML_BY_TARGET, ML_BY_SHAPE } ml_BestBy;
bool ml_best_by(ml_Session *ss, ml_Ctx *cx, ml_Db *db, const ml_DbWorkload *w,
                ml_BestBy by);

/* :tune --all */
bool ml_tune_all(ml_Session *ss, const ml_Words *w);
/* ---- tune_tasks.c: what those two share */
/* The options of `who`; false: an error was printed. */
bool ml_tasks_read(ml_Session *ss, const ml_Words *w, const char *who, ml_TasksAsk *a);
/* "tune WHAT  llvm x86-64-v4  seed 1  2 threads" */
void ml_tasks_announce(ml_Session *ss, const char *what, const ml_TasksAsk *a);
/* Turns tasks until the budget is used or the person has it stop, with their board or a line
 * of progress. FAILED: cx's error, or it was printed. */
ml_TasksState ml_tune_turn(ml_Session *ss, ml_Tasks *ts, ml_Ctx *cx, const ml_TasksAsk *ask,
                           bool warned);
/* "8 of 8 trials (1.2s); 2 of them earlier; 1 failed" */
void ml_tasks_ended(ml_Text *t, const ml_TasksStatus *s, ml_TasksState state);
/* "4.2 ms without 1 task" */
void ml_tasks_weighted(ml_Text *t, const ml_TasksStatus *s);
/* Cut, or with blanks behind it. */
void ml_tasks_name(ml_Text *t, const char *name, size_t width);
/* A note of one that was not tuned; why NULL: it was. */
void ml_tasks_refused(ml_Session *ss, const char *name, const char *why);

/* :tune --shape, of the focus */
bool ml_tune_has_shape(const ml_Words *w);
bool ml_tune_shapes(ml_Session *ss, const ml_Words *w);
/* Makes a record of the focus a branch of it, and says so. false: an error was printed. */
bool ml_tune_adopt(ml_Session *ss, ml_Ctx *cx, const ml_Record *r);

/* ---- tune_all_seen.c: the board of several programs at the terminal */
typedef struct ml_TasksSeen ml_TasksSeen;
/* NULL: there is no terminal for it. Nothing is printed until it is closed. */
ml_TasksSeen *ml_tasks_seen_open(ml_Session *ss, ml_Tasks *ts, const ml_TasksAsk *ask);
/* After a step; false: the person wants it to stop. */
bool ml_tasks_seen_step(ml_TasksSeen *n);
void ml_tasks_seen_warn(ml_TasksSeen *n, const char *why);
void ml_tasks_seen_close(ml_TasksSeen *n); /* NULL is fine */

/* ---- tune_told.c: a search that is a job, which its session shows and pauses */
typedef struct ml_TuneTold ml_TuneTold;
/* Takes the board. NULL: this is no job. */
ml_TuneTold *ml_tune_told_open(ml_Session *ss, ml_Tuner *t, ml_Board *b);
void ml_tune_told_step(ml_TuneTold *n); /* after a step of the search */
void ml_tune_told_close(ml_TuneTold *n);

/* ---- tune_seen.c: the board of a search at the terminal */
typedef struct ml_TuneSeen ml_TuneSeen;
/* Whether keys can be had and a board drawn. */
bool ml_tune_has_terminal(const ml_Session *ss);
/* An empty board of a search over the focus. */
void ml_tune_board(ml_Board *b, ml_Session *ss, const char *target, int64_t seed,
                   uint32_t threads, ml_Amount amount, double roof);
/* NULL: there is no terminal for it. Nothing is printed until it is closed. */
ml_TuneSeen *ml_tune_seen_open(ml_Session *ss, ml_Tuner *t, const char *target,
                               int64_t seed, uint32_t threads, ml_Amount amount,
                               double roof);
/* After a step of the search; false: the person wants it to stop. */
bool ml_tune_seen_step(ml_TuneSeen *n);
void ml_tune_seen_warn(ml_TuneSeen *n, const char *why);
void ml_tune_seen_close(ml_TuneSeen *n); /* NULL is fine */

#endif
