/*
 * reducer - see reducer.h.
 *
 * A reducer is a pattern over placeholders x (accumulators) and y (new values). It is
 * matched structurally against what the block stores: x stands for a load of the
 * accumulator, y for any expression without one. Operands of commutative operators are
 * tried both ways, and a comparison also as its mirror image; what failed to match stays
 * failed. Source: primitives 9, rfactor.
 */
#include "primitives/reducer.h"

#include <math.h>

#include "core/walk.h"

typedef const ml_Expr *const *Values;

/* ---- the table */

static void sum(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    r[0] = ml_add(cx, x[0], y[0]);
}

static void product(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    r[0] = ml_mul(cx, x[0], y[0]);
}

static void least(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    r[0] = ml_min(cx, x[0], y[0]);
}

static void greatest(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    r[0] = ml_max(cx, x[0], y[0]);
}

static void two_sums(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    r[0] = ml_add(cx, x[0], y[0]);
    r[1] = ml_add(cx, x[1], y[1]);
}

static void argmax_first(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    const ml_Expr *keep = ml_ge(cx, x[1], y[1]);

    r[0] = ml_select(cx, keep, x[0], y[0]);
    r[1] = ml_select(cx, keep, x[1], y[1]);
}

/* With the lower index where the values are equal. */
static const ml_Expr *or_lower(ml_Ctx *cx, Values x, Values y, const ml_Expr *better)
{
    return ml_or(cx, better, ml_and(cx, ml_eq(cx, x[1], y[1]), ml_lt(cx, x[0], y[0])));
}

static void argmax_lowest(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    const ml_Expr *better = ml_gt(cx, x[1], y[1]);

    r[0] = ml_select(cx, or_lower(cx, x, y, better), x[0], y[0]);
    r[1] = ml_select(cx, better, x[1], y[1]);
}

static void argmin_first(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    const ml_Expr *keep = ml_le(cx, x[1], y[1]);

    r[0] = ml_select(cx, keep, x[0], y[0]);
    r[1] = ml_select(cx, keep, x[1], y[1]);
}

static void argmin_lowest(ml_Ctx *cx, Values x, Values y, const ml_Expr **r)
{
    const ml_Expr *better = ml_lt(cx, x[1], y[1]);

    r[0] = ml_select(cx, or_lower(cx, x, y, better), x[0], y[0]);
    r[1] = ml_select(cx, better, x[1], y[1]);
}

typedef enum Identity { ZERO, ONE, MINUS_ONE, SMALLEST, LARGEST } Identity;

typedef struct Row {
    const char *name;
    uint8_t n;
    bool first_wins;
    void (*combine)(ml_Ctx *cx, Values x, Values y, const ml_Expr **r);
    uint8_t identity[ML_MAX_REDUCER];
} Row;

static const Row rows[] = {
    {"sum", 1, false, sum, {ZERO}},
    {"product", 1, false, product, {ONE}},
    {"min", 1, false, least, {LARGEST}},
    {"max", 1, false, greatest, {SMALLEST}},
    {"two sums", 2, false, two_sums, {ZERO, ZERO}},
    {"argmax", 2, true, argmax_first, {MINUS_ONE, SMALLEST}},
    {"argmax", 2, false, argmax_lowest, {MINUS_ONE, SMALLEST}},
    {"argmin", 2, true, argmin_first, {MINUS_ONE, LARGEST}},
    {"argmin", 2, false, argmin_lowest, {MINUS_ONE, LARGEST}},
};

static bool is_identity(const ml_Expr *e, Identity want)
{
    static const int small[] = {[ZERO] = 0, [ONE] = 1, [MINUS_ONE] = -1};
    ml_Dtype t = e->type;

    if (e->kind == ML_EXPR_INT) {
        bool wide = t.code == ML_UINT && t.bits == 64; /* its greatest is kept as -1 */

        if (want == SMALLEST)
            return e->as.i == ml_dtype_min(t);
        if (want == LARGEST)
            return e->as.i == (wide ? -1 : ml_dtype_max(t));
        return e->as.i == small[want] && ml_dtype_fits(t, small[want]);
    }
    if (e->kind != ML_EXPR_FLOAT)
        return false;
    if (want == SMALLEST)
        return e->as.f <= ml_dtype_flowest(t) || (isinf(e->as.f) && e->as.f < 0);
    if (want == LARGEST)
        return e->as.f >= ml_dtype_fmax(t) || (isinf(e->as.f) && e->as.f > 0);
    return e->as.f >= small[want] && e->as.f <= small[want];
}

