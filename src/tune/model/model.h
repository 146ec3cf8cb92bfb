/*
 * model - what scores candidates before anything of them is built.
 *
 * A model sees rows of features (feature/feature.h) and nothing of programs: one row a stored
 * buffer, a sample (candidate) has some of them. A kind of model is a table of functions
 * behind the first member of its struct; the search knows this header alone. Scores are
 * compared within one batch of one task and mean nothing else. Source: auto-scheduler 15.
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
    void (*close)(ml_Model *m);
} ml_ModelKind;

struct ml_Model {
    const ml_ModelKind *kind;
};

/* By roofs and caches, which the extended set of features has for its target: nothing is
 * learned, nothing opened; never NULL. Rows need all ML_FEATURES columns. */
ML_GIVES ml_Model *ml_model_analytic(uint32_t threads);

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
static inline void ml_model_close(ml_Model *m) /* NULL is fine */
{
    if (m)
        m->kind->close(m);
}

#endif
