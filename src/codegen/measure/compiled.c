/* compiled - what is run where, and what is compared. */
#include "codegen/measure/compiled.h"
#include "codegen/measure/bound.h"
#include "codegen/worker/message.h"
#include "codegen/worker/timing.h"
#include "core/compare/equal.h"
#include "core/script/script.h"

#include <stdlib.h>

enum { KEPT_BYTES = 512 << 20, REFERENCE_SECONDS = 120 };

typedef struct Check {
    ml_Ctx *cx;
    ml_Worker *w;
    const ml_Target *target;
    const ml_Work *ref, *got;
    const ml_CheckOpts *opts;
    uint32_t n;
    ml_ParamRole *roles;
    ml_RunArg *initial, *moved, *result; /* moved: where layouts changed */
    ml_Reference *expected;
    ml_CheckResult *r;
    ml_CheckRuns *runs;
    ml_Reference **kept; /* or NULL */
    bool borrowed;       /* expected belongs to *kept */
} Check;

/* ---------------------------------------------------------------- jobs */

static ml_Binary binary_of(ml_Ctx *cx, const ml_Work *work)
{
    return work && !work->text ? ml_binary_write(cx, work->mod, false) : (ml_Binary){0};
}

bool ml_job_fail(ml_Ctx *cx, const ml_JobResult *r, const char *name)
{
    const char *line = r->line ? ml_format(cx, ", line %u", r->line) : "";
    const char *message = r->message ? r->message : "the job failed";
    bool told = r->line && strstr(message, "line ") != NULL;
    const char *where = ml_format(cx, "%s%s", name, told ? "" : line);
    ml_ErrorCode code = r->code != ML_E_OK ? r->code : ML_E_WORKER_CRASHED;
    const char *sentence = ml_error_sentence(code);

    if (ml_streq(sentence, "{0}: {1}")) /* the pass is in the message */
        return ml_fail(cx, code, ML_TEXT(where), ML_TEXT(message));
    if (!ml_streq(sentence, "{0}")) /* it names parts of a program that is elsewhere */
        code = ML_E_CODEGEN_FAILED;
    return ml_fail(cx, code, ML_TEXT(ml_format(cx, "%s: %s", where, message)),
                   ML_TEXT(message));
}

static ml_WorkSet *share(ml_Ctx *cx, const ml_Func *f, const ml_ParamRole *roles,
                         const ml_RunArg *initial)
{
    ml_WorkArg *args = ML_ARRAY(cx, ml_WorkArg, f->n_params + 1u);

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Tensor *t = initial[k].tensor;

        if (t == NULL) {
            args[k].scalar = initial[k];
            args[k].type = f->params[k].var->type;
            continue;
        }
        args[k] = (ml_WorkArg){.is_tensor = true,
                               .type = t->type,
                               .rank = t->rank,
                               .shape = t->shape,
                               .initial = t,
                               .written = roles[k].written};
        if (roles[k].output)
            args[k].initial = NULL;
    }
    return ml_workset_new(cx, args, f->n_params);
}

ml_WorkSet *ml_inputs_share(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts)
{
    const ml_CheckOpts none = {.inputs = ML_FILL_RANDOM};
    const ml_CheckOpts *o = opts ? opts : &none;
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, f->n_params + 1u);
    ml_RunArg *args = ML_ARRAY(cx, ml_RunArg, f->n_params + 1u);
    ml_WorkSet *set = NULL;

    ml_param_roles(cx, f, o->sizes, o->n_sizes, roles);
    if (ml_inputs_make(cx, f, o, roles, args))
        set = share(cx, f, roles, args);
    ml_inputs_free(args, f->n_params);
    return set;
}

/* What a compiled run is given: f's arguments in `initial`. */
typedef struct Run {
    ml_Worker *w;
    const ml_Target *target;
    const ml_Work *work;
    const ml_Func *func; /* of the parameters: what f was before layouts moved */
    const ml_ParamRole *roles;
    bool contract;
    double limit;
} Run;

