/*
 * loop_partition - a loop whose conditions hold in the middle of its range runs there
 * without them; what is left at the ends becomes loops of its own.
 *
 * Conditions are those marked likely (the guards that splits leave), and below
 * pragma_loop_partition_hint those of if_then_else, of padding say. Each is brought to
 * c * x + rest >= 0; with `rest` at its least over the loops inside, that gives the values
 * of x where it always holds. A vectorized loop is left whole: its condition becomes a
 * mask. A parallel loop is not cut either, since each part would be a parallel region of
 * its own: its body gets both forms under a condition, and where that leaves one iteration
 * the other form is that iteration's. Source: lowering-and-codegen 3.2.
 */
#include "moonloop/codegen/lower/lower_impl.h"

#include "moonloop/core/base/fault.h"

enum { MOST_STATEMENTS = 4096, MOST_CONDITIONS = 32 };

typedef struct Guard { /* a condition, the loops and the bindings between x and it */
    const ml_Expr *at; /* what is replaced: the condition, marked or not */
    const ml_Expr *cond;
    ml_DomVec inner;
    const ml_Var **bound;
    size_t n_bound;
    const ml_Expr *off_below, *off_from; /* it never holds for x < off_below, or for
                                            x >= off_from; NULL: not known */
} Guard;

typedef struct Partitioner {
    ml_Lower *lo;
    ml_Arith *ar;
    bool hinted; /* below pragma_loop_partition_hint */
} Partitioner;

/* ---------------------------------------------------------------- finding conditions */

typedef struct Find {
    ml_Ctx *cx;
    const ml_Var *x;
    ml_DomVec inner;
    ML_VEC(const ml_Var *) bound;
    ML_VEC(Guard) found;
    size_t statements;
    bool hinted, stop;
} Find;

static void add_guard(Find *f, const ml_Expr *at, const ml_Expr *cond)
{
    Guard g = {.at = at, .cond = cond, .n_bound = f->bound.n};

    for (size_t k = 0; k < f->found.n; k++)
        if (f->found.v[k].at == at)
            return;
    if (f->found.n >= MOST_CONDITIONS) {
        f->stop = true;
        return;
    }
    for (size_t k = 0; k < f->inner.n; k++)
        ml_push(f->cx, &g.inner, f->inner.v[k]);
    g.bound = ML_ARRAY(f->cx, const ml_Var *, g.n_bound + 1);
    for (size_t k = 0; k < g.n_bound; k++)
        g.bound[k] = f->bound.v[k];
    ml_push(f->cx, &f->found, g);
}

static bool see_expr(const ml_Expr *e, void *user)
{
    Find *f = user;

    if (!(e->flags & ML_X_HAS_CALL))
        return false;
    if (ml_is_op(e, ML_OP_LIKELY)) {
        if (ml_expr_uses_var(e, f->x))
            add_guard(f, e, e->args[0]);
        return false;
    }
    if (f->hinted && ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->args[0]->type.lanes == 1 &&
        ml_expr_uses_var(e->args[0], f->x))
        add_guard(f, e->args[0], e->args[0]);
    return true;
}

static void see_stmt(const ml_Stmt *s, bool in_init, void *user)
{
    Find *f = user;
    size_t n = f->inner.n;

    (void)in_init;
    f->statements++;
    if (s->kind == ML_STMT_BIND)
        ml_push(f->cx, &f->bound, ml_as_bind(s)->var);
    ml_stmt_visit_exprs(s, ML_ROLES_ALL, see_expr, f);
    if (s->kind == ML_STMT_FOR) {
        const ml_For *loop = ml_as_for(s);
        ml_Dom d = {loop->var, loop->min, loop->extent};

        ml_push(f->cx, &f->inner, d);
    }
    ml_stmt_children(s, see_stmt, f);
    f->inner.n = n;
}

/* ---------------------------------------------------------------- where they hold */

/* cond as an expression that is >= 0 exactly where it holds; NULL: another form. */
static const ml_Expr *difference(ml_Ctx *cx, const ml_Expr *cond)
{
    const ml_Expr *a, *b, *one;

    if (cond->n_args != 2 || !ml_dtype_is_index(cond->args[0]->type))
        return NULL;
    a = cond->args[0];
    b = cond->args[1];
    one = ml_int(cx, a->type, 1);
    switch ((ml_ExprKind)cond->kind) {
    case ML_EXPR_LT: return ml_sub(cx, ml_sub(cx, b, a), one);
    case ML_EXPR_LE: return ml_sub(cx, b, a);
    case ML_EXPR_GT: return ml_sub(cx, ml_sub(cx, a, b), one);
    case ML_EXPR_GE: return ml_sub(cx, a, b);
    default: return NULL;
    }
}

