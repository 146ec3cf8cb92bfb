/*
 * well_formed - whether a program says anything at all: every variable and buffer defined
 * once and used inside its scope, blocks that use their own iters and not outer loops,
 * nodes that fit together. One walk per function, outside in. Source: ir-and-analysis 1.8,
 * script 11.
 */
#include "core/spans.h"

#include "core/shown.h"
#include "verify/findings.h"

typedef enum What { DEF_VARIABLE, DEF_LOOP, DEF_THREAD, DEF_BUFFER, DEF_BLOCK } What;

enum { SAID_TWICE = 1, SAID_UNDEFINED = 2, SAID_LOOP_VAR = 4 };

typedef struct Def {
    uint8_t what;
    bool live;      /* the walk is inside its scope */
    uint8_t said;   /* SAID_...: each thing is reported once */
    uint32_t depth; /* blocks with iters around the definition */
    const char *tag;
    const ml_Expr *let; /* the expression that defines it, if one does */
} Def;

/* Where the walk is; only read when something is wrong. */
typedef struct Frame {
    struct Frame *up;
    const ml_Stmt *node; /* a loop or block */
    const char *part;    /* of a block: "reads", "init" ... or NULL */
} Frame;

typedef struct Thread {
    const char *tag;
    const ml_Var *var;
    bool said;
} Thread;

typedef struct Walk {
    ml_Ctx *cx;
    ml_Finder find;
    const ml_Func *func;
    ml_Map *defs; /* uid -> Def */
    ML_VEC(Def *) live;
    ML_VEC(Thread) threads;
    Frame *at;
    const ml_Stmt *stmt; /* at hand */
    const ml_Expr *expr; /* of it, or NULL */
    uint32_t depth;      /* blocks with iters around */
    uint32_t loops;      /* loops around */
    ml_Arith *ar;        /* made when a proof is needed */
} Walk;

/* ---- reporting */

static const char *path_text(Walk *w)
{
    const Frame *up[64];
    const char *text = ml_format(w->cx, "function %s", w->func->name);
    size_t n = 0;

    for (const Frame *f = w->at; f && n < ML_COUNT(up); f = f->up)
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
static void place(Walk *w, ml_Error *e)
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

static void ill_typed(Walk *w, const char *what)
{
    place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_TYPE, ML_TEXT(what)));
}

/* What is wrong is this expression of the statement at hand. */
static void ill_typed_expr(Walk *w, const ml_Expr *e, const char *what)
{
    const ml_Expr *outer = w->expr;

    w->expr = e;
    ill_typed(w, what);
    w->expr = outer;
}

static const char *type_name(Walk *w, ml_Dtype t)
{
    return ml_dtype_name(w->cx, t);
}

static const ml_Block *inner_block(const Walk *w)
{
    for (const Frame *f = w->at; f; f = f->up)
        if (f->node->kind == ML_STMT_BLOCK && ml_as_block(f->node)->n_iters > 0)
            return ml_as_block(f->node);
    return NULL;
}

/* ---- definitions */

static Def *get(const Walk *w, ml_Uid uid)
{
    /* The map's values are this walk's own Defs. */
    return (Def *)(uintptr_t)ml_map_get(w->defs, uid);
}

static Def *open_def(Walk *w, ml_Uid uid, What what)
{
    Def *d = get(w, uid);

    if (!d) {
        d = ML_NEW(w->cx, Def);
        ml_map_set(w->cx, w->defs, uid, d);
    }
    d->what = (uint8_t)what;
    d->live = true;
    d->depth = w->depth;
    ml_push(w->cx, &w->live, d);
    return d;
}

/* Only variables and buffers that no one defined yet; another definition is an error. */
static Def *define(Walk *w, ml_Uid uid, What what, ml_Fact fact)
{
    Def *d = get(w, uid);

    if (d && !(d->said & SAID_TWICE)) {
        d->said |= SAID_TWICE;
        place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_MULTIPLE_DEFINITION, fact));
    }
    return open_def(w, uid, what);
}

