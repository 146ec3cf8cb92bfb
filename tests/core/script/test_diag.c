/* test_diag - the table that script 14 speaks of: exact code, line, column (0: not looked
 * at), and the length of the caret where it is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "moonloop/core/script/script.h"

typedef struct Row {
    int number; /* of the table */
    const char *code;
    uint32_t line, col, len; /* len 0: not checked */
    const char *says;        /* part of the message */
    const char *text;
} Row;

#define HEAD                                                                               \
    "@T.prim_func\ndef f(a: T.handle, A: T.Buffer((8,), \"float32\"), n: T.int32):\n"
/* The body starts at line 3. */
#define BLOCK HEAD "    for i in range(8):\n        with T.block(\"b\"):\n"
/* The body of the block starts at line 5, column 13. */

static const Row ROWS[] = {
    {1, "E101", 3, 6, 1, "`[` is never closed", HEAD "    A[i = 0\n"},
    {2, "E102", 5, 4, 1, "(open: 1, 5, 9)",
     HEAD "    for i in range(8):\n        A[i] = 0.0\n   x = 1\n"},
    {3, "E103", 4, 1, 1, "tabs and spaces", HEAD "    for i in range(8):\n\tA[i] = 0.0\n"},
    {4, "E104", 3, 9, 4, "unterminated", HEAD "    x = \"abc\n    y = 1\n"},
    {5, "E105", 3, 9, 3, "write 12 or 0o12", HEAD "    x = 012\n"},
    {6, "E106", 3, 22, 1, "expected `:`",
     HEAD "    for i in range(8)\n        A[i] = 0.0\n"},
    {7, "E107", 2, 20, 1, "indented block", "@T.prim_func\ndef f(A: T.handle):\n"},
    {8, "E108", 3, 5, 3, "`try` is not supported", HEAD "    try:\n        pass\n"},
    {8, "E108", 3, 5, 5, "`yield`", HEAD "    yield\n"},
    {8, "E108", 3, 8, 2, "`:=`", HEAD "    (x := 1)\n"},
    {8, "E601", 3, 21, 1, "cannot iterate over a buffer", HEAD "    x = [a for a in A]\n"},
    {9, "E301", 4, 16, 1, "undefined name `C`",
     HEAD "    for i in range(8):\n        A[i] = C[i]\n"},
    {10, "E310", 4, 5, 1, "already defined",
     HEAD "    B = T.alloc_buffer((8,))\n    B = T.alloc_buffer((8,))\n"},
    {11, "E311", 5, 17, 2, "`vi` appears twice",
     BLOCK "            vi, vi = T.axis.remap(\"SS\", [i, i])\n            A[vi] = 0.0\n"},
    {12, "E203", 3, 5, 20, "chained", HEAD "    x = b = T.int32(1.0)\n"},
    {13, "E401", 3, 14, 9, "no `T.seriall`; did you mean `T.serial`?",
     HEAD "    for i in T.seriall(4):\n        A[i] = 0.0\n"},
    {14, "E601", 3, 14, 1, "cannot iterate over a buffer; expected range",
     HEAD "    for i in A:\n        A[i] = 0.0\n"},
    {15, "E402", 3, 9, 4, "2 targets for 1 loop",
     HEAD "    for i, j in range(4):\n        A[i] = 0.0\n"},
    {16, "E402", 3, 9, 4, "2 targets for 3 loops",
     HEAD "    for i, j in T.grid(4, 4, 4):\n        A[i] = 0.0\n"},
    {17, "E403", 3, 14, 24, "missing thread tag",
     HEAD "    for i in T.thread_binding(32, 32):\n        A[i] = 0.0\n"},
    {18, "E404", 3, 34, 1, "step must be positive, got 0",
     HEAD "    for i in T.serial(0, 8, step=0):\n        A[i] = 0.0\n"},
    {19, "E501", 3, 23, 3, "loop extent must be an integer, got float",
     HEAD "    for i in T.serial(2.5):\n        A[i] = 0.0\n"},
    {20, "E405", 2, 7, 1, "parameter `a` needs", "@T.prim_func\ndef f(a):\n    pass\n"},
    {21, "E406", 2, 20, 1, "default values",
     "@T.prim_func\ndef f(n: T.int32 = 4):\n    pass\n"},
    {22, "E407", 3, 24, 6, "got a tuple", HEAD "    B = T.match_buffer((4, 4))\n"},
    {23, "E407", 3, 9, 31, "needs a shape",
     HEAD "    B = T.match_buffer(a, dtype=\"int8\")\n"},
    {24, "E604", 4, 13, 0, "top level of the function",
     HEAD "    for i in range(4):\n        B = T.match_buffer(a, (4,))\n"},
    {25, "E605", 4, 9, 0, "`a` is already matched to `B`",
     HEAD "    B = T.match_buffer(a, (4,))\n    C = T.match_buffer(a, (4,))\n"},
    {26, "E502", 6, 17, 0, "dimension 0 of the region has extent 6, the buffer has 8",
     BLOCK "            vi = T.axis.spatial(8, i)\n"
           "            S = T.match_buffer(A[0:6], (8,))\n            S[vi] = 0.0\n"},
    {27, "E602", 3, 5, 13, "T.reads must be inside a block", HEAD "    T.reads(A[0])\n"},
    {28, "E603", 7, 17, 0, "top level of block \"b\", not inside a loop",
     BLOCK "            vi = T.axis.spatial(8, i)\n            for k in range(4):\n"
           "                T.where(vi < 4)\n                A[vi] = 0.0\n"},
    {29, "E607", 7, 13, 0, "writes of block \"b\" already given",
     BLOCK "            vi = T.axis.spatial(8, i)\n            T.writes(A[vi])\n"
           "            T.writes(A[vi])\n            A[vi] = 0.0\n"},
    {30, "E607", 8, 13, 0, "block \"b\" already has an init",
     BLOCK "            vi = T.axis.spatial(8, i)\n            with T.init():\n"
           "                A[vi] = 0.0\n            with T.init():\n"
           "                A[vi] = 0.0\n            A[vi] = 1.0\n"},
    {31, "E408", 5, 37, 1, "unknown axis kind `X`; expected S or R",
     BLOCK "            vi, vj = T.axis.remap(\"SX\", [i, i])\n"},
    {32, "E408", 5, 22, 0, "2 kinds for 1 binding",
     BLOCK "            vi, vj = T.axis.remap(\"SS\", [i])\n"},
    {33, "E409", 5, 37, 5, "use `T.axis.spatial(extent, i + 1)`",
     BLOCK "            vi = T.axis.remap(\"S\", [i + 1])\n"},
    {34, "E410", 5, 18, 18, "missing the binding value",
     BLOCK "            vi = T.axis.spatial(16)\n"},
    {35, "E501", 5, 37, 3, "binding must be an integer, got float32",
     BLOCK "            vi = T.axis.spatial(16, 0.5)\n"},
    {36, "E608", 3, 26, 1, "a block has no value to name",
     HEAD "    with T.block(\"b\") as x:\n        A[0] = 0.0\n"},
    {37, "E609", 6, 13, 0, "annotation `k` already is 1",
     BLOCK "            T.block_attr({\"k\": 1})\n            T.block_attr({\"k\": 2})\n"
           "            A[0] = 0.0\n"},
    {38, "E503", 4, 9, 7, "`A` has 1 dimension, 2 indices given",
     HEAD "    for i in range(4):\n        A[i, 0] = 0.0\n"},
    {39, "E504", 4, 9, 0, "storing 4 lanes into 2",
     HEAD "    for i in range(4):\n        A[i:i + 2] = T.broadcast(T.float32(1), 4)\n"},
    {40, "E505", 3, 14, 3, "slice length `n` is not a constant",
     HEAD "    A[0] = A[0:n]\n"},
    {41, "E506", 3, 18, 2, "slice step must be positive", HEAD "    A[0] = A[0:8:-1]\n"},
    {42, "E507", 5, 23, 5, "regions cannot have a step",
     BLOCK "            T.reads(A[0:8:2])\n            A[0] = 0.0\n"},
    {43, "E508", 5, 21, 1, "give the region, e.g. `A[0:8]`",
     BLOCK "            T.reads(A)\n            A[0] = 0.0\n"},
    {44, "E509", 4, 11, 5, "ambiguous integer division",
     HEAD "    for i in range(4):\n        A[i / 2] = 0.0\n"},
    {45, "E510", 4, 12, 14, "comparing int32 with int64; cast one side",
     HEAD "    for i in range(4):\n        if i < T.int64(4):\n            A[i] = 0.0\n"},
    {46, "E511", 4, 12, 7, "`and` needs booleans, left operand is int32",
     HEAD "    for i in range(4):\n        if i and n:\n            A[i] = 0.0\n"},
    {47, "E512", 3, 16, 7, "operator `+` is not defined for handle and list",
     HEAD "    T.evaluate(a + [1])\n"},
    {48, "E513", 3, 16, 11, "300 does not fit int8", HEAD "    T.evaluate(T.int8(300))\n"},
    {49, "E514", 4, 11, 5, "modulo by zero",
     HEAD "    for i in range(4):\n        A[i % 0] = 0.0\n"},
    {50, "E515", 3, 12, 0, "branches have types float32 and int32",
     HEAD "    A[0] = T.Select(n < 4, A[1], 0)\n"},
    {51, "E516", 2, 25, 9, "unknown dtype `flaot32`; did you mean `float32`?",
     "@T.prim_func\ndef f(A: T.Buffer((4,), \"flaot32\")):\n    pass\n"},
    {52, "E606", 4, 9, 0,
     "cannot infer the regions of block \"b\": `A.data` is used directly",
     BLOCK "            vi = T.axis.spatial(8, i)\n"
           "            T.evaluate(T.call_extern(\"f\", A.data, dtype=\"int32\"))\n"},
    {53, "E701", 6, 21, 1, "block \"b\" uses loop variable `i`; bind it to an axis",
     BLOCK "            vi = T.axis.spatial(8, i)\n            A[vi] = i\n"},
    {54, "E702", 5, 7, 1, "`i` is not visible here",
     HEAD "    for i in range(4):\n        A[i] = 0.0\n    A[i] = 1.0\n"},
    {55, "E610", 3, 5, 0, "a private function has no global symbol",
     "@T.prim_func(private=True)\ndef f(A: T.Buffer((8,), \"float32\")):\n"
     "    T.func_attr({\"global_symbol\": \"g\"})\n"},
    {56, "E611", 3, 5, 5, "`break` outside a loop", HEAD "    break\n"},
    {57, "E204", 3, 5, 12, "assert needs a message", HEAD "    assert n < 4\n"},
    {58, "E411", 3, 43, 7, "buffer_type must be",
     HEAD "    B = T.alloc_buffer((4,), buffer_type= \"fancy\")\n"},
    {59, "E412", 3, 24, 4, "T.grid has no argument `exts`",
     HEAD "    for i in T.grid(4, exts=3):\n        A[i] = 0.0\n"},
    {60, "E413", 3, 16, 8, "metadata tables are not supported",
     HEAD "    T.evaluate(metadata[\"x\"][0])\n"},
    {61, "E612", 1, 1, 1, "no function in the text",
     "# nothing\nfrom tvm.script import tir as T\n"},
    {61, "E612", 1, 1, 1, "no function", ""},
};

