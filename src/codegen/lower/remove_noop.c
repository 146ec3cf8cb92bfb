/*
 * remove_noop - takes out loops that never run, empty bodies, and stores of what is there
 * already (a load of the same element). Calls with effects in conditions and bounds stay.
 * Source: lowering-and-codegen 3.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const ml_Stmt *nothing(ml_Ctx *cx, const ml_Stmt *at)
{
    return ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), at->span);
}

static bool has_effect(const ml_Expr *e)
{
    return ml_expr_effect(e) > ML_EFFECT_READ;
}

static bool stores_itself(const ml_Store *st)
{
    const ml_Expr *e = st->value;

    if (e->kind != ML_EXPR_LOAD || e->as.buffer != st->buffer || ml_load_rank(e) != st->n)
        return false;
    for (uint32_t k = 0; k < st->n; k++)
        if (e->args[k] != st->indices[k] || has_effect(st->indices[k]))
            return false;
    /* unmasked lanes of the value are read only where the store writes, or everywhere */
    return st->mask == NULL || !(e->flags & ML_X_MASKED) || e->args[st->n] == st->mask;
}

static const ml_Stmt *prune_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = prune_stmt, .user = user};

    s = ml_stmt_map(cx, s, &m);
    if (s->kind == ML_STMT_STORE && stores_itself(ml_as_store(s)))
        return nothing(cx, s);
    if (s->kind == ML_STMT_STORE && ml_as_store(s)->mask) {
        const ml_Expr *mask = ml_as_store(s)->mask;

        if (mask->kind == ML_EXPR_BROADCAST)
            mask = mask->args[0];
        if (ml_is_false(mask) && !has_effect(ml_as_store(s)->value))
            return nothing(cx, s);
    }
    if (s->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(s);

        if (has_effect(f->extent) || has_effect(f->min))
            return s;
        if (ml_is_noop(f->body) || (ml_is_const_int(f->extent) && f->extent->as.i <= 0))
            return nothing(cx, s);
    }
    if (s->kind == ML_STMT_IF) {
        const ml_If *i = ml_as_if(s);

        if (ml_is_noop(i->then) && (!i->other || ml_is_noop(i->other)))
            return has_effect(i->cond) ? ml_stmt_at(cx, ml_evaluate(cx, i->cond), s->span)
                                       : nothing(cx, s);
        if (i->other && ml_is_noop(i->other))
            return ml_stmt_at(cx, ml_if(cx, i->cond, i->then, NULL), s->span);
    }
    if (s->kind == ML_STMT_EVALUATE && !ml_is_noop(s) &&
        !has_effect(ml_as_evaluate(s)->value))
        return nothing(cx, s);
    if (s->kind == ML_STMT_ATTR && ml_is_noop(ml_as_attr(s)->body))
        return nothing(cx, s);
    return s;
}

const ml_Func *ml_pass_remove_noop(ml_Lower *lo, const ml_Func *f)
{
    return ml_func_with_body(lo->cx, f, prune_stmt(lo->cx, f->body, NULL));
}
