/*
 * arith - the analyzer: what is known of integer variables, simplification and proofs.
 *
 * An ml_Arith lives in a context's arena and is cheap to make; it may cache by expression
 * id, so it must not outlive an ml_release below its creation. All answers are exact or
 * conservative: "not proved" never means "false". Only scalar int32/int64 expressions take
 * part, on the assumption that they do not overflow. Source: ir-and-analysis 3.
 */
#ifndef ML_CORE_ARITH_H
#define ML_CORE_ARITH_H

#include "moonloop/core/walk.h"

typedef struct ml_Arith ml_Arith;

ml_Arith *ml_arith_new(ml_Ctx *cx);
ml_Ctx *ml_arith_ctx(const ml_Arith *ar);

/* Answers found in the facts in force are not remembered any longer: for who takes away a
 * mark of overflow, which a remembered answer would not make again. */
void ml_arith_forget(ml_Arith *ar);

/* ---- facts about variables. Rebinding replaces what was known. */
void ml_arith_bind_range(ml_Arith *ar, const ml_Var *v, const ml_Expr *min,
                         const ml_Expr *extent);
void ml_arith_bind_value(ml_Arith *ar, const ml_Var *v, const ml_Expr *value);
/* Only a constant bound, as for symbolic sizes: v >= lo. */
void ml_arith_bind_lower(ml_Arith *ar, const ml_Var *v, int64_t lo);
/* The non-negative symbols of a function: each parameter dimension scale*v + offset. */
void ml_arith_bind_params(ml_Arith *ar, const ml_Func *f);
/* A loop's or iterator's range. */
void ml_arith_bind_loop(ml_Arith *ar, const ml_For *loop);
void ml_arith_bind_iters(ml_Arith *ar, const ml_Block *b); /* domains, not bindings */
/* The same for expressions that stay inside of b, where no loop around may be named: an iter
 * of one value, which a loop chooses, keeps its name and has the bounds of that value. */
void ml_arith_bind_within(ml_Arith *ar, const ml_Block *b);

/* ---- assumptions, scoped: restore(save()) leaves exactly. */
typedef struct ml_ArithMark {
    size_t n;
} ml_ArithMark;
ml_ArithMark ml_arith_save(ml_Arith *ar);
void ml_arith_assume(ml_Arith *ar, const ml_Expr *pred);
void ml_arith_restore(ml_Arith *ar, ml_ArithMark mark); /* bindings made since go too */
/* ml_stmt_map of a loop: its body with the loop's range known, its own bounds without, since
 * that a loop has iterations holds inside of it alone. */
const ml_Stmt *ml_arith_map_loop(ml_Arith *ar, const ml_For *loop, const ml_Mapper *m);

/* ---- constant bounds (3.2): saturating, +-ML_INF are infinities */
#define ML_INF INT64_MAX
typedef struct ml_Bound {
    int64_t lo, hi; /* lo == -ML_INF, hi == ML_INF: unbounded */
} ml_Bound;
ml_Bound ml_arith_bound(ml_Arith *ar, const ml_Expr *e);

/* ---- modular sets (3.3): value in coeff*Z + base, 0 <= base < coeff; coeff 0: constant */
typedef struct ml_Modular {
    int64_t coeff, base;
} ml_Modular;
ml_Modular ml_arith_modular(ml_Arith *ar, const ml_Expr *e);

/* ---- simplification (3.4, 3.5) */
const ml_Expr *ml_canonical(ml_Arith *ar, const ml_Expr *e);
const ml_Expr *ml_rewrite(ml_Arith *ar, const ml_Expr *e);
/* canonical, rewrite, canonical, stopping early on a literal. */
const ml_Expr *ml_simplify(ml_Arith *ar, const ml_Expr *e);
/* The same for what is stored, bound or passed on: there integers wrap (value.c), and only
 * what is exact then is changed. */
const ml_Expr *ml_simplify_value(ml_Arith *ar, const ml_Expr *e);
/* Whether every operator of e, indices of loads apart, provably stays inside its dtype and
 * divides by what is not 0. */
bool ml_arith_exact(ml_Arith *ar, const ml_Expr *e);

/* ---- proving (3.6) */
bool ml_prove(ml_Arith *ar, const ml_Expr *p);
/* Also by the interval of the difference (symbolic strength): top level only. */
bool ml_prove_symbolic(ml_Arith *ar, const ml_Expr *p);
bool ml_prove_equal(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b);
bool ml_prove_ge(ml_Arith *ar, const ml_Expr *e, int64_t c);              /* e >= c */
bool ml_prove_lt(ml_Arith *ar, const ml_Expr *e, int64_t c);              /* e < c */
bool ml_prove_le_expr(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b);  /* a <= b */
bool ml_prove_le_cases(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b); /* and min, max */
/* A comparison, or a conjunction of some, plainly or by cases of min and max. */
bool ml_prove_cases(ml_Arith *ar, const ml_Expr *p);
bool ml_prove_lt_expr(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b);
typedef enum ml_Cmp {
    ML_CMP_UNKNOWN,
    ML_CMP_EQ,
    ML_CMP_LT,
    ML_CMP_LE,
    ML_CMP_GT,
    ML_CMP_GE,
    ML_CMP_NE,
} ml_Cmp;
ml_Cmp ml_compare(ml_Arith *ar, const ml_Expr *a, const ml_Expr *b);

#endif
