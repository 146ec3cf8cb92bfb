/* objective - gradients by packed samples. */
#include "moonloop/tune/model/xgb/objective.h"

#include "moonloop/codegen/tensor/tensor.h"

#include <math.h>

/* The least weight: failures are learned from, too. */
#define WEIGHT_LEAST 0.1F

enum { PARTNERS = 8 }; /* that a sample meets in one round */

void ml_packed_sums(const uint32_t *begin, size_t n, const float *margin, float *sum)
{
    for (size_t s = 0; s < n; s++) {
        sum[s] = 0;
        for (uint32_t r = begin[s]; r < begin[s + 1]; r++)
            sum[s] += margin[r];
    }
}

void ml_packed_rows(const uint32_t *begin, size_t n, const float *grad, const float *hess,
                    float *row_grad, float *row_hess)
{
    for (size_t s = 0; s < n; s++)
        for (uint32_t r = begin[s]; r < begin[s + 1]; r++) {
            row_grad[r] = grad[s];
            row_hess[r] = hess[s] * (float)(begin[s + 1] - begin[s]);
        }
}

static float weigh(float y)
{
    float w = sqrtf(y);

    return w > WEIGHT_LEAST ? w : WEIGHT_LEAST;
}

/* What is as slow as can be told, or fails, and is foretold so is right. The others of the
 * group say what its constant is. */
static bool is_worst(const ml_XgbLabels *l, uint32_t s)
{
    return l->log2_y[s] <= ML_XGB_WORST;
}

static double loss_of_group(const ml_XgbLabels *l, uint32_t g, const float *sum,
                            const float *weight, float *grad, float *hess)
{
    const uint32_t *of = l->member + l->first[g];
    uint32_t m = l->first[g + 1] - l->first[g];
    float all = 0, mean = 0, pull = 0, held = 0; /* of the worst on the constant */
    double loss = 0;

    for (uint32_t k = 0; k < m; k++) {
        float w = weight[of[k]] * weigh(l->y[of[k]]);

        if (is_worst(l, of[k]))
            continue;
        all += w;
        mean += w * (sum[of[k]] - l->log2_y[of[k]]);
    }
    mean = all > 0 ? mean / all : 0;
    for (uint32_t k = 0; k < m; k++) {
        float w = weight[of[k]] * weigh(l->y[of[k]]);
        float off = sum[of[k]] - l->log2_y[of[k]] - mean;

        if (all <= 0 || (is_worst(l, of[k]) && off < 0))
            w = 0;
        if (is_worst(l, of[k])) {
            pull += w * off;
            held += w;
        }
        grad[of[k]] = w * off;
        hess[of[k]] = w;
        loss += 0.5 * (double)w * (double)off * (double)off;
    }
    for (uint32_t k = 0; k < m && all > 0; k++) {
        float part = hess[of[k]] / all;

        if (is_worst(l, of[k]))
            continue;
        grad[of[k]] -= part * pull;
        hess[of[k]] += part * part * held - part * hess[of[k]];
    }
    return loss;
}

double ml_loss_log(const ml_XgbLabels *l, size_t n, const float *sum, const float *weight,
                   float *grad, float *hess)
{
    double loss = 0;

    (void)n; /* every sample is of a group */
    for (uint32_t g = 0; g < l->n_groups; g++)
        loss += loss_of_group(l, g, sum, weight, grad, hess);
    return loss;
}

/* One pair, a being the faster one. */
static double meet(size_t a, size_t b, float w, const float *sum, float *grad, float *hess)
{
    float wrong = 1 / (1 + expf(sum[a] - sum[b])); /* the chance of the other order */

    grad[a] -= w * wrong;
    grad[b] += w * wrong;
    hess[a] += w * wrong * (1 - wrong);
    hess[b] += w * wrong * (1 - wrong);
    return (double)w * log1p(exp((double)sum[b] - (double)sum[a]));
}

double ml_loss_pairs(const ml_XgbLabels *l, size_t n, const float *sum, const float *weight,
                     uint64_t seed, uint32_t round, float *grad, float *hess)
{
    ml_Random r = ml_random("moonloop.model.pairs", round, seed);
    double loss = 0;

    memset(grad, 0, n * sizeof *grad);
    memset(hess, 0, n * sizeof *hess);
    for (uint32_t g = 0; g < l->n_groups; g++) {
        const uint32_t *of = l->member + l->first[g];
        uint32_t m = l->first[g + 1] - l->first[g];

        for (uint32_t p = 0; p < PARTNERS && m > 1; p++) {
            uint32_t by = 1 + (uint32_t)ml_random_below(&r, m - 1);

            for (uint32_t k = 0, to = by; k < m; k++, to = to + 1 == m ? 0 : to + 1) {
                uint32_t a = of[k], b = of[to];
                float more = l->y[a] > l->y[b] ? l->y[a] : l->y[b];
                float w = weight[a] * weight[b] * more * fabsf(l->y[a] - l->y[b]);

                if (w == 0)
                    continue;
                loss += l->y[a] > l->y[b] ? meet(a, b, w, sum, grad, hess)
                                          : meet(b, a, w, sum, grad, hess);
            }
        }
    }
    return loss;
}

double ml_loss_validity(size_t n, const float *sum, const float *y, float *grad,
                        float *hess)
{
    double loss = 0;

    for (size_t s = 0; s < n; s++) {
        float p = 1 / (1 + expf(-sum[s])), ran = y[s] > 0;

        grad[s] = p - ran;
        hess[s] = p * (1 - p);
        loss += log1p(exp((double)(ran ? -sum[s] : sum[s])));
    }
    return loss;
}
