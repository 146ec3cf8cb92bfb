/*
 * tune - databases of records and searches as Lua objects. Rules run in the caller's state
 * and give schedules; the search takes their traces and knows no Lua. Source: lua-api 6.
 */
#include "repl/bind/work/tuning.h"
#include "repl/bind/work/work.h"

#include "moonloop/codegen/machine/machine.h"
#include "moonloop/core/vec.h"
#include "moonloop/tune/model/model.h"

#include <math.h>

typedef struct BindDb {
    ml_Db *db; /* NULL: closed */
} BindDb;
typedef struct BindTuner {
    ml_Tuner *t;
    size_t told; /* records given so far */
    lua_State *
        post; /* where postprocessors run: the list of them is its only value; NULL: none */
} BindTuner;  /* uservalue 1: the database; 2: the thread of post */

/* ---------------------------------------------------------------- databases */

static BindDb *check_db(lua_State *L, int idx)
{
    BindDb *o = bind_check(L, idx, &bind_db_class);

    if (o->db == NULL)
        bind_bad(L, "the database is closed");
    return o;
}

ml_Db *ml_lua_to_db(lua_State *L, int idx)
{
    BindDb *o = bind_test(L, idx, &bind_db_class);

    return o ? o->db : NULL;
}

static int db_close(lua_State *L)
{
    BindDb *o = lua_touserdata(L, 1);

    ml_db_close(o->db);
    o->db = NULL;
    return 0;
}

/* The same as a method, which is given anything. */
static int db_close_now(lua_State *L)
{
    bind_check(L, 1, &bind_db_class);
    return db_close(L);
}

static int db_tostring(lua_State *L)
{
    BindDb *o = bind_check(L, 1, &bind_db_class);

    lua_pushfstring(L, "db(%s)", o->db ? ml_db_path(o->db) : "closed");
    return 1;
}

static int open_db(lua_State *L, bool make)
{
    lua_settop(L, 1);
    const char *path = lua_isnil(L, 1) ? NULL : bind_string(L, 1, "path");
    ml_Ctx *cx = bind_scratch(L);
    BindDb *o = bind_new(L, &bind_db_class, sizeof *o, 0);

    if (path && !ml_streq(path, ":memory:"))
        bind_not_safe(L, "db: no database but \":memory:\" is opened");
    else if (bind_state(L)->safe) /* the user's own is not for scripts to write into */
        path = ":memory:";
    if (path == NULL) {
        path = ml_db_default_path(cx);
        if (path == NULL)
            return bind_bad(L,
                            "db: neither XDG_DATA_HOME nor HOME is set; a path is needed");
    }
    if (ml_streq(path, ":memory:"))
        o->db = ml_db_open(cx, NULL);
    else
        o->db = make ? ml_db_open(cx, path) : ml_db_open_existing(cx, path);
    if (o->db == NULL)
        return bind_raise(L, cx);
    return 1;
}

/* moon.db(path): nil is the default one, ":memory:" none on disk */
static int new_db(lua_State *L)
{
    return open_db(L, true);
}

/* db_there(path): the same, but nothing is made */
static int db_there(lua_State *L)
{
    return open_db(L, false);
}

/* Of a schedule: the function at its start version. */
static const ml_Func *start_of(const BindProgram *p, const ml_Func *f)
{
    return p->s ? ml_module_find(ml_version_program(p->s, 0).mod, f->name) : f;
}

static const char *hash_text(ml_Ctx *cx, const ml_Func *f)
{
    return ml_format(cx, "%016llx", (unsigned long long)ml_hash_func(cx, f, NULL));
}

/* The workload's number for the program at idx: 0 when the database does not know it. */
static int64_t workload_of(lua_State *L, int idx, ml_Db *db, ml_Ctx *cx)
{
    BindProgram p = bind_program(L, idx);
    ml_DbWorkload w;
    const char *hash = hash_text(cx, start_of(&p, bind_program_func(L, &p, NULL)));

    if (!ml_db_find_workload(db, cx, hash, &w)) {
        if (ml_error(cx))
            bind_raise(L, cx);
        return 0;
    }
    return w.id;
}

