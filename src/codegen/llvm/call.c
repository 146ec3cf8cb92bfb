/*
 * call - calls in expressions: bits, fused products, reinterpretation, external functions,
 * LLVM's intrinsics; mathematics is in math.c.
 *
 * An external function is called with the C types of its arguments and found by name when
 * the object is linked. Shift counts outside the width are an error of the program; here
 * they are taken modulo the width.
 */
#include <stdlib.h>

#include "moonloop/codegen/llvm/emit.h"

static LLVMValueRef bad(ml_Cg *g, const ml_Expr *e, unsigned n)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;

    if (name && name->kind == ML_EXPR_STRING)
        ml_cg_unsupported(g, "%s of %s in compiled code", e->as.op->name, name->as.s);
    else
        ml_cg_unsupported(g, "%s in compiled code", e->as.op->name);
    return L(GetUndef)(e->type.code >= ML_VOID || e->type.lanes < 1
                           ? ml_cg_vec(g, g->i32, n)
                           : ml_cg_type(g, e->type, n));
}

static LLVMValueRef arg(ml_Cg *g, const ml_Expr *e, size_t k, unsigned lane0, unsigned n)
{
    LLVMValueRef v = ml_cg_value(g, e->args[k], lane0, n);

    return n && e->args[k]->type.lanes <= 1 ? ml_cg_splat(g, v, n) : v;
}

/* ---------------------------------------------------------------- bits */

static bool has_bits(ml_Dtype t)
{
    return ml_dtype_is_int(t) || t.code == ML_BOOL;
}

static LLVMValueRef bits2(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_Dtype t = e->type;
    LLVMValueRef a, b;

    if (e->n_args != 2 || !has_bits(t) || !has_bits(e->args[0]->type) ||
        e->args[0]->type.bits != t.bits || e->args[1]->type.bits != t.bits)
        return bad(g, e, n);
    a = arg(g, e, 0, lane0, n);
    b = arg(g, e, 1, lane0, n);
    switch ((int)e->as.op->id) {
    case ML_OP_BITWISE_AND: return L(BuildAnd)(g->b, a, b, "");
    case ML_OP_BITWISE_OR: return L(BuildOr)(g->b, a, b, "");
    case ML_OP_BITWISE_XOR: return L(BuildXor)(g->b, a, b, "");
    default: break;
    }
    b = L(BuildAnd)(g->b, b, ml_cg_int(g, ml_cg_type(g, t, 0), n, t.bits - 1), "");
    if (ml_is_op(e, ML_OP_SHIFT_LEFT))
        return L(BuildShl)(g->b, a, b, "");
    return t.code == ML_INT ? L(BuildAShr)(g->b, a, b, "") : L(BuildLShr)(g->b, a, b, "");
}

static LLVMValueRef count_bits(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_Dtype t = e->n_args == 1 ? e->args[0]->type : ML_DT_VOID;
    LLVMValueRef args[2];
    LLVMTypeRef over;

    if (!ml_dtype_is_int(t) || !ml_dtype_is_int(e->type) || !ml_cg_dtype_ok(g, t))
        return bad(g, e, n);
    over = ml_cg_type(g, t, n);
    args[0] = arg(g, e, 0, lane0, n);
    args[1] = ml_cg_int(g, g->i1, 0, 0);
    if (ml_is_op(e, ML_OP_POPCOUNT))
        args[0] = ml_cg_intrinsic(g, "llvm.ctpop", &over, 1, args, 1);
    else
        args[0] = ml_cg_intrinsic(g, "llvm.ctlz", &over, 1, args, 2);
    return ml_cg_cast(g, (ml_Dtype){ML_UINT, t.bits, 1}, e->type, n, args[0]);
}

