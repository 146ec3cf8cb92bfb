/*
 * merge_reduction - an init block and the update block after it become one reduction block:
 * the inverse of decompose_reduction.
 *
 * The init moves from before the update's nest to the first reduce iteration of each
 * element. That is right when both touch the same elements in each iteration of their
 * common ancestor, nobody else looks at them in between, and each instance of the update
 * has an element of its own that no other one starts again. Source: primitives 9;
 * ir-and-analysis 2.3 (two-block form).
 */
#include "primitives/rewrite/move.h"

#include "core/shown.h"

enum { INIT, UPDATE };

typedef struct Merge {
    ml_Call *c;
    ml_Ctx *cx;
    const ml_Block *init, *update;
    ml_Uid scope, common;        /* the lowest common ancestor, a loop or the scope block */
    ml_StmtVec i_loops, u_loops; /* of each block, outermost first */
    size_t above;                /* how many of them are at or above `common`: shared */
    ml_Subst solved;             /* init iters in update iters */
    const ml_Store **i_store,
        **u_store; /* one for each written buffer, in the init's order */
    size_t n;
} Merge;

static bool shape(Merge *m, const ml_Block *b, const char *what)
{
    return ml_fail(m->cx, ML_E_MERGE_SHAPE, ML_BLOCK(b), ML_TEXT(what));
}

/* ---- the two blocks */

static bool find_blocks(Merge *m)
{
    ml_Call *c = m->c;
    ml_Uid i = c->args[INIT].uid, u = c->args[UPDATE].uid;
    const ml_Index *ix = c->p.index;

    if (!ml_check_not_root(c, i) || !ml_check_not_root(c, u))
        return false;
    if (i == u || ml_index_scope(ix, i) != ml_index_scope(ix, u))
        return ml_fail(m->cx, ML_E_NOT_SAME_SCOPE, ML_BLOCK_UID(i), ML_BLOCK_UID(u));
    m->init = ml_call_block(c, i);
    m->update = ml_call_block(c, u);
    m->scope = ml_index_scope(ix, i);
    m->common = ml_index_lca(ix, i, u);
    ml_index_loops(m->cx, ix, i, &m->i_loops);
    ml_index_loops(m->cx, ix, u, &m->u_loops);
    while (m->above < m->i_loops.n && m->above < m->u_loops.n &&
           m->i_loops.v[m->above] == m->u_loops.v[m->above])
        m->above++;
    return ml_check_schedulable(c, m->common, i) && ml_check_schedulable(c, m->common, u);
}

static bool read_init(Merge *m)
{
    const ml_Block *b = m->init;

    ML_ASSERT(b);
    const ml_Stmt *const *s = &b->body;
    size_t n = 1;

    if (b->init)
        return ml_fail(m->cx, ML_E_HAS_INIT, ML_BLOCK(b));
    if (!ml_is_spatial_block(b))
        return shape(m, b, "it has iters that are not spatial");
    if (b->n_allocs || b->n_matches)
        return shape(m, b, "it has buffers of its own");
    if (b->body->kind == ML_STMT_SEQ) {
        s = ml_as_seq(b->body)->stmts;
        n = ml_as_seq(b->body)->n;
    }
    if (n != b->n_writes)
        return shape(m, b, "its body is not one store for each buffer that it writes");
    m->n = n;
    m->i_store = ML_ARRAY(m->cx, const ml_Store *, n);
    m->u_store = ML_ARRAY(m->cx, const ml_Store *, n);
    for (size_t k = 0; k < n; k++) {
        if (s[k]->kind != ML_STMT_STORE || ml_as_store(s[k])->mask)
            return shape(m, b, "its body is not one store for each buffer that it writes");
        m->i_store[k] = ml_as_store(s[k]);
        m->u_store[k] = NULL;
        for (size_t j = 0; j < k; j++)
            if (m->i_store[j]->buffer->uid == m->i_store[k]->buffer->uid)
                return shape(m, b,
                             "its body is not one store for each buffer that it writes");
        if (ml_read_of(b, m->i_store[k]->buffer))
            return shape(m, b, "it reads what it writes");
    }
    return true;
}

