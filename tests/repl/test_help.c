/*
 * Help and explanation as the program shows them: every name has a topic, and its example
 * runs; typed examples of error codes break the rule. Source: interaction 4 (Help), 7.
 */
#include "repl/fixture.h"

#include <stdlib.h>

#include "repl/cmd/help_impl.h"
#include "repl/command/command.h"
#include "repl/out/wrap.h"
#include "repl/run/run.h"
#include "repl/run/scratch.h"

static int begin(void **state)
{
    ml_Session *ss = calloc(1, sizeof *ss);

    open_session(ss, 80, ML_MODE_TYPED);
    ss->batch = ss->no_history = ss->private_ = true;
    *state = ss;
    return 0;
}

/* What a line prints; ok: whether it must go well. */
static void line(ml_Session *ss, const char *text, bool ok, ml_Text *out)
{
    ml_text_clear(out);
    ss->out.sink.out = ss->out.sink.err = out;
    if (ml_run(ss, NULL, text) != ok)
        fail_msg("%s: %s", text, ml_text_z(out));
    ss->out.sink.out = ss->out.sink.err = NULL;
}

static void typed_examples_break_their_rule(void **state)
{
    static const char check[] =
        "local shown = 0\n"
        "for _, code in ipairs(moon.codes()) do\n"
        "    local e = moon.explain(code)\n"
        "    if e.form == 'typed' then\n"
        "        local bad, fine = e.run('example'), e.run('counter_example')\n"
        "        assert(bad and bad.code == code, code .. ': ' .. tostring(bad and "
        "bad.text))\n"
        "        assert(fine == nil, code .. ': ' .. tostring(fine and fine.text))\n"
        "        shown = shown + 1\n"
        "    end\n"
        "end\n"
        "print('shown ' .. shown)\n";
    ml_Text got = {0};

    if (!ml_host_example(((ml_Session *)*state)->host, check, &got) ||
        !strstr(ml_text_z(&got), "shown "))
        fail_msg("%s", ml_text_z(&got));
    assert_null(strstr(ml_text_z(&got), "shown 0"));
    ml_text_free(&got);
}

static void who_comes_from_elsewhere_is_told_what_to_type(void **state)
{
    static const char *const CASES[][3] = {
        {":help tvm", "sch.reorder(i, k, j)", "reorder(\"i\", \"k\", \"j\")"},
        {":help Halide", "bx.compute_at(by, yo);", "compute_at(\"bx\", \"y_1_0\")"},
    };
    ml_Text got = {0};

    for (size_t k = 0; k < ML_COUNT(CASES); k++) {
        line(*state, CASES[k][0], true, &got);
        const char *there = strstr(ml_text_z(&got), CASES[k][1]);

        assert_non_null(there);
        assert_non_null(strstr(there, CASES[k][2]));
        assert_non_null(strstr(ml_text_z(&got), "the tables begin with\n"));
    }
    ml_text_free(&got);
}

/* Lines of a scratch session neither see nor change the one around it. */
static void scratch_lines_stay_apart(void **state)
{
    ml_Session *ss = *state;
    ml_Text out = {0};

    line(ss, "x = 1", true, &out);
    line(ss, "s = schedule(workload.matmul(4, 4, 4))", true, &out);
    ml_Schedule *focus = ss->focus;

    ml_text_clear(&out);
    assert_int_equal(ml_scratch_run(ss,
                                    "tostring(x)\ns = schedule(workload.matmul(8, 8, 8))\n"
                                    "split(\"i\", {2,\n4});\n:save f.py\nx = 2\n:histor 1",
                                    &out),
                     ML_E_OK);
    assert_string_equal(ml_text_z(&out), "> tostring(x)\n\"nil\"\n"
                                         "> s = schedule(workload.matmul(8, 8, 8))\n"
                                         "focus: matmul v0   block C   loops i, j, k   "
                                         "1.02 kFLOP\n"
                                         "matmul v0> split(\"i\", {2,\n"
                                         "           4});\n"
                                         "matmul v1> :save f.py\n"
                                         "saved f.py\n"
                                         "matmul v1> x = 2\n"
                                         "matmul v1> :histor 1\n"
                                         "    6  :histor 1\n");
    assert_ptr_equal(ss->focus, focus);
    line(ss, "x", true, &out);
    assert_string_equal(ml_text_z(&out), "1\n");
    ml_text_clear(&out);
    assert_int_equal(ml_scratch_run(ss, "split(\"i\", {2})\n1 +\n:quit\n2", &out),
                     ML_E_UNKNOWN_NAME);
    assert_null(strstr(ml_text_z(&out), "> 2"));
    assert_non_null(strstr(ml_text_z(&out), "> :quit"));
    ml_text_free(&out);
}