static void define_var(Walk *w, const ml_Var *v, What what)
{
    define(w, v->uid, what, ML_VARIABLE(v));
}

/* A thread-index variable may be defined again for the same tag. */
static void define_thread(Walk *w, const ml_Var *v, const char *tag)
{
    Def *d = get(w, v->uid);

    if (d && d->tag && ml_streq(d->tag, tag)) {
        if (!d->live)
            open_def(w, v->uid, DEF_THREAD);
        return;
    }
    define(w, v->uid, DEF_THREAD, ML_VARIABLE(v))->tag = tag;
}

static void define_symbol(Walk *w, const ml_Var *v)
{
    const Def *d = get(w, v->uid);

    if (!d || !d->live)
        open_def(w, v->uid, DEF_VARIABLE);
}

static bool symbols_of(const ml_Expr *e, void *user)
{
    if (e->kind == ML_EXPR_VAR)
        define_symbol(user, e->as.var);
    return !(e->flags & ML_X_VAR_FREE);
}

/* Variables of the description are defined by it where it is matched to something. */
static void define_symbols(Walk *w, const ml_Buffer *b)
{
    for (size_t k = 0; k < b->rank; k++)
        ml_expr_visit(b->shape[k], symbols_of, w);
    for (size_t k = 0; k < b->n_strides; k++)
        ml_expr_visit(b->strides[k], symbols_of, w);
    ml_expr_visit(b->elem_offset, symbols_of, w);
}

static void define_buffer(Walk *w, const ml_Buffer *b)
{
    define(w, b->uid, DEF_BUFFER, ML_BUFFER(b));
    define_symbol(w, b->data);
}

static void leave(Walk *w, size_t mark)
{
    while (w->live.n > mark)
        w->live.v[--w->live.n]->live = false;
}

/* ---- uses */

static void use_var(Walk *w, const ml_Var *v)
{
    Def *d = get(w, v->uid);

    if (d && d->live) {
        if (d->what == DEF_LOOP && d->depth < w->depth && !(d->said & SAID_LOOP_VAR)) {
            d->said |= SAID_LOOP_VAR;
            place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_LOOP_VAR,
                             ML_BLOCK(inner_block(w)), ML_VARIABLE(v)));
        }
        return;
    }
    const char *why = d ? "after its scope ended" : "but never defined";

    if (!d) { /* remembered, so that it is said once */
        d = open_def(w, v->uid, DEF_VARIABLE);
        leave(w, w->live.n - 1);
    }
    if (d->said & SAID_UNDEFINED)
        return;
    d->said |= SAID_UNDEFINED;
    place(w,
          ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_UNDEFINED, ML_VARIABLE(v), ML_TEXT(why)));
}

static void use_buffer(Walk *w, const ml_Buffer *b)
{
    Def *d = get(w, b->uid);

    if (d && d->live)
        return;
    const char *why =
        d ? "its declaration is no longer in scope" : "nothing around declares it";

    if (!d) {
        d = open_def(w, b->uid, DEF_BUFFER);
        leave(w, w->live.n - 1);
    }
    if (d->said & SAID_UNDEFINED)
        return;
    d->said |= SAID_UNDEFINED;
    place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_BUFFER, ML_BUFFER(b), ML_TEXT(why)));
}

static void check_index(Walk *w, const ml_Buffer *b, const ml_Expr *idx, size_t k, size_t n)
{
    ml_Dtype t = idx->type;

    if (!ml_dtype_is_int(t))
        ill_typed_expr(w, idx,
                       ml_format(w->cx, "index %zu of %s has type %s, not an integer's", k,
                                 ml_shown(w->cx, b), type_name(w, t)));
    else if (t.lanes > 1 && k + 1 < n)
        ill_typed_expr(w, idx,
                       ml_format(w->cx,
                                 "index %zu of %s is a vector; only the last index may be",
                                 k, ml_shown(w->cx, b)));
}

