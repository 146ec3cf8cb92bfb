/*
 * test_interp_ops - arithmetic of the interpreter: random expressions against a direct
 * evaluator that shares no code with it, every operator of the table, narrow floats.
 */
#include "build.h"

#include <math.h>
#include <stdlib.h>

static const ml_Dtype types[] = {
    {ML_INT, 8, 1},    {ML_INT, 16, 1},    {ML_INT, 32, 1},   {ML_INT, 64, 1},
    {ML_UINT, 8, 1},   {ML_UINT, 32, 1},   {ML_UINT, 64, 1},  {ML_INT, 4, 1},
    {ML_FLOAT, 32, 1}, {ML_FLOAT, 64, 1},  {ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1},
    {ML_BOOL, 1, 1},   {ML_F8_E5M2, 8, 1},
};
enum { N_TYPES = ML_COUNT(types), N_LEAVES = 4 };

/* ---------------------------------------------------------------- the direct evaluator */

typedef struct Val {
    __extension__ __int128 i;
    double f;
} Val;

typedef struct World {
    const ml_Buffer *buf[N_TYPES];
    ml_Tensor *data[N_TYPES];
    bool zero; /* a division by zero was met */
} World;

__extension__ typedef __int128 wide;

static wide reduce(ml_Dtype t, wide v)
{
    wide m = (wide)1 << t.bits;

    if (t.code == ML_BOOL)
        return v != 0;
    v %= m;
    if (v < 0)
        v += m;
    if (t.code == ML_INT && v >= m / 2)
        v -= m;
    return v;
}

static double narrow(ml_Dtype t, double v)
{
    volatile float f = (float)v;

    if (t.code == ML_FLOAT && t.bits == 64)
        return v;
    return t.code == ML_FLOAT && t.bits == 32 ? (double)f : ml_dtype_round(t, v);
}

