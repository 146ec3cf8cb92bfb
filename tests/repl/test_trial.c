/*
 * Calls tried while they are typed: what is said of them, what is not tried, and that
 * nothing of a trial stays. Source: interaction 4 (live checks).
 */
#include "repl/fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "moonloop/core/ctx.h"
#include "repl/line/trial.h"

enum { LONG_MS = 600000 }; /* no test fails because the machine is busy */

static void expect(ml_Session *ss, const char *line, ml_TrialKind kind, const char *says)
{
    ml_Trial t;

    ml_trial(ss, line, LONG_MS, false, &t);
    if (t.kind != kind || !ml_streq(ml_text_z(&t.says), says))
        fail_msg("%s: kind %d, says: %s", line, (int)t.kind, ml_text_z(&t.says));
    assert_null(t.result);
    ml_trial_free(&t);
}

static void works(ml_Session *ss, const char *line, const char *says)
{
    expect(ss, line, ML_TRIAL_WORKS, says);
}

static void fails(ml_Session *ss, const char *line, const char *says)
{
    expect(ss, line, ML_TRIAL_FAILS, says);
}

static void untried(ml_Session *ss, const char *line)
{
    expect(ss, line, ML_TRIAL_NONE, "");
}

static void a_call_says_what_it_makes(void **state)
{
    works(*state, "split(\"i\", {auto, 16})", "makes i_0[6] i_1[16]");
    works(*state, "s:split(\"i\", {auto, 16})", "makes i_0[6] i_1[16]");
    works(*state, "s:split{loop = \"j\", factors = {moon.auto, 4}}",
          "makes j_0[16] j_1[4]");
    works(*state, "split('i', {auto, 50}) -- half",
          "makes i_0[2] i_1[50], adds a guard "
          "i_0 * 50 + i_1 < 96");
    works(*state, "decompose_reduction(\"C\", \"k\");", "makes C_init, C_update");
    works(*state, "reorder(\"k\", \"j\")", "reorder works");
    works(*state, "get_loops(\"C\")", "gives i, j, k");
    works(*state, "cache_read('C', 'A', 'shared')", "makes A_shared (12 KiB)");
}

static void several_calls_are_tried_in_order(void **state)
{
    works(*state, "split(\"i\", {auto, 16}) vectorize(\"i_1\")",
          "makes i_0[6] i_1[16], vectorize works");
    works(*state, "local l = split(\"i\", {auto, 16}); reorder(l[2], l[1])",
          "makes i_0[6] i_1[16], reorder works");
    works(*state, "b = cache_write(\"C\", 0, \"local\")\nget_loops(b)",
          "makes C_local (24 KiB), gives ax0, ax1");
    fails(*state, "split(\"i\", {auto, 16}) vectorize(\"i\")",
          "vectorize: no loop is named i");
}

static void a_call_that_fails_says_why(void **state)
{
    fails(*state, "split(\"i\", {10, 2})",
          "factors 10 × 2 = 20 do not cover loop i, extent 96");
    fails(*state, "vectorize(\"k\")", "loop k drives the reduction iter vk of block C");
    fails(*state, "split(\"ii\", {2, auto})", "no loop is named ii");
    fails(*state, "split{loop = \"i\", factor = 2, factors = {2}}",
          "split: factors is given twice");
    fails(*state, "split{lop = \"i\"}", "split has no parameter lop; did you mean loop?");
    fails(*state, "split()", "loop is missing: the loop to cut");
}

static void names_of_lua_are_looked_up(void **state)
{
    run_line(*state, "l = loops(\"C\")");
    run_line(*state, "i, n, names = l[1], 16, {\"i\", \"j\"}");
    works(*state, "split(i, {auto, n})", "makes i_0[6] i_1[16]");
    works(*state, "s:split(l[2], {auto, n})", "makes j_0[4] j_1[16]");
    works(*state, "reorder(l[2], l[1])", "reorder works");
    works(*state, "fuse(names)", "makes i_j_fused[6144]");
    untried(*state, "split(unknown, {auto, 4})");
    untried(*state, "split(l[9], {auto, 4})");
    untried(*state, "split(l[0], {auto, 4})");
    untried(*state, "split(print, {auto, 4})");
}

static void a_sign_that_lua_does_not_have_is_named(void **state)
{
    fails(*state, "split(\"i\", {16?})", "? means nothing in Lua");
    fails(*state, "split(\"i\", {auto, $4", "$ means nothing in Lua");
    untried(*state, "split(\"i\", \"?");
}

