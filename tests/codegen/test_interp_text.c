/*
 * test_interp_text - whole programs from text: operators against their formulas, scheduled
 * forms against the unscheduled ones, lowered forms.
 */
#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/script/script.h"

#include "build.h"

#include <math.h>

static const ml_Func *parse(Fix *x, const char *text)
{
    ml_Parsed p = ml_parse(x->cx, ml_str(text), NULL);

    for (size_t k = 0; k < p.n_diags; k++)
        if (!p.diags[k].warning)
            print_message("%s %s (line %u)\n", p.diags[k].code, p.diags[k].message,
                          p.diags[k].span.line);
    assert_non_null(p.mod);
    assert_true(p.mod->n >= 1);
    return p.mod->funcs[0];
}

static void expect_equal(Fix *x, const char *a, const char *b)
{
    const ml_Func *f = parse(x, a), *g = parse(x, b);
    ml_CheckResult r;

    if (!ml_check(x->cx, NULL, f, NULL, g, NULL, &r))
        fail_msg("%s: %s", ml_error_code(ml_error(x->cx)->code),
                 ml_error(x->cx)->n_notes ? ml_error(x->cx)->notes[0] : "");
    if (!r.ok)
        fail_msg("%lld outside, first %s: %g and %g", (long long)r.outside, r.first_at,
                 r.first_ref, r.first_got);
}

static void expect_refused(Fix *x, const char *a, const char *b, ml_ErrorCode code)
{
    const ml_Func *f = parse(x, a), *g = parse(x, b);
    ml_CheckResult r;
    bool ok = ml_check(x->cx, NULL, f, NULL, g, NULL, &r);

    if (ok || ml_error(x->cx)->code != code)
        fail_msg("expected %s, got %s", ml_error_code(code),
                 ok ? "no error" : ml_error_code(ml_error(x->cx)->code));
    ml_error_clear(x->cx);
}

#define HEAD "@T.prim_func\ndef main("

static const char matmul[] =
    HEAD "A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\"), "
         "C: T.Buffer((16, 16), \"float32\")):\n"
         "    for i, j, k in T.grid(16, 16, 16):\n"
         "        with T.block(\"C\"):\n"
         "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
         "            with T.init():\n"
         "                C[vi, vj] = T.float32(0)\n"
         "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

static void a_softmax_adds_up_to_one(void **state)
{
    Fix *x = *state;
    const ml_Func *f = parse(
        x, HEAD "A: T.Buffer((4, 8), \"float32\"), D: T.Buffer((4, 8), \"float32\")):\n"
                "    M = T.alloc_buffer((4,))\n"
                "    E = T.alloc_buffer((4, 8))\n"
                "    S = T.alloc_buffer((4,))\n"
                "    for i, j in T.grid(4, 8):\n"
                "        with T.block(\"M\"):\n"
                "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
                "            with T.init():\n"
                "                M[vi] = T.min_value(\"float32\")\n"
                "            M[vi] = T.max(M[vi], A[vi, vj])\n"
                "    for i, j in T.grid(4, 8):\n"
                "        with T.block(\"E\"):\n"
                "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                "            E[vi, vj] = T.exp(A[vi, vj] - M[vi])\n"
                "    for i, j in T.grid(4, 8):\n"
                "        with T.block(\"S\"):\n"
                "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
                "            with T.init():\n"
                "                S[vi] = T.float32(0)\n"
                "            S[vi] = S[vi] + E[vi, vj]\n"
                "    for i, j in T.grid(4, 8):\n"
                "        with T.block(\"D\"):\n"
                "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
                "            D[vi, vj] = E[vi, vj] / S[vi]\n");

    expect_code(x, f, ML_E_OK);
    for (int64_t i = 0; i < 4; i++) {
        double sum = 0;
        for (int64_t j = 0; j < 8; j++)
            sum += at(x, 1, i * 8 + j);
        assert_true(fabs(sum - 1.0) < 1e-6);
        assert_true(fabs(at(x, 1, i * 8 + 7) - 0.632120558828558 / 0.99966453737) < 1e-6);
    }
}

