/* eval_math - T.max, T.exp, T.Select and the other functions that build expressions.
 * Source: script 10.4. */
#include "moonloop/core/script/eval/eval.h"

#include <math.h>

/* n positional expressions; dtype= is accepted and ignored. */
static bool exprs(ml_Eval *ev, ml_Args *a, size_t n, const ml_Expr **out)
{
    ml_ev_keyword(a, "dtype");
    if (!ml_ev_no_more(ev, a, n))
        return false;
    if (a->n_pos != n)
        return ml_ev_reject(ev, E414, a->call->at, "%s takes %zu argument%s, %zu given",
                            a->name, n, n == 1 ? "" : "s", a->n_pos);
    for (size_t k = 0; k < n; k++)
        if (!(out[k] = ml_ev_to_expr(ev, a->v[k].v, a->v[k].at)))
            return false;
    return true;
}

static ml_Cv done(ml_Eval *ev, ml_Args *a, const ml_Expr *e)
{
    return !e || ml_ev_too_deep(ev, e, a->call->at) ? ml_cv_poison() : ml_cv_expr(e);
}

static ml_Cv wrong_types(ml_Eval *ev, ml_Args *a, const ml_Expr *x, const ml_Expr *y)
{
    return ml_ev_fail(ev, E512, a->call->at, "%s is not defined for %s and %s", a->name,
                      ml_cv_describe(ev, ml_cv_expr(x)), ml_cv_describe(ev, ml_cv_expr(y)));
}

static bool numeric(const ml_Expr *e)
{
    return e->type.code != ML_VOID && e->type.code != ML_HANDLE;
}

static bool is_zero(const ml_Expr *e)
{
    return ml_is_int(e, 0) || (e->kind == ML_EXPR_BROADCAST && ml_is_int(e->args[0], 0));
}

static bool divides(ml_ExprKind k)
{
    return k >= ML_EXPR_DIV && k <= ML_EXPR_FLOORMOD;
}

/* T.Add(a, b): the node itself. */
static ml_Cv raw(ml_Eval *ev, ml_Args *a)
{
    ml_ExprKind k = (ml_ExprKind)a->fn->arg;
    const ml_Expr *x[2];

    if (!exprs(ev, a, 2, x))
        return ml_cv_poison();
    if (!ml_dtype_eq(x[0]->type, x[1]->type))
        return ml_ev_fail(ev, E510, a->call->at, "%s: operands have types %s and %s",
                          a->name, ml_cv_describe(ev, ml_cv_expr(x[0])),
                          ml_cv_describe(ev, ml_cv_expr(x[1])));
    if ((k == ML_EXPR_AND || k == ML_EXPR_OR) ? !ml_dtype_is_bool(x[0]->type)
        : k == ML_EXPR_EQ || k == ML_EXPR_NE  ? x[0]->type.code == ML_VOID
                                              : !numeric(x[0]))
        return wrong_types(ev, a, x[0], x[1]);
    if ((k == ML_EXPR_FLOORDIV || k == ML_EXPR_FLOORMOD || k == ML_EXPR_MOD) &&
        !ml_dtype_is_int(x[0]->type))
        return wrong_types(ev, a, x[0], x[1]);
    if (divides(k) && is_zero(x[1]))
        return ml_ev_fail(ev, E514, a->call->at, "division by zero");
    return done(ev, a, ml_raw_binary(ev->cx, k, x[0], x[1]));
}

static ml_Cv raw_not(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x;

    if (!exprs(ev, a, 1, &x))
        return ml_cv_poison();
    return ml_dtype_is_bool(x->type) ? done(ev, a, ml_raw_not(ev->cx, x))
                                     : wrong_types(ev, a, x, x);
}

