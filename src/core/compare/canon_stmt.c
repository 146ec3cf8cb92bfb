/*
 * canon_stmt - the canonical words of statements, functions and modules (canon.c has those
 * of what stands inside them), in the order of script 13: definitions come before their
 * uses, a block's realization before the block. Functions of a module go by name.
 */
#include "moonloop/core/compare/canon_impl.h"

/* The body of a loop or block is a step of the path only when it is a list. */
static void put_child(ml_Canon *c, const ml_Stmt *st, const char *what, int64_t index)
{
    if (ml_streq(what, "body") && st->kind != ML_STMT_SEQ) {
        ml_canon_stmt(c, st);
        return;
    }
    ML_CANON_AT(c, what, NULL, index);
    ml_canon_stmt(c, st);
    ML_CANON_LEAVE(c);
}

/* Everything but bindings, predicate and the number of iterators. */
static void put_content(ml_Canon *c, const ml_Block *b)
{
    for (size_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        ML_CANON_AT(c, "iter", it->var->hint, -1);
        ml_canon_put_expr(c, it->min, "min", -1);
        ml_canon_put_expr(c, it->extent, "extent", -1);
        ml_canon_put(c, it->kind, "iterator kind", ML_SHOW_TEXT,
                     ml_iter_kind_name((ml_IterKind)it->kind));
        ml_canon_define_var(c, it->var, false);
        ML_CANON_LEAVE(c);
    }
    ml_canon_put_number(c, b->n_allocs, "number of allocations");
    for (size_t k = 0; k < b->n_allocs; k++)
        ml_canon_define_buffer(c, b->allocs[k], false);
    ml_canon_put_number(c, b->n_matches, "number of matched buffers");
    for (size_t k = 0; k < b->n_matches; k++) {
        ML_CANON_AT(c, "match", NULL, (int64_t)k);
        ml_canon_define_buffer(c, b->matches[k].target, true);
        ml_canon_put_region(c, &b->matches[k].source);
        ML_CANON_LEAVE(c);
    }
    ml_canon_put_regions(c, b->reads, b->n_reads, "reads");
    ml_canon_put_regions(c, b->writes, b->n_writes, "writes");
    ml_canon_put_dict(c, b->annotations, NULL, "annotations");
    ml_canon_put_number(c, b->init != NULL, "init");
    if (b->init)
        put_child(c, b->init, "init", -1);
    put_child(c, b->body, "body", -1);
}

/* Realization first (bindings, predicate), then the block. */
static void put_block(ml_Canon *c, const ml_Block *b)
{
    ml_canon_put_number(c, b->n_iters, "number of iterators");
    for (size_t k = 0; k < b->n_iters; k++)
        ml_canon_put_expr(c, b->iters[k].value, "binding", (int64_t)k);
    ml_canon_put_expr(c, b->predicate, "predicate", -1);
    put_content(c, b);
}

static void put_for(ml_Canon *c, const ml_For *f)
{
    ml_canon_put_expr(c, f->min, "min", -1);
    ml_canon_put_expr(c, f->extent, "extent", -1);
    if (!f->step || ml_is_int(f->step, 1)) {
        ml_canon_put(c, 0, "step", ML_SHOW_TEXT, "1");
    } else {
        ml_canon_put(c, 1, "step", ML_SHOW_EXPR, f->step);
        ml_canon_put_expr(c, f->step, "step", -1);
    }
    ml_canon_put(c, f->kind, "loop kind", ML_SHOW_TEXT,
                 ml_for_kind_name((ml_ForKind)f->kind));
    ml_canon_put_text(c, f->thread.name, "thread");
    ml_canon_put_number(c, f->thread_var != NULL, "thread variable");
    if (f->thread_var)
        ml_canon_define_var(c, f->thread_var, false);
    ml_canon_put_dict(c, f->annotations, NULL, "annotations");
    ml_canon_define_var(c, f->var, false);
    put_child(c, f->body, "body", -1);
}

static void put_attr(ml_Canon *c, const ml_Attr *a)
{
    ml_canon_put_text(c, a->key, "attribute");
    ml_canon_put_text(c, a->thread.name, "thread");
    if (ml_attr_defines(a)) {
        ml_canon_put_kind(c, ML_VAL_VAR);
        ml_canon_define_var(c, ml_attr_defines(a), false);
    } else {
        ml_canon_put_value(c, a->node);
    }
    ml_canon_put_value(c, a->value);
    put_child(c, a->body, "body", -1);
}

static void put_alloc(ml_Canon *c, const ml_Alloc *a)
{
    ml_canon_put_expr(c, a->data, "data", -1);
    ml_canon_define_buffer(c, a->buffer, false);
    ml_canon_put_dict(c, a->annotations, NULL, "annotations");
}

static void put_list(ml_Canon *c, const ml_Stmt *const *list, size_t n)
{
    ml_canon_put_number(c, (int64_t)n, "number of statements");
    for (size_t k = 0; k < n; k++)
        put_child(c, list[k], "", (int64_t)k);
}

static void put_else(ml_Canon *c, const ml_Stmt *st)
{
    ml_canon_put_number(c, st != NULL, "else");
    if (st)
        put_child(c, st, "else", -1);
}

