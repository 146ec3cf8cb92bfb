/*
 * host_prompt - the text of the prompt where Lua's globals _PROMPT and _PROMPT2 give it.
 *
 * A string, a number, or a function that gives one; it is called with the usual text. A
 * value that fails is complained about once, not at every prompt, and the usual text
 * stands. Source: interaction 4.
 */
#include "repl/bind/bind.h"
#include "repl/host/host_impl.h"

/* Whether the value at `idx` has not failed before; from now on it has: those that did are
 * weak keys of a table in the registry. */
static bool first_failure(lua_State *L, int idx)
{
    bool first;

    idx = lua_absindex(L, idx);
    if (!luaL_getsubtable(L, LUA_REGISTRYINDEX, "moonloop.complained")) {
        lua_newtable(L);
        lua_pushliteral(L, "k");
        lua_setfield(L, -2, "__mode");
        lua_setmetatable(L, -2);
    }
    lua_pushvalue(L, idx);
    first = lua_rawget(L, -2) == LUA_TNIL;
    lua_pop(L, 1);
    lua_pushvalue(L, idx);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    return first;
}

/* What is wrong, in one line; runs no metamethod. */
static void add_reason(lua_State *L, int idx, ml_Text *out)
{
    ml_Failure *f = ml_lua_to_failure(L, idx);
    const char *z = f                                 ? ml_failure_message(f)
                    : lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx)
                                                      : "it fails";

    ml_text_addn(out, z, strcspn(z, "\n"));
}

/* prompt(name, usual): the text. Raises what a function raises. */
static int l_prompt(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushglobaltable(L);
    lua_pushvalue(L, 1);
    lua_rawget(L, 3); /* 4 */
    if (lua_isnil(L, 4))
        return 1;
    lua_pushvalue(L, 4);
    if (lua_isfunction(L, 5)) {
        lua_pushvalue(L, 2);
        lua_call(L, 1, 1);
    }
    if (lua_type(L, 5) != LUA_TSTRING && lua_type(L, 5) != LUA_TNUMBER)
        return luaL_error(L, "%s a string, not %s%s",
                          lua_isfunction(L, 4) ? "it must give" : "it must be",
                          lua_isnil(L, 5) ? "" : "a ", luaL_typename(L, 5));
    lua_tostring(L, 5);
    return 1;
}

/* Runs under lua_pcall as well: memory may be short. */
static int l_complain(lua_State *L)
{
    ml_Host *h = ml_host_of(L);
    ml_Text t = {0};

    lua_settop(L, 2); /* name, error */
    lua_pushglobaltable(L);
    lua_pushvalue(L, 1);
    lua_rawget(L, 3);
    if (lua_isnil(L, 4) || !first_failure(L, 4))
        return 0;
    ml_text_fmt(&t, "note: %s: ", lua_tostring(L, 1));
    add_reason(L, 2, &t);
    ml_text_add(&t, "; the usual prompt is shown");
    ml_err_prose(&h->ss->out, ml_text_z(&t));
    ml_text_free(&t);
    return 0;
}

bool ml_host_prompt(ml_Host *h, const char *name, const char *usual, ml_Text *out)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);
    bool ok;

    lua_pushcfunction(L, l_prompt);
    lua_pushstring(L, name);
    lua_pushstring(L, usual);
    ok = ml_host_call(h, 2, 1) == LUA_OK;
    if (!ok) {
        lua_pushcfunction(L, l_complain);
        lua_pushstring(L, name);
        lua_pushvalue(L, -3);
        lua_pcall(L, 2, 0, 0);
    } else if ((ok = lua_type(L, -1) == LUA_TSTRING))
        ml_text_add(out, lua_tostring(L, -1));
    lua_settop(L, top);
    return ok;
}
