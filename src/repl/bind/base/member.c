/*
 * member - what is said of a name that an object or a table of moon does not have: what is
 * typed in its place, whose it is, or the nearest one that is there.
 *
 * Reading such a name raises unknown-name: a nil would be called, and Lua knows neither the
 * object's kind nor a near name. Source: lua-api 1.
 */
#include "repl/bind/base/base.h"

#include <stdio.h>

#include "moonloop/core/script/report.h"
#include "moonloop/primitives/habits.h"

static const char SCHEDULE[] = "moonloop.schedule";

/* The names of the table on top, which stays. */
static void try_names(lua_State *L, ml_Nearest *near)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING)
            ml_nearest_try(near, ml_str(lua_tostring(L, -2)));
}

/* Whether schedules have a method of that name. */
static bool is_of_schedules(lua_State *L, const char *name)
{
    int top = lua_gettop(L);
    bool yes = luaL_getmetatable(L, SCHEDULE) == LUA_TTABLE &&
               lua_getfield(L, -1, "methods") == LUA_TTABLE &&
               lua_getfield(L, -1, name) == LUA_TFUNCTION;

    lua_settop(L, top);
    return yes;
}

/* "; did you mean split?", by the names of the tables at from ... top. */
static void add_near(lua_State *L, int from, const char *name, ml_Text *out)
{
    ml_Nearest near = ml_nearest_begin(ml_str(name));
    const char *habit = ml_habit(name);

    for (int k = from; !habit && k <= lua_gettop(L); k++) {
        lua_pushvalue(L, k);
        try_names(L, &near);
        lua_pop(L, 1);
    }
    if (habit)
        ml_text_fmt(out, "; instead: %s", habit);
    else if (near.best.n)
        ml_text_fmt(out, "; did you mean %.*s?", (int)near.best.n, near.best.p);
}

static const char *article_of(const char *noun)
{
    return strchr("aeiou", *noun) ? "an" : "a";
}

static const char *plain_name(const BindClass *c)
{
    const char *dot = strchr(c->name, '.');

    return dot ? dot + 1 : c->name;
}

/* Whether moon has a function of that name, which takes the schedule: moon.check(s). */
static bool is_of_moon(lua_State *L, const char *name)
{
    int top = lua_gettop(L);

    lua_pushglobaltable(L);
    lua_pushliteral(L, "moon");
    bool yes = lua_rawget(L, -2) == LUA_TTABLE;

    lua_pushstring(L, name);
    yes = yes && lua_rawget(L, -2) == LUA_TFUNCTION;
    lua_settop(L, top);
    return yes;
}

int bind_no_member(lua_State *L, const BindClass *c)
{
    const char *name = lua_tostring(L, 2), *noun = plain_name(c);
    ml_Text *t = bind_text(L);
    int from = lua_gettop(L) + 1;

    ml_text_fmt(t, "%s %s has no method or field %s", article_of(noun), noun, name);
    luaL_getmetatable(L, c->name);
    lua_getfield(L, -1, "methods");
    lua_getfield(L, -2, "fields");
    lua_remove(L, from);
    if (!ml_streq(c->name, SCHEDULE) && is_of_schedules(L, name)) {
        if (c->program)
            ml_text_fmt(t, "; schedules have it: s = schedule(m), then s:%s(…)", name);
        else if (c->arg)
            ml_text_fmt(t, "; schedules have it: s:%s(%s, …)", name, noun);
        else
            ml_text_fmt(t, "; schedules have it: s:%s(…)", name);
    } else if (ml_streq(c->name, SCHEDULE) && is_of_moon(L, name))
        ml_text_fmt(t, "; a function has it: moon.%s(s)", name);
    else
        add_near(L, from, name, t);
    ml_lua_fail(L, ML_E_UNKNOWN_NAME, "%s", ml_text_z(t));
}

int bind_no_element(lua_State *L, const BindClass *c)
{
    const char *noun = plain_name(c);

    ml_lua_fail(L, ML_E_UNKNOWN_NAME, "%s %s has no element [%s]%s", article_of(noun), noun,
                luaL_tolstring(L, 2, NULL),
                ml_streq(c->name, SCHEDULE)
                    ? "; a step takes the block or loop: s:compute_at(block, loop)"
                    : "");
}

int bind_no_name(lua_State *L)
{
    const char *where = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 2);

    luaL_checktype(L, 3, LUA_TTABLE);
    ml_Text *t = bind_text(L);

    ml_text_fmt(t, "%s has no %s", where, name);
    lua_pushvalue(L, 3);
    add_near(L, lua_gettop(L), name, t);
    return ml_lua_fail(L, ML_E_UNKNOWN_NAME, "%s", ml_text_z(t));
}

int bind_nearest(lua_State *L)
{
    ml_Nearest near = ml_nearest_begin(ml_str(luaL_checkstring(L, 1)));

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_pushvalue(L, 2);
    try_names(L, &near);
    if (near.best.n)
        lua_pushlstring(L, near.best.p, near.best.n);
    else
        lua_pushnil(L);
    return 1;
}

int bind_no_field_set(lua_State *L)
{
    const BindClass *c = lua_touserdata(L, lua_upvalueindex(1));
    const char *noun = plain_name(c);

    return bind_bad(L, "%s %s keeps nothing: its fields are read only", article_of(noun),
                    noun);
}
