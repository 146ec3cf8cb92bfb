/*
 * ctx - contexts: arena, intern table, counters, sticky conditions.
 *
 * Invariant: a node's id is base_expr + its place in `exprs`, and every bucket is ordered
 * newest first; therefore a release takes back the newest nodes by popping bucket heads.
 * References and children are counted atomically, since threads fork one frozen base; all
 * else belongs to the one thread that uses the context. Source: DESIGN section 3.
 */
#include "moonloop/core/ctx.h"

#include "moonloop/core/base/own_clock.h"
#include "moonloop/core/ctx_impl.h"

#include <stdarg.h>
#include <stdio.h>

enum { FIRST_HEADS = 64, FIRST_EXPRS = 64, POLL = 64 };

/* The slot of `recent` for a key: the top bits of a product with an odd number. */
static size_t slot_of(uint64_t key)
{
    return (size_t)((key * 0x9E3779B97F4A7C15u) >> (64 - ML_RECENT_BITS));
}

static ml_Ctx *new_ctx(ml_Ctx *parent)
{
    ml_Ctx *cx = ml_heap_zalloc(sizeof(ml_Ctx));
    cx->parent = parent;
    atomic_init(&cx->refs, 1);
    atomic_init(&cx->children, 0);
    atomic_init(&cx->spare, NULL);
    return cx;
}

ml_Ctx *ml_ctx_new(size_t byte_limit)
{
    ml_Ctx *cx = new_ctx(NULL);
    cx->arena.limit = byte_limit;
    cx->base_uid = cx->next_uid = 1;
    return cx;
}

ml_Ctx *ml_ctx_fork(ml_Ctx *parent)
{
    ml_Ctx *cx = new_ctx(ml_ctx_ref(parent));
    atomic_fetch_add(&parent->children, 1);
    cx->arena.limit = parent->arena.limit;
    cx->arena.first = atomic_exchange(&parent->spare, NULL);
    cx->base_expr = parent->base_expr + parent->n_exprs;
    cx->base_uid = cx->next_uid = parent->next_uid;
    cx->cancel = parent->cancel;
    cx->deadline = parent->deadline;
    cx->watch = parent->watch;
    cx->watch_user = parent->watch_user;
    return cx;
}

ml_Ctx *ml_ctx_ref(ml_Ctx *cx)
{
    atomic_fetch_add(&cx->refs, 1);
    return cx;
}

void ml_ctx_unref(ml_Ctx *cx)
{
    while (cx && atomic_fetch_sub(&cx->refs, 1) == 1) {
        ml_Ctx *parent = cx->parent;
        ml_Arena spare = {.first = atomic_exchange(&cx->spare, NULL)};
        ml_arena_free(&spare);
        if (parent) {
            spare.first = ml_arena_strip(&cx->arena);
            spare.first = atomic_exchange(&parent->spare, spare.first);
            ml_arena_free(&spare);
        }
        ml_arena_free(&cx->arena);
        ml_arena_free(&cx->error_arena);
        ml_heap_free(cx->exprs);
        ml_heap_free(cx->heads);
        ml_heap_free(cx);
        if (parent)
            atomic_fetch_sub(&parent->children, 1);
        cx = parent;
    }
}

void ml_ctx_seal(ml_Ctx *cx)
{
    if (!cx->sealed) /* by then, threads may read it */
        cx->sealed = true;
}

/* Acquire: whoever sees that the last fork has ended may write what the fork has read. */
bool ml_ctx_frozen(const ml_Ctx *cx)
{
    return cx->sealed || atomic_load_explicit(&cx->children, memory_order_acquire) > 0;
}

ml_Ctx *ml_ctx_parent(const ml_Ctx *cx)
{
    return cx->parent;
}

bool ml_ctx_descends(const ml_Ctx *cx, const ml_Ctx *ancestor)
{
    for (; cx; cx = cx->parent)
        if (cx == ancestor)
            return true;
    return false;
}

/* ---- memory */

