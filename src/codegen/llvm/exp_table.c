/*
 * exp_table - exp, exp2 and erf of float32 where vectors hold a table (AVX-512).
 *
 * 2^x = 2^n 2^(j/16) e^r: one register holds the sixteen powers rounded, another what the
 * rounding lost, so that a cubic in r suffices; the sum with 1.5 2^19 leaves j in the low
 * bits, where the permutation reads it, and vscalefps rounds subnormals once. 13
 * instructions a vector instead of 27, 0.79 ulp. Source: tables after Tang (1989), ranges of
 * lowering-and-codegen 7.8.
 */
#include "moonloop/codegen/llvm/emit.h"

enum { WIDE = 16 }; /* lanes, and entries of the table */

static LLVMValueRef real(ml_Cg *g, double v)
{
    return ml_cg_real(g, g->f32, WIDE, v);
}

static LLVMValueRef fma_(ml_Cg *g, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef v[3] = {a, b, c};
    LLVMTypeRef t = L(TypeOf)(a);

    return ml_cg_intrinsic(g, "llvm.fma", &t, 1, v, 3);
}

/* table[index % 16], lane by lane. */
static LLVMValueRef look_up(ml_Cg *g, const double *table, LLVMValueRef index)
{
    LLVMValueRef entries[WIDE], v[2];

    for (unsigned k = 0; k < WIDE; k++)
        entries[k] = ml_cg_real(g, g->f32, 0, table[k]);
    v[0] = L(ConstVector)(entries, WIDE);
    v[1] = index;
    return ml_cg_intrinsic(g, "llvm.x86.avx512.permvar.sf.512", NULL, 0, v, 2);
}

/* v 2^floor(n), 0 where x is below `least`; NaN is not. */
static LLVMValueRef scale(ml_Cg *g, LLVMValueRef v, LLVMValueRef n, LLVMValueRef x,
                          double least)
{
    LLVMValueRef c = L(BuildFCmp)(g->b, LLVMRealUGE, x, real(g, least), ""), args[5];

    args[0] = v;
    args[1] = n;
    args[2] = real(g, 0.0);
    args[3] = L(BuildBitCast)(g->b, c, g->i16, "");
    args[4] = ml_cg_int(g, g->i32, 0, 4); /* the rounding of the thread */
    return ml_cg_intrinsic(g, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0, args, 5);
}

static LLVMValueRef sixteen(ml_Cg *g, LLVMValueRef x, bool two)
{
    static const double power[WIDE] = {
        0x1p+0,        0x1.0b5586p+0, 0x1.172b84p+0, 0x1.2387a6p+0,
        0x1.306fep+0,  0x1.3dea64p+0, 0x1.4bfdaep+0, 0x1.5ab07ep+0,
        0x1.6a09e6p+0, 0x1.7a1148p+0, 0x1.8ace54p+0, 0x1.9c4918p+0,
        0x1.ae89fap+0, 0x1.c199bep+0, 0x1.d5818ep+0, 0x1.ea4afap+0};
    static const double lost[WIDE] = {
        0x0p+0,          0x1.9f3122p-25,  -0x1.c15742p-27, 0x1.ceac48p-25,
        0x1.4636e2p-25,  0x1.824684p-25,  -0x1.593abcp-25, -0x1.5bd5ecp-27,
        0x1.9fcef4p-26,  -0x1.829fdp-25,  0x1.15506ep-27,  0x1.51f848p-27,
        -0x1.a94b14p-26, -0x1.3d56b2p-27, -0x1.822dbcp-27, 0x1.52486cp-27};
    LLVMValueRef most = real(g, two ? 129.0 : 89.0), big = real(g, 0x1.8p19), y, n, r, t, p;

    y = L(BuildFCmp)(g->b, LLVMRealOGT, x, most, "");
    y = L(BuildSelect)(g->b, y, most, x, "");
    n = two ? L(BuildFAdd)(g->b, y, big, "") : fma_(g, y, real(g, 0x1.715476p+0), big);
    t = L(BuildBitCast)(g->b, n, ml_cg_vec(g, g->i32, WIDE), "");
    n = L(BuildFSub)(g->b, n, big, "");
    if (two) {
        r = L(BuildFSub)(g->b, y, n, ""); /* exact */
        r = L(BuildFMul)(g->b, r, real(g, 0x1.62e43p-1), "");
    } else {
        r = fma_(g, n, real(g, -0x1.62e4p-1), y);
        r = fma_(g, n, real(g, -0x1.7f7d1cp-20), r);
    }
    p = fma_(g, r, real(g, 0x1.555556p-3), real(g, 0.5));
    p = fma_(g, p, r, real(g, 1.0));
    y = look_up(g, power, t);
    r = fma_(g, r, y, look_up(g, lost, t));
    return scale(g, fma_(g, p, r, y), n, x, two ? -151.0 : -104.0);
}

/* erf of 0.85 and above: around each of sixteen knots 4/15 apart a polynomial of degree 5,
 * fitted at Chebyshev points, whose constant has two parts; 0.72 ulp. */