/* Runs one program on the initial contents and reads what it wrote into `into`. */
static bool run_compiled(ml_Ctx *cx, const Run *run, const ml_RunArg *initial,
                         ml_RunArg *into, ml_JobResult *job)
{
    ml_WorkSet *set = share(cx, run->func, run->roles, initial);
    ml_Job j = {.binary = binary_of(cx, run->work),
                .program = run->work->text,
                .func = run->work->func->name,
                .target = *run->target,
                .code = {.no_contract = !run->contract},
                .set = set,
                .want = ML_WANT_OUTPUTS,
                .run_limit = run->limit};
    bool ok = set && ml_worker_run(run->w, cx, &j, job);

    for (uint32_t k = 0; k < run->func->n_params && ok && job->ok; k++) {
        const ml_Tensor *t = initial[k].tensor;

        if (into != initial)
            into[k] = initial[k];
        if (t == NULL)
            continue;
        if (into != initial)
            into[k].tensor = ml_tensor_copy(cx, t);
        ok = into[k].tensor != NULL &&
             (!run->roles[k].written || ml_workset_output(set, k, into[k].tensor));
    }
    ml_workset_free(set);
    return ok;
}

bool ml_wide_compiled(ml_Ctx *cx, const ml_Wide *w, const ml_ParamRole *roles,
                      ml_RunArg *args, void *user)
{
    const ml_WideWorker *by = user;
    const ml_Work work = {.mod = w->mod, .func = w->func};
    const Run run = {.w = by->worker,
                     .target = by->target,
                     .work = &work,
                     .func = w->func,
                     .roles = roles,
                     .limit = by->limit};
    ml_JobResult job;

    return run_compiled(cx, &run, args, args, &job) &&
           (job.ok || ml_job_fail(cx, &job, "the start version, widened"));
}

/* ---------------------------------------------------------------- the two programs */

/* Everything that decides what the reference computes. */
static uint64_t reference_key(Check *c)
{
    const ml_CheckOpts *o = c->opts;
    const char *id = o->id ? o->id : c->ref->func->name;
    uint64_t h = ml_hash_func(c->cx, c->ref->func, NULL), prime = UINT64_C(0x100000001b3);

    h = (h ^ (o->seed ? o->seed : 1)) * prime;
    h = (h ^ (uint64_t)o->inputs) * prime;
    h = (h ^ ((uint64_t)o->exact | (uint64_t)o->own_tolerance << 1 | o->skip << 2)) * prime;
    for (; *id; id++)
        h = (h ^ (uint8_t)*id) * prime;
    for (size_t k = 0; k < o->n_sizes; k++)
        h = (h ^ (uint64_t)o->sizes[k].value) * prime;
    return h;
}

static bool find_reference(Check *c)
{
    if (!c->kept || !*c->kept || (*c->kept)->n != c->n ||
        (*c->kept)->key != reference_key(c))
        return false;
    c->expected = *c->kept;
    c->borrowed = true;
    return true;
}

static void keep_reference(Check *c)
{
    size_t bytes = 0;

    for (uint32_t k = 0; k < c->n; k++)
        bytes += c->expected->v[k].tensor ? c->expected->v[k].tensor->bytes : 0;
    if (!c->kept || bytes > KEPT_BYTES)
        return;
    c->expected->key = reference_key(c);
    ml_reference_free(*c->kept);
    *c->kept = c->expected;
    c->borrowed = true;
}

/* A long start is widened in some of its iterations. */
static bool compile_reference(Check *c, ml_WideWorker *by)
{
    ml_CheckOpts opts = *c->opts;
    const Run run = {.w = c->w,
                     .target = c->target,
                     .work = c->ref,
                     .func = c->ref->func,
                     .roles = c->roles,
                     .limit = REFERENCE_SECONDS};
    ml_WideRun wide = {0};
    ml_JobResult job;

    c->expected = ml_reference_new(c->n);
    if (!run_compiled(c->cx, &run, c->initial, c->expected->v, &job))
        return false;
    if (!job.ok)
        return ml_job_fail(c->cx, &job, "the start version");
    opts.wide_one_in = ML_WIDE_ONE_IN;
    if (!ml_wide_run(c->cx, c->ref->func, &opts, c->roles, c->initial, ml_wide_compiled, by,
                     &wide))
        return false;
    ml_bounds_find(c->cx, c->ref->func, c->roles, &wide, c->expected->v,
                   c->expected->bounds);
    ml_wide_free(&wide);
    return true;
}

/* What is small is interpreted, in the wider type as far as that takes no longer than to
 * compile it. */
