/*
 * helpers - functions of the prelude: an operator on a type, and the same lane by lane.
 *
 * Each is printed when it is first asked for, after those it calls. A vector of GCC or clang
 * has operators; without them, and where there is none, the scalar function serves each
 * lane. Source: lowering-and-codegen 10.1, 10.2.
 */
#include "moonloop/codegen/c/emit.h"

static const struct Op {
    const char *name;
    char types, arity, result;
    const char *body, *vector;
} ops[] = {
#define ML_C_OP(name, types, n, result, body, vector)                                      \
    {name, types, n, result, body, vector},
#include "moonloop/codegen/c/helpers.def"
#undef ML_C_OP
};

/* ---------------------------------------------------------------- what is there */

bool ml_cp_first(ml_Cp *g, const char *name)
{
    uint32_t key = (uint32_t)ml_fnv(ML_FNV, name, strlen(name));
    const char *have;

    while ((have = ml_map_get(g->seen, key)) != NULL && !ml_streq(have, name))
        key++;
    if (have == NULL)
        ml_map_set(g->cx, g->seen, key, name);
    return have == NULL;
}

void ml_cp_declare(ml_Cp *g, const char *name, const char *text)
{
    if (ml_cp_first(g, name))
        ml_text_add(&g->below, text);
}

static bool fits(char types, ml_Dtype t)
{
    bool is_float = ml_dtype_is_float(t);

    switch (types) {
    case 'I': return !is_float;
    case 'S': return t.code == ML_INT;
    case 'U': return t.code == ML_UINT || t.code == ML_BOOL;
    default: return is_float;
    }
}

static const struct Op *find(const char *name, ml_Dtype t)
{
    for (size_t k = 0; k < ML_COUNT(ops); k++)
        if (ml_streq(ops[k].name, name) && fits(ops[k].types, t))
            return &ops[k];
    return NULL;
}

/* ---------------------------------------------------------------- float16, bfloat16 */

/* What rounds a double to the type, and gives a float. */
static const char *rounding(ml_Cp *g, ml_Dtype t)
{
    bool f16 = t.code == ML_FLOAT;

    if (!ml_cp_is_half(t))
        return "";
    ml_cp_declare(
        g, "ml_fit_half",
        "/* To nearest even in so many bits, from the exponent `low` on. */\n"
        "ML_FUNCTION float ml_fit_half(double v, int bits, int low, double most)\n{\n"
        "    double a = fabs(v), unit;\n    int e;\n\n"
        "    if (v != v)\n        return NAN;\n"
        "    if (a == (double)INFINITY || a == 0)\n        return (float)v;\n"
        "    (void)frexp(a, &e);\n"
        "    unit = ldexp(1.0, (e - 1 < low ? low + 1 : e) - bits);\n"
        "    a = nearbyint(a / unit) * unit;\n"
        "    return (float)copysign(a > most ? (double)INFINITY : a, v);\n}\n\n");
    if (t.code == ML_F8_E4M3FN)
        ml_cp_declare(g, "ml_fit_e4m3", /* it has no infinity */
                      "ML_FUNCTION float ml_fit_e4m3(double v)\n{\n"
                      "    v = (double)ml_fit_half(v, 4, -6, 448.0);\n\n"
                      "    return v - v == 0 ? (float)v : NAN;\n}\n\n");
    else if (t.code == ML_F8_E5M2)
        ml_cp_declare(g, "ml_fit_e5m2",
                      "ML_FUNCTION float ml_fit_e5m2(double v)\n{\n"
                      "    return ml_fit_half(v, 3, -14, 57344.0);\n}\n\n");
    else if (f16)
        ml_cp_declare(g, "ml_fit_f16",
                      "ML_FUNCTION float ml_fit_f16(double v)\n{\n"
                      "    return ml_fit_half(v, 11, -14, 65504.0);\n}\n\n");
    else
        ml_cp_declare(g, "ml_fit_bf16",
                      "ML_FUNCTION float ml_fit_bf16(double v)\n{\n"
                      "    return ml_fit_half(v, 8, -126, 0x1.fep127);\n}\n\n");
    return ml_format(g->cx, "ml_fit_%s", ml_cp_short(g->cx, t));
}

