/*
 * The roles of words: a line, and below it a letter per character (roles.def), `.` where
 * the text is plain. Source: interaction 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "repl/house.h"
#include "repl/line/colour.h"

static const char LETTERS[] = {
#define ML_ROLE(id, name, letter) letter,
#include "repl/screen/roles.def"
#undef ML_ROLE
};

/* want: quotes are written as ' so that they need no backslash. */
static void shows(ml_Language lang, const char *line, const char *want)
{
    ml_Ctx *cx = ml_ctx_new(0);
    ml_RoleSpans spans = {0};
    ml_Text got = {0};

    ml_colour(cx, lang, line, strlen(line), &spans);
    ml_text_repeat(&got, '.', strlen(line));
    for (size_t k = 0; k < spans.n; k++) {
        assert_true(spans.v[k].from < spans.v[k].to && spans.v[k].to <= strlen(line));
        assert_true(k == 0 || spans.v[k].from >= spans.v[k - 1].to);
        for (uint32_t c = spans.v[k].from; c < spans.v[k].to; c++)
            got.p[c] = LETTERS[spans.v[k].role] == '"' ? '\'' : LETTERS[spans.v[k].role];
    }
    if (!ml_streq(ml_text_z(&got), want))
        fail_msg("\n%s\n%s  is not\n%s", line, ml_text_z(&got), want);
    ml_text_free(&got);
    ml_ctx_unref(cx);
}

static void words_of_lua_have_roles(void **state)
{
    (void)state;
    shows(ML_LANGUAGE_LUA, "split('i', {auto, 16})", //
          /*             */ "PPPPP.'''...wwww..00..");
    shows(ML_LANGUAGE_LUA, "local l = s:fuse('a') -- x", //
          /*             */ "wwwww.......PPPP.'''..####");
    shows(ML_LANGUAGE_LUA, "x.split(1) split = 0x1F + 1e-3", //
          /*             */ "........0..........0000...0000");
    shows(ML_LANGUAGE_LUA, "for k=1,n do p[[a]] end", //
          /*             */ "www...0...ww..'''''.www");
    shows(ML_LANGUAGE_LUA, "a = [==[ ]] ]==] --[[ b ]] nil", //
          /*             */ "....''''''''''''.#########.www");
    shows(ML_LANGUAGE_LUA, "'not ended\\", //
          /*             */ "'''''''''''");
    shows(ML_LANGUAGE_LUA, "s:can_split{loop = \"i\"}", //
          /*             */ "..PPPPPPPPP........'''.");
    shows(ML_LANGUAGE_LUA, "", "");
}

static void words_of_programs_have_roles(void **state)
{
    (void)state;
    shows(ML_LANGUAGE_SCRIPT, "@T.prim_func", "wwwwwwwwwwww");
    shows(ML_LANGUAGE_SCRIPT, "for i in T.parallel(4):  # the outer", //
          /*                */ "www...ww.pppppppppp.0....###########");
    shows(ML_LANGUAGE_SCRIPT, "with T.block(\"C\"):", //
          /*                */ "wwww.bbbbbbb.bbb..");
    shows(ML_LANGUAGE_SCRIPT, "for a, b in T.grid(8, 16):", //
          /*                */ "www......ww.rrrrrr.0..00..");
    shows(ML_LANGUAGE_SCRIPT, "C[vi] = T.float32(0.5)", //
          /*                */ "........iiiiiiiii.000.");
}

static void commands_are_known_by_name(void **state)
{
    (void)state;
    shows(ML_LANGUAGE_COMMAND, ":undo 2", "KKKKK.0");
    shows(ML_LANGUAGE_COMMAND, " :und", ".KKKK");
    shows(ML_LANGUAGE_COMMAND, ":nothing", "........");
    shows(ML_LANGUAGE_COMMAND, ":before 1 split('i', {4, 2})", //
          /*                 */ "KKKKKKK.0.PPPPP.'''...0..0..");
    shows(ML_LANGUAGE_SHELL, "!for x", "......");
}

