/*
 * tune - searches as Lua objects. Rules run in the caller's state
 * and give schedules; the search takes their traces and knows no Lua. Source: lua-api 6.
 */
#include "repl/bind/work/tuning.h"
#include "repl/bind/work/work.h"

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/vec.h"
#include "moonloop/tune/model/model.h"

#include <math.h>

typedef struct BindTuner {
    ml_Tuner *t;
    size_t told;    /* records given so far */
    lua_State *own; /* where a space's functions run: {post=, mutate=} of each sketch is its
                       only value; NULL: there are none */
} BindTuner;        /* uservalue 1: the database; 2: the thread of own */

/* ---------------------------------------------------------------- searches */

static void close_tuner(void *object)
{
    BindTuner *o = object;

    ml_tuner_free(o->t);
    o->t = NULL;
}

static BindTuner *check_tuner(lua_State *L)
{
    BindTuner *o = bind_check(L, 1, &bind_tuner_class);

    if (o->t == NULL)
        bind_bad(L, "the search is over");
    return o;
}

ml_Tuner *ml_lua_to_tuner(lua_State *L, int idx)
{
    BindTuner *o = bind_test(L, idx, &bind_tuner_class);

    return o ? o->t : NULL;
}

ml_Tuner *ml_lua_take_tuner(lua_State *L, int idx)
{
    BindTuner *o = bind_test(L, idx, &bind_tuner_class);
    ml_Tuner *t = o ? o->t : NULL;

    if (o)
        o->t = NULL;
    return t;
}

/* Pushes that function of sketch k; else nothing. */
static bool push_own(lua_State *L, size_t k, const char *name)
{
    luaL_checkstack(L, 10, NULL);
    lua_rawgeti(L, 1, (lua_Integer)k + 1);
    if (lua_getfield(L, -1, name) == LUA_TFUNCTION)
        return true;
    lua_settop(L, 1);
    return false;
}

/* Of the schedule only the function is shown, and only while it runs. */
static bool run_post(ml_Schedule *s, size_t k, void *user)
{
    lua_State *L = ((BindTuner *)user)->own;
    bool ok = true;

    if (push_own(L, k, "post")) {
        ml_lua_push_schedule(L, ml_schedule_ref(s));
        lua_pushvalue(L, -1);
        lua_insert(L, 2); /* kept, to be closed */
        ok = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_toboolean(L, -1);
        BindSchedule *o = lua_touserdata(L, 2);

        ml_schedule_unref(o->s);
        o->s = NULL;
    }
    lua_settop(L, 1);
    return ok;
}

static char *run_mutate(const char *json, size_t k, uint32_t seed, void *user)
{
    lua_State *L = ((BindTuner *)user)->own;
    char *made = NULL;

    if (push_own(L, k, "mutate")) {
        lua_pushstring(L, json);
        lua_pushinteger(L, (lua_Integer)seed);
        if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING)
            made = strdup(lua_tostring(L, -1));
    }
    lua_settop(L, 1);
    return made;
}

/* The functions of the sketches in the list at idx, for the tuner on top. */
static void take_own(lua_State *L, int idx, BindTuner *o, ml_TuneOpts *opts)
{
    static const char *const names[] = {"post", "mutate"};
    size_t n = lua_rawlen(L, idx);
    bool any[2] = {false, false};

    lua_createtable(L, (int)n, 0);
    for (size_t k = 1; k <= n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k);
        lua_createtable(L, 0, 2);
        for (size_t m = 0; m < ML_COUNT(names); m++) {
            any[m] |= lua_getfield(L, -2, names[m]) == LUA_TFUNCTION;
            lua_setfield(L, -2, names[m]);
        }
        lua_rawseti(L, -3, (lua_Integer)k);
        lua_pop(L, 1);
    }
    if (any[0])
        opts->post = (ml_TunePost){run_post, o};
    if (any[1])
        opts->mutate = (ml_TuneMutate){run_mutate, o};
    if (any[0] || any[1]) {
        o->own = lua_newthread(L);
        lua_sethook(o->own, NULL, 0, 0); /* Ctrl-C is for the search to see */
        lua_setiuservalue(L, -3, 2);
        lua_xmove(L, o->own, 1);
    } else
        lua_pop(L, 1);
}

