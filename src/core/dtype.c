/* dtype - names, ranges, rounding and promotion of element types. One table says for every
 * floating format how it is laid out; rounding is done in double, which holds every value
 * of the narrower formats exactly. Source: ir-and-analysis 1.1, script 10.1. */
#include "moonloop/core/dtype.h"

#include <float.h>
#include <math.h>

/* What happens to a magnitude that rounds above the largest finite value. */
typedef enum Beyond { TO_INF, TO_NAN, TO_MAX } Beyond;

typedef struct FloatFormat {
    const char *name;
    uint8_t code, bits;
    int8_t mantissa; /* stored bits */
    int16_t emin;    /* exponent of the smallest normal number */
    Beyond beyond;
    double max;
} FloatFormat;

static const FloatFormat formats[] = {
    {"float32", ML_FLOAT, 32, 23, -126, TO_INF, 0x1.fffffep127},
    {"float16", ML_FLOAT, 16, 10, -14, TO_INF, 65504},
    {"float64", ML_FLOAT, 64, 52, -1022, TO_INF, DBL_MAX},
    {"bfloat16", ML_BFLOAT, 16, 7, -126, TO_INF, 0x1.fep127},
    {"float8_e4m3fn", ML_F8_E4M3FN, 8, 3, -6, TO_NAN, 448},
    {"float8_e5m2", ML_F8_E5M2, 8, 2, -14, TO_INF, 57344},
    {"float8_e4m3", ML_F8_E4M3, 8, 3, -6, TO_INF, 240},
    {"float8_e3m4", ML_F8_E3M4, 8, 4, -2, TO_INF, 15.5},
    {"float8_e4m3b11fnuz", ML_F8_E4M3B11FNUZ, 8, 3, -10, TO_NAN, 30},
    {"float8_e4m3fnuz", ML_F8_E4M3FNUZ, 8, 3, -7, TO_NAN, 240},
    {"float8_e5m2fnuz", ML_F8_E5M2FNUZ, 8, 2, -15, TO_NAN, 57344},
    {"float8_e8m0fnu", ML_F8_E8M0FNU, 8, 0, -127, TO_NAN, 0x1p127},
    {"float6_e2m3fn", ML_F6_E2M3FN, 6, 3, 0, TO_MAX, 7.5},
    {"float6_e3m2fn", ML_F6_E3M2FN, 6, 2, -2, TO_MAX, 28},
    {"float4_e2m1fn", ML_F4_E2M1FN, 4, 1, 0, TO_MAX, 6},
};

/* The names proposed for a misspelt one, besides the formats. */
static const char *const other_names[] = {
    "int32", "int64",  "int8", "int16", "uint8", "uint16", "uint32", "uint64",
    "bool",  "handle", "void", "int4",  "uint4", "int1",   "uint1",
};

/* Older names of formats; read, not written. */
static const struct {
    const char *name;
    ml_Dtype type;
} old_names[] = {
    {"e4m3_float8", ML_DT(ML_F8_E4M3FN, 8)},
    {"e5m2_float8", ML_DT(ML_F8_E5M2, 8)},
};

static const FloatFormat *format_of(ml_Dtype t)
{
    for (size_t k = 0; k < ML_COUNT(formats); k++)
        if (formats[k].code == t.code && formats[k].bits == t.bits)
            return &formats[k];
    ML_ASSERT(!"a float dtype");
    return NULL;
}

size_t ml_dtype_bytes(ml_Dtype t)
{
    size_t bits = t.code == ML_BOOL ? 8 : t.bits;
    return (bits * t.lanes + 7) / 8;
}

/* ---- names */

void ml_dtype_print(ml_Text *out, ml_Dtype t)
{
    if (t.code == ML_VOID)
        ml_text_add(out, "void");
    else if (t.code == ML_BOOL)
        ml_text_add(out, "bool");
    else if (t.code == ML_HANDLE)
        ml_text_add(out, "handle");
    else if (ml_dtype_is_int(t)) {
        ml_text_add(out, t.code == ML_INT ? "int" : "uint");
        ml_text_int(out, t.bits);
    } else {
        ml_text_add(out, format_of(t)->name);
    }
    if (t.lanes > 1) {
        ml_text_char(out, 'x');
        ml_text_int(out, t.lanes);
    }
}

const char *ml_dtype_name(ml_Ctx *cx, ml_Dtype t)
{
    ml_Text text = {0};
    ml_dtype_print(&text, t);
    const char *name = ml_strdup(cx, (ml_Str){ml_text_z(&text), text.n});
    ml_text_free(&text);
    return name;
}