typedef struct Look {
    Merge *m;
    const char *bad;
    const ml_Store *const *store; /* when loads are looked at */
} Look;

static size_t written(const Merge *m, const ml_Buffer *b)
{
    size_t k = 0;

    while (k < m->n && m->i_store[k]->buffer->uid != b->uid)
        k++;
    return k;
}

static bool find_stores(const ml_Stmt *s, void *user)
{
    Look *l = user;

    if (s->kind == ML_STMT_BLOCK)
        l->bad = "it contains blocks";
    if (s->kind != ML_STMT_STORE || l->bad)
        return !l->bad;
    const ml_Store *st = ml_as_store(s);
    size_t k = written(l->m, st->buffer);

    if (k == l->m->n)
        l->bad = "it stores to a buffer that the init block does not write";
    else if (!l->m->u_store[k])
        l->m->u_store[k] = st;
    else
        for (size_t d = 0; d < st->n; d++)
            if (st->indices[d] != l->m->u_store[k]->indices[d])
                l->bad = "it stores to several elements of one buffer";
    if (st->mask)
        l->bad = "it stores under a mask";
    return true;
}

static bool look_at_load(const ml_Expr *e, void *user)
{
    Look *l = user;

    for (size_t k = 0; k < l->m->n; k++)
        if (e->kind == ML_EXPR_VAR && e->as.var->uid == l->m->i_store[k]->buffer->data->uid)
            l->bad = "it uses a buffer through its pointer";
    if (e->kind != ML_EXPR_LOAD)
        return true;
    size_t k = written(l->m, e->as.buffer);

    if (k == l->m->n)
        return true;
    for (size_t d = 0; d < e->n_args && l->m->u_store[k]; d++)
        if (d >= l->m->u_store[k]->n || e->args[d] != l->m->u_store[k]->indices[d])
            l->bad = "it reads another element than it writes";
    return true;
}

static void look_at_expr(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    ml_expr_visit(e, look_at_load, user);
}

static bool find_loads(const ml_Stmt *s, void *user)
{
    ml_stmt_exprs(s, look_at_expr, user);
    return true;
}

static bool read_update(Merge *m)
{
    const ml_Block *b = m->update;
    Look l = {.m = m};
    const char *why = NULL;

    if (b->init)
        return ml_fail(m->cx, ML_E_HAS_INIT, ML_BLOCK(b));
    for (size_t k = 0; k < b->n_iters; k++)
        if (b->iters[k].kind != ML_ITER_SPATIAL && b->iters[k].kind != ML_ITER_REDUCE)
            return shape(m, b, "it has iters that are neither spatial nor reduce");
    if (b->n_allocs || b->n_matches)
        return shape(m, b, "it has buffers of its own");
    if (!ML_PROVE(m->c, ML_SOUND, ml_is_affine(m->cx, m->c->facts, m->c->p, b->tag, &why)))
        return ml_fail(m->cx, ML_E_NOT_AFFINE, ML_BLOCK(b), ML_TEXT(why));
    ml_stmt_visit(b->body, find_stores, &l);
    if (!l.bad)
        ml_stmt_visit(b->body, find_loads, &l);
    if (l.bad)
        return shape(m, b, l.bad);
    for (size_t k = 0; k < m->n; k++) {
        if (!m->u_store[k])
            return shape(m, b,
                         ml_format(m->cx,
                                   "it does not store to %s, which the init block writes",
                                   ml_shown(m->cx, m->i_store[k]->buffer)));
        for (size_t j = 0; j < b->n_iters; j++)
            for (size_t d = 0; d < m->u_store[k]->n && b->iters[j].kind == ML_ITER_REDUCE;
                 d++)
                if (ml_expr_uses_var(m->u_store[k]->indices[d], b->iters[j].var))
                    return shape(m, b, "a reduce iter is in a store index");
    }
    return true;
}

/* ---- who else is there */

