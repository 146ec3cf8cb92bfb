/* ctx_impl - the inside of a context, shared by ctx.c and error.c only. */
#ifndef ML_CORE_CTX_IMPL_H
#define ML_CORE_CTX_IMPL_H

#include "moonloop/core/base/arena.h"
#include "moonloop/core/error.h"

#include <stdatomic.h>

enum { ML_RECENT_BITS = 7 };

struct ml_Ctx {
    ml_Arena arena;
    ml_Ctx *parent; /* a reference is held */
    atomic_uint refs, children;
    _Atomic(ml_Chunk *) spare; /* left by a child that ended, for the next one */
    bool sealed;

    ml_Expr **exprs; /* own nodes by id - base_expr, in order of insertion */
    uint32_t n_exprs, cap_exprs;
    const ml_Expr **heads; /* buckets, each newest first; a power of two, or 0 */
    uint32_t n_heads;
    uint32_t base_expr;                   /* ids below are the ancestors' */
    uint32_t recent[1 << ML_RECENT_BITS]; /* ids of leaves that were asked for last */
    ml_Uid base_uid, next_uid;

    uint64_t ticks, budget;
    int64_t deadline; /* of ml_own_ns; 0: none */
    const volatile int *cancel;
    ml_WatchFn *watch; /* or NULL */
    void *watch_user;
    ml_NamesFn *names; /* or NULL; of forks: the nearest ancestor's */
    void *names_user;

    bool out_of_memory, stopped, too_deep, overflow;
    int64_t overflow_have;

    /* The error and everything it owns: its texts live in an arena of its own, which a
     * release does not touch and ml_error_clear empties. */
    ml_Error error;
    ml_Arena error_arena;
};

/* Before memory since `mark` goes: facts pointing into it become texts. */
void ml_error_detach(ml_Ctx *cx, const ml_Mark *mark);

#endif
