/*
 * fold - arithmetic on literals, and the constructors that fold with it.
 *
 * What is folded is the list of ir-and-analysis 1.2 and script 10.2, nothing more: operands
 * are never reordered. Integers wrap as their dtype does; where that changes an int32 or
 * int64 result the context is marked.
 */
#include "moonloop/core/expr_impl.h"

#include <math.h>

/* ---- integers */

int64_t ml_floordiv_i64(int64_t a, int64_t b)
{
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t ml_floormod_i64(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool fold_order(ml_ExprKind kind, int order)
{
    if (kind == ML_EXPR_EQ)
        return order == 0;
    if (kind == ML_EXPR_NE)
        return order != 0;
    if (kind == ML_EXPR_LT)
        return order < 0;
    if (kind == ML_EXPR_LE)
        return order <= 0;
    return kind == ML_EXPR_GT ? order > 0 : order >= 0;
}

static int64_t fold_unsigned(ml_ExprKind kind, uint64_t a, uint64_t b, bool *lost)
{
    uint64_t r = 0;
    if (kind == ML_EXPR_ADD)
        *lost = __builtin_add_overflow(a, b, &r);
    else if (kind == ML_EXPR_SUB)
        *lost = __builtin_sub_overflow(a, b, &r);
    else if (kind == ML_EXPR_MUL)
        *lost = __builtin_mul_overflow(a, b, &r);
    else if (kind == ML_EXPR_DIV || kind == ML_EXPR_FLOORDIV)
        r = a / b;
    else if (kind == ML_EXPR_MOD || kind == ML_EXPR_FLOORMOD)
        r = a % b;
    else
        r = (kind == ML_EXPR_MIN) == (a < b) ? a : b;
    return (int64_t)r;
}

static int64_t fold_signed(ml_ExprKind kind, int64_t a, int64_t b, bool *lost)
{
    int64_t r = 0;
    if (kind == ML_EXPR_ADD)
        *lost = __builtin_add_overflow(a, b, &r);
    else if (kind == ML_EXPR_SUB)
        *lost = __builtin_sub_overflow(a, b, &r);
    else if (kind == ML_EXPR_MUL)
        *lost = __builtin_mul_overflow(a, b, &r);
    else if (kind == ML_EXPR_MIN || kind == ML_EXPR_MAX)
        r = (kind == ML_EXPR_MIN) == (a < b) ? a : b;
    else if (kind == ML_EXPR_FLOORMOD)
        r = ml_floormod_i64(a, b);
    else if (kind == ML_EXPR_MOD)
        r = b == -1 ? 0 : a % b;
    else {
        *lost = b == -1 && a == INT64_MIN;
        r = kind == ML_EXPR_FLOORDIV || b == -1 ? ml_floordiv_i64(a, b) : a / b;
    }
    return r;
}

int64_t ml_fold_int(ml_ExprKind kind, ml_Dtype t, int64_t a, int64_t b, bool *lost)
{
    bool wide = t.code == ML_UINT && t.bits == 64;
    bool over = false;
    int64_t r;

    if (kind == ML_EXPR_AND || kind == ML_EXPR_OR) {
        r = kind == ML_EXPR_AND ? (a != 0 && b != 0) : (a != 0 || b != 0);
    } else if (ml_kind_compares(kind)) {
        int order = wide ? ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b)
                         : (a > b) - (a < b);
        r = fold_order(kind, order);
    } else {
        ML_ASSERT(ml_kind_computes(kind) && (b != 0 || !ml_kind_divides(kind)));
        int64_t exact = wide ? fold_unsigned(kind, (uint64_t)a, (uint64_t)b, &over)
                             : fold_signed(kind, a, b, &over);
        r = ml_dtype_wrap(t, exact);
        over = over || r != exact;
    }
    if (lost)
        *lost = over;
    return r;
}

/* The exact value that did not fit, an end of int64 where not even that holds it. */
static int64_t wanted(ml_ExprKind kind, int64_t a, int64_t b)
{
    bool over = false;
    int64_t exact = fold_signed(kind, a, b, &over);
    if (!over)
        return exact;
    bool negative = kind == ML_EXPR_MUL ? (a < 0) != (b < 0) : a < 0;
    if (kind == ML_EXPR_DIV || kind == ML_EXPR_FLOORDIV)
        negative = false;
    return negative ? INT64_MIN : INT64_MAX;
}

static const ml_Expr *int_literal(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                                  const ml_Expr *b)
{
    bool lost;
    ml_Dtype t = a->type;
    int64_t r = ml_fold_int(kind, t, a->as.i, b->as.i, &lost);
    if (ml_kind_compares(kind) || kind == ML_EXPR_AND || kind == ML_EXPR_OR)
        return ml_bool(cx, r != 0);
    bool below_zero =
        t.code == ML_UINT && kind == ML_EXPR_SUB && a->as.i == 0 && b->as.i != 0;
    if ((lost && ml_dtype_is_index(t)) || below_zero)
        ml_ctx_mark_overflow(cx, wanted(kind, a->as.i, b->as.i));
    return ml_int(cx, t, r);
}

/* ---- floats */

/* float32 in single precision, float64 in double; of other formats only comparisons. */
static const ml_Expr *float_literal(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                                    const ml_Expr *b)
{
    ml_Dtype t = a->type;
    double x = ml_dtype_round(t, a->as.f);
    double y = ml_dtype_round(t, b->as.f);

    if (ml_kind_compares(kind)) {
        if (isnan(x) || isnan(y))
            return ml_bool(cx, kind == ML_EXPR_NE);
        return ml_bool(cx, fold_order(kind, (x > y) - (x < y)));
    }
    if (t.code != ML_FLOAT || t.bits < 32)
        return NULL;
    bool single = t.bits == 32;
    float u = (float)x;
    float v = (float)y;
    double r;
    if (kind == ML_EXPR_ADD)
        r = single ? (double)(u + v) : x + y;
    else if (kind == ML_EXPR_SUB)
        r = single ? (double)(u - v) : x - y;
    else if (kind == ML_EXPR_MUL)
        r = single ? (double)(u * v) : x * y;
    else if (kind == ML_EXPR_DIV && y != 0)
        r = single ? (double)(u / v) : x / y;
    else if (kind == ML_EXPR_MIN || kind == ML_EXPR_MAX) /* the second where neither is */
        r = (kind == ML_EXPR_MIN ? x < y : x > y) ? x : y;
    else
        return NULL;
    return ml_float(cx, t, r);
}

/* ---- the constructors */

/* Of either family. With floats only x * 1 and x / 1 are x for every x: 0 * x is no 0 where
 * x is infinite, NaN or negative, and -0 + 0 is 0. */
static bool is_one(const ml_Expr *e)
{
    return ml_is_int(e, 1) || (e->kind == ML_EXPR_FLOAT && e->as.f == 1);
}

/* A zero of this sign, which x + e (x - e for +0) leaves as x is; an integer has one. */
static bool is_zero(const ml_Expr *e, bool negative)
{
    return ml_is_int(e, 0) ||
           (e->kind == ML_EXPR_FLOAT && e->as.f == 0 && !signbit(e->as.f) == !negative);
}

/* Two literals of one kind: the folded one, or NULL. */
static const ml_Expr *literals(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                               const ml_Expr *b)
{
    if (a->kind != b->kind)
        return NULL;
    if (a->kind == ML_EXPR_INT)
        return int_literal(cx, kind, a, b);
    return a->kind == ML_EXPR_FLOAT ? float_literal(cx, kind, a, b) : NULL;
}

static const ml_Expr *literals_or_node(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                                       const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type));
    const ml_Expr *folded = literals(cx, kind, a, b);
    return folded ? folded : ml_raw_binary(cx, kind, a, b);
}

