/* intrin_texts - the tensor intrinsics that are built in, as texts. Source:
 * lowering-and-codegen 9. */
#ifndef ML_PRIMITIVES_INTRIN_TEXTS_H
#define ML_PRIMITIVES_INTRIN_TEXTS_H

#include "moonloop/primitives/intrin.h"

enum { ML_BUILT_IN = 33 };

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
};

extern const ml_BuiltIn ml_built_in[ML_BUILT_IN];

#endif
