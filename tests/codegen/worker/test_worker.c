/*
 * test_worker - jobs from end to end: what they give, how programs fail in every way they
 * can, and that the next job works after each.
 */
#define _DEFAULT_SOURCE
#include "work.h"

#include "moonloop/codegen/lower/lower.h"
#include "moonloop/codegen/machine/engine.h"
#include "moonloop/core/script/script.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { CHECK = ML_WANT_CHECK, OUT = ML_WANT_OUTPUTS, TIMES = ML_WANT_TIMES };

/* ---------------------------------------------------------------- what jobs give */

static const char matmul[] =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((16, 24), \"float32\"), B: T.Buffer((24, 32), \"float32\"), "
    "C: T.Buffer((16, 32), \"float32\")):\n"
    "    for i, j, k in T.grid(16, 32, 24):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

static void make_matmul_set(Fix *x, bool wrong)
{
    static const int64_t sa[] = {16, 24}, sb[] = {24, 32}, sc[] = {16, 32};
    ml_ParseOpts o = {.spelling = -1};
    const ml_Module *m = ml_parse(x->cx, ml_str(matmul), &o).mod;
    ml_Tensor *t[3] = {ml_tensor_new(x->cx, ML_DT_F32, sa, 2),
                       ml_tensor_new(x->cx, ML_DT_F32, sb, 2),
                       ml_tensor_new(x->cx, ML_DT_F32, sc, 2)};
    ml_RunArg args[3] = {{.tensor = t[0]}, {.tensor = t[1]}, {.tensor = t[2]}};
    ml_WorkArg w[3] = {{.shape = sa}, {.shape = sb}, {.shape = sc}};

    assert_non_null(m);
    for (uint32_t k = 0; k < 3; k++) {
        ml_tensor_fill(t[k], ML_FILL_RANDOM, "mm", k, 1, 0, 0);
        w[k].is_tensor = true;
        w[k].type = ML_DT_F32;
        w[k].rank = 2;
        w[k].initial = t[k];
    }
    assert_true(ml_interpret(x->cx, m, m->funcs[0], args, 3, NULL, NULL));
    if (wrong)
        ml_tensor_set(t[2], 5 * 32 + 7, 1e3);
    w[2].initial = NULL;
    w[2].expected = t[2];
    w[2].written = true;
    w[2].tolerance = (ml_Tolerance){.rtol = 1e-4, .atol = 1e-4};
    x->set = ml_workset_new(x->cx, w, 3);
    assert_non_null(x->set);
    for (int k = 0; k < 3; k++)
        ml_tensor_free(t[k]);
}

static void a_product_of_matrices_is_compiled_run_checked_and_timed(void **state)
{
    Fix *x = *state;
    static const int64_t shape[] = {16, 32};
    ml_Tensor *c;

    NEED_WORKER();
    make_matmul_set(x, false);
    succeeds(x, matmul, CHECK | OUT | TIMES);
    assert_false(x->r.cached);
    assert_int_equal(x->r.bad_arg, -1);
    assert_true(x->r.object_bytes > 100);
    assert_true(x->r.compile_seconds > 0 && x->r.lower_seconds > 0 &&
                x->r.link_seconds > 0);
    assert_true(x->r.n_samples >= 5);
    for (size_t k = 0; k < x->r.n_samples; k++)
        assert_true(x->r.samples[k] > 1e-8 && x->r.samples[k] < 0.1);
    c = ml_tensor_new(x->cx, ML_DT_F32, shape, 2);
    assert_true(ml_workset_output(x->set, 2, c));
    for (int64_t k = 0; k < c->n_lanes; k++)
        assert_true(isfinite(ml_tensor_get(c, k)));
    ml_tensor_free(c);
    succeeds(x, matmul, CHECK);
    assert_true(x->r.cached); /* the object was kept */
    assert_true(x->r.compile_seconds == 0);
}

static void other_options_make_another_object(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, copy, CHECK);
    assert_true(run_job(x, &j) && !x->r.cached);
    assert_true(run_job(x, &j) && x->r.cached);
    j.code.no_contract = true;
    assert_true(run_job(x, &j) && !x->r.cached);
    j.program = ml_format(x->cx, "%s\n", copy);
    assert_true(run_job(x, &j) && !x->r.cached);
    j.code.no_contract = false;
    j.program = copy;
    assert_true(run_job(x, &j) && x->r.cached);
}

