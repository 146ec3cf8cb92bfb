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

/* erf x = x g(|x|): around each of sixteen knots 4/15 apart a polynomial of degree 5 for g,
 * fitted at Chebyshev points, whose constant has two parts; 0.69 ulp, 1.04 next to subnormals. Zeros where g is even:
 * a coefficient that is nearly nothing costs the processor its slow path. */
static LLVMValueRef sixteen_erf(ml_Cg *g, LLVMValueRef x, bool unused)
{
    static const double c[][WIDE] = {
        {0x1.20dd74p+0, 0x1.1a295ap+0, 0x1.07a9e4p+0, 0x1.daf1d2p-1, 0x1.a0ea2p-1,
         0x1.693602p-1, 0x1.386e74p-1, 0x1.1002c4p-1, 0x1.dec648p-2, 0x1.aa5f74p-2,
         0x1.7ff006p-2, 0x1.5d1446p-2, 0x1.3fff8p-2, 0x1.276262p-2, 0x1.124922p-2,
         0x1.fffffep-3},
        {0x1.dfe4c4p-25, -0x1.58d3cap-27, -0x1.981e3cp-25, -0x1.4ce9bap-30, -0x1.90105ep-26,
         -0x1.c91644p-26, 0x1.743376p-26, -0x1.69a6bap-31, 0x1.99b8e8p-29, 0x1.e96a12p-27,
         0x1.73d4bp-27, 0x1.0995fcp-27, 0x1.13c426p-27, 0x1.ad104ap-27, -0x1.6191p-27,
         -0x1.1048a6p-29},
        {0x0p+0, -0x1.89bd18p-3, -0x1.5b578ap-2, -0x1.a9c79ep-2, -0x1.b28084p-2,
         -0x1.8b59aep-2, -0x1.4eb676p-2, -0x1.10747cp-2, -0x1.b56abep-3, -0x1.6046ccp-3,
         -0x1.1f3efep-3, -0x1.dbba7p-4, -0x1.8ff22ap-4, -0x1.54d1ecp-4, -0x1.25e05ap-4,
         -0x1.ffffeap-5},
        {-0x1.812608p-2, -0x1.51e27p-2, -0x1.b4478cp-3, -0x1.342cbap-4, 0x1.27dc26p-5,
         0x1.94e4a6p-4, 0x1.df7e1p-4, 0x1.ba146ap-4, 0x1.694b9ap-4, 0x1.17005p-4,
         0x1.a753c4p-5, 0x1.42aa7ap-5, 0x1.f34596p-6, 0x1.89245p-6, 0x1.3ad9d6p-6,
         0x1.fffec2p-7},
        {0x0p+0, 0x1.c4d4acp-4, 0x1.5d8176p-3, 0x1.4ec336p-3, 0x1.c3d37cp-4, 0x1.86ccb2p-5,
         0x1.bf9e56p-10, -0x1.56eeb6p-6, -0x1.ae6186p-6, -0x1.7be25ap-6, -0x1.24903p-6,
         -0x1.ab846p-7, -0x1.355da4p-7, -0x1.c4a304p-8, -0x1.512eecp-8, -0x1.fff3cp-9},
        {0x1.cb421p-4, 0x1.5e3b14p-4, 0x1.8ac37p-6, -0x1.110f78p-5, -0x1.e5f84cp-5,
         -0x1.b434d2p-5, -0x1.0573ccp-5, -0x1.82663ep-7, 0x1.b4f524p-14, 0x1.2afecap-8,
         0x1.44f31cp-8, 0x1.035b88p-8, 0x1.73c99p-9, 0x1.02751ap-9, 0x1.68d2a4p-10,
         0x1.003bdep-10},
        {0x0p+0, -0x1.32f88ap-5, -0x1.95d414p-5, -0x1.0f3704p-5, -0x1.8695eap-8,
         0x1.a38986p-7, 0x1.18587ap-6, 0x1.92231ap-7, 0x1.78516ap-8, 0x1.6c6678p-10,
         -0x1.ef1726p-12, -0x1.cfbf3ap-11, -0x1.8de91cp-11, -0x1.1af514p-11,
         -0x1.7cbb8ep-12, -0x1.fe8fap-13},
    };
    LLVMValueRef y = ml_cg_intrinsic1(g, "llvm.fabs", x), n, t, v, most = real(g, 4.0);
    LLVMValueRef big = real(g, 0x1.8p23), args[2];
    LLVMTypeRef type = L(TypeOf)(x);

    (void)unused;
    v = L(BuildFCmp)(g->b, LLVMRealOGT, y, most, "");
    y = L(BuildSelect)(g->b, v, most, y, "");
    args[0] = y;
    args[1] = x;
    x = ml_cg_intrinsic(g, "llvm.copysign", &type, 1, args, 2);
    n = fma_(g, y, real(g, 3.75), big);
    t = L(BuildBitCast)(g->b, n, ml_cg_vec(g, g->i32, WIDE), "");
    n = L(BuildFSub)(g->b, n, big, "");
    y = fma_(g, n, real(g, -0x1.111112p-2), y);
    v = look_up(g, c[ML_COUNT(c) - 1], t);
    for (size_t k = ML_COUNT(c) - 1; k-- > 1;)
        v = fma_(g, v, y, look_up(g, c[k], t));
    return fma_(g, x, look_up(g, c[0], t), L(BuildFMul)(g->b, x, v, ""));
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
