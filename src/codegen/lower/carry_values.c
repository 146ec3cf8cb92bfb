/*
 * carry_values - what one iteration stores and the next one loads stays in a register.
 *
 * for j: Y[f(j)] = ... Y[f(j - 1)] ...: a running sum waits for an addition then, not for a
 * store and a load. A condition that holds in all iterations but the first, and chooses the
 * value to begin with, goes. Rows that take their steps by turns, and steps written one after
 * the other, are several stores: each that the next iteration loads has its own register.
 * Source: lowering-and-codegen 7.4.
 */
#include "moonloop/codegen/lower/lower_impl.h"

enum { MOST_STORES = 64 };

/* A load of what one of the stores left in the iteration before. */
typedef struct Slot {
    const ml_Expr *load;
    size_t from;          /* the store */
    size_t until;         /* the last of those that load it before it is stored anew */
    const ml_Expr *start; /* what a condition that went has chosen at first */
    bool guarded;         /* every load stood under a condition that is false at first */
    const ml_Expr *held;  /* the register */
} Slot;

typedef struct Carry {
    ml_Lower *lo;
    ml_Arith *ar;
    const ml_For *f;
    const ml_Store *st[MOST_STORES]; /* the body: one after the other, to one buffer */
    size_t n, at;
    ML_VEC(Slot) slots;
} Carry;

static const ml_Expr *first_of(Carry *c, const ml_Expr *e)
{
    return ml_simplify(c->ar, ml_expr_subst1(c->lo->cx, e, c->f->var, c->f->min));
}

/* Whether the indices, a of them `later` iterations on, differ by nothing; apart: by a number
 * that is not 0 in some dimension. */
static bool compares(Carry *c, const ml_Expr *const *a, int64_t later,
                     const ml_Expr *const *b, size_t n, bool apart)
{
    ml_Ctx *cx = c->lo->cx;
    const ml_Var *v = c->f->var;
    const ml_Expr *then = ml_add(cx, ml_var(cx, v), ml_int(cx, v->type, later));

    for (size_t k = 0; k < n; k++) {
        const ml_Expr *e = later ? ml_expr_subst1(cx, a[k], v, then) : a[k];

        e = ml_simplify(c->ar, ml_sub(cx, e, b[k]));
        if (apart && ml_is_const_int(e) && e->as.i != 0)
            return true;
        if (!apart && !ml_is_int(e, 0))
            return false;
    }
    return !apart;
}

/* Whether the element that the store leaves is as it was when the load comes in the next
 * iteration, before that store. */
static bool lasts(Carry *c, size_t from, const ml_Expr *load)
{
    for (size_t k = 0; k < c->n; k++) {
        const ml_Store *st = c->st[k];

        if ((k > from && !compares(c, st->indices, 0, c->st[from]->indices, st->n, true)) ||
            (k < c->at && !compares(c, st->indices, 0, load->args, st->n, true)))
            return false;
    }
    return true;
}

static Slot *slot_of(Carry *c, const ml_Expr *load)
{
    for (size_t k = 0; k < c->slots.n; k++)
        if (c->slots.v[k].load == load)
            return &c->slots.v[k];
    return NULL;
}

static bool see_load(const ml_Expr *e, void *user)
{
    Carry *c = user;
    Slot *known;

    if (e->kind != ML_EXPR_LOAD || e->as.buffer != c->st[0]->buffer ||
        (e->flags & ML_X_MASKED) || ml_load_rank(e) != c->st[0]->n)
        return (e->flags & ML_X_HAS_LOAD) != 0;
    for (size_t k = 0; k < e->n_args; k++)
        if (e->args[k]->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))
            return true;
    known = slot_of(c, e);
    if (known && c->at <= known->from && lasts(c, known->from, e))
        known->until = c->at;
    for (size_t k = c->at; k < c->n && !known; k++)
        if (compares(c, e->args, 1, c->st[k]->indices, c->st[k]->n, false) &&
            lasts(c, k, e)) {
            Slot slot = {.load = e, .from = k, .until = c->at, .guarded = true};

            ml_push(c->lo->cx, &c->slots, slot);
            break;
        }
    return false;
}

/* All of the body are stores of numbers to one buffer that others do not see as another. */
static bool take_stores(Carry *c)
{
    const ml_Stmt *body = c->f->body;
    const ml_Seq *q = body->kind == ML_STMT_SEQ ? ml_as_seq(body) : NULL;

    c->n = q ? q->n : 1;
    if (c->n > MOST_STORES)
        return false;
    for (size_t k = 0; k < c->n; k++) {
        const ml_Stmt *s = q ? q->stmts[k] : body;

        if (s->kind != ML_STMT_STORE)
            return false;
        c->st[k] = ml_as_store(s);
        if (c->st[k]->buffer != c->st[0]->buffer || c->st[k]->mask ||
            c->st[k]->value->type.lanes != 1 ||
            ml_expr_effect(c->st[k]->value) > ML_EFFECT_READ)
            return false;
        for (uint32_t d = 0; d < c->st[k]->n; d++)
            if (c->st[k]->indices[d]->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))
                return false;
    }
    return c->st[0]->buffer->type.lanes == 1 &&
           c->st[0]->buffer->scope.rank != ML_SCOPE_LOCAL;
}

