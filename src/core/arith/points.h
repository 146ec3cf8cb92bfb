/* points - the points of loops with literal bounds, one by one: what provers leave open of
 * small programs is counted. */
#ifndef ML_CORE_ARITH_POINTS_H
#define ML_CORE_ARITH_POINTS_H

#include "moonloop/core/arith/region.h"

typedef struct ml_Point { /* values of variables */
    const ml_Var *var[32];
    int64_t value[32];
    size_t n;
    bool unknown; /* a value was not known: all answers are void */
} ml_Point;

void ml_point_set(ml_Point *at, const ml_Var *v, int64_t value); /* unknown: no room */

/* Of integers and truth values; sets unknown where there is a variable without a value, a
 * load, a call other than of and, or and xor of bits, or a number that does not fit. */
int64_t ml_value_at(ml_Point *at, const ml_Expr *e);

/* Calls visit at every point of the loops at which the predicate holds. *budget: how many
 * points may be looked at, less those that were. false: not all were visited. */
typedef void ml_PointFn(ml_Point *at, void *user);
bool ml_each_point(const ml_Dom *dom, size_t n, const ml_Expr *pred, int64_t *budget,
                   ml_PointFn *visit, void *user);

#endif
