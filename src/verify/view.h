/* view - what a match_buffer asks of its source: strides, element offset and extents; and
 * the strides that storage_align asks for. Source: lowering-and-codegen 2.8, 2.11. */
#ifndef ML_VERIFY_VIEW_H
#define ML_VERIFY_VIEW_H

#include "moonloop/core/arith/arith.h"
#include "moonloop/core/index/index.h"

typedef struct ml_Align { /* of one dimension; factor 0: none asked for */
    int64_t factor, offset;
} ml_Align;

/* What an entry of buffer_dim_align asks: [position, dimension, factor, offset], where the
 * position is below n. false: it is no such list, or says nothing of a dimension that is.
 */
bool ml_align_entry(const ml_Value *e, size_t n, size_t *position, size_t *dim,
                    ml_Align *out);
/* What the annotations of all blocks at and below s ask of the buffer: one per dimension;
 * NULL: nothing. */
const ml_Align *ml_align_asked(ml_Ctx *cx, const ml_Stmt *s, const ml_Buffer *b);
/* The strides of b in elements: those declared; with `align` (may be NULL) compact ones
 * raised to what it asks. NULL: they pass the dtype of the indices. */
const ml_Expr *const *ml_buffer_strides(ml_Arith *ar, const ml_Buffer *b,
                                        const ml_Align *align);

typedef struct ml_ViewBinding {
    ml_Ctx *cx;
    ml_Arith *ar;
    const ml_Match *match;
    const ml_Expr *const *stride; /* of the source */
    const ml_Map *defined; /* uids of variables that have a value here; NULL: none has */
    ml_Subst *vars;        /* gets the values of variables that the view leaves open */
    bool asks;             /* the values are not used: they need not be simple */
    /* set by ml_view_bind */
    size_t lead;           /* dimensions of the source that the view lacks */
    const ml_Expr *offset; /* of the region's start, in elements */
} ml_ViewBinding;
/* false: the view asks for what its source does not have, or that cannot be shown; *why is
 * a sentence in cx without its subject. */
bool ml_view_bind(ml_ViewBinding *v, const char **why);
/* Whether the elements of the match's region follow each other in memory, as those of a
 * view without strides do; else *gap is the dimension whose stride leaves a gap. */
bool ml_view_is_run(ml_Arith *ar, const ml_Match *m, const ml_Expr *const *stride,
                    size_t *gap);
/* A block of the function with a view of b that would not be what it says were b aligned
 * so (NULL: not at all): it fixes strides or an offset, or is compact. NULL: there is
 * none; *why as above. */
const ml_Block *ml_views_misfit(ml_Ctx *cx, ml_Program p, uint32_t func, const ml_Buffer *b,
                                const ml_Align *align, const char **why);

#endif
