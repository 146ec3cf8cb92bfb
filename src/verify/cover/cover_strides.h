/* cover_strides - what the files of region cover share: writers that leave gaps of constant
 * steps, and the facts of the error. */
#ifndef ML_VERIFY_COVER_STRIDES_H
#define ML_VERIFY_COVER_STRIDES_H

#include "moonloop/verify/verify.h"

/* One region, and the loops and the predicate under which it is touched. */
typedef struct ml_Access1 {
    const ml_Range *ranges;
    const ml_Dom *dom;
    size_t n_dom;
    const ml_Expr *pred;
} ml_Access1;

/* Whether all that is read was provably written. clipped: what is read at most, inside the
 * buffer. false: nothing is known. */
bool ml_strides_cover(ml_Arith *ar, size_t rank, const ml_Access1 *writes, size_t n_writes,
                      const ml_Access1 *read, const ml_Interval *clipped);

/* Whether the instances of the writer by whose indices the read region is touched ran. by:
 * the loops around the writer and its predicate. */
bool ml_same_cover(ml_Ctx *cx, ml_Arith *ar, const ml_Block *writer, const ml_Region *write,
                   const ml_Access1 *by, const ml_Access1 *read);

/* The error not-region-covered: its text names facts 4 to 7 by {4} ..., the ends of what is
 * read and of what is written; 0 where the text has no use of one. */
enum { ML_COVER_FIRST_END = 4 };
typedef struct ml_CoverEnds {
    const ml_Expr *v[4];
} ml_CoverEnds;
ml_CoverEnds ml_cover_no_ends(ml_Ctx *cx);

#endif
