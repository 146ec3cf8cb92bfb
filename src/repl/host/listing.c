/*
 * host_listing - a table or function that is typed at the prompt: its names with arguments and
 * a word on each, from what help knows; addresses tell nobody anything. Source: interaction 4.
 */
#include "repl/host/host_impl.h"

#include "moonloop/primitives/habits.h"
#include "moonloop/primitives/prim.h"
#include "repl/bind/bind.h"
#include "repl/out/wrap.h"

enum { DEPTH = 3, COLUMN = 31, MOST = 100 /* columns, names */ };

/* Whether the value at idx is the table on top or one below it: then *path is where. */
static bool find_path(lua_State *L, int idx, int depth, ml_Text *path)
{
    size_t n = path->n;

    luaL_checkstack(L, 4, NULL);
    if (lua_rawequal(L, idx, -1))
        return true;
    for (lua_pushnil(L); depth > 0 && lua_next(L, -2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TTABLE)
            continue;
        ml_text_fmt(path, ".%s", lua_tostring(L, -2));
        if (find_path(L, idx, depth - 1, path)) {
            lua_pop(L, 2);
            return true;
        }
        path->n = n;
    }
    return false;
}

typedef struct Names {
    const char *path;
    size_t n, width;
    ml_Text *out;
} Names;

/* The table itself, and what stands in it. */
static bool belongs(const Names *to, const char *name)
{
    return strncmp(name, to->path, to->n) == 0 &&
           (name[to->n] == '\0' ||
            (name[to->n] == '.' && !strpbrk(name + to->n + 1, ".:")));
}

/* The topic on top as a row. */
static void add_row(lua_State *L, const Names *to)
{
    lua_getfield(L, -1, "signature");
    lua_getfield(L, -2, "summary");
    const char *sign = lua_tostring(L, -2), *summary = lua_tostring(L, -1);

    if (sign && summary) {
        if (strncmp(sign, "moon.workload", 13) == 0) /* a global, too */
            sign += 5;
        ml_wrap_row(to->out, sign, summary, 2, COLUMN, to->width);
    }
    lua_pop(L, 2);
}

/* Whether a function or table stands in it: what holds values alone is shown with them. */
static bool holds_names(lua_State *L, int idx)
{
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        if (lua_isfunction(L, -1) || lua_istable(L, -1)) {
            lua_pop(L, 2);
            return true;
        }
    return false;
}

/* Whether `name`, or moon.NAME, is where the value at idx stands in moon, on top: then *path
 * is that. Of two names of a table it is the one that was typed. */
static bool is_path(lua_State *L, int idx, const char *name, ml_Text *path)
{
    int top = lua_gettop(L);

    if (strncmp(name, "moon.", 5) != 0)
        ml_text_add(path, "moon.");
    ml_text_add(path, name);
    lua_pushvalue(L, -1);
    for (const char *p = ml_text_z(path) + 4; *p && lua_istable(L, -1);) {
        size_t n = strcspn(++p, ".");

        lua_pushlstring(L, p, n);
        lua_rawget(L, -2);
        p += n;
    }
    bool yes = lua_rawequal(L, idx, -1);

    lua_settop(L, top);
    return yes;
}

/* Of a table of moon, in the order of help. */
static bool list_moon(lua_State *L, int idx, const char *name, size_t width, ml_Text *out)
{
    ml_Text *path = bind_text(L);

    ml_host_push_moon(L);
    int moon = lua_gettop(L), help = moon + 1, names = moon + 2;

    if (!holds_names(L, idx))
        return false;
    if (!name || !is_path(L, idx, name, path)) {
        ml_text_clear(path);
        ml_text_add(path, "moon");
        if (!find_path(L, idx, DEPTH, path))
            return false;
    }
    Names to = {ml_text_z(path), path->n, width, out};

    lua_getfield(L, moon, "help");
    lua_pushvalue(L, help);
    lua_call(L, 0, 1);
    for (lua_Integer k = 1, n = luaL_len(L, names); k <= n; k++) {
        lua_rawgeti(L, names, k);
        if (belongs(&to, lua_tostring(L, -1))) {
            lua_pushvalue(L, help);
            lua_pushvalue(L, -2);
            lua_call(L, 1, 1);
            add_row(L, &to);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    return out->n > 0;
}

static bool is_of_lua(const char *name)
{
    static const char *const LIBS[] = {
        LUA_GNAME,       LUA_TABLIBNAME,  LUA_IOLIBNAME, LUA_OSLIBNAME, LUA_STRLIBNAME,
        LUA_MATHLIBNAME, LUA_UTF8LIBNAME, LUA_COLIBNAME, LUA_DBLIBNAME, LUA_LOADLIBNAME};

    for (size_t k = 0; k < ML_COUNT(LIBS); k++)
        if (ml_streq(LIBS[k], name))
            return true;
    return false;
}

void ml_host_push_keys(lua_State *L, int idx, lua_Integer most)
{
    idx = lua_absindex(L, idx);
    lua_newtable(L);
    int keys = lua_gettop(L);
    lua_Integer n = 0;

    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || n == most)
            continue;
        lua_Integer at = ++n;

        for (; at > 1; at--) { /* up to its place */
            lua_rawgeti(L, keys, at - 1);
            if (strcmp(lua_tostring(L, -1), lua_tostring(L, -3)) <= 0)
                break;
            lua_rawseti(L, keys, at);
        }
        if (at > 1)
            lua_pop(L, 1);
        lua_pushvalue(L, -2);
        lua_rawseti(L, keys, at);
    }
}