static void a_tiled_and_parallel_matmul_is_a_matmul(void **state)
{
    Fix *x = *state;

    expect_equal(x, matmul,
                 HEAD
                 "A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\"), "
                 "C: T.Buffer((16, 16), \"float32\")):\n"
                 "    for io in T.parallel(4):\n"
                 "        for jo, ko, ii, ki in T.grid(4, 4, 4, 4):\n"
                 "            for ji in T.vectorized(4):\n"
                 "                with T.block(\"C\"):\n"
                 "                    vi = T.axis.spatial(16, io * 4 + ii)\n"
                 "                    vj = T.axis.spatial(16, jo * 4 + ji)\n"
                 "                    vk = T.axis.reduce(16, ko * 4 + ki)\n"
                 "                    with T.init():\n"
                 "                        C[vi, vj] = T.float32(0)\n"
                 "                    C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n");
}

static void a_parallel_reduction_loop_is_a_race(void **state)
{
    Fix *x = *state;

    expect_refused(
        x, matmul,
        HEAD "A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\"), "
             "C: T.Buffer((16, 16), \"float32\")):\n"
             "    for k in T.parallel(16):\n"
             "        for i, j in T.grid(16, 16):\n"
             "            with T.block(\"C\"):\n"
             "                vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
             "                with T.init():\n"
             "                    C[vi, vj] = T.float32(0)\n"
             "                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n",
        ML_E_RACE);
}

/* Shared tiles filled by all threads inside the thread loops, as a GPU schedule has it. */
static const char gpu[] =
    HEAD "A: T.Buffer((16, 16), \"float32\"), B: T.Buffer((16, 16), \"float32\"), "
         "C: T.Buffer((16, 16), \"float32\")):\n"
         "    As = T.alloc_buffer((16, 16), scope=\"shared\")\n"
         "    Cl = T.alloc_buffer((16, 16), scope=\"local\")\n"
         "    for by in T.thread_binding(4, thread=\"blockIdx.y\"):\n"
         "        for ty in T.thread_binding(4, thread=\"threadIdx.y\"):\n"
         "            for tx in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
         "                for ko in range(4):\n"
         "                    for f in T.thread_binding(4, thread=\"threadIdx.y\"):\n"
         "                        for g in T.thread_binding(16, thread=\"threadIdx.x\"):\n"
         "                            with T.block(\"As\"):\n"
         "                                v0 = T.axis.spatial(16, by * 4 + f)\n"
         "                                v1 = T.axis.spatial(16, ko * 4 + g)\n"
         "                                T.where(g < 4)\n"
         "                                As[v0, v1] = A[v0, v1]\n"
         "                    for ki in range(4):\n"
         "                        with T.block(\"C\"):\n"
         "                            vi = T.axis.spatial(16, by * 4 + ty)\n"
         "                            vj = T.axis.spatial(16, tx)\n"
         "                            vk = T.axis.reduce(16, ko * 4 + ki)\n"
         "                            with T.init():\n"
         "                                Cl[vi, vj] = T.float32(0)\n"
         "                            Cl[vi, vj] = Cl[vi, vj] + As[vi, vk] * B[vk, vj]\n"
         "                with T.block(\"Cg\"):\n"
         "                    vi = T.axis.spatial(16, by * 4 + ty)\n"
         "                    vj = T.axis.spatial(16, tx)\n"
         "                    C[vi, vj] = Cl[vi, vj]\n";

static void a_thread_bound_matmul_with_shared_tiles_runs(void **state)
{
    expect_equal(*state, matmul, gpu);
}

/* Puts `to`, blanks added, in the place of `from`. */
static void replace(char *text, const char *from, const char *to)
{
    char *p = strstr(text, from);

    assert_non_null(p);
    assert_true(strlen(to) <= strlen(from));
    memset(p, ' ', strlen(from));
    memcpy(p, to, strlen(to));
}

static void a_thread_that_reads_its_neighbour_is_refused(void **state)
{
    Fix *x = *state;
    char *text = ml_strdup(x->cx, ml_str(gpu));

    /* each thread fetches one row only: f takes ty's place */
    replace(text, "for f in T.thread_binding(4, thread=\"threadIdx.y\"):",
            "for f in range(ty, ty + 1):");
    expect_equal(x, matmul, text); /* its own row: fine */
    replace(text, "v0 = T.axis.spatial(16, by * 4 + f)",
            "v0 = T.axis.spatial(16, by*4 + 3-f)");
    expect_refused(x, matmul, text, ML_E_THREADS_COOPERATE);
}

