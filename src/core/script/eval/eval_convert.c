/*
 * eval_convert - compile-time values as expressions, literals of a dtype, attribute values
 * and dtypes. Source: script 10.1, 10.2, 10.4.
 */
#include "moonloop/core/script/eval/eval.h"

#include <math.h>

ml_Cv ml_ev_load_cell(ml_Eval *ev, ml_Cv v)
{
    const ml_Expr *zero = ml_i32(ev->cx, 0);

    if (v.kind != ML_CV_CELL)
        return v;
    return ml_cv_expr(ml_load(ev->cx, v.as.b, &zero, 1));
}

/* ---- constants */
static const char *number_text(ml_Eval *ev, ml_Cv v)
{
    ml_Text t = {0};
    const char *z;

    if (v.kind == ML_CV_FLOAT)
        ml_text_double(&t, v.as.f);
    else if (v.big)
        ml_text_fmt(&t, "%llu", (unsigned long long)v.as.i);
    else
        ml_text_int(&t, v.as.i);
    z = ml_strdup(ev->cx, (ml_Str){ml_text_z(&t), t.n});
    ml_text_free(&t);
    return z;
}

static const ml_Expr *out_of_range(ml_Eval *ev, ml_Dtype t, ml_Cv v, ml_Place at)
{
    const char *range = "";

    if (t.code == ML_UINT && t.bits == 64)
        range = " (0 … 18446744073709551615)";
    else if (ml_dtype_is_bool(t))
        range = " (0 or 1)";
    else if (ml_dtype_is_int(t))
        range = ml_format(ev->cx, " (%s%lld … %lld)", ml_dtype_min(t) < 0 ? "−" : "",
                          (long long)(ml_dtype_min(t) == INT64_MIN ? INT64_MAX
                                      : ml_dtype_min(t) < 0        ? -ml_dtype_min(t)
                                                                   : ml_dtype_min(t)),
                          (long long)ml_dtype_max(t));
    return ml_ev_nothing(ev, E513, at, "%s does not fit %s%s", number_text(ev, v),
                         ml_dtype_name(ev->cx, t), range);
}

static bool int_fits(ml_Dtype t, ml_Cv v)
{
    if (v.big)
        return t.code == ML_UINT && t.bits == 64;
    if (ml_dtype_is_bool(t))
        return v.as.i == 0 || v.as.i == 1;
    return ml_dtype_fits(ml_dtype_lanes(t, 1), v.as.i);
}

const ml_Expr *ml_ev_const(ml_Eval *ev, ml_Dtype t, ml_Cv v, ml_Place at)
{
    ml_Dtype one = ml_dtype_lanes(t, 1);
    const ml_Expr *e = NULL;

    if (v.kind == ML_CV_STRING && ml_dtype_is_float(t)) {
        double d = ml_str_eq(v.as.s, ml_str("inf"))    ? HUGE_VAL
                   : ml_str_eq(v.as.s, ml_str("-inf")) ? -HUGE_VAL
                                                       : (double)NAN;

        if (!ml_str_eq(v.as.s, ml_str("inf")) && !ml_str_eq(v.as.s, ml_str("-inf")) &&
            !ml_str_eq(v.as.s, ml_str("nan"))) {
            ml_report(
                ev->rep, ML_E_E513, at,
                "a float of this name is not known; expected \"inf\", \"-inf\", \"nan\"");
            return NULL;
        }
        e = ml_float(ev->cx, one, d);
    } else if (v.kind != ML_CV_INT && v.kind != ML_CV_BOOL && v.kind != ML_CV_FLOAT) {
        return ml_ev_nothing(ev, E501, at, "expected a number, got %s",
                             ml_cv_describe(ev, v));
    } else if (ml_dtype_is_float(t)) {
        double d = v.kind == ML_CV_FLOAT ? v.as.f
                   : v.big               ? (double)(uint64_t)v.as.i
                                         : (double)v.as.i;

        if (isfinite(d) && t.bits < 64 && !isfinite(ml_dtype_round(one, d)))
            return out_of_range(ev, one, v, at);
        if (isfinite(d) && t.bits < 32 && fabs(d) > 2 * ml_dtype_fmax(one))
            return out_of_range(ev, one, v, at);
        e = ml_float(ev->cx, one, d);
    } else if (ml_dtype_is_int(t) || ml_dtype_is_bool(t)) {
        if (v.kind == ML_CV_FLOAT) { /* truncates, as a cast does */
            if (!(v.as.f > -9.2e18 && v.as.f < 9.2e18))
                return out_of_range(ev, one, v, at);
            v = ml_cv_int((int64_t)v.as.f);
        }
        if (!int_fits(one, v))
            return out_of_range(ev, one, v, at);
        e = ml_int(ev->cx, one, v.as.i);
    } else {
        return ml_ev_nothing(ev, E513, at, "%s cannot be a %s", number_text(ev, v),
                             t.code == ML_HANDLE ? "handle" : ml_dtype_name(ev->cx, t));
    }
    return t.lanes > 1 ? ml_broadcast(ev->cx, e, t.lanes) : e;
}

