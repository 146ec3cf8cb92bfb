/*
 * test_parallel_replay - threads that schedule one sealed module at the same time, as a
 * search does: each gets the program that one thread alone gets. Races are for `make races`
 * to find (the same test under the thread sanitizer).
 */
#include "fixture.h"

#include "moonloop/primitives/trace.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 6 };

/* What a candidate is made by; some end in a refusal, whose code belongs to the result. */
static const char *const recipes[] = {
    ("split(\"i\", {auto, 4}) split(\"j\", {auto, 8}) "
     "reorder(\"i_0\", \"j_0\", \"i_1\", \"j_1\")"),
    "split(\"k\", {auto, 16}) decompose_reduction(\"C\", \"k_0\") parallel(\"i\")",
    "cache_write(\"C\", 0, \"local\") split(\"j\", {4, auto}) vectorize(\"j\")",
    "cache_read(\"C\", 0, \"shared\") compute_at(\"A_shared\", \"k\")",
    "fuse(\"i\", \"j\") parallel(\"i_j_fused\") annotate(\"C\", \"k\", {1, 2.5, \"x\"})",
    "split(\"i\", {auto, 7}) unroll(\"i_1\") vectorize(\"k\")",
    "sample_perfect_tile(\"i\", 3) sample_categorical({1, 2, 4}, {0.25, 0.25, 0.5})",
};

typedef struct Shared {
    ml_Ctx *cx; /* of the module */
    const ml_Module *m;
    ml_Ctx *trace_cx;
    ml_Trace traces[ML_COUNT(recipes)];
    uint64_t alone[ML_COUNT(recipes)];
} Shared;

static uint64_t outcome(ml_Schedule *s, bool ok)
{
    const ml_Error *e = ok ? NULL : ml_schedule_error(s);

    return ml_schedule_hash(s) * 31 + (e ? (uint64_t)e->code : 0);
}

/* By calls with names; the trace of what succeeded goes to *trace when it is not NULL. */
static uint64_t by_calls(const Shared *sh, const char *recipe, ml_Ctx *cx, ml_Trace *trace)
{
    const ml_Error *error;
    ml_Schedule *s = ml_schedule_new(sh->cx, sh->m, &(ml_ScheduleOpts){.seed = 5}, &error);
    ml_Ctx *tmp = ml_ctx_new(0);
    ml_CallTexts calls = {0};
    bool ok = s && ml_parse_calls(tmp, ml_str(recipe), &calls);
    uint64_t sum = 0;

    for (size_t k = 0; ok && k < calls.n; k++) {
        ml_Results r;

        ok = ml_apply_prim(s, calls.v[k].prim, calls.v[k].args, calls.v[k].n, &r);
    }
    if (s && trace)
        *trace = ml_schedule_trace(s, cx);
    if (s && calls.n > 0)
        sum = outcome(s, ok);
    ml_ctx_unref(tmp);
    ml_schedule_unref(s);
    return sum;
}

/* The same by replay, then its texts, which read only. */
static bool replays(const Shared *sh, const ml_Trace *t)
{
    const ml_Error *error;
    ml_Schedule *s = ml_schedule_new(sh->cx, sh->m, &(ml_ScheduleOpts){.seed = 5}, &error);
    bool ok = s && ml_trace_apply(s, t, false, NULL, NULL, NULL);

    if (ok) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Trace again = ml_schedule_trace(s, cx);
        ml_Text a = {0}, b = {0};

        ml_trace_json(cx, &a, t);
        ml_trace_json(cx, &b, &again);
        ok = ml_streq(ml_text_z(&a), ml_text_z(&b));
        ml_text_free(&a);
        ml_text_free(&b);
        ml_ctx_unref(cx);
    }
    ml_schedule_unref(s);
    return ok;
}

typedef struct Worker {
    pthread_t thread;
    const Shared *sh;
    size_t first;
    int rounds;
    atomic_int *bad;
} Worker;

static void *work(void *user)
{
    Worker *w = user;

    for (int round = 0; round < w->rounds; round++)
        for (size_t k = 0; k < ML_COUNT(recipes); k++) {
            size_t m = (w->first + k) % ML_COUNT(recipes);

            if (by_calls(w->sh, recipes[m], NULL, NULL) != w->sh->alone[m] ||
                !replays(w->sh, &w->sh->traces[m]))
                atomic_fetch_add(w->bad, 1);
        }
    return NULL;
}

static void threads_schedule_one_module_as_one_alone_does(void **state)
{
    Shared sh = {.cx = ml_ctx_new(0), .trace_cx = ml_ctx_new(0)};
    atomic_int bad = 0;
    Worker w[THREADS];

    sh.m = fx_matmul_module(sh.cx, 64, 64, 64);
    for (size_t k = 0; k < ML_COUNT(recipes); k++) {
        sh.alone[k] = by_calls(&sh, recipes[k], sh.trace_cx, &sh.traces[k]);
        assert_true(sh.alone[k] != 0 && sh.traces[k].n > 0);
        assert_true(replays(&sh, &sh.traces[k]));
        for (size_t m = 0; m < k; m++)
            assert_true(sh.alone[m] != sh.alone[k]);
    }
    ml_ctx_seal(sh.trace_cx);
    for (size_t k = 0; k < THREADS; k++) {
        w[k] = (Worker){
            .sh = &sh, .first = k / 2, .rounds = getenv("ML_QUICK") ? 2 : 15, .bad = &bad};
        assert_int_equal(pthread_create(&w[k].thread, NULL, work, &w[k]), 0);
    }
    for (size_t k = 0; k < THREADS; k++)
        assert_int_equal(pthread_join(w[k].thread, NULL), 0);
    assert_int_equal(atomic_load(&bad), 0);
    ml_ctx_unref(sh.trace_cx);
    ml_ctx_unref(sh.cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_schedule_one_module_as_one_alone_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