/* T.min(a, b): promotes and folds. */
static ml_Cv folded(ml_Eval *ev, ml_Args *a)
{
    ml_ExprKind k = (ml_ExprKind)a->fn->arg;
    const ml_Expr *x[2];

    if (!exprs(ev, a, 2, x))
        return ml_cv_poison();
    if (!numeric(x[0]) || !numeric(x[1]) || !ml_ev_promote(ev, &x[0], &x[1]))
        return wrong_types(ev, a, x[0], x[1]);
    if (divides(k) && !ml_dtype_is_int(x[0]->type))
        return wrong_types(ev, a, x[0], x[1]);
    if (divides(k) && is_zero(x[1]))
        return ml_ev_fail(ev, E514, a->call->at, "division by zero");
    return done(ev, a, ml_binary(ev->cx, k, x[0], x[1]));
}

static ml_Cv ceildiv(ml_Eval *ev, ml_Args *a)
{
    ml_Cv x, y, t;

    if (a->n_pos != 2 || !ml_ev_no_more(ev, a, 2))
        return a->n_pos == 2
                   ? ml_cv_poison()
                   : ml_ev_fail(ev, E414, a->call->at, "%s takes 2 arguments, %zu given",
                                a->name, a->n_pos);
    x = a->v[0].v;
    y = a->v[1].v;
    t = ml_ev_binary(ev, ML_OPR_ADD, x, y, a->call->at);
    t = ml_ev_binary(ev, ML_OPR_SUB, t, ml_cv_int(1), a->call->at);
    return ml_ev_binary(ev, ML_OPR_FLOORDIV, t, y, a->call->at);
}

static ml_Cv bit_op(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x[2];

    if (!exprs(ev, a, 2, x))
        return ml_cv_poison();
    return ml_ev_binary(ev, (ml_TokOp)a->fn->arg, ml_cv_expr(x[0]), ml_cv_expr(x[1]),
                        a->call->at);
}

static ml_Cv bit_not(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x;

    if (!exprs(ev, a, 1, &x))
        return ml_cv_poison();
    if (!ml_dtype_is_int(x->type) && !ml_dtype_is_bool(x->type))
        return wrong_types(ev, a, x, x);
    return done(ev, a, ml_call_id(ev->cx, x->type, ML_OP_BITWISE_NOT, &x, 1));
}

/* Pure intrinsics; the result has the first argument's dtype. */
static ml_Cv pure(ml_Eval *ev, ml_Args *a)
{
    const ml_Op *op = ml_op((ml_OpId)a->fn->arg);
    const ml_Expr *x[8];
    size_t n = (size_t)op->n_args;

    ML_ASSERT(n > 0 && n <= ML_COUNT(x));
    if (!exprs(ev, a, n, x))
        return ml_cv_poison();
    if (!numeric(x[0]))
        return wrong_types(ev, a, x[0], x[n - 1]);
    if ((op->id == ML_OP_SIN || op->id == ML_OP_COS || op->id == ML_OP_TAN) &&
        !ml_dtype_is_float(x[0]->type))
        return ml_ev_fail(ev, E512, a->call->at, "%s needs a float, got %s", a->name,
                          ml_cv_describe(ev, ml_cv_expr(x[0])));
    if (op->id == ML_OP_POW || op->id == ML_OP_FMOD) {
        if (!ml_ev_promote(ev, &x[0], &x[1]) || !ml_dtype_is_float(x[0]->type))
            return wrong_types(ev, a, x[0], x[1]);
    }
    return done(ev, a, ml_call(ev->cx, x[0]->type, op, x, n));
}

/* floor, ceil, round, trunc, nearbyint: identity on integers, constants fold. */
static ml_Cv rounding(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x;
    double d;

    if (!exprs(ev, a, 1, &x))
        return ml_cv_poison();
    if (ml_dtype_is_int(x->type) || ml_dtype_is_bool(x->type))
        return ml_cv_expr(x);
    if (!ml_dtype_is_float(x->type))
        return wrong_types(ev, a, x, x);
    if (x->kind != ML_EXPR_FLOAT)
        return done(ev, a, ml_call_id(ev->cx, x->type, (ml_OpId)a->fn->arg, &x, 1));
    d = x->as.f;
    switch (a->fn->arg) {
    case ML_OP_FLOOR: d = floor(d); break;
    case ML_OP_CEIL: d = ceil(d); break;
    case ML_OP_ROUND: d = round(d); break;
    case ML_OP_TRUNC: d = trunc(d); break;
    default: d = nearbyint(d); break;
    }
    return ml_cv_expr(ml_float(ev->cx, x->type, d));
}

