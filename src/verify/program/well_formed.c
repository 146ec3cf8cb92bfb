/*
 * well_formed - whether a program says anything at all: every variable and buffer defined
 * once and used inside its scope, blocks that use their own iters and not outer loops,
 * nodes that fit together. One walk per function, outside in. Source: ir-and-analysis 1.8,
 * script 11.
 */
#include "moonloop/core/shown.h"
#include "moonloop/verify/program/well_formed_impl.h"

static void visit_stmt(ml_WfWalk *w, const ml_Stmt *s);

/* A scope of its own. */
static void visit_body(ml_WfWalk *w, const ml_Stmt *s)
{
    size_t mark = w->live.n;

    visit_stmt(w, s);
    ml_wf_leave(w, mark);
}

static void visit_for(ml_WfWalk *w, const ml_For *f)
{
    ml_WfFrame here = {w->at, &f->base, NULL};
    size_t mark = w->live.n;
    ml_Dtype t = f->var->type;
    const ml_Expr *bounds[] = {f->min, f->extent, f->step};

    w->at = &here;
    for (size_t k = 0; k < ML_COUNT(bounds); k++) {
        ml_wf_use(w, bounds[k]);
        if (bounds[k] && !ml_dtype_eq(bounds[k]->type, t))
            ml_wf_ill_typed_expr(
                w, bounds[k],
                ml_format(w->cx, "a bound of loop %s has type %s, its variable %s",
                          ml_shown(w->cx, f->var), ml_wf_type_name(w, bounds[k]->type),
                          ml_wf_type_name(w, t)));
    }
    if (!ml_dtype_is_int(t) || t.lanes != 1)
        ml_wf_ill_typed(w, ml_format(w->cx,
                                     "the variable of loop %s has type %s, not a scalar "
                                     "integer's",
                                     ml_shown(w->cx, f->var), ml_wf_type_name(w, t)));
    if (f->step && ml_is_const_int(f->step) && f->step->as.i <= 0)
        ml_wf_ill_typed(w, ml_format(w->cx, "the step of loop %s is not positive",
                                     ml_shown(w->cx, f->var)));
    ml_wf_define_var(w, f->var, ML_WF_DEF_LOOP);
    if (f->thread_var && f->thread_var->uid != f->var->uid)
        ml_wf_define_thread(w, f->thread_var, f->thread);
    w->loops++;
    visit_body(w, f->body);
    w->loops--;
    ml_wf_leave(w, mark);
    w->at = here.up;
}

static void bad_match(ml_WfWalk *w, const ml_Match *m, const char *why)
{
    ml_wf_place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_MATCH, ML_BUFFER(m->target),
                           ML_TEXT(why)));
}

static ml_Arith *prover(ml_WfWalk *w)
{
    if (!w->ar) {
        w->ar = ml_arith_new(w->cx);
        ml_arith_bind_params(w->ar, w->func);
    }
    return w->ar;
}

static bool same_extent(ml_WfWalk *w, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    if (!ml_dtype_eq(a->type, b->type) && !ml_promote(w->cx, &a, &b))
        return false;
    return a == b || ml_prove_equal(prover(w), a, b);
}

