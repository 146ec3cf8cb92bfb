/*
 * test_kernel - kernels from C: building, calling, what a kernel gives back between calls.
 * The table of checks and the failures are tested from Lua (tests/lua/build.lua), what is
 * saved by tests/repl/test_kernel.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "moonloop/codegen/kernel/kernel.h"

#include <stdlib.h>

#define NEED_WORKER()                                                                      \
    do {                                                                                   \
        if (!ml_backend_find("llvm") || !getenv("MOONLOOP_WORKER")) {                      \
            print_message(                                                                 \
                "skip: there is no LLVM, or no program that serves as worker\n");          \
            skip();                                                                        \
        }                                                                                  \
    } while (0)

typedef struct Fix {
    ml_Ctx *cx;
    ml_Engine *e;
    ml_Built *b;
    ml_Tensor *t[2];
} Fix;

static int fix_up(void **state)
{
    Fix *x = calloc(1, sizeof *x);
    int64_t shape[1] = {100};

    assert_non_null(x);
    x->cx = ml_ctx_new(0);
    x->e = ml_engine_new();
    for (size_t k = 0; k < 2; k++)
        x->t[k] = ml_tensor_new(x->cx, ML_DT_F32, shape, 1);
    *state = x;
    return 0;
}

static int fix_down(void **state)
{
    Fix *x = *state;

    ml_built_free(x->b);
    ml_tensor_free(x->t[0]);
    ml_tensor_free(x->t[1]);
    ml_engine_free(x->e);
    ml_ctx_unref(x->cx);
    free(x);
    return 0;
}

/* C[i] = A[i] + n; n is not 3 */
static const char text[] = "@T.prim_func\n"
                           "def f(A: T.Buffer((100,), \"float32\"), C: T.Buffer((100,), "
                           "\"float32\"), n: T.int32):\n"
                           "    for i in range(100):\n"
                           "        C[i] = A[i] + T.Cast(\"float32\", n)\n"
                           "    assert n != 3, \"not three\"\n";

static void build(Fix *x, const char *program, bool inprocess)
{
    ml_Func named = {.name = "f"};
    ml_Work work = {.func = &named, .text = program};
    ml_BuildOpts o = {.target = ml_target_host(), .inprocess = inprocess};

    x->b = ml_build(x->cx, x->e, &work, &o);
}

static bool call(Fix *x, int64_t n)
{
    ml_CallArg a[3] = {{.kind = ML_GIVEN_TENSOR, .tensor = x->t[0]},
                       {.kind = ML_GIVEN_TENSOR, .tensor = x->t[1]},
                       {.kind = ML_GIVEN_INT, .i = n}};

    return ml_built_call(x->b, x->cx, a, 3);
}

static void calls_of(Fix *x, bool inprocess)
{
    size_t after = 0;

    build(x, text, inprocess);
    assert_non_null(x->b);
    assert_false(ml_built_writes(x->b, 0));
    assert_true(ml_built_writes(x->b, 1));
    for (int64_t n = 4; n < 60; n++) {
        ml_tensor_fill(x->t[0], ML_FILL_IOTA, "", 0, 1, 0, 0);
        assert_true(call(x, n));
        assert_true(ml_tensor_get(x->t[1], 99) == (double)(99 + n));
        assert_false(call(x, 3));
        assert_int_equal(ml_error(x->cx)->code, ML_E_ASSERT_FAILED);
        ml_error_clear(x->cx);
        assert_true(ml_tensor_get(x->t[1], 99) == (double)(99 + n));
        assert_false(call(x, INT64_MAX));
        assert_int_equal(ml_error(x->cx)->code, ML_E_CALL_REFUSED);
        ml_error_clear(x->cx);
        if (n == 20)
            after = ml_ctx_bytes(x->cx);
    }
    assert_int_equal(ml_ctx_bytes(x->cx), after);
}

static void a_worker_runs_calls_and_the_context_does_not_grow(void **state)
{
    NEED_WORKER();
    calls_of(*state, false);
}

static void this_process_runs_calls_and_the_context_does_not_grow(void **state)
{
    if (!ml_backend_find("llvm")) {
        print_message("skip: libLLVM 19 is not there\n");
        skip();
    }
    calls_of(*state, true);
}

static void a_worker_that_was_killed_is_replaced(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    build(x, text, false);
    assert_non_null(x->b);
    for (int64_t round = 0; round < 4; round++) {
        assert_true(call(x, 10 + round));
        assert_true(ml_tensor_get(x->t[1], 5) == (double)(10 + round));
        if (round % 2)
            ml_engine_stop(x->e);
        else
            ml_worker_kill(ml_engine_worker(x->e, x->cx, 0));
    }
}

static void what_cannot_be_built_is_an_error_of_the_context(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    build(x, "this is no program", false);
    assert_null(x->b);
    assert_non_null(ml_error(x->cx));
    ml_error_clear(x->cx);
    build(x,
          "@T.prim_func\ndef g(A: T.Buffer((4,), \"float32\")):\n    A[0] = T.float32(1)\n",
          true);
    assert_null(x->b);
    assert_int_equal(ml_error(x->cx)->code, ML_E_UNKNOWN_FUNCTION);
}

static void the_objects_of_kernels_beyond_those_that_are_kept_come_back(void **state)
{
    enum { N = 70 };
    Fix *x = *state;
    ml_Built *all[N];

    NEED_WORKER();
    for (int k = 0; k < N; k++) {
        build(x,
              ml_format(x->cx,
                        "@T.prim_func\n"
                        "def f(A: T.Buffer((100,), \"float32\"), C: T.Buffer((100,), "
                        "\"float32\"), n: T.int32):\n"
                        "    C[0] = T.Cast(\"float32\", n) + T.float32(%d)\n",
                        k),
              false);
        assert_non_null(x->b);
        all[k] = x->b;
    }
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < N; k++) {
            x->b = all[k];
            assert_true(call(x, 1000 * round));
            assert_true(ml_tensor_get(x->t[1], 0) == (double)(1000 * round + k));
        }
    for (int k = 0; k < N - 1; k++)
        ml_built_free(all[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_runs_calls_and_the_context_does_not_grow,
                                        fix_up, fix_down),
        cmocka_unit_test_setup_teardown(
            this_process_runs_calls_and_the_context_does_not_grow, fix_up, fix_down),
        cmocka_unit_test_setup_teardown(a_worker_that_was_killed_is_replaced, fix_up,
                                        fix_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_built_is_an_error_of_the_context,
                                        fix_up, fix_down),
        cmocka_unit_test_setup_teardown(
            the_objects_of_kernels_beyond_those_that_are_kept_come_back, fix_up, fix_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