static bool is_recurrence(Carry *c)
{
    const ml_For *f = c->f;

    if (f->kind != ML_FOR_SERIAL || f->step ||
        ml_dict_get(f->annotations, ML_IRREGULAR_LOOP) || !ml_is_const_int(f->extent) ||
        f->extent->as.i < 2 || !take_stores(c))
        return false;
    for (c->at = 0; c->at < c->n; c->at++)
        ml_expr_visit(c->st[c->at]->value, see_load, c);
    return c->slots.n > 0;
}

/* ---------------------------------------------------------------- the value at first */

typedef struct Swap {
    Carry *c;
    unsigned under; /* conditions that are false at first around what is looked at */
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

/* The slot of a load where the store at work finds it unchanged. */
static Slot *carried_by(Carry *c, const ml_Expr *e)
{
    Slot *slot = e->kind == ML_EXPR_LOAD ? slot_of(c, e) : NULL;

    return slot && c->at <= slot->until ? slot : NULL;
}

static const ml_Expr *swap(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Swap *s = user;
    Slot *slot = carried_by(s->c, e);

    if (slot) {
        slot->guarded = slot->guarded && s->under > 0;
        return slot->held;
    }
    if (!(e->flags & ML_X_HAS_LOAD))
        return e;
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && begins_false(s->c, e->args[0], false)) {
        const ml_Expr *v[3] = {e->args[0], NULL, e->args[2]};
        slot = carried_by(s->c, e->args[1]);
        if (slot && slot->start == NULL &&
            !(e->args[2]->flags & ML_X_EFFECT) && /* of other tensors, if it loads */
            !ml_expr_uses_buffer(e->args[2], s->c->st[0]->buffer) &&
            begins_false(s->c, e->args[0], true)) {
            slot->start = first_of(s->c, e->args[2]);
            return slot->held;
        }
        s->under++;
        v[1] = swap(cx, e->args[1], s);
        s->under--;
        v[2] = swap(cx, e->args[2], s);
        return ml_if_then_else(cx, v[0], v[1], v[2]);
    }
    return ml_expr_map_args(cx, e, swap, user);
}

static const ml_Expr *start_of(Carry *c, const Slot *slot)
{
    if (slot->start)
        return slot->start;
    return slot->guarded ? ml_const(c->lo->cx, slot->load->type, 0) /* nobody reads it */
                         : ml_expr_subst1(c->lo->cx, slot->load, c->f->var, c->f->min);
}

/* A store in the place of another one. */
static const ml_Stmt *store_at(Carry *c, const ml_Buffer *b, const ml_Expr *value,
                               const ml_Expr *const *at, size_t n, const ml_Stmt *place)
{
    return ml_stmt_at(c->lo->cx, ml_store(c->lo->cx, b, value, at, n, NULL), place->span);
}

static const ml_Stmt *carried(Carry *c)
{
    ml_Ctx *cx = c->lo->cx;
    const ml_Buffer *b = c->st[0]->buffer, *last;
    const ml_Expr *shape = ml_i32(cx, (int32_t)c->slots.n), *at;
    Swap s = {.c = c};
    ML_VEC(const ml_Stmt *) parts = {0}, body = {0};
    ml_For loop = *c->f;

    last =
        ml_buffer_new(cx, ml_format(cx, "%s_last", b->name), b->type, &shape, 1, "local");
    ml_push(cx, &parts, ml_stmt_at(cx, ml_alloc_stmt(cx, last, NULL), c->st[0]->base.span));
    for (size_t k = 0; k < c->slots.n; k++) {
        at = ml_i32(cx, (int32_t)k);
        c->slots.v[k].held = ml_load(cx, last, &at, 1);
    }
    for (size_t k = 0; k < c->n; k++) {
        const ml_Store *st = c->st[k];
        const ml_Expr *value;

        c->at = k;
        value = swap(cx, st->value, &s);

        for (size_t m = 0; m < c->slots.n; m++) {
            const ml_Expr *held = c->slots.v[m].held;

            if (c->slots.v[m].from != k)
                continue;
            ml_push(cx, &body, store_at(c, last, value, held->args, 1, &st->base));
            value = held;
        }
        ml_push(cx, &body, store_at(c, b, value, st->indices, st->n, &st->base));
    }
    for (size_t k = 0; k < c->slots.n; k++) {
        const Slot *slot = &c->slots.v[k];

        if (slot->start && !slot->guarded)
            return NULL; /* another load wants what was there before */
        ml_push(cx, &parts,
                store_at(c, last, start_of(c, slot), slot->held->args, 1,
                         &c->st[slot->from]->base));
    }
    loop.body = ml_seq_at(cx, body.v, body.n, c->f->body->span);
    ml_push(cx, &parts, ml_for_from(cx, &loop));
    return ml_seq_at(cx, parts.v, parts.n, c->f->base.span);
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
