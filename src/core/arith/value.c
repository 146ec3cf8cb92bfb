/*
 * value - simplification of what is stored: integers that wrap as their dtype does.
 *
 * The rules of the analyzer take integers to be those of mathematics, which holds for
 * indices, bounds and conditions: overflow is an error there. In a value they apply to what
 * bounds show to stay inside its dtype, with divisors that are not 0; around anything else
 * an operator stays as it is, over operands simplified by themselves. A condition without
 * loads counts as one of the program, as the interpreter has it.
 * Source: script 10.2, ir-and-analysis 1.1.
 */
#include "moonloop/core/arith/arith_impl.h"

enum { MAX_VALUE = 1 << 14 }; /* nodes, as a tree */

/* What e is made of that could not be an operator on exact numbers stays within bounds. */
static bool stays_inside(ml_Arith *ar, const ml_Expr *e)
{
    ml_Bound b, in = ml_bound_dtype(e->type);

    if (ml_kind_divides(e->kind)) {
        b = ml_arith_bound(ar, e->args[1]);
        if (b.lo <= 0 && b.hi >= 0)
            return false;
    }
    if (!ml_dtype_is_index(ml_dtype_lanes(e->type, 1)))
        return true; /* the analyzer knows that these wrap */
    if (e->kind == ML_EXPR_CAST) {
        b = ml_arith_bound(ar, e->args[0]);
        return !ml_dtype_is_index(ml_dtype_lanes(e->args[0]->type, 1)) ||
               (b.lo >= in.lo && b.hi <= in.hi);
    }
    b = ml_arith_bound(ar, e);
    /* An end of int64 is also what a saturated bound looks like. */
    return b.lo > -ML_INF && b.hi < ML_INF && b.lo >= in.lo && b.hi <= in.hi;
}

static bool computes(const ml_Expr *e)
{
    return ml_dtype_is_int(e->type) &&
           (ml_is_sum_or_quotient(e) || e->kind == ML_EXPR_RAMP ||
            e->kind == ML_EXPR_CAST || ml_is_op(e, ML_OP_SHIFT_LEFT));
}

bool ml_arith_exact(ml_Arith *ar, const ml_Expr *e)
{
    ml_ArithMemo *m;
    bool is = true;

    if (e->n_args == 0 || e->kind == ML_EXPR_LOAD)
        return true; /* its indices are indices */
    m = ml_arith_memo(ar, e);
    if (m->x_at == ar->epoch)
        return m->exact;
    for (uint16_t k = 0; k < e->n_args && is; k++)
        is = ml_arith_exact(ar, e->args[k]);
    is = is && (!computes(e) || stays_inside(ar, e));
    m = ml_arith_memo(ar, e);
    m->exact = is;
    m->x_at = ar->epoch;
    return is;
}

/* Each arm is looked at where it is chosen; an arm of select is computed in any case. */
static const ml_Expr *choice(ml_Arith *ar, const ml_Expr *e)
{
    bool call = e->kind == ML_EXPR_CALL;
    const ml_Expr *c = e->args[0], *kids[3];

    kids[0] = c->flags & ML_X_HAS_LOAD ? ml_simplify_value(ar, c) : ml_simplify(ar, c);
    if (kids[0]->kind == ML_EXPR_INT)
        return ml_simplify_value(ar, e->args[ml_is_true(kids[0]) ? 1 : 2]);
    for (int arm = 1; arm <= 2; arm++) {
        ml_ArithMark m = ml_arith_save(ar);

        if (c->type.lanes == 1 && (call || ml_harmless(e->args[arm])))
            ml_arith_assume(ar, arm == 1 ? kids[0] : ml_negate(ar, kids[0]));
        kids[arm] = ml_simplify_value(ar, e->args[arm]);
        ml_arith_restore(ar, m);
    }
    return ml_try_rebuild(ar, e, kids);
}

static const ml_Expr *operands(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *few[8], **kids = few;

    if (e->kind == ML_EXPR_SHUFFLE ||
        (e->kind == ML_EXPR_CALL && ml_expr_effect(e) > ML_EFFECT_READ))
        return e; /* places that must stay as written */
    if (e->n_args > ML_COUNT(few))
        kids = ML_ARRAY(ar->cx, const ml_Expr *, e->n_args);
    for (uint16_t k = 0; k < e->n_args; k++)
        kids[k] = ml_simplify_value(ar, e->args[k]);
    return ml_try_rebuild(ar, e, kids);
}

const ml_Expr *ml_simplify_value(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *r;

    if (e->n_args == 0 || e->kind == ML_EXPR_LOAD)
        return ml_simplify(ar, e);
    if (e->size > MAX_VALUE)
        return e;
    if (ml_arith_exact(ar, e)) {
        r = ml_simplify(ar, e);
        if (ml_arith_exact(ar, r))
            return r;
    }
    if (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return choice(ar, e);
    return operands(ar, e);
}