/* round(x * 2^left * y / 2^(q + right)), halves up; see the interpreter. */
static LLVMValueRef multiply_shift(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    bool axis = ml_is_op(e, ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS);
    LLVMTypeRef t = ml_cg_vec(g, g->i64, n);
    LLVMValueRef zero = ml_cg_int(g, g->i64, n, 0), one = ml_cg_int(g, g->i64, n, 1);
    LLVMValueRef v[7], left, right, total, half, c, p;

    if (e->n_args != (axis ? 7 : 4) || e->type.code != ML_INT || e->type.bits != 32)
        return bad(g, e, n);
    for (size_t k = 0; k < e->n_args; k++) {
        ml_Dtype a = e->args[k]->type;
        if (!has_bits(a) || !ml_cg_dtype_ok(g, a))
            return bad(g, e, n);
        v[k] = arg(g, e, k, lane0, n);
        if (a.code == ML_BOOL || a.bits < 64)
            v[k] = a.code == ML_INT ? L(BuildSExt)(g->b, v[k], t, "")
                                    : L(BuildZExt)(g->b, v[k], t, "");
    }
    if (axis) {
        c = L(BuildICmp)(g->b, LLVMIntNE, v[5], zero, "");
        left = L(BuildSelect)(g->b, c, v[2], zero, "");
        c = L(BuildICmp)(g->b, LLVMIntNE, v[6], zero, "");
        right = L(BuildSelect)(g->b, c, v[3], zero, "");
        total = L(BuildAdd)(g->b, v[4], right, "");
    } else {
        c = L(BuildICmp)(g->b, LLVMIntSGT, v[3], zero, "");
        left = L(BuildSelect)(g->b, c, v[3], zero, "");
        right = L(BuildSelect)(g->b, c, zero, L(BuildNeg)(g->b, v[3], ""), "");
        total = L(BuildAdd)(g->b, v[2], right, "");
    }
    left = L(BuildAnd)(g->b, left, ml_cg_int(g, g->i64, n, 63), "");
    p = L(BuildMul)(g->b, L(BuildShl)(g->b, v[0], left, ""), v[1], "");
    c = L(BuildICmp)(g->b, LLVMIntSGT, total, ml_cg_int(g, g->i64, n, 62), "");
    total = L(BuildSelect)(g->b, c, ml_cg_int(g, g->i64, n, 62), total, "");
    c = L(BuildICmp)(g->b, LLVMIntSLE, total, zero, "");
    total = L(BuildSelect)(g->b, c, one, total, "");
    half = L(BuildShl)(g->b, one, L(BuildSub)(g->b, total, one, ""), "");
    half = L(BuildAShr)(g->b, L(BuildAdd)(g->b, p, half, ""), total, "");
    p = L(BuildSelect)(g->b, c, p, half, "");
    return L(BuildTrunc)(g->b, p, ml_cg_vec(g, g->i32, n), "");
}

/* ---------------------------------------------------------------- floats */

/* s + err with s = fl(...), as the neighbour of s with an odd last bit unless exact. */
static LLVMValueRef neighbour(ml_Cg *g, unsigned n, LLVMValueRef s, LLVMValueRef err)
{
    LLVMTypeRef i = ml_cg_vec(g, g->i64, n);
    LLVMValueRef zero = ml_cg_real(g, g->f64, n, 0.0), u, even, up, away, c;

    u = L(BuildBitCast)(g->b, s, i, "");
    even = L(BuildAnd)(g->b, u, ml_cg_int(g, g->i64, n, 1), "");
    even = L(BuildICmp)(g->b, LLVMIntEQ, even, ml_cg_int(g, g->i64, n, 0), "");
    c = L(BuildFCmp)(g->b, LLVMRealONE, err, zero, ""); /* false for NaN */
    c = L(BuildAnd)(g->b, c, even, "");
    up = L(BuildFCmp)(g->b, LLVMRealOGT, err, zero, "");
    away = L(BuildXor)(g->b, up, L(BuildFCmp)(g->b, LLVMRealOLT, s, zero, ""), "");
    away = L(BuildSelect)(g->b, away, ml_cg_int(g, g->i64, n, 1),
                          ml_cg_int(g, g->i64, n, -1), "");
    away = L(BuildSelect)(g->b, c, away, ml_cg_int(g, g->i64, n, 0), "");
    return L(BuildBitCast)(g->b, L(BuildAdd)(g->b, u, away, ""), ml_cg_vec(g, g->f64, n),
                           "");
}

