/*
 * test_math - float32 functions against double precision: errors in units in the last place
 * within the bounds of lowering-and-codegen 7.8, over every 4099th bit pattern, the edges,
 * and with ML_LONG=n over every n-th (1: all of them), with ML_FN=exp of that function alone
 * (`make exhaustive`); the other dtypes against the interpreter.
 */
#include "run_llvm.h"

#include <math.h>

enum { BATCH = 1 << 16 };

typedef struct Fn {
    ml_OpId id;
    double bound, limit; /* of ulp; of |x|, 0: all */
    double (*exact)(double);
} Fn;

static double sigmoid(double v)
{
    return 1.0 / (1.0 + exp(-v));
}

static double rsqrt(double v)
{
    return 1.0 / sqrt(v);
}

static double exp10_(double v)
{
    return pow(10.0, v);
}

#define LIBM 4.0 /* what the C library promises is its own affair */
static const Fn fns[] = {
    {ML_OP_EXP, 1.0, 0, exp},          {ML_OP_EXP2, 1.0, 0, exp2},
    {ML_OP_LOG, 0.95, 0, log},         {ML_OP_LOG2, 1.6, 0, log2},
    {ML_OP_TANH, 1.35, 0, tanh},       {ML_OP_ERF, 1.16, 0, erf},
    {ML_OP_SIGMOID, 2.5, 85, sigmoid}, {ML_OP_RSQRT, 1.0, 0, rsqrt},
    {ML_OP_SQRT, 0.5, 0, sqrt},        {ML_OP_SIN, 1.5, 0, sin},
    {ML_OP_COS, 1.5, 0, cos},          {ML_OP_TAN, LIBM, 0, tan},
    {ML_OP_EXP10, LIBM, 0, exp10_},    {ML_OP_LOG10, LIBM, 0, log10},
    {ML_OP_LOG1P, LIBM, 0, log1p},     {ML_OP_SINH, LIBM, 0, sinh},
    {ML_OP_COSH, LIBM, 0, cosh},       {ML_OP_ASIN, LIBM, 0, asin},
    {ML_OP_ACOS, LIBM, 0, acos},       {ML_OP_ATAN, LIBM, 0, atan},
    {ML_OP_ASINH, LIBM, 0, asinh},     {ML_OP_ACOSH, LIBM, 0, acosh},
    {ML_OP_ATANH, LIBM, 0, atanh},
};

static double ulps(double want, float got)
{
    float near = (float)want;
    double unit;

    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : (double)INFINITY;
    if (isinf(near) || isinf(got)) /* at the edge of overflow either side is near */
        return near == got || fabs(want) > 0x1.fffffcp127 ? 0 : (double)INFINITY;
    unit = (double)nextafterf(fabsf(near), INFINITY) - (double)fabsf(near);
    return fabs(want - (double)got) / unit;
}

/* B[i] = f(A[i]) by vectors, then a few by scalars. */
static const ml_Func *program(Fix *x, ml_OpId id, ml_Dtype t, unsigned lanes, int64_t n)
{
    const ml_Buffer *a = BUF("A", t, I(n)), *b = BUF("B", t, I(n));
    const ml_Var *i = IVAR("i");
    const ml_Expr *at = lanes > 1 ? ml_ramp(x->cx, MUL(X(i), I(lanes)), I(1), lanes) : X(i);
    const ml_Expr *v = LD(a, at);

    return FUNC(loop(x, ML_FOR_SERIAL, i, I(n / lanes),
                     ST(b, ml_call_id(x->cx, v->type, id, &v, 1), at)),
                a, b);
}

typedef struct Worst {
    double ulps;
    float x, got;
} Worst;

static void measure(const Fn *f, ml_KernelFn *fn, float *in, float *out, size_t n, Worst *w)
{
    ml_Word words[2] = {{.p = in}, {.p = out}};

    assert_int_equal(fn(words), 0);
    for (size_t k = 0; k < n; k++) {
        double e;
        if (f->limit > 0 && !(fabs((double)in[k]) <= f->limit))
            continue;
        e = ulps(f->exact((double)in[k]), out[k]);
        if (e > w->ulps)
            *w = (Worst){e, in[k], out[k]};
    }
}

