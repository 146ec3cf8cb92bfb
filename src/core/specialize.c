/*
 * specialize - a function for sizes that are known.
 *
 * Substitution alone: expressions fold where they become constant, buffers that the body
 * allocates follow with their shapes, and nothing else changes. A condition that is decided by it
 * leaves its arm. Source: ir-and-analysis 8.2.
 */
#include "moonloop/core/specialize.h"

#include "moonloop/core/error.h"
#include "moonloop/core/walk.h"

#include <errno.h>
#include <stdlib.h>

/* ---- symbols */

typedef struct Symbols {
    ml_Ctx *cx;
    ml_VarVec *out;
} Symbols;

static bool add_symbol(const ml_Expr *e, void *user)
{
    const Symbols *s = user;

    if (e->kind != ML_EXPR_VAR)
        return true;
    for (size_t k = 0; k < s->out->n; k++)
        if (s->out->v[k]->uid == e->as.var->uid)
            return true;
    ml_push(s->cx, s->out, e->as.var);
    return true;
}

static void add_symbols(Symbols *s, const ml_Expr *const *v, size_t n)
{
    for (size_t k = 0; k < n; k++)
        ml_expr_visit(v[k], add_symbol, s);
}

void ml_func_symbols(ml_Ctx *cx, const ml_Func *f, bool shapes, ml_VarVec *out)
{
    Symbols s = {cx, out};

    for (uint32_t k = 0; k < f->n_params; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (b)
            add_symbols(&s, b->shape, b->rank);
    }
    for (uint32_t k = 0; k < f->n_params && !shapes; k++) {
        const ml_Buffer *b = f->params[k].buffer;

        if (b) {
            add_symbols(&s, b->strides, b->n_strides);
            ml_expr_visit(b->elem_offset, add_symbol, &s);
        } else if (ml_dtype_is_int(f->params[k].var->type)) {
            add_symbol(ml_var(cx, f->params[k].var), &s);
        }
    }
}

/* ---- arms */

static bool is_plain(const ml_Stmt *s)
{
    return s->kind == ML_STMT_BLOCK && ml_as_block(s)->n_iters == 0 &&
           ml_is_int(ml_as_block(s)->predicate, 1) && !ml_as_block(s)->init;
}

/* The comparisons `symbol == constant` that the condition consists of; false: it is another
 * one. */
static bool read_condition(const ml_VarVec *symbols, const ml_Expr *e, ml_Arm *out)
{
    if (e->kind == ML_EXPR_AND)
        return read_condition(symbols, e->args[0], out) &&
               read_condition(symbols, e->args[1], out);
    if (e->kind != ML_EXPR_EQ || e->args[0]->kind != ML_EXPR_VAR ||
        e->args[1]->kind != ML_EXPR_INT || out->n == ML_MOST_CONSTANTS)
        return false;
    for (size_t k = 0; k < symbols->n; k++)
        if (symbols->v[k]->uid == e->args[0]->as.var->uid) {
            out->sizes[out->n++] = (ml_Constant){symbols->v[k]->hint, e->args[1]->as.i};
            return true;
        }
    return false;
}

void ml_func_arms(ml_Ctx *cx, const ml_Func *f, ml_Arms *out)
{
    const ml_Stmt *s;
    ml_VarVec symbols = {0};

    *out = (ml_Arms){.root = ml_func_root(f)};
    out->general = out->root;
    if (!out->root || out->root->n_allocs || out->root->n_matches)
        return;
    ml_func_symbols(cx, f, false, &symbols);
    for (s = out->root->body; s->kind == ML_STMT_IF; s = ml_as_if(s)->other) {
        const ml_If *i = ml_as_if(s);
        ml_Arm arm = {0};

        if (!i->other || !is_plain(i->then) || !read_condition(&symbols, i->cond, &arm))
            break;
        arm.block = ml_as_block(i->then);
        ml_push(cx, &out->v, arm);
    }
    if (out->v.n > 0 && is_plain(s))
        out->general = ml_as_block(s);
    else
        out->v.n = 0;
}

/* ---- constants as a text */

static const char *read_one(ml_Ctx *cx, const char *text, size_t n, ml_Constant *out)
{
    const char *is = memchr(text, '=', n);
    char *end;

    if (!is || is == text || is + 1 == text + n)
        return ml_format(cx, "'%.*s' is no size, as n=16 is one", (int)n, text);
    out->name = ml_strdup(cx, (ml_Str){text, (size_t)(is - text)});
    errno = 0;
    out->value = strtoll(is + 1, &end, 10);
    if (end != text + n || errno || out->value < 1)
        return ml_format(cx, "%s is a whole number from 1, not %.*s", out->name,
                         (int)(text + n - is - 1), is + 1);
    return NULL;
}

const char *ml_constants_read(ml_Ctx *cx, const char *text, ml_Constant *out, size_t *n)
{
    *n = 0;
    for (;;) {
        size_t all = strcspn(text, ",");
        const char *why;

        if (*n == ML_MOST_CONSTANTS)
            return ml_format(cx, "more than %d sizes", ML_MOST_CONSTANTS);
        if ((why = read_one(cx, text, all, &out[*n])) != NULL)
            return why;
        for (size_t k = 0; k < *n; k++)
            if (ml_streq(out[k].name, out[*n].name))
                return ml_format(cx, "%s is given twice", out[k].name);
        ++*n;
        text += all;
        if (*text == '\0')
            return NULL;
        text++;
    }
}