static LLVMValueRef sixteen_erf(ml_Cg *g, LLVMValueRef x, bool unused)
{
    static const double c[][WIDE] = {
        {0x0p+0, 0x1.2cf8e8p-2, 0x1.193dcp-1, 0x1.7bf4aap-1, 0x1.bcb578p-1, 0x1.e19d58p-1,
         0x1.f3e3fp-1, 0x1.fbc0e8p-1, 0x1.feb16p-1, 0x1.ffa5c2p-1, 0x1.ffeab6p-1,
         0x1.fffb9cp-1, 0x1.ffff36p-1, 0x1.ffffep-1, 0x1.fffffcp-1, 0x1p+0},
        {0x0p+0, 0x1.e04ddep-27, -0x1.75e762p-28, -0x1.dc1348p-26, 0x1.e40b7p-29,
         0x1.105094p-26, -0x1.d0a3a8p-28, -0x1.ccb0b8p-26, -0x1.1fc14ep-28, -0x1.645782p-26,
         -0x1.3c7c28p-26, 0x1.7d16c8p-27, -0x1.8ab718p-28, 0x1.106b04p-27, -0x1.5d610ap-27,
         -0x1.08e0eap-26},
        {0x1.20dd74p+0, 0x1.0d0972p+0, 0x1.b2b3e6p-1, 0x1.30a1f8p-1, 0x1.725c38p-2,
         0x1.869386p-3, 0x1.654a46p-4, 0x1.1b82cep-5, 0x1.864912p-7, 0x1.d20bb4p-9,
         0x1.e2bc0cp-11, 0x1.b1bb88p-13, 0x1.520a8p-15, 0x1.c9115ap-18, 0x1.0c09ap-20,
         0x1.10b18ap-23},
        {0x0p+0, -0x1.1ef70cp-2, -0x1.cfac92p-2, -0x1.e7689cp-2, -0x1.8b0d8ep-2,
         -0x1.046364p-2, -0x1.1dd678p-3, -0x1.089d0ep-4, -0x1.a04c88p-6, -0x1.179c08p-7,
         -0x1.41c66ep-9, -0x1.3dfb7cp-11, -0x1.0e4efcp-13, -0x1.8bd84ap-16, -0x1.f3d188p-19,
         -0x1.104bc4p-21},
        {-0x1.812606p-2, -0x1.33b22p-2, -0x1.f3c0bap-4, 0x1.c6e408p-5, 0x1.3af05ep-3,
         0x1.4cb68ep-3, 0x1.eaaed2p-4, 0x1.1a0b6ap-4, 0x1.07848p-5, 0x1.9890c2p-7,
         0x1.09f16ap-8, 0x1.24e888p-10, 0x1.125682p-12, 0x1.b698e8p-15, 0x1.2c0b36p-17,
         0x1.600b08p-20},
        {0x0p+0, 0x1.0f0fep-3, 0x1.751cc6p-3, 0x1.1656e6p-3, 0x1.7ffbc2p-5, -0x1.780238p-6,
         -0x1.909732p-5, -0x1.5d19f4p-5, -0x1.a83aaap-6, -0x1.8fc2c6p-7, -0x1.308cdp-8,
         -0x1.7f3446p-10, -0x1.933376p-12, -0x1.65a4c6p-14, -0x1.0cef14p-16,
         -0x1.58445ap-19},
        {0x1.cb4152p-4, 0x1.354cbap-4, -0x1.30ef34p-9, -0x1.ea073ap-5, -0x1.0d05ccp-4,
         -0x1.285c4ep-5, -0x1.296accp-8, 0x1.6c409p-7, 0x1.94d16ep-7, 0x1.02d162p-7,
         0x1.e4df1ap-9, 0x1.654568p-10, 0x1.abad38p-12, 0x1.a74b7ep-14, 0x1.5e3cf4p-16,
         0x1.e81e5ap-19}};
    LLVMValueRef y, n, t, v, most = real(g, 4.0), big = real(g, 0x1.8p23);

    (void)unused;
    y = L(BuildFCmp)(g->b, LLVMRealOGT, x, most, "");
    y = L(BuildSelect)(g->b, y, most, x, "");
    n = fma_(g, y, real(g, 3.75), big);
    t = L(BuildBitCast)(g->b, n, ml_cg_vec(g, g->i32, WIDE), "");
    n = L(BuildFSub)(g->b, n, big, "");
    y = fma_(g, n, real(g, -0x1.111112p-2), y);
    v = look_up(g, c[ML_COUNT(c) - 1], t);
    for (size_t k = ML_COUNT(c) - 1; k-- > 1;)
        v = fma_(g, v, y, look_up(g, c[k], t));
    return L(BuildFAdd)(g->b, look_up(g, c[0], t), v, "");
}

typedef LLVMValueRef OfSixteen(ml_Cg *g, LLVMValueRef x, bool two);

/* f of all lanes; NULL: the processor or n does not allow. */
static LLVMValueRef by_sixteens(ml_Cg *g, unsigned n, LLVMValueRef x, OfSixteen *f,
                                bool two)
{
    LLVMTypeRef over[2] = {ml_cg_vec(g, g->f32, WIDE), ml_cg_vec(g, g->f32, n)}, swapped[2];
    LLVMValueRef all;

    if (n == 0 || n % WIDE != 0 || !ml_cg_has(g, "+avx512f"))
        return NULL;
    if (n == WIDE)
        return f(g, x, two);
    swapped[0] = over[1];
    swapped[1] = over[0];
    all = L(GetPoison)(over[1]);
    for (unsigned at = 0; at < n; at += WIDE) {
        LLVMValueRef v[3] = {x, ml_cg_i64(g, at), NULL};
        v[0] = ml_cg_intrinsic(g, "llvm.vector.extract", over, 2, v, 2);
        v[1] = f(g, v[0], two);
        v[0] = all;
        v[2] = ml_cg_i64(g, at);
        all = ml_cg_intrinsic(g, "llvm.vector.insert", swapped, 2, v, 3);
    }
    return all;
}

LLVMValueRef ml_cg_exp_table(ml_Cg *g, unsigned n, LLVMValueRef x, bool two)
{
    return by_sixteens(g, n, x, sixteen, two);
}

LLVMValueRef ml_cg_erf_table(ml_Cg *g, unsigned n, LLVMValueRef x)
{
    return by_sixteens(g, n, x, sixteen_erf, false);
}
