/*
 * sum - linear forms: the normal form of index expressions, without expression nodes.
 *
 * A sum is base plus terms ((index % upper) / lower) * scale. Terms of one index stand
 * beside each other, descending lower; equal ones are merged. Indices are canonical
 * expressions. An operation that would leave int64 answers false and its output is then
 * thrown away. Source: ir-and-analysis 3.4.
 */
#include "moonloop/core/arith/arith_impl.h"

void ml_sum_init(ml_Sum *s, ml_Dtype type)
{
    s->t = s->inl;
    s->n = 0;
    s->cap = ML_SUM_INLINE;
    s->base = 0;
    s->type = type;
}

bool ml_int_ok(ml_Dtype t, int64_t v)
{
    return ml_dtype_fits(t, v);
}

/* The factors of a product in order, its literal factor apart; false: too many. */
bool ml_product_factors(const ml_Expr *e, const ml_Expr **out, size_t *n, int64_t *lit)
{
    if (e->kind == ML_EXPR_MUL)
        return ml_product_factors(e->args[0], out, n, lit) &&
               ml_product_factors(e->args[1], out, n, lit);
    if (e->kind == ML_EXPR_INT)
        return !__builtin_mul_overflow(*lit, e->as.i, lit);
    if (*n == ML_MAX_FACTORS)
        return false;
    out[(*n)++] = e;
    return true;
}

bool ml_product_remove(const ml_Expr **v, size_t *n, const ml_Expr *f)
{
    for (size_t k = 0; k < *n; k++)
        if (v[k] == f) {
            memmove(&v[k], &v[k + 1], (*n - k - 1) * sizeof(v[0]));
            (*n)--;
            return true;
        }
    return false;
}

/* The same expression, or the same product in another order. */
bool ml_same_index(const ml_Expr *a, const ml_Expr *b)
{
    const ml_Expr *fa[ML_MAX_FACTORS], *fb[ML_MAX_FACTORS];
    size_t na = 0, nb = 0;
    int64_t la = 1, lb = 1;

    if (a == b)
        return true;
    if (a->kind != ML_EXPR_MUL || b->kind != ML_EXPR_MUL || a->size != b->size ||
        a->bloom != b->bloom)
        return false;
    if (!ml_product_factors(a, fa, &na, &la) || !ml_product_factors(b, fb, &nb, &lb) ||
        na != nb || la != lb)
        return false;
    for (size_t k = 0; k < na; k++)
        if (!ml_product_remove(fb, &nb, fa[k]))
            return false;
    return true;
}

static void reserve(ml_Arith *ar, ml_Sum *s)
{
    if (s->n < s->cap)
        return;
    ml_Term *t = ML_ARRAY(ar->cx, ml_Term, (size_t)s->cap * 2);
    memcpy(t, s->t, s->n * sizeof(*t));
    s->t = t;
    s->cap *= 2;
}

bool ml_sum_add_term(ml_Arith *ar, ml_Sum *s, const ml_Term *t)
{
    uint32_t at = s->n;
    bool met = false;

    if (t->scale == 0)
        return true;
    for (uint32_t k = 0; k < s->n; k++) {
        ml_Term *o = &s->t[k];
        if (!ml_same_index(o->index, t->index)) {
            if (met) {
                at = k;
                break;
            }
            continue;
        }
        met = true;
        if (o->lower == t->lower && o->upper == t->upper && o->trunc == t->trunc) {
            if (__builtin_add_overflow(o->scale, t->scale, &o->scale))
                return false;
            if (o->scale == 0) {
                memmove(o, o + 1, (s->n - k - 1) * sizeof(*o));
                s->n--;
            }
            return true;
        }
        if (o->lower < t->lower) {
            at = k;
            break;
        }
    }
    reserve(ar, s);
    memmove(&s->t[at + 1], &s->t[at], (s->n - at) * sizeof(*t));
    s->t[at] = *t;
    s->n++;
    return true;
}

bool ml_sum_add_sum(ml_Arith *ar, ml_Sum *out, const ml_Sum *s, int64_t k)
{
    int64_t b;

    for (uint32_t j = 0; j < s->n; j++) {
        ml_Term t = s->t[j];
        if (__builtin_mul_overflow(t.scale, k, &t.scale) || !ml_sum_add_term(ar, out, &t))
            return false;
    }
    return !__builtin_mul_overflow(s->base, k, &b) &&
           !__builtin_add_overflow(out->base, b, &out->base);
}

