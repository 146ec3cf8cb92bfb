/*
 * value - Lua values as raw arguments of primitives and as constants, and back.
 *
 * Texts are copied into the given context; what cannot be copied (index maps made from
 * functions) is anchored in the scratch box. Tables with names are dicts, sequences lists;
 * a table that is neither is refused. Source: lua-api 1, primitives 1.2.
 */
#include "repl/bind/ir/ir.h"

#include <stdlib.h>

enum { MAX_DEPTH = 100 };

typedef struct Reader {
    lua_State *L;
    ml_Ctx *cx;
    int box; /* 0: constants only, nothing is anchored and no function is called */
    ml_Schedule *s;
    bool ranges; /* a function may give {begin, end} */
} Reader;

static ml_Arg read_arg(const Reader *r, int idx, int depth);

/* Counts the names of a table; the rest must be a sequence without holes. */
static size_t count_names(lua_State *L, int idx, size_t *n_list)
{
    size_t names = 0, numbers = 0;

    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING)
            names++;
        else if (lua_isinteger(L, -2))
            numbers++;
        else
            bind_bad(L, "a table holds a list or names, not keys like %s",
                     bind_type(L, -2));
    }
    for (size_t k = 1; k <= numbers; k++) {
        if (lua_rawgeti(L, idx, (lua_Integer)k) == LUA_TNIL)
            bind_bad(
                L,
                "the list has a hole at position %d; \"whatever is left\" is moon.auto or "
                "false, never nil",
                (int)k);
        lua_pop(L, 1);
    }
    *n_list = numbers;
    return names;
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the table, sorted, so that nothing depends on the order of a hash. */
static const char **sorted_names(const Reader *r, int idx, size_t n)
{
    const char **keys = ML_ARRAY(r->cx, const char *, n + 1);
    size_t k = 0;

    for (lua_pushnil(r->L); lua_next(r->L, idx); lua_pop(r->L, 1))
        if (lua_type(r->L, -2) == LUA_TSTRING && k < n)
            keys[k++] = ml_strdup(r->cx, ml_str(lua_tostring(r->L, -2)));
    qsort(keys, n, sizeof *keys, compare_keys);
    return keys;
}

static ml_Arg read_table(const Reader *r, int idx, int depth)
{
    lua_State *L = r->L;
    size_t n_list, n_names;
    ml_Arg *list;

    idx = lua_absindex(L, idx);
    luaL_checkstack(L, 8, "nested tables");
    if (depth > MAX_DEPTH)
        bind_bad(L, "tables are nested too deep");
    n_names = count_names(L, idx, &n_list);
    if (n_names > 0 && n_list > 0)
        bind_bad(L, "a table holds a list or names, not both");
    list = ML_ARRAY(r->cx, ml_Arg, n_names + n_list + 1);
    if (n_names == 0) {
        for (size_t k = 0; k < n_list; k++) {
            lua_rawgeti(L, idx, (lua_Integer)k + 1);
            list[k] = read_arg(r, lua_gettop(L), depth + 1);
            lua_pop(L, 1);
        }
        return ML_ARG_LIST(list, n_list);
    }
    const char **keys = sorted_names(r, idx, n_names);

    for (size_t k = 0; k < n_names; k++) {
        lua_pushstring(L, keys[k]);
        lua_rawget(L, idx);
        list[k] = read_arg(r, lua_gettop(L), depth + 1);
        lua_pop(L, 1);
    }
    return (ml_Arg){
        .kind = ML_A_DICT, .n = (uint32_t)n_names, .as.list = list, .keys = keys};
}

static ml_Arg read_object(const Reader *r, int idx)
{
    const BindClass *c = bind_class_of(r->L, idx);
    ml_Arg a;

    if (c && c->arg && c->arg(&(BindAsk){r->L, idx, r->cx, r->s}, &a))
        return a;
    bind_bad(r->L, "%s cannot be an argument of a primitive", bind_type(r->L, idx));
}

static ml_Arg read_arg(const Reader *r, int idx, int depth)
{
    lua_State *L = r->L;

    switch (lua_type(L, idx)) {
    case LUA_TNONE:
    case LUA_TNIL: return ML_ARG_ABSENT;
    case LUA_TBOOLEAN: return ML_ARG_BOOL(lua_toboolean(L, idx) != 0);
    case LUA_TNUMBER:
        if (lua_isinteger(L, idx))
            return ML_ARG_INT(lua_tointeger(L, idx));
        return (ml_Arg){.kind = ML_A_FLOAT, .as.f = lua_tonumber(L, idx)};
    case LUA_TSTRING: return ML_ARG_STR(ml_strdup(r->cx, ml_str(lua_tostring(L, idx))));
    case LUA_TTABLE: return read_table(r, idx, depth);
    case LUA_TUSERDATA: return read_object(r, idx);
    case LUA_TFUNCTION: {
        if (!r->box)
            bind_bad(L, "a function is no constant");
        ml_Arg a = {.kind = ML_A_MAP, .as.map = bind_map_from_function(L, idx, r->ranges)};

        bind_anchor(L, r->box);
        return a;
    }
    default: bind_bad(L, "%s cannot be an argument of a primitive", bind_type(L, idx));
    }
    return ML_ARG_ABSENT;
}