static wide floor_div(wide a, wide b)
{
    wide q = a / b;

    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static Val eval(World *w, const ml_Expr *e);

static Val eval_binary(World *w, const ml_Expr *e)
{
    Val a = eval(w, e->args[0]), b = eval(w, e->args[1]), r = {0};
    ml_Dtype t = e->type;
    bool flt = ml_dtype_is_float(e->args[0]->type);

    if (!flt && e->kind >= ML_EXPR_DIV && e->kind <= ML_EXPR_FLOORMOD && b.i == 0) {
        w->zero = true;
        return r;
    }
    switch (e->kind) {
    case ML_EXPR_ADD:
        r.i = a.i + b.i;
        r.f = a.f + b.f;
        break;
    case ML_EXPR_SUB:
        r.i = a.i - b.i;
        r.f = a.f - b.f;
        break;
    case ML_EXPR_MUL: /* the low bits decide */
        r.i = flt ? 0 : (wide)((uint64_t)a.i * (uint64_t)b.i);
        r.f = a.f * b.f;
        break;
    case ML_EXPR_DIV:
        r.i = flt ? 0 : a.i / b.i;
        r.f = a.f / b.f;
        break;
    case ML_EXPR_MOD: r.i = a.i % b.i; break;
    case ML_EXPR_FLOORDIV: r.i = floor_div(a.i, b.i); break;
    case ML_EXPR_FLOORMOD: r.i = a.i - floor_div(a.i, b.i) * b.i; break;
    case ML_EXPR_MIN:
        r.i = a.i < b.i ? a.i : b.i;
        r.f = a.f < b.f ? a.f : b.f;
        break;
    case ML_EXPR_MAX:
        r.i = a.i > b.i ? a.i : b.i;
        r.f = a.f > b.f ? a.f : b.f;
        break;
    case ML_EXPR_EQ: r.i = flt ? a.f == b.f : a.i == b.i; break;
    case ML_EXPR_NE: r.i = flt ? a.f != b.f : a.i != b.i; break;
    case ML_EXPR_LT: r.i = flt ? a.f < b.f : a.i < b.i; break;
    case ML_EXPR_LE: r.i = flt ? a.f <= b.f : a.i <= b.i; break;
    case ML_EXPR_GT: r.i = flt ? a.f > b.f : a.i > b.i; break;
    case ML_EXPR_GE: r.i = flt ? a.f >= b.f : a.i >= b.i; break;
    case ML_EXPR_AND: r.i = a.i && b.i; break;
    case ML_EXPR_OR: r.i = a.i || b.i; break;
    default: fail_msg("kind %d", e->kind);
    }
    r.i = flt && !ml_dtype_is_bool(t) ? 0 : reduce(t, r.i);
    if (ml_dtype_is_float(t))
        r.f = narrow(t, r.f);
    return r;
}

static Val eval_cast(ml_Dtype from, ml_Dtype to, Val a)
{
    Val r = {0};

    if (ml_dtype_is_float(to)) {
        if (ml_dtype_is_float(from))
            r.f = narrow(to, a.f);
        else if (to.code == ML_FLOAT && to.bits == 32)
            r.f = (double)(float)a.i;
        else
            r.f = narrow(to, (double)a.i);
    } else if (!ml_dtype_is_float(from)) {
        r.i = reduce(to, a.i);
    } else if (to.code == ML_BOOL) {
        r.i = a.f != 0.0;
    } else if (!isnan(a.f)) {
        wide top = ((wide)1 << (to.bits - (to.code == ML_INT))) - 1;
        wide low = to.code == ML_INT ? -top - 1 : 0;
        r.i = a.f >= 0x1p100 ? top : a.f <= -0x1p100 ? low : (wide)a.f;
        r.i = r.i > top ? top : r.i < low ? low : r.i;
    }
    return r;
}

static Val eval(World *w, const ml_Expr *e)
{
    Val r = {0}, a;

    switch (e->kind) {
    case ML_EXPR_INT:
        r.i = e->type.code == ML_UINT ? (wide)(uint64_t)e->as.i : e->as.i;
        return r;
    case ML_EXPR_FLOAT: r.f = narrow(e->type, e->as.f); return r;
    case ML_EXPR_LOAD:
        for (size_t k = 0; k < N_TYPES; k++)
            if (w->buf[k] == e->as.buffer) {
                int64_t v = ml_tensor_get_int(w->data[k], e->args[0]->as.i);
                r.f = ml_dtype_is_float(e->type)
                          ? ml_tensor_get(w->data[k], e->args[0]->as.i)
                          : 0;
                r.i = ml_dtype_is_float(e->type) ? 0
                      : e->type.code == ML_UINT  ? (wide)(uint64_t)v
                                                 : v;
            }
        return r;
    case ML_EXPR_NOT: r.i = !eval(w, e->args[0]).i; return r;
    case ML_EXPR_CAST:
        a = eval(w, e->args[0]);
        return eval_cast(e->args[0]->type, e->type, a);
    case ML_EXPR_SELECT: {
        Val t = eval(w, e->args[1]), f = eval(w, e->args[2]);
        return eval(w, e->args[0]).i ? t : f;
    }
    case ML_EXPR_CALL: /* if_then_else: one arm only */
        return eval(w, eval(w, e->args[0]).i ? e->args[1] : e->args[2]);
    default: return eval_binary(w, e);
    }
}

/* ---------------------------------------------------------------- random expressions */

static const ml_Expr *random_expr(Fix *x, World *w, ml_Random *r, size_t t, int depth)
{
    ml_Dtype ty = types[t];
    bool flt = ml_dtype_is_float(ty), is_bool = ml_dtype_is_bool(ty);
    uint64_t pick = ml_random_below(r, 12);
    const ml_Expr *a, *b, *c;

    if (depth == 0 || pick == 0) {
        if (ml_random_below(r, 4) == 0)
            return flt       ? ml_float(x->cx, ty, (double)ml_random_below(r, 7) - 3.0)
                   : is_bool ? ml_bool(x->cx, ml_random_below(r, 2))
                             : ml_int(x->cx, ty,
                                      (int64_t)ml_random_below(r, 4) +
                                          (ty.code == ML_INT ? -1 : 0));
        return LD(w->buf[t], I((int64_t)ml_random_below(r, N_LEAVES)));
    }
    if (pick == 1)
        return ml_cast(x->cx, ty,
                       random_expr(x, w, r, ml_random_below(r, N_TYPES), depth - 1));
    if (pick <= 3) {
        c = random_expr(x, w, r, 12, depth - 1);
        a = random_expr(x, w, r, t, depth - 1);
        b = random_expr(x, w, r, t, depth - 1);
        return pick == 2 ? ml_select(x->cx, c, a, b) : ml_if_then_else(x->cx, c, a, b);
    }
    if (is_bool) {
        size_t u = ml_random_below(r, 12);
        static const ml_ExprKind cmp[] = {ML_EXPR_EQ, ML_EXPR_NE, ML_EXPR_LT,
                                          ML_EXPR_LE, ML_EXPR_GT, ML_EXPR_GE};
        if (pick == 4)
            return ml_not(x->cx, random_expr(x, w, r, t, depth - 1));
        if (pick <= 6) {
            a = random_expr(x, w, r, t, depth - 1);
            b = random_expr(x, w, r, t, depth - 1);
            return pick == 5 ? ml_and(x->cx, a, b) : ml_or(x->cx, a, b);
        }
        a = random_expr(x, w, r, u, depth - 1);
        b = random_expr(x, w, r, u, depth - 1);
        return ml_binary(x->cx, cmp[ml_random_below(r, 6)], a, b);
    }
    a = random_expr(x, w, r, t, depth - 1);
    b = random_expr(x, w, r, t, depth - 1);
    if (flt) {
        static const ml_ExprKind kinds[] = {ML_EXPR_ADD, ML_EXPR_SUB, ML_EXPR_MUL,
                                            ML_EXPR_DIV, ML_EXPR_MIN, ML_EXPR_MAX};
        ml_ExprKind k = kinds[ml_random_below(r, 6)];
        return ml_raw_binary(x->cx, k, a, b);
    } else {
        static const ml_ExprKind kinds[] = {
            ML_EXPR_ADD, ML_EXPR_SUB,      ML_EXPR_MUL,      ML_EXPR_DIV, ML_EXPR_MOD,
            ML_EXPR_MIN, ML_EXPR_FLOORDIV, ML_EXPR_FLOORMOD, ML_EXPR_MAX};
        ml_ExprKind k = kinds[ml_random_below(r, 9)];
        if (k >= ML_EXPR_DIV && k <= ML_EXPR_FLOORMOD && ml_is_int(b, 0))
            k = ML_EXPR_ADD;
        return ml_raw_binary(x->cx, k, a, b);
    }
}

static void random_expressions_agree_with_a_direct_evaluator(void **state)
{
    Fix *x = *state;
    int zeros = 0, checked = 0;

    for (uint64_t seed = 1; seed <= 4000; seed++) {
        ml_Ctx *outer = x->cx;
        ml_Random r = ml_random("expr", 0, seed);
        size_t t = ml_random_below(&r, N_TYPES);
        World w = {.zero = false};
        const ml_Buffer *bufs[N_TYPES + 1];
        const ml_Expr *e;
        const ml_Func *f;
        ml_RunArg args[N_TYPES + 1];
        static const int64_t four[] = {N_LEAVES}, one[] = {1};
        ml_Tensor *out;
        bool ok;
        x->cx = ml_ctx_new(0);
        for (size_t k = 0; k < N_TYPES; k++) {
            bufs[k] = w.buf[k] = BUF("A", types[k], I(N_LEAVES));
            w.data[k] = ml_tensor_new(x->cx, types[k], four, 1);
            ml_tensor_fill(w.data[k], seed % 3 ? ML_FILL_ADVERSARIAL : ML_FILL_RANDOM, "d",
                           (uint32_t)k, seed, -4, 4);
            args[k] = (ml_RunArg){.tensor = w.data[k]};
        }
        bufs[N_TYPES] = BUF("O", types[t], I(1));
        out = ml_tensor_new(x->cx, types[t], one, 1);
        args[N_TYPES] = (ml_RunArg){.tensor = out};
        e = random_expr(x, &w, &r, t, 1 + (int)(seed % 5));
        f = func(x, "main", bufs, N_TYPES + 1, ST(bufs[N_TYPES], e, I(0)));
        ml_ctx_clear_marks(x->cx);
        ok = ml_interpret(x->cx, NULL, f, args, N_TYPES + 1, NULL, NULL);
        {
            Val want = eval(&w, e);
            if (w.zero) {
                /* whichever division is met first */
                assert_false(ok);
                assert_int_equal(ml_error(x->cx)->code, ML_E_DIVIDE_BY_ZERO);
                zeros++;
            } else if (!ok && ml_error(x->cx)->code == ML_E_OVERFLOW) {
                /* a condition without loads that overflows */
                ml_error_clear(x->cx);
            } else {
                assert_true(ok);
                checked++;
                if (ml_dtype_is_float(types[t])) {
                    double got = ml_tensor_get(out, 0);
                    if (!(isnan(got) && isnan(want.f)) &&
                        !(got == want.f && signbit(got) == signbit(want.f)))
                        fail_msg("seed %llu: %.17g, expected %.17g",
                                 (unsigned long long)seed, got, want.f);
                } else if ((int64_t)want.i != ml_tensor_get_int(out, 0)) {
                    fail_msg("seed %llu: %lld, expected %lld", (unsigned long long)seed,
                             (long long)ml_tensor_get_int(out, 0), (long long)want.i);
                }
            }
        }
        for (size_t k = 0; k <= N_TYPES; k++)
            ml_tensor_free(args[k].tensor);
        ml_ctx_unref(x->cx);
        x->cx = outer;
    }
    assert_true(zeros > 20 && checked > 2000);
}

/* ---------------------------------------------------------------- the table of operators
 */

/* op applied to literals held in memory, so that nothing folds. */
static double apply(Fix *x, ml_OpId id, ml_Dtype t, ml_Dtype result, const double *v,
                    size_t n)
{
    const ml_Expr *args[8], *shape[1] = {I(8)}, *index[1];
    const ml_Buffer *a = ml_buffer_new(x->cx, "A", t, shape, 1, NULL);
    const ml_Buffer *o = ml_buffer_new(x->cx, "O", result, shape, 1, NULL);
    const ml_Func *f;

    for (size_t k = 0; k < n; k++) {
        index[0] = I((int64_t)k);
        args[k] = ml_load(x->cx, a, index, 1);
    }
    f = FUNC(ST(o, ml_call_id(x->cx, result, id, args, n), I(0)), a, o);
    make_args(x, f);
    for (size_t k = 0; k < n; k++)
        ml_tensor_set(x->args[0].tensor, (int64_t)k, v[k]);
    assert_int_equal(rerun(x, f), ML_E_OK);
    return at(x, 1, 0);
}

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}
static double rsqrt(double v)
{
    return 1 / sqrt(v);
}
static double ten(double v)
{
    return pow(10, v);
}

