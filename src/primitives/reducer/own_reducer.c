/*
 * own_reducer - reducers that somebody registered, kept beside the tensor intrinsics.
 *
 * The list only grows, at its end: an entry is made whole, in a context of its own, before
 * it is put there, so that other threads may look while one registers. Source: primitives
 * 9, rfactor.
 */
#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/reducer/reducer.h"

#include <stdatomic.h>

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/base/arena.h"
#include "moonloop/core/walk.h"
#include "moonloop/primitives/schedule/schedule_impl.h"

typedef struct ml_ReducerEntry Entry;
struct ml_ReducerEntry {
    ml_OwnReducer r;
    ml_Ctx *cx;
    ml_ReducerHead next;
};

void ml_own_reducers_free(ml_ReducerHead *list)
{
    for (const Entry *e = list->first; e;) {
        const Entry *next = e->next.first;

        ml_ctx_unref(e->cx);
        e = next;
    }
}

const ml_OwnReducer *ml_reducer_own(struct ml_Intrins *t, size_t k)
{
    const Entry *e = ml_intrins_reducers(t)->first;

    while (e && k-- > 0)
        e = e->next.first;
    return e ? &e->r : NULL;
}

typedef struct Own {
    const ml_OwnReducer *r;
    bool ok;
} Own;

static bool is_placeholder(const ml_Expr *e, void *user)
{
    Own *o = user;

    if (e->kind == ML_EXPR_LOAD || e->kind == ML_EXPR_LET || (e->flags & ML_X_EFFECT))
        o->ok = false;
    if (e->kind == ML_EXPR_VAR) {
        bool known = false;

        for (size_t k = 0; k < o->r->n; k++)
            known |= e == o->r->x[k] || e == o->r->y[k];
        o->ok &= known;
    }
    return o->ok;
}

typedef const ml_Expr *Values[ML_MAX_REDUCER];

/* The combination of constants; false where it does not come out as constants. */
static bool combined(ml_Ctx *cx, const ml_OwnReducer *r, Values x, Values y, Values out)
{
    ml_Arith *ar = ml_arith_new(cx);
    ml_Subst sub = {0};
    bool all = true;

    for (size_t k = 0; k < r->n; k++) {
        ml_subst_var(cx, &sub, r->x[k]->as.var, x[k]);
        ml_subst_var(cx, &sub, r->y[k]->as.var, y[k]);
    }
    for (size_t k = 0; k < r->n; k++) {
        out[k] = ml_simplify(ar, ml_expr_subst(cx, r->result[k], &sub));
        all &= out[k]->kind == ML_EXPR_INT || out[k]->kind == ML_EXPR_FLOAT;
    }
    return all;
}

static void numbers(ml_Ctx *cx, const ml_OwnReducer *r, int64_t first, Values out)
{
    for (size_t k = 0; k < r->n; k++) {
        ml_Dtype t = r->x[k]->type;

        out[k] = ml_dtype_is_float(t) ? ml_float(cx, t, (double)(first + (int64_t)k))
                                      : ml_int(cx, t, first + (int64_t)k);
    }
}

static bool differ(const ml_OwnReducer *r, Values a, Values b)
{
    bool same = true;

    for (size_t k = 0; k < r->n; k++)
        same &= a[k] == b[k];
    return !same;
}

static bool check_three(ml_Ctx *cx, const ml_OwnReducer *r, const int64_t *first)
{
    Values id, a, b, c, one, other, left, right;

    memcpy(id, r->identity, sizeof id);
    numbers(cx, r, first[0], a);
    numbers(cx, r, first[1], b);
    numbers(cx, r, first[2], c);
    if (combined(cx, r, id, a, one) && differ(r, one, a))
        return ml_bad_argument(
            cx, "identity: combined with it, a value (%lld) is not what it was",
            (long long)first[0]);
    if (!combined(cx, r, a, b, one) || !combined(cx, r, b, a, other))
        return true;
    if (differ(r, one, other))
        return ml_bad_argument(cx, "combine: it is not commutative (%lld and %lld)",
                               (long long)first[0], (long long)first[1]);
    if (combined(cx, r, one, c, left) && combined(cx, r, b, c, other) &&
        combined(cx, r, a, other, right) && differ(r, left, right))
        return ml_bad_argument(cx, "combine: it is not associative (%lld, %lld and %lld)",
                               (long long)first[0], (long long)first[1],
                               (long long)first[2]);
    return true;
}

/* What is asked of a reduction, tried on a few numbers: small ones, and some near the ends
 * of int8, where what saturates does. */
static bool check_numbers(ml_Ctx *cx, const ml_OwnReducer *r)
{
    static const int64_t tries[] = {3, 6, 5, 100, 90, -110, -4};
    size_t n = ML_COUNT(tries);

    for (size_t k = 0; k < r->n; k++)
        if (r->x[k]->type.code == ML_UINT)
            n = n < 5 ? n : 5; /* none below 0 */
        else if (r->x[k]->type.code != ML_INT && r->x[k]->type.bits < 32)
            n = 3; /* products of the others are rounded */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++)
                if (!check_three(cx, r, (const int64_t[]){tries[i], tries[j], tries[k]}))
                    return false;
    return true;
}

/* Types agree, only placeholders occur, and nothing is seen that is no reduction. */
static bool check(ml_Ctx *cx, const ml_OwnReducer *r)
{

    for (size_t k = 0; k < r->n; k++) {
        Own o = {r, true};

        ml_expr_visit(r->result[k], is_placeholder, &o);
        if (!o.ok)
            return ml_bad_argument(cx, "combine: result %zu uses more than its parameters",
                                   k + 1);
        if (!ml_dtype_eq(r->result[k]->type, r->x[k]->type) ||
            !ml_dtype_eq(r->identity[k]->type, r->x[k]->type))
            return ml_bad_argument(
                cx,
                "combine: result %zu, or its identity, is not of the type of the values",
                k + 1);
        if (r->identity[k]->kind != ML_EXPR_INT && r->identity[k]->kind != ML_EXPR_FLOAT)
            return ml_bad_argument(cx, "identity: value %zu is no constant", k + 1);
    }
    return check_numbers(cx, r) && ml_ok_or_fail(cx);
}

bool ml_reducer_register(ml_Ctx *cx, struct ml_Intrins *t, const ml_OwnReducer *r)
{
    if (r->n < 1 || r->n > ML_MAX_REDUCER)
        return ml_bad_argument(cx, "n is %zu; a reducer has 1 to %d values", r->n,
                               ML_MAX_REDUCER);
    if (!check(cx, r))
        return false;
    ml_Ctx *own = ml_ctx_new(0);
    ml_Import *im = ml_import_begin(own);
    Entry *e = ML_NEW(own, Entry), *last;
    ml_ReducerHead *at = ml_intrins_reducers(t);

    e->cx = own;
    e->r.n = r->n;
    for (size_t k = 0; k < r->n; k++) {
        e->r.x[k] = ml_import_expr(im, r->x[k]);
        e->r.y[k] = ml_import_expr(im, r->y[k]);
        e->r.result[k] = ml_import_expr(im, r->result[k]);
        e->r.identity[k] = ml_import_expr(im, r->identity[k]);
    }
    while ((last = at->first))
        at = &last->next;
    at->first = e;
    return true;
}
