/*
 * thread - thread tags and storage scopes as values: where a loop runs, where a buffer lies.
 * Read once from their text, which they keep: a tag or scope that nothing here knows prints
 * and compares as it stood. Source: ir-and-analysis 5.4, primitives 2.3 and 3.
 */
#ifndef ML_CORE_THREAD_H
#define ML_CORE_THREAD_H

#include "moonloop/core/base/base.h"

typedef enum ml_ThreadAxis {
    ML_AXIS_NONE, /* no thread: 0, so that `if (loop->thread.axis)` asks for one */
    ML_AXIS_BLOCK,
    ML_AXIS_THREAD,
    ML_AXIS_VTHREAD,
    ML_AXIS_CLUSTER,
    ML_AXIS_OTHER
} ml_ThreadAxis;

/* Bare: "vthread"; other: "threadIdx.w". */
enum { ML_DIM_X, ML_DIM_Y, ML_DIM_Z, ML_DIM_BARE, ML_DIM_OTHER };

typedef struct ml_Thread {
    const char *name;  /* the text; NULL: no thread */
    uint8_t axis, dim; /* an ml_ThreadAxis; an ML_DIM */
} ml_Thread;

/* The value of a tag, whose text it keeps; of NULL no thread. */
ml_Thread ml_thread(const char *tag);
bool ml_thread_eq(ml_Thread a, ml_Thread b);
/* Rank of a thread (blockIdx 0, threadIdx 1, vthread 1, cluster 2); -1: unknown, not valid
 * for bind (primitives 6). */
int ml_thread_rank(ml_Thread t);
/* Key of the attribute that launches it: virtual_thread for "vthread", thread_extent. */
const char *ml_thread_key(ml_Thread t);

static inline bool ml_is_thread(ml_Thread t, uint8_t axis, uint8_t dim)
{
    return t.axis == axis && t.dim == dim;
}

typedef enum ml_ScopeRank { /* the others are special memory, as the table has them */
                            ML_SCOPE_UNKNOWN = -1,
                            ML_SCOPE_GLOBAL,
                            ML_SCOPE_SHARED,
                            ML_SCOPE_WARP,
                            ML_SCOPE_LOCAL,
                            ML_SCOPE_WMMA, /* and the next two: fragments of a matrix, held by a warp */
                            ML_SCOPE_MMA = 9 /* and the next two */
} ml_ScopeRank;

typedef struct ml_Scope {
    const char *name; /* the text, "shared.dyn" */
    int8_t rank;      /* an ml_ScopeRank, of what the text begins with */
    bool plain;       /* nothing follows */
} ml_Scope;

/* The value of a text; "" and NULL are global. The name is static when plain, else the text
 * itself. */
ml_Scope ml_scope(const char *text);
/* Whether a buffer of that storage scope is shared by those threads; false for unknown. */
bool ml_scope_spans(ml_Scope s, ml_Thread t);

static inline bool ml_scope_eq(ml_Scope a, ml_Scope b)
{
    return a.rank == b.rank && ml_streq(a.name, b.name);
}
static inline bool ml_is_scope(ml_Scope s, ml_ScopeRank rank) /* of that very name */
{
    return s.plain && s.rank == rank;
}
static inline bool ml_scope_is_fragment(ml_Scope s)
{
    return (s.rank >= ML_SCOPE_WMMA && s.rank < ML_SCOPE_WMMA + 3) ||
           (s.rank >= ML_SCOPE_MMA && s.rank < ML_SCOPE_MMA + 3);
}

#endif
