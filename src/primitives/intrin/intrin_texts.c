/*
 * intrin_texts - see intrin_texts.h.
 *
 * Each is a description, scalar code that says what a tile computes, and an implementation
 * that calls one instruction, for which the interpreter has a reference routine: what is
 * built in computes what it describes, on every machine. Compiling one for a processor
 * that lacks the instruction is refused by its name. Source: lowering-and-codegen 9.1 to
 * 9.4.
 */
#include "moonloop/primitives/intrin/intrin_texts.h"

static void begin(ml_Text *t)
{
    ml_text_add(t, "@I.ir_module\nclass Module:\n");
}

/* A function over A[taps], B[lanes, taps] (or B[taps]), C[lanes], up to its accesses. */
static void dot_head(ml_Text *t, const char *name, const ml_BuiltIn *in)
{
    int n = in->lanes, taps = in->taps;

    ml_text_fmt(
        t,
        "    @T.prim_func\n"
        "    def %s(a: T.handle, b: T.handle, c: T.handle):\n"
        "        A = T.match_buffer(a, (%d,), \"%s\", offset_factor=1, scope=\"%s\")\n",
        name, taps, in->a, in->scope);
    if (n == 1)
        ml_text_fmt(t,
                    "        B = T.match_buffer(b, (%d,), \"%s\", offset_factor=1, "
                    "scope=\"%s\")\n",
                    taps, in->b, in->scope);
    else
        ml_text_fmt(t,
                    "        B = T.match_buffer(b, (%d, %d), \"%s\", offset_factor=1, "
                    "scope=\"%s\")\n",
                    n, taps, in->b, in->scope);
    ml_text_fmt(
        t,
        "        C = T.match_buffer(c, (%d,), \"%s\", offset_factor=1, scope=\"%s\")\n"
        "        with T.block(\"root\"):\n"
        "            T.reads(C[0:%d], A[0:%d], B[0:%d",
        n, in->c, in->c_scope, n, taps, n == 1 ? taps : n);
    if (n > 1)
        ml_text_fmt(t, ", 0:%d", taps);
    ml_text_fmt(t, "])\n            T.writes(C[0:%d])\n", n);
}

static void dot_desc(ml_Text *t, const ml_BuiltIn *in)
{
    begin(t);
    dot_head(t, "desc", in);
    if (in->lanes == 1)
        ml_text_fmt(
            t,
            "            for k in range(%d):\n"
            "                with T.block(\"update\"):\n"
            "                    vk = T.axis.reduce(%d, k)\n"
            "                    C[0] = C[0] + T.Cast(\"%s\", A[vk]) * T.Cast(\"%s\", "
            "B[vk])\n",
            in->taps, in->taps, in->c, in->c);
    else
        ml_text_fmt(t,
                    "            for i, k in T.grid(%d, %d):\n"
                    "                with T.block(\"update\"):\n"
                    "                    vi, vk = T.axis.remap(\"SR\", [i, k])\n"
                    "                    C[vi] = C[vi] + T.Cast(\"%s\", A[vk]) * "
                    "T.Cast(\"%s\", B[vi, vk])\n",
                    in->lanes, in->taps, in->c, in->c);
    dot_head(t, "impl", in);
}

/* The rows of B, each four bytes as one integer, as one vector. */
static void rows_of_b(ml_Text *t, const ml_BuiltIn *in)
{
    ml_text_add(t, "T.Shuffle([");
    for (int k = 0; k < in->lanes; k++)
        ml_text_fmt(t, "%sT.reinterpret(\"int32\", B[%d, 0:%d])", k ? ", " : "", k,
                    in->taps);
    ml_text_add(t, "], [");
    for (int k = 0; k < in->lanes; k++)
        ml_text_fmt(t, "%s%d", k ? ", " : "", k);
    ml_text_add(t, "])");
}

