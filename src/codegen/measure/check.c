/*
 * check - runs two programs on equal inputs and compares what they write.
 *
 * Both run in the interpreter, so bounds, races, undefined reads and regions are checked on
 * the way. Inputs that the reference does not write must be unchanged after both runs.
 */
#include "moonloop/codegen/measure/check.h"
#include "moonloop/codegen/measure/reference.h"

#include <math.h>

bool ml_check_same_parameters(ml_Ctx *cx, const ml_Func *f, const ml_Func *g,
                              const ml_CheckOpts *opts)
{
    if (f->n_params != g->n_params)
        return ml_fail(cx, ML_E_BAD_RUN_ARGUMENT,
                       ML_TEXT(ml_format(cx, "the programs have %u and %u parameters",
                                         f->n_params, g->n_params)));
    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *p = f->params[k].buffer, *q = g->params[k].buffer;
        bool same = (p == NULL) == (q == NULL);
        if (same && p)
            same = ml_dtype_eq(p->type, q->type) &&
                   (p->rank == q->rank || ml_layout_is_moved(opts, k));
        else if (same)
            same = ml_dtype_eq(f->params[k].var->type, g->params[k].var->type);
        if (!same)
            return ml_fail(
                cx, ML_E_BAD_RUN_ARGUMENT,
                ML_TEXT(ml_format(cx, "parameter %u differs between the programs", k)));
    }
    return true;
}

static const char *param_name(const ml_Func *f, uint32_t k)
{
    return f->params[k].buffer ? f->params[k].buffer->name : f->params[k].var->hint;
}

bool ml_fail_iterations(ml_Ctx *cx, int64_t count, int64_t limit)
{
    return ml_fail(cx, ML_E_TOO_LARGE,
                   ML_TEXT(count == ML_INF
                               ? "the program has innermost loops without a known bound"
                               : ml_format(cx,
                                           "the program has %lld innermost iterations, the "
                                           "interpreter's limit is %lld",
                                           (long long)count, (long long)limit)),
                   ML_NUMBER("iterations", count), ML_NUMBER("limit", limit));
}

static bool small_enough(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                         int64_t *count)
{
    int64_t limit = opts->limit ? opts->limit : 10000000;

    *count = ml_count_iterations(cx, f, opts->sizes, opts->n_sizes);
    if (*count == ML_INF && !ml_sizes_given(cx, f, opts->sizes, opts->n_sizes, true))
        return false;
    return *count < limit || ml_fail_iterations(cx, *count, limit);
}

/* Elements that the current program wrote and the reference leaves alone: how many, the first
 * one or -1, what it holds. */
typedef struct Extra {
    int64_t n, first;
    double value;
} Extra;

static int64_t count_unwritten(const ml_Tensor *ref)
{
    int64_t n = 0;

    for (int64_t k = 0; ref->defined && k < ref->n_lanes; k++)
        n += ref->defined[k] == 0;
    return n;
}

/* Makes elements that neither program need agree on equal, and those that only one wrote
 * unequal, so that the comparison by value decides all; the reference stays as it is. any:
 * what the reference leaves unwritten may be written, as a sum of no terms may. */
static Extra settle_undefined(const ml_Tensor *ref, ml_Tensor *got, bool any)
{
    bool flt = ml_dtype_is_float(ref->type);
    Extra extra = {0, -1, 0};

    for (int64_t k = 0; ref->defined && k < ref->n_lanes; k++) {
        size_t at = (size_t)k * ref->lane;
        bool left = ref->defined[k] == 0;

        if (got->defined == NULL && ref->defined[k] != 2 && !(left && any))
            continue; /* by value */
        if (ref->defined[k] == 1) {
            if (got->defined[k] == 1)
                continue;
            if (flt)
                ml_tensor_set(got, k, isnan(ml_tensor_get(ref, k)) ? 0.0 : (double)NAN);
            else
                ml_tensor_set_int(got, k, ~ml_tensor_get_int(ref, k));
            continue;
        }
        if (left && !any && got->defined[k] == 1 && extra.n++ == 0) {
            extra.first = k;
            extra.value = ml_tensor_get(got, k);
        }
        memcpy((uint8_t *)got->data + at, (const uint8_t *)ref->data + at, ref->lane);
    }
    return extra;
}

