/*
 * test_error - errors as values.
 *
 * The first error is the cause and stays; its texts are its own and outlive what they were
 * made from.
 */
#include "core_test.h"
#include "moonloop/core/error.h"

static void the_first_error_stays(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    assert_null(ml_error(cx));
    ml_error_note(cx, "dropped: there is no error");
    assert_false(ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT("one")));
    assert_false(ml_fail(cx, ML_E_NO_FILE, ML_TEXT("two")));
    assert_int_equal(ml_error(cx)->code, ML_E_BAD_ARGUMENT);
    assert_string_equal(ml_error(cx)->facts[0].as.text, "one");
    assert_int_equal(ml_error(cx)->n_notes, 0);
    ml_error_clear(cx);
    assert_null(ml_error(cx));
    ml_ctx_unref(cx);
}

static void facts_notes_and_place_are_copied(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    char text[] = "text", name[] = "product", file[] = "a.py", fuse[] = "fuse";
    ml_Span span = {file, 1, 2, 3, 4, NULL};
    ml_fail(cx, ML_E_FACTORS_TOO_SMALL, ML_TEXT(text), ML_NUMBER(name, -5), ML_LOOP_UID(9),
            ML_DTYPE(ML_DT_F32));
    ml_error_note(cx, "while %s %d", "replaying", 12);
    ml_error_note(cx, "%s", "again");
    ml_error_set_primitive(cx, fuse);
    ml_error_set_unproved(cx);
    ml_error_set_place(cx, &span);
    text[0] = name[0] = file[0] = fuse[0] = '#';

    const ml_Error *e = ml_error(cx);
    assert_int_equal(e->n_facts, 4);
    assert_string_equal(e->facts[0].as.text, "text");
    assert_string_equal(e->facts[1].name, "product");
    assert_int_equal(e->facts[1].as.i, -5);
    assert_int_equal(e->facts[2].as.uid, 9);
    assert_true(ml_dtype_eq(e->facts[3].as.type, ML_DT_F32));
    assert_int_equal(e->n_notes, 2);
    assert_string_equal(e->notes[0], "while replaying 12");
    assert_string_equal(e->notes[1], "again");
    assert_string_equal(e->primitive, "fuse");
    assert_string_equal(e->place->file, "a.py");
    assert_int_equal(e->place->end_col, 4);
    assert_true(e->unproved);
    ml_ctx_unref(cx);
}

static void an_error_outlives_what_is_released(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Var *old = ml_var_new(cx, "old", ML_DT_I32);
    ml_Mark mark = ml_mark(cx);
    const ml_Var *v = ml_var_new(cx, "young", ML_DT_I32);
    ml_fail(cx, ML_E_BAD_ARGUMENT, ML_TEXT(ml_format(cx, "about %d", 3)), ML_VARIABLE(v),
            ML_VARIABLE(old), ML_EXPRESSION(ml_add(cx, ml_var(cx, v), ml_i32(cx, 1))));
    ml_error_note(cx, "a note");
    ml_release(cx, mark);
    for (int k = 0; k < 100; k++)
        ml_i32(cx, k);
    const ml_Error *e = ml_error(cx);
    assert_string_equal(e->facts[0].as.text, "about 3");
    assert_int_equal(e->facts[1].kind, ML_FACT_TEXT);
    assert_string_equal(e->facts[1].as.text, "young");
    assert_int_equal(e->facts[2].kind, ML_FACT_VAR);
    assert_ptr_equal(e->facts[2].as.var, old);
    assert_int_equal(e->facts[3].kind, ML_FACT_TEXT);
    assert_string_equal(e->notes[0], "a note");
    ml_ctx_unref(cx);
}

