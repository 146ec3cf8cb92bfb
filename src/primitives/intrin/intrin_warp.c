/*
 * intrin_warp - the tensor intrinsics that one warp of CUDA computes on fragments: wmma,
 * 16 x 16 x 16 and the two that are long and flat, and mma.sync m16n8k8.
 *
 * A fragment lies in the registers of the warp; its buffer (scope wmma.* or m16n8k8.*) is
 * that of the matrix that the fragments make up, and a call names one by its number: rows
 * of fragments, the last dimension in fragments. "_trans" of B means that the tile is stored
 * [n][k] and declared col-major. Source: lowering-and-codegen 9.4, 9.5.
 */
#include "moonloop/primitives/intrin/intrin_texts.h"

typedef struct Operand {
    char letter; /* of its parameter, in lower case */
    int rows, cols;
    const char *type, *scope;
    int factor; /* of offsets: a row of a fragment */
} Operand;

static void parameter(ml_Text *t, Operand o)
{
    char up = (char)(o.letter - 'a' + 'A');

    ml_text_fmt(t,
                "        %c = T.match_buffer(%c, (%d, %d), \"%s\", align=64, "
                "offset_factor=%d, scope=\"%s\", strides=[s%c, 1])\n",
                up, o.letter, o.rows, o.cols, o.type, o.factor, o.scope, o.letter);
}

/* A function over the operands, the last of which is written, up to its accesses; reads: the
 * operands before it, and with `sum` it too. */
static void head(ml_Text *t, const char *name, const Operand *o, size_t n, bool sum,
                 bool trans)
{
    ml_text_fmt(t, "    @T.prim_func\n    def %s(", name);
    for (size_t k = 0; k < n; k++)
        ml_text_fmt(t, "%s%c: T.handle", k ? ", " : "", o[k].letter);
    ml_text_add(t, "):\n");
    for (size_t k = 0; k < n; k++)
        ml_text_fmt(t, "        s%c = T.int32()\n", o[k].letter);
    for (size_t k = 0; k < n; k++)
        parameter(t, o[k]);
    ml_text_add(t, "        with T.block(\"root\"):\n            T.reads(");
    for (size_t k = 0; k < n; k++) {
        const Operand *x = sum ? &o[(k + n - 1) % n] : &o[k]; /* the sum is read first */

        if (sum || k + 1 < n)
            ml_text_fmt(t, "%s%c[0:%d, 0:%d]", k ? ", " : "", x->letter - 'a' + 'A',
                        x->rows, x->cols);
    }
    ml_text_fmt(t, ")\n            T.writes(%c[0:%d, 0:%d])\n", o[n - 1].letter - 'a' + 'A',
                o[n - 1].rows, o[n - 1].cols);
    if (*name == 'i')
        ml_text_fmt(t, "            T.block_attr({\"warp_execution\": 1%s})\n",
                    sum && trans ? ", \"matrix_b_layout\": \"col_major\"" : "");
}

static void begin(ml_Text *t)
{
    ml_text_add(t, "@I.ir_module\nclass Module:\n");
}

/* The number of the fragment of rows x cols that begins `row`, `col` fragments behind the
 * operand's first. */
static void number(ml_Text *t, const Operand *o, int rows, int cols, int row, int col)
{
    char u = (char)(o->letter - 'a' + 'A'), l = o->letter;

    ml_text_fmt(t, "(%c.elem_offset // s%c // %d + %d) * (s%c // %d) + ", u, l, rows, row,
                l, cols);
    ml_text_fmt(t, "%c.elem_offset %% s%c // %d + %d", u, l, cols, col);
}

static bool is_mma(const ml_BuiltIn *in)
{
    return in->n == 8 && in->k == 8;
}

/* Rows and columns of a fragment: of a ("a", or "b" as [k][n] or [n][k]), or of a result. */
static void shape(const ml_BuiltIn *in, char which, int *rows, int *cols)
{
    *rows = which == 'b' ? (in->trans ? in->n : in->k) : in->m;
    *cols = which == 'a' ? in->k : which == 'b' && in->trans ? in->k : in->n;
}

/* A nest that writes C, up to the value. */
static void grid(ml_Text *t, int rows, int cols, const char *name)
{
    ml_text_fmt(t,
                "            for i, j in T.grid(%d, %d):\n"
                "                with T.block(\"%s\"):\n"
                "                    vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                "                    C[vi, vj] = ",
                rows, cols, name);
}

/* ---- into fragments and out of them */

