/* reference - see reference.h. */
#include "moonloop/codegen/measure/reference.h"
#include "moonloop/codegen/measure/bound.h"

#include <math.h>
#include <stdlib.h>

enum {
    PER_SECOND = 50000000, /* iterations that a compiled loop does at least */
    LEAST_SECONDS = 10,
    MOST_SECONDS = 120,
    WIDE_INTERPRETED = 100000, /* iterations: to compile the wider type takes longer */
    WIDE_MOST = 1 << 26,       /* iterations in the wider type, about */
    QUICK_FROM = 1 << 24,      /* iterations of a start that takes long */
};

typedef struct Start {
    ml_Ctx *cx;
    const ml_Work *work;
    const ml_CheckOpts *opts;
    const ml_ParamRole *roles;
    const ml_RunArg *initial;
    const ml_StartRun *by; /* or NULL */
    double limit;
    int64_t iterations;
    ml_Reference *r;
} Start;

ml_Reference *ml_reference_new(uint32_t n)
{
    ml_Reference *r = calloc(1, sizeof *r);

    if (r == NULL || (r->v = calloc(n + 1u, sizeof *r->v)) == NULL ||
        (r->bounds = calloc(n + 1u, sizeof *r->bounds)) == NULL)
        ml_out_of_memory();
    r->n = n;
    return r;
}

void ml_reference_free(ml_Reference *r)
{
    if (r == NULL)
        return;
    ml_inputs_free(r->v, r->n);
    free(r->v);
    free(r->bounds);
    free(r);
}

/* Long enough for the iterations that are known of; a loop without bounds counts once. */
static double seconds_of(int64_t iterations)
{
    return iterations == ML_INF ? 0 : (double)iterations / PER_SECOND;
}

static bool run(Start *s, const ml_Work *work, bool contract, ml_JobResult *job)
{
    const ml_Run run = {.worker = s->by->worker,
                        .target = s->by->target,
                        .work = work,
                        .func = s->work->func,
                        .roles = s->roles,
                        .contract = contract,
                        .limit = s->limit};

    s->r->compiled = true;
    if (!ml_run_compiled(s->cx, &run, s->initial, s->r->v, job))
        return false;
    s->r->seconds = job->run_seconds;
    return true;
}

static bool compile(Start *s)
{
    ml_JobResult job;

    if (!run(s, s->work, false, &job))
        return false;
    if (job.ok)
        return true;
    if (job.code != ML_E_WORKER_TIMEOUT || !job.phase || !ml_streq(job.phase, "run"))
        return ml_job_fail(s->cx, &job, "the start version");
    return ml_fail(s->cx, ML_E_WORKER_TIMEOUT,
                   ML_TEXT(ml_format(s->cx,
                                     "the start version ran longer than %.0f s; there is "
                                     "nothing to compare with",
                                     s->limit)));
}

static bool interpret(Start *s)
{
    const ml_InterpOpts io = {.skip = s->opts->skip,
                              .max_iterations = s->by ? s->by->steps : 0};
    const ml_Error *e;

    s->r->seconds = seconds_of(s->iterations);
    if (!ml_inputs_copy(s->cx, NULL, s->roles, s->initial, s->r->n, s->r->v))
        return false;
    if (ml_interpret(s->cx, s->work->mod, s->work->func, s->r->v, s->r->n, &io, NULL))
        return true;
    e = ml_error(s->cx);
    if (io.max_iterations == 0 || e == NULL || e->code != ML_E_TOO_LARGE) {
        ml_error_note(s->cx, "in the start version");
        return false;
    }
    ml_error_clear(s->cx);
    ml_inputs_free(s->r->v, s->r->n);
    memset(s->r->v, 0, s->r->n * sizeof *s->r->v);
    return compile(s);
}

/* ml_WideFn: compiled, without contraction. */
static bool run_wide(ml_Ctx *cx, const ml_Wide *w, const ml_ParamRole *roles,
                     ml_RunArg *args, void *user)
{
    const Start *s = user;
    const ml_Work work = {.mod = w->mod, .func = w->func};
    const ml_Run run = {.worker = s->by->worker,
                        .target = s->by->target,
                        .work = &work,
                        .func = w->func,
                        .roles = roles,
                        .limit = s->limit};
    ml_JobResult job;

    return ml_run_compiled(cx, &run, args, args, &job) &&
           (job.ok || ml_job_fail(cx, &job, "the start version, widened"));
}

/* How far from it is right. A long start is widened in some of its iterations. */
static bool find_bounds(Start *s)
{
    ml_CheckOpts opts = *s->opts;
    bool here = !s->by || (!s->r->compiled && s->iterations < WIDE_INTERPRETED);
    ml_WideRun wide = {0};

    if (s->by && s->iterations >= ML_INTERP_REFERENCE) {
        int64_t one_in = s->iterations / WIDE_MOST;

        opts.wide_one_in = one_in > ML_WIDE_ONE_IN ? (uint32_t)one_in : ML_WIDE_ONE_IN;
    }
    if (!ml_wide_run(s->cx, s->work->func, &opts, s->roles, s->initial,
                     here ? ml_wide_interpret : run_wide, s, &wide))
        return false;
    ml_bounds_find(s->cx, s->work->func, s->roles, &wide, s->r->v, s->r->bounds);
    ml_wide_free(&wide);
    return true;
}

static bool is_vouched_for(const Start *s)
{
    for (uint32_t k = 0; k < s->r->n; k++)
        if (s->roles[k].written && (s->r->bounds[k].exact || !s->r->bounds[k].agrees))
            return false;
    return true;
}

/* false: the start itself is to be run. */
static bool run_quick(Start *s)
{
    ml_JobResult job;

    if (!s->by || !s->by->quick || s->iterations < QUICK_FROM)
        return false;
    if (run(s, s->by->quick, true, &job) && job.ok && find_bounds(s) && is_vouched_for(s))
        return true;
    ml_error_clear(s->cx); /* an interruption is found again */
    ml_inputs_free(s->r->v, s->r->n);
    memset(s->r->v, 0, s->r->n * sizeof *s->r->v);
    memset(s->r->bounds, 0, s->r->n * sizeof *s->r->bounds);
    return false;
}

ml_Reference *ml_reference_make(ml_Ctx *cx, const ml_Work *start, const ml_CheckOpts *opts,
                                const ml_ParamRole *roles, const ml_RunArg *initial,
                                const ml_StartRun *by)
{
    int64_t n = ml_count_iterations(cx, start->func, opts->sizes, opts->n_sizes);
    Start s = {cx, start, opts, roles, initial, by, by ? by->limit : 0, n, NULL};

    if (!(s.limit > 0))
        s.limit = fmin(fmax(seconds_of(n), LEAST_SECONDS), MOST_SECONDS);
    s.r = ml_reference_new(start->func->n_params);
    if (run_quick(&s))
        return s.r;
    if ((by && n >= ML_INTERP_REFERENCE ? compile(&s) : interpret(&s)) && find_bounds(&s))
        return s.r;
    ml_reference_free(s.r);
    return NULL;
}
