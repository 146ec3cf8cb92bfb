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
        cmocka_unit_test(wrong_lists_and_strings_are_reported_where_they_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
