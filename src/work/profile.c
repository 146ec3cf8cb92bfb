/*
 * profile - each nest is a function of its own, compiled and timed like a whole program.
 *
 * What a nest reads from an earlier one are random numbers then, and its arguments are as
 * warm as its own last call left them: the sum need not be the time of the whole, and both
 * are told.
 */
#include "moonloop/work/profile.h"

#include "moonloop/work/timing_impl.h"

/* Past so many nests each is timed for a few milliseconds only: 0.2 s each would be minutes
 * for hundreds of them, whose shares are small. */
enum { MANY_NESTS = 40 };

static ml_TimingMode mode_of(const ml_TimingOpts *o, size_t nests)
{
    if (o->report)
        return ML_TIMING_REPORT;
    return nests > MANY_NESTS ? ML_TIMING_TURN : ML_TIMING_TIME;
}

static bool time_one(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, const char *id,
                     const ml_TimingOpts *o, ml_TimingMode mode, ml_TimeReport *out)
{
    ml_Worker *w = ml_engine_worker(e, cx, 0);
    ml_WorkSet *set = w ? ml_timing_inputs(cx, work->func, id, o) : NULL;
    ml_TimeOpts to = ml_timing_opts(e, o);
    bool ok;

    to.mode = mode;
    to.counters = true;
    ok = set && ml_time_work(cx, w, work, set, &to, out);
    ml_workset_free(set);
    return ok;
}

static bool time_nests(ml_Ctx *cx, ml_Engine *e, const ml_Work *work, const char *id,
                       const ml_NestVec *nests, const ml_TimingOpts *o,
                       void (*told)(void *user, uint32_t k, uint32_t n), void *user,
                       ml_Profile *out)
{
    ml_NestTime *v = ML_ARRAY(cx, ml_NestTime, nests->n + 1);
    ml_TimeReport r;

    out->nests = v;
    out->n = (uint32_t)nests->n;
    for (uint32_t k = 0; k < nests->n; k++) {
        ml_Work one = {.func = nests->v[k].func};

        one.mod = ml_module_with(cx, work->mod, one.func);
        if (told)
            told(user, k + 1, out->n + 1);
        if (!time_one(cx, e, &one, id, o, mode_of(o, nests->n), &r))
            return false;
        v[k] = (ml_NestTime){.nest = nests->v[k],
                             .flop = ml_timing_flop(cx, nests->v[k].func, o),
                             .seconds = r.median,
                             .spread = r.spread,
                             .counters = r.job.counters};
        out->sum += r.median;
    }
    return true;
}

bool ml_profile_run(ml_Ctx *cx, ml_Engine *e, ml_Schedule *s, int version, uint32_t at,
                    const ml_TimingOpts *o,
                    void (*told)(void *user, uint32_t k, uint32_t n), void *user,
                    ml_Profile *out)
{
    ml_Work work = ml_work_of(cx, s, version, at);
    ml_NestVec nests = {0};

    *out = (ml_Profile){0};
    if (!ml_timing_may(cx, s, &work, o))
        return false;
    ml_nests_split(cx, work.func, &nests, &out->together);
    if (told)
        told(user, 0, (uint32_t)nests.n + 1);
    if (!time_one(cx, e, &work, ml_schedule_name(s), o, mode_of(o, 1), &out->whole.t))
        return false;
    out->whole.threads = ml_timing_threads(e, work.func);
    out->whole.noisy = out->whole.t.spread > ML_NOISY;
    out->counters = out->whole.t.job.counters;
    out->flop = ml_timing_flop(cx, work.func, o);
    return time_nests(cx, e, &work, ml_schedule_name(s), &nests, o, told, user, out);
}
