/*
 * index - scalar integers as i64, vectors of integers as base + lane * stride, masks of a
 * prefix of the lanes.
 *
 * Overflow in indices, bounds and conditions is an error of the program, so that int32
 * arithmetic may be done in 64 bits without sign extensions in the loop, and never wraps.
 * Source: lowering-and-codegen 7.3.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { MAX_AFFINE = 4096 }; /* nodes of a vector index, as a tree */

static LLVMValueRef nsw(ml_Cg *g, LLVMValueRef v)
{
    if (L(IsAInstruction)(v))
        L(SetNSW)(v, true);
    return v;
}

static LLVMValueRef sign(ml_Cg *g, LLVMValueRef v)
{
    return L(BuildAShr)(g->b, v, ml_cg_i64(g, 63), "");
}

/* By a literal above 0. */
static LLVMValueRef divide_by(ml_Cg *g, const ml_Expr *e, LLVMValueRef a, int64_t c)
{
    bool mod = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;
    bool floors = e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD;
    LLVMValueRef k = ml_cg_i64(g, c), r;
    bool power = (c & (c - 1)) == 0;
    bool positive = !(floors && power) && ml_arith_bound(g->ar, e->args[0]).lo >= 0;

    if (power && (floors || positive)) {
        if (mod)
            return L(BuildAnd)(g->b, a, ml_cg_i64(g, c - 1), "");
        return L(BuildAShr)(g->b, a, ml_cg_i64(g, __builtin_ctzll((uint64_t)c)), "");
    }
    if (positive)
        return mod ? L(BuildURem)(g->b, a, k, "") : L(BuildUDiv)(g->b, a, k, "");
    r = L(BuildSRem)(g->b, a, k, "");
    if (mod && !floors)
        return r;
    if (mod)
        return L(BuildAdd)(g->b, r, L(BuildAnd)(g->b, sign(g, r), k, ""), "");
    a = L(BuildSDiv)(g->b, a, k, "");
    return floors ? L(BuildAdd)(g->b, a, sign(g, r), "") : a;
}

static LLVMValueRef divide(ml_Cg *g, const ml_Expr *e)
{
    bool mod = e->kind == ML_EXPR_MOD || e->kind == ML_EXPR_FLOORMOD;
    bool floors = e->kind == ML_EXPR_FLOORDIV || e->kind == ML_EXPR_FLOORMOD;
    LLVMValueRef a = ml_cg_index(g, e->args[0]), b, q, r, off;

    if (e->args[1]->kind == ML_EXPR_INT && e->args[1]->as.i > 0)
        return divide_by(g, e, a, e->args[1]->as.i);
    b = ml_cg_index(g, e->args[1]);
    if (ml_arith_bound(g->ar, e->args[1]).lo < 1) { /* speculation must not trap */
        q = L(BuildICmp)(g->b, LLVMIntEQ, b, ml_cg_i64(g, 0), "");
        b = L(BuildSelect)(g->b, q, ml_cg_i64(g, 1), b, "");
    }
    r = L(BuildSRem)(g->b, a, b, "");
    off = L(BuildICmp)(g->b, LLVMIntSLT, L(BuildXor)(g->b, r, b, ""), ml_cg_i64(g, 0), "");
    off = L(BuildAnd)(g->b, off, L(BuildICmp)(g->b, LLVMIntNE, r, ml_cg_i64(g, 0), ""), "");
    if (mod)
        return floors ? L(BuildAdd)(g->b, r,
                                    L(BuildSelect)(g->b, off, b, ml_cg_i64(g, 0), ""), "")
                      : r;
    q = L(BuildSDiv)(g->b, a, b, "");
    return floors ? L(BuildAdd)(g->b, q, L(BuildSExt)(g->b, off, g->i64, ""), "") : q;
}

static LLVMValueRef extended(ml_Cg *g, const ml_Expr *e)
{
    LLVMValueRef v = ml_cg_scalar(g, e);

    if (e->type.bits == 64)
        return v;
    return e->type.code == ML_INT ? L(BuildSExt)(g->b, v, g->i64, "")
                                  : L(BuildZExt)(g->b, v, g->i64, "");
}

