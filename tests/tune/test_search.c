/*
 * test_search - proposals of the search, its records, and whole searches with workers. The
 * design space here is a matrix product with a few decisions, made through primitives.
 */
#define _DEFAULT_SOURCE
#include "moonloop/tune/tune.h"

#include "moonloop/codegen/code/code.h"
#include "moonloop/core/script/script.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tune/kept.h"

static const char matmul[] =
    "@T.prim_func\n"
    "def mm(A: T.Buffer((32, 48), \"float32\"), B: T.Buffer((48, 64), \"float32\"), "
    "C: T.Buffer((32, 64), \"float32\")):\n"
    "    for i, j, k in T.grid(32, 64, 48):\n"
    "        with T.block(\"C\"):\n"
    "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
    "            with T.init():\n"
    "                C[vi, vj] = T.float32(0)\n"
    "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n";

/* Two tiles and a choice. */
static const char two_tiles[] =
    "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
    "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
    "[\"SamplePerfectTile\", [\"l1\"], [2, 64], [\"v4\", \"v5\"]],"
    "[\"Split\", [\"l1\", \"v4\", \"v5\"], [true, false], [\"l6\", \"l7\"]],"
    "[\"SamplePerfectTile\", [\"l2\"], [3, 64], [\"v8\", \"v9\", \"v10\"]],"
    "[\"Split\", [\"l2\", \"v8\", \"v9\", \"v10\"], [true, false], [\"l11\", \"l12\", "
    "\"l13\"]],"
    "[\"SampleCategorical\", [], [[1, 2, 4, 8], [0.25, 0.25, 0.25, 0.25]], [\"v14\"]],"
    "[\"Split\", [\"l3\", \"None\", \"v14\"], [true, false], [\"l15\", \"l16\"]],"
    "[\"Reorder\", [\"l6\", \"l11\", \"l12\", \"l15\", \"l16\", \"l7\", \"l13\"], [], []],"
    "[\"Unroll\", [\"l16\"], [], []]],"
    "[[2, [8, 4]], [4, [2, 2, 16]], [6, 2]]]";
static const char one_choice[] = SIX_PROGRAMS;

typedef struct Fix {
    ml_Ctx *cx;
    ml_Tuner *t;
    ml_Db *db;
    ml_TuneOpts o;
    ml_Sketch sketch[2];
    Kept kept;
    volatile int flag;
} Fix;

static int set_up(void **state)
{
    static Fix fix;
    const ml_ParseOpts po = {.spelling = -1};

    fix = (Fix){.cx = ml_ctx_new(0)};
    if (!kept_make(&fix.kept))
        return -1;
    ml_ctx_set_cancel(fix.cx, &fix.flag);
    fix.o = (ml_TuneOpts){.mod = ml_parse(fix.cx, ml_str(matmul), &po).mod,
                          .name = "mm",
                          .sketches = fix.sketch,
                          .n_sketches = 1,
                          .space = "test",
                          .target = ml_target_host(),
                          .threads = 1,
                          .seed = 1};
    fix.sketch[0].name = "tiles";
    fix.sketch[1].name = "choice";
    if (!ml_trace_from_json(fix.cx, ml_str(two_tiles), &fix.sketch[0].trace) ||
        !ml_trace_from_json(fix.cx, ml_str(one_choice), &fix.sketch[1].trace))
        return -1;
    *state = &fix;
    return fix.o.mod ? 0 : -1;
}

static int tear_down(void **state)
{
    Fix *x = *state;

    ml_tuner_free(x->t);
    ml_db_close(x->db);
    ml_ctx_unref(x->cx);
    return kept_remove(&x->kept);
}

static void begin(Fix *x)
{
    ml_tuner_free(x->t);
    x->t = ml_tuner_new(x->cx, &x->o);
    if (x->t == NULL)
        fail_msg("%s", text_of_error(x->cx));
}

