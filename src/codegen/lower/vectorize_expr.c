/*
 * vectorize_expr - an expression of a vectorized loop, for all of its lanes.
 *
 * The loop's variable becomes ramp(0, 1, lanes). A ramp survives sums with scalars and
 * products with constants, so that accesses stay contiguous where they were; everything
 * else that depends on the lane becomes an operation of vectors, its scalar operands
 * broadcast. Source: lowering-and-codegen 3.3.
 */
#include "moonloop/codegen/lower/vectorize.h"

static const ml_Expr *obstacle(ml_Vectorize *v, const ml_Expr *e, const char *why)
{
    if (!v->obstacle)
        v->obstacle = why;
    return e;
}

const ml_Expr *ml_vectorize_wide(ml_Vectorize *v, const ml_Expr *e)
{
    if (e->type.lanes == v->lanes)
        return e;
    if (e->type.lanes != 1)
        return obstacle(v, e, "it has vectors of its own");
    return ml_broadcast(v->cx, e, v->lanes);
}

static bool is_ramp(const ml_Expr *e)
{
    return e->kind == ML_EXPR_RAMP;
}

static const ml_Expr *ramp(ml_Vectorize *v, const ml_Expr *base, const ml_Expr *stride)
{
    return ml_is_int(stride, 0) ? ml_broadcast(v->cx, base, v->lanes)
                                : ml_ramp(v->cx, base, stride, v->lanes);
}

/* Sums and products that are ramps again; NULL: none. */
static const ml_Expr *linear(ml_Vectorize *v, ml_ExprKind k, const ml_Expr *a,
                             const ml_Expr *b)
{
    ml_Ctx *cx = v->cx;

    if (k != ML_EXPR_ADD && k != ML_EXPR_SUB && k != ML_EXPR_MUL)
        return NULL;
    if (a->kind == ML_EXPR_BROADCAST)
        a = a->args[0];
    if (b->kind == ML_EXPR_BROADCAST)
        b = b->args[0];
    if (k == ML_EXPR_MUL) {
        if (is_ramp(b) && a->type.lanes == 1) {
            const ml_Expr *t = a;

            a = b;
            b = t;
        }
        if (is_ramp(a) && b->type.lanes == 1)
            return ramp(v, ml_mul(cx, a->args[0], b), ml_mul(cx, a->args[1], b));
        return NULL;
    }
    if (is_ramp(a) && is_ramp(b))
        return ramp(v, ml_binary(cx, k, a->args[0], b->args[0]),
                    ml_binary(cx, k, a->args[1], b->args[1]));
    if (is_ramp(a) && b->type.lanes == 1)
        return ramp(v, ml_binary(cx, k, a->args[0], b), a->args[1]);
    if (is_ramp(b) && a->type.lanes == 1)
        return ramp(v, ml_binary(cx, k, a, b->args[0]),
                    k == ML_EXPR_ADD ? b->args[1] : ml_neg(cx, b->args[1]));
    return NULL;
}

/* A divisor that lanes switched off cannot make fault. */
static const ml_Expr *safe_divisor(ml_Vectorize *v, const ml_Expr *d)
{
    if (!v->mask || ml_is_const_int(d) || !ml_dtype_is_int(d->type) ||
        (d->kind == ML_EXPR_BROADCAST && ml_is_const_int(d->args[0])))
        return d;
    d = ml_vectorize_wide(v, d);
    if (v->obstacle)
        return d;
    return ml_select(v->cx, v->mask, d, ml_int(v->cx, d->type, 1));
}

static const ml_Expr *binary(ml_Vectorize *v, const ml_Expr *e)
{
    const ml_Expr *a = ml_vectorize_expr(v, e->args[0]);
    const ml_Expr *b = ml_vectorize_expr(v, e->args[1]), *to;
    ml_ExprKind k = (ml_ExprKind)e->kind;

    if (v->obstacle)
        return e;
    if (ml_kind_divides(k))
        b = safe_divisor(v, b);
    if (a->type.lanes == 1 && b->type.lanes == 1)
        return a == e->args[0] && b == e->args[1] ? e : ml_binary(v->cx, k, a, b);
    if (ml_dtype_is_int(a->type) && (to = linear(v, k, a, b)) != NULL)
        return to;
    a = ml_vectorize_wide(v, a);
    b = ml_vectorize_wide(v, b);
    return v->obstacle ? e : ml_binary(v->cx, k, a, b);
}

