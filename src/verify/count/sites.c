/*
 * sites - all accesses and operations of a function, each with the loops and conditions
 * around it. A walk from the function's root; what is opaque counts as the regions that its
 * block declares.
 */
#include "moonloop/verify/count/counts_impl.h"

typedef struct Down { /* where the walk stands */
    ml_Sites *s;
    ml_Place *at;
    const ml_Block *block;
    bool in_init, listed;
} Down;

static void walk(const Down *d, const ml_Stmt *st);

/* ---- places */

static ml_Place *new_place(ml_Sites *s, uint32_t loop, uint32_t depth, const ml_Guard *g)
{
    ml_Place *p = ML_NEW(s->cx, ml_Place);

    *p = (ml_Place){.loop = loop, .depth = depth, .guards = g};
    return p;
}

static const ml_Guard *guard(ml_Sites *s, const ml_Place *at, const ml_Guard *up,
                             const ml_Linear *form, int64_t lo, int64_t hi)
{
    ml_Guard *g = ML_NEW(s->cx, ml_Guard);

    *g = (ml_Guard){
        .up = up, .depth = at->depth, .known = form && form->ok, .lo = lo, .hi = hi};
    if (g->known)
        g->form = *form;
    return g;
}

static const ml_Guard *compare(ml_Sites *s, const ml_Place *at, const ml_Guard *up,
                               const ml_Expr *e, bool truth)
{
    ml_Linear a = ml_linear(&s->env, e->args[0]), b = ml_linear(&s->env, e->args[1]);
    ml_Linear d = ml_linear_add(&s->env, &a, &b, -1);
    ml_ExprKind k = (ml_ExprKind)e->kind;

    if (k == ML_EXPR_LT)
        return truth ? guard(s, at, up, &d, INT64_MIN, -1)
                     : guard(s, at, up, &d, 0, INT64_MAX);
    if (k == ML_EXPR_LE)
        return truth ? guard(s, at, up, &d, INT64_MIN, 0)
                     : guard(s, at, up, &d, 1, INT64_MAX);
    if (k == ML_EXPR_GT)
        return truth ? guard(s, at, up, &d, 1, INT64_MAX)
                     : guard(s, at, up, &d, INT64_MIN, 0);
    if (k == ML_EXPR_GE)
        return truth ? guard(s, at, up, &d, 0, INT64_MAX)
                     : guard(s, at, up, &d, INT64_MIN, -1);
    if ((k == ML_EXPR_EQ) == truth)
        return guard(s, at, up, &d, 0, 0);
    return guard(s, at, up, NULL, 0, 0);
}

/* The condition, or (truth false) that it does not hold, as guards. */
static const ml_Guard *condition(ml_Sites *s, const ml_Place *at, const ml_Guard *up,
                                 const ml_Expr *e, bool truth)
{
    if (ml_is_const_int(e) && ml_is_true(e) == truth)
        return up;
    if (ml_is_op(e, ML_OP_LIKELY))
        return condition(s, at, up, e->args[0], truth);
    if (e->kind == ML_EXPR_NOT)
        return condition(s, at, up, e->args[0], !truth);
    if (e->kind == (truth ? ML_EXPR_AND : ML_EXPR_OR) && e->type.lanes == 1)
        return condition(s, at, condition(s, at, up, e->args[0], truth), e->args[1], truth);
    if (ml_kind_compares(e->kind) && e->args[0]->type.lanes == 1 &&
        ml_dtype_is_int(e->args[0]->type))
        return compare(s, at, up, e, truth);
    if (ml_is_const_int(e)) { /* never */
        ml_Linear one = {.ok = true, .base = 1};

        return guard(s, at, up, &one, 0, 0);
    }
    return guard(s, at, up, NULL, 0, 0);
}

static ml_Place *place_if(ml_Sites *s, const ml_Place *at, const ml_Expr *e, bool truth)
{
    return new_place(s, at->loop, at->depth, condition(s, at, at->guards, e, truth));
}

/* ---- accesses */

static uint32_t buffer_at(ml_Sites *s, const ml_Buffer *b)
{
    uintptr_t k = (uintptr_t)ml_map_get(s->position, b->uid);

    if (k == 0) {
        ml_push(s->cx, &s->buffers, b);
        k = s->buffers.n;
        ml_map_set(s->cx, s->position, b->uid, (const void *)k);
    }
    return (uint32_t)k - 1;
}