static bool make_reference(Check *c, int64_t iterations)
{
    enum { WIDE_INTERPRETED = 100000 };
    ml_WideWorker by = {c->w, c->target, REFERENCE_SECONDS};

    c->runs->ref_compiled = iterations >= ML_INTERP_REFERENCE;
    if (find_reference(c))
        return true;
    if (!c->runs->ref_compiled)
        c->expected = ml_reference_interpret(
            c->cx, c->ref->mod, c->ref->func, c->opts, c->roles, c->initial,
            iterations < WIDE_INTERPRETED ? ml_wide_interpret : ml_wide_compiled, &by);
    else if (!compile_reference(c, &by))
        return false;
    if (c->expected == NULL)
        return false;
    keep_reference(c);
    return true;
}

/* What a failed run of the current program means. */
static bool judge_failure(Check *c, const ml_JobResult *job)
{
    bool compiling =
        job->phase && (ml_streq(job->phase, "lower") || ml_streq(job->phase, "compile"));

    if (compiling && (job->code == ML_E_LOWERING_FAILED ||
                      job->code == ML_E_NOT_SUPPORTED || job->code == ML_E_NO_TARGET)) {
        c->runs->not_compiled = job->message;
        return true;
    }
    if (job->code == ML_E_MISMATCH) {
        c->r->problem = job->message;
        return true;
    }
    c->runs->line = job->line;
    return ml_job_fail(c->cx, job, c->got->func->name);
}

static bool move_layouts(Check *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        const ml_Tensor *t = c->initial[k].tensor;

        c->moved[k] = c->initial[k];
        if (t == NULL)
            continue;
        c->moved[k].tensor = ml_layout_moved(c->cx, c->opts, k, t);
        if (c->moved[k].tensor == NULL)
            return false;
    }
    return true;
}

static bool move_layouts_back(Check *c)
{
    for (uint32_t k = 0; k < c->n; k++) {
        ml_Tensor *t = c->result[k].tensor;

        if (t == NULL || !ml_layout_is_moved(c->opts, k))
            continue;
        c->result[k].tensor = ml_layout_back(c->cx, c->opts, k, c->initial[k].tensor, t);
        ml_tensor_free(t);
        if (c->result[k].tensor == NULL)
            return false;
    }
    return true;
}

static bool check_current(Check *c)
{
    bool moves = c->opts->n_moved > 0;
    const Run run = {.w = c->w,
                     .target = c->target,
                     .work = c->got,
                     .func = c->ref->func,
                     .roles = c->roles,
                     .contract = true};
    ml_JobResult job;

    if ((moves && !move_layouts(c)) ||
        !run_compiled(c->cx, &run, moves ? c->moved : c->initial, c->result, &job))
        return false;
    if (!job.ok)
        return judge_failure(c, &job);
    c->runs->got_compiled = true;
    if (moves && !move_layouts_back(c))
        return false;
    ml_check_compare(c->cx, c->ref->func, c->opts, c->roles, c->expected, c->result, c->r);
    c->r->ok = c->r->outside == 0 && !*c->r->problem;
    return true;
}

static bool too_large(Check *c, int64_t count, const char *why)
{
    if (count != ML_INF && count > ML_COMPILED_MOST)
        return ml_fail(
            c->cx, ML_E_TOO_LARGE,
            ML_TEXT(ml_format(c->cx,
                              "the program has %lld innermost iterations, compiled "
                              "code is checked up to %lld; check it at smaller sizes",
                              (long long)count, (long long)ML_COMPILED_MOST)),
            ML_NUMBER("iterations", count), ML_NUMBER("limit", ML_COMPILED_MOST));
    ml_fail(
        c->cx, ML_E_TOO_LARGE,
        ML_TEXT(count == ML_INF
                    ? "the program has innermost loops without a known bound: the sizes "
                      "of its symbols are needed (:check --shape n=127)"
                    : ml_format(c->cx,
                                "the program has %lld innermost iterations, the "
                                "interpreter's limit is %d",
                                (long long)count, ML_INTERP_REFERENCE)),
        ML_NUMBER("iterations", count), ML_NUMBER("limit", ML_INTERP_REFERENCE));
    if (why)
        ml_error_note(c->cx, "not compiled: %s", why);
    return false;
}