static void functions_of_one_argument_are_those_of_the_library(void **state)
{
    static const struct {
        ml_OpId id;
        double (*fn)(double);
    } rows[] = {
        {ML_OP_EXP, exp},
        {ML_OP_EXP2, exp2},
        {ML_OP_EXP10, ten},
        {ML_OP_LOG, log},
        {ML_OP_LOG2, log2},
        {ML_OP_LOG10, log10},
        {ML_OP_LOG1P, log1p},
        {ML_OP_SQRT, sqrt},
        {ML_OP_RSQRT, rsqrt},
        {ML_OP_SIGMOID, sigmoid},
        {ML_OP_TANH, tanh},
        {ML_OP_SINH, sinh},
        {ML_OP_COSH, cosh},
        {ML_OP_TAN, tan},
        {ML_OP_SIN, sin},
        {ML_OP_COS, cos},
        {ML_OP_ASIN, asin},
        {ML_OP_ACOS, acos},
        {ML_OP_ATAN, atan},
        {ML_OP_ASINH, asinh},
        {ML_OP_ACOSH, acosh},
        {ML_OP_ATANH, atanh},
        {ML_OP_ERF, erf},
        {ML_OP_FABS, fabs},
        {ML_OP_FLOOR, floor},
        {ML_OP_CEIL, ceil},
        {ML_OP_ROUND, round},
        {ML_OP_TRUNC, trunc},
        {ML_OP_NEARBYINT, nearbyint},
    };
    static const double in[] = {-2.5, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 30.0};
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(rows); k++)
        for (size_t v = 0; v < ML_COUNT(in); v++) {
            double want = (double)(float)rows[k].fn(in[v]);
            double got = apply(x, rows[k].id, ML_DT_F32, ML_DT_F32, &in[v], 1);
            if (!(isnan(want) && isnan(got)) && want != got)
                fail_msg("%s(%g) = %.9g, expected %.9g", ml_op(rows[k].id)->name, in[v],
                         got, want);
        }
}

