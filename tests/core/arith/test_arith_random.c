/*
 * test_arith_random - the analyzer against enumeration: random expressions over a few
 * variables with small ranges, evaluated at every point that the assumptions allow. Bounds
 * and modular sets must hold every value; canonical, rewritten and simplified forms must
 * have the same value and may not divide by zero where the original does not; what is
 * proved must be true. ARITH_SEED and ARITH_N replace the seed and the number of rounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "moonloop/core/arith/arith.h"

enum { N_VARS = 4 };

typedef struct World {
    ml_Ctx *cx;
    uint64_t rng;
    ml_Dtype type;
    const ml_Var *var[N_VARS];
    int64_t min[N_VARS], extent[N_VARS];
    int64_t at[N_VARS];
    const ml_Expr *lo[N_VARS], *size[N_VARS]; /* a symbolic range, or NULL */
    const ml_Expr *bound_to[N_VARS];          /* a value, or NULL */
    bool undefined; /* a divisor was 0, or a value left the dtype */
} World;

static uint64_t next(World *w)
{
    w->rng ^= w->rng << 13;
    w->rng ^= w->rng >> 7;
    w->rng ^= w->rng << 17;
    return w->rng;
}

static int64_t pick(World *w, int64_t n) /* [0, n) */
{
    return (int64_t)(next(w) % (uint64_t)n);
}

/* ---- values */

static int64_t value(World *w, const ml_Expr *e)
{
    int64_t a = 0, b = 0, r = 0;

    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_INT: return e->as.i;
    case ML_EXPR_VAR:
        for (int k = 0; k < N_VARS; k++)
            if (w->var[k] == e->as.var)
                return w->at[k];
        fail_msg("unknown variable");
        return 0;
    case ML_EXPR_NOT: return !value(w, e->args[0]);
    case ML_EXPR_CAST: {
        a = value(w, e->args[0]);
        return ml_dtype_wrap(e->type, a);
    }
    case ML_EXPR_SELECT:
        a = value(w, e->args[1]);
        b = value(w, e->args[2]);
        return value(w, e->args[0]) ? a : b;
    case ML_EXPR_CALL:
        if (ml_is_op(e, ML_OP_LIKELY))
            return value(w, e->args[0]);
        assert_true(ml_is_op(e, ML_OP_IF_THEN_ELSE));
        return value(w, e->args[value(w, e->args[0]) ? 1 : 2]);
    default: break;
    }
    assert_int_equal(e->n_args, 2);
    a = value(w, e->args[0]);
    b = value(w, e->args[1]);
    bool divides = e->kind == ML_EXPR_DIV || e->kind == ML_EXPR_MOD ||
                   e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD;
    if (divides && b == 0) {
        w->undefined = true;
        return 0;
    }
    switch ((ml_ExprKind)e->kind) {
    case ML_EXPR_ADD: w->undefined |= __builtin_add_overflow(a, b, &r); break;
    case ML_EXPR_SUB: w->undefined |= __builtin_sub_overflow(a, b, &r); break;
    case ML_EXPR_MUL: w->undefined |= __builtin_mul_overflow(a, b, &r); break;
    case ML_EXPR_DIV: r = a / b; break;
    case ML_EXPR_MOD: r = a % b; break;
    case ML_EXPR_FLOORDIV: r = ml_floordiv_i64(a, b); break;
    case ML_EXPR_FLOORMOD: r = ml_floormod_i64(a, b); break;
    case ML_EXPR_MIN: r = a < b ? a : b; break;
    case ML_EXPR_MAX: r = a > b ? a : b; break;
    case ML_EXPR_EQ: r = a == b; break;
    case ML_EXPR_NE: r = a != b; break;
    case ML_EXPR_LT: r = a < b; break;
    case ML_EXPR_LE: r = a <= b; break;
    case ML_EXPR_GT: r = a > b; break;
    case ML_EXPR_GE: r = a >= b; break;
    case ML_EXPR_AND: r = a && b; break;
    case ML_EXPR_OR: r = a || b; break;
    default: fail_msg("no value for %s", ml_expr_kind_name(e->kind));
    }
    if (r > INT32_MAX || r < INT32_MIN)
        w->undefined = true; /* keeps the evaluator itself in range */
    return r;
}