static ml_TuneState run(Fix *x)
{
    ml_TuneState st = ML_TUNE_MORE;

    while (st == ML_TUNE_MORE)
        st = ml_tuner_step(x->t, x->cx, 0.1);
    if (st == ML_TUNE_FAILED)
        fail_msg("%s", text_of_error(x->cx));
    return st;
}

/* ---------------------------------------------------------------- proposals */

static void the_first_proposal_is_the_rules_own(void **state)
{
    Fix *x = *state;
    ml_Proposal p;

    begin(x);
    assert_true(ml_tuner_propose(x->t, &p));
    assert_non_null(strstr(p.trace, "[2, [8, 4]]"));
    assert_non_null(strstr(p.trace, "[4, [2, 2, 16]]"));
    assert_non_null(strstr(p.trace, "[6, 2]"));
    ml_proposal_free(&p);
}

static void one_seed_proposes_the_same_another_others(void **state)
{
    Fix *x = *state;
    uint64_t first[40], other = 0;

    for (int round = 0; round < 3; round++) {
        x->o.seed = round == 2 ? 99 : 5;
        begin(x);
        for (size_t k = 0; k < ML_COUNT(first); k++) {
            ml_Proposal p;

            assert_true(ml_tuner_propose(x->t, &p));
            if (round == 0)
                first[k] = p.hash;
            else if (round == 1)
                assert_true(first[k] == p.hash);
            else
                other += first[k] != p.hash;
            ml_proposal_free(&p);
        }
    }
    assert_true(other > 20);
}

static void no_program_is_proposed_twice_and_a_space_ends(void **state)
{
    Fix *x = *state;
    uint64_t seen[20];
    size_t n = 0;
    ml_Proposal p;

    x->o.sketches = &x->sketch[1];
    begin(x);
    while (ml_tuner_propose(x->t, &p)) {
        assert_true(n < ML_COUNT(seen));
        for (size_t k = 0; k < n; k++)
            assert_true(seen[k] != p.hash);
        seen[n++] = p.hash;
        ml_proposal_free(&p);
    }
    assert_int_equal(n, 6);
}

/* Decision 1 of the first is not decision 0 of the second. */
static void sketches_of_like_decisions_are_all_tried(void **state)
{
    static const char other[] =
        "[[[\"GetBlock\", [], [\"C\", \"mm\"], [\"b0\"]],"
        "[\"GetLoops\", [\"b0\"], [], [\"l1\", \"l2\", \"l3\"]],"
        "[\"SampleCategorical\", [], [[2, 4], [0.5, 0.5]], [\"v4\"]],"
        "[\"Split\", [\"l%d\", \"None\", \"v4\"], [true, false], [\"l5\", \"l6\"]]],"
        "[[2, %d]]]";
    Fix *x = *state;
    ml_Proposal p;

    for (int k = 0; k < 2; k++)
        assert_true(ml_trace_from_json(x->cx, ml_str(ml_format(x->cx, other, 1 + k, 1 - k)),
                                       &x->sketch[k].trace));
    x->o.n_sketches = 2;
    begin(x);
    for (uint32_t k = 0; k < 2; k++) {
        assert_true(ml_tuner_propose(x->t, &p));
        assert_int_equal(p.sketch, k);
        assert_non_null(strstr(p.trace, k ? "[2, 0]" : "[2, 1]"));
        ml_proposal_free(&p);
    }
}

static void a_proposal_is_a_trace_that_gives_its_program(void **state)
{
    Fix *x = *state;
    const ml_ScheduleOpts so = {.render = ML_RENDER_NONE};
    const ml_Error *e;

    begin(x);
    for (int k = 0; k < 10; k++) {
        ml_Ctx *cx = ml_ctx_new(0), *home = ml_ctx_new(0);
        const ml_ParseOpts po = {.spelling = -1};
        const ml_Module *m = ml_parse(home, ml_str(matmul), &po).mod;
        ml_Schedule *s = ml_schedule_new(home, m, &so, &e);
        ml_Text text = {0};
        ml_Proposal p;

        assert_true(ml_tuner_propose(x->t, &p));
        assert_true(ml_tune_apply(cx, s, &(ml_Record){.trace = p.trace}));
        ml_print_module(cx, &text, ml_schedule_program(s).mod, NULL);
        assert_string_equal(ml_text_z(&text), p.program);
        ml_text_free(&text);
        ml_proposal_free(&p);
        ml_schedule_unref(s);
        ml_ctx_unref(home);
        ml_ctx_unref(cx);
    }
}