static LLVMValueRef fma_of(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    LLVMTypeRef t, wide = ml_cg_vec(g, g->f64, n);
    LLVMValueRef v[3], p, s, x, err;

    if (e->n_args != 3 || !ml_dtype_is_float(e->type) || !ml_cg_dtype_ok(g, e->type))
        return bad(g, e, n);
    t = ml_cg_type(g, e->type, n);
    for (size_t k = 0; k < 3; k++)
        v[k] = arg(g, e, k, lane0, n);
    if (!ml_cg_is_half(e->type))
        return ml_cg_intrinsic(g, "llvm.fma", &t, 1, v, 3);
    for (size_t k = 0; k < 3; k++)
        v[k] = L(BuildFPExt)(g->b, v[k], wide, "");
    p = L(BuildFMul)(g->b, v[0], v[1], ""); /* exact */
    s = L(BuildFAdd)(g->b, p, v[2], "");
    x = L(BuildFSub)(g->b, s, p, "");
    err = L(BuildFSub)(g->b, p, L(BuildFSub)(g->b, s, x, ""), "");
    err = L(BuildFAdd)(g->b, err, L(BuildFSub)(g->b, v[2], x, ""), "");
    s = ml_cg_to_odd(g, n, neighbour(g, n, s, err));
    return ml_cg_round(g, e->type, n, s);
}

static LLVMValueRef tests(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->n_args == 1 ? e->args[0] : NULL;
    LLVMValueRef v, inf;

    if (p && has_bits(p->type))
        return ml_cg_int(g, g->i1, n, ml_is_op(e, ML_OP_ISFINITE));
    if (p == NULL || !ml_dtype_is_float(p->type) || !ml_cg_dtype_ok(g, p->type))
        return bad(g, e, n);
    v = arg(g, e, 0, lane0, n);
    if (ml_is_op(e, ML_OP_ISNAN))
        return L(BuildFCmp)(g->b, LLVMRealUNO, v, v, "");
    inf = ml_cg_real(g, ml_cg_type(g, p->type, 0), n, (double)__builtin_inff());
    v = ml_cg_intrinsic1(g, "llvm.fabs", v);
    return L(BuildFCmp)(g->b, ml_is_op(e, ML_OP_ISINF) ? LLVMRealOEQ : LLVMRealOLT, v, inf,
                        "");
}

/* Of as many bits in registers as in memory, or given by them alone. */
static bool has_plain_bits(ml_Dtype t)
{
    return ml_dtype_is_int(t) || t.code == ML_FLOAT || t.code == ML_BFLOAT ||
           ml_cg_is_eight(t);
}

/* Between registers and the integer of the same bits. */
static LLVMValueRef reinterpret(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->n_args == 1 ? e->args[0] : NULL;
    LLVMValueRef v;

    /* Elements of another width: all lanes at once. */
    if (p && p->type.bits != e->type.bits && has_plain_bits(p->type) &&
        has_plain_bits(e->type) && ml_cg_dtype_ok(g, p->type) &&
        ml_cg_dtype_ok(g, e->type) && lane0 == 0 && (n == 0 || n == e->type.lanes) &&
        p->type.bits * p->type.lanes == e->type.bits * e->type.lanes) {
        unsigned m = p->type.lanes > 1 ? p->type.lanes : 0;

        v = ml_cg_to_memory(g, p->type, m, ml_cg_value(g, p, 0, m));
        v = L(BuildBitCast)(g->b, v, ml_cg_memory_type(g, e->type, n), "");
        return ml_cg_from_memory(g, e->type, n, v);
    }
    if (p == NULL || p->type.lanes != e->type.lanes || p->type.bits != e->type.bits ||
        p->type.code == ML_BOOL || e->type.code == ML_BOOL || p->type.code == ML_HANDLE ||
        e->type.code == ML_HANDLE || !ml_cg_dtype_ok(g, p->type) ||
        !ml_cg_dtype_ok(g, e->type))
        return bad(g, e, n);
    v = ml_cg_to_memory(g, p->type, n, ml_cg_value(g, p, lane0, n));
    v = L(BuildBitCast)(g->b, v, ml_cg_memory_type(g, e->type, n), "");
    return ml_cg_from_memory(g, e->type, n, v);
}

