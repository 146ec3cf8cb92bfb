/*
 * well_formed_uses - what a program defines where, whether each use of it is inside its
 * scope and fits, and how an error tells its place. Source: ir-and-analysis 1.8.
 */
#include "moonloop/core/spans.h"

#include "moonloop/core/shown.h"
#include "moonloop/verify/program/well_formed_impl.h"

enum { SAID_TWICE = 1, SAID_UNDEFINED = 2, SAID_LOOP_VAR = 4 };

/* ---- reporting */

static const char *path_text(ml_WfWalk *w)
{
    const ml_WfFrame *up[64];
    const char *text = ml_format(w->cx, "function %s", w->func->name);
    size_t n = 0;

    for (const ml_WfFrame *f = w->at; f && n < ML_COUNT(up); f = f->up)
        up[n++] = f;
    while (n-- > 0) {
        const ml_Stmt *s = up[n]->node;
        const char *name =
            s->kind == ML_STMT_FOR ? ml_as_for(s)->var->hint : ml_as_block(s)->name;

        text =
            ml_format(w->cx, "%s, %s %s", text, s->kind == ML_STMT_FOR ? "loop" : "block",
                      name && *name ? name : "(unnamed)");
        if (up[n]->part)
            text = ml_format(w->cx, "%s, its %s", text, up[n]->part);
    }
    return text;
}

/* Adds the path and the nearest loop or block, which carries the mark in the text. */
void ml_wf_place(ml_WfWalk *w, ml_Error *e)
{
    ml_find_note(&w->find, e, ml_format(w->cx, "at %s", path_text(w)));
    if (w->at && e->n_facts < ML_MAX_FACTS)
        e->facts[e->n_facts++] =
            w->at->node->kind == ML_STMT_FOR ? ML_LOOP(w->at->node) : ML_BLOCK(w->at->node);
    if (w->stmt && w->expr)
        e->place = ml_expr_place(w->cx, w->stmt, w->expr);
    else if (w->stmt)
        e->place = w->stmt->span;
    if (!e->place && w->at)
        e->place = w->at->node->span;
}

void ml_wf_ill_typed(ml_WfWalk *w, const char *what)
{
    ml_wf_place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_TYPE, ML_TEXT(what)));
}

/* What is wrong is this expression of the statement at hand. */
void ml_wf_ill_typed_expr(ml_WfWalk *w, const ml_Expr *e, const char *what)
{
    const ml_Expr *outer = w->expr;

    w->expr = e;
    ml_wf_ill_typed(w, what);
    w->expr = outer;
}

const char *ml_wf_type_name(ml_WfWalk *w, ml_Dtype t)
{
    return ml_dtype_name(w->cx, t);
}

static const ml_Block *inner_block(const ml_WfWalk *w)
{
    for (const ml_WfFrame *f = w->at; f; f = f->up)
        if (f->node->kind == ML_STMT_BLOCK && ml_as_block(f->node)->n_iters > 0)
            return ml_as_block(f->node);
    return NULL;
}

/* ---- definitions */

ml_WfDef *ml_wf_get(const ml_WfWalk *w, ml_Uid uid)
{
    /* The map's values are this walk's own. */
    return (ml_WfDef *)(uintptr_t)ml_map_get(w->defs, uid);
}

static ml_WfDef *open_def(ml_WfWalk *w, ml_Uid uid, ml_WfWhat what)
{
    ml_WfDef *d = ml_wf_get(w, uid);

    if (!d) {
        d = ML_NEW(w->cx, ml_WfDef);
        ml_map_set(w->cx, w->defs, uid, d);
    }
    d->what = (uint8_t)what;
    d->live = true;
    d->depth = w->depth;
    ml_push(w->cx, &w->live, d);
    return d;
}

