/*
 * intrin_mma - the tensor intrinsics around ldmatrix and mma.sync: fragments in registers
 * that a program sees, buffers of scope warp, [lane][register element].
 *
 * A tile of 16 rows is spread over the lanes as the instruction wants it; which element is
 * where is said once, by `place`, in descriptions and in what stands for fills and stores.
 * Registers of 32 bits hold `per` elements. A product of 16 x 16 is two of m16n8; its right
 * operand is two halves of 8 columns. What is stored as [k][i] or [n][k] becomes the same
 * fragments by loads that say "trans". Source: lowering-and-codegen 9.5, PTX ISA 9.7.14.
 */
#include "moonloop/primitives/intrin/intrin_texts.h"

#include <stdio.h>

enum { LANES = 32, ROWS = 16 };

/* A matrix of the product: its letter, rows (i or k) and columns (k, n or j) */
typedef struct Form {
    int rows, cols, per;
    bool is_b;
} Form;

static int bits_of(const char *type)
{
    return strstr(type, "16") ? 16 : strstr(type, "32") ? 32 : 8;
}

/* The fragment of an operand (which: 'a', 'b') or of the sum ('c'). */
static Form form_of(const ml_BuiltIn *in, char which)
{
    int per = which == 'c' ? 2 : 32 / bits_of(in->a), depth = which == 'c' ? ROWS : in->k;

    return which == 'b' ? (Form){depth, ROWS, per, true} : (Form){ROWS, depth, per, false};
}

static int elements(Form f)
{
    return f.rows * f.cols / LANES;
}

/* "lane, element" of the one in row r and column c, both names. */
static void place(ml_Text *t, Form f, const char *r, const char *c)
{
    const char *k = f.is_b ? r : c, *line = f.is_b ? c : r;
    int half = f.is_b ? 2 * f.per : f.per, chunk = f.is_b ? f.per : 2 * f.per;

    ml_text_fmt(t, "%s %% 8 * 4 + %s %% %d // %d, ", line, k, 4 * f.per, f.per);
    ml_text_fmt(t, "%s // 8 * %d + %s // %d * %d + %s %% %d", line, half, k, 4 * f.per,
                chunk, k, f.per);
}

/* The row and the column of element e of lane tx. */
static void row_and_col(ml_Text *row, ml_Text *col, Form f)
{
    ml_Text *line = f.is_b ? col : row, *k = f.is_b ? row : col;
    int half = f.is_b ? 2 * f.per : f.per, chunk = f.is_b ? f.per : 2 * f.per;

    ml_text_fmt(line, "e // %d %% 2 * 8 + tx // 4", half);
    ml_text_fmt(k, "e // %d %% 2 * %d + tx %% 4 * %d + e %% %d", chunk, 4 * f.per, f.per,
                f.per);
}

static void begin(ml_Text *t)
{
    ml_text_add(t, "@I.ir_module\nclass Module:\n");
}

static void function(ml_Text *t, const char *name, const char *params, const char *sizes)
{
    ml_text_fmt(t, "    @T.prim_func\n    def %s(", name);
    for (const char *p = params; *p; p++)
        ml_text_fmt(t, "%s%c: T.handle", p > params ? ", " : "", *p);
    ml_text_add(t, "):\n");
    for (const char *p = sizes; *p; p++)
        ml_text_fmt(t, "        s%c = T.int32()\n", *p);
}

static char upper(char c)
{
    return (char)(c - 'a' + 'A');
}

/* A parameter in registers. */
static void in_warp(ml_Text *t, char letter, Form f, const char *type)
{
    int n = elements(f);

    ml_text_fmt(t,
                "        %c = T.match_buffer(%c, (%d, %d), \"%s\", align=64, "
                "offset_factor=%d, scope=\"warp\")\n",
                upper(letter), letter, LANES, n, type, LANES * n);
}

/* One outside, whose rows begin at 16 bytes. */
static void outside(ml_Text *t, char letter, int rows, int cols, const char *type,
                    const char *scope)
{
    ml_text_fmt(t,
                "        %c = T.match_buffer(%c, (%d, %d), \"%s\", align=64, "
                "offset_factor=%d, scope=\"%s\", strides=[s%c, 1])\n",
                upper(letter), letter, rows, cols, type, 128 / bits_of(type), scope,
                letter);
}