/* The names in the field post_names of the sketch on top. */
static void read_posts(lua_State *L, ml_Ctx *cx, ml_Sketch *to)
{
    if (lua_getfield(L, -1, "post_names") == LUA_TTABLE) {
        size_t n = lua_rawlen(L, -1);
        const char **names = ML_ARRAY(cx, const char *, n + 1);

        for (size_t k = 0; k < n; k++) {
            lua_rawgeti(L, -1, (lua_Integer)k + 1);
            names[k] = ml_strdup(cx, ml_str(luaL_checkstring(L, -1)));
            lua_pop(L, 1);
        }
        to->posts = names;
        to->n_posts = n;
    }
    lua_pop(L, 1);
}

/* The schedules of the list at idx (fields `schedule`, `name` and `post_names`) as sketches in
 * cx. */
static ml_Sketch *read_sketches(lua_State *L, int idx, ml_Ctx *cx, size_t *n)
{
    bind_table(L, idx, "space: the list of schedules");
    *n = lua_rawlen(L, idx);
    ml_Sketch *v = ML_ARRAY(cx, ml_Sketch, *n + 1);

    for (size_t k = 0; k < *n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k + 1);
        bind_table(L, -1, "space: each of the list, with its schedule,");
        lua_getfield(L, -1, "name");
        const char *name = lua_tostring(L, -1);

        v[k].name = ml_strdup(cx, ml_str(name ? name : ""));
        lua_pop(L, 1);
        read_posts(L, cx, &v[k]);
        lua_getfield(L, -1, "schedule");
        v[k].trace = ml_schedule_trace(bind_check_schedule(L, -1), cx);
        lua_pop(L, 2);
    }
    return v;
}

/* tuner(program, sketches, {trials= seconds= seed= threads= db= name= space= fresh=
 * workers= tasks=}): of tasks the one that is wanted, whose program is theirs */
static int new_tuner(lua_State *L)
{
    static const char *const known[] = {"trials", "seconds", "seed",  "threads", "db",
                                        "name",   "space",   "fresh", "workers", "tasks",
                                        "with",   "model",   NULL};

    lua_settop(L, 3);
    luaL_checkstack(L, 20, NULL);
    BindProgram p = bind_program(L, 1);
    const ml_Func *f = bind_program_func(L, &p, NULL);
    ml_Ctx *cx = bind_scratch(L);                                /* 4 */
    BindTuner *o = bind_new(L, &bind_tuner_class, sizeof *o, 2); /* 5 */
    ml_TuneOpts opts = {.func = f->name, .target = ml_target_host()};

    ml_ctx_set_cancel(cx, bind_state(L)->interrupt);
    opts.mod = p.s ? ml_version_program(p.s, 0).mod : p.m;
    if (opts.mod == NULL)
        opts.mod = ml_module_new(cx, &f, 1, NULL);
    opts.sketches = read_sketches(L, 2, cx, &opts.n_sketches);
    take_own(L, 2, o, &opts);
    bind_options(L, 3, known);
    opts.trials = bind_opt_int(L, 3, "trials", 0);
    opts.seconds = bind_opt_number(L, 3, "seconds", 0);
    opts.seed = (uint64_t)bind_opt_int(L, 3, "seed", 1);
    opts.threads = (uint32_t)bind_opt_int(L, 3, "threads", 0);
    opts.n_workers = (uint32_t)bind_opt_int(L, 3, "workers", 0);
    opts.fresh = bind_opt_bool(L, 3, "fresh", false);
    opts.name = bind_opt_string(L, 3, "name", f->name);
    opts.space = bind_opt_string(L, 3, "space", "default");
    opts.with = bind_opt_string(L, 3, "with", NULL);
    opts.model = bind_opt_string(L, 3, "model", NULL);
    if (lua_getfield(L, 3, "db") != LUA_TNIL) {
        opts.db = ml_lua_check_db(L, -1);
        lua_setiuservalue(L, 5, 1);
    }
    if (lua_getfield(L, 3, "tasks") != LUA_TNIL) {
        ml_Tasks *ts = ml_lua_to_tasks(L, -1);

        if (ts == NULL)
            return bind_bad(L, "tuner: tasks");
        ml_tasks_opts(ts, &opts);
    }
    o->t = ml_tuner_new(cx, &opts);
    if (o->t == NULL)
        return bind_raise(L, cx);
    lua_settop(L, 5);
    return 1;
}