static LLVMValueRef compute(ml_Cg *g, const ml_Expr *e)
{
    LLVMValueRef a, b, c;

    switch (e->kind) {
    case ML_EXPR_INT: return ml_cg_i64(g, e->as.i);
    case ML_EXPR_VAR: {
        const ml_CgVar *v = ml_map_get(g->fn->vars, e->as.var->uid);
        return v && v->wide ? v->v : extended(g, e);
    }
    case ML_EXPR_ADD:
        a = ml_cg_index(g, e->args[0]);
        return nsw(g, L(BuildAdd)(g->b, a, ml_cg_index(g, e->args[1]), ""));
    case ML_EXPR_SUB:
        a = ml_cg_index(g, e->args[0]);
        return nsw(g, L(BuildSub)(g->b, a, ml_cg_index(g, e->args[1]), ""));
    case ML_EXPR_MUL:
        a = ml_cg_index(g, e->args[0]);
        return nsw(g, L(BuildMul)(g->b, a, ml_cg_index(g, e->args[1]), ""));
    case ML_EXPR_DIV:
    case ML_EXPR_MOD:
    case ML_EXPR_FLOORDIV:
    case ML_EXPR_FLOORMOD: return divide(g, e);
    case ML_EXPR_MIN:
    case ML_EXPR_MAX:
        a = ml_cg_index(g, e->args[0]);
        b = ml_cg_index(g, e->args[1]);
        c = L(BuildICmp)(g->b, e->kind == ML_EXPR_MIN ? LLVMIntSLT : LLVMIntSGT, a, b, "");
        return L(BuildSelect)(g->b, c, a, b, "");
    case ML_EXPR_SELECT:
        c = ml_cg_condition(g, e->args[0]);
        a = ml_cg_index(g, e->args[1]);
        b = ml_cg_index(g, e->args[2]);
        return L(BuildSelect)(g->b, c, a, b, "");
    case ML_EXPR_CAST:
        return ml_dtype_is_index(e->args[0]->type) ? ml_cg_index(g, e->args[0])
                                                   : extended(g, e);
    }
    return extended(g, e);
}

LLVMValueRef ml_cg_index(ml_Cg *g, const ml_Expr *e)
{
    bool reuse = e->n_args > 0 && e->kind != ML_EXPR_LET && !(e->flags & ML_X_EFFECT) &&
                 (g->mask == NULL || !(e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL)));
    LLVMValueRef v, mask = g->mask;
    uint64_t reads = g->reads;

    if (g->failed || !(ml_dtype_is_int(e->type) || e->type.code == ML_BOOL) ||
        e->type.lanes != 1) {
        if (!g->failed)
            ml_cg_fail(g, "an index is no integer");
        return L(GetUndef)(g->i64);
    }
    if (!ml_dtype_is_index(e->type)) /* it wraps as its own type does */
        return ml_cg_dtype_ok(g, e->type) ? extended(g, e) : L(GetUndef)(g->i64);
    if (mask && (e->flags & (ML_X_HAS_LOAD | ML_X_HAS_CALL | ML_X_EFFECT)))
        return extended(g, e);
    if (reuse && (v = ml_cg_memo_get(g, e, ML_MEMO_INDEX, 0, 0)) != NULL)
        return v;
    g->mask = NULL;
    g->reads = 0;
    v = compute(g, e);
    g->mask = mask;
    if (reuse && !g->failed)
        ml_cg_memo_set(g, e, ML_MEMO_INDEX, 0, 0, v);
    g->reads |= reads;
    return v;
}

/* ---------------------------------------------------------------- vectors of indices */

static const ml_Expr *zero_of(ml_Cg *g, const ml_Expr *e)
{
    return ml_int(g->cx, e->type, 0);
}