bool ml_sum_add_literal(ml_Sum *s, int64_t v, int64_t k)
{
    int64_t b;

    return !__builtin_mul_overflow(v, k, &b) &&
           !__builtin_add_overflow(s->base, b, &s->base);
}

/* index as a whole, which may be a literal after all */
bool ml_sum_add_atom(ml_Arith *ar, ml_Sum *out, const ml_Expr *index, int64_t k)
{
    if (index->kind == ML_EXPR_INT)
        return ml_sum_add_literal(out, index->as.i, k);
    return ml_sum_add_term(ar, out, &(ml_Term){index, 1, ML_NO_UPPER, k, false});
}

/* ---- bounds and residues */

ml_Bound ml_term_bound(ml_Arith *ar, const ml_Term *t)
{
    ml_Bound b = ml_arith_bound(ar, t->index);

    if (t->upper != ML_NO_UPPER)
        b = ml_bound_floormod(b, ml_arith_modular(ar, t->index), t->upper);
    if (t->lower != 1)
        b = ml_bound_binary(ML_EXPR_FLOORDIV, b, (ml_Bound){t->lower, t->lower});
    return b;
}

ml_Bound ml_sum_bound(ml_Arith *ar, const ml_Sum *s)
{
    ml_Bound r = {s->base, s->base};

    for (uint32_t k = 0; k < s->n; k++)
        r = ml_bound_binary(ML_EXPR_ADD, r,
                            ml_bound_binary(ML_EXPR_MUL, ml_term_bound(ar, &s->t[k]),
                                            (ml_Bound){s->t[k].scale, s->t[k].scale}));
    return r;
}

ml_Modular ml_sum_modular(ml_Arith *ar, const ml_Sum *s)
{
    ml_Modular r = {0, s->base};

    for (uint32_t k = 0; k < s->n; k++) {
        const ml_Term *t = &s->t[k];
        ml_Modular m = ml_arith_modular(ar, t->index);
        if (t->upper != ML_NO_UPPER)
            m = ml_modular_binary(ML_EXPR_FLOORMOD, m, (ml_Modular){0, t->upper}, false);
        if (t->lower != 1)
            m = ml_modular_binary(ML_EXPR_FLOORDIV, m, (ml_Modular){0, t->lower}, false);
        m = ml_modular_binary(ML_EXPR_MUL, m, (ml_Modular){0, t->scale}, false);
        r = ml_modular_binary(ML_EXPR_ADD, r, m, false);
    }
    return r;
}

static bool within(ml_Bound b, int64_t c) /* in [0, c) */
{
    return b.lo >= 0 && b.hi < c;
}

/* The one quotient by c of everything in b; false: several. */
static bool one_block(ml_Bound b, int64_t c, int64_t *q)
{
    if (b.lo <= -ML_INF || b.hi >= ML_INF)
        return false;
    *q = ml_floordiv_i64(b.lo, c);
    return *q == ml_floordiv_i64(b.hi, c);
}

/* ---- division and remainder by a positive literal */

/*
 * s = g*a + r with g dividing c, 0 <= r < g provably and g as large as possible: then
 * s // c = a // (c/g) and s % c = (a % (c/g))*g + r.
 */
static bool split_digit(ml_Arith *ar, const ml_Sum *s, int64_t c, int64_t *g, ml_Sum *a,
                        ml_Sum *r)
{
    int64_t below = c;

    for (uint32_t tries = 0; tries < 8; tries++) {
        int64_t best = 1;
        for (uint32_t k = 0; k < s->n; k++) {
            int64_t d = ml_gcd(s->t[k].scale, c);
            if (d > best && d < below)
                best = d;
        }
        if (best == 1)
            return false;
        below = best;
        ml_sum_init(a, s->type);
        ml_sum_init(r, s->type);
        a->base = ml_floordiv_i64(s->base, best);
        r->base = ml_floormod_i64(s->base, best);
        bool ok = true;
        for (uint32_t k = 0; k < s->n && ok; k++) {
            ml_Term t = s->t[k];
            if (t.scale % best == 0) {
                t.scale /= best;
                ok = ml_sum_add_term(ar, a, &t);
            } else {
                ok = ml_sum_add_term(ar, r, &t);
            }
        }
        if (ok && within(ml_sum_bound(ar, r), best)) {
            *g = best;
            return true;
        }
    }
    return false;
}

