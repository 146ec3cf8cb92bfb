/*
 * test_archaic - older spellings, read with the option: names without a prefix, axes in the
 * header of a block. They denote what the newer text denotes; without the option they are
 * refused. Source: script 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "corpus.h"
#include "late.h"

#define NEW                                                                                \
    "@T.prim_func\ndef f(A: T.Buffer((8, 8), \"float32\"), C: T.Buffer((8, 8), "           \
    "\"float32\")):\n"
#define OLD                                                                                \
    "@script\ndef f(A: Buffer[(8, 8), \"float32\"], C: Buffer[(8, 8), \"float32\"]):\n"
#define MATMUL                                                                             \
    "        with T.init():\n            C[vi, vj] = T.float32(0)\n"                       \
    "        C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vk, vj]\n"

static const ml_ParseOpts ARCHAIC = {.spelling = -1, .archaic = true};

static const LatePair PAIRS[] = {
    {"names without a prefix",
     OLD
     "    B = alloc_buffer((8, 8))\n    for i, j in grid(8, 8):\n        with "
     "block(\"b\"):\n"
     "            vi = spatial_axis(8, i)\n            vj = spatial_axis(8, j)\n"
     "            B[vi, vj] = exp(A[vi, vj]) + float32(1)\n"
     "    for i, j, k in grid(8, 8, 8):\n        with block(\"c\"):\n"
     "            vi, vj = axis.remap(\"SS\", [i, j])\n            vk = reduce_axis(8, k)\n"
     "            with init():\n                C[vi, vj] = 0.0\n"
     "            C[vi, vj] += if_then_else(vk > 2, B[vi, vk], 0.0)\n",
     NEW "    B = T.alloc_buffer((8, 8))\n    for i, j in T.grid(8, 8):\n"
         "        with T.block(\"b\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            B[vi, vj] = T.exp(A[vi, vj]) + T.float32(1)\n"
         "    for i, j, k in T.grid(8, 8, 8):\n        with T.block(\"c\"):\n"
         "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
         "            with T.init():\n                C[vi, vj] = 0.0\n"
         "            C[vi, vj] += T.if_then_else(vk > 2, B[vi, vk], 0.0)\n"},
    {"a name that means something else stays what it is",
     "exp = 3\n" OLD "    for grid in range(8):\n        A[grid, exp] = 1.0\n",
     NEW "    for i in range(8):\n        A[i, 3] = 1.0\n"},
    {"axes in the header, bound",
     NEW "    for i, j, k in T.grid(8, 8, 4):\n"
         "      with T.block([8, 8, T.reduce_axis(0, 8)], \"m\") as [vi, vj, vk]:\n"
         "        T.bind(vi, i)\n        T.bind(vj, j)\n        T.bind(vk, k * 2)\n"
         "        T.reads([A[vi, vk], A[vk, vj]])\n        T.writes([C[vi, vj]])\n" MATMUL,
     NEW "    for i, j, k in T.grid(8, 8, 4):\n      with T.block(\"m\"):\n"
         "        vi = T.axis.spatial(8, i)\n        vj = T.axis.spatial(8, j)\n"
         "        vk = T.axis.reduce((0, 8), k * 2)\n"
         "        T.reads([A[vi, vk], A[vk, vj]])\n        T.writes([C[vi, vj]])\n" MATMUL},
    {"axes in the header, without loops",
     NEW "    with T.block([8, 8, T.reduce_axis(2, 8)], \"m\") as [vi, vj, vk]:\n" MATMUL,
     NEW "    for i, j, k in T.grid(8, 8, (2, 6)):\n      with T.block(\"m\"):\n"
         "        vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n" MATMUL},
    {"one axis, scanned",
     NEW "    with T.block([T.scan_axis(0, 8)]) as vi:\n        A[vi, 0] = 1.0\n",
     NEW "    for i in range(8):\n        with T.block():\n"
         "            vi = T.axis.scan(8, i)\n            A[vi, 0] = 1.0\n"},
    {"no axes",
     NEW "    with T.block([], \"root\"):\n        for i in range(8):\n"
         "            with T.block([8], \"b\") as [vi]:\n                T.bind(vi, i)\n"
         "                T.where(i < 5)\n                A[vi, vi] = 1.0\n",
     NEW "    with T.block(\"root\"):\n        for i in range(8):\n"
         "            with T.block(\"b\"):\n                vi = T.axis.spatial(8, i)\n"
         "                T.where(i < 5)\n                A[vi, vi] = 1.0\n"},
    {"the other T.bind",
     NEW "    with T.block([8], \"b\") as vi:\n        x = T.bind(A[vi, 0])\n"
         "        A[vi, 1] = x\n",
     NEW "    for i in range(8):\n        with T.block(\"b\"):\n"
         "            vi = T.axis.spatial(8, i)\n            x: T.float32 = A[vi, 0]\n"
         "            A[vi, 1] = x\n"},
    {"modules and decorators of that time",
     "from tvm.script import ty\n@tvm.script.tir\ndef f(a: ty.handle, c: ty.handle) -> "
     "None:\n"
     "    A = tir.match_buffer(a, [8, 8])\n    C = tir.match_buffer(c, [8, 8])\n"
     "    with tir.block([8, tir.reduce_axis(0, 8)], \"s\") as [vi, vk]:\n"
     "        with tir.init():\n            C[vi, 0] = tir.float32(0)\n"
     "        C[vi, 0] = C[vi, 0] + A[vi, vk]\n",
     NEW "    for i, k in T.grid(8, 8):\n        with T.block(\"s\"):\n"
         "            vi, vk = T.axis.remap(\"SR\", [i, k])\n            with T.init():\n"
         "                C[vi, 0] = T.float32(0)\n            C[vi, 0] = C[vi, 0] + A[vi, "
         "vk]\n"},
};

static const LateRow WRONG[] = {
    {"E410", 3, 5, 0, "axis `vj` of block \"b\" has no binding",
     NEW "    with T.block([8, 8], \"b\") as [vi, vj]:\n        T.bind(vi, 3)\n        "
         "A[vi, vj] = 1.0\n"},
    {"E402", 3, 31, 8, "2 targets for 1 axes",
     NEW "    with T.block([8], \"b\") as [vi, vj]:\n        pass\n"},
    {"E607", 5, 9, 0, "bound already",
     NEW
     "    with T.block([8], \"b\") as vi:\n        T.bind(vi, 3)\n        T.bind(vi, 4)\n"},
    {"E603", 5, 13, 0, "top level",
     NEW "    with T.block([8], \"b\") as vi:\n        for i in range(4):\n            "
         "T.bind(vi, i)\n"},
    {"E501", 3, 5, 0, "axis domain",
     NEW "    with T.block([2.5], \"b\") as vi:\n        pass\n"},
    {"E501", 4, 20, 3, "binding",
     NEW "    with T.block([8], \"b\") as vi:\n        T.bind(vi, 1.5)\n"},
    {"E414", 3, 19, 0, "takes two bounds",
     NEW "    with T.block([T.reduce_axis(8)], \"b\") as vi:\n        pass\n"},
    {"E602", 3, 10, 0, "inside a block", OLD "    vi = spatial_axis(8, 3)\n"},
    {"E301", 3, 5, 5, "undefined name `spxrm`", OLD "    spxrm(1)\n"},
};

static const LateRow OFF[] = {
    {"E613", 1, 2, 6, "read this one with {archaic = true}",
     "@script\ndef f():\n    pass\n"},
    {"E301", 3, 17, 4, "undefined name `grid`",
     NEW "    for i, j in grid(8, 8):\n        A[i, j] = 1.0\n"},
    {"E419", 3, 18, 3, "the form of 2020",
     NEW "    with T.block([8], \"b\") as vi:\n        pass\n"},
    {"E401", 3, 9, 0, "no `T.spatial_axis`", NEW "    v = T.spatial_axis(8, 1)\n"},
};

static void older_texts_denote_the_same_programs(void **state)
{
    (void)state;
    late_pairs(PAIRS, LATE_COUNT(PAIRS), &ARCHAIC);
}

static void their_errors_are_reported_where_they_stand(void **state)
{
    (void)state;
    late_rows(WRONG, LATE_COUNT(WRONG), &ARCHAIC);
}

static void without_the_option_they_are_refused(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p =
        ml_parse(cx, ml_str(NEW "    for i in grid(8):\n        A[i, i] = 1.0\n"), NULL);

    assert_int_equal(p.n_diags, 1);
    assert_non_null(strstr(p.diags[0].help, "write `T.grid`"));
    ml_ctx_unref(cx);
    (void)state;
    late_rows(OFF, LATE_COUNT(OFF), NULL);
}

static void the_older_corpus_survives_printing(void **state)
{
    char name[512], *text;
    size_t k = 0;

    (void)state;
    for (; (text = corpus_file_in("archaic", k, name)); k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Parsed p = late_parse(cx, text, &ARCHAIC, name);

        late_round_trip(cx, p.mod, ML_CLASSIC, name);
        late_round_trip(cx, p.mod, ML_NEWEST, name);
        ml_ctx_unref(cx);
        free(text);
    }
    assert_true(k >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_texts_denote_the_same_programs),
        cmocka_unit_test(the_older_corpus_survives_printing),
        cmocka_unit_test(their_errors_are_reported_where_they_stand),
        cmocka_unit_test(without_the_option_they_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
