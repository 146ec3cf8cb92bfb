/*
 * defined_first - whether every element of a buffer that is read in one execution of a
 * place was written before in the same execution.
 *
 * Statement by statement: boxes written so far, each with the condition it was written
 * under, relaxed over a loop when it ends, against each box read. Conservative: what is not
 * understood is not written, and is read whole.
 */
#include "moonloop/codegen/lower/plan.h"

typedef struct Box {
    ml_Interval *dims;
    const ml_Expr *cond; /* it is written when this holds; NULL: always */
} Box;

typedef struct DefinedWalk {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Buffer *b;
    ML_VEC(Box) written;
    ML_VEC(const ml_Expr *) conds; /* in force, as the text has them */
    ml_DomVec dom;                 /* loops around, inside the place */
    bool ok;
} DefinedWalk;

/* ---------------------------------------------------------------- boxes */

static bool limits(DefinedWalk *w, const ml_Expr *e, ml_Interval *out)
{
    int64_t span;

    if (e->kind == ML_EXPR_BROADCAST)
        e = e->args[0];
    if (e->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))
        return false;
    if (e->kind == ML_EXPR_RAMP && ml_is_const_int(e->args[1]) && e->args[1]->as.i == 1 &&
        ml_dtype_is_index(e->args[0]->type)) {
        span = (int64_t)e->type.lanes - 1;
        e = e->args[0];
        *out = (ml_Interval){e, ml_add(w->cx, e, ml_int(w->cx, e->type, span)), false};
        return true;
    }
    *out = ml_interval_point(e);
    return ml_dtype_is_index(e->type);
}

static ml_Interval whole(DefinedWalk *w, size_t d)
{
    const ml_Expr *n = w->b->shape[d];

    return ml_interval_range(w->ar, ml_int(w->cx, n->type, 0), n);
}

static ml_Interval *new_box(DefinedWalk *w)
{
    return ML_ARRAY(w->cx, ml_Interval, w->b->rank + 1u);
}

static void wrote(DefinedWalk *w, ml_Interval *dims)
{
    ml_push(w->cx, &w->written, ((Box){dims, NULL}));
}

/* Every part of the condition is in force, or follows from what is. */
static bool holds(DefinedWalk *w, const ml_Expr *c)
{
    if (!c)
        return true;
    if (c->kind == ML_EXPR_AND)
        return holds(w, c->args[0]) && holds(w, c->args[1]);
    for (size_t k = 0; k < w->conds.n; k++)
        if (w->conds.v[k] == c)
            return true;
    return ml_prove(w->ar, c);
}

static void read(DefinedWalk *w, const ml_Interval *box)
{
    ml_Boxes *all = ml_boxes_new(w->ar, w->b->rank);

    for (size_t k = 0; k < w->written.n; k++)
        if (holds(w, w->written.v[k].cond))
            ml_boxes_add(all, w->written.v[k].dims);
    if (!ml_boxes_cover(all, box, NULL) || ml_gave_up(w->cx, w->ar))
        w->ok = false;
}

/* The analyzer learns the parts of cond, each as the others have made it simpler so far. */
static void learn(DefinedWalk *w, const ml_Expr *cond)
{
    if (cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))
        return;
    if (cond->kind == ML_EXPR_AND) {
        learn(w, cond->args[0]);
        learn(w, cond->args[1]);
        return;
    }
    ml_arith_assume(w->ar, ml_simplify(w->ar, cond));
}

static void in_force(DefinedWalk *w, const ml_Expr *cond)
{
    if (cond->kind == ML_EXPR_AND) {
        in_force(w, cond->args[0]);
        in_force(w, cond->args[1]);
    } else if (!(cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT))) {
        ml_push(w->cx, &w->conds, cond);
    }
}

