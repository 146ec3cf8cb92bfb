/* intrin - tensor intrinsics: pairs of functions over the same parameters, a description
 * that says what a tile computes and an implementation that does it. Source: primitives 10,
 * lowering-and-codegen 9. */
#ifndef ML_PRIMITIVES_INTRIN_H
#define ML_PRIMITIVES_INTRIN_H

#include "moonloop/core/error.h"

typedef struct ml_Intrin {
    const char *name;
    const ml_Func *desc, *impl; /* one root block each, parameters all buffers */
} ml_Intrin;

/* Those that are known; counted. One thread registers, any number of them look up. */
typedef struct ml_Intrins ml_Intrins;
ML_GIVES ml_Intrins *ml_intrins_new(void); /* with those that are built in */
ml_Intrins *ml_intrins_ref(ml_Intrins *t);
void ml_intrins_unref(ml_Intrins *t); /* NULL is fine */

/* NULL: unknown. Lives as long as the registry. */
const ml_Intrin *ml_intrin_find(ml_Intrins *t, const char *name);
/* Copies of the functions are kept. false: bad-argument, intrin-exists, in cx. */
bool ml_intrin_register(ml_Ctx *cx, ml_Intrins *t, const char *name, const ml_Func *desc,
                        const ml_Func *impl, bool override);
/* Where the list of the reducers is kept that were registered with it (reducer.h). */
typedef struct ml_ReducerHead ml_ReducerHead;
ml_ReducerHead *ml_intrins_reducers(ml_Intrins *t);
/* All names, sorted, in cx. */
size_t ml_intrin_names(ml_Ctx *cx, ml_Intrins *t, const char *const **out);
/* The least architecture of CUDA that has what is built in by that name; 0: it is of no GPU,
 * -1: it is not built in. */
int ml_intrin_sm(const char *name);
/* The one with the nearest name, or NULL. */
const char *ml_intrin_nearest(ml_Ctx *cx, ml_Intrins *t, const char *name);
/* The region of a parameter in the root block's reads or writes; NULL: there is none. */
const ml_Region *ml_intrin_region(const ml_Block *root, const ml_Buffer *b);
/* What a block of the function touches outside of the regions that it declares, as a
 * sentence in cx; what: "description" or "implementation". NULL: nothing. */
const char *ml_intrin_leaves_signature(ml_Ctx *cx, const char *what, const ml_Func *f);
/* How the regions of an implementation's parameters differ from those of the description,
 * which has as many; it may read less. NULL: they do not. */
const char *ml_intrin_differs(ml_Ctx *cx, const ml_Func *desc, const ml_Func *impl);

#endif
