/*
 * types - element types as LLVM's, constants, conversions and rounding.
 *
 * float16, bfloat16 and the floats of eight bits (eight.c) are computed in float: a sum, difference, product, quotient or root
 * of two such numbers, rounded to float and then to the narrow type, is rounded as if once
 * (float has 2p + 2 bits of either). Where the exact value has more bits than float holds
 * (double and integer sources, fma) it is rounded to odd first. Source: lowering-and-
 * codegen 6; Figueroa 1995; Boldo and Melquiond 2008.
 */
#include "moonloop/codegen/llvm/emit.h"

#include <math.h>

bool ml_cg_dtype_ok(ml_Cg *g, ml_Dtype t)
{
    bool ok = t.lanes >= 1;

    switch ((ml_Code)t.code) {
    case ML_BOOL: ok = ok && t.bits == 1; break;
    case ML_INT:
    case ML_UINT:
        ok = ok && (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64);
        break;
    case ML_FLOAT: ok = ok && (t.bits == 16 || t.bits == 32 || t.bits == 64); break;
    case ML_BFLOAT: ok = ok && t.bits == 16; break;
    case ML_HANDLE: ok = t.lanes == 1; break;
    case ML_F8_E4M3FN:
    case ML_F8_E5M2: break;
    case ML_F8_E4M3:
    case ML_F8_E3M4:
    case ML_F8_E4M3B11FNUZ:
    case ML_F8_E4M3FNUZ:
    case ML_F8_E5M2FNUZ:
    case ML_F8_E8M0FNU:
    case ML_F6_E2M3FN:
    case ML_F6_E3M2FN:
    case ML_F4_E2M1FN:
    case ML_VOID: ok = false; break;
    }
    if (!ok)
        ml_cg_unsupported(g, "%s in compiled code", ml_dtype_name(g->cx, t));
    return ok;
}

LLVMTypeRef ml_cg_vec(ml_Cg *g, LLVMTypeRef t, unsigned n)
{
    return n ? L(VectorType)(t, n) : t;
}

static LLVMTypeRef int_type(ml_Cg *g, unsigned bits)
{
    return bits == 8 ? g->i8 : bits == 16 ? g->i16 : bits == 32 ? g->i32 : g->i64;
}

LLVMTypeRef ml_cg_type(ml_Cg *g, ml_Dtype t, unsigned n)
{
    LLVMTypeRef s = g->i32;

    if (ml_cg_dtype_ok(g, t)) {
        if (t.code == ML_BOOL)
            s = g->i1;
        else if (t.code == ML_HANDLE)
            s = g->ptr;
        else if (ml_dtype_is_int(t))
            s = int_type(g, t.bits);
        else
            s = t.bits == 64 ? g->f64 : g->f32;
    }
    return ml_cg_vec(g, s, n);
}

LLVMTypeRef ml_cg_memory_type(ml_Cg *g, ml_Dtype t, unsigned n)
{
    if (t.code == ML_BOOL)
        return ml_cg_vec(g, g->i8, n);
    if (ml_cg_is_half(t))
        return ml_cg_vec(g,
                         ml_cg_is_eight(t)    ? g->i8
                         : t.code == ML_FLOAT ? g->f16
                                              : g->i16,
                         n);
    return ml_cg_type(g, t, n);
}

/* ---------------------------------------------------------------- constants, shuffles */

static LLVMValueRef const_splat(ml_Cg *g, LLVMValueRef v, unsigned n)
{
    LLVMValueRef *all;

    if (n == 0)
        return v;
    all = ML_ARRAY(g->cx, LLVMValueRef, n);
    for (unsigned k = 0; k < n; k++)
        all[k] = v;
    return L(ConstVector)(all, n);
}

LLVMValueRef ml_cg_int(ml_Cg *g, LLVMTypeRef t, unsigned n, int64_t v)
{
    return const_splat(g, L(ConstInt)(t, (unsigned long long)v, true), n);
}

LLVMValueRef ml_cg_real(ml_Cg *g, LLVMTypeRef t, unsigned n, double v)
{
    return const_splat(g, L(ConstReal)(t, v), n);
}

LLVMValueRef ml_cg_iota(ml_Cg *g, LLVMTypeRef t, unsigned n, int64_t first, int64_t step)
{
    LLVMValueRef *all = ML_ARRAY(g->cx, LLVMValueRef, n);

    for (unsigned k = 0; k < n; k++)
        all[k] = L(ConstInt)(t, (unsigned long long)((uint64_t)first + k * (uint64_t)step),
                             true);
    return L(ConstVector)(all, n);
}

