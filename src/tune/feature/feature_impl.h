/* feature_impl - what the groups of features share: one store under its loops. */
#ifndef ML_TUNE_FEATURE_IMPL_H
#define ML_TUNE_FEATURE_IMPL_H

#include "moonloop/tune/feature/feature.h"

enum { MAX_LOOPS = 64 };

/* A load or store of a buffer as loops see it. */
typedef struct Site {
    const ml_NestAccess *a;
    ml_Sum *dims; /* over loops */
} Site;

/* A buffer under the loops of one store. */
typedef struct Use {
    uint32_t buffer;
    bool read, write;
    ML_VEC(Site) sites;  /* loads; of a buffer that is written only the store */
    const ml_Num *shape; /* what is left of it, compacted */
    ml_Num *step;        /* of a dimension, in elements */
    ml_Num *size;        /* n_loops + 1: elements touched while loops from there on run */
    ml_Num *run;         /* the same of its last dimension */
    ml_Num *uses;        /* n_loops: 0 or 1, whether its index moves with the loop */
    ml_Num *stride;      /* n_loops: elements from one iteration to the next */
    ml_Num whole;        /* bytes of the last dimension that is touched whole; 1: none */
    double bytes;        /* of an element */
} Use;

typedef struct Row {
    ml_Nest *n;
    ml_Forms *f;
    const ml_FeatureTarget *t;
    const ml_NestStore *s;
    const ml_NestBlock *block; /* or NULL */
    size_t order;              /* stores before it */
    size_t n_loops;
    uint32_t loops[MAX_LOOPS];
    ml_Num ext[MAX_LOOPS];
    ml_Num live[MAX_LOOPS];       /* 0: of one iteration and nothing else */
    ml_Num more[MAX_LOOPS];       /* 1: has more than one iteration */
    ml_Num inside[MAX_LOOPS + 1]; /* product of the extents from there on */
    ml_Num points;                /* of all of them */
    size_t n_uses;
    Use *uses;                    /* by name */
    ml_Num memory[MAX_LOOPS + 1]; /* bytes touched from there on */
    ml_Num operations;            /* on floats, in one iteration */
    size_t body;                  /* loops from there on are unrolled or vectors */
    ml_Num *out;
} Row;

/* One touch of a buffer under a loop, by a store. */
typedef struct Touch {
    uint32_t axis, buffer;
    size_t store;
    ml_Num elements;
    double bytes;
} Touch;
typedef ML_VEC(Touch) Touches;

/* How an allocated buffer lies: the loops around all its uses, and its shape. */
typedef struct Home {
    bool known;
    size_t depth;  /* so many of the loops around its uses are around it */
    ml_Num around; /* product of their extents */
    ml_Num *shape;
} Home;

static inline ml_Num feature_const(const Row *r, double v)
{
    return ml_form_const(r->f, v);
}

void ml_feature_operations(Row *r);
void ml_feature_loops(Row *r);
/* Sizes, strides and memory of the row's uses; shape is set. */
void ml_feature_touched(Row *r);
/* Five blocks of 18, sorted; unit[5]: of the extended set. */
void ml_feature_buffers(Row *r, const Touches *touches);
void ml_feature_curve(Row *r);
void ml_feature_place(Row *r, const Home *h);
void ml_feature_extended(Row *r);

/* Where buffers live: one for each, in the order of the nest. */
typedef struct StoreAt {
    const ml_NestNode *node;
    const ml_NestStore *s;
    size_t n_loops;
    uint32_t loops[MAX_LOOPS];
    ml_Sum **dims; /* of the store, then of the loads */
} StoreAt;
typedef ML_VEC(StoreAt) Stores;
Home *ml_feature_homes(ml_Nest *n, const Stores *stores);

#endif
