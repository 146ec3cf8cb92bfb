/*
 * poly - float32 functions as polynomials, for scalars and vectors of any width.
 *
 * Errors found over the bit patterns (units in the last place; the tests hold the bounds):
 * exp 0.98 (by the table of exp_table.c 0.79), log 0.92, tanh 1.30, erf 1.16 (1.04), sigmoid 2.4
 * (|x| <= 85), exp2, log2, sin, cos and pow below 2. sin and cos of |x| >= 2^15 go to
 * libm; pow computes in double. Source: lowering-and-codegen 7.8; reductions after Cody and
 * Waite.
 */
#include "moonloop/codegen/llvm/emit.h"

typedef struct Poly { /* the emission of one function */
    ml_Cg *g;
    unsigned n;
} Poly;

static LLVMValueRef real(const Poly *p, double v)
{
    return ml_cg_real(p->g, p->g->f32, p->n, v);
}

static LLVMValueRef whole(const Poly *p, int64_t v)
{
    return ml_cg_int(p->g, p->g->i32, p->n, v);
}

static LLVMValueRef fma_(const Poly *p, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef v[3] = {a, b, c};
    LLVMTypeRef t = p->g->api->TypeOf(a);

    return ml_cg_intrinsic(p->g, "llvm.fma", &t, 1, v, 3);
}

static LLVMValueRef mul(const Poly *p, LLVMValueRef a, LLVMValueRef b)
{
    return p->g->api->BuildFMul(p->g->b, a, b, "");
}

static LLVMValueRef add(const Poly *p, LLVMValueRef a, LLVMValueRef b)
{
    return p->g->api->BuildFAdd(p->g->b, a, b, "");
}

static LLVMValueRef sub(const Poly *p, LLVMValueRef a, LLVMValueRef b)
{
    return p->g->api->BuildFSub(p->g->b, a, b, "");
}

static LLVMValueRef neg(const Poly *p, LLVMValueRef a)
{
    return p->g->api->BuildFNeg(p->g->b, a, "");
}

static LLVMValueRef pick(const Poly *p, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return p->g->api->BuildSelect(p->g->b, c, a, b, "");
}

static LLVMValueRef test(const Poly *p, LLVMRealPredicate how, LLVMValueRef a,
                         LLVMValueRef b)
{
    return p->g->api->BuildFCmp(p->g->b, how, a, b, "");
}

static LLVMValueRef bits_of(const Poly *p, LLVMValueRef v)
{
    return p->g->api->BuildBitCast(p->g->b, v, ml_cg_vec(p->g, p->g->i32, p->n), "");
}

static LLVMValueRef float_of(const Poly *p, LLVMValueRef v)
{
    return p->g->api->BuildBitCast(p->g->b, v, ml_cg_vec(p->g, p->g->f32, p->n), "");
}

static LLVMValueRef sign_from(const Poly *p, LLVMValueRef v, LLVMValueRef sign)
{
    LLVMValueRef a[2] = {v, sign};
    LLVMTypeRef t = p->g->api->TypeOf(v);

    return ml_cg_intrinsic(p->g, "llvm.copysign", &t, 1, a, 2);
}

/* c[0] + x (c[1] + x (c[2] + ...)). */
static LLVMValueRef sum_powers(const Poly *p, LLVMTypeRef t, LLVMValueRef x,
                               const double *c, size_t n)
{
    LLVMValueRef v = ml_cg_real(p->g, t, p->n, c[n - 1]);

    for (size_t k = n - 1; k-- > 0;)
        v = fma_(p, v, x, ml_cg_real(p->g, t, p->n, c[k]));
    return v;
}

static LLVMValueRef horner(const Poly *p, LLVMValueRef x, const double *c, size_t n)
{
    return sum_powers(p, p->g->f32, x, c, n);
}

static LLVMValueRef to_int(const Poly *p, LLVMValueRef v)
{
    return p->g->api->BuildFPToSI(p->g->b, v, ml_cg_vec(p->g, p->g->i32, p->n), "");
}

