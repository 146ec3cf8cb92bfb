/*
 * rolling_values - whether a block writes the same to an element whenever it writes it.
 *
 * A block may be left out where its element is there already when the element alone tells
 * the instances that write it, these read nothing that changes meanwhile, and a reduction
 * is whole each time. What it reads may be written meanwhile, by one block of which the
 * same holds, of which all that is read was written before. Source: primitives 11.
 */
#include "primitives/rewrite/rolling.h"

#include "core/shown.h"

typedef struct Values {
    ml_Call *c;
    ml_Uid scope, from; /* from: the outermost loop during which elements are kept */
    ml_UidVec seen;     /* blocks that were found good */
} Values;

static bool no(Values *v, const ml_Block *b, const char *why)
{
    return ml_fail(v->c->cx, ML_E_UNSOUND, ML_TEXT(why), ML_BLOCK(b));
}

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
            return no(v, b,
                      ml_format(cx,
                                "block %s uses loop %s itself: elements that it wrote "
                                "before would not be what it writes now",
                                ml_shown(cx, b), ml_shown(cx, f->var)));
        for (size_t m = 0; outside && m < b->n_iters; m++)
            if (b->iters[m].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(b->iters[m].value, f->var))
                return no(v, b,
                          ml_format(cx,
                                    "block %s reduces over loop %s: an element is not "
                                    "whole when its window moves on",
                                    ml_shown(cx, b), ml_shown(cx, f->var)));
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
            return no(v, b,
                      ml_format(cx,
                                "block %s reads %s, which block %s changes meanwhile: "
                                "elements that it wrote before would not be what it "
                                "writes now",
                                ml_shown(cx, b), ml_shown(cx, buf), ml_shown(cx, w)));
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
        return no(v, b, ml_format(cx, "block %s has side effects", ml_shown(cx, b)));
    if (!tells_instance(v, b, of))
        return no(v, b,
                  ml_format(cx,
                            "an element of %s does not tell the iters of block %s that "
                            "write it",
                            ml_shown(cx, of->buffer), ml_shown(cx, b)));
    if (!follows_iters(v, b, stop))
        return false;
    for (size_t k = 0; k < b->n_reads; k++) {
        const ml_Buffer *buf = b->reads[k].buffer;

        if (ml_write_of(b, buf))
            return no(v, b,
                      ml_format(cx, "block %s goes on from what %s holds", ml_shown(cx, b),
                                ml_shown(cx, buf)));
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
            return no(v, r->block,
                      ml_format(v->c->cx,
                                "block %s writes other elements of %s than of %s: they "
                                "would be left out",
                                ml_shown(v->c->cx, r->block), ml_shown(v->c->cx, o->buffer),
                                ml_shown(v->c->cx, r->buf)));
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