void *ml_alloc(ml_Ctx *cx, size_t n)
{
    ML_ASSERT(!ml_ctx_frozen(cx));
    void *p = ml_arena_quick(&cx->arena, n);
    if (p)
        return p;
    p = ml_arena_alloc(&cx->arena, n);
    if (cx->arena.full) {
        cx->arena.full = false;
        cx->out_of_memory = true;
        ml_fail(cx, ML_E_OUT_OF_MEMORY, ML_NUMBER("limit", cx->arena.limit));
    }
    return p;
}

void *ml_zalloc(ml_Ctx *cx, size_t n)
{
    void *p = ml_alloc(cx, n);
    memset(p, 0, n);
    return p;
}

char *ml_strdup(ml_Ctx *cx, ml_Str s)
{
    char *p = ml_alloc(cx, s.n + 1);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return p;
}

const char *ml_format(ml_Ctx *cx, const char *fmt, ...)
{
    char text[200]; /* most fit: then the arguments are looked at once */
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ML_ASSERT(n >= 0);
    char *p = ml_alloc(cx, (size_t)n + 1);
    if ((size_t)n < sizeof text)
        memcpy(p, text, (size_t)n + 1);
    else
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

const char *ml_numbered(ml_Ctx *cx, const char *a, const char *b, size_t k)
{
    char digits[3 * sizeof k];
    size_t n = sizeof digits, na = strlen(a), nb = strlen(b);
    do
        digits[--n] = (char)('0' + k % 10);
    while ((k /= 10) > 0);
    char *p = ml_alloc(cx, na + nb + sizeof digits - n + 1);
    memcpy(p, a, na);
    memcpy(p + na, b, nb);
    memcpy(p + na + nb, digits + n, sizeof digits - n);
    p[na + nb + sizeof digits - n] = 0;
    return p;
}

size_t ml_ctx_bytes(const ml_Ctx *cx)
{
    return cx->arena.before + cx->arena.used;
}

void ml_ctx_set_limit(ml_Ctx *cx, size_t byte_limit)
{
    ml_arena_set_limit(&cx->arena, byte_limit);
}

size_t ml_ctx_limit(const ml_Ctx *cx)
{
    return cx->arena.limit;
}

void ml_ctx_fail_alloc(ml_Ctx *cx, uint64_t nth)
{
    ml_arena_trim(&cx->arena);
    cx->arena.fail_in = nth;
}

ml_Mark ml_mark(ml_Ctx *cx)
{
    return (ml_Mark){cx->arena.cur, cx->arena.used, cx->base_expr + cx->n_exprs,
                     cx->next_uid};
}

/* Un-interns the newest nodes down to the count `keep`. */
static void drop_exprs(ml_Ctx *cx, uint32_t keep)
{
    ML_ASSERT(keep <= cx->n_exprs);
    if (keep == 0 && cx->n_exprs > cx->n_heads / 4) {
        memset(cx->heads, 0, cx->n_heads * sizeof(cx->heads[0]));
        cx->n_exprs = 0;
        return;
    }
    while (cx->n_exprs > keep) {
        const ml_Expr *e = cx->exprs[--cx->n_exprs];
        const ml_Expr **head = &cx->heads[e->hash & (cx->n_heads - 1)];
        ML_ASSERT(*head == e);
        *head = e->link;
    }
}

void ml_release(ml_Ctx *cx, ml_Mark mark)
{
    ML_ASSERT(!ml_ctx_frozen(cx) && mark.n_exprs >= cx->base_expr);
    ml_error_detach(cx, &mark);
    drop_exprs(cx, mark.n_exprs - cx->base_expr);
    ml_arena_release(&cx->arena, mark.chunk, mark.used);
    cx->next_uid = mark.next_uid;
}

void ml_ctx_reset(ml_Ctx *cx)
{
    ML_ASSERT(!ml_ctx_frozen(cx));
    ml_error_clear(cx);
    ml_ctx_clear_marks(cx);
    drop_exprs(cx, 0);
    ml_arena_release(&cx->arena, NULL, 0);
    cx->next_uid = cx->base_uid;
    cx->ticks = 0;
}

/* ---- numbers */

ml_Uid ml_fresh_uid(ml_Ctx *cx)
{
    ML_ASSERT(!ml_ctx_frozen(cx) && cx->next_uid < UINT32_MAX);
    return cx->next_uid++;
}

ml_Uid ml_ctx_next_uid(const ml_Ctx *cx)
{
    return cx->next_uid;
}

void ml_ctx_reserve_uid(ml_Ctx *cx, ml_Uid uid)
{
    ML_ASSERT(!ml_ctx_frozen(cx) && uid < UINT32_MAX);
    if (cx->next_uid <= uid)
        cx->next_uid = uid + 1;
}

/* ---- work and sticky conditions */

/* Whether the work is to end; who watches it is told that it goes on. */
static bool must_stop(const ml_Ctx *cx, unsigned ticks)
{
    if (cx->watch)
        cx->watch(cx->watch_user, ticks);
    return (cx->cancel && *cx->cancel) || (cx->deadline > 0 && ml_own_ns() > cx->deadline);
}

bool ml_tick(ml_Ctx *cx)
{
    uint64_t n = cx->ticks++;
    if (cx->stopped || cx->out_of_memory)
        return false;
    if (n % POLL == 0 && must_stop(cx, POLL)) {
        cx->stopped = true;
        return ml_fail(cx, ML_E_INTERRUPTED);
    }
    if (cx->budget > 0 && n >= cx->budget) {
        cx->stopped = true;
        return ml_fail(
            cx, ML_E_WORK_LIMIT,
            ML_TEXT(ml_format(cx, "%llu steps of work", (unsigned long long)cx->budget)),
            ML_NUMBER("limit", cx->budget));
    }
    return true;
}

bool ml_poll_cancel(ml_Ctx *cx)
{
    if (!cx->stopped && must_stop(cx, 0)) {
        cx->stopped = true;
        ml_fail(cx, ML_E_INTERRUPTED);
    }
    return !cx->stopped;
}

void ml_ctx_set_cancel(ml_Ctx *cx, const volatile int *flag)
{
    cx->cancel = flag;
}

void ml_ctx_set_watch(ml_Ctx *cx, ml_WatchFn *fn, void *user)
{
    cx->watch = fn;
    cx->watch_user = user;
}

void ml_ctx_set_names(ml_Ctx *cx, ml_NamesFn *fn, void *user)
{
    cx->names = fn;
    cx->names_user = user;
}

const struct ml_Map *ml_ctx_names(const ml_Ctx *cx)
{
    while (cx && !cx->names)
        cx = cx->parent;
    return cx ? cx->names(cx->names_user) : NULL;
}

void ml_ctx_set_budget(ml_Ctx *cx, uint64_t ticks)
{
    cx->budget = ticks;
    cx->ticks = 0;
}

void ml_ctx_set_deadline(ml_Ctx *cx, int ms)
{
    cx->deadline = ms > 0 ? ml_own_ns() + (int64_t)ms * 1000000 : 0;
}

void ml_ctx_limits_of(ml_Ctx *cx, const ml_Ctx *from)
{
    ml_arena_set_limit(&cx->arena, from->arena.limit);
    cx->cancel = from->cancel;
    cx->deadline = from->deadline;
    cx->budget = from->budget;
    cx->ticks = from->ticks;
}

bool ml_ok(const ml_Ctx *cx)
{
    return !cx->out_of_memory && !cx->stopped && !cx->overflow && !cx->too_deep;
}

void ml_ctx_mark_overflow(ml_Ctx *cx, int64_t have)
{
    if (!cx->overflow)
        cx->overflow_have = have;
    cx->overflow = true;
}

void ml_ctx_mark_too_deep(ml_Ctx *cx)
{
    cx->too_deep = true;
}

bool ml_ctx_overflowed(const ml_Ctx *cx)
{
    return cx->overflow;
}

bool ml_ctx_too_deep(const ml_Ctx *cx)
{
    return cx->too_deep;
}

void ml_ctx_clear_marks(ml_Ctx *cx)
{
    cx->overflow = cx->too_deep = false;
}
ml_CtxMarks ml_ctx_take_marks(ml_Ctx *cx)
{
    ml_CtxMarks m = {cx->overflow, cx->too_deep, cx->overflow_have};
    ml_ctx_clear_marks(cx);
    return m;
}
void ml_ctx_put_marks(ml_Ctx *cx, ml_CtxMarks m)
{
    cx->overflow = m.overflow;
    cx->too_deep = m.too_deep;
    cx->overflow_have = m.have;
}

/* The two ends of int64 stand for "beyond": constructors give them when the exact value
 * does not fit an int64, and then the dtype at fault is int64. */
bool ml_ok_or_fail(ml_Ctx *cx)
{
    if (cx->overflow) {
        int64_t have = cx->overflow_have;
        if (have == INT64_MAX)
            ml_fail(cx, ML_E_INDEX_OVERFLOW, ML_TEXT("more than 9223372036854775807"),
                    ML_TEXT("int64"));
        else if (have == INT64_MIN)
            ml_fail(cx, ML_E_INDEX_OVERFLOW, ML_TEXT("less than -9223372036854775808"),
                    ML_TEXT("int64"));
        else
            ml_fail(cx, ML_E_INDEX_OVERFLOW, ML_NUMBER("value", have),
                    ML_TEXT("its dtype"));
    }
    if (cx->too_deep)
        ml_fail(cx, ML_E_TOO_DEEP, ML_TEXT("500 (statements) or 1,000 (expressions)"));
    return ml_ok(cx);
}

/* ---- the expression table */

const ml_Expr *ml_ctx_find_expr(const ml_Ctx *cx, uint32_t hash,
                                bool (*same)(const ml_Expr *, const void *),
                                const void *key)
{
    for (; cx; cx = cx->parent) {
        if (cx->n_exprs == 0)
            continue;
        const ml_Expr *e = cx->heads[hash & (cx->n_heads - 1)];
        for (; e; e = e->link)
            if (e->hash == hash && same(e, key))
                return e;
    }
    return NULL;
}

/* A number of a node that is gone, or is another node now, does no harm: the caller looks
 * at what the node is. */
const ml_Expr *ml_ctx_recent(const ml_Ctx *cx, uint64_t key)
{
    uint32_t id = cx->recent[slot_of(key)];
    while (id < cx->base_expr)
        cx = cx->parent;
    id -= cx->base_expr;
    return id < cx->n_exprs ? cx->exprs[id] : NULL;
}

void ml_ctx_set_recent(ml_Ctx *cx, uint64_t key, const ml_Expr *e)
{
    if (!ml_ctx_frozen(cx))
        cx->recent[slot_of(key)] = e->id;
}

/* Nodes go back in the order of their ids, so that every bucket stays newest first. */
static void grow_heads(ml_Ctx *cx)
{
    cx->n_heads = cx->n_heads ? cx->n_heads * 2 : FIRST_HEADS;
    ml_heap_free(cx->heads);
    cx->heads = ml_heap_zalloc(cx->n_heads * sizeof(cx->heads[0]));
    for (uint32_t k = 0; k < cx->n_exprs; k++) {
        const ml_Expr **head = &cx->heads[cx->exprs[k]->hash & (cx->n_heads - 1)];
        cx->exprs[k]->link = *head;
        *head = cx->exprs[k];
    }
}

void ml_ctx_add_expr(ml_Ctx *cx, ml_Expr *e)
{
    ML_ASSERT(!ml_ctx_frozen(cx));
    if (cx->n_exprs >= cx->n_heads)
        grow_heads(cx);
    if (cx->n_exprs == cx->cap_exprs) {
        cx->cap_exprs = cx->cap_exprs ? cx->cap_exprs * 2 : FIRST_EXPRS;
        cx->exprs = ml_heap_grow(cx->exprs, cx->cap_exprs * sizeof(cx->exprs[0]));
    }
    const ml_Expr **head = &cx->heads[e->hash & (cx->n_heads - 1)];
    e->id = cx->base_expr + cx->n_exprs;
    e->link = *head;
    *head = e;
    cx->exprs[cx->n_exprs++] = e;
}

uint32_t ml_ctx_n_exprs(const ml_Ctx *cx)
{
    return cx->base_expr + cx->n_exprs;
}