/* A new term over the expression of s. */
static bool add_over(ml_Arith *ar, ml_Sum *out, ml_Sum *s, int64_t lower, int64_t upper,
                     int64_t k, bool trunc)
{
    const ml_Expr *index = ml_sum_emit(ar, s);

    if (!index || !ml_int_ok(s->type, lower) || !ml_int_ok(s->type, upper))
        return false;
    if (index->kind == ML_EXPR_INT) {
        int64_t v = index->as.i;
        if (upper != ML_NO_UPPER)
            v = ml_floormod_i64(v, upper);
        return ml_sum_add_literal(out, ml_floordiv_i64(v, lower), k);
    }
    return ml_sum_add_term(ar, out, &(ml_Term){index, lower, upper, k, trunc});
}

bool ml_sum_divide(ml_Arith *ar, ml_Sum *s, int64_t c, bool trunc, int64_t k, ml_Sum *out)
{
    ml_Sum div, rest, a, r;
    int64_t q, g, lower;

    if (c == 1)
        return ml_sum_add_sum(ar, out, s, k);
    ml_sum_init(&div, s->type);
    ml_sum_init(&rest, s->type);
    for (uint32_t j = 0; j < s->n; j++)
        if (!ml_sum_add_term(ar, s->t[j].scale % c == 0 ? &div : &rest, &s->t[j]))
            return false;
    if (s->base % c == 0 || rest.n == 0) {
        div.base = ml_floordiv_i64(s->base, c);
        rest.base = ml_floormod_i64(s->base, c);
    } else {
        rest.base = s->base;
    }
    for (uint32_t j = 0; j < div.n; j++)
        div.t[j].scale /= c;
    if (trunc && (ml_sum_bound(ar, &rest).lo < 0 || ml_sum_bound(ar, &div).lo < 0)) {
        rest = *s;
        if (s->t == s->inl)
            rest.t = rest.inl;
        div.n = 0;
        div.base = 0;
    }
    if (!ml_sum_add_sum(ar, out, &div, k))
        return false;
    if (rest.n == 0)
        return ml_sum_add_literal(out, ml_floordiv_i64(rest.base, c), k);
    if (one_block(ml_sum_bound(ar, &rest), c, &q))
        return ml_sum_add_literal(out, q, k);
    /* scales beyond c: the residue may have one quotient only */
    ml_sum_init(&a, s->type);
    ml_sum_init(&r, s->type);
    a.base = ml_floordiv_i64(rest.base, c);
    r.base = ml_floormod_i64(rest.base, c);
    bool ok = !trunc;
    for (uint32_t j = 0; j < rest.n && ok; j++) {
        ml_Term t = rest.t[j], u = t;
        t.scale = ml_floordiv_i64(t.scale, c);
        u.scale = ml_floormod_i64(u.scale, c);
        ok = ml_sum_add_term(ar, &a, &t) && ml_sum_add_term(ar, &r, &u);
    }
    if (ok && one_block(ml_sum_bound(ar, &r), c, &q))
        return ml_sum_add_sum(ar, out, &a, k) && ml_sum_add_literal(out, q, k);
    if (split_digit(ar, &rest, c, &g, &a, &r))
        return ml_sum_divide(ar, &a, c / g, trunc, k, out);
    ml_Term t = rest.t[0];
    if (rest.n == 1 && rest.base == 0 && t.scale == 1 &&
        (ml_term_is_plain(&t) || t.trunc == trunc) &&
        !__builtin_mul_overflow(t.lower, c, &lower) && ml_int_ok(s->type, lower)) {
        t.scale = k;
        t.trunc = trunc;
        if (t.upper != ML_NO_UPPER && t.upper % lower != 0) {
            /* the remainder goes into the index */
            ml_Term in = {t.index, 1, t.upper, 1, trunc};
            t.index = ml_term_emit(ar, &in);
            t.upper = ML_NO_UPPER;
            if (!t.index)
                return false;
        }
        t.lower = lower;
        return ml_sum_add_term(ar, out, &t);
    }
    return add_over(ar, out, &rest, c, ML_NO_UPPER, k, trunc);
}

