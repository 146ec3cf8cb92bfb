/*
 * The tokens of a text are those of Lua's own reader: chunks that it takes mean the same
 * when their tokens are written anew on the same lines, a blank before each and the
 * comments gone; and strings stand for what Lua says they do. Source: interaction 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

#include "moonloop/core/base/text.h"
#include "moonloop/primitives/tokens.h"

static uint32_t seed = 1;

static size_t any(size_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static size_t rounds(size_t n)
{
    return getenv("ML_QUICK") ? n / 10 : n;
}

/* ---- what Lua makes of a chunk */

static int add_code(lua_State *L, const void *p, size_t n, void *user)
{
    (void)L;
    ml_text_addn(user, p, n);
    return 0;
}

/* The code without the names in it; false: Lua refuses the chunk. */
static bool compile(lua_State *L, const char *p, size_t n, ml_Text *code)
{
    bool ok = luaL_loadbufferx(L, p, n, "=test", "t") == LUA_OK;

    if (ok)
        lua_dump(L, add_code, code, 1);
    lua_settop(L, 0);
    return ok;
}

static void rewrite(const char *p, size_t n, ml_Text *out)
{
    char *exact = malloc(n + 1); /* so that a sanitizer sees its end */
    ml_Tokens t = {.p = exact, .n = n};
    ml_Token k;
    const char *end = exact; /* of the token before */

    assert_non_null(exact);
    memcpy(exact, p, n);
    while ((k = ml_token_next(&t)).kind != ML_TOKEN_END) {
        assert_true(k.text.n > 0 && k.text.p >= exact && k.text.p + k.text.n <= exact + n);
        if (k.kind == ML_TOKEN_COMMENT)
            continue;
        ml_text_char(out, ' ');
        for (; end < k.text.p; end++)
            if (*end == '\n')
                ml_text_char(out, '\n');
        ml_text_addn(out, k.text.p, k.text.n);
        end += k.text.n;
    }
    assert_true(k.text.p == exact + n);
    free(exact);
}

/* Whether Lua takes the chunk: then it takes it rewritten, and for the same. */
static bool check_chunk(lua_State *L, const char *p, size_t n)
{
    ml_Text was = {0}, now = {0}, text = {0};
    bool ok = compile(L, p, n, &was);

    rewrite(p, n, &text);
    if (ok && (!compile(L, ml_text_z(&text), text.n, &now) || was.n != now.n ||
               memcmp(was.p, now.p, was.n) != 0))
        fail_msg("\n%.*s\nis not\n%s", (int)n, p, ml_text_z(&text));
    ml_text_free(&was);
    ml_text_free(&now);
    ml_text_free(&text);
    return ok;
}

static void read_file(const char *path, ml_Text *out)
{
    FILE *f = fopen(path, "r");
    char buf[4096];
    size_t n;

    assert_non_null(f);
    while ((n = fread(buf, 1, sizeof buf, f)) > 0)
        ml_text_addn(out, buf, n);
    fclose(f);
}

static void chunks_of_files_are_cut_as_lua_cuts_them(void **state)
{
    static const char *const WHERE[] = {"lua/*/*.lua", "lua/*/*/*.lua", "examples/*.lua",
                                        "tests/*/*.lua"};
    lua_State *L = luaL_newstate();
    glob_t g;

    (void)state;
    for (size_t w = 0; w < ML_COUNT(WHERE); w++)
        glob(WHERE[w], w > 0 ? GLOB_APPEND : 0, NULL, &g);
    assert_true(g.gl_pathc > 20);
    for (size_t k = 0; k < g.gl_pathc; k++) {
        ml_Text t = {0};

        read_file(g.gl_pathv[k], &t);
        size_t from = t.p[0] == '#' ? strcspn(t.p, "\n") : 0;

        assert_true(check_chunk(L, t.p + from, t.n - from));
        /* Pieces of it, most of which Lua refuses, and bytes that went or came. */
        for (size_t m = rounds(300); m-- > 0;) {
            size_t a = any(t.n), n = any(200);
            ml_Text piece = {0};

            ml_text_addn(&piece, t.p + a, n < t.n - a ? n : t.n - a);
            if (piece.n > 1)
                piece.p[any(piece.n)] = "\"'[]=-\n\\.0e x"[any(13)];
            check_chunk(L, ml_text_z(&piece), piece.n);
            ml_text_free(&piece);
        }
        ml_text_free(&t);
    }
    globfree(&g);
    lua_close(L);
}

