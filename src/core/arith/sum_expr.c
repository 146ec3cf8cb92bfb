/*
 * sum_expr - expressions as linear forms: what is linear is taken apart, anything else is
 * an index of its own. Divisions by symbolic divisors cancel factors (the divisor is not 0
 * by assumption). Source: ir-and-analysis 3.4.
 */
#include "moonloop/core/arith/arith_impl.h"

/* ---- symbolic divisors */

static const ml_Expr *product(ml_Arith *ar, const ml_Expr *const *v, size_t n)
{
    const ml_Expr *e = v[0];

    for (size_t k = 1; k < n; k++)
        e = ml_try_binary(ar, ML_EXPR_MUL, e, v[k]);
    return e;
}

/* t = d * (what is put into *q): d's literal and all its factors occur in the plain term.
 */
static bool term_over(ml_Arith *ar, const ml_Term *t, const ml_Expr *const *f, size_t n,
                      int64_t lit, ml_Term *q, int64_t *value)
{
    const ml_Expr *v[ML_MAX_FACTORS];
    size_t m = 0;
    int64_t l = 1;

    if (!ml_term_is_plain(t) || lit == 0 || lit == -1 || t->scale % lit != 0)
        return false;
    if (!ml_product_factors(t->index, v, &m, &l) || l != 1)
        return false;
    for (size_t k = 0; k < n; k++)
        if (!ml_product_remove(v, &m, f[k]))
            return false;
    *q = *t;
    q->scale = t->scale / lit;
    q->index = m ? product(ar, v, m) : NULL;
    *value = q->scale;
    return true;
}

/* Cancels the factors that every term shares with the divisor (base 0); *common gets them.
 * (a*c)//(b*c) = a//b and (a*c)%(b*c) = (a%b)*c for any c other than 0. */
static bool cancel_common(ml_Arith *ar, ml_Sum *s, const ml_Expr **f, size_t *n,
                          int64_t *lit, const ml_Expr **common, size_t *nc, int64_t *g)
{
    *nc = 0;
    *g = *lit;
    if (s->base != 0 || s->n == 0 || *lit <= 0)
        return false;
    for (uint32_t j = 0; j < s->n; j++)
        *g = ml_gcd(*g, s->t[j].scale);
    for (size_t k = 0; k < *n;) {
        bool everywhere = true;
        for (uint32_t j = 0; j < s->n && everywhere; j++) {
            const ml_Expr *v[ML_MAX_FACTORS];
            size_t m = 0;
            int64_t l = 1;
            everywhere = ml_term_is_plain(&s->t[j]) &&
                         ml_product_factors(s->t[j].index, v, &m, &l) && l == 1 && m > 1 &&
                         ml_product_remove(v, &m, f[k]);
        }
        if (!everywhere) {
            k++;
            continue;
        }
        const ml_Expr *c = f[k];
        for (uint32_t j = 0; j < s->n; j++) {
            const ml_Expr *v[ML_MAX_FACTORS];
            size_t m = 0;
            int64_t l = 1;
            (void)ml_product_factors(s->t[j].index, v, &m, &l);
            (void)ml_product_remove(v, &m, c);
            s->t[j].index = product(ar, v, m);
        }
        common[(*nc)++] = c;
        memmove(&f[k], &f[k + 1], (*n - k - 1) * sizeof(f[0]));
        (*n)--;
    }
    if (*g > 1) {
        *lit /= *g;
        for (uint32_t j = 0; j < s->n; j++)
            s->t[j].scale /= *g;
    }
    return *nc > 0 || *g > 1;
}

/* The divisor as a sum of plain terms: more than one term, or it is no sum. */
static bool divisor_sum(ml_Arith *ar, const ml_Expr *cb, ml_Sum *out)
{
    ml_Sum once;

    ml_sum_init(out, cb->type);
    if (!ml_sum_add_expr(ar, out, cb, 1))
        return false;
    if (ml_sum_multiply_out(ar, out, &once)) {
        *out = once;
        if (once.t == once.inl)
            out->t = out->inl;
    }
    for (uint32_t k = 0; k < out->n; k++)
        if (!ml_term_is_plain(&out->t[k]))
            return false;
    return out->n + (out->base != 0) > 1;
}