static LLVMValueRef to_float(const Poly *p, LLVMValueRef v)
{
    return p->g->api->BuildSIToFP(p->g->b, v, ml_cg_vec(p->g, p->g->f32, p->n), "");
}

static LLVMValueRef clamp(const Poly *p, LLVMValueRef x, double lo, double hi)
{
    x = pick(p, test(p, LLVMRealOLT, x, real(p, lo)), real(p, lo), x);
    return pick(p, test(p, LLVMRealOGT, x, real(p, hi)), real(p, hi), x);
}

/* 2^k of an integer (as its exponent bits). */
static LLVMValueRef power_of_2(const Poly *p, LLVMValueRef k)
{
    const ml_LlvmApi *api = p->g->api;

    k = api->BuildAdd(p->g->b, k, whole(p, 127), "");
    return float_of(p, api->BuildShl(p->g->b, k, whole(p, 23), ""));
}

/* e^r 2^n for |r| <= ln 2 / 2; two scalings keep subnormals and overflow right. */
static LLVMValueRef exp_of(const Poly *p, LLVMValueRef r, LLVMValueRef n)
{
    static const double c[] = {0.5,           0.166666657,   0.0416662954,
                               0.00833349675, 0.00139446475, 0.000197903821};
    const ml_LlvmApi *api = p->g->api;
    LLVMValueRef q = horner(p, r, c, ML_COUNT(c)), k = to_int(p, n), half;

    q = add(p, real(p, 1.0), fma_(p, q, mul(p, r, r), r));
    half = api->BuildAShr(p->g->b, k, whole(p, 1), "");
    q = mul(p, q, power_of_2(p, half));
    return mul(p, q, power_of_2(p, api->BuildSub(p->g->b, k, half, "")));
}

static LLVMValueRef keep_nan(const Poly *p, LLVMValueRef x, LLVMValueRef v)
{
    return pick(p, test(p, LLVMRealUNO, x, x), x, v);
}

static LLVMValueRef exp_poly(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef y = clamp(p, x, -104.0, 89.0), n, r;

    n = ml_cg_intrinsic1(p->g, "llvm.rint", mul(p, y, real(p, 0x1.715476p+0)));
    r = fma_(p, n, real(p, -0x1.62e4p-1), y);
    r = fma_(p, n, real(p, -0x1.7f7d1cp-20), r);
    return keep_nan(p, x, exp_of(p, r, n));
}

static LLVMValueRef exp_(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef y = ml_cg_exp_table(p->g, p->n, x, false);

    return y ? y : exp_poly(p, x);
}

static LLVMValueRef exp2_(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef y = ml_cg_exp_table(p->g, p->n, x, true), n, r;

    if (y)
        return y;
    y = clamp(p, x, -151.0, 129.0);
    n = ml_cg_intrinsic1(p->g, "llvm.rint", y);
    r = sub(p, y, n); /* exact */
    r = fma_(p, r, real(p, 0x1.62e43p-1), mul(p, r, real(p, -0x1.05c61p-29)));
    return keep_nan(p, x, exp_of(p, r, n));
}

/* x = 2^e (1 + m) with 1 + m in [2/3, 4/3); log(1 + m) = m + r m^2. */
static LLVMValueRef log_parts(const Poly *p, LLVMValueRef x, LLVMValueRef *e,
                              LLVMValueRef *m)
{
    static const double c[] = {0.333332151, -0.249997973, 0.200104043, -0.16680485,
                               0.140058845, -0.121842958, 0.139843613, -0.128915489};
    const ml_LlvmApi *api = p->g->api;
    LLVMValueRef small = test(p, LLVMRealOLT, x, real(p, 0x1p-126)), u, k;

    u = bits_of(p, pick(p, small, mul(p, x, real(p, 0x1p23)), x));
    k = api->BuildSub(p->g->b, u, whole(p, 0x3f2aaaab), "");
    k = api->BuildAnd(p->g->b, k, whole(p, (int64_t)0xff800000), "");
    *m = sub(p, float_of(p, api->BuildSub(p->g->b, u, k, "")), real(p, 1.0));
    k = api->BuildAShr(p->g->b, k, whole(p, 23), "");
    k = api->BuildSub(p->g->b, k, pick(p, small, whole(p, 23), whole(p, 0)), "");
    *e = to_float(p, k);
    return fma_(p, horner(p, *m, c, ML_COUNT(c)), *m, real(p, -0.5));
}

