/*
 * programs - the texts of the probe, as anybody could type them.
 *
 * Accumulators are local buffers that unrolling splits into registers; nothing can be left
 * out, since every result is stored. Threads are kept on their own parts by stride_pattern.
 * Source: lowering-and-codegen 7.4, 8.1.
 */
#include "moonloop/codegen/machine/machine_impl.h"

enum { PAGE = 4096 };

static const char *finish(ml_Ctx *cx, ml_Text *t)
{
    const char *z = ml_strdup(cx, ml_str(ml_text_z(t)));

    ml_text_free(t);
    return z;
}

/* ---------------------------------------------------------------- peaks */

typedef struct Kind {
    const char *acc, *in;
    ml_Dtype acc_type, in_type;
    uint32_t products; /* that one lane of the accumulator takes in at once */
    const char *step;  /* intrinsic; NULL: a product and a sum */
} Kind;

static const Kind kinds[ML_MACHINE_KINDS] = {
    [ML_MACHINE_F32] =
        {"float32", "float32", {ML_FLOAT, 32, 1}, {ML_FLOAT, 32, 1}, 1, NULL},
    [ML_MACHINE_F64] =
        {"float64", "float64", {ML_FLOAT, 64, 1}, {ML_FLOAT, 64, 1}, 1, NULL},
    [ML_MACHINE_F16] =
        {"float16", "float16", {ML_FLOAT, 16, 1}, {ML_FLOAT, 16, 1}, 1, "llvm.fma"},
    [ML_MACHINE_BF16] = {"float32",
                         "bfloat16",
                         {ML_FLOAT, 32, 1},
                         {ML_BFLOAT, 16, 1},
                         2,
                         "llvm.x86.avx512bf16.dpbf16ps"},
    [ML_MACHINE_INT8] =
        {"int32", "int32", {ML_INT, 32, 1}, {ML_INT, 32, 1}, 4, "llvm.x86.avx512.vpdpbusd"},
};

static bool there_is(const ml_Target *t, ml_MachineKind k)
{
    switch (k) {
    case ML_MACHINE_F32:
    case ML_MACHINE_F64: return true;
    case ML_MACHINE_F16: return t->f16 && t->vector_bits == 512;
    case ML_MACHINE_BF16: return t->bf16 && t->vector_bits == 512;
    case ML_MACHINE_INT8:
        return (t->vnni && t->vector_bits == 512) ||
               (strstr(t->features, "+avxvnni") != NULL && t->vector_bits == 256);
    case ML_MACHINE_KINDS: break;
    }
    return false;
}

ml_PeakProbe ml_probe_peak(ml_Ctx *cx, const ml_Target *t, ml_MachineKind k,
                           uint32_t threads)
{
    const Kind *kind = &kinds[k];
    unsigned lanes = t->vector_bits / kind->acc_type.bits;
    unsigned in = t->vector_bits / kind->in_type.bits, accs = t->registers >= 32 ? 24 : 12;
    ml_PeakProbe p = {.acc = kind->acc_type,
                      .in = kind->in_type,
                      .n_acc = (int64_t)accs * lanes,
                      .n_in = 2 * (int64_t)in,
                      .flop = 2.0 * accs * lanes * kind->products};
    ml_Text x = {0};
    const char *at = ml_format(cx, "acc[T.Ramp(v * %u, 1, %u)]", lanes, lanes);

    if (!there_is(t, k))
        return p;
    ml_text_fmt(&x,
                "@T.prim_func\n"
                "def peak_%s(nt: T.int32, n: T.int32, S: T.Buffer((%u,), \"%s\"), "
                "X: T.Buffer((%u,), \"%s\"), Y: T.Buffer((%u,), \"%s\")):\n"
                "    for t in T.parallel(nt, annotations={\"stride_pattern\": 1}):\n"
                "        acc = T.decl_buffer((%u,), \"%s\", scope=\"local\")\n"
                "        for v in T.unroll(%u):\n"
                "            %s = S[T.Ramp(v * %u, 1, %u)]\n"
                "        for i in range(n):\n"
                "            for v in T.unroll(%u):\n",
                ml_machine_kind_name(k), accs * lanes, kind->acc, 2 * in, kind->in,
                threads * accs * lanes, kind->acc, accs * lanes, kind->acc, accs, at, lanes,
                lanes, accs);
    if (kind->step == NULL)
        ml_text_fmt(
            &x, "                %s = %s * X[T.Ramp(0, 1, %u)] + X[T.Ramp(%u, 1, %u)]\n",
            at, at, in, in, in);
    else
        ml_text_fmt(&x,
                    "                %s = T.call_llvm_pure_intrin(\"%sx%u\", \"%s%s\", %s, "
                    "X[T.Ramp(0, 1, %u)], X[T.Ramp(%u, 1, %u)])\n",
                    at, kind->acc, lanes, kind->step,
                    k == ML_MACHINE_F16     ? ""
                    : t->vector_bits == 512 ? ".512"
                                            : ".256",
                    at, in, in, in);
    ml_text_fmt(&x,
                "        for v in T.unroll(%u):\n"
                "            Y[T.Ramp(t * %u + v * %u, 1, %u)] = %s\n",
                accs, accs * lanes, lanes, lanes, at);
    p.text = finish(cx, &x);
    return p;
}

