/* same_index - accesses of one block to one buffer that all have the same indices, and
 * their rewriting to another buffer. Source: primitives 8, reindex. */
#ifndef ML_PRIMITIVES_SAME_INDEX_H
#define ML_PRIMITIVES_SAME_INDEX_H

#include "moonloop/primitives/prim.h"

/* How a block touches a buffer. */
typedef struct ml_AccessIndex {
    const ml_Expr *const *index; /* rank of them; NULL: it does not */
    bool loads, stores;
    const char *why; /* what is against a rewrite, as "it ..."; NULL: nothing */
} ml_AccessIndex;

ml_AccessIndex ml_access_index(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *buf);

/* The block with every load and store of `from` going to `to` at idx, and with one point
 * region of it where it had regions of `from`. Indices of `from` are as ml_access_index
 * found them. */
const ml_Block *ml_with_access(ml_Ctx *cx, const ml_Block *b, const ml_Buffer *from,
                               const ml_Buffer *to, const ml_Expr *const *idx);

/* A region of one element. */
ml_Region ml_point_region(ml_Ctx *cx, const ml_Buffer *b, const ml_Expr *const *idx);

/* The iters that occur in the expressions, in block order: their positions. */
typedef ML_VEC(uint32_t) ml_IterList;
void ml_iters_used(ml_Ctx *cx, const ml_Block *b, const ml_Expr *const *e, size_t n,
                   ml_IterList *out);

/* Whether something else than an iter of the block decides the indices: a variable defined
 * between the block and its scope's body; *what gets it. */
bool ml_uses_other_var(ml_Call *c, const ml_Block *b, const ml_Expr *const *e, size_t n,
                       const ml_Var **what);

/* What has to be asked for index `at` to lie in dimension `dim`: true where it is shown. */
const ml_Expr *ml_bounds_to_ask(ml_Arith *ar, const ml_Expr *at, const ml_Expr *dim);

/* The copy block `to[at_to] = from[at_from]` with these iters, all spatial. Where `guard`
 * (NULL: always) fails, nothing is read, and it stores 0. */
const ml_Stmt *ml_copy_block(ml_Call *c, const char *name, const ml_Iter *iters, size_t n,
                             const ml_Buffer *from, const ml_Expr *const *at_from,
                             const ml_Expr *guard, const ml_Buffer *to,
                             const ml_Expr *const *at_to, ml_Uid *tag);

/* The statement directly in the scope's body on the way to the block, when only loops with
 * one child lie between (not-schedulable, not-only-child). */
const ml_Stmt *ml_only_children(ml_Call *c, ml_Uid block);
/* That statement with `with` in the place of the block. */
const ml_Stmt *ml_with_leaf(ml_Call *c, ml_Uid block, const ml_Stmt *with);

/* The values that the iters take under all loops of the scope are their whole domains. */
bool ml_covers_domains(ml_Call *c, const ml_Block *b, const ml_IterList *iters);

/* What the block writes of the buffer does not depend on what was there: it does not read
 * it, or its init comes first (cover-lost, not-reduction). */
bool ml_check_starts_fresh(ml_Call *c, const ml_Block *b, const ml_Buffer *buf);

/* Different values of the iters (their whole domains) give different indices, provably. */
bool ml_is_injective(ml_Call *c, const ml_Block *b, const ml_IterList *iters,
                     const ml_Expr *const *e, size_t n);

/* Index d of a read stays in what the scope declares that it reads of the buffer, if it
 * says so. */
bool ml_in_declared_reads(ml_Call *c, ml_Arith *ar, ml_Uid scope, const ml_Buffer *buf,
                          size_t d, const ml_Expr *at);

#endif
