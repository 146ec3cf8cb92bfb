/*
 * iter_impl - what the files of iterator-map detection share: values, digits, marks, state.
 *
 * A value is a plain int64 while everything is a literal (the common case: no expression is
 * built at all) and an expression of the detection's dtype otherwise. Literal arithmetic is
 * checked: an overflow makes the detection fail, never lie. Source: ir-and-analysis 4.
 */
#ifndef ML_CORE_ARITH_ITER_IMPL_H
#define ML_CORE_ARITH_ITER_IMPL_H

#include "moonloop/core/arith/iter_map.h"

/* An expression larger than this (as a tree) is not looked at: sharing could make it
 * endless. */
#define ML_IT_SIZE_LIMIT 50000

/* A literal (e NULL) or a simplified expression that is none. */
typedef struct ml_ItVal {
    const ml_Expr *e;
    int64_t i;
} ml_ItVal;

typedef struct ml_ItMark ml_ItMark;

/* floormod(floordiv(mark + off, low), ext) * scale; open: no remainder, ext is the extent.
 */
typedef struct ml_ItDigit {
    ml_ItMark *mark;
    ml_ItVal off, low, ext, scale;
    bool open;
} ml_ItDigit;

typedef struct ml_ItSum {
    ml_ItDigit *v; /* outermost first, once fused */
    size_t n, cap;
    ml_ItVal base;
} ml_ItSum;

/* A digit taken of a mark, seen from the mark (4.6). */
typedef struct ml_ItTaken {
    ml_ItDigit d;
    bool by_constraint; /* added by a constraint that no index goes through */
} ml_ItTaken;

typedef enum ml_ItMarkKind {
    ML_IT_INPUT,
    ML_IT_FUSED,
    ML_IT_CONSTRAINT, /* its sum has the base -lo */
    ML_IT_WRAP,
} ml_ItMarkKind;

struct ml_ItMark {
    uint32_t id; /* above those of its constituents */
    ml_ItMarkKind kind;
    const ml_Var *var; /* input: the iterator and its minimum (after narrowing) */
    ml_ItVal min;
    ml_ItVal extent;
    ml_ItSum sum;        /* all others; scales relative, innermost 1 */
    ml_ItVal lo;         /* constraint: what it subtracts */
    bool cut_lo, cut_hi; /* constraint: which side of the natural range is cut */
    bool at_unit;        /* constraint: consumed as a digit of extent 1 */
    /* of the check in progress */
    bool visited;
    ML_VEC(ml_ItTaken) taken;
    ml_ItTaken first_taken; /* room for the one that most marks have */
    /* of the export */
    ml_IterMark *out;
};

/* One conjunct of the predicate: lhs - rhs `op` 0. */
typedef struct ml_ItConj {
    const ml_Expr *e; /* the comparison */
    bool narrows;     /* a lone iterator: its range has been narrowed */
    bool redundant;   /* changes nothing */
    bool foreign;     /* mentions no iterator */
    bool upper;       /* bounds the digits from above */
    uint32_t group;
} ml_ItConj;

typedef struct ml_ItGroup {
    const ml_Expr *lhs, *rhs; /* the first conjunct's sides */
    bool negate;              /* the digits are those of rhs - lhs */
    ml_ItSum sum;             /* raw digits, base dropped into the bounds */
    ml_ItVal lo, hi;          /* lo <= sum of digits < hi */
    bool has_lo, has_hi, cut_lo, cut_hi;
    uint32_t size;
} ml_ItGroup;

typedef struct ml_ItState {
    ml_Arith *ar;
    ml_Ctx *cx;
    ml_Dtype t; /* of all expressions: int64 as soon as anything is */
    ml_IterLevel level;
    bool keep_unit;
    bool failed;
    ml_IterFail fail;
    const ml_Expr *at;
    uint64_t bloom; /* of the input iterators */
    size_t n_inputs;
    ML_VEC(ml_ItMark *) marks; /* the inputs first, in order */
    ML_VEC(ml_ItMark *) constraints;
    ML_VEC(ml_ItConj) conjs;
    ML_VEC(ml_ItGroup) groups;
    ml_Map *memo; /* id of a // or % node -> its ml_ItSum */
    ml_ItSum *sums;
    size_t n_sums;
} ml_ItState;

