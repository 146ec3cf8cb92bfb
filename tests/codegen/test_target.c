/*
 * test_target - the host's target without LLVM, levels, JSON there and back, threads.
 */
#include "build.h"

#include "moonloop/codegen/target/target.h"

#include <stdlib.h>
#include <unistd.h>

static void the_host_has_consistent_facts(void **state)
{
    ml_Target t = ml_target_host(), again = ml_target_host();

    assert_true(t.vector_bits == 128 || t.vector_bits == 256 || t.vector_bits == 512);
    assert_true(t.registers == 16 || t.registers == 32);
    assert_true(t.cores >= 1 && (long)t.cores <= sysconf(_SC_NPROCESSORS_CONF));
    assert_true(!t.masks || t.vector_bits == 512);
    assert_memory_equal(&t, &again, sizeof t);
}

static void targets_survive_json(void **state)
{
    Fix *x = *state;
    ml_Target t = ml_target_host(), back;
    ml_Text a = {0}, b = {0};

    ml_target_json(&t, &a);
    assert_true(ml_target_parse(x->cx, ml_str(ml_text_z(&a)), &back));
    ml_target_json(&back, &b);
    assert_string_equal(ml_text_z(&a), ml_text_z(&b));
    assert_memory_equal(&t, &back, sizeof t);
    ml_text_free(&a);
    ml_text_free(&b);
}

static void facts_follow_from_the_features(void **state)
{
    Fix *x = *state;
    ml_Target t;

    assert_true(ml_target_parse(
        x->cx,
        ml_str(
            "{\"kind\":\"llvm\",\"cpu\":\"znver3\",\"num-cores\":8,\"colour\":1,"
            "\"features\":"
            "\"+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse3,+sse4.1,"
            "+sse4.2,+ssse3\"}"),
        &t));
    assert_int_equal(t.vector_bits, 256);
    assert_int_equal(t.registers, 16);
    assert_int_equal(t.cores, 8);
    assert_false(t.masks);
    assert_string_equal(ml_target_level(&t), "x86-64-v3");
    assert_true(ml_target_parse(x->cx, ml_str("{\"features\":\"+sse3\"}"), &t));
    assert_string_equal(ml_target_level(&t), "x86-64");
    assert_true(ml_target_parse(x->cx, ml_str("{\"vector-bits\":256}"), &t));
    assert_int_equal(t.vector_bits, 256);
}

static void bad_targets_are_refused_with_their_key(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{\"kind\":\"cuda\"}",
                                      "{\"num-cores\":0}",
                                      "{\"cpu\":7}",
                                      "{\"vector-bits\":300}",
                                      "{\"num-cores\":\"8\"}",
                                      ("{\"cpu\":\"an-invented-name-that-is-much-too-long-"
                                       "to-be-the-name-of-a-processor\"}")};
    Fix *x = *state;
    ml_Target t;

    for (size_t k = 0; k < ML_COUNT(bad); k++) {
        assert_false(ml_target_parse(x->cx, ml_str(bad[k]), &t));
        assert_int_equal(ml_error(x->cx)->code, ML_E_NO_TARGET);
        ml_error_clear(x->cx);
    }
}

static void features_in_full_deny_what_is_not_listed(void **state)
{
    ml_Target t = {.features = "+avx,+avx2"};
    ml_Text full = {0};

    ml_target_features(&t, &full);
    assert_int_equal(strncmp(ml_text_z(&full), "+avx,+avx2,-adx,", 16), 0);
    assert_non_null(strstr(ml_text_z(&full), ",-avx512f,"));
    assert_null(strstr(ml_text_z(&full), "-avx,"));
    assert_null(strstr(ml_text_z(&full), "-avx2"));
    ml_text_free(&full);
}

static void threads_come_from_the_environment_or_the_cores(void **state)
{
    ml_Target t = {.cores = 6};

    unsetenv("MOONLOOP_THREADS");
    assert_int_equal(ml_threads(&t), 6);
    setenv("MOONLOOP_THREADS", "3", 1);
    assert_int_equal(ml_threads(&t), 3);
    setenv("MOONLOOP_THREADS", "0", 1);
    assert_int_equal(ml_threads(&t), 6);
    setenv("MOONLOOP_THREADS", "many", 1);
    assert_int_equal(ml_threads(&t), 6);
    unsetenv("MOONLOOP_THREADS");
    t.cores = 0;
    assert_int_equal(ml_threads(&t), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_host_has_consistent_facts),
        TEST(targets_survive_json),
        TEST(facts_follow_from_the_features),
        TEST(bad_targets_are_refused_with_their_key),
        TEST(features_in_full_deny_what_is_not_listed),
        TEST(threads_come_from_the_environment_or_the_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
