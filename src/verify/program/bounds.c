/*
 * bounds - whether every load and store lies inside its buffer. Inside is proved from the
 * domains of iters or from their bindings, under the guards around; outside is claimed only
 * for an index value that some point takes. Source: ir-and-analysis 5.5.
 */
#include "moonloop/core/run_on.h"
#include "moonloop/verify/cover/attained.h"
#include "moonloop/verify/findings.h"

typedef struct Said {
    const ml_Buffer *buffer;
    const ml_Expr *index;
} Said;

typedef struct BoundsWalk {
    ml_Ctx *cx;
    ml_Finder find;
    ml_Arith *ar;        /* loops, iters' domains, guards as assumptions */
    ml_Subst values;     /* iters and let variables -> values over the loops */
    ml_DomVec dom;       /* loops around, outermost first */
    const ml_Expr *pred; /* all guards around, over the loops */
    bool leaves;         /* the function has a break, continue, return or while */
    const ml_Block *at;
    ML_VEC(Said) said;
} BoundsWalk;

static const ml_Expr *outward(BoundsWalk *w, const ml_Expr *e)
{
    return w->values.vars ? ml_expr_subst(w->cx, e, &w->values) : e;
}

/* ---- one index */

static bool inside(BoundsWalk *w, const ml_Expr *e, const ml_Expr *extent)
{
    const ml_Expr *zero = ml_int(w->cx, e->type, 0);

    if (!ml_dtype_eq(e->type, extent->type))
        ml_promote(w->cx, &e, &extent);
    return (ml_prove_ge(w->ar, e, 0) || ml_prove_symbolic(w->ar, ml_ge(w->cx, e, zero))) &&
           ml_prove_symbolic(w->ar, ml_lt(w->cx, e, extent));
}

/* The values of e go provably, and at some point, beyond [0, extent). */
static bool outside(BoundsWalk *w, const ml_Expr *e, const ml_Expr *extent)
{
    ml_Interval i;

    if (w->leaves || !ml_attained(w->ar, e, w->dom.v, w->dom.n, w->pred, &i))
        return false;
    const ml_Expr *max = i.max;

    if (!ml_dtype_eq(max->type, extent->type))
        ml_promote(w->cx, &max, &extent);
    return ml_prove_lt(w->ar, i.min, 0) || ml_prove(w->ar, ml_ge(w->cx, max, extent));
}

static void check_scalar(BoundsWalk *w, const ml_Buffer *b, size_t k, const ml_Expr *idx)
{
    const ml_Expr *extent = b->shape[k], *e;

    if (!ml_dtype_is_int(idx->type) || idx->type.lanes != 1 || inside(w, idx, extent))
        return;
    e = ml_simplify(w->ar, outward(w, idx));
    if (inside(w, e, extent))
        return;
    for (size_t s = 0; s < w->said.n; s++)
        if (w->said.v[s].index == idx && w->said.v[s].buffer == b)
            return;
    ml_push(w->cx, &w->said, ((Said){b, idx}));

    bool wrong = outside(w, e, extent);
    ml_Interval have = ml_relax(w->ar, e, w->dom.v, w->dom.n);
    const ml_Expr *last =
        ml_simplify(w->ar, ml_sub(w->cx, extent, ml_int(w->cx, extent->type, 1)));
    const char *legal = ml_format(w->cx, "[0, %s]", ml_expr_text(w->cx, last));

    ml_find(&w->find, wrong ? ML_SEV_ERROR : ML_SEV_UNPROVED, ML_E_ACCESS_BOUNDS,
            ML_BUFFER(b), ML_NUMBER("dimension", k), ML_EXPRESSION(idx),
            ML_TEXT(ml_interval_text(w->cx, have)), ML_TEXT(legal),
            w->at ? ML_BLOCK(w->at) : ML_TEXT("(no block)"));
}

