/* lowcall - what the text says of low-level calls: their arguments, the dtype of their
 * result. Source: script 10.4. */
#ifndef ML_CORE_SCRIPT_LOWCALL_H
#define ML_CORE_SCRIPT_LOWCALL_H

#include "moonloop/core/expr.h"

typedef enum ml_LowResult {
    ML_LOW_HANDLE,
    ML_LOW_INT32,
    ML_LOW_UINT32,
    ML_LOW_BOOL,
    ML_LOW_VOID,
    ML_LOW_FIRST, /* the dtype is the first argument, or the keyword dtype */
    ML_LOW_LAST,
    ML_LOW_ARG0, /* the dtype of the first argument */
    ML_LOW_ARG1, /* of the second */
    ML_LOW_KEY,  /* the keyword dtype; void without */
} ml_LowResult;

typedef struct ml_Low {
    const char *name; /* a family ends with '*' */
    uint8_t result;   /* an ml_LowResult */
    uint16_t least, most;
} ml_Low;

/* name without "tir."; `ptx.x` and `ptx_legacy.x` are like ptx_x. NULL: none of these. */
const ml_Low *ml_low_find(ml_Str name);
/* "ptx." for `ptx`: T.name is a namespace of such calls; NULL: it is none. */
const char *ml_low_space(ml_Str name);
/* The known name that `name`, which only a family takes, misspells by a letter left out,
 * put in, changed, or by two that changed places; NULL: none. Without its namespace. */
const char *ml_low_meant(ml_Str name);
/* The dtype that the text gives a call of the n arguments; FIRST, LAST, KEY: false. */
bool ml_low_type(const ml_Low *l, const ml_Expr *const *args, size_t n, ml_Dtype *out);
/* The k-th name, families left out; NULL: no more. */
const char *ml_low_name(size_t k);

#endif
