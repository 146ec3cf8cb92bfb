/*
 * analytic - the time of a candidate by roofs: the longest of arithmetic, loads, stores,
 * chains of results and bytes that move between caches, for each stored buffer.
 *
 * Times are cycles of one core with two vector pipes, two loads and one store a cycle; only
 * their relation matters, since scores are compared within one task. The rates of caches are
 * those that put 264 measured candidates of five products and convolutions best in order, on
 * two cores with 512-bit vectors; none of them was held out. Source: auto-scheduler 15.
 */
#include "moonloop/tune/model/model.h"

#include "moonloop/core/error.h"
#include "moonloop/tune/feature/feature.h"

#include <stdlib.h>

typedef struct Analytic {
    ml_Model model;
    double threads;
} Analytic;

/* In one cycle. */
#define PIPES      2.0
#define LOAD_PORTS 2.0
#define L2_BYTES   32.0 /* from the second cache to the first */
#define L3_BYTES   4.0
#define RAM_BYTES  4.0 /* of all cores */
/* In cycles. */
#define TRIP   2.0
#define LAUNCH 4000.0

#define BODY_MOST 512.0 /* operations that are decoded once */
#define HIDDEN    0.2   /* of what is not the longest, so much shows */

static double number(const float *row, int k)
{
    return exp2((double)row[k]) - 1;
}

static double longest(const double *v, size_t n, double *sum)
{
    double most = 0;

    *sum = 0;
    for (size_t k = 0; k < n; k++) {
        most = v[k] > most ? v[k] : most;
        *sum += v[k];
    }
    return most;
}

/* Cycles of one stored buffer. */
static double row_time(const Analytic *a, const float *row)
{
    double share = (double)row[ML_X_SHARE], parallel = number(row, ML_X_PARALLEL);
    double busy = parallel < a->threads ? parallel : a->threads, sum, time;
    const double part[] = {
        number(row, ML_X_VECTOR_OPS) / PIPES,
        number(row, ML_X_LOADS) / LOAD_PORTS,
        number(row, ML_X_STORES),
        number(row, ML_X_CHAIN),
        number(row, ML_X_L1) / L2_BYTES,
        number(row, ML_X_L2) / L3_BYTES,
        number(row, ML_X_L3) / RAM_BYTES * (busy > 1 ? busy : 1),
    };

    time = longest(part, ML_COUNT(part), &sum);
    time += HIDDEN * (sum - time) + number(row, ML_X_TRIPS) * TRIP;
    if (number(row, ML_X_BODY) > BODY_MOST) /* it no longer comes from the loop's buffer */
        time *= 1 + 0.1 * log2(number(row, ML_X_BODY) / BODY_MOST);
    return time * share + number(row, ML_X_LAUNCHES) * LAUNCH;
}

static bool score(ml_Model *m, ml_Ctx *cx, const ml_Samples *s, double *out)
{
    const Analytic *a = (const Analytic *)m;

    if (s->columns < ML_X_END)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("the analytic model needs the extended set of features"));
    for (size_t k = 0; k < s->n; k++) {
        double time = 0;

        for (uint32_t r = s->begin[k]; r < s->begin[k + 1]; r++)
            time += row_time(a, s->rows + (size_t)r * s->columns);
        out[k] = s->begin[k] < s->begin[k + 1] ? -log2(time + 1) : -1000;
    }
    return true;
}

static void close_analytic(ml_Model *m)
{
    free(m);
}

ml_Model *ml_model_analytic(uint32_t threads)
{
    static const ml_ModelKind kind = {
        .name = "analytic", .score = score, .close = close_analytic};
    Analytic *a = calloc(1, sizeof *a);

    if (a == NULL)
        ml_out_of_memory();
    a->model.kind = &kind;
    a->threads = threads;
    return &a->model;
}
