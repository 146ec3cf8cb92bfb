/*
 * board - what a search shows of itself: the best so far over trials, where time goes, what
 * fails and why, what is thought of, and the fastest against the first.
 *
 * A board is data and nothing else: it is read from a tuner (read.c), or from what a job says
 * (told.c), and drawn into a grid of any size (draw.c) by who has one: :tune at a terminal
 * (live.c), pane 7 of the visualiser. Source: interaction 11.
 */
#ifndef ML_REPL_TUNING_BOARD_H
#define ML_REPL_TUNING_BOARD_H

#include "moonloop/core/json/data.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/vec.h"
#include "moonloop/tune/task/task.h"
#include "moonloop/work/say.h"
#include "repl/screen/grid.h"

typedef struct ml_BoardTrial {
    double expected; /* seconds, before it was measured; 0: nothing was expected */
    double seconds;  /* 0: it failed */
    int64_t record;
} ml_BoardTrial;

/* One of the fastest. Texts are in the board's context. */
typedef struct ml_BoardRank {
    int64_t record;
    double seconds;
    const char *design;  /* what was chosen, in words */
    const char *against; /* what is other than in the first; "" for that */
} ml_BoardRank;

typedef struct ml_BoardSketch {
    const char *name;
    int64_t measured, failed, points;
    double best, share; /* seconds, 0: none; of the next candidates, 0: not known */
} ml_BoardSketch;

/* What a model has found to matter. */
typedef struct ml_BoardGain {
    const char *what;
    double share;
} ml_BoardGain;

/* A reason for which candidates failed. */
typedef struct ml_BoardFault {
    const char *phase, *code;
    int64_t n, record; /* record: the last of them */
} ml_BoardFault;

/* One of several programs under one budget. */
typedef struct ml_BoardTask {
    const char *name;
    double weight, flop, best, bound; /* seconds; 0: none, not known */
    int64_t done;
    double gain,
        hope;      /* weighted seconds, of the last round and of the next; NAN: not known */
    double favour; /* that somebody multiplies its hope by */
    bool next, over, skipped;
} ml_BoardTask;

enum { ML_BOARD_RANKS = 20 };

typedef struct ml_Board {
    ml_Ctx *cx;
    const char *name, *target; /* of the program; level of the machine */
    int64_t seed;
    uint32_t threads;
    ml_Amount amount; /* what speeds are told of */
    double roof;      /* of that a second; NAN: not known */
    ml_TuneStatus st; /* its texts are the tuner's */
    double start;     /* seconds of the start version, about; 0: not known */
    const char *with; /* the strategy; NULL: not known */
    const char *model;
    size_t samples;  /* that the model has learned from */
    double held_out; /* its a-peak@32 on samples it did not see; NAN: not known */
    int64_t points;  /* candidates that are thought of */
    ML_VEC(ml_BoardTrial) trials;
    ML_VEC(size_t) rounds; /* trials there were when each round of proposals began */
    ML_VEC(ml_BoardSketch) sketches;
    ML_VEC(ml_BoardGain) gains;
    ML_VEC(ml_BoardFault) faults;
    ML_VEC(ml_BoardTask) tasks; /* none: one program alone */
    size_t without; /* of them that have no time yet: the sum is without these */
    char why[256];  /* the task whose turn it is, and why; "" */
    ml_BoardRank rank[ML_BOARD_RANKS];
    size_t n_ranks;
    bool paused, over;
    bool began;     /* read.c: trials of before were looked up, */
    size_t before;  /* and are so many */
    char note[256]; /* what there is to be told, one line; "" */
} ml_Board;

/* An empty one; texts are copied. */
void ml_board_init(ml_Board *b, const char *name, const char *target, int64_t seed,
                   uint32_t threads);
void ml_board_free(ml_Board *b);
void ml_board_trial(ml_Board *b, const ml_BoardTrial *t);
/* The status as it is now: rounds are counted by it. */
void ml_board_status(ml_Board *b, const ml_TuneStatus *s);

/* ---- what follows from it (facts.c) */
/* Seconds of the fastest of the first n trials; 0: none. */
double ml_board_best(const ml_Board *b, size_t n);
/* What the last whole round of proposals has gained, as a share; NAN: there was none. */
double ml_board_last_gain(const ml_Board *b);
/* Of the trials that something was expected of, the last 256: Spearman's rank correlation of
 * expected and measured, from -1 to 1; NAN: fewer than 4. */
double ml_board_correlation(const ml_Board *b);
/* By how much the one of the last 32 of them that was expected to be the fastest is slower
 * than the fastest, as a share; NAN: fewer than 4. */
double ml_board_regret(const ml_Board *b);
int64_t ml_board_failures(const ml_Board *b);
/* `i 4×16 instead of 8×8, without parallel(i_0)`: how a design (ml_schedule_design) differs
 * from the best one; "" when it does not. */
void ml_board_against(const char *design, const char *best, ml_Text *out);

/* ---- read.c */
/* What is new in a tuner of the program that s is at its start. */
void ml_board_read(ml_Board *b, ml_Tuner *t, ml_Schedule *s);
/* How each of the fastest differs from the first, where that is not known. */
void ml_board_compare(ml_Board *b);

/* ---- tasks.c: several programs under one budget */
/* What is new. A trial of this board is the sum of weighted times after each measurement, once
 * each task has a time: its curve is how often a second all of them could run. */
void ml_board_read_tasks(ml_Board *b, ml_Tasks *ts, ml_TaskRule rule);
/* Their table in `in`, from the first row on; cursor: the chosen one, -1: none. Its rows. */
int ml_board_put_tasks(const ml_Board *b, ml_Grid *g, ml_Rect in, int cursor);

/* ---- told.c: a board that another process has */
/* What has been told of one so far. */
typedef struct ml_BoardTold {
    size_t trials, rounds, samples;
    bool any;
} ml_BoardTold;
/* One field `board` of an open row: trials and rounds that are new since, and all that is short. */
void ml_board_tell(const ml_Board *b, ml_BoardTold *told, ml_Data *d);
/* Takes that in: the first one makes the board, which is zero until then. false: it is none. */
bool ml_board_hear(ml_Board *b, const ml_Json *j);

/* ---- drawing (draw.c, curve.c, scatter.c) */
typedef struct ml_BoardAt { /* in rows of what was drawn */
    int ranks, n;           /* the first of the fastest, and how many are shown */
} ml_BoardAt;
typedef struct ml_BoardLook {
    int cursor; /* rank (of several programs: task) that is chosen, from 0; -1: none */
    const char *keys; /* the last row; "" or NULL: none */
    ml_BoardAt *at;   /* where things stand; NULL: nobody asks */
} ml_BoardLook;
/* All of it, from 20x4 on; what finds no room is left out, the least important first. Rows
 * that were drawn. */
int ml_board_draw(const ml_Board *b, ml_Grid *g, ml_Rect in, const ml_BoardLook *look);
/* `24/64 trials` */
void ml_board_done(const ml_Board *b, ml_Text *t);
/* Best so far over trials: speed upwards from 0, an axis with numbers. In at least 12x3. */
void ml_board_curve(const ml_Board *b, ml_Grid *g, ml_Rect in);
/* Predicted against measured speed. */
void ml_board_scatter(const ml_Board *b, ml_Grid *g, ml_Rect in);

#endif
