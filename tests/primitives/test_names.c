/*
 * test_names - display names: given once, kept over versions, unique; every form of text
 * resolves.
 */
#include "fixture.h"
#include "moonloop/primitives/call/render.h"

static ml_Uid uid_of(Fixture *fx, const char *name)
{
    return fx_handle(fx, name).uid;
}

static void refuses(Fixture *fx, ml_ErrorCode code, const char *text, ml_HandleKind want,
                    const char *note)
{
    ml_Handle h;

    if (ml_resolve(fx->s, text, want, &h))
        fail_msg("%s resolved to %s", text, ml_name_of(fx->s, h.uid));
    const ml_Error *e = ml_schedule_error(fx->s);

    if (e->code != code)
        fail_msg("%s: %s", text, ml_error_code(e->code));
    for (uint32_t k = 0; note && k < e->n_notes; k++)
        if (ml_streq(e->notes[k], note))
            note = NULL;
    if (note)
        fail_msg("%s: no note '%s', but '%s'", text, note, e->n_notes ? e->notes[0] : "");
}

static void names_are_unique_and_kept(void **state)
{
    Fixture fx;
    ml_Uid second;

    fx_stages(&fx, 16, "i"); /* both loops are called i */
    second = uid_of(&fx, "i_1");
    assert_string_equal("i", ml_name_of(fx.s, uid_of(&fx, "B/i")));
    assert_int_equal(second, uid_of(&fx, "C/i"));
    fx_apply(&fx, "split(\"i\", {4, 4})");
    /* i is gone, i_1 keeps its name; the parts pass over its number */
    assert_string_equal("i_1", ml_name_of(fx.s, second));
    assert_string_equal("i_0", ml_name_of(fx.s, fx.r.v[0].uid));
    assert_string_equal("i_2", ml_name_of(fx.s, fx.r.v[1].uid));
    assert_true(ml_schedule_undo(fx.s, 1));
    assert_string_equal("i_1", ml_name_of(fx.s, second));
    fx_close(&fx);
}

/* Letters of any script: in what is shown, typed, derived and printed. */
static void names_keep_their_letters(void **state)
{
    Fixture fx;
    ml_Text t = {0};

    fx_text(&fx, "@T.prim_func\n"
                 "def main(A: T.Buffer((8, 8)), Выход: T.Buffer((8, 8))):\n"
                 "    for é, ширина in T.grid(8, 8):\n"
                 "        with T.block(\"блок\"):\n"
                 "            v, 宽 = T.axis.remap(\"SS\", [é, ширина])\n"
                 "            Выход[v, 宽] = A[v, 宽]\n");
    assert_string_equal("ширина", ml_name_of(fx.s, uid_of(&fx, "блок/ширина")));
    fx_apply(&fx, "split(\"é\", {2, 4})");
    assert_string_equal("é_0", ml_name_of(fx.s, fx.r.v[0].uid));
    assert_string_equal("é_1", ml_name_of(fx.s, fx.r.v[1].uid));
    fx_apply(&fx, "fuse(\"é_1\", \"ширина\")");
    assert_string_equal("é_1_ширина_fused", ml_name_of(fx.s, fx.r.v[0].uid));
    assert_false(fx_try(&fx, "unroll(\"é\")"));
    assert_string_equal(fx_message(&fx), "no loop is named é");
    ml_schedule_print(fx.s, ml_schedule_version(fx.s), &t, NULL);
    assert_non_null(strstr(ml_text_z(&t), "for é_0, é_1_ширина_fused in T.grid(2, 32):"));
    assert_non_null(strstr(ml_text_z(&t), "Выход[v, 宽] = A[v, 宽]"));
    ml_text_free(&t);
    fx_close(&fx);
}

/* A name of very long parts gets their beginnings, whole letters of them. */
static void a_long_name_is_cut_between_letters(void **state)
{
    static const char LONG[] =
        "aширинаширинаширинаширинаширинаширинаширинаширинаширинаширинаширинаширина";
    Fixture fx;
    ml_Text t = {0};

    ml_text_fmt(
        &t,
        "@T.prim_func\ndef main(Y: T.Buffer((8, 8))):\n"
        "    for %s, i in T.grid(8, 8):\n        with T.block(\"S\"):\n"
        "            v, w = T.axis.remap(\"SS\", [%s, i])\n            Y[v, w] = 1.0\n",
        LONG, LONG);
    fx_text(&fx, ml_text_z(&t));
    ml_text_free(&t);
    ml_text_fmt(&t, "fuse(\"%s\", \"i\")", LONG);
    fx_apply(&fx, ml_text_z(&t));
    const char *z = ml_name_of(fx.s, fx.r.v[0].uid);

    assert_memory_equal(z, LONG, 31); /* a letter of two bytes would end at 32 */
    assert_string_equal(z + 31, "_i_fused");
    ml_text_free(&t);
    fx_close(&fx);
}

