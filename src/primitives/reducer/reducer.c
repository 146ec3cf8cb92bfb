/*
 * reducer - see reducer.h.
 *
 * One accumulator that is an operand of a nest of +, *, min or max is told from the rest,
 * which is the new value; several are taken one by one. An index with a value is looked at
 * in arg_reducer.c. A registered reducer is a pattern over placeholders x (accumulators)
 * and y (new values), matched structurally: x stands for a load of the accumulator, y for
 * any expression without one; operands of commutative operators are tried both ways, and a
 * comparison also as its mirror image. Source: primitives 9, rfactor.
 */
#include "moonloop/primitives/reducer/reducer.h"

#include "moonloop/core/walk.h"
#include "moonloop/primitives/reducer/reducer_impl.h"

typedef const ml_Expr *const *Values;

/* ---- operators */

static bool is_zero(const ml_Expr *e)
{
    return e->kind == ML_EXPR_FLOAT ? e->as.f >= 0 && e->as.f <= 0 : ml_is_int(e, 0);
}

static bool is_one(const ml_Expr *e)
{
    return e->kind == ML_EXPR_FLOAT ? e->as.f >= 1 && e->as.f <= 1 : ml_is_int(e, 1);
}

/* The operands of a nest of one operator. */
typedef struct Terms {
    ml_Ctx *cx;
    ml_ExprKind kind; /* a difference is a sum, too */
    const ml_Expr *acc;
    size_t found;         /* how often the accumulator is one of them */
    const ml_Expr *added; /* the others; NULL: none */
    const ml_Expr *taken; /* those that are subtracted */
} Terms;

static const ml_Expr *join(const Terms *t, const ml_Expr *a, const ml_Expr *b)
{
    switch (t->kind) {
    case ML_EXPR_MUL: return ml_mul(t->cx, a, b);
    case ML_EXPR_MIN: return ml_min(t->cx, a, b);
    case ML_EXPR_MAX: return ml_max(t->cx, a, b);
    default: return ml_add(t->cx, a, b);
    }
}

static bool collect(Terms *t, const ml_Expr *e, bool minus)
{
    bool sum = t->kind == ML_EXPR_ADD && e->kind == ML_EXPR_SUB;

    if (e == t->acc) {
        t->found++;
        return !minus;
    }
    if ((e->kind == t->kind || sum) && ml_expr_uses_buffer(e, t->acc->as.buffer))
        return collect(t, e->args[0], minus) && collect(t, e->args[1], minus != sum);
    const ml_Expr **side = minus ? &t->taken : &t->added;

    *side = *side ? join(t, *side, e) : e;
    return true;
}

/* Placeholders of the accumulator's type, and what becomes of them. */
static const ml_Reducer *make_reducer(ml_Ctx *cx, size_t n, const ml_Var *const *x,
                                      const ml_Var *const *y, const ml_Expr *const *results)
{
    ml_Reducer *r = ML_NEW(cx, ml_Reducer);

    *r = (ml_Reducer){(uint32_t)n, x, y, results, NULL};
    return r;
}

/* Values of bool have no order, and of vectors there is no known identity. */
static bool fits(const ml_Expr *acc)
{
    return acc->type.lanes == 1 &&
           (ml_dtype_is_int(acc->type) || ml_dtype_is_float(acc->type));
}

/* One of several accumulators that do not use each other. */
typedef struct Single {
    const char *name;
    const ml_Expr *given, *start, *partial, *last;
    const ml_Var *x, *y;
} Single;

static bool find_single(ml_Ctx *cx, const ml_Expr *acc, const ml_Expr *combined,
                        const ml_Expr *from, Single *out)
{
    ml_ExprKind kind = (ml_ExprKind)combined->kind;
    Terms t = {.cx = cx, .acc = acc};

    t.kind = kind == ML_EXPR_SUB ? ML_EXPR_ADD : kind;
    if (!fits(acc) || (t.kind != ML_EXPR_ADD && t.kind != ML_EXPR_MUL &&
                       t.kind != ML_EXPR_MIN && t.kind != ML_EXPR_MAX))
        return false;
    if (!collect(&t, combined, false) || t.found != 1 || (!t.added && !t.taken))
        return false;
    *out = (Single){.x = ml_var_new(cx, "x", acc->type),
                    .y = ml_var_new(cx, "y", acc->type),
                    .start = from};
    const ml_Expr *x = ml_var(cx, out->x), *y = ml_var(cx, out->y);

    out->partial = out->last = join(&t, x, y);
    out->given = !t.added ? t.taken : !t.taken ? t.added : ml_sub(cx, t.added, t.taken);
    /* What is only subtracted is summed up, and subtracted at last. */
    if (!t.added)
        out->last = ml_sub(cx, x, y);
    switch (t.kind) {
    case ML_EXPR_MIN: out->name = "min"; break;
    case ML_EXPR_MAX: out->name = "max"; break;
    case ML_EXPR_MUL:
        out->name = "product";
        if (from && !is_one(from))
            out->start = ml_const(cx, acc->type, 1);
        break;
    default:
        out->name = "sum";
        if (from && !is_zero(from))
            out->start = ml_const(cx, acc->type, 0);
    }
    return true;
}