bool ml_cg_affine(ml_Cg *g, const ml_Expr *e, const ml_Expr **base, const ml_Expr **stride)
{
    const ml_Expr *b[2], *s[2];

    if (e->size > MAX_AFFINE)
        return false;
    switch ((int)e->kind) {
    case ML_EXPR_RAMP:
        *base = e->args[0];
        *stride = e->args[1];
        return true;
    case ML_EXPR_BROADCAST:
        *base = e->args[0];
        *stride = zero_of(g, e->args[0]);
        return true;
    case ML_EXPR_ADD:
    case ML_EXPR_SUB:
        if (!ml_cg_affine(g, e->args[0], &b[0], &s[0]) ||
            !ml_cg_affine(g, e->args[1], &b[1], &s[1]))
            return false;
        *base = ml_binary(g->cx, (ml_ExprKind)e->kind, b[0], b[1]);
        *stride = ml_binary(g->cx, (ml_ExprKind)e->kind, s[0], s[1]);
        return true;
    case ML_EXPR_MUL:
        if (!ml_cg_affine(g, e->args[0], &b[0], &s[0]) ||
            !ml_cg_affine(g, e->args[1], &b[1], &s[1]))
            return false;
        if (!ml_is_int(s[0], 0) && !ml_is_int(s[1], 0))
            return false;
        *base = ml_mul(g->cx, b[0], b[1]);
        *stride =
            ml_is_int(s[1], 0) ? ml_mul(g->cx, s[0], b[1]) : ml_mul(g->cx, b[0], s[1]);
        return true;
    case ML_EXPR_CAST:
        if (!ml_dtype_is_index(ml_dtype_lanes(e->type, 1)) ||
            !ml_dtype_is_index(ml_dtype_lanes(e->args[0]->type, 1)) ||
            !ml_cg_affine(g, e->args[0], &b[0], &s[0]))
            return false;
        *base = ml_cast(g->cx, ml_dtype_lanes(e->type, 1), b[0]);
        *stride = ml_cast(g->cx, ml_dtype_lanes(e->type, 1), s[0]);
        return true;
    default: return false;
    }
}

static LLVMValueRef clamp(ml_Cg *g, LLVMValueRef v, int64_t lo, int64_t hi)
{
    LLVMValueRef l = ml_cg_i64(g, lo), h = ml_cg_i64(g, hi), c;

    c = L(BuildICmp)(g->b, LLVMIntSGT, v, l, "");
    v = L(BuildSelect)(g->b, c, v, l, "");
    c = L(BuildICmp)(g->b, LLVMIntSLT, v, h, "");
    return L(BuildSelect)(g->b, c, v, h, "");
}

LLVMValueRef ml_cg_prefix_mask(ml_Cg *g, const ml_Expr *e, unsigned lane0, unsigned n)
{
    const ml_Expr *b[2], *s[2];
    ml_ExprKind kind = (ml_ExprKind)e->kind;
    LLVMTypeRef t = n <= 16 ? g->i32 : n <= 32 ? g->i16 : n <= 64 ? g->i8 : g->i16;
    bool below, with;
    LLVMValueRef k;
    int64_t step;

    if (!ml_cg_affine(g, e->args[0], &b[0], &s[0]) ||
        !ml_cg_affine(g, e->args[1], &b[1], &s[1]) || s[0]->kind != ML_EXPR_INT ||
        s[1]->kind != ML_EXPR_INT || __builtin_sub_overflow(s[0]->as.i, s[1]->as.i, &step))
        return NULL;
    if (step == 0 && !g->mask) {
        const ml_Expr *c = ml_binary(g->cx, kind, b[0], b[1]);
        return ml_cg_splat(g, ml_cg_condition(g, c), n);
    }
    if ((step != 1 && step != -1) || kind == ML_EXPR_EQ || kind == ML_EXPR_NE)
        return NULL;
    /* lane + b0 < b1 for step 1; for -1 the sides change places. */
    below = (kind == ML_EXPR_LT || kind == ML_EXPR_LE) == (step == 1);
    with = kind == ML_EXPR_LE || kind == ML_EXPR_GE;
    k = step == 1 ? L(BuildSub)(g->b, ml_cg_index(g, b[1]), ml_cg_index(g, b[0]), "")
                  : L(BuildSub)(g->b, ml_cg_index(g, b[0]), ml_cg_index(g, b[1]), "");
    k = nsw(g, k);
    /* below: lane < k (+ 1 with); else lane > k or lane >= k: not lane < k + 1 or k. */
    k = L(BuildAdd)(g->b, k, ml_cg_i64(g, (below == with ? 1 : 0) - (int64_t)lane0), "");
    k = L(BuildTrunc)(g->b, clamp(g, k, 0, n), t, "");
    return L(BuildICmp)(g->b, below ? LLVMIntULT : LLVMIntUGE, ml_cg_iota(g, t, n, 0, 1),
                        ml_cg_splat(g, k, n), "");
}