static ml_Cv absolute(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x, *zero;

    if (!exprs(ev, a, 1, &x))
        return ml_cv_poison();
    if (ml_dtype_is_float(x->type))
        return done(ev, a, ml_call_id(ev->cx, x->type, ML_OP_FABS, &x, 1));
    if (x->type.code == ML_UINT)
        return ml_cv_expr(x);
    if (x->type.code != ML_INT)
        return wrong_types(ev, a, x, x);
    zero = ml_int(ev->cx, x->type, 0);
    return done(ev, a,
                ml_select(ev->cx, ml_raw_binary(ev->cx, ML_EXPR_GE, x, zero), x,
                          ml_sub(ev->cx, zero, x)));
}

static ml_Cv classify(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x, *nan_call, *fabs_call, *eq;
    ml_Dtype b = ML_DT_BOOL;

    if (!exprs(ev, a, 1, &x))
        return ml_cv_poison();
    b.lanes = x->type.lanes;
    if (ml_dtype_is_int(x->type))
        return ml_cv_expr(ml_int(ev->cx, b, a->fn->arg == ML_OP_ISFINITE));
    if (!ml_dtype_is_float(x->type))
        return wrong_types(ev, a, x, x);
    nan_call = ml_call_id(ev->cx, b, ML_OP_ISNAN, &x, 1);
    if (a->fn->arg == ML_OP_ISNAN)
        return done(ev, a, nan_call);
    fabs_call = ml_call_id(ev->cx, x->type, ML_OP_FABS, &x, 1);
    eq = ml_raw_binary(ev->cx, a->fn->arg == ML_OP_ISINF ? ML_EXPR_EQ : ML_EXPR_NE,
                       fabs_call, ml_float(ev->cx, x->type, HUGE_VAL));
    return done(ev, a,
                ml_raw_binary(ev->cx, ML_EXPR_AND, eq, ml_raw_not(ev->cx, nan_call)));
}

static ml_Cv limit(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"dtype", NULL};
    ml_Arg *s[1];
    ml_Dtype t;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "dtype") ||
        !ml_ev_dtype(ev, s[0]->v, s[0]->at, &t))
        return ml_cv_poison();
    if (ml_dtype_is_float(t))
        return ml_cv_expr(ml_float(ev->cx, t,
                                   a->fn->arg == 2 ? HUGE_VAL
                                   : a->fn->arg    ? ml_dtype_fmax(t)
                                                   : ml_dtype_flowest(t)));
    if (a->fn->arg == 2 || (!ml_dtype_is_int(t) && !ml_dtype_is_bool(t)))
        return ml_ev_fail(ev, E512, a->call->at, "%s is not defined for %s", a->name,
                          ml_dtype_name(ev->cx, t));
    if (t.code == ML_UINT && t.bits == 64 && a->fn->arg == 1)
        return ml_cv_expr(ml_int(ev->cx, t, -1));
    return ml_cv_expr(ml_int(ev->cx, t, a->fn->arg ? ml_dtype_max(t) : ml_dtype_min(t)));
}

static ml_Cv if_then_else(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"cond", "t", "f", "*dtype", NULL};
    ml_Arg *s[4];
    const ml_Expr *x[3];

    if (!ml_ev_slots(ev, a, NAMES, s))
        return ml_cv_poison();
    for (int k = 0; k < 3; k++) {
        if (!ml_ev_need(ev, a, s[k], NAMES[k]) ||
            !(x[k] = ml_ev_to_expr(ev, s[k]->v, s[k]->at)))
            return ml_cv_poison();
    }
    if (!ml_dtype_is_bool(x[0]->type) || x[0]->type.lanes != 1)
        return ml_ev_fail(ev, E511, s[0]->at, "the condition must be a boolean, got %s",
                          ml_cv_describe(ev, ml_cv_expr(x[0])));
    if (!ml_ev_promote(ev, &x[1], &x[2]))
        return ml_ev_fail(ev, E515, a->call->at, "branches have types %s and %s",
                          ml_cv_describe(ev, ml_cv_expr(x[1])),
                          ml_cv_describe(ev, ml_cv_expr(x[2])));
    if (ml_is_const_int(x[0]))
        return ml_cv_expr(ml_is_true(x[0]) ? x[1] : x[2]);
    return done(ev, a, ml_if_then_else(ev->cx, x[0], x[1], x[2]));
}