static void every_function_is_within_its_error(void **state)
{
    static _Alignas(64) float in[BATCH], out[BATCH];
    static const uint32_t edges[] = {
        0,          0x80000000, 1,          0x80000001, 0x7f800000, 0xff800000, 0x7fc00000,
        0x00800000, 0x007fffff, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x42b17217,
        0x42b17218, 0xc2cff1b5, 0xc2ce8ed0, 0x3f1fffff, 0x3f200000, 0x3f666666, 0x47000000,
        0x46ffffff, 0x3f2aaaaa, 0x3f2aaaab, 0x3faaaaab, 0x40c90fdb, 0x3fc90fdb, 0x7149f2ca};
    Fix *x = *state;
    uint64_t every = getenv("ML_LONG") ? strtoull(getenv("ML_LONG"), NULL, 10) : 0;
    uint64_t step = every ? every : getenv("ML_QUICK") ? 65537 : 4099;
    const char *only = getenv("ML_FN");
    ml_CodeOpts o = {0};

    NEED_LLVM();
    LLVM_ONLY();
    for (size_t k = 0; k < ML_COUNT(fns); k++) {
        Worst w = {0, 0, 0};

        if (only && !ml_streq(ml_op(fns[k].id)->name, only))
            continue;
        for (unsigned lanes = 16; lanes == 16 || lanes == 1; lanes -= 15) {
            const ml_Func *f = program(x, fns[k].id, ML_DT_F32, lanes, BATCH);
            ml_Linked *l = compile(x, f, &o);
            ml_KernelFn *fn = kernel(x, l, "main");
            uint64_t bits = 0;
            size_t n = 0;
            for (size_t e = 0; e < ML_COUNT(edges); e++)
                memcpy(&in[n++], &edges[e], 4);
            while (bits <= UINT32_MAX) {
                for (; n < BATCH; n++, bits += step) {
                    uint32_t u = (uint32_t)bits;
                    memcpy(&in[n], &u, 4);
                }
                measure(&fns[k], fn, in, out, BATCH, &w);
                n = 0;
                if (lanes == 1)
                    break;
            }
            ml_linked_free(l);
        }
        if (getenv("ML_SHOW"))
            print_message("%-8s %.3f ulp at %a\n", ml_op(fns[k].id)->name, w.ulps,
                          (double)w.x);
        if (w.ulps > fns[k].bound)
            fail_msg("%s(%a) = %a: %.3f ulp, the bound is %.2f", ml_op(fns[k].id)->name,
                     (double)w.x, (double)w.got, w.ulps, fns[k].bound);
    }
}

/* ---------------------------------------------------------------- two arguments */

static const ml_Func *program2(Fix *x, ml_OpId id, ml_Dtype t, unsigned lanes, int64_t n)
{
    const ml_Buffer *a = BUF("A", t, I(n)), *b = BUF("B", t, I(n)), *c = BUF("C", t, I(n));
    const ml_Var *i = IVAR("i");
    const ml_Expr *at = lanes > 1 ? ml_ramp(x->cx, MUL(X(i), I(lanes)), I(1), lanes) : X(i);
    const ml_Expr *v[2] = {LD(a, at), LD(b, at)};

    return FUNC(loop(x, ML_FOR_SERIAL, i, I(n / lanes),
                     ST(c, ml_call_id(x->cx, v[0]->type, id, v, 2), at)),
                a, b, c);
}

/* A quotient of differences of exponentials has no digit left there. */
static void tanh_keeps_its_digits_near_zero(void **state)
{
    static _Alignas(64) float in[64], out[64];
    Fix *x = *state;
    const ml_Func *f;
    ml_CodeOpts o = {0};
    ml_Linked *l;
    Worst w = {0, 0, 0};

    NEED_LLVM();
    LLVM_ONLY();
    f = program(x, ML_OP_TANH, ML_DT_F32, 16, 64);
    l = compile(x, f, &o);
    for (int k = 0; k < 64; k++)
        in[k] = (k % 2 ? -1.7f : 1.3f) * (float)ldexp(1.0, -k);
    for (size_t k = 0; k < ML_COUNT(fns); k++)
        if (fns[k].id == ML_OP_TANH)
            measure(&fns[k], kernel(x, l, "main"), in, out, 64, &w);
    assert_true(w.ulps < 1.35);
    ml_linked_free(l);
}

