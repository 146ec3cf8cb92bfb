/*
 * test_task - which of several tasks is next, and whole runs of several searches under one
 * budget: it is used exactly, weights count, nothing dead-locks, a task that cannot be
 * tuned is named, and a run that ended is gone on with.
 */
#define _DEFAULT_SOURCE
#include "moonloop/tune/task/task.h"

#include "moonloop/codegen/code/code.h"
#include "moonloop/core/script/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tune/kept.h"

/* ---------------------------------------------------------------- the rule */

static void gradient_is_what_a_batch_is_expected_to_save(void **state)
{
    const double falls[] = {8, 5, 4, 2};
    ml_TaskTurn t = {falls, 4, 3, 0, false};

    (void)state;
    /* 3 × (0.2 × (8 − 2) / 3 + 0.8 × 2 / 4) */
    assert_true(ml_task_gradient(&t) > 2.399 && ml_task_gradient(&t) < 2.401);
    t.n = 2; /* no window yet: 3 × 0.8 × 5 / 2 */
    assert_true(ml_task_gradient(&t) > 5.999 && ml_task_gradient(&t) < 6.001);
    t.bound = 4.75; /* what is as good as its bound saves nothing */
    assert_true(ml_task_gradient(&t) == 0);
    t.bound = 3.8; /* 3 × 0.8 × (5 − 3.8 / 0.95) */
    assert_true(ml_task_gradient(&t) > 2.399 && ml_task_gradient(&t) < 2.401);
    t.n = 0;
    assert_true(ml_task_gradient(&t) == -1e9);
    t = (ml_TaskTurn){(const double[]){0}, 1, 3, 0, false};
    assert_true(ml_task_gradient(&t) == -1e9);
}

static void first_each_task_once_then_by_gradient(void **state)
{
    const double one[] = {1, 1, 1, 1, 1};
    ml_TaskTurn v[3] = {
        {one, 0, 1, 0, false}, {one, 0, 9, 0, false}, {one, 0, 1, 0, false}};
    ml_Random r = ml_random("test", 0, 1);
    size_t got[3] = {0};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        size_t at = ml_task_next(ML_TASKS_GRADIENT, v, 3, SIZE_MAX, &r);

        assert_int_equal(at, k);
        v[at].n++;
    }
    for (int k = 0; k < 6; k++) { /* 9 / n against 1: the heavy one until its 9th batch */
        size_t at = ml_task_next(ML_TASKS_GRADIENT, v, 3, SIZE_MAX, &r);

        assert_int_equal(at, 1);
        v[1].n = v[1].n < 5 ? v[1].n + 1 : 5;
    }
    v[1].over = true;
    for (int k = 0; k < 200; k++) /* equal ones: one of them, each now and then */
        got[ml_task_next(ML_TASKS_GRADIENT, v, 3, SIZE_MAX, &r)]++;
    assert_int_equal(got[1], 0);
    assert_true(got[0] > 60 && got[2] > 60);
    v[0].over = v[2].over = true;
    assert_true(ml_task_next(ML_TASKS_GRADIENT, v, 3, SIZE_MAX, &r) == SIZE_MAX);
}

static void round_robin_passes_over_what_is_over(void **state)
{
    ml_TaskTurn v[3] = {
        {NULL, 0, 1, 0, false}, {NULL, 0, 1, 0, true}, {NULL, 0, 1, 0, false}};

    (void)state;
    assert_int_equal(ml_task_next(ML_TASKS_ROUND_ROBIN, v, 3, SIZE_MAX, NULL), 0);
    assert_int_equal(ml_task_next(ML_TASKS_ROUND_ROBIN, v, 3, 0, NULL), 2);
    assert_int_equal(ml_task_next(ML_TASKS_ROUND_ROBIN, v, 3, 2, NULL), 0);
    v[0].over = v[2].over = true;
    assert_true(ml_task_next(ML_TASKS_ROUND_ROBIN, v, 3, 0, NULL) == SIZE_MAX);
    assert_true(ml_task_next(ML_TASKS_GRADIENT, v, 0, SIZE_MAX, NULL) == SIZE_MAX);
}

