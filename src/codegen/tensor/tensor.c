/*
 * tensor - allocation, elements and the bit formats of the float types.
 *
 * Every float format narrower than 32 bits is described by a row (exponent bits, mantissa
 * bits, bias, what its top codes mean); encoding rounds by ml_dtype_round first, so that a
 * value is rounded in one place only. Source: ir-and-analysis 1.1, lowering-and-codegen 6.
 */
#include "moonloop/codegen/tensor/tensor.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- float formats */

typedef enum TopCode {
    TOP_IEEE, /* all-ones exponent: infinity and NaN */
    TOP_FN,   /* only all ones in exponent and mantissa is NaN */
    TOP_FNUZ, /* only minus zero is NaN */
    TOP_NONE, /* neither infinity nor NaN */
} TopCode;

typedef struct Format {
    uint8_t exp_bits, man_bits;
    int16_t bias;
    uint8_t top; /* a TopCode */
} Format;

static bool format_of(ml_Dtype t, Format *out)
{
    switch ((ml_Code)t.code) {
    case ML_FLOAT: *out = (Format){5, 10, 15, TOP_IEEE}; return t.bits == 16;
    case ML_BFLOAT: *out = (Format){8, 7, 127, TOP_IEEE}; return t.bits == 16;
    case ML_F8_E4M3FN: *out = (Format){4, 3, 7, TOP_FN}; return true;
    case ML_F8_E5M2: *out = (Format){5, 2, 15, TOP_IEEE}; return true;
    case ML_F8_E4M3: *out = (Format){4, 3, 7, TOP_IEEE}; return true;
    case ML_F8_E3M4: *out = (Format){3, 4, 3, TOP_IEEE}; return true;
    case ML_F8_E4M3B11FNUZ: *out = (Format){4, 3, 11, TOP_FNUZ}; return true;
    case ML_F8_E4M3FNUZ: *out = (Format){4, 3, 8, TOP_FNUZ}; return true;
    case ML_F8_E5M2FNUZ: *out = (Format){5, 2, 16, TOP_FNUZ}; return true;
    case ML_F6_E2M3FN: *out = (Format){2, 3, 1, TOP_NONE}; return true;
    case ML_F6_E3M2FN: *out = (Format){3, 2, 3, TOP_NONE}; return true;
    case ML_F4_E2M1FN: *out = (Format){2, 1, 1, TOP_NONE}; return true;
    case ML_F8_E8M0FNU:
    case ML_BOOL:
    case ML_INT:
    case ML_UINT:
    case ML_HANDLE:
    case ML_VOID: return false;
    }
    return false;
}

static uint64_t nan_bits(Format f)
{
    uint64_t sign = UINT64_C(1) << (f.exp_bits + f.man_bits);
    uint64_t exps = ((UINT64_C(1) << f.exp_bits) - 1) << f.man_bits;

    switch ((TopCode)f.top) {
    case TOP_IEEE: return exps | (UINT64_C(1) << (f.man_bits - 1));
    case TOP_FN: return sign - 1;
    case TOP_FNUZ: return sign;
    case TOP_NONE: return 0;
    }
    return 0;
}

/* v is a value of the format. */
static uint64_t encode(Format f, double v)
{
    uint64_t sign = signbit(v) ? UINT64_C(1) << (f.exp_bits + f.man_bits) : 0;
    uint64_t exps = ((UINT64_C(1) << f.exp_bits) - 1) << f.man_bits;
    uint64_t u, man;
    int e;

    if (isnan(v))
        return nan_bits(f);
    if (isinf(v))
        return f.top == TOP_IEEE ? sign | exps : nan_bits(f);
    if (v == 0.0)
        return f.top == TOP_FNUZ ? 0 : sign;
    memcpy(&u, &v, sizeof u);
    e = (int)((u >> 52) & 0x7ff) - 1023 + f.bias;
    if (e < 1) /* subnormal */
        return sign | (uint64_t)ldexp(fabs(v), f.bias - 1 + f.man_bits);
    man = (u & ((UINT64_C(1) << 52) - 1)) >> (52 - f.man_bits);
    return sign | ((uint64_t)e << f.man_bits) | man;
}