static bool expr_uses(const ml_Expr *e, void *user)
{
    Walk *w = user;
    size_t mark;

    w->expr = e;
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_VAR: use_var(w, e->as.var); break;
    case ML_EXPR_LOAD:
        use_buffer(w, e->as.buffer);
        for (size_t k = 0; k < ml_load_rank(e); k++)
            check_index(w, e->as.buffer, e->args[k], k, ml_load_rank(e));
        break;
    case ML_EXPR_LET:
        ml_expr_visit(e->args[0], expr_uses, w);
        mark = w->live.n;
        /* An expression is shared: the same one may stand in several places. */
        if (get(w, e->as.var->uid) && get(w, e->as.var->uid)->let == e)
            open_def(w, e->as.var->uid, DEF_VARIABLE);
        else
            define(w, e->as.var->uid, DEF_VARIABLE, ML_VARIABLE(e->as.var))->let = e;
        ml_expr_visit(e->args[1], expr_uses, w);
        leave(w, mark);
        return false;
    default: break;
    }
    return !(e->flags & ML_X_VAR_FREE) || (e->flags & ML_X_HAS_LOAD);
}

static void use(Walk *w, const ml_Expr *e)
{
    if (e)
        ml_expr_visit(e, expr_uses, w);
    w->expr = NULL;
}

static void use_regions(Walk *w, const ml_Region *v, size_t n, const char *part)
{
    w->at->part = part;
    for (size_t k = 0; k < n; k++) {
        use_buffer(w, v[k].buffer);
        for (size_t d = 0; d < v[k].buffer->rank; d++) {
            use(w, v[k].ranges[d].min);
            use(w, v[k].ranges[d].extent);
            if (!ml_dtype_is_int(v[k].ranges[d].min->type) ||
                v[k].ranges[d].min->type.lanes != 1)
                ill_typed_expr(w, v[k].ranges[d].min,
                               ml_format(w->cx,
                                         "the region of %s is not of scalar integers",
                                         ml_shown(w->cx, v[k].buffer)));
        }
    }
    w->at->part = NULL;
}

static void use_shape(Walk *w, const ml_Buffer *b)
{
    for (size_t k = 0; k < b->rank; k++)
        use(w, b->shape[k]);
    for (size_t k = 0; k < b->n_strides; k++)
        use(w, b->strides[k]);
    use(w, b->elem_offset);
}

static void use_cond(Walk *w, const ml_Expr *e, const char *of)
{
    use(w, e);
    if (!ml_dtype_is_bool(e->type) || e->type.lanes != 1)
        ill_typed_expr(
            w, e,
            ml_format(w->cx, "the %s has type %s, not bool", of, type_name(w, e->type)));
}

/* ---- statements */

static void visit(Walk *w, const ml_Stmt *s);

/* A scope of its own. */
static void visit_body(Walk *w, const ml_Stmt *s)
{
    size_t mark = w->live.n;

    visit(w, s);
    leave(w, mark);
}

static void visit_for(Walk *w, const ml_For *f)
{
    Frame here = {w->at, &f->base, NULL};
    size_t mark = w->live.n;
    ml_Dtype t = f->var->type;
    const ml_Expr *bounds[] = {f->min, f->extent, f->step};

    w->at = &here;
    for (size_t k = 0; k < ML_COUNT(bounds); k++) {
        use(w, bounds[k]);
        if (bounds[k] && !ml_dtype_eq(bounds[k]->type, t))
            ill_typed_expr(w, bounds[k],
                           ml_format(w->cx,
                                     "a bound of loop %s has type %s, its variable %s",
                                     ml_shown(w->cx, f->var), type_name(w, bounds[k]->type),
                                     type_name(w, t)));
    }
    if (!ml_dtype_is_int(t) || t.lanes != 1)
        ill_typed(w, ml_format(w->cx,
                               "the variable of loop %s has type %s, not a scalar "
                               "integer's",
                               ml_shown(w->cx, f->var), type_name(w, t)));
    if (f->step && ml_is_const_int(f->step) && f->step->as.i <= 0)
        ill_typed(w, ml_format(w->cx, "the step of loop %s is not positive",
                               ml_shown(w->cx, f->var)));
    define_var(w, f->var, DEF_LOOP);
    if (f->thread_var && f->thread_var->uid != f->var->uid)
        define_thread(w, f->thread_var, f->thread);
    w->loops++;
    visit_body(w, f->body);
    w->loops--;
    leave(w, mark);
    w->at = here.up;
}