static void padding_guards_its_loads(void **state)
{
    Fix *x = *state;
    static const char a[] =
        HEAD "A: T.Buffer((8,), \"float32\"), W: T.Buffer((3,), \"float32\"), Y: "
             "T.Buffer((8,), \"float32\")):\n"
             "    P = T.alloc_buffer((10,))\n"
             "    for i in range(10):\n"
             "        with T.block(\"P\"):\n"
             "            v = T.axis.spatial(10, i)\n"
             "            P[v] = T.if_then_else(1 <= v and v < 9, A[v - 1], T.float32(0))\n"
             "    for i, k in T.grid(8, 3):\n"
             "        with T.block(\"Y\"):\n"
             "            v, r = T.axis.remap(\"SR\", [i, k])\n"
             "            with T.init():\n"
             "                Y[v] = T.float32(0)\n"
             "            Y[v] = Y[v] + P[v + r] * W[r]\n";
    static const char b[] = HEAD "A: T.Buffer((8,), \"float32\"), W: T.Buffer((3,), "
                                 "\"float32\"), Y: T.Buffer((8,), \"float32\")):\n"
                                 "    for i, k in T.grid(8, 3):\n"
                                 "        with T.block(\"Y\"):\n"
                                 "            v, r = T.axis.remap(\"SR\", [i, k])\n"
                                 "            with T.init():\n"
                                 "                Y[v] = T.float32(0)\n"
                                 "            Y[v] = Y[v] + T.if_then_else(1 <= v + r and "
                                 "v + r < 9, A[v + r - 1], T.float32(0)) * W[r]\n";

    expect_equal(x, a, b);
}

static void a_tile_matched_with_symbolic_strides_is_written_through(void **state)
{
    Fix *x = *state;
    static const char a[] =
        HEAD "A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8, 8), \"float32\")):\n"
             "    for i, j in T.grid(8, 8):\n"
             "        with T.block(\"B\"):\n"
             "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
             "            B[vi, vj] = A[vi, vj] * T.float32(2)\n";
    static const char b[] =
        HEAD "A: T.Buffer((8, 8), \"float32\"), B: T.Buffer((8, 8), \"float32\")):\n"
             "    for io, jo in T.grid(4, 2):\n"
             "        with T.block(\"B_o\"):\n"
             "            vi, vj = T.axis.remap(\"SS\", [io, jo])\n"
             "            T.reads(A[vi * 2:vi * 2 + 2, vj * 4:vj * 4 + 4])\n"
             "            T.writes(B[vi * 2:vi * 2 + 2, vj * 4:vj * 4 + 4])\n"
             "            P = T.match_buffer(A[vi * 2:vi * 2 + 2, vj * 4:vj * 4 + 4], (2, "
             "4), strides=(\"s0\", \"s1\"), offset_factor=1)\n"
             "            Q = T.match_buffer(B[vi * 2:vi * 2 + 2, vj * 4:vj * 4 + 4], (2, "
             "4), strides=(\"s2\", \"s3\"), offset_factor=1)\n"
             "            for i, j in T.grid(2, 4):\n"
             "                with T.block(\"B\"):\n"
             "                    wi, wj = T.axis.remap(\"SS\", [i, j])\n"
             "                    Q[wi, wj] = P[wi, wj] * T.float32(2)\n";

    expect_equal(x, a, b);
}

/* Lanes past the end of a row are those of the next rows; past the buffer they are
 * outside. */
