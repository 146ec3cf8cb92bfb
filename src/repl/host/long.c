/*
 * host_long - string.rep, table.concat, move and sort of the prompt: functions of Lua's
 * library that can take long in C, where the hook of the state is not called, looking for
 * Ctrl-C on the way. They give what Lua's own give. Source: interaction 9; the manual of
 * Lua 5.4, 6.4 and 6.6.
 */
#include "repl/host/host_impl.h"

#include <string.h>

#include "repl/bind/bind.h"

enum {
    BLOCK = 1 << 20, /* bytes between two looks at Ctrl-C */
    LOOK = 0xfff,    /* elements between two looks, less one */
    QUICK = 1 << 16, /* elements that are sorted in a moment */
};

static void look(lua_State *L, lua_Integer k)
{
    if ((k & LOOK) == 0)
        ml_lua_poll(L);
}

/* ---- string.rep */

static int l_rep(lua_State *L)
{
    size_t n, n_sep, total, have;
    const char *s = luaL_checklstring(L, 1, &n);
    lua_Integer times = luaL_checkinteger(L, 2);
    const char *sep = luaL_optlstring(L, 3, "", &n_sep);
    luaL_Buffer b;
    char *p;

    if (times <= 0 || n + n_sep == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (n + n_sep < n || __builtin_mul_overflow(n + n_sep, (size_t)times, &total) ||
        total > (size_t)LUA_MAXINTEGER)
        return luaL_error(L, "resulting string too large");
    total -= n_sep;
    p = luaL_buffinitsize(L, &b, total);
    memcpy(p, s, n);
    have = n;
    if (times > 1) {
        memcpy(p + n, sep, n_sep);
        have = n + n_sep;
    }
    size_t period = n + n_sep;

    while (have < total) { /* what is there, as far as whole periods go, once more */
        size_t more = have < BLOCK ? have : (BLOCK / period + 1) * period;

        if (more > have)
            more = have;
        if (more > total - have)
            more = total - have;
        memcpy(p + have, p, more);
        have += more;
        ml_lua_poll(L);
    }
    luaL_pushresultsize(&b, total);
    return 1;
}

/* ---- table.concat, table.move */

static void check_table(lua_State *L, int arg, const char *const *metas)
{
    if (lua_type(L, arg) == LUA_TTABLE)
        return;
    for (; *metas; metas++)
        if (luaL_getmetafield(L, arg, *metas) == LUA_TNIL)
            luaL_checktype(L, arg, LUA_TTABLE);
        else
            lua_pop(L, 1);
}

static void add_element(lua_State *L, luaL_Buffer *b, lua_Integer k)
{
    lua_geti(L, 1, k);
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid value (%s) at index %I in table for 'concat'",
                   luaL_typename(L, -1), (LUAI_UACINT)k);
    luaL_addvalue(b);
}

static int l_concat(lua_State *L)
{
    static const char *const METAS[] = {"__index", "__len", NULL};
    size_t n_sep;
    luaL_Buffer b;

    check_table(L, 1, METAS);
    lua_Integer last = luaL_len(L, 1);
    const char *sep = luaL_optlstring(L, 2, "", &n_sep);
    lua_Integer k = luaL_optinteger(L, 3, 1);

    last = luaL_optinteger(L, 4, last);
    luaL_buffinit(L, &b);
    for (; k < last; k++) {
        add_element(L, &b, k);
        luaL_addlstring(&b, sep, n_sep);
        look(L, k);
    }
    if (k == last)
        add_element(L, &b, k);
    luaL_pushresult(&b);
    return 1;
}

static int l_move(lua_State *L)
{
    static const char *const READ[] = {"__index", NULL}, *const WRITE[] = {"__newindex",
                                                                           NULL};
    lua_Integer from = luaL_checkinteger(L, 2), end = luaL_checkinteger(L, 3);
    lua_Integer to = luaL_checkinteger(L, 4), n;
    int into = lua_isnoneornil(L, 5) ? 1 : 5;

    check_table(L, 1, READ);
    check_table(L, into, WRITE);
    if (end >= from) {
        luaL_argcheck(L, from > 0 || end < LUA_MAXINTEGER + from, 3,
                      "too many elements to move");
        n = end - from + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4, "destination wrap around");
        bool up =
            to > end || to <= from || (into != 1 && !lua_compare(L, 1, into, LUA_OPEQ));

        for (lua_Integer j = 0; j < n; j++) {
            lua_Integer k = up ? j : n - 1 - j;

            lua_geti(L, 1, from + k);
            lua_seti(L, into, to + k);
            look(L, j);
        }
    }
    lua_pushvalue(L, into);
    return 1;
}

/* ---- table.sort: Lua's own, but what compares looks for Ctrl-C where Lua code would not
 */

static int l_less(lua_State *L)
{
    ml_lua_poll(L);
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
}

static int l_compare(lua_State *L)
{
    ml_lua_poll(L);
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

static int l_sort(lua_State *L)
{
    /* here and not below, where the function would have no name */
    if (!luaL_getmetafield(L, 1, "__len"))
        luaL_checktype(L, 1, LUA_TTABLE);
    else
        lua_pop(L, 1);
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);

    bool large = lua_type(L, 1) == LUA_TTABLE && lua_rawlen(L, 1) > QUICK;

    if (large && lua_isnoneornil(L, 2)) {
        lua_settop(L, 1);
        lua_pushcfunction(L, l_less);
    } else if (large && lua_iscfunction(L, 2)) {
        lua_settop(L, 2);
        lua_pushcclosure(L, l_compare, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 0);
    return 0;
}

void ml_host_add_long(lua_State *L)
{
    lua_getglobal(L, LUA_STRLIBNAME);
    lua_pushcfunction(L, l_rep);
    lua_setfield(L, -2, "rep");
    lua_getglobal(L, LUA_TABLIBNAME);
    lua_pushcfunction(L, l_concat);
    lua_setfield(L, -2, "concat");
    lua_pushcfunction(L, l_move);
    lua_setfield(L, -2, "move");
    lua_getfield(L, -1, "sort");
    lua_pushcclosure(L, l_sort, 1);
    lua_setfield(L, -2, "sort");
    lua_pop(L, 2);
    ml_host_add_patterns(L);
}
