/*
 * sum_emit - linear forms back to expressions: digits are put together again, then terms
 * are written in the fixed order that decides printed results. Source: ir-and-analysis 3.4.
 */
#include "moonloop/core/arith/arith_impl.h"

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

/* out += k * e, a multiple of m more or less: (x % u) * s is x * s where m divides u * s. */
static bool add_for_remainder(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k,
                              int64_t m)
{
    ml_Sum s;

    ml_sum_init(&s, out->type);
    if (!ml_sum_add_expr(ar, &s, e, k))
        return false;
    for (uint32_t n = 0; n < s.n; n++) {
        ml_Term t = s.t[n];
        int64_t step;

        if (t.scale % m == 0)
            continue;
        if (t.lower == 1 && t.upper != ML_NO_UPPER && !t.trunc &&
            !__builtin_mul_overflow(t.upper, t.scale, &step) && step % m == 0) {
            if (!add_for_remainder(ar, out, t.index, t.scale, m))
                return false;
        } else if (!ml_sum_add_term(ar, out, &t)) {
            return false;
        }
    }
    return !__builtin_add_overflow(out->base, s.base % m, &out->base);
}

/* a and b are seen to differ by a multiple of m. */
static bool same_remainder(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b, int64_t m)
{
    ml_Sum d;

    if (!ml_dtype_eq(a->type, b->type))
        return false;
    ml_sum_init(&d, a->type);
    if (!add_for_remainder(ar, &d, a, 1, m) || !add_for_remainder(ar, &d, b, -1, m) ||
        d.base % m != 0)
        return false;
    for (uint32_t k = 0; k < d.n; k++)
        if (d.t[k].scale % m != 0)
            return false;
    return true;
}

/* lo is the digit below hi: its index may be one with the same remainder, a shorter one. */
static bool is_next_digit(ml_Arith *ar, const ml_Term *hi, const ml_Term *lo)
{
    int64_t want;

    return hi->trunc == lo->trunc && hi->lower == lo->upper && hi->lower != lo->lower &&
           hi->lower % lo->lower == 0 &&
           !__builtin_mul_overflow(lo->scale, hi->lower / lo->lower, &want) &&
           want == hi->scale &&
           (ml_same_index(hi->index, lo->index) ||
            (!hi->trunc && same_remainder(ar, hi->index, lo->index, hi->lower)));
}

static bool find_digits(ml_Arith *ar, const ml_Sum *s, uint32_t *hi, uint32_t *lo)
{
    for (*hi = 0; *hi < s->n; ++*hi)
        for (*lo = 0; *lo < s->n; ++*lo)
            if (*hi != *lo && is_next_digit(ar, &s->t[*hi], &s->t[*lo]))
                return true;
    return false;
}

/* (z//6)*6 + ((z%6)//3)*3 -> (z//3)*3, until nothing merges. */
static bool recombine_adjacent(ml_Arith *ar, ml_Sum *s)
{
    uint32_t hi, lo;

    while (find_digits(ar, s, &hi, &lo)) {
        const ml_Term *h = &s->t[hi], *l = &s->t[lo];
        ml_Term t = {h->index, l->lower, h->upper, l->scale, l->trunc};

        remove_term(s, hi > lo ? hi : lo);
        remove_term(s, hi > lo ? lo : hi);
        if (ml_term_is_plain(&t)) {
            if (!ml_sum_add_expr(ar, s, t.index, t.scale))
                return false;
        } else if (!ml_sum_add_term(ar, s, &t)) {
            return false;
        }
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
        if (!ml_sum_add_expr(ar, &x, t.index, m) || x.n == 0 ||
            !ml_sum_add_sum(ar, &r, s, 1) || !ml_sum_add_sum(ar, &r, &x, -1) ||
            r.n + x.n != s->n)
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
    return scale == 1 ? e
                      : ml_try_binary(ar, ML_EXPR_MUL, e, ml_int(ar->cx, e->type, scale));
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