static const char *identity_name(Identity want)
{
    switch (want) {
    case ZERO: return "0";
    case ONE: return "1";
    case MINUS_ONE: return "-1";
    case SMALLEST: return "the smallest value of its type";
    case LARGEST: return "the largest value of its type";
    }
    return "";
}

/* ---- matching */

typedef struct Match {
    size_t n;
    const ml_Var *x[ML_MAX_REDUCER], *y[ML_MAX_REDUCER];
    const ml_Expr *acc[ML_MAX_REDUCER]; /* what x stands for */
    const ml_Expr *got[ML_MAX_REDUCER]; /* what y was found to be; NULL: not yet */
} Match;

static bool commutes(ml_ExprKind k)
{
    return k == ML_EXPR_ADD || k == ML_EXPR_MUL || k == ML_EXPR_MIN || k == ML_EXPR_MAX ||
           k == ML_EXPR_EQ || k == ML_EXPR_AND || k == ML_EXPR_OR;
}

static bool mirrored(ml_ExprKind a, ml_ExprKind b)
{
    return (a == ML_EXPR_LT && b == ML_EXPR_GT) || (a == ML_EXPR_GT && b == ML_EXPR_LT) ||
           (a == ML_EXPR_LE && b == ML_EXPR_GE) || (a == ML_EXPR_GE && b == ML_EXPR_LE);
}

/* x & y, x | y, x ^ y are calls, and commute as well. */
static bool is_bitwise(const ml_Expr *e)
{
    return ml_is_op(e, ML_OP_BITWISE_AND) || ml_is_op(e, ML_OP_BITWISE_OR) ||
           ml_is_op(e, ML_OP_BITWISE_XOR);
}

/* What two nodes of one kind have beside their children is the same. */
static bool same_node(const ml_Expr *p, const ml_Expr *e)
{
    if (p->n_args != e->n_args)
        return false;
    if (p->kind == ML_EXPR_CALL)
        return p->as.op->id == e->as.op->id && ml_streq(p->as.op->name, e->as.op->name);
    return p->n_args > 0 ? p->kind != ML_EXPR_LOAD && p->kind != ML_EXPR_LET &&
                               p->kind != ML_EXPR_SHUFFLE
                         : p == e;
}

static bool match(Match *m, const ml_Expr *p, const ml_Expr *e);

static bool match_pair(Match *m, const ml_Expr *p, const ml_Expr *a, const ml_Expr *b)
{
    Match before = *m;

    if (match(m, p->args[0], a) && match(m, p->args[1], b))
        return true;
    *m = before;
    return false;
}

static bool match(Match *m, const ml_Expr *p, const ml_Expr *e)
{
    if (!ml_dtype_eq(p->type, e->type))
        return false;
    if (p->kind == ML_EXPR_VAR) {
        for (size_t k = 0; k < m->n; k++) {
            if (p->as.var == m->x[k])
                return e == m->acc[k];
            if (p->as.var == m->y[k]) {
                if (!m->got[k])
                    m->got[k] = e;
                return m->got[k] == e;
            }
        }
        return false;
    }
    if (p->kind != e->kind) {
        if (mirrored((ml_ExprKind)p->kind, (ml_ExprKind)e->kind))
            return match_pair(m, p, e->args[1], e->args[0]);
        /* A conditional value of which one side is evaluated is a select here. */
        if (p->kind != ML_EXPR_SELECT || !ml_is_op(e, ML_OP_IF_THEN_ELSE))
            return false;
    }
    if (p->kind == e->kind && !same_node(p, e))
        return false;
    if (commutes((ml_ExprKind)p->kind) || is_bitwise(p))
        return match_pair(m, p, e->args[0], e->args[1]) ||
               match_pair(m, p, e->args[1], e->args[0]);
    for (size_t k = 0; k < p->n_args; k++)
        if (!match(m, p->args[k], e->args[k]))
            return false;
    return true;
}

