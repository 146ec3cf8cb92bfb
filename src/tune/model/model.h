/*
 * model - what scores candidates before anything of them is built.
 *
 * A model sees rows of features (feature/feature.h) and nothing of programs: one row a stored
 * buffer, a sample (candidate) has some of them. A kind of model is a table of functions
 * behind the first member of its struct; the search knows this header alone. Scores are
 * compared within one batch of one task; a difference of 1 is a factor of two in time, where
 * nothing else is said. Source: auto-scheduler 15.
 */
#ifndef ML_TUNE_MODEL_H
#define ML_TUNE_MODEL_H

#include "moonloop/core/ctx.h"

/* Samples in the packed format: all rows of all of them, one after the other. */
typedef struct ml_Samples {
    size_t n;
    uint32_t columns;      /* features of a row; ML_FEATURES, or a prefix of them */
    const float *rows;     /* begin[n] rows of so many columns, row-major */
    const uint32_t *begin; /* n + 1: sample k has rows begin[k] to begin[k + 1] - 1; none
                              where it stores nothing */
} ml_Samples;

/* Samples that were measured. */
typedef struct ml_Learned {
    ml_Samples x;
    const uint64_t *group; /* n: hash of the task's program; labels are made within one */
    const double *seconds; /* n: of a run; 0: it failed (built, ran or verified wrongly) */
} ml_Learned;

/* What a model has learned from so far. */
typedef struct ml_ModelStats {
    size_t samples, failed; /* that were added; of these, that failed */
    size_t trained;         /* samples that there were at the last training; 0: none was */
    uint32_t rounds;        /* of boosting: trees of a member */
    double seconds;         /* of the last training */
    double held_out;        /* a-peak@32 of samples that were left out of it; NAN: none */
    double batch_peak, batch_error; /* of the last samples added, before they were learned:
                                       a-peak@32, root mean square of log2 of the time, up to
                                       a constant; NAN: nothing was foretold */
} ml_ModelStats;

/* How much of what a model has learned comes from one feature, in words for people. */
typedef struct ml_Gain {
    const char *what; /* "vector width" */
    double share;     /* of all, 0 to 1 */
} ml_Gain;

typedef struct ml_Model ml_Model;
typedef struct ml_ModelKind {
    const char *name; /* "analytic", "xgb", "random" */
    /* out[k]: higher is better, finite; samples without rows get the lowest. false: cx's
     * error, out is not filled. Never slower than linear in the rows; called from one
     * thread at a time. */
    bool (*score)(ml_Model *m, ml_Ctx *cx, const ml_Samples *s, double *out);
    /* Adds what was measured, and learns when enough is new (the model decides). NULL: there
     * is nothing to learn. false: cx's error; the model is as it was before. */
    bool (*train)(ml_Model *m, ml_Ctx *cx, const ml_Learned *l);
    /* To and from a file; what another version of the features or another kind wrote is
     * refused. NULL: there is nothing to keep. */
    bool (*save)(ml_Model *m, ml_Ctx *cx, const char *path);
    bool (*load)(ml_Model *m, ml_Ctx *cx, const char *path);
    /* The largest first, in cx. NULL: nothing is learned. */
    bool (*importance)(ml_Model *m, ml_Ctx *cx, const ml_Gain **out, size_t *n);
    void (*close)(ml_Model *m);
} ml_ModelKind;

struct ml_Model {
    const ml_ModelKind *kind;
    const char *note; /* to be told to the user: why it is not of the kind that was asked
                         for, or begins without what it could begin with. NULL: nothing */
    const char *made; /* where what it has learned is from (machine, programs, day): of its
                         file, or set by who saves it. NULL */
    ml_ModelStats stats;
};

typedef struct ml_ModelOpts {
    uint32_t threads; /* that candidates run with; 0: 1 */
    uint64_t seed;    /* of what a model draws */
    bool rank; /* "xgb": only the order is learned, by pairs; scores are no logarithms */
    const char *prior; /* file of a model to begin with; NULL: the one that is shipped;
                          "": none */
} ml_ModelOpts;

/* The model of a kind: "analytic", "random", "xgb". opts NULL: all 0. Where the library of
 * "xgb" cannot be had it is "analytic", and note says so. NULL: cx's error: the name is
 * none, or the prior that was given cannot be read. */
ML_GIVES ml_Model *ml_model_open(ml_Ctx *cx, const char *name, const ml_ModelOpts *opts);

/* By roofs and caches, which the extended set of features has for its target: nothing is
 * learned, nothing opened; never NULL. Rows need all ML_FEATURES columns. */
ML_GIVES ml_Model *ml_model_analytic(uint32_t threads);
/* Scores are drawn, uniform on [0, 100): the same for the same seed and number of calls. */
ML_GIVES ml_Model *ml_model_random(uint64_t seed);

static inline bool ml_model_score(ml_Model *m, ml_Ctx *cx, const ml_Samples *s, double *out)
{
    return m->kind->score(m, cx, s, out);
}
static inline bool ml_model_train(ml_Model *m, ml_Ctx *cx, const ml_Learned *l)
{
    return m->kind->train == NULL || m->kind->train(m, cx, l);
}
static inline bool ml_model_save(ml_Model *m, ml_Ctx *cx, const char *path)
{
    return m->kind->save == NULL || m->kind->save(m, cx, path);
}
static inline bool ml_model_load(ml_Model *m, ml_Ctx *cx, const char *path)
{
    return m->kind->load == NULL || m->kind->load(m, cx, path);
}
/* The shares of features, the largest first, in cx; *n 0: the model has learned nothing. */
static inline bool ml_model_importance(ml_Model *m, ml_Ctx *cx, const ml_Gain **out,
                                       size_t *n)
{
    *n = 0;
    return m->kind->importance == NULL || m->kind->importance(m, cx, out, n);
}
static inline void ml_model_close(ml_Model *m) /* NULL is fine */
{
    if (m)
        m->kind->close(m);
}

#endif
