/* test_workspace - memory of compiled code: where blocks lie, how they are used again, what
 * is refused. */
#include "moonloop/codegen/runtime/runtime.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MB = 1 << 20 };

static int clean(void **state)
{
    (void)state;
    ml_workspace_release();
    ml_workspace_set_limit(0);
    return 0;
}

static void *take(int64_t bytes, int64_t align)
{
    void *p = ml_workspace_alloc(bytes, align);

    assert_non_null(p);
    memset(p, 0x11, (size_t)bytes);
    return p;
}

static void blocks_are_aligned_to_64_and_to_what_is_asked(void **state)
{
    static const int64_t sizes[] = {0,    1,      63,     64, 65,    1000,
                                    4096, 100000, MB - 1, MB, 5 * MB};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(sizes); k++)
        for (int64_t align = 1; align <= 1 << 16; align *= 2) {
            void *p = take(sizes[k], align);

            assert_int_equal((uintptr_t)p % 64, 0);
            assert_int_equal((uintptr_t)p % (uintptr_t)align, 0);
            ml_workspace_free(p);
        }
}

static void from_1_mib_on_data_begins_in_the_first_lines_of_a_page(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        void *p = take(MB + k * 4096, 64);

        assert_true((uintptr_t)p % 4096 < 16 * 64);
        ml_workspace_free(p);
    }
}

static void a_block_of_huge_pages_is_used_again(void **state)
{
    char *first = take(MB / 4, 64);

    (void)state;
    ml_workspace_free(first);
    for (int k = 0; k < 40; k++) {
        char *p = take(MB / 4, 64);

        assert_true(p >= first - 16 * 64 && p <= first + 16 * 64);
        ml_workspace_free(p);
    }
}

static void a_limit_below_a_huge_page_leaves_small_ones(void **state)
{
    (void)state;
    ml_workspace_set_limit(MB);
    ml_workspace_free(take(MB / 2, 64));
    assert_null(ml_workspace_alloc(MB, 64));
}

static void buffers_of_equal_size_begin_in_16_different_lines(void **state)
{
    void *p[16];
    uint32_t seen = 0;

    (void)state;
    for (int k = 0; k < 16; k++) {
        p[k] = take(2 * MB, 64);
        seen |= 1u << (uintptr_t)p[k] % 4096 / 64 % 32;
    }
    for (int k = 16; k-- > 0;)
        ml_workspace_free(p[k]);
    assert_int_equal(__builtin_popcount(seen), 16);
}

static void a_freed_block_is_used_again(void **state)
{
    void *p, *q;

    (void)state;
    p = take(3 * MB, 64);
    ml_workspace_free(p);
    ml_workspace_set_limit(4 * MB); /* a second one would be refused */
    for (int k = 0; k < 100; k++) {
        q = take(3 * MB - 1000 * k, 64);
        assert_true((uintptr_t)q / 4096 - (uintptr_t)p / 4096 < 2);
        ml_workspace_free(q);
    }
}

static void blocks_do_not_overlap_in_any_order_of_freeing(void **state)
{
    uint8_t *p[64] = {NULL};
    size_t n[64];
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 5000; round++) {
        uint32_t k = (seed = seed * 1664525u + 1013904223u) >> 26;

        if (p[k]) {
            for (size_t b = 0; b < n[k]; b++)
                if (p[k][b] != (uint8_t)k)
                    fail_msg("block %u was written by another", k);
            ml_workspace_free(p[k]);
            p[k] = NULL;
        } else {
            n[k] = (seed >> 4) % 20000;
            p[k] = ml_workspace_alloc((int64_t)n[k], 64);
            assert_non_null(p[k]);
            memset(p[k], (int)k, n[k]);
        }
    }
    for (int k = 0; k < 64; k++)
        ml_workspace_free(p[k]);
    ml_workspace_free(NULL);
}

static void beyond_the_limit_null_is_given_and_the_size_remembered(void **state)
{
    void *p;

    (void)state;
    ml_workspace_set_limit(8 * MB);
    assert_int_equal(ml_workspace_refused(), 0);
    p = take(3 * MB, 64);
    assert_null(ml_workspace_alloc(6 * MB, 64));
    assert_int_equal(ml_workspace_refused(), 6 * MB);
    ml_workspace_free(p);
    p = take(6 * MB, 64); /* what lies unused makes way */
    ml_workspace_free(p);
    ml_workspace_set_limit(8 * MB);
    assert_int_equal(ml_workspace_refused(), 0);
}

static void a_buffer_of_negative_extent_is_empty(void **state)
{
    void *p = ml_workspace_alloc(-20, 64);

    (void)state;
    assert_non_null(p);
    ml_workspace_free(p);
}

static void sizes_that_no_memory_has_are_refused(void **state)
{
    (void)state;
    assert_null(ml_workspace_alloc(INT64_MIN, 64));
    assert_true(ml_workspace_refused() > 0);
    assert_null(ml_workspace_alloc(INT64_MAX, 64));
    assert_int_equal(ml_workspace_refused(), INT64_MAX);
    assert_null(ml_workspace_alloc(64, INT64_MAX));
    assert_null(ml_workspace_alloc((int64_t)1 << 47, 64)); /* more than can be addressed */
}

static void released_blocks_count_no_longer(void **state)
{
    void *p;

    (void)state;
    p = take(3 * MB, 64);
    ml_workspace_free(p);
    ml_workspace_release();
    ml_workspace_set_limit(4 * MB);
    p = take(2 * MB, 64);
    ml_workspace_free(p);
}

/* ---------------------------------------------------------------- guard pages */

