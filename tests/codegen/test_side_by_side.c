/*
 * test_side_by_side - threads of a block side by side: barriers, races between threads, memory
 * of threads and of their block.
 */
#include "moonloop/codegen/params/count.h"
#include "moonloop/core/script/script.h"
#include "moonloop/primitives/call/failure.h"

#include "build.h"

#include <string.h>

static const ml_Func *parse(Fix *x, const char *text)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(text), NULL);

    for (size_t k = 0; k < p.n_diags; k++)
        if (!p.diags[k].warning)
            print_message("%s %s (line %u)\n", p.diags[k].code, p.diags[k].message,
                          p.diags[k].span.line);
    assert_non_null(p.mod);
    return p.mod->funcs[0];
}

/* Two blocks of 64 threads: A and B have 128 elements. */
#define KERNEL                                                                             \
    "@T.prim_func\ndef main(A: T.Buffer((128,), \"int32\"), B: T.Buffer((128,), "          \
    "\"int32\")):\n"                                                                       \
    "    bx = T.launch_thread(\"blockIdx.x\", 2)\n"                                        \
    "    tx = T.launch_thread(\"threadIdx.x\", 64)\n"
#define SHARED "    S = T.alloc_buffer((64,), \"int32\", scope=\"shared\")\n"
#define SYNC   "    T.tvm_storage_sync(\"shared\")\n"

static bool run_kernel(Fix *x, const char *text)
{
    const ml_Func *f = parse(x, text);

    drop_args(x);
    for (unsigned k = 0; k < 2; k++) {
        int64_t shape[1] = {128};
        ml_Tensor *t = ml_tensor_new(x->cx, ML_DT_I32, shape, 1);

        assert_non_null(t);
        for (int i = 0; i < 128; i++)
            ((int32_t *)(void *)t->data)[i] = k ? -1 : 1000 + 7 * i;
        x->args[x->n_args++].tensor = t;
    }
    x->opts.side_by_side = true;
    return ml_interpret(x->cx, NULL, f, x->args, x->n_args, &x->opts, &x->report);
}

static int element(Fix *x, unsigned arg, int i)
{
    return ((int32_t *)(void *)x->args[arg].tensor->data)[i];
}

/* The error, its notes included, has these words. */
static void expect_fault(Fix *x, const char *text, ml_ErrorCode code,
                         const char *const *words)
{
    const ml_Error *e;
    ml_Failure *f;
    ml_Text all = {0};

    assert_false(run_kernel(x, text));
    e = ml_error(x->cx);
    f = ml_failure_from(e);
    ml_text_add(&all, ml_failure_message(f));
    for (size_t k = 0; k < e->n_notes; k++)
        ml_text_fmt(&all, "\n%s", e->notes[k]);
    if (e->code != code)
        fail_msg("%s", ml_text_z(&all));
    for (; *words; words++)
        if (!strstr(ml_text_z(&all), *words))
            fail_msg("expected `%s` in: %s", *words, ml_text_z(&all));
    ml_text_free(&all);
    ml_failure_free(f);
    ml_error_clear(x->cx);
}
#define WORDS(...)                                                                         \
    (const char *const[])                                                                  \
    {                                                                                      \
        __VA_ARGS__, NULL                                                                  \
    }

static void a_loop_as_long_as_a_thread_says_is_counted(void **state)
{
    Fix *x = *state;
    const char *text = KERNEL "    for j in range(tx + 1):\n"
                              "        B[bx * 64 + tx] = A[j]\n";

    assert_int_equal(ml_count_iterations(x->cx, parse(x, text), NULL, 0), 2 * 64 * 64);
    assert_true(run_kernel(x, text));
    assert_int_equal(element(x, 1, 70), 1000 + 7 * 6);
}

static void threads_wait_for_each_other(void **state)
{
    Fix *x = *state;

    if (!run_kernel(x, KERNEL SHARED "    S[tx] = A[bx * 64 + tx]\n" SYNC
                                     "    B[bx * 64 + tx] = S[63 - tx]\n"))
        fail_msg("%s", ml_error_code(ml_error(x->cx)->code));
    for (int i = 0; i < 128; i++)
        assert_int_equal(element(x, 1, i), element(x, 0, i / 64 * 64 + 63 - i % 64));
}