/* cond holds from here on; its parts one by one. */
static void assume(DefinedWalk *w, const ml_Expr *cond)
{
    in_force(w, cond);
    learn(w, cond);
    if (cond->kind == ML_EXPR_AND) /* a part before may be simpler by one after */
        learn(w, cond);
}

/* What was written from `from` on was so only where cond holds. */
static void only_if(DefinedWalk *w, size_t from, const ml_Expr *cond)
{
    if (cond->flags & (ML_X_HAS_LOAD | ML_X_EFFECT)) {
        w->written.n = from;
        return;
    }
    for (size_t k = from; k < w->written.n; k++) {
        Box *box = &w->written.v[k];

        box->cond = box->cond ? ml_and(w->cx, cond, box->cond) : cond;
    }
}

static void access_at(DefinedWalk *w, const ml_Expr *const *idx, size_t n, bool write)
{
    ml_Interval *box = new_box(w);

    if (n != w->b->rank) {
        w->ok = false;
        return;
    }
    for (size_t d = 0; d < n; d++)
        if (!limits(w, idx[d], &box[d])) {
            if (write)
                return; /* where is not known: not counted */
            box[d] = whole(w, d);
        }
    if (write)
        wrote(w, box);
    else
        read(w, box);
}

static void region(DefinedWalk *w, const ml_Region *r, const ml_Subst *s, bool write)
{
    ml_Interval *box = new_box(w);

    for (size_t d = 0; d < w->b->rank; d++) {
        ml_Range x = r->ranges[d];

        if (s->vars) {
            x.min = ml_expr_subst(w->cx, x.min, s);
            x.extent = ml_expr_subst(w->cx, x.extent, s);
        }
        if (ml_dtype_is_index(x.min->type) && ml_dtype_is_index(x.extent->type) &&
            !((x.min->flags | x.extent->flags) & (ML_X_HAS_LOAD | ML_X_EFFECT)))
            box[d] = ml_interval_range(w->ar, x.min, x.extent);
        else if (write)
            return;
        else
            box[d] = whole(w, d);
    }
    if (write)
        wrote(w, box);
    else
        read(w, box);
}

/* The boxes from `from` on, written in the body of a loop that ends now. */
static void relax_over(DefinedWalk *w, size_t from, const ml_Dom *d)
{
    size_t n = from;

    for (size_t k = from; k < w->written.n; k++) {
        Box box = w->written.v[k];
        const ml_Expr *pred =
            box.cond && ml_expr_uses_var(box.cond, d->var) ? box.cond : NULL;
        ml_Range *ranges = ML_ARRAY(w->cx, ml_Range, w->b->rank + 1u);
        ml_Interval *out = new_box(w);
        bool finite = true;

        for (size_t j = 0; j < w->b->rank; j++) {
            const ml_Interval *i = &box.dims[j];

            finite = finite && i->min && i->max && !i->nothing;
            if (finite)
                ranges[j] = (ml_Range){
                    i->min, ml_simplify(w->ar, ml_add(w->cx, ml_sub(w->cx, i->max, i->min),
                                                      ml_int(w->cx, i->min->type, 1)))};
        }
        if (finite && ml_region_lower(w->ar, ranges, w->b->rank, d, 1, pred, out) &&
            !ml_gave_up(w->cx, w->ar))
            w->written.v[n++] = (Box){out, pred ? NULL : box.cond};
    }
    w->written.n = n;
}

/* ---------------------------------------------------------------- expressions */

