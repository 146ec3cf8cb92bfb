/*
 * test_access - vector loads and stores: strides, reversal, gathers, scatters, masks, tails
 * beside guard bytes, elements that are vectors, views, and what is claimed of alignment.
 */
#include "run_llvm.h"

#define HEAD(params) "@T.prim_func\ndef main(" params "):\n"
#define F32(name, n) name ": T.Buffer((" #n ",), \"float32\")"

static void strided_loads_equal_the_interpreter(void **state)
{
    Fix *x = *state;

    NEED_LLVM();
    for (int s = -5; s <= 6; s++)
        for (int lanes = 2; lanes <= 32; lanes *= 2) { /* the last one ends the buffer */
            int n = (lanes - 1) * (s < 0 ? -s : s) + 1;
            const char *text =
                ml_format(x->cx,
                          HEAD("A: T.Buffer((%d,), \"float32\"), B: T.Buffer((%d,), "
                               "\"float32\")") "    B[T.Ramp(0, 1, %d)] = A[T.Ramp(%d, %d, "
                                               "%d)]\n"
                                               "    B[T.Ramp(%d, -1, %d)] = A[T.Ramp(%d, "
                                               "%d, %d)] + B[T.Ramp(0, 1, %d)]\n",
                          n, lanes, lanes, s < 0 ? n - 1 : 0, s, lanes, lanes - 1, lanes,
                          s < 0 ? n - 1 : 0, s, lanes, lanes);
            same_text(x, text, EXACT);
        }
}

static void strided_stores_equal_the_interpreter(void **state)
{
    Fix *x = *state;
    static const char *const types[] = {"float32",  "int8", "float16",
                                        "bfloat16", "bool", "int64"};

    NEED_LLVM();
    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (int s = -3; s <= 4; s++) {
            int n = 15 * (s < 0 ? -s : s) + 1;
            same_text(x,
                      ml_format(x->cx,
                                HEAD("A: T.Buffer((16,), \"%s\"), B: T.Buffer((%d,), "
                                     "\"%s\")") "    B[T.Ramp(%d, %d, 16)] = A[T.Ramp(0, "
                                                "1, 16)]\n",
                                types[t], n, types[t], s < 0 ? n - 1 : 0, s),
                      EXACT);
        }
}

static void gathers_and_scatters_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD(F32("A", 64) ", I: T.Buffer((16,), \"int32\"), " F32(
                  "B", 64)) "    for i in range(1):\n"
                            "        B[T.Ramp(i, 4, 16)] = A[I[T.Ramp(0, 1, 16)] % "
                            "T.Broadcast(64, 16)]\n"
                            "        B[(I[T.Ramp(0, 1, 16)] % T.Broadcast(64, 16))] = "
                            "A[T.Ramp(0, 2, 16)]\n",
              EXACT);
    same_text(*state,
              HEAD(F32("A", 64) ", n: T.int32, " F32(
                  "B", 64)) "    B[T.Ramp(0, 1, 8)] = A[T.Ramp(1, n + 5, 8)]\n"
                            "    B[T.Ramp(n + 8, n + 3, 8)] = A[T.Ramp(n + 1, 1, 8)]\n",
              EXACT);
}

static void masked_accesses_leave_the_other_lanes_alone(void **state)
{
    Fix *x = *state;

    NEED_LLVM();
    for (int lanes = 4; lanes <= 64; lanes *= 2)
        for (int n = 1; n < 40; n += 5) {
            static const char *const types[] = {"float32", "int8", "float64", "float16"};
            const char *t = types[n % 4];
            same_text(x,
                      ml_format(x->cx,
                                HEAD("A: T.Buffer((%d,), \"%s\"), B: T.Buffer((%d,), "
                                     "\"%s\")") "    for i in range(%d):\n"
                                                "        B.vstore([T.Ramp(i * %d, 1, %d)], "
                                                "A.vload([T.Ramp(i * %d, 1, %d)], "
                                                "predicate=T.Ramp(i * %d, 1, %d) < "
                                                "T.Broadcast(%d, %d)), "
                                                "predicate=T.Ramp(i * %d, 1, %d) < "
                                                "T.Broadcast(%d, %d))\n",
                                n, t, n, t, (n + lanes - 1) / lanes, lanes, lanes, lanes,
                                lanes, lanes, lanes, n, lanes, lanes, lanes, n, lanes),
                      EXACT);
        }
}

