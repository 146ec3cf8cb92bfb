/*
 * reference - the arguments of a workload and what its start version makes of them, computed
 * once, in shared memory. Source: lowering-and-codegen 12.11; interaction 8.
 */
#include "moonloop/tune/search/tuner_impl.h"

#include "moonloop/codegen/measure/reference.h"

enum { STEPS = 50000000 }; /* that the interpreter is given */

bool ml_tune_reference(ml_Tuner *t, ml_Ctx *cx, ml_Worker *w)
{
    const ml_CheckOpts opts = {.inputs = ML_FILL_RANDOM, .skip = ML_SKIP_RACES};
    const ml_Work start = {t->mod, t->func, t->program};
    const ml_StartRun by = {w, &t->target, 0, STEPS};
    ml_Ctx *own = ml_ctx_fork(t->base);
    ml_ParamRole *roles = ML_ARRAY(own, ml_ParamRole, t->func->n_params + 1u);
    ml_RunArg *initial = ML_ARRAY(own, ml_RunArg, t->func->n_params + 1u);
    ml_Reference *r = NULL;

    ml_ctx_limits_of(own, t->tmp);
    ml_param_roles(own, t->func, NULL, 0, roles);
    if (ml_inputs_make(own, t->func, &opts, roles, initial))
        r = ml_reference_make(own, &start, &opts, roles, initial, &by);
    if (r) {
        t->start_seconds = r->seconds;
        t->set = ml_arguments_share(own, t->func, roles, initial, r, &opts);
    }
    if (t->set == NULL)
        ml_error_move(cx, own);
    ml_inputs_free(initial, t->func->n_params);
    ml_reference_free(r);
    ml_ctx_unref(own);
    return t->set != NULL;
}