static void expr(DefinedWalk *w, const ml_Expr *e)
{
    if (!w->ok || (!(e->flags & ML_X_HAS_LOAD) && (e->flags & ML_X_VAR_FREE)))
        return;
    if (e->kind == ML_EXPR_VAR) {
        if (e->as.var->uid == w->b->data->uid)
            w->ok = false; /* by pointer: anything may happen */
        return;
    }
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3 && e->args[0]->type.lanes == 1) {
        expr(w, e->args[0]);
        for (size_t k = 1; k < 3; k++) {
            ml_ArithMark mark = ml_arith_save(w->ar);
            size_t n = w->conds.n;

            assume(w, k == 1 ? e->args[0] : ml_not(w->cx, e->args[0]));
            expr(w, e->args[k]);
            w->conds.n = n;
            ml_arith_restore(w->ar, mark);
        }
        return;
    }
    if (e->kind == ML_EXPR_LOAD &&
        (e->as.buffer->uid == w->b->uid || e->as.buffer->data->uid == w->b->data->uid)) {
        if (e->as.buffer->uid != w->b->uid)
            w->ok = false; /* through an alias */
        else
            access_at(w, e->args, ml_load_rank(e), false);
    }
    for (size_t k = 0; k < e->n_args; k++)
        expr(w, e->args[k]);
}

static void role(const ml_Expr *e, ml_Role r, void *user)
{
    if (r != ML_ROLE_REGION && r != ML_ROLE_ATTR)
        expr(user, e);
}

/* ---------------------------------------------------------------- statements */

static void stmt(DefinedWalk *w, const ml_Stmt *s);

static void child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    stmt(user, s);
}

static bool is_first(const DefinedWalk *w, const ml_Expr *v, const ml_Expr *min)
{
    for (size_t k = 0; k < w->dom.n; k++)
        if (v->kind == ML_EXPR_VAR && w->dom.v[k].var->uid == v->as.var->uid)
            return w->dom.v[k].min == min;
    return false;
}

/* "All these serial loops are in their first iteration": what is done then has been done in
 * every iteration after it. */
static bool at_first(const DefinedWalk *w, const ml_Expr *c, ml_Subst *loops)
{
    if (c->kind == ML_EXPR_AND)
        return at_first(w, c->args[0], loops) && at_first(w, c->args[1], loops);
    if (c->kind != ML_EXPR_EQ || !is_first(w, c->args[0], c->args[1]))
        return false;
    ml_subst_var(w->cx, loops, c->args[0]->as.var, c->args[1]);
    return true;
}

/* The box does not depend on those loops. */
static bool free_of(DefinedWalk *w, const Box *box, const ml_Subst *loops)
{
    for (size_t d = 0; d < w->b->rank; d++) {
        const ml_Interval *i = &box->dims[d];

        if (!i->min || !i->max || ml_expr_subst(w->cx, i->min, loops) != i->min ||
            ml_expr_subst(w->cx, i->max, loops) != i->max)
            return false;
    }
    return !box->cond || ml_expr_subst(w->cx, box->cond, loops) == box->cond;
}

/* One branch; what it wrote is kept with the condition. */
static void branch(DefinedWalk *w, const ml_Expr *cond, const ml_Stmt *s)
{
    ml_ArithMark mark = ml_arith_save(w->ar);
    size_t n = w->conds.n, from = w->written.n;

    assume(w, cond);
    stmt(w, s);
    w->conds.n = n;
    ml_arith_restore(w->ar, mark);
    only_if(w, from, cond);
}

static void visit_if(DefinedWalk *w, const ml_If *i)
{
    size_t n = w->written.n;
    ml_Subst loops = {0};

    expr(w, i->cond);
    branch(w, i->cond, i->then);
    if (!i->other && at_first(w, i->cond, &loops))
        for (size_t k = n; k < w->written.n; k++) {
            Box *box = &w->written.v[k];
            Box bare = {box->dims, box->cond == i->cond ? NULL : box->cond};

            if (free_of(w, &bare, &loops))
                *box = bare;
        }
    if (i->other)
        branch(w, ml_not(w->cx, i->cond), i->other);
}

