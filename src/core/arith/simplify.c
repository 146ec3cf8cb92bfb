/*
 * simplify - the rewriter: children first, then decisions by 3.6, then the rule tables.
 *
 * A rule's result is simplified again only where the rule says so, five levels deep at
 * most; a whole pass runs at most twice. Source: ir-and-analysis 3.5.
 */
#include "moonloop/core/arith/rewrite.h"

static const ml_Expr *rewrite(ml_Arith *ar, const ml_Expr *e);

static const ml_Expr *truth(ml_Arith *ar, bool b)
{
    return ml_bool(ar->cx, b);
}

/* A rule's result, simplified again if the rule wants that and the depth allows. */
static const ml_Expr *settle(ml_Arith *ar, const ml_Expr *e, bool again)
{
    if (!again || ar->again >= ML_ARITH_AGAIN)
        return e;
    ar->again++;
    e = rewrite(ar, e);
    ar->again--;
    return e;
}

static const ml_Expr *apply(ml_Arith *ar, const ml_RuleSet *set, const ml_Expr *e)
{
    bool again = false;
    const ml_Expr *r = ml_rule_apply(ar, set, e, &again);

    return r ? settle(ar, r, again) : e;
}

/* ---- arithmetic */

/* What holds in every integer dtype, wrapping ones too (ir-and-analysis 1.1). */
static const ml_Expr *any_integer(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    bool is_div = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_FLOORDIV;
    bool is_mod = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;

    if (!is_div && !is_mod)
        return e;
    if (a == b)
        return ml_int(ar->cx, e->type, is_div ? 1 : 0);
    if (b->kind != ML_EXPR_INT || b->as.i <= 0)
        return e;
    ml_Bound x = ml_arith_bound(ar, a);
    if (x.lo >= 0 && x.hi < b->as.i)
        return is_div ? ml_int(ar->cx, e->type, 0) : a;
    if (is_mod && (e->kind == ML_EXPR_FLOORMOD || x.lo >= 0)) {
        ml_Modular m = ml_arith_modular(ar, a);
        if (m.coeff % b->as.i == 0)
            return ml_int(ar->cx, e->type, ml_floormod_i64(m.base, b->as.i));
    }
    return e;
}

/* Floor division and remainder of what stays in one block. */
static const ml_Expr *by_blocks(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    ml_Bound x;

    if (b->kind != ML_EXPR_INT || b->as.i <= 0 ||
        (e->kind != ML_EXPR_FLOORDIV && e->kind != ML_EXPR_FLOORMOD))
        return e;
    x = ml_arith_bound(ar, a);
    if (x.lo <= -ML_INF || x.hi >= ML_INF)
        return e;
    int64_t q = ml_floordiv_i64(x.lo, b->as.i);
    if (q != ml_floordiv_i64(x.hi, b->as.i) || !ml_int_ok(e->type, q))
        return e;
    if (e->kind == ML_EXPR_FLOORDIV)
        return ml_int(ar->cx, e->type, q);
    if (q == 0)
        return a;
    if (x.lo == x.hi)
        return ml_int(ar->cx, e->type, ml_floormod_i64(x.lo, b->as.i));
    return e;
}

static const ml_Expr *min_max(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];
    bool is_min = e->kind == ML_EXPR_MIN;

    switch (ml_compare(ar, a, b)) {
    case ML_CMP_EQ: return a;
    case ML_CMP_LT:
    case ML_CMP_LE: return is_min ? a : b;
    case ML_CMP_GT:
    case ML_CMP_GE: return is_min ? b : a;
    case ML_CMP_NE:
    case ML_CMP_UNKNOWN: break;
    }
    return apply(ar, is_min ? &ml_rules_min : &ml_rules_max, e);
}

static const ml_Expr *arithmetic(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *r;

    switch (e->kind) {
    case ML_EXPR_ADD: return apply(ar, &ml_rules_add, e);
    case ML_EXPR_SUB: return apply(ar, &ml_rules_sub, e);
    case ML_EXPR_MUL: return apply(ar, &ml_rules_mul, e);
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
        r = any_integer(ar, e);
        if (r == e)
            r = by_blocks(ar, e);
        if (r != e)
            return r;
        if (e->kind == ML_EXPR_FLOORDIV)
            return apply(ar, &ml_rules_floordiv, e);
        if (e->kind == ML_EXPR_FLOORMOD)
            return apply(ar, &ml_rules_floormod, e);
        return apply(ar, e->kind == ML_EXPR_DIV ? &ml_rules_div : &ml_rules_mod, e);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX: return min_max(ar, e);
    }
    return e;
}

