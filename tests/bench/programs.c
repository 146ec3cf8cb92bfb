/*
 * programs - see programs.h. Bodies are lines of a function, indented by four.
 */
#include "programs.h"

#define MATRICES                                                                           \
    "A: T.Buffer((1024, 1024), \"float32\"), B: T.Buffer((1024, 1024), \"float32\"), "     \
    "bias: T.Buffer((1024,), \"float32\"), D: T.Buffer((1024, 1024), \"float32\")"
#define PRODUCT                                                                            \
    "    C = T.alloc_buffer((1024, 1024))\n"                                               \
    "    E = T.alloc_buffer((1024, 1024))\n"                                               \
    "    for i, j, k in T.grid(1024, 1024, 1024):\n"                                       \
    "        with T.block(\"C\"):\n"                                                       \
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"                          \
    "            with T.init():\n"                                                         \
    "                C[vi, vj] = T.float32(0)\n"                                           \
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"                          \
    "    for m, n in T.grid(1024, 1024):\n"                                                \
    "        with T.block(\"E\"):\n"                                                       \
    "            vi, vj = T.axis.remap(\"SS\", [m, n])\n"                                  \
    "            E[vi, vj] = C[vi, vj] + bias[vj]\n"                                       \
    "    for x, y in T.grid(1024, 1024):\n"                                                \
    "        with T.block(\"D\"):\n"                                                       \
    "            vi, vj = T.axis.remap(\"SS\", [x, y])\n"                                  \
    "            D[vi, vj] = T.max(E[vi, vj], T.float32(0))\n"

const Program dense = {"dense", MATRICES, PRODUCT, NULL, 3};

/* Multi-level tiles of the product, its caches, and the epilogue under it. */
const Program tiled = {
    "tiled", MATRICES, PRODUCT,
    "compute_inline(\"E\") "
    "split(\"i\", {auto, 4, 8, 2}) split(\"j\", {auto, 4, 8, 16}) split(\"k\", {auto, 4}) "
    "reorder(\"i_0\", \"j_0\", \"i_1\", \"j_1\", \"k_0\", \"i_2\", \"j_2\", \"k_1\", "
    "\"i_3\", \"j_3\") "
    "cache_write(\"C\", 0, \"global\") reverse_compute_at(\"C_global\", \"j_1\") "
    "cache_read(\"C\", 0, \"global\") compute_at(\"A_global\", \"k_0\") "
    "cache_read(\"C\", 1, \"global\") compute_at(\"B_global\", \"k_0\") "
    "fuse(\"i_0\", \"j_0\") parallel(\"i_0_j_0_fused\") vectorize(\"j_3\")",
    5};

#define CONVOLUTION(in, in_type, w_type, acc, zero, no_sum, times)                         \
    "    Xp = T.alloc_buffer((1, 58, 58, 64), \"" in "\")\n"                               \
    "    C = T.alloc_buffer((1, 56, 56, 64), \"" acc "\")\n"                               \
    "    D = T.alloc_buffer((1, 56, 56, 64), \"" acc "\")\n"                               \
    "    for n0, h0, w0, c0 in T.grid(1, 58, 58, 64):\n"                                   \
    "        with T.block(\"Xp\"):\n"                                                      \
    "            vn, vh, vw, vc = T.axis.remap(\"SSSS\", [n0, h0, w0, c0])\n"              \
    "            Xp[vn, vh, vw, vc] = T.if_then_else(vh >= 1 and vh < 57 and vw >= 1 and " \
    "vw < 57, X[vn, vh - 1, vw - 1, vc], " zero ")\n"                                      \
    "    for n, h, w, o, r, t, c in T.grid(1, 56, 56, 64, 3, 3, 64):\n"                    \
    "        with T.block(\"C\"):\n"                                                       \
    "            vn, vh, vw, vo, vr, vt, vc = T.axis.remap(\"SSSSRRR\", [n, h, w, o, r, "  \
    "t, c])\n"                                                                             \
    "            with T.init():\n"                                                         \
    "                C[vn, vh, vw, vo] = " no_sum "\n"                                     \
    "            C[vn, vh, vw, vo] = C[vn, vh, vw, vo] + " times "\n"                      \
    "    for n1, h1, w1, o1 in T.grid(1, 56, 56, 64):\n"                                   \
    "        with T.block(\"D\"):\n"                                                       \
    "            vn, vh, vw, vo = T.axis.remap(\"SSSS\", [n1, h1, w1, o1])\n"              \
    "            D[vn, vh, vw, vo] = C[vn, vh, vw, vo] + bias[vo]\n"                       \
    "    for n2, h2, w2, o2 in T.grid(1, 56, 56, 64):\n"                                   \
    "        with T.block(\"Y\"):\n"                                                       \
    "            vn, vh, vw, vo = T.axis.remap(\"SSSS\", [n2, h2, w2, o2])\n"              \
    "            Y[vn, vh, vw, vo] = T.max(D[vn, vh, vw, vo], " no_sum ")\n"
