/* index_pages - the persistent table below ml_Index, for index.c and replace.c. An edit
 * makes a new index that shares all pages of the old one; a page is copied when it is first
 * written to. Internal to core. */
#ifndef ML_CORE_INDEX_PAGES_H
#define ML_CORE_INDEX_PAGES_H

#include "core/index.h"

typedef struct ml_IndexEntry {
    const ml_Stmt *node; /* NULL: no such uid */
    ml_Uid parent;
    uint32_t func;
} ml_IndexEntry;

/* A new version of ix (NULL: an empty index) that may be written to until it is handed out.
 */
ml_Index *ml_index_edit(ml_Ctx *cx, const ml_Index *ix);
void ml_index_put(ml_Ctx *cx, ml_Index *ix, ml_Uid uid, ml_IndexEntry entry);
/* The entry, or NULL. */
const ml_IndexEntry *ml_index_find(const ml_Index *ix, ml_Uid uid);
/* Enters all loops and blocks of st, the nearest one above being `parent`. */
void ml_index_enter(ml_Ctx *cx, ml_Index *ix, const ml_Stmt *st, ml_Uid parent,
                    uint32_t func);

#endif
