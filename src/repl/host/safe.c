/*
 * host_safe - Lua under --safe: for scripts one does not trust.
 *
 * What reaches beyond the session is gone: files, commands, the environment, the debug
 * library, C modules; and so are the ways back to it: compiled chunks, which the virtual
 * machine does not check, are not loaded, by nobody. Scripts may still read text that was
 * named on the command line, or lies below it: modules by require, programs by moon.open.
 * Source: interaction 2.
 */
#include "repl/bind/bind.h"
#include "repl/host/host_impl.h"

#include <stdio.h>

static const char path_key; /* registry: package.path before a script was run */

void ml_host_keep_path(lua_State *L)
{
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "path");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &path_key);
    lua_pop(L, 1);
}

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

static bool may_load(lua_State *L, const char *path)
{
    ml_Ctx *cx = bind_scratch(L);
    bool ok = ml_reach_allows(ml_host_of(L)->ss->reach, cx, path);

    bind_scratch_done(L, -1);
    lua_pop(L, 1);
    return ok;
}

/* Whether the file can be read; one that cannot is as good as none. */
static bool is_there(const char *path)
{
    FILE *f = fopen(path, "r");

    if (f)
        fclose(f);
    return f != NULL;
}

/* The searcher of Lua files, of text only, and of those that may be read. Those that may
 * not are not looked for. The module of -l is named on the command line: it is looked for
 * where the path led before any script could change it. Upvalue: package. */
static int search_text(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    ml_Host *h = ml_host_of(L);
    luaL_Buffer tried;

    bool named = h->named && ml_streq(h->named, name);

    h->named = NULL;
    lua_settop(L, 1);
    if (named)
        lua_rawgetp(L, LUA_REGISTRYINDEX, &path_key);
    else if (lua_getfield(L, lua_upvalueindex(1), "path") != LUA_TSTRING)
        return ml_lua_fail(L, ML_E_BAD_ARGUMENT, "require: package.path is no string");
    luaL_gsub(L, name, ".", "/"); /* 3 */
    lua_pushnil(L);               /* 4: the path that is tried */
    luaL_buffinit(L, &tried);
    for (const char *at = lua_tostring(L, 2); *at;) {
        size_t n = strcspn(at, ";");

        lua_pushlstring(L, at, n);
        luaL_gsub(L, lua_tostring(L, -1), "?", lua_tostring(L, 3));
        lua_replace(L, 4);
        lua_pop(L, 1);
        const char *path = lua_tostring(L, 4);
        bool may = named || may_load(L, path);

        if (may && is_there(path)) {
            if (named)
                ml_reach_add(h->ss->reach, path, true);
            if (luaL_loadfilex(L, path, "t") != LUA_OK)
                return luaL_error(L, "error loading module '%s': %s", name,
                                  lua_tostring(L, -1));
            lua_pushvalue(L, 4);
            return 2;
        }
        lua_pushfstring(L, may ? "\n\tno file '%s'" : "\n\tunder --safe not '%s'", path);
        luaL_addvalue(&tried);
        at += n + (at[n] != '\0');
    }
    luaL_pushresult(&tried);
    return 1;
}

static void remove_all(lua_State *L, int table, const char *const *names)
{
    for (; *names; names++) {
        lua_pushnil(L);
        lua_setfield(L, table, *names);
    }
}

static const char *const GLOBALS[] = {"io", "debug", "dofile", "loadfile", NULL};
static const char *const OS[] = {"execute", "remove", "rename",    "exit",
                                 "tmpname", "getenv", "setlocale", NULL};
static const char *const STRING[] = {"dump", NULL};
static const char *const PACKAGE[] = {"loadlib", "searchpath", NULL};
static const char *const LOADED[] = {"io", "debug", NULL};

const char *ml_host_gone(const char *message)
{
    const char *const *const gone[] = {GLOBALS, OS, STRING, PACKAGE};
    const char *nil = strstr(message, "a nil value ("), *from, *end;

    from = nil ? strchr(nil, '\'') : NULL;
    end = from ? strchr(from + 1, '\'') : NULL;
    for (size_t k = 0; end && k < ML_COUNT(gone); k++)
        for (const char *const *name = gone[k]; *name; name++)
            if (strlen(*name) == (size_t)(end - from - 1) &&
                strncmp(*name, from + 1, strlen(*name)) == 0)
                return *name;
    return NULL;
}

void ml_host_make_safe(lua_State *L)
{
    lua_pushglobaltable(L);
    int globals = lua_absindex(L, -1);

    remove_all(L, globals, GLOBALS);
    lua_getfield(L, globals, "load");
    lua_pushcclosure(L, load_text, 1);
    lua_setfield(L, globals, "load");
    lua_getfield(L, globals, "os");
    remove_all(L, lua_absindex(L, -1), OS);
    lua_getfield(L, globals, "string");
    remove_all(L, lua_absindex(L, -1), STRING);
    lua_getfield(L, globals, "package");
    int package = lua_absindex(L, -1);

    lua_getfield(L, package, "searchers");
    lua_pushvalue(L, package);
    lua_pushcclosure(L, search_text, 1);
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
