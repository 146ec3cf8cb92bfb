/*
 * index - scalar integers as int64_t: indices, bounds, conditions on them.
 *
 * Overflow in them is an error of the program, so that int32 arithmetic is done in 64 bits
 * with C's own operators. Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/c/emit.h"

static ml_CpText extended(ml_Cp *g, const ml_Expr *e)
{
    ml_CpText v = ml_cp_value(g, e, 0, 0);

    if (e->type.bits == 64)
        return v;
    return ml_cp_text(g, ML_CP_UNARY, "(int64_t)%s", ml_cp_in(g, v, ML_CP_UNARY));
}

/* C's quotient and remainder are the floored ones where nothing is negative. */
static ml_CpText divide(ml_Cp *g, const ml_Expr *e)
{
    static const char *const names[ML_EXPR_KINDS] = {[ML_EXPR_DIV] = "div",
                                                     [ML_EXPR_MOD] = "mod",
                                                     [ML_EXPR_FLOORDIV] = "floordiv",
                                                     [ML_EXPR_FLOORMOD] = "floormod"};
    bool mod = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;
    ml_CpText a = ml_cp_index(g, e->args[0]), b = ml_cp_index(g, e->args[1]);

    if (e->args[1]->kind == ML_EXPR_INT && e->args[1]->as.i > 0 &&
        ml_arith_bound(g->ar, e->args[0]).lo >= 0)
        return ml_cp_text(g, ML_CP_MUL, "%s %s %s", ml_cp_in(g, a, ML_CP_MUL),
                          mod ? "%" : "/", ml_cp_in(g, b, ML_CP_UNARY));
    return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s)",
                      ml_cp_op(g, names[e->kind], ML_DT_I64, 0), a.z, b.z);
}

/* A literal that makes what is around it an int64_t. */
static ml_CpText literal(ml_Cp *g, int64_t v)
{
    return (ml_CpText){v == INT64_MIN ? "INT64_MIN"
                                      : ml_format(g->cx, "INT64_C(%lld)", (long long)v),
                       ML_CP_ATOM};
}

static ml_CpText infix(ml_Cp *g, const ml_Expr *e, const char *sign, int binds)
{
    const ml_Expr *p = e->args[0], *q = e->args[1];
    ml_CpText a = p->kind == ML_EXPR_INT && q->kind == ML_EXPR_INT ? literal(g, p->as.i)
                                                                   : ml_cp_index(g, p);

    if (e->kind == ML_EXPR_ADD && q->kind == ML_EXPR_INT && q->as.i < 0 &&
        q->as.i > INT64_MIN)
        return ml_cp_text(g, binds, "%s - %s", ml_cp_in(g, a, binds),
                          ml_cp_int(g, ML_DT_I64, -q->as.i));
    return ml_cp_text(g, binds, "%s %s %s", ml_cp_in(g, a, binds), sign,
                      ml_cp_in(g, ml_cp_index(g, q), binds + 1));
}

static ml_CpText shifted(ml_Cp *g, const ml_Expr *e)
{
    bool right = ml_is_op(e, ML_OP_SHIFT_RIGHT);

    return ml_cp_text(g, ML_CP_LOOSE, "%s %s %s",
                      ml_cp_in(g, ml_cp_index(g, e->args[0]), ML_CP_UNARY),
                      right ? ">>" : "&", ml_cp_int(g, ML_DT_I64, e->args[1]->as.i));
}

static ml_CpText compute(ml_Cp *g, const ml_Expr *e)
{
    const ml_CpVar *v;
    ml_CpText a, b, c;

    switch ((int)e->kind) {
    case ML_EXPR_INT:
        return (ml_CpText){ml_cp_int(g, ML_DT_I64, e->as.i),
                           e->as.i < 0 ? ML_CP_UNARY : ML_CP_ATOM};
    case ML_EXPR_VAR:
        v = ml_map_get(g->vars, e->as.var->uid);
        return v && v->wide ? (ml_CpText){v->name, ML_CP_ATOM} : extended(g, e);
    case ML_EXPR_ADD: return infix(g, e, "+", ML_CP_ADD);
    case ML_EXPR_SUB: return infix(g, e, "-", ML_CP_ADD);
    case ML_EXPR_MUL: return infix(g, e, "*", ML_CP_MUL);
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: return divide(g, e);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
        a = ml_cp_index(g, e->args[0]);
        b = ml_cp_index(g, e->args[1]);
        return ml_cp_text(g, ML_CP_ATOM, "%s(%s, %s)",
                          ml_cp_op(g, e->kind == ML_EXPR_MIN ? "min" : "max", ML_DT_I64, 0),
                          a.z, b.z);
    case ML_EXPR_SELECT:
        c = ml_cp_condition(g, e->args[0]);
        a = ml_cp_index(g, e->args[1]);
        b = ml_cp_index(g, e->args[2]);
        return ml_cp_text(g, ML_CP_LOOSE, "%s ? %s : %s", ml_cp_in(g, c, ML_CP_UNARY),
                          ml_cp_in(g, a, ML_CP_ADD), ml_cp_in(g, b, ML_CP_ADD));
    case ML_EXPR_CAST:
        return ml_dtype_is_index(e->args[0]->type) ? ml_cp_index(g, e->args[0])
                                                   : extended(g, e);
    case ML_EXPR_CALL:
        if (e->n_args == 2 && e->args[1]->kind == ML_EXPR_INT && e->args[1]->as.i >= 0 &&
            (ml_is_op(e, ML_OP_BITWISE_AND) ||
             (ml_is_op(e, ML_OP_SHIFT_RIGHT) && e->args[1]->as.i < 32)))
            return shifted(g, e);
        return extended(g, e);
    default: return extended(g, e);
    }
}

ml_CpText ml_cp_index(ml_Cp *g, const ml_Expr *e)
{
    const char *mask = g->mask;
    bool before = g->checked;
    ml_CpText v;

    if (g->failed || !(ml_dtype_is_int(e->type) || e->type.code == ML_BOOL) ||
        e->type.lanes != 1) {
        if (!g->failed)
            ml_cp_fail(g, ML_E_CODEGEN_FAILED, "an index is no integer");
        return (ml_CpText){"0", ML_CP_ATOM};
    }
    if (!ml_dtype_is_index(e->type)) /* it wraps as its own type does */
        return ml_cp_dtype_ok(g, e->type) ? extended(g, e) : (ml_CpText){"0", ML_CP_ATOM};
    if (mask && (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT)))
        return extended(g, e);
    g->mask = NULL;
    g->checked = false; /* compute is what is checked; what it leaves to values is not */
    v = compute(g, e);
    g->checked = before;
    g->mask = mask;
    return v;
}