static ml_Cv likely(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x;

    if (!exprs(ev, a, 1, &x))
        return ml_cv_poison();
    if (!ml_dtype_is_bool(x->type))
        return ml_ev_fail(ev, E511, a->call->at, "T.likely needs a boolean, got %s",
                          ml_cv_describe(ev, ml_cv_expr(x)));
    return done(ev, a, ml_likely(ev->cx, x));
}

static ml_Cv select(ml_Eval *ev, ml_Args *a)
{
    const ml_Expr *x[3];

    if (!exprs(ev, a, 3, x))
        return ml_cv_poison();
    if (!ml_dtype_eq(x[1]->type, x[2]->type))
        return ml_ev_fail(ev, E515, a->call->at, "branches have types %s and %s",
                          ml_cv_describe(ev, ml_cv_expr(x[1])),
                          ml_cv_describe(ev, ml_cv_expr(x[2])));
    if (!ml_dtype_is_bool(x[0]->type) ||
        (x[0]->type.lanes != 1 && x[0]->type.lanes != x[1]->type.lanes))
        return ml_ev_fail(ev, E511, a->call->at, "the condition must be a boolean, got %s",
                          ml_cv_describe(ev, ml_cv_expr(x[0])));
    return done(ev, a, ml_select(ev->cx, x[0], x[1], x[2]));
}

/* T.cast(e, "dtype") and T.Cast("dtype", e). */
static ml_Cv cast(ml_Eval *ev, ml_Args *a)
{
    static const char *const CAST[] = {"value", "dtype", NULL};
    static const char *const NODE[] = {"dtype", "value", NULL};
    bool node = a->fn->arg == 1;
    ml_Arg *s[2], *value, *type;
    const ml_Expr *e;
    ml_Dtype t;

    if (!ml_ev_slots(ev, a, node ? NODE : CAST, s))
        return ml_cv_poison();
    value = s[node];
    type = s[!node];
    if (!ml_ev_need(ev, a, value, "value") || !ml_ev_need(ev, a, type, "dtype") ||
        !ml_ev_dtype(ev, type->v, type->at, &t) ||
        !(e = ml_ev_to_expr(ev, value->v, value->at)))
        return ml_cv_poison();
    if (node) {
        if (t.code == ML_VOID || e->type.code == ML_VOID || t.lanes != e->type.lanes)
            return ml_ev_fail(ev, E517, a->call->at, "%s cannot be cast to %s",
                              ml_cv_describe(ev, ml_cv_expr(e)), ml_dtype_name(ev->cx, t));
        return done(ev, a, ml_raw_cast(ev->cx, t, e));
    }
    e = ml_ev_cast(ev, t, e, a->call->at);
    return done(ev, a, e);
}

static bool lanes_of(ml_Eval *ev, ml_Args *a, ml_Arg *s, unsigned *out)
{
    ml_Cv v;

    if (!ml_ev_need(ev, a, s, "lanes"))
        return false;
    v = s->v;
    if (v.kind == ML_CV_EXPR && ml_is_const_int(v.as.e))
        v = ml_cv_int(v.as.e->as.i);
    if (v.kind != ML_CV_INT || v.as.i < 2 || v.as.i > 4096 || v.big)
        return ml_ev_reject(ev, E522, s->at, "the number of lanes must be in 2 … 4096%s",
                            v.kind == ML_CV_EXPR ? ", known when the text is read" : "");
    *out = (unsigned)v.as.i;
    return true;
}

