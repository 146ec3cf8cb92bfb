/*
 * test_gpu - passes for kernels: one loop per thread tag, barriers where they are needed.
 */
#include "lowering.h"

static ml_Lower for_gpu(Fix *x)
{
    ml_Lower lo = lowering(x);

    lo.opts.target.kind = (uint32_t)(ml_target_kind("cuda-sim") - ml_target_kinds);
    return lo;
}

static void expect_gpu(Fix *x, const char *program, const char *pass, const char *want)
{
    ml_Lower lo = for_gpu(x);

    expect_text(body_text(x, lowered(x, &lo, parse(x, program), pass)), want);
}

static void expect_refused(Fix *x, const char *program, const char *pass, const char *words)
{
    ml_Lower lo = for_gpu(x);

    assert_null(ml_lower(&lo, parse(x, program), pass, NULL, NULL));
    expect_error(x, pass, words);
    ml_error_clear(x->cx);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static int barriers(Fix *x, const char *program, ml_Lower *lo)
{
    *lo = for_gpu(x);
    return count(body_text(x, lowered(x, lo, parse(x, program), "sync_threads")),
                 "T.tvm_storage_sync(\"shared\")");
}

/* ---- unify_threads */

#define TWO_STAGES(second)                                                                 \
    HEAD "A: T.Buffer((4, 64), \"int32\"), B: T.Buffer((4, 64), \"int32\")):\n"            \
         "    S = T.alloc_buffer((4, 64), \"int32\", scope=\"shared\")\n"                  \
         "    for i in T.thread_binding(4, thread=\"blockIdx.x\"):\n"                      \
         "        for j in T.thread_binding(64, thread=\"threadIdx.x\"):\n"                \
         "            with T.block(\"S\"):\n"                                              \
         "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"                         \
         "                S[vi, vj] = A[vi, vj]\n"                                         \
         "        for j in T.thread_binding(" second ", thread=\"threadIdx.x\"):\n"        \
         "            with T.block(\"B\"):\n"                                              \
         "                vi, vj = T.axis.remap(\"SS\", [i, j])\n"                         \
         "                B[vi, vj] = S[vi, 63 - vj]\n"

static void loops_of_one_thread_become_one(void **state)
{
    expect_gpu(*state, TWO_STAGES("64"), "lower_opaque",
               "    i = T.launch_thread(\"blockIdx.x\", 4)\n"
               "    j = T.launch_thread(\"threadIdx.x\", 64)\n"
               "    S = T.decl_buffer((1, 64), \"int32\", scope=\"shared\")\n"
               "    S[0, j] = A[i, j]\n"
               "    B[i, j] = S[0, 63 - j]\n");
    expect_refused(*state, TWO_STAGES("32"), "unify_threads",
                   "loops of one kernel bound to threadIdx.x have the extents 64 and 32");
}

static void what_threads_have_in_common_is_written_by_the_first(void **state)
{
    expect_gpu(*state,
               HEAD "A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n"
                    "    S = T.alloc_buffer((2,), \"int32\", scope=\"shared\")\n"
                    "    for b in T.thread_binding(1, thread=\"blockIdx.x\"):\n"
                    "        for k in range(2):\n"
                    "            with T.block(\"S\"):\n"
                    "                vk = T.axis.spatial(2, k)\n"
                    "                S[vk] = A[vk]\n"
                    "        for j in T.thread_binding(64, thread=\"threadIdx.x\"):\n"
                    "            with T.block(\"B\"):\n"
                    "                vj = T.axis.spatial(64, j)\n"
                    "                B[vj] = S[vj % 2]\n",
               "sync_threads",
               "    A_1 = T.decl_buffer((64,), \"int32\", data=A.data)\n"
               "    B_1 = T.decl_buffer((64,), \"int32\", data=B.data)\n"
               "    b = T.launch_thread(\"blockIdx.x\", 1)\n"
               "    j = T.launch_thread(\"threadIdx.x\", 64)\n"
               "    S = T.decl_buffer((2,), \"int32\", scope=\"shared\")\n"
               "    if j == 0:\n"
               "        for k in range(2):\n"
               "            S[k] = A_1[k]\n"
               "    T.tvm_storage_sync(\"shared\")\n"
               "    B_1[j] = S[j % 2]\n");
}

/* ---- sync_threads */

#define KERNEL                                                                             \
    HEAD "A: T.Buffer((1024,), \"int32\"), B: T.Buffer((1024,), \"int32\")):\n"            \
         "    bx = T.launch_thread(\"blockIdx.x\", 4)\n"                                   \
         "    ty = T.launch_thread(\"threadIdx.y\", 4)\n"                                  \
         "    tx = T.launch_thread(\"threadIdx.x\", 16)\n"                                 \
         "    with T.block(\"\"):\n"                                                       \
         "        T.reads(A[0:1024])\n"                                                    \
         "        T.writes(B[0:1024])\n"                                                   \
         "        S = T.alloc_buffer((256,), \"int32\", scope=\"shared\")\n"

static void barriers_lie_between_what_one_writes_and_another_one_reads(void **state)
{
    Fix *x = *state;
    ml_Lower lo;

    assert_int_equal(barriers(x,
                              KERNEL "        S[ty * 16 + tx] = A[bx]\n"
                                     "        B[bx * 64 + ty * 16 + tx] = S[tx * 4 + ty]\n",
                              &lo),
                     1);
    assert_true(has_note(&lo, "barrier before the store to B: a thread writes S in the "
                              "store to S, another one reads it in the store to B"));
    /* each thread has its own element: nobody waits */
    assert_int_equal(barriers(x,
                              KERNEL
                              "        S[ty * 16 + tx] = A[bx]\n"
                              "        B[bx * 64 + ty * 16 + tx] = S[ty * 16 + tx]\n",
                              &lo),
                     0);
    /* all rows of threads write what one of them reads */
    assert_int_equal(barriers(x,
                              KERNEL "        S[tx] = A[tx]\n"
                                     "        B[bx * 64 + ty * 16 + tx] = S[tx]\n",
                              &lo),
                     1);
    /* halves that do not meet */
    assert_int_equal(barriers(x,
                              KERNEL "        S[ty * 16 + tx] = A[bx]\n"
                                     "        B[bx * 64 + ty * 16 + tx] = S[ty * 16 + tx]\n"
                                     "        S[64 + ty * 16 + tx] = A[tx]\n",
                              &lo),
                     0);
}

/* Two ldmatrix after each other only read what the pointer that they get is for. */
static void what_ldmatrix_gets_is_read(void **state)
{
    Fix *x = *state;
    ml_Lower lo;

    assert_int_equal(
        barriers(x,
                 KERNEL "        R = T.alloc_buffer((32,), \"int32\", scope=\"warp\")\n"
                        "        S[ty * 16 + tx] = A[bx]\n"
                        "        for k in range(2):\n"
                        "            T.evaluate(T.ptx_ldmatrix(\"int32\", False, 1, "
                        "\".b16\", R.data, tx * 2, S.access_ptr(\"r\"), tx * 8))\n"
                        "        B[bx * 64 + ty * 16 + tx] = S[ty * 16 + tx]\n",
                 &lo),
        1);
}

static void writes_after_reads_and_after_writes_wait_too(void **state)
{
    Fix *x = *state;
    ml_Lower lo;

    assert_int_equal(barriers(x,
                              KERNEL
                              "        S[ty * 16 + tx] = A[bx]\n"
                              "        B[bx * 64 + ty * 16 + tx] = S[63 - ty * 16 - tx]\n"
                              "        S[ty * 16 + tx] = A[tx]\n"
                              "        B[512 + ty * 16 + tx] = S[ty * 16 + tx]\n",
                              &lo),
                     2);
    assert_int_equal(barriers(x,
                              KERNEL
                              "        S[ty * 16 + tx] = A[bx]\n"
                              "        S[63 - ty * 16 - tx] = A[tx]\n"
                              "        B[bx * 64 + ty * 16 + tx] = S[63 - ty * 16 - tx]\n",
                              &lo),
                     1);
}

/* Two halves of a buffer used by turns need one barrier an iteration, one half two. */
static void the_next_iteration_waits_unless_it_uses_another_part(void **state)
{
    Fix *x = *state;
    ml_Lower lo;

#define LOOP(at)                                                                           \
    KERNEL "        for k in range(8):\n"                                                  \
           "            S[" at "ty * 16 + tx] = A[k]\n"                                    \
           "            B[bx * 64 + ty * 16 + tx] = S[" at "63 - ty * 16 - tx]\n"
    assert_int_equal(barriers(x, LOOP(""), &lo), 2);
    assert_true(has_note(&lo, "barrier at the end of the body of loop k"));
    assert_int_equal(barriers(x, LOOP("k % 2 * 64 + "), &lo), 1);
#undef LOOP
}

static void a_barrier_that_parts_nothing_is_left_out(void **state)
{
    Fix *x = *state;
    ml_Lower lo;

    assert_int_equal(barriers(x,
                              KERNEL "        S[ty * 16 + tx] = A[bx]\n"
                                     "        T.tvm_storage_sync(\"shared\")\n"
                                     "        T.tvm_storage_sync(\"shared\")\n"
                                     "        B[bx * 64 + ty * 16 + tx] = S[tx * 4 + ty]\n"
                                     "        T.tvm_storage_sync(\"shared\")\n",
                              &lo),
                     1);
    assert_true(has_note(&lo, "this barrier is redundant"));
}

static void a_barrier_that_some_threads_do_not_reach_is_refused(void **state)
{
    expect_refused(*state,
                   KERNEL
                   "        S[ty * 16 + tx] = A[bx]\n"
                   "        if tx < 8:\n"
                   "            S[64 + ty * 16 + tx] = A[bx]\n"
                   "            B[bx * 64 + ty * 16 + tx] = S[64 + ty * 16 + 7 - tx]\n",
                   "sync_threads", "a barrier is needed under `if tx < 8`");
    expect_refused(*state,
                   KERNEL "        for k in range(tx):\n"
                          "            S[ty * 16 + tx] = A[bx]\n"
                          "            B[bx * 64 + ty * 16 + tx] = S[tx]\n",
                   "sync_threads", "not all threads of the block reach alike");
    /* before the condition all come by */
    Fix *x = *state;
    ml_Lower lo;

    assert_int_equal(barriers(x,
                              KERNEL "        S[ty * 16 + tx] = A[bx]\n"
                                     "        if tx < 8:\n"
                                     "            B[bx * 64 + ty * 16 + tx] = S[tx * 4]\n",
                              &lo),
                     1);
}

/* Loops as long as a thread's number says are counted, with their bound as a condition. */
static void threads_with_loops_of_their_own_length_are_told_apart(void **state)
{
#define OWN_PARTS(most)                                                                    \
    KERNEL "        for k in range(tx // 4 + " most "):\n"                                 \
           "            S[ty * 64 + tx * 4 + k] = A[k]\n"                                  \
           "        B[bx * 64 + ty * 16 + tx] = S[ty * 64 + tx * 4]\n"
    Fix *x = *state;
    ml_Lower lo;

    assert_int_equal(barriers(x,
                              KERNEL
                              "        for k in range(tx + 1):\n"
                              "            if k == 0:\n"
                              "                B[bx * 64 + ty * 16 + tx] = 0\n"
                              "            B[bx * 64 + ty * 16 + tx] = B[bx * 64 + ty * 16 "
                              "+ tx] + A[k]\n",
                              &lo),
                     0);
    assert_int_equal(barriers(x, OWN_PARTS("1"), &lo), 0);
    expect_refused(x, OWN_PARTS("2"), "sync_threads",
                   "not all threads of the block reach alike");
    expect_refused(x,
                   KERNEL "        for k in range(tx + 1):\n"
                          "            S[ty * 16 + k] = A[tx]\n"
                          "            B[bx * 64 + ty * 16 + tx] = S[ty * 16 + tx - k]\n",
                   "sync_threads", "not all threads of the block reach alike");
}

/* A block that reduces over threads would be a race as it stands. */
static void a_reduction_across_threads_is_refused_for_now(void **state)
{
    expect_refused(
        *state,
        HEAD "A: T.Buffer((4, 32), \"float32\"), B: T.Buffer((4,), \"float32\")):\n"
             "    for i in T.thread_binding(4, thread=\"blockIdx.x\"):\n"
             "        for k in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
             "            with T.block(\"B\"):\n"
             "                vi, vk = T.axis.remap(\"SR\", [i, k])\n"
             "                with T.init():\n"
             "                    B[vi] = T.float32(0)\n"
             "                B[vi] = B[vi] + A[vi, vk]\n",
        "check_launch", "block B reduces over loop k, which is bound to threadIdx.x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(loops_of_one_thread_become_one),
        TEST(what_threads_have_in_common_is_written_by_the_first),
        TEST(barriers_lie_between_what_one_writes_and_another_one_reads),
        TEST(what_ldmatrix_gets_is_read),
        TEST(writes_after_reads_and_after_writes_wait_too),
        TEST(the_next_iteration_waits_unless_it_uses_another_part),
        TEST(a_barrier_that_parts_nothing_is_left_out),
        TEST(a_barrier_that_some_threads_do_not_reach_is_refused),
        TEST(threads_with_loops_of_their_own_length_are_told_apart),
        TEST(a_reduction_across_threads_is_refused_for_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