LLVMValueRef ml_cg_splat(ml_Cg *g, LLVMValueRef v, unsigned n)
{
    LLVMTypeRef t;
    LLVMValueRef one;

    if (n == 0)
        return v;
    if (L(IsConstant)(v))
        return const_splat(g, v, n);
    t = L(VectorType)(L(TypeOf)(v), n);
    one = L(BuildInsertElement)(g->b, L(GetPoison)(t), v, ml_cg_i64(g, 0), "");
    return L(BuildShuffleVector)(g->b, one, L(GetPoison)(t), ml_cg_int(g, g->i32, n, 0),
                                 "");
}

LLVMValueRef ml_cg_shuffle(ml_Cg *g, LLVMValueRef a, LLVMValueRef b, const int *pick,
                           unsigned n)
{
    LLVMValueRef *mask = ML_ARRAY(g->cx, LLVMValueRef, n);

    for (unsigned k = 0; k < n; k++)
        mask[k] = pick[k] < 0 ? L(GetPoison)(g->i32)
                              : L(ConstInt)(g->i32, (unsigned long long)pick[k], false);
    if (b == NULL)
        b = L(GetPoison)(L(TypeOf)(a));
    return L(BuildShuffleVector)(g->b, a, b, L(ConstVector)(mask, n), "");
}

/* ---------------------------------------------------------------- calls */

LLVMValueRef ml_cg_intrinsic(ml_Cg *g, const char *name, LLVMTypeRef *over, size_t n_over,
                             LLVMValueRef *args, unsigned n)
{
    unsigned id = L(LookupIntrinsicID)(name, strlen(name));
    LLVMValueRef f;

    ML_ASSERT(id != 0);
    f = L(GetIntrinsicDeclaration)(g->m, id, over, n_over);
    return L(BuildCall2)(g->b, L(IntrinsicGetType)(g->lc, id, over, n_over), f, args, n,
                         "");
}

LLVMValueRef ml_cg_intrinsic1(ml_Cg *g, const char *name, LLVMValueRef a)
{
    LLVMTypeRef t = L(TypeOf)(a);

    return ml_cg_intrinsic(g, name, &t, 1, &a, 1);
}

