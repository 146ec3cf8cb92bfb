/*
 * rolling_values - whether a block writes the same to an element whenever it writes it.
 *
 * A block may be left out where its element is there already when the element alone tells
 * the instances that write it, these read nothing that changes meanwhile, and a reduction
 * is whole each time. What it reads may be written meanwhile, by one block of which the
 * same holds, of which all that is read was written before. Source: primitives 11.
 */
#include "moonloop/primitives/rewrite/rolling.h"

typedef struct Values {
    ml_Call *c;
    ml_Uid scope, from; /* from: the outermost loop during which elements are kept */
    ml_UidVec seen;     /* blocks that were found good */
} Values;

/* ---- one element, one set of instances */

static bool is_unit(const ml_Iter *it)
{
    return ml_is_int(it->extent, 1);
}

static bool is_index(const ml_Region *r, const ml_Var *v)
{
    for (size_t d = 0; d < r->buffer->rank; d++)
        if (r->ranges[d].min->kind == ML_EXPR_VAR &&
            r->ranges[d].min->as.var->uid == v->uid && ml_is_int(r->ranges[d].extent, 1))
            return true;
    return false;
}

/* Ranges that begin at different places do not overlap. */
static bool keeps_apart(ml_Arith *ar, const ml_Range *r)
{
    if (ml_is_int(r->extent, 1))
        return true;
    if (r->extent->kind != ML_EXPR_INT || r->extent->as.i <= 0)
        return false;
    ml_Modular m = ml_arith_modular(ar, r->min);

    return m.coeff % r->extent->as.i == 0; /* 0: always the same place */
}

static bool tells_instance(Values *v, const ml_Block *b, const ml_Region *r)
{
    ml_Ctx *cx = v->c->cx;
    ml_Dom *dom = ML_ARRAY(cx, ml_Dom, b->n_iters + 1u);
    const ml_Expr **idx = ML_ARRAY(cx, const ml_Expr *, r->buffer->rank + 1u);
    size_t n = 0, n_idx = 0;
    bool plain = true;

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        if (it->kind == ML_ITER_REDUCE || is_unit(it))
            continue;
        dom[n++] = (ml_Dom){it->var, it->min, it->extent};
        plain &= is_index(r, it->var);
    }
    if (plain)
        return true;
    ml_Arith *ar = ml_arith_at(cx, v->c->p, b->tag);

    ml_arith_bind_iters(ar, b);
    for (size_t d = 0; d < r->buffer->rank; d++) {
        bool own = false;

        for (size_t k = 0; k < n; k++)
            own |= ml_expr_uses_var(r->ranges[d].min, dom[k].var);
        if (own && !keeps_apart(ar, &r->ranges[d]))
            return false;
        if (own)
            idx[n_idx++] = r->ranges[d].min;
    }
    return ml_iter_holds(ar, idx, n_idx, dom, n, ml_bool(cx, true), ML_BIJECTIVE, false);
}

/* ---- what else an instance depends on */

typedef struct Effects {
    bool found;
} Effects;

static void look_expr(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    ((Effects *)user)->found |= (e->flags & (ML_X_EFFECT | ML_X_OPAQUE)) != 0;
}

static bool look_stmt(const ml_Stmt *s, void *user)
{
    ml_stmt_exprs(s, look_expr, user);
    return !((Effects *)user)->found;
}

static bool has_effects(const ml_Block *b)
{
    Effects e = {false};

    ml_stmt_visit(b->body, look_stmt, &e);
    if (b->init)
        ml_stmt_visit(b->init, look_stmt, &e);
    return e.found;
}

/* Its loops, from the outermost of the scope down to `stop`, stand still while it reduces;
 * and what it does follows its iters alone. */
static bool follows_iters(Values *v, const ml_Block *b, ml_Uid stop)
{
    ml_Ctx *cx = v->c->cx;
    ml_StmtVec loops = {0};
    bool outside = true;

    ml_index_loops(cx, v->c->p.index, b->tag, &loops);
    for (size_t k = 0; k < loops.n; k++) {
        const ml_For *f = ml_as_for(loops.v[k]);

        outside &=
            f->var->uid == stop || ml_index_is_above(v->c->p.index, f->var->uid, stop);
        if (ml_stmt_uses_var(b->body, f->var) ||
            (b->init && ml_stmt_uses_var(b->init, f->var)))
            return ml_fail_as(v->c->cx, ML_E_VALUE_CHANGED,
                              "block {0} uses loop {1} itself: elements that it wrote "
                              "before would not be what it writes now",
                              ML_BLOCK(b), ML_LOOP(f));
        for (size_t m = 0; outside && m < b->n_iters; m++)
            if (b->iters[m].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(b->iters[m].value, f->var))
                return ml_fail_as(v->c->cx, ML_E_REDUCTION_CHANGED,
                                  "block {0} reduces over loop {1}: an element is not "
                                  "whole when its window moves on",
                                  ML_BLOCK(b), ML_LOOP(f));
    }
    return true;
}