typedef struct Range { /* [from, to) of x; NULL: no end of its own */
    const ml_Expr *from, *to;
} Range;

/* A bound of an interval that means something outside the loop over x; NULL: none. */
static const ml_Expr *outside(Partitioner *w, const ml_Var *x, const Guard *g,
                              const ml_Expr *e)
{
    if (e == NULL)
        return NULL;
    e = ml_simplify(w->ar, e);
    if (ml_expr_uses_var(e, x)) /* through the bounds of a loop inside */
        return NULL;
    for (size_t k = 0; k < g->inner.n; k++)
        if (ml_expr_uses_var(e, g->inner.v[k].var))
            return NULL;
    for (size_t k = 0; k < g->n_bound; k++)
        if (ml_expr_uses_var(e, g->bound[k]))
            return NULL;
    return e->flags & (ML_X_HAS_LOAD | ML_X_EFFECT) ? NULL : e;
}

/* The least x with c * x + rest >= 0, for c > 0; the least with < 0, for c < 0. */
static const ml_Expr *turn(ml_Ctx *cx, const ml_Var *x, int64_t c, const ml_Expr *rest)
{
    if (c > 0)
        return ml_floordiv(cx, ml_sub(cx, ml_int(cx, x->type, c - 1), rest),
                           ml_int(cx, x->type, c));
    return ml_add(cx, ml_floordiv(cx, rest, ml_int(cx, x->type, -c)),
                  ml_int(cx, x->type, 1));
}

/* Narrows r to where the guard always holds; false: that is not known. */
static bool narrow(Partitioner *w, const ml_Var *x, Guard *g, Range *r)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *d = difference(cx, g->cond), *at, *next, *c, *least, *most;
    ml_Interval i;

    if (d == NULL || d->type.bits != x->type.bits)
        return false;
    at = ml_expr_subst1(cx, d, x, ml_int(cx, x->type, 0));
    next = ml_expr_subst1(cx, d, x, ml_add(cx, ml_var(cx, x), ml_int(cx, x->type, 1)));
    c = ml_simplify(w->ar, ml_sub(cx, next, d));
    if (!ml_is_const_int(c) || c->as.i == 0)
        return false;
    i = ml_relax(w->ar, at, g->inner.v, g->inner.n);
    if (i.nothing)
        return false;
    least = outside(w, x, g, i.min);
    most = outside(w, x, g, i.max);
    if (least == NULL)
        return false;
    if (c->as.i > 0) {
        const ml_Expr *from = turn(cx, x, c->as.i, least);

        g->off_below = most ? turn(cx, x, c->as.i, most) : NULL;
        r->from = r->from ? ml_max(cx, r->from, from) : from;
    } else {
        const ml_Expr *to = turn(cx, x, c->as.i, least);

        g->off_from = most ? turn(cx, x, c->as.i, most) : NULL;
        r->to = r->to ? ml_min(cx, r->to, to) : to;
    }
    return true;
}

/* ---------------------------------------------------------------- cutting */

typedef struct Drop { /* guards that are known to hold, or never to hold */
    const Guard *const *v;
    size_t n;
    bool holds;
} Drop;

static const ml_Expr *without(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Drop *d = user;

    for (size_t k = 0; k < d->n; k++)
        if (d->v[k]->at == e)
            return ml_bool(cx, d->holds);
    if (!(e->flags & ML_X_HAS_CALL))
        return e;
    e = ml_expr_map_args(cx, e, without, user);
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && ml_is_true(e->args[0]))
        return e->args[1];
    return ml_is_op(e, ML_OP_IF_THEN_ELSE) && ml_is_false(e->args[0]) ? e->args[2] : e;
}

static const ml_Stmt *drop(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {drop, without, NULL, user};
    const ml_Stmt *nothing;

    s = ml_stmt_map(cx, s, &m);
    if (s->kind == ML_STMT_IF && ml_is_true(ml_as_if(s)->cond))
        return ml_as_if(s)->then;
    if (s->kind != ML_STMT_IF && s->kind != ML_STMT_FOR)
        return s;
    nothing = ml_stmt_at(cx, ml_evaluate(cx, ml_i32(cx, 0)), s->span);
    if (s->kind == ML_STMT_FOR)
        return ml_is_noop(ml_as_for(s)->body) ? nothing : s;
    if (!ml_is_false(ml_as_if(s)->cond))
        return s;
    return ml_as_if(s)->other ? ml_as_if(s)->other : nothing;
}

static const ml_Stmt *partition_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user);