/* to += k * index * s, index NULL: 1 */
static bool add_times(ml_Arith *ar, ml_Sum *to, const ml_Sum *s, const ml_Expr *index,
                      int64_t k)
{
    int64_t v;

    if (!index)
        return ml_sum_add_sum(ar, to, s, k);
    for (uint32_t j = 0; j < s->n; j++) {
        const ml_Expr *e = ml_try_binary(ar, ML_EXPR_MUL, s->t[j].index, index);

        if (!e || __builtin_mul_overflow(k, s->t[j].scale, &v) ||
            !ml_sum_add_expr(ar, to, e, v))
            return false;
    }
    return !__builtin_mul_overflow(k, s->base, &v) &&
           (v == 0 || ml_sum_add_expr(ar, to, index, v));
}

/* Moves multiples of the divisor that its first term shows from rest to quot: n*3 + 6 is
 * 3 times n + 2. x = q*d + r gives x//d = q + r//d and x%d = r%d for any q. */
static bool take_multiples(ml_Arith *ar, const ml_Expr *cb, ml_Sum *rest, ml_Sum *quot)
{
    const ml_Expr *f[ML_MAX_FACTORS];
    size_t n = 0;
    int64_t lit = 1;
    ml_Sum d, left;

    if (rest->n == 0 || !divisor_sum(ar, cb, &d) ||
        !ml_product_factors(d.t[0].index, f, &n, &lit) || lit != 1)
        return true;
    for (uint32_t j = 0; j < rest->n;) {
        ml_Term q;
        int64_t v;

        ml_sum_init(&left, rest->type);
        if (!term_over(ar, &rest->t[j], f, n, d.t[0].scale, &q, &v) || v == INT64_MIN ||
            !ml_sum_add_sum(ar, &left, rest, 1) || !add_times(ar, &left, &d, q.index, -v) ||
            left.n >= rest->n) {
            j++;
            continue;
        }
        if (!(q.index ? ml_sum_add_term(ar, quot, &q) : ml_sum_add_literal(quot, v, 1)))
            return false;
        *rest = left;
        if (left.t == left.inl)
            rest->t = rest->inl;
        j = 0;
    }
    return true;
}

static bool divide_symbolic(ml_Arith *ar, const ml_Expr *e, const ml_Expr *ca,
                            const ml_Expr *cb, int64_t k, ml_Sum *out)
{
    bool trunc = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_MOD;
    bool is_div = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_FLOORDIV;
    const ml_Expr *f[ML_MAX_FACTORS], *common[ML_MAX_FACTORS];
    size_t n = 0, nc = 0;
    int64_t lit = 1, g = 1;
    ml_Sum s, quot, rest;

    ml_sum_init(&s, e->type);
    if (!ml_sum_add_expr(ar, &s, ca, 1))
        return false;
    bool simple =
        ml_product_factors(cb, f, &n, &lit) &&
        (!trunc || (ml_sum_bound(ar, &s).lo >= 0 && ml_arith_bound(ar, cb).lo >= 0));
    ml_sum_init(&quot, e->type);
    ml_sum_init(&rest, e->type);
    rest.base = s.base;
    for (uint32_t j = 0; j < s.n; j++) {
        ml_Term q;
        int64_t v;
        bool ok;
        if (simple && term_over(ar, &s.t[j], f, n, lit, &q, &v))
            ok = q.index ? ml_sum_add_term(ar, &quot, &q) : ml_sum_add_literal(&quot, v, 1);
        else
            ok = ml_sum_add_term(ar, &rest, &s.t[j]);
        if (!ok)
            return false;
    }
    if (trunc && ml_sum_bound(ar, &rest).lo < 0) { /* parts of different signs */
        rest = s;
        if (s.t == s.inl)
            rest.t = rest.inl;
        quot.n = 0;
        quot.base = 0;
    }
    if (!trunc && !take_multiples(ar, cb, &rest, &quot))
        return false;
    if (is_div && !ml_sum_add_sum(ar, out, &quot, k))
        return false;
    if (rest.n == 0 && rest.base == 0)
        return true;
    /* 0 <= rest < divisor */
    ml_Sum d;
    ml_sum_init(&d, e->type);
    if (ml_sum_add_sum(ar, &d, &rest, 1) && ml_sum_add_expr(ar, &d, cb, -1) &&
        ml_sum_bound_facts(ar, &rest).lo >= 0 && ml_sum_bound_facts(ar, &d).hi < 0)
        return is_div || ml_sum_add_sum(ar, out, &rest, k);
    /* -divisor <= rest < 0 */
    ml_sum_init(&d, e->type);
    if (!trunc && ml_sum_bound_facts(ar, &rest).hi < 0 &&
        ml_sum_add_sum(ar, &d, &rest, 1) && ml_sum_add_expr(ar, &d, cb, 1) &&
        (ml_sum_bound_facts(ar, &d).lo >= 0 ||
         /* the divisor is not 0 */
         (rest.n == 0 && rest.base == -1 && ml_arith_bound(ar, cb).lo >= 0)))
        return is_div ? ml_sum_add_literal(out, -1, k) : ml_sum_add_sum(ar, out, &d, k);
    if (simple && cancel_common(ar, &rest, f, &n, &lit, common, &nc, &g)) {
        const ml_Expr *nb = n ? product(ar, f, n) : ml_int(ar->cx, e->type, lit);
        if (n && lit != 1)
            nb = ml_try_binary(ar, ML_EXPR_MUL, nb, ml_int(ar->cx, e->type, lit));
        const ml_Expr *na = ml_sum_emit(ar, &rest);
        const ml_Expr *r =
            na && nb ? ml_try_binary(ar, (ml_ExprKind)e->kind, na, nb) : NULL;
        for (size_t j = 0; r && !is_div && j < nc; j++)
            r = ml_try_binary(ar, ML_EXPR_MUL, r, common[j]);
        int64_t kk = k;
        if (!r || (!is_div && __builtin_mul_overflow(k, g, &kk)))
            return false;
        return ml_sum_add_expr(ar, out, r, kk);
    }
    const ml_Expr *na = ml_sum_emit(ar, &rest);
    const ml_Expr *r = na ? ml_try_binary(ar, (ml_ExprKind)e->kind, na, cb) : NULL;
    return r && ml_sum_add_atom(ar, out, r, k);
}

