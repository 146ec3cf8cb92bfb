/*
 * expr - immutable, hash-consed expressions and their checked constructors.
 *
 * Two structurally equal expressions of one context (and its ancestors) are one pointer.
 * Constructors fold constants (ir-and-analysis 1.2) and do nothing else; they never reorder
 * operands. Integers wrap as their dtype does; where that changes an int32/int64 result the
 * context is marked (index-overflow). A variable is identified by its uid, never its name.
 * Expressions are shared and have no place in the text: spans belong to statements.
 */
#ifndef ML_CORE_EXPR_H
#define ML_CORE_EXPR_H

#include "moonloop/core/value.h"

typedef enum ml_ExprKind {
#define ML_EXPR(NAME, cls, op, class, swapped) ML_EXPR_##NAME,
#include "moonloop/core/expr.def"
#undef ML_EXPR
    ML_EXPR_KINDS
} ml_ExprKind;

/* What kinds have in common; those from ARITH on have two operands of one dtype. */
typedef enum ml_KindClass {
    ML_CLASS_OTHER,
    ML_CLASS_LITERAL,
    ML_CLASS_ARITH,   /* + - * */
    ML_CLASS_DIVIDE,  /* DIV (of floats too), MOD, FLOORDIV, FLOORMOD */
    ML_CLASS_EXTREME, /* MIN, MAX */
    ML_CLASS_COMPARE,
    ML_CLASS_LOGIC, /* AND, OR */
} ml_KindClass;

static inline ml_KindClass ml_kind_class(unsigned kind)
{
    static const uint8_t classes[] = {
#define ML_EXPR(NAME, cls, op, class, swapped) ML_CLASS_##class,
#include "moonloop/core/expr.def"
#undef ML_EXPR
    };

    return (ml_KindClass)classes[kind];
}
/* The kind with a `kind` b == b swapped a; ML_EXPR_KINDS: none. */
static inline ml_ExprKind ml_kind_swapped(unsigned kind)
{
    static const uint8_t kinds[] = {
#define ML_EXPR(NAME, cls, op, class, swapped) ML_EXPR_##swapped,
#include "moonloop/core/expr.def"
#undef ML_EXPR
    };

    return (ml_ExprKind)kinds[kind];
}
static inline bool ml_kind_commutes(unsigned kind)
{
    return ml_kind_swapped(kind) == kind;
}
static inline bool ml_kind_divides(unsigned kind)
{
    return ml_kind_class(kind) == ML_CLASS_DIVIDE;
}
static inline bool ml_kind_compares(unsigned kind)
{
    return ml_kind_class(kind) == ML_CLASS_COMPARE;
}
static inline bool ml_kind_computes(unsigned kind) /* a number of two: ADD to MAX */
{
    return ml_kind_class(kind) >= ML_CLASS_ARITH && ml_kind_class(kind) <= ML_CLASS_EXTREME;
}
static inline bool ml_kind_is_binary(unsigned kind)
{
    return ml_kind_class(kind) >= ML_CLASS_ARITH;
}

/* A variable: loop, iterator, let, scalar parameter, handle, data pointer, symbolic size.
 */
struct ml_Var {
    ml_Uid uid;
    ml_Dtype type;
    bool is_size;      /* known non-negative */
    ml_Dtype elem;     /* of a typed handle: what it points to; else ML_DT_VOID */
    const char *scope; /* of a handle, where it is said: storage scope; else NULL */
    const char *hint;  /* preferred name; names never identify */
    ml_Uid whole;      /* of a loop that split made: the loop it is a part of; else 0 */
    uint32_t part;     /* which part, from 0 */
};

/* Effect classes, ordered. */
typedef enum ml_Effect {
    ML_EFFECT_ANNOTATION,
    ML_EFFECT_PURE,
    ML_EFFECT_READ,
    ML_EFFECT_UPDATE,
    ML_EFFECT_OPAQUE,
} ml_Effect;

/* What operators have in common. */
typedef enum ml_OpFamily {
    ML_FAMILY_OWN,   /* nothing */
    ML_FAMILY_MATH,  /* a function of one float */
    ML_FAMILY_ROUND, /* one to a whole number */
} ml_OpFamily;

/* A callable operator: from the table ops.def, or an opaque one kept by name. */
typedef struct ml_Op {
    const char *name; /* without the prefix "tir." */
    uint8_t effect;   /* an ml_Effect */
    uint8_t id;       /* an ml_OpId; ML_OP_OTHER for those not in the table */
    int8_t n_args;    /* -1: any */
    bool dtype_first; /* printed with its dtype as first argument */
    uint8_t family;   /* an ml_OpFamily */
} ml_Op;

