/* tasks - several searches under one budget as a Lua object. Source: lua-api 6;
 * auto-scheduler 18. */
#include "repl/bind/work/tuning.h"
#include "repl/bind/work/work.h"

#include "moonloop/work/roofs.h"

typedef struct BindTasks {
    ml_Tasks *ts; /* NULL: over */
} BindTasks;

static void close_tasks(void *object)
{
    BindTasks *o = object;

    ml_tasks_free(o->ts);
    o->ts = NULL;
}

static ml_Tasks *check_tasks(lua_State *L)
{
    BindTasks *o = bind_check(L, 1, &bind_tasks_class);

    if (o->ts == NULL)
        bind_bad(L, "the tasks are over");
    return o->ts;
}

ml_Tasks *ml_lua_to_tasks(lua_State *L, int idx)
{
    BindTasks *o = bind_test(L, idx, &bind_tasks_class);

    return o ? o->ts : NULL;
}

/* tasks({trials= each= seconds= seed= threads= rule=}) */
static int new_tasks(lua_State *L)
{
    static const char *const known[] = {"trials", "each",    "seconds", "seed",
                                        "rule",   "threads", NULL};
    static const char *const rules[] = {"gradient", "round-robin", NULL};

    lua_settop(L, 1);
    ml_Ctx *cx = bind_scratch(L);
    BindTasks *o = bind_new(L, &bind_tasks_class, sizeof *o, 0);
    ml_TasksOpts opts = {0};

    ml_ctx_set_cancel(cx, bind_state(L)->interrupt);
    bind_options(L, 1, known);
    opts.rule = (ml_TaskRule)bind_opt_word(L, 1, "rule", rules, 0);
    opts.trials = bind_opt_int(L, 1, "trials", 0);
    opts.each = bind_opt_int(L, 1, "each", 0);
    opts.seconds = bind_opt_number(L, 1, "seconds", 0);
    opts.seed = (uint64_t)bind_opt_int(L, 1, "seed", 1);
    opts.threads = (uint32_t)bind_opt_int(L, 1, "threads", 0);
    o->ts = ml_tasks_new(cx, &opts);
    if (o->ts == NULL)
        return bind_raise(L, cx);
    return 1;
}

/* t:add(program, {name= weight=}): its number, or nil when it is marked as scheduled */
static int tasks_add(lua_State *L)
{
    static const char *const known[] = {"name", "weight", NULL};

    lua_settop(L, 3);
    ml_Tasks *ts = check_tasks(L);
    BindProgram p = bind_program(L, 2);
    const ml_Func *f = bind_program_func(L, &p, NULL);
    ml_Ctx *cx = bind_scratch(L);
    const ml_Module *m = p.s ? ml_version_program(p.s, 0).mod : p.m;
    size_t at;

    bind_options(L, 3, known);
    if (!ml_task_is_open(f))
        return 0;
    if (m == NULL)
        m = ml_module_new(cx, &f, 1, NULL);
    const char *name = bind_opt_string(L, 3, "name", f->name);
    double weight = bind_opt_number(L, 3, "weight", 1);
    double bound = ml_own_bound(ml_lua_engine(L), m, f->name, 0);

    if (!ml_tasks_add(ts, cx, m, f->name, name, weight, bound, &at))
        return bind_raise(L, cx);
    lua_pushinteger(L, (lua_Integer)at + 1);
    return 1;
}

/* t:step([seconds]): "more", "done" or "cancelled"; "open", and the number of the task that
 * needs a search */
static int tasks_step(lua_State *L)
{
    static const char *const names[] = {"more", "open", "done", "cancelled"};

    lua_settop(L, 2);
    ml_Tasks *ts = check_tasks(L);
    ml_Ctx *cx = bind_scratch(L);
    ml_TasksState st = ml_tasks_step(ts, cx, bind_number_or(L, 2, "seconds", 0.1));

    if (st == ML_TASKS_FAILED)
        return bind_raise(L, cx);
    lua_pushstring(L, names[st]);
    if (st != ML_TASKS_OPEN)
        return 1;
    lua_pushinteger(L, (lua_Integer)ml_tasks_wanted(ts) + 1);
    return 2;
}

static ml_Tasks *check_wanted(lua_State *L)
{
    ml_Tasks *ts = check_tasks(L);

    if (ml_tasks_wanted(ts) == SIZE_MAX || ml_tasks_tuner(ts))
        bind_bad(L, "no task waits for a search");
    return ts;
}

/* t:open(tuner): the search of the task that needs one, made with {tasks = t} */
static int tasks_open(lua_State *L)
{
    lua_settop(L, 2);
    ml_Tasks *ts = check_wanted(L);
    ml_Tuner *t = ml_lua_take_tuner(L, 2);

    if (t == NULL)
        return bind_bad(L, "open: a search that is not over");
    ml_tasks_open(ts, t);
    return 0;
}

/* t:refuse(why): the task that needs one has none */
static int tasks_refuse(lua_State *L)
{
    lua_settop(L, 2);
    ml_tasks_refuse(check_wanted(L), bind_string(L, 2, "why"));
    return 0;
}

static int tasks_status(lua_State *L)
{
    bind_push_facts(L, &ml_tasks_fields, ml_tasks_status(check_tasks(L)));
    return 1;
}

/* t:list(): each task as a table */
static int tasks_list(lua_State *L)
{
    ml_Tasks *ts = check_tasks(L);

    lua_createtable(L, (int)ml_tasks_count(ts), 0);
    for (size_t k = 0; k < ml_tasks_count(ts); k++) {
        bind_push_facts(L, &ml_task_fields, ml_tasks_task(ts, k));
        lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    return 1;
}

/* t:record(k): the best of task k while it has a search, wherever its records went; else nil */
static int tasks_record(lua_State *L)
{
    lua_settop(L, 2);
    ml_Tasks *ts = check_tasks(L);
    int64_t k = bind_int(L, 2, "k") - 1;

    if (k < 0 || (size_t)k >= ml_tasks_count(ts))
        return bind_bad(L, "record: there is no task of that number");
    ml_Db *db = ml_tasks_db(ts, (size_t)k);
    int64_t id = ml_tasks_task(ts, (size_t)k)->best_record;

    return db && id ? bind_push_record(L, db, id) : 0;
}

static const luaL_Reg tasks_methods[] = {{"add", tasks_add},       {"step", tasks_step},
                                         {"open", tasks_open},     {"refuse", tasks_refuse},
                                         {"status", tasks_status}, {"list", tasks_list},
                                         {"record", tasks_record}, {NULL, NULL}};
const BindClass bind_tasks_class = {
    .name = "moonloop.tasks",
    .methods = tasks_methods,
    .close = close_tasks,
};

int bind_tasks_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"tasks", new_tasks}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