/* ---- comparisons */

/* The truth of a kind b when the relation c is known: 1, 0, -1. */
static int relation_says(ml_ExprKind k, ml_Cmp c)
{
    bool lt = c == ML_CMP_LT, gt = c == ML_CMP_GT, eq = c == ML_CMP_EQ, ne = c == ML_CMP_NE;
    bool le = c == ML_CMP_LE, ge = c == ML_CMP_GE;

    if (k == ML_EXPR_EQ || k == ML_EXPR_NE) {
        if (eq)
            return k == ML_EXPR_EQ;
        return lt || gt || ne ? k == ML_EXPR_NE : -1;
    }
    if (k == ML_EXPR_LT)
        return lt ? 1 : gt || eq || ge ? 0 : -1;
    return lt || le || eq ? 1 : gt ? 0 : -1; /* LE */
}

static const ml_Expr *compare_index(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1], *r;
    ml_ExprKind k = (ml_ExprKind)e->kind;
    int says = relation_says(k, ml_compare(ar, a, b));

    if (says >= 0)
        return truth(ar, says);
    if (k == ML_EXPR_EQ || k == ML_EXPR_LT)
        return apply(ar, k == ML_EXPR_EQ ? &ml_rules_eq : &ml_rules_lt, e);
    /* through the negation */
    const ml_Expr *n = k == ML_EXPR_NE ? ml_eq(ar->cx, a, b) : ml_lt(ar->cx, b, a);
    if (n->kind != (k == ML_EXPR_NE ? ML_EXPR_EQ : ML_EXPR_LT))
        return ml_negate(ar, n);
    r = apply(ar, k == ML_EXPR_NE ? &ml_rules_eq : &ml_rules_lt, n);
    if (r == n)
        return e;
    return settle(ar, ml_negate(ar, r), r->kind == ML_EXPR_AND || r->kind == ML_EXPR_OR);
}

static const ml_Expr *compare(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0], *b = e->args[1];

    if ((e->kind == ML_EXPR_GT || e->kind == ML_EXPR_GE) && ml_dtype_is_int(a->type)) {
        e = e->kind == ML_EXPR_GT ? ml_lt(ar->cx, b, a) : ml_le(ar->cx, b, a);
        if (!ml_is_compare(e))
            return e;
        a = e->args[0];
        b = e->args[1];
    }
    if (ml_is_index(a))
        return compare_index(ar, e);
    if (!ml_dtype_is_int(a->type) || a->type.lanes != 1)
        return e;
    /* integers that may wrap: only bounds */
    if (a == b)
        return truth(ar, e->kind == ML_EXPR_EQ || e->kind == ML_EXPR_LE);
    ml_Bound x = ml_arith_bound(ar, a), y = ml_arith_bound(ar, b);
    ml_Cmp c = ML_CMP_UNKNOWN;
    if (x.hi < y.lo)
        c = ML_CMP_LT;
    else if (x.lo > y.hi)
        c = ML_CMP_GT;
    else if (x.hi == y.lo && x.hi < ML_INF)
        c = ML_CMP_LE;
    else if (x.lo == y.hi && x.lo < ML_INF)
        c = ML_CMP_GE;
    int says = relation_says((ml_ExprKind)e->kind, c);
    return says < 0 ? e : truth(ar, says);
}

/* ---- logic */

enum { MAX_JUNCTS = 12 };

/* The operands of a left-leaning chain of and (or); false: too many. */
static bool juncts(const ml_Expr *e, uint8_t kind, const ml_Expr **v, size_t *n)
{
    if (e->kind == kind)
        return juncts(e->args[0], kind, v, n) && juncts(e->args[1], kind, v, n);
    if (*n == MAX_JUNCTS)
        return false;
    v[(*n)++] = e;
    return true;
}

/*
 * and / or: every pair of operands is tried against the rules, so that it does not matter
 * where in a chain they stand; what is left is associated to the left.
 */
