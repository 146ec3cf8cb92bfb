/* test_set - arguments in shared memory: guard pages, canaries, sizes around a page, what
 * is passed on, what is compared. */
#define _GNU_SOURCE
#include "work.h"

#include "moonloop/codegen/worker/compare.h"

#include <math.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static ml_WorkSet *bytes_set(Fix *x, int64_t n, bool written)
{
    ml_Tensor *t = tensor(x, "uint8", n, ML_FILL_RANDOM);
    ml_WorkArg a = {.is_tensor = true,
                    .type = t->type,
                    .rank = 1,
                    .shape = &n,
                    .initial = t,
                    .expected = t,
                    .written = written};
    ml_WorkSet *s = ml_workset_new(x->cx, &a, 1);

    assert_non_null(s);
    ml_tensor_free(t);
    return s;
}

/* Whether touching the byte ends a process: tried in a child. */
static bool faults(volatile uint8_t *p, bool write)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        if (write)
            *p = 1;
        else
            (void)*p;
        _exit(0);
    }
    assert_true(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status);
}

static const int64_t sizes[] = {0,    1,    63,   64,   65,   4031, 4032,
                                4033, 4095, 4096, 4097, 8192, 10000};

static void data_begins_on_64_bytes_and_guard_pages_surround_it(void **state)
{
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(sizes); k++) {
        ml_WorkSet *s = bytes_set(x, sizes[k], true);
        const ml_SetArg *a = &s->args[0];
        const uint8_t *v = ml_set_view(a, a->initial);
        ml_Mapped m;
        int64_t byte;
        assert_true(ml_set_map(a, &m));
        assert_int_equal((uintptr_t)m.data % 64, 0);
        assert_int_equal(a->bytes, sizes[k]);
        assert_memory_equal(m.data, v, a->bytes);
        assert_true(ml_set_guards_intact(a, &m, &byte));
        assert_true(faults(m.data - a->start + a->mapped, false));
        assert_true(faults(m.data - a->start - 1, false));
        assert_true(faults(m.data + (a->bytes + 63) / 64 * 64, true));
        if (a->bytes > 0)
            assert_false(faults(m.data + a->bytes - 1, true));
        ml_set_close_view(a, v);
        ml_set_unmap(&m);
        ml_set_unmap(&m);
        ml_workset_free(s);
    }
}

static void a_spoilt_canary_is_found_at_its_place(void **state)
{
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(sizes); k++) {
        ml_WorkSet *s = bytes_set(x, sizes[k], true);
        const ml_SetArg *a = &s->args[0];
        int64_t behind = (int64_t)(a->mapped - a->start - a->bytes), byte;
        int64_t front = (int64_t)a->start;
        for (int64_t at = -front; at < (int64_t)a->bytes + behind; at++) {
            ml_Mapped m;
            if ((at >= 0 && at < (int64_t)a->bytes) || (at < -3 && at > -front + 3))
                continue;
            assert_true(ml_set_map(a, &m));
            m.data[at] ^= 0x10;
            byte = 0;
            assert_false(ml_set_guards_intact(a, &m, &byte));
            assert_int_equal(byte, at);
            ml_set_unmap(&m);
        }
        ml_workset_free(s);
    }
}

static void a_private_copy_leaves_the_set_as_it_was(void **state)
{
    Fix *x = *state;
    ml_WorkSet *s = bytes_set(x, 5000, true);
    const ml_SetArg *a = &s->args[0];
    const uint8_t *v = ml_set_view(a, a->initial);
    ml_Mapped m, t;

    assert_true(ml_set_map(a, &m));
    memset(m.data, 0, a->bytes);
    ml_set_unmap(&m);
    assert_true(ml_set_map_timed(a, &t));
    assert_int_equal((uintptr_t)t.data % 64, 0);
    assert_memory_equal(t.data, v, a->bytes);
    memset(t.data, 0, a->bytes);
    assert_true(ml_set_refill(a, &t));
    assert_memory_equal(t.data, v, a->bytes);
    ml_set_unmap(&t);
    ml_set_close_view(a, v);
    ml_workset_free(s);
}