static double decode(Format f, uint64_t bits)
{
    uint64_t man = bits & ((UINT64_C(1) << f.man_bits) - 1);
    int top = (1 << f.exp_bits) - 1;
    int exp = (int)((bits >> f.man_bits) & (uint64_t)top);
    bool neg = (bits >> (f.man_bits + f.exp_bits)) & 1;
    uint64_t u;
    double v;

    if (f.top == TOP_IEEE && exp == top)
        return man ? (double)NAN : neg ? -(double)INFINITY : (double)INFINITY;
    if (f.top == TOP_FN && exp == top && man == (UINT64_C(1) << f.man_bits) - 1)
        return (double)NAN;
    if (f.top == TOP_FNUZ && neg && exp == 0 && man == 0)
        return (double)NAN;
    if (exp == 0) {
        v = ldexp((double)man, 1 - f.bias - f.man_bits);
        return neg ? -v : v;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): 64 bits hold it */
    u = (uint64_t)neg << 63 | (uint64_t)(exp - f.bias + 1023) << 52 |
        man << (52 - f.man_bits);
    memcpy(&v, &u, sizeof v);
    return v;
}

uint64_t ml_float_bits(ml_Dtype t, double v)
{
    t.lanes = 1;
    return ml_float_bits_of(t, t.bits >= 32 ? v : ml_dtype_round(t, v));
}

uint64_t ml_float_bits_of(ml_Dtype t, double v)
{
    Format f;

    if (t.code == ML_FLOAT && t.bits == 64) {
        uint64_t u;
        if (isnan(v))
            return UINT64_C(0x7ff8000000000000);
        memcpy(&u, &v, sizeof u);
        return u;
    }
    if (t.code == ML_FLOAT && t.bits == 32) {
        float g = (float)v;
        uint32_t u;
        if (isnan(v))
            return UINT32_C(0x7fc00000);
        memcpy(&u, &g, sizeof u);
        return u;
    }
    if (t.code == ML_F8_E8M0FNU) {
        int e;
        if (!(v > 0.0) || isinf(v))
            return 0xff;
        (void)frexp(v, &e);
        return (uint64_t)(e - 1 + 127) & 0xff;
    }
    if (!format_of(t, &f))
        return 0;
    return encode(f, v);
}

double ml_float_value(ml_Dtype t, uint64_t bits)
{
    Format f;

    if (t.code == ML_FLOAT && t.bits == 64) {
        double d;
        memcpy(&d, &bits, sizeof d);
        return d;
    }
    if (t.code == ML_FLOAT && t.bits == 32) {
        uint32_t u = (uint32_t)bits;
        float g;
        memcpy(&g, &u, sizeof g);
        return (double)g;
    }
    if (t.code == ML_F8_E8M0FNU)
        return (bits & 0xff) == 0xff ? (double)NAN : ldexp(1.0, (int)(bits & 0xff) - 127);
    return format_of(t, &f) ? decode(f, bits) : 0.0;
}

/* ---------------------------------------------------------------- allocation */

size_t ml_lane_bytes(ml_Dtype t)
{
    Format f;

    switch ((ml_Code)t.code) {
    case ML_BOOL: return 1;
    case ML_INT:
    case ML_UINT:
        if (t.bits == 0 || t.bits > 64)
            return 0;
        return t.bits <= 8 ? 1 : t.bits <= 16 ? 2 : t.bits <= 32 ? 4 : 8;
    case ML_FLOAT:
    case ML_BFLOAT:
    case ML_F8_E4M3FN:
    case ML_F8_E5M2:
    case ML_F8_E4M3:
    case ML_F8_E3M4:
    case ML_F8_E4M3B11FNUZ:
    case ML_F8_E4M3FNUZ:
    case ML_F8_E5M2FNUZ:
    case ML_F6_E2M3FN:
    case ML_F6_E3M2FN:
    case ML_F4_E2M1FN:
        if (t.code == ML_FLOAT && (t.bits == 32 || t.bits == 64))
            return t.bits / 8u;
        if (!format_of(t, &f))
            return 0;
        return t.bits == 16 ? 2 : 1;
    case ML_F8_E8M0FNU: return 1;
    case ML_HANDLE:
    case ML_VOID: return 0;
    }
    return 0;
}

