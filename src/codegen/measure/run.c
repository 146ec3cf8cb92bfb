/* run - see run.h. */
#include "moonloop/codegen/measure/run.h"

ml_Binary ml_work_binary(ml_Ctx *cx, const ml_Work *work)
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

ml_WorkSet *ml_arguments_share(ml_Ctx *cx, const ml_Func *f, const ml_ParamRole *roles,
                               const ml_RunArg *initial, const ml_Reference *expected,
                               const ml_CheckOpts *opts)
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
                               .initial = roles[k].output ? NULL : t,
                               .written = roles[k].written};
        if (expected && roles[k].written) {
            args[k].expected = expected->v[k].tensor;
            args[k].tolerance = ml_check_tolerance(opts, &expected->bounds[k]);
        }
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
        set = ml_arguments_share(cx, f, roles, args, NULL, NULL);
    ml_inputs_free(args, f->n_params);
    return set;
}

bool ml_run_compiled(ml_Ctx *cx, const ml_Run *run, const ml_RunArg *initial,
                     ml_RunArg *into, ml_JobResult *job)
{
    ml_WorkSet *set = ml_arguments_share(cx, run->func, run->roles, initial, NULL, NULL);
    ml_Job j = {.binary = ml_work_binary(cx, run->work),
                .program = run->work->text,
                .func = run->work->func->name,
                .target = *run->target,
                .code = {.no_contract = !run->contract},
                .set = set,
                .want = ML_WANT_OUTPUTS,
                .run_limit = run->limit};
    bool ok = set && ml_worker_run(run->worker, cx, &j, job);

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