static void what_is_no_complete_call_is_not_tried(void **state)
{
    static const char *const LINES[] = {
        "",
        " ",
        "(",
        "split",
        "split(",
        "split(\"i\"",
        "split(\"i\", {auto, 4}",
        "split(\"i\", {auto, 2 * 2})",
        "split(\"i\", {auto, 4})[1]",
        "split(\"i\", {auto, 4}) .. x",
        "if true then split(\"i\", {auto, 4}) end",
        "split(loop = \"i\", factors = {2})",
        "print(split(\"i\", {auto, 4}))",
        "t:split(\"i\", {auto, 4})",
        "moon.split(\"i\", {auto, 4})",
        ":split(\"i\")",
        "?split()",
        "x == split(\"i\", {auto, 4})",
        "f = function() end",
        "split(\"i\", {auto, 4}) end",
        "-- split(\"i\", {auto, 4})",
        "\"split(\"",
        "@T.prim_func(x)",
        "\xff\xfe(\x01",
        "split(\"i\", {auto, 4}) undo()",
    };

    for (size_t k = 0; k < ML_COUNT(LINES); k++)
        untried(*state, LINES[k]);
    run_line(*state, "split = function() end");
    untried(*state, "split(\"i\", {auto, 4})"); /* the user's own */
    works(*state, "s:split(\"i\", {auto, 4})", "makes i_0[24] i_1[4]");
    run_line(*state, "other = schedule(workload.matmul(8, 8, 8))");
    untried(*state, "s:split(\"i\", {auto, 4})"); /* not the focus any more */
    works(*state, "other:split(\"i\", {auto, 4})", "makes i_0[2] i_1[4]");
}

static void without_a_focus_nothing_is_tried(void **state)
{
    ml_session_focus(*state, NULL);
    untried(*state, "split(\"i\", {auto, 4})");
}

static void no_metamethod_and_no_function_runs(void **state)
{
    run_line(*state, "hit = 0");
    run_line(*state, "trap = setmetatable({}, {__index = function() hit = hit + 1 end, "
                     "__len = function() hit = hit + 1 return 2 end})");
    run_line(*state, "map = function(a, b) hit = hit + 1 return b, a end");
    untried(*state, "split(trap[1], {auto, 4})");
    untried(*state, "transform_layout(\"C\", \"A\", map)");
    run_line(*state, "assert(hit == 0)");
}