ml_Arg bind_read_arg(lua_State *L, int idx, ml_Ctx *cx, int box, ml_Schedule *s)
{
    Reader r = {L, cx, lua_absindex(L, box), s, false};

    return read_arg(&r, lua_absindex(L, idx), 0);
}

ml_Arg bind_read_held_arg(lua_State *L, int idx, ml_Ctx *cx, ml_Schedule *s)
{
    Reader r = {.L = L, .cx = cx, .s = s};

    return read_arg(&r, lua_absindex(L, idx), 0);
}

ml_Arg bind_read_arg_of(lua_State *L, const ml_Primitive *prim, int idx, ml_Ctx *cx,
                        int box, ml_Schedule *s)
{
    Reader r = {L, cx, lua_absindex(L, box), s, false};

    for (size_t k = 0; k < prim->n_params; k++)
        r.ranges |= prim->params[k].ranges;
    return read_arg(&r, lua_absindex(L, idx), 0);
}

/* ---- constants */

static const ml_Value *value_of(lua_State *L, const ml_Arg *a, ml_Ctx *cx)
{
    const ml_Value **list;

    switch ((ml_ArgKind)a->kind) {
    case ML_A_ABSENT:
    case ML_A_NONE: return ml_val_none(cx);
    case ML_A_BOOL: return ml_val_bool(cx, a->as.b);
    case ML_A_INT: return ml_val_int(cx, a->as.i);
    case ML_A_FLOAT: return ml_val_float(cx, a->as.f);
    case ML_A_STRING: return ml_val_string(cx, ml_str(a->as.s));
    case ML_A_EXPR: return ml_val_expr(cx, a->as.e);
    case ML_A_LIST:
    case ML_A_DICT:
        list = ML_ARRAY(cx, const ml_Value *, a->n + 1);
        for (uint32_t k = 0; k < a->n; k++)
            list[k] = value_of(L, &a->as.list[k], cx);
        return a->kind == ML_A_LIST ? ml_val_list(cx, list, a->n)
                                    : ml_val_dict(cx, a->keys, list, a->n);
    case ML_A_HANDLE:
    case ML_A_BUFFER:
    case ML_A_MAP: break;
    }
    bind_bad(L, "a constant is a number, string, boolean, or a list or table of such");
    return NULL;
}

const ml_Value *bind_read_value(lua_State *L, int idx, ml_Ctx *cx)
{
    Reader r = {.L = L, .cx = cx};
    ml_Arg a = read_arg(&r, lua_absindex(L, idx), 0);

    return value_of(L, &a, cx);
}

void bind_push_value(lua_State *L, BindSpace *sp, const ml_Value *v)
{
    luaL_checkstack(L, 6, "nested values");
    if (!v) {
        lua_pushnil(L);
        return;
    }
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE: lua_pushnil(L); return;
    case ML_VAL_BOOL: lua_pushboolean(L, v->as.i != 0); return;
    case ML_VAL_INT: lua_pushinteger(L, v->as.i); return;
    case ML_VAL_FLOAT: lua_pushnumber(L, v->as.f); return;
    case ML_VAL_STRING: lua_pushstring(L, v->as.s); return;
    case ML_VAL_LIST:
        lua_createtable(L, (int)v->n, 0);
        for (uint32_t k = 0; k < v->n; k++) {
            bind_push_value(L, sp, v->as.list[k]);
            lua_rawseti(L, -2, (lua_Integer)k + 1);
        }
        return;
    case ML_VAL_DICT:
        lua_createtable(L, 0, (int)v->n);
        for (uint32_t k = 0; k < v->n; k++) {
            bind_push_value(L, sp, v->as.list[k]);
            lua_setfield(L, -2, v->keys[k]);
        }
        return;
    case ML_VAL_EXPR:
        if (sp) {
            bind_push_expr(L, sp, v->as.expr);
            return;
        }
        break;
    case ML_VAL_BUFFER: lua_pushstring(L, v->as.buffer->name); return;
    case ML_VAL_VAR: lua_pushstring(L, v->as.var->hint); return;
    case ML_VAL_MAP:
    case ML_VAL_TARGET:
    case ML_VAL_REDUCER: break;
    }
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    ml_print_value(cx, t, v, NULL);
    bind_push_text(L, t);
    bind_scratch_done(L, -3);
    lua_replace(L, -3);
    lua_pop(L, 1);
}
