/*
 * host_write - io.write and what is written to io.stdout go where print goes, so that sinks,
 * transcripts and recordings have them, in order. Bytes that are no text go as before.
 * Source: interaction 13.
 */
#include "repl/host/host_impl.h"

#include <stdio.h>

#include "repl/bind/bind.h"

static bool is_stdout(lua_State *L, int idx)
{
    luaL_Stream *f = luaL_testudata(L, idx, LUA_FILEHANDLE);

    return f && f->closef && f->f == stdout;
}

/* Whether all from idx on are without zero bytes; strings and numbers they must be. */
static bool is_text(lua_State *L, int idx)
{
    bool text = true;

    for (int k = idx; k <= lua_gettop(L); k++) {
        size_t n;
        int type = lua_type(L, k);

        if (type != LUA_TNUMBER && type != LUA_TSTRING)
            bind_bad(L, "write: argument %d: a string or number is needed, got %s",
                     k - idx + 1, bind_type(L, k));
        text &= type == LUA_TNUMBER || strlen(lua_tolstring(L, k, &n)) == n;
    }
    return text;
}

/* Upvalues: what Lua does; whether it is the method, whose file is argument 1. */
static int l_write(lua_State *L)
{
    bool method = lua_toboolean(L, lua_upvalueindex(2));
    int n = lua_gettop(L);

    if (!method) {
        lua_getfield(L, LUA_REGISTRYINDEX, "_IO_output"); /* of io.output() */
        lua_insert(L, 1);
    }
    if (!is_text(L, 2) || !is_stdout(L, 1)) {
        if (!method)
            lua_remove(L, 1);
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_insert(L, 1);
        lua_call(L, n, LUA_MULTRET);
        return lua_gettop(L);
    }
    ml_Out *out = &ml_host_of(L)->ss->out;
    ml_Text *t = bind_text(L);

    for (int k = 2; k < lua_gettop(L); k++) {
        ml_text_add(t, luaL_tolstring(L, k, NULL));
        lua_pop(L, 1);
    }
    ml_out(out, ml_text_z(t));
    if (out->broken)
        return luaL_fileresult(L, 0, NULL);
    lua_settop(L, 1);
    return 1;
}

static void replace(lua_State *L, bool method)
{
    if (lua_getfield(L, -1, "write") == LUA_TFUNCTION) {
        lua_pushboolean(L, method);
        lua_pushcclosure(L, l_write, 2);
        lua_setfield(L, -2, "write");
    } else
        lua_pop(L, 1);
}

void ml_host_take_writes(lua_State *L)
{
    int top = lua_gettop(L);

    if (lua_getglobal(L, LUA_IOLIBNAME) == LUA_TTABLE)
        replace(L, false);
    if (luaL_getmetatable(L, LUA_FILEHANDLE) == LUA_TTABLE &&
        lua_getfield(L, -1, "__index") == LUA_TTABLE)
        replace(L, true);
    lua_settop(L, top);
}