static long resident_kib(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (!f)
        return 0;
    if (fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void nothing_of_a_trial_stays(void **state)
{
    static const char *const LINES[] = {
        "split(\"i\", {auto, 16})", "x = sample_perfect_tile(\"i\", 2)", "vectorize(\"k\")",
        "split(\"nothing\", {auto, 16})", "cache_read(\"C\", \"A\", \"local\")"};
    enum { N = 10000, WARM = 500 };
    ml_Session *ss = *state;
    ml_Schedule *s = ss->focus;
    long before = 0;
    size_t bytes = 0, held = 0;

    run_line(ss, "split(\"j\", {auto, 4})");
    ml_State was = ml_schedule_state(s);
    uint64_t hash = ml_schedule_hash(s);

    for (int k = 0; k < N; k++) {
        ml_Trial t;

        if (k == WARM) {
            before = resident_kib();
            bytes = ml_ctx_bytes(ml_schedule_ctx(s));
            held = ml_host_memory(ss->host);
        }
        ml_trial(ss, LINES[(size_t)k % ML_COUNT(LINES)], LONG_MS, false, &t);
        assert_int_not_equal(t.kind, ML_TRIAL_NONE);
        ml_trial_free(&t);
    }
    ml_State now = ml_schedule_state(s);

    assert_int_equal(now.version, was.version);
    assert_ptr_equal(now.trace, was.trace);
    assert_int_equal(now.random, was.random);
    assert_int_equal(ml_schedule_n_versions(s), 2);
    assert_true(ml_schedule_hash(s) == hash);
    assert_int_equal(ml_ctx_bytes(ml_schedule_ctx(s)), bytes);
    assert_true(ml_host_memory(ss->host) <= held + 64 * 1024);
    if (getenv("ASAN_OPTIONS") == NULL)
        assert_true(resident_kib() - before < 4096);
    run_line(ss, "assert(x == nil)");
    run_line(ss, "split(\"i\", {auto, 16})"); /* and the next step is the next version */
    assert_int_equal(ml_schedule_version(s), 2);
}

static void a_kept_trial_shows_the_program_after_it(void **state)
{
    ml_Session *ss = *state;
    ml_Trial t;

    ml_trial(ss, "split(\"i\", {auto, 16})", LONG_MS, true, &t);
    assert_int_equal(t.kind, ML_TRIAL_WORKS);
    assert_non_null(t.result);
    ml_Text text = {0};

    ml_schedule_print(t.result, ml_schedule_version(t.result), &text, NULL);
    assert_non_null(
        strstr(ml_text_z(&text), "for i_0, i_1, j, k in T.grid(6, 16, 64, 32)"));
    ml_text_free(&text);
    ml_trial_free(&t);
    assert_null(t.result);
    ml_trial(ss, "split(\"i\", {10, 2})", LONG_MS, true, &t);
    assert_null(t.result);
    assert_int_equal(t.code, ML_E_FACTORS_TOO_SMALL);
    ml_trial_free(&t);
    run_line(ss, "split(\"i\", {auto, 8})");
}

static void out_of_time_it_says_nothing(void **state)
{
    ml_Trial t;

    ml_trial(*state, "split(\"i\", {auto, 16})", 0, true, &t);
    assert_int_equal(t.kind, ML_TRIAL_NONE);
    assert_string_equal(ml_text_z(&t.says), "");
    ml_trial_free(&t);
}

static void a_deadline_ends_work_under_way(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    unsigned long n = 0;

    ml_ctx_set_deadline(cx, 1);
    ml_Ctx *child = ml_ctx_fork(cx);

    while (ml_tick(child))
        n++;
    assert_int_equal(ml_error(child)->code, ML_E_INTERRUPTED);
    ml_ctx_unref(child);
    ml_ctx_set_deadline(cx, 0);
    for (unsigned long k = 0; k < 1000; k++)
        assert_true(ml_tick(cx));
    assert_true(ml_poll_cancel(cx));
    ml_ctx_unref(cx);
}

static const struct itimerval SOON = {.it_value = {.tv_usec = 50}}, NEVER;

/* Others have the machine now and then: that is no work of this thread. */
static void on_alarm(int sig)
{
    (void)sig;
    poll(NULL, 0, 30);
    setitimer(ITIMER_REAL, &SOON, NULL);
}

static void a_busy_machine_takes_no_time_from_it(void **state)
{
    struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, was;
    ml_Trial t;

    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, &was);
    setitimer(ITIMER_REAL, &SOON, NULL);
    ml_trial(*state, "split(\"i\", {auto, 16})", 20, false, &t);
    setitimer(ITIMER_REAL, &NEVER, NULL);
    sigaction(SIGALRM, &was, NULL);
    assert_int_equal(t.kind, ML_TRIAL_WORKS);
    ml_trial_free(&t);
}

static void a_candidate_is_judged_without_a_line(void **state)
{
    ml_Text why = {0};
    ml_Arg args[] = {ML_ARG_STR("k")}, good[] = {ML_ARG_STR("j")};

    assert_int_equal(ml_trial_call(*state, "vectorize", args, 1, &why),
                     ML_E_ITER_NOT_PARALLEL);
    assert_string_equal(ml_text_z(&why), "loop k drives the reduction iter vk of block C");
    ml_text_clear(&why);
    assert_int_equal(ml_trial_call(*state, "vectorize", good, 1, &why), ML_E_OK);
    assert_string_equal(ml_text_z(&why), "");
    ml_text_free(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(a_call_says_what_it_makes),
        FIXTURE(several_calls_are_tried_in_order),
        FIXTURE(a_call_that_fails_says_why),
        FIXTURE(names_of_lua_are_looked_up),
        FIXTURE(a_sign_that_lua_does_not_have_is_named),
        FIXTURE(what_is_no_complete_call_is_not_tried),
        FIXTURE(without_a_focus_nothing_is_tried),
        FIXTURE(no_metamethod_and_no_function_runs),
        FIXTURE(nothing_of_a_trial_stays),
        FIXTURE(a_kept_trial_shows_the_program_after_it),
        FIXTURE(out_of_time_it_says_nothing),
        FIXTURE(a_deadline_ends_work_under_way),
        FIXTURE(a_busy_machine_takes_no_time_from_it),
        FIXTURE(a_candidate_is_judged_without_a_line),
    };
#undef EACH

    return cmocka_run_group_tests(tests, NULL, NULL);
}