static void check_index(BoundsWalk *w, const ml_Buffer *b, size_t k, const ml_Expr *idx)
{
    if (idx->kind == ML_EXPR_BROADCAST) {
        check_index(w, b, k, idx->args[0]);
    } else if (idx->kind == ML_EXPR_RAMP) {
        const ml_Expr *base = idx->args[0], *stride = idx->args[1];
        const ml_Expr *run =
            ml_mul(w->cx, stride, ml_int(w->cx, stride->type, idx->type.lanes - 1));

        check_scalar(w, b, k, base);
        if (ml_dtype_eq(base->type, run->type))
            check_scalar(w, b, k, ml_add(w->cx, base, run));
    } else if (idx->type.lanes > 1) {
        ml_find(&w->find, ML_SEV_UNPROVED, ML_E_ACCESS_BOUNDS, ML_BUFFER(b),
                ML_NUMBER("dimension", k), ML_EXPRESSION(idx), ML_TEXT("[-inf, inf]"),
                ML_TEXT(ml_format(w->cx, "[0, %s)", ml_expr_text(w->cx, b->shape[k]))));
    } else {
        check_scalar(w, b, k, idx);
    }
}

static void check_access(BoundsWalk *w, const ml_Buffer *b, const ml_Expr *const *idx,
                         size_t n)
{
    size_t run = ml_run_dim(b, idx, n);
    const ml_Expr **lane;

    if (run == n) {
        for (size_t k = 0; k < n; k++)
            check_index(w, b, k, idx[k]);
        return;
    }
    lane = ML_ARRAY(w->cx, const ml_Expr *, n + 1);
    for (unsigned last = 0; last < 2; last++) { /* the lanes between lie between */
        ml_run_lane(w->cx, b, idx, n, run, last ? idx[n - 1]->type.lanes - 1u : 0, lane);
        for (size_t k = 0; k < n; k++)
            check_index(w, b, k, lane[k]);
    }
}

/* ---- guards */

typedef struct Guard {
    ml_ArithMark mark;
    const ml_Expr *pred;
} Guard;

static Guard enter(BoundsWalk *w, const ml_Expr *cond, bool truth)
{
    Guard g = {ml_arith_save(w->ar), w->pred};
    const ml_Expr *out;

    if (!truth)
        cond = ml_not(w->cx, cond);
    out = outward(w, cond);
    ml_arith_assume(w->ar, cond);
    if (out != cond)
        ml_arith_assume(w->ar, out);
    w->pred = ml_and(w->cx, w->pred, out);
    return g;
}

static void leave(BoundsWalk *w, Guard g)
{
    ml_arith_restore(w->ar, g.mark);
    w->pred = g.pred;
}

static void set_value(BoundsWalk *w, const ml_Var *v, const ml_Expr *value)
{
    ml_subst_var(w->cx, &w->values, v, outward(w, value));
}

/* ---- the walk */

static void visit_expr(BoundsWalk *w, const ml_Expr *e)
{
    Guard g;

    if (e->kind == ML_EXPR_LOAD)
        check_access(w, e->as.buffer, e->args, ml_load_rank(e));
    if (e->kind == ML_EXPR_LET)
        set_value(w, e->as.var, e->args[0]);
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE)) {
        visit_expr(w, e->args[0]);
        for (size_t k = 1; k <= 2; k++) {
            if (!(e->args[k]->flags & ML_X_HAS_LOAD))
                continue;
            g = enter(w, e->args[0], k == 1);
            visit_expr(w, e->args[k]);
            leave(w, g);
        }
        return;
    }
    if (e->flags & ML_X_HAS_LOAD)
        for (size_t k = 0; k < e->n_args; k++)
            visit_expr(w, e->args[k]);
}

static void visit_stmt(BoundsWalk *w, const ml_Stmt *s);

static void visit_block(BoundsWalk *w, const ml_Block *b)
{
    const ml_Block *outer = w->at;
    Guard g;

    visit_expr(w, b->predicate);
    g = enter(w, b->predicate, true);
    for (size_t k = 0; k < b->n_iters; k++) /* have no value where it does not hold */
        visit_expr(w, b->iters[k].value);
    ml_arith_bind_iters(w->ar, b);
    for (size_t k = 0; k < b->n_iters; k++)
        set_value(w, b->iters[k].var, b->iters[k].value);
    w->at = b;
    w->said.n = 0;
    if (b->init)
        visit_stmt(w, b->init);
    visit_stmt(w, b->body);
    leave(w, g);
    w->at = outer;
}