static void a_missing_barrier_is_told_with_both_statements(void **state)
{
    expect_fault(*state,
                 KERNEL SHARED "    S[tx] = A[bx * 64 + tx]\n"
                               "    S[tx] = S[tx] + 1\n"
                               "    B[bx * 64 + tx] = S[tx // 2]\n",
                 ML_E_THREAD_RACE,
                 WORDS("threads (0, 0, 0) and (1, 0, 0)", "S at [0]",
                       "thread (0, 0, 0) writes it in `S[tx] = S[tx] + 1`",
                       "thread (1, 0, 0) reads it in `B[bx * 64 + tx] = S[tx // 2]`",
                       "a barrier belongs before `B[bx * 64 + tx] = S[tx // 2]`"));
}

/* The first to run is the later one of the program. */
static void a_write_too_early_is_told_in_the_order_of_the_program(void **state)
{
    expect_fault(*state,
                 KERNEL SHARED "    S[tx] = A[bx * 64 + tx]\n" SYNC
                               "    B[bx * 64 + tx] = S[63 - tx]\n"
                               "    S[tx] = tx\n",
                 ML_E_THREAD_RACE,
                 WORDS("thread (32, 0, 0) reads it in `B[bx * 64 + tx] = S[63 - tx]`",
                       "thread (31, 0, 0) writes it in `S[tx] = tx`",
                       "a barrier belongs before `S[tx] = tx`"));
}

static void a_barrier_that_lacks_between_iterations_belongs_at_their_end(void **state)
{
    expect_fault(*state,
                 KERNEL SHARED "    for k in range(4):\n"
                               "        S[tx] = A[bx * 64 + tx] + k\n"
                               "    " SYNC "        B[bx * 64 + tx] = S[63 - tx]\n",
                 ML_E_THREAD_RACE,
                 WORDS("reads it in `B[bx * 64 + tx] = S[63 - tx]`",
                       "writes it in `S[tx] = A[bx * 64 + tx] + k`", "of a later iteration",
                       "at the end of the body of `for k in range(4):`"));
}

static void a_barrier_under_a_condition_of_the_thread_is_told(void **state)
{
    expect_fault(*state,
                 KERNEL SHARED "    S[tx] = A[bx * 64 + tx]\n"
                               "    if tx < 16:\n    " SYNC "    B[bx * 64 + tx] = S[tx]\n",
                 ML_E_DIVERGENT_BARRIER,
                 WORDS("thread (0, 0, 0) waits at a barrier that thread (16, 0, 0)",
                       "thread (16, 0, 0) is done"));
    expect_fault(*state,
                 KERNEL SHARED "    S[tx] = A[bx * 64 + tx]\n"
                               "    if tx < 16:\n    " SYNC SYNC
                               "    B[bx * 64 + tx] = S[tx]\n",
                 ML_E_DIVERGENT_BARRIER,
                 WORDS("thread (0, 0, 0) waits at a barrier that thread (16, 0, 0)",
                       "thread (16, 0, 0) waits at another one"));
}

static void each_thread_has_memory_of_its_own_across_barriers(void **state)
{
    Fix *x = *state;

    if (!run_kernel(x, KERNEL SHARED
                    "    L = T.alloc_buffer((4,), \"int32\", scope=\"local\")\n"
                    "    for k in range(4):\n"
                    "        S[tx] = A[bx * 64 + tx] + k\n"
                    "    " SYNC "        L[k] = S[(tx + k) % 64]\n    " SYNC
                    "    B[bx * 64 + tx] = L[0] + L[3]\n"))
        fail_msg("%s", ml_error_code(ml_error(x->cx)->code));
    for (int i = 0; i < 128; i++)
        assert_int_equal(element(x, 1, i),
                         element(x, 0, i) + element(x, 0, i / 64 * 64 + (i + 3) % 64) + 3);
}

