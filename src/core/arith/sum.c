/*
 * sum - linear forms: the normal form of index expressions, without expression nodes.
 *
 * A sum is base plus terms ((index % upper) / lower) * scale. Terms of one index stand
 * beside each other, descending lower; equal ones are merged. Indices are canonical
 * expressions. An operation that would leave int64 answers false and its output is then
 * thrown away. Source: ir-and-analysis 3.4.
 */
#include "core/arith/arith_impl.h"

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

static bool plain(const ml_Term *t)
{
    return t->lower == 1 && t->upper == ML_NO_UPPER;
}

enum { MAX_FACTORS = 16 };

/* The factors of a product in order, its literal factor apart; false: too many. */
static bool factors(const ml_Expr *e, const ml_Expr **out, size_t *n, int64_t *lit)
{
    if (e->kind == ML_EXPR_MUL)
        return factors(e->args[0], out, n, lit) && factors(e->args[1], out, n, lit);
    if (e->kind == ML_EXPR_INT)
        return !__builtin_mul_overflow(*lit, e->as.i, lit);
    if (*n == MAX_FACTORS)
        return false;
    out[(*n)++] = e;
    return true;
}

static bool remove_factor(const ml_Expr **v, size_t *n, const ml_Expr *f)
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
static bool same_index(const ml_Expr *a, const ml_Expr *b)
{
    const ml_Expr *fa[MAX_FACTORS], *fb[MAX_FACTORS];
    size_t na = 0, nb = 0;
    int64_t la = 1, lb = 1;

    if (a == b)
        return true;
    if (a->kind != ML_EXPR_MUL || b->kind != ML_EXPR_MUL || a->size != b->size ||
        a->bloom != b->bloom)
        return false;
    if (!factors(a, fa, &na, &la) || !factors(b, fb, &nb, &lb) || na != nb || la != lb)
        return false;
    for (size_t k = 0; k < na; k++)
        if (!remove_factor(fb, &nb, fa[k]))
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
        if (!same_index(o->index, t->index)) {
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

static bool add_literal(ml_Sum *s, int64_t v, int64_t k)
{
    int64_t b;

    return !__builtin_mul_overflow(v, k, &b) && !__builtin_add_overflow(s->base, b, &s->base);
}

/* index as a whole, which may be a literal after all */
static bool add_atom(ml_Arith *ar, ml_Sum *out, const ml_Expr *index, int64_t k)
{
    if (index->kind == ML_EXPR_INT)
        return add_literal(out, index->as.i, k);
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
        return add_literal(out, ml_floordiv_i64(v, lower), k);
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
        return add_literal(out, ml_floordiv_i64(rest.base, c), k);
    if (one_block(ml_sum_bound(ar, &rest), c, &q))
        return add_literal(out, q, k);
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
        return ml_sum_add_sum(ar, out, &a, k) && add_literal(out, q, k);
    if (split_digit(ar, &rest, c, &g, &a, &r))
        return ml_sum_divide(ar, &a, c / g, trunc, k, out);
    ml_Term t = rest.t[0];
    if (rest.n == 1 && rest.base == 0 && t.scale == 1 && (plain(&t) || t.trunc == trunc) &&
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
    ml_Sum rest, a, r;
    int64_t q, g, u, gk;

    if (c == 1)
        return true;
    ml_sum_init(&rest, s->type);
    rest.base = ml_floormod_i64(s->base, c);
    for (uint32_t j = 0; j < s->n; j++) {
        ml_Term t = s->t[j];
        if (t.scale <= -c || t.scale >= c)
            t.scale = ml_floormod_i64(t.scale, c);
        if (!ml_sum_add_term(ar, &rest, &t))
            return false;
    }
    if (trunc && ml_sum_bound(ar, &rest).lo < 0) {
        rest = *s;
        if (s->t == s->inl)
            rest.t = rest.inl;
    }
    if (rest.n == 0)
        return add_literal(out, ml_floormod_i64(rest.base, c), k);
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
        return ml_sum_modulo(ar, &a, c / g, trunc, gk, out) && ml_sum_add_sum(ar, out, &r, k);
    }
    ml_Term t = rest.t[0];
    if (rest.n == 1 && rest.base == 0 && t.scale == 1 && (plain(&t) || t.trunc == trunc) &&
        !__builtin_mul_overflow(t.lower, c, &u) && ml_int_ok(s->type, u) &&
        (t.upper == ML_NO_UPPER || t.upper % u == 0)) {
        t.scale = k;
        t.trunc = trunc;
        t.upper = u;
        t.index = reduce_index(ar, t.index, u, trunc);
        return ml_sum_add_term(ar, out, &t);
    }
    return add_over(ar, out, &rest, 1, c, k, trunc);
}

/* ---- symbolic divisors */

static const ml_Expr *product(ml_Arith *ar, const ml_Expr *const *v, size_t n)
{
    const ml_Expr *e = v[0];

    for (size_t k = 1; k < n; k++)
        e = ml_try_binary(ar, ML_EXPR_MUL, e, v[k]);
    return e;
}

/* t = d * (what is put into *q): d's literal and all its factors occur in the plain term. */
static bool term_over(ml_Arith *ar, const ml_Term *t, const ml_Expr *const *f, size_t n,
                      int64_t lit, ml_Term *q, int64_t *value)
{
    const ml_Expr *v[MAX_FACTORS];
    size_t m = 0;
    int64_t l = 1;

    if (!plain(t) || lit == 0 || lit == -1 || t->scale % lit != 0)
        return false;
    if (!factors(t->index, v, &m, &l) || l != 1)
        return false;
    for (size_t k = 0; k < n; k++)
        if (!remove_factor(v, &m, f[k]))
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
            const ml_Expr *v[MAX_FACTORS];
            size_t m = 0;
            int64_t l = 1;
            everywhere = plain(&s->t[j]) && factors(s->t[j].index, v, &m, &l) && l == 1 &&
                         m > 1 && remove_factor(v, &m, f[k]);
        }
        if (!everywhere) {
            k++;
            continue;
        }
        const ml_Expr *c = f[k];
        for (uint32_t j = 0; j < s->n; j++) {
            const ml_Expr *v[MAX_FACTORS];
            size_t m = 0;
            int64_t l = 1;
            (void)factors(s->t[j].index, v, &m, &l);
            (void)remove_factor(v, &m, c);
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

static bool divide_symbolic(ml_Arith *ar, const ml_Expr *e, const ml_Expr *ca,
                            const ml_Expr *cb, int64_t k, ml_Sum *out)
{
    bool trunc = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_MOD;
    bool is_div = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_FLOORDIV;
    const ml_Expr *f[MAX_FACTORS], *common[MAX_FACTORS];
    size_t n = 0, nc = 0;
    int64_t lit = 1, g = 1;
    ml_Sum s, quot, rest;

    ml_sum_init(&s, e->type);
    if (!ml_sum_add_expr(ar, &s, ca, 1))
        return false;
    bool simple = factors(cb, f, &n, &lit) &&
                  (!trunc || (ml_sum_bound(ar, &s).lo >= 0 && ml_arith_bound(ar, cb).lo >= 0));
    ml_sum_init(&quot, e->type);
    ml_sum_init(&rest, e->type);
    rest.base = s.base;
    for (uint32_t j = 0; j < s.n; j++) {
        ml_Term q;
        int64_t v;
        bool ok;
        if (simple && term_over(ar, &s.t[j], f, n, lit, &q, &v))
            ok = q.index ? ml_sum_add_term(ar, &quot, &q) : add_literal(&quot, v, 1);
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
    if (simple && cancel_common(ar, &rest, f, &n, &lit, common, &nc, &g)) {
        const ml_Expr *nb = n ? product(ar, f, n) : ml_int(ar->cx, e->type, lit);
        if (n && lit != 1)
            nb = ml_try_binary(ar, ML_EXPR_MUL, nb, ml_int(ar->cx, e->type, lit));
        const ml_Expr *na = ml_sum_emit(ar, &rest);
        const ml_Expr *r = na && nb ? ml_try_binary(ar, (ml_ExprKind)e->kind, na, nb) : NULL;
        for (size_t j = 0; r && !is_div && j < nc; j++)
            r = ml_try_binary(ar, ML_EXPR_MUL, r, common[j]);
        int64_t kk = k;
        if (!r || (!is_div && __builtin_mul_overflow(k, g, &kk)))
            return false;
        return ml_sum_add_expr(ar, out, r, kk);
    }
    const ml_Expr *na = ml_sum_emit(ar, &rest);
    const ml_Expr *r = na ? ml_try_binary(ar, (ml_ExprKind)e->kind, na, cb) : NULL;
    return r && add_atom(ar, out, r, k);
}

/* ---- conversion of expressions */

static bool add_product(ml_Arith *ar, ml_Sum *out, const ml_Expr *a, const ml_Expr *b,
                        int64_t k)
{
    const ml_Expr *f[MAX_FACTORS];
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
    if (!factors(a, f, &n, &lit) || !factors(b, f, &n, &lit)) {
        const ml_Expr *e = ml_try_binary(ar, ML_EXPR_MUL, a, b);
        return e && add_atom(ar, out, e, k);
    }
    const ml_Expr *e = product(ar, f, n);
    return e && !__builtin_mul_overflow(k, lit, &k) && add_atom(ar, out, e, k);
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
    return r && add_atom(ar, out, r, k);
}

/* A cast between index dtypes goes into the terms when nothing can be lost (widening
 * never loses; narrowing when every part provably fits). */
static bool add_cast(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k)
{
    const ml_Expr *x = e->args[0];
    ml_Dtype to = e->type;
    ml_Sum s;

    if (!ml_is_index(x)) {
        return add_atom(ar, out, ml_try_rebuild(ar, e, &(const ml_Expr *){ml_canon(ar, x)}), k);
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
        return add_atom(ar, out, ml_try_rebuild(ar, e, &c), k);
    }
    for (uint32_t j = 0; j < s.n; j++) {
        ml_Term t = s.t[j];
        const ml_Expr *c = ml_cast(ar->cx, to, t.index);
        if (__builtin_mul_overflow(t.scale, k, &t.scale))
            return false;
        if (t.index != x && c->kind == ML_EXPR_CAST && c != e)
            c = ml_canon(ar, c);
        t.index = c;
        if (plain(&t) && c->kind != ML_EXPR_CAST) {
            if (!ml_sum_add_expr(ar, out, c, t.scale))
                return false;
        } else if (c->kind == ML_EXPR_INT || !ml_sum_add_term(ar, out, &t)) {
            return false;
        }
    }
    return add_literal(out, s.base, k);
}

bool ml_sum_add_expr(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k)
{
    int64_t nk;

    if (!ml_arith_work(ar))
        return false;
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return add_literal(out, e->as.i, k);
    case ML_EXPR_VAR: {
        ml_VarInfo *i = ml_arith_var(ar, e->as.var);
        if (i && i->known && i->bound.lo == i->bound.hi)
            return add_literal(out, i->bound.lo, k);
        if (i && i->value)
            return ml_sum_add_expr(ar, out, i->value, k);
        return ml_sum_add_term(ar, out, &(ml_Term){e, 1, ML_NO_UPPER, k, false});
    }
    case ML_EXPR_ADD:
        return ml_sum_add_expr(ar, out, e->args[0], k) && ml_sum_add_expr(ar, out, e->args[1], k);
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
        return add_atom(ar, out, c, k);
    }
    case ML_EXPR_FLOAT:
    case ML_EXPR_STRING:
    case ML_EXPR_EQ:
    case ML_EXPR_NE:
    case ML_EXPR_LT:
    case ML_EXPR_LE:
    case ML_EXPR_GT:
    case ML_EXPR_GE:
    case ML_EXPR_AND:
    case ML_EXPR_OR:
    case ML_EXPR_NOT:
    case ML_EXPR_RAMP:
    case ML_EXPR_BROADCAST:
    case ML_EXPR_KINDS: break;
    }
    return add_atom(ar, out, e, k);
}

/* ---- back to expressions */

const ml_Expr *ml_term_emit(ml_Arith *ar, const ml_Term *t)
{
    const ml_Expr *e = t->index;

    if (t->upper != ML_NO_UPPER) {
        if (!ml_int_ok(e->type, t->upper))
            return NULL;
        e = ml_try_binary(ar, t->trunc ? ML_EXPR_MOD : ML_EXPR_FLOORMOD, e,
                          ml_int(ar->cx, e->type, t->upper));
    }
    if (e && t->lower != 1) {
        if (!ml_int_ok(e->type, t->lower))
            return NULL;
        e = ml_try_binary(ar, t->trunc ? ML_EXPR_DIV : ML_EXPR_FLOORDIV, e,
                          ml_int(ar->cx, e->type, t->lower));
    }
    return e;
}

static void remove_term(ml_Sum *s, uint32_t k)
{
    memmove(&s->t[k], &s->t[k + 1], (s->n - k - 1) * sizeof(s->t[0]));
    s->n--;
}

/* (z//6)*6 + ((z%6)//3)*3 -> (z//3)*3, until nothing merges. */
static bool recombine_adjacent(ml_Arith *ar, ml_Sum *s)
{
    for (uint32_t k = 0; k + 1 < s->n; k++) {
        ml_Term *hi = &s->t[k], *lo = &s->t[k + 1];
        if (!same_index(hi->index, lo->index) || hi->trunc != lo->trunc ||
            hi->lower != lo->upper || hi->lower % lo->lower != 0 || hi->lower == lo->lower)
            continue;
        int64_t m = hi->lower / lo->lower, want;
        if (__builtin_mul_overflow(lo->scale, m, &want) || want != hi->scale)
            continue;
        ml_Term t = {lo->index, lo->lower, hi->upper, lo->scale, lo->trunc};
        remove_term(s, k + 1);
        remove_term(s, k);
        if (plain(&t)) {
            if (!ml_sum_add_expr(ar, s, t.index, t.scale))
                return false;
        } else if (!ml_sum_add_term(ar, s, &t)) {
            return false;
        }
        k = UINT32_MAX; /* start again */
    }
    return true;
}

/* x*s - (x//c)*(c*s) -> (x%c)*s, where x is a sum all of whose terms are there. */
static bool recombine_remainder(ml_Arith *ar, ml_Sum *s)
{
    for (uint32_t k = 0; k < s->n; k++) {
        ml_Term t = s->t[k];
        ml_Sum x, r;

        if (t.lower == 1 || t.upper != ML_NO_UPPER || t.scale == INT64_MIN ||
            t.scale % t.lower != 0)
            continue;
        int64_t m = -(t.scale / t.lower);
        ml_sum_init(&x, s->type);
        ml_sum_init(&r, s->type);
        if (!ml_sum_add_expr(ar, &x, t.index, m) || x.n == 0 || !ml_sum_add_sum(ar, &r, s, 1) ||
            !ml_sum_add_sum(ar, &r, &x, -1) || r.n + x.n != s->n)
            continue;
        t.scale = -t.scale;
        ml_Term rem = {t.index, 1, t.lower, m, t.trunc};
        if (!ml_sum_add_term(ar, &r, &t) || !ml_sum_add_term(ar, &r, &rem))
            continue;
        s->n = 0;
        s->base = 0;
        if (!ml_sum_add_sum(ar, s, &r, 1))
            return false;
        k = UINT32_MAX;
    }
    return true;
}

bool ml_sum_recombine(ml_Arith *ar, ml_Sum *s)
{
    return s->n < 2 || (recombine_adjacent(ar, s) && recombine_remainder(ar, s));
}

static bool emitted_before(const ml_Term *a, const ml_Term *b)
{
    if (a->scale != b->scale)
        return a->scale > b->scale;
    if (a->lower != b->lower)
        return a->lower > b->lower;
    uint64_t ua = a->upper == ML_NO_UPPER ? UINT64_MAX : (uint64_t)a->upper;
    uint64_t ub = b->upper == ML_NO_UPPER ? UINT64_MAX : (uint64_t)b->upper;
    if (ua != ub)
        return ua > ub;
    return !a->trunc && b->trunc;
}

static const ml_Expr *scaled(ml_Arith *ar, const ml_Term *t, int64_t scale)
{
    const ml_Expr *e = ml_term_emit(ar, t);

    if (!e || !ml_int_ok(e->type, scale))
        return NULL;
    return scale == 1 ? e : ml_try_binary(ar, ML_EXPR_MUL, e, ml_int(ar->cx, e->type, scale));
}

const ml_Expr *ml_sum_emit(ml_Arith *ar, ml_Sum *s)
{
    ml_Ctx *cx = ar->cx;
    const ml_Expr *e = NULL;

    if (!ml_sum_recombine(ar, s) || !ml_int_ok(s->type, s->base))
        return NULL;
    for (uint32_t k = 1; k < s->n; k++) { /* stable insertion sort */
        ml_Term t = s->t[k];
        uint32_t j = k;
        for (; j > 0 && emitted_before(&t, &s->t[j - 1]); j--)
            s->t[j] = s->t[j - 1];
        s->t[j] = t;
    }
    uint32_t k = 0;
    for (; k < s->n && s->t[k].scale > 0; k++) {
        const ml_Expr *t = scaled(ar, &s->t[k], s->t[k].scale);
        e = t && e ? ml_try_binary(ar, ML_EXPR_ADD, e, t) : t;
        if (!e)
            return NULL;
    }
    if (s->base > 0) {
        const ml_Expr *b = ml_int(cx, s->type, s->base);
        e = e ? ml_try_binary(ar, ML_EXPR_ADD, e, b) : b;
    }
    for (; k < s->n; k++) {
        if (s->t[k].scale == INT64_MIN)
            return NULL;
        const ml_Expr *t = scaled(ar, &s->t[k], -s->t[k].scale);
        if (!e)
            e = ml_int(cx, s->type, 0);
        e = t ? ml_try_binary(ar, ML_EXPR_SUB, e, t) : NULL;
        if (!e)
            return NULL;
    }
    if (s->base < 0) {
        if (!e)
            return ml_int(cx, s->type, s->base);
        if (s->base == INT64_MIN || !ml_int_ok(s->type, -s->base))
            return NULL;
        e = ml_try_binary(ar, ML_EXPR_SUB, e, ml_int(cx, s->type, -s->base));
    }
    return e ? e : ml_int(cx, s->type, 0);
}
