/* check - well-formedness (script 11) as diagnostics, for what evaluation by names cannot
 * see: variables and buffers that are never defined, or twice, or used after their scope.
 */
#include "moonloop/core/script/eval/eval.h"

enum { UNSEEN, LIVE, ENDED, REPORTED }; /* REPORTED: used where it is not defined */

typedef struct Check {
    ml_Eval *ev;
    ml_Map *state; /* uid of a variable or buffer -> one of them */
    ML_VEC(ml_Uid) stack;
    ml_Map *loops; /* uid of a loop variable -> number of blocks with iterators around it */
    size_t depth;  /* blocks with iterators around */
    const ml_Block *block; /* the innermost of them */
    const ml_Stmt *at;
    const ml_Func *f;
} Check;

static int state(const Check *c, ml_Uid uid)
{
    return (int)(uintptr_t)ml_map_get(c->state, uid);
}

/* Of e in the statement at hand; e NULL: of the statement. */
static ml_Place place(const Check *c, const ml_Expr *e)
{
    const ml_Span *s = !c->at ? NULL : e ? ml_expr_place(c->ev->sc, c->at, e) : c->at->span;

    return s ? (ml_Place){s->line, s->col, s->end_line, s->end_col}
             : c->ev->fn->node->name_at;
}

static ml_Place where(const Check *c, ml_Uid uid)
{
    const ml_Place *p = ml_map_get(c->ev->fn->places, uid);

    return p ? *p : (ml_Place){0};
}

static void begin(Check *c, ml_Uid uid)
{
    ml_map_set(c->ev->sc, c->state, uid, (const void *)(uintptr_t)LIVE);
    ml_push(c->ev->sc, &c->stack, uid);
}

/* One report of a name is enough. */
static void silence(Check *c, ml_Uid uid)
{
    ml_map_set(c->ev->sc, c->state, uid, (const void *)(uintptr_t)REPORTED);
}

static void define(Check *c, const ml_Var *v, bool again)
{
    int s = state(c, v->uid);

    if ((s == LIVE || s == ENDED) && !again) {
        ml_Diag *d = ml_report(c->ev->rep, ML_E_E705, place(c, NULL),
                               "variable `%s` is defined twice", v->hint);

        ml_report_note(c->ev->rep, d, where(c, v->uid), "first defined here");
    }
    begin(c, v->uid);
}

static void end_scope(Check *c, size_t n)
{
    while (c->stack.n > n)
        ml_map_set(c->ev->sc, c->state, c->stack.v[--c->stack.n],
                   (const void *)(uintptr_t)ENDED);
}

/* load: that uses it, or NULL. */
static void use_buffer(Check *c, const ml_Buffer *b, const ml_Expr *load)
{
    if (state(c, b->uid) == LIVE || state(c, b->uid) == REPORTED)
        return;
    if (state(c, b->uid) == ENDED) {
        ml_Diag *d = ml_report(c->ev->rep, ML_E_E702, place(c, load),
                               "buffer `%s` is not visible here", b->name);
        ml_Place p = {0};

        if (b->span)
            p = (ml_Place){b->span->line, b->span->col, b->span->end_line,
                           b->span->end_col};
        ml_report_note(c->ev->rep, d, p, "defined here, in a scope that has ended");
    } else {
        ml_report(c->ev->rep, ML_E_E706, place(c, load), "buffer `%s` is not defined",
                  b->name);
    }
    silence(c, b->uid);
}

static void use_var(Check *c, const ml_Var *v, const ml_Expr *e)
{
    int s = state(c, v->uid);
    ml_Diag *d;
    uintptr_t level;

    if (s == REPORTED)
        return;
    if (s != LIVE) {
        d = ml_report(c->ev->rep, s == ENDED ? ML_E_E702 : ML_E_E706, place(c, e),
                      s == ENDED ? "`%s` is not visible here"
                                 : "variable `%s` is not defined",
                      v->hint);
        ml_report_note(c->ev->rep, d, where(c, v->uid),
                       s == ENDED ? "defined here, in a scope that has ended"
                                  : "made here");
        silence(c, v->uid);
        return;
    }
    level = (uintptr_t)ml_map_get(c->loops, v->uid);
    if (level && level - 1 < c->depth && c->block) {
        d = ml_report(c->ev->rep, ML_E_E701, place(c, e),
                      "block \"%s\" uses loop variable `%s`; bind it to an axis",
                      c->block->name, v->hint);
        ml_report_note(c->ev->rep, d, where(c, v->uid), "the loop");
        ml_map_set(c->ev->sc, c->loops, v->uid, NULL);
    }
}

static void expr(Check *c, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_VAR) {
        use_var(c, e->as.var, e);
    } else if (e->kind == ML_EXPR_LET) {
        size_t n = c->stack.n;

        expr(c, e->args[0]);
        define(c, e->as.var, true); /* a shared node is met several times */
        expr(c, e->args[1]);
        end_scope(c, n);
    } else {
        if (e->kind == ML_EXPR_LOAD)
            use_buffer(c, e->as.buffer, e);
        if (!(e->flags & ML_X_VAR_FREE) || e->kind == ML_EXPR_LOAD ||
            (e->flags & ML_X_HAS_LOAD))
            for (size_t k = 0; k < e->n_args; k++)
                expr(c, e->args[k]);
    }
}