/* A whole decimal without leading zero, at most `max`. */
static bool parse_count(ml_Str s, unsigned max, unsigned *out)
{
    unsigned v = 0;
    if (s.n == 0 || s.n > 6 || s.p[0] == '0')
        return false;
    for (size_t k = 0; k < s.n; k++) {
        if (s.p[k] < '0' || s.p[k] > '9')
            return false;
        v = v * 10 + (unsigned)(s.p[k] - '0');
    }
    *out = v;
    return v <= max;
}

static bool parse_scalar(ml_Str s, ml_Dtype *out)
{
    unsigned bits;
    if (ml_str_eq(s, ml_str("bool"))) {
        *out = ML_DT_BOOL;
        return true;
    }
    if (ml_str_eq(s, ml_str("handle"))) {
        *out = ML_DT_HANDLE;
        return true;
    }
    for (size_t k = 0; k < ML_COUNT(formats); k++)
        if (ml_str_eq(s, ml_str(formats[k].name))) {
            *out = ML_DT(formats[k].code, formats[k].bits);
            return true;
        }
    for (size_t k = 0; k < ML_COUNT(old_names); k++)
        if (ml_str_eq(s, ml_str(old_names[k].name))) {
            *out = old_names[k].type;
            return true;
        }
    bool is_unsigned = ml_str_begins(s, "uint");
    size_t skip = is_unsigned ? 4 : 3;
    if (!is_unsigned && !ml_str_begins(s, "int"))
        return false;
    if (!parse_count((ml_Str){s.p + skip, s.n - skip}, 64, &bits))
        return false;
    *out = ML_DT(is_unsigned ? ML_UINT : ML_INT, (uint8_t)bits);
    return true;
}

bool ml_dtype_parse(ml_Str s, ml_Dtype *out)
{
    unsigned lanes;

    if (s.n == 0 || ml_str_eq(s, ml_str("void"))) {
        *out = ML_DT_VOID;
        return true;
    }
    if (parse_scalar(s, out))
        return true;
    size_t at = s.n;
    while (at > 0 && s.p[at - 1] != 'x')
        at--;
    if (at == 0 || !parse_count((ml_Str){s.p + at, s.n - at}, UINT16_MAX, &lanes) ||
        lanes < 2)
        return false;
    if (!parse_scalar((ml_Str){s.p, at - 1}, out))
        return false;
    *out = ml_dtype_lanes(*out, lanes);
    return true;
}

enum { LONGEST = 32 };