const ml_Expr *ml_vectorize_and(ml_Vectorize *v, const ml_Expr *mask, const ml_Expr *cond)
{
    cond = ml_vectorize_wide(v, cond);
    if (v->obstacle || mask == NULL)
        return cond;
    return ml_and(v->cx, mask, cond);
}

/* An arm of a lane-varying choice: its loads happen in the chosen lanes only. */
static const ml_Expr *arm(ml_Vectorize *v, const ml_Expr *e, const ml_Expr *cond)
{
    const ml_Expr *mask = v->mask, *to;
    bool some = v->some;

    v->mask = ml_vectorize_and(v, mask, cond);
    v->some = false;
    to = ml_vectorize_expr(v, e);
    v->mask = mask;
    v->some = some;
    return ml_vectorize_wide(v, to);
}

static const ml_Expr *choice(ml_Vectorize *v, const ml_Expr *e, bool lazy)
{
    const ml_Expr *c = ml_vectorize_expr(v, e->args[0]), *a, *b;
    bool varies = c->type.lanes != 1;

    if (v->obstacle)
        return e;
    if (varies && lazy) {
        a = arm(v, e->args[1], c);
        b = arm(v, e->args[2], ml_not(v->cx, c));
        return v->obstacle ? e : ml_select(v->cx, c, a, b);
    }
    a = ml_vectorize_expr(v, e->args[1]);
    b = ml_vectorize_expr(v, e->args[2]);
    if (v->obstacle)
        return e;
    if (varies || a->type.lanes != 1 || b->type.lanes != 1) {
        a = ml_vectorize_wide(v, a);
        b = ml_vectorize_wide(v, b);
        if (!lazy)
            c = ml_vectorize_wide(v, c);
        if (v->obstacle)
            return e;
    } else if (c == e->args[0] && a == e->args[1] && b == e->args[2]) {
        return e;
    }
    return lazy ? ml_if_then_else(v->cx, c, a, b) : ml_select(v->cx, c, a, b);
}

const ml_Expr *ml_vectorize_spread(ml_Vectorize *v, const ml_Expr *index)
{
    const ml_Expr *lane =
        ml_ramp(v->cx, ml_int(v->cx, ml_dtype_lanes(index->type, 1), 0),
                ml_int(v->cx, ml_dtype_lanes(index->type, 1), 1), v->lanes);
    const ml_Expr *n = ml_int(v->cx, ml_dtype_lanes(index->type, 1), v->lanes), *at;

    if (index->type.lanes == 1)
        return linear(v, ML_EXPR_ADD, ml_mul(v->cx, index, n), lane);
    at = linear(v, ML_EXPR_MUL, index, n);
    if (!at)
        at = ml_mul(v->cx, index, ml_broadcast(v->cx, n, v->lanes));
    return is_ramp(at) ? linear(v, ML_EXPR_ADD, at, lane) : ml_add(v->cx, at, lane);
}

static const ml_Expr *load(ml_Vectorize *v, const ml_Expr *e)
{
    size_t n = ml_load_rank(e);
    const ml_Buffer *b = ml_map_get(v->expanded, e->as.buffer->uid);
    const ml_Expr **idx = ML_ARRAY(v->cx, const ml_Expr *, n + 1), *mask = NULL;
    bool changed = false, varies = b != NULL;

    for (size_t k = 0; k < n; k++) {
        idx[k] = ml_vectorize_expr(v, e->args[k]);
        changed |= idx[k] != e->args[k];
        if (idx[k]->type.lanes != 1 && k + 1 != n)
            return obstacle(v, e, "an index other than the last depends on the lane");
        varies |= idx[k]->type.lanes != 1;
    }
    if (v->obstacle)
        return e;
    if ((e->flags & ML_X_MASKED) || e->as.buffer->type.lanes != 1)
        return !changed && !varies ? e : obstacle(v, e, "it has vectors of its own");
    if (n == 0)
        return e;
    if (b)
        idx[n - 1] = ml_vectorize_spread(v, idx[n - 1]);
    if (!varies && (!v->mask || v->some))
        return changed ? ml_load(v->cx, e->as.buffer, idx, n) : e;
    /* Where no lane may be at work there may be no element to read either. */
    if (idx[n - 1]->type.lanes == 1)
        idx[n - 1] = ml_broadcast(v->cx, idx[n - 1], v->lanes);
    mask = v->mask;
    b = b ? b : e->as.buffer;
    return mask ? ml_load_masked(v->cx, b, idx, n, mask) : ml_load(v->cx, b, idx, n);
}