static void bad_requests_are_refused(void **state)
{
    Fix *x = *state;

    x->o.trials = -1;
    assert_null(ml_tuner_new(x->cx, &x->o));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_ARGUMENT);
    ml_error_clear(x->cx);
    x->o.trials = 0;
    x->o.n_sketches = 0;
    assert_null(ml_tuner_new(x->cx, &x->o));
    assert_int_equal(ml_error(x->cx)->code, ML_E_BAD_ARGUMENT);
    ml_error_clear(x->cx);
    x->o.n_sketches = 1;
    x->o.worker = "/nowhere/moonloop";
    assert_null(ml_tuner_new(x->cx, &x->o));
    assert_int_equal(ml_error(x->cx)->code, ML_E_NO_WORKER);
}

/* ---------------------------------------------------------------- whole searches */

static void a_search_measures_the_number_asked_for(void **state)
{
    Fix *x = *state;
    const ml_TuneStatus *s;
    const ml_Record *const *v;

    NEED_WORKER();
    x->o.trials = 12;
    x->o.n_sketches = 2;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    s = ml_tuner_status(x->t);
    assert_int_equal(s->done, 12);
    assert_int_equal(ml_tuner_records(x->t, &v), 12);
    for (size_t k = 0; k < 12; k++) {
        if (v[k]->error)
            fail_msg("%s in %s", v[k]->error, v[k]->phase);
    }
    assert_int_equal(s->final_of, 5);
    assert_true(s->final_turns >= 4);
    assert_true(s->best > 0 && s->best < 1);
    assert_true(s->flop == 2.0 * 32 * 48 * 64);
}

/* The five of the least minima, and the least median of them. */
static void the_fastest_five_are_measured_by_turns(void **state)
{
    Fix *x = *state;
    const ml_DbQuery q = {.any_seed = true};
    ml_DbQuery best = {.any_seed = true, .by_time = true, .limit = 1};
    ml_Record *v, *b;
    size_t n, of = 0, m;
    double worst = 0, least = 1;

    NEED_WORKER();
    x->db = x->o.db = ml_db_open(x->cx, x->kept.path);
    x->o.trials = 14;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(n, 14);
    for (size_t k = 0; k < n; k++)
        if (v[k].median > 0) {
            of++;
            worst = fmax(worst, ml_record_best(&v[k]));
            least = fmin(least, v[k].median);
        }
    assert_int_equal(of, 5);
    for (size_t k = 0; k < n; k++)
        assert_true(v[k].median > 0 || ml_record_best(&v[k]) >= worst);
    assert_true(ml_tuner_status(x->t)->best == least); /* the same number */
    assert_true(ml_db_records(x->db, x->cx, &best, &b, &m));
    assert_int_equal(b[0].id, ml_tuner_status(x->t)->best_record);
    assert_true(b[0].median == least);

    /* nothing is new: nothing is measured, and the same is the best */
    begin(x);
    assert_true(ml_tuner_status(x->t)->best == least);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(ml_tuner_status(x->t)->final_of, 0);
    assert_int_equal(ml_tuner_status(x->t)->best_record, b[0].id);

    /* the winner is measured again with whoever comes after */
    x->o.trials = 30;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    of = 0;
    for (size_t k = 0; k < n; k++)
        of += v[k].median > 0;
    if (ml_tuner_status(x->t)->final_of)
        assert_true(v[b[0].id - v[0].id].median > 0);
    assert_int_equal(of, 5);
}

