/*
 * profile - each nest is a function of its own, compiled and timed like a whole program.
 *
 * What a nest reads from an earlier one are random numbers then, and its arguments are as
 * warm as its own last call left them: the sum need not be the time of the whole, and both
 * are told.
 */
#include "repl/bind/profile.h"

#include "core/walk.h"
#include "repl/bind/checking.h"
#include "verify/verify.h"

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
    const ml_CheckOpts inputs = {.inputs = ML_FILL_RANDOM,
                                 .seed = o->seed,
                                 .id = id,
                                 .sizes = o->sizes,
                                 .n_sizes = o->n_sizes};
    const ml_TimeOpts to = {.target = *ml_engine_target(e),
                            .code = {.threads = ml_engine_threads(e)},
                            .mode = mode,
                            .cold = o->cold,
                            .counters = true,
                            .runs = o->runs,
                            .limit = o->limit};
    ml_Worker *w = ml_engine_worker(e, cx, 0);
    ml_WorkSet *set = w ? ml_inputs_share(cx, work->func, &inputs) : NULL;
    bool ok = set && ml_time_work(cx, w, work, set, &to, out);

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
    const char *target = ml_work_foreign(cx, s);
    const char *foreign = target ? target : ml_work_for_gpu(cx, work.func);
    const char *bad_size =
        ml_checking_bad_size(cx, work.mod, work.func, o->sizes, o->n_sizes);
    ml_NestVec nests = {0};

    *out = (ml_Profile){0};
    if (foreign)
        return ml_fail(cx, ML_E_NO_DEVICE, ML_TEXT(foreign));
    if (bad_size)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT(ml_format(cx, "shape: %s", bad_size)));
    ml_nests_split(cx, work.func, &nests, &out->together);
    if (told)
        told(user, 0, (uint32_t)nests.n + 1);
    if (!time_one(cx, e, &work, ml_schedule_name(s), o, mode_of(o, 1), &out->whole.t))
        return false;
    out->whole.threads = ml_timing_threads(e, work.func);
    out->whole.noisy = out->whole.t.spread > 0.05;
    out->counters = out->whole.t.job.counters;
    out->flop = ml_timing_flop(cx, work.func, o);
    return time_nests(cx, e, &work, ml_schedule_name(s), &nests, o, told, user, out);
}