/* Codes beside the table. */
static const Row MORE[] = {
    {0, "E301", 1, 2, 2, "undefined name `TT`", "@TT.prim_func\ndef f():\n    pass\n"},
    {0, "E112", 3, 19, 7, "does not fit 64 bits",
     HEAD "    A[0] = T.cast(2 ** 70, \"float32\")\n"},
    {0, "E201", 3, 5, 12, "must stand in a `with`", HEAD "    T.block(\"b\")\n"},
    {0, "E201", 3, 10, 4, "cannot stand in a `with`",
     HEAD "    with A[0]:\n        A[0] = 0.0\n"},
    {0, "E418", 3, 0, 0, "layouts of buffers are not supported",
     HEAD "    B = T.alloc_buffer((4,), layout=\"x\")\n"},
    {0, "E517", 3, 0, 0, "cannot be cast",
     HEAD "    A[0:2] = T.Cast(\"float32x2\", A[0:4])\n"},
    {0, "E518", 3, 16, 7, "shift by 40 is outside [0, 32)",
     HEAD "    T.evaluate(n << 40)\n"},
    {0, "E519", 3, 0, 0, "keys must be strings", HEAD "    T.func_attr({\"a\": {1: 2}})\n"},
    {0, "E520", 4, 16, 0, "only the last index may be a vector",
     HEAD "    B = T.alloc_buffer((4, 4))\n    A[0:2] = B[0:2, 0]\n"},
    {0, "E521", 3, 0, 0, "index 2 is outside a tuple of 1",
     HEAD "    T.evaluate(A.shape[2])\n"},
    {0, "E522", 3, 29, 1, "the number of lanes must be in 2",
     HEAD "    T.evaluate(T.ramp(0, 1, n))\n"},
    {0, "E522", 3, 0, 0, "only a scalar can be broadcast",
     HEAD "    T.evaluate(T.broadcast(A[0:2], 4))\n"},
    {0, "E703", 4, 0, 0, "returning float32 from a function that returns int32",
     "@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\")) -> T.int32:\n    A[0] = 1.0\n"
     "    return A[0]\n"},
    {0, "E704", 5, 0, 0, "was launched with another extent",
     HEAD "    tx = T.env_thread(\"threadIdx.x\")\n    with T.launch_thread(tx, 4):\n"
          "        with T.launch_thread(tx, 8):\n            A[tx] = 0.0\n"},
    {0, "E705", 5, 0, 0, "variable `x` is defined twice",
     HEAD "    x = T.var(\"int32\")\n    T.bind(n, var=x)\n    T.bind(n, var=x)\n"},
    {0, "E706", 4, 7, 1, "variable `x` is not defined",
     HEAD "    x = T.int32()\n    A[x] = 0.0\n"},
    {0, "E706", 6, 23, 1, "variable `x` is not defined", /* and not twice defined */
     BLOCK
     "            x: T.int32 = n\n            T.reads(A[x])\n            A[x] = 0.0\n"},
};

