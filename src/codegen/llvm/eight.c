/*
 * eight - the floats of eight bits that compiled code has: float8_e4m3fn and float8_e5m2.
 *
 * In registers they are floats, as the other narrow ones are. In memory e5m2 is the upper
 * half of a float16, and e4m3 that of one 2^8 times smaller, subnormals included; only its
 * NaN, whose place is a number there, is told apart. Rounding is done on the float: of what
 * is normal by its bits, of what is smaller by adding a number whose last place is the least
 * subnormal. Source: lowering-and-codegen 6.
 */
#include "moonloop/codegen/llvm/emit.h"

bool ml_cg_is_eight(ml_Dtype t)
{
    return t.code == ML_F8_E4M3FN || t.code == ML_F8_E5M2;
}

static LLVMValueRef i16(ml_Cg *g, unsigned n, int64_t v)
{
    return ml_cg_int(g, g->i16, n, v);
}

LLVMValueRef ml_cg_from_eight(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v)
{
    LLVMTypeRef half = ml_cg_vec(g, g->f16, n), single = ml_cg_vec(g, g->f32, n);
    LLVMValueRef h, nan, sign;

    v = L(BuildZExt)(g->b, v, ml_cg_vec(g, g->i16, n), "");
    h = L(BuildShl)(g->b, v, i16(g, n, 8), "");
    if (t.code == ML_F8_E5M2)
        return L(BuildFPExt)(g->b, L(BuildBitCast)(g->b, h, half, ""), single, "");
    sign = L(BuildAnd)(g->b, h, i16(g, n, 0x8000), "");
    v = L(BuildAnd)(g->b, v, i16(g, n, 0x7f), "");
    nan = L(BuildICmp)(g->b, LLVMIntEQ, v, i16(g, n, 0x7f), "");
    h = L(BuildOr)(g->b, L(BuildShl)(g->b, v, i16(g, n, 7), ""), sign, "");
    h = L(BuildSelect)(g->b, nan, i16(g, n, 0x7e00), h, "");
    v = L(BuildFPExt)(g->b, L(BuildBitCast)(g->b, h, half, ""), single, "");
    return L(BuildFMul)(g->b, v, ml_cg_real(g, g->f32, n, 256.0), "");
}

LLVMValueRef ml_cg_to_eight(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v)
{
    bool small = t.code == ML_F8_E4M3FN;
    LLVMValueRef nan = L(BuildFCmp)(g->b, LLVMRealUNO, v, v, ""), h, sign;

    if (small)
        v = L(BuildFMul)(g->b, v, ml_cg_real(g, g->f32, n, 1.0 / 256), "");
    h = L(BuildFPTrunc)(g->b, v, ml_cg_vec(g, g->f16, n), "");
    h = L(BuildBitCast)(g->b, h, ml_cg_vec(g, g->i16, n), "");
    sign = L(BuildAnd)(g->b, L(BuildLShr)(g->b, h, i16(g, n, 8), ""), i16(g, n, 0x80), "");
    h = L(BuildLShr)(g->b, h, i16(g, n, small ? 7 : 8), "");
    h = L(BuildAnd)(g->b, h, i16(g, n, 0x7f), "");
    h = L(BuildSelect)(g->b, nan, i16(g, n, small ? 0x7f : 0x7e), h, "");
    return L(BuildTrunc)(g->b, L(BuildOr)(g->b, h, sign, ""), ml_cg_vec(g, g->i8, n), "");
}

LLVMValueRef ml_cg_round_eight(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef v)
{
    bool small = t.code == ML_F8_E4M3FN;
    unsigned cut = small ? 20 : 21; /* bits of a float that go */
    double least = small ? 0x1p-6 : 0x1p-14, shift = small ? 0x1p14 : 0x1p7;
    LLVMTypeRef it = ml_cg_vec(g, g->i32, n), ft = ml_cg_vec(g, g->f32, n), over[1] = {ft};
    LLVMValueRef size = ml_cg_intrinsic1(g, "llvm.fabs", v), r, low, two[2], c;

    r = L(BuildBitCast)(g->b, size, it, "");
    c = L(BuildLShr)(g->b, r, ml_cg_int(g, g->i32, n, cut), "");
    c = L(BuildAnd)(g->b, c, ml_cg_int(g, g->i32, n, 1), "");
    c = L(BuildAdd)(g->b, c, ml_cg_int(g, g->i32, n, (1 << (cut - 1)) - 1), "");
    r = L(BuildAnd)(g->b, L(BuildAdd)(g->b, r, c, ""), ml_cg_int(g, g->i32, n, -(1 << cut)),
                    "");
    r = L(BuildBitCast)(g->b, r, ft, "");

    low = L(BuildFAdd)(g->b, size, ml_cg_real(g, g->f32, n, shift), "");
    low = L(BuildFSub)(g->b, low, ml_cg_real(g, g->f32, n, shift), "");
    c = L(BuildFCmp)(g->b, LLVMRealOLT, size, ml_cg_real(g, g->f32, n, least), "");
    r = L(BuildSelect)(g->b, c, low, r, "");

    c = L(BuildFCmp)(g->b, LLVMRealOGT, r, ml_cg_real(g, g->f32, n, ml_dtype_fmax(t)), "");
    low = ml_cg_real(g, g->f32, n, (double)(small ? __builtin_nanf("") : __builtin_inff()));
    r = L(BuildSelect)(g->b, c, low, r, "");
    two[0] = r;
    two[1] = v;
    r = ml_cg_intrinsic(g, "llvm.copysign", over, 1, two, 2);
    c = L(BuildFCmp)(g->b, LLVMRealUNO, v, v, "");
    return L(BuildSelect)(g->b, c, v, r, "");
}
