/* timing - timing versions of schedules, beside others and the machine's limits. Source:
 * interaction 8. */
#ifndef ML_WORK_TIMING_H
#define ML_WORK_TIMING_H

#include "moonloop/codegen/measure/contest.h"
#include "moonloop/work/bound.h"
#include "moonloop/work/say.h"
#include "moonloop/work/work.h"

typedef struct ml_TimingOpts {
    const ml_Size *sizes;
    size_t n_sizes;
    uint64_t seed;
    bool cold, report;   /* report: at least 20 samples of 10 ms */
    uint32_t runs;       /* samples; 0: as many as the report needs */
    double limit;        /* seconds that one call may take; 0: 10 */
    const char *against; /* "openblas", or NULL */
    bool alone;          /* the start is not timed for comparison */
} ml_TimingOpts;

/* Another version that a timing is compared with. */
typedef struct ml_Baseline {
    int version;            /* -1: there is none */
    double seconds, spread; /* median as it was timed last; NAN: it was not */
    /* How much faster the timed one is: by turns where a run takes 50 ms at most, else by
     * medians of this session. NAN: unknown */
    double ratio;
} ml_Baseline;

typedef struct ml_Timing {
    const char *schedule, *speed; /* its name; as the list of versions shows it */
    int version;                  /* -1: it is of no schedule */
    ml_TimeReport t;
    uint32_t threads;
    double flop, bytes; /* of the start version; bytes that must move at least */
    ml_Baseline start, parent, best; /* parent: the version before; best of those timed */
    uint32_t times; /* that it was timed in this session, from `least` to `most` seconds */
    double least, most;
    bool noisy;
    double share, peak, nominal; /* of the machine's peak; NAN: not known */
    ml_Roof roof;                /* of the version's threads and operations */
    double moved; /* share of the roof's bandwidth that the bytes take; NAN: not known */
    double bound, of_bound; /* seconds that the machine needs; its share of the median.
                               NAN: not known */
    ml_TimeBound bounded;   /* where that is from */
    bool has_roof, by_hand; /* by_hand: the user gave the peak */
    const char *rival;      /* name, or NULL */
    const char *no_rival;   /* why there is none, when one was asked for */
    ml_TimeReport rival_t;  /* sampled by turns with t */
} ml_Timing;

/* What the speed of a program with that roof is told of. */
ml_Amount ml_timing_amount(double flop, double bytes, const ml_Roof *roof);
/* The same of a timing. */
ml_Amount ml_timing_of(const ml_Timing *t);
/* Operations of a function, symbolic sizes as they were given. */
double ml_timing_flop(ml_Ctx *cx, const ml_Func *f, const ml_TimingOpts *o);
bool ml_is_parallel(const ml_Func *f); /* some loop is */
/* Threads that it can use: one where no loop is parallel. */
uint32_t ml_timing_threads(const ml_Engine *e, const ml_Func *f);
/* Relative spread from which on a measurement counts as noisy: interaction 8. */
#define ML_NOISY 0.05
/* Times function `at` of a version. false: cx's error. Texts are in cx. */
bool ml_timing_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version, uint32_t at,
                   const ml_TimingOpts *o, ml_Timing *out);
/* Times one function by itself, as code and target say; `flop` is what it computes. */
bool ml_timing_work(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, double flop,
                    const ml_Target *target, const ml_CodeOpts *code,
                    const ml_TimingOpts *o, ml_Timing *out);
/* What a process of its own has measured, of the function worked on, as :time does without
 * options. */
void ml_timing_remember(ml_Engine *e, ml_Schedule *s, int version, double seconds,
                        double spread);
/* Median seconds of a version as it was timed last; NAN: it was not. */
double ml_timing_known(ml_Ctx *cx, const ml_Engine *e, ml_Schedule *s, int version,
                       uint32_t at, const ml_TimingOpts *o);

#endif
