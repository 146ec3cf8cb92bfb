/*
 * test_value_text - strings and constants in the notation of other languages. The values of
 * a trace are in test_trace_value.
 */
#include "core_test.h"
#include "moonloop/core/json/json.h"
#include "moonloop/core/json/value_text.h"
#include "moonloop/core/stmt.h"

#include <math.h>
#include <stdlib.h>

static void each_language_escapes_what_it_cannot_hold(void **state)
{
    static const struct {
        ml_Escape how;
        const char *one, *line, *del;
    } rows[] = {
        {ML_ESCAPE_JSON, "\"\\u0001\"", "\"a\\nb\\u000d\"", "\"\x7f\""},
        {ML_ESCAPE_LUA, "\"\\001\"", "\"a\\nb\\013\"", "\"\\127\""},
        {ML_ESCAPE_PYTHON, "\"\\x01\"", "\"a\\nb\\x0d\"", "\"\x7f\""},
    };

    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        const char *in[] = {"\001", "a\nb\r", "\x7f", "", "\"\\\xc3\xa9"};
        const char *out[] = {rows[k].one, rows[k].line, rows[k].del, "\"\"",
                             "\"\\\"\\\\\xc3\xa9\""};

        for (size_t m = 0; m < ML_COUNT(in); m++) {
            ml_Text t = {0};

            ml_text_string(&t, in[m], rows[k].how);
            assert_string_equal(ml_text_z(&t), out[m]);
            ml_text_free(&t);
        }
    }
}

/* A random constant, without what JSON turns into null. */
static const ml_Value *random_value(ml_Ctx *cx, Rng *r, int depth)
{
    char text[4];
    const ml_Value *list[3];
    const char *keys[] = {"", "a b", "\n"};
    size_t n = rng_below(r, 4);

    switch (rng_below(r, depth > 0 ? 7 : 5)) {
    case 0: return ml_val_none(cx);
    case 1: return ml_val_bool(cx, rng_below(r, 2) != 0);
    case 2: return ml_val_int(cx, (int64_t)rng_next(r) >> rng_below(r, 64));
    case 3:
        return ml_val_float(cx, rng_below(r, 9)   ? (double)(int64_t)rng_next(r) / 1e12
                                : rng_below(r, 2) ? HUGE_VAL
                                                  : -HUGE_VAL);
    case 4:
        for (size_t k = 0; k < n && k < sizeof text; k++)
            text[k] = (char)(1 + rng_below(r, 127));
        return ml_val_string(cx, (ml_Str){text, n});
    default: break;
    }
    for (size_t k = 0; k < ML_COUNT(list); k++)
        list[k] = random_value(cx, r, depth - 1);
    n = n < ML_COUNT(list) ? n : ML_COUNT(list);
    return rng_below(r, 2) ? ml_val_list(cx, list, n) : ml_val_dict(cx, keys, list, n);
}

static void json_of_any_constant_reads_back_to_it(void **state)
{
    int n = getenv("ML_QUICK") ? 2000 : 20000;
    Rng r = {1};

    for (int k = 0; k < n; k++) {
        ml_Ctx *cx = ml_ctx_new(0);
        const ml_Value *v = random_value(cx, &r, 3);
        ml_Text t = {0};
        ml_JsonError e;

        ml_json_value(&t, v);
        const ml_Json *j = ml_json_read(cx, (ml_Str){ml_text_z(&t), t.n}, &e);

        if (!j || !ml_value_eq(ml_json_to_value(cx, j), v))
            fail_msg("%s: %s", ml_text_z(&t), j ? "another value" : e.what);
        ml_text_free(&t);
        ml_ctx_unref(cx);
    }
}

static void json_is_asked_for_what_it_may_not_be(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_JsonError e;
    const ml_Json *j = ml_json_read(cx, ml_str("{\"a\": [1, \"b\", 2.0], \"c\": 3}"), &e),
                  *list = ml_json_get(j, "a"), *none = ml_json_get(j, "d");
    int64_t n = 7;

    assert_non_null(list);
    assert_string_equal(ml_json_text(ml_json_item(list, 1)), "b");
    assert_null(ml_json_text(ml_json_item(list, 0)));
    assert_null(ml_json_text(none));
    assert_null(ml_json_item(list, 3));
    assert_null(ml_json_item(j, 0)); /* of lists alone */
    assert_null(ml_json_item(none, 0));
    assert_false(ml_json_whole(ml_json_item(list, 2), 0, 9, &n));
    assert_false(ml_json_whole(ml_json_get(j, "c"), 0, 2, &n));
    assert_false(ml_json_whole(none, 0, 9, &n));
    assert_int_equal(n, 7);
    assert_true(ml_json_whole(ml_json_get(j, "c"), 3, 3, &n));
    assert_int_equal(n, 3);
    ml_ctx_unref(cx);
}

static void what_is_no_constant_is_null(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Var *v = ml_var_new(cx, "v", ML_DT_I32);
    const ml_Value *list[] = {ml_val_expr(cx, ml_var(cx, v)), ml_val_var(cx, v),
                              ml_val_float(cx, (double)NAN)};
    ml_Text t = {0};

    ml_json_value(&t, ml_val_list(cx, list, 3));
    assert_string_equal(ml_text_z(&t), "[null, null, null]");
    ml_text_free(&t);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_language_escapes_what_it_cannot_hold),
        cmocka_unit_test(json_of_any_constant_reads_back_to_it),
        cmocka_unit_test(json_is_asked_for_what_it_may_not_be),
        cmocka_unit_test(what_is_no_constant_is_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
