/* test_parse - programs of the corpus are fixed points of printing and survive it (P1, P2),
 * in both spellings; constructs mean the same in both spellings. Source: script 1 to 10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "corpus.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"

static ml_Parsed parse(ml_Ctx *cx, const char *text, const char *what)
{
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    if (!p.mod)
        fprintf(stderr, "%s: %s %u:%u %s\n%s\n", what, p.n_diags ? p.diags[0].code : "?",
                p.n_diags ? p.diags[0].span.line : 0, p.n_diags ? p.diags[0].span.col : 0,
                p.n_diags ? p.diags[0].message : "", text);
    assert_non_null(p.mod);
    return p;
}

static void the_corpus_is_a_fixed_point_of_printing(void **state)
{
    char name[512], *text;
    size_t k = 0;

    for (; (text = corpus_file(k, name)); k++) {
        for (int spelling = ML_CLASSIC; spelling <= ML_NEWEST; spelling++) {
            ml_Ctx *cx = ml_ctx_new(0);
            ml_PrintOpts po = {.spelling = spelling};
            ml_Parsed a = parse(cx, text, name), b;
            ml_Text t = {0}, u = {0};
            ml_Difference d = {0};

            ml_print_module(cx, &t, a.mod, &po);
            b = parse(cx, ml_text_z(&t), name);
            if (!ml_equal_module(cx, a.mod, b.mod, NULL, &d))
                fail_msg("%s: %s at %s\n%s", name, d.reason, d.path_a, ml_text_z(&t));
            ml_print_module(cx, &u, b.mod, &po);
            if (strcmp(ml_text_z(&t), ml_text_z(&u)) != 0) {
                fprintf(stderr, "%s (spelling %d)\n%s\n----\n%s\n", name, spelling,
                        ml_text_z(&t), ml_text_z(&u));
                fail();
            }
            ml_text_free(&t);
            ml_text_free(&u);
            ml_ctx_unref(cx);
        }
        free(text);
    }
    assert_true(k >= 30);
}

typedef struct Pair {
    const char *classic, *newest; /* bodies, from column 5 */
} Pair;

static const Pair PAIRS[] = {
    {"    x = A[0]\n    A[1] = x\n", "    x: T.let = A[0]\n    A[1] = x\n"},
    {"    x: T.float32 = A[0]\n    A[1] = x\n",
     "    x: T.let[T.float32] = A[0]\n    A[1] = x\n"},
    {"    with T.LetStmt(A[0]) as x:\n        A[1] = x\n",
     "    x = T.bind(A[0])\n    A[1] = x\n"},
    {"    S = T.alloc_buffer((4,))\n    S[0] = A[0]\n",
     "    S = T.sblock_alloc_buffer((4,))\n    S[0] = A[0]\n"},
    {"    S = T.decl_buffer((4,), scope=\"local\")\n    S[0] = A[0]\n",
     "    S = T.alloc_local((4,))\n    S[0] = A[0]\n"},
    {"    S = T.decl_buffer((4,), scope=\"shared\")\n    S[0] = A[0]\n",
     "    S = T.alloc_shared([4])\n    S[0] = A[0]\n"},
    {"    T.func_attr({\"tir.noalias\": True})\n    A[0] = T.exp(A[1])\n",
     "    T.func_attr({\"tirx.noalias\": True})\n    A[0] = T.exp(A[1])\n"},
    {"    T.func_attr({\"tir.\": True})\n    A[0] = A[1]\n",
     "    T.func_attr({\"tirx.\": True})\n    A[0] = A[1]\n"},
    {"    A[0] = T.call_intrin(\"float32\", \"tir.exp\", A[1])\n",
     "    A[0] = T.call_intrin(\"float32\", \"tirx.exp\", A[1])\n"},
    {"    for i in range(8):\n        with T.block(\"b\"):\n            vi = T.axis.S(8, "
     "i)\n"
     "            T.block_attr({\"k\": 1})\n            A[vi] = 1.0\n",
     "    for i in range(8):\n        with T.sblock(\"b\"):\n            vi = T.axis.S(8, "
     "i)\n"
     "            T.sblock_attr({\"k\": 1})\n            A[vi] = 1.0\n"},
    {"    assert n < 4, \"text\"\n", "    assert n < 4, (\"RuntimeError\", [\"text\"])\n"},
};