typedef enum ml_OpId {
    ML_OP_OTHER,
#define ML_OP(ID, name, effect, n, first, family) ML_OP_##ID,
#include "moonloop/core/ops.def"
#undef ML_OP
    ML_OP_IDS
} ml_OpId;

/* Flags computed once, at construction. */
enum {
    ML_X_HAS_LOAD = 1, /* a LOAD somewhere inside */
    ML_X_HAS_CALL = 2, /* a CALL somewhere inside */
    ML_X_MASKED = 4,   /* LOAD: the last argument is a mask, not an index */
    ML_X_VAR_FREE = 8, /* no VAR inside */
    ML_X_EFFECT = 16,  /* not pure: update-state or opaque somewhere inside */
    ML_X_READ_OP = 32, /* a call that reads state somewhere inside */
    ML_X_OPAQUE = 64,  /* an opaque call somewhere inside */
};

struct ml_Expr {
    uint8_t kind;    /* an ml_ExprKind */
    uint8_t flags;   /* ML_X_... */
    uint16_t n_args; /* children, in args[] */
    ml_Dtype type;   /* of the value */
    uint32_t id;     /* dense number, continued in forks */
    uint32_t hash;   /* of kind, type, payload, children; variables by uid */
    uint16_t depth;  /* 1 for a leaf */
    uint32_t size;   /* nodes as a tree, saturating */
    uint64_t bloom;  /* bit (uid * odd >> 58) of every variable inside: a filter */
    union {
        int64_t i;               /* INT (bool too), wrapped to `type` */
        double f;                /* FLOAT, rounded to float32 for that type */
        const char *s;           /* STRING */
        const ml_Var *var;       /* VAR; LET: the variable; children are value, body */
        const ml_Buffer *buffer; /* LOAD: the children are the indices (and the mask) */
        const ml_Op *op;         /* CALL */
    } as;
    const ml_Expr *link; /* of the intern table */
    const ml_Expr *args[];
};

/* ---- variables */
const ml_Var *ml_var_new(ml_Ctx *cx, const char *hint, ml_Dtype type);
/* Part `part` (from 0, outermost first) of what split made of loop `whole`. */
const ml_Var *ml_var_new_part(ml_Ctx *cx, const ml_Var *whole, size_t part, ml_Dtype type);
const ml_Var *ml_var_new_handle(ml_Ctx *cx, const char *hint, ml_Dtype elem,
                                const char *scope);
const ml_Var *ml_var_new_size(ml_Ctx *cx, const char *hint, ml_Dtype type);
/* A variable like v with a fresh uid. */
const ml_Var *ml_var_fresh(ml_Ctx *cx, const ml_Var *v);

/* ---- leaves */
const ml_Expr *ml_var(ml_Ctx *cx, const ml_Var *v);
/* v of an integer or bool dtype; wrapped (see above) when it does not fit. With lanes > 1 a
 * broadcast of the scalar. */
const ml_Expr *ml_int(ml_Ctx *cx, ml_Dtype t, int64_t v);
const ml_Expr *ml_i32(ml_Ctx *cx, int64_t v);
const ml_Expr *ml_bool(ml_Ctx *cx, bool b);
const ml_Expr *ml_float(ml_Ctx *cx, ml_Dtype t, double v);
const ml_Expr *ml_string(ml_Ctx *cx, ml_Str s);
/* The constant v in dtype t, whatever family t is of. */
const ml_Expr *ml_const(ml_Ctx *cx, ml_Dtype t, double v);