/* What a view shows; NULL: it is none. */
static const ml_Match *view_of(const ml_Sites *s, const ml_Buffer *b)
{
    return ml_map_get(s->views, b->uid);
}

static void add_site(const Down *d, ml_SiteAt at, ml_Linear *dims)
{
    ml_Sites *s = d->s;
    const ml_Match *m;

    while ((m = view_of(s, at.site.buffer)) != NULL) {
        const ml_Buffer *of = m->source.buffer;
        ml_Linear *more = ML_ARRAY(s->cx, ml_Linear, of->rank + 1u);
        size_t lead = of->rank - at.site.buffer->rank;

        for (size_t k = 0; k < of->rank; k++) {
            more[k] = ml_linear(&s->env, m->source.ranges[k].min);
            if (k >= lead)
                more[k] = ml_linear_add(&s->env, &more[k], &dims[k - lead], 1);
        }
        at.site.buffer = of;
        dims = more;
    }
    at.place = d->at;
    at.dims = dims;
    at.buffer = buffer_at(s, at.site.buffer);
    at.site.block = d->block;
    at.site.in_init = d->in_init;
    at.layout = ml_layout(s, d->at, dims, at.site.buffer->rank);
    ml_push(s->cx, &s->sites, at);
    ml_push(s->cx, &s->named, at.buffer);
}

static void add_access(const Down *d, const ml_Buffer *b, const ml_Expr *const *idx,
                       size_t n, bool write, bool masked)
{
    ml_Linear *dims = ML_ARRAY(d->s->cx, ml_Linear, n + 1);
    ml_SiteAt at = {.site = {.text = b, .buffer = b, .index = idx, .write = write},
                    .lanes = 1};
    Down under = *d;

    for (size_t k = 0; k < n; k++) {
        dims[k] = ml_linear(&d->s->env, idx[k]);
        at.lanes = idx[k]->type.lanes > at.lanes ? idx[k]->type.lanes : at.lanes;
    }
    if (masked)
        under.at = new_place(d->s, d->at->loop, d->at->depth,
                             guard(d->s, d->at, d->at->guards, NULL, 0, 0));
    add_site(&under, at, dims);
}

/* A region of a block stands for what cannot be seen. */
static void add_region(const Down *d, const ml_Region *r, bool write)
{
    size_t rank = r->buffer->rank;
    ml_Linear *dims = ML_ARRAY(d->s->cx, ml_Linear, rank + 1);
    const ml_Expr **idx = ML_ARRAY(d->s->cx, const ml_Expr *, rank + 1);
    ml_SiteAt at = {.site = {.text = r->buffer,
                             .buffer = r->buffer,
                             .index = idx,
                             .write = write,
                             .declared = true},
                    .lanes = 1};

    for (uint32_t k = 0; k < rank; k++) {
        const ml_Expr *n = r->ranges[k].extent;

        idx[k] = r->ranges[k].min;
        dims[k] = ml_linear(&d->s->env, idx[k]);
        if (ml_is_const_int(n) && n->as.i > 0) {
            ml_Linear axis =
                ml_linear_axis(&d->s->env, ml_inner_axis(&d->s->env, 1 + k, n->as.i));

            dims[k] = ml_linear_add(&d->s->env, &dims[k], &axis, 1);
        } else
            dims[k] = (ml_Linear){.deps = UINT64_MAX};
    }
    add_site(d, at, dims);
}

/* All of a buffer, as nothing says less. */
static void add_whole(const Down *d, const ml_Buffer *b)
{
    ml_Range *all = ML_ARRAY(d->s->cx, ml_Range, b->rank + 1u);

    for (size_t k = 0; k < b->rank; k++)
        all[k] = (ml_Range){ml_int(d->s->cx, b->shape[k]->type, 0), b->shape[k]};
    add_region(d, &(ml_Region){b, all}, true);
}

static void add_opaque(const Down *d, const ml_Buffer *b)
{
    const ml_Block *at = d->block;
    bool found = false;

    for (size_t k = 0; at && k < at->n_reads; k++)
        if (at->reads[k].buffer->uid == b->uid) {
            add_region(d, &at->reads[k], false);
            found = true;
        }
    for (size_t k = 0; at && k < at->n_writes; k++)
        if (at->writes[k].buffer->uid == b->uid) {
            add_region(d, &at->writes[k], true);
            found = true;
        }
    const ml_Match *m = found ? NULL : view_of(d->s, b);

    if (m) { /* the block names what it shows */
        for (size_t k = 0; at && k < at->n_writes; k++)
            found |= at->writes[k].buffer->uid == m->source.buffer->uid;
        add_region(d, &m->source, found);
    } else if (!found)
        add_whole(d, b);
}