static void every_comparison_of_lanes_is_a_right_mask(void **state)
{
    static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
    Fix *x = *state;

    NEED_LLVM();
    for (size_t k = 0; k < ML_COUNT(ops); k++)
        for (int c = -3; c < 20; c += 3)
            for (int s = -1; s <= 2; s++)
                same_text(
                    x,
                    ml_format(
                        x->cx,
                        HEAD(F32("A", 16) ", " F32(
                            "B",
                            16)) "    B.vstore([T.Ramp(0, 1, 16)], A[T.Ramp(0, 1, 16)], "
                                 "predicate=T.Ramp(%d, %d, 16) %s T.Broadcast(%d, 16))\n",
                        s == -1 ? 14 : 1, s == 0 ? 3 : s, ops[k], c),
                    EXACT);
}

static void lanes_that_are_off_are_not_read(void **state)
{
    Fix *x = *state;
    const ml_Buffer *a = BUF("A", ML_DT_F32, I(6)), *b = BUF("B", ML_DT_F32, I(8));
    const ml_Expr *lanes = ml_ramp(x->cx, I(0), I(1), 8);
    const ml_Expr *on = ml_lt(x->cx, lanes, ml_broadcast(x->cx, I(6), 8));
    const ml_Expr *off = ml_ge(x->cx, lanes, ml_broadcast(x->cx, I(100), 8));
    const ml_Expr *two = ml_broadcast(x->cx, FL(2), 8);
    const ml_Expr *read = MUL(LD(a, lanes), ml_broadcast(x->cx, LD(a, I(5)), 8));
    const ml_Expr *never = ml_broadcast(x->cx, LD(a, I(99)), 8);
    const ml_Func *f =
        FUNC(SEQ(ST(b, ml_if_then_else(x->cx, on, read, two), lanes),
                 ST(b, ADD(LD(b, lanes), ml_if_then_else(x->cx, off, never, two)), lanes)),
             a, b);
    ml_CodeOpts o = {0};

    NEED_LLVM(); /* index 5 is the last of A */
    make_args(x, f);
    same_as_interpreter(x, f, &o, EXACT);
    same_text(*state,
              HEAD(F32("A", 6) ", " F32(
                  "B", 8)) "    for i in range(8):\n"
                           "        B[i] = T.if_then_else(i < 6, A[i], T.float32(3))\n",
              EXACT);
}

static void elements_that_are_vectors_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(
        *state,
        HEAD(
            "A: T.Buffer((16,), \"float32x4\"), B: T.Buffer((16,), \"float32x4\")") "    "
                                                                                    "for i "
                                                                                    "in "
                                                                                    "range("
                                                                                    "15):\n"
                                                                                    "      "
                                                                                    "  "
                                                                                    "B[i] "
                                                                                    "= A[i "
                                                                                    "+ 1] "
                                                                                    "* "
                                                                                    "A[i]"
                                                                                    "\n",
        EXACT);
    same_text(
        *state,
        HEAD(
            "A: T.Buffer((9,), \"int8x3\"), B: T.Buffer((9,), \"int8x3\")") "    for i in "
                                                                            "range(9):\n"
                                                                            "        B[8 - "
                                                                            "i] = A[i]\n",
        EXACT);
}

static void rows_that_are_not_aligned_are_stored_right(void **state)
{
    Fix *x = *state;
    const ml_Func *f;
    ml_CodeOpts o = {0};
    ml_Text t = {0};

    NEED_LLVM();
    same_text(
        x,
        HEAD(F32("A", 170) ", " F32(
            "B", 170)) "    for i in range(10):\n"
                       "        B[T.Ramp(i * 17, 1, 16)] = A[T.Ramp(i * 17 + 1, 1, 16)]\n",
        EXACT);
    f = parse_func(
        x, HEAD(F32("A", 180) ", " F32(
               "B", 160)) "    for i in range(10):\n"
                          "        B[T.Ramp(i * 16, 1, 16)] = A[T.Ramp(i * 18, 1, 16)]\n");
    assert_true(ml_code_text(rig.ll, x->cx, &f, 1, &o, "llvm", &t));
    assert_non_null(strstr(ml_text_z(&t), "load <16 x float>, ptr"));
    assert_non_null(strstr(ml_text_z(&t), ", align 8, !alias"));
    assert_non_null(strstr(ml_text_z(&t), ", align 64, !alias"));
    ml_text_free(&t);
}