static void guarded_buffers_are_aligned_known_and_kept(void **state)
{
    static const int64_t sizes[] = {0, 1, 64, 65, 4095, 4096, 4097, 100000, MB};
    int64_t byte, bytes;

    (void)state;
    ml_workspace_guard(true);
    for (size_t k = 0; k < ML_COUNT(sizes); k++)
        for (int64_t align = 1; align <= 1 << 16; align *= 4) {
            uint8_t *p = take(sizes[k], align), *q = take(sizes[k], align);

            assert_int_equal((uintptr_t)p % 64, 0);
            assert_int_equal((uintptr_t)p % (uintptr_t)align, 0);
            assert_true(p + sizes[k] <= q || q + sizes[k] <= p);
            assert_true(ml_workspace_at((uintptr_t)p + (uintptr_t)sizes[k], &byte, &bytes));
            assert_int_equal(byte, sizes[k]);
            assert_int_equal(bytes, sizes[k]);
            ml_workspace_free(p);
            assert_ptr_equal(take(sizes[k], align), p);
            ml_workspace_free(q);
            ml_workspace_free(p);
        }
    assert_false(ml_workspace_spilled(&byte, &bytes));
    ml_workspace_release();
    assert_false(ml_workspace_at((uintptr_t)&byte, &byte, &bytes));
    ml_workspace_guard(false);
}

static void what_is_written_beside_a_guarded_buffer_is_told(void **state)
{
    int64_t byte, bytes;
    uint8_t *p;

    (void)state;
    ml_workspace_guard(true);
    p = take(100, 64);
    p[100] = 1;
    ml_workspace_free(p);
    assert_true(ml_workspace_spilled(&byte, &bytes));
    assert_int_equal(byte, 100);
    assert_int_equal(bytes, 100);
    assert_false(ml_workspace_spilled(&byte, &bytes)); /* told once */
    p = take(100, 64);
    p[-3] = 1;
    ml_workspace_free(p);
    assert_true(ml_workspace_spilled(&byte, &bytes));
    assert_int_equal(byte, -3);
    ml_workspace_guard(false);
}

static void guarded_buffers_count_for_the_limit(void **state)
{
    void *p;

    (void)state;
    ml_workspace_set_limit(8 * MB);
    ml_workspace_guard(true);
    p = take(3 * MB, 64);
    assert_null(ml_workspace_alloc(6 * MB, 64));
    assert_int_equal(ml_workspace_refused(), 6 * MB);
    ml_workspace_free(p);
    p = take(6 * MB, 64); /* what lies unused makes way */
    ml_workspace_free(p);
    ml_workspace_guard(false);
    p = take(6 * MB, 64);
    ml_workspace_free(p);
}

/* ---------------------------------------------------------------- threads */

static char no_memory[] = "no memory", shared[] = "shared";

static void *work(void *user)
{
    uint8_t mark = (uint8_t)(uintptr_t)user;

    for (int round = 0; round < 200; round++) {
        uint8_t *p[4];

        for (int k = 0; k < 4; k++) {
            p[k] = ml_workspace_alloc(5000 * (k + 1), 64);
            if (p[k] == NULL)
                return no_memory;
            memset(p[k], mark, (size_t)(5000 * (k + 1)));
        }
        for (int k = 4; k-- > 0;) {
            for (int b = 0; b < 5000 * (k + 1); b++)
                if (p[k][b] != mark)
                    return shared;
            ml_workspace_free(p[k]);
        }
    }
    return NULL;
}

static void threads_have_blocks_of_their_own_that_end_with_them(void **state)
{
    pthread_t t[8];

    (void)state;
    ml_workspace_set_limit(2 * MB); /* 8 threads of 72 KB; and again, once they are gone */
    for (int round = 0; round < 20; round++) {
        for (uintptr_t k = 0; k < 8; k++)
            assert_int_equal(pthread_create(&t[k], NULL, work, (void *)(k + 1)), 0);
        for (int k = 0; k < 8; k++) {
            void *why;

            pthread_join(t[k], &why);
            if (why)
                fail_msg("%s", (char *)why);
        }
    }
}

static void *free_it(void *p)
{
    ml_workspace_free(p);
    return NULL;
}

static void a_block_may_be_freed_by_another_thread(void **state)
{
    pthread_t t;
    void *p;

    (void)state;
    ml_workspace_set_limit(4 * MB);
    p = take(3 * MB, 64);
    assert_int_equal(pthread_create(&t, NULL, free_it, p), 0);
    pthread_join(t, NULL);
    p = take(3 * MB, 64);
    ml_workspace_free(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, clean, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blocks_are_aligned_to_64_and_to_what_is_asked),
        TEST(from_1_mib_on_data_begins_in_the_first_lines_of_a_page),
        TEST(a_block_of_huge_pages_is_used_again),
        TEST(a_limit_below_a_huge_page_leaves_small_ones),
        TEST(buffers_of_equal_size_begin_in_16_different_lines),
        TEST(a_freed_block_is_used_again),
        TEST(blocks_do_not_overlap_in_any_order_of_freeing),
        TEST(beyond_the_limit_null_is_given_and_the_size_remembered),
        TEST(a_buffer_of_negative_extent_is_empty),
        TEST(sizes_that_no_memory_has_are_refused),
        TEST(released_blocks_count_no_longer),
        TEST(guarded_buffers_are_aligned_known_and_kept),
        TEST(what_is_written_beside_a_guarded_buffer_is_told),
        TEST(guarded_buffers_count_for_the_limit),
        TEST(threads_have_blocks_of_their_own_that_end_with_them),
        TEST(a_block_may_be_freed_by_another_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