static void root(ml_Text *t, const char *reads, const char *writes, bool impl)
{
    ml_text_fmt(t,
                "        with T.block(\"root\"):\n            T.reads(%s)\n"
                "            T.writes(%s)\n",
                reads, writes);
    if (impl)
        ml_text_add(
            t, "            T.block_attr({\"warp_execution\": 1})\n"
               "            for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n");
}

static const char *region(char buf[32], char letter, int rows, int cols)
{
    snprintf(buf, 32, "%c[0:%d, 0:%d]", upper(letter), rows, cols);
    return buf;
}

static void grid(ml_Text *t, int rows, int cols, const char *name)
{
    ml_text_fmt(t,
                "            for i, j in T.grid(%d, %d):\n"
                "                with T.block(\"%s\"):\n"
                "                    vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                "                    ",
                rows, cols, name);
}

/* ---- loads: call "a" or "b"; trans: the tile is stored with its sides exchanged */

/* Four matrices of 8 rows, a row by each lane: two of them below one another first, or
 * beside one another where the tile is stored with its sides exchanged. */
static void ldmatrix(ml_Text *t, const ml_BuiltIn *in, Form f)
{
    int step = 16 / (bits_of(in->a) / 8), n = elements(f);

    ml_text_fmt(
        t,
        "                T.evaluate(T.ptx_ldmatrix(\"%s\", %s, 4, \".b16\", C.data, "
        "C.elem_offset + tx * %d, A.access_ptr(\"r\"), ",
        in->a, f.is_b != in->trans ? "True" : "False", n);
    if (!in->trans)
        ml_text_fmt(t, "sa * (tx %% 16) + tx // 16 * %d))\n", step);
    else
        ml_text_fmt(t, "sa * (tx // 16 * 8 + tx %% 8) + tx %% 16 // 8 * %d))\n", step);
}

static void mma_load(ml_Text *t, const ml_BuiltIn *in)
{
    Form f = form_of(in, *in->call);
    int rows = in->trans ? f.cols : f.rows, cols = in->trans ? f.rows : f.cols;
    bool bytes_apart = f.is_b && !in->trans && bits_of(in->a) == 8;
    char from[32], to[32];

    region(from, 'a', rows, cols);
    region(to, 'c', LANES, elements(f));
    begin(t);
    for (int impl = 0; impl < 2; impl++) {
        function(t, impl ? "impl" : "desc", "ac", "a");
        outside(t, 'a', rows, cols, in->a, in->scope);
        in_warp(t, 'c', f, in->a);
        root(t, from, to, impl);
        if (!impl) {
            grid(t, rows, cols, "load");
            ml_text_add(t, "C[");
            place(t, f, in->trans ? "vj" : "vi", in->trans ? "vi" : "vj");
            ml_text_add(t, "] = A[vi, vj]\n");
        } else if (bytes_apart) { /* no ldmatrix turns bytes */
            ml_Text row = {0}, col = {0};

            row_and_col(&row, &col, f);
            ml_text_fmt(t,
                        "                for e in range(%d):\n"
                        "                    C[tx, e] = A[%s, %s]\n",
                        elements(f), ml_text_z(&row), ml_text_z(&col));
            ml_text_free(&row);
            ml_text_free(&col);
        } else {
            ldmatrix(t, in, f);
        }
    }
}

/* ---- fills and stores: plain accesses of each lane */

static void mma_fill(ml_Text *t, const ml_BuiltIn *in)
{
    Form f = form_of(in, 'c');
    char to[32];

    region(to, 'c', LANES, elements(f));
    begin(t);
    for (int impl = 0; impl < 2; impl++) {
        function(t, impl ? "impl" : "desc", "c", "");
        in_warp(t, 'c', f, in->c);
        root(t, "", to, impl);
        if (impl) {
            ml_text_fmt(t,
                        "                for e in range(%d):\n                    C[tx, e]",
                        elements(f));
        } else {
            grid(t, ROWS, ROWS, "init");
            ml_text_add(t, "C[");
            place(t, f, "vi", "vj");
            ml_text_add(t, "]");
        }
        ml_text_fmt(t, " = T.%s(0)\n", in->c);
    }
}