/* A shorter index with the same remainder by `upper`. */
static const ml_Expr *reduce_index(ml_Arith *ar, const ml_Expr *index, int64_t upper,
                                   bool trunc)
{
    ml_Sum s, r;

    if (index->kind == ML_EXPR_VAR)
        return index;
    ml_sum_init(&s, index->type);
    ml_sum_init(&r, index->type);
    if (!ml_sum_add_expr(ar, &s, index, 1))
        return index;
    for (uint32_t k = 0; k < s.n; k++)
        if (s.t[k].scale % upper != 0 && !ml_sum_add_term(ar, &r, &s.t[k]))
            return index;
    r.base = ml_floormod_i64(s.base, upper);
    if ((r.n == s.n && r.base == s.base) || r.n == 0 ||
        (trunc && ml_sum_bound(ar, &r).lo < 0))
        return index;
    const ml_Expr *e = ml_sum_emit(ar, &r);
    return e && e->kind != ML_EXPR_INT ? e : index;
}

bool ml_sum_modulo(ml_Arith *ar, ml_Sum *s, int64_t c, bool trunc, int64_t k, ml_Sum *out)
{
    ml_Sum rest, whole, a, r; /* whole: only the terms that c divides are gone */
    int64_t q, g, u, gk;

    if (c == 1)
        return true;
    ml_sum_init(&rest, s->type);
    ml_sum_init(&whole, s->type);
    whole.base = rest.base = ml_floormod_i64(s->base, c);
    for (uint32_t j = 0; j < s->n; j++) {
        ml_Term t = s->t[j];
        if (t.scale % c == 0)
            continue;
        if (!ml_sum_add_term(ar, &whole, &t))
            return false;
        if (t.scale <= -c || t.scale >= c)
            t.scale = ml_floormod_i64(t.scale, c);
        if (!ml_sum_add_term(ar, &rest, &t))
            return false;
    }
    ml_Bound is = ml_sum_bound(ar, &rest), in = ml_bound_dtype(s->type);
    /* a large modulus could bring in an overflow; a dividend below 0 another remainder */
    if ((trunc && is.lo < 0) || (c > 65536 && (is.lo < in.lo || is.hi > in.hi))) {
        rest = *s;
        if (s->t == s->inl)
            rest.t = rest.inl;
    }
    if (rest.n == 0)
        return ml_sum_add_literal(out, ml_floormod_i64(rest.base, c), k);
    if (one_block(ml_sum_bound(ar, &rest), c, &q)) {
        int64_t off;
        if (__builtin_mul_overflow(q, c, &off) ||
            __builtin_sub_overflow(rest.base, off, &rest.base))
            return false;
        return ml_sum_add_sum(ar, out, &rest, k);
    }
    if (split_digit(ar, &rest, c, &g, &a, &r)) {
        if (__builtin_mul_overflow(k, g, &gk))
            return false;
        return ml_sum_modulo(ar, &a, c / g, trunc, gk, out) &&
               ml_sum_add_sum(ar, out, &r, k);
    }
    ml_Term t = rest.t[0];
    if (rest.n == 1 && rest.base == 0 && t.scale == 1 &&
        (ml_term_is_plain(&t) || t.trunc == trunc) &&
        !__builtin_mul_overflow(t.lower, c, &u) && ml_int_ok(s->type, u) &&
        (t.upper == ML_NO_UPPER || t.upper % u == 0)) {
        t.scale = k;
        t.trunc = trunc;
        t.upper = u;
        t.index = reduce_index(ar, t.index, u, trunc);
        return ml_sum_add_term(ar, out, &t);
    }
    /* (x*5 + y) % 3 stays as it is: with (x*2 + y) % 3 nobody could see that it and
     * (x*5 + y) // 3 are the digits of one number. */
    return add_over(ar, out, rest.n > 1 && !trunc ? &whole : &rest, 1, c, k, trunc);
}
