/* value - constants that annotations, attributes, trace attributes and arguments hold.
 * Immutable, in an arena. A dict is sorted by key and has each key once. */
#ifndef ML_CORE_VALUE_H
#define ML_CORE_VALUE_H

#include "moonloop/core/dtype.h"

typedef struct ml_Value ml_Value;
typedef struct ml_Var ml_Var;
typedef struct ml_Buffer ml_Buffer;
typedef struct ml_IndexMap ml_IndexMap;
typedef struct ml_Reducer ml_Reducer;

typedef enum ml_ValueKind {
    ML_VAL_NONE,
    ML_VAL_BOOL,    /* i */
    ML_VAL_INT,     /* i */
    ML_VAL_FLOAT,   /* f */
    ML_VAL_STRING,  /* s, zero-terminated */
    ML_VAL_LIST,    /* list, n */
    ML_VAL_DICT,    /* keys, list, n: sorted by key */
    ML_VAL_EXPR,    /* expr */
    ML_VAL_BUFFER,  /* buffer */
    ML_VAL_VAR,     /* var: an axis of T.iter_var, a handle */
    ML_VAL_MAP,     /* map: an index map */
    ML_VAL_REDUCER, /* reducer */
    ML_VAL_TARGET,  /* list: what it is, a string or dict; its host when n is 2 */
} ml_ValueKind;

struct ml_Value {
    uint8_t kind; /* an ml_ValueKind */
    uint32_t n;
    union {
        int64_t i;
        double f;
        const char *s;
        const ml_Expr *expr;
        const ml_Buffer *buffer;
        const ml_Var *var;
        const ml_IndexMap *map;
        const ml_Reducer *reducer;
        const ml_Value *const *list;
    } as;
    const char *const *keys;
};

/* An index map: final expressions over initial variables, with an optional given inverse.
 */
struct ml_IndexMap {
    const ml_Var *const *vars;
    const ml_Expr *const *exprs;
    uint32_t n_vars, n_exprs;
    const ml_IndexMap *inverse; /* or NULL */
};

/* A parameter that was given another layout: what callers pass then. */
typedef struct ml_Moved {
    uint32_t param;
    const ml_IndexMap *map;      /* from the old indices to the new ones */
    const ml_Expr *const *shape; /* the new one */
    const ml_Value *pad; /* what stands where no old element is; NULL: anything, or */
    const ml_IndexMap *pad_map; /* its value at the new indices; or NULL */
} ml_Moved;

/* A commutative reducer: n results over lhs[n], rhs[n], with n identities. */
struct ml_Reducer {
    uint32_t n;
    const ml_Var *const *lhs, *const *rhs;
    const ml_Expr *const *results;
    const ml_Expr *const *identities;
};

const ml_Value *ml_val_none(ml_Ctx *cx);
const ml_Value *ml_val_bool(ml_Ctx *cx, bool b);
const ml_Value *ml_val_int(ml_Ctx *cx, int64_t i);
const ml_Value *ml_val_float(ml_Ctx *cx, double f);
const ml_Value *ml_val_string(ml_Ctx *cx, ml_Str s); /* copied */
const ml_Value *ml_val_list(ml_Ctx *cx, const ml_Value *const *list, size_t n);
/* Sorted by the function; keys are copied; of equal keys the last wins. */
const ml_Value *ml_val_dict(ml_Ctx *cx, const char *const *keys, const ml_Value *const *v,
                            size_t n);
const ml_Value *ml_val_expr(ml_Ctx *cx,
                            const ml_Expr *e); /* scalar literals become plain */
const ml_Value *ml_val_buffer(ml_Ctx *cx, const ml_Buffer *b);
const ml_Value *ml_val_var(ml_Ctx *cx, const ml_Var *v);
const ml_Value *ml_val_map(ml_Ctx *cx, const ml_IndexMap *m);
const ml_Value *ml_val_reducer(ml_Ctx *cx, const ml_Reducer *r);
/* host NULL: none. */
const ml_Value *ml_val_target(ml_Ctx *cx, const ml_Value *target, const ml_Value *host);

/* Dicts. A NULL dict is the empty one everywhere. */
const ml_Value *ml_dict_get(const ml_Value *dict, const char *key); /* NULL: absent */
const ml_Value *ml_dict_with(ml_Ctx *cx, const ml_Value *dict, const char *key,
                             const ml_Value *v);
const ml_Value *ml_dict_without(ml_Ctx *cx, const ml_Value *dict, const char *key);
static inline size_t ml_dict_count(const ml_Value *dict)
{
    ML_ASSERT(!dict || dict->kind == ML_VAL_DICT);
    return dict ? dict->n : 0;
}
/* Equal as constants: numbers by value within a kind, floats by bits with NaNs equal,
 * expressions, variables, buffers by identity. For equality of programs see equal.h. */
bool ml_value_eq(const ml_Value *a, const ml_Value *b);

#endif
