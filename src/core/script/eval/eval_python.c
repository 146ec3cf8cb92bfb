/* eval_python - Python's builtin functions on compile-time values. Source: script 4. */
#include "moonloop/core/script/eval/eval.h"

#include <stdlib.h>

typedef enum Py {
    PY_RANGE,
    PY_LEN,
    PY_INT,
    PY_FLOAT,
    PY_BOOL,
    PY_STR,
    PY_ABS,
    PY_MIN,
    PY_MAX,
    PY_SUM,
    PY_TUPLE,
    PY_LIST,
    PY_ZIP,
    PY_ENUMERATE,
    PY_COUNT
} Py;
static const char *const NAMES[PY_COUNT] = {"range", "len",  "int", "float",    "bool",
                                            "str",   "abs",  "min", "max",      "sum",
                                            "tuple", "list", "zip", "enumerate"};

int ml_ev_python_find(ml_Str name)
{
    for (int k = 0; k < PY_COUNT; k++)
        if (ml_str_eq(name, ml_str(NAMES[k])))
            return k;
    return -1;
}

static bool is_list(ml_Cv v)
{
    return v.kind == ML_CV_TUPLE || v.kind == ML_CV_LIST;
}

static ml_Cv wrong(ml_Eval *ev, ml_Args *a, ml_Cv v)
{
    return ml_ev_fail(ev, E512, a->call->at, "`%s` is not defined for %s", a->name,
                      ml_cv_describe(ev, v));
}

static ml_Cv extreme(ml_Eval *ev, ml_Args *a, ml_TokOp op, const char *t_name)
{
    const ml_Cv *v;
    size_t n = a->n;
    ml_Cv best;
    ml_Cv *all = ML_ARRAY(ev->sc, ml_Cv, n + 1);

    for (size_t k = 0; k < n; k++)
        all[k] = a->v[k].v;
    v = all;
    if (n == 1 && is_list(v[0])) {
        n = v[0].n;
        v = v[0].as.list;
    }
    if (n == 0)
        return ml_ev_fail(ev, E414, a->call->at, "`%s` needs a value", a->name);
    best = v[0];
    for (size_t k = 0; k < n; k++) {
        ml_Cv less;

        if (v[k].kind == ML_CV_EXPR) {
            ml_Diag *d = ml_report(ev->rep, ML_E_E512, a->call->at,
                                   "`%s` works on compile-time values only", a->name);

            ml_report_help(ev->rep, d, "use `%s`", t_name);
            return ml_cv_poison();
        }
        less = ml_ev_python_compare(ev, op, v[k], best, a->call->at);
        if (less.kind == ML_CV_POISON)
            return less;
        if (less.as.i)
            best = v[k];
    }
    return best;
}

static ml_Cv to_int(ml_Eval *ev, ml_Args *a, ml_Cv v)
{
    if (v.kind == ML_CV_INT || v.kind == ML_CV_BOOL) {
        v.kind = ML_CV_INT;
        return v;
    }
    if (v.kind == ML_CV_FLOAT) {
        if (!(v.as.f > -9.2e18 && v.as.f < 9.2e18))
            return ml_ev_fail(ev, E112, a->call->at, "the result does not fit 64 bits");
        return ml_cv_int((int64_t)v.as.f);
    }
    if (v.kind == ML_CV_STRING && v.as.s.n > 0 && v.as.s.n < 19) {
        char *end, *z = ml_strdup(ev->sc, v.as.s);
        long long i = strtoll(z, &end, 10);

        if (*end == 0)
            return ml_cv_int(i);
    }
    return wrong(ev, a, v);
}

static ml_Cv to_str(ml_Eval *ev, ml_Args *a, ml_Cv v)
{
    ml_Text t = {0};
    ml_Cv out = ml_cv_poison();

    if (v.kind == ML_CV_STRING)
        return v;
    if (ml_ev_show(ev, &t, v, false, a->call->at))
        out = ml_cv_str((ml_Str){ml_strdup(ev->sc, (ml_Str){ml_text_z(&t), t.n}), t.n});
    ml_text_free(&t);
    return out;
}

/* range(n), range(a, b), range(a, b, s) as a list; loops have their own. */
static ml_Cv range(ml_Eval *ev, ml_Args *a)
{
    int64_t x[3] = {0, 0, 1}, at;
    ML_VEC(ml_Cv) out = {0};

    if (a->n < 1 || a->n > 3)
        return ml_ev_fail(ev, E414, a->call->at, "`range` takes 1 to 3 arguments, got %zu",
                          a->n);
    for (size_t k = 0; k < a->n; k++) {
        ml_Cv v = a->v[k].v;

        if (v.kind == ML_CV_EXPR && ml_is_const_int(v.as.e))
            v = ml_cv_int(v.as.e->as.i);
        if ((v.kind != ML_CV_INT && v.kind != ML_CV_BOOL) || v.big)
            return ml_ev_fail(ev, E501, a->v[k].at,
                              "`range` of a list needs constant integers, got %s",
                              ml_cv_describe(ev, v));
        x[a->n == 1 ? 1 : k] = v.as.i;
    }
    if (x[2] == 0)
        return ml_ev_fail(ev, E404, a->v[2].at, "step must not be 0");
    for (at = x[0]; x[2] > 0 ? at < x[1] : at > x[1];) {
        if (out.n >= 1000000 || ev->steps++ > 10000000)
            return ml_ev_fail(ev, E114, a->call->at, "too much compile-time work");
        ml_push(ev->sc, &out, ml_cv_int(at));
        if (__builtin_add_overflow(at, x[2], &at))
            break;
    }
    return ml_cv_list(ev, ML_CV_LIST, out.v, out.n);
}

