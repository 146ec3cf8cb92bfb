/*
 * test_long_session - thousands of steps and undos: memory stays bounded, what was dropped
 * by a compaction is not missed, and failed calls leave nothing behind.
 */
#include "fixture.h"

#include "moonloop/core/compare/equal.h"
#include "moonloop/primitives/call/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static const char *const steps[] = {
    "split(\"i\", {auto, 16})", "annotate(\"C\", \"note\", \"some text\")",
    "split(\"k\", {4, auto})",  "cache_read(\"C\", 0, \"shared\")",
    "parallel(\"i\")",          "add_unit_loop(\"C\")",
    "fuse(\"i\", \"j\")",       "sample_perfect_tile(\"j\", 2)",
};

/* Resident memory in bytes; 0: the system does not say. */
static size_t resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all, own = 0;

    if (f && fscanf(f, "%ld %ld", &all, &own) != 2)
        own = 0;
    if (f)
        fclose(f);
    return (size_t)own * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t taken(const Fixture *fx)
{
    return ml_ctx_bytes(fx->s->space->cx) + ml_ctx_bytes(fx->s->space->home) +
           ml_ctx_bytes(fx->module_cx);
}

static void step_and_undo(Fixture *fx, int k)
{
    ml_State st = ml_schedule_state(fx->s);

    fx_apply(fx, steps[(size_t)k % ML_COUNT(steps)]);
    if (k % 3 == 0 || ml_schedule_version(fx->s) == st.version)
        ml_schedule_restore(fx->s, st); /* as the prompt takes back a line */
    else
        assert_true(ml_schedule_undo(fx->s, 1));
}

static void ten_thousand_steps_and_undos_stay_below_200_mb(void **state)
{
    Fixture fx;
    size_t before = resident();

    fx_matmul(&fx, 1024, 1024, 1024);
    uint64_t hash = ml_schedule_hash(fx.s);

    for (int k = 0; k < 10000; k++)
        step_and_undo(&fx, k);
    assert_true(ml_schedule_n_versions(fx.s) > 8000);
    assert_true(fx.s->space->epoch > 0); /* it compacted by itself */
    assert_true(taken(&fx) < 200 * (size_t)MIB);
    print_message("contexts %zu MiB, resident %zu MiB more\n", taken(&fx) / MIB,
                  (resident() - before) / MIB);
#if !defined(__SANITIZE_ADDRESS__)
    assert_true(resident() - before < 200 * (size_t)MIB);
#endif
    assert_true(hash == ml_schedule_hash(fx.s));
    /* every version can still be visited */
    for (int v = 0; v < ml_schedule_n_versions(fx.s); v += 487)
        assert_true(ml_schedule_goto(fx.s, v));
    fx_close(&fx);
}

static void memory_is_flat_under_an_undo_limit(void **state)
{
    Fixture fx;
    size_t early = 0;

    fx_matmul(&fx, 1024, 1024, 1024);
    ml_schedule_set_undo_limit(fx.s, 20);
    for (int k = 0; k < 10000; k++) {
        step_and_undo(&fx, k);
        if (k == 1000) {
            ml_schedule_compact(fx.s);
            early = taken(&fx);
        }
    }
    assert_true(ml_ctx_bytes(fx.s->space->cx) <
                20 * (size_t)MIB); /* it compacts by itself */
    ml_schedule_compact(fx.s);
    print_message("programs %zu KiB, texts %zu KiB\n", ml_ctx_bytes(fx.s->space->cx) / 1024,
                  ml_ctx_bytes(fx.s->space->home) / 1024);
    /* texts of the versions stay, a few hundred bytes for each */
    assert_true(taken(&fx) < early + 9000 * (size_t)800);
    assert_true(ml_ctx_bytes(fx.s->space->cx) < 6 * (size_t)MIB);
    fx_close(&fx);
}

