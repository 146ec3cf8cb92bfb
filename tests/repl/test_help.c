/*
 * Help and explanation as the program shows them: every name has a topic, and its example
 * runs; typed examples of error codes break the rule. Source: interaction 4 (Help), 7.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "repl/bind/host.h"
#include "repl/command.h"
#include "repl/scratch.h"

static int begin(void **state)
{
    ml_Session *ss = calloc(1, sizeof *ss);

    ml_session_init(ss);
    ml_out_init(&ss->out, 0, 80, false);
    ss->batch = ss->no_history = ss->private_ = true;
    ss->mode = ML_MODE_TYPED;
    ss->host = ml_host_new(ss);
    *state = ss;
    return 0;
}

static int end(void **state)
{
    ml_session_free(*state);
    free(*state);
    return 0;
}

/* What a line prints; ok: whether it must go well. */
static void line(ml_Session *ss, const char *text, bool ok, ml_Text *out)
{
    ml_text_clear(out);
    ss->out.capture = ss->out.err_capture = out;
    if (ml_session_line(ss, text, NULL) != ok)
        fail_msg("%s: %s", text, ml_text_z(out));
    ss->out.capture = ss->out.err_capture = NULL;
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
                                    "x\ns = schedule(workload.matmul(8, 8, 8))\n"
                                    "split(\"i\", {2,\n4});\n:save f.py\nx = 2\n:histor 1",
                                    &out),
                     ML_E_OK);
    assert_string_equal(ml_text_z(&out), "> x\n"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_examples_break_their_rule),
        cmocka_unit_test(scratch_lines_stay_apart),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