/* a * b + c, rounded once: the sum of two doubles to odd, and that to the type. */
static const char *fused(ml_Cp *g, ml_Dtype t)
{
    if (!ml_cp_is_half(t))
        return t.bits == 64 ? "fma" : "fmaf";
    ml_cp_declare(
        g, "ml_fma_odd",
        "ML_FUNCTION double ml_fma_odd(double a, double b, double c)\n{\n"
        "    double p = a * b, s = p + c, t = s - p, e = (p - (s - t)) + (c - t);\n"
        "    uint64_t u;\n\n"
        "    if (!(e - e == 0) || e == 0)\n        return s;\n"
        "    memcpy(&u, &s, sizeof u);\n"
        "    return u & 1 ? s : nextafter(s, e > 0 ? (double)INFINITY : "
        "-(double)INFINITY);\n"
        "}\n\n");
    return ml_format(g->cx, "%s(ml_fma_odd", rounding(g, t));
}

/* ---------------------------------------------------------------- operators */

static void add_body(ml_Cp *g, const char *z, ml_Dtype t, unsigned n, ml_Text *out)
{
    ml_Dtype v = ml_cp_value_type(t), u = ML_DT(ML_UINT, v.bits < 8 ? 8 : v.bits);

    for (; *z; z++) {
        if (*z != '$') {
            ml_text_char(out, *z);
            continue;
        }
        switch (*++z) {
        case 'T': ml_text_add(out, ml_cp_type(g, t, 0)); break;
        case 'U': ml_text_fmt(out, "uint%u_t", u.bits < 32 ? 32u : u.bits); break;
        case 'Q': ml_text_fmt(out, "uint%u_t", u.bits); break;
        case 'B': ml_text_fmt(out, "%u", t.bits); break;
        case 'r': ml_text_add(out, rounding(g, t)); break;
        case 'f': ml_text_add(out, t.bits == 32 ? "f" : ""); break;
        case 'm': ml_text_add(out, fused(g, t)); break;
        case 'V': ml_text_add(out, ml_cp_type(g, t, n)); break;
        default: ml_text_add(out, ml_cp_type(g, u, n)); break; /* W */
        }
    }
}

static const char *args_of(ml_Cp *g, const char *type, int n)
{
    return n == 1   ? ml_format(g->cx, "%s a", type)
           : n == 2 ? ml_format(g->cx, "%s a, %s b", type, type)
                    : ml_format(g->cx, "%s a, %s b, %s c", type, type, type);
}

static const char *define_scalar(ml_Cp *g, const struct Op *op, ml_Dtype t)
{
    const char *name = ml_format(g->cx, "ml_%s_%s", op->name, ml_cp_short(g->cx, t));
    ml_Text body = {0};

    if (!ml_cp_first(g, name))
        return name;
    add_body(g, op->body, t, 1, &body);
    if (ml_cp_is_half(t) && ml_streq(op->name, "fma")) { /* one more call is open */
        ml_text_clear(&body);
        ml_text_fmt(&body, "return %s(a, b, c));", fused(g, t));
    }
    ml_text_fmt(&g->below, "ML_FUNCTION %s %s(%s)\n{\n    %s\n}\n\n",
                op->result == 'B' ? "bool" : ml_cp_type(g, t, 0), name,
                args_of(g, ml_cp_is_half(t) ? "double" : ml_cp_type(g, t, 0), op->arity),
                ml_text_z(&body));
    ml_text_free(&body);
    return name;
}

