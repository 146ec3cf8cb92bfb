/*
 * test_control - loops, jumps, assertions, memory of a function, parallel loops.
 */
#include "run_llvm.h"

#define HEAD(params) "@T.prim_func\ndef main(" params "):\n"

static void loops_of_every_shape_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD("A: T.Buffer((64,), \"int32\"), n: T.int32, B: T.Buffer((64,), "
                   "\"int32\")") "    for i in range(n):\n"
                                 "        B[i] = A[i]\n"
                                 "    for i in range(2, 60, 7):\n"
                                 "        B[i] = B[i] + i * 3\n"
                                 "    for i in range(n - 5, n + 3):\n"
                                 "        for j in range(i + 5):\n"
                                 "            for k in T.unroll(1):\n"
                                 "                B[j + 20] = B[j + 20] * 3 + A[k] + i\n"
                                 "    for i in T.serial(0):\n"
                                 "        B[i + 100] = 0\n",
              EXACT);
}

static void a_bound_is_read_once(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD("B: T.Buffer((64,), \"int32\")") "    n = T.decl_buffer((1,), "
                                                    "\"int32\", scope=\"local\")\n"
                                                    "    n[0] = 20\n"
                                                    "    for i in range(n[0]):\n"
                                                    "        B[i] = B[i] + i\n"
                                                    "        n[0] = n[0] - 1\n",
              EXACT);
}

static void index_divisions_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD("A: T.Buffer((64,), \"int32\"), B: T.Buffer((400,), \"int64\"), n: "
                   "T.int32") "    for i in range(60):\n"
                              "        B[i] = T.Cast(\"int64\", A[(i - 30) % 7 + (i - 30) "
                              "// 4 + 8])\n"
                              "        B[i + 60] = T.Cast(\"int64\", A[T.truncmod(i, 7) + "
                              "T.truncdiv(i, 9)])\n"
                              "        B[i + 120] = T.Cast(\"int64\", (i - 30) // (n - 7) "
                              "+ (i - 20) % (n + 5))\n"
                              "        B[i + 180] = T.Cast(\"int64\", (i - 30) // (n + 3) "
                              "+ (i - 20) % (n - 4))\n"
                              "        B[i + 240] = T.Cast(\"int64\", T.truncdiv(i - 30, "
                              "4) + T.truncmod(i - 30, 4))\n"
                              "        B[i + 300] = T.Cast(\"int64\", T.min(i, 33) * "
                              "T.max(i - 30, n))\n",
              EXACT);
}

static void jumps_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(
        *state,
        HEAD(
            "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\")") "    i = "
                                                                            "T.decl_buffer("
                                                                            "(1,), "
                                                                            "\"int32\", "
                                                                            "scope="
                                                                            "\"local\")\n"
                                                                            "    i[0] = 0\n"
                                                                            "    while "
                                                                            "i[0] < 64:\n"
                                                                            "        if "
                                                                            "A[i[0]] % 5 "
                                                                            "== 3:\n"
                                                                            "            "
                                                                            "break\n"
                                                                            "        elif "
                                                                            "A[i[0]] % 3 "
                                                                            "== 1:\n"
                                                                            "            "
                                                                            "B[i[0]] = "
                                                                            "A[i[0]] - 1\n"
                                                                            "        "
                                                                            "else:\n"
                                                                            "            "
                                                                            "B[i[0]] = "
                                                                            "-A[i[0]]\n"
                                                                            "            "
                                                                            "i[0] += 2\n"
                                                                            "            "
                                                                            "continue\n"
                                                                            "        i[0] "
                                                                            "+= 1\n"
                                                                            "    for j in "
                                                                            "range(64):\n"
                                                                            "        big = "
                                                                            "T.decl_buffer("
                                                                            "(30000,), "
                                                                            "\"int32\")\n"
                                                                            "        "
                                                                            "big[j] = "
                                                                            "A[j]\n"
                                                                            "        if "
                                                                            "big[j] % 4 == "
                                                                            "2:\n"
                                                                            "            "
                                                                            "continue\n"
                                                                            "        if j "
                                                                            "== 50:\n"
                                                                            "            "
                                                                            "break\n"
                                                                            "        B[j] "
                                                                            "= B[j] + "
                                                                            "big[j]\n",
        EXACT);
}

static void variables_and_conditions_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD("A: T.Buffer((64,), \"float32\"), B: T.Buffer((64,), \"float32\"), n: "
                   "T.int32") "    for i in range(64):\n"
                              "        k: T.int32 = i * 5 % 64\n"
                              "        x: T.float32 = A[k] * T.float32(2)\n"
                              "        b: T.bool = A[i] > T.float32(0.5)\n"
                              "        if i < n + 40 and b:\n"
                              "            B[k] = x\n"
                              "        else:\n"
                              "            B[k] = T.Select(b, x, A[i])\n",
              EXACT);
}