static ml_Cv ramp(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"base", "stride", "lanes", "*dtype", NULL};
    ml_Arg *s[4];
    const ml_Expr *base, *stride;
    unsigned lanes;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "base") ||
        !ml_ev_need(ev, a, s[1], "stride") || !lanes_of(ev, a, s[2], &lanes))
        return ml_cv_poison();
    base = ml_ev_to_int(ev, s[0]->v, s[0]->at, "ramp base");
    stride = ml_ev_to_int(ev, s[1]->v, s[1]->at, "ramp stride");
    if (!base || !stride)
        return ml_cv_poison();
    if (base->type.lanes != 1 || stride->type.lanes != 1)
        return ml_ev_fail(ev, E522, a->call->at, "base and stride of a ramp are scalars");
    return done(ev, a, ml_ramp(ev->cx, base, ml_cast(ev->cx, base->type, stride), lanes));
}

static ml_Cv broadcast(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"value", "lanes", "*dtype", NULL};
    ml_Arg *s[3];
    const ml_Expr *e;
    unsigned lanes;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "value") ||
        !lanes_of(ev, a, s[1], &lanes) || !(e = ml_ev_to_expr(ev, s[0]->v, s[0]->at)))
        return ml_cv_poison();
    if (e->type.lanes != 1 || !numeric(e))
        return ml_ev_fail(ev, E522, a->call->at, "only a scalar can be broadcast, got %s",
                          ml_cv_describe(ev, ml_cv_expr(e)));
    return done(ev, a, ml_broadcast(ev->cx, e, lanes));
}

static bool expr_list(ml_Eval *ev, ml_Arg *s, ml_ExprVec *out)
{
    if (s->v.kind != ML_CV_LIST && s->v.kind != ML_CV_TUPLE)
        return ml_ev_reject(ev, E415, s->at, "expected a list, got %s",
                            ml_cv_describe(ev, s->v));
    for (size_t k = 0; k < s->v.n; k++) {
        const ml_Expr *e = ml_ev_to_expr(ev, s->v.as.list[k], s->at);

        if (!e)
            return false;
        ml_push(ev->cx, out, e);
    }
    return true;
}

static ml_Cv shuffle(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"vectors", "indices", NULL};
    ml_Arg *s[2];
    ml_ExprVec v = {0}, idx = {0};
    size_t lanes = 0;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "vectors") ||
        !ml_ev_need(ev, a, s[1], "indices") || !expr_list(ev, s[0], &v) ||
        !expr_list(ev, s[1], &idx))
        return ml_cv_poison();
    if (v.n == 0 || idx.n == 0 || v.n > 4096 || idx.n > 4096)
        return ml_ev_fail(ev, E522, a->call->at, "T.Shuffle needs vectors and indices");
    for (size_t k = 0; k < v.n; k++) {
        if (!ml_dtype_eq(ml_dtype_lanes(v.v[k]->type, 1),
                         ml_dtype_lanes(v.v[0]->type, 1)) ||
            !numeric(v.v[k]))
            return ml_ev_fail(ev, E515, s[0]->at,
                              "the vectors have different element types");
        lanes += v.v[k]->type.lanes;
    }
    for (size_t k = 0; k < idx.n; k++) {
        if (!ml_is_const_int(idx.v[k]) || idx.v[k]->as.i < 0 ||
            (size_t)idx.v[k]->as.i >= lanes)
            return ml_ev_fail(ev, E522, s[1]->at,
                              "the indices of T.Shuffle are constants in 0 … %zu",
                              lanes - 1);
        idx.v[k] = ml_i32(ev->cx, idx.v[k]->as.i);
    }
    return done(ev, a, ml_shuffle(ev->cx, v.v, v.n, idx.v, idx.n));
}

