/* dtype - element types: (code, bits, lanes), and their limits, names and promotion.
 * Source: ir-and-analysis 1.1, script 10.1. */
#ifndef ML_CORE_DTYPE_H
#define ML_CORE_DTYPE_H

#include "moonloop/core/base/text.h"
#include "moonloop/core/ctx.h"

typedef enum ml_Code {
    ML_BOOL,
    ML_INT,
    ML_UINT,
    ML_FLOAT,
    ML_BFLOAT,
    ML_F8_E4M3FN, /* the eight-bit floats */
    ML_F8_E5M2,
    ML_F8_E4M3,
    ML_F8_E3M4,
    ML_F8_E4M3B11FNUZ,
    ML_F8_E4M3FNUZ,
    ML_F8_E5M2FNUZ,
    ML_F8_E8M0FNU,
    ML_F6_E2M3FN,
    ML_F6_E3M2FN,
    ML_F4_E2M1FN,
    ML_HANDLE, /* a pointer */
    ML_VOID,   /* no value; the type of strings too */
} ml_Code;

typedef struct ml_Dtype {
    uint8_t code;   /* an ml_Code */
    uint8_t bits;   /* of one lane; bool is 8 in memory and has bits 1 here */
    uint16_t lanes; /* 1: scalar */
} ml_Dtype;

#define ML_DT(c, b)  ((ml_Dtype){(c), (b), 1})
#define ML_DT_BOOL   ML_DT(ML_BOOL, 1)
#define ML_DT_I32    ML_DT(ML_INT, 32)
#define ML_DT_I64    ML_DT(ML_INT, 64)
#define ML_DT_F32    ML_DT(ML_FLOAT, 32)
#define ML_DT_F64    ML_DT(ML_FLOAT, 64)
#define ML_DT_HANDLE ML_DT(ML_HANDLE, 64)
#define ML_DT_VOID   ((ml_Dtype){ML_VOID, 0, 0})

static inline bool ml_dtype_eq(ml_Dtype a, ml_Dtype b)
{
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
static inline bool ml_dtype_is_int(ml_Dtype t) /* signed or unsigned, any lanes; not bool */
{
    return t.code == ML_INT || t.code == ML_UINT;
}
static inline bool ml_dtype_is_bool(ml_Dtype t)
{
    return t.code == ML_BOOL;
}
static inline bool ml_dtype_is_float(ml_Dtype t) /* any float family, narrow ones too */
{
    return t.code >= ML_FLOAT && t.code <= ML_F4_E2M1FN;
}
static inline bool ml_dtype_is_index(ml_Dtype t) /* scalar int32 or int64 */
{
    return t.code == ML_INT && t.lanes == 1 && (t.bits == 32 || t.bits == 64);
}
static inline ml_Dtype ml_dtype_lanes(ml_Dtype t, unsigned lanes)
{
    t.lanes = (uint16_t)lanes;
    return t;
}

/* Bytes of one element: (bits * lanes + 7) / 8; bool counts 8 bits a lane. */
size_t ml_dtype_bytes(ml_Dtype t);
/* "float32", "int8x4", "float8_e4m3fn", "handle", "bool", "void". */
void ml_dtype_print(ml_Text *out, ml_Dtype t);
const char *ml_dtype_name(ml_Ctx *cx, ml_Dtype t); /* the same, in the arena */
/* Reads such a name ("" is void); false when unknown. */
bool ml_dtype_parse(ml_Str s, ml_Dtype *out);
/* Whether the text dialect has T.<dtype>; the others, int4 and the like, stand in strings
 * alone. Source: script 10.1. */
bool ml_dtype_has_name(ml_Dtype t);
/* The name of the known dtype nearest to s (edit distance <= 2), or NULL. */
const char *ml_dtype_nearest(ml_Str s);

/* Range of an integer dtype as int64 (uint64 upper end saturates at INT64_MAX). */
int64_t ml_dtype_min(ml_Dtype t);
int64_t ml_dtype_max(ml_Dtype t);
/* Largest finite value of a float dtype; the lowest is its negative (e8m0fnu: 2^-127). */
double ml_dtype_fmax(ml_Dtype t);
double ml_dtype_flowest(ml_Dtype t);
/* v wrapped to the width of the integer or bool dtype t. */
int64_t ml_dtype_wrap(ml_Dtype t, int64_t v);
bool ml_dtype_fits(ml_Dtype t, int64_t v);
/* v rounded to the precision of a float dtype, to nearest even; narrow types included.
 * Overflow goes to infinity where the type has one, else to NaN or the maximum (fn types
 * saturate to NaN as the OCP table says; see dtype.c). */
double ml_dtype_round(ml_Dtype t, double v);

/* The common dtype of a binary operator's operands (ir-and-analysis 1.1); false: none.
 * Lanes: a scalar adapts to a vector, unequal lane counts fail. */
bool ml_dtype_promote(ml_Dtype a, ml_Dtype b, ml_Dtype *out);

#endif