#define IMAGES(in, w_type, acc)                                                            \
    "X: T.Buffer((1, 56, 56, 64), \"" in "\"), W: T.Buffer((3, 3, 64, 64), \"" w_type      \
    "\"), bias: T.Buffer((64,), \"" acc "\"), Y: T.Buffer((1, 56, 56, 64), \"" acc "\")"

const Program conv = {"conv", IMAGES("float32", "float32", "float32"),
                      CONVOLUTION("float32", "float32", "float32", "float32",
                                  "T.float32(0)", "T.float32(0)",
                                  "Xp[vn, vh + vr, vw + vt, vc] * W[vr, vt, vc, vo]"),
                      NULL, 4};

/* Weights and input packed for the dot product, tiles, the sums of a tile in registers, the
 * epilogue and what is packed where it is used: 30 steps. */
const Program conv8 = {
    "conv of bytes", IMAGES("uint8", "int8", "int32"),
    CONVOLUTION("uint8", "uint8", "int8", "int32", "T.uint8(0)", "0",
                "T.Cast(\"int32\", Xp[vn, vh + vr, vw + vt, vc]) * T.Cast(\"int32\", W[vr, "
                "vt, vc, vo])"),
    "compute_inline(\"D\") "
    "cache_read(\"C\", 1, \"global\") "
    "transform_layout(\"C\", {\"read\", 1}, \"lambda r, t, c, o: (o // 16, r, t, c // 4, o "
    "% 16, c % 4)\") "
    "transform_layout(\"Xp\", {\"write\", 0}, \"lambda n, h, w, c: (n, c // 4, h, w, c % "
    "4)\") "
    "split(\"o\", {auto, 2, 16}) split(\"c\", {auto, 4, 4}) split(\"h\", {auto, 4}) "
    "split(\"w\", {auto, 7}) "
    "reorder(\"n\", \"h_0\", \"o_0\", \"w_0\", \"c_0\", \"r\", \"t\", \"h_1\", \"c_1\", "
    "\"w_1\", \"o_1\", \"o_2\", \"c_2\") "
    "cache_write(\"C\", 0, \"global\") reverse_compute_at(\"C_global\", \"w_0\") "
    "reverse_compute_at(\"Y\", \"h_0\") compute_at(\"Xp\", \"h_0\") "
    "decompose_reduction(\"C\", \"c_0\") "
    "tensorize(\"o_2\", \"dot_16x4_vnni\") "
    "set_scope(\"C_update_o\", 0, \"local\") "
    "vectorize(\"C_init@-1\") unroll(\"C_update_o@-1\") unroll(\"C_update_o@-2\") "
    "split(\"C_global@-1\", {auto, 16}) vectorize(\"C_global@-1\") "
    "split(\"Y@-1\", {auto, 16}) vectorize(\"Y@-1\") "
    "split(\"Xp@-1\", {auto, 4}) reorder(\"Xp@-2\", \"Xp@-3\") vectorize(\"Xp@-1\") "
    "compute_at(\"W_global\", \"o_0\") "
    "fuse(\"n\", \"h_0\") parallel(\"n_h_0_fused\") "
    "annotate(\"C_update_o\", \"pragma_auto_unroll_max_step\", 64)",
    6};

/* Tiles of a product of bytes; the init is apart, so that a tile is a dot product. */
const Program bytes = {
    "bytes",
    "A: T.Buffer((512, 512), \"uint8\"), B: T.Buffer((32, 128, 16, 4), \"int8\"), "
    "C: T.Buffer((512, 512), \"int32\")",
    "    for i, j, k in T.grid(512, 512, 512):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = 0\n"
    "            C[vi, vj] = C[vi, vj] + T.Cast(\"int32\", A[vi, vk]) * T.Cast(\"int32\", "
    "B[vj // 16, vk // 4, vj % 16, vk % 4])\n",
    "split(\"i\", {auto, 8}) split(\"j\", {auto, 2, 16}) split(\"k\", {auto, 4}) "
    "reorder(\"i_0\", \"j_0\", \"k_0\", \"i_1\", \"j_1\", \"j_2\", \"k_1\") "
    "decompose_reduction(\"C\", \"k_0\")",
    2};

/* A product of bytes with a sign. */
const Program chars = {
    "chars",
    "A: T.Buffer((512, 512), \"int8\"), B: T.Buffer((512, 512), \"int8\"), "
    "C: T.Buffer((512, 512), \"int32\")",
    "    for i, j, k in T.grid(512, 512, 512):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = 0\n"
    "            C[vi, vj] = C[vi, vj] + T.Cast(\"int32\", A[vi, vk]) * T.Cast(\"int32\", "
    "B[vk, vj])\n",
    NULL, 1};

