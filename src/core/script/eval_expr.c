/* eval_expr - expressions: literals, operators, promotion, conditions, lambdas.
 * Source: script 10.1 to 10.4. */
#include "core/script/eval.h"

#include <math.h>

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

static ml_Cv checked(ml_Eval *ev, const ml_Expr *e, ml_Place at)
{
    if (!e || ml_ev_too_deep(ev, e, at))
        return ml_cv_poison();
    return ml_cv_expr(e);
}

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
    ml_report(ev->rep, ML_E_E513, at, "%s does not fit %s%s", number_text(ev, v),
              ml_dtype_name(ev->cx, t), range);
    return NULL;
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
        ml_report(ev->rep, ML_E_E501, at, "expected a number, got %s",
                  ml_cv_describe(ev, v));
        return NULL;
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
        ml_report(ev->rep, ML_E_E513, at, "%s cannot be a %s", number_text(ev, v),
                  t.code == ML_HANDLE ? "handle" : ml_dtype_name(ev->cx, t));
        return NULL;
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
        ml_report(ev->rep, ML_E_E501, at,
                  "a new variable needs a name: assign it, as in `n = T.int32()`");
        return NULL;
    default: break;
    }
    ml_report(ev->rep, ML_E_E501, at, "expected an expression, got %s",
              ml_cv_describe(ev, v));
    return NULL;
}

const ml_Expr *ml_ev_expr(ml_Eval *ev, const ml_Node *nd)
{
    return ml_ev_to_expr(ev, ml_ev_value(ev, nd), nd->at);
}

const ml_Expr *ml_ev_to_int(ml_Eval *ev, ml_Cv v, ml_Place at, const char *what)
{
    const ml_Expr *e;

    if (v.kind == ML_CV_FLOAT || v.kind == ML_CV_STRING || v.kind == ML_CV_BUFFER ||
        v.kind == ML_CV_NONE || v.kind == ML_CV_BOOL || v.kind == ML_CV_LIST) {
        ml_report(ev->rep, ML_E_E501, at, "%s must be an integer, got %s", what,
                  ml_cv_describe(ev, v));
        return NULL;
    }
    e = ml_ev_to_expr(ev, v, at);
    if (e && !ml_dtype_is_int(e->type)) {
        ml_report(ev->rep, ML_E_E501, at, "%s must be an integer, got %s", what,
                  ml_dtype_name(ev->cx, e->type));
        return NULL;
    }
    return e;
}