static void lanes(ml_Cp *g, const char *scalar, const char *result, unsigned n, int arity)
{
    ml_text_fmt(&g->below,
                "    %s r = ML_LIST(0);\n\n    for (int k = 0; k < %u; k++)\n"
                "        ML_AT(r, k) = %s(ML_AT(a, k)%s%s);\n    return r;\n",
                result, n, scalar, arity > 1 ? ", ML_AT(b, k)" : "",
                arity > 2 ? ", ML_AT(c, k)" : "");
}

const char *ml_cp_op(ml_Cp *g, const char *name, ml_Dtype t, unsigned n)
{
    const struct Op *op = find(name, t);
    const char *full, *scalar, *type, *result;
    bool direct;

    if (op == NULL) {
        ml_cp_unsupported(g, "%s of %s in C", name, ml_dtype_name(g->cx, t));
        return "0";
    }
    if (ml_cp_is_half(t) && op->result == 'B') /* they are floats by then */
        t = ML_DT_F32;
    scalar = define_scalar(g, op, ml_dtype_lanes(t, 1));
    if (n == 0)
        return scalar;
    full = ml_format(g->cx, "%sx%u", scalar, n);
    if (!ml_cp_first(g, full))
        return full;
    type = ml_cp_type(g, t, n);
    result = op->result == 'B' ? ml_cp_type(g, ML_DT_BOOL, n) : type;
    direct = op->vector && !ml_cp_is_half(t);
    if (direct) { /* types come before what uses them */
        ml_Text v = {0};
        add_body(g, op->vector, t, n, &v);
        if (op->result == 'B')
            ml_text_fmt(&g->below,
                        "ML_FUNCTION %s %s(%s)\n{\n#if ML_VECTORS\n"
                        "    return (%s)-__builtin_convertvector(%s, %s);\n#else\n",
                        result, full, args_of(g, type, op->arity), result, ml_text_z(&v),
                        ml_cp_type(g, ML_DT(ML_INT, 8), n));
        else
            ml_text_fmt(&g->below,
                        "ML_FUNCTION %s %s(%s)\n{\n#if ML_VECTORS\n    return %s;\n#else\n",
                        result, full, args_of(g, type, op->arity), ml_text_z(&v));
        ml_text_free(&v);
    } else {
        ml_text_fmt(&g->below, "ML_FUNCTION %s %s(%s)\n{\n", result, full,
                    args_of(g, type, op->arity));
    }
    lanes(g, scalar, result, n, op->arity);
    ml_text_fmt(&g->below, "%s}\n\n", direct ? "#endif\n" : "");
    return full;
}

/* ---------------------------------------------------------------- conversions */

static const char *bounds(ml_Cp *g, ml_Dtype to)
{
    return to.code == ML_INT
               ? ml_format(g->cx,
                           "    if (v >= 0x1p%d)\n        return INT%u_MAX;\n"
                           "    if (v < -0x1p%d)\n        return INT%u_MIN;\n",
                           to.bits - 1, to.bits, to.bits - 1, to.bits)
               : ml_format(g->cx,
                           "    if (v >= 0x1p%d)\n        return UINT%u_MAX;\n"
                           "    if (v < 0)\n        return 0;\n",
                           to.bits, to.bits);
}

/* An integer of 64 bits to a half: rounded to odd on the way through double. */
static const char *through_odd(bool is_signed)
{
    return is_signed ? "    uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;\n"
                       "    double d;\n    int k = 0;\n\n"
                       "    while (m >> k >= UINT64_C(1) << 53)\n        k++;\n"
                       "    d = ldexp((double)(m >> k | ((m & ((UINT64_C(1) << k) - 1)) != "
                       "0)), k);\n"
                       "    d = v < 0 ? -d : d;\n"
                     : "    uint64_t m = (uint64_t)v;\n"
                       "    double d;\n    int k = 0;\n\n"
                       "    while (m >> k >= UINT64_C(1) << 53)\n        k++;\n"
                       "    d = ldexp((double)(m >> k | ((m & ((UINT64_C(1) << k) - 1)) != "
                       "0)), k);\n";
}

