/*
 * test_low_level - low-level calls by name, allocation statements by pointer, offsets of
 * elements: what they denote, that they survive printing, and what is refused.
 * Source: script 6, 10.4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "late.h"

#define HEAD                                                                               \
    "@T.prim_func\ndef f(A: T.Buffer((16,), \"float32\"), B: T.Buffer((4, 4), "            \
    "\"float32\"), n: T.int32):\n"

static const LatePair CALLS[] = {
    {"packed calls that are lowered, by either name",
     HEAD "    T.call_packed_lowered(\"g\", A.data, B.data, 0, 2)\n"
          "    T.tvm_call_packed_lowered(\"g\", A.data, B.data, 0, 2, dtype=\"int32\")\n"
          "    T.call_cpacked_lowered(\"g\", A.data, B.data, 0, 2)\n"
          "    T.tvm_check_return(0, -1, T.call_extern(\"int32\", \"h\"))\n"
          "    A[0] = T.tvm_thread_invariant(A[1])\n",
     HEAD
     "    T.call_intrin(\"int32\", \"tir.tvm_call_packed_lowered\", \"g\", A.data, B.data, "
     "0, 2)\n"
     "    T.call_intrin(\"int32\", \"tir.tvm_call_packed_lowered\", \"g\", A.data, B.data, "
     "0, 2)\n"
     "    T.call_intrin(\"int32\", \"tir.tvm_call_cpacked_lowered\", \"g\", A.data, "
     "B.data, 0, 2)\n"
     "    T.call_intrin(\"int32\", \"tir.tvm_check_return\", 0, -1, "
     "T.call_extern(\"int32\", \"h\"))\n"
     "    A[0] = T.call_intrin(\"float32\", \"tir.tvm_thread_invariant\", A[1])\n"},
    {"a let expression",
     HEAD "    y = T.var(\"float32\")\n    A[0] = T.let(y, A[1], y * y)\n",
     HEAD "    y = T.var(\"float32\")\n    A[0] = T.Let(y * y, where={y: A[1]})\n"},
    {"a size",
     "@T.prim_func\ndef f(a: T.handle):\n    x = T.SizeVar(\"x\", \"int64\")\n"
     "    C = T.match_buffer(a, (x,))\n    C[0] = 0.0\n",
     "@T.prim_func\ndef f(a: T.handle):\n    x = T.Var(\"x\", \"int64\", "
     "is_size_var=True)\n"
     "    C = T.match_buffer(a, (x,))\n    C[0] = 0.0\n"},
    {"older names of floats",
     HEAD "    A[0] = T.cast(T.cast(A[1], \"e4m3_float8\"), \"float32\")\n"
          "    A[1] = T.cast(T.cast(A[1], \"e5m2_float8\"), \"float32\")\n",
     HEAD "    A[0] = T.cast(T.cast(A[1], \"float8_e4m3fn\"), \"float32\")\n"
          "    A[1] = T.cast(T.cast(A[1], \"float8_e5m2\"), \"float32\")\n"},
    {"a keyword dtype is ignored",
     HEAD "    T.tvm_fill_fragment(A.data, 16, 16, 16, 0, 0.0, dtype=\"handle\")\n",
     HEAD "    T.evaluate(T.call_intrin(\"handle\", \"tir.tvm_fill_fragment\", A.data, 16, "
          "16, 16, "
          "0, T.float32(0)))\n"},
    {"wmma",
     HEAD "    T.tvm_load_matrix_sync(A.data, 16, 16, 16, n, B.data, 4, \"row_major\")\n"
          "    T.tvm_mma_sync(A.data, 0, A.data, 0, A.data, 0, A.data, 0)\n",
     HEAD
     "    T.call_intrin(\"handle\", \"tir.tvm_load_matrix_sync\", A.data, 16, 16, 16, n, "
     "B.data, 4, \"row_major\")\n"
     "    T.call_intrin(\"handle\", \"tir.tvm_mma_sync\", A.data, 0, A.data, 0, A.data, 0, "
     "A.data, 0)\n"},
    {"the dtype first or by keyword",
     HEAD "    T.ptx_mma(\"float32\", \"m16n8k8\", \"row\", A.data, n)\n"
          "    T.ptx_mma(\"m16n8k8\", \"row\", A.data, n, dtype=\"float32\")\n"
          "    A[0:2] = T.vectorlow(\"float32x2\", A[0:4])\n",
     HEAD
     "    T.call_intrin(\"float32\", \"tir.ptx_mma\", \"m16n8k8\", \"row\", A.data, n)\n"
     "    T.call_intrin(\"float32\", \"tir.ptx_mma\", \"m16n8k8\", \"row\", A.data, n)\n"
     "    A[0:2] = T.call_intrin(\"float32x2\", \"tir.vectorlow\", A[0:4])\n"},
    {"namespaces of ptx",
     HEAD "    T.ptx.mma(\"m16n8k8\", \"row\", A.data, n)\n    T.ptx.bar(1)\n"
          "    T.ptx_legacy.ldmatrix(\"float16\", True, 4)\n    T.ptx_commit_group()\n",
     HEAD "    T.call_intrin(\"void\", \"tir.ptx.mma\", \"m16n8k8\", \"row\", A.data, n)\n"
          "    T.call_intrin(\"\", \"tir.ptx.bar\", 1)\n"
          "    T.call_intrin(\"float16\", \"tir.ptx_legacy.ldmatrix\", True, 4)\n"
          "    T.call_intrin(\"\", \"tir.ptx_commit_group\")\n"},
    {"a shuffle has the dtype of its value",
     HEAD "    A[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[1], n, 32, 32)\n",
     HEAD "    A[0] = T.call_intrin(\"float32\", \"tir.tvm_warp_shuffle\", "
          "T.call_intrin(\"uint32\", "
          "\"tir.tvm_warp_activemask\"), A[1], n, 32, 32)\n"},
    {"the dtype last",
     HEAD "    s: T.handle = T.tvm_stack_alloca(\"array\", 1)\n"
          "    x: T.int64 = T.tvm_struct_get(s, 0, 3, \"int64\")\n"
          "    T.tvm_struct_set(s, 0, 3, x)\n"
          "    assert T.isnullptr(s), \"null\"\n",
     HEAD
     "    s: T.handle = T.call_intrin(\"handle\", \"tir.tvm_stack_alloca\", \"array\", 1)\n"
     "    x: T.int64 = T.call_intrin(\"int64\", \"tir.tvm_struct_get\", s, 0, 3)\n"
     "    T.call_intrin(\"int32\", \"tir.tvm_struct_set\", s, 0, 3, x)\n"
     "    assert T.call_intrin(\"bool\", \"tir.isnullptr\", s), \"null\"\n"},
    {"the number of lanes", HEAD "    A[0] = T.cast(T.vscale() * 4, \"float32\")\n",
     HEAD "    A[0] = T.cast(T.call_intrin(\"int32\", \"tir.vscale\") * 4, \"float32\")\n"},
    {"intrinsics of LLVM by number",
     HEAD "    A[0] = T.call_llvm_pure_intrin(\"float32\", "
          "T.llvm_lookup_intrinsic_id(\"llvm.fmuladd\"), T.uint32(3), A[0], A[1], A[2])\n",
     HEAD "    A[0] = T.call_llvm_pure_intrin(\"float32\", \"llvm.fmuladd\", A[0], A[1], "
          "A[2])\n"},
    {"other counts of arguments, other dtypes stay as they are",
     HEAD "    T.call_intrin(\"int32\", \"tir.tvm_mma_sync\", 1)\n"
          "    T.call_intrin(\"int32\", \"tir.vscale\", 1)\n"
          "    T.call_intrin(\"float32\", \"tir.tvm_warp_shuffle\", 1, 2, 3, 4, 5)\n"
          "    T.call_intrin(\"int32\", \"tir.ptx.\", 1)\n"
          "    T.call_intrin(\"int32\", \"tir.ptx_a-b\", 1)\n",
     HEAD "    T.call_intrin(\"int32\", \"tirx.tvm_mma_sync\", 1)\n"
          "    T.call_intrin(\"int32\", \"tirx.vscale\", 1)\n"
          "    T.call_intrin(\"float32\", \"tirx.tvm_warp_shuffle\", 1, 2, 3, 4, 5)\n"
          "    T.call_intrin(\"int32\", \"tirx.ptx.\", 1)\n"
          "    T.call_intrin(\"int32\", \"tirx.ptx_a-b\", 1)\n"},
};

static const LateRow BAD_CALLS[] = {
    {"E414", 3, 5, 0, "takes 8 arguments, 1 given", HEAD "    T.tvm_mma_sync(A.data)\n"},
    {"E414", 3, 12, 0, "needs the argument `dtype`", HEAD "    A[0] = T.vectorlow()\n"},
    {"E503", 3, 19, 0, "2 dimensions, 1 index", HEAD "    A[B.offset_of([0])[0]] = 1.0\n"},
    {"E516", 3, 24, 0, "expected a dtype", HEAD "    A[0] = T.vectorlow(A[0:4], A[0:4])\n"},
    {"E401", 3, 5, 0, "did you mean `T.tvm_mma_sync`", HEAD "    T.tvm_mma_synk(1)\n"},
    {"E416", 3, 0, 0, "unknown intrinsic",
     HEAD "    A[0] = T.llvm_lookup_intrinsic_id(\"x\")\n"},
    {"E420", 3, 12, 0, "xvscalex4", HEAD "    A[0] = T.float32xvscalex4(1)\n"},
    {"E420", 3, 25, 0, "xvscalex4", HEAD "    A[0] = T.cast(A[0], \"float32xvscalex4\")\n"},
};

static const LatePair OFFSETS[] = {
    {"rows", HEAD "    A[B.offset_of([n, 3])[0]] = 1.0\n", HEAD "    A[n * 4 + 3] = 1.0\n"},
    {"strides and an offset",
     HEAD "    C = T.decl_buffer((4, 4), data=A.data, strides=[2, 5], elem_offset=n)\n"
          "    C[1, 1] = 0.0\n    A[C.offset_of((n, 1))[0]] = 1.0\n",
     HEAD "    C = T.decl_buffer((4, 4), data=A.data, strides=[2, 5], elem_offset=n)\n"
          "    C[1, 1] = 0.0\n    A[n + (n * 2 + 5)] = 1.0\n"},
    {"groups of axes",
     HEAD "    C = T.decl_buffer((4, 4, 2), axis_separators=[1])\n"
          "    C[0, 0, 0] = 0.0\n    A[len(C.offset_of([1, 2, n]))] = 1.0\n"
          "    A[C.offset_of([1, 2, n])[1]] = 1.0\n",
     HEAD "    C = T.decl_buffer((4, 4, 2), axis_separators=[1])\n"
          "    C[0, 0, 0] = 0.0\n    A[2] = 1.0\n    A[T.Add(4, n)] = 1.0\n"},
    {"no axis",
     HEAD "    C = T.decl_buffer(())\n    C[()] = 0.0\n    A[C.offset_of([])[0]] = 1.0\n",
     HEAD "    C = T.decl_buffer(())\n    C[()] = 0.0\n    A[0] = 1.0\n"},
};

static const LatePair ALLOCATIONS[] = {
    {"a pointer and the buffer over it become one",
     HEAD "    p = T.allocate([16], \"float32\", \"local\")\n"
          "    C = T.decl_buffer((16,), data=p, scope=\"local\")\n    C[0] = A[0]\n",
     HEAD "    C = T.decl_buffer((16,), scope=\"local\")\n    C[0] = A[0]\n"},
    {"as a scope",
     HEAD "    with T.allocate((n, 2), \"int8\", annotations={\"k\": 1}) as p:\n"
          "        C = T.Buffer((n, 2), \"int8\", data=p)\n        C[0, 0] = 1\n",
     HEAD
     "    C = T.decl_buffer((n, 2), \"int8\", annotations={\"k\": 1})\n    C[0, 0] = 1\n"},
    {"declared by its older name",
     HEAD "    p = T.allocate([16], \"float32\")\n"
          "    C = T.buffer_decl([16], data=p)\n    C[0] = A[0]\n",
     HEAD "    C = T.decl_buffer((16,))\n    C[0] = A[0]\n"},
    {"a declaration as a scope",
     HEAD "    with T.decl_buffer((4, 4), data=A.data) as C:\n        C[0, 0] = 1.0\n"
          "    with T.decl_buffer((2,), \"int8\") as D:\n        D[0] = 1\n",
     HEAD "    C = T.decl_buffer((4, 4), data=A.data)\n    C[0, 0] = 1.0\n"
          "    D = T.decl_buffer((2,), \"int8\")\n    D[0] = 1\n"},
    {"another shape is another buffer",
     HEAD "    p = T.allocate([16], \"float32\", condition=True)\n"
          "    C = T.decl_buffer((4, 4), data=p)\n    C[0, 0] = A[0]\n",
     HEAD "    p = T.decl_buffer((16,))\n"
          "    C = T.decl_buffer((4, 4), data=p.data)\n    C[0, 0] = A[0]\n"},
    {"another use of the pointer keeps both",
     HEAD
     "    p = T.allocate([16], \"float32\")\n"
     "    C = T.decl_buffer((16,), data=p)\n    T.evaluate(T.call_extern(\"int32\", \"g\", "
     "p))\n    C[0] = A[0]\n",
     HEAD
     "    p = T.decl_buffer((16,))\n"
     "    C = T.decl_buffer((16,), data=p.data)\n    T.evaluate(T.call_extern(\"int32\", "
     "\"g\", p.data))\n    C[0] = A[0]\n"},
    {"an attribute of the pointer is a use",
     HEAD "    p = T.allocate([16], \"float32\")\n    T.attr(p, \"volatile_scope\", 1)\n"
          "    C = T.decl_buffer((16,), data=p)\n    C[0] = A[0]\n",
     HEAD "    q = T.decl_buffer((16,))\n    T.attr(q.data, \"volatile_scope\", 1)\n"
          "    C = T.decl_buffer((16,), data=q.data)\n    C[0] = A[0]\n"},
    {"only a pointer",
     HEAD "    p = T.allocate([16], \"float32\")\n    T.call_extern(\"int32\", \"g\", p)\n",
     HEAD "    p = T.decl_buffer((16,))\n    T.call_extern(\"int32\", \"g\", p.data)\n"},
    {"in a loop, declared further in",
     HEAD "    for i in range(4):\n        p = T.allocate([4], \"float32\")\n"
          "        for j in range(4):\n            C = T.decl_buffer((4,), data=p)\n"
          "            C[j] = A[j]\n",
     HEAD "    for i in range(4):\n        C = T.decl_buffer((4,))\n"
          "        for j in range(4):\n            C[j] = A[j]\n"},
    {"constants are stores",
     HEAD "    p = T.allocate_const([[1, 2], [3, -4]], \"int8\", [2, 2])\n"
          "    C = T.decl_buffer((2, 2), \"int8\", data=p)\n    A[0] = T.cast(C[1, 0], "
          "\"float32\")\n",
     HEAD "    C = T.decl_buffer((2, 2), \"int8\")\n    C[0, 0] = T.int8(1)\n"
          "    C[0, 1] = T.int8(2)\n    C[1, 0] = T.int8(3)\n    C[1, 1] = T.int8(-4)\n"
          "    A[0] = T.cast(C[1, 0], \"float32\")\n"},
};

static const LateRow BAD_ALLOCATIONS[] = {
    {"E420", 3, 41, 5, "under a condition",
     HEAD "    p = T.allocate([16], \"float32\", \"\", n > 0)\n"},
    {"E414", 3, 9, 0, "needs the argument `dtype`", HEAD "    p = T.allocate([16])\n"},
    {"E501", 3, 20, 0, "buffer extent", HEAD "    p = T.allocate([1.5], \"float32\")\n"},
    {"E417", 3, 26, 0, "3 constants for 4 elements",
     HEAD "    p = T.allocate_const([1, 2, 3], \"int8\", [4])\n"},
    {"E513", 3, 26, 0, "does not fit int8",
     HEAD "    p = T.allocate_const([300], \"int8\", [1])\n"},
    {"E420", 3, 26, 0, "more than 4096",
     HEAD "    p = T.allocate_const([0] * 5000, \"int8\", [5000])\n"},
    {"E417", 3, 9, 0, "are constants",
     HEAD "    p = T.allocate_const([0], \"int8\", [n])\n"},
    {"E602", 1, 5, 0, "inside a function",
     "p = T.allocate([4], \"int8\")\n" HEAD "    pass\n"},
    {"E420", 3, 5, 0, "`T.realize` is not supported", HEAD "    T.realize(A[0:4])\n"},
    {"E420", 3, 5, 0, "`T.prefetch` is not supported",
     HEAD "    T.prefetch(A, [(0, 4)])\n"},
    {"E420", 3, 5, 0, "`T.store` is not supported: write A[i] = value",
     HEAD "    T.store(A.data, 0, 1.0, True)\n"},
    {"E420", 3, 12, 0, "`T.load` is not supported: write A[i]",
     HEAD "    A[0] = T.load(\"float32\", A.data, 0)\n"},
    {"E420", 3, 5, 0, "`T.preflattened_buffer` is not supported: give the parameter",
     HEAD "    T.preflattened_buffer(A, [4, 4])\n"},
    {"E702", 5, 12, 1, "not visible",
     HEAD "    with T.allocate([4], \"float32\") as p:\n        pass\n    A[0] = p\n"},
};

static void allocations_by_pointer_are_buffers(void **state)
{
    (void)state;
    late_pairs(ALLOCATIONS, LATE_COUNT(ALLOCATIONS), NULL);
    late_rows(BAD_ALLOCATIONS, LATE_COUNT(BAD_ALLOCATIONS), NULL);
}

static void low_level_calls_are_kept_by_name(void **state)
{
    (void)state;
    late_pairs(CALLS, LATE_COUNT(CALLS), NULL);
}

static void offsets_of_elements_are_expressions(void **state)
{
    (void)state;
    late_pairs(OFFSETS, LATE_COUNT(OFFSETS), NULL);
}

static void wrong_low_level_calls_are_reported(void **state)
{
    (void)state;
    late_rows(BAD_CALLS, LATE_COUNT(BAD_CALLS), NULL);
}

static void the_helper_is_printed_where_it_reads_back(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = late_parse(
        cx,
        HEAD "    T.call_intrin(\"handle\", \"tir.tvm_tuple\", 1, A[0])\n"
             "    T.call_intrin(\"int8\", \"tir.tvm_struct_get\", A.data, 0, 1)\n"
             "    T.call_intrin(\"float16\", \"tir.ptx.mma\", \"x\")\n"
             "    T.call_intrin(\"int32\", \"tir.tvm_tuple\", 1)\n",
        NULL, "helpers");
    ml_Text t = {0};

    (void)state;
    ml_print_module(cx, &t, p.mod, NULL);
    assert_non_null(strstr(ml_text_z(&t), "    T.tvm_tuple(1, A[0])\n"));
    assert_non_null(
        strstr(ml_text_z(&t), "    T.tvm_struct_get(A.data, 0, 1, \"int8\")\n"));
    assert_non_null(strstr(ml_text_z(&t), "    T.ptx.mma(\"float16\", \"x\")\n"));
    assert_non_null(
        strstr(ml_text_z(&t), "    T.call_intrin(\"int32\", \"tir.tvm_tuple\", 1)"));
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_level_calls_are_kept_by_name),
        cmocka_unit_test(offsets_of_elements_are_expressions),
        cmocka_unit_test(allocations_by_pointer_are_buffers),
        cmocka_unit_test(wrong_low_level_calls_are_reported),
        cmocka_unit_test(the_helper_is_printed_where_it_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
