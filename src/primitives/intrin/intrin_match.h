/* intrin_match - whether a block computes what an intrinsic describes, and on which parts
 * of which buffers. Source: primitives 10, tensorize. */
#ifndef ML_PRIMITIVES_INTRIN_MATCH_H
#define ML_PRIMITIVES_INTRIN_MATCH_H

#include "moonloop/primitives/intrin.h"
#include "moonloop/primitives/prim.h"

typedef struct ml_IntrinPlace { /* of a parameter */
    const ml_Buffer *buffer;    /* of the program */
    const ml_Expr *const *base; /* its start, for each dimension of the buffer */
    size_t lead;                /* dimensions that the parameter lacks */
} ml_IntrinPlace;

/* desc lives in the schedule's context, its variables are its own; errors are about the
 * block `shown`. places has room for its
 * parameters. false: intrin-mismatch, with what differs. */
bool ml_intrin_match(ml_Call *c, const char *name, const ml_Func *desc, const ml_Block *b,
                     ml_Uid shown, ml_IntrinPlace *places);

/* Whether operands that the description keeps apart lie apart where it writes one of them:
 * views[k] is its k-th parameter in the block, which ar knows; what an operand writes,
 * another must not touch. false: intrin-mismatch, about the block `shown`. */
bool ml_intrin_check_apart(ml_Call *c, ml_Arith *ar, const char *name, const ml_Func *desc,
                           ml_Uid shown, const ml_Match *views);

#endif
