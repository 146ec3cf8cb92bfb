/*
 * eval_op - operators on values of which at least one belongs to the program: promotion,
 * arithmetic, bits, comparisons, logic. Source: script 10.2, 10.3.
 */
#include "moonloop/core/script/eval/eval.h"

enum { MAX_TREE = 100000 }; /* nodes of one expression, as a tree: it must be printable */

bool ml_ev_too_deep(ml_Eval *ev, const ml_Expr *e, ml_Place at)
{
    if (e->depth <= ML_MAX_EXPR_DEPTH && e->size <= MAX_TREE)
        return false;
    if (e->depth > ML_MAX_EXPR_DEPTH)
        ml_report(ev->rep, ML_E_E109, at, "the expression is deeper than %d",
                  ML_MAX_EXPR_DEPTH);
    else
        ml_report(ev->rep, ML_E_E109, at, "the expression has more than %d nodes",
                  MAX_TREE);
    return true;
}

ml_Cv ml_ev_checked(ml_Eval *ev, const ml_Expr *e, ml_Place at)
{
    if (!e || ml_ev_too_deep(ev, e, at))
        return ml_cv_poison();
    return ml_cv_expr(e);
}

/* ---- operators */
bool ml_ev_promote(ml_Eval *ev, const ml_Expr **a, const ml_Expr **b)
{
    ml_Dtype t;

    if (ml_dtype_eq((*a)->type, (*b)->type))
        return true;
    if ((*a)->type.code == ML_VOID || (*b)->type.code == ML_VOID ||
        (*a)->type.code == ML_HANDLE || (*b)->type.code == ML_HANDLE)
        return false;
    return ml_dtype_promote((*a)->type, (*b)->type, &t) && ml_promote(ev->cx, a, b);
}

static ml_Cv not_defined(ml_Eval *ev, const char *op, ml_Cv a, ml_Cv b, ml_Place at)
{
    return ml_ev_fail(ev, E512, at, "operator `%s` is not defined for %s and %s", op,
                      ml_cv_describe(ev, a), ml_cv_describe(ev, b));
}

static bool is_arith(ml_Cv v)
{
    return ml_cv_is_ir(v) || v.kind == ML_CV_BOOL || v.kind == ML_CV_INT ||
           v.kind == ML_CV_FLOAT ||
           (v.kind == ML_CV_TUPLE && v.n == 1 && v.as.list[0].kind == ML_CV_EXPR);
}

static ml_Cv bitwise(ml_Eval *ev, ml_TokOp op, const ml_Expr *a, const ml_Expr *b,
                     ml_Place at)
{
    bool shift = op == ML_OPR_SHL || op == ML_OPR_SHR;
    ml_OpId id = op == ML_OPR_SHL      ? ML_OP_SHIFT_LEFT
                 : op == ML_OPR_SHR    ? ML_OP_SHIFT_RIGHT
                 : op == ML_OPR_BITAND ? ML_OP_BITWISE_AND
                 : op == ML_OPR_BITOR  ? ML_OP_BITWISE_OR
                                       : ML_OP_BITWISE_XOR;
    const ml_Expr *args[2] = {a, b};

    if (!ml_dtype_is_int(a->type) && !(ml_dtype_is_bool(a->type) && !shift))
        return not_defined(ev, ml_tok_op_text(op), ml_cv_expr(a), ml_cv_expr(b), at);
    if (shift && ml_is_const_int(b) && (b->as.i < 0 || b->as.i >= a->type.bits))
        return ml_ev_fail(ev, E518, at, "shift by %lld is outside [0, %d)",
                          (long long)b->as.i, a->type.bits);
    if (ml_is_const_int(a) && ml_is_const_int(b) && ml_dtype_is_index(a->type)) {
        uint64_t x = (uint64_t)a->as.i, y = (uint64_t)b->as.i;
        int64_t r = op == ML_OPR_SHL      ? (int64_t)(x << y)
                    : op == ML_OPR_SHR    ? a->as.i >> y
                    : op == ML_OPR_BITAND ? (int64_t)(x & y)
                    : op == ML_OPR_BITOR  ? (int64_t)(x | y)
                                          : (int64_t)(x ^ y);

        return ml_cv_expr(ml_int(ev->cx, a->type, ml_dtype_wrap(a->type, r)));
    }
    return ml_ev_checked(ev, ml_call_id(ev->cx, a->type, id, args, 2), at);
}

