/*
 * order - loops whose iterations a compiler of C must not interchange.
 *
 * gcc 12 takes the dependences of two loops over one buffer for weaker than they are: at -O2 it
 * stores B[i + j], at -O3 it stores A[6 * i + j + 7] from A[6 * i + j] in another order. A
 * statement that it knows nothing of, in the outer loop, keeps both in theirs and costs nothing.
 * Where the elements of two iterations are apart, or a buffer does not move with the loop, it is
 * right.
 */
#include "moonloop/codegen/c/emit.h"
#include "moonloop/core/compare/equal.h"

#include <stdlib.h>

typedef struct Site { /* one access */
    const ml_Buffer *buffer;
    const ml_Expr *const *indices;
    size_t rank;
    bool stored;
} Site;

typedef struct Nest {
    ml_Ctx *cx;
    ML_VEC(const ml_For *) loops; /* the outer one first */
    ML_VEC(Site) sites;
} Nest;

static bool see_load(const ml_Expr *e, void *user)
{
    Nest *n = user;

    if (e->kind == ML_EXPR_LOAD) {
        Site s = {e->as.buffer, e->args, ml_load_rank(e), false};
        ml_push(n->cx, &n->sites, s);
    }
    return true;
}

static bool see_stmt(const ml_Stmt *s, void *user)
{
    Nest *n = user;

    if (s->kind == ML_STMT_FOR)
        ml_push(n->cx, &n->loops, ml_as_for(s));
    if (s->kind == ML_STMT_STORE) {
        const ml_Store *store = ml_as_store(s);
        Site at = {store->buffer, store->indices, store->n, true};
        ml_push(n->cx, &n->sites, at);
    }
    ml_stmt_visit_exprs(s, ML_ROLES_RUN, see_load, n);
    return true;
}

/* By how much e grows with v, where that is one number. */
static bool growth(const ml_Expr *e, const ml_Var *v, int64_t *by)
{
    int64_t a, b;

    *by = 0;
    if (!ml_expr_uses_var(e, v))
        return true;
    switch (e->kind) {
    case ML_EXPR_VAR: *by = 1; return true;
    case ML_EXPR_CAST: return growth(e->args[0], v, by);
    case ML_EXPR_RAMP: return !ml_expr_uses_var(e->args[1], v) && growth(e->args[0], v, by);
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        if (!growth(e->args[0], v, &a) || !growth(e->args[1], v, &b))
            return false;
        return e->kind == ML_EXPR_ADD ? !__builtin_add_overflow(a, b, by)
                                      : !__builtin_sub_overflow(a, b, by);
    case ML_EXPR_MUL:
        if (e->args[1]->kind != ML_EXPR_INT || !growth(e->args[0], v, &a))
            return false;
        return !__builtin_mul_overflow(a, e->args[1]->as.i, by);
    default: return false;
    }
}

typedef struct Digit {
    uint64_t by, n; /* n 0: unknown */
} Digit;

static int by_growth(const void *a, const void *b)
{
    const Digit *x = a, *y = b;

    return x->by < y->by ? -1 : x->by > y->by;
}

/* Whether no two iterations of the nest touch one element: its loops are digits of the index. */
static bool is_apart(Nest *n, const Site *s)
{
    const ml_Expr *e = s->indices[0];
    Digit *d = ML_ARRAY(n->cx, Digit, n->loops.n + 1);
    size_t count = 0;

    for (size_t k = 0; k < n->loops.n; k++) {
        const ml_For *f = n->loops.v[k];
        int64_t by;
        if (!growth(e, f->var, &by))
            return false;
        if (by != 0)
            d[count++] =
                (Digit){by < 0 ? -(uint64_t)by : (uint64_t)by,
                        f->extent->kind == ML_EXPR_INT ? (uint64_t)f->extent->as.i : 0};
    }
    if (e->kind == ML_EXPR_RAMP) {
        if (e->args[1]->kind != ML_EXPR_INT || e->args[1]->as.i <= 0)
            return false;
        d[count++] = (Digit){(uint64_t)e->args[1]->as.i, e->type.lanes};
    }
    qsort(d, count, sizeof *d, by_growth);
    for (size_t k = 0; k + 1 < count; k++) {
        uint64_t end;
        if (d[k].n == 0 || __builtin_mul_overflow(d[k].by, d[k].n, &end) ||
            end > d[k + 1].by)
            return false;
    }
    return true;
}

static bool is_same_place(Nest *n, const Site *a, const Site *b)
{
    if (a->rank != b->rank)
        return false;
    for (size_t k = 0; k < a->rank; k++)
        if (a->indices[k] != b->indices[k] &&
            !ml_equal_expr(n->cx, a->indices[k], b->indices[k], NULL, NULL))
            return false;
    return true;
}

/* Whether the store and all that touches its buffer are where gcc is right. */
static bool is_plain(Nest *n, const ml_For *f, const Site *store)
{
    bool moves = false, same = true;

    for (size_t k = 0; k < n->sites.n; k++) {
        const Site *s = &n->sites.v[k];
        if (s->buffer->data->uid != store->buffer->data->uid)
            continue;
        same = same && is_same_place(n, s, store);
        for (size_t d = 0; d < s->rank; d++)
            moves = moves || ml_expr_uses_var(s->indices[d], f->var);
    }
    return same ? !moves || (store->rank == 1 && is_apart(n, store)) : false;
}

bool ml_cp_in_order(ml_Cp *g, const ml_For *f)
{
    ml_Mark mark = ml_mark(g->cx);
    Nest n = {.cx = g->cx};
    bool plain = true;

    ml_stmt_visit(&f->base, see_stmt, &n);
    for (size_t k = 0; plain && n.loops.n > 1 && k < n.sites.n; k++)
        plain = !n.sites.v[k].stored || is_plain(&n, f, &n.sites.v[k]);
    ml_release(g->cx, mark);
    return !plain;
}
