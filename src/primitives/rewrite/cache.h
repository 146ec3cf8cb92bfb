/* cache - what cache_read and cache_write share: where the copy goes, how large it is, the
 * copy nest, and rewiring accesses. Source: primitives 8. */
#ifndef ML_PRIMITIVES_CACHE_H
#define ML_PRIMITIVES_CACHE_H

#include "moonloop/primitives/prim.h"

/* Sets multi-writer; false. */
bool ml_fail_writers(ml_Call *c, const ml_Buffer *buf, const ml_UidVec *writers);
/* For ways out: the block argument of the call that failed, while it is one of a copy's. */
const ml_Block *ml_failed_block(const ml_Schedule *s, ml_Uid block, const ml_Error *e);

/* Where the copy nest is put. */
typedef struct ml_CachePlace {
    ml_Uid node;           /* loop or scope block whose body holds the place */
    const ml_Stmt *before; /* the nest goes directly before this statement; NULL: last */
    bool at_root;          /* node is the scope block */
} ml_CachePlace;

/* A buffer's cache: what part of it, and the new buffer. */
typedef struct ml_Cache {
    const ml_Buffer *old, *cached;
    ml_Range *region;    /* of the old buffer, at the place */
    ml_Range *domain;    /* what it takes over the loops of the place; NULL: all of `old` */
    bool compact;        /* the new buffer holds the region alone, shifted to 0 */
    const ml_Stmt *like; /* a nest over this region that is made, or NULL; not compact */
} ml_Cache;

/* The innermost statement sequence that holds `writer` in one element and one of `readers`
 * in a later one; false: there is none. */
bool ml_cache_place(ml_Call *c, ml_Uid writer, const ml_UidVec *readers,
                    ml_CachePlace *out);

/* What the block's region covers at the place (upper bound, under the predicate, clipped to
 * the shape); exact (may be NULL): provably nothing but what is written. */
void ml_cache_region(ml_Call *c, ml_Uid block, const ml_Region *r,
                     const ml_CachePlace *place, ml_Range *out, bool *exact);

/* A region of block b, inside of `top`, as it is seen outside of that: iters become their
 * values, loops (up to `stop`, not included; 0: the scope) join the domain. */
typedef struct ml_Outside {
    ml_Region region;
    ml_DomVec dom;
    const ml_Expr *pred; /* of all the blocks between */
} ml_Outside;
ml_Outside ml_region_outside(ml_Call *c, const ml_Block *b, const ml_Region *r, ml_Uid top,
                             ml_Uid stop);

/* Where blocks inside the block write the buffer under predicates of their own: exactly
 * what they write at the place, when that can be told (true); else out is left as it is. */
bool ml_cache_guarded(ml_Call *c, ml_Uid block, const ml_Buffer *buf); /* there are such */
bool ml_cache_guarded_region(ml_Call *c, ml_Uid block, const ml_Buffer *buf,
                             const ml_CachePlace *place, ml_Range *out);

/* The same of reads: the region of an input, narrowed to what the readers (child blocks of
 * the scope) read of it under all predicates. */
bool ml_cache_read_guarded(ml_Call *c, ml_Uid block, const ml_Buffer *buf);
void ml_cache_narrow(ml_Call *c, ml_Uid scope, const ml_UidVec *readers,
                     const ml_Buffer *buf, ml_Range *region);

/* Makes the new buffer `<buf>_<scope>` for the region at the place. */
ml_Cache ml_cache_make(ml_Call *c, const ml_Buffer *old, const char *scope,
                       ml_Range *region, const ml_CachePlace *place);

/* The copy nest: from the old buffer into the new one (in), or back. *tag: its block. */
const ml_Stmt *ml_cache_nest(ml_Call *c, const ml_Cache *cache, bool in, ml_Uid *tag);

/* st with every access of the old buffer going to the new one. `pick` decides for each
 * block by its tag: 0 leave it and everything inside, 1 rewire it, 2 leave it but look
 * inside. false: opaque-access, the buffer is used through its pointer and the copy is
 * shifted. */
typedef int ml_CachePick(const ml_Block *b, void *user);
bool ml_cache_rewire(ml_Call *c, const ml_Cache *cache, const ml_Stmt *st,
                     ml_CachePick *pick, void *user, const ml_Stmt **out);

/* The scope block with the nest put in its place, rewired, and the buffer allocated. */
bool ml_cache_install(ml_Call *c, ml_Uid scope, const ml_Cache *cache,
                      const ml_CachePlace *place, const ml_Stmt *nest, ml_CachePick *pick,
                      void *user);

/* Whether GPU threads run the iterations of a loop at or above the node. */
bool ml_under_threads(const ml_Call *c, ml_Uid node);

/* Whether the statement stores to the buffer whatever its conditions are. */
bool ml_always_stores(const ml_Stmt *s, const ml_Buffer *buf);
/* The same of a block and its region, which may be declared wider than what is written. */
bool ml_stores_region(ml_Call *c, const ml_Block *b, const ml_Region *r);

/* The scope block with the statement `top` of its body (found by pointer) replaced by
 * `before`, `with`, `after` (each may be NULL), and `alloc` allocated (NULL: nothing). */
void ml_put_beside(ml_Call *c, ml_Uid scope, const ml_Stmt *top, const ml_Stmt *before,
                   const ml_Stmt *with, const ml_Stmt *after, const ml_Buffer *alloc);

/* The position of a statement in a body; the number of its statements: it is not there. */
size_t ml_position_in(const ml_Stmt *body, const ml_Stmt *child);
/* The nest put at that position of the body of a loop or block, and `alloc` (or NULL)
 * allocated by the scope. */
void ml_put_at(ml_Call *c, ml_Uid node, size_t pos, const ml_Stmt *nest, ml_Uid scope,
               const ml_Buffer *alloc);

bool ml_uids_have(const ml_UidVec *v, ml_Uid uid);

#endif
