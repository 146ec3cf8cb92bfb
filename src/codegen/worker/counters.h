/* counters - what the processor counts while a kernel runs. Source: interaction 8. */
#ifndef ML_CODEGEN_WORKER_COUNTERS_H
#define ML_CODEGEN_WORKER_COUNTERS_H

#include "moonloop/codegen/worker/timing.h"

/* Calls it again, about as long as a sample takes, with all threads of the process watched;
 * seconds: of a call. What cannot be counted is left out. */
void ml_count_events(const ml_Kernel *k, double seconds, ml_Counters *out, int32_t *status);

#endif