/* ---- values (iter_val.c) */
static inline ml_ItVal ml_it_lit(int64_t i)
{
    return (ml_ItVal){NULL, i};
}
static inline bool ml_it_is(ml_ItVal v, int64_t i)
{
    return !v.e && v.i == i;
}
ml_ItVal ml_it_val(ml_ItState *st, const ml_Expr *e); /* free of iterators */
const ml_Expr *ml_it_expr(ml_ItState *st, ml_ItVal v);
ml_ItVal ml_it_add(ml_ItState *st, ml_ItVal a, ml_ItVal b);
ml_ItVal ml_it_sub(ml_ItState *st, ml_ItVal a, ml_ItVal b);
ml_ItVal ml_it_mul(ml_ItState *st, ml_ItVal a, ml_ItVal b);
ml_ItVal ml_it_div(ml_ItState *st, ml_ItVal a, ml_ItVal b); /* floor; b >= 1 */
ml_ItVal ml_it_mod(ml_ItState *st, ml_ItVal a, ml_ItVal b);
bool ml_it_eq(ml_ItState *st, ml_ItVal a, ml_ItVal b);
bool ml_it_le(ml_ItState *st, ml_ItVal a, ml_ItVal b);
bool ml_it_lt(ml_ItState *st, ml_ItVal a, ml_ItVal b);
bool ml_it_divides(ml_ItState *st, ml_ItVal d, ml_ItVal c);
/* Provably >= 1, or a symbol that is provably >= 0 and divides something in the program. */
bool ml_it_positive_divisor(ml_ItState *st, ml_ItVal d);

/* ---- digits (iter_detect.c) */
bool ml_it_fail(ml_ItState *st, ml_IterFail f, const ml_Expr *at); /* false */
static inline bool ml_it_is_unit(const ml_ItDigit *d)
{
    return ml_it_is(d->ext, 1);
}
static inline bool ml_it_is_whole(const ml_ItDigit *d)
{
    return d->open && ml_it_is(d->off, 0) && ml_it_is(d->low, 1);
}
bool ml_it_same_digit(ml_ItState *st, const ml_ItDigit *a, const ml_ItDigit *b);
ml_ItDigit ml_it_whole(ml_ItMark *m, ml_ItVal scale);
ml_ItMark *ml_it_mark(ml_ItState *st, ml_ItMarkKind kind);
/* Adds e * coef to acc. */
bool ml_it_convert(ml_ItState *st, const ml_Expr *e, ml_ItVal coef, ml_ItSum *acc);
/* The iterators' marks; fills in st->t, bloom, n_inputs. */
bool ml_it_begin(ml_ItState *st, const ml_Expr *const *indices, size_t n,
                 const ml_Dom *iters, size_t n_iters);
/* Whole detection; st->ar, level and keep_unit are set. The result is st->sums. */
bool ml_it_detect(ml_ItState *st, const ml_Expr *const *indices, size_t n,
                  const ml_Dom *iters, size_t n_iters, const ml_Expr *pred);
/* Whether e mentions an input iterator. */
bool ml_it_has_iter(const ml_ItState *st, const ml_Expr *e);
ml_ItMark *ml_it_input(const ml_ItState *st, const ml_Var *v);

/* ---- fusing (iter_fuse.c) */
/* s becomes at most one digit. drop_units: unit digits may be forgotten. */
bool ml_it_fuse(ml_ItState *st, ml_ItSum *s, bool drop_units, const ml_Expr *at);
void ml_it_combine(ml_ItState *st, ml_ItSum *s);
bool ml_it_predicate(ml_ItState *st, const ml_Expr *pred); /* (iter_pred.c) */
/* The predicate, equal to it on all points of the iterators' ranges, in the form-th other
 * way of writing it: simplified, and each sum divided by what divides its bound (f*18 + g*3
 * + h < 81 is f*2 + g//3 < 9). pred itself where there is none. */
enum { ML_IT_FORMS = 2, ML_IT_FORM_CONJUNCTS = 64 };
const ml_Expr *ml_it_predicate_form(ml_ItState *st, const ml_Expr *pred,
                                    const ml_Dom *iters, size_t n_iters, int form);

/* ---- checks (iter_check.c) */
bool ml_it_check(ml_ItState *st);
/* A symbol, or an expression of some, that no loop has a say in: a size, which is what it
 * is. Not so a number. */
bool ml_it_is_size(ml_ItState *st, ml_ItVal v);
/* Sorts n digits of one mark innermost first; units must have been left out. */
void ml_it_sort(ml_ItState *st, ml_ItDigit *v, size_t n);

/* ---- plain mixed-radix indices (iter_radix.c): *out as simplification without a predicate
 * would give it; false: not of that form. */
bool ml_it_radix(ml_Arith *ar, const ml_Expr *const *indices, size_t n, const ml_Dom *iters,
                 size_t n_iters, const ml_Expr **out);

/* ---- export (iter_expr.c) */
ml_IterSum ml_it_export(ml_ItState *st, const ml_ItSum *s);
const ml_IterMark *ml_it_export_mark(ml_ItState *st, ml_ItMark *m);
/* The expression of a sum, of the detection's dtype. */
const ml_Expr *ml_it_sum_expr(ml_ItState *st, const ml_ItSum *s);

/* ---- inverse (iter_inverse.c): ml_iter_inverse, and when padding is not NULL also the
 * predicate over the outputs that holds exactly where no input maps to. */
bool ml_it_invert(ml_Arith *ar, const ml_IterMap *m, const ml_Expr *const *outputs,
                  ml_Map *inverse, const ml_Expr **padding);

#endif
