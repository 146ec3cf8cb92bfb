/*
 * flops_expr - the operations of a function whose extents are not all known: an expression
 * of the function's symbols, as far as it is a sum of products of extents.
 *
 * Source: ir-and-analysis 6.3, with the extents left as they are.
 */
#include "moonloop/verify/verify.h"

typedef struct Sum {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Func *f;
    const ml_Expr *total; /* int64 */
    ml_Map *inner;        /* loop variables and iters: an extent may not use them */
    bool symbolic, failed;
} Sum;

static bool uses_inner(const ml_Expr *e, void *user)
{
    Sum *s = user;

    if (e->kind == ML_EXPR_VAR && ml_map_has(s->inner, e->as.var->uid))
        s->failed = true;
    if (e->kind == ML_EXPR_LOAD)
        s->failed = true;
    return !s->failed;
}

static bool has_symbolic_loop(const ml_Stmt *st, void *user)
{
    Sum *s = user;

    if (st->kind == ML_STMT_WHILE ||
        (st->kind == ML_STMT_FOR && !ml_is_const_int(ml_as_for(st)->extent)))
        s->failed = true;
    return !s->failed;
}

static void sum_stmt(Sum *s, const ml_Stmt *st, const ml_Expr *times);

typedef struct Child {
    Sum *s;
    const ml_Expr *times;
} Child;

static void sum_child(const ml_Stmt *st, bool in_init, void *user)
{
    Child *c = user;

    if (!in_init)
        sum_stmt(c->s, st, c->times);
}

static void sum_stmt(Sum *s, const ml_Stmt *st, const ml_Expr *times)
{
    ml_Ctx *cx = s->cx;

    if (s->failed)
        return;
    if (st->kind == ML_STMT_FOR) {
        const ml_For *f = ml_as_for(st);

        if (!ml_is_const_int(f->extent)) {
            s->symbolic = true;
            ml_expr_visit(f->extent, uses_inner, s);
        }
        ml_map_set(cx, s->inner, f->var->uid, f);
        times = ml_mul(cx, times, ml_cast(cx, ML_DT_I64, f->extent));
    }
    if (st->kind == ML_STMT_FOR || st->kind == ML_STMT_SEQ || st->kind == ML_STMT_BLOCK ||
        st->kind == ML_STMT_ATTR) {
        Child c = {s, times};

        for (size_t k = 0; st->kind == ML_STMT_BLOCK && k < ml_as_block(st)->n_iters; k++)
            ml_map_set(cx, s->inner, ml_as_block(st)->iters[k].var->uid, st);
        ml_stmt_children(st, sum_child, &c);
        return;
    }
    /* Which arm of an if runs, and how often a while does, is not said by an expression. */
    ml_stmt_visit(st, has_symbolic_loop, s);
    if (s->failed)
        return;
    double n = ml_flops_stmt(cx, s->f, st);

    if (n > 0 && n < 1e15)
        s->total =
            ml_add(cx, s->total, ml_mul(cx, times, ml_int(cx, ML_DT_I64, (int64_t)n)));
    s->failed |= n >= 1e15;
}

bool ml_flops_symbolic(ml_Ctx *cx, const ml_Func *f, const ml_Expr **out)
{
    Sum s = {.cx = cx, .ar = ml_arith_new(cx), .f = f};

    *out = NULL;
    if (ml_dict_get(f->attrs, "estimated_flops"))
        return false;
    s.total = ml_int(cx, ML_DT_I64, 0);
    s.inner = ml_map_new(cx);
    sum_stmt(&s, f->body, ml_int(cx, ML_DT_I64, 1));
    if (!s.symbolic && !s.failed)
        return false;
    if (!s.failed)
        *out = ml_simplify(s.ar, s.total);
    return true;
}