static void functions_of_several_arguments_are_exact_where_they_can_be(void **state)
{
    Fix *x = *state;
    double v[4] = {5.5, 2.0, -1.0, 0};
    ml_Dtype h = ML_DT(ML_FLOAT, 16);

    assert_true(apply(x, ML_OP_POW, ML_DT_F64, ML_DT_F64, v, 2) == 30.25);
    assert_true(apply(x, ML_OP_FMOD, ML_DT_F64, ML_DT_F64, v, 2) == 1.5);
    assert_true(apply(x, ML_OP_ATAN2, ML_DT_F64, ML_DT_F64, v, 2) == atan2(5.5, 2.0));
    assert_true(apply(x, ML_OP_HYPOT, ML_DT_F64, ML_DT_F64, v, 2) == hypot(5.5, 2.0));
    assert_true(apply(x, ML_OP_LDEXP, ML_DT_F64, ML_DT_F64, v, 2) == 22.0);
    assert_true(apply(x, ML_OP_FMA, ML_DT_F64, ML_DT_F64, v, 3) == 10.0);
    v[1] = -0.0;
    assert_true(apply(x, ML_OP_COPYSIGN, ML_DT_F64, ML_DT_F64, v, 2) == -5.5);
    v[0] = 1.0;
    v[1] = 2.0;
    assert_true(apply(x, ML_OP_NEXTAFTER, ML_DT_F32, ML_DT_F32, v, 2) ==
                (double)nextafterf(1, 2));
    /* one rounding only: in float32, and in float16 where double is not wide enough */
    v[0] = v[1] = 1.0 + 0x1p-12;
    v[2] = -1.0 - 0x1p-11;
    assert_true(apply(x, ML_OP_FMA, ML_DT_F32, ML_DT_F32, v, 3) == 0x1p-24);
    v[0] = 32768.0 + 32.0;
    v[1] = 1.0;
    v[2] = 0x1p-24;
    assert_true(apply(x, ML_OP_FMA, h, h, v, 3) == 32800.0);
    v[0] = 683.0; /* 2049: halfway between 2048 and 2050 */
    v[1] = 3.0;
    v[2] = 0x1p-24;
    assert_true(apply(x, ML_OP_FMA, h, h, v, 3) == 2050.0);
    v[2] = -0x1p-24;
    assert_true(apply(x, ML_OP_FMA, h, h, v, 3) == 2048.0);
}

