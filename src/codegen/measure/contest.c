/* contest - samples of programs by turns, and what they say together. */
#include "moonloop/codegen/measure/contest.h"

#include "moonloop/codegen/worker/timing.h"
#include "moonloop/core/vec.h"

/* Median, minimum and the rest of samples in any order. */
static void summarise_samples(ml_Ctx *cx, const double *samples, size_t n,
                              ml_TimeReport *out)
{
    double *v = ML_ARRAY(cx, double, n + 1);

    out->n = n;
    if (n == 0)
        return;
    memcpy(v, samples, n * sizeof *v);
    out->median = ml_median(v, n); /* sorts v */
    out->min = v[0];
    out->p90 = v[(n * 9) / 10 < n ? (n * 9) / 10 : n - 1];
    out->spread = out->median > 0 ? ml_mad(v, n, out->median) / out->median : 0;
}

static ml_Job timing_job(ml_Ctx *cx, const ml_Contender *c, const ml_WorkSet *set,
                         const ml_TimeOpts *o)
{
    return (ml_Job){.binary = ml_work_binary(cx, c->work),
                    .program = c->work ? c->work->text : NULL,
                    .func = c->work ? c->work->func->name : NULL,
                    .library = c->library,
                    .target = o->target,
                    .code = o->code,
                    .set = set,
                    .want = ML_WANT_TIMES | (o->counters ? ML_WANT_COUNTERS : 0u),
                    .timing = o->mode,
                    .cold = o->cold,
                    .runs = o->runs,
                    .run_limit = o->limit};
}

bool ml_time_contest(ml_Ctx *cx, const ml_Contender *c, size_t n, const ml_WorkSet *set,
                     const ml_TimeOpts *o, int rounds, ml_TimeReport *reports)
{
    ML_VEC(double) *all = (void *)ml_zalloc(cx, n * sizeof *all);

    for (size_t k = 0; k < n; k++)
        reports[k] = (ml_TimeReport){0};
    for (int round = 0; round < rounds; round++)
        for (size_t k = 0; k < n; k++) {
            ml_Job j = timing_job(cx, &c[k], set, o);
            ml_JobResult *r = &reports[k].job;

            if (round == 0 && c[k].work && !o->unguarded)
                j.want |= ML_WANT_CHECK; /* a wild program ends here, not in a sample */
            if (!ml_worker_run(c[k].worker, cx, &j, r))
                return false;
            if (!r->ok)
                return ml_job_fail(cx, r, c[k].work ? c[k].work->func->name : c[k].library);
            reports[k].switches += r->switches;
            for (size_t s = 0; s < r->n_samples; s++)
                ml_push(cx, &all[k], r->samples[s]);
        }
    for (size_t k = 0; k < n; k++)
        summarise_samples(cx, all[k].v, all[k].n, &reports[k]);
    return true;
}

bool ml_time_work(ml_Ctx *cx, ml_Worker *w, const ml_Work *work, const ml_WorkSet *set,
                  const ml_TimeOpts *o, ml_TimeReport *out)
{
    const ml_Contender one = {.worker = w, .work = work};

    return ml_time_contest(cx, &one, 1, set, o, 1, out);
}