/* :help NAME goes well, begins with `first`, and none of its examples fails. */
static void has_help(ml_Session *ss, const char *name, const char *first)
{
    ml_Text ask = {0}, out = {0};

    ml_text_fmt(&ask, ":help %s", name);
    line(ss, ml_text_z(&ask), true, &out);
    if (strncmp(ml_text_z(&out), first, strlen(first)) != 0)
        fail_msg(":help %s begins otherwise: %s", name, ml_text_z(&out));
    const char *second = strchr(ml_text_z(&out), '\n');

    if (!second || strlen(second) < 10 || strncmp(second, "\n  ", 3) != 0)
        fail_msg(":help %s says nothing in its second line: %s", name, ml_text_z(&out));
    ml_text_free(&ask);
    ml_text_free(&out);
}

/* The rest of a line of what was printed, behind `begin`; NULL: no line begins so. */
static const char *line_of(const char *out, const char *begin)
{
    for (const char *p = out; p; p = strchr(p, '\n'), p += p != NULL)
        if (strncmp(p, begin, strlen(begin)) == 0)
            return p + strlen(begin);
    return NULL;
}

static void every_primitive_and_its_can_has_help(void **state)
{
    ml_Session *ss = *state;
    ml_Text out = {0}, name = {0}, first = {0};

    for (size_t k = 0; k < ml_n_primitives; k++) {
        const ml_Primitive *p = ml_primitives[k];

        ml_text_clear(&first);
        ml_text_fmt(&first, "%s(", p->name);
        has_help(ss, p->name, ml_text_z(&first));
        if (p->no_version)
            continue;
        ml_text_clear(&name);
        ml_text_fmt(&name, ":help can_%s", p->name);
        line(ss, ml_text_z(&name), true, &out);
        if (!line_of(ml_text_z(&out), "  true"))
            fail_msg("%s: %s", ml_text_z(&name), ml_text_z(&out));
    }
    ml_text_free(&out);
    ml_text_free(&name);
    ml_text_free(&first);
}

static void every_command_and_setting_has_help_and_lines_that_run(void **state)
{
    static const char *const FAIL[] = {"explain", "memory-limit", "errors", "atomic",
                                       "bisect"};
    ml_Session *ss = *state;
    ml_Text name = {0}, first = {0}, out = {0};
    ml_HostTopic t;

    for (size_t k = 0; k < ml_n_commands + ML_SETTINGS; k++) {
        bool command = k < ml_n_commands, fails = false;
        int id = (int)(k - ml_n_commands);

        ml_text_clear(&name);
        ml_text_clear(&first);
        ml_text_add(&name, command ? ":" : "set:");
        if (command)
            ml_text_add(&name, ml_commands[k].name);
        else
            ml_help_setting_name(&name, id);
        ml_text_fmt(&first, "%s%s", command ? "" : ":set ",
                    ml_text_z(&name) + (command ? 0 : 4));
        has_help(ss, ml_text_z(&name), ml_text_z(&first));
        if (command && !ml_commands[k].run)
            continue;
        if (!ml_host_topic(ss->host, ml_text_z(&name), &t) || !t.lines.n)
            fail_msg("%s has no example", ml_text_z(&name));
        for (size_t j = 0; j < ML_COUNT(FAIL); j++) /* what they show is a failure */
            fails |= strstr(ml_text_z(&name), FAIL[j]) != NULL;
        ml_text_clear(&out);
        if ((ml_scratch_run(ss, ml_text_z(&t.lines), &out) != ML_E_OK) != fails)
            fail_msg("%s: %s", ml_text_z(&name), ml_text_z(&out));
        ml_host_topic_free(&t);
    }
    ml_text_free(&name);
    ml_text_free(&first);
    ml_text_free(&out);
}

