/*
 * reference - the arguments of a workload and what its start version makes of them,
 * computed once: in the interpreter when it is small, else compiled without contraction.
 *
 * Source: lowering-and-codegen 12.11; interaction 8.
 */
#include "tune/search/tuner_impl.h"

#include "codegen/measure/bound.h"
#include "codegen/measure/compiled.h"

#include <math.h>

/* Iterations that a compiled loop does in a second at least; what the interpreter is given.
 */
enum { LEAST_SECONDS = 10, MOST_SECONDS = 120, PER_SECOND = 50000000, STEPS = 50000000 };

typedef struct Reference {
    ml_Tuner *t;
    ml_Ctx *cx;
    uint32_t n;
    ml_ParamRole *roles;
    ml_RunArg *initial;
    ml_Reference *ref;
    ml_RunArg *expected; /* ref's */
    ml_CheckOpts opts;
} Reference;

static ml_WorkSet *make_set(Reference *r, bool compare)
{
    const ml_Func *f = r->t->func;
    ml_WorkArg *args = ML_ARRAY(r->cx, ml_WorkArg, r->n + 1u);

    for (uint32_t k = 0; k < r->n; k++) {
        const ml_Tensor *x = r->initial[k].tensor;

        args[k] = (ml_WorkArg){.is_tensor = x != NULL};
        if (x == NULL) {
            args[k].scalar = r->initial[k];
            args[k].type = f->params[k].var->type;
            continue;
        }
        args[k].type = x->type;
        args[k].rank = x->rank;
        args[k].shape = x->shape;
        args[k].initial = r->roles[k].output ? NULL : x;
        args[k].written = r->roles[k].written;
        if (compare && r->roles[k].written) {
            args[k].expected = r->expected[k].tensor;
            args[k].tolerance = ml_check_tolerance(&r->opts, &r->ref->bounds[k]);
        }
    }
    return ml_workset_new(r->cx, args, r->n);
}

static bool copy_initial(Reference *r)
{
    for (uint32_t k = 0; k < r->n; k++) {
        r->expected[k] = r->initial[k];
        if (r->initial[k].tensor == NULL)
            continue;
        r->expected[k].tensor = ml_tensor_copy(r->cx, r->initial[k].tensor);
        if (r->expected[k].tensor == NULL)
            return false;
    }
    return true;
}

static bool interpret(Reference *r)
{
    const ml_InterpOpts io = {.skip = ML_SKIP_RACES, .max_iterations = STEPS};

    for (uint32_t k = 0; k < r->n; k++)
        if (r->roles[k].output && r->expected[k].tensor &&
            !ml_tensor_track(r->cx, r->expected[k].tensor, 0))
            return false;
    return ml_interpret(r->cx, r->t->mod, r->t->func, r->expected, r->n, &io, NULL);
}

/* Long enough for the iterations that are known of; a loop without bounds counts once. */
static double seconds_for(int64_t iterations)
{
    double s = iterations == ML_INF ? 0 : (double)iterations / PER_SECOND;

    return fmin(fmax(s, LEAST_SECONDS), MOST_SECONDS);
}

static bool gave_up(Reference *r, double seconds)
{
    return ml_fail(r->cx, ML_E_WORKER_TIMEOUT,
                   ML_TEXT(ml_format(r->cx,
                                     "the start version ran longer than %.0f s; there is "
                                     "nothing to compare candidates with",
                                     seconds)));
}

static bool compiled(Reference *r, ml_Worker *w, int64_t iterations)
{
    double limit = seconds_for(iterations);
    ml_WorkSet *set = make_set(r, false);
    ml_Job j = {.program = r->t->program,
                .func = r->t->func->name,
                .target = r->t->target,
                .code = {.no_contract = true},
                .set = set,
                .want = ML_WANT_OUTPUTS,
                .run_limit = limit};
    ml_JobResult out;
    bool ok = set && ml_worker_run(w, r->cx, &j, &out);

    if (ok && !out.ok && out.code == ML_E_WORKER_TIMEOUT && out.phase &&
        ml_streq(out.phase, "run"))
        ok = gave_up(r, limit);
    else if (ok && !out.ok)
        ok = ml_job_fail(r->cx, &out, "the start version");
    r->t->start_seconds = ok ? out.run_seconds : 0;
    for (uint32_t k = 0; ok && k < r->n; k++)
        ok = !r->expected[k].tensor || !r->roles[k].written ||
             ml_workset_output(set, k, r->expected[k].tensor);
    ml_workset_free(set);
    return ok;
}

/* What is small is interpreted; more steps than its bounds say (a loop without any) are
 * left to compiled code. */
static bool reference(Reference *r, ml_Worker *w)
{
    int64_t n = ml_count_iterations(r->cx, r->t->func, NULL, 0);
    const ml_Error *e;

    if (n < ML_INTERP_REFERENCE) {
        r->t->start_seconds = (double)n / PER_SECOND;
        if (interpret(r))
            return true;
        e = ml_error(r->cx);
        if (e == NULL || e->code != ML_E_TOO_LARGE)
            return false;
        ml_error_clear(r->cx);
        ml_inputs_free(r->expected, r->n);
        if (!copy_initial(r))
            return false;
    }
    return compiled(r, w, n);
}

/* How far candidates may be from it: the start in the next wider type, too. */
static bool bounds(Reference *r, ml_Worker *w)
{
    int64_t n = ml_count_iterations(r->cx, r->t->func, NULL, 0);
    ml_WideWorker by = {w, &r->t->target, seconds_for(n)};
    ml_WideRun wide = {0};

    r->opts.wide_one_in = n < ML_INTERP_REFERENCE ? 0 : ML_WIDE_ONE_IN;

    if (!ml_wide_run(r->cx, r->t->func, &r->opts, r->roles, r->initial, ml_wide_compiled,
                     &by, &wide))
        return false;
    ml_bounds_find(r->cx, r->t->func, r->roles, &wide, r->expected, r->ref->bounds);
    ml_wide_free(&wide);
    return true;
}

bool ml_reference_make(ml_Tuner *t, ml_Ctx *cx, ml_Worker *w)
{
    Reference r = {.t = t, .n = t->func->n_params, .opts = {.inputs = ML_FILL_RANDOM}};
    bool ok;

    r.cx = ml_ctx_fork(t->base);
    ml_ctx_limits_of(r.cx, t->tmp);
    r.roles = ML_ARRAY(r.cx, ml_ParamRole, r.n + 1u);
    r.initial = ML_ARRAY(r.cx, ml_RunArg, r.n + 1u);
    r.ref = ml_reference_new(r.n);
    r.expected = r.ref->v;
    ml_param_roles(r.cx, t->func, NULL, 0, r.roles);
    ok = ml_inputs_make(r.cx, t->func, &r.opts, r.roles, r.initial) && copy_initial(&r);
    if (ok && reference(&r, w) && bounds(&r, w))
        t->set = make_set(&r, true);
    if (t->set == NULL)
        ml_error_move(cx, r.cx);
    ml_inputs_free(r.initial, r.n);
    ml_reference_free(r.ref);
    ml_ctx_unref(r.cx);
    return t->set != NULL;
}