/* The loop over [from, to) with the given body, which is visited in turn when `known`. */
static const ml_Stmt *part(Partitioner *w, const ml_For *f, const ml_Expr *from,
                           const ml_Expr *to, const ml_Stmt *body, bool fresh, bool known)
{
    ml_Ctx *cx = w->lo->cx;
    ml_For own = *f;
    ml_Subst s = {0};
    bool dynamic = ml_dynamic_buffers(body);
    const ml_Stmt *loop;

    own.min = ml_int(cx, f->var->type, 0);
    own.extent = ml_simplify(w->ar, ml_sub(cx, to, from));
    if ((ml_is_const_int(own.extent) && own.extent->as.i <= 0) || ml_is_noop(body))
        return NULL;
    if (fresh) {
        body = ml_stmt_copy_fresh(cx, body, NULL);
        own.var = ml_var_fresh(cx, f->var);
    }
    if (ml_is_int(own.extent, 1) && ml_dict_count(f->annotations) == 0) {
        ml_subst_var(cx, &s, f->var, from);
        body = ml_lower_subst(cx, body, &s, dynamic);
        return known ? partition_stmt(cx, body, w) : body;
    }
    if (fresh || !ml_is_int(from, 0)) {
        ml_subst_var(cx, &s, f->var, ml_add(cx, from, ml_var(cx, own.var)));
        body = ml_lower_subst(cx, body, &s, dynamic);
    }
    own.body = body;
    loop = ml_for_from(cx, &own);
    return known ? partition_stmt(cx, loop, w) : loop;
}

static const ml_Expr *clamp(Partitioner *w, const ml_Expr *e, const ml_Expr *lo,
                            const ml_Expr *hi)
{
    ml_Ctx *cx = w->lo->cx;

    return ml_simplify(w->ar, ml_min(cx, ml_max(cx, e, lo), hi));
}

/* x in the middle, for the body of a parallel loop; NULL: always. */
static const ml_Expr *in_middle(Partitioner *w, const ml_For *f, const Range *r)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *x = ml_var(cx, f->var), *c = NULL;

    if (r->from && !ml_prove_le_expr(w->ar, r->from, ml_int(cx, x->type, 0)))
        c = ml_ge(cx, x, ml_simplify(w->ar, r->from));
    if (r->to && !ml_prove_le_expr(w->ar, f->extent, r->to)) {
        const ml_Expr *d = ml_lt(cx, x, ml_simplify(w->ar, r->to));

        c = c ? ml_and(cx, c, d) : d;
    }
    return c;
}

static const ml_Stmt *inside(Partitioner *w, const ml_For *f, const ml_Stmt *body)
{
    ml_ArithMark mark = ml_arith_save(w->ar);
    ml_For to = *f;
    const ml_Stmt *done;

    if (ml_dtype_is_index(f->var->type))
        ml_arith_bind_loop(w->ar, f);
    done = partition_stmt(w->lo->cx, body, w);
    ml_arith_restore(w->ar, mark);
    if (done == f->body)
        return &f->base;
    to.body = done;
    return ml_for_from(w->lo->cx, &to);
}

/* The body before r's begin (below), or from its end on, without what never happens there.
 * Where these are beyond the ends of the loop the part is empty, so that they need not be
 * clamped. */
static const ml_Stmt *at_end(Partitioner *w, const ml_For *f, const Drop *all,
                             const Range *r, bool below)
{
    const ml_Expr *end = below ? r->from : r->to;
    const Guard *off[MOST_CONDITIONS];
    Drop d = {off, 0, false};

    for (size_t k = 0; k < all->n; k++) {
        const Guard *g = all->v[k];

        if (end && (below ? g->off_below && ml_prove_le_expr(w->ar, end, g->off_below)
                          : g->off_from && ml_prove_le_expr(w->ar, g->off_from, end)))
            off[d.n++] = g;
    }
    return d.n ? drop(w->lo->cx, f->body, &d) : f->body;
}

/* The body of a parallel loop for x that are not in [from, to): for the only one, where
 * there is one. */
static const ml_Stmt *beside(Partitioner *w, const ml_For *f, const ml_Expr *from,
                             const ml_Expr *to)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Stmt *body = ml_stmt_copy_fresh(cx, f->body, NULL);
    const ml_Expr *one = ml_int(cx, f->var->type, 1);
    bool last = ml_is_int(from, 0) && ml_prove_equal(w->ar, ml_add(cx, to, one), f->extent);
    bool first = ml_is_int(from, 1) && ml_prove_equal(w->ar, to, f->extent);
    ml_Subst s = {0};

    if (!last && !first)
        return body;
    ml_subst_var(cx, &s, f->var, last ? to : ml_int(cx, f->var->type, 0));
    return ml_lower_subst(cx, body, &s, ml_dynamic_buffers(body));
}