static void shared_memory_that_nobody_wrote_is_told(void **state)
{
    expect_fault(*state,
                 KERNEL SHARED "    if tx < 63:\n"
                               "        S[tx] = A[bx * 64 + tx]\n" SYNC
                               "    B[bx * 64 + tx] = S[63 - tx] + 1\n",
                 ML_E_UNDEFINED_READ, WORDS("S is read at [63] before it is written"));
    expect_fault(*state,
                 KERNEL SHARED "    S[tx + 1] = A[bx * 64 + tx]\n" SYNC
                               "    B[bx * 64 + tx] = S[tx]\n",
                 ML_E_OUT_OF_BOUNDS, WORDS("S: index 64 of dimension 0"));
}

/* Lanes of one warp are ordered by the warp's barrier, warps are not. */
static void a_barrier_of_the_warp_parts_its_lanes_only(void **state)
{
    Fix *x = *state;

    if (!run_kernel(x, KERNEL SHARED
                    "    S[tx] = A[bx * 64 + tx]\n"
                    "    T.tvm_storage_sync(\"warp\")\n"
                    "    B[bx * 64 + tx] = S[tx // 32 * 32 + 31 - tx % 32]\n"))
        fail_msg("%s", ml_error_code(ml_error(x->cx)->code));
    assert_int_equal(element(x, 1, 40), element(x, 0, 55));
    expect_fault(x,
                 KERNEL SHARED "    S[tx] = A[bx * 64 + tx]\n"
                               "    T.tvm_storage_sync(\"warp\")\n"
                               "    B[bx * 64 + tx] = S[63 - tx]\n",
                 ML_E_THREAD_RACE, WORDS("a barrier belongs before"));
}

static void threads_race_on_global_memory_too(void **state)
{
    expect_fault(*state, KERNEL "    B[bx * 64 + tx // 2] = A[tx]\n", ML_E_THREAD_RACE,
                 WORDS("B at [0]", "no barrier can part them"));
}

/* Two warps bring half of a tile of 16 by 16 each; lanes have 8 elements of it, by ldmatrix, and
 * what mma.sync makes of them. */
#define TILE                                                                               \
    "@T.prim_func\ndef main(A: T.Buffer((256,), \"float16\"), B: T.Buffer((256,), "        \
    "\"float32\")):\n"                                                                     \
    "    bx = T.launch_thread(\"blockIdx.x\", 1)\n"                                        \
    "    ty = T.launch_thread(\"threadIdx.y\", 2)\n"                                       \
    "    tx = T.launch_thread(\"threadIdx.x\", 32)\n"                                      \
    "    S = T.alloc_buffer((256,), \"float16\", scope=\"shared\")\n"                      \
    "    R = T.alloc_buffer((256,), \"float16\", scope=\"warp\")\n"                        \
    "    C = T.alloc_buffer((128,), \"float32\", scope=\"warp\")\n"                        \
    "    for i in range(4):\n"                                                             \
    "        S[ty * 128 + tx * 4 + i] = A[ty * 128 + tx * 4 + i]\n"
#define ZERO(n) "    for i in range(" #n "):\n        C[tx * 4 + i] = T.float32(0)\n"
#define LDMATRIX(at)                                                                       \
    "    T.evaluate(T.ptx_ldmatrix(\"float16\", False, 4, \".b16\", R.data, tx * 8, "      \
    "T.tvm_access_ptr(T.type_annotation(\"float16\"), S.data, 0, 256, 1), " at "))\n"
#define MMA(at)                                                                            \
    "    T.evaluate(T.ptx_mma(\"float32\", \"m16n8k16\", \"row\", \"col\", \"fp16\", "     \
    "\"fp16\", \"fp32\", R.data, tx * 8, R.data, " at ", C.data, tx * 4, False))\n"
#define ROWS "tx % 16 * 16 + tx // 16 * 8"
#define STORE                                                                              \
    "    for i in range(4):\n        if ty == 0:\n            B[tx * 4 + i] = C[tx * 4 + " \
    "i]\n"

static bool run_tile(Fix *x, const char *text)
{
    const ml_Func *f = parse(x, text);
    int64_t shape[1] = {256};

    drop_args(x);
    for (unsigned k = 0; k < 2; k++) {
        ml_Tensor *t = ml_tensor_new(x->cx, k ? ML_DT_F32 : ML_DT(ML_FLOAT, 16), shape, 1);

        assert_non_null(t);
        for (int i = 0; i < 256; i++)
            if (k)
                ((float *)(void *)t->data)[i] = -1;
            else
                ((uint16_t *)(void *)t->data)[i] = (uint16_t)(0x3c00 + i % 5 * 0x200);
        x->args[x->n_args++].tensor = t;
    }
    x->opts.side_by_side = true;
    return ml_interpret(x->cx, NULL, f, x->args, x->n_args, &x->opts, &x->report);
}