/* ---------------------------------------------------------------- whole runs */

/* A product of which one size is n. */
static const char *product(ml_Ctx *cx, int n)
{
    return ml_format(cx,
                     "@T.prim_func\n"
                     "def mm(A: T.Buffer((%d, 48), \"float32\"), B: T.Buffer((48, 64), "
                     "\"float32\"), C: T.Buffer((%d, 64), \"float32\")):\n"
                     "    for i, j, k in T.grid(%d, 64, 48):\n"
                     "        with T.block(\"C\"):\n"
                     "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
                     "            with T.init():\n"
                     "                C[vi, vj] = T.float32(0)\n"
                     "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n",
                     n, n, n);
}

/* Many programs; and few. */
static const char tiles[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SamplePerfectTile\", [\"l2\"], [3, 64], [\"v4\", \"v5\", \"v6\"]],"
    "[\"Split\", [\"l2\", \"v4\", \"v5\", \"v6\"], [true, false], [\"l7\", \"l8\", "
    "\"l9\"]],"
    "[\"SamplePerfectTile\", [\"l3\"], [2, 64], [\"v10\", \"v11\"]],"
    "[\"Split\", [\"l3\", \"v10\", \"v11\"], [true, false], [\"l12\", \"l13\"]]],"
    "[[2, [4, 4, 4]], [4, [6, 8]]]]";
static const char choice[] = SIX_PROGRAMS;

typedef struct Fix {
    ml_Ctx *cx;
    ml_Tasks *ts;
    ml_TasksOpts o;
    ml_Db *db;
    ml_Sketch many, few;
    size_t few_at, refuse_at; /* tasks that are opened otherwise; SIZE_MAX: none */
    size_t opened;
    Kept kept;
    volatile int flag;
} Fix;

static int set_up(void **state)
{
    static Fix fix;

    fix = (Fix){.cx = ml_ctx_new(0),
                .o = {.seed = 1, .threads = 1},
                .few_at = SIZE_MAX,
                .refuse_at = SIZE_MAX};
    if (!kept_make(&fix.kept))
        return -1;
    ml_ctx_set_cancel(fix.cx, &fix.flag);
    fix.many.name = "tiles";
    fix.few.name = "choice";
    if (!ml_trace_from_json(fix.cx, ml_str(tiles), &fix.many.trace) ||
        !ml_trace_from_json(fix.cx, ml_str(choice), &fix.few.trace))
        return -1;
    fix.db = ml_db_open(fix.cx, fix.kept.path);
    *state = &fix;
    return fix.db ? 0 : -1;
}

static int tear_down(void **state)
{
    Fix *x = *state;

    ml_tasks_free(x->ts);
    ml_db_close(x->db);
    ml_ctx_unref(x->cx);
    return kept_remove(&x->kept);
}

static size_t add(Fix *x, int size, double weight)
{
    const ml_ParseOpts po = {.spelling = -1};
    size_t at = 0;

    if (!ml_tasks_add(x->ts, x->cx, ml_parse(x->cx, ml_str(product(x->cx, size)), &po).mod,
                      NULL, ml_format(x->cx, "of %d", size), weight, 0, &at))
        fail_msg("%s", text_of_error(x->cx));
    return at;
}

static void begin(Fix *x)
{
    ml_tasks_free(x->ts);
    x->ts = ml_tasks_new(x->cx, &x->o);
    if (x->ts == NULL)
        fail_msg("%s", text_of_error(x->cx));
}

static void open_wanted(Fix *x)
{
    size_t at = ml_tasks_wanted(x->ts);
    ml_TuneOpts o = {.sketches = at == x->few_at ? &x->few : &x->many,
                     .n_sketches = at == x->refuse_at ? 0 : 1,
                     .space = "test",
                     .target = ml_target_host(),
                     .seed = 1,
                     .db = x->db};
    ml_Tuner *t;

    x->opened++;
    ml_tasks_opts(x->ts, &o);
    t = ml_tuner_new(x->cx, &o);
    if (t) {
        ml_tasks_open(x->ts, t);
        return;
    }
    ml_tasks_refuse(x->ts, text_of_error(x->cx));
    ml_error_clear(x->cx);
}

/* To its end, or (stop > 0) until so many records are there. */
static ml_TasksState run(Fix *x, int64_t stop)
{
    ml_TasksState st = ML_TASKS_MORE;

    while (st == ML_TASKS_MORE || st == ML_TASKS_OPEN) {
        if (st == ML_TASKS_OPEN)
            open_wanted(x);
        st = ml_tasks_step(x->ts, x->cx, 0.1);
        if (stop && ml_tasks_status(x->ts)->done >= stop)
            return st;
    }
    if (st == ML_TASKS_FAILED)
        fail_msg("%s", text_of_error(x->cx));
    return st;
}

/* Records in the database, and that no program is there twice. */
static int64_t records(Fix *x)
{
    const ml_DbQuery all = {.any_seed = true};
    ml_Record *v;
    size_t n;

    assert_true(ml_db_records(x->db, x->cx, &all, &v, &n));
    for (size_t k = 0; k < n; k++)
        for (size_t m = 0; m < k; m++)
            assert_false(v[k].workload == v[m].workload &&
                         ml_streq(v[k].trace, v[m].trace));
    return (int64_t)n;
}

static void equal_programs_are_one_task(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    begin(x);
    assert_int_equal(add(x, 32, 1), 0);
    assert_int_equal(add(x, 16, 2), 1);
    assert_int_equal(add(x, 32, 3), 0);
    assert_int_equal(ml_tasks_count(x->ts), 2);
    assert_true(ml_tasks_task(x->ts, 0)->weight == 4);
    assert_true(ml_tasks_task(x->ts, 0)->flop == 2.0 * 32 * 48 * 64);
}

static void a_budget_is_used_exactly(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    for (int rule = ML_TASKS_GRADIENT; rule <= ML_TASKS_ROUND_ROBIN; rule++) {
        x->o.rule = (ml_TaskRule)rule;
        x->o.trials = rule == ML_TASKS_GRADIENT ? 17 : 23; /* no multiple of a batch */
        begin(x);
        add(x, 32, 1);
        add(x, 16, 1);
        add(x, 8, 1);
        assert_int_equal(run(x, 0), ML_TASKS_DONE);
        assert_int_equal(ml_tasks_status(x->ts)->done, x->o.trials);
        assert_int_equal(records(x), x->o.trials);
        for (size_t k = 0; k < 3; k++) {
            assert_true(ml_tasks_task(x->ts, k)->done > 0);
            assert_true(ml_tasks_task(x->ts, k)->best > 0);
        }
    }
    x->o.each = 25;
    x->o.trials = 1000;
    begin(x);
    add(x, 32, 1);
    add(x, 16, 1);
    assert_int_equal(run(x, 0), ML_TASKS_DONE);
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(ml_tasks_task(x->ts, k)->done, 25);
        assert_true(ml_tasks_task(x->ts, k)->over);
    }
}