/* 0 -> -inf, below 0 -> NaN, inf and NaN as they are. */
static LLVMValueRef log_edges(const Poly *p, LLVMValueRef x, LLVMValueRef v)
{
    double inf = (double)__builtin_inff();

    v = pick(p, test(p, LLVMRealOEQ, x, real(p, 0.0)), real(p, -inf), v);
    v = pick(p, test(p, LLVMRealOLT, x, real(p, 0.0)), real(p, (double)__builtin_nanf("")),
             v);
    v = pick(p, test(p, LLVMRealOEQ, x, real(p, inf)), x, v);
    return keep_nan(p, x, v);
}

static LLVMValueRef log_(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef e, m, r = log_parts(p, x, &e, &m);

    r = fma_(p, r, mul(p, m, m), fma_(p, e, real(p, 0x1.7f7d1cp-20), m));
    return log_edges(p, x, fma_(p, e, real(p, 0x1.62e4p-1), r));
}

/* e + (m + r m^2) log2(e), the product in two parts. */
static LLVMValueRef log2_(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef e, m, r = log_parts(p, x, &e, &m), tail, hi;

    tail = mul(p, r, mul(p, m, m));
    hi = fma_(p, m, real(p, 0x1.4ae0cp-26), mul(p, tail, real(p, 0x1.715476p+0)));
    /* log2(e) = 0x1.715476p+0 + 0x1.4ae0cp-26; m times the first is rounded once more. */
    hi = fma_(p, m, real(p, 0x1.715476p+0), hi);
    return log_edges(p, x, add(p, e, hi));
}

static LLVMValueRef tanh_(const Poly *p, LLVMValueRef x)
{
    static const double c[] = {-0.333332807, 0.133314416, -0.0537397154, 0.020639088,
                               -0.00570498826};
    LLVMValueRef a = ml_cg_intrinsic1(p->g, "llvm.fabs", x), z = mul(p, a, a), near, far;

    near = fma_(p, mul(p, mul(p, a, z), horner(p, z, c, ML_COUNT(c))), real(p, 1.0), a);
    /* with the table's errors the difference below would be off by 1.36 */
    far = add(p, exp_poly(p, add(p, a, a)), real(p, 1.0));
    far = p->g->api->BuildFDiv(p->g->b, real(p, 2.0), far, "");
    far = sub(p, real(p, 1.0), far);
    return sign_from(p, pick(p, test(p, LLVMRealOLT, a, real(p, 0.625)), near, far), x);
}

static LLVMValueRef erf_(const Poly *p, LLVMValueRef x)
{
    static const double q[] = {0.128379151,   -0.376125246,  0.112821408,
                               -0.0267789084, 0.00501196273, -0.000609036011};
    static const double t[] = {1.12863708,    0.635198057,     0.106159061,   -0.0236945767,
                               0.00361034693, -0.000314859441, 1.04332521e-05};
    LLVMValueRef a = ml_cg_erf_table(p->g, p->n, x), near, far, b;

    if (a)
        return a;
    a = ml_cg_intrinsic1(p->g, "llvm.fabs", x);
    near = fma_(p, a, horner(p, mul(p, a, a), q, ML_COUNT(q)), a);
    b = pick(p, test(p, LLVMRealOLT, a, real(p, 3.93)), a, real(p, 3.93));
    far = exp_(p, neg(p, mul(p, b, horner(p, b, t, ML_COUNT(t)))));
    far = sub(p, real(p, 1.0), far);
    far = pick(p, test(p, LLVMRealOLT, a, real(p, 0.9)), near, far);
    return keep_nan(p, x, sign_from(p, far, x));
}

static LLVMValueRef sigmoid_(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef d = add(p, real(p, 1.0), exp_(p, neg(p, x)));

    return p->g->api->BuildFDiv(p->g->b, real(p, 1.0), d, "");
}

