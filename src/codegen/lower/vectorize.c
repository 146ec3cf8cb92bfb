/*
 * vectorize - vectorized loops become vector operations; what their iterations do under a
 * condition of their own becomes masked.
 *
 * A statement that has no vector form (its obstacle is told in a note) becomes a serial
 * loop over the lanes; only that statement, unless values or buffers of the loop's body are
 * passed on between statements. Loops wider than four machine vectors are cut into pieces
 * of that width, those of an extent that is not known into machine vectors and a serial
 * rest. Source: lowering-and-codegen 3.3.
 */
#include "moonloop/codegen/lower/vectorize.h"

#include "moonloop/core/base/fault.h"

typedef struct Vectorizer {
    ml_Lower *lo;
} Vectorizer;

static const ml_Stmt *lanes_of(ml_Vectorize *v, const ml_Stmt *s);

/* ---------------------------------------------------------------- one statement */

static const ml_Stmt *give_up(ml_Vectorize *v, const ml_Stmt *s, const char *why)
{
    if (!v->obstacle)
        v->obstacle = why;
    return s;
}

static bool reads_buffer(const ml_Expr *e, const ml_Buffer *b)
{
    return ml_expr_uses_buffer(e, b);
}

static const ml_Stmt *store(ml_Vectorize *v, const ml_Stmt *s)
{
    const ml_Store *st = ml_as_store(s);
    const ml_Buffer *b = ml_map_get(v->expanded, st->buffer->uid);
    const ml_Expr **idx = ML_ARRAY(v->cx, const ml_Expr *, st->n + 1u), *value;
    bool varies = b != NULL;

    /* Of buffers that exist per lane the lanes would get mixed up with its own. */
    if (st->mask || st->buffer->type.lanes != 1 || st->value->type.lanes != 1)
        return ml_stmt_uses_var(s, v->var) || v->mask || v->n_own > 0
                   ? give_up(v, s, "it has vectors of its own")
                   : s;
    for (uint32_t k = 0; k < st->n; k++) {
        idx[k] = ml_vectorize_expr(v, st->indices[k]);
        if (idx[k]->type.lanes != 1 && k + 1 != st->n)
            return give_up(v, s, "an index other than the last depends on the lane");
        varies |= idx[k]->type.lanes != 1;
    }
    value = ml_vectorize_expr(v, st->value);
    if (v->obstacle)
        return s;
    if (!varies) {
        /* every iteration stores to one place: the last one's value stays */
        if (value->type.lanes != 1 || v->mask)
            return give_up(v, s, "all iterations store to one element");
        return reads_buffer(st->value, st->buffer)
                   ? give_up(v, s, "all iterations change one element")
                   : s;
    }
    if (b)
        idx[st->n - 1] = ml_vectorize_spread(v, idx[st->n - 1]);
    value = ml_vectorize_wide(v, value);
    if (v->obstacle)
        return s;
    return ml_stmt_at(
        v->cx, ml_store(v->cx, b ? b : st->buffer, value, idx, st->n, v->mask), s->span);
}

/* cond, true in the first lanes only: `lane + x < y` and its kind. */
static bool is_prefix(const ml_Expr *c)
{
    const ml_Expr *a, *b;

    if (c->kind == ML_EXPR_AND)
        return is_prefix(c->args[0]) && is_prefix(c->args[1]);
    if (c->kind == ML_EXPR_BROADCAST)
        return true;
    if (c->kind == ML_EXPR_LT || c->kind == ML_EXPR_LE) {
        a = c->args[0];
        b = c->args[1];
    } else if (c->kind == ML_EXPR_GT || c->kind == ML_EXPR_GE) {
        a = c->args[1];
        b = c->args[0];
    } else {
        return false;
    }
    return a->kind == ML_EXPR_RAMP && ml_is_const_int(a->args[1]) && a->args[1]->as.i > 0 &&
           b->kind == ML_EXPR_BROADCAST;
}

