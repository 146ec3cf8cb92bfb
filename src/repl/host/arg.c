/*
 * host_arg - what globals hold, as receiver or argument of a call that is only tried: no
 * Lua function and no metamethod is run. Source: interaction 4 (live checks).
 */
#include "repl/host/host_impl.h"

#include "repl/bind/bind.h"

typedef struct Wanted {
    ml_Str name;
    int64_t element;
    ml_Ctx *cx;
    ml_Schedule *focus;
    ml_HostHolds holds;
    ml_Arg arg;
} Wanted;

static void push_global(lua_State *L, ml_Str name)
{
    lua_pushglobaltable(L);
    lua_pushlstring(L, name.p, name.n);
    lua_rawget(L, -2);
}

static int l_holds(lua_State *L)
{
    Wanted *w = lua_touserdata(L, 1);

    push_global(L, w->name);
    if (lua_isnil(L, -1))
        w->holds = ML_HOLDS_NOTHING;
    else if (w->focus && ml_lua_to_schedule(L, -1) == w->focus)
        w->holds = ML_HOLDS_FOCUS;
    return 0;
}

static int l_arg(lua_State *L)
{
    Wanted *w = lua_touserdata(L, 1);

    push_global(L, w->name);
    if (w->element > 0) {
        luaL_checktype(L, -1, LUA_TTABLE);
        lua_rawgeti(L, -1, (lua_Integer)w->element);
    }
    luaL_argcheck(L, !lua_isnil(L, -1), 1, "nothing");
    w->arg = bind_read_held_arg(L, -1, w->cx, w->focus);
    return 0;
}

ml_HostHolds ml_host_holds(ml_Host *h, ml_Str name)
{
    Wanted w = {.name = name, .focus = h->ss->focus, .holds = ML_HOLDS_OTHER};

    ml_host_protected(h, l_holds, &w);
    return w.holds;
}

bool ml_host_held_arg(ml_Host *h, ml_Str name, int64_t element, ml_Ctx *cx, ml_Arg *out)
{
    Wanted w = {.name = name, .element = element, .cx = cx, .focus = h->ss->focus};
    bool ok = ml_host_protected(h, l_arg, &w);

    *out = w.arg;
    return ok;
}