/* ---- random expressions */

static int64_t small_literal(World *w)
{
    static const int64_t few[] = {0, 1, 2, 3, 4, 5, 6, 8, 12, 16, -1, -2, -3, -4, 7, 24};

    return few[pick(w, (int64_t)ML_COUNT(few))];
}

static const ml_Expr *random_bool(World *w, int depth);

static const ml_Expr *random_int(World *w, int depth);

/* Two digits of one number, one above the other; the lower one's number may lack what its
 * cut takes off, or have less taken off. */
static const ml_Expr *digits(World *w, int depth)
{
    ml_Ctx *cx = w->cx;
    int64_t low = 1 + pick(w, 4), cut = low * (2 + pick(w, 5)), scale = pick(w, 7) - 3;
    const ml_Expr *x = random_int(w, depth - 2), *y = x;
    const ml_Expr *by = ml_int(cx, w->type, cut), *last = ml_int(cx, w->type, low);

    if (pick(w, 2)) {
        const ml_Expr *more = random_int(w, depth - 2);
        int64_t over = pick(w, 3);

        y = ml_add(cx, x, ml_mul(cx, more, ml_int(cx, w->type, pick(w, 3) * cut)));
        x = ml_add(cx, x, ml_mul(cx, more, ml_int(cx, w->type, (over - 1) * cut)));
    }
    if (pick(w, 2))
        y = ml_floormod(cx, y, ml_int(cx, w->type, cut * (1 + pick(w, 3))));
    const ml_Expr *hi = ml_floordiv(cx, x, by);
    const ml_Expr *lo = ml_floordiv(cx, ml_floormod(cx, y, by), last);

    return ml_add(cx, ml_mul(cx, hi, ml_int(cx, w->type, scale * (cut / low))),
                  ml_mul(cx, lo, ml_int(cx, w->type, scale)));
}

static const ml_Expr *random_int(World *w, int depth)
{
    ml_Ctx *cx = w->cx;
    int64_t what = pick(w, depth <= 0 ? 4 : 20);

    if (what == 17 && pick(w, 3) == 0)
        return digits(w, depth);
    if (what < 3)
        return ml_var(cx, w->var[pick(w, N_VARS)]);
    if (what < 4)
        return ml_int(cx, w->type, small_literal(w));
    if (what == 18 && pick(w, 3) == 0) {
        const ml_Expr *c = random_bool(w, depth - 2), *t = random_int(w, depth - 1);
        const ml_Expr *f = random_int(w, depth - 1);
        return pick(w, 2) ? ml_select(cx, c, t, f) : ml_if_then_else(cx, c, t, f);
    }
    if (what == 19 && pick(w, 4) == 0) {
        /* through the other index dtype */
        ml_Dtype other = w->type.bits == 32 ? ML_DT_I64 : ML_DT_I32, was = w->type;
        if (pick(w, 2))
            return ml_cast(cx, was, ml_cast(cx, other, random_int(w, depth - 1)));
        return ml_cast(cx, was,
                       ml_add(cx, ml_cast(cx, other, random_int(w, depth - 1)),
                              ml_mul(cx, ml_cast(cx, other, random_int(w, depth - 2)),
                                     ml_int(cx, other, small_literal(w)))));
    }
    static const ml_ExprKind ops[] = {
        ML_EXPR_ADD,      ML_EXPR_ADD,      ML_EXPR_ADD,      ML_EXPR_SUB,
        ML_EXPR_SUB,      ML_EXPR_MUL,      ML_EXPR_MUL,      ML_EXPR_MUL,
        ML_EXPR_MIN,      ML_EXPR_MAX,      ML_EXPR_FLOORDIV, ML_EXPR_FLOORDIV,
        ML_EXPR_FLOORMOD, ML_EXPR_FLOORMOD, ML_EXPR_DIV,      ML_EXPR_MOD};
    ml_ExprKind k = ops[pick(w, (int64_t)ML_COUNT(ops))];
    const ml_Expr *a = random_int(w, depth - 1), *b;
    bool divides = k == ML_EXPR_DIV || k == ML_EXPR_MOD || k == ML_EXPR_FLOORDIV ||
                   k == ML_EXPR_FLOORMOD;
    if ((divides || k == ML_EXPR_MUL) && pick(w, 5) != 0)
        b = ml_int(cx, w->type, small_literal(w));
    else
        b = random_int(w, depth - 1);
    if (divides && ml_is_int(b, 0))
        b = ml_int(cx, w->type, 4);
    return pick(w, 8) == 0 ? ml_raw_binary(cx, k, a, b) : ml_binary(cx, k, a, b);
}