/* call: "a" or "b". Of mma.sync so many fragments at once as one ldmatrix.x4 loads. */
static void warp_load(ml_Text *t, const ml_BuiltIn *in)
{
    int rows, cols, times_r = 1, times_c = 1;

    shape(in, *in->call, &rows, &cols);
    if (is_mma(in))
        *(*in->call == 'a' ? &times_r : &times_c) = *in->call == 'a' ? 2 : 4;

    const Operand o[2] = {
        {'a', rows * times_r, cols * times_c, in->a, in->scope, cols},
        {'c', rows * times_r, cols * times_c, in->a, in->c_scope, cols},
    };

    begin(t);
    head(t, "desc", o, 2, false, in->trans);
    grid(t, o[0].rows, o[0].cols, "load");
    ml_text_add(t, "A[vi, vj]\n");
    head(t, "impl", o, 2, false, in->trans);
    for (int k = 0; k < times_r * times_c; k++) {
        int r = k / times_c, c = k % times_c;

        ml_text_fmt(t, "            T.evaluate(T.tvm_load_matrix_sync(C.data, %d, %d, %d, ",
                    in->m, in->n, in->k);
        number(t, &o[1], rows, cols, r, c);
        ml_text_fmt(t, ", A.access_ptr(\"r\", offset=%d * sa + %d), sa, \"%s\"))\n",
                    r * rows, c * cols, in->trans ? "col_major" : "row_major");
    }
}

static void warp_fill(ml_Text *t, const ml_BuiltIn *in)
{
    const Operand o[1] = {{'c', in->m, in->n, in->c, in->c_scope, in->n}};

    begin(t);
    head(t, "desc", o, 1, false, in->trans);
    grid(t, in->m, in->n, "init");
    ml_text_fmt(t, "T.%s(0)\n", in->c);
    head(t, "impl", o, 1, false, in->trans);
    ml_text_fmt(t, "            T.evaluate(T.tvm_fill_fragment(C.data, %d, %d, %d, ", in->m,
                in->n, in->k);
    number(t, &o[0], in->m, in->n, 0, 0);
    ml_text_fmt(t, ", T.%s(0)))\n", in->c);
}

static void warp_store(ml_Text *t, const ml_BuiltIn *in)
{
    const Operand o[2] = {{'a', in->m, in->n, in->c, in->scope, in->n},
                          {'c', in->m, in->n, in->c, in->c_scope, in->n}};

    begin(t);
    head(t, "desc", o, 2, false, in->trans);
    grid(t, in->m, in->n, "store");
    ml_text_add(t, "A[vi, vj]\n");
    head(t, "impl", o, 2, false, in->trans);
    ml_text_fmt(t, "            T.evaluate(T.tvm_store_matrix_sync(A.data, %d, %d, %d, ",
                in->m, in->n, in->k);
    number(t, &o[0], in->m, in->n, 0, 0);
    ml_text_add(t, ", C.access_ptr(\"w\"), sc, \"row_major\"))\n");
}

/* ---- products */

/* An operand in the type of the sum. */
static void factor(ml_Text *t, const ml_BuiltIn *in, const char *what, const char *end)
{
    if (ml_streq(in->a, in->c))
        ml_text_fmt(t, "%s%s", what, end);
    else
        ml_text_fmt(t, "T.Cast(\"%s\", %s)%s", in->c, what, end);
}

static void warp_product(ml_Text *t, const ml_BuiltIn *in)
{
    static const char *const SCOPES[2][3] = {
        {"wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"},
        {"m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC"}};
    const char *const *scope = SCOPES[is_mma(in)];
    int br, bc;

    shape(in, 'b', &br, &bc);

    const Operand o[3] = {{'a', in->m, in->k, in->a, scope[0], in->k},
                          {'b', br, bc, in->b, scope[1], bc},
                          {'c', in->m, in->n, in->c, scope[2], in->n}};
    static const int ORDER[] = {2, 0, 1, 2};

    begin(t);
    head(t, "desc", o, 3, true, in->trans);
    ml_text_fmt(t,
                "            for i, j, k in T.grid(%d, %d, %d):\n"
                "                with T.block(\"update\"):\n"
                "                    vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                "                    C[vi, vj] = C[vi, vj] + ",
                in->m, in->n, in->k);
    factor(t, in, "A[vi, vk]", " * ");
    factor(t, in, in->trans ? "B[vj, vk]" : "B[vk, vj]", "\n");
    head(t, "impl", o, 3, true, in->trans);
    ml_text_add(t, "            T.evaluate(T.tvm_mma_sync(");
    for (size_t k = 0; k < ML_COUNT(ORDER); k++) {
        const Operand *x = &o[ORDER[k]];

        ml_text_fmt(t, "%s%c.data, ", k ? ", " : "", x->letter - 'a' + 'A');
        number(t, x, x->rows, x->cols, 0, 0);
    }
    ml_text_add(t, "))\n");
}

/* ---- the table */

#define SHAPE_(nm, M, N, K) .name = (nm), .m = (M), .n = (N), .k = (K)
#define LOAD_OF_(nm, M, N, K, T, op, from, to, arch, tr)                                   \
    {                                                                                      \
        SHAPE_(nm, M, N, K), .text = warp_load, .a = (T), .call = (op), .scope = (from),   \
                             .c_scope = (to), .sm = (arch), .trans = (tr)                  \
    }