static bool check_row(const Row *r)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_ParseOpts opts = {.spelling = -1};
    ml_Parsed p = ml_parse(cx, ml_str(r->text), &opts);
    const ml_Diag *d = NULL;
    bool ok;

    for (size_t k = 0; k < p.n_diags && !d; k++)
        if (!p.diags[k].warning)
            d = &p.diags[k];
    ok = d && !p.mod && strcmp(d->code, r->code) == 0 && d->span.line == r->line &&
         (r->col == 0 || d->span.col == r->col) && strstr(d->message, r->says) &&
         (r->len == 0 || d->span.end_col == r->col + r->len) && ml_error(cx) &&
         strcmp(ml_error_code(ml_error(cx)->code), r->code) == 0;
    if (!ok)
        fprintf(stderr,
                "row %d: want %s %u:%u+%u \"%s\"\n        have %s %u:%u+%u \"%s\"\n",
                r->number, r->code, r->line, r->col, r->len, r->says, d ? d->code : "none",
                d ? d->span.line : 0, d ? d->span.col : 0,
                d ? d->span.end_col - d->span.col : 0, d ? d->message : "");
    ml_ctx_unref(cx);
    return ok;
}

static void each_row_has_its_code_line_and_column(void **state)
{
    bool ok = true;

    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++)
        ok &= check_row(&ROWS[k]);
    assert_true(ok);
}