const ml_Expr *ml_add(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type));
    const ml_Expr *folded = literals(cx, ML_EXPR_ADD, a, b);
    if (folded)
        return folded;
    if (is_zero(a, true))
        return b;
    return is_zero(b, true) ? a : ml_raw_binary(cx, ML_EXPR_ADD, a, b);
}

const ml_Expr *ml_sub(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type));
    const ml_Expr *folded = literals(cx, ML_EXPR_SUB, a, b);
    if (folded)
        return folded;
    return is_zero(b, false) ? a : ml_raw_binary(cx, ML_EXPR_SUB, a, b);
}

const ml_Expr *ml_mul(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type));
    const ml_Expr *folded = literals(cx, ML_EXPR_MUL, a, b);
    if (folded)
        return folded;
    if (is_one(a) || ml_is_int(b, 0))
        return b;
    return is_one(b) || ml_is_int(a, 0) ? a : ml_raw_binary(cx, ML_EXPR_MUL, a, b);
}

/* 0 / x, x / 1 and their floor form, which of floats rounds; b is not the integer 0. */
static const ml_Expr *quotient(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                               const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type) && !ml_is_int(b, 0));
    const ml_Expr *folded = literals(cx, kind, a, b);
    if (folded)
        return folded;
    bool keeps = ml_is_int(b, 1) || (kind == ML_EXPR_DIV && is_one(b));
    return keeps || ml_is_int(a, 0) ? a : ml_raw_binary(cx, kind, a, b);
}