/* The fault: `a < b` as `a <= b`. */
static const ml_Expr *one_more(ml_Vectorize *v, const ml_Expr *c)
{
    return c->kind == ML_EXPR_LT ? ml_le(v->cx, c->args[0], c->args[1]) : c;
}

/* A branch under the mask `more`; first: its condition in lane 0, when that decides
 * whether any lane is at work. */
static const ml_Stmt *branch(ml_Vectorize *v, const ml_Stmt *s, const ml_Expr *more,
                             const ml_Expr *first)
{
    const ml_Expr *mask = v->mask;
    bool some = v->some;
    const ml_Stmt *to;

    v->some = first != NULL && (mask == NULL || some);
    v->mask = ml_vectorize_and(v, mask, more);
    to = lanes_of(v, s);
    v->mask = mask;
    v->some = some;
    return first ? ml_stmt_at(v->cx, ml_if(v->cx, first, to, NULL), ml_span_of(s, NULL))
                 : to;
}

static const ml_Stmt *condition(ml_Vectorize *v, const ml_Stmt *s)
{
    const ml_If *i = ml_as_if(s);
    const ml_Expr *cond = ml_vectorize_expr(v, i->cond), *first = NULL;
    const ml_Stmt *then, *other, *asked = NULL;
    ml_If to = *i;

    if (v->obstacle)
        return s;
    if (cond->type.lanes == 1) { /* under a mask, whether it holds must not be asked of
                                    lanes that are off */
        if (v->mask && !v->some && (cond->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
            return give_up(v, s, "its condition is not asked in every iteration");
        to.cond = cond;
        to.then = lanes_of(v, i->then);
        to.other = i->other ? lanes_of(v, i->other) : NULL;
        return v->obstacle ? s : ml_stmt_from(v->cx, &to.base);
    }
    if (ML_FAULT(VECTOR_MASK))
        cond = one_more(v, cond);
    if (is_prefix(cond) && (v->mask == NULL || v->some))
        first = ml_expr_subst1(v->cx, i->cond, v->var, ml_int(v->cx, v->var->type, 0));
    if (cond->flags & ML_X_HAS_LOAD) { /* asked once: a branch may change what it reads */
        const ml_Var *on =
            ml_var_new(v->cx, ml_format(v->cx, "%s_on", v->var->hint), cond->type);

        asked = ml_stmt_at(v->cx, ml_bind(v->cx, on, cond), s->span);
        cond = ml_var(v->cx, on);
    }
    then = branch(v, i->then, cond, first);
    if (asked)
        then = ml_then(v->cx, asked, then);
    if (!i->other || v->obstacle)
        return v->obstacle ? s : then;
    other = branch(v, i->other, ml_not(v->cx, cond), NULL);
    return v->obstacle ? s : ml_then(v->cx, then, other);
}

static const ml_Stmt *inner_loop(ml_Vectorize *v, const ml_Stmt *s)
{
    const ml_For *old = ml_as_for(s);
    ml_For f = *old;

    if (ml_dict_get(f.annotations, ML_IRREGULAR_LOOP))
        return give_up(v, s, "it is left by break or continue");
    f.min = ml_vectorize_expr(v, old->min);
    f.extent = ml_vectorize_expr(v, old->extent);
    if (v->obstacle)
        return s;
    if (f.min->type.lanes != 1 || f.extent->type.lanes != 1)
        return give_up(v, s, "the bounds of a loop inside depend on the lane");
    if (f.kind == ML_FOR_VECTORIZED) {
        ml_lower_note(v->lo, s->span,
                      "loop %s is vectorized inside vectorized loop %s: it becomes serial",
                      f.var->hint, v->var->hint);
        f.kind = ML_FOR_SERIAL;
    } else if (f.kind == ML_FOR_PARALLEL) {
        f.kind = ML_FOR_SERIAL;
    }
    f.body = lanes_of(v, old->body);
    return v->obstacle ? s : ml_for_from(v->cx, &f);
}

static const ml_Stmt *bind(ml_Vectorize *v, const ml_Stmt *s)
{
    const ml_Bind *b = ml_as_bind(s);
    const ml_Expr *value = ml_vectorize_expr(v, b->value);
    const ml_Var *to = b->var;

    if (v->obstacle || value == b->value)
        return s;
    if (value->type.lanes != 1) {
        to = ml_var_new(v->cx, b->var->hint, value->type);
        ml_map_set(v->cx, v->bound, b->var->uid, to);
        v->n_own++;
    }
    return ml_stmt_at(v->cx, ml_bind(v->cx, to, value), s->span);
}

/* A buffer of the body: one element of it per lane becomes one vector. */
static const ml_Stmt *alloc(ml_Vectorize *v, const ml_Stmt *s)
{
    const ml_Alloc *a = ml_as_alloc(s);
    const ml_Buffer *b = a->buffer, *wide;
    const ml_Expr *shape[1];
    ml_Buffer fields = *b;

    if (b->rank != 1 || b->n_strides || b->type.lanes != 1)
        return give_up(v, s, "a buffer of its own has no plain form");
    shape[0] = ml_mul(v->cx, b->shape[0], ml_int(v->cx, b->shape[0]->type, v->lanes));
    wide = ml_buffer_new(v->cx, b->name, b->type, shape, 1, b->scope.name);
    fields.shape = wide->shape;
    fields.data = wide->data;
    wide = ml_buffer_from(v->cx, &fields, false);
    ml_map_set(v->cx, v->expanded, b->uid, wide);
    v->n_own++;
    return ml_stmt_at(v->cx, ml_alloc_stmt(v->cx, wide, a->annotations), s->span);
}

static const ml_Stmt *attribute(ml_Vectorize *v, const ml_Stmt *s)
{
    ml_Attr a = *ml_as_attr(s);

    a.body = lanes_of(v, a.body);
    return v->obstacle ? s : ml_attr_from(v->cx, &a);
}

/* ---------------------------------------------------------------- lane by lane */

/* s for one lane after the other; v's mask is told again by its conditions, which are those
 * of the statements around s that have been taken apart: only at the top there are none. */
static const ml_Stmt *serial(ml_Vectorize *v, const ml_Stmt *s, const char *why)
{
    const ml_Var *var =
        ml_var_new(v->cx, ml_format(v->cx, "%s_s", v->var->hint), v->var->type);
    ml_Subst to = {0};
    ml_For f = {.kind = ML_FOR_SERIAL, .var = var};

    ml_lower_note(v->lo, ml_span_of(s, NULL), "not vectorized over %s: %s", v->var->hint,
                  why);
    ml_subst_var(v->cx, &to, v->var, ml_var(v->cx, var));
    f.min = ml_int(v->cx, var->type, 0);
    f.extent = ml_int(v->cx, var->type, v->lanes);
    f.body = ml_lower_subst(v->cx, s, &to, ml_dynamic_buffers(s));
    f.base.span = ml_span_of(s, NULL);
    return ml_for_from(v->cx, &f);
}

/* Whether statements of a list share values or buffers that exist per lane. */
static bool shares(const ml_Seq *q)
{
    for (uint32_t k = 0; k < q->n; k++)
        if (q->stmts[k]->kind == ML_STMT_BIND || q->stmts[k]->kind == ML_STMT_ALLOC ||
            q->stmts[k]->kind == ML_STMT_DECL)
            return true;
    return false;
}

static const ml_Stmt *list(ml_Vectorize *v, const ml_Stmt *s)
{
    const ml_Seq *q = ml_as_seq(s);
    const ml_Stmt **to = ML_ARRAY(v->cx, const ml_Stmt *, q->n);
    bool apart = !v->mask && !v->n_own && !shares(q);

    for (uint32_t k = 0; k < q->n; k++) {
        to[k] = lanes_of(v, q->stmts[k]);
        if (v->obstacle && apart) {
            const char *why = v->obstacle;

            v->obstacle = NULL;
            to[k] = serial(v, q->stmts[k], why);
        }
        if (v->obstacle)
            return s;
    }
    return ml_seq_at(v->cx, to, q->n, s->span);
}

static const ml_Stmt *lanes_of(ml_Vectorize *v, const ml_Stmt *s)
{
    if (v->obstacle)
        return s;
    switch (s->kind) {
    case ML_STMT_STORE: return store(v, s);
    case ML_STMT_SEQ: return list(v, s);
    case ML_STMT_FOR: return inner_loop(v, s);
    case ML_STMT_IF: return condition(v, s);
    case ML_STMT_BIND: return bind(v, s);
    case ML_STMT_ALLOC: return alloc(v, s);
    case ML_STMT_ATTR: return attribute(v, s);
    case ML_STMT_EVALUATE:
        return ml_is_noop(s) ? s : give_up(v, s, "it calls what is not pure");
    case ML_STMT_WHILE: return give_up(v, s, "it is a while loop");
    case ML_STMT_DECL: return give_up(v, s, "it declares a view");
    case ML_STMT_ASSERT: return give_up(v, s, "it is an assert");
    case ML_STMT_RETURN:
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE: return give_up(v, s, "it leaves the loop");
    }
    return give_up(v, s, "it has no form for vectors");
}

/* ---------------------------------------------------------------- loops */

/* The body of a loop of n lanes from `base` on. */
static const ml_Stmt *one_width(Vectorizer *w, const ml_For *f, const ml_Expr *base,
                                unsigned n)
{
    ml_Ctx *cx = w->lo->cx;
    ml_Vectorize v = {.lo = w->lo,
                      .cx = cx,
                      .lanes = n,
                      .bound = ml_map_new(cx),
                      .expanded = ml_map_new(cx)};
    ml_Subst to = {0};
    const ml_Stmt *body, *done;

    v.var = ml_var_fresh(cx, f->var);
    ml_subst_var(cx, &to, f->var, ml_add(cx, base, ml_var(cx, v.var)));
    body = ml_lower_subst(cx, f->body, &to, ml_dynamic_buffers(f->body));
    if (n == 1) {
        ml_Subst zero = {0};

        ml_subst_var(cx, &zero, v.var, ml_int(cx, v.var->type, 0));
        return ml_lower_subst(cx, body, &zero, ml_dynamic_buffers(body));
    }
    done = lanes_of(&v, body);
    return v.obstacle ? serial(&v, body, v.obstacle) : done;
}

typedef struct Widest {
    unsigned bits;
} Widest;

static bool see_type(const ml_Stmt *s, void *user)
{
    Widest *w = user;

    if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->type.bits > w->bits)
        w->bits = ml_as_store(s)->buffer->type.bits;
    return true;
}

/* Lanes of four machine vectors of the widest element that is stored. */
static int64_t most_lanes(const Vectorizer *w, const ml_Stmt *body)
{
    Widest wide = {8};
    unsigned bits = w->lo->opts.target.vector_bits;

    ml_stmt_visit(body, see_type, &wide);
    return 4 * (int64_t)(bits ? bits : 128) / wide.bits;
}

static const ml_Stmt *copy_body(ml_Ctx *cx, const ml_Stmt *s)
{
    return ml_stmt_copy_fresh(cx, s, NULL);
}

/* for outer of n // lanes: a vector; then the rest, one after the other. */
static const ml_Stmt *open_loop(Vectorizer *w, const ml_For *f, int64_t lanes)
{
    ml_Ctx *cx = w->lo->cx;
    ml_Dtype t = f->var->type;
    const ml_Expr *n = ml_max(cx, f->extent, ml_int(cx, t, 0)), *by = ml_int(cx, t, lanes);
    const ml_Stmt *asked = NULL;
    ml_For cut = {.kind = ML_FOR_SERIAL}, rest = *f;

    ml_lower_note(w->lo, f->base.span,
                  "vectorized loop %s has the extent %s, which is not constant: %lld "
                  "iterations at a time, and the rest one by one",
                  f->var->hint, ml_lower_text(cx, f->extent), (long long)lanes);
    if (n->flags &
        (ML_X_HAS_LOAD | ML_X_HAS_CALL)) { /* the body may change what it reads */
        const ml_Var *v = ml_var_new(cx, ml_format(cx, "%s_n", f->var->hint), t);

        asked = ml_stmt_at(cx, ml_bind(cx, v, n), f->base.span);
        n = ml_var(cx, v);
    }
    const ml_Expr *whole = ml_floordiv(cx, n, by);

    cut.var = ml_var_new(cx, ml_format(cx, "%s_o", f->var->hint), t);
    cut.min = ml_int(cx, t, 0);
    cut.extent = whole;
    cut.base.span = f->base.span;
    cut.body = one_width(w, f, ml_add(cx, f->min, ml_mul(cx, ml_var(cx, cut.var), by)),
                         (unsigned)lanes);
    rest.kind = ML_FOR_SERIAL;
    rest.var = ml_var_fresh(cx, f->var);
    rest.min = ml_int(cx, t, 0);
    rest.extent = ml_floormod(cx, n, by);

    ml_Subst to = {0};
    const ml_Expr *at = ml_add(cx, ml_mul(cx, whole, by), ml_var(cx, rest.var));

    ml_subst_var(cx, &to, f->var, ml_add(cx, f->min, at));
    rest.body =
        ml_lower_subst(cx, copy_body(cx, f->body), &to, ml_dynamic_buffers(f->body));

    const ml_Stmt *both = ml_then(cx, ml_for_from(cx, &cut), ml_for_from(cx, &rest));

    return asked ? ml_then(cx, asked, both) : both;
}

static const ml_Stmt *visit_loop(Vectorizer *w, const ml_For *f)
{
    ml_Ctx *cx = w->lo->cx;
    int64_t n, most = most_lanes(w, f->body), whole;
    const ml_Var *outer;
    const ml_Stmt *main_part;
    ml_For cut = {.kind = ML_FOR_SERIAL}, last = *f;

    if (!ml_is_const_int(f->extent))
        return open_loop(w, f, most / 4 > 1 ? most / 4 : 1);
    n = f->extent->as.i;
    if (n <= 0)
        return ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), f->base.span);
    if (n <= most)
        return one_width(w, f, f->min, (unsigned)n);
    whole = n / most;
    outer = ml_var_new(cx, ml_format(cx, "%s_o", f->var->hint), f->var->type);
    cut.var = outer;
    cut.min = ml_int(cx, outer->type, 0);
    cut.extent = ml_int(cx, outer->type, whole);
    cut.base.span = f->base.span;
    cut.body = one_width(
        w, f,
        ml_add(cx, f->min, ml_mul(cx, ml_var(cx, outer), ml_int(cx, outer->type, most))),
        (unsigned)most);
    main_part = ml_for_from(cx, &cut);
    if (n % most == 0)
        return main_part;
    last.body = copy_body(cx, f->body);
    return ml_then(cx, main_part,
                   one_width(w, &last,
                             ml_add(cx, f->min, ml_int(cx, outer->type, whole * most)),
                             (unsigned)(n % most)));
}

static const ml_Stmt *vectorize_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = vectorize_stmt, .user = user};
    Vectorizer *w = user;

    if (!s->has_loop)
        return s;
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->kind == ML_FOR_VECTORIZED) {
        s = visit_loop(w, ml_as_for(s));
        return s->has_loop ? vectorize_stmt(cx, s, user)
                           : s; /* loops left inside scalarised parts */
    }
    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_vectorize(ml_Lower *lo, const ml_Func *f)
{
    Vectorizer w = {.lo = lo};
    const ml_Stmt *body = vectorize_stmt(lo->cx, f->body, &w);

    return ml_func_with_body(lo->cx, f, body);
}
