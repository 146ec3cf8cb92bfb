/* layout - what the primitives that change a buffer's layout share: an index map made to
 * fit a buffer, and every access of the buffer moved through it. Source: primitives 11. */
#ifndef ML_PRIMITIVES_LAYOUT_H
#define ML_PRIMITIVES_LAYOUT_H

#include "moonloop/primitives/prim.h"

/* The map with variables and results of dtype t. */
const ml_IndexMap *ml_map_typed(ml_Arith *ar, const ml_IndexMap *m, ml_Dtype t);
/* The elements of a small constant shape, one by one: what is wrong with a map that is
 * taken on trust, or NULL. all: every place of the new shape is taken, and a given inverse
 * leads back. */
const char *ml_map_try(ml_Ctx *cx, const ml_IndexMap *m, const ml_Expr *const *old,
                       const ml_Expr *const *fresh, bool all);

/* A buffer and what it becomes. */
typedef struct ml_Relayout {
    const ml_Buffer *old, *fresh;
    const ml_IndexMap *map; /* from the indices of old to those of fresh; typed */
    bool same_axes;         /* each stays what it is: so do their alignments */
} ml_Relayout;

/* st, which `ar` is about to enter, with all accesses of the old buffer moved to the fresh
 * one: loads, stores, regions, match_buffer sources. *dropped: an alignment of the old
 * axes went. false: opaque-access, not-supported. */
bool ml_relayout(ml_Call *c, ml_Arith *ar, const ml_Relayout *to, const ml_Stmt *st,
                 const ml_Stmt **out, bool *dropped);

/* st with index arithmetic over these iters, whose ranges ar knows, as simple as it can be.
 */
const ml_Stmt *ml_tidy_indices(ml_Arith *ar, const ml_Stmt *st, const ml_Iter *iters,
                               uint32_t n);

/* Where a buffer can be seen, and its position among the parameters. */
typedef struct ml_BufferHome {
    ml_Uid scope; /* the block that allocates it; of a parameter the root block */
    int param;    /* -1: allocated */
} ml_BufferHome;
/* false: buffer-is-view, or buffer-not-allocated. */
bool ml_buffer_home(ml_Call *c, const ml_Block *user, const ml_Buffer *buf,
                    ml_BufferHome *out);
/* Puts st for the home's scope, and the fresh buffer in the place of the old one there. */
bool ml_layout_install(ml_Call *c, const ml_BufferHome *home, const ml_Buffer *old,
                       const ml_Buffer *fresh, const ml_Stmt *st);

/* The buffer, and views of it, with these axis separators. */
bool ml_separate(ml_Call *c, const ml_BufferHome *home, const ml_Buffer *buf,
                 const int32_t *list, size_t n);

/* ---- padding of transform_layout */
typedef struct ml_Padding {
    const ml_IndexMap *inverse; /* from the new indices to the old ones */
    const ml_Expr *where;       /* over the inverse's variables: no old element is here */
    const ml_IndexMap *map;     /* pad value, from new indices; or NULL */
    const ml_Expr *value;       /* or a constant of the buffer's dtype */
    bool own;   /* the buffer is allocated: what nobody wrote has no value */
    bool loads; /* the pad value reads the old buffer: it is written behind all of it */
} ml_Padding;
/* The scope's statement (still with accesses of the old buffer) with what writes or
 * promises the padding. */
bool ml_layout_pad(ml_Call *c, const ml_Relayout *to, const ml_Padding *pad,
                   const ml_Block *scope, const ml_Stmt **out);

#endif
