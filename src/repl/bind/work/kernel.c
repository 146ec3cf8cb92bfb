/*
 * kernel - kernels as Lua objects: calling them on tensors, their code, saving.
 *
 * Source: lua-api 5; lowering-and-codegen 5.3.
 */
#include "repl/bind/work/kernel.h"

#include "moonloop/core/script/script.h"
#include "moonloop/work/work.h"

static BindKernel *check_kernel(lua_State *L, int idx)
{
    BindKernel *k = bind_check(L, idx, &bind_kernel_class);

    if (k->b == NULL)
        bind_bad(L, "the kernel is closed");
    return k;
}

static const char *param_name(const ml_FuncParam *p)
{
    return p->buffer ? p->buffer->name : p->var->hint ? p->var->hint : "v";
}

/* ---------------------------------------------------------------- calling */

/* Whether a parameter takes what Lua has at idx; only then does the rest of the table
 * of 5.3 know a name for it. */
static bool known_value(lua_State *L, int idx, ml_CallArg *a)
{
    BindTensor *o = bind_test(L, idx, &bind_tensor_class);
    int whole = 0;

    if (o && o->t) {
        *a = (ml_CallArg){.kind = ML_GIVEN_TENSOR, .tensor = o->t};
    } else if (lua_isboolean(L, idx)) {
        *a = (ml_CallArg){.kind = ML_GIVEN_BOOL, .i = lua_toboolean(L, idx)};
    } else if (lua_type(L, idx) == LUA_TNUMBER) {
        *a = (ml_CallArg){.kind = ML_GIVEN_FLOAT, .f = lua_tonumber(L, idx)};
        a->i = lua_tointegerx(L, idx, &whole);
        if (whole && lua_isinteger(L, idx))
            a->kind = ML_GIVEN_INT;
    } else {
        *a = (ml_CallArg){.kind = ML_GIVEN_NULL};
        return lua_isnil(L, idx);
    }
    return true;
}

/* A float with an integral value serves as an integer. */
static void fit_number(const ml_FuncParam *p, ml_CallArg *a)
{
    if (a->kind == ML_GIVEN_FLOAT && !p->buffer && !ml_dtype_is_float(p->var->type) &&
        a->f == (double)a->i && a->f < 0x1p63 && a->f >= -0x1p63)
        a->kind = ML_GIVEN_INT;
}

/* What a parameter asks for, as the checks name it; NULL: the value may serve. */
static const char *asked(const ml_FuncParam *p, const ml_CallArg *a)
{
    if (p->buffer)
        return a->kind == ML_GIVEN_TENSOR ? NULL : "tensor";
    if (ml_dtype_is_float(p->var->type))
        return a->kind == ML_GIVEN_INT || a->kind == ML_GIVEN_BOOL ||
                       a->kind == ML_GIVEN_FLOAT
                   ? NULL
                   : "float";
    if (p->var->type.code == ML_HANDLE)
        return a->kind == ML_GIVEN_TENSOR || a->kind == ML_GIVEN_NULL ? NULL : "pointer";
    return a->kind == ML_GIVEN_INT || a->kind == ML_GIVEN_BOOL ? NULL
           : ml_dtype_is_bool(p->var->type)                    ? "bool"
                                                               : "int";
}

/* Strings, tables and the like have no kind: they are told by what they are, unless an
 * earlier argument is wrong, or the number of arguments. */
static void refuse_unknown(lua_State *L, const ml_Func *f, const ml_CallArg *a, int n,
                           int unknown)
{
    for (int k = 0; k < unknown && n == (int)f->n_params; k++)
        if (asked(&f->params[k], &a[k]))
            return;
    if (n == (int)f->n_params) {
        const char *want = asked(&f->params[unknown], &a[unknown]);

        ml_lua_fail(L, ML_E_CALL_REFUSED, "%s: argument #%d '%s': expected %s, got %s",
                    f->name, unknown, param_name(&f->params[unknown]),
                    want ? want : "tensor or nil", bind_type(L, unknown + 2));
    }
}

