/*
 * arg_reducer - whether two accumulators are an index and the greatest or smallest value,
 * however the combination is written.
 *
 * Both become conditional choices between the old pair and the new one. A condition made of
 * comparisons of the old with the new is decided by how the values compare and how the
 * indices do, so nine small cases decide what the combination does. Among equal values the
 * lower (or the higher) index may win, which does not depend on the order, or the one that
 * comes first. Source: primitives 9, rfactor.
 */
#include "moonloop/primitives/reducer/reducer_impl.h"

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/walk.h"
#include "moonloop/verify/facts.h"

enum { OLD, NEW };

typedef struct Pair {
    ml_Ctx *cx;
    const ml_Expr *const *acc;
    const ml_Expr *given[2];   /* by accumulator */
    const ml_Expr *hole[2][2]; /* of accumulator k: old, new */
    bool ok;
} Pair;

static bool is_choice(const ml_Expr *e)
{
    return e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE);
}

/* The new value of accumulator k: what may be chosen instead of the old one. */
static const ml_Expr *other_arm(const Pair *p, size_t k, const ml_Expr *e)
{
    bool extreme = e->kind == ML_EXPR_MAX || e->kind == ML_EXPR_MIN;

    if (!extreme && !is_choice(e))
        return NULL;
    const ml_Expr *a = e->args[extreme ? 0 : 1], *b = e->args[extreme ? 1 : 2];
    const ml_Expr *v = a == p->acc[k] ? b : b == p->acc[k] ? a : NULL;

    for (size_t j = 0; v && j < 2; j++)
        if (ml_expr_uses_buffer(v, p->acc[j]->as.buffer))
            v = NULL;
    return v && v->kind != ML_EXPR_INT && v->kind != ML_EXPR_FLOAT ? v : NULL;
}

static const ml_Expr *open_holes(ml_Ctx *cx, const ml_Expr *e, void *user)
{
    Pair *p = user;

    for (size_t k = 0; k < 2; k++) {
        if (e == p->acc[k])
            return p->hole[k][OLD];
        if (e == p->given[k])
            return p->hole[k][NEW];
    }
    return ml_expr_map_args(cx, e, open_holes, user);
}

static bool is_hole(const Pair *p, size_t k, const ml_Expr *e)
{
    return e == p->hole[k][OLD] || e == p->hole[k][NEW];
}

/* Comparisons of the old with the new, and what joins them. */
static bool is_order(const Pair *p, const ml_Expr *e)
{
    switch (e->kind) {
    case ML_EXPR_AND:
    case ML_EXPR_OR: return is_order(p, e->args[0]) && is_order(p, e->args[1]);
    case ML_EXPR_NOT: return is_order(p, e->args[0]);
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
        for (size_t k = 0; k < 2; k++)
            if (is_hole(p, k, e->args[0]) && is_hole(p, k, e->args[1]))
                return true;
        return false;
    default: return false;
    }
}

static bool is_pattern(const Pair *p, size_t k, const ml_Expr *e)
{
    bool choice = is_choice(e);

    return (!choice || is_order(p, e->args[0])) && is_hole(p, k, e->args[choice ? 1 : 0]) &&
           is_hole(p, k, e->args[choice ? 2 : 1]);
}

/* Which of two numbers the pattern chooses; -1: not to be told. */
static int chosen(const Pair *p, const ml_Expr *pattern, size_t k, const int64_t (*v)[2])
{
    ml_Subst sub = {0};

    for (size_t j = 0; j < 2; j++)
        for (size_t s = 0; s < 2; s++)
            ml_subst_var(p->cx, &sub, p->hole[j][s]->as.var,
                         ml_const(p->cx, p->hole[j][s]->type, v[j][s]));
    const ml_Expr *e =
        ml_simplify(ml_arith_new(p->cx), ml_expr_subst(p->cx, pattern, &sub));

    for (int s = 0; s < 2; s++)
        if (e == ml_const(p->cx, e->type, v[k][s]))
            return s;
    return -1;
}

/* What a combination of index i and value v does. */
typedef struct Ways {
    int better[2];   /* the value that wins: [0] old is less, [1] old is greater */
    int at_equal[2]; /* the index, of equal values: [0] old index is less, [1] greater */
} Ways;