static void texts_of_every_stage_are_given(void **state)
{
    static const struct {
        uint32_t want;
        const char *text, *part;
    } rows[] = {{ML_WANT_TEXT, "llvm", "define"},
                {ML_WANT_TEXT, "llvm-opt", "define"},
                {ML_WANT_TEXT, "asm", "f_body"},
                {ML_WANT_IR, NULL, "T.prim_func"}};
    Fix *x = *state;

    NEED_WORKER();
    for (size_t k = 0; k < ML_COUNT(rows); k++) {
        ml_Job j = job_of(x, copy, rows[k].want);

        j.text = rows[k].text;
        assert_true(run_job(x, &j) && x->r.ok);
        assert_non_null(x->r.text);
        if (!strstr(x->r.text, rows[k].part))
            fail_msg("%s", x->r.text);
    }
}

static void the_program_after_each_pass_is_given(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    for (size_t k = 0; k < ml_n_passes; k++) {
        ml_Job j = job_of(x, matmul, ML_WANT_IR);

        if (!(ml_passes[k].pipelines & ML_PIPE_CPU))
            continue;
        j.set = NULL;
        j.stop_after = ml_passes[k].name;
        if (!run_job(x, &j))
            fail_msg("%s: %s", j.stop_after, x->r.message);
        assert_non_null(strstr(x->r.text, "def mm("));
    }
}

static void an_object_is_given_and_is_an_elf_file(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    succeeds(x, copy, ML_WANT_OBJECT);
    assert_true(x->r.object.n > 64 && memcmp(x->r.object.v, "\177ELF", 4) == 0);
}

static void sizes_and_numbers_reach_the_kernel(void **state)
{
    static const char text[] = "@T.prim_func\n"
                               "def f(a: T.handle, s: T.float32, k: T.int32):\n"
                               "    n = T.int32()\n"
                               "    A = T.match_buffer(a, (n,), \"float32\")\n"
                               "    for i in range(n):\n"
                               "        A[i] = s + T.Cast(\"float32\", k * i)\n";
    Fix *x = *state;
    int64_t n = 37;
    ml_Tensor *want = tensor(x, "float32", n, ML_FILL_ZEROS);
    ml_WorkArg args[3] = {{.is_tensor = true,
                           .type = ML_DT_F32,
                           .rank = 1,
                           .shape = &n,
                           .expected = want,
                           .written = true,
                           .tolerance = {.exact = true}},
                          {.scalar = {.f = 0.5}, .type = ML_DT_F32},
                          {.scalar = {.i = -3}, .type = ML_DT_I32}};

    for (int64_t k = 0; k < n; k++)
        ml_tensor_set(want, k, 0.5 - 3.0 * (double)k);
    x->set = ml_workset_new(x->cx, args, 3);
    ml_tensor_free(want);
    NEED_WORKER();
    succeeds(x, text, CHECK);
}

static void arguments_that_do_not_fit_are_refused_before_anything_runs(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 255, NULL);
    j = job_of(x, copy, CHECK);
    fails(x, &j, ML_E_CALL_REFUSED, "run",
          "f: argument #0 'A'.shape[0]: expected 256, got 255");
}

/* ---------------------------------------------------------------- what is wrong with it */

static void a_text_that_is_no_program_fails_with_its_line(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, PROGRAM("    for i in range(256):\n        C[i] = A[j]\n"), CHECK);
    assert_false(run_job(x, &j));
    assert_string_equal(x->r.phase, "parse");
    assert_int_equal(x->r.line, 4);
    j.program = "";
    assert_false(run_job(x, &j));
    assert_string_equal(x->r.phase, "parse");
    j.program = NULL;
    assert_false(run_job(x, &j));
    j.program = copy;
    j.func = "g";
    assert_false(run_job(x, &j));
    assert_int_equal(x->r.code, ML_E_UNKNOWN_FUNCTION);
    j.func = "f";
    assert_true(run_job(x, &j));
}

