/*
 * gen_routine - the routines that stand for instructions of processors: dot products of bytes
 * and of pairs of bfloat16. What is built in as a tensor intrinsic computes on any machine by
 * them. Source: lowering-and-codegen 9.1, 9.2, 9.4.
 */
#include "moonloop/codegen/interp/code.h"

/* ---- reference routines: dot products of bytes */

/* Byte number k of an integer, as an integer. */
static uint32_t byte_of(ml_Gen *g, const ml_Expr *e, uint32_t v, unsigned k, bool is_signed)
{
    v = ml_gen_shifted(g, e, ML_I_SHR, v, 8 * k);
    return is_signed
               ? ml_gen_to(g, e, ML_I_WRAP, 8, v, 0, 0)
               : ml_gen_to(g, e, ML_I_AND, ML_UNSIGNED | 64, v, ml_gen_int(g, 255), 0);
}

/* c + the products of four bytes of a with four of b; sums wrap. */
static uint32_t dot_of_bytes(ml_Gen *g, const ml_Expr *e, const uint32_t abc[3],
                             bool a_signed, bool b_signed)
{
    uint32_t sum = abc[2];

    for (unsigned k = 0; k < 4; k++) {
        uint32_t x = byte_of(g, e, abc[0], k, a_signed),
                 y = byte_of(g, e, abc[1], k, b_signed);

        x = ml_gen_to(g, e, ML_I_MULW, 32, x, y, 0);
        sum = ml_gen_to(g, e, ML_I_ADDW, ml_int_x(ml_dtype_lanes(e->type, 1)), sum, x, 0);
    }
    return sum;
}

/* The same of vectors of bytes, of which each lane of the result takes four. */
static uint32_t dot_of_lanes(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    uint32_t sum = ml_gen_arg(g, e, first, lane);

    for (unsigned k = 4 * lane; k < 4 * lane + 4; k++) {
        uint32_t x = ml_gen_arg(g, e, first + 1, k), y = ml_gen_arg(g, e, first + 2, k);

        x = ml_gen_to(g, e, ML_I_MULW, 32, x, y, 0);
        sum = ml_gen_to(g, e, ML_I_ADDW, ml_int_x(ml_dtype_lanes(e->type, 1)), sum, x, 0);
    }
    return sum;
}

/* ---- reference routines: dot products of pairs of bfloat16 */

/* Denormals become zeros of their sign, as the instruction takes and gives them. */
static uint32_t flushed(ml_Gen *g, const ml_Expr *e, uint32_t v)
{
    unsigned x = ml_gen_rounding(g, ML_DT_F32);
    uint32_t size = ml_gen_to(g, e, ML_I_MATH1, x, v, ML_OP_FABS, 0);
    uint32_t low = ml_gen_to(g, e, ML_I_FLT, 0, size, ml_gen_float(g, 0x1p-126), 0);
    uint32_t zero = ml_gen_to(g, e, ML_I_MUL32, 0, v, ml_gen_float(g, 0), 0);

    return ml_gen_to(g, e, ML_I_SEL, 0, low, zero, v);
}

/* The high (1) or low (0) half of 32 bits, as a float32. */
static uint32_t half_of(ml_Gen *g, const ml_Expr *e, uint32_t v, int which)
{
    v = which ? ml_gen_to(g, e, ML_I_AND, ML_UNSIGNED | 64, v,
                          ml_gen_int(g, INT64_C(0xffff0000)), 0)
              : ml_gen_shifted(g, e, ML_I_SHL, v, 16);
    v = ml_gen_to(g, e, ML_I_WRAP, 32, v, 0, 0);
    return flushed(g, e,
                   ml_gen_to(g, e, ML_I_REINT, 0, v, ml_gen_type(g, ML_DT_I32),
                             ml_gen_type(g, ML_DT_F32)));
}

