/*
 * arith_impl - what the files of the analyzer share; not for other folders.
 *
 * Invariant: a memo entry is valid while its stamp equals the analyzer's epoch. A change of
 * facts takes a fresh epoch unless no expression looked at so far can depend on it; leaving
 * a scope goes back to the epoch of its beginning.
 */
#ifndef ML_CORE_ARITH_IMPL_H
#define ML_CORE_ARITH_IMPL_H

#include "moonloop/core/arith/arith.h"

/* ---- linear forms: sum of ((index % upper) / lower) * scale, plus base (3.4) */
enum { ML_SUM_INLINE = 8, ML_NO_UPPER = 0 };

typedef struct ml_Term {
    const ml_Expr *index; /* of the sum's dtype, canonical */
    int64_t lower;        /* >= 1 */
    int64_t upper;        /* ML_NO_UPPER or a multiple of lower */
    int64_t scale;        /* never 0 */
    bool trunc;           /* printed with truncating operators: index is then >= 0 */
} ml_Term;

typedef struct ml_Sum {
    ml_Term *t;
    uint32_t n, cap;
    int64_t base;
    ml_Dtype type;
    ml_Term inl[ML_SUM_INLINE];
} ml_Sum;

void ml_sum_init(ml_Sum *s, ml_Dtype type);
/* out += k * e. False when a constant leaves int64 (out is then not to be used). */
bool ml_sum_add_expr(ml_Arith *ar, ml_Sum *out, const ml_Expr *e, int64_t k);
bool ml_sum_add_term(ml_Arith *ar, ml_Sum *out, const ml_Term *t);
bool ml_sum_add_sum(ml_Arith *ar, ml_Sum *out, const ml_Sum *s, int64_t k);
bool ml_sum_divide(ml_Arith *ar, ml_Sum *s, int64_t c, bool trunc, int64_t k, ml_Sum *out);
bool ml_sum_modulo(ml_Arith *ar, ml_Sum *s, int64_t c, bool trunc, int64_t k, ml_Sum *out);
/* Merges digits: (z//6)*6 + z%6 -> z, z - (z//6)*6 -> z%6. */
bool ml_sum_recombine(ml_Arith *ar, ml_Sum *s);
/* The expression, in the order of 3.4; NULL when a constant does not fit the dtype. */
const ml_Expr *ml_sum_emit(ml_Arith *ar, ml_Sum *s);
const ml_Expr *ml_term_emit(ml_Arith *ar, const ml_Term *t); /* without its scale */
ml_Bound ml_term_bound(ml_Arith *ar, const ml_Term *t);      /* without its scale */
ml_Bound ml_sum_bound(ml_Arith *ar, const ml_Sum *s);
ml_Modular ml_sum_modular(ml_Arith *ar, const ml_Sum *s);
/* What is known of the sum compared with 0, known comparisons included. */
ml_Bound ml_sum_bound_facts(ml_Arith *ar, ml_Sum *s);
ml_Cmp ml_sum_compare(ml_Arith *ar, ml_Sum *s);
/* s with products of sums multiplied out, for comparing only; false: there is none. */
bool ml_sum_multiply_out(ml_Arith *ar, const ml_Sum *s, ml_Sum *out);
/* s <= 0, by ends of the quotients in it (prove_floor.c); false says nothing. */
bool ml_sum_floors_below(ml_Arith *ar, const ml_Sum *s);

/* Pieces that the files of the linear form share. */
enum { ML_MAX_FACTORS = 16 };
static inline bool ml_term_is_plain(const ml_Term *t)
{
    return t->lower == 1 && t->upper == ML_NO_UPPER;
}
bool ml_sum_add_literal(ml_Sum *s, int64_t v, int64_t k); /* s += v * k */
/* s += index * k, the index taken whole (it may be a literal after all) */
bool ml_sum_add_atom(ml_Arith *ar, ml_Sum *s, const ml_Expr *index, int64_t k);
/* The factors of a product in order, its literal factors multiplied into *lit; false: more
 * than ML_MAX_FACTORS, or overflow. */
bool ml_product_factors(const ml_Expr *e, const ml_Expr **out, size_t *n, int64_t *lit);
bool ml_product_remove(const ml_Expr **v, size_t *n, const ml_Expr *f);
bool ml_same_index(const ml_Expr *a, const ml_Expr *b);

/* ---- constants */
bool ml_int_ok(ml_Dtype t, int64_t v); /* representable: index dtypes only fail for int32 */
/* Operators that fold only without loss: NULL when a constant would not fit the dtype or a
 * divisor is the literal 0. */
const ml_Expr *ml_try_binary(ml_Arith *ar, ml_ExprKind k, const ml_Expr *a,
                             const ml_Expr *b);
/* e over other children, or e itself where building it could not be done exactly. */
const ml_Expr *ml_try_rebuild(ml_Arith *ar, const ml_Expr *e, const ml_Expr *const *kids);

