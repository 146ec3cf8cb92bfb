/* test_complete - the root block and inferred regions, shown as text. Source: script 8.3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "moonloop/core/script/script.h"

#define HEAD                                                                               \
    "@T.prim_func\ndef f(X: T.Buffer((64,), \"float32\"), Y: T.Buffer((16,), "             \
    "\"float32\"), "                                                                       \
    "Z: T.Buffer((8, 8), \"float32\"), n: T.int32):\n"
#define BLOCK                                                                              \
    HEAD "    for i in range(16):\n        with T.block(\"b\"):\n            vi = "        \
         "T.axis.S(16, i)\n"

typedef struct Row {
    const char *text;
    const char *reads, *writes; /* as printed */
} Row;

static const Row ROWS[] = {
    {BLOCK
     "            for t in range(4):\n                Y[vi] = Y[vi] + X[vi * 4 + t]\n",
     "T.reads(Y[vi], X[vi * 4:vi * 4 + 4])", "T.writes(Y[vi])"},
    {BLOCK
     "            with T.init():\n                Y[vi] = 0.0\n"
     "            for t in range(4):\n                Y[vi] = Y[vi] + X[vi * 4 + t]\n",
     "T.reads(X[vi * 4:vi * 4 + 4])", "T.writes(Y[vi])"},
    {BLOCK "            T.reads()\n            Y[vi] = X[vi]\n", "T.reads()",
     "T.writes(Y[vi])"},
    {BLOCK "            T.writes(Y[0:16])\n            Y[vi] = X[vi]\n", "T.reads(X[vi])",
     "T.writes(Y[0:16])"},
    {BLOCK "            for t in range(8):\n                if t < 5:\n"
           "                    Y[vi] = X[t]\n",
     "T.reads(X[0:5])", "T.writes(Y[vi])"},
    {BLOCK "            for t in range(8):\n                if t >= 5:\n"
           "                    Y[vi] = X[t]\n",
     "T.reads(X[5:8])", "T.writes(Y[vi])"},
    {BLOCK
     "            for t in range(8):\n                Y[vi] = T.if_then_else(t < 3, X[t], "
     "X[t + 8])\n",
     "T.reads(X[0:16])", "T.writes(Y[vi])"},
    {BLOCK "            k: T.int32 = vi * 2\n            Y[vi] = X[k + 1]\n",
     "T.reads(X[vi * 2 + 1])", "T.writes(Y[vi])"},
    {BLOCK "            S = T.alloc_buffer((4,))\n            S[0] = X[vi]\n            "
           "Y[vi] = S[0]\n",
     "T.reads(X[vi])", "T.writes(Y[vi])"},
    {BLOCK "            T.evaluate(T.call_extern(\"int32\", \"f\", X.access_ptr(\"r\"), "
           "Y.access_ptr(\"w\")))\n",
     "T.reads(X[0:64])", "T.writes(Y[0:16])"},
    {BLOCK "            S = T.match_buffer(X[vi * 4:vi * 4 + 4], (4,))\n"
           "            for t in range(2):\n                Y[vi] = S[t + 1]\n",
     "T.reads(X[vi * 4 + 1:vi * 4 + 1 + 2])", "T.writes(Y[vi])"},
    {BLOCK "            Y[vi] = Z[vi // 8, vi % 8] + Z[0, 0]\n",
     "T.reads(Z[0:vi // 8 + 1, 0:vi % 8 + 1])", "T.writes(Y[vi])"},
    {BLOCK
     "            V = T.decl_buffer((8, 8), data=X.data)\n            Y[vi] = V[0, 0]\n",
     "T.reads(X[0:64])", "T.writes(Y[vi])"},
    {BLOCK "            Y[vi:vi + 1] = X[vi]\n            X[vi * 4:vi * 4 + 4] = "
           "T.broadcast(Y[vi], 4)\n",
     "T.reads(X[vi], Y[vi])", "T.writes(Y[vi], X[vi * 4:vi * 4 + 4])"},
    {BLOCK
     "            for t in range(4):\n                with T.block(\"c\"):\n"
     "                    vt = T.axis.S(4, t)\n                    T.reads(X[vi * 4 + "
     "vt])\n"
     "                    T.writes(Y[vi])\n                    Y[vi] = X[vi * 4 + vt]\n",
     "T.reads(X[vi * 4:vi * 4 + 4])", "T.writes(Y[vi])"},
    /* bounds past the limits of int32: that dimension whole, the others and what follows
     * as usual */
    {BLOCK
     "            for t in range(2147483647):\n                for u in "
     "range(2147483647):\n                    Y[vi] = X[t + u] + Z[0, u] + X[t + u]\n",
     "T.reads(X[0:64], Z[0, 0:2147483647])", "T.writes(Y[vi])"},
};

static void print(ml_Ctx *cx, ml_Text *out, const char *text)
{
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);
    ml_PrintOpts po = {.spelling = -1, .no_header = true};

    if (!p.mod)
        fail_msg("%s\n%s %s", text, p.diags[0].code, p.diags[0].message);
    ml_print_module(cx, out, p.mod, &po);
}

static void omitted_regions_are_inferred(void **state)
{
    int bad = 0;

    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text t = {0};
        char want[512];

        print(cx, &t, ROWS[k].text);
        snprintf(want, sizeof want, "%s\n                %s\n", ROWS[k].reads,
                 ROWS[k].writes);
        if (!strstr(ml_text_z(&t), want)) {
            fprintf(stderr, "row %zu: want %s; have\n%s\n", k, want, ml_text_z(&t));
            bad++;
        }
        ml_text_free(&t);
        ml_ctx_unref(cx);
    }
    assert_int_equal(bad, 0);
}

static const ml_Stmt *body_of(ml_Ctx *cx, const char *body)
{
    ml_Text t = {0};
    ml_Parsed p;

    ml_text_fmt(&t, "%s%s", HEAD, body);
    p = ml_parse(cx, (ml_Str){t.p, t.n}, NULL);
    ml_text_free(&t);
    assert_non_null(p.mod);
    return p.mod->funcs[0]->body;
}

static void the_root_block_is_put_where_blocks_need_one(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Stmt *s = body_of(cx, "    for i in range(4):\n        X[i] = 0.0\n");
    const ml_Block *b;

    assert_int_equal(s->kind, ML_STMT_FOR);
    s = body_of(cx, "    S = T.alloc_buffer((4,))\n    S[0] = 1.0\n");
    assert_int_equal(s->kind, ML_STMT_BLOCK);
    assert_int_equal(ml_as_block(s)->n_allocs, 1);
    s = body_of(cx, "    with T.block(\"mine\"):\n        X[0] = 0.0\n");
    b = ml_as_block(s);
    assert_string_equal(b->name, "mine"); /* a single block without iterators is the root */
    assert_int_equal(b->n_writes, 0);     /* and is never filled */
    s = body_of(
        cx, "    with T.block(\"b\"):\n        v = T.axis.S(1, 0)\n        X[v] = 0.0\n");
    b = ml_as_block(s);
    assert_string_equal(b->name, "root");
    assert_string_equal(ml_as_block(b->body)->name, "b");
    s = body_of(
        cx,
        "    S = T.alloc_buffer((4,))\n    with T.block(\"root\"):\n        S[0] = 0.0\n");
    b = ml_as_block(s);
    assert_string_equal(b->name, "root");
    assert_string_equal(ml_as_block(b->body)->name, "root"); /* a second, outer root */
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(omitted_regions_are_inferred),
        cmocka_unit_test(the_root_block_is_put_where_blocks_need_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
