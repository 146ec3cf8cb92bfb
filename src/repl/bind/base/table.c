/*
 * table - fields of the table on top of the stack, and facts as tables: what functions give
 * back as results. A text that is NULL leaves its field out. Source: lua-api.
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

/* ---- facts */

/* The key in the table on top; in a list the place behind its last. */
static void push_key(lua_State *L, const char *key)
{
    if (key)
        lua_pushstring(L, key);
    else
        lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1) + 1);
}

static void put_value(ml_Data *d, const char *key, const ml_DataValue *v)
{
    lua_State *L = d->user;

    push_key(L, key);
    switch (v->kind) {
    case ML_TOLD_NULL:
        if (key)
            lua_pushnil(L);
        else
            lua_pushboolean(L, 0); /* no holes */
        break;
    case ML_TOLD_BOOL: lua_pushboolean(L, v->yes); break;
    case ML_TOLD_INT: lua_pushinteger(L, (lua_Integer)v->n); break;
    case ML_TOLD_REAL: lua_pushnumber(L, v->real); break;
    case ML_TOLD_TEXT: lua_pushstring(L, v->text); break;
    }
    lua_rawset(L, -3);
}

static void open_table(ml_Data *d, const char *key, bool list)
{
    lua_State *L = d->user;

    (void)list;
    luaL_checkstack(L, 6, NULL);
    if (d->depth > 0)
        push_key(L, key);
    lua_newtable(L);
}

static void close_table(ml_Data *d)
{
    if (d->depth > 0)
        lua_rawset(d->user, -3);
}

/* t.old: upvalue 1 is the table of fields that once had it; upvalue 2 `accesses.` where t is
 * a row within that field. */
static int index_fact(lua_State *L)
{
    const ml_FieldTable *t = lua_touserdata(L, lua_upvalueindex(1));
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    const char *old =
        key ? lua_pushfstring(L, "%s%s", lua_tostring(L, lua_upvalueindex(2)), key) : NULL;
    const char *now = old ? ml_field_was(t, old) : NULL;

    if (now)
        return ml_lua_fail(L, ML_E_UNKNOWN_NAME, "%s is now %s", old, now);
    lua_pushnil(L);
    return 1;
}

/* Pushes the metatable of rows of t, or (within not "") of those within a field; where: the
 * address that it is kept under. */
static void push_hint(lua_State *L, const ml_FieldTable *t, const char *within,
                      const void *where)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, where) != LUA_TNIL)
        return;
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushlightuserdata(L, (void *)(uintptr_t)t);
    lua_pushstring(L, within);
    lua_pushcclosure(L, index_fact, 2);
    lua_setfield(L, -2, "__index");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, where);
}

/* `accesses.reuse`: rows in the list, or the object, of that field of the row on top. */
static void hint_within(lua_State *L, const ml_FieldTable *t, const ml_FieldWas *w)
{
    size_t n = strcspn(w->old, ".");

    lua_pushlstring(L, w->old, n);
    if (lua_rawget(L, -2) != LUA_TTABLE) {
        lua_pop(L, 1);
        return;
    }
    lua_pushlstring(L, w->old, n + 1);
    push_hint(L, t, lua_tostring(L, -1), w->old);
    lua_remove(L, -2);
    lua_Integer rows = (lua_Integer)lua_rawlen(L, -2);

    for (lua_Integer k = 1; k <= rows; k++) {
        if (lua_rawgeti(L, -2, k) == LUA_TTABLE) {
            lua_pushvalue(L, -2);
            lua_setmetatable(L, -2);
        }
        lua_pop(L, 1);
    }
    if (rows > 0)
        lua_pop(L, 1);
    else
        lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

void bind_facts_hint(lua_State *L, const ml_FieldTable *t)
{
    if (!t->was->old)
        return;
    luaL_checkstack(L, 8, NULL);
    for (const ml_FieldWas *w = t->was; w->old; w++)
        if (strchr(w->old, '.'))
            hint_within(L, t, w);
    push_hint(L, t, "", t);
    lua_setmetatable(L, -2);
}

static const ml_Medium tables = {put_value, open_table, close_table};

bool bind_push_fact(lua_State *L, const ml_FieldTable *t, const char *name, const void *s)
{
    ml_Data d = {.medium = &tables, .user = L};

    ml_data_row(&d);
    if (!ml_data_field(&d, t, name, s)) {
        lua_pop(L, 1);
        return false;
    }
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return true;
}

void bind_push_facts(lua_State *L, const ml_FieldTable *t, const void *s)
{
    ml_Data d = {.medium = &tables, .user = L};

    ml_data_row(&d);
    ml_data_fields(&d, t, s);
    ml_data_done(&d);
    bind_facts_hint(L, t);
}
