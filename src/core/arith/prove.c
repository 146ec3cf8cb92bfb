/*
 * prove - comparisons and proofs, from bounds, residues and known comparisons.
 *
 * A difference is looked at as a linear form: its interval, its residue, and its distance
 * to each known fact "terms <= k". Nothing is allocated until a rule of the simplifier is
 * needed. Source: ir-and-analysis 3.6.
 */
#include "moonloop/core/arith/region.h"

#include "moonloop/core/arith/arith_impl.h"

/* s + sign * fact, when that cancels something. */
static bool against(ml_Arith *ar, const ml_Sum *s, const ml_ArithFact *f, int64_t sign,
                    ml_Sum *out)
{
    ml_sum_init(out, s->type);
    if (!ml_sum_add_sum(ar, out, s, 1))
        return false;
    for (uint32_t k = 0; k < f->n; k++) {
        ml_Term t = f->t[k];
        if (!ml_dtype_eq(t.index->type, s->type) || t.scale == INT64_MIN)
            return false;
        t.scale *= sign;
        if (!ml_sum_add_term(ar, out, &t))
            return false;
    }
    return out->n < s->n + f->n;
}

ml_Bound ml_sum_bound_facts(ml_Arith *ar, ml_Sum *s)
{
    ml_Bound b = ml_sum_bound(ar, s);

    if (ar->n_linear == 0 || s->n == 0)
        return b;
    uint64_t bloom = 0;
    for (uint32_t k = 0; k < s->n; k++)
        bloom |= s->t[k].index->bloom;
    for (size_t k = 0; k < ar->facts.n; k++) {
        const ml_ArithFact *f = &ar->facts.v[k];
        ml_Sum d;
        if (f->kind != ML_AF_LINEAR || !f->live || !(bloom & f->bloom))
            continue;
        /* s = fact + d <= k + d */
        if (against(ar, s, f, -1, &d)) {
            int64_t hi = ml_sum_bound(ar, &d).hi;
            hi = hi == ML_INF ? ML_INF : ml_sat_add(f->k, hi);
            if (hi < b.hi && hi >= b.lo)
                b.hi = hi;
        }
        /* s = -fact + d >= -k + d */
        if (f->k != INT64_MIN && against(ar, s, f, 1, &d)) {
            int64_t lo = ml_sum_bound(ar, &d).lo;
            lo = lo <= -ML_INF ? -ML_INF : ml_sat_add(-f->k, lo);
            if (lo > b.lo && lo <= b.hi)
                b.lo = lo;
        }
    }
    return b;
}

/* Whether s != 0 is known outright. */
static bool known_unequal(ml_Arith *ar, const ml_Sum *s)
{
    for (size_t k = 0; ar->n_linear && k < ar->facts.n; k++) {
        const ml_ArithFact *f = &ar->facts.v[k];
        if (f->kind != ML_AF_UNEQUAL || !f->live || f->n != s->n)
            continue;
        for (int64_t sign = -1; sign <= 1; sign += 2) {
            ml_Sum d;
            /* s = -sign*fact exactly: s.base == sign*k would be zero there */
            int64_t k2;
            if (__builtin_mul_overflow(f->k, sign, &k2))
                continue;
            if (against(ar, s, f, sign, &d) && d.n == 0 && d.base == k2)
                return true;
        }
    }
    return false;
}

static ml_Cmp compare_plainly(ml_Arith *ar, ml_Sum *s)
{
    if (s->n == 0)
        return s->base == 0 ? ML_CMP_EQ : s->base < 0 ? ML_CMP_LT : ML_CMP_GT;
    ml_Bound b = ml_sum_bound_facts(ar, s);
    if (b.hi < 0)
        return ML_CMP_LT;
    if (b.lo > 0)
        return ML_CMP_GT;
    if (b.lo == 0 && b.hi == 0)
        return ML_CMP_EQ;
    bool ne = !ml_modular_has(ml_sum_modular(ar, s), 0) || known_unequal(ar, s);
    if (b.hi == 0)
        return ne ? ML_CMP_LT : ML_CMP_LE;
    if (b.lo == 0)
        return ne ? ML_CMP_GT : ML_CMP_GE;
    return ne ? ML_CMP_NE : ML_CMP_UNKNOWN;
}

