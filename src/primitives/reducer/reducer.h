/* reducer - which commutative reduction a block computes: the combiners that rfactor can
 * take apart, with their identities. Source: primitives 9, rfactor. */
#ifndef ML_PRIMITIVES_REDUCER_H
#define ML_PRIMITIVES_REDUCER_H

#include "moonloop/core/stmt.h"

enum { ML_MAX_REDUCER = 4 };

/* One that somebody registered, for accumulators of these types: what the placeholders x
 * and y become, and the values that change nothing. In a context of its own. */
typedef struct ml_OwnReducer {
    size_t n;
    const ml_Expr *x[ML_MAX_REDUCER], *y[ML_MAX_REDUCER]; /* variables */
    const ml_Expr *result[ML_MAX_REDUCER], *identity[ML_MAX_REDUCER];
} ml_OwnReducer;
struct ml_Intrins; /* the registry that keeps them, too */
/* A copy is kept. false: bad-argument in cx. */
bool ml_reducer_register(ml_Ctx *cx, struct ml_Intrins *t, const ml_OwnReducer *r);
/* The k-th, in the order in which they were registered; NULL: there are not so many. */
const ml_OwnReducer *ml_reducer_own(struct ml_Intrins *t, size_t k);
/* The list that the registry keeps, empty at first. */
struct ml_ReducerHead {
    _Atomic(struct ml_ReducerEntry *) first;
};
void ml_own_reducers_free(struct ml_ReducerHead *list);

/* A reduction that was recognised: everything by accumulator, in the order given. */
typedef struct ml_Combiner {
    const char *name; /* "sum", "argmax", ... */
    size_t n;
    bool first_wins;           /* among equal values the one that comes first is kept */
    bool own;                  /* registered: that it is a reduction is somebody's word */
    const ml_Reducer *reducer; /* an old and a new value, over placeholders */
    const ml_Reducer *last;    /* the accumulator and a partial result; mostly the same */
    const ml_Expr *given[ML_MAX_REDUCER];    /* new values */
    const ml_Expr *start[ML_MAX_REDUCER];    /* what a partial result starts with */
    const ml_Expr *by_index[ML_MAX_REDUCER]; /* first_wins: the same combination, by which
                                                the lower index wins */
} ml_Combiner;

/* combined[k] is what accumulator acc[k] (a load) becomes, from[k] what it starts with
 * (NULL: not asked, `start` stays empty).
 * After those that are built in, those of `more` (NULL: none) are tried. false: no known
 * reducer; *why is a phrase, in cx. */
bool ml_combiner_find(ml_Ctx *cx, struct ml_Intrins *more, size_t n,
                      const ml_Expr *const *acc, const ml_Expr *const *combined,
                      const ml_Expr *const *from, ml_Combiner *out, const char **why);
/* The combination of two values each. */
void ml_combiner_apply(ml_Ctx *cx, const ml_Reducer *r, const ml_Expr *const *x,
                       const ml_Expr *const *y, const ml_Expr **out);

#endif
