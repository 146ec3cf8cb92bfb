/*
 * simplify - indices, bounds, conditions and values by the arithmetic analyzer, with the
 * ranges of loops and the conditions that hold; what is proved of an `if` or a predicate
 * is taken out. Source: lowering-and-codegen 1.2, 3.8.
 */
#include "moonloop/codegen/lower/lower_impl.h"

typedef struct Simplifier {
    ml_Arith *ar;
    const ml_Expr *value; /* of the statement at hand: it may wrap */
} Simplifier;

static const ml_Expr *simpler(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Simplifier *w = user;
    const ml_Expr *to;

    if (e->n_args == 0 && e->kind != ML_EXPR_VAR)
        return e;
    to = e == w->value ? ml_simplify_value(w->ar, e) : ml_simplify(w->ar, e);
    return ml_gave_up(cx, w->ar) || !ml_dtype_eq(to->type, e->type) ? e : to;
}

static const ml_Stmt *simplify_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

static const ml_Stmt *noop(ml_Ctx *cx, const ml_Stmt *at)
{
    return ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), at->span);
}

/* The body where the condition holds (or not). */
static const ml_Stmt *under(ml_Ctx *cx, Simplifier *w, const ml_Expr *cond, bool holds,
                            const ml_Stmt *body)
{
    ml_ArithMark mark = ml_arith_save(w->ar);
    const ml_Stmt *to;

    if (cond->type.lanes == 1 && !(cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)))
        ml_arith_assume(w->ar, holds ? cond : ml_not(cx, cond));
    (void)ml_gave_up(cx, NULL);
    to = simplify_stmt(cx, body, w);
    ml_arith_restore(w->ar, mark);
    return to;
}

static const ml_Stmt *visit_if(ml_Ctx *cx, Simplifier *w, const ml_If *old)
{
    const ml_Expr *cond = simpler(cx, old->cond, w);
    ml_If i = *old;

    if (ml_is_const_int(cond)) {
        if (ml_is_true(cond))
            return simplify_stmt(cx, old->then, w);
        return old->other ? simplify_stmt(cx, old->other, w) : noop(cx, &old->base);
    }
    i.cond = cond;
    i.then = under(cx, w, cond, true, old->then);
    i.other = old->other ? under(cx, w, cond, false, old->other) : NULL;
    return i.cond == old->cond && i.then == old->then && i.other == old->other
               ? &old->base
               : ml_stmt_from(cx, &i.base);
}

static const ml_Stmt *visit_for(ml_Ctx *cx, Simplifier *w, const ml_For *old)
{
    const ml_Mapper m = {.expr = simpler, .user = w};
    const ml_For *shallow = ml_as_for(ml_stmt_map(cx, &old->base, &m));
    ml_ArithMark mark = ml_arith_save(w->ar);
    const ml_Stmt *body;
    ml_For f = *shallow;

    if (ml_dtype_is_index(f.var->type))
        ml_arith_bind_loop(w->ar, shallow);
    body = simplify_stmt(cx, f.body, w);
    ml_arith_restore(w->ar, mark);
    if (body == f.body)
        return &shallow->base;
    f.body = body;
    return ml_for_from(cx, &f);
}

static const ml_Stmt *visit_block(ml_Ctx *cx, Simplifier *w, const ml_Block *old)
{
    const ml_Mapper m = {.expr = simpler, .user = w};
    const ml_Block *shallow = ml_as_block(ml_stmt_map(cx, &old->base, &m));
    const ml_Stmt *body;
    ml_Block b = *shallow;

    if (ml_is_false(b.predicate))
        return noop(cx, &old->base);
    body = under(cx, w, b.predicate, true, b.body);
    if (body == b.body)
        return &shallow->base;
    b.body = body;
    return ml_block_from(cx, &b);
}

static const ml_Stmt *simplify_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {simplify_stmt, simpler, NULL, user};
    Simplifier *w = user;

    w->value = ml_stmt_value(s);
    if (s->kind == ML_STMT_FOR)
        return visit_for(cx, w, ml_as_for(s));
    if (s->kind == ML_STMT_IF)
        return visit_if(cx, w, ml_as_if(s));
    if (s->kind == ML_STMT_BLOCK)
        return visit_block(cx, w, ml_as_block(s));
    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_simplify(ml_Lower *lo, const ml_Func *f)
{
    Simplifier w = {.ar = ml_lower_arith(lo, f)};

    return ml_func_with_body(lo->cx, f, simplify_stmt(lo->cx, f->body, &w));
}