static void views_and_two_dimensional_buffers_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(
        *state,
        HEAD(
            "A: T.Buffer((4, 8), \"float32\"), B: T.Buffer((32,), \"float32\")") "    V = "
                                                                                 "T.decl_"
                                                                                 "buffer(("
                                                                                 "8, 4), "
                                                                                 "\"float32"
                                                                                 "\", "
                                                                                 "data=A."
                                                                                 "data)\n"
                                                                                 "    W = "
                                                                                 "T.decl_"
                                                                                 "buffer(("
                                                                                 "16,), "
                                                                                 "\"float32"
                                                                                 "\", "
                                                                                 "data=A."
                                                                                 "data, "
                                                                                 "elem_"
                                                                                 "offset="
                                                                                 "16)\n"
                                                                                 "    for "
                                                                                 "i, j in "
                                                                                 "T.grid(8,"
                                                                                 " 4):\n"
                                                                                 "        "
                                                                                 "B[i * 4 "
                                                                                 "+ j] = "
                                                                                 "V[i, j] "
                                                                                 "+ A[i // "
                                                                                 "2, j + i "
                                                                                 "% 2 * 4] "
                                                                                 "+ W[i]\n"
                                                                                 "    for "
                                                                                 "i in "
                                                                                 "range(16)"
                                                                                 ":\n"
                                                                                 "        "
                                                                                 "W[i] = "
                                                                                 "B[i] * "
                                                                                 "T."
                                                                                 "float32("
                                                                                 "2)\n",
        EXACT);
}

static void a_vector_reads_everything_before_it_writes(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD(F32("A", 257)) "    A[T.Ramp(1, 1, 256)] = A[T.Ramp(0, 1, 256)]\n",
              EXACT);
}

static void squares_are_transposed_in_registers(void **state)
{
    static const char *const types[] = {"float32", "uint8", "float64", "float16",
                                        "bfloat16"};
    Fix *x = *state;

    NEED_LLVM();
    for (int w = 4; w <= 32; w *= 2)
        for (size_t t = 0; t < ML_COUNT(types); t++)
            same_text(
                x,
                ml_format(x->cx,
                          HEAD("A: T.Buffer((%d, %d), \"%s\"), B: T.Buffer((%d, %d), "
                               "\"%s\")") "    for i_0, j_0 in T.grid(2, 2):\n"
                                          "        for i in T.unroll(%d):\n"
                                          "            for j in T.vectorized(%d):\n"
                                          "                B[i_0 * %d + i, j_0 * %d + "
                                          "j] = A[j_0 * %d + j, i_0 * %d + i]\n",
                          2 * w, 2 * w + 1, types[t], 2 * w, 2 * w, types[t], w, w, w, w, w,
                          w),
                EXACT);
}

static void whole_vectors_go_past_the_caches_where_that_is_asked_for(void **state)
{
    Fix *x = *state;
    const char *text = HEAD(F32("A", 2048) ", " F32("B", 2048) ", " F32(
        "C", 2048)) "    for i in T.parallel(127, annotations={\"non_temporal\": 1}):\n"
                    "        B[T.Ramp(i * 16, 1, 16)] = A[T.Ramp(i * 16, 1, 16)]\n"
                    "        C[T.Ramp(i * 16 + 4, 1, 16)] = A[T.Ramp(i * 16, 1, 16)]\n"
                    "    for i in range(1, annotations={\"non_temporal\": 0}):\n"
                    "        B[T.Ramp(2032, 1, 16)] = A[T.Ramp(i * 16, 1, 16)]\n";
    const ml_Func *f;
    ml_CodeOpts o = {0};
    ml_Text t = {0};
    const char *at;

    NEED_LLVM();
    same_text(x, text, EXACT);
    f = parse_func(x, text);
    assert_true(ml_code_text(rig.ll, x->cx, &f, 1, &o, "llvm", &t));
    at = strstr(ml_text_z(&t), "!nontemporal"); /* B's; C's are not aligned */
    assert_non_null(at);
    assert_null(strstr(at + 1, ", !nontemporal"));
#if defined(__x86_64__)
    assert_non_null(strstr(at, "call void @llvm.x86.sse.sfence()"));
#endif
    ml_text_free(&t);
}

