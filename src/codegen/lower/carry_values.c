/*
 * carry_values - what one iteration stores and the next one loads stays in a register.
 *
 * for j: Y[f(j)] = ... Y[f(j - 1)] ...: a running sum waits for an addition then, not for a
 * store and a load. A condition that holds in all iterations but the first, and chooses the
 * value to begin with, goes. Source: lowering-and-codegen 7.4.
 */
#include "moonloop/codegen/lower/lower_impl.h"

typedef struct Carry {
    ml_Lower *lo;
    ml_Arith *ar;
    const ml_For *f;
    const ml_Store *st;
    const ml_Expr *load; /* of what was stored before */
    bool refused;
} Carry;

static const ml_Expr *first_of(Carry *c, const ml_Expr *e)
{
    return ml_simplify(c->ar, ml_expr_subst1(c->lo->cx, e, c->f->var, c->f->min));
}

/* Whether the element is the one that the iteration before has stored. */
static bool is_last_stored(Carry *c, const ml_Expr *load)
{
    ml_Ctx *cx = c->lo->cx;
    const ml_Var *v = c->f->var;
    const ml_Expr *next = ml_add(cx, ml_var(cx, v), ml_int(cx, v->type, 1));

    if (ml_load_rank(load) != c->st->n || (load->flags & ML_X_MASKED))
        return false;
    for (uint32_t k = 0; k < c->st->n; k++) {
        const ml_Expr *e = ml_expr_subst1(cx, load->args[k], v, next);
        if ((load->args[k]->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) ||
            !ml_is_int(ml_simplify(c->ar, ml_sub(cx, e, c->st->indices[k])), 0))
            return false;
    }
    return true;
}

static bool see_load(const ml_Expr *e, void *user)
{
    Carry *c = user;

    if (e->kind == ML_EXPR_VAR && e->as.var->uid == c->st->buffer->data->uid)
        c->refused = true;
    if (e->kind != ML_EXPR_LOAD || e->as.buffer->data->uid != c->st->buffer->data->uid)
        return true;
    if (e != c->load && (c->load || e->as.buffer != c->st->buffer || !is_last_stored(c, e)))
        c->refused = true;
    c->load = e;
    return false;
}

static bool is_recurrence(Carry *c)
{
    const ml_For *f = c->f;
    const ml_Stmt *body = f->body;

    if (f->kind != ML_FOR_SERIAL || f->step || body->kind != ML_STMT_STORE ||
        ml_dict_get(f->annotations, ML_IRREGULAR_LOOP) || !ml_is_const_int(f->extent) ||
        f->extent->as.i < 2)
        return false;
    c->st = ml_as_store(body);
    if (c->st->mask || c->st->value->type.lanes != 1 || c->st->buffer->type.lanes != 1 ||
        c->st->buffer->scope.rank == ML_SCOPE_LOCAL ||
        ml_expr_effect(c->st->value) > ML_EFFECT_READ)
        return false;
    for (uint32_t k = 0; k < c->st->n; k++)
        if (c->st->indices[k]->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))
            return false;
    ml_expr_visit(c->st->value, see_load, c);
    return c->load && !c->refused;
}

/* ---------------------------------------------------------------- the value at first */

typedef struct Swap {
    Carry *c;
    const ml_Expr *to;
    const ml_Expr *start; /* what a condition that went has chosen at first */
    bool guarded;         /* every load stood under a condition that is false at first */
    unsigned under;       /* such conditions around what is looked at */
} Swap;

/* Whether the condition is false in the first iteration; always: and true in all others. */
static bool begins_false(Carry *c, const ml_Expr *cond, bool always)
{
    ml_Ctx *cx = c->lo->cx;
    ml_ArithMark facts;
    const ml_Expr *min = c->f->min, *one = ml_int(cx, min->type, 1);
    bool yes;

    if (cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT) || !ml_is_false(first_of(c, cond)))
        return false;
    if (!always)
        return true;
    facts = ml_arith_save(c->ar);
    ml_arith_assume(c->ar, ml_ge(cx, ml_var(cx, c->f->var), ml_add(cx, min, one)));
    yes = ml_prove(c->ar, cond);
    ml_arith_restore(c->ar, facts);
    return yes;
}