static void a_program_that_cannot_be_lowered_fails_with_its_line(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    for i in T.thread_binding(256, thread=\"threadIdx.x\"):\n"
                       "        C[i] = A[i]\n"),
               CHECK);
    assert_false(run_job(x, &j));
    assert_true(ml_streq(x->r.phase, "lower") || ml_streq(x->r.phase, "compile"));
    assert_int_equal(x->r.line, 3);
    succeeds(x, copy, CHECK);
}

static void wrong_contents_are_told_with_the_first_lane(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_matmul_set(x, true);
    j = job_of(x, matmul, CHECK | TIMES);
    fails(x, &j, ML_E_MISMATCH, "verify", "C: 1 of 512 elements differ");
    assert_int_equal(x->r.bad_arg, 2);
    assert_int_equal(x->r.outside, 1);
    assert_int_equal(x->r.first_lane, 5 * 32 + 7);
    assert_true(x->r.largest > 900);
    assert_int_equal(x->r.n_samples, 0); /* what is wrong is not timed */
}

static void expected_contents_may_be_given_later(void **state)
{
    Fix *x = *state;
    ml_Tensor *a = tensor(x, "float32", 256, ML_FILL_RANDOM);
    ml_Tensor *zeros = tensor(x, "float32", 256, ML_FILL_ZEROS);
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    assert_true(ml_workset_expect(x->cx, x->set, 1, zeros, (ml_Tolerance){.exact = true}));
    j = job_of(x, copy, CHECK);
    assert_false(run_job(x, &j));
    assert_true(ml_workset_expect(x->cx, x->set, 1, a, (ml_Tolerance){.exact = true}));
    succeeds(x, copy, CHECK);
    succeeds(x, copy, CHECK | TIMES);
    ml_tensor_free(a);
    ml_tensor_free(zeros);
}

static void an_input_that_is_changed_is_told(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, PROGRAM("    A[100] = T.float32(5)\n    C[0] = A[0]\n"), CHECK);
    fails(x, &j, ML_E_MISMATCH, "verify", "A: an input was changed");
    assert_int_equal(x->r.bad_arg, 0);
}

static void an_assertion_is_told_by_text_and_line(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    for i in range(256):\n"
                       "        assert A[i] > T.float32(7), \"A is large\"\n"
                       "        C[i] = A[i]\n"),
               CHECK);
    fails(x, &j, ML_E_ASSERT_FAILED, "run", "A is large");
    assert_int_equal(x->r.line, 4);
}

/* ---------------------------------------------------------------- crashes */

static void a_read_far_outside_is_told_with_line_buffer_and_element(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    C[0] = T.float32(1)\n"
                       "    for i in range(2000):\n"
                       "        C[i % 256] = C[i % 256] + A[i]\n"),
               CHECK);
    fails(x, &j, ML_E_WORKER_CRASHED, "run", "SIGSEGV, line 5 of the program: access of A");
    assert_int_equal(x->r.signal, SIGSEGV);
    assert_int_equal(x->r.line, 5);
    assert_non_null(strstr(x->r.message, "at element 256, it has 256"));
    succeeds(x, copy, CHECK);
    assert_string_equal(x->r.phase ? x->r.phase : "", "");
}

static void a_write_in_front_of_a_buffer_crashes_too(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    for i in range(9000):\n"
                       "        C[255 - i] = T.float32(1)\n"),
               CHECK);
    fails(x, &j, ML_E_WORKER_CRASHED, "run", "access of C at element -");
    assert_int_equal(x->r.line, 4);
    succeeds(x, copy, CHECK);
}

static void a_write_between_buffer_and_guard_page_is_found(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 250, NULL);
    j = job_of(
        x,
        "@T.prim_func\n"
        "def f(A: T.Buffer((250,), \"float32\"), C: T.Buffer((250,), \"float32\")):\n"
        "    for i in range(252):\n"
        "        C[i] = T.float32(1)\n",
        CHECK);
    fails(x, &j, ML_E_WORKER_CRASHED, "verify", "C: element 250 was written, it has 250");
    assert_int_equal(x->r.bad_arg, 1);
}

