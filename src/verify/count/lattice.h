/*
 * lattice - counting with sums c0*x0 + c1*x1 + ... of digits 0 <= xk < ek: how many ways
 * stay between two bounds, how many values there are. Integers only; nothing of programs.
 */
#ifndef ML_VERIFY_LATTICE_H
#define ML_VERIFY_LATTICE_H

#include "moonloop/core/base/base.h"

enum { ML_MAX_DIGITS = 64 };

typedef struct ml_Sum1 { /* one sum; no digit is empty */
    uint32_t n;
    int64_t c[ML_MAX_DIGITS], e[ML_MAX_DIGITS];
} ml_Sum1;

/* Least and greatest value; false: beyond int64. */
bool ml_sum1_range(const ml_Sum1 *s, int64_t *min, int64_t *max);
/* Ways to choose the digits; false: beyond int64. */
bool ml_sum1_ways(const ml_Sum1 *s, int64_t *ways);
/* Those of them with lo <= value <= hi; an end of INT64_MIN, INT64_MAX is open. false: it
 * would take longer than the budget (which goes down), or it does not fit. */
bool ml_sum1_between(const ml_Sum1 *s, int64_t lo, int64_t hi, int64_t *budget,
                     int64_t *ways);

typedef struct ml_Values {
    int64_t n;
    bool exact;      /* else at most so many */
    bool contiguous; /* every integer from the least to the greatest value */
} ml_Values;
/* Distinct values; false: beyond int64. */
bool ml_sum1_values(const ml_Sum1 *s, ml_Values *out);

#endif
