/*
 * check - runs two programs on equal inputs and compares what they write.
 *
 * Both run in the interpreter, so bounds, races, undefined reads and regions are checked on
 * the way. Inputs that the reference does not write must be unchanged after both runs.
 */
#include "codegen/check.h"

#include <math.h>

typedef struct Runs {
    ml_Ctx *cx;
    const ml_Func *ref, *got;
    const ml_CheckOpts *opts;
    uint32_t n;
    ml_ParamRole *roles;
    ml_RunArg *a, *b;  /* of the two runs */
    ml_Tensor **start; /* what inputs held */
} Runs;

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

static bool make_arguments(Runs *w, uint64_t seed)
{
    ml_CheckOpts o = *w->opts;

    o.seed = seed;
    if (!ml_inputs_make(w->cx, w->ref, &o, w->roles, w->a))
        return false;
    for (uint32_t k = 0; k < w->n; k++) {
        ml_Tensor *t = w->a[k].tensor;

        w->b[k] = w->a[k];
        w->b[k].tensor = NULL;
        if (t == NULL)
            continue;
        if (w->roles[k].output && !ml_tensor_track(w->cx, t, 0))
            return false;
        w->b[k].tensor = ml_layout_moved(w->cx, w->opts, k, t);
        if (w->b[k].tensor == NULL)
            return false;
        w->start[k] = w->roles[k].written ? NULL : ml_tensor_copy(w->cx, w->b[k].tensor);
        if (w->b[k].tensor == NULL || (!w->roles[k].written && w->start[k] == NULL))
            return false;
    }
    return true;
}

static bool small_enough(Runs *w, const ml_Func *f, int64_t *count)
{
    int64_t limit = w->opts->limit ? w->opts->limit : 10000000;

    *count = ml_count_iterations(w->cx, f, w->opts->sizes, w->opts->n_sizes);
    if (*count < limit)
        return true;
    return ml_fail(
        w->cx, ML_E_TOO_LARGE,
        ML_TEXT(*count == ML_INF
                    ? "the program has innermost loops without a known bound: "
                      "the sizes of its symbols are needed (:check --shape n=127)"
                    : ml_format(w->cx,
                                "the program has %lld innermost iterations, the "
                                "interpreter's limit is %lld",
                                (long long)*count, (long long)limit)),
        ML_NUMBER("iterations", *count), ML_NUMBER("limit", limit));
}

/* Makes elements that neither program need agree on equal, and those that only one wrote
 * unequal, so that the comparison by value decides all. Returns how many the current
 * program wrote that the reference leaves alone. */
static int64_t settle_undefined(ml_Tensor *ref, ml_Tensor *got, int64_t *first)
{
    bool flt = ml_dtype_is_float(ref->type);
    int64_t extra = 0;

    for (int64_t k = 0; ref->defined && got->defined && k < ref->n_lanes; k++) {
        if (ref->defined[k] == 1) {
            if (got->defined[k] == 1)
                continue;
            if (flt)
                ml_tensor_set(got, k, isnan(ml_tensor_get(ref, k)) ? 0.0 : (double)NAN);
            else
                ml_tensor_set_int(got, k, ~ml_tensor_get_int(ref, k));
            continue;
        }
        if (ref->defined[k] == 0 && got->defined[k] == 1 && extra++ == 0)
            *first = k;
        ml_tensor_set_int(ref, k, 0);
        ml_tensor_set_int(got, k, 0);
    }
    return extra;
}

