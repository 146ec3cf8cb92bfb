/*
 * test_value - constants and sorted dicts.
 *
 * Changes of a dict are compared with a plain array as the model.
 */
#include "core_test.h"
#include "moonloop/core/stmt.h"
#include "moonloop/core/targets.h"

#include <math.h>
#include <stdio.h>

static void literals_become_plain_values(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    assert_int_equal(ml_val_expr(cx, ml_bool(cx, true))->kind, ML_VAL_BOOL);
    assert_int_equal(ml_val_expr(cx, ml_int(cx, ML_DT_I64, -3))->as.i, -3);
    assert_true(ml_val_expr(cx, ml_float(cx, ML_DT_F32, 0.5))->as.f == 0.5);
    assert_string_equal(ml_val_expr(cx, ml_string(cx, ml_str("hi")))->as.s, "hi");
    const ml_Expr *v = ml_var(cx, ml_var_new(cx, "n", ML_DT_I32));
    assert_ptr_equal(ml_val_expr(cx, v)->as.expr, v);
    const ml_Expr *huge = ml_int(cx, ML_DT(ML_UINT, 64), -1);
    assert_int_equal(ml_val_expr(cx, huge)->kind, ML_VAL_EXPR);
    ml_ctx_unref(cx);
}

static void limits_are_those_of_the_target_then_of_cuda(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Value *t = ml_dict_with(cx, NULL, "kind", ml_val_string(cx, ml_str("cuda")));

    assert_int_equal(ml_target_limit(NULL, ML_LIMIT_max_thread_z), 64);
    assert_int_equal(ml_target_limit(t, ML_LIMIT_max_thread_z), 64);
    assert_int_equal(ml_target_limit(t, ML_LIMIT_max_kernels), -1);
    t = ml_dict_with(cx, t, "max_num_threads", ml_val_int(cx, 256)); /* the older name */
    assert_int_equal(ml_target_limit(t, ML_LIMIT_max_threads_per_block), 256);
    t = ml_dict_with(cx, t, "max_threads_per_block", ml_val_int(cx, 512));
    assert_int_equal(ml_target_limit(t, ML_LIMIT_max_threads_per_block), 512);
    assert_true(ml_is_target_limit("max_num_threads") && ml_is_target_limit("max_vthread"));
    assert_false(ml_is_target_limit("max_regret"));
    ml_ctx_unref(cx);
    (void)state;
}

static void dicts_are_sorted_and_the_last_of_equal_keys_wins(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const char *keys[] = {"b", "a", "b", "", "c", "b"};
    const ml_Value *v[6];
    for (int k = 0; k < 6; k++)
        v[k] = ml_val_int(cx, k);
    const ml_Value *d = ml_val_dict(cx, keys, v, 6);
    assert_int_equal(ml_dict_count(d), 4);
    for (uint32_t k = 1; k < d->n; k++)
        assert_true(strcmp(d->keys[k - 1], d->keys[k]) < 0);
    assert_int_equal(ml_dict_get(d, "b")->as.i, 5);
    assert_int_equal(ml_dict_get(d, "")->as.i, 3);
    assert_null(ml_dict_get(d, "d"));
    ml_ctx_unref(cx);
}

static void dict_changes_agree_with_a_model(void **state)
{
    Rng r = {5};
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Value *d = NULL;
    const ml_Value *model[20] = {0};
    assert_int_equal(ml_dict_count(d), 0);
    for (int step = 0; step < 3000; step++) {
        char key[8];
        uint32_t k = rng_below(&r, 20);
        snprintf(key, sizeof(key), "k%u", (unsigned)k);
        const ml_Value *before = d;
        if (rng_below(&r, 2)) {
            model[k] = ml_val_int(cx, step);
            d = ml_dict_with(cx, d, key, model[k]);
        } else {
            d = ml_dict_without(cx, d, key);
            if (!model[k])
                assert_ptr_equal(d, before);
            model[k] = NULL;
        }
        size_t n = 0;
        for (k = 0; k < 20; k++) {
            snprintf(key, sizeof(key), "k%u", (unsigned)k);
            assert_ptr_equal(ml_dict_get(d, key), model[k]);
            n += model[k] != NULL;
        }
        assert_int_equal(ml_dict_count(d), n);
        for (uint32_t i = 1; d && i < d->n; i++)
            assert_true(strcmp(d->keys[i - 1], d->keys[i]) < 0);
    }
    ml_ctx_unref(cx);
}

static void equality_is_by_value_within_a_kind(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const char *key = "k";
    const ml_Value *one = ml_val_int(cx, 1);
    const ml_Value *list[] = {one, ml_val_string(cx, ml_str("s")), ml_val_none(cx)};
    const ml_Value *again[] = {ml_val_int(cx, 1), ml_val_string(cx, ml_str("s")),
                               ml_val_none(cx)};
    assert_true(ml_value_eq(one, again[0]));
    assert_false(ml_value_eq(one, ml_val_bool(cx, true)));
    assert_false(ml_value_eq(one, ml_val_float(cx, 1)));
    assert_true(ml_value_eq(ml_val_list(cx, list, 3), ml_val_list(cx, again, 3)));
    assert_false(ml_value_eq(ml_val_list(cx, list, 3), ml_val_list(cx, again, 2)));
    assert_true(
        ml_value_eq(ml_val_dict(cx, &key, list, 1), ml_val_dict(cx, &key, again, 1)));
    assert_true(ml_value_eq(NULL, ml_val_dict(cx, &key, list, 0)));
    assert_true(ml_value_eq(ml_val_dict(cx, &key, list, 0), NULL));
    assert_false(ml_value_eq(NULL, one));
    assert_false(ml_value_eq(ml_val_dict(cx, &key, list, 1), NULL));
    assert_true(ml_value_eq(ml_val_float(cx, (double)NAN), ml_val_float(cx, -(double)NAN)));
    assert_false(ml_value_eq(ml_val_float(cx, 0.0), ml_val_float(cx, -0.0)));
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals_become_plain_values),
        cmocka_unit_test(limits_are_those_of_the_target_then_of_cuda),
        cmocka_unit_test(dicts_are_sorted_and_the_last_of_equal_keys_wins),
        cmocka_unit_test(dict_changes_agree_with_a_model),
        cmocka_unit_test(equality_is_by_value_within_a_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
