/*
 * merge - put the bodies of loops of equal extents into one loop (loop fusion).
 *
 * Iteration t of the merged nest runs iteration t of each body, in argument order. What one
 * body touches at t' and another, later in the text, at t, with a write among them, must
 * still come in this order: t' before t, or t' = t and the bodies in this order. So must
 * what the nests and the statements between them touch. Source: primitives 6, merge;
 * Allen and Kennedy, Optimizing Compilers for Modern Architectures, section 6.2.5.
 */
#include "moonloop/primitives/rewrite/merge.h"

#include "moonloop/core/shown.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

#include "moonloop/core/base/fault.h"

enum { LOOPS };

typedef ml_MergeNest Nest;
typedef ml_Merge Merge;

/* ---- the nests */

static bool find_ancestor(Merge *m, const ml_Given *g)
{
    ml_Call *c = m->c;
    const ml_Index *ix = c->p.index;

    for (size_t k = 0; k < g->n; k++)
        for (size_t j = 0; j < k; j++)
            if (g->uids[k] == g->uids[j])
                return ml_fail(c->cx, ML_E_DUPLICATE_LOOP, ML_LOOP_UID(g->uids[k]));
    m->above = g->uids[0];
    for (size_t k = 1; k < g->n; k++) {
        if (ml_index_func(ix, g->uids[k]) == ml_index_func(ix, g->uids[0]) &&
            ml_index_scope(ix, g->uids[k]) == ml_index_scope(ix, g->uids[0]))
            m->above = ml_index_lca(ix, m->above, g->uids[k]);
        else
            return ml_fail_apart(c, g->uids[k], g->uids[0]);
    }
    for (size_t k = 0; k < g->n; k++)
        if (m->above == g->uids[k])
            return ml_fail_apart(c, g->uids[k], g->uids[k ? 0 : 1]);
    return true;
}

static bool find_nest(Merge *m, ml_Uid given, Nest *nest)
{
    ml_Call *c = m->c;
    ml_Uid up = given;

    for (; up != m->above; up = ml_index_parent(c->p.index, up))
        nest->depth++;
    if (nest->depth > ML_MERGE_DEPTH)
        return ml_fail(c->cx, ML_E_TOO_DEEP, ML_NUMBER("levels", ML_MERGE_DEPTH));
    up = given;
    for (size_t k = nest->depth; k-- > 0; up = ml_index_parent(c->p.index, up))
        nest->loop[k] = ml_call_loop(c, up);
    for (size_t k = 0; k < nest->depth; k++) {
        const ml_For *f = nest->loop[k];

        if (!ml_check_plain_loop(c, f))
            return false;
        if (!ml_prove_equal(ml_arith_at(c->cx, c->p, f->var->uid), f->min,
                            ml_int(c->cx, f->min->type, 0)))
            return ml_fail(c->cx, ML_E_LOOP_NOT_ZERO_BASED, ML_LOOP(f),
                           ML_EXPRESSION(f->min));
    }
    for (size_t k = 1; k < nest->depth; k++)
        if (nest->loop[k - 1]->body != &nest->loop[k]->base)
            return ml_fail(c->cx, ML_E_NOT_ONLY_CHILD, ML_LOOP(nest->loop[k]),
                           ML_LOOP(nest->loop[k - 1]));
    if (!ml_check_schedulable(c, m->above, given))
        return false;
    ml_child_blocks(c->cx, &nest->loop[nest->depth - 1]->base, &nest->blocks);
    return true;
}

static bool find_position(Merge *m, Nest *nest)
{
    for (nest->at = 0; nest->at < m->n_body; nest->at++)
        if (m->body[nest->at] == &nest->loop[0]->base)
            return true;
    return ml_fail_apart(m->c, nest->loop[0]->var->uid, m->nest[0].loop[0]->var->uid);
}

/* Names the variables of the merged nest and compares the others with the first. */
static bool check_extents(Merge *m)
{
    ml_Ctx *cx = m->c->cx;
    const Nest *first = &m->nest[0];

    m->depth = first->depth;
    m->ar = ml_arith_at(cx, m->c->p, first->loop[0]->var->uid);
    for (size_t k = 1; k < m->n; k++)
        if (m->nest[k].depth != m->depth)
            return ml_fail(
                cx, ML_E_MERGE_DEPTH, ML_LOOP(m->nest[k].loop[m->nest[k].depth - 1]),
                ML_NUMBER("depth", m->nest[k].depth), ML_LOOP(first->loop[m->depth - 1]),
                ML_NUMBER("first", m->depth));
    for (size_t d = 0; d < m->depth; d++) {
        const ml_For *f = first->loop[d];
        ml_Dtype t = f->var->type;

        m->extent[d] = f->extent;
        for (size_t j = 0; j < d; j++)
            m->extent[d] = ml_expr_subst1(cx, m->extent[d], first->loop[j]->var,
                                          ml_var(cx, m->var[j]));
        m->var[d] = ml_var_new(cx, ml_format(cx, "%s_m", f->var->hint), t);
        for (size_t k = 1; k < m->n; k++) {
            const ml_For *g = m->nest[k].loop[d];
            const ml_Expr *a = m->extent[d], *b = g->extent;

            for (size_t j = 0; j < d; j++) {
                const ml_Var *old = m->nest[k].loop[j]->var;

                b = ml_expr_subst1(cx, b, old,
                                   ml_cast(cx, old->type, ml_var(cx, m->var[j])));
            }
            if (!ml_promote(cx, &a, &b) || !ml_prove_equal(m->ar, a, b))
                return ml_fail(cx, ML_E_MERGE_EXTENT, ML_LOOP(g), ML_EXPRESSION(g->extent),
                               ML_LOOP(f), ML_EXPRESSION(f->extent));
        }
        ml_arith_bind_range(m->ar, m->var[d], ml_int(cx, t, 0), m->extent[d]);
    }
    return true;
}