static void convert_body(ml_Cp *g, ml_Dtype from, ml_Dtype to, ml_Text *out)
{
    const char *type = ml_cp_type(g, to, 0);

    if (to.code == ML_BOOL)
        ml_text_add(out, "    return v != 0;\n");
    else if (ml_dtype_is_float(from) && !ml_dtype_is_float(to))
        ml_text_fmt(out, "    if (v != v)\n        return 0;\n%s    return (%s)v;\n",
                    bounds(g, to), type);
    else if (ml_cp_is_half(to) && !ml_dtype_is_float(from) && from.bits == 64)
        ml_text_fmt(out, "%s    return %s(d);\n", through_odd(from.code == ML_INT),
                    rounding(g, to));
    else if (ml_cp_is_half(to))
        ml_text_fmt(out, "    return %s((double)v);\n", rounding(g, to));
    else
        ml_text_fmt(out, "    return (%s)v;\n", type);
}

static bool one_instruction(ml_Dtype from, ml_Dtype to)
{
    return !ml_cp_is_half(to) && from.code != ML_BOOL && to.code != ML_BOOL &&
           !(ml_dtype_is_float(from) && !ml_dtype_is_float(to));
}

const char *ml_cp_convert(ml_Cp *g, ml_Dtype from, ml_Dtype to, unsigned n)
{
    const char *scalar =
        ml_format(g->cx, "ml_%s_to_%s", ml_cp_short(g->cx, from), ml_cp_short(g->cx, to));
    const char *full, *a, *r;
    bool direct = one_instruction(from, to);
    ml_Text body = {0};

    from.lanes = to.lanes = 1;
    if (ml_cp_first(g, scalar)) {
        convert_body(g, from, to, &body);
        ml_text_fmt(&g->below, "ML_FUNCTION %s %s(%s v)\n{\n%s}\n\n", ml_cp_type(g, to, 0),
                    scalar, ml_cp_type(g, from, 0), ml_text_z(&body));
        ml_text_free(&body);
    }
    if (n == 0)
        return scalar;
    full = ml_format(g->cx, "%sx%u", scalar, n);
    if (!ml_cp_first(g, full))
        return full;
    a = ml_cp_type(g, from, n);
    r = ml_cp_type(g, to, n);
    ml_text_fmt(&g->below, "ML_FUNCTION %s %s(%s a)\n{\n", r, full, a);
    if (direct)
        ml_text_fmt(&g->below,
                    "#if ML_VECTORS\n    return __builtin_convertvector(a, %s);\n#else\n",
                    r);
    lanes(g, scalar, r, n, 1);
    ml_text_fmt(&g->below, "%s}\n\n", direct ? "#endif\n" : "");
    return full;
}

/* ---------------------------------------------------------------- lanes */

const char *ml_cp_splat(ml_Cp *g, ml_Dtype t, unsigned n)
{
    /* One for bool and uint8, whose vectors are the same. */
    ml_Dtype lane = t.code == ML_BOOL ? ML_DT(ML_UINT, 8) : t;
    const char *type = ml_cp_type(g, t, n),
               *full = ml_format(g->cx, "ml_splat_%s", type + 3);

    if (ml_cp_first(g, full))
        ml_text_fmt(&g->below,
                    "ML_FUNCTION %s %s(%s a)\n{\n    %s r = ML_LIST(0);\n\n"
                    "    for (int k = 0; k < %u; k++)\n        ML_AT(r, k) = a;\n    "
                    "return r;\n}\n\n",
                    type, full, ml_cp_type(g, lane, 0), type, n);
    return full;
}

