/* build - moon.build: a program and options become a kernel. Source: lua-api 5. */
#include "moonloop/work/work.h"
#include "repl/bind/work/kernel.h"

#include "moonloop/core/script/script.h"
#include "moonloop/verify/verify.h"

static const char *const build_options[] = {"target", "opt",   "inprocess", "threads",
                                            "func",   "lines", "contract",  "unaligned",
                                            "limit",  NULL};

/* ---------------------------------------------------------------- targets */

static bool has_code(const char *kind)
{
    const ml_TargetKind *k = ml_target_kind(kind);

    return k && k->backend;
}

/* {kind = "llvm", mcpu = "znver4", num_cores = 2}, as moon.target gives them, as text. */
static void target_from_table(lua_State *L, int idx, ml_Text *out)
{
    static const char *const names[] = {"mcpu", "mattr", "mtriple", "vector_bits",
                                        "num_cores"};

    lua_getfield(L, idx, "kind");
    ml_text_add(out, bind_string(L, -1, "target: kind"));
    if (!has_code(lua_tostring(L, -1))) { /* its keys are its own */
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        bool known = ml_streq(key, "kind");

        for (size_t k = 0; k < ML_COUNT(names); k++)
            known |= ml_streq(key, names[k]);
        if (!known)
            ml_lua_fail(L, ML_E_NO_TARGET, "target: %s is no key of a target", key);
    }
    for (size_t k = 0; k < ML_COUNT(names); k++) {
        if (lua_getfield(L, idx, names[k]) != LUA_TNIL) {
            if (lua_type(L, -1) != LUA_TSTRING && !bind_whole(L, -1))
                bind_bad(L, "target: %s: a text or an integer is needed, got %s", names[k],
                         bind_type(L, -1));
            ml_text_add(out, " -");
            for (const char *z = names[k]; *z; z++)
                ml_text_char(out, (char)(*z == '_' ? '-' : *z));
            ml_text_fmt(out, "=%s", luaL_tolstring(L, -1, NULL));
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}

static void read_target(lua_State *L, int idx, ml_Target *out)
{
    if (lua_getfield(L, idx, "target") != LUA_TNIL) {
        int at = lua_gettop(L);
        ml_Text *t = bind_text(L);
        ml_Ctx *cx = bind_scratch(L);

        if (lua_istable(L, at))
            target_from_table(L, at, t);
        else
            ml_text_add(t, bind_string(L, at, "target"));
        if (!ml_target_read(cx, ml_text_z(t), out))
            bind_raise(L, cx);
        lua_settop(L, at);
    }
    lua_pop(L, 1);
}

/* ---------------------------------------------------------------- options */

/* The value of "func" stays on the stack. */
static void read_options(lua_State *L, int idx, ml_BuildOpts *o, const char **func)
{
    static const char *const levels[] = {"light", "O0", "O1", "O2", "O3", NULL};
    int64_t threads;

    if (!bind_options(L, idx, build_options))
        return;
    read_target(L, idx, &o->target);
    o->code.opt = (ml_OptLevel)bind_opt_word(L, idx, "opt", levels, ML_OPT_LIGHT);
    o->inprocess = bind_opt_bool(L, idx, "inprocess", false);
    if (o->inprocess)
        bind_not_safe(L, "inprocess: no compiled code is run inside the session");
    o->code.no_contract = !bind_opt_bool(L, idx, "contract", true);
    o->code.lines = bind_opt_bool(L, idx, "lines", false);
    o->code.unaligned = bind_opt_bool(L, idx, "unaligned", false);
    o->limit = bind_opt_number(L, idx, "limit", 0);
    if (!(o->limit >= 0))
        bind_bad(L, "limit: seconds are needed");
    threads = bind_opt_int(L, idx, "threads", 0);
    if (threads < 0 || threads > 1024)
        bind_bad(L, "threads: a number from 1 to 1024 is needed");
    o->code.threads = (uint32_t)threads;
    *func = bind_opt_string(L, idx, "func", NULL);
}

/* ---------------------------------------------------------------- the program */

static uint32_t position(const ml_Module *m, const ml_Func *f)
{
    for (uint32_t k = 0; k < m->n; k++)
        if (m->funcs[k] == f)
            return k;
    return 0;
}

/* The function with the text that is compiled, which is the one that is shown. Everything
 * is in cx, a child of the program's context. */
static ml_Work work_of(ml_Ctx *cx, const BindProgram *p, const ml_Func *f)
{
    const ml_PrintOpts o = {.spelling = -1, .no_header = true, .regions_auto = true};
    ml_Work w = {.mod = p->m, .func = f};
    ml_Text t = {0};

    if (p->s)
        return ml_work_of(cx, p->s, ml_schedule_version(p->s), position(p->m, f));
    if (p->m)
        ml_print_module(cx, &t, p->m, &o);
    else
        ml_print_func(cx, &t, f, &o);
    w.text = ml_strdup(cx, ml_str(ml_text_z(&t)));
    ml_text_free(&t);
    return w;
}

/* Operations of the program before it was scheduled: recomputing is no speed. */
static double flop_of(ml_Ctx *cx, const BindProgram *p, const ml_Func *f)
{
    const ml_Func *start =
        p->s ? ml_module_find(ml_version_program(p->s, 0).mod, f->name) : f;

    return ml_flops(cx, start ? start : f);
}

/* moon.build(program [, {target=, opt=, inprocess=, threads=, func=, contract=, lines=,
 * unaligned=, limit=}]): a kernel */
static int build(lua_State *L)
{
    ml_Engine *e = ml_lua_engine(L);
    ml_BuildOpts o = {.target = *ml_engine_target(e)};
    const char *name = NULL;

    lua_settop(L, 2);
    luaL_checkstack(L, 20, NULL);
    BindProgram p = bind_program(L, 1);

    read_options(L, 2, &o, &name);
    const ml_Func *f = bind_program_func(L, &p, name);
    BindKernel *k = bind_new(L, &bind_kernel_class, sizeof *k, 0);
    int at = lua_gettop(L);
    ml_Ctx *cx = bind_scratch(L);
    ml_Ctx **fork = bind_context_box(L); /* no Lua function while there is a child */

    *fork = ml_ctx_fork(p.cx);
    ml_Work work = work_of(*fork, &p, f);
    const char *foreign = p.s ? ml_work_foreign(*fork, p.s) : NULL;

    if (!foreign)
        foreign = ml_work_for_gpu(*fork, work.func);
    if (foreign) {
        ml_fail(cx, ML_E_NO_DEVICE, ML_TEXT(ml_strdup(cx, ml_str(foreign))));
        ml_ctx_unref(*fork);
        *fork = NULL;
        return bind_raise(L, cx);
    }
    k->flop = flop_of(*fork, &p, f);
    ml_error_clear(*fork);
    k->b = ml_build(cx, e, &work, &o);
    ml_ctx_unref(*fork);
    *fork = NULL;
    if (k->b == NULL)
        return bind_raise(L, cx);
    bind_pressure(L, (size_t)64 << 10);
    lua_settop(L, at);
    return 1;
}

int bind_build_functions(lua_State *L)
{
    static const luaL_Reg fns[] = {{"build", build}, {NULL, NULL}};

    bind_functions(L, fns);
    return 0;
}
