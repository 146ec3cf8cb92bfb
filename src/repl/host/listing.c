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

/* Whether the value at idx is what is on top or in it: then *path is where. */
static bool find_path(lua_State *L, int idx, int depth, ml_Text *path)
{
    size_t n = path->n;

    luaL_checkstack(L, 4, NULL);
    if (lua_rawequal(L, idx, -1))
        return true;
    if (!lua_istable(L, -1))
        return false;
    for (lua_pushnil(L); depth > 0 && lua_next(L, -2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING ||
            (!lua_istable(L, -1) && !lua_isfunction(L, -1)))
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

/* {i, j}, where all that the table holds is a list of moonloop's objects. */
static bool add_objects(lua_State *L, int idx, ml_Text *out)
{
    size_t from = out->n;
    lua_Unsigned n = lua_rawlen(L, idx);
    bool all = n > 0;

    for (lua_Unsigned k = 1; all && k <= n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k);
        all = bind_class_of(L, lua_gettop(L)) != NULL;
        if (all) {
            ml_text_fmt(out, "%s%s", k > 1 ? ", " : "{", luaL_tolstring(L, -1, NULL));
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    if (all)
        ml_text_char(out, '}');
    else
        out->n = from;
    return all;
}

/* moon.te: abs, acos, … */
static void add_names(lua_State *L, int idx, const char *path, ml_Text *out)
{
    ml_host_push_keys(L, idx, MOST);
    ml_text_add(out, path);
    for (lua_Unsigned k = 1; k <= lua_rawlen(L, -1); k++) {
        lua_rawgeti(L, -1, (lua_Integer)k);
        ml_text_fmt(out, "%s %s", k > 1 ? "," : ":", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
}

/* Whether the C functions are one: s.split is made anew for each schedule, of the same primitive. */
static bool is_same(lua_State *L, int a, int b)
{
    bool same = lua_rawequal(L, a, b);

    if (same || !lua_iscfunction(L, a) || lua_tocfunction(L, a) != lua_tocfunction(L, b) ||
        !lua_getupvalue(L, a, 1))
        return same;
    if (lua_getupvalue(L, b, 1)) {
        same = lua_islightuserdata(L, -1) && lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return same;
}

/* The name of the method of schedules that the value at idx is, or is the name of; or NULL. */
static const char *method_of(lua_State *L, int idx)
{
    const char *name = lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : NULL;

    if (name)
        return ml_host_is_method(L, name) ? name : NULL;
    ml_host_push_methods(L);
    for (lua_pushnil(L); lua_isfunction(L, idx) && lua_next(L, -2); lua_pop(L, 1))
        if (is_same(L, idx, lua_gettop(L)))
            return lua_tostring(L, -2);
    return NULL;
}

/* The same of the function, or of what it closes over: split, s.split. */
static const char *method_in(lua_State *L, int idx)
{
    const char *name = method_of(L, idx);

    for (int k = 1; !name && lua_iscfunction(L, idx) && lua_getupvalue(L, idx, k); k++)
        name = method_of(L, lua_gettop(L));
    return name;
}

/* "function split(loop, …)", of a function that is one of ours: of schedules, or at that path. */
static void add_own_function(lua_State *L, const char *name, const char *path, ml_Text *out)
{
    const ml_Primitive *prim = name ? ml_primitive_find(name) : NULL;
    ml_HostTopic t = {0};

    ml_text_add(out, "function ");
    if (prim)
        ml_primitive_signature(out, prim);
    else if (ml_host_topic(ml_host_of(L), name ? lua_pushfstring(L, "s:%s", name) : path,
                           &t) &&
             t.signature.n)
        ml_text_add(out, ml_text_z(&t.signature));
    else
        ml_text_fmt(out, "%s%s", name ? "s:" : "", name ? name : path);
    ml_host_topic_free(&t);
}

bool ml_host_add_own(lua_State *L, int idx, ml_Text *out)
{
    int top = lua_gettop(L), type = lua_type(L, idx);
    bool own = false;

    if (type != LUA_TFUNCTION && type != LUA_TTABLE)
        return false;
    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 32, NULL);
    if (luaL_getmetafield(L, idx, "__tostring") != LUA_TNIL) {
        /* it says itself */
    } else if (type == LUA_TTABLE && add_objects(L, idx, out)) {
        own = true;
    } else {
        ml_Text *path = bind_text(L);
        const char *name = type == LUA_TFUNCTION ? method_in(L, idx) : NULL;

        ml_text_add(path, "moon");
        ml_host_push_moon(L);
        own = name || find_path(L, idx, DEPTH, path);
        if (own && type == LUA_TTABLE)
            add_names(L, idx, ml_text_z(path), out);
        else if (own)
            add_own_function(L, name, ml_text_z(path), out);
    }
    lua_settop(L, top);
    return own;
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