const char *ml_cp_ramp(ml_Cp *g, ml_Dtype t, unsigned n)
{
    const char *type = ml_cp_type(g, t, n),
               *full = ml_format(g->cx, "ml_ramp_%s", type + 3);
    unsigned bits = t.bits < 32 ? 32 : t.bits;

    if (ml_cp_first(g, full))
        ml_text_fmt(&g->below,
                    "ML_FUNCTION %s %s(%s a, %s by)\n{\n    %s r = ML_LIST(0);\n\n"
                    "    for (uint%u_t k = 0; k < %u; k++)\n"
                    "        ML_AT(r, k) = (%s)((uint%u_t)a + (uint%u_t)by * k);\n    "
                    "return r;\n}\n\n",
                    type, full, ml_cp_type(g, t, 0), ml_cp_type(g, t, 0), type, bits, n,
                    ml_cp_type(g, t, 0), bits, bits);
    return full;
}

const char *ml_cp_select(ml_Cp *g, ml_Dtype t, unsigned n)
{
    ml_Dtype v = t.code == ML_BOOL ? ML_DT(ML_UINT, 8) : ml_cp_value_type(t);
    const char *type = ml_cp_type(g, t, n),
               *full = ml_format(g->cx, "ml_select_%s", type + 3);
    const char *mask = ml_cp_type(g, ML_DT_BOOL, n),
               *bits = ml_cp_type(g, ML_DT(ML_INT, v.bits), n);

    if (ml_cp_first(g, full))
        ml_text_fmt(&g->below,
                    "ML_FUNCTION %s %s(%s on, %s a, %s b)\n{\n#if ML_VECTORS\n"
                    "    %s k = -__builtin_convertvector(on, %s);\n\n"
                    "    return (%s)(((%s)a & k) | ((%s)b & ~k));\n#else\n    %s r = "
                    "ML_LIST(0);\n\n"
                    "    for (int k = 0; k < %u; k++)\n"
                    "        ML_AT(r, k) = ML_AT(on, k) ? ML_AT(a, k) : ML_AT(b, k);\n"
                    "    return r;\n#endif\n}\n\n",
                    type, full, mask, type, type, bits, bits, type, bits, bits, type, n);
    return full;
}

/* ---------------------------------------------------------------- memory */

/* Floats of eight bits: exponents of float begin 120 or 112 below theirs; what is below the
 * least normal number counts the least subnormal one. */
static const char *from_eight(ml_Cp *g, ml_Dtype t)
{
    if (t.code == ML_F8_E5M2)
        ml_cp_declare(
            g, "ml_from_e5m2",
            "ML_FUNCTION float ml_from_e5m2(uint8_t h)\n{\n"
            "    uint32_t a = h & 0x7fu, u;\n    float f;\n\n"
            "    u = a > 0x7b ? 0x7f800000u | (a & 3u) << 21 : (a << 21) + (112u "
            "<< 23);\n"
            "    memcpy(&f, &u, sizeof f);\n    if (a < 4)\n        f = (float)a * "
            "0x1p-16f;\n"
            "    return h >> 7 ? -f : f;\n}\n\n");
    else
        ml_cp_declare(
            g, "ml_from_e4m3",
            "ML_FUNCTION float ml_from_e4m3(uint8_t h)\n{\n"
            "    uint32_t a = h & 0x7fu, u = (a << 20) + (120u << 23);\n"
            "    float f;\n\n"
            "    memcpy(&f, &u, sizeof f);\n    if (a < 8)\n        f = (float)a * "
            "0x1p-9f;\n    if (a == 0x7f)\n        f = NAN;\n"
            "    return h >> 7 ? -f : f;\n}\n\n");
    return t.code == ML_F8_E5M2 ? "ml_from_e5m2" : "ml_from_e4m3";
}