static void bad_match(Walk *w, const ml_Match *m, const char *why)
{
    place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_MATCH, ML_BUFFER(m->target),
                     ML_TEXT(why)));
}

static ml_Arith *prover(Walk *w)
{
    if (!w->ar) {
        w->ar = ml_arith_new(w->cx);
        ml_arith_bind_params(w->ar, w->func);
    }
    return w->ar;
}

static bool same_extent(Walk *w, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    if (!ml_dtype_eq(a->type, b->type) && !ml_promote(w->cx, &a, &b))
        return false;
    return a == b || ml_prove_equal(prover(w), a, b);
}

static void check_match(Walk *w, const ml_Match *m)
{
    const ml_Buffer *t = m->target, *s = m->source.buffer;

    if (!ml_dtype_eq(t->type, s->type))
        bad_match(w, m,
                  ml_format(w->cx, "it has type %s, its source %s has %s",
                            type_name(w, t->type), ml_shown(w->cx, s),
                            type_name(w, s->type)));
    if (!ml_streq(t->scope, s->scope))
        bad_match(w, m,
                  ml_format(w->cx, "it has scope %s, its source %s has %s", t->scope,
                            ml_shown(w->cx, s), s->scope));
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
        const Def *d = want->kind == ML_EXPR_VAR ? get(w, want->as.var->uid) : NULL;

        if (want->kind == ML_EXPR_VAR && (!d || !d->live))
            continue; /* bound by the match */
        if (!same_extent(w, want, have))
            bad_match(w, m,
                      ml_format(w->cx, "dimension %zu is %s, its source region has %s", k,
                                ml_expr_text(w->cx, want), ml_expr_text(w->cx, have)));
    }
}

static void visit_iters(Walk *w, const ml_Block *b)
{
    uint32_t bound = 0;

    for (size_t k = 0; k < b->n_iters; k++)
        bound += b->iters[k].value != NULL;
    if (bound < b->n_iters)
        ill_typed(w, ml_format(w->cx, "block %s has %u bindings for %u iters",
                               ml_shown(w->cx, b), bound, b->n_iters));
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];
        ml_Dtype t = it->var->type;

        use(w, it->min);
        use(w, it->extent);
        use(w, it->value);
        if (t.code != ML_INT || t.lanes != 1 || !ml_dtype_eq(it->min->type, t) ||
            !ml_dtype_eq(it->extent->type, t))
            ill_typed(
                w, ml_format(w->cx, "iter %s of block %s has type %s, its domain %s, %s",
                             ml_iter_name(b, k), ml_shown(w->cx, b), type_name(w, t),
                             type_name(w, it->min->type), type_name(w, it->extent->type)));
        if (it->value && !ml_dtype_eq(it->value->type, t))
            ill_typed(w, ml_format(w->cx,
                                   "the binding of iter %s of block %s has type %s, the "
                                   "iter %s",
                                   ml_iter_name(b, k), ml_shown(w->cx, b),
                                   type_name(w, it->value->type), type_name(w, t)));
    }
}

static void visit_block(Walk *w, const ml_Block *b)
{
    Frame here = {w->at, &b->base, NULL};
    size_t mark = w->live.n;
    bool reduces = false;

    w->at = &here;
    here.part = "bindings";
    visit_iters(w, b);
    here.part = "predicate";
    use_cond(w, b->predicate, "predicate");
    here.part = NULL;
    define(w, b->tag, DEF_BLOCK, ML_BLOCK(b));
    w->depth += b->n_iters > 0;
    for (size_t k = 0; k < b->n_iters; k++) {
        define_var(w, b->iters[k].var, DEF_VARIABLE);
        reduces |= b->iters[k].kind == ML_ITER_REDUCE;
    }
    use_regions(w, b->reads, b->n_reads, "reads");
    use_regions(w, b->writes, b->n_writes, "writes");
    for (size_t k = 0; k < b->n_allocs; k++) {
        use_shape(w, b->allocs[k]);
        define_buffer(w, b->allocs[k]);
    }
    for (size_t k = 0; k < b->n_matches; k++) {
        const ml_Match *m = &b->matches[k];

        use_regions(w, &m->source, 1, "match_buffer");
        check_match(w, m);
        define_symbols(w, m->target);
        define_buffer(w, m->target);
    }
    if (b->init) {
        here.part = "init";
        visit_body(w, b->init);
        here.part = NULL;
        if (!reduces)
            place(w, ml_find(&w->find, ML_SEV_WARNING, ML_E_WF_INIT, ML_BLOCK(b)));
    }
    visit_body(w, b->body);
    w->depth -= b->n_iters > 0;
    leave(w, mark);
    w->at = here.up;
}

