/* bound - the start in the next wider type, and what its distance from the start says. */
#include "moonloop/codegen/measure/bound.h"

#include <math.h>

enum { TIMES = 8, ULPS = 4, MOST_BYTES = 1 << 30 /* of what is widened */ };

/* ---------------------------------------------------------------- running */

static ml_Tensor *widened(ml_Ctx *cx, const ml_Tensor *t)
{
    ml_Tensor *w;

    if (!ml_dtype_is_float(t->type))
        return ml_tensor_copy(cx, t);
    w = ml_tensor_new(cx, ml_dtype_wider(t->type), t->shape, t->rank);
    for (int64_t k = 0; w && k < t->n_lanes; k++)
        ml_tensor_set(w, k, ml_tensor_get(t, k));
    return w;
}

static bool room_for(const ml_RunArg *initial, uint32_t n)
{
    size_t bytes = 0;

    for (uint32_t k = 0; k < n; k++)
        bytes += initial[k].tensor ? initial[k].tensor->bytes : 0;
    return bytes < (size_t)MOST_BYTES;
}

static bool make_args(ml_Ctx *cx, const ml_Func *f, const ml_RunArg *initial, ml_WideRun *w)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Tensor *t = initial[k].tensor;
        uint32_t e = w->wide->estimate[k];

        w->args[k] = initial[k];
        if (t == NULL)
            continue;
        w->args[k].tensor = widened(cx, t);
        if (e)
            w->args[e].tensor = ml_tensor_new(cx, ml_dtype_lanes(ML_DT_F64, t->type.lanes),
                                              t->shape, t->rank);
        if (w->args[k].tensor == NULL || (e && w->args[e].tensor == NULL))
            return false;
    }
    return true;
}

bool ml_wide_interpret(ml_Ctx *cx, const ml_Wide *w, const ml_ParamRole *roles,
                       ml_RunArg *args, void *user)
{
    const ml_InterpOpts io = {.skip = ML_SKIP_RACES | ML_SKIP_REGIONS | ML_SKIP_UNDEFINED};

    (void)user;
    (void)roles;
    return ml_interpret(cx, w->mod, w->func, args, w->func->n_params, &io, NULL);
}

void ml_wide_free(ml_WideRun *w)
{
    if (w->args)
        ml_inputs_free(w->args, w->wide->func->n_params);
    w->args = NULL;
}

/* Roles of the widened parameters: estimates are read and written. */
static const ml_ParamRole *wide_roles(ml_Ctx *cx, const ml_Func *f,
                                      const ml_ParamRole *roles, const ml_Wide *w)
{
    ml_ParamRole *v = ML_ARRAY(cx, ml_ParamRole, w->func->n_params + 1u);

    for (uint32_t k = 0; k < w->func->n_params; k++)
        v[k] = k < f->n_params ? roles[k] : (ml_ParamRole){.written = true};
    return v;
}

static bool rounds(const ml_Func *f, const ml_ParamRole *roles, const ml_Rounding *r,
                   uint32_t k)
{
    const ml_Buffer *b = f->params[k].buffer;

    return b && roles[k].written && (ml_rounding(r, b) & ML_ROUNDED);
}

bool ml_wide_run(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                 const ml_ParamRole *roles, const ml_RunArg *initial, ml_WideFn *run,
                 void *user, ml_WideRun *out)
{
    bool any = false, *last = ML_ARRAY(cx, bool, f->n_params + 1u);
    const ml_WideSample sample = {opts->wide_one_in, last};
    const ml_Error *e;

    *out =
        (ml_WideRun){.rounding = ml_rounding_of(cx, f), .sampled = opts->wide_one_in > 1};
    for (uint32_t k = 0; k < f->n_params; k++) {
        any |= rounds(f, roles, &out->rounding, k);
        last[k] = roles[k].output;
    }
    if (!any || opts->exact || opts->own_tolerance)
        return true;
    out->wide = ml_widen(cx, f, &out->rounding, opts->sizes, opts->n_sizes, &sample);
    if (out->wide == NULL || !room_for(initial, f->n_params))
        return true;
    out->args = ML_ARRAY(cx, ml_RunArg, out->wide->func->n_params + 1u);
    if (make_args(cx, f, initial, out) &&
        run(cx, out->wide, wide_roles(cx, f, roles, out->wide), out->args, user))
        return true;
    ml_wide_free(out); /* an index that only the rounded value keeps inside, perhaps */
    e = ml_error(cx);
    if (e && (e->code == ML_E_INTERRUPTED || e->code == ML_E_OUT_OF_MEMORY))
        return false;
    ml_error_clear(cx);
    return true;
}