static const ml_Expr *junction(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *v[MAX_JUNCTS];
    const ml_RuleSet *set = e->kind == ML_EXPR_AND ? &ml_rules_and : &ml_rules_or;
    size_t n = 0;
    bool changed = false;

    if (e->type.lanes != 1 || !juncts(e, e->kind, v, &n))
        return e;
    for (size_t j = 1; j < n && n <= MAX_JUNCTS; j++)
        for (size_t i = 0; i < j; i++) {
            bool again = false;
            const ml_Expr *pair = ml_try_binary(ar, (ml_ExprKind)e->kind, v[i], v[j]);
            const ml_Expr *r = pair;
            if (!pair || !ml_arith_work(ar))
                return e;
            if (pair->kind == e->kind)
                r = ml_rule_apply(ar, set, pair, &again);
            if (!r || (pair == r && pair->kind == e->kind))
                continue;
            changed = true;
            if (r->kind == e->kind) { /* two better ones: no restart, so that it ends */
                v[i] = r->args[0];
                v[j] = r->args[1];
                continue;
            }
            v[i] = r;
            memmove(&v[j], &v[j + 1], (n - j - 1) * sizeof(v[0]));
            n--;
            j = 0; /* the new one against all others */
            break;
        }
    if (!changed && e->args[1]->kind != e->kind)
        return e;
    const ml_Expr *r = v[0];
    for (size_t k = 1; k < n; k++)
        r = ml_try_binary(ar, (ml_ExprKind)e->kind, r, v[k]);
    return r;
}

static const ml_Expr *negation(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *a = e->args[0];

    if (a->kind == ML_EXPR_AND || a->kind == ML_EXPR_OR) {
        const ml_Expr *x = ml_negate(ar, a->args[0]), *y = ml_negate(ar, a->args[1]);
        return settle(
            ar, a->kind == ML_EXPR_AND ? ml_or(ar->cx, x, y) : ml_and(ar->cx, x, y), true);
    }
    if (ml_is_op(a, ML_OP_LIKELY))
        return e;
    const ml_Expr *r = ml_negate(ar, a);
    return r->kind == ML_EXPR_NOT ? e : r;
}

/* ---- the walk */

static const ml_Expr *choice(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *kids[3] = {rewrite(ar, e->args[0]), NULL, NULL};
    bool call = e->kind == ML_EXPR_CALL;

    if (kids[0]->kind == ML_EXPR_INT)
        return rewrite(ar, e->args[ml_is_true(kids[0]) ? 1 : 2]);
    for (int arm = 1; arm <= 2; arm++) {
        ml_ArithMark m = ml_arith_save(ar);
        /* an arm of select is evaluated also when it is not chosen */
        if (kids[0]->type.lanes == 1 && (call || ml_harmless(e->args[arm])))
            ml_arith_assume(ar, arm == 1 ? kids[0] : ml_negate(ar, kids[0]));
        kids[arm] = rewrite(ar, e->args[arm]);
        ml_arith_restore(ar, m);
    }
    if (kids[1] == kids[2] && ml_expr_effect(kids[0]) <= ML_EFFECT_READ)
        return kids[1];
    const ml_Expr *in = kids[1];
    if (call && ml_is_op(in, ML_OP_IF_THEN_ELSE) && in->args[2] == kids[2] &&
        (kids[2]->kind == ML_EXPR_INT || kids[2]->kind == ML_EXPR_FLOAT) &&
        ml_harmless(in->args[0]))
        return ml_if_then_else(ar->cx, ml_and(ar->cx, kids[0], in->args[0]), in->args[1],
                               kids[2]);
    return ml_try_rebuild(ar, e, kids);
}