static void visit_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    visit_expr(user, e);
}

static void visit_child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    visit_stmt(user, s);
}

static void visit_stmt(BoundsWalk *w, const ml_Stmt *s)
{
    ml_ArithMark mark;
    Guard g;

    switch (s->kind) {
    case ML_STMT_STORE:
        check_access(w, ml_as_store(s)->buffer, ml_as_store(s)->indices, ml_as_store(s)->n);
        for (size_t k = 0; k < ml_as_store(s)->n; k++)
            visit_expr(w, ml_as_store(s)->indices[k]);
        visit_expr(w, ml_as_store(s)->value);
        break;
    case ML_STMT_FOR:
        visit_expr(w, ml_as_for(s)->min);
        visit_expr(w, ml_as_for(s)->extent);
        mark = ml_arith_save(w->ar);
        ml_arith_bind_range(w->ar, ml_as_for(s)->var, outward(w, ml_as_for(s)->min),
                            outward(w, ml_as_for(s)->extent));
        ml_push(w->cx, &w->dom,
                ((ml_Dom){ml_as_for(s)->var, outward(w, ml_as_for(s)->min),
                          outward(w, ml_as_for(s)->extent)}));
        visit_stmt(w, ml_as_for(s)->body);
        w->dom.n--;
        ml_arith_restore(w->ar, mark);
        break;
    case ML_STMT_IF:
        visit_expr(w, ml_as_if(s)->cond);
        g = enter(w, ml_as_if(s)->cond, true);
        visit_stmt(w, ml_as_if(s)->then);
        leave(w, g);
        if (ml_as_if(s)->other) {
            g = enter(w, ml_as_if(s)->cond, false);
            visit_stmt(w, ml_as_if(s)->other);
            leave(w, g);
        }
        break;
    case ML_STMT_BIND:
        visit_expr(w, ml_as_bind(s)->value);
        set_value(w, ml_as_bind(s)->var, ml_as_bind(s)->value);
        break;
    case ML_STMT_ATTR:
        mark = ml_arith_save(w->ar);
        if (ml_attr_defines(ml_as_attr(s)) && ml_as_attr(s)->value->kind == ML_VAL_INT) {
            const ml_Var *v = ml_attr_defines(ml_as_attr(s));
            ml_Dom d = {v, ml_int(w->cx, v->type, 0),
                        ml_int(w->cx, v->type, ml_as_attr(s)->value->as.i)};

            ml_arith_bind_range(w->ar, v, d.min, d.extent);
            ml_push(w->cx, &w->dom, d);
            visit_stmt(w, ml_as_attr(s)->body);
            w->dom.n--;
        } else {
            visit_stmt(w, ml_as_attr(s)->body);
        }
        ml_arith_restore(w->ar, mark);
        break;
    case ML_STMT_BLOCK: visit_block(w, ml_as_block(s)); break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL: break; /* its shape is of the interface */
    default:
        ml_stmt_exprs(s, visit_role, w);
        ml_stmt_children(s, visit_child, w);
        break;
    }
}

static bool may_leave(const ml_Stmt *s, void *user)
{
    bool *leaves = user;

    *leaves |= s->kind == ML_STMT_WHILE || s->kind == ML_STMT_RETURN ||
               s->kind == ML_STMT_BREAK || s->kind == ML_STMT_CONTINUE ||
               s->kind == ML_STMT_ASSERT;
    return !*leaves;
}

void ml_verify_bounds(ml_Ctx *cx, ml_Program p, ml_Findings *out)
{
    for (uint32_t f = 0; f < p.mod->n; f++) {
        const ml_Func *func = p.mod->funcs[f];
        BoundsWalk w = {.cx = cx,
                        .find = {cx, out, f, 0},
                        .ar = ml_arith_new(cx),
                        .pred = ml_bool(cx, true)};

        ml_arith_bind_params(w.ar, func);
        ml_stmt_visit(func->body, may_leave, &w.leaves);
        visit_stmt(&w, func->body);
    }
}