/* A line of versions, not a star: each step below the one before. */
static void a_long_chain_keeps_its_trace_names_and_handles(void **state)
{
    Fixture fx;
    ml_Ctx *tmp = ml_ctx_new(0);
    const char *what = NULL;
    ml_Step st;
    int64_t value = 0;

    fx_matmul(&fx, 1024, 1024, 1024);
    fx_apply(&fx, "sample_perfect_tile(\"i\", 2)");
    ml_Handle sampled = fx.r.v[1];

    assert_true(ml_handle_value(fx.s, sampled, &value));
    ml_Handle j = fx_handle(&fx, "j"), k = fx_handle(&fx, "k");

    fx_apply(&fx, "split(\"k\", {auto, 8})");
    fx_refuses(&fx, ML_E_NO_SUCH_LOOP, "unroll(\"nothing\")");
    ml_Failure *held = ml_failure_take(fx.s);

    assert_true(ml_schedule_mark(fx.s, "early"));
    for (int n = 0; n < 600; n++) {
        char call[80];

        snprintf(call, sizeof call, "annotate(\"C\", \"key%d\", %d)", n % 7, n);
        fx_apply(&fx, call);
        snprintf(call, sizeof call, "unannotate(\"C\", \"key%d\")", n % 7);
        fx_apply(&fx, call);
        if (n % 250 == 100)
            ml_schedule_compact(fx.s);
    }
    assert_true(fx.s->space->epoch > 0);
    assert_true(ml_handle_alive(fx.s, j));
    assert_false(ml_handle_alive(fx.s, k));
    assert_int_equal(1, ml_handle_ended_by(fx.s, k));
    assert_string_equal("j", ml_name_of(fx.s, j.uid));
    int64_t now = 0;

    assert_true(ml_handle_value(fx.s, sampled, &now));
    assert_int_equal(value, now);
    assert_int_equal(1, ml_schedule_find_mark(fx.s, "early"));
    assert_true(ml_version_step(fx.s, 1, &st));
    assert_string_equal("split(\"k\", {auto, 8})", st.line);
    if (!ml_index_verify(tmp, ml_schedule_program(fx.s), &what))
        fail_msg("%s", what);
    /* a failure from before still shows its program and its ways out */
    ml_Text t = {0};

    ml_failure_render(held, &t, NULL);
    assert_non_null(strstr(ml_text_z(&t), "no loop is named nothing"));
    ml_failure_free(held);
    ml_text_free(&t);
    /* the trace replays to the same program */
    Fixture again;
    ml_Trace trace = ml_schedule_trace(fx.s, tmp);
    size_t done;

    fx_matmul(&again, 1024, 1024, 1024);
    assert_true(ml_trace_apply(again.s, &trace, false, NULL, NULL, &done));
    assert_int_equal(trace.n, done);
    assert_true(ml_schedule_hash(fx.s) == ml_schedule_hash(again.s));
    assert_true(ml_apply(fx.s, "unroll", (ml_Arg[]){ML_ARG_HANDLE(j)}, 1, NULL));
    ml_ctx_unref(tmp);
    fx_close(&again);
    fx_close(&fx);
}

static void a_compaction_keeps_limit_cancellation_and_notes(void **state)
{
    static volatile int stop;
    Fixture fx;
    unsigned epoch;
    const char *const *notes;

    stop = 0;
    fx_matmul(&fx, 1024, 1024, 1024);
    ml_ctx_set_cancel(ml_schedule_ctx(fx.s), &stop);
    ml_ctx_set_limit(ml_schedule_ctx(fx.s), 64 * (size_t)MIB);
    epoch = fx.s->space->epoch;
    for (int k = 0; k < 4000 && fx.s->space->epoch == epoch; k++) {
        fx_apply(&fx, "split(\"i\", {auto, 10})"); /* has a guard, tells of it */
        size_t n = ml_schedule_notes(fx.s, &notes);

        for (size_t m = 0; m < n; m++)
            assert_true(strlen(notes[m]) > 0);
        if (fx.s->space->epoch == epoch)
            assert_true(ml_schedule_undo(fx.s, 1));
    }
    assert_true(fx.s->space->epoch > epoch);
    stop = 1;
    int ticks = 0;

    while (ticks < 1000 && ml_tick(ml_schedule_ctx(fx.s)))
        ticks++;
    assert_true(ticks < 1000);
    assert_int_equal(ML_E_INTERRUPTED, ml_schedule_error(fx.s)->code);
    stop = 0;
    ml_error_clear(ml_schedule_ctx(fx.s));
    ml_alloc(ml_schedule_ctx(fx.s), 65 * (size_t)MIB);
    assert_false(ml_ok(ml_schedule_ctx(fx.s)));
    ml_error_clear(ml_schedule_ctx(fx.s));
    fx_close(&fx);
}