#define WORKSPACE(from, to, n)                                                             \
    "@T.prim_func\n"                                                                       \
    "def f(A: T.Buffer((256,), \"float32\"), C: T.Buffer((256,), \"float32\")):\n"         \
    "    B = T.alloc_buffer((" n ",), \"float32\")\n"                                      \
    "    for i in range(" from ", " to "):\n"                                              \
    "        B[i] = A[i % 256]\n"                                                          \
    "    for i in range(256):\n"                                                           \
    "        C[i] = B[i]\n"

static void an_access_beside_the_workspace_is_told(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, WORKSPACE("0", "65552", "65536"), CHECK);
    fails(x, &j, ML_E_WORKER_CRASHED, "run",
          "SIGSEGV, line 5 of the program: access at byte 262144 of a buffer of the "
          "workspace, it has 262144");
    j = job_of(x, WORKSPACE("-2000", "65536", "65536"), CHECK);
    fails(x, &j, ML_E_WORKER_CRASHED, "run", "of a buffer of the workspace, it has 262144");
    j = job_of(x, WORKSPACE("0", "65542", "65541"), CHECK); /* no page begins there */
    fails(x, &j, ML_E_WORKER_CRASHED, "verify",
          "byte 262164 of a buffer of the workspace was written, it has 262164");
    succeeds(x, WORKSPACE("0", "65541", "65541"), CHECK);
    succeeds(x, WORKSPACE("0", "65541", "65541"), CHECK | ML_WANT_TIMES);
}

static void a_wild_address_and_a_division_by_zero_are_told(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    for i in range(256):\n"
                       "        C[i * 1000000000] = A[i]\n"),
               CHECK);
    assert_false(run_job(x, &j));
    assert_int_equal(x->r.code, ML_E_WORKER_CRASHED);
    assert_int_equal(x->r.line, 4);
    j.program =
        PROGRAM("    for i in range(256):\n"
                "        C[i] = T.Cast(\"float32\", 7 // T.Cast(\"int32\", A[i]))\n");
    if (!run_job(x, &j)) {
        assert_int_equal(x->r.signal, SIGFPE);
        assert_non_null(strstr(x->r.message, "division by zero"));
    }
    succeeds(x, copy, CHECK);
}

static void a_crash_in_a_parallel_loop_is_told_once(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    for i in T.parallel(64):\n"
                       "        C[i * 4096] = A[i * 5000]\n"),
               CHECK);
    j.code.threads = 4;
    for (int k = 0; k < 5; k++) {
        assert_false(run_job(x, &j));
        assert_int_equal(x->r.code, ML_E_WORKER_CRASHED);
        assert_int_equal(x->r.signal, SIGSEGV);
    }
    succeeds(x, copy, CHECK);
}

/* ---------------------------------------------------------------- limits */

static const char endless[] = PROGRAM("    while T.bool(True):\n"
                                      "        C[0] = C[0] + A[0]\n");

static void an_endless_loop_ends_at_its_limit(void **state)
{
    Fix *x = *state;
    ml_Job j;
    double t;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    j = job_of(x, endless, CHECK);
    j.run_limit = 0.5;
    t = ml_clock();
    fails(x, &j, ML_E_WORKER_TIMEOUT, "run", "it did not end within 0.5 s");
    t = ml_clock() - t;
    assert_true(t > 0.45 && t < HANGS);
    succeeds(x, copy, CHECK);
    assert_true(x->r.cached); /* only the runner was replaced */
}

/* Some tenths of a second. */
#define SLOW                                                                               \
    PROGRAM("    for r in range(100000):\n"                                                \
            "        for i in range(256):\n"                                               \
            "            C[i] = T.sin(C[i] + A[i])\n")

static void a_slow_kernel_may_take_its_limit_for_every_call(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    /* a timed job takes nine calls at least */
    j = job_of(x, SLOW, CHECK | TIMES);
    j.timing = ML_TIMING_TIME;
    assert_true(run_job(x, &j));
    j.run_limit = 0;
    for (size_t k = 0; k < x->r.n_samples; k++)
        j.run_limit = fmax(j.run_limit, 5 * x->r.samples[k]);
    /* a call on a busy machine may take five times what it took; not so each time */
    for (int k = 0; k < 10 && !run_job(x, &j); k++)
        assert_int_equal(x->r.code, ML_E_WORKER_TIMEOUT);
    if (!x->r.ok)
        fail_msg("%s", x->r.message);
    assert_true(x->r.n_samples >= 1);
}

