/*
 * table - fields of the table on top of the stack: what functions give back as results.
 * A text that is NULL leaves its field out. Source: lua-api.
 */
#include "repl/bind/base/base.h"

void bind_set_string(lua_State *L, const char *key, const char *z)
{
    lua_pushstring(L, z);
    lua_setfield(L, -2, key);
}

void bind_set_int(lua_State *L, const char *key, int64_t v)
{
    lua_pushinteger(L, (lua_Integer)v);
    lua_setfield(L, -2, key);
}

void bind_set_number(lua_State *L, const char *key, double v)
{
    lua_pushnumber(L, v);
    lua_setfield(L, -2, key);
}

void bind_set_bool(lua_State *L, const char *key, bool v)
{
    lua_pushboolean(L, v);
    lua_setfield(L, -2, key);
}
