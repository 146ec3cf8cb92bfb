/* xgb - what the files of the learned model share. Source: auto-scheduler 15. */
#ifndef ML_TUNE_MODEL_XGB_H
#define ML_TUNE_MODEL_XGB_H

#include "moonloop/tune/model/model.h"
#include "moonloop/tune/model/xgb/data.h"
#include "moonloop/tune/model/xgb/library.h"

enum {
    ML_XGB_MEMBERS = 3, /* models of the ensemble, each of another bootstrap sample */
    ML_XGB_ALL,         /* the validity classifier after them */
};

/* Trained boosters. Those of the ensemble are there, all or none; the classifier may not be. */
typedef struct ml_XgbTrees {
    void *of[ML_XGB_ALL];
    uint32_t rounds; /* of a member */
} ml_XgbTrees;

typedef struct ml_Xgb {
    ml_Model model;
    const ml_XgbLibrary *x;
    ml_Model *warm; /* scores until something is learned; trees add to it what it misses */
    uint64_t seed;
    bool rank;        /* only the order is learned */
    uint32_t columns; /* of what was learned; 0: nothing was */
    ml_XgbData data;
    ml_XgbTrees prior; /* that a training begins with, from a file; or empty */
    ml_XgbTrees trees; /* trained here; or empty */
    char *made;        /* malloc; where the trees of a file are from; NULL */
    size_t full, last; /* samples at the last training from the prior on, and at the last */
} ml_Xgb;

/* xgb.c: a model that has learned nothing. */
ML_GIVES ml_Model *ml_model_xgb(const ml_XgbLibrary *x, const ml_ModelOpts *o);
/* What every booster is told; seed: of the booster. */
bool ml_xgb_set_up(const ml_XgbLibrary *x, ml_Ctx *cx, void *booster, uint32_t seed);

/* What scores: those trained here, else the prior. NULL: nothing does yet. */
static inline const ml_XgbTrees *ml_xgb_trees(const ml_Xgb *m)
{
    return m->trees.of[0] ? &m->trees : m->prior.of[0] ? &m->prior : NULL;
}

/* train.c */
bool ml_xgb_learn(ml_Model *m, ml_Ctx *cx, const ml_Learned *l);
void ml_xgb_trees_free(const ml_XgbLibrary *x, ml_XgbTrees *t);

/* predict.c */
bool ml_xgb_score(ml_Model *m, ml_Ctx *cx, const ml_Samples *s, double *out);
/* mean and spread (may be NULL) of the ensemble's sums for every sample, and the chance
 * that it runs; 1 where there is no classifier. */
bool ml_xgb_predict(const ml_XgbLibrary *x, ml_Ctx *cx, const ml_XgbTrees *t,
                    const ml_Samples *s, float *mean, float *spread, float *chance);

/* What the trees add to, by sample, in cx: the analytic score; 0 where there are fewer
 * features than it needs. */
bool ml_xgb_base(const ml_Xgb *m, ml_Ctx *cx, const ml_Samples *s, const float **out);

/* file.c */
bool ml_xgb_save(ml_Model *m, ml_Ctx *cx, const char *path);
bool ml_xgb_load(ml_Model *m, ml_Ctx *cx, const char *path);
bool ml_xgb_load_shipped(ml_Xgb *m, ml_Ctx *cx);

/* gain.c */
bool ml_xgb_gain(ml_Model *m, ml_Ctx *cx, const ml_Gain **out, size_t *n);

#endif
