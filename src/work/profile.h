/* profile - the nests of a version timed one by one. Source: interaction 8 (:profile). */
#ifndef ML_WORK_PROFILE_H
#define ML_WORK_PROFILE_H

#include "moonloop/codegen/measure/nests.h"
#include "moonloop/work/timing.h"

typedef struct ml_NestTime {
    ml_Nest nest;
    double flop;    /* that the nest computes, recomputation included; 0: not known */
    double seconds; /* median of a call */
    double spread;  /* MAD / median */
    ml_Counters counters;
} ml_NestTime;

typedef struct ml_Profile {
    ml_Timing whole; /* `alone`: without start and machine */
    double flop;     /* of the version */
    double sum;      /* of the nests' medians */
    ml_Counters counters;
    uint32_t n;
    const ml_NestTime *nests;
    const char *together; /* why there is one nest only; NULL */
} ml_Profile;

/* told (may be NULL) is called before nest k of n is timed. false: cx's error. */
bool ml_profile_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version, uint32_t at,
                    const ml_TimingOpts *o,
                    void (*told)(void *user, uint32_t k, uint32_t n), void *user,
                    ml_Profile *out);

#endif