static void put_texts(ml_Canon *c, const char *const *list, size_t n, const char *what)
{
    ml_canon_put_number(c, (int64_t)n, what);
    for (size_t k = 0; k < n; k++)
        ml_canon_put_text(c, list[k], "message");
}

static void put_fields(ml_Canon *c, const ml_Stmt *st)
{
    switch (st->kind) { /* those with an order of their own */
    case ML_STMT_FOR: put_for(c, ml_as_for(st)); return;
    case ML_STMT_ALLOC:
    case ML_STMT_DECL: put_alloc(c, ml_as_alloc(st)); return;
    case ML_STMT_ATTR: put_attr(c, ml_as_attr(st)); return;
    case ML_STMT_BLOCK: put_block(c, ml_as_block(st)); return;
    }
    switch ((ml_StmtKind)st->kind) {
#define ML_STMT(NAME, type, shape, word)                                                   \
    case ML_STMT_##NAME: {                                                                 \
        const type *at = (const type *)(const void *)st;                                   \
        (void)at;
#define ML_F_VAR(f)            ml_canon_define_var(c, at->f, false);
#define ML_F_EXPR(f, role)     ml_canon_put_expr(c, at->f, #f, -1);
#define ML_F_EXPRS(f, n, role) ml_canon_put_exprs(c, at->f, at->n, #f);
#define ML_F_VALUE(f)          ml_canon_put_dict(c, at->f, NULL, #f);
#define ML_F_USES(f)           ml_canon_use_buffer(c, at->f);
#define ML_F_BUFFER(f)         ml_canon_define_buffer(c, at->f, false);
#define ML_F_TEXT(f)           ml_canon_put_text(c, at->f, #f);
#define ML_F_TEXTS(f, n)       put_texts(c, at->f, at->n, #f);
#define ML_F_BODY(f)           put_child(c, at->f, #f, -1);
#define ML_F_ELSE(f)           put_else(c, at->f);
#define ML_F_LIST(f, n)        put_list(c, at->f, at->n);
#define ML_STMT_END                                                                        \
    break;                                                                                 \
    }
#include "moonloop/core/stmt.def"
    case ML_STMT_KINDS: break;
    }
}

static const char *stmt_name(const ml_Stmt *st)
{
    if (st->kind == ML_STMT_FOR)
        return ml_as_for(st)->var->hint;
    return st->kind == ML_STMT_BLOCK && *ml_as_block(st)->name ? ml_as_block(st)->name
                                                               : NULL;
}

void ml_canon_stmt(ml_Canon *c, const ml_Stmt *st)
{
    const ml_Stmt *outer = c->stmt;

    if (c->stopped)
        return;
    c->stmt = st;
    ml_canon_put(c, st->kind, "statement", ML_SHOW_TEXT,
                 ml_stmt_word((ml_StmtKind)st->kind));
    if (stmt_name(st)) {
        ML_CANON_AT(c, ml_stmt_word((ml_StmtKind)st->kind), stmt_name(st), -1);
        put_fields(c, st);
        ML_CANON_LEAVE(c);
    } else {
        put_fields(c, st);
    }
    c->stmt = outer;
}

void ml_canon_block(ml_Canon *c, const ml_Block *b)
{
    const ml_Stmt *outer = c->stmt;

    c->stmt = &b->base;
    ML_CANON_AT(c, "block", *b->name ? b->name : NULL, -1);
    ml_canon_put_number(c, b->n_iters, "number of iterators");
    put_content(c, b);
    ML_CANON_LEAVE(c);
    c->stmt = outer;
}

/* ---- functions and modules */

static void put_param(ml_Canon *c, const ml_FuncParam *p, int64_t index)
{
    ML_CANON_AT(c, "params", NULL, index);
    ml_canon_define_var(c, p->var, false);
    ml_canon_put_number(c, p->buffer != NULL, "matched buffer");
    if (p->buffer)
        ml_canon_define_buffer(c, p->buffer, true);
    ML_CANON_LEAVE(c);
}

void ml_canon_func(ml_Canon *c, const ml_Func *f)
{
    ML_CANON_AT(c, "", f->name, -1);
    ml_canon_put_number(c, f->n_params, "number of parameters");
    for (size_t k = 0; k < f->n_params; k++)
        put_param(c, &f->params[k], (int64_t)k);
    ml_canon_put_dtype(c, f->ret, "return dtype");
    put_child(c, f->body, "body", -1);
    ml_canon_put_dict(c, f->attrs, c->opts.ignore_symbol ? "global_symbol" : NULL, "attrs");
    ML_CANON_LEAVE(c);
}

void ml_canon_module(ml_Canon *c, const ml_Module *m)
{
    const ml_Func **sorted = ML_ARRAY(c->cx, const ml_Func *, m->n ? m->n : 1);

    for (size_t k = 0; k < m->n; k++) { /* by name; modules are small */
        size_t j = k;

        for (; j > 0 && strcmp(sorted[j - 1]->name, m->funcs[k]->name) > 0; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = m->funcs[k];
    }
    ml_canon_put_number(c, m->n, "number of functions");
    for (size_t k = 0; k < m->n; k++)
        ml_canon_put_text(c, sorted[k]->name, "function");
    for (size_t k = 0; k < m->n; k++)
        ml_canon_func(c, sorted[k]);
    ml_canon_put_dict(c, m->attrs, NULL, "module attrs");
}