static void check_match(ml_WfWalk *w, const ml_Match *m)
{
    const ml_Buffer *t = m->target, *s = m->source.buffer;

    if (!ml_dtype_eq(t->type, s->type))
        bad_match(w, m,
                  ml_format(w->cx, "it has type %s, its source %s has %s",
                            ml_wf_type_name(w, t->type), ml_shown(w->cx, s),
                            ml_wf_type_name(w, s->type)));
    if (!ml_scope_eq(t->scope, s->scope))
        bad_match(w, m,
                  ml_format(w->cx, "it has scope %s, its source %s has %s", t->scope.name,
                            ml_shown(w->cx, s), s->scope.name));
    if (s->align % t->align != 0)
        bad_match(w, m,
                  ml_format(w->cx, "its alignment %u does not divide the %u of %s",
                            t->align, s->align, ml_shown(w->cx, s)));
    if (s->rank < t->rank) {
        bad_match(w, m,
                  ml_format(w->cx, "it has %u dimensions, its source region %u", t->rank,
                            s->rank));
        return;
    }
    size_t extra = (size_t)s->rank - t->rank;

    for (size_t k = 0; k < extra; k++)
        if (!ml_is_int(m->source.ranges[k].extent, 1) &&
            !same_extent(w, m->source.ranges[k].extent,
                         ml_int(w->cx, m->source.ranges[k].extent->type, 1)))
            bad_match(w, m,
                      ml_format(w->cx, "the leading extent %s of its source is not 1",
                                ml_expr_text(w->cx, m->source.ranges[k].extent)));
    for (size_t k = 0; k < t->rank; k++) {
        const ml_Expr *want = t->shape[k], *have = m->source.ranges[extra + k].extent;
        const ml_WfDef *d =
            want->kind == ML_EXPR_VAR ? ml_wf_get(w, want->as.var->uid) : NULL;

        if (want->kind == ML_EXPR_VAR && (!d || !d->live))
            continue; /* bound by the match */
        if (!same_extent(w, want, have))
            bad_match(w, m,
                      ml_format(w->cx, "dimension %zu is %s, its source region has %s", k,
                                ml_expr_text(w->cx, want), ml_expr_text(w->cx, have)));
    }
}

static void visit_iters(ml_WfWalk *w, const ml_Block *b)
{
    uint32_t bound = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        bound += b->iters[k].value != NULL;
    if (bound < b->n_iters)
        ml_wf_ill_typed(w, ml_format(w->cx, "block %s has %u bindings for %u iters",
                                     ml_shown(w->cx, b), bound, b->n_iters));
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        ml_Dtype t = it->var->type;

        ml_wf_use(w, it->min);
        ml_wf_use(w, it->extent);
        ml_wf_use(w, it->value);
        if (t.code != ML_INT || t.lanes != 1 || !ml_dtype_eq(it->min->type, t) ||
            !ml_dtype_eq(it->extent->type, t))
            ml_wf_ill_typed(
                w, ml_format(w->cx, "iter %s of block %s has type %s, its domain %s, %s",
                             ml_iter_name(b, k), ml_shown(w->cx, b), ml_wf_type_name(w, t),
                             ml_wf_type_name(w, it->min->type),
                             ml_wf_type_name(w, it->extent->type)));
        if (it->value && !ml_dtype_eq(it->value->type, t))
            ml_wf_ill_typed(
                w, ml_format(w->cx,
                             "the binding of iter %s of block %s has type %s, the "
                             "iter %s",
                             ml_iter_name(b, k), ml_shown(w->cx, b),
                             ml_wf_type_name(w, it->value->type), ml_wf_type_name(w, t)));
    }
}

static void visit_block(ml_WfWalk *w, const ml_Block *b)
{
    ml_WfFrame here = {w->at, &b->base, NULL};
    size_t mark = w->live.n;
    bool reduces = false;

    w->at = &here;
    here.part = "bindings";
    visit_iters(w, b);
    here.part = "predicate";
    ml_wf_use_cond(w, b->predicate, "predicate");
    here.part = NULL;
    ml_wf_define(w, b->tag, ML_WF_DEF_BLOCK, ML_BLOCK(b));
    w->depth += b->n_iters > 0;
    for (size_t k = 0; k < b->n_iters; k++) {
        ml_wf_define_var(w, b->iters[k].var, ML_WF_DEF_VARIABLE);
        reduces |= b->iters[k].kind == ML_ITER_REDUCE;
    }
    ml_wf_use_regions(w, b->reads, b->n_reads, "reads");
    ml_wf_use_regions(w, b->writes, b->n_writes, "writes");
    for (size_t k = 0; k < b->n_allocs; k++) {
        ml_wf_use_shape(w, b->allocs[k]);
        ml_wf_define_buffer(w, b->allocs[k]);
    }
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Match *m = &b->matches[k];

        ml_wf_use_regions(w, &m->source, 1, "match_buffer");
        check_match(w, m);
        ml_wf_define_symbols(w, m->target);
        ml_wf_define_buffer(w, m->target);
    }
    if (b->init) {
        here.part = "init";
        visit_body(w, b->init);
        here.part = NULL;
        if (!reduces)
            ml_wf_place(w, ml_find(&w->find, ML_SEV_WARNING, ML_E_WF_INIT, ML_BLOCK(b)));
    }
    visit_body(w, b->body);
    w->depth -= b->n_iters > 0;
    ml_wf_leave(w, mark);
    w->at = here.up;
}

