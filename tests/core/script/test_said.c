/* test_said - what a program says is printed as it was said: each text is the printed form
 * of what it denotes, byte for byte, in its own spelling. */
#include "../core_test.h"

#include <stdio.h>
#include <string.h>

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"

#define CLASSIC "# from tvm.script import tir as T\n\n@T.prim_func\n"
#define NEWEST  "# from tvm.script import tirx as T\n\n@T.prim_func\n"
#define S_TIR   "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"
#define MODULE                                                                             \
    "# from tvm.script import ir as I\n# from tvm.script import tir as T\n\n"              \
    "@I.ir_module\nclass Module:\n"

static void print(ml_Text *out, ml_Ctx *cx, const ml_Module *m, bool one)
{
    if (one)
        ml_print_func(cx, out, m->funcs[0], NULL);
    else
        ml_print_module(cx, out, m, NULL);
}

static void check(const char *text)
{
    bool one = !strstr(text, "class Module");
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);
    ml_Text t = {0};

    if (!p.mod)
        fail_msg("%s in line %u of\n%s", p.diags[0].message, (unsigned)p.diags[0].span.line,
                 text);
    print(&t, cx, p.mod, one);
    if (strcmp(ml_text_z(&t), text) != 0)
        fail_msg("printed\n%s\nof\n%s", ml_text_z(&t), text);
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

static void a_target_stays_a_target(void **state)
{
    (void)state;
    check(
        CLASSIC
        "def f(n: T.int32):\n"
        "    T.func_attr({\"a\": T.target({\"kind\": \"llvm\", \"num-cores\": 4}), \"b\": "
        "T.target(\"cuda\"), \"c\": T.target(\"cuda\", host=\"llvm\"), \"d\": \"cuda\", "
        "\"e\": [T.target(\"llvm\")]})\n"
        "    T.evaluate(n)");
    check(CLASSIC "def f(n: T.int32):\n"
                  "    T.attr(T.target(\"cuda\"), \"target\", 0)\n"
                  "    T.evaluate(n)");
}

static void targets_and_strings_are_different(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Value *s = ml_val_string(cx, ml_str("cuda")),
                   *h = ml_val_string(cx, ml_str("c"));
    const ml_Value *t = ml_val_target(cx, s, NULL), *with = ml_val_target(cx, s, h);

    (void)state;
    assert_false(ml_value_eq(s, t));
    assert_false(ml_value_eq(t, with));
    assert_true(ml_value_eq(with, ml_val_target(cx, s, ml_val_string(cx, ml_str("c")))));
    ml_ctx_unref(cx);
}

static void threads_and_handles_keep_their_types(void **state)
{
    (void)state;
    check(CLASSIC "def f(n: T.int32):\n"
                  "    bx = T.launch_thread(\"blockIdx.x\", T.int64(1))\n"
                  "    tx = T.launch_thread(\"threadIdx.x\", 32)\n"
                  "    T.evaluate(bx + T.Cast(\"int64\", tx))");
    check(CLASSIC "def f(n: T.int32):\n"
                  "    tx = T.env_thread(\"threadIdx.x\", \"int64\")\n"
                  "    with T.launch_thread(tx, T.int64(4)):\n"
                  "        T.evaluate(tx)\n"
                  "    T.launch_thread(tx, T.int64(4))\n"
                  "    T.evaluate(tx)");
    check(
        CLASSIC
        "def f(a: T.handle(storage_scope=\"shared\"), b: T.handle(\"int8\", \"local\"), c: "
        "T.handle):\n"
        "    A = T.match_buffer(a, (16,), scope=\"shared\")\n"
        "    p: T.handle(storage_scope=\"shared\") = A.data\n"
        "    T.isnullptr(p)");
}

static void offsets_and_bindings_stay(void **state)
{
    (void)state;
    check(CLASSIC "def f(a: T.handle, b: T.handle, C: T.Buffer((16,), \"float32\")):\n"
                  "    A = T.match_buffer(a, (16,), elem_offset=0)\n"
                  "    B = T.match_buffer(b, (T.int64(16),), elem_offset=0)\n"
                  "    D = T.decl_buffer((4,), data=A.data, elem_offset=0)\n"
                  "    D[0] = B[T.int64(0)] + C[0]");
    check(CLASSIC "def f(A: T.Buffer((1,), \"int8\")):\n"
                  "    # with T.block(\"root\"):\n"
                  "    with T.block(\"b\"):\n"
                  "        u = T.axis.spatial(1, T.int64(0))\n"
                  "        v = T.axis.spatial(T.int64(1), 0)\n"
                  "        w = T.axis.reduce(1, 0)\n"
                  "        T.reads()\n"
                  "        T.writes(A[u])\n"
                  "        A[u] = T.int8(1)");
}