static void lanes_of_a_vector_run_on_from_row_to_row(void **state)
{
    static const char a[] =
        HEAD "A: T.Buffer((2, 3, 4), \"int32\"), B: T.Buffer((2, 3, 4), \"int32\")):\n"
             "    for i, j, k in T.grid(2, 3, 4):\n"
             "        with T.block(\"B\"):\n"
             "            u, v, w = T.axis.remap(\"SSS\", [i, j, k])\n"
             "            B[u, v, w] = A[u, v, w] * 3\n";
    static const struct {
        const char *body;
        ml_ErrorCode code;
    } cases[] = {
        {"    B[0, 0, 0:24] = A[0, 0, 0:24] * T.Broadcast(3, 24)\n", ML_E_OK},
        {"    for i in range(2):\n"
         "        B[i, 0, 0:12] = A[i, 0, 0:12] * T.Broadcast(3, 12)\n",
         ML_E_OK},
        {"    B[0, 0, 0:3] = A[0, 0, 0:3] * T.Broadcast(3, 3)\n"
         "    B[0, 0, T.Ramp(3, 1, 4)] = A[0, 0, T.Ramp(3, 1, 4)] * T.Broadcast(3, 4)\n"
         "    B[0, 1, T.Ramp(3, 1, 17)] = A[0, 1, T.Ramp(3, 1, 17)] * T.Broadcast(3, 17)\n",
         ML_E_OK},
        {"    for i in range(2):\n"
         "        for k in range(2):\n"
         "            B[i, 0, T.Ramp(k * 2, 1, 10)] = A[i, 0, T.Ramp(k * 2, 1, 10)] * "
         "T.Broadcast(3, 10)\n",
         ML_E_OK},
        {"    B[0, 0, T.Ramp(1, 1, 24)] = A[0, 0, T.Ramp(1, 1, 24)]\n", ML_E_OUT_OF_BOUNDS},
        {"    B[1, 2, T.Ramp(1, 1, 4)] = A[1, 2, T.Ramp(1, 1, 4)]\n", ML_E_OUT_OF_BOUNDS},
        {"    B[0, 3, T.Ramp(0, 1, 5)] = A[0, 3, T.Ramp(0, 1, 5)]\n", ML_E_OUT_OF_BOUNDS},
        {"    B[0, 0, T.Ramp(0, 2, 3)] = A[0, 0, T.Ramp(0, 2, 3)]\n", ML_E_OUT_OF_BOUNDS},
    };
    Fix *x = *state;

    for (size_t k = 0; k < ML_COUNT(cases); k++) {
        ml_Text t = {0};

        ml_text_fmt(&t, "%s%s",
                    HEAD "A: T.Buffer((2, 3, 4), \"int32\"), B: T.Buffer((2, 3, 4), "
                         "\"int32\")):\n",
                    cases[k].body);
        if (cases[k].code == ML_E_OK)
            expect_equal(x, a, ml_text_z(&t));
        else
            expect_refused(x, a, ml_text_z(&t), cases[k].code);
        ml_text_free(&t);
    }
}

static void a_flat_program_with_threads_and_aliases_runs(void **state)
{
    Fix *x = *state;
    static const char a[] =
        HEAD "A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):\n"
             "    for i in range(32):\n"
             "        with T.block(\"B\"):\n"
             "            v = T.axis.spatial(32, i)\n"
             "            B[v] = A[v] + T.float32(1)\n";
    static const char b[] =
        HEAD "A: T.Buffer((32,), \"float32\"), B: T.Buffer((32,), \"float32\")):\n"
             "    bx = T.launch_thread(\"blockIdx.x\", 4)\n"
             "    tx = T.launch_thread(\"threadIdx.x\", 2)\n"
             "    for j in range(4):\n"
             "        k: T.int32 = bx * 8 + tx * 4 + j\n"
             "        if k < 32:\n"
             "            B[k] = A[k] + T.float32(1)\n";

    expect_equal(x, a, b);
}

#define SUMS HEAD "X: T.Buffer((8, 32), \"float32\"), S: T.Buffer((8,), \"float32\")):\n"

static const char row_sums[] = SUMS "    for i, r in T.grid(8, 32):\n"
                                    "        with T.block(\"S\"):\n"
                                    "            vi, vr = T.axis.remap(\"SR\", [i, r])\n"
                                    "            with T.init():\n"
                                    "                S[vi] = T.float32(0)\n"
                                    "            S[vi] = S[vi] + X[vi, vr]\n";

