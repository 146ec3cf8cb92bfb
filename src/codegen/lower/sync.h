/*
 * sync - what sync_threads asks of two accesses: whether different threads of a block may
 * touch one element. Internal to codegen/lower. Source: lowering-and-codegen 4.6.
 */
#ifndef ML_CODEGEN_LOWER_SYNC_H
#define ML_CODEGEN_LOWER_SYNC_H

#include "moonloop/codegen/lower/lower_impl.h"

/* What is around an access, innermost first. */
typedef struct ml_SyncScope {
    const struct ml_SyncScope *up;
    const ml_Var *var; /* of a loop; NULL: of a while loop, or a condition */
    const ml_Expr *extent;
    const ml_Expr *cond;
} ml_SyncScope;

typedef struct ml_SyncAccess {
    const ml_Buffer *buffer;
    const ml_Var *data;   /* what tells memory apart: its root pointer */
    const ml_Expr *index; /* NULL: anywhere in it */
    const ml_Stmt *stmt;
    const ml_SyncScope *scope;
    bool write;
} ml_SyncAccess;
typedef ML_VEC(ml_SyncAccess) ml_SyncAccesses;

typedef struct ml_SyncTable { /* who touches each element: one for all questions */
    uint32_t *v;
    size_t n;
} ml_SyncTable;

typedef struct ml_SyncThreads { /* of a kernel */
    ml_Ctx *cx;
    ml_Arith *ar;
    ml_SyncTable *table;
    const ml_Var *var[3];
    int64_t extent[3]; /* 1 where there is no variable */
} ml_SyncThreads;

/* How the second access comes after the first. */
typedef enum ml_SyncWhen {
    ML_SYNC_SAME, /* in the same iterations of all loops around both */
    ML_SYNC_NEXT, /* in the next iteration of `loop` */
    ML_SYNC_LATER /* in any later one */
} ml_SyncWhen;

/* Whether a barrier must lie between: false is proven. */
bool ml_sync_conflict(const ml_SyncThreads *t, const ml_SyncAccess *a,
                      const ml_SyncAccess *b, ml_SyncWhen when, const ml_SyncScope *loop);
/* Whether e is the same for all threads of a block: no thread's variable, nothing loaded. */
bool ml_sync_uniform(const ml_SyncThreads *t, const ml_Expr *e);

#endif