static void s_tir_is_printed_where_it_stood(void **state)
{
    static const char *const BODIES = "def f(A: T.Buffer((4,), \"float32\")):\n"
                                      "    x: T.float32 = A[0]\n"
                                      "    x = x + T.float32(1.0)\n"
                                      "    A[0] = x";
    char text[512];

    (void)state;
    snprintf(text, sizeof text, "%s%s", NEWEST, BODIES);
    check(text);
    snprintf(text, sizeof text, "%s%s", S_TIR, BODIES);
    check(text);
    /* below functions of both spellings the line of the import cannot tell which */
    check(MODULE "    @T.prim_func\n"
                 "    def f(n: T.int32):\n"
                 "        x: T.int32 = n\n"
                 "        T.evaluate(x)\n"
                 "\n"
                 "    @T.prim_func(s_tir=True)\n"
                 "    def g(n: T.int32):\n"
                 "        x: T.int32 = n\n"
                 "        T.evaluate(x)");
}

static void vectors_that_are_operands_are_ramps(void **state)
{
    (void)state;
    check(S_TIR "def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
                "    B[0:4] = A[T.Ramp(0, 1, 4)] + A[T.Ramp(4, 2, 4)]\n"
                "    B[4:8] = A[4:8]");
    check(CLASSIC
          "def f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")):\n"
          "    B[0:4] = A[0:4] + A[4:12:2]\n"
          "    B[4:8] = A[4:8]");
}

static void calls_of_the_module_stay_calls(void **state)
{
    (void)state;
    check(MODULE "    @T.prim_func(private=True)\n"
                 "    def sub(p: T.handle(\"float32\"), n: T.int32) -> T.int32:\n"
                 "        return n\n"
                 "\n"
                 "    @T.prim_func\n"
                 "    def main(A: T.Buffer((4,), \"float32\")):\n"
                 "        Module.sub(A.data, 4)\n"
                 "        T.evaluate(Module.sub(A.data, 2) + 1)");
}

/* Alone, a function still says what it calls. */
static void a_call_outside_its_module_reads_back(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(
        cx,
        ml_str(MODULE "    @T.prim_func\n    def a(n: T.int32):\n        T.evaluate(n)\n"
                      "    @T.prim_func\n    def b(n: T.int32):\n        Module.a(n)\n"),
        NULL);
    ml_Text t = {0};
    ml_Parsed q;

    (void)state;
    assert_non_null(p.mod);
    ml_print_func(cx, &t, ml_module_find(p.mod, "b"), NULL);
    q = ml_parse(cx, ml_str(ml_text_z(&t)), NULL);
    assert_non_null(q.mod);
    assert_true(ml_equal_func(cx, ml_module_find(p.mod, "b"), q.mod->funcs[0], NULL, NULL));
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

static void calls_of_devices_are_kept(void **state)
{
    (void)state;
    check(S_TIR "def f(A: T.Buffer((16,), \"float32\")):\n"
                "    T.cuda.cta_sync()\n"
                "    A[0] = T.cuda.__shfl_xor_sync(T.cuda.__activemask(), A[1], 1, 32)\n"
                "    A[1] = T.cuda.func_call(\"twice\", A[0], dtype=\"float32\")\n"
                "    T.cuda.wgmma.fence(A.data)\n"
                "    T.ptx.mbarrier.init(A.data, 1)\n"
                "    T.ptx.cp_async.commit_group()\n"
                "    T.metal.simdgroup_barrier()\n"
                "    T.nvshmem.quiet()\n"
                "    T.create_barriers(2)");
}

static void an_unknown_name_that_is_nearly_a_known_one_is_refused(void **state)
{
    static const char *const CALLS[] = {"T.cuda.cta_synk()",
                                        "T.ptx.mbarier.init(A.data, 1)",
                                        "T.ptx_mmaa(\"int8\", 1)",
                                        "T.metal.simdgroup_lad(1)",
                                        "T.cuda.9()",
                                        "T.cudda.cta_sync()"};

    (void)state;
    for (size_t k = 0; k < sizeof CALLS / sizeof *CALLS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        char text[256];

        snprintf(text, sizeof text,
                 "@T.prim_func\ndef f(A: T.Buffer((4,), \"int8\")):\n    %s\n", CALLS[k]);
        if (ml_parse(cx, ml_str(text), NULL).mod)
            fail_msg("%s is read", CALLS[k]);
        ml_ctx_unref(cx);
    }
}

/* A call by its full name is never a slip; it prints so that it reads back. */
static void a_call_by_name_is_never_a_slip(void **state)
{
    (void)state;
    check(CLASSIC "def f(A: T.Buffer((4,), \"int8\")):\n"
                  "    T.call_intrin(\"int8\", \"tir.ptx_mmaa\", 1)\n"
                  "    T.call_intrin(\"void\", \"tir.cuda.cta_synk\")");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_stays_a_target),
        cmocka_unit_test(targets_and_strings_are_different),
        cmocka_unit_test(threads_and_handles_keep_their_types),
        cmocka_unit_test(offsets_and_bindings_stay),
        cmocka_unit_test(s_tir_is_printed_where_it_stood),
        cmocka_unit_test(vectors_that_are_operands_are_ramps),
        cmocka_unit_test(calls_of_the_module_stay_calls),
        cmocka_unit_test(a_call_outside_its_module_reads_back),
        cmocka_unit_test(calls_of_devices_are_kept),
        cmocka_unit_test(an_unknown_name_that_is_nearly_a_known_one_is_refused),
        cmocka_unit_test(a_call_by_name_is_never_a_slip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