static const char *to_eight(ml_Cp *g, ml_Dtype t)
{
    bool wide = t.code == ML_F8_E5M2;
    const char *full = wide ? "ml_to_e5m2" : "ml_to_e4m3";

    ml_cp_declare(g, full,
                  ml_format(g->cx,
                            "ML_FUNCTION uint8_t %s(float f)\n{\n    uint32_t u, a;\n\n"
                            "    memcpy(&u, &f, sizeof u);\n    a = u & 0x7fffffffu;\n"
                            "    a = f != f ? %s : a > 0x7f7fffffu ? 0x7cu\n"
                            "        : fabsf(f) < %s ? (uint32_t)(fabsf(f) * %s)\n"
                            "                          : (a >> %d) - (%du << %d);\n"
                            "    return (uint8_t)(a | (u >> 24 & 0x80u));\n}\n\n",
                            full, wide ? "0x7eu" : "0x7fu", wide ? "0x1p-14f" : "0x1p-6f",
                            wide ? "0x1p16f" : "0x1p9f", wide ? 21 : 20, wide ? 112 : 120,
                            wide ? 2 : 3));
    return full;
}

/* A lane in memory to a value, and back; "" where they are the same. */
static const char *from_memory(ml_Cp *g, ml_Dtype t)
{
    if (t.code == ML_BOOL)
        return "0 != ";
    if (!ml_cp_is_half(t))
        return "";
    if (ml_cp_is_eight(t))
        return from_eight(g, t);
    if (t.code == ML_BFLOAT)
        ml_cp_declare(g, "ml_from_bf16",
                      "ML_FUNCTION float ml_from_bf16(uint16_t h)\n{\n"
                      "    uint32_t u = (uint32_t)h << 16;\n    float f;\n\n"
                      "    memcpy(&f, &u, sizeof f);\n    return f;\n}\n\n");
    else
        ml_cp_declare(
            g, "ml_from_f16",
            "ML_FUNCTION float ml_from_f16(uint16_t h)\n{\n"
            "    uint32_t e = h >> 10 & 31u, m = h & 1023u, u;\n    float f;\n\n"
            "    u = e == 31 ? 0x7f800000u | m << 13 : (e + 112) << 23 | m << 13;\n"
            "    memcpy(&f, &u, sizeof f);\n    if (e == 0)\n        f = (float)m * "
            "0x1p-24f;\n"
            "    return h >> 15 ? -f : f;\n}\n\n");
    return t.code == ML_BFLOAT ? "ml_from_bf16" : "ml_from_f16";
}

static const char *to_memory(ml_Cp *g, ml_Dtype t)
{
    if (!ml_cp_is_half(t))
        return t.code == ML_BOOL ? "0 != " : "";
    if (ml_cp_is_eight(t))
        return to_eight(g, t);
    if (t.code == ML_BFLOAT)
        ml_cp_declare(g, "ml_to_bf16",
                      "ML_FUNCTION uint16_t ml_to_bf16(float f)\n{\n    uint32_t u;\n\n"
                      "    memcpy(&u, &f, sizeof u);\n"
                      "    return f != f ? 0x7fc0 : (uint16_t)(u >> 16);\n}\n\n");
    else
        ml_cp_declare(
            g, "ml_to_f16",
            "ML_FUNCTION uint16_t ml_to_f16(float f)\n{\n    uint32_t u, a;\n\n"
            "    memcpy(&u, &f, sizeof u);\n    a = u & 0x7fffffffu;\n"
            "    a = f != f          ? 0x7e00u\n        : a > 0x477fe000u ? 0x7c00u\n"
            "        : a < 0x38800000u ? (uint32_t)(fabsf(f) * 0x1p24f)\n"
            "                          : ((a >> 13) - (112u << 10));\n"
            "    return (uint16_t)(a | (u >> 16 & 0x8000u));\n}\n\n");
    return t.code == ML_BFLOAT ? "ml_to_bf16" : "ml_to_f16";
}