/* x86: operands are vectors of integers that hold the elements of four bytes each. */
static void dot_of_integers(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes;

    dot_desc(t, in);
    ml_text_fmt(t,
                "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
                "T.Broadcast(T.reinterpret(\"int32\", A[0:%d]), %d), ",
                n, in->c, n, in->call, n, in->taps, n);
    rows_of_b(t, in);
    ml_text_add(t, ")\n");
}

/* x86: both operands lie along the lanes, whose sums are parts of one. */
static void lanes_head(ml_Text *t, const char *name, const ml_BuiltIn *in)
{
    int n = in->lanes, all = n * in->taps;

    ml_text_fmt(t,
                "    @T.prim_func\n"
                "    def %s(a: T.handle, b: T.handle, c: T.handle):\n"
                "        A = T.match_buffer(a, (%d,), \"%s\", offset_factor=1)\n"
                "        B = T.match_buffer(b, (%d,), \"%s\", offset_factor=1)\n"
                "        C = T.match_buffer(c, (%d,), \"%s\", offset_factor=1, "
                "scope=\"%s\")\n"
                "        with T.block(\"root\"):\n"
                "            T.reads(C[0:%d], A[0:%d], B[0:%d])\n"
                "            T.writes(C[0:%d])\n",
                name, all, in->a, all, in->b, n, in->c, in->c_scope, n, all, all, n);
}

static void lanes_desc(ml_Text *t, const ml_BuiltIn *in)
{
    int taps = in->taps;

    begin(t);
    lanes_head(t, "desc", in);
    ml_text_fmt(t,
                "            for i, k in T.grid(%d, %d):\n"
                "                with T.block(\"update\"):\n"
                "                    vi, vk = T.axis.remap(\"SR\", [i, k])\n"
                "                    C[vi] = C[vi] + T.Cast(\"%s\", A[vi * %d + vk]) * "
                "T.Cast(\"%s\", B[vi * %d + vk])\n",
                in->lanes, taps, in->c, taps, in->c, taps);
    lanes_head(t, "impl", in);
}

static void dot_of_lanes(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes, all = n * in->taps;

    lanes_desc(t, in);
    ml_text_fmt(t,
                "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
                "T.reinterpret(\"int32x%d\", A[0:%d]), T.reinterpret(\"int32x%d\", "
                "B[0:%d]))\n",
                n, in->c, n, in->call, n, n, all, n, all);
}

/* For two signed operands as dot_of_offsets. */
static void dot_of_offset_lanes(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes, all = n * in->taps;

    lanes_desc(t, in);
    ml_text_fmt(
        t,
        "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
        "T.bitwise_xor(T.reinterpret(\"int32x%d\", A[0:%d]), "
        "T.Broadcast(T.int32(-2139062144), %d)), T.reinterpret(\"int32x%d\", B[0:%d])) "
        "- T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", T.Broadcast(T.int32(0), %d), "
        "T.Broadcast(T.int32(-2139062144), %d), T.reinterpret(\"int32x%d\", "
        "B[0:%d]))\n",
        n, in->c, n, in->call, n, n, all, n, n, all, in->c, n, in->call, n, n, n, all);
}

/* The same for two signed operands, where the instruction wants one without a sign: with
 * 128 added to each element of A, and 128 times the elements of B taken off again. Sums
 * wrap, so that this is exact. */
static void dot_of_offsets(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes;

    dot_desc(t, in);
    ml_text_fmt(t,
                "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
                "T.Broadcast(T.bitwise_xor(T.reinterpret(\"int32\", A[0:%d]), "
                "T.int32(-2139062144)), %d), ",
                n, in->c, n, in->call, n, in->taps, n);
    rows_of_b(t, in);
    ml_text_fmt(t,
                ") - T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", "
                "T.Broadcast(T.int32(0), %d), T.Broadcast(T.int32(-2139062144), %d), ",
                in->c, n, in->call, n, n);
    rows_of_b(t, in);
    ml_text_add(t, ")\n");
}