static void row_sums_may_run_across_threads_and_virtual_threads(void **state)
{
    static const char across[] =
        SUMS "    for bx in T.thread_binding(4, thread=\"blockIdx.x\"):\n"
             "        for vx in T.thread_binding(2, thread=\"vthread\"):\n"
             "            for r in range(4):\n"
             "                for tx in T.thread_binding(8, thread=\"threadIdx.x\"):\n"
             "                    with T.block(\"S\"):\n"
             "                        vi = T.axis.spatial(8, bx * 2 + vx)\n"
             "                        vr = T.axis.reduce(32, r * 8 + tx)\n"
             "                        with T.init():\n"
             "                            S[vi] = T.float32(0)\n"
             "                        S[vi] = S[vi] + X[vi, vr]\n";
    Fix *x = *state;
    char *text = ml_strdup(x->cx, ml_str(across));

    expect_equal(x, row_sums, across);
    /* two virtual threads on one row */
    replace(text, "bx * 2 + vx", "bx * 2");
    expect_refused(x, row_sums, text, ML_E_RACE);
}

static void a_factored_reduction_is_the_reduction(void **state)
{
    expect_equal(*state, row_sums,
                 SUMS "    F = T.alloc_buffer((4, 8))\n"
                      "    for ro in T.parallel(4):\n"
                      "        for i, ri in T.grid(8, 8):\n"
                      "            with T.block(\"F\"):\n"
                      "                vo, vi, vr = T.axis.remap(\"SSR\", [ro, i, ri])\n"
                      "                with T.init():\n"
                      "                    F[vo, vi] = T.float32(0)\n"
                      "                F[vo, vi] = F[vo, vi] + X[vi, vo * 8 + vr]\n"
                      "    for i, ro in T.grid(8, 4):\n"
                      "        with T.block(\"S\"):\n"
                      "            vo, vi = T.axis.remap(\"RS\", [ro, i])\n"
                      "            with T.init():\n"
                      "                S[vi] = T.float32(0)\n"
                      "            S[vi] = S[vi] + F[vo, vi]\n");
}

static void a_halo_computed_again_by_each_parallel_iteration_is_no_race(void **state)
{
    static const char plain[] =
        HEAD "A: T.Buffer((34,), \"float32\"), Y: T.Buffer((32,), \"float32\")):\n"
             "    P = T.alloc_buffer((34,))\n"
             "    for i in range(34):\n"
             "        with T.block(\"P\"):\n"
             "            v = T.axis.spatial(34, i)\n"
             "            P[v] = A[v] * T.float32(2)\n"
             "    for i in range(32):\n"
             "        with T.block(\"Y\"):\n"
             "            v = T.axis.spatial(32, i)\n"
             "            Y[v] = P[v] + P[v + 2]\n";
    static const char moved[] =
        HEAD "A: T.Buffer((34,), \"float32\"), Y: T.Buffer((32,), \"float32\")):\n"
             "    P = T.alloc_buffer((34,))\n"
             "    for io in T.parallel(4):\n"
             "        for ax in range(10):\n"
             "            with T.block(\"P\"):\n"
             "                v = T.axis.spatial(34, io * 8 + ax)\n"
             "                P[v] = A[v] * T.float32(2)\n"
             "        for ii in range(8):\n"
             "            with T.block(\"Y\"):\n"
             "                v = T.axis.spatial(32, io * 8 + ii)\n"
             "                Y[v] = P[v] + P[v + 2]\n";
    Fix *x = *state;
    char *text = ml_strdup(x->cx, ml_str(moved));

    expect_equal(x, plain, moved);
    replace(text, "for ax in range(10)", "for ax in range(9)"); /* one element short */
    expect_refused(x, plain, text, ML_E_UNDEFINED_READ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_softmax_adds_up_to_one),
        TEST(a_tiled_and_parallel_matmul_is_a_matmul),
        TEST(a_parallel_reduction_loop_is_a_race),
        TEST(a_thread_bound_matmul_with_shared_tiles_runs),
        TEST(a_thread_that_reads_its_neighbour_is_refused),
        TEST(padding_guards_its_loads),
        TEST(a_tile_matched_with_symbolic_strides_is_written_through),
        TEST(row_sums_may_run_across_threads_and_virtual_threads),
        TEST(a_factored_reduction_is_the_reduction),
        TEST(a_halo_computed_again_by_each_parallel_iteration_is_no_race),
        TEST(lanes_of_a_vector_run_on_from_row_to_row),
        TEST(a_flat_program_with_threads_and_aliases_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