static void a_checking_run_that_is_far_slower_is_timing_enough(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, SLOW, CHECK | TIMES);
    j.timing = ML_TIMING_TUNE;
    j.best = 1e3; /* its own time is no reason */
    j.checked = 1e-3;
    assert_true(run_job(x, &j));
    assert_true(x->r.given_up);
    assert_int_equal(x->r.n_samples, 1);
    assert_true(x->r.samples[0] == x->r.run_seconds && x->r.run_seconds > 0.005);
    j.checked = 1e3;
    assert_true(run_job(x, &j));
    assert_false(x->r.given_up);
    assert_true(x->r.n_samples >=
                (x->r.samples[0] > 0.05 ? 1 : 2)); /* a very long one: one */
    j.timing = ML_TIMING_TURN;                     /* only a search gives up */
    j.checked = 1e-3;
    assert_true(run_job(x, &j));
    assert_false(x->r.given_up);
}

static void compiling_has_a_limit_too(void **state)
{
    Fix *x = *state;
    ml_Text t = {0};
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    ml_text_add(&t, PROGRAM(""));
    for (int k = 0; k < 3000; k++)
        ml_text_fmt(&t, "    C[%d] = A[%d] * T.float32(%d) + T.exp(C[%d])\n", k % 256,
                    k * 7 % 256, k, k * 3 % 256);
    j = job_of(x, ml_text_z(&t), CHECK);
    j.compile_limit = 0.01;
    fails(x, &j, ML_E_WORKER_TIMEOUT, "compile", "it was not compiled within 0.01 s");
    ml_text_free(&t);
    succeeds(x, copy, CHECK);
    assert_false(x->r.cached); /* the worker is another one */
}

static void a_program_that_eats_memory_is_refused_in_one_line(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x,
               PROGRAM("    B = T.alloc_buffer((67108864,), \"float32\")\n"
                       "    for i in range(67108864):\n"
                       "        B[i] = A[i % 256]\n"
                       "    for i in range(256):\n"
                       "        C[i] = B[i * 1000]\n"),
               CHECK);
    j.memory_limit = 1 << 20;
    fails(x, &j, ML_E_TOO_LARGE, "run",
          "out of workspace memory: 268435456 bytes more were asked for, the limit is "
          "1048576");
    j.memory_limit = 0;
    assert_true(run_job(x, &j));
    j.memory_limit = 1 << 20;
    assert_false(run_job(x, &j)); /* what was kept for later does not count */
    succeeds(x, copy, CHECK);
}

/* ---------------------------------------------------------------- killed from outside */

static void a_worker_killed_while_idle_is_replaced_without_a_word(void **state)
{
    Fix *x = *state;
    int pid;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    pid = ml_worker_pid(x->w);
    kill(pid, SIGKILL);
    wait_until_gone(pid);
    succeeds(x, copy, CHECK);
    assert_int_not_equal(ml_worker_pid(x->w), pid);
}

static void a_worker_killed_at_work_fails_its_job_only(void **state)
{
    Fix *x = *state;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    j = job_of(x, endless, CHECK);
    assert_true(ml_worker_send(x->w, x->cx, &j));
    assert_true(ml_worker_busy(x->w));
    wait_until_busy(child_of(ml_worker_pid(x->w)));
    kill(ml_worker_pid(x->w), SIGKILL);
    assert_true(ml_worker_take(x->w, x->cx, &x->r));
    assert_false(x->r.ok);
    assert_int_equal(x->r.code, ML_E_WORKER_CRASHED);
    assert_int_equal(x->r.signal, SIGKILL);
    assert_non_null(strstr(x->r.message, "SIGKILL"));
    assert_false(ml_worker_busy(x->w));
    succeeds(x, copy, CHECK);
}

