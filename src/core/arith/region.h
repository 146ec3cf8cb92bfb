/* region - interval sets and region estimation. Source: ir-and-analysis 3.7, 3.8. */
#ifndef ML_CORE_ARITH_REGION_H
#define ML_CORE_ARITH_REGION_H

#include "moonloop/core/arith/arith.h"

/* [min, max], both ends included. NULL min: -inf; NULL max: +inf. nothing: the empty set.
 */
typedef struct ml_Interval {
    const ml_Expr *min, *max;
    bool nothing;
} ml_Interval;

#define ML_EVERYTHING ((ml_Interval){NULL, NULL, false})
#define ML_NOTHING    ((ml_Interval){NULL, NULL, true})

/* Loop or iterator ranges by variable: the domain of a relaxation. In order of insertion,
 * outermost first. */
typedef struct ml_Dom {
    const ml_Var *var;
    const ml_Expr *min, *extent;
} ml_Dom;
typedef ML_VEC(ml_Dom) ml_DomVec;

ml_Interval ml_interval_point(const ml_Expr *e);
ml_Interval ml_interval_range(ml_Arith *ar, const ml_Expr *min, const ml_Expr *extent);
/* What of i lies in dimension d of the buffer. */
ml_Interval ml_interval_inside(ml_Arith *ar, ml_Interval i, const ml_Buffer *b, size_t d);
/* Assumes that some of the box lies in the buffer: for questions about what of it does. */
void ml_assume_meets(ml_Arith *ar, const ml_Interval *box, const ml_Buffer *b);
bool ml_interval_is_point(ml_Arith *ar, ml_Interval i);
/* e with the variables of dom anywhere in their ranges; other variables stay symbolic. */
ml_Interval ml_relax(ml_Arith *ar, const ml_Expr *e, const ml_Dom *dom, size_t n);
/* [min, min+extent) relaxed: min at the low end, simplified min+extent-1 at the high end.
 */
ml_Interval ml_relax_range(ml_Arith *ar, ml_Range r, const ml_Dom *dom, size_t n);
/* The same, for use at another place: what is loaded may be anything, so that no end has
 * loads. */
ml_Interval ml_relax_loads(ml_Arith *ar, ml_Range r, const ml_Dom *dom, size_t n);
ml_Interval ml_interval_union(ml_Arith *ar, ml_Interval a, ml_Interval b); /* hull */
ml_Interval ml_interval_intersect(ml_Arith *ar, ml_Interval a, ml_Interval b);
/* Lower-bound union (3.7): touching or overlapping sets merge, to a fixpoint; of several
 * runs the one that holds the first nonempty set. */
ml_Interval ml_interval_lower_union(ml_Arith *ar, const ml_Interval *v, size_t n);
/* [min, max+1) as a range when both ends are finite, else `whole`. */
ml_Range ml_interval_cover(ml_Arith *ar, ml_Interval i, ml_Range whole);
bool ml_interval_includes(ml_Arith *ar, ml_Interval outer,
                          ml_Interval inner); /* provably */

/* ---- regions: a box of n ranges relaxed over dom under a predicate (NULL: true).
 * out[n]. strict and lower fail (false) as a whole; upper always answers. Where the box is
 * said to be depends on no load: at another time it might load something else. */
bool ml_region_strict(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                      size_t n_dom, const ml_Expr *pred, ml_Interval *out);
bool ml_region_lower(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                     size_t n_dom, const ml_Expr *pred, ml_Interval *out);
/* Strict says what is touched where any iteration runs, lower what is touched in any case:
 * with loops outside as symbols a predicate may leave none. What they have to be for some
 * to run; NULL: not known. */
const ml_Expr *ml_region_runs(ml_Arith *ar, const ml_Dom *dom, size_t n,
                              const ml_Expr *pred);
/* Lower, where some are known to run (`runs`). */
bool ml_region_lower_where(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                           size_t n_dom, const ml_Expr *pred, bool runs, ml_Interval *out);
void ml_region_upper(ml_Arith *ar, const ml_Range *box, size_t n, const ml_Dom *dom,
                     size_t n_dom, const ml_Expr *pred, ml_Interval *out);

/* A union of boxes as in ir-and-analysis 2.4: boxes merge when provably equal in all
 * dimensions but one and touching or overlapping there, until nothing merges. */
typedef struct ml_Boxes ml_Boxes;
ml_Boxes *ml_boxes_new(ml_Arith *ar, size_t rank);
void ml_boxes_add(ml_Boxes *b, const ml_Interval *box); /* empty boxes are dropped */
/* Whether the box lies provably in one of the merged boxes; an empty one always does. When
 * not, *dim (may be NULL) is the dimension that fails against the best candidate. */
bool ml_boxes_cover(ml_Boxes *b, const ml_Interval *box, size_t *dim);
size_t ml_boxes_count(ml_Boxes *b);
const ml_Interval *ml_boxes_at(ml_Boxes *b, size_t k);

#endif
