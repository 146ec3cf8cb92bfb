/* reducer - which commutative reduction a block computes: the combiners that rfactor can
 * take apart, with their identities. Source: primitives 9, rfactor. */
#ifndef ML_PRIMITIVES_REDUCER_H
#define ML_PRIMITIVES_REDUCER_H

#include "core/stmt.h"

enum { ML_MAX_REDUCER = 2 };

/* A reduction that was recognised: results in the order of the accumulators given. */
typedef struct ml_Combiner {
    const char *name; /* "sum", "argmax", ... */
    size_t n;
    bool first_wins;              /* among equal values the one that comes first is kept */
    uint8_t perm[ML_MAX_REDUCER]; /* reducer's k-th result belongs to accumulator perm[k] */
    const ml_Reducer *reducer;    /* over placeholders */
    const ml_Expr *given[ML_MAX_REDUCER]; /* new values, by accumulator */
} ml_Combiner;

/* combined[k] is what accumulator acc[k] (a load) becomes, from[k] what it starts with.
 * false: no known reducer; *why is a phrase, in cx. */
bool ml_combiner_find(ml_Ctx *cx, size_t n, const ml_Expr *const *acc,
                      const ml_Expr *const *combined, const ml_Expr *const *from,
                      ml_Combiner *out, const char **why);
/* The combination of two values each, by accumulator. */
void ml_combiner_apply(ml_Ctx *cx, const ml_Combiner *r, const ml_Expr *const *x,
                       const ml_Expr *const *y, const ml_Expr **out);

#endif