static void a_runner_killed_idle_or_at_work_is_replaced(void **state)
{
    Fix *x = *state;
    ml_Job j;
    int runner;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    runner = child_of(ml_worker_pid(x->w));
    assert_true(runner > 0);
    kill(runner, SIGKILL);
    wait_until_gone(runner);
    succeeds(x, copy, CHECK);
    assert_int_not_equal(child_of(ml_worker_pid(x->w)), runner);
    j = job_of(x, endless, CHECK);
    assert_true(ml_worker_send(x->w, x->cx, &j));
    wait_until_busy(child_of(ml_worker_pid(x->w)));
    kill(child_of(ml_worker_pid(x->w)), SIGKILL);
    assert_true(ml_worker_take(x->w, x->cx, &x->r));
    assert_int_equal(x->r.code, ML_E_WORKER_CRASHED);
    assert_non_null(strstr(x->r.message, "SIGKILL"));
    succeeds(x, copy, CHECK);
    assert_true(x->r.cached);
}

static void a_worker_that_is_ended_takes_its_runner_with_it(void **state)
{
    Fix *x = *state;
    ml_Job j;
    int runner;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    j = job_of(x, endless, CHECK);
    assert_true(ml_worker_send(x->w, x->cx, &j));
    runner = child_of(ml_worker_pid(x->w));
    assert_true(runner > 0);
    wait_until_busy(runner);
    ml_worker_kill(x->w);
    assert_int_equal(ml_worker_pid(x->w), 0);
    wait_until_gone(runner); /* perhaps a zombie that nobody has taken away */
}

/* ---------------------------------------------------------------- Ctrl-C */

static volatile int cancelled;

static void on_alarm(int sig)
{
    (void)sig;
    cancelled = 1;
}

static void the_cancel_flag_ends_a_run_at_once(void **state)
{
    Fix *x = *state;
    struct itimerval timer = {.it_value = {.tv_usec = 200000}};
    struct sigaction sa = {.sa_handler = on_alarm}, old;
    ml_Job j;
    double t;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    cancelled = 0;
    ml_ctx_set_cancel(x->cx, &cancelled);
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, &old);
    j = job_of(x, endless, CHECK);
    j.run_limit = 2 * HANGS;
    t = ml_clock();
    setitimer(ITIMER_REAL, &timer, NULL);
    assert_false(ml_worker_run(x->w, x->cx, &j, &x->r));
    t = ml_clock() - t;
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(ml_error(x->cx)->code, ML_E_INTERRUPTED);
    assert_true(t > 0.15 && t < HANGS);
    cancelled = 0;
    ml_error_clear(x->cx);
    succeeds(x, copy, CHECK);
}

/* ---------------------------------------------------------------- no worker */

static void no_worker(Fix *x, const char *program, const char *part)
{
    const ml_WorkerOpts o = {.program = program};
    ml_Worker *w = ml_worker_new(x->cx, &o);
    ml_Job j = {.program = copy, .target = ml_target_host()};

    if (w && ml_worker_run(w, x->cx, &j, &x->r))
        fail_msg("it ran, %s", x->r.message);
    ml_worker_free(w);
    assert_int_equal(ml_error(x->cx)->code, ML_E_NO_WORKER);
    if (!strstr(error_text(x), part))
        fail_msg("%s", error_text(x));
    ml_error_clear(x->cx);
}

static void programs_that_are_no_workers_are_told(void **state)
{
    Fix *x = *state;
    char dir[] = "/tmp/ml-worker.XXXXXX", path[64];
    FILE *f;
    double t;

    for (int k = 0; k < 5; k++)
        no_worker(x, "/bin/false", "/bin/false does not serve as worker (status 1)");
    no_worker(x, "/bin/true", "/bin/true does not serve as worker (status 0)");
    no_worker(
        x, "/nowhere/moonloop",
        "/nowhere/moonloop, which is to serve as worker, cannot be run: No such file");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/w", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\necho out of ideas >&2\nexit 7\n", f);
    fclose(f);
    no_worker(x, path, "cannot be run: Permission denied");
    chmod(path, 0755);
    no_worker(x, path, "does not serve as worker (status 7): out of ideas");
    f = fopen(path, "w");
    fputs("no program\n", f);
    fclose(f);
    no_worker(x, path, "cannot be started: Exec format error");
    f = fopen(path, "w");
    fputs("#!/bin/sh\necho nonsense, and more of it than a header has >&3\ncat <&3\n", f);
    fclose(f);
    no_worker(x, path, "answers nonsense");
    f = fopen(path, "w");
    fputs("#!/bin/sh\nexec sleep 100\n", f);
    fclose(f);
    t = ml_clock();
    no_worker(x, path, "does not serve as worker (no sign of life within 5 s)");
    assert_true(ml_clock() - t < HANGS);
    no_worker(x, dir, "");
    unlink(path);
    rmdir(dir);
}