/* As a scheduler of several tasks does it: some trials at a time, the turns at the end. */
static void a_paused_search_begins_nothing_and_goes_on(void **state)
{
    Fix *x = *state;
    const ml_TuneStatus *s;
    int64_t done;

    NEED_WORKER();
    x->o.trials = 40; /* several rounds of what is held back */
    begin(x);
    s = ml_tuner_status(x->t);
    while (s->done < 2)
        assert_int_equal(ml_tuner_step(x->t, x->cx, 1), ML_TUNE_MORE);
    ml_tuner_pause(x->t, true);
    for (int k = 0; k < 40; k++) /* what is at work still ends */
        assert_int_equal(ml_tuner_step(x->t, x->cx, 0.05), ML_TUNE_MORE);
    done = s->done;
    assert_true(done < 40);
    double elapsed = ml_tuner_status(x->t)->elapsed;

    for (int k = 0; k < 20; k++)
        assert_int_equal(ml_tuner_step(x->t, x->cx, 0.05), ML_TUNE_MORE);
    assert_int_equal(s->done, done);
    assert_true(ml_tuner_status(x->t)->elapsed == elapsed);
    ml_tuner_pause(x->t, false);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(s->done, 40);
}

static void a_search_that_is_done_goes_on_with_more(void **state)
{
    Fix *x = *state;
    const ml_TuneStatus *s;

    NEED_WORKER();
    x->o.trials = 4;
    begin(x);
    s = ml_tuner_status(x->t);
    ml_tuner_turns(x->t, false);
    for (int64_t k = 1; k <= 3; k++) {
        assert_int_equal(run(x), ML_TUNE_DONE);
        assert_int_equal(s->done, 4 * k);
        assert_int_equal(s->final_of, 0);
        if (k < 3)
            ml_tuner_more(x->t, 4);
    }
    ml_tuner_turns(x->t, true);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(s->done, 12);
    assert_int_equal(s->final_of, 5);
    ml_tuner_more(x->t, 20);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(s->done, 32);
    ml_tuner_more(x->t, INT64_MAX);
    assert_int_equal(ml_tuner_status(x->t)->total, ML_TUNE_MAX_TRIALS);
}

static void threads_alternate_building_and_timing(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.threads = 2;
    x->o.trials = 20;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(ml_tuner_status(x->t)->done, 20);
    assert_true(ml_tuner_status(x->t)->generation >= 2);
}

static void a_small_space_ends_the_search_early(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.sketches = &x->sketch[1];
    x->o.trials = 50;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(ml_tuner_status(x->t)->done, 6);
    assert_true(ml_tuner_status(x->t)->exhausted);
}

static void a_cancelled_search_goes_on_to_its_number(void **state)
{
    Fix *x = *state;
    ml_TuneState st = ML_TUNE_MORE;
    int64_t done;

    NEED_WORKER();
    x->db = x->o.db = ml_db_open(x->cx, x->kept.path);
    assert_non_null(x->db);
    x->o.trials = 18;
    begin(x);
    while (st == ML_TUNE_MORE) {
        st = ml_tuner_step(x->t, x->cx, 0.1);
        if (ml_tuner_status(x->t)->done >= 5)
            x->flag = 1;
    }
    assert_int_equal(st, ML_TUNE_CANCELLED);
    done = ml_tuner_status(x->t)->done;
    assert_true(done >= 5 && done < 18);
    x->flag = 0;
    x->o.trials = 0; /* as asked before */
    begin(x);
    assert_int_equal(ml_tuner_status(x->t)->total, 18);
    assert_int_equal(ml_tuner_status(x->t)->before, done);
    assert_true(isnan(ml_tuner_status(x->t)->eta)); /* nothing was measured yet */
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_int_equal(ml_tuner_status(x->t)->done, 18);
    assert_true(ml_tuner_status(x->t)->eta == 0);

    const ml_DbQuery q = {.any_seed = true};
    ml_Record *v;
    size_t n;

    assert_true(ml_db_records(x->db, x->cx, &q, &v, &n));
    assert_int_equal(n, 18);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++)
            assert_string_not_equal(v[a].trace, v[b].trace);
}