static void splits_to(Fixture *fx, const char *call, const char *names[])
{
    fx_apply(fx, call);
    for (size_t k = 0; k < fx->r.n; k++)
        assert_string_equal(names[k], ml_name_of(fx->s, fx->r.v[k].uid));
}

static void parts_are_numbered_behind_the_shown_name(void **state)
{
    Fixture fx;

    fx_stages(&fx, 16, "i");
    splits_to(&fx, "split(\"i_1\", {2, 8})", (const char *[]){"i_1_0", "i_1_1"});
    splits_to(&fx, "split(\"i_1_1\", {4, 2})", (const char *[]){"i_1_1_0", "i_1_1_1"});
    splits_to(&fx, "split(\"i\", {2, 2, 4})", (const char *[]){"i_0", "i_1", "i_2"});
    splits_to(&fx, "split(\"i_1\", {2, 1})", (const char *[]){"i_1_1", "i_1_2"});
    fx_close(&fx);
}

static void siblings_in_the_tree_may_share_names(void **state)
{
    Fixture fx;
    ml_Uid first;

    fx_matmul(&fx, 64, 64, 64);
    fx_apply(&fx, "split(\"i\", {4, 16})");
    first = uid_of(&fx, "i_0");
    assert_true(ml_schedule_undo(fx.s, 1));
    fx_apply(&fx, "split(\"i\", {8, 8})");
    assert_int_not_equal(first, uid_of(&fx, "i_0"));
    assert_string_equal("i_0", ml_name_of(fx.s, first));
    fx_close(&fx);
}

static void every_form_resolves(void **state)
{
    Fixture fx;
    ml_UidVec v = {0};

    fx_matmul(&fx, 64, 64, 64);
    assert_int_equal(uid_of(&fx, "i"), uid_of(&fx, "C/i"));
    assert_int_equal(uid_of(&fx, "i"), uid_of(&fx, "C@1"));
    assert_int_equal(uid_of(&fx, "j"), uid_of(&fx, "C@2"));
    assert_int_equal(uid_of(&fx, "k"), uid_of(&fx, "C@-1"));
    assert_int_equal(uid_of(&fx, "C"), uid_of(&fx, "C*"));
    assert_true(ml_resolve_loops(fx.s, "C/*", &v));
    assert_int_equal(3, v.n);
    assert_int_equal(uid_of(&fx, "k"), v.v[2]);
    v.n = 0;
    assert_true(ml_resolve_loops(fx.s, "j", &v));
    assert_int_equal(1, v.n);
    assert_string_equal("A", ml_resolve_buffer(fx.s, "A")->name);
    assert_null(ml_resolve_buffer(fx.s, "X"));
    assert_int_equal(ML_E_BUFFER_NOT_FOUND, ml_schedule_error(fx.s)->code);
    fx_apply(&fx, "reorder(\"C/*\")");
    fx_close(&fx);
}

static void an_empty_word_is_seen_in_a_message(void **state)
{
    static const char *const calls[][2] = {
        {"get_loops(\"\")", "no block is named \"\""},
        {"parallel(\"\")", "no loop is named \"\""},
        {"bind(\"i\", \"\")", "thread_axis: \"\" is no thread axis"},
    };
    Fixture fx;

    fx_stages(&fx, 16, "i");
    for (size_t k = 0; k < ML_COUNT(calls); k++) {
        assert_false(fx_try(&fx, calls[k][0]));
        ml_Failure *f = ml_failure_take(fx.s);

        assert_non_null(strstr(ml_failure_message(f), calls[k][1]));
        ml_failure_free(f);
    }
    fx_close(&fx);
}