static void visit_store(ml_WfWalk *w, const ml_Store *s)
{
    ml_Dtype t = s->buffer->type;
    uint32_t lanes = t.lanes;

    ml_wf_use_buffer(w, s->buffer);
    for (size_t k = 0; k < s->n; k++) {
        ml_wf_use(w, s->indices[k]);
        ml_wf_check_index(w, s->buffer, s->indices[k], k, s->n);
        if (k + 1 == s->n)
            lanes *= s->indices[k]->type.lanes;
    }
    ml_wf_use(w, s->value);
    ml_wf_use(w, s->mask);
    if (s->n != s->buffer->rank)
        ml_wf_ill_typed(w, ml_format(w->cx,
                                     "%s has %u dimensions and is stored with %u indices",
                                     ml_shown(w->cx, s->buffer), s->buffer->rank, s->n));
    if (s->value->type.code != t.code || s->value->type.bits != t.bits ||
        s->value->type.lanes != lanes)
        ml_wf_ill_typed_expr(
            w, s->value,
            ml_format(w->cx,
                      "a value of type %s is stored to %s, which holds %s with "
                      "%u lanes here",
                      ml_wf_type_name(w, s->value->type), ml_shown(w->cx, s->buffer),
                      ml_wf_type_name(w, t), lanes));
    if (s->mask && (!ml_dtype_is_bool(s->mask->type) || s->mask->type.lanes != lanes))
        ml_wf_ill_typed(w, ml_format(w->cx, "the mask of a store to %s has type %s",
                                     ml_shown(w->cx, s->buffer),
                                     ml_wf_type_name(w, s->mask->type)));
}

static void visit_attr(ml_WfWalk *w, const ml_Attr *a)
{
    const ml_Var *v = ml_attr_defines(a);
    size_t mark = w->live.n;

    if (a->value->kind == ML_VAL_EXPR)
        ml_wf_use(w, a->value->as.expr);
    if (v && a->thread.axis) {
        ml_WfThread *t = NULL;

        for (size_t k = 0; k < w->threads.n && !t; k++)
            if (ml_thread_eq(w->threads.v[k].thread, a->thread))
                t = &w->threads.v[k];
        if (!t) {
            ml_push(w->cx, &w->threads, ((ml_WfThread){a->thread, v, false}));
        } else if (t->var->uid != v->uid && !t->said) {
            t->said = true;
            ml_wf_place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_THREAD_VAR,
                                   ML_TEXT(a->thread.name), ML_VARIABLE(t->var),
                                   ML_VARIABLE(v)));
        }
        ml_wf_define_thread(w, v, a->thread);
    } else if (v) {
        ml_wf_define_var(w, v, ML_WF_DEF_THREAD);
    }
    visit_body(w, a->body);
    ml_wf_leave(w, mark);
}

static void visit_return(ml_WfWalk *w, const ml_Return *r)
{
    ml_wf_use(w, r->value);
    if (r->value && w->func->ret.code != ML_VOID &&
        !ml_dtype_eq(r->value->type, w->func->ret))
        ml_wf_ill_typed(w, ml_format(w->cx,
                                     "a value of type %s is returned, the function says %s",
                                     ml_wf_type_name(w, r->value->type),
                                     ml_wf_type_name(w, w->func->ret)));
}