const ml_Expr *ml_ev_to_expr(ml_Eval *ev, ml_Cv v, ml_Place at)
{
    ml_Dtype t;

    switch (v.kind) {
    case ML_CV_POISON: return NULL;
    case ML_CV_CELL: return ml_ev_load_cell(ev, v).as.e;
    case ML_CV_EXPR: return v.as.e;
    case ML_CV_BOOL: return ml_bool(ev->cx, v.as.i != 0);
    case ML_CV_INT:
        t = v.big                              ? ML_DT(ML_UINT, 64)
            : ml_dtype_fits(ML_DT_I32, v.as.i) ? ML_DT_I32
                                               : ML_DT_I64;
        return ml_int(ev->cx, t, v.as.i);
    case ML_CV_FLOAT: return ml_ev_const(ev, ML_DT_F32, v, at);
    case ML_CV_STRING: return ml_string(ev->cx, v.as.s);
    case ML_CV_META: return ml_ev_to_expr(ev, v.as.list[0], at);
    case ML_CV_TUPLE:
        if (v.n == 1) /* a loop tuple of one */
            return ml_ev_to_expr(ev, v.as.list[0], at);
        break;
    case ML_CV_FRESH:
        return ml_ev_nothing(
            ev, E501, at, "a new variable needs a name: assign it, as in `n = T.int32()`");
    default: break;
    }
    return ml_ev_nothing(ev, E501, at, "expected an expression, got %s",
                         ml_cv_describe(ev, v));
}

const ml_Expr *ml_ev_to_int(ml_Eval *ev, ml_Cv v, ml_Place at, const char *what)
{
    const ml_Expr *e;

    if (v.kind == ML_CV_FLOAT || v.kind == ML_CV_STRING || v.kind == ML_CV_BUFFER ||
        v.kind == ML_CV_NONE || v.kind == ML_CV_BOOL || v.kind == ML_CV_LIST)
        return ml_ev_nothing(ev, E501, at, "%s must be an integer, got %s", what,
                             ml_cv_describe(ev, v));
    e = ml_ev_to_expr(ev, v, at);
    if (e && !ml_dtype_is_int(e->type))
        return ml_ev_nothing(ev, E501, at, "%s must be an integer, got %s", what,
                             ml_dtype_name(ev->cx, e->type));
    return e;
}

const ml_Expr *ml_ev_cast(ml_Eval *ev, ml_Dtype t, const ml_Expr *e, ml_Place at)
{
    if (ml_dtype_eq(t, e->type))
        return e;
    if (e->type.code == ML_VOID || t.code == ML_VOID)
        return ml_ev_nothing(ev, E517, at, "%s cannot be cast to %s",
                             e->type.code == ML_VOID ? "a string or void"
                                                     : ml_dtype_name(ev->cx, e->type),
                             ml_dtype_name(ev->cx, t));
    if (t.lanes != e->type.lanes && e->type.lanes != 1)
        return ml_ev_nothing(ev, E517, at, "%s cannot be cast to %s: the lanes differ",
                             ml_dtype_name(ev->cx, e->type), ml_dtype_name(ev->cx, t));
    if ((t.code == ML_HANDLE) != (e->type.code == ML_HANDLE) &&
        t.lanes * e->type.lanes != 1)
        return ml_ev_nothing(ev, E517, at, "a vector cannot be cast to or from a handle");
    return ml_cast(ev->cx, t, e);
}