/* T.Let(body, where={x: v}). */
static ml_Cv let(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"body", "where", NULL};
    ml_Arg *s[2];
    const ml_Expr *body;

    if (!ml_ev_slots(ev, a, NAMES, s) || !ml_ev_need(ev, a, s[0], "body") ||
        !ml_ev_need(ev, a, s[1], "where"))
        return ml_cv_poison();
    if (s[1]->v.kind != ML_CV_DICT || s[1]->v.n == 0)
        return ml_ev_fail(ev, E415, s[1]->at, "`where` must be a dict {variable: value}");
    body = ml_ev_to_expr(ev, s[0]->v, s[0]->at);
    for (size_t k = s[1]->v.n; body && k >= 2; k -= 2) {
        ml_Cv var = s[1]->v.as.list[k - 2];
        const ml_Expr *value = ml_ev_to_expr(ev, s[1]->v.as.list[k - 1], s[1]->at);

        if (!value)
            return ml_cv_poison();
        if (var.kind != ML_CV_EXPR || var.as.e->kind != ML_EXPR_VAR)
            return ml_ev_fail(ev, E415, s[1]->at, "T.Let binds variables, got %s",
                              ml_cv_describe(ev, var));
        if (!ml_dtype_eq(var.as.e->type, value->type)) {
            if (s[1]->v.as.list[k - 1].kind == ML_CV_EXPR ||
                !(value =
                      ml_ev_const(ev, var.as.e->type, s[1]->v.as.list[k - 1], s[1]->at)))
                return ml_ev_fail(ev, E515, s[1]->at, "the variable is %s, its value %s",
                                  ml_dtype_name(ev->cx, var.as.e->type),
                                  ml_cv_describe(ev, ml_cv_expr(value)));
        }
        body = ml_let(ev->cx, var.as.e->as.var, value, body);
    }
    return done(ev, a, body);
}

static ml_Cv immediate(ml_Eval *ev, ml_Args *a)
{
    static const char *const TYPED[] = {"dtype", "value", NULL};
    ml_Arg *s[2];
    ml_Dtype t;
    ml_Str z;

    if (a->fn->arg == 2) {
        if (a->n_pos != 1 || !ml_ev_no_more(ev, a, 1))
            return ml_ev_fail(ev, E414, a->call->at, "%s takes 1 argument", a->name);
        return ml_ev_arg_string(ev, a, &a->v[0], "the value", &z)
                   ? ml_cv_expr(ml_string(ev->cx, z))
                   : ml_cv_poison();
    }
    if (!ml_ev_slots(ev, a, TYPED, s) || !ml_ev_need(ev, a, s[0], "dtype") ||
        !ml_ev_need(ev, a, s[1], "value") || !ml_ev_dtype(ev, s[0]->v, s[0]->at, &t))
        return ml_cv_poison();
    if (a->fn->arg == 0 ? !ml_dtype_is_int(t) && !ml_dtype_is_bool(t)
                        : !ml_dtype_is_float(t))
        return ml_ev_fail(ev, E515, a->call->at, "%s cannot have dtype %s", a->name,
                          ml_dtype_name(ev->cx, t));
    return ml_cv_expr(ml_ev_const(ev, t, s[1]->v, s[1]->at));
}

static ml_Cv reinterpret(ml_Eval *ev, ml_Args *a)
{
    static const char *const NAMES[] = {"dtype", "value", NULL};
    static const char *const KEYED[] = {"value", "*dtype", NULL};
    bool key = ml_ev_keyword(a, "dtype") != NULL;
    ml_Arg *s[2], *type, *value;
    const ml_Expr *e;
    ml_Dtype t;

    if (!ml_ev_slots(ev, a, key ? KEYED : NAMES, s))
        return ml_cv_poison();
    type = key ? s[1] : s[0];
    value = key ? s[0] : s[1];
    if (!ml_ev_need(ev, a, type, "dtype") || !ml_ev_need(ev, a, value, "value") ||
        !ml_ev_dtype(ev, type->v, type->at, &t) ||
        !(e = ml_ev_to_expr(ev, value->v, value->at)))
        return ml_cv_poison();
    if (ml_dtype_eq(t, e->type))
        return ml_cv_expr(e);
    if (t.bits * t.lanes != e->type.bits * e->type.lanes || t.code == ML_VOID)
        return ml_ev_fail(ev, E517, a->call->at, "%s and %s have different sizes",
                          ml_cv_describe(ev, ml_cv_expr(e)), ml_dtype_name(ev->cx, t));
    return done(ev, a, ml_call_id(ev->cx, t, ML_OP_REINTERPRET, &e, 1));
}