static void both_spellings_denote_equal_programs(void **state)
{
    for (size_t k = 0; k < sizeof PAIRS / sizeof *PAIRS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text a = {0}, b = {0};
        ml_Parsed p, q;
        ml_Difference d = {0};

        ml_text_fmt(&a,
                    "@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\"), n: T.int32):\n%s",
                    PAIRS[k].classic);
        ml_text_fmt(&b,
                    "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((8,), \"float32\"), n: "
                    "T.int32):\n%s",
                    PAIRS[k].newest);
        p = parse(cx, ml_text_z(&a), "classic");
        q = parse(cx, ml_text_z(&b), "newest");
        assert_int_equal(p.mod->funcs[0]->spelling, ML_CLASSIC);
        assert_int_equal(q.mod->funcs[0]->spelling, ML_NEWEST);
        if (!ml_equal_module(cx, p.mod, q.mod, NULL, &d))
            fail_msg("pair %zu: %s at %s", k, d.reason, d.path_a);
        ml_text_free(&a);
        ml_text_free(&b);
        ml_ctx_unref(cx);
    }
}

static void a_matched_handle_equals_a_buffer_parameter(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = parse(
                  cx,
                  "@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\")):\n    A[0] = 1.0\n",
                  "buffer"),
              q = parse(
                  cx,
                  "@T.prim_func\ndef f(a: T.handle):\n    B = T.match_buffer(a, (8,))\n"
                  "    B[0] = T.float32(1)\n",
                  "handle");

    assert_true(ml_equal_module(cx, p.mod, q.mod, NULL, NULL));
    ml_ctx_unref(cx);
}

static void an_empty_scope_of_a_pointer_is_global(void **state)
{
    static const char *const same[][2] = {
        {"T.handle(\"float32\")", "T.handle(\"float32\", storage_scope=\"\")"},
        {"T.handle(\"float32\")", "T.Ptr[\"float32\", \"\"]"},
        {"T.handle", "T.Ptr[\"void\"]"},
    };

    for (size_t k = 0; k < ML_COUNT(same); k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Parsed p[2];
        ml_Difference d = {0};

        for (size_t m = 0; m < 2; m++)
            p[m] = parse(cx,
                         ml_format(cx,
                                   "@T.prim_func\ndef f(A: T.Buffer((8,), \"float32\"), p: "
                                   "%s):\n    A[0] = 1.0\n",
                                   same[k][m]),
                         same[k][m]);
        if (!ml_equal_module(cx, p[0].mod, p[1].mod, NULL, &d))
            fail_msg("%s: %s at %s", same[k][1], d.reason, d.path_a);
        ml_ctx_unref(cx);
    }
}

static void the_mode_follows_import_pragma_and_names(void **state)
{
    static const struct {
        const char *head;
        int spelling;
    } ROWS[] = {
        {"", ML_CLASSIC},
        {"from tvm.script import tirx as T\n", ML_NEWEST},
        {"from tvm.script import tir as T\n", ML_CLASSIC},
        {"# moonloop: spelling=newest\n", ML_NEWEST},
        {"from tvm.script import tirx as T\n# moonloop: spelling=classic\n", ML_CLASSIC},
    };

    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text t = {0};

        ml_text_fmt(&t, "%s@T.prim_func\ndef f(n: T.int32):\n    pass\n", ROWS[k].head);
        assert_int_equal(parse(cx, ml_text_z(&t), "mode").mod->funcs[0]->spelling,
                         ROWS[k].spelling);
        ml_text_free(&t);
        ml_ctx_unref(cx);
    }
}