const ml_Expr *ml_ev_cast(ml_Eval *ev, ml_Dtype t, const ml_Expr *e, ml_Place at)
{
    if (ml_dtype_eq(t, e->type))
        return e;
    if (e->type.code == ML_VOID || t.code == ML_VOID) {
        ml_report(ev->rep, ML_E_E517, at, "%s cannot be cast to %s",
                  e->type.code == ML_VOID ? "a string or void"
                                          : ml_dtype_name(ev->cx, e->type),
                  ml_dtype_name(ev->cx, t));
        return NULL;
    }
    if (t.lanes != e->type.lanes && e->type.lanes != 1) {
        ml_report(ev->rep, ML_E_E517, at, "%s cannot be cast to %s: the lanes differ",
                  ml_dtype_name(ev->cx, e->type), ml_dtype_name(ev->cx, t));
        return NULL;
    }
    if ((t.code == ML_HANDLE) != (e->type.code == ML_HANDLE) &&
        t.lanes * e->type.lanes != 1) {
        ml_report(ev->rep, ML_E_E517, at, "a vector cannot be cast to or from a handle");
        return NULL;
    }
    return ml_cast(ev->cx, t, e);
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

static bool is_ir(ml_Cv v)
{
    return v.kind == ML_CV_EXPR || v.kind == ML_CV_CELL;
}

static bool is_arith(ml_Cv v)
{
    return is_ir(v) || v.kind == ML_CV_BOOL || v.kind == ML_CV_INT ||
           v.kind == ML_CV_FLOAT ||
           (v.kind == ML_CV_TUPLE && v.n == 1 && v.as.list[0].kind == ML_CV_EXPR);
}

static bool numeric(ml_Dtype t)
{
    return t.code != ML_VOID && t.code != ML_HANDLE;
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
    return checked(ev, ml_call_id(ev->cx, a->type, id, args, 2), at);
}

ml_Cv ml_ev_binary(ml_Eval *ev, ml_TokOp op, ml_Cv a, ml_Cv b, ml_Place at)
{
    const ml_Expr *x, *y;
    ml_ExprKind kind = ML_EXPR_ADD;

    if (a.kind == ML_CV_POISON || b.kind == ML_CV_POISON)
        return ml_cv_poison();
    if (!is_ir(a) && !is_ir(b) &&
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
    if (!numeric(x->type) || !numeric(y->type) || !ml_ev_promote(ev, &x, &y))
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
    if (kind >= ML_EXPR_DIV && kind <= ML_EXPR_FLOORMOD && ml_dtype_is_int(y->type) &&
        (ml_is_int(y, 0) || (y->kind == ML_EXPR_BROADCAST && ml_is_int(y->args[0], 0))))
        return ml_ev_fail(ev, E514, at,
                          kind == ML_EXPR_FLOORMOD ? "modulo by zero" : "division by zero");
    return checked(ev, ml_binary(ev->cx, kind, x, y), at);
}

/* A plain number as a literal of the other operand's dtype, when it fits. */
static const ml_Expr *adopt(ml_Eval *ev, ml_Cv v, ml_Dtype t, ml_Place at)
{
    if (v.kind == ML_CV_FLOAT && !ml_dtype_is_float(t))
        return ml_ev_to_expr(ev, v, at);
    if (v.kind == ML_CV_INT || v.kind == ML_CV_FLOAT || v.kind == ML_CV_BOOL) {
        if (!numeric(t))
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
    if (!is_ir(a) && !is_ir(b) && !(a.kind == ML_CV_TUPLE && is_arith(a)))
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
    x = is_ir(a) || a.kind == ML_CV_TUPLE ? ml_ev_to_expr(ev, a, at) : NULL;
    y = is_ir(b) || b.kind == ML_CV_TUPLE ? ml_ev_to_expr(ev, b, at) : NULL;
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
    return checked(ev, ml_raw_binary(ev->cx, kind, x, y), at);
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
        if (!is_ir(v[k]) && v[k].kind != ML_CV_BOOL)
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
        return checked(
            ev,
            ml_call_id(ev->cx, e[0]->type,
                       kind == ML_EXPR_AND ? ML_OP_BITWISE_AND : ML_OP_BITWISE_OR, e, 2),
            at);
    return checked(ev, ml_raw_binary(ev->cx, kind, e[0], e[1]), at);
}

ml_Cv ml_ev_not(ml_Eval *ev, ml_Cv a, ml_Place at)
{
    const ml_Expr *e;

    if (a.kind == ML_CV_POISON)
        return a;
    if (!is_ir(a))
        return ml_cv_bool(!ml_ev_truth(a));
    e = ml_ev_to_expr(ev, a, at);
    if (!ml_dtype_is_bool(e->type))
        return ml_ev_fail(ev, E511, at, "`not` needs a boolean, the operand is %s",
                          ml_cv_describe(ev, a));
    return checked(ev, ml_raw_not(ev->cx, e), at);
}

static ml_Cv unary(ml_Eval *ev, const ml_Node *nd)
{
    const ml_Node *sub = nd->kids[0];
    ml_Cv v;
    const ml_Expr *e;

    if (nd->op == ML_OPR_SUB && sub->kind == ML_N_INT &&
        !sub->big) { /* -2**63 is one literal */
        if (sub->as.i == (uint64_t)1 << 63)
            return ml_cv_int(INT64_MIN);
    }
    v = ml_ev_value(ev, sub);
    if (v.kind == ML_CV_POISON)
        return v;
    if (nd->op == ML_KW_NOT)
        return ml_ev_not(ev, v, nd->at);
    if (!is_ir(v) && v.kind != ML_CV_TUPLE) {
        if (v.kind == ML_CV_FLOAT && nd->op != ML_OPR_BITNOT)
            return nd->op == ML_OPR_SUB ? ml_cv_float(-v.as.f) : v;
        if (v.kind == ML_CV_INT || v.kind == ML_CV_BOOL) {
            v.kind = ML_CV_INT;
            return nd->op == ML_OPR_ADD ? v
                   : nd->op == ML_OPR_SUB
                       ? ml_ev_python_binary(ev, ML_OPR_SUB, ml_cv_int(0), v, nd->at)
                       : ml_ev_python_binary(ev, ML_OPR_SUB, ml_cv_int(-1), v, nd->at);
        }
        return ml_ev_fail(ev, E512, nd->at, "operator `%s` is not defined for %s",
                          ml_tok_op_text(nd->op), ml_cv_describe(ev, v));
    }
    e = ml_ev_to_expr(ev, v, sub->at);
    if (!e)
        return ml_cv_poison();
    if (!numeric(e->type) ||
        (nd->op == ML_OPR_BITNOT ? ml_dtype_is_float(e->type) : ml_dtype_is_bool(e->type)))
        return ml_ev_fail(ev, E512, nd->at, "operator `%s` is not defined for %s",
                          ml_tok_op_text(nd->op), ml_cv_describe(ev, v));
    if (nd->op == ML_OPR_ADD)
        return ml_cv_expr(e);
    if (nd->op == ML_OPR_SUB)
        return checked(ev, ml_neg(ev->cx, e), nd->at);
    return checked(ev, ml_call_id(ev->cx, e->type, ML_OP_BITWISE_NOT, &e, 1), nd->at);
}

static ml_Cv comparison(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv left = ml_ev_value(ev, nd->kids[0]), all = ml_cv_bool(true);

    for (size_t k = 1; k < nd->n; k++) {
        ml_Cv right = ml_ev_value(ev, nd->kids[k]), one;
        ml_Place at = ml_place_join(nd->kids[k - 1]->at, nd->kids[k]->at);

        one = ml_ev_compare(ev, nd->as.ops[k - 1], left, right, at);
        if (k == 1)
            all = one;
        else if (!is_ir(all) && !is_ir(one) && all.kind == ML_CV_BOOL)
            all = all.as.i ? one : all;
        else
            all = ml_ev_logic(ev, ML_EXPR_AND, all, one, nd->at);
        left = right;
        if (all.kind == ML_CV_POISON)
            return all;
    }
    return all;
}

static ml_Cv logical(ml_Eval *ev, const ml_Node *nd)
{
    bool is_and = nd->op == ML_KW_AND;
    ml_Cv a = ml_ev_value(ev, nd->kids[0]), b;

    if (a.kind == ML_CV_POISON)
        return a;
    if (!is_ir(a) && ml_ev_truth(a) != is_and)
        return a;
    b = ml_ev_value(ev, nd->kids[1]);
    if (!is_ir(a) && (!is_ir(b) || a.kind == ML_CV_BOOL))
        return b;
    return ml_ev_logic(ev, is_and ? ML_EXPR_AND : ML_EXPR_OR, a, b, nd->at);
}

static ml_Cv conditional(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv c = ml_ev_value(ev, nd->kids[1]);
    const ml_Expr *cond, *t, *f;

    if (c.kind == ML_CV_POISON)
        return c;
    if (!is_ir(c))
        return ml_ev_value(ev, nd->kids[ml_ev_truth(c) ? 0 : 2]);
    cond = ml_ev_to_expr(ev, c, nd->kids[1]->at);
    t = ml_ev_expr(ev, nd->kids[0]);
    f = ml_ev_expr(ev, nd->kids[2]);
    if (!cond || !t || !f)
        return ml_cv_poison();
    if (!ml_dtype_is_bool(cond->type) || cond->type.lanes != 1)
        return ml_ev_fail(ev, E511, nd->kids[1]->at,
                          "the condition must be a boolean, got %s",
                          ml_dtype_name(ev->cx, cond->type));
    if (!ml_ev_promote(ev, &t, &f))
        return ml_ev_fail(ev, E515, nd->at, "branches have types %s and %s",
                          ml_cv_describe(ev, ml_cv_expr(t)),
                          ml_cv_describe(ev, ml_cv_expr(f)));
    if (ml_is_const_int(cond))
        return ml_cv_expr(ml_is_true(cond) ? t : f);
    return checked(ev, ml_if_then_else(ev->cx, cond, t, f), nd->at);
}

static ml_Cv several(ml_Eval *ev, const ml_Node *nd, ml_CvKind kind)
{
    ML_VEC(ml_Cv) v = {0};

    for (size_t k = 0; k < nd->n; k++) {
        const ml_Node *sub = nd->kids[k];
        ml_Cv x;

        if (sub->kind == ML_N_STAR) {
            x = ml_ev_value(ev, sub->kids[0]);
            if (x.kind == ML_CV_POISON)
                return x;
            if (x.kind != ML_CV_TUPLE && x.kind != ML_CV_LIST)
                return ml_ev_fail(ev, E501, sub->at, "`*` needs a tuple or list, got %s",
                                  ml_cv_describe(ev, x));
            for (size_t j = 0; j < x.n; j++)
                ml_push(ev->sc, &v, x.as.list[j]);
            continue;
        }
        x = ml_ev_value(ev, sub);
        if (x.kind == ML_CV_POISON)
            return x;
        ml_push(ev->sc, &v, x);
    }
    return ml_cv_list(ev, kind, v.v, v.n);
}

static ml_Cv literal(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v;

    if (nd->big)
        return ml_ev_fail(ev, E112, nd->at, "the number does not fit 64 bits");
    v = ml_cv_int((int64_t)nd->as.i);
    v.big = nd->as.i > INT64_MAX;
    return v;
}

ml_Cv ml_ev_raw(ml_Eval *ev, const ml_Node *nd)
{
    ml_Cv v;

    if (ev->steps++ > 4000000 + 64 * ev->lx->n || !ml_tick(ev->cx)) {
        if (ev->steps < 100000000)
            ml_report(ev->rep, ML_E_E114, nd->at, "too much compile-time work");
        ev->steps = 100000000;
        return ml_cv_poison();
    }
    switch ((ml_NodeKind)nd->kind) {
    case ML_N_NAME: return ml_ev_name(ev, nd->as.sym, nd->at);
    case ML_N_INT: return literal(ev, nd);
    case ML_N_FLOAT: return ml_cv_float(nd->as.f);
    case ML_N_STRING: return ml_cv_str(nd->as.s);
    case ML_N_CONST:
        return nd->op == ML_KW_NONE ? ml_cv(ML_CV_NONE) : ml_cv_bool(nd->op == ML_KW_TRUE);
    case ML_N_TUPLE: return several(ev, nd, ML_CV_TUPLE);
    case ML_N_LIST: return several(ev, nd, ML_CV_LIST);
    case ML_N_DICT: return several(ev, nd, ML_CV_DICT);
    case ML_N_ATTR: return ml_ev_attribute(ev, nd);
    case ML_N_CALL: return ml_ev_call(ev, nd);
    case ML_N_SUB: return ml_ev_subscript(ev, nd);
    case ML_N_UNARY: return unary(ev, nd);
    case ML_N_BIN:
        if (nd->op == ML_KW_AND || nd->op == ML_KW_OR)
            return logical(ev, nd);
        v = ml_ev_value(ev, nd->kids[0]);
        return ml_ev_binary(ev, nd->op, v, ml_ev_value(ev, nd->kids[1]), nd->at);
    case ML_N_CMP: return comparison(ev, nd);
    case ML_N_COND: return conditional(ev, nd);
    case ML_N_LAMBDA:
        v = ml_cv(ML_CV_LAMBDA);
        v.as.node = nd;
        return v;
    case ML_N_SLICE:
        return ml_ev_fail(ev, E100, nd->at, "a slice may only stand in an index");
    case ML_N_STAR: return ml_ev_fail(ev, E100, nd->at, "`*` may only stand in a list");
    case ML_N_EXPR_STMT:
    case ML_N_ASSIGN:
    case ML_N_AUG:
    case ML_N_ANN:
    case ML_N_ASSERT:
    case ML_N_RETURN:
    case ML_N_PASS:
    case ML_N_BREAK:
    case ML_N_CONTINUE:
    case ML_N_FOR:
    case ML_N_WHILE:
    case ML_N_IF:
    case ML_N_WITH:
    case ML_N_FUNC:
    case ML_N_CLASS:
    case ML_N_IMPORT:
    case ML_N_SUITE:
    case ML_N_BAD: break;
    }
    return ml_cv_poison();
}

ml_Cv ml_ev_value(ml_Eval *ev, const ml_Node *nd)
{
    return ml_ev_load_cell(ev, ml_ev_raw(ev, nd));
}

ml_Cv ml_ev_apply(ml_Eval *ev, const ml_Node *lambda, const ml_Cv *args, size_t n,
                  ml_Place at)
{
    uint32_t saved;
    size_t bound = ev->bound.n;
    ml_Cv v;

    if (n != lambda->n_keys)
        return ml_ev_fail(ev, E414, at, "the lambda takes %u arguments, got %zu",
                          (unsigned)lambda->n_keys, n);
    if (ev->depth >= 100)
        return ml_ev_fail(ev, E109, at, "calls of lambdas are nested deeper than 100");
    ev->depth++;
    saved = ml_ev_push_scope(ev);
    for (size_t k = 0; k < n; k++)
        ml_ev_define(ev, lambda->keys[k], args[k], lambda->key_at[k]);
    v = ml_ev_value(ev, lambda->kids[0]);
    ml_ev_pop_scope(ev, saved, bound);
    ev->depth--;
    return v;
}

/* The rule of loops, slices and axes (script 7): exact where that is syntactic. */
const ml_Expr *ml_ev_difference(ml_Eval *ev, const ml_Expr *a, const ml_Expr *b)
{
    if (ml_is_int(a, 0))
        return b;
    if (ml_is_const_int(a) && ml_is_const_int(b))
        return ml_sub(ev->cx, b, a);
    if (b->kind == ML_EXPR_ADD && b->args[0] == a)
        return b->args[1];
    return ml_simplify(ev->ar, ml_sub(ev->cx, b, a));
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

            if (key.kind != ML_CV_STRING) {
                ml_report(ev->rep, ML_E_E519, at, "keys must be strings, got %s",
                          ml_cv_describe(ev, key));
                return NULL;
            }
            keys[k / 2] =
                key.as.s.n > 5 && memcmp(key.as.s.p, "tirx.", 5) == 0
                    ? ml_format(ev->sc, "tir.%.*s", (int)(key.as.s.n - 5), key.as.s.p + 5)
                    : ml_strdup(ev->sc, key.as.s);
            if (!(out[k / 2] = ml_ev_to_value(ev, v.as.list[k + 1], at)))
                return NULL;
        }
        map = ml_val_dict(ev->cx, keys, out, v.n / 2);
        return map;
    default: break;
    }
    ml_report(ev->rep, ML_E_E519, at, "%s cannot be kept as an attribute",
              ml_cv_describe(ev, v));
    return NULL;
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
    if (v.kind != ML_CV_STRING) {
        ml_report(ev->rep, ML_E_E516, at, "expected a dtype, got %s",
                  ml_cv_describe(ev, v));
        return false;
    }
    if (ml_dtype_parse(v.as.s, out) || ml_ev_dtype_name(v.as.s, out))
        return true;
    near = ml_dtype_nearest(v.as.s);
    ml_report(ev->rep, ML_E_E516, at, "unknown dtype `%.*s`%s%s%s", (int)v.as.s.n, v.as.s.p,
              near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
    return false;
}