/* ---- the primitive */

static const ml_Stmt *merged_nest(Merge *m)
{
    ml_Ctx *cx = m->c->cx;
    const ml_Stmt **bodies = ML_ARRAY(cx, const ml_Stmt *, m->n);

    for (size_t k = 0; k < m->n; k++) {
        const Nest *nest = &m->nest[k];
        ml_Subst sub = {0};

        for (size_t d = 0; d < m->depth; d++) {
            const ml_For *f = nest->loop[d];

            ml_subst_var(cx, &sub, f->var,
                         ml_cast(cx, f->var->type, ml_var(cx, m->var[d])));
            if (f->kind != ML_FOR_SERIAL)
                ml_call_note(m->c, "loop %s was %s; the merged loop is serial",
                             ml_shown(m->c->cx, f->var),
                             ml_for_kind_name((ml_ForKind)f->kind));
        }
        bodies[k] = ml_stmt_subst(cx, nest->loop[m->depth - 1]->body, &sub);
    }
    const ml_Stmt *st = ml_seq(cx, bodies, m->n);

    for (size_t d = m->depth; d-- > 0;) {
        ml_For f = {.kind = ML_FOR_SERIAL, .var = m->var[d], .extent = m->extent[d]};

        ML_ASSERT(f.var && f.extent);
        f.min = ml_int(cx, f.var->type, 0);
        f.base.span = m->nest[0].loop[d]->base.span;
        f.body = st;
        st = ml_for_from(cx, &f);
    }
    return st;
}

static bool merge(ml_Call *c)
{
    ml_Ctx *cx = c->cx;
    const ml_Given *g = &c->args[LOOPS];
    Merge m = {.c = c, .n = g->n};

    if (g->n < 2)
        return ml_fail(cx, ML_E_BAD_ARGUMENT,
                       ML_TEXT("loops: at least two loops are needed"));
    if (!find_ancestor(&m, g))
        return false;
    const ml_Stmt *above = ml_index_node(c->p.index, m.above);
    const ml_Stmt *body = ml_node_body(above);

    m.body = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->stmts : &body;
    m.n_body = body->kind == ML_STMT_SEQ ? ml_as_seq(body)->n : 1;
    m.nest = ML_ARRAY(cx, Nest, g->n);
    for (size_t k = 0; k < g->n; k++)
        if (!find_nest(&m, g->uids[k], &m.nest[k]))
            return false;
    for (size_t k = 0; k < g->n; k++)
        if (!find_position(&m, &m.nest[k]))
            return false;
    if (!check_extents(&m))
        return false;
    if (!ML_PROVE(c, ML_SOUND, ML_FAULT(MERGE_DEPENDENCE) || ml_merge_keeps_order(&m)))
        return false;
    const ml_Stmt **stmts = ML_ARRAY(cx, const ml_Stmt *, m.n_body);
    size_t n = 0;

    for (size_t k = 0; k < m.n_body; k++)
        if (k == m.nest[m.n - 1].at)
            stmts[n++] = merged_nest(&m);
        else if (!ml_is_merged(&m, k))
            stmts[n++] = m.body[k];
    body = ml_seq(cx, stmts, n);
    if (above->kind == ML_STMT_FOR) {
        ml_For f = *ml_as_for(above);

        f.body = body;
        above = ml_for_from(cx, &f);
    } else {
        ml_Block b = *ml_as_block(above);

        b.body = body;
        above = ml_block_from(cx, &b);
    }
    if (!ml_ok_or_fail(cx))
        return false;
    ml_call_replace(c, m.above, above);
    ml_call_return_loop(c, ml_index_node(c->p.index, m.var[m.depth - 1]->uid));
    return true;
}

/* Ways out: the other order of the arguments. */
static void suggest_merge(ml_Schedule *s, const ml_Given *args, const ml_Error *e,
                          ml_Tries *t)
{
    const ml_Given *g = &args[LOOPS];
    ml_Text list = {0};

    if (e->code == ML_E_ORDER_REVERSED && g->n > 1) {
        for (size_t k = g->n; k-- > 0;)
            ml_text_fmt(&list, "%s\"%s\"", list.n ? ", " : "", ml_name_of(s, g->uids[k]));
        ml_try(t, "the bodies in the other order", "merge(%s)", ml_text_z(&list));
    }
    ml_text_free(&list);
}

static const ml_Param params[] = {
    ML_PARAM("loops", ML_P_LOOPS, "loops of equal extent, in the order of their bodies"),
};

const ml_Primitive ml_prim_merge = {
    ML_PRIM(merge, "Merge"),
    .group = "loops",
    .summary = "put the bodies of several loops into one loop",
    .help =
        "The nests from below what holds all the loops down to each of them are merged\n"
        "level by level; the bodies follow each other in the order given, where the nest "
        "of\n"
        "the last loop stood. What one body writes and another touches must keep its "
        "order.",
    ML_PARAMS(params),
    .result = ML_R_LOOP,
    .suggest = suggest_merge,
    .errors =
        (const ml_ErrorCode[]){ML_E_BAD_ARGUMENT, ML_E_DUPLICATE_LOOP, ML_E_NOT_SAME_SCOPE,
                               ML_E_LOOP_ANNOTATED, ML_E_LOOP_STEP,
                               ML_E_LOOP_NOT_ZERO_BASED, ML_E_NOT_ONLY_CHILD,
                               ML_E_NOT_SCHEDULABLE, ML_E_MERGE_DEPTH, ML_E_MERGE_EXTENT,
                               ML_E_ORDER_REVERSED, ML_E_OUTSIDE_BLOCKS, ML_E_OK},
};
