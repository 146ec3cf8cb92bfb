/* index_pages - the persistent tables below ml_Index, for index.c, postings.c and
 * replace.c. An edit makes a new index that shares all pages of the old one; a page is
 * copied when it is first written to. Internal to core. */
#ifndef ML_CORE_INDEX_PAGES_H
#define ML_CORE_INDEX_PAGES_H

#include "moonloop/core/index/index.h"

typedef struct ml_IndexEntry {
    const ml_Stmt *node; /* NULL: no such uid */
    ml_Uid parent;
    uint32_t func;
} ml_IndexEntry;

/* A set of blocks; two fit into the cell. */
typedef struct ml_Posting {
    union {
        ml_Uid few[2];
        struct ml_TagList *many;
    } as;
    uint32_t n;
} ml_Posting;

typedef union ml_Cell {
    ml_IndexEntry entry;
    ml_Posting posting;
} ml_Cell;

/* A radix table from numbers to cells; all zero: empty. */
typedef struct ml_Pages {
    struct ml_Page *root; /* NULL: empty */
    unsigned height;      /* levels of inner pages above the leaves */
} ml_Pages;

/* NULL: nothing near it was ever written. */
const ml_Cell *ml_pages_find(const ml_Pages *t, uint32_t key);
/* The cell, in a page that only the edit `owner` has; zero when it was never written. */
ml_Cell *ml_pages_own(ml_Ctx *cx, ml_Pages *t, const ml_Index *owner, uint32_t key);
typedef void ml_CellFn(uint32_t key, const ml_Cell *cell, void *user);
/* All cells of the pages there are, the unwritten ones too. */
void ml_pages_each(const ml_Pages *t, ml_CellFn *fn, void *user);

struct ml_Index {
    ml_Pages nodes; /* uid -> entry */
    ml_Pages users; /* buffer uid -> blocks whose signature names it */
    ml_Pages homes; /* buffer uid -> blocks that allocate it or match it to a region */
    ml_Pages names; /* masked hash of a name -> blocks of that hash */
    uint32_t name_mask;
};

/* A new version of ix (NULL: an empty index) that may be written to until it is handed out.
 */
ml_Index *ml_index_edit(ml_Ctx *cx, const ml_Index *ix);
void ml_index_put(ml_Ctx *cx, ml_Index *ix, ml_Uid uid, ml_IndexEntry entry);
/* The entry, or NULL. */
const ml_IndexEntry *ml_index_find(const ml_Index *ix, ml_Uid uid);

/* Room for the names of about n blocks; only of an empty index. */
void ml_index_expect(ml_Index *ix, size_t n_blocks);
/* The block `old` is now `new`, of the same tag (NULL: there was none, it is gone): its
 * name, the buffers of its signature and those it defines. No blocks: nothing happens. */
void ml_index_sign(ml_Ctx *cx, ml_Index *ix, const ml_Stmt *old, const ml_Stmt *new);
/* Whether users, homes and names of `have` are those of `want`, and if not, why. */
bool ml_index_same_postings(ml_Ctx *cx, const ml_Index *have, const ml_Index *want,
                            const char **what);

#endif