static size_t element_of(const Merge *m, ml_Uid block)
{
    const ml_Index *ix = m->c->p.index;
    const ml_Stmt *body = ml_node_body(ml_index_node(ix, m->common));
    ml_Uid child = block;

    while (ml_index_parent(ix, child) != m->common)
        child = ml_index_parent(ix, child);
    for (size_t k = 0; body->kind == ML_STMT_SEQ && k < ml_as_seq(body)->n; k++)
        if (ml_as_seq(body)->stmts[k] == ml_index_node(ix, child))
            return k;
    return 0;
}

static bool out_of_order(Merge *m, const ml_Buffer *buf, const ml_Block *b, const char *why)
{
    const ml_Stmt *at = ml_index_node(m->c->p.index, m->common);

    return ml_fail(m->cx, ML_E_ORDER_VIOLATED,
                   at->kind == ML_STMT_FOR ? ML_LOOP(at) : ML_BLOCK(at), ML_BUFFER(buf),
                   ML_TEXT(why), ML_BLOCK(b));
}

static bool check_others(Merge *m)
{
    ml_Ctx *cx = m->cx;
    const ml_Stmt *body = ml_node_body(ml_index_node(m->c->p.index, m->common));
    size_t from = element_of(m, m->init->tag), to = element_of(m, m->update->tag);

    for (size_t k = 0; k < m->n; k++) {
        const ml_Buffer *buf = m->i_store[k]->buffer;
        ml_UidVec writers = {0};
        ml_Text names = {0};

        ml_writers(cx, m->c->facts, m->c->p, m->scope, buf, &writers);
        for (size_t j = 0; j < writers.n; j++)
            ml_text_fmt(&names, "%s%s", j ? ", " : "",
                        ml_call_block(m->c, writers.v[j])->name);
        if (writers.n != 2)
            ml_fail(cx, ML_E_MULTI_WRITER, ML_BUFFER(buf), ML_NUMBER("writers", writers.n),
                    ML_TEXT(ml_text_z(&names)));
        ml_text_free(&names);
        if (writers.n != 2)
            return false;
    }
    if (from >= to)
        return out_of_order(m, m->i_store[0]->buffer, m->init,
                            ml_format(cx, "block %s does not come before block %s",
                                      ml_shown(cx, m->init), ml_shown(cx, m->update)));
    for (size_t k = from; k <= to; k++) {
        const ml_Stmt *s = ml_as_seq(body)->stmts[k];
        ml_StmtVec kids = {0};

        if (s->kind == ML_STMT_BLOCK)
            ml_push(cx, &kids, s);
        else
            ml_child_blocks(cx, s, &kids);
        if (kids.n == 0 && !ml_is_noop(s))
            return out_of_order(m, m->i_store[0]->buffer, m->update,
                                "a statement outside of blocks stands between them");
        for (size_t j = 0; j < kids.n; j++) {
            const ml_Block *b = ml_as_block(kids.v[j]);

            if (b == m->init || b == m->update)
                continue;
            for (size_t i = 0; i < m->n; i++)
                if (ml_read_of(b, m->i_store[i]->buffer))
                    return out_of_order(m, m->i_store[i]->buffer, b,
                                        ml_format(cx, "block %s reads %s in between",
                                                  ml_shown(cx, b),
                                                  ml_shown(cx, m->i_store[i]->buffer)));
            for (size_t i = 0; i < m->init->n_reads; i++)
                if (ml_write_of(b, m->init->reads[i].buffer))
                    return out_of_order(
                        m, m->init->reads[i].buffer, b,
                        ml_format(cx, "block %s writes %s, which block %s reads",
                                  ml_shown(cx, b), ml_shown(cx, m->init->reads[i].buffer),
                                  ml_shown(cx, m->init)));
        }
    }
    return true;
}

/* ---- loops and elements */