/* k(...): tensors and numbers in the order of the parameters */
static int kernel_call(lua_State *L)
{
    BindKernel *k = check_kernel(L, 1);
    const ml_Func *f = ml_built_func(k->b);
    int n = lua_gettop(L) - 1, unknown = -1;

    luaL_checkstack(L, 8, NULL);
    ml_CallArg *a = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof *a, 0);

    for (int at = 0; at < n; at++) {
        if (!known_value(L, at + 2, &a[at]) && unknown < 0)
            unknown = at;
        if (at < (int)f->n_params)
            fit_number(&f->params[at], &a[at]);
    }
    if (unknown >= 0)
        refuse_unknown(L, f, a, n, unknown);
    ml_Ctx *cx = bind_scratch(L);

    if (!ml_built_call(k->b, cx, a, n))
        return bind_raise(L, cx);
    bind_scratch_done(L, -1);
    return 0;
}

/* ---------------------------------------------------------------- timing */

static const char *const time_options[] = {"shape", "seed", "cold", "report",
                                           "limit", "runs", NULL};

/* k:time([{shape=, seed=, cold=, report=, limit=, runs=}]): as moon.time, of this kernel
 * alone */
static int kernel_time(lua_State *L)
{
    ml_TimingOpts o = {.seed = 1};
    ml_Engine *e = ml_lua_engine(L);
    uint32_t usual = ml_engine_threads(e);
    ml_Timing t;
    bool ok;

    lua_settop(L, 2);
    luaL_checkstack(L, 20, NULL);
    BindKernel *k = check_kernel(L, 1);
    const ml_BuildOpts *opts = ml_built_opts(k->b);
    ml_Work work = ml_built_work(k->b);
    const char *lacks = ml_target_lacks(bind_scratch(L), &opts->target);

    if (lacks)
        return ml_lua_fail(L, ML_E_NOT_SUPPORTED,
                           "the kernel was built for a processor with %s, which this one "
                           "has not: it cannot be timed here",
                           lacks);
    bind_scratch_done(L, -1);
    lua_settop(L, 2);

    ml_Ctx *scratch = bind_scratch(L); /* 3 */
    if (bind_options(L, 2, time_options)) {
        bind_read_sizes(L, 2, scratch, 3, &o.sizes, &o.n_sizes);
        o.seed = (uint64_t)bind_opt_int(L, 2, "seed", 1);
        o.cold = bind_opt_bool(L, 2, "cold", false);
        o.report = bind_opt_bool(L, 2, "report", false);
        o.limit = bind_opt_number(L, 2, "limit", 0);
        o.runs = bind_read_runs(L, 2);
        const char *why =
            ml_checking_bad_size(scratch, work.mod, work.func, o.sizes, o.n_sizes);
        if (why)
            return bind_bad(L, "shape: %s", why);
    }
    if (opts->code.threads !=
        usual) /* a worker's threads have their places from its start */
        ml_engine_set_threads(e, opts->code.threads);
    ok = ml_timing_work(scratch, e, &work, k->flop, &opts->target, &opts->code, &o, &t);
    if (opts->code.threads != usual)
        ml_engine_set_threads(e, usual);
    if (!ok)
        return bind_raise(L, scratch);
    bind_push_facts(L, &ml_timing_fields, &t);
    return 1;
}

/* ---------------------------------------------------------------- code */

static int push_code(lua_State *L, BindKernel *k, const char *name)
{
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    if (!ml_built_text(k->b, cx, name, t))
        return bind_raise(L, cx);
    return bind_give_text(L, t);
}

static int kernel_asm(lua_State *L)
{
    return push_code(L, check_kernel(L, 1), "asm");
}

/* k:llvm([{opt=}]): as emitted, or after the optimizer */
static int kernel_llvm(lua_State *L)
{
    static const char *const known[] = {"opt", NULL};
    BindKernel *k = check_kernel(L, 1);
    bool opt = bind_options(L, 2, known) && bind_opt_bool(L, 2, "opt", false);

    return push_code(L, k, opt ? "llvm-opt" : "llvm");
}

static int kernel_source(lua_State *L)
{
    return push_code(L, check_kernel(L, 1), "c");
}