/* ---- values of attributes and annotations */
const ml_Value *ml_ev_to_value(ml_Eval *ev, ml_Cv v, ml_Place at)
{
    const ml_Value **out;
    const char **keys;
    const ml_Value *map;

    switch (v.kind) {
    case ML_CV_POISON: return NULL;
    case ML_CV_NONE: return ml_val_none(ev->cx);
    case ML_CV_BOOL: return ml_val_bool(ev->cx, v.as.i != 0);
    case ML_CV_INT:
        if (v.big)
            break;
        return ml_val_int(ev->cx, v.as.i);
    case ML_CV_FLOAT: return ml_val_float(ev->cx, v.as.f);
    case ML_CV_STRING: return ml_val_string(ev->cx, v.as.s);
    case ML_CV_EXPR:
        return v.as.e->kind == ML_EXPR_STRING ? ml_val_string(ev->cx, ml_str(v.as.e->as.s))
                                              : ml_val_expr(ev->cx, v.as.e);
    case ML_CV_DTYPE: return ml_val_string(ev->cx, ml_str(ml_dtype_name(ev->cx, v.dt)));
    case ML_CV_CELL:
    case ML_CV_BUFFER: return ml_val_buffer(ev->cx, v.as.b);
    case ML_CV_REDUCER: return ml_val_reducer(ev->cx, v.as.reducer);
    case ML_CV_MAP: return ml_val_map(ev->cx, v.as.map);
    case ML_CV_VALUE: return v.as.val;
    case ML_CV_RANGE:
    case ML_CV_TUPLE:
    case ML_CV_LIST:
        out = ML_ARRAY(ev->cx, const ml_Value *, v.n + 1);
        for (size_t k = 0; k < v.n; k++)
            if (!(out[k] = ml_ev_to_value(ev, v.as.list[k], at)))
                return NULL;
        return ml_val_list(ev->cx, out, v.n);
    case ML_CV_DICT:
        out = ML_ARRAY(ev->cx, const ml_Value *, v.n / 2 + 1);
        keys = ML_ARRAY(ev->sc, const char *, v.n / 2 + 1);
        for (size_t k = 0; k + 1 < v.n; k += 2) {
            ml_Cv key = v.as.list[k];

            if (key.kind != ML_CV_STRING)
                return ml_ev_nothing(ev, E519, at, "keys must be strings, got %s",
                                     ml_cv_describe(ev, key));
            keys[k / 2] =
                key.as.s.n >= 5 && memcmp(key.as.s.p, "tirx.", 5) == 0
                    ? ml_format(ev->sc, "tir.%.*s", (int)(key.as.s.n - 5), key.as.s.p + 5)
                    : ml_strdup(ev->sc, key.as.s);
            if (!(out[k / 2] = ml_ev_to_value(ev, v.as.list[k + 1], at)))
                return NULL;
        }
        map = ml_val_dict(ev->cx, keys, out, v.n / 2);
        return map;
    default: break;
    }
    return ml_ev_nothing(ev, E519, at, "%s cannot be kept as an attribute",
                         ml_cv_describe(ev, v));
}

bool ml_ev_dtype(ml_Eval *ev, ml_Cv v, ml_Place at, ml_Dtype *out)
{
    const char *near;

    if (v.kind == ML_CV_DTYPE || v.kind == ML_CV_FRESH) {
        *out = v.dt;
        return true;
    }
    if (v.kind == ML_CV_POISON)
        return false;
    if (v.kind == ML_CV_EXPR && v.as.e->kind == ML_EXPR_STRING)
        v = ml_cv_str(ml_str(v.as.e->as.s));
    if (v.kind != ML_CV_STRING)
        return ml_ev_reject(ev, E516, at, "expected a dtype, got %s",
                            ml_cv_describe(ev, v));
    if (ml_dtype_parse(v.as.s, out) || ml_ev_dtype_name(v.as.s, out))
        return true;
    if (ml_ev_is_scalable(v.as.s)) {
        ml_report(
            ev->rep, ML_E_E420, at,
            "`%.*s`: vectors whose number of lanes the machine chooses are not part of "
            "the program form; write a fixed number",
            (int)v.as.s.n, v.as.s.p);
        return false;
    }
    near = ml_dtype_nearest(v.as.s);
    return ml_ev_reject(ev, E516, at, "unknown dtype `%.*s`%s%s%s", (int)v.as.s.n, v.as.s.p,
                        near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
}
