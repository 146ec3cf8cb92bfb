/*
 * rule - matching, conditions and building for the rewrite tables (rule.h).
 */
#include "moonloop/core/arith/rule.h"

/* ---- matching: a list of pairs still to be matched, so that a commutative operator can be
 * tried in both orders against everything that follows. */

typedef struct Goal {
    const ml_Pat *p;
    const ml_Expr *e;
    const struct Goal *next;
} Goal;

static bool on_integers(unsigned op) /* its operands must be index integers */
{
    return op <= ML_EXPR_GE;
}

static bool match_operator(const Goal *g, ml_RuleMatch *m);

static bool match_goals(const Goal *g, ml_RuleMatch *m)
{
    if (!g)
        return true;
    const ml_Pat *p = g->p;
    const ml_Expr *e = g->e;

    if (p->op == ML_P_ANY || p->op == ML_P_LIT) {
        const ml_Expr *was = m->slot[p->n];
        if (was)
            return was == e && match_goals(g->next, m);
        if (p->op == ML_P_LIT && (e->kind != ML_EXPR_INT || !ml_is_index(e)))
            return false;
        m->slot[p->n] = e;
        if (match_goals(g->next, m))
            return true;
        m->slot[p->n] = NULL;
        return false;
    }
    if (p->op == ML_P_NUM)
        return e->kind == ML_EXPR_INT && e->as.i == p->v && ml_is_index(e) &&
               match_goals(g->next, m);
    if (p->op != e->kind)
        return false;
    ml_Dtype was = m->type;
    if (match_operator(g, m))
        return true;
    m->type = was;
    return false;
}

static bool match_operator(const Goal *g, ml_RuleMatch *m)
{
    const ml_Pat *p = g->p;
    const ml_Expr *e = g->e;

    if (on_integers(p->op)) {
        if (!ml_is_index(e->args[0]))
            return false;
        /* every number of a rule is of one dtype: casts inside keep their own */
        if (m->type.lanes != 0 && !ml_dtype_eq(m->type, e->args[0]->type))
            return false;
        m->type = e->args[0]->type;
    } else if (e->type.lanes != 1) {
        return false;
    }
    if (!p->b)
        return match_goals(&(Goal){p->a, e->args[0], g->next}, m);
    if (p->c) {
        Goal third = {p->c, e->args[2], g->next}, second = {p->b, e->args[1], &third};
        return match_goals(&(Goal){p->a, e->args[0], &second}, m);
    }
    for (int flip = 0; flip < (ml_kind_commutes(p->op) ? 2 : 1); flip++) {
        Goal second = {p->b, e->args[1 - flip], g->next};
        if (match_goals(&(Goal){p->a, e->args[flip], &second}, m))
            return true;
    }
    return false;
}

/* Whether e is an instance of p. */
static bool match_rule(const ml_Pat *p, const ml_Expr *e, ml_RuleMatch *m)
{
    memset(m, 0, sizeof(*m));
    return match_goals(&(Goal){p, e, NULL}, m);
}

/* ---- conditions, by intervals; nothing is built */

static bool literal_of(const ml_Pat *p, const ml_RuleMatch *m, int64_t *v)
{
    int64_t a, b;
    bool lost = false;

    if (p->op == ML_P_NUM) {
        *v = p->v;
        return true;
    }
    if (p->op == ML_P_LIT) {
        *v = m->slot[p->n]->as.i;
        return true;
    }
    if (p->op == ML_P_ANY) {
        *v = 0;
        if (!m->slot[p->n] || m->slot[p->n]->kind != ML_EXPR_INT)
            return false;
        *v = m->slot[p->n]->as.i;
        return true;
    }
    if (!p->a || !p->b || p->c || !literal_of(p->a, m, &a) || !literal_of(p->b, m, &b))
        return false;
    if (p->op == ML_P_GCD) {
        *v = ml_gcd(a, b);
        return true;
    }
    if (p->op > ML_EXPR_MAX)
        return false;
    if (b == 0 && p->op >= ML_EXPR_DIV && p->op <= ML_EXPR_FLOORMOD)
        return false;
    *v = ml_fold_int((ml_ExprKind)p->op, ML_DT_I64, a, b, &lost);
    return !lost;
}