/* t:step([seconds]): "more", "done" or "cancelled" */
static int tuner_step(lua_State *L)
{
    lua_settop(L, 2);
    BindTuner *o = check_tuner(L);
    double seconds = bind_number_or(L, 2, "seconds", 0.1);
    ml_Ctx *cx = bind_scratch(L);
    static const char *const names[] = {"more", "done", "cancelled", "failed"};
    ml_TuneState st = ml_tuner_step(o->t, cx, seconds);

    if (st == ML_TUNE_FAILED)
        return bind_raise(L, cx);
    lua_pushstring(L, names[st]);
    return 1;
}

/* t:fresh(): the records since the last call */
static int tuner_fresh(lua_State *L)
{
    BindTuner *o = check_tuner(L);
    const ml_Record *const *v;
    size_t n = ml_tuner_records(o->t, &v);

    lua_createtable(L, (int)(n - o->told), 0);
    for (int k = 1; o->told < n; k++) {
        bind_push_facts(L, &ml_record_fields, v[o->told++]);
        lua_rawseti(L, -2, k);
    }
    return 1;
}

static int tuner_status(lua_State *L)
{
    bind_push_facts(L, &ml_search_fields, ml_tuner_status(check_tuner(L)->t));
    return 1;
}

/* t:record(id): a record of the search's database, or nil */
static int tuner_record(lua_State *L)
{
    lua_settop(L, 2);
    BindTuner *o = check_tuner(L);

    return bind_push_record(L, ml_tuner_db(o->t), bind_int(L, 2, "id"));
}

/* t:take_db(): the database in memory that records went to, or nil */
static int tuner_take_db(lua_State *L)
{
    BindTuner *o = check_tuner(L);
    ml_Db **db = ml_lua_new_db(L);

    *db = ml_tuner_take_db(o->t);
    if (*db == NULL)
        lua_pushnil(L);
    return 1;
}

/* t:trials(): what was expected and measured of each candidate, in the order of records */
static int tuner_trials(lua_State *L)
{
    static const char *const phases[] = {"replay", "build", "run", "verify", "timeout"};
    const ml_TuneTrial *v;
    size_t n = ml_tuner_trials(check_tuner(L)->t, &v);

    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        lua_createtable(L, 0, 5);
        bind_set_int(L, "sketch", (int64_t)v[k].sketch + 1);
        if (v[k].expected > 0)
            bind_set_number(L, "expected_seconds", v[k].expected);
        if (v[k].seconds > 0)
            bind_set_number(L, "seconds", v[k].seconds);
        else
            bind_set_string(L, "failed", phases[v[k].failed]);
        if (v[k].best > 0)
            bind_set_number(L, "best_seconds", v[k].best);
        lua_rawseti(L, -2, (int)k + 1);
    }
    return 1;
}

/* t:sketches(): what the search knows of each */
static int tuner_sketches(lua_State *L)
{
    const ml_TuneSketch *v;
    size_t n = ml_tuner_sketches(check_tuner(L)->t, &v);

    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        lua_createtable(L, 0, 7);
        bind_set_string(L, "name", v[k].name);
        bind_set_int(L, "measured", v[k].measured);
        bind_set_int(L, "failed", v[k].failed);
        bind_set_int(L, "points", v[k].points);
        bind_set_number(L, "share", v[k].share);
        if (v[k].best > 0)
            bind_set_number(L, "best_seconds", v[k].best);
        if (v[k].expected > 0)
            bind_set_number(L, "expected_seconds", v[k].expected);
        lua_rawseti(L, -2, (int)k + 1);
    }
    return 1;
}

