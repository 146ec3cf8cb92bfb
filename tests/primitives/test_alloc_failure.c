/*
 * test_alloc_failure - memory that runs out at any place of reading, printing, scheduling,
 * checking: the call says out-of-memory, everything is as before, and the same call goes
 * well once there is memory again.
 */
#include "fixture.h"

#include "moonloop/codegen/measure/check.h"
#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/cases.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>
#include <stdlib.h>

static const char program[] =
    "@T.prim_func\n"
    "def main(A: T.Buffer((16, 16), \"float32\"), E: T.Buffer((16,), \"float32\"), "
    "F: T.Buffer((16,), \"float32\"), G: T.Buffer((20,), \"float32\"), W: T.Buffer((16,), "
    "\"float32\"),\n"
    "         P: T.Buffer((4,), \"uint8\"), Q: T.Buffer((16, 4), \"int8\"),\n"
    "         R: T.Buffer((16,), \"int32\"), S: T.Buffer((16,), \"float32\"),\n"
    "         K: T.Buffer((16,), \"float32\"), L: T.Buffer((16,), \"int32\"), n: "
    "T.int32):\n"
    "    D = T.alloc_buffer((16,), \"float32\")\n"
    "    B = T.alloc_buffer((16, 16), \"float32\")\n"
    "    C = T.alloc_buffer((16,), \"float32\")\n"
    "    V = T.alloc_buffer((18,), \"float32\")\n"
    "    M = T.alloc_buffer((16, 4), \"int8\")\n"
    "    for i, j in T.grid(16, 16):\n"
    "        with T.block(\"B\"):\n"
    "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
    "            B[vi, vj] = A[vi, vj] * T.float32(2)\n"
    "    for i, j in T.grid(16, 16):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
    "            with T.init():\n"
    "                C[vi] = T.float32(0)\n"
    "            C[vi] = C[vi] + B[vi, vj]\n"
    "    for i in range(16):\n"
    "        with T.block(\"D\"):\n"
    "            vi = T.axis.spatial(16, i)\n"
    "            D[vi] = C[vi] + T.float32(1)\n"
    "    for i in range(16):\n"
    "        with T.block(\"E\"):\n"
    "            vi = T.axis.spatial(16, i)\n"
    "            E[vi] = D[vi] * T.float32(3)\n"
    "    for i in range(16):\n"
    "        with T.block(\"F\"):\n"
    "            vi = T.axis.spatial(16, i)\n"
    "            F[vi] = F[vi * 2 // 2] + T.float32(1)\n"
    "    for i in range(20):\n"
    "        with T.block(\"G\"):\n"
    "            vi = T.axis.spatial(20, i)\n"
    "            G[vi] = T.if_then_else(vi < 16, A[0, vi], T.float32(0))\n"
    "    for t in range(16):\n"
    "        for u in range(3):\n"
    "            with T.block(\"V\"):\n"
    "                vi = T.axis.spatial(18, t + u)\n"
    "                V[vi] = G[vi] * T.float32(2)\n"
    "        with T.block(\"W\"):\n"
    "            vi = T.axis.spatial(16, t)\n"
    "            W[vi] = V[vi] + V[vi + 2]\n"
    "    for z in range(16):\n"
    "        with T.block(\"S_init\"):\n"
    "            vi = T.axis.spatial(16, z)\n"
    "            S[vi] = T.float32(1)\n"
    "    for z, w in T.grid(16, 16):\n"
    "        with T.block(\"S\"):\n"
    "            vi, vj = T.axis.remap(\"SR\", [z, w])\n"
    "            S[vi] = S[vi] * A[vi, vj]\n"
    "    for x, y in T.grid(16, 4):\n"
    "        with T.block(\"R\"):\n"
    "            vi, vk = T.axis.remap(\"SR\", [x, y])\n"
    "            T.reads(R[vi], P[vk], Q[vi, vk])\n"
    "            T.writes(R[vi])\n"
    "            R[vi] = R[vi] + T.Cast(\"int32\", P[vk]) * T.Cast(\"int32\", Q[vi, vk])\n"
    "    for a, b in T.grid(16, 4):\n"
    "        with T.block(\"K\"):\n"
    "            vi, vk = T.axis.remap(\"SR\", [a, b])\n"
    "            K[vi] = K[vi] + T.Select((vi + vk) % 2 == 0, A[0, (vi + vk) // 2], "
    "T.float32(0)) * T.float32(2)\n"
    "    for a, b in T.grid(16, 4):\n"
    "        with T.block(\"M\"):\n"
    "            vi, vk = T.axis.remap(\"SS\", [a, b])\n"
    "            M[vi, vk] = Q[vi, vk]\n"
    "    for a, b in T.grid(16, 4):\n"
    "        with T.block(\"L\"):\n"
    "            vi, vk = T.axis.remap(\"SR\", [a, b])\n"
    "            with T.init():\n"
    "                L[vi] = 0\n"
    "            L[vi] = L[vi] + T.Cast(\"int32\", M[vi, vk]) * T.Cast(\"int32\", P[vk])\n";