/* A factor of the product e that is a sum, or NULL; *rest the other factors' product. */
static const ml_Expr *sum_factor(ml_Arith *ar, const ml_Expr *e, const ml_Expr **rest)
{
    if (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB)
        return e;
    for (int side = 0; e->kind == ML_EXPR_MUL && side < 2; side++) {
        const ml_Expr *in = NULL, *f = sum_factor(ar, e->args[side], &in),
                      *o = e->args[1 - side];
        if (!f)
            continue;
        *rest = in ? ml_try_binary(ar, ML_EXPR_MUL, in, o) : o;
        return *rest ? f : NULL;
    }
    return NULL;
}

bool ml_sum_multiply_out(ml_Arith *ar, const ml_Sum *s, ml_Sum *out)
{
    bool any = false;

    ml_sum_init(out, s->type);
    out->base = s->base;
    for (uint32_t k = 0; k < s->n; k++) {
        const ml_Term *t = &s->t[k];
        const ml_Expr *rest = NULL, *f = NULL;
        ml_Sum in;

        if (t->lower == 1 && t->upper == ML_NO_UPPER && t->index->kind == ML_EXPR_MUL &&
            t->index->size < 64 && out->n < 64)
            f = sum_factor(ar, t->index, &rest);
        if (!f) {
            if (!ml_sum_add_term(ar, out, t))
                return false;
            continue;
        }
        any = true;
        ml_sum_init(&in, s->type);
        if (!ml_sum_add_expr(ar, &in, f, 1))
            return false;
        for (uint32_t j = 0; j < in.n; j++) {
            int64_t scale;
            const ml_Expr *e = ml_term_emit(ar, &in.t[j]);
            e = ml_try_binary(ar, ML_EXPR_MUL, e, rest);
            if (!e || __builtin_mul_overflow(t->scale, in.t[j].scale, &scale) ||
                !ml_sum_add_expr(ar, out, e, scale))
                return false;
        }
        int64_t scale;
        if (__builtin_mul_overflow(t->scale, in.base, &scale) ||
            (scale != 0 && !ml_sum_add_expr(ar, out, rest, scale)))
            return false;
    }
    return any;
}

ml_Cmp ml_sum_compare(ml_Arith *ar, ml_Sum *s)
{
    ml_Cmp c = compare_plainly(ar, s);
    ml_Sum a, b;

    if (c != ML_CMP_UNKNOWN || !ml_sum_multiply_out(ar, s, &a))
        return c;
    /* nested products take another round */
    if (ml_sum_multiply_out(ar, &a, &b))
        return ml_sum_recombine(ar, &b) ? compare_plainly(ar, &b) : c;
    return ml_sum_recombine(ar, &a) ? compare_plainly(ar, &a) : c;
}

ml_Cmp ml_compare(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    ml_Sum s;
    ml_Cmp r = ML_CMP_UNKNOWN;

    if (a == b)
        return ML_CMP_EQ;
    if (!ml_is_index(a) || !ml_dtype_eq(a->type, b->type))
        return ML_CMP_UNKNOWN;
    ml_arith_enter(ar);
    ml_sum_init(&s, a->type);
    if (ml_sum_add_expr(ar, &s, a, 1) && ml_sum_add_expr(ar, &s, b, -1) &&
        ml_sum_recombine(ar, &s))
        r = ml_sum_compare(ar, &s);
    ml_arith_leave(ar);
    return r;
}

