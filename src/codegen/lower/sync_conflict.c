/*
 * sync_conflict - whether two accesses, by two threads of a block, may meet in an element.
 *
 * What both indices have of variables that are the same for both (blocks, sizes, loops
 * around both) is split off; where it differs by few numbers, the rest is counted out:
 * which thread touches which element, for all threads and all values of the loops that only
 * one of the two is in. Conditions that have a value there leave points out. What cannot be
 * split or is too much to count may meet, unless the bounds of the indices are apart.
 * Source: lowering-and-codegen 4.6.
 */
#include "moonloop/codegen/lower/sync.h"
#include "moonloop/core/arith/points.h"

enum { MOST_POINTS = 1 << 19, MOST_ELEMENTS = 1 << 22 };

/* ---- variables */

static bool is_thread(const ml_SyncThreads *t, const ml_Var *v)
{
    return v == t->var[0] || v == t->var[1] || v == t->var[2];
}

static bool uses_thread(const ml_SyncThreads *t, const ml_Expr *e)
{
    for (unsigned d = 0; d < 3; d++)
        if (t->var[d] && ml_expr_uses_var(e, t->var[d]))
            return true;
    return false;
}

bool ml_sync_uniform(const ml_SyncThreads *t, const ml_Expr *e)
{
    return !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) && !uses_thread(t, e);
}

static bool is_around(const ml_SyncScope *of, const ml_SyncScope *s)
{
    for (; of; of = of->up)
        if (of == s)
            return true;
    return false;
}

/* ---- one access, split */

typedef struct Split {
    const ml_Expr *lanes;    /* first element of the vector, or the index */
    int64_t stride, n_lanes; /* of the vector */
    const ml_Expr *common;   /* of what is the same for both */
    const ml_Expr *rest;     /* of threads and own loops */
    ml_DomVec own;           /* loops and threads that rest is of */
    ML_VEC(const ml_Expr *) conds;
} Split;

static void take_vector(Split *s, const ml_Expr *index)
{
    s->n_lanes = 1;
    s->stride = 0;
    if (index->kind == ML_EXPR_BROADCAST)
        index = index->args[0];
    if (index->kind == ML_EXPR_RAMP && ml_is_const_int(index->args[1])) {
        s->stride = index->args[1]->as.i;
        s->n_lanes = index->type.lanes;
        index = index->args[0];
    }
    s->lanes = index;
}

static void add_cond(ml_Ctx *cx, Split *s, const ml_Expr *e)
{
    while (ml_is_op(e, ML_OP_LIKELY))
        e = e->args[0];
    if (e->kind != ML_EXPR_AND) {
        ml_push(cx, &s->conds, e);
        return;
    }
    add_cond(cx, s, e->args[0]);
    add_cond(cx, s, e->args[1]);
}

/* Variables of this access alone: threads, and loops that are not around both, or whose
 * value the other one has not. */
static void take_own(const ml_SyncThreads *t, const ml_SyncAccess *a,
                     const ml_SyncAccess *other, const ml_SyncScope *loop, ml_SyncWhen when,
                     Split *s)
{
    for (unsigned d = 0; d < 3; d++)
        if (t->var[d]) {
            ml_Dom dom = {t->var[d], ml_int(t->cx, t->var[d]->type, 0),
                          ml_int(t->cx, t->var[d]->type, t->extent[d])};

            ml_push(t->cx, &s->own, dom);
        }
    for (const ml_SyncScope *p = a->scope; p; p = p->up) {
        bool below = loop && is_around(p->up, loop),
             is_own = !is_around(other->scope, p) || below ||
                      (p == loop && when == ML_SYNC_LATER);

        if (p->cond)
            add_cond(t->cx, s, p->cond);
        else if (is_own && p->var) {
            ml_Dom dom = {p->var, ml_int(t->cx, p->var->type, 0), p->extent};

            ml_push(t->cx, &s->own, dom);
        }
    }
}

static bool of_own(const Split *s, const ml_Var *v)
{
    for (size_t k = 0; k < s->own.n; k++)
        if (s->own.v[k].var == v)
            return true;
    return false;
}

typedef struct Uses {
    const Split *s;
    bool other;
} Uses;

static bool see_other(const ml_Expr *e, void *user)
{
    Uses *u = user;

    u->other |= e->kind == ML_EXPR_VAR && !of_own(u->s, e->as.var);
    return true;
}

