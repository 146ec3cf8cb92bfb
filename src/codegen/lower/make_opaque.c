/*
 * make_opaque - blocks lose their iterators: everywhere in a block they are replaced by
 * their binding values. Outside in, so that the bindings of a nested block are free of
 * outer iterators when their turn comes. Source: lowering-and-codegen 2.5.
 */
#include "moonloop/codegen/lower/lower_impl.h"

static const char PASS[] = "make_opaque";

typedef struct Opener {
    ml_Lower *lo;
    bool failed, dynamic;
} Opener;

static const ml_Stmt *fail(Opener *w, const ml_Stmt *st, const char *text)
{
    ml_lower_fail(w->lo, PASS, st, "%s", text);
    w->failed = true;
    return st;
}

/* A binding is evaluated once, before the body: what it loads must stay as it is. */
static bool changed_below(ml_Ctx *cx, const ml_Block *b, const ml_Expr *value)
{
    if (!(value->flags & ML_X_HAS_LOAD))
        return false;
    for (uint32_t k = 0; k < b->n_writes; k++)
        if (ml_expr_uses_buffer(value, b->writes[k].buffer))
            return true;
    (void)cx;
    return false;
}

static const char *refusal(ml_Ctx *cx, const ml_Block *b)
{
    for (uint32_t k = 0; k < b->n_iters; k++) {
        const ml_Iter *it = &b->iters[k];

        for (uint32_t j = 0; j < b->n_iters; j++)
            if (ml_expr_uses_var(b->iters[j].value, it->var))
                return ml_format(cx,
                                 "iterator %s of block %s is used in a binding of its own "
                                 "block; bindings use what is defined outside",
                                 it->var->hint, b->name);
        if (ml_expr_uses_var(b->predicate, it->var))
            return ml_format(cx,
                             "iterator %s of block %s is used in its predicate; predicates "
                             "use what is defined outside",
                             it->var->hint, b->name);
        if (it->value->flags & ML_X_EFFECT || changed_below(cx, b, it->value))
            return ml_format(cx,
                             "the binding %s of iterator %s of block %s may change while "
                             "the block runs; bind what the block does not write",
                             ml_lower_text(cx, it->value), it->var->hint, b->name);
    }
    return b->init ? ml_format(cx, "block %s still has an init; lower_init comes before",
                               b->name)
                   : NULL;
}

/* ---- what bindings load is read by the body from now on */

typedef struct Loads {
    ml_Ctx *cx;
    ML_VEC(ml_Region) v;
} Loads;

static bool add_load(const ml_Expr *e, void *user)
{
    Loads *l = user;

    if (e->kind == ML_EXPR_LOAD) {
        const ml_Buffer *buf = e->as.buffer;
        ml_Range *r = ML_ARRAY(l->cx, ml_Range, buf->rank + 1u);

        for (size_t d = 0; d < buf->rank; d++)
            r[d] = (ml_Range){e->args[d], ml_int(l->cx, e->args[d]->type, 1)};
        ml_push(l->cx, &l->v, ((ml_Region){buf, r}));
    }
    return (e->flags & ML_X_HAS_LOAD) != 0;
}

static const ml_Range *whole(ml_Ctx *cx, const ml_Buffer *buf)
{
    ml_Range *r = ML_ARRAY(cx, ml_Range, buf->rank + 1u);

    for (size_t d = 0; d < buf->rank; d++)
        r[d] = (ml_Range){ml_int(cx, buf->shape[d]->type, 0), buf->shape[d]};
    return r;
}

/* Of a buffer that is read already, all is. */
static const ml_Stmt *declare(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const Loads *l = user;

    if (!st->has_block)
        return st;
    st = ml_stmt_map(cx, st, &(ml_Mapper){.stmt = declare, .user = user});
    if (st->kind != ML_STMT_BLOCK)
        return st;
    ml_Block b = *ml_as_block(st);
    ml_Region *reads = ML_ARRAY(cx, ml_Region, b.n_reads + l->v.n + 1u);

    if (b.n_reads)
        memcpy(reads, b.reads, b.n_reads * sizeof *reads);
    for (size_t k = 0; k < l->v.n; k++) {
        size_t at = 0;

        while (at < b.n_reads && reads[at].buffer->uid != l->v.v[k].buffer->uid)
            at++;
        if (at < b.n_reads)
            reads[at].ranges = whole(cx, reads[at].buffer);
        else
            reads[b.n_reads++] = l->v.v[k];
    }
    b.reads = reads;
    return ml_block_from(cx, &b);
}

static const ml_Stmt *open_stmt(ml_Ctx *cx, const ml_Stmt *st, void *user)
{
    const ml_Mapper m = {.stmt = open_stmt, .user = user};
    Opener *w = user;
    const ml_Block *old;
    const char *no;
    ml_Subst s = {0};
    ml_Block b;

    if (w->failed || !st->has_block)
        return st;
    if (st->kind != ML_STMT_BLOCK)
        return ml_stmt_map(cx, st, &m);
    old = ml_as_block(st);
    no = refusal(cx, old);
    if (no)
        return fail(w, st, no);
    if (old->n_iters == 0)
        return ml_stmt_map(cx, st, &m);
    b = *old;
    b.n_iters = 0;
    b.iters = NULL;
    for (uint32_t k = 0; k < old->n_iters; k++)
        ml_subst_var(cx, &s, old->iters[k].var, old->iters[k].value);
    st = ml_lower_subst(cx, ml_block_from(cx, &b), &s, w->dynamic);
    Loads loads = {.cx = cx};

    for (uint32_t k = 0; k < old->n_iters; k++)
        ml_expr_visit(old->iters[k].value, add_load, &loads);
    if (loads.v.n)
        st = declare(cx, st, &loads);
    return ml_stmt_map(cx, st, &m);
}

const ml_Func *ml_pass_make_opaque(ml_Lower *lo, const ml_Func *f)
{
    Opener w = {.lo = lo, .dynamic = ml_dynamic_buffers(f->body)};
    const ml_Stmt *body = open_stmt(lo->cx, f->body, &w);

    return w.failed ? NULL : ml_func_with_body(lo->cx, f, body);
}