/* x < c, x <= c, x > c or x >= c by the bound of x alone: much of what is asked. */
static bool by_bound(ml_Arith *ar, const ml_Expr *p)
{
    if (!ml_is_index_compare(p) || p->args[1]->kind != ML_EXPR_INT ||
        p->kind == ML_EXPR_EQ || p->kind == ML_EXPR_NE)
        return false;
    int64_t c = p->args[1]->as.i;
    ml_arith_enter(ar);
    ml_Bound b = ml_arith_bound(ar, p->args[0]);
    ml_arith_leave(ar);
    switch ((int)p->kind) {
    case ML_EXPR_LT: return b.hi < c;
    case ML_EXPR_LE: return b.hi <= c && b.hi < ML_INF;
    case ML_EXPR_GT: return b.lo > c && b.lo > -ML_INF;
    default: return b.lo >= c && b.lo > -ML_INF;
    }
}

bool ml_prove(ml_Arith *ar, const ml_Expr *p)
{
    if (p->kind == ML_EXPR_INT)
        return p->as.i != 0;
    if (by_bound(ar, p))
        return true;
    p = ml_simplify(ar, p);
    return p->kind == ML_EXPR_INT && p->as.i != 0;
}

bool ml_prove_equal(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (a == b)
        return true;
    if (a->kind == ML_EXPR_INT && b->kind == ML_EXPR_INT)
        return a->as.i == b->as.i && ml_dtype_eq(a->type, b->type);
    if (ml_is_index(a) && ml_is_index(b) && !ml_dtype_eq(a->type, b->type)) {
        /* int32 against int64: in the wider */
        a = a->type.bits == 64 ? a : ml_cast(ar->cx, ML_DT_I64, a);
        b = b->type.bits == 64 ? b : ml_cast(ar->cx, ML_DT_I64, b);
    }
    if (!ml_dtype_eq(a->type, b->type) || a->type.lanes != 1)
        return false;
    if (ml_is_index(a)) {
        ml_Cmp c = ml_compare(ar, a, b);
        if (c != ML_CMP_UNKNOWN && c != ML_CMP_LE && c != ML_CMP_GE)
            return c == ML_CMP_EQ;
    }
    if (ml_dtype_is_float(a->type) || a->type.code == ML_HANDLE || a->type.code == ML_VOID)
        return ml_simplify(ar, a) == ml_simplify(ar, b);
    return ml_prove(ar, ml_eq(ar->cx, a, b));
}

bool ml_prove_ge(ml_Arith *ar, const ml_Expr *e, int64_t c)
{
    if (ml_arith_bound(ar, e).lo >= c)
        return true;
    return e->kind != ML_EXPR_INT && ml_arith_bound(ar, ml_rewrite(ar, e)).lo >= c;
}

bool ml_prove_lt(ml_Arith *ar, const ml_Expr *e, int64_t c)
{
    if (ml_arith_bound(ar, e).hi < c)
        return true;
    return e->kind != ML_EXPR_INT && ml_arith_bound(ar, ml_rewrite(ar, e)).hi < c;
}

static bool widen(ml_Arith *ar, const ml_Expr **a, const ml_Expr **b)
{
    if (!ml_is_index(*a) || !ml_is_index(*b))
        return false;
    if ((*a)->type.bits < (*b)->type.bits)
        *a = ml_cast(ar->cx, (*b)->type, *a);
    else if ((*b)->type.bits < (*a)->type.bits)
        *b = ml_cast(ar->cx, (*a)->type, *b);
    return true;
}

/* a + c <= b (c: 0 or 1) by the bound of one where the other is a literal. */
static bool apart(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b, int64_t c)
{
    int64_t hi, lo;

    if (a->kind != ML_EXPR_INT && b->kind != ML_EXPR_INT)
        return false;
    hi = ml_arith_bound(ar, a).hi;
    lo = ml_arith_bound(ar, b).lo;
    return hi < ML_INF && lo > -ML_INF && hi + c <= lo;
}

