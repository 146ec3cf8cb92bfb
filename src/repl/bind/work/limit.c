/*
 * limit - a function of a user's own, run for so many seconds at most. Source: auto-scheduler 6.
 */
#include "repl/bind/work/tuning.h"

#include "moonloop/codegen/machine/machine.h"

typedef struct Limit {
    lua_Hook before; /* the session's, which looks for Ctrl-C */
    int mask, count;
    double end;
    int64_t steps; /* of Lua so far */
} Limit;

enum { STEPS = 1000 }; /* between two looks at the clock */

static const char limit_key;

static void poll_limit(lua_State *L, lua_Debug *ar)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &limit_key);
    Limit *l = lua_touserdata(L, -1);

    lua_pop(L, 1);
    if (l == NULL) { /* of a coroutine that has outlived it */
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    if (l->before)
        l->before(L, ar);
    l->steps += STEPS;
    if (ml_clock() < l->end)
        return;
    /* what catches this one gets the next at once */
    lua_sethook(L, poll_limit, LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE,
                1);
    ml_lua_fail(L, ML_E_WORK_LIMIT, "%lld", (long long)l->steps);
}

/* limited(seconds, fn, ...): what fn gives; raises work-limit when it takes longer in Lua */
static int limited(lua_State *L)
{
    Limit l = {
        .before = lua_gethook(L), .mask = lua_gethookmask(L), .count = lua_gethookcount(L)};

    l.end = ml_clock() + bind_number(L, 1, "seconds");
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_remove(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &limit_key);
    const void *outer = lua_touserdata(L, -1); /* holds for what is inside, too */

    lua_pop(L, 1);
    if (!outer) {
        lua_pushlightuserdata(L, &l);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &limit_key);
        lua_sethook(L, poll_limit, LUA_MASKCOUNT, STEPS);
    }
    int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);

    if (!outer) {
        lua_sethook(L, l.before, l.mask, l.count);
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &limit_key);
    }
    return rc == LUA_OK ? lua_gettop(L) : lua_error(L);
}

int bind_limit_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"limited", limited}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