/* The 32 bits of two bfloat16, whatever the operand is a vector of. */
static uint32_t pair_of(ml_Gen *g, const ml_Expr *e, const ml_Expr *p, unsigned lane)
{
    uint32_t high;

    if (ml_dtype_is_int(p->type))
        return ml_gen_lane(g, p, lane);
    high = ml_gen_shifted(g, e, ML_I_SHL, ml_gen_lane_bits(g, e, p, 2 * lane + 1), 16);
    return ml_gen_to(g, e, ML_I_OR, ML_UNSIGNED | 64, ml_gen_lane_bits(g, e, p, 2 * lane),
                     high, 0);
}

/* vdpbf16ps: c, then the product of the odd elements, then of the even ones is added, each
 * as one fused operation; denormals are zeros throughout. */
static uint32_t dot_of_pairs(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    const ml_Expr *c = e->args[first], *a = e->args[first + 1], *b = e->args[first + 2];
    unsigned x = ml_gen_rounding(g, ML_DT_F32);
    uint32_t sum, pa, pb;

    for (int k = 0; k < 2; k++) {
        ml_Dtype t = k ? b->type : a->type;
        bool whole = ml_dtype_is_int(t) && t.bits == 32 && t.lanes == e->type.lanes;

        if (!whole && !(t.code == ML_BFLOAT && t.lanes == 2 * e->type.lanes))
            return ml_gen_no_call(g, e);
    }
    if (!ml_dtype_eq(c->type, e->type) || e->type.code != ML_FLOAT || e->type.bits != 32)
        return ml_gen_no_call(g, e);
    sum = flushed(g, e, ml_gen_lane(g, c, lane));
    pa = pair_of(g, e, a, lane);
    pb = pair_of(g, e, b, lane);
    for (int k = 1; k >= 0; k--)
        sum = flushed(
            g, e,
            ml_gen_to(g, e, ML_I_FMA, x, half_of(g, e, pa, k), half_of(g, e, pb, k), sum));
    return sum;
}

/* ---- reference routines of ARM: squares of sums, pairs of bfloat16 */

/* Lane 2 i + j of the result: c, and row i of a by row j of b, eight bytes each. */
static uint32_t square_of_bytes(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    uint32_t sum = ml_gen_arg(g, e, first, lane);

    for (unsigned k = 0; k < 8; k++) {
        uint32_t x = ml_gen_arg(g, e, first + 1, lane / 2 * 8 + k),
                 y = ml_gen_arg(g, e, first + 2, lane % 2 * 8 + k);

        x = ml_gen_to(g, e, ML_I_MULW, 32, x, y, 0);
        sum = ml_gen_to(g, e, ML_I_ADDW, ml_int_x(ml_dtype_lanes(e->type, 1)), sum, x, 0);
    }
    return sum;
}

/* sum + a0 b0 + a1 b1 of the elements from x of a and from y of b on: both products exact,
 * their sum in double, one rounding; the instruction rounds the sum of products to odd
 * first. Denormals are zeros. */
static uint32_t add_pair(ml_Gen *g, const ml_Expr *e, size_t first, unsigned x, unsigned y,
                         uint32_t sum)
{
    unsigned wide = ml_gen_rounding(g, ML_DT_F64), single = ml_gen_rounding(g, ML_DT_F32);
    uint32_t pair = ml_gen_float(g, 0);

    for (unsigned k = 0; k < 2; k++)
        pair = ml_gen_to(g, e, ML_I_FMA, wide,
                         flushed(g, e, ml_gen_arg(g, e, first + 1, x + k)),
                         flushed(g, e, ml_gen_arg(g, e, first + 2, y + k)), pair);
    return flushed(g, e, ml_gen_to(g, e, ML_I_FMA, single, pair, ml_gen_float(g, 1), sum));
}

static bool is_f32_of_pairs(const ml_Expr *e, size_t first)
{
    const ml_Expr *c = e->args[first];

    if (!ml_dtype_eq(c->type, e->type) || e->type.code != ML_FLOAT || e->type.bits != 32 ||
        e->type.lanes != 4)
        return false;
    for (size_t k = 1; k < 3; k++) {
        ml_Dtype t = e->args[first + k]->type;

        if (t.code != ML_BFLOAT || t.lanes != 8)
            return false;
    }
    return true;
}

