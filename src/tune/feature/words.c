/* words - the columns of a row, in order, in words that people use of a schedule. */
#include "moonloop/tune/feature/words.h"

#include "moonloop/tune/feature/feature.h"

enum { BUFFERS = 57, BLOCK = 18, CURVE = BUFFERS + 5 * BLOCK };

/* Of one of the five buffers. */
static const char *const buffer[BLOCK] = {
    "what is read and written",
    "what is read and written",
    "what is read and written",
    "elements touched",
    "size of the data touched",
    "cache lines touched",
    "cache lines touched",
    "kind of reuse",
    "kind of reuse",
    "kind of reuse",
    "distance of reuse",
    "distance of reuse",
    "times of reuse",
    "traffic for each reuse",
    "traffic for each reuse",
    "cache lines for each reuse",
    "cache lines for each reuse",
    "stride of the innermost loop",
};

/* From a column on. */
static const struct {
    uint32_t from;
    const char *words;
} ranges[] = {
    {0, "arithmetic"},
    {7, "index arithmetic"},
    {14, "conditions"},
    {16, "vector width"},
    {27, "unroll"},
    {38, "parallel"},
    {49, "threads of the GPU"},
    {BUFFERS, NULL},
    {CURVE, "arithmetic for each byte, by tile"},
    {157, "temporary buffers"},
    {161, "iterations"},
    {162, "depth of the loops"},
    {163, "unroll"},
    {ML_X_FMA, "arithmetic"},
    {ML_X_VECTOR_OPS, "vector instructions"},
    {ML_X_LOADS, "load instructions"},
    {ML_X_STORES, "store instructions"},
    {ML_X_ACCUMULATORS, "register tile"},
    {ML_X_CHAIN, "waiting for results"},
    {ML_X_L1, "traffic of the first cache"},
    {ML_X_L2, "traffic of the second cache"},
    {ML_X_L3, "traffic of the memory"},
    {ML_X_BODY, "size of the innermost body"},
    {ML_X_TRIPS, "iterations of the outer loops"},
    {ML_X_PARALLEL, "parallel"},
    {ML_X_SHARE, "balance of the threads"},
    {ML_X_LAUNCHES, "starts of threads"},
    {ML_X_GUARDED, "guards"},
    {ML_X_WASTE, "padding"},
    {ML_X_FIT, "size of the innermost data"},
    {ML_X_UNIT, "vectors from element to element"},
    {ML_X_RESERVED, ""},
};

const char *ml_feature_words(uint32_t column)
{
    size_t k = ML_COUNT(ranges);

    if (column >= BUFFERS && column < CURVE)
        return buffer[(column - BUFFERS) % BLOCK];
    while (ranges[k - 1].from > column)
        k--;
    return ranges[k - 1].words;
}
