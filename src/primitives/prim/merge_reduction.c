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
#include "moonloop/primitives/rewrite/merge_reduction.h"
#include "moonloop/primitives/rewrite/move.h"

#include "moonloop/core/shown.h"

enum { INIT, UPDATE };

typedef ml_MergeReduction Merge;

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
    if (i == u)
        return ml_fail_as(m->cx, ML_E_NOT_SAME_SCOPE,
                          "block {0} is given twice; two are needed", ML_BLOCK_UID(i));
    if (ml_index_scope(ix, i) != ml_index_scope(ix, u))
        return ml_fail_apart(c, i, u);
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
        ml_stmt_visit_exprs_below(b->body, ML_ROLES_ALL, look_at_load, &l);
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

    if (at->kind == ML_STMT_FOR)
        return ml_fail(m->cx, ML_E_ORDER_VIOLATED, ML_LOOP(at), ML_BUFFER(buf),
                       ML_TEXT(why), ML_BLOCK(b));
    return ml_fail_as(m->cx, ML_E_ORDER_VIOLATED,
                      "the accesses of buffer {1} in block {0} stand against it: {2}",
                      ML_BLOCK(at), ML_BUFFER(buf), ML_TEXT(why), ML_BLOCK(b));
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
            return ml_fail_as(m->cx, ML_E_REDUCTION_CHANGED,
                              "no iter of block {0} uses loop {1}: it adds up over its "
                              "iterations, and would start anew in each",
                              ML_BLOCK(m->update), ML_LOOP(f));
    }
    return true;
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
    ml_block_keep_said(cx, m->update, &b);
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
        !check_loops(&m) || !ml_merge_solve(&m))
        return false;
    if (!ML_PROVE(c, ML_SOUND, ml_merge_same_elements(&m)))
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
                               ML_E_NOT_SCHEDULABLE, ML_E_INIT_MISPLACED,
                               ML_E_REDUCTION_CHANGED, ML_E_WRITES_OVERLAP, ML_E_OK},
};