static void visit_store(Walk *w, const ml_Store *s)
{
    ml_Dtype t = s->buffer->type;
    uint32_t lanes = t.lanes;

    use_buffer(w, s->buffer);
    for (size_t k = 0; k < s->n; k++) {
        use(w, s->indices[k]);
        check_index(w, s->buffer, s->indices[k], k, s->n);
        if (k + 1 == s->n)
            lanes *= s->indices[k]->type.lanes;
    }
    use(w, s->value);
    use(w, s->mask);
    if (s->n != s->buffer->rank)
        ill_typed(w, ml_format(w->cx, "%s has %u dimensions and is stored with %u indices",
                               ml_shown(w->cx, s->buffer), s->buffer->rank, s->n));
    if (s->value->type.code != t.code || s->value->type.bits != t.bits ||
        s->value->type.lanes != lanes)
        ill_typed_expr(w, s->value,
                       ml_format(w->cx,
                                 "a value of type %s is stored to %s, which holds %s with "
                                 "%u lanes here",
                                 type_name(w, s->value->type), ml_shown(w->cx, s->buffer),
                                 type_name(w, t), lanes));
    if (s->mask && (!ml_dtype_is_bool(s->mask->type) || s->mask->type.lanes != lanes))
        ill_typed(w, ml_format(w->cx, "the mask of a store to %s has type %s",
                               ml_shown(w->cx, s->buffer), type_name(w, s->mask->type)));
}

static void visit_attr(Walk *w, const ml_Attr *a)
{
    const ml_Var *v = ml_attr_defines(a);
    size_t mark = w->live.n;

    if (a->value->kind == ML_VAL_EXPR)
        use(w, a->value->as.expr);
    if (v && a->thread) {
        Thread *t = NULL;

        for (size_t k = 0; k < w->threads.n && !t; k++)
            if (ml_streq(w->threads.v[k].tag, a->thread))
                t = &w->threads.v[k];
        if (!t) {
            ml_push(w->cx, &w->threads, ((Thread){a->thread, v, false}));
        } else if (t->var->uid != v->uid && !t->said) {
            t->said = true;
            place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_WF_THREAD_VAR, ML_TEXT(a->thread),
                             ML_VARIABLE(t->var), ML_VARIABLE(v)));
        }
        define_thread(w, v, a->thread);
    } else if (v) {
        define_var(w, v, DEF_THREAD);
    }
    visit_body(w, a->body);
    leave(w, mark);
}

static void visit_return(Walk *w, const ml_Return *r)
{
    use(w, r->value);
    if (r->value && w->func->ret.code != ML_VOID &&
        !ml_dtype_eq(r->value->type, w->func->ret))
        ill_typed(w,
                  ml_format(w->cx, "a value of type %s is returned, the function says %s",
                            type_name(w, r->value->type), type_name(w, w->func->ret)));
}