/* ---------------------------------------------------------------- judging */

/* Without a wider run: the terms of a sum are taken to be as large as their sum would be if
 * their signs were random. */
static void bound_by_size(const ml_ParamRole *role, const ml_Tensor *start, ml_Allowed *out)
{
    double u = ml_unit_roundoff(start->type), share;

    out->by_start = true;
    out->magnitude = ml_tensor_largest(start);
    share = fmax(role->reduction * fmax(role->unit, u), 2 * ULPS * u);
    if (ml_dtype_is_float(start->type))
        out->bound = share * out->magnitude;
    else
        out->steps = ceil(share * out->magnitude);
}

/* By what the estimates let a cast or a floor jump over. */
static void bound_integers(const ml_Tensor *start, const ml_Tensor *rounding,
                           ml_Allowed *out)
{
    out->magnitude = ml_tensor_largest(start);
    out->steps = ml_tensor_largest(rounding);
}

static bool is_tracked(ml_Ctx *cx, ml_Tensor *t)
{
    return t->defined || ml_tensor_track(cx, t, 1);
}

/* Where the terms' sizes add up to more than the type holds, some order overflows;
 * they are at most what is carried over u, and sqrt(K) of that. */
static void bound_by_wide(ml_Ctx *cx, bool sampled, double terms, ml_Tensor *start,
                          const ml_Tensor *wide, const ml_Tensor *rounding, ml_Allowed *out)
{
    double most = ml_dtype_fmax(start->type) * ml_unit_roundoff(start->type) * sqrt(terms);
    double apart = 0, carried = ml_tensor_largest(rounding);

    out->magnitude = ml_tensor_largest(wide);
    for (int64_t k = 0; k < start->n_lanes; k++) {
        double s = ml_tensor_get(start, k), v = ml_tensor_get(wide, k);
        double d = fabs(s - v);

        if (start->defined && start->defined[k] != 1)
            continue;
        if (!sampled && isfinite(v) &&
            (!isfinite(s) || ml_tensor_get(rounding, k) > most) && is_tracked(cx, start)) {
            start->defined[k] = 2;
            out->overflowed++;
        }
        if (!isfinite(s) || !isfinite(v))
            continue; /* what is not written, or beyond both types, is the start's */
        if (d > apart && !out->by_start)
            apart = d;
        out->compared++;
        if (!out->by_start && fabs(v) <= ml_dtype_fmax(start->type))
            ml_tensor_set(start, k, v);
    }
    carried = fmax(carried, ULPS * ml_ulp_at(start->type, out->magnitude));
    out->agrees = !out->by_start && out->compared > 0 && apart <= carried;
    out->bound = fmax(TIMES * apart, carried);
}

void ml_bounds_find(ml_Ctx *cx, const ml_Func *f, const ml_ParamRole *roles,
                    const ml_WideRun *w, ml_RunArg *start, ml_Allowed *out)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        ml_Tensor *t = start[k].tensor;

        out[k] = (ml_Allowed){.exact = t == NULL || !rounds(f, roles, &w->rounding, k)};
        if (t == NULL || out[k].exact)
            continue;
        out[k].by_start = ml_rounding(&w->rounding, f->params[k].buffer) & ML_DECIDED;
        if (w->args && !ml_dtype_is_float(t->type))
            bound_integers(t, w->args[w->wide->estimate[k]].tensor, &out[k]);
        else if (w->args)
            bound_by_wide(cx, w->sampled, roles[k].reduction, t, w->args[k].tensor,
                          w->args[w->wide->estimate[k]].tensor, &out[k]);
        else
            bound_by_size(&roles[k], t, &out[k]);
    }
}
