/*
 * near - what measured candidates tell of others: a Gaussian process over the logarithm of
 * seconds. Its mean is a line over a model's score; what is measured moves it for candidates
 * that are near, by their features and, within a sketch, by their decisions.
 *
 * So a few measurements correct a model that learns nothing, or nothing yet, and where nothing
 * is known near by, the deviation is large, which is worth a look. Source: auto-scheduler 12.
 */
#ifndef ML_TUNE_SEARCH_STRATEGY_NEAR_H
#define ML_TUNE_SEARCH_STRATEGY_NEAR_H

#include "moonloop/tune/search/tuner_impl.h"

enum {
    ML_NEAR_FEATURES = 48, /* numbers that tell programs apart, slog */
    ML_NEAR_MOST = 192,    /* measurements that are looked at */
};

/* A candidate, as far as it matters here. */
typedef struct NearPoint {
    uint32_t sketch;
    const int64_t *d;
    const float *x; /* ML_NEAR_FEATURES */
    double base;    /* log2 of seconds by a model, but for a constant and a factor */
} NearPoint;

typedef struct Near {
    const Sketch *sketches;
    size_t n, first; /* points in all; of these measured, the others are believed */
    const NearPoint *at[2 * ML_NEAR_MOST];
    double level, slope;  /* of the mean */
    double length, noise; /* of features; of the amplitude */
    double amplitude;     /* variance where nothing is known */
    double *l;            /* lower triangle of n rows, each 2 * ML_NEAR_MOST long */
    double *w;            /* l^-1 (measured - mean), unit amplitude */
} Near;

/* Learns from n <= ML_NEAR_MOST measurements y, log2 of seconds; points stay the caller's, room
 * is in cx. n may be 0. */
void ml_near_fit(Near *m, ml_Ctx *cx, const Sketch *sketches, const NearPoint *const *at,
                 const double *y, size_t n);
/* What is expected of a candidate: mean and deviation. v: room for 2 * ML_NEAR_MOST numbers,
 * kept by the caller for ml_near_again. */
void ml_near_tell(const Near *m, const NearPoint *p, double *v, double *mean, double *sd);
/* From here on the point counts as one whose result is what is expected of it: candidates near
 * it have less to tell. v: its own. */
bool ml_near_believe(Near *m, const NearPoint *p, const double *v);
/* The deviation once more, after another point was believed. */
void ml_near_again(const Near *m, const NearPoint *p, double *v, double *sd);

#endif