/* {program=, target=, space=, seed=, threads=, limit=, valid=, best=, after=} */
static bool read_query(lua_State *L, int idx, ml_Db *db, ml_Ctx *cx, ml_DbQuery *q)
{
    static const char *const known[] = {"program", "target", "space", "seed",
                                        "threads", "limit",  "valid", "best",
                                        "after",   "id",     NULL};

    *q = (ml_DbQuery){.any_seed = true};
    if (!bind_options(L, idx, known))
        return true;
    if (lua_getfield(L, idx, "program") != LUA_TNIL) {
        q->workload = workload_of(L, -1, db, cx);
        if (q->workload == 0)
            return false;
    }
    q->target = bind_opt_string(L, idx, "target", NULL);
    q->space = bind_opt_string(L, idx, "space", NULL);
    q->threads = (uint32_t)bind_opt_int(L, idx, "threads", 0);
    q->limit = bind_opt_int(L, idx, "limit", 0);
    q->valid_only = bind_opt_bool(L, idx, "valid", false);
    q->by_time = bind_opt_bool(L, idx, "best", false);
    q->after = bind_opt_int(L, idx, "after", 0);
    q->record = bind_opt_int(L, idx, "id", 0);
    if (lua_getfield(L, idx, "seed") != LUA_TNIL) {
        q->any_seed = false;
        q->seed = (uint64_t)bind_int(L, -1, "seed");
    }
    return true;
}

/* db:records([query]) */
static int db_records(lua_State *L)
{
    lua_settop(L, 2);
    BindDb *o = check_db(L, 1);

    luaL_checkstack(L, 20, NULL);
    ml_Ctx *cx = bind_scratch(L);
    ml_DbQuery q;
    ml_Record *v = NULL;
    size_t n = 0;

    if (read_query(L, 2, o->db, cx, &q) && !ml_db_records(o->db, cx, &q, &v, &n))
        return bind_raise(L, cx);
    lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        bind_push_facts(L, &ml_record_fields, &v[k]);
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

/* db:put{program=, name=, trace=, run_secs=, target=, space=, seed=, threads=}: its id */
static int db_put(lua_State *L)
{
    static const char *const known[] = {"program", "name",  "trace", "run_secs",
                                        "target",  "space", "seed",  "threads",
                                        "error",   "phase", "args",  NULL};

    lua_settop(L, 2);
    BindDb *o = check_db(L, 1);

    luaL_checkstack(L, 30, NULL);
    bind_table(L, 2, "put: the record");
    ml_Ctx *cx = bind_scratch(L);

    bind_options(L, 2, known);
    if (lua_getfield(L, 2, "program") == LUA_TNIL)
        return bind_bad(L, "put: program is missing");
    BindProgram p = bind_program(L, -1);
    const ml_Func *f = start_of(&p, bind_program_func(L, &p, NULL));
    ml_DbWorkload w = {.name = bind_opt_string(L, 2, "name", f->name),
                       .hash = hash_text(cx, f)};
    ml_Text *text = bind_text(L);
    ml_Ctx *scratch = ml_ctx_fork(p.cx);

    ml_print_func(scratch, text, f, NULL);
    w.flop = ml_flops(scratch, f);
    ml_ctx_unref(scratch);
    w.program = ml_strdup(cx, ml_str(ml_text_z(text)));
    if (!ml_db_put_workload(o->db, cx, &w))
        return bind_raise(L, cx);
    ml_Record r = {.workload = w.id,
                   .target = bind_opt_string(L, 2, "target", "{\"kind\":\"llvm\"}"),
                   .space = bind_opt_string(L, 2, "space", "user"),
                   .seed = (uint64_t)bind_opt_int(L, 2, "seed", 1),
                   .threads = (uint32_t)bind_opt_int(L, 2, "threads", 1),
                   .trace = bind_opt_string(L, 2, "trace", "[[],[]]"),
                   .error = bind_opt_string(L, 2, "error", NULL),
                   .phase = bind_opt_string(L, 2, "phase", NULL),
                   .args = bind_opt_string(L, 2, "args", "[]")};

    if (lua_getfield(L, 2, "run_secs") == LUA_TTABLE) {
        double *v = ML_ARRAY(cx, double, lua_rawlen(L, -1) + 1);

        for (size_t k = 0; k < lua_rawlen(L, -1); k++) {
            lua_rawgeti(L, -1, (lua_Integer)k + 1);
            v[k] = bind_number(L, -1, "run_secs");
            lua_pop(L, 1);
        }
        r.n_run = lua_rawlen(L, -1);
        r.run_secs = v;
    }
    if (!ml_db_put(o->db, cx, &r))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)r.id);
    return 1;
}