#define LOADS_FROM_(s, M, N, K, ty, T, arch, sfx, from)                                    \
    LOAD_OF_("wmma_load_" s "_" ty "_a_" sfx, M, N, K, T, "a", from, "wmma.matrix_a",      \
             arch, false),                                                                 \
        LOAD_OF_("wmma_load_" s "_" ty "_b_" sfx, M, N, K, T, "b", from, "wmma.matrix_b",  \
                 arch, false),                                                             \
        LOAD_OF_("wmma_load_" s "_" ty "_b_trans_" sfx, M, N, K, T, "b", from,             \
                 "wmma.matrix_b", arch, true)
#define LOADS_(s, M, N, K, ty, T, arch)                                                    \
    LOADS_FROM_(s, M, N, K, ty, T, arch, "shared", "shared"),                              \
        LOADS_FROM_(s, M, N, K, ty, T, arch, "shared_dyn", "shared.dyn"),                  \
        LOADS_FROM_(s, M, N, K, ty, T, arch, "global", "global")
#define STORE_TO_(nm, M, N, K, T, from, to, arch)                                          \
    {                                                                                      \
        SHAPE_(nm, M, N, K), .text = warp_store, .c = (T), .scope = (from),                \
                             .c_scope = (to), .sm = (arch)                                 \
    }
#define FILL_(nm, M, N, K, T, at, arch)                                                    \
    {                                                                                      \
        SHAPE_(nm, M, N, K), .text = warp_fill, .c = (T), .c_scope = (at), .sm = (arch)    \
    }
#define ACC_(s, M, N, K, ty, T)                                                            \
    FILL_("wmma_fill_" s "_" ty, M, N, K, T, "wmma.accumulator", 70),                      \
        STORE_TO_("wmma_store_" s "_" ty "_shared", M, N, K, T, "wmma.accumulator",        \
                  "shared", 70),                                                           \
        STORE_TO_("wmma_store_" s "_" ty "_shared_dyn", M, N, K, T, "wmma.accumulator",    \
                  "shared.dyn", 70),                                                       \
        STORE_TO_("wmma_store_" s "_" ty "_global", M, N, K, T, "wmma.accumulator",        \
                  "global", 70)
#define PRODUCT_(nm, M, N, K, A, B, C, arch, tr)                                           \
    {                                                                                      \
        SHAPE_(nm, M, N, K), .text = warp_product, .a = (A), .b = (B), .c = (C),           \
                             .sm = (arch), .trans = (tr)                                   \
    }
#define SYNC_(s, M, N, K, ty, T, C, arch)                                                  \
    PRODUCT_("wmma_sync_" s "_" ty, M, N, K, T, T, C, arch, false),                        \
        PRODUCT_("wmma_sync_" s "_" ty "_trans", M, N, K, T, T, C, arch, true)
/* All of one shape. */
#define WMMA_(s, M, N, K)                                                                  \
    LOADS_(s, M, N, K, "f16", "float16", 70), LOADS_(s, M, N, K, "bf16", "bfloat16", 80),  \
        LOADS_(s, M, N, K, "s8", "int8", 72), LOADS_(s, M, N, K, "u8", "uint8", 72),       \
        ACC_(s, M, N, K, "f32", "float32"), ACC_(s, M, N, K, "f16", "float16"),            \
        ACC_(s, M, N, K, "s32", "int32"),                                                  \
        SYNC_(s, M, N, K, "f16f16f32", "float16", "float32", 70),                          \
        SYNC_(s, M, N, K, "f16f16f16", "float16", "float16", 70),                          \
        SYNC_(s, M, N, K, "bf16bf16f32", "bfloat16", "float32", 80),                       \
        SYNC_(s, M, N, K, "s8s8s32", "int8", "int32", 72),                                 \
        SYNC_(s, M, N, K, "u8u8s32", "uint8", "int32", 72)
#define MMA_C_(ty, T)                                                                      \
    FILL_("mma_init_m16n8k8_" ty, 16, 8, 8, T, "m16n8k8.matrixC", 75),                     \
        STORE_TO_("mma_store_m16n8k8_" ty "_global", 16, 8, 8, T, "m16n8k8.matrixC",       \
                  "global", 75),                                                           \
        STORE_TO_("mma_store_m16n8k8_" ty "_shared_dyn", 16, 8, 8, T, "m16n8k8.matrixC",   \
                  "shared.dyn", 75),                                                       \
        PRODUCT_("mma_sync_m16n8k8_f16f16" ty, 16, 8, 8, "float16", "float16", T, 75,      \
                 false)

const ml_BuiltIn ml_warp_built_in[] = {
    WMMA_("16x16x16", 16, 16, 16),
    WMMA_("32x8x16", 32, 8, 16),
    WMMA_("8x32x16", 8, 32, 16),
    LOAD_OF_("mma_load_m16n8k8_f16_A_shared_dyn", 16, 8, 8, "float16", "a", "shared.dyn",
             "m16n8k8.matrixA", 75, false),
    LOAD_OF_("mma_load_m16n8k8_f16_B_shared_dyn", 16, 8, 8, "float16", "b", "shared.dyn",
             "m16n8k8.matrixB", 75, false),
    MMA_C_("f16", "float16"),
    MMA_C_("f32", "float32"),
};
const size_t ml_n_warp_built_in = ML_COUNT(ml_warp_built_in);