static void visit_for(DefinedWalk *w, const ml_For *f)
{
    ml_ArithMark mark = ml_arith_save(w->ar);
    ml_Dom d = {f->var, f->min, f->extent};
    size_t n = w->written.n;

    ml_stmt_exprs(&f->base, role, w);
    if (ml_dtype_is_index(f->var->type))
        ml_arith_bind_loop(w->ar, f);
    if (f->kind == ML_FOR_SERIAL || f->kind == ML_FOR_UNROLLED) {
        ml_push(w->cx, &w->dom, d);
        stmt(w, f->body);
        w->dom.n--;
    } else {
        stmt(w, f->body);
    }
    ml_arith_restore(w->ar, mark);
    if (w->ok)
        relax_over(w, n, &d);
}

static void visit_block(DefinedWalk *w, const ml_Block *b)
{
    ml_ArithMark mark = ml_arith_save(w->ar);
    size_t n = w->written.n, n_conds = w->conds.n;
    ml_Subst s = {0};

    for (uint32_t k = 0; k < b->n_iters; k++) {
        expr(w, b->iters[k].value);
        ml_subst_var(w->cx, &s, b->iters[k].var, b->iters[k].value);
    }
    expr(w, b->predicate);
    if (!ml_is_true(b->predicate))
        assume(w, b->predicate);
    if (b->n_iters == 0 && b->n_matches == 0) {
        stmt(w, b->body);
    } else {
        for (uint32_t k = 0; k < b->n_reads; k++)
            if (b->reads[k].buffer->uid == w->b->uid &&
                !(ml_write_of(b, w->b) && ml_plan_initialises(b, w->b)))
                region(w, &b->reads[k], &s, false);
        for (uint32_t k = 0; k < b->n_writes; k++)
            if (b->writes[k].buffer->uid == w->b->uid)
                region(w, &b->writes[k], &s, true);
    }
    if (!ml_is_true(b->predicate))
        only_if(w, n, b->predicate);
    w->conds.n = n_conds;
    ml_arith_restore(w->ar, mark);
}

static void stmt(DefinedWalk *w, const ml_Stmt *s)
{
    size_t n = w->written.n;

    if (!w->ok)
        return;
    switch (s->kind) {
    case ML_STMT_IF: visit_if(w, ml_as_if(s)); return;
    case ML_STMT_FOR: visit_for(w, ml_as_for(s)); return;
    case ML_STMT_BLOCK: visit_block(w, ml_as_block(s)); return;
    case ML_STMT_STORE:
        ml_stmt_exprs(s, role, w);
        if (ml_as_store(s)->buffer->uid != w->b->uid &&
            ml_as_store(s)->buffer->data->uid == w->b->data->uid)
            w->ok = false; /* through an alias */
        else if (ml_as_store(s)->buffer->uid == w->b->uid && !ml_as_store(s)->mask)
            access_at(w, ml_as_store(s)->indices, ml_as_store(s)->n, true);
        return;
    case ML_STMT_BREAK: /* what follows may not be done */
    case ML_STMT_CONTINUE:
    case ML_STMT_RETURN: w->ok = false; return;
    }
    ml_stmt_exprs(s, role, w);
    ml_stmt_children(s, child, w);
    if (s->kind == ML_STMT_WHILE)
        w->written.n = n;
}

/* ---------------------------------------------------------------- the question */

bool ml_plan_defined_first(ml_Plan *p, const ml_PlanBuffer *r, const ml_PlanNode *n)
{
    DefinedWalk w = {.cx = p->lo->cx, .b = r->buffer, .ok = true};

    w.ar = ml_lower_arith(p->lo, p->f);
    for (const ml_PlanNode *up = n; up; up = up->up) {
        if (up->stmt->kind == ML_STMT_BLOCK)
            ml_arith_bind_iters(w.ar, ml_as_block(up->stmt));
        else if (ml_dtype_is_index(ml_as_for(up->stmt)->var->type))
            ml_arith_bind_loop(w.ar, ml_as_for(up->stmt));
    }
    stmt(&w, ml_plan_content(n));
    (void)ml_gave_up(w.cx, w.ar);
    return w.ok;
}