/* db:export(folder): how many records */
static int db_export(lua_State *L)
{
    lua_settop(L, 2);
    BindDb *o = check_db(L, 1);
    const char *folder = bind_string(L, 2, "folder");

    bind_not_safe(L, "export: no file is written");
    ml_Ctx *cx = bind_scratch(L);
    size_t n = 0;

    if (!ml_db_export(o->db, cx, folder, &n))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

/* A program, for lines that cannot be read; or a list of them by line, false: none. */
static ml_DbPrograms read_programs(lua_State *L, int idx, ml_Ctx *cx)
{
    bool list = lua_istable(L, idx);
    size_t n = lua_isnil(L, idx) ? 0 : list ? lua_rawlen(L, idx) : 1;
    const ml_Func **v = ML_ARRAY(cx, const ml_Func *, n + 1);

    for (size_t k = 0; k < n; k++) {
        if (list)
            lua_rawgeti(L, idx, (lua_Integer)k + 1);
        else
            lua_pushvalue(L, idx);
        if (lua_toboolean(L, -1)) {
            BindProgram p = bind_program(L, -1);

            v[k] = start_of(&p, bind_program_func(L, &p, NULL));
        }
        lua_pop(L, 1);
    }
    return (ml_DbPrograms){.v = v, .n = list ? n : 0, .others = list ? NULL : v[0]};
}

/* db:import(folder [, programs]): records that came, lines that were passed over */
static int db_import(lua_State *L)
{
    lua_settop(L, 3);
    BindDb *o = check_db(L, 1);
    const char *folder = bind_string(L, 2, "folder");

    bind_not_safe(L, "import: no database is read");
    ml_Ctx *cx = bind_scratch(L);
    ml_DbPrograms programs = read_programs(L, 3, cx);
    size_t n = 0, skipped = 0;

    if (!ml_db_import(o->db, cx, folder, &programs, &n, &skipped))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)n);
    lua_pushinteger(L, (lua_Integer)skipped);
    return 2;
}