static int32_t status_of(Fix *x, const ml_Func *f, int64_t n, const ml_CodeOpts *o)
{
    make_args(x, f);
    for (size_t k = 0; k < x->n_args; k++)
        x->args[k].i = n;
    return call_compiled(x, f, o);
}

static void a_failed_assertion_is_told_by_number(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;

    NEED_LLVM();
    f = parse_func(
        x,
        HEAD("A: T.Buffer((8,), \"int32\"), n: T.int32") "    big = "
                                                         "T.decl_buffer((100000,), "
                                                         "\"int32\")\n"
                                                         "    assert n < 100, \"too "
                                                         "large\"\n"
                                                         "    for i in range(8):\n"
                                                         "        A[i] = n\n"
                                                         "        big[i] = n\n"
                                                         "        assert big[i] != i + 40, "
                                                         "(\"ValueError\", [\"n\"])\n"
                                                         "    assert n != 7, \"seven\"\n");
    assert_int_equal(status_of(x, f, 5, &o), 0);
    assert_int_equal(status_of(x, f, 100, &o), 1);
    assert_int_equal(at(x, 0, 3), 3); /* nothing was written */
    assert_int_equal(status_of(x, f, 43, &o), 2);
    assert_int_equal(at(x, 0, 3), 43);
    assert_int_equal(at(x, 0, 4), 4);
    assert_int_equal(status_of(x, f, 7, &o), 3);
    ml_workspace_release();
}

static void memory_beyond_the_limit_ends_the_call(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;

    NEED_LLVM();
    LLVM_ONLY();
    f = parse_func(
        x,
        HEAD(
            "A: T.Buffer((8,), \"int32\"), n: T.int32") "    one = T.decl_buffer((20000,), "
                                                        "\"int32\")\n"
                                                        "    two = T.decl_buffer((n * "
                                                        "1000,), \"int32\")\n"
                                                        "    one[0] = 1\n"
                                                        "    two[n * 1000 - 1] = 2\n"
                                                        "    A[0] = one[0] + two[n * 1000 "
                                                        "- 1]\n");
    ml_workspace_release();
    ml_workspace_set_limit(1 << 20);
    assert_int_equal(status_of(x, f, 5, &o), 0);
    assert_int_equal(at(x, 0, 0), 3);
    assert_int_equal(status_of(x, f, 5000, &o), ML_CALL_NO_WORKSPACE);
    assert_int_equal(status_of(x, f, 5, &o), 0); /* the first was given back */
    ml_workspace_release();
    ml_workspace_set_limit(0);
}

static void memory_that_nothing_uses_is_given_back(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Buffer *a = BUF("A", ML_DT_I32, I(8)), *big = BUF("big", ML_DT_I32, I(100000));
    const ml_Var *i = IVAR("i"), *j = IVAR("j");
    const ml_Stmt *alloc = ml_alloc_stmt(x->cx, big, NULL);
    const ml_Stmt *arm = ml_if(x->cx, ml_lt(x->cx, X(j), I(500)), alloc, NULL);
    const ml_Func *f = FUNC(SEQ(loop(x, ML_FOR_SERIAL, i, I(1000), alloc),
                                loop(x, ML_FOR_SERIAL, j, I(1000), arm), ST(a, I(1), I(0))),
                            a);

    NEED_LLVM();
    ml_workspace_release();
    ml_workspace_set_limit(1 << 20);
    make_args(x, f);
    assert_int_equal(call_compiled(x, f, &o), 0);
    ml_workspace_release();
    ml_workspace_set_limit(0);
}

static void small_memory_is_on_the_stack_and_large_is_not(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    const ml_Func *f;
    ml_Text t = {0};

    NEED_LLVM();
    f = parse_func(
        x, HEAD("A: T.Buffer((8,), \"int32\")") "    small = T.decl_buffer((10000,), "
                                                "\"int32\")\n"
                                                "    next = T.decl_buffer((10000,), "
                                                "\"int32\")\n"
                                                "    small[0] = A[0]\n"
                                                "    next[0] = small[0]\n"
                                                "    A[1] = next[0]\n");
    assert_true(ml_code_text(rig.ll, x->cx, &f, 1, &o, "llvm", &t));
    assert_non_null(strstr(ml_text_z(&t), "%small = alloca [40000 x i8], align 64"));
    assert_non_null(strstr(ml_text_z(&t), "@ml_workspace_alloc(i64 40000, i64 64)"));
    ml_text_free(&t);
}

/* ---------------------------------------------------------------- parallel loops */