static LLVMValueRef math(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    ml_OpId id = (ml_OpId)e->as.op->id;
    ml_Dtype t = e->n_args > 0 ? e->args[0]->type : ML_DT_VOID;
    bool two = e->n_args == 2;
    LLVMValueRef x, y, zero;

    if (e->n_args != (unsigned)ml_op(id)->n_args || !ml_cg_dtype_ok(g, t))
        return bad(g, e, n);
    if (!ml_dtype_is_float(t)) {
        bool keeps = e->as.op->family == ML_FAMILY_ROUND;
        if (!ml_dtype_is_int(t) || !(keeps || id == ML_OP_FABS))
            return bad(g, e, n);
        x = arg(g, e, 0, lane0, n);
        if (keeps || t.code == ML_UINT)
            return x;
        zero = L(BuildNeg)(g->b, x, "");
        y = L(BuildICmp)(g->b, LLVMIntSLT, x, L(ConstNull)(L(TypeOf)(x)), "");
        return L(BuildSelect)(g->b, y, zero, x, "");
    }
    x = arg(g, e, 0, lane0, n);
    if (!two)
        return ml_cg_math1(g, id, t, n, x);
    y = arg(g, e, 1, lane0, n);
    if (!ml_dtype_is_float(e->args[1]->type)) {
        if (id != ML_OP_LDEXP)
            return bad(g, e, n);
        y = ml_cg_cast(g, e->args[1]->type, ML_DT_F64, n, y);
    } else if (id == ML_OP_LDEXP) {
        y = ml_cg_cast(g, e->args[1]->type, ML_DT_F64, n, y);
    }
    if (id == ML_OP_NEXTAFTER && t.bits < 32)
        return bad(g, e, n);
    return ml_cg_math2(g, id, t, n, x, y);
}

/* ---------------------------------------------------------------- others' functions */

static LLVMValueRef address_of(ml_Cg *g, const ml_Expr *e)
{
    const ml_Expr *l = e->n_args == 1 ? e->args[0] : NULL;
    const ml_Expr *flat;

    if (l == NULL || l->kind != ML_EXPR_LOAD || !ml_cg_dtype_ok(g, l->as.buffer->type))
        return bad(g, e, 0);
    flat = ml_cg_flat(g, l->as.buffer, l->args, ml_load_rank(l));
    if (flat->type.lanes > 1) {
        const ml_Expr *base, *step;
        if (!ml_cg_affine(g, flat, &base, &step))
            return bad(g, e, 0);
        flat = base;
    }
    return ml_cg_address(g, l->as.buffer, flat, l->as.buffer->type.lanes, 0, false);
}

/* tvm_access_ptr(type, data, offset, extent, how): data + offset elements of the type. */
static LLVMValueRef access_ptr(ml_Cg *g, const ml_Expr *e)
{
    LLVMValueRef at, by;
    ml_Dtype t;

    if (e->n_args != 5 || !ml_is_op(e->args[0], ML_OP_TYPE_ANNOTATION) ||
        e->args[1]->type.code != ML_HANDLE)
        return bad(g, e, 0);
    t = e->args[0]->type;
    if (!ml_cg_dtype_ok(g, t))
        return bad(g, e, 0);
    at = ml_cg_scalar(g, e->args[1]);
    by = ml_cg_index(g, e->args[2]);
    by = L(BuildMul)(g->b, by, ml_cg_i64(g, t.lanes), "");
    return L(BuildGEP2)(g->b, ml_cg_memory_type(g, ml_dtype_lanes(t, 1), 0), at, &by, 1,
                        "");
}

/* In and out of the types that a C function or an intrinsic has. */
static LLVMTypeRef outer_type(ml_Cg *g, ml_Dtype t, bool of_c)
{
    unsigned n = t.lanes > 1 ? t.lanes : 0;

    if (t.code == ML_VOID || t.lanes == 0)
        return g->none;
    return of_c || t.code != ML_BOOL ? ml_cg_memory_type(g, t, n) : ml_cg_type(g, t, n);
}

static LLVMValueRef outward(ml_Cg *g, const ml_Expr *a, bool of_c)
{
    unsigned n = a->type.lanes > 1 ? a->type.lanes : 0;
    LLVMValueRef v = ml_cg_value(g, a, 0, n);

    return of_c || a->type.code != ML_BOOL ? ml_cg_to_memory(g, a->type, n, v) : v;
}

/* Under --safe (which the session tells its workers by the environment) a program calls
 * routines of the mathematical library only. */
static bool may_be_called(const char *name)
{
    static const char *const KNOWN[] = {
        "acos", "acosh", "asin", "asinh", "atan",  "atan2", "atanh", "cbrt",  "ceil",
        "cos",  "cosh",  "erf",  "erfc",  "exp",   "exp2",  "expm1", "fabs",  "floor",
        "fma",  "fmax",  "fmin", "fmod",  "hypot", "log",   "log10", "log1p", "log2",
        "pow",  "round", "sin",  "sinh",  "sqrt",  "tan",   "tanh",  "trunc"};
    const char *safe = getenv("MOONLOOP_SAFE");
    size_t n = strlen(name);

    if (!safe || !*safe)
        return true;
    for (size_t k = 0; k < ML_COUNT(KNOWN); k++)
        if (strncmp(name, KNOWN[k], strlen(KNOWN[k])) == 0 &&
            (n == strlen(KNOWN[k]) || (n == strlen(KNOWN[k]) + 1 && name[n - 1] == 'f')))
            return true;
    return false;
}

