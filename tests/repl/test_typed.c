/*
 * What a typed line is read as and how often Lua compiles it: the chunk made when it was
 * asked whether more lines are wanted is the one that runs. Source: interaction 4.
 */
#include "repl/fixture.h"
#include "repl/run/run.h"

#include "repl/host/host_impl.h"

static void expect_result(ml_Session *ss, const char *line, int want)
{
    ml_Text check = {0};

    run_line(ss, line);
    ml_text_fmt(&check, "assert(got == %d, 'got ' .. tostring(got))", want);
    run_line(ss, ml_text_z(&check));
    ml_text_free(&check);
}

/* Puts `got = 7` in the place of what was compiled. */
static void change_kept(ml_Session *ss)
{
    lua_State *L = ss->host->L;

    assert_int_equal(luaL_loadstring(L, "got = 7"), LUA_OK);
    lua_rawseti(L, LUA_REGISTRYINDEX, ss->host->kept_chunk);
}

static void a_line_is_compiled_once(void **state)
{
    static const char *const LINES[] = {"got = 1", "got = 1  ", " got = 1\n",
                                        "local got = 1", "do got = 1\nend"};
    ml_Session *ss = *state;

    ss->mode = ML_MODE_TYPED;
    for (size_t k = 0; k < ML_COUNT(LINES); k++) {
        run_line(ss, "got = 0");
        assert_false(ml_wants_more(ss, LINES[k]));
        change_kept(ss);
        expect_result(ss, LINES[k], 7);
        expect_result(ss, LINES[k], 1); /* nobody has asked */
        run_line(ss, "got = 0");
        assert_false(ml_wants_more(ss, LINES[k]));
        change_kept(ss);
        expect_result(ss, "got = 2", 2); /* another line */
    }
}

static void an_error_is_kept_too(void **state)
{
    ml_Session *ss = *state;
    ml_Text err = {0};

    ss->mode = ML_MODE_TYPED;
    ss->out.sink.err = &err;
    assert_false(ml_wants_more(ss, "got = = 1"));
    assert_int_equal(ss->host->kept_status, LUA_ERRSYNTAX);
    assert_false(ml_run(ss, NULL, "got = = 1"));
    assert_non_null(strstr(ml_text_z(&err), "unexpected symbol near '='"));
    assert_true(ml_wants_more(ss, "got = {"));
    assert_false(ml_wants_more(ss, "got = {\n3}"));
    run_line(ss, "got = {\n3}");
    run_line(ss, "assert(got[1] == 3)");
    ml_text_free(&err);
    ss->out.sink.err = NULL;
}

/* Values are shown, statements are not taken for values. */
static void a_line_is_a_value_first(void **state)
{
    static const char *const VALUES[][2] = {
        {"1 + 1", "2\n"},
        {"(function() local x = 3; return x end)()", "3\n"},
        {"#{a = 1, [2] = 3}", "0\n"},
        {"({a = 5}).a", "5\n"},
        {"not nil", "true\n"},
        {"function twice(x) return 2 * x end", ""},
        {"twice(2), twice(3)", "4\t6\n"},
        {"t = {}; t['='] = 1", ""},
        {"t['='] == 1", "true\n"},
        {"t.x, t.y = 8, 9", ""},
        {"t.y", "9\n"},
        {"return t.x", "8\n"},
        {"for k = 1, 2 do t.x = k end", ""},
        {"t.x -- = 3", "2\n"},
        {"-- nothing", ""},
        {"print(1) print(2)", "1\n2\n"},
    };
    ml_Session *ss = *state;
    ml_Text out = {0};

    ss->mode = ML_MODE_TYPED;
    ss->out.sink.out = &out;
    for (size_t k = 0; k < ML_COUNT(VALUES); k++) {
        ml_text_clear(&out);
        run_line(ss, VALUES[k][0]);
        if (!ml_streq(ml_text_z(&out), VALUES[k][1]))
            fail_msg("%s: %s", VALUES[k][0], ml_text_z(&out));
    }
    ss->out.sink.out = NULL;
    ml_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE(a_line_is_compiled_once),
        FIXTURE(an_error_is_kept_too),
        FIXTURE(a_line_is_a_value_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