/* false: the index is no sum of a part of its own and a common one. */
static bool split(const ml_SyncThreads *t, Split *s)
{
    ml_Subst zero = {0};
    Uses u = {s, false};

    for (size_t k = 0; k < s->own.n; k++)
        ml_subst_var(t->cx, &zero, s->own.v[k].var, s->own.v[k].min);
    s->common = ml_simplify(t->ar, ml_expr_subst(t->cx, s->lanes, &zero));
    s->rest = ml_simplify(t->ar, ml_sub(t->cx, s->lanes, s->common));
    ml_expr_visit(s->rest, see_other, &u);
    return !u.other && !(s->lanes->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL));
}

/* The loop as one of as many iterations as it has at most, with a condition. */
static bool bound_extent(const ml_SyncThreads *t, Split *s, ml_Dom *d)
{
    int64_t most = ml_arith_bound(t->ar, d->extent).hi;

    if (most < 0 || most > MOST_POINTS)
        return false;
    add_cond(t->cx, s, ml_lt(t->cx, ml_var(t->cx, d->var), d->extent));
    d->extent = ml_int(t->cx, d->var->type, most);
    return true;
}

/* Loops that rest and conditions do not mention are left out; false: too many points. */
static bool few_points(const ml_SyncThreads *t, Split *s)
{
    int64_t n = s->n_lanes;
    size_t kept = 0, n_conds = s->conds.n;

    for (size_t k = 0; k < s->own.n; k++) {
        ml_Dom *d = &s->own.v[k];
        bool used = is_thread(t, d->var) || ml_expr_uses_var(s->rest, d->var);

        for (size_t c = 0; c < n_conds && !used; c++)
            used = ml_expr_uses_var(s->conds.v[c], d->var);
        if (!used)
            continue;
        if ((!ml_is_const_int(d->extent) && !bound_extent(t, s, d)) ||
            __builtin_mul_overflow(n, d->extent->as.i, &n) || n > MOST_POINTS)
            return false;
        s->own.v[kept++] = *d;
    }
    s->own.n = kept;
    return kept < 30;
}

/* ---- counting */

enum { NOBODY = 0, MANY = UINT32_MAX };

typedef struct Count {
    const ml_SyncThreads *t;
    Split *s;
    int64_t shift; /* added to each index */
    int64_t lo, hi;
    uint32_t *who; /* NULL: only lo and hi are found */
    bool looks, met, lost;
} Count;

static uint32_t thread_at(const ml_SyncThreads *t, ml_Point *at)
{
    int64_t n = 0, by = 1;

    for (unsigned d = 0; d < 3; d++) {
        if (t->var[d])
            n += by * ml_value_at(at, ml_var(t->cx, t->var[d]));
        by *= t->extent[d];
    }
    return (uint32_t)n + 1;
}

static bool holds(ml_Point *at, const Split *s)
{
    for (size_t k = 0; k < s->conds.n; k++) {
        bool no = !ml_value_at(at, s->conds.v[k]);

        if (at->unknown)
            at->unknown = false; /* of a variable that has no value here */
        else if (no)
            return false;
    }
    return true;
}

static void visit(ml_Point *at, void *user)
{
    Count *c = user;
    int64_t e;

    if (c->met || c->lost || !holds(at, c->s))
        return;
    e = ml_value_at(at, c->s->rest) + c->shift;
    if (at->unknown) {
        c->lost = true;
        return;
    }
    for (int64_t l = 0; l < c->s->n_lanes; l++, e += c->s->stride) {
        uint32_t *who, me;

        if (!c->who) {
            c->lo = e < c->lo ? e : c->lo;
            c->hi = e > c->hi ? e : c->hi;
            continue;
        }
        if (e < c->lo || e > c->hi)
            continue;
        who = &c->who[e - c->lo];
        me = thread_at(c->t, at);
        if (c->looks)
            c->met |= *who != NOBODY && *who != me;
        else
            *who = *who == NOBODY || *who == me ? me : MANY;
    }
}

static bool each_point(Count *c)
{
    int64_t budget = MOST_POINTS + 1;

    return ml_each_point(c->s->own.v, c->s->own.n, NULL, &budget, visit, c) && !c->lost;
}

/* Of n elements, touched by nobody. */
static uint32_t *table(const ml_SyncThreads *t, size_t n)
{
    ml_SyncTable *who = t->table;

    if (who->n < n) {
        who->n = 2 * n;
        who->v = ML_ARRAY(t->cx, uint32_t, who->n);
    }
    memset(who->v, 0, n * sizeof *who->v);
    return who->v;
}

