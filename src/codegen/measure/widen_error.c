/*
 * widen_error - the estimates of rounding (widen.h): by the derivatives of each operation,
 * and for a sum over loops by the number of its terms.
 */
#include "moonloop/codegen/measure/widen_impl.h"

#include <math.h>

/* A step that is large against the last bits of a float64 and small against the value. */
#define MAGNIFY 0x1p26

static bool is_float(const ml_Expr *e)
{
    return ml_dtype_is_float(e->type);
}

/* ---------------------------------------------------------------- estimates */

/* The widened value of e as a float64, its magnitude, and arithmetic where NULL is zero. */
static const ml_Expr *as64(ml_Widen *w, const ml_Expr *e)
{
    return ml_cast(w->cx, ml_dtype_lanes(ML_DT_F64, e->type.lanes), e);
}

static const ml_Expr *magnitude(ml_Widen *w, const ml_Expr *e)
{
    const ml_Expr *v = as64(w, e);

    return ml_call_id(w->cx, v->type, ML_OP_FABS, &v, 1);
}

static const ml_Expr *value64(ml_Widen *w, const ml_Expr *e)
{
    return magnitude(w, ml_wide_value(w->cx, e, w));
}

static const ml_Expr *plus(ml_Widen *w, const ml_Expr *a, const ml_Expr *b)
{
    return a && b ? ml_add(w->cx, a, b) : a ? a : b;
}

static const ml_Expr *times(ml_Widen *w, const ml_Expr *a, const ml_Expr *b)
{
    return a && b ? ml_mul(w->cx, a, b) : NULL;
}

static const ml_Expr *larger(ml_Widen *w, const ml_Expr *a, const ml_Expr *b)
{
    return a && b ? ml_max(w->cx, a, b) : a ? a : b;
}

static const ml_Expr *zero_of(ml_Widen *w, const ml_Expr *e)
{
    return ml_const(w->cx, ml_dtype_lanes(ML_DT_F64, e->type.lanes), 0);
}

static const ml_Expr *scaled(ml_Widen *w, double by, const ml_Expr *e)
{
    return e ? ml_mul(w->cx, ml_const(w->cx, e->type, by), e) : NULL;
}

/* What the operation itself adds, `of` half units in the last place. */
static const ml_Expr *own(ml_Widen *w, const ml_Expr *e, double of)
{
    if (!is_float(e))
        return NULL;
    return scaled(w, of * ml_unit_roundoff(e->type), value64(w, e));
}

/* How far the call moves when argument k moves by its estimate. */
static const ml_Expr *moved(ml_Widen *w, const ml_Expr *e, size_t k, const ml_Expr *err)
{
    const ml_Expr **args = ML_ARRAY(w->cx, const ml_Expr *, e->n_args + 1u);
    const ml_Expr *at, *there;
    bool same = ml_dtype_eq(ml_dtype_wider(e->type), e->type); /* nothing wider */

    for (size_t j = 0; j < e->n_args; j++)
        args[j] = as64(w, ml_wide_value(w->cx, e->args[j], w));
    at = ml_call(w->cx, args[k]->type, e->as.op, args, e->n_args);
    args[k] = ml_add(w->cx, args[k], same ? scaled(w, MAGNIFY, err) : err);
    there = ml_call(w->cx, args[k]->type, e->as.op, args, e->n_args);
    there = magnitude(w, ml_sub(w->cx, there, at));
    return same ? scaled(w, 1 / MAGNIFY, there) : there;
}

static const ml_Expr *apply(ml_Widen *w, ml_OpId op, const ml_Expr *x)
{
    return ml_call_id(w->cx, x->type, op, &x, 1);
}

/* The whole numbers that op, which makes one of a float, may give from one end of what
 * rounding leaves open to the other. */
static const ml_Expr *jump(ml_Widen *w, ml_OpId op, const ml_Expr *from)
{
    const ml_Expr *err = ml_wide_error(w, from), *v;

    if (err == NULL)
        return NULL;
    v = as64(w, ml_wide_value(w->cx, from, w));
    return ml_sub(w->cx, apply(w, op, ml_add(w->cx, v, err)),
                  apply(w, op, ml_sub(w->cx, v, err)));
}

/* Of integers: a quotient by what is known moves by the quotient, rounded up; another, and a
 * remainder, may be anything that there is. */