typedef struct Opaque {
    const Down *d;
} Opaque;

static bool see_opaque(const ml_Expr *e, void *user)
{
    const Opaque *o = user;
    const ml_Buffer *b = e->kind == ML_EXPR_LOAD ? e->as.buffer
                         : e->kind == ML_EXPR_VAR
                             ? ml_map_get(o->d->s->pointers, e->as.var->uid)
                             : NULL;

    if (b)
        add_opaque(o->d, b);
    return true;
}

/* The loads of an expression; ops (may be NULL): its operations, those of arms that not
 * always run as work of their own. */
static void loads(const Down *d, const ml_Expr *e, int64_t *ops, bool *most)
{
    ml_Sites *s = d->s;

    if (ops && ml_is_work(e, s->lets, s->only))
        ++*ops;
    if (!ops && !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)))
        return;
    if (e->kind == ML_EXPR_LOAD) {
        add_access(d, e->as.buffer, e->args, ml_load_rank(e), false,
                   e->flags & ML_X_MASKED);
        for (size_t k = 0; k < e->n_args; k++)
            loads(d, e->args[k], NULL, NULL);
        return;
    }
    if (e->kind == ML_EXPR_LET) {
        ml_Linear *v = ML_NEW(s->cx, ml_Linear);

        *v = ml_linear(&s->env, e->args[0]);
        ml_map_set(s->cx, s->env.vars, e->as.var->uid, v);
        if (ml_of_elements(e->args[0], s->lets))
            ml_map_set(s->cx, s->lets, e->as.var->uid, e);
    }
    if (e->kind == ML_EXPR_CALL && e->as.op->effect > ML_EFFECT_READ) {
        ml_expr_visit(e, see_opaque, &(Opaque){d});
        return;
    }
    if (ml_is_op(e, ML_OP_IF_THEN_ELSE) && e->n_args == 3) {
        loads(d, e->args[0], ops, most);
        for (size_t k = 1; k < 3; k++) {
            Down arm = *d;
            int64_t n = 0;
            bool open = false;

            arm.at = place_if(s, d->at, e->args[0], k == 1);
            loads(&arm, e->args[k], ops ? &n : NULL, &open);
            if (n > 0)
                ml_push(s->cx, &s->work, ((ml_Work1){arm.at, n, open}));
        }
        return;
    }
    if (e->kind == ML_EXPR_SELECT && ops) {
        int64_t n[2] = {0, 0};

        loads(d, e->args[0], ops, most);
        loads(d, e->args[1], &n[0], most);
        loads(d, e->args[2], &n[1], most);
        *ops += n[0] > n[1] ? n[0] : n[1];
        *most |= n[0] != n[1];
        return;
    }
    for (size_t k = 0; k < e->n_args; k++) {
        Down right = *d;
        bool asks = k == 1 && (e->kind == ML_EXPR_AND || e->kind == ML_EXPR_OR) &&
                    (e->args[1]->flags & ML_X_HAS_LOAD);
        int64_t n = 0;

        if (asks) /* looked at only if the left one asks for it; its operations count */
            right.at = place_if(s, d->at, e->args[0], e->kind == ML_EXPR_AND);
        loads(&right, e->args[k], ops ? &n : NULL, most);
        if (ops)
            *ops += n;
    }
}

static void value(const Down *d, const ml_Expr *e)
{
    int64_t ops = 0;
    bool most = false;

    loads(d, e, d->in_init ? NULL : &ops, &most);
    if (ops > 0)
        ml_push(d->s->cx, &d->s->work, ((ml_Work1){d->at, ops, most}));
}

/* ---- loops */

/* The greatest number of trips, 0: there is never one; and what more is known of them, as
 * guards on the loop's own counter. */
typedef struct Trips {
    ml_Sites *s;
    int64_t most;
    ML_VEC(ml_Linear) less; /* the counter stays below each of them */
    bool lost;              /* something else decides too */
} Trips;

static bool is_small(const ml_Expr *e)
{
    return ml_is_const_int(e) && e->as.i > -INT32_MAX && e->as.i < INT32_MAX;
}