/* No new value uses an accumulator. */
static bool all_given(Values given, Values acc, size_t n)
{
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++)
            if (!given[k] || ml_expr_uses_buffer(given[k], acc[j]->as.buffer))
                return false;
    return true;
}

/* Each accumulator has an operator of its own. */
static bool find_operators(ml_Ctx *cx, size_t n, Values acc, Values combined, Values from,
                           ml_Combiner *out)
{
    const ml_Var **x = ML_ARRAY(cx, const ml_Var *, n),
                 **y = ML_ARRAY(cx, const ml_Var *, n);
    const ml_Expr **partial = ML_ARRAY(cx, const ml_Expr *, n);
    const ml_Expr **last = ML_ARRAY(cx, const ml_Expr *, n);

    *out = (ml_Combiner){.n = n};
    for (size_t k = 0; k < n; k++) {
        Single s;

        if (!find_single(cx, acc[k], combined[k], from ? from[k] : NULL, &s))
            return false;
        out->name = s.name;
        out->given[k] = s.given;
        out->start[k] = s.start;
        x[k] = s.x;
        y[k] = s.y;
        partial[k] = s.partial;
        last[k] = s.last;
    }
    if (n > 1)
        out->name = "several reductions";
    out->reducer = make_reducer(cx, n, x, y, partial);
    out->last = make_reducer(cx, n, x, y, last);
    return all_given(out->given, acc, n);
}

/* ---- patterns */

typedef struct Match {
    size_t n;
    const ml_Var *x[ML_MAX_REDUCER], *y[ML_MAX_REDUCER];
    const ml_Expr *acc[ML_MAX_REDUCER]; /* what x stands for */
    const ml_Expr *got[ML_MAX_REDUCER]; /* what y was found to be; NULL: not yet */
} Match;

static bool mirrored(ml_ExprKind a, ml_ExprKind b)
{
    return a != b && ml_kind_swapped(a) == b;
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
    if (ml_kind_commutes(p->kind) || is_bitwise(p))
        return match_pair(m, p, e->args[0], e->args[1]) ||
               match_pair(m, p, e->args[1], e->args[0]);
    for (size_t k = 0; k < p->n_args; k++)
        if (!match(m, p->args[k], e->args[k]))
            return false;
    return true;
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
                     Values combined, ml_Combiner *out)
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
            const ml_Var **x = ML_ARRAY(cx, const ml_Var *, n);
            const ml_Var **y = ML_ARRAY(cx, const ml_Var *, n);
            const ml_Expr **results = ML_ARRAY(cx, const ml_Expr *, n);
            bool same = true;

            for (size_t k = 0; k < n; k++) {
                m.x[k] = x[perm[k]] = r->lhs[k];
                m.y[k] = y[perm[k]] = r->rhs[k];
                results[perm[k]] = r->results[k];
                m.acc[k] = acc[perm[k]];
            }
            for (size_t k = 0; k < n && same; k++)
                same = match(&m, r->results[k], combined[perm[k]]);
            if (!same)
                continue;
            *out = (ml_Combiner){.name = "registered reduction", .n = n, .own = true};
            out->reducer = out->last = make_reducer(cx, n, x, y, results);
            for (size_t k = 0; k < n; k++) {
                out->given[perm[k]] = m.got[k];
                out->start[perm[k]] = identity[k];
            }
            if (all_given(out->given, acc, n))
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
    return n <= ML_MAX_REDUCER &&
           (find_operators(cx, n, acc, combined, from, out) ||
            (n == 2 && ml_arg_reducer_find(cx, acc, combined, from, out, why)) ||
            find_own(cx, more, n, acc, combined, out));
}

void ml_combiner_apply(ml_Ctx *cx, const ml_Reducer *r, const ml_Expr *const *x,
                       const ml_Expr *const *y, const ml_Expr **out)
{
    ml_Subst sub = {0};

    for (size_t k = 0; k < r->n; k++) {
        ml_subst_var(cx, &sub, r->lhs[k], x[k]);
        ml_subst_var(cx, &sub, r->rhs[k], y[k]);
    }
    for (size_t k = 0; k < r->n; k++)
        out[k] = ml_expr_subst(cx, r->results[k], &sub);
}