static const char *place(ml_Ctx *cx, const ml_Func *f, const ml_Tensor *x, uint32_t k,
                         int64_t lane)
{
    ml_Text t = {0};
    const char *z;

    ml_text_add(&t, param_name(f, k));
    ml_tensor_place(&t, x, lane);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

/* One part in so many of the largest value must be seen. */
#define SEEN 100

ml_Tolerance ml_check_tolerance(const ml_CheckOpts *opts, const ml_Allowed *bound)
{
    if (opts->exact)
        return (ml_Tolerance){.exact = true};
    if (opts->own_tolerance)
        return (ml_Tolerance){.rtol = opts->rtol, .atol = opts->atol, .steps = opts->atol};
    return (ml_Tolerance){.atol = bound->exact ? 0 : bound->bound, .steps = bound->steps};
}

static void see_vacuous(const ml_Tensor *ref, ml_Tolerance tol, ml_CheckResult *r)
{
    double most, share;

    if (tol.exact)
        return;
    most = ml_tensor_largest(ref);
    share = ml_dtype_is_float(ref->type) ? tol.atol + tol.rtol * most : tol.steps;
    if (share * SEEN <= most || share <= r->vacuous)
        return;
    r->vacuous = share;
    r->magnitude = most;
}

static void say_bound(ml_Text *t, const char *name, const ml_Tensor *ref, ml_Tolerance tol)
{
    double by = tol.exact                       ? 0
                : !ml_dtype_is_float(ref->type) ? tol.steps
                : tol.atol > 0                  ? tol.atol
                                                : tol.rtol;

    ml_text_fmt(t, "%s%s ", t->n ? ", " : "", name);
    if (by > 0)
        ml_text_fmt(t, "%.1e", by);
    else
        ml_text_add(t, "exactly");
}

static const char *join(ml_Ctx *cx, const char *list, const char *one)
{
    return ml_format(cx, "%s%s%s", list, *list && *one ? "; " : "", one);
}

/* What the values that are expected of an output do not tell; "": nothing. */
static const char *find_blind(ml_Ctx *cx, const ml_Tensor *ref, const char *name,
                              int64_t overflowed)
{
    int64_t numbers = 0, others = 0;

    for (int64_t k = 0; ml_dtype_is_float(ref->type) && k < ref->n_lanes; k++)
        if (!ref->defined || ref->defined[k] == 1)
            *(isfinite(ml_tensor_get(ref, k)) ? &numbers : &others) += 1;
    if (others > 0 && numbers == 0)
        return ml_format(cx, "%s has no number, NaN and infinities alone", name);
    if (overflowed == 0)
        return "";
    return ml_format(cx, "%lld elements of %s overflow %s in some order",
                     (long long)overflowed, name, ml_dtype_name(cx, ref->type));
}

void ml_check_compare(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                      const ml_ParamRole *roles, const ml_Reference *expected,
                      const ml_RunArg *got, ml_CheckResult *r)
{
    ml_Text bounds = {0};
    const char *blind = "";

    for (uint32_t k = 0; k < f->n_params; k++) {
        ml_Tensor *x = expected->v[k].tensor, *y = got[k].tensor;
        ml_Tolerance tol = ml_check_tolerance(opts, &expected->bounds[k]);
        ml_Comparison c;
        Extra extra;
        bool first, largest;

        if (x == NULL || !roles[k].written)
            continue;
        extra = settle_undefined(x, y, roles[k].no_terms);
        r->unwritten += count_unwritten(x);
        see_vacuous(x, tol, r);
        say_bound(&bounds, param_name(f, k), x, tol);
        c = ml_tensor_compare(x, y, tol);
        bool more = extra.n > 0 && (c.first < 0 || extra.first < c.first);

        if (more)
            c.first = extra.first;
        r->outside += c.outside + extra.n;
        first = c.first >= 0 && !*r->first_at;
        largest = c.largest_at >= 0 && (c.largest > r->largest || !*r->largest_at);
        if (first || (!*r->first_at && (largest || r->n_outputs == 0))) {
            bool flt = ml_dtype_is_float(x->type);

            r->rtol = flt ? tol.rtol : 0;
            r->atol = flt ? tol.atol : tol.steps;
        }
        if (first) {
            r->first_at = place(cx, f, x, k, c.first);
            r->first_ref = ml_tensor_get(x, c.first);
            r->first_got = more ? extra.value : ml_tensor_get(y, c.first);
            r->first_unwritten = x->defined && x->defined[c.first] == 0;
        }
        if (largest) {
            r->largest = c.largest;
            r->largest_at = place(cx, f, x, k, c.largest_at);
        }
        blind = join(cx, blind,
                     find_blind(cx, x, param_name(f, k), expected->bounds[k].overflowed));
        r->n_outputs++;
    }
    r->blind = join(cx, ml_inputs_blind(cx, f, opts), blind);
    r->bounds = r->n_outputs > 1 ? ml_strdup(cx, ml_str(ml_text_z(&bounds))) : "";
    ml_text_free(&bounds);
}

/* ---------------------------------------------------------------- the two runs */

/* Inputs as they were, guards whole. `was` is in the layout of `now`. */
static void check_untouched(ml_Ctx *cx, const ml_Func *f, const ml_ParamRole *roles,
                            const ml_RunArg *was, const ml_RunArg *now, ml_CheckResult *r)
{
    for (uint32_t k = 0; k < f->n_params && !*r->problem; k++) {
        const ml_Tensor *x = was[k].tensor, *y = now[k].tensor;

        if (y == NULL)
            continue;
        if (!ml_tensor_guards_intact(y))
            r->problem = ml_format(cx, "memory beside %s was written", param_name(f, k));
        else if (!roles[k].written && memcmp(x->data, y->data, y->bytes) != 0)
            r->problem = ml_format(cx, "input %s was changed", param_name(f, k));
    }
}

bool ml_check_interpreted(ml_Ctx *cx, const ml_Func *ref, const ml_Module *got_mod,
                          const ml_Func *got, const ml_CheckOpts *opts,
                          const ml_ParamRole *roles, const ml_RunArg *initial,
                          const ml_Reference *expected, ml_CheckResult *r)
{
    const ml_InterpOpts io = {.skip = opts->skip, .side_by_side = opts->side_by_side};
    uint32_t n = ref->n_params;
    bool moves = opts->n_moved > 0, ok;
    ml_RunArg *b = ML_ARRAY(cx, ml_RunArg, n + 1u), *was = ML_ARRAY(cx, ml_RunArg, n + 1u);

    ok = ml_inputs_copy(cx, opts, roles, initial, n, b) &&
         (!moves || ml_inputs_copy(cx, opts, roles, initial, n, was));
    if (ok && !ml_interpret(cx, got_mod, got, b, n, &io, NULL)) {
        ml_error_note(cx, "in the current version");
        ok = false;
    }
    if (ok)
        check_untouched(cx, ref, roles, moves ? was : initial, b, r);
    ok = ok && ml_outputs_back(cx, opts, roles, expected->v, n, b);
    if (ok) {
        ml_check_compare(cx, ref, opts, roles, expected, b, r);
        r->ok = r->outside == 0 && !*r->problem;
    }
    ml_inputs_free(b, n);
    ml_inputs_free(was, n);
    return ok;
}

bool ml_check(ml_Ctx *cx, const ml_Module *ref_mod, const ml_Func *ref,
              const ml_Module *got_mod, const ml_Func *got, const ml_CheckOpts *opts,
              ml_CheckResult *r)
{
    const ml_CheckOpts none = {.inputs = ML_FILL_RANDOM, .extremes = true};
    const ml_CheckOpts *o = opts ? opts : &none;
    ml_ParamRole *roles = ML_ARRAY(cx, ml_ParamRole, ref->n_params + 1u);
    ml_RunArg *initial = ML_ARRAY(cx, ml_RunArg, ref->n_params + 1u);
    const ml_Work start = {.mod = ref_mod, .func = ref};
    ml_Reference *expected = NULL;
    int64_t count;
    bool ok;

    *r = (ml_CheckResult){.elements = -1,
                          .largest_at = "",
                          .first_at = "",
                          .problem = "",
                          .bounds = "",
                          .blind = ""};
    r->seed = o->seed ? o->seed : 1;
    ok = ml_check_same_parameters(cx, ref, got, o) &&
         small_enough(cx, ref, o, &r->iterations) && small_enough(cx, got, o, &count);
    if (ok) {
        ml_param_roles(cx, ref, o->sizes, o->n_sizes, roles);
        ok = ml_inputs_make(cx, ref, o, roles, initial);
    }
    if (ok)
        expected = ml_reference_make(cx, &start, o, roles, initial, NULL);
    ok = expected &&
         ml_check_interpreted(cx, ref, got_mod, got, o, roles, initial, expected, r);
    ml_reference_free(expected);
    ml_inputs_free(initial, ref->n_params);
    return ok;
}
