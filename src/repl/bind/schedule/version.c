/*
 * version - the version tree of a schedule from Lua: moving, naming, listing, comparing.
 * Source: lua-api 3, interaction 6.
 */
#include "repl/bind/schedule/schedule.h"

#include <stdlib.h>

int bind_version(lua_State *L, int idx, ml_Schedule *s)
{
    int64_t v;

    if (lua_type(L, idx) == LUA_TSTRING) {
        const char *z = lua_tostring(L, idx);
        int mark = ml_schedule_find_mark(s, z);
        char *end;

        if (mark >= 0)
            return mark;
        v = strtol(*z == 'v' ? z + 1 : z, &end, 10);
        if (*end != '\0' || end == z || end == z + (*z == 'v'))
            bind_bad(L, "no version or mark is named %s", z);
    } else
        v = bind_int(L, idx, "version");
    if (v < 0)
        v += ml_schedule_version(s); /* steps back */
    if (v < 0 || v >= ml_schedule_n_versions(s))
        bind_bad(L, "there is no version %d; versions are 0 to %d", (int)v,
                 ml_schedule_n_versions(s) - 1);
    if (!ml_version_known(s, (int)v))
        bind_bad(L, "version %d was dropped by the undo limit", (int)v);
    return (int)v;
}

static int version(lua_State *L)
{
    lua_pushinteger(L, ml_schedule_version(bind_check_schedule(L, 1)));
    return 1;
}

static int move(lua_State *L, bool (*go)(ml_Schedule *, int))
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    int64_t n = lua_isnoneornil(L, 2) ? 1 : bind_int(L, 2, "n");

    if (n < 0 || n > INT32_MAX)
        return bind_bad(L, "n: a number of steps is needed");
    if (!go(s, (int)n))
        return bind_raise_schedule(L, s);
    lua_pushinteger(L, ml_schedule_version(s));
    return 1;
}

static int undo(lua_State *L)
{
    return move(L, ml_schedule_undo);
}

static int redo(lua_State *L)
{
    return move(L, ml_schedule_redo);
}

static int jump(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    if (!ml_schedule_goto(s, bind_version(L, 2, s)))
        return bind_raise_schedule(L, s);
    lua_pushinteger(L, ml_schedule_version(s));
    return 1;
}

static int mark(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    if (!ml_schedule_mark(s, bind_string(L, 2, "name")))
        return bind_raise_schedule(L, s);
    return 0;
}

static int branch(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);

    if (lua_isnoneornil(L, 2)) {
        lua_pushstring(L, ml_schedule_branch_name(s));
        return 1;
    }
    if (!ml_schedule_branch(s, bind_string(L, 2, "name")))
        return bind_raise_schedule(L, s);
    return 0;
}

/* s:versions(): a list; the k-th is version k - 1 */
static int versions(lua_State *L)
{
    ml_Schedule *s = bind_check_schedule(L, 1);
    int n = ml_schedule_n_versions(s);

    lua_createtable(L, n, 0);
    for (int v = 0; v < n; v++) {
        ml_VersionRow row = {.s = s, .version = v};

        if (!ml_version_known(s, v) || !ml_version_step(s, v, &row.step))
            lua_pushboolean(L, 0); /* dropped by the undo limit */
        else
            bind_push_facts(L, &ml_version_fields, &row);
        lua_rawseti(L, -2, v + 1);
    }
    return 1;
}

/* two_texts([a [, b]]): the printed programs of two versions, for s:diff */
static int two_texts(lua_State *L)
{
    lua_settop(L, 3);
    ml_Schedule *s = bind_check_schedule(L, 1);
    int cur = ml_schedule_version(s), a = cur, b = cur;
    ml_Step step = {.parent = -1};

    if (!lua_isnil(L, 2))
        a = bind_version(L, 2, s);
    else if (ml_version_step(s, cur, &step) && step.parent >= 0)
        a = step.parent;
    if (!lua_isnil(L, 3))
        b = bind_version(L, 3, s);
    for (int k = 0; k < 2; k++) {
        ml_PrintOpts o = {.spelling = -1, .regions_auto = true};
        ml_Text *t = bind_text(L);

        ml_schedule_print(s, k ? b : a, t, &o);
        bind_push_text(L, t);
        lua_remove(L, -2);
    }
    lua_pushinteger(L, a);
    lua_pushinteger(L, b);
    return 4;
}

void bind_schedule_versions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"version", version},   {"undo", undo},           {"redo", redo},
        {"jump", jump},         {"mark", mark},           {"branch", branch},
        {"versions", versions}, {"two_texts", two_texts}, {NULL, NULL}};

    bind_functions(L, fns);
}