static double element_of_tile(Fix *x, int i, int k)
{
    static const double VALUES[] = {1, 1.5, 2, 3, 4};

    (void)x;
    return VALUES[(i * 16 + k) % 5];
}

/* Row i of the tile times its row j: the second operand is the first one's upper left matrix,
 * then its lower left one. */
static void lanes_of_a_warp_multiply_side_by_side(void **state)
{
    Fix *x = *state;

    if (!run_tile(x, TILE ZERO(4) SYNC LDMATRIX(ROWS) MMA("tx * 8") STORE))
        fail_msg("%s", ml_error_code(ml_error(x->cx)->code));
    for (int e = 0; e < 128; e++) {
        int lane = e / 4, i = lane / 4 + e % 4 / 2 * 8, j = lane % 4 * 2 + e % 2;
        double want = 0;

        for (int k = 0; k < 16; k++) /* registers 2 and 3: rows 8 to 15, columns 0 to 7 */
            want += element_of_tile(x, i, k) * element_of_tile(x, k < 8 ? j : j + 8, k % 8);
        assert_true(((float *)(void *)x->args[1].tensor->data)[e] == (float)want);
    }
}

static void expect_tile_fault(Fix *x, const char *text, ml_ErrorCode code,
                              const char *words)
{
    const ml_Error *e;
    ml_Failure *f;
    ml_Text all = {0};

    if (run_tile(x, text))
        fail_msg("no error: %s", words);
    e = ml_error(x->cx);
    f = ml_failure_from(e);
    ml_text_add(&all, ml_failure_message(f));
    for (size_t k = 0; k < e->n_notes; k++)
        ml_text_fmt(&all, "\n%s", e->notes[k]);
    if (e->code != code || !strstr(ml_text_z(&all), words))
        fail_msg("expected `%s` in: %s", words, ml_text_z(&all));
    ml_text_free(&all);
    ml_failure_free(f);
    ml_error_clear(x->cx);
}

static void a_warp_that_lacks_a_barrier_is_told_where_it_loads(void **state)
{
    expect_tile_fault(*state, TILE ZERO(4) LDMATRIX(ROWS) MMA("tx * 8") STORE,
                      ML_E_THREAD_RACE, "a barrier belongs before `T.ptx_ldmatrix(");
}

static void registers_of_a_moved_index_are_told_where_they_are_read(void **state)
{
    Fix *x = *state;

    expect_tile_fault(x, TILE ZERO(4) SYNC LDMATRIX(ROWS) MMA("tx * 8 + 8") STORE,
                      ML_E_OUT_OF_BOUNDS, "R");
    expect_tile_fault(x, TILE ZERO(3) SYNC LDMATRIX(ROWS) MMA("tx * 8") STORE,
                      ML_E_UNDEFINED_READ, "C is read at [3]");
    expect_tile_fault(x, TILE ZERO(4) SYNC LDMATRIX(ROWS " + 8") MMA("tx * 8") STORE,
                      ML_E_OUT_OF_BOUNDS, "S");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_loop_as_long_as_a_thread_says_is_counted),
        TEST(threads_wait_for_each_other),
        TEST(a_missing_barrier_is_told_with_both_statements),
        TEST(a_write_too_early_is_told_in_the_order_of_the_program),
        TEST(a_barrier_that_lacks_between_iterations_belongs_at_their_end),
        TEST(a_barrier_under_a_condition_of_the_thread_is_told),
        TEST(each_thread_has_memory_of_its_own_across_barriers),
        TEST(shared_memory_that_nobody_wrote_is_told),
        TEST(a_barrier_of_the_warp_parts_its_lanes_only),
        TEST(threads_race_on_global_memory_too),
        TEST(lanes_of_a_warp_multiply_side_by_side),
        TEST(a_warp_that_lacks_a_barrier_is_told_where_it_loads),
        TEST(registers_of_a_moved_index_are_told_where_they_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