ml_Cv ml_ev_python_call(ml_Eval *ev, int which, ml_Args *a)
{
    ml_Cv v = a->n ? a->v[0].v : ml_cv(ML_CV_NONE), one;
    ML_VEC(ml_Cv) out = {0};

    for (size_t k = 0; k < a->n; k++) {
        if (a->v[k].v.kind == ML_CV_POISON)
            return ml_cv_poison();
        if (a->v[k].key)
            return ml_ev_fail(ev, E412, a->v[k].key_at, "%s has no argument `%.*s`",
                              a->name, (int)a->v[k].key->name.n, a->v[k].key->name.p);
    }
    if (which == PY_RANGE)
        return range(ev, a);
    if (which != PY_MIN && which != PY_MAX && which != PY_ZIP && which != PY_ENUMERATE &&
        a->n != 1)
        return ml_ev_fail(ev, E414, a->call->at, "`%s` takes 1 argument, got %zu", a->name,
                          a->n);
    switch ((Py)which) {
    case PY_LEN:
        if (v.kind == ML_CV_STRING)
            return ml_cv_int((int64_t)v.as.s.n);
        if (v.kind == ML_CV_DICT)
            return ml_cv_int(v.n / 2);
        return is_list(v) ? ml_cv_int(v.n) : wrong(ev, a, v);
    case PY_INT: return to_int(ev, a, v);
    case PY_FLOAT:
        if (v.kind == ML_CV_STRING && v.as.s.n < 40) {
            char *end, *z = ml_strdup(ev->sc, v.as.s);
            double d = strtod(z, &end);

            return *z && *end == 0 ? ml_cv_float(d) : wrong(ev, a, v);
        }
        if (v.kind == ML_CV_FLOAT)
            return v;
        return v.kind == ML_CV_INT || v.kind == ML_CV_BOOL
                   ? ml_cv_float(v.big ? (double)(uint64_t)v.as.i : (double)v.as.i)
                   : wrong(ev, a, v);
    case PY_BOOL:
        return v.kind == ML_CV_EXPR ? wrong(ev, a, v) : ml_cv_bool(ml_ev_truth(v));
    case PY_STR: return to_str(ev, a, v);
    case PY_ABS:
        if (v.kind == ML_CV_FLOAT)
            return ml_cv_float(v.as.f < 0 ? -v.as.f : v.as.f);
        if (v.kind != ML_CV_INT && v.kind != ML_CV_BOOL)
            return wrong(ev, a, v);
        if (!v.big && v.as.i < 0)
            return ml_ev_python_binary(ev, ML_OPR_SUB, ml_cv_int(0), v, a->call->at);
        return v;
    case PY_MIN: return extreme(ev, a, ML_OPR_LT, "T.min");
    case PY_MAX: return extreme(ev, a, ML_OPR_GT, "T.max");
    case PY_SUM:
        if (!is_list(v))
            return wrong(ev, a, v);
        one = ml_cv_int(0);
        for (size_t k = 0; k < v.n && one.kind != ML_CV_POISON; k++)
            one = ml_ev_binary(ev, ML_OPR_ADD, one, v.as.list[k], a->call->at);
        return one;
    case PY_TUPLE:
    case PY_LIST:
        if (!is_list(v))
            return wrong(ev, a, v);
        return ml_cv_list(ev, which == PY_LIST ? ML_CV_LIST : ML_CV_TUPLE, v.as.list, v.n);
    case PY_ZIP:
        for (size_t k = 0; k < a->n; k++)
            if (!is_list(a->v[k].v))
                return wrong(ev, a, a->v[k].v);
        for (size_t k = 0; a->n && k < v.n; k++) {
            ml_Cv *row = ML_ARRAY(ev->sc, ml_Cv, a->n);

            for (size_t j = 0; j < a->n; j++) {
                if (k >= a->v[j].v.n)
                    return ml_cv_list(ev, ML_CV_LIST, out.v, out.n);
                row[j] = a->v[j].v.as.list[k];
            }
            one = ml_cv_list(ev, ML_CV_TUPLE, row, a->n);
            ml_push(ev->sc, &out, one);
        }
        return ml_cv_list(ev, ML_CV_LIST, out.v, out.n);
    case PY_ENUMERATE:
        if (a->n != 1 || !is_list(v))
            return wrong(ev, a, v);
        for (size_t k = 0; k < v.n; k++) {
            ml_Cv pair[2] = {ml_cv_int((int64_t)k), v.as.list[k]};

            one = ml_cv_list(ev, ML_CV_TUPLE, pair, 2);
            ml_push(ev->sc, &out, one);
        }
        return ml_cv_list(ev, ML_CV_LIST, out.v, out.n);
    case PY_RANGE:
    case PY_COUNT: break;
    }
    return ml_cv_poison();
}
