/*
 * db - databases of records as Lua objects. Source: lua-api 6.
 */
#include "repl/bind/work/tuning.h"
#include "repl/bind/work/work.h"

typedef struct BindDb {
    ml_Db *db; /* NULL: closed */
} BindDb;

ml_Db *ml_lua_check_db(lua_State *L, int idx)
{
    BindDb *o = bind_check(L, idx, &bind_db_class);

    if (o->db == NULL)
        bind_bad(L, "the database is closed");
    return o->db;
}

ml_Db *ml_lua_to_db(lua_State *L, int idx)
{
    BindDb *o = bind_test(L, idx, &bind_db_class);

    return o ? o->db : NULL;
}

static void close_db(void *object)
{
    BindDb *o = object;

    ml_db_close(o->db);
    o->db = NULL;
}

ml_Db **ml_lua_new_db(lua_State *L)
{
    BindDb *o = bind_new(L, &bind_db_class, sizeof *o, 0);

    return &o->db;
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

int bind_push_record(lua_State *L, ml_Db *db, int64_t id)
{
    const ml_DbQuery q = {.any_seed = true, .record = id};
    ml_Ctx *cx = bind_scratch(L);
    ml_Record *v = NULL;
    size_t n = 0;

    if (!ml_db_records(db, cx, &q, &v, &n))
        return bind_raise(L, cx);
    if (n == 0)
        return 0;
    bind_push_facts(L, &ml_record_fields, &v[0]);
    return 1;
}

/* db_unmake(db): whether its file went (ml_db_unmake); it is closed then */
static int db_unmake(lua_State *L)
{
    bool went = ml_db_unmake(ml_lua_check_db(L, 1));

    if (went)
        close_db(bind_check(L, 1, &bind_db_class));
    lua_pushboolean(L, went);
    return 1;
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
    ml_Db *db = ml_lua_check_db(L, 1);

    luaL_checkstack(L, 20, NULL);
    ml_Ctx *cx = bind_scratch(L);
    ml_DbQuery q;
    ml_Record *v = NULL;
    size_t n = 0;

    if (read_query(L, 2, db, cx, &q) && !ml_db_records(db, cx, &q, &v, &n))
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
    ml_Db *db = ml_lua_check_db(L, 1);

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
    if (!ml_db_put_workload(db, cx, &w))
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
    if (!ml_db_put(db, cx, &r))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)r.id);
    return 1;
}

/* db:export(folder): how many records */
static int db_export(lua_State *L)
{
    lua_settop(L, 2);
    ml_Db *db = ml_lua_check_db(L, 1);
    const char *folder = bind_string(L, 2, "folder");

    bind_not_safe(L, "export: no file is written");
    ml_Ctx *cx = bind_scratch(L);
    size_t n = 0;

    if (!ml_db_export(db, cx, folder, &n))
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
    ml_Db *db = ml_lua_check_db(L, 1);
    const char *folder = bind_string(L, 2, "folder");

    bind_not_safe(L, "import: no database is read");
    ml_Ctx *cx = bind_scratch(L);
    ml_DbPrograms programs = read_programs(L, 3, cx);
    size_t n = 0, skipped = 0;

    if (!ml_db_import(db, cx, folder, &programs, &n, &skipped))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)n);
    lua_pushinteger(L, (lua_Integer)skipped);
    return 2;
}

/* db:merge(other): records that came */
static int db_merge(lua_State *L)
{
    lua_settop(L, 2);
    ml_Db *db = ml_lua_check_db(L, 1), *from = ml_lua_check_db(L, 2);
    ml_Ctx *cx = bind_scratch(L);
    size_t n = 0;

    if (!ml_db_merge(db, cx, from, &n))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

static bool db_get(lua_State *L, const char *key)
{
    ml_Db *db = ml_lua_check_db(L, 1);

    if (ml_streq(key, "path"))
        lua_pushstring(L, ml_db_path(db));
    else if (ml_streq(key, "read_only"))
        lua_pushboolean(L, ml_db_read_only(db));
    else
        return false;
    return true;
}

static const luaL_Reg db_meta[] = {{"__tostring", db_tostring}, {NULL, NULL}};
static const luaL_Reg db_methods[] = {{"records", db_records}, {"put", db_put},
                                      {"export", db_export},   {"import", db_import},
                                      {"merge", db_merge},     {NULL, NULL}};
static const char *const db_fields[] = {"path", "read_only", NULL};
const BindClass bind_db_class = {
    .name = "moonloop.db",
    .meta = db_meta,
    .methods = db_methods,
    .fields = db_fields,
    .get = db_get,
    .close = close_db,
};

int bind_db_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"db", new_db}, {"db_there", db_there}, {"db_unmake", db_unmake}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