static void a_session_goes_on_below_a_small_memory_limit(void **state)
{
    Fixture fx;

    fx_matmul(&fx, 1024, 1024, 1024);
    ml_schedule_set_undo_limit(fx.s, 5);
    ml_ctx_set_limit(ml_schedule_ctx(fx.s), MIB);
    for (int k = 0; k < 3000; k++)
        step_and_undo(&fx, k % 7);
    assert_true(fx.s->space->epoch > 0);
    fx_close(&fx);
}

static void failed_calls_leave_nothing_behind(void **state)
{
    static const char *const wrong[] = {
        "split(\"i\", {3, 5})",
        "split(\"i\", {auto, auto})",
        "fuse(\"j\", \"i\")",
        "reorder(\"i\", \"i\")",
        "parallel(\"k\")",
        "compute_at(\"C\", \"k\")",
        "compute_inline(\"C\")",
        "cache_read(\"C\", 9, \"shared\")",
        "decompose_reduction(\"C\", \"nothing\")",
        "sample_categorical({1, 2}, {1})",
        "sample_perfect_tile(\"i\", 0)",
        "annotate(\"C\", \"key\", {1, {2, {auto}}})",
        "unroll(\"nothing\")",
    };
    Fixture fx;
    size_t before = 0;

    fx_matmul(&fx, 1024, 1024, 1024);
    for (int k = 0; k < 2000; k++) {
        for (size_t w = 0; w < ML_COUNT(wrong); w++)
            if (fx_try(&fx, wrong[w]))
                fail_msg("%s was accepted", wrong[w]);
        if (k % 100 == 0)
            fx_message(&fx);
        ml_space_settle(fx.s->space);
        if (k == 10)
            before = taken(&fx);
    }
    assert_int_equal(before, taken(&fx));
    fx_close(&fx);
}

static void schedules_made_and_dropped_give_their_memory_back(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Module *m = fx_matmul_module(cx, 64, 64, 64);
    size_t before = 0;

    for (int k = 0; k < 20000; k++) {
        const ml_Error *e;
        ml_Schedule *s = ml_schedule_new(cx, m, NULL, &e), *c = ml_schedule_copy(s);

        assert_true(
            ml_apply(k % 2 ? s : c, "unroll", (ml_Arg[]){ML_ARG_STR("k")}, 1, NULL));
        ml_schedule_unref(k % 3 ? s : c);
        ml_schedule_unref(k % 3 ? c : s);
        if (k == 2000)
            before = resident();
    }
#if !defined(__SANITIZE_ADDRESS__)
    assert_true(resident() < before + 4 * (size_t)MIB);
#else
    (void)before;
#endif
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_steps_and_undos_stay_below_200_mb),
        cmocka_unit_test(memory_is_flat_under_an_undo_limit),
        cmocka_unit_test(a_long_chain_keeps_its_trace_names_and_handles),
        cmocka_unit_test(a_compaction_keeps_limit_cancellation_and_notes),
        cmocka_unit_test(a_session_goes_on_below_a_small_memory_limit),
        cmocka_unit_test(failed_calls_leave_nothing_behind),
        cmocka_unit_test(schedules_made_and_dropped_give_their_memory_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