static void fresh_begins_anew_and_stays_so(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->db = x->o.db = ml_db_open(x->cx, x->kept.path);
    x->o.trials = 4;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    x->o.fresh = true;
    x->o.trials = 6;
    begin(x);
    assert_int_equal(ml_tuner_status(x->t)->before, 0);
    assert_int_equal(run(x), ML_TUNE_DONE);
    x->o.fresh = false;
    x->o.trials = 0;
    begin(x);
    assert_int_equal(ml_tuner_status(x->t)->before, 6);
    assert_int_equal(ml_tuner_status(x->t)->total, 6);
}

static void another_seed_or_thread_count_has_its_own_number(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->db = x->o.db = ml_db_open(x->cx, x->kept.path);
    x->o.trials = 3;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    x->o.seed = 2;
    begin(x);
    assert_int_equal(ml_tuner_status(x->t)->before, 0);
    x->o.seed = 1;
    x->o.threads = 2;
    begin(x);
    assert_int_equal(ml_tuner_status(x->t)->before, 0);
    x->o.threads = 1;
    begin(x);
    assert_int_equal(ml_tuner_status(x->t)->before, 3);
}

static void without_a_database_records_are_in_memory(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.db = NULL;
    x->o.trials = 3;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    ml_Db *own = ml_tuner_take_db(x->t);

    assert_non_null(own);
    assert_string_equal(ml_db_path(own), ":memory:");
    int64_t n;

    assert_true(ml_db_count(own, x->cx, &(ml_DbQuery){.any_seed = true}, &n));
    assert_int_equal(n, 3);
    ml_db_close(own);
}

static void two_searches_share_one_file(void **state)
{
    Fix *x = *state;
    ml_Tuner *a, *b;
    ml_TuneState sa = ML_TUNE_MORE, sb = ML_TUNE_MORE;
    int64_t n;

    NEED_WORKER();
    x->db = x->o.db = ml_db_open(x->cx, x->kept.path);
    x->o.trials = 20;
    x->o.n_workers = 1;
    begin(x);
    a = x->t;
    x->t = NULL;
    begin(x);
    b = x->t;
    while (sa == ML_TUNE_MORE || sb == ML_TUNE_MORE) {
        if (sa == ML_TUNE_MORE)
            sa = ml_tuner_step(a, x->cx, 0.02);
        if (sb == ML_TUNE_MORE)
            sb = ml_tuner_step(b, x->cx, 0.02);
    }
    assert_int_equal(sa, ML_TUNE_DONE);
    assert_int_equal(sb, ML_TUNE_DONE);
    assert_true(ml_db_count(x->db, x->cx, &(ml_DbQuery){.any_seed = true}, &n));
    assert_true(n >= 20 && n <= 40);
    ml_tuner_free(a);
}

static void a_time_limit_ends_the_search(void **state)
{
    Fix *x = *state;

    NEED_WORKER();
    x->o.trials = 100000;
    x->o.seconds = 0.5;
    begin(x);
    assert_int_equal(run(x), ML_TUNE_DONE);
    assert_true(ml_tuner_status(x->t)->done < 100000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_first_proposal_is_the_rules_own),
        T(one_seed_proposes_the_same_another_others),
        T(no_program_is_proposed_twice_and_a_space_ends),
        T(sketches_of_like_decisions_are_all_tried),
        T(a_proposal_is_a_trace_that_gives_its_program),
        T(bad_requests_are_refused),
        T(a_search_measures_the_number_asked_for),
        T(the_fastest_five_are_measured_by_turns),
        T(a_paused_search_begins_nothing_and_goes_on),
        T(a_search_that_is_done_goes_on_with_more),
        T(threads_alternate_building_and_timing),
        T(a_small_space_ends_the_search_early),
        T(a_cancelled_search_goes_on_to_its_number),
        T(fresh_begins_anew_and_stays_so),
        T(another_seed_or_thread_count_has_its_own_number),
        T(without_a_database_records_are_in_memory),
        T(two_searches_share_one_file),
        T(a_time_limit_ends_the_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