static const ml_Expr *let(ml_Vectorize *v, const ml_Expr *e)
{
    const ml_Expr *value = ml_vectorize_expr(v, e->args[0]), *body;
    const ml_Var *to = e->as.var;

    if (v->obstacle)
        return e;
    if (value->type.lanes != 1) {
        to = ml_var_new(v->cx, e->as.var->hint, value->type);
        ml_map_set(v->cx, v->bound, e->as.var->uid, to);
    }
    body = ml_vectorize_expr(v, e->args[1]);
    return v->obstacle ? e : ml_let(v->cx, to, value, body);
}

static bool elementwise(const ml_Op *op)
{
    switch ((ml_OpId)op->id) {
    case ML_OP_OTHER:
    case ML_OP_CALL_PURE_EXTERN:
    case ML_OP_CALL_LLVM_PURE_INTRIN:
    case ML_OP_ADDRESS_OF:
    case ML_OP_TYPE_ANNOTATION:
    case ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS: return false;
    default: return op->effect == ML_EFFECT_PURE;
    }
}

static const ml_Expr *call(ml_Vectorize *v, const ml_Expr *e)
{
    const ml_Expr **args = ML_ARRAY(v->cx, const ml_Expr *, e->n_args + 1u);
    bool changed = false, varies = false;

    if (ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return choice(v, e, true);
    if (ml_is_op(e, ML_OP_LIKELY))
        return ml_vectorize_expr(v, e->args[0]);
    for (uint32_t k = 0; k < e->n_args; k++) {
        args[k] = ml_vectorize_expr(v, e->args[k]);
        changed |= args[k] != e->args[k];
        varies |= args[k]->type.lanes != 1;
    }
    if (v->obstacle)
        return e;
    if (e->as.op->effect > ML_EFFECT_PURE)
        return obstacle(v, e, "it calls what is not pure");
    if (!varies)
        return changed ? ml_call(v->cx, e->type, e->as.op, args, e->n_args) : e;
    if (!elementwise(e->as.op) || e->type.lanes != 1)
        return obstacle(v, e, "it calls what has no form for vectors");
    for (uint32_t k = 0; k < e->n_args; k++)
        args[k] = ml_vectorize_wide(v, args[k]);
    if (v->obstacle)
        return e;
    return ml_call(v->cx, ml_dtype_lanes(e->type, v->lanes), e->as.op, args, e->n_args);
}

static const ml_Expr *variable(ml_Vectorize *v, const ml_Expr *e)
{
    const ml_Var *to;

    if (e->as.var->uid == v->var->uid)
        return ml_ramp(v->cx, ml_int(v->cx, e->type, 0), ml_int(v->cx, e->type, 1),
                       v->lanes);
    to = ml_map_get(v->bound, e->as.var->uid);
    return to ? ml_var(v->cx, to) : e;
}

const ml_Expr *ml_vectorize_expr(ml_Vectorize *v, const ml_Expr *e)
{
    const ml_Expr *a;

    if (v->obstacle)
        return e;
    if (ml_kind_is_binary(e->kind))
        return binary(v, e);
    switch (e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING: return e;
    case ML_EXPR_VAR: return variable(v, e);
    case ML_EXPR_NOT:
        a = ml_vectorize_expr(v, e->args[0]);
        return a == e->args[0] ? e : ml_not(v->cx, a);
    case ML_EXPR_CAST:
        a = ml_vectorize_expr(v, e->args[0]);
        if (a == e->args[0] || v->obstacle)
            return e;
        if (e->type.lanes != 1)
            return obstacle(v, e, "it has vectors of its own");
        if (is_ramp(a) && ml_dtype_is_index(e->type) && e->type.bits >= a->type.bits)
            return ml_ramp(v->cx, ml_cast(v->cx, e->type, a->args[0]),
                           ml_cast(v->cx, e->type, a->args[1]), v->lanes);
        return ml_cast(v->cx, ml_dtype_lanes(e->type, a->type.lanes), a);
    case ML_EXPR_SELECT: return choice(v, e, false);
    case ML_EXPR_LOAD: return load(v, e);
    case ML_EXPR_LET: return let(v, e);
    case ML_EXPR_CALL: return call(v, e);
    case ML_EXPR_RAMP:
    case ML_EXPR_BROADCAST:
    case ML_EXPR_SHUFFLE:
        for (uint32_t k = 0; k < e->n_args; k++)
            if (ml_vectorize_expr(v, e->args[k]) != e->args[k])
                return obstacle(v, e, "it has vectors of its own");
        return e;
    }
    return obstacle(v, e, "it has no form for vectors");
}