ml_Cv ml_ev_binary(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at)
{
    const ml_Expr *x, *y;
    ml_ExprKind kind = ML_EXPR_ADD;

    if (a.kind == ML_CV_POISON || b.kind == ML_CV_POISON)
        return ml_cv_poison();
    if (!ml_cv_is_ir(a) && !ml_cv_is_ir(b) &&
        !(is_arith(a) && is_arith(b) && (a.kind == ML_CV_TUPLE || b.kind == ML_CV_TUPLE)))
        return ml_ev_python_binary(ev, op, a, b, at);
    if (!is_arith(a) || !is_arith(b) || op == ML_OPR_AT)
        return not_defined(ev, ml_tok_op_text(op), a, b, at);
    x = ml_ev_to_expr(ev, a, at);
    y = ml_ev_to_expr(ev, b, at);
    if (!x || !y)
        return ml_cv_poison();
    if (op == ML_OPR_POW) {
        ml_Diag *d =
            ml_report(ev->rep, ML_E_E512, at, "operator `**` is not defined for %s and %s",
                      ml_cv_describe(ev, a), ml_cv_describe(ev, b));

        ml_report_help(ev->rep, d, "use `T.pow`");
        return ml_cv_poison();
    }
    if (!ml_ev_has_arith(x->type) || !ml_ev_has_arith(y->type) ||
        !ml_ev_promote(ev, &x, &y))
        return not_defined(ev, ml_tok_op_text(op), a, b, at);
    switch ((unsigned)op) {
    case ML_OPR_ADD: kind = ML_EXPR_ADD; break;
    case ML_OPR_SUB: kind = ML_EXPR_SUB; break;
    case ML_OPR_MUL: kind = ML_EXPR_MUL; break;
    case ML_OPR_DIV:
        if (x->type.code == ML_INT)
            return ml_ev_fail(ev, E509, at,
                              "ambiguous integer division; use `//` or `T.truncdiv`");
        if (ml_dtype_is_bool(x->type))
            return not_defined(ev, "/", a, b, at);
        kind = ML_EXPR_DIV;
        break;
    case ML_OPR_FLOORDIV:
    case ML_OPR_MOD:
        if (!ml_dtype_is_int(x->type))
            return not_defined(ev, ml_tok_op_text(op), a, b, at);
        kind = op == ML_OPR_MOD ? ML_EXPR_FLOORMOD : ML_EXPR_FLOORDIV;
        break;
    default: return bitwise(ev, op, x, y, at);
    }
    if (ml_dtype_is_bool(x->type))
        return not_defined(ev, ml_tok_op_text(op), a, b, at);
    if (ml_kind_divides(kind) && ml_dtype_is_int(y->type) &&
        (ml_is_int(y, 0) || (y->kind == ML_EXPR_BROADCAST && ml_is_int(y->args[0], 0))))
        return ml_ev_fail(ev, E514, at,
                          kind == ML_EXPR_FLOORMOD ? "modulo by zero" : "division by zero");
    return ml_ev_checked(ev, ml_binary(ev->cx, kind, x, y), at);
}

/* A plain number as a literal of the other operand's dtype, when it fits. */
static const ml_Expr *adopt(ml_Eval *ev, ml_Cv v, ml_Dtype t, ml_Place at)
{
    if (v.kind == ML_CV_FLOAT && !ml_dtype_is_float(t))
        return ml_ev_to_expr(ev, v, at);
    if (v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT || v.kind == ML_CV_BOOL) {
        if (!ml_ev_has_arith(t))
            return ml_ev_to_expr(ev, v, at);
        if (v.kind == ML_CV_BOOL && !ml_dtype_is_bool(t))
            return ml_ev_to_expr(ev, v, at);
        return ml_ev_const(ev, ml_dtype_lanes(t, 1), v, at);
    }
    return ml_ev_to_expr(ev, v, at);
}

