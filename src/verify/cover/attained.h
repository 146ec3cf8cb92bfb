/* attained - bounds that some point reaches, for findings that claim a program is wrong. */
#ifndef ML_VERIFY_ATTAINED_H
#define ML_VERIFY_ATTAINED_H

#include "moonloop/verify/facts.h"

/* The least and the greatest value of e while the loops of dom run under the predicate,
 * both taken at some point; other variables are symbols. false: not known. */
bool ml_attained(ml_Arith *ar, const ml_Expr *e, const ml_Dom *dom, size_t n,
                 const ml_Expr *pred, ml_Interval *out);
/* The greatest value of e over its variables, all of them loops with literal bounds that
 * `ar` knows, is taken at some point and is at least `least`. */
bool ml_reaches(ml_Arith *ar, ml_Program p, const ml_Expr *e, int64_t least);
/* The node is executed at some time: every loop above it runs, nothing above guards it. */
bool ml_reachable(ml_Arith *ar, ml_Program p, ml_Uid uid);

/* Where the elements that a block reads come from: all were written before, by blocks of
 * its scope at any level, by itself further in, or are what the scope block reads itself;
 * or some surely were not. Defined in missed.c. */
typedef enum ml_Supply { ML_SUPPLY_ALL, ML_SUPPLY_UNKNOWN, ML_SUPPLY_MISSED } ml_Supply;
ml_Supply ml_supply(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                    const ml_Region **missed);
/* No choice of a value decides whether the block loads from the buffer; calls and views are
 * taken at their word. In missed.c. */
bool ml_surely_reads(const ml_Block *b, const ml_Buffer *buf);
/* Sets the error not-region-covered of one read of the block, if it is not. In cover.c. */
void ml_cover_explain(ml_Ctx *cx, ml_Facts *f, ml_Program p, ml_Uid block,
                      const ml_Region *read);

#endif
