/* roofs - the measured roofs of this machine, and the versions that were timed under them.
 * Source: interaction 8. */
#ifndef ML_WORK_ROOFS_H
#define ML_WORK_ROOFS_H

#include "moonloop/core/vec.h"
#include "moonloop/work/bound.h"
#include "moonloop/work/timing.h"

typedef struct ml_RoofPoint {
    int version;
    double seconds;
    bool current;
    double bound; /* seconds that the machine needs for what it does; NAN: not known */
} ml_RoofPoint;
typedef ML_VEC(ml_RoofPoint) ml_RoofPoints;

typedef struct ml_Roofline {
    const char *cpu;
    ml_Dtype type;
    uint32_t threads;
    double peak;                         /* operations per second; NAN: not measured */
    double bandwidth[ML_MACHINE_LEVELS]; /* bytes per second; NAN: not measured */
    double flop, bytes;                  /* of the start; 0: no schedule, or not known */
    ml_Demand demand;                    /* the same with functions of floats */
    ml_Roof roof;                        /* of that */
    ml_TimeBound bound;                  /* of that */
    bool no_peak;                        /* what it computes has no measured peak */
    ml_RoofPoints points;                /* timed versions, ascending */
} ml_Roofline;

/* Of function `at` of s (NULL: the machine alone). Measures the machine when it is not
 * known: ml_machine_known tells before. Lives in cx. false: cx's error. */
bool ml_roofline_of(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                    const ml_TimingOpts *o, ml_Roofline *out);
/* What the speed of s's program is told of, by what is known of the machine: nothing is
 * measured. roof (may be NULL): operations or bytes per second that so many threads (0: e's)
 * do at most; NAN: not known. */
ml_Amount ml_own_amount(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                        uint32_t threads, double *roof);
/* Seconds that the function of m takes at least with so many threads (0: e's), by what is
 * known of the machine; 0: not known. */
double ml_own_bound(ml_Engine *e, const ml_Module *m, const char *func, uint32_t threads);
/* The same without points: no version is looked at, and functions of floats count where
 * their rates are known. */
bool ml_roofline_roofs(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at,
                       const ml_TimingOpts *o, ml_Roofline *out);
/* The bound of a version under these roofs. */
ml_TimeBound ml_roofline_bound(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version,
                               uint32_t at, const ml_TimingOpts *o, const ml_Roofline *r);

#endif