/* ---- bounds and modular sets of operators */
static inline ml_Bound ml_bound_all(void)
{
    return (ml_Bound){-ML_INF, ML_INF};
}
int64_t ml_sat_add(int64_t a, int64_t b);
int64_t ml_sat_mul(int64_t a, int64_t b);
ml_Bound ml_bound_dtype(ml_Dtype t);
ml_Bound ml_bound_meet(ml_Bound a, ml_Bound b); /* b when they do not meet */
/* ADD ... MAX of two mathematical integers; a zero divisor is assumed away. */
ml_Bound ml_bound_binary(ml_ExprKind k, ml_Bound a, ml_Bound b);
/* The residues of x % m when x is in `x` and in the set `mo` (m > 0). */
ml_Bound ml_bound_floormod(ml_Bound x, ml_Modular mo, int64_t m);
ml_Modular ml_modular_make(int64_t coeff, int64_t base);
ml_Modular ml_modular_binary(ml_ExprKind k, ml_Modular a, ml_Modular b, bool a_nonneg);
/* Both hold; false: they cannot. */
bool ml_modular_meet(ml_Modular a, ml_Modular b, ml_Modular *out);
bool ml_modular_has(ml_Modular m, int64_t v);

/* ---- state */
typedef struct ml_VarInfo {
    ml_Uid uid;
    bool known; /* bound or modular differ from the dtype's */
    ml_Bound bound;
    ml_Modular mod;
    const ml_Expr *value; /* substitution, or NULL */
    const ml_Var *var;
    const ml_Expr *min, *extent; /* of the range bound to it, or NULL */
} ml_VarInfo;

typedef enum ml_ArithFactKind {
    ML_AF_BOUND,   /* expr in bound and mod */
    ML_AF_TRUTH,   /* the boolean expr is `truth` */
    ML_AF_LINEAR,  /* sum of terms <= k */
    ML_AF_UNEQUAL, /* sum of terms != k */
} ml_ArithFactKind;

typedef struct ml_ArithFact {
    uint8_t kind; /* an ml_ArithFactKind */
    bool live, truth;
    uint32_t n;
    ml_Uid owner; /* from binding this variable; 0: an assumption */
    int64_t k;
    const ml_Expr *expr;
    ml_Bound bound;
    ml_Modular mod;
    const ml_Term *t;
    uint64_t bloom; /* of the variables in its terms */
} ml_ArithFact;

typedef struct ml_ArithUndo {
    uint8_t what; /* 0 variable `at` was `old`; 1 fact `at` was added; 2 fact `at` died */
    bool bumped;
    uint32_t at, epoch;
    ml_VarInfo old;
} ml_ArithUndo;

typedef struct ml_ArithMemo {
    uint32_t key; /* id + 1; 0: empty */
    uint32_t b_at, m_at, c_at, r_at, x_at;
    bool exact;
    ml_Bound bound;
    ml_Modular mod;
    const ml_Expr *canon, *rewritten;
} ml_ArithMemo;

struct ml_Arith {
    ml_Ctx *cx;
    uint32_t epoch, last_epoch;
    uint64_t seen; /* bloom of everything in the memo tables */
    ML_VEC(ml_VarInfo) vars;
    ml_Map *var_at; /* uid -> 1 + position among them; NULL while they are few */
    ML_VEC(ml_ArithFact) facts;
    ML_VEC(ml_ArithUndo) undo;
    uint32_t n_bound_facts, n_truth, n_linear; /* live ones of each kind */
    ml_ArithMemo *memo;
    uint32_t memo_cap, memo_n;
    uint32_t depth; /* nesting of scoped re-simplification: no entry point resets fuel */
    uint32_t again; /* depth of re-simplified rule results */
    uint32_t fuel;  /* work left for this question */
    bool canonical; /* what is rewritten is canonical already */
    bool cut;       /* an answer was cut short: it is not remembered */
};

enum {
    ML_ARITH_FUEL = 200000,
    ML_ARITH_AGAIN = 5,
    ML_ARITH_TABLE = 32, /* variables from which a table knows where each is */
    ML_ARITH_VARS = 8,   /* room for variables made at once: about the loops of a nest */
};

ml_ArithMemo *ml_arith_memo(ml_Arith *ar, const ml_Expr *e); /* the entry, made if needed */
ml_VarInfo *ml_arith_var(ml_Arith *ar, const ml_Var *v);     /* NULL: nothing known */
/* Counts a unit of work; false: stop and answer conservatively. */
bool ml_arith_work(ml_Arith *ar);
/* Truth of a boolean that was assumed: 1, 0, or -1 not known. */
int ml_arith_truth(ml_Arith *ar, const ml_Expr *p);

/* ---- entry points without resetting the work limits */
const ml_Expr *ml_canon(ml_Arith *ar, const ml_Expr *e);
/* Outermost entry points open and close a question (work limits). */
void ml_arith_enter(ml_Arith *ar);
void ml_arith_leave(ml_Arith *ar);
/* The comparison or negation with the other truth: integers only, else not(p). */
const ml_Expr *ml_negate(ml_Arith *ar, const ml_Expr *p);
/* Whether e may be evaluated anywhere: nothing in it can be out of bounds or divide by 0.
 */
bool ml_harmless(const ml_Expr *e);
static inline bool ml_is_compare(const ml_Expr *e)
{
    return ml_kind_compares(e->kind);
}
static inline bool ml_is_sum_or_quotient(const ml_Expr *e) /* ADD ... FLOORMOD */
{
    ml_KindClass c = ml_kind_class(e->kind);

    return c == ML_CLASS_ARITH || c == ML_CLASS_DIVIDE;
}
static inline bool ml_is_index(const ml_Expr *e)
{
    return ml_dtype_is_index(e->type);
}
static inline bool ml_is_index_compare(const ml_Expr *e)
{
    return ml_is_compare(e) && ml_is_index(e->args[0]);
}

#endif
