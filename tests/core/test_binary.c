/*
 * test_binary - programs as bytes and back.
 *
 * Every program of the corpus comes back equal and prints the same text, and its bytes do
 * not depend on the numbers in its context. Bytes that are cut off, changed or of another
 * version are refused; when the checksum is made to fit a change, they are refused or give
 * some program, and nothing crashes.
 */
#include "core_test.h"
#include "moonloop/core/binary/binary.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/error.h"
#include "moonloop/core/script/script.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16, HEADER = 36, SUM_AT = 12, SUMMED = 20 };

static const char *text_of(ml_Ctx *cx, const ml_Module *m)
{
    ml_Text t = {0};
    const char *z;

    ml_print_module(cx, &t, m, NULL);
    z = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return z;
}

static const char *why_of(const ml_Ctx *cx)
{
    return ml_error(cx)->n_facts ? ml_error(cx)->facts[0].as.text : "no words";
}

typedef void ProgramFn(ml_Ctx *cx, const ml_Module *m, const char *name);

/* Calls fn with every program of the corpus; their number. */
static int each_program(ProgramFn *fn)
{
    const char *where = getenv("ML_CORPUS") ? getenv("ML_CORPUS") : "tests/corpus";
    DIR *dir = opendir(where);
    char *text = malloc(MAX_TEXT);
    int n = 0;

    assert_non_null(dir);
    assert_non_null(text);
    for (struct dirent *d; (d = readdir(dir));) {
        size_t len = strlen(d->d_name);
        ml_Ctx *cx = ml_ctx_new(0);
        const char *path = ml_format(cx, "%s/%s", where, d->d_name);
        FILE *f =
            len > 3 && strcmp(d->d_name + len - 3, ".py") == 0 ? fopen(path, "rb") : NULL;
        ml_Parsed p = {0};

        if (f) {
            p = ml_parse(cx, (ml_Str){text, fread(text, 1, MAX_TEXT, f)}, NULL);
            fclose(f);
        }
        if (p.mod) {
            fn(cx, p.mod, d->d_name);
            n++;
        }
        ml_ctx_unref(cx);
    }
    closedir(dir);
    free(text);
    return n;
}

/* ---------------------------------------------------------------- there and back */

static void comes_back(ml_Ctx *cx, const ml_Module *m, const char *name)
{
    for (int lines = 0; lines < 2; lines++) {
        ml_Ctx *to = ml_ctx_new(0);
        ml_Binary b = ml_binary_write(cx, m, lines), again;
        ml_Difference d = {0};
        ml_BinaryRead r;

        for (int k = 0; k < 7; k++) /* its numbers are others */
            ml_fresh_uid(to);
        if (!ml_binary_read(to, b, "there", &r))
            fail_msg("%s: %s", name, why_of(to));
        assert_true((r.ordinals == NULL) == lines);
        assert_string_equal(text_of(cx, m), text_of(to, r.mod));
        again = ml_binary_write(to, r.mod, lines);
        if (again.n != b.n || memcmp(again.v, b.v, b.n) != 0)
            fail_msg("%s: other bytes when written again", name);
        if (!ml_equal_module(to, m, r.mod, NULL, &d))
            fail_msg("%s: %s at %s", name, d.reason, d.path_a);
        ml_ctx_unref(to);
    }
}

static void programs_of_the_corpus_come_back(void **state)
{
    (void)state;
    assert_true(each_program(comes_back) > 30);
}

static const ml_Module *program(ml_Ctx *cx)
{
    static const char text[] =
        "@T.prim_func\n"
        "def f(A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8,), \"float32\")):\n"
        "    for i, k in T.grid(8, 8):\n"
        "        with T.block(\"sum\"):\n"
        "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
        "            T.block_attr({\"why\": [1, \"x\", 0.5]})\n"
        "            with T.init():\n"
        "                B[vi] = T.float32(0)\n"
        "            B[vi] = B[vi] + T.if_then_else(vk < 4, A[vi, vk], T.exp(A[vi, vk]))\n";
    ml_Parsed p = ml_parse(cx, ml_str(text), NULL);

    assert_non_null(p.mod);
    return p.mod;
}