static LLVMValueRef external(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;
    bool pure = ml_is_op(e, ML_OP_CALL_PURE_EXTERN);
    unsigned count = e->n_args ? e->n_args - 1u : 0;
    LLVMTypeRef *types = ML_ARRAY(g->cx, LLVMTypeRef, count + 1);
    LLVMValueRef *args = ML_ARRAY(g->cx, LLVMValueRef, count + 1), v;

    if (name == NULL || name->kind != ML_EXPR_STRING || lane0 != 0 ||
        (n && n != e->type.lanes) || g->mask)
        return bad(g, e, n);
    if (ml_streq(name->as.s, "__dp4a")) {
        ml_cg_unsupported(g, "the routine %s, which is of CUDA", name->as.s);
        return L(GetUndef)(outer_type(g, e->type, false));
    }
    if (!may_be_called(name->as.s)) {
        ml_cg_unsupported(g, "the routine %s, under --safe", name->as.s);
        return L(GetUndef)(outer_type(g, e->type, false));
    }
    for (unsigned k = 0; k < count; k++) {
        const ml_Expr *a = e->args[k + 1];
        if (a->kind == ML_EXPR_STRING) {
            types[k] = g->ptr;
            args[k] = L(BuildGlobalStringPtr)(g->b, a->as.s, "text");
            continue;
        }
        if (!ml_cg_dtype_ok(g, a->type))
            return bad(g, e, n);
        types[k] = outer_type(g, a->type, true);
        args[k] = outward(g, a, true);
    }
    if (e->type.code != ML_VOID && !ml_cg_dtype_ok(g, e->type))
        return bad(g, e, n);
    v = ml_cg_call_c(g, name->as.s, outer_type(g, e->type, true), types, args, count, pure);
    if (e->type.code == ML_VOID)
        return ml_cg_int(g, g->i32, 0, 0);
    return ml_cg_from_memory(g, e->type, n, v);
}

bool ml_cg_has(ml_Cg *g, const char *feature)
{
    ml_Text have = {0};
    size_t n = strlen(feature);
    const char *at;
    bool yes = false;

    ml_target_features(&g->ll->target, &have);
    at = strstr(ml_text_z(&have), feature);
    for (; at && !yes; at = strstr(at + 1, feature))
        yes = at[n] == ',' || at[n] == 0;
    ml_text_free(&have);
    return yes;
}

/* LLVM gives up on an intrinsic that the processor lacks, and takes the process with it. */
bool ml_cg_has_intrinsic(ml_Cg *g, const char *name)
{
    static const struct {
        const char *prefix, *feature;
    } needed[] = {
        {"llvm.x86.avx512.vpdpbusd.512", "+avx512vnni"},
        {"llvm.x86.avx512.vpdpbusd.", "+avxvnni"},
        {"llvm.x86.avx512.vpdpbusd.", "+avx512vnni"},
        {"llvm.x86.avx2.vpdpbssd.", "+avxvnniint8"},
        {"llvm.x86.avx512bf16.", "+avx512bf16"},
        {"llvm.x86.tdpbf16ps.", "+amx-bf16"},
        {"llvm.x86.tdpbs", "+amx-int8"},
        {"llvm.x86.tdpbu", "+amx-int8"},
        {"llvm.aarch64.neon.sdot.", "+dotprod"},
        {"llvm.aarch64.neon.udot.", "+dotprod"},
        {"llvm.aarch64.neon.usdot.", "+i8mm"},
        {"llvm.aarch64.neon.smmla.", "+i8mm"},
        {"llvm.aarch64.neon.ummla.", "+i8mm"},
        {"llvm.aarch64.neon.usmmla.", "+i8mm"},
        {"llvm.aarch64.neon.bf", "+bf16"},
    };
    const char *missing = NULL;

    for (size_t k = 0; k < ML_COUNT(needed); k++) {
        if (strncmp(name, needed[k].prefix, strlen(needed[k].prefix)) != 0)
            continue;
        if (ml_cg_has(g, needed[k].feature)) {
            missing = NULL;
            break;
        }
        missing = missing ? missing : needed[k].feature + 1;
    }
    if (missing)
        ml_cg_unsupported(g, "the intrinsic %s on a processor without %s", name, missing);
    return !missing;
}