/* ---- conversion of expressions */

static bool add_product(ml_Arith *ar, ml_Sum *out, const ml_Expr *a, const ml_Expr *b,
                        int64_t k)
{
    const ml_Expr *f[ML_MAX_FACTORS];
    size_t n = 0;
    int64_t lit = 1;

    a = ml_canon(ar, a);
    b = ml_canon(ar, b);
    if (a->kind == ML_EXPR_INT || b->kind == ML_EXPR_INT) {
        const ml_Expr *c = a->kind == ML_EXPR_INT ? a : b;
        if (__builtin_mul_overflow(k, c->as.i, &k))
            return false;
        return k == 0 || ml_sum_add_expr(ar, out, c == a ? b : a, k);
    }
    if (!ml_product_factors(a, f, &n, &lit) || !ml_product_factors(b, f, &n, &lit)) {
        const ml_Expr *e = ml_try_binary(ar, ML_EXPR_MUL, a, b);
        return e && ml_sum_add_atom(ar, out, e, k);
    }
    const ml_Expr *e = product(ar, f, n);
    return e && !__builtin_mul_overflow(k, lit, &k) && ml_sum_add_atom(ar, out, e, k);
}

static bool add_division(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k)
{
    bool trunc = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_MOD;
    bool is_div = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_FLOORDIV;
    const ml_Expr *b = ml_canon(ar, e->args[1]);
    ml_Sum s;

    if (ml_is_int(b, 0))
        b = e->args[1]; /* never runs; keep what was written */
    if (b->kind == ML_EXPR_INT && b->as.i > 0) {
        ml_sum_init(&s, e->type);
        if (!ml_sum_add_expr(ar, &s, e->args[0], 1))
            return false;
        if (!trunc || ml_sum_bound(ar, &s).lo >= 0)
            return is_div ? ml_sum_divide(ar, &s, b->as.i, trunc, k, out)
                          : ml_sum_modulo(ar, &s, b->as.i, trunc, k, out);
    }
    const ml_Expr *a = ml_canon(ar, e->args[0]);
    if (b->kind != ML_EXPR_INT)
        return divide_symbolic(ar, e, a, b, k, out);
    const ml_Expr *r = ml_try_binary(ar, (ml_ExprKind)e->kind, a, b);
    return r && ml_sum_add_atom(ar, out, r, k);
}

/* A cast between index dtypes goes into the terms when nothing can be lost (widening
 * never loses; narrowing when every part provably fits). */