static uint32_t arm_pairs(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane,
                          bool square)
{
    uint32_t sum;

    if (!is_f32_of_pairs(e, first))
        return ml_gen_no_call(g, e);
    sum = flushed(g, e, ml_gen_arg(g, e, first, lane));
    if (!square)
        return add_pair(g, e, first, 2 * lane, 2 * lane, sum);
    for (unsigned k = 0; k < 4; k += 2)
        sum = add_pair(g, e, first, lane / 2 * 4 + k, lane % 2 * 4 + k, sum);
    return sum;
}

/* ---- reference routines of x86's tiles */

enum { TILE_LANES = 256, TILE_BYTES = 1024 };

/* Sum 16 i + j: row i of a by column j of b, whose columns lie in groups of four bytes. */
static uint32_t tile_of_bytes(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    uint32_t sum = ml_gen_arg(g, e, first, lane);

    for (unsigned k = 0; k < 64; k++) {
        uint32_t x = ml_gen_arg(g, e, first + 1, lane / 16 * 64 + k),
                 y = ml_gen_arg(g, e, first + 2, k / 4 * 64 + lane % 16 * 4 + k % 4);

        x = ml_gen_to(g, e, ML_I_MULW, 32, x, y, 0);
        sum = ml_gen_to(g, e, ML_I_ADDW, 32, sum, x, 0);
    }
    return sum;
}

/* The even and the odd products each have a sum of their own, which are added at the end;
 * every operation is rounded to nearest, denormals are zeros. */
static uint32_t tile_of_pairs(ml_Gen *g, const ml_Expr *e, size_t first, unsigned lane)
{
    unsigned x = ml_gen_rounding(g, ML_DT_F32);
    uint32_t sum[2], one = ml_gen_float(g, 1), all;

    for (unsigned half = 0; half < 2; half++) {
        sum[half] = ml_gen_float(g, 0);
        for (unsigned k = 0; k < 16; k++) {
            unsigned a = lane / 16 * 32 + 2 * k + half, b = k * 32 + lane % 16 * 2 + half;

            sum[half] = flushed(
                g, e,
                ml_gen_to(g, e, ML_I_FMA, x, flushed(g, e, ml_gen_arg(g, e, first + 1, a)),
                          flushed(g, e, ml_gen_arg(g, e, first + 2, b)), sum[half]));
        }
    }
    all = flushed(g, e, ml_gen_to(g, e, ML_I_FMA, x, sum[0], one, sum[1]));
    return flushed(g, e,
                   ml_gen_to(g, e, ML_I_FMA, x, all, one,
                             flushed(g, e, ml_gen_arg(g, e, first, lane))));
}

/* Whether a call of tdpbWHATd, of c, a, b, has operands of its types. */
static bool is_tile_call(const ml_Expr *e, size_t first, const char *what)
{
    const ml_Dtype c = e->args[first]->type, a = e->args[first + 1]->type,
                   b = e->args[first + 2]->type;
    bool pairs = *what == 'f';

    if (!ml_dtype_eq(c, e->type) || c.bits != 32 || c.lanes != TILE_LANES ||
        c.code != (pairs ? ML_FLOAT : ML_INT) || a.lanes * a.bits / 8u != TILE_BYTES ||
        b.lanes != a.lanes || b.bits != a.bits)
        return false;
    if (pairs)
        return a.code == ML_BFLOAT && b.code == ML_BFLOAT;
    return a.bits == 8 && a.code == (what[0] == 's' ? ML_INT : ML_UINT) &&
           b.code == (what[1] == 's' ? ML_INT : ML_UINT);
}

static bool is_32_bits(ml_Dtype t)
{
    return ml_dtype_is_int(t) && t.bits == 32;
}

