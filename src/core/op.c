/*
 * op - the table of callable operators, from ops.def.
 *
 * What it lacks is kept by name, as an opaque call of any number of arguments. Source:
 * script 10.4.
 */
#include "moonloop/core/expr.h"

static const ml_Op ops[] = {
    [ML_OP_OTHER] = {"", ML_EFFECT_OPAQUE, ML_OP_OTHER, -1, false, ML_FAMILY_OWN},
#define ML_OP(ID, name, effect, n, first, family)                                          \
    [ML_OP_##ID] = {name, ML_EFFECT_##effect, ML_OP_##ID, n, first, ML_FAMILY_##family},
#include "moonloop/core/ops.def"
#undef ML_OP
};

/* Operators outside the table whose dtype is written first; a '*' ends a family. */
static const char *const dtype_first[] = {
    "call_intrin",   "vectorlow",     "vectorhigh",
    "vectorcombine", "dp4a",          "get_active_lane_mask",
    "ptx_mma*",      "ptx_ldmatrix*", "ptx_cp_async*",
    "mma_store*",    "mma_fill*",
};

const ml_Op *ml_op(ml_OpId id)
{
    ML_ASSERT(id > ML_OP_OTHER && id < ML_OP_IDS);
    return &ops[id];
}

static ml_Str cut_prefix(ml_Str name)
{
    static const char *const prefixes[] = {"tir.", "tirx."};
    for (size_t k = 0; k < ML_COUNT(prefixes); k++) {
        size_t n = strlen(prefixes[k]);
        if (name.n > n && memcmp(name.p, prefixes[k], n) == 0)
            return (ml_Str){name.p + n, name.n - n};
    }
    return name;
}

const ml_Op *ml_op_find(ml_Str name)
{
    name = cut_prefix(name);
    for (int id = ML_OP_OTHER + 1; id < ML_OP_IDS; id++)
        if (ml_str_eq(name, ml_str(ops[id].name)))
            return &ops[id];
    return NULL;
}

static bool is_dtype_first(const char *name)
{
    for (size_t k = 0; k < ML_COUNT(dtype_first); k++) {
        size_t n = strlen(dtype_first[k]);
        bool whole = dtype_first[k][n - 1] != '*';
        if (whole ? ml_streq(name, dtype_first[k])
                  : strncmp(name, dtype_first[k], n - 1) == 0)
            return true;
    }
    return false;
}

const ml_Op *ml_op_intern(ml_Ctx *cx, ml_Str name)
{
    const ml_Op *known = ml_op_find(name);
    if (known)
        return known;
    ml_Op *op = ML_NEW(cx, ml_Op);
    op->name = ml_strdup(cx, cut_prefix(name));
    op->effect = ML_EFFECT_OPAQUE;
    op->id = ML_OP_OTHER;
    op->n_args = -1;
    op->dtype_first = is_dtype_first(op->name);
    op->family = ML_FAMILY_OWN;
    return op;
}