static bool same_each_time(Values *v, const ml_Block *b, const ml_Region *of, ml_Uid stop);

/* What is read stays the same while `from` runs, or is made anew in the same way. */
static bool reads_same(Values *v, const ml_Block *b, const ml_Buffer *buf)
{
    ml_Ctx *cx = v->c->cx;
    const ml_Index *ix = v->c->p.index;
    ml_UidVec writers = {0};

    ml_writers(cx, v->c->facts, v->c->p, v->scope, buf, &writers);
    for (size_t k = 0; k < writers.n; k++) {
        const ml_Block *w = ml_as_block(ml_index_node(ix, writers.v[k]));
        const ml_Region *of = NULL;

        if (!ml_index_is_above(ix, v->from, w->tag))
            continue;
        for (size_t m = 0; m < w->n_writes; m++)
            if (w->writes[m].buffer->uid == buf->uid)
                of = &w->writes[m];
        if (writers.n > 1 || !of || !ml_index_before(ix, w->tag, b->tag))
            return ml_fail_as(
                v->c->cx, ML_E_VALUE_CHANGED,
                "block {0} reads {1}, which block {2} changes meanwhile: elements that it "
                "wrote before would not be what it writes now",
                ML_BLOCK(b), ML_BUFFER(buf), ML_BLOCK(w));
        if (!ml_is_covered(cx, v->c->facts, v->c->p, b->tag, true) ||
            !same_each_time(v, w, of, ml_index_lca(ix, w->tag, b->tag)))
            return false;
    }
    return true;
}

static bool same_each_time(Values *v, const ml_Block *b, const ml_Region *of, ml_Uid stop)
{
    ml_Ctx *cx = v->c->cx;

    for (size_t k = 0; k < v->seen.n; k++)
        if (v->seen.v[k] == b->tag)
            return true;
    if (has_effects(b))
        return ml_fail_as(v->c->cx, ML_E_VALUE_CHANGED, "block {0} has side effects",
                          ML_BLOCK(b));
    if (!tells_instance(v, b, of))
        return ml_fail_as(
            v->c->cx, ML_E_VALUE_CHANGED,
            "an element of {0} does not tell the iters of block {1} that write it",
            ML_BUFFER(of->buffer), ML_BLOCK(b));
    if (!follows_iters(v, b, stop))
        return false;
    for (size_t k = 0; k < b->n_reads; k++) {
        const ml_Buffer *buf = b->reads[k].buffer;

        if (ml_write_of(b, buf))
            return ml_fail_as(v->c->cx, ML_E_VALUE_CHANGED,
                              "block {0} goes on from what {1} holds", ML_BLOCK(b),
                              ML_BUFFER(buf));
        if (!reads_same(v, b, buf))
            return false;
    }
    ml_push(cx, &v->seen, b->tag);
    return true;
}

/* Of other buffers the same elements are left out: they are there as well. */
static bool check_others(Values *v, const ml_Rolling *r)
{
    for (size_t k = 0; k < r->block->n_writes; k++) {
        const ml_Region *o = &r->block->writes[k];

        if (o->buffer->rank != r->buf->rank ||
            !ml_same_ranges(o->ranges, r->region->ranges, r->buf->rank))
            return ml_fail_as(v->c->cx, ML_E_INSTANCES_LOST,
                              "block {0} writes other elements of {1} than of {2}: they "
                              "would be left out",
                              ML_BLOCK(r->block), ML_BUFFER(o->buffer), ML_BUFFER(r->buf));
    }
    return true;
}

bool ml_roll_values(ml_Rolling *r)
{
    Values v = {.c = r->c,
                .scope = ml_index_scope(r->c->p.index, r->block->tag),
                .from = r->axes[r->roll].loop->var->uid};

    return same_each_time(&v, r->block, r->region, r->tile->var->uid) &&
           check_others(&v, r);
}