static bool interpret_only(Check *c, const char *why, int64_t n_ref, int64_t n_got)
{
    c->runs->not_compiled = why;
    c->runs->got_interpreted = true;
    if (n_ref >= ML_INTERP_REFERENCE || n_got >= ML_INTERP_REFERENCE)
        return too_large(c, n_ref > n_got ? n_ref : n_got, why);
    return ml_check(c->cx, c->ref->mod, c->ref->func, c->got->mod, c->got->func, c->opts,
                    c->r);
}

static bool run_all(Check *c, int64_t n_ref, int64_t n_got)
{
    const ml_CheckResult none = *c->r;

    if (!ml_inputs_make(c->cx, c->ref->func, c->opts, c->roles, c->initial) ||
        !make_reference(c, n_ref))
        return false;
    if (n_got < ML_INTERP_TOO && n_ref < ML_INTERP_REFERENCE) {
        c->runs->got_interpreted = true;
        if (!ml_check_interpreted(c->cx, c->ref->func, c->got->mod, c->got->func, c->opts,
                                  c->roles, c->initial, c->expected, c->r))
            return false;
        if (!c->r->ok)
            return true;
        *c->r = none;
    }
    if (!check_current(c))
        return false;
    if (c->runs->not_compiled && !c->runs->got_compiled)
        return interpret_only(c, c->runs->not_compiled, n_ref, n_got);
    return true;
}

bool ml_check_compiled(ml_Ctx *cx, ml_Worker *w, const char *why, const ml_Target *target,
                       const ml_Work *ref, const ml_Work *got, const ml_CheckOpts *opts,
                       ml_Reference **kept, ml_CheckResult *r, ml_CheckRuns *runs)
{
    const ml_CheckOpts none = {.inputs = ML_FILL_RANDOM, .extremes = true};
    Check c = {.cx = cx,
               .w = w,
               .target = target,
               .ref = ref,
               .got = got,
               .opts = opts ? opts : &none,
               .n = ref->func->n_params,
               .r = r,
               .runs = runs,
               .kept = kept};
    int64_t n_ref, n_got;
    bool ok;

    *runs = (ml_CheckRuns){0};
    *r = (ml_CheckResult){
        .largest_at = "", .first_at = "", .problem = "", .bounds = "", .blind = ""};
    r->seed = c.opts->seed ? c.opts->seed : 1;
    c.roles = ML_ARRAY(cx, ml_ParamRole, c.n + 1u);
    c.initial = ML_ARRAY(cx, ml_RunArg, c.n + 1u);
    c.moved = ML_ARRAY(cx, ml_RunArg, c.n + 1u);
    c.result = ML_ARRAY(cx, ml_RunArg, c.n + 1u);
    ml_param_roles(cx, ref->func, c.opts->sizes, c.opts->n_sizes, c.roles);
    n_ref = ml_count_iterations(cx, ref->func, c.opts->sizes, c.opts->n_sizes);
    n_got = ml_count_iterations(cx, got->func, c.opts->sizes, c.opts->n_sizes);
    r->iterations = n_ref;
    if (!ml_check_same_parameters(cx, ref->func, got->func, c.opts))
        ok = false;
    else if (n_ref == ML_INF || n_got == ML_INF)
        ok = too_large(&c, ML_INF, NULL);
    else if (n_ref > ML_COMPILED_MOST || n_got > ML_COMPILED_MOST)
        ok = too_large(&c, n_ref > n_got ? n_ref : n_got, NULL);
    else if (w == NULL)
        ok = interpret_only(&c, why, n_ref, n_got);
    else
        ok = run_all(&c, n_ref, n_got);
    ml_inputs_free(c.initial, c.n);
    ml_inputs_free(c.moved, c.n);
    if (!c.borrowed)
        ml_reference_free(c.expected);
    ml_inputs_free(c.result, c.n);
    return ok;
}

/* ---------------------------------------------------------------- timing */

void ml_time_summary(ml_Ctx *cx, const double *samples, size_t n, ml_TimeReport *out)
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
    return (ml_Job){.binary = binary_of(cx, c->work),
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
        ml_time_summary(cx, all[k].v, all[k].n, &reports[k]);
    return true;
}

bool ml_time_work(ml_Ctx *cx, ml_Worker *w, const ml_Work *work, const ml_WorkSet *set,
                  const ml_TimeOpts *o, ml_TimeReport *out)
{
    const ml_Contender one = {.worker = w, .work = work};

    return ml_time_contest(cx, &one, 1, set, o, 1, out);
}
