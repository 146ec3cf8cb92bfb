/* time - moon.time: timings as tables. Source: lua-api 5. */
#include "moonloop/work/timing.h"
#include "repl/bind/work/kernel.h"
#include "repl/bind/work/work.h"

static const char *const time_options[] = {"shape", "seed",    "cold",    "report",
                                           "limit", "threads", "against", "func",
                                           "alone", "runs",    NULL};

void bind_read_sizes(lua_State *L, int idx, ml_Ctx *cx, int box, const ml_Size **out,
                     size_t *n)
{
    if (lua_getfield(L, idx, "shape") == LUA_TNIL)
        return;
    ml_Arg a = bind_read_arg(L, -1, cx, box, NULL);
    ml_Size *sizes = ML_ARRAY(cx, ml_Size, a.n + 1);

    if (a.kind != ML_A_DICT && a.n > 0)
        bind_bad(L, "shape: sizes by name are needed: shape = {n = 127}");
    for (uint32_t k = 0; k < a.n; k++) {
        if (a.as.list[k].kind != ML_A_INT)
            bind_bad(L, "shape: %s: an integer is needed", a.keys[k]);
        sizes[k] = (ml_Size){a.keys[k], a.as.list[k].as.i};
    }
    *out = sizes;
    *n = a.n;
}

uint32_t bind_read_runs(lua_State *L, int idx)
{
    int64_t n = bind_opt_int(L, idx, "runs", 0);

    if (n < 0 || n > ML_MAX_SAMPLES)
        bind_bad(L, "runs: a number from 1 to %d (0: as many as are needed) is needed",
                 ML_MAX_SAMPLES);
    return (uint32_t)n;
}

/* Position of the function meant, in the schedule's module. */
static uint32_t func_at(lua_State *L, const BindProgram *p, const char *name)
{
    const ml_Func *f = bind_program_func(L, p, name);

    for (uint32_t k = 0; k < p->m->n; k++)
        if (p->m->funcs[k] == f)
            return k;
    return 0;
}

/* moon.time(s [, opts]) */
static int time_schedule(lua_State *L)
{
    ml_TimingOpts o = {.seed = 1};
    ml_Engine *e = ml_lua_engine(L);
    uint32_t threads = ml_engine_threads(e);
    const char *name = NULL;
    ml_Timing t;

    lua_settop(L, 2);
    BindProgram p = bind_program(L, 1);

    if (!p.s)
        return bind_bad(L, "time: a schedule is needed, got %s", bind_type(L, 1));
    ml_Ctx *scratch = bind_scratch(L); /* 3 */

    if (bind_options(L, 2, time_options)) {
        bind_read_sizes(L, 2, scratch, 3, &o.sizes, &o.n_sizes);
        o.seed = (uint64_t)bind_opt_int(L, 2, "seed", 1);
        o.cold = bind_opt_bool(L, 2, "cold", false);
        o.report = bind_opt_bool(L, 2, "report", false);
        o.alone = bind_opt_bool(L, 2, "alone", false);
        o.limit = bind_opt_number(L, 2, "limit", 0);
        threads = (uint32_t)bind_opt_int(L, 2, "threads", threads);
        o.against = bind_opt_string(L, 2, "against", NULL);
        if (o.against)
            bind_not_safe(L, "against: no library is loaded to run its kernel");
        name = bind_opt_string(L, 2, "func", NULL);
        o.runs = bind_read_runs(L, 2);
        if (threads < 1 || threads > ml_target_host().cores)
            return bind_bad(L, "threads: a number from 1 to %d, the cores, is needed",
                            (int)ml_target_host().cores);
        if (!(o.limit >= 0) || o.limit > 86400)
            return bind_bad(L, "limit: seconds from 0 (10 then) are needed");
    }
    uint32_t at = func_at(L, &p, name);
    ml_Ctx **run = bind_context_box(L);
    uint32_t usual = ml_engine_threads(e);
    bool ok;

    *run = ml_ctx_fork(ml_schedule_ctx(p.s));
    ml_ctx_set_cancel(*run, bind_state(L)->interrupt);
    if (threads != usual)
        ml_engine_set_threads(e, threads);
    ok = ml_timing_run(*run, e, p.s, ml_schedule_version(p.s), at, &o, &t);
    if (threads != usual)
        ml_engine_set_threads(e, usual);
    if (!ok)
        return bind_raise_box(L, run);
    bind_push_facts(L, &ml_timing_fields, &t);
    ml_ctx_unref(*run); /* or the next step finds its program in use */
    *run = NULL;
    return 1;
}

int bind_time_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"time", time_schedule}, {NULL, NULL}};

    bind_functions(L, fns);
    bind_set_bool(L, "llvm", ml_backend_find("llvm") != NULL); /* looked for, not loaded */
    return 0;
}
