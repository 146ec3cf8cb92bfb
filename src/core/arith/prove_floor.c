/*
 * prove_floor - a <= b where quotients by literals stand on both sides, as the extents of
 * tiles that do not divide: (n + 1)//2 <= (n + 3)//4*2.
 *
 * Each floor(x/d) is replaced by the end of (x - d + 1)/d <= floor(x/d) <= x/d that makes
 * a - b larger. What is left is linear with rational coefficients; a - b is an integer, so
 * anything below 1 shows a - b <= 0. Source: ir-and-analysis 3.6.
 */
#include "moonloop/core/arith/arith_impl.h"

enum { MAX_ATOMS = 16, MAX_DEPTH = 6 };

typedef struct Rational { /* den >= 1 */
    int64_t num, den;
} Rational;

typedef struct Atom {
    const ml_Expr *e;
    Rational coef;
} Atom;

typedef struct Upper { /* a - b <= sum of atoms + base */
    ml_Arith *ar;
    Atom v[MAX_ATOMS];
    size_t n;
    Rational base;
    bool floors; /* some quotient was replaced */
} Upper;

static bool reduced(int64_t num, int64_t den, Rational *out)
{
    int64_t g = ml_gcd(num, den);

    if (den < 1 || num == INT64_MIN)
        return false;
    *out = g > 1 ? (Rational){num / g, den / g} : (Rational){num, den};
    return true;
}

static bool add(Rational a, Rational b, Rational *out)
{
    int64_t x, y, d;

    return !__builtin_mul_overflow(a.num, b.den, &x) &&
           !__builtin_mul_overflow(b.num, a.den, &y) &&
           !__builtin_mul_overflow(a.den, b.den, &d) && !__builtin_add_overflow(x, y, &x) &&
           reduced(x, d, out);
}

static bool times(Rational a, int64_t k, Rational *out)
{
    int64_t x;

    return !__builtin_mul_overflow(a.num, k, &x) && reduced(x, a.den, out);
}

static bool over(Rational a, int64_t d, Rational *out)
{
    int64_t x;

    return !__builtin_mul_overflow(a.den, d, &x) && reduced(a.num, x, out);
}

static bool add_atom(Upper *u, const ml_Expr *e, Rational coef)
{
    size_t k = 0;

    while (k < u->n && !ml_same_index(u->v[k].e, e))
        k++;
    if (k == MAX_ATOMS)
        return false;
    if (k == u->n)
        u->v[u->n++] = (Atom){e, {0, 1}};
    return add(u->v[k].coef, coef, &u->v[k].coef);
}

static bool add_sum(Upper *u, const ml_Sum *s, Rational coef, int depth);

/* coef * (index // d), from above. */
static bool add_quotient(Upper *u, const ml_Expr *index, int64_t d, Rational coef,
                         int depth)
{
    Rational part, rest;
    ml_Sum in;

    u->floors = true;
    ml_sum_init(&in, index->type);
    if (!over(coef, d, &part) || !ml_sum_add_expr(u->ar, &in, index, 1))
        return false;
    if (coef.num < 0 && (!times(part, 1 - d, &rest) || !add(u->base, rest, &u->base)))
        return false;
    return add_sum(u, &in, part, depth + 1);
}

static bool add_sum(Upper *u, const ml_Sum *s, Rational coef, int depth)
{
    Rational r;

    if (depth > MAX_DEPTH || !times(coef, s->base, &r) || !add(u->base, r, &u->base))
        return false;
    for (uint32_t k = 0; k < s->n; k++) {
        const ml_Term *t = &s->t[k];

        if (!times(coef, t->scale, &r))
            return false;
        if (ml_term_is_plain(t)) {
            if (!add_atom(u, t->index, r))
                return false;
        } else if (t->upper == ML_NO_UPPER && !t->trunc) {
            if (!add_quotient(u, t->index, t->lower, r, depth))
                return false;
        } else {
            const ml_Bound b = ml_term_bound(u->ar, t);
            int64_t end = r.num > 0 ? b.hi : b.lo;

            if (end >= ML_INF || end <= -ML_INF || !times(r, end, &r) ||
                !add(u->base, r, &u->base))
                return false;
        }
    }
    return true;
}

/* What the atoms leave, by their bounds. */
static bool close_atoms(Upper *u)
{
    for (size_t k = 0; k < u->n; k++) {
        Rational r = u->v[k].coef;

        if (r.num == 0)
            continue;
        ml_Bound b = ml_arith_bound(u->ar, u->v[k].e);
        int64_t end = r.num > 0 ? b.hi : b.lo;

        if (end >= ML_INF || end <= -ML_INF || !times(r, end, &r) ||
            !add(u->base, r, &u->base))
            return false;
    }
    return true;
}

bool ml_sum_floors_below(ml_Arith *ar, const ml_Sum *s)
{
    Upper u = {.ar = ar, .base = {0, 1}};

    return add_sum(&u, s, (Rational){1, 1}, 0) && u.floors && close_atoms(&u) &&
           u.base.num < u.base.den;
}