/* Of e + more. */
static void trips(Trips *t, const ml_Expr *e, int64_t more)
{
    ml_Linear f, plus = {.ok = true, .base = more};
    int64_t lo, hi;

    if (e->kind == ML_EXPR_MIN) {
        trips(t, e->args[0], more);
        trips(t, e->args[1], more);
        return;
    }
    if (e->kind == ML_EXPR_MAX && is_small(e->args[1]) && e->args[1]->as.i + more <= 0) {
        trips(t, e->args[0], more);
        return;
    }
    if (e->kind == ML_EXPR_ADD && is_small(e->args[1]) && more == 0) { /* one is enough */
        trips(t, e->args[0], more + e->args[1]->as.i);
        return;
    }
    f = ml_linear(&t->s->env, e);
    f = ml_linear_add(&t->s->env, &f, &plus, 1);
    if (!f.ok) {
        t->lost = true;
        return;
    }
    if (ml_linear_range(&f, &lo, &hi)) {
        hi = hi < 0 ? 0 : hi;
        t->most = t->most == ML_OPEN || hi < t->most ? hi : t->most;
        if (lo == hi)
            return; /* a number */
    }
    ml_push(t->s->cx, &t->less, f);
}

/* Only sizes of the function decide it. */
static bool see_inner(const ml_Expr *e, void *user)
{
    void **u = user;
    const ml_Sites *s = u[0];
    bool *inner = u[1];

    *inner |= e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_CALL ||
              (e->kind == ML_EXPR_VAR && ml_map_has(s->env.vars, e->as.var->uid));
    return !*inner;
}

static const ml_Expr *by_sizes(ml_Sites *s, const ml_Expr *e)
{
    bool inner = e->size > 256;

    if (!inner)
        ml_expr_visit(e, see_inner, (void *[]){s, &inner});
    return inner ? NULL : e;
}

static void bind(ml_Sites *s, const ml_Var *v, const ml_Linear *f)
{
    ml_Linear *own = ML_NEW(s->cx, ml_Linear);

    *own = *f;
    ml_map_set(s->cx, s->env.vars, v->uid, own);
}

/* Goes into a loop over `var` (may be NULL); what is below stands at *in. */
static uint32_t enter(const Down *d, const ml_For *node, const ml_Expr *extent,
                      int64_t step, Down *in)
{
    ml_Sites *s = d->s;
    Trips t = {.s = s, .most = ML_OPEN};
    ml_Axis axis = {.depth = d->at->depth};
    ml_LoopAt l = {
        .node = node, .parent = d->at->loop, .depth = d->at->depth, .in_init = !d->listed};
    const ml_Guard *g = d->at->guards;
    ml_Linear zero = {.ok = true}, one = {.ok = true, .base = 1}, counter;

    trips(&t, extent, 0);
    axis.expr = by_sizes(s, extent);
    if (step != 1 && t.less.n > 0) /* a step of a known number of trips only is counted */
        t.lost = true;
    if (step != 1)
        t.less.n = 0;
    if (step < 1)
        t.most = ML_OPEN;
    else if (t.most > 0)
        t.most = t.most / step + (t.most % step != 0);
    if (t.most != ML_OPEN || step != 1)
        axis.expr = NULL;
    axis.trips = t.most == 0 ? 1 : t.most;
    l.axis = (uint32_t)s->env.axes.n;
    ml_push(s->cx, &s->env.axes, axis);
    l.extent = t.most == ML_OPEN ? ml_number_of(s->cx, axis.expr) : ml_number(t.most);
    if ((t.less.n > 0 || t.lost) && !axis.expr)
        l.extent = ml_number_at_most(l.extent);
    *in = *d;
    in->at = new_place(s, (uint32_t)s->loops.n, d->at->depth + 1, g);
    counter = ml_linear_axis(&s->env, l.axis);
    if (t.most == 0)
        g = guard(s, in->at, g, &one, 0, 0); /* never */
    for (size_t k = 0; k < t.less.n && !axis.expr; k++) {
        ml_Linear room = ml_linear_add(&s->env, &t.less.v[k], &counter, -1);

        g = guard(s, in->at, g, &room, 1, INT64_MAX);
    }
    if ((t.lost && t.most != ML_OPEN) || s->jumps)
        g = guard(s, in->at, g, NULL, 0, 0);
    in->at->guards = g;
    l.inside = in->at;
    l.sites[0] = (uint32_t)s->sites.n;
    l.work[0] = (uint32_t)s->work.n;
    l.buffers[0] = (uint32_t)s->named.n;
    ml_push(s->cx, &s->loops, l);
    if (node) {
        ml_Linear min = ml_linear(&s->env, node->min);

        zero = step < 1 ? (ml_Linear){.deps = min.deps | ml_depth_bit(axis.depth)}
                        : ml_linear_add(&s->env, &min, &counter, step);
        bind(s, node->var, &zero);
        if (node->thread_var)
            bind(s, node->thread_var, &zero);
    }
    return (uint32_t)s->loops.n - 1;
}