/* 1 / sqrt(x), corrected by half of 1 - x y^2 (with x y in two parts) where that is finite.
 */
static LLVMValueRef rsqrt_(const Poly *p, LLVMValueRef x)
{
    LLVMValueRef y = ml_cg_intrinsic1(p->g, "llvm.sqrt", x), h, low, e, half;

    y = p->g->api->BuildFDiv(p->g->b, real(p, 1.0), y, "");
    h = mul(p, x, y);
    low = fma_(p, x, y, neg(p, h));
    e = sub(p, fma_(p, neg(p, h), y, real(p, 1.0)), mul(p, low, y));
    half = fma_(p, mul(p, y, real(p, 0.5)), e, y);
    e = ml_cg_intrinsic1(p->g, "llvm.fabs", e);
    return pick(p, test(p, LLVMRealOLT, e, real(p, 0.5)), half, y);
}

/* ---------------------------------------------------------------- sin, cos */

/* For |x| < 2^15: x = n pi/2 + r with r in two parts. */
static LLVMValueRef circle(const Poly *p, LLVMValueRef x, bool cosine)
{
    static const double s[] = {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4};
    static const double c[] = {4.166664568298827e-2, -1.388731625493765e-3,
                               2.443315711809948e-5};
    const ml_LlvmApi *api = p->g->api;
    LLVMValueRef n, r1, t, lo, r, k, z, sine, cos_, half, odd, minus, w;

    n = ml_cg_intrinsic1(p->g, "llvm.rint", mul(p, x, real(p, 0x1.45f306p-1)));
    r1 = fma_(p, n, real(p, -0x1.921fb6p+0), x); /* exact */
    w = mul(p, n, real(p, 0x1.777a5cp-25));
    lo = fma_(p, n, real(p, 0x1.777a5cp-25), neg(p, w));
    t = add(p, r1, w); /* and its error, exactly */
    k = sub(p, t, r1);
    lo = add(p, lo, add(p, sub(p, r1, sub(p, t, k)), sub(p, w, k)));
    lo = fma_(p, n, real(p, 0x1.ee59dap-50), lo);
    r = add(p, t, lo);
    lo = add(p, sub(p, t, r), lo);
    k = to_int(p, n);
    if (cosine)
        k = api->BuildAdd(p->g->b, k, whole(p, 1), "");
    z = mul(p, r, r);
    sine = fma_(p, mul(p, z, r), horner(p, z, s, ML_COUNT(s)), lo);
    sine = add(p, r, sine);
    half = mul(p, z, real(p, 0.5));
    w = sub(p, real(p, 1.0), half); /* 1 - z / 2 and what its rounding lost */
    cos_ = sub(p, sub(p, real(p, 1.0), w), half);
    cos_ = sub(p, cos_, mul(p, r, lo));
    cos_ = fma_(p, mul(p, z, z), horner(p, z, c, ML_COUNT(c)), cos_);
    cos_ = add(p, w, cos_);
    odd = api->BuildAnd(p->g->b, k, whole(p, 1), "");
    odd = api->BuildICmp(p->g->b, LLVMIntNE, odd, whole(p, 0), "");
    r = bits_of(p, pick(p, odd, cos_, sine));
    minus = api->BuildAnd(p->g->b, k, whole(p, 2), "");
    minus = api->BuildShl(p->g->b, minus, whole(p, 30), "");
    return float_of(p, api->BuildXor(p->g->b, r, minus, ""));
}