static void bit_operations_work_on_their_width(void **state)
{
    Fix *x = *state;
    ml_Dtype i8 = ML_DT(ML_INT, 8), u8 = ML_DT(ML_UINT, 8);
    double v[2] = {-106, 4};

    assert_true(apply(x, ML_OP_BITWISE_AND, i8, i8, v, 2) == (int8_t)(-106 & 4));
    assert_true(apply(x, ML_OP_BITWISE_OR, i8, i8, v, 2) == (-106 | 4));
    assert_true(apply(x, ML_OP_BITWISE_XOR, i8, i8, v, 2) == (-106 ^ 4));
    assert_true(apply(x, ML_OP_BITWISE_NOT, i8, i8, v, 1) == 105);
    assert_true(apply(x, ML_OP_SHIFT_RIGHT, i8, i8, v, 2) == -7);
    assert_true(apply(x, ML_OP_SHIFT_LEFT, i8, i8, v, 2) == 96);
    assert_true(apply(x, ML_OP_POPCOUNT, i8, i8, v, 1) == 4);
    v[0] = 150;
    assert_true(apply(x, ML_OP_BITWISE_NOT, u8, u8, v, 1) == 105);
    assert_true(apply(x, ML_OP_SHIFT_RIGHT, u8, u8, v, 2) == 9);
    v[0] = 5;
    assert_true(apply(x, ML_OP_CLZ, u8, u8, v, 1) == 5);
    assert_true(apply(x, ML_OP_CLZ, ML_DT_I32, ML_DT_I32, v, 1) == 29);
    v[0] = 0;
    assert_true(apply(x, ML_OP_CLZ, ML_DT_I64, ML_DT_I64, v, 1) == 64);
    v[0] = -7;
    assert_true(apply(x, ML_OP_FABS, ML_DT_I32, ML_DT_I32, v, 1) == 7);
}