static void timed_copies_of_any_size_are_aligned(void **state)
{
    static const int64_t large[] = {0, 1, 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 1};
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(large); k++) {
        ml_WorkSet *s = bytes_set(x, large[k], false);
        ml_Mapped m;
        assert_true(ml_set_map_timed(&s->args[0], &m));
        assert_int_equal((uintptr_t)m.data % (large[k] >= 4 << 20 ? 2 << 20 : 4096), 0);
        ml_set_unmap(&m);
        ml_workset_free(s);
    }
}

static void outputs_without_contents_hold_poison(void **state)
{
    Fix *x = *state;
    int64_t n = 100;
    ml_WorkArg a = {
        .is_tensor = true, .type = ML_DT_F32, .rank = 1, .shape = &n, .written = true};
    ml_WorkSet *s = ml_workset_new(x->cx, &a, 1);
    ml_Mapped m;

    assert_non_null(s);
    assert_true(ml_set_map(&s->args[0], &m));
    for (int64_t k = 0; k < n; k++)
        assert_true(isnan(((float *)(void *)m.data)[k]));
    ml_set_unmap(&m);
    ml_workset_free(s);
}

static void a_set_arrives_at_the_other_end_as_it_was_sent(void **state)
{
    Fix *x = *state;
    int64_t shape[2] = {3, 5}, none = 0;
    ml_Tensor *t = ml_tensor_new(x->cx, ML_DT_F32, shape, 2);
    ml_WorkArg args[4] = {
        {.is_tensor = true, .type = ML_DT_F32, .rank = 2, .shape = shape, .initial = t},
        {.is_tensor = true,
         .type = ML_DT_F32,
         .rank = 2,
         .shape = shape,
         .expected = t,
         .written = true,
         .tolerance = {.rtol = 0.5, .exact = true}},
        {.scalar = {.i = -7, .f = 2.5}, .type = ML_DT_I32},
        {.is_tensor = true, .type = ML_DT_F32, .rank = 1, .shape = &none, .written = true}};
    ml_Frame first;
    ml_WorkSet *s, *r;
    int pair[2];

    ml_tensor_fill(t, ML_FILL_IOTA, "", 0, 1, 0, 0);
    s = ml_workset_new(x->cx, args, 4);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(ml_set_send(pair[0], ml_clock() + 60, s));
    assert_true(ml_frame_receive(pair[1], ml_clock() + 60, &first));
    r = ml_set_receive(pair[1], &first);
    assert_non_null(r);
    ml_frame_free(&first);
    assert_true(r->id == s->id && r->n == 4 && r->life == NULL);
    assert_true(r->args[0].rank == 2 && r->args[0].shape[1] == 5 && r->args[0].bytes == 60);
    assert_true(!r->args[0].written && r->args[1].written && r->args[1].compared);
    assert_true(r->args[1].tolerance.rtol == 0.5 && r->args[1].tolerance.exact);
    assert_true(!r->args[2].is_tensor && r->args[2].i == -7 && r->args[2].f == 2.5);
    assert_int_equal(r->args[3].bytes, 0);
    /* one file, two ends */
    assert_true(ml_set_write(&r->args[1], r->args[1].output, t->data));
    ml_tensor_fill(t, ML_FILL_ZEROS, "", 0, 1, 0, 0);
    assert_true(ml_workset_output(s, 1, t));
    assert_true(ml_tensor_get(t, 14) == 14.0);
    assert_false(ml_workset_output(s, 2, t));
    ml_workset_free(s);
    ml_workset_free(r);
    ml_tensor_free(t);
    close(pair[0]);
    close(pair[1]);
}

static void memory_of_a_set_is_given_back_while_workers_have_it_open(void **state)
{
    Fix *x = *state;
    ml_WorkSet *s = bytes_set(x, 1 << 20, false);
    int fd = dup(s->args[0].initial);
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_size >= 1 << 20);
    ml_workset_free(s);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_blocks, 0);
    close(fd);
}

/* ---------------------------------------------------------------- comparing */

