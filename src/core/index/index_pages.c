/*
 * index_pages - a persistent radix table of cells.
 *
 *   root (inner) --16--> inner --16--> leaf: 16 cells for 16 consecutive numbers
 *
 * Pages are small because a step touches the few uids on its path and the fresh ones, which
 * are consecutive. A page may be written only by the edit that made it (`owner`).
 * Source: ir-and-analysis 8.2.
 */
#include "moonloop/core/index/index_pages.h"

enum { FAN_BITS = 4, FAN = 1 << FAN_BITS, FAN_MASK = FAN - 1 };

typedef struct ml_Page {
    const ml_Index *owner;
    union {
        struct ml_Page *below[FAN];
        ml_Cell cells[FAN];
    } as;
} Page;

static const size_t leaf_size = sizeof(Page);
static const size_t inner_size = offsetof(Page, as) + FAN * sizeof(Page *);

static bool fits(const ml_Pages *t, uint32_t key)
{
    unsigned bits = FAN_BITS * (t->height + 1);

    return t->root && (bits >= 32 || (key >> bits) == 0);
}

static unsigned slot(uint32_t key, unsigned level)
{
    return (key >> (FAN_BITS * level)) & FAN_MASK;
}

/* The most called of all functions of a step: one shift a level. */
const ml_Cell *ml_pages_find(const ml_Pages *t, uint32_t key)
{
    const Page *p = t->root;
    unsigned shift = FAN_BITS * t->height;

    if (!p || ((uint64_t)key >> shift) >= FAN)
        return NULL;
    for (; shift > 0; shift -= FAN_BITS) {
        p = p->as.below[(key >> shift) & FAN_MASK];
        if (!p)
            return NULL;
    }
    return &p->as.cells[key & FAN_MASK];
}

/* The page in *at, made or copied so that this edit may write to it. */
static Page *own_page(ml_Ctx *cx, const ml_Index *owner, Page **at, bool leaf)
{
    size_t size = leaf ? leaf_size : inner_size;
    Page *p;

    if (*at && (*at)->owner == owner)
        return *at;
    p = *at ? ml_alloc(cx, size) : ml_zalloc(cx, size);
    if (*at)
        memcpy(p, *at, size);
    p->owner = owner;
    *at = p;
    return p;
}

ml_Cell *ml_pages_own(ml_Ctx *cx, ml_Pages *t, const ml_Index *owner, uint32_t key)
{
    Page **at = &t->root;

    if (!t->root)
        own_page(cx, owner, at, true);
    while (!fits(t, key)) {
        Page *top = NULL;

        own_page(cx, owner, &top, false)->as.below[0] = t->root;
        t->root = top;
        t->height++;
    }
    for (unsigned level = t->height; level > 0; level--)
        at = &own_page(cx, owner, at, false)->as.below[slot(key, level)];
    return &own_page(cx, owner, at, true)->as.cells[slot(key, 0)];
}

static void each_page(const Page *p, unsigned level, uint32_t first, ml_CellFn *fn,
                      void *user)
{
    for (unsigned k = 0; p && k < FAN; k++) {
        uint32_t key = first | (k << (FAN_BITS * level));

        if (level > 0)
            each_page(p->as.below[k], level - 1, key, fn, user);
        else
            fn(key, &p->as.cells[k], user);
    }
}

void ml_pages_each(const ml_Pages *t, ml_CellFn *fn, void *user)
{
    each_page(t->root, t->height, 0, fn, user);
}
