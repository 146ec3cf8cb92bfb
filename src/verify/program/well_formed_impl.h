/* well_formed_impl - what the two files of the check that a program is well formed share:
 * the walk, what is defined at its place, and the reports (well_formed_uses.c). */
#ifndef ML_VERIFY_WELL_FORMED_IMPL_H
#define ML_VERIFY_WELL_FORMED_IMPL_H

#include "moonloop/verify/findings.h"

typedef enum ml_WfWhat {
    ML_WF_DEF_VARIABLE,
    ML_WF_DEF_LOOP,
    ML_WF_DEF_THREAD,
    ML_WF_DEF_BUFFER,
    ML_WF_DEF_BLOCK
} ml_WfWhat;

typedef struct ml_WfDef {
    uint8_t what;
    bool live;      /* the walk is inside its scope */
    uint8_t said;   /* SAID_...: each thing is reported once */
    uint32_t depth; /* blocks with iters around the definition */
    ml_Thread thread;
    const ml_Expr *let; /* the expression that defines it, if one does */
} ml_WfDef;

/* Where the walk is; only read when something is wrong. */
typedef struct ml_WfFrame {
    struct ml_WfFrame *up;
    const ml_Stmt *node; /* a loop or block */
    const char *part;    /* of a block: "reads", "init" ... or NULL */
} ml_WfFrame;

typedef struct ml_WfThread {
    ml_Thread thread;
    const ml_Var *var;
    bool said;
} ml_WfThread;

typedef struct ml_WfWalk {
    ml_Ctx *cx;
    ml_Finder find;
    const ml_Func *func;
    ml_Map *defs; /* uid -> ml_WfDef */
    ML_VEC(ml_WfDef *) live;
    ML_VEC(ml_WfThread) threads;
    ml_WfFrame *at;
    const ml_Stmt *stmt; /* at hand */
    const ml_Expr *expr; /* of it, or NULL */
    uint32_t depth;      /* blocks with iters around */
    uint32_t loops;      /* loops around */
    ml_Arith *ar;        /* made when a proof is needed */
} ml_WfWalk;

/* ---- reporting; what is at hand gives the place */
void ml_wf_place(ml_WfWalk *w, ml_Error *e);
void ml_wf_ill_typed(ml_WfWalk *w, const char *what);
void ml_wf_ill_typed_expr(ml_WfWalk *w, const ml_Expr *e, const char *what);
const char *ml_wf_type_name(ml_WfWalk *w, ml_Dtype t);

/* ---- what is defined; NULL: nothing of that number */
ml_WfDef *ml_wf_get(const ml_WfWalk *w, ml_Uid uid);
ml_WfDef *ml_wf_define(ml_WfWalk *w, ml_Uid uid, ml_WfWhat what, ml_Fact fact);
void ml_wf_define_var(ml_WfWalk *w, const ml_Var *v, ml_WfWhat what);
void ml_wf_define_thread(ml_WfWalk *w, const ml_Var *v, ml_Thread thread);
void ml_wf_define_symbols(ml_WfWalk *w, const ml_Buffer *b);
void ml_wf_define_buffer(ml_WfWalk *w, const ml_Buffer *b);
/* What was defined since live.n was `mark` is no longer in scope. */
void ml_wf_leave(ml_WfWalk *w, size_t mark);

/* ---- uses: each must be of something that is in scope */
void ml_wf_use_buffer(ml_WfWalk *w, const ml_Buffer *b);
void ml_wf_check_index(ml_WfWalk *w, const ml_Buffer *b, const ml_Expr *idx, size_t k,
                       size_t n);
void ml_wf_use(ml_WfWalk *w, const ml_Expr *e);
void ml_wf_use_regions(ml_WfWalk *w, const ml_Region *v, size_t n, const char *part);
void ml_wf_use_shape(ml_WfWalk *w, const ml_Buffer *b);
void ml_wf_use_cond(ml_WfWalk *w, const ml_Expr *e, const char *of);

#endif