/* ---------------------------------------------------------------- streams */

/*
 * Where a thread's parts lie, in lanes: those that are read one after the other, the one
 * that is written 64 bytes before a page's end from them, so that no load waits for a store
 * that only looks as if it met the same address (the low 12 bits).
 */
ml_StreamProbe ml_probe_stream(ml_Ctx *cx, const ml_Target *t, ml_Traffic what,
                               uint64_t bytes, uint32_t threads, uint32_t rounds,
                               const int64_t room[2])
{
    static const unsigned PARTS[ML_TRAFFICS] = {1, 1, 2, 3, 2, 3};
    unsigned parts = PARTS[what], w = t->vector_bits / 32;
    unsigned unroll = t->registers >= 32 && what == ML_TRAFFIC_READ ? 16 : 8;
    uint64_t step = (uint64_t)unroll * w, part = bytes / 4 / parts / step * step;
    uint64_t apart, own;
    ml_StreamProbe p = {0};
    ml_Text x = {0};
    const char *at;

    part = part > 0 ? part : step;
    apart = (part * 4 + PAGE - 1) / PAGE * PAGE / 4; /* of parts that are read */
    own = (apart * parts + PAGE / 4) / 16 * 16 + PAGE / 4;
    p.bytes = 4.0 * (double)part * parts * threads * rounds;
    p.lanes[0] = (int64_t)(own * threads);
    p.lanes[1] = (int64_t)threads * unroll * w;
    if (room[0] == 0)
        room = p.lanes;
    ml_text_fmt(&x,
                "@T.prim_func\n"
                "def stream(M: T.Buffer((%lld,), \"float32\"), "
                "Y: T.Buffer((%lld,), \"float32\")):\n"
                "    for t in T.parallel(%u, annotations={\"stride_pattern\": 1}):\n",
                (long long)room[0], (long long)room[1], threads);
    if (what == ML_TRAFFIC_READ)
        ml_text_fmt(&x,
                    "        acc = T.decl_buffer((%u,), \"float32\", scope=\"local\")\n"
                    "        for v in T.unroll(%u):\n"
                    "            acc[T.Ramp(v * %u, 1, %u)] = "
                    "T.Broadcast(T.float32(0), %u)\n",
                    unroll * w, unroll, w, w, w);
    ml_text_fmt(&x,
                "        for r in range(%u):\n"
                "            for i in T.serial(%llu%s):\n"
                "                for v in T.unroll(%u):\n                    ",
                rounds, (unsigned long long)(part / step),
                what >= ML_TRAFFIC_STREAM ? ", annotations={\"non_temporal\": 1}" : "",
                unroll);
    at = ml_format(cx, "T.Ramp(t * %llu + i * %u + v * %u", (unsigned long long)own,
                   (unsigned)step, w);
    switch (what) {
    case ML_TRAFFIC_READ:
        ml_text_fmt(&x,
                    "acc[T.Ramp(v * %u, 1, %u)] = acc[T.Ramp(v * %u, 1, %u)] + M[%s, 1, "
                    "%u)]\n"
                    "        for v in T.unroll(%u):\n"
                    "            Y[T.Ramp(t * %u + v * %u, 1, %u)] = acc[T.Ramp(v * %u, 1, "
                    "%u)]\n",
                    w, w, w, w, at, w, unroll, unroll * w, w, w, w, w);
        break;
    case ML_TRAFFIC_WRITE: /* no byte repeated: that would be a call of memset */
        ml_text_fmt(&x, "M[%s, 1, %u)] = T.Broadcast(T.float32(1.5), %u)\n", at, w, w);
        break;
    case ML_TRAFFIC_COPY:
    case ML_TRAFFIC_STREAM:
        ml_text_fmt(&x, "M[%s + %llu, 1, %u)] = M[%s, 1, %u)]\n", at,
                    (unsigned long long)(apart + PAGE / 4 - 16), w, at, w);
        break;
    case ML_TRAFFIC_TRIAD:
    case ML_TRAFFIC_STREAM_TRIAD:
        ml_text_fmt(
            &x,
            "M[%s + %llu, 1, %u)] = M[%s, 1, %u)] + T.Broadcast(T.float32(0.5), %u) "
            "* M[%s + %llu, 1, %u)]\n",
            at, (unsigned long long)(2 * apart + PAGE / 4 - 16), w, at, w, w, at,
            (unsigned long long)apart, w);
        break;
    case ML_TRAFFICS: break;
    }
    p.text = finish(cx, &x);
    return p;
}

