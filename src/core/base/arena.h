/*
 * arena - bump allocation in chunks, with mark and release; private to core.
 *
 * Chunks start at 16 KiB and double up to 1 MiB; blocks are aligned to 16. Chunks given
 * back by a release stay in the list behind the current one and are used again. Free bytes
 * are poisoned under AddressSanitizer, so that a stale pointer is found. The only place of
 * core where memory is taken from the heap. Source: style section 4.
 */
#ifndef ML_CORE_ARENA_H
#define ML_CORE_ARENA_H

#include "moonloop/core/base/base.h"
#include "moonloop/core/base/sanitized.h"

typedef struct ml_Chunk ml_Chunk;

struct ml_Chunk {
    ml_Chunk *next;
    size_t size;   /* of data */
    size_t before; /* taken in earlier chunks when this one became current */
    _Alignas(16) char data[];
};

typedef struct ml_Arena {
    ml_Chunk *first, *cur; /* NULL until the first allocation */
    size_t used, end;      /* of cur: taken, and usable before the slow path */
    size_t before;         /* taken in the chunks before cur */
    size_t limit;          /* bytes in all, 0: none */
    uint64_t fail_in;      /* 0, or the number of the chunk allocation that fails */
    bool full;             /* the limit was met since this was last reset */
} ml_Arena;

/* Never NULL: past the limit `full` is set and the request is served all the same. */
void *ml_arena_alloc(ml_Arena *a, size_t n);

/* The same, or NULL where that needs more than moving a counter. */
static inline void *ml_arena_quick(ml_Arena *a, size_t n)
{
#if ML_SANITIZED
    (void)a, (void)n; /* the memory must be unpoisoned */
    return NULL;
#else
    size_t room = (n + 15) & ~(size_t)15; /* 0 for nothing and for far too much */
    if (room - 1 >= a->end - a->used)
        return NULL;
    char *p = a->cur->data + a->used;
    a->used += room;
    return p;
#endif
}
void ml_arena_free(ml_Arena *a);
/* Takes back what was allocated since `cur` was `chunk` with `used` bytes. */
void ml_arena_release(ml_Arena *a, ml_Chunk *chunk, size_t used);
/* Whether p was allocated since then. */
bool ml_arena_holds_since(const ml_Arena *a, const ml_Chunk *chunk, size_t used,
                          const void *p);
void ml_arena_set_limit(ml_Arena *a, size_t limit);
/* Takes the first chunks, 1 MiB at most, out of an arena that is not used any more: its
 * `first` for a later one. The rest is freed. */
ml_Chunk *ml_arena_strip(ml_Arena *a);
/* Frees the chunks that hold nothing. */
void ml_arena_trim(ml_Arena *a);

/* The heap itself, for what lives beside arenas; zeroed; true exhaustion ends the program.
 */
void *ml_heap_zalloc(size_t n);
void *ml_heap_grow(void *p, size_t n);
void *ml_heap_try_grow(void *p, size_t n); /* NULL when there is no memory; p stays */
void ml_heap_free(void *p);

#endif
