/*
 * limit - a function of a user's own, run for so many seconds at most.
 *
 * A hook counts steps of Lua and looks at the clock. Coroutines that are made meanwhile inherit
 * it; one that was made before gets it when it is resumed: the hook sees each call, and a call
 * of a C function that is given a coroutine, or holds one (coroutine.wrap), is such a one.
 * Source: auto-scheduler 6.
 */
#include "repl/bind/work/tuning.h"

#include "moonloop/codegen/machine/machine.h"

typedef struct Limit {
    lua_Hook before; /* the session's, which looks for Ctrl-C */
    double begin, seconds;
    const char *what;
    int64_t steps; /* of Lua so far */
} Limit;

enum { STEPS = 1000 }; /* between two looks at the clock */

static const char limit_key; /* in the registry: the Limit; nil: none is at work */

static void poll_limit(lua_State *L, lua_Debug *ar);

static void watch(lua_State *L)
{
    lua_sethook(L, poll_limit, LUA_MASKCOUNT | LUA_MASKCALL, STEPS);
}

/* The coroutine on top of the stack, if it is one. */
static void watch_top(lua_State *L)
{
    lua_State *co = lua_tothread(L, -1);

    if (co && lua_gethook(co) != poll_limit)
        watch(co);
    lua_pop(L, 1);
}

static void find_coroutine(lua_State *L, lua_Debug *ar)
{
    lua_getinfo(L, "f", ar);
    if (lua_iscfunction(L, -1)) {
        if (lua_getupvalue(L, -1, 1))
            watch_top(L);
        if (lua_getlocal(L, ar, 1))
            watch_top(L);
    }
    lua_pop(L, 1);
}

static void poll_limit(lua_State *L, lua_Debug *ar)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &limit_key);
    Limit *l = lua_touserdata(L, -1);

    lua_pop(L, 1);
    if (l == NULL) { /* of a coroutine that has outlived it */
        bind_watch_interrupt(L);
        return;
    }
    if (ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL)
        find_coroutine(L, ar);
    if (ar->event == LUA_HOOKCOUNT) {
        if (l->before)
            l->before(L, ar);
        l->steps += STEPS;
    }
    if (l->steps < STEPS || ml_clock() < l->begin + l->seconds)
        return;
    /* what catches this one gets the next at once */
    lua_sethook(L, poll_limit, LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE,
                1);
    ml_lua_fail(L, ML_E_WORK_LIMIT, "%.3g s of %s (%lld steps of Lua)",
                ml_clock() - l->begin, l->what, (long long)l->steps);
}

/* limited(seconds, what, fn, ...): what fn gives; raises work-limit, which names `what`, when it
 * takes longer in Lua */
static int limited(lua_State *L)
{
    Limit l = {.before = lua_gethook(L),
               .begin = ml_clock(),
               .seconds = bind_number(L, 1, "seconds"),
               .what = bind_string(L, 2, "what")};
    int mask = lua_gethookmask(L), count = lua_gethookcount(L);

    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &limit_key);
    const void *outer = lua_touserdata(L, -1); /* holds for what is inside, too */

    lua_pop(L, 1);
    if (!outer) {
        lua_pushlightuserdata(L, &l);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &limit_key);
        watch(L);
    }
    int rc = lua_pcall(L, lua_gettop(L) - 3, LUA_MULTRET, 0);

    if (!outer) {
        lua_sethook(L, l.before, mask, count);
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &limit_key);
    }
    return rc == LUA_OK ? lua_gettop(L) - 2 : lua_error(L);
}

/* clock(): seconds, of which differences count */
static int clock_now(lua_State *L)
{
    lua_pushnumber(L, ml_clock());
    return 1;
}

int bind_limit_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"limited", limited}, {"clock", clock_now}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