static const ml_Expr *random_bool(World *w, int depth)
{
    ml_Ctx *cx = w->cx;
    int64_t what = pick(w, depth <= 1 ? 6 : 10);

    if (what < 6) {
        static const ml_ExprKind ops[] = {ML_EXPR_EQ, ML_EXPR_NE, ML_EXPR_LT,
                                          ML_EXPR_LE, ML_EXPR_GT, ML_EXPR_GE};
        const ml_Expr *a = random_int(w, depth - 1);
        const ml_Expr *b = pick(w, 2)
                               ? random_int(w, depth - 1)
                               : ml_int(cx, w->type, small_literal(w) * (1 + pick(w, 3)));
        return ml_binary(cx, ops[what], a, b);
    }
    if (what == 9)
        return pick(w, 4) ? ml_not(cx, random_bool(w, depth - 1))
                          : ml_likely(cx, random_bool(w, depth - 1));
    const ml_Expr *a = random_bool(w, depth - 1), *b = random_bool(w, depth - 1);
    return what < 8 ? ml_and(cx, a, b) : ml_or(cx, a, b);
}

/* ---- text, for messages */

static void show(World *w, const ml_Expr *e, char *out, size_t cap, size_t *n)
{
    if (*n + 64 >= cap)
        return;
    if (e->kind == ML_EXPR_INT)
        *n += (size_t)snprintf(out + *n, cap - *n, "%lld", (long long)e->as.i);
    else if (e->kind == ML_EXPR_VAR)
        *n += (size_t)snprintf(out + *n, cap - *n, "%s", e->as.var->hint);
    else {
        *n += (size_t)snprintf(out + *n, cap - *n, "%s%d(",
                               e->kind == ML_EXPR_CALL ? e->as.op->name
                                                       : ml_expr_kind_name(e->kind),
                               e->type.bits);
        for (uint16_t k = 0; k < e->n_args; k++) {
            if (k)
                *n += (size_t)snprintf(out + *n, cap - *n, ", ");
            show(w, e->args[k], out, cap, n);
        }
        *n += (size_t)snprintf(out + *n, cap - *n, ")");
    }
}

static const char *text(World *w, const ml_Expr *e)
{
    enum { CAP = 4000 };
    char *buf = ml_alloc(w->cx, CAP);
    size_t n = 0;

    buf[0] = 0;
    show(w, e, buf, CAP, &n);
    return buf;
}

/* ---- one round */

static bool first_point(World *w)
{
    for (int k = 0; k < N_VARS; k++)
        w->at[k] = w->min[k];
    return true;
}

static bool next_point(World *w)
{
    for (int k = 0; k < N_VARS; k++) {
        if (++w->at[k] < w->min[k] + w->extent[k])
            return true;
        w->at[k] = w->min[k];
    }
    return false;
}