const ml_Builtin ml_ev_math_table[] = {
    {"Add", raw, ML_EXPR_ADD, false},
    {"Sub", raw, ML_EXPR_SUB, false},
    {"Mul", raw, ML_EXPR_MUL, false},
    {"Div", raw, ML_EXPR_DIV, false},
    {"Mod", raw, ML_EXPR_MOD, false},
    {"FloorDiv", raw, ML_EXPR_FLOORDIV, false},
    {"FloorMod", raw, ML_EXPR_FLOORMOD, false},
    {"Min", raw, ML_EXPR_MIN, false},
    {"Max", raw, ML_EXPR_MAX, false},
    {"EQ", raw, ML_EXPR_EQ, false},
    {"NE", raw, ML_EXPR_NE, false},
    {"LT", raw, ML_EXPR_LT, false},
    {"LE", raw, ML_EXPR_LE, false},
    {"GT", raw, ML_EXPR_GT, false},
    {"GE", raw, ML_EXPR_GE, false},
    {"And", raw, ML_EXPR_AND, false},
    {"Or", raw, ML_EXPR_OR, false},
    {"Not", raw_not, 0, false},
    {"Select", select, 0, false},
    {"Cast", cast, 1, false},
    {"cast", cast, 0, false},
    {"Ramp", ramp, 0, false},
    {"ramp", ramp, 0, false},
    {"Broadcast", broadcast, 0, false},
    {"broadcast", broadcast, 0, false},
    {"Shuffle", shuffle, 0, false},
    {"Let", let, 0, false},
    {"IntImm", immediate, 0, false},
    {"FloatImm", immediate, 1, false},
    {"StringImm", immediate, 2, false},
    {"min", folded, ML_EXPR_MIN, false},
    {"max", folded, ML_EXPR_MAX, false},
    {"floordiv", folded, ML_EXPR_FLOORDIV, false},
    {"floormod", folded, ML_EXPR_FLOORMOD, false},
    {"truncdiv", folded, ML_EXPR_DIV, false},
    {"truncmod", folded, ML_EXPR_MOD, false},
    {"ceildiv", ceildiv, 0, false},
    {"if_then_else", if_then_else, 0, false},
    {"likely", likely, 0, false},
    {"abs", absolute, 0, false},
    {"isnan", classify, ML_OP_ISNAN, false},
    {"isinf", classify, ML_OP_ISINF, false},
    {"isfinite", classify, ML_OP_ISFINITE, false},
    {"min_value", limit, 0, false},
    {"max_value", limit, 1, false},
    {"infinity", limit, 2, false},
    {"reinterpret", reinterpret, 0, false},
    {"shift_left", bit_op, ML_OPR_SHL, false},
    {"shift_right", bit_op, ML_OPR_SHR, false},
    {"bitwise_and", bit_op, ML_OPR_BITAND, false},
    {"bitwise_or", bit_op, ML_OPR_BITOR, false},
    {"bitwise_xor", bit_op, ML_OPR_BITXOR, false},
    {"bitwise_not", bit_not, 0, false},
    {"pow", pure, ML_OP_POW, false},
    {"power", pure, ML_OP_POW, false},
    {"fmod", pure, ML_OP_FMOD, false},
#define CALL_MATH                                 pure
#define CALL_ROUND                                rounding
#define ML_OP(ID, name, effect, n, first, family) {name, CALL_##family, ML_OP_##ID, false},
#include "moonloop/core/ops_math.def"
#undef ML_OP
    {"clz", pure, ML_OP_CLZ, false},
    {"popcount", pure, ML_OP_POPCOUNT, false},
    {"atan2", pure, ML_OP_ATAN2, false},
    {"hypot", pure, ML_OP_HYPOT, false},
    {"copysign", pure, ML_OP_COPYSIGN, false},
    {"nextafter", pure, ML_OP_NEXTAFTER, false},
    {"ldexp", pure, ML_OP_LDEXP, false},
    {"fma", pure, ML_OP_FMA, false},
    {"q_multiply_shift", pure, ML_OP_Q_MULTIPLY_SHIFT, false},
    {"q_multiply_shift_per_axis", pure, ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS, false},
    {NULL, NULL, 0, false},
};