/* Only variables and buffers that no one defined yet; another definition is an error. */
ml_WfDef *ml_wf_define(ml_WfWalk *w, ml_Uid uid, ml_WfWhat what, ml_Fact fact)
{
    ml_WfDef *d = ml_wf_get(w, uid);

    if (d && !(d->said & SAID_TWICE)) {
        d->said |= SAID_TWICE;
        ml_wf_place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_MULTIPLE_DEFINITION, fact));
    }
    return open_def(w, uid, what);
}

void ml_wf_define_var(ml_WfWalk *w, const ml_Var *v, ml_WfWhat what)
{
    ml_wf_define(w, v->uid, what, ML_VARIABLE(v));
}

/* A thread-index variable may be defined again for the same tag. */
void ml_wf_define_thread(ml_WfWalk *w, const ml_Var *v, ml_Thread thread)
{
    ml_WfDef *d = ml_wf_get(w, v->uid);

    if (d && d->thread.axis && ml_thread_eq(d->thread, thread)) {
        if (!d->live)
            open_def(w, v->uid, ML_WF_DEF_THREAD);
        return;
    }
    ml_wf_define(w, v->uid, ML_WF_DEF_THREAD, ML_VARIABLE(v))->thread = thread;
}

static void define_symbol(ml_WfWalk *w, const ml_Var *v)
{
    const ml_WfDef *d = ml_wf_get(w, v->uid);

    if (!d || !d->live)
        open_def(w, v->uid, ML_WF_DEF_VARIABLE);
}

static bool symbols_of(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        define_symbol(user, e->as.var);
    return !(e->flags & ML_X_VAR_FREE);
}

/* Variables of the description are defined by it where it is matched to something. */
void ml_wf_define_symbols(ml_WfWalk *w, const ml_Buffer *b)
{
    for (size_t k = 0; k < b->rank; k++)
        ml_expr_visit(b->shape[k], symbols_of, w);
    for (size_t k = 0; k < b->n_strides; k++)
        ml_expr_visit(b->strides[k], symbols_of, w);
    ml_expr_visit(b->elem_offset, symbols_of, w);
}

void ml_wf_define_buffer(ml_WfWalk *w, const ml_Buffer *b)
{
    ml_wf_define(w, b->uid, ML_WF_DEF_BUFFER, ML_BUFFER(b));
    define_symbol(w, b->data);
}

void ml_wf_leave(ml_WfWalk *w, size_t mark)
{
    while (w->live.n > mark)
        w->live.v[--w->live.n]->live = false;
}

/* ---- uses */

static void use_var(ml_WfWalk *w, const ml_Var *v)
{
    ml_WfDef *d = ml_wf_get(w, v->uid);

    if (d && d->live) {
        if (d->what == ML_WF_DEF_LOOP && d->depth < w->depth &&
            !(d->said & SAID_LOOP_VAR)) {
            d->said |= SAID_LOOP_VAR;
            ml_wf_place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_LOOP_VAR,
                                   ML_BLOCK(inner_block(w)), ML_VARIABLE(v)));
        }
        return;
    }
    const char *why = d ? "after its scope ended" : "but never defined";

    if (!d) { /* remembered, so that it is said once */
        d = open_def(w, v->uid, ML_WF_DEF_VARIABLE);
        ml_wf_leave(w, w->live.n - 1);
    }
    if (d->said & SAID_UNDEFINED)
        return;
    d->said |= SAID_UNDEFINED;
    ml_wf_place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_UNDEFINED, ML_VARIABLE(v),
                           ML_TEXT(why)));
}

void ml_wf_use_buffer(ml_WfWalk *w, const ml_Buffer *b)
{
    ml_WfDef *d = ml_wf_get(w, b->uid);

    if (d && d->live)
        return;
    const char *why =
        d ? "its declaration is no longer in scope" : "nothing around declares it";

    if (!d) {
        d = open_def(w, b->uid, ML_WF_DEF_BUFFER);
        ml_wf_leave(w, w->live.n - 1);
    }
    if (d->said & SAID_UNDEFINED)
        return;
    d->said |= SAID_UNDEFINED;
    ml_wf_place(
        w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_BUFFER, ML_BUFFER(b), ML_TEXT(why)));
}