static void mma_store(ml_Text *t, const ml_BuiltIn *in)
{
    Form f = form_of(in, 'c');
    ml_Text row = {0}, col = {0};
    char from[32], to[32];

    region(from, 'a', LANES, elements(f));
    region(to, 'c', ROWS, ROWS);
    row_and_col(&row, &col, f);
    begin(t);
    for (int impl = 0; impl < 2; impl++) {
        function(t, impl ? "impl" : "desc", "ac", "c");
        in_warp(t, 'a', f, in->c);
        outside(t, 'c', ROWS, ROWS, in->c, in->c_scope);
        root(t, from, to, impl);
        if (impl) {
            ml_text_fmt(t,
                        "                for e in range(%d):\n"
                        "                    C[%s, %s] = A[tx, e]\n",
                        elements(f), ml_text_z(&row), ml_text_z(&col));
        } else {
            grid(t, ROWS, ROWS, "store");
            ml_text_add(t, "C[vi, vj] = A[");
            place(t, f, "vi", "vj");
            ml_text_add(t, "]\n");
        }
    }
    ml_text_free(&row);
    ml_text_free(&col);
}

/* ---- products */

static const char *short_name(const char *type)
{
    static const char *const NAMES[][2] = {{"float16", "fp16"},
                                           {"bfloat16", "bf16"},
                                           {"float32", "fp32"},
                                           {"float8_e4m3fn", "e4m3"},
                                           {"float8_e5m2", "e5m2"}};

    for (size_t k = 0; k < ML_COUNT(NAMES); k++)
        if (ml_streq(type, NAMES[k][0]))
            return NAMES[k][1];
    return type;
}

static void operand(ml_Text *t, const ml_BuiltIn *in, char letter, const char *row,
                    const char *col)
{
    bool cast = !ml_streq(in->a, in->c);

    if (cast)
        ml_text_fmt(t, "T.Cast(\"%s\", ", in->c);
    ml_text_fmt(t, "%c[", upper(letter));
    place(t, form_of(in, letter), row, col);
    ml_text_add(t, cast ? "])" : "]");
}

static void sum_place(ml_Text *t, const ml_BuiltIn *in)
{
    ml_text_add(t, "C[");
    place(t, form_of(in, 'c'), "vi", "vj");
    ml_text_add(t, "]");
}

static void mma_product(ml_Text *t, const ml_BuiltIn *in)
{
    Form a = form_of(in, 'a'), b = form_of(in, 'b'), c = form_of(in, 'c');
    char r[3][32], reads[128];

    region(r[0], 'a', LANES, elements(a));
    region(r[1], 'b', LANES, elements(b));
    region(r[2], 'c', LANES, elements(c));
    snprintf(reads, sizeof reads, "%s, %s, %s", r[2], r[0], r[1]);
    begin(t);
    for (int impl = 0; impl < 2; impl++) {
        function(t, impl ? "impl" : "desc", "abc", "");
        in_warp(t, 'a', a, in->a);
        in_warp(t, 'b', b, in->a);
        in_warp(t, 'c', c, in->c);
        root(t, reads, r[2], impl);
        for (int half = 0; half < 2 && impl; half++) {
            ml_text_fmt(
                t,
                "                T.evaluate(T.ptx_mma(\"%s\", \"m16n8k%d\", \"row\", "
                "\"col\", \"%s\", \"%s\", \"%s\", A.data, A.elem_offset + tx * %d, ",
                in->c, in->k, short_name(in->a), short_name(in->a), short_name(in->c),
                elements(a));
            ml_text_fmt(
                t,
                "B.data, B.elem_offset + tx * %d + %d, C.data, C.elem_offset + tx * %d "
                "+ %d, False))\n",
                elements(b), half * elements(b) / 2, elements(c), half * elements(c) / 2);
        }
        if (impl)
            continue;
        ml_text_fmt(t,
                    "            for i, j, k in T.grid(%d, %d, %d):\n"
                    "                with T.block(\"update\"):\n"
                    "                    vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                    "                    ",
                    ROWS, ROWS, in->k);
        sum_place(t, in);
        ml_text_add(t, " = ");
        sum_place(t, in);
        ml_text_add(t, " + ");
        operand(t, in, 'a', "vi", "vk");
        ml_text_add(t, " * ");
        operand(t, in, 'b', "vk", "vj");
        ml_text_add(t, "\n");
    }
}