static void run_topic(const char *name, const char *summary, const char *text, void *user)
{
    ml_Session *ss = user;
    ml_Text out = {0};
    ml_HostTopic t;

    (void)text;
    assert_true(ml_host_topic(ss->host, name, &t));
    if (*summary && t.example.n && !ml_scratch_example(ss, ml_text_z(&t.example), &out))
        fail_msg("%s: %s", name, ml_text_z(&out));
    ml_host_topic_free(&t);
    ml_text_free(&out);
}

static void every_example_of_a_topic_runs(void **state)
{
    ml_host_topics(((ml_Session *)*state)->host, run_topic, *state);
}

static void wrapped(const char *text, size_t indent, size_t width, const char *want)
{
    ml_Text out = {0};

    ml_wrap(&out, text, indent, width);
    assert_string_equal(ml_text_z(&out), want);
    ml_text_free(&out);
}

static void paragraphs_are_joined_and_folded(void **state)
{
    (void)state;
    wrapped("one two\nthree\n\nfour", 2, 80, "  one two three\n\n  four\n");
    wrapped("one two\nthree\n\nfour", 2, 9, "  one two\n  three\n\n  four\n");
    wrapped("see:\n  for i in x:\n      y\nand so\non", 0, 8,
            "see:\n  for i in x:\n      y\nand so\non\n");
    wrapped("two:\n- the first\n  item\n- b\n\nend", 1, 12,
            " two:\n - the first\n   item\n - b\n\n end\n");
    wrapped("× × × ×", 0, 3, "× ×\n× ×\n");
    wrapped("an_extraordinary name", 2, 10, "  an_extraordinary\n  name\n");
    wrapped("", 2, 10, "");
    wrapped("a b", 0, 0, "a b\n");
}

static void row(const char *name, const char *text, size_t width, const char *want)
{
    ml_Text out = {0};

    ml_wrap_row(&out, name, text, 2, 12, width);
    assert_string_equal(ml_text_z(&out), want);
    ml_text_free(&out);
}

static void a_table_stands_beside_its_names_or_below(void **state)
{
    (void)state;
    row("loop", "the loop to cut into two nested loops", 40,
        "  loop      the loop to cut into two\n"
        "            nested loops\n");
    row("a_long_name", "the loop", 40, "  a_long_name\n            the loop\n");
    row("loop", "the loop to cut", 20, "  loop\n    the loop to cut\n");
    row("loop", "", 40, "  loop\n");
}

/* What help says of `name` on a screen of that width, up to its example. */
static void says(ml_Session *ss, const char *name, int width, const char *want)
{
    ml_Text ask = {0}, out = {0};
    int was = ss->out.width;

    ss->out.width = width;
    ml_text_fmt(&ask, ":help %s", name);
    line(ss, ml_text_z(&ask), true, &out);
    ss->out.width = was;
    char *end = strstr(ml_text_z(&out), "\nexample") ? strstr(out.p, "\nexample") : NULL;

    if (end)
        *end = '\0';
    assert_string_equal(ml_text_z(&out), want);
    ml_text_free(&ask);
    ml_text_free(&out);
}