/* Lua's names are ASCII; a program's may have any letters. */
static void names_of_programs_have_any_letters(void **state)
{
    static const char TEXT[] = "ширина + é_0";
    ml_Tokens lua = {.p = TEXT, .n = strlen(TEXT)}, script = lua;

    script.script = true;
    assert_int_equal(ml_token_next(&lua).kind, ML_TOKEN_MARK);
    ml_Token k = ml_token_next(&script);

    assert_int_equal(k.kind, ML_TOKEN_NAME);
    assert_int_equal(k.text.n, strlen("ширина"));
    assert_true(ml_token_is(ml_token_next(&script), "+"));
    assert_true(ml_token_is(ml_token_next(&script), "é_0"));
}

/* ---- tokens that are known beforehand */

static const struct {
    const char *text;
    ml_TokenKind kind;
} SOME[] = {
    {"split", ML_TOKEN_NAME},
    {"_1", ML_TOKEN_NAME},
    {"end", ML_TOKEN_NAME},
    {"e1", ML_TOKEN_NAME},
    {"0", ML_TOKEN_NUMBER},
    {"3.", ML_TOKEN_NUMBER},
    {".5e-3", ML_TOKEN_NUMBER},
    {"0x.Ap+4", ML_TOKEN_NUMBER},
    {"1e10", ML_TOKEN_NUMBER},
    {"0xeE", ML_TOKEN_NUMBER},
    {"'a'", ML_TOKEN_STRING},
    {"\"\\\"\\\n\\\\\"", ML_TOKEN_STRING},
    {"'\\z \n '", ML_TOKEN_STRING},
    {"[[]]", ML_TOKEN_STRING},
    {"[==[\n]=]]]==]", ML_TOKEN_STRING},
    {"--[[ x\n]]", ML_TOKEN_COMMENT},
    {"--[=x\n", ML_TOKEN_COMMENT},
    {"--\n", ML_TOKEN_COMMENT},
    {"...", ML_TOKEN_MARK},
    {"..", ML_TOKEN_MARK},
    {".", ML_TOKEN_MARK},
    {"::", ML_TOKEN_MARK},
    {":", ML_TOKEN_MARK},
    {"==", ML_TOKEN_MARK},
    {"=", ML_TOKEN_MARK},
    {"~=", ML_TOKEN_MARK},
    {"//", ML_TOKEN_MARK},
    {"<<", ML_TOKEN_MARK},
    {"<", ML_TOKEN_MARK},
    {"[", ML_TOKEN_MARK},
    {"-", ML_TOKEN_MARK},
    {"}", ML_TOKEN_MARK},
};

static void tokens_are_found_again(void **state)
{
    (void)state;
    for (size_t round = rounds(20000); round-- > 0;) {
        ml_Text t = {0};
        size_t want[12], n = any(12);

        for (size_t k = 0; k < n; k++) {
            want[k] = any(ML_COUNT(SOME));
            ml_text_add(&t, SOME[want[k]].text);
            ml_text_add(&t, any(2) ? " " : "\n\t");
        }
        ml_Tokens s = {.p = ml_text_z(&t), .n = t.n};

        for (size_t k = 0; k < n; k++) {
            ml_Token got = ml_token_next(&s);
            size_t len = strlen(SOME[want[k]].text);

            len -= SOME[want[k]].kind == ML_TOKEN_COMMENT &&
                   SOME[want[k]].text[len - 1] == '\n'; /* the newline is no part of it */
            if (got.kind != SOME[want[k]].kind || got.open || got.text.n != len)
                fail_msg("%s\ntoken %zu is %d, %.*s", ml_text_z(&t), k, (int)got.kind,
                         (int)got.text.n, got.text.p);
        }
        assert_int_equal(ml_token_next(&s).kind, ML_TOKEN_END);
        ml_text_free(&t);
    }
}