/* ---------------------------------------------------------------- functions */

ml_MathProbe ml_probe_math(ml_Ctx *cx, const ml_Target *t, ml_Math k, bool f64)
{
    enum { VECTORS = 32, AT_ONCE = 4 };
    unsigned w = t->vector_bits / (f64 ? 64 : 32);
    ml_MathProbe p = {.type = f64 ? ML_DT_F64 : ML_DT_F32, .lanes = VECTORS * (int64_t)w};
    const char *dtype = f64 ? "float64" : "float32";
    const char *at = ml_format(cx, "T.Ramp(i * %u + v * %u", AT_ONCE * w, w);
    const char *x = ml_format(cx, "X[%s, 1, %u)]", at, w);
    const char *z = ml_format(cx, "X[%s + %u, 1, %u)]", at, VECTORS * w, w);
    const char *value =
        k == ML_MATH_DIVIDE ? ml_format(cx, "%s / %s", x, z)
        : k == ML_MATH_QUOTIENT
            ? ml_format(cx, "%s / T.Broadcast(X[%u], %u)", x, VECTORS * w, w)
        : k < ML_MATH_EXP ? ml_format(cx, "T.%s(%s, %s)", ml_math_name(k), x, z)
                          : ml_format(cx, "T.%s(%s)", ml_math_name(k), x);

    p.text = ml_format(cx,
                       "@T.prim_func\n"
                       "def math(n: T.int32, X: T.Buffer((%u,), \"%s\"), "
                       "Y: T.Buffer((%u,), \"%s\")):\n"
                       "    for r in range(n):\n"
                       "        for i in range(%u):\n"
                       "            for v in T.unroll(%u):\n"
                       "                Y[%s, 1, %u)] = %s\n",
                       2 * VECTORS * w, dtype, VECTORS * w, dtype, VECTORS / AT_ONCE,
                       AT_ONCE, at, w, value);
    return p;
}

/* ---------------------------------------------------------------- the rest */

const char *ml_probe_chain(ml_Ctx *cx)
{
    return ml_format(cx,
                     "@T.prim_func\n"
                     "def chain(n: T.int32, X: T.Buffer((2,), \"int64\"), "
                     "Y: T.Buffer((1,), \"int64\")):\n"
                     "    acc = T.decl_buffer((1,), \"int64\", scope=\"local\")\n"
                     "    acc[0] = X[0]\n"
                     "    for i in range(n):\n"
                     "        for v in T.unroll(%d):\n"
                     "            acc[0] = T.bitwise_xor(acc[0], X[0]) + X[1]\n"
                     "    Y[0] = acc[0]\n",
                     ML_CHAIN / 2);
}

const char *ml_probe_fork(ml_Ctx *cx, uint32_t threads)
{
    return ml_format(
        cx,
        "@T.prim_func\n"
        "def fork_join(Y: T.Buffer((%u,), \"float32\")):\n"
        "    for t in T.%s:\n"
        "        Y[t * 16] = T.float32(1)\n",
        threads * 16,
        threads > 1
            ? ml_format(cx, "parallel(%u, annotations={\"stride_pattern\": 1})", threads)
            : "serial(1)");
}
