/* points - see points.h. Source: ir-and-analysis 8.5 (enumeration decides). */
#include "moonloop/core/arith/points.h"

static int64_t binary(ml_Point *at, const ml_Expr *e, int64_t a, int64_t b)
{
    int64_t r = 0;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD: at->unknown |= __builtin_add_overflow(a, b, &r); break;
    case ML_EXPR_SUB: at->unknown |= __builtin_sub_overflow(a, b, &r); break;
    case ML_EXPR_MUL: at->unknown |= __builtin_mul_overflow(a, b, &r); break;
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
        if (b == 0 || b == -1)
            at->unknown = true;
        else
            r = e->kind == ML_EXPR_FLOORDIV ? ml_floordiv_i64(a, b) : ml_floormod_i64(a, b);
        break;
    case ML_EXPR_MIN: return a < b ? a : b;
    case ML_EXPR_MAX: return a > b ? a : b;
    case ML_EXPR_EQ: return a == b;
    case ML_EXPR_NE: return a != b;
    case ML_EXPR_LT: return a < b;
    case ML_EXPR_LE: return a <= b;
    case ML_EXPR_GT: return a > b;
    case ML_EXPR_GE: return a >= b;
    default: at->unknown = true; break;
    }
    at->unknown |= !ml_dtype_fits(e->type, r);
    return r;
}

/* Of the operators on bits, those that two numbers of one type keep in it. */
static int64_t bits(ml_Point *at, const ml_Expr *e)
{
    if (!ml_is_op(e, ML_OP_BITWISE_AND) && !ml_is_op(e, ML_OP_BITWISE_OR) &&
        !ml_is_op(e, ML_OP_BITWISE_XOR)) {
        at->unknown = true;
        return 0;
    }
    int64_t a = ml_value_at(at, e->args[0]), b = ml_value_at(at, e->args[1]);

    return e->as.op->id == ML_OP_BITWISE_AND  ? a & b
           : e->as.op->id == ML_OP_BITWISE_OR ? (a | b)
                                              : a ^ b;
}

void ml_point_set(ml_Point *at, const ml_Var *v, int64_t value)
{
    size_t k = 0;

    while (k < at->n && at->var[k]->uid != v->uid)
        k++;
    if (k == ML_COUNT(at->var)) {
        at->unknown = true;
        return;
    }
    at->n = k == at->n ? k + 1 : at->n;
    at->var[k] = v;
    at->value[k] = value;
}

int64_t ml_value_at(ml_Point *at, const ml_Expr *e)
{
    if (at->unknown || e->type.lanes != 1 ||
        !(ml_dtype_is_int(e->type) || ml_dtype_is_bool(e->type))) {
        at->unknown = true;
        return 0;
    }
    switch (e->kind) {
    case ML_EXPR_INT: return e->as.i;
    case ML_EXPR_VAR:
        for (size_t k = at->n; k-- > 0;)
            if (at->var[k]->uid == e->as.var->uid)
                return at->value[k];
        at->unknown = true;
        return 0;
    case ML_EXPR_AND:
        return ml_value_at(at, e->args[0]) != 0 && ml_value_at(at, e->args[1]) != 0;
    case ML_EXPR_OR:
        return ml_value_at(at, e->args[0]) != 0 || ml_value_at(at, e->args[1]) != 0;
    case ML_EXPR_NOT: return ml_value_at(at, e->args[0]) == 0;
    case ML_EXPR_CAST: {
        int64_t v = ml_value_at(at, e->args[0]);

        at->unknown |= !ml_dtype_fits(e->type, v);
        return v;
    }
    case ML_EXPR_SELECT:
        return ml_value_at(at, e->args[ml_value_at(at, e->args[0]) ? 1 : 2]);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MUL:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE: {
        int64_t a = ml_value_at(at, e->args[0]), b = ml_value_at(at, e->args[1]);

        return binary(at, e, a, b);
    }
    case ML_EXPR_CALL: return bits(at, e);
    }
    at->unknown = true;
    return 0;
}

typedef struct PointsWalk {
    const ml_Dom *dom;
    size_t n;
    const ml_Expr *pred;
    int64_t *budget;
    ml_PointFn *visit;
    void *user;
    ml_Point at;
} PointsWalk;

static bool each(PointsWalk *w, size_t k)
{
    if (k == w->n) {
        bool holds = !w->pred || ml_value_at(&w->at, w->pred) != 0;

        if (holds && !w->at.unknown)
            w->visit(&w->at, w->user);
        return --*w->budget >= 0 && !w->at.unknown;
    }
    int64_t min = ml_value_at(&w->at, w->dom[k].min);
    int64_t extent = ml_value_at(&w->at, w->dom[k].extent);

    if (w->at.unknown || (extent > 0 && (extent > *w->budget || min > INT32_MAX)))
        return false;
    w->at.n = k + 1;
    w->at.var[k] = w->dom[k].var;
    for (int64_t v = 0; v < extent; v++) {
        w->at.value[k] = min + v;
        if (!each(w, k + 1))
            return false;
        w->at.n = k + 1;
    }
    w->at.n = k;
    return true;
}

bool ml_each_point(const ml_Dom *dom, size_t n, const ml_Expr *pred, int64_t *budget,
                   ml_PointFn *visit, void *user)
{
    PointsWalk w = {dom, n, pred, budget, visit, user, {.n = 0}};

    return n <= ML_COUNT(w.at.var) && each(&w, 0);
}