static LLVMValueRef circle_or_libm(const Poly *p, LLVMValueRef x, bool cosine)
{
    ml_Cg *g = p->g;
    LLVMValueRef big, any, near, far, phi;
    LLVMBasicBlockRef then = ml_cg_block(g, "large"), end = ml_cg_block(g, "endlarge"),
                      from[2];

    big = test(p, LLVMRealUGE, ml_cg_intrinsic1(g, "llvm.fabs", x), real(p, 32768.0));
    near = circle(p, pick(p, big, real(p, 0.0), x), cosine);
    any = p->n ? ml_cg_intrinsic1(g, "llvm.vector.reduce.or", big) : big;
    from[0] = L(GetInsertBlock)(g->b);
    L(BuildCondBr)(g->b, any, then, end);
    ml_cg_place(g, then);
    far = pick(p, big, ml_cg_libm(g, cosine ? "cosf" : "sinf", p->n, x, NULL), near);
    from[1] = L(GetInsertBlock)(g->b);
    ml_cg_goto(g, end);
    ml_cg_place(g, end);
    phi = L(BuildPhi)(g->b, L(TypeOf)(near), "");
    L(AddIncoming)(phi, &near, &from[0], 1);
    L(AddIncoming)(phi, &far, &from[1], 1);
    /* sin(-0) is -0 */
    return cosine ? phi : pick(p, test(p, LLVMRealOEQ, x, real(p, 0.0)), x, phi);
}

/* ---------------------------------------------------------------- pow, in double */

static LLVMValueRef wide_real(const Poly *p, double v)
{
    return ml_cg_real(p->g, p->g->f64, p->n, v);
}

/* log2 of a positive normal double, to about 2^-40. */
static LLVMValueRef wide_log2(const Poly *p, LLVMValueRef x)
{
    static const double c[] = {
        2.8853900817779268,  0.96179669392597560, 0.57707801635558536, 0.41219858311113240,
        0.32059889797532520, 0.26230818925253880, 0.22195308321368667, 0.19235933878519512};
    ml_Cg *g = p->g;
    LLVMTypeRef i = ml_cg_vec(g, g->i64, p->n), d = ml_cg_vec(g, g->f64, p->n);
    LLVMValueRef u = L(BuildBitCast)(g->b, x, i, ""), k, m, f, one = wide_real(p, 1.0);

    /* the mantissa in [sqrt(1/2), sqrt(2)) */
    k = L(BuildSub)(g->b, u, ml_cg_int(g, g->i64, p->n, INT64_C(0x3fe6a09e667f3bcd)), "");
    k = L(BuildAnd)(g->b, k, ml_cg_int(g, g->i64, p->n, -(INT64_C(1) << 52)), "");
    m = L(BuildBitCast)(g->b, L(BuildSub)(g->b, u, k, ""), d, "");
    k = L(BuildAShr)(g->b, k, ml_cg_int(g, g->i64, p->n, 52), "");
    k = L(BuildTrunc)(g->b, k, ml_cg_vec(g, g->i32, p->n), "");
    f = L(BuildFDiv)(g->b, sub(p, m, one), add(p, m, one), "");
    m = mul(p, f, sum_powers(p, p->g->f64, mul(p, f, f), c, ML_COUNT(c)));
    return add(p, m, L(BuildSIToFP)(g->b, k, d, ""));
}

/* 2^t for |t| <= 1000. */
static LLVMValueRef wide_exp2(const Poly *p, LLVMValueRef t)
{
    static const double c[] = {1.0,
                               0.69314718055994531,
                               0.24022650695910072,
                               0.055504108664821580,
                               0.0096181291076284772,
                               0.0013333558146428443,
                               0.00015403530393381610,
                               1.5252733804059841e-05,
                               1.3215486790144309e-06,
                               1.0178086009239699e-07};
    ml_Cg *g = p->g;
    LLVMTypeRef i = ml_cg_vec(g, g->i64, p->n), i32 = ml_cg_vec(g, g->i32, p->n);
    LLVMValueRef n = ml_cg_intrinsic1(g, "llvm.rint", t), k;

    k = L(BuildSExt)(g->b, L(BuildFPToSI)(g->b, n, i32, ""), i, "");
    k = L(BuildAdd)(g->b, k, ml_cg_int(g, g->i64, p->n, 1023), "");
    k = L(BuildShl)(g->b, k, ml_cg_int(g, g->i64, p->n, 52), "");
    k = L(BuildBitCast)(g->b, k, ml_cg_vec(g, g->f64, p->n), "");
    return mul(p, k, sum_powers(p, p->g->f64, sub(p, t, n), c, ML_COUNT(c)));
}