void ml_wf_check_index(ml_WfWalk *w, const ml_Buffer *b, const ml_Expr *idx, size_t k,
                       size_t n)
{
    ml_Dtype t = idx->type;

    if (!ml_dtype_is_int(t))
        ml_wf_ill_typed_expr(w, idx,
                             ml_format(w->cx,
                                       "index %zu of %s has type %s, not an integer's", k,
                                       ml_shown(w->cx, b), ml_wf_type_name(w, t)));
    else if (t.lanes > 1 && k + 1 < n)
        ml_wf_ill_typed_expr(
            w, idx,
            ml_format(w->cx, "index %zu of %s is a vector; only the last index may be", k,
                      ml_shown(w->cx, b)));
}

static bool expr_uses(const ml_Expr *e, void *user)
{
    ml_WfWalk *w = user;
    size_t mark;

    w->expr = e;
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_VAR: use_var(w, e->as.var); break;
    case ML_EXPR_LOAD:
        ml_wf_use_buffer(w, e->as.buffer);
        for (size_t k = 0; k < ml_load_rank(e); k++)
            ml_wf_check_index(w, e->as.buffer, e->args[k], k, ml_load_rank(e));
        break;
    case ML_EXPR_LET:
        ml_expr_visit(e->args[0], expr_uses, w);
        mark = w->live.n;
        /* An expression is shared: the same one may stand in several places. */
        if (ml_wf_get(w, e->as.var->uid) && ml_wf_get(w, e->as.var->uid)->let == e)
            open_def(w, e->as.var->uid, ML_WF_DEF_VARIABLE);
        else
            ml_wf_define(w, e->as.var->uid, ML_WF_DEF_VARIABLE, ML_VARIABLE(e->as.var))
                ->let = e;
        ml_expr_visit(e->args[1], expr_uses, w);
        ml_wf_leave(w, mark);
        return false;
    default: break;
    }
    return !(e->flags & ML_X_VAR_FREE) || (e->flags & ML_X_HAS_LOAD);
}

void ml_wf_use(ml_WfWalk *w, const ml_Expr *e)
{
    if (e)
        ml_expr_visit(e, expr_uses, w);
    w->expr = NULL;
}

void ml_wf_use_regions(ml_WfWalk *w, const ml_Region *v, size_t n, const char *part)
{
    ml_WfFrame *at = w->at;

    at->part = part;
    for (size_t k = 0; k < n; k++) {
        ml_wf_use_buffer(w, v[k].buffer);
        for (size_t d = 0; d < v[k].buffer->rank; d++) {
            ml_wf_use(w, v[k].ranges[d].min);
            ml_wf_use(w, v[k].ranges[d].extent);
            if (!ml_dtype_is_int(v[k].ranges[d].min->type) ||
                v[k].ranges[d].min->type.lanes != 1)
                ml_wf_ill_typed_expr(w, v[k].ranges[d].min,
                                     ml_format(w->cx,
                                               "the region of %s is not of scalar integers",
                                               ml_shown(w->cx, v[k].buffer)));
        }
    }
    at->part = NULL;
}

void ml_wf_use_shape(ml_WfWalk *w, const ml_Buffer *b)
{
    for (size_t k = 0; k < b->rank; k++)
        ml_wf_use(w, b->shape[k]);
    for (size_t k = 0; k < b->n_strides; k++)
        ml_wf_use(w, b->strides[k]);
    ml_wf_use(w, b->elem_offset);
}

void ml_wf_use_cond(ml_WfWalk *w, const ml_Expr *e, const char *of)
{
    ml_wf_use(w, e);
    if (!ml_dtype_is_bool(e->type) || e->type.lanes != 1)
        ml_wf_ill_typed_expr(w, e,
                             ml_format(w->cx, "the %s has type %s, not bool", of,
                                       ml_wf_type_name(w, e->type)));
}