/* ---- operators: operands of one dtype (asserted; see ml_promote for the user's side) */
const ml_Expr *ml_add(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_sub(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_mul(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
/* The four integer divisions: dividing by the literal 0 is asserted against; test first
 * with ml_is_int(b, 0). ml_div on floats is the true division. */
const ml_Expr *ml_div(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_mod(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_floordiv(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_floormod(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_min(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_max(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_eq(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_ne(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_lt(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_le(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_gt(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_ge(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_and(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_or(ml_Ctx *cx, const ml_Expr *a, const ml_Expr *b);
const ml_Expr *ml_not(ml_Ctx *cx, const ml_Expr *a);
const ml_Expr *ml_neg(ml_Ctx *cx, const ml_Expr *a); /* literal: negated; else a * -1 */
/* Any of the above by kind, folding; for table-driven code. */
const ml_Expr *ml_binary(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a, const ml_Expr *b);
/* Select with a constant condition still builds the node (folding is the simplifier's). */
const ml_Expr *ml_select(ml_Ctx *cx, const ml_Expr *c, const ml_Expr *t, const ml_Expr *f);
const ml_Expr *ml_cast(ml_Ctx *cx, ml_Dtype t,
                       const ml_Expr *e); /* script 10.1 cast rules */
const ml_Expr *ml_load(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx, size_t n);
const ml_Expr *ml_load_masked(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx,
                              size_t n, const ml_Expr *mask);
const ml_Expr *ml_ramp(ml_Ctx *cx, const ml_Expr *base, const ml_Expr *stride,
                       unsigned lanes);
const ml_Expr *ml_broadcast(ml_Ctx *cx, const ml_Expr *e, unsigned lanes);
/* vectors[0..n_vec) concatenated, lanes picked by the int32 literals idx[0..n_idx). The
 * children are the vectors, then the indices; as.i holds n_vec. */
const ml_Expr *ml_shuffle(ml_Ctx *cx, const ml_Expr *const *vectors, size_t n_vec,
                          const ml_Expr *const *idx, size_t n_idx);
/* The vector that lane k of a shuffle is from, its number (may be NULL) and the lane there;
 * NULL: no literal lane. */
const ml_Expr *ml_shuffle_picks(const ml_Expr *e, unsigned k, unsigned *vector,
                                unsigned *lane);
const ml_Expr *ml_let(ml_Ctx *cx, const ml_Var *v, const ml_Expr *value,
                      const ml_Expr *body);
const ml_Expr *ml_call(ml_Ctx *cx, ml_Dtype t, const ml_Op *op, const ml_Expr *const *args,
                       size_t n);
const ml_Expr *ml_call_id(ml_Ctx *cx, ml_Dtype t, ml_OpId id, const ml_Expr *const *args,
                          size_t n);
const ml_Expr *ml_if_then_else(ml_Ctx *cx, const ml_Expr *c, const ml_Expr *t,
                               const ml_Expr *f);
const ml_Expr *ml_likely(ml_Ctx *cx, const ml_Expr *c); /* constant: itself */

/* The node of this kind without any folding (what the text reader's T.Add(3, 4) means).
 * Operands as for ml_binary; UNARY/NOT through ml_raw_not, casts through ml_raw_cast. */
const ml_Expr *ml_raw_binary(ml_Ctx *cx, ml_ExprKind kind, const ml_Expr *a,
                             const ml_Expr *b);
const ml_Expr *ml_raw_not(ml_Ctx *cx, const ml_Expr *a);
const ml_Expr *ml_raw_cast(ml_Ctx *cx, ml_Dtype t, const ml_Expr *e);
/* e with other children, of the same count and dtypes; folds as the constructor does. */
const ml_Expr *ml_expr_with_args(ml_Ctx *cx, const ml_Expr *e, const ml_Expr *const *kids);

/* Brings two operands to their common dtype by casts and broadcasts; false: none exists. */
bool ml_promote(ml_Ctx *cx, const ml_Expr **a, const ml_Expr **b);

/* ---- operators by name */
const ml_Op *ml_op(ml_OpId id);
const ml_Op *
ml_op_find(ml_Str name); /* NULL: not in the table; a prefix tir./tirx. is cut */
/* The op of that name, an opaque one in the arena when the table has none. */
const ml_Op *ml_op_intern(ml_Ctx *cx, ml_Str name);

/* ---- questions */
static inline bool ml_is_const_int(const ml_Expr *e) /* int or bool literal */
{
    return e->kind == ML_EXPR_INT;
}
static inline bool ml_is_int(const ml_Expr *e, int64_t v)
{
    return e->kind == ML_EXPR_INT && e->as.i == v;
}
static inline bool ml_is_true(const ml_Expr *e)
{
    return e->kind == ML_EXPR_INT && e->as.i != 0;
}
static inline bool ml_is_false(const ml_Expr *e)
{
    return e->kind == ML_EXPR_INT && e->as.i == 0;
}
static inline bool ml_is_op(const ml_Expr *e, ml_OpId id)
{
    return e->kind == ML_EXPR_CALL && e->as.op->id == id;
}
/* Number of indices of a LOAD (its children less the mask). */
static inline size_t ml_load_rank(const ml_Expr *e)
{
    return (size_t)e->n_args - ((e->flags & ML_X_MASKED) ? 1 : 0);
}
ml_Effect ml_expr_effect(const ml_Expr *e);
uint64_t ml_uid_bloom(ml_Uid uid);
bool ml_expr_uses_var(const ml_Expr *e, const ml_Var *v); /* variable of that uid inside */
bool ml_expr_uses_buffer(const ml_Expr *e,
                         const ml_Buffer *b); /* loaded, or its data pointer */
const char *ml_expr_kind_name(ml_ExprKind k);

/* Exact arithmetic on literals as the IR defines it (wrapped to t). *lost: value changed.
 */
int64_t ml_fold_int(ml_ExprKind kind, ml_Dtype t, int64_t a, int64_t b, bool *lost);
int64_t ml_floordiv_i64(int64_t a, int64_t b); /* b != 0; INT64_MIN / -1 wraps */
int64_t ml_floormod_i64(int64_t a, int64_t b);

#endif