/* Each fence waits until all that was stored has left the core. */
static void a_thread_waits_once_for_what_it_stored_past_the_caches(void **state)
{
    static const char fence[] = "call void @llvm.x86.sse.sfence()";
    static const char text[] = HEAD(F32("A", 2048) ", " F32("B", 2048)) //
        "    for i in T.%s(16):\n"
        "        for j in T.serial(8, annotations={\"non_temporal\": 1}):\n"
        "            B[T.Ramp(i * 128 + j * 16, 1, 16)] = A[T.Ramp(i * 128 + j * 16, 1, "
        "16)]\n";
    Fix *x = *state;

    NEED_LLVM();
    for (int threads = 0; threads < 3; threads++) {
        const char *program = ml_format(x->cx, text, threads ? "parallel" : "serial");
        const ml_Func *f = parse_func(x, program);
        ml_CodeOpts o = {.threads = (uint32_t)threads};
        const char *at, *first, *loop;
        ml_Text t = {0};

        same_text(x, program, EXACT);
        assert_true(ml_code_text(rig.ll, x->cx, &f, 1, &o, "llvm", &t));
        at = strstr(ml_text_z(&t), "!nontemporal");
        assert_non_null(at);
#if defined(__x86_64__)
        first = strstr(at, fence);
        loop = strstr(strstr(at, "br i1") + 1, "br i1"); /* where the outer one ends */
        assert_non_null(first);
        assert_true(threads ? loop < first : first < loop);
        assert_null(strstr(first + 1, fence));
#endif
        ml_text_free(&t);
    }
}

/* Vectors of registers are written as a whole: what lanes that are off held stays. */
static void masked_accesses_of_registers_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    for (int n = 0; n <= 16; n += 5)
        same_text(*state,
                  ml_format(((Fix *)*state)->cx,
                            HEAD(F32("A", 64) ", " F32(
                                "B", 64)) "    L = T.decl_buffer((32,), "
                                          "scope=\"local\")\n"
                                          "    L[T.Ramp(0, 1, 32)] = A[T.Ramp(32, "
                                          "1, 32)]\n"
                                          "    for k in range(3):\n"
                                          "        L.vstore([T.Ramp(16, 1, 16)], "
                                          "L.vload([T.Ramp(16, 1, 16)], "
                                          "predicate=T.Ramp(k, 1, 16) < "
                                          "T.Broadcast(%d, 16)) + A[T.Ramp(k, 1, "
                                          "16)], predicate=T.Ramp(0, 1, 16) < "
                                          "T.Broadcast(%d, 16))\n"
                                          "    L.vstore([T.Ramp(20, 1, 16)], "
                                          "A[T.Ramp(7, 1, 16)], "
                                          "predicate=T.Ramp(0, 1, 16) < "
                                          "T.Broadcast(12, 16))\n"
                                          "    B[T.Ramp(0, 1, 32)] = L[T.Ramp(0, "
                                          "1, 32)]\n",
                            n, n),
                  EXACT);
}

static void rows_turned_in_registers_equal_the_interpreter(void **state)
{
    static const char *const types[] = {"float32", "int8", "float64", "bool"};

    NEED_LLVM();
    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (int lanes = 4; lanes <= 64; lanes *= 2) {
            int n = 41;

            same_text(*state,
                      ml_format(((Fix *)*state)->cx,
                                HEAD("A: T.Buffer((%d,), \"%s\"), B: T.Buffer((%d,), "
                                     "\"%s\")") "    for k in range(%d):\n"
                                                "        B[T.Ramp(k * %d, 1, %d)] = "
                                                "A[T.Ramp(k, %d, %d)]\n",
                                n * lanes, types[t], n * lanes, types[t], n, lanes, lanes,
                                n, lanes),
                      EXACT);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(strided_loads_equal_the_interpreter),
        TEST(strided_stores_equal_the_interpreter),
        TEST(gathers_and_scatters_equal_the_interpreter),
        TEST(masked_accesses_leave_the_other_lanes_alone),
        TEST(every_comparison_of_lanes_is_a_right_mask),
        TEST(lanes_that_are_off_are_not_read),
        TEST(elements_that_are_vectors_equal_the_interpreter),
        TEST(rows_that_are_not_aligned_are_stored_right),
        TEST(views_and_two_dimensional_buffers_equal_the_interpreter),
        TEST(a_vector_reads_everything_before_it_writes),
        TEST(squares_are_transposed_in_registers),
        TEST(whole_vectors_go_past_the_caches_where_that_is_asked_for),
        TEST(a_thread_waits_once_for_what_it_stored_past_the_caches),
        TEST(masked_accesses_of_registers_equal_the_interpreter),
        TEST(rows_turned_in_registers_equal_the_interpreter),
    };

    return MAIN(tests);
}