static void expressions_and_index_maps_are_read_alone(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Var *v = ml_var_new(cx, "i", ML_DT_I32);
    ml_ParseName names[1] = {{"i", ml_var(cx, v), NULL}};
    const ml_Expr *e = ml_parse_expr(cx, ml_str("i * 4 + 1"), names, 1, NULL);
    const ml_IndexMap *m =
        ml_parse_index_map(cx, ml_str("lambda i, j: (j, i // 4, i % 4)"), ML_DT_I32, NULL);

    assert_ptr_equal(e,
                     ml_add(cx, ml_mul(cx, ml_var(cx, v), ml_i32(cx, 4)), ml_i32(cx, 1)));
    assert_non_null(m);
    assert_int_equal(m->n_vars, 2);
    assert_int_equal(m->n_exprs, 3);
    assert_null(ml_parse_expr(cx, ml_str("i +"), names, 1, NULL));
    assert_non_null(ml_error(cx));
    ml_error_clear(cx);
    assert_null(ml_parse_expr(cx, ml_str("q"), names, 1, NULL));
    ml_ctx_unref(cx);
}

static void values_of_the_caller_are_constants(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_ParseValue v[2] = {{.name = "M", .value = ml_val_int(cx, 12)},
                          {.name = "DT", .value = ml_val_string(cx, ml_str("int8"))}};
    ml_ParseOpts o = {.spelling = -1, .values = v, .n_values = 2};
    ml_Parsed p = ml_parse(
        cx, ml_str("@T.prim_func\ndef f(A: T.Buffer((M * 2,), DT)):\n    A[M] = 1\n"), &o);

    assert_non_null(p.mod);
    assert_true(ml_is_int(p.mod->funcs[0]->params[0].buffer->shape[0], 24));
    ml_ctx_unref(cx);
}

static void other_python_of_a_file_is_skipped_with_warnings(void **state)
{
    static const char TEXT[] = "import numpy as np\nx = {a: 1 for a in [3]}\n"
                               "def helper(n):\n    return np.zeros(n)\n"
                               "@T.prim_func\ndef f(n: T.int32):\n    pass\n"
                               "def outer(k):\n    @T.prim_func\n    def g(n: T.int32):\n"
                               "        T.evaluate(k)\n    return g\n"
                               "if __name__ == \"__main__\":\n    helper(3)\n";
    ml_Ctx *cx = ml_ctx_new(0);
    ml_ParseOpts o = {.spelling = -1, .file_mode = true};
    ml_Parsed p = ml_parse(cx, ml_str(TEXT), &o);

    assert_non_null(p.mod);
    assert_int_equal(p.mod->n, 1);
    assert_int_equal(p.n_diags, 4);
    assert_non_null(strstr(p.diags[2].message, "closure"));
    ml_ctx_unref(cx);
}

static void nesting_has_a_limit_and_no_crash(void **state)
{
    static const char *const OPEN[] = {
        "(", "-", "not ", "[", "1 + ", "lambda: ", "x if y else ", "T.exp(", "~", "2 ** "};

    for (size_t k = 0; k < sizeof OPEN / sizeof *OPEN; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Text t = {0};

        ml_text_add(&t, "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(");
        for (int j = 0; j < 5000; j++)
            ml_text_add(&t, OPEN[k]);
        ml_text_add(&t, "n)\n");
        assert_null(ml_parse(cx, (ml_Str){t.p, t.n}, NULL).mod);
        ml_text_free(&t);
        ml_ctx_unref(cx);
    }
}

static void every_prefix_of_the_corpus_is_read_without_a_crash(void **state)
{
    char name[512], *text;

    for (size_t k = 0; (text = corpus_file(k, name)); k++) {
        size_t n = strlen(text);

        for (size_t cut = k % 23; cut < n; cut += 23) {
            ml_Ctx *cx = ml_ctx_new(0);

            ml_parse(cx, (ml_Str){text, cut}, NULL);
            ml_ctx_unref(cx);
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_is_a_fixed_point_of_printing),
        cmocka_unit_test(both_spellings_denote_equal_programs),
        cmocka_unit_test(a_matched_handle_equals_a_buffer_parameter),
        cmocka_unit_test(an_empty_scope_of_a_pointer_is_global),
        cmocka_unit_test(the_mode_follows_import_pragma_and_names),
        cmocka_unit_test(expressions_and_index_maps_are_read_alone),
        cmocka_unit_test(values_of_the_caller_are_constants),
        cmocka_unit_test(other_python_of_a_file_is_skipped_with_warnings),
        cmocka_unit_test(nesting_has_a_limit_and_no_crash),
        cmocka_unit_test(every_prefix_of_the_corpus_is_read_without_a_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