static void the_codes_beside_the_table_too(void **state)
{
    bool ok = true;

    for (size_t k = 0; k < sizeof MORE / sizeof *MORE; k++)
        ok &= check_row(&MORE[k]);
    assert_true(ok);
}

static void warnings_do_not_stop(void **state)
{
    static const Row WARNED[] = {
        {0, "W101", 1, 1, 0, "", "# moonloop: nonsense\n" HEAD "    A[0] = 0.0\n"},
        {0, "W102", 3, 0, 0, "", HEAD "    assert n > 0, \"a\\q\"\n"},
        {0, "W112", 3, 0, 0, "wraps around", HEAD "    A[T.int32(2147483647) + 1] = 0.0\n"},
        {0, "W401", 1, 0, 0, "`persistent` is ignored",
         "@T.prim_func(persistent=True)\ndef f(n: T.int32):\n    T.evaluate(n)\n"},
        {0, "W504", 4, 0, 0, "storing float32 into `B`, which holds int32",
         HEAD "    B = T.alloc_buffer((8,), \"int32\")\n    B[0] = A[0]\n"},
        {0, "W513", 3, 12, 5, "it is read as infinity", HEAD "    A[0] = 1e400\n"},
        {0, "W513", 3, 12, 9, "it is read as 0.0", HEAD "    A[0] = 0.01e-400\n"},
        {0, "W511", 3, 8, 1, "read as `!= 0`", HEAD "    if n:\n        A[0] = 0.0\n"},
        {0, "W603", 6, 0, 0, "",
         "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((8,), \"float32\")):\n"
         "    for i in range(8):\n        with T.sblock(\"b\"):\n"
         "            for k in range(2):\n"
         "                T.sblock_attr({\"k\": 1})\n                A[k] = 0.0\n"},
    };

    for (size_t k = 0; k < sizeof WARNED / sizeof *WARNED; k++) {
        const Row *r = &WARNED[k];
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Parsed p = ml_parse(cx, ml_str(r->text), NULL);
        const ml_Diag *d = p.n_diags ? &p.diags[0] : NULL;

        if (!p.mod || !d || !d->warning || strcmp(d->code, r->code) != 0 ||
            d->span.line != r->line || (r->col && d->span.col != r->col) ||
            !strstr(d->message, r->says))
            fail_msg("want %s at %u:%u, have %s at %u:%u \"%s\"", r->code, r->line, r->col,
                     d ? d->code : "none", d ? d->span.line : 0, d ? d->span.col : 0,
                     d ? d->message : "");
        ml_ctx_unref(cx);
    }
}

