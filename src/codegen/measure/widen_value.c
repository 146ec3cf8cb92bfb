/* widen_value - buffers, variables and values of a wider type. */
#include "moonloop/codegen/measure/widen_impl.h"

/* What is built until the end has the types that it would have. */
static const ml_Expr *give_up(ml_Widen *w, const ml_Expr *e)
{
    w->cannot = true;
    return ml_dtype_is_float(e->type) ? ml_const(w->cx, ml_dtype_wider(e->type), 1) : e;
}

/* ---------------------------------------------------------------- buffers, variables */

const ml_Buffer *ml_wide_buffer(ml_Widen *w, const ml_Buffer *b)
{
    const ml_Buffer *known = ml_map_get(w->wide, b->uid);
    ml_Buffer like = *b;

    if (known)
        return known;
    if (!ml_dtype_is_float(b->type))
        return b;
    like.type = ml_dtype_wider(b->type);
    known = ml_buffer_from(w->cx, &like, true);
    ml_map_set(w->cx, w->wide, b->uid, known);
    return known;
}

const ml_Buffer *ml_wide_estimate(ml_Widen *w, const ml_Buffer *b)
{
    const ml_Buffer *known = ml_map_get(w->estimate, b->uid);
    ml_Buffer like = *b;

    if (known || !(ml_rounding(w->r, b) & ML_ROUNDED))
        return known;
    if (b->n_strides > 0 || !ml_is_int(b->elem_offset, 0))
        w->cannot = true; /* of a view whose place is found when it is made */
    like.type = ml_dtype_lanes(ML_DT_F64, b->type.lanes);
    like.name = ml_format(w->cx, "%s_rounding", b->name);
    known = ml_buffer_from(w->cx, &like, true);
    ml_map_set(w->cx, w->estimate, b->uid, known);
    return known;
}

const ml_Var *ml_wide_var(ml_Widen *w, const ml_Var *v)
{
    const ml_Var *known = ml_map_get(w->vars, v->uid);

    if (v->type.code == ML_HANDLE)
        w->cannot = true;
    if (known || !ml_dtype_is_float(v->type))
        return known ? known : v;
    known = ml_var_new(w->cx, v->hint, ml_dtype_wider(v->type));
    ml_map_set(w->cx, w->vars, v->uid, known);
    return known;
}

const ml_Var *ml_wide_error_var(ml_Widen *w, const ml_Var *v)
{
    const ml_Var *e = ml_var_new(w->cx, ml_format(w->cx, "%s_rounding", v->hint),
                                 ml_dtype_lanes(ML_DT_F64, v->type.lanes));

    ml_map_set(w->cx, w->var_errors, v->uid, e);
    return e;
}

/* ---------------------------------------------------------------- values */

static bool is_float(const ml_Expr *e)
{
    return ml_dtype_is_float(e->type);
}

/* Calls that mean the same in a wider type. */
static bool widens(const ml_Expr *e)
{
    bool floats = is_float(e);

    for (size_t k = 0; k < e->n_args; k++)
        floats |= is_float(e->args[k]);
    if (!floats)
        return ml_expr_effect(e) <= ML_EFFECT_READ;
    return e->as.op->id >= ML_OP_FMA && e->as.op->id <= ML_OP_HYPOT
               ? e->as.op->id != ML_OP_REINTERPRET
               : ml_is_op(e, ML_OP_IF_THEN_ELSE);
}

static const ml_Expr **wide_args(ml_Widen *w, const ml_Expr *e)
{
    const ml_Expr **a = ML_ARRAY(w->cx, const ml_Expr *, e->n_args + 1u);

    for (size_t k = 0; k < e->n_args; k++)
        a[k] = ml_wide_value(w->cx, e->args[k], w);
    return a;
}

static const ml_Expr *wide_call(ml_Widen *w, const ml_Expr *e)
{
    if (!widens(e))
        return give_up(w, e);
    return ml_call(w->cx, ml_dtype_wider(e->type), e->as.op, wide_args(w, e), e->n_args);
}

const ml_Expr *ml_wide_load(ml_Widen *w, const ml_Buffer *b, const ml_Expr *const *args,
                            const ml_Expr *like)
{
    size_t n = ml_load_rank(like);

    return n < like->n_args ? ml_load_masked(w->cx, b, args, n, args[n])
                            : ml_load(w->cx, b, args, n);
}

static const ml_Expr *make_value(ml_Widen *w, const ml_Expr *e)
{
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_STRING: return e;
    case ML_EXPR_FLOAT: return ml_float(w->cx, ml_dtype_wider(e->type), e->as.f);
    case ML_EXPR_VAR: return ml_var(w->cx, ml_wide_var(w, e->as.var));
    case ML_EXPR_CAST:
        return ml_cast(w->cx, ml_dtype_wider(e->type), ml_wide_value(w->cx, e->args[0], w));
    case ML_EXPR_LET: {
        const ml_Expr *v = ml_wide_value(w->cx, e->args[0], w);

        return ml_let(w->cx, ml_wide_var(w, e->as.var), v,
                      ml_wide_value(w->cx, e->args[1], w));
    }
    case ML_EXPR_LOAD:
        return ml_wide_load(w, ml_wide_buffer(w, e->as.buffer), wide_args(w, e), e);
    case ML_EXPR_CALL: return wide_call(w, e);
    default: return ml_expr_with_args(w->cx, e, wide_args(w, e));
    }
}

const ml_Expr *ml_wide_value(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    ml_Widen *w = user;
    const ml_Expr *v = ml_map_get(w->values, e->id);

    if (v == NULL) {
        v = make_value(w, e);
        ml_map_set(cx, w->values, e->id, v);
    }
    return v;
}