/* The placeholders take the types of the accumulators. */
static const ml_Reducer *instance(ml_Ctx *cx, const Row *row, const Match *m)
{
    const ml_Expr *x[ML_MAX_REDUCER], *y[ML_MAX_REDUCER];
    const ml_Expr **results = ML_ARRAY(cx, const ml_Expr *, row->n);
    const ml_Var **lhs = ML_ARRAY(cx, const ml_Var *, row->n);
    const ml_Var **rhs = ML_ARRAY(cx, const ml_Var *, row->n);
    ml_Reducer r = {row->n, lhs, rhs, results, NULL};

    for (size_t k = 0; k < row->n; k++) {
        lhs[k] = m->x[k];
        rhs[k] = m->y[k];
        x[k] = ml_var(cx, m->x[k]);
        y[k] = ml_var(cx, m->y[k]);
    }
    row->combine(cx, x, y, results);
    ml_Reducer *out = ML_NEW(cx, ml_Reducer);

    *out = r;
    return out;
}

/* Selecting by an index is for index types, values of bool have no order. */
static bool fits(const Row *row, const ml_Expr *const *acc)
{
    for (size_t k = 0; k < row->n; k++)
        if (acc[k]->type.lanes != 1 ||
            (!ml_dtype_is_int(acc[k]->type) && !ml_dtype_is_float(acc[k]->type)))
            return false;
    return true;
}

/* Every new value was found, and none uses an accumulator. */
static bool all_given(const Match *m, Values acc, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (!m->got[k])
            return false;
        for (size_t j = 0; j < n; j++)
            if (ml_expr_uses_buffer(m->got[k], acc[j]->as.buffer))
                return false;
    }
    return true;
}

static bool try_row(ml_Ctx *cx, const Row *row, const uint8_t *perm, Values acc,
                    Values combined, Match *m, const ml_Reducer **reducer)
{
    const ml_Expr *own[ML_MAX_REDUCER];
    size_t n = row->n;

    m->n = n;
    for (size_t k = 0; k < n; k++)
        own[k] = acc[perm[k]];
    if (!fits(row, own))
        return false;
    for (size_t k = 0; k < n; k++) {
        m->x[k] = ml_var_new(cx, "x", own[k]->type);
        m->y[k] = ml_var_new(cx, "y", own[k]->type);
        m->acc[k] = own[k];
        m->got[k] = NULL;
    }
    *reducer = instance(cx, row, m);
    for (size_t k = 0; k < row->n; k++)
        if (!match(m, (*reducer)->results[k], combined[perm[k]]))
            return false;
    return all_given(m, acc, row->n);
}

/* Accumulators as they come or, of two, the other way round. */
static const uint8_t perms[2][ML_MAX_REDUCER] = {{0, 1, 2, 3}, {1, 0, 2, 3}};

static size_t count_perms(size_t n)
{
    return n == 2 ? 2 : 1;
}

/* The registered one as a pattern of cx. */
static const ml_Reducer *adopt(ml_Ctx *cx, const ml_OwnReducer *own,
                               const ml_Expr **identity)
{
    ml_Import *im = ml_import_begin_apart(cx);
    const ml_Expr **results = ML_ARRAY(cx, const ml_Expr *, own->n);
    const ml_Var **lhs = ML_ARRAY(cx, const ml_Var *, own->n);
    const ml_Var **rhs = ML_ARRAY(cx, const ml_Var *, own->n);
    ml_Reducer *r = ML_NEW(cx, ml_Reducer);

    for (size_t k = 0; k < own->n; k++) {
        lhs[k] = ml_import_expr(im, own->x[k])->as.var;
        rhs[k] = ml_import_expr(im, own->y[k])->as.var;
        results[k] = ml_import_expr(im, own->result[k]);
        identity[k] = ml_import_expr(im, own->identity[k]);
    }
    *r = (ml_Reducer){(uint32_t)own->n, lhs, rhs, results, NULL};
    return r;
}

