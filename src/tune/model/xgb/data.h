/*
 * data - measured samples as a model keeps them: packed, with labels made anew for each
 * training.
 *
 * Rows of all samples stand one after the other; row r of sample s repeats the gradient of
 * s, and the prediction of s is the sum of its rows'. Source: auto-scheduler 15.
 */
#ifndef ML_TUNE_MODEL_XGB_DATA_H
#define ML_TUNE_MODEL_XGB_DATA_H

#include "moonloop/tune/model/model.h"

/* More than these are not kept: the oldest go. */
enum { ML_XGB_MOST = 32768 };

typedef struct ml_XgbData {
    uint32_t columns; /* 0: nothing was added */
    size_t n, cap, cap_rows;
    float *rows;     /* malloc, like the rest */
    uint32_t *begin; /* n + 1 */
    uint64_t *group;
    double *seconds; /* 0: it failed */
    size_t failed;
} ml_XgbData;

/* Adds samples; those without rows or with a number that is none are left out. Their columns
 * are those of d. false: cx's error, nothing was added. */
bool ml_xgb_data_add(ml_XgbData *d, ml_Ctx *cx, const ml_Learned *l);
void ml_xgb_data_cut(ml_XgbData *d, size_t n); /* to the first n */
void ml_xgb_data_free(ml_XgbData *d);
/* Whether all numbers of a row are finite. */
bool ml_xgb_row_is_sound(const float *row, uint32_t columns);

/* Slower than 2 to the power of this times the fastest is all the same. */
#define ML_XGB_WORST (-6.0F)

/* What is learned of every sample. */
typedef struct ml_XgbLabels {
    float *y;        /* least seconds of its group / its seconds; 0: it failed */
    float *log2_y;   /* of it, at least ML_XGB_WORST; of a failure that */
    uint32_t *group; /* 0, 1, ... in order of first appearance */
    uint32_t n_groups;
    uint32_t *member; /* samples ordered by group */
    uint32_t *first;  /* n_groups + 1: where each group begins among them */
} ml_XgbLabels;
/* In cx. */
void ml_xgb_labels(const ml_XgbData *d, ml_Ctx *cx, ml_XgbLabels *out);

/* The average over k = 1 to 32 of the best truth among the k that score highest, as a share
 * of the best of all; n samples. Ties in order of position. 1 where all truth is 0. */
double ml_a_peak(const float *score, const float *truth, size_t n);

#endif