/* Variables that stand alone in shape, strides, offset are defined by it. */
static void define_buffer(Check *c, const ml_Buffer *b, bool binds)
{
    if (!binds)
        for (size_t k = 0; k < b->rank; k++)
            expr(c, b->shape[k]);
    for (int pass = 0; pass < 2 && binds; pass++)
        for (size_t k = 0; k < b->rank + (size_t)b->n_strides + 1; k++) {
            const ml_Expr *e = k < b->rank ? b->shape[k]
                               : k < (size_t)b->rank + b->n_strides
                                   ? b->strides[k - b->rank]
                                   : b->elem_offset;

            if (pass == 0 && e->kind == ML_EXPR_VAR && state(c, e->as.var->uid) != LIVE)
                begin(c, e->as.var->uid);
            else if (pass == 1)
                expr(c, e);
        }
    if (state(c, b->data->uid) != LIVE)
        begin(c, b->data->uid);
    begin(c, b->uid);
}

static void value(Check *c, const ml_Value *v)
{
    if (!v)
        return;
    if (v->kind == ML_VAL_EXPR)
        expr(c, v->as.expr);
    else if (v->kind == ML_VAL_BUFFER)
        use_buffer(c, v->as.buffer, NULL);
    else if (v->kind == ML_VAL_LIST || v->kind == ML_VAL_DICT)
        for (uint32_t k = 0; k < v->n; k++)
            value(c, v->as.list[k]);
}

static void stmt(Check *c, const ml_Stmt *s);

static void child(const ml_Stmt *s, bool in_init, void *user)
{
    (void)in_init;
    stmt(user, s);
}

static void role(const ml_Expr *e, ml_Role r, void *user)
{
    (void)r;
    expr(user, e);
}

static void regions(Check *c, const ml_Region *r, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        use_buffer(c, r[k].buffer, NULL);
        for (size_t j = 0; j < r[k].buffer->rank; j++) {
            expr(c, r[k].ranges[j].min);
            expr(c, r[k].ranges[j].extent);
        }
    }
}

static void block(Check *c, const ml_Block *b)
{
    size_t n = c->stack.n;
    const ml_Block *outer = c->block;

    for (uint32_t k = 0; k < b->n_iters; k++) {
        expr(c, b->iters[k].min);
        expr(c, b->iters[k].extent);
        expr(c, b->iters[k].value);
    }
    expr(c, b->predicate);
    for (uint32_t k = 0; k < b->n_iters; k++)
        define(c, b->iters[k].var, false);
    if (b->n_iters) {
        c->depth++;
        c->block = b;
    }
    for (uint32_t k = 0; k < b->n_allocs; k++)
        define_buffer(c, b->allocs[k], false);
    for (uint32_t k = 0; k < b->n_matches; k++) {
        regions(c, &b->matches[k].source, 1);
        define_buffer(c, b->matches[k].target, true);
    }
    regions(c, b->reads, b->n_reads);
    regions(c, b->writes, b->n_writes);
    value(c, b->annotations);
    if (b->init)
        stmt(c, b->init);
    stmt(c, b->body);
    if (b->n_iters)
        c->depth--;
    c->block = outer;
    end_scope(c, n);
}

static void attr(Check *c, const ml_Attr *a)
{
    value(c, a->value);
    if (ml_attr_defines(a))
        define(c, a->node->as.var, true);
    else if (a->node->kind == ML_VAL_VAR)
        use_var(c, a->node->as.var, NULL);
    else
        value(c, a->node);
    stmt(c, a->body);
}

static void stmt(Check *c, const ml_Stmt *s)
{
    const ml_Stmt *outer = c->at;
    size_t n = c->stack.n;
    bool flat = false;

    if (s->span)
        c->at = s;
    switch (s->kind) {
    case ML_STMT_STORE: {
        const ml_Store *st = ml_as_store(s);

        use_buffer(c, st->buffer, NULL);
        for (uint32_t k = 0; k < st->n; k++)
            expr(c, st->indices[k]);
        expr(c, st->value);
        if (st->mask)
            expr(c, st->mask);
        break;
    }
    case ML_STMT_FOR: {
        const ml_For *f = ml_as_for(s);

        expr(c, f->min);
        expr(c, f->extent);
        if (f->step)
            expr(c, f->step);
        value(c, f->annotations);
        define(c, f->var, false);
        ml_map_set(c->ev->sc, c->loops, f->var->uid,
                   (const void *)(uintptr_t)(c->depth + 1));
        stmt(c, f->body);
        break;
    }
    case ML_STMT_BIND:
        expr(c, ml_as_bind(s)->value);
        define(c, ml_as_bind(s)->var, false);
        flat = true;
        break;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL:
        if (ml_as_alloc(s)->data)
            expr(c, ml_as_alloc(s)->data);
        define_buffer(c, ml_as_alloc(s)->buffer, s->kind == ML_STMT_DECL);
        flat = true;
        break;
    case ML_STMT_ATTR: attr(c, ml_as_attr(s)); break;
    case ML_STMT_BLOCK: block(c, ml_as_block(s)); break;
    default:
        ml_stmt_exprs(s, role, c);
        ml_stmt_children(s, child, c);
        break;
    }
    if (!flat)
        end_scope(c, n);
    c->at = outer;
}

void ml_check_func(ml_Eval *ev, const ml_Func *f)
{
    Check c = {.ev = ev, .f = f};

    c.state = ml_map_new(ev->sc);
    c.loops = ml_map_new(ev->sc);
    for (uint32_t k = 0; k < f->n_params; k++)
        begin(&c, f->params[k].var->uid);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer) /* sizes first: an earlier one may use a later one */
            for (size_t j = 0; j < f->params[k].buffer->rank; j++)
                if (f->params[k].buffer->shape[j]->kind == ML_EXPR_VAR &&
                    state(&c, f->params[k].buffer->shape[j]->as.var->uid) != LIVE)
                    begin(&c, f->params[k].buffer->shape[j]->as.var->uid);
    for (uint32_t k = 0; k < f->n_params; k++)
        if (f->params[k].buffer)
            define_buffer(&c, f->params[k].buffer, true);
    stmt(&c, f->body);
}