static const ml_Expr *error_of_quotient(ml_Widen *w, const ml_Expr *e, const ml_Expr *a,
                                        const ml_Expr *b)
{
    const ml_Expr *by = value64(w, e->args[1]), *zero = zero_of(w, e), *most;
    bool remainder = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;

    if (a == NULL && b == NULL)
        return NULL;
    if (b == NULL && !remainder)
        return apply(w, ML_OP_CEIL, ml_div(w->cx, a, by));
    most = plus(w, remainder ? by : value64(w, e->args[0]), remainder ? b : a);
    return ml_select(w->cx, ml_gt(w->cx, plus(w, a, b), zero), most, zero);
}

static const ml_Expr *error_of_call(ml_Widen *w, const ml_Expr *e)
{
    enum { LIBRARY = 4 }; /* half units of a function of the library */
    const ml_Expr *sum = NULL, *err;

    if (e->as.op->family == ML_FAMILY_ROUND)
        return jump(w, e->as.op->id, e->args[0]);
    switch (e->as.op->id) {
    case ML_OP_IF_THEN_ELSE: {
        const ml_Expr *a = ml_wide_error(w, e->args[1]), *b = ml_wide_error(w, e->args[2]);

        if (a == NULL && b == NULL)
            return NULL;
        return ml_if_then_else(w->cx, ml_wide_value(w->cx, e->args[0], w),
                               a ? a : zero_of(w, e), b ? b : zero_of(w, e));
    }
    case ML_OP_FABS: return ml_wide_error(w, e->args[0]);
    case ML_OP_FMA:
        sum = plus(w, times(w, value64(w, e->args[0]), ml_wide_error(w, e->args[1])),
                   times(w, value64(w, e->args[1]), ml_wide_error(w, e->args[0])));
        return plus(w, plus(w, sum, ml_wide_error(w, e->args[2])), own(w, e, 1));
    default: break;
    }
    if (!is_float(e))
        return NULL; /* bits of integers: judged by the start */
    for (size_t k = 0; k < e->n_args; k++)
        if (is_float(e->args[k]) && (err = ml_wide_error(w, e->args[k])) != NULL)
            sum = plus(w, sum, moved(w, e, k, err));
    return plus(w, sum, own(w, e, LIBRARY));
}

static const ml_Expr *error_of_let(ml_Widen *w, const ml_Expr *e)
{
    const ml_Expr *err = ml_wide_error(w, e->args[0]), *body;
    const ml_Var *v = err ? ml_wide_error_var(w, e->as.var) : NULL;

    body = ml_wide_error(w, e->args[1]);
    if (body == NULL)
        return NULL;
    if (err)
        body = ml_let(w->cx, v, err, body);
    return ml_let(w->cx, ml_wide_var(w, e->as.var), ml_wide_value(w->cx, e->args[0], w),
                  body);
}

static const ml_Expr *error_of_load(ml_Widen *w, const ml_Expr *e)
{
    const ml_Buffer *b = ml_wide_estimate(w, e->as.buffer);

    return b ? ml_wide_load(w, b, ml_wide_value(w->cx, e, w)->args, e) : NULL;
}

static const ml_Expr *error_of_cast(ml_Widen *w, const ml_Expr *e)
{
    const ml_Expr *from = e->args[0];

    if (ml_dtype_is_bool(e->type))
        return NULL;
    if (!is_float(e))
        return is_float(from) ? jump(w, ML_OP_TRUNC, from) : ml_wide_error(w, from);
    bool loses = is_float(from) ? ml_unit_roundoff(e->type) > ml_unit_roundoff(from->type)
                                : from->type.bits > 8;

    return plus(w, ml_wide_error(w, from), loses ? own(w, e, 1) : NULL);
}