static void compare(const ml_Tensor *ref, const ml_Tensor *got, ml_Tolerance tol)
{
    ml_Comparison a = ml_tensor_compare(ref, got, tol), b = ml_compare_fast(ref, got, tol);

    if (a.outside != b.outside || a.first != b.first ||
        (a.outside && (a.largest_at != b.largest_at || (a.largest < b.largest) ||
                       (a.largest > b.largest))))
        fail_msg("%s: %lld and %lld outside, first %lld and %lld", ml_error_code(ML_E_OK),
                 (long long)a.outside, (long long)b.outside, (long long)a.first,
                 (long long)b.first);
}

static double odd_value(ml_Random *r)
{
    static const double odd[] = {
        0.0, -0.0, (double)NAN, (double)INFINITY, -(double)INFINITY, 1e38, -1e-40, 1.0};

    return odd[ml_random_below(r, ML_COUNT(odd))];
}

static void the_quick_comparison_agrees_with_the_exact_one(void **state)
{
    static const char *const types[] = {"float32", "float64", "float16", "bfloat16",
                                        "int32",   "uint8",   "bool",    "float8_e4m3fn"};
    static const ml_Tolerance tols[] = {{.rtol = 1e-5, .atol = 1e-5},
                                        {.exact = true},
                                        {.rtol = 0, .atol = 0},
                                        {.rtol = 0.5, .atol = 2.0}};
    Fix *x = *state;
    ml_Random r = ml_random("compare", 0, 1);

    for (size_t t = 0; t < ML_COUNT(types); t++)
        for (int round = 0; round < 400; round++) {
            int64_t n = (int64_t)ml_random_below(&r, 70);
            ml_Tensor *a = tensor(x, types[t], n, ML_FILL_RANDOM);
            ml_Tensor *b = ml_tensor_copy(x->cx, a);
            for (uint64_t k = ml_random_below(&r, 4); k-- > 0 && n > 0;) {
                int64_t at = (int64_t)ml_random_below(&r, (uint64_t)n);
                double v = ml_tensor_get(a, at);
                uint64_t how = ml_random_below(&r, 4);
                if (how == 0)
                    v *= 1.0 + 1e-6;
                else if (how == 1)
                    v += 1.0;
                else if (ml_dtype_is_float(a->type))
                    v = odd_value(&r);
                ml_tensor_set(how == 2 ? a : b, at, v);
                if (how == 3 && ml_dtype_is_float(a->type))
                    ml_tensor_set(a, at, v); /* the same on both sides */
            }
            for (size_t k = 0; k < ML_COUNT(tols); k++)
                compare(a, b, tols[k]);
            ml_tensor_free(a);
            ml_tensor_free(b);
        }
}

static void infinities_on_one_side_are_differences(void **state)
{
    Fix *x = *state;
    ml_Tensor *a = tensor(x, "float32", 4, ML_FILL_ZEROS);
    ml_Tensor *b = tensor(x, "float32", 4, ML_FILL_ZEROS);
    ml_Tolerance tol = {.rtol = 1.0, .atol = 1.0};

    ml_tensor_set(a, 1, (double)INFINITY);
    compare(a, b, tol);
    assert_int_equal(ml_compare_fast(a, b, tol).outside, 1);
    compare(b, a, tol);
    assert_int_equal(ml_compare_fast(b, a, tol).outside, 1);
    ml_tensor_set(b, 1, -(double)INFINITY);
    compare(a, b, tol);
    ml_tensor_set(b, 1, (double)INFINITY);
    compare(a, b, tol);
    assert_int_equal(ml_compare_fast(a, b, tol).outside, 0);
    ml_tensor_free(a);
    ml_tensor_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(data_begins_on_64_bytes_and_guard_pages_surround_it),
        TEST(a_spoilt_canary_is_found_at_its_place),
        TEST(a_private_copy_leaves_the_set_as_it_was),
        TEST(timed_copies_of_any_size_are_aligned),
        TEST(outputs_without_contents_hold_poison),
        TEST(a_set_arrives_at_the_other_end_as_it_was_sent),
        TEST(memory_of_a_set_is_given_back_while_workers_have_it_open),
        TEST(the_quick_comparison_agrees_with_the_exact_one),
        TEST(infinities_on_one_side_are_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
