/*
 * What a host of the Lua part relies on: opening, interruption, objects it takes out and
 * puts in, two states at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "repl/bind/bind.h"

static lua_State *open_state(void)
{
    lua_State *L = luaL_newstate();

    assert_non_null(L);
    luaL_openlibs(L);
    ml_lua_open(L);
    lua_setglobal(L, "moon");
    return L;
}

/* Runs the chunk; its results are on the stack. */
static void run(lua_State *L, const char *code)
{
    if (luaL_dostring(L, code) != LUA_OK)
        fail_msg("%s", luaL_tolstring(L, -1, NULL));
}

static void opening_twice_gives_the_same_table(void **state)
{
    (void)state;
    lua_State *L = open_state();

    luaopen_moonloop(L);
    lua_getglobal(L, "moon");
    assert_true(lua_rawequal(L, -1, -2));
    run(L, "return require('moonloop') == moon");
    assert_true(lua_toboolean(L, -1));
    lua_close(L);
}

static void opening_writes_no_global(void **state)
{
    (void)state;
    lua_State *L = luaL_newstate();

    luaL_openlibs(L);
    run(L, "before = {}; for k in pairs(_G) do before[k] = true end");
    luaopen_moonloop(L);
    run(L, "for k in pairs(_G) do if not before[k] and k ~= 'before' then return k end end "
           "return nil");
    assert_true(lua_isnil(L, -1));
    lua_close(L);
}

static void opening_works_without_the_debug_library(void **state)
{
    (void)state;
    lua_State *L = luaL_newstate();

    luaL_openlibs(L);
    run(L, "debug, io, os = nil, nil, nil; package.loaded.debug = nil");
    ml_lua_open(L);
    lua_setglobal(L, "moon");
    run(L, "return moon.schedule(moon.workload('GMM-0')):version()");
    assert_int_equal(lua_tointeger(L, -1), 0);
    lua_close(L);
}

static void a_million_instructions_are_interrupted(void **state)
{
    (void)state;
    lua_State *L = open_state();
    volatile sig_atomic_t flag = 1;

    ml_lua_set_interrupt(L, &flag);
    run(L, "local ok, e = pcall(function() while true do end end) return ok, e.code");
    assert_false(lua_toboolean(L, -2));
    assert_string_equal(lua_tostring(L, -1), "interrupted");
    assert_int_equal(flag, 0);
    flag = 1;
    run(L, "local co = coroutine.create(function() while true do end end)\n"
           "local ok, e = coroutine.resume(co) return ok, e.code");
    assert_string_equal(lua_tostring(L, -1), "interrupted");
    ml_lua_set_interrupt(L, NULL);
    run(L, "for _ = 1, 1e5 do end return 1");
    lua_close(L);
}

static void a_run_in_the_interpreter_is_interrupted(void **state)
{
    (void)state;
    lua_State *L = open_state();
    volatile sig_atomic_t flag = 0;

    ml_lua_set_interrupt(L, &flag);
    run(L, "m = moon.workload.matmul(512, 512, 512) args = m.arguments(1) return m");
    ml_lua_set_interrupt(L, &flag);
    flag = 1;
    lua_getglobal(L, "moon");
    lua_getfield(L, -1, "interpret");
    lua_getglobal(L, "m");
    lua_getglobal(L, "args");
    assert_int_equal(lua_pcall(L, 2, 0, 0), LUA_ERRRUN);
    ml_Failure *f = ml_lua_to_failure(L, -1);

    assert_non_null(f);
    assert_int_equal(ml_failure_code(f), ML_E_INTERRUPTED);
    lua_close(L);
}

static void schedules_and_handles_are_taken_out_and_put_in(void **state)
{
    (void)state;
    lua_State *L = open_state();
    ml_Schedule *s, *from;
    ml_Handle h;
    ml_Ctx *cx;
    const ml_Module *m;

    run(L, "s = moon.schedule(moon.workload.matmul(8, 8, 8)) return s, s:loops('C')[2]");
    s = ml_lua_to_schedule(L, -2);
    assert_non_null(s);
    assert_true(ml_lua_to_handle(L, -1, &from, &h));
    assert_ptr_equal(from, s);
    assert_int_equal(h.kind, ML_H_LOOP);
    assert_true(ml_lua_to_program(L, -2, &cx, &m));
    assert_int_equal(m->n, 1);
    assert_null(ml_lua_to_schedule(L, -1));
    ml_lua_push_schedule(L, ml_schedule_ref(s));
    lua_setglobal(L, "again");
    run(L, "again:split('i', {2, 4}) return again == s and s:version()");
    assert_int_equal(lua_tointeger(L, -1), 1);
    lua_close(L);
}

