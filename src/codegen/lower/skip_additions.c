/*
 * skip_additions - `b[i] = b[i] + (c ? v : 0)` becomes `if c: b[i] = b[i] + v` where the loop
 * next to it does not change c, so that hoist_conditions may take c out of whole nests: what a
 * sum leaves out costs nothing then. Only the sign of a zero may differ: -0 stays -0.
 * Source: lowering-and-codegen 3.6a.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static bool is_zero(const ml_Expr *e)
{
    return ml_is_int(e, 0) || (e->kind == ML_EXPR_FLOAT && e->as.f == 0.0);
}

static bool is_fixed(const ml_Expr *c, const ml_For *f)
{
    return c->type.lanes == 1 && !ml_expr_uses_var(c, f->var) &&
           !(c->flags & (ML_X_HAS_LOAD | ML_X_EFFECT | ML_X_READ_OP | ML_X_OPAQUE));
}

static bool is_own(const ml_Expr *e, const ml_Store *st)
{
    if (e->kind != ML_EXPR_LOAD || e->as.buffer != st->buffer || ml_load_rank(e) != st->n)
        return false;
    for (uint32_t k = 0; k < st->n; k++)
        if (e->args[k] != st->indices[k])
            return false;
    return true;
}

typedef struct Around {
    const ml_For *loop; /* next to the statement, or NULL */
} Around;

static const ml_Stmt *skip_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_For *f = ((const Around *)user)->loop;

    if (s->kind != ML_STMT_STORE) {
        Around in = {.loop = s->kind == ML_STMT_FOR ? ml_as_for(s) : f};
        const ml_Mapper m = {.stmt = skip_stmt, .user = &in};

        return ml_stmt_map(cx, s, &m);
    }
    const ml_Store *st = ml_as_store(s);
    const ml_Expr *v = st->value;

    if (!f || st->mask || v->kind != ML_EXPR_ADD || v->type.lanes != 1)
        return s;
    for (int k = 0; k < 2; k++) {
        const ml_Expr *own = v->args[k], *e = v->args[1 - k];

        if (!is_own(own, st) ||
            !(e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE)) ||
            !is_zero(e->args[2]) || !is_fixed(e->args[0], f))
            continue;
        const ml_Stmt *then =
            ml_store(cx, st->buffer, ml_add(cx, own, e->args[1]), st->indices, st->n, NULL);

        return ml_stmt_at(cx, ml_if(cx, e->args[0], ml_stmt_at(cx, then, s->span), NULL),
                          s->span);
    }
    return s;
}

const ml_Func *ml_pass_skip_additions(ml_Lower *lo, const ml_Func *f)
{
    Around none = {NULL};

    return ml_func_with_body(lo->cx, f, skip_stmt(lo->cx, f->body, &none));
}