/* k:save(path [, {name=}]): .o .so .s .ll .c .h */
static int kernel_save(lua_State *L)
{
    static const char *const known[] = {"name", NULL};
    BindKernel *k = check_kernel(L, 1);
    const char *path = bind_string(L, 2, "path"), *name = NULL;

    bind_not_safe(L, "save: no file is written");
    lua_settop(L, 3);
    if (bind_options(L, 3, known))
        name = bind_opt_string(L, 3, "name", NULL);
    ml_Ctx *cx = bind_scratch(L);

    if (!ml_built_save(k->b, cx, path, name))
        return bind_raise(L, cx);
    return 0;
}

/* ---------------------------------------------------------------- fields */

static void push_extent(lua_State *L, const ml_Expr *e)
{
    if (e->kind == ML_EXPR_INT) {
        lua_pushinteger(L, e->as.i);
        return;
    }
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    ml_print_expr(cx, t, e, NULL);
    bind_push_text(L, t);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

/* {name=, dtype=, shape=, written=} of each; a number has neither of the last two */
static void push_params(lua_State *L, BindKernel *k)
{
    const ml_Func *f = ml_built_func(k->b);

    luaL_checkstack(L, 8, NULL);
    lua_createtable(L, (int)f->n_params, 0);
    for (uint32_t p = 0; p < f->n_params; p++) {
        const ml_Buffer *b = f->params[p].buffer;

        lua_createtable(L, 0, 4);
        bind_set_string(L, "name", param_name(&f->params[p]));
        bind_push_dtype(L, b ? b->type : f->params[p].var->type);
        lua_setfield(L, -2, "dtype");
        if (b) {
            bind_set_bool(L, "written", ml_built_writes(k->b, p));
            lua_createtable(L, b->rank, 0);
            for (uint16_t d = 0; d < b->rank; d++) {
                push_extent(L, b->shape[d]);
                lua_rawseti(L, -2, (lua_Integer)d + 1);
            }
            lua_setfield(L, -2, "shape");
        }
        lua_rawseti(L, -2, (lua_Integer)p + 1);
    }
}

static bool kernel_get(lua_State *L, const char *key)
{
    BindKernel *k = bind_check(L, 1, &bind_kernel_class);

    if (!k->b)
        return false;
    if (ml_streq(key, "name"))
        lua_pushstring(L, ml_built_name(k->b));
    else if (ml_streq(key, "params"))
        push_params(L, k);
    else if (ml_streq(key, "threads"))
        lua_pushinteger(L, ml_built_opts(k->b)->code.threads);
    else if (ml_streq(key, "inprocess"))
        lua_pushboolean(L, ml_built_opts(k->b)->inprocess);
    else if (ml_streq(key, "flop"))
        lua_pushnumber(L, k->flop);
    else
        return false;
    return true;
}

static int kernel_tostring(lua_State *L)
{
    BindKernel *k = bind_check(L, 1, &bind_kernel_class);
    ml_Ctx *cx = bind_scratch(L);
    ml_Text *t = bind_text(L);

    ml_text_add(t, "kernel ");
    if (k->b) {
        ml_built_signature(k->b, cx, t);
    } else {
        ml_text_add(t, "(closed)");
    }
    return bind_give_text(L, t);
}

static void close_kernel(void *object)
{
    BindKernel *k = object;

    ml_built_free(k->b);
    k->b = NULL;
}

static const luaL_Reg kernel_meta[] = {
    {"__call", kernel_call}, {"__tostring", kernel_tostring}, {NULL, NULL}};
static const luaL_Reg kernel_methods[] = {{"time", kernel_time},     {"asm", kernel_asm},
                                          {"llvm", kernel_llvm},     {"save", kernel_save},
                                          {"source", kernel_source}, {NULL, NULL}};
static const char *const kernel_fields[] = {"name",      "params", "threads",
                                            "inprocess", "flop",   NULL};
const BindClass bind_kernel_class = {
    .name = "moonloop.kernel",
    .meta = kernel_meta,
    .methods = kernel_methods,
    .fields = kernel_fields,
    .get = kernel_get,
    .close = close_kernel,
};
