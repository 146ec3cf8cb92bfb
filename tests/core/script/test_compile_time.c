/*
 * test_compile_time - what a text computes before there is a program: comprehensions,
 * f-strings, macros. Each text denotes the same program as a plain one, survives printing
 * (P1, P2), and wrong ones are reported at their place. Source: script 2, 3, 4, 14.
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

static const LatePair LISTS[] = {
    {"a list of indices", HEAD "    x = [k * 2 for k in range(3)]\n    A[x[2]] = 1.0\n",
     HEAD "    A[4] = 1.0\n"},
    {"conditions and two clauses",
     HEAD "    p = [(i, j) for i in range(4) for j in range(i) if (i + j) % 2 == 0]\n"
          "    A[len(p)] = 1.0\n    B[p[1]] = 2.0\n",
     HEAD "    A[2] = 1.0\n    B[3, 1] = 2.0\n"},
    {"a shape",
     HEAD "    C = T.alloc_buffer([d // 2 for d in (8, 4)])\n    C[0, 0] = A[0]\n",
     HEAD "    C = T.alloc_buffer((4, 2))\n    C[0, 0] = A[0]\n"},
    {"sums of parts of the program", HEAD "    A[0] = sum([A[k] for k in range(1, 3)])\n",
     HEAD "    A[0] = 0 + A[1] + A[2]\n"},
    {"as the only argument", HEAD "    A[0] = sum(A[k] for k in range(1, 3))\n",
     HEAD "    A[0] = 0 + A[1] + A[2]\n"},
    {"indices from loop variables",
     HEAD "    for i in T.grid(4, 4):\n        B[[v for v in i]] = 1.0\n",
     HEAD "    for i, j in T.grid(4, 4):\n        B[i, j] = 1.0\n"},
    {"tuples of targets, enumerate and zip",
     HEAD "    y = [a * b + k for k, (a, b) in enumerate(zip((1, 2), (3, 4)))]\n"
          "    A[y[1]] = 1.0\n",
     HEAD "    A[9] = 1.0\n"},
    {"the names end with it",
     HEAD
     "    for k in range(4):\n        x = [k for k in (1, 2)]\n        A[k + x[1]] = 1.0\n",
     HEAD "    for k in range(4):\n        A[k + 2] = 1.0\n"},
    {"nested",
     HEAD "    x = [[i * j for j in range(3)] for i in range(3)]\n    A[x[2][2]] = "
          "1.0\n",
     HEAD "    A[4] = 1.0\n"},
    {"at file level", "SIZES = [2 ** k for k in range(5)]\n" HEAD "    A[SIZES[3]] = 1.0\n",
     HEAD "    A[8] = 1.0\n"},
    {"strings give characters, dicts keys",
     HEAD "    x = [c for c in 'abc'] + [k for k in {\"z\": 1}]\n    A[len(x)] = 1.0\n",
     HEAD "    A[4] = 1.0\n"},
};

static const LatePair STRINGS[] = {
    {"a name", "D = 32\n" HEAD "    A[0] = T.cast(n, f\"float{D}\")\n",
     HEAD "    A[0] = T.cast(n, \"float32\")\n"},
    {"expressions, conversions, braces",
     HEAD
     "    T.evaluate(T.call_extern(\"int32\", f\"g_{1 + 2}_{[1, 'a']!s}_{'b'!r}{{}}\"))\n",
     HEAD "    T.evaluate(T.call_extern(\"int32\", \"g_3_[1, 'a']_'b'{}\"))\n"},
    {"formats",
     HEAD
     "    T.evaluate(T.call_extern(\"int32\", f\"{7:03d}|{255:#x}|{3.14159:.2f}|{'a':>3}|"
     "{-5:+}|{1000000:,}|{2.0}|{0.5:%}|{'ab':^6}|{12:b}\"))\n",
     HEAD "    T.evaluate(T.call_extern(\"int32\", \"007|0xff|3.14|  a|-5|1,000,000|2.0|"
          "50.000000%|  ab  |1100\"))\n"},
    {"joined with plain ones",
     HEAD
     "    T.evaluate(T.call_extern(\"int32\", \"a\" f\"{1}\" \"b{c}\" rf\"\\n{2}\"))\n",
     HEAD "    T.evaluate(T.call_extern(\"int32\", \"a1b{c}\\\\n2\"))\n"},
    {"in three quotes, over lines",
     HEAD "    T.evaluate(T.call_extern(\"int32\", f\"\"\"x{\n        {\"k\": 3}[\"k\"] "
          "}y\"\"\"))\n",
     HEAD "    T.evaluate(T.call_extern(\"int32\", \"x3y\"))\n"},
    {"names of blocks",
     HEAD "    for i in range(16):\n        with T.block(f\"b{2}\"):\n"
          "            v = T.axis.S(16, i)\n            A[v] = 1.0\n",
     HEAD "    for i in range(16):\n        with T.block(\"b2\"):\n"
          "            v = T.axis.S(16, i)\n            A[v] = 1.0\n"},
    {"nothing in it", HEAD "    T.evaluate(T.call_extern(\"int32\", f\"x\"))\n",
     HEAD "    T.evaluate(T.call_extern(\"int32\", \"x\"))\n"},
};

static const LatePair MACROS[] = {
    {"statements are put in",
     "@T.macro\ndef put(X, at, value):\n    X[at] = value\n    X[at + 1] = value\n" HEAD
     "    for i in range(8):\n        put(A, i, 1.0)\n    put(A, value=A[3], at=2)\n",
     HEAD "    for i in range(8):\n        A[i] = 1.0\n        A[i + 1] = 1.0\n"
          "    A[2] = A[3]\n    A[3] = A[3]\n"},
    {"inside a function, with the names there",
     HEAD "    @T.inline\n    def put(at=0):\n        A[at] = T.cast(n, \"float32\")\n"
          "    put()\n    for i in range(4):\n        put(i)\n",
     HEAD "    A[0] = T.cast(n, \"float32\")\n    for i in range(4):\n"
          "        A[i] = T.cast(n, \"float32\")\n"},
    {"hygiene: the names of the definition",
     "K = 1\n@T.macro\ndef put(X):\n    X[K] = 1.0\n" HEAD
     "    for K in range(4):\n        put(A)\n",
     HEAD "    for K in range(4):\n        A[1] = 1.0\n"},
    {"without hygiene: the names of the call",
     "K = 1\n@T.macro(hygienic=False)\ndef put(X):\n    X[K] = 1.0\n" HEAD
     "    for K in range(4):\n        put(A)\n",
     HEAD "    for K in range(4):\n        A[K] = 1.0\n"},
    {"names of blocks are told apart, per function",
     "@T.macro\ndef fill(X, value):\n    for i in range(16):\n        with "
     "T.block(\"b\"):\n"
     "            v = T.axis.S(16, i)\n            X[v] = value\n" HEAD
     "    fill(A, 1.0)\n    fill(A, 2.0)\n    fill(A, 3.0)\n",
     HEAD "    for i in range(16):\n        with T.block(\"b\"):\n"
          "            v = T.axis.S(16, i)\n            A[v] = 1.0\n"
          "    for i in range(16):\n        with T.block(\"b_1\"):\n"
          "            v = T.axis.S(16, i)\n            A[v] = 2.0\n"
          "    for i in range(16):\n        with T.block(\"b_2\"):\n"
          "            v = T.axis.S(16, i)\n            A[v] = 3.0\n"},
    {"macros call macros, and themselves",
     "@T.macro\ndef down(X, k):\n    if k > 0:\n        X[k] = 1.0\n        down(X, k - "
     "1)\n"
     "@T.macro\ndef twice(X):\n    down(X, 1)\n    down(X, 2)\n" HEAD "    twice(A)\n",
     HEAD "    A[1] = 1.0\n    A[2] = 1.0\n    A[1] = 1.0\n"},
    {"a macro as an argument, with the names of its own place",
     "@T.macro\ndef each(f):\n    for i in range(4):\n        f(i)\n" HEAD
     "    @T.macro\n    def put(k):\n        A[k] = B[k, k]\n    each(put)\n",
     HEAD "    for i in range(4):\n        A[i] = B[i, i]\n"},
    {"a lambda sees the names of its own place",
     "k = 5\n@T.macro\ndef put(f, X, k):\n    for i in range(4):\n        X[i] = "
     "f(X[k])\n" HEAD "    k = T.meta_var(2)\n    put(lambda x: x + A[k + n], A, 3)\n    g "
     "= lambda x: x * A[k]\n"
     "    @T.macro\n    def both(h):\n        put(h, A, 1)\n        put(lambda x: h(x) + "
     "B[k, k], A, 0)\n"
     "    both(g)\n",
     HEAD "    for i in range(4):\n        A[i] = A[3] + A[2 + n]\n"
          "    for i in range(4):\n        A[i] = A[1] * A[2]\n"
          "    for i in range(4):\n        A[i] = A[0] * A[2] + B[2, 2]\n"},
    {"the body of a block",
     "@T.macro\ndef body(X, i, j):\n    vi, vj = T.axis.remap(\"SS\", [i, j])\n"
     "    with T.init():\n        X[vi, vj] = 0.0\n    X[vi, vj] += 1.0\n" HEAD
     "    for i, j in T.grid(4, 4):\n        with T.block(\"x\"):\n            body(B, i, "
     "j)\n",
     HEAD "    for i, j in T.grid(4, 4):\n        with T.block(\"x\"):\n"
          "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            with T.init():\n"
          "                B[vi, vj] = 0.0\n            B[vi, vj] += 1.0\n"},
    {"a mutable scalar stays one",
     "@T.macro\ndef bump(x):\n    x = x + 1.0\n@T.prim_func(s_tir=True)\n"
     "def f(A: T.Buffer((4,), \"float32\")):\n    y = A[0]\n    bump(y)\n    A[1] = y\n",
     "@T.prim_func(s_tir=True)\n"
     "def f(A: T.Buffer((4,), \"float32\")):\n    y = A[0]\n    y = y + 1.0\n    A[1] = "
     "y\n"},
    {"a name of the reader, not a macro of that name",
     HEAD "    @T.macro\n    def put(n):\n        A[n] = 1.0\n    put(n=3)\n",
     HEAD "    A[3] = 1.0\n"},
    {"type parameters",
     "@T.prim_func\ndef f[m](A: T.Buffer((m,), \"float32\")):\n    for i in range(m):\n"
     "        A[i] = 1.0\n",
     "@T.prim_func\ndef f(a: T.handle):\n    m = T.int64()\n    A = T.match_buffer(a, "
     "(m,))\n"
     "    for i in range(m):\n        A[i] = 1.0\n"},
};

static const LateRow BAD_MACROS[] = {
    {"E202", 6, 12, 3, "its call is a statement",
     "@T.macro\ndef m():\n    pass\n" HEAD "    A[0] = m()\n"},
    {"E202", 3, 5, 0, "gives no value",
     "@T.macro\ndef m():\n    return 1\n" HEAD "    m()\n"},
    {"E414", 6, 5, 3, "needs the argument `x`",
     "@T.macro\ndef m(x):\n    pass\n" HEAD "    m()\n"},
    {"E414", 6, 10, 1, "takes 1 argument, 2 given",
     "@T.macro\ndef m(x):\n    pass\n" HEAD "    m(1, 2)\n"},
    {"E412", 6, 7, 1, "no argument `y`",
     "@T.macro\ndef m(x):\n    pass\n" HEAD "    m(y=1)\n"},
    {"E412", 6, 10, 1, "got `x` twice",
     "@T.macro\ndef m(x):\n    pass\n" HEAD "    m(1, x=1)\n"},
    {"E301", 3, 5, 1, "not a name where the macro is defined",
     "@T.macro\ndef m():\n    A[0] = 1.0\n" HEAD "    m()\n"},
    {"E109", 3, 5, 3, "nested deeper", "@T.macro\ndef m():\n    m()\n" HEAD "    m()\n"},
    {"E114", 0, 0, 0, "too much",
     "@T.macro\ndef m(k):\n    if k < 40:\n        m(k + 1)\n        m(k + 1)\n" HEAD
     "    m(0)\n"},
    {"E412", 1, 10, 0, "no such argument",
     "@T.macro(fast=1)\ndef m():\n    pass\n" HEAD "    pass\n"},
    {"E406", 2, 8, 0, "positional", "@T.macro\ndef m(*x):\n    pass\n" HEAD "    pass\n"},
    {"E108", 3, 9, 1, "write @T.macro", HEAD "    def g():\n        pass\n"},
    {"E612", 1, 1, 1, "no function", "@T.macro\ndef m():\n    pass\n"},
    {"E310", 2, 10, 1, "already defined", "@T.prim_func\ndef f[m, m]():\n    pass\n"},
    {"E504", 3, 5, 0, "storing 4 lanes into 1",
     "@T.macro\ndef m(X, v):\n    X[0] = v\n" HEAD "    m(A, T.broadcast(1.0, 4))\n"},
};

static void macros_are_read_anew_at_each_call(void **state)
{
    (void)state;
    late_pairs(MACROS, LATE_COUNT(MACROS), NULL);
}

static void wrong_macros_are_reported_with_their_call(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(
        cx, ml_str("@T.macro\ndef m(X):\n    X[0, 0] = 1.0\n" HEAD "    m(A)\n"), NULL);

    (void)state;
    assert_int_equal(p.n_diags, 1);
    assert_int_equal(p.diags[0].n_notes, 1);
    assert_int_equal(p.diags[0].notes[0].span.line, 6);
    ml_ctx_unref(cx);
    late_rows(BAD_MACROS, LATE_COUNT(BAD_MACROS), NULL);
}

static const LateRow WRONG[] = {
    {"E601", 3, 21, 1, "cannot iterate over a buffer", HEAD "    x = [a for a in A]\n"},
    {"E601", 3, 21, 1, "cannot iterate over an int32", HEAD "    x = [a for a in n]\n"},
    {"E501", 3, 27, 1, "constant integers", HEAD "    x = [a for a in range(n)]\n"},
    {"E511", 3, 33, 5, "known at compile time",
     HEAD "    x = [a for a in range(4) if a < n]\n"},
    {"E402", 3, 16, 4, "2 targets for one int", HEAD "    x = [a for a, b in range(4)]\n"},
    {"E702", 4, 7, 1, "not visible",
     HEAD "    x = [a for a in range(4)]\n    A[a] = 1.0\n"},
    {"E108", 3, 15, 3, "comprehension of a dict",
     HEAD "    x = {1: a for a in range(4)}\n"},
    {"E108", 3, 9, 1, "set", HEAD "    x = {a for a in range(4)}\n"},
    {"E108", 3, 12, 5, "comprehension", HEAD "    x = [a async for a in range(4)]\n"},
    {"E114", 3, 0, 0, "too much", HEAD "    x = [a for a in range(10000000)]\n"},
    {"E301", 3, 12, 1, "undefined name `q`", HEAD "    x = f\"{q}\"\n"},
    {"E512", 3, 11, 3, "not known at compile time", HEAD "    x = f\"{n}\"\n"},
    {"E512", 3, 11, 6, "format `qq`", HEAD "    x = f\"{1:qq}\"\n"},
    {"E111", 3, 11, 1, "never closed", HEAD "    x = f\"{1\"\n"},
    {"E111", 3, 11, 1, "empty", HEAD "    x = f\"{}\"\n"},
    {"E111", 3, 11, 1, "written `}}`", HEAD "    x = f\"}\"\n"},
    {"E111", 3, 11, 1, "conversion is", HEAD "    x = f\"{1!q}\"\n"},
    {"E100", 3, 14, 1, "expected", HEAD "    x = f\"{1 2}\"\n"},
    {"E111", 3, 11, 1, "field inside a format", HEAD "    x = f\"{1:{2}}\"\n"},
};

static void comprehensions_denote_the_lists_that_python_would_make(void **state)
{
    (void)state;
    late_pairs(LISTS, LATE_COUNT(LISTS), NULL);
}

static void f_strings_denote_the_strings_that_python_would_make(void **state)
{
    (void)state;
    late_pairs(STRINGS, LATE_COUNT(STRINGS), NULL);
}

static void wrong_lists_and_strings_are_reported_where_they_stand(void **state)
{
    (void)state;
    late_rows(WRONG, LATE_COUNT(WRONG), NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comprehensions_denote_the_lists_that_python_would_make),
        cmocka_unit_test(f_strings_denote_the_strings_that_python_would_make),
        cmocka_unit_test(macros_are_read_anew_at_each_call),
        cmocka_unit_test(wrong_macros_are_reported_with_their_call),
        cmocka_unit_test(wrong_lists_and_strings_are_reported_where_they_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
