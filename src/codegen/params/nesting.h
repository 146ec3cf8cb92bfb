/* nesting - the blocks and loops around a statement, while a walk is at it. */
#ifndef ML_CODEGEN_NESTING_H
#define ML_CODEGEN_NESTING_H

#include "moonloop/codegen/params/count.h"

enum { ML_NESTING = 512 };

typedef struct ml_Nesting {
    const ml_Size *sizes;
    size_t n_sizes;
    const ml_Block *block[ML_NESTING];
    uint32_t loops_above[ML_NESTING], n_blocks;
    const ml_For *loop[ML_NESTING];
    uint32_t n_loops;
} ml_Nesting;

/* false: nested too deep, and not entered. Who leaves sets n_blocks, n_loops back. */
bool ml_nesting_block(ml_Nesting *n, const ml_Block *b);
bool ml_nesting_loop(ml_Nesting *n, const ml_For *f);
/* The number of terms that a store here adds up in one element: the reduce iterators around
 * it, and, where its value loads that element (self), the loops inside the innermost block
 * with iterators that its place does not name. A size that is not known counts as 1. */
double ml_nesting_terms(const ml_Nesting *n, const ml_Store *s, bool self);

#endif
