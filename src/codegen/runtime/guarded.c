/*
 * guarded - the workspace of checking runs: each buffer ends where a page begins that nobody
 * may touch, and one such page lies before it.
 *
 * What is between a buffer's last byte and that page (less than its alignment) holds a
 * pattern, which is looked at when the buffer is given back. A block is a page for this
 * header, a guard, the data, a guard; the last few of a thread are kept, so that a kernel that
 * takes one in each iteration is not slow. Source: lowering-and-codegen 7.6; workloads 9.
 */
#define _GNU_SOURCE /* NOLINT: MAP_ANONYMOUS */
#include "moonloop/codegen/runtime/guarded.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PATTERN = 0xC5, LIVE = 256, KEPT = 8 };

struct ml_Guarded {
    struct ml_Guarded *next;
    void *map; /* where it was mapped */
    size_t mapped, bytes, align;
    uint8_t *data, *end; /* end: of the pages that may be touched */
};

/* For the signal handler: those that are mapped, as many as there is room for. */
static _Atomic(ml_Guarded *) live[LIVE];
static _Atomic int64_t spilled_byte, spilled_bytes = -1;
static _Thread_local ml_Guarded *kept;
static _Thread_local unsigned n_kept;

static size_t up_to(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

size_t ml_guarded_room(size_t bytes, size_t align)
{
    return 3 * (size_t)PAGE + up_to(bytes ? bytes : 1, PAGE) + (align > PAGE ? align : 0);
}

static void list(ml_Guarded *g)
{
    for (size_t k = 0; k < LIVE; k++) {
        ml_Guarded *none = NULL;

        if (atomic_compare_exchange_strong(&live[k], &none, g))
            return;
    }
}

static void forget(ml_Guarded *g)
{
    for (size_t k = 0; k < LIVE; k++) {
        ml_Guarded *own = g;

        if (atomic_compare_exchange_strong(&live[k], &own, NULL))
            return;
    }
}

/* The header lies two pages before the one in which the data begins. */
static ml_Guarded *header_of(void *data)
{
    return (ml_Guarded *)((uintptr_t)data / PAGE * PAGE - 2 * (uintptr_t)PAGE);
}

static uint8_t *first_page(const ml_Guarded *g)
{
    return (uint8_t *)(uintptr_t)g + 2 * (size_t)PAGE;
}

static ml_Guarded *lay_out(uint8_t *map, size_t mapped, size_t bytes, size_t align)
{
    size_t some = bytes ? bytes : 1, whole = up_to(some, align), pages = up_to(some, PAGE);
    uint8_t *first = map + 2 * (size_t)PAGE, *data;
    ml_Guarded *g;

    if (align > PAGE) /* it begins a page, and what follows its last one is the guard */
        data = first = (uint8_t *)up_to((uintptr_t)first, align);
    else
        data = first + (pages - whole);
    g = header_of(first);
    *g = (ml_Guarded){NULL, map, mapped, bytes, align, data, first + pages};
    mprotect((uint8_t *)g + PAGE, PAGE, PROT_NONE);
    mprotect(g->end, PAGE, PROT_NONE);
    memset(first, PATTERN, (size_t)(data - first));
    memset(data + bytes, PATTERN, (size_t)(g->end - (data + bytes)));
    return g;
}

void *ml_guarded_take(size_t bytes, size_t align)
{
    for (ml_Guarded **p = &kept; *p; p = &(*p)->next) {
        ml_Guarded *g = *p;

        if (g->bytes == bytes && g->align == align) {
            *p = g->next;
            n_kept--;
            return g->data;
        }
    }
    return NULL;
}

void *ml_guarded_make(void *map, size_t mapped, size_t bytes, size_t align)
{
    ml_Guarded *g = lay_out(map, mapped, bytes, align);

    list(g);
    return g->data;
}

static bool is_pattern(const uint8_t *from, const uint8_t *to, const uint8_t **where)
{
    for (; from < to; from++)
        if (*from != PATTERN) {
            *where = from;
            return false;
        }
    return true;
}

static void look_at(ml_Guarded *g)
{
    const uint8_t *where;

    if (is_pattern(first_page(g), g->data, &where) &&
        is_pattern(g->data + g->bytes, g->end, &where))
        return;
    if (atomic_load(&spilled_bytes) < 0) {
        atomic_store(&spilled_byte, where - g->data);
        atomic_store(&spilled_bytes, (int64_t)g->bytes);
    }
    memset(first_page(g), PATTERN, (size_t)(g->data - first_page(g)));
    memset(g->data + g->bytes, PATTERN, (size_t)(g->end - (g->data + g->bytes)));
}

void *ml_guarded_free(void *data, size_t *mapped)
{
    ml_Guarded *g = header_of(data);

    look_at(g);
    if (n_kept < KEPT) {
        g->next = kept;
        kept = g;
        n_kept++;
        return NULL;
    }
    forget(g);
    *mapped = g->mapped;
    return g->map;
}

void *ml_guarded_drop(size_t *mapped)
{
    ml_Guarded *g = kept;

    if (g == NULL)
        return NULL;
    kept = g->next;
    n_kept--;
    forget(g);
    *mapped = g->mapped;
    return g->map;
}

bool ml_workspace_at(uintptr_t at, int64_t *byte, int64_t *bytes)
{
    for (size_t k = 0; k < LIVE; k++) {
        const ml_Guarded *g = atomic_load(&live[k]);

        if (g && at >= (uintptr_t)g && at < (uintptr_t)g->end + PAGE) {
            *byte = (int64_t)(at - (uintptr_t)g->data);
            *bytes = (int64_t)g->bytes;
            return true;
        }
    }
    return false;
}

bool ml_workspace_spilled(int64_t *byte, int64_t *bytes)
{
    *bytes = atomic_exchange(&spilled_bytes, -1);
    *byte = atomic_load(&spilled_byte);
    return *bytes >= 0;
}
