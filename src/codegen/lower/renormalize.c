/*
 * renormalize - floordiv(floormod(x, c1*c2), c2) becomes floormod(floordiv(x, c2), c1): the
 * quotient and the remainder of one number by c2 are then seen by what makes code of them
 * as one division. Source: lowering-and-codegen 3.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const ml_Expr *form(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const ml_Expr *x;
    int64_t all, part;

    if (e->n_args == 0)
        return e;
    e = ml_expr_map_args(cx, e, form, user);
    if (e->kind != ML_EXPR_FLOORDIV || e->args[0]->kind != ML_EXPR_FLOORMOD ||
        !ml_is_const_int(e->args[1]) || !ml_is_const_int(e->args[0]->args[1]))
        return e;
    part = e->args[1]->as.i;
    all = e->args[0]->args[1]->as.i;
    if (part < 2 || all <= part || all % part != 0)
        return e;
    x = e->args[0]->args[0];
    return ml_floormod(cx, ml_floordiv(cx, x, e->args[1]), ml_int(cx, e->type, all / part));
}

static const ml_Stmt *renormalize_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {renormalize_stmt, form, NULL, user};

    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_renormalize(ml_Lower *lo, const ml_Func *f)
{
    return ml_func_with_body(lo->cx, f, renormalize_stmt(lo->cx, f->body, NULL));
}