static void tests_for_nan_and_infinity_are_bool(void **state)
{
    Fix *x = *state;
    const double v[] = {(double)NAN, (double)INFINITY, 1.0};

    for (size_t k = 0; k < 3; k++) {
        assert_true(apply(x, ML_OP_ISNAN, ML_DT_F32, ML_DT_BOOL, &v[k], 1) == (k == 0));
        assert_true(apply(x, ML_OP_ISINF, ML_DT_F32, ML_DT_BOOL, &v[k], 1) == (k == 1));
        assert_true(apply(x, ML_OP_ISFINITE, ML_DT_F32, ML_DT_BOOL, &v[k], 1) == (k == 2));
    }
}

static void reinterpret_keeps_the_bits(void **state)
{
    Fix *x = *state;
    double one = 1.0, bits = 0x40490fdb;

    assert_true(apply(x, ML_OP_REINTERPRET, ML_DT_F32, ML_DT_I32, &one, 1) == 0x3f800000);
    assert_true(apply(x, ML_OP_REINTERPRET, ML_DT_I32, ML_DT_F32, &bits, 1) ==
                (double)3.14159274f);
    assert_true(apply(x, ML_OP_REINTERPRET, ML_DT(ML_BFLOAT, 16), ML_DT(ML_UINT, 16), &one,
                      1) == 0x3f80);
}

static void requantisation_rounds_halves_up(void **state)
{
    Fix *x = *state;
    double v[4] = {100, 0x40000000, 31, 0}; /* 100 * 0.5 */

    assert_true(apply(x, ML_OP_Q_MULTIPLY_SHIFT, ML_DT_I32, ML_DT_I32, v, 4) == 50);
    v[0] = 101; /* 50.5 */
    assert_true(apply(x, ML_OP_Q_MULTIPLY_SHIFT, ML_DT_I32, ML_DT_I32, v, 4) == 51);
    v[0] = -101;
    assert_true(apply(x, ML_OP_Q_MULTIPLY_SHIFT, ML_DT_I32, ML_DT_I32, v, 4) == -50);
    v[3] = 2;
    assert_true(apply(x, ML_OP_Q_MULTIPLY_SHIFT, ML_DT_I32, ML_DT_I32, v, 4) == -202);
    v[3] = -1;
    assert_true(apply(x, ML_OP_Q_MULTIPLY_SHIFT, ML_DT_I32, ML_DT_I32, v, 4) == -25);
}

static void shifts_beyond_the_width_and_unknown_calls_are_refused(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(40));
    const ml_Expr *args[2] = {LD(a, I(1)), LD(a, I(32))}, *name[1];

    expect_code(
        x, FUNC(ST(a, ml_call_id(x->cx, ML_DT_I32, ML_OP_SHIFT_LEFT, args, 2), I(0)), a),
        ML_E_BAD_SHIFT);
    name[0] = ml_string(x->cx, ml_str("launch_missiles"));
    expect_code(
        x,
        FUNC(ml_evaluate(x->cx, ml_call_id(x->cx, ML_DT_I32, ML_OP_CALL_EXTERN, name, 1)),
             a),
        ML_E_NOT_SUPPORTED);
    assert_non_null(strstr(ml_error(x->cx)->facts[0].as.text, "launch_missiles"));
    /* not reached: no error */
    expect_code(x,
                FUNC(ml_if(x->cx, ml_lt(x->cx, LD(a, I(3)), I(0)),
                           ml_evaluate(x->cx, ml_call_id(x->cx, ML_DT_I32,
                                                         ML_OP_CALL_EXTERN, name, 1)),
                           NULL),
                     a),
                ML_E_OK);
    expect_code(
        x,
        FUNC(ml_evaluate(x->cx, ml_call_id(x->cx, ML_DT_I32, ML_OP_STORAGE_SYNC, NULL, 0)),
             a),
        ML_E_OK);
}

