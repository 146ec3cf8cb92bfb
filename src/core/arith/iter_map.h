/* iter_map - quasi-affine iterator maps: detection, inverse, subspace division, index maps.
 * Source: ir-and-analysis 4. */
#ifndef ML_CORE_ARITH_ITER_MAP_H
#define ML_CORE_ARITH_ITER_MAP_H

#include "moonloop/core/arith/region.h"

/* With symbolic ranges what a level promises is promised for all sizes that leave the
 * domain (under the predicate) not empty. */
typedef enum ml_IterLevel { ML_BIJECTIVE, ML_SURJECTIVE, ML_NO_CHECK } ml_IterLevel;

/* Why detection failed (4.1). */
typedef enum ml_IterFail {
    ML_ITER_FAIL_NONE,
    ML_ITER_FAIL_ITERATORS,   /* invalid iterators: a range mentions an input iterator */
    ML_ITER_FAIL_PREDICATE,   /* predicate not parsed */
    ML_ITER_FAIL_CONSTRAINTS, /* invalid constraints */
    ML_ITER_FAIL_PRODUCT,     /* product of two iterators */
    ML_ITER_FAIL_DIVISOR,     /* iterator as divisor */
    ML_ITER_FAIL_DIVIDEND,    /* dividend cannot be fused into one iterator */
    ML_ITER_FAIL_SCALE,       /* scale and divisor incompatible */
    ML_ITER_FAIL_NORMALISE,   /* could not normalise */
    ML_ITER_FAIL_DEPENDENT,   /* indices not independent */
    ML_ITER_FAIL_BIJECTIVE,   /* not bijective */
    ML_ITER_FAIL_PARTIAL,     /* constraint used in part */
    ML_ITER_FAIL_EMPTY,       /* empty domain */
} ml_IterFail;
const char *ml_iter_fail_text(ml_IterFail f); /* one phrase, as above */

typedef struct ml_IterMark ml_IterMark;
typedef struct ml_IterSum ml_IterSum;

/* A digit: floormod(floordiv(mark + offset, lower), extent) * scale; open: no remainder. */
typedef struct ml_IterDigit {
    const ml_IterMark *mark;
    const ml_Expr *offset, *lower, *extent, *scale;
    bool open; /* then `extent` is (offset+M-1)//lower - offset//lower + 1 */
} ml_IterDigit;

/* A source with values exactly [0, extent): an input iterator minus its minimum, or a sum.
 */
struct ml_IterMark {
    uint32_t id;
    const ml_Var *var;     /* input iterator, or NULL */
    const ml_Expr *min;    /* of the input iterator */
    const ml_IterSum *sum; /* or NULL */
    const ml_Expr *extent;
};

struct ml_IterSum {
    size_t n;
    const ml_IterDigit *digits;
    const ml_Expr *base; /* free of input iterators; never NULL */
};

typedef struct ml_IterMap {
    bool ok;
    ml_IterFail fail;  /* when not ok */
    const ml_Expr *at; /* the expression at fault, or NULL */
    size_t n;
    const ml_IterSum *sums; /* per index: at most one digit after detection */
    /* Marks of extent 1 by the predicate, whose digits no index needs: the inverse has to.
     */
    size_t n_fixed;
    const ml_IterMark *const *fixed;
} ml_IterMap;

/* keep_unit: unit iterators are carried as digits; otherwise simplified to their minimum.
 */
ml_IterMap ml_iter_detect(ml_Arith *ar, const ml_Expr *const *indices, size_t n,
                          const ml_Dom *iters, size_t n_iters, const ml_Expr *pred,
                          ml_IterLevel level, bool keep_unit);
/* Only whether the map is of the level (unit iterators carried), and with scale_one every
 * index has scale 1: cheaper, as no expressions are made of the result. */
bool ml_iter_holds(ml_Arith *ar, const ml_Expr *const *indices, size_t n,
                   const ml_Dom *iters, size_t n_iters, const ml_Expr *pred,
                   ml_IterLevel level, bool scale_one);
const ml_Expr *ml_iter_sum_expr(ml_Arith *ar, const ml_IterSum *s);

/* Indices rewritten through their map (4.7); the input when detection fails even without
 * the predicate. non_trivial: an index that was a bare variable stays one. */
void ml_iter_simplify(ml_Arith *ar, const ml_Expr *const *indices, size_t n,
                      const ml_Dom *iters, size_t n_iters, const ml_Expr *pred,
                      ml_IterLevel level, bool keep_unit, bool non_trivial,
                      const ml_Expr **out);
/* Normalise to a sum of digits (NoCheck, no fusing), ordered by scale descending. */
bool ml_iter_normalize(ml_Arith *ar, const ml_Expr *e, const ml_Dom *iters, size_t n_iters,
                       ml_IterSum *out);
/* Inverse: outputs[k] is the value of index k; fills *inverse: var uid -> const ml_Expr *.
 * Inputs without digits are absent, unless the predicate leaves them one value. false: not
 * a fuse pattern. */
bool ml_iter_inverse(ml_Arith *ar, const ml_IterMap *m, const ml_Expr *const *outputs,
                     ml_Map *inverse);

/* Subspace division (4.8): binding = outer * inner_extent + inner. min and extent are NULL
 * when the trivial fallback knows no bounds of a binding that is no affine sum. */
typedef struct ml_IterPart {
    const ml_Expr *value, *min, *extent;
} ml_IterPart;
typedef struct ml_Division {
    bool ok;
    bool trivial;               /* by the fallback: the values need not fill their ranges */
    ml_IterPart *outer, *inner; /* per binding */
    const ml_Expr *outer_pred, *inner_pred;
} ml_Division;
ml_Division ml_subspace_divide(ml_Arith *ar, const ml_Expr *const *bindings, size_t n,
                               const ml_Dom *iters, size_t n_iters,
                               const ml_Var *const *inner, size_t n_inner,
                               const ml_Expr *pred, ml_IterLevel level);

/* ---- index maps (4.11) */
void ml_index_map_apply(ml_Arith *ar, const ml_IndexMap *m, const ml_Expr *const *idx,
                        const ml_Expr **out);
/* Inverse over the given ranges (bijective); NULL with *fail set when there is none. */
const ml_IndexMap *ml_index_map_inverse(ml_Arith *ar, const ml_IndexMap *m,
                                        const ml_Range *ranges, ml_IterFail *fail);
/* Non-surjective inverse: *padding is true exactly where no input maps to, over the
 * inverse's variables. */
const ml_IndexMap *ml_index_map_inverse_padded(ml_Arith *ar, const ml_IndexMap *m,
                                               const ml_Range *ranges,
                                               const ml_Expr **padding, ml_IterFail *fail);
bool ml_index_map_shape(ml_Arith *ar, const ml_IndexMap *m, const ml_Expr *const *shape,
                        const ml_Expr **out); /* false: a resulting minimum is not 0 */

#endif
