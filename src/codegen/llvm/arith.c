/*
 * arith - binary operators on values: wrapping integers, floats, comparisons.
 *
 * Integer divisions never trap: a divisor of 0 (an error of the program) and -1 are taken
 * apart, so that what is speculated is harmless. min and max of floats are the selects that
 * the machine's instructions are: the second operand wins on NaN. A product and a sum are
 * contracted (fmuladd) unless that is forbidden. Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

/* The literal that e is, or a broadcast of it; 0 where it is none. */
static bool literal(const ml_Expr *e, int64_t *v)
{
    *v = 0;
    if (e->kind == ML_EXPR_BROADCAST)
        e = e->args[0];
    if (e->kind != ML_EXPR_INT)
        return false;
    *v = e->as.i;
    return true;
}

static LLVMValueRef zero_like(ml_Cg *g, LLVMValueRef v)
{
    return L(ConstNull)(L(TypeOf)(v));
}

/* Truncating quotient (q) and remainder (r, may be NULL), as the dtype wraps. */
static LLVMValueRef divide(ml_Cg *g, bool is_signed, const ml_Expr *by, unsigned n,
                           LLVMValueRef a, LLVMValueRef b, LLVMValueRef *r)
{
    LLVMTypeRef t = L(TypeOf)(b), s = n ? L(GetElementType)(t) : t;
    LLVMValueRef safe = b, q, minus, one;
    int64_t k;
    bool known = literal(by, &k) && k != 0;
    bool no_minus = !is_signed || (known && k != -1);

    minus = L(BuildICmp)(g->b, LLVMIntEQ, b, ml_cg_int(g, s, n, -1), "");
    if (!known || !no_minus) {
        one = L(BuildICmp)(g->b, LLVMIntEQ, b, ml_cg_int(g, s, n, 0), "");
        if (!no_minus)
            one = L(BuildOr)(g->b, one, minus, "");
        safe = L(BuildSelect)(g->b, one, ml_cg_int(g, s, n, 1), b, "");
    }
    q = is_signed ? L(BuildSDiv)(g->b, a, safe, "") : L(BuildUDiv)(g->b, a, safe, "");
    if (r) {
        *r = is_signed ? L(BuildSRem)(g->b, a, safe, "") : L(BuildURem)(g->b, a, safe, "");
    }
    if (!no_minus)
        q = L(BuildSelect)(g->b, minus, L(BuildNeg)(g->b, a, ""), q, "");
    return q;
}

static LLVMValueRef int_divide(ml_Cg *g, const ml_Expr *e, unsigned n, LLVMValueRef a,
                               LLVMValueRef b)
{
    bool is_signed = e->args[0]->type.code == ML_INT;
    bool floors = e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD;
    bool mod = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;
    LLVMTypeRef t = L(TypeOf)(b), s = n ? L(GetElementType)(t) : t;
    LLVMValueRef q, r, off;
    int64_t k;

    if (floors && is_signed && literal(e->args[1], &k) && k > 0 && (k & (k - 1)) == 0) {
        if (mod)
            return L(BuildAnd)(g->b, a, ml_cg_int(g, s, n, k - 1), "");
        return L(BuildAShr)(g->b, a, ml_cg_int(g, s, n, __builtin_ctzll((uint64_t)k)), "");
    }
    q = divide(g, is_signed, e->args[1], n, a, b, &r);
    if (!floors || !is_signed)
        return mod ? r : q;
    off = L(BuildXor)(g->b, r, b, "");
    off = L(BuildICmp)(g->b, LLVMIntSLT, off, zero_like(g, off), "");
    off = L(BuildAnd)(g->b, off, L(BuildICmp)(g->b, LLVMIntNE, r, zero_like(g, r), ""), "");
    if (mod)
        return L(BuildAdd)(g->b, r, L(BuildSelect)(g->b, off, b, zero_like(g, b), ""), "");
    return L(BuildAdd)(g->b, q, L(BuildSExt)(g->b, off, t, ""), "");
}

static LLVMIntPredicate int_predicate(ml_ExprKind kind, bool is_signed)
{
    switch ((int)kind) {
    case ML_EXPR_EQ: return LLVMIntEQ;
    case ML_EXPR_NE: return LLVMIntNE;
    case ML_EXPR_LT: return is_signed ? LLVMIntSLT : LLVMIntULT;
    case ML_EXPR_LE: return is_signed ? LLVMIntSLE : LLVMIntULE;
    case ML_EXPR_GT: return is_signed ? LLVMIntSGT : LLVMIntUGT;
    default: return is_signed ? LLVMIntSGE : LLVMIntUGE; /* GE */
    }
}

static LLVMRealPredicate real_predicate(ml_ExprKind kind)
{
    switch ((int)kind) {
    case ML_EXPR_EQ: return LLVMRealOEQ;
    case ML_EXPR_NE: return LLVMRealUNE;
    case ML_EXPR_LT: return LLVMRealOLT;
    case ML_EXPR_LE: return LLVMRealOLE;
    case ML_EXPR_GT: return LLVMRealOGT;
    default: return LLVMRealOGE; /* GE */
    }
}

static bool compares(const ml_Expr *e)
{
    return e->kind >= ML_EXPR_EQ && e->kind <= ML_EXPR_GE;
}