static void spans_go_along_or_are_ordinals(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Module *m = program(cx);
    const ml_Stmt *body = m->funcs[0]->body, *back;
    const ml_Block *sum, *again;
    ml_BinaryRead r;

    assert_true(ml_binary_read(cx, ml_binary_write(cx, m, true), "the program", &r));
    back = ml_as_block(r.mod->funcs[0]->body)->body;
    assert_int_equal(back->span->line, ml_as_block(body)->body->span->line);
    assert_int_equal(back->span->col, ml_as_block(body)->body->span->col);
    assert_string_equal(back->span->file, "the program");
    sum = ml_as_block(ml_as_for(ml_as_for(ml_as_block(body)->body)->body)->body);
    again = ml_as_block(ml_as_for(ml_as_for(back)->body)->body);
    assert_int_equal(again->iters[1].span->col, sum->iters[1].span->col);
    assert_int_equal(r.mod->funcs[0]->span->line, m->funcs[0]->span->line);
    assert_true(ml_binary_read(cx, ml_binary_write(cx, m, false), "the program", &r));
    assert_int_equal(r.n_ordinals, 6); /* root, two loops, block, init, store */
    for (uint32_t k = 0; k < r.n_ordinals; k++)
        assert_int_equal(r.ordinals[k].line, k + 1);
    assert_ptr_equal(r.mod->funcs[0]->body->span, &r.ordinals[5]);
    ml_ctx_unref(cx);
    (void)state;
}

/* ---------------------------------------------------------------- what is no program */

static void refused(ml_Binary b, const char *why)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_BinaryRead r;

    assert_false(ml_binary_read(cx, b, "there", &r));
    assert_null(r.mod);
    assert_int_equal(ml_error(cx)->code, ML_E_ILL_FORMED);
    if (!strstr(why_of(cx), why))
        fail_msg("%s, not %s", why_of(cx), why);
    ml_ctx_unref(cx);
}

static void other_bytes_are_refused(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Binary b = ml_binary_write(cx, program(cx), false);
    uint8_t *v = ml_alloc(cx, b.n + 1);

    memcpy(v, b.v, b.n);
    v[b.n] = 0;
    refused((ml_Binary){v, 0}, "does not begin");
    refused((ml_Binary){(const uint8_t *)"def f():", 8}, "does not begin");
    for (size_t n = 4; n < b.n; n++)
        refused((ml_Binary){v, n}, "cut off");
    refused((ml_Binary){v, b.n + 1}, "cut off");
    v[4] = 0;
    refused((ml_Binary){v, b.n}, "of version 0, this build reads 1");
    v[4] = b.v[4];
    v[8] ^= 1;
    refused((ml_Binary){v, b.n}, "other nodes");
    v[8] ^= 1;
    for (size_t k = SUM_AT; k < b.n; k++)
        for (unsigned bit = 0; bit < 8; bit++) {
            v[k] ^= (uint8_t)(1u << bit);
            refused((ml_Binary){v, b.n}, k >= 28 && k < HEADER ? "cut off" : "damaged");
            v[k] ^= (uint8_t)(1u << bit);
        }
    ml_ctx_unref(cx);
    (void)state;
}

/* As the writer sums. */
static void fit_sum(uint8_t *v, size_t n)
{
    uint64_t h = ml_fnv(ML_FNV, v + SUMMED, n - SUMMED);

    for (size_t k = 0; k < 8; k++)
        v[SUM_AT + k] = (uint8_t)(h >> 8 * k);
}

static uint32_t n_read, n_refused, n_ill_typed;

static void changed_at_random(ml_Ctx *cx, const ml_Module *m, const char *name)
{
    Rng rng = {1};
    ml_Binary b = ml_binary_write(cx, m, true);
    uint8_t *v = malloc(b.n);

    assert_non_null(v);
    for (int k = 0; k < 400; k++) {
        ml_Ctx *to = ml_ctx_new((size_t)1 << 26);
        ml_BinaryRead r;
        uint32_t n = 1 + rng_below(&rng, 3);

        memcpy(v, b.v, b.n);
        for (uint32_t j = 0; j < n; j++)
            v[SUMMED + rng_below(&rng, (uint32_t)b.n - SUMMED)] ^=
                (uint8_t)(1u << rng_below(&rng, 8));
        fit_sum(v, b.n);
        if (ml_binary_read(to, (ml_Binary){v, b.n}, "there", &r)) {
            n_read++;
            assert_non_null(r.mod);
        } else {
            n_refused++;
            if (!ml_error(to))
                fail_msg("%s: refused without an error", name);
            n_ill_typed += strstr(why_of(to), "ill-typed") != NULL;
        }
        ml_ctx_unref(to);
    }
    free(v);
}

static void damage_under_a_right_checksum_does_no_harm(void **state)
{
    int n = each_program(changed_at_random);

    (void)state;
    assert_true(n_read > (uint32_t)n && n_refused > (uint32_t)n * 100);
    assert_true(n_ill_typed > (uint32_t)n); /* what no constructor makes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_the_corpus_come_back),
        cmocka_unit_test(spans_go_along_or_are_ordinals),
        cmocka_unit_test(other_bytes_are_refused),
        cmocka_unit_test(damage_under_a_right_checksum_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