static const char *sum_rows(Fix *x, const char *kind, int extent)
{
    return ml_format(
        x->cx,
        HEAD(
            "A: T.Buffer((%d,), \"float32\"), B: T.Buffer((%d,), \"float32\"), n: T.int32, "
            "f: T.float32, h: T.float16, b: T.bool") "    m: T.int32 = n + 3\n"
                                                     "    v: T.float32 = A[0] + "
                                                     "T.float32(1)\n"
                                                     "    for i in T.parallel(%s):\n"
                                                     "        acc = T.decl_buffer((1,), "
                                                     "\"float32\", scope=\"local\")\n"
                                                     "        tmp = "
                                                     "T.decl_buffer((20000,), "
                                                     "\"float32\")\n"
                                                     "        acc[0] = T.Select(b, v, f)\n"
                                                     "        for j in range(16):\n"
                                                     "            tmp[j] = A[i * 16 + j] + "
                                                     "T.Cast(\"float32\", m)\n"
                                                     "            acc[0] = acc[0] + tmp[j] "
                                                     "* T.Cast(\"float32\", h)\n"
                                                     "        if i == 3:\n"
                                                     "            continue\n"
                                                     "        B[i] = acc[0]\n",
        extent * 16, extent, kind);
}

static void parallel_loops_equal_the_interpreter(void **state)
{
    Fix *x = *state;
    static const char *const extra[] = {"", ", annotations={\"uneven\": 1}",
                                        ", annotations={\"stride_pattern\": 1}"};

    NEED_LLVM();
    LLVM_ONLY();
    for (int extent = 1; extent <= 37; extent += 3)
        for (size_t k = 0; k < ML_COUNT(extra); k++)
            for (uint32_t threads = 0; threads <= 4; threads += 2) {
                ml_CodeOpts o = {.threads = threads, .no_contract = true};
                const char *kind = ml_format(x->cx, "%d%s", extent, extra[k]);
                const ml_Func *f;
                f = parse_func(x, sum_rows(x, kind, extent));
                make_args(x, f);
                fill_random(x, 3);
                x->args[2].i = 4;
                x->args[3].f = 1.5;
                x->args[4].f = 0.25;
                x->args[5].i = extent % 4 == 1;
                same_as_interpreter(x, f, &o, EXACT);
            }
}

static void parallel_loops_with_steps_and_bounds_equal_the_interpreter(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD("A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\"), n: "
                   "T.int32") "    for i in T.parallel(n + 2, n + 61):\n"
                              "        B[i] = A[i] * i\n"
                              "    for i in T.parallel(8):\n"
                              "        for j in T.parallel(8):\n"
                              "            B[i * 8 + j] = B[i * 8 + j] + A[j]\n"
                              "    for i in T.parallel(n):\n"
                              "        B[i] = 0\n",
              EXACT);
}

static void an_assertion_in_a_parallel_loop_comes_back(void **state)
{
    Fix *x = *state;
    const ml_Func *f;

    NEED_LLVM();
    f = parse_func(
        x,
        HEAD(
            "A: T.Buffer((64,), \"int32\"), n: T.int32") "    assert n >= 0, \"negative\"\n"
                                                         "    big = "
                                                         "T.decl_buffer((100000,), "
                                                         "\"int32\")\n"
                                                         "    for i in T.parallel(64):\n"
                                                         "        assert i != n, \"met\"\n"
                                                         "        big[i] = i\n"
                                                         "        A[i] = 7 + big[i]\n"
                                                         "    A[0] = 1\n");
    for (uint32_t threads = 0; threads < 4; threads++) {
        ml_CodeOpts o = {.threads = threads};
        assert_int_equal(status_of(x, f, 33, &o), 2);
        assert_int_equal(at(x, 0, 33), 33);
        assert_int_equal(at(x, 0, 5), 12);
        assert_int_equal(status_of(x, f, 99, &o), 0);
        assert_int_equal(at(x, 0, 0), 1);
        assert_int_equal(at(x, 0, 63), 70);
        assert_int_equal(status_of(x, f, -4, &o), 1);
    }
}