/* Whether the point lies in the symbolic ranges and satisfies the bindings. */
static bool in_ranges(World *w)
{
    for (int k = 0; k < N_VARS; k++) {
        if (w->bound_to[k] && value(w, w->bound_to[k]) != w->at[k])
            return false;
        if (w->lo[k]) {
            int64_t d = w->at[k] - value(w, w->lo[k]);
            if (d < 0 || d >= value(w, w->size[k]))
                return false;
        }
    }
    return true;
}

static bool relation_holds(ml_Cmp c, int64_t a, int64_t b)
{
    switch (c) {
    case ML_CMP_UNKNOWN: return true;
    case ML_CMP_EQ: return a == b;
    case ML_CMP_LT: return a < b;
    case ML_CMP_LE: return a <= b;
    case ML_CMP_GT: return a > b;
    case ML_CMP_GE: return a >= b;
    case ML_CMP_NE: return a != b;
    }
    return false;
}

static void complain(World *w, uint64_t seed, const char *what, const ml_Expr *assumed,
                     const ml_Expr *e, const ml_Expr *got)
{
    print_message("seed %llu: %s\n", (unsigned long long)seed, what);
    for (int k = 0; k < N_VARS; k++)
        print_message("  %s in [%lld, +%lld) at %lld\n", w->var[k]->hint,
                      (long long)w->min[k], (long long)w->extent[k], (long long)w->at[k]);
    if (assumed)
        print_message("  assuming %s\n", text(w, assumed));
    print_message("  of  %s\n", text(w, e));
    if (got)
        print_message("  got %s\n", text(w, got));
    fail();
}