/* x % 1, 0 % x of integers. */
static const ml_Expr *remainder_of(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                                   const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type) && !ml_is_int(b, 0));
    const ml_Expr *folded = literals(cx, kind, a, b);
    if (folded)
        return folded;
    if (ml_is_int(b, 1))
        return ml_int(cx, a->type, 0);
    return ml_is_int(a, 0) ? a : ml_raw_binary(cx, kind, a, b);
}

const ml_Expr *ml_div(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return quotient(cx, ML_EXPR_DIV, a, b);
}

const ml_Expr *ml_mod(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return remainder_of(cx, ML_EXPR_MOD, a, b);
}

const ml_Expr *ml_floordiv(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return quotient(cx, ML_EXPR_FLOORDIV, a, b);
}

const ml_Expr *ml_floormod(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return remainder_of(cx, ML_EXPR_FLOORMOD, a, b);
}

const ml_Expr *ml_min(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return a == b ? a : literals_or_node(cx, ML_EXPR_MIN, a, b);
}

const ml_Expr *ml_max(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return a == b ? a : literals_or_node(cx, ML_EXPR_MAX, a, b);
}

const ml_Expr *ml_eq(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return literals_or_node(cx, ML_EXPR_EQ, a, b);
}

const ml_Expr *ml_ne(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return literals_or_node(cx, ML_EXPR_NE, a, b);
}

const ml_Expr *ml_lt(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return literals_or_node(cx, ML_EXPR_LT, a, b);
}

const ml_Expr *ml_le(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return literals_or_node(cx, ML_EXPR_LE, a, b);
}

const ml_Expr *ml_gt(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return literals_or_node(cx, ML_EXPR_GT, a, b);
}

const ml_Expr *ml_ge(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    return literals_or_node(cx, ML_EXPR_GE, a, b);
}

const ml_Expr *ml_and(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type) && ml_dtype_is_bool(a->type));
    if (a->kind == ML_EXPR_INT)
        return a->as.i ? b : a;
    if (b->kind == ML_EXPR_INT)
        return b->as.i ? a : b;
    return ml_raw_binary(cx, ML_EXPR_AND, a, b);
}

const ml_Expr *ml_or(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b)
{
    ML_ASSERT(ml_dtype_eq(a->type, b->type) && ml_dtype_is_bool(a->type));
    if (a->kind == ML_EXPR_INT)
        return a->as.i ? a : b;
    if (b->kind == ML_EXPR_INT)
        return b->as.i ? b : a;
    return ml_raw_binary(cx, ML_EXPR_OR, a, b);
}

const ml_Expr *ml_not(ml_Ctx *cx, const ml_Expr *a)
{
    return a->kind == ML_EXPR_INT ? ml_bool(cx, a->as.i == 0) : ml_raw_not(cx, a);
}

const ml_Expr *ml_neg(ml_Ctx *cx, const ml_Expr *a)
{
    ML_ASSERT(ml_dtype_is_int(a->type) || ml_dtype_is_float(a->type));
    if (a->kind == ML_EXPR_FLOAT)
        return ml_float(cx, a->type, -a->as.f);
    if (a->kind == ML_EXPR_INT)
        return ml_sub(cx, ml_int(cx, a->type, 0), a);
    return ml_mul(cx, a, ml_const(cx, a->type, -1));
}

typedef const ml_Expr *Constructor(ml_Ctx *, const ml_Expr *, const ml_Expr *);

static Constructor *const constructors[ML_EXPR_KINDS] = {
    [ML_EXPR_ADD] = ml_add,
    [ML_EXPR_SUB] = ml_sub,
    [ML_EXPR_MUL] = ml_mul,
    [ML_EXPR_DIV] = ml_div,
    [ML_EXPR_MOD] = ml_mod,
    [ML_EXPR_FLOORDIV] = ml_floordiv,
    [ML_EXPR_FLOORMOD] = ml_floormod,
    [ML_EXPR_MIN] = ml_min,
    [ML_EXPR_MAX] = ml_max,
    [ML_EXPR_EQ] = ml_eq,
    [ML_EXPR_NE] = ml_ne,
    [ML_EXPR_LT] = ml_lt,
    [ML_EXPR_LE] = ml_le,
    [ML_EXPR_GT] = ml_gt,
    [ML_EXPR_GE] = ml_ge,
    [ML_EXPR_AND] = ml_and,
    [ML_EXPR_OR] = ml_or,
};

const ml_Expr *ml_binary(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a, const ml_Expr *b)
{
    ML_ASSERT(kind < ML_EXPR_KINDS && constructors[kind]);
    return constructors[kind](cx, a, b);
}

/* ---- casts */

