/*
 * driven - a reduction with bindings that show which loops drive them: (i*2 + j)//2 is driven
 * by i alone. Simplifying is what costs, and most bindings are sums in which nothing can
 * cancel: those are left as they are. Source: primitives 6, reorder.
 */
#include "moonloop/primitives/rewrite/move.h"

enum { MAX_TERMS = 16 };

typedef struct Sum {
    const ml_Index *ix;
    const ml_Var *seen[MAX_TERMS];
    size_t n;
    bool plain;
} Sum;

/* A loop's variable over or by a number, which leaves something of it. */
static bool is_digit(const Sum *s, const ml_Expr *e)
{
    if (e->args[0]->kind != ML_EXPR_VAR || !ml_is_const_int(e->args[1]))
        return false;
    const ml_Stmt *loop = ml_index_node(s->ix, e->args[0]->as.var->uid);
    int64_t by = e->args[1]->as.i;

    if (!loop || loop->kind != ML_STMT_FOR || by < 2 || !ml_is_int(ml_as_for(loop)->min, 0))
        return false;
    const ml_Expr *n = ml_as_for(loop)->extent;

    return ml_is_const_int(n) && n->as.i > (e->kind == ML_EXPR_FLOORDIV ? by : 1);
}

static bool see_term(const ml_Expr *e, void *user)
{
    Sum *s = user;

    switch ((int)e->kind) {
    case ML_EXPR_INT:
    case ML_EXPR_ADD: break;
    case ML_EXPR_MUL: s->plain &= ml_is_const_int(e->args[1]); break;
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: s->plain &= is_digit(s, e); break;
    case ML_EXPR_VAR:
        for (size_t k = 0; k < s->n; k++)
            s->plain &= s->seen[k] != e->as.var;
        s->plain &= s->n < MAX_TERMS;
        if (s->plain)
            s->seen[s->n++] = e->as.var;
        break;
    default: s->plain = false;
    }
    return s->plain;
}

/* A sum of variables or digits of them, each once, times numbers: all of them drive it. */
static bool is_plain_sum(const ml_Index *ix, const ml_Expr *e)
{
    Sum s = {.ix = ix, .plain = true};

    ml_expr_visit(e, see_term, &s);
    return s.plain;
}

const ml_Block *ml_as_driven(ml_Call *c, const ml_Block *b)
{
    ml_Block nb = *b;
    bool plain = true;

    for (size_t k = 0; k < b->n_iters; k++)
        plain = plain && is_plain_sum(c->p.index, b->iters[k].value);
    if (plain || ml_is_spatial_block(b))
        return b;
    ml_Arith *ar = ml_arith_at(c->cx, c->p, b->tag);
    ml_Iter *iters = ML_ARRAY(c->cx, ml_Iter, b->n_iters);

    for (size_t k = 0; k < b->n_iters; k++) {
        iters[k] = b->iters[k];
        iters[k].value = ml_simplify(ar, iters[k].value);
    }
    nb.iters = iters;
    return ml_as_block(ml_block_from(c->cx, &nb));
}