static void an_error_tells_where_the_code_stood(void **state)
{
    (void)state;
    lua_State *L = open_state();
    const char *name, *chunk;
    int line;

    const char *code = "local s = moon.schedule(moon.workload.matmul(8, 8, 8))\n"
                       "local function tile() s:split('i', {3, 2}) return 1 end\n"
                       "tile()";

    assert_int_equal(luaL_loadbuffer(L, code, strlen(code), "@tile.lua"), LUA_OK);
    assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
    chunk = ml_lua_failure_frame(L, -1, 0, &name, &line);
    assert_non_null(chunk);
    assert_string_equal(chunk, "tile.lua");
    assert_string_equal(name, "tile");
    assert_int_equal(line, 2);
    assert_non_null(ml_lua_failure_frame(L, -1, 1, &name, &line));
    assert_int_equal(line, 3);
    assert_null(ml_lua_failure_frame(L, -1, 5, &name, &line));
    assert_null(ml_lua_failure_text(L, -1));
    lua_close(L);
}

static void two_states_share_nothing(void **state)
{
    (void)state;
    lua_State *a = open_state(), *b = open_state();

    run(a, "moon.mine = 1; moon.hooks.cmd = function() end; s = "
           "moon.schedule(moon.workload.matmul(4, 4, 4))");
    run(b, "return rawget(moon, \"mine\"), moon.hooks.cmd, s");
    assert_true(lua_isnil(b, -1) && lua_isnil(b, -2) && lua_isnil(b, -3));
    lua_close(a);
    run(b, "return moon.schedule(moon.workload.matmul(4, 4, 4)):version()");
    assert_int_equal(lua_tointeger(b, -1), 0);
    lua_close(b);
}

/* A Lua allocator that fails after a while: nothing may leak or crash (seen by sanitizers).
 */
static void *failing(void *ud, void *p, size_t was, size_t n)
{
    long *left = ud;

    (void)was;
    if (n == 0) {
        free(p);
        return NULL;
    }
    if (*left >= 0 && (*left)-- == 0) {
        *left = 0;
        return NULL;
    }
    return realloc(p, n);
}

static int use_everything(lua_State *L)
{
    luaL_openlibs(L);
    ml_lua_open(L);
    lua_setglobal(L, "moon");
    if (luaL_dostring(L, "local m = moon.workload.matmul(4, 4, 4)\n"
                         "local s = moon.schedule(m)\n"
                         "local l = s:split('i', {2, 2})\n"
                         "s:fuse(l)\n"
                         "pcall(s.split, s, 'nothing', {2, 2})\n"
                         "local t = s:trace():json() .. s:script()\n"
                         "moon.interpret(s, m.arguments(1))\n"
                         "return #t") != LUA_OK)
        lua_error(L);
    return 0;
}

static void running_out_of_lua_memory_leaks_nothing(void **state)
{
    (void)state;
    for (long budget = 200; budget < 9000; budget += 37) {
        long left = budget;
        lua_State *L = lua_newstate(failing, &left);

        if (!L)
            continue;
        lua_pushcfunction(L, use_everything);
        lua_pcall(L, 0, 0, 0);
        left = -1;
        lua_close(L);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_twice_gives_the_same_table),
        cmocka_unit_test(opening_writes_no_global),
        cmocka_unit_test(opening_works_without_the_debug_library),
        cmocka_unit_test(a_million_instructions_are_interrupted),
        cmocka_unit_test(a_run_in_the_interpreter_is_interrupted),
        cmocka_unit_test(schedules_and_handles_are_taken_out_and_put_in),
        cmocka_unit_test(an_error_tells_where_the_code_stood),
        cmocka_unit_test(two_states_share_nothing),
        cmocka_unit_test(running_out_of_lua_memory_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