ml_Cv ml_ev_compare(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at)
{
    const ml_Expr *x, *y;
    ml_ExprKind kind;

    if (a.kind == ML_CV_POISON || b.kind == ML_CV_POISON)
        return ml_cv_poison();
    if (!ml_cv_is_ir(a) && !ml_cv_is_ir(b) && !(a.kind == ML_CV_TUPLE && is_arith(a)))
        return ml_ev_python_compare(ev, op, a, b, at);
    if (!is_arith(a) || !is_arith(b))
        return not_defined(ev, ml_tok_op_text(op), a, b, at);
    switch ((unsigned)op) {
    case ML_OPR_LT: kind = ML_EXPR_LT; break;
    case ML_OPR_LE: kind = ML_EXPR_LE; break;
    case ML_OPR_GT: kind = ML_EXPR_GT; break;
    case ML_OPR_GE: kind = ML_EXPR_GE; break;
    case ML_OPR_EQ: kind = ML_EXPR_EQ; break;
    case ML_OPR_NE: kind = ML_EXPR_NE; break;
    default:
        return ml_ev_fail(ev, E512, at, "operator `%s` works on compile-time values only",
                          ml_tok_op_text(op));
    }
    x = ml_cv_is_ir(a) || a.kind == ML_CV_TUPLE ? ml_ev_to_expr(ev, a, at) : NULL;
    y = ml_cv_is_ir(b) || b.kind == ML_CV_TUPLE ? ml_ev_to_expr(ev, b, at) : NULL;
    if (!x && y)
        x = adopt(ev, a, y->type, at);
    else if (!y && x)
        y = adopt(ev, b, x->type, at);
    if (!x || !y)
        return ml_cv_poison();
    if (x->type.lanes == 1 && y->type.lanes > 1)
        x = ml_broadcast(ev->cx, x, y->type.lanes);
    else if (y->type.lanes == 1 && x->type.lanes > 1)
        y = ml_broadcast(ev->cx, y, x->type.lanes);
    if (!ml_dtype_eq(x->type, y->type))
        return ml_ev_fail(ev, E510, at, "comparing %s with %s; cast one side",
                          ml_cv_describe(ev, ml_cv_expr(x)),
                          ml_cv_describe(ev, ml_cv_expr(y)));
    if (x->type.code == ML_VOID ||
        (x->type.code == ML_HANDLE && kind != ML_EXPR_EQ && kind != ML_EXPR_NE))
        return not_defined(ev, ml_tok_op_text(op), a, b, at);
    return ml_ev_checked(ev, ml_raw_binary(ev->cx, kind, x, y), at);
}

/* a and b, a or b where at least one is IR. */
ml_Cv ml_ev_logic(ml_Eval *ev, ml_ExprKind kind, ml_Cv a, ml_Cv b, ml_Place at)
{
    const char *op = kind == ML_EXPR_AND ? "and" : "or";
    const ml_Expr *e[2];
    ml_Cv v[2] = {a, b};

    if (a.kind == ML_CV_POISON || b.kind == ML_CV_POISON)
        return ml_cv_poison();
    for (int k = 0; k < 2; k++) {
        if (!ml_cv_is_ir(v[k]) && v[k].kind != ML_CV_BOOL)
            return ml_ev_fail(ev, E511, at, "`%s` needs booleans, %s operand is %s", op,
                              k ? "right" : "left", ml_cv_describe(ev, v[k]));
        e[k] = ml_ev_to_expr(ev, v[k], at);
        if (!e[k])
            return ml_cv_poison();
        if (!ml_dtype_is_bool(e[k]->type))
            return ml_ev_fail(ev, E511, at, "`%s` needs booleans, %s operand is %s", op,
                              k ? "right" : "left", ml_cv_describe(ev, v[k]));
    }
    if (!ml_ev_promote(ev, &e[0], &e[1]))
        return not_defined(ev, op, a, b, at);
    if (e[0]->type.lanes > 1)
        return ml_ev_checked(
            ev,
            ml_call_id(ev->cx, e[0]->type,
                       kind == ML_EXPR_AND ? ML_OP_BITWISE_AND : ML_OP_BITWISE_OR, e, 2),
            at);
    return ml_ev_checked(ev, ml_raw_binary(ev->cx, kind, e[0], e[1]), at);
}

ml_Cv ml_ev_not(ml_Eval *ev, ml_Cv a, ml_Place at)
{
    const ml_Expr *e;

    if (a.kind == ML_CV_POISON)
        return a;
    if (!ml_cv_is_ir(a))
        return ml_cv_bool(!ml_ev_truth(a));
    e = ml_ev_to_expr(ev, a, at);
    if (!ml_dtype_is_bool(e->type))
        return ml_ev_fail(ev, E511, at, "`not` needs a boolean, the operand is %s",
                          ml_cv_describe(ev, a));
    return ml_ev_checked(ev, ml_raw_not(ev->cx, e), at);
}
