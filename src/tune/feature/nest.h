/*
 * nest - a scheduled program as loops, blocks and accesses, over forms.
 *
 * Axes are loops and iters of blocks. An index is a sum of digits of axes, coef * ((axis //
 * lo) % ext); through the bindings it becomes one of loops alone. Of a real program all
 * numbers are constants. Source: auto-scheduler 13, 14.
 */
#ifndef ML_TUNE_NEST_H
#define ML_TUNE_NEST_H

#include "moonloop/core/stmt.h"
#include "moonloop/tune/form/form.h"

typedef struct ml_Term {
    uint32_t axis;
    ml_Num lo, ext, coef;
} ml_Term;

typedef struct ml_Sum {
    bool ok; /* else it is not affine: the axes of its terms move it, somehow */
    ml_Num base;
    uint32_t n;
    const ml_Term *v;
} ml_Sum;

typedef struct ml_NestAxis {
    ml_Uid uid;     /* of the variable */
    bool iter;      /* of a block; else a loop */
    uint8_t kind;   /* an ml_IterKind or ml_ForKind */
    uint8_t thread; /* of a loop that is one: 1 + its place among blockIdx.x to vthread */
    bool annotated;
    bool
        parts; /* of a loop: it is one where it runs more than once; digits are not joined */
    ml_Num extent;
    ml_Num unroll; /* pragma_auto_unroll_max_step, 0: none */
    ml_Sum value;  /* of an iter: its binding, over axes */
} ml_NestAxis;

typedef struct ml_NestBuffer {
    ml_Uid uid;
    const char *name;
    ml_Dtype type;
    bool param;
    uint32_t rank;
    ml_Num *shape;
} ml_NestBuffer;

typedef struct ml_NestAccess {
    uint32_t buffer; /* position */
    uint32_t n;
    ml_Sum *dims; /* over axes */
} ml_NestAccess;

enum { ML_OPERATIONS = 16 };
typedef struct ml_NestStore {
    ml_NestAccess to;
    uint32_t n_loads;
    ml_NestAccess *loads;
    bool literal;                    /* what is stored is a number */
    float operations[ML_OPERATIONS]; /* in the value, indices left out */
    float fma;                       /* products that are added to something */
    int top; /* the operation whose result it is; -1: of another kind */
} ml_NestStore;

typedef struct ml_NestBlock {
    ml_Uid uid;
    const char *name;
    uint32_t n_iters;
    uint32_t *iters; /* axes */
    double beside;   /* instances over the iters that are no axes; 0: all are */
    bool plain;      /* iters from 0 on, nothing in it but stores: can be moved */
    bool guarded;    /* has a predicate */
    const ml_Value *annotations; /* dict or NULL */
    ml_NestStore *init; /* of the first store below, where it is an init; or NULL */
} ml_NestBlock;

typedef struct ml_NestNode ml_NestNode;
struct ml_NestNode {
    enum { ML_NEST_ROOT, ML_NEST_LOOP, ML_NEST_BLOCK, ML_NEST_STORE } kind;
    uint32_t axis; /* LOOP */
    ml_NestBlock *block;
    ml_NestStore *store;
    ml_NestNode *parent;
    ML_VEC(ml_NestNode *) kids;
};

typedef struct ml_Nest {
    ml_Ctx *cx;
    ml_Forms *f;
    ML_VEC(ml_NestAxis) axes;
    ML_VEC(ml_NestBuffer) buffers;
    ml_NestNode *root;
    bool open;   /* some extent is no number: taken as 1 */
    bool opaque; /* calls that may do anything, loops without a number of trips, views */
} ml_Nest;

/* Reads a function; in cx, numbers in f. steps: steps are to follow, so that loops of one
 * iteration stay in the bindings. */
void ml_nest_read(ml_Nest *n, ml_Ctx *cx, ml_Forms *f, const ml_Func *func, bool steps);

uint8_t ml_nest_thread(ml_Thread t); /* as ml_NestAxis.thread; 0: none of those */
ml_NestNode *ml_nest_node(ml_Nest *n, ml_NestNode *parent); /* the last below parent */
/* The loops around a node, outermost first; at most cap of them are stored. */
size_t ml_nest_loops(const ml_NestNode *node, uint32_t *axes, size_t cap);

/* ---- sums */
ml_Sum ml_sum_const(ml_Nest *n, double v);
ml_Sum ml_sum_axis(ml_Nest *n, uint32_t axis);
/* a + times * b. */
ml_Sum ml_sum_add(ml_Nest *n, const ml_Sum *a, const ml_Sum *b, ml_Num times);
/* Whether a term is of the axis. */
bool ml_sum_uses(const ml_Sum *a, uint32_t axis);
/* The same over loops alone. */
ml_Sum ml_sum_loops(ml_Nest *n, const ml_Sum *a);
/* With a sum in place of an axis. */
ml_Sum ml_sum_put(ml_Nest *n, const ml_Sum *a, uint32_t axis, const ml_Sum *value);

#endif