/* ---- the table */

#define LOAD_(nm, T, K, op, from, tr, arch)                                                \
    {                                                                                      \
        .name = (nm), .text = mma_load, .a = (T), .k = (K), .call = (op), .scope = (from), \
        .sm = (arch), .trans = (tr)                                                        \
    }
#define LOADS_AT_(ty, T, K, sfx, from, arch)                                               \
    LOAD_("mma_ldmatrix_" ty "_a" sfx, T, K, "a", from, false, arch),                      \
        LOAD_("mma_ldmatrix_" ty "_b" sfx, T, K, "b", from, false, arch),                  \
        LOAD_("mma_ldmatrix_" ty "_b_trans" sfx, T, K, "b", from, true, arch)
#define LOADS_(ty, T, K, arch)                                                             \
    LOADS_AT_(ty, T, K, "", "shared", arch), LOADS_AT_(ty, T, K, "_dyn", "shared.dyn", arch)
#define LOADS16_(ty, T, arch)                                                              \
    LOADS_(ty, T, 16, arch),                                                               \
        LOAD_("mma_ldmatrix_" ty "_a_trans", T, 16, "a", "shared", true, arch),            \
        LOAD_("mma_ldmatrix_" ty "_a_trans_dyn", T, 16, "a", "shared.dyn", true, arch)
#define PRODUCT_(nm, T, C, K, arch)                                                        \
    {                                                                                      \
        .name = (nm), .text = mma_product, .a = (T), .b = (T), .c = (C), .k = (K),         \
        .sm = (arch)                                                                       \
    }
/* How the operands lay before they were loaded is nothing to the product. */
#define PRODUCTS_(nm, T, C, K, arch)                                                       \
    PRODUCT_("mma_" nm, T, C, K, arch), PRODUCT_("mma_" nm "_trans_a", T, C, K, arch),     \
        PRODUCT_("mma_" nm "_trans_b", T, C, K, arch),                                     \
        PRODUCT_("mma_" nm "_trans_a_trans_b", T, C, K, arch)
#define STORE_(nm, C, to)                                                                  \
    {                                                                                      \
        .name = (nm), .text = mma_store, .a = (C), .c = (C), .c_scope = (to), .sm = 80     \
    }
#define SUM_(ty, C)                                                                        \
    {.name = "mma_fill_16x16_" ty, .text = mma_fill, .a = (C), .c = (C), .sm = 80},        \
        STORE_("mma_store_16x16_" ty "_global", C, "global"),                              \
        STORE_("mma_store_16x16_" ty "_shared_dyn", C, "shared.dyn"),                      \
        STORE_("mma_store_16x16_" ty "_global_simple", C, "global"),                       \
        STORE_("mma_store_16x16_" ty "_shared_dyn_simple", C, "shared.dyn")

const ml_BuiltIn ml_mma_built_in[] = {
    LOADS16_("f16", "float16", 80),
    LOADS16_("bf16", "bfloat16", 80),
    LOADS_("i8", "int8", 32, 80),
    LOADS_("e4m3", "float8_e4m3fn", 32, 89),
    LOADS_("e5m2", "float8_e5m2", 32, 89),
    PRODUCTS_("f16f16f32", "float16", "float32", 16, 80),
    PRODUCTS_("f16f16f16", "float16", "float16", 16, 80),
    PRODUCTS_("bf16bf16f32", "bfloat16", "float32", 16, 80),
    PRODUCTS_("i8i8i32", "int8", "int32", 32, 80),
    PRODUCTS_("e4m3e4m3f32", "float8_e4m3fn", "float32", 32, 89),
    PRODUCTS_("e5m2e5m2f32", "float8_e5m2", "float32", 32, 89),
    SUM_("f32", "float32"),
    SUM_("f16", "float16"),
    SUM_("i32", "int32"),
};
const size_t ml_n_mma_built_in = ML_COUNT(ml_mma_built_in);