static ml_Bound pat_bound(ml_Arith *ar, const ml_Pat *p, const ml_RuleMatch *m)
{
    int64_t v;

    if (literal_of(p, m, &v))
        return (ml_Bound){v, v};
    if (p->op == ML_P_ANY)
        return ml_arith_bound(ar, m->slot[p->n]);
    if (p->op >= ML_EXPR_ADD && p->op <= ML_EXPR_MAX) {
        if (p->op == ML_EXPR_FLOORMOD && p->a->op == ML_P_ANY && literal_of(p->b, m, &v) &&
            v > 0)
            return ml_bound_floormod(ml_arith_bound(ar, m->slot[p->a->n]),
                                     ml_arith_modular(ar, m->slot[p->a->n]), v);
        return ml_bound_binary((ml_ExprKind)p->op, pat_bound(ar, p->a, m),
                               pat_bound(ar, p->b, m));
    }
    return ml_bound_all();
}

static bool finite(int64_t v)
{
    return v > -ML_INF && v < ML_INF;
}

static bool bounds_say(unsigned op, ml_Bound a, ml_Bound b)
{
    if (op == ML_EXPR_LT)
        return finite(a.hi) && finite(b.lo) && a.hi < b.lo;
    if (op == ML_EXPR_LE)
        return finite(a.hi) && finite(b.lo) && a.hi <= b.lo;
    if (op == ML_EXPR_GT)
        return bounds_say(ML_EXPR_LT, b, a);
    if (op == ML_EXPR_GE)
        return bounds_say(ML_EXPR_LE, b, a);
    if (op == ML_EXPR_EQ)
        return finite(a.lo) && a.lo == a.hi && b.lo == a.lo && b.hi == a.lo;
    return op == ML_EXPR_NE &&
           (bounds_say(ML_EXPR_LT, a, b) || bounds_say(ML_EXPR_LT, b, a));
}

static const ml_Expr *build_term(ml_Arith *ar, const ml_Pat *p, ml_RuleMatch *m);

static bool proved(ml_Arith *ar, const ml_Pat *p, ml_RuleMatch *m)
{
    ml_Cmp c;

    if (bounds_say(p->op, pat_bound(ar, p->a, m), pat_bound(ar, p->b, m)))
        return true;
    const ml_Expr *a = build_term(ar, p->a, m), *b = build_term(ar, p->b, m);
    if (!a || !b)
        return false;
    c = ml_compare(ar, a, b);
    switch (c) {
    case ML_CMP_EQ:
        return p->op == ML_EXPR_EQ || p->op == ML_EXPR_LE || p->op == ML_EXPR_GE;
    case ML_CMP_LT:
        return p->op == ML_EXPR_LT || p->op == ML_EXPR_LE || p->op == ML_EXPR_NE;
    case ML_CMP_LE: return p->op == ML_EXPR_LE;
    case ML_CMP_GT:
        return p->op == ML_EXPR_GT || p->op == ML_EXPR_GE || p->op == ML_EXPR_NE;
    case ML_CMP_GE: return p->op == ML_EXPR_GE;
    case ML_CMP_NE: return p->op == ML_EXPR_NE;
    case ML_CMP_UNKNOWN: break;
    }
    return false;
}

static bool rule_holds(ml_Arith *ar, const ml_Pat *p, ml_RuleMatch *m)
{
    if (p->op == ML_EXPR_AND)
        return rule_holds(ar, p->a, m) && rule_holds(ar, p->b, m);
    if (p->op == ML_EXPR_OR)
        return rule_holds(ar, p->a, m) || rule_holds(ar, p->b, m);
    if (p->op == ML_P_PROVE)
        return proved(ar, p->a, m);
    if (p->op == ML_P_CONG) {
        int64_t r, c;
        if (!literal_of(p->b, m, &r) || !literal_of(p->c, m, &c) || c <= 0)
            return false;
        ml_Modular mo = ml_arith_modular(ar, m->slot[p->a->n]);
        return mo.coeff % c == 0 && ml_floormod_i64(mo.base - r, c) == 0;
    }
    /* literals compare exactly, also at the ends of int64 */
    int64_t a, b;
    if (literal_of(p->a, m, &a) && literal_of(p->b, m, &b)) {
        if (p->op == ML_EXPR_EQ)
            return a == b;
        if (p->op == ML_EXPR_NE)
            return a != b;
        if (p->op == ML_EXPR_LT)
            return a < b;
        if (p->op == ML_EXPR_LE)
            return a <= b;
        return p->op == ML_EXPR_GT ? a > b : a >= b;
    }
    return bounds_say(p->op, pat_bound(ar, p->a, m), pat_bound(ar, p->b, m));
}