/* The sums of B's rows alone: their products with ones. */
static void rows_head(ml_Text *t, const char *name, const ml_BuiltIn *in)
{
    int n = in->lanes, taps = in->taps;

    ml_text_fmt(t,
                "    @T.prim_func\n"
                "    def %s(b: T.handle, c: T.handle):\n"
                "        B = T.match_buffer(b, (%d, %d), \"%s\", offset_factor=1)\n"
                "        C = T.match_buffer(c, (%d,), \"%s\", offset_factor=1, "
                "scope=\"%s\")\n"
                "        with T.block(\"root\"):\n"
                "            T.reads(C[0:%d], B[0:%d, 0:%d])\n"
                "            T.writes(C[0:%d])\n",
                name, n, taps, in->b, n, in->c, in->c_scope, n, n, taps, n);
}

static void sum_of_rows(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes;

    begin(t);
    rows_head(t, "desc", in);
    ml_text_fmt(t,
                "            for i, k in T.grid(%d, %d):\n"
                "                with T.block(\"update\"):\n"
                "                    vi, vk = T.axis.remap(\"SR\", [i, k])\n"
                "                    C[vi] = C[vi] + T.Cast(\"%s\", B[vi, vk])\n",
                n, in->taps, in->c);
    rows_head(t, "impl", in);
    ml_text_fmt(t,
                "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
                "T.Broadcast(T.int32(0x01010101), %d), ",
                n, in->c, n, in->call, n, n);
    rows_of_b(t, in);
    ml_text_add(t, ")\n");
}

/* ARM: operands are vectors of bytes. */
static void dot_of_vectors(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes;

    dot_desc(t, in);
    ml_text_fmt(
        t,
        "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
        "T.reinterpret(\"%sx%d\", T.Broadcast(T.reinterpret(\"int32\", A[0:4]), %d)), "
        "T.reinterpret(\"%sx%d\", ",
        n, in->c, n, in->call, n, in->a, 4 * n, n, in->b, 4 * n);
    rows_of_b(t, in);
    ml_text_add(t, "))\n");
}

/* ARM: rows of A by rows of B, all that two registers hold, into a square of sums. */
static void matrix_head(ml_Text *t, const char *name, const ml_BuiltIn *in)
{
    ml_text_fmt(t,
                "    @T.prim_func\n"
                "    def %s(a: T.handle, b: T.handle, c: T.handle):\n"
                "        A = T.match_buffer(a, (2, %d), \"%s\", offset_factor=1)\n"
                "        B = T.match_buffer(b, (2, %d), \"%s\", offset_factor=1)\n"
                "        C = T.match_buffer(c, (2, 2), \"%s\", offset_factor=1)\n"
                "        with T.block(\"root\"):\n"
                "            T.reads(C[0:2, 0:2], A[0:2, 0:%d], B[0:2, 0:%d])\n"
                "            T.writes(C[0:2, 0:2])\n",
                name, in->taps, in->a, in->taps, in->b, in->c, in->taps, in->taps);
}