/* The intrinsics that have a reference routine here: c, then a, then b. */
uint32_t ml_gen_llvm_call(ml_Gen *g, const ml_Expr *e, unsigned lane)
{
    static const struct {
        const char *prefix;
        bool a_signed, b_signed;
        bool bytes, square; /* the operands are vectors of bytes; of rows of eight */
    } known[] = {
        {"llvm.x86.avx512.vpdpbusd.", false, true, false, false},
        {"llvm.x86.avx2.vpdpbssd.", true, true, false, false},
        {"llvm.aarch64.neon.sdot.", true, true, true, false},
        {"llvm.aarch64.neon.udot.", false, false, true, false},
        {"llvm.aarch64.neon.usdot.", false, true, true, false},
        {"llvm.aarch64.neon.smmla.", true, true, true, true},
        {"llvm.aarch64.neon.ummla.", false, false, true, true},
        {"llvm.aarch64.neon.usmmla.", false, true, true, true},
    };
    const ml_Expr *name = e->n_args > 0 ? e->args[0] : NULL;
    size_t first = 1, at = 0;

    if (e->n_args > 1 && e->args[1]->kind == ML_EXPR_INT &&
        e->args[1]->type.code == ML_UINT)
        first = 2; /* the number of arguments that the signature names */
    while (name && name->kind == ML_EXPR_STRING && at < ML_COUNT(known) &&
           strncmp(name->as.s, known[at].prefix, strlen(known[at].prefix)) != 0)
        at++;
    if (name && name->kind == ML_EXPR_STRING && e->n_args == first + 3 &&
        strncmp(name->as.s, "llvm.x86.avx512bf16.dpbf16ps.", 29) == 0)
        return dot_of_pairs(g, e, first, lane);
    if (name && name->kind == ML_EXPR_STRING && e->n_args == first + 3 &&
        strncmp(name->as.s, "llvm.aarch64.neon.bf", 20) == 0)
        return arm_pairs(g, e, first, lane, name->as.s[20] == 'm');
    if (name && name->kind == ML_EXPR_STRING && e->n_args == first + 3 &&
        strncmp(name->as.s, "llvm.x86.tdpb", 13) == 0)
        return !is_tile_call(e, first, name->as.s + 13) ? ml_gen_no_call(g, e)
               : name->as.s[13] == 'f'                  ? tile_of_pairs(g, e, first, lane)
                                                        : tile_of_bytes(g, e, first, lane);
    if (!name || name->kind != ML_EXPR_STRING || at == ML_COUNT(known) ||
        e->n_args != first + 3 || !is_32_bits(e->type) ||
        !ml_dtype_eq(e->args[first]->type, e->type))
        return ml_gen_no_call(g, e);
    const ml_Dtype a = e->args[first + 1]->type, b = e->args[first + 2]->type;

    if (known[at].bytes) {
        if (!ml_dtype_is_int(a) || !ml_dtype_is_int(b) || a.bits != 8 || b.bits != 8 ||
            a.lanes != 4 * e->type.lanes || b.lanes != a.lanes ||
            (a.code == ML_INT) != known[at].a_signed ||
            (b.code == ML_INT) != known[at].b_signed)
            return ml_gen_no_call(g, e);
        return known[at].square ? square_of_bytes(g, e, first, lane)
                                : dot_of_lanes(g, e, first, lane);
    }
    if (!ml_dtype_eq(a, e->type) || !ml_dtype_eq(b, e->type))
        return ml_gen_no_call(g, e);
    const uint32_t abc[3] = {ml_gen_arg(g, e, first + 1, lane),
                             ml_gen_arg(g, e, first + 2, lane),
                             ml_gen_arg(g, e, first, lane)};

    return dot_of_bytes(g, e, abc, known[at].a_signed, known[at].b_signed);
}

uint32_t ml_gen_dp4a(ml_Gen *g, const ml_Expr *e)
{
    if (e->n_args != 4 || !is_32_bits(e->type) || e->type.lanes != 1 ||
        !is_32_bits(e->args[1]->type) || !is_32_bits(e->args[2]->type) ||
        !ml_dtype_eq(e->args[3]->type, e->type))
        return ml_gen_no_call(g, e);
    const uint32_t abc[3] = {ml_gen_arg(g, e, 1, 0), ml_gen_arg(g, e, 2, 0),
                             ml_gen_arg(g, e, 3, 0)};

    return dot_of_bytes(g, e, abc, e->args[1]->type.code == ML_INT,
                        e->args[2]->type.code == ML_INT);
}