LLVMValueRef ml_cg_poly_pow(ml_Cg *g, unsigned n, LLVMValueRef x, LLVMValueRef y)
{
    const Poly poly = {g, n}, *p = &poly;
    LLVMTypeRef wide = ml_cg_vec(g, g->f64, n);
    double inf = (double)__builtin_inff();
    LLVMValueRef a = ml_cg_intrinsic1(g, "llvm.fabs", x), d, t, v, c, whole_y, odd, bad;

    d = L(BuildFPExt)(g->b, a, wide, "");
    t = wide_log2(p, d);
    t = pick(p, test(p, LLVMRealOEQ, a, real(p, 0.0)), wide_real(p, -inf), t);
    t = pick(p, test(p, LLVMRealOEQ, a, real(p, inf)), wide_real(p, inf), t);
    t = mul(p, t, L(BuildFPExt)(g->b, y, wide, ""));
    t = pick(p, test(p, LLVMRealOLT, t, wide_real(p, -1000.0)), wide_real(p, -1000.0), t);
    t = pick(p, test(p, LLVMRealOGT, t, wide_real(p, 1000.0)), wide_real(p, 1000.0), t);
    c = test(p, LLVMRealUNO, t, t); /* 0 times infinity: one of the cases below */
    t = pick(p, c, wide_real(p, 0.0), t);
    v = L(BuildFPTrunc)(g->b, wide_exp2(p, t), ml_cg_vec(g, g->f32, n), "");
    /* the sign: of x when y is odd */
    whole_y = test(p, LLVMRealOEQ, ml_cg_intrinsic1(g, "llvm.rint", y), y);
    c = test(p, LLVMRealOLT, ml_cg_intrinsic1(g, "llvm.fabs", y), real(p, 0x1p24));
    odd = to_int(p, pick(p, c, y, real(p, 0.0)));
    odd = L(BuildAnd)(g->b, odd, whole(p, 1), "");
    odd = L(BuildICmp)(g->b, LLVMIntNE, odd, whole(p, 0), "");
    odd = L(BuildAnd)(g->b, odd, whole_y, "");
    v = pick(p, odd, sign_from(p, v, x), v);
    /* a negative number to a fraction */
    bad = test(p, LLVMRealOLT, x, real(p, 0.0));
    bad = L(BuildAnd)(g->b, bad, test(p, LLVMRealOLT, a, real(p, inf)), "");
    bad = L(BuildAnd)(g->b, bad, L(BuildNot)(g->b, whole_y, ""), "");
    bad = L(BuildOr)(g->b, bad, test(p, LLVMRealUNO, x, y), "");
    v = pick(p, bad, real(p, (double)__builtin_nanf("")), v);
    c = L(BuildAnd)(g->b, test(p, LLVMRealOEQ, a, real(p, 1.0)),
                    test(p, LLVMRealOEQ, ml_cg_intrinsic1(g, "llvm.fabs", y), real(p, inf)),
                    "");
    c = L(BuildOr)(g->b, c, test(p, LLVMRealOEQ, x, real(p, 1.0)), "");
    c = L(BuildOr)(g->b, c, test(p, LLVMRealOEQ, y, real(p, 0.0)), "");
    return pick(p, c, real(p, 1.0), v);
}

LLVMValueRef ml_cg_poly1(ml_Cg *g, ml_OpId op, unsigned n, LLVMValueRef x)
{
    const Poly p = {g, n};

    switch ((int)op) {
    case ML_OP_EXP: return exp_(&p, x);
    case ML_OP_EXP2: return exp2_(&p, x);
    case ML_OP_LOG: return log_(&p, x);
    case ML_OP_LOG2: return log2_(&p, x);
    case ML_OP_TANH: return tanh_(&p, x);
    case ML_OP_ERF: return erf_(&p, x);
    case ML_OP_SIGMOID: return sigmoid_(&p, x);
    case ML_OP_RSQRT: return g->o->fast_math ? NULL : rsqrt_(&p, x);
    case ML_OP_SIN: return circle_or_libm(&p, x, false);
    case ML_OP_COS: return circle_or_libm(&p, x, true);
    default: return NULL;
    }
}
