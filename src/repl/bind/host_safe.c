/*
 * host_safe - Lua under --safe: for scripts one does not trust.
 *
 * What reaches beyond the session is gone: files, commands, the environment, the debug
 * library, C modules; and so are the ways back to it: compiled chunks, which the virtual
 * machine does not check, are not loaded, by nobody. Scripts may still read text: modules
 * by require, programs by moon.open. Source: interaction 2.
 */
#include "repl/bind/bind.h"
#include "repl/bind/host_impl.h"

/* load(chunk [, name [, mode [, env]]]), of text only. Upvalue 1: Lua's own. */
static int load_text(lua_State *L)
{
    int n = lua_gettop(L);

    if (n < 3)
        lua_settop(L, n = 3);
    lua_pushliteral(L, "t");
    lua_replace(L, 3);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

/* The searcher of Lua files, of text only. Upvalues: package, package.searchpath. */
static int search_text(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);

    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), "path") != LUA_TSTRING)
        return luaL_error(L, "package.path is no string");
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2))
        return 1; /* what was tried */
    lua_pop(L, 1);
    if (luaL_loadfilex(L, lua_tostring(L, -1), "t") != LUA_OK)
        return luaL_error(L, "error loading module '%s': %s", name, lua_tostring(L, -1));
    lua_pushvalue(L, -2);
    return 2;
}

static void remove_all(lua_State *L, int table, const char *const *names)
{
    for (; *names; names++) {
        lua_pushnil(L);
        lua_setfield(L, table, *names);
    }
}

void ml_host_make_safe(lua_State *L)
{
    static const char *const GLOBALS[] = {"io", "debug", "dofile", "loadfile", NULL};
    static const char *const OS[] = {"execute", "remove", "rename",    "exit",
                                     "tmpname", "getenv", "setlocale", NULL};
    static const char *const PACKAGE[] = {"loadlib", "searchpath", NULL};
    static const char *const LOADED[] = {"io", "debug", NULL};

    lua_pushglobaltable(L);
    int globals = lua_absindex(L, -1);

    remove_all(L, globals, GLOBALS);
    lua_getfield(L, globals, "load");
    lua_pushcclosure(L, load_text, 1);
    lua_setfield(L, globals, "load");
    lua_getfield(L, globals, "os");
    remove_all(L, lua_absindex(L, -1), OS);
    lua_getfield(L, globals, "string");
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    lua_getfield(L, globals, "package");
    int package = lua_absindex(L, -1);

    lua_getfield(L, package, "searchers");
    lua_pushvalue(L, package);
    lua_getfield(L, package, "searchpath");
    lua_pushcclosure(L, search_text, 2);
    lua_rawseti(L, -2, 2);
    for (lua_Integer k = luaL_len(L, -1); k > 2; k--) { /* those of C modules */
        lua_pushnil(L);
        lua_rawseti(L, -2, k);
    }
    remove_all(L, package, PACKAGE);
    lua_pop(L, 1);
    bind_set_string(L, "cpath", "");
    lua_getfield(L, package, "loaded");
    remove_all(L, lua_absindex(L, -1), LOADED);
    lua_settop(L, globals - 1);
}