static void errors_are_collected_and_sorted(void **state)
{
    static const char TEXT[] =
        HEAD "    A[0] = B[0]\n    try:\n        pass\n    A[1] = C[0]\n"
             "    break\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(TEXT), NULL);

    assert_int_equal(p.n_errors, 4);
    for (size_t k = 1; k < p.n_diags; k++)
        assert_true(p.diags[k - 1].span.line < p.diags[k].span.line);
    ml_ctx_unref(cx);
}

static void at_most_twenty_errors_are_reported(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text t = {0};
    ml_Parsed p;

    ml_text_add(&t, HEAD);
    for (int k = 0; k < 200; k++)
        ml_text_add(&t, "    A[0] = Q[0]\n");
    p = ml_parse(cx, (ml_Str){t.p, t.n}, NULL);
    assert_int_equal(p.n_errors, 20);
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

/* Spans count code points, a screen columns. */
static void a_caret_stands_below_wide_letters(void **state)
{
    static const char TEXT[] = HEAD "    for 宽é in range(8):\n"
                                    "        A[宽é] = 宽e + Bé\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text t = {0};
    ml_Parsed p = ml_parse(cx, ml_str(TEXT), NULL);

    (void)state;
    assert_int_equal(p.n_diags, 2);
    ml_diag_print(&t, &p.diags[0], ml_str(TEXT));
    assert_non_null(strstr(ml_text_z(&t), "\n 4 |         A[宽é] = 宽e + Bé\n"
                                          "   |                  ^^^\n"));
    ml_text_clear(&t);
    ml_diag_print(&t, &p.diags[1], ml_str(TEXT));
    assert_non_null(strstr(ml_text_z(&t), "\n   |                        ^^\n"));
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

static void a_poisoned_name_is_silent(void **state)
{
    static const char TEXT[] =
        HEAD "    B = T.alloc_bufer((8,))\n    A[0] = B[0]\n    A[1] = B[1]\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, ml_str(TEXT), NULL);

    assert_int_equal(p.n_errors, 1);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_has_its_code_line_and_column),
        cmocka_unit_test(the_codes_beside_the_table_too),
        cmocka_unit_test(warnings_do_not_stop),
        cmocka_unit_test(errors_are_collected_and_sorted),
        cmocka_unit_test(at_most_twenty_errors_are_reported),
        cmocka_unit_test(a_caret_stands_below_wide_letters),
        cmocka_unit_test(a_poisoned_name_is_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