static void matrix_2x2(ml_Text *t, const ml_BuiltIn *in)
{
    begin(t);
    matrix_head(t, "desc", in);
    ml_text_fmt(t,
                "            for i, j, k in T.grid(2, 2, %d):\n"
                "                with T.block(\"update\"):\n"
                "                    vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                "                    C[vi, vj] = C[vi, vj] + T.Cast(\"%s\", A[vi, vk]) * "
                "T.Cast(\"%s\", B[vj, vk])\n",
                in->taps, in->c, in->c);
    matrix_head(t, "impl", in);
    ml_text_fmt(t,
                "            C[0, 0:4] = T.call_llvm_pure_intrin(\"%sx4\", \"%s\", "
                "C[0, 0:4], A[0, 0:%d], B[0, 0:%d])\n",
                in->c, in->call, 2 * in->taps, 2 * in->taps);
}

/* ARM: pairs of bfloat16, that of A for all lanes. */
static void dot_of_pairs(ml_Text *t, const ml_BuiltIn *in)
{
    int n = in->lanes;

    dot_desc(t, in);
    ml_text_fmt(t,
                "            C[0:%d] = T.call_llvm_pure_intrin(\"%sx%d\", \"%s\", C[0:%d], "
                "T.reinterpret(\"%sx%d\", T.Broadcast(T.reinterpret(\"int32\", A[0:2]), "
                "%d)), B[0, 0:%d])\n",
                n, in->c, n, in->call, n, in->a, 2 * n, n, 2 * n);
}

/* x86's tiles: 16 rows of 64 bytes of A, by as many of B, whose columns lie in groups of
 * what one lane takes at once, into 16 x 16 sums. */
static void tile_head(ml_Text *t, const char *name, const ml_BuiltIn *in)
{
    int group = in->taps / 16;

    ml_text_fmt(t,
                "    @T.prim_func\n"
                "    def %s(a: T.handle, b: T.handle, c: T.handle):\n"
                "        A = T.match_buffer(a, (16, %d), \"%s\", offset_factor=1)\n"
                "        B = T.match_buffer(b, (16, 16, %d), \"%s\", offset_factor=1)\n"
                "        C = T.match_buffer(c, (16, 16), \"%s\", offset_factor=1)\n"
                "        with T.block(\"root\"):\n"
                "            T.reads(C[0:16, 0:16], A[0:16, 0:%d], B[0:16, 0:16, 0:%d])\n"
                "            T.writes(C[0:16, 0:16])\n",
                name, in->taps, in->a, group, in->b, in->c, in->taps, group);
}

static void tile_16x16(ml_Text *t, const ml_BuiltIn *in)
{
    int group = in->taps / 16;

    begin(t);
    tile_head(t, "desc", in);
    ml_text_fmt(t,
                "            for i, j, k in T.grid(16, 16, %d):\n"
                "                with T.block(\"update\"):\n"
                "                    vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                "                    C[vi, vj] = C[vi, vj] + T.Cast(\"%s\", A[vi, vk]) * "
                "T.Cast(\"%s\", B[vk // %d, vj, vk %% %d])\n",
                in->taps, in->c, in->c, group, group);
    tile_head(t, "impl", in);
    ml_text_fmt(t,
                "            C[0, 0:256] = T.call_llvm_pure_intrin(\"%sx256\", \"%s\", "
                "C[0, 0:256], A[0, 0:%d], B[0, 0, 0:%d])\n",
                in->c, in->call, 16 * in->taps, 16 * in->taps);
}

/* CUDA: four bytes of each, into one integer of a thread. */
static void dot_of_thread(ml_Text *t, const ml_BuiltIn *in)
{
    dot_desc(t, in);
    ml_text_fmt(t,
                "            C[0] = T.call_pure_extern(\"%s\", \"%s\", "
                "T.reinterpret(\"%s32\", A[0:4]), T.reinterpret(\"%s32\", B[0:4]), C[0])\n",
                in->c, in->call, in->a[0] == 'u' ? "uint" : "int",
                in->b[0] == 'u' ? "uint" : "int");
}

/* ---- of no machine: 4 x 4 times 4 x 4, for tutorials and tests */

/* Rows may lie apart. */
static void matmul_head(ml_Text *t, const char *name, const ml_BuiltIn *in)
{
    ml_text_fmt(
        t,
        "    @T.prim_func\n"
        "    def %s(a: T.handle, b: T.handle, c: T.handle):\n"
        "        sa, sb, sc = T.int32(), T.int32(), T.int32()\n"
        "        A = T.match_buffer(a, (4, 4), \"%s\", offset_factor=1, strides=[sa, 1])\n"
        "        B = T.match_buffer(b, (4, 4), \"%s\", offset_factor=1, strides=[sb, 1])\n"
        "        C = T.match_buffer(c, (4, 4), \"%s\", offset_factor=1, strides=[sc, 1])\n"
        "        with T.block(\"root\"):\n"
        "            T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])\n"
        "            T.writes(C[0:4, 0:4])\n",
        name, in->a, in->b, in->c);
}

static void matmul_4x4x4(ml_Text *t, const ml_BuiltIn *in)
{
    const char *b = ml_streq(in->call, "trans_b") ? "j, k" : "k, j";
    const char *vb = ml_streq(in->call, "trans_b") ? "vj, vk" : "vk, vj";

    begin(t);
    matmul_head(t, "desc", in);
    ml_text_fmt(t,
                "            for i, j, k in T.grid(4, 4, 4):\n"
                "                with T.block(\"update\"):\n"
                "                    vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                "                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[%s]\n",
                vb);
    matmul_head(t, "impl", in);
    ml_text_fmt(t,
                "            for i, j, k in T.grid(4, 4, 4):\n"
                "                C[i, j] = T.fma(A[i, k], B[%s], C[i, j])\n",
                b);
}

/* ---- the table */

#define ROW_(nm, fn, ta, tb, tc, n, tp, cl, sc, cs)                                        \
    {                                                                                      \
        .name = (nm), .text = (fn), .a = (ta), .b = (tb), .c = (tc), .lanes = (n),         \
        .taps = (tp), .call = (cl), .scope = (sc), .c_scope = (cs)                         \
    }

#define X86_(nm, ta, tb, tc, n, tp, fn, sc)                                                \
    ROW_(nm, dot_of_integers, ta, tb, tc, n, tp, fn, "global", sc)
#define BYTES_(nm, ta, n, fn) X86_(nm, ta, "int8", "int32", n, 4, fn, "global")
#define ARM_(nm, ta, tb, tc, fn)                                                           \
    ROW_(nm, dot_of_vectors, ta, tb, tc, 4, 4, fn, "global", "global")
#define AMX_(nm, ta, tb, tc, k, fn)                                                        \
    ROW_(nm, tile_16x16, ta, tb, tc, 256, k, "llvm.x86." fn ".internal", "global", "global")
#define MMLA_(nm, ta, tb, tc, k, fn)                                                       \
    ROW_(nm, matrix_2x2, ta, tb, tc, 4, k, "llvm.aarch64.neon." fn, "global", "global")
#define BUSD "llvm.x86.avx512.vpdpbusd.512"
#define BF16 "llvm.x86.avx512bf16.dpbf16ps.512"
#define SDOT "llvm.aarch64.neon.sdot.v4i32.v16i8"
#define UDOT "llvm.aarch64.neon.udot.v4i32.v16i8"
#define DP4A_(nm, ta, tb, tc, sc)                                                          \
    {                                                                                      \
        .name = nm, .text = dot_of_thread, .a = ta, .b = tb, .c = tc, .lanes = 1,          \
        .taps = 4, .call = "__dp4a", .scope = sc, .c_scope = "local", .sm = 61             \
    }

static const ml_BuiltIn table[] = {
    BYTES_("dot_16x4_vnni", "uint8", 16, BUSD),
    X86_("dot_16x4_vnni_local", "uint8", "int8", "int32", 16, 4, BUSD, "local"),
    BYTES_("dot_8x4_avxvnni", "uint8", 8, "llvm.x86.avx512.vpdpbusd.256"),
    X86_("dot_8x4_avxvnni_local", "uint8", "int8", "int32", 8, 4,
         "llvm.x86.avx512.vpdpbusd.256", "local"),
    ROW_("dot_16x4_s8s8_vnni", dot_of_offsets, "int8", "int8", "int32", 16, 4, BUSD,
         "global", "global"),
    ROW_("dot_16x4_s8s8_vnni_local", dot_of_offsets, "int8", "int8", "int32", 16, 4, BUSD,
         "global", "local"),
    ROW_("sum_16x4_vnni_local", sum_of_rows, "int8", "int8", "int32", 16, 4, BUSD, "global",
         "local"),
    BYTES_("dot_8x4_s8s8_avxvnniint8", "int8", 8, "llvm.x86.avx2.vpdpbssd.256"),
    X86_("dot_16x2_bf16", "bfloat16", "bfloat16", "float32", 16, 2, BF16, "global"),
    X86_("dot_16x2_bf16_local", "bfloat16", "bfloat16", "float32", 16, 2, BF16, "local"),
    ROW_("dot_16x4_vnni_lanes", dot_of_lanes, "uint8", "int8", "int32", 16, 4, BUSD,
         "global", "local"),
    ROW_("dot_16x4_s8s8_vnni_lanes", dot_of_offset_lanes, "int8", "int8", "int32", 16, 4,
         BUSD, "global", "local"),
    ROW_("dot_16x2_bf16_lanes", dot_of_lanes, "bfloat16", "bfloat16", "float32", 16, 2,
         BF16, "global", "local"),
    AMX_("amx_s8_16x16x64", "int8", "int8", "int32", 64, "tdpbssd"),
    AMX_("amx_u8s8_16x16x64", "uint8", "int8", "int32", 64, "tdpbusd"),
    AMX_("amx_s8u8_16x16x64", "int8", "uint8", "int32", 64, "tdpbsud"),
    AMX_("amx_u8_16x16x64", "uint8", "uint8", "int32", 64, "tdpbuud"),
    AMX_("amx_bf16_16x16x32", "bfloat16", "bfloat16", "float32", 32, "tdpbf16ps"),
    ARM_("sdot_4x4", "int8", "int8", "int32", SDOT),
    ARM_("dot_4x4_i8i8s32_sdot", "int8", "int8", "int32", SDOT),
    ARM_("udot_4x4", "uint8", "uint8", "uint32", UDOT),
    ARM_("dot_4x4_u8u8u32_udot", "uint8", "uint8", "uint32", UDOT),
    ARM_("usdot_4x4", "uint8", "int8", "int32", "llvm.aarch64.neon.usdot.v4i32.v16i8"),
    MMLA_("smmla_2x2x8", "int8", "int8", "int32", 8, "smmla.v4i32.v16i8"),
    MMLA_("ummla_2x2x8", "uint8", "uint8", "uint32", 8, "ummla.v4i32.v16i8"),
    MMLA_("usmmla_2x2x8", "uint8", "int8", "int32", 8, "usmmla.v4i32.v16i8"),
    ROW_("bfdot_4x2", dot_of_pairs, "bfloat16", "bfloat16", "float32", 4, 2,
         "llvm.aarch64.neon.bfdot.v4f32.v8bf16", "global", "global"),
    MMLA_("bfmmla_2x2x4", "bfloat16", "bfloat16", "float32", 4, "bfmmla"),
    DP4A_("dp4a", "int8", "int8", "int32", "shared"),
    DP4A_("dp4a_s8s8s32", "int8", "int8", "int32", "shared"),
    DP4A_("dp4a_u8s8s32", "uint8", "int8", "int32", "shared"),
    DP4A_("dp4a_s8u8s32", "int8", "uint8", "int32", "shared"),
    DP4A_("dp4a_u8u8u32", "uint8", "uint8", "uint32", "shared"),
    DP4A_("dp4a_s8s8s32_local", "int8", "int8", "int32", "local"),
    DP4A_("dp4a_s8s8s32_global", "int8", "int8", "int32", "global"),
    ROW_("accel_matmul_4x4x4", matmul_4x4x4, "float32", "float32", "float32", 16, 4, "",
         "global", "global"),
    ROW_("accel_matmul_4x4x4_trans_b", matmul_4x4x4, "float32", "float32", "float32", 16, 4,
         "trans_b", "global", "global"),
};

const ml_BuiltIn *ml_built_in(size_t k)
{
    if (k < ML_COUNT(table))
        return &table[k];
    k -= ML_COUNT(table);
    if (k < ml_n_warp_built_in)
        return &ml_warp_built_in[k];
    k -= ml_n_warp_built_in;
    return k < ml_n_mma_built_in ? &ml_mma_built_in[k] : NULL;
}

size_t ml_n_built_in(void)
{
    return ML_COUNT(table) + ml_n_warp_built_in + ml_n_mma_built_in;
}