static void the_language_is_known_by_its_beginning(void **state)
{
    (void)state;
    assert_int_equal(ml_language_of_input("split('i')"), ML_LANGUAGE_LUA);
    assert_int_equal(ml_language_of_input("::top:: goto top"), ML_LANGUAGE_LUA);
    assert_int_equal(ml_language_of_input("  :show"), ML_LANGUAGE_COMMAND);
    assert_int_equal(ml_language_of_input("@T.prim_func"), ML_LANGUAGE_SCRIPT);
    assert_int_equal(ml_language_of_input("?split"), ML_LANGUAGE_HELP);
    assert_int_equal(ml_language_of_input("split??"), ML_LANGUAGE_HELP);
    assert_int_equal(ml_language_of_input("!ls x?"), ML_LANGUAGE_SHELL);
    assert_int_equal(ml_language_of_input("class A:"), ML_LANGUAGE_SCRIPT);
    assert_int_equal(ml_language_of_input("class A(B):\n    x"), ML_LANGUAGE_SCRIPT);
    static const char *const SCRIPTS[] = {
        "@tvm.script.ir_module",
        "@ir_module",
        "@x",
        "import tvm",
        "import numpy as np",
        "from tvm.script import tir as T",
        "def main(A: T.Buffer((4,), \"int8\")):",
        "\"\"\"What it is",
        "'''What it is'''",
        "# from tvm.script import tir as T",
        "# moonloop: spelling=newest",
        "#!python\n\n# of it\n@T.prim_func",
        "M, N = 64, 64\n\n@T.prim_func",
        "M = N = 64\nimport tvm",
        "shape = (\n    4,\n)\ndef f",
        "s = \"it's\"  # don't\nimport tvm",
    };
    static const char *const LUA[] = {
        "# x",
        "#x",
        "#x + 1",
        "x = 1",
        "x = 1\nprint(x)",
        "import \"x\"",
        "from = 3",
        "import.x = 4",
        "def and 3",
        "import or f()",
        "x = [[\nimport tvm\n]]",
        "x = {",
        "x = [[\n@T.prim_func",
        "f(\n@x",
        "m = moon.parse [[\n@T.prim_func\ndef f():\n]]",
    };

    for (size_t k = 0; k < sizeof SCRIPTS / sizeof *SCRIPTS; k++)
        if (ml_language_of_input(SCRIPTS[k]) != ML_LANGUAGE_SCRIPT)
            fail_msg("no program: %s", SCRIPTS[k]);
    for (size_t k = 0; k < sizeof LUA / sizeof *LUA; k++)
        if (ml_language_of_input(LUA[k]) != ML_LANGUAGE_LUA)
            fail_msg("no Lua: %s", LUA[k]);
    assert_int_equal(ml_language_of_input("class A"), ML_LANGUAGE_LUA);
    assert_int_equal(ml_language_of_input("class = a:b()"), ML_LANGUAGE_LUA);
    assert_int_equal(ml_language_of_input("class \"a:b\""), ML_LANGUAGE_LUA);
    assert_int_equal(ml_language_of_line("    for i in range(4):"), ML_LANGUAGE_SCRIPT);
    assert_int_equal(ml_language_of_line("  C[vi, vj] = A[vi]"), ML_LANGUAGE_SCRIPT);
    assert_int_equal(ml_language_of_line("  vi = T.axis.spatial(4, i)"),
                     ML_LANGUAGE_SCRIPT);
    assert_int_equal(ml_language_of_line("l0 = s:split(\"i\", {auto, 4})"),
                     ML_LANGUAGE_LUA);
    assert_int_equal(ml_language_of_line(""), ML_LANGUAGE_LUA);
}

static void any_bytes_are_taken(void **state)
{
    uint32_t r = 1;
    static const char SOME[] = "ab \"'[]=-#\\@T.:0x1e+\n\xc3\xa9\xff(){}";

    (void)state;
    for (int round = 0; round < 3000; round++) {
        char line[40];
        size_t n = (r >> 8) % sizeof line;

        for (size_t k = 0; k < n; k++) {
            r = r * 1664525u + 1013904223u;
            line[k] = SOME[(r >> 8) % (sizeof SOME - 1)];
        }
        for (int lang = ML_LANGUAGE_LUA; lang <= ML_LANGUAGE_COMMAND; lang++) {
            char *exact = malloc(n ? n : 1); /* so that a sanitizer sees its end */
            ml_Ctx *cx = ml_ctx_new(0);
            ml_RoleSpans spans = {0};

            memcpy(exact, line, n);
            ml_colour(cx, (ml_Language)lang, exact, n, &spans);
            for (size_t k = 0; k < spans.n; k++)
                assert_true(spans.v[k].from < spans.v[k].to && spans.v[k].to <= n &&
                            (k == 0 || spans.v[k].from >= spans.v[k - 1].to));
            ml_ctx_unref(cx);
            free(exact);
        }
        r = r * 1664525u + 1013904223u;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_lua_have_roles),
        cmocka_unit_test(words_of_programs_have_roles),
        cmocka_unit_test(commands_are_known_by_name),
        cmocka_unit_test(the_language_is_known_by_its_beginning),
        cmocka_unit_test(any_bytes_are_taken),
    };

    ml_house_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
