/* host_tune - calls of moon.tuning for the commands. Source: interaction 11; lua-api 6. */
#include "repl/host/tune.h"

#include "repl/bind/work/tuning.h"
#include "repl/host/host_impl.h"

#include <stdlib.h>

/* In the registry: the search at work, and its warning. */
static const char SEARCH[] = "moonloop.search", WARNING[] = "moonloop.search.warning",
                  NOTE[] = "moonloop.search.note";

/* name, arguments: what moon.tuning[name] gives for them. */
static int l_tuning(lua_State *L)
{
    ml_host_push_moon(L);
    lua_getfield(L, -1, "tuning");
    lua_pushvalue(L, 1);
    lua_gettable(L, -2);
    lua_replace(L, 1);
    lua_pop(L, 2);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* Begins a call: its arguments come next. */
static void begin_call(lua_State *L, const char *name)
{
    lua_pushcfunction(L, l_tuning);
    lua_pushstring(L, name);
}

/* Pushes schedule and options. */
static void push_ask(lua_State *L, ml_Schedule *s, const ml_TuneAsk *ask)
{
    ml_lua_push_schedule(L, ml_schedule_ref(s));
    lua_createtable(L, 0, 10);
    bind_set_int(L, "seed", ask->seed);
    if (ask->trials)
        bind_set_int(L, "trials", ask->trials);
    if (ask->seconds > 0)
        bind_set_number(L, "seconds", ask->seconds);
    bind_set_bool(L, "fresh", ask->fresh);
    bind_set_int(L, "threads", ask->threads);
    bind_set_string(L, "db", ask->db);
    bind_set_string(L, "space", ask->space);
    bind_set_string(L, "with", ask->with);
    bind_set_string(L, "model", ask->model);
    bind_set_string(L, "name", ml_schedule_name(s));
}

ml_Tuner *ml_host_tuner_begin(ml_Host *h, ml_Schedule *s, const ml_TuneAsk *ask,
                              const char **warning)
{
    lua_State *L = h->L;
    ml_Tuner *t;

    begin_call(L, "begin");
    push_ask(L, s, ask);
    if (!ml_host_run(h, 3, 3, false))
        return NULL;
    lua_setfield(L, LUA_REGISTRYINDEX, NOTE);
    t = ml_lua_to_tuner(L, -2);
    *warning = lua_tostring(L, -1); /* the registry keeps both */
    lua_setfield(L, LUA_REGISTRYINDEX, WARNING);
    lua_setfield(L, LUA_REGISTRYINDEX, SEARCH);
    return t;
}

const char *ml_host_tuner_note(ml_Host *h)
{
    lua_getfield(h->L, LUA_REGISTRYINDEX, NOTE);
    const char *z = lua_tostring(h->L, -1); /* the registry keeps it */

    lua_pop(h->L, 1);
    return z;
}

const char *ml_host_left_out(ml_Host *h)
{
    begin_call(h->L, "left_out");
    if (!ml_host_run(h, 1, 1, false))
        return NULL;
    lua_setfield(h->L, LUA_REGISTRYINDEX, NOTE);
    return ml_host_tuner_note(h);
}

void ml_host_tuner_end(ml_Host *h, const char *db)
{
    begin_call(h->L, "finish");
    lua_getfield(h->L, LUA_REGISTRYINDEX, SEARCH);
    lua_pushstring(h->L, db); /* NULL: nil */
    if (!ml_host_run(h, 3, 0, false))
        return;
    lua_pushnil(h->L);
    lua_setfield(h->L, LUA_REGISTRYINDEX, SEARCH);
}

ml_Tuner *ml_host_tuner_apart(ml_Host *h, ml_Schedule *s, const ml_TuneAsk *ask)
{
    lua_State *L = h->L;
    ml_Tuner *t;

    begin_call(L, "begin_apart");
    push_ask(L, s, ask);
    if (!ml_host_run(h, 3, 1, false))
        return NULL;
    t = ml_lua_to_tuner(L, -1); /* moon.tuning keeps it */
    lua_pop(L, 1);
    return t;
}

void ml_host_tuners_end(ml_Host *h)
{
    begin_call(h->L, "end_apart");
    (void)ml_host_run(h, 1, 0, false);
}

/* Pushes what the code gives; false: the error was printed. */
static bool push_tasks(ml_Host *h, const char *code)
{
    lua_State *L = h->L;
    int top = lua_gettop(L);

    if (code == NULL) {
        ml_lua_push_schedule(L, ml_schedule_ref(h->ss->focus));
        return true;
    }
    lua_pushfstring(L, "return %s", code);
    const char *chunk = lua_tostring(L, -1);

    if (luaL_loadbuffer(L, chunk, strlen(chunk), "=tasks") != LUA_OK) {
        ml_host_report(h, true);
        lua_settop(L, top);
        return false;
    }
    lua_remove(L, -2);
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->env);
    lua_setupvalue(L, -2, 1);
    return ml_host_run(h, 0, 1, true);
}

