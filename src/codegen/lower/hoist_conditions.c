/*
 * hoist_conditions - an `if` that is all there is in a loop and does not depend on it moves
 * outside. Conditions that read memory or call what is not pure stay where they are, and so
 * do those of parallel loops, where moving gains nothing. Source: lowering-and-codegen 3.7.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static bool divides(const ml_Expr *e, void *user)
{
    bool *found = user;

    if (ml_kind_divides(e->kind))
        *found |= !ml_is_const_int(e->args[1]) || e->args[1]->as.i == 0;
    return !*found;
}

/* A loop that may not run may be what keeps a division by zero from happening. */
static bool may_fault(const ml_Expr *c, const ml_For *f)
{
    bool found = false;

    if (ml_is_const_int(f->extent) && f->extent->as.i > 0)
        return false;
    ml_expr_visit(c, divides, &found);
    return found;
}

static bool fixed(const ml_Expr *c, const ml_For *f)
{
    return c->type.lanes == 1 && !may_fault(c, f) &&
           !(c->flags & (ML_X_HAS_LOAD | ML_X_EFFECT | ML_X_READ_OP | ML_X_OPAQUE)) &&
           !ml_expr_uses_var(c, f->var);
}

static const ml_Stmt *loop_over(ml_Ctx *cx, const ml_For *f, const ml_Stmt *body)
{
    ml_For to = *f;

    to.body = body;
    return ml_for_from(cx, &to);
}

/* Whether it may be evaluated after another part of the conjunction as well as before. */
static bool is_safe(const ml_Expr *c)
{
    return !(c->flags & (ML_X_EFFECT | ML_X_OPAQUE));
}

/* The parts of a conjunction that leave the loop, and those that stay. */
static void part(ml_Ctx *cx, const ml_Expr *c, const ml_For *f, const ml_Expr **out,
                 const ml_Expr **in)
{
    if (c->kind == ML_EXPR_AND) {
        part(cx, c->args[0], f, out, in);
        part(cx, c->args[1], f, out, in);
    } else {
        bool found = false;

        if (*in) /* what stays may be what keeps a division by zero from happening */
            ml_expr_visit(c, divides, &found);
        const ml_Expr **to = fixed(c, f) && !found ? out : in;

        *to = *to ? ml_and(cx, *to, c) : c;
    }
}

static const ml_Stmt *hoist_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = hoist_stmt, .user = user};
    const ml_For *f;
    const ml_If *i;
    const ml_Stmt *then, *other = NULL;
    const ml_Expr *out = NULL, *in = NULL;

    if (!s->has_loop)
        return s;
    s = ml_stmt_map(cx, s, &m);
    if (s->kind != ML_STMT_FOR || ml_as_for(s)->body->kind != ML_STMT_IF)
        return s;
    f = ml_as_for(s);
    i = ml_as_if(f->body);
    if (f->kind == ML_FOR_THREAD || f->kind == ML_FOR_PARALLEL)
        return s;
    part(cx, i->cond, f, &out, &in);
    if (!out || (in && (i->other || !is_safe(in))))
        return s;
    then = i->then;
    if (in)
        then = ml_stmt_at(cx, ml_if(cx, in, then, NULL), i->base.span);
    then = loop_over(cx, f, then);
    if (i->other)
        other = ml_stmt_copy_fresh(cx, loop_over(cx, f, i->other), NULL);
    return ml_stmt_at(cx, ml_if(cx, out, then, other), i->base.span);
}

const ml_Func *ml_pass_hoist_conditions(ml_Lower *lo, const ml_Func *f)
{
    return ml_func_with_body(lo->cx, f, hoist_stmt(lo->cx, f->body, NULL));
}
