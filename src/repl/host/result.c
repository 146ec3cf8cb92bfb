/*
 * host_result - the values of a line: kept, and as the prompt shows them; a line that is a call
 * of a primitive without its text. Source: interaction 4.
 */
#include "repl/host/host_impl.h"

#include "repl/bind/bind.h"
#include "repl/host/json.h"

/* The name of the handle on top; false: it is none. */
static bool add_handle(lua_State *L, ml_Text *out)
{
    ml_Schedule *s;
    ml_Handle h;

    if (!ml_lua_to_handle(L, -1, &s, &h))
        return false;
    ml_text_fmt(out, "%s%s", out->n ? ", " : "", luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return true;
}

/* Handles, or a list of nothing else, on top: their names. */
static bool add_handles(lua_State *L, ml_Text *out)
{
    bool all = lua_type(L, -1) == LUA_TTABLE && lua_rawlen(L, -1) > 0;

    if (add_handle(L, out))
        return true;
    for (lua_Unsigned k = 1; all && k <= lua_rawlen(L, -1); k++) {
        lua_rawgeti(L, -1, (lua_Integer)k);
        all = add_handle(L, out);
        lua_pop(L, 1);
    }
    return all;
}

static void add_quoted(ml_Text *t, const char *z, size_t n)
{
    ml_text_char(t, '"');
    for (size_t k = 0; k < n; k++) {
        unsigned char c = (unsigned char)z[k];

        if (c == '"' || c == '\\')
            ml_text_fmt(t, "\\%c", c);
        else if (c == '\n')
            ml_text_add(t, "\\n");
        else if (c < 32 || c == 127)
            ml_text_fmt(t, "\\%d", c);
        else
            ml_text_char(t, (char)c);
    }
    ml_text_char(t, '"');
}

static void add_value(lua_State *L, int idx, ml_Text *t, int depth);

/* One more entry, its value on top, its key below: "key = value", in a list the value alone. */
static void add_entry(lua_State *L, ml_Text *t, bool listed, int depth)
{
    if (t->p[t->n - 1] != '{')
        ml_text_add(t, ", ");
    if (!listed && lua_type(L, -2) == LUA_TSTRING)
        ml_text_fmt(t, "%s = ", lua_tostring(L, -2));
    else if (!listed) {
        ml_text_char(t, '[');
        add_value(L, -2, t, 0);
        ml_text_add(t, "] = ");
    }
    add_value(L, -1, t, depth - 1);
}

/* The list, then names in order, then all else; at most 40 of each. */
static void add_table(lua_State *L, int idx, ml_Text *t, int depth)
{
    enum { MOST = 40, SORTED = 400 };
    lua_Integer n_list = 0, n = 0;

    idx = lua_absindex(L, idx);
    if (depth == 0 || !lua_checkstack(L, 12)) {
        ml_text_add(t, "{…}");
        return;
    }
    ml_text_char(t, '{');
    for (; n_list < MOST && lua_rawgeti(L, idx, n_list + 1) != LUA_TNIL; lua_pop(L, 1)) {
        lua_pushnil(L);
        lua_insert(L, -2);
        add_entry(L, t, true, depth);
        lua_remove(L, -2);
        n_list++;
    }
    bool more = n_list == MOST;

    if (!more)
        lua_pop(L, 1);
    ml_host_push_keys(L, idx, SORTED);
    for (; n < MOST && lua_rawgeti(L, -1, n + 1) != LUA_TNIL; n++) {
        lua_pushvalue(L, -1);
        lua_rawget(L, idx);
        add_entry(L, t, false, depth);
        lua_pop(L, 2);
    }
    more |= n == MOST;
    lua_settop(L, lua_gettop(L) - (n < MOST ? 2 : 1));
    n = 0;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        bool listed = lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 &&
                      lua_tointeger(L, -2) <= n_list;

        if (listed || lua_type(L, -2) == LUA_TSTRING)
            continue;
        if (n++ == MOST) {
            more = true;
            lua_pop(L, 2);
            break;
        }
        add_entry(L, t, false, depth);
    }
    ml_text_add(t, more ? ", …}" : "}");
}

static void add_value(lua_State *L, int idx, ml_Text *t, int depth)
{
    size_t n;
    const char *z;

    idx = lua_absindex(L, idx);
    if (lua_type(L, idx) == LUA_TSTRING) {
        z = lua_tolstring(L, idx, &n);
        add_quoted(t, z, n);
    } else if (lua_type(L, idx) == LUA_TTABLE &&
               luaL_getmetafield(L, idx, "__tostring") == LUA_TNIL)
        add_table(L, idx, t, depth);
    else if (lua_type(L, idx) == LUA_TFUNCTION)
        ml_host_add_function(L, idx, NULL, t);
    else if (luaL_testudata(L, idx, LUA_FILEHANDLE))
        ml_text_add(t, ((luaL_Stream *)lua_touserdata(L, idx))->closef ? "file"
                                                                       : "file (closed)");
    else {
        if (lua_type(L, idx) == LUA_TTABLE)
            lua_pop(L, 1);
        z = luaL_tolstring(L, idx, &n);
        ml_text_addn(t, z, n);
        lua_pop(L, 1);
    }
}

/* What io.write gives back; its text stands there already. */
static bool is_output(lua_State *L)
{
    luaL_Stream *f = luaL_testudata(L, -1, LUA_FILEHANDLE);

    return f && f->f == stdout;
}