/* Vectors of as many bits, which one register holds either way: bfloat16 is an integer in
 * memory, and bytes may come as integers of four. */
static bool same_bits(const ml_Cg *g, LLVMTypeRef a, LLVMTypeRef b)
{
    return L(GetTypeKind)(a) == LLVMVectorTypeKind &&
           L(GetTypeKind)(b) == LLVMVectorTypeKind &&
           L(SizeOfTypeInBits)(g->ll->layout, a) == L(SizeOfTypeInBits)(g->ll->layout, b);
}

/* "v4i32", "bf16", ... of n characters as a type; NULL: it is none. */
static LLVMTypeRef named_type(ml_Cg *g, const char *z, size_t n)
{
    const char *end = z + n;
    unsigned long lanes = 0, bits;
    char *at = NULL, kind;
    LLVMTypeRef t;

    if (n == 2 && strncmp(z, "p0", 2) == 0)
        return g->ptr;
    if (n > 1 && *z == 'v') {
        lanes = strtoul(z + 1, &at, 10);
        if (lanes == 0 || lanes > 4096)
            return NULL;
        z = at;
    }
    if (end - z > 2 && strncmp(z, "bf", 2) == 0)
        z++;
    kind = z < end ? *z : 0;
    bits = z + 1 < end ? strtoul(z + 1, &at, 10) : 0;
    if (at != end)
        return NULL;
    if (kind == 'i' && (bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64))
        t = bits == 1    ? g->i1
            : bits == 8  ? g->i8
            : bits == 16 ? g->i16
            : bits == 32 ? g->i32
                         : g->i64;
    else if (kind == 'f' && bits == 16)
        t = z[-1] == 'b' ? L(BFloatTypeInContext)(g->lc) : g->f16;
    else if (kind == 'f' && (bits == 32 || bits == 64))
        t = bits == 32 ? g->f32 : g->f64;
    else
        return NULL;
    return ml_cg_vec(g, t, (unsigned)lanes);
}

enum { MOST_OVERLOADS = 8 };

/* The types that an overloaded intrinsic is named by, from the suffixes of its name; where
 * it has none, that of the result. */
static unsigned overloads(ml_Cg *g, const char *name, LLVMTypeRef result,
                          LLVMTypeRef over[MOST_OVERLOADS])
{
    const char *end = name + strlen(name), *dot;
    LLVMTypeRef back[MOST_OVERLOADS];
    unsigned n = 0;

    while (n < MOST_OVERLOADS && end > name) {
        dot = end;
        while (dot > name && dot[-1] != '.')
            dot--;
        back[n] = named_type(g, dot, (size_t)(end - dot));
        if (back[n] == NULL)
            break;
        n++;
        end = dot > name ? dot - 1 : name;
    }
    for (unsigned k = 0; k < MOST_OVERLOADS;
         k++) /* LLVM may read on where names say less */
        over[k] = k < n ? back[n - 1 - k] : result;
    return n ? n : 1;
}