static const uint8_t canary = 0xC5;

ml_Tensor *ml_tensor_new(ml_Ctx *cx, ml_Dtype type, const int64_t *shape, size_t rank)
{
    size_t lane = type.lanes ? ml_lane_bytes(type) : 0;
    int64_t n = 1;
    int64_t lanes, bytes;
    ml_Tensor *t;
    void *block = NULL;

    if (lane == 0) {
        ml_fail(cx, ML_E_NOT_SUPPORTED, ML_TEXT("a tensor of this dtype"), ML_DTYPE(type));
        return NULL;
    }
    for (size_t d = 0; d < rank; d++) {
        if (shape[d] < 0) {
            ml_fail(cx, ML_E_BAD_RUN_ARGUMENT, ML_TEXT("a tensor has a negative extent"),
                    ML_NUMBER("extent", shape[d]));
            return NULL;
        }
        if (__builtin_mul_overflow(n, shape[d], &n))
            n = INT64_MAX;
    }
    if (__builtin_mul_overflow(n, (int64_t)type.lanes, &lanes) ||
        __builtin_mul_overflow(lanes, (int64_t)lane, &bytes) ||
        bytes > (INT64_C(1) << 46)) {
        ml_fail(cx, ML_E_TOO_LARGE, ML_TEXT("a tensor does not fit the memory"));
        return NULL;
    }
    if (ml_ctx_limit(cx) > 0 && (uint64_t)bytes > ml_ctx_limit(cx)) {
        ml_fail(cx, ML_E_OUT_OF_MEMORY, ML_NUMBER("limit", (int64_t)ml_ctx_limit(cx)));
        return NULL;
    }
    t = calloc(1, sizeof *t + rank * sizeof(int64_t));
    if (t == NULL ||
        posix_memalign(&block, 64,
                       ((size_t)bytes + 63) / 64 * 64 + (size_t)2 * ML_GUARD_BYTES) != 0) {
        free(t);
        ml_fail(cx, ML_E_TOO_LARGE, ML_TEXT("no memory for a tensor"),
                ML_NUMBER("bytes", bytes));
        return NULL;
    }
    *t = (ml_Tensor){.type = type,
                     .rank = (uint32_t)rank,
                     .shape = (int64_t *)(void *)(t + 1),
                     .n = n,
                     .n_lanes = lanes,
                     .lane = lane,
                     .bytes = (size_t)bytes,
                     .data = (uint8_t *)block + ML_GUARD_BYTES,
                     .block = block};
    if (rank)
        memcpy(t->shape, shape, rank * sizeof *shape);
    memset(block, canary, ML_GUARD_BYTES);
    memset(t->data, 0, t->bytes);
    memset((uint8_t *)t->data + t->bytes, canary, ML_GUARD_BYTES);
    return t;
}

ml_Tensor *ml_tensor_copy(ml_Ctx *cx, const ml_Tensor *t)
{
    ml_Tensor *c = ml_tensor_new(cx, t->type, t->shape, t->rank);

    if (c == NULL)
        return NULL;
    memcpy(c->data, t->data, t->bytes);
    if (t->defined) {
        if (!ml_tensor_track(cx, c, 0)) {
            ml_tensor_free(c);
            return NULL;
        }
        memcpy(c->defined, t->defined, (size_t)t->n_lanes);
    }
    return c;
}

void ml_tensor_free(ml_Tensor *t)
{
    if (t == NULL)
        return;
    free(t->defined);
    free(t->block);
    free(t);
}

bool ml_tensor_track(ml_Ctx *cx, ml_Tensor *t, uint8_t state)
{
    if (t->defined == NULL)
        t->defined = malloc((size_t)t->n_lanes + 1);
    if (t->defined == NULL)
        return ml_fail(cx, ML_E_TOO_LARGE, ML_TEXT("no memory to track a tensor"));
    memset(t->defined, state, (size_t)t->n_lanes);
    return true;
}

