/*
 * lower_intrinsics - floor divisions become what machines have: shifts and masks for powers
 * of two, truncating divisions where both sides are known not to be negative. The rest is
 * left to the backend, which corrects a truncating division by its remainder.
 *
 * Ranges are those of the loops around; a division whose operand is a vector is looked at
 * through its ramp. Source: lowering-and-codegen 3.9.
 */
#include "moonloop/codegen/lower/lower_impl.h"

typedef struct IntrinsicWalk {
    ml_Arith *ar;
    const ml_Expr *value; /* of the statement at hand */
    bool wraps;           /* what is looked at is part of it, and no index */
} IntrinsicWalk;

/* The smallest value of a scalar or of a ramp's lanes. */
static bool never_negative(ml_Ctx *cx, IntrinsicWalk *w, const ml_Expr *e)
{
    bool ok;

    if (e->kind == ML_EXPR_BROADCAST)
        return never_negative(cx, w, e->args[0]);
    if (e->kind == ML_EXPR_RAMP)
        return never_negative(cx, w, e->args[0]) && ml_is_const_int(e->args[1]) &&
               e->args[1]->as.i >= 0;
    if (!ml_dtype_is_index(e->type))
        return e->type.code == ML_UINT;
    ok = ml_arith_bound(w->ar, e).lo >= 0 && (!w->wraps || ml_arith_exact(w->ar, e));
    (void)ml_gave_up(cx, w->ar);
    return ok;
}

static const ml_Expr *constant_of(const ml_Expr *e)
{
    if (e->kind == ML_EXPR_BROADCAST)
        e = e->args[0];
    return ml_is_const_int(e) ? e : NULL;
}

static const ml_Expr *call2(ml_Ctx *cx, ml_OpId op, const ml_Expr *a, const ml_Expr *b)
{
    const ml_Expr *args[2] = {a, b};

    return ml_call_id(cx, a->type, op, args, 2);
}

static const ml_Expr *machine_form(ml_Ctx *cx, IntrinsicWalk *w, const ml_Expr *e)
{
    const ml_Expr *x = e->args[0], *c = constant_of(e->args[1]);
    bool is_div = e->kind == ML_EXPR_FLOORDIV;

    if (!ml_dtype_is_int(e->type))
        return e;
    if (c && c->as.i > 0 && (c->as.i & (c->as.i - 1)) == 0 && c->as.i > 1) {
        int64_t shift = 0;

        while (((int64_t)1 << shift) < c->as.i)
            shift++;
        return is_div ? call2(cx, ML_OP_SHIFT_RIGHT, x, ml_int(cx, e->type, shift))
                      : call2(cx, ML_OP_BITWISE_AND, x, ml_int(cx, e->type, c->as.i - 1));
    }
    if (c ? c->as.i <= 0 : !never_negative(cx, w, e->args[1]))
        return e;
    if (!never_negative(cx, w, x))
        return e;
    return is_div ? ml_div(cx, x, e->args[1]) : ml_mod(cx, x, e->args[1]);
}

static const ml_Expr *form(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    IntrinsicWalk *w = user;
    bool wraps = w->wraps;

    if (e->n_args == 0)
        return e;
    w->wraps = (wraps || e == w->value) && e->kind != ML_EXPR_LOAD;
    if (e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD)
        e = machine_form(cx, w, e); /* of the operands as they were */
    e = ml_expr_map_args(cx, e, form, user);
    w->wraps = wraps;
    return e;
}

static const ml_Stmt *lower_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {lower_stmt, form, NULL, user};
    IntrinsicWalk *w = user;

    w->value = ml_stmt_value(s);
    return s->kind == ML_STMT_FOR ? ml_arith_map_loop(w->ar, ml_as_for(s), &m)
                                  : ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_lower_intrinsics(ml_Lower *lo, const ml_Func *f)
{
    IntrinsicWalk w = {.ar = ml_lower_arith(lo, f)};

    return ml_func_with_body(lo->cx, f, lower_stmt(lo->cx, f->body, &w));
}