static void lets_are_computed_again_where_they_read_memory(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(4));
    const ml_Var *v = IVAR("v");
    const ml_Expr *e = ml_let(x->cx, v, LD(a, I(1)), MUL(ADD(X(v), I(10)), I(2)));

    expect_code(x, FUNC(SEQ(ST(a, e, I(2)), ST(a, I(5), I(1)), ST(a, e, I(3))), a),
                ML_E_OK);
    assert_true(at(x, 0, 2) == 22.0 && at(x, 0, 3) == 30.0);
}

static void casts_to_narrow_types_round_as_the_core_does(void **state)
{
    static const ml_Dtype to[] = {
        {ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1}, {ML_F8_E4M3FN, 8, 1}};
    Fix *x = *state;
    enum { N = 20000 };
    const ml_Var *i = IVAR("i");

    for (size_t k = 0; k < ML_COUNT(to); k++) {
        const ml_Buffer *a = BUF("A", ML_DT_F64, I(N)), *b = BUF("B", to[k], I(N));
        const ml_Func *f = FUNC(loop(x, ML_FOR_SERIAL, i, I(N),
                                     ST(b, ml_cast(x->cx, to[k], LD(a, X(i))), X(i))),
                                a, b);
        ml_Random r = ml_random("round", 0, k);
        make_args(x, f);
        for (int64_t n = 0; n < N;
             n++) { /* around representable values and their middles */
            double v = ml_float_value(to[k], ml_random_next(&r) &
                                                 (to[k].bits == 16 ? 0xffff : 0xff));
            double w = ml_float_value(to[k], ml_random_next(&r) &
                                                 (to[k].bits == 16 ? 0xffff : 0xff));
            ml_tensor_set(x->args[0].tensor, n,
                          n % 3 == 0   ? v
                          : n % 3 == 1 ? v * (1.0 + ldexp(1.0, -9))
                                       : v * w);
        }
        assert_int_equal(rerun(x, f), ML_E_OK);
        for (int64_t n = 0; n < N; n++) {
            double want = ml_dtype_round(to[k], at(x, 0, n)), got = at(x, 1, n);
            assert_true((isnan(want) && isnan(got)) ||
                        (want == got && signbit(want) == signbit(got)));
        }
    }
}

static void sums_in_a_narrow_type_round_at_each_step(void **state)
{
    Fix *x = *state;
    ml_Dtype h = ML_DT(ML_FLOAT, 16);
    const ml_Buffer *a = BUF("A", h, I(1)), *b = BUF("B", ML_DT_F32, I(1));
    const ml_Var *i = IVAR("i");
    const ml_Stmt *s = loop(x, ML_FOR_SERIAL, i, I(3000),
                            ST(a, ADD(LD(a, I(0)), ml_float(x->cx, h, 1.0)), I(0)));
    const ml_Stmt *t = loop(x, ML_FOR_SERIAL, i, I(20000000 / 10000),
                            ST(b, ADD(LD(b, I(0)), FL(16384.0)), I(0)));

    expect_code(x, FUNC(SEQ(s, ST(b, FL(16777216.0 - 16384.0 * 2000), I(0)), t), a, b),
                ML_E_OK);
    assert_true(at(x, 0, 0) == 2048.0); /* float16 counts no further by ones */
    assert_true(at(x, 1, 0) == 16777216.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(random_expressions_agree_with_a_direct_evaluator),
        TEST(functions_of_one_argument_are_those_of_the_library),
        TEST(functions_of_several_arguments_are_exact_where_they_can_be),
        TEST(bit_operations_work_on_their_width),
        TEST(tests_for_nan_and_infinity_are_bool),
        TEST(reinterpret_keeps_the_bits),
        TEST(requantisation_rounds_halves_up),
        TEST(shifts_beyond_the_width_and_unknown_calls_are_refused),
        TEST(lets_are_computed_again_where_they_read_memory),
        TEST(casts_to_narrow_types_round_as_the_core_does),
        TEST(sums_in_a_narrow_type_round_at_each_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
