/*
 * test_strategies - what strategies choose: by the seed alone, never a program twice, batches
 * that end, and rows of features that are those of the programs. Nothing is built here.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/ssrsrs.h"

#include "moonloop/core/script/script.h"
#include "moonloop/tune/search/strategy.h"
#include "moonloop/tune/search/strategy/pool.h"

static const char matmul[] =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((64, 96), \"float32\"), B: T.Buffer((96, 128), \"float32\"), "
    "C: T.Buffer((64, 128), \"float32\")):\n"
    "    for i, j, k in T.grid(64, 128, 96):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

/* Its decisions are left open: no first trial by itself. */
static const char tiled[] = SSRSRS_STEPS "[]]";
static const char decided[] =
    SSRSRS_STEPS "[[3, [8, 2, 2, 2]], [5, [4, 2, 1, 16]], [7, [24, 4]], [14, 1]]]";
/* One program, by a choice of one. */
static const char single[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SampleCategorical\", [], [[4], [1.0]], [\"v4\"]],"
    "[\"Split\", [\"l3\", \"None\", \"v4\"], [true, false], [\"l5\", \"l6\"]]], []]";
/* Its last step is refused, whatever is decided: k is no loop that can be parallel. */
static const char refused[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SampleCategorical\", [], [[4, 8], [0.5, 0.5]], [\"v4\"]],"
    "[\"Split\", [\"l3\", \"None\", \"v4\"], [true, false], [\"l5\", \"l6\"]],"
    "[\"Parallel\", [\"l5\"], [], []]], []]";

typedef struct Fix {
    ml_Ctx *cx;
    ml_Tuner *t;
    ml_TuneOpts o;
    ml_Sketch sketch[2];
} Fix;

static int set_up(void **state)
{
    static Fix fix;
    const ml_ParseOpts po = {.spelling = -1};

    fix = (Fix){.cx = ml_ctx_new(0)};
    fix.o = (ml_TuneOpts){.mod = ml_parse(fix.cx, ml_str(matmul), &po).mod,
                          .sketches = fix.sketch,
                          .n_sketches = 1,
                          .space = "test",
                          .model = "analytic",
                          .target = ml_target_host(),
                          .threads = 1,
                          .seed = 1};
    *state = &fix;
    return fix.o.mod ? 0 : -1;
}

static int tear_down(void **state)
{
    Fix *x = *state;

    ml_tuner_free(x->t);
    ml_ctx_unref(x->cx);
    return 0;
}

static void begin(Fix *x, const char *with, const char *trace)
{
    ml_tuner_free(x->t);
    if (trace)
        assert_true(ml_trace_from_json(x->cx, ml_str(trace), &x->sketch[0].trace));
    x->sketch[0].name = "one";
    x->o.with = with;
    x->t = ml_tuner_new(x->cx, &x->o);
    if (x->t == NULL && ml_error(x->cx)->code == ML_E_NO_WORKER) {
        print_message("skip: MOONLOOP_WORKER does not name the program\n");
        skip();
    }
    assert_non_null(x->t);
}

/* One batch; their hashes where there is room. */
static int batch(Fix *x, size_t n, uint64_t *hash)
{
    Made made[ML_BATCH];
    int got = x->t->strategy->kind->next(x->t->strategy, n, made);

    for (int k = 0; k < got; k++) {
        if (hash)
            hash[k] = made[k].hash;
        ml_made_free(&made[k]);
    }
    return got;
}

/* ---------------------------------------------------------------- batches */

static void a_seed_gives_the_same_candidates(void **state)
{
    Fix *x = *state;

    for (size_t k = 0; ml_strategy_at(k); k++) {
        uint64_t v[3][32];
        size_t same = 0, other = 0;

        for (int round = 0; round < 3; round++) {
            x->o.seed = round == 2 ? 7 : 5;
            begin(x, ml_strategy_at(k)->name, tiled);
            for (size_t n = 0; n < 32; n++) {
                ml_Proposal p;

                assert_true(ml_tuner_propose(x->t, &p));
                v[round][n] = p.hash;
                ml_proposal_free(&p);
            }
        }
        for (size_t n = 0; n < 32; n++) {
            same += v[0][n] == v[1][n];
            other += v[0][n] != v[2][n];
            for (size_t m = 0; m < n; m++)
                if (v[0][m] == v[0][n])
                    fail_msg("%s: a program twice", ml_strategy_at(k)->name);
        }
        if (same != 32 || other < 8)
            fail_msg("%s: %zu of 32 the same, %zu others by another seed",
                     ml_strategy_at(k)->name, same, other);
    }
}

static void twenty_trials_by_seven_are_7_7_6(void **state)
{
    Fix *x = *state;

    begin(x, "replay-func", tiled);
    assert_int_equal(batch(x, 7, NULL), 7);
    assert_int_equal(batch(x, 7, NULL), 7);
    assert_int_equal(batch(x, 6, NULL), 6);
}

static void a_space_of_one_program_gives_it_once_and_ends(void **state)
{
    Fix *x = *state;
    static const int want[] = {1, 0, 0, 0, 0, ML_STRATEGY_END};
    static const char *const with[] = {"evolve", "beam", "greedy", "replay-trace",
                                       "replay-func"};

    for (size_t k = 0; k < ML_COUNT(with); k++) {
        begin(x, with[k], single);
        for (size_t m = 0; m < ML_COUNT(want); m++) {
            int got = batch(x, 8, NULL);

            if (got != want[m])
                fail_msg("%s: batch %zu is %d, not %d", with[k], m, got, want[m]);
        }
    }
}

static void a_step_that_always_fails_ends_the_search(void **state)
{
    Fix *x = *state;
    ml_Proposal p;

    for (size_t k = 0; ml_strategy_at(k); k++) {
        begin(x, ml_strategy_at(k)->name, refused);
        if (ml_tuner_propose(x->t, &p))
            fail_msg("%s proposes what is not legal", ml_strategy_at(k)->name);
    }
}

static void a_strategy_that_is_none_is_refused_with_the_names(void **state)
{
    Fix *x = *state;

    assert_true(ml_trace_from_json(x->cx, ml_str(tiled), &x->sketch[0].trace));
    x->o.with = "evlove";
    assert_null(ml_tuner_new(x->cx, &x->o));
    assert_int_equal(ml_error(x->cx)->code, ML_E_UNKNOWN_NAME);
    assert_non_null(strstr(ml_error(x->cx)->facts[0].as.text, "evolve"));
}

static void random_is_another_name_of_replay_trace(void **state)
{
    Fix *x = *state;

    begin(x, "random", tiled);
    assert_string_equal(ml_tuner_status(x->t)->with, "replay-trace");
}

/* ---------------------------------------------------------------- what is expected */

/* Of a batch, and of all that was thought of: each row that forms give is that of the program. */
static void rows_of_what_is_picked_are_those_of_programs(void **state)
{
    Fix *x = *state;
    double *real = malloc((size_t)ML_MAX_ROWS * ML_FEATURES * sizeof *real);
    size_t taken = 0;

    assert_non_null(real);
    begin(x, "evolve", tiled);
    assert_int_equal(batch(x, 32, NULL), 32);

    Pool *p = &((Thinker *)x->t->strategy)->pool;

    for (size_t k = 0; k < p->points.n; k++) {
        const Point *q = p->points.v[k];

        if (!q->taken)
            continue;
        taken++;
        assert_int_equal(ml_sketch_real_rows(p->forms[0], q->p.d, real), q->n_rows);
        for (size_t m = 0; m < (size_t)q->n_rows * ML_FEATURES; m++)
            if (fabs((double)q->rows[m] - real[m]) > 1e-6 * (1 + fabs(real[m])))
                fail_msg("feature %zu is %g, really %g", m, (double)q->rows[m], real[m]);
    }
    assert_true(taken >= 32);
    free(real);
}

/* Where what counts is one decision, the search finds it out: seconds are told, not measured. */
static void what_was_measured_moves_what_is_expected(void **state)
{
    Fix *x = *state;
    size_t good[4] = {0};

    begin(x, "evolve", tiled);
    for (size_t round = 0; round < 4; round++) {
        Made made[16];
        int n = x->t->strategy->kind->next(x->t->strategy, 16, made);

        assert_int_equal(n, 16);
        for (int k = 0; k < n; k++) {
            const int64_t *d = made[k].c.d;
            double seconds = d[9] == 1 ? 1e-4 : 1e-3; /* the inner part of k */

            good[round] += d[9] == 1;
            x->t->strategy->kind->kin->notify(x->t->strategy, &made[k].c, seconds);
            ml_made_free(&made[k]);
        }
    }
    if (good[3] < 10)
        fail_msg("%zu, %zu, %zu, %zu of 16", good[0], good[1], good[2], good[3]);
}

/* However long a search is, it thinks of no more at once, and keeps the best that it has seen. */
static void a_long_search_stays_within_its_bounds(void **state)
{
    Fix *x = *state;

    begin(x, "evolve", tiled);
    x->t->st.total = ML_TUNE_MAX_TRIALS;
    for (uint32_t round = 0; round < 45; round++) {
        Made made[16];
        int n = x->t->strategy->kind->next(x->t->strategy, 16, made);

        assert_int_equal(n, 16);
        for (int k = 0; k < n; k++) {
            uint32_t us = 100 + (uint32_t)(made[k].hash % 1000);

            x->t->strategy->kind->kin->notify(x->t->strategy, &made[k].c,
                                              made[k].hash % 7 ? us * 1e-6 : 0);
            ml_made_free(&made[k]);
        }
    }
    Pool *p = &((Thinker *)x->t->strategy)->pool;
    double best = 1;

    ml_pool_learn(p);
    assert_true(p->measured.n >= ML_POOL_MEASURED && p->measured.n < 45 * 16);
    assert_true(p->points.n < 2 * ML_POOL_MOST);
    for (size_t k = 0; k < p->measured.n; k++)
        if (p->measured.v[k]->seconds > 0)
            best = fmin(best, p->measured.v[k]->seconds);
    assert_true(fabs(log2(best) - p->best) < 1e-12);
}

static void sketches_and_points_are_told(void **state)
{
    Fix *x = *state;
    const ml_TuneSketch *v;
    const ml_TuneStatus *st;

    begin(x, "evolve", tiled);
    batch(x, 8, NULL);
    assert_int_equal(ml_tuner_sketches(x->t, &v), 1);
    assert_string_equal(v[0].name, "one");
    assert_true(v[0].points > 100);
    assert_true(fabs(v[0].share - 1) < 1e-9);
    st = ml_tuner_status(x->t);
    assert_string_equal(st->model, "analytic");
    assert_true(st->points == v[0].points && st->by_forms > st->by_replay);
    assert_non_null(ml_tuner_model(x->t));
    begin(x, "mutate", tiled);
    assert_null(ml_tuner_status(x->t)->model);
    assert_null(ml_tuner_model(x->t));
}

/* ---------------------------------------------------------------- records of before */

static void a_record_that_cannot_be_replayed_is_passed_over(void **state)
{
    Fix *x = *state;
    const double one = 1e-3;
    const ml_TuneStatus *st;
    ml_Record r;
    ml_Db *db = ml_db_open(x->cx, NULL);
    ml_DbWorkload w;

    begin(x, "evolve", decided);
    w = (ml_DbWorkload){.hash = ml_tune_hash(x->cx, x->o.mod, NULL),
                        .name = "mm",
                        .program = matmul,
                        .flop = 1};
    assert_true(ml_db_put_workload(db, x->cx, &w));
    r = (ml_Record){.workload = w.id,
                    .target = x->t->target_json,
                    .space = "test",
                    .seed = 1,
                    .threads = 1,
                    .trace = refused,
                    .n_run = 1,
                    .run_secs = &one};
    assert_true(ml_db_put(db, x->cx, &r));
    r.trace = decided;
    assert_true(ml_db_put(db, x->cx, &r));
    x->o.db = db;
    begin(x, "evolve", decided);
    st = ml_tuner_status(x->t);
    assert_int_equal(st->before, 2);
    assert_int_equal(batch(x, 8, NULL), 8);

    Pool *p = &((Thinker *)x->t->strategy)->pool;

    assert_int_equal(p->measured.n, 1);
    assert_true(p->measured.v[0]->seconds == one);
    x->o.db = NULL;
    ml_db_close(db);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_seed_gives_the_same_candidates),
        T(twenty_trials_by_seven_are_7_7_6),
        T(a_space_of_one_program_gives_it_once_and_ends),
        T(a_step_that_always_fails_ends_the_search),
        T(a_strategy_that_is_none_is_refused_with_the_names),
        T(random_is_another_name_of_replay_trace),
        T(rows_of_what_is_picked_are_those_of_programs),
        T(what_was_measured_moves_what_is_expected),
        T(a_long_search_stays_within_its_bounds),
        T(sketches_and_points_are_told),
        T(a_record_that_cannot_be_replayed_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
