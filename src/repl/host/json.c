/* host_json - values of Lua as JSON, and JSON as values of Lua. Source: interaction 2, 4.
 */
#include "repl/host/json.h"

#include <stdlib.h>

#include "moonloop/core/json/data.h"
#include "repl/bind/bind.h"

enum { MAX_DEPTH = 32 };

typedef struct Writer {
    lua_State *L;
    ml_Text *out;
    const void *open[MAX_DEPTH]; /* tables that are being written */
    int depth;
} Writer;

static void add(Writer *w, int idx);

static bool is_open(const Writer *w, const void *table)
{
    for (int k = 0; k < w->depth; k++)
        if (w->open[k] == table)
            return true;
    return false;
}

/* Whether the keys are 1 to n and nothing else. */
static bool is_list(lua_State *L, int idx, lua_Integer *n)
{
    lua_Integer count = 0;

    *n = (lua_Integer)lua_rawlen(L, idx);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), count++)
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
            lua_tointeger(L, -2) > *n) {
            lua_pop(L, 2);
            return false;
        }
    return count == *n;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the table on the way to the end of `keys`, a buffer on the stack; sorted. */
static size_t names(lua_State *L, int idx, const char ***out)
{
    size_t n = 0, cap = 0;

    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        cap += lua_type(L, -2) == LUA_TSTRING;
    const char **v = lua_newuserdatauv(L, (cap + 1) * sizeof *v, 0);

    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && n < cap)
            v[n++] = lua_tostring(L, -2);
    qsort(v, n, sizeof *v, by_name);
    *out = v;
    return n;
}

static void add_object(Writer *w, int idx)
{
    lua_State *L = w->L;
    const char **v;
    size_t n = names(L, idx, &v); /* the buffer stays on the stack */
    bool comma = false;

    ml_text_char(w->out, '{');
    for (size_t k = 0; k < n; k++) {
        ml_text_add(w->out, comma ? "," : "");
        comma = true;
        ml_data_quote(w->out, v[k]);
        ml_text_char(w->out, ':');
        lua_pushstring(L, v[k]);
        lua_rawget(L, idx);
        add(w, lua_gettop(L));
        lua_pop(L, 1);
    }
    /* Numbers as keys beside names, or with holes between them: their digits. */
    lua_Integer top = (lua_Integer)lua_rawlen(L, idx);

    for (lua_Integer k = 1; k <= top; k++) {
        if (lua_rawgeti(L, idx, k) != LUA_TNIL) {
            ml_text_fmt(w->out, "%s\"%lld\":", comma ? "," : "", (long long)k);
            comma = true;
            add(w, lua_gettop(L));
        }
        lua_pop(L, 1);
    }
    ml_text_char(w->out, '}');
    lua_pop(L, 1);
}

static void add_table(Writer *w, int idx)
{
    lua_State *L = w->L;
    lua_Integer n;

    if (w->depth == MAX_DEPTH || is_open(w, lua_topointer(L, idx)) ||
        !lua_checkstack(L, 12)) {
        ml_text_add(w->out, "null");
        return;
    }
    w->open[w->depth++] = lua_topointer(L, idx);
    if (is_list(L, idx, &n)) {
        ml_text_char(w->out, '[');
        for (lua_Integer k = 1; k <= n; k++) {
            ml_text_add(w->out, k > 1 ? "," : "");
            lua_rawgeti(L, idx, k);
            add(w, lua_gettop(L));
            lua_pop(L, 1);
        }
        ml_text_char(w->out, ']');
    } else
        add_object(w, idx);
    w->depth--;
}

static void add(Writer *w, int idx)
{
    lua_State *L = w->L;

    switch (lua_type(L, idx)) {
    case LUA_TNIL:
    case LUA_TFUNCTION:
    case LUA_TTHREAD: ml_text_add(w->out, "null"); return;
    case LUA_TBOOLEAN:
        ml_text_add(w->out, lua_toboolean(L, idx) ? "true" : "false");
        return;
    case LUA_TNUMBER:
        if (lua_isinteger(L, idx))
            ml_text_int(w->out, lua_tointeger(L, idx));
        else
            ml_json_real(w->out, lua_tonumber(L, idx));
        return;
    case LUA_TSTRING: ml_data_quote(w->out, lua_tostring(L, idx)); return;
    case LUA_TTABLE:
        if (luaL_getmetafield(L, idx, "__tostring") == LUA_TNIL) {
            add_table(w, idx);
            return;
        }
        lua_pop(L, 1);
        break;
    default: break;
    }
    ml_data_quote(w->out, luaL_tolstring(L, idx, NULL));
    lua_pop(L, 1);
}

void ml_host_json_add(lua_State *L, int idx, ml_Text *out)
{
    Writer w = {.L = L, .out = out};

    luaL_checkstack(L, 12, NULL);
    add(&w, lua_absindex(L, idx));
}

/* ---------------------------------------------------------------- the other way */

void ml_host_json_fields(lua_State *L, const ml_Json *object)
{
    for (uint32_t k = 0; k < object->n; k++) {
        ml_host_json_push(L, &object->as.list[k]);
        lua_setfield(L, -2, object->keys[k]);
    }
}

void ml_host_json_push(lua_State *L, const ml_Json *j)
{
    luaL_checkstack(L, 4, NULL);
    switch ((ml_JsonKind)j->kind) {
    case ML_JSON_NULL: lua_pushnil(L); return;
    case ML_JSON_BOOL: lua_pushboolean(L, j->as.b); return;
    case ML_JSON_INT: lua_pushinteger(L, (lua_Integer)j->as.i); return;
    case ML_JSON_FLOAT: lua_pushnumber(L, j->as.f); return;
    case ML_JSON_STRING: lua_pushlstring(L, j->as.s, j->n); return;
    case ML_JSON_LIST:
        lua_createtable(L, (int)j->n, 0);
        for (uint32_t k = 0; k < j->n; k++) {
            if (j->as.list[k].kind == ML_JSON_NULL)
                lua_pushboolean(L, 0); /* no holes */
            else
                ml_host_json_push(L, &j->as.list[k]);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
        return;
    case ML_JSON_OBJECT:
        lua_createtable(L, 0, (int)j->n);
        ml_host_json_fields(L, j);
        return;
    }
}
