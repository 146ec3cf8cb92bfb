/* contest - programs timed, alone or by turns with others. Source: interaction 8. */
#ifndef ML_CODEGEN_CONTEST_H
#define ML_CODEGEN_CONTEST_H

#include "moonloop/codegen/measure/run.h"

typedef struct ml_TimeOpts {
    ml_Target target;
    ml_CodeOpts code;
    ml_TimingMode mode;
    bool cold;
    uint32_t runs;  /* samples; 0: as mode says */
    double limit;   /* seconds that a job may run; 0: 10 */
    bool counters;  /* what the processor counts, too: job.counters */
    bool unguarded; /* without the run between guard pages that comes first */
} ml_TimeOpts;
typedef struct ml_TimeReport {
    double median, min, p90, spread; /* seconds; spread: MAD / median */
    size_t n;                        /* samples */
    uint64_t switches;
    ml_JobResult job; /* of the last job */
} ml_TimeReport;
/* Times one function on given arguments. false: cx's error (a failed job's too). */
bool ml_time_work(ml_Ctx *cx, ml_Worker *w, const ml_Work *work, const ml_WorkSet *set,
                  const ml_TimeOpts *o, ml_TimeReport *out);
/* Times contenders by turns, `rounds` samples-batches each: work (NULL: the library) k in
 * worker w[k], so that thread pools are apart. reports[n]. */
typedef struct ml_Contender {
    ml_Worker *worker;
    const ml_Work *work;
    const char *library; /* "openblas:sgemm" */
} ml_Contender;
bool ml_time_contest(ml_Ctx *cx, const ml_Contender *c, size_t n, const ml_WorkSet *set,
                     const ml_TimeOpts *o, int rounds, ml_TimeReport *reports);

#endif
