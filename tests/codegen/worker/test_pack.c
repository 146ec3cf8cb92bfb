/* test_pack - frames and fields: what is written is read; what is cut short or scribbled on
 * is refused without a crash, and no descriptor is lost. */
#define _GNU_SOURCE
#include "moonloop/codegen/worker/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int pair[2];

static int pair_up(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
}

static int pair_down(void **state)
{
    (void)state;
    close(pair[0]);
    close(pair[1]);
    return 0;
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static ml_Job some_job(void)
{
    return (ml_Job){
        .program = "def f(): pass\n",
        .func = "f",
        .target = ml_target_host(),
        .code = {.opt = ML_OPT_O2, .fast_math = true, .lines = true, .threads = 3},
        .want = 7,
        .timing = ML_TIMING_REPORT,
        .cold = true,
        .best = 0.25,
        .checked = 0.5,
        .run_limit = 1.5,
        .memory_limit = 12345};
}

static ml_JobResult some_result(void)
{
    static const double samples[] = {1.0, 2.0, 3.0};
    static const char *const notes[] = {"one", "two"};

    return (ml_JobResult){.code = ML_E_MISMATCH,
                          .phase = "verify",
                          .message = "a line",
                          .signal = 11,
                          .status = -1,
                          .line = 7,
                          .bad_arg = -1,
                          .outside = -5,
                          .first_lane = 9,
                          .largest = 0.5,
                          .n_samples = 3,
                          .samples = samples,
                          .spread = 0.1,
                          .switches = 4,
                          .text = "",
                          .object = {.v = (uint8_t *)(uintptr_t)samples, .n = 16},
                          .n_notes = 2,
                          .notes = notes};
}

/* ---------------------------------------------------------------- there and back */

static void fields_come_back_as_they_were_written(void **state)
{
    ml_Pack p = {0};
    ml_Unpack u;
    size_t n;

    (void)state;
    ml_pack_u64(&p, UINT64_MAX);
    ml_pack_f64(&p, -0.0);
    ml_pack_str(&p, NULL);
    ml_pack_str(&p, "");
    ml_pack_str(&p, "text");
    ml_pack_blob(&p, "ab", 2);
    ml_pack_blob(&p, NULL, 0);
    u = (ml_Unpack){.v = p.v, .n = p.n};
    assert_true(ml_unpack_u64(&u) == UINT64_MAX);
    assert_true(1.0 / ml_unpack_f64(&u) < 0);
    assert_null(ml_unpack_str(&u));
    assert_string_equal(ml_unpack_str(&u), "");
    assert_string_equal(ml_unpack_str(&u), "text");
    assert_memory_equal(ml_unpack_blob(&u, &n), "ab", 2);
    assert_int_equal(n, 2);
    ml_unpack_blob(&u, &n);
    assert_int_equal(n, 0);
    assert_false(u.bad);
    assert_int_equal(u.at, u.n);
    assert_int_equal(ml_unpack_u64(&u), 0);
    assert_true(u.bad);
    ml_pack_free(&p);
}

static void jobs_and_results_come_back_as_they_were_written(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Job j = some_job(), k;
    ml_JobResult r = some_result(), s;
    ml_Pack p = {0};
    ml_Unpack u;
    uint64_t set;

    (void)state;
    ml_job_pack(&p, &j);
    u = (ml_Unpack){.v = p.v, .n = p.n};
    assert_true(ml_job_unpack(&u, &k, &set));
    assert_int_equal(u.at, u.n);
    assert_string_equal(k.program, j.program);
    assert_string_equal(k.func, "f");
    assert_null(k.library);
    assert_memory_equal(&k.target, &j.target, sizeof j.target);
    assert_true(k.code.opt == ML_OPT_O2 && k.code.fast_math && k.code.lines &&
                !k.code.no_contract && !k.code.unaligned && k.code.threads == 3);
    assert_true(k.want == 7 && k.timing == ML_TIMING_REPORT && k.cold && k.best == 0.25 &&
                k.checked == 0.5);
    assert_true(k.run_limit == 1.5 && k.memory_limit == 12345 && set == 0);
    p.n = 0;
    ml_result_pack(&p, &r);
    u = (ml_Unpack){.v = p.v, .n = p.n};
    assert_true(ml_result_unpack(&u, cx, &s));
    assert_int_equal(u.at, u.n);
    assert_true(s.code == r.code && s.signal == 11 && s.status == -1 && s.line == 7);
    assert_true(s.bad_arg == -1 && s.outside == -5 && s.first_lane == 9);
    assert_true(s.n_samples == 3 && s.samples[2] == 3.0 && s.switches == 4);
    assert_string_equal(s.text, "");
    assert_true(s.object.n == 16 && memcmp(s.object.v, r.object.v, 16) == 0);
    assert_true(s.n_notes == 2);
    assert_string_equal(s.notes[1], "two");
    free(s.object.v);
    ml_pack_free(&p);
    ml_ctx_unref(cx);
}

static void frames_carry_descriptors(void **state)
{
    int fds[3] = {open("/dev/null", O_RDONLY), open("/dev/zero", O_RDONLY),
                  open("/dev/null", O_RDONLY)};
    int before = open_files();
    ml_Pack p = {0};
    ml_Frame f;
    char byte = 1;

    (void)state;
    ml_pack_str(&p, "body");
    assert_true(ml_frame_send(pair[0], 0, 42, &p, fds, 3));
    assert_true(ml_frame_receive(pair[1], ml_clock() + 60, &f));
    assert_int_equal(f.kind, 42);
    assert_int_equal(f.n_fds, 3);
    assert_int_equal(f.body.n, p.n);
    assert_int_equal(read(f.fds[1], &byte, 1), 1);
    assert_int_equal(byte, 0);
    assert_true(fcntl(f.fds[0], F_GETFD) & FD_CLOEXEC);
    ml_frame_free(&f);
    assert_int_equal(open_files(), before);
    for (int k = 0; k < 3; k++)
        close(fds[k]);
    ml_pack_free(&p);
}

static void too_many_descriptors_are_refused(void **state)
{
    int fds[ML_FRAME_FDS + 1] = {0};

    (void)state;
    assert_false(ml_frame_send(pair[0], 0, 1, NULL, fds, ML_FRAME_FDS + 1));
    assert_int_equal(errno, EMSGSIZE);
}

/* ---------------------------------------------------------------- waiting */

static void a_frame_that_does_not_come_is_a_timeout(void **state)
{
    ml_Frame f;
    double t = ml_clock();

    (void)state;
    assert_false(ml_frame_receive(pair[1], t + 0.1, &f));
    assert_int_equal(errno, ETIMEDOUT);
    assert_true(ml_clock() - t > 0.09 && ml_clock() - t < 60);
    assert_int_equal(write(pair[0], "half", 4), 4);
    assert_false(ml_frame_receive(pair[1], ml_clock() + 0.05, &f));
    assert_int_equal(errno, ETIMEDOUT);
}

static void a_frame_that_nobody_takes_is_a_timeout(void **state)
{
    ml_Pack p = {.v = calloc(1, 8 << 20), .n = 8 << 20};

    (void)state;
    assert_false(ml_frame_send(pair[0], ml_clock() + 0.1, 1, &p, NULL, 0));
    assert_int_equal(errno, ETIMEDOUT);
    ml_pack_free(&p);
}

static void an_end_that_is_closed_gives_no_signal(void **state)
{
    ml_Frame f;

    (void)state;
    shutdown(pair[1], SHUT_RDWR);
    assert_false(ml_frame_send(pair[0], 0, 1, NULL, NULL, 0));
    assert_int_equal(errno, EPIPE);
    assert_false(ml_frame_receive(pair[0], 0, &f));
    assert_int_equal(errno, 0);
}

static void *drain(void *user)
{
    ml_Frame *f = user;

    return ml_frame_receive(pair[1], ml_clock() + 60, f) ? user : NULL;
}

static void large_frames_pass_in_pieces(void **state)
{
    ml_Pack p = {0};
    ml_Frame f;
    pthread_t t;
    void *ok;

    (void)state;
    for (int k = 0; k < 1 << 20; k++)
        ml_pack_u64(&p, (uint64_t)k * 77);
    pthread_create(&t, NULL, drain, &f);
    assert_true(ml_frame_send(pair[0], ml_clock() + 60, 9, &p, NULL, 0));
    pthread_join(t, &ok);
    assert_non_null(ok);
    assert_int_equal(f.body.n, p.n);
    assert_memory_equal(f.body.v, p.v, p.n);
    ml_frame_free(&f);
    ml_pack_free(&p);
}

/* ---------------------------------------------------------------- noise */

static void every_prefix_of_a_message_is_refused(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Job j = some_job(), k;
    ml_JobResult r = some_result(), s;
    ml_Pack p = {0}, q = {0};
    uint64_t set;

    (void)state;
    ml_job_pack(&p, &j);
    ml_result_pack(&q, &r);
    for (size_t n = 0; n < p.n; n++) {
        uint8_t *cut = malloc(n + 1); /* so that ASan sees a byte too many */
        ml_Unpack u = {.v = cut, .n = n};
        memcpy(cut, p.v, n);
        assert_false(ml_job_unpack(&u, &k, &set));
        free(cut);
    }
    for (size_t n = 0; n < q.n; n++) {
        ml_Unpack u = {.v = q.v, .n = n};
        assert_false(ml_result_unpack(&u, cx, &s));
    }
    ml_pack_free(&p);
    ml_pack_free(&q);
    ml_ctx_unref(cx);
}

static void spoil(uint8_t *v, size_t n, ml_Random *r)
{
    for (uint64_t k = ml_random_below(r, 6) + 1; k-- > 0 && n > 0;) {
        size_t at = (size_t)ml_random_below(r, n);
        uint64_t how = ml_random_below(r, 3);

        v[at] = how == 0 ? 0xff : how == 1 ? 0 : (uint8_t)ml_random_next(r);
    }
}

static void scribbled_messages_are_read_without_a_crash(void **state)
{
    ml_Random rnd = ml_random("pack", 0, 1);
    ml_Job j = some_job(), k;
    ml_JobResult r = some_result(), s;
    ml_RunJob run = {.symbol = "f_call",
                     .n_words = 2,
                     .words = (ml_Word[2]){{.i = 1}, {.i = 2}},
                     .tensor = (int32_t[2]){0, -1},
                     .object = "object",
                     .object_bytes = 6};
    ml_RunJob back;
    ml_Pack p[3] = {{0}};
    uint64_t set;
    int accepted = 0;

    (void)state;
    ml_job_pack(&p[0], &j);
    ml_result_pack(&p[1], &r);
    ml_run_pack(&p[2], &run);
    for (int round = 0; round < 20000; round++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Pack *from = &p[round % 3];
        uint8_t *v = malloc(from->n);
        ml_Unpack u = {.v = v, .n = from->n};
        memcpy(v, from->v, from->n);
        spoil(v, from->n, &rnd);
        if (round % 3 == 0)
            accepted += ml_job_unpack(&u, &k, &set);
        else if (round % 3 == 1 && ml_result_unpack(&u, cx, &s))
            accepted++, free(s.object.v);
        else if (round % 3 == 2)
            accepted += ml_run_unpack(&u, &back);
        free(v);
        ml_ctx_unref(cx);
    }
    assert_true(accepted > 1000);
    for (int n = 0; n < 3; n++)
        ml_pack_free(&p[n]);
}

static void random_bytes_are_no_frames_and_lose_no_descriptors(void **state)
{
    ml_Random rnd = ml_random("frames", 0, 1);
    int before = open_files();

    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint8_t noise[256];
        size_t n = (size_t)ml_random_below(&rnd, sizeof noise) + 1;
        int ends[2], fd = memfd_create("noise", MFD_CLOEXEC);
        ml_Pack p = {.v = noise, .n = n};
        ml_Frame f;
        for (size_t k = 0; k < n; k++)
            noise[k] = (uint8_t)(ml_random_next(&rnd) % 5);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        if (round % 2) { /* a good header around it: a set of nonsense, and a descriptor */
            ml_frame_send(ends[0], 0, ML_FRAME_SET, &p, &fd, 1);
            ml_frame_send(ends[0], 0, ML_FRAME_ARG, &p, &fd, 1);
        } else {
            assert_int_equal(write(ends[0], noise, n), n);
        }
        shutdown(ends[0], SHUT_WR);
        if (ml_frame_receive(ends[1], ml_clock() + 60, &f)) {
            ml_workset_free(ml_set_receive(ends[1], &f));
            ml_frame_free(&f);
        }
        close(fd);
        close(ends[0]);
        close(ends[1]);
    }
    assert_int_equal(open_files(), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, pair_up, pair_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fields_come_back_as_they_were_written),
        TEST(jobs_and_results_come_back_as_they_were_written),
        TEST(frames_carry_descriptors),
        TEST(too_many_descriptors_are_refused),
        TEST(a_frame_that_does_not_come_is_a_timeout),
        TEST(a_frame_that_nobody_takes_is_a_timeout),
        TEST(an_end_that_is_closed_gives_no_signal),
        TEST(large_frames_pass_in_pieces),
        TEST(every_prefix_of_a_message_is_refused),
        TEST(scribbled_messages_are_read_without_a_crash),
        TEST(random_bytes_are_no_frames_and_lose_no_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
