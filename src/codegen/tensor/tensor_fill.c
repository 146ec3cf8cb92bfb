/*
 * tensor_fill - the argument generators of workloads 9.
 *
 * A stream is xoshiro256**, seeded by splitmix64 from a 64-bit FNV-1a hash of (id,
 * position, seed). Blocks of 2^16 lanes start from states that are a jump (2^128 steps)
 * apart, so that a block may be filled by any thread with the same result. (xoshiro:
 * Blackman, Vigna 2018.)
 */
#include "moonloop/codegen/tensor/tensor.h"

#include <math.h>

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t ml_random_next(ml_Random *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

void ml_random_jump(ml_Random *r)
{
    static const uint64_t jump[] = {
        UINT64_C(0x180ec6d33cfd0aba), UINT64_C(0xd5a61266f0c9392c),
        UINT64_C(0xa9582618e03fc9aa), UINT64_C(0x39abdc4529b1661c)};
    uint64_t s[4] = {0, 0, 0, 0};

    for (size_t i = 0; i < ML_COUNT(jump); i++)
        for (int b = 0; b < 64; b++) {
            if (jump[i] & (UINT64_C(1) << b))
                for (int k = 0; k < 4; k++)
                    s[k] ^= r->s[k];
            (void)ml_random_next(r);
        }
    memcpy(r->s, s, sizeof s);
}

ml_Random ml_random(const char *id, uint32_t position, uint64_t seed)
{
    uint64_t h = ml_fnv(ML_FNV, id, strlen(id));
    uint64_t words[2] = {position, seed};
    ml_Random r;

    for (size_t w = 0; w < 2; w++)
        for (int b = 0; b < 64; b += 8)
            h = (h ^ ((words[w] >> b) & 0xff)) * UINT64_C(0x100000001b3);
    for (size_t k = 0; k < 4; k++) { /* splitmix64 */
        uint64_t z = (h += UINT64_C(0x9e3779b97f4a7c15));
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        r.s[k] = z ^ (z >> 31);
    }
    return r;
}

uint64_t ml_random_below(ml_Random *r, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n; /* a multiple of n */
    uint64_t x;

    ML_ASSERT(n > 0);
    do
        x = ml_random_next(r);
    while (x >= limit);
    return x % n;
}

/* log2 of the grid on which random floats of the type lie, for the range [-1, 1). */
static int grid_bits(ml_Dtype t)
{
    switch ((ml_Code)t.code) {
    case ML_FLOAT: return t.bits == 16 ? 11 : 24;
    case ML_BFLOAT: return 8;
    case ML_F8_E4M3FN:
    case ML_F8_E4M3:
    case ML_F8_E4M3B11FNUZ:
    case ML_F8_E4M3FNUZ:
    case ML_F8_E3M4: return 3;
    case ML_F8_E5M2:
    case ML_F8_E5M2FNUZ:
    case ML_F6_E2M3FN:
    case ML_F6_E3M2FN: return 2;
    case ML_F4_E2M1FN:
    case ML_F8_E8M0FNU: return 1;
    case ML_BOOL:
    case ML_INT:
    case ML_UINT:
    case ML_HANDLE:
    case ML_VOID: return 0;
    }
    return 0;
}

/* Integers of a range that was asked for lie in [lo, hi). */
static void random_lane(ml_Tensor *t, int64_t k, ml_Random *r, double lo, double hi,
                        bool asked)
{
    ml_Dtype ty = t->type;

    if (ml_dtype_is_float(ty)) {
        int g = grid_bits(ty);
        double u = ldexp((double)(ml_random_next(r) >> (63 - g)), -(g + 1));
        if (ty.code == ML_F8_E8M0FNU) /* powers of two only */
            ml_tensor_set(t, k, ldexp(1.0, -(int)(u * 4.0)));
        else
            ml_tensor_set(t, k, lo + u * (hi - lo));
    } else if (ml_dtype_is_bool(ty)) {
        ml_tensor_set_int(t, k, (int64_t)(ml_random_next(r) >> 63));
    } else if (asked && hi > lo && lo >= -0x1p62 && hi <= 0x1p62) {
        uint64_t n = (uint64_t)((int64_t)hi - (int64_t)lo);

        ml_tensor_set_int(t, k, (int64_t)lo + (int64_t)ml_random_below(r, n ? n : 1));
    } else if (ty.bits <= 16) { /* the full range */
        ml_tensor_set_int(t, k, (int64_t)(ml_random_next(r) >> (64 - ty.bits)));
    } else {
        int64_t v = (int64_t)(ml_random_next(r) >> 48);
        ml_tensor_set_int(t, k, ty.code == ML_UINT ? v >> 1 : v - 32768);
    }
}

static void iota_lane(ml_Tensor *t, int64_t k)
{
    ml_Dtype ty = t->type;

    if (ml_dtype_is_float(ty)) {
        int g = grid_bits(ty);
        if (ty.code == ML_F8_E8M0FNU)
            ml_tensor_set(t, k, ldexp(1.0, (int)(k % 4)));
        else
            ml_tensor_set(t, k, (double)(k % (INT64_C(1) << (g > 20 ? 20 : g))));
    } else {
        ml_tensor_set_int(t, k, ml_dtype_is_bool(ty) ? k & 1 : k);
    }
}

/* Floats stay small and exact, so that the order of a sum cannot matter. */
static void adversarial_lane(ml_Tensor *t, int64_t k, ml_Random *r)
{
    static const double floats[] = {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5};
    ml_Dtype ty = ml_dtype_lanes(t->type, 1);

    if (ml_dtype_is_float(ty)) {
        double v = floats[ml_random_below(r, ML_COUNT(floats))];
        ml_tensor_set(t, k, ty.code == ML_F8_E8M0FNU && !(v > 0.0) ? 1.0 : v);
    } else if (ml_dtype_is_bool(ty)) {
        ml_tensor_set_int(t, k, (int64_t)ml_random_below(r, 2));
    } else {
        int64_t ints[] = {ml_dtype_min(ty), ml_dtype_max(ty), 0, 1, -1, 2};
        ml_tensor_set_int(t, k, ints[ml_random_below(r, ML_COUNT(ints))]);
    }
}

void ml_tensor_fill(ml_Tensor *t, ml_Fill how, const char *id, uint32_t position,
                    uint64_t seed, double lo, double hi)
{
    ml_Random start = ml_random(id, position, seed);
    ml_Random r = start;
    bool asked = lo != 0.0 || hi != 0.0;

    if (!asked) {
        lo = -1.0;
        hi = 1.0;
    }
    if (how == ML_FILL_POISON && !ml_dtype_is_float(t->type)) {
        memset(t->data, ml_dtype_is_bool(t->type) ? 1 : 0x5A, t->bytes);
        return; /* a bool must be 0 or 1 */
    }
    for (int64_t k = 0; k < t->n_lanes; k++) {
        if (k > 0 && (k & 0xffff) == 0) {
            ml_random_jump(&start);
            r = start;
        }
        switch (how) {
        case ML_FILL_RANDOM: random_lane(t, k, &r, lo, hi, asked); break;
        case ML_FILL_ZEROS: ml_tensor_set(t, k, 0.0); break;
        case ML_FILL_ONES: ml_tensor_set(t, k, 1.0); break;
        case ML_FILL_IOTA: iota_lane(t, k); break;
        case ML_FILL_ADVERSARIAL: adversarial_lane(t, k, &r); break;
        case ML_FILL_TERNARY:
            ml_tensor_set(t, k, (double)ml_random_below(&r, 3) - 1.0);
            break;
        case ML_FILL_POISON: ml_tensor_set(t, k, (double)NAN); break;
        case ML_FILLS: break;
        }
    }
}

bool ml_fill_parse(ml_Str s, ml_Fill *out)
{
    static const char *const names[ML_FILLS] = {"random",      "zeros",   "ones",  "iota",
                                                "adversarial", "ternary", "poison"};

    for (size_t k = 0; k < ML_FILLS; k++)
        if (ml_str_eq(s, ml_str(names[k]))) {
            *out = (ml_Fill)k;
            return true;
        }
    return false;
}

/* ---------------------------------------------------------------- comparing */

ml_Comparison ml_tensor_compare(const ml_Tensor *ref, const ml_Tensor *got,
                                ml_Tolerance tol)
{
    ml_Comparison c = {.largest_at = -1, .first = -1};
    bool flt = ml_dtype_is_float(ref->type);

    ML_ASSERT(ml_dtype_eq(ref->type, got->type) && ref->n_lanes == got->n_lanes);
    for (int64_t k = 0; k < ref->n_lanes; k++) {
        double diff;
        bool out;
        if (!flt) {
            int64_t x = ml_tensor_get_int(ref, k), y = ml_tensor_get_int(got, k);
            diff = x == y ? 0.0 : fabs(ml_tensor_get(ref, k) - ml_tensor_get(got, k));
            out = x != y && (tol.exact || !(diff <= tol.steps));
        } else {
            double x = ml_tensor_get(ref, k), y = ml_tensor_get(got, k);
            if (isnan(x) || isnan(y)) {
                out = !(isnan(x) && isnan(y));
                diff = out ? (double)INFINITY : 0.0;
            } else if (x == y) {
                out = tol.exact && signbit(x) != signbit(y);
                diff = 0.0;
            } else {
                diff = fabs(x - y);
                out = tol.exact || !(diff <= tol.atol + tol.rtol * fabs(x));
                if (isinf(x) || isinf(y))
                    out = true;
            }
        }
        if (out && c.outside++ == 0)
            c.first = k;
        if (diff > c.largest || (out && c.largest_at < 0)) {
            c.largest = diff;
            c.largest_at = k;
        }
    }
    return c;
}

double ml_tensor_largest(const ml_Tensor *t)
{
    double most = 0;

    for (int64_t k = 0; k < t->n_lanes; k++) {
        double v = fabs(ml_tensor_get(t, k));

        if (isfinite(v) && v > most)
            most = v;
    }
    return most;
}
