/*
 * test_roundtrip - P1 and P2 of script.md: what is printed parses back to an equal program
 * with an equal hash, and printing that again gives the same bytes, in both spellings.
 */
#include "../core_test.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/core/script/script.h"
#include "random_ir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void show_errors(const ml_Parsed *r, ml_Str source)
{
    ml_Text t = {0};
    for (size_t k = 0; k < r->n_diags && k < 5; k++)
        ml_diag_print(&t, &r->diags[k], source);
    print_error("%s\n%.*s\n", ml_text_z(&t), (int)source.n, source.p);
    ml_text_free(&t);
}

static void show_first_difference(const char *a, const char *b)
{
    size_t line = 0; /* where the first line that differs begins */

    for (size_t k = 0; a[k] && a[k] == b[k]; k++)
        if (a[k] == '\n')
            line = k + 1;
    print_error("first:  %.400s\n", a + line);
    print_error("second: %.400s\n", b + line);
}

/* Prints m, reads that, compares; prints again and compares the bytes. */
static void check_round_trip(ml_Ctx *cx, const ml_Module *m, const ml_PrintOpts *o,
                             const char *what)
{
    ml_Text first = {0}, second = {0};
    ml_Difference diff = {0};

    ml_print_module(cx, &first, m, o);
    ml_Str source = {first.p, first.n};
    ml_Parsed r = ml_parse(cx, source, NULL);
    if (!r.mod) {
        show_errors(&r, source);
        fail_msg("%s: the printed text does not parse", what);
    }
    if (!ml_equal_module(cx, m, r.mod, NULL, &diff)) {
        print_error("%s\n", ml_text_z(&first));
        fail_msg("%s: %s (%s, %s)", what, diff.reason, diff.path_a, diff.path_b);
    }
    assert_true(ml_hash_module(cx, m, NULL) == ml_hash_module(cx, r.mod, NULL));
    ml_print_module(cx, &second, r.mod, o);
    if (strcmp(ml_text_z(&first), ml_text_z(&second)) != 0) {
        show_first_difference(ml_text_z(&first), ml_text_z(&second));
        fail_msg("%s: not a fixed point", what);
    }
    ml_text_free(&first);
    ml_text_free(&second);
}

static void both_spellings(ml_Ctx *cx, const ml_Module *m, const char *what)
{
    for (int k = 0; k < 6; k++) {
        ml_PrintOpts o = {
            .spelling = k & 1, .no_sugar = k / 2 == 1, .regions_auto = k / 2 == 2};
        check_round_trip(cx, m, &o, what);
    }
}

static void random_functions(bool no_blocks, uint64_t from, uint64_t n)
{
    for (uint64_t seed = from; seed < from + n; seed++) {
        ml_Ctx *cx = ml_ctx_new(0);
        RandomIr how = {.seed = seed,
                        .no_blocks = no_blocks,
                        .spelling = (int)(seed & 1),
                        .size = 4 + (unsigned)(seed % 30)};
        const ml_Func *f = random_func(cx, &how);
        char what[64];
        snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
        both_spellings(cx, ml_module_new(cx, &f, 1, NULL), what);
        ml_ctx_unref(cx);
    }
}

static void random_programs_with_blocks_survive(void **state)
{
    (void)state;
    random_functions(false, 0, 400);
}

static void random_lowered_programs_survive(void **state)
{
    (void)state;
    random_functions(true, 10000, 400);
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    size_t cap = 1 << 20;
    char *p = malloc(cap);
    *n = p ? fread(p, 1, cap, f) : 0;
    fclose(f);
    return p;
}

static int is_program(const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    return n > 3 && strcmp(e->d_name + n - 3, ".py") == 0;
}

static const char *corpus_dir(void)
{
    return getenv("ML_CORPUS") ? getenv("ML_CORPUS") : "tests/corpus";
}

static void the_corpus_survives(void **state)
{
    struct dirent **names;
    (void)state;
    int n = scandir(corpus_dir(), &names, is_program, alphasort);
    assert_true(n > 0); /* run from the top of the tree, or set ML_CORPUS */
    for (int k = 0; k < n; k++) {
        char path[4096];
        size_t len = 0;
        snprintf(path, sizeof path, "%s/%s", corpus_dir(), names[k]->d_name);
        char *text = read_file(path, &len);
        assert_non_null(text);
        ml_Ctx *cx = ml_ctx_new(0);
        ml_ParseOpts o = {.spelling = -1, .file_mode = true, .file = names[k]->d_name};
        ml_Parsed r = ml_parse(cx, (ml_Str){text, len}, &o);
        if (!r.mod) {
            show_errors(&r, (ml_Str){text, len});
            fail_msg("%s does not parse", path);
        }
        both_spellings(cx, r.mod, path);
        ml_ctx_unref(cx);
        free(text);
        free(names[k]);
    }
    free(names);
}

static void a_long_function_prints_quickly(void **state)
{
    (void)state;
    enum { N = 330 };
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text src = {0}, out = {0};
    ml_text_add(&src, "@T.prim_func\ndef main(A: T.Buffer((64, 64), \"float32\")):\n");
    for (int k = 0; k < N; k++)
        ml_text_fmt(&src,
                    "    for i, j in T.grid(64, 64):\n        with T.block(\"b%d\"):\n"
                    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                    "            A[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(%d)\n",
                    k, k);
    ml_Parsed r = ml_parse(cx, (ml_Str){src.p, src.n}, NULL);
    assert_non_null(r.mod);
    clock_t begin = clock();
    ml_print_module(cx, &out, r.mod, NULL);
    double ms = 1000.0 * (double)(clock() - begin) / CLOCKS_PER_SEC;
    assert_true(ms < 200); /* the goal is 10 ms; sanitizers and busy machines are slower */
    print_message("%d blocks: printed in %.2f ms\n", N, ms);
    ml_text_free(&src);
    ml_text_free(&out);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_survives),
        cmocka_unit_test(random_programs_with_blocks_survive),
        cmocka_unit_test(random_lowered_programs_survive),
        cmocka_unit_test(a_long_function_prints_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
