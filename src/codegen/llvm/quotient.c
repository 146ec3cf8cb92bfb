/*
 * quotient - vectors of float32 divided by what all their lanes share.
 *
 * A division of 16 lanes takes 16 cycles of the one divider; two multiply-adds by the
 * reciprocal in two parts take one. 1/b is cut toward zero, so that its second part has its
 * sign: signs of zeros and infinities come out right. Both parts err by 2^-46 of the quotient
 * at most, by which a quotient next to a midpoint may be rounded to the other side; what is
 * below 2^-100 is within one unit in the last place. Source: lowering-and-codegen 7.8; division
 * by constants after Brisebarre and Muller (2008).
 */
#include "moonloop/codegen/llvm/emit.h"

#include <math.h>

/* Whether all lanes of a vector are one value. */
static bool is_shared(const ml_Expr *e, unsigned depth)
{
    if (e->kind == ML_EXPR_BROADCAST)
        return true;
    if (depth == 0 || e->n_args == 0 || (e->flags & ML_X_EFFECT))
        return false;
    if (e->kind != ML_EXPR_CALL && e->kind != ML_EXPR_CAST &&
        ml_kind_class((ml_ExprKind)e->kind) != ML_CLASS_ARITH)
        return false;
    for (size_t k = 0; k < e->n_args; k++)
        if (!is_shared(e->args[k], depth - 1))
            return false;
    return true;
}

/* A power of two, by which LLVM multiplies. */
static bool is_power_of_two(const ml_Expr *e)
{
    int exponent;

    return e->kind == ML_EXPR_BROADCAST && e->args[0]->kind == ML_EXPR_FLOAT &&
           fabs(frexp(e->args[0]->as.f, &exponent)) == 0.5;
}

typedef struct Divisor { /* 1 / (b scale) = high + low, where that is a normal number */
    LLVMValueRef scale, high, low;
} Divisor;

static LLVMValueRef pick(ml_Cg *g, LLVMRealPredicate how, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef yes, LLVMValueRef no)
{
    return L(BuildSelect)(g->b, L(BuildFCmp)(g->b, how, a, b, ""), yes, no, "");
}

/* 1 - a b, exactly. */
static LLVMValueRef rest(ml_Cg *g, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef v[3] = {L(BuildFNeg)(g->b, a, ""), b, ml_cg_real(g, g->f32, 0, 1.0)};

    return ml_cg_intrinsic(g, "llvm.fma", &g->f32, 1, v, 3);
}

static Divisor divisor(ml_Cg *g, LLVMValueRef b)
{
    LLVMValueRef a = ml_cg_intrinsic1(g, "llvm.fabs", b), e, f, near, less;
    LLVMValueRef one = ml_cg_real(g, g->f32, 0, 1.0), zero = ml_cg_real(g, g->f32, 0, 0.0);
    Divisor d;

    d.scale = pick(g, LLVMRealOLT, a, ml_cg_real(g, g->f32, 0, 0x1p-100),
                   ml_cg_real(g, g->f32, 0, 0x1p64), one);
    d.scale = pick(g, LLVMRealOGT, a, ml_cg_real(g, g->f32, 0, 0x1p100),
                   ml_cg_real(g, g->f32, 0, 0x1p-64), d.scale);
    b = L(BuildFMul)(g->b, b, d.scale, "");
    near = L(BuildFDiv)(g->b, one, b, "");
    less = L(BuildBitCast)(g->b, near, g->i32, "");
    less = L(BuildSub)(g->b, less, ml_cg_int(g, g->i32, 0, 1), "");
    less = L(BuildBitCast)(g->b, less, g->f32, "");
    d.high = pick(g, LLVMRealOLT, rest(g, near, b), zero, less, near);
    e = rest(g, d.high, b);
    /* of a power of two nothing is left, but infinity times nothing is no number: 2^-26 of it
     * changes no rounding; of 0, infinity and NaN both parts are the whole */
    f = pick(g, LLVMRealOEQ, e, zero, ml_cg_real(g, g->f32, 0, 0x1p-26), one);
    f = pick(g, LLVMRealOGT, e, zero, e, f);
    d.low = L(BuildFMul)(g->b, f, d.high, "");
    return d;
}

LLVMValueRef ml_cg_quotient(ml_Cg *g, const ml_Expr *by, unsigned n, LLVMValueRef a,
                            LLVMValueRef b)
{
    LLVMTypeRef t = L(TypeOf)(a);
    LLVMValueRef v[3];
    Divisor d;

    if (n < 16 || g->o->exact_math || g->o->fast_math || g->o->no_contract ||
        L(GetElementType)(t) != g->f32)
        return NULL;
    if (!is_shared(by, 8) || is_power_of_two(by))
        return NULL;
    if (g->ll->x86 && !ml_cg_has(g, "+fma"))
        return NULL;
    d = divisor(g, L(BuildExtractElement)(g->b, b, ml_cg_i64(g, 0), ""));
    v[0] = L(BuildFMul)(g->b, a, ml_cg_splat(g, d.scale, n), "");
    v[2] = L(BuildFMul)(g->b, v[0], ml_cg_splat(g, d.low, n), "");
    v[1] = ml_cg_splat(g, d.high, n);
    return ml_cg_intrinsic(g, "llvm.fma", &t, 1, v, 3);
}