static bool check_loops(Merge *m)
{
    for (size_t k = 0; k < m->u_loops.n; k++) {
        const ml_For *f = ml_as_for(m->u_loops.v[k]);
        bool used = false;

        for (size_t j = 0; j < m->update->n_iters; j++) {
            bool uses = ml_expr_uses_var(m->update->iters[j].value, f->var);

            used |= uses;
            if (k < m->above && uses && m->update->iters[j].kind == ML_ITER_REDUCE)
                return ml_fail(
                    m->cx, ML_E_LOOP_TOO_LOW, ML_LOOP(f),
                    ML_LOOP(m->u_loops.v[m->above < m->u_loops.n ? m->above : k]),
                    ML_ITER(m->update, j), ML_BLOCK(m->update));
        }
        if (k >= m->above && !used && !ml_is_int(f->extent, 1))
            return ml_fail(
                m->cx, ML_E_UNSOUND,
                ML_TEXT(ml_format(m->cx,
                                  "no iter of block %s uses loop %s: it adds up over "
                                  "its iterations, and would start anew in each",
                                  ml_shown(m->cx, m->update), ml_shown(m->cx, f->var))),
                ML_LOOP(f), ML_BLOCK(m->update));
    }
    return true;
}

static bool mismatch(Merge *m, const ml_Buffer *buf, const char *why)
{
    ml_fail(m->cx, ML_E_REGION_MISMATCH, ML_BLOCK(m->init), ML_BLOCK(m->update),
            ML_BUFFER(buf), ML_TEXT(why));
    ml_error_set_unproved(m->cx);
    return false;
}

/* The init's iters in those of the update, by the indices at which both store. */
static bool solve(Merge *m)
{
    ml_Ctx *cx = m->cx;
    const ml_Block *b = m->init;
    const ml_Store *is = m->i_store[0], *us = m->u_store[0];
    ml_Arith *ar = ml_arith_at(cx, m->c->p, b->tag);
    ml_Map *inverse = ml_map_new(cx);
    bool bare = true;

    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Expr *to = NULL;

        for (size_t d = 0; d < is->n && !to; d++)
            if (is->indices[d]->kind == ML_EXPR_VAR &&
                is->indices[d]->as.var->uid == b->iters[k].var->uid)
                to = us->indices[d];
        if (!to && ml_is_int(b->iters[k].extent, 1))
            to = b->iters[k].min;
        bare &= to != NULL;
        if (to)
            ml_subst_var(cx, &m->solved, b->iters[k].var,
                         ml_cast(cx, b->iters[k].var->type, to));
    }
    if (!bare) {
        ml_DomVec dom = {0};

        for (size_t k = 0; k < b->n_iters; k++)
            ml_push(cx, &dom,
                    ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
        ml_IterMap map = ml_iter_detect(ar, is->indices, is->n, dom.v, dom.n,
                                        ml_bool(cx, true), ML_BIJECTIVE, true);

        if (!map.ok || !ml_iter_inverse(ar, &map, us->indices, inverse))
            return mismatch(m, is->buffer,
                            "the indices at which the init stores cannot be "
                            "solved for its iters");
        m->solved = (ml_Subst){0};
        for (size_t k = 0; k < b->n_iters; k++) {
            const ml_Expr *to = ml_map_get(inverse, b->iters[k].var->uid);

            ml_subst_var(cx, &m->solved, b->iters[k].var,
                         ml_cast(cx, b->iters[k].var->type, to ? to : b->iters[k].min));
        }
    }
    ar = ml_arith_at(cx, m->c->p, m->update->tag);
    ml_arith_bind_iters(ar, m->update);
    for (size_t k = 0; k < m->n; k++)
        for (size_t d = 0; d < m->i_store[k]->n; d++) {
            const ml_Expr *at = m->i_store[k]->indices[d],
                          *want = m->u_store[k]->indices[d];

            if (m->solved.vars)
                at = ml_expr_subst(cx, at, &m->solved);
            if (at != want &&
                (!ml_promote(cx, &at, &want) || !ml_prove_equal(ar, at, want)))
                return mismatch(m, m->i_store[k]->buffer,
                                "they store to different elements of it");
        }
    return true;
}

static bool same_end(Merge *m, ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (!a || !b || !ml_promote(m->cx, &a, &b))
        return false;
    return a == b || ml_prove_equal(ar, a, b);
}

/* What a block stores to in every iteration of the common ancestor, exactly: also a guard
 * on the loops above must not keep it from that. */
