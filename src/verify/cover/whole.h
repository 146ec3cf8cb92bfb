/* whole - what blocks that share one task do of it together. */
#ifndef ML_VERIFY_WHOLE_H
#define ML_VERIFY_WHOLE_H

#include "moonloop/verify/facts.h"

typedef enum ml_Whole { ML_WHOLE_UNKNOWN, ML_WHOLE_DONE, ML_WHOLE_PART } ml_Whole;

/* The loops that drive the block, outermost first: those of its scope, of the scopes around
 * that have no iters, and in place of what is further out the iters of the first that has
 * some, over their domains. */
void ml_wide_domain(ml_Ctx *cx, ml_Program p, ml_Uid block, ml_DomVec *out);

/* Neither is inside the other. */
bool ml_works_beside(ml_Program p, const ml_Block *a, const ml_Block *b);

/* Whether all of iter k's domain is executed for all values of the other iters for which
 * some of it is, by b and the other blocks of `blocks` (of its function) that are pieces of
 * one block with it: iters of the same kinds, one region written. */
ml_Whole ml_iter_whole(ml_Ctx *cx, ml_Program p, const ml_StmtVec *blocks,
                       const ml_Block *b, size_t k);

/* Whether all that b would write over the whole of iter k's domain into buffers that no
 * block allocates is written, by whomever. */
ml_Whole ml_output_whole(ml_Ctx *cx, ml_Program p, const ml_StmtVec *blocks,
                         const ml_Block *b, size_t k);

#endif