bool ml_tensor_guards_intact(const ml_Tensor *t)
{
    const uint8_t *before = t->block;
    const uint8_t *after = (const uint8_t *)t->data + t->bytes;

    for (size_t k = 0; k < ML_GUARD_BYTES; k++)
        if (before[k] != canary || after[k] != canary)
            return false;
    return true;
}

/* ---------------------------------------------------------------- elements */

static uint64_t get_bits(const ml_Tensor *t, int64_t k)
{
    const uint8_t *p = (const uint8_t *)t->data + (size_t)k * t->lane;
    uint64_t u = 0;
    uint16_t h;
    uint32_t w;

    if (t->lane == 1)
        return *p;
    if (t->lane == 2) {
        memcpy(&h, p, 2);
        return h;
    }
    if (t->lane == 4) {
        memcpy(&w, p, 4);
        return w;
    }
    memcpy(&u, p, 8);
    return u;
}

static void set_bits(ml_Tensor *t, int64_t k, uint64_t u)
{
    uint8_t *p = (uint8_t *)t->data + (size_t)k * t->lane;
    uint16_t h = (uint16_t)u;
    uint32_t w = (uint32_t)u;

    if (t->lane == 1)
        *p = (uint8_t)u;
    else if (t->lane == 2)
        memcpy(p, &h, 2);
    else if (t->lane == 4)
        memcpy(p, &w, 4);
    else
        memcpy(p, &u, 8);
}

static ml_Dtype lane_type(const ml_Tensor *t)
{
    return ml_dtype_lanes(t->type, 1);
}

int64_t ml_tensor_get_int(const ml_Tensor *t, int64_t k)
{
    double v;

    ML_ASSERT(k >= 0 && k < t->n_lanes);
    if (!ml_dtype_is_float(t->type))
        return ml_dtype_wrap(lane_type(t), (int64_t)get_bits(t, k));
    v = ml_tensor_get(t, k);
    if (isnan(v))
        return 0;
    return v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
}

double ml_tensor_get(const ml_Tensor *t, int64_t k)
{
    int64_t i;

    ML_ASSERT(k >= 0 && k < t->n_lanes);
    if (ml_dtype_is_float(t->type))
        return ml_float_value(lane_type(t), get_bits(t, k));
    i = ml_tensor_get_int(t, k);
    return t->type.code == ML_UINT && t->type.bits == 64 ? (double)(uint64_t)i : (double)i;
}

void ml_tensor_set_int(ml_Tensor *t, int64_t k, int64_t v)
{
    ML_ASSERT(k >= 0 && k < t->n_lanes);
    if (ml_dtype_is_float(t->type))
        set_bits(t, k, ml_float_bits(lane_type(t), (double)v));
    else if (ml_dtype_is_bool(t->type))
        set_bits(t, k, v != 0);
    else
        set_bits(t, k, (uint64_t)ml_dtype_wrap(lane_type(t), v));
}

void ml_tensor_set(ml_Tensor *t, int64_t k, double v)
{
    ML_ASSERT(k >= 0 && k < t->n_lanes);
    if (ml_dtype_is_float(t->type))
        set_bits(t, k, ml_float_bits(lane_type(t), v));
    else if (ml_dtype_is_bool(t->type))
        set_bits(t, k, v != 0.0);
    else if (isnan(v))
        set_bits(t, k, 0);
    else if (v >= 0x1p63)
        ml_tensor_set_int(t, k, v < 0x1p64 ? (int64_t)(uint64_t)v : INT64_MAX);
    else
        ml_tensor_set_int(t, k, v < -0x1p63 ? INT64_MIN : (int64_t)v);
}

void ml_tensor_place(ml_Text *out, const ml_Tensor *t, int64_t lane)
{
    int64_t e = t->type.lanes ? lane / t->type.lanes : lane;
    int64_t size = t->n;

    ml_text_char(out, '[');
    for (uint32_t d = 0; d < t->rank; d++) {
        size = t->shape[d] ? size / t->shape[d] : 1;
        ml_text_fmt(out, "%s%lld", d ? ", " : "", (long long)(size ? e / size : 0));
        e = size ? e % size : 0;
    }
    ml_text_char(out, ']');
    if (t->type.lanes > 1)
        ml_text_fmt(out, " lane %lld", (long long)(lane % t->type.lanes));
}