static LLVMValueRef int_binary(ml_Cg *g, const ml_Expr *e, unsigned n, LLVMValueRef a,
                               LLVMValueRef b)
{
    bool is_signed = e->args[0]->type.code == ML_INT;
    LLVMValueRef c;

    switch ((int)e->kind) {
    case ML_EXPR_ADD: return L(BuildAdd)(g->b, a, b, "");
    case ML_EXPR_SUB: return L(BuildSub)(g->b, a, b, "");
    case ML_EXPR_MUL: return L(BuildMul)(g->b, a, b, "");
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: return int_divide(g, e, n, a, b);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
        c = L(BuildICmp)(
            g->b,
            int_predicate(e->kind == ML_EXPR_MIN ? ML_EXPR_LT : ML_EXPR_GT, is_signed), a,
            b, "");
        return L(BuildSelect)(g->b, c, a, b, "");
    case ML_EXPR_AND: return L(BuildAnd)(g->b, a, b, "");
    case ML_EXPR_OR: return L(BuildOr)(g->b, a, b, "");
    default:
        return L(BuildICmp)(g->b, int_predicate((ml_ExprKind)e->kind, is_signed), a, b, "");
    }
}

/* a * b + c as one operation: the kinds in which a sum or difference holds a product. */
static LLVMValueRef contracted(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->args[0], *q = e->args[1];
    bool first = p->kind == ML_EXPR_MUL;
    const ml_Expr *mul = first ? p : q, *rest = first ? q : p;
    LLVMTypeRef t = ml_cg_type(g, e->type, n);
    LLVMValueRef v[3];

    v[0] = ml_cg_value(g, mul->args[0], lane0, n);
    v[1] = ml_cg_value(g, mul->args[1], lane0, n);
    v[2] = ml_cg_value(g, rest, lane0, n);
    if (e->kind == ML_EXPR_SUB && first)
        v[2] = L(BuildFNeg)(g->b, v[2], "");
    else if (e->kind == ML_EXPR_SUB)
        v[0] = L(BuildFNeg)(g->b, v[0], "");
    return ml_cg_fp(g, ml_cg_intrinsic(g, "llvm.fmuladd", &t, 1, v, 3));
}

static bool can_contract(const ml_Cg *g, const ml_Expr *e)
{
    return !g->o->no_contract && (e->kind == ML_EXPR_ADD || e->kind == ML_EXPR_SUB) &&
           ml_dtype_is_float(e->type) && !ml_cg_is_half(e->type) &&
           (e->args[0]->kind == ML_EXPR_MUL || e->args[1]->kind == ML_EXPR_MUL);
}

static LLVMValueRef floor_of(ml_Cg *g, ml_Dtype t, unsigned n, LLVMValueRef q)
{
    return ml_cg_intrinsic1(g, "llvm.floor", ml_cg_round(g, t, n, q));
}

static LLVMValueRef float_binary(ml_Cg *g, const ml_Expr *e, unsigned n, LLVMValueRef a,
                                 LLVMValueRef b)
{
    ml_Dtype t = e->args[0]->type;
    LLVMValueRef v;

    switch ((int)e->kind) {
    case ML_EXPR_ADD: v = L(BuildFAdd)(g->b, a, b, ""); break;
    case ML_EXPR_SUB: v = L(BuildFSub)(g->b, a, b, ""); break;
    case ML_EXPR_MUL: v = L(BuildFMul)(g->b, a, b, ""); break;
    case ML_EXPR_DIV:
        v = ml_cg_quotient(g, e->args[1], n, a, b);
        if (v == NULL)
            v = L(BuildFDiv)(g->b, a, b, "");
        break;
    case ML_EXPR_MOD: return ml_cg_math2(g, ML_OP_FMOD, t, n, a, b);
    case ML_EXPR_FLOORDIV: return floor_of(g, t, n, L(BuildFDiv)(g->b, a, b, ""));
    case ML_EXPR_FLOORMOD:
        v = floor_of(g, t, n, L(BuildFDiv)(g->b, a, b, ""));
        v = ml_cg_round(g, t, n, L(BuildFMul)(g->b, v, b, ""));
        v = L(BuildFSub)(g->b, a, v, "");
        break;
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
        v = L(BuildFCmp)(g->b, e->kind == ML_EXPR_MIN ? LLVMRealOLT : LLVMRealOGT, a, b,
                         "");
        return L(BuildSelect)(g->b, v, a, b, "");
    case ML_EXPR_AND:
    case ML_EXPR_OR:
        ml_cg_unsupported(g, "logic on floats in compiled code");
        return L(GetUndef)(ml_cg_type(g, e->type, n));
    default: return L(BuildFCmp)(g->b, real_predicate((ml_ExprKind)e->kind), a, b, "");
    }
    return ml_cg_round(g, t, n, ml_cg_fp(g, v));
}

LLVMValueRef ml_cg_binary(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *p = e->args[0], *q = e->args[1];
    bool reads = (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)) != 0;
    ml_Dtype t = p->type;
    LLVMValueRef a, b;

    if (!ml_cg_dtype_ok(g, t) || t.code == ML_HANDLE) {
        ml_cg_unsupported(g, "arithmetic on pointers");
        return L(GetUndef)(ml_cg_type(g, e->type, n));
    }
    if (can_contract(g, e))
        return contracted(g, e, lane0, n);
    if (n == 0 && g->checked && !reads && ml_dtype_is_index(t)) {
        if (compares(e))
            return L(BuildICmp)(g->b, int_predicate((ml_ExprKind)e->kind, true),
                                ml_cg_index(g, p), ml_cg_index(g, q), "");
        a = ml_cg_index(g, e);
        return t.bits == 64 ? a : L(BuildTrunc)(g->b, a, ml_cg_type(g, t, 0), "");
    }
    if (n && g->checked && !reads && compares(e) && t.code == ML_INT && t.bits >= 32) {
        a = ml_cg_prefix_mask(g, e, lane0, n);
        if (a)
            return a;
    }
    a = ml_cg_value(g, p, lane0, n);
    b = ml_cg_value(g, q, lane0, n);
    if (ml_dtype_is_float(t))
        return float_binary(g, e, n, a, b);
    return int_binary(g, e, n, a, b);
}
