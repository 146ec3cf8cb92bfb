/*
 * attained - interval ends that some point of the loops really takes. An interval may be
 * wider than the values (i - i); a bound may be claimed as reached only for a detected
 * digit or where every variable occurs once under operators that grow or fall in each
 * operand. Source: ir-and-analysis 5.5.
 */
#include "moonloop/verify/cover/attained.h"

typedef struct Once {
    ML_VEC(ml_Uid) seen;
    ml_Ctx *cx;
    bool ok;
} Once;

static void once(Once *o, const ml_Expr *e)
{
    bool second;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return;
    case ML_EXPR_VAR:
        for (size_t k = 0; k < o->seen.n; k++)
            if (o->seen.v[k] == e->as.var->uid)
                o->ok = false;
        ml_push(o->cx, &o->seen, e->as.var->uid);
        return;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
        once(o, e->args[0]);
        once(o, e->args[1]);
        return;
    case ML_EXPR_MUL:
        second = ml_is_const_int(e->args[1]);
        if (!second && !ml_is_const_int(e->args[0]))
            o->ok = false;
        once(o, e->args[second ? 0 : 1]);
        return;
    case ML_EXPR_FLOORDIV:
        if (!ml_is_const_int(e->args[1]) || e->args[1]->as.i <= 0)
            o->ok = false;
        once(o, e->args[0]);
        return;
    default: o->ok = false; return;
    }
}

static bool is_monotone(ml_Ctx *cx, const ml_Expr *e)
{
    Once o = {.cx = cx, .ok = ml_dtype_is_index(e->type)};

    if (o.ok)
        once(&o, e);
    return o.ok;
}

static bool literal_range(const ml_Dom *d)
{
    return ml_is_const_int(d->min) && ml_is_const_int(d->extent) && d->extent->as.i > 0;
}

bool ml_attained(ml_Arith *ar, const ml_Expr *e, const ml_Dom *dom, size_t n,
                 const ml_Expr *pred, ml_Interval *out)
{
    ml_Ctx *cx = ml_arith_ctx(ar);
    ml_IterMap m;

    for (size_t k = 0; k < n; k++)
        if (ml_arith_bound(ar, dom[k].extent).lo < 1)
            return false;
    if (!ml_dtype_is_index(e->type))
        return false;
    m = ml_iter_detect(ar, &e, 1, dom, n, pred, ML_SURJECTIVE, false);
    if (m.ok) {
        const ml_IterSum *s = &m.sums[0];
        const ml_Expr *lo = s->base, *hi = lo;

        if (s->n > 1)
            return false;
        if (s->n == 1) {
            const ml_IterDigit *d = &s->digits[0];

            if (!ml_is_const_int(d->scale))
                return false;
            const ml_Expr *one = ml_int(cx, d->extent->type, 1);
            const ml_Expr *run = ml_mul(cx, ml_sub(cx, d->extent, one), d->scale);
            const ml_Expr *far = ml_simplify(ar, ml_add(cx, lo, run));

            if (d->scale->as.i > 0)
                hi = far;
            else
                lo = far;
        }
        *out = (ml_Interval){lo, hi, false};
        return true;
    }
    if (!ml_is_true(pred))
        return false;
    e = ml_simplify(ar, e);
    for (size_t k = 0; k < n; k++)
        if (ml_expr_uses_var(e, dom[k].var) && !literal_range(&dom[k]))
            return false;
    if (!is_monotone(cx, e))
        return false;
    *out = ml_relax(ar, e, dom, n);
    return !out->nothing && out->min && out->max;
}

typedef struct Loops {
    ml_Program p;
    bool ok;
} Loops;

static bool only_loops(const ml_Expr *e, void *user)
{
    Loops *l = user;

    if (e->kind == ML_EXPR_VAR) {
        const ml_Stmt *s = ml_index_node(l->p.index, e->as.var->uid);

        l->ok &= s && s->kind == ML_STMT_FOR && ml_is_const_int(ml_as_for(s)->min) &&
                 ml_is_const_int(ml_as_for(s)->extent) && ml_as_for(s)->extent->as.i > 0;
    }
    return l->ok;
}

bool ml_reaches(ml_Arith *ar, ml_Program p, const ml_Expr *e, int64_t least)
{
    Loops l = {p, true};

    e = ml_simplify(ar, e);
    if (ml_arith_bound(ar, e).lo >= least)
        return true;
    ml_expr_visit(e, only_loops, &l);
    return l.ok && is_monotone(ml_arith_ctx(ar), e) && ml_arith_bound(ar, e).hi >= least;
}

bool ml_reachable(ml_Arith *ar, ml_Program p, ml_Uid uid)
{
    ml_Uid below = uid;
    const ml_Stmt *self = ml_index_node(p.index, uid);
    const ml_Expr *pred = self->kind == ML_STMT_BLOCK ? ml_as_block(self)->predicate : NULL;
    bool outside = false; /* of the scope: what such loops decide may exclude everything */

    for (ml_Uid u = ml_index_parent(p.index, uid); u; u = ml_index_parent(p.index, u)) {
        const ml_Stmt *s = ml_index_node(p.index, u);

        if (ml_between(p.index, u, below))
            return false;
        if (s->kind == ML_STMT_FOR && ml_arith_bound(ar, ml_as_for(s)->extent).lo < 1)
            return false;
        if (s->kind == ML_STMT_BLOCK && !ml_is_true(ml_as_block(s)->predicate))
            return false;
        if (outside && pred && s->kind == ML_STMT_FOR &&
            ml_expr_uses_var(pred, ml_as_for(s)->var))
            return false;
        outside |= s->kind == ML_STMT_BLOCK;
        below = u;
    }
    return true;
}
