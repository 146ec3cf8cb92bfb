/*
 * host_names - globals, fields and methods for completion; no metamethod is run.
 * Source: interaction 6.
 */
#include "repl/host/host_impl.h"

#include "repl/bind/bind.h"

static const char *kind_of(lua_State *L, int idx)
{
    int t = lua_type(L, idx);

    return t == LUA_TFUNCTION ? "function" : t == LUA_TTABLE ? "table" : lua_typename(L, t);
}

typedef struct NamesWanted {
    const char *path, *prefix;
    void (*fn)(const char *name, const char *what, void *user);
    void *user;
} NamesWanted;

/* The names of the table on top; what: their kind, or NULL for that of each value. */
static void tell_names(lua_State *L, const NamesWanted *w, const char *what)
{
    size_t n = strlen(w->prefix);

    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING &&
            strncmp(lua_tostring(L, -2), w->prefix, n) == 0)
            w->fn(lua_tostring(L, -2), what ? what : kind_of(L, -1), w->user);
}

/* Protected: memory may end here, too. */
static int l_names(lua_State *L)
{
    const NamesWanted *w = lua_touserdata(L, 1);
    const char *path = w->path;

    if (ml_streq(path, ":")) { /* methods of schedules */
        ml_host_push_methods(L);
        tell_names(L, w, "method of schedule");
        return 0;
    }
    lua_pushglobaltable(L);
    while (*path) {
        size_t len = strcspn(path, ".:");

        if (lua_type(L, -1) != LUA_TTABLE)
            return 0;
        lua_pushlstring(L, path, len);
        lua_rawget(L, -2);
        path += len + (path[len] != '\0');
    }
    if (lua_type(L, -1) == LUA_TTABLE)
        tell_names(L, w, NULL);
    else if (lua_type(L, -1) == LUA_TSTRING) {
        lua_pushglobaltable(L);
        lua_pushliteral(L, LUA_STRLIBNAME);
        if (lua_rawget(L, -2) == LUA_TTABLE)
            tell_names(L, w, "method");
    } else if (lua_type(L, -1) == LUA_TUSERDATA) { /* see bind_class */
        int object = lua_gettop(L);
        const char *method = lua_pushfstring(L, "method of %s", bind_type(L, object));
        const char *field = lua_pushfstring(L, "field of %s", bind_type(L, object));
        int top = lua_gettop(L);

        if (luaL_getmetafield(L, object, "methods") == LUA_TTABLE)
            tell_names(L, w, method);
        lua_settop(L, top);
        if (luaL_getmetafield(L, object, "fields") == LUA_TTABLE)
            tell_names(L, w, field);
    }
    return 0;
}

/* moon.PATH() gives a list of names, or of {name, what it is}. */
static int l_words(lua_State *L)
{
    const NamesWanted *w = lua_touserdata(L, 1);
    size_t n = strlen(w->prefix);

    ml_host_push_moon(L);
    for (const char *p = w->path; *p;) {
        size_t len = strcspn(p, ".");

        lua_pushlstring(L, p, len);
        lua_gettable(L, -2);
        p += len + (p[len] != '\0');
    }
    lua_call(L, 0, 1);
    int list = lua_gettop(L);

    for (lua_Integer k = 1; lua_rawgeti(L, list, k) != LUA_TNIL; k++) {
        if (lua_istable(L, -1)) {
            lua_rawgeti(L, -1, 1);
            lua_rawgeti(L, -2, 2);
        } else
            lua_pushnil(L);
        const char *name = lua_tostring(L, -2), *what = lua_tostring(L, -1);

        if (name && strncmp(name, w->prefix, n) == 0)
            w->fn(name, what ? what : "", w->user);
        lua_settop(L, list);
    }
    return 0;
}

void ml_host_words(ml_Host *h, const char *path, const char *prefix,
                   void (*fn)(const char *name, const char *what, void *user), void *user)
{
    NamesWanted w = {path, prefix, fn, user};

    ml_host_protected(h, l_words, &w); /* what fails offers nothing */
}

void ml_host_names(ml_Host *h, const char *path, const char *prefix,
                   void (*fn)(const char *name, const char *what, void *user), void *user)
{
    NamesWanted w = {path, prefix, fn, user};

    ml_host_protected(h, l_names, &w); /* out of memory: no more names */
}