static LLVMValueRef intrinsic(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;
    unsigned first = 1, count, id, n_over = 0;
    LLVMTypeRef over[MOST_OVERLOADS], result, type;
    LLVMValueRef *args, f;

    if (name == NULL || name->kind != ML_EXPR_STRING || lane0 != 0 ||
        (n && n != e->type.lanes) || g->mask)
        return bad(g, e, n);
    /* The number of arguments in the name's signature may come first. */
    if (e->n_args > 1 && e->args[1]->kind == ML_EXPR_INT &&
        e->args[1]->type.code == ML_UINT)
        first = 2;
    count = e->n_args - first;
    if (!ml_cg_has_intrinsic(g, name->as.s))
        return L(GetUndef)(outer_type(g, e->type, false));
    id = L(LookupIntrinsicID)(name->as.s, strlen(name->as.s));
    if (id == 0) {
        ml_cg_unsupported(g, "the intrinsic %s, which LLVM does not have", name->as.s);
        return L(GetUndef)(outer_type(g, e->type, false));
    }
    args = ML_ARRAY(g->cx, LLVMValueRef, count + 1);
    for (unsigned k = 0; k < count; k++) {
        if (!ml_cg_dtype_ok(g, e->args[first + k]->type))
            return bad(g, e, n);
        args[k] = outward(g, e->args[first + k], false);
    }
    result = outer_type(g, e->type, false);
    if (L(IntrinsicIsOverloaded)(id))
        n_over = overloads(g, name->as.s, result, over);
    type = L(IntrinsicGetType)(g->lc, id, over, n_over);
    f = L(GetIntrinsicDeclaration)(g->m, id, over, n_over);
    if (L(CountParamTypes)(type) != count || L(GetReturnType)(type) != result) {
        ml_cg_fail(g, "%s takes other arguments or gives another type", name->as.s);
        return L(GetUndef)(result);
    }
    {
        LLVMTypeRef *want = ML_ARRAY(g->cx, LLVMTypeRef, count + 1);
        L(GetParamTypes)(type, want);
        for (unsigned k = 0; k < count; k++) {
            LLVMTypeRef have = L(TypeOf)(args[k]);

            if (want[k] == have)
                continue;
            if (!same_bits(g, want[k], have)) {
                ml_cg_fail(g, "argument %u of %s has another type", k + 1, name->as.s);
                return L(GetUndef)(result);
            }
            args[k] = L(BuildBitCast)(g->b, args[k], want[k], "");
        }
    }
    f = L(BuildCall2)(g->b, type, f, args, count, "");
    if (result == g->none)
        return ml_cg_int(g, g->i32, 0, 0);
    return e->type.code == ML_BOOL ? f : ml_cg_from_memory(g, e->type, n, f);
}

LLVMValueRef ml_cg_call(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    switch ((ml_OpId)e->as.op->id) {
    case ML_OP_LIKELY: return e->n_args == 1 ? arg(g, e, 0, lane0, n) : bad(g, e, n);
    case ML_OP_BITWISE_AND:
    case ML_OP_BITWISE_OR:
    case ML_OP_BITWISE_XOR:
    case ML_OP_SHIFT_LEFT:
    case ML_OP_SHIFT_RIGHT: return bits2(g, e, lane0, n);
    case ML_OP_BITWISE_NOT:
        if (e->n_args != 1 || !has_bits(e->args[0]->type))
            return bad(g, e, n);
        return L(BuildNot)(g->b, arg(g, e, 0, lane0, n), "");
    case ML_OP_POPCOUNT:
    case ML_OP_CLZ: return count_bits(g, e, lane0, n);
    case ML_OP_FMA: return fma_of(g, e, lane0, n);
    case ML_OP_REINTERPRET: return reinterpret(g, e, lane0, n);
#define ML_OP(ID, ...) case ML_OP_##ID:
#include "moonloop/core/ops_math.def"
#undef ML_OP
    case ML_OP_POW:
    case ML_OP_FMOD:
    case ML_OP_ATAN2:
    case ML_OP_HYPOT:
    case ML_OP_COPYSIGN:
    case ML_OP_NEXTAFTER:
    case ML_OP_LDEXP: return math(g, e, lane0, n);
    case ML_OP_ISNAN:
    case ML_OP_ISINF:
    case ML_OP_ISFINITE: return tests(g, e, lane0, n);
    case ML_OP_Q_MULTIPLY_SHIFT:
    case ML_OP_Q_MULTIPLY_SHIFT_PER_AXIS: return multiply_shift(g, e, lane0, n);
    case ML_OP_CALL_EXTERN:
    case ML_OP_CALL_PURE_EXTERN: return external(g, e, lane0, n);
    case ML_OP_CALL_LLVM_INTRIN:
    case ML_OP_CALL_LLVM_PURE_INTRIN: return intrinsic(g, e, lane0, n);
    case ML_OP_ADDRESS_OF: return address_of(g, e);
    case ML_OP_ACCESS_PTR: return access_ptr(g, e);
    case ML_OP_STORAGE_SYNC:
    case ML_OP_ASSUME:
    case ML_OP_TYPE_ANNOTATION: return ml_cg_int(g, g->i32, n, 0);
    case ML_OP_UNDEF: return L(ConstNull)(ml_cg_type(g, e->type, n));
    case ML_OP_AXIS_SEPARATOR:
    case ML_OP_NAMED_LOAD:
    case ML_OP_CALL_PACKED:
    case ML_OP_CALL_CPACKED:
    case ML_OP_THREAD_ALLREDUCE:
    case ML_OP_OTHER:
    case ML_OP_IF_THEN_ELSE:
    case ML_OP_IDS: break;
    }
    return bad(g, e, n);
}
