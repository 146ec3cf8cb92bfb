/*
 * math - rounding and the mathematical functions of the interpreter.
 *
 * Registers hold doubles. A result of a narrower type is computed in double precision and
 * rounded once; for + - * / and sqrt of float32 and narrower that equals arithmetic in the
 * type itself (double has more than 2p + 2 bits; Figueroa 1995). fma needs more care: below
 * double it is rounded to odd first, so that the second rounding sees which side it is on.
 */
#include "moonloop/codegen/interp/code.h"

#include <math.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* To nearest even in the mantissa, where neither under- nor overflow can be near. */
static bool round_normal(ml_Dtype t, double *v)
{
    int drop = t.code == ML_FLOAT ? 42 : 45; /* float16: 10 bits stay, bfloat16: 7 */
    int low = t.code == ML_FLOAT ? -14 : -126, high = t.code == ML_FLOAT ? 15 : 127;
    uint64_t u;
    int e;

    if (t.bits != 16)
        return false;
    memcpy(&u, v, sizeof u);
    e = (int)((u >> 52) & 0x7ff) - 1023;
    if (e < low || e >= high)
        return false;
    u += (UINT64_C(1) << (drop - 1)) - 1 + ((u >> drop) & 1);
    u &= ~((UINT64_C(1) << drop) - 1);
    memcpy(v, &u, sizeof u);
    return true;
}

double ml_round_to(const ml_Gen *g, unsigned rounding, double v)
{
    if (rounding == 0)
        return v;
    if (rounding == 1)
        return (double)(float)v;
    if (round_normal(g->types.v[rounding - 2], &v))
        return v;
    return ml_dtype_round(g->types.v[rounding - 2], v);
}

double ml_math1(unsigned op, double x)
{
    switch (op) {
    case ML_OP_EXP: return exp(x);
    case ML_OP_EXP2: return exp2(x);
    case ML_OP_EXP10: return pow(10.0, x);
    case ML_OP_LOG: return log(x);
    case ML_OP_LOG2: return log2(x);
    case ML_OP_LOG10: return log10(x);
    case ML_OP_LOG1P: return log1p(x);
    case ML_OP_SQRT: return sqrt(x);
    case ML_OP_RSQRT: return 1.0 / sqrt(x);
    case ML_OP_SIGMOID: return 1.0 / (1.0 + exp(-x));
    case ML_OP_TANH: return tanh(x);
    case ML_OP_SINH: return sinh(x);
    case ML_OP_COSH: return cosh(x);
    case ML_OP_TAN: return tan(x);
    case ML_OP_SIN: return sin(x);
    case ML_OP_COS: return cos(x);
    case ML_OP_ASIN: return asin(x);
    case ML_OP_ACOS: return acos(x);
    case ML_OP_ATAN: return atan(x);
    case ML_OP_ASINH: return asinh(x);
    case ML_OP_ACOSH: return acosh(x);
    case ML_OP_ATANH: return atanh(x);
    case ML_OP_ERF: return erf(x);
    case ML_OP_FABS: return fabs(x);
    case ML_OP_FLOOR: return floor(x);
    case ML_OP_CEIL: return ceil(x);
    case ML_OP_ROUND: return round(x);
    case ML_OP_TRUNC: return trunc(x);
    case ML_OP_NEARBYINT: return nearbyint(x);
    default: break;
    }
    ML_ASSERT(!"a function of one argument");
    return 0.0;
}

double ml_math2(unsigned op, unsigned rounding, double x, double y)
{
    switch (op) {
    case ML_OP_POW: return pow(x, y);
    case ML_OP_FMOD: return fmod(x, y);
    case ML_OP_ATAN2: return atan2(x, y);
    case ML_OP_HYPOT: return hypot(x, y);
    case ML_OP_COPYSIGN: return copysign(x, y);
    case ML_OP_NEXTAFTER:
        return rounding == 1 ? (double)nextafterf((float)x, (float)y) : nextafter(x, y);
    case ML_OP_LDEXP:
        return ldexp(x, y > 100000.0 ? 100000 : y < -100000.0 ? -100000 : (int)y);
    default: break;
    }
    ML_ASSERT(!"a function of two arguments");
    return 0.0;
}

/* s + err exactly, with s = fl(...): the neighbour of s with an odd last bit, unless exact.
 */
static double to_odd(double s, double err)
{
    uint64_t u;

    if (err == 0.0 || !isfinite(s))
        return s;
    memcpy(&u, &s, sizeof u);
    if (u & 1)
        return s;
    return nextafter(s, err > 0.0 ? (double)INFINITY : -(double)INFINITY);
}

double ml_fma_rounded(const ml_Gen *g, unsigned rounding, double a, double b, double c)
{
    double p, s, t, err;

    if (rounding == 0)
        return fma(a, b, c);
    if (rounding == 1)
        return (double)fmaf((float)a, (float)b, (float)c);
    p = a * b; /* exact: at most 11 bits each */
    s = p + c;
    t = s - p;
    err = (p - (s - t)) + (c - t); /* two-sum */
    return ml_round_to(g, rounding, to_odd(s, isfinite(err) ? err : 0.0));
}

double ml_int_to_float(const ml_Gen *g, unsigned rounding, int64_t v, bool is_unsigned)
{
    bool neg = !is_unsigned && v < 0;
    uint64_t m = neg ? 0 - (uint64_t)v : (uint64_t)v;
    uint64_t top;
    unsigned shift = 0;
    double d;

    if (rounding == 0)
        return is_unsigned ? (double)(uint64_t)v : (double)v;
    if (rounding == 1)
        return is_unsigned ? (double)(float)(uint64_t)v : (double)(float)v;
    while (m >> shift >= UINT64_C(1) << 53)
        shift++;
    top = m >> shift;
    if (shift && (m & ((UINT64_C(1) << shift) - 1)))
        top |= 1; /* round to odd */
    d = ldexp((double)top, (int)shift);
    return ml_round_to(g, rounding, neg ? -d : d);
}

/* Truncates; saturates outside the range; NaN gives 0. */
int64_t ml_float_to_int(double v, unsigned x)
{
    unsigned bits = x & 127u;
    double limit;

    if (isnan(v))
        return 0;
    if (x & ML_UNSIGNED) {
        limit = ldexp(1.0, (int)bits);
        if (v < 0.0)
            return 0;
        if (v >= limit)
            return bits == 64 ? -1 : (int64_t)((UINT64_C(1) << bits) - 1);
        return (int64_t)(uint64_t)v;
    }
    limit = ldexp(1.0, (int)bits - 1);
    if (v >= limit)
        return (int64_t)((UINT64_C(1) << (bits - 1)) - 1);
    if (v < -limit)
        return -(int64_t)((UINT64_C(1) << (bits - 1)) - 1) - 1;
    return (int64_t)v;
}