/* db:merge(other): records that came */
static int db_merge(lua_State *L)
{
    lua_settop(L, 2);
    BindDb *o = check_db(L, 1), *from = check_db(L, 2);
    ml_Ctx *cx = bind_scratch(L);
    size_t n = 0;

    if (!ml_db_merge(o->db, cx, from->db, &n))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

static bool db_get(lua_State *L, const char *key)
{
    BindDb *o = check_db(L, 1);

    if (ml_streq(key, "path"))
        lua_pushstring(L, ml_db_path(o->db));
    else if (ml_streq(key, "read_only"))
        lua_pushboolean(L, ml_db_read_only(o->db));
    else
        return false;
    return true;
}

static const luaL_Reg db_meta[] = {
    {"__gc", db_close}, {"__close", db_close}, {"__tostring", db_tostring}, {NULL, NULL}};
static const luaL_Reg db_methods[] = {{"records", db_records},
                                      {"put", db_put},
                                      {"export", db_export},
                                      {"import", db_import},
                                      {"close", db_close_now},
                                      {"merge", db_merge},
                                      {NULL, NULL}};
static const char *const db_fields[] = {"path", "read_only", NULL};
const BindClass bind_db_class = {
    .name = "moonloop.db",
    .meta = db_meta,
    .methods = db_methods,
    .fields = db_fields,
    .get = db_get,
};

/* ---------------------------------------------------------------- searches */

static int tuner_gc(lua_State *L)
{
    BindTuner *o = lua_touserdata(L, 1);

    ml_tuner_free(o->t);
    o->t = NULL;
    return 0;
}

static int tuner_close(lua_State *L)
{
    bind_check(L, 1, &bind_tuner_class);
    return tuner_gc(L);
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

/* Of the schedule only the function is shown, and only while it runs. */
static bool run_post(ml_Schedule *s, size_t k, void *user)
{
    lua_State *L = ((BindTuner *)user)->post;
    bool ok = true;

    luaL_checkstack(L, 10, NULL);
    if (lua_rawgeti(L, 1, (lua_Integer)k + 1) == LUA_TFUNCTION) {
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

/* The functions `post` of the sketches in the list at idx, for the tuner on top. */
static void take_posts(lua_State *L, int idx, BindTuner *o)
{
    size_t n = lua_rawlen(L, idx);
    bool any = false;

    lua_createtable(L, (int)n, 0);
    for (size_t k = 1; k <= n; k++) {
        lua_rawgeti(L, idx, (lua_Integer)k);
        if (lua_getfield(L, -1, "post") == LUA_TFUNCTION)
            any = true;
        else {
            lua_pop(L, 1);
            lua_pushboolean(L, false);
        }
        lua_rawseti(L, -3, (lua_Integer)k);
        lua_pop(L, 1);
    }
    if (any) {
        o->post = lua_newthread(L);
        lua_sethook(o->post, NULL, 0, 0); /* Ctrl-C is for the search to see */
        lua_setiuservalue(L, -3, 2);
        lua_xmove(L, o->post, 1);
    } else
        lua_pop(L, 1);
}

/* The schedules of the list at idx (fields `schedule` and `name`) as sketches in cx. */
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
        lua_getfield(L, -2, "schedule");
        v[k].trace = ml_schedule_trace(bind_check_schedule(L, -1), cx);
        lua_pop(L, 3);
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
    take_posts(L, 2, o);
    if (o->post)
        opts.post = (ml_TunePost){run_post, o};
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
        opts.db = check_db(L, -1)->db;
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
    ml_DbQuery q = {.any_seed = true, .record = bind_int(L, 2, "id")};
    ml_Ctx *cx = bind_scratch(L);
    ml_Record *v = NULL;
    size_t n = 0;

    if (!ml_db_records(ml_tuner_db(o->t), cx, &q, &v, &n))
        return bind_raise(L, cx);
    if (n == 0)
        return 0;
    bind_push_facts(L, &ml_record_fields, &v[0]);
    return 1;
}

/* t:take_db(): the database in memory that records went to, or nil */
static int tuner_take_db(lua_State *L)
{
    BindTuner *o = check_tuner(L);
    BindDb *d = bind_new(L, &bind_db_class, sizeof *d, 0);

    d->db = ml_tuner_take_db(o->t);
    if (d->db == NULL)
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

static const luaL_Reg tuner_meta[] = {
    {"__gc", tuner_gc}, {"__close", tuner_gc}, {NULL, NULL}};
static const luaL_Reg tuner_methods[] = {{"step", tuner_step},
                                         {"status", tuner_status},
                                         {"fresh", tuner_fresh},
                                         {"take_db", tuner_take_db},
                                         {"close", tuner_close},
                                         {"propose", tuner_propose},
                                         {"record", tuner_record},
                                         {"trials", tuner_trials},
                                         {"gains", tuner_gains},
                                         {"sketches", tuner_sketches},
                                         {NULL, NULL}};
const BindClass bind_tuner_class = {
    .name = "moonloop.tuner",
    .meta = tuner_meta,
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
    static const luaL_Reg fns[] = {{"db", new_db},
                                   {"db_there", db_there},
                                   {"tuner", new_tuner},
                                   {"tune_target", tune_target},
                                   {"strategies", strategies},
                                   {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
