/* compiled - what is run where, and what is compared. */
#include "moonloop/codegen/measure/compiled.h"
#include "moonloop/codegen/measure/reference.h"
#include "moonloop/core/compare/equal.h"

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

static bool make_reference(Check *c, int64_t iterations)
{
    const ml_StartRun by = {
        .worker = c->w, .target = c->target, .limit = REFERENCE_SECONDS};

    c->runs->ref_compiled = iterations >= ML_INTERP_REFERENCE;
    if (find_reference(c))
        return true;
    c->expected = ml_reference_make(c->cx, c->ref, c->opts, c->roles, c->initial, &by);
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
        c->runs->refused = job->code == ML_E_LOWERING_FAILED;
        return true;
    }
    if (job->code == ML_E_MISMATCH) {
        c->r->problem = job->message;
        return true;
    }
    c->runs->line = job->line;
    return ml_job_fail(c->cx, job, c->got->func->name);
}

static bool check_current(Check *c)
{
    bool moves = c->opts->n_moved > 0;
    const ml_Run run = {.worker = c->w,
                        .target = c->target,
                        .work = c->got,
                        .func = c->ref->func,
                        .roles = c->roles,
                        .contract = true};
    ml_JobResult job;

    if ((moves && !ml_inputs_copy(c->cx, c->opts, NULL, c->initial, c->n, c->moved)) ||
        !ml_run_compiled(c->cx, &run, moves ? c->moved : c->initial, c->result, &job))
        return false;
    if (!job.ok)
        return judge_failure(c, &job);
    c->runs->got_compiled = true;
    if (!ml_outputs_back(c->cx, c->opts, c->roles, c->initial, c->n, c->result))
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
    if (count == ML_INF &&
        !ml_sizes_given(c->cx, c->ref->func, c->opts->sizes, c->opts->n_sizes, true))
        return false;
    ml_fail_iterations(c->cx, count, ML_INTERP_REFERENCE);
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
    *r = (ml_CheckResult){.elements = -1,
                          .largest_at = "",
                          .first_at = "",
                          .problem = "",
                          .bounds = "",
                          .blind = ""};
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