/* A value of pages is told by its beginning; the first is on the stack at 1. */
static void shorten(lua_State *L, lua_Integer n, ml_Text *t)
{
    enum { LONG = 2000 };
    size_t all = t->n, cut = LONG;

    if (all <= LONG + LONG / 4)
        return;
    while (((unsigned char)t->p[cut] & 0xc0) == 0x80)
        cut--;
    t->n = cut;
    lua_rawgeti(L, 1, 1);
    ml_text_fmt(t, "…\n%zu bytes more; all of it: %s", all - cut,
                n == 1 && lua_istable(L, -1) ? "for k, v in pairs(_) do print(k, v) end"
                                             : "print(_)");
    lua_pop(L, 1);
}

/* The values as text in the box at 2: runs __tostring, so it may raise. 3: the name that the
 * line was, or nil. */
static int l_show(lua_State *L)
{
    ml_Text *t = lua_touserdata(L, 2), names = {0};
    const char *hint = "";
    lua_Integer n;

    lua_getfield(L, 1, "n");
    n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (n == 1) {
        lua_rawgeti(L, 1, 1);
        if (add_handles(L, &names)) {
            ml_text_fmt(t, "→ %s", ml_text_z(&names));
            ml_text_free(&names);
            return 0;
        }
        ml_text_free(&names);
        const char *typed = lua_tostring(L, 3);

        if (lua_isnil(L, -1) && typed)
            ml_text_add(t, "nil");
        if (lua_isnil(L, -1) || is_output(L) || ml_host_list(L, -1, typed, t))
            return 0;
        if (bind_test(L, -1, &bind_module_class))
            hint = "   schedule(_) makes a schedule of it";
        lua_pop(L, 1);
    }
    for (lua_Integer k = 1; k <= n; k++) {
        lua_rawgeti(L, 1, k);
        if (k > 1)
            ml_text_add(t, "\t");
        add_value(L, -1, t, 3);
        lua_pop(L, 1);
    }
    shorten(L, n, t);
    ml_text_add(t, hint);
    return 0;
}

/* --json: {"result": …}, or {"results": […]} of several values. Nothing for nil. */
static int l_tell(lua_State *L)
{
    ml_Text *t = lua_touserdata(L, 2);
    lua_Integer n;

    lua_getfield(L, 1, "n");
    n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (n == 0 || (n == 1 && lua_rawgeti(L, 1, 1) == LUA_TNIL))
        return 0;
    ml_text_fmt(t, "{\"schema\":%d,\"%s", ML_DATA_SCHEMA,
                n == 1 ? "result\":" : "results\":[");
    for (lua_Integer k = 1; k <= n; k++) {
        ml_text_add(t, k > 1 ? "," : "");
        lua_rawgeti(L, 1, k);
        ml_host_json_add(L, -1, t);
        lua_pop(L, 1);
    }
    ml_text_add(t, n == 1 ? "}" : "]}");
    return 0;
}

void ml_host_print_result(ml_Host *h, bool silent)
{
    lua_State *L = h->L;
    ml_Text t = {0};

    if (h->result == LUA_NOREF)
        return;
    lua_checkstack(L, 8);
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->result);
    lua_rawgeti(L, -1, 1);
    lua_setglobal(L, "_");
    if (silent) {
        lua_pop(L, 1);
    } else {
        lua_pushcfunction(L, h->ss->json ? l_tell : l_show);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, &t);
        lua_pushstring(L, h->typed.n ? ml_text_z(&h->typed) : NULL);
        if (ml_host_run(h, 3, 0, true) && t.n) {
            bool folds = !h->ss->json && !strchr(ml_text_z(&t), '\n');

            (folds ? ml_out_prose : ml_out_line)(&h->ss->out, ml_text_z(&t));
        }
    }
    ml_text_free(&t);
    ml_host_drop_result(h);
}

/* ---- where they come from */

void ml_host_drop_result(ml_Host *h)
{
    luaL_unref(h->L, LUA_REGISTRYINDEX, h->result);
    h->result = LUA_NOREF;
}

bool ml_host_run_for_result(ml_Host *h, int n_args)
{
    lua_State *L = h->L;
    int base = lua_gettop(L) - n_args - 1;

    ml_text_clear(&h->typed);
    if (!ml_host_run(h, n_args, LUA_MULTRET, h->ss->mode == ML_MODE_TYPED))
        return false;
    int n = lua_gettop(L) - base;

    lua_createtable(L, n, 0);
    lua_insert(L, base + 1);
    for (int k = n; k > 0; k--)
        lua_rawseti(L, base + 1, k);
    lua_pushinteger(L, n);
    lua_setfield(L, base + 1, "n");
    h->result = luaL_ref(L, LUA_REGISTRYINDEX);
    return true;
}

/* Argument 1: an ml_RunCall. */
static int l_apply(lua_State *L)
{
    const ml_RunCall *c = lua_touserdata(L, 1);
    ml_Schedule *s = ml_host_of(L)->ss->focus;
    ml_Results results;

    ml_lua_push_schedule(L, ml_schedule_ref(s));
    if (!ml_apply_prim(s, c->prim, c->args, c->n, &results))
        return bind_raise_schedule(L, s);
    return bind_push_results(L, 2, &results);
}

bool ml_host_apply(ml_Host *h, const ml_RunCall *call)
{
    ml_host_drop_result(h);
    lua_pushcfunction(h->L, l_apply);
    lua_pushlightuserdata(h->L, (void *)(uintptr_t)call);
    return ml_host_run_for_result(h, 1);
}