static bool find_ways(const Pair *p, const ml_Expr *const *pattern, size_t i, size_t v,
                      Ways *w)
{
    for (int values = 0; values < 3; values++)
        for (int indices = 0; indices < 2; indices++) {
            int64_t n[2][2] = {{1, 1}, {1, 1}};

            n[v][OLD] += values == 1;
            n[v][NEW] += values == 0;
            n[i][OLD] += indices == 1;
            n[i][NEW] += indices == 0;
            int at = chosen(p, pattern[i], i, n), best = chosen(p, pattern[v], v, n);

            if (at < 0 || best < 0)
                return false;
            if (values == 2) {
                w->at_equal[indices] = at;
                continue;
            }
            if (at != best || (indices == 1 && w->better[values] != best))
                return false;
            w->better[values] = best;
        }
    return w->better[0] != w->better[1];
}

/* The lower index, or the higher, where the values are equal. */
static void by_index(const Pair *p, size_t i, size_t v, bool greatest, bool lower,
                     const ml_Expr **out)
{
    ml_Ctx *cx = p->cx;
    const ml_Expr *x = p->acc[v], *y = p->given[v];
    const ml_Expr *better = greatest ? ml_gt(cx, x, y) : ml_lt(cx, x, y);
    const ml_Expr *older =
        lower ? ml_lt(cx, p->acc[i], p->given[i]) : ml_gt(cx, p->acc[i], p->given[i]);
    const ml_Expr *tie = ml_and(cx, ml_eq(cx, x, y), older);

    out[v] = ml_select(cx, better, x, y);
    out[i] = ml_select(cx, ml_or(cx, better, tie), p->acc[i], p->given[i]);
}

static bool find_as(ml_Ctx *cx, const ml_Expr *const *acc, const ml_Expr *const *combined,
                    const ml_Expr *const *from, size_t i, ml_Combiner *out,
                    const char **why)
{
    Pair p = {.cx = cx, .acc = acc};
    const ml_Var **x = ML_ARRAY(cx, const ml_Var *, 2),
                 **y = ML_ARRAY(cx, const ml_Var *, 2);
    const ml_Expr **pattern = ML_ARRAY(cx, const ml_Expr *, 2);
    size_t v = 1 - i;
    Ways w = {{0}, {0}};

    for (size_t k = 0; k < 2; k++) {
        bool scalar = acc[k]->type.lanes == 1 &&
                      (ml_dtype_is_int(acc[k]->type) || ml_dtype_is_float(acc[k]->type));

        p.given[k] = scalar ? other_arm(&p, k, combined[k]) : NULL;
        if (!p.given[k])
            return false;
        x[k] = ml_var_new(cx, "x", acc[k]->type);
        y[k] = ml_var_new(cx, "y", acc[k]->type);
        p.hole[k][OLD] = ml_var(cx, x[k]);
        p.hole[k][NEW] = ml_var(cx, y[k]);
    }
    for (size_t k = 0; k < 2; k++) {
        pattern[k] = open_holes(cx, combined[k], &p);
        if (!is_pattern(&p, k, pattern[k]))
            return false;
    }
    if (!find_ways(&p, pattern, i, v, &w))
        return false;
    bool greatest = w.better[1] == OLD;

    *out = (ml_Combiner){.name = greatest ? "argmax" : "argmin", .n = 2};
    bool last_wins = w.at_equal[0] == NEW && w.at_equal[1] == NEW;

    by_index(&p, i, v, greatest, !last_wins, out->by_index);
    if (last_wins) {
        *why = ml_format(cx,
                         "it is an %s that keeps the last of equal values; one that "
                         "compares their indices may take any order: %s = %s and %s = %s",
                         out->name, acc[0]->as.buffer->name,
                         ml_expr_text(cx, out->by_index[0]), acc[1]->as.buffer->name,
                         ml_expr_text(cx, out->by_index[1]));
        return false;
    }
    out->first_wins = w.at_equal[0] == OLD && w.at_equal[1] == OLD;
    ml_Reducer *r = ML_NEW(cx, ml_Reducer);

    *r = (ml_Reducer){2, x, y, pattern, NULL};
    out->reducer = out->last = r;
    for (size_t k = 0; k < 2; k++) {
        out->given[k] = p.given[k];
        out->start[k] = from ? from[k] : NULL; /* once more changes nothing */
    }
    return true;
}

bool ml_arg_reducer_find(ml_Ctx *cx, const ml_Expr *const *acc,
                         const ml_Expr *const *combined, const ml_Expr *const *from,
                         ml_Combiner *out, const char **why)
{
    return find_as(cx, acc, combined, from, 0, out, why) ||
           find_as(cx, acc, combined, from, 1, out, why);
}