static void what_has_no_end_is_open(void **state)
{
    static const char *const OPEN[] = {"'a",    "\"a\\\"", "'a\n'", "[[ ]=]", "[=[ ]]",
                                       "--[[ ", "-- x",    "'\\z ", "'\\"};

    (void)state;
    for (size_t k = 0; k < ML_COUNT(OPEN); k++) {
        ml_Tokens t = {.p = OPEN[k], .n = strlen(OPEN[k])};

        assert_true(ml_token_next(&t).open);
    }
}

static void strings_stand_for_what_lua_says(void **state)
{
    static const char *const PARTS[] = {"a",          "\\n",
                                        "\\t",        "\\\\",
                                        "\\'",        "\\\"",
                                        "\\065",      "\\9",
                                        "\\255",      "\\256",
                                        "\\x41",      "\\xfF",
                                        "\\xg0",      "\\u{41}",
                                        "\\u{20AC}",  "\\u{7fffffff}",
                                        "\\u{1F600}", "\\u{80000000}",
                                        "\\u{}",      "\\u{41",
                                        "\\z  \n ",   "\\\n",
                                        "\\q",        "\\a\\v\\f\\b\\r",
                                        "\\0",        "]",
                                        "'",          "\"",
                                        "\n",         "é",
                                        "=",          "\\u{03ff}"};
    static const char *const QUOTES[][2] = {
        {"'", "'"}, {"\"", "\""}, {"[[", "]]"}, {"[=[", "]=]"}};
    lua_State *L = luaL_newstate();
    ml_Ctx *cx = ml_ctx_new(0);
    size_t read = 0;

    (void)state;
    for (size_t round = rounds(30000); round-- > 0;) {
        ml_Text t = {0};
        const char *const *quote = QUOTES[any(ML_COUNT(QUOTES))];
        ml_Mark mark = ml_mark(cx);

        ml_text_fmt(&t, "return %s", quote[0]);
        for (size_t k = any(5); k-- > 0;)
            ml_text_add(&t, PARTS[any(ML_COUNT(PARTS))]);
        ml_text_add(&t, quote[1]);
        ml_Tokens s = {.p = t.p, .n = t.n};

        ml_token_next(&s);
        ml_Token k = ml_token_next(&s);
        const char *z = k.kind == ML_TOKEN_STRING ? ml_token_string(cx, k) : NULL;
        bool whole = z && ml_token_next(&s).kind == ML_TOKEN_END;
        size_t n = 0;
        const char *theirs =
            luaL_dostring(L, t.p) == LUA_OK ? lua_tolstring(L, -1, &n) : NULL;

        /* What ours do not hold. */
        if (theirs && (memchr(theirs, '\0', n) || strstr(theirs, "\xfd\xbf")))
            assert_null(z);
        else if (whole != (theirs != NULL) || (whole && !ml_streq(z, theirs)))
            fail_msg("%s: Lua reads %s, we %s", t.p, theirs ? theirs : "nothing",
                     whole ? z : "nothing");
        read += whole;
        lua_settop(L, 0);
        ml_release(cx, mark);
        ml_text_free(&t);
    }
    assert_true(read > rounds(5000));
    ml_ctx_unref(cx);
    lua_close(L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_programs_have_any_letters),
        cmocka_unit_test(chunks_of_files_are_cut_as_lua_cuts_them),
        cmocka_unit_test(tokens_are_found_again),
        cmocka_unit_test(what_has_no_end_is_open),
        cmocka_unit_test(strings_stand_for_what_lua_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
