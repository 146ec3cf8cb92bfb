/*
 * test_alloc_failure - memory that runs out while a text is read and printed, a program is
 * imported, a JSON text is read, expressions are simplified: the context says so, nothing
 * crashes, and the same work is done once there is memory.
 */
#include "moonloop/core/arith/arith.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/script/script.h"
#include "moonloop/core/walk.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_TEXT = 1 << 16 };

static size_t read_file(const char *dir, const char *name, char *out)
{
    char path[512];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "rb");
    n = f ? fread(out, 1, MAX_TEXT, f) : 0;
    if (f)
        fclose(f);
    return n;
}

/* Calls fn with every text of the corpus; their number. */
static int each_text(void (*fn)(ml_Str text, const char *name))
{
    const char *where = getenv("ML_CORPUS") ? getenv("ML_CORPUS") : "tests/corpus";
    DIR *dir = opendir(where);
    char *text = malloc(MAX_TEXT);
    int n = 0;

    assert_non_null(dir);
    assert_non_null(text);
    for (struct dirent *d; (d = readdir(dir));) {
        size_t len = strlen(d->d_name);

        if (len < 4 || strcmp(d->d_name + len - 3, ".py") != 0)
            continue;
        fn((ml_Str){text, read_file(where, d->d_name, text)}, d->d_name);
        n++;
    }
    closedir(dir);
    free(text);
    return n;
}

static int refused;

static void out_of_memory(const ml_Ctx *cx, const char *name, size_t limit)
{
    refused++;
    if (!ml_error(cx) || ml_error(cx)->code != ML_E_OUT_OF_MEMORY)
        fail_msg("%s with %zu bytes: %s", name, limit,
                 ml_error(cx) ? ml_error_code(ml_error(cx)->code) : "no error");
}

/* ---- reading, by bytes and by chunks */

static void read_under_limits(ml_Str text, const char *name)
{
    bool enough = false;

    for (size_t limit = 64; !enough; limit += 64 + limit / 4) {
        ml_Ctx *cx = ml_ctx_new(limit);
        ml_Parsed p = ml_parse(cx, text, NULL);

        enough = p.mod != NULL && ml_ok(cx);
        if (!enough) {
            out_of_memory(cx, name, limit);
            assert_null(p.mod);
            for (size_t k = 0; k < p.n_diags; k++) {
                ml_Text t = {0};

                ml_diag_print(&t, &p.diags[k], text);
                ml_text_free(&t);
            }
            ml_ctx_set_limit(cx, 0);
            ml_error_clear(cx);
            p = ml_parse(cx, text, NULL);
            if (!p.mod)
                fail_msg("%s is not read after a failure: %s", name,
                         p.n_diags ? p.diags[0].message : "?");
        }
        ml_ctx_unref(cx);
    }
}

static void read_with_failing_chunks(ml_Str text, const char *name)
{
    for (uint64_t nth = 1; nth <= 6; nth++) {
        ml_Ctx *cx = ml_ctx_new(0);

        ml_ctx_fail_alloc(cx, nth);
        ml_Parsed p = ml_parse(cx, text, NULL);

        if (!p.mod)
            out_of_memory(cx, name, (size_t)nth);
        else
            assert_true(ml_ok(cx));
        ml_ctx_unref(cx);
    }
}

static void reading_survives_every_limit(void **state)
{
    refused = 0;
    assert_true(each_text(read_under_limits) > 20);
    assert_true(refused > 500);
}

static void reading_survives_the_failure_of_any_chunk(void **state)
{
    refused = 0;
    assert_true(each_text(read_with_failing_chunks) > 20);
    assert_true(refused > 30);
}

/* ---- printing and importing */