/* ---------------------------------------------------------------- sets */

static int files_of(int pid)
{
    char path[64];
    DIR *d;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static long kilobytes_of(int pid)
{
    char path[64], line[256];
    FILE *f;
    long n = 0;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

static void sets_that_are_gone_are_forgotten_by_worker_and_runner(void **state)
{
    Fix *x = *state;
    int worker_files = 0, runner_files = 0;

    NEED_WORKER();
    for (int k = 0; k < 60; k++) {
        make_set(x, 256, NULL);
        succeeds(x, copy, CHECK | OUT | (k % 10 == 0 ? TIMES : 0));
        if (k == 5) {
            worker_files = files_of(ml_worker_pid(x->w));
            runner_files = files_of(child_of(ml_worker_pid(x->w)));
        }
    }
    assert_int_equal(files_of(ml_worker_pid(x->w)), worker_files);
    assert_int_equal(files_of(child_of(ml_worker_pid(x->w))), runner_files);
}

static void many_living_sets_are_used_by_turns(void **state)
{
    Fix *x = *state;
    ml_WorkSet *sets[40];
    ml_Tensor *c = tensor(x, "float32", 256, ML_FILL_ZEROS);

    NEED_WORKER();
    for (int k = 0; k < 40; k++) {
        make_set(x, 256, NULL);
        sets[k] = x->set;
        x->set = NULL;
    }
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < 40; k++) {
            x->set = sets[k * (round + 1) % 40];
            succeeds(x, copy, CHECK | OUT);
            assert_true(ml_workset_output(x->set, 1, c));
        }
    for (int k = 0; k < 40; k++)
        ml_workset_free(sets[k]);
    x->set = NULL;
    ml_tensor_free(c);
}

static void a_set_serves_two_workers_at_once(void **state)
{
    Fix *x = *state;
    ml_Worker *w[2];
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    j = job_of(x, copy, CHECK | TIMES);
    for (int k = 0; k < 2; k++)
        assert_non_null(w[k] = ml_worker_new(x->cx, NULL));
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < 2; k++)
            assert_true(ml_worker_send(w[k], x->cx, &j));
        assert_true(ml_worker_time_left(w[0]) > 1);
        for (int k = 2; k-- > 0;) {
            assert_true(ml_worker_take(w[k], x->cx, &x->r));
            if (!x->r.ok)
                fail_msg("%s", x->r.message);
        }
    }
    for (int k = 0; k < 2; k++)
        ml_worker_free(w[k]);
}

static void two_hundred_jobs_take_no_more_than_the_first_ones(void **state)
{
    Fix *x = *state;
    int files = 0, worker_files = 0, runner_files = 0;
    long memory = 0;

    NEED_WORKER();
    if (getenv("ASAN_OPTIONS")) /* what was freed is to be used again soon */
        setenv("ASAN_OPTIONS",
               ml_format(x->cx, "%s:quarantine_size_mb=1", getenv("ASAN_OPTIONS")), 1);
    make_set(x, 256, NULL);
    for (int k = 0; k < 200; k++) {
        const char *text = ml_format(x->cx,
                                     PROGRAM("    for i in range(256):\n"
                                             "        C[i] = A[i] + T.float32(%d)\n"),
                                     k);

        succeeds(x, text, CHECK);
        if (k == 100) {
            files = files_of(getpid());
            worker_files = files_of(ml_worker_pid(x->w));
            runner_files = files_of(child_of(ml_worker_pid(x->w)));
            memory = kilobytes_of(ml_worker_pid(x->w));
        }
    }
    assert_int_equal(files_of(getpid()), files);
    assert_int_equal(files_of(ml_worker_pid(x->w)), worker_files);
    assert_int_equal(files_of(child_of(ml_worker_pid(x->w))), runner_files);
    if (kilobytes_of(ml_worker_pid(x->w)) > memory + memory / 4 + 4096)
        fail_msg("from %ld to %ld KB", memory, kilobytes_of(ml_worker_pid(x->w)));
}

