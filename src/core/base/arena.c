/*
 * arena - chunks of memory in a list, one of them current.
 *
 * Invariant: cur is in the list that starts at first; chunks behind cur hold nothing;
 * before + used bytes are taken in all. Source: style section 4.
 */
#include "moonloop/core/base/arena.h"

#include <stdlib.h>

#if ML_SANITIZED
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
    FIRST_CHUNK = 16 * 1024,
    LAST_CHUNK = 1024 * 1024,
    KEPT = 1024 * 1024,  /* of an arena that ends, for the next one */
    RESERVE = 64 * 1024, /* usable past the limit before the next report of it */
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static ml_Chunk *new_chunk(size_t size, size_t least)
{
    ml_Chunk *c = malloc(sizeof(ml_Chunk) + size);
    if (!c && size > least) {
        size = least;
        c = malloc(sizeof(ml_Chunk) + size);
    }
    if (!c)
        ml_out_of_memory();
    c->next = NULL;
    c->size = size;
    c->before = 0;
    POISON(c->data, size);
    return c;
}

/* Moves to a chunk with room for n bytes: one kept by a release, or a new one. */
static void next_chunk(ml_Arena *a, size_t n)
{
    ml_Chunk *kept = a->cur ? a->cur->next : a->first;
    if (!kept || kept->size < n) {
        size_t size = a->cur ? min_size(a->cur->size * 2, LAST_CHUNK) : FIRST_CHUNK;
        ml_Chunk *c = new_chunk(max_size(size, n), n);
        c->next = kept;
        if (a->cur)
            a->cur->next = c;
        else
            a->first = c;
        kept = c;
        if (a->fail_in > 0 && --a->fail_in == 0)
            a->full = true;
    }
    a->before += a->used;
    kept->before = a->before;
    a->cur = kept;
    a->used = 0;
}

/* The end of what cur may give out before the limit is looked at again. */
static void set_end(ml_Arena *a, size_t n)
{
    size_t size = a->cur->size;
    size_t total = a->before + a->used;

    a->end = size;
    if (a->limit > 0) {
        size_t room = a->limit > total ? a->limit - total : 0;
        if (room < n)
            room = max_size(n, RESERVE);
        a->end = a->used + min_size(size - a->used, room);
    }
}

static void slow(ml_Arena *a, size_t n)
{
    ML_ASSERT(n < SIZE_MAX / 2);
    if (a->limit > 0 && a->before + a->used + n > a->limit)
        a->full = true;
    if (!a->cur || a->cur->size - a->used < n)
        next_chunk(a, n);
    set_end(a, n);
}

void *ml_arena_alloc(ml_Arena *a, size_t n)
{
    size_t room = n > SIZE_MAX - 15 ? SIZE_MAX : (n + 15) & ~(size_t)15;
    if (room == 0)
        room = 16;
    if (a->end - a->used < room)
        slow(a, room);
    char *p = a->cur->data + a->used;
    a->used += room;
    UNPOISON(p, n);
    return p;
}

static void free_chunks(ml_Chunk *c)
{
    while (c) {
        ml_Chunk *next = c->next;
        UNPOISON(c->data, c->size);
        free(c);
        c = next;
    }
}

void ml_arena_free(ml_Arena *a)
{
    free_chunks(a->first);
    *a = (ml_Arena){.limit = a->limit};
}

ml_Chunk *ml_arena_strip(ml_Arena *a)
{
    ml_Chunk *first = a->first, **end = &first;
    size_t sum = 0;

    while (*end && (*end)->size <= KEPT - sum) {
        sum += (*end)->size;
        POISON((*end)->data, (*end)->size);
        end = &(*end)->next;
    }
    free_chunks(*end);
    *end = NULL;
    *a = (ml_Arena){.limit = a->limit};
    return first;
}

void ml_arena_trim(ml_Arena *a)
{
    ml_Chunk **end = a->cur ? &a->cur->next : &a->first;

    free_chunks(*end);
    *end = NULL;
}

void ml_arena_release(ml_Arena *a, ml_Chunk *chunk, size_t used)
{
    if (!a->cur)
        return;
    for (ml_Chunk *c = chunk ? chunk->next : a->first; c && chunk != a->cur; c = c->next) {
        POISON(c->data, c->size);
        if (c == a->cur)
            break;
    }
    if (!chunk) {
        a->cur = NULL;
        a->used = a->end = a->before = 0;
        return;
    }
    ML_ASSERT(chunk != a->cur || used <= a->used);
    a->cur = chunk;
    a->used = used;
    a->before = chunk->before;
    POISON(chunk->data + used, chunk->size - used);
    set_end(a, 0);
}

bool ml_arena_holds_since(const ml_Arena *a, const ml_Chunk *chunk, size_t used,
                          const void *p)
{
    uintptr_t at = (uintptr_t)p;
    if (!a->cur)
        return false;
    for (const ml_Chunk *c = chunk ? chunk : a->first; c; c = c->next) {
        uintptr_t from = (uintptr_t)c->data + (c == chunk ? used : 0);
        if (at >= from && at < (uintptr_t)c->data + c->size)
            return true;
        if (c == a->cur)
            break;
    }
    return false;
}

void ml_arena_set_limit(ml_Arena *a, size_t limit)
{
    a->limit = limit;
    if (a->cur)
        set_end(a, 0);
}

void *ml_heap_zalloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    if (!p)
        ml_out_of_memory();
    return p;
}

void *ml_heap_try_grow(void *p, size_t n)
{
    return realloc(p, n ? n : 1);
}

void *ml_heap_grow(void *p, size_t n)
{
    void *q = ml_heap_try_grow(p, n);
    if (!q)
        ml_out_of_memory();
    return q;
}

void ml_heap_free(void *p)
{
    free(p);
}
