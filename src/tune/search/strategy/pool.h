/*
 * pool - candidates that are thought of: vectors of decisions with their rows of features and
 * what is expected of them, and the measurements that expectations come from.
 *
 * Vectors are drawn, changed and told apart as integers; rows come from closed forms
 * (tune/symbolic), scores from a model (tune/model), and measurements near by correct them
 * (near.h). Only what is picked becomes a program. Source: auto-scheduler 12, 13.
 */
#ifndef ML_TUNE_SEARCH_STRATEGY_POOL_H
#define ML_TUNE_SEARCH_STRATEGY_POOL_H

#include "moonloop/tune/model/model.h"
#include "moonloop/tune/search/strategy.h"
#include "moonloop/tune/search/strategy/near.h"
#include "moonloop/tune/symbolic/symbolic.h"

enum {
    ML_POOL_MOST = 2048,    /* points; beyond them the worst go */
    ML_POOL_REPLAYS = 16,   /* of candidates that are thought of, in one batch */
    ML_POOL_MEASURED = 512, /* of these measured: the fastest and the latest */
};

typedef struct Point {
    NearPoint p;
    uint64_t key;
    uint32_t n_rows;
    const float *rows; /* n_rows of ML_FEATURES */
    double mean, sd;   /* log2 of seconds that are expected */
    double *v;         /* of near.h, while a batch is picked */
    bool taken;        /* proposed, or known to give no new program */
    bool under_way;    /* proposed, and nothing is known of it yet */
    bool learned;      /* measured, and the model knows it */
    bool keep;         /* while the pool is pruned: it stays */
    struct Point *to;  /* and where it is then */
    double seconds;    /* measured; 0: it failed; < 0: not measured */
} Point;

typedef struct Pool {
    ml_Tuner *t;
    ml_Ctx *cx;    /* points; renewed when the worst go */
    ml_Ctx *batch; /* of one call of next */
    ml_SketchForms **forms;
    size_t replays;          /* left in this batch */
    ml_Model *model, *draft; /* draft: in the place of one that knows nothing yet */
    ML_VEC(Point *) points;
    ML_VEC(Point *) measured; /* of the points */
    Seen refused;             /* keys of vectors that are not legal */
    ML_VEC(Candidate) news;   /* told, and not taken over; seconds in news_seconds */
    ML_VEC(double) news_seconds;
    Near near;
    double *share; /* of new points, by sketch */
    double best;   /* least of the measured ones, log2 of seconds; INFINITY: none */
} Pool;

/* A strategy that thinks of candidates in a pool; what such strategies share. */
typedef struct Thinker {
    Strategy s;
    Pool pool;
    int empty; /* batches in a row */
} Thinker;
extern const StrategyKin ml_thinkers;
/* What next returns for so many programs. */
int ml_thinker_batch(Thinker *h, size_t got);
/* next: those of which most is expected; where none is left, any. */
int ml_thinker_best(Thinker *h, ml_Random *r, size_t n, Made *out);

/* Takes over results, and expects anew of all points. */
void ml_pool_learn(Pool *p);

/* n vectors of a sketch, one after the other, become points where they are none yet and pass the
 * limits; expectations are worked out. How many are new. */
size_t ml_pool_add(Pool *p, uint32_t sketch, const int64_t *d, size_t n);
/* Adds n random vectors. */
size_t ml_pool_draw(Pool *p, ml_Random *r, uint32_t sketch, size_t n);
/* Adds what the space's mutators make of the point in n attempts; how many are new. */
size_t ml_pool_mutate(Pool *p, ml_Random *r, const Point *from, size_t n);
/* What is wanted of a vector's children is decided by the caller: numbers below 0 are drawn,
 * tiles that do not fit any more too. */
void ml_pool_complete(Pool *p, ml_Random *r, uint32_t sketch, int64_t *d, size_t n);
/* NULL: it is not among the points. */
const Point *ml_pool_find(const Pool *p, const Candidate *c);
/* Whether candidates of the sketch have to be replayed to be scored: few can be. */
bool ml_pool_is_slow(const Pool *p, uint32_t sketch);

/* ---- pick.c */
/* Programs of at most n points: where most is to be gained, by what is expected and how little is
 * known; each that is picked counts as known for the next. random: of these so many by chance. */
size_t ml_pool_pick(Pool *p, ml_Random *r, size_t n, size_t random, Made *out);
/* Programs of the n points of which most is expected. */
size_t ml_pool_best(Pool *p, size_t n, Made *out);
/* Orders Point pointers by what is expected, the best first. */
int ml_point_by_mean(const void *a, const void *b);
/* Any sketches' random programs, replayed; for what has no forms. */
size_t ml_pool_any(Pool *p, ml_Random *r, size_t n, Made *out);

#endif