static void leave(ml_Sites *s, uint32_t loop)
{
    ml_LoopAt *l = &s->loops.v[loop];

    l->sites[1] = (uint32_t)s->sites.n;
    l->work[1] = (uint32_t)s->work.n;
    l->buffers[1] = (uint32_t)s->named.n;
}

static void walk_for(const Down *d, const ml_For *f)
{
    int64_t step = !f->step ? 1 : ml_is_const_int(f->step) ? f->step->as.i : 0;
    uint32_t loop;
    Down in;

    loads(d, f->min, NULL, NULL);
    loads(d, f->extent, NULL, NULL);
    loop = enter(d, f, f->extent, step, &in);
    walk(&in, f->body);
    leave(d->s, loop);
}

static void walk_attr(const Down *d, const ml_Attr *a)
{
    bool thread = ml_attr_is_launch(a);
    const ml_Expr *n = NULL;
    uint32_t loop;
    Down in;

    if (thread && a->value && a->value->kind == ML_VAL_EXPR)
        n = a->value->as.expr;
    else if (thread && a->value && a->value->kind == ML_VAL_INT)
        n = ml_int(d->s->cx, ML_DT_I64, a->value->as.i);
    if (!n) {
        walk(d, a->body);
        return;
    }
    loop = enter(d, NULL, n, 1, &in);
    if (a->node && a->node->kind == ML_VAL_VAR) {
        ml_Linear counter = ml_linear_axis(&d->s->env, d->s->loops.v[loop].axis);

        bind(d->s, a->node->as.var, &counter);
    }
    walk(&in, a->body);
    leave(d->s, loop);
}

/* ---- statements */

/* Buffers are told in the order in which blocks name them. */
static void name_regions(ml_Sites *s, const ml_Region *v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!view_of(s, v[k].buffer))
            ml_push(s->cx, &s->named, buffer_at(s, v[k].buffer));
}

static void add_pointer(ml_Sites *s, const ml_Buffer *b)
{
    if (b->data)
        ml_map_set(s->cx, s->pointers, b->data->uid, b);
}

static void walk_block(const Down *d, const ml_Block *b)
{
    ml_Sites *s = d->s;
    Down in = *d, init;

    loads(d, b->predicate, NULL, NULL);
    in.block = b;
    if (!ml_is_true(b->predicate))
        in.at = place_if(s, d->at, b->predicate, true);
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_Linear f = ml_linear(&s->env, b->iters[k].value);

        loads(d, b->iters[k].value, NULL, NULL);
        bind(s, b->iters[k].var, &f);
    }
    name_regions(s, b->reads, b->n_reads);
    name_regions(s, b->writes, b->n_writes);
    for (size_t k = 0; k < b->n_allocs; k++)
        add_pointer(s, b->allocs[k]);
    for (size_t k = 0; k < b->n_matches; k++) {
        add_pointer(s, b->matches[k].target);
        if (b->matches[k].target->rank <= b->matches[k].source.buffer->rank)
            ml_map_set(s->cx, s->views, b->matches[k].target->uid, &b->matches[k]);
    }
    if (b->init) {
        const ml_Guard *g = in.at->guards;

        init = in;
        init.in_init = true;
        init.listed = false;
        for (size_t k = 0; k < b->n_iters; k++) {
            ml_Linear f = ml_linear(&s->env, b->iters[k].value),
                      min = ml_linear(&s->env, b->iters[k].min);

            if (b->iters[k].kind != ML_ITER_REDUCE)
                continue;
            f = ml_linear_add(&s->env, &f, &min, -1);
            g = guard(s, in.at, g, &f, 0, 0);
        }
        init.at = new_place(s, in.at->loop, in.at->depth, g);
        walk(&init, b->init);
    }
    walk(&in, b->body);
}

