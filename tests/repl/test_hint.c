/*
 * The rows below a line: a line with the cursor marked by |, what is said, and the part of
 * it that is emphasised between < and >. Source: interaction 4.
 */
#include "repl/fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "repl/line/hint.h"
#include "repl/run/run.h"

static void marked(const ml_Hint *h, ml_Text *out)
{
    size_t at = 0;

    for (size_t k = 0; k < h->spans.n; k++) {
        ml_RoleSpan s = h->spans.v[k];

        assert_true(s.from >= at && s.to <= strlen(h->text));
        ml_text_addn(out, h->text + at, s.from - at);
        ml_text_fmt(out, "<%.*s>", (int)(s.to - s.from), h->text + s.from);
        at = s.to;
    }
    if (h->text)
        ml_text_add(out, h->text + at);
}

static void says_in(ml_Session *ss, const char *line, int width, const char *want)
{
    char text[200];
    const char *bar = strchr(line, '|');
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text got = {0};

    snprintf(text, sizeof text, "%.*s%s", (int)(bar - line), line, bar + 1);
    ml_Hint h = ml_hint(ss, cx, text, (size_t)(bar - line), width);

    marked(&h, &got);
    if (!ml_streq(ml_text_z(&got), want))
        fail_msg("%s: %s", line, ml_text_z(&got));
    ml_text_free(&got);
    ml_ctx_unref(cx);
}

static void says(ml_Session *ss, const char *line, const char *want)
{
    says_in(ss, line, 400, want);
}

static void the_current_parameter_is_marked(void **state)
{
    static const char REST[] =
        ", preserve_unit_iters = true, disable_predication = false)  ";
    char want[300];

    snprintf(want, sizeof want, "split(<loop>, factors%sthe loop to cut", REST);
    says(*state, "split(|", want);
    says(*state, "split(|\"i\", 2)", want);
    says(*state, "x = s:split(\"i|", want);
    snprintf(
        want, sizeof want,
        "split(loop, <factors>%sextents of the new loops, outermost first; auto: the rest",
        REST);
    says(*state, "split(\"i\", |", want);
    says(*state, "split(\"i\", {auto, 4|}", want);
    says(*state, "can_split(\"i\", {auto, 4|}", want);
    says(*state, "split{factors = {2|", want);
    snprintf(want, sizeof want, "split(loop, factors%scut a loop into nested loops", REST);
    says(*state, "split{|", want);
}

static void loops_one_by_one_are_one_parameter(void **state)
{
    says(*state, "reorder(\"i\", \"j|",
         "reorder(<loops…>)  the loops in their new order; unlisted ones stay");
}

static void outside_of_calls_nothing_is_said(void **state)
{
    says(*state, "split(\"i\")|", "");
    says(*state, "|split(\"i\")", "");
    says(*state, "unknown(|", "");
    says(*state, "-- split(|", "");
    says(*state, "@T.prim_func(|", "");
    says(*state, "|", "");
}

static void functions_and_methods_have_their_signature(void **state)
{
    says(*state, "moon.build(|",
         "moon.build(<program> [, opts])  compile for a processor: "
         "gives a kernel, to be called like a function");
    says(*state, "schedule(s, |",
         "moon.schedule(program [, <opts>])  a schedule to work on");
    says(*state, "s:tree(|", "s:tree()  the loop tree as text");
    says(*state, "print(split(\"i\", 4), f(|", "");
    ml_run(*state, NULL, "split = function() end");
    says(*state, "split(|", ""); /* the user's own */
}

static void commands_show_their_words(void **state)
{
    says(*state, ":undo |", ":undo <[N|step [N]]>  take back the last line (or one step)");
    says(*state, ":und |", ":undo <[N|step [N]]>  take back the last line (or one step)");
    says(*state, ":undo|", "");
    says(*state, ":nothing |", "");
}

static void where_it_is_narrow_what_may_be_left_out_is(void **state)
{
    says_in(*state, "split(|", 60, "split(<loop>, factors, ...)  the loop to cut");
    says_in(*state, "split(\"i\", 2, |", 60,
            "split(loop, factors, <preserve_unit_iters>, ...)  keep bindings of extent-1 "
            "iters");
}

static void tried(ml_Session *ss, const char *line, const char *want)
{
    ml_Trial t;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_Text got = {0};

    ml_trial(ss, line, 600000, false, &t);
    ml_Hint h = ml_hint_trial(ss, cx, &t);

    marked(&h, &got);
    assert_string_equal(ml_text_z(&got), want);
    ml_text_free(&got);
    ml_trial_free(&t);
    ml_ctx_unref(cx);
}

static void a_trial_is_told_in_a_row(void **state)
{
    ml_Session *ss = *state;

    tried(ss, "split(\"i\", {auto, 16})", "<✓> makes i_0[6] i_1[16]");
    tried(ss, "vectorize(\"k\")",
          "<✗> loop k drives the reduction iter vk of block C  [iter-not-parallel]");
    tried(ss, "split(\"i\"", "");
    ss->out.ascii = true;
    tried(ss, "split(\"i\", {auto, 16})", "<ok:> makes i_0[6] i_1[16]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(the_current_parameter_is_marked),
        FIXTURE(loops_one_by_one_are_one_parameter),
        FIXTURE(outside_of_calls_nothing_is_said),
        FIXTURE(functions_and_methods_have_their_signature),
        FIXTURE(commands_show_their_words),
        FIXTURE(where_it_is_narrow_what_may_be_left_out_is),
        FIXTURE(a_trial_is_told_in_a_row),
    };
#undef EACH

    return cmocka_run_group_tests(tests, NULL, NULL);
}