/* Pushes options. */
static void push_tasks_ask(lua_State *L, const ml_TasksAsk *ask)
{
    lua_createtable(L, 0, 12);
    bind_set_int(L, "seed", ask->seed);
    if (ask->trials)
        bind_set_int(L, "trials", ask->trials);
    if (ask->each)
        bind_set_int(L, "each", ask->each);
    if (ask->seconds > 0)
        bind_set_number(L, "seconds", ask->seconds);
    bind_set_bool(L, "fresh", ask->fresh);
    bind_set_int(L, "threads", ask->threads);
    bind_set_string(L, "rule", ask->rule);
    bind_set_string(L, "space", ask->space);
    bind_set_string(L, "with", ask->with);
    bind_set_string(L, "model", ask->model);
    bind_set_string(L, "db", ask->db);
}

/* Calls what is begun with its two arguments, and keeps the tasks that it gives. */
static ml_Tasks *keep_tasks(ml_Host *h, const char **warning)
{
    lua_State *L = h->L;
    ml_Tasks *ts;

    if (!ml_host_run(h, 3, 2, false))
        return NULL;
    ts = ml_lua_to_tasks(L, -2);
    *warning = lua_tostring(L, -1); /* the registry keeps both */
    lua_setfield(L, LUA_REGISTRYINDEX, WARNING);
    lua_setfield(L, LUA_REGISTRYINDEX, SEARCH);
    return ts;
}

ml_Tasks *ml_host_tasks_begin(ml_Host *h, const char *code, const ml_TasksAsk *ask,
                              const char **warning)
{
    lua_State *L = h->L;

    begin_call(L, "begin_all");
    if (!push_tasks(h, code)) {
        lua_pop(L, 2);
        return NULL;
    }
    push_tasks_ask(L, ask);
    return keep_tasks(h, warning);
}

ml_Tasks *ml_host_shapes_begin(ml_Host *h, ml_Schedule *s, const char *shape,
                               const ml_TasksAsk *ask, const char **warning)
{
    begin_call(h->L, "begin_shapes");
    ml_lua_push_schedule(h->L, ml_schedule_ref(s));
    push_tasks_ask(h->L, ask);
    bind_set_string(h->L, "shape", shape);
    return keep_tasks(h, warning);
}

/* The text of a field of the table on top, in cx; NULL: there is none. */
static const char *text_of(lua_State *L, ml_Ctx *cx, const char *key)
{
    const char *z;

    lua_getfield(L, -1, key);
    z = lua_tostring(L, -1);
    z = z ? ml_strdup(cx, ml_str(z)) : NULL;
    lua_pop(L, 1);
    return z;
}

static double number_of(lua_State *L, const char *key)
{
    double x;

    lua_getfield(L, -1, key);
    x = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return x;
}

bool ml_host_shapes_join(ml_Host *h, ml_Ctx *cx, bool quick, ml_Shapes *out)
{
    lua_State *L = h->L;

    begin_call(L, "join_shapes");
    lua_getfield(L, LUA_REGISTRYINDEX, SEARCH);
    lua_pushboolean(L, quick);
    if (!ml_host_run(h, 3, 1, false))
        return false;
    out->other = text_of(L, cx, "other");
    out->warning = text_of(L, cx, "warning");
    out->record = (int64_t)number_of(L, "record");
    lua_getfield(L, -1, "sizes");
    out->n = lua_rawlen(L, -1);
    out->v = ML_ARRAY(cx, ml_ShapeRow, out->n + 1);
    for (size_t k = 0; k < out->n; k++) {
        lua_rawgeti(L, -1, (lua_Integer)k + 1);
        out->v[k] = (ml_ShapeRow){text_of(L, cx, "text"), text_of(L, cx, "refused"),
                                  number_of(L, "best_seconds"), number_of(L, "seconds")};
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return true;
}

bool ml_host_tasks_open(ml_Host *h, ml_Tasks *ts)
{
    begin_call(h->L, "open_task");
    lua_getfield(h->L, LUA_REGISTRYINDEX, SEARCH);
    lua_pushinteger(h->L, (lua_Integer)ml_tasks_wanted(ts) + 1);
    return ml_host_run(h, 3, 0, false);
}

void ml_host_tasks_end(ml_Host *h)
{
    begin_call(h->L, "finish_all");
    lua_getfield(h->L, LUA_REGISTRYINDEX, SEARCH);
    if (!ml_host_run(h, 2, 0, false))
        return;
    lua_pushnil(h->L);
    lua_setfield(h->L, LUA_REGISTRYINDEX, SEARCH);
}

ml_Db *ml_host_db(ml_Host *h, const char *path, char **warning)
{
    lua_State *L = h->L;
    const char *why;
    ml_Db *db;

    *warning = NULL;
    begin_call(L, "session_db");
    lua_pushstring(L, path);
    if (!ml_host_run(h, 2, 2, false))
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

ml_Db *ml_host_db_to_write(ml_Host *h, const char *path)
{
    lua_State *L = h->L;
    ml_Db *db;

    begin_call(L, "db_to_write");
    lua_pushstring(L, path);
    if (!ml_host_run(h, 2, 1, false))
        return NULL;
    db = ml_lua_to_db(L, -1); /* moon.tuning keeps it */
    lua_pop(L, 1);
    return db;
}

void ml_host_db_unmake(ml_Host *h, const char *path)
{
    begin_call(h->L, "unmake");
    lua_pushstring(h->L, path);
    (void)ml_host_run(h, 2, 0, false);
}