static void walk_if(const Down *d, const ml_If *f)
{
    Down arm = *d;

    value(d, f->cond);
    arm.at = place_if(d->s, d->at, f->cond, true);
    walk(&arm, f->then);
    if (!f->other)
        return;
    arm.at = place_if(d->s, d->at, f->cond, false);
    walk(&arm, f->other);
}

static void walk_while(const Down *d, const ml_While *w)
{
    ml_Guard *g = ML_NEW(d->s->cx, ml_Guard);
    Down in = *d;

    *g = (ml_Guard){.up = d->at->guards, .depth = d->at->depth, .repeats = true};
    in.at = new_place(d->s, d->at->loop, d->at->depth, g);
    value(&in, w->cond);
    walk(&in, w->body);
}

static void walk_store(const Down *d, const ml_Store *st)
{
    for (size_t k = 0; k < st->n; k++)
        loads(d, st->indices[k], NULL, NULL);
    if (st->mask)
        loads(d, st->mask, NULL, NULL);
    value(d, st->value);
    add_access(d, st->buffer, st->indices, st->n, true, st->mask != NULL);
}

static void loads_of_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    loads(user, e, NULL, NULL);
}

static void walk(const Down *d, const ml_Stmt *st)
{
    Down in = *d;

    if (!ml_tick(d->s->cx))
        return;
    switch (st->kind) {
    case ML_STMT_STORE: walk_store(d, ml_as_store(st)); break;
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(st)->n; k++)
            walk(d, ml_as_seq(st)->stmts[k]);
        break;
    case ML_STMT_FOR: walk_for(d, ml_as_for(st)); break;
    case ML_STMT_WHILE: walk_while(d, ml_as_while(st)); break;
    case ML_STMT_IF: walk_if(d, ml_as_if(st)); break;
    case ML_STMT_BIND: {
        ml_Linear f = ml_linear(&d->s->env, ml_as_bind(st)->value);

        value(d, ml_as_bind(st)->value);
        if (ml_of_elements(ml_as_bind(st)->value, d->s->lets))
            ml_map_set(d->s->cx, d->s->lets, ml_as_bind(st)->var->uid, st);
        bind(d->s, ml_as_bind(st)->var, &f);
        break;
    }
    case ML_STMT_ALLOC:
    case ML_STMT_DECL: add_pointer(d->s, ml_as_alloc(st)->buffer); break;
    case ML_STMT_ATTR: walk_attr(d, ml_as_attr(st)); break;
    case ML_STMT_RETURN:
        if (ml_as_return(st)->value)
            value(d, ml_as_return(st)->value);
        break;
    case ML_STMT_BLOCK: walk_block(d, ml_as_block(st)); break;
    default: ml_stmt_exprs(st, loads_of_role, &in); break;
    }
}

/* ---- before the walk */

static void see_effects(const ml_Expr *e, ml_Role role, void *user)
{
    bool *opaque = user;

    (void)role;
    *opaque |= (e->flags & ML_X_EFFECT) != 0;
}

static bool look(const ml_Stmt *st, void *user)
{
    ml_Sites *s = user;
    bool opaque = false;

    if (st->kind == ML_STMT_STORE)
        ml_map_set(s->cx, s->env.written, ml_as_store(st)->buffer->uid, s);
    s->jumps |= st->kind == ML_STMT_BREAK || st->kind == ML_STMT_CONTINUE ||
                st->kind == ML_STMT_RETURN;
    ml_stmt_exprs(st, see_effects, &opaque);
    s->opaque |= opaque;
    return true;
}

bool ml_sites_of(ml_Sites *s, const ml_Func *f)
{
    ml_Place *top;

    s->func = f;
    s->env.cx = s->cx;
    s->env.vars = ml_map_new(s->cx);
    s->env.written = ml_map_new(s->cx);
    s->position = ml_map_new(s->cx);
    s->pointers = ml_map_new(s->cx);
    s->views = ml_map_new(s->cx);
    s->lets = ml_map_new(s->cx);
    ml_stmt_visit(f->body, look, s);
    if (s->opaque) /* which buffers it changes is not looked into */
        s->env.written = NULL;
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            add_pointer(s, f->params[k].buffer);
    top = new_place(s, ML_NO_LOOP, 0, NULL);
    walk(&(Down){.s = s, .at = top, .listed = true}, f->body);
    return ml_ok(s->cx);
}