static const ml_Expr *swap(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Swap *s = user;

    if (e == s->c->load) {
        s->guarded = s->guarded && s->under > 0;
        return s->to;
    }
    if (!(e->flags & ML_X_HAS_LOAD))
        return e;
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && begins_false(s->c, e->args[0], false)) {
        const ml_Expr *v[3] = {e->args[0], NULL, e->args[2]};
        if (e->args[1] == s->c->load && s->start == NULL &&
            !(e->args[2]->flags & ML_X_EFFECT) && /* of other tensors, if it loads */
            begins_false(s->c, e->args[0], true)) {
            s->start = first_of(s->c, e->args[2]);
            return s->to;
        }
        s->under++;
        v[1] = swap(cx, e->args[1], s);
        s->under--;
        v[2] = swap(cx, e->args[2], s);
        return ml_if_then_else(cx, v[0], v[1], v[2]);
    }
    return ml_expr_map_args(cx, e, swap, user);
}

static const ml_Stmt *carried(Carry *c)
{
    ml_Ctx *cx = c->lo->cx;
    const ml_Store *st = c->st;
    const ml_Expr *shape = ml_i32(cx, 1), *at = ml_i32(cx, 0), *value, *start;
    const ml_Buffer *last = ml_buffer_new(cx, ml_format(cx, "%s_last", st->buffer->name),
                                          st->buffer->type, &shape, 1, "local");
    Swap s = {.c = c, .to = ml_load(cx, last, &at, 1), .guarded = true};
    const ml_Stmt *parts[3], *body[2];
    ml_For loop = *c->f;

    value = swap(cx, st->value, &s);
    start = s.start;
    if (start && !s.guarded)
        return NULL; /* another load wants what was there before */
    if (start == NULL && s.guarded)
        start = ml_const(cx, st->value->type, 0); /* nobody reads it */
    if (start == NULL)
        start = ml_expr_subst1(cx, c->load, c->f->var, c->f->min);
    body[0] = ml_store(cx, last, value, &at, 1, NULL);
    body[1] = ml_store(cx, st->buffer, s.to, st->indices, st->n, NULL);
    for (int k = 0; k < 2; k++)
        body[k] = ml_stmt_at(cx, body[k], st->base.span);
    loop.body = ml_seq_at(cx, body, 2, st->base.span);
    parts[0] = ml_stmt_at(cx, ml_alloc_stmt(cx, last, NULL), st->base.span);
    parts[1] = ml_stmt_at(cx, ml_store(cx, last, start, &at, 1, NULL), st->base.span);
    parts[2] = ml_for_from(cx, &loop);
    return ml_seq_at(cx, parts, 3, c->f->base.span);
}

static const ml_Stmt *carry_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = carry_stmt, .user = user};
    const Carry *w = user;
    Carry c = {.lo = w->lo, .ar = w->ar};
    const ml_Stmt *to = NULL;
    ml_ArithMark facts;

    if (!s->has_loop)
        return s;
    if (s->kind != ML_STMT_FOR)
        return ml_stmt_map(cx, s, &m);
    c.f = ml_as_for(s);
    facts = ml_arith_save(c.ar);
    ml_arith_bind_loop(c.ar, c.f);
    if (is_recurrence(&c))
        to = carried(&c);
    if (to == NULL)
        to = ml_stmt_map(cx, s, &m);
    ml_arith_restore(c.ar, facts);
    return to;
}

const ml_Func *ml_pass_carry_values(ml_Lower *lo, const ml_Func *f)
{
    Carry c = {.lo = lo, .ar = ml_lower_arith(lo, f)};

    return ml_func_with_body(lo->cx, f, carry_stmt(lo->cx, f->body, &c));
}