/* Edit distance; both at most LONGEST long. */
static unsigned distance(ml_Str a, ml_Str b)
{
    unsigned row[LONGEST + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            unsigned best = diagonal + (a.p[i - 1] != b.p[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.n];
}

static void nearer(ml_Str s, const char *name, const char **best, unsigned *least)
{
    unsigned d = distance(s, ml_str(name));
    if (d < *least) {
        *least = d;
        *best = name;
    }
}

const char *ml_dtype_nearest(ml_Str s)
{
    const char *best = NULL;
    unsigned least = 3;

    if (s.n > LONGEST)
        return NULL;
    for (size_t k = 0; k < ML_COUNT(formats); k++)
        nearer(s, formats[k].name, &best, &least);
    for (size_t k = 0; k < ML_COUNT(other_names); k++)
        nearer(s, other_names[k], &best, &least);
    return best;
}

/* ---- ranges */

int64_t ml_dtype_min(ml_Dtype t)
{
    if (t.code != ML_INT)
        return 0;
    return t.bits >= 64 ? INT64_MIN : -((int64_t)1 << (t.bits - 1));
}

int64_t ml_dtype_max(ml_Dtype t)
{
    if (t.code == ML_BOOL)
        return 1;
    unsigned bits = t.code == ML_INT ? t.bits - 1u : t.bits;
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

double ml_dtype_fmax(ml_Dtype t)
{
    return format_of(t)->max;
}

double ml_dtype_flowest(ml_Dtype t)
{
    return t.code == ML_F8_E8M0FNU ? 0x1p-127 : -format_of(t)->max;
}

int64_t ml_dtype_wrap(ml_Dtype t, int64_t v)
{
    if (t.code == ML_BOOL)
        return v != 0;
    if (t.bits >= 64)
        return v;
    uint64_t mask = ((uint64_t)1 << t.bits) - 1;
    uint64_t u = (uint64_t)v & mask;
    if (t.code == ML_INT && (u >> (t.bits - 1)) != 0)
        u |= ~mask;
    return (int64_t)u;
}

bool ml_dtype_fits(ml_Dtype t, int64_t v)
{
    return v >= ml_dtype_min(t) && v <= ml_dtype_max(t);
}

/* A power of two without sign or zero: what is too small becomes the least, what is not
 * positive has no value. */
static double round_e8m0(double v)
{
    if (!(v >= 0))
        return (double)NAN;
    if (v <= 0x1p-127)
        return 0x1p-127;
    if (v > 0x1.8p127) /* half way to 2^128, whose place holds NaN */
        return (double)NAN;
    int e = ilogb(v);
    double low = ldexp(1, e);
    double r = v / low; /* in [1, 2) */
    /* The significand is always 1.0, so that of a tie the even one is that whose stored
     * exponent is even. */
    bool up = r > 1.5 || (r == 1.5 && (e + 127) % 2 != 0);
    return up && e < 127 ? low * 2 : low;
}

double ml_dtype_round(ml_Dtype t, double v)
{
    const FloatFormat *f = format_of(t);

    if (f->bits == 64)
        return v;
    if (f->bits == 32)
        return (double)(float)v;
    if (t.code == ML_F8_E8M0FNU)
        return round_e8m0(v);
    if (isnan(v))
        return f->beyond == TO_MAX ? f->max
                                   : v; /* the OCP formats below 8 bits have no NaN */
    double r = v;
    if (!isinf(v)) {
        int e = v == 0 ? f->emin : ilogb(v);
        int quantum = (e < f->emin ? f->emin : e) - f->mantissa;
        r = ldexp(nearbyint(ldexp(v, -quantum)), quantum);
    }
    if (fabs(r) > f->max) {
        if (f->beyond == TO_NAN)
            return (double)NAN;
        r = copysign(f->beyond == TO_INF ? (double)INFINITY : f->max, v);
    }
    /* fnuz formats keep NaN in the place of -0. */
    bool one_zero =
        t.code == ML_F8_E4M3B11FNUZ || t.code == ML_F8_E4M3FNUZ || t.code == ML_F8_E5M2FNUZ;
    return one_zero && r == 0 ? 0.0 : r;
}

/* ---- promotion */

static bool is_f8(ml_Dtype t)
{
    return t.code >= ML_F8_E4M3FN && t.code <= ML_F8_E8M0FNU;
}

static bool is_f6(ml_Dtype t)
{
    return t.code == ML_F6_E2M3FN || t.code == ML_F6_E3M2FN;
}

/* The place of a family in "this one wins over all that follow". */
static int family(ml_Dtype t)
{
    if (t.code == ML_FLOAT)
        return 0;
    if (t.code == ML_BFLOAT)
        return 1;
    if (is_f8(t))
        return 2;
    if (is_f6(t))
        return 3;
    return t.code == ML_F4_E2M1FN ? 4 : 5;
}

static bool is_value(ml_Dtype t)
{
    return t.code != ML_HANDLE && t.code != ML_VOID;
}

bool ml_dtype_promote(ml_Dtype a, ml_Dtype b, ml_Dtype *out)
{
    if (ml_dtype_eq(a, b)) {
        *out = a;
        return true;
    }
    if (!is_value(a) || !is_value(b))
        return false;
    if (a.lanes != b.lanes && a.lanes != 1 && b.lanes != 1)
        return false;
    unsigned lanes = a.lanes > b.lanes ? a.lanes : b.lanes;
    ml_Dtype best;
    if (a.code == b.code && a.bits == b.bits)
        best = a;
    else if (family(a) != family(b))
        best = family(a) < family(b) ? a : b;
    else if (a.code == ML_FLOAT)
        best = a.bits >= b.bits ? a : b;
    else if (family(a) != 5)
        return false; /* two different formats of eight (six) bits */
    else if (a.code == ML_BOOL || b.code == ML_BOOL)
        best = a.code == ML_BOOL ? b : a;
    else if (a.bits != b.bits)
        best = a.bits > b.bits ? a : b;
    else
        best = a.code == ML_UINT ? a : b;
    *out = ml_dtype_lanes(best, lanes);
    return true;
}

bool ml_dtype_has_name(ml_Dtype t)
{
    if (t.lanes > 64)
        return false;
    switch ((ml_Code)t.code) {
    case ML_INT:
    case ML_UINT: return t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
    case ML_VOID: return false;
    case ML_HANDLE: return t.lanes == 1;
    case ML_BOOL:
    case ML_FLOAT:
    case ML_BFLOAT:
    case ML_F8_E4M3FN:
    case ML_F8_E5M2:
    case ML_F8_E4M3:
    case ML_F8_E3M4:
    case ML_F8_E4M3B11FNUZ:
    case ML_F8_E4M3FNUZ:
    case ML_F8_E5M2FNUZ:
    case ML_F8_E8M0FNU:
    case ML_F6_E2M3FN:
    case ML_F6_E3M2FN:
    case ML_F4_E2M1FN: return true;
    }
    return false;
}