/* Of a table of Lua's own the names alone: Lua's manual tells more. */
static void list_lua(lua_State *L, int idx, const char *name, size_t width, ml_Text *out)
{
    ml_Text *t = bind_text(L);

    ml_host_push_keys(L, idx, MOST);
    ml_text_fmt(t, "%s, a table of Lua:", name);
    for (lua_Unsigned k = 1; k <= lua_rawlen(L, -1); k++) {
        lua_rawgeti(L, -1, (lua_Integer)k);
        ml_text_fmt(t, "%s %s", k > 1 ? "," : "", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    ml_wrap_hanging(out, ml_text_z(t), width);
}

/* a, b, ... of a function that is written in Lua. */
static void add_params(lua_State *L, int idx, ml_Text *out)
{
    lua_Debug ar;
    const char *name;

    lua_pushvalue(L, idx);
    lua_getinfo(L, ">u", &ar);
    ml_text_char(out, '(');
    for (int k = 1; k <= ar.nparams; k++) {
        lua_pushvalue(L, idx);
        name = lua_getlocal(L, NULL, k);
        lua_pop(L, 1);
        ml_text_fmt(out, "%s%s", k > 1 ? ", " : "", name ? name : "_");
    }
    if (ar.isvararg)
        ml_text_add(out, ar.nparams ? ", ..." : "...");
    ml_text_char(out, ')');
}

/* a function f(a, b): in Lua its parameters are known. */
void ml_host_add_function(lua_State *L, int idx, const char *name, ml_Text *out)
{
    ml_text_fmt(out, "function%s%s", name ? " " : "", name ? name : "");
    if (!lua_iscfunction(L, idx))
        add_params(L, lua_absindex(L, idx), out);
}

/* The signature and a word of a primitive, of a function of moon. */
static void list_function(lua_State *L, int idx, const char *name, size_t width,
                          ml_Text *out)
{
    const char *dot = name ? strrchr(name, '.') : NULL, *last = dot ? dot + 1 : name;
    const ml_Primitive *prim = last ? ml_primitive_find(last) : NULL;
    ml_Text *sign = bind_text(L);
    ml_HostTopic t = {0};

    if (name && !dot && ml_habit(name) && lua_iscfunction(L, idx)) {
        ml_text_fmt(sign, "function %s, of Lua; instead: %s", name, ml_habit(name));
        ml_wrap_hanging(out, ml_text_z(sign), width);
    } else if (prim && lua_iscfunction(L, idx)) {
        ml_primitive_signature(sign, prim);
        ml_wrap_row(out, ml_text_z(sign), prim->summary, 0, COLUMN, width);
    } else if (name && ml_host_topic(ml_host_of(L), name, &t) && t.signature.n)
        ml_wrap_row(out, ml_text_z(&t.signature), ml_text_z(&t.summary), 0, COLUMN, width);
    else {
        ml_host_add_function(L, idx, name, sign);
        ml_wrap_hanging(out, ml_text_z(sign), width);
    }
    ml_host_topic_free(&t);
}

bool ml_host_list(lua_State *L, int idx, const char *name, ml_Text *out)
{
    int width = ml_host_of(L)->ss->out.width, top = lua_gettop(L);
    size_t columns = width > 0 && width < MOST ? (size_t)width : MOST;

    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 16, NULL);
    if (lua_isfunction(L, idx))
        list_function(L, idx, name, columns, out);
    else if (lua_istable(L, idx) && !list_moon(L, idx, name, columns, out) && name &&
             is_of_lua(name))
        list_lua(L, idx, name, columns, out);
    while (out->n && out->p[out->n - 1] == '\n')
        out->p[--out->n] = '\0';
    lua_settop(L, top);
    return out->n > 0;
}
