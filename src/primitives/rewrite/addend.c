/*
 * addend - see addend.h
 */
#include "moonloop/primitives/rewrite/addend.h"

static bool is_own_load(const ml_Expr *e, const ml_Store *st)
{
    if (e->kind != ML_EXPR_LOAD || e->as.buffer != st->buffer || ml_load_rank(e) != st->n ||
        e->n_args != st->n)
        return false;
    for (uint32_t k = 0; k < st->n; k++)
        if (e->args[k] != st->indices[k])
            return false;
    return true;
}

const ml_Expr *ml_addend(const ml_Block *b)
{
    if (b->body->kind != ML_STMT_STORE || b->n_allocs || b->n_matches)
        return NULL;
    const ml_Store *st = ml_as_store(b->body);
    const ml_Expr *v = st->value;

    if (st->mask || v->kind != ML_EXPR_ADD || ml_expr_effect(v) > ML_EFFECT_READ)
        return NULL;
    for (int k = 0; k < 2; k++)
        if (is_own_load(v->args[k], st) && !ml_expr_uses_buffer(v->args[1 - k], st->buffer))
            return v->args[1 - k];
    return NULL;
}

static bool is_zero(const ml_Expr *e)
{
    if (e->kind == ML_EXPR_CAST)
        return is_zero(e->args[0]);
    return ml_is_int(e, 0) || (e->kind == ML_EXPR_FLOAT && e->as.f == 0.0);
}

bool ml_is_finite(const ml_Expr *e)
{
    if (!ml_dtype_is_float(e->type))
        return true;
    if (e->kind == ML_EXPR_FLOAT)
        return e->as.f - e->as.f == 0.0;
    return e->kind == ML_EXPR_CAST && ml_dtype_is_int(e->args[0]->type);
}

bool ml_is_zero_choice(const ml_Expr *e)
{
    return (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE)) &&
           is_zero(e->args[2]);
}

const ml_Expr *ml_zero_choice(const ml_Expr *e, const ml_Expr **other)
{
    if (ml_is_zero_choice(e))
        return e;
    if (e->kind == ML_EXPR_CAST)
        return ml_zero_choice(e->args[0], other);
    if (e->kind != ML_EXPR_MUL)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const ml_Expr *found = ml_zero_choice(e->args[k], other);

        if (found) {
            if (!ml_is_finite(e->args[1 - k]))
                *other = e->args[1 - k];
            return found;
        }
    }
    return NULL;
}

typedef struct Swap {
    const ml_Expr *from, *to;
} Swap;

static const ml_Expr *swap(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Swap *s = user;

    return e == s->from ? s->to : ml_expr_map_args(cx, e, swap, user);
}

const ml_Expr *ml_expr_swap(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *from,
                            const ml_Expr *to)
{
    Swap s = {from, to};

    return swap(cx, e, &s);
}