static void help_fits_the_screen(void **state)
{
    static const char *const NAMES[] = {"split",    "rfactor", "moon.build", ":time",
                                        "set echo", "names",   "blockize",   "kernel:asm",
                                        "s:info",   "E404",    "line"};
    static const int WIDTHS[] = {80, 40, 20};
    ml_Session *ss = *state;
    ml_Text ask = {0}, out = {0};

    says(
        ss, "fuse", 80,
        "fuse(loops…, preserve_unit_iters = true)\n"
        "  collapse nested loops into one\n"
        "\n"
        "  The loops must be nested directly in each other, outermost first, each holding\n"
        "  nothing but the next. The new loop is serial; its extent is the product.\n"
        "\n"
        "parameters\n"
        "  loops                the loops, outermost first (loops)\n"
        "  preserve_unit_iters  keep bindings of extent-1 iters (true or false)\n"
        "\n"
        "refused when it breaks one of these rules\n"
        "  bad-argument             every argument has the type and range its parameter\n"
        "                           asks for\n"
        "  duplicate-loop           each loop is given once\n"
        "  loop-annotated           the loop has no annotations and no thread binding\n"
        "  loop-step                primitives work on loops with step 1\n"
        "  not-parent               the loops are nested directly in each other,\n"
        "                           outermost first\n"
        "  not-only-child           each loop but the last must contain the next one and\n"
        "                           nothing else\n"
        "  loop-not-zero-based      the loop starts at 0\n"
        "  loop-dependent           bounds do not depend on a loop that moves inside\n"
        "  index-overflow           extents and indices fit their dtype\n"
        "  iter-not-parallel        every block iter whose binding uses the loop must be\n"
        "                           spatial\n");
    says(ss, "set seed", 40,
         ":set seed N\n"
         "  seed of new schedules and of :check\n"
         "  now 1, from the start 1\n\n"
         "  New schedules take their random\n"
         "  numbers from it, :check its inputs.\n");
    says(ss, "s:tree", 20, "s:tree()\n  the loop tree as\n  text\n");
    for (size_t k = 0; k < ML_COUNT(NAMES); k++)
        for (size_t w = 0; w < ML_COUNT(WIDTHS); w++) {
            ml_text_clear(&ask);
            ml_text_fmt(&ask, ":help %s", NAMES[k]);
            ss->out.width = WIDTHS[w];
            line(ss, ml_text_z(&ask), true, &out);
            ss->out.width = 80;
            ml_text_z(&out);
            for (char *p = out.p, *nl; *p && *p != 'e' && strncmp(p, "  brea", 6) != 0;
                 p = nl + 1) {
                nl = strchr(p, '\n');
                *nl = '\0';
                const char *word = strrchr(p, ' ');

                /* but for a word that is too long for any line */
                if (ml_columns(p) > (size_t)WIDTHS[w] && word && word[1] &&
                    strspn(p, " ") + strlen(word + 1) < strlen(p))
                    fail_msg("%s at %d: %s", NAMES[k], WIDTHS[w], p);
            }
        }
    ml_text_free(&ask);
    ml_text_free(&out);
}

/* Names of nothing tell the nearest one. */
static void unknown_names_are_told_the_nearest(void **state)
{
    ml_Session *ss = *state;
    ml_Text out = {0};

    line(ss, ":help splitt", false, &out);
    assert_non_null(strstr(ml_text_z(&out), "no help on splitt; did you mean split?"));
    line(ss, ":help moon.biuld", false, &out);
    assert_non_null(strstr(ml_text_z(&out), "did you mean moon.build?"));
    line(ss, ":help qqqqqqqq", false, &out);
    assert_non_null(strstr(ml_text_z(&out), "try :apropos qqqqqqqq"));
    line(ss, ":help (", false, &out);
    ml_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_examples_break_their_rule),
        cmocka_unit_test(who_comes_from_elsewhere_is_told_what_to_type),
        cmocka_unit_test(scratch_lines_stay_apart),
        cmocka_unit_test(every_primitive_and_its_can_has_help),
        cmocka_unit_test(every_command_and_setting_has_help_and_lines_that_run),
        cmocka_unit_test(every_example_of_a_topic_runs),
        cmocka_unit_test(paragraphs_are_joined_and_folded),
        cmocka_unit_test(a_table_stands_beside_its_names_or_below),
        cmocka_unit_test(help_fits_the_screen),
        cmocka_unit_test(unknown_names_are_told_the_nearest),
    };
    return cmocka_run_group_tests(tests, begin, end_session);
}