static bool add_cast(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k)
{
    const ml_Expr *x = e->args[0];
    ml_Dtype to = e->type;
    ml_Sum s;

    if (!ml_is_index(x)) {
        return ml_sum_add_atom(
            ar, out, ml_try_rebuild(ar, e, &(const ml_Expr *){ml_canon(ar, x)}), k);
    }
    ml_sum_init(&s, x->type);
    if (!ml_sum_add_expr(ar, &s, x, 1))
        return false;
    ml_Bound in = ml_bound_dtype(to);
    bool fits = to.bits >= x->type.bits || ml_int_ok(to, s.base);
    ml_Bound run = {s.base, s.base};
    for (uint32_t j = 0; j < s.n && fits && to.bits < x->type.bits; j++) {
        ml_Bound t = ml_arith_bound(ar, s.t[j].index), one = ml_term_bound(ar, &s.t[j]);
        one = ml_bound_binary(ML_EXPR_MUL, one, (ml_Bound){s.t[j].scale, s.t[j].scale});
        run = ml_bound_binary(ML_EXPR_ADD, run, one);
        fits = t.lo >= in.lo && t.hi <= in.hi && one.lo >= in.lo && one.hi <= in.hi &&
               run.lo >= in.lo && run.hi <= in.hi && ml_int_ok(to, s.t[j].scale) &&
               ml_int_ok(to, s.t[j].upper) && ml_int_ok(to, s.t[j].lower);
    }
    if (!fits) {
        const ml_Expr *c = ml_canon(ar, x);
        return ml_sum_add_atom(ar, out, ml_try_rebuild(ar, e, &c), k);
    }
    for (uint32_t j = 0; j < s.n; j++) {
        ml_Term t = s.t[j];
        const ml_Expr *c = ml_cast(ar->cx, to, t.index);
        if (__builtin_mul_overflow(t.scale, k, &t.scale))
            return false;
        if (t.index != x && c->kind == ML_EXPR_CAST && c != e)
            c = ml_canon(ar, c);
        t.index = c;
        if (ml_term_is_plain(&t) && c->kind != ML_EXPR_CAST) {
            if (!ml_sum_add_expr(ar, out, c, t.scale))
                return false;
        } else if (c->kind == ML_EXPR_INT || !ml_sum_add_term(ar, out, &t)) {
            return false;
        }
    }
    return ml_sum_add_literal(out, s.base, k);
}

bool ml_sum_add_expr(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k)
{
    int64_t nk;

    if (!ml_arith_work(ar))
        return false;
    switch (e->kind) {
    case ML_EXPR_INT: return ml_sum_add_literal(out, e->as.i, k);
    case ML_EXPR_VAR: {
        ml_VarInfo *i = ml_arith_var(ar, e->as.var);
        if (i && i->known && i->bound.lo == i->bound.hi)
            return ml_sum_add_literal(out, i->bound.lo, k);
        if (i && i->value)
            return ml_sum_add_expr(ar, out, i->value, k);
        return ml_sum_add_term(ar, out, &(ml_Term){e, 1, ML_NO_UPPER, k, false});
    }
    case ML_EXPR_ADD:
        return ml_sum_add_expr(ar, out, e->args[0], k) &&
               ml_sum_add_expr(ar, out, e->args[1], k);
    case ML_EXPR_SUB:
        return !__builtin_sub_overflow((int64_t)0, k, &nk) &&
               ml_sum_add_expr(ar, out, e->args[0], k) &&
               ml_sum_add_expr(ar, out, e->args[1], nk);
    case ML_EXPR_MUL:
        for (int side = 0; side < 2; side++)
            if (e->args[side]->kind == ML_EXPR_INT) {
                if (__builtin_mul_overflow(k, e->args[side]->as.i, &nk))
                    return false;
                return nk == 0 || ml_sum_add_expr(ar, out, e->args[1 - side], nk);
            }
        return add_product(ar, out, e->args[0], e->args[1], k);
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD:
    case ML_EXPR_DIV:
    case ML_EXPR_MOD: return add_division(ar, out, e, k);
    case ML_EXPR_CAST: return add_cast(ar, out, e, k);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
    case ML_EXPR_SELECT:
    case ML_EXPR_LOAD:
    case ML_EXPR_SHUFFLE:
    case ML_EXPR_LET:
    case ML_EXPR_CALL: {
        const ml_Expr *c = ml_canon(ar, e);
        if (c->kind != e->kind && c->kind <= ML_EXPR_FLOORMOD)
            return ml_sum_add_expr(ar, out, c, k);
        return ml_sum_add_atom(ar, out, c, k);
    }
    }
    return ml_sum_add_atom(ar, out, e, k);
}