const char *ml_cp_cell(ml_Cp *g, const char *form, ml_Dtype t)
{
    const char *full = ml_format(g->cx, "ml_%s_%s", form, ml_cp_short(g->cx, t));
    const char *mem = ml_cp_memory_type(g->cx, t);
    bool get = *form == 'g';
    const char *in = get ? from_memory(g, t) : to_memory(g, t);

    if (!ml_cp_first(g, full))
        return full;
    if (get)
        ml_text_fmt(&g->below,
                    "ML_FUNCTION %s %s(const void *p)\n{\n    %s v;\n\n"
                    "    memcpy(&v, p, sizeof v);\n    return %s(v);\n}\n\n",
                    ml_cp_type(g, t, 0), full, mem, in);
    else
        ml_text_fmt(&g->below,
                    "ML_FUNCTION void %s(void *p, %s a)\n{\n    %s v = %s(a);\n\n"
                    "    memcpy(p, &v, sizeof v);\n}\n\n",
                    full, ml_cp_type(g, t, 0), mem, in);
    return full;
}

/* load, store: all lanes at once; others lane by lane, a lane that is off not at all. */
static void access_body(ml_Cp *g, const char *form, ml_Dtype t, unsigned n)
{
    const char *cell = ml_cp_memory_type(g->cx, t), *type = ml_cp_type(g, t, n);
    bool loads = *form == 'l' || *form == 'g', on = strstr(form, "_if") != NULL;
    bool whole = ml_streq(form, "load") || ml_streq(form, "store");
    bool spread = *form == 'g' || strncmp(form, "sc", 2) == 0;
    const char *in = loads ? from_memory(g, t) : to_memory(g, t);
    /* p may point to anything: bytes are copied */
    const char *p = ml_format(g->cx, "(%schar *)p + %s * (int64_t)sizeof v",
                              loads ? "const " : "", spread ? "ML_AT(at, k)" : "k");

    if (loads)
        ml_text_fmt(&g->below, "    %s r = ML_LIST(0);\n", type);
    if (whole && t.code != ML_BOOL && !ml_cp_is_half(t)) {
        ml_text_fmt(&g->below, loads ? "\n    memcpy(&r, p, sizeof r);\n    return r;\n"
                                     : "    memcpy(p, &a, sizeof a);\n");
        return;
    }
    ml_text_fmt(&g->below, "%s    for (int k = 0; k < %u; k++) {\n        %s v;\n\n",
                loads ? "\n" : "", n, cell);
    if (on)
        ml_text_add(&g->below, "        if (!ML_AT(on, k))\n            continue;\n");
    if (loads)
        ml_text_fmt(
            &g->below,
            "        memcpy(&v, %s, sizeof v);\n        ML_AT(r, k) = %s(v);\n    }\n"
            "    return r;\n",
            p, in);
    else
        ml_text_fmt(
            &g->below,
            "        v = %s(ML_AT(a, k));\n        memcpy(%s, &v, sizeof v);\n    }\n", in,
            p);
}

const char *ml_cp_access(ml_Cp *g, const char *form, ml_Dtype t, unsigned n, ml_Dtype index)
{
    bool loads = *form == 'l' || *form == 'g',
         spread = *form == 'g' || strncmp(form, "sc", 2) == 0;
    const char *type = ml_cp_type(g, t, n), *at = spread ? ml_cp_type(g, index, n) : "";
    const char *full =
        ml_format(g->cx, "ml_%s_%sx%u%s%s", form, ml_cp_short(g->cx, t), n,
                  spread ? "_" : "", spread ? ml_cp_short(g->cx, index) : "");
    const char *mask = strstr(form, "_if") ? ml_cp_type(g, ML_DT_BOOL, n) : NULL;

    (void)(loads ? from_memory(g, t) : to_memory(g, t));
    if (!ml_cp_first(g, full))
        return full;
    ml_text_fmt(&g->below, "ML_FUNCTION %s %s(%svoid *p", loads ? type : "void", full,
                loads ? "const " : "");
    if (spread)
        ml_text_fmt(&g->below, ", %s at", at);
    if (!loads)
        ml_text_fmt(&g->below, ", %s a", type);
    if (mask)
        ml_text_fmt(&g->below, ", %s on", mask);
    ml_text_add(&g->below, ")\n{\n");
    access_body(g, form, t, n);
    ml_text_add(&g->below, "}\n\n");
    return full;
}