static void what_cannot_be_compiled_is_refused_by_name(void **state)
{
    Fix *x = *state;
    ml_CodeOpts o = {0};
    static const struct {
        const char *text, *says;
        ml_ErrorCode code;
    } cases[] = {
        {HEAD("A: T.Buffer((8,), \"float8_e4m3\")") "    A[0] = A[1]\n", "float8_e4m3",
         ML_E_NOT_SUPPORTED},
        {HEAD("A: T.Buffer((8,), \"int4\")") "    A[0] = A[1]\n", "int4",
         ML_E_NOT_SUPPORTED},
        {HEAD(
             "A: T.Buffer((8,), \"int32\")") "    for i in T.thread_binding(8, "
                                             "thread=\"threadIdx.x\"):\n        A[i] = 1\n",
         "thread", ML_E_NOT_SUPPORTED},
        {HEAD("A: T.Buffer((8,), \"int32\")") "    for i in T.parallel(8):\n        if "
                                              "A[i] == 1:\n            break\n",
         "break", ML_E_CODEGEN_FAILED},
        {HEAD("A: T.Buffer((8,), \"int32\")") "    T.evaluate(T.call_packed(\"f\", "
                                              "A.data))\n",
         "tvm_call_packed", ML_E_NOT_SUPPORTED},
        {HEAD("A: T.Buffer((8,), \"int32\")") "    with T.block(\"b\"):\n        v = "
                                              "T.axis.spatial(8, 1)\n        A[v] = 1\n",
         "block", ML_E_CODEGEN_FAILED},
    };

    NEED_LLVM();
    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        const ml_Func *f = parse_func(x, cases[k].text);
        ml_Bytes obj;
        assert_false(ml_code_object(rig.ll, x->cx, &f, 1, &o, &obj));
        assert_int_equal(ml_error(x->cx)->code, cases[k].code);
        if (!strstr(error_text(x), cases[k].says))
            fail_msg("%s", error_text(x));
        ml_error_clear(x->cx);
    }
}

/* gcc 12 -O2 takes j for the inner loop, of which other stores are the last ones. */
static void stores_that_overlap_stay_in_their_order(void **state)
{
    NEED_LLVM();
    same_text(*state,
              HEAD("A: T.Buffer((4, 4), \"int32\"), B: T.Buffer((7,), \"int32\"), C: "
                   "T.Buffer((64,), \"int32\")") "    for j, i in T.grid(4, 4):\n"
                                                 "        B[i + j] = A[i, j]\n"
                                                 "    for i, j in T.grid(5, 5):\n"
                                                 "        C[i * 6 + j + 7] = C[i * 6 + j] "
                                                 "* 3 + 1\n",
              EXACT);
}

/* They look at every line by itself: at parentheses around an ==, and, in what is never reached,
 * at an element beyond a buffer and at one that nothing writes. */
static void compilers_find_nothing_in_what_is_printed(void **state)
{
    static const char *const compilers[] = {"gcc", "clang"};
    Fix *x = *state;
    ml_CodeOpts o = {.no_contract = true};
    ml_Target t = ml_target_host();
    ml_Lower lo = {.cx = x->cx, .opts = ml_lower_defaults(&t)};
    const ml_Func *f = parse_func(
        x,
        "@T.prim_func\n"
        "def main(A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
        "    C = T.decl_buffer((2,), \"int32\")\n"
        "    D = T.decl_buffer((1,), \"int32\")\n"
        "    C[0] = 3\n"
        "    C[1] = 4\n"
        "    t = T.int32()\n"
        "    for i in range(2):\n"
        "        for j in range(T.max(i * 4 - 1, 0)):\n"
        "            if j <= 0 or i * 4 + j <= 1:\n"
        "                B[i * 4 + j] = T.if_then_else(i * 4 + j < 1, D[0], 0)\n"
        "            if A[j] * A[j] == 7:\n"
        "                B[2] = C[2]\n"
        "            B[j] = B[j] + T.if_then_else(j == 1, T.Let(t + t * 3, where={t: A[i] "
        "// 3}), C[i])\n");

    NEED_LLVM();
    f = ml_lower(&lo, placed(x, f), NULL, NULL, NULL);
    assert_non_null(f);
    for (size_t k = 0; k < ML_COUNT(compilers); k++)
        for (uint32_t pick = 0; printed_has(compilers[k]) && pick < 12; pick++) {
            ml_Text said = {0};
            ml_Bytes object;
            if (!printed_object(compilers[k], rig.ll, x->cx, f, &o, pick, &object, &said))
                fail_msg("%s", ml_text_z(&said));
            free(object.v);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(loops_of_every_shape_equal_the_interpreter),
        TEST(a_bound_is_read_once),
        TEST(index_divisions_equal_the_interpreter),
        TEST(jumps_equal_the_interpreter),
        TEST(variables_and_conditions_equal_the_interpreter),
        TEST(a_failed_assertion_is_told_by_number),
        TEST(memory_beyond_the_limit_ends_the_call),
        TEST(memory_that_nothing_uses_is_given_back),
        TEST(small_memory_is_on_the_stack_and_large_is_not),
        TEST(parallel_loops_equal_the_interpreter),
        TEST(parallel_loops_with_steps_and_bounds_equal_the_interpreter),
        TEST(an_assertion_in_a_parallel_loop_comes_back),
        TEST(what_cannot_be_compiled_is_refused_by_name),
        TEST(stores_that_overlap_stay_in_their_order),
        TEST(compilers_find_nothing_in_what_is_printed),
    };

    return MAIN_TWICE(tests);
}
