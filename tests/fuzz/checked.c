/*
 * checked - the last version against the start as :check does it: inputs drawn from all
 * that keeps indices inside, floats that round, and the bound that is worked out for them.
 */
#include "checked.h"

#include "moonloop/codegen/params/index_values.h"
#include "moonloop/codegen/params/rounding.h"

/* Whether nothing could be found that keeps the start inside: its indices are made of
 * floats, say. */
static bool has_no_inputs(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *o)
{
    ml_IndexValues *v = ML_ARRAY(cx, ml_IndexValues, f->n_params + 1u);
    bool fits = true, any = false;

    ml_index_values(cx, f, o->sizes, o->n_sizes, v);
    for (uint32_t k = 0; k < f->n_params; k++) {
        fits &= v[k].fits;
        any |= v[k].index;
    }
    return !fits || !any;
}

/* An integer made of a rounded float is another one where the sum has another order, and
 * integers are compared exactly. */
static bool is_decided(ml_Ctx *cx, const ml_Func *f)
{
    const ml_Rounding r = ml_rounding_of(cx, f);

    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer && !ml_dtype_is_float(f->params[k].buffer->type) &&
            (ml_rounding(&r, f->params[k].buffer) & ML_DECIDED))
            return true;
    return false;
}

static bool check_func(FzRun *r, ml_Ctx *cx, uint32_t at)
{
    const ml_Module *start = ml_version_program(r->s, 0).mod;
    const ml_Module *now = ml_schedule_program(r->s).mod;
    ml_MovedVec moved = {0};
    ml_CheckOpts o = {.seed = r->t->plan.seed % 1000 + 1,
                      .sizes = r->sizes,
                      .n_sizes = ML_COUNT(r->sizes),
                      .limit = 100000};
    ml_CheckResult result;
    const ml_Error *e;

    if (ml_version_moved(r->s, 0, ml_schedule_version(r->s), at, cx, &moved)) {
        o.moved = moved.v;
        o.n_moved = moved.n;
    }
    if (ml_check(cx, start, start->funcs[at], now, now->funcs[at], &o, &result))
        return result.ok ||
               fz_fail(r, "check", "%s: %.9g instead of %.9g, bound %g%s", result.first_at,
                       result.first_got, result.first_ref, result.atol, result.problem);
    e = ml_error(cx);
    if (e->code == ML_E_TOO_LARGE || e->code == ML_E_THREADS_COOPERATE ||
        e->code == ML_E_BAD_RUN_ARGUMENT || e->code == ML_E_NOT_SUPPORTED) {
        ml_error_clear(cx); /* parameters of another type, say */
        return true;
    }
    if (e->n_notes > 0 && ml_streq(e->notes[e->n_notes - 1], "in the start version") &&
        (e->code == ML_E_OVERFLOW || has_no_inputs(cx, start->funcs[at], &o))) {
        ml_error_clear(cx); /* an index made of products, say */
        return true;
    }
    return fz_fail_error(r, "check", e);
}

bool fz_passes_check(FzRun *r)
{
    ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(r->s));
    uint32_t n = ml_version_program(r->s, 0).mod->n;
    bool ok = true;

    for (uint32_t k = 0; ok && k < n && k < ml_schedule_program(r->s).mod->n; k++)
        if (r->args[MAIN].judged &&
            !is_decided(cx, ml_version_program(r->s, 0).mod->funcs[k]))
            ok = check_func(r, cx, k);
    ml_ctx_unref(cx);
    return ok;
}