static bool box_of(Merge *m, const ml_Block *b, const ml_Store *st, const ml_StmtVec *loops,
                   ml_Arith *ar, ml_Interval *out)
{
    ml_Ctx *cx = m->cx;
    ml_DomVec dom = {0};
    ml_Subst sub = {0};
    ml_Range *at = ML_ARRAY(cx, ml_Range, st->n + 1);

    for (size_t k = m->above; k < loops->n; k++) {
        const ml_For *f = ml_as_for(loops->v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    for (size_t k = 0; k < b->n_iters; k++)
        ml_subst_var(cx, &sub, b->iters[k].var, b->iters[k].value);
    for (size_t d = 0; d < st->n; d++)
        at[d] =
            (ml_Range){sub.vars ? ml_expr_subst(cx, st->indices[d], &sub) : st->indices[d],
                       ml_int(cx, st->indices[d]->type, 1)};
    ml_Interval *most = ML_ARRAY(cx, ml_Interval, st->n + 1);

    if (!ml_region_lower(ar, at, st->n, dom.v, dom.n, b->predicate, out))
        return false;
    ml_region_upper(ar, at, st->n, dom.v, dom.n, b->predicate, most);
    for (size_t d = 0; d < st->n; d++)
        if (!same_end(m, ar, out[d].min, most[d].min) ||
            !same_end(m, ar, out[d].max, most[d].max))
            return false;
    return true;
}

static bool same_boxes(Merge *m, const ml_Store *is, const ml_Store *us)
{
    ml_Ctx *cx = m->cx;
    ml_Interval *a = ML_ARRAY(cx, ml_Interval, is->n + 1),
                *b = ML_ARRAY(cx, ml_Interval, is->n + 1);
    const ml_Stmt *common = ml_index_node(m->c->p.index, m->common);
    ml_Arith *ar = ml_arith_at(cx, m->c->p, m->common);

    if (common->kind == ML_STMT_FOR)
        ml_arith_bind_loop(ar, ml_as_for(common));
    else
        ml_arith_bind_iters(ar, ml_as_block(common));
    if (!box_of(m, m->init, is, &m->i_loops, ar, a) ||
        !box_of(m, m->update, us, &m->u_loops, ar, b))
        return false;
    for (size_t d = 0; d < is->n; d++)
        if (!same_end(m, ar, a[d].min, b[d].min) || !same_end(m, ar, a[d].max, b[d].max))
            return false;
    return true;
}

static void collect(ml_Ctx *cx, const ml_Expr *p, ml_StmtVec *loops, bool keep_reduce,
                    const Merge *m, const ml_Expr **out)
{
    if (p->kind == ML_EXPR_AND) {
        collect(cx, p->args[0], loops, keep_reduce, m, out);
        collect(cx, p->args[1], loops, keep_reduce, m, out);
        return;
    }
    for (size_t k = m->above; k < loops->n && !keep_reduce; k++)
        for (size_t j = 0; j < m->update->n_iters; j++)
            if (m->update->iters[j].kind == ML_ITER_REDUCE &&
                ml_expr_uses_var(p, ml_as_for(loops->v[k])->var) &&
                ml_expr_uses_var(m->update->iters[j].value, ml_as_for(loops->v[k])->var))
                return;
    for (size_t k = m->above; k < loops->n; k++) {
        const ml_For *f = ml_as_for(loops->v[k]);

        if (ml_is_int(f->extent, 1))
            p = ml_expr_subst1(cx, p, f->var, f->min);
    }
    *out = ml_and(cx, *out, p);
}

/* The init's nest is the update's without the reduce loops, under other names, as
 * decompose_reduction makes it: the same values under the same conditions. */
static bool same_nests(Merge *m)
{
    ml_Ctx *cx = m->cx;
    ml_Subst loops = {0}, values = {0};
    size_t at = m->above;
    const ml_Expr *pi = ml_bool(cx, true), *pu = ml_bool(cx, true);
    ml_Arith *ar = ml_arith_at(cx, m->c->p, m->update->tag);

    for (size_t k = m->above; k < m->u_loops.n; k++) {
        const ml_For *u = ml_as_for(m->u_loops.v[k]);
        bool spatial = false;

        for (size_t j = 0; j < m->update->n_iters; j++)
            spatial |= m->update->iters[j].kind == ML_ITER_SPATIAL &&
                       ml_expr_uses_var(m->update->iters[j].value, u->var);
        if (!spatial)
            continue;
        if (at == m->i_loops.n)
            return false;
        const ml_For *i = ml_as_for(m->i_loops.v[at++]);
        const ml_Expr *min = i->min, *extent = i->extent;

        if (loops.vars) {
            min = ml_expr_subst(cx, min, &loops);
            extent = ml_expr_subst(cx, extent, &loops);
        }
        if (min != u->min || extent != u->extent)
            return false;
        ml_subst_var(cx, &loops, i->var, ml_var(cx, u->var));
    }
    if (at != m->i_loops.n)
        return false;
    for (size_t k = 0; k < m->update->n_iters; k++)
        ml_subst_var(cx, &values, m->update->iters[k].var, m->update->iters[k].value);
    for (size_t k = 0; k < m->init->n_iters; k++) {
        const ml_Iter *it = &m->init->iters[k];
        const ml_Expr *a = it->value,
                      *b = ml_expr_subst(cx, ml_var(cx, it->var), &m->solved);

        a = loops.vars ? ml_expr_subst(cx, a, &loops) : a;
        b = values.vars ? ml_expr_subst(cx, b, &values) : b;
        if (a != b && (!ml_promote(cx, &a, &b) || !ml_prove_equal(ar, a, b)))
            return false;
    }
    collect(cx, m->init->predicate, &m->i_loops, true, m, &pi);
    collect(cx, m->update->predicate, &m->u_loops, false, m, &pu);
    return (loops.vars ? ml_expr_subst(cx, pi, &loops) : pi) == pu;
}

/* Instances of the update in one iteration of the common ancestor are different, and
 * different ones have different elements: otherwise one would start another's anew. */
static bool check_instances(Merge *m)
{
    ml_Ctx *cx = m->cx;
    const ml_Block *b = m->update;
    ml_DomVec dom = {0}, iters = {0};
    const ml_Expr **values = ML_ARRAY(cx, const ml_Expr *, b->n_iters + 1);
    const char *why = NULL;

    for (size_t k = m->above; k < m->u_loops.n; k++) {
        const ml_For *f = ml_as_for(m->u_loops.v[k]);

        ml_push(cx, &dom, ((ml_Dom){f->var, f->min, f->extent}));
    }
    for (size_t k = 0; k < b->n_iters; k++) {
        values[k] = b->iters[k].value;
        if (b->iters[k].kind == ML_ITER_SPATIAL)
            ml_push(cx, &iters,
                    ((ml_Dom){b->iters[k].var, b->iters[k].min, b->iters[k].extent}));
    }
    ml_Arith *ar = ml_arith_at(cx, m->c->p, m->common);
    const ml_Expr *yes = ml_bool(cx, true);

    if (!ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, yes, ML_BIJECTIVE, false) &&
        !ml_iter_holds(ar, values, b->n_iters, dom.v, dom.n, b->predicate, ML_BIJECTIVE,
                       false))
        why =
            "cannot show that the iterations of block %s compute different instances; one "
            "would start another's sum anew";
    ar = ml_arith_at(cx, m->c->p, b->tag);
    for (size_t k = 0; k < m->n && !why; k++)
        if (!ml_iter_holds(ar, m->u_store[k]->indices, m->u_store[k]->n, iters.v, iters.n,
                           yes, ML_BIJECTIVE, false))
            why = "cannot show that different spatial iters of block %s store to different "
                  "elements; one would start another's sum anew";
    if (!why)
        return true;
    ml_Text t = {0};

    for (const char *p = why; *p; p++)
        if (p[0] == '%' && p[1] == 's') {
            ml_text_add(&t, b->name);
            p++;
        } else
            ml_text_char(&t, *p);
    ml_fail(cx, ML_E_UNSOUND, ML_TEXT(ml_text_z(&t)), ML_BLOCK(b));
    ml_text_free(&t);
    ml_error_set_unproved(cx);
    return false;
}

/* ---- building */

static const ml_Stmt *merged(Merge *m)
{
    ml_Ctx *cx = m->cx;
    ml_Block b = *m->update;
    ml_Region *reads = ML_ARRAY(cx, ml_Region, b.n_reads + m->init->n_reads + 1);
    size_t n = strlen(b.name), cut = strlen("_update");

    b.n_reads = 0;
    for (size_t k = 0; k < m->update->n_reads; k++)
        if (written(m, m->update->reads[k].buffer) == m->n)
            reads[b.n_reads++] = m->update->reads[k];
    for (size_t k = 0; k < m->init->n_reads; k++) {
        ml_Region r = m->init->reads[k];
        bool there = false;

        if (m->solved.vars)
            r = ml_region_subst(cx, r, &m->solved);
        for (size_t j = 0; j < b.n_reads; j++)
            there |= ml_same_region(&reads[j], &r);
        if (!there)
            reads[b.n_reads++] = r;
    }
    b.reads = reads;
    const ml_Stmt **init = ML_ARRAY(cx, const ml_Stmt *, m->n + 1);

    for (size_t k = 0; k < m->n; k++) { /* at the update's own indices */
        const ml_Store *st = m->i_store[k];

        init[k] =
            ml_store(cx, st->buffer,
                     m->solved.vars ? ml_expr_subst(cx, st->value, &m->solved) : st->value,
                     m->u_store[k]->indices, m->u_store[k]->n, NULL);
    }
    b.init = ml_seq(cx, init, m->n);
    if (n > cut && ml_streq(b.name + n - cut, "_update"))
        b.name = ml_strdup(cx, (ml_Str){b.name, n - cut});
    return ml_block_from(cx, &b);
}

static bool merge_reduction(ml_Call *c)
{
    Merge m = {.c = c, .cx = c->cx};
    ml_Removal removal;

    if (!find_blocks(&m) || !read_init(&m) || !read_update(&m) || !check_others(&m) ||
        !check_loops(&m) || !solve(&m))
        return false;
    bool nests = same_nests(&m);

    for (size_t k = 0; k < m.n && !nests && ml_call_asks(c, ML_SOUND); k++)
        if (!same_boxes(&m, m.i_store[k], m.u_store[k]))
            return mismatch(&m, m.i_store[k]->buffer,
                            "cannot show that what is initialised is what is updated");
    if (!ML_PROVE(c, ML_SOUND, check_instances(&m)))
        return false;
    ml_Uid update = m.update->tag;

    ml_call_replace(c, update, merged(&m));
    if (!ml_leaf_removal(c, m.init->tag, &removal))
        return false;
    ml_call_replace(c, removal.uid, removal.with);
    ml_call_subject(c, ML_BLOCK_OF, update, NULL);
    ml_call_return_block(c, update);
    return true;
}

static const ml_Param params[] = {
    ML_PARAM("init_block", ML_P_BLOCK,
             "the block that stores what the reduction starts from"),
    ML_PARAM("update_block", ML_P_BLOCK, "the block that accumulates"),
};

const ml_Primitive ml_prim_merge_reduction = {
    ML_PRIM(merge_reduction, "MergeReduction"),
    .group = "reductions",
    .summary = "make an init block and its update one reduction",
    .help = "The inverse of decompose_reduction: the init block goes, the update block "
            "gets its\n"
            "stores as init. Both touch the same elements in each iteration of what holds "
            "them.",
    ML_PARAMS(params),
    .result = ML_R_BLOCK,
    .posts = (const ml_Post[]){{ML_SOUND, ML_BLOCK_OF, ml_check_reduction, NULL},
                               {ML_SOUND, ML_BLOCK_OF, ml_check_accumulation, NULL},
                               {0}},
    .errors =
        (const ml_ErrorCode[]){ML_E_ROOT_BLOCK, ML_E_NOT_SAME_SCOPE, ML_E_HAS_INIT,
                               ML_E_MERGE_SHAPE, ML_E_NOT_AFFINE, ML_E_MULTI_WRITER,
                               ML_E_ORDER_VIOLATED, ML_E_LOOP_TOO_LOW, ML_E_REGION_MISMATCH,
                               ML_E_NOT_SCHEDULABLE, ML_E_UNSOUND, ML_E_OK},
};