static void use_role(const ml_Expr *e, ml_Role role, void *user)
{
    (void)role;
    ml_wf_use(user, e);
}

static void visit_stmt(ml_WfWalk *w, const ml_Stmt *s)
{
    const ml_Stmt *outer = w->stmt;

    w->stmt = s->kind == ML_STMT_SEQ ? outer : s;
    switch (s->kind) {
    case ML_STMT_STORE: visit_store(w, ml_as_store(s)); break;
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            visit_stmt(w, ml_as_seq(s)->stmts[k]);
        break;
    case ML_STMT_FOR: visit_for(w, ml_as_for(s)); break;
    case ML_STMT_WHILE:
        ml_wf_use_cond(w, ml_as_while(s)->cond, "condition of a while");
        w->loops++;
        visit_body(w, ml_as_while(s)->body);
        w->loops--;
        break;
    case ML_STMT_IF:
        ml_wf_use_cond(w, ml_as_if(s)->cond, "condition of an if");
        visit_body(w, ml_as_if(s)->then);
        if (ml_as_if(s)->other)
            visit_body(w, ml_as_if(s)->other);
        break;
    case ML_STMT_BIND:
        ml_wf_use(w, ml_as_bind(s)->value);
        if (!ml_dtype_eq(ml_as_bind(s)->var->type, ml_as_bind(s)->value->type))
            ml_wf_ill_typed(w, ml_format(w->cx, "%s has type %s, its value %s",
                                         ml_shown(w->cx, ml_as_bind(s)->var),
                                         ml_wf_type_name(w, ml_as_bind(s)->var->type),
                                         ml_wf_type_name(w, ml_as_bind(s)->value->type)));
        ml_wf_define_var(w, ml_as_bind(s)->var, ML_WF_DEF_VARIABLE);
        break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
        ml_wf_use(w, ml_as_alloc(s)->data);
        ml_wf_use_shape(w, ml_as_alloc(s)->buffer);
        ml_wf_define_buffer(w, ml_as_alloc(s)->buffer);
        break;
    case ML_STMT_ATTR: visit_attr(w, ml_as_attr(s)); break;
    case ML_STMT_ASSERT:
        ml_wf_use_cond(w, ml_as_assert(s)->cond, "condition of an assert");
        break;
    case ML_STMT_RETURN: visit_return(w, ml_as_return(s)); break;
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE:
        if (w->loops == 0)
            ml_wf_ill_typed(w, s->kind == ML_STMT_BREAK ? "break outside any loop"
                                                        : "continue outside any loop");
        break;
    case ML_STMT_BLOCK: visit_block(w, ml_as_block(s)); break;
    default: ml_stmt_exprs(s, use_role, w); break;
    }
    w->stmt = outer;
}

static void check_func(ml_WfWalk *w)
{
    const ml_Func *f = w->func;

    for (size_t k = 0; k < f->n_params; k++)
        ml_wf_define_var(w, f->params[k].var, ML_WF_DEF_VARIABLE);
    for (size_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer) {
            ml_wf_define_symbols(w, f->params[k].buffer);
            ml_wf_define_buffer(w, f->params[k].buffer);
        }
    if (f->body->has_block && !ml_func_root(f))
        ml_wf_place(
            w, ml_find(&w->find, ML_SEV_ERROR, ML_E_ILL_FORMED,
                       ML_TEXT(ml_format(w->cx,
                                         "function %s contains blocks, but its body is "
                                         "no root block",
                                         f->name))));
    visit_body(w, f->body);
}

bool ml_verify_well_formed(ml_Ctx *cx, const ml_Module *m, ml_Findings *out)
{
    size_t from = out->n, errors = 0;

    for (uint32_t k = 0; k < m->n; k++) {
        ml_WfWalk w = {.cx = cx, .find = {cx, out, k, 0}, .func = m->funcs[k]};

        w.defs = ml_map_new(cx);
        check_func(&w);
        errors += w.find.errors;
    }
    if (errors > 0)
        ml_findings_fail(cx, out, from);
    return errors == 0;
}
