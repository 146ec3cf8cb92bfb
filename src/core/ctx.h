/*
 * ctx - the context that owns everything of a program: arena, intern table, counters.
 *
 * Nothing is freed alone. A context is used by one thread at a time. ml_ctx_fork makes a
 * child that reads its parent's objects; the parent is frozen while it has children
 * (allocating in a frozen context is asserted against). A node points into its own context
 * or an ancestor of it. Contexts are reference counted as wholes, nodes never.
 * Source: DESIGN section 3.
 */
#ifndef ML_CORE_CTX_H
#define ML_CORE_CTX_H

#include "moonloop/core/base/base.h"

typedef struct ml_Ctx ml_Ctx;
typedef struct ml_Error ml_Error;
typedef struct ml_Expr ml_Expr;

/* A new root context with one reference; byte_limit 0 means none. */
ML_GIVES ml_Ctx *ml_ctx_new(size_t byte_limit);
/* A child of `parent` with one reference; it holds a reference to the parent. */
ML_GIVES ml_Ctx *ml_ctx_fork(ml_Ctx *parent);
ml_Ctx *ml_ctx_ref(ml_Ctx *cx);
void ml_ctx_unref(ml_Ctx *cx); /* NULL is fine */
/* Frozen for good: a finished module. */
void ml_ctx_seal(ml_Ctx *cx);
bool ml_ctx_frozen(const ml_Ctx *cx);
ml_Ctx *ml_ctx_parent(const ml_Ctx *cx);
/* Whether `cx` is `ancestor` or a descendant of it. */
bool ml_ctx_descends(const ml_Ctx *cx, const ml_Ctx *ancestor);

/* Arena memory, aligned to 16; never NULL. At the byte limit the sticky error
 * out-of-memory is set and the call in progress is served from a reserve. */
void *ml_alloc(ml_Ctx *cx, size_t n);
void *ml_zalloc(ml_Ctx *cx, size_t n);
#define ML_NEW(cx, T)      ((T *)ml_zalloc((cx), sizeof(T)))
#define ML_ARRAY(cx, T, n) ((T *)ml_zalloc((cx), (n) * sizeof(T)))
char *ml_strdup(ml_Ctx *cx, ml_Str s); /* a zero-terminated copy */
const char *ml_format(ml_Ctx *cx, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The name a, b, k in one: a format is slow where every step makes several of them. */
const char *ml_numbered(ml_Ctx *cx, const char *a, const char *b, size_t k);
size_t ml_ctx_bytes(const ml_Ctx *cx); /* taken by this context alone */
void ml_ctx_set_limit(ml_Ctx *cx, size_t byte_limit);
size_t ml_ctx_limit(const ml_Ctx *cx); /* 0: none */

/* Scratch: everything allocated and interned since the mark is taken back by the release
 * (memory is kept for reuse). The identity counter goes back too. A sticky error that was
 * set since stays, its facts must then not be looked at: copy it out first. */
typedef struct ml_Mark {
    void *chunk;
    size_t used;
    uint32_t n_exprs;
    ml_Uid next_uid;
} ml_Mark;
ml_Mark ml_mark(ml_Ctx *cx);
void ml_release(ml_Ctx *cx, ml_Mark mark);
/* A fork drops everything of its own and starts again (memory kept). */
void ml_ctx_reset(ml_Ctx *cx);

/* A fresh identity number. */
ml_Uid ml_fresh_uid(ml_Ctx *cx);
ml_Uid ml_ctx_next_uid(const ml_Ctx *cx);
/* Import keeps numbers: makes the counter continue above `uid`. */
void ml_ctx_reserve_uid(ml_Ctx *cx, ml_Uid uid);

/* Work budget and cancellation. ml_tick counts work, polls the flag of ml_ctx_set_cancel
 * now and then and returns false when to stop (error `interrupted` or `work-limit` set). */
bool ml_tick(ml_Ctx *cx);
/* Looks at the flag at once, without counting: what waits for other processes calls it. */
bool ml_poll_cancel(ml_Ctx *cx);
/* Calls fn now and then while work goes on: from ml_tick, each time with the ticks since
 * the last call, and from ml_poll_cancel with none. Inherited by forks; fn does nothing to
 * the context. NULL: no more. */
typedef void ml_WatchFn(void *user, unsigned ticks);
void ml_ctx_set_watch(ml_Ctx *cx, ml_WatchFn *fn, void *user);
void ml_ctx_set_cancel(ml_Ctx *cx, const volatile int *flag); /* inherited by forks */
void ml_ctx_set_budget(ml_Ctx *cx, uint64_t ticks);           /* 0: none */
/* Work beyond that many milliseconds of this thread's own ends as if cancelled (0: no more).
 * For what is tried and thrown away: nothing that is kept may depend on time. */
void ml_ctx_set_deadline(ml_Ctx *cx, int ms); /* inherited by forks */
/* `cx` takes over byte limit, cancel flag, deadline and budget of `from`. */
void ml_ctx_limits_of(ml_Ctx *cx, const ml_Ctx *from);

/* Where sentences about a program find its names (core/shown.h): fn gives the table uid ->
 * display name, or NULL. Inherited by forks; they must not outlive `user`. */
typedef const struct ml_Map *ml_NamesFn(void *user);
void ml_ctx_set_names(ml_Ctx *cx, ml_NamesFn *fn, void *user);
const struct ml_Map *ml_ctx_names(const ml_Ctx *cx);

/* True while no sticky condition (memory, overflow, depth, cancel) is set. The boundary of
 * a primitive checks once. */
bool ml_ok(const ml_Ctx *cx);
/* Marks left by constructors: an index literal wrapped, nesting passed the limit. They are
 * turned into errors index-overflow / too-deep by ml_ok_or_fail. */
void ml_ctx_mark_overflow(ml_Ctx *cx, int64_t have);
void ml_ctx_mark_too_deep(ml_Ctx *cx);
bool ml_ctx_overflowed(const ml_Ctx *cx);
bool ml_ctx_too_deep(const ml_Ctx *cx);
void ml_ctx_clear_marks(ml_Ctx *cx);
/* Work whose marks say nothing about the work around it (printing): takes the marks away,
 * and puts them back afterwards in place of those made since. */
typedef struct ml_CtxMarks {
    bool overflow, too_deep;
    int64_t have;
} ml_CtxMarks;
ml_CtxMarks ml_ctx_take_marks(ml_Ctx *cx);
void ml_ctx_put_marks(ml_Ctx *cx, ml_CtxMarks marks);
bool ml_ok_or_fail(ml_Ctx *cx);

/* Expression table, used by expr.c only. */
const ml_Expr *ml_ctx_find_expr(const ml_Ctx *cx, uint32_t hash,
                                bool (*same)(const ml_Expr *, const void *),
                                const void *key);
/* A leaf is often asked for again: what was stored under the key last, or anything else, or
 * NULL. The caller compares. */
const ml_Expr *ml_ctx_recent(const ml_Ctx *cx, uint64_t key);
void ml_ctx_set_recent(ml_Ctx *cx, uint64_t key, const ml_Expr *e);
void ml_ctx_add_expr(ml_Ctx *cx, ml_Expr *e); /* sets e->id and links it; e->hash is set */
uint32_t ml_ctx_n_exprs(const ml_Ctx *cx);    /* ids in use are below this */

/* Test hook: the n-th chunk allocation from now fails as at the byte limit (0: never). */
void ml_ctx_fail_alloc(ml_Ctx *cx, uint64_t nth);

#endif
