/*
 * math - mathematical functions: what the machine has, the polynomials of poly.c for
 * float32 (float16 and bfloat16 through it), libm for the rest.
 *
 * A function of libm is called lane by lane. Source: lowering-and-codegen 7.8.
 */
#include "moonloop/codegen/llvm/emit.h"

static const char *libm_name(ml_OpId op, bool wide)
{
#define NAMES(OP, name)                                                                    \
    case ML_OP_##OP: return wide ? (name) : name "f"
    switch ((int)op) {
        NAMES(EXP, "exp");
        NAMES(EXP2, "exp2");
        NAMES(LOG, "log");
        NAMES(LOG2, "log2");
        NAMES(LOG10, "log10");
        NAMES(LOG1P, "log1p");
        NAMES(TANH, "tanh");
        NAMES(SINH, "sinh");
        NAMES(COSH, "cosh");
        NAMES(TAN, "tan");
        NAMES(SIN, "sin");
        NAMES(COS, "cos");
        NAMES(ASIN, "asin");
        NAMES(ACOS, "acos");
        NAMES(ATAN, "atan");
        NAMES(ASINH, "asinh");
        NAMES(ACOSH, "acosh");
        NAMES(ATANH, "atanh");
        NAMES(ERF, "erf");
        NAMES(POW, "pow");
        NAMES(FMOD, "fmod");
        NAMES(ATAN2, "atan2");
        NAMES(HYPOT, "hypot");
        NAMES(NEXTAFTER, "nextafter");
    default: return NULL;
    }
#undef NAMES
}

LLVMValueRef ml_cg_libm(ml_Cg *g, const char *name, unsigned n, LLVMValueRef x,
                        LLVMValueRef y)
{
    LLVMTypeRef t = n ? L(GetElementType)(L(TypeOf)(x)) : L(TypeOf)(x);
    LLVMTypeRef types[2] = {t, t};
    LLVMValueRef all, args[2] = {x, y};

    if (y)
        types[1] = n ? L(GetElementType)(L(TypeOf)(y)) : L(TypeOf)(y);
    if (n == 0)
        return ml_cg_call_c(g, name, t, types, args, y ? 2 : 1, true);
    all = L(GetPoison)(L(TypeOf)(x));
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef at = ml_cg_i64(g, k), r;
        args[0] = L(BuildExtractElement)(g->b, x, at, "");
        if (y)
            args[1] = L(BuildExtractElement)(g->b, y, at, "");
        r = ml_cg_call_c(g, name, t, types, args, y ? 2 : 1, true);
        all = L(BuildInsertElement)(g->b, all, r, at, "");
    }
    return all;
}

/* What is one instruction, or a few. */
static LLVMValueRef direct(ml_Cg *g, ml_OpId op, unsigned n, LLVMValueRef x)
{
    LLVMTypeRef t = L(TypeOf)(x), s = n ? L(GetElementType)(t) : t;

    switch ((int)op) {
    case ML_OP_SQRT: return ml_cg_intrinsic1(g, "llvm.sqrt", x);
    case ML_OP_RSQRT: /* float32 is corrected in poly.c */
        if (s == g->f32 && !g->o->exact_math && !g->o->fast_math)
            return NULL;
        x = ml_cg_fp(g, ml_cg_intrinsic1(g, "llvm.sqrt", x));
        return ml_cg_fp(g, L(BuildFDiv)(g->b, ml_cg_real(g, s, n, 1.0), x, ""));
    case ML_OP_FABS: return ml_cg_intrinsic1(g, "llvm.fabs", x);
    case ML_OP_FLOOR: return ml_cg_intrinsic1(g, "llvm.floor", x);
    case ML_OP_CEIL: return ml_cg_intrinsic1(g, "llvm.ceil", x);
    case ML_OP_ROUND: return ml_cg_intrinsic1(g, "llvm.round", x);
    case ML_OP_TRUNC: return ml_cg_intrinsic1(g, "llvm.trunc", x);
    case ML_OP_NEARBYINT: return ml_cg_intrinsic1(g, "llvm.nearbyint", x);
    default: return NULL;
    }
}

LLVMValueRef ml_cg_math1(ml_Cg *g, ml_OpId op, ml_Dtype t, unsigned n, LLVMValueRef x)
{
    bool wide = t.bits == 64;
    LLVMTypeRef s = wide ? g->f64 : g->f32;
    LLVMValueRef v = direct(g, op, n, x), one = ml_cg_real(g, s, n, 1.0);
    const char *name = libm_name(op, wide);

    if (v == NULL && !wide && !g->o->exact_math)
        v = ml_cg_poly1(g, op, n, x);
    if (v == NULL && op == ML_OP_SIGMOID) {
        v = L(BuildFNeg)(g->b, x, "");
        v = ml_cg_libm(g, wide ? "exp" : "expf", n, v, NULL);
        v = L(BuildFDiv)(g->b, one, L(BuildFAdd)(g->b, one, v, ""), "");
    }
    if (v == NULL && op == ML_OP_EXP10)
        v = ml_cg_libm(g, wide ? "pow" : "powf", n, ml_cg_real(g, s, n, 10.0), x);
    if (v == NULL && name)
        v = ml_cg_libm(g, name, n, x, NULL);
    if (v == NULL) {
        ml_cg_unsupported(g, "%s in compiled code", ml_op(op)->name);
        return L(GetUndef)(L(TypeOf)(x));
    }
    return ml_cg_round(g, t, n, v);
}

/* y is a double, x of type t. */
static LLVMValueRef ldexp_of(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef x,
                             LLVMValueRef y)
{
    LLVMTypeRef over[2] = {ml_cg_vec(g, g->i32, n), L(TypeOf)(y)};
    LLVMValueRef v, lo = ml_cg_real(g, g->f64, n, -100000.0), c;

    c = L(BuildFCmp)(g->b, LLVMRealOLT, y, lo, "");
    y = L(BuildSelect)(g->b, c, lo, y, "");
    lo = ml_cg_real(g, g->f64, n, 100000.0);
    c = L(BuildFCmp)(g->b, LLVMRealOGT, y, lo, "");
    y = L(BuildSelect)(g->b, c, lo, y, "");
    y = ml_cg_intrinsic(g, "llvm.fptosi.sat", over, 2, &y, 1);
    v = ml_cg_libm(g, "ldexp", n, ml_cg_cast(g, t, ML_DT_F64, n, x), y);
    return ml_cg_cast(g, ML_DT_F64, t, n, v);
}

LLVMValueRef ml_cg_math2(ml_Cg *g, ml_OpId op, ml_Dtype t, unsigned n, LLVMValueRef x,
                         LLVMValueRef y)
{
    bool wide = t.bits == 64;
    LLVMTypeRef type = L(TypeOf)(x);
    LLVMValueRef v = NULL, args[2] = {x, y};

    if (op == ML_OP_COPYSIGN)
        return ml_cg_intrinsic(g, "llvm.copysign", &type, 1, args, 2);
    if (op == ML_OP_LDEXP)
        return ldexp_of(g, t, n, x, y);
    if (op == ML_OP_POW && !wide && !g->o->exact_math)
        v = ml_cg_poly_pow(g, n, x, y);
    if (v == NULL)
        v = ml_cg_libm(g, libm_name(op, wide), n, x, y);
    return ml_cg_round(g, t, n, v);
}