/* a + c <= b where quotients do not cancel. */
static bool floors_apart(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b, int64_t c)
{
    bool r = false;
    ml_Sum s;

    ml_arith_enter(ar);
    ml_sum_init(&s, a->type);
    if (ml_sum_add_expr(ar, &s, a, 1) && ml_sum_add_expr(ar, &s, b, -1) &&
        ml_sum_add_literal(&s, c, 1) && ml_sum_recombine(ar, &s))
        r = ml_sum_floors_below(ar, &s);
    ml_arith_leave(ar);
    return r;
}

bool ml_prove_le_expr(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (!widen(ar, &a, &b))
        return false;
    if (apart(ar, a, b, 0))
        return true;
    ml_Cmp c = ml_compare(ar, a, b);
    if (c == ML_CMP_EQ || c == ML_CMP_LT || c == ML_CMP_LE)
        return true;
    return c != ML_CMP_GT &&
           (ml_prove(ar, ml_le(ar->cx, a, b)) || floors_apart(ar, a, b, 0));
}

bool ml_prove_lt_expr(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b)
{
    if (!widen(ar, &a, &b))
        return false;
    if (apart(ar, a, b, 1))
        return true;
    ml_Cmp c = ml_compare(ar, a, b);
    if (c == ML_CMP_LT)
        return true;
    return c != ML_CMP_GT && c != ML_CMP_EQ && c != ML_CMP_GE &&
           (ml_prove(ar, ml_lt(ar->cx, a, b)) || floors_apart(ar, a, b, 1));
}

/* d >= 0 by the low end of its interval over the ranges in force. */
static bool interval_nonneg(ml_Arith *ar, const ml_Expr *d)
{
    ML_VEC(ml_Dom) dom = {0};

    if (!d)
        return false;
    for (size_t k = 0; k < ar->vars.n; k++) {
        const ml_VarInfo *v = &ar->vars.v[k];
        if (!v->known || !v->min || !ml_dtype_eq(v->min->type, v->var->type) ||
            !ml_dtype_eq(v->extent->type, v->var->type))
            continue;
        ml_Dom one = {v->var, v->min, v->extent};
        ml_push(ar->cx, &dom, one);
    }
    ml_Interval in = ml_relax(ar, ml_simplify(ar, d), dom.v, dom.n);
    if (in.nothing || !in.min)
        return false;
    return ml_arith_bound(ar, in.min).lo >= 0 ||
           ml_arith_bound(ar, ml_simplify(ar, in.min)).lo >= 0;
}

static bool symbolic(ml_Arith *ar, const ml_Expr *p)
{
    const ml_Expr *a = p->args[0], *b = p->args[1];
    ml_Ctx *cx = ar->cx;
    ml_ExprKind k = (ml_ExprKind)p->kind;

    if (k == ML_EXPR_AND)
        return ml_prove_symbolic(ar, a) && ml_prove_symbolic(ar, b);
    if (!ml_is_index_compare(p) || k == ML_EXPR_NE)
        return false;
    if (k == ML_EXPR_EQ)
        return interval_nonneg(ar, ml_try_binary(ar, ML_EXPR_SUB, a, b)) &&
               interval_nonneg(ar, ml_try_binary(ar, ML_EXPR_SUB, b, a));
    if (k == ML_EXPR_LT || k == ML_EXPR_LE) {
        const ml_Expr *t = a;
        a = b;
        b = t;
    }
    const ml_Expr *d = ml_try_binary(ar, ML_EXPR_SUB, a, b);
    if (d && (k == ML_EXPR_LT || k == ML_EXPR_GT))
        d = ml_try_binary(ar, ML_EXPR_SUB, d, ml_int(cx, d->type, 1));
    return interval_nonneg(ar, d);
}

bool ml_prove_symbolic(ml_Arith *ar, const ml_Expr *p)
{
    if (ml_prove(ar, p))
        return true;
    while (ml_is_op(p, ML_OP_LIKELY))
        p = p->args[0];
    return p->n_args == 2 && ml_dtype_is_bool(p->type) && p->type.lanes == 1 &&
           symbolic(ar, p);
}
