/*
 * args - reading Lua values: plain arguments, tables of options, dtypes.
 */
#include "repl/bind/base/base.h"

#include "moonloop/core/script/report.h"

#include <math.h>

const char *bind_type(lua_State *L, int idx)
{
    const char *name = NULL;

    if (luaL_getmetafield(L, idx, "__name") == LUA_TSTRING)
        name = lua_tostring(L, -1); /* kept by the metatable */
    if (name) {
        lua_pop(L, 1);
        return strncmp(name, "moonloop.", 9) == 0 ? name + 9 : name;
    }
    switch (lua_type(L, idx)) {
    case LUA_TNONE:
    case LUA_TNIL: return "nothing";
    case LUA_TBOOLEAN: return "a boolean";
    case LUA_TNUMBER: return lua_isinteger(L, idx) ? "an integer" : "a number";
    case LUA_TSTRING: return "a string";
    case LUA_TTABLE: return "a table";
    case LUA_TFUNCTION: return "a function";
    default: return luaL_typename(L, idx);
    }
}

bool bind_whole(lua_State *L, int idx)
{
    int ok = 0;
    lua_Integer v = lua_type(L, idx) == LUA_TNUMBER ? lua_tointegerx(L, idx, &ok) : 0;

    if (ok && !lua_isinteger(L, idx)) {
        idx = lua_absindex(L, idx);
        lua_pushinteger(L, v);
        lua_replace(L, idx);
    }
    return ok;
}

int64_t bind_int(lua_State *L, int idx, const char *what)
{
    int ok = 0;
    int64_t v = lua_type(L, idx) == LUA_TNUMBER ? lua_tointegerx(L, idx, &ok) : 0;

    if (ok)
        return v;
    if (lua_type(L, idx) == LUA_TNUMBER)
        bind_bad(L, "%s: %g is no integer", what, ml_plain_nan(lua_tonumber(L, idx)));
    bind_bad(L, "%s: an integer is needed, got %s", what, bind_type(L, idx));
    return 0;
}

const char *bind_string(lua_State *L, int idx, const char *what)
{
    if (lua_type(L, idx) != LUA_TSTRING)
        bind_bad(L, "%s: a string is needed, got %s", what, bind_type(L, idx));
    return lua_tostring(L, idx);
}

ml_Str bind_str(lua_State *L, int idx, const char *what)
{
    ml_Str z;

    bind_string(L, idx, what);
    z.p = lua_tolstring(L, idx, &z.n);
    return z;
}

double bind_number(lua_State *L, int idx, const char *what)
{
    if (lua_type(L, idx) != LUA_TNUMBER)
        bind_bad(L, "%s: a number is needed, got %s", what, bind_type(L, idx));
    return lua_tonumber(L, idx);
}

double bind_number_or(lua_State *L, int idx, const char *what, double def)
{
    return lua_isnoneornil(L, idx) ? def : bind_number(L, idx, what);
}

void bind_table(lua_State *L, int idx, const char *what)
{
    if (!lua_istable(L, idx))
        bind_bad(L, "%s: a table is needed, got %s", what, bind_type(L, idx));
}

/* ---- options */

static void refuse_option(lua_State *L, const char *key, const char *const *known)
{
    ml_Nearest near = ml_nearest_begin(ml_str(key));

    for (size_t k = 0; known[k]; k++)
        ml_nearest_try(&near, ml_str(known[k]));
    if (near.best.n > 0)
        bind_bad(L, "no option is named %s; did you mean %.*s?", key, (int)near.best.n,
                 near.best.p);
    bind_bad(L, "no option is named %s", key);
}

bool bind_options(lua_State *L, int idx, const char *const *known)
{
    if (lua_isnoneornil(L, idx))
        return false;
    idx = lua_absindex(L, idx);
    if (!lua_istable(L, idx))
        bind_bad(L, "a table of options is needed, got %s", bind_type(L, idx));
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        size_t k = 0;

        if (lua_type(L, -2) != LUA_TSTRING)
            bind_bad(L, "options are given by name");
        while (known[k] && !ml_streq(known[k], lua_tostring(L, -2)))
            k++;
        if (!known[k])
            refuse_option(L, lua_tostring(L, -2), known);
    }
    return true;
}

/* Pushes the option, or returns false with nothing pushed. */
static bool get_option(lua_State *L, int idx, const char *key)
{
    if (!lua_istable(L, idx))
        return false;
    if (lua_getfield(L, idx, key) != LUA_TNIL)
        return true;
    lua_pop(L, 1);
    return false;
}

bool bind_opt_bool(lua_State *L, int idx, const char *key, bool def)
{
    if (!get_option(L, idx, key))
        return def;
    if (!lua_isboolean(L, -1))
        bind_bad(L, "%s: true or false is needed, got %s", key, bind_type(L, -1));
    def = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return def;
}

int64_t bind_opt_int(lua_State *L, int idx, const char *key, int64_t def)
{
    if (!get_option(L, idx, key))
        return def;
    def = bind_int(L, -1, key);
    lua_pop(L, 1);
    return def;
}

double bind_opt_number(lua_State *L, int idx, const char *key, double def)
{
    if (!get_option(L, idx, key))
        return def;
    if (lua_type(L, -1) != LUA_TNUMBER)
        bind_bad(L, "%s: a number is needed, got %s", key, bind_type(L, -1));
    def = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return def;
}

const char *bind_opt_string(lua_State *L, int idx, const char *key, const char *def)
{
    return get_option(L, idx, key) ? bind_string(L, -1, key) : def;
}

int bind_opt_word(lua_State *L, int idx, const char *key, const char *const *words, int def)
{
    const char *z = bind_opt_string(L, idx, key, NULL);
    ml_Text *t;

    if (!z)
        return def;
    for (int k = 0; words[k]; k++)
        if (ml_streq(words[k], z)) {
            lua_pop(L, 1);
            return k;
        }
    t = bind_text(L);
    for (int k = 0; words[k]; k++)
        ml_text_fmt(t, "%s%s", k ? ", " : "", words[k]);
    return bind_bad(L, "%s: one of %s is needed, got %s", key, ml_text_z(t), z);
}

/* ---- dtypes */

ml_Dtype bind_dtype(lua_State *L, int idx, const char *what)
{
    const char *z = bind_string(L, idx, what);
    ml_Dtype t;

    if (ml_dtype_parse(ml_str(z), &t))
        return t;
    const char *near = ml_dtype_nearest(ml_str(z));

    if (near)
        bind_bad(L, "%s: unknown dtype %s; did you mean %s?", what, z, near);
    bind_bad(L, "%s: unknown dtype %s", what, z);
    return ML_DT_VOID;
}

void bind_push_dtype(lua_State *L, ml_Dtype t)
{
    ml_Text *text = bind_text(L);

    ml_dtype_print(text, t);
    bind_push_text(L, text);
    lua_remove(L, -2);
}