static const ml_Expr *node(ml_Arith *ar, const ml_Expr *e)
{
    if (ml_kind_commutes(e->kind) && e->args[0]->kind == ML_EXPR_INT &&
        e->args[1]->kind != ML_EXPR_INT && ml_is_index(e->args[0])) {
        const ml_Expr *r = ml_try_binary(ar, (ml_ExprKind)e->kind, e->args[1], e->args[0]);
        e = r ? r : e;
        if (e->n_args != 2)
            return e;
    }
    if (ml_kind_is_binary(e->kind) && e->args[0]->type.lanes > 1) {
        const ml_Expr *r = ml_rewrite_vector(ar, e);
        return r ? r : e;
    }
    if (ml_kind_computes(e->kind)) {
        if (ml_is_index(e))
            return arithmetic(ar, e);
        return ml_dtype_is_int(e->type) ? any_integer(ar, e) : e;
    }
    if (ml_is_compare(e))
        return compare(ar, e);
    if (e->kind == ML_EXPR_AND || e->kind == ML_EXPR_OR)
        return junction(ar, e);
    if (e->kind == ML_EXPR_NOT && e->type.lanes == 1)
        return negation(ar, e);
    if (ml_is_op(e, ML_OP_LIKELY) && e->args[0]->kind == ML_EXPR_INT)
        return e->args[0];
    return e;
}

static const ml_Expr *rewrite_of(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *few[8], **kids = few;

    if (e->kind == ML_EXPR_SELECT || ml_is_op(e, ML_OP_IF_THEN_ELSE))
        return choice(ar, e);
    if (e->kind == ML_EXPR_LET) {
        const ml_Expr *v = rewrite(ar, e->args[0]);
        if (v->kind == ML_EXPR_INT || v->kind == ML_EXPR_FLOAT || v->kind == ML_EXPR_VAR)
            return rewrite(ar, ml_expr_subst1(ar->cx, e->args[1], e->as.var, v));
    }
    if (e->n_args == 0 || e->kind == ML_EXPR_SHUFFLE ||
        (e->kind == ML_EXPR_CALL && ml_expr_effect(e) > ML_EFFECT_READ))
        return e;
    if (e->n_args > ML_COUNT(few))
        kids = ML_ARRAY(ar->cx, const ml_Expr *, e->n_args);
    for (uint16_t k = 0; k < e->n_args; k++)
        kids[k] = rewrite(ar, e->args[k]);
    e = ml_try_rebuild(ar, e, kids);
    return e->n_args ? node(ar, e) : e;
}

/* Sums of variables times literals; rules have nothing to say about a canonical one. */
static bool affine(const ml_Expr *e)
{
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB)
        return affine(e->args[0]) && affine(e->args[1]);
    if (e->kind == ML_EXPR_MUL)
        return e->args[0]->kind == ML_EXPR_VAR && e->args[1]->kind == ML_EXPR_INT;
    return e->kind == ML_EXPR_VAR || e->kind == ML_EXPR_INT;
}

static const ml_Expr *rewrite(ml_Arith *ar, const ml_Expr *e)
{
    if (e->n_args == 0)
        return ml_canon(ar, e); /* a variable may have a value */
    if (ar->canonical && ml_is_index(e) && e->size < 64 && affine(e))
        return e;
    ml_ArithMemo *m = ml_arith_memo(ar, e);
    if (m->r_at == ar->epoch)
        return m->rewritten;
    if (!ml_arith_work(ar))
        return e;
    int known = ml_dtype_is_bool(e->type) ? ml_arith_truth(ar, e) : -1;
    const ml_Expr *r = known >= 0 ? truth(ar, known) : rewrite_of(ar, e);
    if (!ar->cut) {
        m = ml_arith_memo(ar, e);
        m->rewritten = r;
        m->r_at = ar->epoch;
    }
    return r;
}

const ml_Expr *ml_rewrite(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *r;

    ml_arith_enter(ar);
    bool was = ar->canonical;
    ar->canonical = false;
    r = rewrite(ar, e);
    if (r != e && r->n_args > 0)
        r = rewrite(ar, r);
    ar->canonical = was;
    ml_arith_leave(ar);
    return r;
}

const ml_Expr *ml_simplify(ml_Arith *ar, const ml_Expr *e)
{
    const ml_Expr *c, *r;

    if (e->kind == ML_EXPR_INT)
        return e;
    ml_arith_enter(ar);
    c = ml_canon(ar, e);
    r = c;
    if (c->n_args > 0) {
        bool was = ar->canonical;
        ar->canonical = true;
        r = rewrite(ar, c);
        if (r != c && r->n_args > 0)
            r = rewrite(ar, r);
        ar->canonical = was;
        if (r != c && r->kind != ML_EXPR_INT)
            r = ml_canon(ar, r);
    }
    ml_arith_leave(ar);
    return r;
}