/* t:gains(): features in words and their share of what the model has learned */
static int tuner_gains(lua_State *L)
{
    ml_Model *m = ml_tuner_model(check_tuner(L)->t);
    ml_Ctx *cx = bind_scratch(L);
    const ml_Gain *v = NULL;
    size_t n = 0;

    if (m && !ml_model_importance(m, cx, &v, &n))
        return bind_raise(L, cx);
    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        lua_createtable(L, 0, 2);
        bind_set_string(L, "what", v[k].what);
        bind_set_number(L, "share", v[k].share);
        lua_rawseti(L, -2, (int)k + 1);
    }
    return 1;
}

/* t:propose(): {sketch=, program=, trace=} without measuring; nil: none is left */
static int tuner_propose(lua_State *L)
{
    BindTuner *o = check_tuner(L);
    ml_Proposal p;
    ml_Text *text = bind_text(L), *trace = bind_text(L);

    if (!ml_tuner_propose(o->t, &p))
        return 0;
    ml_text_add(text, p.program);
    ml_text_add(trace, p.trace);
    const int64_t sketch = (int64_t)p.sketch + 1;

    ml_proposal_free(&p);
    lua_createtable(L, 0, 3);
    bind_set_int(L, "sketch", sketch);
    bind_set_string(L, "program", ml_text_z(text));
    bind_set_string(L, "trace", ml_text_z(trace));
    return 1;
}

static const luaL_Reg tuner_methods[] = {
    {"step", tuner_step},         {"status", tuner_status},
    {"fresh", tuner_fresh},       {"take_db", tuner_take_db},
    {"propose", tuner_propose},   {"record", tuner_record},
    {"trials", tuner_trials},     {"gains", tuner_gains},
    {"sketches", tuner_sketches}, {NULL, NULL}};
const BindClass bind_tuner_class = {
    .name = "moonloop.tuner",
    .close = close_tuner,
    .methods = tuner_methods,
};

/* tune_target(): canonical JSON of this machine, threads of parallel loops */
static int tune_target(lua_State *L)
{
    ml_Text *t = bind_text(L);
    ml_Target host = ml_target_host();
    uint64_t cache[ML_MACHINE_MEMORY] = {0};

    ml_machine_caches(cache);
    ml_target_json(&host, t);
    bind_push_text(L, t);
    lua_createtable(L, 0, 9);
    bind_set_int(L, "vector_bits", host.vector_bits);
    bind_set_int(L, "registers", host.registers);
    bind_set_bool(L, "vnni", host.vnni);
    bind_set_bool(L, "avxvnni", strstr(host.features, "+avxvnni,") != NULL);
    bind_set_bool(L, "bf16", host.bf16);
    bind_set_string(L, "features", host.features);
    bind_set_int(L, "cores", host.cores);
    bind_set_int(L, "threads", ml_threads(&host));
    bind_set_bool(L, "masks", host.masks);
    bind_set_int(L, "l1", (int64_t)cache[ML_MACHINE_L1]); /* bytes of one; 0: not known */
    bind_set_int(L, "l2", (int64_t)cache[ML_MACHINE_L2]);
    bind_set_int(L, "l3", (int64_t)cache[ML_MACHINE_L3]);
    bind_set_string(L, "level", ml_target_level(&host));
    return 2;
}

/* strategies(): a list of {name, alias, what}, the usual one first */
static int strategies(lua_State *L)
{
    lua_newtable(L);
    for (size_t k = 0; ml_strategy_at(k); k++) {
        const ml_Strategy *a = ml_strategy_at(k);

        lua_createtable(L, 0, 3);
        bind_set_string(L, "name", a->name);
        bind_set_string(L, "alias", a->alias);
        bind_set_string(L, "what", a->what);
        lua_rawseti(L, -2, (int)k + 1);
    }
    return 1;
}

int bind_tune_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"tuner", new_tuner},
                                   {"tune_target", tune_target},
                                   {"strategies", strategies},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