void ml_constants_text(ml_Text *out, const ml_Constant *v, size_t n, const char *is,
                       const char *between)
{
    for (size_t k = 0; k < n; k++)
        ml_text_fmt(out, "%s%s%s%lld", k ? between : "", v[k].name, is,
                    (long long)v[k].value);
}

/* ---- the function */

static bool no_symbol(ml_Ctx *cx, const char *name, const ml_VarVec *there)
{
    ml_Text t = {0};

    for (size_t k = 0; k < there->n; k++)
        ml_text_fmt(&t, "%s%s",
                    k == 0             ? ""
                    : k + 1 < there->n ? ", "
                                       : " and ",
                    there->v[k]->hint);
    if (there->n == 0)
        ml_fail(cx, ML_E_BAD_ARGUMENT,
                ML_TEXT("the program has no symbolic sizes: all its sizes are constants"));
    else
        ml_fail(cx, ML_E_BAD_ARGUMENT,
                ML_TEXT(ml_format(cx, "the program has no symbolic size %s; it has %s",
                                  name, ml_text_z(&t))));
    ml_text_free(&t);
    return false;
}

static bool bind(ml_Ctx *cx, ml_Subst *s, const ml_VarVec *there, const ml_Constant *c)
{
    const ml_Var *found = NULL;

    for (size_t k = 0; k < there->n; k++) {
        const ml_Var *v = there->v[k];

        if (!ml_streq(v->hint, c->name))
            continue;
        if (found)
            return ml_fail(
                cx, ML_E_BAD_ARGUMENT,
                ML_TEXT(ml_format(cx, "several symbolic sizes are called %s", c->name)));
        found = v;
    }
    if (!found)
        return no_symbol(cx, c->name, there);
    if (!ml_dtype_fits(found->type, c->value))
        return ml_fail(
            cx, ML_E_BAD_ARGUMENT,
            ML_TEXT(ml_format(cx, "%s = %lld does not fit %s", c->name, (long long)c->value,
                              ml_dtype_name(cx, found->type))));
    ml_subst_var(cx, s, found, ml_int(cx, found->type, c->value));
    return true;
}

static const ml_Expr *const *subst_list(ml_Ctx *cx, const ml_Expr *const *v, size_t n,
                                        const ml_Subst *s, bool *changed)
{
    const ml_Expr **out = ML_ARRAY(cx, const ml_Expr *, n + 1);

    for (size_t k = 0; k < n; k++) {
        out[k] = ml_expr_subst(cx, v[k], s);
        *changed |= out[k] != v[k];
    }
    return out;
}

/* Whether the buffer, with its dimensions as they are known, has a size that can be counted. */
static bool check_bytes(ml_Ctx *cx, const ml_Buffer *b)
{
    int64_t bytes = (int64_t)ml_dtype_bytes(b->type);

    for (uint16_t d = 0; d < b->rank; d++) {
        const ml_Expr *e = b->shape[d];

        if (e->kind == ML_EXPR_INT &&
            (e->as.i < 0 || __builtin_mul_overflow(bytes, e->as.i, &bytes) ||
             bytes > INT64_MAX / 2))
            return ml_fail(cx, ML_E_BAD_ARGUMENT,
                           ML_TEXT(ml_format(cx,
                                             "buffer %s would be too large: dimension "
                                             "%u has %lld",
                                             b->name, (unsigned)d, (long long)e->as.i)));
    }
    return true;
}

static bool subst_param(ml_Ctx *cx, ml_FuncParam *p, ml_Subst *s)
{
    bool changed = false;
    ml_Buffer b;

    if (!p->buffer)
        return true;
    b = *p->buffer;
    b.shape = subst_list(cx, b.shape, b.rank, s, &changed);
    b.strides = subst_list(cx, b.strides, b.n_strides, s, &changed);
    b.elem_offset = ml_expr_subst(cx, b.elem_offset, s);
    if (!changed && b.elem_offset == p->buffer->elem_offset)
        return true;
    if (!check_bytes(cx, &b))
        return false;
    const ml_Buffer *to = ml_buffer_from(cx, &b, false);

    ml_subst_buffer(cx, s, p->buffer, to);
    p->buffer = to;
    return true;
}

/* The arm of a condition that is decided. */
static const ml_Stmt *take_arms(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    st = ml_stmt_map(cx, st, &(ml_Mapper){.stmt = take_arms, .user = user});
    if (st->kind != ML_STMT_IF || ml_as_if(st)->cond->kind != ML_EXPR_INT)
        return st;
    if (ml_as_if(st)->cond->as.i)
        return ml_as_if(st)->then;
    return ml_as_if(st)->other ? ml_as_if(st)->other : ml_evaluate(cx, ml_i32(cx, 0));
}

const ml_Func *ml_func_specialize(ml_Ctx *cx, const ml_Func *f, const ml_Constant *v,
                                  size_t n)
{
    ml_FuncParam *params = ML_ARRAY(cx, ml_FuncParam, f->n_params + 1u);
    ml_VarVec there = {0};
    ml_Subst s = {0};
    ml_Func to = *f;

    ml_func_symbols(cx, f, false, &there);
    for (size_t k = 0; k < n; k++)
        if (!bind(cx, &s, &there, &v[k]))
            return NULL;
    for (uint32_t k = 0; k < f->n_params; k++) {
        params[k] = f->params[k];
        if (!subst_param(cx, &params[k], &s))
            return NULL;
    }
    to.params = params;
    to.body = take_arms(cx, ml_stmt_subst(cx, f->body, &s), NULL);
    if (!ml_ok_or_fail(cx))
        return NULL;
    return ml_func_from(cx, &to);
}