static void what_does_not_resolve_says_why(void **state)
{
    Fixture fx;

    fx_stages(&fx, 16, "i");
    refuses(&fx, ML_E_NO_SUCH_LOOP, "x", ML_H_LOOP, "nearest: \"i\", \"i_1\"");
    refuses(&fx, ML_E_NO_SUCH_LOOP, "B/j", ML_H_LOOP, "above block B: i");
    refuses(&fx, ML_E_NO_SUCH_LOOP, "B@2", ML_H_LOOP, "block B has 1 loop above it");
    refuses(&fx, ML_E_NO_SUCH_LOOP, "B@-2", ML_H_LOOP, NULL);
    refuses(&fx, ML_E_BAD_ARGUMENT, "B@0", ML_H_LOOP, NULL);
    refuses(&fx, ML_E_BAD_ARGUMENT, "B@x", ML_H_LOOP, NULL);
    refuses(&fx, ML_E_NO_SUCH_LOOP, "B@99999999999999999999999", ML_H_LOOP, NULL);
    refuses(&fx, ML_E_NO_SUCH_BLOCK, "X@1", ML_H_LOOP, "nearest: \"B\", \"C\", \"root\"");
    refuses(&fx, ML_E_NO_SUCH_BLOCK, "i", ML_H_BLOCK, NULL);
    refuses(&fx, ML_E_NO_SUCH_LOOP, "B", ML_H_LOOP, NULL);
    refuses(&fx, ML_E_AMBIGUOUS_LOOP, "i*", ML_H_LOOP, "candidates: \"i\", \"i_1\"");
    refuses(&fx, ML_E_AMBIGUOUS_BLOCK, "*", ML_H_BLOCK,
            "candidates: \"root\", \"B\", \"C\"");
    refuses(&fx, ML_E_NO_SUCH_BLOCK, "", ML_H_BLOCK, NULL);
    refuses(&fx, ML_E_NO_SUCH_BLOCK, "****************************************x",
            ML_H_BLOCK, NULL);
    fx_apply(&fx, "split(\"i\", {4, 4})");
    refuses(&fx, ML_E_NO_SUCH_LOOP, "i", ML_H_LOOP,
            "loop i ended at step 1, split(\"i\", {4, 4})");
    fx_close(&fx);
}

/* Loops inside a leaf block are no part of the schedule. */
static void loops_inside_a_leaf_block_have_no_name(void **state)
{
    Fixture fx;

    fx_text(&fx, "@T.prim_func\n"
                 "def main(X: T.Buffer((8, 8), \"float32\")):\n"
                 "    for i in range(8):\n"
                 "        with T.block(\"S\"):\n"
                 "            v = T.axis.spatial(8, i)\n"
                 "            T.reads()\n"
                 "            T.writes(X[v, 0:8])\n"
                 "            for j in range(8):\n"
                 "                X[v, j] = T.float32(1)\n");
    refuses(&fx, ML_E_NO_SUCH_LOOP, "j", ML_H_LOOP, NULL);
    assert_true(uid_of(&fx, "i") > 0);
    fx_close(&fx);
}

/* What is printed with display names reads back, and each name resolves to its node. */
static void a_displayed_name_resolves_to_what_it_is_displayed_on(void **state)
{
    Fixture fx;
    ml_Ctx *cx = ml_ctx_new(0);
    ml_TextMarks marks = {0};
    ml_Text t = {0};
    ml_PrintOpts o = {.spelling = -1, .no_header = true, .marks_cx = cx, .marks = &marks};
    size_t loops = 0;

    fx_stages(&fx, 16, "i");
    fx_apply(&fx, "split(\"i\", {4, 4}) split(\"i_1\", {2, 8})");
    ml_schedule_print(fx.s, ml_schedule_version(fx.s), &t, &o);
    for (size_t k = 0; k < marks.n; k++) {
        const char *p = t.p;
        ml_Handle h;

        if (marks.v[k].kind != ML_MARK_LOOP)
            continue;
        for (uint32_t l = 1; l < marks.v[k].line; l++)
            p = strchr(p, '\n') + 1;
        const char *z = ml_strdup(cx, (ml_Str){p + marks.v[k].col - 1, marks.v[k].len});

        assert_true(ml_resolve(fx.s, z, ML_H_LOOP, &h));
        assert_int_equal(marks.v[k].uid, h.uid);
        loops++;
    }
    assert_int_equal(4, loops);
    ml_Parsed p = ml_parse(cx, (ml_Str){t.p, t.n}, NULL);

    assert_non_null(p.mod);
    ml_text_free(&t);
    ml_ctx_unref(cx);
    fx_close(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_unique_and_kept),
        cmocka_unit_test(names_keep_their_letters),
        cmocka_unit_test(a_long_name_is_cut_between_letters),
        cmocka_unit_test(parts_are_numbered_behind_the_shown_name),
        cmocka_unit_test(siblings_in_the_tree_may_share_names),
        cmocka_unit_test(every_form_resolves),
        cmocka_unit_test(an_empty_word_is_seen_in_a_message),
        cmocka_unit_test(what_does_not_resolve_says_why),
        cmocka_unit_test(loops_inside_a_leaf_block_have_no_name),
        cmocka_unit_test(a_displayed_name_resolves_to_what_it_is_displayed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