static void weights_shift_trials(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.trials = 24;
    begin(x);
    add(x, 32, 1);
    add(x, 30, 1000);
    assert_int_equal(run(x, 0), ML_TASKS_DONE);
    assert_true(ml_tasks_task(x->ts, 1)->done > 3 * ml_tasks_task(x->ts, 0)->done);
}

/* One has six programs, another is refused. */
static void a_task_that_gives_nothing_stops_no_other(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.trials = 40;
    x->few_at = 0;
    x->refuse_at = 1;
    begin(x);
    add(x, 32, 1000);
    add(x, 16, 1000);
    add(x, 8, 1);
    assert_int_equal(run(x, 0), ML_TASKS_DONE);
    assert_int_equal(ml_tasks_task(x->ts, 0)->done, 6);
    assert_true(ml_tasks_task(x->ts, 0)->over && ml_tasks_task(x->ts, 0)->exhausted);
    assert_non_null(strstr(ml_tasks_task(x->ts, 1)->refused, "no schedule"));
    assert_int_equal(ml_tasks_task(x->ts, 1)->done, 0);
    assert_int_equal(ml_tasks_status(x->ts)->done, 40);
    assert_int_equal(ml_tasks_status(x->ts)->without, 1);
}

static void a_run_goes_on_where_it_was_stopped(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.trials = 30;
    begin(x);
    add(x, 32, 1);
    add(x, 16, 2);
    (void)run(x, 11); /* and is dropped with jobs in progress */
    begin(x);
    int64_t before = records(x);

    assert_true(before >= 11 && before < 30);
    add(x, 32, 1);
    add(x, 16, 2);
    assert_int_equal(run(x, 0), ML_TASKS_DONE);
    assert_int_equal(ml_tasks_status(x->ts)->before, before);
    assert_int_equal(records(x), 30);
    begin(x); /* and there is nothing left to do */
    add(x, 32, 1);
    add(x, 16, 2);
    assert_int_equal(run(x, 0), ML_TASKS_DONE);
    assert_int_equal(records(x), 30);
}