static const ml_Stmt *cut(Partitioner *w, const ml_For *f, const Range *r, const Drop *d)
{
    ml_Ctx *cx = w->lo->cx;
    const ml_Expr *zero = ml_int(cx, f->var->type, 0), *from, *to;
    const ml_Stmt *parts[3], *middle = drop(cx, f->body, (void *)(uintptr_t)d);
    size_t n = 0;
    bool known;

    from = r->from ? clamp(w, r->from, zero, f->extent) : zero;
    to = r->to ? clamp(w, r->to, from, f->extent) : f->extent;
    if (ml_gave_up(cx, w->ar) || ml_prove_le_expr(w->ar, to, from)) /* no middle */
        return inside(w, f, f->body);
    known = ml_is_const_int(from) && ml_is_const_int(to) && ml_is_const_int(f->extent);
    if (f->kind == ML_FOR_UNROLLED && !known) /* parts of no fixed length stay loops */
        return inside(w, f, f->body);
    if (f->kind == ML_FOR_PARALLEL) {
        const ml_Expr *c = in_middle(w, f, r);

        return inside(
            w, f,
            c ? ml_stmt_at(cx, ml_if(cx, c, middle, beside(w, f, from, to)), f->base.span)
              : middle);
    }
    if (ml_is_int(from, 0) && ml_prove_le_expr(w->ar, f->extent, to))
        return inside(w, f, middle);
    parts[n] = part(w, f, zero, from, at_end(w, f, d, r, true), true, known);
    n += parts[n] != NULL;
    parts[n] = part(w, f, from, to, middle, false, true);
    n += parts[n] != NULL;
    parts[n] = part(w, f, to, f->extent, at_end(w, f, d, r, false), true, known);
    n += parts[n] != NULL && !ML_FAULT(PARTITION_TAIL);
    return ml_seq_at(cx, parts, n, f->base.span);
}

static bool candidate(const Partitioner *w, const ml_For *f)
{
    if (f->kind == ML_FOR_VECTORIZED || (f->kind == ML_FOR_UNROLLED && !w->hinted) ||
        !ml_dtype_is_index(f->var->type) || !ml_is_int(f->min, 0) ||
        ml_dict_get(f->annotations, ML_IRREGULAR_LOOP))
        return false;
    return w->hinted || w->lo->opts.partition_const_loop || !ml_is_const_int(f->extent);
}

static const ml_Stmt *visit_for(Partitioner *w, const ml_For *f)
{
    ml_Ctx *cx = w->lo->cx;
    Find find = {.cx = cx, .x = f->var, .hinted = w->hinted};
    const Guard *hold[MOST_CONDITIONS];
    Range r = {0};
    Drop d = {hold, 0, true};

    if (!candidate(w, f))
        return inside(w, f, f->body);
    see_stmt(f->body, false, &find);
    if (find.stop || find.statements > MOST_STATEMENTS)
        return inside(w, f, f->body);
    for (size_t k = 0; k < find.found.n; k++)
        if (narrow(w, f->var, &find.found.v[k], &r))
            hold[d.n++] = &find.found.v[k];
    if (ml_gave_up(cx, w->ar) || d.n == 0)
        return inside(w, f, f->body);
    return cut(w, f, &r, &d);
}

static const ml_Stmt *partition_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {.stmt = partition_stmt, .user = user};
    Partitioner *w = user;

    if (!s->has_loop)
        return s;
    if (s->kind == ML_STMT_FOR)
        return visit_for(w, ml_as_for(s));
    if (s->kind == ML_STMT_ATTR &&
        ml_streq(ml_as_attr(s)->key, "pragma_loop_partition_hint")) {
        bool hinted = w->hinted;

        w->hinted = true;
        s = partition_stmt(cx, ml_as_attr(s)->body, w);
        w->hinted = hinted;
        return s;
    }
    return ml_stmt_map(cx, s, &m);
}

/* ---------------------------------------------------------------- markers go */

static const ml_Expr *unmark(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    if (!(e->flags & ML_X_HAS_CALL))
        return e;
    if (ml_is_op(e, ML_OP_LIKELY))
        return unmark(cx, e->args[0], user);
    return ml_expr_map_args(cx, e, unmark, user);
}

static const ml_Stmt *unmark_stmt(ml_Ctx *cx, const ml_Stmt *s, void *user)
{
    const ml_Mapper m = {unmark_stmt, unmark, NULL, user};

    return ml_stmt_map(cx, s, &m);
}

const ml_Func *ml_pass_loop_partition(ml_Lower *lo, const ml_Func *f)
{
    Partitioner w = {.lo = lo, .ar = ml_lower_arith(lo, f)};
    const ml_Stmt *body = partition_stmt(lo->cx, f->body, &w);

    return ml_func_with_body(lo->cx, f, unmark_stmt(lo->cx, body, NULL));
}
