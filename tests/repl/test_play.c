/*
 * Chapters that are played: what was typed and what came of it are written; a line that does
 * not do what the chapter says of it stops the writing, and is named. Source: interaction 4
 * (Help).
 */
#include "repl/fixture.h"

#include "repl/manual/play.h"

#define MATMUL "s = schedule(workload.matmul(8, 8, 8))\n"

static bool play(ml_Session *ss, const ml_ManualStep *steps, size_t n, ml_Text *page,
                 ml_Text *why)
{
    ml_ManualPage p = {.form = &ml_manual_html, .ss = ss, .out = page};

    return ml_manual_play(&p, steps, n, why);
}

static void what_is_played_is_written(void **state)
{
    static const ml_ManualStep STEPS[] = {
        {ML_DO_TITLE, "A & B"},
        {ML_DO_SAY, "x < y"},
        {ML_DO_THERE, "f.tile(x, y);"},
        {ML_DO_TYPE, MATMUL "split(\"i\", {auto, 4});\n"},
        {ML_DO_REFUSED, "parallel(\"k\")\n"},
        {ML_DO_TYPE, "print(\"\\255\")\n"},
    };
    static const char *const PARTS[] = {
        "<h3>A &amp; B</h3>",         "<p>x &lt; y</p>",     "<pre>f.tile(x, y);</pre>",
        "split(&quot;i&quot;, {auto", "[iter-not-parallel]", "\n\xef\xbf\xbd\n",
    };
    ml_Text page = {0}, why = {0};

    assert_true(play(*state, STEPS, ML_COUNT(STEPS), &page, &why));
    assert_int_equal(why.n, 0);
    for (size_t k = 0; k < ML_COUNT(PARTS); k++)
        if (!strstr(ml_text_z(&page), PARTS[k]))
            fail_msg("no %s in %s", PARTS[k], ml_text_z(&page));
    ml_text_free(&page);
    ml_text_free(&why);
}

static void a_line_that_does_otherwise_stops_it(void **state)
{
    static const struct {
        ml_ManualStep step;
        const char *says;
    } CASES[] = {
        {{ML_DO_TYPE, MATMUL "parallel(\"k\")\nsplit(\"i\", {auto, 4})\n"},
         "iter-not-parallel"},
        {{ML_DO_TYPE, "nothing()\n"}, "nothing()"},
        {{ML_DO_REFUSED, MATMUL "parallel(\"i\")\n"}, "no line was refused"},
        {{ML_DO_MEASURE, MATMUL ":time --runs x\n"}, "--runs"},
    };

    for (size_t k = 0; k < ML_COUNT(CASES); k++) {
        ml_Text page = {0}, why = {0};

        assert_false(play(*state, &CASES[k].step, 1, &page, &why));
        if (!strstr(ml_text_z(&why), "the manual is not written") ||
            !strstr(ml_text_z(&why), CASES[k].says))
            fail_msg("%s is not in: %s", CASES[k].says, ml_text_z(&why));
        ml_text_free(&page);
        ml_text_free(&why);
    }
}

static bool one_pair(ml_Session *ss, const char *here, ml_Text *page, ml_Text *why)
{
    const ml_FromPair pair = {"a < b", here, "a note", MATMUL "reorder(\"k\", \"j\")"};
    const ml_FromTable table = {"Pairs", &pair, 1};
    const ml_From from = {"There", "there", "", MATMUL, &table, 1};
    ml_ManualPage p = {.form = &ml_manual_html, .ss = ss, .out = page};

    return ml_manual_pairs(&p, &from, &table, why);
}

static void a_pair_is_run_and_what_it_made_is_compared(void **state)
{
    ml_Text page = {0}, why = {0};

    assert_true(
        one_pair(*state, "split(\"i\", {auto, 4})\nparallel(\"i_0\")", &page, &why));
    assert_non_null(strstr(ml_text_z(&page), "<pre>a &lt; b</pre>"));
    assert_non_null(
        strstr(ml_text_z(&page), "<pre>reorder(&quot;k&quot;, &quot;j&quot;)\nsplit"));
    assert_non_null(strstr(ml_text_z(&page), "<p>a note</p>"));
    assert_false(one_pair(*state, "split(\"q\", {auto, 4})", &page, &why));
    assert_non_null(strstr(ml_text_z(&why), "split(\"q\""));
    ml_text_clear(&why);
    /* Every line is right, and what they make computes something else. */
    assert_false(one_pair(*state,
                          "cache_read(\"C\", \"A\", \"global\")\n"
                          "unsafe_set_dtype(\"A_global\", 0, \"float16\")",
                          &page, &why));
    assert_non_null(strstr(ml_text_z(&why), "moon.check"));
    ml_text_free(&page);
    ml_text_free(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(what_is_played_is_written),
        FIXTURE(a_line_that_does_otherwise_stops_it),
        FIXTURE(a_pair_is_run_and_what_it_made_is_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