/* ---- building */

/* Whether a large literal may push the result out of the dtype, where perhaps nothing
 * overflowed before. Small ones are allowed: most variables have no bound. */
static bool brings_overflow(ml_Arith *ar, ml_ExprKind k, const ml_Expr *a, const ml_Expr *b)
{
    const ml_Expr *c = b->kind == ML_EXPR_INT ? b : a;

    if (c->kind != ML_EXPR_INT || a->kind == b->kind ||
        (c->as.i <= 65536 && c->as.i >= -65536))
        return false;
    ml_Bound r = ml_bound_binary(k, ml_arith_bound(ar, a), ml_arith_bound(ar, b));
    ml_Bound in = ml_bound_dtype(a->type);
    return r.lo < in.lo || r.hi > in.hi;
}

static const ml_Expr *build_term(ml_Arith *ar, const ml_Pat *p, ml_RuleMatch *m)
{
    int64_t v;

    if (p->op == ML_P_ANY || p->op == ML_P_LIT)
        return m->slot[p->n];
    if (p->op == ML_P_TRUTH)
        return ml_bool(ar->cx, p->v != 0);
    if (p->op == ML_EXPR_NOT) {
        const ml_Expr *e = build_term(ar, p->a, m);
        return e ? ml_not(ar->cx, e) : NULL;
    }
    if (p->op == ML_EXPR_SELECT) {
        const ml_Expr *c = build_term(ar, p->a, m), *t = build_term(ar, p->b, m);
        const ml_Expr *f = build_term(ar, p->c, m);
        return c && t && f ? ml_select(ar->cx, c, t, f) : NULL;
    }
    if (p->op == ML_P_NUM || p->op == ML_P_GCD ||
        (p->op >= ML_EXPR_ADD && p->op <= ML_EXPR_MAX)) {
        if (m->type.lanes != 1)
            return NULL;
        if (literal_of(p, m, &v))
            return ml_int_ok(m->type, v) ? ml_int(ar->cx, m->type, v) : NULL;
    }
    if (p->op >= ML_EXPR_ADD && p->op <= ML_EXPR_OR) {
        const ml_Expr *a = build_term(ar, p->a, m), *b = build_term(ar, p->b, m);
        if (!a || !b ||
            (p->op <= ML_EXPR_MUL && brings_overflow(ar, (ml_ExprKind)p->op, a, b)))
            return NULL;
        return ml_try_binary(ar, (ml_ExprKind)p->op, a, b);
    }
    return NULL;
}

const ml_Expr *ml_rule_apply(ml_Arith *ar, const ml_RuleSet *set, const ml_Expr *e,
                             bool *again)
{
    for (size_t k = 0; k < set->n; k++) {
        const ml_Rule *r = &set->rules[k];
        unsigned l = r->from->a->op, q = r->from->b->op, el = e->args[0]->kind,
                 er = e->args[1]->kind;
        ml_RuleMatch m;

        /* Cheap look at both children first. */
        bool straight = (l >= ML_EXPR_KINDS || l == el) && (q >= ML_EXPR_KINDS || q == er);
        if (!straight && !(ml_kind_commutes(e->kind) && (l >= ML_EXPR_KINDS || l == er) &&
                           (q >= ML_EXPR_KINDS || q == el)))
            continue;
        if (!match_rule(r->from, e, &m) || (r->when && !rule_holds(ar, r->when, &m)))
            continue;
        const ml_Expr *to = build_term(ar, r->to, &m);
        if (!to || to == e)
            continue;
        *again = r->again;
        return to;
    }
    return NULL;
}
