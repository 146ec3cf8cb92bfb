/* why - what keeps a version from its bound, and the steps that would change it. Source:
 * interaction 8 (:why-slow). */
#ifndef ML_WORK_WHY_H
#define ML_WORK_WHY_H

#include "moonloop/work/why/model.h"

typedef struct ml_WhyOpts {
    ml_TimingOpts timing;
    bool estimate; /* nothing is timed: the model's seconds count */
    bool measure;  /* steps that are offered are timed, by turns with the version */
} ml_WhyOpts;

typedef struct ml_WhyCause {
    const char *name;     /* "no-vector" */
    const char *block;    /* that it was found in */
    const char *evidence; /* a sentence with its figures */
    uint32_t line;        /* of the text that :show prints; 0: none */
    double gain;          /* predicted: how many times faster; 1: none */
    const char *step;     /* a line as one types it; NULL: none was found that works */
    const char *program;  /* the text with the step */
    const char *code;     /* what the assembly says of its loop; NULL: nobody looked */
    double tried;         /* measured gain; NAN: it was not tried */
} ml_WhyCause;

typedef struct ml_Why {
    const char *schedule;
    int version;
    ml_Timing timing; /* of the version; t.median 0: it was not timed */
    ml_WhyModel model;
    double bound;      /* seconds; NAN: not known */
    double share;      /* of the bound in the time; NAN */
    const char *limit; /* "compute", or a level of memory */
    bool at_bound;
    uint32_t n;
    ml_WhyCause *causes; /* the largest predicted gain first */
} ml_Why;

/* Of function `at` of the current version; lives in cx. told (may be NULL) is called as it
 * goes on. false: cx's error. */
bool ml_why_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, uint32_t at, const ml_WhyOpts *o,
                void (*told)(void *user, double share), void *user, ml_Why *out);

#endif
