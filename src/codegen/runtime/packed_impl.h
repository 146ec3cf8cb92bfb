/* packed_impl - what the checks of a packed call share (runtime/ only). */
#ifndef ML_CODEGEN_RUNTIME_PACKED_IMPL_H
#define ML_CODEGEN_RUNTIME_PACKED_IMPL_H

#include "moonloop/codegen/runtime/runtime.h"

typedef enum ml_PackedPart {
    ML_PART_SCALAR,
    ML_PART_SHAPE,
    ML_PART_STRIDE,
    ML_PART_OFFSET
} ml_PackedPart;
typedef struct ml_PackedPlace { /* "A.shape[1]" */
    ml_PackedPart part;
    uint32_t arg;
    uint16_t dim;
} ml_PackedPlace;

typedef struct ml_PackedKnown { /* value of a size variable and where it came from */
    ml_Uid uid;
    int64_t value;
    ml_PackedPlace from;
} ml_PackedKnown;
typedef struct ml_PackedLater { /* an expression with a variable that is not known yet */
    ml_PackedPlace at;
    const ml_Expr *e;
    int64_t got;
} ml_PackedLater;

typedef struct ml_Decode {
    ml_Ctx *cx;
    const ml_Signature *sig;
    const ml_Func *f;
    const ml_PackedArg *args;
    int32_t n;
    const ml_CallOpts *opts;
    ML_VEC(ml_PackedKnown) known;
    ML_VEC(ml_PackedLater) later;
    int kind; /* of the failure */
} ml_Decode;

/* A row of the table: false after ml_packed_refuse. */
bool ml_packed_sizes(ml_Decode *d);
bool ml_packed_strides(ml_Decode *d);
bool ml_packed_offsets(ml_Decode *d);

/* Sets kind and error; false. `part` follows the name: "f: argument #1 'B'" + ".data ...".
 */
bool ml_packed_refuse(ml_Decode *d, int kind, uint32_t arg, const char *part);
const char *ml_packed_param(const ml_FuncParam *p);
/* The tensor given for parameter k; NULL when it has no buffer. */
const ml_DLTensor *ml_packed_tensor(const ml_Decode *d, uint32_t k);
bool ml_packed_empty(const ml_DLTensor *t); /* some extent is 0 */
const ml_PackedKnown *ml_packed_known(const ml_Decode *d, ml_Uid uid);
/* An integer argument; booleans are 0 or 1. */
int64_t ml_packed_int(const ml_PackedArg *a);

#endif
