/*
 * guard_unsafe_select - select(c, a, b) evaluates both arms; where an arm loads or calls
 * what is not pure it becomes if_then_else, which evaluates the chosen one. Selects of
 * vectors keep their form: their loads are masked. Source: lowering-and-codegen 3.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static bool unsafe(const ml_Expr *e)
{
    return (e->flags & ML_X_HAS_LOAD) || ml_expr_effect(e) > ML_EFFECT_PURE;
}

static const ml_Expr *guard(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    if (e->n_args == 0)
        return e;
    e = ml_expr_map_args(cx, e, guard, user);
    if (e->kind == ML_EXPR_SELECT && e->args[0]->type.lanes == 1 &&
        (unsafe(e->args[1]) || unsafe(e->args[2])))
        return ml_if_then_else(cx, e->args[0], e->args[1], e->args[2]);
    return e;
}

static const ml_Stmt *guard_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {guard_stmt, guard, NULL, user};

    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_guard_unsafe_select(ml_Lower *lo, const ml_Func *f)
{
    return ml_func_with_body(lo->cx, f, guard_stmt(lo->cx, f->body, NULL));
}