static void seconds_are_a_budget_too(void **state)
{
    Fix *x = *state;
    double begun = ml_clock();

    NEED_WORKER();
    x->o.seconds = 2;
    begin(x);
    add(x, 32, 1);
    add(x, 16, 1);
    assert_int_equal(run(x, 0), ML_TASKS_DONE);
    assert_true(ml_clock() - begun < 12); /* the machine may be busy */
    assert_int_equal(ml_tasks_status(x->ts)->without, 0);
    assert_int_equal(ml_tasks_status(x->ts)->total, 0);
}

static void cancelling_keeps_everything(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.trials = 1000;
    begin(x);
    add(x, 32, 1);
    add(x, 16, 1);
    (void)run(x, 5);
    x->flag = 1;
    assert_int_equal(run(x, 0), ML_TASKS_CANCELLED);
    x->flag = 0;
    assert_true(records(x) >= 5);
    assert_int_equal(records(x), ml_tasks_status(x->ts)->done);
}

static void bad_requests_are_refused(void **state)
{
    Fix *x = *state;
    size_t at;
    const ml_ParseOpts po = {.spelling = -1};
    const ml_Module *m = ml_parse(x->cx, ml_str(product(x->cx, 8)), &po).mod;

    NEED_WORKER();
    x->o.trials = -1;
    assert_null(ml_tasks_new(x->cx, &x->o));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_ARGUMENT);
    ml_error_clear(x->cx);
    x->o.trials = 0;
    x->o.seconds = -1;
    assert_null(ml_tasks_new(x->cx, &x->o));
    ml_error_clear(x->cx);
    x->o.seconds = 0;
    begin(x);
    assert_false(ml_tasks_add(x->ts, x->cx, m, NULL, NULL, 0, 0, &at));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_ARGUMENT);
    ml_error_clear(x->cx);
    assert_false(ml_tasks_add(x->ts, x->cx, m, "nosuch", NULL, 1, 0, &at));
    ml_error_clear(x->cx);
    assert_int_equal(run(x, 0), ML_TASKS_DONE); /* of no tasks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_what_a_batch_is_expected_to_save),
        cmocka_unit_test(first_each_task_once_then_by_gradient),
        cmocka_unit_test(round_robin_passes_over_what_is_over),
#define WITH(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
        WITH(equal_programs_are_one_task),
        WITH(a_budget_is_used_exactly),
        WITH(weights_shift_trials),
        WITH(a_task_that_gives_nothing_stops_no_other),
        WITH(a_run_goes_on_where_it_was_stopped),
        WITH(seconds_are_a_budget_too),
        WITH(cancelling_keeps_everything),
        WITH(bad_requests_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
