/*
 * test_buffer_access - what a person says of a block's accesses: how it is recorded and
 * written, and what the step says where nobody can tell or where it is unsafe.
 */
#include "fixture.h"

#include "moonloop/primitives/trace.h"

static const char copy[] = "@T.prim_func\n"
                           "def main(A: T.Buffer((8,)), C: T.Buffer((8,))):\n"
                           "    for i in range(8):\n"
                           "        with T.block(\"C\"):\n"
                           "            a = T.axis.spatial(8, i)\n"
                           "            C[a] = A[a]\n";

static const char opaque[] =
    "@T.prim_func\n"
    "def main(A: T.Buffer((8,)), C: T.Buffer((8,))):\n"
    "    for i in range(8):\n"
    "        with T.block(\"C\"):\n"
    "            a = T.axis.spatial(8, i)\n"
    "            T.reads(A[0:8])\n"
    "            T.writes(C[0:8])\n"
    "            T.evaluate(T.call_extern(\"int32\", \"touch\", A.data, C.data, a))\n";

static void written(Fixture *fx, ml_Text *lua, ml_Text *python, ml_Text *json)
{
    ml_Ctx *cx = ml_schedule_ctx(fx->s);
    ml_Trace t = ml_schedule_trace(fx->s, cx);

    ml_trace_lua(cx, lua, &t);
    ml_trace_python(cx, python, &t, false);
    ml_trace_json(cx, json, &t);
}

static void has(ml_Text *t, const char *what)
{
    if (!strstr(ml_text_z(t), what))
        fail_msg("no %s in\n%s", what, ml_text_z(t));
}

static void position_and_side_are_two_arguments(void **state)
{
    Fixture fx;
    ml_Text lua = {0}, python = {0}, json = {0};

    (void)state;
    fx_text(&fx, copy);
    fx_apply(&fx, "annotate_buffer_access(\"C\", {\"write\", 0}, \"lambda i: (i,)\")");
    fx_apply(&fx, "unsafe_hide_buffer_access(\"C\", \"read\", {0})");
    written(&fx, &lua, &python, &json);
    has(&lua, "buffer_index = 0, buf_type = \"write\", gen_new_ranges = function");
    has(&python, "buffer_index=0, buf_type=\"write\", gen_new_ranges=lambda");
    has(&python, "buf_type=\"read\", buf_index_array=[0]");
    has(&json, "[\"AnnotateBufferAccess\", [\"b0\", 0, 1, ");
    has(&json, "[\"UnsafeHideBufferAccess\", [\"b0\", \"\\\"read\\\"\", [0]]");
    ml_text_free(&lua);
    ml_text_free(&python);
    ml_text_free(&json);
    fx_close(&fx);
}

static void opaque_accesses_are_believed_with_a_note(void **state)
{
    Fixture fx;
    const char *const *notes;

    (void)state;
    fx_text(&fx, opaque);
    fx_apply(&fx, "annotate_buffer_access(\"C\", 0, \"read\", \"lambda i: (i,)\")");
    assert_int_equal(1, ml_schedule_notes(fx.s, &notes));
    assert_non_null(strstr(notes[0], "through its pointer"));
    fx_close(&fx);
}

static void a_region_beyond_the_buffer_is_noted(void **state)
{
    Fixture fx;
    const char *const *notes;

    (void)state;
    fx_text(&fx, copy);
    fx_apply(&fx, "annotate_buffer_access(\"C\", 0, \"read\", \"lambda i: (i, i + 1)\")");
    assert_int_equal(0, ml_schedule_notes(fx.s, &notes));
    fx_apply(&fx,
             "annotate_buffer_access(\"C\", 0, \"read\", \"lambda i: (i - 2, i + 4)\")");
    assert_int_equal(2, ml_schedule_notes(fx.s, &notes));
    assert_non_null(strstr(notes[0], "reaches 2 before the beginning of A"));
    assert_non_null(strstr(notes[1], "reaches 3 beyond the end of A"));
    fx_close(&fx);
}

static void hiding_says_that_it_is_unsafe(void **state)
{
    Fixture fx;
    const char *const *notes;

    (void)state;
    fx_text(&fx, copy);
    fx_apply(&fx, "unsafe_hide_buffer_access(\"C\", \"read\", {0, 0})");
    assert_int_equal(1, ml_schedule_notes(fx.s, &notes));
    assert_string_equal("unsafe: later steps do not know that block C reads A", notes[0]);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_and_side_are_two_arguments),
        cmocka_unit_test(opaque_accesses_are_believed_with_a_note),
        cmocka_unit_test(a_region_beyond_the_buffer_is_noted),
        cmocka_unit_test(hiding_says_that_it_is_unsafe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
