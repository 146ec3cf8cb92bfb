/* timing_impl - what the files of timing share. */
#ifndef ML_WORK_TIMING_IMPL_H
#define ML_WORK_TIMING_IMPL_H

#include "moonloop/work/timing.h"

/* What is at work: a version, its arguments, and where it runs. */
typedef struct ml_TimingRun {
    ml_Ctx *cx;
    ml_Engine *e;
    ml_Worker *w;
    ml_Schedule *s;
    int version;
    uint32_t at;
    const ml_Work *work;
    const ml_WorkSet *set;
    const ml_TimingOpts *o;
    ml_Timing *out;
} ml_TimingRun;

/* The key of a function's times: its hash with all that they depend on. */
uint64_t ml_timing_key(ml_Ctx *cx, const ml_Engine *e, const ml_Func *f,
                       const ml_TimingOpts *o);
ml_TimeOpts ml_timing_opts(const ml_Engine *e, const ml_TimingOpts *o);
/* Spread of the last timing, or half the range of all of this session where that is more.
 */
double ml_timing_spread(const ml_Engine *e, uint64_t key);
/* Random arguments of f. NULL: cx's error. */
ML_GIVES ml_WorkSet *ml_timing_inputs(ml_Ctx *cx, const ml_Func *f, const char *id,
                                      const ml_TimingOpts *o);
/* Whether the machine at hand can run it, and the sizes fit; false: cx's error. */
bool ml_timing_may(ml_Ctx *cx, ml_Schedule *s, const ml_Work *work, const ml_TimingOpts *o);

/* What failed was one baseline, or the machine: the error is cleared. false: all is
 * interrupted. */
bool ml_timing_goes_on(ml_Ctx *cx);

/* baseline.c: start, parent and best of r->out, and how they compare. false:
 * interrupted. */
bool ml_timing_compare(const ml_TimingRun *r);
/* roofs.c: the bytes of `start`, and how near out, a timing of `version`, is to the machine's
 * limits, as far as they can be measured; false: interrupted. */
bool ml_timing_roof(ml_Ctx *cx, ml_Engine *e, const ml_Func *start, const ml_Func *version,
                    const ml_TimingOpts *o, ml_Timing *out);

#endif