static void powers_are_within_their_error(void **state)
{
    static _Alignas(64) float a[4096], b[4096], out[4096];
    static const float edges[] = {
        0.0f,      -0.0f, 1.0f,   -1.0f, 2.0f,        -2.0f,       3.0f,         -3.0f,
        0.5f,      -0.5f, 1e-40f, 1e30f, 16777216.0f, 16777215.0f, -16777217.0f, INFINITY,
        -INFINITY, NAN,   1.5f,   -1.5f, 1e-20f,      33.0f};
    Fix *x = *state;
    const ml_Func *f;
    ml_CodeOpts o = {0};
    ml_Linked *l;
    ml_KernelFn *fn;
    ml_Random r = ml_random("pow", 0, 1);
    double worst = 0;

    NEED_LLVM();
    LLVM_ONLY();
    f = program2(x, ML_OP_POW, ML_DT_F32, 16, 4096);
    l = compile(x, f, &o);
    fn = kernel(x, l, "main");
    for (int round = 0; round < (getenv("ML_LONG") ? 20000 : 200); round++) {
        ml_Word words[3] = {{.p = a}, {.p = b}, {.p = out}};
        for (size_t k = 0; k < 4096; k++) {
            uint32_t u = (uint32_t)ml_random_next(&r);
            memcpy(&a[k], &u, 4);
            b[k] = (float)((double)ml_random_below(&r, 200000) / 1000.0 - 100.0);
            if (ml_random_below(&r, 2)) { /* results that are numbers */
                a[k] = (float)exp2((double)ml_random_below(&r, 4000) / 1000.0 - 2.0);
                b[k] = (float)((double)ml_random_below(&r, 60000) / 1000.0 - 30.0);
            }
            if (ml_random_below(&r, 16) == 0)
                b[k] = (float)ml_random_below(&r, 12) - 6.0f;
        }
        if (round == 0)
            for (size_t k = 0; k < ML_COUNT(edges) * ML_COUNT(edges); k++) {
                a[k] = edges[k / ML_COUNT(edges)];
                b[k] = edges[k % ML_COUNT(edges)];
            }
        assert_int_equal(fn(words), 0);
        for (size_t k = 0; k < 4096; k++) {
            double e = ulps(pow((double)a[k], (double)b[k]), out[k]);
            if (e > 2.0)
                fail_msg("pow(%a, %a) = %a: %g ulp", (double)a[k], (double)b[k],
                         (double)out[k], e);
            worst = e > worst ? e : worst;
        }
    }
    if (getenv("ML_SHOW"))
        print_message("pow      %.3f ulp\n", worst);
    ml_linked_free(l);
}

/* C[i] = A[i] / B, of vectors of 16. */
static const ml_Func *shared_divisor(Fix *x, const ml_Expr *by, int64_t n)
{
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(n)), *b = BUF("B", ML_DT_F32, I(1));
    const ml_Buffer *c = BUF("C", ML_DT_F32, I(n));
    const ml_Var *i = IVAR("i");
    const ml_Expr *at = ml_ramp(x->cx, MUL(X(i), I(16)), I(1), 16);

    by = ml_broadcast(x->cx, by ? by : LD(b, I(0)), 16);
    return FUNC(loop(x, ML_FOR_SERIAL, i, I(n / 16),
                     ST(c, ml_binary(x->cx, ML_EXPR_DIV, LD(a, at), by), at)),
                a, b, c);
}

static void divided(ml_KernelFn *fn, float *a, float b, float *out, size_t n)
{
    ml_Word words[3] = {{.p = a}, {.p = &b}, {.p = out}};

    assert_int_equal(fn(words), 0);
    for (size_t k = 0; k < n; k++) {
        double want = (double)a[k] / (double)b, e = ulps(want, out[k]);
        bool far = fabs(want) >= 0x1p-100 && fabs((double)a[k]) >= 0x1p-60;
        if (e > (far ? 0.500001 : 1.0) ||
            (!isnan(want) && !signbit(want) != !signbit(out[k])))
            fail_msg("%a / %a = %a: %g ulp", (double)a[k], (double)b, (double)out[k], e);
    }
}

static void quotients_by_what_lanes_share_are_right(void **state)
{
    static const float by[] = {
        0.0f,          -0.0f,         1.0f,        -1.0f,           3.0f,
        -7.0f,         0.5f,          1e-40f,      -1e-44f,         1e-45f,
        3e38f,         1e37f,         NAN,         INFINITY,        -INFINITY,
        0x1p-126f,     0x1p-128f,     0x1.8p-101f, 0x1.fffffep127f, 0x1.fffffep0f,
        0x1.000002p0f, 0x1.6a09e6p0f, 0x1p100f,    0x1p60f,         -0x1p-64f};
    static _Alignas(64) float a[4096], out[4096];
    Fix *x = *state;
    ml_CodeOpts o = {0};
    ml_Linked *l, *known;
    ml_KernelFn *fn, *fixed;
    ml_Random r = ml_random("quotient", 0, 1);

    NEED_LLVM();
    LLVM_ONLY();
    l = compile(x, shared_divisor(x, NULL, 4096), &o);
    fn = kernel(x, l, "main");
    known = compile(x, shared_divisor(x, FL(1.4142135381698608), 4096), &o);
    fixed = kernel(x, known, "main");
    for (int round = 0; round < (getenv("ML_LONG") ? 100000 : 1000); round++) {
        uint32_t u = (uint32_t)ml_random_next(&r);
        float b;
        memcpy(&b, &u, 4);
        if (round % 2) /* of a usual size */
            b = (float)exp2((double)ml_random_below(&r, 40000) / 1000.0 - 20.0);
        if (round < (int)ML_COUNT(by))
            b = by[round];
        for (size_t k = 0; k < 4096; k++) {
            u = (uint32_t)ml_random_next(&r);
            memcpy(&a[k], &u, 4);
            if (k < ML_COUNT(by))
                a[k] = by[k];
        }
        divided(fn, a, b, out, 4096);
        divided(fixed, a, 1.41421354f, out, 4096);
    }
    ml_linked_free(l);
    ml_linked_free(known);
}