/* One call of each primitive that goes well on the program. */
static const char *const calls[] = {
    "get_block(\"C\")",
    "get_loops(\"C\")",
    "get_child_blocks(\"root\")",
    "get_producers(\"C\")",
    "get_consumers(\"C\")",
    "get_output_blocks(\"root\")",
    "split(\"i\", {auto, 5})",
    "loop_partition(\"i\", {5, auto})",
    "merge(\"B@1\", \"C@1\")",
    "reorder_block_iter_var(\"C\", {1, 0})",
    "fuse(\"i\", \"j\")",
    "reorder(\"j\", \"i\")",
    "add_unit_loop(\"C\")",
    "parallel(\"i\")",
    "vectorize(\"j\")",
    "unroll(\"i\")",
    "bind(\"i\", \"threadIdx.x\")",
    "compute_at(\"B\", \"C@1\")",
    "reverse_compute_at(\"D\", \"C@1\")",
    "compute_inline(\"B\")",
    "reverse_compute_inline(\"E\")",
    "cache_read(\"C\", 0, \"shared\")",
    "cache_write(\"C\", 0, \"local\")",
    "reindex(\"C\", {\"read\", 0})",
    "reindex_cache_read(\"C\", 0, \"shared\", \"lambda i, j: (j, i)\")",
    "reindex_cache_write(\"C\", 0, \"local\", \"lambda i, j: (i,)\")",
    "cache_inplace(\"F\", 0, \"local\")",
    "cache_index(\"F\", \"local\")",
    "annotate_buffer_access(\"F\", 0, \"read\", \"lambda i: (0, 16)\")",
    "unsafe_hide_buffer_access(\"F\", \"read\", {0})",
    "fuse_reduction_epilogue(\"C\", \"D\")",
    "read_at(\"C@1\", \"C\", 0, \"local\")",
    "write_at(\"i\", \"B\", 0, \"local\")",
    "decompose_reduction(\"C\", \"C@1\")",
    "rfactor(\"C@2\", 0)",
    "blockize(\"C@2\")",
    "merge_reduction(\"S_init\", \"S\")",
    "skip_zeros(\"K\")",
    "skip_padding(\"K\", \"K@1\")",
    "lift_factor(\"L\", 0)",
    "tensorize(\"x\", \"dot_16x4_vnni\")",
    "specialize(\"n=4\")",
    "annotate(\"C\", \"key\", {1, \"two\", {3, 4}})",
    "sample_categorical({1, 2, 3}, {0.25, 0.25, 0.5})",
    "sample_perfect_tile(\"i\", 3)",
    "sample_partitioned_tile(\"i\", 3, 1, 4)",
    "sample_compute_location(\"B\")",
    "enter_postproc()",
    "transform_layout(\"B\", \"B\", \"lambda i, j: (i // 3, j, i % 3)\", 0.0)",
    "transform_block_layout(\"B\", \"lambda i, j: (j, i // 4, i % 4)\")",
    "pad_einsum(\"B\", {1, 3})",
    "decompose_padding(\"G\", \"G@1\")",
    "set_axis_separator(\"B\", \"B\", {1})",
    "unsafe_set_dtype(\"B\", 0, \"float64\")",
    "rolling_buffer(\"V\", 0)",
    "set_scope(\"B\", 0, \"shared\")",
    "storage_align(\"B\", 0, 0, 32, 8)",
};

/* ---- one call with little memory */

