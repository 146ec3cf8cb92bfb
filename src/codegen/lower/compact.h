/* compact - what compact_buffers knows of the allocated buffers. Internal. */
#ifndef ML_CODEGEN_LOWER_COMPACT_H
#define ML_CODEGEN_LOWER_COMPACT_H

#include "moonloop/codegen/lower/lower_impl.h"
#include "moonloop/verify/view.h"

typedef struct ml_Compact {
    const ml_Buffer *buffer;
    const ml_Stmt *block; /* that allocates it */
    size_t depth;         /* loops around the allocation */
    size_t n_conds;       /* conditions around it */
    ml_Interval *hull;    /* per dimension, of all accesses */
    bool any;             /* there is an access */
    bool whole;           /* an access that is not understood: nothing shrinks */
    bool opaque;          /* used by its pointer: only the first dimension shrinks, from
                             its end */
    bool compact;         /* lanes of an access run on from row to row: no padding */
    /* the result */
    const ml_Buffer *to;
    const ml_Expr **min; /* subtracted from indices; NULL entries: 0 */
} ml_Compact;

typedef struct ml_ViewsAsk { /* the views of a buffer, of its layout */
    const ml_Buffer *buffer;
    int64_t factor; /* every offset of theirs is a multiple of it */
    bool fixed;     /* a stride is said: those of the buffer stay */
    bool *begins;   /* dimensions that a view begins in the middle of */
} ml_ViewsAsk;

typedef struct ml_Compaction {
    ml_Lower *lo;
    ml_Arith *ar;
    const ml_Func *func;
    ml_Map *buffers, *pointers;       /* uid of buffer, of data pointer -> ml_Compact */
    ml_Map *inner;                    /* variables of BIND statements */
    ml_Map *uses_pointer;             /* data pointers that are used as such */
    ml_Map *said_reads, *said_writes; /* by the innermost block's annotations */
    ml_Map *align;                    /* buffer uid -> ml_Align[rank] */
    ml_Map *asked;                    /* buffer uid -> ml_ViewsAsk */
    const ml_Block *block;
    ml_DomVec dom; /* loops around, outermost first; tags beside */
    ML_VEC(ml_Thread) tags;
    ML_VEC(const ml_Expr *) conds;
    ml_Subst lets;
} ml_Compaction;

/* Collects buffer_dim_align of all blocks, and what views ask of what they view. */
void ml_compact_align(ml_Compaction *c, const ml_Stmt *body);
/* New shape, minima and strides; the loops around the allocation are bound in c->ar. */
void ml_compact_shape(ml_Compaction *c, ml_Compact *r);
/* Whether anything below names the buffer. */
bool ml_compact_mentioned(ml_Compaction *c, const ml_Stmt *body, const ml_Buffer *b);
const ml_Stmt *ml_compact_rewrite(ml_Compaction *c, const ml_Stmt *body);

#endif
