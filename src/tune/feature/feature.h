/*
 * feature - rows of features of a program: one row for each buffer that is stored to.
 *
 * The first 164 numbers are those of auto-scheduler 14, as the peer's models know them; the
 * extended set follows, under a version of its own. All are forms: of a real program
 * constants, of a sketch closed forms that hold wherever the questions on the path of its
 * forms have the same answers. Source: auto-scheduler 14.
 */
#ifndef ML_TUNE_FEATURE_H
#define ML_TUNE_FEATURE_H

#include "moonloop/codegen/target/target.h"
#include "moonloop/tune/feature/nest.h"

enum {
    ML_FEATURES_BASE = 164,
    ML_FEATURES = 188,
    ML_FEATURES_VERSION = 1, /* of the extended set */
};

/* The extended set; where nothing else is said slog of the number. Sizes are those of
 * ml_FeatureTarget. */
typedef enum ml_Extended {
    ML_X_FMA = ML_FEATURES_BASE, /* products that are added to something, executed */
    ML_X_VECTOR_OPS,   /* arithmetic instructions, by the vectors that loops make */
    ML_X_LOADS,        /* load instructions, what stays in registers left out */
    ML_X_STORES,       /* store instructions, the same */
    ML_X_ACCUMULATORS, /* vectors that the innermost unrolled loops write */
    ML_X_PRESSURE,     /* the number itself: accumulators / registers */
    ML_X_CHAIN,        /* cycles that one result waits for the one before it */
    ML_X_L1,           /* bytes moved between first and second cache */
    ML_X_L2,
    ML_X_L3,       /* bytes moved from and to memory */
    ML_X_BODY,     /* operations in the innermost unrolled loops */
    ML_X_TRIPS,    /* iterations of loops around them */
    ML_X_PARALLEL, /* iterations of parallel loops */
    ML_X_SHARE,    /* the number itself: of the time that the slowest thread works, what
                      is needed of one thread; 1 where nothing is parallel */
    ML_X_LAUNCHES, /* times that threads are started */
    ML_X_GUARDED,  /* 0 or 1: a predicate */
    ML_X_WASTE,    /* iterations / instances of the block */
    ML_X_FIT,      /* bytes touched in the innermost unrolled loops */
    ML_X_UNIT,     /* of five buffers, in the order of their blocks, 0 or 1: the vector
                      loop goes from element to element */
    ML_X_RESERVED = ML_X_UNIT + 5, /* 0 */
    ML_X_END
} ml_Extended;

/* What the extended set depends on. */
typedef struct ml_FeatureTarget {
    double vector_bytes, registers, threads;
    double l1, l2, l3; /* bytes */
    bool gpu;
} ml_FeatureTarget;

/* Of a target that so many threads run on; cache: bytes of L1, L2, L3 of a core, 0 where
 * they are not known. */
ml_FeatureTarget ml_feature_target(const ml_Target *t, uint32_t threads,
                                   const uint64_t cache[3]);

enum { ML_MAX_ROWS = 64 };
typedef struct ml_FeatureRows {
    size_t n;
    const ml_Num *row[ML_MAX_ROWS]; /* ML_FEATURES each */
} ml_FeatureRows;

/* The rows of a nest, in the order of the first stores of the buffers, in n's context.
 * false: it has more than ML_MAX_ROWS, or loops nested deeper than 64. */
bool ml_features(ml_Nest *n, const ml_FeatureTarget *t, ml_FeatureRows *out);

#endif
