/* host_tune - calls of moon.tuning for the commands. Source: interaction 11; lua-api 6. */
#include "repl/host/tune.h"

#include "repl/bind/bind.h"
#include "repl/bind/work/tuning.h"
#include "repl/host/host_impl.h"

#include <stdlib.h>

static const char KEY[] =
    "moonloop.search at work"; /* in the registry: the search at work */

/* Pushes moon.tuning[name]. Within a protected call. */
static void push_function(lua_State *L, const char *name)
{
    luaopen_moonloop(L);
    lua_getfield(L, -1, "tuning");
    lua_getfield(L, -1, name);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* begin(schedule, table): the search and a warning, kept in the registry. */
static int l_begin(lua_State *L)
{
    push_function(L, "begin");
    lua_insert(L, 1);
    lua_call(L, 2, 2);
    lua_createtable(L, 2, 0);
    lua_insert(L, 1);
    lua_rawseti(L, 1, 2);
    lua_rawseti(L, 1, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, KEY);
    return 0;
}

ml_Tuner *ml_host_tuner_begin(ml_Host *h, ml_Schedule *s, const ml_TuneAsk *ask,
                              const char **warning)
{
    lua_State *L = h->L;
    ml_Tuner *t;

    lua_pushcfunction(L, l_begin);
    ml_lua_push_schedule(L, ml_schedule_ref(s));
    lua_createtable(L, 0, 8);
    bind_set_int(L, "seed", ask->seed);
    if (ask->trials) {
        bind_set_int(L, "trials", ask->trials);
    }
    if (ask->seconds > 0) {
        bind_set_number(L, "seconds", ask->seconds);
    }
    bind_set_bool(L, "fresh", ask->fresh);
    bind_set_int(L, "threads", ask->threads);
    bind_set_string(L, "db", ask->db);
    bind_set_string(L, "name", ml_schedule_name(s));
    if (!ml_host_run(h, 2, 0, false))
        return NULL;
    lua_getfield(L, LUA_REGISTRYINDEX, KEY);
    lua_rawgeti(L, -1, 1);
    t = ml_lua_to_tuner(L, -1);
    lua_rawgeti(L, -2, 2);
    *warning = lua_tostring(L, -1); /* the table in the registry keeps it */
    lua_pop(L, 3);
    return t;
}

/* finish(tuner, path) */
static int l_end(lua_State *L)
{
    push_function(L, "finish");
    lua_getfield(L, LUA_REGISTRYINDEX, KEY);
    lua_rawgeti(L, -1, 1);
    lua_replace(L, -2);
    lua_pushvalue(L, 1);
    lua_call(L, 2, 0);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, KEY);
    return 0;
}

void ml_host_tuner_end(ml_Host *h, const char *db)
{
    lua_pushcfunction(h->L, l_end);
    lua_pushstring(h->L, db); /* NULL: nil */
    ml_host_run(h, 1, 0, false);
}

/* session_db(path): a database and a warning */
static int l_db(lua_State *L)
{
    push_function(L, "session_db");
    lua_insert(L, 1);
    lua_call(L, 1, 2);
    return 2;
}

ml_Db *ml_host_db(ml_Host *h, const char *path, char **warning)
{
    lua_State *L = h->L;
    const char *why;
    ml_Db *db;

    *warning = NULL;
    lua_pushcfunction(L, l_db);
    lua_pushstring(L, path);
    if (!ml_host_run(h, 1, 2, false))
        return NULL;
    why = lua_tostring(L, -1);
    if (why) {
        *warning = strdup(why);
        if (*warning == NULL)
            ml_out_of_memory();
    }
    db = ml_lua_to_db(L, -2); /* moon.tuning keeps it */
    lua_pop(L, 2);
    return db;
}
