/* cover_impl - what region cover and the search for what is missing share. */
#ifndef ML_VERIFY_COVER_IMPL_H
#define ML_VERIFY_COVER_IMPL_H

#include "moonloop/verify/cover/attained.h"
#include "moonloop/verify/cover/cover_strides.h"
#include "moonloop/verify/cover/written.h"

/* The loops between a block and the ancestor, split into what is relaxed and what is one
 * thread's own. */
typedef struct ml_CoverAround {
    ml_DomVec dom;
    ml_Subst threads; /* private thread loops -> one variable per tag and extent */
} ml_CoverAround;

typedef struct ml_CoverTag {
    ml_Thread thread;
    const ml_Expr *extent;
    const ml_Var *var;
    const ml_For *loop; /* the first one of it */
} ml_CoverTag;

typedef struct ml_Cover {
    ml_Ctx *cx;
    ml_Program p;
    ml_Uid scope, consumer;
    ml_Arith *ar;
    ML_VEC(ml_CoverTag) tags;
    bool explain;
    bool views;            /* of the scope or above */
    bool outside;          /* what the scope block reads is there, too */
    bool inside;           /* what nothing writes in the scope comes from outside */
    bool values;           /* values alone: see ml_is_produced */
    const ml_Region *only; /* of the consumer's reads; NULL: all */
} ml_Cover;

void ml_cover_around(ml_Cover *c, ml_Uid block, ml_Uid stop, const ml_Buffer *buf,
                     ml_CoverAround *out);
/* A region of the block in terms of what is around it. */
ml_Region ml_cover_outward(ml_Cover *c, const ml_Block *b, const ml_Region *r,
                           const ml_CoverAround *around, const ml_Expr **pred);
const ml_Buffer *ml_cover_canonical(ml_Cover *c, const ml_Buffer *b);
/* Writers before the consumer of anything that it reads. */
void ml_cover_producers(ml_Cover *c, ml_Facts *f, const ml_Block *consumer, ml_UidVec *out);
/* Whether the block writes of a buffer that others write, too, by choice: a point that it
 * declares is then what it may write, and where it does not, theirs counts. */
bool ml_cover_by_choice(const ml_Cover *c, const ml_Block *w, const ml_Region *declared,
                        const ml_UidVec *producers);
/* One region read, against producers; those at `a` or further out count, each with the
 * loops below its own common ancestor with the consumer relaxed. c->ar knows what is around
 * `a`. */
bool ml_cover_region(ml_Cover *c, const ml_Block *consumer, const ml_Region *read, ml_Uid a,
                     const ml_UidVec *producers);
/* c->ar for questions under the node. */
void ml_cover_at(ml_Cover *c, ml_Uid a);
/* What is read of a dimension (from 0, of rank) and what is written, where the one is not
 * within the other; one end is named when it alone fails and the ends are no numbers. Those
 * that are none are left in *ends. */
const char *ml_cover_dimension_text(ml_Cover *c, size_t dim, size_t rank, ml_Interval read,
                                    ml_Interval written, ml_CoverEnds *ends);
/* All four ends are numbers. */
bool ml_cover_numbers(ml_Interval a, ml_Interval b);

#endif
