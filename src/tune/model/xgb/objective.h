/*
 * objective - gradients of what the boosters minimise, by packed samples.
 *
 * Each function gives the gradient and the curvature by the sum of a sample's rows, in
 * grad and hess (n each), and returns the loss that they are the derivatives of. Source:
 * auto-scheduler 15.
 */
#ifndef ML_TUNE_MODEL_XGB_OBJECTIVE_H
#define ML_TUNE_MODEL_XGB_OBJECTIVE_H

#include "moonloop/tune/model/xgb/data.h"

/* sum[s] = the margins of its rows. */
void ml_packed_sums(const uint32_t *begin, size_t n, const float *margin, float *sum);
/* A sample's gradient and curvature for each of its rows: all rows of a sample move
 * together, so that the step of each is its share. */
void ml_packed_rows(const uint32_t *begin, size_t n, const float *grad, const float *hess,
                    float *row_grad, float *row_hess);

/* Half the squared error of the logarithm, up to a constant of the group: what all samples
 * of a task have in common is no part of it. The faster weigh more, though failures count,
 * too. weight: times that a bootstrap sample holds each; a sample that it does not hold has
 * no gradient. */
double ml_loss_log(const ml_XgbLabels *l, size_t n, const float *sum, const float *weight,
                   float *grad, float *hess);
/* Logistic of pairs within a group: the faster one scores higher, by the more the faster it
 * is. Every sample meets others of its group, drawn by seed and round. */
double ml_loss_pairs(const ml_XgbLabels *l, size_t n, const float *sum, const float *weight,
                     uint64_t seed, uint32_t round, float *grad, float *hess);
/* Logistic of having run. */
double ml_loss_validity(size_t n, const float *sum, const float *y, float *grad,
                        float *hess);

#endif