static void exact_mode_and_other_dtypes_equal_the_interpreter(void **state)
{
    static const ml_Dtype types[] = {
        {ML_FLOAT, 64, 1}, {ML_FLOAT, 32, 1}, {ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1}};
    Fix *x = *state;

    NEED_LLVM();
    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (unsigned op = ML_OP_EXP; op <= ML_OP_NEARBYINT; op++)
            for (unsigned exact = 0; exact < 2; exact++) {
                const ml_Func *f = program(x, (ml_OpId)op, types[t], exact ? 8 : 1, 256);
                ml_CodeOpts o = {.exact_math = exact != 0, .no_contract = true};
                double eps = types[t].bits == 64         ? 1e-15
                             : types[t].bits == 32       ? 4e-7
                             : types[t].code == ML_FLOAT ? 1e-3
                                                         : 8e-3;
                make_args(x, f);
                ml_tensor_fill(x->args[0].tensor, ML_FILL_RANDOM, "m", op, 5, -3, 3);
                same_as_interpreter(
                    x, f, &o,
                    (ml_Tolerance){.rtol = eps,
                                   .atol = types[t].bits == 16 ? 1e-6 : 1e-40});
            }
}

static void functions_of_two_numbers_equal_the_interpreter(void **state)
{
    static const ml_Dtype types[] = {
        {ML_FLOAT, 64, 1}, {ML_FLOAT, 32, 1}, {ML_FLOAT, 16, 1}, {ML_BFLOAT, 16, 1}};
    Fix *x = *state;
    ml_CodeOpts o = {.no_contract = true};

    NEED_LLVM();
    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (unsigned op = ML_OP_POW; op <= ML_OP_LDEXP; op++) {
            const ml_Func *f = program2(x, (ml_OpId)op, types[t], op % 2 ? 8 : 1, 256);
            double eps = types[t].bits == 64         ? 1e-15
                         : types[t].bits == 32       ? 4e-7
                         : types[t].code == ML_FLOAT ? 1e-3
                                                     : 8e-3;
            if (op == ML_OP_NEXTAFTER && types[t].bits < 32)
                continue; /* refused, as by the interpreter */
            make_args(x, f);
            ml_tensor_fill(x->args[0].tensor, ML_FILL_RANDOM, "m", op, 5, -3, 3);
            ml_tensor_fill(x->args[1].tensor, ML_FILL_RANDOM, "m", op, 6, -3, 3);
            same_as_interpreter(x, f, &o, (ml_Tolerance){.rtol = eps, .atol = 1e-40});
        }
}

static void fixed_point_products_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(
        *state,
        "@T.prim_func\n"
        "def main(A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), "
        "C: T.Buffer((64,), \"int32\")):\n"
        "    for i in range(64):\n"
        "        C[i] = T.q_multiply_shift(A[i], B[i], 31, i % 9 - 4)\n"
        "        B[i] = T.q_multiply_shift_per_axis(A[i] + 3, C[i], i % 5, i % 7, 20, "
        "T.bool(True), i % 2 == 0)\n",
        EXACT);
}

int main(void)
{
    const struct CMUnitTest alone[] = {TEST(every_function_is_within_its_error)};
    const struct CMUnitTest tests[] = {
        TEST(every_function_is_within_its_error),
        TEST(tanh_keeps_its_digits_near_zero),
        TEST(powers_are_within_their_error),
        TEST(quotients_by_what_lanes_share_are_right),
        TEST(exact_mode_and_other_dtypes_equal_the_interpreter),
        TEST(functions_of_two_numbers_equal_the_interpreter),
        TEST(fixed_point_products_equal_the_interpreter),
    };

    return getenv("ML_FN") ? MAIN(alone) : MAIN(tests);
}