/* Whether an element of a is one of b, of another thread. */
static bool meet(const ml_SyncThreads *t, Split *a, Split *b, int64_t shift)
{
    Count first = {t, a, 0, INT64_MAX, INT64_MIN, NULL, false, false, false}, second;

    if (!each_point(&first))
        return true;
    if (first.lo > first.hi)
        return false;
    if (first.hi - first.lo >= MOST_ELEMENTS)
        return true;
    first.who = table(t, (size_t)(first.hi - first.lo + 1));
    second = first;
    second.s = b;
    second.shift = shift;
    second.looks = true;
    return !each_point(&first) || !each_point(&second) || second.met;
}

/* ---- how far the common parts are apart */

typedef struct Shifts {
    const ml_Expr *by;
    int64_t v[64]; /* different ones */
    size_t n;
    bool lost;
} Shifts;

static void add_shift(ml_Point *at, void *user)
{
    Shifts *s = user;
    int64_t v = ml_value_at(at, s->by);

    for (size_t k = 0; k < s->n; k++)
        if (s->v[k] == v)
            return;
    if (s->n == ML_COUNT(s->v) || at->unknown)
        s->lost = true;
    else
        s->v[s->n++] = v;
}

/* All values that `by` takes over the loops around both; false: they are not known. With
 * `next` the last iteration of that loop has none behind it. */
static bool find_shifts(const ml_SyncThreads *t, const ml_SyncScope *scope,
                        const ml_SyncScope *next, Shifts *s)
{
    int64_t budget = MOST_POINTS;
    ml_DomVec dom = {0};

    if (ml_is_const_int(s->by)) {
        s->v[s->n++] = s->by->as.i;
        return true;
    }
    for (; scope; scope = scope->up) {
        ml_Dom d = {scope->var, NULL, scope->extent};

        if (!scope->var || !ml_expr_uses_var(s->by, scope->var))
            continue;
        d.min = ml_int(t->cx, scope->var->type, 0);
        if (scope == next)
            d.extent = ml_sub(t->cx, d.extent, ml_int(t->cx, d.extent->type, 1));
        ml_push(t->cx, &dom, d);
    }
    return dom.n < 30 && ml_each_point(dom.v, dom.n, NULL, &budget, add_shift, s) &&
           !s->lost;
}

/* ---- the question */

/* The bounds of both, over everything, are apart. */
static bool apart(const ml_SyncThreads *t, const Split *a, const Split *b)
{
    ml_Bound x = ml_arith_bound(t->ar, a->lanes), y = ml_arith_bound(t->ar, b->lanes);
    int64_t p = a->stride * (a->n_lanes - 1), q = b->stride * (b->n_lanes - 1);

    if (x.lo == -ML_INF || x.hi == ML_INF || y.lo == -ML_INF || y.hi == ML_INF)
        return false;
    return x.hi + (p > 0 ? p : 0) < y.lo + (q < 0 ? q : 0) ||
           y.hi + (q > 0 ? q : 0) < x.lo + (p < 0 ? p : 0);
}

bool ml_sync_conflict(const ml_SyncThreads *t, const ml_SyncAccess *a,
                      const ml_SyncAccess *b, ml_SyncWhen when, const ml_SyncScope *loop)
{
    Split x = {0}, y = {0};
    const ml_Expr *by;
    Shifts s = {0};

    if (a->data != b->data || (!a->write && !b->write))
        return false;
    if (!a->index || !b->index)
        return true;
    take_vector(&x, a->index);
    take_vector(&y, b->index);
    if (!ml_dtype_is_index(x.lanes->type) || !ml_dtype_eq(x.lanes->type, y.lanes->type))
        return true;
    take_own(t, a, b, loop, when, &x);
    take_own(t, b, a, loop, when, &y);
    if (!split(t, &x) || !split(t, &y) || !few_points(t, &x) || !few_points(t, &y))
        return !apart(t, &x, &y);
    by = y.common;
    if (when == ML_SYNC_NEXT) {
        ml_Subst next = {0};
        const ml_Expr *v = ml_var(t->cx, loop->var);

        ml_subst_var(t->cx, &next, loop->var, ml_add(t->cx, v, ml_int(t->cx, v->type, 1)));
        by = ml_expr_subst(t->cx, by, &next);
    }
    s.by = ml_simplify(t->ar, ml_sub(t->cx, by, x.common));
    if (!find_shifts(t, b->scope, when == ML_SYNC_NEXT ? loop : NULL, &s))
        return !apart(t, &x, &y);
    for (size_t k = 0; k < s.n; k++)
        if (meet(t, &x, &y, s.v[k]))
            return true;
    return false;
}
