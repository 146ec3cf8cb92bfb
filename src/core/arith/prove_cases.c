/*
 * prove_cases - a comparison of ends, by cases of the min and max nodes in them.
 *
 * Clipped windows give ends like min(2*h - 7, 0) + 10 against 2*h + 10 - max(h, 3)*2, where
 * no rule brings both sides together but each case is linear. Depth is bounded: at most
 * 2^MAX_SPLITS leaves, and only where the plain proof failed.
 */
#include "moonloop/core/arith/arith_impl.h"

#include "moonloop/core/walk.h"

enum { MAX_SPLITS = 4, MAX_SIZE = 200 };

/* An innermost min or max of an index type, or NULL. */
static const ml_Expr *innermost(const ml_Expr *e)
{
    for (uint16_t k = 0; k < e->n_args; k++) {
        const ml_Expr *m = innermost(e->args[k]);
        if (m)
            return m;
    }
    return (e->kind == ML_EXPR_MIN || e->kind == ML_EXPR_MAX) && ml_is_index(e) ? e : NULL;
}

typedef struct Swap {
    const ml_Expr *from, *to;
} Swap;

static const ml_Expr *swap(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    const Swap *s = user;

    return e == s->from ? s->to : ml_expr_map_args(cx, e, swap, user);
}

static bool by_cases(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b, int splits)
{
    if (ml_prove_le_expr(ar, a, b))
        return true;
    if (splits == 0)
        return false;
    const ml_Expr *m = innermost(a);

    if (!m && !(m = innermost(b)))
        return false;
    for (int side = 0; side < 2; side++) {
        const ml_Expr *low = m->args[side], *high = m->args[1 - side];
        ml_ArithMark mark;
        bool ok;

        if (ml_prove_lt_expr(ar, high, low))
            continue; /* never so */
        mark = ml_arith_save(ar);
        ml_arith_assume(ar, ml_le(ar->cx, low, high));
        Swap s = {m, m->kind == ML_EXPR_MIN ? low : high};
        ok = by_cases(ar, ml_simplify(ar, swap(ar->cx, a, &s)),
                      ml_simplify(ar, swap(ar->cx, b, &s)), splits - 1);
        ml_arith_restore(ar, mark);
        if (!ok)
            return false;
    }
    return true;
}

bool ml_prove_le_cases(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (a->size + b->size > MAX_SIZE || !ml_is_index(a) || !ml_is_index(b))
        return ml_prove_le_expr(ar, a, b);
    return by_cases(ar, a, b, MAX_SPLITS);
}

bool ml_prove_cases(ml_Arith *ar, const ml_Expr *p)
{
    const ml_Expr *a = p->n_args > 0 ? p->args[0] : NULL,
                  *b = p->n_args > 1 ? p->args[1] : NULL;

    if (ml_prove_symbolic(ar, p))
        return true;
    if (!a || !b)
        return false;
    if (p->kind == ML_EXPR_AND)
        return ml_prove_cases(ar, a) && ml_prove_cases(ar, b);
    if (!ml_is_index_compare(p))
        return false;
    const ml_Expr *one = ml_int(ar->cx, a->type, 1);

    switch ((int)p->kind) {
    case ML_EXPR_LE: return ml_prove_le_cases(ar, a, b);
    case ML_EXPR_GE: return ml_prove_le_cases(ar, b, a);
    case ML_EXPR_LT: return ml_prove_le_cases(ar, ml_add(ar->cx, a, one), b);
    case ML_EXPR_GT: return ml_prove_le_cases(ar, ml_add(ar->cx, b, one), a);
    }
    return false;
}
