/*
 * workspace - memory for the buffers of compiled code, per thread, last in first out.
 *
 * Each allocation is a block of pages, kept by the thread that frees it, so that a kernel
 * pays for its pages once. Data begins a few lines of the cache into its block, in 16 steps
 * by turns, so that buffers of equal size do not fall into the same sets of the cache; from
 * 1 MiB on that is 0 to 15 lines behind a page's begin. From 256 KiB on huge pages are asked
 * for: small ones are anywhere in memory, so that some sets of the second cache have too many
 * of them, and a panel that would fit falls out. Source: lowering-and-codegen 7.6.
 */
#define _GNU_SOURCE /* NOLINT: MAP_ANONYMOUS, madvise */
#include "moonloop/codegen/runtime/guarded.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    COLOURS = 16,
    LINE = 64,
    PAGE = 4096,
    BIG = 1 << 20,
    HUGE_FROM = 1 << 18,
    HUGE_PAGE = 2 << 20,
    MAX_UNUSED = 32
};

typedef struct Block {   /* in front of what is given out */
    struct Block *next;  /* in the list of unused ones */
    size_t room, mapped; /* bytes behind this header; of the whole */
} Block;

static _Thread_local Block *unused;
static _Thread_local unsigned n_unused, colour;
static _Thread_local bool
    watched; /* a key sees to it that the thread's blocks go with it */
static _Atomic uint64_t limit, held, refused;
static _Atomic bool guards;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

void ml_workspace_set_limit(uint64_t bytes)
{
    atomic_store(&limit, bytes);
    atomic_store(&refused, 0);
}

uint64_t ml_workspace_refused(void)
{
    return atomic_load(&refused);
}

void ml_workspace_guard(bool on)
{
    atomic_store(&guards, on);
}

static void unmap(void *p, size_t n)
{
    munmap(p, n);
    atomic_fetch_sub(&held, n);
}

static void give_back(Block *b)
{
    unmap(b, b->mapped);
}

static void release_guarded(void)
{
    size_t n;

    for (void *p; (p = ml_guarded_drop(&n)) != NULL;)
        unmap(p, n);
}

void ml_workspace_release(void)
{
    release_guarded();
    while (unused) {
        Block *b = unused;

        unused = b->next;
        give_back(b);
    }
    n_unused = 0;
}

static void thread_ends(void *value)
{
    (void)value;
    ml_workspace_release();
}

static void make_key(void)
{
    pthread_key_create(&key, thread_ends);
}

/* The smallest unused block that is large enough and not much too large. */
static Block *take_unused(size_t need)
{
    Block **best = NULL, *b;

    for (Block **p = &unused; *p; p = &(*p)->next)
        if ((*p)->room >= need && (*p)->room / 8 <= need + PAGE &&
            (!best || (*p)->room < (*best)->room))
            best = p;
    if (best == NULL)
        return NULL;
    b = *best;
    *best = b->next;
    n_unused--;
    return b;
}

/* What lies around the n bytes at the first multiple of a huge page is given back. */
static Block *align_pages(char *at, size_t n)
{
    size_t before = (size_t)(-(uintptr_t)at % HUGE_PAGE);

    if (before > 0)
        munmap(at, before);
    if (before < HUGE_PAGE)
        munmap(at + before + n, HUGE_PAGE - before);
    return (Block *)(at + before);
}

/* NULL: over the limit, or the system has none. */
static void *map_pages(size_t n, bool aligned)
{
    uint64_t cap = atomic_load(&limit), before = atomic_fetch_add(&held, n);
    void *b = MAP_FAILED;

    if (cap == 0 || (before <= cap && n <= cap - before))
        b = mmap(NULL, aligned ? n + HUGE_PAGE : n, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b != MAP_FAILED)
        return aligned ? align_pages(b, n) : b;
    atomic_fetch_sub(&held, n);
    return NULL;
}

static Block *map_units(size_t need, size_t unit)
{
    size_t n = (need + sizeof(Block) + unit - 1) / unit * unit;
    Block *b = n >= need ? map_pages(n, unit == HUGE_PAGE) : NULL;

    if (b == NULL)
        return NULL;
    if (unit == HUGE_PAGE)
        madvise(b, n, MADV_HUGEPAGE);
    *b = (Block){.room = n - sizeof *b, .mapped = n};
    return b;
}

/* Huge pages where the limit leaves room for them. */
static Block *map_block(size_t need)
{
    Block *b;

    release_guarded(); /* of a run before */
    b = need >= HUGE_FROM ? map_units(need, HUGE_PAGE) : NULL;
    if (b == NULL)
        b = map_units(need, PAGE);
    if (b == NULL && unused) { /* what is kept for later counts too */
        ml_workspace_release();
        b = map_units(need, PAGE);
    }
    return b;
}

/* The thread's blocks go with it. */
static void watch_end(void)
{
    if (watched)
        return;
    pthread_once(&once, make_key);
    watched = pthread_setspecific(key, &watched) == 0;
}

static void *take_guarded(size_t bytes, size_t align)
{
    void *p = ml_guarded_take(bytes, align), *map;
    size_t n = ml_guarded_room(bytes, align);

    if (p)
        return p;
    map = map_pages(n, false);
    if (map == NULL) { /* what is kept for later counts too */
        ml_workspace_release();
        map = map_pages(n, false);
    }
    return map ? ml_guarded_make(map, n, bytes, align) : NULL;
}

static void free_guarded(void *p)
{
    size_t n;
    void *map = ml_guarded_free(p, &n);

    if (map)
        unmap(map, n);
    watch_end();
}

void *ml_workspace_alloc(int64_t bytes, int64_t align)
{
    size_t own = align > LINE ? (size_t)align : LINE, a = own, need;
    uintptr_t at;
    Block *b = NULL;

    /* An extent like n - 5 may be negative: nothing is in the buffer. What is far below 0
     * comes from sizes that do not fit. */
    if (bytes < 0 && bytes > -((int64_t)1 << 40))
        bytes = 0;
    if (bytes >= BIG && PAGE % own == 0)
        a = PAGE;
    if (bytes >= 0 && (uint64_t)bytes <= (uint64_t)1 << 48 && own <= (size_t)1 << 32) {
        bool guarded = atomic_load(&guards);
        void *p = guarded ? take_guarded((size_t)bytes, own) : NULL;

        if (p)
            return p;
        need = sizeof(Block *) + (size_t)bytes + a + (size_t)COLOURS * LINE;
        b = guarded ? NULL : take_unused(need);
        if (b == NULL && !guarded)
            b = map_block(need);
    }
    if (b == NULL) {
        atomic_store(&refused, bytes > 0 ? (uint64_t)bytes : 1);
        return NULL;
    }
    at = (uintptr_t)(b + 1) + sizeof(Block *);
    at = (at + a - 1) / a * a;
    at += (uintptr_t)(colour++ % COLOURS) * LINE / own * own;
    ((Block **)at)[-1] = b;
    return (void *)at;
}

void ml_workspace_free(void *p)
{
    Block *b;

    if (p == NULL)
        return;
    if (atomic_load(&guards)) {
        free_guarded(p);
        return;
    }
    b = ((Block **)p)[-1];
    if (n_unused >= MAX_UNUSED) {
        give_back(b);
        return;
    }
    watch_end();
    b->next = unused;
    unused = b;
    n_unused++;
}