/* A transposed convolution: an image with zeros between its elements. */
const Program zeros = {
    "zeros",
    "X: T.Buffer((10, 10, 256), \"float32\"), W: T.Buffer((4, 4, 256, 128), \"float32\"), "
    "Y: T.Buffer((16, 16, 128), \"float32\")",
    "    for h, w, o, r, t, c in T.grid(16, 16, 128, 4, 4, 256):\n"
    "        with T.block(\"Y\"):\n"
    "            vh, vw, vo, vr, vt, vc = T.axis.remap(\"SSSRRR\", [h, w, o, r, t, c])\n"
    "            with T.init():\n"
    "                Y[vh, vw, vo] = T.float32(0)\n"
    "            Y[vh, vw, vo] = Y[vh, vw, vo] + T.Select((vh + vr) % 2 == 0 and (vw + vt) "
    "% "
    "2 == 0, X[(vh + vr) // 2, (vw + vt) // 2, vc], T.float32(0)) * W[3 - vr, 3 - vt, vc, "
    "vo]\n",
    NULL, 1};

/* A convolution of an image with zeros around it. */
const Program padded = {
    "padded",
    "X: T.Buffer((14, 14, 256), \"float32\"), W: T.Buffer((3, 3, 256, 256), \"float32\"), "
    "Y: T.Buffer((14, 14, 256), \"float32\")",
    "    P = T.alloc_buffer((16, 16, 256))\n"
    "    for h, w, c in T.grid(16, 16, 256):\n"
    "        with T.block(\"P\"):\n"
    "            vh, vw, vc = T.axis.remap(\"SSS\", [h, w, c])\n"
    "            P[vh, vw, vc] = T.if_then_else(1 <= vh and vh < 15 and 1 <= vw and vw < "
    "15, "
    "X[vh - 1, vw - 1, vc], T.float32(0))\n"
    "    for h, w, o, r, t, c in T.grid(14, 14, 256, 3, 3, 256):\n"
    "        with T.block(\"Y\"):\n"
    "            vh, vw, vo, vr, vt, vc = T.axis.remap(\"SSSRRR\", [h, w, o, r, t, c])\n"
    "            with T.init():\n"
    "                Y[vh, vw, vo] = T.float32(0)\n"
    "            Y[vh, vw, vo] = Y[vh, vw, vo] + P[vh + vr, vw + vt, vc] * W[vr, vt, vc, "
    "vo]\n",
    NULL, 1};

/* Blocks that change what they read, with repeated arithmetic in their indices. */
const Program update = {
    "update",
    "A: T.Buffer((1048576,), \"float32\"), B: T.Buffer((1024, 1024), \"float32\"), "
    "C: T.Buffer((1048576,), \"float32\")",
    "    for i, j, k in T.grid(64, 128, 128):\n"
    "        with T.block(\"U\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSS\", [i, j, k])\n"
    "            T.reads(B[vi * 16 + vj // 8, vj % 8 * 128 + vk], A[(vi * 128 + vj) * 128 "
    "+ "
    "vk])\n"
    "            T.writes(B[vi * 16 + vj // 8, vj % 8 * 128 + vk])\n"
    "            B[vi * 16 + vj // 8, vj % 8 * 128 + vk] = B[vi * 16 + vj // 8, vj % 8 * "
    "128 + vk] + A[(vi * 128 + vj) * 128 + vk]\n"
    "    for l, m, n, o in T.grid(16, 4, 128, 128):\n"
    "        with T.block(\"G\"):\n"
    "            vl, vm, vn, vo = T.axis.remap(\"SSSS\", [l, m, n, o])\n"
    "            C[((vl * 4 + vm) * 128 + vn) * 128 + vo] = A[((vl * 4 + vm) * 128 + vn) * "
    "128 + vo] * C[((vl * 4 + vm) * 128 + vn) * 128 + vo]\n",
    NULL, 2};

static void stages(ml_Text *out, int from, int to)
{
    for (int k = from; k <= to; k++)
        ml_text_fmt(out,
                    "    for p%d in range(64):\n"
                    "        for q%d in range(64):\n"
                    "            with T.block(\"S%d\"):\n"
                    "                vp = T.axis.spatial(64, p%d)\n"
                    "                vq = T.axis.spatial(64, q%d)\n"
                    "                T.reads(S%d[vp, vq])\n"
                    "                T.writes(S%d[vp, vq])\n"
                    "                S%d[vp, vq] = S%d[vp, vq] + T.float32(1)\n",
                    k, k, k, k, k, k - 1, k, k, k - 1);
}

/* The header; n stages are between the first of their parameters and the last. */
static void head(ml_Text *out, const char *params, int n)
{
    ml_text_fmt(out, "@T.prim_func\ndef main(%s%s", params, *params && n > 0 ? ", " : "");
    if (n > 0)
        ml_text_fmt(out,
                    "S0: T.Buffer((64, 64), \"float32\"), S%d: T.Buffer((64, 64), "
                    "\"float32\")",
                    n);
    ml_text_add(out, "):\n");
    for (int k = 1; k < n; k++)
        ml_text_fmt(out, "    S%d = T.alloc_buffer((64, 64))\n", k);
}

void program_text(const Program *p, int blocks, ml_Text *out)
{
    int n = blocks > p->blocks ? blocks - p->blocks : 0;

    head(out, p->params, n);
    stages(out, 1, n / 2);
    ml_text_add(out, p->body);
    stages(out, n / 2 + 1, n);
}

void chain_text(int n, ml_Text *out)
{
    head(out, "", n);
    stages(out, 1, n);
}