static const ml_Expr *cast_int(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e)
{
    int64_t v = e->as.i;
    bool wide = e->type.code == ML_UINT && e->type.bits == 64;

    if (ml_dtype_is_int(t) || ml_dtype_is_bool(t)) {
        /* Narrowing an index is reported; other casts wrap by intent. */
        int64_t r = ml_dtype_wrap(t, v);
        if (r != v && ml_dtype_is_index(t) && ml_dtype_is_index(e->type))
            ml_ctx_mark_overflow(cx, v);
        return ml_int(cx, t, r);
    }
    if (!ml_dtype_is_float(t))
        return NULL;
    if (t.code == ML_FLOAT && t.bits == 32) /* rounded once */
        return ml_float(cx, t, (double)(wide ? (float)(uint64_t)v : (float)v));
    double d = wide ? (double)(uint64_t)v : (double)v;
    bool exact = fabs(d) <= 0x1p53;
    return exact || t.bits == 64 ? ml_float(cx, t, d) : NULL;
}

/* Toward zero; what does not fit, NaN included, stays a cast. */
static const ml_Expr *cast_float(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e)
{
    double v = ml_dtype_round(e->type, e->as.f);
    if (ml_dtype_is_float(t))
        return ml_float(cx, t, v);
    if (ml_dtype_is_bool(t))
        return ml_bool(cx, v != 0);
    if (!ml_dtype_is_int(t))
        return NULL;
    double whole = trunc(v);
    double low = t.code == ML_INT ? -ldexp(1, t.bits - 1) : 0;
    double high = ldexp(1, t.code == ML_INT ? t.bits - 1 : t.bits); /* excluded */
    if (!(whole >= low && whole < high))
        return NULL;
    return ml_int(cx, t, whole < 0x1p63 ? (int64_t)whole : (int64_t)(uint64_t)whole);
}

const ml_Expr *ml_cast(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e)
{
    if (ml_dtype_eq(t, e->type))
        return e;
    if (e->type.lanes == 1 && t.lanes > 1)
        return ml_broadcast(cx, ml_cast(cx, ml_dtype_lanes(t, 1), e), t.lanes);
    ML_ASSERT(t.lanes == e->type.lanes && t.code != ML_VOID);
    ml_Dtype elem = ml_dtype_lanes(t, 1);
    if (e->kind == ML_EXPR_BROADCAST)
        return ml_broadcast(cx, ml_cast(cx, elem, e->args[0]), t.lanes);
    if (e->kind == ML_EXPR_RAMP && ml_dtype_is_int(t))
        return ml_ramp(cx, ml_cast(cx, elem, e->args[0]), ml_cast(cx, elem, e->args[1]),
                       t.lanes);
    const ml_Expr *folded = NULL;
    if (e->kind == ML_EXPR_INT)
        folded = cast_int(cx, t, e);
    else if (e->kind == ML_EXPR_FLOAT)
        folded = cast_float(cx, t, e);
    return folded ? folded : ml_raw_cast(cx, t, e);
}

bool ml_promote(ml_Ctx *cx, const ml_Expr **a, const ml_Expr **b)
{
    ml_Dtype t;
    if (!ml_dtype_promote((*a)->type, (*b)->type, &t))
        return false;
    *a = ml_cast(cx, t, *a);
    *b = ml_cast(cx, t, *b);
    return true;
}

/* ---- bit operators */

static bool shift_ok(ml_Dtype t, int64_t by)
{
    return by >= 0 && by < t.bits;
}

const ml_Expr *ml_fold_call(ml_Ctx *cx, ml_Dtype t, const ml_Op *op,
                            const ml_Expr *const *args, size_t n)
{
    bool bits = op->id >= ML_OP_BITWISE_AND && op->id <= ML_OP_SHIFT_RIGHT;
    if (!bits || !ml_dtype_is_index(t) || n != (size_t)op->n_args)
        return NULL;
    for (size_t k = 0; k < n; k++)
        if (args[k]->kind != ML_EXPR_INT || !ml_dtype_eq(args[k]->type, t))
            return NULL;

    int64_t a = args[0]->as.i;
    int64_t b = n > 1 ? args[1]->as.i : 0;
    int64_t r;
    if (op->id == ML_OP_BITWISE_AND)
        r = a & b;
    else if (op->id == ML_OP_BITWISE_OR)
        r = a | b;
    else if (op->id == ML_OP_BITWISE_XOR)
        r = a ^ b;
    else if (op->id == ML_OP_BITWISE_NOT)
        r = ~a;
    else if (!shift_ok(t, b))
        return NULL;
    else if (op->id == ML_OP_SHIFT_LEFT)
        r = (int64_t)((uint64_t)a << b);
    else
        r = a >> b;
    return ml_int(cx, t, ml_dtype_wrap(t, r));
}
