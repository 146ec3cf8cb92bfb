/*
 * test_trace_text - the trace of every case of every primitive as a Lua script: run in a
 * fresh state it makes the same program and the same trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "moonloop/core/base/embedded.h"
#include "moonloop/primitives/call/cases.h"
#include "moonloop/primitives/schedule/schedule_impl.h"
#include "repl/bind/bind.h"

typedef struct Run {
    lua_State *L;
    const char *file;
    const ml_Case *c;
    int compared;
} Run;

static bool apply(ml_Schedule *s, ml_Ctx *cx, const char *calls)
{
    ml_CallTexts c = {0};
    ml_Results r;

    if (!ml_parse_calls(cx, ml_str(calls), &c))
        return false;
    for (size_t k = 0; k < c.n; k++)
        if (!ml_apply_prim(s, c.v[k].prim, c.v[k].args, c.v[k].n, &r))
            return false;
    return true;
}

/* The script makes `sch`; gives its hash and its trace as JSON. */
static void compare(Run *r, ml_Schedule *s, ml_Ctx *cx, const char *program)
{
    lua_State *L = r->L;
    ml_Text script = {0}, json = {0};
    ml_Trace t = ml_schedule_trace(s, cx);
    char hash[20];

    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)ml_schedule_hash(s));
    ml_text_add(
        &script,
        "local moon, program = ...\nlocal sch = moon.schedule(moon.parse(program))\n");
    ml_trace_lua(cx, &script, &t);
    ml_text_add(&script, "return sch:hash(), sch:trace():json()\n");
    ml_trace_json(cx, &json, &t);
    lua_settop(L, 0);
    if (luaL_loadbuffer(L, ml_text_z(&script), script.n, "=trace") != LUA_OK)
        fail_msg("%s:%u: %s\n%s", r->file, r->c->line, lua_tostring(L, -1),
                 ml_text_z(&script));
    lua_getglobal(L, "moon");
    lua_pushstring(L, program);
    if (lua_pcall(L, 2, 2, 0) != LUA_OK)
        fail_msg("%s:%u: %s: %s\n%s", r->file, r->c->line, r->c->title,
                 luaL_tolstring(L, -1, NULL), ml_text_z(&script));
    if (strcmp(lua_tostring(L, 1), hash) != 0)
        fail_msg("%s:%u: %s: another program\n%s", r->file, r->c->line, r->c->title,
                 ml_text_z(&script));
    /* The parameters of a map get other names. */
    if (!strstr(ml_text_z(&json), "T.index_map(") &&
        strcmp(lua_tostring(L, 2), ml_text_z(&json)) != 0)
        fail_msg("%s:%u: %s: another trace\n%s\n%s\n%s", r->file, r->c->line, r->c->title,
                 ml_text_z(&script), lua_tostring(L, 2), ml_text_z(&json));
    r->compared++;
    ml_text_free(&script);
    ml_text_free(&json);
}

static void run_case(Run *r)
{
    ml_Ctx *cx = ml_ctx_new(0), *mx = ml_ctx_new(0);
    const char *whole = ml_case_whole(cx, r->c->program, r->c->program);
    ml_Parsed p = whole ? ml_parse(mx, ml_str(whole), NULL) : (ml_Parsed){0};
    const ml_Error *why = NULL;
    ml_Schedule *s = p.mod ? ml_schedule_new(mx, p.mod, NULL, &why) : NULL;

    if (!s)
        fail_msg("%s:%u: %s: no schedule", r->file, r->c->line, r->c->title);
    if (apply(s, cx, r->c->calls))
        compare(r, s, cx, whole);
    ml_schedule_unref(s);
    ml_ctx_unref(mx);
    ml_ctx_unref(cx);
}

static void the_lua_of_every_trace_makes_it_again(void **state)
{
    Run r = {.L = luaL_newstate()};

    (void)state;
    assert_non_null(r.L);
    luaL_openlibs(r.L);
    ml_lua_open(r.L);
    lua_setglobal(r.L, "moon");
    for (const ml_EmbeddedFile *f = ml_case_files; f->name; f++) {
        ml_Ctx *cx = ml_ctx_new(0);
        ml_Cases cases = {0};

        r.file = f->name;
        assert_true(ml_cases_read(cx, f->name, f->text, &cases));
        for (size_t k = 0; k < cases.n; k++) {
            r.c = &cases.v[k];
            run_case(&r);
        }
        ml_ctx_unref(cx);
    }
    print_message("%d traces\n", r.compared);
    assert_true(r.compared > 300);
    lua_close(r.L);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lua_of_every_trace_makes_it_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