static void round_of(ml_Ctx *cx, uint64_t seed)
{
    static const char *const names[N_VARS] = {"i", "j", "k", "n"};
    World w = {.cx = cx, .rng = seed * 0x9e3779b97f4a7c15u + 0x1234567u};
    ml_Mark mark = ml_mark(cx);
    ml_Arith *ar = ml_arith_new(cx);
    const ml_Expr *assumed = NULL;

    for (int k = 0; k < 5; k++)
        (void)next(&w);
    w.type = pick(&w, 5) ? ML_DT_I32 : ML_DT_I64;
    for (int k = 0; k < N_VARS; k++) {
        w.var[k] = ml_var_new(cx, names[k], w.type);
        w.min[k] = pick(&w, 3) ? 0 : pick(&w, 9) - 5;
        w.extent[k] = 1 + pick(&w, k == 0 ? 9 : 5);
        /* a variable may also be bound by value, from below, or not at all */
        int64_t how = pick(&w, 12);
        int64_t first = w.rng & 1; /* which of the variables before it may occur */
        if (how == 0)
            continue;
        if (how == 1) {
            ml_arith_bind_lower(ar, w.var[k], w.min[k]);
        } else if (how <= 3 && k >= 2) {
            const ml_Expr *a = ml_var(cx, w.var[first]);
            const ml_Expr *c = ml_int(cx, w.type, 1 + pick(&w, 3));
            w.lo[k] = pick(&w, 2) ? ml_int(cx, w.type, w.min[k]) : ml_mul(cx, a, c);
            w.size[k] = pick(&w, 2) ? ml_add(cx, ml_var(cx, w.var[1 - first]), c)
                                    : ml_mul(cx, a, c);
            ml_arith_bind_range(ar, w.var[k], w.lo[k], w.size[k]);
        } else if (how == 4 && k >= 2) {
            w.bound_to[k] = ml_add(
                cx,
                ml_mul(cx, ml_var(cx, w.var[first]), ml_int(cx, w.type, small_literal(&w))),
                ml_int(cx, w.type, pick(&w, 4)));
            ml_arith_bind_value(ar, w.var[k], w.bound_to[k]);
        } else
            ml_arith_bind_range(ar, w.var[k], ml_int(cx, w.type, w.min[k]),
                                ml_int(cx, w.type, w.extent[k]));
    }
    ml_ArithMark scope = ml_arith_save(ar);
    bool is_bool = pick(&w, 3) == 0;
    const ml_Expr *e = is_bool ? random_bool(&w, 4) : random_int(&w, 4);
    const ml_Expr *before = NULL;
    if (pick(&w, 3) == 0) {
        before = ml_simplify(ar, e); /* fills the tables before facts change */
        assumed = random_bool(&w, 3);
        ml_arith_assume(ar, assumed);
    }
    ml_Bound bound = ml_arith_bound(ar, e);
    ml_Modular mod = ml_arith_modular(ar, e);
    const ml_Expr *form[3] = {ml_canonical(ar, e), ml_rewrite(ar, e), ml_simplify(ar, e)};
    bool proved = is_bool && ml_prove_symbolic(ar, e);
    const ml_Expr *other = is_bool ? NULL : random_int(&w, 2);
    ml_Cmp relation = is_bool ? ML_CMP_UNKNOWN : ml_compare(ar, e, other);
    bool equal = !is_bool && ml_prove_equal(ar, e, other);
    bool least = !is_bool && ml_prove_ge(ar, e, 2),
         below = !is_bool && ml_prove_lt(ar, e, 3);
    bool le = !is_bool && ml_prove_le_cases(ar, e, other);
    bool lt = !is_bool && ml_prove_lt_expr(ar, e, other);
    ml_ctx_clear_marks(cx);
    (void)first_point(&w);
    do {
        w.undefined = false;
        bool here = in_ranges(&w) && (!assumed || value(&w, assumed));
        if (w.undefined || !here)
            continue;
        int64_t v = value(&w, e);
        if (w.undefined)
            continue;
        if ((bound.lo != -ML_INF && v < bound.lo) ||
            (bound.hi != ML_INF && v > bound.hi && v > -ML_INF))
            complain(&w, seed, "bound excludes the value", assumed, e, NULL);
        if (!is_bool &&
            (mod.coeff ? ml_floormod_i64(v - mod.base, mod.coeff) != 0 : v != mod.base))
            complain(&w, seed, "modular set excludes the value", assumed, e, NULL);
        for (int f = 0; f < 3; f++) {
            static const char *const what[] = {"canonical", "rewrite", "simplify"};
            if (value(&w, form[f]) != v || w.undefined)
                complain(&w, seed, what[f], assumed, e, form[f]);
        }
        if (proved && !v)
            complain(&w, seed, "proved but false", assumed, e, NULL);
        if (is_bool)
            continue;
        if ((least && v < 2) || (below && v >= 3))
            complain(&w, seed, "proved a wrong bound", assumed, e, NULL);
        int64_t o = value(&w, other);
        if (!w.undefined && (!relation_holds(relation, v, o) || (equal && v != o) ||
                             (le && v > o) || (lt && v >= o)))
            complain(&w, seed, "wrong relation", assumed, e, other);
    } while (next_point(&w));
    if (assumed) {
        ml_arith_restore(ar, scope);
        if (ml_simplify(ar, e) != before)
            complain(&w, seed, "not restored", assumed, e, before);
    }
    assert_true(ml_dtype_eq(form[2]->type, e->type));
    ml_release(cx, mark);
}

static void random_expressions_keep_their_values(void **state)
{
    const char *s = getenv("ARITH_SEED"), *n = getenv("ARITH_N");
    uint64_t seed = s ? strtoull(s, NULL, 10) : 1;
    uint64_t rounds = n ? strtoull(n, NULL, 10) : 200000;
    ml_Ctx *cx = ml_ctx_new(0);

    (void)state;
    print_message("seeds %llu ... %llu\n", (unsigned long long)seed,
                  (unsigned long long)(seed + rounds - 1));
    for (uint64_t k = 0; k < rounds; k++)
        round_of(cx, seed + k);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_expressions_keep_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