static void a_large_program_and_its_large_text_pass_through(void **state)
{
    Fix *x = *state;
    ml_Text t = {0};
    ml_Job j;

    NEED_WORKER();
    ml_text_add(&t, copy);
    for (int k = 0; k < 20000; k++)
        ml_text_add(&t, "# a comment that makes this text larger than any socket holds\n");
    j = job_of(x, ml_text_z(&t), ML_WANT_IR);
    assert_true(run_job(x, &j));
    ml_text_free(&t);
}

/* A stopped process takes nothing: the session waits no longer than the limit allows, and
 * the cancel flag is heard. */
static void a_worker_that_stands_still_can_be_interrupted(void **state)
{
    Fix *x = *state;
    struct itimerval timer = {.it_value = {.tv_usec = 200000}};
    struct sigaction sa = {.sa_handler = on_alarm}, old;
    ml_Job j;

    NEED_WORKER();
    make_set(x, 256, NULL);
    succeeds(x, copy, CHECK);
    kill(ml_worker_pid(x->w), SIGSTOP);
    cancelled = 0;
    ml_ctx_set_cancel(x->cx, &cancelled);
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, &old);
    setitimer(ITIMER_REAL, &timer, NULL);
    j = job_of(x, copy, CHECK);
    assert_false(ml_worker_run(x->w, x->cx, &j, &x->r));
    sigaction(SIGALRM, &old, NULL);
    assert_int_equal(ml_error(x->cx)->code, ML_E_INTERRUPTED);
    cancelled = 0;
    ml_error_clear(x->cx);
    succeeds(x, copy, CHECK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_product_of_matrices_is_compiled_run_checked_and_timed),
        TEST(other_options_make_another_object),
        TEST(texts_of_every_stage_are_given),
        TEST(the_program_after_each_pass_is_given),
        TEST(an_object_is_given_and_is_an_elf_file),
        TEST(sizes_and_numbers_reach_the_kernel),
        TEST(arguments_that_do_not_fit_are_refused_before_anything_runs),
        TEST(a_text_that_is_no_program_fails_with_its_line),
        TEST(a_program_that_cannot_be_lowered_fails_with_its_line),
        TEST(wrong_contents_are_told_with_the_first_lane),
        TEST(expected_contents_may_be_given_later),
        TEST(an_input_that_is_changed_is_told),
        TEST(an_assertion_is_told_by_text_and_line),
        TEST(a_read_far_outside_is_told_with_line_buffer_and_element),
        TEST(a_write_in_front_of_a_buffer_crashes_too),
        TEST(a_write_between_buffer_and_guard_page_is_found),
        TEST(an_access_beside_the_workspace_is_told),
        TEST(a_wild_address_and_a_division_by_zero_are_told),
        TEST(a_crash_in_a_parallel_loop_is_told_once),
        TEST(an_endless_loop_ends_at_its_limit),
        TEST(a_slow_kernel_may_take_its_limit_for_every_call),
        TEST(a_checking_run_that_is_far_slower_is_timing_enough),
        TEST(compiling_has_a_limit_too),
        TEST(a_program_that_eats_memory_is_refused_in_one_line),
        TEST(a_worker_killed_while_idle_is_replaced_without_a_word),
        TEST(a_worker_killed_at_work_fails_its_job_only),
        TEST(a_runner_killed_idle_or_at_work_is_replaced),
        TEST(a_worker_that_is_ended_takes_its_runner_with_it),
        TEST(the_cancel_flag_ends_a_run_at_once),
        TEST(programs_that_are_no_workers_are_told),
        TEST(sets_that_are_gone_are_forgotten_by_worker_and_runner),
        TEST(many_living_sets_are_used_by_turns),
        TEST(a_set_serves_two_workers_at_once),
        TEST(two_hundred_jobs_take_no_more_than_the_first_ones),
        TEST(a_large_program_and_its_large_text_pass_through),
        TEST(a_worker_that_stands_still_can_be_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