/* With `limit` bytes more than now; true: there was enough. */
static bool under_limit(Fixture *fx, const char *call, size_t room)
{
    ml_Ctx *cx = ml_schedule_ctx(fx->s);
    ml_State st = ml_schedule_state(fx->s);
    ml_Program p = ml_schedule_program(fx->s);
    int n = ml_schedule_n_versions(fx->s);
    uint64_t hash = ml_schedule_hash(fx->s);

    ml_ctx_set_limit(cx, ml_ctx_bytes(cx) + room);
    bool ok = fx_try(fx, call);

    ml_ctx_set_limit(fx->s->space->cx, 0);
    if (ok)
        return true;
    if (ml_schedule_error(fx->s)->code != ML_E_OUT_OF_MEMORY)
        fail_msg("%s with %zu bytes: %s", call, room, fx_message(fx));
    assert_true(strlen(fx_message(fx)) > 0);
    ml_State now = ml_schedule_state(fx->s);

    assert_int_equal(st.version, now.version);
    assert_ptr_equal(st.trace, now.trace);
    assert_int_equal(st.random, now.random);
    assert_ptr_equal(p.mod, ml_schedule_program(fx->s).mod);
    assert_int_equal(n, ml_schedule_n_versions(fx->s));
    assert_true(hash == ml_schedule_hash(fx->s));
    return false;
}

static void every_primitive_survives_every_limit(void **state)
{
    int refused = 0;

    for (size_t k = 0; k < ML_COUNT(calls); k++) {
        uint64_t want = 0;

        for (size_t room = 16;; room += 16 + room / 6) {
            Fixture fx;

            fx_text(&fx, program);
            bool enough = under_limit(&fx, calls[k], room);

            if (!enough) { /* the same call, with memory */
                refused++;
                fx_apply(&fx, calls[k]);
            }
            uint64_t hash = ml_schedule_hash(fx.s);

            assert_true(want == 0 || want == hash);
            want = hash;
            fx_close(&fx);
            if (enough)
                break;
        }
    }
    print_message("%d calls were refused\n", refused);
    assert_true(refused > 300);
}

static void every_primitive_is_tried(void **state)
{
    for (size_t k = 0; k < ml_n_primitives; k++) {
        size_t n = strlen(ml_primitives[k]->name);
        bool found =
            ml_streq(ml_primitives[k]->name, "unannotate"); /* needs another first */

        for (size_t m = 0; m < ML_COUNT(calls); m++)
            found |=
                strncmp(calls[m], ml_primitives[k]->name, n) == 0 && calls[m][n] == '(';
        if (!found)
            fail_msg("%s is missing", ml_primitives[k]->name);
    }
}

/* The n-th chunk that the arena takes from the heap is refused. */
static void a_sequence_survives_the_failure_of_any_chunk(void **state)
{
    static const char *const steps[] = {"split(\"i\", {auto, 5})",
                                        "compute_inline(\"B\")",
                                        "reverse_compute_at(\"D\", \"C@1\")",
                                        "annotate(\"C\", \"k\", 1)",
                                        "split(\"C@2\", {4, auto})",
                                        "unroll(\"C@2\")"};
    int failures = 0;

    for (uint64_t nth = 1; nth <= 6; nth++) {
        Fixture fx;

        fx_text(&fx, program);
        for (int round = 0; round < 150; round++) {
            ml_ctx_fail_alloc(ml_schedule_ctx(fx.s), nth);
            for (size_t k = 0; k < ML_COUNT(steps); k++)
                if (!fx_try(&fx, steps[k])) {
                    assert_int_equal(ML_E_OUT_OF_MEMORY, ml_schedule_error(fx.s)->code);
                    failures++;
                    fx_apply(&fx, steps[k]);
                }
            assert_true(ml_schedule_goto(fx.s, 0));
        }
        fx_close(&fx);
    }
    print_message("%d failures\n", failures);
    assert_true(failures >= 6);
}

/* ---- traces */

static void reading_a_saved_schedule_survives_every_limit(void **state)
{
    Fixture fx;
    ml_Text saved = {0};
    int refused = 0;
    bool enough = false;

    fx_text(&fx, program);
    fx_apply(&fx, "split(\"i\", {auto, 4}) sample_perfect_tile(\"j\", 2) "
                  "compute_inline(\"B\") annotate(\"C\", \"key\", {1, \"x\"})");
    ml_saved_write(fx.s, &saved);
    for (size_t limit = 64; !enough; limit += 16 + limit / 8) {
        ml_Ctx *cx = ml_ctx_new(limit);
        ml_Saved out;
        bool ok = ml_saved_read(cx, (ml_Str){ml_text_z(&saved), saved.n}, &out);

        enough = ml_ok(cx);
        if (!enough) {
            refused++;
            assert_int_equal(ML_E_OUT_OF_MEMORY, ml_error(cx)->code);
            assert_false(ok);
            ml_ctx_set_limit(cx, 0);
            ml_error_clear(cx);
            ok = ml_saved_read(cx, (ml_Str){ml_text_z(&saved), saved.n}, &out);
        }
        if (!ok)
            fail_msg("with %zu bytes: %s", limit, ml_error_code(ml_error(cx)->code));
        assert_true(out.trace.n > 3);
        ml_ctx_unref(cx);
    }
    assert_true(refused > 10);
    ml_text_free(&saved);
    fx_close(&fx);
}