LLVMValueRef ml_cg_call_c(ml_Cg *g, const char *name, LLVMTypeRef ret, LLVMTypeRef *types,
                          LLVMValueRef *args, unsigned n, bool pure)
{
    LLVMTypeRef type = L(FunctionType)(ret, types, n, false);
    LLVMValueRef f = L(GetNamedFunction)(g->m, name);

    if (f == NULL) {
        f = L(AddFunction)(g->m, name, type);
        ml_cg_attr(g, f, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
        ml_cg_attr(g, f, (unsigned)LLVMAttributeFunctionIndex, "willreturn", 0);
        if (pure)
            ml_cg_attr(g, f, (unsigned)LLVMAttributeFunctionIndex, "memory", 0);
    } else if (L(GlobalGetValueType)(f) != type) {
        ml_cg_fail(g, "%s is called with different types", name);
        return L(GetUndef)(ret);
    }
    return L(BuildCall2)(g->b, type, f, args, n, "");
}

/* ---------------------------------------------------------------- memory */

LLVMValueRef ml_cg_to_memory(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v)
{
    if (t.code == ML_BOOL)
        return L(BuildZExt)(g->b, v, ml_cg_vec(g, g->i8, n), "");
    if (!ml_cg_is_half(t))
        return v;
    if (ml_cg_is_eight(t))
        return ml_cg_to_eight(g, t, n, v);
    if (t.code == ML_FLOAT)
        return L(BuildFPTrunc)(g->b, v, ml_cg_vec(g, g->f16, n), "");
    v = L(BuildBitCast)(g->b, v, ml_cg_vec(g, g->i32, n), "");
    v = L(BuildLShr)(g->b, v, ml_cg_int(g, g->i32, n, 16), "");
    return L(BuildTrunc)(g->b, v, ml_cg_vec(g, g->i16, n), "");
}

LLVMValueRef ml_cg_from_memory(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v)
{
    if (t.code == ML_BOOL)
        return L(BuildICmp)(g->b, LLVMIntNE, v, ml_cg_int(g, g->i8, n, 0), "");
    if (!ml_cg_is_half(t))
        return v;
    if (ml_cg_is_eight(t))
        return ml_cg_from_eight(g, t, n, v);
    if (t.code == ML_FLOAT)
        return L(BuildFPExt)(g->b, v, ml_cg_vec(g, g->f32, n), "");
    v = L(BuildZExt)(g->b, v, ml_cg_vec(g, g->i32, n), "");
    v = L(BuildShl)(g->b, v, ml_cg_int(g, g->i32, n, 16), "");
    return L(BuildBitCast)(g->b, v, ml_cg_vec(g, g->f32, n), "");
}

/* ---------------------------------------------------------------- floats */

LLVMValueRef ml_cg_fp(ml_Cg *g, LLVMValueRef v)
{
    if (g->o->fast_math && L(CanValueUseFastMathFlags)(v))
        L(SetFastMathFlags)
    (v, LLVMFastMathAllowReassoc | LLVMFastMathNoSignedZeros | LLVMFastMathAllowContract |
            LLVMFastMathAllowReciprocal);
    return v;
}

/* Float to the nearest bfloat16, kept as float; NaN becomes the quiet one. */
static LLVMValueRef round_bf16(ml_Cg *g, unsigned n, LLVMValueRef v)
{
    LLVMTypeRef i = ml_cg_vec(g, g->i32, n);
    LLVMValueRef u = L(BuildBitCast)(g->b, v, i, ""), r;
    LLVMValueRef nan = L(BuildFCmp)(g->b, LLVMRealUNO, v, v, "");

    r = L(BuildLShr)(g->b, u, ml_cg_int(g, g->i32, n, 16), "");
    r = L(BuildAnd)(g->b, r, ml_cg_int(g, g->i32, n, 1), "");
    r = L(BuildAdd)(g->b, r, ml_cg_int(g, g->i32, n, 0x7fff), "");
    r = L(BuildAdd)(g->b, r, u, "");
    r = L(BuildAnd)(g->b, r, ml_cg_int(g, g->i32, n, (int64_t)0xffff0000), "");
    r = L(BuildSelect)(g->b, nan, ml_cg_int(g, g->i32, n, 0x7fc00000), r, "");
    return L(BuildBitCast)(g->b, r, ml_cg_vec(g, g->f32, n), "");
}

LLVMValueRef ml_cg_round(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v)
{
    if (!ml_cg_is_half(t))
        return v;
    if (ml_cg_is_eight(t))
        return ml_cg_round_eight(g, t, n, v);
    if (t.code == ML_BFLOAT)
        return round_bf16(g, n, v);
    v = L(BuildFPTrunc)(g->b, v, ml_cg_vec(g, g->f16, n), "");
    return L(BuildFPExt)(g->b, v, ml_cg_vec(g, g->f32, n), "");
}

LLVMValueRef ml_cg_to_odd(ml_Cg *g, unsigned n, LLVMValueRef v)
{
    LLVMTypeRef it = ml_cg_vec(g, g->i32, n), ft = ml_cg_vec(g, g->f32, n);
    LLVMValueRef f = L(BuildFPTrunc)(g->b, v, ft, "");
    LLVMValueRef back = L(BuildFPExt)(g->b, f, ml_cg_vec(g, g->f64, n), "");
    LLVMValueRef bits = L(BuildBitCast)(g->b, f, it, ""), even, far, fix;

    fix = L(BuildFCmp)(g->b, LLVMRealONE, back, v, "");
    even = L(BuildAnd)(g->b, bits, ml_cg_int(g, g->i32, n, 1), "");
    even = L(BuildICmp)(g->b, LLVMIntEQ, even, ml_cg_int(g, g->i32, n, 0), "");
    fix = L(BuildAnd)(g->b, fix, even, "");
    far = L(BuildFCmp)(g->b, LLVMRealOGT, ml_cg_intrinsic1(g, "llvm.fabs", back),
                       ml_cg_intrinsic1(g, "llvm.fabs", v), "");
    far = L(BuildSelect)(g->b, far, ml_cg_int(g, g->i32, n, -1), ml_cg_int(g, g->i32, n, 1),
                         "");
    far = L(BuildSelect)(g->b, fix, far, ml_cg_int(g, g->i32, n, 0), "");
    return L(BuildBitCast)(g->b, L(BuildAdd)(g->b, bits, far, ""), ft, "");
}

/* ---------------------------------------------------------------- casts */

/* An integer of 64 bits whose double is exact or, from 2^53 on, rounded to odd. */
static LLVMValueRef sticky(ml_Cg *g, unsigned n, LLVMValueRef v, bool is_signed)
{
    LLVMValueRef low = L(BuildAnd)(g->b, v, ml_cg_int(g, g->i64, n, 4095), ""), odd, big;

    low = L(BuildICmp)(g->b, LLVMIntNE, low, ml_cg_int(g, g->i64, n, 0), "");
    low = L(BuildSelect)(g->b, low, ml_cg_int(g, g->i64, n, 2048),
                         ml_cg_int(g, g->i64, n, 0), "");
    odd = L(BuildAnd)(g->b, v, ml_cg_int(g, g->i64, n, -4096), "");
    odd = L(BuildOr)(g->b, odd, low, "");
    big =
        is_signed ? L(BuildAdd)(g->b, v, ml_cg_int(g, g->i64, n, INT64_C(1) << 53), "") : v;
    big = L(BuildICmp)(g->b, LLVMIntUGT, big,
                       ml_cg_int(g, g->i64, n, INT64_C(1) << (is_signed ? 54 : 53)), "");
    return L(BuildSelect)(g->b, big, odd, v, "");
}

static LLVMValueRef int_to_float(ml_Cg *g, ml_Dtype from, ml_Dtype to, unsigned n,
                                 LLVMValueRef v)
{
    bool is_signed = from.code == ML_INT, narrow = ml_cg_is_half(to);
    LLVMTypeRef t = ml_cg_type(g, to, n);

    if (narrow && from.bits >= 32)
        t = ml_cg_vec(g, g->f64, n);
    if (narrow && from.bits == 64)
        v = sticky(g, n, v, is_signed);
    v = is_signed ? L(BuildSIToFP)(g->b, v, t, "") : L(BuildUIToFP)(g->b, v, t, "");
    if (!narrow)
        return v;
    if (from.bits >= 32)
        v = ml_cg_to_odd(g, n, v);
    return ml_cg_round(g, to, n, v);
}

static LLVMValueRef float_to_int(ml_Cg *g, ml_Dtype from, ml_Dtype to, unsigned n,
                                 LLVMValueRef v)
{
    LLVMTypeRef over[2] = {ml_cg_type(g, to, n), ml_cg_type(g, from, n)};

    return ml_cg_intrinsic(g, to.code == ML_INT ? "llvm.fptosi.sat" : "llvm.fptoui.sat",
                           over, 2, &v, 1);
}

LLVMValueRef ml_cg_cast(ml_Cg *g, ml_Dtype from, ml_Dtype to, unsigned n, LLVMValueRef v)
{
    LLVMTypeRef t;

    if (from.code == to.code && from.bits == to.bits)
        return v;
    if (!ml_cg_dtype_ok(g, from) || !ml_cg_dtype_ok(g, to))
        return L(GetUndef)(ml_cg_type(g, to, n));
    if (from.code == ML_HANDLE || to.code == ML_HANDLE) {
        ml_cg_unsupported(g, "a cast of a pointer in compiled code");
        return L(GetUndef)(ml_cg_type(g, to, n));
    }
    t = ml_cg_type(g, to, n);
    if (ml_dtype_is_float(from)) {
        LLVMTypeRef ft = L(TypeOf)(v);
        if (to.code == ML_BOOL)
            return L(BuildFCmp)(g->b, LLVMRealUNE, v, L(ConstNull)(ft), "");
        if (!ml_dtype_is_float(to))
            return float_to_int(g, from, to, n, v);
        if (from.bits == 64)
            v = ml_cg_is_half(to) ? ml_cg_to_odd(g, n, v) : L(BuildFPTrunc)(g->b, v, t, "");
        else if (to.bits == 64)
            return L(BuildFPExt)(g->b, v, t, "");
        return ml_cg_round(g, to, n, v);
    }
    if (ml_dtype_is_float(to))
        return int_to_float(g, from, to, n, v);
    if (to.code == ML_BOOL)
        return L(BuildICmp)(g->b, LLVMIntNE, v, L(ConstNull)(L(TypeOf)(v)), "");
    if (from.bits > to.bits)
        return L(BuildTrunc)(g->b, v, t, "");
    if (from.bits == to.bits)
        return v;
    return from.code == ML_INT ? L(BuildSExt)(g->b, v, t, "")
                               : L(BuildZExt)(g->b, v, t, "");
}
