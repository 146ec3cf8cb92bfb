/*
 * reference - the arguments of a workload and what its start version makes of them, computed
 * once, in shared memory. Source: lowering-and-codegen 12.11; interaction 8.
 */
#include "moonloop/tune/search/tuner_impl.h"

#include "moonloop/codegen/measure/reference.h"

#include <math.h>

enum {
    STEPS = 50000000,       /* that the interpreter is given */
    PER_SECOND = 500000000, /* iterations of the start, about */
};

/* The first sketch by its own decisions; func NULL: there is none. */
static ml_Work first_sketch(ml_Tuner *t, Made *made)
{
    const Candidate c = {.d = t->sketches[0].first};
    int64_t failed = t->st.failed[ML_PHASE_REPLAY]; /* it is a candidate only later */
    bool made_it = c.d != NULL && ml_materialise(t, &c, made);
    ml_Program p;

    t->st.failed[ML_PHASE_REPLAY] = failed;
    if (!made_it)
        return (ml_Work){0};
    p = ml_schedule_program(made->s);
    return (ml_Work){.mod = p.mod, .func = ml_schedule_func(made->s)};
}

bool ml_tune_reference(ml_Tuner *t, ml_Ctx *cx, ml_Worker *w)
{
    const ml_CheckOpts opts = {.inputs = ML_FILL_RANDOM, .skip = ML_SKIP_RACES};
    const ml_Work start = {.mod = t->mod, .func = t->func, .text = t->program};
    Made made = {0};
    const ml_Work quick = first_sketch(t, &made);
    const ml_StartRun by = {.worker = w,
                            .target = &t->target,
                            .steps = STEPS,
                            .quick = quick.func ? &quick : NULL};
    ml_Ctx *own = ml_ctx_fork(t->base);
    ml_ParamRole *roles = ML_ARRAY(own, ml_ParamRole, t->func->n_params + 1u);
    ml_RunArg *initial = ML_ARRAY(own, ml_RunArg, t->func->n_params + 1u);
    ml_Reference *r = NULL;

    ml_ctx_limits_of(own, t->tmp);
    ml_param_roles(own, t->func, NULL, 0, roles);
    if (ml_inputs_make(own, t->func, &opts, roles, initial))
        r = ml_reference_make(own, &start, &opts, roles, initial, &by);
    if (r) {
        t->start_seconds = fmax(
            r->seconds, (double)ml_count_iterations(own, t->func, NULL, 0) / PER_SECOND);
        t->set = ml_arguments_share(own, t->func, roles, initial, r, &opts);
    }
    if (t->set == NULL)
        ml_error_move(cx, own);
    ml_inputs_free(initial, t->func->n_params);
    ml_reference_free(r);
    ml_made_free(&made);
    ml_ctx_unref(own);
    return t->set != NULL;
}