static bool types_fit(const ml_OwnReducer *own, size_t n, Values acc, const uint8_t *perm)
{
    for (size_t k = 0; k < n; k++)
        if (own->n != n || !ml_dtype_eq(own->x[k]->type, acc[perm[k]]->type))
            return false;
    return true;
}

/* One that was registered; the first of those that fit. */
static bool find_own(ml_Ctx *cx, struct ml_Intrins *more, size_t n, Values acc,
                     Values combined, Values from, ml_Combiner *out, const char **why)
{
    const ml_OwnReducer *own;

    for (size_t at = 0; more && (own = ml_reducer_own(more, at)); at++)
        for (size_t p = 0; p < count_perms(n); p++) {
            const uint8_t *perm = perms[p];
            const ml_Expr *identity[ML_MAX_REDUCER];
            Match m = {.n = n};

            if (!types_fit(own, n, acc, perm))
                continue;
            const ml_Reducer *r = adopt(cx, own, identity);
            bool same = true, starts = true;

            for (size_t k = 0; k < n; k++) {
                m.x[k] = r->lhs[k];
                m.y[k] = r->rhs[k];
                m.acc[k] = acc[perm[k]];
            }
            for (size_t k = 0; k < n && same; k++)
                same = match(&m, r->results[k], combined[perm[k]]);
            if (!same || !all_given(&m, acc, n))
                continue;
            for (size_t k = 0; k < n; k++)
                starts = starts && (!from || from[perm[k]] == identity[k]);
            if (!starts) {
                *why = "it is combined as was registered, but its init is not the identity "
                       "that was given";
                continue;
            }
            *out = (ml_Combiner){
                .name = "registered reduction", .n = n, .own = true, .reducer = r};
            for (size_t k = 0; k < n; k++) {
                out->perm[k] = perm[k];
                out->given[perm[k]] = m.got[k];
            }
            return true;
        }
    return false;
}

bool ml_combiner_find(ml_Ctx *cx, struct ml_Intrins *more, size_t n,
                      const ml_Expr *const *acc, const ml_Expr *const *combined,
                      const ml_Expr *const *from, ml_Combiner *out, const char **why)
{
    *why = n > ML_MAX_REDUCER ? ml_format(cx, "no reducer has %zu results", n)
                              : "what it stores is no known combination of the old value "
                                "and a new one";
    for (size_t r = 0; r < ML_COUNT(rows); r++)
        for (size_t p = 0; rows[r].n == n && p < count_perms(n); p++) {
            Match m = {0};
            const ml_Reducer *reducer;
            bool start = true;

            if (!try_row(cx, &rows[r], perms[p], acc, combined, &m, &reducer))
                continue;
            for (size_t k = 0; start && k < n; k++)
                if (from &&
                    !is_identity(from[perms[p][k]], (Identity)rows[r].identity[k])) {
                    *why = ml_format(cx, "it is a %s, but its init is not %s", rows[r].name,
                                     identity_name((Identity)rows[r].identity[k]));
                    start = false;
                }
            if (!start)
                continue;
            *out = (ml_Combiner){.name = rows[r].name,
                                 .n = n,
                                 .first_wins = rows[r].first_wins,
                                 .reducer = reducer};
            for (size_t k = 0; k < n; k++) {
                out->perm[k] = perms[p][k];
                out->given[perms[p][k]] = m.got[k];
            }
            return true;
        }
    return n <= ML_MAX_REDUCER && find_own(cx, more, n, acc, combined, from, out, why);
}

void ml_combiner_apply(ml_Ctx *cx, const ml_Combiner *r, const ml_Expr *const *x,
                       const ml_Expr *const *y, const ml_Expr **out)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < r->n; k++) {
        ml_subst_var(cx, &sub, r->reducer->lhs[k], x[r->perm[k]]);
        ml_subst_var(cx, &sub, r->reducer->rhs[k], y[r->perm[k]]);
    }
    for (size_t k = 0; k < r->n; k++)
        out[r->perm[k]] = ml_expr_subst(cx, r->reducer->results[k], &sub);
}