static const char *place(ml_Ctx *cx, const ml_Func *f, const ml_RunArg *a, uint32_t k,
                         int64_t lane)
{
    ml_Text t = {0};
    const char *z;

    ml_text_add(&t, param_name(f, k));
    ml_tensor_place(&t, a[k].tensor, lane);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static double magnitude(const ml_Tensor *t)
{
    double most = 0;

    for (int64_t k = 0; k < t->n_lanes; k++) {
        double v = fabs(ml_tensor_get(t, k));

        if (isfinite(v) && v > most)
            most = v;
    }
    return most;
}

/* A tolerance of an absolute difference that no value of the reference exceeds accepts
 * nearly everything: then the difference is measured against the largest value. Tolerances
 * that were asked for are kept, and those for which that says nothing either. */
static ml_Tolerance sharpened(const ml_CheckOpts *opts, const ml_Tensor *ref,
                              ml_Tolerance tol, ml_CheckResult *r)
{
    enum { LEAST = 2 }; /* of the largest value, one part in so many must be seen */
    double most;

    if (tol.exact || !(tol.atol > 0) || !ml_dtype_is_float(ref->type))
        return tol;
    most = magnitude(ref);
    if (!(most > 0) || tol.atol < most)
        return tol;
    r->vacuous = tol.atol;
    r->magnitude = most;
    r->bound = 0;
    if (opts->own_tolerance || tol.atol * LEAST >= 1)
        return tol;
    r->bound = tol.atol * most;
    return (ml_Tolerance){.atol = r->bound};
}

void ml_check_compare(ml_Ctx *cx, const ml_Func *f, const ml_CheckOpts *opts,
                      const ml_ParamRole *roles, const ml_RunArg *ref, const ml_RunArg *got,
                      ml_CheckResult *r)
{
    for (uint32_t k = 0; k < f->n_params; k++) {
        ml_Tensor *x = ref[k].tensor, *y = got[k].tensor;
        ml_Tolerance tol = ml_check_tolerance(opts, &roles[k]);
        ml_Comparison c;
        int64_t extra, at = -1;
        if (x == NULL || !roles[k].written)
            continue;
        r->n_outputs++;
        extra = settle_undefined(x, y, &at);
        tol = sharpened(opts, x, tol, r);
        c = ml_tensor_compare(x, y, tol);
        if (extra && (c.first < 0 || at < c.first))
            c.first = at;
        r->outside += c.outside + extra;
        if (c.first >= 0 && !*r->first_at) {
            r->first_at = place(cx, f, ref, k, c.first);
            r->first_ref = ml_tensor_get(x, c.first);
            r->first_got = ml_tensor_get(y, c.first);
            r->rtol = tol.rtol;
            r->atol = tol.atol;
        }
        if (c.largest_at >= 0 && (c.largest > r->largest || !*r->largest_at)) {
            r->largest = c.largest;
            r->largest_at = place(cx, f, ref, k, c.largest_at);
            if (!*r->first_at) {
                r->rtol = tol.rtol;
                r->atol = tol.atol;
            }
        }
        if (r->rtol == 0.0 && r->atol == 0.0 && !*r->first_at) {
            r->rtol = tol.rtol;
            r->atol = tol.atol;
        }
    }
}

/* Inputs as they were, guards whole. */
static void check_untouched(Runs *w, ml_CheckResult *r)
{
    for (uint32_t k = 0; k < w->n && !*r->problem; k++) {
        const ml_Tensor *y = w->b[k].tensor;
        if (y == NULL)
            continue;
        if (!ml_tensor_guards_intact(y) || !ml_tensor_guards_intact(w->a[k].tensor))
            r->problem =
                ml_format(w->cx, "memory beside %s was written", param_name(w->ref, k));
        else if (w->start[k] && memcmp(w->start[k]->data, y->data, y->bytes) != 0)
            r->problem = ml_format(w->cx, "input %s was changed", param_name(w->ref, k));
    }
}

/* What is compared: in the layout of the reference. */
static bool move_back(Runs *w)
{
    for (uint32_t k = 0; k < w->n; k++) {
        ml_Tensor *t = w->b[k].tensor;

        if (t == NULL || !w->roles[k].written || !ml_layout_is_moved(w->opts, k))
            continue;
        w->b[k].tensor = ml_layout_back(w->cx, w->opts, k, w->a[k].tensor, t);
        ml_tensor_free(t);
        if (w->b[k].tensor == NULL)
            return false;
    }
    return true;
}

static bool run_both(Runs *w, const ml_Module *ref_mod, const ml_Module *got_mod,
                     ml_CheckResult *r)
{
    const ml_InterpOpts io = {.skip = w->opts->skip};
    int64_t count;

    if (!small_enough(w, w->ref, &r->iterations) || !small_enough(w, w->got, &count))
        return false;
    if (!make_arguments(w, r->seed))
        return false;
    if (!ml_interpret(w->cx, ref_mod, w->ref, w->a, w->n, &io, NULL)) {
        ml_error_note(w->cx, "in the start version");
        return false;
    }
    if (!ml_interpret(w->cx, got_mod, w->got, w->b, w->n, &io, NULL)) {
        ml_error_note(w->cx, "in the current version");
        return false;
    }
    check_untouched(w, r);
    if (!move_back(w))
        return false;
    ml_check_compare(w->cx, w->ref, w->opts, w->roles, w->a, w->b, r);
    r->ok = r->outside == 0 && !*r->problem;
    return true;
}

bool ml_check(ml_Ctx *cx, const ml_Module *ref_mod, const ml_Func *ref,
              const ml_Module *got_mod, const ml_Func *got, const ml_CheckOpts *opts,
              ml_CheckResult *r)
{
    const ml_CheckOpts none = {.inputs = ML_FILL_RANDOM, .extremes = true};
    Runs w = {
        .cx = cx, .ref = ref, .got = got, .opts = opts ? opts : &none, .n = ref->n_params};
    bool ok;

    *r = (ml_CheckResult){.largest_at = "", .first_at = "", .problem = ""};
    r->seed = w.opts->seed ? w.opts->seed : 1;
    w.roles = ML_ARRAY(cx, ml_ParamRole, w.n + 1);
    w.a = ML_ARRAY(cx, ml_RunArg, w.n + 1);
    w.b = ML_ARRAY(cx, ml_RunArg, w.n + 1);
    w.start = ML_ARRAY(cx, ml_Tensor *, w.n + 1);
    ok = ml_check_same_parameters(cx, ref, got, w.opts);
    if (ok) {
        ml_param_roles(cx, ref, w.opts->sizes, w.opts->n_sizes, w.roles);
        ok = run_both(&w, ref_mod, got_mod, r);
    }
    for (uint32_t k = 0; k < w.n; k++) {
        ml_tensor_free(w.a[k].tensor);
        ml_tensor_free(w.b[k].tensor);
        ml_tensor_free(w.start[k]);
    }
    return ok;
}