static void print_under_limits(ml_Str text, const char *name)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Parsed p = ml_parse(cx, text, NULL);
    ml_PrintOpts o = {.spelling = -1};
    ml_Text want = {0};

    assert_non_null(p.mod);
    ml_ctx_seal(cx);
    ml_Ctx *tmp = ml_ctx_new(0);

    ml_print_module(tmp, &want, p.mod, &o);
    ml_ctx_unref(tmp);
    for (size_t limit = 64; limit < 200000; limit += 64 + limit / 2) {
        ml_Ctx *to = ml_ctx_new(limit);
        ml_Text t = {0};

        ml_print_module(to, &t, p.mod, &o);
        if (ml_ok(to)) /* what was printed without a complaint is whole */
            assert_string_equal(ml_text_z(&want), ml_text_z(&t));
        else
            out_of_memory(to, name, limit);
        ml_text_free(&t);
        ml_ctx_unref(to);

        to = ml_ctx_new(limit);
        const ml_Module *copy = ml_import_module(ml_import_begin(to), p.mod);

        if (ml_ok(to)) {
            ml_Ctx *scratch = ml_ctx_new(0);

            assert_true(ml_equal_module(scratch, p.mod, copy, NULL, NULL));
            ml_ctx_unref(scratch);
        } else
            out_of_memory(to, name, limit);
        ml_ctx_unref(to);
    }
    ml_text_free(&want);
    ml_ctx_unref(cx);
}

static void printing_and_importing_survive_every_limit(void **state)
{
    refused = 0;
    assert_true(each_text(print_under_limits) > 20);
    assert_true(refused > 200);
}

/* ---- JSON, simplification, regions */

static void reading_json_survives_every_limit(void **state)
{
    static const char text[] = "{\"a\": [1, 2, {\"b\": \"some text\", \"c\": [null, true, "
                               "1.5e3]}], \"d\": {\"e\": {\"f\": {\"g\": [[[[[0]]]]]}}}}";
    int failures = 0;

    for (size_t limit = 16; limit < 20000; limit += 16) {
        ml_Ctx *cx = ml_ctx_new(limit);
        ml_JsonError e;
        const ml_Json *j = ml_json_read(cx, ml_str(text), &e);

        failures += !ml_ok(cx);
        if (ml_ok(cx)) {
            assert_non_null(j);
            assert_int_equal(2, j->n);
        }
        ml_ctx_unref(cx);
    }
    assert_true(failures > 5);
}

static const ml_Expr *large(ml_Ctx *cx, const ml_Expr *const *v)
{
    const ml_Expr *e = v[0];

    for (int k = 1; k < 60; k++) {
        e = ml_add(cx, ml_mul(cx, e, ml_i32(cx, 2)), v[k % 3]);
        if (k % 5 == 0)
            e = ml_binary(cx, ML_EXPR_FLOORDIV, e, ml_i32(cx, 3 + k));
        if (k % 7 == 0)
            e = ml_binary(cx, ML_EXPR_FLOORMOD, e, ml_i32(cx, 64 + k));
    }
    return e;
}

static void simplifying_survives_every_limit(void **state)
{
    int failures = 0;
    size_t limit = 8192;
    bool enough = false;

    for (; !enough; limit += limit / 8) {
        ml_Ctx *cx = ml_ctx_new(0);
        const ml_Expr *v[3];

        for (int k = 0; k < 3; k++)
            v[k] = ml_var(cx, ml_var_new(cx, "x", ML_DT_I32));
        const ml_Expr *e = large(cx, v);
        ml_Arith *ar = ml_arith_new(cx);

        for (int k = 0; k < 3; k++)
            ml_arith_bind_range(ar, v[k]->as.var, ml_i32(cx, 0), ml_i32(cx, 128));
        ml_ctx_set_limit(cx, ml_ctx_bytes(cx) + limit - 8000);
        const ml_Expr *s = ml_simplify(ar, e);

        assert_non_null(s);
        enough = ml_ok(cx);
        if (!enough) {
            failures++;
            assert_int_equal(ML_E_OUT_OF_MEMORY, ml_error(cx)->code);
        }
        ml_ctx_unref(cx);
    }
    assert_true(failures > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_survives_every_limit),
        cmocka_unit_test(reading_survives_the_failure_of_any_chunk),
        cmocka_unit_test(printing_and_importing_survive_every_limit),
        cmocka_unit_test(reading_json_survives_every_limit),
        cmocka_unit_test(simplifying_survives_every_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
