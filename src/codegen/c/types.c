/* types - element types in C, and their literals: exact ones, floats in hexadecimal where
 * a short decimal is not. */
#include "moonloop/codegen/c/emit.h"

#include <math.h>

bool ml_cp_dtype_ok(ml_Cp *g, ml_Dtype t)
{
    bool ok = t.lanes >= 1;

    if (ml_dtype_is_int(t))
        ok = ok && (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64);
    else if (t.code == ML_FLOAT)
        ok = ok && (t.bits == 16 || t.bits == 32 || t.bits == 64);
    else if (t.code == ML_HANDLE)
        ok = t.lanes == 1;
    else
        ok = ok && (t.code == ML_BOOL || ml_cp_is_half(t));
    if (!ok)
        ml_cp_unsupported(g, "%s in C", ml_dtype_name(g->cx, t));
    return ok;
}

const char *ml_cp_short(ml_Ctx *cx, ml_Dtype t)
{
    if (t.code == ML_BOOL)
        return "bool";
    if (ml_cp_is_eight(t))
        return t.code == ML_F8_E5M2 ? "e5m2" : "e4m3";
    return ml_format(cx, "%s%u",
                     t.code == ML_INT      ? "i"
                     : t.code == ML_UINT   ? "u"
                     : t.code == ML_BFLOAT ? "bf"
                                           : "f",
                     t.bits);
}

ml_Dtype ml_cp_value_type(ml_Dtype t)
{
    return ml_cp_is_half(t) ? ML_DT_F32 : ml_dtype_lanes(t, 1);
}

const char *ml_cp_memory_type(ml_Ctx *cx, ml_Dtype t)
{
    if (t.code == ML_FLOAT && t.bits >= 32)
        return t.bits == 32 ? "float" : "double";
    return ml_format(cx, "%sint%u_t", t.code == ML_INT ? "" : "u",
                     t.code == ML_BOOL ? 8u : t.bits);
}

/* A vector of bool holds 0 and 1 in bytes. */
static const char *vector(ml_Cp *g, ml_Dtype t, unsigned n)
{
    ml_Dtype lane = t.code == ML_BOOL ? ML_DT(ML_UINT, 8) : ml_cp_value_type(t);
    const char *name = ml_format(g->cx, "ml_%sx%u", ml_cp_short(g->cx, lane), n);
    const char *type = ml_cp_memory_type(g->cx, lane);

    if (!ml_cp_first(g, name))
        return name;
    ml_text_fmt(&g->types,
                "#if ML_VECTORS\ntypedef %s %s __attribute__((vector_size(%zu)));\n#else\n"
                "typedef struct %s {\n    %s lane[%u];\n} %s;\n#endif\n",
                type, name, n * ml_lane_bytes(lane), name, type, n, name);
    return name;
}

const char *ml_cp_type(ml_Cp *g, ml_Dtype t, unsigned n)
{
    if (t.code == ML_HANDLE)
        return "void *";
    if (n)
        return vector(g, t, n);
    if (t.code == ML_BOOL)
        return "bool";
    return ml_cp_memory_type(g->cx, ml_cp_value_type(t));
}

const char *ml_cp_int(ml_Cp *g, ml_Dtype t, int64_t v)
{
    if (t.code == ML_BOOL)
        return v ? "true" : "false";
    if (t.code == ML_UINT && t.bits == 64)
        return ml_format(g->cx, "UINT64_C(%llu)", (unsigned long long)v);
    if (t.code == ML_UINT && t.bits == 32)
        return ml_format(g->cx, "%lluu", (unsigned long long)(uint32_t)v);
    if (v == INT64_MIN)
        return "INT64_MIN";
    if (t.bits == 64)
        return v > INT32_MAX || v < -INT32_MAX
                   ? ml_format(g->cx, "INT64_C(%lld)", (long long)v)
                   : ml_format(g->cx, "%lld", (long long)v);
    return v == INT32_MIN ? "INT32_MIN" : ml_format(g->cx, "%lld", (long long)v);
}

const char *ml_cp_float(ml_Cp *g, ml_Dtype t, double v)
{
    bool wide = t.bits == 64;
    double scaled = v * 1024.0;

    if (ml_cp_is_half(t))
        v = ml_dtype_round(t, v);
    if (isnan(v))
        return wide ? "(double)NAN" : "NAN";
    if (isinf(v))
        return ml_format(g->cx, "%s%sINFINITY", v < 0 ? "-" : "", wide ? "(double)" : "");
    if (!(fabs(v) < 1000.0) || scaled != floor(scaled))
        return ml_format(g->cx, "%a%s", v, wide ? "" : "f");
    return ml_format(g->cx, "%.13g%s%s", v, v == floor(v) ? ".0" : "", wide ? "" : "f");
}