static const ml_Expr *make_error(ml_Widen *w, const ml_Expr *e)
{
    const ml_Expr *a, *b;

    if (e->n_args >= 2 && e->kind != ML_EXPR_LOAD && e->kind != ML_EXPR_LET &&
        e->kind != ML_EXPR_CALL && e->kind != ML_EXPR_SHUFFLE) {
        bool choice = e->kind == ML_EXPR_SELECT;

        a = ml_wide_error(w, e->args[choice ? 1 : 0]);
        b = ml_wide_error(w, e->args[choice ? 2 : 1]);
    } else {
        a = b = NULL;
    }
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_VAR: {
        const ml_Var *v = ml_map_get(w->var_errors, e->as.var->uid);

        return v ? ml_var(w->cx, v) : NULL;
    }
    case ML_EXPR_ADD:
    case ML_EXPR_SUB: return plus(w, plus(w, a, b), own(w, e, 1));
    case ML_EXPR_MUL:
        return plus(w,
                    plus(w, times(w, value64(w, e->args[0]), b),
                         times(w, value64(w, e->args[1]), a)),
                    is_float(e) ? own(w, e, 1) : times(w, a, b));
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_DIV: {
        if (!is_float(e))
            return error_of_quotient(w, e, a, b);
        if (e->kind != ML_EXPR_DIV)
            return NULL;
        const ml_Expr *by = value64(w, e->args[1]);

        b = times(w, value64(w, e), b);
        a = plus(w, a, b);
        return plus(w, a ? ml_div(w->cx, a, by) : NULL, own(w, e, 1));
    }
    case ML_EXPR_MIN:
    case ML_EXPR_MAX: return larger(w, a, b);
    case ML_EXPR_SELECT:
        if (a == NULL && b == NULL)
            return NULL;
        return ml_select(w->cx, ml_wide_value(w->cx, e->args[0], w), a ? a : zero_of(w, e),
                         b ? b : zero_of(w, e));
    case ML_EXPR_CAST: return error_of_cast(w, e);
    case ML_EXPR_LOAD: return error_of_load(w, e);
    case ML_EXPR_LET: return error_of_let(w, e);
    case ML_EXPR_CALL: return error_of_call(w, e);
    case ML_EXPR_BROADCAST:
        a = ml_wide_error(w, e->args[0]);
        return a ? ml_broadcast(w->cx, a, e->type.lanes) : NULL;
    case ML_EXPR_SHUFFLE: {
        size_t n = (size_t)e->as.i;
        const ml_Expr **v = ML_ARRAY(w->cx, const ml_Expr *, n + 1u);

        for (size_t k = 0; k < n; k++) {
            a = ml_wide_error(w, e->args[k]);
            v[k] = a ? a : zero_of(w, e->args[k]);
        }
        return ml_shuffle(w->cx, v, n, e->args + n, e->n_args - n);
    }
    default: return NULL; /* constants; remainders are judged by the start */
    }
}

const ml_Expr *ml_wide_error(ml_Widen *w, const ml_Expr *e)
{
    const ml_Expr *v = ml_map_get(w->errors, e->id);

    if (v == NULL && !ml_map_has(w->errors, e->id)) {
        v = make_error(w, e);
        ml_map_set(w->cx, w->errors, e->id, v);
    }
    return v;
}

/* ---------------------------------------------------------------- sums */

static bool is_place(const ml_Store *s, const ml_Expr *e)
{
    return e->kind == ML_EXPR_LOAD && e->as.buffer == s->buffer &&
           ml_load_rank(e) == s->n &&
           memcmp(e->args, s->indices, s->n * sizeof *s->indices) == 0;
}

/* Adds what the terms of a sum carry and bring; *found: the place itself is one of them. */
static const ml_Expr *sum_up(ml_Widen *w, const ml_Store *s, const ml_Expr *e, double share,
                             bool *found)
{
    if (is_place(s, e)) {
        *found = true;
        return ml_wide_error(w, e);
    }
    if (e->kind == ML_EXPR_ADD || (e->kind == ML_EXPR_SUB && !is_place(s, e->args[1])))
        return plus(w, sum_up(w, s, e->args[0], share, found),
                    sum_up(w, s, e->args[1], share, found));
    return plus(w, ml_wide_error(w, e), scaled(w, share, value64(w, e)));
}

/* Of one term, by its size. Where no wider type tells how far the start itself is off, it is
 * the bound of a sum of any order, for the start and for what is compared with it: terms of
 * one sign are rounded to one side, and roundings by chance would be called wrong. */
static double share_of(double n, ml_Dtype t)
{
    return (ml_dtype_eq(ml_dtype_wider(t), t) ? 2 * n : sqrt(n)) * ml_unit_roundoff(t);
}

const ml_Expr *ml_wide_stored_error(ml_Widen *w, const ml_Store *s)
{
    const ml_Expr *sum = NULL;
    bool found = false;
    double n = ml_nesting_terms(&w->at, s, true);

    /* Of an unknown number of terms each partial sum counts as an operation. */
    if (is_float(s->value) && n > 1 &&
        (s->value->kind == ML_EXPR_ADD || s->value->kind == ML_EXPR_SUB))
        sum = sum_up(w, s, s->value, share_of(n, s->buffer->type), &found);
    sum = found ? sum : ml_wide_error(w, s->value);
    return sum ? sum : zero_of(w, s->value);
}
