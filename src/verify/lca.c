/*
 * lca - the lowest loop or block that dominates every access of a buffer, raised to where
 * the buffer must live: above the loops of a reduction that writes it, above opaque
 * bindings, and for global memory above every blockIdx loop. Source: ir-and-analysis 6.2.
 */
#include "moonloop/verify/facts.h"

typedef struct Lca {
    ml_Program p;
    const ml_Buffer *b;
    bool any;
    ml_Uid at;  /* dominates what was seen so far; 0: function level */
    ml_Uid cur; /* innermost indexed loop or block of the walk */
    bool in_init;
} Lca;

static void touch(Lca *l, ml_Uid uid)
{
    if (!l->any)
        l->at = uid;
    else if (l->at && l->at != uid)
        l->at = uid ? ml_index_lca(l->p.index, l->at, uid) : 0;
    l->any = true;
}

static void touch_expr(const ml_Expr *e, ml_Role role, void *user)
{
    Lca *l = user;

    (void)role;
    if (ml_expr_uses_buffer(e, l->b))
        touch(l, l->cur);
}

static bool raise_over(const ml_Expr *e, void *user);

/* An iter of a block around: above the loops that drive it. */
static void raise_over_iter(Lca *l, const ml_Var *v)
{
    for (ml_Uid u = l->cur; u; u = ml_index_parent(l->p.index, u)) {
        const ml_Stmt *node = ml_index_node(l->p.index, u);

        for (size_t k = 0; node->kind == ML_STMT_BLOCK && k < ml_as_block(node)->n_iters;
             k++)
            if (ml_as_block(node)->iters[k].var == v)
                ml_expr_visit(ml_as_block(node)->iters[k].value, raise_over, l);
    }
}

/* Above every loop whose variable occurs in the binding. */
static bool raise_over(const ml_Expr *e, void *user)
{
    Lca *l = user;

    if (e->kind == ML_EXPR_VAR) {
        const ml_Stmt *loop = ml_index_node(l->p.index, e->as.var->uid);

        if (loop && loop->kind == ML_STMT_FOR)
            touch(l, ml_index_parent(l->p.index, e->as.var->uid));
        else
            raise_over_iter(l, e->as.var);
    }
    return !(e->flags & ML_X_VAR_FREE);
}

static bool in_order(const ml_Iter *it)
{
    return it->kind != ML_ITER_SPATIAL && it->kind != ML_ITER_REDUCE;
}

static void raise_for_block(Lca *l, const ml_Block *b)
{
    bool written = false;

    for (size_t k = 0; k < b->n_writes; k++)
        written |= b->writes[k].buffer->uid == l->b->uid;
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        bool raise = written && (it->kind == ML_ITER_REDUCE || in_order(it));

        for (size_t r = 0; in_order(it) && !raise && r < b->n_reads; r++)
            raise = b->reads[r].buffer->uid == l->b->uid &&
                    ml_region_uses_var(&b->reads[r], it->var);
        if (raise)
            ml_expr_visit(it->value, raise_over, l);
    }
}

static void walk(const ml_Stmt *s, bool in_init, void *user);

static void walk_block(Lca *l, const ml_Block *b)
{
    ml_Uid outer = l->cur;

    for (size_t k = 0; k < b->n_iters; k++) {
        touch_expr(b->iters[k].min, ML_ROLE_DOMAIN, l);
        touch_expr(b->iters[k].extent, ML_ROLE_DOMAIN, l);
        touch_expr(b->iters[k].value, ML_ROLE_BINDING, l);
    }
    touch_expr(b->predicate, ML_ROLE_COND, l);
    if (!l->in_init) {
        raise_for_block(l, b);
        l->cur = b->tag;
    }
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Region *r = &b->matches[k].source;

        if (r->buffer->uid == l->b->uid)
            touch(l, l->cur);
        for (size_t d = 0; d < r->buffer->rank; d++)
            touch_expr(r->ranges[d].min, ML_ROLE_REGION, l);
    }
    ml_stmt_children(&b->base, walk, l);
    l->cur = outer;
}

static void walk(const ml_Stmt *s, bool in_init, void *user)
{
    Lca *l = user;
    ml_Uid outer = l->cur;
    bool was = l->in_init;

    l->in_init |= in_init;
    if (s->kind == ML_STMT_BLOCK) {
        walk_block(l, ml_as_block(s));
    } else {
        if (s->kind == ML_STMT_STORE && ml_as_store(s)->buffer->uid == l->b->uid)
            touch(l, l->cur);
        ml_stmt_exprs(s, touch_expr, l);
        if (s->kind == ML_STMT_FOR && !l->in_init)
            l->cur = ml_stmt_uid(s);
        ml_stmt_children(s, walk, l);
    }
    l->in_init = was;
    l->cur = outer;
}

/* Above every blockIdx loop, once the buffer is known to be used. */
static bool raise_over_grid(const ml_Stmt *s, void *user)
{
    Lca *l = user;

    if (!s->has_loop)
        return false;
    if (s->kind == ML_STMT_FOR && ml_as_for(s)->thread.axis == ML_AXIS_BLOCK &&
        ml_index_node(l->p.index, ml_stmt_uid(s)) == s)
        touch(l, ml_index_parent(l->p.index, ml_stmt_uid(s)));
    return true;
}

ml_Uid ml_buffer_lca(ml_Ctx *cx, ml_Program p, uint32_t func, const ml_Buffer *b)
{
    Lca l = {.p = p, .b = b};
    const ml_Stmt *body = p.mod->funcs[func]->body;

    (void)cx;
    walk(body, false, &l);
    if (l.any && b->scope.rank == ML_SCOPE_GLOBAL)
        ml_stmt_visit(body, raise_over_grid, &l);
    return l.at;
}