static void replaying_a_trace_survives_every_limit(void **state)
{
    Fixture fx;
    ml_Ctx *tmp = ml_ctx_new(0);
    bool enough = false;
    int refused = 0;

    fx_text(&fx, program);
    fx_apply(&fx, "split(\"i\", {auto, 4}) compute_inline(\"B\") unroll(\"j_1\")");
    ml_Trace t = ml_schedule_trace(fx.s, tmp);
    uint64_t want = ml_schedule_hash(fx.s);

    for (size_t room = 64; !enough; room += 16 + room / 8) {
        Fixture to;
        size_t done = 0;

        fx_text(&to, program);
        ml_ctx_set_limit(ml_schedule_ctx(to.s), ml_ctx_bytes(ml_schedule_ctx(to.s)) + room);
        enough = ml_trace_apply(to.s, &t, false, NULL, NULL, &done);
        ml_ctx_set_limit(to.s->space->cx, 0);
        if (!enough) {
            refused++;
            assert_int_equal(ML_E_OUT_OF_MEMORY, ml_schedule_error(to.s)->code);
            assert_true(done < t.n);
            assert_true(ml_schedule_goto(to.s, 0));
            assert_true(ml_trace_apply(to.s, &t, false, NULL, NULL, &done));
        }
        assert_true(want == ml_schedule_hash(to.s));
        fx_close(&to);
    }
    assert_true(refused > 10);
    ml_ctx_unref(tmp);
    fx_close(&fx);
}

/* ---- checks and failures */

static void a_check_survives_every_limit(void **state)
{
    Fixture fx;
    bool enough = false;
    int refused = 0;

    fx_text(&fx, program);
    fx_apply(&fx, "split(\"i\", {auto, 5}) compute_at(\"B\", \"C@1\")");
    const ml_Module *ref = ml_version_program(fx.s, 0).mod, *got;

    got = ml_schedule_program(fx.s).mod;
    for (size_t limit = 64; !enough; limit += 16 + limit / 8) {
        ml_Ctx *cx = ml_ctx_fork(ml_schedule_ctx(fx.s));
        ml_CheckOpts o = {.inputs = ML_FILL_RANDOM};
        ml_CheckResult r = {0};

        ml_ctx_set_limit(cx, limit);
        bool ok = ml_check(cx, ref, ref->funcs[0], got, got->funcs[0], &o, &r);

        enough = ok;
        assert_true(!ok || ml_ok(cx));
        if (!enough) {
            refused++;
            assert_int_equal(ML_E_OUT_OF_MEMORY, ml_error(cx)->code);
            ml_ctx_set_limit(cx, 0);
            ml_error_clear(cx);
            ok = ml_check(cx, ref, ref->funcs[0], got, got->funcs[0], &o, &r);
        }
        if (!ok || !r.ok)
            fail_msg("with %zu bytes: %s %s", limit,
                     ok ? r.problem : ml_error_code(ml_error(cx)->code),
                     enough ? "" : "again");
        ml_ctx_unref(cx);
    }
    assert_true(refused > 10);
    fx_close(&fx);
}

static void a_failure_under_a_limit_is_still_explained(void **state)
{
    for (size_t room = 16; room < 40000; room += 16 + room / 4) {
        Fixture fx;
        ml_Text t = {0};

        fx_text(&fx, program);
        ml_ctx_set_limit(ml_schedule_ctx(fx.s), ml_ctx_bytes(ml_schedule_ctx(fx.s)) + room);
        assert_false(fx_try(&fx, "split(\"i\", {3, 5})"));
        ml_Failure *f = ml_failure_take(fx.s);

        assert_true(ml_failure_code(f) == ML_E_OUT_OF_MEMORY ||
                    ml_failure_code(f) == ML_E_FACTORS_TOO_SMALL);
        ml_failure_render(f, &t, NULL);
        assert_true(t.n > 20);
        ml_failure_free(f);
        ml_text_free(&t);
        fx_close(&fx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_primitive_survives_every_limit),
        cmocka_unit_test(every_primitive_is_tried),
        cmocka_unit_test(a_sequence_survives_the_failure_of_any_chunk),
        cmocka_unit_test(reading_a_saved_schedule_survives_every_limit),
        cmocka_unit_test(replaying_a_trace_survives_every_limit),
        cmocka_unit_test(a_check_survives_every_limit),
        cmocka_unit_test(a_failure_under_a_limit_is_still_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