static void visit(Walk *w, const ml_Stmt *s)
{
    const ml_Stmt *outer = w->stmt;

    w->stmt = s->kind == ML_STMT_SEQ ? outer : s;
    switch ((ml_StmtKind)s->kind) {
    case ML_STMT_STORE: visit_store(w, ml_as_store(s)); break;
    case ML_STMT_SEQ:
        for (size_t k = 0; k < ml_as_seq(s)->n; k++)
            visit(w, ml_as_seq(s)->stmts[k]);
        break;
    case ML_STMT_FOR: visit_for(w, ml_as_for(s)); break;
    case ML_STMT_WHILE:
        use_cond(w, ml_as_while(s)->cond, "condition of a while");
        w->loops++;
        visit_body(w, ml_as_while(s)->body);
        w->loops--;
        break;
    case ML_STMT_IF:
        use_cond(w, ml_as_if(s)->cond, "condition of an if");
        visit_body(w, ml_as_if(s)->then);
        if (ml_as_if(s)->other)
            visit_body(w, ml_as_if(s)->other);
        break;
    case ML_STMT_BIND:
        use(w, ml_as_bind(s)->value);
        if (!ml_dtype_eq(ml_as_bind(s)->var->type, ml_as_bind(s)->value->type))
            ill_typed(w, ml_format(w->cx, "%s has type %s, its value %s",
                                   ml_shown(w->cx, ml_as_bind(s)->var),
                                   type_name(w, ml_as_bind(s)->var->type),
                                   type_name(w, ml_as_bind(s)->value->type)));
        define_var(w, ml_as_bind(s)->var, DEF_VARIABLE);
        break;
    case ML_STMT_EVALUATE: use(w, ml_as_evaluate(s)->value); break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
        use(w, ml_as_alloc(s)->data);
        use_shape(w, ml_as_alloc(s)->buffer);
        define_buffer(w, ml_as_alloc(s)->buffer);
        break;
    case ML_STMT_ATTR: visit_attr(w, ml_as_attr(s)); break;
    case ML_STMT_ASSERT:
        use_cond(w, ml_as_assert(s)->cond, "condition of an assert");
        break;
    case ML_STMT_RETURN: visit_return(w, ml_as_return(s)); break;
    case ML_STMT_BREAK:
    case ML_STMT_CONTINUE:
        if (w->loops == 0)
            ill_typed(w, s->kind == ML_STMT_BREAK ? "break outside any loop"
                                                  : "continue outside any loop");
        break;
    case ML_STMT_BLOCK: visit_block(w, ml_as_block(s)); break;
    case ML_STMT_KINDS: break;
    }
    w->stmt = outer;
}

static void check_func(Walk *w)
{
    const ml_Func *f = w->func;

    for (size_t k = 0; k < f->n_params; k++)
        define_var(w, f->params[k].var, DEF_VARIABLE);
    for (size_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer) {
            define_symbols(w, f->params[k].buffer);
            define_buffer(w, f->params[k].buffer);
        }
    if (f->body->has_block && !ml_func_root(f))
        place(w, ml_find(&w->find, ML_SEV_ERROR, ML_E_ILL_FORMED,
                         ML_TEXT(ml_format(w->cx,
                                           "function %s contains blocks, but its body is "
                                           "no root block",
                                           f->name))));
    visit_body(w, f->body);
}

/* The first error becomes the context's. */
static void set_error(ml_Ctx *cx, const ml_Findings *out, size_t from)
{
    for (size_t k = from; k < out->n; k++) {
        const ml_Error *e = out->v[k].error;
        const ml_Fact *f = e->facts;

        if (out->v[k].severity != ML_SEV_ERROR)
            continue;
        ml_fail_(cx, e->code, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9],
                 f[10], f[11], ML_FACT_END);
        for (uint32_t n = 0; n < e->n_notes; n++)
            ml_error_note(cx, "%s", e->notes[n]);
        if (e->place)
            ml_error_set_place(cx, e->place);
        return;
    }
}

bool ml_verify_well_formed(ml_Ctx *cx, const ml_Module *m, ml_Findings *out)
{
    size_t from = out->n, errors = 0;

    for (uint32_t k = 0; k < m->n; k++) {
        Walk w = {.cx = cx, .find = {cx, out, k, 0}, .func = m->funcs[k]};

        w.defs = ml_map_new(cx);
        check_func(&w);
        errors += w.find.errors;
    }
    if (errors > 0)
        set_error(cx, out, from);
    return errors == 0;
}