static void copies_and_moves_own_their_texts(void **state)
{
    ml_Ctx *base = ml_ctx_new(0);
    ml_Ctx *to = ml_ctx_new(0);
    ml_Ctx *from = ml_ctx_fork(base);
    ml_fail(from, ML_E_NO_FILE, ML_TEXT("x"), ML_TEXT("y"));
    ml_error_note(from, "n");
    const ml_Error *copy = ml_error_copy(to, ml_error(from));
    ml_error_move(to, from);
    assert_null(ml_error(from));
    ml_fail(from, ML_E_BAD_FILE, ML_TEXT("z"), ML_TEXT("z"));
    ml_error_move(to, from); /* an error already set stays */
    ml_ctx_unref(from);
    ml_ctx_unref(base);

    const ml_Error *both[] = {copy, ml_error(to)};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(both[k]->code, ML_E_NO_FILE);
        assert_string_equal(both[k]->facts[1].as.text, "y");
        assert_string_equal(both[k]->notes[0], "n");
    }
    ml_ctx_unref(to);
}

static void codes_are_found_by_their_names_and_are_unique(void **state)
{
    for (int c = ML_E_OK + 1; c < ML_E_COUNT; c++) {
        const char *code = ml_error_code((ml_ErrorCode)c);
        assert_true(code[0] != 0);
        assert_int_equal(ml_error_find(code), c);
        assert_true(ml_error_sentence((ml_ErrorCode)c)[0] != 0);
        assert_non_null(ml_error_rule((ml_ErrorCode)c));
    }
    assert_int_equal(ml_error_find("no-such-code"), ML_E_OK);
    assert_int_equal(ml_error_find("not-only-child"), ML_E_NOT_ONLY_CHILD);
}

static void a_failed_proof_has_words_of_its_own(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0), *to = ml_ctx_new(0);
    ml_Coord at[] = {{7, "i", 3}, {0, NULL, -4}};
    char hint[] = "i";

    at[0].hint = hint;
    assert_false(ml_unproved(cx, ML_E_WOULD_RACE, "{0} meets {1}", ML_POINT(at, 2),
                             ML_NUMBER("n", 1)));
    hint[0] = '#';
    at[1].at = 0;
    ml_error_move(to, cx);
    const ml_Error *e = ml_error(to);
    assert_true(e->unproved);
    assert_string_equal(ml_error_says(e), "{0} meets {1}");
    assert_string_equal(ml_error_opening(e), "cannot show that ");
    assert_int_equal(e->facts[0].aux, 2);
    assert_string_equal(e->facts[0].as.point[0].hint, "i");
    assert_int_equal(e->facts[0].as.point[1].at, -4);
    ml_error_clear(to);

    ml_fail_as(to, ML_E_WOULD_RACE, "so it is");
    assert_string_equal(ml_error_opening(ml_error(to)), "");
    assert_string_equal(ml_error_says(ml_error(to)), "so it is");
    ml_error_clear(to);
    ml_fail(to, ML_E_WOULD_RACE);
    assert_string_equal(ml_error_says(ml_error(to)), ml_error_sentence(ML_E_WOULD_RACE));
    ml_ctx_unref(cx);
    ml_ctx_unref(to);
}

static void families_are_told(void **state)
{
    assert_string_equal(ml_error_family(ML_E_ORDER_REVERSED), "unsound");
    assert_string_equal(ml_error_family(ML_E_UNSOUND), "unsound");
    assert_null(ml_error_family(ML_E_NOT_LEAF));
    assert_int_equal(ml_error_find("unsound"), ML_E_UNSOUND);
}

static void facts_beyond_the_limit_are_dropped(void **state)
{
    ml_Ctx *cx = ml_ctx_new(0);
    const ml_Fact f = ML_NUMBER("n", 1);
    ml_fail(cx, ML_E_UNSOUND, f, f, f, f, f, f, f, f, f, f, f, f, f, f);
    assert_int_equal(ml_error(cx)->n_facts, ML_MAX_FACTS);
    ml_ctx_unref(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(facts_notes_and_place_are_copied),
        cmocka_unit_test(an_error_outlives_what_is_released),
        cmocka_unit_test(copies_and_moves_own_their_texts),
        cmocka_unit_test(codes_are_found_by_their_names_and_are_unique),
        cmocka_unit_test(a_failed_proof_has_words_of_its_own),
        cmocka_unit_test(families_are_told),
        cmocka_unit_test(facts_beyond_the_limit_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
