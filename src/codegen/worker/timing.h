/* timing - samples of a kernel's time. Source: lowering-and-codegen 12. */
#ifndef ML_CODEGEN_WORKER_TIMING_H
#define ML_CODEGEN_WORKER_TIMING_H

#include "moonloop/codegen/runtime/runtime.h"
#include "moonloop/codegen/worker/worker.h"

/* What is called: fn(words), or a function of a library with its own state. */
typedef struct ml_Kernel {
    ml_KernelFn *fn;
    const ml_Word *words;
    void (*tick)(void *); /* after each batch of calls; or NULL */
    void *user;
} ml_Kernel;
typedef struct ml_Evict { /* memory to be out of the caches before a cold call */
    const void *v;
    size_t n;
} ml_Evict;
typedef struct ml_Samples {
    double v[ML_MAX_SAMPLES];
    size_t n;
    bool given_up;
    uint64_t switches;
    int32_t status; /* of the last call: not 0 ends sampling */
} ml_Samples;
typedef struct ml_Sampling {
    ml_TimingMode mode;
    double best;   /* TUNE: minimum known so far; 0: none */
    uint32_t runs; /* samples, at most ML_MAX_SAMPLES; 0: as mode says */
    const ml_Evict *cold;
    size_t n_cold;
} ml_Sampling;
/* Whether a single call that takes so long is enough to give up, when the best takes `best`
 * (0: there is none); never of calls that are not long. */
bool ml_time_hopeless(double call, double best);
void ml_time_kernel(const ml_Kernel *k, const ml_Sampling *how, ml_Samples *out);
/* Middle of n values (sorted in place), and the median absolute deviation from it. */
double ml_median(double *v, size_t n);
double ml_mad(const double *v, size_t n, double median);

#endif
