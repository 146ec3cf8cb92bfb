/* intrin_texts - the tensor intrinsics that are built in, as texts. Source:
 * lowering-and-codegen 9. */
#ifndef ML_PRIMITIVES_INTRIN_TEXTS_H
#define ML_PRIMITIVES_INTRIN_TEXTS_H

#include "moonloop/primitives/intrin.h"

typedef struct ml_BuiltIn ml_BuiltIn;
struct ml_BuiltIn {
    const char *name;
    void (*text)(ml_Text *t, const ml_BuiltIn *in); /* a module: desc and impl */
    const char *a, *b, *c; /* dtypes of the operands and of the result */
    int lanes;             /* of the result */
    int taps;              /* products that one lane takes in */
    const char *call;      /* the routine, where there is one */
    const char *scope;     /* of A and B */
    const char *c_scope;   /* of C: "local" for accumulators in registers */
    int sm;                /* the least architecture of CUDA that has it; 0: of no GPU */
    int m, n, k;           /* of a product that a warp computes */
    bool trans;            /* its B is stored by columns: [n][k] */
};

/* Entry k; NULL: there are no more. */
const ml_BuiltIn *ml_built_in(size_t k);
size_t ml_n_built_in(void);

/* intrin_warp.c: entries of products that a warp computes; counted. */
extern const ml_BuiltIn ml_warp_built_in[];
extern const size_t ml_n_warp_built_in;
/* intrin_mma.c: those with registers that the program sees. */
extern const ml_BuiltIn ml_mma_built_in[];
extern const size_t ml_n_mma_built_in;

#endif
